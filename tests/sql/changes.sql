-- counter_changes, counter_key, counter_mark, counter_seen, digests, and pulls of what is new.

-- # a-row-of-the-feed-is-a-change-of-a-row-with-its-counters
CREATE VIRTUAL TABLE v USING counter(path TEXT, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY(path, hour));
INSERT INTO v VALUES('/', 12, 1, NULL), ('/a', 13, 2, 3);
SELECT table_name, counter_key_json(key), column_name, generation, counter_value(cell) FROM counter_changes(0) AS f, counter_change(f.change) AS c ORDER BY 2, 3;
--= v|["/",12]|hits|1|1
--= v|["/a",13]|bytes|1|3
--= v|["/a",13]|hits|1|2
SELECT counter_key_json(key), count(*) FROM counter_changes(0) GROUP BY key;
--= ["/",12]|1
--= ["/a",13]|1
SELECT DISTINCT source = counter_id(), seq <= upto, upto = (SELECT max(_seq) + 1 FROM counter_journal), since, bucket FROM counter_changes(0);
--= 1|1|1|0|NULL

-- # the-feed-begins-at-a-number
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('old', 1), ('both', 1);
CREATE TEMP TABLE mark AS SELECT max(upto) AS upto FROM counter_changes(0);
SELECT count(*) FROM mark, counter_changes(mark.upto);
--= 0
INSERT INTO v VALUES('new', 1), ('both', 1);
SELECT counter_key_json(key), counter_value(cell), seq >= mark.upto FROM mark, counter_changes(mark.upto) AS f, counter_change(f.change) AS c ORDER BY 1;
--= ["both"]|2|1
--= ["new"]|1|1
INSERT INTO v(v) VALUES('optimize');
SELECT counter_key_json(key), counter_value(cell), seq >= mark.upto FROM mark, counter_changes(mark.upto) AS f, counter_change(f.change) AS c ORDER BY 1;
--= ["both"]|2|1
--= ["new"]|1|1
SELECT count(*) FROM counter_changes(9223372036854775807);
--= 0

-- # deleted-and-reset-counters-are-in-the-feed-and-untouched-ones-are-not
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v(k, a) VALUES('deleted', 1), ('reset', 1), ('one', 1);
DELETE FROM v WHERE k = 'deleted';
INSERT INTO v(v, k) VALUES('reset a', 'reset');
SELECT counter_key_json(key), column_name, json_extract(counter_json(cell), '$.life') FROM counter_changes(0) AS f, counter_change(f.change) AS c ORDER BY 1, 2;
--= ["deleted"]|a|2
--= ["deleted"]|b|2
--= ["one"]|a|1
--= ["reset"]|a|3

-- # the-feed-has-committed-content-only
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
BEGIN;
INSERT INTO v VALUES('a', 1), ('b', 1);
SELECT counter_key_json(key), counter_value(cell) FROM counter_changes(0) AS f, counter_change(f.change) AS c;
--= ["a"]|1
COMMIT;
SELECT sum(counter_value(cell)) FROM counter_changes(0) AS f, counter_change(f.change) AS c;
--= 3

-- # a-feed-taken-back-makes-the-table-again
CREATE VIRTUAL TABLE v USING counter(path TEXT COLLATE NOCASE, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY(hour, path));
INSERT INTO v VALUES('/', 12, 1, 5), ('/A', 13, 2, NULL), ('', -9223372036854775808, 3, 3), ('gone', 0, 1, 1);
DELETE FROM v WHERE path = 'gone';
INSERT INTO v(v, path, hour, hits) VALUES('reset hits', '/', 12, 7);
INSERT INTO v(v, hour) VALUES('purge below', -9223372036854775807);
CREATE TEMP TABLE feed AS SELECT * FROM counter_changes(0);
CREATE TEMP TABLE was AS SELECT counter_table_digest('v') AS digest, path, hour, hits, bytes FROM v;
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(path TEXT COLLATE NOCASE, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY(hour, path));
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM feed ORDER BY random();
SELECT * FROM v ORDER BY hour;
--= /|12|7|5
--= /A|13|2|0
SELECT count(*) FROM v JOIN was USING (path, hour, hits, bytes);
--= 2
SELECT DISTINCT digest = counter_table_digest('v') FROM was;
--= 1
SELECT * FROM counter_floors('v');
--= hour|-9223372036854775807
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM feed;
SELECT DISTINCT digest = counter_table_digest('v') FROM was;
--= 1

-- # keys-of-all-types-go-through-the-feed
CREATE VIRTUAL TABLE v USING counter(k, r REAL, n COUNTER, PRIMARY KEY(k, r));
INSERT INTO v VALUES(1, 1, 1), (1.5, 0.1, 2), ('1', -1e300, 3), (x'31', 'x', 4), ('', 9e999, 5), (x'', -9e999, 6), ('a' || char(10) || '"' || char(0) || 'b', x'00', 7), (9223372036854775807, 0, 8), (1e18, 0, 9);
CREATE TEMP TABLE feed AS SELECT * FROM counter_changes(0);
CREATE TEMP TABLE was AS SELECT counter_table_digest('v') AS digest, k, r, n FROM v;
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(k, r REAL, n COUNTER, PRIMARY KEY(k, r));
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM feed;
SELECT count(*) FROM v, was WHERE v.k IS was.k AND typeof(v.k) = typeof(was.k) AND v.r IS was.r AND typeof(v.r) = typeof(was.r) AND v.n = was.n;
--= 9
SELECT DISTINCT digest = counter_table_digest('v') FROM was;
--= 1

-- # the-encoding-of-a-file-does-not-matter
PRAGMA encoding = 'UTF-16be';
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO counter_changes VALUES('v', x'd10306c3bce282ac41', counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT k, n, hex(key), counter_key_json(key), counter_key(k) = key FROM v, counter_changes(0);
--= ü€A|7|D10306C3BCE282AC41|["ü€A"]|1
SELECT counter_table_digest('v');
--= 477555ae-cf72-5454-b247-cab3528c711b

-- # the-digest-of-the-same-in-another-encoding
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO counter_changes VALUES('v', x'd10306c3bce282ac61', counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT counter_table_digest('v');
--= 477555ae-cf72-5454-b247-cab3528c711b

-- # a-collation-is-the-same-in-any-case
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE nocase PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT COLLATE NoCase PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
INSERT INTO phone.v VALUES('A', 2);
SELECT * FROM counter_sync('phone');
--= v|2|2|0|NULL
SELECT * FROM v;
--= a|3
SELECT * FROM phone.v;
--= A|3

-- # whole-reals-in-an-integer-column-go-through-the-feed
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(5.0, 1), (9007199254740993, 1), (1e18, 1), (1e19, 1), (9223372036854775807.0, 1), (-9223372036854775808.0, 1), ('x', 1), (x'35', 1);
CREATE TEMP TABLE feed AS SELECT * FROM counter_changes(0);
CREATE TEMP TABLE was AS SELECT counter_table_digest('v') AS digest;
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM feed;
SELECT count(*), (SELECT digest FROM was) = counter_table_digest('v') FROM v;
--= 8|1

-- # a-column-list-may-be-left-out
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT * FROM v;
--= x|7

-- # rows-may-come-doubled-and-late
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
CREATE TEMP TABLE cells AS SELECT 1 AS at, counter_inc(NULL, 7, x'0a000000000000000000000000000000') AS cell;
INSERT INTO cells SELECT 2, counter_inc(cell, 1, x'0a000000000000000000000000000000') FROM cells;
INSERT INTO cells SELECT 3, counter_reset(cell) FROM cells WHERE at = 2;
INSERT INTO cells SELECT 4, counter_inc(cell, 5, x'0a000000000000000000000000000000') FROM cells WHERE at = 3;
INSERT INTO counter_changes SELECT 'v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(cell) || '}]}'), 1, '0a000000-0000-0000-0000-000000000000' FROM cells WHERE at = 2;
SELECT n FROM v;
--= 8
INSERT INTO counter_changes SELECT 'v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(cell) || '}]}'), 1, '0a000000-0000-0000-0000-000000000000' FROM cells WHERE at < 3 ORDER BY at DESC;
SELECT n FROM v;
--= 8
INSERT INTO counter_changes SELECT 'v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(cell) || '}]}'), 1, '0a000000-0000-0000-0000-000000000000' FROM cells ORDER BY at DESC;
SELECT n FROM v;
--= 5
SELECT count(*) FROM counter_conflicts;
--= 0

-- # table-names-follow-the-rules-of-sqlite-and-tables-match-by-the-name-at-birth
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
ALTER TABLE v RENAME TO w;
SELECT table_name FROM counter_changes(0);
--= v
INSERT INTO counter_changes VALUES('V', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT n FROM w;
--= 8
INSERT INTO counter_changes VALUES('w', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table w: main has a counter table w that was created as 'v', and tables match by the name they were created with: rename it there
SELECT n FROM w;
--= 8
SELECT counter_table_digest('v');
--! counter_table_digest: main has no counter table 'v'

-- # a-table-that-is-made-anew-within-a-transaction-is-the-one-that-takes
BEGIN;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(z INTEGER, k TEXT, m COUNTER, n COUNTER, PRIMARY KEY(k, z));
INSERT INTO counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: the key has 1 value and the key of the table 2: the tables differ
INSERT INTO counter_changes VALUES('v', counter_key('x', 1), counter_change_of('{"tells":"row","columns":[{"name":"m","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
ALTER TABLE v RENAME TO w;
INSERT INTO counter_changes VALUES('v', counter_key('x', 1), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 8, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
COMMIT;
SELECT * FROM w;
--= 1|x|7|8

-- # a-bad-row-is-an-error-and-the-transaction-goes-on
CREATE VIRTUAL TABLE v USING counter(k TEXT, h INTEGER, n COUNTER, PRIMARY KEY(k, h));
CREATE TEMP TABLE said AS SELECT '{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":7}]}}]}' AS json;
CREATE TEMP TABLE good AS SELECT 'v' AS t, counter_key('x', 1) AS k, counter_change_of(json) AS c, 1 AS q, '00000000-0000-0000-0000-00000000000a' AS s, json FROM said;
BEGIN;
INSERT INTO counter_changes SELECT t, k, c, q, s FROM good;
INSERT OR IGNORE INTO counter_changes SELECT 'u', k, c, q, s FROM good;
--! counter_changes: table u: no counter table was created with this name here: CREATE it as at the source; if it is a tracked one there, CREATE the ordinary table, and call counter_track
INSERT OR IGNORE INTO counter_changes SELECT '', k, c, q, s FROM good;
--! counter_changes: table : no counter table was created with this name here: CREATE it as at the source; if it is a tracked one there, CREATE the ordinary table, and call counter_track
INSERT OR IGNORE INTO counter_changes SELECT NULL, k, c, q, s FROM good;
--! counter_changes: table_name must be TEXT, not NULL
INSERT OR IGNORE INTO counter_changes SELECT x'76', k, c, q, s FROM good;
--! counter_changes: table_name must be TEXT, not BLOB x'76'
INSERT OR IGNORE INTO counter_changes SELECT t, counter_key('x'), c, q, s FROM good;
--! counter_changes: table v: the key has 1 value and the key of the table 2: the tables differ
INSERT OR IGNORE INTO counter_changes SELECT t, counter_key('x', 1, 1), c, q, s FROM good;
--! counter_changes: table v: the key has 3 values and the key of the table 2: the tables differ
INSERT OR IGNORE INTO counter_changes SELECT t, counter_key(1, 1), c, q, s FROM good;
--! counter_changes: table v: the key has (1) for the column k TEXT, which would store another value: the tables differ
INSERT OR IGNORE INTO counter_changes SELECT t, counter_key(1.5, 1), c, q, s FROM good;
--! counter_changes: table v: the key has (1.5) for the column k TEXT, which would store another value: the tables differ
INSERT OR IGNORE INTO counter_changes SELECT t, counter_key('x', '1'), c, q, s FROM good;
--! counter_changes: table v: the key has ('1') for the column h INTEGER, which would store another value: the tables differ
INSERT OR IGNORE INTO counter_changes SELECT t, counter_key('x', 1.0), c, q, s FROM good;
--! counter_changes: table v: the key has (1.0) for the column h INTEGER, which would store another value: the tables differ
INSERT OR IGNORE INTO counter_changes SELECT t, x'd10000', c, q, s FROM good;
--! counter_changes: table v: the key has a value of no known type
INSERT OR IGNORE INTO counter_changes SELECT t, x'd103017801', c, q, s FROM good;
--! counter_changes: table v: the key is truncated
INSERT OR IGNORE INTO counter_changes SELECT t, x'd203017801', c, q, s FROM good;
--! counter_changes: table v: the key is a packed key of a newer format
INSERT OR IGNORE INTO counter_changes SELECT t, x'', c, q, s FROM good;
--! counter_changes: table v: the key is no packed key
INSERT OR IGNORE INTO counter_changes SELECT t, 'x', c, q, s FROM good;
--! counter_changes: key must be a BLOB, not TEXT 'x'
INSERT OR IGNORE INTO counter_changes SELECT t, NULL, c, q, s FROM good;
--! counter_changes: key must be a BLOB, not NULL
INSERT OR IGNORE INTO counter_changes SELECT t, k, counter_change_of(replace(json, '"n"', '"k"')), q, s FROM good;
--! counter_changes: table v: column k is part of the key
INSERT OR IGNORE INTO counter_changes SELECT t, k, counter_change_of(replace(json, '"n"', '"V"')), q, s FROM good;
--! counter_changes: table v: column V cannot be added to a table of the same name: rename the table
INSERT OR IGNORE INTO counter_changes SELECT t, k, counter_change_of(replace(json, '"n"', '"_n"')), q, s FROM good;
--! counter_changes: table v: no column can have the name '_n'
INSERT OR IGNORE INTO counter_changes SELECT t, k, counter_change_of(replace(json, '"n"', '"N"')), q, s FROM good;
--! counter_changes: table v: the counter is spelled n here: the tables differ
INSERT OR IGNORE INTO counter_changes SELECT t, x'', counter_change_of('{"tells":"column","name":"k","kind":"counter","generation":1}'), q, s FROM good;
--! counter_changes: table v: column k is part of the key
INSERT OR IGNORE INTO counter_changes SELECT t, k, counter_change_of('{"tells":"row","row":{"life":2},"columns":[]}'), q, s FROM good;
--! counter_changes: table v: it is replicated at the source, but not here, and a replicated table merges with replicated ones only: call counter_replicate('v', ...) here
INSERT OR IGNORE INTO counter_changes SELECT t, k, x'01000100010114C1010000000000000000000000000000000A010E', q, s FROM good;
--! counter_changes: table v: the change has a column whose name is empty, has a U+0000 or is not UTF-8
INSERT OR IGNORE INTO counter_changes SELECT t, k, x'01000101FF010114C1010000000000000000000000000000000A010E', q, s FROM good;
--! counter_changes: table v: the change has a column whose name is empty, has a U+0000 or is not UTF-8
INSERT OR IGNORE INTO counter_changes SELECT t, k, x'010001016E000114C1010000000000000000000000000000000A010E', q, s FROM good;
--! counter_changes: table v: the change: column n is a counter with a cell, and its generation must be odd
INSERT OR IGNORE INTO counter_changes SELECT t, k, x'010001016E020114C1010000000000000000000000000000000A010E', q, s FROM good;
--! counter_changes: table v: the change: column n is a counter with a cell, and its generation must be odd
INSERT OR IGNORE INTO counter_changes SELECT t, k, x'010001016E81808080100114C1010000000000000000000000000000000A010E', q, s FROM good;
--! counter_changes: table v: the change has a number out of range
INSERT OR IGNORE INTO counter_changes SELECT t, k, x'010001016E010102C101', q, s FROM good;
--! counter_changes: table v: the change: column n has no well-formed cell
INSERT OR IGNORE INTO counter_changes SELECT t, k, x'010001016E01010AC1010000000000000000', q, s FROM good;
--! counter_changes: table v: the change: column n has no well-formed cell
INSERT OR IGNORE INTO counter_changes SELECT t, k, x'010001016E010100', q, s FROM good;
--! counter_changes: table v: the change: column n has no well-formed cell
INSERT OR IGNORE INTO counter_changes SELECT t, k, x'010001016E010103000000', q, s FROM good;
--! counter_changes: table v: the change: column n has no well-formed cell
INSERT OR IGNORE INTO counter_changes SELECT t, k, substr(c, 1, 10), q, s FROM good;
--! counter_changes: table v: the change is cut short
INSERT OR IGNORE INTO counter_changes SELECT t, k, x'', q, s FROM good;
--! counter_changes: table v: the change is empty
INSERT OR IGNORE INTO counter_changes SELECT t, k, zeroblob(3), q, s FROM good;
--! counter_changes: table v: the change is none: its first byte is that of something else
INSERT OR IGNORE INTO counter_changes SELECT t, k, 'change', q, s FROM good;
--! counter_changes: change must be a BLOB, not TEXT 'change'
INSERT OR IGNORE INTO counter_changes SELECT t, k, NULL, q, s FROM good;
--! counter_changes: change must be a BLOB, not NULL
INSERT OR IGNORE INTO counter_changes SELECT t, zeroblob(3), c, q, s FROM good;
--! counter_changes: table v: the key is no packed key
INSERT OR IGNORE INTO counter_changes SELECT t, k, c, -1, s FROM good;
--! counter_changes: seq must be an INTEGER, 0 or more, not INTEGER -1
INSERT OR IGNORE INTO counter_changes SELECT t, k, c, 'one', s FROM good;
--! counter_changes: seq must be an INTEGER, 0 or more, not TEXT 'one'
INSERT OR IGNORE INTO counter_changes SELECT t, k, c, q, 'me' FROM good;
--! counter_changes: source must be TEXT from counter_changes, the UUID of a file, not TEXT 'me'
INSERT OR IGNORE INTO counter_changes SELECT t, k, c, q, s || '/000000000000001' || char(0) FROM good;
--!~ counter_changes: source must be *
INSERT OR IGNORE INTO counter_changes SELECT t, k, c, q, replace(s, '-', '_') || '/0000000000000001' FROM good;
--!~ counter_changes: source must be *
INSERT OR IGNORE INTO counter_changes SELECT t, k, c, q, s || '/0000000000000000' FROM good;
--!~ counter_changes: source must be TEXT from counter_changes, the UUID of a file, not TEXT '*
INSERT OR IGNORE INTO counter_changes SELECT t, k, c, q, NULL FROM good;
--! counter_changes: source must be TEXT, not NULL
INSERT INTO counter_changes(table_name, key, change, seq, source, since) SELECT t, k, c, q, s, 0 FROM good;
--! counter_changes: column since cannot be written
INSERT INTO counter_changes(table_name, key, change, seq, source, bucket) SELECT t, k, c, q, s, '0/1' FROM good;
--! counter_changes: column bucket cannot be written
INSERT INTO counter_changes(table_name, key, change, seq, source, upto) SELECT t, k, c, q, s, -1 FROM good;
--! counter_changes: upto must be an INTEGER, 0 or more, not INTEGER -1
INSERT INTO counter_changes(table_name, key, change, seq, source, own) SELECT t, k, c, q, s, 1 FROM good;
--! counter_changes: column own cannot be written
INSERT INTO counter_changes(table_name, key, change, seq, source, partial) SELECT t, k, c, q, s, 1 FROM good;
--! counter_changes: column partial cannot be written
INSERT INTO counter_changes(table_name, key, change, seq, source, mine) SELECT t, k, c, q, s, 1 FROM good;
--! counter_changes: column mine cannot be written
INSERT INTO counter_changes DEFAULT VALUES;
--! counter_changes: table_name must be TEXT, not NULL
INSERT INTO v VALUES('x', 1, 1), ('y', 1, 1);
COMMIT;
SELECT * FROM v;
--= x|1|8
--= y|1|1

-- # the-feed-can-be-inserted-into-and-no-more
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
BEGIN;
INSERT INTO v VALUES('x', 1);
UPDATE counter_changes SET seq = 1 WHERE since = 0;
--! counter_changes: its rows can only be inserted
DELETE FROM counter_changes WHERE since = 0;
--! counter_changes: its rows can only be inserted
DELETE FROM counter_changes;
--! counter_changes: one argument is needed, the sequence number to begin at: 0, or the result of counter_mark(); its rows can only be inserted
COMMIT;
SELECT * FROM v;
--= x|2

-- # a-statement-with-a-bad-row-takes-in-none-of-its-rows
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TEMP TABLE feed AS SELECT 'v' AS t, counter_key('x') AS k, counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}') AS c, 1 AS q, '00000000-0000-0000-0000-00000000000a' AS s;
INSERT INTO feed SELECT t, counter_key('y'), c, q, s FROM feed;
INSERT INTO feed SELECT t, k, x'010001016E01010100', q, s FROM feed LIMIT 1;
BEGIN;
INSERT INTO v VALUES('x', 1);
INSERT INTO counter_changes SELECT * FROM feed;
--! counter_changes: table v: the change: column n has no well-formed cell
SELECT * FROM v;
--= x|1
COMMIT;
INSERT INTO counter_changes SELECT * FROM feed;
--! counter_changes: table v: the change: column n has no well-formed cell
SELECT * FROM v;
--= x|1
INSERT INTO v(v) VALUES('integrity-check');

-- # a-feed-row-can-be-rolled-back-to-a-savepoint
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TEMP TABLE feed AS SELECT 'v' AS t, counter_key('x') AS k, counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}') AS c, 1 AS q, '00000000-0000-0000-0000-00000000000a' AS s;
BEGIN;
INSERT INTO v VALUES('x', 1);
SAVEPOINT s;
INSERT INTO counter_changes SELECT * FROM feed;
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 0, 5);
--= 5
SELECT * FROM v;
--= x|8
ROLLBACK TO s;
SELECT *, counter_mark('00000000-0000-0000-0000-00000000000a') FROM v;
--= x|1|0
INSERT INTO counter_changes SELECT * FROM feed;
COMMIT;
SELECT * FROM v;
--= x|8

-- # the-feed-belongs-to-main
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
INSERT INTO phone.v VALUES('y', 1);
BEGIN;
INSERT INTO v VALUES('x', 1);
SELECT * FROM phone.counter_changes(0);
--! counter_changes: it belongs to main and cannot be named under the schema phone: open that file as main
SELECT * FROM "phone" . [counter_changes] WHERE since = 0;
--! counter_changes: it belongs to main and cannot be named under the schema phone: open that file as main
INSERT INTO phone.counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: it belongs to main and cannot be named under the schema phone: open that file as main
INSERT OR IGNORE INTO temp.counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: it belongs to main and cannot be named under the schema temp: open that file as main
INSERT INTO main.counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
COMMIT;
SELECT 'phone.counter_changes', counter_key_json(key), counter_value(cell) FROM main.counter_changes(0) AS f, counter_change(f.change) AS c;
--= phone.counter_changes|["x"]|9
SELECT * FROM phone.v;
--= y|1

-- # the-feed-wants-a-number-and-perhaps-a-bucket
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
SELECT * FROM counter_changes;
--! counter_changes: one argument is needed, the sequence number to begin at: 0, or the result of counter_mark(); its rows can only be inserted
SELECT * FROM counter_changes(NULL);
--! counter_changes: since must be an INTEGER, 0 or more, not NULL
SELECT * FROM counter_changes(-1);
--! counter_changes: since must be an INTEGER, 0 or more, not INTEGER -1
SELECT * FROM counter_changes('zero');
--! counter_changes: since must be an INTEGER, 0 or more, not TEXT 'zero'
SELECT * FROM counter_changes(0.5);
--! counter_changes: since must be an INTEGER, 0 or more, not REAL 0.5
SELECT (SELECT count(*) FROM counter_changes('0')), (SELECT count(*) FROM counter_changes(0.0));
--= 1|1
SELECT * FROM counter_changes(0, NULL);
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not NULL
SELECT * FROM counter_changes(0, 0);
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not INTEGER 0
SELECT * FROM counter_changes(0, '1/1');
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not TEXT '1/1'
SELECT * FROM counter_changes(0, '0/0');
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not TEXT '0/0'
SELECT * FROM counter_changes(0, '0/65537');
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not TEXT '0/65537'
SELECT * FROM counter_changes(0, '-1/2');
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not TEXT '-1/2'
SELECT * FROM counter_changes(0, '0/1 ');
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not TEXT '0/1 '
SELECT * FROM counter_changes(0, '');
--! counter_changes: bucket must be TEXT such as '3/64', from counter_digests, not TEXT ''
SELECT count(*), bucket FROM counter_changes(0, '0/1');
--= 1|0/1

-- # a-file-without-counter-tables-has-an-empty-feed
SELECT * FROM counter_changes(0);
SELECT counter_init() IS NOT NULL;
--= 1
SELECT * FROM counter_changes(0);
INSERT INTO counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: no counter table was created with this name here: CREATE it as at the source; if it is a tracked one there, CREATE the ordinary table, and call counter_track
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--! counter_mark: main has no counter tables
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 0, 1);
--! counter_seen: main has no counter tables

-- # a-file-without-an-id-takes-nothing-in
INSERT INTO counter_changes VALUES('v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 7, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: no counter table was created with this name here: CREATE it as at the source; if it is a tracked one there, CREATE the ordinary table, and call counter_track
SELECT count(*) FROM sqlite_master;
--= 0

-- # buckets-part-a-table
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 100) INSERT INTO v SELECT x, 1 FROM c;
SELECT count(*), sum(rows), min(rows) > 5, count(DISTINCT digest) FROM counter_digests('v', 4);
--= 4|100|1|4
SELECT bucket FROM counter_digests('v', 4);
--= 0/4
--= 1/4
--= 2/4
--= 3/4
SELECT count(*) FROM counter_digests('v', 4) AS d WHERE d.rows <> (SELECT count(*) FROM counter_changes(0, d.bucket));
--= 0
SELECT count(*), count(DISTINCT f.key) FROM counter_digests('v', 4) AS d, counter_changes(0, d.bucket) AS f;
--= 100|100
SELECT rows, digest = counter_table_digest('v') FROM counter_digests('v', 1);
--= 100|1
SELECT count(*), sum(rows) FROM counter_digests('v', 65536);
--= 65536|100

-- # a-change-is-in-the-digest-of-its-bucket-alone
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1), ('b', 1), ('c', 1), ('d', 1), ('e', 1), ('f', 1);
CREATE TEMP TABLE was AS SELECT * FROM counter_digests('v', 16);
UPDATE v SET n = n + 1 WHERE k = 'C';
SELECT count(*), sum(d.rows > 0) FROM counter_digests('v', 16) AS d JOIN was USING (bucket) WHERE d.digest <> was.digest;
--= 1|1
SELECT counter_key_json(f.key) FROM counter_digests('v', 16) AS d JOIN was USING (bucket) JOIN counter_changes(0, d.bucket) AS f JOIN counter_change(f.change) AS c WHERE d.digest <> was.digest AND c.value = 2;
--= ["c"]

-- # digests-are-equal-for-equal-contents-in-any-order-of-rows-and-columns
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE, h NUMERIC, a COUNTER, b COUNTER, PRIMARY KEY(k, h));
CREATE VIRTUAL TABLE phone.v USING counter(b COUNTER, h NUMERIC, k TEXT COLLATE NOCASE, a COUNTER, PRIMARY KEY(k, h));
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1
INSERT INTO main.v(k, h, a) VALUES('x', 1, 1), ('Y', 2.5, 2);
INSERT INTO phone.v(k, h, b) VALUES('y', 2.5, 3), ('X', 1.0, 4);
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 0
SELECT table_name, rows_changed FROM counter_sync('phone');
--= v|4
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1
SELECT count(*) FROM counter_digests('v', 8) AS m JOIN counter_digests('v', 8, 'phone') AS p USING (bucket, rows, digest);
--= 8
DELETE FROM main.v WHERE h = 1;
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 0
DELETE FROM phone.v WHERE h = 1;
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1
ALTER TABLE phone.v RENAME TO w;
SELECT counter_table_digest('v') = counter_table_digest('w', 'phone');
--= 1

-- # digests-tell-which-counter-and-which-key
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT, l TEXT, a COUNTER, b COUNTER, PRIMARY KEY(k, l));
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT, l TEXT, a COUNTER, b COUNTER, PRIMARY KEY(k, l));
INSERT INTO main.v(v, k, l) VALUES('reset a', 'x', '');
INSERT INTO phone.v(v, k, l) VALUES('reset b', 'x', '');
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 0
INSERT INTO main.v(v, k, l) VALUES('reset b', 'x', ''), ('reset', 'ab', 'c');
INSERT INTO phone.v(v, k, l) VALUES('reset a', 'x', ''), ('reset', 'a', 'bc');
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 0
INSERT INTO main.v(v, k, l) VALUES('reset', 'a', 'bc');
INSERT INTO phone.v(v, k, l) VALUES('reset', 'ab', 'c');
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1

-- # keys-that-nocase-takes-for-equal-have-equal-digests
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO main.v VALUES('a' || char(0) || 'x', 1);
INSERT INTO phone.v VALUES('A' || char(0) || 'y', 1);
SELECT rows_changed FROM counter_sync('phone');
--= 2
SELECT (SELECT n FROM main.v), (SELECT n FROM phone.v), counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 2|2|1

-- # rtrim-and-reals-fold
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE RTRIM, r, n COUNTER, PRIMARY KEY(k, r));
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT COLLATE RTRIM, r, n COUNTER, PRIMARY KEY(k, r));
INSERT INTO main.v VALUES('a  ', 1, 1), ('', -9223372036854775808, 1), ('b', x'20', 1);
INSERT INTO phone.v VALUES('a', 1.0, 1), ('   ', -9223372036854775808.0, 1), ('b', x'2020', 1);
SELECT rows_changed FROM counter_sync('phone');
--= 6
SELECT count(*), counter_table_digest('v') = counter_table_digest('v', 'phone') FROM v;
--= 4|1

-- # digests-see-uncommitted-content
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
CREATE TEMP TABLE was AS SELECT counter_table_digest('v') AS digest;
BEGIN;
INSERT INTO v VALUES('x', 1);
SELECT digest = counter_table_digest('v') FROM was;
--= 0
ROLLBACK;
SELECT digest = counter_table_digest('v') FROM was;
--= 1

-- # digests-say-what-is-wrong-with-their-arguments
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE plain(x);
SELECT counter_table_digest('plain');
--! counter_table_digest: main has no counter table 'plain'
SELECT counter_table_digest(NULL);
--! counter_table_digest: the name of the table must be TEXT, not NULL
SELECT counter_table_digest('v', NULL);
--! counter_table_digest: the name of a database must be TEXT, not NULL
SELECT counter_table_digest('v', 'phone');
--! counter_table_digest: no attached database has the name 'phone'
SELECT counter_table_digest('v', 'temp');
--! counter_table_digest: temp has no counter table 'v'
SELECT * FROM counter_digests('v');
--! counter_digests: two arguments are needed, the name of a counter table and the number of buckets
SELECT * FROM counter_digests('v', 0);
--! counter_digests: buckets must be an INTEGER, 1 ... 65536, not INTEGER 0
SELECT * FROM counter_digests('v', 65537);
--! counter_digests: buckets must be an INTEGER, 1 ... 65536, not INTEGER 65537
SELECT * FROM counter_digests('v', 'eight');
--! counter_digests: buckets must be an INTEGER, 1 ... 65536, not TEXT 'eight'
SELECT * FROM counter_digests('v', NULL);
--! counter_digests: buckets must be an INTEGER, 1 ... 65536, not NULL
SELECT * FROM counter_digests(1, 8);
--! counter_digests: the name of the table must be TEXT, not INTEGER 1
SELECT * FROM counter_digests('plain', 8);
--! counter_digests: main has no counter table 'plain'
SELECT * FROM counter_digests('v', 8, 'phone');
--! counter_digests: no attached database has the name 'phone'

-- # a-packed-key-is-told-as-json
SELECT counter_key_json(counter_key(1, -9223372036854775808, 9223372036854775807, 0));
--= [1,-9223372036854775808,9223372036854775807,0]
SELECT counter_key_json(counter_key(2.5, -1.0, 9e999, -9e999, 1e100));
--= [2.5,-1.0,9e999,-9e999,1.0e+100]
SELECT counter_key_json(counter_key('', 'a', 'ü€', '"\'));
--= ["","a","ü€","\"\\"]
SELECT counter_key_json(counter_key(x'', x'00ff', x'30'));
--= [{"hex":""},{"hex":"00ff"},{"hex":"30"}]
SELECT counter_key_json(NULL);
--= NULL
WITH t(x) AS (SELECT char(1, 9, 10, 13, 31, 34, 92, 127) || '''end') SELECT json_extract(counter_key_json(counter_key(x)), '$[0]') = x FROM t;
--= 1
SELECT counter_key_json(counter_key('a' || char(0) || char(10) || 'b'));
--= ["a\u0000\u000ab"]
SELECT json_extract(counter_key_json(counter_key(0.1)), '$[0]') = 0.1;
--= 1

-- # a-text-that-is-not-utf-8-is-told-in-bytes
--@ not-utf-16
SELECT counter_key_json(counter_key(CAST(x'ff' AS TEXT), CAST(x'61c3' AS TEXT), CAST(x'80' AS TEXT), CAST(x'c080' AS TEXT)));
--= [{"text":"ff"},{"text":"61c3"},{"text":"80"},{"text":"c080"}]
SELECT counter_key_json(counter_key(CAST(x'eda080' AS TEXT), CAST(x'f4908080' AS TEXT), CAST(x'e28261' AS TEXT), CAST(x'f8808080' AS TEXT)));
--= [{"text":"eda080"},{"text":"f4908080"},{"text":"e28261"},{"text":"f8808080"}]
SELECT counter_key_json(counter_key(CAST(x'e09fbf' AS TEXT), CAST(x'f08fbfbf' AS TEXT), CAST(x'c1bf' AS TEXT), CAST(x'bf80' AS TEXT)));
--= [{"text":"e09fbf"},{"text":"f08fbfbf"},{"text":"c1bf"},{"text":"bf80"}]
SELECT hex(counter_key_json(counter_key(CAST(x'7fc280dfbfe0a080ed9fbfee8080f0908080f48fbfbf' AS TEXT))));
--= 5B227FC280DFBFE0A080ED9FBFEE8080F0908080F48FBFBF225D

-- # one-tuple-has-one-packed-key-and-other-types-have-others
SELECT hex(counter_key(1)), hex(counter_key(-1)), hex(counter_key('a')), hex(counter_key(x'61')), hex(counter_key(1.0));
--= D10102|D10101|D1030161|D1040161|D1023FF0000000000000
SELECT counter_key('a', 'b') = counter_key('ab'), counter_key('') = counter_key(x''), counter_key(1) = counter_key('1');
--= 0|0|0

-- # keys-say-what-is-wrong-with-their-arguments
SELECT counter_key();
--! counter_key: a key has at least one value
SELECT counter_key('a', NULL);
--! counter_key: value 2 is NULL, and a key has no NULL
SELECT counter_key_json('a');
--! counter_key_json: the key must be a packed key, from counter_key or counter_changes, not TEXT 'a'
SELECT counter_key_json(1);
--! counter_key_json: the key must be a packed key, from counter_key or counter_changes, not INTEGER 1
SELECT counter_key_json(x'');
--= NULL
SELECT counter_key_json(x'd1');
--! counter_key_json: the key must be a packed key, from counter_key or counter_changes, not BLOB x'd1'
SELECT counter_key_json(x'd101');
--! counter_key_json: the key must be a packed key, from counter_key or counter_changes, not BLOB x'd101'
SELECT counter_key_json(x'd1018000');
--! counter_key_json: the key must be a packed key, from counter_key or counter_changes, not BLOB x'd1018000'
SELECT counter_key_json(x'd10305');
--! counter_key_json: the key must be a packed key, from counter_key or counter_changes, not BLOB x'd10305'
SELECT counter_key_json(x'd1027ff8000000000000');
--! counter_key_json: the key must be a packed key, from counter_key or counter_changes, not BLOB x'd1027ff8000000000000'
SELECT counter_key_json(x'd105');
--! counter_key_json: the key must be a packed key, from counter_key or counter_changes, not BLOB x'd105'
SELECT counter_key_json(x'd20102');
--! counter_key_json: the key must be a packed key, from counter_key or counter_changes, not BLOB x'd20102'
SELECT counter_key_json(x'd103ffffffffffffffffff01');
--! counter_key_json: the key must be a packed key, from counter_key or counter_changes, not BLOB x'd103ffffffffffffffffff01'

-- # a-floor-is-given-since-it-rose
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v(v, k) VALUES('purge below', 2);
CREATE TEMP TABLE mark AS SELECT max(upto) AS upto FROM counter_changes(0);
INSERT INTO v VALUES(5, 1);
SELECT count(*) FROM counter_changes(0);
--= 2
SELECT column_name FROM mark, counter_changes(mark.upto) AS f, counter_change(f.change) AS c;
--= n

-- # a-mark-rises-with-batches-that-join-on
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 0
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 0, 10);
--= 10
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 10, 20), counter_seen('00000000-0000-0000-0000-00000000000a', 5, 25);
--= 20|25
SELECT counter_mark('00000000-0000-0000-0000-00000000000A'), counter_mark('00000000-0000-0000-0000-00000000000b'), counter_mark('00000000-0000-0000-0000-00000000000a/0000000000000001');
--= 25|0|0

-- # a-batch-behind-a-gap-leaves-the-mark
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 1, 10);
--= 0
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 0, 10), counter_seen('00000000-0000-0000-0000-00000000000a', 11, 20);
--= 10|10
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 0, 5), counter_seen('00000000-0000-0000-0000-00000000000a', 10, 10);
--= 10|10
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 10

-- # a-rollback-takes-marks-back
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 0, 10);
--= 10
BEGIN;
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 10, 20);
--= 20
SAVEPOINT s;
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 20, 30);
--= 30
ROLLBACK TO s;
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 20
ROLLBACK;
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 10

-- # a-new-table-starts-the-feed-anew
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 0, 10);
--= 10
CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 0
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 10, 20), counter_seen('00000000-0000-0000-0000-00000000000a', 0, 20);
--= 0|20
ALTER TABLE w RENAME TO x;
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 20
DROP TABLE x;
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 20
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 0

-- # marks-say-what-is-wrong-with-their-arguments
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_mark(NULL);
--! counter_mark: source must be TEXT from counter_changes, the UUID of a file, not NULL
SELECT counter_mark('phone');
--! counter_mark: source must be TEXT from counter_changes, the UUID of a file, not TEXT 'phone'
SELECT counter_mark(x'0000000000000000000000000000000a');
--!~ counter_mark: source must be TEXT from counter_changes, the UUID of a file, not BLOB *
SELECT counter_mark('00000000-0000-0000-0000-00000000000a/');
--!~ counter_mark: source must be TEXT from counter_changes, the UUID of a file, not TEXT *
SELECT counter_mark('00000000-0000-0000-0000-00000000000a/000000000000000g');
--!~ counter_mark: source must be TEXT from counter_changes, the UUID of a file, not TEXT *
SELECT counter_mark('00000000-0000-0000-0000-00000000000a-0000000000000001');
--!~ counter_mark: source must be TEXT from counter_changes, the UUID of a file, not TEXT *
SELECT counter_seen('phone', 0, 1);
--! counter_seen: source must be TEXT from counter_changes, the UUID of a file, not TEXT 'phone'
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', NULL, 1);
--! counter_seen: since must be an INTEGER, not NULL
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', -1, 1);
--! counter_seen: since must be 0 ... 9223372036854775807, not -1
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 0, 'one');
--! counter_seen: upto must be an INTEGER, not TEXT 'one'
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 5, 4);
--! counter_seen: upto must be 5 ... 9223372036854775807, not 4
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 0

-- # a-named-file-whose-lineage-has-changed-has-another-name-in-the-feed
SELECT counter_init('dc:rack') IS NOT NULL;
--= 1
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
INSERT INTO w VALUES('x', 1);
SELECT DISTINCT source = counter_id() FROM counter_changes(0);
--= 1
DROP TABLE v;
SELECT source GLOB counter_id() || '/????????????????' FROM counter_changes(0);
--= 1
SELECT counter_mark(source) FROM counter_changes(0);
--= 0
CREATE TEMP TABLE feed AS SELECT source, since, upto FROM counter_changes(0);
SELECT counter_seen(source, since, upto) = upto, counter_mark(source) = upto FROM feed;
--= 1|1

-- # a-pull-reads-what-is-new
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('a', 1), ('c', 1);
INSERT INTO phone.v VALUES('b', 1);
SELECT * FROM counter_pull('phone');
--= v|3|3|0|created in main, which was empty
INSERT INTO phone.v VALUES('b', 1);
SELECT * FROM counter_pull('phone');
--= v|1|1|0|NULL
SELECT * FROM counter_pull('phone');
--= v|0|0|0|NULL
SELECT * FROM counter_pull('phone', 'full');
--= v|3|0|0|NULL
SELECT * FROM counter_pull('phone', 'FULL');
--= v|3|0|0|NULL
SELECT * FROM v ORDER BY k;
--= a|1
--= b|2
--= c|1

-- # a-push-and-a-sync-read-what-is-new
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1), ('c', 1);
INSERT INTO v VALUES('b', 1);
SELECT * FROM counter_push('phone');
--= v|3|3|0|created in phone, which was empty
INSERT INTO v VALUES('b', 1);
SELECT * FROM counter_push('phone');
--= v|1|1|0|NULL
SELECT * FROM counter_sync('phone', 'full');
--= v|6|0|0|NULL
INSERT INTO main.v VALUES('a', 1);
INSERT INTO phone.v VALUES('c', 1);
SELECT rows_changed FROM counter_sync('phone');
--= 2
SELECT rows_changed FROM counter_sync('phone');
--= 0

-- # many-rows-in-one-transaction-are-not-read-twice
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2500) INSERT INTO phone.v SELECT x, 1 FROM c;
SELECT * FROM counter_pull('phone');
--= v|2500|2500|0|created in main, which was empty
SELECT * FROM counter_pull('phone');
--= v|0|0|0|NULL
INSERT INTO phone.v VALUES(7, 1);
SELECT * FROM counter_pull('phone');
--= v|1|1|0|NULL

-- # a-pull-that-is-rolled-back-leaves-no-mark
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('a', 1);
INSERT INTO phone.v VALUES('b', 1);
BEGIN;
SELECT * FROM counter_pull('phone');
--= v|2|2|0|NULL
ROLLBACK;
SELECT * FROM counter_pull('phone');
--= v|2|2|0|NULL

-- # a-table-dropped-and-made-again-on-either-side-is-read-whole
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('a', 1);
INSERT INTO phone.v VALUES('b', 1);
SELECT * FROM counter_pull('phone');
--= v|2|2|0|created in main, which was empty
DROP TABLE main.v;
SELECT * FROM counter_pull('phone');
--= v|2|2|0|created in main
DROP TABLE phone.v;
SELECT * FROM counter_push('phone');
--= v|2|2|0|created in phone
SELECT * FROM counter_pull('phone');
--= v|2|0|0|NULL

-- # the-second-argument-of-a-pull-takes-two-words
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT * FROM counter_pull('phone', 'all');
--! counter_pull: the second argument takes 'full', 'part' and 'create tables', with a comma between them, not 'all'
SELECT * FROM counter_sync('phone', 'full, create table');
--! counter_sync: the second argument takes 'full', 'part' and 'create tables', with a comma between them, not 'create table'
SELECT * FROM counter_push('phone', 'full,');
--! counter_push: the second argument takes 'full', 'part' and 'create tables', with a comma between them, not ''
SELECT rows_read FROM counter_pull('phone', ' create tables ,FULL ');
--= 0
SELECT rows_read FROM counter_pull('phone', 'full,create tables,full');
--= 0
SELECT rows_read FROM counter_push('phone', NULL);
--= 0
SELECT * FROM counter_sync('phone', 1);
--! counter_sync: the second argument must be TEXT, not INTEGER 1

-- # neither-the-feed-nor-marks-can-be-used-in-views-and-triggers
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE plain(x);
CREATE VIEW feed AS SELECT * FROM counter_changes(0);
SELECT * FROM feed;
--!~ *unsafe use of virtual table "counter_changes"*
CREATE TRIGGER tr AFTER INSERT ON plain BEGIN SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 0, 9); END;
INSERT INTO plain VALUES(1);
--!~ *unsafe use of counter_seen()*
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 0

-- # a-change-with-the-key-columns-of-another-table-is-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
CREATE TABLE feed AS SELECT table_name, key, change, seq, source, key_columns FROM counter_changes(0);
SELECT count(*), count(key_columns) FROM feed;
--= 1|1
INSERT INTO counter_changes(table_name, key, change, seq, source, key_columns) SELECT * FROM feed;
UPDATE feed SET key_columns = 'k TEXT';
INSERT INTO counter_changes(table_name, key, change, seq, source, key_columns) SELECT * FROM feed;
--! counter_changes: table v: the tables differ in the key: the source has (k TEXT), this file has (k TEXT NOCASE)

-- # a-feed-takes-two-arguments
SELECT count(*) FROM counter_changes(0, 0, 0);
--! counter_changes: at most two arguments, since and bucket; upto and key_columns can only be read

-- # a-feed-shows-the-rows-of-the-table-that-is-asked-for
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
INSERT INTO w VALUES('x', 1), ('y', 1);
SELECT table_name, counter_key_json(key) FROM counter_changes(0) WHERE table_name = 'w' ORDER BY key;
--= w|["x"]
--= w|["y"]

-- # a-bucket-has-no-number-up-to-which-it-goes
--@ journal
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
SELECT upto = seq + 1, bucket FROM counter_changes(0);
--= 1|NULL
SELECT upto, bucket FROM counter_changes(0, '0/1');
--= NULL|0/1

-- # a-name-of-a-schema-may-have-any-character
ATTACH 'phone.db' AS "büro$1";
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
SELECT count(*) FROM büro$1.counter_changes(0);
--! counter_changes: it belongs to main and cannot be named under the schema büro$1: open that file as main
SELECT count(*) FROM `büro$1`.`counter_changes`(0);
--! counter_changes: it belongs to main and cannot be named under the schema büro$1: open that file as main
SELECT büro$1.* FROM counter_changes(0), v AS büro$1;
--= x|1

-- # a-comment-hides-no-schema
ATTACH 'phone.db' AS phone;
SELECT count(*) FROM phone.counter_changes(0);
--! counter_changes: it belongs to main and cannot be named under the schema phone: open that file as main
SELECT count(*) FROM phone /* here */ . -- there
  counter_changes(0);
--! counter_changes: it belongs to main and cannot be named under the schema phone: open that file as main
SELECT count(*) FROM [phone].counter_changes(0);
--! counter_changes: it belongs to main and cannot be named under the schema phone: open that file as main
SELECT count(*), 'a''.b' FROM counter_changes(0) /* phone.counter_changes */;
--= 0|a'.b
SELECT count(*) FROM counter_changes(0) -- phone.counter_changes
  ;
--= 0
SELECT count(*), 'phone.counter_changes' FROM counter_changes(0);
--= 0|phone.counter_changes

-- # a-digest-tells-apart-what-the-key-tells-apart
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 0);
INSERT INTO phone.v VALUES('A', 0);
UPDATE main.v_cells SET n = counter_inc(NULL, 1, zeroblob(16));
UPDATE phone.v_cells SET n = counter_inc(NULL, 1, zeroblob(16));
--@ reopen
ATTACH 'phone.db' AS phone;
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 0
UPDATE main.v_cells SET k = x'61';
UPDATE phone.v_cells SET k = x'41';
--@ reopen
ATTACH 'phone.db' AS phone;
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 0
UPDATE main.v_cells SET k = x'41';
--@ reopen
ATTACH 'phone.db' AS phone;
SELECT counter_table_digest('v') = counter_table_digest('v', 'phone');
--= 1

-- # the-case-of-a-collation-makes-no-difference
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE binary, j TEXT COLLATE "nocase", n COUNTER, PRIMARY KEY(k, j));
INSERT INTO v VALUES('a', 'b', 1);
CREATE TEMP TABLE feed AS SELECT *, key_columns FROM counter_changes(0);
SELECT key_columns FROM feed;
--= k TEXT BINARY, j TEXT NOCASE
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(k TEXT, j TEXT COLLATE NOCASE, n COUNTER, PRIMARY KEY(k, j));
INSERT INTO counter_changes(table_name, key, change, seq, source, key_columns) SELECT * FROM feed;
SELECT * FROM v;
--= a|b|1

-- # a-scope-has-the-rows-whose-leading-key-columns-have-its-values
CREATE VIRTUAL TABLE v USING counter(store TEXT, item TEXT COLLATE NOCASE, n COUNTER, PRIMARY KEY(store, item));
CREATE VIRTUAL TABLE numbers USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('store 7', 'tea', 1), ('store 7', 'JAM', 2), ('store 8', 'tea', 4), ('12', 'tea', 8);
INSERT INTO numbers VALUES(12, 16);
SELECT counter_key_json(key), counter_value(cell), scope FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE scope = '[ "store 7" ]' ORDER BY 1;
--= ["store 7","JAM"]|2|["store 7"]
--= ["store 7","tea"]|1|["store 7"]
SELECT counter_key_json(key) FROM counter_changes(0) WHERE scope = '["store 7", "jam"]' UNION ALL
SELECT counter_key_json(key) FROM counter_changes(0) WHERE scope = counter_key('store 7', 'Tea');
--= ["store 7","JAM"]
--= ["store 7","tea"]
SELECT table_name, counter_key_json(key) FROM counter_changes(0) WHERE scope = '[12]' ORDER BY 1;
--= numbers|[12]
--= v|["12","tea"]
SELECT count(*) FROM counter_changes(0) WHERE scope = '["store 9"]';
--= 0
SELECT count(*) FROM counter_changes(0) WHERE scope = '["store 7","tea",1]';
--= 0
SELECT count(*) FROM counter_changes(0) WHERE scope = NULL;
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not NULL
SELECT count(*) FROM counter_changes(0) WHERE scope IS '["store 7"]' AND own IS 1;
--= 2
SELECT count(*), count(scope) FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE table_name = 'v' OR counter_value(cell) = 16;
--= 5|0

-- # a-scope-brings-what-has-changed-and-what-decides-which-cells-count
CREATE VIRTUAL TABLE v USING counter(store TEXT, item TEXT, n COUNTER, PRIMARY KEY(store, item));
INSERT INTO v VALUES('a', 'tea', 1), ('a', 'jam', 2), ('b', 'tea', 4);
CREATE TEMP TABLE mark AS SELECT max(upto) AS upto FROM counter_changes(0);
INSERT INTO v VALUES('a', 'tea', 1), ('b', 'tea', 1), ('a', 'new', 1);
INSERT INTO v(v, store) VALUES('add column m', NULL);
DELETE FROM v WHERE item = 'jam';
SELECT counter_key_json(key), column_name, counter_value(cell), seq >= mark.upto FROM mark, counter_changes(mark.upto) AS f, counter_change(f.change) AS c WHERE scope = '["a"]' ORDER BY 1, 2;
--= NULL|m|NULL|1
--= ["a","jam"]|m|NULL|1
--= ["a","jam"]|n|NULL|1
--= ["a","new"]|n|1|1
--= ["a","tea"]|n|2|1

-- # a-scope-that-is-none-is-refused-by-a-sentence
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
SELECT * FROM counter_changes(0) WHERE scope = 'x';
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT 'x'
SELECT * FROM counter_changes(0) WHERE scope = '[]';
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT '[]'
SELECT * FROM counter_changes(0) WHERE scope = '"x"';
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT '"x"'
SELECT * FROM counter_changes(0) WHERE scope = '{"k":"x"}';
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT '{"k":"x"}'
SELECT * FROM counter_changes(0) WHERE scope = '["x",null]';
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT '["x",null]'
SELECT * FROM counter_changes(0) WHERE scope = '[true]';
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT '[true]'
SELECT * FROM counter_changes(0) WHERE scope = '[["x"]]';
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT '[["x"]]'
SELECT * FROM counter_changes(0) WHERE scope = '[{"hex":"0g"}]';
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT '[{"hex":"0g"}]'
SELECT * FROM counter_changes(0) WHERE scope = 7;
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not INTEGER 7
SELECT * FROM counter_changes(0) WHERE scope = '["a\u0000\ud800"]';
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT '["a\u0000\ud800"]'
SELECT * FROM counter_changes(0) WHERE scope = '["a\0b"]';
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT '["a\0b"]'
SELECT * FROM counter_changes(0) WHERE scope = '[{"text":"6\u0000"}]';
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT '[{"text":"6\u0000"}]'
SELECT * FROM counter_changes(0) WHERE scope = x'D1';
--! counter_changes: scope must be a JSON array of the first values of a key, such as '["store 7"]', not BLOB x'd1'
INSERT INTO counter_changes(table_name, scope) VALUES('v', '["x"]');
--! counter_changes: key must be a BLOB, not NULL

-- # a-scope-may-have-a-blob-and-a-text-that-is-not-utf8
--@ not-utf-16
CREATE VIRTUAL TABLE v USING counter(k BLOB, j, n COUNTER, PRIMARY KEY(k, j));
INSERT INTO v VALUES(x'00ff', 'x', 1), (CAST(x'61ff' AS TEXT), 'x', 2), (1.5, 'x', 4), (9e999, 'x', 8);
SELECT counter_value(cell) FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE scope = '[{"hex":"00FF"}]';
--= 1
SELECT counter_value(cell) FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE scope = '[{"text":"61ff"}]';
--= 2
SELECT counter_value(cell) FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE scope = '[1.5]';
--= 4
SELECT counter_value(cell) FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE scope = counter_key(9e999);
--= 8

-- # marks-are-by-source-and-scope-and-own-changes-and-that-of-everything-holds-for-all
CREATE VIRTUAL TABLE v USING counter(k TEXT, j TEXT, n COUNTER, PRIMARY KEY(k, j));
INSERT INTO v VALUES('x', 'y', 1);
SELECT DISTINCT source = counter_id() || ' own' FROM counter_changes(0) WHERE own = 1;
--= 1
SELECT DISTINCT source = counter_id() || ' own ["x"]' FROM counter_changes(0) WHERE own = 1 AND scope = '["x"]';
--= 1
SELECT DISTINCT source = counter_id() || ' ["x"]' FROM counter_changes(0) WHERE scope = '["x"]';
--= 1
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 0, 10, '["x"]'), counter_seen('00000000-0000-0000-0000-00000000000a ["z"]', 0, 20);
--= 10|20
SELECT counter_seen('00000000-0000-0000-0000-00000000000a own', 0, 30), counter_seen('00000000-0000-0000-0000-00000000000a/0000000000000001 own ["x"]', 0, 40);
--= 30|40
SELECT counter_mark('00000000-0000-0000-0000-00000000000a'), counter_mark('00000000-0000-0000-0000-00000000000a', '[ "x" ]'), counter_mark('00000000-0000-0000-0000-00000000000a ["x"]'), counter_mark('00000000-0000-0000-0000-00000000000a', '["z"]'), counter_mark('00000000-0000-0000-0000-00000000000a', '["x","y"]');
--= 0|10|10|20|0
SELECT counter_mark('00000000-0000-0000-0000-00000000000a own'), counter_mark('00000000-0000-0000-0000-00000000000a own', '["x"]'), counter_mark('00000000-0000-0000-0000-00000000000a/0000000000000001 own'), counter_mark('00000000-0000-0000-0000-00000000000a/0000000000000001 own ["x"]');
--= 30|30|0|40
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 0, 35);
--= 35
SELECT counter_mark('00000000-0000-0000-0000-00000000000a', '["x"]'), counter_mark('00000000-0000-0000-0000-00000000000a own'), counter_mark('00000000-0000-0000-0000-00000000000a own ["w"]'), counter_mark('00000000-0000-0000-0000-00000000000a/0000000000000001');
--= 35|35|35|0
SELECT counter_seen('00000000-0000-0000-0000-00000000000a', 35, 50, '["x"]'), counter_mark('00000000-0000-0000-0000-00000000000a');
--= 50|35
SELECT counter_mark('00000000-0000-0000-0000-00000000000a ["x"]', '["z"]');
--! counter_mark: the source has the scope ["x"] in its name, and ["z"] was given as its scope
SELECT counter_mark('00000000-0000-0000-0000-00000000000a', 'x');
--! counter_mark: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT 'x'
SELECT counter_mark('00000000-0000-0000-0000-00000000000a x');
--! counter_mark: source must be TEXT from counter_changes, the UUID of a file, not TEXT '00000000-0000-0000-0000-00000000000a x'
SELECT counter_seen('00000000-0000-0000-0000-00000000000a owner', 0, 1);
--! counter_seen: source must be TEXT from counter_changes, the UUID of a file, not TEXT '00000000-0000-0000-0000-00000000000a own...'

-- # a-copy-settles-and-has-the-id-that-it-counts-under
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
VACUUM INTO 'copy.db';
ATTACH 'copy.db' AS copy;
SELECT counter_id() = counter_id('copy'), counter_settle() = counter_id();
--= 1|1
SELECT counter_settle('copy') = counter_id('copy');
--= 1
SELECT counter_id() = counter_id('copy');
--= 0
INSERT INTO copy.v VALUES('x', 2);
SELECT counter_settle('copy') = counter_id('copy'), v.n FROM copy.v;
--= 1|3
SELECT s.value FROM counter_cells('v', 'copy') AS c, counter_shards(c.cell) AS s WHERE s.id = counter_id('copy');
--= 2
SELECT counter_settle('nobody');
--! counter_settle: no attached database has the name 'nobody'

-- # an-insert-with-a-scope-passes-over-other-rows
CREATE VIRTUAL TABLE v USING counter(store TEXT COLLATE NOCASE, item INTEGER, n COUNTER, PRIMARY KEY(store, item));
INSERT INTO v VALUES('Store 7', 1, 1), ('store 7', 2, 2), ('store 8', 1, 4), ('8', 1, 8);
CREATE TEMP TABLE feed AS SELECT * FROM counter_changes(0);
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(store TEXT COLLATE NOCASE, item INTEGER, n COUNTER, PRIMARY KEY(store, item));
INSERT INTO counter_changes(table_name, key, change, seq, source, scope) SELECT *, '["STORE 7"]' FROM feed;
SELECT * FROM v ORDER BY 2;
--= Store 7|1|1
--= store 7|2|2
INSERT INTO counter_changes(table_name, key, change, seq, source, scope) SELECT *, counter_key(8, '1') FROM feed;
SELECT * FROM v ORDER BY 2, 1;
--= 8|1|8
--= Store 7|1|1
--= store 7|2|2
INSERT INTO counter_changes(table_name, key, change, seq, source, scope) SELECT *, '["store 8",1,1]' FROM feed;
SELECT count(*) FROM v;
--= 3
INSERT INTO counter_changes(table_name, key, change, seq, source, scope) SELECT *, 'store 8' FROM feed;
--! counter_changes: table v: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT 'store 8'
SELECT count(*) FROM v;
--= 3
BEGIN;
INSERT INTO counter_changes(table_name, key, change, seq, source, scope) VALUES('v', counter_key('bad', 1), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 1, '00000000-0000-0000-0000-00000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a', 'bad');
--! counter_changes: table v: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT 'bad'
INSERT INTO counter_changes(table_name, key, change, seq, source, scope) VALUES('v', counter_key('bad', 1), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 1, '00000000-0000-0000-0000-00000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a', 'bad');
--! counter_changes: table v: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT 'bad'
COMMIT;
SELECT count(*) FROM v;
--= 3

-- # counter-source-is-the-source-of-the-feed-also-where-that-has-no-rows
SELECT counter_source();
--= NULL
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_source() = counter_id(), counter_source(1) = counter_id() || ' own', counter_source(0, '[ "x" ]') = counter_id() || ' ["x"]';
--= 1|1|1
INSERT INTO v VALUES('x', 1);
SELECT counter_source() = (SELECT source FROM counter_changes(0)), counter_source(1, '["x"]') = (SELECT source FROM counter_changes(0) WHERE own = 1 AND scope = '["x"]');
--= 1|1
SELECT counter_source(2);
--! counter_source: own must be 0 ... 1, not 2
SELECT counter_source(0, 'x');
--! counter_source: scope must be a JSON array of the first values of a key, such as '["store 7"]', not TEXT 'x'

-- # the-end-of-changes-lies-above-the-number-of-each-change-and-is-the-upto-of-the-feed
SELECT counter_changes_end();
--= 0
CREATE TABLE p(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0);
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
SELECT counter_replicate('p', 'n');
--= 0
INSERT INTO p VALUES('a', 1);
INSERT INTO v VALUES(1, 5);
SELECT max(seq) < counter_changes_end(), count(*) FROM counter_changes(0);
--= 1|2
CREATE TEMP TABLE before AS SELECT counter_changes_end() AS n;
SELECT count(*) FROM before JOIN counter_changes(n);
--= 0
INSERT INTO v(v, k) VALUES('purge below', 3);
SELECT count(*) FROM before JOIN counter_changes(n) AS f JOIN counter_change(f.change) AS c WHERE c.kind = 'floors';
--= 1
SELECT upto = counter_changes_end(), counter_changes_end() > n FROM before, counter_changes(0) LIMIT 1;
--= 1|1
BEGIN;
INSERT INTO v VALUES(7, 1);
SELECT upto = counter_changes_end() FROM counter_changes(0) LIMIT 1;
--= 1
ROLLBACK;
SELECT counter_changes_end(1);
--! wrong number of arguments to function counter_changes_end()

-- # a-scope-may-have-a-text-with-the-character-0-as-json-spells-it
--@ not-utf-16
CREATE VIRTUAL TABLE v USING counter(k TEXT, j TEXT, n COUNTER, PRIMARY KEY(k, j));
INSERT INTO v VALUES (CAST(x'610062' AS TEXT), 'x', 1), ('a', 'x', 2), ('a\u0000b', 'x', 3), (CAST(x'00c3a9f09f99822209' AS TEXT), 'y', 4), ('', 'z', 5);
SELECT counter_value(cell), counter_key_json(key) FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE scope = '["a\u0000b"]';
--= 1|["a\u0000b","x"]
SELECT counter_value(cell) FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE scope = ' [ "a\u0000b" , "x" ] ';
--= 1
SELECT counter_value(cell) FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE scope = '["a\\u0000b"]';
--= 3
SELECT counter_value(cell) FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE scope = '["\u0000\u00e9\ud83d\ude42\"\t"]';
--= 4
SELECT counter_value(cell) FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE scope = '["\u0000é🙂\u0022\u0009"]';
--= 4
SELECT substr(counter_source(0, '["a\u0000b"]'), 37), counter_source(0, '["a\u0000b"]') = counter_source(0, '[{"text":"610062"}]');
--=  ["a\u0000b"]|1
CREATE TEMP TABLE feed AS SELECT *, key_columns FROM counter_changes(0);
CREATE TEMP TABLE name AS SELECT counter_source(0, '["a\u0000b"]') AS source, upto FROM counter_changes(0) LIMIT 1;
DROP TABLE v;
CREATE VIRTUAL TABLE v USING counter(k TEXT, j TEXT, n COUNTER, PRIMARY KEY(k, j));
INSERT INTO counter_changes(table_name, key, change, seq, source, scope) SELECT table_name, key, change, seq, source, '["a\u0000b"]' FROM feed;
SELECT hex(k), n FROM v;
--= 610062|1

-- # a-change-of-the-table-itself-has-no-key
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES('v', counter_key('a'), counter_change_of('{"tells":"column","name":"q","kind":"counter","generation":1}'), 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: the change is of the table itself, and its key must be x''
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES('v', x'00ff', x'04B1010000000000008000800000000000000100000000000080008000000000000002', 1, '00000000-0000-0000-0000-00000000000a');
--! counter_changes: table v: the change is of the table itself, and its key must be x''
