-- Who this file is: one row, written once.

-- name: IDENTITY_CREATE
CREATE TABLE IF NOT EXISTS "{schema}".counter_replica(
  one INTEGER PRIMARY KEY CHECK (one = 1),
  format INTEGER NOT NULL,
  id BLOB NOT NULL,
  name TEXT);

-- name: IDENTITY_INSERT
INSERT INTO "{schema}".counter_replica(one, format, id, name) VALUES (1, ?1, ?2, ?3);

-- name: IDENTITY_READ
SELECT format, id, name FROM "{schema}".counter_replica WHERE one = 1;
