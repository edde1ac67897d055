-- counter_opening, the options 'opening=same' and 'opening=add', and answers in pulls and feeds.

-- # a-pull-of-a-table-that-both-files-track-is-refused-until-it-is-answered
ATTACH 'office.db' AS office;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.products VALUES ('tea', 10), ('jam', 3);
INSERT INTO office.products VALUES ('tea', 10), ('jam', 3);
SELECT counter_track('main.products', 'stock');
--= 2
SELECT counter_track('office.products', 'stock');
--= 2
UPDATE main.products SET stock = stock - 1 WHERE sku = 'tea';
SELECT * FROM counter_pull('office');
--!~ counter_pull: table products: two files counted the values that they had when they began to track it: ('tea'): 10 here, 10 in office (2 such rows): if they were copies of one file, SELECT counter_opening('products', 'same', '????????-????-8???-????-????????????'), and only the greater value counts; if each had its own, SELECT counter_opening('products', 'add', '????????-????-8???-????-????????????'), and they add up
SELECT * FROM counter_push('office');
--!~ counter_push: table products: two files counted *
SELECT * FROM counter_sync('office');
--!~ counter_sync: table products: two files counted *
SELECT (SELECT group_concat(stock) FROM main.products), (SELECT group_concat(stock) FROM office.products);
--= 9,3|10,3
SELECT counter_opening('products', 'same', (SELECT name FROM office.counter_state WHERE kind = 'opening'));
--= 0
SELECT table_name, rows_changed FROM counter_sync('office');
--~ products|[0-9]*
SELECT (SELECT group_concat(stock) FROM main.products), (SELECT group_concat(stock) FROM office.products);
--= 9,3|9,3
SELECT rows_changed FROM counter_sync('office');
--= 0

-- # openings-that-have-their-own-stock-add-up-and-an-answer-that-says-same-repairs-that
ATTACH 'office.db' AS office;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.products VALUES ('tea', 10), ('jam', 0), ('salt', 7);
INSERT INTO office.products VALUES ('tea', 12), ('jam', 0), ('rice', 5);
SELECT counter_track('main.products', 'stock');
--= 3
SELECT counter_track('office.products', 'stock');
--= 3
SELECT counter_opening('products', 'add', (SELECT name FROM office.counter_state WHERE kind = 'opening'));
--= 0
SELECT rows_changed > 0 FROM counter_sync('office');
--= 1
UPDATE office.products SET stock = stock + 1 WHERE sku = 'tea';
SELECT group_concat(sku || stock, ' ') FROM (SELECT * FROM office.products ORDER BY sku);
--= jam0 rice5 salt7 tea23
SELECT counter_opening('office.products', 'same', (SELECT name FROM main.counter_state WHERE kind = 'opening'));
--= 1
SELECT counter_opening('office.products', 'same', (SELECT name FROM main.counter_state WHERE kind = 'opening'));
--= 0
SELECT counter_opening('office.products', 'add', (SELECT name FROM main.counter_state WHERE kind = 'opening'));
--= 0
SELECT rows_changed > 0 FROM counter_pull('office');
--= 1
SELECT group_concat(sku || stock, ' ') FROM (SELECT * FROM office.products ORDER BY sku);
--= jam0 rice5 salt7 tea13
SELECT group_concat(sku || stock, ' ') FROM (SELECT * FROM main.products ORDER BY sku);
--= jam0 rice5 salt7 tea13

-- # tables-without-values-and-copies-made-after-tracking-are-never-asked-about
ATTACH 'office.db' AS office;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER DEFAULT 0);
CREATE TABLE office.products(sku TEXT PRIMARY KEY, stock INTEGER DEFAULT 0);
INSERT INTO main.products VALUES ('tea', 0), ('jam', NULL), ('salt', 4);
INSERT INTO office.products VALUES ('tea', 0), ('jam', 3);
SELECT counter_track('main.products', 'stock');
--~ [0-9]
SELECT counter_track('office.products', 'stock');
--~ [0-9]
UPDATE main.products SET stock = 5 WHERE sku = 'tea';
UPDATE office.products SET stock = 6 WHERE sku = 'tea';
SELECT rows_changed > 0 FROM counter_sync('office');
--= 1
SELECT group_concat(sku || stock, ' ') FROM (SELECT * FROM main.products ORDER BY sku);
--= jam3 salt4 tea11
VACUUM INTO 'copy.db';
SELECT rows_changed FROM counter_pull('copy.db');
--= 0

-- # a-table-without-values-makes-no-opening
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
INSERT INTO products VALUES ('tea', 0);
SELECT counter_track('products', 'stock', 'opening=same');
--~ [0-9]
SELECT count(*) FROM counter_state WHERE kind IN ('opening', 'answer');
--= 0
SELECT counter_opening('products', 'same');
--= 0
SELECT counter_opening('products', 'same', '00000000-0000-8000-8000-000000000001');
--! counter_opening: this file has no opening values of its own: name two openings
SELECT counter_opening('products', 'same', '00000000-0000-8000-8000-000000000001', '00000000-0000-8000-8000-000000000002');
--= 0
SELECT count(*) FROM counter_state WHERE kind = 'answer';
--= 1

-- # a-migration-that-runs-on-every-device-answers-before-anybody-asks
ATTACH 'office.db' AS office;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.PRODUCTS(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.products VALUES ('tea', 10), ('jam', 3);
INSERT INTO office.products VALUES ('tea', 10), ('jam', 3);
SELECT counter_track('main.products', 'stock', 'opening=same');
--= 2
SELECT counter_track('office.products', 'Opening=SAME', 'stock');
--= 2
UPDATE main.products SET stock = stock - 1 WHERE sku = 'tea';
UPDATE office.products SET stock = stock + 20 WHERE sku = 'tea';
SELECT rows_changed > 0 FROM counter_sync('office');
--= 1
SELECT (SELECT group_concat(stock) FROM main.products), (SELECT group_concat(stock) FROM office.products);
--= 29,3|29,3

-- # an-opening-that-one-file-alone-calls-same-is-still-asked-about
ATTACH 'office.db' AS office;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.products VALUES ('tea', 10);
INSERT INTO office.products VALUES ('tea', 10);
SELECT counter_track('main.products', 'stock', 'opening=same');
--= 1
SELECT counter_track('office.products', 'stock');
--= 1
SELECT * FROM counter_pull('office');
--!~ *two files counted *
SELECT counter_opening('office.products', 'same');
--= 0
SELECT rows_changed FROM counter_pull('office');
--= 1
SELECT stock FROM main.products;
--= 10

-- # counters-that-another-file-brought-are-asked-about-when-tracking-begins
ATTACH 'office.db' AS office;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER, sold INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY, stock INTEGER, sold INTEGER);
INSERT INTO main.products VALUES ('tea', 10, 4);
INSERT INTO office.products VALUES ('tea', 0, 4);
SELECT counter_track('main.products', 'stock', 'sold');
--~ [0-9]
SELECT counter_track('office.products', 'stock');
--~ [0-9]
SELECT rows_changed > 0 FROM counter_pull('office');
--= 1
SELECT rows_changed > 0 FROM counter_push('office');
--= 1
SELECT stock, sold FROM office.products;
--= 10|4
SELECT counter_track('office.products', 'sold');
--! counter_track: products: column sold of ('tea'): two files counted the values that they had when they began to track it: 4 here, 4 in another file: if they were copies of one file, add 'opening=same', and only the greater value counts; if each had its own, 'opening=add'
SELECT column_name FROM counter_tracked('office');
--= stock
SAVEPOINT s;
SELECT counter_track('office.products', 'sold', 'opening=add');
--= 1
SELECT sold FROM office.products;
--= 8
ROLLBACK TO s;
RELEASE s;
SELECT sold FROM office.products;
--= 4
SELECT counter_track('office.products', 'sold', 'opening=same');
--= 1
SELECT sold FROM office.products;
--= 4
UPDATE office.products SET sold = sold + 1;
SELECT rows_changed > 0 FROM counter_pull('office');
--= 1
SELECT stock, sold FROM main.products;
--= 10|5

-- # a-file-that-tracks-anew-has-another-opening
ATTACH 'office.db' AS office;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY, stock INTEGER);
INSERT INTO main.products VALUES ('tea', 10);
SELECT counter_track('main.products', 'stock');
--= 1
SELECT counter_track('office.products', 'stock');
--= 0
SELECT rows_changed FROM counter_push('office');
--= 1
SELECT counter_untrack('main.products');
--= 1
SELECT counter_track('main.products', 'stock', 'values=again');
--= 1
SELECT * FROM counter_pull('office');
--!~ *two files counted *
SELECT counter_opening('main.products', 'same', (SELECT DISTINCT s.id FROM office.products_counters_cells, counter_shards(stock) AS s WHERE s.id LIKE '%-8___-%'));
--= 0
SELECT rows_changed FROM counter_pull('office');
--= 1
SELECT stock FROM main.products;
--= 10

-- # a-file-that-only-reports-shows-the-sum-and-whoever-pulls-from-it-names-both-openings
ATTACH 'a.db' AS a;
ATTACH 'b.db' AS b;
ATTACH 'third.db' AS third;
CREATE TABLE a.products(sku TEXT PRIMARY KEY, stock INTEGER);
CREATE TABLE b.products(sku TEXT PRIMARY KEY, stock INTEGER);
CREATE TABLE third.products(sku TEXT PRIMARY KEY, stock INTEGER);
INSERT INTO a.products VALUES ('tea', 10);
INSERT INTO b.products VALUES ('tea', 10);
SELECT counter_track('a.products', 'stock');
--= 1
SELECT counter_track('b.products', 'stock');
--= 1
SELECT counter_track('third.products', 'stock');
--= 0
SELECT rows_changed FROM counter_pull('a', 'create tables');
--= 1
SELECT rows_changed FROM counter_pull('b', 'create tables');
--= 1
SELECT * FROM main.products;
--= tea|20
SELECT * FROM counter_push('third');
--!~ counter_push: table products: two files counted * ('tea'): 10 here, 10 here: * SELECT counter_opening('products', 'same', '????????-????-8???-????-????????????', '????????-????-8???-????-????????????'), and *
SELECT counter_opening('main.products', 'same', (SELECT name FROM a.counter_state WHERE kind = 'opening'), (SELECT name FROM b.counter_state WHERE kind = 'opening'));
--= 1
SELECT * FROM main.products;
--= tea|10
SELECT rows_changed FROM counter_push('third');
--= 1
SELECT * FROM third.products;
--= tea|10
SELECT rows_changed FROM counter_push('a');
--= 1
SELECT rows_changed FROM counter_push('b');
--= 1
SELECT (SELECT stock FROM a.products), (SELECT stock FROM b.products);
--= 10|10

-- # what-is-no-table-no-answer-and-no-opening-is-refused
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);
CREATE TABLE plain(a);
INSERT INTO products VALUES ('tea', 10);
SELECT counter_opening('products', 'same');
--! counter_opening: there is no tracked table 'products'
SELECT counter_track('products', 'stock');
--= 1
SELECT counter_opening('products');
--! wrong number of arguments to function counter_opening()
SELECT counter_opening('products', 'same', 1, 2, 3);
--! wrong number of arguments to function counter_opening()
SELECT counter_opening(NULL, 'same');
--! counter_opening: the table must be TEXT, not NULL
SELECT counter_opening('plain', 'same');
--! counter_opening: there is no tracked table 'plain'
SELECT counter_opening('aux.products', 'same');
--! counter_opening: there is no tracked table 'aux.products'
SELECT counter_opening('products', NULL);
--! counter_opening: the answer must be TEXT, not NULL
SELECT counter_opening('products', 'both', '00000000-0000-8000-8000-000000000001');
--! counter_opening: the answer must be 'same' or 'add', not TEXT 'both'
SELECT counter_opening('products', 'add');
--! counter_opening: 'add' needs the opening of the other file, which the refused merge shows
SELECT counter_opening('products', 'add', 'x');
--! counter_opening: an opening must be a UUID (text, or a BLOB of 16 bytes), not TEXT 'x'
SELECT counter_opening('products', 'add', '00000000-0000-4000-8000-000000000001');
--! counter_opening: an opening must be a UUID of version 8, as a pull shows it, not TEXT '00000000-0000-4000-8000-000000000001'
SELECT counter_opening('products', 'add', '00000000-0000-8000-8000-000000000001', NULL);
--! counter_opening: an opening must be a UUID (text, or a BLOB of 16 bytes), not NULL
SELECT counter_opening('products', 'add', '00000000-0000-8000-8000-000000000001', '00000000-0000-8000-8000-000000000001');
--! counter_opening: the two openings must differ
SELECT counter_opening('products', 'add', (SELECT name FROM counter_state WHERE kind = 'opening'));
--! counter_opening: the opening is that of this file: name the one of the other file
SELECT counter_track('products', 'opening=one');
--! counter_track: unknown option 'opening=one'; the options are: 'keys=assigned', 'keys=changed', 'opening=same', 'opening=add', 'values=again', 'missing=restored', 'missing=deleted'
SELECT count(*) FROM counter_state WHERE kind = 'answer';
--= 0

-- # an-answer-goes-to-the-table-whatever-it-is-called-now
ATTACH 'office.db' AS office;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY, stock INTEGER);
INSERT INTO main.products VALUES ('tea', 10);
INSERT INTO office.products VALUES ('tea', 10);
SELECT counter_track('main.products', 'stock');
--= 1
SELECT counter_track('office.products', 'stock');
--= 1
ALTER TABLE main.products RENAME TO wares;
SELECT * FROM counter_pull('office');
--!~ counter_pull: table *: two files counted * SELECT counter_opening('wares', 'same', *
SELECT counter_opening('office.products_counters', 'same', (SELECT name FROM main.counter_state WHERE kind = 'opening'));
--= 0
SELECT rows_changed FROM counter_pull('office');
--= 1
SELECT stock FROM wares;
--= 10
SELECT counter_opening('wares', 'add', (SELECT name FROM office.counter_state WHERE kind = 'opening'));
--= 0

-- # an-answer-is-taken-back-with-its-savepoint-and-its-transaction
ATTACH 'office.db' AS office;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY, stock INTEGER);
INSERT INTO main.products VALUES ('tea', 10);
INSERT INTO office.products VALUES ('tea', 11);
SELECT counter_track('main.products', 'stock');
--= 1
SELECT counter_track('office.products', 'stock');
--= 1
SELECT counter_opening('products', 'add', (SELECT name FROM office.counter_state WHERE kind = 'opening'));
--= 0
SELECT rows_changed FROM counter_pull('office');
--= 1
SELECT stock FROM main.products;
--= 21
UPDATE main.products SET stock = stock - 1;
BEGIN;
UPDATE main.products SET stock = stock - 1;
SAVEPOINT s;
SELECT counter_opening('products', 'same', (SELECT name FROM office.counter_state WHERE kind = 'opening'));
--= 1
UPDATE main.products SET stock = stock - 1;
SELECT stock FROM main.products;
--= 8
ROLLBACK TO s;
SELECT stock FROM main.products;
--= 19
SELECT stock FROM products_counters;
--= 19
COMMIT;
BEGIN;
SELECT counter_opening('products', 'same', (SELECT name FROM office.counter_state WHERE kind = 'opening'));
--= 1
ROLLBACK;
SELECT stock FROM main.products;
--= 19
SELECT stock FROM products_counters;
--= 19
SELECT count(*) FROM main.counter_state WHERE kind = 'answer';
--= 1
INSERT INTO products_counters(products_counters) VALUES ('integrity-check');

-- # answers-come-in-the-feed-before-the-rows-and-once
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);
INSERT INTO products VALUES ('tea', 10), ('jam', 3), ('salt', 4);
SELECT counter_track('products', 'stock', 'opening=same');
--= 3
SELECT counter_opening('products', 'add', '00000000-0000-8000-8000-000000000001', '00000000-0000-8000-8000-000000000002');
--= 0
SELECT table_name, hex(key), counter_change_json(change) FROM counter_changes(0) LIMIT 2;
--~ products||{"tells":"answer","answer":"b101*"}
--~ products||{"tells":"answer","answer":"b102*"}
SELECT count(*), sum(kind = 'answer') FROM counter_changes(0) AS f, counter_change(f.change) AS c;
--= 5|2
SELECT count(*), sum(kind = 'answer') FROM counter_changes(0, '0/1') AS f, counter_change(f.change) AS c;
--= 5|2
SELECT count(*) FROM counter_changes((SELECT max(upto) FROM counter_changes(0)));
--= 0

-- # an-answer-in-the-feed-is-checked-and-taken
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);
SELECT counter_track('products', 'stock');
--= 0
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', x'', x'04B10100000000000080008000000000000001000000000000800080000000000000', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table products: an answer about two openings is damaged
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', x'', x'04B1030000000000008000800000000000000100000000000080008000000000000002', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table products: an answer about two openings is damaged
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', x'', x'04B2010000000000008000800000000000000100000000000080008000000000000002', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table products: an answer about two openings is damaged
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', x'', x'04B1010000000000008000800000000000000200000000000080008000000000000001', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table products: an answer about two openings is damaged
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', x'', x'04B1010000000000008000800000000000000100000000000040008000000000000002', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table products: an answer about two openings is damaged
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', x'', x'04', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table products: an answer about two openings is damaged
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', counter_key('tea'), x'0100010573746F636B010121B1010000000000008000800000000000000100000000000080008000000000000002', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table products: the change: column stock has no well-formed cell
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('other', x'', x'04B1010000000000008000800000000000000100000000000080008000000000000002', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--!~ counter_changes: table other: no counter table was created with this name here: *
INSERT INTO counter_changes(table_name, key, change, seq, source, key_columns) VALUES ('products', x'', x'04B1010000000000008000800000000000000100000000000080008000000000000002', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9', 'sku INTEGER BINARY');
--!~ counter_changes: table products: the tables differ in the key: *
SELECT count(*) FROM counter_state WHERE kind = 'answer';
--= 0
INSERT INTO counter_changes(table_name, key, change, seq, source, key_columns) VALUES ('products', x'', x'04B1010000000000008000800000000000000100000000000080008000000000000002', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9', 'sku TEXT BINARY');
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', x'', x'04B1010000000000008000800000000000000100000000000080008000000000000002', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
SELECT hex(name) FROM counter_state WHERE kind = 'answer';
--= B1010000000000008000800000000000000100000000000080008000000000000002
SELECT hex(change) FROM counter_changes(0);
--= 04B1010000000000008000800000000000000100000000000080008000000000000002

-- # cells-of-two-openings-in-a-feed-are-not-shown-until-an-answer-comes
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);
SELECT counter_track('products', 'stock');
--= 0
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', counter_key('tea'), counter_change_of('{"tells":"row","columns":[{"name":"stock","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 10, '00000000-0000-8000-8000-000000000001')) || '}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
UPDATE products SET stock = stock - 1;
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', counter_key('tea'), counter_change_of('{"tells":"row","columns":[{"name":"stock","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 12, '00000000-0000-8000-8000-000000000002')) || '}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
SELECT stock FROM products;
--= 9
SELECT state, shown, merged FROM counter_tracked WHERE row_key NOT NULL;
--= differs|9|21
UPDATE products SET stock = stock + 5;
SELECT counter_seen('7529cd67-394b-3247-8020-f2a7272fc8d9', 0, 1);
--= 1
SELECT stock FROM products;
--= 14
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', x'', x'04B1010000000000008000800000000000000100000000000080008000000000000002', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
SELECT stock FROM products;
--= 16
SELECT count(*) FROM counter_tracked WHERE row_key NOT NULL;
--= 0
SELECT s.id, s.clock, s.value FROM counter_changes(0) AS f, counter_change(f.change) AS c, counter_shards(c.cell) AS s WHERE c.kind = 'counter' AND s.id LIKE '0000%';
--= 00000000-0000-8000-8000-000000000001|2|0
--= 00000000-0000-8000-8000-000000000002|1|12

-- # an-answer-of-a-call-holds-for-the-rows-of-a-feed-in-the-same-transaction
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);
SELECT counter_track('products', 'stock');
--= 0
BEGIN;
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', x'', x'04B1020000000000008000800000000000000100000000000080008000000000000002', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
SELECT counter_opening('products', 'same', '00000000-0000-8000-8000-000000000001', '00000000-0000-8000-8000-000000000002');
--= 0
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', counter_key('tea'), counter_change_of('{"tells":"row","columns":[{"name":"stock","kind":"counter","generation":1,"cell":' || counter_json(counter_merge(counter_inc(NULL, 10, '00000000-0000-8000-8000-000000000001'), counter_inc(NULL, 12, '00000000-0000-8000-8000-000000000002'))) || '}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
COMMIT;
SELECT stock FROM products;
--= 12

-- # a-row-of-a-feed-without-an-answer-hinders-no-other-and-is-shown-after-its-answer
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);
SELECT counter_track('products', 'stock');
--= 0
BEGIN;
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', counter_key('tea'), counter_change_of('{"tells":"row","columns":[{"name":"stock","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 10, '00000000-0000-8000-8000-000000000001')) || '}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', counter_key('tea'), counter_change_of('{"tells":"row","columns":[{"name":"stock","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 12, '00000000-0000-8000-8000-000000000002')) || '}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('products', counter_key('jam'), counter_change_of('{"tells":"row","columns":[{"name":"stock","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 3)) || '}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
SELECT counter_opening('products', 'add', '00000000-0000-8000-8000-000000000001', '00000000-0000-8000-8000-000000000002');
--= 0
COMMIT;
SELECT sku, stock FROM products ORDER BY sku;
--= jam|3
--= tea|22

-- # a-damaged-answer-in-a-file-is-told-and-nothing-of-it-is-taken
ATTACH 'office.db' AS office;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY, stock INTEGER);
INSERT INTO office.products VALUES ('tea', 10);
SELECT counter_track('main.products', 'stock');
--= 0
SELECT counter_track('office.products', 'stock', 'opening=same');
--= 1
UPDATE office.counter_state SET name = substr(name, 1, 33) WHERE kind = 'answer';
SELECT * FROM counter_pull('office');
--!~ counter_pull: table products: *an answer about two openings is damaged
SELECT counter_opening('office.products', 'same');
--!~ counter_opening: *an answer about two openings is damaged
SELECT count(*) FROM main.products;
--= 0

-- # values-of-a-column-that-was-tracked-before-are-not-counted-again-unasked
ATTACH 'office.db' AS office;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER, sold INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY, stock INTEGER, sold INTEGER);
SELECT counter_track('main.products', 'stock', 'sold');
--= 0
SELECT counter_track('office.products', 'stock', 'sold');
--= 0
INSERT INTO office.products VALUES ('jam', 5, 2), ('tea', 7, 0);
SELECT rows_changed FROM counter_pull('office');
--= 2
SELECT counter_untrack('main.products');
--= 2
SELECT * FROM counter_untracked ORDER BY 1, 2;
--= products|sold
--= products|stock
SELECT counter_track('main.PRODUCTS', 'stock');
--! counter_track: products: stock was tracked in this file before, and the values in 2 of its rows would be counted again: if another file has its counters, set stock to 0, track it, merge with that file, and count again what was changed here since; if none has, add 'values=again'
SELECT counter_track('products', 'stock', 'opening=same');
--!~ counter_track: products: stock was tracked in this file before,*
SELECT count(*) FROM counter_tracked;
--= 0
UPDATE main.products SET stock = 0;
SELECT counter_track('main.products', 'stock');
--= 2
SELECT * FROM counter_untracked;
--= products|sold
SELECT rows_changed FROM counter_pull('office');
--= 2
SELECT * FROM main.products;
--= jam|5|2
--= tea|7|0
SELECT counter_track('main.products', 'SOLD');
--! counter_track: products: sold was tracked in this file before, and the values in 1 of its rows would be counted again: if another file has its counters, set sold to 0, track it, merge with that file, and count again what was changed here since; if none has, add 'values=again'
SELECT counter_track('main.products', 'sold', 'values=again');
--= 2
SELECT * FROM counter_untracked;
SELECT counter_track('main.products', 'sold', 'values=again');
--= 0

-- # a-table-that-never-counted-is-tracked-again-unasked
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
SELECT counter_untrack('t');
--= 1
INSERT INTO t VALUES ('a', 3);
SELECT counter_track('t', 'n');
--= 1
SELECT counter_untrack('t');
--= 1
SELECT counter_remove();
--= 10
SELECT counter_track('t', 'n');
--= 1

-- # an-answer-about-a-counter-table-that-had-no-values-to-begin-with-is-refused
CREATE VIRTUAL TABLE votes USING counter(topic TEXT PRIMARY KEY, n COUNTER);
INSERT INTO votes VALUES ('tea', 10);
SELECT counter_opening('votes', 'same');
--! counter_opening: this file has no opening values of its own: name two openings
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
SELECT counter_track('products', 'stock');
--= 0
SELECT counter_opening('products', 'same');
--= 0

-- # a-row-that-an-answer-and-the-pull-both-change-is-shown-before-the-row-that-refers-to-it
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES t, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.t(k TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES t, n INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.t(k, n) VALUES ('a', 10), ('b', 20), ('c', 30);
INSERT INTO office.t(k, n) VALUES ('a', 12), ('b', 22), ('c', 32);
SELECT counter_replicate('main.t', 'n');
--= 3
SELECT counter_replicate('office.t', 'n');
--= 3
SELECT counter_opening('t', 'add', (SELECT name FROM office.counter_state WHERE kind = 'opening'));
--= 0
SELECT rows_changed > 0 FROM counter_sync('office');
--= 1
UPDATE office.t SET up = 'b' WHERE k = 'a';
UPDATE office.t SET n = n + 1;
SELECT counter_opening('office.t', 'same', (SELECT name FROM main.counter_state WHERE kind = 'opening'));
--= 3
SELECT rows_changed > 0 FROM counter_pull('office');
--= 1
SELECT * FROM main.t ORDER BY k;
--= a|b|13
--= b|NULL|23
--= c|NULL|33
SELECT * FROM office.t ORDER BY k;
--= a|b|13
--= b|NULL|23
--= c|NULL|33

-- # null-that-stands-where-other-files-would-show-a-default-is-no-value-to-begin-with
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, n INTEGER DEFAULT 0, m INTEGER);
CREATE TABLE office.t(k TEXT PRIMARY KEY NOT NULL, n INTEGER DEFAULT 0, m INTEGER);
INSERT INTO main.t VALUES ('a', NULL, NULL);
INSERT INTO office.t VALUES ('a', 3, 4);
SELECT counter_replicate('office.t', 'n', 'm', 'opening=same');
--= 1
SELECT counter_replicate('main.t', 'n', 'm', 'opening=same');
--! counter_replicate: t: the row ('a') has NULL in the counter n, and other files would show its DEFAULT, 0: UPDATE "t" SET "n" = 0 WHERE "n" IS NULL, before the call
SELECT count(*) FROM main.sqlite_master;
--= 2
UPDATE "t" SET "n" = 0 WHERE "n" IS NULL;
SELECT counter_replicate('main.t', 'n', 'm', 'opening=same');
--= 1
SELECT rows_changed > 0 FROM counter_sync('office');
--= 1
UPDATE office.t SET n = n + 1, m = m + 1;
SELECT rows_changed > 0 FROM counter_sync('office');
--= 1
SELECT * FROM main.t;
--= a|4|5
INSERT INTO main.t VALUES ('b', NULL, NULL);
SELECT rows_changed > 0 FROM counter_sync('office');
--= 1
SELECT * FROM office.t ORDER BY k;
--= a|4|5
--= b|NULL|NULL
