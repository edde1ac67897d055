-- The counters that were ever added or dropped by themselves: name and generation, which is odd
-- while the counter exists and even while it is dropped. A counter without a row is of generation
-- 1.

-- name: COLUMNS_ALL
SELECT _name, _value, _kind FROM "{schema}"."{table}_state" WHERE _kind BETWEEN 'counter' AND 'counter'
 ORDER BY _name COLLATE NOCASE;

-- name: COLUMNS_WRITE
INSERT OR REPLACE INTO "{schema}"."{table}_state"(_kind, _name, _value)
VALUES ('counter', :name, :generation);

-- Notes that this file has ended the counter itself. A higher generation that a merge brings says
-- otherwise.
-- name: COLUMNS_ENDED
UPDATE "{schema}"."{table}_state" SET _seq = 1 WHERE _kind = 'counter' AND _name = :name;

-- Takes that note back. Changes a row if there was one.
-- name: COLUMNS_TAKE_ENDED
UPDATE "{schema}"."{table}_state" SET _seq = NULL
 WHERE _kind = 'counter' AND _name = :name COLLATE NOCASE AND _seq = 1;

-- A row if there is such a note.
-- name: COLUMNS_HAS_ENDED
SELECT 1 FROM "{schema}"."{table}_state"
 WHERE _kind BETWEEN 'counter' AND 'counter' AND _name = :name COLLATE NOCASE AND _seq = 1;

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
SELECT _row, _name, _value, _seq FROM "{schema}"."{table}_state" WHERE _kind BETWEEN 'column' AND 'column' ORDER BY _row;

-- name: COLUMNS_NOTE
INSERT INTO "{schema}"."{table}_state"(_kind, _row, _name, _value, _seq)
VALUES ('column', :number, :birth, :name, :generation)
    ON CONFLICT (_kind, _row, _name) DO UPDATE SET _value = excluded._value, _seq = max(coalesce(_seq, 0), excluded._seq);

-- Forgets the key, the counters and the table.
-- name: COLUMNS_NOT_NOTED
DELETE FROM "{schema}"."{table}_state" WHERE _kind BETWEEN 'column' AND 'column' AND _row = -1;
