-- Requests that a table has taken, by their ids, and what was asked for, in words. _id rises: the
-- newest have the highest.

-- name: REQUESTS_FIND
SELECT _value FROM "{schema}"."{table}_state" WHERE _kind = 'request' AND _row = 0 AND _name = ?1;

-- name: REQUESTS_INSERT
INSERT INTO "{schema}"."{table}_state"(_kind, _name, _value) VALUES ('request', ?1, ?2);

-- name: REQUESTS_FORGET
DELETE FROM "{schema}"."{table}_state"
 WHERE _kind = 'request' AND _id <= (SELECT _id FROM "{schema}"."{table}_state" WHERE _kind = 'request'
                                      ORDER BY _id DESC LIMIT 1 OFFSET ?1);
