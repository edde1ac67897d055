-- Foreign keys of replicated tables: a merge lets none of them act.

-- # a-row-of-a-feed-that-a-foreign-key-may-touch-is-listed-until-the-batch-is-seen
PRAGMA foreign_keys = ON;
ATTACH 'fed.db' AS fed;
CREATE TABLE category(id TEXT PRIMARY KEY NOT NULL);
CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, cat TEXT REFERENCES category ON DELETE CASCADE, name TEXT, n INTEGER);
SELECT counter_replicate('category');
--= 0
SELECT counter_replicate('item', 'n');
--= 0
INSERT INTO category VALUES ('old'), ('new');
INSERT INTO item VALUES ('jam', 'old', 'Jam', 3);
CREATE TABLE fed.first AS SELECT table_name, key, change, seq, source FROM counter_changes(0);
UPDATE item SET cat = 'new', n = 4;
DELETE FROM category WHERE id = 'old';
UPDATE item SET name = 'Plum jam';
CREATE TABLE fed.second AS SELECT table_name, key, change, seq, source FROM counter_changes(0);
SELECT counter_untrack('item');
--= 1
SELECT counter_untrack('category');
--= 0
DELETE FROM item;
DELETE FROM category;
SELECT counter_replicate('category');
--= 0
SELECT counter_replicate('item', 'n');
--= 0
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM fed.first;
SELECT table_name, row_key, column_name, state, merged FROM counter_tracked WHERE row_key NOT NULL ORDER BY 1, 2, 3;
--= category|('new')|NULL|waits|NULL
--= category|('old')|NULL|waits|NULL
--= item|('jam')|cat|waits|old
--= item|('jam')|n|waits|3
--= item|('jam')|name|waits|Jam
SELECT (SELECT count(*) FROM item), (SELECT count(*) FROM category);
--= 0|0
SELECT counter_seen('7529cd67-394b-3247-8020-f2a7272fc8d9', 0, 1);
--= 1
SELECT * FROM item;
--= jam|old|Jam|3
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM fed.second;
SELECT table_name, row_key, column_name, state, shown, merged FROM counter_tracked WHERE row_key NOT NULL ORDER BY 1, 2, 3;
--= category|('old')|NULL|differs|NULL|NULL
--= item|('jam')|cat|differs|old|new
--= item|('jam')|n|differs|3|4
--= item|('jam')|name|differs|Jam|Plum jam
SAVEPOINT s;
UPDATE item SET n = n + 10;
SELECT counter_seen('7529cd67-394b-3247-8020-f2a7272fc8d9', 0, 2);
--= 2
SELECT * FROM item, category;
--= jam|new|Plum jam|14|new
ROLLBACK TO s;
RELEASE s;
SELECT * FROM item;
--= jam|old|Jam|3
SELECT counter_seen('7529cd67-394b-3247-8020-f2a7272fc8d9', 0, 2);
--= 2
SELECT * FROM item, category;
--= jam|new|Plum jam|4|new
SELECT count(*) FROM counter_tracked WHERE row_key NOT NULL;
--= 0

-- # a-row-of-a-parent-whose-counters-end-one-by-one-in-a-feed-stays-listed
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m INTEGER);
CREATE TABLE office.t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m INTEGER);
CREATE TABLE main.child(q REFERENCES t);
SELECT counter_track('main.t', 'n', 'm');
--= 0
SELECT counter_track('office.t', 'n', 'm');
--= 0
INSERT INTO main.t VALUES ('a', 4, 3);
DELETE FROM main.t;
CREATE TABLE office.fed AS SELECT table_name, key, counter_change_of('{"tells":"row","columns":[{"name":"' || column_name || '","kind":"counter","generation":1,"cell":' || counter_json(cell) || '}]}') AS change, seq, source FROM counter_changes(0) AS f, counter_change(f.change) AS c;
SELECT column_name, counter_json(cell) FROM office.fed AS f, counter_change(f.change);
--= m|{"life":2}
--= n|{"life":2}
SELECT counter_untrack('main.t');
--= 2
SELECT counter_track('main.t', 'n', 'm');
--= 0
INSERT INTO main.t(k, n) VALUES ('a', 1);
INSERT INTO counter_changes(table_name, key, change, seq, source) SELECT * FROM office.fed;
SELECT row_key, column_name, state, shown, merged FROM counter_tracked WHERE row_key NOT NULL;
--= ('a')|n|differs|1|NULL
--= ('a')|m|differs|NULL|NULL
SELECT * FROM main.t;
--= a|1|NULL
SELECT counter_seen('7529cd67-394b-3247-8020-f2a7272fc8d9', 0, 1);
--= 1
SELECT count(*) FROM main.t;
--= 0
SELECT count(*) FROM counter_tracked WHERE row_key NOT NULL;
--= 0

-- # rows-that-refer-to-each-other-by-deferred-keys-come-and-go-together
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.person(id TEXT PRIMARY KEY NOT NULL, team TEXT NOT NULL REFERENCES team DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE main.team(id TEXT PRIMARY KEY NOT NULL, lead TEXT NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED, n INTEGER);
CREATE TABLE office.person(id TEXT PRIMARY KEY NOT NULL, team TEXT NOT NULL REFERENCES team DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE office.team(id TEXT PRIMARY KEY NOT NULL, lead TEXT NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED, n INTEGER);
SELECT counter_replicate('main.person');
--= 0
SELECT counter_replicate('main.team', 'n');
--= 0
SELECT counter_replicate('office.person');
--= 0
SELECT counter_replicate('office.team', 'n');
--= 0
BEGIN;
INSERT INTO main.person VALUES ('ann', 'tills'), ('bob', 'shelves');
INSERT INTO main.team VALUES ('tills', 'ann', 1), ('shelves', 'bob', 2);
COMMIT;
SELECT table_name, rows_changed, note FROM counter_push('office');
--= person|2|NULL
--= team|2|NULL
SELECT * FROM office.person, office.team WHERE team.id = person.team ORDER BY 1;
--= ann|tills|tills|ann|1
--= bob|shelves|shelves|bob|2
BEGIN;
DELETE FROM main.person WHERE id = 'ann';
DELETE FROM main.team WHERE id = 'tills';
COMMIT;
SELECT table_name, rows_changed, note FROM counter_push('office');
--= person|1|NULL
--= team|1|NULL
SELECT * FROM office.person, office.team;
--= bob|shelves|shelves|bob|2
SELECT counter_table_digest('team', 'office') = counter_table_digest('team'), counter_table_digest('person', 'office') = counter_table_digest('person');
--= 1|1

-- # rows-that-refer-to-each-other-by-immediate-keys-come-and-go-together
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.person(id TEXT PRIMARY KEY NOT NULL, team TEXT NOT NULL REFERENCES team);
CREATE TABLE main.team(id TEXT PRIMARY KEY NOT NULL, lead TEXT REFERENCES person, n INTEGER);
CREATE TABLE office.person(id TEXT PRIMARY KEY NOT NULL, team TEXT NOT NULL REFERENCES team);
CREATE TABLE office.team(id TEXT PRIMARY KEY NOT NULL, lead TEXT REFERENCES person, n INTEGER);
SELECT counter_replicate('main.person');
--= 0
SELECT counter_replicate('main.team', 'n');
--= 0
SELECT counter_replicate('office.person');
--= 0
SELECT counter_replicate('office.team', 'n');
--= 0
INSERT INTO main.team VALUES ('tills', NULL, 1), ('shelves', NULL, 2);
INSERT INTO main.person VALUES ('ann', 'tills'), ('bob', 'shelves');
UPDATE main.team SET lead = 'ann' WHERE id = 'tills';
UPDATE main.team SET lead = 'bob' WHERE id = 'shelves';
SELECT table_name, rows_changed, note FROM counter_push('office');
--= person|2|NULL
--= team|2|NULL
SELECT * FROM office.person, office.team WHERE team.id = person.team ORDER BY 1;
--= ann|tills|tills|ann|1
--= bob|shelves|shelves|bob|2
UPDATE main.team SET lead = NULL WHERE id = 'tills';
DELETE FROM main.person WHERE id = 'ann';
DELETE FROM main.team WHERE id = 'tills';
SELECT table_name, rows_changed, note FROM counter_push('office');
--= person|1|NULL
--= team|1|NULL
SELECT * FROM office.person, office.team;
--= bob|shelves|shelves|bob|2

-- # a-row-between-two-circles-comes-with-both
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.depot(id TEXT PRIMARY KEY NOT NULL, lead TEXT NOT NULL REFERENCES worker DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE main.worker(id TEXT PRIMARY KEY NOT NULL, boss TEXT REFERENCES worker, depot TEXT REFERENCES depot DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE office.depot(id TEXT PRIMARY KEY NOT NULL, lead TEXT NOT NULL REFERENCES worker DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE office.worker(id TEXT PRIMARY KEY NOT NULL, boss TEXT REFERENCES worker, depot TEXT REFERENCES depot DEFERRABLE INITIALLY DEFERRED);
SELECT counter_replicate('main.depot');
--= 0
SELECT counter_replicate('main.worker');
--= 0
SELECT counter_replicate('office.depot');
--= 0
SELECT counter_replicate('office.worker');
--= 0
BEGIN;
INSERT INTO main.depot VALUES ('north', 'ann'), ('south', 'cleo');
INSERT INTO main.worker VALUES ('ann', NULL, 'north'), ('bob', 'ann', NULL), ('cleo', 'bob', 'south');
COMMIT;
SELECT table_name, rows_changed, note FROM counter_push('office') ORDER BY 1;
--= depot|2|NULL
--= worker|3|NULL
SELECT * FROM office.worker ORDER BY 1;
--= ann|NULL|north
--= bob|ann|NULL
--= cleo|bob|south

-- # two-parents-of-one-child-get-new-keys-and-keep-their-unique-values
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.customer(id TEXT PRIMARY KEY NOT NULL, mail TEXT NOT NULL UNIQUE);
CREATE TABLE main.product(id TEXT PRIMARY KEY NOT NULL, sku TEXT UNIQUE);
CREATE TABLE main.line(id TEXT PRIMARY KEY NOT NULL, c TEXT REFERENCES customer ON UPDATE CASCADE, p TEXT REFERENCES product ON UPDATE CASCADE);
CREATE TABLE office.customer(id TEXT PRIMARY KEY NOT NULL, mail TEXT NOT NULL UNIQUE);
CREATE TABLE office.product(id TEXT PRIMARY KEY NOT NULL, sku TEXT UNIQUE);
CREATE TABLE office.line(id TEXT PRIMARY KEY NOT NULL, c TEXT REFERENCES customer ON UPDATE CASCADE, p TEXT REFERENCES product ON UPDATE CASCADE);
SELECT counter_replicate('main.customer');
--= 0
SELECT counter_replicate('main.product');
--= 0
SELECT counter_replicate('main.line');
--= 0
SELECT counter_replicate('office.customer');
--= 0
SELECT counter_replicate('office.product');
--= 0
SELECT counter_replicate('office.line');
--= 0
INSERT INTO main.customer VALUES ('c1', 'ann@x');
INSERT INTO main.product VALUES ('p1', 'tea');
INSERT INTO main.line VALUES ('l', 'c1', 'p1');
SELECT sum(rows_changed) FROM counter_push('office');
--= 3
UPDATE main.customer SET id = 'c2';
UPDATE main.product SET id = 'p2';
SELECT table_name, note FROM counter_push('office') ORDER BY 1;
--= customer|NULL
--= line|NULL
--= product|NULL
SELECT * FROM office.customer, office.product, office.line;
--= c2|ann@x|p2|tea|l|c2|p2

-- # a-child-that-stays-refers-to-the-row-that-takes-over-the-unique-value
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.user(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE);
CREATE TABLE main.post(id TEXT PRIMARY KEY NOT NULL, author TEXT REFERENCES user(name) ON DELETE CASCADE);
CREATE TABLE office.user(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE);
CREATE TABLE office.post(id TEXT PRIMARY KEY NOT NULL, author TEXT REFERENCES user(name) ON DELETE CASCADE);
SELECT counter_replicate('main.user');
--= 0
SELECT counter_replicate('main.post');
--= 0
SELECT counter_replicate('office.user');
--= 0
SELECT counter_replicate('office.post');
--= 0
INSERT INTO main.user VALUES ('1', 'ann');
INSERT INTO main.post VALUES ('p', 'ann');
SELECT sum(rows_changed) FROM counter_push('office');
--= 2
UPDATE main.user SET id = '2';
SELECT sum(note IS NOT NULL) FROM counter_push('office');
--= 0
SELECT * FROM office.user, office.post;
--= 2|ann|p|ann
-- Nobody takes over the name: the post keeps its author.
DELETE FROM main.post;
SELECT sum(rows_changed) FROM counter_push('office');
--= 1
INSERT INTO office.post VALUES ('q', 'ann');
UPDATE main.user SET name = 'bob';
SELECT sum(note IS NOT NULL) FROM counter_push('office');
--= 1
SELECT * FROM office.user, office.post;
--= 2|ann|q|ann

-- # duplicates-are-joined-and-a-slug-is-handed-on-in-the-other-file-too
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.person(id TEXT PRIMARY KEY NOT NULL, mail TEXT NOT NULL UNIQUE, same_as TEXT REFERENCES person);
CREATE TABLE main.page(id TEXT PRIMARY KEY NOT NULL, slug TEXT NOT NULL UNIQUE, newer TEXT REFERENCES page);
CREATE TABLE office.person(id TEXT PRIMARY KEY NOT NULL, mail TEXT NOT NULL UNIQUE, same_as TEXT REFERENCES person);
CREATE TABLE office.page(id TEXT PRIMARY KEY NOT NULL, slug TEXT NOT NULL UNIQUE, newer TEXT REFERENCES page);
SELECT counter_replicate('main.person');
--= 0
SELECT counter_replicate('main.page');
--= 0
SELECT counter_replicate('office.person');
--= 0
SELECT counter_replicate('office.page');
--= 0
INSERT INTO main.person VALUES ('1', 'ann@x', NULL), ('2', 'old@x', '1');
INSERT INTO main.page VALUES ('v1', 'home', NULL);
SELECT sum(rows_changed) FROM counter_push('office');
--= 3
UPDATE main.person SET same_as = NULL;
DELETE FROM main.person WHERE id = '1';
UPDATE main.person SET mail = 'ann@x';
UPDATE main.page SET slug = 'home-1';
INSERT INTO main.page VALUES ('v2', 'home', NULL);
UPDATE main.page SET newer = 'v2' WHERE id = 'v1';
SELECT sum(note IS NOT NULL) FROM counter_push('office');
--= 0
SELECT * FROM office.person;
--= 2|ann@x|NULL
SELECT * FROM office.page ORDER BY 1;
--= v1|home-1|v2
--= v2|home|NULL

-- # a-trigger-that-fails-before-a-circle-is-whole-leaves-nothing-of-its-row
ATTACH 'office.db' AS office;
PRAGMA foreign_keys = ON;
CREATE TABLE main.t(k TEXT PRIMARY KEY, other TEXT REFERENCES t(k), n INTEGER);
CREATE TABLE office.t(k TEXT PRIMARY KEY, other TEXT REFERENCES t(k), n INTEGER);
CREATE TABLE main.log(k);
SELECT counter_replicate('main.t', 'n');
--= 0
SELECT counter_replicate('office.t', 'n');
--= 0
CREATE TRIGGER main.fails AFTER INSERT ON t BEGIN
  UPDATE t SET n = n + 100 WHERE k = NEW.k;
  INSERT INTO log VALUES (NEW.k);
  SELECT RAISE(FAIL, 'no') WHERE NEW.k = 'a' AND NOT EXISTS (SELECT 1 FROM t WHERE k = 'b');
END;
INSERT INTO office.t VALUES ('a', NULL, 1), ('b', 'a', 2);
UPDATE office.t SET other = 'b' WHERE k = 'a';
SELECT rows_changed, note FROM counter_pull('office');
--= 2|NULL
SELECT * FROM main.t;
--= a|b|1
--= b|a|2
SELECT k FROM main.log;
--= b
--= a
SELECT rows_changed, note FROM counter_sync('office');
--= 0|NULL
SELECT count(*) FROM counter_tracked WHERE row_key IS NOT NULL;
--= 0

-- # a-circle-to-which-another-row-refers-stays-whole
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.person(id TEXT PRIMARY KEY NOT NULL, team TEXT REFERENCES team ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE main.team(id TEXT PRIMARY KEY NOT NULL, lead TEXT REFERENCES person ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE main.badge(id TEXT PRIMARY KEY NOT NULL, owner TEXT REFERENCES person ON DELETE CASCADE);
CREATE TABLE office.person(id TEXT PRIMARY KEY NOT NULL, team TEXT REFERENCES team ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE office.team(id TEXT PRIMARY KEY NOT NULL, lead TEXT REFERENCES person ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE office.badge(id TEXT PRIMARY KEY NOT NULL, owner TEXT REFERENCES person ON DELETE CASCADE);
SELECT counter_replicate('main.person');
--= 0
SELECT counter_replicate('main.team');
--= 0
SELECT counter_replicate('main.badge');
--= 0
SELECT counter_replicate('office.person');
--= 0
SELECT counter_replicate('office.team');
--= 0
SELECT counter_replicate('office.badge');
--= 0
BEGIN;
INSERT INTO main.person VALUES ('ann', 'tills');
INSERT INTO main.team VALUES ('tills', 'ann');
COMMIT;
SELECT sum(rows_changed) FROM counter_push('office');
--= 2
INSERT INTO office.badge VALUES ('7', 'ann');
DELETE FROM main.team;
SELECT table_name, rows_changed, note FROM counter_push('office');
--= badge|0|NULL
--= person|1|1 row differs in office: see counter_tracked('office')
--= team|1|1 row differs in office: see counter_tracked('office')
SELECT * FROM office.person, office.team, office.badge;
--= ann|tills|tills|ann|7|ann
DELETE FROM office.badge;
SELECT table_name, rows_changed, note FROM counter_push('office');
--= badge|0|NULL
--= person|0|NULL
--= team|0|NULL
SELECT (SELECT count(*) FROM office.person), (SELECT count(*) FROM office.team);
--= 0|0

-- # a-write-to-a-row-whose-deletion-is-not-shown-begins-its-next-life
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY NOT NULL, name TEXT, n INTEGER, m INTEGER);
CREATE TABLE main.c(k TEXT PRIMARY KEY NOT NULL, p TEXT REFERENCES p);
CREATE TABLE office.p(k TEXT PRIMARY KEY NOT NULL, name TEXT, n INTEGER, m INTEGER);
CREATE TABLE office.c(k TEXT PRIMARY KEY NOT NULL, p TEXT REFERENCES p);
SELECT counter_replicate('main.p', 'n', 'm');
--= 0
SELECT counter_replicate('main.c');
--= 0
SELECT counter_replicate('office.p', 'n', 'm');
--= 0
SELECT counter_replicate('office.c');
--= 0
INSERT INTO office.p VALUES ('x', 'X', 12, NULL), ('y', 'Y', 3, 4);
SELECT table_name, rows_changed FROM counter_pull('office');
--= c|0
--= p|2
INSERT INTO main.c VALUES ('1', 'x'), ('2', 'y');
DELETE FROM office.p;
SELECT table_name, rows_changed, note FROM counter_pull('office');
--= c|0|NULL
--= p|2|2 rows differ: see counter_tracked()
SELECT row_key, column_name, shown, merged, why FROM counter_tracked WHERE row_key NOT NULL ORDER BY 1, 2;
--= ('x')|m|NULL|NULL|FOREIGN KEY constraint failed: the row ('1') of c refers to it by p
--= ('x')|n|12|NULL|FOREIGN KEY constraint failed: the row ('1') of c refers to it by p
--= ('y')|m|4|NULL|FOREIGN KEY constraint failed: the row ('2') of c refers to it by p
--= ('y')|n|3|NULL|FOREIGN KEY constraint failed: the row ('2') of c refers to it by p
UPDATE main.p SET name = 'XX' WHERE k = 'x';
UPDATE main.p SET n = n + 1, name = 'YY' WHERE k = 'y';
SELECT count(*) FROM counter_tracked WHERE row_key NOT NULL;
--= 0
SELECT sum(rows_changed) FROM counter_push('office');
--= 4
SELECT * FROM office.p JOIN office.c ON p = p.k ORDER BY 1;
--= x|XX|12|NULL|1|x
--= y|YY|4|4|2|y
SELECT counter_table_digest('p', 'office') = counter_table_digest('p');
--= 1
INSERT INTO main.p_counters(p_counters) VALUES ('integrity-check');
INSERT INTO office.p_counters(p_counters) VALUES ('integrity-check');

-- # a-write-without-triggers-to-a-row-whose-deletion-is-not-shown-begins-its-next-life
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY NOT NULL, name TEXT, n INTEGER);
CREATE TABLE main.c(k TEXT PRIMARY KEY NOT NULL, p TEXT REFERENCES p);
CREATE TABLE office.p(k TEXT PRIMARY KEY NOT NULL, name TEXT, n INTEGER);
CREATE TABLE office.c(k TEXT PRIMARY KEY NOT NULL, p TEXT REFERENCES p);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('main.c');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
SELECT counter_replicate('office.c');
--= 0
INSERT INTO office.p VALUES ('x', 'X', 12), ('y', 'Y', 3);
SELECT sum(rows_changed) FROM counter_pull('office');
--= 2
INSERT INTO main.c VALUES ('1', 'x'), ('2', 'y');
DELETE FROM office.p;
SELECT sum(rows_changed) FROM counter_pull('office');
--= 2
PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE main.fresh(k TEXT PRIMARY KEY NOT NULL, name TEXT, n INTEGER);
INSERT INTO main.fresh SELECT * FROM main.p;
DROP TABLE main.p;
ALTER TABLE main.fresh RENAME TO p;
UPDATE main.p SET n = n + 7 WHERE k = 'x';
COMMIT;
PRAGMA foreign_keys = ON;
SELECT counter_replicate('p') > 0;
--= 1
SELECT DISTINCT row_key FROM counter_tracked WHERE row_key NOT NULL;
--= ('y')
SELECT table_name, note FROM counter_sync('office');
--= c|1 row waits in office: see counter_tracked('office')
--= p|1 row differs: see counter_tracked()
SELECT * FROM office.p JOIN office.c ON p = p.k;
--= x|X|19|1|x
SELECT counter_table_digest('p', 'office') = counter_table_digest('p');
--= 1
INSERT INTO main.p_counters(p_counters) VALUES ('integrity-check');

-- # a-tree-in-a-table-without-counters-is-deleted-in-other-files
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.basket(id TEXT PRIMARY KEY NOT NULL);
CREATE TABLE main.item(id TEXT PRIMARY KEY NOT NULL, basket TEXT REFERENCES basket, above TEXT REFERENCES item);
CREATE TABLE office.basket(id TEXT PRIMARY KEY NOT NULL);
CREATE TABLE office.item(id TEXT PRIMARY KEY NOT NULL, basket TEXT REFERENCES basket, above TEXT REFERENCES item);
SELECT counter_replicate('main.basket');
--= 0
SELECT counter_replicate('main.item');
--= 0
SELECT counter_replicate('office.basket');
--= 0
SELECT counter_replicate('office.item');
--= 0
INSERT INTO main.basket VALUES ('x');
INSERT INTO main.item VALUES ('c', 'x', NULL), ('a', 'x', 'c'), ('b', 'x', 'a');
SELECT sum(rows_changed) FROM counter_push('office');
--= 4
BEGIN;
DELETE FROM main.item WHERE id = 'b';
DELETE FROM main.item WHERE id = 'a';
DELETE FROM main.item;
DELETE FROM main.basket;
COMMIT;
SELECT table_name, rows_changed, note FROM counter_push('office');
--= basket|1|NULL
--= item|3|NULL
SELECT (SELECT count(*) FROM office.basket), (SELECT count(*) FROM office.item);
--= 0|0

-- # a-row-that-a-foreign-key-refuses-names-the-missing-parent
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.area(country TEXT, id INTEGER, code TEXT COLLATE NOCASE UNIQUE, PRIMARY KEY (country, id));
CREATE TABLE main.kept(id TEXT PRIMARY KEY);
CREATE TABLE main.person(k TEXT PRIMARY KEY, country TEXT, area INTEGER, code TEXT, boss TEXT REFERENCES person DEFERRABLE INITIALLY DEFERRED, kept TEXT REFERENCES kept, FOREIGN KEY (country, area) REFERENCES area, FOREIGN KEY (code) REFERENCES area(code));
CREATE TABLE office.area(country TEXT, id INTEGER, code TEXT COLLATE NOCASE UNIQUE, PRIMARY KEY (country, id));
CREATE TABLE office.kept(id TEXT PRIMARY KEY);
CREATE TABLE office.person(k TEXT PRIMARY KEY, country TEXT, area INTEGER, code TEXT, boss TEXT REFERENCES person DEFERRABLE INITIALLY DEFERRED, kept TEXT REFERENCES kept, FOREIGN KEY (country, area) REFERENCES area, FOREIGN KEY (code) REFERENCES area(code));
SELECT counter_replicate('main.person');
--= 0
SELECT counter_replicate('office.person');
--= 0
INSERT INTO main.area VALUES ('de', 7, 'x'), ('de', 8, 'it''s');
INSERT INTO office.area VALUES ('de', 6, 'X');
INSERT INTO main.kept VALUES ('here');
INSERT INTO main.person VALUES ('ann', NULL, NULL, 'x', 'ann', NULL);
SELECT rows_changed FROM counter_push('office');
--= 1
INSERT INTO main.person VALUES ('bob', 'de', 7, NULL, NULL, NULL), ('cid', NULL, 7, 'it''s', NULL, NULL), ('dan', 'de', NULL, 'X', 'bob', NULL), ('eve', NULL, NULL, NULL, 'eve', 'here');
UPDATE main.person SET country = 'de', area = 8 WHERE k = 'ann';
SELECT rows_changed FROM counter_push('office');
--= 5
SELECT row_key, state, why FROM counter_tracked('office') WHERE row_key IS NOT NULL AND column_name = 'area' ORDER BY row_key;
--= ('ann')|differs|FOREIGN KEY constraint failed: area has no row with country = 'de' and id = 8
--= ('bob')|waits|FOREIGN KEY constraint failed: area has no row with country = 'de' and id = 7
--= ('cid')|waits|FOREIGN KEY constraint failed: area has no row with code = 'it''s'
--= ('dan')|waits|FOREIGN KEY constraint failed: person has no row with k = 'bob'
--= ('eve')|waits|FOREIGN KEY constraint failed: kept has no row with id = 'here'
PRAGMA foreign_keys = OFF;
SELECT row_key, state, why FROM counter_tracked('office') WHERE row_key IS NOT NULL AND column_name = 'area' ORDER BY row_key;
--= ('ann')|differs|FOREIGN KEY constraint failed: area has no row with country = 'de' and id = 8
--= ('bob')|waits|FOREIGN KEY constraint failed: area has no row with country = 'de' and id = 7
--= ('cid')|waits|FOREIGN KEY constraint failed: area has no row with code = 'it''s'
--= ('dan')|waits|FOREIGN KEY constraint failed: person has no row with k = 'bob'
--= ('eve')|waits|FOREIGN KEY constraint failed: kept has no row with id = 'here'
PRAGMA foreign_keys = ON;
INSERT INTO office.area VALUES ('de', 7, 'y'), ('de', 8, 'z');
SELECT row_key, state, why FROM counter_tracked('office') WHERE row_key IS NOT NULL AND column_name = 'area' ORDER BY row_key;
--= ('ann')|differs|FOREIGN KEY constraint failed
--= ('bob')|waits|FOREIGN KEY constraint failed
--= ('cid')|waits|FOREIGN KEY constraint failed: area has no row with code = 'it''s'
--= ('dan')|waits|FOREIGN KEY constraint failed: person has no row with k = 'bob'
--= ('eve')|waits|FOREIGN KEY constraint failed: kept has no row with id = 'here'
SELECT rows_changed FROM counter_push('office');
--= 0
SELECT row_key, state, why FROM counter_tracked('office') WHERE row_key IS NOT NULL AND column_name = 'area' ORDER BY row_key;
--= ('cid')|waits|FOREIGN KEY constraint failed: area has no row with code = 'it''s'
--= ('eve')|waits|FOREIGN KEY constraint failed: kept has no row with id = 'here'

-- # a-deletion-that-waits-names-the-row-that-refers-to-it
ATTACH 'office.db' AS office;
CREATE TABLE main.item(k TEXT PRIMARY KEY, maker TEXT, code TEXT, n INTEGER, UNIQUE (maker, code));
CREATE TABLE office.item(k TEXT PRIMARY KEY, maker TEXT, code TEXT, n INTEGER, UNIQUE (maker, code));
CREATE TABLE office.line(id INTEGER, part INTEGER, item TEXT REFERENCES item ON DELETE CASCADE, PRIMARY KEY (id, part));
CREATE TABLE office.note(text, maker TEXT, code TEXT, FOREIGN KEY (maker, code) REFERENCES item(maker, code));
CREATE TABLE office.part(k TEXT PRIMARY KEY, whole TEXT REFERENCES item(k) ON DELETE SET NULL);
CREATE TABLE office.tree(k TEXT PRIMARY KEY, up TEXT REFERENCES tree);
CREATE TABLE main.tree(k TEXT PRIMARY KEY, up TEXT REFERENCES tree);
SELECT counter_replicate('main.item', 'n');
--= 0
SELECT counter_replicate('office.item', 'n');
--= 0
SELECT counter_replicate('office.line');
--= 0
SELECT counter_replicate('office.part');
--= 0
SELECT counter_replicate('main.tree');
--= 0
SELECT counter_replicate('office.tree');
--= 0
INSERT INTO main.item VALUES ('a', 'm', '1', 1), ('b', 'm', '2', 2), ('c', 'm', '3', 3), ('d', 'm', '4', 4);
INSERT INTO main.tree VALUES ('root', NULL), ('leaf', 'root');
SELECT table_name, rows_changed FROM counter_push('office') WHERE rows_changed;
--= item|4
--= tree|2
INSERT INTO office.line VALUES (3, 1, 'a'), (2, 2, 'a'), (2, 1, 'a'), (1, 1, 'b');
INSERT INTO office.note VALUES ('one', 'm', '3'), ('two', 'm', '3'), ('three', NULL, '4');
INSERT INTO office.part VALUES (printf('%.60c', 'x'), 'd');
INSERT INTO office.tree VALUES ('twig', 'leaf');
DELETE FROM main.item;
DELETE FROM main.tree WHERE k = 'leaf';
PRAGMA foreign_keys = ON;
SELECT table_name, rows_changed, note FROM counter_push('office') WHERE rows_changed;
--= item|4|4 rows differ in office: see counter_tracked('office')
--= tree|1|1 row differs in office: see counter_tracked('office')
SELECT table_name, row_key, column_name, state, shown, merged, why FROM counter_tracked('office') WHERE row_key IS NOT NULL ORDER BY table_name, row_key;
--= item|('a')|n|differs|1|NULL|FOREIGN KEY constraint failed: the row (2, 1) of line refers to it by item (and 2 more)
--= item|('b')|n|differs|2|NULL|FOREIGN KEY constraint failed: the row (1, 1) of line refers to it by item
--= item|('c')|n|differs|3|NULL|FOREIGN KEY constraint failed: a row of note refers to it by maker and code (and 1 more)
--= item|('d')|n|differs|4|NULL|FOREIGN KEY constraint failed: the row ('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...') of part refers to it by whole
--= tree|('leaf')|NULL|differs|NULL|NULL|FOREIGN KEY constraint failed: the row ('twig') of tree refers to it by up
-- Where foreign keys are off, a row that stays in this file does not keep its parent.
PRAGMA foreign_keys = OFF;
SELECT row_key, why FROM counter_tracked('office') WHERE row_key IN ('(''b'')', '(''c'')');
--= ('b')|FOREIGN KEY constraint failed: the row (1, 1) of line refers to it by item
--= ('c')|FOREIGN KEY constraint failed
UPDATE office.line SET item = NULL WHERE id = 2;
DELETE FROM office.line WHERE id = 1;
INSERT INTO office.line WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < 1002) SELECT 9, i, 'd' FROM i;
SELECT row_key, why FROM counter_tracked('office') WHERE table_name = 'item' AND row_key IS NOT NULL ORDER BY row_key;
--= ('a')|FOREIGN KEY constraint failed: the row (3, 1) of line refers to it by item
--= ('b')|FOREIGN KEY constraint failed
--= ('c')|FOREIGN KEY constraint failed
--= ('d')|FOREIGN KEY constraint failed: the row (9, 1) of line refers to it by item (and over 1000 more)
SELECT table_name, rows_changed, note FROM counter_push('office') WHERE table_name = 'item';
--= item|0|2 rows differ in office: see counter_tracked('office')
SELECT row_key, why FROM counter_tracked('office') WHERE table_name = 'item' AND row_key IS NOT NULL ORDER BY row_key;
--= ('a')|FOREIGN KEY constraint failed: the row (3, 1) of line refers to it by item
--= ('d')|FOREIGN KEY constraint failed: the row (9, 1) of line refers to it by item (and over 1000 more)

-- # a-value-to-which-rows-refer-names-the-row-that-holds-it
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.item(k TEXT PRIMARY KEY, code TEXT UNIQUE, name TEXT);
CREATE TABLE office.item(k TEXT PRIMARY KEY, code TEXT UNIQUE, name TEXT);
CREATE TABLE office.line(id TEXT PRIMARY KEY, item TEXT REFERENCES item(code));
CREATE TABLE office.note(id TEXT PRIMARY KEY, item TEXT REFERENCES item(code) ON UPDATE CASCADE);
SELECT counter_replicate('main.item');
--= 0
SELECT counter_replicate('office.item');
--= 0
INSERT INTO main.item VALUES ('a', '1', 'A'), ('b', '2', 'B');
SELECT rows_changed FROM counter_push('office');
--= 2
INSERT INTO office.note VALUES ('n', '1'), ('m', '2');
INSERT INTO office.line VALUES ('l', '1');
UPDATE main.item SET code = code + 10, name = 'C';
SELECT rows_changed, note FROM counter_push('office');
--= 2|1 row differs in office: see counter_tracked('office')
SELECT row_key, column_name, state, shown, merged, why FROM counter_tracked('office') WHERE row_key IS NOT NULL ORDER BY row_key, column_name;
--= ('a')|code|differs|1|11|FOREIGN KEY constraint failed: the row ('l') of line refers to it by item
--= ('a')|name|differs|A|C|FOREIGN KEY constraint failed: the row ('l') of line refers to it by item
SELECT * FROM office.note;
--= n|1
--= m|12

-- # a-read-of-rows-that-are-apart-runs-no-generated-column-of-a-relative
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.item(k TEXT PRIMARY KEY, v INTEGER UNIQUE);
CREATE TABLE office.item(k TEXT PRIMARY KEY, v INTEGER UNIQUE, g INTEGER AS (abs(v)) UNIQUE);
CREATE TABLE office.line(id TEXT PRIMARY KEY, item TEXT, g TEXT AS (lower(item)) REFERENCES item);
CREATE TABLE office.mark(id TEXT PRIMARY KEY, v INTEGER REFERENCES item(g));
CREATE TABLE main.mark(id TEXT PRIMARY KEY, v INTEGER);
SELECT counter_replicate('main.item');
--= 0
SELECT counter_replicate('office.item');
--= 0
SELECT counter_replicate('main.mark');
--= 0
SELECT counter_replicate('office.mark');
--= 0
INSERT INTO main.item VALUES ('a', 1);
SELECT sum(rows_changed) FROM counter_push('office');
--= 1
INSERT INTO office.line VALUES ('l', 'A');
DELETE FROM main.item;
INSERT INTO main.mark VALUES ('m', 2);
SELECT sum(rows_changed) FROM counter_push('office');
--= 2
SELECT row_key, state, why FROM counter_tracked('office') WHERE row_key IS NOT NULL ORDER BY row_key;
--= ('a')|differs|FOREIGN KEY constraint failed
--= ('m')|waits|FOREIGN KEY constraint failed

-- # a-row-without-a-count-that-a-foreign-key-may-touch-shows-what-a-feed-brings
CREATE TABLE par(id TEXT PRIMARY KEY);
PRAGMA foreign_keys = ON;
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, p TEXT REFERENCES par(id));
SELECT counter_track('t', 'n');
--= 0
INSERT INTO t(k) VALUES('c');
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES('t', counter_key('c'), counter_change_of('{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(counter_inc(NULL, 10, '00000000-0000-0000-0000-00000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT * FROM t;
--= c|NULL|NULL
SELECT counter_seen(counter_id(), 0, 0);
--= 0
SELECT * FROM t;
--= c|10|NULL
SELECT count(*) FROM counter_tracked WHERE row_key IS NOT NULL;
--= 0

-- # a-row-that-goes-on-in-two-files-is-counted-once-however-its-key-is-spelled
PRAGMA foreign_keys = ON;
CREATE TEMP TABLE opened(id, value);
CREATE TABLE c(id TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, name, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE o(id TEXT PRIMARY KEY NOT NULL, c TEXT COLLATE NOCASE REFERENCES c(id));
SELECT counter_replicate('c', 'n');
--= 0
SELECT counter_replicate('o');
--= 0
INSERT INTO c VALUES ('b', 'x', 6);
INSERT INTO o VALUES ('o', 'b');
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('c', counter_key('b'), counter_change_of('{"tells":"row","row":{"life":2},"columns":[]}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT state, row_key FROM counter_tracked WHERE row_key IS NOT NULL;
--= differs|('b')
UPDATE c SET name = 'y';
INSERT INTO opened SELECT s.id, s.value FROM counter_changes(0) AS f, counter_change(f.change) AS c, counter_shards(c.cell) AS s WHERE f.table_name = 'c';
DROP TABLE o;
DROP TABLE c;
DROP TABLE o_counters;
DROP TABLE c_counters;
CREATE TABLE c(id TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, name, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE o(id TEXT PRIMARY KEY NOT NULL, c TEXT COLLATE NOCASE REFERENCES c(id));
SELECT counter_replicate('c', 'n');
--= 0
SELECT counter_replicate('o');
--= 0
INSERT INTO c VALUES ('B', 'x', 6);
INSERT INTO o VALUES ('o', 'B');
INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('c', counter_key('b'), counter_change_of('{"tells":"row","row":{"life":2},"columns":[]}'), 1, '00000000-0000-0000-0000-00000000000a');
SELECT state, row_key FROM counter_tracked WHERE row_key IS NOT NULL;
--= differs|('B')
UPDATE c SET name = 'y';
INSERT INTO opened SELECT s.id, s.value FROM counter_changes(0) AS f, counter_change(f.change) AS c, counter_shards(c.cell) AS s WHERE f.table_name = 'c';
SELECT count(*), count(DISTINCT id), min(value), max(value) FROM opened;
--= 2|1|6|6

-- # rows-below-others-are-shown-again-in-a-transaction-that-has-changed-the-schema
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES t DEFERRABLE INITIALLY DEFERRED, u TEXT UNIQUE);
CREATE TABLE office.t(k TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES t DEFERRABLE INITIALLY DEFERRED, u TEXT UNIQUE);
SELECT counter_replicate('main.t');
--= 0
SELECT counter_replicate('office.t');
--= 0
INSERT INTO main.t VALUES ('a', NULL, NULL);
SELECT rows_changed FROM counter_sync('office');
--= 1
INSERT INTO main.t VALUES ('x', NULL, 'p');
INSERT INTO office.t VALUES ('y', NULL, 'p'), ('z', 'y', NULL);
UPDATE office.t SET up = 'y' WHERE k = 'a';
BEGIN;
CREATE TABLE main.other(x);
SELECT rows_changed FROM counter_pull('office');
--= 3
COMMIT;
UPDATE main.t SET u = NULL WHERE k = 'x';
SELECT rows_changed FROM counter_pull('office');
--= 0
SELECT * FROM main.t ORDER BY k;
--= a|y|NULL
--= x|NULL|NULL
--= y|NULL|p
--= z|y|NULL

-- # rows-that-refer-to-each-other-are-shown-in-a-transaction-that-has-changed-the-schema
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES t DEFERRABLE INITIALLY DEFERRED, u TEXT UNIQUE);
CREATE TABLE office.t(k TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES t DEFERRABLE INITIALLY DEFERRED, u TEXT UNIQUE);
SELECT counter_replicate('main.t');
--= 0
SELECT counter_replicate('office.t');
--= 0
INSERT INTO main.t VALUES ('x', NULL, 'p');
BEGIN;
INSERT INTO office.t VALUES ('a', 'b', NULL), ('b', 'a', 'p'), ('c', 'd', NULL), ('d', 'c', NULL);
COMMIT;
BEGIN;
CREATE TABLE main.other(x);
SELECT rows_changed FROM counter_pull('office');
--= 4
COMMIT;
SELECT * FROM main.t ORDER BY k;
--= c|d|NULL
--= d|c|NULL
--= x|NULL|p
UPDATE main.t SET u = NULL WHERE k = 'x';
SELECT rows_changed FROM counter_pull('office');
--= 0
SELECT * FROM main.t ORDER BY k;
--= a|b|NULL
--= b|a|p
--= c|d|NULL
--= d|c|NULL
--= x|NULL|NULL

-- # a-counter-is-added-while-a-row-is-to-be-deleted-and-the-row-comes-again
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES t, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.t(k TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES t, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('main.t', 'n');
--= 0
SELECT counter_replicate('office.t', 'n');
--= 0
INSERT INTO main.t VALUES ('a', NULL, 10), ('b', NULL, 20), ('c', NULL, 30), ('d', NULL, 40);
SELECT rows_changed FROM counter_sync('office');
--= 4
UPDATE main.t SET up = 'a' WHERE k = 'b';
UPDATE main.t SET up = 'c' WHERE k = 'd';
DELETE FROM office.t WHERE k IN ('a', 'c');
SELECT rows_changed FROM counter_pull('office');
--= 2
ALTER TABLE main.t ADD COLUMN m INTEGER NOT NULL DEFAULT 0;
UPDATE main.t SET m = 4 WHERE k IN ('a', 'c');
SELECT counter_replicate('main.t', 'm');
--= 0
SELECT row_key, column_name, shown, merged, why FROM counter_tracked WHERE row_key IS NOT NULL;
--= ('a')|n|10|NULL|FOREIGN KEY constraint failed: the row ('b') of t refers to it by up
--= ('a')|m|4|NULL|FOREIGN KEY constraint failed: the row ('b') of t refers to it by up
--= ('c')|n|30|NULL|FOREIGN KEY constraint failed: the row ('d') of t refers to it by up
--= ('c')|m|4|NULL|FOREIGN KEY constraint failed: the row ('d') of t refers to it by up
INSERT INTO office.t VALUES ('a', NULL, 3);
UPDATE main.t SET n = n + 1 WHERE k = 'c';
ALTER TABLE office.t ADD COLUMN m INTEGER NOT NULL DEFAULT 0;
SELECT counter_replicate('office.t', 'm');
--= 0
SELECT rows_changed > 0 FROM counter_sync('office');
--= 1
SELECT * FROM main.t ORDER BY k;
--= a|NULL|3|0
--= b|a|20|0
--= c|NULL|31|4
--= d|c|40|0
SELECT * FROM office.t ORDER BY k;
--= a|NULL|3|0
--= b|a|20|0
--= c|NULL|31|4
--= d|c|40|0
SELECT counter_table_digest('t_counters') = counter_table_digest('t_counters', 'office');
--= 1

-- # a-row-that-is-kept-against-its-deletion-shows-null-in-all-files
ATTACH 'office.db' AS office;
CREATE TABLE main.t(k TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES t, name TEXT, n INTEGER DEFAULT 0, m INTEGER DEFAULT 0);
CREATE TABLE office.t(k TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES t, name TEXT, n INTEGER DEFAULT 0, m INTEGER DEFAULT 0);
SELECT counter_replicate('main.t', 'n', 'm');
--= 0
SELECT counter_replicate('office.t', 'n', 'm');
--= 0
INSERT INTO main.t VALUES ('a', NULL, NULL, NULL, 5), ('b', NULL, NULL, 1, 1);
SELECT rows_changed FROM counter_sync('office');
--= 2
UPDATE main.t SET up = 'a' WHERE k = 'b';
DELETE FROM office.t WHERE k = 'a';
SELECT rows_changed FROM counter_pull('office');
--= 1
UPDATE main.t SET name = 'A' WHERE k = 'a';
SELECT rows_changed FROM counter_sync('office');
--= 2
SELECT * FROM main.t ORDER BY k;
--= a|NULL|A|NULL|5
--= b|a|NULL|1|1
SELECT * FROM office.t ORDER BY k;
--= a|NULL|A|NULL|5
--= b|a|NULL|1|1
SELECT counter_replicate('main.t');
--= 0
UPDATE main.t SET n = 3 WHERE k = 'a';
SELECT rows_changed FROM counter_sync('office');
--= 1
SELECT n FROM office.t WHERE k = 'a';
--= 3

-- # where-a-column-of-numbers-refers-to-a-text-a-row-whose-key-sqlite-hides-from-triggers-is-refused-and-no-other-one
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.p(sku TEXT PRIMARY KEY NOT NULL, name TEXT, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.p(sku TEXT PRIMARY KEY NOT NULL, name TEXT, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE main.sales(id INTEGER PRIMARY KEY, sku INTEGER REFERENCES p DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX sales_sku ON sales(sku);
SELECT counter_replicate('main.p', 'n');
--= 0
SELECT counter_replicate('office.p', 'n');
--= 0
INSERT INTO main.p VALUES ('0042', 'Tea', 1), ('42', 'Jam', 2), ('7', 'Rice', 3), ('0008', 'Oil', 4);
SELECT rows_changed FROM counter_sync('office');
--= 4
DELETE FROM main.p WHERE sku = '0042';
--! p: SQLite tells triggers the key of the row as (42), and that is another row: some foreign key refers to this TEXT by a column of numbers, where only the text of a number as SQLite writes it can be followed: declare that column TEXT, too
DELETE FROM main.p WHERE sku = '0008';
--! p: SQLite tells triggers the key of the row as (8), and that is another row: some foreign key refers to this TEXT by a column of numbers, where only the text of a number as SQLite writes it can be followed: declare that column TEXT, too
UPDATE main.p SET sku = '9' WHERE sku = '0008';
--! p: SQLite tells triggers the key of the row as (8), and that is another row: some foreign key refers to this TEXT by a column of numbers, where only the text of a number as SQLite writes it can be followed: declare that column TEXT, too
DELETE FROM main.p WHERE sku = '42';
UPDATE main.p SET sku = '0009' WHERE sku = '7';
BEGIN;
INSERT INTO main.sales VALUES (1, 50), (2, 51);
INSERT INTO main.p VALUES ('0050', 'Salt', 5);
--! p: SQLite tells triggers the key of the row as (50), and that is another row: some foreign key refers to this TEXT by a column of numbers, where only the text of a number as SQLite writes it can be followed: declare that column TEXT, too
INSERT INTO main.p VALUES ('50', 'Salt', 5), ('51', 'Pepper', 6);
COMMIT;
SELECT rows_changed, note FROM counter_sync('office');
--= 5|NULL
SELECT * FROM main.p ORDER BY sku;
--= 0008|Oil|4
--= 0009|Rice|3
--= 0042|Tea|1
--= 50|Salt|5
--= 51|Pepper|6
SELECT * FROM office.p ORDER BY sku;
--= 0008|Oil|4
--= 0009|Rice|3
--= 0042|Tea|1
--= 50|Salt|5
--= 51|Pepper|6

-- # a-row-whose-key-was-changed-takes-its-children-and-its-unique-value-along-to-other-files
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.users(name TEXT PRIMARY KEY NOT NULL, email TEXT UNIQUE, points INTEGER NOT NULL DEFAULT 0);
CREATE TABLE main.posts(id INT PRIMARY KEY NOT NULL, author TEXT NOT NULL REFERENCES users ON UPDATE CASCADE ON DELETE CASCADE);
CREATE TABLE office.users(name TEXT PRIMARY KEY NOT NULL, email TEXT UNIQUE, points INTEGER NOT NULL DEFAULT 0);
CREATE TABLE office.posts(id INT PRIMARY KEY NOT NULL, author TEXT NOT NULL REFERENCES users ON UPDATE CASCADE ON DELETE CASCADE);
SELECT counter_replicate('main.users', 'points');
--= 0
SELECT counter_replicate('main.posts');
--= 0
SELECT counter_replicate('office.users', 'points');
--= 0
SELECT counter_replicate('office.posts');
--= 0
INSERT INTO main.users VALUES ('ann', 'ann@x', 3), ('bob', 'bob@x', 4);
INSERT INTO main.posts VALUES (1, 'ann'), (2, 'bob'), (3, 'ann');
SELECT sum(rows_changed) FROM counter_sync('office');
--= 5
UPDATE main.users SET name = 'anna' WHERE name = 'ann';
SELECT count(note) FROM counter_sync('office');
--= 0
SELECT * FROM office.users ORDER BY name;
--= anna|ann@x|3
--= bob|bob@x|4
SELECT * FROM office.posts ORDER BY id;
--= 1|anna
--= 2|bob
--= 3|anna
PRAGMA defer_foreign_keys;
--= 0
UPDATE office.users SET name = 'ann' WHERE name = 'anna';
BEGIN;
PRAGMA defer_foreign_keys = ON;
SELECT count(note) FROM counter_pull('office');
--= 0
PRAGMA defer_foreign_keys;
--= 1
COMMIT;
SELECT * FROM main.posts ORDER BY id;
--= 1|ann
--= 2|bob
--= 3|ann

-- # a-row-that-was-made-anew-with-the-children-and-the-name-of-a-deleted-one-arrives
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.kinds(id INT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE);
CREATE TABLE main.items(id INT PRIMARY KEY NOT NULL, kind INTEGER NOT NULL REFERENCES kinds, title TEXT);
CREATE TABLE office.kinds(id INT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE);
CREATE TABLE office.items(id INT PRIMARY KEY NOT NULL, kind INTEGER NOT NULL REFERENCES kinds ON DELETE RESTRICT, title TEXT);
SELECT counter_replicate('main.kinds');
--= 0
SELECT counter_replicate('main.items');
--= 0
SELECT counter_replicate('office.kinds');
--= 0
SELECT counter_replicate('office.items');
--= 0
INSERT INTO main.kinds VALUES (1, 'Food');
INSERT INTO main.items VALUES (1, 1, 'Tea'), (2, 1, 'Jam');
SELECT sum(rows_changed) FROM counter_sync('office');
--= 3
INSERT INTO main.kinds VALUES (2, 'Food 2');
UPDATE main.items SET kind = 2;
DELETE FROM main.kinds WHERE id = 1;
UPDATE main.kinds SET name = 'Food';
SELECT count(note) FROM counter_sync('office');
--= 0
SELECT * FROM office.kinds, office.items ORDER BY 3;
--= 2|Food|1|2|Tea
--= 2|Food|2|2|Jam

-- # rows-that-refer-to-each-other-by-columns-that-may-not-be-null-arrive
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.person(id INT PRIMARY KEY NOT NULL, partner INTEGER NOT NULL REFERENCES person, name TEXT);
CREATE TABLE office.person(id INT PRIMARY KEY NOT NULL, partner INTEGER NOT NULL REFERENCES person, name TEXT);
SELECT counter_replicate('main.person');
--= 0
SELECT counter_replicate('office.person');
--= 0
BEGIN;
PRAGMA defer_foreign_keys = ON;
INSERT INTO main.person VALUES (1, 2, 'ann'), (2, 1, 'bob');
COMMIT;
SELECT rows_changed, note FROM counter_sync('office');
--= 2|NULL
SELECT * FROM office.person ORDER BY id;
--= 1|2|ann
--= 2|1|bob
DELETE FROM office.person;
SELECT rows_changed, note FROM counter_sync('office');
--= 2|NULL
SELECT count(*) FROM main.person;
--= 0

-- # a-child-that-shows-another-value-and-still-refers-to-a-row-that-has-ended-keeps-it
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY NOT NULL, name TEXT);
CREATE TABLE main.c(k TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES p ON DELETE CASCADE, name TEXT CHECK (length(name) < 4));
CREATE TABLE office.p(k TEXT PRIMARY KEY NOT NULL, name TEXT);
CREATE TABLE office.c(k TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES p ON DELETE CASCADE, name TEXT);
SELECT counter_replicate('main.p');
--= 0
SELECT counter_replicate('main.c');
--= 0
SELECT counter_replicate('office.p');
--= 0
SELECT counter_replicate('office.c');
--= 0
INSERT INTO main.p VALUES ('p', 'P');
INSERT INTO main.c VALUES ('c', 'p', 'one');
SELECT sum(rows_changed) FROM counter_sync('office');
--= 2
UPDATE office.c SET name = 'much longer';
DELETE FROM office.p;
PRAGMA foreign_keys = ON;
SELECT note IS NULL FROM counter_pull('office') ORDER BY table_name;
--= 0
--= 0
SELECT * FROM main.c;
--= c|p|one
SELECT * FROM main.p;
--= p|P

-- # a-row-that-is-taken-out-of-a-list-whose-links-are-unique-is-gone-in-other-files-too
PRAGMA foreign_keys = ON;
ATTACH 'office.db' AS office;
CREATE TABLE main.item(id TEXT PRIMARY KEY NOT NULL, next TEXT UNIQUE REFERENCES item(id));
CREATE TABLE office.item(id TEXT PRIMARY KEY NOT NULL, next TEXT UNIQUE REFERENCES item(id));
SELECT counter_replicate('main.item');
--= 0
SELECT counter_replicate('office.item');
--= 0
INSERT INTO main.item VALUES ('c', NULL), ('b', 'c'), ('a', 'b');
SELECT rows_changed FROM counter_sync('office');
--= 3
BEGIN;
UPDATE main.item SET next = NULL WHERE id = 'b';
UPDATE main.item SET next = 'c' WHERE id = 'a';
DELETE FROM main.item WHERE id = 'b';
COMMIT;
SELECT note FROM counter_sync('office');
--= NULL
SELECT * FROM office.item ORDER BY id;
--= a|c
--= c|NULL
