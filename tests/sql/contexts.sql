-- counter_from_cassandra, counter_to_cassandra: Cassandra's counter contexts.

-- # global-shards-become-shards-of-a-cell
SELECT counter_value(counter_from_cassandra(x'0001800059b8272099b04033885ce94d62106a3500056e6f7608d1e00000000000000003'));
--= 3
SELECT counter_value(counter_from_cassandra(x'000280008001bbba589778b64cdc9a0dea9e9a3b833f0000000000000001ffffffffffffffffe079a6feeb794bdf97cac87a2c387d5c00000000000000010000000000000002'));
--= 1
SELECT counter_json(counter_from_cassandra(x'0001800059b8272099b04033885ce94d62106a3500056e6f7608d1e00000000000000003'));
--= {"life":1,"value":3,"shards":[{"id":"59b82720-99b0-4033-885c-e94d62106a35","clock":1528799884268000,"value":3}]}
SELECT counter_from_cassandra(x'0000'), counter_from_cassandra(NULL), counter_from_cassandra(NULL, x'0000');
--= NULL|NULL|NULL
SELECT hex(counter_to_cassandra(counter_from_cassandra(x'0001800059b8272099b04033885ce94d62106a3500056e6f7608d1e00000000000000003')));
--= 0001800059B8272099B04033885CE94D62106A3500056E6F7608D1E00000000000000003

-- # a-header-as-long-as-a-shard-is-no-shard
SELECT count(*), sum(value) FROM counter_shards(counter_from_cassandra(CAST(x'000f8000800180028003800480058006800780088009800a800b800c800d800e' ||
  (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 15)
   SELECT group_concat(CAST(zeroblob(15) || char(i) || zeroblob(7) || x'01' || zeroblob(7) || char(i) AS TEXT), '') FROM n) AS BLOB)));
--= 15|120

-- # versions-of-a-counter-are-merged-by-the-kinds-of-their-shards
-- remote {1:(1,1),2:(2,2),4:(6,3)} + local 9:(7,3) with remote {4:(4,4),5:(5,5)} + local 9:(2,9)
SELECT group_concat(substr(id, 36) || ':' || clock || ',' || value, ' ') FROM counter_shards(counter_from_cassandra(
  x'000100030000000000000000000000000000000100000000000000010000000000000001000000000000000000000000000000020000000000000002000000000000000200000000000000000000000000000004000000000000000600000000000000030000000000000000000000000000000900000000000000070000000000000003',
  x'00010002000000000000000000000000000000040000000000000004000000000000000400000000000000000000000000000005000000000000000500000000000000050000000000000000000000000000000900000000000000020000000000000009'));
--= 1:1,1 2:2,2 4:6,3 5:5,5 9:9,12
-- global {1:(1,1),2:(1,1)} with local 1:(100,100), remote 2:(100,100)
SELECT counter_value(counter_from_cassandra(
  x'00028000800100000000000000000000000000000001000000000000000100000000000000010000000000000000000000000000000200000000000000010000000000000001',
  x'0001000000000000000000000000000000000001000000000000006400000000000000640000000000000000000000000000000200000000000000640000000000000064'));
--= 2

-- # what-is-malformed-is-an-error-that-says-what
SELECT counter_from_cassandra();
--! counter_from_cassandra: one context is needed at least
SELECT counter_from_cassandra(x'');
--! counter_from_cassandra: context 1 is shorter than its header says
SELECT counter_from_cassandra(x'0000', x'00028000');
--! counter_from_cassandra: context 2 is shorter than its header says
SELECT counter_from_cassandra(x'ffff');
--!~ counter_from_cassandra: context 1 has a negative number of header elements: *
SELECT counter_from_cassandra(x'00018000');
--! counter_from_cassandra: context 1 has a header element for a shard that it does not have
SELECT counter_from_cassandra(x'00018001000000000000000000000000000000010000000000000001000000000000000A');
--! counter_from_cassandra: context 1 has a header element for a shard that it does not have
SELECT counter_from_cassandra(x'000280008000000000000000000000000000000000010000000000000001000000000000000A');
--! counter_from_cassandra: context 1 has header elements that do not ascend
SELECT counter_from_cassandra(x'00018000000000000000000000000000000000010000000000000000000000000000000A');
--! counter_from_cassandra: context 1 has a clock that is below 1
SELECT counter_from_cassandra(x'0000000000000000000000000000000000020000000000000001000000000000000A000000000000000000000000000000010000000000000001000000000000000A');
--! counter_from_cassandra: context 1 has ids that do not ascend
SELECT counter_from_cassandra(x'000100000000000000000000000000000000000100000000000000017FFFFFFFFFFFFFFF', x'000100000000000000000000000000000000000100000000000000010000000000000001');
--! counter_from_cassandra: context 2 has local shards whose sum is an integer overflow
SELECT counter_from_cassandra('0000');
--! counter_from_cassandra: a context must be a BLOB, not TEXT '0000'
SELECT counter_to_cassandra(counter_delete(NULL));
--! counter_to_cassandra: a deleted cell has no context, Cassandra keeps tombstones apart
SELECT counter_to_cassandra(x'00');
--!~ counter_to_cassandra: *is no counter cell*
SELECT counter_to_cassandra(NULL), hex(counter_to_cassandra(counter_reset(NULL)));
--= NULL|0000

-- # a-context-has-32767-shards-at-most
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
SELECT counter_to_cassandra(counter_collect(printf('00000000-0000-0000-0000-%012d', i), 1, 1)) FROM n;
--! counter_to_cassandra: the cell has 40000 shards, a context can have 32767

-- # the-order-of-the-contexts-makes-no-difference
SELECT hex(counter_from_cassandra(x'0001000000000000000000000000000000000001000000000000006400000000000000640000000000000000000000000000000200000000000000640000000000000064',
  x'00028000800100000000000000000000000000000001000000000000000100000000000000010000000000000000000000000000000200000000000000010000000000000001')) =
  hex(counter_from_cassandra(x'00028000800100000000000000000000000000000001000000000000000100000000000000010000000000000000000000000000000200000000000000010000000000000001',
  x'0001000000000000000000000000000000000001000000000000006400000000000000640000000000000000000000000000000200000000000000640000000000000064'));
--= 1
SELECT counter_json(counter_from_cassandra(x'00018000000000000000000000000000000000010000000000000002000000000000000A', x'00018000000000000000000000000000000000010000000000000003000000000000000B'));
--= {"life":1,"value":11,"shards":[{"id":"00000000-0000-0000-0000-000000000001","clock":3,"value":11}]}
SELECT counter_json(counter_from_cassandra(x'00018000000000000000000000000000000000010000000000000003000000000000000B', x'00018000000000000000000000000000000000010000000000000002000000000000000A'));
--= {"life":1,"value":11,"shards":[{"id":"00000000-0000-0000-0000-000000000001","clock":3,"value":11}]}
SELECT counter_json(counter_from_cassandra(x'0001000000000000000000000000000000000001000000000000000100000000000000640000000000000000000000000000000200000000000000640000000000000064', x'00010000000000000000000000000000000000017FFFFFFFFFFFFFFF0000000000000001'));
--! counter_from_cassandra: context 2 has local shards whose sum is an integer overflow
SELECT counter_json(counter_from_cassandra(x'000100000000000000000000000000000000000100000000000000017FFFFFFFFFFFFFFF', x'000100000000000000000000000000000000000100000000000000010000000000000001'));
--! counter_from_cassandra: context 2 has local shards whose sum is an integer overflow
