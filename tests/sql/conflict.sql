-- A conflict clause of an outer statement reaches a counter table through triggers: OR REPLACE
-- sets, OR IGNORE skips.

-- # replace-with-a-trigger-that-inserts-replaces-there-too
CREATE TABLE page(path PRIMARY KEY, title);
CREATE VIRTUAL TABLE v USING counter(path PRIMARY KEY, n COUNTER);
CREATE TRIGGER counts AFTER INSERT ON page BEGIN INSERT INTO v VALUES(new.path, 1); END;
INSERT INTO page VALUES('/', 'a');
SELECT * FROM v;
--= /|1
INSERT INTO v VALUES('/', 5);
REPLACE INTO page VALUES('/', 'b');
SELECT * FROM v;
--= /|1
INSERT INTO v VALUES('/', 5);
INSERT OR REPLACE INTO page VALUES('/', 'b');
REPLACE INTO page VALUES('/new', 'b');
SELECT * FROM v;
--= /|1
--= /new|1
SELECT * FROM page;
--= /|b
--= /new|b

-- # replace-wins-against-or-abort-in-the-trigger
CREATE TABLE page(path PRIMARY KEY, title);
CREATE VIRTUAL TABLE v USING counter(path PRIMARY KEY, n COUNTER);
CREATE TRIGGER counts AFTER INSERT ON page BEGIN INSERT OR ABORT INTO v VALUES(new.path, 1); END;
INSERT INTO page VALUES('/', 'a');
REPLACE INTO page VALUES('/', 'b');
SELECT * FROM v;
--= /|1

-- # replace-with-a-trigger-that-updates-counts
CREATE TABLE page(path PRIMARY KEY, title);
CREATE VIRTUAL TABLE v USING counter(path PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('/', 0);
CREATE TRIGGER counts AFTER INSERT ON page BEGIN UPDATE v SET n = n + 1 WHERE path = new.path; END;
REPLACE INTO page VALUES('/', 'a');
REPLACE INTO page VALUES('/', 'b');
INSERT OR REPLACE INTO page VALUES('/', 'c');
SELECT * FROM v;
--= /|3

-- # update-or-replace-with-a-trigger-replaces-there-too
CREATE TABLE page(path PRIMARY KEY, title);
CREATE VIRTUAL TABLE v USING counter(path PRIMARY KEY, n COUNTER);
CREATE TRIGGER counts AFTER UPDATE ON page BEGIN INSERT INTO v VALUES(new.path, 1); END;
INSERT INTO page VALUES('/', 'a'), ('/b', 'b');
UPDATE page SET title = 'x' WHERE path = '/';
UPDATE OR REPLACE page SET path = '/' WHERE path = '/b';
SELECT * FROM v;
--= /|1

-- # or-ignore-with-a-trigger-skips-rows-that-are-there
CREATE TABLE hit(path);
CREATE VIRTUAL TABLE v USING counter(path PRIMARY KEY, n COUNTER);
CREATE TRIGGER counts AFTER INSERT ON hit BEGIN INSERT INTO v VALUES(new.path, 1); END;
INSERT INTO v VALUES('/gone', 1);
DELETE FROM v;
INSERT OR IGNORE INTO hit VALUES('/'), ('/gone'), ('/');
SELECT * FROM v;
--= /gone|1
--= /|1
SELECT count(*) FROM hit;
--= 3
INSERT INTO hit VALUES('/'), ('/gone');
SELECT * FROM v;
--= /gone|2
--= /|2

-- # or-fail-with-a-trigger-keeps-what-came-before
--@ not-utf-16
CREATE TABLE hit(path);
CREATE VIRTUAL TABLE v USING counter(path TEXT PRIMARY KEY, n COUNTER);
CREATE TRIGGER counts AFTER INSERT ON hit BEGIN INSERT INTO v VALUES(new.path, 1); END;
INSERT INTO v(v, path) VALUES('purge below', '/');
INSERT OR FAIL INTO hit VALUES('/'), ('.'), ('/');
--!~ v: the key ('.') is below a floor of the table*
SELECT * FROM v;
--= /|1

-- # counting-triggers-work-with-an-untrusted-schema
--@ trusted-schema off
CREATE TABLE hit(path);
CREATE VIRTUAL TABLE v USING counter(path PRIMARY KEY, n COUNTER);
CREATE TRIGGER counts AFTER INSERT ON hit BEGIN INSERT INTO v VALUES(new.path, 1); END;
INSERT INTO hit VALUES('/'), ('/');
SELECT * FROM v;
--= /|2
CREATE VIEW top AS SELECT * FROM v ORDER BY n DESC;
SELECT * FROM top;
--= /|2
CREATE TRIGGER pulls AFTER DELETE ON hit BEGIN SELECT * FROM counter_pull('x'); END;
DELETE FROM hit;
--! unsafe use of virtual table "counter_pull"
CREATE VIEW pulled AS SELECT * FROM counter_pull('x');
SELECT * FROM pulled;
--! unsafe use of virtual table "counter_pull"

-- # a-source-that-went-back-and-counted-again-is-recorded
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1), ('z', 1);
SELECT * FROM counter_pull('phone');
--= v|2|2|0|NULL
-- as if phone had been younger then, and had been restored since
UPDATE counter_sources SET number = number + 100;
INSERT INTO phone.v VALUES('x', 1), ('y', 1);
SELECT rows_changed, conflicts FROM counter_pull('phone');
--= 2|2
SELECT "table", "key", "column", id = counter_id('phone'), clock, value, their_clock, their_value, why FROM counter_conflicts ORDER BY "key";
--= v|('x')|n|1|1|1|2|2|source
--= v|('y')|n|1|NULL|NULL|1|1|source
INSERT INTO v VALUES('z', 1);
SELECT * FROM v;
--= x|2
--= z|2
--= y|1
