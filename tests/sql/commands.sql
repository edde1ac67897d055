-- INSERT INTO t(t, ...) VALUES('a command', ...).

-- # reset-starts-the-next-life-of-the-row
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 6, 7);
INSERT INTO v(v, k) VALUES('reset', 'x');
SELECT * FROM v;
--= x|0|0
INSERT INTO v(v, k, b) VALUES('reset', 'x', 5);
SELECT * FROM v;
--= x|0|5
SELECT counter_json(a), counter_json(b) LIKE '{"life":5,"value":5,%' FROM v_cells;
--= {"life":5,"value":0,"shards":[]}|1

-- # after-a-delete-reset-brings-the-row-back-and-the-old-sum-does-not-return
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 6);
DELETE FROM v;
INSERT INTO v(v, k, n) VALUES('reset', 'x', 6);
SELECT * FROM v;
--= x|6
INSERT INTO v VALUES('x', 6);
SELECT * FROM v;
--= x|12

-- # reset-makes-a-missing-row-in-life-3
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v(v, k, a) VALUES('reset', 'x', 4);
INSERT INTO v(v, k) VALUES('reset b', 'y');
SELECT * FROM v;
--= x|4|0
--= y|0|0
SELECT k, json_extract(counter_json(a), '$.life'), json_extract(counter_json(b), '$.life') FROM v_cells;
--= x|3|3
--= y|NULL|3

-- # reset-and-delete-of-one-counter
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 6, 7);
INSERT INTO v(v, k, a) VALUES('reset A', 'x', 1);
SELECT * FROM v;
--= x|1|7
INSERT INTO v(v, k) VALUES('delete b', 'x');
SELECT * FROM v;
--= x|1|NULL
INSERT INTO v(v, k) VALUES('delete b', 'x'), ('RESET B', 'x');
SELECT * FROM v;
--= x|1|0

-- # delete-of-a-missing-row-changes-nothing
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v(v, k) VALUES('delete n', 'x');
SELECT count(*) FROM v_cells;
--= 0

-- # delete-of-an-untouched-counter-gives-life-2
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v(k, a) VALUES('x', 1);
INSERT INTO v(v, k) VALUES('delete b', 'x');
SELECT counter_json(b) FROM v_cells;
--= {"life":2}

-- # commands-name-what-they-do-not-take
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 6, 7);
INSERT INTO v(v, k, b) VALUES('reset a', 'x', 1);
--! v: the command takes no value for column b
INSERT INTO v(v, k, a) VALUES('delete a', 'x', 1);
--! v: the command takes no value for column a
INSERT INTO v(v, k, a) VALUES('reset', 'x', 'five');
--! v: column a: a counter takes an INTEGER, not TEXT 'five'
INSERT INTO v(v, a) VALUES('reset', 1);
--! v: key column k must not be NULL
INSERT INTO v(v) VALUES('delete a');
--! v: key column k must not be NULL
INSERT INTO v(v, k) VALUES('reset c', 'x');
--! v: the command names 'c', which is not a counter
INSERT INTO v(v, k) VALUES('delete k', 'x');
--! v: the command names 'k', which is not a counter
INSERT INTO v(v, k) VALUES('delete', 'x');
--! v: unknown command TEXT 'delete'; the commands are 'integrity-check', 'optimize', 'add column <counter>', 'grant <id>', 'forget requests <n>', 'forget requests older than <n> days'; these delete counts: 'purge below', 'drop column <counter>', 'reset', 'reset <counter>', 'delete <counter>'
INSERT INTO v(v) VALUES(5);
--! v: unknown command INTEGER 5; the commands are 'integrity-check', 'optimize', 'add column <counter>', 'grant <id>', 'forget requests <n>', 'forget requests older than <n> days'; these delete counts: 'purge below', 'drop column <counter>', 'reset', 'reset <counter>', 'delete <counter>'
INSERT INTO v(v, k) VALUES('integrity-check', 'x');
--! v: integrity-check takes no value for column k
SELECT * FROM v;
--= x|6|7

-- # a-null-command-is-no-command
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v(v, k, n) VALUES(NULL, 'x', 1);
SELECT * FROM v;
--= x|1

-- # integrity-check-passes-on-a-sound-table
CREATE VIRTUAL TABLE v USING counter(k, j, a COUNTER, b COUNTER, PRIMARY KEY(k, j));
INSERT INTO v(v) VALUES('integrity-check');
INSERT INTO v VALUES('x', 1, 6, 7), ('y', 2, 1, NULL);
DELETE FROM v WHERE k = 'x';
INSERT INTO v(v) VALUES('integrity-check');

-- # integrity-check-names-a-malformed-cell
CREATE VIRTUAL TABLE v USING counter(k, j INTEGER, a COUNTER, b COUNTER, PRIMARY KEY(k, j));
INSERT INTO v VALUES('x', 1, 6, 7);
UPDATE v_cells SET b = x'c1';
INSERT INTO v(v) VALUES('integrity-check');
--! v: integrity-check: column b of ('x', 1): the cell is truncated

-- # reset-at-the-last-life-is-an-error
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 6);
INSERT INTO v(v) VALUES('optimize');
UPDATE v_cells SET n = x'c1ffffffff0f';
INSERT INTO v(v) VALUES('optimize');
INSERT INTO v(v, k) VALUES('reset', 'x');
--! v: column n of ('x'): the counter is in its last life, 4294967295
INSERT INTO v(v, k) VALUES('delete n', 'x');
--! v: column n of ('x'): the counter is in its last life, 4294967295
DELETE FROM v;
--! v: column n of ('x'): the counter is in its last life, 4294967295
UPDATE v SET n = n + 2;
SELECT * FROM v;
--= x|2

-- # a-view-of-the-table-does-not-stand-in-the-way-of-other-counters
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER, m COUNTER);
CREATE VIEW w AS SELECT k, n FROM v;
INSERT INTO v VALUES('a', 1, 2);
INSERT INTO v(v) VALUES('add column p');
INSERT INTO v(v) VALUES('drop column p'), ('drop column m');
INSERT INTO v(v) VALUES('add column p'), ('add column m');
INSERT INTO v(k, m, p) VALUES('a', 5, 6);
INSERT INTO counter_changes VALUES('v', x'', counter_change_of('{"tells":"column","name":"m","kind":"counter","generation":5}'), 0, '00000000-0000-0000-0000-00000000000a');
INSERT INTO counter_changes VALUES('v', x'', counter_change_of('{"tells":"column","name":"p","kind":"counter","generation":5}'), 0, '00000000-0000-0000-0000-00000000000a');
INSERT INTO counter_changes VALUES('v', x'', counter_change_of('{"tells":"column","name":"q","kind":"counter","generation":2}'), 0, '00000000-0000-0000-0000-00000000000a');
SELECT k, n, m, p FROM v;
--= a|1|0|0
SELECT * FROM w;
--= a|1
SELECT name, value FROM counter_state WHERE kind = 'counter';
--= m|5
--= p|5
--= q|2

-- # a-view-that-is-broken-refuses-a-drop-and-the-table-counts-on
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER, m COUNTER);
CREATE VIEW w AS SELECT * FROM nothere;
INSERT INTO v(v) VALUES('drop column m');
--! v: error in view w: no such table: main.nothere
INSERT INTO v VALUES('a', 1, 2);
SELECT * FROM v;
--= a|1|2
DROP VIEW w;
CREATE VIEW w AS SELECT m FROM v;
INSERT INTO v(v) VALUES('drop column m');
--! v: error in view w after rename: no such column: m
INSERT INTO v VALUES('a', 1, 2);
SELECT * FROM w;
--= 4
DROP VIEW w;
INSERT INTO v(v) VALUES('drop column m');
SELECT * FROM v;
--= a|2
