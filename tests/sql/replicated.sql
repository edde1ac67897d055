-- Replicated tables: whole rows merge, counters add up, the other columns keep the last write.

-- # a-new-product-a-new-price-and-sales-on-both-are-the-same-after-one-sync
ATTACH 'office.db' AS office;
CREATE TABLE main.products(sku TEXT PRIMARY KEY, name TEXT NOT NULL, price REAL, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.products(sku TEXT PRIMARY KEY, name TEXT NOT NULL, price REAL, stock INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('main.products', 'stock');
--= 0
SELECT counter_replicate('office.products', 'stock');
--= 0
INSERT INTO main.products VALUES ('jam', 'Plum jam', 4.5, 12);
SELECT table_name, rows_read, rows_changed FROM counter_sync('office');
--= products|1|1
UPDATE main.products SET price = 5, stock = stock - 1;
UPDATE office.products SET name = 'Jam', stock = stock - 2;
INSERT INTO office.products VALUES ('tea', 'Tea', NULL, 3);
SELECT table_name, rows_read, rows_changed FROM counter_sync('office');
--= products|3|3
SELECT * FROM main.products ORDER BY sku;
--= jam|Jam|5.0|9
--= tea|Tea|NULL|3
SELECT * FROM office.products ORDER BY sku;
--= jam|Jam|5.0|9
--= tea|Tea|NULL|3
SELECT table_name, rows_read, rows_changed FROM counter_sync('office');
--= products|3|0
DELETE FROM main.products WHERE sku = 'tea';
UPDATE office.products SET price = 1 WHERE sku = 'tea';
SELECT table_name, rows_changed FROM counter_sync('office');
--= products|1
SELECT * FROM main.products;
--= jam|Jam|5.0|9
SELECT * FROM office.products;
--= jam|Jam|5.0|9
INSERT INTO products VALUES ('tea', 'Green tea', 2, 7);
UPDATE office.products SET stock = stock + 1;
SELECT table_name, rows_changed FROM counter_sync('office');
--= products|2
SELECT * FROM main.products ORDER BY sku;
--= jam|Jam|5.0|10
--= tea|Green tea|2.0|7
SELECT * FROM office.products ORDER BY sku;
--= jam|Jam|5.0|10
--= tea|Green tea|2.0|7
INSERT INTO products_counters(products_counters) VALUES ('integrity-check');

-- # a-table-without-counters-is-replicated
--@ since 3.37
ATTACH 'office.db' AS office;
CREATE TABLE main.notes(id TEXT PRIMARY KEY, text TEXT, data BLOB) STRICT;
CREATE TABLE office.notes(id TEXT PRIMARY KEY, text TEXT, data BLOB) STRICT;
SELECT counter_replicate('notes');
--= 0
SELECT counter_replicate('office.notes');
--= 0
INSERT INTO notes VALUES ('a', 'eins', x'00ff'), ('b', 'zwei', NULL);
UPDATE notes SET text = 'drei' WHERE id = 'b';
SELECT table_name, rows_changed FROM counter_push('office');
--= notes|2
SELECT id, text, hex(data) FROM office.notes ORDER BY id;
--= a|eins|00FF
--= b|drei|
SELECT column_name, state FROM counter_tracked;
--= text|regular
--= data|regular
DELETE FROM office.notes;
SELECT table_name, rows_changed FROM counter_pull('office');
--= notes|2
SELECT count(*) FROM notes;
--= 0
SELECT * FROM notes_counters;
INSERT INTO notes_counters(notes_counters) VALUES ('integrity-check');

-- # of-two-files-that-had-a-row-one-wins-throughout-once-that-is-said
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, a, b, n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, a, b, n INTEGER);
INSERT INTO main.p VALUES ('x', 1, 1, NULL);
INSERT INTO office.p VALUES ('x', 2, 2, NULL);
SELECT counter_replicate('main.p', 'n');
--= 1
SELECT counter_replicate('office.p', 'n', 'values=newest');
--= 1
SELECT table_name, rows_changed FROM counter_sync('office');
--= p|1
SELECT m.a, m.b, o.a, o.b FROM main.p AS m, office.p AS o;
--= 2|2|2|2

-- # a-write-after-a-merge-in-one-transaction-beats-what-the-merge-brought
CREATE TABLE main.p(k TEXT PRIMARY KEY, v);
SELECT counter_replicate('p');
--= 0
ATTACH 'office.db' AS office;
CREATE TABLE office.p(k TEXT PRIMARY KEY, v);
SELECT counter_replicate('office.p');
--= 0
INSERT INTO p VALUES ('a', 'first');
SELECT rows_changed FROM counter_push('office');
--= 1
UPDATE office.p SET v = 'theirs';
BEGIN;
UPDATE p SET v = 'mine';
COMMIT;
-- The clock has milliseconds; this takes some.
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000) SELECT max(i) FROM c;
--= 200000
UPDATE office.p SET v = 'theirs, later';
SELECT rows_changed FROM counter_pull('office');
--= 1
SELECT v FROM p;
--= theirs, later
UPDATE p SET v = 'mine again';
SELECT rows_changed FROM counter_push('office');
--= 1
SELECT v FROM office.p;
--= mine again

-- # rows-that-the-table-refuses-wait-and-differ-and-travel-on
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, name TEXT NOT NULL, code UNIQUE, n INTEGER CHECK (n >= 0));
CREATE TABLE office.p(k TEXT PRIMARY KEY, name TEXT, code, n INTEGER);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO office.p VALUES ('a', NULL, 1, 5), ('b', 'B', 2, -3), ('c', 'C', 3, 1), ('d', 'D', 3, 1);
SELECT table_name, rows_changed, note FROM counter_pull('office');
--= p|4|2 rows wait, 1 row differs: see counter_tracked()
SELECT * FROM main.p ORDER BY k;
--= b|B|2|NULL
--= c|C|3|1
SELECT column_name, state, row_key, shown, merged FROM counter_tracked WHERE row_key IS NOT NULL ORDER BY row_key, column_name;
--= code|waits|('a')|NULL|1
--= n|waits|('a')|NULL|5
--= name|waits|('a')|NULL|NULL
--= n|differs|('b')|NULL|-3
--= code|waits|('d')|NULL|3
--= n|waits|('d')|NULL|1
--= name|waits|('d')|NULL|D
ATTACH 'third.db' AS third;
CREATE TABLE third.p(k TEXT PRIMARY KEY, name TEXT, code, n INTEGER);
SELECT counter_replicate('third.p', 'n');
--= 0
SELECT table_name, rows_changed, note FROM counter_push('third');
--= p|4|NULL
SELECT * FROM third.p ORDER BY k;
--= a|NULL|1|5
--= b|B|2|-3
--= c|C|3|1
--= d|D|3|1
UPDATE office.p SET name = 'A' WHERE k = 'a';
UPDATE office.p SET code = 4 WHERE k = 'd';
UPDATE office.p SET n = n + 5 WHERE k = 'b';
SELECT table_name, rows_changed, note FROM counter_pull('office');
--= p|3|NULL
SELECT * FROM main.p ORDER BY k;
--= a|A|1|5
--= b|B|2|2
--= c|C|3|1
--= d|D|4|1
SELECT count(*) FROM counter_tracked WHERE row_key IS NOT NULL;
--= 0

-- # an-insert-of-a-waiting-row-is-a-write-in-the-same-life
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, name TEXT NOT NULL, n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, name TEXT, n INTEGER);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO office.p VALUES ('a', NULL, 5);
SELECT rows_changed, note FROM counter_pull('office');
--= 1|1 row waits: see counter_tracked()
INSERT INTO main.p VALUES ('a', 'mine', 2);
SELECT * FROM main.p;
--= a|mine|7
SELECT rows_changed, note FROM counter_push('office');
--= 1|NULL
SELECT * FROM office.p;
--= a|mine|7
SELECT count(*) FROM counter_tracked WHERE row_key IS NOT NULL;
--= 0

-- # parents-and-children-that-arrive-in-one-pull-are-shown
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.a_child(id TEXT PRIMARY KEY, parent TEXT NOT NULL REFERENCES z_parent(id) ON DELETE CASCADE, n INTEGER);
CREATE TABLE main.z_parent(id TEXT PRIMARY KEY, name TEXT);
CREATE TABLE office.a_child(id TEXT PRIMARY KEY, parent TEXT NOT NULL REFERENCES z_parent(id) ON DELETE CASCADE, n INTEGER);
CREATE TABLE office.z_parent(id TEXT PRIMARY KEY, name TEXT);
SELECT counter_replicate('main.a_child', 'n');
--= 0
SELECT counter_replicate('main.z_parent');
--= 0
SELECT counter_replicate('office.a_child', 'n');
--= 0
SELECT counter_replicate('office.z_parent');
--= 0
INSERT INTO office.z_parent VALUES ('p', 'Parent');
INSERT INTO office.a_child VALUES ('c', 'p', 3), ('d', 'p', 4);
SELECT table_name, rows_changed, note FROM counter_pull('office');
--= a_child|2|NULL
--= z_parent|1|NULL
SELECT * FROM main.a_child ORDER BY id;
--= c|p|3
--= d|p|4
SELECT * FROM main.z_parent;
--= p|Parent
DELETE FROM office.z_parent;
SELECT table_name, rows_changed, note FROM counter_pull('office');
--= a_child|2|NULL
--= z_parent|1|NULL
SELECT (SELECT count(*) FROM main.a_child), (SELECT count(*) FROM main.z_parent);
--= 0|0
SELECT count(*) FROM counter_tracked WHERE row_key IS NOT NULL;
--= 0

-- # a-parent-in-its-own-table-is-shown-before-its-children-whichever-column-names-it
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.f(id TEXT PRIMARY KEY, inside TEXT REFERENCES f(id) DEFERRABLE INITIALLY DEFERRED, size INTEGER, name TEXT);
CREATE TABLE office.f(id TEXT PRIMARY KEY, inside TEXT REFERENCES f(id) DEFERRABLE INITIALLY DEFERRED, size INTEGER, name TEXT);
CREATE TABLE main.shown(n INTEGER PRIMARY KEY, id TEXT);
SELECT counter_replicate('main.f', 'size');
--= 0
SELECT counter_replicate('office.f', 'size');
--= 0
CREATE TRIGGER main.noted AFTER INSERT ON f BEGIN INSERT INTO shown(id) VALUES(NEW.id); END;
BEGIN;
INSERT INTO office.f VALUES('child', 'parent', 1, 'c');
INSERT INTO office.f VALUES('parent', NULL, 1, 'p');
COMMIT;
SELECT table_name, rows_changed, note FROM counter_pull('office');
--= f|2|NULL
SELECT id FROM shown ORDER BY n;
--= parent
--= child

-- # a-row-that-waits-is-listed-though-all-of-its-columns-are-its-key
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.tags(name TEXT PRIMARY KEY);
CREATE TABLE office.tags(name TEXT PRIMARY KEY);
CREATE TABLE main.pairs(note TEXT, tag TEXT REFERENCES tags(name), PRIMARY KEY(note, tag));
CREATE TABLE office.pairs(note TEXT, tag TEXT REFERENCES tags(name), PRIMARY KEY(note, tag));
SELECT counter_replicate('main.tags');
--= 0
SELECT counter_replicate('office.tags');
--= 0
SELECT counter_replicate('main.pairs');
--= 0
SELECT counter_replicate('office.pairs');
--= 0
INSERT INTO office.tags VALUES('todo');
SELECT rows_changed FROM counter_pull('office') WHERE table_name = 'tags';
--= 1
DELETE FROM main.tags;
INSERT INTO office.pairs VALUES('n', 'todo');
SELECT note FROM counter_pull('office') WHERE note IS NOT NULL;
--= 1 row waits: see counter_tracked()
SELECT table_name, column_name, state, row_key, shown, merged, why FROM counter_tracked WHERE row_key IS NOT NULL;
--= pairs|NULL|waits|('n', 'todo')|NULL|NULL|FOREIGN KEY constraint failed: tags has no row with name = 'todo'
INSERT INTO main.tags VALUES('todo');
SELECT count(note) FROM counter_pull('office');
--= 0
SELECT * FROM main.pairs;
--= n|todo
SELECT count(*) FROM counter_tracked WHERE row_key IS NOT NULL;
--= 0

-- # a-row-that-waited-for-a-value-and-now-lacks-its-parent-says-so
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.q(id TEXT PRIMARY KEY);
CREATE TABLE office.q(id TEXT PRIMARY KEY);
CREATE TABLE main.p(k TEXT PRIMARY KEY, code INTEGER UNIQUE, parent TEXT REFERENCES q(id));
CREATE TABLE office.p(k TEXT PRIMARY KEY, code INTEGER UNIQUE, parent TEXT REFERENCES q(id));
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
INSERT INTO main.p VALUES('a', 1, NULL);
INSERT INTO main.q VALUES('o');
INSERT INTO office.q VALUES('o');
INSERT INTO office.p VALUES('b', 1, 'o');
SELECT rows_changed FROM counter_pull('office');
--= 1
SELECT DISTINCT row_key, why FROM counter_tracked WHERE state = 'waits';
--= ('b')|UNIQUE constraint failed: p.code: the row ('a') has code 1
DELETE FROM main.q;
DELETE FROM main.p;
SELECT rows_changed FROM counter_pull('office');
--= 0
SELECT DISTINCT row_key, why FROM counter_tracked WHERE state = 'waits';
--= ('b')|FOREIGN KEY constraint failed: q has no row with id = 'o'

-- # values-that-wait-for-each-other-are-all-shown-in-one-pull-however-the-rows-are-stored
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k INTEGER PRIMARY KEY, code TEXT UNIQUE);
CREATE TABLE office.p(k INTEGER PRIMARY KEY, code TEXT UNIQUE);
SELECT counter_replicate('main.p', 'keys=assigned');
--= 0
SELECT counter_replicate('office.p', 'keys=assigned');
--= 0
INSERT INTO office.p VALUES(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e'), (6, 'f'), (7, 'g');
SELECT rows_changed FROM counter_pull('office');
--= 7
UPDATE office.p SET code = 'free' WHERE k = 7;
UPDATE office.p SET code = 'g' WHERE k = 1;
UPDATE office.p SET code = 'a' WHERE k = 6;
UPDATE office.p SET code = 'f' WHERE k = 2;
UPDATE office.p SET code = 'b' WHERE k = 5;
UPDATE office.p SET code = 'e' WHERE k = 3;
UPDATE office.p SET code = 'c' WHERE k = 4;
SELECT rows_changed, note FROM counter_pull('office');
--= 7|NULL
SELECT group_concat(code, ' ') FROM (SELECT code FROM main.p ORDER BY k);
--= g f e c b a free

-- # what-a-trigger-changes-in-a-merged-row-is-not-stamped-and-travels-as-it-was-merged
ATTACH 'office.db' AS office;
ATTACH 'third.db' AS third;
CREATE TABLE main.p(k TEXT PRIMARY KEY, name TEXT, changed INTEGER DEFAULT 0);
CREATE TABLE office.p(k TEXT PRIMARY KEY, name TEXT, changed INTEGER DEFAULT 0);
CREATE TABLE third.p(k TEXT PRIMARY KEY, name TEXT, changed INTEGER DEFAULT 0);
CREATE TRIGGER touch AFTER UPDATE OF name ON main.p BEGIN UPDATE p SET changed = changed + 1 WHERE k = NEW.k; END;
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
SELECT counter_replicate('third.p');
--= 0
INSERT INTO office.p(k, name) VALUES ('a', 'A');
SELECT rows_changed FROM counter_pull('office');
--= 1
UPDATE office.p SET name = 'B';
SELECT rows_changed FROM counter_pull('office');
--= 1
SELECT * FROM main.p;
--= a|B|1
SELECT rows_changed FROM counter_push('third');
--= 1
SELECT * FROM third.p;
--= a|B|0
SELECT rows_changed FROM counter_pull('office');
--= 0
UPDATE main.p SET name = 'C';
SELECT * FROM main.p;
--= a|C|2
SELECT rows_changed FROM counter_push('third');
--= 1
SELECT * FROM third.p;
--= a|C|2

-- # a-full-text-index-kept-by-triggers-follows-merges
ATTACH 'office.db' AS office;
CREATE TABLE main.docs(id TEXT PRIMARY KEY, body TEXT);
CREATE TABLE office.docs(id TEXT PRIMARY KEY, body TEXT);
CREATE TABLE words(id TEXT, body TEXT);
CREATE TRIGGER docs_in AFTER INSERT ON docs BEGIN INSERT INTO words VALUES (NEW.id, NEW.body); END;
CREATE TRIGGER docs_out AFTER DELETE ON docs BEGIN DELETE FROM words WHERE id = OLD.id; END;
CREATE TRIGGER docs_up AFTER UPDATE ON docs BEGIN DELETE FROM words WHERE id = OLD.id; INSERT INTO words VALUES (NEW.id, NEW.body); END;
SELECT counter_replicate('main.docs');
--= 0
SELECT counter_replicate('office.docs');
--= 0
INSERT INTO office.docs VALUES ('a', 'red fox'), ('b', 'blue whale');
SELECT rows_changed FROM counter_pull('office');
--= 2
UPDATE office.docs SET body = 'grey wolf' WHERE id = 'a';
DELETE FROM office.docs WHERE id = 'b';
SELECT rows_changed FROM counter_pull('office');
--= 2
SELECT * FROM words;
--= a|grey wolf

-- # a-column-that-is-added-travels-when-it-is-replicated-in-both-files
--@ since 3.35
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO main.p VALUES ('a', 1), ('b', 2);
SELECT rows_changed FROM counter_push('office');
--= 2
ALTER TABLE main.p ADD COLUMN color TEXT DEFAULT 'red';
UPDATE main.p SET color = 'blue' WHERE k = 'a';
SELECT counter_replicate('main.p');
--= 1
SELECT rows_changed FROM counter_push('office');
--= 0
ALTER TABLE office.p ADD COLUMN color TEXT DEFAULT 'red';
SELECT rows_changed FROM counter_push('office');
--= 0
UPDATE main.p SET color = 'green' WHERE k = 'b';
SELECT rows_changed, note FROM counter_push('office');
--= 0|passed over: column color is replicated in main and not yet in office: call counter_replicate('p') there
SELECT counter_replicate('office.p');
--= 0
SELECT rows_changed FROM counter_push('office');
--= 2
SELECT * FROM office.p ORDER BY k;
--= a|1|blue
--= b|2|green
ALTER TABLE main.p RENAME COLUMN color TO colour;
UPDATE main.p SET colour = 'black';
SELECT rows_changed FROM counter_push('office');
--= 2
SELECT * FROM office.p ORDER BY k;
--= a|1|black
--= b|2|black
ALTER TABLE office.p DROP COLUMN color;
--! error in trigger p_counters_row after drop column: no such column: NEW.color
SELECT counter_untrack('office.p', 'color');
--= 1
ALTER TABLE office.p DROP COLUMN color;
SELECT rows_changed FROM counter_push('office');
--= 0
SELECT * FROM office.p ORDER BY k;
--= a|1
--= b|2

-- # a-tracked-table-becomes-a-replicated-one
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, name, n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, name, n INTEGER);
SELECT counter_track('main.p', 'n');
--= 0
SELECT counter_track('office.p', 'n');
--= 0
INSERT INTO main.p VALUES ('a', 'A', 1), ('b', 'B', 2), ('c', 'C', 3);
SELECT rows_changed FROM counter_sync('office');
--= 3
DELETE FROM main.p WHERE k = 'c';
UPDATE main.p SET n = NULL WHERE k = 'b';
UPDATE main.p SET n = 7 WHERE k = 'b';
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT counter_replicate('main.p');
--= 2
SELECT rows_changed, note FROM counter_sync('office');
--= 0|passed over: it is replicated in main, but not in office, and a replicated table merges with replicated ones only: call counter_replicate('p') there
SELECT counter_replicate('office.p');
--= 2
UPDATE main.p SET name = name || '!', n = n + 1;
UPDATE office.p SET n = n + 10;
SELECT rows_changed FROM counter_sync('office');
--= 4
SELECT * FROM main.p ORDER BY k;
--= a|A!|12
--= b|B!|18
SELECT * FROM office.p ORDER BY k;
--= a|A!|12
--= b|B!|18
INSERT INTO main.p VALUES ('c', 'again', 5);
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT * FROM office.p ORDER BY k;
--= a|A!|12
--= b|B!|18
--= c|again|5

-- # a-rebuilt-table-is-believed-and-may-be-made-the-newest
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, v, n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, v, n INTEGER);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO main.p VALUES ('a', 1, 1), ('b', 1, 1);
SELECT rows_changed FROM counter_sync('office');
--= 2
BEGIN;
CREATE TABLE new_p(k TEXT PRIMARY KEY, v NOT NULL, n INTEGER);
INSERT INTO new_p SELECT k, v + 1, n + 1 FROM main.p WHERE k = 'a';
INSERT INTO new_p VALUES ('c', 5, 5);
DROP TABLE main.p;
ALTER TABLE new_p RENAME TO p;
SELECT rows_changed FROM counter_push('office');
--= 0
SELECT counter_replicate('main.p', 'values=newest');
--! counter_replicate: p: 1 of its rows is missing, ('b'), and no DELETE of them was seen: add 'missing=restored' to the call, which brings them back, or 'missing=deleted', which deletes them in all files
SELECT counter_replicate('main.p', 'values=newest', 'missing=deleted');
--= 3
COMMIT;
SELECT rows_changed FROM counter_sync('office');
--= 3
SELECT * FROM office.p ORDER BY k;
--= a|2|2
--= c|5|5
SELECT * FROM main.p ORDER BY k;
--= a|2|2
--= c|5|5

-- # a-replicated-column-that-a-rebuilt-table-lacks-was-renamed-or-is-untracked
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, u, w, n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, u, w, n INTEGER);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO main.p VALUES ('a', 'u', 'w', 1);
SELECT rows_changed FROM counter_sync('office');
--= 1
ALTER TABLE main.p RENAME COLUMN u TO z;
UPDATE main.p SET w = 'w2';
CREATE TABLE main.new_p(k TEXT PRIMARY KEY, w, y, n INTEGER);
INSERT INTO new_p SELECT k, w, z, n FROM main.p;
DROP TABLE main.p;
ALTER TABLE main.new_p RENAME TO p;
SELECT counter_replicate('main.p');
--! counter_replicate: p: the replicated column z is missing: if it was renamed, rename it back, call counter_replicate('p'), and rename it again; if it was dropped, call counter_untrack('p', 'z')
SELECT counter_replicate('main.p', 'n');
--! counter_replicate: p: the replicated column z is missing: if it was renamed, rename it back, call counter_replicate('p'), and rename it again; if it was dropped, call counter_untrack('p', 'z')
SELECT counter_track('main.p');
--! counter_track: p: the replicated column z is missing: if it was renamed, rename it back, call counter_replicate('p'), and rename it again; if it was dropped, call counter_untrack('p', 'z')
SELECT counter_untrack('main.p', 'n');
--! counter_untrack: p: the replicated column z is missing: if it was renamed, rename it back, call counter_replicate('p'), and rename it again; if it was dropped, call counter_untrack('p', 'z')
SAVEPOINT is_dropped;
SELECT counter_untrack('main.p', 'z');
--= 1
SELECT column_name, state FROM counter_tracked('main') ORDER BY column_name;
--= n|tracked
--= w|regular
SELECT counter_replicate('main.p');
--= 1
SELECT column_name FROM counter_tracked('main') WHERE state = 'regular' ORDER BY column_name;
--= w
--= y
ROLLBACK TO is_dropped;
RELEASE is_dropped;
ALTER TABLE main.p RENAME COLUMN y TO z;
SELECT counter_replicate('main.p');
--= 0
ALTER TABLE main.p RENAME COLUMN z TO y;
UPDATE office.p SET u = 'u2';
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT * FROM main.p;
--= a|w2|u2|1
SELECT * FROM office.p;
--= a|u2|w2|1

-- # a-counter-that-becomes-a-regular-column-becomes-one-in-each-file
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);
SELECT counter_replicate('main.p', 'n', 'm');
--= 0
SELECT counter_replicate('office.p', 'n', 'm');
--= 0
INSERT INTO main.p VALUES ('a', 1, 2);
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT counter_untrack('office.p', 'n');
--= 1
SELECT counter_replicate('office.p');
--= 1
UPDATE office.p SET n = 'text';
SELECT rows_changed, note FROM counter_pull('office');
--= 0|passed over: column n was a counter and is a regular column in office: in main, call counter_untrack('p', 'n'), then counter_replicate('p', 'values=oldest'), which takes the values of office, or counter_replicate('p'), which keeps its own
SELECT rows_changed, note FROM counter_push('office', 'full');
--= 0|passed over: column n was a counter and is a regular column in office: in main, call counter_untrack('p', 'n'), then counter_replicate('p', 'values=oldest'), which takes the values of office, or counter_replicate('p'), which keeps its own
SELECT * FROM main.p;
--= a|1|2
SELECT state FROM counter_tracked WHERE column_name = 'n';
--= tracked
SELECT counter_untrack('main.p', 'n');
--= 1
SELECT counter_replicate('main.p', 'values=oldest');
--= 1
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT * FROM main.p;
--= a|text|2

-- # a-migration-that-untracks-a-counter-runs-after-a-merge-that-has-dropped-it
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, n INTEGER, m INTEGER, w TEXT);
CREATE TABLE office.p(k TEXT PRIMARY KEY, n INTEGER, m INTEGER, w TEXT);
SELECT counter_replicate('main.p', 'n', 'm');
--= 0
SELECT counter_replicate('office.p', 'n', 'm');
--= 0
INSERT INTO main.p VALUES ('a', 1, 2, 'x');
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT counter_untrack('office.p', 'n');
--= 1
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT column_name FROM counter_tracked WHERE state = 'tracked';
--= m
SELECT counter_untrack('main.p', 'N');
--= 0
SELECT counter_untrack('main.p', 'N', 'm', 'w');
--= 2
SELECT counter_untrack('main.p', 'k');
--! counter_untrack: p: column 'k' is not tracked
SELECT * FROM main.p;
--= a|1|2|x

-- # what-was-counted-wins-over-what-a-file-wrote-before-the-column-counted
ATTACH 'office.db' AS office;
ATTACH 'shed.db' AS shed;
CREATE TABLE main.p(k TEXT PRIMARY KEY, w INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, w INTEGER);
CREATE TABLE shed.p(k TEXT PRIMARY KEY, w INTEGER);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
SELECT counter_replicate('shed.p');
--= 0
INSERT INTO main.p VALUES ('a', 1);
SELECT rows_changed FROM counter_push('office');
--= 1
SELECT rows_changed FROM counter_push('shed');
--= 1
UPDATE shed.p SET w = 100;
SELECT counter_replicate('main.p', 'w', 'opening=same');
--= 1
SELECT counter_replicate('office.p', 'w', 'opening=same');
--= 1
UPDATE main.p SET w = w + 5;
UPDATE office.p SET w = w + 3;
SELECT rows_changed, note FROM counter_sync('office');
--= 2|NULL
SELECT counter_untrack('main.p', 'w');
--= 1
SELECT counter_replicate('main.p');
--= 1
SELECT counter_untrack('office.p', 'w');
--= 1
SELECT counter_replicate('office.p', 'values=oldest');
--= 1
SELECT rows_changed, note FROM counter_sync('office');
--= 1|NULL
SELECT rows_changed, note FROM counter_sync('shed');
--= 1|NULL
SELECT m.w, o.w, s.w FROM main.p AS m, office.p AS o, shed.p AS s;
--= 9|9|9
UPDATE shed.p SET w = 10;
SELECT rows_changed, note FROM counter_sync('shed');
--= 1|NULL
SELECT w FROM main.p;
--= 10

-- # a-file-that-follows-takes-the-values-of-the-file-that-ended-the-counter
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, w INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, w INTEGER);
SELECT counter_replicate('main.p', 'w');
--= 0
SELECT counter_replicate('office.p', 'w');
--= 0
INSERT INTO main.p VALUES ('a', 1);
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT counter_untrack('main.p', 'w');
--= 1
SELECT counter_replicate('main.p');
--= 1
UPDATE office.p SET w = w + 7;
INSERT INTO main.p VALUES ('b', 2);
INSERT INTO office.p VALUES ('c', 3);
SELECT counter_untrack('office.p', 'w');
--= 1
SELECT note FROM counter_sync('office');
--= passed over: column w was a counter in office and is replicated in main: in office, call counter_replicate('p', 'values=oldest'), which takes the values of main, or counter_replicate('p'), which keeps its own
SELECT counter_replicate('office.p', 'values=oldest');
--= 2
SELECT rows_changed, note FROM counter_sync('office');
--= 3|NULL
SELECT * FROM main.p ORDER BY k;
--= a|1
--= b|2
--= c|3
SELECT * FROM office.p ORDER BY k;
--= a|1
--= b|2
--= c|3

-- # a-feed-does-not-end-a-counter-that-another-file-has-made-a-regular-column
ATTACH 'office.db' AS office;
CREATE TABLE office.p(k TEXT PRIMARY KEY, w INTEGER);
SELECT counter_replicate('office.p', 'w');
--= 0
CREATE TABLE main.p(k TEXT PRIMARY KEY, w INTEGER);
SELECT counter_replicate('main.p', 'w');
--= 0
INSERT INTO main.p VALUES ('a', 1);
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT counter_untrack('main.p', 'w');
--= 1
SELECT counter_replicate('main.p');
--= 1
CREATE TABLE office.fed AS SELECT table_name, key, change, seq, source FROM counter_changes(0);
SELECT counter_key_json(key), kind, column_name, generation FROM office.fed AS f, counter_change(f.change);
--= NULL|regular|w|2
--= ["a"]|row|NULL|NULL
--= ["a"]|regular|w|2
SELECT counter_replicate('main.p', 'w');
--= 1
UPDATE main.p SET w = w + 1;
SELECT counter_untrack('main.p');
--= 1
DROP TABLE main.p;
CREATE TABLE main.p(k TEXT PRIMARY KEY, w INTEGER);
SELECT counter_replicate('main.p', 'w');
--= 0
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM office.fed;
--! counter_changes: table p: column w was a counter and is a regular column at the source: call counter_untrack('p', 'w'), then counter_replicate('p', 'values=oldest'), which takes the values of the source, or counter_replicate('p'), which keeps those of this file
SELECT counter_untrack('main.p', 'w');
--= 1
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM office.fed;
--! counter_changes: table p: column w was a counter here and is replicated at the source: call counter_replicate('p', 'values=oldest'), which takes the values of the source, or counter_replicate('p'), which keeps those of this file
SELECT counter_replicate('main.p', 'values=oldest');
--= 0
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM office.fed;
SELECT * FROM main.p;
--= a|1

-- # a-column-that-is-dropped-and-added-again-yields-to-what-others-have-written
--@ since 3.35
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, w INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.p(k TEXT PRIMARY KEY, w INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('main.p', 'w');
--= 0
SELECT counter_replicate('office.p', 'w');
--= 0
INSERT INTO main.p VALUES ('a', 1), ('b', 2);
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT counter_untrack('main.p', 'w');
--= 1
SELECT counter_untrack('office.p', 'w');
--= 1
ALTER TABLE main.p DROP COLUMN w;
ALTER TABLE office.p DROP COLUMN w;
ALTER TABLE office.p ADD COLUMN w INTEGER NOT NULL DEFAULT 0;
SELECT counter_replicate('office.p');
--= 2
UPDATE office.p SET w = 7 WHERE k = 'a';
ALTER TABLE main.p ADD COLUMN w INTEGER NOT NULL DEFAULT 0;
SELECT counter_replicate('main.p');
--= 2
SELECT rows_changed, note FROM counter_sync('office');
--= 2|NULL
SELECT * FROM main.p ORDER BY k;
--= a|7
--= b|0

-- # the-name-that-a-column-had-first-may-be-taken
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, w INTEGER, x);
CREATE TABLE office.p(k TEXT PRIMARY KEY, w INTEGER, x);
SELECT counter_replicate('main.p', 'w');
--= 0
SELECT counter_replicate('office.p', 'w');
--= 0
INSERT INTO main.p VALUES ('a', 1, 'one');
SELECT rows_changed FROM counter_sync('office');
--= 1
ALTER TABLE office.p RENAME COLUMN w TO n;
ALTER TABLE office.p RENAME COLUMN x TO w;
SELECT counter_untrack('main.p', 'w');
--= 1
SELECT counter_replicate('main.p');
--= 1
SELECT note FROM counter_pull('office');
--= passed over: column w was a counter and is a regular column in main: in office, call counter_untrack('p', 'n'), then counter_replicate('p', 'values=oldest'), which takes the values of main, or counter_replicate('p'), which keeps its own
SELECT counter_untrack('office.p', 'n');
--= 1
SELECT counter_replicate('office.p', 'values=oldest');
--= 1
UPDATE main.p SET w = 2, x = 'two';
SELECT rows_changed, note FROM counter_sync('office');
--= 1|NULL
SELECT * FROM office.p;
--= a|2|two

-- # a-row-of-a-file-that-has-not-migrated-yet-shows-the-default-0
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY);
CREATE TABLE office.p(k TEXT PRIMARY KEY);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
ALTER TABLE main.p ADD COLUMN n INTEGER DEFAULT 0;
SELECT counter_replicate('main.p', 'n');
--= 0
INSERT INTO office.p VALUES ('a'), ('b');
SELECT rows_changed FROM counter_pull('office');
--= 2
UPDATE main.p SET n = n + 13 WHERE k = 'a';
INSERT INTO main.p VALUES ('c', NULL);
ALTER TABLE office.p ADD COLUMN n INTEGER DEFAULT 0;
SELECT counter_replicate('office.p', 'n');
--= 0
SELECT rows_changed, note FROM counter_sync('office');
--= 2|NULL
SELECT * FROM office.p ORDER BY k;
--= a|13
--= b|0
--= c|NULL
SELECT * FROM main.p ORDER BY k;
--= a|13
--= b|0
--= c|NULL

-- # a-column-with-a-unique-index-is-untracked-behind-the-index-and-dropped
--@ since 3.35
CREATE TABLE p(k TEXT PRIMARY KEY, u, n INTEGER);
CREATE UNIQUE INDEX p_u ON p(u);
SELECT counter_replicate('p', 'n');
--= 0
DROP INDEX p_u;
SELECT counter_untrack('p', 'u');
--= 1
ALTER TABLE p DROP COLUMN u;

-- # floors-delete-replicated-rows
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k INTEGER PRIMARY KEY, v, n INTEGER);
CREATE TABLE office.p(k INTEGER PRIMARY KEY, v, n INTEGER);
SELECT counter_replicate('main.p', 'n');
--! counter_replicate: p: SQLite gives out the key k by itself, so two files give one number to different rows, and a merge makes one row of the two: 'keys=spread' of counter_replicate lets each file count from a place of its own; a natural key or UUIDs need nothing, as docs/tracked-columns.md#keys describes; 'keys=assigned' is for numbers that no two files can share
SELECT counter_replicate('main.p', 'n', 'keys=assigned');
--= 0
SELECT counter_replicate('office.p', 'n', 'keys=assigned');
--= 0
INSERT INTO main.p VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', NULL), (4, 'd', NULL);
SELECT rows_changed FROM counter_sync('office');
--= 4
INSERT INTO p_counters(p_counters, k) VALUES ('purge below', 3);
SELECT * FROM main.p;
--= 3|c|NULL
--= 4|d|NULL
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT * FROM office.p;
--= 3|c|NULL
--= 4|d|NULL
INSERT INTO office.p VALUES (1, 'x', 1);
--! p: the key (1) is below a floor of the table; see counter_floors('p_counters')

-- # commands-change-only-rows-that-a-replicated-table-has
CREATE TABLE p(k TEXT PRIMARY KEY, v, n INTEGER);
SELECT counter_replicate('p', 'n');
--= 0
INSERT INTO p VALUES ('a', 'A', 3);
INSERT INTO p_counters(p_counters, k) VALUES ('reset', 'nope');
--! p_counters: the replicated table has no row ('nope'): a command changes only rows that it has
INSERT INTO p_counters(p_counters, k) VALUES ('reset', 'a');
SELECT * FROM p;
--= a|A|0
INSERT INTO p_counters(p_counters, k) VALUES ('delete n', 'a');
SELECT * FROM p;
--= a|A|NULL
INSERT INTO p_counters VALUES ('b', 1);
--! p_counters: it holds the counters of a tracked table and cannot be written: write that table
UPDATE p SET n = 4;
SELECT * FROM p;
--= a|A|4

-- # what-cannot-be-replicated-is-a-sentence
CREATE TABLE t(a, b);
SELECT counter_replicate('t');
--! counter_replicate: t has no PRIMARY KEY, which must identify its rows in other files
SELECT counter_replicate('nope');
--! counter_replicate: there is no table 'nope'
CREATE TABLE u(k INTEGER PRIMARY KEY, v);
SELECT counter_replicate('u');
--! counter_replicate: u: SQLite gives out the key k by itself, so two files give one number to different rows, and a merge makes one row of the two: 'keys=spread' of counter_replicate lets each file count from a place of its own; a natural key or UUIDs need nothing, as docs/tracked-columns.md#keys describes; 'keys=assigned' is for numbers that no two files can share
CREATE TABLE w(k TEXT PRIMARY KEY, v TEXT);
SELECT counter_replicate('w', 'v');
--! counter_replicate: w: column v holds TEXT by its type TEXT, but a tracked column must hold integers
SELECT counter_replicate('w', 'x=1');
--! counter_replicate: unknown option 'x=1'; the options are: 'keys=assigned', 'keys=changed', 'opening=same', 'opening=add', 'values=again', 'missing=restored', 'missing=deleted', 'keys=spread', 'keys=spread 63', 'local=<column>', 'values=newest', 'values=oldest'
CREATE VIEW x AS SELECT * FROM w;
SELECT counter_replicate('x');
--! counter_replicate: x is a view: only an ordinary table has columns that can be tracked
SELECT counter_replicate('w', 'missing=restored', 'MISSING=deleted');
--! counter_replicate: 'missing=deleted' contradicts the option before it
SELECT counter_replicate('w', 'values=newest', 'values=oldest');
--! counter_replicate: 'values=oldest' contradicts the option before it
SELECT counter_replicate('w', 'opening=add', 'opening=same');
--! counter_replicate: 'opening=same' contradicts the option before it
SELECT counter_untrack('w', 'missing=deleted', 'v', 'missing=restored');
--! counter_untrack: 'missing=restored' contradicts the option before it
SELECT counter_replicate('w', 'values=newest', 'values=again', 'values=newest', 'opening=same', 'missing=restored', 'missing=restored');
--= 0
SELECT counter_replicate('w');
--= 0
ATTACH 'office.db' AS office;
CREATE TABLE office.w(k TEXT PRIMARY KEY, v INTEGER);
SELECT counter_replicate('office.w');
--= 0
SELECT * FROM counter_sync('office');
--! counter_sync: table w: the tables differ in the affinity of column v: the taking file has TEXT, the giving file has INTEGER
CREATE TABLE office.z(k TEXT PRIMARY KEY, v INTEGER, c INTEGER NOT NULL);
SELECT counter_replicate('office.z', 'c');
--= 0
SELECT * FROM counter_pull('office');
--! counter_pull: table w: the tables differ in the affinity of column v: the taking file has TEXT, the giving file has INTEGER

-- # a-row-is-one-change-with-its-life-its-columns-and-its-counters
CREATE TABLE p(k TEXT PRIMARY KEY, name TEXT NOT NULL, data, n INTEGER);
SELECT counter_replicate('p', 'n');
--= 0
INSERT INTO p VALUES ('a', 'A', x'00', 3), ('b', 'B', 2.5, 4);
UPDATE p SET name = 'AA' WHERE k = 'a';
DELETE FROM p WHERE k = 'b';
SELECT counter_key_json(key), count(*) FROM counter_changes(0) GROUP BY key;
--= ["a"]|1
--= ["b"]|1
SELECT counter_key_json(key), kind, column_name, generation, life, quote(value), length(cell) FROM counter_changes(0) AS f, counter_change(f.change) AS c ORDER BY key, column_name;
--= ["a"]|row|NULL|NULL|1|NULL|NULL
--= ["a"]|regular|data|0|NULL|X'00'|NULL
--= ["a"]|counter|n|1|1|3|20
--= ["a"]|regular|name|0|NULL|'AA'|NULL
--= ["b"]|row|NULL|NULL|2|NULL|NULL

-- # a-change-of-a-row-that-is-none-or-lies-beyond-the-year-2200-is-refused
CREATE TABLE p(k TEXT PRIMARY KEY, v);
SELECT counter_replicate('p');
--= 0
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), x'', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table p: the change is empty
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), x'A1', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table p: the change is none: its first byte is that of something else
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), x'0101', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table p: the change is cut short
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), x'0103020102', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table p: the change was made by a newer version of sqlite-counter: install it here, too
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), x'0101011201050000000000000000000000000000000A01017600021301050000000000000000000000000000000A03', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table p: the change: column v has no stamp and value of a regular column, or another generation than its stamp
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), x'0101011901FFFFFFFFFFFFFF3F0000000000000000000000000000000A01017600021401050000000000000000000000000000000A0102', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table p: row ('a') has a stamp with the number 36028797018963967, which lies beyond the year 2200; the highest is 29859523934027776
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), x'0101011201050000000000000000000000000000000A01017600021B01818080EAC2A285350000000000000000000000000000000A0102', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table p: row ('a') has a stamp with the number 29859523934027777, which lies beyond the year 2200; the highest is 29859523934027776
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), x'0101011201050000000000000000000000000000000A01017602021B01818080EAC2A285350000000000000000000000000000000A0102', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table p: row ('a') has a stamp with the number 29859523934027777, which lies beyond the year 2200; the highest is 29859523934027776
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), x'010101190180808080808080400000000000000000000000000000000A01017600021401050000000000000000000000000000000A0102', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table p: the change has a number out of range
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), x'0101011201050000000000000000000000000000000A01017600021401050000000000000000000000000000000A0102', 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
SELECT * FROM p;
--= a|1
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), counter_change_of('{"tells":"row","columns":[{"name":"v","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 1)) || '}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table p: it is replicated here, but not at the source, and a replicated table merges with replicated ones only: call counter_replicate('p', ...) there

-- # a-regular-column-that-went-at-the-source-is-refused-by-a-table-that-is-not-replicated
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_track('t', 'n');
--= 0
INSERT INTO counter_changes VALUES ('v', x'', counter_change_of('{"tells":"column","name":"n","kind":"regular","generation":2}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table v: it is replicated at the source, but not here, and a replicated table merges with replicated ones only: call counter_replicate('v', ...) here
INSERT INTO counter_changes VALUES ('t', x'', counter_change_of('{"tells":"column","name":"n","kind":"regular","generation":2}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table t: it is replicated at the source, but not here, and a replicated table merges with replicated ones only: call counter_replicate('t', ...) here
SELECT count(*) FROM counter_state WHERE kind = 'counter';
--= 0

-- # a-second-answer-about-openings-is-shown-in-rows-that-have-come
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, name TEXT, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.p(k TEXT PRIMARY KEY, name TEXT, n INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.p VALUES ('tea', 'Tea', 5);
INSERT INTO office.p VALUES ('tea', 'Tea', 5);
SELECT counter_replicate('main.p', 'n');
--= 1
SELECT counter_replicate('office.p', 'n');
--= 1
SELECT counter_opening('p', 'add', (SELECT name FROM office.counter_state WHERE kind = 'opening'));
--= 0
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT n FROM main.p UNION ALL SELECT n FROM office.p;
--= 10
--= 10
SELECT counter_opening('p', 'same', (SELECT name FROM office.counter_state WHERE kind = 'opening'));
--= 1
SELECT n FROM main.p;
--= 5
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT n FROM office.p;
--= 5

-- # a-trigger-that-makes-a-counter-what-was-merged-stops-no-merge
ATTACH 'office.db' AS office;
CREATE TABLE main.a_product(k TEXT PRIMARY KEY NOT NULL);
CREATE TABLE main.stock(product TEXT PRIMARY KEY NOT NULL, shelf, n INTEGER NOT NULL DEFAULT 0);
CREATE TRIGGER main.z AFTER INSERT ON a_product BEGIN INSERT OR IGNORE INTO stock(product, n) VALUES (NEW.k, 3); END;
CREATE TABLE office.a_product(k TEXT PRIMARY KEY NOT NULL);
CREATE TABLE office.stock(product TEXT PRIMARY KEY NOT NULL, shelf, n INTEGER NOT NULL DEFAULT 0);
CREATE TRIGGER office.z AFTER INSERT ON a_product BEGIN INSERT OR IGNORE INTO stock(product, n) VALUES (NEW.k, 3); END;
SELECT counter_replicate('main.a_product');
--= 0
SELECT counter_replicate('main.stock', 'n');
--= 0
SELECT counter_replicate('office.a_product');
--= 0
SELECT counter_replicate('office.stock', 'n');
--= 0
INSERT INTO office.a_product VALUES ('tea');
SELECT table_name, rows_changed FROM counter_sync('office');
--= a_product|1
--= stock|1
SELECT * FROM main.stock;
--= tea|NULL|3

-- # a-tracked-row-that-was-deleted-before-keeps-what-is-counted-and-inserted-until-its-table-is-replicated
CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER, m INTEGER);
SELECT counter_track('t', 'n', 'm');
--= 0
INSERT INTO t(k, m) VALUES ('counted', 1), ('inserted', 1), ('gone', 1), ('deleted', 1);
DELETE FROM t;
INSERT INTO t(k, m) VALUES ('counted', 2), ('deleted', 2);
VACUUM INTO 'office.db';
ATTACH 'office.db' AS office;
UPDATE office.t SET n = 5 WHERE k = 'counted';
INSERT INTO office.t VALUES ('inserted', 5, 2);
DELETE FROM office.t WHERE k = 'deleted';
SELECT counter_replicate('main.t');
--= 2
SELECT counter_replicate('office.t');
--= 2
SELECT note FROM counter_sync('office');
--= NULL
SELECT * FROM main.t ORDER BY k;
--= counted|5|2
--= inserted|5|2
SELECT * FROM office.t ORDER BY k;
--= counted|5|2
--= inserted|5|2

-- # a-trigger-that-replaces-or-ignores-does-so-in-a-merge
ATTACH 'office.db' AS office;
CREATE TABLE main.parts(sku TEXT PRIMARY KEY NOT NULL, name, n INTEGER);
CREATE TABLE main.latest(sku TEXT PRIMARY KEY NOT NULL, name);
CREATE TABLE main.known(sku UNIQUE);
CREATE TABLE office.parts(sku TEXT PRIMARY KEY NOT NULL, name, n INTEGER);
SELECT counter_replicate('main.parts', 'n');
--= 0
SELECT counter_replicate('office.parts', 'n');
--= 0
INSERT INTO main.latest VALUES ('tea', 'Old');
INSERT INTO main.known VALUES ('tea');
CREATE TRIGGER main.replaces AFTER INSERT ON parts BEGIN
  INSERT OR REPLACE INTO latest VALUES (NEW.sku, NEW.name);
  INSERT OR IGNORE INTO known VALUES (NEW.sku);
END;
CREATE TRIGGER main.updates AFTER UPDATE ON parts BEGIN
  INSERT OR REPLACE INTO latest VALUES (NEW.sku, NEW.name);
  INSERT OR IGNORE INTO known VALUES (NEW.sku);
END;
INSERT INTO office.parts VALUES ('tea', 'Tea', 1);
SELECT rows_changed, note FROM counter_pull('office');
--= 1|NULL
SELECT * FROM latest;
--= tea|Tea
UPDATE office.parts SET name = 'Green tea', n = n + 1;
SELECT rows_changed, note FROM counter_pull('office');
--= 1|NULL
SELECT * FROM main.parts;
--= tea|Green tea|2
SELECT * FROM latest;
--= tea|Green tea
SELECT * FROM known;
--= tea

-- # a-conflict-clause-of-a-table-is-overridden-in-a-merge-and-those-in-its-triggers-with-it
ATTACH 'office.db' AS office;
CREATE TABLE main.parts(sku TEXT PRIMARY KEY NOT NULL, name UNIQUE ON CONFLICT REPLACE, n INTEGER);
CREATE TABLE main.known(sku UNIQUE);
CREATE TABLE office.parts(sku TEXT PRIMARY KEY NOT NULL, name, n INTEGER);
SELECT counter_replicate('main.parts', 'n');
--= 0
SELECT counter_replicate('office.parts', 'n');
--= 0
INSERT INTO main.parts VALUES ('tee', 'Tea', 5);
INSERT INTO main.known VALUES ('jam');
CREATE TRIGGER main.ignores AFTER INSERT ON parts BEGIN INSERT OR IGNORE INTO known VALUES (NEW.sku); END;
INSERT INTO office.parts VALUES ('tea', 'Tea', 1), ('jam', 'Jam', 2);
SELECT rows_changed, note FROM counter_pull('office');
--= 2|2 rows wait: see counter_tracked()
SELECT * FROM main.parts;
--= tee|Tea|5
SELECT row_key, why FROM counter_tracked WHERE column_name = 'name' AND state = 'waits' ORDER BY 1;
--= ('jam')|UNIQUE constraint failed: known.sku
--= ('tea')|UNIQUE constraint failed: parts.name: the row ('tee') has name 'Tea'
DROP TRIGGER main.ignores;
SELECT rows_changed, note FROM counter_pull('office');
--= 0|1 row waits: see counter_tracked()
SELECT * FROM main.parts;
--= tee|Tea|5
--= jam|Jam|2

-- # a-trigger-that-fails-in-the-middle-of-a-merged-row-leaves-nothing-of-it-and-stops-no-merge
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, name, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE main.log(x);
CREATE TABLE main.known(k UNIQUE);
CREATE TABLE office.t(k TEXT PRIMARY KEY NOT NULL, name, n INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.known VALUES ('x');
SELECT counter_replicate('main.t', 'n');
--= 0
SELECT counter_replicate('office.t', 'n');
--= 0
INSERT INTO office.t VALUES ('x', 'X', 1);
SELECT rows_changed, note FROM counter_pull('office');
--= 1|NULL
CREATE TRIGGER main.fails AFTER UPDATE ON t WHEN NEW.n < 50 BEGIN
  UPDATE t SET n = 100, name = name || '!' WHERE k = NEW.k;
  INSERT INTO log VALUES (NEW.k);
  SELECT RAISE(FAIL, 'no');
END;
UPDATE office.t SET name = 'X1', n = n + 1;
SELECT rows_changed, note FROM counter_pull('office');
--= 1|1 row differs: see counter_tracked()
SELECT t.*, (SELECT count(*) FROM log) FROM main.t;
--= x|X|1|0
DROP TRIGGER main.fails;
CREATE TRIGGER main.deletes AFTER UPDATE ON t BEGIN DELETE FROM t WHERE k = NEW.k; SELECT RAISE(FAIL, 'no'); END;
UPDATE office.t SET n = n + 1;
SELECT rows_changed, note FROM counter_pull('office');
--= 1|1 row differs: see counter_tracked()
SELECT * FROM main.t;
--= x|X|1
DROP TRIGGER main.deletes;
CREATE TRIGGER main.rolls_back AFTER UPDATE ON t BEGIN INSERT OR ROLLBACK INTO known VALUES (NEW.k); END;
UPDATE office.t SET n = n + 1;
SELECT rows_changed, note FROM counter_pull('office');
--= 1|1 row differs: see counter_tracked()
SELECT * FROM main.t;
--= x|X|1
DROP TRIGGER main.rolls_back;
SELECT note FROM counter_pull('office');
--= NULL
SELECT * FROM main.t;
--= x|X1|4

-- # a-feed-refuses-a-row-of-which-a-trigger-that-fails-would-leave-something
ATTACH 'office.db' AS office;
CREATE TABLE office.t(k TEXT PRIMARY KEY, name TEXT, n INTEGER);
SELECT counter_replicate('office.t', 'n');
--= 0
CREATE TABLE main.t(k TEXT PRIMARY KEY, name TEXT, n INTEGER);
SELECT counter_replicate('main.t', 'n');
--= 0
INSERT INTO main.t VALUES ('a', 'A', 1), ('b', 'B', 2);
SELECT rows_changed FROM counter_push('office');
--= 2
CREATE TABLE office.fed AS SELECT table_name, key, change, seq, source FROM counter_changes(0);
SELECT counter_untrack('main.t');
--= 1
DROP TABLE main.t;
CREATE TABLE main.t(k TEXT PRIMARY KEY, name TEXT, n INTEGER);
SELECT counter_replicate('main.t', 'n');
--= 0
CREATE TRIGGER main.fails AFTER INSERT ON t WHEN NEW.k = 'a' BEGIN SELECT RAISE(FAIL, 'no'); END;
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM office.fed;
--! counter_changes: table t: a trigger of the tracked table t says FAIL after a merged row was written: counter_pull, which can undo it, leaves that waiting
SELECT * FROM main.t;
SELECT rows_changed, note FROM counter_pull('office');
--= 2|1 row waits: see counter_tracked()
SELECT * FROM main.t;
--= b|B|2
DROP TRIGGER main.fails;
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM office.fed;
SELECT rows_changed, note FROM counter_sync('office');
--= 0|NULL
SELECT * FROM main.t ORDER BY k;
--= a|A|1
--= b|B|2

-- # a-row-that-a-foreign-key-protects-from-its-deletion-begins-anew-with-what-it-shows
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, name, n INTEGER);
CREATE TABLE main.c(k TEXT PRIMARY KEY NOT NULL, p REFERENCES t(k));
CREATE TABLE office.t(k TEXT PRIMARY KEY NOT NULL, name, n INTEGER);
SELECT counter_replicate('main.t', 'n');
--= 0
SELECT counter_replicate('office.t', 'n');
--= 0
INSERT INTO main.t VALUES ('x', 'X', 10);
SELECT rows_changed FROM counter_push('office');
--= 1
DELETE FROM office.t;
INSERT INTO main.c VALUES ('c', 'x');
SELECT rows_changed FROM counter_pull('office');
--= 1
UPDATE main.t SET n = n + 1;
SELECT * FROM main.t;
--= x|X|11
SELECT rows_changed FROM counter_push('office');
--= 1
SELECT * FROM office.t;
--= x|X|11

-- # children-that-have-another-parent-survive-the-deletion-of-the-old-one
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.parent(k TEXT PRIMARY KEY NOT NULL);
CREATE TABLE main.child(k TEXT PRIMARY KEY NOT NULL, p REFERENCES parent(k) ON DELETE CASCADE);
CREATE TABLE office.parent(k TEXT PRIMARY KEY NOT NULL);
CREATE TABLE office.child(k TEXT PRIMARY KEY NOT NULL, p REFERENCES parent(k) ON DELETE CASCADE);
SELECT counter_replicate('main.parent');
--= 0
SELECT counter_replicate('main.child');
--= 0
SELECT counter_replicate('office.parent');
--= 0
SELECT counter_replicate('office.child');
--= 0
INSERT INTO main.parent VALUES ('old');
INSERT INTO main.child VALUES ('c', 'old'), ('d', 'old');
SELECT table_name, rows_changed FROM counter_push('office');
--= child|2
--= parent|1
INSERT INTO office.parent VALUES ('new');
UPDATE office.child SET p = 'new' WHERE k = 'c';
DELETE FROM office.parent WHERE k = 'old';
SELECT table_name, rows_changed FROM counter_sync('office');
--= child|2
--= parent|2
SELECT * FROM main.child;
--= c|new
SELECT * FROM main.parent;
--= new
SELECT table_name, rows_changed FROM counter_sync('office');
--= child|0
--= parent|0
SELECT * FROM office.child;
--= c|new
SELECT count(*) FROM counter_tracked WHERE row_key IS NOT NULL;
--= 0

-- # a-row-that-is-listed-is-deleted-with-the-others-that-have-ended
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, name, n INTEGER CHECK (n < 10), m INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, name, n INTEGER, m INTEGER);
SELECT counter_replicate('main.p', 'n', 'm');
--= 0
SELECT counter_replicate('office.p', 'n', 'm');
--= 0
INSERT INTO office.p VALUES ('a', 'A', 5, 1), ('b', 'B', 5, 1);
SELECT rows_changed FROM counter_pull('office');
--= 2
UPDATE main.p SET n = n + 4;
UPDATE office.p SET n = n + 4, name = name || '!';
SELECT rows_changed FROM counter_sync('office');
--= 4
SELECT * FROM main.p;
--= a|A!|9|1
--= b|B!|9|1
DELETE FROM office.p WHERE k = 'a';
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT * FROM main.p;
--= b|B!|9|1
SELECT * FROM office.p;
--= b|B!|13|1
SELECT row_key, column_name FROM counter_tracked WHERE row_key IS NOT NULL;
--= ('b')|n

-- # a-listed-row-is-updated-after-detach-when-the-registry-is-read-again-in-between
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, name, changed, n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, name, changed, n INTEGER);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
CREATE TRIGGER main.touch AFTER UPDATE OF name ON p BEGIN
UPDATE p SET changed = 'by ' || NEW.name WHERE k = NEW.k; END;
INSERT INTO main.p VALUES ('a', 'A', 5, 3), ('b', 'A', 5, 3);
SELECT rows_changed FROM counter_sync('office');
--= 2
UPDATE office.p SET name = 'B';
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT * FROM p_counters;
--= a|3
--= b|3
DETACH office;
UPDATE p SET n = n - 1, changed = 'good' WHERE k = 'a';
ATTACH 'office.db' AS office;
SELECT rows_changed FROM counter_push('office');
--= 1
SELECT * FROM office.p;
--= a|B|good|2
--= b|B|5|3

-- # a-write-beats-a-stamp-of-a-clock-that-is-ahead-also-beyond-its-last-number
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, v);
CREATE TABLE office.p(k TEXT PRIMARY KEY, v);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":29858423422400000,"id":"07070707-0707-0707-0707-070707070707"}},"columns":[{"name":"v","kind":"regular","generation":0,"stamp":{"number":29858423422400000,"id":"07070707-0707-0707-0707-070707070707"},"value":"ahead"}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
SELECT rows_changed FROM counter_push('office');
--= 1
UPDATE office.p SET v = 'office';
UPDATE office.p SET v = 'office again';
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT v FROM main.p;
--= office again
BEGIN;
UPDATE main.p SET v = 'mine';
SAVEPOINT s;
UPDATE main.p SET v = 'not mine';
ROLLBACK TO s;
COMMIT;
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT v FROM office.p;
--= mine
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('p', counter_key('a'), counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":29858424422400005,"id":"07070707-0707-0707-0707-070707070707"}},"columns":[{"name":"v","kind":"regular","generation":0,"stamp":{"number":29858424422400005,"id":"07070707-0707-0707-0707-070707070707"},"value":"beyond"}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
SELECT rows_changed FROM counter_push('office');
--= 1
UPDATE office.p SET v = 'office';
UPDATE office.p SET v = 'office again';
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT v FROM main.p;
--= office again
BEGIN;
UPDATE main.p SET v = 'mine';
SAVEPOINT s;
UPDATE main.p SET v = 'not mine';
ROLLBACK TO s;
COMMIT;
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT v FROM office.p;
--= mine

-- # a-write-that-changes-the-type-or-the-letters-alone-is-stamped
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, v COLLATE NOCASE, w);
CREATE TABLE office.p(k TEXT PRIMARY KEY, v COLLATE NOCASE, w);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
INSERT INTO main.p VALUES ('a', 'jam', 1);
SELECT rows_changed FROM counter_push('office');
--= 1
UPDATE main.p SET v = 'Jam', w = 1.0;
SELECT rows_changed FROM counter_push('office');
--= 1
SELECT * FROM office.p;
--= a|Jam|1.0
UPDATE main.p SET v = 'Jam', w = 1.0;
SELECT rows_changed FROM counter_push('office');
--= 0
SELECT counter_differs(1, 1.0, 'a', 'a', NULL, NULL, x'61', 'a', 1.5, 1.5), counter_differs();
--= 9|0
SELECT counter_differs(1);
--! counter_differs: it compares pairs of values, at most 50: 1 values were given

-- # a-counter-of-a-replicated-row-that-is-refused-does-not-begin-a-counter-of-its-generation
CREATE VIRTUAL TABLE v USING counter(k TEXT, n COUNTER, PRIMARY KEY(k));
INSERT INTO v VALUES ('a', 5);
BEGIN;
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('v', counter_key('a'), counter_change_of('{"tells":"row","row":{"life":1,"stamp":{"number":1,"id":"7529cd67-394b-3247-8020-f2a7272fc8d9"}},"columns":[{"name":"n","kind":"counter","generation":3,"cell":' || counter_json(counter_inc(NULL, 1)) || '}]}'), 1, '7529cd67-394b-3247-8020-f2a7272fc8d9');
--! counter_changes: table v: it is replicated at the source, but not here, and a replicated table merges with replicated ones only: call counter_replicate('v', ...) here
SELECT * FROM v;
--= a|5
COMMIT;
SELECT *, (SELECT count(*) FROM counter_state WHERE kind = 'counter') FROM v;
--= a|5|0

-- # a-replicated-table-that-was-rebuilt-or-dropped-is-told-to-be-replicated-again
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, name, n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, name, n INTEGER);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO main.p VALUES ('a', 'A', 1), ('b', 'B', 2);
DROP TABLE main.p;
SELECT rows_changed FROM counter_push('office');
--! counter_push: table p: the giving file: the tracked table p is missing, and its counters are in p_counters: if it has another name now, rename it to p, call counter_replicate('p', ...), and rename it back; if it was dropped by mistake, create it and call counter_replicate('p', 'missing=restored'), which brings its rows back; if it was dropped for good, drop p_counters, too
CREATE TABLE main.p(k TEXT PRIMARY KEY, name, n INTEGER);
INSERT INTO main.p VALUES ('a', 'A', 1), ('c', 'C', 4);
SELECT rows_changed FROM counter_push('office');
--! counter_push: table p: the giving file: the tracked table p has lost its triggers, so changes may not have been counted: call counter_replicate('p', ...) again, which counts them
SELECT counter_replicate('p');
--! counter_replicate: p: 1 of its rows is missing, ('b'), and no DELETE of them was seen: add 'missing=restored' to the call, which brings them back, or 'missing=deleted', which deletes them in all files
SELECT counter_replicate('p', 'missing=deleted');
--= 2
SELECT rows_changed FROM counter_push('office');
--= 3
SELECT * FROM office.p ORDER BY k;
--= a|A|1
--= c|C|4

-- # a-key-that-is-spelled-otherwise-is-the-same-row-and-each-file-keeps-its-spelling
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT COLLATE NOCASE PRIMARY KEY, v, n INTEGER);
CREATE TABLE office.p(k TEXT COLLATE NOCASE PRIMARY KEY, v, n INTEGER);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO main.p VALUES ('Tea', 1, 10);
SELECT rows_changed FROM counter_push('office');
--= 1
DELETE FROM office.p;
INSERT INTO office.p VALUES ('TEA', 2, 20);
SELECT rows_changed FROM counter_pull('office');
--= 1
SELECT * FROM main.p;
--= Tea|2|20
UPDATE office.p SET k = 'tea', v = 3;
SELECT rows_changed FROM counter_pull('office');
--= 1
SELECT * FROM main.p;
--= Tea|3|20
SELECT counter_table_digest('p_counters', 'main') = counter_table_digest('p_counters', 'office');
--= 1

-- # old-rows-show-the-default-of-their-file-until-the-column-is-written
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, n INTEGER);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO p VALUES ('a', 1), ('b', 2);
SELECT rows_changed FROM counter_sync('office');
--= 2
ALTER TABLE main.p ADD COLUMN v DEFAULT 'old';
ALTER TABLE office.p ADD COLUMN v DEFAULT 'other';
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
UPDATE p SET v = 'new' WHERE k = 'b';
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT k, v FROM main.p;
--= a|old
--= b|new
SELECT k, v FROM office.p;
--= a|other
--= b|new

-- # a-column-that-one-file-renamed-and-another-added-is-named-by-both-names
ATTACH 'office.db' AS office;
CREATE TABLE p(sku TEXT PRIMARY KEY, name TEXT, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.p(sku TEXT PRIMARY KEY, name TEXT, stock INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('main.p', 'stock');
--= 0
SELECT counter_replicate('office.p', 'stock');
--= 0
ALTER TABLE office.p ADD COLUMN title;
SELECT counter_replicate('office.p');
--= 0
ALTER TABLE main.p RENAME COLUMN name TO title;
INSERT INTO office.p(sku, name, title, stock) VALUES ('tea', 'Tea', 'Mr', 1);
SELECT rows_changed, note FROM counter_pull('office');
--= 0|passed over: column title is another one in office: in main it was name before it was renamed: rename it there
INSERT INTO main.p VALUES ('jam', 'Jam', 2);
SELECT rows_changed, note FROM counter_sync('office');
--= 1|passed over: column title is another one in office: in main it was name before it was renamed: rename it there
SELECT * FROM office.p ORDER BY sku;
--= jam|Jam|2|NULL
--= tea|Tea|1|Mr
ALTER TABLE main.p RENAME COLUMN title TO label;
SELECT rows_changed, note FROM counter_pull('office');
--= 1|NULL
SELECT * FROM main.p ORDER BY sku;
--= jam|Jam|2
--= tea|Tea|1
ALTER TABLE main.p ADD COLUMN title;
SELECT counter_replicate('main.p');
--= 0
SELECT rows_changed, note FROM counter_pull('office');
--= 1|NULL
SELECT * FROM main.p ORDER BY sku;
--= jam|Jam|2|NULL
--= tea|Tea|1|Mr

-- # files-that-began-to-replicate-apart-are-asked-whose-values-win
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, price, note);
CREATE TABLE office.p(k TEXT PRIMARY KEY, price, note);
INSERT INTO main.p VALUES ('tea', 4.5, NULL), ('jam', 3, 'x'), ('oil', 9, 'same');
INSERT INTO office.p VALUES ('tea', 4.8, 'bio'), ('jam', 3, 'y'), ('oil', 9, 'same'), ('rye', 2, NULL);
SELECT counter_replicate('main.p');
--= 3
SELECT counter_replicate('office.p');
--= 4
SELECT * FROM counter_pull('office');
--! counter_pull: table p: two files began to replicate it apart, and 2 rows differ that both had: row ('tea'), column price: REAL 4.5 here, REAL 4.8 in office: call counter_replicate('p', 'values=newest') in the file whose values win, or counter_replicate('p', 'values=oldest') in the other; what was written since then stays newer
SELECT * FROM counter_push('office');
--! counter_push: table p: two files began to replicate it apart, and 2 rows differ that both had: row ('tea'), column price: REAL 4.5 here, REAL 4.8 in office: call counter_replicate('p', 'values=newest') in the file whose values win, or counter_replicate('p', 'values=oldest') in the other; what was written since then stays newer
SELECT * FROM counter_sync('office');
--! counter_sync: table p: two files began to replicate it apart, and 2 rows differ that both had: row ('tea'), column price: REAL 4.5 here, REAL 4.8 in office: call counter_replicate('p', 'values=newest') in the file whose values win, or counter_replicate('p', 'values=oldest') in the other; what was written since then stays newer
SELECT count(*) FROM main.p;
--= 3
UPDATE office.p SET price = 5 WHERE k = 'tea';
UPDATE main.p SET price = 8 WHERE k = 'oil';
SELECT counter_replicate('main.p', 'values=newest');
--= 3
SELECT table_name, rows_changed FROM counter_sync('office');
--= p|5
SELECT * FROM main.p ORDER BY k;
--= jam|3|x
--= oil|8|same
--= rye|2|NULL
--= tea|5|NULL
SELECT * FROM office.p ORDER BY k;
--= jam|3|x
--= oil|8|same
--= rye|2|NULL
--= tea|5|NULL
SELECT counter_table_digest('p', 'main') = counter_table_digest('p', 'office');
--= 1

-- # values-oldest-lets-the-values-of-the-other-file-win
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, price, n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, price, n INTEGER);
INSERT INTO main.p VALUES ('tea', 4.5, 0), ('jam', 3, 0);
INSERT INTO office.p VALUES ('tea', 4.8, 0), ('jam', 3.0, 0);
SELECT counter_replicate('main.p', 'n');
--= 2
SELECT counter_replicate('office.p', 'n');
--= 2
SELECT * FROM counter_pull('office');
--! counter_pull: table p: two files began to replicate it apart, and 1 row differs that both had: row ('tea'), column price: REAL 4.5 here, REAL 4.8 in office: call counter_replicate('p', 'values=newest') in the file whose values win, or counter_replicate('p', 'values=oldest') in the other; what was written since then stays newer
UPDATE main.p SET price = 3.5 WHERE k = 'jam';
SELECT counter_replicate('main.p', 'values=oldest');
--= 2
SELECT table_name, rows_changed FROM counter_sync('office');
--= p|4
SELECT * FROM main.p ORDER BY k;
--= jam|3.5|0
--= tea|4.8|0
SELECT * FROM office.p ORDER BY k;
--= jam|3.5|0
--= tea|4.8|0
SELECT counter_replicate('main.p', 'values=oldest');
--= 2

-- # two-files-that-both-yield-are-asked-again-and-one-more-answer-decides
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, price);
CREATE TABLE office.p(k TEXT PRIMARY KEY, price);
INSERT INTO main.p VALUES ('tea', 1);
INSERT INTO office.p VALUES ('tea', 2);
SELECT counter_replicate('main.p', 'values=oldest');
--= 1
SELECT counter_replicate('office.p', 'values=oldest');
--= 1
SELECT * FROM counter_sync('office');
--! counter_sync: table p: two files began to replicate it apart, and 1 row differs that both had: row ('tea'), column price: INTEGER 1 here, INTEGER 2 in office: call counter_replicate('p', 'values=newest') in the file whose values win, or counter_replicate('p', 'values=oldest') in the other; what was written since then stays newer
SELECT counter_replicate('main.p', 'values=oldest');
--= 1
SELECT * FROM counter_pull('office');
--! counter_pull: table p: two files began to replicate it apart, and 1 row differs that both had: row ('tea'), column price: INTEGER 1 here, INTEGER 2 in office: call counter_replicate('p', 'values=newest') in the file whose values win, or counter_replicate('p', 'values=oldest') in the other; what was written since then stays newer
SELECT counter_replicate('main.p', 'values=newest');
--= 1
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT price FROM office.p;
--= 1

-- # a-feed-refuses-a-row-that-another-file-began-to-replicate-apart
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, price);
INSERT INTO main.p VALUES ('oil', 9), ('tea', 4.5);
SELECT counter_replicate('main.p');
--= 2
CREATE TABLE office.fed AS SELECT table_name, key, change, seq, source FROM counter_changes(0);
SELECT counter_untrack('main.p');
--= 0
UPDATE main.p SET price = 4.8 WHERE k = 'tea';
SELECT counter_replicate('main.p', 'values=again');
--= 2
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM office.fed;
--! counter_changes: table p: two files began to replicate it apart, and 1 row differs that both had: row ('tea'), column price: REAL 4.8 here, REAL 4.5 in the change: call counter_replicate('p', 'values=newest') in the file whose values win, or counter_replicate('p', 'values=oldest') in the other; what was written since then stays newer
SELECT counter_replicate('main.p', 'values=oldest');
--= 2
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM office.fed;
SELECT * FROM main.p ORDER BY k;
--= oil|9
--= tea|4.5

-- # copies-of-a-replicated-file-and-columns-that-were-added-apart-merge-without-a-question
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, price);
CREATE TABLE office.p(k TEXT PRIMARY KEY, price);
INSERT INTO main.p VALUES ('tea', 1), ('jam', 2);
INSERT INTO office.p SELECT * FROM main.p;
SELECT counter_replicate('main.p');
--= 2
SELECT counter_replicate('office.p');
--= 2
SELECT rows_changed IN (0, 2) FROM counter_sync('office');
--= 1
ALTER TABLE main.p ADD COLUMN slug;
ALTER TABLE office.p ADD COLUMN slug;
UPDATE main.p SET slug = 'm' || k;
UPDATE office.p SET slug = 'o' || k;
SELECT counter_replicate('main.p');
--= 2
SELECT counter_replicate('office.p');
--= 2
SELECT count(*) FROM counter_sync('office');
--= 1
SELECT (SELECT group_concat(slug) FROM main.p) = (SELECT group_concat(slug) FROM office.p);
--= 1

-- # a-file-whose-values-yield-reads-again-what-it-has-merged
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, price);
CREATE TABLE office.p(k TEXT PRIMARY KEY, price);
INSERT INTO main.p VALUES ('tea', 1);
INSERT INTO office.p VALUES ('tea', 1);
SELECT counter_replicate('main.p');
--= 1
SELECT counter_replicate('office.p');
--= 1
SELECT count(*) FROM counter_sync('office');
--= 1
SELECT counter_table_digest('p', 'main') = counter_table_digest('p', 'office');
--= 1
SELECT counter_replicate('main.p', 'values=oldest');
--= 1
SELECT rows_changed FROM counter_pull('office');
--= 1
SELECT counter_table_digest('p', 'main') = counter_table_digest('p', 'office');
--= 1

-- # rows-that-a-table-made-anew-lacks-come-back-if-the-call-says-so
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, name TEXT NOT NULL, note TEXT DEFAULT 'none', n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, name TEXT NOT NULL, note TEXT DEFAULT 'none', n INTEGER);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO main.p VALUES ('a', 'A', 'x', 1), ('b', 'B', 'y', 2), ('c', 'C', 'z', 3);
SELECT rows_changed FROM counter_push('office');
--= 3
DROP TABLE main.p;
CREATE TABLE main.p(k TEXT PRIMARY KEY, name TEXT NOT NULL, note TEXT DEFAULT 'none', n INTEGER);
INSERT INTO main.p VALUES ('a', 'A', 'x', 1);
SELECT counter_replicate('main.p');
--! counter_replicate: p: 2 of its rows are missing, such as ('b'), and no DELETE of them was seen: add 'missing=restored' to the call, which brings them back, or 'missing=deleted', which deletes them in all files
SELECT counter_untrack('main.p', 'note');
--! counter_untrack: p: 2 of its rows are missing, such as ('b'), and no DELETE of them was seen: add 'missing=restored' to the call, which brings them back, or 'missing=deleted', which deletes them in all files
SELECT counter_replicate('main.p', 'missing=restored');
--= 2
SELECT row_key, column_name, state, merged, why FROM counter_tracked WHERE row_key IS NOT NULL ORDER BY row_key;
--= ('b')|n|waits|2|NOT NULL constraint failed: p.name
--= ('c')|n|waits|3|NOT NULL constraint failed: p.name
SELECT rows_changed FROM counter_pull('office');
--= 2
SELECT * FROM main.p ORDER BY k;
--= a|A|x|1
--= b|B|y|2
--= c|C|z|3
SELECT count(*) FROM main.counter_state WHERE kind = 'apart';
--= 0
DROP TABLE main.p;
CREATE TABLE main.p(k TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', note TEXT DEFAULT 'none', n INTEGER);
INSERT INTO main.p VALUES ('a', 'A', 'x', 1), ('c', 'C', 'z', 3);
SELECT counter_replicate('main.p', 'missing=restored');
--= 1
SELECT * FROM main.p WHERE k = 'b';
--= b||none|2
DROP TABLE main.p;
CREATE TABLE main.p(k TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', note TEXT DEFAULT 'none', n INTEGER);
SELECT counter_replicate('main.p', 'missing=deleted');
--= 3
SELECT rows_changed FROM counter_push('office');
--= 3
SELECT count(*) FROM office.p;
--= 0

-- # a-row-that-fails-by-an-expression-of-the-table-waits-for-a-reason
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, v, n INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, v, n INTEGER);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO main.p VALUES ('c', 1, 5);
SELECT rows_changed FROM counter_push('office');
--= 1
CREATE INDEX office.i ON p(abs(v));
CREATE TRIGGER office.logs AFTER INSERT ON p WHEN NEW.k = 'b' BEGIN INSERT INTO log VALUES (NEW.k); END;
INSERT INTO main.p VALUES ('a', -9223372036854775807 - 1, 1);
UPDATE main.p SET v = -9223372036854775807 - 1 WHERE k = 'c';
SELECT rows_changed, note FROM counter_push('office');
--= 2|1 row waits, 1 row differs in office: see counter_tracked('office')
SELECT row_key, column_name, state, why FROM counter_tracked('office') WHERE row_key IS NOT NULL ORDER BY row_key, column_name;
--= ('a')|n|waits|no such table: office.log
--= ('a')|v|waits|no such table: office.log
--= ('c')|v|differs|integer overflow
DROP TRIGGER office.logs;
INSERT INTO main.p VALUES ('b', 2, 2);
SELECT rows_changed FROM counter_push('office');
--= 1
SELECT * FROM office.p;
--= c|1|5
--= b|2|2
SELECT row_key, column_name, state, why FROM counter_tracked('office') WHERE row_key IS NOT NULL ORDER BY row_key, column_name;
--= ('a')|n|waits|integer overflow
--= ('a')|v|waits|integer overflow
--= ('c')|v|differs|integer overflow
UPDATE main.p SET v = 3;
SELECT rows_changed FROM counter_push('office');
--= 3
SELECT * FROM office.p ORDER BY k;
--= a|3|1
--= b|3|2
--= c|3|5
SELECT count(*) FROM office.counter_state WHERE kind = 'apart';
--= 0

-- # a-row-that-waits-or-differs-names-the-row-that-has-its-unique-values
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT, year INTEGER, code TEXT UNIQUE, shelf, place INTEGER, name TEXT, n INTEGER, PRIMARY KEY (k, year), UNIQUE (shelf, place)) WITHOUT ROWID;
CREATE TABLE office.p(k TEXT, year INTEGER, code TEXT UNIQUE, shelf, place INTEGER, name TEXT, n INTEGER, PRIMARY KEY (k, year), UNIQUE (shelf, place)) WITHOUT ROWID;
CREATE UNIQUE INDEX main.names ON p(name COLLATE NOCASE);
CREATE UNIQUE INDEX office.names ON p(name COLLATE NOCASE);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO office.p VALUES ('jam', 1, '4711', 'a', 1, 'Jam', 1), ('oil', 2, '4712', x'0102', 2, 'Oil', 2), ('rye', 3, NULL, NULL, 2, 'Rye', 3);
SELECT rows_changed FROM counter_pull('office');
--= 3
INSERT INTO office.p VALUES ('egg', 1, '4713', 1.5, 3, 'it''s', 1), ('nut', 1, printf('%.100c', 'x'), zeroblob(100), 3, 'Nut', 1);
INSERT INTO main.p VALUES ('ale', 1, '4713', NULL, NULL, 'Ale', 1), ('bun', 1, printf('%.100c', 'x'), NULL, NULL, 'Bun', 1), ('fig', 1, NULL, x'0102', 3, 'IT''S', 1), ('pie', 1, NULL, zeroblob(100), 3, 'Pie', 1);
UPDATE main.p SET shelf = 1.5, place = 3 WHERE k = 'rye';
SELECT rows_changed, note FROM counter_push('office');
--= 5|4 rows wait, 1 row differs in office: see counter_tracked('office')
SELECT row_key, column_name, state, shown, merged, why FROM counter_tracked('office') WHERE row_key IS NOT NULL AND column_name = 'place' ORDER BY row_key, column_name;
--= ('ale', 1)|place|waits|NULL|NULL|UNIQUE constraint failed: p.code: the row ('egg', 1) has code '4713'
--= ('bun', 1)|place|waits|NULL|NULL|UNIQUE constraint failed: p.code: the row ('nut', 1) has code 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'
--= ('fig', 1)|place|waits|NULL|3|UNIQUE constraint failed: p.name: the row ('egg', 1) has name 'it''s'
--= ('pie', 1)|place|waits|NULL|3|UNIQUE constraint failed: p.shelf, p.place: the row ('nut', 1) has shelf x'0000000000000000000000000000000000000000...' and place 3
--= ('rye', 3)|place|differs|2|3|UNIQUE constraint failed: p.shelf, p.place: the row ('egg', 1) has shelf 1.5 and place 3
-- The name is that of the moment.
UPDATE office.p SET k = 'ham' WHERE k = 'egg';
UPDATE office.p SET name = 'Tea' WHERE k = 'ham';
UPDATE office.p SET place = 4 WHERE k = 'nut';
INSERT INTO office.p VALUES ('yam', 1, NULL, NULL, NULL, 'it''S', 1);
SELECT row_key, why FROM counter_tracked('office') WHERE row_key IS NOT NULL AND column_name = 'place' ORDER BY row_key;
--= ('ale', 1)|UNIQUE constraint failed: p.code: the row ('ham', 1) has code '4713'
--= ('bun', 1)|UNIQUE constraint failed: p.code: the row ('nut', 1) has code 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'
--= ('fig', 1)|UNIQUE constraint failed: p.name: the row ('yam', 1) has name 'it''S'
--= ('pie', 1)|UNIQUE constraint failed: p.shelf, p.place
--= ('rye', 3)|UNIQUE constraint failed: p.shelf, p.place: the row ('ham', 1) has shelf 1.5 and place 3
SELECT rows_changed, note FROM counter_push('office');
--= 0|3 rows wait, 1 row differs in office: see counter_tracked('office')
SELECT row_key, why FROM counter_tracked('office') WHERE row_key IS NOT NULL AND column_name = 'place' ORDER BY row_key;
--= ('ale', 1)|UNIQUE constraint failed: p.code: the row ('ham', 1) has code '4713'
--= ('bun', 1)|UNIQUE constraint failed: p.code: the row ('nut', 1) has code 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'
--= ('fig', 1)|UNIQUE constraint failed: p.name: the row ('yam', 1) has name 'it''S'
--= ('rye', 3)|UNIQUE constraint failed: p.shelf, p.place: the row ('ham', 1) has shelf 1.5 and place 3
-- The error names the column as it was called; the next merge tries again.
ALTER TABLE office.p RENAME COLUMN code TO number;
SELECT row_key, why FROM counter_tracked('office') WHERE row_key IS NOT NULL AND column_name = 'place' ORDER BY row_key;
--= ('ale', 1)|UNIQUE constraint failed: p.code
--= ('bun', 1)|UNIQUE constraint failed: p.code
--= ('fig', 1)|UNIQUE constraint failed: p.name: the row ('yam', 1) has name 'it''S'
--= ('rye', 3)|UNIQUE constraint failed: p.shelf, p.place: the row ('ham', 1) has shelf 1.5 and place 3

-- # a-unique-counter-names-the-row-that-shows-its-value
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, area TEXT DEFAULT 'a', n INTEGER, name TEXT, UNIQUE (area, n));
CREATE TABLE office.p(k TEXT PRIMARY KEY, area TEXT DEFAULT 'a', n INTEGER, name TEXT, UNIQUE (area, n));
CREATE TABLE main.q(k TEXT PRIMARY KEY, area TEXT DEFAULT 'a', n INTEGER, UNIQUE (area, n));
CREATE TABLE office.q(k TEXT PRIMARY KEY, area TEXT DEFAULT 'a', n INTEGER, UNIQUE (area, n));
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
SELECT counter_track('main.q', 'n');
--= 0
SELECT counter_track('office.q', 'n');
--= 0
INSERT INTO main.p VALUES ('a', 'a', 1, 'A'), ('b', 'a', 2, 'B');
INSERT INTO main.q VALUES ('a', 'a', 1), ('b', 'a', 2);
SELECT table_name, rows_changed FROM counter_push('office');
--= p|2
--= q|2
INSERT INTO office.p VALUES ('c', 'a', -9223372036854775807 - 1, 'C'), ('d', 'a', 7, 'D');
INSERT INTO office.q VALUES ('c', 'a', 5), ('d', 'a', 7);
UPDATE main.p SET n = 7, name = 'BB' WHERE k = 'b';
INSERT INTO main.p VALUES ('e', 'a', -9223372036854775807 - 1, 'E');
UPDATE main.q SET n = 7 WHERE k = 'b';
INSERT INTO main.q VALUES ('e', 'a', 5);
SELECT table_name, rows_changed, note FROM counter_push('office');
--= p|2|2 rows differ in office: see counter_tracked('office')
--= q|2|1 row waits, 1 row differs in office: see counter_tracked('office')
-- A new row of a tracked table gets the DEFAULT of area, which a read does not evaluate.
SELECT table_name, row_key, column_name, state, shown, merged, why FROM counter_tracked('office') WHERE row_key IS NOT NULL ORDER BY table_name, row_key, column_name;
--= p|('b')|n|differs|2|7|UNIQUE constraint failed: p.area, p.n: the row ('d') has area 'a' and n 7
--= p|('e')|n|differs|NULL|-9223372036854775808|UNIQUE constraint failed: p.area, p.n: the row ('c') has area 'a' and n -9223372036854775808
--= q|('b')|n|differs|2|7|UNIQUE constraint failed: q.area, q.n: the row ('d') has area 'a' and n 7
--= q|('e')|n|waits|NULL|5|UNIQUE constraint failed: q.area, q.n

-- # a-row-that-code-of-the-file-refuses-names-no-other
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, a INTEGER, b INTEGER, c INTEGER, g INTEGER AS (abs(a)), d INTEGER, h INTEGER AS (abs(d)) STORED);
CREATE TABLE office.p(k TEXT PRIMARY KEY, a INTEGER, b INTEGER, c INTEGER, g INTEGER AS (abs(a)), d INTEGER UNIQUE, h INTEGER AS (abs(d)) STORED UNIQUE);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
CREATE UNIQUE INDEX office.on_g ON p(g);
CREATE UNIQUE INDEX office.on_b ON p(b) WHERE c > 0;
CREATE UNIQUE INDEX office.on_c ON p(c + 1);
SELECT counter_replicate('office.p');
--= 0
INSERT INTO office.p(k, a, b, c, d) VALUES ('a', 1, 1, 1, 1);
SELECT rows_changed FROM counter_pull('office');
--= 1
INSERT INTO main.p(k, a, b, c, d) VALUES ('b', -1, 2, 2, 2), ('c', 3, 1, 3, 3), ('d', 4, 4, 1, 4), ('e', 5, 5, 5, -1), ('f', 6, 6, 6, 6);
SELECT rows_changed, note FROM counter_push('office');
--= 5|4 rows wait in office: see counter_tracked('office')
SELECT row_key, why FROM counter_tracked('office') WHERE row_key IS NOT NULL AND column_name = 'a' ORDER BY row_key;
--= ('b')|UNIQUE constraint failed: p.g
--= ('c')|UNIQUE constraint failed: p.b
--= ('d')|UNIQUE constraint failed: index 'on_c'
--= ('e')|UNIQUE constraint failed: p.h

-- # a-new-life-of-a-row-shows-the-default-of-columns-that-the-giver-lacks
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, a, e DEFAULT blue, f DEFAULT (1 + 1), g DEFAULT "two words", h);
CREATE TABLE office.p(k TEXT PRIMARY KEY, a);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
INSERT INTO main.p VALUES ('x', 'old', 1, 2, 3, 4);
SELECT rows_changed FROM counter_push('office');
--= 1
DELETE FROM office.p;
INSERT INTO office.p VALUES ('x', 'new');
SELECT rows_changed FROM counter_pull('office');
--= 1
SELECT * FROM main.p;
--= x|new|blue|2|two words|NULL
CREATE TRIGGER main.refuses BEFORE UPDATE ON p BEGIN SELECT RAISE(ABORT, 'not now'); END;
DELETE FROM office.p;
INSERT INTO office.p VALUES ('x', 'newer');
SELECT rows_changed, note FROM counter_pull('office');
--= 1|1 row differs: see counter_tracked()
SELECT column_name, shown, merged, why FROM counter_tracked WHERE row_key IS NOT NULL ORDER BY column_name;
--= a|new|newer|not now
--= e|blue|blue|not now
--= f|2|2|not now
--= g|two words|two words|not now
--= h|NULL|NULL|not now
DROP TRIGGER main.refuses;
DELETE FROM office.p;
INSERT INTO office.p VALUES ('x', 'newest');
SELECT rows_changed, note FROM counter_pull('office');
--= 1|NULL
SELECT * FROM main.p;
--= x|newest|blue|2|two words|NULL

-- # a-column-has-one-role-and-keeps-its-name
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, x INTEGER, y INTEGER, z TEXT);
CREATE TABLE office.p(k TEXT PRIMARY KEY, x INTEGER, y INTEGER, z TEXT);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
INSERT INTO main.p VALUES ('a', 1, 2, 'z');
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT counter_track('main.p', 'x');
--! counter_track: p: column x is a regular column: counter_replicate('p', 'x') makes it a counter
ALTER TABLE main.p ADD COLUMN w INTEGER;
ALTER TABLE main.p RENAME COLUMN x TO xx;
UPDATE main.p SET w = 7;
SELECT counter_replicate('main.p', 'xx');
--= 1
SELECT rows_changed, note FROM counter_push('office');
--= 0|passed over: column x is a counter in main and a regular column in office: counter_replicate('p', 'x') there makes it a counter
SELECT rows_changed, note FROM counter_pull('office');
--= 0|passed over: column x is a counter in main and a regular column in office: counter_replicate('p', 'x') there makes it a counter
SELECT rows_read, rows_changed, note FROM counter_sync('office');
--= 0|0|passed over: column x is a counter in main and a regular column in office: counter_replicate('p', 'x') there makes it a counter
SELECT counter_replicate('office.p', 'x', 'opening=same');
--= 1
SELECT counter_opening('main.p', 'same');
--= 0
UPDATE main.p SET xx = xx + 10, y = 3;
UPDATE office.p SET x = x + 100, z = 'zz';
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT xx, y, z, w FROM main.p;
--= 111|3|zz|7
SELECT x, y, z FROM office.p;
--= 111|3|zz

-- # a-table-whose-files-disagree-on-a-column-is-passed-over-and-the-others-merge
--@ not-utf-16
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, x INTEGER, y TEXT, m INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, x INTEGER, y TEXT, m INTEGER);
CREATE TABLE main.q(k TEXT PRIMARY KEY, v);
CREATE TABLE office.q(k TEXT PRIMARY KEY, v);
CREATE VIRTUAL TABLE main.c USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE office.c USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_replicate('main.p', 'm');
--= 0
SELECT counter_replicate('office.p', 'm');
--= 0
SELECT counter_replicate('main.q');
--= 0
SELECT counter_replicate('office.q');
--= 0
INSERT INTO main.p VALUES ('a', 1, 'y', 5);
SELECT rows_changed FROM counter_sync('office') WHERE table_name = 'p';
--= 1
SELECT counter_replicate('office.p', 'x');
--= 1
UPDATE office.p SET x = x + 1, m = m + 10;
UPDATE main.p SET y = 'main', m = m + 100;
INSERT INTO office.p VALUES ('b', 7, 'new', 1);
INSERT INTO office.p_counters(p_counters, k) VALUES ('purge below', 'A');
SELECT counter_untrack('office.p', 'm');
--= 1
INSERT INTO main.q VALUES ('here', 1);
INSERT INTO office.q VALUES ('there', 2);
INSERT INTO main.c VALUES ('a', 1);
INSERT INTO office.c VALUES ('a', 2);
SELECT table_name, rows_read, rows_changed, conflicts, note FROM counter_pull('office');
--= c|1|1|0|NULL
--= p|0|0|0|passed over: column x is a counter in office and a regular column in main: counter_replicate('p', 'x') there makes it a counter
--= q|1|1|0|NULL
SELECT table_name, rows_read, rows_changed, conflicts, note FROM counter_push('office');
--= c|1|1|0|NULL
--= p|0|0|0|passed over: column x is a counter in office and a regular column in main: counter_replicate('p', 'x') there makes it a counter
--= q|2|1|0|NULL
SELECT table_name, rows_read, rows_changed, conflicts, note FROM counter_sync('office', 'full');
--= c|2|0|0|NULL
--= p|0|0|0|passed over: column x is a counter in office and a regular column in main: counter_replicate('p', 'x') there makes it a counter
--= q|4|0|0|NULL
SELECT * FROM main.p;
--= a|1|main|105
SELECT * FROM office.p ORDER BY k;
--= a|2|y|15
--= b|7|new|1
SELECT column_name, state FROM counter_tracked;
--= m|tracked
--= x|regular
--= y|regular
--= v|regular
SELECT count(*) FROM counter_floors('p_counters');
--= 0
DETACH office;
SELECT table_name, rows_changed, note FROM counter_sync('office.db');
--= c|0|NULL
--= p|0|passed over: column x is a counter in office.db and a regular column in main: counter_replicate('p', 'x') there makes it a counter
--= q|0|NULL
SELECT counter_replicate('p', 'x', 'opening=same');
--= 1
ATTACH 'office.db' AS office;
SELECT counter_opening('office.p', 'same');
--= 0
SELECT rows_changed, note FROM counter_sync('office') WHERE table_name = 'p';
--= 4|NULL
SELECT * FROM main.p ORDER BY k;
--= a|2|main|105
--= b|7|new|NULL
SELECT * FROM office.p ORDER BY k;
--= a|2|main|15
--= b|7|new|1
SELECT column_name, floor FROM counter_floors('p_counters');
--= k|A
SELECT column_name, state FROM counter_tracked WHERE table_name = 'p';
--= x|tracked
--= y|regular

-- # the-call-names-the-table-and-the-column-as-they-are-called-there
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, x INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, x INTEGER);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
ALTER TABLE office.p RENAME TO "it's";
ALTER TABLE office."it's" RENAME COLUMN x TO "n's";
SELECT counter_replicate('main.p', 'x');
--= 0
INSERT INTO main.p VALUES ('a', 1);
INSERT INTO office."it's" VALUES ('b', 2);
SELECT * FROM counter_push('office');
--= p|0|0|0|passed over: column x is a counter in main and a regular column in office: counter_replicate('it''s', 'n''s') there makes it a counter
SELECT counter_replicate('office.it''s', 'n''s');
--= 1
SELECT * FROM counter_sync('office');
--= p|2|2|0|NULL
SELECT counter_untrack('main.p', 'x');
--= 1
SELECT counter_replicate('main.p');
--= 2
SELECT * FROM counter_sync('office');
--= p|0|0|0|passed over: column x was a counter and is a regular column in main: in office, call counter_untrack('it''s', 'n''s'), then counter_replicate('it''s', 'values=oldest'), which takes the values of main, or counter_replicate('it''s'), which keeps its own
SELECT counter_untrack('office.it''s', 'n''s');
--= 1
SELECT counter_replicate('office.it''s', 'values=oldest');
--= 2
UPDATE main.p SET x = x + 10;
SELECT rows_changed, note FROM counter_sync('office');
--= 2|NULL
SELECT * FROM office."it's" ORDER BY k;
--= a|11
--= b|12

-- # files-that-each-lack-a-call-name-both
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, x);
CREATE TABLE office.p(k TEXT PRIMARY KEY, y);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('office.p');
--= 0
ALTER TABLE main.p ADD COLUMN y;
ALTER TABLE office.p ADD COLUMN x;
INSERT INTO main.p VALUES ('a', 1, 2);
INSERT INTO office.p VALUES ('a', 3, 4), ('b', 5, 6);
SELECT * FROM counter_sync('office');
--= p|0|0|0|passed over: column y is replicated in office and not yet in main: call counter_replicate('p') there; passed over: column x is replicated in main and not yet in office: call counter_replicate('p') there
SELECT kind, warning FROM counter_warnings;
--= column|column y does not travel yet: call counter_replicate('p')
--= passed over|passed over: column y is replicated in office and not yet in main: call counter_replicate('p') there
--= passed over|passed over: column x is replicated in main and not yet in office: call counter_replicate('p') there
SELECT counter_replicate('main.p');
--= 1
SELECT rows_changed, note FROM counter_sync('office');
--= 2|passed over: column x is replicated in main and not yet in office: call counter_replicate('p') there
SELECT counter_replicate('office.p');
--= 2
SELECT rows_changed, note FROM counter_sync('office');
--= 2|NULL
SELECT * FROM counter_warnings;
SELECT k, x, y FROM main.p ORDER BY k;
--= a|1|3
--= b|6|5
SELECT k, x, y FROM office.p ORDER BY k;
--= a|1|3
--= b|6|5

-- # a-replicated-table-and-a-counter-table-pass-over-each-other
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, n INTEGER);
CREATE VIRTUAL TABLE office.p USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE office.c USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT counter_replicate('main.p', 'n');
--= 0
INSERT INTO main.p VALUES ('a', 1);
INSERT INTO office.p VALUES ('a', 2);
INSERT INTO office.c VALUES ('a', 3);
SELECT * FROM counter_sync('office');
--= c|1|1|0|created in main
--= p|0|0|0|passed over: it is replicated in main and a counter table in office, and a replicated table merges with replicated ones only: create one of the two under another name
SELECT * FROM main.p;
--= a|1
SELECT * FROM office.p;
--= a|2

-- # what-is-not-the-kind-of-a-column-refuses-the-whole-merge
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY, x INTEGER, y INTEGER);
CREATE TABLE office.p(k TEXT PRIMARY KEY, x INTEGER, y TEXT);
CREATE TABLE main.r(k INTEGER PRIMARY KEY, x INTEGER);
CREATE TABLE office.r(k TEXT PRIMARY KEY, x INTEGER);
SELECT counter_replicate('main.p', 'x');
--= 0
SELECT counter_replicate('office.p');
--= 0
SELECT * FROM counter_sync('office');
--! counter_sync: table p: the tables differ in the affinity of column y: the taking file has INTEGER, the giving file has TEXT
SELECT counter_untrack('main.p');
--= 1
SELECT counter_untrack('office.p');
--= 0
SELECT counter_track('main.r', 'x', 'keys=assigned');
--= 0
SELECT counter_replicate('office.r');
--= 0
SELECT * FROM counter_sync('office');
--! counter_sync: table r: the tables differ in the affinity of a key column: the giving file has TEXT, the taking file has INTEGER

-- # a-child-waits-for-a-parent-that-is-passed-over
--@ whole-sqlite
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.shelves(id TEXT PRIMARY KEY, room INTEGER);
CREATE TABLE office.shelves(id TEXT PRIMARY KEY, room INTEGER);
CREATE TABLE main.things(k TEXT PRIMARY KEY, shelf REFERENCES shelves ON DELETE CASCADE, n INTEGER);
CREATE TABLE office.things(k TEXT PRIMARY KEY, shelf REFERENCES shelves ON DELETE CASCADE, n INTEGER);
SELECT counter_replicate('main.shelves');
--= 0
SELECT counter_replicate('office.shelves', 'room');
--= 0
SELECT counter_replicate('main.things', 'n');
--= 0
SELECT counter_replicate('office.things', 'n');
--= 0
INSERT INTO office.shelves VALUES ('top', 1);
INSERT INTO office.things VALUES ('tea', 'top', 3), ('jam', NULL, 4);
SELECT table_name, rows_changed, note FROM counter_pull('office');
--= shelves|0|passed over: column room is a counter in office and a regular column in main: counter_replicate('shelves', 'room') there makes it a counter
--= things|2|1 row waits: see counter_tracked()
SELECT * FROM things;
--= jam|NULL|4
SELECT column_name, state, row_key, merged, why FROM counter_tracked WHERE row_key IS NOT NULL;
--= n|waits|('tea')|3|FOREIGN KEY constraint failed: shelves has no row with id = 'top'
--= shelf|waits|('tea')|top|FOREIGN KEY constraint failed: shelves has no row with id = 'top'
UPDATE office.things SET n = n + 1 WHERE k = 'tea';
SELECT table_name, rows_changed FROM counter_pull('office');
--= shelves|0
--= things|1
SELECT counter_replicate('shelves', 'room');
--= 0
SELECT table_name, rows_changed, note FROM counter_pull('office');
--= shelves|1|NULL
--= things|0|NULL
SELECT * FROM things ORDER BY k;
--= jam|NULL|4
--= tea|top|4
SELECT count(*) FROM counter_tracked WHERE row_key IS NOT NULL;
--= 0

-- # a-column-that-counted-in-another-file-for-a-while-keeps-what-is-written-after-this-file-has-heard-of-it
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, w INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.t(k TEXT PRIMARY KEY NOT NULL, w INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.t VALUES ('s', 1);
SELECT counter_replicate('main.t');
--= 1
SELECT counter_replicate('office.t');
--= 0
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT counter_replicate('office.t', 'w');
--= 1
SELECT counter_untrack('office.t', 'w');
--= 1
SELECT count(*) FROM counter_pull('office');
--= 1
UPDATE main.t SET w = 100;
SELECT note FROM counter_push('office');
--= passed over: column w was a counter in office and is replicated in main: in office, call counter_replicate('t', 'values=oldest'), which takes the values of main, or counter_replicate('t'), which keeps its own
SELECT counter_replicate('office.t', 'values=oldest');
--= 1
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT (SELECT w FROM main.t), (SELECT w FROM office.t);
--= 100|100

-- # a-file-that-ended-a-counter-takes-what-a-file-has-that-never-counted-or-keeps-its-own-as-the-call-says
ATTACH 'office.db' AS office;
ATTACH 'shed.db' AS shed;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, w INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.t VALUES ('s', 1), ('r', 1);
SELECT counter_replicate('main.t');
--= 2
CREATE TABLE office.t(k TEXT PRIMARY KEY NOT NULL, w INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('office.t');
--= 0
CREATE TABLE shed.t(k TEXT PRIMARY KEY NOT NULL, w INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('shed.t');
--= 0
SELECT rows_changed FROM counter_push('office');
--= 2
SELECT rows_changed FROM counter_push('shed');
--= 2
SELECT counter_replicate('office.t', 'w');
--= 2
SELECT counter_replicate('shed.t', 'w');
--= 2
UPDATE office.t SET w = w + 5;
UPDATE shed.t SET w = w + 7;
SELECT counter_untrack('office.t', 'w');
--= 1
SELECT counter_untrack('shed.t', 'w');
--= 1
UPDATE main.t SET w = 100 WHERE k = 's';
SELECT note FROM counter_push('office');
--= passed over: column w was a counter in office and is replicated in main: in office, call counter_replicate('t', 'values=oldest'), which takes the values of main, or counter_replicate('t'), which keeps its own
SELECT counter_replicate('office.t', 'values=oldest');
--= 2
SELECT rows_changed FROM counter_push('office');
--= 2
SELECT * FROM office.t ORDER BY k;
--= r|1
--= s|100
SELECT counter_replicate('shed.t');
--= 2
SELECT rows_changed FROM counter_sync('shed');
--= 2
SELECT * FROM main.t ORDER BY k;
--= r|8
--= s|8

-- # a-file-that-hears-of-a-counter-that-has-ended-writes-in-its-generation
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, w INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.t(k TEXT PRIMARY KEY NOT NULL, w INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('main.t');
--= 0
SELECT counter_replicate('office.t');
--= 0
SELECT counter_replicate('office.t', 'w');
--= 0
SELECT counter_untrack('office.t', 'w');
--= 1
SELECT counter_replicate('office.t');
--= 0
SELECT sum(rows_changed) FROM counter_sync('office');
--= 0
SELECT name, seq FROM main.counter_state WHERE kind = 'column' AND row >= 0;
--= w|2
INSERT INTO main.t VALUES ('r', 5);
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT w FROM office.t;
--= 5

-- # a-counter-that-comes-back-before-another-one-leaves-its-column-to-it
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, w INTEGER NOT NULL DEFAULT 0, u INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.t(k TEXT PRIMARY KEY NOT NULL, w INTEGER NOT NULL DEFAULT 0, u INTEGER NOT NULL DEFAULT 0);
INSERT INTO main.t VALUES ('s', 0, 0);
SELECT counter_replicate('main.t');
--= 1
SELECT counter_replicate('office.t');
--= 0
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT counter_replicate('office.t', 'u');
--= 0
SELECT counter_untrack('office.t', 'u');
--= 1
SELECT counter_replicate('office.t');
--= 1
SELECT counter_replicate('main.t', 'w');
--= 0
UPDATE main.t SET w = w + 5;
SELECT counter_untrack('office.t', 'w');
--= 1
SELECT count(*) FROM counter_sync('office');
--= 1
SELECT counter_replicate('office.t', 'u', 'w');
--= 1
SELECT w FROM office.t;
--= 5
SELECT counter_replicate('main.t', 'u');
--= 0
SELECT count(*) FROM counter_sync('office');
--= 1
SELECT (SELECT w FROM main.t), (SELECT w FROM office.t);
--= 5|5

-- # a-count-of-an-ended-counter-is-not-added-to-the-one-that-began-anew
CREATE TABLE p(k TEXT PRIMARY KEY, w INTEGER NOT NULL DEFAULT 0, v);
SELECT counter_replicate('p', 'w');
--= 0
CREATE TEMP TABLE told AS SELECT '{"tells":"row","row":{"life":1,"stamp":{"number":1,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"w","kind":"counter","generation":' AS head;
SELECT counter_untrack('p', 'w');
--= 1
SELECT counter_replicate('p', 'w');
--= 0
INSERT INTO counter_changes SELECT 'p', counter_key('a'), counter_change_of(head || 1 || ',"cell":' || counter_json(counter_inc(NULL, 7, '00000000-0000-0000-0000-00000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a' FROM told;
SELECT * FROM p;
--= a|0|NULL
INSERT INTO counter_changes SELECT 'p', counter_key('a'), counter_change_of(head || 3 || ',"cell":' || counter_json(counter_inc(NULL, 2, '00000000-0000-0000-0000-00000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a' FROM told;
SELECT * FROM p;
--= a|2|NULL
INSERT INTO counter_changes SELECT 'p', counter_key('a'), counter_change_of(head || 3 || ',"cell":' || counter_json(counter_inc(NULL, 3, '00000000-0000-0000-0000-00000000000b')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000b' FROM told;
SELECT * FROM p;
--= a|5|NULL
INSERT INTO counter_changes SELECT 'p', counter_key('a'), counter_change_of(head || 1 || ',"cell":' || counter_json(counter_inc(NULL, 8, '00000000-0000-0000-0000-00000000000b')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000b' FROM told;
SELECT * FROM p;
--= a|5|NULL

-- # a-counter-that-gets-its-first-name-back-in-a-table-that-is-built-anew-is-not-counted-again
CREATE TABLE s(k TEXT PRIMARY KEY NOT NULL, v TEXT, m INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('s', 'm');
--= 0
INSERT INTO s VALUES ('tea', 'x', 7);
ALTER TABLE s RENAME COLUMN m TO pieces;
SELECT counter_replicate('s');
--= 0
ALTER TABLE s RENAME COLUMN pieces TO m;
CREATE TABLE new(k TEXT PRIMARY KEY NOT NULL, v TEXT, m INTEGER NOT NULL DEFAULT 0);
INSERT INTO new SELECT * FROM s;
DROP TABLE s;
ALTER TABLE new RENAME TO s;
SELECT counter_replicate('s');
--! counter_replicate: s: the counter m was column pieces here, which is missing: if that was renamed to m, rename it back, call counter_replicate('s'), and rename it again; if it was dropped, counter_untrack('s', 'm') ends the counter in all files, with what they have counted
SELECT counter_replicate('s', 'm');
--! counter_replicate: s: the counter m was column pieces here, which is missing: if that was renamed to m, rename it back, call counter_replicate('s'), and rename it again; if it was dropped, counter_untrack('s', 'm') ends the counter in all files, with what they have counted
ALTER TABLE s RENAME COLUMN m TO pieces;
SELECT counter_replicate('s');
--= 0
ALTER TABLE s RENAME COLUMN pieces TO m;
SELECT counter_replicate('s', 'm');
--= 0
UPDATE s SET m = m + 1;
SELECT s.m, c.m FROM s, s_counters AS c;
--= 8|8

-- # a-counter-that-becomes-a-regular-column-is-the-same-one-in-a-file-that-has-renamed-it
ATTACH 'office.db' AS office;
CREATE TABLE main.s(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.s(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('main.s', 'n', 'm');
--= 0
SELECT counter_replicate('office.s', 'n', 'm');
--= 0
INSERT INTO main.s VALUES ('x', 1, 5);
SELECT rows_changed FROM counter_sync('office');
--= 1
ALTER TABLE office.s RENAME COLUMN m TO mm;
SELECT counter_untrack('main.s', 'm');
--= 1
SELECT rows_changed, note FROM counter_sync('office');
--= 1|in office: column mm does not travel yet: call counter_replicate('s')
SELECT counter_replicate('main.s');
--= 1
SELECT counter_replicate('office.s');
--= 1
UPDATE main.s SET m = 100;
SELECT note FROM counter_sync('office');
--= NULL
SELECT * FROM office.s;
--= x|1|100
UPDATE office.s SET mm = 200;
SELECT note FROM counter_sync('office');
--= NULL
SELECT * FROM main.s;
--= x|1|200
