-- counter_pull, counter_push, counter_sync.

-- # pull-merges-and-a-second-pull-changes-nothing
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO main.v VALUES('a', 1), ('b', 2);
INSERT INTO phone.v VALUES('a', 10), ('c', 30);
SELECT * FROM counter_pull('phone');
--= v|2|2|0|NULL
SELECT * FROM main.v ORDER BY k;
--= a|11
--= b|2
--= c|30
SELECT * FROM counter_pull('PHONE');
--= v|0|0|0|NULL
SELECT * FROM phone.v ORDER BY k;
--= a|10
--= c|30
SELECT * FROM counter_push('phone');
--= v|3|2|0|NULL
SELECT * FROM counter_push('phone');
--= v|0|0|0|NULL
INSERT INTO main.v(v) VALUES('optimize');
SELECT m.k FROM main.v_cells AS m JOIN phone.v_cells AS p USING (k) WHERE counter_digest(m.n) = counter_digest(p.n) ORDER BY 1;
--= a
--= b
--= c

-- # sync-goes-both-ways
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO main.v VALUES('a', 1), ('b', 2);
INSERT INTO phone.v VALUES('a', 10), ('c', 30);
SELECT table_name, rows_read, rows_changed, conflicts FROM counter_sync('phone');
--= v|4|4|0
SELECT * FROM main.v JOIN phone.v USING (k, n) ORDER BY k;
--= a|11
--= b|2
--= c|30
SELECT * FROM counter_sync('phone');
--= v|4|0|0|NULL

-- # a-path-is-pulled-and-its-file-stays-as-it-is
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('a', 10);
DETACH phone;
SELECT * FROM counter_pull('phone.db');
--= v|1|1|0|created in main, which was empty
SELECT * FROM v;
--= a|10
SELECT * FROM counter_pull('./phone.db');
--= v|0|0|0|NULL

-- # tables-are-created-on-the-way
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(path VARCHAR(20) COLLATE NOCASE, hour INTEGER, hits COUNTER, "by tes" COUNTER, PRIMARY KEY(hour, path));
INSERT INTO phone.v VALUES('/', 1, 2, 3);
CREATE VIRTUAL TABLE w USING counter(k PRIMARY KEY, n COUNTER);
SELECT * FROM counter_sync('phone') ORDER BY 1;
--= v|1|1|0|created in main
--= w|0|0|0|created in phone
SELECT name, type FROM pragma_table_info('v');
--= path|VARCHAR(20)
--= hour|INTEGER
--= hits|INTEGER
--= by tes|INTEGER
SELECT * FROM v WHERE path = '/';
--= /|1|2|3
SELECT count(*) FROM phone.w;
--= 0
SELECT counter_id() <> counter_id('phone');
--= 1

-- # tombstones-and-lives-travel
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('del', 1, 1), ('reset', 1, 1), ('one', 1, 1);
SELECT * FROM counter_push('phone');
--= v|3|3|0|created in phone, which was empty
INSERT INTO phone.v VALUES('del', 10, 10), ('reset', 10, 10), ('one', 10, 10);
DELETE FROM main.v WHERE k = 'del';
INSERT INTO main.v(v, k, a) VALUES('reset', 'reset', 7);
INSERT INTO main.v(v, k) VALUES('delete a', 'one');
SELECT * FROM counter_sync('phone');
--= v|6|4|0|NULL
SELECT * FROM main.v ORDER BY k;
--= one|NULL|11
--= reset|7|0
SELECT * FROM phone.v ORDER BY k;
--= one|NULL|11
--= reset|7|0
INSERT INTO phone.v VALUES('del', 1, 1);

-- # two-concurrent-resets-add-up-in-one-life
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 100);
SELECT * FROM counter_push('phone');
--= v|1|1|0|created in phone, which was empty
INSERT INTO main.v(v, k, n) VALUES('reset', 'x', 1);
INSERT INTO phone.v(v, k, n) VALUES('reset', 'x', 2);
SELECT * FROM counter_sync('phone');
--= v|2|2|0|NULL
SELECT * FROM main.v UNION ALL SELECT * FROM phone.v;
--= x|3
--= x|3

-- # equal-clocks-with-other-values-are-counted-as-conflicts
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
SELECT * FROM counter_push('phone');
--= v|1|1|0|created in phone, which was empty
UPDATE main.v_cells SET n = counter_inc(n, 5, x'0000000000000000000000000000000a');
UPDATE phone.v_cells SET n = counter_inc(n, 7, x'0000000000000000000000000000000a');
SELECT * FROM counter_pull('phone');
--= v|1|1|1|1 conflict: a file was restored, or two count under one id: see counter_conflicts
SELECT * FROM main.v;
--= x|8

-- # tables-match-by-the-name-they-were-created-with
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
SELECT * FROM counter_push('phone');
--= v|1|1|0|created in phone, which was empty
ALTER TABLE phone.v RENAME TO hits;
INSERT INTO phone.hits VALUES('x', 10);
SELECT * FROM counter_sync('phone');
--= v|1|1|0|NULL
SELECT * FROM main.v UNION ALL SELECT * FROM phone.hits;
--= x|11
--= x|11
ALTER TABLE main.v RENAME TO clicks;
SELECT table_name, rows_changed FROM counter_sync('phone');
--= clicks|0
CREATE VIRTUAL TABLE main.hits USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT * FROM counter_push('phone');
--! counter_push: table hits: phone has a counter table hits that was created as 'v', and tables match by the name they were created with: rename it there

-- # keys-that-nocase-takes-for-one-have-one-digest
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('ABMYZ', 1), ('@', 1), ('[', 1);
INSERT INTO phone.v VALUES('abmyz', 2), ('`', 2), ('{', 2);
SELECT rows_changed FROM counter_sync('phone');
--= 6
SELECT k, n FROM v ORDER BY k;
--= @|1
--= [|1
--= `|2
--= ABMYZ|3
--= {|2
SELECT k FROM phone.v WHERE n = 3;
--= abmyz
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1

-- # only-committed-content-is-published
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
SELECT * FROM counter_sync('phone');
--= v|1|1|0|created in phone, which was empty
BEGIN;
INSERT INTO phone.v VALUES('x', 10), ('pending', 1);
INSERT INTO main.v VALUES('mine', 1);
SELECT * FROM counter_pull('phone');
--= v|1|0|0|NULL
SELECT * FROM counter_push('phone');
--= v|0|0|0|NULL
SELECT * FROM main.v ORDER BY k;
--= mine|1
--= x|1
SELECT * FROM phone.v ORDER BY k;
--= pending|1
--= x|11
COMMIT;
SELECT * FROM counter_sync('phone');
--= v|3|3|0|NULL
SELECT * FROM main.v JOIN phone.v USING (k, n) ORDER BY k;
--= mine|1
--= pending|1
--= x|11

-- # memory-and-temp-databases-are-read-at-hand
ATTACH ':memory:' AS mem;
CREATE VIRTUAL TABLE mem.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.t USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO mem.v VALUES('x', 1);
INSERT INTO temp.t VALUES('y', 2);
SELECT * FROM counter_pull('mem');
--= v|1|1|0|created in main, which was empty
SELECT * FROM counter_pull('temp');
--= t|1|1|0|created in main
SELECT * FROM main.v UNION ALL SELECT * FROM main.t;
--= x|1
--= y|2
SELECT * FROM counter_sync('mem') ORDER BY 1;
--= t|1|1|0|created in mem
--= v|1|0|0|NULL

-- # a-pull-is-a-part-of-the-callers-transaction
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1);
BEGIN;
SELECT * FROM counter_pull('phone');
--= v|1|1|0|created in main, which was empty
SELECT * FROM main.v;
--= x|1
ROLLBACK;
SELECT count(*) FROM main.sqlite_master;
--= 0
SELECT counter_id();
--= NULL

-- # arguments-that-name-no-peer-are-errors
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT * FROM counter_pull('nosuch');
--! counter_pull: 'nosuch' is neither an attached database, nor a database file that can be opened, nor a directory
SELECT * FROM counter_pull('');
--! counter_pull: '' is neither an attached database, nor a database file that can be opened, nor a directory
SELECT * FROM counter_push('nosuch');
--! counter_push: 'nosuch' is neither an attached database, nor a database file that can be opened, nor a directory
SELECT * FROM counter_sync('nosuch.db');
--! counter_sync: 'nosuch.db' is neither an attached database, nor a database file that can be opened, nor a directory
SELECT * FROM counter_pull('main');
--! counter_pull: main cannot be merged with itself
SELECT * FROM counter_push('MAIN');
--! counter_push: main cannot be merged with itself
SELECT * FROM counter_pull('main.db');
--! counter_pull: main cannot be merged with itself
ATTACH 'main.db' AS again;
SELECT * FROM counter_sync('again');
--! counter_sync: main cannot be merged with itself
SELECT * FROM counter_pull(NULL);
--! counter_pull: the argument must be TEXT, not NULL
SELECT * FROM counter_pull(5);
--! counter_pull: the argument must be TEXT, not INTEGER 5
SELECT * FROM counter_pull;
--! counter_pull: one argument is needed, an attached database, a file or a directory
SELECT * FROM counter_sync;
--! counter_sync: one argument is needed, an attached database, a file or a directory
ATTACH 'empty.db' AS empty;
SELECT * FROM counter_pull('empty');
--! counter_pull: empty has no counter tables

-- # a-main-without-tables-has-nothing-to-give
ATTACH 'phone.db' AS phone;
SELECT * FROM counter_push('phone');
--! counter_push: main has no counter tables
SELECT * FROM counter_sync('phone');
--! counter_sync: neither phone nor main has counter tables

-- # a-sync-inside-a-statement-that-writes-is-an-error
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE log(a, b, c, d, e);
INSERT INTO log SELECT * FROM counter_pull('phone');
--! counter_pull: it cannot run inside a statement that writes
SELECT count(*) FROM log;
--= 0

-- # a-cursor-pulls-once
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1);
SELECT i.column1, p.rows_changed FROM (VALUES(1), (2), (3)) AS i CROSS JOIN counter_pull('phone') AS p;
--= 1|1
--= 2|1
--= 3|1

-- # shapes-that-differ-are-refused
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE a USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.a USING counter(k INTEGER PRIMARY KEY, n COUNTER);
SELECT * FROM counter_pull('phone');
--! counter_pull: table a: the tables differ in the affinity of a key column: the giving file has INTEGER, the taking file has TEXT
DROP TABLE phone.a;
CREATE VIRTUAL TABLE phone.a USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
SELECT * FROM counter_pull('phone');
--! counter_pull: table a: the tables differ in the collation of a key column: the giving file has NOCASE, the taking file has BINARY
DROP TABLE phone.a;
CREATE VIRTUAL TABLE phone.a USING counter(j TEXT PRIMARY KEY, n COUNTER);
SELECT * FROM counter_pull('phone');
--! counter_pull: table a: the tables differ in a key column: the giving file has j, the taking file has k
DROP TABLE phone.a;
CREATE VIRTUAL TABLE phone.a USING counter(k TEXT, l, n COUNTER, PRIMARY KEY(k, l));
SELECT * FROM counter_pull('phone');
--! counter_pull: table a: the tables differ in a key column: the giving file has l, the taking file has none
SELECT * FROM counter_push('phone');
--! counter_push: table a: the tables differ in a key column: the giving file has none, the taking file has l
DROP TABLE phone.a;
CREATE VIRTUAL TABLE phone.a USING counter(k TEXT PRIMARY KEY, m COUNTER);
CREATE VIRTUAL TABLE phone.b USING counter(k TEXT PRIMARY KEY, N COUNTER);
CREATE VIRTUAL TABLE b USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT * FROM counter_pull('phone');
--! counter_pull: table b: the tables differ in the spelling of a counter: the giving file has N, the taking file has n
DROP TABLE phone.b;
DROP TABLE b;
DROP TABLE phone.a;
CREATE VIRTUAL TABLE phone.a USING counter(n COUNTER, k VARCHAR(9) PRIMARY KEY);
INSERT INTO phone.a VALUES(1, 'x');
SELECT * FROM counter_pull('phone');
--= a|1|1|0|NULL

-- # ordinary-objects-in-the-way-are-named
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE v(x);
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: in main it is an ordinary table, which does not count: call counter_track('v', ...) there, and the merge asks about values that both files had when they began to, and adds all others up
DROP TABLE v;
CREATE VIEW v AS SELECT 1;
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: a view in main has the name of the counter table

-- # a-table-that-the-giving-file-tracks-is-missing-and-not-made
ATTACH 'phone.db' AS phone;
CREATE TABLE phone.lines("no" INTEGER, shop VARCHAR(9) COLLATE NOCASE, n INTEGER DEFAULT 0, m INTEGER, PRIMARY KEY (shop, "no"));
INSERT INTO phone.lines VALUES (1, 'a', 5, 6);
SELECT counter_track('phone.lines', 'n', 'm');
--= 1
SELECT * FROM counter_pull('phone');
--! counter_pull: table lines: the giving file tracks it, and main has no such table: CREATE TABLE lines(shop VARCHAR(9) COLLATE NOCASE, no INTEGER, n INTEGER, m INTEGER, PRIMARY KEY (shop, no)) with the other columns that it has there, then call counter_track('lines', 'n', 'm')
SELECT * FROM counter_sync('phone');
--! counter_sync: table lines: the giving file tracks it, and main has no such table: CREATE TABLE lines(shop VARCHAR(9) COLLATE NOCASE, no INTEGER, n INTEGER, m INTEGER, PRIMARY KEY (shop, no)) with the other columns that it has there, then call counter_track('lines', 'n', 'm')
SELECT count(*) FROM main.sqlite_master;
--= 0
CREATE TABLE lines("no" INTEGER, shop VARCHAR(9) COLLATE NOCASE, n INTEGER, m INTEGER, PRIMARY KEY (shop, "no"));
SELECT counter_track('lines', 'n', 'm');
--= 0
SELECT * FROM counter_pull('phone');
--= lines|1|1|0|NULL
SELECT * FROM lines;
--= 1|a|5|6

-- # a-push-and-a-sync-do-not-make-a-table-that-main-tracks
ATTACH 'phone.db' AS phone;
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES ('x', 5);
SELECT counter_track('t', 'n');
--= 1
SELECT * FROM counter_push('phone');
--! counter_push: table t: the giving file tracks it, and phone has no such table: CREATE TABLE t(k TEXT, n INTEGER, PRIMARY KEY (k)) with the other columns that it has there, then call counter_track('t', 'n')
SELECT * FROM counter_sync('phone');
--! counter_sync: table t: the giving file tracks it, and phone has no such table: CREATE TABLE t(k TEXT, n INTEGER, PRIMARY KEY (k)) with the other columns that it has there, then call counter_track('t', 'n')
SELECT count(*) FROM phone.sqlite_master;
--= 0
SELECT * FROM counter_sync('phone', 'create tables');
--= t|1|1|0|created in phone, which was empty
SELECT * FROM phone.t;
--= x|5
UPDATE phone.t SET n = n + 1;
SELECT * FROM counter_pull('phone');
--= t|1|1|0|NULL
SELECT * FROM main.t;
--= x|6

-- # a-feed-row-names-what-has-the-name-of-its-table
CREATE TABLE v(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: in main it is an ordinary table, which does not count: call counter_track('v', ...) there, and the merge asks about values that both files had when they began to, and adds all others up
DROP TABLE v;
CREATE VIEW v AS SELECT 1;
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: a view in main has the name of the counter table

-- # a-pull-notes-how-many-rows-wait-and-differ-also-if-it-changes-nothing
ATTACH 'phone.db' AS phone;
CREATE TABLE t(k TEXT PRIMARY KEY, name TEXT NOT NULL, n INTEGER NOT NULL CHECK (n >= 0), m INTEGER CHECK (m < 9));
CREATE TABLE u(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n', 'm');
--= 0
SELECT counter_track('u', 'n');
--= 0
VACUUM INTO 'copy.db';
ATTACH 'copy.db' AS copy;
INSERT INTO main.t VALUES ('a', 'A', 5, 5);
SELECT table_name, note FROM counter_push('copy');
--= t|1 row waits in copy: see counter_tracked('copy')
--= u|NULL
INSERT INTO copy.t VALUES ('a', '', 0, NULL), ('b', 'B', 1, 1), ('c', 'C', 1, 1);
UPDATE main.t SET n = 0, m = 8;
UPDATE copy.t SET n = n - 3, m = m + 3 WHERE k = 'a';
SELECT table_name, note FROM counter_pull('copy');
--= t|2 rows wait, 1 row differs: see counter_tracked()
--= u|NULL
SELECT table_name, rows_changed, note FROM counter_sync('copy');
--= t|1|2 rows wait, 1 row differs: see counter_tracked(); 1 row differs in copy: see counter_tracked('copy')
--= u|0|NULL
SELECT table_name, rows_changed, note FROM counter_pull('copy');
--= t|0|2 rows wait, 1 row differs: see counter_tracked()
--= u|0|NULL
INSERT INTO main.t VALUES ('b', 'B', 0, 0), ('c', 'C', 0, 0);
UPDATE main.t SET n = n + 9, m = NULL WHERE k = 'a';
SELECT table_name, rows_changed, note FROM counter_pull('copy');
--= t|0|NULL
--= u|0|NULL

-- # a-clock-of-2-62-is-refused-by-feed-and-pull-and-stops-nothing
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 5);
CREATE TEMP TABLE it(id, at);
INSERT INTO it VALUES (x'0000000000000000000000000000000a', '00000000-0000-0000-0000-00000000000a');
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'v', counter_key('x'), CAST(x'010001016e01011c' || counter_collect(counter_id(), 9223372036854775807, 1) AS BLOB), 1, at FROM it;
--!~ counter_changes: table v: column n: the shard of ????????-* has the clock 9223372036854775807, and the highest is 4611686018427387903
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'v', counter_key('x'), CAST(x'010001016e03011c' || counter_collect(id, 4611686018427387904, 1) AS BLOB), 1, at FROM it;
--! counter_changes: table v: column n: the shard of 00000000-0000-0000-0000-00000000000a has the clock 4611686018427387904, and the highest is 4611686018427387903
SELECT v.n, (SELECT count(*) FROM counter_state WHERE kind = 'counter') FROM v;
--= 5|0
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, 4611686018427387903, 1)) || '}]}'), 1, at FROM it;
UPDATE v SET n = n + 1;
SELECT n, (SELECT refuses FROM counter_identity LIMIT 1) FROM v;
--= 7|NULL
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES ('w', 1), ('x', 1), ('y', 1);
INSERT INTO phone.v(v) VALUES ('optimize');
UPDATE phone.v_cells SET n = (SELECT counter_collect(counter_id(), 4611686018427387904, 1)) WHERE k = 'x';
SELECT * FROM counter_pull('phone');
--!~ counter_pull: table v: row ('x'): column n: the shard of * has the clock 4611686018427387904, and the highest is 4611686018427387903
SELECT * FROM v;
--= x|7
DELETE FROM main.v;
DROP TABLE main.v;
SELECT * FROM counter_pull('phone');
--!~ counter_pull: table v: row ('x'): column n: the shard of * has the clock 4611686018427387904, and the highest is 4611686018427387903

-- # a-clock-beyond-the-last-epoch-of-a-name-is-refused-and-the-holder-counts-on
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 5);
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'v', counter_key('x'), CAST(x'010001016e01011c' || counter_collect(counter_id(), 9223372036854775807, 1) AS BLOB), 1, '00000000-0000-0000-0000-00000000000a';
--! counter_changes: table v: column n: the shard of 4c5128aa-402c-31c8-9fc0-6c27b0f53f93 has the clock 9223372036854775807, and the highest is 4611686018427387903
INSERT INTO v VALUES ('x', 1);
SELECT n FROM v;
--= 6

-- # one-bad-cell-and-nothing-has-changed
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.a USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.b USING counter(k TEXT, j INTEGER, n COUNTER, PRIMARY KEY(k, j));
INSERT INTO phone.a VALUES('x', 1);
INSERT INTO phone.b VALUES('x', 1, 1), ('y', 2, 1);
UPDATE phone.b_cells SET n = x'c10100' WHERE k = 'y';
SELECT * FROM counter_pull('phone');
--! counter_pull: table b: column n of ('y', 2): the cell is truncated
SELECT count(*) FROM main.sqlite_master;
--= 0
SELECT * FROM counter_pull('phone.db');
--! counter_pull: table b: column n of ('y', 2): the cell is truncated
UPDATE phone.b_cells SET n = 'text' WHERE k = 'y';
SELECT * FROM counter_pull('phone');
--! counter_pull: table b: column n of ('y', 2): the cell is no counter cell

-- # stored-tables-with-triggers-are-refused-as-source-and-as-target
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
SELECT * FROM counter_sync('phone');
--= v|1|1|0|created in phone, which was empty
INSERT INTO v VALUES('x', 1);
INSERT INTO phone.v VALUES('x', 1);
CREATE TRIGGER phone.evil AFTER UPDATE ON v_cells BEGIN SELECT 1; END;
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the stored table v_cells has the trigger evil: drop it first
SELECT * FROM counter_push('phone');
--! counter_push: table v: the stored table v_cells has the trigger evil: drop it first
DROP TRIGGER phone.evil;
CREATE TEMP TRIGGER sly AFTER UPDATE ON main.v_cells BEGIN SELECT 1; END;
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the stored table v_cells has the trigger sly: drop it first

-- # a-full-disk-takes-a-pull-back-whole
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
WITH RECURSIVE i(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM i WHERE i < 5000)
INSERT INTO phone.v SELECT 'key' || i, 1 FROM i;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
PRAGMA main.max_page_count = 24;
--= 24
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: database or disk is full
SELECT * FROM v;
--= x|1
PRAGMA main.max_page_count = 100000;
--= 100000
SELECT * FROM counter_pull('phone');
--= v|5000|5000|0|NULL

-- # a-read-only-target-is-an-error
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1);
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
--@ readonly
SELECT * FROM counter_pull('phone.db');
--! counter_pull: attempt to write a readonly database
SELECT count(*) FROM v;
--= 0

-- # a-lock-that-cannot-be-had-says-what-to-do
--@ connection main
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1);
CREATE VIRTUAL TABLE main.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
--@ connection other
BEGIN IMMEDIATE;
--@ connection main
SELECT * FROM counter_pull('phone');
--! counter_pull: database is locked: another connection is writing main, or has written it since this one began to read it: run BEGIN IMMEDIATE, which waits, and repeat the call
SELECT count(*) FROM main.v;
--= 0
--@ connection other
COMMIT;
--@ connection main
SELECT * FROM counter_pull('phone');
--= v|1|1|0|NULL

-- # an-attached-source-that-is-locked-is-busy
--@ connection main
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
--@ connection other
ATTACH 'phone.db' AS phone;
PRAGMA phone.locking_mode = EXCLUSIVE;
--= exclusive
INSERT INTO phone.v VALUES('x', 1);
--@ connection main
SELECT * FROM counter_pull('phone');
--!~ counter_pull: database is locked: *
--@ connection other
DETACH phone;
--@ connection main
SELECT * FROM counter_pull('phone');
--= v|1|1|0|created in main, which was empty

-- # a-lock-of-this-transaction-says-so
--@ not-wal
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE main.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO main.v VALUES('x', 1);
BEGIN EXCLUSIVE;
SELECT * FROM counter_push('phone');
--! counter_push: database is locked: by another connection, or by this transaction: COMMIT it first
COMMIT;
SELECT * FROM counter_push('phone');
--= v|1|1|0|created in phone, which was empty

-- # a-second-pull-finds-keys-of-each-type-where-the-first-has-left-them
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(r REAL, t TEXT, b, n COUNTER, PRIMARY KEY(r, t, b));
INSERT INTO phone.v VALUES(1.5, '', x'', 1), (1.5, 'a', 'a', 1), (1.5, 'a', x'61', 1), (2.5, 'b', 1, 1), (2.5, 'b', 1.5, 1), (2.5, 'bc', '', 1);
SELECT rows_changed FROM counter_pull('phone');
--= 6
INSERT INTO phone.v SELECT r, t, b, 1 FROM phone.v;
UPDATE counter_peers SET mark = 0;
SELECT rows_changed FROM counter_pull('phone');
--= 6
INSERT INTO phone.v SELECT r, t, b, 1 FROM phone.v;
UPDATE counter_peers SET mark = 0;
SELECT rows_changed FROM counter_pull('phone');
--= 6
SELECT sum(n), count(*) FROM v;
--= 18|6

-- # counters-that-differ-are-named
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER, M COUNTER);
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the tables differ in the spelling of a counter: the giving file has M, the taking file has m
CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.w USING counter(k TEXT PRIMARY KEY, n COUNTER, o COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(w, replicas='main phone');
--! c: the tables differ: one replica has no counter o
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main phone');
--! c: the tables differ in the spelling of a counter: one replica has m, phone has M

-- # a-source-whose-witness-went-back-and-whose-shard-went-on-is-in-conflict
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
UPDATE phone.counter_replica SET renewal = 0;
INSERT INTO phone.v VALUES('x', 1);
INSERT INTO phone.v VALUES('x', 1);
SELECT * FROM counter_pull('phone');
--= v|1|1|0|NULL
INSERT INTO phone.v VALUES('x', 1);
UPDATE phone.counter_replica SET number = 1;
SELECT * FROM counter_pull('phone');
--= v|1|1|1|1 conflict: a file was restored, or two count under one id: see counter_conflicts
SELECT why FROM counter_conflicts;
--= source

-- # who-is-asked-for-in-a-join-is-asked-once-for-the-same-and-again-for-others
ATTACH 'phone.db' AS phone;
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1);
INSERT INTO east.v VALUES('x', 1), ('y', 1);
SELECT rows_changed FROM counter_pull('east');
--= 2
CREATE TABLE peers(name);
INSERT INTO peers VALUES('phone'), ('phone'), ('east');
SELECT name, rows_changed FROM peers CROSS JOIN counter_pull(name);
--= phone|1
--= phone|1
--= east|0
SELECT * FROM v;
--= x|2
--= y|1
INSERT INTO peers VALUES(x'00');
SELECT name, rows_changed FROM peers CROSS JOIN counter_pull(name);
--! counter_pull: the argument must be TEXT, not BLOB x'00'
--= phone|0
--= phone|0
--= east|0
CREATE TABLE asked AS SELECT 'v' AS t, NULL AS s UNION ALL SELECT 'v', 'phone' UNION ALL SELECT 'v', 'phone';
SELECT t, rows FROM asked CROSS JOIN counter_size(t, coalesce(s, 'main'));
--= v|2
--= v|1
--= v|1

-- # a-disagreement-that-comes-again-is-written-down-once
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE main.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES ('a', 1);
INSERT INTO phone.v(v) VALUES ('optimize');
SELECT count(*) FROM counter_pull('phone');
--= 1
UPDATE phone.v_cells SET n = counter_inc(NULL, 7, counter_id('phone'));
SELECT conflicts FROM counter_pull('phone', 'full');
--= 1
UPDATE phone.v_cells SET n = counter_inc(NULL, 8, counter_id('phone'));
SELECT conflicts FROM counter_pull('phone', 'full');
--= 1
UPDATE phone.v_cells SET n = counter_inc(NULL, 7, counter_id('phone'));
SELECT conflicts FROM counter_pull('phone', 'full');
--= 1
SELECT conflicts FROM counter_pull('phone', 'full');
--= 1
SELECT value, their_value, why FROM counter_conflicts ORDER BY value, their_value;
--= 1|7|values
--= 7|8|values
--= 8|7|values

-- # a-key-with-a-noncharacter-is-one-like-others-in-utf-8
--@ not-utf-16
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES(CAST(x'61efbfbf' AS TEXT), 1), (CAST(x'61efbfbe' AS TEXT), 2);
INSERT INTO phone.v VALUES(CAST(x'61efbfbd' AS TEXT), 3);
SELECT table_name, rows_changed FROM counter_pull('phone');
--= v|3
UPDATE main.v SET n = n + 10;
SELECT table_name, rows_changed FROM counter_push('phone');
--= v|3
SELECT hex(k), n FROM phone.v ORDER BY k;
--= 61EFBFBD|13
--= 61EFBFBE|12
--= 61EFBFBF|11

-- # a-key-with-a-noncharacter-is-refused-in-utf-16
--@ whole-sqlite
PRAGMA encoding = 'UTF-16le';
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO counter_changes VALUES('v', x'd1030461efbfbe', counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 1, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
--!~ *a key has U+FFFE or U+FFFF, which SQLite stores as U+FFFD in a UTF-16 file: two rows would become one
INSERT INTO counter_changes VALUES('v', x'd1030461efbfbf', counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 2, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
--!~ *a key has U+FFFE or U+FFFF, which SQLite stores as U+FFFD in a UTF-16 file: two rows would become one
-- U+FFFD, U+FFBE, U+F7FF and U+FFFC
INSERT INTO counter_changes VALUES('v', x'd1030461efbfbd', counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 4, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
INSERT INTO counter_changes VALUES('v', x'd1030461efbebe', counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 8, x'0000000000000000000000000000000a')) || '}]}'), 2, '00000000-0000-0000-0000-00000000000a');
INSERT INTO counter_changes VALUES('v', x'd1030461ef9fbf', counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 16, x'0000000000000000000000000000000a')) || '}]}'), 3, '00000000-0000-0000-0000-00000000000a');
INSERT INTO counter_changes VALUES('v', x'd1030461efbfbc', counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 32, x'0000000000000000000000000000000a')) || '}]}'), 4, '00000000-0000-0000-0000-00000000000a');
SELECT unicode(substr(k, 2)), n FROM v ORDER BY n;
--= 65533|4
--= 65470|8
--= 63487|16
--= 65532|32

-- # a-pull-makes-a-list-of-sources-that-was-dropped
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO east.v VALUES('a', 1);
DROP TABLE counter_sources;
SELECT rows_changed FROM counter_pull('east');
--= 1
SELECT count(*) FROM counter_sources;
--= 1
