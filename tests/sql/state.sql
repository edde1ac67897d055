-- One state for a file: counter_state and counter_requests have the rows of all tables, by their numbers.

-- # tables-of-one-file-do-not-see-each-other-s-state
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER, m COUNTER);
CREATE VIRTUAL TABLE u USING counter(k INTEGER PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO t(k, n, request_id) VALUES(1, 1, 'a'), (5, 2, 'b'), (9, 4, 'c');
INSERT INTO u(k, n, request_id) VALUES(1, 10, 'a'), (5, 20, 'b'), (9, 40, 'c');
INSERT INTO u(k, n, request_id) VALUES(1, 10, 'a');
INSERT INTO t(k, n, request_id) VALUES(9, 8, 'b');
--!~ t: the request TEXT 'b' was taken before for *
INSERT INTO t(t) VALUES('drop column m');
INSERT INTO t(t, k) VALUES('purge below', 5);
SELECT * FROM t;
--= 5|2
--= 9|4
SELECT * FROM u;
--= 1|10|0
--= 5|20|0
--= 9|40|0
INSERT INTO u VALUES(1, 1, 1);
INSERT INTO t VALUES(1, 1);
--! t: the key (1) is below a floor of the table; see counter_floors('t')
SELECT * FROM counter_floors('u');
INSERT INTO u(u, k) VALUES('purge below', 2);
SELECT t.floor, u.floor FROM counter_floors('t') AS t, counter_floors('u') AS u;
--= 5|2
INSERT INTO u(u) VALUES('add column p');
SELECT tab, name, value FROM counter_state WHERE kind = 'counter';
--= 1|m|2
--= 2|p|1
INSERT INTO t(t) VALUES('forget requests 1');
SELECT tab, group_concat(id) FROM (SELECT tab, id FROM counter_requests ORDER BY number) GROUP BY tab;
--= 1|c
--= 2|a,b,c
INSERT INTO u(u) VALUES('forget requests older than 0 days');
SELECT tab, id FROM counter_requests;
--= 1|c
INSERT INTO t(t) VALUES('integrity-check');
INSERT INTO u(u) VALUES('integrity-check');

-- # a-table-that-is-dropped-and-made-again-has-no-state
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER, m COUNTER);
CREATE VIRTUAL TABLE u USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO t(k, n, request_id) VALUES(1, 1, 'a'), (5, 2, 'b');
INSERT INTO u(k, n, request_id) VALUES(1, 1, 'a');
INSERT INTO t(t, k) VALUES('purge below', 5);
INSERT INTO t(t) VALUES('drop column m');
BEGIN;
DROP TABLE t;
SELECT (SELECT count(*) FROM counter_state), (SELECT count(*) FROM counter_requests);
--= 0|1
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO t(k, n, m, request_id) VALUES(1, 7, 7, 'a');
SELECT * FROM t;
--= 1|7|7
ROLLBACK;
SELECT * FROM t;
--= 5|2
INSERT INTO t VALUES(1, 1);
--! t: the key (1) is below a floor of the table; see counter_floors('t')
INSERT INTO t(k, n, request_id) VALUES(5, 2, 'b');
DROP TABLE t;
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER, m COUNTER);
SELECT name, number FROM counter_tables ORDER BY number;
--= u|2
--= t|3
INSERT INTO t(k, n, m, request_id) VALUES(1, 7, 7, 'a');
INSERT INTO u(k, n, request_id) VALUES(1, 1, 'a');
SELECT * FROM t, u;
--= 1|7|7|1|1
INSERT INTO t(t) VALUES('integrity-check');

-- # another-connection-reads-the-state-of-the-table-that-is-there-now
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO t(k, n, request_id) VALUES(5, 1, 'a');
SELECT * FROM t;
--= 5|1
--@ connection other
INSERT INTO t(t, k) VALUES('purge below', 5);
DROP TABLE t;
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO t(t) VALUES('add column m');
INSERT INTO t VALUES(1, 1, 1);
--@ connection main
INSERT INTO t(k, n, m, request_id) VALUES(1, 1, 1, 'a');
SELECT * FROM t;
--= 1|2|2
SELECT tab, kind, name, value FROM counter_state UNION ALL SELECT tab, 'request', id, 0 FROM counter_requests;
--= 2|counter|m|1
--= 2|request|a|0

-- # a-rename-keeps-the-state
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO t(k, n, request_id) VALUES(5, 1, 'a');
INSERT INTO t(t, k) VALUES('purge below', 5);
ALTER TABLE t RENAME TO u;
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER);
--!~ *u*
INSERT INTO u(k, n, request_id) VALUES(5, 1, 'a');
INSERT INTO u(k, n) VALUES(1, 1);
--! u: the key (1) is below a floor of the table; see counter_floors('u')
SELECT * FROM u;
--= 5|1

-- # a-table-of-the-user-with-a-name-of-ours-is-refused
CREATE TABLE counter_state(x);
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER);
--! t: the names counter_journal, counter_segments, counter_state and counter_requests are reserved, and the file has a table of that name with other columns: rename it first
DROP TABLE counter_state;
CREATE TABLE counter_requests(id, text);
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER);
--! t: the names counter_journal, counter_segments, counter_state and counter_requests are reserved, and the file has a table of that name with other columns: rename it first
DROP TABLE counter_requests;
CREATE VIEW counter_state AS SELECT 1;
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER);
--! t: counter_state is damaged: it is not an ordinary table but a view
DROP VIEW counter_state;
CREATE VIRTUAL TABLE counter_state USING counter(k INTEGER PRIMARY KEY, n COUNTER);
--! counter_state: names that begin with counter_ are reserved, such as counter_state
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO t VALUES(1, 1);

-- # integrity-check-finds-rows-of-no-kind-and-of-no-table
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO t VALUES(1, 1);
INSERT INTO counter_state(tab, kind) VALUES(1, 'later');
INSERT INTO t(t) VALUES('integrity-check');
--! t: integrity-check: the stored table counter_state is damaged: it has a row of the kind later
UPDATE counter_state SET tab = 0;
INSERT INTO t(t) VALUES('integrity-check');
--! t: integrity-check: the stored table counter_state is damaged: it has a row of the kind later
UPDATE counter_state SET kind = 'opening';
INSERT INTO t(t) VALUES('integrity-check');
--! t: integrity-check: the stored table counter_state is damaged: it has a row of the kind opening
UPDATE counter_state SET tab = 2;
INSERT INTO t(t) VALUES('integrity-check');
--! t: integrity-check: the stored table counter_state is damaged: it has rows of a table that does not exist
UPDATE counter_state SET tab = 'x';
INSERT INTO t(t) VALUES('integrity-check');
--! t: integrity-check: the stored table counter_state is damaged: it has rows of a table that does not exist
DELETE FROM counter_state;
INSERT INTO counter_requests(tab, id, at, text) VALUES(2, 'a', 1, '');
INSERT INTO t(t) VALUES('integrity-check');
--! t: integrity-check: the stored table counter_requests is damaged: it has rows of a table that does not exist
DELETE FROM counter_requests;
INSERT INTO t(t) VALUES('integrity-check');
SELECT * FROM t;
--= 1|1

-- # floors-that-are-damaged-are-a-sentence
CREATE VIRTUAL TABLE t USING counter(k TEXT, h INTEGER, n COUNTER, PRIMARY KEY(k, h));
INSERT INTO t VALUES('a', 5, 1);
INSERT INTO t(t, h) VALUES('purge below', 4);
SELECT hex(value) FROM counter_state;
--= D1000108
UPDATE counter_state SET value = x'd10001';
INSERT INTO t VALUES('a', 1, 1);
--! t: the stored table counter_state is damaged: it has floors that are not a packed key and numbers
SELECT * FROM counter_floors('t');
--! counter_floors: the stored table counter_state is damaged: it has floors that are not a packed key and numbers
INSERT INTO t(t) VALUES('integrity-check');
--! t: integrity-check: the stored table counter_state is damaged: it has floors that are not a packed key and numbers
UPDATE counter_state SET value = x'd10108';
INSERT INTO t(t, h) VALUES('purge below', 5);
--! t: the stored table counter_state is damaged: it has floors that are not a packed key and numbers
UPDATE counter_state SET value = 'text';
INSERT INTO t VALUES('a', 1, 1);
--! t: the stored table counter_state is damaged: it has floors that are not a packed key and numbers
UPDATE counter_state SET value = NULL;
INSERT INTO t VALUES('a', 1, 1);
--! t: the stored table counter_state is damaged: it has floors that are not a packed key and numbers
UPDATE counter_state SET value = x'd1000108', rows = 'x';
INSERT INTO t VALUES('a', 1, 1);
--! t: the stored table counter_state is damaged: it has floors that are not a packed key and numbers
UPDATE counter_state SET rows = 0, seq = NULL;
INSERT INTO t VALUES('a', 1, 1);
--! t: the stored table counter_state is damaged: it has floors that are not a packed key and numbers
UPDATE counter_state SET seq = 1, bytes = 'x';
INSERT INTO t VALUES('a', 1, 1);
--! t: the stored table counter_state is damaged: it has floors that are not a packed key and numbers
UPDATE counter_state SET bytes = 0;
INSERT INTO t VALUES('a', 1, 1);
--! t: the key ('a', 1) is below a floor of the table; see counter_floors('t')
DROP TABLE t;

-- # floors-are-what-their-columns-store
--@ not-utf-16
CREATE VIRTUAL TABLE t USING counter(a TEXT, b INTEGER, c REAL, d NUMERIC, e, n COUNTER, PRIMARY KEY(a, b, c, d, e));
INSERT INTO t(t, a) VALUES('purge below', 50);
INSERT INTO t(t, b) VALUES('purge below', '7');
INSERT INTO t(t, b) VALUES('purge below', 8.0);
INSERT INTO t(t, c) VALUES('purge below', 9);
INSERT INTO t(t, c) VALUES('purge below', '9.5');
INSERT INTO t(t, d) VALUES('purge below', '1e1');
INSERT INTO t(t, e) VALUES('purge below', x'00');
SELECT column_name, typeof(floor), quote(floor) FROM counter_floors('t');
--= a|text|'50'
--= b|integer|8
--= c|real|9.5
--= d|integer|10
--= e|blob|X'00'
SELECT hex(value) FROM counter_state;
--= D10302353001100240230000000000000114040100
INSERT INTO t VALUES(6, '8', '9.5', 10.0, x'00', 1);
INSERT INTO t VALUES(5, 8, 9.5, 10, x'00', 1);
--!~ t: the key (* is below a floor of the table; see counter_floors('t')
INSERT INTO t VALUES('6', '7', 9.5, 10, x'00', 1);
--!~ t: the key (* is below a floor of the table; see counter_floors('t')
INSERT INTO t VALUES('6', 8, '9.25', 10, x'00', 1);
--!~ t: the key (* is below a floor of the table; see counter_floors('t')
INSERT INTO t VALUES('6', 8, 9.5, '9', x'00', 1);
--!~ t: the key (* is below a floor of the table; see counter_floors('t')
INSERT INTO t VALUES('6', 8, 9.5, 10, 'z', 1);
--!~ t: the key (* is below a floor of the table; see counter_floors('t')
SELECT count(*) FROM t;
--= 1

-- # writers-have-one-number-in-all-tables-of-a-file
CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v);
CREATE TABLE u(k TEXT PRIMARY KEY NOT NULL, v);
SELECT counter_replicate('t');
--= 0
SELECT counter_replicate('u');
--= 0
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
INSERT INTO other.t VALUES('x', 'there');
BEGIN;
SAVEPOINT s;
INSERT INTO t VALUES('a', 'mine');
INSERT INTO u VALUES('a', 'mine');
SELECT value FROM counter_state WHERE kind = 'writer';
--= 1
ROLLBACK TO s;
SELECT count(*) FROM counter_state WHERE kind = 'writer';
--= 0
SELECT table_name, rows_changed FROM counter_pull('other');
--= t|1
--= u|0
INSERT INTO u VALUES('b', 'mine');
COMMIT;
INSERT INTO t VALUES('b', 'mine');
SELECT w.value, w.name = r.id FROM counter_state AS w, counter_replica AS r WHERE kind = 'writer' AND r.one = 1 ORDER BY 1;
--= 1|0
--= 2|1
SELECT count(*) FROM counter_push('other');
--= 2
UPDATE other.t SET v = 'theirs' WHERE k = 'b';
UPDATE other.u SET v = 'theirs' WHERE k = 'b';
SELECT count(*) FROM counter_sync('other');
--= 2
UPDATE other.t SET v = 'theirs, and later' WHERE k = 'b';
UPDATE other.u SET v = 'theirs, and later' WHERE k = 'b';
SELECT table_name, rows_changed FROM counter_sync('other') ORDER BY 1;
--= t|1
--= u|1
SELECT * FROM t, u ORDER BY 1;
--= b|theirs, and later|b|theirs, and later
--= x|there|b|theirs, and later
PRAGMA integrity_check;
--= ok
