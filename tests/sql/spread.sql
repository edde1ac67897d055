-- 'keys=spread': SQLite gives out the keys, and each file counts on from a place of its own. Places are random, so rows show
-- where their numbers lie. The worlds of property/test_spread.py do the rest.

-- # every-way-to-insert-takes-the-place-with-its-first-statement
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE said(id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT);
CREATE TABLE plain(x);
CREATE TRIGGER plain_said AFTER INSERT ON plain BEGIN INSERT INTO said(what) VALUES(new.x); END;
INSERT INTO o(who) VALUES('a'), ('b');
INSERT INTO plain VALUES('before');
SELECT counter_replicate('o', 'n', 'keys=spread');
--= 2
SELECT counter_replicate('said', 'keys=spread');
--= 1
INSERT INTO o(who) VALUES('c');
SELECT id >= 3 + (1 << 32), id = last_insert_rowid() FROM o WHERE who = 'c';
--= 1|1
INSERT INTO o(who) SELECT value FROM json_each('["d","e"]');
INSERT OR IGNORE INTO o(who) VALUES('f'), ('c');
INSERT INTO o(who) VALUES('c') ON CONFLICT(who) DO UPDATE SET n = n + 1;
SELECT group_concat(id - (SELECT id FROM o WHERE who = 'c')) FROM (SELECT id FROM o WHERE id > 2 ORDER BY id);
--= 0,1,2,3
INSERT INTO plain VALUES('through a trigger');
SELECT id > (1 << 32) FROM said WHERE id > 1;
--= 1
REPLACE INTO o(who) VALUES('a');
SELECT id > (1 << 32) FROM o WHERE who = 'a';
--= 1
SELECT DISTINCT rows FROM counter_state WHERE kind = 'spread' AND row = 1;
--= 1

-- # what-is-rolled-back-has-not-jumped-and-the-next-statement-does
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('o', 'keys=spread');
--= 0
BEGIN;
SAVEPOINT s;
INSERT INTO o(who) VALUES('a');
ROLLBACK TO s;
INSERT INTO o(who) VALUES('b');
SELECT id > (1 << 32), id = last_insert_rowid() FROM o;
--= 1|1
ROLLBACK;
SELECT count(*) FROM o;
--= 0
INSERT INTO o(who) VALUES(abs(-9223372036854775808));
--! integer overflow
INSERT INTO o(who) VALUES('c');
INSERT INTO o(who) VALUES('d');
SELECT min(id) > (1 << 32), max(id) - min(id) FROM o;
--= 1|1

-- # a-key-of-the-application-at-or-above-the-place-leads-to-a-jump-and-one-below-does-not
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('o', 'keys=spread');
--= 0
INSERT INTO o(who) VALUES('a');
INSERT INTO o VALUES(7, 'natural'), (1 << 33, 'other') ON CONFLICT DO NOTHING;
DELETE FROM o WHERE who = 'other';
INSERT INTO o(who) VALUES('b');
SELECT rows <= 2 FROM counter_state WHERE kind = 'spread' AND row = 1;
--= 1
CREATE TEMP TABLE was AS SELECT rows FROM counter_state WHERE kind = 'spread' AND row = 1;
INSERT INTO o VALUES(1 << 50, 'far');
INSERT INTO o(who) VALUES('c');
SELECT id > (1 << 50) + 1, (SELECT rows FROM counter_state WHERE kind = 'spread' AND row = 1) - was.rows FROM o, was WHERE who = 'c';
--= 1|1
UPDATE o SET id = (1 << 51) WHERE who = 'c';
BEGIN;
INSERT INTO o(who) VALUES('d');
INSERT INTO o VALUES((1 << 52), 'farther');
INSERT INTO o(who) VALUES('e');
COMMIT;
SELECT (SELECT id FROM o WHERE who = 'd') > (1 << 51), (SELECT id FROM o WHERE who = 'e') > (1 << 52);
--= 1|1
INSERT INTO o VALUES((1 << 53) - 1, 'last');
INSERT INTO o(who) VALUES('none is left');
--! o: the key 9007199254740992 lies above 9007199254740991, the highest of the table: JavaScript reads greater ones wrongly, and 'keys=spread 63' allows them
UPDATE o SET who = 'changed' WHERE who = 'last';
SELECT id FROM o WHERE who IN ('none is left', 'changed');
--= 9007199254740991

-- # a-key-above-the-limit-is-refused-and-a-merged-one-waits
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('o', 'keys=spread');
--= 0
INSERT INTO o VALUES(1 << 53, 'x');
--! o: the key 9007199254740992 lies above 9007199254740991, the highest of the table: JavaScript reads greater ones wrongly, and 'keys=spread 63' allows them
ATTACH 'far.db' AS far;
CREATE TABLE far.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('far.o', 'keys=spread 63');
--= 0
INSERT INTO far.o VALUES(1 << 60, 'the last of all');
INSERT INTO far.o(id, who) VALUES(-5, 'negative');
SELECT rows_changed, note FROM counter_pull('far');
--= 2|1 row waits: see counter_tracked()
INSERT INTO o(who) VALUES('ours') ;
SELECT who, id > (1 << 32), id < (1 << 53) FROM o ORDER BY 1;
--= negative|0|1
--= ours|1|1
SELECT state, row_key, why FROM counter_tracked WHERE state = 'waits';
--= waits|(1152921504606846976)|o: the key 1152921504606846976 lies above 9007199254740991, the highest of the table: JavaScript reads greater ones wrongly, and 'keys=spread 63' allows them
SELECT counter_replicate('o', 'keys=spread 63');
--= 0
SELECT count(*) FROM counter_pull('far');
--= 1
SELECT who FROM o WHERE id > (1 << 53);
--= the last of all
INSERT INTO o(who) VALUES('ours again');
SELECT id > (1 << 60) FROM o WHERE who = 'ours again';
--= 1
INSERT INTO o VALUES(9223372036854775807, 'the end');
INSERT INTO o VALUES(3, 'natural');
INSERT INTO o(who) VALUES('none is left');
--! database or disk is full
UPDATE o SET who = 'changed' WHERE id = 9223372036854775807;
SELECT who FROM o WHERE id IN (3, 9223372036854775807);
--= natural
--= changed

-- # numbers-that-sqlite-passes-over-lead-to-no-jump
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0);
CREATE TRIGGER before_ours AFTER INSERT ON o WHEN new.who = 'parent' BEGIN INSERT INTO o(who) VALUES('child'); END;
SELECT counter_replicate('o', 'n', 'keys=spread');
--= 0
CREATE TRIGGER behind_ours AFTER INSERT ON o WHEN new.who = 'p' BEGIN INSERT INTO o(who) VALUES('q'); END;
INSERT INTO o(who) VALUES('a');
INSERT OR IGNORE INTO o(who) VALUES('a'), ('a'), ('b');
INSERT INTO o(who) VALUES('a'), ('c') ON CONFLICT DO NOTHING;
INSERT INTO o(who) VALUES('b'), ('d') ON CONFLICT(who) DO UPDATE SET n = n + 1;
INSERT INTO o(who) VALUES('parent'), ('p');
INSERT INTO o(who) VALUES('e');
SELECT rows, (SELECT max(id) - min(id) FROM o) < 20 FROM counter_state WHERE kind = 'spread' AND row = 1;
--= 1|1

-- # a-file-that-takes-a-new-id-within-a-transaction-jumps-with-the-next-statement
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('o', 'keys=spread');
--= 0
BEGIN;
INSERT INTO o(who) VALUES('a');
SELECT counter_fork() IS NULL;
--= 0
INSERT INTO o(who) VALUES('b');
COMMIT;
SELECT max(id) - min(id) > 1, (SELECT rows FROM counter_state WHERE kind = 'spread' AND row = 1) FROM o;
--= 1|2

-- # a-sequence-that-was-cleared-or-lost-with-its-table-goes-on-where-it-was
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('o', 'keys=spread');
--= 0
INSERT INTO o(who) VALUES('a'), ('b');
CREATE TEMP TABLE was AS SELECT max(id) AS id FROM o;
DELETE FROM o WHERE who = 'b';
DELETE FROM sqlite_sequence;
INSERT INTO o(who) VALUES('c');
SELECT o.id - was.id FROM o, was WHERE who = 'c';
--= 1
UPDATE sqlite_sequence SET seq = 0 WHERE name = 'o';
BEGIN;
INSERT INTO o(who) VALUES('d');
UPDATE sqlite_sequence SET seq = 0 WHERE name = 'o';
INSERT INTO o(who) VALUES('e');
COMMIT;
SELECT o.id - was.id FROM o, was WHERE who IN ('d', 'e') ORDER BY 1;
--= 2
--= 3
SELECT rows FROM counter_state WHERE kind = 'spread' AND row = 1;
--= 1
BEGIN;
CREATE TABLE fresh(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, more TEXT);
INSERT INTO fresh(id, who) SELECT id, who FROM o;
DROP TABLE o;
ALTER TABLE fresh RENAME TO o;
SELECT counter_replicate('o') >= 0;
--= 1
COMMIT;
INSERT INTO o(who) VALUES('f');
SELECT o.id > was.id + 3, (SELECT rows FROM counter_state WHERE kind = 'spread' AND row = 1) FROM o, was WHERE who = 'f';
--= 1|2

-- # what-cannot-be-spread-is-a-sentence
CREATE TABLE a(id INTEGER PRIMARY KEY, who TEXT);
CREATE TABLE b(id TEXT PRIMARY KEY, who TEXT);
CREATE TABLE c(id INTEGER, who TEXT, PRIMARY KEY(id AUTOINCREMENT));
CREATE TABLE d("AUTOINCREMENT" TEXT DEFAULT 'autoincrement', id INTEGER PRIMARY KEY /* autoincrement */);
SELECT counter_replicate('a', 'keys=spread');
--! counter_replicate: a: without AUTOINCREMENT SQLite gives the number of a deleted row to another one, so its keys cannot be spread: `sqlite-counter adopt` adds the word, and rebuilds nothing
SELECT counter_replicate('b', 'keys=spread');
--! counter_replicate: b: 'keys=spread' is for an INTEGER PRIMARY KEY, which SQLite gives out, and the key is (id TEXT BINARY)
SELECT counter_replicate('d', 'keys=spread');
--!~ counter_replicate: d: without AUTOINCREMENT SQLite gives *
SELECT counter_replicate('c', 'keys=assigned', 'keys=spread');
--! counter_replicate: 'keys=spread' contradicts the option before it
SELECT counter_replicate('c', 'keys=spread', 'keys=assigned');
--! counter_replicate: 'keys=assigned' contradicts the option before it
SELECT counter_track('c', 'keys=spread');
--!~ counter_track: unknown option 'keys=spread'; *
SELECT counter_replicate('c', 'keys=spread');
--= 0
INSERT INTO c(who) VALUES('x');
SELECT id > (1 << 32) FROM c;
--= 1
CREATE TABLE e(id INTEGER PRIMARY KEY AUTOINCREMENT);
INSERT INTO e VALUES((1 << 53) - 5);
SELECT counter_replicate('e', 'keys=spread');
--! counter_replicate: e: the greatest key is 9007199254740987, and spread ones end at 9007199254740991: too little is left between them
SELECT counter_replicate('e', 'keys=spread 63');
--= 1

-- # a-table-with-assigned-keys-becomes-a-spread-one-and-rows-of-before-have-no-birth
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('o', 'keys=assigned');
--= 0
INSERT INTO o(who) VALUES('before');
SELECT counter_replicate('o', 'keys=spread');
--= 0
INSERT INTO o(who) VALUES('since');
INSERT INTO o VALUES(5, 'natural');
SELECT id > (1 << 32), json_extract(counter_change_json(change), '$.row.birth.id') = counter_id()
  FROM counter_changes(0) JOIN o ON key = counter_key(id) ORDER BY id;
--= 0|NULL
--= 0|NULL
--= 1|1

-- # files-that-disagree-are-passed-over-and-lines-are-refused
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
ATTACH 'other.db' AS other;
CREATE TABLE other.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('o', 'keys=spread');
--= 0
SELECT counter_replicate('other.o', 'keys=assigned');
--= 0
INSERT INTO o(who) VALUES('ours');
SELECT rows_changed, note FROM counter_push('other');
--= 0|passed over: its keys are spread in main, but not in other: call counter_replicate('o', 'keys=spread') there
INSERT INTO other.o(who) VALUES('theirs');
SELECT rows_changed, note FROM counter_pull('other');
--= 0|passed over: its keys are spread in main, but not in other: call counter_replicate('o', 'keys=spread') there
SELECT counter_replicate('other.o', 'keys=spread');
--= 0
SELECT rows_changed, note FROM counter_sync('other');
--= 2|NULL
SELECT count(*) FROM o JOIN other.o AS p USING (id, who);
--= 2
CREATE TABLE q(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('q', 'keys=assigned');
--= 0
INSERT INTO counter_changes(table_name, key, change, seq, source)
SELECT 'q', key, change, seq, source FROM counter_changes(0) WHERE table_name = 'o' AND counter_change_json(change) LIKE '%birth%';
--! counter_changes: table q: its keys are spread at the source, but not here: call counter_replicate('q', 'keys=spread')

-- # of-two-rows-under-one-number-the-first-stays-and-the-other-comes-back-under-a-new-one-with-what-hangs-on-it
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, code TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE l(id INTEGER PRIMARY KEY AUTOINCREMENT, o INTEGER REFERENCES o(id), what TEXT);
CREATE TABLE home(o INTEGER REFERENCES o(id), what TEXT);
CREATE TABLE tag(o INTEGER REFERENCES o(id), name TEXT, PRIMARY KEY(o, name));
SELECT counter_replicate('o', 'n', 'keys=spread');
--= 0
SELECT counter_replicate('l', 'keys=spread');
--= 0
SELECT counter_replicate('tag');
--= 0
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
INSERT INTO o VALUES(1 << 40, 'carl', 'c', 5);
INSERT INTO l(o, what) VALUES(1 << 40, 'of carl');
INSERT INTO other.o VALUES(1 << 40, 'dora', 'd', 7);
INSERT INTO other.l(o, what) VALUES(1 << 40, 'of dora');
INSERT INTO other.home VALUES(1 << 40, 'of dora, at home');
INSERT INTO other.tag VALUES(1 << 40, 'of dora');
UPDATE other.o SET n = n + 10;
SELECT table_name, note FROM counter_pull('other') WHERE table_name = 'o';
--= o|NULL
SELECT who, n FROM o;
--= carl|5
SELECT table_name, note FROM counter_push('other') WHERE table_name = 'o';
--= o|in other: 1 row has a number that another row had first: counter_tracked lists it, and what became of it
SELECT who, id = (1 << 40), id > (1 << 40), n FROM other.o ORDER BY who;
--= carl|1|0|5
--= dora|0|1|17
SELECT l.what, o.who FROM other.l AS l JOIN other.o AS o ON l.o = o.id UNION ALL
SELECT h.what, o.who FROM other.home AS h JOIN other.o AS o ON h.o = o.id UNION ALL
SELECT 'tag ' || t.name, o.who FROM other.tag AS t JOIN other.o AS o ON t.o = o.id ORDER BY 1;
--= of carl|carl
--= of dora|dora
--= of dora, at home|dora
--= tag of dora|dora
SELECT count(*) > 0 FROM counter_sync('other');
--= 1
SELECT l.what, o.who, o.n FROM l JOIN o ON l.o = o.id ORDER BY 1;
--= of carl|carl|5
--= of dora|dora|17
SELECT counter_table_digest('o_counters') = counter_table_digest('o_counters', 'other'), counter_table_digest('l_counters') = counter_table_digest('l_counters', 'other');
--= 1|1
SELECT state, row_key, json_extract(merged, '$.columns[0].value'), json_extract(merged, '$.columns[1].cell.value'), why GLOB 'another row had the number first: inserted again as *'
  FROM counter_tracked('other') WHERE state = 'replaced';
--= replaced|(1099511627776)|d|17|1
SELECT count(*) FROM counter_tracked WHERE state = 'replaced';
--= 0
SELECT * FROM pragma_foreign_key_check;

-- # a-row-that-comes-back-and-that-the-table-refuses-stays-listed-and-is-tried-again
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, code TEXT UNIQUE);
SELECT counter_replicate('o', 'keys=spread');
--= 0
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
INSERT INTO o VALUES(1 << 40, 'same');
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO other.o VALUES(1 << 40, 'same');
SELECT table_name, note FROM counter_push('other');
--= o|in other: 1 row has a number that another row had first: counter_tracked lists it, and what became of it
SELECT id, code FROM other.o;
--= 1099511627776|same
SELECT state, why FROM counter_tracked('other') WHERE state = 'refused';
--= refused|another row had the number first: the table refuses to take it again; each merge tries
UPDATE other.o SET code = 'changed';
SELECT count(*) FROM counter_sync('other');
--= 1
SELECT code, id > (1 << 40) FROM other.o ORDER BY id;
--= changed|0
--= same|1

-- # a-file-that-had-the-other-row-from-its-origin-lists-it-and-leaves-it-to-the-origin
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('o', 'keys=spread');
--= 0
VACUUM INTO 'origin.db';
VACUUM INTO 'third.db';
ATTACH 'origin.db' AS origin;
ATTACH 'third.db' AS third;
INSERT INTO o VALUES(1 << 40, 'first');
INSERT INTO origin.o VALUES(1 << 40, 'second');
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT table_name, key, change, seq, source FROM counter_changes(0) WHERE 0;
SELECT count(*) FROM counter_push('third') WHERE 0;
--= 0
DETACH third;
SELECT note FROM counter_sync('origin');
--= in origin: 1 row has a number that another row had first: counter_tracked lists it, and what became of it
SELECT who FROM o ORDER BY id;
--= first
SELECT count(*) FROM counter_sync('origin');
--= 1
SELECT who FROM o ORDER BY id;
--= first
--= second

-- # rows-of-the-very-transaction-that-spreads-the-table-have-numbers-from-its-place
BEGIN;
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('o', 'keys=spread');
--= 0
INSERT INTO o(who) VALUES('first');
COMMIT;
CREATE TABLE p(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('p', 'keys=assigned');
--= 0
BEGIN;
INSERT INTO p(who) VALUES('assigned');
SELECT counter_replicate('p', 'keys=spread');
--= 0
INSERT INTO p(who) VALUES('spread');
COMMIT;
SELECT who, id > (1 << 32) FROM o UNION ALL SELECT who, id > (1 << 32) FROM p ORDER BY 1;
--= assigned|0
--= first|1
--= spread|1

-- # rows-that-lose-their-numbers-together-refer-to-each-other-as-before
CREATE TABLE l(id INTEGER PRIMARY KEY AUTOINCREMENT, o INTEGER REFERENCES o(id), what TEXT);
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, above INTEGER REFERENCES o(id));
CREATE TABLE pair(id INTEGER PRIMARY KEY AUTOINCREMENT, o INTEGER, who TEXT, FOREIGN KEY(who, o) REFERENCES o(who, id));
CREATE UNIQUE INDEX o_who ON o(who, id);
SELECT counter_replicate('l', 'keys=spread');
--= 0
SELECT counter_replicate('o', 'keys=spread');
--= 0
SELECT counter_replicate('pair', 'keys=spread');
--= 0
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
PRAGMA foreign_keys = ON;
INSERT INTO o VALUES(1 << 40, 'carl', 1 << 40);
INSERT INTO o VALUES((1 << 40) - 1, 'child of carl', 1 << 40);
INSERT INTO l VALUES(1 << 40, 1 << 40, 'of carl');
INSERT INTO other.o VALUES(1 << 40, 'dora', 1 << 40);
INSERT INTO other.o VALUES((1 << 40) - 1, 'child of dora', 1 << 40);
INSERT INTO other.l VALUES(1 << 40, 1 << 40, 'of dora');
INSERT INTO other.pair(o, who) VALUES(1 << 40, 'dora');
SELECT count(*) FROM counter_sync('other');
--= 3
SELECT count(*) FROM counter_sync('other');
--= 3
SELECT a.who, b.who FROM o AS a JOIN o AS b ON b.id = a.above UNION ALL
SELECT what, who FROM l JOIN o ON o.id = l.o UNION ALL
SELECT 'pair of ' || pair.who, o.who FROM pair JOIN o ON o.id = pair.o ORDER BY 1;
--= carl|carl
--= child of carl|carl
--= child of dora|dora
--= dora|dora
--= of carl|carl
--= of dora|dora
--= pair of dora|dora
SELECT (SELECT group_concat(id || who || above) FROM (SELECT * FROM o ORDER BY id)) = (SELECT group_concat(id || who || above) FROM (SELECT * FROM other.o ORDER BY id));
--= 1
SELECT count(*) FROM counter_tracked('other') WHERE state IN ('differs', 'waits');
--= 0
SELECT * FROM pragma_foreign_key_check;

-- # a-row-that-comes-back-and-that-a-trigger-ignores-stays-listed-with-its-children
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
CREATE TABLE l(id INTEGER PRIMARY KEY AUTOINCREMENT, o INTEGER REFERENCES o(id));
CREATE TABLE closed(x);
CREATE TRIGGER ignores BEFORE INSERT ON o WHEN EXISTS(SELECT 1 FROM closed) BEGIN SELECT RAISE(IGNORE); END;
SELECT counter_replicate('o', 'keys=spread');
--= 0
SELECT counter_replicate('l', 'keys=spread');
--= 0
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
INSERT INTO o VALUES(1 << 40, 'carl');
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO other.o VALUES(1 << 40, 'dora');
INSERT INTO other.l(o) VALUES(1 << 40);
INSERT INTO other.closed VALUES(1);
SELECT count(*) FROM counter_push('other');
--= 2
SELECT state, why FROM counter_tracked('other') WHERE state = 'refused';
--= refused|another row had the number first: the table refuses to take it again; each merge tries
DELETE FROM other.closed;
SELECT count(*) FROM counter_sync('other');
--= 2
SELECT who FROM other.l AS l JOIN other.o AS o ON o.id = l.o;
--= dora

-- # a-row-comes-back-beside-a-trigger-that-ignores-what-it-has-made-before
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
CREATE TABLE known(who UNIQUE);
SELECT counter_replicate('o', 'keys=spread');
--= 0
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
CREATE TRIGGER other.knows AFTER INSERT ON o BEGIN INSERT OR IGNORE INTO known VALUES(NEW.who); END;
INSERT INTO o VALUES(1 << 40, 'carl');
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO other.o VALUES(1 << 40, 'dora');
SELECT note FROM counter_push('other');
--= in other: 1 row has a number that another row had first: counter_tracked lists it, and what became of it
SELECT who, id > (1 << 40) FROM other.o ORDER BY id;
--= carl|0
--= dora|1
SELECT who FROM other.known ORDER BY 1;
--= dora

-- # a-row-that-still-stands-under-its-number-and-is-written-to-keeps-it-and-does-not-come-back-as-well
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, code TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE l(id INTEGER PRIMARY KEY AUTOINCREMENT, o INTEGER REFERENCES o(id));
SELECT counter_replicate('o', 'n', 'keys=spread');
--= 0
SELECT counter_replicate('l', 'keys=spread');
--= 0
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
INSERT INTO o VALUES(1 << 40, 'carl', 'c', 5);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO other.o VALUES(1 << 40, 'dora', 'd', 7);
INSERT INTO other.l(o) VALUES(1 << 40);
DELETE FROM o;
SELECT note FROM counter_push('other') WHERE table_name = 'o';
--= 1 row differs in other: see counter_tracked('other'); in other: 1 row has a number that another row had first: counter_tracked lists it, and what became of it
UPDATE other.o SET code = 'changed', n = n + 1;
SELECT count(*) FROM counter_sync('other');
--= 2
SELECT id, who, code, n FROM o;
--= 1099511627776|dora|changed|8

-- # a-row-that-the-table-refused-comes-back-though-the-other-one-was-deleted-and-written-to
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, code TEXT UNIQUE);
CREATE TABLE l(id INTEGER PRIMARY KEY AUTOINCREMENT, o INTEGER REFERENCES o(id));
SELECT counter_replicate('o', 'keys=spread');
--= 0
SELECT counter_replicate('l', 'keys=spread');
--= 0
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
INSERT INTO o VALUES(1 << 40, 'carl', 'same');
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO other.o VALUES(1 << 40, 'dora', 'same');
SELECT count(*) FROM counter_sync('other');
--= 2
INSERT INTO other.l(o) VALUES(1 << 40);
DELETE FROM o;
SELECT count(*) FROM counter_push('other');
--= 2
UPDATE other.o SET code = 'changed';
SELECT count(*) FROM counter_sync('other');
--= 2
SELECT who, code, id > (1 << 40) FROM other.o ORDER BY id;
--= carl|changed|0
--= dora|same|1

-- # a-table-whose-keys-were-spread-here-before-is-not-spread-again-unless-no-other-file-has-its-rows
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
SELECT counter_replicate('o', 'keys=spread');
--= 0
INSERT INTO o(who) VALUES('a');
SELECT counter_untrack('o');
--= 0
SELECT counter_replicate('o', 'keys=spread');
--! counter_replicate: o: its keys were spread in this file before, and each row that another file has, too, would be there twice: take a copy of that file; if no other file has its rows, add 'values=again'
SELECT counter_replicate('o', 'keys=spread', 'values=again');
--= 1
INSERT INTO o(who) VALUES('b');
SELECT count(*) FROM o;
--= 2

-- # a-row-whose-number-belongs-to-one-that-the-table-refuses-is-taken-off-and-counts-for-itself-again
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, code TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE l(id INTEGER PRIMARY KEY AUTOINCREMENT, o INTEGER REFERENCES o(id), what TEXT);
SELECT counter_replicate('o', 'n', 'keys=spread');
--= 0
SELECT counter_replicate('l', 'keys=spread');
--= 0
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
INSERT INTO o VALUES(1 << 40, 'carl', 'c', 5);
INSERT INTO l(o, what) VALUES(1 << 40, 'of carl');
INSERT INTO other.o VALUES(1 << 40, 'dora', 'd', 7), (7, 'in the way', 'c', 0);
INSERT INTO other.l(o, what) VALUES(1 << 40, 'of dora');
SELECT count(*) FROM counter_push('other');
--= 2
SELECT who, id > (1 << 40), n FROM other.o ORDER BY who;
--= dora|1|7
--= in the way|0|0
SELECT row_key, column_name, merged, why FROM counter_tracked('other') WHERE state = 'waits' AND column_name IN ('n', 'who') ORDER BY 2;
--= (1099511627776)|n|5|UNIQUE constraint failed: o.code: the row (7) has code 'c'
--= (1099511627776)|who|carl|UNIQUE constraint failed: o.code: the row (7) has code 'c'
UPDATE other.o SET n = n + 10, code = 'e' WHERE who = 'dora';
UPDATE other.o SET code = 'free' WHERE who = 'in the way';
SELECT count(*) FROM counter_sync('other');
--= 2
SELECT who, code, n FROM o ORDER BY who;
--= carl|c|5
--= dora|e|17
--= in the way|free|0
SELECT o.who, l.what FROM other.o JOIN other.l ON o.id = l.o ORDER BY 2;
--= carl|of carl
--= dora|of dora
SELECT count(*) FROM counter_tracked('other') WHERE state IN ('waits', 'differs');
--= 0

-- # a-cluster-takes-no-table-with-spread-keys
CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('o', 'n', 'keys=spread');
--= 0
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
CREATE VIRTUAL TABLE temp.c USING counter_cluster(o_counters, replicas='main other');
--! c: the table o cannot be opened in any replica: o is a tracked table there, and a cluster takes only counter tables; counter_sync merges tracked ones

-- # two-files-that-were-replicated-apart-and-gave-one-number-to-two-rows-are-told-to-answer-neither-way
ATTACH 'office.db' AS office;
CREATE TABLE main.logins(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
CREATE TABLE office.logins(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT);
INSERT INTO main.logins(who) VALUES ('ann');
INSERT INTO office.logins(who) VALUES ('bob');
SELECT counter_replicate('main.logins', 'keys=spread');
--= 1
SELECT counter_replicate('office.logins', 'keys=spread');
--= 1
SELECT * FROM counter_sync('office');
--! counter_sync: table logins: two files began to replicate it apart, and 1 row differs that both had: row (1), column who: TEXT 'ann' here, TEXT 'bob' in office: call counter_replicate('logins', 'values=newest') in the file whose values win, or counter_replicate('logins', 'values=oldest') in the other; what was written since then stays newer; if they are two rows that got one number, make neither call, which would delete one of them: merge such files before they are replicated, as docs/merge.md describes
SELECT main.logins.who, office.logins.who FROM main.logins JOIN office.logins USING (id);
--= ann|bob

-- # the-number-of-a-row-that-waits-is-refused-to-another-row
ATTACH 'till.db' AS till;
CREATE TABLE main.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, code TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE till.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, code TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('main.o', 'n', 'keys=spread');
--= 0
SELECT counter_replicate('till.o', 'n', 'keys=spread');
--= 0
INSERT INTO main.o VALUES (1 << 40, 'ann', 'C', 5);
INSERT INTO till.o(who, code) VALUES ('eve', 'C');
SELECT rows_changed FROM counter_push('till');
--= 1
SELECT count(*) FROM counter_tracked('till') WHERE state = 'waits';
--= 3
INSERT INTO till.o VALUES (1 << 40, 'bob', 'D', 1);
--! o: the number of the row (1099511627776) is that of a row of another file, which waits: see counter_tracked, and give this row another number, or none
INSERT OR IGNORE INTO till.o VALUES (1 << 40, 'bob', 'D', 1);
--! o: the number of the row (1099511627776) is that of a row of another file, which waits: see counter_tracked, and give this row another number, or none
INSERT OR REPLACE INTO till.o VALUES (1 << 40, 'bob', 'D', 1);
--! o: the number of the row (1099511627776) is that of a row of another file, which waits: see counter_tracked, and give this row another number, or none
UPDATE till.o SET id = 1 << 40;
--! o: the number of the row (1099511627776) is that of a row of another file, which waits: see counter_tracked, and give this row another number, or none
SELECT who, code FROM till.o;
--= eve|C
SAVEPOINT gives_way;
DELETE FROM till.o;
INSERT INTO till.o VALUES (1 << 40, 'ann', 'C', 1);
SELECT who, code, n FROM till.o;
--= ann|C|6
ROLLBACK TO gives_way;
RELEASE gives_way;
UPDATE till.o SET code = 'D';
SELECT rows_changed FROM counter_sync('till');
--= 1
SELECT who, code, n FROM till.o ORDER BY who;
--= ann|C|5
--= eve|D|0
SELECT count(*) FROM counter_tracked('till') WHERE row_key IS NOT NULL;
--= 0

-- # a-row-that-the-table-refuses-to-take-again-comes-back-in-its-file-and-not-in-a-copy-of-that
ATTACH 'till.db' AS till;
CREATE TABLE main.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE till.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, n INTEGER NOT NULL DEFAULT 0);
CREATE TRIGGER main.alone BEFORE INSERT ON o WHEN NEW.who = 'ann' AND EXISTS (SELECT 1 FROM o WHERE who = 'bob') BEGIN SELECT RAISE(ABORT, 'not beside bob'); END;
SELECT counter_replicate('main.o', 'n', 'keys=spread');
--= 0
SELECT counter_replicate('till.o', 'n', 'keys=spread');
--= 0
INSERT INTO till.o VALUES (1 << 40, 'bob', 1);
-- The clock has milliseconds; this takes some.
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO main.o VALUES (1 << 40, 'ann', 10);
SELECT rows_changed FROM counter_pull('till');
--= 1
SELECT who, n FROM main.o;
--= bob|1
SELECT state, why FROM counter_tracked WHERE row_key IS NOT NULL;
--= refused|another row had the number first: the table refuses to take it again; each merge tries
VACUUM INTO 'copy.db';
ATTACH 'copy.db' AS copy;
DELETE FROM till.o;
SELECT count(*) FROM counter_pull('till');
--= 1
SELECT count(*) FROM counter_sync('copy');
--= 1
SELECT count(*) FROM counter_sync('till');
--= 1
SELECT who, n FROM main.o ORDER BY who;
--= ann|10
SELECT who, n FROM copy.o ORDER BY who;
--= ann|10
SELECT state, substr(why, 1, 34), substr(why, 71) FROM counter_tracked('copy') WHERE row_key IS NOT NULL;
--= replaced|another row had the number first: | inserts it again; this file had that id before it was copied, moved or restored: if the row is missing in all files, insert it here

-- # a-row-that-comes-back-under-another-number-keeps-its-parent-which-another-file-has-deleted
PRAGMA foreign_keys = ON;
ATTACH 'till.db' AS till;
CREATE TABLE main.customers(id TEXT PRIMARY KEY NOT NULL);
CREATE TABLE till.customers(id TEXT PRIMARY KEY NOT NULL);
CREATE TABLE main.orders(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, customer TEXT REFERENCES customers(id));
CREATE TABLE till.orders(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, customer TEXT REFERENCES customers(id));
CREATE TABLE main.lines(id INTEGER PRIMARY KEY AUTOINCREMENT, orders INTEGER NOT NULL REFERENCES orders(id), item TEXT);
CREATE TABLE till.lines(id INTEGER PRIMARY KEY AUTOINCREMENT, orders INTEGER NOT NULL REFERENCES orders(id), item TEXT);
SELECT counter_replicate('main.customers');
--= 0
SELECT counter_replicate('till.customers');
--= 0
SELECT counter_replicate('main.orders', 'keys=spread');
--= 0
SELECT counter_replicate('till.orders', 'keys=spread');
--= 0
SELECT counter_replicate('main.lines', 'keys=spread');
--= 0
SELECT counter_replicate('till.lines', 'keys=spread');
--= 0
INSERT INTO main.customers VALUES ('C');
SELECT count(*) FROM counter_sync('till');
--= 3
INSERT INTO till.orders VALUES (1 << 40, 'bob', NULL);
DELETE FROM till.customers;
-- The clock has milliseconds; this takes some.
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO main.orders VALUES (1 << 40, 'ann', 'C');
INSERT INTO main.lines(orders, item) VALUES (1 << 40, 'tea of ann');
SELECT count(*) FROM counter_sync('till');
--= 3
SELECT who, customer, item FROM main.orders LEFT JOIN main.lines ON orders.id = orders ORDER BY who;
--= ann|C|tea of ann
--= bob|NULL|NULL
SELECT state, why GLOB 'FOREIGN KEY constraint failed: the row (*) of orders refers to it by customer' FROM counter_tracked WHERE table_name = 'customers' AND row_key IS NOT NULL;
--= differs|1
SELECT who FROM till.orders;
--= bob
UPDATE main.orders SET customer = NULL;
SELECT count(*) FROM counter_sync('till');
--= 3
SELECT who, customer, item FROM till.orders LEFT JOIN till.lines ON orders.id = orders ORDER BY who;
--= ann|NULL|tea of ann
--= bob|NULL|NULL
SELECT count(*) FROM main.customers;
--= 0

-- # a-row-that-refers-to-itself-comes-back-though-no-row-has-its-number-any-more
PRAGMA foreign_keys = ON;
ATTACH 'till.db' AS till;
CREATE TABLE main.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, code TEXT UNIQUE, root INTEGER REFERENCES o(id));
CREATE TABLE till.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, code TEXT UNIQUE, root INTEGER REFERENCES o(id));
SELECT counter_replicate('main.o', 'keys=spread');
--= 0
SELECT counter_replicate('till.o', 'keys=spread');
--= 0
INSERT INTO till.o VALUES (1 << 40, 'bob', 'B', NULL);
-- The clock has milliseconds; this takes some.
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO main.o VALUES (1 << 40, 'ann', NULL, 1 << 40);
INSERT INTO main.o(who, code, root) VALUES ('eve', 'B', 1 << 40);
SELECT count(*) FROM counter_sync('till');
--= 1
SELECT o.who, root.who FROM main.o LEFT JOIN main.o AS root ON root.id = o.root ORDER BY o.who;
--= ann|ann
--= eve|ann
DELETE FROM till.o WHERE who = 'bob';
SELECT count(*) FROM counter_sync('till');
--= 1
SELECT o.who, root.who, o.id > (1 << 40) FROM till.o LEFT JOIN till.o AS root ON root.id = o.root ORDER BY o.who;
--= ann|ann|1
--= eve|ann|1
SELECT state FROM counter_tracked WHERE row_key IS NOT NULL;
--= replaced

-- # a-row-that-is-kept-under-its-number-by-a-write-is-not-inserted-again-as-well
ATTACH 'till.db' AS till;
CREATE TABLE main.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE till.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE main.l(id INTEGER PRIMARY KEY AUTOINCREMENT, o INTEGER NOT NULL REFERENCES o(id), x TEXT);
CREATE TABLE till.l(id INTEGER PRIMARY KEY AUTOINCREMENT, o INTEGER NOT NULL REFERENCES o(id), x TEXT);
SELECT counter_replicate('main.o', 'n', 'keys=spread');
--= 0
SELECT counter_replicate('till.o', 'n', 'keys=spread');
--= 0
SELECT counter_replicate('main.l', 'keys=spread');
--= 0
SELECT counter_replicate('till.l', 'keys=spread');
--= 0
INSERT INTO till.o VALUES (1 << 40, 'bob', 1);
DELETE FROM till.o;
-- The clock has milliseconds; this takes some.
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO main.o VALUES (1 << 40, 'ann', 10);
INSERT INTO main.l(o, x) VALUES (1 << 40, 'of ann');
SELECT count(*) FROM counter_sync('till');
--= 2
UPDATE main.o SET n = n + 1;
SELECT count(*) FROM counter_sync('till');
--= 2
UPDATE main.o SET who = 'anna';
SELECT count(*) FROM counter_sync('till');
--= 2
SELECT who, n, x FROM till.o LEFT JOIN till.l ON o.id = l.o;
--= anna|11|of ann
SELECT state, why FROM counter_tracked WHERE row_key IS NOT NULL;
--= replaced|another row had the number first: inserted again as 1099511627776

-- # who-inserted-a-row-under-the-number-of-a-deleted-one-learns-that-the-file-of-that-may-not-know-it
ATTACH 'till.db' AS till;
ATTACH 'first.db' AS first;
CREATE TABLE main.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE till.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE first.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('main.o', 'n', 'keys=spread');
--= 0
SELECT counter_replicate('till.o', 'n', 'keys=spread');
--= 0
SELECT counter_replicate('first.o', 'n', 'keys=spread');
--= 0
INSERT INTO first.o VALUES (1 << 40, 'bob', 1);
-- The clock has milliseconds; this takes some.
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO till.o VALUES (1 << 40, 'ann', 10);
SELECT rows_changed FROM counter_pull('till');
--= 1
DELETE FROM till.o;
SELECT rows_changed FROM counter_pull('till');
--= 1
INSERT INTO main.o VALUES (1 << 40, 'eve', 100);
SELECT count(*) FROM counter_pull('first');
--= 1
SELECT who, n FROM main.o;
--= bob|1
SELECT state, substr(why, 1, 34), substr(why, 71), json_extract(merged, '$.columns[0].cell.value') FROM counter_tracked WHERE row_key IS NOT NULL;
--= replaced|another row had the number first: | inserts it again; the number was that of a row deleted there: if the row is missing in all files, insert it here|100

-- # a-row-with-a-bounded-counter-comes-back-with-what-its-file-may-take
ATTACH 'till.db' AS till;
CREATE TABLE main.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE till.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('main.o', 'n', 'keys=spread');
--= 0
SELECT counter_replicate('till.o', 'n', 'keys=spread');
--= 0
SELECT counter_bound('main.o', 'n');
--= 0
INSERT INTO till.o VALUES (1 << 40, 'bob', 1);
-- The clock has milliseconds; this takes some.
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO main.o VALUES (1 << 40, 'ann', 10);
INSERT INTO main.o_counters(o_counters, id, n) SELECT 'grant ' || counter_id('till'), 1 << 40, 4;
SELECT rows_changed FROM counter_pull('till');
--= 1
SELECT who, n FROM main.o ORDER BY who;
--= ann|6
--= bob|1
SELECT sum(rights) FROM counter_rights('o') WHERE id = counter_id();
--= 6

-- # a-row-that-comes-back-keeps-what-refers-to-another-column-than-the-number
PRAGMA foreign_keys = ON;
ATTACH 'till.db' AS till;
CREATE TABLE main.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, code INTEGER UNIQUE, root INTEGER REFERENCES o(code));
CREATE TABLE till.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, code INTEGER UNIQUE, root INTEGER REFERENCES o(code));
SELECT counter_replicate('main.o', 'keys=spread');
--= 0
SELECT counter_replicate('till.o', 'keys=spread');
--= 0
INSERT INTO till.o VALUES (1 << 40, 'bob', 7, 7);
-- The clock has milliseconds; this takes some.
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO main.o VALUES (1 << 40, 'ann', 1 << 40, 1 << 40);
SELECT count(*) FROM counter_sync('till');
--= 1
SELECT count(*) FROM counter_sync('till');
--= 1
SELECT who, id = 1 << 40, code = 1 << 40, root = 1 << 40 FROM till.o ORDER BY who;
--= ann|0|1|1
--= bob|1|0|0

-- # a-trigger-that-rolls-back-while-a-row-comes-back-fails-the-merge-and-changes-nothing
ATTACH 'till.db' AS till;
CREATE TABLE main.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE till.o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('main.o', 'n', 'keys=spread');
--= 0
SELECT counter_replicate('till.o', 'n', 'keys=spread');
--= 0
CREATE TRIGGER main.alone BEFORE INSERT ON o WHEN NEW.who = 'ann' AND EXISTS (SELECT 1 FROM o WHERE who = 'bob') BEGIN SELECT RAISE(ROLLBACK, 'not beside bob'); END;
INSERT INTO till.o VALUES (1 << 40, 'bob', 1);
-- The clock has milliseconds; this takes some.
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
INSERT INTO main.o VALUES (1 << 40, 'ann', 10);
SELECT rows_changed FROM counter_pull('till');
--! counter_pull: o_counters: a constraint or a trigger of the tracked table o rolled back the transaction
SELECT rows_changed FROM counter_pull('till');
--! counter_pull: o_counters: a constraint or a trigger of the tracked table o rolled back the transaction
SELECT who, n FROM main.o;
--= ann|10
DROP TRIGGER main.alone;
SELECT rows_changed FROM counter_pull('till');
--= 1
SELECT who, n FROM main.o ORDER BY who;
--= ann|10
--= bob|1
