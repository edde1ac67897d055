-- Tracked columns: counter_track, counter_untrack, counter_tracked.

-- # a-tracked-column-stays-a-column-and-is-counted
CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT NOT NULL, stock INTEGER NOT NULL DEFAULT 0 CHECK (stock > -1000));
INSERT INTO products VALUES('tea', 'Tea', 10), ('coffee', 'Coffee', 5);
SELECT counter_track('products', 'stock');
--= 2
UPDATE products SET stock = stock - 1 WHERE sku = 'tea';
UPDATE products SET stock = 42 WHERE sku = 'coffee';
INSERT INTO products VALUES('milk', 'Milk', 3);
INSERT INTO products VALUES('milk', 'Milk', 1) ON CONFLICT(sku) DO UPDATE SET stock = stock + excluded.stock;
REPLACE INTO products VALUES('tea', 'Green tea', 8);
UPDATE products SET name = 'Arabica' WHERE sku = 'coffee';
SELECT * FROM products ORDER BY sku;
--= coffee|Arabica|42
--= milk|Milk|4
--= tea|Green tea|8
SELECT * FROM products_counters ORDER BY sku;
--= coffee|42
--= milk|4
--= tea|8
DELETE FROM products WHERE sku = 'milk';
UPDATE products SET sku = 'chai' WHERE sku = 'tea';
SELECT * FROM products_counters ORDER BY sku;
--= chai|8
--= coffee|42
SELECT * FROM counter_tracked;
--= products|stock|tracked|NULL|NULL|NULL
SELECT name, birth FROM counter_tables;
--= products_counters|products

-- # null-is-a-counter-without-a-value
CREATE TABLE t(k INTEGER PRIMARY KEY, n INTEGER, m INTEGER);
SELECT counter_track('t', 'n', 'm');
--= 0
INSERT INTO t VALUES(1, NULL, 2), (2, 3, NULL), (3, NULL, NULL);
SELECT * FROM t_counters;
--= 1|0|2
--= 2|3|0
UPDATE t SET n = NULL WHERE k = 2;
UPDATE t SET n = 7, m = 8 WHERE k = 3;
SELECT * FROM t_counters ORDER BY k;
--= 1|0|2
--= 2|0|0
--= 3|7|8
ATTACH 'phone.db' AS phone;
CREATE TABLE phone.t(k INTEGER PRIMARY KEY, n INTEGER, m INTEGER);
SELECT counter_track('phone.t', 'n', 'm');
--= 0
SELECT table_name, rows_changed FROM counter_push('phone');
--= t|3
SELECT * FROM phone.t;
--= 1|NULL|2
--= 2|NULL|NULL
--= 3|7|8

-- # a-row-that-the-table-does-not-take-waits-and-comes-with-the-sum
ATTACH 'phone.db' AS phone;
CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT NOT NULL, stock INTEGER NOT NULL);
CREATE TABLE phone.products(sku TEXT PRIMARY KEY, name TEXT NOT NULL, stock INTEGER NOT NULL);
SELECT counter_track('main.products', 'stock');
--= 0
SELECT counter_track('phone.products', 'stock');
--= 0
INSERT INTO phone.products VALUES('tea', 'Tea', 10);
SELECT table_name, rows_changed FROM counter_pull('phone');
--= products|1
SELECT * FROM products;
SELECT * FROM counter_tracked WHERE state <> 'tracked';
--= products|stock|waits|('tea')|NULL|10
UPDATE phone.products SET stock = 12;
SELECT table_name, rows_changed FROM counter_pull('phone');
--= products|1
INSERT INTO main.products VALUES('tea', 'Tee', 5);
SELECT * FROM products;
--= tea|Tee|17
SELECT * FROM counter_tracked WHERE state <> 'tracked';
SELECT table_name, rows_changed FROM counter_sync('phone');
--= products|1
SELECT * FROM phone.products;
--= tea|Tea|17

-- # a-value-that-the-table-does-not-take-is-listed-and-shown-when-it-can-be
ATTACH 'phone.db' AS phone;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL CHECK (stock >= 0));
CREATE TABLE phone.products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL CHECK (stock >= 0));
INSERT INTO main.products VALUES('tea', 5);
SELECT counter_track('main.products', 'stock');
--= 1
SELECT counter_track('phone.products', 'stock');
--= 0
SELECT table_name, rows_changed FROM counter_push('phone');
--= products|1
UPDATE main.products SET stock = stock - 5 WHERE stock >= 5;
UPDATE phone.products SET stock = stock - 4 WHERE stock >= 4;
SELECT table_name, rows_changed FROM counter_sync('phone');
--= products|2
SELECT (SELECT stock FROM main.products), (SELECT stock FROM phone.products);
--= 0|1
SELECT * FROM counter_tracked WHERE state <> 'tracked';
--= products|stock|differs|('tea')|0|-4
SELECT * FROM counter_tracked('phone') WHERE state <> 'tracked';
--= products|stock|differs|('tea')|1|-4
UPDATE main.products SET stock = stock + 3;
SELECT stock FROM main.products;
--= 3
SELECT * FROM counter_tracked WHERE state <> 'tracked';
--= products|stock|differs|('tea')|3|-1
UPDATE main.products SET stock = stock + 3;
SELECT stock FROM main.products;
--= 2
SELECT * FROM counter_tracked WHERE state <> 'tracked';
SELECT table_name, rows_changed FROM counter_push('phone');
--= products|1
SELECT * FROM phone.products;
--= tea|2
SELECT * FROM counter_tracked('phone') WHERE state <> 'tracked';

-- # deletes-and-resets-travel
ATTACH 'phone.db' AS phone;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER DEFAULT 0);
CREATE TABLE phone.products(sku TEXT PRIMARY KEY, stock INTEGER DEFAULT 0);
INSERT INTO main.products VALUES('tea', 5), ('milk', 6), ('chai', 7);
SELECT counter_track('main.products', 'stock');
--= 3
SELECT counter_track('phone.products', 'stock');
--= 0
SELECT table_name, rows_changed FROM counter_push('phone');
--= products|3
DELETE FROM phone.products WHERE sku = 'tea';
INSERT INTO products_counters(products_counters, sku, stock) VALUES('reset', 'milk', 100);
INSERT INTO products_counters(products_counters, sku) VALUES('reset', 'chai'), ('reset', 'new');
SELECT * FROM main.products ORDER BY sku;
--= chai|0
--= milk|100
--= new|0
--= tea|5
UPDATE phone.products SET stock = stock + 1;
SELECT table_name, rows_changed FROM counter_sync('phone');
--= products|4
SELECT * FROM phone.products ORDER BY sku;
--= chai|0
--= milk|100
--= new|0
SELECT * FROM main.products ORDER BY sku;
--= chai|0
--= milk|100
--= new|0

-- # a-foreign-key-keeps-a-row-that-was-deleted-elsewhere
ATTACH 'phone.db' AS phone;
PRAGMA foreign_keys = ON;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE phone.products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.products VALUES('tea', 5), ('milk', 6);
SELECT counter_track('main.products', 'stock');
--= 2
SELECT counter_track('phone.products', 'stock');
--= 0
SELECT table_name, rows_changed FROM counter_push('phone');
--= products|2
CREATE TABLE orders(sku TEXT REFERENCES products(sku));
CREATE TABLE wishes(sku TEXT REFERENCES products(sku) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO orders VALUES('tea');
INSERT INTO wishes VALUES('milk');
DELETE FROM phone.products;
SELECT table_name, rows_changed FROM counter_pull('phone');
--= products|2
SELECT * FROM main.products ORDER BY sku;
--= milk|6
--= tea|5
SELECT * FROM counter_tracked WHERE state <> 'tracked' ORDER BY row_key;
--= products|stock|differs|('milk')|6|NULL
--= products|stock|differs|('tea')|5|NULL
UPDATE main.products SET stock = 9 WHERE sku = 'tea';
SELECT * FROM main.products ORDER BY sku;
--= milk|6
--= tea|9
SELECT * FROM counter_tracked WHERE state <> 'tracked';
--= products|stock|differs|('milk')|6|NULL
SELECT table_name, rows_changed FROM counter_push('phone');
--= products|1
SELECT * FROM phone.products;
--= tea|9

-- # renames-are-followed
ATTACH 'phone.db' AS phone;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE phone.products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
SELECT counter_track('main.products', 'stock');
--= 0
SELECT counter_track('phone.products', 'stock');
--= 0
ALTER TABLE main.products RENAME TO "my items";
ALTER TABLE "my items" RENAME COLUMN stock TO "the amount";
ALTER TABLE "my items" RENAME COLUMN sku TO code;
ALTER TABLE "my items" ADD COLUMN price REAL;
INSERT INTO "my items" VALUES('tea', 5, 1.5);
INSERT INTO phone.products VALUES('tea', 7), ('milk', 1);
SELECT table_name, rows_changed FROM counter_sync('phone');
--= my items|3
SELECT * FROM "my items" ORDER BY code;
--= milk|1|NULL
--= tea|12|1.5
SELECT * FROM phone.products ORDER BY sku;
--= milk|1
--= tea|12
SELECT * FROM counter_tracked;
--= my items|the amount|tracked|NULL|NULL|NULL

-- # a-rebuild-is-noticed-and-mended-by-tracking-again
ATTACH 'phone.db' AS phone;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE phone.products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.products VALUES('tea', 5), ('milk', 6), ('chai', 7);
SELECT counter_track('main.products', 'stock');
--= 3
SELECT counter_track('phone.products', 'stock');
--= 0
SELECT table_name, rows_changed FROM counter_push('phone');
--= products|3
CREATE TABLE new_products(sku TEXT PRIMARY KEY, name TEXT, stock INTEGER NOT NULL DEFAULT 0);
INSERT INTO new_products SELECT sku, NULL, stock FROM products;
DROP TABLE main.products;
ALTER TABLE new_products RENAME TO products;
UPDATE main.products SET stock = stock + 100 WHERE sku = 'tea';
DELETE FROM main.products WHERE sku = 'milk';
INSERT INTO main.products VALUES('new', 'New', 1);
SELECT * FROM counter_tracked;
--= products|stock|broken|NULL|NULL|NULL
SELECT * FROM counter_pull('phone');
--! counter_pull: table products: the taking file: the tracked table products has lost its triggers, so that changes may not have been counted: call counter_track('products', ...) again, which counts them
SELECT * FROM counter_push('phone');
--! counter_push: table products: the giving file: the tracked table products has lost its triggers, so that changes may not have been counted: call counter_track('products', ...) again, which counts them
SELECT count(*) FROM counter_changes(0);
--! counter_changes: the tracked table products has lost its triggers, so that changes may not have been counted: call counter_track('products', ...) again, which counts them
UPDATE phone.products SET stock = stock + 1;
SELECT counter_track('products');
--= 3
SELECT table_name, rows_changed FROM counter_sync('phone');
--= products|5
SELECT sku, stock FROM main.products ORDER BY sku;
--= chai|8
--= new|1
--= tea|106
SELECT sku, stock FROM phone.products ORDER BY sku;
--= chai|8
--= new|1
--= tea|106

-- # what-was-changed-without-the-triggers-is-not-written-over
ATTACH 'phone.db' AS phone;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE phone.products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.products VALUES('tea', 5);
SELECT counter_track('main.products', 'stock');
--= 1
SELECT counter_track('phone.products', 'stock');
--= 0
SELECT table_name, rows_changed FROM counter_push('phone');
--= products|1
CREATE TRIGGER silent AFTER UPDATE ON products WHEN NEW.stock = 77 BEGIN SELECT RAISE(IGNORE); END;
UPDATE main.products SET stock = 77;
UPDATE phone.products SET stock = stock + 1;
DROP TRIGGER silent;
SELECT stock, (SELECT stock FROM products_counters) IN (5, 77) FROM main.products;
--= 77|1
SELECT coalesce(counter_track('products', 'stock'), 0) = 1 FROM products_counters WHERE stock = 5;
--= 1
SELECT table_name, rows_changed FROM counter_sync('phone');
--= products|2
SELECT stock FROM phone.products;
--= 78

-- # more-columns-later-and-fewer
ATTACH 'phone.db' AS phone;
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0, sold INTEGER);
CREATE TABLE phone.products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0, sold INTEGER);
INSERT INTO main.products VALUES('tea', 5, 3);
SELECT counter_track('main.products', 'stock');
--= 1
SELECT counter_track('phone.products', 'stock');
--= 0
SELECT table_name, rows_changed FROM counter_push('phone');
--= products|1
SELECT counter_track('products', 'sold');
--= 1
UPDATE main.products SET sold = sold + 1;
SELECT table_name, rows_changed FROM counter_push('phone');
--= products|1
SELECT * FROM phone.products;
--= tea|5|NULL
UPDATE phone.products SET stock = stock + 1, sold = 10;
SELECT counter_track('phone.products', 'sold');
--= 1
SELECT * FROM counter_tracked('phone') WHERE state <> 'tracked';
SELECT table_name, rows_changed FROM counter_sync('phone');
--= products|1
SELECT * FROM main.products;
--= tea|6|14
SELECT * FROM phone.products;
--= tea|6|14
SELECT counter_untrack('products', 'sold');
--= 1
UPDATE main.products SET sold = 1000, stock = 0;
SELECT table_name FROM counter_sync('phone');
--= products
UPDATE phone.products SET sold = 2000, stock = stock + 1;
SELECT table_name FROM counter_sync('phone');
--= products
SELECT * FROM main.products;
--= tea|1|1000
SELECT * FROM phone.products;
--= tea|1|2000
SELECT counter_untrack('products', 'stock');
--! counter_untrack: products: stock is its last tracked column: counter_untrack('products') untracks the table
SELECT counter_untrack('main.products');
--= 1
SELECT name FROM main.sqlite_master WHERE name LIKE 'products\_%' ESCAPE '\';
SELECT * FROM main.products;
--= tea|1|1000

-- # floors-take-the-counters-and-leave-the-rows
CREATE TABLE t(hour INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m INTEGER);
INSERT INTO t VALUES(1, 1, 1), (2, 2, 2), (3, 3, 3);
SELECT counter_track('t', 'n', 'm');
--= 3
INSERT INTO t_counters(t_counters, hour) VALUES('purge below', 3);
SELECT * FROM t;
--= 1|0|NULL
--= 2|0|NULL
--= 3|3|3
SELECT * FROM counter_tracked WHERE state <> 'tracked';
UPDATE t SET n = 1 WHERE hour = 1;
--! t: the key (1) is below a floor of the table, where nothing is counted any more; SELECT * FROM counter_floors('t_counters')

-- # what-counter-track-and-untrack-refuse
CREATE VIRTUAL TABLE taken USING counter(k TEXT PRIMARY KEY, n COUNTER);
ALTER TABLE taken RENAME TO other;
CREATE TABLE taken(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('taken', 'n');
--! counter_track: taken: the counter table other was created under this name, and files match their tables by it
CREATE TABLE odd(k TEXT PRIMARY KEY, n INTEGER, _n INTEGER, counter_x INTEGER);
SELECT counter_track('odd', '_n');
--! counter_track: odd: a column with the reserved name _n
SELECT counter_track('odd', 'k');
--! counter_track: odd: column k is part of the key, and cannot be tracked
SELECT counter_track('odd', 'n', 'N');
--! counter_track: odd: column N is named twice
SELECT counter_track('odd', 'no');
--! counter_track: odd: there is no column 'no'
SELECT counter_track();
--! counter_track: it takes a table and its columns
SELECT counter_track('odd');
--! counter_track: odd: name the columns to be tracked
SELECT counter_untrack();
--! counter_untrack: it takes a table and its columns
SELECT counter_untrack('odd', 'n');
--! counter_untrack: odd is not a tracked table
CREATE TABLE folded(k TEXT COLLATE NOCASE, n INTEGER, PRIMARY KEY(k COLLATE BINARY));
SELECT counter_track('folded', 'n');
--! counter_track: folded: the PRIMARY KEY compares column k by BINARY, the column itself by NOCASE
CREATE TABLE strange(k "TEXT,x" PRIMARY KEY, n INTEGER);
SELECT counter_track('strange', 'n');
--! counter_track: strange: the type of the key column k must be plain words, not TEXT,x
SELECT counter_track('odd', 'n');
--= 0
SELECT counter_untrack('odd', 'k');
--! counter_untrack: odd: column 'k' is not tracked
DROP TABLE odd_counters;
--! access permission denied
ALTER TABLE odd_counters RENAME TO x;
--! odd_counters: it holds the counters of a tracked table, and keeps its name
CREATE TABLE new_odd(k INTEGER PRIMARY KEY, n INTEGER, _n INTEGER);
DROP TABLE odd;
ALTER TABLE new_odd RENAME TO odd;
SELECT counter_track('odd', 'n');
--! counter_track: odd: the key is (k INTEGER BINARY), that of its counters, odd_counters, is (k TEXT BINARY)
DROP TABLE odd;
CREATE TABLE even(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('even', 'n');
--! counter_track: even: odd_counters holds the counters of a tracked table odd, which is gone: if even is that table, rename it to odd, call counter_track('odd', ...), and rename it back

-- # what-cannot-be-tracked-is-refused-by-name
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, name TEXT, price REAL, g INTEGER AS (n * 2));
CREATE TABLE keyless(n INTEGER);
CREATE VIEW w AS SELECT 1 AS n;
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
SELECT counter_track('nothing', 'n');
--! counter_track: there is no table 'nothing'
SELECT counter_track('w', 'n');
--! counter_track: w is a view: only an ordinary table has columns that can be tracked
SELECT counter_track('v', 'n');
--! counter_track: v is a virtual table: only an ordinary table has columns that can be tracked
SELECT counter_track('keyless', 'n');
--! counter_track: keyless has no PRIMARY KEY, by which its rows would be known in other files
SELECT counter_track('t', 'x');
--! counter_track: t: there is no column 'x'
SELECT counter_track('t', 'k');
--! counter_track: t: column k is part of the key, and cannot be tracked
SELECT counter_track('t', 'name');
--! counter_track: t: column name holds TEXT, by its type TEXT, and a tracked column integers
SELECT counter_track('t', 'price');
--! counter_track: t: column price holds REAL, by its type REAL, and a tracked column integers
SELECT counter_track('t', 'g');
--! counter_track: t: column g is generated, and cannot be tracked
SELECT counter_track('t', 'n', 'N');
--! counter_track: t: column N is named twice
SELECT counter_track('t');
--! counter_track: t: name the columns to be tracked
SELECT counter_untrack('t');
--! counter_untrack: t is not a tracked table
INSERT INTO t(k, n) VALUES('a', 1), ('b', 'many');
SELECT counter_track('t', 'n');
--! counter_track: t: row ('b'): column n: a tracked column takes an INTEGER, not TEXT 'many'
UPDATE t SET n = 5.5;
SELECT counter_track('t', 'n');
--! counter_track: t: row ('a'): column n: a tracked column takes an INTEGER, not REAL 5.5
UPDATE t SET n = 5, k = CASE k WHEN 'a' THEN NULL ELSE k END;
SELECT counter_track('t', 'n');
--! counter_track: t: row (NULL): key column k must not be NULL
SELECT count(*) FROM sqlite_master WHERE name LIKE 't\_%' ESCAPE '\';
--= 0
DELETE FROM t WHERE k IS NULL;
SELECT counter_track('t', 'n');
--= 1
SELECT counter_track('t', 'n');
--! counter_track: t: column n is tracked already
INSERT OR IGNORE INTO t(k, n) VALUES('c', 5.5);
--! t: row ('c'): column n: a tracked column takes an INTEGER, not REAL 5.5
UPDATE OR FAIL t SET n = 'x';
--! t: row ('b'): column n: a tracked column takes an INTEGER, not TEXT 'x'
INSERT INTO t(n) VALUES(1);
--! t: row (NULL): key column k must not be NULL
SELECT k, n FROM t;
--= b|5
INSERT INTO t_counters VALUES('x', 1);
--! t_counters: it holds the counters of a tracked table, and cannot be written: write that table
UPDATE t_counters SET n = 1;
--! t_counters: it holds the counters of a tracked table, and cannot be written: write that table
DELETE FROM t_counters;
--! t_counters: it holds the counters of a tracked table, and cannot be written: write that table
ALTER TABLE t_counters RENAME TO u;
--! t_counters: it holds the counters of a tracked table, and keeps its name
INSERT INTO t_counters(t_counters) VALUES('add column m');
--! t_counters: 'add column m' is no command for the counters of a tracked table: counter_track and counter_untrack add and drop its columns
SELECT * FROM t_counters;
--= b|5
