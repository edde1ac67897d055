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
EXPLAIN QUERY PLAN SELECT * FROM v WHERE path = '/' AND hour IN (1, 2);
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

-- # a-key-of-more-columns-than-a-plan-serves-is-searched-and-in-order
CREATE VIRTUAL TABLE v USING counter(k1 INTEGER, k2 INTEGER, k3 INTEGER, k4 INTEGER, k5 INTEGER, k6 INTEGER, k7 INTEGER, k8 INTEGER, k9 INTEGER, k10 INTEGER, k11 INTEGER, k12 INTEGER, k13 INTEGER, k14 INTEGER, k15 INTEGER, k16 INTEGER, k17 INTEGER, k18 INTEGER, k19 INTEGER, k20 INTEGER, k21 INTEGER, k22 INTEGER, k23 INTEGER, k24 INTEGER, k25 INTEGER, k26 INTEGER, k27 INTEGER, k28 INTEGER, k29 INTEGER, k30 INTEGER, k31 INTEGER, k32 INTEGER, k33 INTEGER, k34 INTEGER, k35 INTEGER, k36 INTEGER, k37 INTEGER, k38 INTEGER, k39 INTEGER, k40 INTEGER, k41 INTEGER, k42 INTEGER, k43 INTEGER, k44 INTEGER, k45 INTEGER, k46 INTEGER, k47 INTEGER, k48 INTEGER, k49 INTEGER, k50 INTEGER, k51 INTEGER, k52 INTEGER, k53 INTEGER, k54 INTEGER, k55 INTEGER, k56 INTEGER, k57 INTEGER, k58 INTEGER, k59 INTEGER, k60 INTEGER, k61 INTEGER, k62 INTEGER, k63 INTEGER, k64 INTEGER, k65 INTEGER, n COUNTER,
  PRIMARY KEY(k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13, k14, k15, k16, k17, k18, k19, k20, k21, k22, k23, k24, k25, k26, k27, k28, k29, k30, k31, k32, k33, k34, k35, k36, k37, k38, k39, k40, k41, k42, k43, k44, k45, k46, k47, k48, k49, k50, k51, k52, k53, k54, k55, k56, k57, k58, k59, k60, k61, k62, k63, k64, k65));
INSERT INTO v VALUES(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 10), (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 20), (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 30), (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 40, 50);
SELECT k65, n FROM v ORDER BY k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13, k14, k15, k16, k17, k18, k19, k20, k21, k22, k23, k24, k25, k26, k27, k28, k29, k30, k31, k32, k33, k34, k35, k36, k37, k38, k39, k40, k41, k42, k43, k44, k45, k46, k47, k48, k49, k50, k51, k52, k53, k54, k55, k56, k57, k58, k59, k60, k61, k62, k63, k64, k65;
--= 1|20
--= 2|10
--= 3|30
--= 40|50
SELECT k65, n FROM v WHERE k1 = 0 AND k2 = 0 AND k3 = 0 AND k4 = 0 AND k5 = 0 AND k6 = 0 AND k7 = 0 AND k8 = 0 AND k9 = 0 AND k10 = 0 AND k11 = 0 AND k12 = 0 AND k13 = 0 AND k14 = 0 AND k15 = 0 AND k16 = 0 AND k17 = 0 AND k18 = 0 AND k19 = 0 AND k20 = 0 AND k21 = 0 AND k22 = 0 AND k23 = 0 AND k24 = 0 AND k25 = 0 AND k26 = 0 AND k27 = 0 AND k28 = 0 AND k29 = 0 AND k30 = 0 AND k31 = 0 AND k32 = 0 AND k33 = 0 AND k34 = 0 AND k35 = 0 AND k36 = 0 AND k37 = 0 AND k38 = 0 AND k39 = 0 AND k40 = 0 AND k41 = 0 AND k42 = 0 AND k43 = 0 AND k44 = 0 AND k45 = 0 AND k46 = 0 AND k47 = 0 AND k48 = 0 AND k49 = 0 AND k50 = 0 AND k51 = 0 AND k52 = 0 AND k53 = 0 AND k54 = 0 AND k55 = 0 AND k56 = 0 AND k57 = 0 AND k58 = 0 AND k59 = 0 AND k60 = 0 AND k61 = 0 AND k62 = 0 AND k63 = 0 AND k64 = 0 ORDER BY k65 DESC;
--= 3|30
--= 2|10
--= 1|20
SELECT n FROM v WHERE k1 = 0 AND k2 = 0 AND k3 = 0 AND k4 = 0 AND k64 = 4;
--= 50
SELECT n FROM v WHERE k1 = 0 AND k2 = 0 AND k3 = 0 AND k4 = 0 AND k5 = 0 AND k6 = 0 AND k7 = 0 AND k8 = 0 AND k9 = 0 AND k10 = 0 AND k11 = 0 AND k12 = 0 AND k13 = 0 AND k14 = 0 AND k15 = 0 AND k16 = 0 AND k17 = 0 AND k18 = 0 AND k19 = 0 AND k20 = 0 AND k21 = 0 AND k22 = 0 AND k23 = 0 AND k24 = 0 AND k25 = 0 AND k26 = 0 AND k27 = 0 AND k28 = 0 AND k29 = 0 AND k30 = 0 AND k31 = 0 AND k32 = 0 AND k33 = 0 AND k34 = 0 AND k35 = 0 AND k36 = 0 AND k37 = 0 AND k38 = 0 AND k39 = 0 AND k40 = 0 AND k41 = 0 AND k42 = 0 AND k43 = 0 AND k44 = 0 AND k45 = 0 AND k46 = 0 AND k47 = 0 AND k48 = 0 AND k49 = 0 AND k50 = 0 AND k51 = 0 AND k52 = 0 AND k53 = 0 AND k54 = 0 AND k55 = 0 AND k56 = 0 AND k57 = 0 AND k58 = 0 AND k59 = 0 AND k60 = 0 AND k61 = 0 AND k62 = 0 AND k63 = 0 AND k64 = 0 AND k65 = 3;
--= 30
UPDATE v SET n = n + 1 WHERE k1 = 0 AND k2 = 0 AND k3 = 0 AND k4 = 0 AND k5 = 0 AND k6 = 0 AND k7 = 0 AND k8 = 0 AND k9 = 0 AND k10 = 0 AND k11 = 0 AND k12 = 0 AND k13 = 0 AND k14 = 0 AND k15 = 0 AND k16 = 0 AND k17 = 0 AND k18 = 0 AND k19 = 0 AND k20 = 0 AND k21 = 0 AND k22 = 0 AND k23 = 0 AND k24 = 0 AND k25 = 0 AND k26 = 0 AND k27 = 0 AND k28 = 0 AND k29 = 0 AND k30 = 0 AND k31 = 0 AND k32 = 0 AND k33 = 0 AND k34 = 0 AND k35 = 0 AND k36 = 0 AND k37 = 0 AND k38 = 0 AND k39 = 0 AND k40 = 0 AND k41 = 0 AND k42 = 0 AND k43 = 0 AND k44 = 0 AND k45 = 0 AND k46 = 0 AND k47 = 0 AND k48 = 0 AND k49 = 0 AND k50 = 0 AND k51 = 0 AND k52 = 0 AND k53 = 0 AND k54 = 0 AND k55 = 0 AND k56 = 0 AND k57 = 0 AND k58 = 0 AND k59 = 0 AND k60 = 0 AND k61 = 0 AND k62 = 0 AND k63 = 0 AND k64 = 0 AND k65 = 3;
SELECT n FROM v ORDER BY n;
--= 10
--= 20
--= 31
--= 50

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

-- # an-in-on-a-text-key-is-taken-all-at-once-and-but-one
--@ since 3.38
--@ process-only
CREATE VIRTUAL TABLE v USING counter(a TEXT, b, h INTEGER, n COUNTER, PRIMARY KEY(a, b, h));
EXPLAIN QUERY PLAN SELECT * FROM v WHERE a IN ('/', '/a');
--~ *SCAN *v VIRTUAL TABLE INDEX 0:I0.
EXPLAIN QUERY PLAN SELECT * FROM v WHERE a = '/' AND b IN (x'00', x'01') AND h = 12;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:=0I1=2.
EXPLAIN QUERY PLAN UPDATE v SET n = n + 1 WHERE a = '/' AND b IN (x'00', x'01') AND h = 12;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:=0I1=2.
EXPLAIN QUERY PLAN SELECT * FROM v WHERE b IN (x'00', x'01') AND a IN ('/', '/a');
--~ *SCAN *v VIRTUAL TABLE INDEX 0:I0.
EXPLAIN QUERY PLAN SELECT * FROM v WHERE b IN (x'00', x'01') AND a IN ('/', '/a') AND b > x'00';
--~ *SCAN *v VIRTUAL TABLE INDEX 0:I0>1.
EXPLAIN QUERY PLAN SELECT * FROM v WHERE a IN ('/', '/a') AND b = x'00' AND h IN (1, 2);
--~ *SCAN *v VIRTUAL TABLE INDEX 0:I0=1=2.
EXPLAIN QUERY PLAN SELECT * FROM v WHERE a IN ('/', '/a') AND a = '/';
--~ *SCAN *v VIRTUAL TABLE INDEX 0:=0.
EXPLAIN QUERY PLAN SELECT * FROM v WHERE a IN ('/', '/a') ORDER BY a, b, h;
--~ *SCAN *v VIRTUAL TABLE INDEX 0:I0.
--~ *USE TEMP B-TREE FOR ORDER BY

-- # an-in-with-numbers-on-a-text-key-means-what-it-means-on-an-ordinary-table
--@ since 3.38
CREATE VIRTUAL TABLE t USING counter(a TEXT PRIMARY KEY, n COUNTER);
INSERT INTO t VALUES('1', 1), ('01', 10), ('1.0', 100), ('x', 1000), ('2', 10000);
CREATE TABLE i(x INTEGER);
INSERT INTO i VALUES(1), (NULL);
CREATE TABLE r(x);
INSERT INTO r VALUES(1.0);
CREATE TABLE mixed(x);
INSERT INTO mixed VALUES(1), ('x'), (x'78'), (NULL), ('01'), (2.0), ('nosuch');
SELECT sum(n) FROM t WHERE a IN (SELECT x FROM i);
--= 111
SELECT a FROM t WHERE a IN (SELECT x FROM r);
SELECT a FROM t WHERE a IN (SELECT x FROM mixed) ORDER BY a DESC;
--= x
--= 01
SELECT a FROM t WHERE a IN (SELECT x FROM mixed WHERE typeof(x) IN ('text', 'null')) ORDER BY a;
--= 01
--= x
SELECT a FROM t WHERE a IN (1, 'x', NULL, 2.0) ORDER BY a;
--= 1
--= x
SELECT a FROM t WHERE a IN ('1', 'x', '1', NULL, 'nosuch') ORDER BY a;
--= 1
--= x
SELECT a FROM t WHERE a = 1 OR a = '01' ORDER BY a;
--= 01
--= 1
SELECT a FROM t WHERE a IN ('1', '01') OR a = '2' OR a IN ('2', 'x') OR a > 'w' ORDER BY a;
--= 01
--= 1
--= 2
--= x
SELECT a FROM t WHERE a IN (SELECT x FROM i WHERE x > 7);
SELECT a FROM t WHERE a IN (SELECT 'x' WHERE 0);
SELECT a FROM t WHERE a IN (SELECT NULL);
SELECT a FROM t WHERE a IN ();
SELECT sum(n) FROM t WHERE a NOT IN (SELECT x FROM i WHERE x > 0);
--= 11000
SELECT a FROM t WHERE a NOT IN ('1', '01', 'x', '2');
--= 1.0
SELECT sum(n) FROM t WHERE a NOT IN (SELECT x FROM i);
--= NULL
UPDATE t SET n = n + 5 WHERE a IN (SELECT x FROM i);
UPDATE t SET n = n + 7 WHERE a IN (SELECT x FROM r);
UPDATE t SET n = n + 20 WHERE a IN ('x', '2', 'x', NULL);
SELECT a, n FROM t ORDER BY a;
--= 01|15
--= 1|6
--= 1.0|105
--= 2|10020
--= x|1020
DELETE FROM t WHERE a IN (SELECT x FROM r);
DELETE FROM t WHERE a IN ('2', 'nosuch');
SELECT count(*) FROM t;
--= 4
DELETE FROM t WHERE a IN (SELECT x FROM i);
SELECT a FROM t;
--= x

-- # an-in-on-a-key-without-type-means-what-it-means-on-an-ordinary-table
--@ since 3.38
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(12, 1), ('12', 10), (x'3132', 100), ('012', 1000), (12.5, 10000);
CREATE TABLE i(x INTEGER, t TEXT, b);
INSERT INTO i VALUES(12, '12', x'3132'), (13, '13', x'00');
SELECT sum(n) FROM v WHERE k IN (SELECT x FROM i);
--= 1011
SELECT sum(n) FROM v WHERE k IN (SELECT t FROM i);
--= 10
SELECT sum(n) FROM v WHERE k IN (SELECT b FROM i);
--= 100
SELECT sum(n) FROM v WHERE k IN (12, x'3132', 12.5);
--= 10101
SELECT sum(n) FROM v WHERE k IN (x'3132', x'00', x'3132');
--= 100
UPDATE v SET n = n + 1 WHERE k IN (SELECT x FROM i);
DELETE FROM v WHERE k IN (SELECT b FROM i);
DELETE FROM v WHERE k IN ('012', 13);
SELECT typeof(k), n FROM v ORDER BY n;
--= integer|2
--= text|11
--= real|10000

-- # an-in-on-a-part-of-the-key-goes-with-conditions-on-the-others
--@ since 3.38
CREATE VIRTUAL TABLE v USING counter(a TEXT, b TEXT, n COUNTER, PRIMARY KEY(a, b));
INSERT INTO v VALUES('1', 'x', 1), ('01', 'x', 2), ('1', 'y', 4), ('01', 'y', 8), ('z', 'x', 16), ('z', '1', 32), ('z', '01', 64);
CREATE TABLE i(x INTEGER, t TEXT);
INSERT INTO i VALUES(1, 'x'), (2, 'z');
SELECT sum(n) FROM v WHERE a IN (SELECT x FROM i) AND b = 'x';
--= 3
SELECT sum(n) FROM v WHERE a IN ('1', 'z') AND b = 'x';
--= 17
SELECT sum(n) FROM v WHERE a = 'z' AND b IN (SELECT x FROM i);
--= 96
SELECT sum(n) FROM v WHERE a = 'z' AND b IN ('01', 'x');
--= 80
SELECT sum(n) FROM v WHERE a IN (SELECT x FROM i) AND b IN (SELECT t FROM i);
--= 3
SELECT sum(n) FROM v WHERE a IN (SELECT t FROM i) AND b IN (SELECT x FROM i);
--= 96
SELECT sum(n) FROM v WHERE a IN ('01', '1') AND b > 'x';
--= 12
SELECT sum(n) FROM v WHERE a IN (SELECT x FROM i) AND b >= 'x' AND b < 'y';
--= 3
SELECT sum(n) FROM v WHERE a IN ('1', 'z') AND b = (SELECT x FROM i);
--= 96
SELECT b, count(*) FROM v WHERE a IN ('z', '1') GROUP BY b;
--= 01|1
--= 1|1
--= x|2
--= y|1
SELECT a, b FROM v WHERE a IN ('z', '1') ORDER BY a, b DESC LIMIT 3;
--= 1|y
--= 1|x
--= z|x
UPDATE v SET n = n + 100 WHERE a IN (SELECT x FROM i) AND b = 'y';
DELETE FROM v WHERE a IN (SELECT t FROM i) AND b IN (SELECT x FROM i);
SELECT * FROM v ORDER BY a, b;
--= 01|x|2
--= 01|y|108
--= 1|x|1
--= 1|y|104
--= z|x|16
CREATE VIRTUAL TABLE w USING counter(h INTEGER, a TEXT, n COUNTER, PRIMARY KEY(h, a));
INSERT INTO w VALUES(1, '1', 1), (1, '01', 2), (2, '1', 4), (2, 'x', 8), (3, 'x', 16);
SELECT sum(n) FROM w WHERE h IN (1, 3, '2') AND a IN (SELECT x FROM i);
--= 7
SELECT sum(n) FROM w WHERE h IN (3, '2') AND a IN ('x', '1');
--= 28

-- # an-in-on-a-key-with-a-collation-gives-each-row-once
--@ since 3.38
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1), ('B', 2), ('c', 4);
CREATE TABLE s(x TEXT);
INSERT INTO s VALUES('A'), ('a'), ('b');
SELECT k, n FROM v WHERE k IN ('a', 'A', 'b') ORDER BY k;
--= a|1
--= B|2
SELECT count(*), sum(n) FROM v WHERE k IN (SELECT x FROM s);
--= 2|3
UPDATE v SET n = n + 10 WHERE k IN (SELECT x FROM s);
SELECT sum(n) FROM v WHERE k COLLATE BINARY IN (SELECT x FROM s);
--= 11
DELETE FROM v WHERE k IN ('A', 'a');
SELECT * FROM v ORDER BY k;
--= B|12
--= c|4

-- # an-in-that-is-asked-again-and-again-starts-anew
--@ since 3.38
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('1', 1), ('01', 10), ('x', 100), ('y', 1000);
CREATE TABLE o(g INTEGER, x);
INSERT INTO o VALUES(1, '1'), (1, 'x'), (2, 'y'), (2, '01'), (2, 'z'), (3, NULL), (4, 1);
CREATE TABLE i(g INTEGER, x INTEGER);
INSERT INTO i VALUES(1, 1), (2, 'x'), (2, 'y'), (3, 1), (3, 'y');
SELECT g, (SELECT sum(n) FROM v WHERE k IN (SELECT x FROM o WHERE o.g = groups.g)) FROM (SELECT 5 AS g UNION SELECT g FROM o) AS groups ORDER BY g;
--= 1|101
--= 2|1010
--= 3|NULL
--= 4|NULL
--= 5|NULL
SELECT g, (SELECT sum(n) FROM v WHERE k IN (SELECT x FROM i WHERE i.g = groups.g)) FROM (SELECT DISTINCT g FROM o) AS groups ORDER BY g;
--= 1|11
--= 2|1100
--= 3|1011
--= 4|NULL
SELECT g, k FROM (SELECT DISTINCT g FROM o) AS groups CROSS JOIN v WHERE k IN (SELECT x FROM o WHERE o.g = groups.g) ORDER BY 1, 2;
--= 1|1
--= 1|x
--= 2|01
--= 2|y
SELECT g, k FROM (SELECT DISTINCT g FROM o) AS groups LEFT JOIN v ON k IN (SELECT x FROM i WHERE i.g = groups.g) ORDER BY 1, 2;
--= 1|01
--= 1|1
--= 2|x
--= 2|y
--= 3|01
--= 3|1
--= 3|y
--= 4|NULL
SELECT g, EXISTS(SELECT 1 FROM v WHERE k IN (SELECT x FROM o WHERE o.g = groups.g)) FROM (SELECT DISTINCT g FROM o) AS groups ORDER BY g;
--= 1|1
--= 2|1
--= 3|0
--= 4|0
SELECT count(*), sum(v.n) FROM o CROSS JOIN v WHERE v.k IN ('x', 'y', '1');
--= 21|7707
UPDATE v SET n = n + 1 WHERE k IN (SELECT k FROM v WHERE n > 5);
SELECT counter_add('v', 'n', 1, k) FROM v WHERE k IN ('nosuch', 'x', NULL);
--= 102
SELECT sum(n) FROM v;
--= 1115

-- # an-in-after-another-plan-with-the-same-cursor-gives-each-row-once
--@ since 3.38
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE j(g INTEGER, x INTEGER);
INSERT INTO t VALUES ('x', 1), ('y', 2);
INSERT INTO j VALUES (1, 1), (2, 'q'), (2, 'x'), (3, 'q'), (4, 1), (5, 'x'), (5, 'y');
SELECT o.g, t.k FROM (SELECT DISTINCT g FROM j) AS o CROSS JOIN t WHERE k IN (SELECT x FROM j WHERE g = o.g) ORDER BY 1, 2;
--= 2|x
--= 5|x
--= 5|y
SELECT o.g, t.k FROM j AS o CROSS JOIN t WHERE k = o.x OR k IN ('q', o.x) ORDER BY 1, 2;
--= 2|x
--= 5|x
--= 5|y

-- # an-in-behind-so-many-conditions-that-sqlite-does-not-tell-of-it-loses-no-row
--@ since 3.38
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('1', 1), ('01', 10), ('x', 100);
CREATE TABLE i(x INTEGER);
INSERT INTO i VALUES(1);
SELECT sum(n) FROM v WHERE n < 9000 AND n < 9001 AND n < 9002 AND n < 9003 AND n < 9004 AND n < 9005 AND n < 9006 AND n < 9007 AND n < 9008 AND n < 9009 AND n < 9010 AND n < 9011 AND n < 9012 AND n < 9013 AND n < 9014 AND n < 9015 AND n < 9016 AND n < 9017 AND n < 9018 AND n < 9019 AND n < 9020 AND n < 9021 AND n < 9022 AND n < 9023 AND n < 9024 AND n < 9025 AND n < 9026 AND n < 9027 AND n < 9028 AND n < 9029 AND n < 9030 AND n < 9031 AND n < 9032 AND k IN (SELECT x FROM i);
--= 11
SELECT sum(n) FROM v WHERE k IN (SELECT x FROM i) AND n < 9000 AND n < 9001 AND n < 9002 AND n < 9003 AND n < 9004 AND n < 9005 AND n < 9006 AND n < 9007 AND n < 9008 AND n < 9009 AND n < 9010 AND n < 9011 AND n < 9012 AND n < 9013 AND n < 9014 AND n < 9015 AND n < 9016 AND n < 9017 AND n < 9018 AND n < 9019 AND n < 9020 AND n < 9021 AND n < 9022 AND n < 9023 AND n < 9024 AND n < 9025 AND n < 9026 AND n < 9027 AND n < 9028 AND n < 9029 AND n < 9030 AND n < 9031 AND n < 9032;
--= 11
CREATE VIRTUAL TABLE w USING counter(k1 INTEGER, k2 INTEGER, k3 INTEGER, k4 INTEGER, k5 INTEGER, k6 INTEGER, k7 INTEGER, k8 INTEGER, k9 INTEGER, k10 INTEGER, k11 INTEGER, k12 INTEGER, k13 INTEGER, k14 INTEGER, k15 INTEGER, k16 INTEGER, k17 INTEGER, k18 INTEGER, k19 INTEGER, k20 INTEGER, k21 INTEGER, k22 INTEGER, k23 INTEGER, k24 INTEGER, k25 INTEGER, k26 INTEGER, k27 INTEGER, k28 INTEGER, k29 INTEGER, k30 INTEGER, k31 INTEGER, k32 INTEGER, k33 TEXT, n COUNTER, PRIMARY KEY(k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13, k14, k15, k16, k17, k18, k19, k20, k21, k22, k23, k24, k25, k26, k27, k28, k29, k30, k31, k32, k33));
INSERT INTO w VALUES('0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '1', 1), ('0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '01', 10);
SELECT sum(n) FROM w WHERE k33 IN (SELECT x FROM i) AND k1 = '0' AND k2 = '0' AND k3 = '0' AND k4 = '0' AND k5 = '0' AND k6 = '0' AND k7 = '0' AND k8 = '0' AND k9 = '0' AND k10 = '0' AND k11 = '0' AND k12 = '0' AND k13 = '0' AND k14 = '0' AND k15 = '0' AND k16 = '0' AND k17 = '0' AND k18 = '0' AND k19 = '0' AND k20 = '0' AND k21 = '0' AND k22 = '0' AND k23 = '0' AND k24 = '0' AND k25 = '0' AND k26 = '0' AND k27 = '0' AND k28 = '0' AND k29 = '0' AND k30 = '0' AND k31 = '0' AND k32 = '0';
--= 11

-- # an-in-may-have-many-elements-and-stand-twice
--@ since 3.38
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1), ('j', 10), ('z', 100);
SELECT sum(n) FROM v WHERE k IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q');
--= 11
SELECT sum(n) FROM v WHERE k IN ('a', 'j') AND k IN ('j', 'z');
--= 10
