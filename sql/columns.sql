-- The counters that were ever added or dropped by themselves: name and generation, which is odd
-- while the counter exists and even while it is dropped. A counter without a row is of generation
-- 1.

-- name: COLUMNS_ALL
SELECT _name, _value, _kind FROM "{schema}"."{table}_state" WHERE _kind BETWEEN 'counter' AND 'counter'
 ORDER BY _name COLLATE NOCASE;

-- name: COLUMNS_WRITE
INSERT OR REPLACE INTO "{schema}"."{table}_state"(_kind, _name, _value)
VALUES ('counter', :name, :generation);

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
SELECT _row, _name, _value FROM "{schema}"."{table}_state" WHERE _kind BETWEEN 'column' AND 'column' ORDER BY _row;

-- name: COLUMNS_NOTE
INSERT OR REPLACE INTO "{schema}"."{table}_state"(_kind, _row, _name, _value) VALUES ('column', :number, :birth, :name);

-- Forgets the key, the counters and the table.
-- name: COLUMNS_NOT_NOTED
DELETE FROM "{schema}"."{table}_state" WHERE _kind BETWEEN 'column' AND 'column' AND _row = -1;
