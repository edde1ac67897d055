-- Keys as JSON.

-- A number of JSON as SQLite reads it: table/shape.c.
-- name: KEY_REAL
SELECT ?1;
