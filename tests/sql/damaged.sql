-- Stored tables that are not what they should be: a sentence, and nothing changed.

-- # a-malformed-cell-is-an-error-that-names-table-column-and-key
CREATE VIRTUAL TABLE v USING counter(k TEXT, j INTEGER, a COUNTER, b COUNTER, PRIMARY KEY(k, j));
INSERT INTO v VALUES('x', 1, 1, 1), ('y', 2, 2, 2);
INSERT INTO v(v) VALUES('optimize');
UPDATE v_cells SET b = substr(b, 1, 5) WHERE k = 'x';
INSERT INTO v(v) VALUES('optimize');
SELECT k, a FROM v;
--= x|1
--= y|2
SELECT * FROM v;
--! v: column b of ('x', 1): the cell is truncated
INSERT INTO v(k, j, a) VALUES('x', 1, 1);
--!~ v: column b of ('x', 1): the cell *
DELETE FROM v WHERE k = 'x';
--!~ v: column b of ('x', 1): the cell *
UPDATE v SET a = a + 1;
--!~ v: column b of ('x', 1): the cell *
UPDATE v SET b = 5;
--! v: column b of ('x', 1): the cell is truncated
INSERT INTO v(v, k, j) VALUES('reset b', 'x', 1);
--!~ v: column b of ('x', 1): the cell *
SELECT * FROM v WHERE k = 'y';
--= y|2|2|2
INSERT INTO v(v) VALUES('optimize');
UPDATE v_cells SET a = x'c302' WHERE k = 'y';
INSERT INTO v(v) VALUES('optimize');
SELECT * FROM v WHERE k = 'y';
--! v: column a of ('y', 2): the cell is of a newer format than 2

-- # integrity-check-finds-an-index-that-disagrees
--@ since 3.33
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE other(k TEXT, UNIQUE(k));
INSERT INTO v VALUES('x', 1);
INSERT INTO other VALUES('y');
PRAGMA writable_schema = ON;
UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_other_1')
 WHERE name = 'sqlite_autoindex_v_cells_1';
--@ reopen
INSERT INTO v(v) VALUES('integrity-check');
--!~ v: integrity-check: *sqlite_autoindex_v_cells_1*

-- # a-missing-stored-table
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE v_cells;
--@ reopen
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it is missing

-- # a-view-where-the-stored-table-should-be
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE v_cells;
CREATE VIEW v_cells AS SELECT 1 AS _id, 'x' AS k, NULL AS n;
--@ reopen
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it is not an ordinary table but a view
SELECT * FROM counter_sync('nosuch');
--! counter_sync: 'nosuch' is neither an attached database, nor a database file that can be opened, nor a directory

-- # stored-tables-of-another-shape
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, k TEXT, n BLOB);
--@ reopen
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it has no UNIQUE constraint over the key
DROP TABLE v_cells;
CREATE TABLE v_cells(id INTEGER PRIMARY KEY, k TEXT, n BLOB, UNIQUE(k));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: its row id is not _id but id
DROP TABLE v_cells;
CREATE TABLE v_cells(k TEXT, n BLOB, UNIQUE(k));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it has no row id _id
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, k TEXT, n INTEGER, UNIQUE(k));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: a column is neither a BLOB nor part of the key: n
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, k TEXT, UNIQUE(k));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it has no counter
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, k TEXT, n BLOB GENERATED ALWAYS AS (x'c102'), UNIQUE(k));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: generated column n
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, k TEXT, n BLOB, UNIQUE(k)) WITHOUT ROWID;
SELECT * FROM v;
--! v: the stored table v_cells is damaged: its row id is not _id
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, k "TEXT, x HIDDEN", n BLOB, UNIQUE(k));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: the type of a column is not plain: k
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, k TEXT, oid BLOB, UNIQUE(k));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: a column has the reserved name oid
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, other TEXT, n BLOB, UNIQUE(other));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it has other columns than declared
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, k TEXT, n BLOB, UNIQUE(k), UNIQUE(n));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it has two UNIQUE constraints

-- # a-newer-file-is-refused-for-reading-and-writing
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
UPDATE counter_replica SET format = 9;
INSERT INTO v VALUES('x', 1);
--! v: the file was written by a newer version: format 9, this library knows 3; install a newer sqlite-counter
--@ reopen
SELECT * FROM v;
--! v: the file was written by a newer version: format 9, this library knows 3; install a newer sqlite-counter
SELECT counter_table_digest('v');
--! counter_table_digest: the file was written by a newer version: format 9, this library knows 3; install a newer sqlite-counter
SELECT * FROM counter_digests('v', 4);
--! counter_digests: the file was written by a newer version: format 9, this library knows 3; install a newer sqlite-counter
SELECT * FROM counter_floors('v');
--! counter_floors: the file was written by a newer version: format 9, this library knows 3; install a newer sqlite-counter
SELECT * FROM counter_purge('v');
--! counter_purge: the file was written by a newer version: format 9, this library knows 3; install a newer sqlite-counter
SELECT * FROM counter_size('v');
--! counter_size: the file was written by a newer version: format 9, this library knows 3; install a newer sqlite-counter
SELECT * FROM counter_ids('v');
--! counter_ids: the file was written by a newer version: format 9, this library knows 3; install a newer sqlite-counter
UPDATE v SET n = 5 WHERE k = 'x';
--! v: the file was written by a newer version: format 9, this library knows 3; install a newer sqlite-counter
ALTER TABLE v RENAME TO w;
--! v: the file was written by a newer version: format 9, this library knows 3; install a newer sqlite-counter
DROP TABLE v;
--! attempt to write a readonly database
UPDATE counter_replica SET format = 1;
SELECT * FROM v;
--! v: the file is of format 1, which was never released: this library knows format 3
UPDATE counter_replica SET format = 3;
CREATE VIRTUAL TABLE empty USING counter(k TEXT PRIMARY KEY, n COUNTER);
UPDATE counter_replica SET format = 9;
--@ reopen
ALTER TABLE empty RENAME TO w;
--! empty: the file was written by a newer version: format 9, this library knows 3; install a newer sqlite-counter
DROP TABLE empty;
--! attempt to write a readonly database
SELECT name FROM counter_tables ORDER BY 1;
--= empty
--= v

-- # a-lost-identity-says-what-to-run
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
DELETE FROM counter_replica;
SELECT * FROM v;
--= x|1
INSERT INTO v VALUES('x', 1);
--! v: main has no replica id: run SELECT counter_init() once
INSERT INTO v(v) VALUES('integrity-check');
--! v: integrity-check: main has no replica id: run SELECT counter_init() once
SELECT length(counter_init());
--= 36
INSERT INTO v VALUES('x', 1);
SELECT * FROM v;
--= x|2

-- # a-damaged-source-changes-nothing
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1);
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
UPDATE phone.counter_replica SET format = 4;
SELECT * FROM counter_pull('phone');
--! counter_pull: the giving file: the file was written by a newer version: format 4, this library knows 3; install a newer sqlite-counter
SELECT * FROM counter_push('phone');
--! counter_push: the taking file: the file was written by a newer version: format 4, this library knows 3; install a newer sqlite-counter
UPDATE phone.counter_replica SET format = 3, id = x'00';
SELECT * FROM counter_pull('phone');
--! counter_pull: the giving file: counter_replica is damaged: an id of 1 bytes instead of 16
DELETE FROM phone.counter_replica;
SELECT * FROM counter_pull('phone');
--! counter_pull: the giving file has counter tables but no replica id: it is damaged
DROP TABLE phone.counter_tables;
CREATE VIEW phone.counter_tables AS SELECT 'v' AS name, 'v' AS birth;
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_tables is damaged: it is not an ordinary table but a view
SELECT count(*) FROM main.v;
--= 0

-- # a-source-with-a-view-for-its-stored-table
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE phone.v_cells;
CREATE VIEW phone.v_cells AS SELECT 1 AS _id, 'x' AS k, x'c102' AS n;
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: v_cells is damaged: it is not an ordinary table but a view
SELECT * FROM counter_pull('phone.db');
--! counter_pull: table v: v_cells is damaged: it is not an ordinary table but a view

-- # a-source-whose-key-is-null
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE phone.v_cells;
CREATE TABLE phone.v_cells(_id INTEGER PRIMARY KEY, k TEXT, n BLOB, UNIQUE(k));
INSERT INTO phone.v_cells VALUES(1, NULL, x'c102');
SELECT * FROM counter_pull('phone');
--! counter_pull: table v: key column k of the giving file is NULL

-- # a-source-that-names-reserved-tables
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
UPDATE phone.counter_tables SET birth = 'counter_x';
SELECT * FROM counter_pull('phone');
--! counter_pull: table counter_x: counter_x: names that begin with counter_ are reserved, such as counter_x
UPDATE phone.counter_tables SET birth = 'sqlite_master';
SELECT * FROM counter_pull('phone');
--!~ counter_pull: table sqlite_master: *
UPDATE phone.counter_tables SET birth = 'x" (y); --';
SELECT * FROM counter_pull('phone');
--~ *|0|0|0|created in main, which was empty
SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY 1;
--= counter_conflicts
--= counter_journal
--= counter_peers
--= counter_replica
--= counter_requests
--= counter_segments
--= counter_sources
--= counter_state
--= counter_tables
--= x" (y); --
--= x" (y); --_cells

-- # a-source-whose-lists-would-run-its-own-sql
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE phone.counter_tables;
CREATE TABLE phone.counter_tables(x, name AS (upper(x)), birth AS (upper(x)));
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_tables is damaged: generated column name
DROP TABLE phone.counter_tables;
CREATE TABLE phone.counter_tables(name, birth, token);
INSERT INTO phone.counter_tables VALUES('v', '', zeroblob(16));
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_tables is damaged: a table without a name
UPDATE phone.counter_tables SET name = NULL, birth = 'v';
SELECT * FROM counter_pull('phone.db');
--! counter_pull: counter_tables is damaged: a table without a name
DROP TABLE phone.counter_replica;
CREATE TABLE phone.counter_replica(one, format, id AS (zeroblob(16)), name);
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_replica is damaged: generated column id

-- # a-generated-column-is-found-however-AS-is-written
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE phone.counter_tables;
CREATE TABLE phone.counter_tables(x, name/* so */aS/**/(upper(x)), birth, token);
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_tables is damaged: generated column name
DROP TABLE phone.counter_tables;
CREATE TABLE phone.counter_tables(x, "asAs", name GENERATED ALWAYS-- so
As(upper(x)), birth, token);
SELECT * FROM counter_pull('phone.db');
--! counter_pull: counter_tables is damaged: generated column name
DROP TABLE phone.counter_tables;
CREATE TABLE phone.counter_tables(x, name CHECK(name <> 'a''')as(upper(x)), birth, token);
SELECT * FROM counter_pull('phone.db');
--! counter_pull: counter_tables is damaged: generated column name

-- # stored-cells-are-read-however-their-names-are-quoted
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(a TEXT, "b UNIQUE(" TEXT, c TEXT, n COUNTER, PRIMARY KEY(c, a, "b UNIQUE("));
INSERT INTO phone.v VALUES('x', 'y', 'z', 1);
SELECT table_name FROM counter_pull('phone');
--= v
CREATE TEMP TABLE kept AS SELECT * FROM phone.v_cells;
DROP TABLE phone.v_cells;
CREATE TABLE phone.v_cells(_id INTEGER PRIMARY KEY, [a] TEXT COLLATE [BINARY] NOT NULL, [b UNIQUE(] TEXT NOT NULL,
`c` TEXT NOT NULL, 'n' BLOB, UNIQUE([c], `a`, [b UNIQUE(])) /* UNIQUE('a', 'b', 'c', 'd', [e]) */;
INSERT INTO phone.v_cells SELECT * FROM kept;
INSERT INTO phone.v VALUES('x', 'y', 'z', 1);
SELECT table_name FROM counter_pull('phone');
--= v
SELECT * FROM v;
--= x|y|z|2

-- # triggers-on-the-identity-of-a-target-never-run
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
ATTACH 'phone.db' AS phone;
SELECT table_name FROM counter_push('phone');
--= v
CREATE TRIGGER phone.evil AFTER UPDATE ON counter_replica BEGIN DELETE FROM v_cells; END;
INSERT INTO v VALUES ('x', 1);
SELECT * FROM counter_push('phone');
--!~ counter_push: table v: *evil*

-- # an-attached-file-without-identity-says-what-to-run
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DELETE FROM phone.counter_replica;
INSERT INTO phone.v VALUES('x', 1);
--! v: phone has no replica id: CREATE a counter table in it, or open that file as main and run SELECT counter_init() once

-- # an-identity-of-another-shape
SELECT length(counter_init());
--= 36
UPDATE counter_replica SET format = 0;
SELECT counter_id();
--! counter_id: counter_replica is damaged: format 0
UPDATE counter_replica SET format = 3, name = hex(zeroblob(200));
SELECT counter_id();
--! counter_id: counter_replica is damaged: a name of more than 255 bytes
DROP TABLE counter_replica;
CREATE TABLE counter_replica(something);
SELECT counter_id();
--! counter_id: counter_replica lacks a column: the file is damaged, or of a version that was never released

-- # integrity-check-finds-a-row-that-no-delta-would-find
--@ journal
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1), ('y', 1);
BEGIN;
INSERT INTO v VALUES('z', 1);
INSERT INTO v(v) VALUES('integrity-check');
COMMIT;
CREATE TEMP TABLE kept AS SELECT * FROM counter_journal;
DELETE FROM counter_journal;
INSERT INTO v(v) VALUES('integrity-check');
--! v: integrity-check: counter_journal is damaged: row 1 is stored and not in it
INSERT INTO counter_journal VALUES(1, 2, x'e401050200048080');
INSERT INTO v(v) VALUES('integrity-check');
--! v: integrity-check: counter_journal is damaged: row 1 is truncated
INSERT INTO v(v) VALUES('optimize');
--! v: counter_journal is damaged: row 1 is truncated
DELETE FROM counter_journal;
INSERT INTO counter_journal SELECT * FROM kept;
INSERT INTO v(v) VALUES('integrity-check');

-- # integrity-check-proves-the-journal
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1), ('y', 1);
INSERT INTO v(v) VALUES('optimize');
INSERT INTO v VALUES('x', 1);
INSERT INTO v(v) VALUES('integrity-check');
-- amounts for a row that is not stored
INSERT INTO counter_journal VALUES(9000000000000000000, 2, x'e40103141002');
--@ reopen
INSERT INTO v(v) VALUES('integrity-check');
--! v: integrity-check: counter_journal is damaged: it has amounts for rows that are not stored
INSERT INTO v(v) VALUES('optimize');
--! v: counter_journal is damaged: it has amounts for row 10, which does not exist
-- of a counter that the table does not have
UPDATE counter_journal SET entries = x'e40103021802' WHERE _seq = 9000000000000000000;
--@ reopen
SELECT * FROM v;
--! v: counter_journal is damaged: row 9000000000000000000 names a counter that does not exist
-- beyond the range
UPDATE counter_journal SET entries = x'e401180210feffffffffffffffff010010feffffffffffffffff01' WHERE _seq = 9000000000000000000;
--@ reopen
SELECT * FROM v;
--! v: counter_journal is damaged: row 9000000000000000000 has amounts out of range
-- numbers that cannot rise any more
UPDATE counter_journal SET entries = x'e401020200' WHERE _seq = 9000000000000000000;
--@ reopen
SELECT * FROM v;
--= x|2
--= y|1
INSERT INTO v VALUES('x', 1);
--!~ *counter_journal is damaged: it has the number 9000000000000000000
INSERT INTO v(v) VALUES('integrity-check');
--! v: integrity-check: counter_journal is damaged: row 9000000000000000000 has a number that is out of range
UPDATE counter_journal SET _seq = 9223372036854775807 WHERE _seq = 9000000000000000000;
--@ reopen
INSERT INTO v VALUES('x', 1);
--!~ *counter_journal is damaged: it has the number *
UPDATE counter_journal SET _seq = 9000000000000000000 WHERE _seq = 9223372036854775807;
-- levels that are not in order
DELETE FROM counter_journal WHERE _seq = 9000000000000000000;
-- a group of no table, a length beyond the row, another mask
INSERT INTO counter_journal VALUES(9000000000000000, 16, x'e404020200');
INSERT INTO v(v) VALUES('integrity-check');
--! v: integrity-check: counter_journal is damaged: row 9000000000000000 has a group of a table that does not exist
UPDATE counter_journal SET tabs = 2, entries = x'e401030200' WHERE _seq = 9000000000000000;
--@ reopen
SELECT * FROM v;
--! v: counter_journal is damaged: row 9000000000000000 is truncated
UPDATE counter_journal SET entries = x'e404020200' WHERE _seq = 9000000000000000;
--@ reopen
SELECT * FROM v;
--! v: counter_journal is damaged: row 9000000000000000 has groups of other tables than it says
DELETE FROM counter_journal WHERE _seq = 9000000000000000;
-- levels that are not in order
INSERT INTO counter_segments VALUES(1, 5, 1, x'e40009000202'), (1, 6, 3, x'e40009000202');
--@ reopen
INSERT INTO v(v) VALUES('integrity-check');
--!~ v: integrity-check: counter_segments is damaged: row 6 has a level that is not in order
DELETE FROM counter_segments WHERE level = 1;
UPDATE counter_segments SET number = 9000000000000000;
INSERT INTO v(v) VALUES('integrity-check');
--!~ v: integrity-check: counter_journal is damaged: row * has a number that does not rise
UPDATE counter_segments SET level = -1;
INSERT INTO v(v) VALUES('integrity-check');
--!~ v: integrity-check: counter_segments is damaged: row * is part of a segment
UPDATE counter_segments SET level = -9223372036854775808 WHERE level = -1;
INSERT INTO v(v) VALUES('integrity-check');
--!~ v: integrity-check: counter_segments is damaged: row * is part of a segment
UPDATE counter_segments SET level = 'none';
INSERT INTO v(v) VALUES('integrity-check');
--!~ v: integrity-check: counter_segments is damaged: row * has no level

-- # the-numbers-of-a-journal-begin-at-one
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
INSERT INTO counter_journal VALUES(0, 2, x'e401020200');
--@ reopen
INSERT INTO v(v) VALUES('integrity-check');
--! v: integrity-check: counter_journal is damaged: row 0 has a number that does not rise

-- # integrity-check-finds-null-keys-and-a-missing-entry
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, _seq INTEGER, k TEXT, n BLOB, UNIQUE(k));
INSERT INTO v_cells VALUES(7, 1, NULL, x'c103');
INSERT INTO v(v) VALUES('integrity-check');
--! v: integrity-check: key column k is NULL in row 7
DELETE FROM v_cells;
INSERT INTO v(v) VALUES('integrity-check');
DELETE FROM counter_tables;
INSERT INTO v(v) VALUES('integrity-check');
--! v: integrity-check: the table is missing in counter_tables

-- # a-file-has-one-identity
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE two AS SELECT * FROM counter_replica UNION ALL SELECT * FROM counter_replica;
DROP TABLE counter_replica;
ALTER TABLE two RENAME TO counter_replica;
INSERT INTO v VALUES('x', 1);
--!~ v: counter_replica is damaged: it has more than one row*
SELECT counter_id();
--! counter_id: counter_replica is damaged: it has more than one row

-- # integrity-check-is-not-for-a-trigger-of-the-table-that-it-checks
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TRIGGER t AFTER INSERT ON v_cells BEGIN INSERT INTO v(v) VALUES('integrity-check'); END;
INSERT INTO v VALUES('x', 1);
--! v: the stored table v_cells has the trigger t: drop it first
SELECT * FROM v;
DROP TRIGGER t;
INSERT INTO v VALUES('x', 1);
INSERT INTO v(v) VALUES('integrity-check');

-- # integrity-check-is-not-for-a-trigger-that-runs-while-a-row-is-written
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
UPDATE counter_replica SET renewal = 0;
CREATE TRIGGER t AFTER UPDATE ON counter_replica BEGIN INSERT INTO v(v) VALUES('integrity-check'); END;
INSERT INTO v VALUES('x', 1);
--! v: integrity-check: a trigger on a stored table cannot check it, because its row is not complete yet
DROP TRIGGER t;
INSERT INTO v VALUES('x', 1);
INSERT INTO v(v) VALUES('integrity-check');

-- # what-a-source-says-of-itself-is-in-its-range
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
UPDATE phone.counter_replica SET names = 7;
INSERT INTO phone.counter_sources(holder, id, epoch) VALUES('dc1:rack1', x'', 1073741824);
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_sources is damaged: epoch 1073741824, not 0 ... 1073741823
UPDATE phone.counter_sources SET epoch = 1, holder = 'dc1';
SELECT * FROM counter_pull('phone');
--!~ counter_pull: *counter_sources is damaged
DELETE FROM phone.counter_sources;
UPDATE phone.counter_replica SET epoch = 1073741824;
SELECT * FROM counter_pull('phone');
--! counter_pull: the giving file: counter_replica is damaged: epoch 1073741824, not 0 ... 1073741823
UPDATE phone.counter_replica SET epoch = 0, turn = 4;
SELECT * FROM counter_pull('phone');
--! counter_pull: the giving file: counter_replica is damaged: turn 4
UPDATE phone.counter_replica SET turn = 0, number = 0;
SELECT * FROM counter_pull('phone');
--! counter_pull: the giving file: counter_replica is damaged: the witness has the number 0
UPDATE phone.counter_replica SET number = 4611686018427387905;
SELECT * FROM counter_pull('phone');
--! counter_pull: the giving file: counter_replica is damaged: the witness has the number 4611686018427387905
UPDATE phone.counter_replica SET number = 5, id = NULL;
--! NOT NULL constraint failed: counter_replica.id
UPDATE phone.counter_replica SET id = x'00';
SELECT * FROM counter_pull('phone');
--! counter_pull: the giving file: counter_replica is damaged: an id of 1 bytes instead of 16
UPDATE phone.counter_replica SET id = randomblob(16), holder = x'';
SELECT * FROM counter_pull('phone');
--! counter_pull: the giving file: counter_replica is damaged: its holder
UPDATE phone.counter_replica SET holder = id, number = 5;
UPDATE phone.counter_tables SET token = x'01';
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_tables is damaged: the token of v is not 16 bytes
UPDATE phone.counter_tables SET token = x'';
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_tables is damaged: the token of v is not 16 bytes
UPDATE phone.counter_tables SET token = randomblob(16), birth = '';
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_tables is damaged: a table without a name

-- # a-stored-table-has-one-key-and-one-row-id
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, _seq INTEGER, k TEXT, n BLOB, UNIQUE(k DESC));
--@ reopen
SELECT * FROM v;
--! v: the stored table v_cells is damaged: its UNIQUE constraint descends
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, _seq INTEGER, k TEXT, j TEXT, n BLOB, UNIQUE(k), UNIQUE(j));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it has two UNIQUE constraints
DROP TABLE v_cells;
CREATE TABLE v_cells(_id TEXT PRIMARY KEY, _seq INTEGER, k TEXT, n BLOB, UNIQUE(k));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: its row id is not _id
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, _seq INTEGER, k TEXT, n BLOB, UNIQUE(k, n));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it has no counter
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, _seq INTEGER, k TEXT, n BLOB, UNIQUE(_seq, k));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it has no UNIQUE constraint over the key
DROP TABLE v_cells;
CREATE TABLE v_cells(_id INT PRIMARY KEY, _seq INTEGER, k TEXT, n BLOB, UNIQUE(k));
SELECT * FROM v;
--! v: the stored table v_cells is damaged: its row id is not _id
DROP TABLE v_cells;
CREATE TABLE other(x);
CREATE INDEX v_cells ON other(x);
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it is not an ordinary table but an index

-- # a-stored-table-with-fewer-columns-than-the-key-is-damaged
CREATE VIRTUAL TABLE v USING counter(
  a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, n COUNTER, PRIMARY KEY (a, b, c, d, e, f, g, h, i, j, k, l, m, o, p));
DROP TABLE v_cells;
CREATE TABLE v_cells(p TEXT);
--@ reopen
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it has no UNIQUE constraint over the key
INSERT INTO v(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p) VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
--! v: the stored table v_cells is damaged: it has no UNIQUE constraint over the key

-- # an-update-by-the-key-of-a-damaged-table-is-an-error
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v VALUES('x', 1, 2);
ALTER TABLE v_cells ADD COLUMN z;
--@ reopen
UPDATE v SET n = n + 1 WHERE k = 'x';
--! v: the stored table v_cells is damaged: a column is neither a BLOB nor part of the key: z
DELETE FROM v WHERE k = 'x';
--! v: the stored table v_cells is damaged: a column is neither a BLOB nor part of the key: z
INSERT INTO v(k) VALUES('x');
--! v: the stored table v_cells is damaged: a column is neither a BLOB nor part of the key: z
DROP TABLE v_cells;
--@ reopen
UPDATE v SET n = 5 WHERE k = 'x';
--! v: the stored table v_cells is damaged: it is missing
SELECT * FROM v;
--! v: the stored table v_cells is damaged: it is missing
CREATE TABLE v_cells(_id INTEGER PRIMARY KEY, k TEXT NOT NULL, n BLOB, m BLOB, UNIQUE(k));
DELETE FROM counter_replica;
--@ reopen
UPDATE v SET n = 5 WHERE k = 'x';
INSERT INTO v VALUES('x', 1, 2);
--! v: main has no replica id: run SELECT counter_init() once
DROP TABLE v;
SELECT name FROM sqlite_master WHERE name LIKE 'v%';

-- # a-table-whose-stored-tables-are-damaged-can-be-dropped
CREATE VIRTUAL TABLE a USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE b USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE d USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TEMP TABLE was AS SELECT id FROM counter_replica;
INSERT INTO a VALUES('x', 1);
INSERT INTO b VALUES('x', 1);
INSERT INTO c VALUES('x', 1);
INSERT INTO d VALUES('x', 1);
INSERT INTO counter_state(tab, kind, name, value) SELECT number, 'counter', 'k', 2 FROM counter_tables WHERE name = 'a';
DROP TABLE a;
DROP TABLE b_cells;
DROP TABLE b;
UPDATE d_cells SET n = x'00';
DROP TABLE d;
SELECT count(*) FROM counter_state;
--= 0
DROP TABLE counter_state;
CREATE TABLE counter_state(x);
DROP TABLE c;
SELECT name FROM sqlite_master WHERE name IN ('a', 'b', 'c', 'd') OR name LIKE '__%' AND substr(name, 2, 1) = '_';
SELECT name FROM counter_tables;
SELECT count(*) FROM counter_replica AS r, was WHERE one = 1 AND r.id = was.id;
--= 0

-- # a-tracked-table-of-a-newer-format-is-not-untracked
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES('x', 1);
UPDATE counter_replica SET format = 4;
SELECT counter_untrack('t');
--! counter_untrack: the file was written by a newer version: format 4, this library knows 3; install a newer sqlite-counter
SELECT counter_untrack('t', 'n');
--! counter_untrack: the file was written by a newer version: format 4, this library knows 3; install a newer sqlite-counter
UPDATE counter_replica SET format = 3;
SELECT counter_untrack('t');
--= 1

-- # a-catalogue-whose-columns-have-no-types-is-not-taken-for-a-hidden-one
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE other(name, birth, token, number);
INSERT INTO other SELECT * FROM counter_tables;
DROP TABLE counter_tables;
ALTER TABLE other RENAME TO counter_tables;
SELECT counter_add('zz', 'n', 1, 'a');
--! counter_add: there is no counter table 'zz'
SELECT counter_add('t', 'n', 1, 'a');
--= 1

-- # segments-that-overlap-are-found-when-they-become-one
--@ journal
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1), ('y', 1);
INSERT INTO v(v) VALUES('optimize');
-- the last of eight has the number 103, too
WITH RECURSIVE c(i) AS (VALUES(101) UNION ALL SELECT i + 1 FROM c WHERE i < 108)
INSERT INTO counter_segments SELECT 1, i, 1, CASE i WHEN 108 THEN x'e40009000205090004' ELSE x'e400090002' END FROM c;
--@ reopen
INSERT INTO v(v) VALUES('optimize');
--! v: counter_segments is damaged: row 107 has a number that does not rise
SELECT count(*) FROM counter_segments WHERE number BETWEEN 101 AND 108 AND level = 1;
--= 8

-- # a-stored-table-that-refuses-a-merged-cell
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'other.db' AS other;
CREATE VIRTUAL TABLE other.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO other.v VALUES('a', 1), ('b', 2);
SELECT rows_changed FROM counter_pull('other');
--= 2
INSERT INTO v(v) VALUES('optimize');
CREATE UNIQUE INDEX by_cell ON v_cells(n);
INSERT INTO other.v VALUES('a', 4), ('b', 3);
SELECT rows_changed FROM counter_pull('other');
--! counter_pull: table v: the stored table refuses the row: UNIQUE constraint failed: v_cells.n
SELECT * FROM v;
--= a|1
--= b|2
DROP INDEX by_cell;
SELECT rows_changed FROM counter_pull('other');
--= 2
SELECT * FROM v;
--= a|5
--= b|5

-- # a-stored-table-that-is-declared-in-other-words-is-read-by-sqlite
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
PRAGMA writable_schema = ON;
UPDATE sqlite_master SET sql = replace(sql, 'UNIQUE("k")', 'UNIQUE(k)') WHERE name = 'v_cells';
--@ reopen
SELECT * FROM v;
--= x|1
ATTACH 'other.db' AS other;
SELECT rows_changed FROM counter_push('other');
--= 1

-- # a-table-of-a-file-whose-identity-is-damaged-is-dropped-if-nobody-counted-in-it
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO w VALUES('x', 1);
UPDATE counter_replica SET id = x'00';
--@ reopen
INSERT INTO w VALUES('x', 1);
--!~ w: *damaged*
DROP TABLE v;
DROP TABLE w;
--! database disk image is malformed
SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB '[vw]*' ORDER BY name;
--= w
--= w_cells
SELECT length(counter_fork());
--= 36
DROP TABLE w;

-- # a-stored-column-of-the-type-of-a-declared-counter-is-damage
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ALTER TABLE v_cells ADD COLUMN z COUNTER;
--@ reopen
SELECT * FROM v;
--! v: the stored table v_cells is damaged: a column is neither a BLOB nor part of the key: z

-- # a-handle-that-is-longer-than-any-is-none
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
UPDATE counter_replica SET birth = NULL, instance = zeroblob(1000);
--@ reopen
INSERT INTO v VALUES('x', 1);
SELECT n FROM v;
--= 2

-- # an-odd-generation-of-a-regular-column-is-damage
CREATE TABLE p(k TEXT PRIMARY KEY, x, n INTEGER);
SELECT counter_replicate('p', 'n');
--= 0
UPDATE counter_state SET seq = 3 WHERE kind = 'column' AND row = 0;
--@ reopen
INSERT INTO p VALUES('a', 'b', 1);
--! p: the stored table counter_state is damaged: it has a regular column without a generation
