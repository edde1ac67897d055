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
