-- The counter tables of a file: the name each has now and the name it was created with. Files match their
-- tables by the second, for a rename is local.

-- name: CATALOG_CREATE
CREATE TABLE IF NOT EXISTS "{schema}".counter_tables(
  name TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
  birth TEXT NOT NULL COLLATE NOCASE UNIQUE);

-- name: CATALOG_INSERT
INSERT INTO "{schema}".counter_tables(name, birth) VALUES (?1, ?1);

-- name: CATALOG_DELETE
DELETE FROM "{schema}".counter_tables WHERE name = ?1;

-- name: CATALOG_RENAME
UPDATE "{schema}".counter_tables SET name = ?2 WHERE name = ?1;

-- name: CATALOG_BORN
SELECT name FROM "{schema}".counter_tables WHERE birth = ?1;

-- name: CATALOG_HAS
SELECT birth FROM "{schema}".counter_tables WHERE name = ?1;

-- name: CATALOG_LIST
SELECT name, birth FROM "{schema}".counter_tables NOT INDEXED ORDER BY birth;
