-- The counter table, statement by statement.

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

-- # an-insert-needs-a-value
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v(k) VALUES ('x');
--! v: a row needs a value for at least one counter
INSERT INTO v VALUES ('x', NULL, NULL);
--! v: a row needs a value for at least one counter
SELECT count(*) FROM v_cells;
--= 0

-- # values-are-integers-even-under-or-ignore
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES ('x', 1, 'five');
--! v: column b: a counter takes an INTEGER, not TEXT 'five'
INSERT OR IGNORE INTO v VALUES ('x', 1.5, 1);
--! v: column a: a counter takes an INTEGER, not REAL 1.5
INSERT OR IGNORE INTO v VALUES ('x', '7', 1);
--! v: column a: a counter takes an INTEGER, not TEXT '7'
INSERT OR REPLACE INTO v VALUES ('x', x'07', 1);
--! v: column a: a counter takes an INTEGER, not BLOB x'07'
SELECT count(*) FROM v_cells;
--= 0

-- # a-null-key-is-a-mismatch-even-under-or-ignore
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, a COUNTER);
INSERT INTO v VALUES (NULL, 1);
--! v: key column k must not be NULL
INSERT OR IGNORE INTO v(a) VALUES (1);
--! v: key column k must not be NULL
SELECT count(*) FROM v_cells;
--= 0

-- # row-ids-and-markers-are-not-for-writing
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER);
INSERT INTO v(rowid, k, a) VALUES (7, 'x', 1);
--! v: the row id cannot be given, the key names a row
INSERT INTO v(k, a, _a) VALUES ('x', 1, 1);
--! v: column _a cannot be written
INSERT INTO v VALUES ('x', 1);
UPDATE v SET rowid = 5;
--! v: the row id cannot be changed
UPDATE v SET _a = 5;
--! v: column _a cannot be written
UPDATE v SET a = a + 1, _a = 0;
--! v: column _a cannot be written
UPDATE v SET a = 5, _a = 1;
--! v: column _a cannot be written
UPDATE v SET a = 5, _a = zeroblob(24);
--! v: column _a cannot be written
UPDATE v SET _k = 5;
--! v: column _k cannot be written
UPDATE v SET v = 'reset';
--! v: commands are given by INSERT
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

-- # delete-leaves-tombstones-and-they-refuse-inserts
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
--! v: the counter was deleted: ('x'); the command 'reset' starts its next life
INSERT OR IGNORE INTO v VALUES ('x', 3, NULL), ('z', 3, NULL);
SELECT changes();
--= 1
REPLACE INTO v VALUES ('x', 3, NULL);
--! v: REPLACE would wipe the counters of ('x'): INSERT adds to them, the command 'reset' starts their next life
SELECT * FROM v;
--= y|1|1
--= z|3|0

-- # replace-adds-to-no-row-and-is-refused-on-a-live-one
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
REPLACE INTO v VALUES ('x', 1);
INSERT OR REPLACE INTO v VALUES ('y', 2);
REPLACE INTO v VALUES ('x', 1);
--! v: REPLACE would wipe the counters of ('x'): INSERT adds to them, the command 'reset' starts their next life
INSERT OR REPLACE INTO v VALUES ('y', 2);
--! v: REPLACE would wipe the counters of ('y'): INSERT adds to them, the command 'reset' starts their next life
UPDATE OR REPLACE v SET n = n + 1;
SELECT * FROM v;
--= x|2
--= y|3

-- # or-ignore-or-fail-or-abort-or-rollback-add-to-a-live-row
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT OR IGNORE INTO v VALUES ('x', 1);
INSERT OR FAIL INTO v VALUES ('x', 1);
INSERT OR ABORT INTO v VALUES ('x', 1);
INSERT OR ROLLBACK INTO v VALUES ('x', 1);
INSERT OR IGNORE INTO v VALUES ('x', 1);
SELECT * FROM v;
--= x|5

-- # or-fail-keeps-the-rows-before-and-or-rollback-ends-the-transaction
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('gone', 1);
DELETE FROM v;
INSERT OR FAIL INTO v VALUES ('a', 1), ('gone', 1), ('b', 1);
--! v: the counter was deleted: ('gone'); the command 'reset' starts its next life
SELECT * FROM v;
--= a|1
INSERT INTO v VALUES ('c', 1), ('gone', 1);
--! v: the counter was deleted: ('gone'); the command 'reset' starts its next life
SELECT * FROM v;
--= a|1
BEGIN;
INSERT INTO v VALUES ('d', 1);
INSERT OR ROLLBACK INTO v VALUES ('gone', 1);
--! v: the counter was deleted: ('gone'); the command 'reset' starts its next life
COMMIT;
--! cannot commit - no transaction is active
SELECT * FROM v;
--= a|1

-- # a-counter-deleted-alone-has-no-value-in-a-row-that-lives
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES ('x', 1, 1);
INSERT INTO v(v, k) VALUES ('delete a', 'x');
INSERT INTO v(k, b) VALUES ('x', -6);
SELECT k, a, b FROM v;
--= x|NULL|-5
INSERT INTO v VALUES ('x', 1, 100);
--! v: the counter was deleted: column a of ('x'); the command 'reset a' starts its next life
INSERT OR IGNORE INTO v VALUES ('x', 1, 100);
SELECT * FROM v;
--= x|NULL|-5
UPDATE v SET a = a + 1, b = b + 1;
SELECT * FROM v;
--= x|NULL|-4
UPDATE v SET a = coalesce(a, 0) + 1;
--! v: the counter was deleted: column a of ('x'); the command 'reset a' starts its next life
UPDATE OR IGNORE v SET a = coalesce(a, 0) + 1, b = b + 1;
SELECT * FROM v;
--= x|NULL|-4
DELETE FROM v;
SELECT counter_json(a), counter_json(b) FROM v_cells;
--= {"life":2}|{"life":2}

-- # a-row-is-deleted-with-its-last-live-counter
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v(k, a) VALUES ('x', 1);
INSERT INTO v(v, k) VALUES ('delete a', 'x');
SELECT * FROM v;
INSERT INTO v(k, b) VALUES ('x', 1);
--! v: the counter was deleted: ('x'); the command 'reset' starts its next life

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
--! v: column a of ('x'): integer overflow: the sum of its shards; INSERT of the other sign helps
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
