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
--= products|stock|tracked|NULL|NULL|NULL|NULL
SELECT name, birth FROM counter_tables;
--= products_counters|products

-- # null-is-a-counter-without-a-value
CREATE TABLE t(k INTEGER PRIMARY KEY, n INTEGER, m INTEGER);
SELECT counter_track('t', 'n', 'm', 'keys=assigned');
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
SELECT counter_track('phone.t', 'n', 'm', 'keys=assigned');
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
--= products|stock|waits|('tea')|NULL|10|NOT NULL constraint failed: products.name
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
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL CONSTRAINT enough CHECK (stock >= 0));
CREATE TABLE phone.products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL CONSTRAINT enough CHECK (stock >= 0));
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
--= products|stock|differs|('tea')|0|-4|CHECK constraint failed: enough
SELECT * FROM counter_tracked('phone') WHERE state <> 'tracked';
--= products|stock|differs|('tea')|1|-4|CHECK constraint failed: enough
UPDATE main.products SET stock = stock + 3;
SELECT stock FROM main.products;
--= 3
SELECT * FROM counter_tracked WHERE state <> 'tracked';
--= products|stock|differs|('tea')|3|-1|CHECK constraint failed: enough
UPDATE main.products SET stock = stock + 3;
SELECT stock FROM main.products;
--= 2
SELECT * FROM counter_tracked WHERE state <> 'tracked';
SELECT table_name, rows_changed FROM counter_push('phone');
--= products|1
SELECT * FROM phone.products;
--= tea|2
SELECT * FROM counter_tracked('phone') WHERE state <> 'tracked';

-- # a-number-in-place-of-null-is-added-to-the-value-that-the-table-did-not-take
ATTACH 'phone.db' AS phone;
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER CHECK (n < 40));
CREATE TABLE phone.t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('main.t', 'n');
--= 0
SELECT counter_track('phone.t', 'n');
--= 0
INSERT INTO phone.t VALUES ('a', 1);
SELECT rows_changed FROM counter_pull('phone');
--= 1
UPDATE main.t SET n = NULL;
SELECT rows_changed FROM counter_push('phone');
--= 1
UPDATE phone.t SET n = 50;
SELECT rows_changed FROM counter_pull('phone');
--= 1
SELECT state, shown, merged FROM counter_tracked WHERE row_key NOT NULL;
--= differs|NULL|50
REPLACE INTO main.t VALUES ('a', NULL);
SELECT state, shown, merged FROM counter_tracked WHERE row_key NOT NULL;
--= differs|NULL|50
UPDATE main.t SET n = coalesce(n, 0) + 1;
SELECT state, shown, merged FROM counter_tracked WHERE row_key NOT NULL;
--= differs|1|51
UPDATE main.t SET n = 3;
SELECT state, shown, merged FROM counter_tracked WHERE row_key NOT NULL;
--= differs|3|53
UPDATE phone.t SET n = n - 20;
SELECT rows_changed FROM counter_sync('phone');
--= 2
SELECT main.t.n, phone.t.n FROM main.t JOIN phone.t;
--= 33|33

-- # a-change-of-a-row-whose-counter-lost-its-value-elsewhere-counts-from-what-the-row-shows
ATTACH 'phone.db' AS phone;
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER CHECK (n IS NOT NULL));
CREATE TABLE phone.t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('main.t', 'n');
--= 0
SELECT counter_track('phone.t', 'n');
--= 0
INSERT INTO main.t VALUES ('a', 5);
SELECT rows_changed FROM counter_push('phone');
--= 1
UPDATE phone.t SET n = NULL;
SELECT rows_changed FROM counter_pull('phone');
--= 1
SELECT state, shown, merged FROM counter_tracked WHERE row_key NOT NULL;
--= differs|5|NULL
UPDATE main.t SET n = n + 2;
SELECT n FROM main.t;
--= 2

-- # a-row-of-null-that-comes-back-without-the-triggers-comes-back-in-all-files
ATTACH 'phone.db' AS phone;
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE phone.t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('main.t', 'n');
--= 0
SELECT counter_track('phone.t', 'n');
--= 0
INSERT INTO main.t VALUES ('a', 5);
DELETE FROM main.t;
DROP TRIGGER t_counters_insert;
INSERT INTO main.t VALUES ('a', NULL);
SELECT counter_track('t');
--= 1
SELECT counter_track('t');
--= 0
SELECT rows_changed FROM counter_push('phone');
--= 1
SELECT * FROM phone.t;
--= a|NULL

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
--= products|stock|differs|('milk')|6|NULL|FOREIGN KEY constraint failed: a row of wishes refers to it by sku
--= products|stock|differs|('tea')|5|NULL|FOREIGN KEY constraint failed: a row of orders refers to it by sku
UPDATE main.products SET stock = 9 WHERE sku = 'tea';
SELECT * FROM main.products ORDER BY sku;
--= milk|6
--= tea|9
SELECT * FROM counter_tracked WHERE state <> 'tracked';
--= products|stock|differs|('milk')|6|NULL|FOREIGN KEY constraint failed: a row of wishes refers to it by sku
SELECT table_name, rows_changed FROM counter_push('phone');
--= products|1
SELECT * FROM phone.products;
--= tea|9

-- # a-row-that-refers-to-itself-alone-is-deleted-by-a-merge
ATTACH 'phone.db' AS phone;
PRAGMA foreign_keys = ON;
CREATE TABLE t(k TEXT PRIMARY KEY, up TEXT REFERENCES t(k), n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE phone.t(k TEXT PRIMARY KEY, up TEXT, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_track('main.t', 'n');
--= 0
SELECT counter_track('phone.t', 'n');
--= 0
INSERT INTO main.t VALUES('root', 'root', 1), ('leaf', 'root', 2), ('lone', 'lone', 3), ('free', NULL, 4);
SELECT table_name, rows_changed FROM counter_push('phone');
--= t|4
CREATE TABLE other(id INTEGER PRIMARY KEY, parent TEXT REFERENCES t(k));
INSERT INTO other VALUES(1, 'free');
DELETE FROM phone.t WHERE k <> 'leaf';
SELECT table_name, rows_changed FROM counter_pull('phone');
--= t|3
SELECT * FROM main.t ORDER BY k;
--= free|NULL|4
--= leaf|root|2
--= root|root|1
SELECT row_key, shown, merged FROM counter_tracked WHERE state = 'differs' ORDER BY row_key;
--= ('free')|4|NULL
--= ('root')|1|NULL

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
--= my items|the amount|tracked|NULL|NULL|NULL|NULL

-- # names-that-a-call-has-noted-after-a-rename-are-those-of-the-table-when-it-is-rebuilt
CREATE TABLE t(k TEXT PRIMARY KEY, a INTEGER, b INTEGER);
INSERT INTO t VALUES('x', 1, 2);
SELECT counter_track('t', 'a', 'b');
--= 1
ALTER TABLE t RENAME COLUMN a TO c;
ALTER TABLE t RENAME TO u;
SELECT counter_track('u');
--= 0
SELECT counter_track('u');
--= 0
SELECT counter_track('u', 'c');
--= 0
CREATE TABLE new(k TEXT PRIMARY KEY, c INTEGER, b INTEGER);
INSERT INTO new SELECT * FROM u;
DROP TABLE u;
ALTER TABLE new RENAME TO u;
UPDATE u SET c = 10;
SELECT counter_track('u');
--= 1
SELECT * FROM t_counters;
--= x|10|2

-- # names-may-begin-with-a-quotation-mark
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER NOT NULL);
SELECT counter_track('t', 'n');
--= 0
ALTER TABLE t RENAME TO """t";
ALTER TABLE """t" RENAME COLUMN k TO """k";
ALTER TABLE """t" RENAME COLUMN n TO """n";
INSERT INTO """t" VALUES('x', 1);
UPDATE """t" SET """n" = """n" + 4;
SELECT * FROM counter_tracked;
--= "t|"n|tracked|NULL|NULL|NULL|NULL
SELECT * FROM t_counters;
--= x|5

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
--= products|stock|broken|NULL|NULL|NULL|NULL
SELECT * FROM counter_pull('phone');
--! counter_pull: table products: the taking file: the tracked table products has lost its triggers, so changes may not have been counted: call counter_track('products', ...) again, which counts them
SELECT * FROM counter_push('phone');
--! counter_push: table products: the giving file: the tracked table products has lost its triggers, so changes may not have been counted: call counter_track('products', ...) again, which counts them
SELECT count(*) FROM counter_changes(0);
--! counter_changes: the tracked table products has lost its triggers, so changes may not have been counted: call counter_track('products', ...) again, which counts them
UPDATE phone.products SET stock = stock + 1;
SELECT counter_track('products');
--! counter_track: products: 1 of its rows is missing, ('milk'), and no DELETE of them was seen: add 'missing=restored' to the call, which brings them back, or 'missing=deleted', which deletes them in all files
SELECT counter_track('products', 'missing=deleted');
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
SELECT coalesce(counter_track('products'), 0) = 1 FROM products_counters WHERE stock = 5;
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
SELECT counter_track('phone.products', 'sold', 'opening=add');
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
SELECT counter_track('t', 'n', 'm', 'keys=assigned');
--= 3
INSERT INTO t_counters(t_counters, hour) VALUES('purge below', 3);
SELECT * FROM t;
--= 1|0|NULL
--= 2|0|NULL
--= 3|3|3
SELECT * FROM counter_tracked WHERE state <> 'tracked';
UPDATE t SET n = 1 WHERE hour = 1;
--! t: the key (1) is below a floor of the table; see counter_floors('t_counters')

-- # what-counter-track-and-untrack-refuse
CREATE VIRTUAL TABLE taken USING counter(k TEXT PRIMARY KEY, n COUNTER);
ALTER TABLE taken RENAME TO other;
CREATE TABLE taken(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('taken', 'n');
--! counter_track: taken: the counter table other was created with this name, by which files match their tables
CREATE TABLE odd(k TEXT PRIMARY KEY, n INTEGER, _n INTEGER, counter_x INTEGER);
SELECT counter_track('odd', '_n');
--! counter_track: odd: the column name _n is reserved: rename the column, here and in the other files
SELECT counter_track('odd', 'k');
--! counter_track: odd: column k is part of the key and cannot be tracked
SELECT counter_track('odd', 'n', 'N');
--! counter_track: odd: column N is named twice
SELECT counter_track('odd', 'no');
--! counter_track: odd: there is no column 'no'
SELECT counter_track();
--! counter_track: the arguments are a table and its columns
SELECT counter_track('odd');
--! counter_track: odd: name the columns to be tracked
SELECT counter_untrack();
--! counter_untrack: the arguments are a table and its columns
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
--! odd_counters: it holds the counters of a tracked table and cannot be renamed
CREATE TABLE new_odd(k INTEGER PRIMARY KEY, n INTEGER, _n INTEGER);
DROP TABLE odd;
ALTER TABLE new_odd RENAME TO odd;
SELECT counter_track('odd', 'n');
--! counter_track: odd: the key is (k INTEGER BINARY), but that of its counters, odd_counters, is (k TEXT BINARY): if a migration has changed it, add 'keys=changed' to the call
DROP TABLE odd;
CREATE TABLE even(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('even', 'n');
--! counter_track: even: odd_counters holds the counters of a tracked table odd, which is missing: if even is that table, rename it to odd, call counter_track('odd', ...), and rename it back

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
--! counter_track: keyless has no PRIMARY KEY, which must identify its rows in other files
SELECT counter_track('t', 'x');
--! counter_track: t: there is no column 'x'
SELECT counter_track('t', 'k');
--! counter_track: t: column k is part of the key and cannot be tracked
SELECT counter_track('t', 'name');
--! counter_track: t: column name holds TEXT by its type TEXT, but a tracked column must hold integers
SELECT counter_track('t', 'price');
--! counter_track: t: column price holds REAL by its type REAL, but a tracked column must hold integers
SELECT counter_track('t', 'g');
--! counter_track: t: column g is generated and cannot be tracked
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
--= 0
INSERT OR IGNORE INTO t(k, n) VALUES('c', 5.5);
--! t: row ('c'): column n: a tracked column takes an INTEGER, not REAL 5.5
UPDATE OR FAIL t SET n = 'x';
--! t: row ('b'): column n: a tracked column takes an INTEGER, not TEXT 'x'
INSERT INTO t(n) VALUES(1);
--! t: row (NULL): key column k must not be NULL
SELECT k, n FROM t;
--= b|5
INSERT INTO t_counters VALUES('x', 1);
--! t_counters: it holds the counters of a tracked table and cannot be written: write that table
UPDATE t_counters SET n = 1;
--! t_counters: it holds the counters of a tracked table and cannot be written: write that table
DELETE FROM t_counters;
--! t_counters: it holds the counters of a tracked table and cannot be written: write that table
ALTER TABLE t_counters RENAME TO u;
--! t_counters: it holds the counters of a tracked table and cannot be renamed
INSERT INTO t_counters(t_counters) VALUES('add column m');
--! t_counters: 'add column m' is not a command for the counters of a tracked table: counter_track and counter_untrack add and drop its columns
SELECT * FROM t_counters;
--= b|5

-- # names-that-would-be-mistaken-are-refused
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES('a', 1);
SELECT counter_track('t', 'n');
--= 1
ALTER TABLE t RENAME COLUMN n TO pieces;
ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 4;
SELECT counter_track('t', 'n');
--! counter_track: t: the counter n belongs to the column pieces
SELECT counter_track('t');
--= 0
SELECT counter_track('t');
--= 0
SELECT * FROM t_counters;
--= a|1
DROP TABLE t;
SELECT * FROM counter_tracked;
--= t|n|broken|NULL|NULL|NULL|NULL
SELECT count(*) FROM counter_changes(0);
--! counter_changes: the tracked table t is missing, and its counters are in t_counters: if it has another name now, rename it to t, call counter_track('t', ...), and rename it back; if it was dropped by mistake, create it and call counter_track('t', 'missing=restored'), which brings its rows back; if it was dropped for good, drop t_counters, too
DROP TABLE t_counters;
SELECT count(*) FROM counter_changes(0);
--= 0

-- # a-column-that-is-lost-is-found-by-its-name-or-left-out
CREATE TABLE t(k TEXT PRIMARY KEY, a INTEGER, b INTEGER);
INSERT INTO t VALUES('x', 1, 2);
SELECT counter_track('t', 'a', 'b');
--= 1
ALTER TABLE t RENAME COLUMN a TO c;
CREATE TABLE new(k TEXT PRIMARY KEY, c INTEGER, b INTEGER);
INSERT INTO new SELECT * FROM t;
DROP TABLE t;
ALTER TABLE new RENAME TO t;
UPDATE t SET c = 10;
SELECT counter_track('t');
--! counter_track: t: the column of the counter a is missing: if it was renamed, rename it back, call counter_track, and rename it again; if it was dropped, name the remaining ones: counter_track('t', ...)
SELECT counter_track('t', 'c');
--! counter_track: t: the column of the counter a is missing: if it was renamed, rename it back, call counter_track, and rename it again; if it was dropped, name the remaining ones: counter_track('t', ...)
ALTER TABLE t RENAME COLUMN c TO a;
SELECT counter_track('t');
--= 1
SELECT * FROM t_counters;
--= x|10|2
CREATE TABLE new(k TEXT PRIMARY KEY, b INTEGER);
INSERT INTO new SELECT k, b + 1 FROM t;
DROP TABLE t;
ALTER TABLE new RENAME TO t;
SELECT counter_track('t');
--! counter_track: t: the column of the counter a is missing: if it was renamed, rename it back, call counter_track, and rename it again; if it was dropped, name the remaining ones: counter_track('t', ...)
SELECT counter_track('t', 'b');
--= 1
UPDATE t SET b = b + 1;
SELECT * FROM t_counters;
--= x|10|4
SELECT table_name, column_name, state FROM counter_tracked;
--= t|b|tracked
CREATE TABLE new(k TEXT PRIMARY KEY, d INTEGER);
DROP TABLE t;
ALTER TABLE new RENAME TO t;
SELECT counter_track('t');
--! counter_track: t: none of its counters has a column of its name here: if columns were renamed, rename them back, call counter_track, and rename them again

-- # names-are-noted-once-what-was-written-stays
CREATE TABLE t(k TEXT PRIMARY KEY, a INTEGER, u INTEGER UNIQUE);
INSERT INTO t VALUES('x', 1, 1);
SELECT counter_track('t', 'a');
--= 1
ALTER TABLE t RENAME COLUMN a TO c;
BEGIN;
UPDATE t SET c = c + 1;
ROLLBACK;
INSERT INTO t VALUES('y', 1, 2), ('z', 1, 1);
--! UNIQUE constraint failed: t.u
UPDATE t SET c = c + 1;
CREATE TABLE new(k TEXT PRIMARY KEY, c INTEGER, u INTEGER UNIQUE);
INSERT INTO new SELECT * FROM t;
DROP TABLE t;
ALTER TABLE new RENAME TO t;
UPDATE t SET c = c + 1;
SELECT counter_track('t');
--= 1
SELECT * FROM t_counters;
--= x|3

-- # a-trigger-that-was-dropped-alone-is-put-back
ATTACH 'phone.db' AS phone;
CREATE TABLE phone.t(k TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, u TEXT UNIQUE);
INSERT INTO main.t VALUES('a', 1, 'A'), ('b', 2, 'B'), ('c', 3, 'C');
SELECT counter_track('main.t', 'n');
--= 3
SELECT counter_track('phone.t', 'n');
--= 0
DROP TRIGGER main.t_counters_insert;
INSERT INTO main.t VALUES('d', 4, 'D');
SELECT * FROM counter_push('phone');
--! counter_push: table t: the giving file: the tracked table t has lost its triggers, so changes may not have been counted: call counter_track('t', ...) again, which counts them
SELECT counter_track('t');
--= 1
DROP TRIGGER main.t_counters_key;
UPDATE main.t SET k = 'e' WHERE k = 'd';
SELECT * FROM counter_push('phone');
--! counter_push: table t: the giving file: the trigger t_counters_key of the tracked table t is not as counter_track makes it, so changes may not have been counted: call counter_track('t', ...) again, which counts them
SELECT counter_track('t');
--! counter_track: t: 1 of its rows is missing, ('d'), and no DELETE of them was seen: add 'missing=restored' to the call, which brings them back, or 'missing=deleted', which deletes them in all files
SELECT counter_track('t', 'missing=deleted');
--= 2
DROP TRIGGER main.t_counters_before_insert;
REPLACE INTO main.t VALUES('f', 6, 'A');
SELECT state FROM counter_tracked;
--= broken
SELECT counter_track('t');
--! counter_track: t: 1 of its rows is missing, ('a'), and no DELETE of them was seen: add 'missing=restored' to the call, which brings them back, or 'missing=deleted', which deletes them in all files
SELECT counter_track('t', 'missing=deleted');
--= 1
SELECT counter_track('t', 'missing=deleted');
--= 0
SELECT table_name, rows_changed FROM counter_push('phone');
--= t|6
SELECT * FROM phone.t ORDER BY k;
--= b|2
--= c|3
--= e|4
--= f|6

-- # an-index-that-is-newer-than-the-triggers-breaks-them
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, "a""b" TEXT);
SELECT counter_track('t', 'n');
--= 0
CREATE UNIQUE INDEX i ON t(lower("a""b") DESC, n + 0 /* , */ ASC);
REPLACE INTO t VALUES('1', 1, 'A'), ('2', 2, 'B');
SELECT * FROM counter_tracked;
--= t|n|broken|NULL|NULL|NULL|NULL
SELECT counter_track('t', 'n');
--= 0
REPLACE INTO t VALUES('3', 1, 'a');
SELECT k, n FROM t;
--= 2|2
--= 3|1
SELECT * FROM t_counters;
--= 2|2
--= 3|1

-- # a-default-in-place-of-null-replaces-the-row-that-has-it
CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL DEFAULT 'key', n INTEGER, u TEXT NOT NULL DEFAULT 'x' UNIQUE COLLATE NOCASE,
  v NOT NULL DEFAULT red UNIQUE, w NOT NULL DEFAULT "a (""b" UNIQUE, f INTEGER NOT NULL DEFAULT TRUE,
  e INTEGER NOT NULL DEFAULT (1 + 1 /* ) */), b NOT NULL DEFAULT x'01');
CREATE UNIQUE INDEX i ON t(e + f, b);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES('a', 1, 'X', 0, 0, 0, 0, 0), ('b', 2, 0, 'red', 1, 0, 1, 0), ('c', 3, 1, 1, 'a ("b', 0, 2, 0),
  ('d', 4, 2, 2, 2, 2, 1, x'01'), ('e', 5, 3, 3, 3, 3, 3, 3), ('f', 6, 4, 4, 4, 4, 4, 4);
SELECT count(*) FROM t_counters;
--= 6
REPLACE INTO t VALUES('g', 7, NULL, 10, 10, 10, 10, 10);
REPLACE INTO t VALUES('h', 8, 11, NULL, 11, 11, 11, 11);
REPLACE INTO t VALUES('i', 9, 12, 12, NULL, 12, 12, 12);
REPLACE INTO t VALUES('j', 10, 13, 13, 13, NULL, NULL, NULL);
UPDATE OR REPLACE t SET u = NULL WHERE k = 'e';
REPLACE INTO t VALUES(NULL, 11, 14, 14, 14, 14, 14, 14);
REPLACE INTO t VALUES(NULL, 12, 15, 15, 14, 15, 15, 15);
SELECT k, n FROM t ORDER BY k;
--= e|5
--= f|6
--= h|8
--= i|9
--= j|10
--= key|12
SELECT * FROM t_counters ORDER BY k;
--= e|5
--= f|6
--= h|8
--= i|9
--= j|10
--= key|12

-- # a-default-that-calls-a-function-is-not-called-for-other-values
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, u TEXT NOT NULL DEFAULT (missing('x')) UNIQUE);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES('a', 1, 'x'), ('b', 2, 'y');
UPDATE t SET u = 'z' WHERE k = 'b';
SELECT * FROM t_counters;
--= a|1
--= b|2

-- # tables-of-temp-and-of-attached-files-are-tracked
ATTACH 'other.db' AS "o""t'h]er";
CREATE TABLE "o""t'h]er"."my ""table"(k INTEGER PRIMARY KEY, "the ""number" INTEGER);
CREATE TEMP TABLE t(k INTEGER PRIMARY KEY, n INTEGER);
SELECT counter_track('my "table', 'the "number', 'keys=assigned');
--= 0
SELECT counter_track('T', 'N', 'keys=assigned');
--= 0
SELECT counter_track('temp.t', 'n');
--= 0
INSERT INTO "my ""table" VALUES(1, 2);
INSERT INTO t VALUES(1, 3);
UPDATE "my ""table" SET "the ""number" = 5;
UPDATE t SET n = n + 1;
SELECT * FROM "my ""table_counters";
--= 1|5
SELECT * FROM t_counters;
--= 1|4
SELECT * FROM counter_tracked('temp');
--= t|n|tracked|NULL|NULL|NULL|NULL
SELECT * FROM counter_tracked('o"t''h]er');
--= my "table|the "number|tracked|NULL|NULL|NULL|NULL
SELECT counter_untrack('t');
--= 1
SELECT counter_untrack('o"t''h]er.my "table');
--= 1
SELECT count(*) FROM "o""t'h]er".sqlite_master WHERE name LIKE '%counters%';
--= 0

-- # a-column-that-refers-to-rows-or-is-true-or-false-is-no-counter
CREATE TABLE users(id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, user_id INTEGER REFERENCES users, a INT, "the b" INT, done BOOLEAN, ok bool NOT NULL DEFAULT 0,
  n INTEGER, FOREIGN KEY (a, "the b") REFERENCES users(id, n));
SELECT counter_track('t', 'n', 'user_id');
--! counter_track: t: column user_id refers to a row of users, and two changes of it that add up would refer to another row: it cannot be a counter; where counter_replicate does not name it, the last write wins
SELECT counter_replicate('t', 'USER_ID');
--!~ counter_replicate: t: column user_id refers to a row of users, *
SELECT counter_replicate_all('t.the b', 'leave=users');
--!~ counter_replicate_all: t: column the b refers to a row of users, *
SELECT counter_track('t', 'done');
--! counter_track: t: column done is a BOOLEAN, and two changes of it that add up would make it neither 0 nor 1: it cannot be a counter; where counter_replicate does not name it, the last write wins
SELECT counter_replicate('t', 'n', 'ok');
--!~ counter_replicate: t: column ok is a bool, *
SELECT counter_replicate('t', 'n');
--= 0
SELECT counter_replicate('t', 'a');
--!~ counter_replicate: t: column a refers to a row of users, *
SELECT column_name, state FROM counter_tracked WHERE state <> 'regular';
--= n|tracked

-- # a-counter-that-a-migration-makes-a-foreign-key-goes-on
CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER);
INSERT INTO t VALUES ('a', 1);
SELECT counter_replicate('t', 'n');
--= 1
CREATE TABLE new_t(k TEXT PRIMARY KEY NOT NULL, n BOOLEAN REFERENCES t, more INTEGER);
INSERT INTO new_t(k, n) SELECT * FROM t;
DROP TABLE t;
ALTER TABLE new_t RENAME TO t;
SELECT counter_replicate('t', 'n');
--= 0
SELECT counter_replicate('t', 'n', 'more');
--= 0
SELECT column_name, state FROM counter_tracked;
--= n|tracked
--= more|tracked

-- # a-key-that-becomes-another-one-is-refused-and-so-is-a-column
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES('a', 1);
SELECT counter_track('t', 'n');
--= 1
DROP TABLE t;
CREATE TABLE t(k TEXT PRIMARY KEY, n TEXT);
SELECT counter_track('t');
--! counter_track: t: column n holds TEXT by its type TEXT, but a tracked column must hold integers
DROP TABLE t;
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER AS (1));
SELECT counter_track('t');
--! counter_track: t: column n is generated and cannot be tracked
DROP TABLE t;
CREATE TABLE t(k TEXT COLLATE NOCASE PRIMARY KEY, n INTEGER);
SELECT counter_track('t');
--! counter_track: t: the key is (k TEXT NOCASE), but that of its counters, t_counters, is (k TEXT BINARY): if a migration has changed it, add 'keys=changed' to the call
DROP TABLE t;
CREATE TABLE t(k TEXT, l TEXT, n INTEGER, PRIMARY KEY(k, l));
SELECT counter_track('t');
--! counter_track: t: the key is (k TEXT BINARY, l TEXT BINARY), but that of its counters, t_counters, is (k TEXT BINARY): if a migration has changed it, add 'keys=changed' to the call
DROP TABLE t;
CREATE TABLE t(n INTEGER);
SELECT counter_track('t');
--! counter_track: t has no PRIMARY KEY, which must identify its rows in other files
DROP TABLE t;
CREATE TABLE t(l TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t');
--! counter_track: t: the key is (l TEXT BINARY), but that of its counters, t_counters, is (k TEXT BINARY): if a migration has changed it, add 'keys=changed' to the call
DROP TABLE t;
CREATE VIEW t AS SELECT 1 AS n;
SELECT counter_track('t');
--! counter_track: t is a view: only an ordinary table has columns that can be tracked
DROP VIEW t;
CREATE TABLE t(n INTEGER, k TEXT PRIMARY KEY);
SELECT counter_track('t');
--! counter_track: t: 1 of its rows is missing, ('a'), and no DELETE of them was seen: add 'missing=restored' to the call, which brings them back, or 'missing=deleted', which deletes them in all files
SELECT counter_track('t', 'missing=deleted');
--= 1
SELECT * FROM t_counters;

-- # a-type-that-tells-more-apart-than-its-column-is-refused
--@ since 3.37
CREATE TABLE t(k ANY PRIMARY KEY NOT NULL, n INTEGER) STRICT;
SELECT counter_track('t', 'n');
--! counter_track: t: the key column k has the type ANY, which distinguishes '1' from 1 in a STRICT table, but not here

-- # arguments-of-counter-track-are-texts
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);
SELECT counter_track(1, 'n');
--! counter_track: the table must be TEXT, not INTEGER 1
SELECT counter_track(NULL);
--! counter_track: the table must be TEXT, not NULL
SELECT counter_track('t', 'n', 2);
--! counter_track: the name of a column must be TEXT, not INTEGER 2
SELECT counter_untrack(x'00');
--! counter_untrack: the table must be TEXT, not BLOB x'00'
SELECT counter_untrack('t', NULL);
--! counter_untrack: the name of a column must be TEXT, not NULL
SELECT counter_track('t', 'n');
--= 0
SELECT counter_untrack('t', 'm');
--! counter_untrack: t: column 'm' is not tracked
SELECT counter_untrack('nothing');
--! counter_untrack: there is no table 'nothing'
SELECT counter_track('nowhere.t', 'n');
--! counter_track: there is no table 'nowhere.t'

-- # a-table-whose-triggers-are-gone-is-untracked-all-the-same
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);
INSERT INTO t VALUES('a', 1, 2);
SELECT counter_track('t', 'n', 'm');
--= 1
CREATE TABLE new(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);
INSERT INTO new SELECT * FROM t;
DROP TABLE t;
ALTER TABLE new RENAME TO t;
SELECT counter_untrack('t', 'm');
--= 1
UPDATE t SET n = n + 1, m = 0;
SELECT * FROM t_counters;
--= a|2
DROP TABLE t;
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_untrack('t');
--= 1
SELECT name FROM sqlite_master WHERE name LIKE '%counters%';

-- # untracking-a-column-counts-what-missing-triggers-have-not-counted
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);
INSERT INTO t VALUES('a', 1, 2), ('b', 3, 4);
SELECT counter_track('t', 'n', 'm');
--= 2
CREATE TABLE new(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);
INSERT INTO new SELECT * FROM t;
DROP TABLE t;
ALTER TABLE new RENAME TO t;
UPDATE t SET n = n + 10, m = m + 10 WHERE k = 'a';
DELETE FROM t WHERE k = 'b';
INSERT INTO t VALUES('c', 5, 6);
SELECT counter_untrack('t', 'm');
--! counter_untrack: t: 1 of its rows is missing, ('b'), and no DELETE of them was seen: add 'missing=restored' to the call, which brings them back, or 'missing=deleted', which deletes them in all files
SELECT counter_untrack('t', 'm', 'missing=deleted');
--= 1
SELECT state FROM counter_tracked;
--= tracked
SELECT * FROM t_counters ORDER BY k;
--= a|11
--= c|5

-- # a-column-that-was-dropped-without-its-triggers-is-untracked
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER, o INTEGER);
SELECT counter_track('t', 'n', 'm', 'o');
--= 0
INSERT INTO t VALUES('a', 1, 2, 3);
CREATE TABLE new(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO new SELECT k, n FROM t;
DROP TABLE t;
ALTER TABLE new RENAME TO t;
UPDATE t SET n = 5;
SELECT counter_untrack('t', 'm');
--! counter_untrack: t: the column of the counter o is missing: if it was renamed, rename it back, call counter_track, and rename it again; if it was dropped, name the remaining ones: counter_track('t', ...)
SELECT counter_untrack('t', 'M', 'o');
--= 2
SELECT counter_untrack('t', 'm');
--= 0
SELECT counter_untrack('t', 'p');
--! counter_untrack: t: column 'p' is not tracked
UPDATE t SET n = n + 1;
SELECT * FROM t_counters;
--= a|6

-- # a-column-that-was-dropped-while-triggers-still-name-it-is-untracked
--@ since 3.35
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);
SELECT counter_track('t', 'n', 'm');
--= 0
INSERT INTO t VALUES('a', 1, 2);
ALTER TABLE t RENAME COLUMN n TO stock;
PRAGMA legacy_alter_table = ON;
ALTER TABLE t DROP COLUMN m;
SELECT counter_untrack('t', 'm');
--= 1
UPDATE t SET stock = 5;
SELECT * FROM t_counters;
--= a|5

-- # a-cluster-takes-no-tracked-table
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
VACUUM INTO 'phone.db';
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE temp.shop USING counter_cluster(t_counters, replicas='main phone');
--! shop: the table t cannot be opened in any replica: t is a tracked table there, and a cluster takes only counter tables; counter_sync merges tracked ones
SELECT * FROM shop;
--! no such table: shop

-- # what-is-handed-over-to-a-counter-table-is-checked
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES('a', 1);
SELECT counter_track('t', 'n');
--= 1
INSERT INTO t_counters(_event, k, n) VALUES('updated', NULL, 1);
--! t: row (NULL): key column k must not be NULL
INSERT INTO t_counters(_event, k, n) VALUES('found', 'a', 2.5);
--! t: row ('a'): column n: a tracked column takes an INTEGER, not REAL 2.5
INSERT INTO t_counters(_event, k) VALUES('moved', 'a');
--! t_counters: _event is for the triggers of the tracked table, which insert no such row: TEXT 'moved'
INSERT INTO t_counters(_event, k) VALUES(x'00', 'a');
--! t_counters: _event is for the triggers of the tracked table, which insert no such row: BLOB x'00'
INSERT INTO t_counters(t_counters, _event, k) VALUES('reset', 'deleted', 'a');
--! t_counters: _event is for the triggers of the tracked table, which insert no such row: TEXT 'deleted'
INSERT INTO t_counters(request_id, _event, k) VALUES('x', 'deleted', 'a');
--! t_counters: _event is for the triggers of the tracked table, which insert no such row: TEXT 'deleted'
INSERT INTO t_counters(t_counters, k) VALUES('row deleted', 'a');
--! t_counters: unknown command TEXT 'row deleted'; the commands are 'integrity-check', 'optimize', 'add column <counter>', 'grant <id>', 'forget requests <n>', 'forget requests older than <n> days'; these delete counts: 'purge below', 'drop column <counter>', 'reset', 'reset <counter>', 'delete <counter>'
INSERT INTO t_counters(t_counters, k, n) VALUES(x'00', 'a', 1);
--! t_counters: unknown command BLOB x'00'; the commands are 'integrity-check', 'optimize', 'add column <counter>', 'grant <id>', 'forget requests <n>', 'forget requests older than <n> days'; these delete counts: 'purge below', 'drop column <counter>', 'reset', 'reset <counter>', 'delete <counter>'
INSERT INTO t_counters(_event, k) VALUES('missing', 'b');
SELECT *, t_counters, request_id, _event, _marks, _was_n FROM t_counters WHERE _event IS NULL;
--= a|1|NULL|NULL|NULL|NULL|NULL

-- # counters-that-were-stored-without-their-table-are-taken-up
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES('a', 1);
SELECT counter_track('t', 'n');
--= 1
PRAGMA writable_schema = ON;
DELETE FROM sqlite_master WHERE name = 't_counters';
PRAGMA writable_schema = OFF;
--@ reopen
SELECT counter_track('t', 'n');
--= 0
SELECT * FROM t_counters;
--= a|1
UPDATE t SET n = 5;
SELECT * FROM t_counters;
--= a|5

-- # indexes-of-several-terms-tell-what-is-replaced
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, u TEXT, basc TEXT);
CREATE UNIQUE INDEX both ON t(n, u);
CREATE UNIQUE INDEX joined ON t(u || basc , length ( u )  DESC, (n) asc);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES('a', 1, 'x', 'y'), ('b', 1, 'X', 'Y'), ('c', 3, 'x', 'z');
REPLACE INTO t VALUES('d', 1, 'x', 'z');
SELECT k FROM t;
--= b
--= c
--= d
REPLACE INTO t VALUES('e', 3, 'x', 'z'), ('f', 1, 'X', 'y');
SELECT k, n FROM t;
--= d|1
--= e|3
--= f|1
SELECT * FROM t_counters;
--= d|1
--= e|3
--= f|1
DROP INDEX both;
DROP INDEX joined;
DELETE FROM t WHERE k <> 'e';
CREATE UNIQUE INDEX one ON t(1 + 1);
SELECT counter_track('t');
--= 0
REPLACE INTO t VALUES('g', 1, 'X', 'y');
SELECT k, n FROM t;
--= g|1
SELECT * FROM t_counters;
--= g|1

-- # two-unique-indexes-of-one-column-tell-by-their-collations-what-is-replaced
CREATE TABLE t(k INTEGER PRIMARY KEY, email TEXT UNIQUE, n INTEGER);
CREATE UNIQUE INDEX e ON t(email COLLATE NOCASE);
INSERT INTO t VALUES(1, 'A@x', 5), (2, 'b@x', 6);
SELECT counter_track('t', 'n', 'keys=assigned');
--= 2
REPLACE INTO t VALUES(3, 'a@x', 1);
UPDATE OR REPLACE t SET email = 'B@X' WHERE k = 3;
SELECT * FROM t;
--= 3|B@X|1
SELECT * FROM t_counters;
--= 3|1

-- # a-partial-index-tells-what-is-replaced-and-finds-it
CREATE TABLE t(k INTEGER PRIMARY KEY, code TEXT, gone TEXT, n INTEGER);
CREATE UNIQUE INDEX one ON t(code, length(code)) /* WHERE 0 */ where gone is NULL -- of those that are there
;
INSERT INTO t VALUES(1, 'a', NULL, 5), (2, 'a', 'WHERE', 6), (3, 'b', NULL, 7);
SELECT counter_track('t', 'n', 'keys=assigned');
--= 3
REPLACE INTO t VALUES(4, 'a', NULL, 1), (5, 'a', 'yes', 2);
UPDATE OR REPLACE t SET code = 'b' WHERE k = 4;
ALTER TABLE t RENAME COLUMN gone TO "left";
UPDATE OR REPLACE t SET "left" = NULL WHERE k = 5;
REPLACE INTO t VALUES(6, 'a', NULL, 4);
SELECT k, n FROM t;
--= 2|6
--= 4|1
--= 6|4
SELECT * FROM t_counters;
--= 2|6
--= 4|1
--= 6|4

-- # a-condition-that-would-mean-something-else-in-a-trigger-is-left-out
CREATE TABLE t(k INTEGER PRIMARY KEY, code TEXT, gone TEXT, n INTEGER);
CREATE UNIQUE INDEX text ON t(code) WHERE gone = "x";
CREATE UNIQUE INDEX dotted ON t(code) WHERE t.gone = 'y';
CREATE UNIQUE INDEX number ON t(code) WHERE k > 1.5 AND "gone" = 'z';
CREATE UNIQUE INDEX named ON t(code) WHERE "gone" = 'w' AND [k] > 0 AND `n` > 0 -- "
;
INSERT INTO t VALUES(1, 'a', 'x', 1), (2, 'a', 'y', 2), (3, 'a', 'z', 3), (4, 'a', 'w', 4);
SELECT counter_track('t', 'n', 'keys=assigned');
--= 4
SELECT sql LIKE '%"gone" = ''w''%', sql LIKE '%''y''%' FROM sqlite_master WHERE name = 't_counters_before_insert';
--= 1|0
REPLACE INTO t VALUES(11, 'a', 'x', 1), (12, 'a', 'y', 2), (13, 'a', 'z', 3), (14, 'a', 'w', 4);
SELECT group_concat(k) FROM t;
--= 11,12,13,14
SELECT group_concat(k) FROM t_counters;
--= 11,12,13,14

-- # an-expression-is-computed-only-where-the-condition-of-its-index-holds
CREATE TABLE t(k INTEGER PRIMARY KEY, j TEXT, n INTEGER);
CREATE UNIQUE INDEX one ON t(json_extract(j, '$.a')) WHERE json_valid(j);
SELECT counter_track('t', 'n', 'keys=assigned');
--= 0
INSERT INTO t VALUES(1, '{"a":1}', 5), (2, 'bad', 6);
REPLACE INTO t VALUES(3, '{"a":1}', 7), (4, 'bad', 8);
SELECT * FROM t_counters;
--= 2|6
--= 3|7
--= 4|8

-- # an-update-or-replace-of-what-a-generated-column-is-made-of-tells-what-is-replaced
CREATE TABLE t(k INTEGER PRIMARY KEY, a TEXT, b INTEGER, g AS (a || b), n INTEGER);
CREATE UNIQUE INDEX one ON t(g);
INSERT INTO t(k, a, b, n) VALUES(1, 'x', 1, 10), (2, 'x', 2, 20);
SELECT counter_track('t', 'n', 'keys=assigned');
--= 2
UPDATE OR REPLACE t SET b = 1 WHERE k = 2;
SELECT * FROM t_counters;
--= 2|20

-- # a-row-of-the-key-minus-one-is-replaced
CREATE TABLE t(k INTEGER PRIMARY KEY, code TEXT UNIQUE, n INTEGER);
INSERT INTO t VALUES(-1, 'a', 5);
SELECT counter_track('t', 'n', 'keys=assigned');
--= 1
REPLACE INTO t(code, n) VALUES('a', 7);
SELECT * FROM t_counters;
--= 0|7
REPLACE INTO t VALUES(-1, 'b', 3);
REPLACE INTO t VALUES(-1, 'a', 2);
SELECT * FROM t_counters;
--= -1|2

-- # a-row-whose-removal-cascades-to-the-row-that-replaces-it-is-counted-as-deleted
PRAGMA foreign_keys = ON;
CREATE TABLE t(k TEXT PRIMARY KEY, p TEXT REFERENCES t(k) ON DELETE CASCADE, c INTEGER UNIQUE, n INTEGER);
INSERT INTO t VALUES('a', NULL, 1, 5), ('b', 'a', 2, 6);
SELECT counter_track('t', 'n');
--= 2
UPDATE OR REPLACE t SET c = 1 WHERE k = 'b';
SELECT * FROM t;
SELECT * FROM t_counters;

-- # a-trigger-of-another-table-keeps-its-name
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE log(x);
CREATE TRIGGER T_counters_insert AFTER INSERT ON log BEGIN INSERT INTO t VALUES(NEW.x, 1); END;
SELECT counter_track('t', 'n');
--! counter_track: t: there is another trigger T_counters_insert, on log; tracking makes one of this name: create it under another name
SELECT name FROM sqlite_master WHERE name GLOB 'T_*';
--= T_counters_insert
DROP TRIGGER t_counters_insert;
SELECT counter_track('t', 'n');
--= 0

-- # a-trigger-of-the-application-on-the-table-itself-is-kept
CREATE TABLE posts(slug TEXT PRIMARY KEY NOT NULL, blog TEXT, likes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE blogs(name TEXT PRIMARY KEY NOT NULL, posts INTEGER NOT NULL DEFAULT 0);
CREATE TRIGGER posts_counters_row AFTER UPDATE ON posts BEGIN UPDATE blogs SET posts = posts + 1 WHERE name = NEW.blog; END;
INSERT INTO blogs VALUES('x', 0);
INSERT INTO posts VALUES('a', 'x', 0);
SELECT counter_track('posts', 'likes');
--! counter_track: posts: there is another trigger posts_counters_row, on posts; tracking makes one of this name: create it under another name
SELECT counter_replicate('posts', 'likes');
--! counter_replicate: posts: there is another trigger posts_counters_row, on posts; tracking makes one of this name: create it under another name
SELECT name FROM sqlite_master WHERE name LIKE '%counter%';
--= posts_counters_row
UPDATE posts SET likes = 1;
SELECT posts FROM blogs;
--= 1
DROP TRIGGER posts_counters_row;
SELECT counter_track('posts', 'likes');
--= 1
CREATE TRIGGER posts_counters_row AFTER UPDATE ON posts BEGIN UPDATE blogs SET posts = posts + 1 WHERE name = NEW.blog; END;
SELECT counter_untrack('posts');
--= 1
SELECT name FROM sqlite_master WHERE type = 'trigger';
--= posts_counters_row

-- # one-row-replaces-several
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER CHECK (n < 100), u TEXT UNIQUE, v INTEGER UNIQUE);
INSERT INTO t VALUES('a', 1, 'A', 1), ('b', 2, 'B', 2), ('c', 3, 'C', 3), ('d', 90, 'D', 4);
SELECT counter_track('t', 'n');
--= 4
VACUUM INTO 'phone.db';
ATTACH 'phone.db' AS phone;
REPLACE INTO main.t VALUES('e', 5, 'A', 2);
SELECT k, n FROM main.t;
--= c|3
--= d|90
--= e|5
UPDATE phone.t SET n = 99 WHERE k = 'd';
UPDATE main.t SET n = 95 WHERE k = 'd';
SELECT table_name, rows_changed FROM counter_pull('phone');
--= t|1
SELECT row_key, state, shown, merged FROM counter_tracked;
--= NULL|tracked|NULL|NULL
--= ('d')|differs|95|104
REPLACE INTO main.t VALUES('f', 6, 'D', 6);
SELECT row_key, state, shown, merged FROM counter_tracked;
--= NULL|tracked|NULL|NULL
SELECT k, n FROM main.t;
--= c|3
--= e|5
--= f|6
SELECT * FROM main.t_counters;
--= c|3
--= e|5
--= f|6
CREATE TRIGGER newer AFTER INSERT ON t WHEN NEW.k = 'g' BEGIN
REPLACE INTO t VALUES('h', 8, NEW.u, 8);
END;
INSERT INTO main.t VALUES('g', 7, 'G', 7);
SELECT k, n FROM main.t;
--= c|3
--= e|5
--= f|6
--= h|8
SELECT * FROM main.t_counters;
--= c|3
--= e|5
--= f|6
--= h|8

-- # a-named-file-gives-a-column-up-under-its-name
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);
SELECT counter_init('here:1');
--= e21a0595-b6f8-3245-90ad-9db7ae1fee35
SELECT counter_track('t', 'n', 'm');
--= 0
INSERT INTO t VALUES('a', 1, 2);
SELECT counter_untrack('t', 'N');
--= 1
UPDATE t SET n = 5, m = 6;
SELECT * FROM t_counters;
--= a|6
SELECT counter_track('t', 'n');
--= 1
SELECT * FROM t_counters;
--= a|5|6

-- # counters-without-their-table-are-taken-up-by-the-table-that-their-triggers-are-on
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES('a', 1);
SELECT counter_track('t', 'n');
--= 1
ALTER TABLE t RENAME TO u;
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
PRAGMA writable_schema = ON;
DELETE FROM sqlite_master WHERE name = 't_counters';
PRAGMA writable_schema = OFF;
--@ reopen
SELECT counter_track('t', 'n');
--! counter_track: t: the counter table t_counters was created with this name, by which files match their tables
SELECT counter_track('u', 'n');
--= 0
DROP TABLE t;
ALTER TABLE u RENAME TO t;
SELECT counter_track('t', 'n');
--= 0
SELECT counter_track('t', 'n');
--= 0
SELECT * FROM t_counters;
--= a|1

-- # triggers-that-somebody-else-has-written-are-none-of-ours
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, u INTEGER UNIQUE);
INSERT INTO t VALUES('a', 1, 1);
SELECT counter_track('t', 'n');
--= 1
DROP TRIGGER t_counters_insert;
CREATE TRIGGER t_counters_insert BEFORE INSERT ON t BEGIN SELECT 1; END;
SELECT state FROM counter_tracked;
--= broken
SELECT counter_track('t', 'n');
--! counter_track: t: there is another trigger t_counters_insert, on t; tracking makes one of this name: create it under another name
DROP TRIGGER t_counters_insert;
CREATE TRIGGER "t_counters_insert" BEFORE INSERT ON "t" BEGIN SELECT 1; END;
SELECT counter_track('t', 'n');
--! counter_track: t: there is another trigger t_counters_insert, on t; tracking makes one of this name: create it under another name
DROP TRIGGER t_counters_insert;
CREATE TRIGGER "t_counters_insert" AFTER INSERT ON "t" BEGIN SELECT 1; END;
INSERT INTO t VALUES('b', 2, 2);
SELECT counter_track('t', 'n');
--! counter_track: t: there is another trigger t_counters_insert, on t; tracking makes one of this name: create it under another name
DROP TRIGGER t_counters_insert;
CREATE TRIGGER "t_counters_insert" AFTER INSERT ON "t" BEGIN
INSERT INTO "t_counters" SELECT NULL, NULL WHERE 0; END;
SELECT counter_track('t', 'n');
--! counter_track: t: there is another trigger t_counters_insert, on t; tracking makes one of this name: create it under another name
DROP TRIGGER t_counters_insert;
CREATE TRIGGER "t_counters_insert" AFTER INSERT ON "t" BEGIN
INSERT INTO "t_counters"(_event, "k", "n") SELECT 'inserted', NEW."k", NEW."n"; END;
SELECT counter_track('t', 'n');
--= 1
DROP TRIGGER t_counters_insert;
CREATE TRIGGER "t_counters_insert" AFTER INSERT ON "t" BEGIN
INSERT INTO "t_counters"(_event, "k", "k", "x", "n")
VALUES ('inserted', NEW."k", NEW."n", NEW."u", 5); END;
SELECT count(*) FROM counter_changes(0);
--! counter_changes: the trigger t_counters_insert of the tracked table t is not as counter_track makes it, so changes may not have been counted: call counter_track('t', ...) again, which counts them
SELECT counter_track('t', 'n');
--= 0
DROP TRIGGER t_counters_before_insert;
CREATE TRIGGER t_counters_before_insert BEFORE INSERT ON t BEGIN SELECT 1; END;
SELECT state FROM counter_tracked;
--= broken
SELECT counter_track('t', 'n');
--! counter_track: t: there is another trigger t_counters_before_insert, on t; tracking makes one of this name: create it under another name
DROP TRIGGER t_counters_before_insert;
SELECT counter_track('t', 'n');
--= 0
SELECT * FROM t_counters;
--= a|1
--= b|2
DROP TRIGGER t_counters_insert;
CREATE TABLE other(n INTEGER);
CREATE TRIGGER t_counters_insert AFTER INSERT ON other BEGIN SELECT 1; END;
SELECT state FROM counter_tracked;
--= broken
DROP TABLE other;
SELECT counter_track('t', 'n');
--= 0
SELECT * FROM t_counters;
--= a|1
--= b|2

-- # a-table-is-found-by-its-first-name-where-nothing-was-noted
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES('a', 1);
SELECT counter_track('t', 'n');
--= 1
DELETE FROM counter_state;
CREATE TABLE new(k TEXT PRIMARY KEY, n INTEGER);
DROP TABLE t;
SELECT count(*) FROM counter_changes(0);
--! counter_changes: the tracked table t is missing, and its counters are in t_counters: if it has another name now, rename it to t, call counter_track('t', ...), and rename it back; if it was dropped by mistake, create it and call counter_track('t', 'missing=restored'), which brings its rows back; if it was dropped for good, drop t_counters, too
SELECT counter_track('new', 'n');
--! counter_track: new: t_counters holds the counters of a tracked table t, which is missing: if new is that table, rename it to t, call counter_track('t', ...), and rename it back
ALTER TABLE new RENAME TO t;
SELECT counter_track('t', 'n');
--! counter_track: t: 1 of its rows is missing, ('a'), and no DELETE of them was seen: add 'missing=restored' to the call, which brings them back, or 'missing=deleted', which deletes them in all files
SELECT counter_track('t', 'n', 'missing=deleted');
--= 1
SELECT * FROM t_counters;

-- # triggers-of-the-list-of-rows-apart-are-refused
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
VACUUM INTO 'phone.db';
ATTACH 'phone.db' AS phone;
CREATE TRIGGER main.look AFTER INSERT ON counter_state BEGIN SELECT 1; END;
CREATE TABLE t_elsewhere(k);
CREATE TRIGGER main.other AFTER INSERT ON t_elsewhere BEGIN SELECT 1; END;
INSERT INTO phone.t VALUES('a', 1);
SELECT * FROM counter_pull('phone');
--! counter_pull: table t: the stored table counter_state has the trigger look: drop it first
DROP TRIGGER main.look;
SELECT table_name, rows_changed FROM counter_pull('phone');
--= t|1

-- # a-table-that-has-lost-its-triggers-is-not-in-the-way-of-another
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, u TEXT);
CREATE UNIQUE INDEX i ON t(u);
INSERT INTO t VALUES('a', 1, 'A');
SELECT counter_track('t', 'n');
--= 1
DROP INDEX i;
SELECT state FROM counter_tracked;
--= broken
ALTER TABLE t RENAME TO u;
UPDATE u SET n = 2;
CREATE TABLE new(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO new SELECT k, n FROM u;
DROP TABLE u;
ALTER TABLE new RENAME TO u;
CREATE TABLE other(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('other', 'n');
--= 0
DROP TABLE u;
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES('a', 7);
SELECT counter_track('t', 'n');
--= 1
SELECT * FROM t_counters;
--= a|7

-- # clauses-are-found-however-they-are-written
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, "ON CONFLICT REPLACE" TEXT,
u TEXT UNIQUE ON conflict/* so */ -- and so
replace, v TEXT /* ON CONFLICT ROLLBACK */ DEFAULT 'ON CONFLICT ''ROLLBACK', w INTEGER AS (n) VIRTUAL,
`x``y` TEXT);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t(k, n, u) VALUES('a', 1, 'A'), ('b', 2, 'A');
SELECT k, n FROM t;
--= b|2
SELECT * FROM t_counters;
--= b|2
CREATE UNIQUE INDEX i ON t(lower([u]) || `x``y` || 'it''s)' || (n / 9) /* , */ -- )
, u COLLATE NOCASE desc);
SELECT counter_track('t');
--= 0
INSERT INTO t(k, n, u, "x`y") VALUES('c', 3, 'b', 'z'), ('d', 4, 'B', 'z');
--! UNIQUE constraint failed: index 'i'
SELECT k, n FROM t;
--= b|2
REPLACE INTO t(k, n, u, "x`y") VALUES('e', 5, 'b', 'z');
SELECT k, n FROM t;
--= b|2
--= e|5
SELECT * FROM t_counters;
--= b|2
--= e|5

-- # signs-are-no-comments
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER CHECK (n - 9 < -1), u TEXT UNIQUE ON CONFLICT REPLACE);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES('a', 1, 'A'), ('b', 2, 'A');
SELECT * FROM t_counters;
--= b|2
CREATE UNIQUE INDEX i ON t(n -1, (- n), u);
SELECT counter_track('t');
--= 0
REPLACE INTO t VALUES('c', 2, 'A');
SELECT * FROM t_counters;
--= c|2

-- # a-comment-ends-where-it-ends
ATTACH 'phone.db' AS phone;
CREATE TABLE main.t(k TEXT PRIMARY KEY, n INTEGER, u TEXT /* a *//*/ UNIQUE ON CONFLICT ROLLBACK */);
CREATE TABLE phone.t(k TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE log(x UNIQUE);
INSERT INTO log VALUES(1);
SELECT counter_track('main.t', 'n');
--= 0
SELECT counter_track('phone.t', 'n');
--= 0
INSERT INTO main.t(k, n) VALUES('x', 1);
SELECT table_name, rows_changed FROM counter_push('phone');
--= t|1
UPDATE phone.t SET n = 5;
CREATE TRIGGER logs AFTER UPDATE OF n ON main.t BEGIN INSERT OR IGNORE INTO log VALUES(1); END;
SELECT table_name, rows_changed FROM counter_pull('phone');
--= t|1
SELECT k, n FROM main.t;
--= x|5
SELECT state FROM counter_tracked;
--= tracked

-- # a-name-in-which-a-clause-stands-is-none
ATTACH 'phone.db' AS phone;
CREATE TABLE main.t(k TEXT PRIMARY KEY, n INTEGER, as2conflict rollback, conflict rollback1, as_conflict Rollback);
CREATE TABLE phone.t(k TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE log(x UNIQUE);
INSERT INTO log VALUES(1);
SELECT counter_track('main.t', 'n');
--= 0
SELECT counter_track('phone.t', 'n');
--= 0
INSERT INTO main.t(k, n) VALUES('x', 1);
SELECT table_name, rows_changed FROM counter_push('phone');
--= t|1
UPDATE phone.t SET n = 5;
-- a clause of the table would be overridden for a merge, and that of the trigger with it
CREATE TRIGGER logs AFTER UPDATE OF n ON main.t BEGIN INSERT OR IGNORE INTO log VALUES(1); END;
SELECT table_name, rows_changed FROM counter_pull('phone');
--= t|1
SELECT k, n FROM main.t;
--= x|5
SELECT state FROM counter_tracked;
--= tracked

-- # triggers-that-say-other-columns-are-none-of-ours
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
DROP TRIGGER t_counters_insert;
CREATE TRIGGER "t_counters_insert" AFTER INSERT ON "t" BEGIN
INSERT INTO "t_counters"(_event, "k", "k", "x", "n") VALUES ('inserted', NEW."k", NEW."n", NEW."k", 5); END;
SELECT state FROM counter_tracked;
--= broken
SELECT counter_track('t');
--! counter_track: t: none of its counters has a column of its name here: if columns were renamed, rename them back, call counter_track, and rename them again
SELECT counter_track('t', 'n');
--= 0
DROP TRIGGER t_counters_insert;
CREATE TRIGGER "t_counters_insert" AFTER INSERT ON "t" BEGIN
INSERT INTO "t_counters"(_event, "k", "n") VALUES ('inserted', NEW."k"); END;
SELECT state FROM counter_tracked;
--= broken
SELECT counter_track('t', 'n');
--= 0
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES('a', 1);
SELECT * FROM t_counters;
--= a|1

-- # a-table-named-new-is-tracked-unless-triggers-must-find-rows-of-it
CREATE TABLE new(k TEXT PRIMARY KEY, n INTEGER, u TEXT);
INSERT INTO new VALUES('a', 1, 'A'), ('b', 2, 'B');
SELECT counter_track('new', 'n');
--= 2
CREATE UNIQUE INDEX by_u ON new(u);
SELECT counter_track('new');
--! counter_track: new: a tracked table with a UNIQUE index must not be named NEW or OLD, which mean rows in its triggers: rename the table
ALTER TABLE new RENAME TO items;
SELECT counter_track('items');
--= 0
REPLACE INTO items VALUES('c', 3, 'A');
SELECT * FROM items_counters;
--! no such table: items_counters
SELECT * FROM new_counters;
--= b|2
--= c|3
VACUUM INTO 'phone.db';
ALTER TABLE items RENAME TO Old;
SELECT * FROM counter_pull('phone.db');
--! counter_pull: table new: the taking file: Old: a tracked table with a UNIQUE index must not be named NEW or OLD, which mean rows in its triggers: rename the table

-- # a-key-that-sqlite-gives-out-is-refused-unless-the-option-says-who-assigns-keys
CREATE TABLE a(id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE b(id integer PRIMARY KEY AUTOINCREMENT, n INTEGER);
CREATE TABLE c(n INTEGER, "the key" INTEGER, PRIMARY KEY("the key" DESC));
INSERT INTO a(n) VALUES(5);
SELECT counter_track('a', 'n');
--! counter_track: a: SQLite gives out the key id by itself, so two files give one number to different rows, and a merge makes one row of the two: 'keys=spread' of counter_replicate lets each file count from a place of its own; a natural key or UUIDs need nothing, as docs/tracked-columns.md#keys describes; 'keys=assigned' is for numbers that no two files can share
SELECT counter_track('main.b', 'n');
--!~ counter_track: b: SQLite gives out the key id by itself*
SELECT counter_track('c', 'n');
--!~ counter_track: c: SQLite gives out the key the key by itself*
-- nothing is changed
SELECT count(*) FROM sqlite_master WHERE name GLOB '*counter*';
--= 0
SELECT counter_track('a', 'n', 'keys=assigned');
--= 1
SELECT counter_track('b', 'keys=assigned', 'n');
--= 0
SELECT counter_track('c', 'n', 'KEYS=ASSIGNED');
--= 0
INSERT INTO a(n) VALUES(7);
SELECT * FROM a_counters;
--= 1|5
--= 2|7

-- # a-key-that-an-insert-must-give-needs-no-option-and-may-have-it
CREATE TABLE a(id INTEGER PRIMARY KEY DESC, n INTEGER);
CREATE TABLE b(id INT PRIMARY KEY, n INTEGER);
CREATE TABLE c(id INTEGER PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TABLE d(id INTEGER, shop TEXT, n INTEGER, PRIMARY KEY(id, shop));
CREATE TABLE e(id TEXT PRIMARY KEY DEFAULT (hex(randomblob(16))), n INTEGER);
CREATE TABLE f(id BIGINT PRIMARY KEY, n INTEGER);
CREATE TABLE g(id TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('a', 'n');
--= 0
SELECT counter_track('b', 'n');
--= 0
SELECT counter_track('c', 'n');
--= 0
SELECT counter_track('d', 'n');
--= 0
SELECT counter_track('e', 'n');
--= 0
SELECT counter_track('f', 'n');
--= 0
SELECT counter_track('g', 'n', 'keys=assigned');
--= 0
INSERT INTO a(n) VALUES(1);
--! a: row (NULL): key column id must not be NULL
INSERT INTO e(n) VALUES(1);
SELECT length(id), n FROM e_counters;
--= 32|1

-- # a-tracked-table-need-not-repeat-the-option
CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, m INTEGER, o INTEGER);
SELECT counter_track('t', 'n', 'keys=assigned');
--= 0
SELECT counter_track('t', 'm');
--= 0
SELECT counter_track('t', 'o', 'keys=assigned');
--= 0
DROP TRIGGER t_counters_update;
INSERT INTO t VALUES(1, 2, 3, 4);
UPDATE t SET n = 3;
SELECT counter_track('t');
--= 1
DROP TRIGGER t_counters_update;
SELECT counter_track('t', 'keys=assigned');
--= 0
SELECT counter_track('t', 'keys=assigned');
--= 0
-- a migration builds it anew
BEGIN;
CREATE TABLE new(id INTEGER PRIMARY KEY, n INTEGER, m INTEGER, o INTEGER, name TEXT);
INSERT INTO new(id, n, m, o) SELECT id, n, m, o FROM t;
DROP TABLE t;
ALTER TABLE new RENAME TO t;
SELECT counter_track('t');
--= 0
COMMIT;
SELECT * FROM t_counters;
--= 1|3|3|4
SELECT counter_untrack('t');
--= 3
SELECT counter_track('t', 'n');
--!~ counter_track: t: SQLite gives out the key id by itself*

-- # an-unknown-option-is-refused-with-those-that-are-known
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, "a=b" INTEGER);
SELECT counter_track('t', 'n', 'keys=given');
--! counter_track: unknown option 'keys=given'; the options are: 'keys=assigned', 'keys=changed', 'opening=same', 'opening=add', 'values=again', 'missing=restored', 'missing=deleted'
SELECT counter_track('t', 'n', 'a=b');
--! counter_track: unknown option 'a=b'; the options are: 'keys=assigned', 'keys=changed', 'opening=same', 'opening=add', 'values=again', 'missing=restored', 'missing=deleted'
SELECT counter_track('t', 'n', 'keys=assigned ');
--! counter_track: unknown option 'keys=assigned '; the options are: 'keys=assigned', 'keys=changed', 'opening=same', 'opening=add', 'values=again', 'missing=restored', 'missing=deleted'
SELECT counter_track('t', 'n', '=');
--! counter_track: unknown option '='; the options are: 'keys=assigned', 'keys=changed', 'opening=same', 'opening=add', 'values=again', 'missing=restored', 'missing=deleted'
SELECT counter_track('t', 'keys=assigned');
--! counter_track: t: name the columns to be tracked
SELECT counter_track('keys=assigned', 'n');
--! counter_track: there is no table 'keys=assigned'
SELECT counter_track('t', 'n');
--= 0
SELECT counter_untrack('t', 'keys=assigned');
--! counter_untrack: t: column 'keys=assigned' is not tracked

-- # or-replace-may-give-the-row-id-of-another-row
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3);
INSERT OR REPLACE INTO t(rowid, k, n) VALUES (2, 'd', 4);
SELECT k, n FROM t_counters ORDER BY k;
--= a|1
--= c|3
--= d|4
UPDATE OR REPLACE t SET oid = 1, n = n + 1 WHERE k = 'd';
SELECT k, n FROM t_counters ORDER BY k;
--= c|3
--= d|5
INSERT OR IGNORE INTO t(_rowid_, k, n) VALUES (3, 'e', 6);
UPDATE OR IGNORE t SET rowid = 3 WHERE k = 'd';
SELECT k, n FROM t_counters ORDER BY k;
--= c|3
--= d|5
CREATE TABLE named(k TEXT PRIMARY KEY, n INTEGER, rowid INTEGER, oid INTEGER, _rowid_ INTEGER);
SELECT counter_track('named', 'n');
--= 0
INSERT INTO named VALUES ('a', 1, 1, 1, 1), ('b', 2, 2, 2, 2);
INSERT OR REPLACE INTO named VALUES ('c', 3, 1, 1, 1);
UPDATE OR REPLACE named SET _rowid_ = 2 WHERE k = 'a';
SELECT k, n FROM named_counters ORDER BY k;
--= a|1
--= b|2
--= c|3

-- # a-row-that-a-newer-trigger-inserts-again-when-it-is-deleted-counts-though-it-never-had
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
CREATE TRIGGER again AFTER DELETE ON t BEGIN INSERT INTO t VALUES(OLD.k, 4); END;
INSERT INTO t VALUES('a', NULL);
DELETE FROM t;
SELECT * FROM t;
--= a|4
SELECT * FROM t_counters;
--= a|4

-- # a-column-with-counts-of-another-file-is-counted-once-whatever-index-is-read
ATTACH 'phone.db' AS phone;
CREATE TABLE main.t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER, x, y, z);
CREATE TABLE phone.t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER, x, y, z);
INSERT INTO phone.t(k, n, m) VALUES('a', 5, 0), ('b', 7, 0);
SELECT counter_track('phone.t', 'n', 'm');
--= 2
INSERT INTO main.t(k, n, m) VALUES('a', 0, 0), ('b', 9, 0);
SELECT counter_track('main.t', 'm');
--= 2
SELECT rows_changed FROM counter_pull('phone');
--= 2
CREATE INDEX main.i ON t(n, k, m);
SELECT counter_track('main.t', 'n', 'opening=add');
--= 2
SELECT k, n FROM main.t ORDER BY k;
--= a|5
--= b|16
SELECT rows_changed FROM counter_sync('phone');
--= 2
SELECT k, n FROM phone.t ORDER BY k;
--= a|5
--= b|16

-- # what-an-older-trigger-inserts-and-deletes-while-a-merged-deletion-is-shown-has-ended
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0);
CREATE TRIGGER app AFTER DELETE ON main.t BEGIN
INSERT OR IGNORE INTO t VALUES (OLD.k, OLD.n + 1); DELETE FROM t WHERE k = OLD.k; END;
SELECT counter_track('main.t', 'n');
--= 0
SELECT counter_track('office.t', 'n');
--= 0
INSERT INTO main.t VALUES ('a', 3);
SELECT rows_changed FROM counter_sync('office');
--= 1
DELETE FROM office.t;
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT count(*) FROM main.t;
--= 0
SELECT key, counter_value(cell), counter_is_deleted(cell) FROM counter_cells('t');
--= ["a"]|NULL|1
SELECT count(*) FROM counter_tracked WHERE row_key NOT NULL;
--= 0

-- # a-table-whose-key-has-changed-keeps-its-counts-by-one-call
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, name TEXT);
INSERT INTO t VALUES('a', 1, 'A'), ('b', 2, 'B'), ('c', NULL, 'C');
SELECT counter_replicate('t', 'n');
--= 3
VACUUM INTO 'phone.db';
ATTACH 'phone.db' AS phone;
UPDATE main.t SET n = n + 10;
UPDATE phone.t SET n = n + 100;
BEGIN;
CREATE TABLE new(shop TEXT NOT NULL DEFAULT 's', k TEXT NOT NULL, n INTEGER, name TEXT, PRIMARY KEY (shop, k));
INSERT INTO new(k, n, name) SELECT k, n, name FROM main.t;
DROP TABLE main.t;
ALTER TABLE new RENAME TO t;
SELECT counter_replicate('main.t', 'n');
--! counter_replicate: t: the key is (shop TEXT BINARY, k TEXT BINARY), but that of its counters, t_counters, is (k TEXT BINARY): if a migration has changed it, add 'keys=changed' to the call
SELECT counter_replicate('main.t', 'n', 'keys=changed');
--= 3
SELECT counter_track('main.t', 'keys=changed');
--= 0
COMMIT;
SELECT table_name, note FROM counter_sync('phone');
--! counter_sync: table t: the tables differ in a key column: the giving file has k, the taking file has shop
CREATE TABLE phone.new(shop TEXT NOT NULL DEFAULT 's', k TEXT NOT NULL, n INTEGER, name TEXT, PRIMARY KEY (shop, k));
INSERT INTO phone.new(k, n, name) SELECT k, n, name FROM phone.t;
DROP TABLE phone.t;
ALTER TABLE phone.new RENAME TO t;
SELECT counter_replicate('phone.t', 'KEYS=changed', 'values=oldest');
--= 3
SELECT count(*) FROM phone.sqlite_master WHERE name LIKE '%former%';
--= 0
SELECT table_name, note FROM counter_sync('phone');
--= t|NULL
SELECT * FROM main.t;
--= s|a|111|A
--= s|b|112|B
--= s|c|NULL|C
SELECT * FROM phone.t;
--= s|a|111|A
--= s|b|112|B
--= s|c|NULL|C
INSERT INTO main.t_counters(t_counters) VALUES('integrity-check');
INSERT INTO phone.t_counters(t_counters) VALUES('integrity-check');

-- # a-changed-key-for-which-rows-cannot-be-known-is-refused
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);
INSERT INTO t VALUES('a', 1, 1), ('b', 2, 2), ('B', 3, 3);
SELECT counter_track('t', 'n', 'm');
--= 3
CREATE TABLE new(id TEXT PRIMARY KEY, n INTEGER, m INTEGER);
INSERT INTO new SELECT 'new ' || k, n, m FROM t;
DROP TABLE t;
ALTER TABLE new RENAME TO t;
SELECT counter_track('t', 'keys=changed');
--! counter_track: t: its rows are known by the former key, which has a column k: keep that column in the table until this call
ALTER TABLE t ADD COLUMN k;
SELECT counter_track('t', 'keys=changed');
--! counter_track: t: no row has the former key of 3 rows that have counters, such as ('a'): a row that is to go is deleted before the table is made anew
SELECT counter_track('t', 'keys=changed', 'missing=deleted');
--! counter_track: t: while its key changes no option says what becomes of missing rows, whose new key nobody knows
UPDATE t SET k = substr(id, 5);
INSERT INTO t VALUES('more', 5, 5, 'a');
SELECT counter_track('t', 'keys=changed');
--! counter_track: t: 1 of its rows has the former key of another one, whose counts would be in both
UPDATE t SET k = 'c' WHERE id = 'more';
SELECT counter_track('t', 'keys=changed');
--= 1
SELECT * FROM t_counters ORDER BY id;
--= more|5|5
--= new B|3|3
--= new a|1|1
--= new b|2|2
ALTER TABLE t RENAME COLUMN n TO pieces;
CREATE TABLE new(k TEXT PRIMARY KEY, id TEXT, pieces INTEGER, m INTEGER);
INSERT INTO new SELECT k, id, pieces, m FROM t;
SELECT counter_track('t', 'pieces');
--= 0
DROP TABLE t;
ALTER TABLE new RENAME TO t;
SELECT counter_track('t', 'keys=changed');
--! counter_track: t: column n is pieces here, and other files know it by its first name, which must be its name when the key changes

-- # a-tracked-table-that-got-the-name-of-another-one-is-told-apart-by-the-name-it-was-created-with
ATTACH 'other.db' AS other;
CREATE TABLE main.s(k TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE other.former(k TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_track('main.s', 'n');
--= 0
SELECT counter_track('other.former', 'n');
--= 0
ALTER TABLE other.former RENAME TO s;
SELECT count(*) FROM counter_push('other');
--! counter_push: table s: other has a counter table s that was created as 'former', and tables match by the name they were created with: rename it there

-- # a-counter-that-ended-and-is-made-again-is-the-same-one-in-a-file-that-has-renamed-its-column
ATTACH 'office.db' AS office;
CREATE TABLE main.s(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.s(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m INTEGER NOT NULL DEFAULT 0);
SELECT counter_track('main.s', 'n', 'm');
--= 0
SELECT counter_track('office.s', 'n', 'm');
--= 0
INSERT INTO main.s VALUES ('x', 1, 5);
SELECT rows_changed FROM counter_sync('office');
--= 1
ALTER TABLE office.s RENAME COLUMN m TO mm;
SELECT counter_untrack('main.s', 'm');
--= 1
SELECT rows_changed, note FROM counter_sync('office');
--= 1|NULL
SELECT counter_track('main.s', 'm', 'opening=same');
--= 1
SELECT counter_track('office.s', 'mm', 'opening=same');
--= 1
UPDATE main.s SET m = m + 100;
UPDATE office.s SET mm = mm + 1000;
SELECT rows_changed, note FROM counter_sync('office');
--= 2|NULL
SELECT * FROM main.s;
--= x|1|1105
SELECT * FROM office.s;
--= x|1|1105

-- # another-column-of-the-name-that-an-ended-counter-has-between-files-is-to-get-another-one
CREATE TABLE s(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m INTEGER NOT NULL DEFAULT 0);
SELECT counter_track('s', 'n', 'm');
--= 0
ALTER TABLE s RENAME COLUMN m TO mm;
SELECT counter_untrack('s', 'mm');
--= 1
ALTER TABLE s ADD COLUMN m INTEGER NOT NULL DEFAULT 0;
SELECT counter_track('s', 'mm');
--! counter_track: s: column mm was the counter m, as which other files know it, and there is another column m: give that one another name
SELECT counter_track('s', 'm');
--! counter_track: s: column mm was the counter m, as which other files know it, and there is another column m: give that one another name
ALTER TABLE s RENAME COLUMN m TO other;
SELECT counter_track('s', 'mm', 'other');
--= 0
SELECT name FROM pragma_table_info('s_counters') WHERE pk = 0 AND name IN ('m', 'n', 'other') ORDER BY name;
--= m
--= n
--= other

-- # a-counter-that-another-file-has-ended-and-made-again-is-the-same-one-for-a-file-that-renamed-its-column-and-makes-it-later
ATTACH 'office.db' AS office;
CREATE TABLE main.s(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.s(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m INTEGER NOT NULL DEFAULT 0);
SELECT counter_track('main.s', 'n', 'm');
--= 0
SELECT counter_track('office.s', 'n', 'm');
--= 0
INSERT INTO main.s VALUES ('x', 3, 0);
SELECT rows_changed FROM counter_sync('office');
--= 1
ALTER TABLE main.s RENAME COLUMN n TO n2;
SELECT counter_untrack('office.s', 'n');
--= 1
SELECT counter_track('office.s', 'n', 'opening=same');
--= 1
UPDATE office.s SET n = n + 4;
SELECT count(*) FROM counter_sync('office');
--= 1
SELECT counter_track('main.s', 'n2', 'opening=same');
--= 1
SELECT count(*) FROM counter_sync('office');
--= 1
SELECT * FROM main.s;
--= x|7|0
SELECT * FROM office.s;
--= x|7|0

-- # a-deletion-takes-along-what-another-file-counts-in-a-column-that-is-null-here
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY NOT NULL, name TEXT, n INTEGER NOT NULL DEFAULT 0, sold INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY NOT NULL, name TEXT, n INTEGER NOT NULL DEFAULT 0, sold INTEGER);
SELECT counter_track('main.p', 'n', 'sold');
--= 0
INSERT INTO main.p VALUES ('tea', 'Tea', 5, NULL), ('jam', 'Jam', 2, NULL);
SELECT counter_track('office.p', 'n', 'sold');
--= 0
INSERT INTO office.p VALUES ('tea', 'Tea', 0, NULL), ('jam', 'Jam', 0, NULL);
SELECT rows_changed FROM counter_sync('office');
--= 4
UPDATE office.p SET sold = 3;
DELETE FROM main.p WHERE k = 'tea';
UPDATE main.p SET k = 'plum' WHERE k = 'jam';
SELECT sum(note IS NOT NULL) FROM counter_sync('office');
--= 0
SELECT * FROM main.p ORDER BY k;
--= plum|Jam|2|NULL
SELECT k, n, sold FROM office.p ORDER BY k;
--= plum|2|NULL
SELECT counter_table_digest('p_counters') = counter_table_digest('p_counters', 'office');
--= 1
