-- Regular columns of a replicated table: table/columns.c.

-- name: REGULAR_BEGIN
ALTER TABLE "{schema}"."{table}_cells" ADD COLUMN "_row" BLOB;

-- name: REGULAR_WRITERS
SELECT _name, _value FROM "{schema}"."{table}_state"
 WHERE _kind BETWEEN 'writer' AND 'writer' ORDER BY _value;

-- name: REGULAR_NEW_WRITER
INSERT INTO "{schema}"."{table}_state"(_kind, _name, _value)
SELECT 'writer', :id, count(*) + 1 FROM "{schema}"."{table}_state" WHERE _kind BETWEEN 'writer' AND 'writer';

-- Cells of counters that have come before their rows: merge/feed.c. One of another generation of
-- its counter is overwritten, or forgotten when it is taken.
-- name: REGULAR_PENDING
SELECT _value FROM "{schema}"."{table}_state"
 WHERE _kind = 'pending' AND _row = :life AND _name = :name AND _seq = :generation;

-- name: REGULAR_KEEP_PENDING
INSERT OR REPLACE INTO "{schema}"."{table}_state"(_kind, _row, _name, _value, _seq)
VALUES ('pending', :life, :name, :cell, :generation);

-- name: REGULAR_ANY_PENDING
SELECT EXISTS (SELECT 1 FROM "{schema}"."{table}_state" WHERE _kind BETWEEN 'pending' AND 'pending');

-- name: REGULAR_ALL_PENDING
SELECT _row, _name, _value, _id, _seq FROM "{schema}"."{table}_state" WHERE _kind BETWEEN 'pending' AND 'pending';

-- name: REGULAR_FORGET_PENDING
DELETE FROM "{schema}"."{table}_state" WHERE _id = :id;
