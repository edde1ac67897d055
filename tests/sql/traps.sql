-- What went wrong elsewhere, once each.

-- # a-transfer-to-oneself-mints-nothing
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 10);
CREATE TABLE move(source, target, n);
CREATE TRIGGER moves AFTER INSERT ON move BEGIN
  UPDATE v SET n = n - new.n WHERE k = new.source;
  UPDATE v SET n = n + new.n WHERE k = new.target;
END;
INSERT INTO move VALUES('a', 'a', 4);
INSERT INTO v VALUES('a', 4), ('a', -4);
SELECT * FROM v;
--= a|10

-- # a-null-delta-neither-wipes-nor-blocks
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 10, 10);
INSERT INTO v VALUES('x', NULL, 1);
UPDATE v SET a = a + NULL;
--! v: column a: a counter takes an INTEGER, not NULL
INSERT INTO v VALUES('x', 1, NULL);
SELECT * FROM v;
--= x|11|11

-- # ids-are-told-apart-by-every-byte
SELECT count(*), count(DISTINCT id) FROM counter_shards(counter_inc(counter_inc(counter_inc(NULL,
  1, x'00000000000000000000000000000001'), 1, x'01000000000000000000000000000001'), 1, x'00000000000000010000000000000001'));
--= 3|3

-- # an-empty-cell-survives-its-encoding
SELECT hex(counter_merge(counter_reset(NULL), NULL)), counter_value(counter_merge(counter_reset(NULL), counter_reset(NULL)));
--= C103|0
SELECT counter_collect(id, clock, value, 3) FROM counter_shards(counter_reset(NULL));
--= NULL

-- # a-state-is-no-delta
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 10);
INSERT INTO v SELECT k, n FROM v_cells;
--!~ v: column n: a counter takes an INTEGER, not BLOB x'c101*
SELECT counter_inc(NULL, n) FROM v_cells;
--!~ counter_inc: n must be an INTEGER, not BLOB x'c101*
SELECT * FROM v;
--= x|10

-- # an-old-sum-does-not-return-after-a-delete
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
ATTACH 'peer.db' AS peer;
INSERT INTO v VALUES('x', 6);
SELECT * FROM counter_push('peer');
--= v|1|1|0|created in peer, which was empty
DELETE FROM main.v;
SELECT * FROM counter_pull('peer');
--= v|1|0|0|NULL
INSERT INTO main.v(v, k, n) VALUES('reset', 'x', 6);
INSERT INTO main.v VALUES('y', 1);
SELECT * FROM counter_sync('peer');
--= v|2|2|0|NULL
SELECT * FROM peer.v;
--= x|6
--= y|1

-- # no-stored-table-is-strict
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
SELECT count(*) FROM sqlite_master WHERE sql LIKE '%STRICT%';
--= 0

-- # integers-at-the-ends-count-exactly
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('max', 9223372036854775807), ('min', -9223372036854775808);
UPDATE v SET n = n - 1 WHERE k = 'max';
UPDATE v SET n = n + 1 WHERE k = 'min';
SELECT * FROM v;
--= max|9223372036854775806
--= min|-9223372036854775807

-- # a-key-that-lines-could-not-carry-is-refused-wherever-it-comes-from
CREATE VIRTUAL TABLE v USING counter(k, j, n COUNTER, PRIMARY KEY(k, j));
INSERT INTO v VALUES(zeroblob(262138), '123456', 1);
INSERT INTO v VALUES(zeroblob(262138), '1234567', 1);
--!~ v: row (x'00*): the key has 262145 bytes, and 262144 are the limit
INSERT INTO v(v, k) VALUES('purge below', zeroblob(262145));
--!~ v: row (x'00*): the key has 262145 bytes, and 262144 are the limit
SELECT counter_take(json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key(zeroblob(262145), 1)), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000b","clock":1,"value":7}]}}]}'))))));
--!~ counter_take: *the key has 262145 bytes, and 262144 are the limit
SELECT count(*), sum(n) FROM v;
--= 1|1
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES(hex(zeroblob(131073)), 1);
SELECT counter_replicate('t', 'n');
--!~ counter_replicate:*the key has 262146 bytes, and 262144 are the limit
DELETE FROM t;
INSERT INTO t VALUES('k', 1);
SELECT counter_replicate('t', 'n');
--= 1
INSERT OR IGNORE INTO t VALUES(hex(zeroblob(131073)), 1);
--!~ *the key has 262146 bytes, and 262144 are the limit
UPDATE OR REPLACE t SET k = hex(zeroblob(131073));
--!~ *the key has 262146 bytes, and 262144 are the limit
SELECT * FROM t;
--= k|1
