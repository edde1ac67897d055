-- What counter_plan asks about the rows of a table that is not replicated yet: functions/adoption.c.

-- The greatest key that SQLite gave out.
-- name: ADOPTION_GREATEST
SELECT max("{keys}") FROM "{schema}"."{name}";

-- Has some row NULL in its key?
-- name: ADOPTION_HAS_NULL
SELECT EXISTS (SELECT 1 FROM "{schema}"."{name}" WHERE "{constraint}");

-- Have two rows the same values?
-- name: ADOPTION_HAS_TWINS
SELECT EXISTS (SELECT 1 FROM "{schema}"."{name}" GROUP BY "{keys}" HAVING count(*) > 1);

-- Has a column values that a flag has not?
-- name: ADOPTION_IS_NUMBER
SELECT EXISTS (SELECT 1 FROM "{schema}"."{name}" WHERE "{value}" NOT IN (0, 1));

-- Fails if this connection lacks the collation.
-- name: ADOPTION_COMPARE
SELECT 'a' = 'b' COLLATE "{name}";
