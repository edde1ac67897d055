-- Floors: below them a table has no rows, and never will have again. Parameters of keys come in key
-- order; NULL is no floor.

-- Is a key below a floor?
-- name: FLOORS_BELOW
SELECT 1 FROM "{schema}"."{table}_floors" WHERE "{constraint}" LIMIT 1;

-- name: FLOORS_READ
SELECT "{keys}", _seq, _rows, _bytes FROM "{schema}"."{table}_floors" ORDER BY _id LIMIT 1;

-- Would a floor rise?
-- name: FLOORS_LOWER
SELECT EXISTS (SELECT 1 FROM "{schema}"."{table}_floors" WHERE "{constraint}"),
       EXISTS (SELECT 1 FROM "{schema}"."{table}_floors");

-- name: FLOORS_INSERT
INSERT INTO "{schema}"."{table}_floors"("{keys}", _id, _seq, _rows, _bytes) VALUES ("{values}");

-- name: FLOORS_RAISE
UPDATE "{schema}"."{table}_floors" SET "{changes}" WHERE _id = 1;

-- Rows below, and the bytes of their keys and cells.
-- name: FLOORS_COUNT
SELECT count(*), coalesce(sum("{columns}"), 0) FROM "{schema}"."{table}_cells" WHERE "{constraint}";

-- name: FLOORS_REMOVE
DELETE FROM "{schema}"."{table}_cells" WHERE "{constraint}";
