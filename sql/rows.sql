-- The rows of a table. The parameters of keys come first, in key order, then those of counters.

-- name: ROWS_FIND_KEY
SELECT _id, "{columns}" FROM "{schema}"."{table}_cells" WHERE "{constraint}";

-- name: ROWS_FIND_ROWID
SELECT _id, "{columns}" FROM "{schema}"."{table}_cells" WHERE _id = ?1;

-- name: ROWS_ANY
SELECT 1 FROM "{schema}"."{table}_cells" LIMIT 1;

-- name: ROWS_INSERT
INSERT INTO "{schema}"."{table}_cells"("{columns}") VALUES ("{values}");

-- Inserts nothing if there is a row with this key.
-- name: ROWS_INSERT_NEW
INSERT OR IGNORE INTO "{schema}"."{table}_cells"("{columns}") VALUES ("{values}");

-- name: ROWS_UPDATE
UPDATE "{schema}"."{table}_cells" SET "{changes}" WHERE _id = ?1;

-- The program of ROWS_UPDATE: it lacks a parameter if an authorizer ignores a column.
-- name: ROWS_EXPLAIN
EXPLAIN UPDATE "{schema}"."{table}_cells" SET "{changes}" WHERE _id = ?1;

-- name: ROWS_KEY
SELECT "{keys}" FROM "{schema}"."{table}_cells" WHERE _id = ?1;

-- name: ROWS_ROW_CELL
SELECT _row FROM "{schema}"."{table}_cells" WHERE _id = ?1;

-- name: ROWS_SET_ROW_CELL
UPDATE "{schema}"."{table}_cells" SET _row = ?2 WHERE _id = ?1;

-- Does the row have exactly these key values?
-- name: ROWS_KEY_IS
SELECT 1 FROM "{schema}"."{table}_cells" WHERE _id = ?1 AND "{constraint}";

-- name: ROWS_SCAN
SELECT _id, "{columns}" FROM "{schema}"."{table}_cells" WHERE "{constraint}";

-- (ORDER BY a constant would sort.)
-- name: ROWS_SCAN_IN_ORDER
SELECT _id, "{columns}" FROM "{schema}"."{table}_cells" WHERE "{constraint}" ORDER BY "{order}";

-- The whole table in the order of storage, because the collations of a foreign file are not
-- trusted.
-- name: ROWS_ALL
SELECT _id, "{columns}" FROM "{schema}"."{table}_cells" NOT INDEXED;

-- The rows behind one, in the order of storage.
-- name: ROWS_FOLLOW
SELECT _id, "{columns}" FROM "{schema}"."{table}_cells" WHERE _id > ?1 ORDER BY _id;

-- See table/row.c. The value is the condition that merges.
-- name: UPDATE_KEY
UPDATE "{schema}"."{table}_cells" SET "{changes}" WHERE "{constraint}" AND "{value}";

-- name: UPDATE_BEHIND
UPDATE "{schema}"."{table}_cells" SET "{changes}" WHERE _id > ?1 AND _id <= ?2 AND "{value}";

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
