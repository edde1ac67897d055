-- counter_sync, counter_pull, counter_push and counter_folder with a directory. What only other hosts can do to it is in
-- property/test_directories.py and cli/test_folder.py. A file that has removed its counters is another device afterwards.

-- # a-device-gives-its-own-changes-and-another-takes-them
--@ attributes
--@ whole-sqlite
--@ directory shared
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE p(k TEXT PRIMARY KEY, name TEXT, n INTEGER);
SELECT counter_replicate('p', 'n');
--= 0
INSERT INTO v VALUES('tea', 1), ('jam', 2);
INSERT INTO p VALUES('tea', 'Tea', 3);
SELECT count(*) FROM counter_pull('shared');
--= 0
SELECT count(*) <= 1 FROM counter_push('shared');
--= 1
SELECT count(*) FROM counter_folder('shared');
--= 0
CREATE TEMP TABLE was AS SELECT counter_id() AS id, counter_changes_end() AS upto;
SELECT count(*) FROM counter_pull('shared');
--= 0
INSERT INTO v VALUES('tea', 4);
SELECT count(*) <= 1 FROM counter_sync('shared');
--= 1
SELECT count(*) FROM counter_sync('shared');
--= 0
DROP TABLE v;
SELECT counter_untrack('p');
--~ *
DELETE FROM p;
SELECT counter_remove() > 0;
--= 1
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_replicate('p', 'n');
--= 0
INSERT INTO v VALUES('salt', 8);
SELECT rows_read = rows_changed, rows_changed BETWEEN 3 AND 4, conflicts, note FROM counter_pull('shared');
--= 1|1|0|NULL
SELECT * FROM v ORDER BY k;
--= jam|2
--= salt|8
--= tea|5
SELECT * FROM p;
--= tea|Tea|3
SELECT count(*) <= 1 FROM counter_sync('shared');
--= 1
SELECT source = was.id, f.upto > was.upto, mark = f.upto FROM counter_folder('shared') AS f, was;
--= 1|1|1

-- # of-a-scope-a-device-takes-the-rows-that-are-in-it
--@ attributes
--@ whole-sqlite
--@ directory shared
CREATE VIRTUAL TABLE v USING counter(store TEXT, k INTEGER, n COUNTER, PRIMARY KEY(store, k));
INSERT INTO v VALUES('north', 1, 1), ('south', 1, 2), ('north', 2, 4);
SELECT count(*) <= 1 FROM counter_push('shared');
--= 1
DROP TABLE v;
SELECT counter_remove() > 0;
--= 1
CREATE VIRTUAL TABLE v USING counter(store TEXT, k INTEGER, n COUNTER, PRIMARY KEY(store, k));
SELECT rows_changed, note FROM counter_pull('shared', NULL, '["north"]');
--= 2|NULL
SELECT * FROM v;
--= north|1|1
--= north|2|4
SELECT count(*) FROM counter_pull('shared', NULL, '["north"]');
--= 0
SELECT rows_changed, note FROM counter_pull('shared');
--= 3|NULL
SELECT sum(n) FROM v;
--= 7

-- # what-a-transaction-takes-goes-with-it
--@ attributes
--@ whole-sqlite
--@ directory shared
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('tea', 1);
SELECT count(*) <= 1 FROM counter_push('shared');
--= 1
DROP TABLE v;
SELECT counter_remove() > 0;
--= 1
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('jam', 2);
BEGIN IMMEDIATE;
INSERT INTO v VALUES('jam', 4);
SELECT rows_changed FROM counter_pull('shared');
--= 1
SELECT * FROM v ORDER BY k;
--= jam|6
--= tea|1
ROLLBACK;
SELECT * FROM v;
--= jam|2

-- # what-is-no-directory-of-files-is-refused
--@ attributes
--@ whole-sqlite
--@ directory shared
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT * FROM counter_pull('nowhere/');
--!~ counter_pull: 'nowhere/' is neither *
SELECT * FROM counter_push('nowhere/');
--!~ counter_push: 'nowhere/' is neither *
SELECT * FROM counter_folder('nowhere');
--!~ counter_folder: nowhere*
SELECT * FROM counter_pull('.');
--!~ counter_pull: .: it has no file .sqlite-counter, *
SELECT * FROM counter_pull('shared', 'full');
--!~ counter_pull: *
SELECT count(*) FROM counter_folder('shared');
--= 0
