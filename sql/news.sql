-- News: which rows have changed, in the order of their numbers; appended to at the end of each
-- transaction.
--
-- _seq: the number of a change, 12 bits to the left, and behind it what makes it unique; ids: row
-- ids of cells, each as LEB128, that were stamped with that number or a lower one. Ids stay when
-- their rows change again or go away; those are swept out later. The row 0 says how far the sweep
-- has come: ids is one number, that of the last row looked at.

-- name: NEWS_APPEND
INSERT INTO "{schema}"."{table}_news"(_seq, ids)
VALUES (max(?1, coalesce((SELECT max(_seq) FROM "{schema}"."{table}_news"), 0) + 1), ?2);

-- name: NEWS_SINCE
SELECT _seq, ids FROM "{schema}"."{table}_news" WHERE _seq >= ?1 AND _seq > 0 ORDER BY _seq;

-- name: NEWS_CURSOR
SELECT ids FROM "{schema}"."{table}_news" WHERE _seq = 0;

-- name: NEWS_REMOVE
DELETE FROM "{schema}"."{table}_news" WHERE _seq BETWEEN ?1 AND ?2;

-- name: NEWS_PUT
INSERT OR REPLACE INTO "{schema}"."{table}_news"(_seq, ids) VALUES (?1, ?2);

-- name: NEWS_ROWS
SELECT _id, _seq FROM "{schema}"."{table}_cells" WHERE _id BETWEEN ?1 AND ?2 ORDER BY _id;

-- name: NEWS_LAST_ROW
SELECT max(_id) FROM "{schema}"."{table}_cells";

-- name: NEWS_NUMBERS
SELECT _id, _seq FROM "{schema}"."{table}_cells" ORDER BY _id;

-- Rows that have changed since, where it is not known which.
-- name: NEWS_RESCAN
SELECT _id FROM "{schema}"."{table}_cells" WHERE _seq >= ?1;
