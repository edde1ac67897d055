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
--= 1|1|NULL

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
--! counter_init: main has a random replica id already, it cannot become 'dc1:rack1'

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
UPDATE counter_replica SET format = 2;
SELECT counter_id();
--! counter_id: the file was written by a newer version: format 2, this library knows 1
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
--! v: the file was written by a newer version: format 2, this library knows 1

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
