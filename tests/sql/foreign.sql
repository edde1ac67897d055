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
CREATE TABLE fed.first AS SELECT table_name, key, column_name, generation, cell, seq, source FROM counter_changes(0);
UPDATE item SET cat = 'new', n = 4;
DELETE FROM category WHERE id = 'old';
UPDATE item SET name = 'Plum jam';
CREATE TABLE fed.second AS SELECT table_name, key, column_name, generation, cell, seq, source FROM counter_changes(0);
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
INSERT INTO counter_changes(table_name, key, column_name, generation, cell, seq, source) SELECT * FROM fed.first;
SELECT table_name, row_key, column_name, state, merged FROM counter_tracked WHERE row_key NOT NULL ORDER BY 1, 2, 3;
--= item|('jam')|cat|waits|old
--= item|('jam')|n|waits|3
--= item|('jam')|name|waits|Jam
SELECT (SELECT count(*) FROM item), (SELECT count(*) FROM category);
--= 0|0
SELECT counter_seen('7529cd67-394b-3247-8020-f2a7272fc8d9', 0, 1);
--= 1
SELECT * FROM item;
--= jam|old|Jam|3
INSERT INTO counter_changes(table_name, key, column_name, generation, cell, seq, source) SELECT * FROM fed.second;
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
--= ('x')|m|NULL|NULL|FOREIGN KEY constraint failed
--= ('x')|n|12|NULL|FOREIGN KEY constraint failed
--= ('y')|m|4|NULL|FOREIGN KEY constraint failed
--= ('y')|n|3|NULL|FOREIGN KEY constraint failed
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
