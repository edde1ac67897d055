-- What comes with a token: counter_receive.

-- # what-a-token-brings-is-merged-and-its-first-line-binds-it-to-the-id-of-the-source
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till'), ('bb', 'phone');
CREATE TEMP TABLE body(id, line);
CREATE TEMP TRIGGER made AFTER INSERT ON body BEGIN
  UPDATE body SET line = json_object('format', 1, 'source', NEW.id || ' own', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('a')), 'seq', 1, 'change',
    hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":7},{"id":"00000000-0000-0000-0000-00000000000b","clock":1,"value":20}]}}]}'))))) WHERE id = NEW.id; END;
INSERT INTO body(id) VALUES('00000000-0000-0000-0000-00000000000A'), ('00000000-0000-0000-0000-00000000000b');
SELECT counter_receive('aa', line) FROM body WHERE id LIKE '%A';
--= {"changes":1,"skipped":0,"marks":{"00000000-0000-0000-0000-00000000000A own":9},"warnings":[]}
SELECT * FROM v;
--= a|27
SELECT * FROM counter_http_ids;
--= 00000000-0000-0000-0000-00000000000a|aa
SELECT * FROM counter_http_sources;
--= aa|00000000-0000-0000-0000-00000000000A own

-- # shards-of-an-id-that-is-bound-to-another-token-are-skipped-and-the-mark-of-its-source-stays
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till'), ('bb', 'phone');
INSERT INTO counter_http_ids VALUES('00000000-0000-0000-0000-00000000000a', 'aa');
CREATE TEMP TABLE body AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('a')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"m","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":3}]}},{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":7},{"id":"00000000-0000-0000-0000-00000000000b","clock":1,"value":20}]}}]}'))))) AS line;
SELECT counter_receive('bb', line) FROM body;
--= {"changes":1,"skipped":2,"marks":{"00000000-0000-0000-0000-00000000000b":9},"warnings":[]}
SELECT * FROM v;
--= a|20|0
SELECT counter_receive('bb', replace(line, '"source":"00000000-0000-0000-0000-00000000000b"', '"source":"00000000-0000-0000-0000-00000000000a"')) FROM body;
--= {"changes":1,"skipped":2,"marks":{"00000000-0000-0000-0000-00000000000a":0},"warnings":[]}
SELECT counter_receive('aa', replace(line, '"source":"00000000-0000-0000-0000-00000000000b"', '"source":"00000000-0000-0000-0000-00000000000a"')) FROM body;
--= {"changes":1,"skipped":1,"marks":{"00000000-0000-0000-0000-00000000000a":9},"warnings":[]}
SELECT * FROM v;
--= a|27|3

-- # a-change-of-nothing-but-shards-of-others-is-not-merged
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
INSERT INTO counter_http_ids VALUES('00000000-0000-0000-0000-00000000000a', 'aa');
SELECT counter_receive('bb', json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('a')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":7}]}}]}'))))));
--= {"changes":0,"skipped":1,"marks":{"00000000-0000-0000-0000-00000000000b":9},"warnings":[]}
SELECT count(*) FROM v;
--= 0

-- # a-row-of-a-replicated-table-comes-without-the-shards-of-others
CREATE TABLE p(k TEXT PRIMARY KEY, t TEXT, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('p', 'n');
--= 0
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
INSERT INTO counter_http_ids VALUES('00000000-0000-0000-0000-00000000000a', 'aa');
SELECT counter_receive('bb', json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'p', 'packed', hex(counter_key('a')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":5,"id":"00000000-0000-0000-0000-00000000000b"}},"columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":7}]}},{"name":"t","kind":"regular","generation":0,"stamp":{"number":5,"id":"00000000-0000-0000-0000-00000000000b"},"value":"tea"}]}'))))));
--= {"changes":1,"skipped":1,"marks":{"00000000-0000-0000-0000-00000000000b":9},"warnings":[]}
SELECT * FROM p;
--= a|tea|0

-- # a-count-under-an-id-of-the-file-itself-is-not-taken-and-comes-again
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
CREATE TEMP TABLE body AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 5, 'upto', 5, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('a')), 'seq', 5, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"' || counter_id() || '","clock":9223372036854,"value":70},{"id":"00000000-0000-0000-0000-00000000000b","clock":1,"value":20}]}}]}'))))) AS line;
SELECT json_extract(counter_receive('bb', replace(line, ':5,"upto":5', ':0,"upto":5')), '$.warnings[0]') FROM body;
--~ the device phone sent 1 count under an id of the served file itself*
SELECT * FROM v;
--= a|21
SELECT count(*) FROM counter_conflicts;
--= 1
SELECT counter_mark('00000000-0000-0000-0000-00000000000b');
--= 0

-- # lines-that-share-a-number-with-one-of-which-something-was-refused-raise-no-mark
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
CREATE TEMP TABLE body AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('a')), 'seq', 5, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"' || counter_id() || '","clock":9223372036854,"value":70}]}}]}'))))) AS line;
SELECT json_extract(counter_receive('bb', line || char(10) || '{"format":1,"source":"00000000-0000-0000-0000-00000000000b","since":0,"upto":9,"changes":[]}'), '$.marks') FROM body;
--= {"00000000-0000-0000-0000-00000000000b":0}
SELECT counter_receive('bb', '{"format":1,"source":"00000000-0000-0000-0000-00000000000b","since":0,"upto":9,"changes":[]}');
--= {"changes":0,"skipped":0,"marks":{"00000000-0000-0000-0000-00000000000b":9},"warnings":[]}

-- # nobody-is-bound-to-the-id-of-the-served-file
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
SELECT json_extract(counter_receive('bb', json_object('format', 1, 'source', counter_id(), 'since', 0, 'upto', 9, 'changes', json_array())), '$.changes');
--= 0
SELECT count(*) FROM counter_http_ids;
--= 0

-- # lines-of-another-source-than-the-given-one-are-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_take('{"format":1,"source":"00000000-0000-0000-0000-00000000000b","since":0,"upto":9,"changes":[]}', NULL, '00000000-0000-0000-0000-00000000000b');
--= {"changes":0,"skipped":0,"marks":{"00000000-0000-0000-0000-00000000000b":9},"warnings":[]}
SELECT counter_take('{"format":1,"source":"00000000-0000-0000-0000-00000000000b","since":9,"upto":10,"changes":[]}', NULL, '00000000-0000-0000-0000-00000000000a');
--! counter_take: it has changes of '00000000-0000-0000-0000-00000000000b', not of '00000000-0000-0000-0000-00000000000a'
SELECT counter_take('', NULL, 5);
--! counter_take: the source must be TEXT, not INTEGER 5

-- # what-comes-with-no-token-or-with-too-much-is-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_receive('bb', '');
--! counter_receive: no device has a token with this digest
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
SELECT counter_receive('aa', '');
--! counter_receive: no device has a token with this digest
SELECT counter_receive(NULL, '');
--! counter_receive: the digest of the token must be TEXT, not NULL
SELECT counter_receive('bb', NULL);
--! counter_receive: the lines must be TEXT or a BLOB, lines of JSON, not NULL
SELECT counter_receive('bb', replace(hex(zeroblob(20001)), '0', char(10)));
--! counter_receive: there are 40002 lines, and 40000 are the limit: send them in several parts
SELECT counter_receive('bb', '{}');
--! counter_receive: the member format must be a whole number, 1 or more, not missing
SELECT counter_receive('bb', '');
--= {"changes":0,"skipped":0,"marks":{},"warnings":[]}
CREATE TEMP TABLE body AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1001)
SELECT group_concat(printf('{"format":1,"source":"00000000-0000-0000-0000-%012d","since":0,"upto":9,"changes":[]}', n), char(10)) AS lines FROM c;
SELECT counter_receive('bb', lines) FROM body;
--! counter_receive: line 1001: there are more than 1000 sources, the limit: send them in several parts
SELECT count(*) FROM counter_http_ids;
--= 0
SELECT count(*) FROM sqlite_master WHERE name = 'counter_http_sources';
--= 0
SELECT counter_receive('bb', '', '00000000-0000-0000-0000-00000000000b own');
--= {"changes":0,"skipped":0,"marks":{"00000000-0000-0000-0000-00000000000b own":0},"warnings":[]}
SELECT counter_receive('bb', '{"format":1,"source":"00000000-0000-0000-0000-00000000000c","since":0,"upto":10,"changes":[]}', '00000000-0000-0000-0000-00000000000c own');
--= {"changes":0,"skipped":0,"marks":{"00000000-0000-0000-0000-00000000000c":10,"00000000-0000-0000-0000-00000000000c own":10},"warnings":[]}
SELECT counter_receive('bb', '', 'x');
--! counter_receive: by must be the name of a file, not 'x'
SELECT counter_receive('cc', '', '00000000-0000-0000-0000-00000000000b own');
--! counter_receive: no device has a token with this digest
SELECT counter_receive('bb', '', 7);
--! counter_receive: by must be TEXT, not INTEGER 7
INSERT INTO counter_http_sources WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 9999) SELECT 'bb', 'source ' || n FROM c;
SELECT counter_receive('bb', '{"format":1,"source":"00000000-0000-0000-0000-00000000000b","since":9,"upto":10,"changes":[]}');
--! counter_receive: the token has brought changes of 10000 sources, the limit, and '00000000-0000-0000-0000-00000000000b' is one more

-- # no-token-is-bound-to-an-id-that-the-served-file-has-had
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
CREATE TEMP TABLE former AS SELECT counter_id() AS id;
SELECT counter_fork() <> id FROM former;
--= 1
INSERT INTO v VALUES('a', 1);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
SELECT json_extract(counter_receive('bb', json_object('format', 1, 'source', id, 'since', 0, 'upto', 9, 'changes', json_array())), '$.changes') FROM former;
--= 0
SELECT count(*) FROM counter_http_ids;
--= 0

-- # lines-of-one-source-in-any-order-are-lines-of-one-source
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TEMP TABLE body AS WITH RECURSIVE c(n) AS (SELECT 1100 UNION ALL SELECT n - 1 FROM c WHERE n > 0)
SELECT group_concat(printf('{"format":1,"source":"00000000-0000-0000-0000-00000000000b","since":%d,"upto":%d,"changes":[]}', n, n + 1), char(10)) AS lines FROM c;
SELECT counter_take(lines) FROM body;
--= {"changes":0,"skipped":0,"marks":{"00000000-0000-0000-0000-00000000000b":1},"warnings":[]}
