-- The rows of a table. The parameters of keys come first, in key order, then those of counters.
-- _rowid_ is _id or, where a tracked table has an INTEGER PRIMARY KEY, the key.

-- name: ROWS_FIND_KEY
SELECT _rowid_, "{columns}" FROM "{schema}"."{table}_cells" WHERE "{constraint}";

-- name: ROWS_FIND_ROWID
SELECT _rowid_, "{columns}" FROM "{schema}"."{table}_cells" WHERE _rowid_ = ?1;

-- name: ROWS_ANY
SELECT 1 FROM "{schema}"."{table}_cells" LIMIT 1;

-- name: ROWS_INSERT
INSERT INTO "{schema}"."{table}_cells"("{columns}") VALUES ("{values}");

-- Inserts nothing if there is a row with this key.
-- name: ROWS_INSERT_NEW
INSERT OR IGNORE INTO "{schema}"."{table}_cells"("{columns}") VALUES ("{values}");

-- name: ROWS_UPDATE
UPDATE "{schema}"."{table}_cells" SET "{changes}" WHERE _rowid_ = ?1;

-- The program of ROWS_UPDATE: it lacks a parameter if an authorizer ignores a column.
-- name: ROWS_EXPLAIN
EXPLAIN UPDATE "{schema}"."{table}_cells" SET "{changes}" WHERE _rowid_ = ?1;

-- name: ROWS_KEY
SELECT "{keys}" FROM "{schema}"."{table}_cells" WHERE _rowid_ = ?1;

-- name: ROWS_ROW_CELL
SELECT _row FROM "{schema}"."{table}_cells" WHERE _rowid_ = ?1;

-- name: ROWS_SET_ROW_CELL
UPDATE "{schema}"."{table}_cells" SET _row = ?2 WHERE _rowid_ = ?1;

-- Does the row have exactly these key values?
-- name: ROWS_KEY_IS
SELECT 1 FROM "{schema}"."{table}_cells" WHERE _rowid_ = ?1 AND "{constraint}";

-- name: ROWS_SCAN
SELECT _rowid_, "{columns}" FROM "{schema}"."{table}_cells" WHERE "{constraint}";

-- (ORDER BY a constant would sort.)
-- name: ROWS_SCAN_IN_ORDER
SELECT _rowid_, "{columns}" FROM "{schema}"."{table}_cells" WHERE "{constraint}" ORDER BY "{order}";

-- The whole table in the order of storage, because the collations of a foreign file are not
-- trusted.
-- name: ROWS_ALL
SELECT _rowid_, "{columns}" FROM "{schema}"."{table}_cells" NOT INDEXED;

-- The rows from one on, in the order of storage.
-- name: ROWS_FOLLOW
SELECT _rowid_, "{columns}" FROM "{schema}"."{table}_cells" WHERE _rowid_ >= ?1 ORDER BY _rowid_;

-- The last of so many rows behind one.
-- name: ROWS_WINDOW
SELECT _rowid_ FROM "{schema}"."{table}_cells" WHERE _rowid_ > ?1 ORDER BY _rowid_ LIMIT 1 OFFSET ?2 - 1;

-- See table/row.c. The value is the condition that merges.
-- name: UPDATE_KEY
UPDATE "{schema}"."{table}_cells" SET "{changes}" WHERE "{constraint}" AND "{value}";

-- name: UPDATE_BEHIND
UPDATE "{schema}"."{table}_cells" SET "{changes}" WHERE _rowid_ > ?1 AND _rowid_ <= ?2 AND "{value}";

-- Makes a row of parameters.
-- name: ROWS_OF_PARAMETERS
SELECT "{values}";

-- Compares two values of a key column.
-- name: ROWS_COMPARE
SELECT (?1 > ?2 COLLATE "{name}") - (?1 < ?2 COLLATE "{name}");

-- Through the counter table itself, for counter_add.
-- name: ADD_INSERT
INSERT INTO "{schema}"."{table}"("{columns}") VALUES ("{values}");

-- name: ADD_SELECT
SELECT "{name}" FROM "{schema}"."{table}" WHERE "{constraint}";
