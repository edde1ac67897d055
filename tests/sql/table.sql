-- The counter table, statement by statement.

-- # a-replace-and-an-insert-after-a-delete-take-the-new-spelling-of-a-key
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE w USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('a', 1), ('b', 2);
INSERT INTO v VALUES ('A', 4);
SELECT * FROM v;
--= a|5
--= b|2
REPLACE INTO v VALUES ('A', 5), ('B', 3);
SELECT * FROM v;
--= A|5
--= B|3
SELECT * FROM v WHERE k = 'b';
--= B|3
DELETE FROM v WHERE k = 'A';
INSERT INTO v VALUES ('a', 7);
INSERT INTO v VALUES ('A', 1);
SELECT * FROM v;
--= a|8
--= B|3
INSERT INTO w VALUES (1, 1);
REPLACE INTO w VALUES (1.0, 1);
SELECT * FROM w;
--= 1.0|1
BEGIN;
REPLACE INTO v VALUES ('b', 9);
SAVEPOINT s;
REPLACE INTO v VALUES ('B', 10);
ROLLBACK TO s;
SELECT * FROM v WHERE k = 'B';
--= b|9
ROLLBACK;
SELECT * FROM v WHERE k = 'B';
--= B|3
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES ('b', 20);
SELECT rows_changed FROM counter_sync('phone') WHERE table_name = 'v';
--= 3
SELECT * FROM main.v;
--= a|8
--= B|23
SELECT * FROM phone.v ORDER BY k;
--= a|8
--= b|23
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1
INSERT INTO v(v) VALUES ('integrity-check');

-- # insert-adds
CREATE VIRTUAL TABLE v USING counter(path TEXT, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY (path, hour));
INSERT INTO v(path, hour, hits, bytes) VALUES ('/', 12, 1, 5120);
INSERT INTO v(path, hour, hits) VALUES ('/', 12, 1);
INSERT INTO v VALUES ('/', 12, NULL, -20), ('/', 13, 5, 0);
SELECT * FROM v;
--= /|12|2|5100
--= /|13|5|0
SELECT path, sum(hits), typeof(sum(hits)) FROM v WHERE hour >= 12 GROUP BY path;
--= /|7|integer

-- # an-untouched-counter-reads-zero
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v(k, a) VALUES ('x', 0);
SELECT * FROM v;
--= x|0|0
SELECT counter_json(a) LIKE '%"value":0}]}', b FROM v_cells;
--= 1|NULL

-- # a-row-is-inserted-by-its-key-alone
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v(k) VALUES ('x');
INSERT INTO v VALUES ('y', NULL, NULL);
INSERT INTO v VALUES ('x', 5, NULL);
INSERT INTO v(k) VALUES ('x');
SELECT * FROM v;
--= x|5|0
--= y|0|0
REPLACE INTO v(k) VALUES ('x');
INSERT OR IGNORE INTO v(k) VALUES ('y'), ('z');
SELECT changes();
--= 1
SELECT * FROM v;
--= x|0|0
--= y|0|0
--= z|0|0

-- # values-are-integers-even-under-or-ignore
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES ('x', 1, 'five');
--! v: column b: a counter takes an INTEGER, not TEXT 'five'
INSERT OR IGNORE INTO v VALUES ('x', 1.5, 1);
--! v: column a: a counter takes an INTEGER, not REAL 1.5
INSERT OR IGNORE INTO v VALUES ('x', 'seven', 1);
--! v: column a: a counter takes an INTEGER, not TEXT 'seven'
INSERT OR REPLACE INTO v VALUES ('x', x'07', 1);
--! v: column a: a counter takes an INTEGER, not BLOB x'07'
SELECT count(*) FROM v_cells;
--= 0

-- # a-text-is-the-number-that-integer-affinity-makes-of-it
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', ' 5 '), ('x', '1e3'), ('x', '5.0'), ('x', '+05'), ('y', '5');
SELECT * FROM v;
--= x|1015
--= y|5
UPDATE v SET n = '2e1';
REPLACE INTO v VALUES ('z', '.5e1');
SELECT counter_add('v', 'n', '1e1', 'y'), counter_value(counter_inc(NULL, '1e1'));
--= 30|10
SELECT * FROM v;
--= x|20
--= y|30
--= z|5

-- # a-text-beyond-the-greatest-integer-is-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('a', '999999999999999999'), ('b', '-9223372036854775807'), ('c', '+9223372036854775807');
INSERT INTO v VALUES ('d', '9223372036854775808');
--! v: column n: a counter takes an INTEGER, not TEXT '9223372036854775808'
INSERT INTO v VALUES ('d', '9999999999999999999');
--! v: column n: a counter takes an INTEGER, not TEXT '9999999999999999999'
INSERT INTO v VALUES ('d', '-18446744073709551617');
--! v: column n: a counter takes an INTEGER, not TEXT '-18446744073709551617'
SELECT * FROM v;
--= a|999999999999999999
--= b|-9223372036854775807
--= c|9223372036854775807

-- # a-null-key-is-a-mismatch-even-under-or-ignore
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, a COUNTER);
INSERT INTO v VALUES (NULL, 1);
--! v: key column k must not be NULL
INSERT OR IGNORE INTO v(a) VALUES (1);
--! v: key column k must not be NULL
SELECT count(*) FROM v_cells;
--= 0

-- # row-ids-and-the-command-column-are-not-for-updates
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER);
INSERT INTO v(rowid, k, a) VALUES (7, 'x', 1);
--! v: a row id cannot be given: the key identifies a row
INSERT INTO v VALUES ('x', 1);
UPDATE v SET rowid = 5;
--! v: the row id cannot be changed
UPDATE v SET v = 'reset';
--! v: commands are given by INSERT, not by UPDATE
SELECT * FROM v;
--= x|1

-- # last-insert-rowid-is-set
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER);
INSERT INTO v VALUES ('x', 1);
SELECT last_insert_rowid() = rowid, changes() FROM v;
--= 1|1

-- # insert-returning-echoes
--@ since 3.35
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER);
INSERT INTO v VALUES ('y', 1) RETURNING k, a;
--= y|1

-- # keys-follow-their-affinity
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO t VALUES (12, 1), ('12', 10), (12.0, 100);
SELECT k, typeof(k), n FROM t;
--= 12|text|11
--= 12.0|text|100
CREATE VIRTUAL TABLE i USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO i VALUES (12, 1), ('12', 10), (12.0, 100), ('x', 1000);
SELECT k, typeof(k), n FROM i;
--= 12|integer|111
--= x|text|1000
CREATE VIRTUAL TABLE r USING counter(k REAL PRIMARY KEY, n COUNTER);
INSERT INTO r VALUES (9007199254740993, 1), (9007199254740992, 10), ('9007199254740993', 100), (9007199254740992.0, 1000);
SELECT typeof(k), n FROM r;
--= real|1111
CREATE VIRTUAL TABLE b USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO b VALUES (12, 1), ('12', 10), (12.0, 100), (x'3132', 1000);
SELECT typeof(k), n FROM b;
--= integer|101
--= text|10
--= blob|1000
CREATE VIRTUAL TABLE c USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO c VALUES ('Abc', 1), ('aBC', 10);
SELECT * FROM c;
--= Abc|11

-- # delete-leaves-tombstones-and-an-insert-begins-the-next-life
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES ('x', 6, NULL), ('y', 1, 1);
UPDATE v SET a = a - 1 WHERE k = 'x';
DELETE FROM v WHERE k = 'x';
SELECT changes();
--= 1
SELECT * FROM v;
--= y|1|1
SELECT k, counter_json(a), counter_json(b) FROM v_cells WHERE k = 'x';
--= x|{"life":2}|{"life":2}
UPDATE v SET a = a + 3 WHERE k = 'x';
SELECT changes();
--= 0
DELETE FROM v WHERE k = 'x';
SELECT changes();
--= 0
INSERT INTO v VALUES ('x', 3, NULL);
INSERT OR IGNORE INTO v VALUES ('x', 3, NULL), ('z', 3, NULL);
SELECT changes();
--= 1
REPLACE INTO v VALUES ('x', 3, NULL);
SELECT * FROM v;
--= x|3|0
--= y|1|1
--= z|3|0

-- # replace-makes-the-counters-what-is-given
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
REPLACE INTO v VALUES ('x', 1);
INSERT OR REPLACE INTO v VALUES ('y', 2);
INSERT INTO v VALUES ('x', 10), ('y', 20);
REPLACE INTO v VALUES ('x', 1);
INSERT OR REPLACE INTO v VALUES ('y', 2);
INSERT INTO v(v) VALUES('optimize');
SELECT counter_json(n) LIKE '%"clock":3,"value":1}]}' FROM v_cells WHERE k = 'x';
--= 1
REPLACE INTO v VALUES ('x', 1);
INSERT INTO v(v) VALUES('optimize');
SELECT counter_json(n) LIKE '%"clock":3,"value":1}]}' FROM v_cells WHERE k = 'x';
--= 1
UPDATE OR REPLACE v SET n = n + 1;
SELECT * FROM v;
--= x|2
--= y|3

-- # or-ignore-skips-a-live-row-and-or-fail-or-abort-or-rollback-add-to-it
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT OR IGNORE INTO v VALUES ('x', 1);
INSERT OR FAIL INTO v VALUES ('x', 1);
INSERT OR ABORT INTO v VALUES ('x', 1);
INSERT OR ROLLBACK INTO v VALUES ('x', 1);
INSERT OR IGNORE INTO v VALUES ('x', 1);
SELECT * FROM v;
--= x|4

-- # or-fail-keeps-the-rows-before-and-or-rollback-ends-the-transaction
--@ not-utf-16
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v(v, k) VALUES('purge below', 'B');
INSERT OR FAIL INTO v VALUES ('a', 1), ('A', 1), ('b', 1);
--!~ v: the key ('A') is below a floor of the table*
SELECT * FROM v;
--= a|1
INSERT INTO v VALUES ('c', 1), ('five', 'five');
--! v: column n: a counter takes an INTEGER, not TEXT 'five'
SELECT * FROM v;
--= a|1
BEGIN;
INSERT INTO v VALUES ('d', 1);
INSERT OR ROLLBACK INTO v VALUES ('A', 1);
--!~ v: the key ('A') is below a floor of the table*
COMMIT;
--! cannot commit - no transaction is active
SELECT * FROM v;
--= a|1

-- # a-counter-deleted-alone-has-no-value-until-it-is-given-one
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES ('x', 1, 1);
INSERT INTO v(v, k) VALUES ('delete a', 'x');
INSERT INTO v(k, b) VALUES ('x', -6);
INSERT INTO v(k) VALUES ('x');
SELECT k, a, b FROM v;
--= x|NULL|-5
UPDATE v SET a = a + 1, b = b + 1;
UPDATE v SET a = NULL;
SELECT k, a, b FROM v;
--= x|NULL|-4
INSERT OR IGNORE INTO v VALUES ('x', 1, 100);
SELECT k, a, b FROM v;
--= x|NULL|-4
UPDATE v SET a = coalesce(a, 0) + 1, b = b + 1;
SELECT v.k, v.a, v.b, counter_json(v_cells.a) LIKE '{"life":3,%' FROM v JOIN v_cells USING (k);
--= x|1|-3|1
INSERT INTO v(v, k) VALUES ('delete a', 'x');
INSERT INTO v VALUES ('x', 7, 1);
SELECT * FROM v;
--= x|7|-2
INSERT INTO v(v, k) VALUES ('delete a', 'x');
REPLACE INTO v(k, b) VALUES ('x', 5);
SELECT * FROM v;
--= x|0|5
DELETE FROM v;
SELECT counter_json(a), counter_json(b) FROM v_cells;
--= {"life":8}|{"life":2}

-- # a-row-is-deleted-with-its-last-live-counter
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v(k, a) VALUES ('x', 1);
INSERT INTO v(v, k) VALUES ('delete a', 'x');
SELECT * FROM v;
INSERT OR IGNORE INTO v(k, b) VALUES ('x', 1);
SELECT * FROM v;
--= x|0|1

-- # overflow-is-an-error-and-changes-nothing
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES ('x', 9223372036854775807, 1);
INSERT INTO v VALUES ('x', 1, 1);
--! v: column a: integer overflow: 1 cannot be added
SELECT * FROM v;
--= x|9223372036854775807|1
UPDATE v SET a = a - 1, b = b + 1;
SELECT * FROM v;
--= x|9223372036854775806|2

-- # a-sum-that-leaves-the-range-is-an-error-when-it-is-read
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER);
INSERT INTO v VALUES ('x', 9223372036854775807);
UPDATE v_cells SET a = counter_inc(a, 1, x'0000000000000000000000000000000a');
SELECT * FROM v;
--! v: column a of ('x'): integer overflow: the counts of all files add up to more than 64 bits; INSERT a number of the other sign
SELECT k FROM v;
--= x
INSERT INTO v VALUES ('x', -5);
SELECT * FROM v;
--= x|9223372036854775803

-- # insert-select-from-the-same-table-ends
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES (1, 1), (2, 2);
INSERT INTO v SELECT k, n FROM v;
INSERT INTO v SELECT k + 10, n FROM v;
SELECT * FROM v;
--= 1|2
--= 2|4
--= 11|2
--= 12|4

-- # many-clients-add-up
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, a COUNTER, b COUNTER);
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO v SELECT i % 3, 1, -i FROM n;
SELECT * FROM v ORDER BY k;
--= 0|666|-666333
--= 1|667|-667000
--= 2|667|-667667

-- # what-sqlite-has-not-for-virtual-tables-is-an-error
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1) ON CONFLICT(k) DO UPDATE SET n = n + 1;
--! UPSERT not implemented for virtual table "v"
CREATE INDEX i ON v(k);
--! virtual tables may not be indexed
CREATE TRIGGER g AFTER INSERT ON v BEGIN SELECT 1; END;
--! cannot create triggers on virtual tables

-- # a-key-of-many-columns-is-found-again
CREATE VIRTUAL TABLE v USING counter(a INTEGER, b INTEGER, c INTEGER, d INTEGER, e INTEGER, f INTEGER,
g INTEGER, h INTEGER, i TEXT, n COUNTER, PRIMARY KEY(a, b, c, d, e, f, g, h, i));
INSERT INTO v VALUES(1, 2, 3, 4, 5, 6, 7, 8, 'x', 1), (1, 2, 3, 4, 5, 6, 7, 8, 'y', 2);
INSERT INTO v VALUES(1, 2, 3, 4, 5, 6, 7, 8, 'x', 10);
UPDATE v SET n = n + 100;
UPDATE v SET n = n + 100;
SELECT i, n FROM v;
--= x|211
--= y|202
DELETE FROM v WHERE i = 'x';
SELECT * FROM v;
--= 1|2|3|4|5|6|7|8|y|202

-- # what-a-file-has-counted-stays-in-range-as-the-sum-does
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO main.v VALUES('x', 9223372036854775807), ('y', -9223372036854775807);
SELECT table_name, rows_changed FROM counter_push('phone');
--= v|2
UPDATE phone.v SET n = 0;
SELECT table_name, rows_changed FROM counter_pull('phone');
--= v|2
SELECT * FROM main.v;
--= x|0
--= y|0
INSERT INTO main.v VALUES('x', 10);
--! v: column n: integer overflow: 10 cannot be added
UPDATE main.v SET n = 5 WHERE k = 'x';
--! v: column n: integer overflow: with the value 5, the count of this file would exceed 64 bits
UPDATE main.v SET n = n - 10 WHERE k = 'y';
--! v: column n: integer overflow: with the value -10, the count of this file would exceed 64 bits
UPDATE main.v SET n = n - 10 WHERE k = 'x';
INSERT INTO main.v VALUES('z', -9223372036854775807);
INSERT INTO phone.v VALUES('z', -9223372036854775807);
SELECT table_name, rows_changed FROM counter_pull('phone');
--= v|1
SELECT * FROM main.v WHERE k = 'z';
--! v: column n of ('z'): integer overflow: the counts of all files add up to more than 64 bits; INSERT a number of the other sign
INSERT INTO main.v VALUES('z', -1);
--! v: column n: integer overflow: -1 cannot be added
INSERT INTO main.v VALUES('z', 9223372036854775807);
SELECT * FROM main.v WHERE k <> 'y';
--= x|-10
--= z|-9223372036854775807

-- # a-key-may-have-many-columns
CREATE VIRTUAL TABLE v USING counter(a, b, c, d, e, f, g, h, n COUNTER, PRIMARY KEY(a, b, c, d, e, f, g, h));
CREATE VIRTUAL TABLE w USING counter(a, b, c, d, e, f, g, h, i, n COUNTER, PRIMARY KEY(a, b, c, d, e, f, g, h, i));
INSERT INTO v VALUES(1, 2, 3, 4, 5, 6, 7, 8, 1);
INSERT INTO w VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9, 1);
--@ reopen
UPDATE v SET n = n + 1;
UPDATE w SET n = n + 1;
INSERT INTO v VALUES(1, 2, 3, 4, 5, 6, 7, 8, 1);
INSERT INTO w VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9, 1);
SELECT v.*, w.* FROM v, w;
--= 1|2|3|4|5|6|7|8|3|1|2|3|4|5|6|7|8|9|3

-- # every-column-has-a-type-which-schema-tools-need
CREATE VIRTUAL TABLE v USING counter(k TEXT, j INTEGER, n COUNTER, m COUNTER, PRIMARY KEY(k, j));
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO v(k, j, n, request_id) VALUES('a', 1, 2, 'r');
SELECT count(DISTINCT m.name) > 8, group_concat(CASE c.type WHEN '' THEN m.name || '.' || c.name END)
  FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c WHERE m.type = 'table';
--= 1|NULL
