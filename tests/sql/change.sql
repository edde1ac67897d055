-- A change: counter_change, counter_change_json, counter_change_of.

-- # what-json-tells-is-the-change-and-the-change-is-what-json-tells
CREATE TEMP TABLE told(json TEXT);
INSERT INTO told VALUES
  ('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"value":5,"shards":[{"id":"7529cd67-394b-3247-8020-f2a7272fc8d9","clock":2,"value":5}]}}]}'),
  ('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":3,"cell":{"life":4}}]}'),
  ('{"tells":"row","row":{"life":2},"columns":[]}'),
  ('{"tells":"row","row":{"life":3,"stamp":{"number":7,"id":"7529cd67-394b-3247-8020-f2a7272fc8d9"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":null},{"name":"b","kind":"regular","generation":0,"stamp":{"number":7,"id":"7529cd67-394b-3247-8020-f2a7272fc8d9"},"value":null},{"name":"c","kind":"regular","generation":4,"stamp":{"number":9,"id":"7529cd67-394b-3247-8020-f2a7272fc8d9"},"value":1.5},{"name":"d","kind":"regular","generation":0,"stamp":{"number":9,"id":"7529cd67-394b-3247-8020-f2a7272fc8d9"},"value":{"hex":"00ff"}},{"name":"é","kind":"regular","generation":0,"stamp":{"number":7,"id":"7529cd67-394b-3247-8020-f2a7272fc8d9"},"value":"jam"}]}'),
  ('{"tells":"floors"}'),
  ('{"tells":"column","name":"n","kind":"counter","generation":4294967295}'),
  ('{"tells":"answer","answer":"01000102030405060708090a0b0c0d0e0f10000102030405060708090a0b0c0d0e0f10"}');
SELECT count(*), min(json = counter_change_json(counter_change_of(json))) FROM told WHERE json NOT LIKE '%answer%';
--= 6|1
SELECT counter_change_of(NULL), counter_change_json(NULL);
--= NULL|NULL
SELECT count(*) FROM counter_change(NULL);
--= 0

-- # the-parts-of-a-change-are-rows
SELECT column_name, kind, generation, life, value, stamp, writer, length(cell) FROM counter_change(counter_change_of('{"tells":"row","row":{"life":3,"stamp":{"number":7,"id":"7529cd67-394b-3247-8020-f2a7272fc8d9"}},"columns":[{"name":"title","kind":"regular","generation":0,"stamp":{"number":9,"id":"00000000-0000-0000-0000-00000000000a"},"value":"j\u00e4m"},{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"7529cd67-394b-3247-8020-f2a7272fc8d9","clock":2,"value":5}]}},{"name":"x","kind":"regular","generation":0,"stamp":null}]}'));
--= NULL|row|NULL|3|NULL|7|7529cd67-394b-3247-8020-f2a7272fc8d9|NULL
--= n|counter|1|1|5|NULL|NULL|20
--= title|regular|0|NULL|jäm|9|00000000-0000-0000-0000-00000000000a|NULL
--= x|regular|0|NULL|NULL|NULL|NULL|NULL
SELECT length(value), instr(value, char(0)), typeof(value) FROM counter_change(counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":7,"id":"7529cd67-394b-3247-8020-f2a7272fc8d9"}},"columns":[{"name":"t","kind":"regular","generation":0,"stamp":{"number":7,"id":"7529cd67-394b-3247-8020-f2a7272fc8d9"},"value":"a\u0000b"}]}')) WHERE column_name = 't';
--= 1|2|text
SELECT column_name, kind, generation FROM counter_change(counter_change_of('{"tells":"column","name":"n","kind":"counter","generation":2}'));
--= n|counter|2
SELECT column_name, kind, life FROM counter_change(counter_change_of('{"tells":"row","row":{"life":2},"columns":[]}'));
--= NULL|row|2
SELECT kind FROM counter_change(counter_change_of('{"tells":"floors"}'));
--= floors
SELECT hex(counter_change_of('{"tells":"floors"}')), hex(counter_change_of('{"tells":"row","row":{"life":2},"columns":[]}'));
--= 02|010101010200

-- # a-value-that-is-too-large-has-its-size-in-place-of-it
CREATE TEMP TABLE c AS SELECT counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":5000,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":5000,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":5000000},{"name":"b","kind":"regular","generation":0,"stamp":{"number":6000,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":1}]}') AS change;
SELECT column_name, value, stamp, too_large FROM c, counter_change(c.change);
--= NULL|NULL|5000|NULL
--= a|NULL|5000|5000000
--= b|NULL|6000|1
SELECT counter_change_of(counter_change_json(change)) = change, hex(change) LIKE '%016100020504C096B102' || '%' FROM c;
--= 1|1
SELECT counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":1,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"n","kind":"regular","generation":0,"stamp":{"number":1,"id":"00000000-0000-0000-0000-00000000000a"},"value":1,"too_large":9}]}');
--! counter_change_of: a regular column with a stamp has a value, or is too large for one
SELECT counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":1,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"n","kind":"regular","generation":0,"stamp":null,"too_large":9}]}');
--! counter_change_of: a value needs a stamp
SELECT counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":1,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"n","kind":"regular","generation":0,"stamp":{"number":1,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":0}]}');
--! counter_change_of: the member too_large must be 1 ... 9223372036854775807, not 0
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":2},"too_large":9}]}');
--! counter_change_of: a counter has a cell, and no stamp, no value and no size

-- # a-value-that-is-too-large-is-listed-until-the-row-has-it-or-a-later-one
CREATE TABLE p(k TEXT PRIMARY KEY, a, b NOT NULL);
SELECT counter_replicate('p');
--= 0
CREATE TEMP TABLE told(name, json);
INSERT INTO told VALUES
  ('large', '{"tells":"row","row":{"life":1,"stamp":{"number":5000,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":7000,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":5000000}]}'),
  ('older', '{"tells":"row","row":{"life":1,"stamp":{"number":5000,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":6000,"id":"00000000-0000-0000-0000-00000000000a"},"value":"old"},{"name":"b","kind":"regular","generation":0,"stamp":{"number":5000,"id":"00000000-0000-0000-0000-00000000000a"},"value":"b"}]}'),
  ('smaller', '{"tells":"row","row":{"life":1,"stamp":{"number":5000,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":6500,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":7}]}'),
  ('same', '{"tells":"row","row":{"life":1,"stamp":{"number":5000,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":7000,"id":"00000000-0000-0000-0000-00000000000a"},"value":"all of it"}]}');
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key('x'), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'large';
SELECT column_name, state, row_key, shown, merged, why FROM counter_tracked WHERE row_key IS NOT NULL;
--= a|waits|('x')|NULL|NULL|another file has a value of 5000000 bytes, and lines carry 4194304 of a row: a pull brings it
SELECT warning FROM counter_warnings;
--= 1 value is larger than lines carry, and did not come: pull from a file that has it; counter_tracked lists it
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key('x'), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'older';
SELECT * FROM p;
--= x|old|b
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key('x'), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'smaller';
SELECT column_name, state, row_key, shown, merged, why FROM counter_tracked WHERE row_key IS NOT NULL;
--= a|differs|('x')|old|NULL|another file has a value of 5000000 bytes, and lines carry 4194304 of a row: a pull brings it
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key('x'), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'same';
SELECT *, (SELECT count(*) FROM counter_tracked WHERE row_key IS NOT NULL) FROM p;
--= x|all of it|b|0
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key('x'), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'large';
SELECT *, (SELECT count(*) FROM counter_tracked WHERE row_key IS NOT NULL) FROM p;
--= x|all of it|b|0

-- # what-ends-a-row-or-writes-its-column-takes-a-large-value-off-the-list
CREATE TABLE p(k TEXT PRIMARY KEY, a, b);
SELECT counter_replicate('p');
--= 0
INSERT INTO p VALUES('x', 1, 1), ('y', 1, 1), ('z', 1, 1);
INSERT INTO counter_changes(table_name, key, change, seq, source)
SELECT 'p', counter_key(k), counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":5000,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":9000000000000000,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":5000000},{"name":"b","kind":"regular","generation":0,"stamp":{"number":9000000000000000,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":5}]}'), 1, '00000000-0000-0000-0000-00000000000a' FROM p;
SELECT row_key, column_name FROM counter_tracked WHERE row_key IS NOT NULL;
--= ('x')|a
--= ('x')|b
--= ('y')|a
--= ('y')|b
--= ('z')|a
--= ('z')|b
UPDATE p SET a = 2 WHERE k = 'x';
DELETE FROM p WHERE k = 'y';
SELECT row_key, column_name FROM counter_tracked WHERE row_key IS NOT NULL;
--= ('x')|b
--= ('z')|a
--= ('z')|b
CREATE TEMP TABLE once AS SELECT c.stamp FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE f.key = counter_key('x') AND c.column_name = 'a';
SELECT stamp > 9000000000000000 FROM once;
--= 1
UPDATE p SET a = 3 WHERE k = 'x';
SELECT c.stamp > (SELECT stamp FROM once) FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE f.key = counter_key('x') AND c.column_name = 'a';
--= 1

-- # a-new-row-is-not-stamped-above-what-another-row-has-heard-of
CREATE TABLE p(k TEXT PRIMARY KEY, a, b);
SELECT counter_replicate('p');
--= 0
INSERT INTO p VALUES('x', 1, 1);
INSERT INTO counter_changes(table_name, key, change, seq, source)
SELECT 'p', counter_key(k), counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":5000,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":9000000000000000,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":5000000}]}'), 1, '00000000-0000-0000-0000-00000000000a' FROM p;
UPDATE p SET b = 2;
INSERT INTO p VALUES('y', 1, 1);
SELECT c.stamp < 9000000000000000 FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE f.key = counter_key('y') AND c.column_name = 'a';
--= 1

-- # who-has-heard-of-a-value-that-is-too-large-tells-it-on
CREATE TABLE p(k TEXT PRIMARY KEY, a, b);
SELECT counter_replicate('p');
--= 0
INSERT INTO p VALUES('x', 1, 1);
INSERT INTO counter_changes(table_name, key, change, seq, source)
SELECT 'p', counter_key(k), counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":5000,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":9000000000000000,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":5000000}]}'), 1, '00000000-0000-0000-0000-00000000000a' FROM p;
SELECT column_name, value, stamp = 9000000000000000, too_large FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE c.column_name >= 'a';
--= a|NULL|1|5000000
--= b|1|0|NULL
UPDATE p SET a = 2;
SELECT value, stamp > 9000000000000000, too_large FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE c.column_name = 'a';
--= 2|1|NULL

-- # a-row-that-was-born-first-has-nothing-of-the-values-that-were-too-large-of-the-other
CREATE TABLE p(id INTEGER PRIMARY KEY AUTOINCREMENT, a);
SELECT counter_replicate('p', 'keys=spread');
--= 0
CREATE TEMP TABLE told(name, json);
INSERT INTO told VALUES
  ('late', '{"tells":"row","row":{"life":1,"stamp":{"number":9000000000000009,"id":"00000000-0000-0000-0000-00000000000a"},"birth":{"number":9000000000000009,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":9000000000000009,"id":"00000000-0000-0000-0000-00000000000a"},"value":"late"}]}'),
  ('late and large', '{"tells":"row","row":{"life":1,"stamp":{"number":9000000000000009,"id":"00000000-0000-0000-0000-00000000000a"},"birth":{"number":9000000000000009,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":9000000000000900,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":5000000}]}'),
  ('early', '{"tells":"row","row":{"life":1,"stamp":{"number":9000000000000005,"id":"00000000-0000-0000-0000-00000000000a"},"birth":{"number":9000000000000005,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":9000000000000005,"id":"00000000-0000-0000-0000-00000000000a"},"value":"early"}]}'),
  ('early and large', '{"tells":"row","row":{"life":1,"stamp":{"number":9000000000000005,"id":"00000000-0000-0000-0000-00000000000a"},"birth":{"number":9000000000000005,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":9000000000000080,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":6000000}]}');
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key(4611686018427387), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'late';
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key(4611686018427387), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'late and large';
SELECT c.value, c.stamp, c.too_large FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE c.column_name = 'a';
--= NULL|9000000000000900|5000000
SELECT column_name, shown, why FROM counter_tracked WHERE state = 'differs';
--= a|late|another file has a value of 5000000 bytes, and lines carry 4194304 of a row: a pull brings it
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key(4611686018427387), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'early';
SELECT c.value, c.stamp, c.too_large FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE c.column_name = 'a';
--= early|9000000000000005|NULL
SELECT column_name, shown, why FROM counter_tracked WHERE state = 'differs';
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key(4611686018427387), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'late and large';
SELECT c.value, c.stamp, c.too_large FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE c.column_name = 'a';
--= early|9000000000000005|NULL
SELECT column_name, shown, why FROM counter_tracked WHERE state = 'differs';
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key(4611686018427387), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'early and large';
SELECT c.value, c.stamp, c.too_large FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE c.column_name = 'a';
--= NULL|9000000000000080|6000000
SELECT column_name, shown, why FROM counter_tracked WHERE state = 'differs';
--= a|early|another file has a value of 6000000 bytes, and lines carry 4194304 of a row: a pull brings it

-- # it-has-its-own-also-if-that-comes-with-it
CREATE TABLE p(id INTEGER PRIMARY KEY AUTOINCREMENT, a);
SELECT counter_replicate('p', 'keys=spread');
--= 0
CREATE TEMP TABLE told(name, json);
INSERT INTO told VALUES
  ('late', '{"tells":"row","row":{"life":1,"stamp":{"number":9000000000000009,"id":"00000000-0000-0000-0000-00000000000a"},"birth":{"number":9000000000000009,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":9000000000000009,"id":"00000000-0000-0000-0000-00000000000a"},"value":"late"}]}'),
  ('late and large', '{"tells":"row","row":{"life":1,"stamp":{"number":9000000000000009,"id":"00000000-0000-0000-0000-00000000000a"},"birth":{"number":9000000000000009,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":9000000000000900,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":5000000}]}'),
  ('early', '{"tells":"row","row":{"life":1,"stamp":{"number":9000000000000005,"id":"00000000-0000-0000-0000-00000000000a"},"birth":{"number":9000000000000005,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":9000000000000005,"id":"00000000-0000-0000-0000-00000000000a"},"value":"early"}]}'),
  ('early and large', '{"tells":"row","row":{"life":1,"stamp":{"number":9000000000000005,"id":"00000000-0000-0000-0000-00000000000a"},"birth":{"number":9000000000000005,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a","kind":"regular","generation":0,"stamp":{"number":9000000000000080,"id":"00000000-0000-0000-0000-00000000000a"},"too_large":6000000}]}');
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key(4611686018427387), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'late';
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key(4611686018427387), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'late and large';
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key(4611686018427387), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'early and large';
SELECT c.value, c.stamp, c.too_large FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE c.column_name = 'a';
--= NULL|9000000000000080|6000000
SELECT column_name, shown, why FROM counter_tracked WHERE state = 'differs';
--= a|NULL|another file has a value of 6000000 bytes, and lines carry 4194304 of a row: a pull brings it
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT 'p', counter_key(4611686018427387), counter_change_of(json), 1, '00000000-0000-0000-0000-00000000000a' FROM told WHERE name = 'early';
SELECT c.value, c.stamp, c.too_large FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE c.column_name = 'a';
--= NULL|9000000000000080|6000000
SELECT column_name, shown, why FROM counter_tracked WHERE state = 'differs';
--= a|early|another file has a value of 6000000 bytes, and lines carry 4194304 of a row: a pull brings it

-- # a-condition-with-or-on-the-parts-of-a-change-needs-no-other-argument
CREATE TABLE r(k TEXT PRIMARY KEY, b, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('r', 'n');
--= 0
INSERT INTO r VALUES('a', 'x', 1);
SELECT c.kind, c.value FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE c.kind = 'counter' OR c.kind = 'regular' ORDER BY 1;
--= counter|1
--= regular|x
SELECT c.kind, c.value FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE c.kind = 'counter' OR c.value = 'x' ORDER BY 1;
--= counter|1
--= regular|x
SELECT count(*) FROM counter_change WHERE kind = 'counter' OR kind = 'regular';
--! counter_change: one argument is needed, a change, from counter_changes
SELECT count(*) FROM counter_change;
--! counter_change: one argument is needed, a change, from counter_changes

-- # a-value-comes-back-as-it-was-told
CREATE TABLE r(k TEXT PRIMARY KEY, b);
SELECT counter_replicate('r');
--= 0
INSERT INTO r VALUES('a', x''), ('b', -0.0), ('c', 9e999), ('d', ''), ('e', NULL);
SELECT typeof(value), CASE WHEN value = 9e999 THEN 'infinite' ELSE quote(value) END FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE c.column_name = 'b' ORDER BY f.key;
--= blob|X''
--= real|0.0
--= real|infinite
--= text|''
--= null|NULL
SELECT min(counter_change_of(counter_change_json(change)) = change) FROM counter_changes(0);
--= 1

-- # shards-come-in-any-order-and-columns-too
SELECT counter_change_of('{"columns":[{"name":"b","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"value":1,"clock":2,"id":"00000000-0000-0000-0000-00000000000b"},{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":-1}]}},{"name":"a","kind":"counter","generation":1,"cell":{"life":2}}],"tells":"row"}') =
       counter_change_of('{"tells":"row","columns":[{"name":"a","kind":"counter","generation":1,"cell":{"life":2}},{"name":"b","kind":"counter","generation":1,"cell":{"life":1,"value":0,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":-1},{"id":"00000000-0000-0000-0000-00000000000b","clock":2,"value":1}]}}]}');
--= 1

-- # json-that-tells-no-change-is-refused-by-a-sentence
SELECT counter_change_of('{');
--! counter_change_of: the JSON is cut short
SELECT counter_change_of('[]');
--! counter_change_of: the JSON must be an object
SELECT counter_change_of('{}');
--! counter_change_of: the member tells must be "row", "floors", "column" or "answer", not missing
SELECT counter_change_of('{"tells":"row"}');
--! counter_change_of: the member columns must be an array, not missing
SELECT counter_change_of('{"tells":"row","columns":[1]}');
--! counter_change_of: a column must be an object, not 1
SELECT counter_change_of('{"tells":"row","columns":[],"colour":1}');
--! counter_change_of: a row has no member "colour"
SELECT counter_change_of('{"tells":"floors","tells":"floors"}');
--! counter_change_of: a change of floors has the member tells twice
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1}]}');
--! counter_change_of: a counter has a cell, and no stamp, no value and no size
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1}}]}');
--! counter_change_of: an untouched counter, of life 1 without shards, is not told: leave it out
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":2,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":1}]}}]}');
--! counter_change_of: life 2 is deleted and has no shards
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"x","clock":1,"value":1}]}}]}');
--! counter_change_of: the member id must be a UUID, not "x"
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":0,"value":1}]}}]}');
--! counter_change_of: the member clock must be 1 ... 9223372036854775807, not 0
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":1,"value":1.5}]}}]}');
--! counter_change_of: the member value must be -9223372036854775808 ... 9223372036854775807, not 1.5
SELECT counter_change_of('{"tells":"row","columns":[{"name":"m","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":4611686018427387903,"value":1}]}},{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":4611686018427387904,"value":1}]}}]}');
--! counter_change_of: column n: the shard of 00000000-0000-0000-0000-00000000000a has the clock 4611686018427387904, and the highest is 4611686018427387903
SELECT length(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"00000000-0000-0000-0000-00000000000a","clock":4611686018427387903,"value":1}]}}]}'));
--= 36
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"regular","generation":0,"stamp":null}]}');
--! counter_change_of: the change: column n is regular, and the row is not that of a replicated table
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":2,"cell":{"life":2}}]}');
--! counter_change_of: the change: column n is a counter with a cell, and its generation must be odd
SELECT counter_change_of('{"tells":"column","name":"n","kind":"regular","generation":3}');
--! counter_change_of: the change: column n came or went, and its generation must be 1 or more, that of a regular column even
SELECT counter_change_of('{"tells":"row","row":{"life":2},"columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":2}}]}');
--! counter_change_of: the change tells columns of a deleted row
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n\u0000zz","kind":"counter","generation":1,"cell":{"life":2}}]}');
--! counter_change_of: the change has a column whose name is empty, has a U+0000 or is not UTF-8
SELECT counter_change_of('{"tells":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxéé"}');
--! counter_change_of: the member tells must be "row", "floors", "column" or "answer", not "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
SELECT counter_change_of('{"tells":"row","row":{"life":1},"columns":[]}');
--! counter_change_of: a row with an odd life has a stamp
SELECT counter_change_of('{"tells":"row","row":{"life":2,"stamp":{"number":1,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[]}');
--! counter_change_of: a row with an even life is deleted, and has no stamp
SELECT counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":1,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"n","kind":"regular","generation":0,"stamp":{"number":1,"id":"00000000-0000-0000-0000-00000000000a"}}]}');
--! counter_change_of: a regular column with a stamp has a value, or is too large for one
SELECT counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":1,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"n","kind":"regular","generation":0,"stamp":null,"value":1}]}');
--! counter_change_of: a value needs a stamp
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":2}},{"name":"n","kind":"counter","generation":1,"cell":{"life":2}}]}');
--! counter_change_of: two columns of one kind have the name n
SELECT counter_change_of('{"tells":"answer","answer":"01"}');
--! counter_change_of: the member answer must be 34 bytes in hexadecimal digits, not "01"
SELECT counter_change_of('{"tells":"column","name":"","kind":"counter","generation":2}');
--! counter_change_of: the member name must be the name of a column, not ""
SELECT counter_change_of(x'01');
--! counter_change_of: the JSON must be TEXT, not BLOB x'01'

-- # bytes-that-are-no-change-are-refused-by-a-sentence
SELECT counter_change_json(x'');
--! counter_change_json: the change is empty
SELECT counter_change_json(x'05');
--! counter_change_json: the change was made by a newer version of sqlite-counter: install it here, too
SELECT counter_change_json(x'0100');
--! counter_change_json: the change is cut short
SELECT counter_change_json('a');
--! counter_change_json: the change must be a BLOB, from counter_changes, not TEXT 'a'
SELECT * FROM counter_change(x'0200');
--! counter_change: the change has bytes behind its end
SELECT counter_change_json(x'40');
--! counter_change_json: the change is none: its first byte is that of something else
SELECT counter_change_json(x'010001016E010102C101');
--! counter_change_json: the change: column n has no well-formed cell
SELECT * FROM counter_change;
--! counter_change: one argument is needed, a change, from counter_changes

-- # a-name-that-no-message-can-show-is-not-shown
SELECT counter_change_json(x'03018c0101');
--! counter_change_json: the change has a column whose name is empty, has a U+0000 or is not UTF-8
SELECT counter_change_json(x'0301000101');
--! counter_change_json: the change has a column whose name is empty, has a U+0000 or is not UTF-8

-- # grants-of-a-cell-stand-in-its-json
SELECT counter_json(x'C201440101010101010101010101010101010111020202020202020202020202020202020502020202020202020202020202020202110101010101010101010101010101010101010101010101010101010101010101010214020202020202020202020202020202020206');
--= {"life":1,"value":13,"shards":[{"id":"01010101-0101-0101-0101-010101010101","clock":2,"value":10,"grants":{"02020202-0202-0202-0202-020202020202":5}},{"id":"02020202-0202-0202-0202-020202020202","clock":2,"value":3,"grants":{"01010101-0101-0101-0101-010101010101":1}}]}
SELECT hex(cell) FROM counter_change(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"value":13,"shards":[{"id":"01010101-0101-0101-0101-010101010101","clock":2,"value":10,"grants":{"02020202-0202-0202-0202-020202020202":5}},{"id":"02020202-0202-0202-0202-020202020202","clock":2,"value":3,"grants":{"01010101-0101-0101-0101-010101010101":1}}]}}]}'));
--= C201440101010101010101010101010101010111020202020202020202020202020202020502020202020202020202020202020202110101010101010101010101010101010101010101010101010101010101010101010214020202020202020202020202020202020206
SELECT counter_change_json(counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"value":13,"shards":[{"id":"01010101-0101-0101-0101-010101010101","clock":2,"value":10,"grants":{"02020202-0202-0202-0202-020202020202":5}},{"id":"02020202-0202-0202-0202-020202020202","clock":2,"value":3,"grants":{"01010101-0101-0101-0101-010101010101":1}}]}}]}')) = '{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"value":13,"shards":[{"id":"01010101-0101-0101-0101-010101010101","clock":2,"value":10,"grants":{"02020202-0202-0202-0202-020202020202":5}},{"id":"02020202-0202-0202-0202-020202020202","clock":2,"value":3,"grants":{"01010101-0101-0101-0101-010101010101":1}}]}}]}';
--= 1
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"01010101-0101-0101-0101-010101010101","clock":1,"value":1,"grants":{"01010101-0101-0101-0101-010101010101":1}}]}}]}');
--! counter_change_of: the member grants must be to other UUIDs, not "01010101-0101-0101-0101-010101010101"
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"01010101-0101-0101-0101-010101010101","clock":1,"value":1,"grants":{"02020202-0202-0202-0202-020202020202":0}}]}}]}');
--! counter_change_of: the member grants must be 1 ... 9223372036854775807, not 0
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"01010101-0101-0101-0101-010101010101","clock":1,"value":1,"grants":[]}]}}]}');
--! counter_change_of: the member grants must be an object of ids, not []
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"01010101-0101-0101-0101-010101010101","clock":1,"value":1,"grants":{"02020202-0202-0202-0202-020202020202":1,"02020202-0202-0202-0202-020202020202":2}}]}}]}');
--! counter_change_of: a shard grants to one id twice
SELECT counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":{"life":1,"shards":[{"id":"01010101-0101-0101-0101-010101010101","clock":1,"value":1},{"id":"01010101-0101-0101-0101-010101010101","clock":2,"value":1,"grants":{"02020202-0202-0202-0202-020202020202":2}}]}}]}');
--! counter_change_of: shards with grants have an id twice
