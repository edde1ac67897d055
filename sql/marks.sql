-- Marks: up to which sequence number a file has been read. id: the replica id of that file; theirs:
-- the token of its table, or its twist, a number, for what came through the change feed; mine: the
-- token of the table that took.

-- name: MARKS_CREATE
CREATE TABLE IF NOT EXISTS "{schema}"."counter_peers"(
  id BLOB NOT NULL,
  theirs BLOB NOT NULL,
  mine BLOB NOT NULL,
  mark INTEGER NOT NULL,
  PRIMARY KEY (id, theirs, mine));

-- And whether the table has generations of counters.
-- name: MARKS_READ
SELECT mark, EXISTS (SELECT 1 FROM "{schema}"."{table}_state" WHERE _kind BETWEEN 'counter' AND 'counter')
  FROM "{schema}".counter_peers WHERE id = ?1 AND theirs = ?2 AND mine = ?3;

-- name: MARKS_WRITE
INSERT OR REPLACE INTO "{schema}".counter_peers(id, theirs, mine, mark) VALUES (?1, ?2, ?3, ?4);

-- Those of tables that are no more.
-- name: MARKS_FORGET
DELETE FROM "{schema}".counter_peers WHERE mine NOT IN (SELECT token FROM "{schema}".counter_tables);

-- The least mark over all tables; NULL if there is none, 0 where one table has none.
-- name: MARKS_LEAST
SELECT min(coalesce((SELECT mark FROM "{schema}".counter_peers WHERE id = ?1 AND theirs = ?2 AND mine = token), 0))
  FROM "{schema}".counter_tables;

-- Raises them all to ?3.
-- name: MARKS_RAISE
INSERT OR REPLACE INTO "{schema}".counter_peers(id, theirs, mine, mark)
SELECT ?1, ?2, token,
       max(?3, coalesce((SELECT mark FROM "{schema}".counter_peers WHERE id = ?1 AND theirs = ?2 AND mine = token), 0))
  FROM "{schema}".counter_tables;
