-- Tracked columns: the triggers of an ordinary table, "{name}", pass its changes to its counter
-- table, "{table}".

-- Rows that are apart, by what their entries say (ctr_apart_what): tracked/showing.c. An entry about
-- a row has a number in place of a column; one about a value that lines did not carry has -1 minus
-- the number of the column, beside that of the value which waits there.

-- name: APART_ADD
INSERT OR REPLACE INTO "{schema}".counter_state(tab, kind, row, name, value, seq)
VALUES (:tab, 'apart', :row, coalesce(:column, :what), :value, :what);

-- whats: 1 << what, added up; column: NULL for all.
-- name: APART_REMOVE
DELETE FROM "{schema}".counter_state
 WHERE tab = :tab AND kind = 'apart' AND row = :row
   AND :whats >> seq & 1 AND (:column IS NULL OR name = :column OR seq = 7);

-- name: APART_OF_ROW
SELECT seq, name, value FROM "{schema}".counter_state
 WHERE tab = :tab AND kind = 'apart' AND row = :row;

-- name: APART_ANY
SELECT EXISTS (SELECT 1 FROM "{schema}".counter_state
                WHERE tab = :tab AND kind BETWEEN 'apart' AND 'apart');

-- Rows that do not show what they should. Those that a trigger has changed since do not count.
-- name: APART_ROWS
SELECT DISTINCT row FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'apart' AND 'apart' AND seq NOT IN (3, 6, 7) ORDER BY row;

-- Are there rows below a floor that the table keeps?
-- name: APART_KEEPS
SELECT EXISTS (SELECT 1 FROM "{schema}".counter_state
                WHERE tab = :tab AND kind = 'apart' AND row = 0 AND seq = 6);

-- Without values that lines did not carry: this file cannot try them again.
-- name: APART_COUNT
SELECT count(*), kind FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'apart' AND 'apart' AND seq NOT IN (3, 7, 8);

-- Values that lines did not carry, of columns that the file still replicates.
-- name: APART_COUNT_TOO_LARGE
SELECT count(*) FROM "{schema}".counter_state AS s
 WHERE tab = :tab AND kind BETWEEN 'apart' AND 'apart' AND seq = 8
   AND EXISTS (SELECT 1 FROM "{schema}".counter_state
                WHERE tab = :tab AND kind BETWEEN 'column' AND 'column' AND row = -1 - s.name AND value <> '');

-- Rows that wait, and rows that differ.
-- name: APART_COUNT_ROWS
SELECT count(*) FILTER (WHERE waits), count(*) FILTER (WHERE NOT waits)
  FROM (SELECT max(seq = 0) AS waits FROM "{schema}".counter_state AS s
         WHERE tab = :tab AND kind BETWEEN 'apart' AND 'apart' AND seq NOT IN (3, 6, 7)
           AND (seq <> 8 OR EXISTS (SELECT 1 FROM "{schema}".counter_state
                WHERE tab = :tab AND kind BETWEEN 'column' AND 'column' AND row = -1 - s.name AND value <> ''))
         GROUP BY row);

-- Deletes the entries of one column.
-- name: APART_FORGET_COLUMN
DELETE FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'apart' AND 'apart' AND name = :column COLLATE NOCASE;

-- Deletes the entries of rows without cells, and the one of rows below floors.
-- name: APART_FORGET_GONE
DELETE FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'apart' AND 'apart'
   AND (seq = 6 OR row NOT IN (SELECT _rowid_ FROM "{schema}"."{table}_cells"));

-- ---- the triggers --------------------------------------------------------------------------------

-- name: TRACK_ON_INSERT
CREATE TRIGGER "{schema}"."{table}_insert" AFTER INSERT ON "{name}" BEGIN
INSERT INTO "{table}"(_event, "{columns}") VALUES ('inserted', "{values}"); END;

-- name: TRACK_ON_UPDATE
CREATE TRIGGER "{schema}"."{table}_update" AFTER UPDATE OF "{order}" ON "{name}" WHEN "{constraint}" BEGIN
INSERT INTO "{table}"(_event, "{columns}") VALUES ('updated', "{values}"); END;

-- name: TRACK_ON_KEY
CREATE TRIGGER "{schema}"."{table}_key" AFTER UPDATE OF "{order}" ON "{name}" WHEN "{constraint}" BEGIN
INSERT INTO "{table}"(_event, "{columns}") VALUES ('deleted', "{changes}"); INSERT INTO
"{table}"(_event, "{columns}") VALUES ('inserted', "{values}"); END;

-- name: TRACK_ON_REGULAR
CREATE TRIGGER "{schema}"."{table}_row" AFTER UPDATE OF "{order}" ON "{name}" WHEN "{constraint}" BEGIN
INSERT INTO "{table}"(_event, "{columns}", _marks) VALUES ('written', "{values}"); END;

-- name: TRACK_ON_DELETE
CREATE TRIGGER "{schema}"."{table}_delete" AFTER DELETE ON "{name}" BEGIN
INSERT INTO "{table}"(_event, "{columns}") VALUES ('deleted', "{changes}"); END;

-- OR REPLACE removes rows that are equal in a UNIQUE index, and fires triggers for them only if
-- recursive_triggers is on. So triggers find these rows before, and check after whether they are
-- gone.
-- name: TRACK_ON_REPLACE_BY_INSERT
CREATE TRIGGER "{schema}"."{table}_before_insert" BEFORE INSERT ON "{name}" "{order}" BEGIN
INSERT INTO "{table}"(_event, "{columns}") SELECT '{value}', "{values}" FROM "{name}" WHERE "{constraint}"; END;

-- The same if only the row id is UNIQUE beside the key, with what TRACK_ON_LEAVE_BY_INSERT says.
-- name: TRACK_ON_REPLACE_BY_ROWID
CREATE TRIGGER "{schema}"."{table}_before_insert" BEFORE INSERT ON "{name}" "{order}" BEGIN
INSERT INTO "{table}"(_event, "{columns}") VALUES ('{changes}', "{keys}"); INSERT INTO
"{table}"(_event, "{columns}") SELECT '{value}', "{values}" FROM "{name}" WHERE "{constraint}"; END;

-- name: TRACK_ON_REPLACE_BY_UPDATE
CREATE TRIGGER "{schema}"."{table}_before_update" BEFORE UPDATE "{order}" ON "{name}" BEGIN
INSERT INTO "{table}"(_event, "{columns}") SELECT '{value}', "{values}" FROM "{name}" WHERE "{constraint}"; END;

-- name: TRACK_ON_REPLACED
CREATE TRIGGER "{schema}"."{table}_replaced" AFTER UPDATE "{order}" ON "{name}" BEGIN
INSERT INTO "{table}"(_event) VALUES ('gone'); END;

-- Before a row leaves its row id, its cells are marked: table/home.c. A REPLACE fires no trigger
-- for the row with the same key that it removes.

-- name: TRACK_ON_LEAVE_BY_DELETE
CREATE TRIGGER "{schema}"."{table}_before_delete" BEFORE DELETE ON "{name}" BEGIN
INSERT INTO "{table}"(_event, "{columns}") VALUES ('leaves', "{changes}"); END;

-- name: TRACK_ON_LEAVE_BY_UPDATE
CREATE TRIGGER "{schema}"."{table}_before_key" BEFORE UPDATE OF "{order}" ON "{name}" WHEN "{constraint}" BEGIN
INSERT INTO "{table}"(_event, "{columns}") VALUES ('leaves', "{changes}"); INSERT INTO
"{table}"(_event, "{columns}") SELECT '{value}', "{values}" FROM "{name}" WHERE "{keys}"; END;

-- name: TRACK_ON_LEAVE_BY_INSERT
CREATE TRIGGER "{schema}"."{table}_before_replace" BEFORE INSERT ON "{name}" WHEN
EXISTS (SELECT 1 FROM "{name}" WHERE "{keys}") BEGIN
INSERT INTO "{table}"(_event, "{columns}") VALUES ('{value}', "{values}"); END;

-- name: TRACK_DROP_TRIGGER
DROP TRIGGER IF EXISTS "{schema}"."{name}";

-- ---- the tables ----------------------------------------------------------------------------------

-- name: TRACK_CREATE
CREATE VIRTUAL TABLE "{schema}"."{table}" USING counter("{definition}", TRACKED "{name}");

-- name: TRACK_DROP
DROP TABLE "{schema}"."{table}";

-- All rows. Those that show their counters change nothing.
-- name: TRACK_COUNT_ROWS
INSERT INTO "{schema}"."{table}"(_event, "{columns}") SELECT 'found{value}', "{values}" FROM "{schema}"."{name}";

-- The same of rows that show something else than the DEFAULT in a column.
-- name: TRACK_COUNT_UNLIKE
INSERT INTO "{schema}"."{table}"(_event, "{columns}") SELECT 'found{value}', "{values}" FROM "{schema}"."{name}"
 WHERE "{constraint}";

-- Rows that show a value in a column.
-- name: TRACK_COUNT_VALUES
SELECT count(*) FROM "{schema}"."{name}" WHERE "{value}" <> 0;

-- Rows of a table, counted up to a number.
-- name: TRACK_COUNT_UP_TO
SELECT count(*) FROM (SELECT 1 FROM "{schema}"."{name}" LIMIT :most);

-- Counters without a row in the table.
-- name: TRACK_COUNT_GONE
INSERT INTO "{schema}"."{table}"(_event, "{keys}") SELECT 'missing{value}', "{keys}" FROM "{schema}"."{table}_cells" AS c
 WHERE NOT EXISTS (SELECT 1 FROM "{schema}"."{name}" AS t WHERE "{constraint}");

-- Rows of the table without counters: 0, and the key.
-- name: TRACK_WITHOUT_COUNTERS
SELECT 0, "{keys}" FROM "{schema}"."{name}" AS t
 WHERE NOT EXISTS (SELECT 1 FROM "{schema}"."{table}_cells" AS c WHERE "{constraint}");

-- ---- a changed key -------------------------------------------------------------------------------

-- The cells of the rows of the table, by their new keys.
-- name: TRACK_FORMER
CREATE TABLE "{schema}"."{table}_former" AS SELECT c._rowid_ AS cells, "{values}"
  FROM "{schema}"."{name}" AS t, "{schema}"."{table}_cells" AS c WHERE "{constraint}";

-- How many rows have the cells of another one, too, or of two.
-- name: TRACK_FORMER_TWICE
SELECT count(*) - min(count(DISTINCT cells), (SELECT count(*) FROM (SELECT DISTINCT "{keys}"
       FROM "{schema}"."{table}_former"))) FROM "{schema}"."{table}_former";

-- name: TRACK_FORMER_ROWS
SELECT "{values}" FROM "{schema}"."{table}_former";

-- name: TRACK_FORMER_DROP
DROP TABLE "{schema}"."{table}_former";

-- ---- showing -------------------------------------------------------------------------------------

-- The parameters: the key, the new values, the old values, and the rowid if the table has rowids.
-- name: TRACK_SHOW
UPDATE "{conflict}" "{schema}"."{name}" SET "{changes}" WHERE "{constraint}" AND "{value}";

-- name: TRACK_SHOW_NEW
INSERT "{conflict}" INTO "{schema}"."{name}"("{columns}") VALUES ("{values}");

-- name: TRACK_SHOW_DELETED
DELETE FROM "{schema}"."{name}" WHERE "{constraint}";

-- name: TRACK_FIND
SELECT rowid FROM "{schema}"."{name}" WHERE "{constraint}";

-- name: TRACK_LOOK
SELECT "{columns}" FROM "{schema}"."{name}" WHERE "{constraint}";

-- Columns: id, seq, table, from, to, on_update, on_delete, match.
-- name: TRACK_FOREIGN_KEYS
PRAGMA "{schema}".foreign_key_list("{name}");

-- name: TRACK_VALUE
SELECT "{value}";

-- The table as it is spelled in the schema.
-- name: TRACK_TABLE
SELECT name, type, sql FROM "{schema}".sqlite_master
 WHERE name = :name COLLATE NOCASE AND type IN ('table', 'view');

-- The text of an index.
-- name: TRACK_INDEX
SELECT sql FROM "{schema}".sqlite_master WHERE type = 'index' AND name = :name;

-- A savepoint around the writing of one row.
-- name: TRACK_SAVEPOINT
SAVEPOINT _counter_shown;

-- The setting ends with the transaction.
-- name: TRACK_DEFERS
PRAGMA defer_foreign_keys;

-- name: TRACK_DEFER
PRAGMA defer_foreign_keys = "{value}";

-- name: TRACK_ROLL_BACK
ROLLBACK TO _counter_shown;

-- name: TRACK_RELEASE
RELEASE _counter_shown;

-- ---- counter_untracked ---------------------------------------------------------------------------

-- The counters of tables that counter_untrack has ended, by the name under which the table was born.
-- Other files may hold their values still.

-- name: UNTRACKED_CREATE
CREATE TABLE IF NOT EXISTS "{schema}"."counter_untracked"(
  "table" TEXT NOT NULL COLLATE NOCASE,
  "column" TEXT NOT NULL COLLATE NOCASE,
  PRIMARY KEY ("table", "column"));

-- Inserts nothing for a table that never counted.
-- name: UNTRACKED_NOTE
INSERT OR IGNORE INTO "{schema}".counter_untracked
SELECT :table, :column WHERE EXISTS (SELECT 1 FROM "{schema}"."{table}_cells");

-- name: UNTRACKED_FIND
SELECT 1 FROM "{schema}".counter_untracked WHERE ("table", "column") = (:table, :column);

-- name: UNTRACKED_FORGET
DELETE FROM "{schema}".counter_untracked WHERE ("table", "column") = (:table, :column);
