-- Warnings: in the note of a pull, a push and a sync, and by counter_warnings for what came with a feed.

-- # a-column-that-was-added-in-both-files-and-never-replicated-is-named-with-the-call
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, price, n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, price, n INTEGER);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO main.p VALUES ('tea', 4.5, 1);
SELECT note FROM counter_sync('office');
--= NULL
SELECT * FROM counter_warnings;
ALTER TABLE main.p ADD COLUMN weight;
ALTER TABLE main.p ADD COLUMN "the size" INTEGER;
ALTER TABLE office.p ADD COLUMN weight;
UPDATE main.p SET weight = 3;
SELECT note FROM counter_pull('office');
--= columns weight, the size do not travel yet: call counter_replicate('p'); in office: column weight does not travel yet: call counter_replicate('p')
SELECT note FROM counter_push('office');
--= columns weight, the size do not travel yet: call counter_replicate('p'); in office: column weight does not travel yet: call counter_replicate('p')
SELECT note FROM counter_sync('office');
--= columns weight, the size do not travel yet: call counter_replicate('p'); in office: column weight does not travel yet: call counter_replicate('p')
SELECT * FROM counter_warnings;
--= p|column|columns weight, the size do not travel yet: call counter_replicate('p')
SELECT * FROM counter_warnings('office');
--= p|column|column weight does not travel yet: call counter_replicate('p')
SELECT counter_replicate('main.p');
--= 1
SELECT note FROM counter_pull('office');
--= in office: column weight does not travel yet: call counter_replicate('p')
SELECT rows_changed, note FROM counter_push('office');
--= 0|passed over: column weight is replicated in main and not yet in office: call counter_replicate('p') there
SELECT counter_replicate('office.p');
--= 0
SELECT note FROM counter_sync('office');
--= NULL
SELECT weight FROM office.p;
--= 3

-- # a-table-that-was-passed-over-is-told-until-the-same-file-merges-it
ATTACH 'office.db' AS office;
ATTACH 'phone.db' AS phone;
CREATE TABLE main.p(k TEXT PRIMARY KEY, x INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, x INTEGER);
CREATE TABLE phone.p(k TEXT PRIMARY KEY, x INTEGER);
SELECT counter_replicate('main.p', 'x');
--= 0
SELECT counter_replicate('office.p');
--= 0
SELECT counter_replicate('phone.p');
--= 0
INSERT INTO main.p VALUES ('a', 1);
INSERT INTO office.p VALUES ('b', 2);
SELECT note FROM counter_sync('office');
--= passed over: column x is a counter in main and a regular column in office: counter_replicate('p', 'x') there makes it a counter
SELECT note FROM counter_push('phone');
--= passed over: column x is a counter in main and a regular column in phone: counter_replicate('p', 'x') there makes it a counter
SELECT table_name, kind, warning FROM counter_warnings;
--= p|passed over|passed over: column x is a counter in main and a regular column in office: counter_replicate('p', 'x') there makes it a counter
--= p|passed over|passed over: column x is a counter in main and a regular column in phone: counter_replicate('p', 'x') there makes it a counter
SELECT count(*) FROM counter_warnings('office');
--= 0
SELECT counter_replicate('office.p', 'x');
--= 1
SELECT note FROM counter_push('office');
--= NULL
SELECT warning FROM counter_warnings;
--= passed over: column x is a counter in main and a regular column in office: counter_replicate('p', 'x') there makes it a counter
--= passed over: column x is a counter in main and a regular column in phone: counter_replicate('p', 'x') there makes it a counter
SELECT note FROM counter_pull('office');
--= NULL
SELECT warning FROM counter_warnings;
--= passed over: column x is a counter in main and a regular column in phone: counter_replicate('p', 'x') there makes it a counter
SELECT counter_warnings_reset();
--= NULL
SELECT * FROM counter_warnings;

-- # a-column-that-stays-at-home-by-a-call-is-no-warning
CREATE TABLE p(k TEXT PRIMARY KEY, price, note, n INTEGER, m INTEGER, other AS (note || '!'));
SELECT counter_replicate('p', 'n', 'm');
--= 0
SELECT counter_untrack('p', 'price', 'm');
--= 2
SELECT * FROM counter_warnings;
ALTER TABLE p RENAME COLUMN note TO remark;
SELECT * FROM counter_warnings;
ALTER TABLE p ADD COLUMN note;
SELECT warning FROM counter_warnings;
--= column note does not travel yet: call counter_replicate('p')
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, other);
SELECT counter_track('t', 'n');
--= 0
SELECT count(*) FROM counter_warnings WHERE table_name = 't';
--= 0

-- # a-foreign-key-to-rows-that-do-not-travel-or-to-numbers-is-told-where-rows-came
ATTACH 'office.db' AS office;
CREATE TABLE main.shelves(id TEXT PRIMARY KEY);
CREATE TABLE main.people(id INTEGER PRIMARY KEY, mail TEXT UNIQUE);
CREATE TABLE main.p(k TEXT PRIMARY KEY, shelf REFERENCES shelves, person REFERENCES people, mail REFERENCES people(mail), up REFERENCES p);
CREATE TABLE office.people(id INTEGER PRIMARY KEY, mail TEXT UNIQUE);
CREATE TABLE office.p(k TEXT PRIMARY KEY, shelf, person, mail, up);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
SELECT warning FROM counter_warnings WHERE kind = 'foreign key';
--= column mail refers to people, which is not replicated: rows of other files may have no parent here: replicate it, too
--= column person refers to people, which is not replicated: rows of other files may have no parent here: replicate it, too
--= column shelf refers to shelves, which is not replicated: rows of other files may have no parent here: replicate it, too
SELECT counter_replicate('main.people', 'keys=assigned');
--= 0
SELECT counter_replicate('office.people', 'keys=assigned');
--= 0
SELECT table_name, kind, warning FROM counter_warnings;
--= p|foreign key|column person refers to people, whose keys SQLite gives out: where two files gave one number, its rows have another parent
--= p|foreign key|column shelf refers to shelves, which is not replicated: rows of other files may have no parent here: replicate it, too
SELECT note FROM counter_sync('office') WHERE table_name = 'p';
--= NULL
INSERT INTO p(k) VALUES ('tea');
SELECT note FROM counter_sync('office') WHERE table_name = 'p';
--= column person refers to people, whose keys SQLite gives out: where two files gave one number, its rows have another parent; column shelf refers to shelves, which is not replicated: rows of other files may have no parent here: replicate it, too
SELECT counter_replicate('shelves');
--= 0
SELECT count(*) FROM counter_warnings WHERE warning LIKE '%shelves%';
--= 0

-- # a-merge-that-deletes-a-tenth-of-a-table-says-so
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k INTEGER PRIMARY KEY, v);
CREATE TABLE office.p(k INTEGER PRIMARY KEY, v);
CREATE VIRTUAL TABLE main.c USING counter(k INTEGER PRIMARY KEY, a COUNTER, b COUNTER);
SELECT counter_replicate('main.p', 'keys=assigned');
--= 0
SELECT counter_replicate('office.p', 'keys=assigned');
--= 0
WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 200) INSERT INTO p SELECT n, n FROM i;
INSERT INTO c SELECT k, 1, 1 FROM p;
SELECT table_name, note FROM counter_push('office');
--= c|created in office
--= p|NULL
DELETE FROM office.p WHERE k <= 9;
DELETE FROM office.c WHERE k <= 9;
SELECT table_name, note FROM counter_pull('office');
--= c|NULL
--= p|NULL
DELETE FROM office.p WHERE k BETWEEN 10 AND 29;
INSERT INTO office.c(c, k) SELECT 'delete a', k FROM office.p WHERE k > 100;
DELETE FROM office.c WHERE k BETWEEN 10 AND 29;
SELECT table_name, note FROM counter_sync('office');
--= c|this merge deleted 20 of 191 rows
--= p|this merge deleted 20 of 191 rows
SELECT table_name, kind, warning FROM counter_warnings;
--= c|deleted|this merge deleted 29 of 200 rows
--= p|deleted|this merge deleted 29 of 200 rows
SELECT counter_warnings_reset();
--= NULL
SELECT * FROM counter_warnings;
DELETE FROM p WHERE k < 50;
SELECT table_name, note FROM counter_push('office');
--= c|NULL
--= p|in office: this merge deleted 20 of 171 rows
SELECT * FROM counter_warnings;
DELETE FROM office.p WHERE k BETWEEN 50 AND 60;
SELECT note FROM counter_pull('office') WHERE table_name = 'p';
--= NULL

-- # what-a-feed-has-deleted-is-told-after-its-commit-and-not-after-a-rollback
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, v);
SELECT counter_replicate('main.p');
--= 0
WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 20) INSERT INTO p SELECT 'k' || n, n FROM i;
INSERT INTO p SELECT 'k' || n, n FROM (SELECT 0 AS n UNION ALL SELECT 21);
DELETE FROM p WHERE v < 11;
CREATE TABLE office.fed AS SELECT table_name, key, change, seq, source FROM counter_changes(0);
SELECT counter_untrack('p');
--= 0
DELETE FROM p;
WITH RECURSIVE i(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < 21) INSERT INTO p SELECT 'k' || n, n FROM i;
SELECT counter_replicate('p', 'values=again');
--= 22
BEGIN;
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM office.fed;
ROLLBACK;
SELECT * FROM counter_warnings;
BEGIN;
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM office.fed;
COMMIT;
SELECT * FROM counter_warnings;
--= p|deleted|this merge deleted 11 of 22 rows
SELECT count(*) FROM p;
--= 11
SELECT counter_warnings_reset();
--= NULL
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM office.fed;
SELECT * FROM counter_warnings;

-- # conflicts-and-a-clock-that-is-ahead-are-told
ATTACH 'office.db' AS office;
CREATE VIRTUAL TABLE office.c USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE main.p(k TEXT PRIMARY KEY, v);
CREATE TABLE office.p(k TEXT PRIMARY KEY, v);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'c', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect('7529cd67-394b-3247-8020-f2a7272fc8d9', 5, 1, 1)) || '}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9';
SELECT * FROM counter_warnings;
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'c', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect('7529cd67-394b-3247-8020-f2a7272fc8d9', 5, 2, 1)) || '}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9';
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":29858423422400000,"id":"07070707-0707-0707-0707-070707070707"}},"columns":[{"name":"v","kind":"regular","generation":0,"stamp":{"number":29858423422400000,"id":"07070707-0707-0707-0707-070707070707"},"value":"ahead"}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
SELECT table_name, kind, warning FROM counter_warnings;
--= c|conflicts|1 conflict: a file was restored, or two count under one id: see counter_conflicts
--~ p|clock|a value of 07070707-0707-0707-0707-070707070707 has a stamp [0-9]* days ahead of this machine's clock, and wins over what others write until then: set the clock that is wrong
SELECT table_name, note FROM counter_push('office');
--= c|NULL
--~ p|in office: a value of 07070707-0707-0707-0707-070707070707 has a stamp [0-9]* days ahead of this machine's clock, and wins over what others write until then: set the clock that is wrong
SELECT table_name, note FROM counter_push('office', 'full');
--= c|NULL
--= p|NULL

-- # counter-warnings-names-what-is-wrong-with-its-argument-and-wants-no-counter-table
SELECT * FROM counter_warnings;
SELECT counter_warnings_reset();
--= NULL
SELECT * FROM counter_warnings('nowhere');
--! counter_warnings: no attached database has the name 'nowhere'
SELECT counter_warnings_reset(1);
--! wrong number of arguments to function counter_warnings_reset()

-- # a-column-that-counts-in-other-files-alone-is-named-with-the-call
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, v);
CREATE TABLE office.p(k TEXT PRIMARY KEY, v, x INTEGER);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p', 'x');
--= 0
ALTER TABLE main.p ADD COLUMN x INTEGER;
INSERT INTO main.p VALUES ('a', 'v', 5);
INSERT INTO office.p VALUES ('b', 'v', 7);
SELECT note FROM counter_pull('office');
--= column x is a counter in other files: call counter_replicate('p', 'x')
SELECT kind, warning FROM counter_warnings;
--= column|column x is a counter in other files: call counter_replicate('p', 'x')
SELECT counter_replicate('p', 'x');
--= 1
SELECT note FROM counter_sync('office');
--= NULL
SELECT * FROM main.p ORDER BY k;
--= a|v|5
--= b|v|7
SELECT * FROM office.p ORDER BY k;
--= a|v|5
--= b|v|7

-- # a-column-that-was-regular-here-and-counts-in-other-files-is-named
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, x INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, x INTEGER);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
SELECT counter_replicate('main.p', 'x', 'opening=same');
--= 0
SELECT counter_replicate('office.p', 'x', 'opening=same');
--= 0
SELECT counter_untrack('office.p', 'x');
--= 1
SELECT counter_replicate('office.p');
--= 0
SELECT counter_replicate('office.p', 'x', 'opening=same');
--= 0
SELECT note FROM counter_pull('office');
--= column x is a counter in other files: call counter_replicate('p', 'x')
SELECT counter_replicate('main.p', 'x');
--= 0
SELECT * FROM counter_warnings;

-- # one-call-is-advised-for-all-columns-that-count-in-other-files
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, m INTEGER, n INTEGER, y TEXT);
CREATE TABLE office.p(k TEXT PRIMARY KEY, m INTEGER, n INTEGER);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_untrack('main.p', 'm');
--= 1
SELECT counter_untrack('main.p', 'n');
--= 1
SELECT counter_replicate('office.p', 'm', 'n');
--= 0
INSERT INTO office.p VALUES ('a', 1, 2);
SELECT note FROM counter_pull('office');
--= columns m, n are counters in other files: call counter_replicate('p', 'm', 'n')
SELECT counter_replicate('main.p', 'm', 'n');
--= 0
SELECT * FROM main.p;
--= a|1|2|NULL
