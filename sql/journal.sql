-- The journal of a file: the changes of its rows, in the order of numbers, a row for a transaction; see
-- table/journal.c and core/entries.c. tabs: a mask of the tables that have a group in the row.
--
-- The segments of a table list the rows that changed before. level: that of the segment, negative except in
-- its first row, which has its highest number.

-- name: JOURNAL_CREATE
CREATE TABLE IF NOT EXISTS "{schema}"."counter_journal"(
  _seq INTEGER PRIMARY KEY,
  tabs INTEGER NOT NULL,
  entries BLOB NOT NULL);

-- name: SEGMENTS_CREATE
CREATE TABLE IF NOT EXISTS "{schema}"."counter_segments"(
  tab INTEGER NOT NULL,
  number INTEGER NOT NULL,
  level INTEGER NOT NULL,
  entries BLOB NOT NULL,
  PRIMARY KEY (tab, number)) WITHOUT ROWID;

-- The rows with groups of a table, by its bit; with :number and the last row, which tell what was read.
-- name: JOURNAL_READ
SELECT _seq, tabs, CASE WHEN tabs & :bit THEN entries END FROM "{schema}".counter_journal
 WHERE _seq >= :number
   AND (tabs & :bit OR _seq = :number OR _seq = (SELECT max(_seq) FROM "{schema}".counter_journal))
 ORDER BY _seq;

-- name: JOURNAL_SINCE
SELECT _seq, tabs, entries FROM "{schema}".counter_journal
 WHERE _seq >= :number AND tabs & :bit ORDER BY _seq;

-- name: JOURNAL_BACKWARDS
SELECT _seq, tabs, entries FROM "{schema}".counter_journal WHERE tabs & :bit ORDER BY _seq DESC;

-- name: JOURNAL_ALL
SELECT _seq, tabs, entries FROM "{schema}".counter_journal ORDER BY _seq;

-- name: JOURNAL_LAST
SELECT coalesce(max(_seq), 0) FROM "{schema}".counter_journal;

-- name: JOURNAL_COUNT
SELECT count(*) FROM "{schema}".counter_journal;

-- The first rows behind a number.
-- name: JOURNAL_OLDEST
SELECT _seq, tabs, entries FROM "{schema}".counter_journal WHERE _seq > :number ORDER BY _seq LIMIT :n;

-- name: JOURNAL_MASKS
SELECT _seq, tabs FROM "{schema}".counter_journal ORDER BY _seq;

-- Appends the changes of a transaction.
-- name: JOURNAL_APPEND
INSERT INTO "{schema}".counter_journal(_seq, tabs, entries) VALUES (:number, :tabs, :entries);

-- name: JOURNAL_CHANGE
UPDATE "{schema}".counter_journal SET tabs = :tabs, entries = :entries WHERE _seq = :number;

-- The program of JOURNAL_CHANGE: it lacks a parameter if an authorizer ignores a column.
-- name: JOURNAL_EXPLAIN
EXPLAIN UPDATE "{schema}".counter_journal SET tabs = :tabs, entries = :entries WHERE _seq = :number;

-- The rows with these bits and no other.
-- name: JOURNAL_REMOVE_WHOLE
DELETE FROM "{schema}".counter_journal WHERE _seq < :number AND tabs & :bits AND tabs & ~:bits = 0;

-- name: JOURNAL_REMOVE
DELETE FROM "{schema}".counter_journal WHERE _seq = :number;

-- name: SEGMENTS_SINCE
SELECT number, level, entries FROM "{schema}".counter_segments
 WHERE tab = :tab AND number >= :number ORDER BY number;

-- All rows of the segments of the levels from :from to :to.
-- name: SEGMENTS_LEVELS
SELECT number, level, entries FROM "{schema}".counter_segments
 WHERE tab = :tab AND (level BETWEEN :from AND :to OR level BETWEEN -:to AND -:from) ORDER BY number DESC;

-- name: SEGMENTS_APPEND
INSERT INTO "{schema}".counter_segments(tab, number, level, entries) VALUES (:tab, :number, :level, :entries);

-- name: SEGMENTS_REMOVE
DELETE FROM "{schema}".counter_segments
 WHERE tab = :tab AND (level BETWEEN :from AND :to OR level BETWEEN -:to AND -:from);

-- name: SEGMENTS_DROP
DELETE FROM "{schema}".counter_segments WHERE tab = :tab;

-- The lowest level, up to the highest, that has so many segments.
-- name: SEGMENTS_FULL_LEVEL
SELECT level FROM "{schema}".counter_segments
 WHERE tab = :tab AND level BETWEEN 1 AND :highest
 GROUP BY level HAVING count(*) >= :segments ORDER BY level LIMIT 1;

-- The size of each row of the segments up to a level.
-- name: SEGMENTS_SIZES
SELECT level, length(entries) FROM "{schema}".counter_segments
 WHERE tab = :tab AND level BETWEEN -:highest AND :highest ORDER BY number;

-- name: JOURNAL_ROWS
SELECT _rowid_ FROM "{schema}"."{table}_cells" ORDER BY _rowid_;
