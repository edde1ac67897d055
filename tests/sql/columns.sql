-- Counters that come and go: 'add column' and 'drop column'.

-- # a-command-that-fails-leaves-a-table-that-works
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE TABLE other(x);
CREATE VIEW w AS SELECT * FROM other;
DROP TABLE other;
INSERT INTO v VALUES('x', 1, 2);
INSERT INTO v(v) VALUES('drop column m');
--! v: error in view w: no such table: main.other
INSERT INTO v VALUES('x', 1, 2);
SELECT * FROM v;
--= x|2|4
DROP VIEW w;
INSERT INTO v(v) VALUES('drop column m');
SELECT * FROM v;
--= x|2

-- # views-and-triggers-over-the-table-follow
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE VIEW w AS SELECT k, n FROM v;
CREATE TABLE page(x);
CREATE TRIGGER counts AFTER INSERT ON page BEGIN INSERT INTO v(k, n) VALUES(new.x, 1); END;
INSERT INTO page VALUES('a');
INSERT INTO v(v) VALUES('drop column m');
INSERT INTO v(v) VALUES('add column m');
INSERT INTO v(v) VALUES('drop column m'), ('add column m');
INSERT INTO page VALUES('a');
SELECT * FROM w;
--= a|2
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO phone.v(v) VALUES('drop column m'), ('add column m'), ('drop column m'), ('add column m'), ('drop column m'), ('add column m');
INSERT INTO phone.v VALUES('a', 1, 1);
SELECT rows_changed FROM counter_pull('phone');
--= 1
SELECT * FROM v;
--= a|3|1
SELECT * FROM v_columns;
--= m|7
INSERT INTO phone.v(v) VALUES('drop column m');
SELECT rows_changed FROM counter_pull('phone');
--= 1
INSERT INTO phone.v(v) VALUES('add column m');
SELECT rows_changed FROM counter_pull('phone');
--= 0
INSERT INTO page VALUES('a');
SELECT * FROM w;
--= a|4
INSERT INTO v(v) VALUES('integrity-check');

-- # a-feed-renames-where-nothing-has-looked-at-the-table
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE VIEW w AS SELECT k, n FROM v;
INSERT INTO v(v) VALUES('drop column m');
--@ reopen
INSERT INTO counter_changes VALUES('v', x'', 'm', 3, NULL, 0, '00000000-0000-0000-0000-00000000000a');
--@ reopen
INSERT INTO counter_changes VALUES('v', x'', 'm', 5, NULL, 0, '00000000-0000-0000-0000-00000000000a');
--@ reopen
INSERT INTO counter_changes VALUES('v', x'', 'm', 6, NULL, 0, '00000000-0000-0000-0000-00000000000a');
--@ reopen
INSERT INTO counter_changes VALUES('v', counter_key('x'), 'm', 9, counter_inc(NULL, 7, x'0000000000000000000000000000000a'), 0, '00000000-0000-0000-0000-00000000000a');
SELECT * FROM v;
--= x|0|7
SELECT * FROM w;
--= x|0
SELECT * FROM v_columns;
--= m|9
INSERT INTO v(v) VALUES('integrity-check');

-- # there-is-nothing-to-reset-where-no-counter-is-left
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO counter_changes VALUES('v', x'', 'n', 2, NULL, 0, '00000000-0000-0000-0000-00000000000a');
INSERT INTO counter_changes VALUES('v', x'', 'm', 2, NULL, 0, '00000000-0000-0000-0000-00000000000a');
INSERT INTO v(v, k) VALUES('reset', 'x');
--! v: the table has no counter left: the command 'add column <counter>' adds one
SELECT count(*) FROM v_cells;
--= 0
SELECT * FROM v;
INSERT INTO v(v) VALUES('add column n');
SELECT * FROM v;

-- # a-damaged-list-of-columns-is-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
INSERT INTO v_columns VALUES('m', 2);
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: the stored cells say something else of column m
INSERT INTO v VALUES('x', 1, 1);
--! v: the stored table v_columns is damaged: the stored cells say something else of column m
INSERT INTO v(v) VALUES('integrity-check');
--! v: the stored table v_columns is damaged: the stored cells say something else of column m
UPDATE v_columns SET generation = 0;
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: it has a row that is no name and its generation
UPDATE v_columns SET generation = 4294967296;
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: it has a row that is no name and its generation
UPDATE v_columns SET generation = -1;
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: it has a row that is no name and its generation
UPDATE v_columns SET generation = 'three';
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: it has a row that is no name and its generation
UPDATE v_columns SET generation = 3.5;
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: it has a row that is no name and its generation
UPDATE v_columns SET generation = 3, name = x'6d';
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: it has a row that is no name and its generation
UPDATE v_columns SET name = 'other';
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: the stored cells say something else of column other
UPDATE v_columns SET name = 'M';
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: the stored cells say something else of column M
UPDATE v_columns SET name = 'rowid', generation = 2;
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: it has the name rowid
UPDATE v_columns SET name = 'k';
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: it has the key column k
UPDATE v_columns SET name = 'm', generation = 4294967295;
--@ reopen
SELECT * FROM v;
--= x|1|2
INSERT INTO v(v) VALUES('drop column m');
--! v: column m has been added and dropped 4294967295 times, which is the limit
SELECT * FROM v;
--= x|1|2

-- # a-list-of-columns-that-is-no-table-is-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
DROP TABLE v_columns;
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is missing
CREATE VIEW v_columns AS SELECT 'm' AS name, 3 AS generation;
--@ reopen
SELECT * FROM v;
--! v: v_columns is damaged: it is not an ordinary table but a view
DROP VIEW v_columns;
CREATE TABLE v_columns(name, generation AS (3));
--@ reopen
SELECT * FROM v;
--! v: v_columns is damaged: generated column generation
DROP TABLE v_columns;
CREATE TABLE v_columns(name);
--@ reopen
SELECT * FROM v;
--! v: no such column: generation
DROP TABLE v_columns;
CREATE TABLE v_columns(name, generation);
INSERT INTO v_columns VALUES('m', 3), ('m', 5);
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: it has twice the name m
DELETE FROM v_columns;
INSERT INTO v_columns VALUES('z', 2), ('Z', 4);
--@ reopen
SELECT * FROM v;
--! v: the stored table v_columns is damaged: the stored cells say something else of column z
DROP TABLE v;
--! v: the stored table v_columns is damaged: the stored cells say something else of column z

-- # a-source-with-a-damaged-list-of-columns-is-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 5);
INSERT INTO phone.v_columns VALUES('n', 2);
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the stored table v_columns is damaged: the stored cells say something else of column n
SELECT * FROM counter_pull('phone.db');
--! counter_pull: table v: the stored table v_columns is damaged: the stored cells say something else of column n
SELECT * FROM counter_push('phone');
--! counter_push: table v: the stored table v_columns is damaged: the stored cells say something else of column n
UPDATE phone.v_columns SET generation = 4294967297;
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the stored table v_columns is damaged: it has a row that is no name and its generation
UPDATE phone.v_columns SET generation = 'x';
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the stored table v_columns is damaged: it has a row that is no name and its generation
UPDATE phone.v_columns SET name = '_n', generation = 2;
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the stored table v_columns is damaged: it has the name _n
UPDATE phone.v_columns SET name = 'k';
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the stored table v_columns is damaged: it has the key column k
UPDATE phone.v_columns SET name = 'v';
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: column v cannot be added to a table of the name v: rename the table
DROP TABLE phone.v_columns;
SELECT * FROM counter_pull('phone.db');
--! counter_pull: table v: the stored table v_columns is missing
CREATE VIEW phone.v_columns AS SELECT 'm' AS name, 3 AS generation;
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: v_columns is damaged: it is not an ordinary table but a view
DROP VIEW phone.v_columns;
CREATE TABLE phone.v_columns(name, generation AS (2));
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: v_columns is damaged: generated column generation
SELECT * FROM v;
--= x|1
SELECT * FROM v_columns;

-- # a-pull-takes-no-more-columns-than-sqlite-has-room-for
CREATE TEMP TABLE list AS WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 996) SELECT i FROM i;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v(v) SELECT 'add column c' || i FROM list;
INSERT INTO v(k, n) VALUES('x', 1);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER, d COUNTER, e COUNTER);
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: column d cannot be added: the table has 999 columns, and more than 999 are too many for SQLite
SELECT k, n FROM v;
--= x|1
