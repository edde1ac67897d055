-- The counter tables of a file: the name each has now and the name it was created with. Files match
-- their tables by the second, because a rename is local. The token changes if a table is dropped
-- and created again, and if the lineage of the file changes without a new id: then the marks of
-- other files are void. number: that of the table in the journal, the state and the requests; none
-- is used twice.

-- name: CATALOG_CREATE
CREATE TABLE IF NOT EXISTS "{schema}"."counter_tables"(
  name TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
  birth TEXT NOT NULL COLLATE NOCASE UNIQUE,
  token BLOB NOT NULL,
  number INTEGER NOT NULL UNIQUE);

-- name: CATALOG_INSERT
INSERT INTO "{schema}".counter_tables(name, birth, token, number)
VALUES (:name, :birth, randomblob(16),
        1 + max(coalesce((SELECT max(number) FROM "{schema}".counter_tables), 0),
                coalesce((SELECT max(tables) FROM "{schema}".counter_replica), 0)));

-- The highest number that a table ever had.
-- name: CATALOG_MARK
UPDATE "{schema}".counter_replica SET tables = (SELECT max(number) FROM "{schema}".counter_tables) WHERE one = 1;

-- name: CATALOG_NUMBER
SELECT number FROM "{schema}".counter_tables WHERE name = :name;

-- The number of tables that have one of these bits in the journal.
-- name: CATALOG_BITS
SELECT count(*) FROM "{schema}".counter_tables WHERE (1 << number % 63) & :bits;

-- Is there a table with this number?
-- name: CATALOG_NUMBERED
SELECT name FROM "{schema}".counter_tables WHERE number = :number;

-- name: CATALOG_DELETE
DELETE FROM "{schema}".counter_tables WHERE name = :name;

-- name: CATALOG_RENAME
UPDATE "{schema}".counter_tables SET name = :to WHERE name = :name;

-- name: CATALOG_BORN
SELECT name, birth, token FROM "{schema}".counter_tables WHERE birth = :name;

-- name: CATALOG_NAMED
SELECT name, birth, token FROM "{schema}".counter_tables WHERE name = :name;

-- name: CATALOG_LIST
SELECT name, birth, token FROM "{schema}".counter_tables NOT INDEXED ORDER BY birth;

-- The same of one table: its rows are to be read again, and those of others for it.
-- name: CATALOG_REDRAW_TABLE
UPDATE "{schema}".counter_tables SET token = randomblob(16) WHERE name = :name;

-- name: CATALOG_REDRAW
UPDATE "{schema}".counter_tables SET token = randomblob(16);
