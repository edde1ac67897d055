-- The requests that tables have taken: their ids, their texts, and when they were taken, in
-- milliseconds since 1970. number rises: the newest request has the highest.

-- name: REQUESTS_CREATE
CREATE TABLE IF NOT EXISTS "{schema}"."counter_requests"(
  number INTEGER PRIMARY KEY,
  tab INTEGER NOT NULL,
  id BLOB NOT NULL,
  at INTEGER NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (tab, id));

-- name: REQUESTS_FIND
SELECT text FROM "{schema}".counter_requests WHERE tab = :tab AND id = :request;

-- name: REQUESTS_INSERT
INSERT INTO "{schema}".counter_requests(tab, id, at, text) VALUES (:tab, :request, :now, :text);

-- name: REQUESTS_KEEP
DELETE FROM "{schema}".counter_requests
 WHERE tab = :tab
   AND number <= (SELECT number FROM "{schema}".counter_requests WHERE tab = :tab
                   ORDER BY number DESC LIMIT 1 OFFSET :kept);

-- name: REQUESTS_FORGET_OLD
DELETE FROM "{schema}".counter_requests WHERE tab = :tab AND at <= :until;

-- name: REQUESTS_DROP
DELETE FROM "{schema}".counter_requests WHERE tab = :tab;

-- A request of a table that does not exist.
-- name: REQUESTS_CHECK
SELECT tab FROM (SELECT DISTINCT tab FROM "{schema}".counter_requests)
 WHERE tab NOT IN (SELECT number FROM "{schema}".counter_tables);
