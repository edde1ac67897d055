-- Keys that SQLite gives out, each file from a place of its own: tracked/spread.c.

-- That the table is spread: seq: the first number that has a birth; bytes: the bits of a number.
-- name: SPREAD_BEGIN
INSERT OR REPLACE INTO "{schema}".counter_state(tab, kind, row, seq, bytes)
VALUES (:tab, 'spread', 0, :least, :bits);

-- The place from which the file counts on; value: the id of the file for which it holds; rows: how
-- often it has jumped; bytes: 1 if a key at or above it is not of this file.
-- name: SPREAD_JUMP
INSERT OR REPLACE INTO "{schema}".counter_state(tab, kind, row, value, seq, rows, bytes)
VALUES (:tab, 'spread', 1, :id, :place, :jumps, 0);

-- name: SPREAD_TAKEN
UPDATE "{schema}".counter_state SET bytes = 1 WHERE tab = :tab AND kind = 'spread' AND row = 1;

-- name: SPREAD_READ
SELECT row, seq, bytes, value, rows FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'spread' AND 'spread' ORDER BY row;

-- The highest key of the cells, up to a number.
-- name: SPREAD_HIGHEST
SELECT max(_rowid_) FROM "{schema}"."{table}_cells" WHERE _rowid_ <= ?1;

-- The highest key of the table.
-- name: SPREAD_HIGHEST_SHOWN
SELECT max("{keys}") FROM "{schema}"."{name}" WHERE "{keys}" <= :most;

-- The last number that SQLite has given to a row of the table; there is no such row before the first.
-- name: SPREAD_SEQUENCE
SELECT seq FROM "{schema}".sqlite_sequence WHERE name = :name;

-- name: SPREAD_SET_SEQUENCE
UPDATE "{schema}".sqlite_sequence SET seq = :seq WHERE name = :name;

-- name: SPREAD_ADD_SEQUENCE
INSERT INTO "{schema}".sqlite_sequence(name, seq) VALUES (:name, :seq);

-- Does SQLite never give a number twice? Else sqlite_sequence may be missing.
-- name: SPREAD_SQL
SELECT sql FROM "{schema}".sqlite_master WHERE type = 'table' AND name = :name COLLATE NOCASE;
