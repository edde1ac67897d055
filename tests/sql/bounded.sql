-- counter_bound, counter_rights, 'grant <id>': counters that never go below zero in all files together.

-- # a-bounded-counter-of-a-counter-table-is-counted-down-to-zero-and-no-further
CREATE VIRTUAL TABLE credits USING counter(user TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO credits(user, n, m) VALUES ('ann', 10, 10);
SELECT counter_bound('credits', 'n');
--= 0
INSERT INTO credits(user, n, m) VALUES ('ann', -4, -14);
SELECT user, n, m FROM credits;
--= ann|6|-4
INSERT INTO credits(user, n) VALUES ('ann', -7);
--! credits: row ('ann'): column n: this file may take 6 more of the 6: have a file grant some, or sync with one
UPDATE credits SET n = -1;
--! credits: row ('ann'): column n: this file may take 6 more of the 6: have a file grant some, or sync with one
INSERT OR REPLACE INTO credits(user, n) VALUES ('ann', -2);
--! credits: row ('ann'): column n: this file may take 6 more of the 6: have a file grant some, or sync with one
INSERT INTO credits(user, n) VALUES ('bob', -1);
--! credits: row ('bob'): column n: this file may take none of the 0: have a file grant some, or sync with one
INSERT OR IGNORE INTO credits(user, n) VALUES ('bob', -1);
UPDATE OR IGNORE credits SET n = n - 7, m = 5;
INSERT OR IGNORE INTO credits(user, n, request_id) VALUES ('bob', -1, 'r');
--! credits: row ('bob'): column n: this file may take none of the 0: have a file grant some, or sync with one
SELECT count(*) FROM counter_requests;
--= 0
SELECT user, n, m FROM credits;
--= ann|6|-4
UPDATE credits SET n = 0;
INSERT INTO credits(user, n) VALUES ('ann', 3);
SELECT key, column_name, rights, here FROM counter_rights('credits');
--= ["ann"]|n|3|1
INSERT INTO credits(credits) VALUES ('integrity-check');

-- # of-a-tracked-table-nothing-of-a-refused-statement-stays-whatever-its-conflict-clause
CREATE TABLE seats(hall TEXT PRIMARY KEY, name TEXT UNIQUE, free INTEGER);
INSERT INTO seats VALUES ('A', 'big', 5), ('B', 'small', 3);
SELECT counter_replicate('seats', 'free');
--= 2
SELECT counter_bound('seats', 'free');
--= 0
UPDATE seats SET free = free - 4;
--! seats: row ('B'): column free: this file may take 3 more of the 3: have a file grant some, or sync with one
UPDATE OR IGNORE seats SET free = free - 4;
--! seats: row ('B'): column free: this file may take 3 more of the 3: have a file grant some, or sync with one
UPDATE OR FAIL seats SET free = free - 4;
--! seats: row ('B'): column free: this file may take 3 more of the 3: have a file grant some, or sync with one
UPDATE OR REPLACE seats SET free = free - 4;
--! seats: row ('B'): column free: this file may take 3 more of the 3: have a file grant some, or sync with one
INSERT INTO seats VALUES ('C', 'tiny', -1);
--! seats: row ('C'): column free: this file may take none of the 0: a row begins at 0 or more, also under another key; one that others have comes by a sync
INSERT INTO seats VALUES ('A', 'x', 1) ON CONFLICT(hall) DO UPDATE SET free = free - 6;
--! seats: row ('A'): column free: this file may take 5 more of the 5: have a file grant some, or sync with one
SELECT group_concat(hall || free, ' ') FROM seats;
--= A5 B3
BEGIN;
UPDATE seats SET free = free - 2;
SAVEPOINT x;
UPDATE seats SET free = free - 2 WHERE hall = 'B';
--! seats: row ('B'): column free: this file may take 1 more of the 1: have a file grant some, or sync with one
UPDATE seats SET free = free - 1 WHERE hall = 'B';
ROLLBACK TO x;
SELECT key, rights FROM counter_rights('seats');
--= ["A"]|3
--= ["B"]|1
COMMIT;
UPDATE seats SET free = NULL WHERE hall = 'A';
DELETE FROM seats WHERE hall = 'B';
SELECT count(*), max(free) FROM seats;
--= 1|NULL

-- # a-row-that-comes-again-has-no-rights
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO c VALUES ('a', 5);
INSERT INTO t VALUES ('a', 5), ('b', 0);
SELECT counter_track('t', 'n');
--= 2
SELECT counter_bound('t', 'n');
--= 0
SELECT counter_bound('c', 'n');
--= 0
DELETE FROM c;
DELETE FROM t WHERE k = 'a';
INSERT INTO c VALUES ('a', -1);
--! c: row ('a'): column n: this file may take none of the 0: what is counted anew begins at 0 or more
INSERT INTO c(c, k, n) VALUES ('reset', 'a', -1);
--! c: row ('a'): column n: this file may take none of the 0: what is counted anew begins at 0 or more
INSERT INTO t VALUES ('a', -1);
--! t: row ('a'): column n: this file may take none of the 0: what is counted anew begins at 0 or more
UPDATE t SET k = 'a', n = n - 2 WHERE k = 'b';
--! t: row ('a'): column n: this file may take none of the 0: what is counted anew begins at 0 or more
SELECT (SELECT count(*) FROM c), group_concat(k || n) FROM t;
--= 0|b0
INSERT INTO t VALUES ('a', 2);
INSERT INTO c VALUES ('a', 2);
UPDATE t SET n = n - 2 WHERE k = 'a';
UPDATE c SET n = n - 3;
--! c: row ('a'): column n: this file may take 2 more of the 2: have a file grant some, or sync with one

-- # rights-are-granted-and-whoever-has-them-may-take
CREATE TABLE seats(hall TEXT PRIMARY KEY, free INTEGER);
INSERT INTO seats VALUES ('A', 12);
SELECT counter_track('seats', 'free');
--= 1
SELECT counter_bound('seats', 'free');
--= 0
ATTACH 'door.db' AS door;
CREATE TABLE door.seats(hall TEXT PRIMARY KEY, free INTEGER);
SELECT counter_track('door.seats', 'free');
--= 0
SELECT rows_changed FROM counter_push('door');
--= 1
UPDATE door.seats SET free = free - 1;
--! seats: row ('A'): column free: this file may take none of the 12: have a file grant some, or sync with one
INSERT INTO seats_counters(seats_counters, hall, free) SELECT 'grant ' || id, 'A', 4 FROM counter_identity('door');
INSERT INTO seats_counters(seats_counters, hall, free) SELECT 'grant ' || id, 'A', 9 FROM counter_identity('door');
--! seats_counters: row ('A'): column free: this file may grant 8 more of the 12: have a file grant some, or sync with one
SELECT rows_changed FROM counter_push('door');
--= 1
UPDATE door.seats SET free = free - 4;
UPDATE door.seats SET free = free - 1;
--! seats: row ('A'): column free: this file may take none of the 8: have a file grant some, or sync with one
DELETE FROM door.seats;
--! seats: row ('A'): column free: others may take 8 of the 8, and would go on: have them grant it to this file, or count anew what is there by the command 'reset free', which ends their rights
UPDATE door.seats SET free = NULL;
--! seats: row ('A'): column free: others may take 8 of the 8, and would go on: have them grant it to this file, or count anew what is there by the command 'reset free', which ends their rights
INSERT INTO seats_counters(seats_counters, hall, free) VALUES ('grant 00000000-0000-0000-0000-000000000000', 'A', 2);
SELECT id = '00000000-0000-0000-0000-000000000000', rights, here FROM counter_rights('seats') ORDER BY rights;
--= 1|2|0
--= 0|4|0
--= 0|6|1
SELECT rows_changed FROM counter_pull('door');
--= 1
SELECT free FROM seats;
--= 8
SELECT rights, here FROM counter_rights('seats') WHERE id NOT LIKE '0000%';
--= 6|1
INSERT INTO seats_counters(seats_counters, hall, free) VALUES ('reset', 'A', 20);
SELECT rights, here FROM counter_rights('seats');
--= 20|1
SELECT rows_changed FROM counter_push('door');
--= 1
SELECT counter_table_digest('seats') = counter_table_digest('seats', 'door');
--= 1

-- # a-bad-grant-is-refused-and-changes-nothing
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO c(k, n, m) VALUES ('a', 5, 5);
SELECT counter_bound('c', 'n');
--= 0
INSERT INTO c(c, k, n) VALUES ('grant nobody', 'a', 1);
--! c: 'grant' names the id of a file, as counter_identity() shows it there, not 'nobody'
INSERT INTO c(c, k, n) VALUES ('grant 00000000-0000-8000-8000-000000000000', 'a', 1);
--! c: 'grant' names the id of a file, as counter_identity() shows it there, not '00000000-0000-8000-8000-000000000000'
INSERT INTO c(c, k, n) SELECT 'grant ' || id, 'a', 1 FROM counter_identity();
--! c: 'grant' names this file, which has what it would get
INSERT INTO c(c, k, n) VALUES ('grant 00000000-0000-0000-0000-000000000000', 'a', -1);
--! c: column n: a grant is at least 1, not -1
INSERT INTO c(c, k, n) VALUES ('grant 00000000-0000-0000-0000-000000000000', 'a', 0);
--! c: column n: a grant is at least 1, not 0
INSERT INTO c(c, k, n) VALUES ('grant 00000000-0000-0000-0000-000000000000', 'a', 'x');
--! c: column n: a counter takes an INTEGER, not TEXT 'x'
INSERT INTO c(c, k, m) VALUES ('grant 00000000-0000-0000-0000-000000000000', 'a', 1);
--! c: column m has no bound, so everybody may take of it: counter_bound gives it one
INSERT INTO c(c, k) VALUES ('grant 00000000-0000-0000-0000-000000000000', 'a');
--! c: 'grant' needs a value for a bounded counter: how much is granted
INSERT INTO c(c, k, n) VALUES ('grant 00000000-0000-0000-0000-000000000000', 'b', 1);
--! c: there is no row ('b')
INSERT INTO c(c, n) VALUES ('grant 00000000-0000-0000-0000-000000000000', 1);
--! c: key column k must not be NULL
INSERT INTO c(c, k, n) VALUES ('grant 00000000-0000-0000-0000-000000000000', 'a', 6);
--! c: row ('a'): column n: this file may grant 5 more of the 5: have a file grant some, or sync with one
SELECT rights, here FROM counter_rights('c');
--= 5|1

-- # what-cannot-be-bounded-is-refused
CREATE TABLE seats(hall TEXT PRIMARY KEY, name TEXT, free INTEGER);
SELECT counter_replicate('seats', 'free');
--= 0
SELECT counter_bound('seats', 'name');
--! counter_bound: seats: 'name' is no counter: only a counter can have a bound
SELECT counter_bound('seats', 'hall');
--! counter_bound: seats: 'hall' is no counter: only a counter can have a bound
SELECT counter_bound('seats', 'none');
--! counter_bound: seats: 'none' is no counter: only a counter can have a bound
SELECT counter_bound('none', 'free');
--! counter_bound: there is no tracked table 'none'
SELECT counter_bound('seats', NULL);
--! counter_bound: the name of a counter must be TEXT, not NULL
SELECT counter_bound('seats_counters', 'free');
--= 0
SELECT counter_bound('seats', 'free');
--= 0
SELECT count(*) FROM counter_rights('seats');
--= 0

-- # a-file-with-a-name-takes-no-bound-of-its-own-or-of-another-file
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.c USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.c(k, n) VALUES ('a', 5);
SELECT length(counter_init('dc1:rack1'));
--= 36
CREATE VIRTUAL TABLE main.c USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_bound('main.c', 'n');
--! counter_bound: column n: this file has the name dc1:rack1, and a file with a name takes no bound: its successor would take again what it has taken
SELECT counter_bound('phone.c', 'n');
--= 0
SELECT * FROM counter_pull('phone');
--! counter_pull: table c: column n: this file has the name dc1:rack1, and a file with a name takes no bound: its successor would take again what it has taken
INSERT INTO main.c(k, n) VALUES ('a', -1);
SELECT n FROM main.c;
--= -1

-- # a-bound-covers-what-others-have-taken-before-as-far-as-this-file-can
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE main.c USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.c USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO main.c(k, n) VALUES ('a', 10), ('b', 2);
INSERT INTO phone.c(k, n) VALUES ('a', -3), ('b', -5);
SELECT rows_changed FROM counter_sync('phone');
--~ *
SELECT counter_bound('c', 'n');
--= 1
SELECT key, rights, here FROM counter_rights('c') ORDER BY key, here;
--= ["a"]|7|1
--= ["b"]|-3|0
--= ["b"]|0|1
SELECT counter_bound('c', 'n');
--= 1
SELECT rows_changed > 0 FROM counter_push('phone');
--= 1
INSERT INTO phone.c(k, n) VALUES ('a', -1);
--! c: row ('a'): column n: this file may take none of the 7: have a file grant some, or sync with one
INSERT INTO phone.c(k, n) VALUES ('b', 4);
INSERT INTO phone.c(k, n) VALUES ('b', -1);
INSERT INTO phone.c(k, n) VALUES ('b', -1);
--! c: row ('b'): column n: this file may take none of the 0: have a file grant some, or sync with one

-- # openings-are-held-by-who-made-them-and-by-nobody-if-they-were-declared-the-same-before
ATTACH 'office.db' AS office;
CREATE TABLE main.p(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.p(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.p VALUES ('tea', 500);
INSERT INTO office.p VALUES ('tea', 500);
SELECT counter_track('main.p', 'stock', 'opening=same');
--= 1
SELECT counter_track('office.p', 'stock', 'opening=same');
--= 1
SELECT counter_bound('main.p', 'stock');
--= 1
SELECT id, rights FROM counter_rights('p') WHERE rights <> 0;
--= 00000000-0000-0000-0000-000000000000|500
SELECT rows_changed > 0 FROM counter_push('office');
--= 1
UPDATE office.p SET stock = 499;
--! p: row ('tea'): column stock: this file may take none of the 500: have a file grant some, or sync with one
INSERT INTO office.p_counters(p_counters, sku, stock) VALUES ('reset', 'tea', 500);
SELECT rights, here FROM counter_rights('p', 'office');
--~ 500|[01]
UPDATE office.p SET stock = 499;

-- # a-key-changes-only-where-nobody-else-may-take-for-they-would-go-on-under-the-former-one
ATTACH 'door.db' AS door;
CREATE TABLE main.seats(hall TEXT PRIMARY KEY, free INTEGER);
CREATE TABLE door.seats(hall TEXT PRIMARY KEY, free INTEGER);
INSERT INTO seats VALUES ('A', 12);
SELECT counter_replicate('seats', 'free');
--= 1
SELECT counter_replicate('door.seats', 'free');
--= 0
SELECT counter_bound('seats', 'free');
--= 0
SELECT rows_changed FROM counter_push('door');
--= 1
UPDATE door.seats SET hall = 'B';
--! seats: row ('A'): column free: others may take 12 of the 12, and would go on: have them grant it to this file, or count anew what is there by the command 'reset free', which ends their rights
UPDATE OR IGNORE door.seats SET hall = 'B';
--! seats: row ('A'): column free: others may take 12 of the 12, and would go on: have them grant it to this file, or count anew what is there by the command 'reset free', which ends their rights
UPDATE main.seats SET hall = 'B', free = free - 13;
--! seats: row ('B'): column free: this file may take none of the 0: a row begins at 0 or more, also under another key; one that others have comes by a sync
UPDATE main.seats SET hall = 'B', free = free - 8;
SELECT key, rights, here FROM counter_rights('seats');
--= ["B"]|4|1
INSERT INTO seats_counters(seats_counters, hall, free) VALUES ('grant 11111111-1111-4111-8111-111111111111', 'B', 3);
UPDATE main.seats SET hall = 'C';
--! seats: row ('B'): column free: others may take 3 of the 4, and would go on: have them grant it to this file, or count anew what is there by the command 'reset free', which ends their rights
SELECT * FROM main.seats;
--= B|4

-- # keys-that-follow-each-other-in-one-statement-change-where-nobody-else-may-take
CREATE TABLE seats(hall INTEGER PRIMARY KEY, free INTEGER);
CREATE TABLE rooms(hall TEXT PRIMARY KEY, free INTEGER) WITHOUT ROWID;
INSERT INTO seats VALUES (1, 3), (2, 12);
INSERT INTO rooms VALUES ('A', 3), ('B', 12);
SELECT counter_track('seats', 'free', 'keys=assigned');
--= 2
SELECT counter_bound('seats', 'free');
--= 0
SELECT counter_track('rooms', 'free');
--= 2
SELECT counter_bound('rooms', 'free');
--= 0
UPDATE seats SET hall = hall - 1;
DELETE FROM rooms WHERE hall = 'A';
UPDATE rooms SET hall = 'A';
SELECT key, rights, here FROM counter_rights('seats') ORDER BY key, here;
--= [0]|3|1
--= [1]|12|1
SELECT key, rights, here FROM counter_rights('rooms') ORDER BY here;
--= ["A"]|12|1
INSERT INTO seats_counters(seats_counters, hall, free) VALUES ('grant 11111111-1111-4111-8111-111111111111', 1, 4);
UPDATE seats SET hall = hall - 1;
--! seats: row (1): column free: others may take 4 of the 12, and would go on: have them grant it to this file, or count anew what is there by the command 'reset free', which ends their rights
SELECT * FROM seats;
--= 0|3
--= 1|12

-- # a-changed-key-that-is-refused-leaves-nothing-for-the-next-row
CREATE TABLE seats(hall TEXT PRIMARY KEY, free);
INSERT INTO seats VALUES ('A', 12);
SELECT counter_track('seats', 'free');
--= 1
SELECT counter_bound('seats', 'free');
--= 0
UPDATE seats SET hall = 'B', free = 'x';
--! seats: row ('B'): column free: a tracked column takes an INTEGER, not TEXT 'x'
INSERT INTO seats VALUES ('C', 5);
SELECT key, rights, here FROM counter_rights('seats') WHERE key = '["C"]';
--= ["C"]|5|1

-- # a-trigger-that-moves-a-row-on-while-its-key-changes-takes-its-rights-along
CREATE TABLE seats(hall TEXT PRIMARY KEY, free INTEGER);
INSERT INTO seats VALUES ('A', 12);
SELECT counter_track('seats', 'free');
--= 1
SELECT counter_bound('seats', 'free');
--= 0
CREATE TRIGGER moves AFTER UPDATE OF hall ON seats WHEN NEW.hall = 'C' BEGIN UPDATE seats SET hall = 'D' WHERE hall = NEW.hall; END;
CREATE TRIGGER stays AFTER UPDATE OF hall ON seats WHEN NEW.hall = 'E' BEGIN UPDATE seats SET hall = OLD.hall WHERE hall = NEW.hall; END;
UPDATE seats SET hall = 'E';
SELECT key, rights, here FROM counter_rights('seats') ORDER BY here;
--= ["A"]|12|1
UPDATE seats SET hall = 'C';
SELECT key, rights, here FROM counter_rights('seats') ORDER BY here;
--= ["D"]|12|1
INSERT INTO seats_counters(seats_counters, hall, free) VALUES ('grant 11111111-1111-4111-8111-111111111111', 'D', 4);
DROP TRIGGER stays;
UPDATE seats SET hall = 'E';
--! seats: row ('D'): column free: others may take 4 of the 12, and would go on: have them grant it to this file, or count anew what is there by the command 'reset free', which ends their rights
SELECT * FROM seats;
--= D|12

-- # a-trigger-ends-no-row-of-a-merge-in-which-others-have-rights
ATTACH 'door.db' AS door;
CREATE TABLE main.seats(hall TEXT PRIMARY KEY, free INTEGER);
CREATE TABLE door.seats(hall TEXT PRIMARY KEY, free INTEGER);
INSERT INTO door.seats VALUES ('A', 9);
SELECT counter_replicate('main.seats', 'free');
--= 0
SELECT counter_replicate('door.seats', 'free');
--= 1
SELECT counter_bound('door.seats', 'free');
--= 0
SELECT rows_changed FROM counter_pull('door');
--= 1
CREATE TRIGGER main.sold_out AFTER UPDATE ON seats BEGIN DELETE FROM seats WHERE hall = NEW.hall; END;
UPDATE door.seats SET free = free - 1;
SELECT rows_changed, note FROM counter_pull('door');
--= 1|1 row differs: see counter_tracked()
SELECT row_key, shown, merged, why FROM counter_tracked() WHERE state = 'differs';
--= ('A')|9|8|seats: row ('A'): column free: others may take 8 of the 8, and would go on: have them grant it to this file, or count anew what is there by the command 'reset free', which ends their rights
DROP TRIGGER main.sold_out;
SELECT rows_changed, note FROM counter_pull('door', 'full');
--~ *
SELECT free FROM main.seats;
--= 8

-- # what-this-file-may-take-is-not-dropped-with-its-table-or-its-column
CREATE TABLE seats(hall TEXT PRIMARY KEY, free INTEGER, sold INTEGER DEFAULT 0);
INSERT INTO seats VALUES ('A', 1, 0);
SELECT counter_track('seats', 'free', 'sold');
--= 1
SELECT counter_bound('seats', 'free');
--= 0
SELECT counter_untrack('seats');
--! counter_untrack: the file would take another id, and what it may take of bounded counters of seats_counters would be lost for all: counter_rights('seats_counters') shows it, and 'grant <id>' gives it to another file
SELECT counter_untrack('seats', 'free');
--! counter_untrack: the file would take another id, and what it may take of bounded counters of seats_counters would be lost for all: counter_rights('seats_counters') shows it, and 'grant <id>' gives it to another file
SELECT counter_untrack('seats', 'sold');
--! counter_untrack: the file would take another id, and what it may take of bounded counters of seats_counters would be lost for all: counter_rights('seats_counters') shows it, and 'grant <id>' gives it to another file
UPDATE seats SET free = 0;
SELECT counter_untrack('seats', 'sold');
--= 1
SELECT counter_untrack('seats');
--= 1
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO c(k, n) VALUES ('a', 1);
SELECT counter_bound('c', 'n');
--= 0
INSERT INTO c(c) VALUES ('drop column n');
--! c: the file would take another id, and what it may take of bounded counters of c would be lost for all: counter_rights('c') shows it, and 'grant <id>' gives it to another file
INSERT INTO c(c) VALUES ('drop column m');
--! c: the file would take another id, and what it may take of bounded counters of c would be lost for all: counter_rights('c') shows it, and 'grant <id>' gives it to another file
DROP TABLE c;
--! access permission denied
INSERT INTO c(c, k, n) VALUES ('grant 11111111-1111-4111-8111-111111111111', 'a', 1);
DROP TABLE c;

-- # a-counter-that-is-added-again-has-no-bound
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
SELECT counter_bound('c', 'n');
--= 0
INSERT INTO c(c) VALUES ('drop column n');
INSERT INTO c(c) VALUES ('add column n');
INSERT INTO c(k, n) VALUES ('a', -1);
SELECT n FROM c;
--= -1
SELECT counter_bound('c', 'n');
--= 1

-- # a-bound-travels-by-changes-as-rows-and-by-lines-before-the-rows
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO c(k, n) VALUES ('a', 5);
SELECT counter_bound('c', 'n');
--= 0
SELECT counter_change_json(f.change), kind FROM counter_changes(0) AS f, counter_change(f.change) WHERE counter_change_json(f.change) LIKE '%"tells":"column"%';
--= {"tells":"column","name":"n","kind":"counter","generation":1,"bounded":true}|bounded counter
SELECT hex(counter_change_of('{"tells":"column","name":"n","kind":"counter","generation":1,"bounded":true}'));
--= 03016E010101
SELECT counter_change_of('{"tells":"column","name":"n","kind":"counter","generation":1,"bounded":false}');
--! counter_change_of: the member bounded must be true, or missing, not false
SELECT counter_change_of('{"tells":"column","name":"n","kind":"counter","generation":2,"bounded":true}');
--! counter_change_of: the change: column n is bounded, and no counter that is there
SELECT json_extract(line, '$.changes[0].change'), substr(json_extract(line, '$.changes[1].change'), 1, 2) FROM counter_lines(0);
--= 03016e010101|01

-- # integrity-check-and-optimize-take-bounds-as-they-are
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO c(k, n) VALUES ('a', 5);
SELECT counter_bound('c', 'n');
--= 0
INSERT INTO c(c, k, n) VALUES ('grant 11111111-1111-4111-8111-111111111111', 'a', 2);
INSERT INTO c(k, n) VALUES ('a', -1);
INSERT INTO c(c) VALUES ('integrity-check');
INSERT INTO c(c) VALUES ('optimize');
SELECT rights, here FROM counter_rights('c') ORDER BY here;
--= 2|0
--= 2|1
INSERT INTO c(k, n) VALUES ('a', -3);
--! c: row ('a'): column n: this file may take 2 more of the 4: have a file grant some, or sync with one
INSERT INTO c(c) VALUES ('integrity-check');

-- # rights-that-add-up-to-more-than-64-bits-are-an-error-and-a-reset-ends-them
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO c(k, n) VALUES ('a', 5), ('b', 1);
SELECT counter_bound('c', 'n');
--= 0
CREATE TEMP TABLE x(change);
INSERT INTO x SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"01010101-0101-0101-0101-010101010101","clock":1,"value":1,"grants":{"02020202-0202-0202-0202-020202020202":9223372036854775807}},{"id":"03030303-0303-0303-0303-030303030303","clock":1,"value":1,"grants":{"02020202-0202-0202-0202-020202020202":9223372036854775807}}]}}]}');
SELECT json_extract(counter_take(json_object('format', 1, 'source', '01010101-0101-0101-0101-010101010101', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'c', 'packed', hex(counter_key('a')), 'seq', 1, 'change', hex(change))))), '$.changes') FROM x;
--= 1
SELECT k, n FROM c;
--= a|7
--= b|1
SELECT key, id, rights FROM counter_rights('c') WHERE NOT here;
--! counter_rights: column n of ('a'): integer overflow: what 02020202-0202-0202-0202-020202020202 may take adds up to more than 64 bits; 'reset n' ends the rights of all
INSERT INTO c(c, k, n) VALUES ('reset n', 'a', 5);
SELECT key, rights, here FROM counter_rights('c');
--= ["a"]|5|1
--= ["b"]|1|1

-- # a-row-below-zero-keeps-its-key-until-what-is-owed-is-there
ATTACH 'door.db' AS door;
CREATE TABLE main.seats(hall TEXT PRIMARY KEY, free INTEGER);
CREATE TABLE door.seats(hall TEXT PRIMARY KEY, free INTEGER);
INSERT INTO main.seats VALUES ('A', 2), ('B', 12);
SELECT counter_replicate('main.seats', 'free');
--= 2
SELECT counter_replicate('door.seats', 'free');
--= 0
SELECT rows_changed FROM counter_push('door');
--= 2
UPDATE door.seats SET free = -3 WHERE hall = 'A';
SELECT counter_bound('main.seats', 'free');
--= 0
SELECT rows_changed FROM counter_pull('door');
--= 1
SELECT rights, here FROM counter_rights('seats') WHERE key = '["A"]' ORDER BY here;
--= -5|0
--= 2|1
UPDATE main.seats SET hall = 'C' WHERE hall = 'A';
--! seats: row ('C'): column free: this file may take none of the 0: a row begins at 0 or more, also under another key; one that others have comes by a sync
UPDATE main.seats SET hall = 'C', free = free + 2 WHERE hall = 'A';
--! seats: row ('C'): column free: this file may take none of the 0: a row begins at 0 or more, also under another key; one that others have comes by a sync
UPDATE main.seats SET hall = 'D', free = free - 13 WHERE hall = 'B';
--! seats: row ('D'): column free: this file may take none of the 0: a row begins at 0 or more, also under another key; one that others have comes by a sync
UPDATE main.seats SET free = free + 4 WHERE hall = 'A';
UPDATE main.seats SET hall = 'C' WHERE hall = 'A';
SELECT key, rights, here FROM counter_rights('seats') ORDER BY key;
--= ["B"]|12|1
--= ["C"]|1|1
UPDATE main.seats SET hall = 'D', free = free - 12 WHERE hall = 'B';
SELECT group_concat(hall || free, ' ') FROM (SELECT * FROM main.seats ORDER BY hall);
--= C1 D0

-- # a-bounded-table-takes-no-other-key-but-another-table-takes-its-rows
ATTACH 'door.db' AS door;
CREATE TABLE main.seats(hall TEXT PRIMARY KEY, code TEXT, free INTEGER);
CREATE TABLE door.seats(hall TEXT PRIMARY KEY, code TEXT, free INTEGER);
INSERT INTO main.seats VALUES ('A', 'a1', 12);
SELECT counter_replicate('main.seats', 'free');
--= 1
SELECT counter_replicate('door.seats', 'free');
--= 0
SELECT counter_bound('main.seats', 'free');
--= 0
INSERT INTO main.seats_counters(seats_counters, hall, free) SELECT 'grant ' || id, 'A', 4 FROM counter_identity('door');
SELECT rows_changed FROM counter_push('door');
--= 1
UPDATE door.seats SET free = free - 1;
BEGIN;
CREATE TABLE main.rebuilt(code TEXT PRIMARY KEY, hall TEXT, free INTEGER);
INSERT INTO main.rebuilt SELECT code, hall, free FROM main.seats;
DROP TABLE main.seats;
ALTER TABLE main.rebuilt RENAME TO seats;
SELECT counter_replicate('main.seats', 'free', 'keys=changed');
--! counter_replicate: seats: it has a bounded counter, and whose rights would be under the new key nobody knows: roll the migration back, merge with all files, and in one of them copy the rows to another table, which has that key, and is given a bound anew
ROLLBACK;
SELECT rows_changed FROM counter_pull('door');
--= 1
BEGIN;
CREATE TABLE main.places(code TEXT PRIMARY KEY, hall TEXT, free INTEGER);
INSERT INTO main.places SELECT code, hall, free FROM main.seats;
SELECT counter_replicate('main.places', 'free');
--= 1
SELECT counter_bound('main.places', 'free');
--= 0
INSERT INTO main.seats_counters(seats_counters, hall, free) SELECT 'reset free', hall, 0 FROM main.seats;
COMMIT;
INSERT INTO main.places_counters(places_counters, code, free) SELECT 'grant ' || id, 'a1', 3 FROM counter_identity('door');
CREATE TABLE door.places(code TEXT PRIMARY KEY, hall TEXT, free INTEGER);
SELECT counter_replicate('door.places', 'free');
--= 0
SELECT table_name, rows_changed FROM counter_push('door') ORDER BY table_name;
--= places|1
--= seats|1
UPDATE door.seats SET free = free - 1;
--! seats: row ('A'): column free: this file may take none of the 0: have a file grant some, or sync with one
UPDATE door.places SET free = free - 3;
UPDATE main.places SET free = free - 8;
SELECT rows_changed FROM counter_pull('door');
--= 1
--= 0
SELECT free FROM main.places;
--= 0
SELECT counter_untrack('seats');
--= 1

-- # a-file-with-a-bounded-counter-takes-no-name
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_bound('c', 'n');
--= 0
SELECT counter_init('dc1:rack1');
--! counter_init: main has a bounded counter, and cannot become 'dc1:rack1': a file with a name takes no bound, for its successor would take again what it has taken
SELECT length(counter_init());
--= 36

-- # what-a-device-sent-under-the-id-of-the-file-is-dismissed-and-its-rights-are-with-the-present-id
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO c(k, n) VALUES ('a', 9), ('b', 4);
SELECT counter_bound('c', 'n');
--= 0
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
SELECT counter_dismiss();
--! counter_dismiss: there is nothing to dismiss: the present id was not taken because of what a device sent, or counter_conflicts lists that no more
CREATE TEMP TABLE body AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'c', 'packed', hex(counter_key('a')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"' || counter_id() || '","clock":77,"value":2}]}}]}'))))) AS line;
SELECT json_extract(counter_receive('bb', line), '$.skipped') FROM body;
--= 0
SELECT count(*), min(their_clock), min(why) FROM counter_conflicts;
--= 1|77|device phone
SELECT key, rights, here FROM counter_rights('c') ORDER BY key, here;
--= ["a"]|9|0
--= ["b"]|4|0
UPDATE c SET n = n - 1 WHERE k = 'a';
--! c: row ('a'): column n: this file may take none of the 9: have a file grant some, or sync with one
VACUUM INTO 'copy.db';
ATTACH 'copy.db' AS copy;
SELECT counter_dismiss('copy');
--! counter_dismiss: there is nothing to dismiss: the present id was not taken because of what a device sent, or counter_conflicts lists that no more
SELECT counter_dismiss('none');
--! counter_dismiss: no attached database has the name 'none'
SELECT counter_dismiss();
--= 2
SELECT count(*) FROM counter_conflicts;
--= 0
SELECT key, rights, here FROM counter_rights('c') ORDER BY key, here;
--= ["a"]|9|1
--= ["b"]|4|1
UPDATE c SET n = n - 4;
SELECT k, n FROM c;
--= a|5
--= b|0
SELECT counter_receive('bb', line) FROM body;
--= {"changes":1,"skipped":0,"marks":{"00000000-0000-0000-0000-00000000000b":9},"warnings":[]}
SELECT counter_dismiss();
--! counter_dismiss: there is nothing to dismiss: the present id was not taken because of what a device sent, or counter_conflicts lists that no more
INSERT INTO c(c) VALUES ('integrity-check');

-- # what-two-devices-sent-one-after-the-other-is-dismissed-at-once-but-not-what-a-merge-has-proved
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO c(k, n) VALUES ('a', 9);
SELECT counter_bound('c', 'n');
--= 0
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
CREATE TEMP VIEW body AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'c', 'packed', hex(counter_key('a')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"' || counter_id() || '","clock":77,"value":2}]}}]}'))))) AS line;
SELECT json_extract(counter_receive('bb', line), '$.skipped') FROM body;
--= 0
INSERT INTO c(k, n) VALUES ('a', 2);
SELECT json_extract(counter_receive('bb', line), '$.skipped') FROM body;
--= 0
SELECT rights, here FROM counter_rights('c') ORDER BY rights;
--= 2|0
--= 9|0
SELECT counter_dismiss();
--= 2
SELECT rights, here FROM counter_rights('c') ORDER BY rights;
--= 11|1
SELECT json_extract(counter_receive('bb', line), '$.skipped') FROM body;
--= 0
UPDATE counter_conflicts SET why = 'own';
SELECT counter_dismiss();
--! counter_dismiss: there is nothing to dismiss: the present id was not taken because of what a device sent, or counter_conflicts lists that no more
UPDATE counter_conflicts SET why = 'device phone', their_clock = 4611686018427387903;
SELECT counter_dismiss();
--! counter_dismiss: column n of ('a'): a device has sent the last clock that there is: 'reset n' ends the rights of all
SELECT rights, here FROM counter_rights('c') ORDER BY rights;
--= 11|0
UPDATE counter_conflicts SET their_clock = 77;
SELECT length(counter_fork());
--= 36
SELECT counter_dismiss();
--! counter_dismiss: there is nothing to dismiss: the present id was not taken because of what a device sent, or counter_conflicts lists that no more

-- # what-an-id-held-that-two-devices-used-one-after-the-other-is-not-lost-where-another-one-held-nothing
CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO c VALUES ('z', 0);
SELECT counter_bound('c', 'n');
--= 0
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
CREATE TEMP VIEW body AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'c', 'packed', hex(counter_key('z')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"' || counter_id() || '","clock":5,"value":5}]}}]}'))))) AS line;
SELECT json_extract(counter_receive('bb', line), '$.skipped') FROM body;
--= 0
UPDATE c SET n = n + 7;
SELECT json_extract(counter_receive('bb', line), '$.skipped') FROM body;
--= 0
SELECT counter_dismiss();
--= 1
SELECT rights, here FROM counter_rights('c') WHERE rights <> 0;
--= 7|1
UPDATE c SET n = n - 7;
SELECT n FROM c;
--= 0

-- # what-is-overruled-where-nothing-is-counted-is-shown-here-as-in-other-files
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES ('a', 5);
SELECT counter_track('t', 'n');
--= 1
SELECT counter_bound('t', 'n');
--= 0
UPDATE t SET n = NULL;
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
CREATE TEMP VIEW body AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 't', 'packed', hex(counter_key('a')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":3,"shards":[{"id":"' || counter_id() || '","clock":77,"value":2}]}}]}'))))) AS line;
SELECT json_extract(counter_receive('bb', line), '$.skipped') FROM body;
--= 0
SELECT k, n FROM t;
--= a|NULL
SELECT counter_dismiss();
--= 0
SELECT k, n FROM t;
--= a|0
INSERT INTO t_counters(t_counters) VALUES ('integrity-check');
ATTACH 'other.db' AS other;
CREATE TABLE other.t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('other.t', 'n');
--= 0
SELECT rows_changed FROM counter_push('other');
--= 1
SELECT k, n FROM other.t;
--= a|0

-- # what-is-dismissed-is-overruled-also-under-a-key-that-the-device-spelled-otherwise-and-when-it-sends-more
CREATE VIRTUAL TABLE c USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO c(k, n) VALUES ('a', 9), ('b', 0);
SELECT counter_bound('c', 'n');
--= 0
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
CREATE TEMP TABLE former AS SELECT counter_id() AS id;
CREATE TEMP TABLE bodies AS SELECT 200 * (spelled = 'B') + clock AS nth, json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'c', 'packed', hex(counter_key(spelled)), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"' || id || '","clock":' || clock || ',"value":2}]}}]}'))))) AS line
  FROM former, (SELECT 'A' AS spelled, 77 AS clock UNION ALL SELECT 'A', 99 UNION ALL SELECT 'B', 77);
SELECT json_extract(counter_receive('bb', line), '$.skipped') FROM bodies WHERE nth = 77;
--= 0
SELECT key FROM counter_conflicts;
--= ('a')
SELECT counter_dismiss();
--= 1
-- A file that has believed the device brings it.
SELECT json_extract(counter_take(line), '$.skipped') FROM bodies WHERE nth = 77;
--= 0
SELECT key, rights, here FROM counter_rights('c') ORDER BY key;
--= ["a"]|9|1
INSERT INTO c(k, n) VALUES ('a', -4);
-- It sends more under that id, which holds nothing now, and of a row of which it never had any.
SELECT json_extract(counter_receive('bb', line), '$.skipped') FROM bodies WHERE nth > 77 ORDER BY nth;
--= 0
--= 0
SELECT counter_dismiss();
--= 0
SELECT json_extract(counter_take(line), '$.skipped') FROM bodies;
--= 0
--= 0
--= 0
SELECT k, n FROM c ORDER BY k;
--= a|5
--= b|0
SELECT key, rights, here FROM counter_rights('c') ORDER BY key;
--= ["a"]|5|1
INSERT INTO c(c) VALUES ('integrity-check');
