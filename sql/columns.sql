-- The counters that were ever added or dropped by themselves: name and generation, which is odd
-- while the counter exists and even while it is dropped; 1 in rows if the counter is bounded. A
-- counter without a row is of generation 1, without a bound.

-- name: COLUMNS_ALL
SELECT name, value, rows, kind, tab FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'counter' AND 'counter' ORDER BY name COLLATE NOCASE;

-- name: COLUMNS_WRITE
INSERT OR REPLACE INTO "{schema}".counter_state(tab, kind, name, value, seq, rows)
VALUES (:tab, 'counter', :name, :generation, :number, nullif(:bounded, 0));

-- Those that came, went or were bounded with this number or a higher one.
-- name: COLUMNS_SINCE
SELECT name, value, seq, rows FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'counter' AND 'counter' AND seq >= :number ORDER BY name COLLATE NOCASE;

-- A row if some counter of the table is bounded.
-- name: COLUMNS_ANY_BOUNDED
SELECT 1 FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'counter' AND 'counter' AND rows = 1;

-- The same of any table.
-- name: COLUMNS_ANY_BOUNDED_OF_FILE
SELECT 1 FROM "{schema}".counter_state WHERE kind BETWEEN 'counter' AND 'counter' AND rows = 1 LIMIT 1;

-- Notes that this file has ended the counter itself.
-- name: COLUMNS_ENDED
INSERT OR REPLACE INTO "{schema}".counter_state(tab, kind, name) VALUES (:tab, 'ended', :name);

-- Takes that note back, as a higher generation does. Changes a row if there was one.
-- name: COLUMNS_TAKE_ENDED
DELETE FROM "{schema}".counter_state
 WHERE tab = :tab AND kind = 'ended' AND name = :name COLLATE NOCASE;

-- A row if there is such a note.
-- name: COLUMNS_HAS_ENDED
SELECT 1 FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'ended' AND 'ended' AND name = :name COLLATE NOCASE;

-- name: COLUMNS_ADD
ALTER TABLE "{schema}"."{table}_cells" ADD COLUMN "{name}" BLOB;

-- A dropped column stays, empty, with another name.
-- name: COLUMNS_RETIRE
ALTER TABLE "{schema}"."{table}_cells" RENAME COLUMN "{name}" TO "_dropped_{name}";

-- name: COLUMNS_RESTORE
ALTER TABLE "{schema}"."{table}_cells" RENAME COLUMN "_dropped_{name}" TO "{name}";

-- name: COLUMNS_EMPTY
UPDATE "{schema}"."{table}_cells" SET "_dropped_{name}" = NULL WHERE "_dropped_{name}" IS NOT NULL;

-- wanted: a pointer to a ctr_wanted.
-- name: COLUMNS_ASK
INSERT INTO "{schema}"."{table}"("{table}") VALUES (:wanted);

-- The columns of a tracked table, as they were named when it last had all its triggers: the name by
-- which files match a column, and its name in the table, NULL for a regular column that is
-- replicated no longer. Its number is that of a regular column, or -1. The table is noted as a column
-- without a name.

-- name: COLUMNS_NOTED
SELECT row, name, value, seq FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'column' AND 'column' ORDER BY row;

-- name: COLUMNS_NOTE
INSERT INTO "{schema}".counter_state(tab, kind, row, name, value, seq)
VALUES (:tab, 'column', :number, :birth, :name, :generation)
    ON CONFLICT (tab, kind, row, name) DO UPDATE SET value = excluded.value,
       seq = max(coalesce(seq, 0), excluded.seq);

-- Forgets the key, the counters and the table.
-- name: COLUMNS_NOT_NOTED
DELETE FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'column' AND 'column' AND row = -1;

-- A counter that has ended keeps the name between files that its column had, if it was renamed here.
-- name: COLUMNS_KEEP_FORMER
INSERT OR REPLACE INTO "{schema}".counter_state(tab, kind, name, value)
SELECT tab, 'former', name, value FROM "{schema}".counter_state
 WHERE tab = :tab AND kind = 'column' AND row = -1 AND name <> '' AND name <> value COLLATE NOCASE;

-- name: COLUMNS_FORGET_FORMER
DELETE FROM "{schema}".counter_state
 WHERE tab = :tab AND kind = 'former'
   AND name IN (SELECT name FROM "{schema}".counter_state WHERE tab = :tab AND kind = 'column' AND row = -1);

-- :name is that of a column now, or that of such a counter.
-- name: COLUMNS_FORMER
SELECT name, value FROM "{schema}".counter_state
 WHERE tab = :tab AND (kind BETWEEN 'former' AND 'former' OR kind BETWEEN 'column' AND 'column' AND row = -1)
   AND (value = :name COLLATE NOCASE OR name = :name COLLATE NOCASE);

-- The columns of a replicated table that stay in this file, by their present names.
-- name: COLUMNS_LOCAL
SELECT name FROM "{schema}".counter_state WHERE tab = :tab AND kind BETWEEN 'local' AND 'local';

-- name: COLUMNS_ADD_LOCAL
INSERT OR IGNORE INTO "{schema}".counter_state(tab, kind, name) VALUES (:tab, 'local', :name);

-- name: COLUMNS_END_LOCAL
DELETE FROM "{schema}".counter_state WHERE tab = :tab AND kind = 'local' AND name = :name COLLATE NOCASE;

-- The last time that columns of the file became other kinds, so that lines from before cannot be read.
-- name: COLUMNS_CHANGE_KINDS
INSERT OR REPLACE INTO "{schema}".counter_state(tab, kind, seq) VALUES (0, 'kinds', :number);

-- name: COLUMNS_KINDS_CHANGED
SELECT max(seq) FROM "{schema}".counter_state WHERE tab = 0 AND kind BETWEEN 'kinds' AND 'kinds';
