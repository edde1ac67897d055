-- What cr-sqlite and sqlite-sync test of their merges, and what replicated tables make of it. Both take for each column the
-- value of the highest column version, which counts the writes of the column in its row's life, and of equal versions the
-- greater value; here the last write wins. Where that or another rule gives another outcome, a comment says which.
--
-- `randomblob` lets some milliseconds go by, so that the clock tells which of two writes is the later one.

-- # the-later-write-wins-though-the-other-file-has-written-more-often
-- Theirs: the price 3, of the highest version.
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, price);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, price);
SELECT counter_replicate('main.products');
--= 0
SELECT counter_replicate('office.products');
--= 0
INSERT INTO main.products VALUES ('tea', 0);
SELECT rows_changed FROM counter_sync('office');
--= 1
UPDATE main.products SET price = 1;
UPDATE main.products SET price = 2;
UPDATE main.products SET price = 3;
SELECT length(randomblob(4000000));
--= 4000000
UPDATE office.products SET price = -1;
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT m.price, o.price FROM main.products AS m, office.products AS o;
--= -1|-1

-- # increments-made-apart-add-up
-- Theirs: 9, the greater of the two.
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, stock INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('main.products', 'stock');
--= 0
SELECT counter_replicate('office.products', 'stock');
--= 0
INSERT INTO main.products VALUES ('tea', 10);
SELECT rows_changed FROM counter_sync('office');
--= 1
UPDATE main.products SET stock = stock - 1;
UPDATE office.products SET stock = 8;
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT m.stock, o.stock FROM main.products AS m, office.products AS o;
--= 7|7

-- # of-a-key-inserted-in-two-files-the-later-row-is-there-whole-and-its-counters-add-up
-- Theirs: a row that nobody wrote: of each column the greater value, so Zucchini for 9, from Spain.
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, price, origin TEXT, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, price, origin TEXT, stock INTEGER);
SELECT counter_replicate('main.products', 'stock');
--= 0
SELECT counter_replicate('office.products', 'stock');
--= 0
INSERT INTO main.products VALUES ('p1', 'Zucchini', 2, 'Spain', 5);
SELECT length(randomblob(4000000));
--= 4000000
INSERT INTO office.products VALUES ('p1', 'Aubergine', 9, NULL, 7);
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT * FROM main.products;
--= p1|Aubergine|9|NULL|12
SELECT * FROM office.products;
--= p1|Aubergine|9|NULL|12

-- # a-name-and-a-price-changed-apart-are-both-kept
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, price);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, price);
SELECT counter_replicate('main.products');
--= 0
SELECT counter_replicate('office.products');
--= 0
INSERT INTO main.products VALUES ('p1', 'Tee', 2);
SELECT rows_changed FROM counter_sync('office');
--= 1
UPDATE main.products SET name = 'Tea';
UPDATE office.products SET price = 3;
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT * FROM main.products UNION ALL SELECT * FROM office.products;
--= p1|Tea|3
--= p1|Tea|3

-- # an-update-of-an-unchanged-value-beats-nothing
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, price);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, price);
SELECT counter_replicate('main.products');
--= 0
SELECT counter_replicate('office.products');
--= 0
INSERT INTO main.products VALUES ('p1', 'Tea', 2);
SELECT rows_changed FROM counter_sync('office');
--= 1
UPDATE main.products SET name = 'Green tea';
SELECT length(randomblob(4000000));
--= 4000000
UPDATE office.products SET name = 'Tea', price = 3; -- as an ORM that saves the whole object
UPDATE office.products SET name = name;
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT * FROM main.products UNION ALL SELECT * FROM office.products;
--= p1|Green tea|3
--= p1|Green tea|3

-- # files-that-wrote-the-same-agree-after-one-sync
ATTACH 'office.db' AS office;
CREATE TABLE main.products(price, sku TEXT PRIMARY KEY NOT NULL, name TEXT);
CREATE TABLE office.products(price, sku TEXT PRIMARY KEY NOT NULL, name TEXT);
SELECT counter_replicate('main.products');
--= 0
SELECT counter_replicate('office.products');
--= 0
INSERT INTO main.products VALUES (1, 'p1', 'Tea');
UPDATE main.products SET price = 2;
INSERT INTO office.products VALUES (1, 'p1', 'Tea');
UPDATE office.products SET price = 2;
SELECT count(*) FROM counter_sync('office');
--= 1
SELECT rows_changed FROM counter_sync('office');
--= 0
SELECT * FROM main.products UNION ALL SELECT * FROM office.products;
--= 2|p1|Tea
--= 2|p1|Tea
SELECT counter_table_digest('products_counters', 'main') = counter_table_digest('products_counters', 'office');
--= 1

-- # a-delete-beats-updates-of-the-row-that-were-made-meanwhile-and-later
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
SELECT counter_replicate('main.products', 'stock');
--= 0
SELECT counter_replicate('office.products', 'stock');
--= 0
INSERT INTO main.products VALUES ('p1', 'Tea', 10);
SELECT rows_changed FROM counter_sync('office');
--= 1
DELETE FROM main.products;
SELECT length(randomblob(4000000));
--= 4000000
UPDATE office.products SET name = 'Green tea', stock = stock + 5;
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT count(*) FROM main.products UNION ALL SELECT count(*) FROM office.products;
--= 0
--= 0

-- # a-row-deleted-and-inserted-again-beats-updates-of-the-old-one-and-counts-anew
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
SELECT counter_replicate('main.products', 'stock');
--= 0
SELECT counter_replicate('office.products', 'stock');
--= 0
INSERT INTO main.products VALUES ('p1', 'Tea', 10);
SELECT rows_changed FROM counter_sync('office');
--= 1
DELETE FROM main.products;
INSERT INTO main.products VALUES ('p1', 'Coffee', 3);
SELECT length(randomblob(4000000));
--= 4000000
UPDATE office.products SET name = 'Green tea';
UPDATE office.products SET name = 'White tea', stock = stock + 5;
SELECT rows_changed FROM counter_pull('office');
--= 0
SELECT rows_changed FROM counter_push('office');
--= 1
SELECT * FROM main.products UNION ALL SELECT * FROM office.products;
--= p1|Coffee|3
--= p1|Coffee|3

-- # a-delete-does-not-delete-the-row-that-was-inserted-after-another-delete
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
SELECT counter_replicate('main.products', 'stock');
--= 0
SELECT counter_replicate('office.products', 'stock');
--= 0
INSERT INTO main.products VALUES ('p1', 'Tea', 10), ('p2', 'Jam', 4);
SELECT rows_changed FROM counter_sync('office');
--= 2
DELETE FROM office.products WHERE sku = 'p1';
INSERT INTO office.products VALUES ('p1', 'Coffee', 3);
SELECT length(randomblob(4000000));
--= 4000000
DELETE FROM main.products;
DELETE FROM office.products WHERE sku = 'p2'; -- both have deleted it: nothing is left to do
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT * FROM main.products UNION ALL SELECT * FROM office.products;
--= p1|Coffee|3
--= p1|Coffee|3
SELECT counter_table_digest('products_counters', 'main') = counter_table_digest('products_counters', 'office');
--= 1

-- # replace-of-a-row-that-is-there-is-a-write-and-no-delete
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
SELECT counter_replicate('main.products', 'stock');
--= 0
SELECT counter_replicate('office.products', 'stock');
--= 0
INSERT INTO main.products VALUES ('p1', 'Tea', 10);
SELECT rows_changed FROM counter_sync('office');
--= 1
REPLACE INTO main.products VALUES ('p1', 'Black tea', 12);
SELECT length(randomblob(4000000));
--= 4000000
UPDATE office.products SET name = 'Green tea', stock = stock - 1;
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT * FROM main.products UNION ALL SELECT * FROM office.products;
--= p1|Green tea|11
--= p1|Green tea|11

-- # a-changed-key-is-a-delete-and-an-insert-with-all-that-the-row-had
-- What another file wrote meanwhile under the old key is gone, as there; so is its count.
ATTACH 'office.db' AS office;
CREATE TABLE main.products(shop TEXT NOT NULL, sku TEXT NOT NULL, name TEXT, stock INTEGER, PRIMARY KEY (shop, sku));
CREATE TABLE office.products(shop TEXT NOT NULL, sku TEXT NOT NULL, name TEXT, stock INTEGER, PRIMARY KEY (shop, sku));
SELECT counter_replicate('main.products', 'stock');
--= 0
SELECT counter_replicate('office.products', 'stock');
--= 0
INSERT INTO main.products VALUES ('north', 'p1', 'Tea', 10), ('north', 'p2', 'Jam', 4);
SELECT rows_changed FROM counter_sync('office');
--= 2
UPDATE office.products SET name = 'Plum jam' WHERE sku = 'p2';
SELECT rows_changed FROM counter_sync('office');
--= 1
UPDATE main.products SET shop = 'south', sku = sku || 'a';
UPDATE office.products SET name = 'Green tea', stock = stock - 1 WHERE sku = 'p1';
SELECT rows_changed FROM counter_sync('office');
--= 4
SELECT * FROM main.products ORDER BY sku;
--= south|p1a|Tea|10
--= south|p2a|Plum jam|4
SELECT * FROM office.products ORDER BY sku;
--= south|p1a|Tea|10
--= south|p2a|Plum jam|4

-- # a-key-changed-in-two-files-gives-two-rows
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
SELECT counter_replicate('main.products', 'stock');
--= 0
SELECT counter_replicate('office.products', 'stock');
--= 0
INSERT INTO main.products VALUES ('p1', 'Tea', 10), ('p2', 'Jam', 4);
SELECT rows_changed FROM counter_sync('office');
--= 2
UPDATE main.products SET sku = 'tea' WHERE sku = 'p1';
UPDATE office.products SET sku = 'TEA' WHERE sku = 'p1';
UPDATE main.products SET sku = 'jam' WHERE sku = 'p2';
UPDATE office.products SET sku = 'jam' WHERE sku = 'p2'; -- the same new key is one row; its counters add up
SELECT rows_changed FROM counter_sync('office');
--= 4
SELECT * FROM main.products ORDER BY sku;
--= TEA|Tea|10
--= jam|Jam|8
--= tea|Tea|10
SELECT counter_table_digest('products_counters', 'main') = counter_table_digest('products_counters', 'office');
--= 1

-- # a-table-that-is-all-key-merges-as-a-set-whose-members-come-back
ATTACH 'office.db' AS office;
CREATE TABLE main.tags(product TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (tag, product)) WITHOUT ROWID;
CREATE TABLE office.tags(product TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (tag, product)) WITHOUT ROWID;
SELECT counter_replicate('main.tags');
--= 0
SELECT counter_replicate('office.tags');
--= 0
INSERT INTO main.tags VALUES ('tea', 'hot'), ('jam', 'sweet');
INSERT INTO office.tags VALUES ('tea', 'hot'), ('ice', 'cold');
SELECT rows_changed FROM counter_sync('office');
--= 3
DELETE FROM main.tags WHERE tag = 'hot';
UPDATE office.tags SET tag = 'frozen' WHERE tag = 'cold';
INSERT OR IGNORE INTO office.tags VALUES ('tea', 'hot');
SELECT rows_changed FROM counter_sync('office');
--= 3
SELECT * FROM main.tags;
--= ice|frozen
--= jam|sweet
SELECT * FROM office.tags;
--= ice|frozen
--= jam|sweet
INSERT INTO office.tags VALUES ('tea', 'hot');
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT * FROM main.tags WHERE tag = 'hot';
--= tea|hot

-- # values-of-all-types-arrive-as-they-are
ATTACH 'office.db' AS office;
CREATE TABLE main.notes(id TEXT PRIMARY KEY NOT NULL, v);
CREATE TABLE office.notes(id TEXT PRIMARY KEY NOT NULL, v);
SELECT counter_replicate('main.notes');
--= 0
SELECT counter_replicate('office.notes');
--= 0
INSERT INTO main.notes VALUES ('empty blob', x''), ('blob', x'00ff00'), ('empty text', ''), ('text', '0x1'), ('null', NULL),
  ('least', -9223372036854775808), ('sci', 2.0e2), ('whole', 9007199254740993.0), ('zero', -0.0), ('inf', 9e999),
  ('tiny', -1.1754943508222875e-38), ('next', -1.1754943508222872e-38), ('million', zeroblob(1000000));
SELECT rows_changed FROM counter_sync('office');
--= 13
SELECT count(*) FROM main.notes AS m JOIN office.notes AS o USING (id) WHERE m.v IS o.v AND typeof(m.v) = typeof(o.v);
--= 13
UPDATE office.notes SET v = NULL WHERE id IN ('blob', 'text', 'million');
UPDATE main.notes SET v = x'' WHERE id IN ('null', 'empty text');
UPDATE main.notes SET v = 200 WHERE id = 'sci'; -- equal to 200.0, and another value
SELECT rows_changed FROM counter_sync('office');
--= 6
SELECT id, typeof(m.v), typeof(o.v) FROM main.notes AS m JOIN office.notes AS o USING (id)
 WHERE id IN ('blob', 'text', 'million', 'null', 'empty text', 'sci') ORDER BY id;
--= blob|null|null
--= empty text|blob|blob
--= million|null|null
--= null|blob|blob
--= sci|integer|integer
--= text|null|null

-- # names-that-must-be-quoted-are-names
ATTACH 'office.db' AS office;
CREATE TABLE main."Kunden 'ß' 🚀"("a ""key""" TEXT NOT NULL, "key[2]" TEXT NOT NULL, "not null" TEXT, "order" INTEGER, "🚀" TEXT,
  PRIMARY KEY ("a ""key""", "key[2]"));
CREATE TABLE office."Kunden 'ß' 🚀"("a ""key""" TEXT NOT NULL, "key[2]" TEXT NOT NULL, "not null" TEXT, "order" INTEGER, "🚀" TEXT,
  PRIMARY KEY ("a ""key""", "key[2]"));
SELECT counter_replicate('main.Kunden ''ß'' 🚀', 'order');
--= 0
SELECT counter_replicate('office.Kunden ''ß'' 🚀', 'order');
--= 0
INSERT INTO main."Kunden 'ß' 🚀" VALUES ('''', '"', 'x', 1, 'y');
SELECT rows_changed FROM counter_sync('office');
--= 1
UPDATE main."Kunden 'ß' 🚀" SET "order" = "order" + 1, "🚀" = 'z';
UPDATE office."Kunden 'ß' 🚀" SET "order" = "order" + 1, "not null" = NULL;
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT * FROM main."Kunden 'ß' 🚀" UNION ALL SELECT * FROM office."Kunden 'ß' 🚀";
--= '|"|NULL|3|z
--= '|"|NULL|3|z

-- # a-column-that-one-file-lacks-holds-back-nothing-and-comes-when-it-is-there
-- sqlite-sync refuses all that a file sends whose schema it does not know; the row here goes on without the column.
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
SELECT counter_replicate('main.products', 'stock');
--= 0
SELECT counter_replicate('office.products', 'stock');
--= 0
INSERT INTO main.products VALUES ('p1', 'Tea', 10);
SELECT rows_changed FROM counter_sync('office');
--= 1
ALTER TABLE office.products ADD COLUMN price NOT NULL DEFAULT 1;
SELECT counter_replicate('office.products');
--= 0
UPDATE office.products SET price = 3;
INSERT INTO office.products VALUES ('p2', 'Jam', 4, 5);
UPDATE main.products SET name = 'Green tea', stock = stock - 1;
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT * FROM main.products ORDER BY sku;
--= p1|Green tea|9
--= p2|Jam|4
ALTER TABLE main.products ADD COLUMN price NOT NULL DEFAULT 1;
SELECT counter_replicate('main.products');
--= 0
INSERT INTO main.products(sku, name, stock) VALUES ('p3', 'Ice', 0);
SELECT rows_changed FROM counter_sync('office');
--= 3
SELECT * FROM main.products ORDER BY sku;
--= p1|Green tea|9|3
--= p2|Jam|4|5
--= p3|Ice|0|1
SELECT counter_table_digest('products_counters', 'main') = counter_table_digest('products_counters', 'office');
--= 1

-- # a-default-that-was-never-written-beats-no-value-that-was
-- cr-sqlite: 4, the default, for it is the greater value of one version.
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, price DEFAULT 4);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, price DEFAULT 4);
INSERT INTO main.products(sku) VALUES ('p1');
SELECT counter_replicate('main.products');
--= 1
SELECT counter_replicate('office.products');
--= 0
INSERT INTO office.products VALUES ('p1', 2);
ALTER TABLE main.products ADD COLUMN grams DEFAULT 500;
ALTER TABLE office.products ADD COLUMN grams DEFAULT 500;
SELECT counter_replicate('main.products');
--= 0
SELECT counter_replicate('office.products');
--= 0
UPDATE office.products SET grams = 250;
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT * FROM main.products UNION ALL SELECT * FROM office.products;
--= p1|2|250
--= p1|2|250

-- # a-renamed-column-goes-on-where-the-other-file-still-has-the-old-name
-- cr-sqlite: a renamed column is a new one, whose values are written anew.
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
SELECT counter_replicate('main.products', 'stock');
--= 0
SELECT counter_replicate('office.products', 'stock');
--= 0
INSERT INTO main.products VALUES ('p1', 'Tea', 10);
SELECT rows_changed FROM counter_sync('office');
--= 1
UPDATE office.products SET name = 'Green tea';
ALTER TABLE main.products RENAME COLUMN name TO title;
ALTER TABLE main.products RENAME TO goods;
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT title FROM main.goods;
--= Green tea
UPDATE main.goods SET title = 'White tea';
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT name FROM office.products;
--= White tea

-- # columns-that-swap-their-names-are-still-those-they-were
ATTACH 'office.db' AS office;
CREATE TABLE main.people(id TEXT PRIMARY KEY NOT NULL, first TEXT, last TEXT);
CREATE TABLE office.people(id TEXT PRIMARY KEY NOT NULL, first TEXT, last TEXT);
SELECT counter_replicate('main.people');
--= 0
SELECT counter_replicate('office.people');
--= 0
INSERT INTO main.people VALUES ('p1', 'Lovelace', 'Ada');
SELECT rows_changed FROM counter_sync('office');
--= 1
ALTER TABLE main.people RENAME COLUMN first TO swap;
ALTER TABLE main.people RENAME COLUMN last TO first;
ALTER TABLE main.people RENAME COLUMN swap TO last;
UPDATE office.people SET first = 'King';
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT first, last FROM main.people;
--= Ada|King
UPDATE main.people SET first = 'Augusta Ada';
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT first, last FROM office.people;
--= King|Augusta Ada

-- # a-dropped-column-leaves-the-others-and-comes-back-with-what-other-files-have
--@ since 3.35
-- cr-sqlite forgets what it knew of a dropped column, and takes one of the same name for new.
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, price);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, price);
SELECT counter_replicate('main.products');
--= 0
SELECT counter_replicate('office.products');
--= 0
INSERT INTO main.products VALUES ('p1', 'Tea', 4);
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT counter_untrack('main.products', 'price');
--= 1
ALTER TABLE main.products DROP COLUMN price;
UPDATE main.products SET name = 'Green tea';
UPDATE office.products SET price = 5;
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT * FROM office.products;
--= p1|Green tea|5
SELECT * FROM main.products;
--= p1|Green tea
ALTER TABLE main.products ADD COLUMN price;
SELECT counter_replicate('main.products');
--= 0
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT * FROM main.products;
--= p1|Green tea|5

-- # not-null-without-a-default-is-replicated-because-rows-arrive-whole
-- Both refuse such a table: there a row comes column by column.
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, price NOT NULL CHECK (price > 0));
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, price NOT NULL CHECK (price > 0));
SELECT counter_replicate('main.products');
--= 0
SELECT counter_replicate('office.products');
--= 0
INSERT INTO main.products VALUES ('p1', 'Tea', 4);
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT * FROM office.products;
--= p1|Tea|4

-- # twins-that-a-unique-index-keeps-apart-wait-until-one-is-changed
-- cr-sqlite refuses a table with a UNIQUE index beside its key.
ATTACH 'office.db' AS office;
CREATE TABLE main.people(id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE, calls INTEGER);
CREATE TABLE office.people(id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE, calls INTEGER);
SELECT counter_replicate('main.people', 'calls');
--= 0
SELECT counter_replicate('office.people', 'calls');
--= 0
INSERT INTO main.people VALUES ('a', 'ann@example.org', 1);
INSERT INTO office.people VALUES ('b', 'ann@example.org', 2);
SELECT rows_changed, note FROM counter_sync('office');
--= 2|1 row waits: see counter_tracked(); 1 row waits in office: see counter_tracked('office')
SELECT * FROM main.people UNION ALL SELECT * FROM office.people;
--= a|ann@example.org|1
--= b|ann@example.org|2
DELETE FROM office.people;
SELECT rows_changed, note FROM counter_sync('office');
--= 1|NULL
SELECT * FROM main.people UNION ALL SELECT * FROM office.people;
--= a|ann@example.org|1
--= a|ann@example.org|1

-- # a-mail-that-is-free-again-arrives-with-its-new-owner
ATTACH 'office.db' AS office;
CREATE TABLE main.people(id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE);
CREATE TABLE office.people(id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE);
SELECT counter_replicate('main.people');
--= 0
SELECT counter_replicate('office.people');
--= 0
INSERT INTO main.people VALUES ('a', 'one@example.org'), ('b', 'two@example.org'), ('c', 'three@example.org');
SELECT rows_changed FROM counter_sync('office');
--= 3
DELETE FROM main.people WHERE id = 'a';
INSERT INTO main.people VALUES ('d', 'one@example.org');
UPDATE main.people SET mail = 'new@example.org' WHERE id = 'b';
UPDATE main.people SET mail = 'two@example.org' WHERE id = 'c';
SELECT rows_changed, note IS NULL FROM counter_sync('office');
--= 4|1
SELECT * FROM office.people ORDER BY id;
--= b|new@example.org
--= c|two@example.org
--= d|one@example.org

-- # a-list-whose-places-have-moved-by-one-arrives-in-one-sync
-- cr-sqlite has no UNIQUE places; its places are texts that leave room between any two.
ATTACH 'office.db' AS office;
CREATE TABLE main.list(id TEXT PRIMARY KEY NOT NULL, place INTEGER NOT NULL UNIQUE);
CREATE TABLE office.list(id TEXT PRIMARY KEY NOT NULL, place INTEGER NOT NULL UNIQUE);
SELECT counter_replicate('main.list');
--= 0
SELECT counter_replicate('office.list');
--= 0
INSERT INTO main.list VALUES ('c', 3), ('a', 1), ('e', 5), ('b', 2), ('d', 4);
SELECT rows_changed FROM counter_sync('office');
--= 5
UPDATE main.list SET place = -place;
UPDATE main.list SET place = 1 - place;
INSERT INTO main.list VALUES ('first', 1);
SELECT rows_changed, note IS NULL FROM counter_sync('office');
--= 6|1
SELECT * FROM office.list ORDER BY place;
--= first|1
--= a|2
--= b|3
--= c|4
--= d|5
--= e|6

-- # rows-that-swap-their-mails-swap-them-in-the-other-file
ATTACH 'office.db' AS office;
CREATE TABLE main.people(id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE);
CREATE TABLE office.people(id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE);
SELECT counter_replicate('main.people');
--= 0
SELECT counter_replicate('office.people');
--= 0
INSERT INTO main.people VALUES ('a', 'one@example.org'), ('b', 'two@example.org');
SELECT rows_changed FROM counter_sync('office');
--= 2
UPDATE main.people SET mail = NULL WHERE id = 'a';
UPDATE main.people SET mail = 'one@example.org' WHERE id = 'b';
UPDATE main.people SET mail = 'two@example.org' WHERE id = 'a';
SELECT rows_changed, note FROM counter_sync('office');
--= 2|NULL
SELECT * FROM office.people ORDER BY id;
--= a|two@example.org
--= b|one@example.org

-- # places-that-may-not-be-null-turn-round-and-a-trigger-sees-a-number-in-between
ATTACH 'office.db' AS office;
CREATE TABLE main.list(id TEXT PRIMARY KEY NOT NULL, place INT NOT NULL UNIQUE, n INT NOT NULL DEFAULT 0);
CREATE TABLE office.list(id TEXT PRIMARY KEY NOT NULL, place INT NOT NULL UNIQUE, n INT NOT NULL DEFAULT 0);
SELECT counter_replicate('main.list', 'n');
--= 0
SELECT counter_replicate('office.list', 'n');
--= 0
INSERT INTO main.list VALUES ('a', 1, 5), ('b', 2, 6), ('c', 3, 7);
SELECT rows_changed FROM counter_sync('office');
--= 3
CREATE TABLE office.seen(place);
CREATE TRIGGER office.sees AFTER UPDATE OF place ON list BEGIN INSERT INTO seen VALUES (CASE WHEN NEW.place < 0 THEN 'below' ELSE NEW.place END); END;
UPDATE main.list SET place = -place;
UPDATE main.list SET place = 1 - place WHERE id <> 'c';
UPDATE main.list SET place = 1 WHERE id = 'c';
UPDATE office.list SET n = n + 1;
SELECT rows_changed, note FROM counter_sync('office');
--= 6|NULL
SELECT * FROM office.list ORDER BY place;
--= c|1|8
--= a|2|6
--= b|3|7
SELECT place, count(*) FROM office.seen GROUP BY 1 ORDER BY 1;
--= 1|1
--= 2|1
--= 3|1
--= below|3

-- # a-deck-arrives-with-its-slides-and-a-slide-of-a-deleted-deck-waits
-- cr-sqlite refuses a table with foreign keys that are checked.
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.slides(id TEXT PRIMARY KEY NOT NULL, deck TEXT NOT NULL REFERENCES decks, title TEXT);
CREATE TABLE main.decks(id TEXT PRIMARY KEY NOT NULL, title TEXT);
CREATE TABLE office.slides(id TEXT PRIMARY KEY NOT NULL, deck TEXT NOT NULL REFERENCES decks, title TEXT);
CREATE TABLE office.decks(id TEXT PRIMARY KEY NOT NULL, title TEXT);
SELECT counter_replicate('main.slides');
--= 0
SELECT counter_replicate('main.decks');
--= 0
SELECT counter_replicate('office.slides');
--= 0
SELECT counter_replicate('office.decks');
--= 0
BEGIN;
INSERT INTO main.decks VALUES ('d1', 'Talk'), ('d2', 'Draft');
INSERT INTO main.slides VALUES ('s1', 'd1', 'Hello'), ('s2', 'd1', 'Thanks');
COMMIT;
SELECT table_name, rows_changed, note FROM counter_sync('office');
--= decks|2|NULL
--= slides|2|NULL
SELECT title FROM office.slides ORDER BY id;
--= Hello
--= Thanks
DELETE FROM main.decks WHERE id = 'd2';
INSERT INTO office.slides VALUES ('s3', 'd2', 'Idea');
SELECT table_name, rows_changed, note FROM counter_sync('office');
--= decks|1|1 row differs in office: see counter_tracked('office')
--= slides|1|1 row waits: see counter_tracked()
UPDATE office.slides SET deck = 'd1' WHERE id = 's3';
SELECT table_name, rows_changed, note FROM counter_sync('office');
--= decks|0|NULL
--= slides|1|NULL
SELECT deck, title FROM main.slides ORDER BY id;
--= d1|Hello
--= d1|Thanks
--= d1|Idea

-- # a-tree-in-one-table-is-moved-in-two-files-and-may-become-a-circle
ATTACH 'office.db' AS office;
PRAGMA foreign_keys = ON;
CREATE TABLE main.tree(id TEXT PRIMARY KEY NOT NULL, above TEXT REFERENCES tree);
CREATE TABLE office.tree(id TEXT PRIMARY KEY NOT NULL, above TEXT REFERENCES tree);
SELECT counter_replicate('main.tree');
--= 0
SELECT counter_replicate('office.tree');
--= 0
INSERT INTO main.tree VALUES ('root', NULL), ('left', 'root'), ('right', 'root');
SELECT rows_changed, note FROM counter_sync('office');
--= 3|NULL
UPDATE main.tree SET above = 'right' WHERE id = 'left';
UPDATE office.tree SET above = 'left' WHERE id = 'right';
SELECT rows_changed, note FROM counter_sync('office');
--= 2|NULL
SELECT * FROM main.tree ORDER BY id;
--= left|right
--= right|left
--= root|NULL
SELECT * FROM office.tree ORDER BY id;
--= left|right
--= right|left
--= root|NULL

-- # a-row-goes-through-a-file-in-the-middle-and-so-does-its-end
ATTACH 'office.db' AS office;
ATTACH 'phone.db' AS phone;
CREATE TABLE main.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
CREATE TABLE office.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
CREATE TABLE phone.products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER);
SELECT counter_replicate('main.products', 'stock');
--= 0
SELECT counter_replicate('office.products', 'stock');
--= 0
SELECT counter_replicate('phone.products', 'stock');
--= 0
INSERT INTO office.products VALUES ('p1', 'Tea', 10), ('p2', 'Jam', 4);
SELECT rows_changed FROM counter_pull('office');
--= 2
SELECT rows_changed FROM counter_push('phone');
--= 2
DELETE FROM phone.products WHERE sku = 'p1';
UPDATE phone.products SET name = 'Plum jam', stock = stock + 1;
UPDATE office.products SET stock = stock + 1;
SELECT rows_changed FROM counter_sync('phone');
--= 2
SELECT rows_changed FROM counter_sync('office');
--= 3
SELECT rows_changed FROM counter_sync('phone');
--= 1
SELECT * FROM main.products UNION ALL SELECT * FROM office.products UNION ALL SELECT * FROM phone.products;
--= p2|Plum jam|6
--= p2|Plum jam|6
--= p2|Plum jam|6

-- # files-that-hear-of-a-row-before-and-after-its-return-agree-in-the-end
ATTACH 'b.db' AS b;
ATTACH 'c.db' AS c;
ATTACH 'd.db' AS d;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, v);
CREATE TABLE b.t(k TEXT PRIMARY KEY NOT NULL, v);
CREATE TABLE c.t(k TEXT PRIMARY KEY NOT NULL, v);
CREATE TABLE d.t(k TEXT PRIMARY KEY NOT NULL, v);
SELECT counter_replicate('main.t');
--= 0
SELECT counter_replicate('b.t');
--= 0
SELECT counter_replicate('c.t');
--= 0
SELECT counter_replicate('d.t');
--= 0
INSERT INTO c.t VALUES ('x', 'of c');
UPDATE c.t SET v = 'of c, twice';
INSERT INTO b.t VALUES ('x', 'of b');
INSERT INTO main.t VALUES ('x', 'of main');
DELETE FROM main.t;
INSERT INTO main.t VALUES ('x', 'the second life');
SELECT count(*) FROM counter_pull('c');
--= 1
SELECT rows_changed FROM counter_push('d');
--= 1
SELECT count(*) FROM counter_pull('b');
--= 1
SELECT count(*) FROM counter_push('b');
--= 1
SELECT count(*) FROM counter_push('c');
--= 1
SELECT count(*) FROM counter_push('d');
--= 1
SELECT v FROM main.t UNION ALL SELECT v FROM b.t UNION ALL SELECT v FROM c.t UNION ALL SELECT v FROM d.t;
--= the second life
--= the second life
--= the second life
--= the second life

-- # a-key-that-sqlite-gives-out-by-itself-is-refused-as-it-is-one-number-for-two-rows
-- cr-sqlite replicates it; sqlite-sync refuses it, too, unless it is told otherwise.
CREATE TABLE products(id INTEGER PRIMARY KEY NOT NULL, name TEXT);
SELECT counter_replicate('products');
--!~ counter_replicate: products: SQLite gives out the key id by itself, *
SELECT counter_replicate('products', 'keys=assigned');
--= 0
CREATE TABLE notes(text TEXT);
SELECT counter_replicate('notes');
--!~ counter_replicate: * PRIMARY KEY*

-- # a-key-that-is-null-is-no-key
-- Both refuse a table whose key may be NULL; here the row is refused.
CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT);
SELECT counter_replicate('products');
--= 0
INSERT INTO products VALUES (NULL, 'Tea');
--!~ *NULL*
