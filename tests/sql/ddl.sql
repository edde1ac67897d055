-- Changes of the schema between counts: what is counted stays in its own table.

-- # after-a-drop-counts-stay-in-their-table-though-auto-vacuum-moves-tables
PRAGMA auto_vacuum = 1;
VACUUM;
CREATE TABLE w(x);
CREATE TABLE y(k TEXT PRIMARY KEY, n);
CREATE INDEX yn ON y(n);
CREATE VIRTUAL TABLE a USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO a VALUES('a', 1);
INSERT INTO t VALUES('a', 1);
INSERT INTO t VALUES('b', 1);
DROP TABLE a;
DROP TABLE y;
CREATE TABLE z(a INTEGER PRIMARY KEY, b, c);
INSERT INTO t VALUES('a', 10);
SELECT * FROM t;
--= a|11
--= b|1
SELECT * FROM z;
SELECT count(*) > 0 FROM counter_journal;
--= 1
INSERT INTO t(t) VALUES('integrity-check');
PRAGMA integrity_check;
--= ok

-- # the-same-with-incremental-vacuum-within-a-transaction
PRAGMA auto_vacuum = 2;
VACUUM;
CREATE TABLE w(x);
CREATE TABLE y(k TEXT PRIMARY KEY, n);
CREATE INDEX yn ON y(n);
CREATE VIRTUAL TABLE a USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO a VALUES('a', 1);
INSERT INTO t VALUES('a', 1);
INSERT INTO t VALUES('b', 1);
BEGIN;
DROP TABLE a;
DROP TABLE y;
CREATE TABLE z(a INTEGER PRIMARY KEY, b, c);
INSERT INTO t VALUES('a', 10);
COMMIT;
SELECT * FROM t;
--= a|11
--= b|1
SELECT * FROM z;
INSERT INTO t(t) VALUES('integrity-check');

-- # after-counter-untrack-counts-stay-in-their-table-though-auto-vacuum-moves-tables
PRAGMA auto_vacuum = 1;
VACUUM;
CREATE TABLE w(x);
CREATE TABLE y(k TEXT PRIMARY KEY, n);
CREATE INDEX yn ON y(n);
CREATE TABLE a(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO a VALUES('a', 1);
SELECT counter_track('a', 'n');
--= 1
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO t VALUES('a', 1);
INSERT INTO t VALUES('b', 1);
SELECT counter_untrack('a');
--= 1
DROP TABLE y;
CREATE TABLE z(a INTEGER PRIMARY KEY, b, c);
INSERT INTO t VALUES('a', 10);
SELECT * FROM t;
--= a|11
--= b|1
SELECT * FROM z;
INSERT INTO t(t) VALUES('integrity-check');

-- # a-table-made-in-a-savepoint-that-is-rolled-back-leaves-the-rest-of-the-transaction
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER);
SAVEPOINT o;
ROLLBACK;
BEGIN;
SAVEPOINT s;
SAVEPOINT i;
CREATE VIRTUAL TABLE a USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE d USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE a;
ROLLBACK TO i;
CREATE VIRTUAL TABLE x USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO x VALUES('a', 100);
INSERT INTO t VALUES('a', 10);
ROLLBACK TO i;
INSERT INTO t VALUES('a', 1000);
COMMIT;
SELECT * FROM t;
--= a|1000

-- # a-table-made-again-in-one-transaction-counts-nothing-that-was-rolled-back
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER);
SAVEPOINT o;
ROLLBACK;
BEGIN;
SAVEPOINT s;
SAVEPOINT i;
CREATE VIRTUAL TABLE a USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE d USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE a;
ROLLBACK TO i;
CREATE VIRTUAL TABLE x USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO x VALUES('a', 60);
INSERT INTO x VALUES('a', 40);
INSERT INTO t VALUES('a', 10);
ROLLBACK TO i;
CREATE VIRTUAL TABLE x USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO x VALUES('a', 5);
COMMIT;
SELECT * FROM t;
SELECT * FROM x;
--= a|5
INSERT INTO x(x) VALUES('integrity-check');
