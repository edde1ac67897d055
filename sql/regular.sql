-- Regular columns of a replicated table: table/columns.c.

-- name: REGULAR_BEGIN
ALTER TABLE "{schema}"."{table}_cells" ADD COLUMN "_row" BLOB;

-- The ids in row cells are numbered for all tables of the file. A number never changes.
-- name: REGULAR_WRITERS
SELECT name, value FROM "{schema}".counter_state
 WHERE tab = 0 AND kind BETWEEN 'writer' AND 'writer' ORDER BY value;

-- name: REGULAR_NEW_WRITER
INSERT INTO "{schema}".counter_state(tab, kind, name, value)
SELECT 0, 'writer', :id, count(*) + 1 FROM "{schema}".counter_state
 WHERE tab = 0 AND kind BETWEEN 'writer' AND 'writer';

-- Cells of counters that have come before their rows: merge/feed.c. One of another generation of
-- its counter is overwritten, or forgotten when it is taken.
-- name: REGULAR_PENDING
SELECT value FROM "{schema}".counter_state
 WHERE tab = :tab AND kind = 'pending' AND row = :life AND name = :name AND seq = :generation;

-- name: REGULAR_KEEP_PENDING
INSERT OR REPLACE INTO "{schema}".counter_state(tab, kind, row, name, value, seq)
VALUES (:tab, 'pending', :life, :name, :cell, :generation);

-- name: REGULAR_ANY_PENDING
SELECT EXISTS (SELECT 1 FROM "{schema}".counter_state
                WHERE tab = :tab AND kind BETWEEN 'pending' AND 'pending');

-- name: REGULAR_ALL_PENDING
SELECT row, name, value, seq FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'pending' AND 'pending';

-- name: REGULAR_FORGET_PENDING
DELETE FROM "{schema}".counter_state
 WHERE tab = :tab AND kind = 'pending' AND row = :life AND name = :name;
