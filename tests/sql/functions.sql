-- Functions of cells. Ids: x'00…0a' is the replica "a", and so on.

-- # increments-in-a-row-read-as-they-add-up
SELECT counter_value(counter_inc(NULL, 1, x'0000000000000000000000000000000a'));
--= 1
SELECT counter_json(counter_dec(counter_inc(counter_inc(NULL, 1, x'0000000000000000000000000000000a'), 2, x'0000000000000000000000000000000a'), 3, x'0000000000000000000000000000000a'));
--= {"life":1,"value":0,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":3,"value":0}]}

-- # the-cell-has-the-bytes-of-the-format
SELECT hex(counter_inc(NULL, 1, '00000000-0000-0000-0000-00000000000a'));
--= C1010000000000000000000000000000000A0102
SELECT hex(counter_inc(NULL, -1, '00000000-0000-0000-0000-00000000000A'));
--= C1010000000000000000000000000000000A0101
SELECT hex(counter_inc(NULL, 0, '00000000-0000-0000-0000-00000000000A'));
--= C1010000000000000000000000000000000A0100

-- # inc-without-identity-says-what-to-run
SELECT counter_inc(NULL);
--! counter_inc: main has no replica id: run SELECT counter_init() once
SELECT counter_dec(NULL, 2);
--! counter_dec: main has no replica id: run SELECT counter_init() once

-- # inc-writes-under-the-identity-of-main
SELECT length(counter_init());
--= 36
SELECT id = counter_id(), clock, value FROM counter_shards(counter_inc(counter_inc(NULL), 4));
--= 1|2|5

-- # n-must-be-an-integer
SELECT counter_inc(NULL, 'five', x'0000000000000000000000000000000a');
--! counter_inc: n must be an INTEGER, not TEXT 'five'
SELECT counter_inc(NULL, NULL, x'0000000000000000000000000000000a');
--! counter_inc: n must be an INTEGER, not NULL
SELECT counter_inc(NULL, 1.5, x'0000000000000000000000000000000a');
--! counter_inc: n must be an INTEGER, not REAL 1.5
SELECT counter_inc(NULL, x'05', x'0000000000000000000000000000000a');
--! counter_inc: n must be an INTEGER, not BLOB x'05'
SELECT counter_dec(NULL, 'five', x'0000000000000000000000000000000a');
--! counter_dec: n must be an INTEGER, not TEXT 'five'
SELECT counter_value(counter_dec(NULL, '5', x'0000000000000000000000000000000a'));
--= -5
SELECT counter_value(counter_inc(NULL, 5.0, x'0000000000000000000000000000000a'));
--= 5

-- # long-values-are-shown-cut
SELECT counter_inc(NULL, replace(hex(zeroblob(40)), '00', 'ä'), x'0000000000000000000000000000000a');
--! counter_inc: n must be an INTEGER, not TEXT 'ääääääääääääääääääää...'

-- # replica-must-be-an-id
SELECT counter_inc(NULL, 1, NULL);
--! counter_inc: replica must be a UUID (text, or a BLOB of 16 bytes), not NULL
SELECT counter_inc(NULL, 1, x'0a');
--! counter_inc: replica must be a UUID (text, or a BLOB of 16 bytes), not BLOB x'0a'
SELECT counter_inc(NULL, 1, 'main');
--! counter_inc: replica must be a UUID (text, or a BLOB of 16 bytes), not TEXT 'main'
SELECT counter_inc(NULL, 1, 7);
--! counter_inc: replica must be a UUID (text, or a BLOB of 16 bytes), not INTEGER 7

-- # the-smallest-integer-cannot-be-subtracted
SELECT counter_dec(NULL, -9223372036854775808, x'0000000000000000000000000000000a');
--! counter_dec: n must be -9223372036854775807 ... 9223372036854775807, not -9223372036854775808
SELECT counter_value(counter_inc(NULL, -9223372036854775808, x'0000000000000000000000000000000a'));
--= -9223372036854775808

-- # overflow-of-a-shard-and-of-the-sum-are-errors
SELECT counter_inc(counter_inc(NULL, 9223372036854775807, x'0000000000000000000000000000000a'), 1, x'0000000000000000000000000000000a');
--! counter_inc: integer overflow
SELECT counter_value(counter_inc(counter_inc(NULL, 9223372036854775807, x'0000000000000000000000000000000a'), 1, x'0000000000000000000000000000000b'));
--! counter_value: integer overflow
SELECT counter_json(counter_inc(counter_inc(NULL, 9223372036854775807, x'0000000000000000000000000000000a'), 1, x'0000000000000000000000000000000b'));
--= {"life":1,"value":null,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":9223372036854775807},{"id":"00000000-0000-0000-0000-00000000000b","clock":1,"value":1}]}
SELECT counter_value(counter_inc(counter_inc(counter_inc(NULL, 9223372036854775807, x'0000000000000000000000000000000a'), 1, x'0000000000000000000000000000000b'), -1, x'0000000000000000000000000000000c'));
--= 9223372036854775807

-- # value-of-null-and-of-a-deleted-cell-is-null
SELECT counter_value(NULL), counter_value(counter_delete(NULL)), counter_value(counter_reset(NULL));
--= NULL|NULL|0

-- # higher-clock-wins-a-merge-in-both-orders
CREATE TABLE c(a BLOB, b BLOB);
INSERT INTO c SELECT (SELECT counter_collect(column1, column2, column3) FROM (VALUES('00000000-0000-0000-0000-000000000000', 1, 5), ('00000000-0000-0000-0000-000000000001', 1, -4))),
  (SELECT counter_collect(column1, column2, column3) FROM (VALUES('00000000-0000-0000-0000-000000000000', 2, 7), ('00000000-0000-0000-0000-000000000002', 1, 1)));
SELECT counter_value(a), counter_value(b), counter_value(counter_merge(a, b)), counter_merge(a, b) = counter_merge(b, a) FROM c;
--= 1|8|4|1
SELECT counter_merge(a, a) = a, counter_merge(NULL, a) = a, counter_merge(a, NULL, NULL) = a, counter_merge(a, b, a, b) = counter_merge(a, b) FROM c;
--= 1|1|1|1

-- # ties-go-to-the-higher-value
SELECT counter_value(counter_merge(x'c101000000000000000000000000000000010a28', x'c101000000000000000000000000000000010a3c'));
--= 30
SELECT counter_value(counter_merge(x'c101000000000000000000000000000000010a3c', x'c101000000000000000000000000000000010a28'));
--= 30

-- # a-tombstone-beats-every-live-cell-of-its-life
SELECT hex(counter_merge(x'c102', x'c101000000000000000000000000000000010a28')), hex(counter_merge(x'c101000000000000000000000000000000010a28', x'c102'));
--= C102|C102

-- # merge-takes-two-or-more
SELECT counter_merge();
--! counter_merge: it takes two or more cells, or one column to aggregate, not 0
SELECT counter_merge(NULL, NULL);
--= NULL

-- # delete-and-reset-start-the-next-lives
SELECT hex(counter_delete(NULL)), hex(counter_delete(x'c102')), hex(counter_delete(x'c103')), hex(counter_reset(NULL)), hex(counter_reset(x'c102')), hex(counter_reset(x'c103'));
--= C102|C102|C104|C103|C103|C105
SELECT counter_is_deleted(NULL), counter_is_deleted(x'c102'), counter_is_deleted(x'c103');
--= NULL|1|0

-- # nothing-can-be-added-to-a-deleted-cell
SELECT counter_inc(x'c102', 1, x'0000000000000000000000000000000a');
--! counter_inc: the counter was deleted; counter_reset starts its next life
SELECT counter_json(counter_inc(counter_reset(x'c102'), 6, x'0000000000000000000000000000000a'));
--= {"life":3,"value":6,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":6}]}

-- # there-is-nothing-behind-the-last-life
SELECT counter_delete(x'c1ffffffff0f');
--! counter_delete: the counter is in its last life, 4294967295
SELECT counter_reset(x'c1ffffffff0f');
--! counter_reset: the counter is in its last life, 4294967295
SELECT hex(counter_reset(x'c1feffffff0f')), hex(counter_delete(x'c1feffffff0f'));
--= C1FFFFFFFF0F|C1FEFFFFFF0F

-- # compare-orders-cells-as-version-vectors
SELECT counter_compare(NULL, NULL), counter_compare(NULL, x'c102'), counter_compare(x'c103', x'c102'), counter_compare(x'c102', x'c102');
--= equal|less|greater|equal
SELECT counter_compare(x'c101000000000000000000000000000000010a28', x'c101000000000000000000000000000000010a3c');
--= disjoint
SELECT counter_compare(x'c101000000000000000000000000000000010b28', x'c101000000000000000000000000000000010a3c');
--= greater

-- # diff-is-what-the-other-lacks
CREATE TABLE d(l BLOB, r BLOB);
INSERT INTO d SELECT (SELECT counter_collect('00000000-0000-0000-0000-00000000000' || column1, column2, column3) FROM (VALUES(0, 1, 1), (1, 1, 2), (2, 1, 3))),
  (SELECT counter_collect('00000000-0000-0000-0000-00000000000' || column1, column2, column3) FROM (VALUES(0, 1, 1), (2, 4, -5), (3, 1, -100)));
SELECT counter_value(counter_merge(l, r)), counter_value(counter_diff(l, r)), counter_value(counter_diff(r, l)) FROM d;
--= -102|2|-105
SELECT counter_diff(l, l), counter_diff(l, NULL) = l, counter_diff(NULL, l), counter_diff(l, x'c102'), hex(counter_diff(x'c102', l)) FROM d;
--= NULL|1|NULL|NULL|C102
SELECT counter_diff(NULL, NULL), counter_diff(x'c103', x'c103'), counter_diff(x'c102', x'c102');
--= NULL|NULL|NULL

-- # digest-is-a-name-based-uuid-of-the-bytes
SELECT counter_digest(NULL), counter_digest(x'c102');
--= NULL|fd7693b5-3b2c-5dc7-a9a1-d01a0e69e336
SELECT counter_digest(x'c103') = counter_digest(counter_reset(NULL)), counter_digest(x'c103') = counter_digest(x'c102');
--= 1|0

-- # json-shows-life-value-and-shards
SELECT counter_json(NULL), counter_json(x'c102'), counter_json(x'c103');
--= NULL|{"life":2}|{"life":3,"value":0,"shards":[]}
SELECT json_extract(counter_json(x'c101000000000000000000000000000000010a3c'), '$.shards[0].clock');
--= 10

-- # malformed-cells-are-refused-with-the-reason
SELECT counter_value(x'');
--! counter_value: the cell is no counter cell: BLOB x''
SELECT counter_value(zeroblob(0));
--! counter_value: the cell is no counter cell: BLOB x''
SELECT counter_value('text');
--! counter_value: the cell must be a BLOB or NULL, not TEXT 'text'
SELECT counter_value(5);
--! counter_value: the cell must be a BLOB or NULL, not INTEGER 5
SELECT counter_value(x'ffd8ffe0');
--! counter_value: the cell is no counter cell: BLOB x'ffd8ffe0'
SELECT counter_value(x'c001');
--! counter_value: the cell is no counter cell: BLOB x'c001'
SELECT counter_value(x'c301');
--! counter_value: the cell is of a newer format than 2: BLOB x'c301'
SELECT counter_value(x'c1');
--! counter_value: the cell is truncated: BLOB x'c1'
SELECT counter_value(x'c10100000000000000000000000000000001');
--! counter_value: the cell is truncated: BLOB x'c10100000000000000000000000000000001'
SELECT counter_value(x'c18100');
--! counter_value: the cell has a number of needless length: BLOB x'c18100'
SELECT counter_value(x'c100');
--! counter_value: the cell has a number out of range: BLOB x'c100'
SELECT counter_value(x'c101');
--! counter_value: the cell is in life 1 without shards, which must be NULL: BLOB x'c101'
SELECT counter_value(x'c10200');
--! counter_value: the cell is deleted but has bytes after its life: BLOB x'c10200'
SELECT counter_merge(NULL, x'c101000000000000000000000000000000020102000000000000000000000000000000010102');
--! counter_merge: the cell has unsorted replica ids: BLOB x'c101000000000000000000000000000000020102...'
SELECT counter_diff(x'c101000000000000000000000000000000010102000000000000000000000000000000010102', NULL);
--! counter_diff: the cell has a replica id twice: BLOB x'c101000000000000000000000000000000010102...'
SELECT counter_compare(x'c1', NULL);
--! counter_compare: the cell is truncated: BLOB x'c1'
SELECT counter_compare(NULL, x'c1');
--! counter_compare: the cell is truncated: BLOB x'c1'
SELECT counter_diff(NULL, 5);
--! counter_diff: the cell must be a BLOB or NULL, not INTEGER 5
SELECT counter_delete(x'c1');
--! counter_delete: the cell is truncated: BLOB x'c1'
SELECT counter_reset('x');
--! counter_reset: the cell must be a BLOB or NULL, not TEXT 'x'
SELECT counter_is_deleted(x'c1');
--! counter_is_deleted: the cell is truncated: BLOB x'c1'
SELECT counter_digest(x'c1');
--! counter_digest: the cell is truncated: BLOB x'c1'
SELECT counter_json(x'c1');
--! counter_json: the cell is truncated: BLOB x'c1'
SELECT counter_inc(x'c1', 1, x'0000000000000000000000000000000a');
--! counter_inc: the cell is truncated: BLOB x'c1'

-- # ids-are-ordered-as-unsigned-bytes
SELECT group_concat(substr(id, 1, 2)) FROM counter_shards(counter_inc(counter_inc(NULL, 1, x'80000000000000000000000000000000'), 1, x'7f000000000000000000000000000000'));
--= 7f,80

-- # pure-functions-serve-indexes-views-and-triggers-of-untrusted-schemas
--@ trusted-schema off
CREATE TABLE t(k, c BLOB);
CREATE INDEX i ON t(counter_value(c));
CREATE VIEW w AS SELECT k, counter_value(c) AS n FROM t;
INSERT INTO t VALUES('a', counter_inc(NULL, 3, x'0000000000000000000000000000000a'));
SELECT * FROM w;
--= a|3

-- # functions-of-the-identity-serve-no-untrusted-schema
--@ trusted-schema off
SELECT length(counter_init());
--= 36
CREATE VIEW w AS SELECT counter_id();
SELECT * FROM w;
--! unsafe use of counter_id()
CREATE VIEW x AS SELECT counter_init();
SELECT * FROM x;
--! unsafe use of counter_init()

-- # functions-of-the-identity-serve-no-index
CREATE TABLE t(c BLOB);
CREATE INDEX i ON t(counter_inc(c));
--! non-deterministic functions prohibited in index expressions

-- # ordinary-tables-count-with-upsert
SELECT length(counter_init());
--= 36
CREATE TABLE page(path TEXT PRIMARY KEY, views BLOB);
INSERT INTO page(path, views) VALUES ('/', counter_inc(NULL))
  ON CONFLICT(path) DO UPDATE SET views = counter_inc(views);
INSERT INTO page(path, views) VALUES ('/', counter_inc(NULL))
  ON CONFLICT(path) DO UPDATE SET views = counter_inc(views);
SELECT counter_value(views) FROM page;
--= 2

-- # ordinary-tables-count-with-upsert-and-returning
--@ since 3.35
SELECT length(counter_init());
--= 36
CREATE TABLE page(path TEXT PRIMARY KEY, views BLOB);
INSERT INTO page(path, views) VALUES ('/', counter_inc(NULL))
  ON CONFLICT(path) DO UPDATE SET views = counter_inc(views) RETURNING counter_value(views);
--= 1
INSERT INTO page(path, views) VALUES ('/', counter_inc(NULL))
  ON CONFLICT(path) DO UPDATE SET views = counter_inc(views) RETURNING counter_value(views);
--= 2
UPDATE page SET views = counter_dec(views, 5) RETURNING counter_value(views);
--= -3

-- # a-null-delta-wipes-nothing
SELECT length(counter_init());
--= 36
CREATE TABLE page(path TEXT PRIMARY KEY, views BLOB);
INSERT INTO page VALUES ('/', counter_inc(NULL, 7));
UPDATE page SET views = counter_inc(views, NULL);
--! counter_inc: n must be an INTEGER, not NULL
SELECT counter_value(views) FROM page;
--= 7

-- # version-is-that-of-the-header
SELECT counter_version();
--~ [0-9]*.[0-9]*.[0-9]*

-- # blobs-that-are-zeros-by-their-length-alone-are-blobs
SELECT counter_value(zeroblob(1));
--! counter_value: the cell is no counter cell: BLOB x'00'
SELECT counter_value(zeroblob(20));
--! counter_value: the cell is no counter cell: BLOB x'0000000000000000000000000000000000000000'
SELECT counter_json(counter_inc(NULL, 1, zeroblob(16)));
--= {"life":1,"value":1,"shards":[{"id":"00000000-0000-0000-0000-000000000000","clock":1,"value":1}]}
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
UPDATE v SET n = zeroblob(24);
--!~ v: column n: a counter takes an INTEGER, not BLOB x'0000*

-- # values-are-shown-in-part-and-no-letter-in-halves
SELECT counter_value('aäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüß');
--! counter_value: the cell must be a BLOB or NULL, not TEXT 'aäöüßäöüßäöüßäöüßäöü...'
SELECT counter_value('äöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüßäöüß');
--! counter_value: the cell must be a BLOB or NULL, not TEXT 'äöüßäöüßäöüßäöüßäöüß...'
SELECT counter_value(x'');
--! counter_value: the cell is no counter cell: BLOB x''
SELECT counter_inc(NULL, zeroblob(3));
--! counter_inc: n must be an INTEGER, not BLOB x'000000'

-- # what-the-library-calls-while-it-merges-is-for-it-alone
SELECT counter_joining();
--! counter_joining is for the library alone
SELECT counter_joining(x'00', 0, 1);
--! counter_joining is for the library alone
SELECT counter_joining(1, 0, 1, 2);
--! counter_joining is for the library alone
