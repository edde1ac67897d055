-- 'local=<column>': columns of a replicated table that stay in their file.

-- # a-local-column-stays-in-its-file-and-rows-that-come-get-its-default
CREATE TABLE p(k TEXT PRIMARY KEY, name TEXT, n INTEGER NOT NULL DEFAULT 0, notes TEXT DEFAULT 'none', seen TEXT UNIQUE);
INSERT INTO p VALUES('a', 'A', 1, 'mine', NULL);
SELECT counter_replicate('p', 'n', 'local=notes', 'local=seen');
--= 1
SELECT counter_replicate('p', 'n', 'local=notes', 'local=seen');
--= 0
SELECT counter_replicate('p', 'n');
--= 0
SELECT counter_replicate('p');
--= 0
SELECT column_name, state FROM counter_tracked;
--= n|tracked
--= name|regular
--= notes|local
--= seen|local
SELECT count(*) FROM counter_warnings;
--= 0
SELECT counter_change_json(change) LIKE '%notes%', counter_change_json(change) LIKE '%name%' FROM counter_changes(0);
--= 0|1
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
UPDATE other.p SET notes = 'theirs', name = 'AA', seen = 'x';
INSERT INTO other.p VALUES('b', 'B', 2, 'theirs, too', 'y');
SELECT rows_changed, note FROM counter_sync('other');
--= 2|NULL
SELECT * FROM p ORDER BY k;
--= a|AA|1|mine|NULL
--= b|B|2|none|NULL
UPDATE p SET notes = 'only here' WHERE k = 'b';
SELECT rows_changed, note FROM counter_sync('other');
--= 0|NULL
SELECT k, notes FROM other.p ORDER BY k;
--= a|theirs
--= b|theirs, too

-- # a-row-that-was-deleted-and-inserted-again-elsewhere-loses-its-local-columns
CREATE TABLE p(k TEXT PRIMARY KEY, name TEXT, n INTEGER, notes TEXT NOT NULL DEFAULT (upper('none')), more);
CREATE TABLE q(k TEXT PRIMARY KEY, notes TEXT);
INSERT INTO p VALUES('a', 'A', 1, 'mine', 'mine'), ('b', 'B', 1, 'mine', 'mine');
INSERT INTO q VALUES('a', 'mine');
SELECT counter_replicate('p', 'n', 'local=notes', 'local=more');
--= 2
SELECT counter_replicate('q', 'local=notes');
--= 1
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
DELETE FROM other.p WHERE k = 'a';
INSERT INTO other.p VALUES('a', 'A', 5, 'theirs', 'theirs');
DELETE FROM other.q;
INSERT INTO other.q VALUES('a', 'theirs');
UPDATE other.p SET name = 'BB', n = n + 1 WHERE k = 'b';
REPLACE INTO other.p VALUES('b', 'BBB', 9, 'theirs', 'theirs');
SELECT sum(rows_changed) FROM counter_pull('other');
--= 3
SELECT * FROM p ORDER BY k;
--= a|A|5|NONE|NULL
--= b|BBB|9|mine|mine
SELECT * FROM q;
--= a|NULL
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT table_name, key, change, seq, source FROM counter_changes(0);
SELECT * FROM p ORDER BY k;
--= a|A|5|NONE|NULL
--= b|BBB|9|mine|mine

-- # what-cannot-stay-is-a-sentence
CREATE TABLE p(k TEXT PRIMARY KEY, n INTEGER, a TEXT NOT NULL, b TEXT UNIQUE DEFAULT 'x', c TEXT, d TEXT DEFAULT 'x');
CREATE UNIQUE INDEX p_d ON p(lower(d));
SELECT counter_replicate('p', 'local=k');
--! counter_replicate: p: column k is part of the key, and cannot stay in this file
SELECT counter_replicate('p', 'local=z');
--! counter_replicate: p: there is no column 'z'
SELECT counter_replicate('p', 'local=');
--! counter_replicate: p: there is no column ''
SELECT counter_replicate('p', 'n', 'local=n');
--! counter_replicate: p: column n travels: counter_untrack('p', 'n') ends that, and then it can stay in this file; all files must do so
SELECT counter_replicate('p', 'local=a');
--! counter_replicate: p: column a is NOT NULL and has no DEFAULT, which rows of other files would get
SELECT counter_replicate('p', 'local=b');
--! counter_replicate: p: column b is UNIQUE and has the DEFAULT 'x', which two rows of other files would get: it must be NULL
SELECT counter_replicate('p', 'local=d');
--!~ counter_replicate: p: column d is UNIQUE *
SELECT counter_track('p', 'n', 'local=c');
--!~ counter_track: unknown option 'local=c'; *
SELECT count(*) FROM counter_tracked;
--= 0
SELECT counter_replicate('p');
--= 0
SELECT counter_replicate('p', 'local=c');
--! counter_replicate: p: column c travels: counter_untrack('p', 'c') ends that, and then it can stay in this file; all files must do so
SELECT counter_untrack('p', 'c');
--= 1
SELECT counter_replicate('p', 'local=c');
--= 0
SELECT counter_replicate('p');
--= 0
SELECT state FROM counter_tracked WHERE column_name = 'c';
--= local
SELECT counter_untrack('p', 'c');
--= 1
SELECT counter_replicate('p');
--= 0
SELECT state FROM counter_tracked WHERE column_name = 'c';
--= regular

-- # a-local-column-that-is-renamed-or-dropped-is-asked-for-and-no-other-one-travels-in-its-place
CREATE TABLE p(k TEXT PRIMARY KEY, name TEXT, notes TEXT);
INSERT INTO p VALUES('a', 'A', 'private');
SELECT counter_replicate('p', 'local=notes');
--= 1
ALTER TABLE p RENAME COLUMN notes TO memo;
SELECT counter_replicate('p');
--! counter_replicate: p: column notes, which stays in this file, is missing: if it was renamed, add 'local=<its name>' to the call; if it was dropped, call counter_untrack('p', 'notes')
UPDATE p SET name = 'B', memo = 'more private';
SELECT counter_change_json(change) LIKE '%private%' FROM counter_changes(0);
--= 0
SELECT counter_replicate('p', 'local=memo');
--= 0
SELECT counter_replicate('p');
--= 0
SELECT column_name, state FROM counter_tracked;
--= name|regular
--= memo|local
BEGIN;
CREATE TABLE fresh(k TEXT PRIMARY KEY, memo TEXT, name TEXT);
INSERT INTO fresh SELECT k, memo, name FROM p;
DROP TABLE p;
ALTER TABLE fresh RENAME TO p;
SELECT counter_replicate('p') >= 0;
--= 1
COMMIT;
SELECT column_name, state FROM counter_tracked;
--= name|regular
--= memo|local
ALTER TABLE p ADD COLUMN extra TEXT DEFAULT 'e';
SELECT counter_replicate('p', 'local=memo', 'local=extra');
--= 0
BEGIN;
CREATE TABLE fresh(k TEXT PRIMARY KEY, name TEXT, extra TEXT DEFAULT 'e');
INSERT INTO fresh SELECT k, name, extra FROM p;
DROP TABLE p;
ALTER TABLE fresh RENAME TO p;
SELECT counter_replicate('p') >= 0;
--= 1
COMMIT;
SELECT column_name, state FROM counter_tracked;
--= name|regular
--= extra|local

-- # files-that-disagree-on-a-local-column-are-passed-over-and-its-values-in-a-change-are-refused
CREATE TABLE p(k TEXT PRIMARY KEY, name TEXT, notes TEXT);
ATTACH 'other.db' AS other;
CREATE TABLE other.p(k TEXT PRIMARY KEY, name TEXT, notes TEXT);
SELECT counter_replicate('p', 'local=notes');
--= 0
SELECT counter_replicate('other.p');
--= 0
INSERT INTO p VALUES('a', 'A', 'mine');
INSERT INTO other.p VALUES('b', 'B', 'theirs');
SELECT rows_changed, note FROM counter_pull('other');
--= 0|passed over: column notes stays in main and travels in other: call counter_untrack('p', 'notes') in other, whose copy of it then stays there with counter_replicate('p', 'local=notes')
SELECT rows_changed, note FROM counter_push('other');
--= 0|passed over: column notes stays in main and travels in other: call counter_untrack('p', 'notes') in other, whose copy of it then stays there with counter_replicate('p', 'local=notes')
SELECT counter_untrack('other.p', 'notes');
--= 1
SELECT counter_replicate('other.p', 'local=notes');
--= 0
SELECT rows_changed, note FROM counter_sync('other');
--= 2|NULL
SELECT * FROM p ORDER BY k;
--= a|A|mine
--= b|B|NULL
SELECT * FROM other.p ORDER BY k;
--= a|A|NULL
--= b|B|theirs

CREATE TABLE q(k TEXT PRIMARY KEY, name TEXT, notes TEXT);
SELECT counter_replicate('q');
--= 0
INSERT INTO q VALUES('c', 'C', 'q');
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', key, change, seq, source FROM counter_changes(0) WHERE table_name = 'q';
--! counter_changes: table p: column notes stays in this file and travels at the source: call counter_untrack('p', 'notes') there, and counter_replicate('p', 'local=notes')

-- # local-columns-stay-where-the-key-changes
CREATE TABLE p(old INTEGER PRIMARY KEY, k TEXT, name TEXT, notes TEXT, n INTEGER NOT NULL DEFAULT 0);
INSERT INTO p VALUES(1, 'a', 'A', 'mine', 3);
SELECT counter_replicate('p', 'n', 'keys=assigned', 'local=notes');
--= 1
BEGIN;
CREATE TABLE fresh(k TEXT PRIMARY KEY, old INTEGER, name TEXT, notes TEXT, n INTEGER NOT NULL DEFAULT 0);
INSERT INTO fresh SELECT k, old, name, notes, n FROM p;
DROP TABLE p;
ALTER TABLE fresh RENAME TO p;
SELECT counter_replicate('p', 'n', 'keys=changed') >= 0;
--= 1
COMMIT;
SELECT column_name, state FROM counter_tracked ORDER BY 1;
--= n|tracked
--= name|regular
--= notes|local
--= old|regular
