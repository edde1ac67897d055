-- counter_stats: what a connection has done.

-- # a-column-may-have-the-name-of-a-table-that-is-main-s
SELECT x.counter_stats, count(*) > 0 FROM (SELECT 7 AS counter_stats) AS x, counter_stats;
--= 7|1

-- # a-new-connection-has-done-nothing
SELECT figure, count FROM counter_stats;
--= increments|0
--= cells created|0
--= shards written|0
--= merges|0
--= cells changed|0
--= conflicts|0
--= shards refused|0
--= identity renewals|0
--= identity changes|0
--= write|0
--= read before write|0
--= read|0
SELECT count(*) FROM sqlite_master;
--= 0

-- # increments-are-counted-by-counter-and-row
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('a', 1, 2), ('b', 0, NULL);
INSERT INTO v(k, n) VALUES('a', 5);
UPDATE v SET n = n + 1, m = m + 0;
INSERT INTO v(v, k, n) VALUES('reset', 'a', 7);
SELECT figure, count FROM counter_stats WHERE figure IN ('increments', 'cells created', 'shards written');
--= increments|7
--= cells created|3
--= shards written|7

-- # functions-count-too
SELECT counter_value(counter_inc(counter_inc(NULL, 2, x'0000000000000000000000000000000a'), 3, x'0000000000000000000000000000000a'));
--= 5
SELECT counter_init() IS NOT NULL;
--= 1
SELECT counter_value(counter_dec(NULL));
--= -1
SELECT counter_inc(NULL, 'x');
--! counter_inc: n must be an INTEGER, not TEXT 'x'
SELECT figure, count FROM counter_stats WHERE figure IN ('increments', 'cells created');
--= increments|3
--= cells created|2

-- # what-was-refused-is-not-an-increment-and-what-was-rolled-back-is-one
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 9223372036854775807);
INSERT INTO v VALUES('a', 1);
--! v: column n: integer overflow: 1 cannot be added
INSERT INTO v VALUES('a', 1.5);
--! v: column n: a counter takes an INTEGER, not REAL 1.5
BEGIN;
INSERT INTO v VALUES('b', 1);
ROLLBACK;
SELECT figure, count FROM counter_stats WHERE figure IN ('increments', 'write');
--= increments|2
--= write|4

-- # merges-count-cells-those-that-change-and-the-shards-that-they-bring
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1), ('b', 1);
SELECT * FROM counter_push('phone');
--= v|2|2|0|created in phone, which was empty
INSERT INTO phone.v VALUES('a', 10), ('c', 10);
SELECT counter_stats_reset();
--= NULL
SELECT * FROM counter_pull('phone');
--= v|3|2|0|NULL
SELECT figure, count FROM counter_stats WHERE figure IN ('merges', 'cells changed', 'shards written', 'conflicts', 'increments');
--= increments|0
--= shards written|2
--= merges|3
--= cells changed|2
--= conflicts|0

-- # conflicts-are-counted
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
INSERT INTO counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
INSERT INTO counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 8, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT (SELECT count FROM counter_stats WHERE figure = 'conflicts') = (SELECT count(*) FROM counter_conflicts), (SELECT count(*) FROM counter_conflicts);
--= 1|1

-- # a-new-id-is-a-change-of-the-identity
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
SELECT counter_fork() IS NOT NULL;
--= 1
INSERT INTO v(v) VALUES('drop column m');
SELECT figure, count FROM counter_stats WHERE figure = 'identity changes';
--= identity changes|2

-- # rows-and-scans-are-counted
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
WITH RECURSIVE i(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM i WHERE i < 3000) INSERT INTO v SELECT i, 1 FROM i;
DELETE FROM v WHERE k = 1;
SELECT n FROM v WHERE k = 2;
--= 1
SELECT figure, count FROM counter_stats WHERE figure LIKE '%write%' OR figure LIKE 'read%';
--= write|3001
--= read before write|3001
--= read|2

-- # a-reset-forgets-all-of-it
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1);
SELECT counter_stats_reset();
--= NULL
SELECT total(count) FROM counter_stats;
--= 0.0

-- # a-reset-is-for-no-view-and-no-trigger
CREATE VIEW w AS SELECT counter_stats_reset() AS x;
SELECT x FROM w;
--!~ *unsafe use of counter_stats_reset()*
