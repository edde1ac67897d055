-- Floors: a table never has rows below them again. The parameters of keys are in key order; NULL is
-- no floor.

-- Is a key below a floor?
-- name: FLOORS_BELOW
SELECT 1 FROM "{schema}"."{table}_state"
 WHERE _kind = 'floors' AND _row = 0 AND _name = '' AND ("{constraint}");

-- name: FLOORS_READ
SELECT "{keys}", _seq, _rows, _bytes FROM "{schema}"."{table}_state"
 WHERE _kind = 'floors' AND _row = 0 AND _name = '';

-- Would a floor rise?
-- name: FLOORS_LOWER
SELECT EXISTS (SELECT 1 FROM "{schema}"."{table}_state"
                WHERE _kind = 'floors' AND _row = 0 AND _name = '' AND ("{constraint}")),
       EXISTS (SELECT 1 FROM "{schema}"."{table}_state"
                WHERE _kind = 'floors' AND _row = 0 AND _name = '');

-- The parameters behind the keys: the number, the rows and the bytes that are removed.
-- name: FLOORS_INSERT
INSERT INTO "{schema}"."{table}_state"("{keys}", _kind, _seq, _rows, _bytes)
VALUES ("{values}", 'floors', ?, ?, ?);

-- name: FLOORS_RAISE
UPDATE "{schema}"."{table}_state" SET "{changes}", _seq = ?, _rows = _rows + ?, _bytes = _bytes + ?
 WHERE _kind = 'floors' AND _row = 0 AND _name = '';

-- The number of rows below, and the bytes of their keys and cells.
-- name: FLOORS_COUNT
SELECT count(*), coalesce(sum("{columns}"), 0) FROM "{schema}"."{table}_cells" WHERE "{constraint}";

-- name: FLOORS_REMOVE
DELETE FROM "{schema}"."{table}_cells" WHERE "{constraint}";
