-- Counters that come and go: 'add column' and 'drop column'.

-- # a-column-that-is-added-counts-like-any-other
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1), ('y', 2);
INSERT INTO v(v) VALUES('add column errors');
SELECT * FROM v;
--= x|1|0
--= y|2|0
INSERT INTO v VALUES('x', 10, 5);
INSERT INTO v(k, errors) VALUES('z', 7);
UPDATE v SET errors = errors + 1 WHERE k = 'y';
UPDATE v SET errors = errors - 2, n = n + 1 WHERE k = 'x';
SELECT * FROM v;
--= x|12|3
--= y|2|1
--= z|0|7
SELECT k FROM v WHERE errors > 2 ORDER BY k DESC;
--= z
--= x
UPDATE v SET errors = 5 WHERE k = 'z';
SELECT k, errors FROM v WHERE k = 'z';
--= z|5
INSERT INTO v(v) VALUES('add column "5xx ""errors""" COUNTER');
UPDATE v SET "5xx ""errors""" = "5xx ""errors""" + 100 WHERE k = 'z';
SELECT "5xx ""errors""" FROM v ORDER BY k;
--= 0
--= 0
--= 100
SELECT name, value FROM counter_state WHERE kind = 'counter' ORDER BY name;
--= 5xx "errors"|1
--= errors|1
INSERT INTO v(v) VALUES('ADD Column [third] counter');
SELECT name FROM pragma_table_xinfo('v') WHERE hidden = 0;
--= k
--= n
--= errors
--= 5xx "errors"
--= third
INSERT INTO v(v) VALUES('integrity-check');

-- # a-column-that-is-dropped-is-gone-with-its-values
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
INSERT INTO v(v) VALUES('drop column m');
SELECT * FROM v;
--= x|1
SELECT m FROM v;
--! no such column: m
INSERT INTO v(k, m) VALUES('x', 1);
--! table v has no column named m
INSERT INTO v VALUES('x', 1);
INSERT INTO v(v, k) VALUES('reset m', 'x');
--! v: the command names 'm', which is not a counter
SELECT * FROM v;
--= x|2
SELECT name, value FROM counter_state WHERE kind = 'counter';
--= m|2
SELECT name FROM pragma_table_xinfo('v_cells');
--= _id
--= k
--= n
--= _dropped_m
INSERT INTO v(v) VALUES('optimize');
SELECT count(*) FROM v_cells WHERE _dropped_m IS NOT NULL;
--= 0
INSERT INTO v(v) VALUES('integrity-check');

-- # a-name-that-is-added-again-begins-at-0
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2), ('y', 1, NULL);
INSERT INTO v(v) VALUES('drop column m');
INSERT INTO v(v) VALUES('add column m');
SELECT * FROM v;
--= x|1|0
--= y|1|0
UPDATE v SET m = m + 1;
SELECT * FROM v;
--= x|1|1
--= y|1|1
INSERT INTO v(v) VALUES('drop column m'), ('add column m');
SELECT * FROM v;
--= x|1|0
--= y|1|0
SELECT name, value FROM counter_state WHERE kind = 'counter';
--= m|5
SELECT name FROM pragma_table_xinfo('v_cells');
--= _id
--= k
--= n
--= m
INSERT INTO v(v) VALUES('integrity-check');

-- # columns-of-an-added-counter-are-reset-and-deleted
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1), ('y', 2);
INSERT INTO v(v) VALUES('add column m');
INSERT INTO v VALUES('x', 1, 5);
INSERT INTO v(v, k, m) VALUES('reset m', 'x', 3);
INSERT INTO v(v, k) VALUES('delete m', 'y');
SELECT * FROM v;
--= x|2|3
--= y|2|NULL
INSERT INTO v VALUES('y', 1, 1);
SELECT * FROM v;
--= x|2|3
--= y|3|1
INSERT INTO v(v, k) VALUES('reset', 'y');
SELECT * FROM v;
--= x|2|3
--= y|0|0
DELETE FROM v WHERE k = 'x';
SELECT * FROM v;
--= y|0|0
SELECT counter_json(n), counter_json(m) FROM v_cells WHERE k = 'x';
--= {"life":2}|{"life":4}
INSERT INTO v(v) VALUES('integrity-check');

-- # a-deleted-row-stays-deleted-when-a-column-is-added-until-it-is-inserted-again
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1), ('y', 2);
DELETE FROM v WHERE k = 'x';
INSERT INTO v(v) VALUES('add column m');
SELECT * FROM v;
--= y|2|0
INSERT INTO v VALUES('x', 1, NULL);
INSERT INTO v(k, m) VALUES('x', 1);
INSERT OR IGNORE INTO v(k, m) VALUES('x', 1), ('y', 1);
UPDATE v SET m = m + 1 WHERE k = 'x';
SELECT * FROM v;
--= x|1|2
--= y|2|0
INSERT INTO v(v, k) VALUES('reset', 'x');
SELECT * FROM v;
--= x|0|0
--= y|2|0

-- # a-row-whose-only-live-counter-was-dropped-disappears-until-it-is-inserted-again
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('live', 1, 1), ('untouched', NULL, 1), ('deleted', 1, 1), ('gone', 1, 1);
INSERT INTO v(v, k) VALUES('delete n', 'deleted');
DELETE FROM v WHERE k = 'gone';
INSERT INTO v(v) VALUES('drop column m');
SELECT * FROM v;
--= live|1
INSERT INTO v VALUES('deleted', 1);
INSERT INTO v VALUES('gone', 1);
INSERT INTO v VALUES('untouched', 5);
SELECT * FROM v;
--= live|1
--= untouched|5
--= deleted|1
--= gone|1
INSERT INTO v(v) VALUES('add column m');
SELECT * FROM v;
--= live|1|0
--= untouched|5|0
--= deleted|1|0
--= gone|1|0

-- # a-tombstone-goes-with-its-column
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
DELETE FROM v;
INSERT INTO v(v) VALUES('add column m');
INSERT INTO v(v) VALUES('drop column n');
SELECT * FROM v;
INSERT INTO v VALUES('x', 1);
SELECT * FROM v;
--= x|1

-- # a-floor-holds-for-columns-that-come-later
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (5, 1);
INSERT INTO v(v, k) VALUES('purge below', 3);
INSERT INTO v(v) VALUES('add column m');
INSERT INTO v VALUES(2, 1, 1);
--! v: the key (2) is below a floor of the table; see counter_floors('v')
INSERT INTO v VALUES(3, 1, 1);
SELECT * FROM v;
--= 5|1|0
--= 3|1|1

-- # what-cannot-be-added
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
INSERT INTO v(v) VALUES('add column n');
--! v: the counter n exists already
INSERT INTO v(v) VALUES('add column N');
--! v: the counter N is named n here: the same name in other letters
INSERT INTO v(v) VALUES('add column k');
--! v: column k is part of the key
INSERT INTO v(v) VALUES('add column "K"');
--! v: column K is part of the key
INSERT INTO v(v) VALUES('add column v');
--! v: column v has the name of the table, which is reserved for the command column
INSERT INTO v(v) VALUES('add column V');
--! v: column V has the name of the table, which is reserved for the command column
INSERT INTO v(v) VALUES('add column rowid');
--! v: column rowid: the names rowid, oid, request_id and those that begin with _ are reserved
INSERT INTO v(v) VALUES('add column oid');
--! v: column oid: the names rowid, oid, request_id and those that begin with _ are reserved
INSERT INTO v(v) VALUES('add column request_id');
--! v: column request_id: the names rowid, oid, request_id and those that begin with _ are reserved
INSERT INTO v(v) VALUES('add column _n');
--! v: column _n: the names rowid, oid, request_id and those that begin with _ are reserved
INSERT INTO v(v) VALUES('add column _dropped_n');
--! v: column _dropped_n: the names rowid, oid, request_id and those that begin with _ are reserved
INSERT INTO v(v) VALUES('add column ""');
--! v: column "": the names rowid, oid, request_id and those that begin with _ are reserved
INSERT INTO v(v) VALUES('add column ');
--! v: cannot read the declaration ''
INSERT INTO v(v) VALUES('add column');
--! v: unknown command TEXT 'add column'; the commands are 'integrity-check', 'optimize', 'add column <counter>', 'grant <id>', 'forget requests <n>', 'forget requests older than <n> days'; these delete counts: 'purge below', 'drop column <counter>', 'reset', 'reset <counter>', 'delete <counter>'
INSERT INTO v(v) VALUES('add column e TEXT');
--! v: column e: only a COUNTER can be added
INSERT INTO v(v) VALUES('add column e INTEGER COUNTER');
--! v: column e: the type COUNTER takes no other words
INSERT INTO v(v) VALUES('add column e COUNTER DEFAULT 5');
--! v: column e: a counter begins at 0, so its DEFAULT cannot be 5
INSERT INTO v(v) VALUES('add column e NOT');
--! v: cannot read the declaration 'e NOT'
INSERT INTO v(v) VALUES('add column e UNIQUE');
--! v: column e: UNIQUE is not possible in a counter table, which has only counters and their key
INSERT INTO v(v) VALUES('add column e COUNTER COLLATE NOCASE');
--! v: column e: a COUNTER is an integer and has no COLLATE
INSERT INTO v(v) VALUES('add column e COUNTER PRIMARY KEY');
--! v: column e: a COUNTER cannot be part of the PRIMARY KEY
INSERT INTO v(v) VALUES('add column e COUNTER, f COUNTER');
--! v: cannot read the declaration 'e'
INSERT INTO v(v) VALUES('add column e; DROP TABLE v');
--! v: cannot read the declaration 'e'
INSERT INTO v(v) VALUES('add column PRIMARY KEY (k)');
--! v: column PRIMARY: its type must be plain words, such as TEXT or VARCHAR(20)
INSERT INTO v(v) VALUES('add column "e');
--! v: cannot read the declaration '"e'
INSERT INTO v(v, k) VALUES('add column e', 'x');
--! v: add column e takes no value for column k
INSERT INTO v(v, n) VALUES('add column e', 1);
--! v: add column e takes no value for column n
INSERT INTO v(v, request_id) VALUES('add column e', 'r');
--! v: a request_id goes with an INSERT of a row, or with 'reset'; 'add column e' counts nothing
INSERT OR IGNORE INTO v(v) VALUES('add column n');
--! v: the counter n exists already
UPDATE v SET v = 'add column e';
--! v: commands are given by INSERT, not by UPDATE
SELECT * FROM v;
--= x|1|2
SELECT name, value FROM counter_state WHERE kind = 'counter';
INSERT INTO v(v) VALUES('add column e COUNTER NOT NULL DEFAULT 0');
INSERT INTO v(v) VALUES('add column f DEFAULT (0)');
SELECT * FROM v;
--= x|1|2|0|0
INSERT INTO v(v) VALUES('integrity-check');

-- # what-cannot-be-dropped
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
INSERT INTO v(v) VALUES('drop column k');
--! v: the command names 'k', which is not a counter
INSERT INTO v(v) VALUES('drop column v');
--! v: the command names 'v', which is not a counter
INSERT INTO v(v) VALUES('drop column e');
--! v: the command names 'e', which is not a counter
INSERT INTO v(v) VALUES('drop column _n');
--! v: the command names '_n', which is not a counter
INSERT INTO v(v) VALUES('drop column "n"');
--! v: the command names '"n"', which is not a counter
INSERT INTO v(v) VALUES('drop column ');
--! v: the command names '', which is not a counter
INSERT INTO v(v) VALUES('drop column n, m');
--! v: the command names 'n, m', which is not a counter
INSERT INTO v(v, k) VALUES('drop column n', 'x');
--! v: drop column n takes no value for column k
INSERT INTO v(v, m) VALUES('drop column n', 1);
--! v: drop column n takes no value for column m
INSERT INTO v(v, request_id) VALUES('drop column n', 'r');
--! v: a request_id goes with an INSERT of a row, or with 'reset'; 'drop column n' counts nothing
SELECT * FROM v;
--= x|1|2
INSERT INTO v(v) VALUES('DROP COLUMN M');
INSERT INTO v(v) VALUES('drop column m');
--! v: the command names 'm', which is not a counter
INSERT INTO v(v) VALUES('drop column n');
--! v: column n is the last counter: a counter table needs at least one
INSERT OR IGNORE INTO v(v) VALUES('drop column n');
--! v: column n is the last counter: a counter table needs at least one
INSERT INTO v(v) VALUES('add column M');
--! v: the counter M is named m here: the same name in other letters
SELECT * FROM v;
--= x|1
SELECT name, value FROM counter_state WHERE kind = 'counter';
--= m|2

-- # a-table-with-triggers-on-what-is-stored-keeps-its-columns
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
CREATE TRIGGER tr AFTER UPDATE ON v_cells BEGIN SELECT 1; END;
INSERT INTO v(v) VALUES('add column e');
--! v: the stored table v_cells has the trigger tr: drop it first
INSERT INTO v(v) VALUES('drop column m');
--! v: the stored table v_cells has the trigger tr: drop it first
DROP TRIGGER tr;
CREATE TEMP TRIGGER tr AFTER INSERT ON main.counter_state BEGIN SELECT 1; END;
INSERT INTO v(v) VALUES('add column e');
--! v: the stored table counter_state has the trigger tr: drop it first
DROP TRIGGER tr;
INSERT INTO v(v) VALUES('add column e');
SELECT * FROM v;
--= x|1|2|0

-- # a-statement-that-alters-takes-back-all-of-itself
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
INSERT INTO v(v) VALUES('add column a'), ('add column b'), ('drop column n'), ('add column A');
--! v: the counter A is named a here: the same name in other letters
SELECT * FROM v;
--= x|1
BEGIN;
INSERT INTO v VALUES('x', 1);
INSERT INTO v(v) VALUES('add column a'), ('drop column n'), ('drop column c');
--! v: the command names 'c', which is not a counter
INSERT INTO v VALUES('x', 1);
INSERT INTO v(v, k, n) VALUES('add column a', NULL, NULL), (NULL, 'y', 1);
--! v: this statement has added or dropped a column and cannot count any more
INSERT INTO v(v, k, n) VALUES('add column a', NULL, NULL), ('reset', 'x', NULL);
--! v: this statement has added or dropped a column and cannot count any more
COMMIT;
SELECT * FROM v;
--= x|3
SELECT count(*) FROM counter_state;
--= 0
INSERT INTO v(v) VALUES('add column a'), ('add column b'), ('drop column n'), ('add column c');
INSERT INTO v(k, c) VALUES('x', 1);
SELECT * FROM v;
--= x|0|0|1
INSERT INTO v(v) VALUES('integrity-check');

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

-- # transactions-take-columns-back
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
CREATE TEMP TABLE before AS SELECT counter_id() AS id;
BEGIN;
INSERT INTO v VALUES('x', 10, 20);
INSERT INTO v(v) VALUES('add column e');
INSERT INTO v VALUES('x', 100, 200, 300);
SELECT * FROM v;
--= x|111|222|300
INSERT INTO v(v) VALUES('drop column m');
INSERT INTO v VALUES('x', 1000, 3000);
SELECT * FROM v;
--= x|1111|3300
ROLLBACK;
SELECT * FROM v;
--= x|1|2
SELECT counter_id() = id FROM before;
--= 1
INSERT INTO v VALUES('x', 1, 1);
BEGIN;
INSERT INTO v VALUES('x', 10, 20);
SAVEPOINT one;
INSERT INTO v(v) VALUES('drop column m');
INSERT INTO v VALUES('x', 100);
SAVEPOINT two;
INSERT INTO v(v) VALUES('add column m');
INSERT INTO v VALUES('x', 100, 100);
ROLLBACK TO two;
SELECT * FROM v;
--= x|112
INSERT INTO v VALUES('x', 100);
ROLLBACK TO one;
SELECT * FROM v;
--= x|12|23
INSERT INTO v VALUES('x', 0, 5);
INSERT INTO v(v) VALUES('add column e');
INSERT INTO v(k, e) VALUES('x', 9);
COMMIT;
SELECT * FROM v;
--= x|12|28|9
SELECT counter_id() = id FROM before;
--= 1
SELECT name, value FROM counter_state WHERE kind = 'counter';
--= e|1
INSERT INTO v(v) VALUES('integrity-check');

-- # who-drops-a-column-takes-another-id
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE TEMP TABLE before AS SELECT counter_id() AS id;
INSERT INTO v VALUES('x', 1, 2);
INSERT INTO v(v) VALUES('add column e');
SELECT counter_id() = id FROM before;
--= 1
INSERT INTO v(v) VALUES('drop column m');
SELECT counter_id() = id FROM before;
--= 0
INSERT INTO v(k, n) VALUES('x', 1);
INSERT INTO v(v) VALUES('optimize');
SELECT count(*) FROM v_cells, counter_shards(n);
--= 2

-- # a-named-file-keeps-its-id
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
INSERT INTO v(v) VALUES('drop column m'), ('add column m');
INSERT INTO v VALUES('x', 1, 3);
SELECT counter_id(), n, m FROM v;
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93|2|3
INSERT INTO v(v) VALUES('optimize');
SELECT clock, value FROM v_cells, counter_shards(m);
--= 1|3

-- # another-connection-follows
--@ connection main
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
--@ connection other
SELECT * FROM v;
--= x|1|2
INSERT INTO v VALUES('x', 1, 1);
--@ connection main
INSERT INTO v(v) VALUES('add column e');
--@ connection other
INSERT INTO v(k, n, m, e) VALUES('x', 1, 1, 1);
SELECT * FROM v;
--= x|3|4|1
INSERT INTO v(v) VALUES('drop column m');
--@ connection main
SELECT * FROM v;
--= x|3|1
INSERT INTO v(k, m) VALUES('x', 1);
--! table v has no column named m
INSERT INTO v(k, e) VALUES('x', 1);
INSERT INTO v(v) VALUES('add column m');
--@ connection other
SELECT * FROM v;
--= x|3|0|2
UPDATE v SET m = m + 5, n = n + 1;
SELECT * FROM v;
--= x|4|5|2
--@ connection main
BEGIN;
INSERT INTO v(v) VALUES('drop column e');
--@ connection other
SELECT * FROM v;
--= x|4|5|2
INSERT INTO v(v) VALUES('drop column m');
--! database is locked
--@ connection main
COMMIT;
--@ connection other
SELECT * FROM v;
--= x|4|5

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
SELECT name, value FROM counter_state WHERE kind = 'counter';
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
INSERT INTO counter_changes VALUES('v', x'', counter_change_of('{"tells":"column","name":"m","kind":"counter","generation":3}'), 0, '00000000-0000-0000-0000-00000000000a');
--@ reopen
INSERT INTO counter_changes VALUES('v', x'', counter_change_of('{"tells":"column","name":"m","kind":"counter","generation":5}'), 0, '00000000-0000-0000-0000-00000000000a');
--@ reopen
INSERT INTO counter_changes VALUES('v', x'', counter_change_of('{"tells":"column","name":"m","kind":"counter","generation":6}'), 0, '00000000-0000-0000-0000-00000000000a');
--@ reopen
INSERT INTO counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"m","kind":"counter","generation":9,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 0, '00000000-0000-0000-0000-00000000000a');
SELECT * FROM v;
--= x|0|7
SELECT * FROM w;
--= x|0
SELECT name, value FROM counter_state WHERE kind = 'counter';
--= m|9
INSERT INTO v(v) VALUES('integrity-check');

-- # a-table-that-was-renamed-keeps-its-columns
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
INSERT INTO v(v) VALUES('drop column m'), ('add column e');
INSERT INTO v VALUES('x', 1, 1);
ALTER TABLE v RENAME TO w;
SELECT * FROM w;
--= x|2|1
SELECT name, value FROM counter_state WHERE kind = 'counter' ORDER BY name;
--= e|1
--= m|2
INSERT INTO w(w) VALUES('add column m');
INSERT INTO w(w) VALUES('add column w');
--! w: column w has the name of the table, which is reserved for the command column
INSERT INTO w(w) VALUES('add column v');
INSERT INTO w VALUES('x', 1, 1, 1, 1);
SELECT * FROM w;
--= x|3|1|2|1
ALTER TABLE w RENAME TO v;
--! w: the table cannot have the name v: it has the column v
ALTER TABLE w RENAME TO m;
--! w: the table cannot have the name m: it has the column m
INSERT INTO w(w) VALUES('drop column v');
ALTER TABLE w RENAME TO _m;
INSERT INTO _m(_m) VALUES('add column x');
ALTER TABLE _m RENAME TO v;
INSERT INTO v(v) VALUES('drop column x');
INSERT INTO v(v) VALUES('add column v');
--! v: column v has the name of the table, which is reserved for the command column
SELECT * FROM v;
--= x|3|1|2
INSERT INTO v(v) VALUES('integrity-check');
DROP TABLE v;
SELECT name FROM sqlite_master WHERE name LIKE 'v%' OR name LIKE 'w%';

-- # other-schemas-and-copies-have-columns-of-their-own
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.t USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v(v) VALUES('add column p');
INSERT INTO temp.t(t) VALUES('add column q');
INSERT INTO phone.v VALUES('x', 1, 2);
INSERT INTO t VALUES('x', 3, 4);
INSERT INTO t(t) VALUES('drop column n');
SELECT * FROM main.v;
SELECT k, n, p FROM phone.v;
--= x|1|2
SELECT * FROM t;
--= x|4
VACUUM phone INTO 'copy.db';
ATTACH 'copy.db' AS copy;
INSERT INTO phone.v(v) VALUES('drop column p');
SELECT * FROM copy.v;
--= x|1|2
INSERT INTO copy.v VALUES('x', 1, 1);
SELECT * FROM counter_pull('copy');
--= v|1|1|0|NULL
SELECT * FROM v;
--= x|2|3
INSERT INTO copy.v(v) VALUES('drop column n'), ('add column n');
SELECT * FROM counter_pull('copy');
--= v|1|1|0|NULL
SELECT * FROM counter_pull('phone');
--= v|1|1|0|NULL
SELECT * FROM v;
SELECT name, value FROM main.counter_state WHERE kind = 'counter';
--= n|3
--= p|2

-- # the-table-of-an-added-column-may-be-read-while-it-is-added
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1), ('b', 2);
INSERT INTO v(v) SELECT 'add column ' || k FROM v;
SELECT * FROM v;
--= a|1|0|0
--= b|2|0|0
INSERT INTO v(v) SELECT 'drop column ' || k FROM v;
SELECT * FROM v;
--= a|1
--= b|2

-- # a-trigger-may-add-a-column
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE wanted(name);
CREATE TRIGGER adds AFTER INSERT ON wanted BEGIN INSERT INTO v(v) VALUES('add column ' || new.name); END;
INSERT INTO wanted VALUES('a');
INSERT INTO wanted VALUES('b'), ('c');
INSERT INTO wanted VALUES('d'), ('a');
--! v: the counter a exists already
INSERT INTO v VALUES('x', 1, 2, 3, 4);
SELECT * FROM v;
--= x|1|2|3|4

-- # a-cluster-leaves-its-columns-to-the-replicas
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main phone', write=ALL, read=ALL);
INSERT INTO c(c) VALUES('add column m');
--! c: 'add column m' is a command for the table of one replica; counter_sync merges it into the others
INSERT INTO c(c) VALUES('drop column n');
--! c: 'drop column n' is a command for the table of one replica; counter_sync merges it into the others

-- # old-counts-of-a-name-do-not-return
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
ATTACH 'phone.db' AS phone;
ATTACH 'third.db' AS third;
INSERT INTO v VALUES('x', 1, 2);
SELECT rows_changed FROM counter_push('phone');
--= 1
SELECT rows_changed FROM counter_push('third');
--= 1
INSERT INTO third.v VALUES('x', 10, 20);
INSERT INTO phone.v VALUES('x', 100, 200);
INSERT INTO v(v) VALUES('drop column m'), ('add column m');
INSERT INTO v(k, m) VALUES('x', 5);
SELECT * FROM v;
--= x|1|5
SELECT rows_changed FROM counter_pull('phone');
--= 1
SELECT * FROM v;
--= x|101|5
SELECT rows_changed FROM counter_push('phone');
--= 2
SELECT * FROM phone.v;
--= x|101|5
SELECT rows_changed FROM counter_sync('third');
--= 3
SELECT * FROM v;
--= x|111|5
SELECT * FROM third.v;
--= x|111|5
SELECT rows_changed FROM counter_sync('phone');
--= 1
SELECT counter_table_digest('v') = counter_table_digest('v', 'third'), counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1|1
SELECT name, value FROM phone.counter_state WHERE kind = 'counter' UNION ALL SELECT name, value FROM third.counter_state WHERE kind = 'counter';
--= m|3
--= m|3

-- # a-feed-of-an-older-generation-brings-nothing-back
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
CREATE TEMP TABLE old AS SELECT * FROM counter_changes(0);
INSERT INTO v(v) VALUES('drop column m');
CREATE TEMP TABLE dropped AS SELECT * FROM counter_changes(0);
INSERT INTO v(v) VALUES('add column m');
INSERT INTO v(k, m) VALUES('x', 5);
SELECT length(key), column_name, generation, value, seq > 0 FROM counter_changes(0) AS f, counter_change(f.change) AS c;
--= 0|m|3|NULL|1
--= 4|m|3|5|1
--= 4|n|1|1|1
INSERT INTO counter_changes SELECT * FROM old;
SELECT * FROM v;
--= x|1|5
INSERT INTO counter_changes SELECT * FROM dropped;
SELECT * FROM v;
--= x|1|5
SELECT column_name, generation, cell IS NULL, length(key) FROM dropped, counter_change(dropped.change) AS c;
--= m|2|1|0
--= n|1|0|4
INSERT INTO v(v) VALUES('integrity-check');

-- # a-feed-adds-and-drops-counters
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
INSERT INTO v(v) VALUES('add column m');
INSERT INTO v VALUES('x', 1, 5), ('y', 1, NULL);
CREATE TEMP TABLE feed AS SELECT rowid AS n, table_name AS t, key AS k, change AS c, seq AS q, source AS s FROM counter_changes(0);
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO counter_changes SELECT t, k, counter_change_of('{"tells":"row","columns":[{"name":"m","kind":"counter","generation":1,"cell":' || counter_json(cell) || '}]}'), q, s FROM feed, counter_change(c) AS told WHERE column_name = 'm' AND cell IS NOT NULL;
SELECT * FROM v;
--= x|0|5
SELECT name, value FROM counter_state WHERE kind = 'counter';
--= m|1
INSERT INTO counter_changes SELECT t, k, c, q, s FROM feed ORDER BY n DESC;
INSERT INTO counter_changes SELECT t, k, c, q, s FROM feed;
SELECT * FROM v;
--= x|2|5
--= y|1|0
INSERT INTO counter_changes SELECT t, x'', counter_change_of('{"tells":"column","name":"n","kind":"counter","generation":2}'), 0, s FROM feed LIMIT 1;
SELECT * FROM v;
--= x|5
INSERT INTO counter_changes SELECT t, k, c, q, s FROM feed;
SELECT * FROM v;
--= x|5
INSERT INTO counter_changes SELECT t, x'', counter_change_of('{"tells":"column","name":"later","kind":"counter","generation":2}'), 0, s FROM feed LIMIT 1;
SELECT name, value FROM counter_state WHERE kind = 'counter' ORDER BY name;
--= later|2
--= m|1
--= n|2
INSERT INTO counter_changes SELECT t, k, counter_change_of(replace(counter_change_json(c), '"name":"n","kind":"counter","generation":1', '"name":"n","kind":"counter","generation":3')), q, s FROM feed WHERE length(k) > 0;
SELECT * FROM v;
--= x|2|5
--= y|1|0
INSERT INTO counter_changes SELECT t, x'', counter_change_of('{"tells":"column","name":"k","kind":"counter","generation":1}'), 0, s FROM feed LIMIT 1;
--! counter_changes: table v: column k is part of the key
INSERT INTO counter_changes SELECT t, x'', counter_change_of('{"tells":"column","name":"v","kind":"counter","generation":1}'), 0, s FROM feed LIMIT 1;
--! counter_changes: table v: column v cannot be added to a table of the same name: rename the table
INSERT INTO counter_changes SELECT t, x'', counter_change_of('{"tells":"column","name":"M","kind":"counter","generation":4}'), 0, s FROM feed LIMIT 1;
--! counter_changes: table v: the counter is spelled m here: the tables differ
INSERT INTO counter_changes SELECT t, x'', counter_change_of('{"tells":"column","name":"rowid","kind":"counter","generation":1}'), 0, s FROM feed LIMIT 1;
--! counter_changes: table v: no column can have the name 'rowid'
INSERT INTO counter_changes SELECT t, x'', counter_change_of('{"tells":"column","name":"m","kind":"counter","generation":4294967295}'), 0, s FROM feed LIMIT 1;
INSERT INTO v(v) VALUES('drop column m');
--! v: column m was added and dropped 4294967295 times, which is the limit
SELECT name, value FROM counter_state WHERE kind = 'counter' ORDER BY name;
--= later|2
--= m|4294967295
--= n|3
INSERT INTO v(v) VALUES('integrity-check');

-- # a-feed-that-alters-is-taken-back-whole
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
BEGIN;
INSERT INTO v VALUES('x', 1);
SAVEPOINT s;
INSERT INTO counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"m","kind":"counter","generation":3,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 0, '00000000-0000-0000-0000-00000000000a');
SELECT * FROM v;
--= x|2|7
ROLLBACK TO s;
SELECT * FROM v;
--= x|2
INSERT INTO counter_changes VALUES('v', counter_key('x'), x'010001016D01010100', 0, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: the change: column m has no well-formed cell
INSERT INTO counter_changes VALUES('v', counter_key('x', 'y'), counter_change_of('{"tells":"row","columns":[{"name":"m","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 0, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: the key has 2 values and the key of the table 1: the tables differ
SELECT * FROM v;
--= x|2
INSERT INTO counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"m","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 0, '00000000-0000-0000-0000-00000000000a');
INSERT INTO v VALUES('x', 1, 1);
COMMIT;
SELECT * FROM v;
--= x|3|8
SELECT name, value FROM counter_state WHERE kind = 'counter';
--= m|1

-- # concurrent-drops-leave-a-table-without-counters-until-one-is-added
--@ not-utf-16
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
ATTACH 'third.db' AS third;
INSERT INTO v VALUES('x', 1, 2);
INSERT INTO phone.v VALUES('x', 10, 20), ('y', 1, 1);
DELETE FROM phone.v WHERE k = 'y';
INSERT INTO v(v) VALUES('drop column a');
INSERT INTO phone.v(v) VALUES('drop column b');
SELECT * FROM counter_sync('phone');
--= v|3|3|0|NULL
SELECT * FROM v;
SELECT count(*) FROM phone.v;
--= 0
SELECT * FROM v WHERE k = 'x';
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1
SELECT * FROM counter_digests('v', 1);
--= 0/1|0|1549c425-2b11-507b-9936-c899df26653d
SELECT table_name, length(key), column_name, generation, cell, seq > 0 FROM counter_changes(0) AS f, counter_change(f.change) AS c;
--= v|0|a|2|NULL|1
--= v|0|b|2|NULL|1
INSERT INTO v(v) VALUES('integrity-check');
SELECT * FROM counter_size('v');
--= 1|0|0|0|1|0.0|0|0|0
SELECT * FROM counter_ids('v');
INSERT INTO v VALUES('x');
--! v: the table has no counter left: the command 'add column <counter>' adds one
INSERT INTO v(k) VALUES('x');
--! v: the table has no counter left: the command 'add column <counter>' adds one
INSERT INTO v(v, k) VALUES('reset', 'x');
--! v: the table has no counter left: the command 'add column <counter>' adds one
INSERT INTO v(v, k) VALUES('reset a', 'x');
--! v: the command names 'a', which is not a counter
INSERT INTO v(v, k) VALUES('purge below', 'b');
INSERT INTO v(v) VALUES('drop column a');
--! v: the command names 'a', which is not a counter
UPDATE v SET k = k;
DELETE FROM v;
SELECT * FROM counter_pull('phone');
--= v|0|0|0|NULL
SELECT * FROM counter_push('phone');
--= v|0|0|0|NULL
SELECT * FROM counter_push('third');
--= v|1|0|0|created in third, which was empty
SELECT name, value FROM third.counter_state WHERE kind = 'counter' ORDER BY name;
--= a|2
--= b|2
SELECT * FROM third.v;
--@ reopen
SELECT * FROM v;
INSERT INTO v(v) VALUES('add column a');
INSERT INTO v VALUES('y', 1);
ATTACH 'phone.db' AS phone;
ATTACH 'third.db' AS third;
INSERT INTO third.v(v) VALUES('add column c');
INSERT INTO third.v VALUES('z', 5);
SELECT rows_changed FROM counter_sync('phone');
--= 1
SELECT rows_changed FROM counter_sync('third');
--= 2
SELECT * FROM v;
--= y|1|0
--= z|0|5
SELECT * FROM phone.v;
--= y|1
SELECT k, a, c FROM third.v;
--= z|0|5
--= y|1|0
SELECT counter_table_digest('v') = counter_table_digest('v', 'third');
--= 1
INSERT INTO third.v(v) VALUES('integrity-check');

-- # there-is-nothing-to-reset-where-no-counter-is-left
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO counter_changes VALUES('v', x'', counter_change_of('{"tells":"column","name":"n","kind":"counter","generation":2}'), 0, '00000000-0000-0000-0000-00000000000a');
INSERT INTO counter_changes VALUES('v', x'', counter_change_of('{"tells":"column","name":"m","kind":"counter","generation":2}'), 0, '00000000-0000-0000-0000-00000000000a');
INSERT INTO v(v, k) VALUES('reset', 'x');
--! v: the table has no counter left: the command 'add column <counter>' adds one
SELECT count(*) FROM v_cells;
--= 0
SELECT * FROM v;
INSERT INTO v(v) VALUES('add column n');
SELECT * FROM v;

-- # what-is-counted-in-a-column-that-another-file-drops-is-gone
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
ATTACH 'phone.db' AS phone;
INSERT INTO v VALUES('x', 1, 2);
SELECT rows_changed FROM counter_push('phone');
--= 1
INSERT INTO v(v) VALUES('drop column m');
INSERT INTO phone.v VALUES('x', 10, 20), ('y', NULL, 5);
SELECT rows_changed FROM counter_pull('phone');
--= 1
SELECT * FROM v;
--= x|11
SELECT rows_changed FROM counter_push('phone');
--= 2
SELECT * FROM phone.v;
--= x|11
INSERT INTO phone.v(k, m) VALUES('x', 1);
--! table phone.v has no column named m
INSERT INTO phone.v VALUES('x', 1);
SELECT rows_changed FROM counter_pull('phone');
--= 1
SELECT * FROM v;
--= x|12
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1

-- # one-name-added-in-two-files-is-one-counter
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v(v) VALUES('add column m');
INSERT INTO phone.v(v) VALUES('add column other'), ('add column m');
INSERT INTO v(k, m) VALUES('x', 1);
INSERT INTO phone.v(k, m, other) VALUES('x', 10, 100);
SELECT rows_changed FROM counter_sync('phone');
--= 2
SELECT k, n, m, other FROM v;
--= x|0|11|100
SELECT k, n, m, other FROM phone.v;
--= x|0|11|100
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1
INSERT INTO v(v) VALUES('drop column m'), ('add column m');
INSERT INTO phone.v(v) VALUES('drop column m'), ('add column m');
INSERT INTO v(k, m) VALUES('x', 2);
INSERT INTO phone.v(k, m) VALUES('x', 20);
SELECT rows_changed FROM counter_sync('phone');
--= 2
SELECT k, m FROM v;
--= x|22
SELECT k, m FROM phone.v;
--= x|22

-- # a-name-in-other-letters-is-refused-by-whoever-takes
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v(v) VALUES('add column Errors');
INSERT INTO phone.v(v) VALUES('add column errors'), ('drop column errors');
INSERT INTO phone.v VALUES('x', 5);
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the tables differ in the spelling of a counter: the giving file has errors, the taking file has Errors
SELECT * FROM counter_push('phone');
--! counter_push: table v: the tables differ in the spelling of a counter: the giving file has Errors, the taking file has errors
SELECT * FROM counter_sync('phone');
--! counter_sync: table v: the tables differ in the spelling of a counter: the giving file has errors, the taking file has Errors
SELECT * FROM v;
--= x|1|0
SELECT * FROM phone.v;
--= x|5

-- # a-delete-does-not-reach-a-column-that-it-did-not-know
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'phone.db' AS phone;
INSERT INTO v VALUES('x', 1);
SELECT rows_changed FROM counter_push('phone');
--= 1
INSERT INTO v(v) VALUES('add column m');
INSERT INTO v VALUES('x', NULL, 5);
DELETE FROM phone.v;
SELECT rows_changed FROM counter_sync('phone');
--= 2
SELECT * FROM v;
--= x|NULL|5
SELECT * FROM phone.v;
--= x|NULL|5

-- # a-pull-by-marks-brings-columns-without-rows
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
ATTACH 'phone.db' AS phone;
SELECT rows_changed FROM counter_push('phone');
--= 1
SELECT rows_changed FROM counter_push('phone');
--= 0
INSERT INTO v(v) VALUES('add column m'), ('add column e');
SELECT * FROM counter_push('phone');
--= v|0|0|0|NULL
SELECT * FROM phone.v;
--= x|1|0|0
INSERT INTO v(v) VALUES('drop column n');
SELECT rows_changed FROM counter_push('phone');
--= 1
SELECT * FROM phone.v;
SELECT rows_changed FROM counter_push('phone');
--= 0
SELECT * FROM counter_pull('phone', 'full');
--= v|1|0|0|NULL
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1

-- # digests-tell-generations-apart
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, NULL);
CREATE TEMP TABLE was AS SELECT counter_table_digest('v') AS d;
INSERT INTO v(v) VALUES('add column e');
SELECT counter_table_digest('v') = d FROM was;
--= 1
INSERT INTO v(v) VALUES('drop column m');
SELECT counter_table_digest('v') = d FROM was;
--= 0
INSERT INTO v(v) VALUES('add column m');
SELECT counter_table_digest('v') = d FROM was;
--= 0

-- # a-table-that-only-the-source-has-comes-with-its-generations
CREATE TABLE something(x);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO phone.v(v) VALUES('drop column n'), ('add column e'), ('drop column m'), ('add column m');
INSERT INTO phone.v VALUES('x', 1, 2);
SELECT k, e, m FROM phone.v;
--= x|2|1
SELECT * FROM counter_pull('phone');
--= v|1|1|0|created in main
SELECT k, e, m FROM v;
--= x|2|1
SELECT name, value FROM counter_state WHERE kind = 'counter' ORDER BY name;
--= e|1
--= m|3
--= n|2
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1
-- its feed brings them on, before anybody counts in them
SELECT column_name, generation FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE key = x'' ORDER BY 1;
--= e|1
--= m|3
--= n|2

-- # the-generation-of-the-first-counter-comes-with-its-table
CREATE TABLE something(x);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v(v) VALUES('add column e'), ('drop column n');
INSERT INTO phone.v VALUES('x', 5);
SELECT * FROM counter_pull('phone');
--= v|1|1|0|created in main
SELECT name, value FROM counter_state WHERE kind = 'counter' ORDER BY name;
--= e|1
--= n|2
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1

-- # a-damaged-list-of-columns-is-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
INSERT INTO counter_state(tab, kind, name, value) VALUES(1, 'counter', 'm', 2);
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it contradicts the stored cells about column m
INSERT INTO v VALUES('x', 1, 1);
--! v: the stored table counter_state is damaged: it contradicts the stored cells about column m
INSERT INTO v(v) VALUES('integrity-check');
--! v: the stored table counter_state is damaged: it contradicts the stored cells about column m
UPDATE counter_state SET value = 0;
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it has a row that is not a name and a generation
UPDATE counter_state SET value = 4294967296;
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it has a row that is not a name and a generation
UPDATE counter_state SET value = -1;
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it has a row that is not a name and a generation
UPDATE counter_state SET value = 'three';
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it has a row that is not a name and a generation
UPDATE counter_state SET value = 3.5;
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it has a row that is not a name and a generation
UPDATE counter_state SET value = 3, name = x'6d';
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it has a row that is not a name and a generation
UPDATE counter_state SET name = 'other';
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it contradicts the stored cells about column other
UPDATE counter_state SET name = 'M';
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it contradicts the stored cells about column M
UPDATE counter_state SET name = 'rowid', value = 2;
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it lists the reserved name rowid
UPDATE counter_state SET name = 'k';
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it lists the key column k
UPDATE counter_state SET name = 'm', value = 4294967295;
--@ reopen
SELECT * FROM v;
--= x|1|2
INSERT INTO v(v) VALUES('drop column m');
--! v: column m was added and dropped 4294967295 times, which is the limit
SELECT * FROM v;
--= x|1|2

-- # a-list-of-columns-that-is-no-table-is-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
DROP TABLE counter_state;
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is missing
CREATE VIEW counter_state AS SELECT 'counter' AS kind, 'm' AS name, 3 AS value;
--@ reopen
SELECT * FROM v;
--! v: counter_state is damaged: it is not an ordinary table but a view
DROP VIEW counter_state;
CREATE TABLE counter_state(tab, kind, name, value AS (3));
--@ reopen
SELECT * FROM v;
--! v: counter_state is damaged: generated column value
DROP TABLE counter_state;
CREATE TABLE counter_state(tab, kind, name);
--@ reopen
SELECT * FROM v;
--! v: no such column: value
DROP TABLE counter_state;
CREATE TABLE counter_state(tab, kind, row, name, value, seq, rows, bytes);
INSERT INTO counter_state(tab, kind, name, value) VALUES(1, 'counter', 'm', 3), (1, 'counter', 'm', 5);
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it lists two counters named m
UPDATE counter_state SET name = 'n';
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it lists two counters named n
DELETE FROM counter_state;
INSERT INTO counter_state(tab, kind, name, value) VALUES(1, 'counter', 'z', 2), (1, 'counter', 'Z', 4);
--@ reopen
SELECT * FROM v;
--! v: the stored table counter_state is damaged: it contradicts the stored cells about column Z
DROP TABLE v;

-- # a-source-with-a-damaged-list-of-columns-is-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 5);
INSERT INTO phone.counter_state(tab, kind, name, value) VALUES(1, 'counter', 'n', 2);
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the stored table counter_state is damaged: it contradicts the stored cells about column n
SELECT * FROM counter_pull('phone.db');
--! counter_pull: table v: the stored table counter_state is damaged: it contradicts the stored cells about column n
SELECT * FROM counter_push('phone');
--! counter_push: table v: the stored table counter_state is damaged: it contradicts the stored cells about column n
UPDATE phone.counter_state SET value = 4294967297;
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the stored table counter_state is damaged: it has a row that is not a name and a generation
UPDATE phone.counter_state SET value = 'x';
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the stored table counter_state is damaged: it has a row that is not a name and a generation
UPDATE phone.counter_state SET name = '_n', value = 2;
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the stored table counter_state is damaged: it lists the reserved name _n
UPDATE phone.counter_state SET name = 'k';
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: the stored table counter_state is damaged: it lists the key column k
UPDATE phone.counter_state SET name = 'v';
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: column v cannot be added to a table of the same name: rename the table
DROP TABLE phone.counter_state;
SELECT * FROM counter_pull('phone.db');
--! counter_pull: table v: the stored table counter_state is missing
CREATE VIEW phone.counter_state AS SELECT 'counter' AS kind, 'm' AS name, 3 AS value;
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: counter_state is damaged: it is not an ordinary table but a view
DROP VIEW phone.counter_state;
CREATE TABLE phone.counter_state(kind, name, value AS (2));
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_state is damaged: generated column value
SELECT * FROM v;
--= x|1
SELECT name, value FROM counter_state WHERE kind = 'counter';

-- # a-pull-takes-no-more-columns-than-sqlite-has-room-for
CREATE TEMP TABLE list AS WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 35) SELECT i FROM i;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
--@ columns 40
INSERT INTO v(v) SELECT 'add column c' || i FROM list;
INSERT INTO v(k, n) VALUES('x', 1);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER, d COUNTER, e COUNTER);
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: column d cannot be added: the table has 38 columns, and more than 38 are too many for SQLite
SELECT k, n FROM v;
--= x|1

-- # a-change-brings-no-more-columns-than-sqlite-has-room-for-and-then-none-of-them
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TEMP TABLE told(m, change);
WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 37)
INSERT INTO told SELECT m.i, counter_change_of('{"tells":"row","columns":[' || group_concat('{"name":"c' || i.i || '","kind":"counter","generation":1,"cell":{"life":2}}') || ']}') FROM i AS m JOIN i ON i.i <= m.i GROUP BY m.i;
--@ columns 40
BEGIN;
INSERT INTO v VALUES('a', 1);
INSERT INTO counter_changes SELECT 'v', counter_key('a'), change, 1, '7529cd67-394b-3247-8020-f2a7272fc8d9' FROM told WHERE m = 37;
--! counter_changes: table v: the change has 37 counters that the table lacks, which has 2 columns: the limit is 38
COMMIT;
SELECT * FROM v;
--= a|1
INSERT INTO counter_changes SELECT 'v', counter_key('a'), change, 1, '7529cd67-394b-3247-8020-f2a7272fc8d9' FROM told WHERE m = 36;
SELECT k, n, c36, (SELECT count(*) FROM pragma_table_info('v')) FROM v;
--= a|1|NULL|38

-- # a-pull-that-brings-a-drop-of-what-was-never-here-leaves-a-table-to-count-on
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1);
SELECT rows_changed FROM counter_pull('phone');
--= 1
INSERT INTO phone.v(v) VALUES('add column m'), ('drop column m');
INSERT INTO v VALUES('x', 1);
SELECT rows_changed FROM counter_pull('phone');
--= 0
INSERT INTO v VALUES('x', 1);
SELECT *, counter_add('v', 'n', 1, 'x') FROM v;
--= x|3|4
SELECT name, value FROM counter_state WHERE kind = 'counter';
--= m|2

-- # a-cluster-goes-on-without-a-replica-that-has-other-counters
ATTACH 'east.db' AS east;
ATTACH 'west.db' AS west;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
SELECT count(*) FROM counter_push('east');
--= 1
SELECT count(*) FROM counter_push('west');
--= 1
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east west', read=QUORUM, write=QUORUM);
INSERT INTO east.v(v) VALUES('add column m');
INSERT INTO c(k, n) VALUES('x', 5);
SELECT * FROM c;
--= x|6
SELECT schema, available, reason FROM counter_cluster_status('c');
--= main|1|NULL
--= east|0|the tables differ: the cluster has no counter m
--= west|1|NULL
SELECT n FROM west.v;
--= 6
SELECT count(*) FROM counter_sync('east');
--= 1
SELECT count(*) FROM counter_sync('west');
--= 1
SELECT * FROM c;
--= x|6|0

-- # a-column-that-comes-has-no-collation
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v(v) VALUES ('add column e COLLATE NOCASE');
--! v: column e: a COUNTER is an integer and has no COLLATE

-- # a-column-that-came-or-went-has-a-number-as-other-changes-have
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('a', 1, 2);
CREATE TEMP TABLE since AS SELECT counter_changes_end() AS n;
INSERT INTO v(v) VALUES ('drop column m');
SELECT column_name, seq >= n, upto > seq FROM since, counter_changes(n) AS f, counter_change(f.change) AS c;
--= m|1|1
UPDATE since SET n = counter_changes_end();
SELECT count(*) FROM since, counter_changes(n);
--= 0
INSERT INTO v(v) VALUES ('add column m');
SELECT column_name, generation, seq >= n FROM since, counter_changes(n) AS f, counter_change(f.change) AS c;
--= m|3|1
SELECT column_name, generation FROM counter_changes(0) AS f, counter_change(f.change) AS c ORDER BY seq;
--= n|1
--= m|3
