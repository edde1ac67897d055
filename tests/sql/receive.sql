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

-- # shards-of-an-id-that-is-bound-to-another-token-are-skipped-and-marks-stay-until-that-has-brought-them
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till'), ('bb', 'phone');
INSERT INTO counter_http_ids VALUES('00000000-0000-0000-0000-00000000000a', 'aa');
CREATE TEMP TABLE body AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('a')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"m","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":3}]}},{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":7},{"id":"00000000-0000-0000-0000-00000000000b","clock":1,"value":20}]}}]}'))))) AS line;
SELECT counter_receive('bb', line) FROM body;
--= {"changes":1,"skipped":2,"marks":{"00000000-0000-0000-0000-00000000000b":0},"warnings":["2 counts of devices that have tokens of their own did not come from these for a day: not taken, and to be sent again until they do. If such a device is gone, whoever runs the server gives its ids to the token of phone by remove_token('00000000-0000-0000-0000-00000000000a', to=...); if it was restored, let it sync once by path with the file that sends its counts"]}
SELECT * FROM v;
--= a|20|0
SELECT counter_receive('bb', replace(line, '"source":"00000000-0000-0000-0000-00000000000b"', '"source":"00000000-0000-0000-0000-00000000000a"')) FROM body;
--= {"changes":1,"skipped":2,"marks":{"00000000-0000-0000-0000-00000000000a":0},"warnings":["it skips what this file has counted, for the id of the file is bound to another token: whoever runs the server moves it to that of phone by remove_token('00000000-0000-0000-0000-00000000000a', to=...); then everything is uploaded once more"]}
SELECT counter_receive('aa', replace(line, '"source":"00000000-0000-0000-0000-00000000000b"', '"source":"00000000-0000-0000-0000-00000000000a"')) FROM body;
--= {"changes":1,"skipped":1,"marks":{"00000000-0000-0000-0000-00000000000a":9},"warnings":[]}
SELECT * FROM v;
--= a|27|3
SELECT counter_receive('bb', line) FROM body;
--= {"changes":1,"skipped":2,"marks":{"00000000-0000-0000-0000-00000000000b":9},"warnings":[]}

-- # a-change-of-nothing-but-shards-of-others-is-not-merged
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('bb', 'phone');
INSERT INTO counter_http_ids VALUES('00000000-0000-0000-0000-00000000000a', 'aa');
SELECT counter_receive('bb', json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('a')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":7}]}}]}'))))));
--= {"changes":0,"skipped":1,"marks":{"00000000-0000-0000-0000-00000000000b":0},"warnings":["1 count of devices that have tokens of their own did not come from these for a day: not taken, and to be sent again until they do. If such a device is gone, whoever runs the server gives its ids to the token of phone by remove_token('00000000-0000-0000-0000-00000000000a', to=...); if it was restored, let it sync once by path with the file that sends its counts"]}
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
--= {"changes":1,"skipped":1,"marks":{"00000000-0000-0000-0000-00000000000b":0},"warnings":["1 count of devices that have tokens of their own did not come from these for a day: not taken, and to be sent again until they do. If such a device is gone, whoever runs the server gives its ids to the token of phone by remove_token('00000000-0000-0000-0000-00000000000a', to=...); if it was restored, let it sync once by path with the file that sends its counts"]}
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

-- # a-token-whose-device-is-null-is-that-of-no-device
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', NULL);
SELECT counter_receive('aa', '');
--! counter_receive: no device has a token with this digest

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
SELECT json_extract(counter_take(lines), '$.changes', '$.skipped') FROM body;
--= [0,0]

-- ## what the file itself has counted

-- # a-device-does-not-set-what-the-file-itself-has-counted
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till');
INSERT INTO v VALUES('x', 1000);
CREATE TEMP TABLE was AS SELECT counter_id() AS id;
CREATE TEMP TABLE sent AS SELECT counter_collect(id, clock, value) AS cell FROM (SELECT id, 99 AS clock, 0 AS value FROM was UNION ALL SELECT '0a000000-0000-0000-0000-000000000000', 1, 7);
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', '0a000000-0000-0000-0000-000000000000', 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(cell) || '}]}')))))), '$.changes') FROM sent;
--= 1
SELECT * FROM v;
--= x|1007
SELECT "table", "key", "column", c.id = was.id, clock, value, their_clock, their_value, why FROM counter_conflicts AS c, was;
--= v|('x')|n|1|1|1000|99|0|device till
SELECT state, why FROM counter_identity();
--= current|conflict
--= former|created
SELECT count FROM counter_stats WHERE figure = 'shards refused';
--= 1

-- # its-former-ids-are-its-own-too-and-no-other-one-is-taken
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till');
INSERT INTO v VALUES('x', 1000);
CREATE TEMP TABLE was AS SELECT counter_id() AS id;
SELECT length(counter_fork());
--= 36
INSERT INTO v VALUES('x', 1);
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', id, 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, 99, 0)) || '}]}')))))), '$.changes') FROM was;
--= 1
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', id, 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, 99, 0)) || '}]}')))))), '$.changes') FROM was;
--= 1
SELECT * FROM v;
--= x|1001
SELECT value, their_clock, why FROM counter_conflicts;
--= 1000|99|device till
SELECT state, why FROM counter_identity();
--= current|fork
--= former|created
SELECT count FROM counter_stats WHERE figure = 'shards refused';
--= 2

-- # own-shards-that-are-not-ahead-come-with-the-counts-of-a-device-and-say-nothing
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till');
INSERT INTO v VALUES('x', 1);
CREATE TEMP TABLE sent AS SELECT counter_inc(cell, 7, x'0a000000000000000000000000000000') AS cell FROM counter_cells('v');
INSERT INTO v VALUES('x', 2);
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', '0a000000-0000-0000-0000-000000000000', 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(cell) || '}]}')))))), '$.changes') FROM sent;
--= 1
SELECT * FROM v;
--= x|10
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', '0a000000-0000-0000-0000-000000000000', 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(cell) || '}]}')))))), '$.changes') FROM counter_cells('v');
--= 1
SELECT * FROM v;
--= x|10
SELECT count(*), (SELECT count FROM counter_stats WHERE figure = 'shards refused') FROM counter_identity();
--= 1|0
SELECT count(*) FROM counter_conflicts;
--= 0

-- # one-clock-with-another-value-under-an-own-id-is-refused-higher-and-lower
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till');
INSERT INTO v VALUES('x', 10);
CREATE TEMP TABLE was AS SELECT counter_id() AS id;
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', id, 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, 1, 11)) || '}]}')))))), '$.changes') FROM was;
--= 1
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', id, 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, 1, 9)) || '}]}')))))), '$.changes') FROM was;
--= 1
SELECT * FROM v;
--= x|10
SELECT value, their_value, why FROM counter_conflicts ORDER BY 2;
--= 10|9|device till
--= 10|11|device till

-- # a-device-may-begin-another-life-and-brings-nothing-of-the-file-itself-in-it
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till');
INSERT INTO v VALUES('x', 10);
CREATE TEMP TABLE was AS SELECT counter_id() AS id;
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', '0a000000-0000-0000-0000-000000000000', 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, clock, value, 3)) || '}]}')))))), '$.changes') FROM (SELECT id, 1 AS clock, 500 AS value FROM was UNION ALL SELECT '0a000000-0000-0000-0000-000000000000', 1, 7);
--= 1
SELECT * FROM v;
--= x|7
SELECT clock, their_clock, their_value, why FROM counter_conflicts;
--= NULL|1|500|device till

-- # who-runs-the-file-merges-what-was-refused
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till');
INSERT INTO v VALUES('x', 10);
CREATE TEMP TABLE was AS SELECT counter_id() AS id;
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', id, 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, 5, 50)) || '}]}')))))), '$.changes') FROM was;
--= 1
SELECT * FROM v;
--= x|10
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'v', counter_key('x'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, 5, 50)) || '}]}'), 1, id FROM was;
SELECT * FROM v;
--= x|50
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', id, 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, 5, 50)) || '}]}')))))), '$.changes') FROM was;
--= 1
SELECT count FROM counter_stats WHERE figure = 'shards refused';
--= 1

-- # a-replicated-row-that-was-not-here-brings-nothing-of-the-file-itself
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_replicate('t', 'n');
--= 0
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till');
INSERT INTO t VALUES('x', 10);
CREATE TEMP TABLE was AS SELECT counter_id() AS id;
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', '0a000000-0000-0000-0000-000000000000', 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 't', 'packed', hex(counter_key('new')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":1,"id":"0a000000-0000-0000-0000-000000000000"}},"columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, 5, 50)) || '}]}')))))), '$.changes') FROM was;
--= 1
UPDATE t SET n = 1 WHERE k = 'new';
SELECT * FROM t ORDER BY k;
--= new|1
--= x|10
SELECT their_value, why FROM counter_conflicts;
--= 50|device till

-- # a-device-may-begin-another-life-of-a-row-and-brings-nothing-of-the-file-itself-in-it
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_replicate('t', 'n');
--= 0
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till');
INSERT INTO t VALUES('x', 10);
CREATE TEMP TABLE was AS SELECT counter_id() AS id;
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', '0a000000-0000-0000-0000-000000000000', 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 't', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","row":{"life":3,"stamp":{"number":1,"id":"0a000000-0000-0000-0000-000000000000"}},"columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(cell) || '}]}')))))), '$.changes') FROM (SELECT counter_collect(id, clock, value) AS cell FROM (SELECT id, 1 AS clock, 500 AS value FROM was UNION ALL SELECT '0a000000-0000-0000-0000-000000000000', 1, 7));
--= 1
SELECT * FROM t;
--= x|7
UPDATE t SET n = n + 1;
SELECT n FROM t;
--= 8
SELECT clock, their_clock, their_value, why FROM counter_conflicts;
--= NULL|1|500|device till

-- # a-device-does-not-change-the-values-that-a-table-held-when-tracking-began
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till');
INSERT INTO t VALUES('x', 1000);
SELECT counter_track('t', 'n');
--= 1
CREATE TEMP TABLE opening AS SELECT s.id FROM counter_cells('t_counters') AS c, counter_shards(c.cell) AS s;
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', '0a000000-0000-0000-0000-000000000000', 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 't', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, 2, 0)) || '}]}')))))), '$.changes') FROM opening;
--= 1
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', '0a000000-0000-0000-0000-000000000000', 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 't', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, 1, 1001)) || '}]}')))))), '$.changes') FROM opening;
--= 1
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', '0a000000-0000-0000-0000-000000000000', 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 't', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, 3, 7)) || '}]}')))))), '$.changes') FROM opening;
--= 1
SELECT * FROM t;
--= x|1000
SELECT value, their_clock, their_value, why FROM counter_conflicts ORDER BY 2;
--= 1000|1|1001|device till
--= 1000|2|0|device till
--= 1000|3|7|device till
SELECT count(*), (SELECT count FROM counter_stats WHERE figure = 'shards refused') FROM counter_identity();
--= 1|3

-- # an-opening-makes-way-for-a-greater-one-that-a-device-brings
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO counter_http_tokens VALUES('aa', 'till');
INSERT INTO t VALUES('x', 1000);
SELECT counter_track('t', 'n');
--= 1
CREATE TEMP TABLE opening AS SELECT s.id FROM counter_cells('t_counters') AS c, counter_shards(c.cell) AS s;
SELECT json_extract(counter_receive('aa', json_object('format', 1, 'source', '0a000000-0000-0000-0000-000000000000', 'since', 0, 'upto', 0, 'changes', json_array(json_object('table', 't', 'packed', hex(counter_key('x')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_collect(id, clock, value)) || '}]}')))))), '$.changes') FROM (SELECT id, 2 AS clock, 0 AS value FROM opening UNION ALL SELECT '0a000000-0000-8000-8000-000000000000', 1, 1002);
--= 1
SELECT * FROM t;
--= x|1002
SELECT count FROM counter_stats WHERE figure = 'shards refused';
--= 0
