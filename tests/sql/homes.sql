-- Where the cells of a tracked table are: at the row ids of its rows, or away (ext/table/home.c).

-- # cells-are-at-the-rows-of-the-table-and-only-those-that-are-not-have-an-index
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t(rowid, k, n) VALUES (7, 'a', 1), (-3, 'b', 2), (9223372036854775807, 'c', 3), (-9223372036854775808, 'd', 4);
SELECT counter_track('t', 'n');
--= 4
INSERT INTO t(rowid, k, n) VALUES (0, 'e', 5);
SELECT _id, _away, k FROM t_counters_cells ORDER BY k;
--= 7|NULL|a
--= -3|NULL|b
--= 9223372036854775807|NULL|c
--= -9223372036854775808|NULL|d
--= 0|NULL|e
SELECT sql FROM sqlite_master WHERE name = 't_counters_cells_away';
--= CREATE UNIQUE INDEX "t_counters_cells_away" ON "t_counters_cells"("k") WHERE _away
DELETE FROM t WHERE k IN ('a', 'c');
SELECT _id, _away, k FROM t_counters_cells ORDER BY k;
--= 7|1|a
--= -3|NULL|b
--= 9223372036854775807|1|c
--= -9223372036854775808|NULL|d
--= 0|NULL|e
SELECT * FROM t_counters ORDER BY k;
--= b|2
--= d|4
--= e|5
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');

-- # a-row-id-that-is-used-again-does-not-take-over-what-was-counted
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 1), ('b', 1);
BEGIN;
UPDATE t SET n = n + 5 WHERE k = 'b';
DELETE FROM t WHERE k = 'b';
INSERT INTO t VALUES ('c', 1);
SELECT rowid, k FROM t;
--= 1|a
--= 2|c
COMMIT;
SELECT * FROM t_counters ORDER BY k;
--= a|1
--= c|1
DELETE FROM t WHERE k = 'c';
INSERT INTO t VALUES ('b', 4);
UPDATE t SET n = n + 1;
SELECT * FROM t_counters ORDER BY k;
--= a|2
--= b|5
SELECT * FROM t ORDER BY k;
--= a|2
--= b|5
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');

-- # replace-gives-a-row-another-row-id-and-its-counter-goes-on
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 1), ('b', 2);
REPLACE INTO t VALUES ('a', 10);
SELECT rowid, * FROM t ORDER BY k;
--= 3|a|10
--= 2|b|2
INSERT OR REPLACE INTO t(rowid, k, n) VALUES (2, 'c', 7);
SELECT rowid, * FROM t ORDER BY k;
--= 3|a|10
--= 2|c|7
UPDATE OR REPLACE t SET k = 'a' WHERE k = 'c';
UPDATE t SET n = n + 1;
SELECT rowid, * FROM t;
--= 2|a|8
SELECT * FROM t_counters;
--= a|8
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');

-- # keys-that-are-exchanged-and-row-ids-that-are-written-keep-their-counts
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3);
UPDATE t SET k = CASE k WHEN 'a' THEN 'x' WHEN 'b' THEN 'a' ELSE k END;
UPDATE t SET rowid = rowid + 10 WHERE k = 'c';
UPDATE t SET oid = 1000 - oid;
UPDATE t SET n = n + 1;
SELECT * FROM t ORDER BY k;
--= a|3
--= c|4
--= x|2
SELECT * FROM t_counters ORDER BY k;
--= a|3
--= c|4
--= x|2
DELETE FROM t WHERE k = 'c';
INSERT INTO t VALUES ('c', 1);
SELECT * FROM t_counters ORDER BY k;
--= a|3
--= c|1
--= x|2
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');

-- # columns-may-have-the-names-of-the-row-id
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 1), ('b', 2);
ALTER TABLE t ADD COLUMN _rowid_;
UPDATE t SET _rowid_ = 2 WHERE k = 'a';
UPDATE t SET n = n + 1;
INSERT INTO t VALUES ('c', 3, 1);
DELETE FROM t WHERE k = 'b';
INSERT INTO t VALUES ('d', 4, 1);
SELECT * FROM t_counters ORDER BY k;
--= a|2
--= c|3
--= d|4
SELECT counter_track('t');
--= 0
ALTER TABLE t ADD COLUMN oid;
ALTER TABLE t ADD COLUMN rowid;
SELECT counter_track('t');
--= 0
INSERT INTO t VALUES ('e', 5, 1, 1, 1);
UPDATE t SET n = n + 1, _rowid_ = 7, oid = 7, rowid = 7;
DELETE FROM t WHERE k = 'a';
INSERT INTO t(k, n) VALUES ('a', 9);
SELECT * FROM t_counters ORDER BY k;
--= a|9
--= c|4
--= d|5
--= e|6
ALTER TABLE t RENAME COLUMN _rowid_ TO x;
SELECT counter_track('t');
--= 0
UPDATE t SET n = n + 1;
SELECT k, n FROM t ORDER BY k;
--= a|10
--= c|5
--= d|6
--= e|7
SELECT * FROM t_counters ORDER BY k;
--= a|10
--= c|5
--= d|6
--= e|7
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');

-- # a-deletion-that-triggers-missed-while-they-were-dropped-makes-no-second-row-of-the-key
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 5), ('b', 1);
CREATE TEMP TABLE kept AS SELECT sql FROM sqlite_master WHERE name = 't_counters_before_delete';
DROP TRIGGER t_counters_before_delete;
DROP TRIGGER t_counters_delete;
DELETE FROM t WHERE k = 'a';
CREATE TRIGGER t_counters_delete AFTER DELETE ON t BEGIN
INSERT INTO t_counters(_event, k, n, _at) VALUES ('deleted', OLD.k, OLD.n, OLD._rowid_); END;
CREATE TRIGGER t_counters_before_delete BEFORE DELETE ON t BEGIN
INSERT INTO t_counters(_event, k, _at) VALUES ('leaves', OLD.k, OLD._rowid_); END;
INSERT INTO t VALUES ('a', 2);
SELECT k, count(*) FROM t_counters_cells GROUP BY k ORDER BY k;
--= a|1
--= b|1
SELECT * FROM t_counters ORDER BY k;
--= a|2
--= b|1

-- # a-table-that-is-stored-anew-in-another-order-keeps-its-counts
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('c', 1), ('b', 2), ('a', 3), ('x', 9);
UPDATE t SET n = n + 10;
DELETE FROM t WHERE k = 'x';
SELECT counter_untrack('t');
--= 1
SELECT counter_track('t', 'n', 'values=again');
--= 3
CREATE TABLE new(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO new SELECT * FROM t ORDER BY k;
DROP TABLE t;
ALTER TABLE new RENAME TO t;
SELECT counter_track('t');
--= 0
SELECT rowid, * FROM t;
--= 1|a|13
--= 2|b|12
--= 3|c|11
UPDATE t SET n = n + 1;
DELETE FROM t WHERE k = 'b';
INSERT INTO t VALUES ('b', 5);
SELECT * FROM t_counters ORDER BY k;
--= a|14
--= b|5
--= c|12
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');

-- # an-update-of-a-key-to-null-is-left-to-the-table
CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 1), ('b', 2);
UPDATE OR IGNORE t SET k = NULL WHERE k = 'a';
UPDATE OR IGNORE t SET k = CASE k WHEN 'b' THEN NULL ELSE k || 'x' END;
SELECT * FROM t ORDER BY k;
--= ax|1
--= b|2
UPDATE t SET k = NULL;
--! NOT NULL constraint failed: t.k
SELECT * FROM t_counters ORDER BY k;
--= ax|1
--= b|2

-- # a-trigger-that-writes-the-key-before-it-is-replaced-makes-no-second-row-of-it
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
CREATE TRIGGER before_it BEFORE INSERT ON t WHEN NEW.n = 99 BEGIN INSERT INTO t VALUES (NEW.k, 5); END;
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 1);
INSERT OR REPLACE INTO t VALUES ('d', 99);
INSERT INTO t VALUES ('e', 1);
UPDATE t SET n = n + 1 WHERE k = 'd';
SELECT k, count(*) FROM t_counters_cells GROUP BY k ORDER BY k;
--= a|1
--= d|1
--= e|1
SELECT * FROM t_counters ORDER BY k;
--= a|1
--= d|100
--= e|1

-- # a-default-that-is-computed-makes-no-second-row-of-its-key
CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL DEFAULT (lower('X')), n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 1), ('x', 10);
INSERT OR REPLACE INTO t VALUES (NULL, 15);
INSERT INTO t VALUES ('y', 0);
UPDATE t SET n = n + 1 WHERE k = 'x';
SELECT * FROM t_counters ORDER BY k;
--= a|1
--= x|16
--= y|0
SELECT count(*) FROM t_counters_cells;
--= 3

-- # a-row-that-waits-comes-home-when-the-table-takes-it
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY, u INTEGER UNIQUE, n INTEGER);
CREATE TABLE office.t(k TEXT PRIMARY KEY, u INTEGER UNIQUE, n INTEGER);
SELECT counter_replicate('main.t', 'n');
--= 0
SELECT counter_replicate('office.t', 'n');
--= 0
INSERT INTO main.t VALUES ('mine', 1, 1);
INSERT INTO office.t VALUES ('theirs', 1, 2), ('other', 2, 3);
SELECT rows_changed FROM counter_pull('office');
--= 2
SELECT _id, _away, k FROM main.t_counters_cells ORDER BY _id;
--= 1|NULL|mine
--= 2|1|theirs
--= 3|NULL|other
SELECT rowid, k FROM main.t;
--= 1|mine
--= 3|other
INSERT INTO main.t VALUES ('new', 4, 4);
UPDATE main.t SET u = 7 WHERE k = 'mine';
SELECT rows_changed FROM counter_pull('office');
--= 0
SELECT _id, _away, k FROM main.t_counters_cells ORDER BY k;
--= 1|NULL|mine
--= 4|NULL|new
--= 3|NULL|other
--= 2|NULL|theirs
SELECT rowid, k FROM main.t ORDER BY rowid;
--= 1|mine
--= 2|theirs
--= 3|other
--= 4|new
INSERT INTO main.t_counters(t_counters) VALUES ('integrity-check');

-- # an-index-that-was-dropped-is-made-again
CREATE TABLE t(b TEXT, a INTEGER, n INTEGER, PRIMARY KEY (a, b));
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('x', 1, 5), ('y', 2, 6);
DELETE FROM t WHERE a = 2;
DROP INDEX t_counters_cells_away;
SELECT counter_track('t');
--= 0
UPDATE t SET n = n + 1;
DELETE FROM t;
INSERT INTO t VALUES ('y', 2, 1), ('x', 1, 2);
SELECT * FROM t_counters ORDER BY a;
--= x|1|2
--= y|2|1
SELECT sql FROM sqlite_master WHERE name = 't_counters_cells_away';
--= CREATE UNIQUE INDEX "t_counters_cells_away" ON "t_counters_cells"("a", "b") WHERE _away
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');

-- # integrity-check-finds-two-rows-of-one-key-and-counter-track-joins-them
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 1), ('b', 2);
INSERT INTO t_counters_cells(_id, _away, k, n) SELECT 9, 1, k, n FROM t_counters_cells WHERE k = 'b';
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');
--! t_counters: integrity-check: the stored table t_counters_cells has two rows with the key ('b'): counter_track or counter_replicate of the tracked table puts it right
SELECT counter_track('t');
--= 0
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');
SELECT * FROM t_counters ORDER BY k;
--= a|1
--= b|2

-- # integrity-check-finds-a-row-that-is-at-another-one
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 1), ('b', 2);
UPDATE t_counters_cells SET k = CASE k WHEN 'a' THEN 'b' ELSE 'a' END;
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');
--! t_counters: integrity-check: the stored table t_counters_cells has at the row id of another row ('b'): counter_track or counter_replicate of the tracked table puts it right

-- # triggers-that-are-made-again-are-noticed-by-the-same-transaction-and-by-a-reader
--@ journal
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 5), ('b', 1);
BEGIN;
INSERT INTO t VALUES ('c', 1);
DROP TRIGGER t_counters_before_delete;
DROP TRIGGER t_counters_delete;
DELETE FROM t WHERE k = 'a';
CREATE TRIGGER t_counters_delete AFTER DELETE ON t BEGIN
INSERT INTO t_counters(_event, k, n, _at) VALUES ('deleted', OLD.k, OLD.n, OLD._rowid_); END;
CREATE TRIGGER t_counters_before_delete BEFORE DELETE ON t BEGIN
INSERT INTO t_counters(_event, k, _at) VALUES ('leaves', OLD.k, OLD._rowid_); END;
SELECT * FROM t_counters WHERE k = 'a';
--= a|5
INSERT INTO t VALUES ('a', 2);
COMMIT;
SELECT k, count(*) FROM t_counters_cells GROUP BY k ORDER BY k;
--= a|1
--= b|1
--= c|1
SELECT * FROM t_counters ORDER BY k;
--= a|2
--= b|1
--= c|1
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');

-- # without-its-index-the-cells-are-not-written
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 5), ('b', 1);
DROP INDEX t_counters_cells_away;
INSERT INTO t VALUES ('c', 5);
--! t: the stored table t_counters_cells is damaged: its index was dropped: counter_track or counter_replicate of the tracked table makes it again
SELECT counter_track('t');
--= 0
INSERT INTO t VALUES ('c', 5);
SELECT * FROM t_counters ORDER BY k;
--= a|5
--= b|1
--= c|5

-- # a-table-that-is-made-anew-in-another-form-has-the-cells-of-that-form
CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 1);
SELECT counter_untrack('t');
--= 1
DROP TABLE t;
CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER) WITHOUT ROWID;
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('b', 2);
SELECT * FROM t_counters;
--= b|2
SELECT counter_untrack('t');
--= 1
DROP TABLE t;
CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t(rowid, k, n) VALUES (7, 'c', 3);
SELECT _id, _away, k FROM t_counters_cells;
--= 7|NULL|c
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');

-- # a-merged-row-that-a-temporary-trigger-deletes-as-it-is-shown-is-away
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);
SELECT counter_track('t', 'n', 'm');
--= 0
INSERT INTO t VALUES('a', 1, 1);
CREATE TEMP TRIGGER app AFTER INSERT ON main.t WHEN NEW.k = 'c' BEGIN DELETE FROM t WHERE k = NEW.k; END;
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES('t', counter_key('c'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 5, '00000000-0000-0000-0000-00000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT _away, k FROM t_counters_cells;
--= NULL|a
--= 1|c
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES('t', counter_key('c'), counter_change_of('{"tells":"row","columns":[{"name":"m","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 5, '00000000-0000-0000-0000-00000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT count(*) FROM t_counters_cells WHERE k = 'c';
--= 1
INSERT INTO t_counters(t_counters) VALUES('integrity-check');

-- # a-table-that-was-renamed-under-legacy-alter-table-refuses-an-insert-until-it-is-tracked-again
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES('a', 1), ('b', 2);
PRAGMA legacy_alter_table = ON;
ALTER TABLE t RENAME TO s;
UPDATE s SET n = n + 1 WHERE k = 'a';
DELETE FROM s WHERE k = 'b';
INSERT INTO s VALUES('c', 3);
--! no such table: main.t
SELECT * FROM t_counters;
--= a|2
SELECT counter_track('s');
--= 0
INSERT INTO s VALUES('c', 3), ('b', 9);
INSERT OR REPLACE INTO s VALUES('a', 7);
SELECT * FROM t_counters ORDER BY k;
--= a|7
--= b|9
--= c|3
INSERT INTO t_counters(t_counters) VALUES('integrity-check');

-- # a-key-that-is-renamed-under-legacy-alter-table-is-followed
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES('a', 1), ('b', 2);
PRAGMA legacy_alter_table = ON;
ALTER TABLE t RENAME COLUMN k TO code;
INSERT OR REPLACE INTO t VALUES('a', 5);
UPDATE t SET code = 'c' WHERE code = 'b';
SELECT * FROM t_counters ORDER BY k;
--= a|5
--= c|2
INSERT INTO t_counters(t_counters) VALUES('integrity-check');

-- # a-row-that-a-trigger-moves-before-ours-tells-of-its-insertion-is-away
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES('c', 5);
DELETE FROM t;
CREATE TEMP TRIGGER app AFTER INSERT ON main.t WHEN NEW.rowid < 100 BEGIN UPDATE t SET rowid = rowid + 100 WHERE k = NEW.k; END;
INSERT INTO t VALUES('c', 7);
INSERT INTO t_counters(t_counters) VALUES('integrity-check');
UPDATE t SET n = n + 1;
SELECT * FROM t_counters;
--= c|8
INSERT INTO t_counters(t_counters) VALUES('integrity-check');

-- # a-row-that-replaces-itself-and-is-deleted-by-a-trigger-is-away
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
CREATE TRIGGER app AFTER INSERT ON t WHEN NEW.n = 5 BEGIN DELETE FROM t WHERE k = NEW.k; END;
INSERT INTO t VALUES('c', 4);
UPDATE t SET n = 5;
INSERT OR REPLACE INTO t VALUES('q', 1);
REPLACE INTO t(rowid, k, n) VALUES(1, 'c', 5);
INSERT INTO t(rowid, k, n) VALUES(9, 'c', 3);
SELECT * FROM t_counters ORDER BY k;
--= c|3
--= q|1
INSERT INTO t_counters(t_counters) VALUES('integrity-check');

-- # a-row-that-takes-key-and-row-id-at-once-and-is-deleted-by-a-trigger-is-away
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES('a', 5), ('c', 5);
CREATE TEMP TRIGGER app AFTER UPDATE ON main.t WHEN NEW.k = 'c' BEGIN DELETE FROM t WHERE k = NEW.k; END;
UPDATE OR REPLACE t SET k = 'c', rowid = 2 WHERE k = 'a';
DROP TRIGGER app;
INSERT INTO t(rowid, k, n) VALUES(7, 'c', 3);
UPDATE t SET n = n + 1;
SELECT * FROM t_counters;
--= c|4
INSERT INTO t_counters(t_counters) VALUES('integrity-check');

-- # a-merged-row-whose-place-a-trigger-gives-to-another-is-away
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES('a', 1);
CREATE TEMP TRIGGER app AFTER INSERT ON main.t WHEN NEW.k = 'c' BEGIN INSERT OR REPLACE INTO t(rowid, k, n) VALUES(NEW.rowid, 'z', 1); END;
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES('t', counter_key('c'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 5, '00000000-0000-0000-0000-00000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
INSERT INTO t_counters(t_counters) VALUES('integrity-check');
DROP TRIGGER app;
INSERT INTO t VALUES('c', 2);
UPDATE t SET n = n + 1;
SELECT * FROM t_counters ORDER BY k;
--= a|2
--= c|3
--= z|2
INSERT INTO t_counters(t_counters) VALUES('integrity-check');

-- # a-merged-deletion-that-one-trigger-undoes-and-another-moves-leaves-the-row-away
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES('c', 5);
CREATE TEMP TRIGGER again AFTER DELETE ON main.t BEGIN INSERT INTO t(rowid, k, n) VALUES(OLD.rowid, OLD.k, 7); END;
CREATE TEMP TRIGGER moves AFTER INSERT ON main.t WHEN NEW.rowid < 100 BEGIN UPDATE t SET rowid = rowid + 100 WHERE k = NEW.k; END;
ATTACH ':memory:' AS o;
CREATE TABLE o.t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('o.t', 'n');
--= 0
SELECT rows_changed FROM counter_push('o');
--= 1
DELETE FROM o.t;
SELECT rows_changed FROM counter_pull('o');
--= 1
INSERT INTO t_counters(t_counters) VALUES('integrity-check');
UPDATE main.t SET n = n + 1;
SELECT * FROM t_counters;
--= c|8
INSERT INTO t_counters(t_counters) VALUES('integrity-check');

-- # a-reader-alone-notices-triggers-that-were-made-again-and-finds-the-rows-that-they-have-missed
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 5), ('b', 1);
DROP TRIGGER t_counters_before_delete;
DROP TRIGGER t_counters_delete;
DELETE FROM t WHERE k = 'a';
CREATE TRIGGER t_counters_delete AFTER DELETE ON t BEGIN
INSERT INTO t_counters(_event, k, n, _at) VALUES ('deleted', OLD.k, OLD.n, OLD._rowid_); END;
CREATE TRIGGER t_counters_before_delete BEFORE DELETE ON t BEGIN
INSERT INTO t_counters(_event, k, _at) VALUES ('leaves', OLD.k, OLD._rowid_); END;
SELECT * FROM t_counters WHERE k = 'a';
--= a|5
--@ reopen
SELECT * FROM t_counters WHERE k = 'a';
--= a|5
SELECT * FROM t_counters ORDER BY k;
--= a|5
--= b|1

-- # a-reader-notices-what-another-connection-did-while-the-triggers-were-dropped
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 5), ('b', 1);
SELECT * FROM t_counters WHERE k = 'c';
--
--@ connection other
DROP TRIGGER t_counters_before_delete;
DROP TRIGGER t_counters_delete;
DELETE FROM t WHERE k = 'a';
CREATE TRIGGER t_counters_delete AFTER DELETE ON t BEGIN
INSERT INTO t_counters(_event, k, n, _at) VALUES ('deleted', OLD.k, OLD.n, OLD._rowid_); END;
CREATE TRIGGER t_counters_before_delete BEFORE DELETE ON t BEGIN
INSERT INTO t_counters(_event, k, _at) VALUES ('leaves', OLD.k, OLD._rowid_); END;
--@ connection main
SELECT * FROM t_counters WHERE k = 'a';
--= a|5
