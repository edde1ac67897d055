-- Transactions, savepoints, other schemas, rename and drop.

-- # a-statement-that-fails-inside-a-transaction-leaves-nothing-of-itself
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 1, 9223372036854775807);
BEGIN;
INSERT INTO v VALUES('x', 1, 1);
--! v: column b: integer overflow: 1 cannot be added
UPDATE v SET a = a + 1, b = b + 1;
--! v: column b: a counter takes an INTEGER, not REAL 9.22337203685478e+18
INSERT INTO v VALUES('y', 1, 1), ('x', 1, 1), ('z', 1, 1);
--! v: column b: integer overflow: 1 cannot be added
INSERT INTO v VALUES('ok', 1, 1);
COMMIT;
SELECT * FROM v;
--= x|1|9223372036854775807
--= ok|1|1
INSERT INTO v(v) VALUES('integrity-check');

-- # an-inner-write-that-fails-leaves-nothing
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
CREATE TEMP TRIGGER no BEFORE UPDATE ON main.v_cells BEGIN SELECT RAISE(ABORT, 'not now'); END;
BEGIN;
INSERT INTO v VALUES('x', 1);
--! v: the stored table refuses the row: not now
INSERT OR IGNORE INTO v VALUES('x', 1);
--! v: the stored table refuses the row: not now
UPDATE v SET n = n + 1;
--! v: the stored table refuses the row: not now
DELETE FROM v;
--! v: the stored table refuses the row: not now
INSERT INTO v VALUES('y', 1);
COMMIT;
SELECT * FROM v;
--= x|1
--= y|1
DROP TRIGGER no;
CREATE TEMP TRIGGER lost BEFORE UPDATE ON main.v_cells BEGIN SELECT RAISE(IGNORE); END;
INSERT INTO v VALUES('x', 1);
--! v: the stored table did not take the row
SELECT * FROM v;
--= x|1
--= y|1

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
--= counter_replica
--= counter_tables
--= w "x
--= w "x_cells
ALTER TABLE "w ""x" RENAME TO N;
--!~ *w "x: cannot be renamed to N: it has a column of that name
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
--= counter_replica
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

-- # another-connection-follows
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
