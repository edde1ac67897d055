-- The requests that a table has taken: their ids and their texts. _id rises: the newest request has
-- the highest.

-- name: REQUESTS_FIND
SELECT _value FROM "{schema}"."{table}_state"
 WHERE _kind = 'request' AND _row = 0 AND _name = :request;

-- name: REQUESTS_INSERT
INSERT INTO "{schema}"."{table}_state"(_kind, _name, _value) VALUES ('request', :request, :text);

-- name: REQUESTS_FORGET
DELETE FROM "{schema}"."{table}_state"
 WHERE _kind = 'request'
   AND _id <= (SELECT _id FROM "{schema}"."{table}_state" WHERE _kind = 'request'
                ORDER BY _id DESC LIMIT 1 OFFSET :kept);
