-- Names that are replaced: what is refused. What is done is told by README and tested with
-- several files.

-- # a-pending-file-has-the-negated-id-and-does-not-count-yet
SELECT counter_init('dc1:rack1', 'pending');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
SELECT counter_init('dc1:rack1', 'PENDING'), counter_init('dc1:rack1'), counter_id();
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93|4c5128aa-402c-31c8-a03f-6c27b0f53f93|4c5128aa-402c-31c8-a03f-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
--! v: main is to take over 'dc1:rack1' and does not count yet: pull from 4c5128aa-402c-31c8-9fc0-6c27b0f53f93 (dc1:rack1); pull from one replica at least; or, if a replica is lost for good, SELECT counter_lost(id)
SELECT counter_inc(NULL);
--!~ counter_inc: main is to take over 'dc1:rack1' and does not count yet: *
SELECT counter_promote();
--!~ counter_promote: main is to take over 'dc1:rack1' and does not count yet: *
SELECT counter_lost('4c5128aa-402c-31c8-9fc0-6c27b0f53f93');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
INSERT INTO v VALUES('a', 1);
--!~ *does not count yet: pull from one replica at least; or*
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('a', 5);
SELECT * FROM counter_pull('phone');
--= v|1|1|0|NULL
INSERT INTO v VALUES('a', 1);
INSERT INTO v(v) VALUES('optimize');
SELECT id, clock, value FROM v_cells, counter_shards(n) WHERE id = counter_id();
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93|4294967296|1
SELECT counter_value(counter_inc(NULL)), clock FROM counter_shards(counter_inc(NULL, 2));
--= 1|4294967296
SELECT counter_promote() IS NULL;
--!~ counter_promote: main cannot take over 'dc1:rack1' yet: let it pull from here, then pull from it: *
SELECT * FROM counter_sync('phone');
--= v|1|1|0|NULL
SELECT * FROM counter_pull('phone');
--= v|1|0|0|NULL
SELECT counter_promote();
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
SELECT state, why, refuses FROM counter_identity();
--= current|promoted|NULL
--= former|created|NULL
INSERT INTO v VALUES('a', 1);
INSERT INTO v VALUES('a', 1);
INSERT INTO v(v) VALUES('optimize');
SELECT id, clock, value FROM v_cells, counter_shards(n) WHERE id = counter_id();
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93|4294967297|2
SELECT counter_promote();
--!~ counter_promote: main is not a pending file: *
SELECT holder, epoch FROM counter_sources WHERE typeof(holder) = 'text';
--= dc1:rack1|1
INSERT INTO v(v) VALUES('integrity-check');

-- # a-pull-that-passed-over-a-table-is-not-the-one-that-a-pending-file-waits-for
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE phone.p(k TEXT PRIMARY KEY, x INTEGER);
SELECT counter_replicate('phone.p', 'x');
--= 0
INSERT INTO phone.v VALUES('a', 5);
SELECT counter_init('dc1:rack1', 'pending');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
SELECT counter_lost('4c5128aa-402c-31c8-9fc0-6c27b0f53f93');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
CREATE TABLE main.p(k TEXT PRIMARY KEY, x INTEGER);
SELECT counter_replicate('main.p');
--= 0
SELECT table_name, note FROM counter_pull('phone');
--= p|passed over: column x is a counter in phone and a regular column in main: counter_replicate('p', 'x') there makes it a counter
--= v|created in main
INSERT INTO v VALUES('a', 1);
--!~ *does not count yet: pull from *-*; pull from one replica at least; or*
SELECT counter_replicate('main.p', 'x');
--= 0
SELECT table_name, note FROM counter_pull('phone');
--= p|NULL
--= v|NULL
INSERT INTO v VALUES('a', 1);

-- # a-retired-file-counts-no-more
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
SELECT counter_retire() = counter_id();
--= 1
INSERT INTO v VALUES('a', 1);
--! v: main was retired and does not count any more: SELECT counter_fork('main') gives it a new random id
DELETE FROM v;
SELECT length(counter_fork());
--= 36
INSERT INTO v VALUES('b', 1);
SELECT * FROM v;
--= b|1

-- # a-retired-file-deletes-and-does-not-count-in-one-transaction
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
SELECT counter_retire() = counter_id();
--= 1
BEGIN;
DELETE FROM v;
SELECT counter_inc(NULL);
--! counter_inc: main was retired and does not count any more: SELECT counter_fork('main') gives it a new random id
COMMIT;
SELECT * FROM v;

-- # a-pending-file-takes-in-and-does-not-count-in-one-transaction
SELECT counter_init('dc1:rack1', 'pending');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
BEGIN;
INSERT INTO counter_changes VALUES('v', counter_key('z'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 3, '00000000-0000-0000-0000-00000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT counter_inc(NULL);
--!~ counter_inc: main is to take over 'dc1:rack1' and does not count yet: *
COMMIT;
SELECT * FROM v;
--= z|3

-- # the-holder-of-a-name-tells-who-is-lost
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
SELECT counter_lost('4c5128aa-402c-31c8-9fc0-6c27b0f53f93');
--! counter_lost: main itself has this id
SELECT counter_lost('4c5128aa-402c-31c8-a03f-6c27b0f53f93');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
SELECT hex(holder) = hex(id), hex(id), epoch, name, pending, lost > 0 FROM counter_sources;
--= 1|4C5128AA402C31C8A03F6C27B0F53F93|0|NULL|0|1

-- # a-file-that-meets-a-higher-epoch-of-its-name-counts-no-more
ATTACH 'phone.db' AS phone;
SELECT length(counter_init('dc1:rack1'));
--= 36
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
INSERT INTO phone.counter_sources(holder, id, epoch) VALUES('dc1:rack1', x'', 1);
UPDATE phone.counter_replica SET names = 1;
SELECT * FROM counter_pull('phone');
--= v|0|0|0|NULL
INSERT INTO v VALUES('a', 1);
--! v: main is 'dc1:rack1' and does not count any more, because another file has taken over that name: SELECT counter_fork('main') gives it a new random id
SELECT holder, epoch FROM counter_sources WHERE typeof(holder) = 'text';
--= dc1:rack1|1
UPDATE phone.counter_sources SET epoch = -1;
UPDATE phone.counter_replica SET names = 2;
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_sources is damaged: epoch -1, not 0 ... 1073741823

-- # a-holder-that-meets-counts-of-a-later-epoch-counts-no-more
ATTACH 'phone.db' AS phone;
SELECT counter_init('dc1:rack1');
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
-- who has taken over the name counts with clocks from 2^32 on
INSERT INTO phone.v VALUES('x', 1);
UPDATE phone.v_cells SET n = counter_merge(n, (SELECT counter_collect('4c5128aa-402c-31c8-9fc0-6c27b0f53f93', 4294967297, 5)));
SELECT * FROM counter_pull('phone');
--= v|1|1|0|NULL
SELECT * FROM v;
--= x|6
INSERT INTO v VALUES('x', 1);
--! v: main is 'dc1:rack1' and does not count any more, because another file has taken over that name: SELECT counter_fork('main') gives it a new random id
SELECT refuses FROM counter_identity();
--= replaced
SELECT count(*) FROM counter_conflicts;
--= 0
SELECT length(counter_fork());
--= 36
INSERT INTO v VALUES('x', 1);
SELECT * FROM v;
--= x|7

-- # a-loss-is-told-to-the-file-whose-schema-is-named
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1);
SELECT counter_lost(counter_id(), 'phone') = counter_id('phone');
--= 1
SELECT counter_lost(counter_id('phone'), 'phone');
--! counter_lost: phone itself has this id
SELECT counter_lost(counter_id(), 'nowhere');
--! counter_lost: no attached database has the name 'nowhere'
SELECT hex(holder) = hex(id), replace(counter_id(), '-', '') = lower(hex(id)) FROM phone.counter_sources WHERE lost > 0;
--= 1|1

-- # a-pending-file-that-was-read-before-it-counts-folds-under-its-epoch
SELECT counter_init('dc1:rack1', 'pending');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('a', 1);
SELECT * FROM counter_pull('phone');
--= v|1|1|0|created in main
SELECT counter_lost('4c5128aa-402c-31c8-9fc0-6c27b0f53f93');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
SELECT * FROM v;
--= a|1
SELECT * FROM counter_pull('phone');
--= v|0|0|0|NULL
INSERT INTO v VALUES('a', 10);
INSERT INTO v(v) VALUES('optimize');
SELECT id, clock, value FROM v_cells, counter_shards(n) WHERE id = counter_id();
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93|4294967296|10

-- # of-several-that-are-to-take-over-a-name-the-lost-one-is-told-by-its-holder
SELECT counter_init('dc1:rack1', 'pending');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
-- phone has pulled from another file that is to take over the name
INSERT INTO phone.counter_sources(holder, id, epoch, name, pending)
  VALUES(x'aa000000000040008000000000000001', x'4c5128aa402c31c8a03f6c27b0f53f93', 1, 'dc1:rack1', 1);
SELECT * FROM counter_pull('phone');
--= v|0|0|0|NULL
SELECT counter_lost('4c5128aa-402c-31c8-9fc0-6c27b0f53f93');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
INSERT INTO v VALUES('x', 1);
--!~ *does not count yet: *pull from*
SELECT counter_lost(counter_id());
--! counter_lost: every file that is to take over 'dc1:rack1' has this id: pass the holder of the lost one, from counter_sources, such as counter_lost('aa000000-0000-4000-8000-000000000001')
SELECT counter_lost('aa000000-0000-4000-8000-000000000001');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
SELECT * FROM counter_pull('phone');
--= v|0|0|0|NULL
INSERT INTO v VALUES('x', 1);
SELECT count(*) FROM counter_sources WHERE lost > 0;
--= 2
-- another one of which nobody knows more than that there was one
SELECT counter_lost(counter_id());
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
SELECT count(*), sum(pending) FROM counter_sources WHERE lost > 0;
--= 3|2
UPDATE phone.counter_sources SET epoch = 1073741823 WHERE pending;
SELECT * FROM counter_pull('phone');
--= v|0|0|0|NULL
UPDATE phone.counter_sources SET epoch = 1073741824 WHERE pending;
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_sources is damaged: epoch 1073741824, not 0 ... 1073741823
UPDATE phone.counter_sources SET epoch = -1;
SELECT * FROM counter_pull('phone');
--! counter_pull: counter_sources is damaged: epoch -1, not 0 ... 1073741823

-- # a-name-is-taken-over-only-when-all-that-was-counted-before-is-elsewhere
SELECT counter_init('dc1:rack1', 'pending');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
SELECT counter_lost('4c5128aa-402c-31c8-9fc0-6c27b0f53f93') IS NOT NULL;
--= 1
SELECT * FROM counter_pull('phone');
--= v|0|0|0|NULL
CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v(k, n) VALUES('x', 1), ('y', 1);
INSERT INTO w VALUES('z', 1);
-- as if phone had been told of the new epoch by others, and of nothing else
INSERT INTO phone.counter_sources(holder, id, epoch)
  SELECT holder, id, epoch FROM counter_sources WHERE typeof(holder) = 'text';
SELECT * FROM counter_pull('phone');
--= v|0|0|0|NULL
SELECT counter_promote();
--!~ counter_promote: main cannot take over 'dc1:rack1' yet: let it pull from here, then pull from it: *
SELECT count(*) FROM counter_push('phone');
--= 2
INSERT INTO v(k, n) VALUES('x', 1);
SELECT count(*) FROM counter_pull('phone');
--= 2
SELECT counter_promote();
--!~ counter_promote: *let it pull from here, then pull from it: *
-- what has begun a new life elsewhere holds all that was before
INSERT INTO phone.v(v, k) VALUES('reset', 'x');
DELETE FROM phone.v WHERE k = 'y';
INSERT INTO v(v) VALUES('optimize');
UPDATE v_cells SET m = (SELECT counter_collect('4c5128aa-402c-31c8-a03f-6c27b0f53f93', 4294967296, 1)) WHERE k = 'y';
INSERT INTO v(v) VALUES('optimize');
SELECT count(*) FROM counter_pull('phone');
--= 2
SELECT counter_promote();
--= 4c5128aa-402c-31c8-9fc0-6c27b0f53f93
SELECT * FROM v;
--= x|0|0

-- # a-name-that-was-replaced-as-often-as-can-be-counted-is-replaced-no-more
SELECT counter_init('dc1:rack1', 'pending');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.counter_sources(holder, id, epoch) VALUES('dc1:rack1', x'', 1073741823);
UPDATE phone.counter_replica SET names = 1;
SELECT * FROM counter_pull('phone');
--! counter_pull: 'dc1:rack1' has no epoch left: it was replaced 1073741823 times

-- # a-name-is-replaced-a-last-time
SELECT counter_init('dc1:rack1', 'pending');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.counter_sources(holder, id, epoch) VALUES('dc1:rack1', x'', 1073741822);
UPDATE phone.counter_replica SET names = 1;
SELECT * FROM counter_pull('phone');
--= v|0|0|0|NULL
SELECT epoch FROM counter_replica;
--= 1073741823

-- # a-rival-of-a-damaged-holder-is-lost-by-its-id
SELECT counter_init('dc1:rack1', 'pending');
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
INSERT INTO counter_sources(holder, id, name, pending) VALUES(x'0000000000000000000000000000000a', x'4c5128aa402c31c8a03f6c27b0f53f93', 'dc1:rack1', 1);
SELECT counter_lost(counter_id());
--! counter_lost: every file that is to take over 'dc1:rack1' has this id: pass the holder of the lost one, from counter_sources, such as counter_lost('00000000-0000-0000-0000-00000000000a')
UPDATE counter_sources SET holder = x'0a' WHERE id = x'4c5128aa402c31c8a03f6c27b0f53f93';
SELECT counter_lost(counter_id());
--!~ *such as counter_lost('')
DELETE FROM counter_sources WHERE id = x'4c5128aa402c31c8a03f6c27b0f53f93';
SELECT counter_lost(counter_id());
--= 4c5128aa-402c-31c8-a03f-6c27b0f53f93
SELECT hex(id), epoch, name, pending, lost > 0 FROM counter_sources WHERE id = x'4c5128aa402c31c8a03f6c27b0f53f93';
--= 4C5128AA402C31C8A03F6C27B0F53F93|1|dc1:rack1|1|1

-- # what-is-refused-of-a-replacement
SELECT counter_init('dc1:rack1', 'soon');
--! counter_init: the second argument must be 'pending', not TEXT 'soon'
SELECT counter_init('dc1', 'pending');
--!~ counter_init: the name must be dc:rack*
SELECT counter_lost('x');
--!~ counter_lost: id must be *
SELECT counter_lost('4c5128aa-402c-31c8-9fc0-6c27b0f53f93');
--! counter_lost: main has no replica id: run SELECT counter_init() once
SELECT counter_retire();
--! counter_retire: main has no replica id: run SELECT counter_init() once
SELECT counter_promote('phone');
--! counter_promote: no attached database has the name 'phone'
SELECT length(counter_init());
--= 36
SELECT counter_init('dc1:rack1', 'pending');
--!~ counter_init: main has a random replica id already*
SELECT counter_lost(counter_id());
--! counter_lost: main itself has this id
