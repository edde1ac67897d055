-- Changes as lines of JSON: counter_lines, counter_take.

-- # a-line-has-its-source-its-numbers-and-each-row-as-one-change
CREATE TABLE p(k TEXT PRIMARY KEY, t TEXT, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('p', 'n');
--= 0
INSERT INTO p VALUES('a', 'tea', 3), ('b', 'jäm "x"', 5);
DELETE FROM p WHERE k = 'a';
SELECT json_extract(line, '$.format'), json_extract(line, '$.source') = counter_id(), since, upto = counter_changes_end(), changes, json_array_length(line, '$.changes') FROM counter_lines(0);
--= 1|1|0|1|2|2
SELECT json_extract(value, '$.table'), json_extract(value, '$.key_columns'), json_extract(value, '$.key') FROM counter_lines(0), json_each(line, '$.changes') ORDER BY 3;
--= p|k TEXT BINARY|["a"]
--= p|k TEXT BINARY|["b"]
SELECT counter_take(line) = json_object('changes', 2, 'skipped', 0, 'marks', json_object(counter_id(), counter_changes_end()), 'warnings', json_array()) FROM counter_lines(0);
--= 1
SELECT * FROM p;
--= b|jäm "x"|5

-- # lines-are-merged-all-or-none-and-the-answer-tells-how-far
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TEMP TABLE body AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000a', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('a')), 'seq', 1, 'colour', 'blue', 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":7}]}}]}'))))) AS line;
SELECT counter_take(line) FROM body;
--= {"changes":1,"skipped":0,"marks":{"00000000-0000-0000-0000-00000000000a":9},"warnings":[]}
SELECT counter_take(line || char(10) || line || char(13, 10)) FROM body;
--= {"changes":2,"skipped":0,"marks":{"00000000-0000-0000-0000-00000000000a":9},"warnings":[]}
SELECT * FROM v;
--= a|7
SELECT counter_take(replace(line, 'clock":1', 'clock":2') || char(10) || 'x') FROM body;
--! counter_take: line 2: it has a word that JSON does not have
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 9
SELECT counter_take(replace(line, '"since":0,"upto":9', '"since":12,"upto":20')) FROM body;
--= {"changes":1,"skipped":0,"marks":{"00000000-0000-0000-0000-00000000000a":9},"warnings":[]}
SELECT counter_take('');
--= {"changes":0,"skipped":0,"marks":{},"warnings":[]}
BEGIN;
SELECT counter_take(replace(line, '"upto":9', '"upto":15')) FROM body;
--= {"changes":1,"skipped":0,"marks":{"00000000-0000-0000-0000-00000000000a":15},"warnings":[]}
ROLLBACK;
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 9

-- # lines-may-be-a-blob-of-utf-8
--@ not-utf-16
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('jäm', 5);
SELECT json_extract(counter_take(CAST(line AS BLOB)), '$.changes') FROM counter_lines(0);
--= 1

-- # a-line-of-a-scope-brings-the-rows-of-the-scope
CREATE VIRTUAL TABLE v USING counter(store TEXT, sku TEXT, n COUNTER, PRIMARY KEY(store, sku));
INSERT INTO v VALUES('s7', 'tea', 1), ('s8', 'tea', 2), ('s7', 'jam', 4);
SELECT substr(json_extract(line, '$.source'), 37), changes FROM counter_lines(0, 0, '["s7"]');
--=  ["s7"]|2
SELECT substr(json_extract(line, '$.source'), 37), changes FROM counter_lines(0, 1);
--=  own|3
SELECT changes FROM counter_lines(counter_changes_end());
--
SELECT changes FROM counter_lines(counter_changes_end() + 1);
--= 3

-- # what-is-no-line-is-refused-by-a-sentence
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_take(5);
--! counter_take: the lines must be TEXT or a BLOB, lines of JSON, not INTEGER 5
SELECT counter_take('[]');
--! counter_take: it must be an object of JSON
SELECT counter_take('{"format":1,"source":"a","source":"b"}');
--! counter_take: the member source is there twice
SELECT counter_take('{"format":2}');
--! counter_take: it has the format 2, and this version reads 1: install a newer sqlite-counter
SELECT counter_take('{"format":0}');
--! counter_take: the member format must be a whole number, 1 or more, not 0
SELECT counter_take('{}');
--! counter_take: the member format must be a whole number, 1 or more, not missing
SELECT counter_take('{"format":1,"source":5}');
--! counter_take: the member source must be a text, not 5
SELECT counter_take('{"format":1,"source":"x","since":0,"upto":1,"changes":[]}');
--! counter_take: the source 'x' is not the name of a file
SELECT counter_take('{"format":1,"source":"00000000-0000-0000-0000-00000000000a","since":-1,"upto":1,"changes":[]}');
--! counter_take: the member since must be a whole number, 0 or more, not -1
SELECT counter_take('{"format":1,"source":"00000000-0000-0000-0000-00000000000a","since":5,"upto":1,"changes":[]}');
--! counter_take: the member upto must be a whole number, 5 or more, not 1
SELECT counter_take('{"format":1,"source":"00000000-0000-0000-0000-00000000000a","since":0,"upto":1,"changes":{}}');
--! counter_take: the member changes must be an array
SELECT counter_take('{"format":1,"source":"00000000-0000-0000-0000-00000000000a","since":0,"upto":1,"changes":[5]}');
--! counter_take: change 1: it must be an object
SELECT counter_take('{"format":1,"source":"00000000-0000-0000-0000-00000000000a","since":0,"upto":1,"changes":[{"table":"v","packed":"d1030161","change":"0x","seq":1}]}');
--! counter_take: change 1: the member change must be a text of hexadecimal digits, not "0x"
SELECT counter_take('{"format":1,"source":"00000000-0000-0000-0000-00000000000a","since":0,"upto":1,"changes":[{"table":"w","packed":"d1030161","change":"010000","seq":1}]}');
--! counter_take: change 1: table w: no counter table was created with this name here: CREATE it as at the source; if it is a tracked one there, CREATE the ordinary table, and call counter_track
SELECT * FROM counter_lines;
--! counter_lines: one argument is needed, the number to begin at: 0, or that of counter_mark()
SELECT * FROM counter_lines(-1);
--! counter_lines: since must be an INTEGER, 0 or more, not INTEGER -1
SELECT * FROM counter_lines(0, 2);
--! counter_lines: own must be 0 or 1, not INTEGER 2

-- # lines-that-are-refused-in-a-transaction-leave-nothing-of-them
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TEMP TABLE body AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000a', 'since', 0, 'upto', 9, 'changes', json_array(json_object('table', 'v', 'packed', hex(counter_key('a')), 'seq', 1, 'change',
  hex(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":7}]}}]}'))))) AS line;
BEGIN;
INSERT INTO v VALUES('b', 1);
SELECT counter_take(line || char(10) || replace(line, '"table":"v"', '"table":"w"')) FROM body;
--! counter_take: line 2: change 1: table w: no counter table was created with this name here: CREATE it as at the source; if it is a tracked one there, CREATE the ordinary table, and call counter_track
INSERT INTO v VALUES('b', 1);
COMMIT;
SELECT * FROM v;
--= b|2
SELECT counter_mark('00000000-0000-0000-0000-00000000000a');
--= 0
CREATE TEMP TABLE answers(a);
INSERT INTO answers SELECT counter_take(line) FROM body;
--! counter_take: it cannot run inside a statement that writes
SELECT counter_take(line) FROM body;
--= {"changes":1,"skipped":0,"marks":{"00000000-0000-0000-0000-00000000000a":9},"warnings":[]}
SELECT * FROM v ORDER BY k;
--= a|7
--= b|2

-- # lines-have-of-a-row-only-the-parts-that-have-changed
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE TEMP TABLE shards AS SELECT counter_collect('7529cd67-394b-3247-8020-f2a7272fc8d' || value, 1, 1) AS many FROM (SELECT 1 AS value UNION SELECT 2 UNION SELECT 3);
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'v', counter_key('a'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(many) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a' FROM shards;
CREATE TEMP TABLE mark AS SELECT counter_changes_end() AS mark;
INSERT INTO v(k, n) VALUES('a', 5);
SELECT length(json_extract(line, '$.changes[0].change')) FROM mark, counter_lines(mark);
--= 56
SELECT c.value, (SELECT count(*) FROM counter_shards(c.cell)) FROM mark, counter_changes(mark) AS f, counter_change(f.change) AS c;
--= 8|4
SELECT c.value, (SELECT count(*) FROM counter_shards(c.cell)) FROM mark, counter_changes(mark) AS f, counter_change(f.change) AS c WHERE partial = 1;
--= 5|1

-- # what-the-arguments-about-an-echo-must-be
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
SELECT * FROM counter_lines(0, 0, NULL, 'phone', 3);
--! counter_lines: of must be TEXT from counter_changes, the UUID of a file, not TEXT 'phone'
SELECT * FROM counter_lines(0, 0, NULL, counter_source(1), -3);
--! counter_lines: mine must be an INTEGER, 0 or more, not INTEGER -3
