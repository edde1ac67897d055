-- The requests that a table has taken: their ids, their texts, and when they were taken, in
-- milliseconds since 1970. _id rises: the newest request has the highest.

-- name: REQUESTS_FIND
SELECT _value FROM "{schema}"."{table}_state"
 WHERE _kind = 'request' AND _row = 0 AND _name = :request;

-- name: REQUESTS_INSERT
INSERT INTO "{schema}"."{table}_state"(_kind, _name, _value, _seq)
VALUES ('request', :request, :text, :now);

-- name: REQUESTS_KEEP
DELETE FROM "{schema}"."{table}_state"
 WHERE _kind = 'request'
   AND _id <= (SELECT _id FROM "{schema}"."{table}_state" WHERE _kind = 'request'
                ORDER BY _id DESC LIMIT 1 OFFSET :kept);

-- name: REQUESTS_FORGET_OLD
DELETE FROM "{schema}"."{table}_state" WHERE _kind = 'request' AND _seq <= :until;
