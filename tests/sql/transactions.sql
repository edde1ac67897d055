-- Transactions, savepoints, other schemas, rename and drop.

-- # a-statement-that-fails-inside-a-transaction-leaves-nothing-of-itself
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 1, 9223372036854775807);
BEGIN;
INSERT INTO v VALUES('x', 1, 1);
--! v: column b: integer overflow: 1 cannot be added
UPDATE v SET a = a + 1, b = b + 1;
--! v: column b: a counter takes an INTEGER, not REAL 9.22337203685478e+18: integer overflow
INSERT INTO v VALUES('y', 1, 1), ('x', 1, 1), ('z', 1, 1);
--! v: column b: integer overflow: 1 cannot be added
INSERT INTO v VALUES('ok', 1, 1);
COMMIT;
SELECT * FROM v;
--= x|1|9223372036854775807
--= ok|1|1
INSERT INTO v(v) VALUES('integrity-check');

-- # triggers-on-stored-tables-are-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE log(k);
INSERT INTO v VALUES('x', 1);
CREATE TRIGGER logs AFTER UPDATE ON v_cells BEGIN INSERT INTO log VALUES(new.k); END;
INSERT INTO v VALUES('x', 1);
--! v: the stored table v_cells has the trigger logs: drop it first
UPDATE v SET n = n + 1;
--! v: the stored table v_cells has the trigger logs: drop it first
DELETE FROM v;
--! v: the stored table v_cells has the trigger logs: drop it first
SELECT *, (SELECT count(*) FROM log) FROM v;
--= x|1|0
DROP TRIGGER logs;
CREATE TRIGGER logs AFTER INSERT ON counter_journal BEGIN INSERT INTO log VALUES(new._seq); END;
INSERT INTO v VALUES('y', 1);
--! v: the stored table counter_journal has the trigger logs: drop it first
--@ connection other
DROP TRIGGER logs;
--@ connection main
INSERT INTO v VALUES('y', 1);
--@ connection other
CREATE TRIGGER logs AFTER INSERT ON counter_journal BEGIN INSERT INTO log VALUES(new._seq); END;
--@ connection main
INSERT INTO v VALUES('y', 1);
--! v: the stored table counter_journal has the trigger logs: drop it first
SELECT *, (SELECT count(*) FROM log) FROM v;
--= x|1|0
--= y|1|0

-- # what-is-counted-behind-a-written-cell-is-not-in-it
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 1), ('y', 1, 1);
BEGIN;
INSERT INTO v VALUES('x', 10, NULL);
INSERT INTO v(v, k) VALUES('reset n', 'x');
INSERT INTO v VALUES('x', 7, NULL);
INSERT INTO v VALUES('y', 10, 10);
INSERT INTO v(v, k) VALUES('reset n', 'y');
INSERT INTO v VALUES('y', 7, 5);
COMMIT;
SELECT * FROM v;
--= x|7|1
--= y|7|16
--@ connection other
SELECT * FROM v;
--= x|7|1
--= y|7|16

-- # a-fold-that-fails-half-way-is-taken-back-with-the-transaction
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE log(k);
INSERT INTO v VALUES('x', 1), ('y', 1);
-- what another process has counted, 10 in each row, and has not folded
--@ connection other
INSERT INTO counter_journal SELECT max(_seq) + 1, 2, x'e40106021014021014' FROM counter_journal;
--@ connection main
SELECT * FROM v;
--= x|11
--= y|11
UPDATE v_cells SET n = x'00' WHERE k = 'y';
-- a copy, which takes a new id; what is in the journal was counted under the old one
UPDATE counter_replica SET inode = inode + 1;
BEGIN;
INSERT INTO log VALUES(1);
INSERT INTO v VALUES('x', 1);
--!~ *the cell is no counter cell*
INSERT INTO v VALUES('x', 1);
--!~ *the cell is no counter cell*
COMMIT;
--!~ *the transaction is rolled back
SELECT * FROM v WHERE k = 'x';
--= x|11
SELECT * FROM log;

-- # a-trigger-that-comes-within-the-transaction-ends-it
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE log(k);
INSERT INTO v VALUES('x', 1);
BEGIN;
INSERT INTO v VALUES('x', 10);
CREATE TRIGGER logs AFTER INSERT ON counter_journal BEGIN INSERT INTO log VALUES(new._seq); END;
COMMIT;
--! COMMIT: v: the stored table counter_journal has the trigger logs: drop it first
SELECT *, (SELECT count(*) FROM log) FROM v;
--= x|1|0
INSERT INTO v VALUES('x', 1);
SELECT * FROM v;
--= x|2

-- # a-full-disk-is-an-error-and-the-next-run-works
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
PRAGMA max_page_count = 1;
--~ *
WITH RECURSIVE i(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM i WHERE i < 20000)
INSERT INTO v SELECT 'key' || i, 1 FROM i;
--! v: database or disk is full
SELECT * FROM v;
--= x|1
PRAGMA max_page_count = 100000;
--= 100000
INSERT INTO v VALUES('x', 1);
SELECT * FROM v;
--= x|2
INSERT INTO v(v) VALUES('integrity-check');

-- # a-stored-table-that-refuses-a-row-is-an-error-even-under-or-ignore
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE v_cells;
CREATE TABLE v_cells(
  _id INTEGER PRIMARY KEY, k TEXT NOT NULL CHECK (k <> 'no'), n BLOB CHECK (length(n) < 21), UNIQUE(k));
BEGIN;
INSERT OR IGNORE INTO v VALUES('no', 1);
--!~ v: the stored table refuses the row: CHECK constraint failed: *
INSERT INTO v VALUES('x', 1);
INSERT INTO v VALUES('x', 1000);
INSERT OR IGNORE INTO v(v) VALUES('optimize');
--!~ v: the stored table refuses the row: CHECK constraint failed: *
COMMIT;
--! COMMIT: a statement of this transaction failed half-way and could not be undone: the transaction is rolled back
SELECT * FROM v;

-- # a-drop-that-fails-leaves-a-table-that-works
--@ process-only
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 5);
CREATE TRIGGER no BEFORE DELETE ON counter_tables BEGIN SELECT RAISE(ABORT, 'not now'); END;
DROP TABLE v;
--! constraint failed
INSERT INTO v VALUES('a', 5);
SELECT * FROM v;
--= a|10

-- # rollback-takes-back-and-savepoints-nest
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
BEGIN;
INSERT INTO v VALUES('x', 10);
SAVEPOINT a;
INSERT INTO v VALUES('x', 100);
SAVEPOINT b;
DELETE FROM v;
SELECT count(*) FROM v;
--= 0
ROLLBACK TO b;
INSERT INTO v VALUES('x', 1000);
ROLLBACK TO a;
INSERT INTO v VALUES('x', 10000);
RELEASE a;
SELECT n FROM v;
--= 10011
ROLLBACK;
SELECT n FROM v;
--= 1

-- # more-rows-than-are-kept-are-all-there
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
WITH RECURSIVE i(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM i WHERE i < 16390)
INSERT INTO v SELECT i, i FROM i;
SELECT count(*), sum(n), max(n) FROM v;
--= 16390|134324245|16390
WITH RECURSIVE i(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM i WHERE i < 16390)
INSERT INTO v SELECT i * 2, i FROM i;
SELECT count(*), sum(n), max(n) FROM v;
--= 24585|268648490|24585
INSERT INTO v(v) VALUES('integrity-check');

-- # a-row-that-one-statement-has-looked-at-the-next-one-looks-for-again
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1);
BEGIN;
INSERT INTO v VALUES(1, 1000);
SELECT n FROM v WHERE k = 1 LIMIT 1;
--= 1001
ROLLBACK;
UPDATE v SET n = n + 1 WHERE n >= 0;
SELECT n FROM v;
--= 2
BEGIN;
SAVEPOINT s;
UPDATE v SET n = n + 1000 WHERE k = 1;
ROLLBACK TO s;
UPDATE v SET n = n + 1 WHERE n >= 0;
COMMIT;
SELECT n FROM v;
--= 3
INSERT INTO v(v) VALUES('integrity-check');

-- # an-update-adds-to-what-another-connection-has-counted-meanwhile
--@ connection main
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1);
SELECT n FROM v WHERE k = 1 LIMIT 1;
--= 1
--@ connection other
INSERT INTO v VALUES(1, 10);
--@ connection main
UPDATE v SET n = n + 100 WHERE n >= 0;
SELECT n FROM v;
--= 111

-- # increments-that-cannot-be-written-before-a-savepoint-are-not-committed-without
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE o(x UNIQUE);
INSERT INTO v VALUES('a', 1), ('b', 1);
BEGIN;
INSERT INTO v VALUES('b', 10);
SAVEPOINT kept;
INSERT INTO v VALUES('a', 10);
PRAGMA query_only = ON;
SAVEPOINT s;
--!~ *attempt to write a readonly database
PRAGMA query_only = OFF;
ROLLBACK TO kept;
INSERT INTO v VALUES('b', 100);
COMMIT;
SELECT * FROM v;
--= a|1
--= b|111
BEGIN;
INSERT INTO v VALUES('b', 1000);
SAVEPOINT kept;
INSERT INTO v VALUES('a', 1000);
PRAGMA query_only = ON;
SAVEPOINT s;
--!~ *attempt to write a readonly database
PRAGMA query_only = OFF;
COMMIT;
--! COMMIT: a statement of this transaction failed half-way and could not be undone: the transaction is rolled back
SELECT * FROM v;
--= a|1
--= b|111
INSERT INTO v(v) VALUES('integrity-check');

-- # a-rolled-back-create-is-gone
BEGIN;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
ROLLBACK;
SELECT count(*) FROM sqlite_master;
--= 0
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 2);
SELECT * FROM v;
--= x|2

-- # rename-carries-everything-along
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
ALTER TABLE v RENAME TO "w ""x";
INSERT INTO "w ""x" VALUES('x', 1);
SELECT * FROM "w ""x";
--= x|2
INSERT INTO "w ""x"("w ""x") VALUES('integrity-check');
SELECT name, birth FROM counter_tables;
--= w "x|v
SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1;
--= counter_conflicts
--= counter_journal
--= counter_peers
--= counter_replica
--= counter_requests
--= counter_segments
--= counter_sources
--= counter_state
--= counter_tables
--= w "x
--= w "x_cells
ALTER TABLE "w ""x" RENAME TO N;
--!~ *w "x: the table cannot have the name N: it has the column n
ALTER TABLE "w ""x" RENAME TO counter_y;
--!~ *w "x: names that begin with counter_ are reserved, such as counter_y
CREATE TABLE z_cells(a);
ALTER TABLE "w ""x" RENAME TO z;
--!~ *already another table*z_cells*
SELECT * FROM "w ""x";
--= x|2
--@ reopen
SELECT * FROM "w ""x";
--= x|2
BEGIN;
ALTER TABLE "w ""x" RENAME TO v;
INSERT INTO v VALUES('x', 1);
ROLLBACK;
SELECT * FROM "w ""x";
--= x|2

-- # drop-takes-the-stored-table-along
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
DROP TABLE v;
SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1;
--= counter_conflicts
--= counter_journal
--= counter_peers
--= counter_replica
--= counter_requests
--= counter_segments
--= counter_sources
--= counter_state
--= counter_tables
SELECT count(*) FROM counter_tables;
--= 0
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT count(*) FROM v;
--= 0

-- # attached-and-temp-tables-write-under-their-own-identity
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.t USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO main.v VALUES('x', 1);
INSERT INTO phone.v VALUES('x', 10);
INSERT INTO temp.t VALUES('x', 100);
UPDATE phone.v SET n = n + 1 WHERE k = 'x';
SELECT * FROM main.v UNION ALL SELECT * FROM phone.v UNION ALL SELECT * FROM t;
--= x|1
--= x|11
--= x|100
SELECT s.id = counter_id('phone') FROM phone.v_cells, counter_shards(n) AS s;
--= 1
SELECT s.id = counter_id('main') FROM main.v_cells, counter_shards(n) AS s;
--= 1
SELECT s.id = counter_id('temp') FROM temp.t_cells, counter_shards(n) AS s;
--= 1
ALTER TABLE phone.v RENAME TO w;
DETACH phone;
ATTACH 'phone.db' AS other;
SELECT * FROM other.w;
--= x|11
DROP TABLE other.w;
SELECT * FROM main.v;
--= x|1

-- # detach-and-attach-under-the-same-name-does-not-mix-identities
ATTACH 'a.db' AS x;
CREATE VIRTUAL TABLE x.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO x.v VALUES('a', 1);
DETACH x;
ATTACH 'b.db' AS x;
CREATE VIRTUAL TABLE x.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO x.v VALUES('b', 1);
SELECT s.id = counter_id('x') FROM x.v_cells, counter_shards(n) AS s;
--= 1
ATTACH 'a.db' AS y;
SELECT counter_id('x') <> counter_id('y');
--= 1

-- # a-read-only-file-can-be-read
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
--@ readonly
SELECT * FROM v WHERE k = 'x';
--= x|1
INSERT INTO v VALUES('x', 1);
--! attempt to write a readonly database
UPDATE v SET n = n + 1;
--! attempt to write a readonly database
DELETE FROM v;
--! attempt to write a readonly database

-- # defensive-mode-protects-the-stored-table-and-not-against-us
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
--@ defensive on
INSERT INTO v VALUES('x', 1);
UPDATE v_cells SET n = NULL;
--! table v_cells may not be modified
DROP TABLE v_cells;
--! table v_cells may not be dropped
UPDATE v SET n = n + 1;
SELECT * FROM v;
--= x|2
CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER);
ALTER TABLE w RENAME TO u;
INSERT INTO u VALUES('x', 1);
DROP TABLE u;

-- # defensive-mode-keeps-no-other-name-from-a-table
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE v_mine(x);
--@ defensive on
CREATE TABLE v_yours(x);
INSERT INTO v_yours VALUES(1);
DROP TABLE v_mine;
SELECT * FROM v_yours;
--= 1

-- # another-connection-sees-what-was-committed
--@ connection main
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
--@ connection other
SELECT * FROM v;
--= x|1
INSERT INTO v VALUES('x', 1);
--@ connection main
SELECT * FROM v;
--= x|2
ALTER TABLE v RENAME TO w;
--@ connection other
SELECT * FROM w;
--= x|2
SELECT * FROM v;
--! no such table: v
DROP TABLE w;
--@ connection main
INSERT INTO w VALUES('x', 1);
--! no such table: w

-- # a-lock-that-cannot-be-had-is-busy
--@ connection main
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
BEGIN IMMEDIATE;
INSERT INTO v VALUES('x', 1);
--@ connection other
INSERT INTO v VALUES('x', 1);
--! database is locked
SELECT * FROM v;
--= x|1
--@ connection main
COMMIT;
--@ connection other
INSERT INTO v VALUES('x', 1);
SELECT * FROM v;
--= x|3

-- # two-tables-that-wait-keep-their-counts-when-one-is-dropped
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
INSERT INTO w VALUES('a', 1);
BEGIN;
INSERT INTO v VALUES('a', 1);
INSERT INTO w VALUES('a', 1);
INSERT INTO w VALUES('a', 1);
INSERT INTO v VALUES('a', 1);
SELECT * FROM v;
--= a|3
DROP TABLE v;
SELECT * FROM w;
--= a|3
COMMIT;
SELECT * FROM w;
--= a|3
INSERT INTO w(w) VALUES('integrity-check');

-- # what-waits-to-be-written-is-found-by-a-table-that-is-connected-anew
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1), ('y', 1);
BEGIN;
INSERT INTO v VALUES('x', 1);
INSERT INTO v VALUES('z', 1);
PRAGMA writable_schema = RESET;
INSERT INTO v VALUES('x', 1);
INSERT INTO v VALUES('z', 1);
SELECT * FROM v;
--= x|3
--= y|1
--= z|2
COMMIT;
SELECT * FROM v;
--= x|3
--= y|1
--= z|2
INSERT INTO v(v) VALUES('integrity-check');

-- # news-that-a-rollback-gives-a-lower-number-are-found-again
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE w USING counter(k INTEGER PRIMARY KEY, n COUNTER);
BEGIN;
SAVEPOINT a;
WITH RECURSIVE i(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM i WHERE k < 1001) INSERT INTO v SELECT k, 1 FROM i;
INSERT INTO w VALUES(1, 1); -- the number has risen by now
ROLLBACK TO a;
INSERT INTO w VALUES(2, 1);
SAVEPOINT b;
INSERT INTO w(w) VALUES('integrity-check'); -- it writes the news down
ROLLBACK TO b;
COMMIT;
INSERT INTO w(w) VALUES('integrity-check');
SELECT counter_key_json(key) FROM counter_changes(0);
--= [2]

-- # a-table-whose-drop-a-savepoint-takes-back-has-its-news
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1);
SELECT rows_changed FROM counter_pull('phone');
--= 1
BEGIN;
INSERT INTO phone.v VALUES('y', 10);
SAVEPOINT s;
DROP TABLE phone.v;
ROLLBACK TO s;
COMMIT;
--@ reopen
ATTACH 'phone.db' AS phone;
INSERT INTO phone.v(v) VALUES('integrity-check');
SELECT rows_changed FROM counter_pull('phone');
--= 1
SELECT k, n FROM main.v;
--= x|1
--= y|10
-- main is needed to hear of the savepoint, unless nothing was counted
--@ connection other
BEGIN IMMEDIATE;
--@ connection main
BEGIN;
INSERT INTO phone.v VALUES('w', 1000);
DROP TABLE phone.v;
--! database is locked
COMMIT;
INSERT INTO phone.v(v) VALUES('integrity-check');
BEGIN;
INSERT INTO phone.v VALUES('z', 100);
DROP TABLE phone.v;
--! database is locked
INSERT INTO phone.v VALUES('z', 0);
SELECT k, n FROM phone.v ORDER BY n;
--= x|1
--= y|10
--= z|100
--= w|1000
COMMIT;
BEGIN;
DROP TABLE phone.v;
COMMIT;
SELECT count(*) FROM phone.sqlite_master WHERE name LIKE 'v%';
--= 0

-- # a-table-that-a-savepoint-takes-back-leaves-nothing-to-commit
CREATE TABLE plain(x);
CREATE VIRTUAL TABLE u USING counter(k TEXT PRIMARY KEY, n COUNTER);
BEGIN;
INSERT INTO plain VALUES(1);
SAVEPOINT s;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
INSERT INTO v VALUES('x', 1);
ROLLBACK TO s;
INSERT INTO u VALUES('y', 1);
INSERT INTO plain VALUES(2);
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('z', 1);
COMMIT;
SELECT x FROM plain;
--= 1
--= 2
SELECT k FROM u UNION ALL SELECT k FROM v;
--= y
--= z
INSERT INTO v(v) VALUES('integrity-check');

-- # a-table-of-an-attached-file-that-a-savepoint-takes-back-leaves-nothing-to-commit
ATTACH 'phone.db' AS phone;
CREATE TABLE phone.plain(x);
BEGIN;
INSERT INTO phone.plain VALUES(1);
SAVEPOINT s;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1);
INSERT INTO phone.v VALUES('x', 1);
ROLLBACK TO s;
INSERT INTO phone.plain VALUES(2);
COMMIT;
SELECT x FROM phone.plain;
--= 1
--= 2
--@ connection other
BEGIN IMMEDIATE;
--@ connection main
BEGIN;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1);
--! v: counting in a table that this transaction has created, without a SAVEPOINT in between, locks main until the COMMIT: database is locked
SAVEPOINT s;
INSERT INTO phone.v VALUES('x', 1);
ROLLBACK TO s;
INSERT INTO phone.v VALUES('y', 1);
COMMIT;
SELECT * FROM phone.v;
--= y|1
SAVEPOINT s;
CREATE VIRTUAL TABLE phone.w USING counter(k TEXT PRIMARY KEY, n COUNTER);
SAVEPOINT t;
RELEASE t;
INSERT INTO phone.w VALUES('x', 1);
INSERT INTO phone.w VALUES('x', 1);
ROLLBACK TO s;
COMMIT;
DELETE FROM phone.v;
INSERT INTO phone.v(v, k) VALUES('reset', 'y');
DELETE FROM phone.v;
INSERT INTO phone.v VALUES('x', 1);
SELECT * FROM phone.v;
--= x|1

-- # a-table-that-a-pull-makes-within-a-savepoint-goes-with-it
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1);
BEGIN;
SAVEPOINT s;
SELECT table_name, rows_changed FROM counter_pull('phone');
--= v|1
ROLLBACK TO s;
SELECT table_name, rows_changed FROM counter_pull('phone');
--= v|1
INSERT INTO main.v VALUES('x', 1);
COMMIT;
SELECT * FROM main.v;
--= x|2
INSERT INTO main.v(v) VALUES('integrity-check');

-- # an-identity-that-a-savepoint-takes-back-is-missing
BEGIN;
SAVEPOINT s;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT length(counter_id());
--= 36
ROLLBACK TO s;
SELECT counter_inc(NULL, 1);
--! counter_inc: main has no replica id: run SELECT counter_init() once
COMMIT;

-- # a-table-in-the-place-of-the-witness-is-named-where-one-is-needed
CREATE TABLE counter_witness(x);
BEGIN;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
--! v: counting in a table that this transaction has created, without a SAVEPOINT in between, locks main until the COMMIT: a table in main has the name counter_witness, which is reserved
COMMIT;
INSERT INTO v VALUES('x', 1);
SELECT * FROM v;
--= x|1

-- # a-table-that-has-counted-nothing-is-dropped-beside-one-that-has
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.w USING counter(k TEXT PRIMARY KEY, n COUNTER);
BEGIN;
INSERT INTO phone.v VALUES('x', 1);
DROP TABLE phone.w;
COMMIT;
SELECT * FROM phone.v;
--= x|1
INSERT INTO phone.v(v) VALUES('integrity-check');

-- # a-table-that-comes-within-a-savepoint-goes-with-its-counts-where-another-of-its-name-was-dropped
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
SAVEPOINT one;
UPDATE v SET n = n + 0;
DROP TABLE v;
SAVEPOINT two;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
ROLLBACK TO two;
COMMIT;
SELECT count(*) FROM v;
--! no such table: v

-- # a-statement-that-fails-takes-back-its-own-counts-and-leaves-those-before-it
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE given(k, n CONSTRAINT one_digit CHECK (n < 9));
CREATE TRIGGER hand AFTER INSERT ON given BEGIN INSERT INTO v VALUES(new.k, new.n); END;
INSERT INTO v VALUES('x', 1), ('y', 1);
BEGIN;
INSERT INTO given VALUES('x', 1), ('x', 2);
INSERT INTO given VALUES('x', 4), ('y', 4), ('z', 4), ('x', 9);
--! CHECK constraint failed: one_digit
SELECT * FROM v;
--= x|4
--= y|1
INSERT INTO given VALUES('y', 5);
ROLLBACK TO nowhere;
--! no such savepoint: nowhere
COMMIT;
SELECT * FROM v;
--= x|4
--= y|6

-- # back-to-the-savepoint-that-began-the-transaction-nothing-is-counted
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE given(k, n);
CREATE TRIGGER hand AFTER INSERT ON given BEGIN INSERT INTO v VALUES(new.k, new.n); END;
INSERT INTO v VALUES('x', 1);
SAVEPOINT one;
INSERT INTO given VALUES('x', 1), ('x', 2);
INSERT INTO given VALUES('x', 1), ('x', 2);
ROLLBACK TO one;
INSERT INTO given VALUES('x', 5), ('y', 5);
RELEASE one;
SELECT * FROM v;
--= x|6
--= y|5

-- # a-table-with-spread-keys-whose-making-is-rolled-back-to-a-savepoint-stops-nothing
CREATE TABLE s(tag TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0);
INSERT INTO s VALUES ('t', 5);
SELECT counter_replicate('s', 'n');
--= 1
BEGIN;
UPDATE s SET n = n + 7;
SAVEPOINT a;
CREATE TABLE d(id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('d', 'n', 'keys=spread');
--= 0
INSERT INTO d(n) VALUES (1);
UPDATE s SET n = n + 100;
ROLLBACK TO a;
UPDATE s SET n = n + 1;
SAVEPOINT b;
UPDATE s SET n = n + 1;
RELEASE b;
CREATE TABLE d(id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('d', 'n', 'keys=spread');
--= 0
INSERT INTO d(n) VALUES (2);
COMMIT;
SELECT s.n, d.n, c.n FROM s, d, s_counters AS c;
--= 14|2|14
