-- Functions over many rows, and counter_shards.

-- # merge-over-rows-is-the-merge-of-all
CREATE TABLE c(k, v BLOB);
SELECT counter_merge(v) FROM c;
--= NULL
INSERT INTO c VALUES(1, NULL), (1, x'c101000000000000000000000000000000010a3c'), (1, x'c101000000000000000000000000000000020102'), (2, x'c102'), (2, x'c101000000000000000000000000000000020102');
SELECT k, counter_value(counter_merge(v)), hex(counter_merge(v)) FROM c GROUP BY k;
--= 1|31|C101000000000000000000000000000000010A3C000000000000000000000000000000020102
--= 2|NULL|C102
INSERT INTO c VALUES(1, x'c1');
SELECT counter_merge(v) FROM c;
--! counter_merge: the cell is truncated: BLOB x'c1'

-- # sum-counts-live-cells-exactly
CREATE TABLE c(k INTEGER PRIMARY KEY, v BLOB);
SELECT counter_sum(v) FROM c;
--= NULL
INSERT INTO c VALUES(1, NULL), (2, x'c102');
SELECT counter_sum(v) FROM c;
--= NULL
INSERT INTO c VALUES(3, x'c103');
SELECT counter_sum(v) FROM c;
--= 0
INSERT INTO c VALUES(4, counter_inc(NULL, 9223372036854775807, x'0000000000000000000000000000000a')), (5, counter_inc(NULL, 9223372036854775807, x'0000000000000000000000000000000a')), (6, counter_dec(NULL, 9223372036854775807, x'0000000000000000000000000000000a'));
SELECT counter_sum(v) FROM c;
--= 9223372036854775807
SELECT counter_sum(v) FROM c WHERE k < 6;
--! counter_sum: integer overflow

-- # sum-is-a-window-function
CREATE TABLE c(k INTEGER PRIMARY KEY, v BLOB);
INSERT INTO c SELECT column1, counter_inc(NULL, column2, x'0000000000000000000000000000000a') FROM (VALUES(1, 1), (2, -20), (3, 300), (4, 4000));
UPDATE c SET v = counter_delete(v) WHERE k = 3;
SELECT k, counter_sum(v) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM c;
--= 1|1
--= 2|-19
--= 3|-20
--= 4|4000
SELECT k, counter_sum(v) OVER (ORDER BY k ROWS BETWEEN CURRENT ROW AND CURRENT ROW) FROM c;
--= 1|1
--= 2|-20
--= 3|NULL
--= 4|4000

-- # shards-are-rows
SELECT * FROM counter_shards(x'c101000000000000000000000000000000010a3c000000000000000000000000000000020102');
--= 00000000-0000-0000-0000-000000000001|10|30
--= 00000000-0000-0000-0000-000000000002|1|1
SELECT count(*) FROM counter_shards(NULL);
--= 0
SELECT count(*) FROM counter_shards(x'c102');
--= 0
SELECT * FROM counter_shards(x'c1');
--! counter_shards: the cell is truncated
SELECT * FROM counter_shards('text');
--! counter_shards: the cell must be a BLOB or NULL, not TEXT 'text'
SELECT * FROM counter_shards;
--! counter_shards: one argument is needed, a cell
CREATE TABLE c(k, v BLOB);
INSERT INTO c VALUES('a', x'c101000000000000000000000000000000010a3c'), ('b', x'c102'), ('c', NULL);
SELECT k, id, clock, value FROM c LEFT JOIN counter_shards(v) ORDER BY k;
--= a|00000000-0000-0000-0000-000000000001|10|30
--= b|NULL|NULL|NULL
--= c|NULL|NULL|NULL

-- # collect-is-the-inverse-of-shards
CREATE TABLE c(v BLOB);
INSERT INTO c VALUES(x'c105000000000000000000000000000000010a3c000000000000000000000000000000020102');
SELECT counter_collect(id, clock, value, 5) = v FROM c, counter_shards(v);
--= 1
SELECT hex(counter_collect(NULL, NULL, NULL, 4)), hex(counter_collect(NULL, 'ignored', x'00', 3)), counter_collect(NULL, NULL, NULL), counter_collect(NULL, NULL, NULL, 1);
--= C104|C103|NULL|NULL
SELECT counter_collect(id, clock, value) FROM counter_shards(NULL);
--= NULL

-- # collect-merges-a-doubled-id
SELECT counter_json(counter_collect(column1, column2, column3)) FROM (VALUES(x'00000000000000000000000000000001', 3, 5), ('00000000-0000-0000-0000-000000000001', 4, 2), ('00000000-0000-0000-0000-000000000001', 4, 1));
--= {"life":1,"value":2,"shards":[{"id":"00000000-0000-0000-0000-000000000001","clock":4,"value":2}]}

-- # collect-refuses-what-makes-no-cell
SELECT counter_collect(column1, 1, 1, column2) FROM (VALUES(x'00000000000000000000000000000001', 1), (x'00000000000000000000000000000002', 3));
--! counter_collect: rows of one cell must have one life, not 1 and 3
SELECT counter_collect(x'00000000000000000000000000000001', 1, 1, 2);
--! counter_collect: life 2 is deleted and has no shards
SELECT counter_collect(x'00000000000000000000000000000001', 0, 1);
--! counter_collect: clock must be 1 ... 9223372036854775807, not 0
SELECT counter_collect(x'00000000000000000000000000000001', NULL, 1);
--! counter_collect: clock must be an INTEGER, not NULL
SELECT counter_collect(x'00000000000000000000000000000001', 1, 'one');
--! counter_collect: value must be an INTEGER, not TEXT 'one'
SELECT counter_value(counter_collect(x'00000000000000000000000000000001', 1.0, '-5', ' 3 '));
--= -5
SELECT counter_collect(x'01', 1, 1);
--! counter_collect: id must be a UUID (text, or a BLOB of 16 bytes), not BLOB x'01'
SELECT counter_collect(NULL, NULL, NULL, 0);
--! counter_collect: life must be 1 ... 4294967295, not 0
SELECT counter_collect(NULL, NULL, NULL, 4294967296);
--! counter_collect: life must be 1 ... 4294967295, not 4294967296
SELECT counter_collect(NULL, NULL, NULL, 'x');
--! counter_collect: life must be an INTEGER, not TEXT 'x'

-- # the-cell-of-shards-and-the-peer-of-a-pull-are-hidden-columns
SELECT rowid, clock, hex(cell) FROM counter_shards(x'c101000000000000000000000000000000010a3c');
--= 1|10|C101000000000000000000000000000000010A3C
SELECT clock FROM counter_shards WHERE cell = x'c101000000000000000000000000000000010a3c';
--= 10
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT rowid, table_name, peer FROM counter_pull WHERE peer = 'phone';
--= 0|v|phone

-- # a-merge-of-cells-is-that-of-all-of-them
ATTACH 'east.db' AS east;
ATTACH 'west.db' AS west;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE west.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO main.v VALUES('x', 1);
INSERT INTO east.v VALUES('x', 10);
INSERT INTO west.v VALUES('x', 100);
SELECT table_name FROM counter_pull('east');
--= v
WITH cells(n) AS (SELECT n FROM main.v_cells UNION ALL SELECT n FROM east.v_cells
 UNION ALL SELECT n FROM west.v_cells)
SELECT counter_value(counter_merge(n)), count(*) FROM cells;
--= 111|3
WITH cells(n) AS (SELECT n FROM main.v_cells UNION ALL SELECT n FROM east.v_cells
 UNION ALL SELECT n FROM west.v_cells)
SELECT counter_value(counter_merge(a.n)), count(*) FROM cells AS a, cells AS b;
--= 111|9
