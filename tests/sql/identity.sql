-- Who a file is.

-- # loading-creates-nothing
SELECT count(*) FROM sqlite_master;
--= 0
SELECT counter_id();
--= NULL

-- # a-random-id-is-made-once-and-kept
SELECT length(counter_init());
--= 36
CREATE TEMP TABLE was AS SELECT counter_id() AS id;
SELECT id = counter_init(), id = counter_id(), id = counter_id('main'), length(id) FROM was;
--= 1|1|1|36
SELECT hex(id) = upper(replace(counter_id(), '-', '')), format, name FROM counter_replica;
--= 1|3|NULL

-- # a-named-id-is-that-of-uuidgen
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
SELECT counter_init('dc1:rack1'), counter_init();
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93|4c5128aa-402c-31c8-9fc0-6c27b0f53f93
SELECT counter_init('dc1:rack2');
--! counter_init: main is 'dc1:rack1' already, it cannot become 'dc1:rack2'
--@ reopen
SELECT counter_id();
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93

-- # another-named-id
SELECT counter_init('eu-west:a');
--= 611598c6-9c4c-3079-8a99-b4e1096f1905

-- # a-random-id-does-not-become-a-named-one
SELECT length(counter_init());
--= 36
SELECT counter_init('dc1:rack1');
--! counter_init: main has a random replica id already, it cannot become 'dc1:rack1': a name is given before the first counter table is created

-- # a-name-is-dc-colon-rack
SELECT counter_init('dc1');
--! counter_init: the name must be dc:rack, both non-empty and 255 bytes at most, not TEXT 'dc1'
SELECT counter_init(':rack1');
--! counter_init: the name must be dc:rack, both non-empty and 255 bytes at most, not TEXT ':rack1'
SELECT counter_init('dc1:');
--! counter_init: the name must be dc:rack, both non-empty and 255 bytes at most, not TEXT 'dc1:'
SELECT counter_init('a:b:c');
--! counter_init: the name must be dc:rack, both non-empty and 255 bytes at most, not TEXT 'a:b:c'
SELECT counter_init(NULL);
--! counter_init: the name must be dc:rack, both non-empty and 255 bytes at most, not NULL
SELECT counter_init(x'613a62');
--! counter_init: the name must be dc:rack, both non-empty and 255 bytes at most, not BLOB x'613a62'
SELECT count(*) FROM sqlite_master;
--= 0

-- # a-rolled-back-identity-is-gone
BEGIN;
SELECT length(counter_init());
--= 36
ROLLBACK;
SELECT counter_id();
--= NULL
BEGIN;
SAVEPOINT s;
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
ROLLBACK TO s;
SELECT counter_inc(NULL);
--! counter_inc: main has no replica id: run SELECT counter_init() once
SELECT counter_init('eu-west:a');
--= 611598c6-9c4c-3079-8a99-b4e1096f1905
COMMIT;
SELECT counter_id();
--= 611598c6-9c4c-3079-8a99-b4e1096f1905

-- # each-attached-file-has-its-own
ATTACH 'phone.db' AS phone;
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
SELECT counter_id('phone'), counter_id('main');
--= NULL|4c5128aa-402c-31c8-9fc0-6c27b0f53f93
CREATE VIRTUAL TABLE phone.v USING counter(k PRIMARY KEY, n COUNTER);
SELECT counter_id('phone') <> counter_id(), counter_id('PHONE') = counter_id('phone');
--= 1|1
SELECT counter_id('temp');
--= NULL
SELECT counter_id('nosuch');
--! counter_id: no attached database has the name 'nosuch'
SELECT counter_id(NULL);
--! counter_id: the name of a database must be TEXT, not NULL
SELECT id = counter_id('phone') FROM counter_shards(counter_inc(NULL, 1, counter_id('phone')));
--= 1

-- # init-cannot-run-inside-a-statement-that-writes
CREATE TABLE t(x);
INSERT INTO t SELECT counter_init();
--! counter_init: it cannot run inside a statement that writes
SELECT counter_id();
--= NULL

-- # a-damaged-identity-is-named
SELECT length(counter_init());
--= 36
UPDATE counter_replica SET id = x'00112233445566778899aabbccddee';
SELECT counter_id();
--! counter_id: counter_replica is damaged: an id of 15 bytes instead of 16
SELECT counter_inc(NULL);
--! counter_inc: counter_replica is damaged: an id of 15 bytes instead of 16; SELECT counter_fork('main') takes a new id
SELECT counter_init();
--! counter_init: counter_replica is damaged: an id of 15 bytes instead of 16

-- # a-newer-format-is-refused
SELECT length(counter_init());
--= 36
UPDATE counter_replica SET format = 4;
SELECT counter_id();
--! counter_id: the file was written by a newer version: format 4, this library knows 3; install a newer sqlite-counter
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
--! v: the file was written by a newer version: format 4, this library knows 3; install a newer sqlite-counter

-- # a-view-is-no-identity
CREATE VIEW counter_replica AS SELECT 1 AS one, 1 AS format, zeroblob(16) AS id, NULL AS name;
SELECT counter_inc(NULL);
--! counter_inc: counter_replica is damaged: it is not an ordinary table but a view

-- # a-read-only-file-keeps-its-id
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
--@ readonly
SELECT counter_id(), counter_init();
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93|4c5128aa-402c-31c8-9fc0-6c27b0f53f93

-- # a-read-only-file-gets-none
CREATE TABLE t(x);
--@ readonly
SELECT counter_init();
--! counter_init: attempt to write a readonly database

-- # a-name-of-255-bytes-is-read-as-it-was-written
SELECT length(counter_init('d:' || substr(hex(zeroblob(200)), 1, 253)));
--= 36
SELECT id = counter_id(), length(name) FROM counter_identity();
--= 1|255

-- # an-identity-tells-where-it-comes-from
--@ attributes
SELECT * FROM counter_identity();
SELECT length(counter_init());
--= 36
SELECT id = counter_id(), name, state, since LIKE '20__-__-__ __:__:__.___', why, fingerprint, refuses
  FROM counter_identity;
--= 1|NULL|current|1|created|armed|NULL
SELECT length(counter_fork());
--= 36
SELECT state, why FROM counter_identity();
--= current|fork
--= former|created
SELECT count(DISTINCT id) FROM counter_identity('main');
--= 2
SELECT * FROM counter_identity('nowhere');
--! counter_identity: no attached database has the name 'nowhere'
SELECT * FROM counter_identity(NULL);
--! counter_identity: the name of a database must be TEXT, not NULL

-- # a-fork-counts-under-another-shard
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
BEGIN;
INSERT INTO v VALUES ('x', 2);
SELECT counter_fork() <> '' AND counter_id() = counter_fork();
--= 0
INSERT INTO v VALUES ('x', 4);
ROLLBACK;
INSERT INTO v VALUES ('x', 8);
INSERT INTO v(v) VALUES('optimize');
SELECT count(*), sum(value) FROM v_cells, counter_shards(n);
--= 1|9
SELECT length(counter_fork('main'));
--= 36
INSERT INTO v VALUES ('x', 16);
INSERT INTO v(v) VALUES('optimize');
SELECT count(*), sum(value) FROM v_cells, counter_shards(n);
--= 2|25

-- # who-knew-the-former-id-counts-under-the-new-one
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
CREATE TABLE ids AS SELECT counter_id() AS id;
--@ connection other
INSERT INTO v VALUES('a', 1);
INSERT INTO v(v) VALUES('optimize');
SELECT * FROM v;
--= a|2
--@ connection main
SELECT counter_fork() <> id FROM ids;
--= 1
--@ connection other
INSERT INTO v VALUES('a', 100);
INSERT INTO v(v) VALUES('optimize');
SELECT s.id = counter_id(), s.id = ids.id, clock, value FROM counter_cells('v') AS c, counter_shards(c.cell) AS s, ids ORDER BY value;
--= 0|1|2|2
--= 1|0|1|100

-- # a-fork-of-a-name-takes-a-random-id
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
SELECT counter_fork() = '4c5128aa-402c-31c8-9fc0-6c27b0f53f93';
--= 0
SELECT name, state FROM counter_identity();
--= NULL|current
--= dc1:rack1|former

-- # a-fork-without-an-identity-says-what-to-run
SELECT counter_fork();
--! counter_fork: main has no replica id: run SELECT counter_init() once
SELECT counter_fork('nowhere');
--! counter_fork: no attached database has the name 'nowhere'
SELECT counter_trust_witness();
--! counter_trust_witness: main has no replica id: run SELECT counter_init() once

-- # dropping-a-table-that-has-counted-takes-a-new-id
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
DROP TABLE v;
SELECT state, why FROM counter_identity();
--= current|created
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
BEGIN;
DROP TABLE v;
ROLLBACK;
SELECT state, why FROM counter_identity();
--= current|created
DROP TABLE v;
SELECT state, why FROM counter_identity();
--= current|dropped table
--= former|created

-- # a-named-file-that-drops-its-counts-refuses-to-count
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
--! v: main is 'dc1:rack1' and does not count, because another file may count under that name (dropped table): SELECT counter_fork('main') gives it a new random id
SELECT counter_inc(NULL);
--! counter_inc: main is 'dc1:rack1' and does not count, because another file may count under that name (dropped table): SELECT counter_fork('main') gives it a new random id
SELECT refuses FROM counter_identity();
--= dropped table
SELECT length(counter_fork());
--= 36
INSERT INTO v VALUES ('x', 1);
SELECT * FROM v;
--= x|1

-- # a-shard-of-mine-that-i-do-not-know-is-a-conflict-and-takes-a-new-id
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
ATTACH 'phone.db' AS phone;
SELECT table_name, rows_changed FROM counter_push('phone');
--= v|1
INSERT INTO phone.v(v) VALUES('optimize');
UPDATE phone.v_cells SET n = counter_inc(n, 4, counter_id());
INSERT INTO phone.v(v) VALUES('optimize');
INSERT INTO phone.v VALUES ('x', 8);
SELECT * FROM counter_pull('phone');
--= v|1|1|1|1 conflict: a file was restored, or two count under one id: see counter_conflicts
SELECT * FROM v;
--= x|13
SELECT "table", "key", "column", clock, value, their_clock, their_value, why FROM counter_conflicts;
--= v|('x')|n|1|1|2|5|own
SELECT state, why FROM counter_identity();
--= current|conflict
--= former|created
INSERT INTO v VALUES ('x', 16);
SELECT * FROM counter_sync('phone');
--= v|1|1|0|NULL
SELECT * FROM phone.v;
--= x|29
DELETE FROM counter_conflicts;
SELECT count(*) FROM counter_conflicts;
--= 0

-- # a-foreign-shard-with-one-clock-and-two-values-is-recorded
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
ATTACH 'phone.db' AS phone;
SELECT table_name FROM counter_push('phone');
--= v
UPDATE v_cells SET n = counter_inc(n, 2, '4c5128aa-402c-31c8-9fc0-6c27b0f53f93');
UPDATE phone.v_cells SET n = counter_inc(n, 3, '4c5128aa-402c-31c8-9fc0-6c27b0f53f93');
SELECT conflicts FROM counter_pull('phone');
--= 1
SELECT value, their_value, why FROM counter_conflicts;
--= 2|3|values
SELECT state FROM counter_identity();
--= current
SELECT * FROM v;
--= x|4

-- # internal-tables-are-empty-and-stay-so
SELECT count(*) FROM counter_statements, counter_witness;
--= 0
INSERT INTO counter_witness VALUES (1);
--! counter_witness: it has no rows

-- # a-table-that-has-an-internal-name-hides-nothing
SELECT length(counter_init());
--= 36
CREATE TEMP TABLE counter_witness(x);
ATTACH ':memory:' AS other;
CREATE TABLE other.counter_statements(x);
SELECT json_extract(counter_json(counter_inc(NULL)), '$.shards[0].id') = counter_id();
--= 1
CREATE TABLE main.counter_witness(x);
SELECT counter_inc(NULL);
--! counter_inc: a table in main has the name counter_witness, which is reserved

-- # a-fork-of-an-attached-file-that-is-detached-is-over
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
ATTACH 'phone.db' AS phone;
SELECT table_name FROM counter_push('phone');
--= v
INSERT INTO phone.v VALUES ('x', 1);
SELECT length(counter_fork('phone'));
--= 36
DETACH phone;
INSERT INTO v VALUES ('x', 1);
ATTACH 'phone.db' AS phone;
DROP TABLE phone.v;
DETACH phone;
INSERT INTO v VALUES ('x', 1);
SELECT * FROM v;
--= x|2

-- # a-trigger-on-the-identity-that-counts-is-an-error
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
CREATE TABLE page(path PRIMARY KEY, views);
INSERT INTO page VALUES ('/', counter_inc(NULL));
UPDATE counter_replica SET renewal = 0;
CREATE TRIGGER back BEFORE UPDATE ON counter_replica BEGIN
  UPDATE page SET views = counter_inc(views); END;
INSERT INTO v VALUES ('x', 1);
--!~ v: *a trigger on counter_replica tries to count
UPDATE page SET views = counter_inc(views);
--!~ counter_inc: *a trigger on counter_replica tries to count
DROP TRIGGER back;
INSERT INTO v VALUES ('x', 1);
SELECT * FROM v;
--= x|1

-- # a-trigger-on-the-identity-that-deletes-the-row-at-hand-is-an-error
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1), ('y', 1);
UPDATE counter_replica SET renewal = 0;
CREATE TRIGGER back BEFORE UPDATE ON counter_replica BEGIN DELETE FROM v WHERE k = 'x'; END;
INSERT INTO v VALUES ('x', 1);
--!~ v: *a trigger *writes to the table itself
DELETE FROM v WHERE k = 'y';
--!~ v: *a trigger *writes to the table itself
SELECT * FROM v;
--= x|1
--= y|1

-- # one-memory-database-after-another-is-another-replica
ATTACH ':memory:' AS m;
CREATE VIRTUAL TABLE m.v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO m.v VALUES ('x', 1);
CREATE TEMP TABLE first AS SELECT instance FROM m.counter_replica;
DETACH m;
ATTACH ':memory:' AS m;
CREATE VIRTUAL TABLE m.v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO m.v VALUES ('x', 1);
SELECT instance = (SELECT instance FROM first) FROM m.counter_replica WHERE one = 1;
--= 0

-- # a-fork-mends-a-damaged-identity
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
UPDATE counter_replica SET id = x'00112233445566778899aabbccddee';
INSERT INTO v VALUES ('x', 2);
--! v: counter_replica is damaged: an id of 15 bytes instead of 16; SELECT counter_fork('main') takes a new id
SELECT length(counter_fork());
--= 36
INSERT INTO v VALUES ('x', 4);
INSERT INTO v(v) VALUES('optimize');
SELECT count(*), sum(value) FROM v_cells, counter_shards(n);
--= 2|5
SELECT name, state, why FROM counter_identity;
--= NULL|current|fork
--= NULL|former|fork

-- # a-fork-of-a-damaged-identity-leaves-to-an-id-what-was-counted-under-it
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
CREATE TEMP TABLE before AS SELECT counter_id() AS id;
UPDATE counter_replica SET holder = x'00';
INSERT INTO v VALUES ('x', 2);
--! v: counter_replica is damaged: its holder; SELECT counter_fork('main') takes a new id
SELECT counter_fork() <> id FROM before;
--= 1
SELECT value FROM v_cells, counter_shards(n), before USING (id);
--= 1

-- # a-witness-does-not-mend-a-dropped-table
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
DROP TABLE v;
SELECT counter_trust_witness();
--! counter_trust_witness: main does not count for another reason (dropped table), which trusting the witness does not solve: SELECT counter_fork('main') gives it a new random id
SELECT refuses FROM counter_identity;
--= dropped table

-- # a-database-in-memory-has-no-witness
ATTACH ':memory:' AS m;
CREATE VIRTUAL TABLE m.v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO m.v VALUES ('x', 1);
SELECT counter_trust_witness('m');
--! counter_trust_witness: there is no witness to trust: the file has no extended attribute user.sqlite-counter of this library; it gets one when it counts, if the file system supports them

-- # a-file-that-has-lost-its-identity-can-drop-its-tables
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
DELETE FROM counter_replica;
DROP TABLE v;
SELECT count(*) FROM sqlite_master WHERE name GLOB 'v*';
--= 0
SELECT count(*) FROM counter_replica;
--= 0

-- # a-lost-identity-does-not-come-back-as-a-name
--@ attributes
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
DROP TABLE counter_replica;
SELECT counter_init('dc1:rack1');
--! counter_init: this file has counted under an identity that it has lost, perhaps 'dc1:rack1': SELECT counter_init() without a name gives it a random id
SELECT length(counter_init());
--= 36

-- # numbers-of-an-identity-beyond-their-range-are-named
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
UPDATE counter_replica SET turn = 9;
SELECT counter_id();
--! counter_id: counter_replica is damaged: turn 9
UPDATE counter_replica SET turn = -1;
SELECT counter_id();
--! counter_id: counter_replica is damaged: turn -1
UPDATE counter_replica SET turn = 0, epoch = -1;
SELECT counter_id();
--! counter_id: counter_replica is damaged: epoch -1, not 0 ... 1073741823
UPDATE counter_replica SET epoch = 4611686018427387904;
SELECT counter_id();
--! counter_id: counter_replica is damaged: epoch 4611686018427387904, not 0 ... 1073741823
UPDATE counter_replica SET epoch = 0, number = 0;
SELECT counter_id();
--! counter_id: counter_replica is damaged: the witness has the number 0
UPDATE counter_replica SET number = -9223372036854775808;
INSERT INTO v VALUES ('x', 1);
--! v: counter_replica is damaged: the witness has the number -9223372036854775808; SELECT counter_fork('main') takes a new id
UPDATE counter_replica SET number = 1, holder = x'00';
SELECT counter_id();
--! counter_id: counter_replica is damaged: its holder
UPDATE counter_replica SET holder = 5;
SELECT counter_id();
--! counter_id: counter_replica is damaged: its holder

-- # a-witness-is-renewed-after-ten-milliseconds-unless-the-file-says-otherwise
SELECT length(counter_init());
--= 36
SELECT renewal FROM counter_replica;
--= 10

-- # a-trusted-witness-says-what-it-sees
--@ attributes
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
UPDATE counter_replica SET renewal = 3600000;
INSERT INTO v VALUES ('x', 1);
SELECT length(counter_trust_witness());
--= 36
SELECT fingerprint, witness, why FROM counter_identity;
--= not armed: the witness alone is trusted|armed|created
UPDATE counter_replica SET renewal = 0;
INSERT INTO v VALUES ('x', 1);
SELECT number, count(*) FROM counter_replica, counter_identity;
--= 2|1
UPDATE counter_replica SET number = 1;
SELECT witness FROM counter_identity;
--= this is older content, or a copy: the next count takes a new id
SELECT counter_trust_witness();
--! counter_trust_witness: the witness shows that this is older content: SELECT counter_fork('main') takes a new id
INSERT INTO v VALUES ('x', 1);
SELECT state FROM counter_identity;
--= current
--= former
SELECT fingerprint FROM counter_identity WHERE state = 'current';
--= not armed: the witness alone is trusted

-- # a-copy-is-told-before-it-counts
--@ attributes
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
UPDATE counter_replica SET inode = inode + 1;
SELECT fingerprint, witness FROM counter_identity;
--= this is a copy: the next count takes a new id|this is older content, or a copy: the next count takes a new id
UPDATE counter_replica SET inode = inode - 1, random = random + 1;
SELECT fingerprint, witness FROM counter_identity;
--= armed|this is older content, or a copy: the next count takes a new id

-- # a-copy-of-a-name-does-not-trust-the-witness
--@ attributes
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
UPDATE counter_replica SET inode = inode + 1;
--@ reopen
SELECT fingerprint, witness FROM counter_identity;
--= this is a copy: the file refuses to count|this is older content, or a copy: the file refuses to count
SELECT counter_trust_witness();
--! counter_trust_witness: main is 'dc1:rack1' and looks like a copy of the file that counts under that name: SELECT counter_fork('main') gives it a new random id
INSERT INTO v VALUES ('x', 1);
--! v: main is 'dc1:rack1' and does not count, because another file may count under that name (copy): SELECT counter_fork('main') gives it a new random id
SELECT mine FROM counter_request('https://h/s');
--= 0
SELECT counter_settle();
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
SELECT mine FROM counter_request('https://h/s');
--! counter_request: main is 'dc1:rack1' and does not count, because another file may count under that name (copy): SELECT counter_fork('main') gives it a new random id

-- # an-ordinary-table-of-an-attached-file-counts-under-the-id-of-that-file
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE phone.page(path TEXT PRIMARY KEY, views);
INSERT INTO phone.page VALUES('/', NULL), ('/a', NULL);
UPDATE phone.page SET views = counter_inc(views, 1, counter_id('phone'));
BEGIN;
INSERT INTO phone.v VALUES('x', 1);
UPDATE phone.page SET views = counter_inc(views, 1, counter_id('phone')) WHERE path = '/';
COMMIT;
SELECT path, value, id = counter_id('phone') AND id <> counter_id() FROM phone.page, counter_shards(views);
--= /|2|1
--= /a|1|1
SELECT DISTINCT state FROM counter_identity('phone');
--= current

-- # an-ordinary-table-of-an-attached-copy-counts-under-a-new-id
--@ since 3.34
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE phone.page(path TEXT PRIMARY KEY, views);
INSERT INTO phone.page VALUES('/', NULL), ('/a', NULL);
UPDATE phone.page SET views = counter_inc(views, 1, counter_id('phone'));
-- as if the file had been copied and the copy had been attached
UPDATE phone.counter_replica SET inode = 1, birth = 1, number = number + 100;
UPDATE phone.page SET views = counter_inc(views, 1, counter_id('phone'));
SELECT path, count(*), sum(value) FROM phone.page, counter_shards(views) GROUP BY path;
--= /|2|2
--= /a|2|2

-- # a-witness-at-its-end-is-no-witness
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
UPDATE counter_replica SET number = 4611686018427387904, inode = 1, birth = 1;
INSERT INTO v VALUES('x', 1);
--! v: the witness of main has reached its maximum, so it was forged: remove the attribute user.sqlite-counter of the file, then SELECT counter_fork('main')
SELECT * FROM v;
--= x|1

-- # names-of-files-and-schemas-are-the-same-in-another-encoding
PRAGMA encoding = 'UTF-16le';
SELECT counter_init('dc1:rack1', 'pending');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
SELECT counter_id(), counter_id('main');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93|4c5128aa-402c-31c8-a03f-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 0

-- # what-is-no-name-of-a-file-and-no-mark-of-one
SELECT counter_init('dc1:a' || char(0) || 'b');
--! counter_init: the name must be dc:rack, both non-empty and 255 bytes at most, not TEXT 'dc1:a'
SELECT counter_init('dc1:' || hex(zeroblob(200)));
--! counter_init: the name must be dc:rack, both non-empty and 255 bytes at most, not TEXT 'dc1:000000000000000000000000000000000000...'
SELECT counter_init('dc1:a', 5);
--! counter_init: the second argument must be 'pending', not INTEGER 5
SELECT counter_init('dc1:a', NULL);
--! counter_init: the second argument must be 'pending', not NULL
SELECT counter_init(NULL, 'pending');
--! counter_init: the name must be dc:rack, both non-empty and 255 bytes at most, not NULL
SELECT counter_mark('00000000-0000-0000-0000-00000000000a.0');
--! counter_mark: source must be TEXT from counter_changes, the UUID of a file, not TEXT '00000000-0000-0000-0000-00000000000a.0'
SELECT counter_seen('00000000-0000-0000-0000-00000000000a.', 0, 1);
--! counter_seen: source must be TEXT from counter_changes, the UUID of a file, not TEXT '00000000-0000-0000-0000-00000000000a.'

-- # no-statement-expires-while-its-triggers-count
SELECT counter_init() IS NOT NULL;
--= 1
PRAGMA foreign_keys = ON;
PRAGMA recursive_triggers = ON;
CREATE TABLE c(k PRIMARY KEY, a);
CREATE TABLE t(k PRIMARY KEY, n);
CREATE TABLE child(k REFERENCES t(k) ON UPDATE CASCADE ON DELETE CASCADE);
CREATE TRIGGER tu AFTER UPDATE OF n ON t BEGIN UPDATE c SET a = counter_inc(a, 1) WHERE k = NEW.k; END;
CREATE TRIGGER cu AFTER UPDATE ON child BEGIN UPDATE c SET a = counter_inc(a, 10) WHERE k = OLD.k; END;
CREATE TRIGGER cd AFTER DELETE ON child BEGIN UPDATE c SET a = counter_inc(a, 100); END;
INSERT INTO c VALUES(1, NULL), (2, NULL);
INSERT INTO t VALUES(1, 0), (2, 0);
INSERT INTO child VALUES(1), (2);
UPDATE t SET n = n + 1;
SELECT k, counter_value(a) FROM c;
--= 1|1
--= 2|1
CREATE TABLE later(k);
UPDATE t SET k = k + 10;
CREATE TABLE later_still(k);
DELETE FROM t;
SELECT k, counter_value(a) FROM c;
--= 1|211
--= 2|211
CREATE TEMP TABLE latest(k);
BEGIN;
INSERT INTO t VALUES(1, 0), (2, 0);
UPDATE t SET n = n + 1;
CREATE TABLE within(k);
UPDATE t SET n = n + 1;
COMMIT;
SELECT k, counter_value(a) FROM c;
--= 1|213
--= 2|213

-- # a-new-identity-keeps-how-long-a-renewal-of-the-witness-lasts
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT renewal FROM counter_replica;
--= 10
UPDATE counter_replica SET renewal = 20;
SELECT counter_fork() IS NOT NULL;
--= 1
SELECT renewal FROM counter_replica WHERE one = 1;
--= 20

-- # counter-remove-takes-the-stored-tables-of-a-file-without-counter-tables
CREATE TABLE mine(x);
SELECT counter_remove();
--= 0
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE "w w" USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);
SELECT counter_track('products', 'stock');
--= 0
INSERT INTO v VALUES('a', 1);
CREATE TEMP TABLE was AS SELECT counter_id() AS id;
SELECT counter_remove();
--! counter_remove: main still has counter tables: products_counters, v, w w
DROP TABLE v;
DROP TABLE "w w";
SELECT counter_remove('main');
--! counter_remove: main still has counter tables: products_counters
SELECT counter_untrack('products');
--= 1
SELECT counter_remove();
--= 10
SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name;
--= mine
--= products
SELECT counter_remove(), counter_id();
--= 0|NULL
SELECT * FROM counter_identity;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 2);
SELECT n, counter_id() <> id, (SELECT count(*) FROM counter_identity) FROM v, was;
--= 2|1|1
SELECT * FROM v;
--= a|2

-- # counter-remove-is-taken-back-with-its-transaction
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
CREATE TEMP TABLE was AS SELECT counter_id() AS id;
BEGIN;
INSERT INTO v VALUES('a', 10);
SAVEPOINT s;
INSERT INTO v VALUES('a', 100);
DROP TABLE v;
SELECT counter_remove();
--= 9
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 5);
SELECT counter_id() = id FROM was;
--= 0
ROLLBACK TO s;
INSERT INTO v VALUES('a', 1000);
SELECT n, counter_id() = id FROM v, was;
--= 1011|1
COMMIT;
--@ reopen
SELECT n FROM v;
--= 1011
INSERT INTO v(v) VALUES('integrity-check');
BEGIN;
INSERT INTO v VALUES('a', 1);
DROP TABLE v;
SELECT counter_remove();
--= 9
ROLLBACK;
INSERT INTO v VALUES('a', 1);
SELECT n FROM v;
--= 1012
-- counts of this transaction, in a table that it drops
BEGIN;
INSERT INTO v VALUES('a', 1);
DROP TABLE v;
SELECT counter_remove();
--= 9
COMMIT;
SELECT count(*) FROM sqlite_master;
--= 0
SELECT length(counter_init());
--= 36

-- # counter-remove-in-an-attached-file-leaves-the-others
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.w USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main phone', read=ONE, write=ONE);
INSERT INTO phone.v VALUES('a', 1);
DROP TABLE phone.v;
DROP TABLE w;
SELECT counter_remove('phone');
--= 9
SELECT counter_remove('temp');
--= 9
SELECT (SELECT count(*) FROM phone.sqlite_master), (SELECT count(*) FROM sqlite_master WHERE name GLOB 'counter_*');
--= 0|9
INSERT INTO v VALUES('a', 1);
SELECT * FROM c;
--= a|1
SELECT counter_remove('nowhere');
--! counter_remove: no attached database has the name 'nowhere'
SELECT counter_remove(NULL);
--! counter_remove: the name of a database must be TEXT, not NULL
DROP TABLE v;
SELECT counter_remove('MAIN');
--= 9
SELECT * FROM c;
--!~ c: *
DROP TABLE c;

-- # counter-remove-drops-nothing-that-is-not-ours
CREATE TABLE counter_sources(mine);
INSERT INTO counter_sources VALUES(1);
SELECT counter_remove();
--= 0
SELECT * FROM counter_sources;
--= 1

-- # counter-remove-refuses-a-file-of-a-newer-format-and-a-damaged-one
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE v;
UPDATE counter_replica SET format = 99;
SELECT counter_remove();
--!~ counter_remove: *format 99*
UPDATE counter_replica SET format = 3, id = x'00';
SELECT counter_remove();
--!~ counter_remove: counter_replica is damaged: an id of 1 bytes instead of 16*counter_fork('main')*
SELECT count(*) FROM sqlite_master WHERE name GLOB 'counter_*' AND type = 'table';
--= 9
SELECT length(counter_fork()), counter_remove();
--= 36|9

-- # counter-remove-names-tables-that-the-catalog-lacks-and-stored-ones-without-their-table
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TEMP TABLE kept AS SELECT * FROM counter_tables;
DELETE FROM counter_tables;
SELECT counter_remove();
--! counter_remove: main still has counter tables: v
INSERT INTO counter_tables SELECT * FROM kept;
DROP TABLE v;
INSERT INTO counter_tables SELECT * FROM kept;
SELECT counter_remove();
--! counter_remove: main still has counter tables: v

-- # counter-remove-leaves-cells-of-ordinary-tables-as-they-are
SELECT length(counter_init());
--= 36
CREATE TABLE p(k, n);
INSERT INTO p VALUES('a', counter_inc(NULL, 3));
SELECT counter_remove();
--= 4
SELECT counter_value(n) FROM p;
--= 3
UPDATE p SET n = counter_inc(n, 1);
--! counter_inc: main has no replica id: run SELECT counter_init() once
SELECT length(counter_init());
--= 36
UPDATE p SET n = counter_inc(n, 1);
SELECT counter_value(n), (SELECT count(*) FROM counter_shards(n)) FROM p;
--= 4|2

-- # another-connection-sees-that-the-stored-tables-are-gone
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
--@ connection other
INSERT INTO v VALUES('a', 1);
SELECT n FROM v;
--= 2
CREATE TEMP TABLE was AS SELECT counter_id() AS id;
--@ connection main
DROP TABLE v;
SELECT counter_remove();
--= 9
--@ connection other
SELECT * FROM v;
--! no such table: v
SELECT counter_id(), counter_remove();
--= NULL|0
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
SELECT n, counter_id() = id FROM v, was;
--= 1|0
--@ connection main
INSERT INTO v VALUES('a', 1);
SELECT n FROM v;
--= 2

-- # counter-remove-is-for-the-statement-of-a-user-alone
CREATE TABLE t(x);
INSERT INTO t VALUES(1), (2);
SELECT length(counter_init());
--= 36
CREATE VIEW w AS SELECT counter_remove();
SELECT * FROM w;
--! unsafe use of counter_remove()
CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT counter_remove(); END;
INSERT INTO t VALUES(1);
--! unsafe use of counter_remove()
SELECT counter_remove() FROM t;
--! counter_remove: database table is locked
DROP TRIGGER r;
INSERT INTO t SELECT counter_remove();
--! counter_remove: it cannot run inside a statement that writes
SELECT count(*) FROM sqlite_master WHERE name GLOB 'counter_*' AND type = 'table';
--= 4

-- # a-name-is-not-taken-again-where-its-file-was-counted-in
--@ attributes
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
DROP TABLE v;
SELECT counter_remove();
--= 9
SELECT counter_init('dc1:rack1');
--!~ counter_init: this file has counted under an identity that it has lost, perhaps 'dc1:rack1': *
SELECT length(counter_init());
--= 36

-- # what-a-file-counts-while-a-copy-of-it-only-adds-a-counter-is-not-passed-over
--@ attributes
--@ whole-sqlite
ATTACH 'laptop.db' AS laptop;
CREATE VIRTUAL TABLE laptop.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO laptop.v VALUES ('tea', 1), ('jam', 1);
VACUUM laptop INTO 'phone.db';
ATTACH 'phone.db' AS phone;
SELECT rows_changed FROM counter_pull('laptop');
--= 2
UPDATE laptop.v SET n = n + 100 WHERE k = 'jam';
INSERT INTO phone.v(v) VALUES ('add column m');
SELECT counter_id('phone') <> counter_id('laptop');
--= 1
UPDATE laptop.v SET n = n + 1 WHERE k = 'tea';
SELECT rows_read FROM counter_pull('phone');
--= 2
SELECT rows_changed FROM counter_pull('laptop');
--= 2
SELECT k, n, m FROM v ORDER BY k;
--= jam|101|0
--= tea|2|0

-- # a-fork-of-a-copy-leaves-the-id-of-its-original-to-that
--@ attributes
--@ whole-sqlite
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('tea', 1);
VACUUM INTO 'copy.db';
ATTACH 'copy.db' AS copy;
SELECT length(counter_fork('copy'));
--= 36
SELECT state, why FROM counter_identity('copy');
--= current|fork
--= former|copy
--= former|created
