-- The journal of a table: the changes of its rows, in the order of numbers; see table/journal.c and
-- core/entries.c. level: 0 in a row of a transaction, else the level of a segment, negative except
-- in the first row of the segment, which has its highest number.

-- name: JOURNAL_SINCE
SELECT _seq, level, entries FROM "{schema}"."{table}_journal" WHERE _seq >= :number ORDER BY _seq;

-- The same without the entries of segments, which may be long and have no amounts.
-- name: JOURNAL_AMOUNTS
SELECT _seq, level, CASE WHEN CAST(level AS INTEGER) <> 0 THEN NULL ELSE entries END
  FROM "{schema}"."{table}_journal" WHERE _seq >= :number ORDER BY _seq;

-- name: JOURNAL_LAST
SELECT coalesce(max(_seq), 0) FROM "{schema}"."{table}_journal";

-- name: JOURNAL_APPEND
INSERT INTO "{schema}"."{table}_journal"(_seq, level, entries) VALUES (:number, :level, :entries);

-- Appends the changes of a transaction.
-- name: JOURNAL_NOTE
INSERT INTO "{schema}"."{table}_journal"(_seq, level, entries) VALUES (:number, 0, :entries);

-- name: JOURNAL_EXTEND
UPDATE "{schema}"."{table}_journal" SET entries = :entries WHERE _seq = :number;

-- The program of JOURNAL_EXTEND: it lacks a parameter if an authorizer ignores the column.
-- name: JOURNAL_EXPLAIN
EXPLAIN UPDATE "{schema}"."{table}_journal" SET entries = :entries WHERE _seq = :number;

-- All rows of the segments of the levels from :from to :to.
-- name: JOURNAL_LEVELS
SELECT _seq, level, entries FROM "{schema}"."{table}_journal"
 WHERE level BETWEEN :from AND :to OR level BETWEEN -:to AND -:from ORDER BY _seq DESC;

-- name: JOURNAL_REMOVE
DELETE FROM "{schema}"."{table}_journal"
 WHERE level BETWEEN :from AND :to OR level BETWEEN -:to AND -:from;

-- The lowest level, up to the highest, that has so many segments.
-- name: JOURNAL_FULL_LEVEL
SELECT level FROM "{schema}"."{table}_journal"
 WHERE level BETWEEN 1 AND :highest
 GROUP BY level HAVING count(*) >= :segments ORDER BY level LIMIT 1;

-- The size of each row of the segments up to a level.
-- name: JOURNAL_SIZES
SELECT level, length(entries) FROM "{schema}"."{table}_journal"
 WHERE level <> 0 AND level BETWEEN -:highest AND :highest ORDER BY _seq;

-- name: JOURNAL_ROWS
SELECT _rowid_ FROM "{schema}"."{table}_cells" ORDER BY _rowid_;
