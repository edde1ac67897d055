-- Queries use the key, and give what an ordinary table would give.

-- # equality-range-and-order-use-the-key
--@ process-only
CREATE VIRTUAL TABLE v USING counter(path TEXT, hour INTEGER, n COUNTER, PRIMARY KEY(path, hour));
EXPLAIN QUERY PLAN SELECT * FROM v WHERE path = '/' AND hour = 12;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:=0=1.
EXPLAIN QUERY PLAN UPDATE v SET n = n + 1 WHERE path = '/' AND hour = 12;
--~ *SCAN *v VIRTUAL TABLE INDEX 1:=0=1.
EXPLAIN QUERY PLAN SELECT * FROM v WHERE path = '/';
--~ *SCAN *v VIRTUAL TABLE INDEX 0:=0.
EXPLAIN QUERY PLAN SELECT * FROM v WHERE path = '/' AND hour BETWEEN 3 AND 5;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:=0G1L1.
EXPLAIN QUERY PLAN SELECT * FROM v WHERE path > '/' ORDER BY path, hour;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:>0.+0+1
EXPLAIN QUERY PLAN SELECT * FROM v ORDER BY path DESC, hour DESC;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:.-0-1
EXPLAIN QUERY PLAN SELECT * FROM v WHERE path = '/' ORDER BY hour DESC;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:=0.-1
EXPLAIN QUERY PLAN SELECT * FROM v WHERE path IN ('/', '/a') AND hour = 12;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:=0=1.
EXPLAIN QUERY PLAN SELECT * FROM v WHERE hour = 12;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:.
EXPLAIN QUERY PLAN SELECT * FROM v WHERE path = '/' COLLATE NOCASE;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:.
EXPLAIN QUERY PLAN SELECT * FROM v ORDER BY path, hour DESC;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:.
--~ *USE TEMP B-TREE FOR ORDER BY
EXPLAIN QUERY PLAN SELECT * FROM v ORDER BY n;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:.
--~ *USE TEMP B-TREE FOR ORDER BY

-- # results-are-those-of-an-ordinary-table
CREATE VIRTUAL TABLE v USING counter(path TEXT, hour INTEGER, n COUNTER, PRIMARY KEY(path, hour));
CREATE TABLE p(path TEXT, hour INTEGER, n INTEGER, PRIMARY KEY(path, hour));
WITH RECURSIVE i(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM i WHERE i < 99)
INSERT INTO p SELECT char(97 + i % 7), i % 12, sum(i) FROM i GROUP BY 1, 2;
INSERT INTO v SELECT path, hour, n FROM p ORDER BY n;
SELECT group_concat(path || hour || ':' || n) = (SELECT group_concat(path || hour || ':' || n) FROM (SELECT * FROM p WHERE path = 'c' ORDER BY hour)) FROM (SELECT * FROM v WHERE path = 'c' ORDER BY hour);
--= 1
SELECT group_concat(path || hour || ':' || n) = (SELECT group_concat(path || hour || ':' || n) FROM (SELECT * FROM p ORDER BY path DESC, hour DESC)) FROM (SELECT * FROM v ORDER BY path DESC, hour DESC);
--= 1
SELECT group_concat(path || hour || ':' || n) = (SELECT group_concat(path || hour || ':' || n) FROM (SELECT * FROM p WHERE path >= 'b' AND path < 'e' ORDER BY path, hour)) FROM (SELECT * FROM v WHERE path >= 'b' AND path < 'e' ORDER BY path, hour);
--= 1
SELECT count(*), sum(n) FROM (SELECT path, hour, n FROM v WHERE hour > 3 AND path <= 'd' EXCEPT SELECT path, hour, n FROM p WHERE hour > 3 AND path <= 'd');
--= 0|NULL
SELECT hour, n FROM v WHERE path = 'd' AND hour IN (5, 1, 5, 99) ORDER BY hour DESC;
--= 5|17
--= 1|73
SELECT (SELECT count(*) FROM v WHERE path IN ('a', 'f', 'nosuch')) = (SELECT count(*) FROM p WHERE path IN ('a', 'f', 'nosuch'));
--= 1
SELECT count(*) = (SELECT count(*) FROM p) FROM v JOIN p USING (path, hour) WHERE v.n = p.n;
--= 1
SELECT count(*) = (SELECT count(*) FROM p) FROM p JOIN v ON v.path = p.path AND v.hour = p.hour AND v.n = p.n;
--= 1
SELECT count(*) FROM v WHERE path IS NULL OR hour = NULL;
--= 0
SELECT count(*) FROM v WHERE path IS 'a' AND hour IS 0;
--= 1
SELECT count(*) FROM v WHERE path > NULL;
--= 0

-- # collations-of-key-and-comparison-are-not-mixed
CREATE VIRTUAL TABLE b USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO b VALUES('abc', 1), ('ABC', 2);
SELECT k FROM b WHERE k = 'ABC' COLLATE NOCASE ORDER BY k;
--= ABC
--= abc
SELECT k FROM b WHERE k = 'ABC';
--= ABC
CREATE VIRTUAL TABLE c USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO c VALUES('abc', 1), ('B', 2);
SELECT k FROM c WHERE k = 'ABC';
--= abc
SELECT k FROM c WHERE k = 'ABC' COLLATE BINARY;
SELECT k FROM c ORDER BY k;
--= abc
--= B
SELECT k FROM c ORDER BY k COLLATE BINARY;
--= B
--= abc

-- # a-number-against-a-text-key-loses-no-row
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('012', 1), ('12', 2), ('12.0', 3), ('x', 4);
SELECT k FROM v WHERE k = 12;
--= 12
SELECT k FROM v WHERE k = 12.0;
--= 12.0
CREATE TABLE i(x INTEGER);
INSERT INTO i VALUES(12);
SELECT k FROM i CROSS JOIN v ON v.k = i.x ORDER BY n;
--= 012
--= 12
--= 12.0
SELECT k FROM v WHERE k = (SELECT x FROM i) ORDER BY n;
--= 012
--= 12
--= 12.0
SELECT k FROM v WHERE k > 11 AND k < 13 ORDER BY k;
--= 12
--= 12.0
UPDATE v SET n = n + 10 WHERE k = 12;
SELECT k, n FROM v ORDER BY k;
--= 012|1
--= 12|12
--= 12.0|3
--= x|4
DELETE FROM v WHERE k = 12;
SELECT k FROM v ORDER BY k;
--= 012
--= 12.0
--= x

-- # a-number-against-a-part-of-the-key-keeps-order-groups-and-distinct
CREATE VIRTUAL TABLE v USING counter(a TEXT, b INTEGER, n COUNTER, PRIMARY KEY(a, b));
INSERT INTO v VALUES('012', 1, 1), ('012', 5, 9), ('12', 1, 2), ('12', 3, 0);
CREATE TABLE i(x INTEGER);
INSERT INTO i VALUES(12);
SELECT b FROM v WHERE a = (SELECT x FROM i) ORDER BY b;
--= 1
--= 1
--= 3
--= 5
SELECT b, count(*) FROM v WHERE a = (SELECT x FROM i) GROUP BY b;
--= 1|2
--= 3|1
--= 5|1
SELECT DISTINCT b FROM v WHERE a = (SELECT x FROM i) ORDER BY b DESC;
--= 5
--= 3
--= 1
SELECT a, n FROM v WHERE a = (SELECT x FROM i) AND b = 1 ORDER BY n DESC;
--= 12|2
--= 012|1
SELECT a, b FROM v WHERE a = (SELECT x FROM i) ORDER BY a DESC, b;
--= 12|1
--= 12|3
--= 012|1
--= 012|5

-- # text-against-a-number-key-loses-no-row
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(12, 1), (13, 2), ('x', 3);
SELECT k FROM v WHERE k = '12';
--= 12
SELECT k FROM v WHERE k = '012.0';
--= 12
SELECT k FROM v WHERE k = 'x';
--= x
SELECT k FROM v WHERE k > '12' ORDER BY k;
--= 13
--= x

-- # a-key-without-type-loses-no-row
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(12, 1), ('12', 2), (x'3132', 3);
SELECT typeof(k) FROM v WHERE k = 12;
--= integer
SELECT typeof(k) FROM v WHERE k = '12';
--= text
SELECT typeof(k) FROM v WHERE k = x'3132';
--= blob
SELECT count(*) FROM v WHERE k = NULL OR k > NULL OR k < NULL;
--= 0
SELECT count(*) FROM v WHERE k >= (SELECT NULL);
--= 0
CREATE TABLE i(x INTEGER, t TEXT);
INSERT INTO i VALUES(12, '12');
SELECT typeof(k) FROM i CROSS JOIN v ON v.k = i.x ORDER BY n;
--= integer
--= text
SELECT typeof(k) FROM i CROSS JOIN v ON v.k = i.t ORDER BY n;
--= text

-- # two-cursors-on-one-table-do-not-mix
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (2, 10), (3, 100);
SELECT count(*), sum(a.n * b.n) FROM v AS a, v AS b;
--= 9|12321
SELECT a.k, b.k FROM v AS a JOIN v AS b ON b.k = a.k + 1;
--= 1|2
--= 2|3
SELECT (SELECT n FROM v WHERE k = 2), n FROM v WHERE k = 3;
--= 10|100

-- # of-several-conditions-on-one-column-each-holds
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE, j INTEGER, n COUNTER, PRIMARY KEY(k, j));
INSERT INTO v VALUES('a', 1, 1), ('B', 2, 2), ('b', 3, 3), ('c', 1, 4);
SELECT n FROM v WHERE k = 'b' AND k = 'B' AND j > 1 AND j > 2 AND j < 9 AND j < 8;
--= 3
SELECT n FROM v WHERE k = 'b' COLLATE BINARY;
--= 3
SELECT n FROM v WHERE k >= 'B' AND k >= 'b' AND k < 'C' AND k < 'c' ORDER BY k, j;
--= 2
--= 3
SELECT n FROM v ORDER BY j, k;
--= 1
--= 4
--= 2
--= 3
SELECT n FROM v WHERE k = 'b' ORDER BY k, j, n;
--= 2
--= 3

-- # arguments-of-functions-that-give-rows-are-asked-for-equality-alone
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
SELECT count(*) FROM v_cells, counter_shards(v_cells.n) AS s WHERE s.cell > x'00' AND s.cell = n;
--= 1
SELECT count(*) FROM counter_shards WHERE cell > x'00';
--! counter_shards: one argument is needed, a cell
SELECT count(*) FROM counter_changes(0) WHERE since > -1 AND since < 5;
--= 1
SELECT count(*) FROM counter_ids('v') WHERE "table" > 'a';
--= 1
SELECT t.column1, i.cells FROM (VALUES('v')) AS t LEFT JOIN counter_ids(t.column1) AS i;
--= v|1
SELECT t.column1, i.cells FROM counter_ids(t.column1) AS i, (VALUES('v')) AS t;
--= v|1
SELECT rows FROM counter_size('v') WHERE "table" = 'v';
--= 1
SELECT count(*) FROM counter_changes(0, '1/');
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not TEXT '1/'
SELECT count(*) FROM counter_changes(0, '/4');
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not TEXT '/4'
SELECT count(*) FROM counter_changes(0, '1:4');
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not TEXT '1:4'
SELECT count(*) FROM counter_changes(0, '1/a');
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not TEXT '1/a'
SELECT count(*) FROM counter_changes(0, 'a/4');
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not TEXT 'a/4'
SELECT count(*) FROM counter_changes(0, '');
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not TEXT ''
