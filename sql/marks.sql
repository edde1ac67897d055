-- Marks: the number up to which a source was read. id: the replica id of the source; theirs: the
-- token of its table, or for its feed its twist, a number, or what follows the id in its name, or " own" and a place; mine: the token of our table.
-- A table that is read in parts: merge/marks.c.

-- name: MARKS_CREATE
CREATE TABLE IF NOT EXISTS "{schema}"."counter_peers"(
  id BLOB NOT NULL,
  theirs BLOB NOT NULL,
  mine BLOB NOT NULL,
  mark INTEGER NOT NULL,
  PRIMARY KEY (id, theirs, mine));

-- name: MARKS_READ
SELECT mark, id, theirs, mine FROM "{schema}".counter_peers WHERE id = :id AND theirs = :theirs AND mine = :mine;

-- name: MARKS_WRITE
INSERT OR REPLACE INTO "{schema}".counter_peers(id, theirs, mine, mark)
VALUES (:id, :theirs, :mine, :mark);

-- name: MARKS_END_PARTS
DELETE FROM "{schema}".counter_peers
 WHERE id = :id AND (mark < 0 OR (typeof(theirs) = 'blob' AND length(theirs) = 17));

-- Deletes the marks of tables that do not exist any more: of one file, then of one source of the feed.
-- Looking through all would take time for each source that was ever seen.
-- name: MARKS_FORGET
DELETE FROM "{schema}".counter_peers
 WHERE id = :id AND mine NOT IN (SELECT token FROM "{schema}".counter_tables);

-- A higher mark stays: it tells what had been read of the source, or given by this file.
-- name: MARKS_FORGET_FEED
DELETE FROM "{schema}".counter_peers
 WHERE id = :id AND theirs = :theirs AND mark <= :mark AND mine NOT IN (SELECT token FROM "{schema}".counter_tables);

-- The lowest mark of all tables; NULL without tables, 0 if a table has no mark.
-- name: MARKS_LEAST
SELECT min(coalesce((SELECT mark FROM "{schema}".counter_peers
                      WHERE id = :id AND theirs = :theirs AND mine = token), 0))
  FROM "{schema}".counter_tables;

-- The highest mark of any table, also of one that is gone or has another token now.
-- name: MARKS_HIGHEST
SELECT max(mark) FROM "{schema}".counter_peers WHERE id = :id AND theirs = :theirs;

-- Raises the marks of all tables to :mark.
-- name: MARKS_RAISE
INSERT OR REPLACE INTO "{schema}".counter_peers(id, theirs, mine, mark)
SELECT :id, :theirs, token,
       max(:mark, coalesce((SELECT mark FROM "{schema}".counter_peers
                             WHERE id = :id AND theirs = :theirs AND mine = token), 0))
  FROM "{schema}".counter_tables;
