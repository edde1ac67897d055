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
