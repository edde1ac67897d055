-- request_id: an INSERT that counts once, however often it is repeated; counter_add.

-- # a-request-counts-once
CREATE VIRTUAL TABLE v USING counter(k TEXT, j INTEGER, a COUNTER, b COUNTER, PRIMARY KEY(j, k));
INSERT INTO v(k, j, a, request_id) VALUES('x', 1, 5, 'r1');
INSERT INTO v(k, j, a, request_id) VALUES('x', 1, 5, 'r1');
SELECT changes();
--= 1
INSERT OR IGNORE INTO v(k, j, a, request_id) VALUES('x', 1, 5, 'r1');
SELECT changes(), (SELECT a FROM v);
--= 0|5
INSERT INTO v(k, j, a, request_id) VALUES('x', 1, 5, x'7231');
INSERT INTO v(k, j, a, request_id) VALUES('x', 1, 5, NULL);
SELECT *, request_id FROM v;
--= x|1|15|0|NULL
SELECT quote(id), text FROM counter_requests ORDER BY number;
--= 'r1'|1, 'x': a 5
--= X'7231'|1, 'x': a 5
--@ reopen
INSERT INTO v(k, j, a, request_id) VALUES('x', 1, 5, 'r1');
SELECT a FROM v;
--= 15
INSERT INTO v(k, j, a, b, request_id) VALUES('x', 1, 5, 0, 'r1');
--! v: the request TEXT 'r1' was taken before for 1, 'x': a 5, not for 1, 'x': a 5, b 0
INSERT INTO v(k, j, a, request_id) VALUES('y', 1, 5, 'r1');
--!~ v: the request TEXT 'r1' was taken before *
INSERT INTO v(k, j, a, request_id) VALUES('y', 1, 5, 'r2'), ('y', 1, 5, 'r2'), ('y', 1, 5, 'r3');
SELECT a FROM v WHERE k = 'y';
--= 10

-- # a-trigger-on-the-requests-is-refused-before-anything-is-written
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE log(n);
INSERT INTO v VALUES('x', 1);
CREATE TRIGGER logs AFTER INSERT ON counter_requests BEGIN INSERT INTO log SELECT count(*) FROM v; END;
BEGIN;
INSERT INTO v(k, n, request_id) VALUES('x', 100, 'a');
--! v: the stored table counter_requests has the trigger logs: drop it first
COMMIT;
DROP TRIGGER logs;
INSERT INTO v(k, n, request_id) VALUES('x', 100, 'a');
SELECT n, (SELECT count(*) FROM log) FROM v;
--= 101|0

-- # a-request-is-remembered-in-the-transaction-that-counts
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
BEGIN;
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'a');
ROLLBACK;
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'a');
BEGIN;
SAVEPOINT s;
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'b');
ROLLBACK TO s;
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'b');
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'b');
COMMIT;
SELECT n FROM v;
--= 2
INSERT INTO v(k, n, request_id) VALUES('x', 1.5, 'c');
--!~ v: column n: a counter takes an INTEGER*
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'c');
SELECT n FROM v;
--= 3

-- # a-request-counts-once-whatever-becomes-of-the-row
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'a');
DELETE FROM v;
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'a');
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'b');
INSERT OR IGNORE INTO v(k, n, request_id) VALUES('x', 1, 'c');
INSERT INTO v(v, k, n, request_id) VALUES('reset', 'x', 7, 'd');
INSERT INTO v(v, k, n, request_id) VALUES('reset', 'x', 7, 'd');
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'c');
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'b');
SELECT * FROM v;
--= x|7
REPLACE INTO v(k, n, request_id) VALUES('x', 1, 'e');
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'e');
--! v: the request TEXT 'e' was taken before for replace of 'x': n 1, not for 'x': n 1
INSERT INTO v(k, n, request_id) VALUES('x', '1', 'a');
REPLACE INTO v(k, n, request_id) VALUES('x', 1.0, 'e');
SELECT group_concat(request) FROM (SELECT id AS request FROM counter_requests ORDER BY number);
--= a,b,c,d,e
INSERT INTO v(v) VALUES('forget requests 2');
SELECT group_concat(request) FROM (SELECT id AS request FROM counter_requests ORDER BY number);
--= d,e
INSERT INTO v(v) VALUES('forget requests 0');
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'b');
SELECT n FROM v;
--= 2
ALTER TABLE v RENAME TO w;
INSERT INTO w(k, n, request_id) VALUES('x', 1, 'b');
SELECT n FROM w;
--= 2
DROP TABLE w;
SELECT count(*) FROM sqlite_master WHERE name LIKE '%ops';
--= 0

-- # a-request-id-is-a-text-or-a-blob-of-255-bytes-at-most-and-goes-with-a-count
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v(k, n, request_id) VALUES('x', 1, 1.5);
--!~ v: a request_id must be TEXT or a BLOB of 1 to 255 bytes, not REAL 1.5*
INSERT INTO v(k, n, request_id) VALUES('x', 1, 7);
--!~ v: a request_id must be TEXT or a BLOB of 1 to 255 bytes, not INTEGER 7*
INSERT INTO v(k, n, request_id) VALUES('x', 1, '');
--!~ v: a request_id must be *of 0 bytes
INSERT INTO v(k, n, request_id) VALUES('x', 1, zeroblob(256));
--!~ v: a request_id must be *of 256 bytes
INSERT INTO v(k, n, request_id) VALUES('x', 1, zeroblob(255));
UPDATE v SET request_id = 'a';
--! v: an UPDATE takes no request_id: INSERT adds, and counts a request once
INSERT INTO v(v, k, request_id) VALUES('delete n', 'x', 'a');
--! v: a request_id goes with an INSERT of a row, or with 'reset'; 'delete n' counts nothing
INSERT INTO v(v, k, request_id) VALUES(5, 'x', 'a');
--! v: a request_id goes with an INSERT of a row, or with 'reset'; INTEGER 5 counts nothing
INSERT INTO v(v, k, request_id) VALUES(x'7265736574', 'x', 'a');
--! v: a request_id goes with an INSERT of a row, or with 'reset'; BLOB x'7265736574' counts nothing
INSERT INTO v(v, request_id) VALUES('integrity-check', 'a');
--!~ v: a request_id goes with *
INSERT INTO v(v) VALUES('forget requests');
--!~ v: unknown command TEXT 'forget requests'*
INSERT INTO v(v) VALUES('forget requests -1');
--!~ v: unknown command *
INSERT INTO v(v, k) VALUES('forget requests 1', 'x');
--! v: forget requests 1 takes no value for column k

-- # the-same-call-in-two-places-of-a-statement-is-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('a', 1, 0);
SELECT x, x FROM (SELECT counter_add('v', 'n', 0, k) AS x FROM v);
--! counter_add: v: the statement makes this call in two places, as SQLite does if the column of a subquery is used twice; the first has counted, this one has not: write WITH x AS MATERIALIZED (SELECT counter_add(...))
SELECT counter_add('v', 'n', 0, 'a'), counter_add('main.v', 'N', 0, 'a');
--!~ *makes this call in two places*
SELECT counter_add('v', 'n', 0, 'a'), counter_add('v', 'm', 0, 'a');
--= 1|0

-- # counter-add-adds-and-returns-the-new-value
CREATE VIRTUAL TABLE v USING counter(k TEXT, j INTEGER, a COUNTER, b COUNTER, PRIMARY KEY(j, k));
SELECT counter_add('v', 'a', 5, 1, 'x');
--= 5
SELECT counter_add('main.v', 'A', -2, 1, 'x');
--= 3
SELECT counter_add('V', 'b', 7, 2, 12);
--= 7
SELECT * FROM v ORDER BY j;
--= x|1|3|0
--= 12|2|0|7
SELECT counter_add('v', 'a', 1);
--! counter_add: the key of v is ("j", "k"): 2 values are needed, not 0
SELECT counter_add('v', 'a', 1, 2, 3, 4);
--! counter_add: the key of v is ("j", "k"): 2 values are needed, not 3
SELECT counter_add('v', 'k', 1, 2, 3);
--! counter_add: v has no counter 'k'
SELECT counter_add('w', 'a', 1, 2, 3);
--! counter_add: there is no counter table 'w'
SELECT counter_add('v', 'a');
--! counter_add: the arguments are the table, the counter, the number to add, and the key
SELECT counter_add('v', 'a', 1.5, 1, 'x');
--!~ counter_add: n must be *REAL 1.5
SELECT counter_add('v', 'a', NULL, 1, 'x');
--!~ counter_add: n must be *NULL
SELECT counter_add('v', 'a', 1, 1, NULL);
--! counter_add: v: key column k must not be NULL
DELETE FROM v WHERE j = 1;
SELECT counter_add('v', 'a', 1, 1, 'x');
--= 1
BEGIN;
SELECT counter_add('v', 'b', 1, 2, '12');
--= 8
ROLLBACK;
SELECT b FROM v;
--= 0
--= 7
CREATE TABLE t(x);
CREATE TRIGGER tr AFTER INSERT ON t BEGIN SELECT counter_add('v', 'b', 1, 2, '12'); END;
INSERT INTO t VALUES(1);
--!~ *unsafe use of counter_add()*
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.w USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_add('w', 'n', 1, 'a');
--= 1
SELECT counter_add('phone.v', 'n', 2, 'a');
--= 2
SELECT counter_add('PHONE.w', 'n', 1, 'a');
--= 2
CREATE VIRTUAL TABLE temp.c USING counter_cluster(w, replicas='phone', read=ONE, write=ONE);
PRAGMA phone.synchronous = EXTRA;
SELECT counter_add('c', 'n', 1, 'a');
--= 3
SELECT counter_add('w', 'n', 1);
--! counter_add: the key of w is ("k"): 1 value is needed, not 0

-- # counter-add-finds-a-cluster-of-which-sqlite-has-let-go-and-none-that-was-dropped
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
SELECT counter_add('c', 'n', 1, 'x');
--= 1
-- a schema that is taken back lets go of all tables
BEGIN;
CREATE TABLE t(x);
ROLLBACK;
SELECT counter_add('C', 'n', 1, 'x');
--= 2
SELECT n FROM east.v;
--= 2
BEGIN;
CREATE TABLE t(x);
ROLLBACK;
DROP TABLE c;
SELECT counter_add('c', 'n', 1, 'x');
--! counter_add: there is no counter table 'c'
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_add('c', 'n', 5, 'x');
--= 5

-- # a-request-is-known-again-when-other-counters-have-come-or-gone
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v(k, a, request_id) VALUES('x', 5, 'r1');
INSERT INTO v(v, k, request_id) VALUES('reset b', 'y', 'r2');
INSERT INTO v(v) VALUES('add column c');
INSERT INTO v(k, a, request_id) VALUES('x', 5, 'r1');
INSERT INTO v(v, k, request_id) VALUES('reset b', 'y', 'r2');
INSERT INTO v(v) VALUES('drop column b');
INSERT INTO v(k, a, request_id) VALUES('x', 5, 'r1');
INSERT INTO v(k, a, c, request_id) VALUES('x', 5, 0, 'r1');
--! v: the request TEXT 'r1' was taken before for 'x': a 5, not for 'x': a 5, c 0
SELECT * FROM v;
--= x|5|0

-- # keys-that-differ-behind-a-nul-are-different-requests
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v(k, n, request_id) VALUES('a' || char(0) || 'x', 1, 'r');
INSERT INTO v(k, n, request_id) VALUES('a' || char(0) || 'x', 1, 'r');
INSERT INTO v(k, n, request_id) VALUES('a' || char(0) || 'y', 1, 'r');
--!~ v: the request TEXT 'r' was taken*CAST(x'610078' AS TEXT): n 1*CAST(x'610079' AS TEXT): n 1*
SELECT count(*), sum(n) FROM v;
--= 1|1

-- # an-add-whose-sum-cannot-be-read-has-added-nothing
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('o', -1);
SELECT count(*) FROM counter_push('phone');
--= 1
INSERT INTO phone.v VALUES('o', 5);
SELECT count(*) FROM counter_sync('phone');
--= 1
SELECT counter_add('v', 'n', 9223372036854775807, 'o');
--! counter_add: v: column n: integer overflow: 9223372036854775807 cannot be added
BEGIN;
SELECT counter_add('v', 'n', 2, 'o');
--= 6
SELECT counter_add('v', 'n', 9223372036854775807, 'o');
--! counter_add: v: column n: integer overflow: 9223372036854775807 cannot be added
COMMIT;
SELECT * FROM v;
--= o|6
INSERT INTO phone.v VALUES('o', 9223372036854775000);
INSERT INTO v VALUES('o', 1000);
SELECT rows_changed FROM counter_sync('phone');
--= 2
SELECT counter_add('v', 'n', 1, 'o');
--! counter_add: v: column n: integer overflow: 1 cannot be added
SELECT counter_add('v', 'n', -1, 'o');
--! counter_add: v: column n of ('o'): integer overflow: the counts of all files add up to more than 64 bits; INSERT a number of the other sign
SELECT value FROM v_cells, counter_shards(n) ORDER BY value;
--= 1001
--= 9223372036854775005
SELECT counter_add('v', 'n', -1000, 'o');
--= 9223372036854775006

-- # counter-add-takes-names-as-texts
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER);
SELECT counter_add(5, 'a', 1, 'x');
--! counter_add: the table must be TEXT, not INTEGER 5
SELECT counter_add('v', NULL, 1, 'x');
--! counter_add: the counter must be TEXT, not NULL
SELECT counter_add('v', x'61', 1, 'x');
--! counter_add: the counter must be TEXT, not BLOB x'61'

-- # a-request-remembers-a-key-of-any-type
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v(k, a, request_id) VALUES (x'6100', 1, 'r');
INSERT INTO v(k, a, request_id) VALUES (x'6100', 1, 'r');
INSERT INTO v(k, a, request_id) VALUES (x'6101', 1, 'r');
--! v: the request TEXT 'r' was taken before for x'6100': a 1, not for x'6101': a 1
INSERT INTO v(k, b, request_id) VALUES (x'6100', 1, 'r');
--! v: the request TEXT 'r' was taken before for x'6100': a 1, not for x'6100': b 1
INSERT INTO v(k, b, request_id) VALUES (1.5, 1, 'r');
--! v: the request TEXT 'r' was taken before for x'6100': a 1, not for 1.5: b 1
SELECT hex(k), a, b FROM v;
--= 6100|1|0

-- # requests-are-forgotten-by-a-number-and-told-apart-behind-a-zero
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main');
INSERT INTO v(v) VALUES('forget requests 1a');
--! v: unknown command TEXT 'forget requests 1a'; the commands are 'integrity-check', 'optimize', 'add column <counter>', 'grant <id>', 'forget requests <n>', 'forget requests older than <n> days'; these delete counts: 'purge below', 'drop column <counter>', 'reset', 'reset <counter>', 'delete <counter>'
INSERT INTO v(v) VALUES('forget requests /');
--! v: unknown command TEXT 'forget requests /'; the commands are 'integrity-check', 'optimize', 'add column <counter>', 'grant <id>', 'forget requests <n>', 'forget requests older than <n> days'; these delete counts: 'purge below', 'drop column <counter>', 'reset', 'reset <counter>', 'delete <counter>'
INSERT INTO v(v) VALUES('forget requests 99999999999999999999');
--! v: unknown command TEXT 'forget requests 99999999999999999999'; the commands are 'integrity-check', 'optimize', 'add column <counter>', 'grant <id>', 'forget requests <n>', 'forget requests older than <n> days'; these delete counts: 'purge below', 'drop column <counter>', 'reset', 'reset <counter>', 'delete <counter>'
INSERT INTO v(v) VALUES('forget requests ');
--! v: unknown command TEXT 'forget requests '; the commands are 'integrity-check', 'optimize', 'add column <counter>', 'grant <id>', 'forget requests <n>', 'forget requests older than <n> days'; these delete counts: 'purge below', 'drop column <counter>', 'reset', 'reset <counter>', 'delete <counter>'
INSERT INTO c(c) VALUES('forget requests 1');
--! c: a cluster records no requests
INSERT INTO v(k, n, request_id) VALUES('a' || char(0) || 'b', 1, 'r');
INSERT INTO v(k, n, request_id) VALUES('a' || char(0) || 'c', 1, 'r');
--! v: the request TEXT 'r' was taken before for CAST(x'610062' AS TEXT): n 1, not for CAST(x'610063' AS TEXT): n 1
INSERT INTO v(v, k, n, request_id) VALUES('reset', 'x', 1, 'q');
INSERT INTO v(v, k, request_id) VALUES('delete n', 'x', 'w');
--! v: a request_id goes with an INSERT of a row, or with 'reset'; 'delete n' counts nothing

-- # a-key-is-one-and-another-is-another-whatever-has-looked-at-them
PRAGMA encoding = 'UTF-16le';
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
-- in UTF-8 the first has the bytes of the second in UTF-16
BEGIN;
INSERT INTO v(k, n, request_id) VALUES('ab', 1, 'r'), ('扡', 1, NULL), ('ab', 1, NULL);
INSERT INTO v(k, n) VALUES('扡', 1), ('ab', 1);
COMMIT;
SELECT k, n FROM v ORDER BY n;
--= 扡|2
--= ab|3

-- # a-key-that-begins-with-a-byte-order-mark-keeps-it-in-utf-16
PRAGMA encoding = 'UTF-16le';
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
SELECT counter_add('v', 'n', 10, char(65279) || 'a');
--= 10
SELECT n FROM v WHERE k = char(65279) || 'a';
--= 10
UPDATE v SET n = n + 100 WHERE k = char(65279) || 'a';
SELECT n, length(k) FROM v ORDER BY n;
--= 1|1
--= 110|2
INSERT INTO v(k, n, request_id) VALUES('b', 1, 'r'), ('b', 1, char(65279) || 'r');
SELECT n FROM v WHERE k = 'b';
--= 2
DELETE FROM v WHERE k = char(65279) || 'a';
SELECT k, n FROM v ORDER BY k;
--= a|1
--= b|2

-- # counter-add-is-refused-in-a-statement-that-writes-which-would-not-take-it-back
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE x(id INTEGER PRIMARY KEY, sum CHECK(sum > 100));
INSERT OR FAIL INTO x VALUES(1, counter_add('v', 'n', 1, 'a'));
--! counter_add: it cannot run inside a statement that writes
BEGIN;
INSERT INTO x VALUES(1, counter_add('v', 'n', 1, 'a'));
--! counter_add: it cannot run inside a statement that writes
SELECT counter_add('v', 'n', 101, 'a');
--= 101
INSERT INTO x VALUES(1, 101);
UPDATE x SET sum = counter_add('v', 'n', -100, 'a') WHERE id = 1;
--! counter_add: it cannot run inside a statement that writes
COMMIT;
SELECT v.n, x.sum FROM v, x;
--= 101|101

-- # counter-add-finds-the-row-of-a-real-key-that-an-integer-is-rounded-to
CREATE VIRTUAL TABLE v USING counter(k REAL PRIMARY KEY, n COUNTER);
SELECT counter_add('v', 'n', 1, 9007199254740993);
--= 1
SELECT counter_add('v', 'n', 1, '9007199254740993');
--= 2
SELECT counter_add('v', 'n', 1, 'a');
--= 1
SELECT k = 9007199254740992, n FROM v ORDER BY k;
--= 1|2
--= 0|1

-- # a-request-that-changes-nothing-is-taken-all-the-same
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 5);
INSERT INTO v(k, n, request_id) VALUES('x', 0, 'first');
INSERT INTO v(k, n, request_id) VALUES('x', 0, 'first');
INSERT INTO v(k, n, request_id) VALUES('x', 3, 'first');
--! v: the request TEXT 'first' was taken before for 'x': n 0, not for 'x': n 3
INSERT INTO v(k, request_id) VALUES('x', 'second');
INSERT INTO v(k, n, request_id) VALUES('x', 3, 'second');
--! v: the request TEXT 'second' was taken before for 'x', not for 'x': n 3
SELECT * FROM v;
--= x|5

-- # a-repeated-request-has-no-row-id
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('w', 1);
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'a');
SELECT last_insert_rowid(), changes();
--= 2|1
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'a');
SELECT last_insert_rowid(), changes();
--= 0|1
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'b');
SELECT last_insert_rowid();
--= 2
INSERT OR IGNORE INTO v(k, n, request_id) VALUES('x', 1, 'b');
SELECT last_insert_rowid(), changes();
--= 2|0
REPLACE INTO v(k, n, request_id) VALUES('x', 7, 'c');
SELECT last_insert_rowid();
--= 2
REPLACE INTO v(k, n, request_id) VALUES('x', 7, 'c');
SELECT last_insert_rowid();
--= 0
INSERT INTO v(v, k, n, request_id) VALUES('reset', 'x', 5, 'd');
SELECT last_insert_rowid();
--= 2
INSERT INTO v(v, k, n, request_id) VALUES('reset', 'x', 5, 'd');
SELECT last_insert_rowid();
--= 0
INSERT OR FAIL INTO v(k, n, request_id) VALUES('y', 1, 'e');
INSERT OR FAIL INTO v(k, n, request_id) VALUES('y', 1, 'e');
SELECT last_insert_rowid();
--= 0
-- of several rows the last one tells
INSERT INTO v(k, n, request_id) VALUES('y', 1, 'e'), ('x', 1, 'f');
SELECT last_insert_rowid();
--= 2
INSERT INTO v(k, n, request_id) VALUES('y', 1, 'g'), ('x', 1, 'f');
SELECT last_insert_rowid(), (SELECT min(_id) FROM v_cells);
--= 0|1
SELECT * FROM v;
--= w|1
--= x|6
--= y|2

-- # a-row-that-or-ignore-skips-leaves-the-last-row-id-though-its-request-is-stored
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1), ('y', 1);
INSERT OR IGNORE INTO v(k, n, request_id) VALUES('x', 1, 'a');
SELECT last_insert_rowid(), changes(), (SELECT count(*) FROM counter_requests);
--= 2|0|1

-- # a-trigger-sees-that-a-request-was-repeated
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE asked(k, id);
CREATE TABLE log(row, changed);
CREATE TRIGGER t AFTER INSERT ON asked BEGIN
  INSERT INTO v(k, n, request_id) VALUES(NEW.k, 1, NEW.id);
  INSERT INTO log SELECT last_insert_rowid(), changes(); END;
INSERT INTO asked VALUES('x', 'a'), ('y', 'b'), ('x', 'a');
-- outside of the trigger it is the row id of the table itself
SELECT last_insert_rowid();
--= 3
INSERT OR IGNORE INTO asked VALUES('y', 'b'), ('y', 'c');
SELECT * FROM log;
--= 1|1
--= 2|1
--= 0|1
--= 4|0
--= 5|0
SELECT * FROM v;
--= x|1
--= y|1
INSERT INTO asked VALUES('y', 'a');
--! v: the request TEXT 'a' was taken before for 'x': n 1, not for 'y': n 1
INSERT OR IGNORE INTO asked VALUES('y', 'a');
--! v: the request TEXT 'a' was taken before for 'x': n 1, not for 'y': n 1
SELECT count(*), (SELECT count(*) FROM log) FROM asked;
--= 5|5

-- # a-clash-of-requests-is-refused-under-every-conflict-clause
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'a');
INSERT OR IGNORE INTO v(k, n, request_id) VALUES('x', 2, 'a');
--! v: the request TEXT 'a' was taken before for 'x': n 1, not for 'x': n 2
INSERT OR IGNORE INTO v(k, n, request_id) VALUES('y', 1, 'b'), ('x', 2, 'a');
--! v: the request TEXT 'a' was taken before for 'x': n 1, not for 'x': n 2
INSERT OR ABORT INTO v(k, n, request_id) VALUES('y', 1, 'b'), ('x', 2, 'a');
--! v: the request TEXT 'a' was taken before for 'x': n 1, not for 'x': n 2
REPLACE INTO v(k, n, request_id) VALUES('y', 1, 'b'), ('x', 2, 'a');
--! v: the request TEXT 'a' was taken before for 'x': n 1, not for replace of 'x': n 2
INSERT INTO v(v, k, n, request_id) VALUES('reset', 'x', 2, 'a');
--! v: the request TEXT 'a' was taken before for 'x': n 1, not for reset of 'x': n 2
SELECT * FROM v;
--= x|1
-- as with a UNIQUE column, the rows before the one that fails stay
INSERT OR FAIL INTO v(k, n, request_id) VALUES('y', 1, 'b'), ('x', 2, 'a'), ('z', 1, 'c');
--! v: the request TEXT 'a' was taken before for 'x': n 1, not for 'x': n 2
SELECT * FROM v;
--= x|1
--= y|1
INSERT INTO v(k, n, request_id) VALUES('y', 1, 'b'), ('z', 1, 'c');
SELECT * FROM v;
--= x|1
--= y|1
--= z|1
-- and OR ROLLBACK ends the transaction
BEGIN;
INSERT INTO v VALUES('x', 1);
INSERT OR ROLLBACK INTO v(k, n, request_id) VALUES('x', 2, 'a');
--! v: the request TEXT 'a' was taken before for 'x': n 1, not for 'x': n 2
COMMIT;
--! cannot commit - no transaction is active
SELECT n FROM v WHERE k = 'x';
--= 1

-- # requests-are-forgotten-by-their-age
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'old'), ('x', 1, 'week'), ('x', 1, 'now'), ('x', 1, 'future');
SELECT count(*), min(at) >= 1000 * (strftime('%s', 'now') - 600), max(at) <= 1000 * (strftime('%s', 'now') + 1) FROM counter_requests WHERE typeof(at) = 'integer';
--= 4|1|1
UPDATE counter_requests SET at = at - 86400000 * 30 WHERE id = 'old';
UPDATE counter_requests SET at = at - 86400000 * 7 WHERE id = 'week';
UPDATE counter_requests SET at = at + 86400000 * 2 WHERE id = 'future';
INSERT INTO v(v) VALUES('forget requests older than 31 days');
INSERT INTO v(v) VALUES('forget requests older than 922337203685477579 days');
SELECT count(*) FROM counter_requests;
--= 4
INSERT INTO v(v) VALUES('FORGET REQUESTS OLDER THAN 30 DAYS');
SELECT group_concat(id) FROM (SELECT id FROM counter_requests ORDER BY number);
--= week,now,future
INSERT INTO v(k, n, request_id) VALUES('x', 1, 'old'), ('x', 1, 'week');
SELECT n FROM v;
--= 5
INSERT INTO v(v) VALUES('forget requests older than 7 days');
SELECT group_concat(id) FROM (SELECT id FROM counter_requests ORDER BY number);
--= now,future,old
-- one of the future is kept until it is old
INSERT INTO v(v) VALUES('forget requests older than 0 days');
SELECT group_concat(id) FROM (SELECT id FROM counter_requests ORDER BY number);
--= future
BEGIN;
INSERT INTO v(v) VALUES('forget requests 0');
ROLLBACK;
SELECT count(*) FROM counter_requests;
--= 1
INSERT INTO v(v) VALUES('forget requests older than 1.5 days');
--!~ v: unknown command TEXT 'forget requests older than 1.5 days'; *'forget requests older than <n> days'*
INSERT INTO v(v) VALUES('forget requests older than -1 days');
--!~ v: unknown command TEXT 'forget requests older than -1 days'; *
INSERT INTO v(v) VALUES('forget requests older than days');
--!~ v: unknown command *
INSERT INTO v(v) VALUES('forget requests older than 1');
--!~ v: unknown command *
INSERT INTO v(v) VALUES('forget requests older than 9223372036854775808 days');
--!~ v: unknown command *
INSERT INTO v(v, k) VALUES('forget requests older than 1 days', 'x');
--! v: forget requests older than 1 days takes no value for column k
INSERT INTO v(v, request_id) VALUES('forget requests older than 1 days', 'r');
--! v: a request_id goes with an INSERT of a row, or with 'reset'; 'forget requests older than 1 days' counts nothing
