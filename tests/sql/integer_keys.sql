-- Tracked tables with an INTEGER PRIMARY KEY: the key is the row id of the cells.

-- # the-cells-of-a-table-with-an-integer-primary-key-have-the-key-as-their-row-id
CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, v);
SELECT counter_replicate('t', 'n', 'keys=assigned');
--= 0
SELECT replace(sql, char(10), ' ') FROM sqlite_master WHERE name = 't_counters_cells';
--= CREATE TABLE "t_counters_cells"( "id" INTEGER PRIMARY KEY, "n" BLOB, "_row" BLOB)
SELECT count(*) FROM sqlite_master WHERE tbl_name = 't_counters_cells' AND type = 'index';
--= 0
CREATE TABLE u(id INTEGER PRIMARY KEY DESC, n INTEGER);
SELECT counter_track('u', 'n', 'keys=assigned');
--= 0
CREATE TABLE w(id INTEGER PRIMARY KEY, n INTEGER) WITHOUT ROWID;
SELECT counter_track('w', 'n', 'keys=assigned');
--= 0
CREATE TABLE x(id INT PRIMARY KEY, n INTEGER);
SELECT counter_track('x', 'n', 'keys=assigned');
--= 0
SELECT count(*) FROM sqlite_master WHERE name LIKE '%_cells' AND sql LIKE '%_id INTEGER PRIMARY KEY%';
--= 3

-- # keys-at-both-ends-count-and-merge
ATTACH 'office.db' AS office;
CREATE TABLE main.t(id INTEGER PRIMARY KEY, n INTEGER, v);
SELECT counter_replicate('main.t', 'n', 'keys=assigned');
--= 0
CREATE TABLE office.t(id INTEGER PRIMARY KEY, n INTEGER, v);
SELECT counter_replicate('office.t', 'n', 'keys=assigned');
--= 0
INSERT INTO main.t VALUES (0, 1, 'a'), (-1, 1, 'b'), (9223372036854775807, 1, 'c'), (-9223372036854775808, 1, 'd');
SELECT rows_changed FROM counter_push('office');
--= 4
UPDATE office.t SET n = n + 10;
UPDATE main.t SET n = n + 100, v = 'x';
SELECT rows_changed FROM counter_sync('office');
--= 8
SELECT * FROM main.t ORDER BY id;
--= -9223372036854775808|111|x
--= -1|111|x
--= 0|111|x
--= 9223372036854775807|111|x
SELECT count(*) FROM (SELECT * FROM main.t EXCEPT SELECT * FROM office.t);
--= 0
INSERT INTO main.t_counters(t_counters) VALUES ('optimize');
INSERT INTO main.t(n) VALUES (5);
SELECT count(*), sum(n) FROM main.t;
--= 5|449
INSERT INTO main.t_counters(t_counters) VALUES ('integrity-check');
INSERT INTO main.t_counters(t_counters, id, n) VALUES ('reset', 0, 5);
DELETE FROM main.t WHERE id = -1;
SELECT id, n FROM main.t WHERE id < 1 ORDER BY id;
--= -9223372036854775808|111
--= 0|5

-- # a-row-with-the-key-0-that-waits-is-counted-and-comes
ATTACH 'office.db' AS office;
CREATE TABLE main.t(id INTEGER PRIMARY KEY, n INTEGER, v UNIQUE);
SELECT counter_replicate('main.t', 'n', 'keys=assigned');
--= 0
CREATE TABLE office.t(id INTEGER PRIMARY KEY, n INTEGER, v UNIQUE);
SELECT counter_replicate('office.t', 'n', 'keys=assigned');
--= 0
INSERT INTO main.t VALUES (0, 1, 'a');
INSERT INTO office.t VALUES (1, 1, 'a');
SELECT note FROM counter_pull('office');
--= 1 row waits: see counter_tracked()
SELECT note FROM counter_push('office');
--= 1 row waits in office: see counter_tracked('office')
UPDATE office.t SET v = 'b' WHERE id = 1;
SELECT note FROM counter_sync('office');
--= NULL
SELECT * FROM main.t ORDER BY id;
--= 0|1|a
--= 1|1|b

-- # a-key-that-is-no-whole-number-is-refused-where-the-key-is-the-row-id
ATTACH 'office.db' AS office;
CREATE TABLE main.t(id INTEGER PRIMARY KEY, n INTEGER);
SELECT counter_track('main.t', 'n', 'keys=assigned');
--= 0
CREATE TABLE office.t(id INT PRIMARY KEY, n INTEGER);
SELECT counter_track('office.t', 'n', 'keys=assigned');
--= 0
INSERT INTO office.t VALUES (1, 1), ('2', 2), (3.0, 3);
SELECT rows_changed FROM counter_pull('office');
--= 3
SELECT * FROM main.t;
--= 1|1
--= 2|2
--= 3|3
INSERT INTO office.t VALUES ('abc', 4);
SELECT * FROM counter_pull('office');
--! counter_pull: table t: row ('abc'): the key is an INTEGER PRIMARY KEY here, which takes whole numbers alone
UPDATE office.t SET id = 1.5 WHERE id = 'abc';
SELECT * FROM counter_pull('office');
--! counter_pull: table t: row (1.5): the key is an INTEGER PRIMARY KEY here, which takes whole numbers alone
SELECT * FROM main.t WHERE id > 2;
--= 3|3

-- # rows-below-a-floor-that-others-keep-are-cleared-later-where-a-row-has-the-key-0
PRAGMA foreign_keys = ON;
CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, v);
CREATE TABLE child(p REFERENCES t);
SELECT counter_replicate('t', 'n', 'keys=assigned');
--= 0
INSERT INTO t VALUES (-5, 1, 'a'), (0, 1, 'b');
INSERT INTO child VALUES (-5);
INSERT INTO t_counters(t_counters, id) VALUES ('purge below', 0);
SELECT id FROM t;
--= -5
--= 0
DELETE FROM child;
ATTACH 'office.db' AS office;
CREATE TABLE office.t(id INTEGER PRIMARY KEY, n INTEGER, v);
SELECT counter_replicate('office.t', 'n', 'keys=assigned');
--= 0
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT id FROM t;
--= 0
