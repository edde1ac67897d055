-- Where the cells of a tracked table are: table/home.c. The parameters of keys come first.

-- Its rows that are away.
-- name: HOME_INDEX
CREATE UNIQUE INDEX "{schema}"."{table}_cells_away" ON "{table}_cells"("{keys}") WHERE _away;

-- name: HOME_DROP_INDEX
DROP INDEX IF EXISTS "{schema}"."{table}_cells_away";

-- Cells by the key: through the row of the tracked table, if it is known; those that are away; those
-- at a row id. The first has a row without cells if they are not where they should be, and at its end
-- the row id in the tracked table.
-- name: HOME_FIND
SELECT c._rowid_, "{columns}" FROM "{value}" LEFT JOIN "{schema}"."{table}_cells" AS c
    ON c._rowid_ = t."{name}" AND "{order}" WHERE "{constraint}";

-- name: HOME_FIND_AWAY
SELECT _rowid_, "{columns}" FROM "{schema}"."{table}_cells" INDEXED BY "{table}_cells_away"
 WHERE _away AND "{constraint}";

-- name: HOME_FIND_AT
SELECT _rowid_, "{columns}" FROM "{schema}"."{table}_cells" WHERE _rowid_ = "{value}" AND "{constraint}";

-- name: HOME_ANY_AWAY
SELECT EXISTS (SELECT 1 FROM "{schema}"."{table}_cells" INDEXED BY "{table}_cells_away" WHERE _away);

-- The row id of the row of the tracked table with this key, or NULL.
-- name: HOME_OF
SELECT ("{value}");

-- Only prepared, for the types of its columns.
-- name: HOME_DESCRIBE
SELECT "{keys}" FROM "{value}";

-- name: HOME_LEAVE
UPDATE "{schema}"."{table}_cells" SET _away = 1 WHERE _rowid_ = ?1 AND _away IS NULL;

-- name: HOME_SETTLE
UPDATE "{schema}"."{table}_cells" SET _away = NULL WHERE _rowid_ = ?1 AND _away;

-- Is a row with this row id at home, NULL, away, 1, or not there?
-- name: HOME_OCCUPIED
SELECT _away FROM "{schema}"."{table}_cells" WHERE _rowid_ = ?1;

-- name: HOME_LOWEST
SELECT min(coalesce(min(_rowid_), 0), 0) FROM "{schema}"."{table}_cells";

-- The value: the highest row id of the tracked table.
-- name: HOME_HIGHEST
SELECT max(coalesce((SELECT max(_rowid_) FROM "{schema}"."{table}_cells"), 0), coalesce(("{value}"), 0), 0);

-- Is one of the last row and of 64 spread ones not where it should be? The value says whether the
-- row c is at home.
-- name: HOME_SAMPLE
SELECT EXISTS (
  SELECT 1 FROM "{schema}"."{table}_cells" AS c
   WHERE c._away IS NULL AND NOT ("{value}") AND c._rowid_ IN (
     WITH RECURSIVE step(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM step WHERE i < 63)
     SELECT (SELECT _rowid_ FROM "{schema}"."{table}_cells"
              WHERE _rowid_ >= (SELECT min(_rowid_) FROM "{schema}"."{table}_cells") / 64 * (64 - i) +
                               (SELECT max(_rowid_) FROM "{schema}"."{table}_cells") / 64 * i
              ORDER BY _rowid_ LIMIT 1) FROM step
     UNION SELECT max(_rowid_) FROM "{schema}"."{table}_cells"));

-- Rows that are not where they should be.
-- name: HOME_STRAYS
SELECT _rowid_ FROM "{schema}"."{table}_cells" AS c WHERE _away IS NULL AND NOT ("{value}");

-- Marks them, but for those whose key another row has that is away.
-- name: HOME_MARK_STRAYS
UPDATE OR IGNORE "{schema}"."{table}_cells" SET _away = 1
 WHERE _rowid_ IN (SELECT _rowid_ FROM "{schema}"."{table}_cells" AS c
                    WHERE _away IS NULL AND NOT ("{value}"));

-- Rows that have one key: the one that is away, the other one.
-- name: HOME_TWINS
SELECT a._rowid_, c._rowid_ FROM "{schema}"."{table}_cells" AS c, "{schema}"."{table}_cells" AS a
 WHERE a._away AND c._away IS NULL AND "{constraint}";

-- name: HOME_REMOVE
DELETE FROM "{schema}"."{table}_cells" WHERE _rowid_ = ?1;
