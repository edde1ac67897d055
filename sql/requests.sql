-- Requests that a table has taken. _id rises: the newest have the highest. what: what was asked
-- for, in words.

-- name: REQUESTS_FIND
SELECT what FROM "{schema}"."{table}_ops" WHERE request = ?1;

-- name: REQUESTS_INSERT
INSERT INTO "{schema}"."{table}_ops"(request, what) VALUES (?1, ?2);

-- name: REQUESTS_FORGET
DELETE FROM "{schema}"."{table}_ops"
 WHERE _id <= (SELECT _id FROM "{schema}"."{table}_ops" ORDER BY _id DESC LIMIT 1 OFFSET ?1);
