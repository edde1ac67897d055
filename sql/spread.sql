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
-- Rows whose number another row had first: merge/renumber.c. kind 'replaced'; row: the number; name: the
-- birth; value: the row as a change; of one that was inserted here seq: the number of the file then,
-- rows: the number with which it was inserted again; bytes: 1 if the table still shows it, 0 if it no longer does.

-- name: REPLACED_ADD
INSERT OR IGNORE INTO "{schema}".counter_state(tab, kind, row, name, value, seq, bytes)
VALUES (:tab, 'replaced', :row, :birth, :change, :number,
        :shown AND NOT EXISTS (SELECT 1 FROM "{schema}".counter_state WHERE tab = :tab AND kind = 'replaced' AND row = :row AND bytes = 1));

-- Those that are to be inserted again, and those that the table still shows.
-- name: REPLACED_DUE
SELECT t.name, s.row, s.name, s.value, s.seq, s.seq IS NOT NULL AND s.rows IS NULL, s.bytes = 1
  FROM "{schema}".counter_tables AS t CROSS JOIN "{schema}".counter_state AS s ON s.tab = t.number
 WHERE s.kind BETWEEN 'replaced' AND 'replaced' AND (s.seq IS NOT NULL AND s.rows IS NULL OR s.bytes = 1);

-- name: REPLACED_DONE
UPDATE "{schema}".counter_state SET rows = :now
 WHERE tab = :tab AND kind = 'replaced' AND row = :row AND name = :birth;

-- The file has another id, for another one counts under the former: that may insert them again, too.
-- name: REPLACED_LEAVE
UPDATE "{schema}".counter_state SET seq = NULL
 WHERE kind BETWEEN 'replaced' AND 'replaced' AND seq IS NOT NULL AND rows IS NULL;

-- What became of the one that had a number when this file wrote a reference to it.
-- name: REPLACED_NOW
SELECT rows FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'replaced' AND 'replaced' AND row = :row AND seq >= :time ORDER BY seq LIMIT 1;

-- The table no longer shows it under its number.
-- name: REPLACED_GONE
UPDATE "{schema}".counter_state SET bytes = 0
 WHERE tab = :tab AND kind = 'replaced' AND row = :row AND name = :birth;

-- It keeps the number: the application has written to it there before a deletion was shown.
-- name: REPLACED_KEEP
UPDATE "{schema}".counter_state SET rows = :row
 WHERE tab = :tab AND kind = 'replaced' AND row = :row AND bytes = 1 AND rows IS NULL;

-- name: REPLACED_ALL
SELECT row, value, seq IS NOT NULL, rows FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'replaced' AND 'replaced' ORDER BY row, name;

-- The keys of the rows that refer to a number.
-- name: REPLACED_CHILDREN
SELECT "{keys}" FROM "{schema}"."{name}" WHERE "{value}" = :was;

-- name: REPLACED_MOVE_ALL
UPDATE "{schema}"."{name}" SET "{value}" = :now WHERE "{value}" = :was;

-- One of them, by its key, ?2 and others.
-- name: REPLACED_MOVE
UPDATE "{schema}"."{name}" SET "{value}" = ?1 WHERE "{constraint}";
