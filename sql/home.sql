-- Where the cells of a tracked table are: table/home.c. The parameters of keys come first.

-- Its rows that are away.
-- name: HOME_INDEX
CREATE UNIQUE INDEX "{schema}"."{table}_cells_away" ON "{table}_cells"("{keys}") WHERE _away;

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

-- Only prepared, for the types of its columns.
-- name: HOME_DESCRIBE
SELECT "{keys}" FROM "{value}";

-- name: HOME_LEAVE
UPDATE "{schema}"."{table}_cells" SET _away = 1 WHERE _rowid_ = ?1 AND _away IS NULL;

-- name: HOME_COME
UPDATE "{schema}"."{table}_cells" SET _away = NULL WHERE _rowid_ = ?1 AND _away;

-- Is a row with this row id at home, NULL, away, 1, or not there?
-- name: HOME_OCCUPIED
SELECT _away FROM "{schema}"."{table}_cells" WHERE _rowid_ = ?1;

-- name: HOME_LOWEST
SELECT min(coalesce(min(_rowid_), 0), 0) FROM "{schema}"."{table}_cells";

-- The value: the highest row id of the tracked table.
-- name: HOME_HIGHEST
SELECT max(coalesce((SELECT max(_rowid_) FROM "{schema}"."{table}_cells"), 0), coalesce(("{value}"), 0), 0);

-- For which version of the schema, and for which file, the places hold.
-- name: HOME_HOLDS
SELECT seq, rows FROM "{schema}".counter_state
 WHERE tab = :tab AND kind = 'home' AND row = 0 AND name = '';

-- name: HOME_HOLD
INSERT OR REPLACE INTO "{schema}".counter_state(tab, kind, seq, rows)
VALUES (:tab, 'home', :schema, :file);

-- name: HOME_COOKIE
PRAGMA "{schema}".schema_version;

-- Marks the rows that are not at home, but for those whose key another row has that is away.
-- name: HOME_MARK_STRAYS
UPDATE OR IGNORE "{schema}"."{table}_cells" SET _away = 1
 WHERE _rowid_ IN (SELECT _rowid_ FROM "{schema}"."{table}_cells" AS c
                    WHERE _away IS NULL AND NOT ("{value}"));

-- The same between two row ids.
-- name: HOME_MARK_RANGE
UPDATE "{schema}"."{table}_cells" SET _away = 1
 WHERE _rowid_ IN (SELECT _rowid_ FROM "{schema}"."{table}_cells" AS c
                    WHERE _rowid_ BETWEEN ?1 AND ?2 AND _away IS NULL AND NOT ("{value}"));

-- Rows that have one key: the one that is away, the other one.
-- name: HOME_TWINS
SELECT a._rowid_, c._rowid_ FROM "{schema}"."{table}_cells" AS c, "{schema}"."{table}_cells" AS a
 WHERE a._away AND c._away IS NULL AND "{constraint}";

-- A row that is said to be at home, of which the value is true.
-- name: HOME_UNMARKED
SELECT _rowid_ FROM "{schema}"."{table}_cells" AS c WHERE _away IS NULL AND "{value}" LIMIT 1;

-- name: HOME_REMOVE
DELETE FROM "{schema}"."{table}_cells" WHERE _rowid_ = ?1;
