-- Floors: INSERT INTO t(t, key column) VALUES('purge below', value), counter_floors, counter_purge.

-- # rows-below-a-floor-are-gone-and-cannot-be-counted-again
CREATE VIRTUAL TABLE v USING counter(path TEXT, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY(path, hour));
INSERT INTO v VALUES('/', 1, 1, 1), ('/', 2, 1, 1), ('/a', 1, 1, 1), ('/a', 3, 1, NULL);
DELETE FROM v WHERE path = '/a' AND hour = 1;
INSERT INTO v(v, hour) VALUES('purge below', 2);
SELECT * FROM v ORDER BY path;
--= /|2|1|1
--= /a|3|1|0
SELECT count(*) FROM v_cells;
--= 2
INSERT INTO v VALUES('/', 1, 1, 1);
--! v: the key ('/', 1) is below a floor of the table; see counter_floors('v')
INSERT INTO v(v, path, hour, hits) VALUES('reset', '/', 1, 1);
--! v: the key ('/', 1) is below a floor of the table; see counter_floors('v')
INSERT INTO v(v, path, hour) VALUES('reset hits', '/new', -5);
--! v: the key ('/new', -5) is below a floor of the table; see counter_floors('v')
INSERT INTO v(v, path, hour) VALUES('delete hits', '/', 1);
UPDATE v SET hits = hits + 1 WHERE hour = 1;
DELETE FROM v WHERE hour = 1;
INSERT INTO v VALUES('/', 2, 1, 1);
SELECT count(*), sum(hits) FROM v;
--= 2|3
INSERT INTO v(v) VALUES('integrity-check');

-- # a-key-below-a-floor-is-a-constraint-that-or-ignore-skips
CREATE VIRTUAL TABLE v USING counter(k TEXT, h INTEGER, n COUNTER, PRIMARY KEY(k, h));
INSERT INTO v(v, h) VALUES('purge below', 10);
INSERT OR IGNORE INTO v VALUES('a', 9, 1), ('b', 10, 1), ('c', 0, 1), ('d', 11, 1);
SELECT * FROM v;
--= b|10|1
--= d|11|1
INSERT INTO v VALUES('e', 12, 1), ('a', 9, 1);
--! v: the key ('a', 9) is below a floor of the table; see counter_floors('v')
REPLACE INTO v VALUES('a', 9, 1);
--! v: the key ('a', 9) is below a floor of the table; see counter_floors('v')
INSERT OR IGNORE INTO v(v, k, h) VALUES('reset', 'a', 9);
SELECT count(*) FROM v_cells;
--= 2

-- # what-is-wrong-with-a-row-is-said-before-floors
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v(v, h) VALUES('purge below', 10);
INSERT OR IGNORE INTO v VALUES(1, 'five');
--! v: column n: a counter takes an INTEGER, not TEXT 'five'
INSERT OR IGNORE INTO v VALUES(1, NULL);
INSERT OR IGNORE INTO v VALUES(NULL, 1);
--! v: key column h must not be NULL

-- # a-floor-only-rises
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (5, 1), (9, 1);
INSERT INTO v(v, h) VALUES('purge below', 5);
SELECT * FROM counter_floors('v');
--= h|5
INSERT INTO v(v, h) VALUES('purge below', 3), ('purge below', 5), ('PURGE BELOW', 4);
SELECT * FROM counter_floors('v');
--= h|5
INSERT INTO v(v, h) VALUES('purge below', 6);
SELECT * FROM counter_floors('v');
--= h|6
SELECT h FROM v;
--= 9

-- # each-key-column-may-have-a-floor
--@ not-utf-16
CREATE VIRTUAL TABLE v USING counter(a TEXT, b INTEGER, c REAL, n COUNTER, PRIMARY KEY(b, a, c));
INSERT INTO v VALUES('k', 1, 1, 1), ('l', 2, 2, 1), ('m', 3, 3, 1), ('n', 4, 4, 1);
SELECT * FROM counter_floors('v');
INSERT INTO v(v, c) VALUES('purge below', 2);
INSERT INTO v(v, a) VALUES('purge below', 'm');
SELECT * FROM counter_floors('v') ORDER BY 1;
--= a|m
--= c|2.0
SELECT * FROM v;
--= m|3|3.0|1
--= n|4|4.0|1
INSERT INTO v VALUES('z', 0, 1.9, 1);
--! v: the key (0, 'z', 1.9) is below a floor of the table; see counter_floors('v')
INSERT INTO v VALUES('a', 0, 5, 1);
--! v: the key (0, 'a', 5) is below a floor of the table; see counter_floors('v')
INSERT INTO v VALUES('z', -100, 2, 1);
SELECT count(*) FROM v;
--= 3

-- # floors-follow-the-order-of-the-column
--@ not-utf-16
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1), ('B', 1), ('c', 1), ('D', 1);
INSERT INTO v(v, k) VALUES('purge below', 'C');
SELECT k FROM v ORDER BY k;
--= c
--= D
INSERT INTO v(v, k) VALUES('purge below', 'c');
SELECT * FROM counter_floors('v');
--= k|C
INSERT INTO v VALUES('bz', 1);
--! v: the key ('bz') is below a floor of the table; see counter_floors('v')
INSERT INTO v VALUES('CA', 1);
CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO w VALUES('a', 1), ('B', 1), ('c', 1), ('D', 1);
INSERT INTO w(w, k) VALUES('purge below', 'C');
SELECT k FROM w ORDER BY k;
--= D
--= a
--= c

-- # floors-follow-the-affinity-of-the-column
--@ not-utf-16
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(5, 1), (48, 1), (100, 1);
INSERT INTO v(v, h) VALUES('purge below', '48');
SELECT h, floor, typeof(floor) FROM v, counter_floors('v');
--= 48|48|integer
--= 100|48|integer
CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO w VALUES('10', 1), ('9', 1), ('5', 1);
INSERT INTO w(w, k) VALUES('purge below', 6);
SELECT k, floor, typeof(floor) FROM w, counter_floors('w');
--= 9|6|text
CREATE VIRTUAL TABLE x USING counter(r REAL PRIMARY KEY, n COUNTER);
INSERT INTO x VALUES(1, 1), (2, 1), (2.5, 1);
INSERT INTO x(x, r) VALUES('purge below', 2);
SELECT r, floor, typeof(floor) FROM x, counter_floors('x');
--= 2.0|2.0|real
--= 2.5|2.0|real

-- # numbers-texts-and-blobs-have-the-order-of-sqlite
--@ not-utf-16
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(-1, 1), (2.5, 1), (3, 1), ('', 1), ('a', 1), (x'', 1), (x'00', 1);
INSERT INTO v(v, k) VALUES('purge below', 2.5);
SELECT count(*), min(k) FROM v;
--= 6|2.5
INSERT INTO v(v, k) VALUES('purge below', '');
SELECT count(*) FROM v;
--= 4
SELECT column_name, quote(floor) FROM counter_floors('v');
--= k|''
INSERT INTO v VALUES(9e999, 1);
--! v: the key (Inf) is below a floor of the table; see counter_floors('v')
INSERT INTO v(v, k) VALUES('purge below', x'');
SELECT count(*), counter_table_digest('v') IS NOT NULL FROM v;
--= 2|1
SELECT column_name, quote(floor) FROM counter_floors('v');
--= k|X''
INSERT INTO v VALUES('zzz', 1);
--! v: the key ('zzz') is below a floor of the table; see counter_floors('v')

-- # a-rollback-brings-the-rows-back
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (5, 1);
CREATE TEMP TABLE was AS SELECT counter_table_digest('v') AS digest;
BEGIN;
INSERT INTO v(v, h) VALUES('purge below', 5);
INSERT INTO v VALUES(1, 1);
--! v: the key (1) is below a floor of the table; see counter_floors('v')
ROLLBACK;
SELECT * FROM counter_floors('v');
INSERT INTO v VALUES(2, 1);
SELECT h FROM v ORDER BY h;
--= 1
--= 2
--= 5
DELETE FROM v WHERE h = 2;
SELECT digest = counter_table_digest('v') FROM was;
--= 0
INSERT INTO v(v, h) VALUES('purge below', 5);
INSERT INTO v VALUES(2, 1);
--! v: the key (2) is below a floor of the table; see counter_floors('v')

-- # floors-in-savepoints
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (2, 1), (3, 1), (4, 1);
BEGIN;
INSERT INTO v(v, h) VALUES('purge below', 2);
SAVEPOINT s;
INSERT INTO v(v, h) VALUES('purge below', 3);
SAVEPOINT t;
INSERT INTO v(v, h) VALUES('purge below', 4);
SELECT h FROM v;
--= 4
ROLLBACK TO t;
INSERT INTO v VALUES(3, 1), (2, 1);
--! v: the key (2) is below a floor of the table; see counter_floors('v')
INSERT INTO v VALUES(3, 1);
ROLLBACK TO s;
INSERT INTO v VALUES(2, 1);
RELEASE s;
COMMIT;
SELECT * FROM v;
--= 2|2
--= 3|1
--= 4|1
SELECT * FROM counter_floors('v');
--= h|2
SELECT rows FROM counter_purge('v');
--= 1

-- # a-statement-that-fails-behind-a-floor-takes-it-back
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (5, 1);
BEGIN;
INSERT INTO v VALUES(7, 1);
INSERT INTO v(v, h) VALUES('purge below', 3), ('purge below', NULL);
--! v: 'purge below' takes the value of one key column, not of 0
SELECT h FROM v;
--= 1
--= 5
--= 7
COMMIT;
SELECT * FROM counter_floors('v');
INSERT INTO v VALUES(1, 1);
SELECT * FROM v WHERE h = 1;
--= 1|2

-- # the-report-of-a-purge-adds-up
CREATE VIRTUAL TABLE v USING counter(k TEXT, h INTEGER, n COUNTER, PRIMARY KEY(k, h));
SELECT * FROM counter_purge('v');
--= v|0|0
INSERT INTO v VALUES('a', 1, 1), ('b', 2, 1), ('c', 3, 1);
CREATE TEMP TABLE was AS SELECT h, length(CAST(k AS BLOB)) + length(CAST(h AS BLOB)) + length(n) AS size FROM v_cells;
INSERT INTO v(v, h) VALUES('purge below', 2);
SELECT table_name, rows, bytes = (SELECT sum(size) FROM was WHERE h < 2) FROM counter_purge('v');
--= v|1|1
INSERT INTO v(v, h) VALUES('purge below', 2);
INSERT INTO v(v, h) VALUES('purge below', 9);
SELECT table_name, rows, bytes = (SELECT sum(size) FROM was) FROM counter_purge('v');
--= v|3|1
INSERT INTO v(v, h) VALUES('purge below', 12);
SELECT rows FROM counter_purge('V', 'MAIN');
--= 3
ALTER TABLE v RENAME TO w;
SELECT table_name, rows FROM counter_purge('w');
--= w|3

-- # floors-of-attached-and-temp-databases
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.w USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES(1, 1), (5, 1);
INSERT INTO temp.w VALUES(1, 1), (5, 1);
INSERT INTO phone.v(v, h) VALUES('purge below', 3);
INSERT INTO temp.w(w, h) VALUES('purge below', 4);
SELECT * FROM counter_floors('v', 'phone') UNION ALL SELECT * FROM counter_floors('w', 'temp');
--= h|3
--= h|4
SELECT rows FROM counter_purge('v', 'phone') UNION ALL SELECT rows FROM counter_purge('w', 'temp');
--= 1
--= 1
INSERT INTO phone.v VALUES(1, 1);
--! v: the key (1) is below a floor of the table; see counter_floors('v')
INSERT INTO temp.w VALUES(1, 1);
--! w: the key (1) is below a floor of the table; see counter_floors('w')
SELECT * FROM counter_floors('v');
--! counter_floors: main has no counter table 'v'

-- # a-pull-carries-the-floor-and-drops-what-is-below
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO main.v VALUES(1, 1), (2, 1), (5, 1);
INSERT INTO phone.v VALUES(2, 1), (3, 1), (6, 1);
INSERT INTO main.v(v, h) VALUES('purge below', 4);
SELECT * FROM counter_pull('phone');
--= v|3|1|0|NULL
SELECT * FROM main.v ORDER BY h;
--= 5|1
--= 6|1
SELECT * FROM counter_push('phone');
--= v|2|3|0|NULL
SELECT * FROM phone.v ORDER BY h;
--= 5|1
--= 6|1
SELECT * FROM counter_floors('v', 'phone');
--= h|4
SELECT rows FROM counter_purge('v', 'phone');
--= 2
INSERT INTO phone.v VALUES(3, 1);
--! v: the key (3) is below a floor of the table; see counter_floors('v')
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1
SELECT rows_changed FROM counter_sync('phone');
--= 0

-- # floors-merge-as-the-higher-of-each-column
--@ not-utf-16
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT, h INTEGER, n COUNTER, PRIMARY KEY(k, h));
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT, h INTEGER, n COUNTER, PRIMARY KEY(k, h));
INSERT INTO main.v VALUES('a', 9, 1), ('m', 3, 1), ('z', 9, 1);
INSERT INTO main.v(v, h) VALUES('purge below', 2);
INSERT INTO phone.v(v, h) VALUES('purge below', 5);
INSERT INTO phone.v(v, k) VALUES('purge below', 'b');
SELECT rows_changed FROM counter_sync('phone');
--= 3
SELECT * FROM counter_floors('v');
--= k|b
--= h|5
SELECT * FROM counter_floors('v', 'phone');
--= k|b
--= h|5
SELECT * FROM main.v;
--= z|9|1
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1

-- # a-floor-alone-is-news
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES(1, 1);
SELECT rows_changed FROM counter_pull('phone');
--= 1
INSERT INTO phone.v(v, h) VALUES('purge below', 100);
SELECT * FROM counter_pull('phone');
--= v|0|1|0|NULL
SELECT * FROM counter_floors('v');
--= h|100

-- # a-floor-that-rises-again-is-news-again
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES(1, 1), (150, 1);
INSERT INTO phone.v(v, h) VALUES('purge below', 100);
INSERT INTO phone.v VALUES(300, 1);
SELECT rows_changed FROM counter_pull('phone');
--= 2
INSERT INTO phone.v(v, h) VALUES('purge below', 100);
INSERT INTO phone.v(v, h) VALUES('purge below', 200);
SELECT * FROM counter_pull('phone');
--= v|0|1|0|NULL
SELECT * FROM counter_floors('v');
--= h|200
CREATE TEMP TABLE mark AS SELECT max(upto) AS upto FROM counter_changes(0);
INSERT INTO v VALUES(300, 1);
INSERT INTO v(v, h) VALUES('purge below', 250);
SELECT counter_key_json(key), kind, column_name FROM mark, counter_changes(mark.upto) AS f, counter_change(f.change) AS c;
--= [250]|floors|NULL
--= [300]|counter|n

-- # a-floor-of-one-table-is-none-of-another-until-that-has-its-own
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE w USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v(v, h) VALUES('purge below', 5);
INSERT INTO w VALUES(1, 1);
INSERT INTO w(w, h) VALUES('purge below', 3);
INSERT INTO w VALUES(2, 1);
--! w: the key (2) is below a floor of the table; see counter_floors('w')
INSERT INTO w VALUES(4, 1);
INSERT INTO v VALUES(4, 1);
--! v: the key (4) is below a floor of the table; see counter_floors('v')

-- # the-feed-carries-the-floor
CREATE VIRTUAL TABLE v USING counter(k TEXT, h INTEGER, n COUNTER, PRIMARY KEY(k, h));
INSERT INTO v VALUES('a', 1, 1), ('a', 9, 1);
INSERT INTO v(v, h) VALUES('purge below', 5);
SELECT table_name, counter_key_json(key), kind, column_name, generation, value FROM counter_changes(0) AS f, counter_change(f.change) AS c;
--= v|[null,5]|floors|NULL|NULL|NULL
--= v|["a",9]|counter|n|1|1
CREATE TEMP TABLE floor AS SELECT * FROM counter_changes(0) WHERE change = counter_change_of('{"tells":"floors"}');
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(k TEXT, h INTEGER, n COUNTER, PRIMARY KEY(k, h));
INSERT INTO v VALUES('b', 4, 1), ('b', 5, 1);
INSERT INTO counter_changes SELECT * FROM floor;
SELECT * FROM counter_floors('v');
--= h|5
SELECT * FROM v;
--= b|5|1
INSERT INTO counter_changes VALUES('v', counter_key('c', 4), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
INSERT INTO counter_changes VALUES('v', counter_key('c', 5), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT * FROM v;
--= b|5|1
--= c|5|7
INSERT INTO v VALUES('b', 4, 1);
--! v: the key ('b', 4) is below a floor of the table; see counter_floors('v')

-- # a-row-of-floors-in-the-feed-is-checked-like-others
CREATE VIRTUAL TABLE v USING counter(k TEXT, h INTEGER, n COUNTER, PRIMARY KEY(k, h));
INSERT INTO v VALUES('a', 1, 1);
INSERT INTO counter_changes VALUES('v', x'd100010a', x'0200', 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: the change has bytes behind its end
INSERT INTO counter_changes VALUES('v', x'd100010a', counter_change_of('{"tells":"row","columns":[]}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: the key has a value of no known type
INSERT INTO counter_changes VALUES('v', x'', counter_change_of('{"tells":"floors"}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: the key is no packed key
INSERT INTO counter_changes VALUES('v', x'd10000010a', counter_change_of('{"tells":"floors"}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: the key has 3 values and the key of the table 2: the tables differ
INSERT INTO counter_changes VALUES('v', x'd1010a00', counter_change_of('{"tells":"floors"}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: the key has (5) for the column k TEXT, which would store another value: the tables differ
INSERT INTO counter_changes VALUES('u', x'd100010a', counter_change_of('{"tells":"floors"}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table u: no counter table was created with this name here: CREATE it as at the source; if it is a tracked one there, CREATE the ordinary table, and call counter_track
INSERT INTO counter_changes VALUES('v', x'd10000', counter_change_of('{"tells":"floors"}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT * FROM counter_floors('v');
SELECT * FROM v;
--= a|1|1
INSERT INTO counter_changes VALUES('v', x'd100010a', counter_change_of('{"tells":"floors"}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT * FROM counter_floors('v');
--= h|5
SELECT * FROM v;

-- # below-a-floor-no-deleted-counter-returns
ATTACH 'phone.db' AS phone;
ATTACH 'old.db' AS old;
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (9, 1);
SELECT rows_changed FROM counter_push('phone');
--= 2
SELECT rows_changed FROM counter_push('old');
--= 2
DELETE FROM main.v WHERE h = 1;
INSERT INTO main.v(v, h) VALUES('purge below', 5);
INSERT INTO old.v VALUES(1, 10), (2, 10);
SELECT rows_changed FROM counter_pull('old');
--= 0
SELECT rows_changed FROM counter_push('phone');
--= 1
SELECT * FROM main.v UNION ALL SELECT * FROM phone.v;
--= 9|1
--= 9|1
SELECT rows_changed FROM counter_sync('old', 'full');
--= 2
SELECT * FROM old.v;
--= 9|1

-- # a-table-made-again-has-no-floor
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v(v, h) VALUES('purge below', 5);
DROP TABLE v;
SELECT count(*) FROM sqlite_master WHERE name LIKE 'v%';
--= 0
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
SELECT * FROM counter_floors('v');
INSERT INTO v VALUES(1, 1);
SELECT * FROM v;
--= 1|1

-- # a-table-that-is-dropped-when-all-rows-are-below-its-floor-has-forgotten-shards
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 10);
INSERT INTO v VALUES(1, 20);
SELECT rows_changed FROM counter_push('phone');
--= 1
INSERT INTO v(v, h) VALUES('purge below', 5);
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 4);
SELECT rows_changed, conflicts FROM counter_sync('phone');
--= 2|0
SELECT * FROM main.v UNION ALL SELECT * FROM phone.v;
--= 1|34
--= 1|34

-- # floors-go-along-with-a-rename
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v(v, h) VALUES('purge below', 5);
ALTER TABLE v RENAME TO w;
INSERT INTO w VALUES(1, 1);
--! w: the key (1) is below a floor of the table; see counter_floors('w')
INSERT INTO w(w, h) VALUES('purge below', 6);
SELECT * FROM counter_floors('w');
--= h|6
SELECT * FROM counter_floors('v');
--! counter_floors: main has no counter table 'v'

-- # floors-last
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1);
INSERT INTO v(v, h) VALUES('purge below', 5);
--@ reopen
INSERT INTO v VALUES(1, 1);
--! v: the key (1) is below a floor of the table; see counter_floors('v')
VACUUM;
INSERT INTO v VALUES(4, 1);
--! v: the key (4) is below a floor of the table; see counter_floors('v')

-- # another-connection-sees-the-floor
--@ connection two
--@ connection one
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
--@ connection two
INSERT INTO v VALUES(1, 1), (9, 1);
--@ connection one
INSERT INTO v VALUES(2, 1);
INSERT INTO v(v, h) VALUES('purge below', 5);
--@ connection two
INSERT INTO v VALUES(1, 1);
--! v: the key (1) is below a floor of the table; see counter_floors('v')
INSERT INTO v(v, h) VALUES('purge below', 7);
--@ connection one
INSERT INTO v VALUES(6, 1);
--! v: the key (6) is below a floor of the table; see counter_floors('v')
SELECT * FROM v;
--= 9|1

-- # a-purge-within-a-transaction-spares-what-comes-after-it-at-the-floor
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
BEGIN;
INSERT INTO v VALUES(1, 1), (2, 1);
INSERT INTO v(v, h) VALUES('purge below', 2);
INSERT INTO v VALUES(2, 1), (3, 1);
COMMIT;
SELECT * FROM v;
--= 2|2
--= 3|1

-- # rows-with-damaged-cells-can-be-purged
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (2, 1), (3, 1);
UPDATE v_cells SET n = x'00' WHERE h = 2;
SELECT counter_table_digest('v');
--! counter_table_digest: column n of (2): the cell is no counter cell
SELECT * FROM counter_digests('v', 2);
--! counter_digests: column n of (2): the cell is no counter cell
SELECT count(*) FROM counter_changes(0);
--! counter_changes: table v: column n of (2): the cell is no counter cell
INSERT INTO counter_changes VALUES('v', counter_key(2), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: column n of (2): the cell is no counter cell
INSERT INTO v(v, h) VALUES('purge below', 3);
SELECT *, counter_table_digest('v') IS NOT NULL, (SELECT count(*) FROM counter_changes(0)) FROM v;
--= 3|1|1|2

-- # a-read-only-file-shows-its-floors-digests-and-feed
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (5, 1);
INSERT INTO v(v, h) VALUES('purge below', 3);
--@ readonly
SELECT * FROM counter_floors('v');
--= h|3
SELECT rows FROM counter_purge('v');
--= 1
SELECT counter_table_digest('v') IS NOT NULL, (SELECT sum(rows) FROM counter_digests('v', 4)), (SELECT count(*) FROM counter_changes(0)), counter_mark('00000000-0000-0000-0000-00000000000a');
--= 1|1|2|0
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 0, 1);
--!~ counter_seen: attempt to write a readonly database*
INSERT INTO v(v, h) VALUES('purge below', 4);
--!~ *attempt to write a readonly database*

-- # purge-below-says-what-it-takes
CREATE VIRTUAL TABLE v USING counter(k TEXT, h INTEGER, n COUNTER, PRIMARY KEY(k, h));
INSERT INTO v VALUES('a', 1, 1);
INSERT INTO v(v) VALUES('purge below');
--! v: 'purge below' takes the value of one key column, not of 0
INSERT INTO v(v, k, h) VALUES('purge below', 'a', 1);
--! v: 'purge below' takes the value of one key column, not of 2
INSERT INTO v(v, h) VALUES('purge below', NULL);
--! v: 'purge below' takes the value of one key column, not of 0
INSERT INTO v(v, h, n) VALUES('purge below', 9, 1);
--! v: the command takes no value for column n
INSERT INTO v(v, h) VALUES('purge', 9);
--! v: unknown command TEXT 'purge'; the commands are 'integrity-check', 'optimize', 'add column <counter>', 'grant <id>', 'forget requests <n>', 'forget requests older than <n> days'; these delete counts: 'purge below', 'drop column <counter>', 'reset', 'reset <counter>', 'delete <counter>'
UPDATE v SET v = 'purge below';
--! v: commands are given by INSERT, not by UPDATE
SELECT * FROM v;
--= a|1|1
SELECT * FROM counter_floors('v');

-- # floors-and-purge-say-what-is-wrong-with-their-arguments
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
CREATE TABLE plain(x);
SELECT * FROM counter_floors;
--! counter_floors: one argument is needed, the name of a counter table
SELECT * FROM counter_floors(NULL);
--! counter_floors: the name of the table must be TEXT, not NULL
SELECT * FROM counter_floors('plain');
--! counter_floors: main has no counter table 'plain'
SELECT * FROM counter_floors('v', 'phone');
--! counter_floors: no attached database has the name 'phone'
SELECT * FROM counter_floors('v', 1);
--! counter_floors: the name of a database must be TEXT, not INTEGER 1
SELECT * FROM counter_purge;
--! counter_purge: one argument is needed, the name of a counter table
SELECT * FROM counter_purge(5);
--! counter_purge: the name of the table must be TEXT, not INTEGER 5
SELECT * FROM counter_purge('plain');
--! counter_purge: main has no counter table 'plain'
SELECT * FROM counter_purge('v', 'temp');
--! counter_purge: temp has no counter table 'v'

-- # triggers-on-floors-are-refused-where-they-would-run-with-a-merge
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(h INTEGER PRIMARY KEY, n COUNTER);
CREATE TRIGGER tr AFTER INSERT ON counter_state BEGIN DELETE FROM v_cells; END;
INSERT INTO phone.v VALUES(1, 1);
SELECT * FROM counter_pull('phone');
--!~ counter_pull: table v: *trigger*
INSERT INTO counter_changes VALUES('v', counter_key(4), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
--!~ counter_changes: table v: *trigger*
SELECT * FROM v;

-- # rows-below-a-floor-that-cannot-be-removed-are-an-error-and-the-transaction-cannot-be-committed
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (9, 9);
PRAGMA foreign_keys = ON;
CREATE TABLE child(id REFERENCES v_cells(_id));
INSERT INTO child VALUES(1);
INSERT INTO v(v, k) VALUES('purge below', 5);
--! v: FOREIGN KEY constraint failed
SELECT count(*) FROM counter_floors('v');
--= 0
BEGIN;
INSERT INTO v(v, k) VALUES('purge below', 5);
--! v: FOREIGN KEY constraint failed
INSERT INTO v VALUES(9, 1);
COMMIT;
--!~ *a statement of this transaction failed half-way and could not be undone*
SELECT * FROM v;
--= 1|1
--= 9|9
SELECT count(*) FROM counter_floors('v');
--= 0
BEGIN;
INSERT INTO v VALUES(9, 1);
SAVEPOINT s;
INSERT INTO v(v, k) VALUES('purge below', 5);
--! v: FOREIGN KEY constraint failed
ROLLBACK TO s;
COMMIT;
SELECT * FROM v;
--= 1|1
--= 9|10

-- # a-floor-is-what-its-column-stores-and-the-row-at-it-stays
CREATE VIRTUAL TABLE v USING counter(at REAL PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(9007199254740992.0, 5);
INSERT INTO v(v, at) VALUES('purge below', 9007199254740993);
SELECT n FROM v;
--= 5
SELECT hex(value), seq IS NOT NULL, rows, bytes FROM counter_state WHERE kind = 'floors';
--= D1024340000000000000|1|0|0
INSERT INTO v VALUES(9007199254740993, 1);
SELECT n FROM v;
--= 6

-- # a-floor-is-of-the-kind-of-its-column
--@ not-utf-16
CREATE VIRTUAL TABLE v USING counter(i INTEGER, r REAL, t TEXT, b BLOB, x, n COUNTER, PRIMARY KEY(i, r, t, b, x));
INSERT INTO v(v, i) VALUES('purge below', 'x');
--! v: a floor of column i INTEGER must be a value of that kind, not ('x')
INSERT INTO v(v, r) VALUES('purge below', x'00');
--! v: a floor of column r REAL must be a value of that kind, not (x'00')
INSERT INTO v(v, r) VALUES('purge below', '2');
INSERT INTO v(v, r) VALUES('purge below', 2.5);
INSERT INTO v(v, t) VALUES('purge below', x'00');
--! v: a floor of column t TEXT must be a value of that kind, not (x'00')
INSERT INTO v(v, t) VALUES('purge below', 5);
INSERT INTO v(v, b) VALUES('purge below', 5);
INSERT INTO v(v, x) VALUES('purge below', 'x');
SELECT * FROM counter_floors('v');
--= r|2.5
--= t|5
--= b|5
--= x|x

-- # a-rollback-to-takes-back-a-purge-that-failed-half-way-since-it-was-last-rolled-back-to
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (9, 9);
PRAGMA foreign_keys = ON;
CREATE TABLE child(id REFERENCES v_cells(_id));
INSERT INTO child VALUES(1);
BEGIN;
INSERT INTO v VALUES(9, 1);
SAVEPOINT a;
SAVEPOINT b;
SAVEPOINT c;
ROLLBACK TO c;
INSERT INTO v(v, k) VALUES('purge below', 5);
--! v: FOREIGN KEY constraint failed
ROLLBACK TO c;
COMMIT;
SELECT * FROM v;
--= 1|1
--= 9|10
SELECT count(*) FROM counter_floors('v');
--= 0

-- # a-purge-that-failed-half-way-in-a-savepoint-that-was-released-is-not-taken-back-by-a-later-one
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (9, 9);
PRAGMA foreign_keys = ON;
CREATE TABLE child(id REFERENCES v_cells(_id));
INSERT INTO child VALUES(1);
BEGIN;
SAVEPOINT a;
SAVEPOINT b;
INSERT INTO v(v, k) VALUES('purge below', 5);
--! v: FOREIGN KEY constraint failed
RELEASE b;
SAVEPOINT c;
ROLLBACK TO c;
COMMIT;
--!~ *a statement of this transaction failed half-way and could not be undone*
SELECT * FROM v;
--= 1|1
--= 9|9
-- one around the released one takes it back
BEGIN;
SAVEPOINT a;
SAVEPOINT b;
INSERT INTO v(v, k) VALUES('purge below', 5);
--! v: FOREIGN KEY constraint failed
RELEASE b;
ROLLBACK TO a;
COMMIT;
SELECT count(*) FROM counter_floors('v');
--= 0

-- # floors-of-texts-are-refused-in-utf-16-where-their-order-is-another
--@ whole-sqlite
PRAGMA encoding = 'UTF-16le';
CREATE VIRTUAL TABLE v USING counter(k TEXT, h INTEGER, l TEXT COLLATE NOCASE, x, n COUNTER, PRIMARY KEY(k, h, l, x));
INSERT INTO v VALUES('b', 1, 'B', 1, 1), ('c', 9, 'C', 1, 1);
INSERT INTO v(v, k) VALUES('purge below', 'c');
--! v: a floor of column k must not be a text, as ('c'), in a file in UTF-16: files in UTF-8 have texts in another order
INSERT INTO v(v, k) VALUES('purge below', 6);
--! v: a floor of column k must not be a text, as (6), in a file in UTF-16: files in UTF-8 have texts in another order
INSERT INTO v(v, x) VALUES('purge below', 'c');
--! v: a floor of column x must not be a text, as ('c'), in a file in UTF-16: files in UTF-8 have texts in another order
INSERT INTO v(v, x) VALUES('purge below', 1);
INSERT INTO v(v, h) VALUES('purge below', '2');
INSERT INTO v(v, l) VALUES('purge below', 'c');
SELECT k FROM v;
--= c
-- one that is there already, as in a file of an earlier version, is no hindrance
UPDATE counter_state SET value = x'd103016201040301630102' WHERE hex(value) = 'D10001040301630102';
INSERT INTO v(v, k) VALUES('purge below', 'b');
INSERT INTO counter_changes VALUES('v', x'd1030163000000', counter_change_of('{"tells":"floors"}'), 1, '00000000-0000-0000-0000-00000000000a');
--!~ *table v: a floor of column k must not be a text, as ('c'), in a file in UTF-16: files in UTF-8 have texts in another order

-- # a-floor-rises-and-rows-are-merged-under-count-changes
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
VACUUM INTO 'phone.db';
ATTACH 'phone.db' AS phone;
INSERT INTO main.v VALUES(1, 1), (2, 2), (3, 3);
INSERT INTO phone.v VALUES(3, 30);
PRAGMA count_changes = ON;
INSERT INTO main.v(v, k) VALUES('purge below', 3);
--= 1
SELECT table_name, rows_changed FROM counter_sync('phone');
--= v|2
SELECT * FROM main.v;
--= 3|33
