-- Existing applications: what counter_plan says of each table, and counter_replicate_all.

-- # the-plan-of-a-table-says-how-its-rows-are-known-in-other-files
CREATE TABLE orders(id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT);
CREATE TABLE reused(id INTEGER PRIMARY KEY, item TEXT);
CREATE TABLE details(order_id INTEGER PRIMARY KEY REFERENCES orders(id), more TEXT);
CREATE TABLE named(k TEXT, b TEXT, v, PRIMARY KEY (b, k));
CREATE TABLE inside(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE numbered(n INT PRIMARY KEY, v);
SELECT * FROM counter_plan;
--= details|replicate|order_id|its key order_id is that of its row of orders|counter_replicate('details', 'keys=assigned')
--= inside|replicate|k|its key is (k)|counter_replicate('inside')
--= named|replicate|b, k|its key is (b, k)|counter_replicate('named')
--= numbered|replicate|n|its key is (n)|counter_replicate('numbered')
--= numbered|key values|n|the application gives out its numbers: two rows that got one number in two files become one row|let SQLite give them out, by INTEGER PRIMARY KEY AUTOINCREMENT, or use UUIDs
--= orders|replicate|id|SQLite gives out the key id|counter_replicate('orders', 'keys=spread')
--= reused|autoincrement|id|SQLite gives out the key id, and without AUTOINCREMENT a number again whose row was deleted|sqlite-counter adopt writes AUTOINCREMENT into its declaration
SELECT declaration FROM counter_plan WHERE declaration IS NOT NULL;
--= CREATE TABLE reused(id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT)

-- # a-table-without-a-key-gets-one-of-its-pair-or-of-its-unique-index
CREATE TABLE posts(id TEXT PRIMARY KEY);
CREATE TABLE posts_tags(post_id TEXT, tag TEXT COLLATE NOCASE);
INSERT INTO posts_tags VALUES ('p', 'a'), ('p', 'b');
CREATE TABLE members(team_id INT, at TEXT, user_id INT, CHECK (team_id <> user_id /* , ) */));
INSERT INTO members VALUES (1, 'now', 2);
CREATE TABLE settings(name TEXT NOT NULL, value, UNIQUE (name));
CREATE TABLE weights(a INT NOT NULL, b INT NOT NULL, c);
CREATE UNIQUE INDEX weights_once ON weights(b, a);
SELECT table_name, kind, column_name, finding, remedy, declaration, key_index FROM counter_plan WHERE kind = 'key';
--= members|key|team_id, user_id|it has no PRIMARY KEY, and no two rows are equal in team_id, user_id|sqlite-counter adopt makes (team_id, user_id) its key|CREATE TABLE members(team_id INT, at TEXT, user_id INT, CHECK (team_id <> user_id /* , ) */), PRIMARY KEY ("team_id", "user_id"))|"team_id", "user_id"
--= posts_tags|key|post_id, tag|it has no PRIMARY KEY, and no two rows are equal in post_id, tag|sqlite-counter adopt makes (post_id, tag) its key|CREATE TABLE posts_tags(post_id TEXT, tag TEXT COLLATE NOCASE, PRIMARY KEY ("post_id", "tag"))|"post_id", "tag"
--= settings|key|name|it has no PRIMARY KEY, and no two rows are equal in name|sqlite-counter adopt makes (name) its key|CREATE TABLE settings(name TEXT NOT NULL, value, UNIQUE (name), PRIMARY KEY ("name"))|NULL
--= weights|key|b, a|it has no PRIMARY KEY, and no two rows are equal in b, a|sqlite-counter adopt makes (b, a) its key|CREATE TABLE weights(a INT NOT NULL, b INT NOT NULL, c, PRIMARY KEY ("b", "a"))|"b", "a"

-- # a-table-without-a-key-is-refused-if-nothing-identifies-its-rows
CREATE TABLE a(x, y, z);
CREATE TABLE b(x, y);
INSERT INTO b VALUES (1, 2), (1, 2);
CREATE TABLE c(x, y);
INSERT INTO c VALUES (1, NULL);
CREATE TABLE d(x NOT NULL, y, z);
CREATE UNIQUE INDEX d_some ON d(x) WHERE y;
CREATE UNIQUE INDEX d_computed ON d(x || y);
SELECT table_name, kind, finding, remedy FROM counter_plan WHERE kind = 'refused';
--= a|refused|it has no PRIMARY KEY, which identifies rows in all files|give it a key, or leave it at home
--= b|refused|it has no PRIMARY KEY, and rows that are equal in x, y|make these rows differ, or leave it at home
--= c|refused|it has no PRIMARY KEY, and NULL in x, y|give it a key, or leave it at home
--= d|refused|it has no PRIMARY KEY, which identifies rows in all files|give it a key, or leave it at home

-- # a-key-is-made-of-columns-that-sqlite-would-take-as-the-index-does
CREATE TABLE a(n INTEGER NOT NULL UNIQUE, v);
CREATE TABLE b(n INTEGER NOT NULL, k TEXT NOT NULL UNIQUE, v);
CREATE UNIQUE INDEX b_n ON b(n);
CREATE TABLE c(k TEXT NOT NULL UNIQUE, v);
CREATE UNIQUE INDEX c_once_more ON c(k);
CREATE TABLE d(k TEXT NOT NULL COLLATE NOCASE, v, UNIQUE (k COLLATE BINARY));
CREATE TABLE e(k TEXT NOT NULL, v, UNIQUE (k COLLATE NOCASE));
CREATE TABLE f(x_id INT, y_id INT, UNIQUE (x_id, y_id));
CREATE TABLE g(x_id INT, y_id AS (x_id));
CREATE TABLE h(_id TEXT NOT NULL UNIQUE, v);
CREATE TABLE i(n INT NOT NULL UNIQUE, v);
SELECT table_name, kind, finding, remedy, key_index FROM counter_plan WHERE kind <> 'unique';
--= a|refused|it has no PRIMARY KEY, and as one the INTEGER n would replace the row ids|create it anew with a PRIMARY KEY, or leave it at home|NULL
--= b|key|it has no PRIMARY KEY, and no two rows are equal in k|sqlite-counter adopt makes (k) its key|NULL
--= c|key|it has no PRIMARY KEY, and no two rows are equal in k|sqlite-counter adopt makes (k) its key|NULL
--= d|refused|it has no PRIMARY KEY, and its UNIQUE index compares k by BINARY, the column itself by NOCASE|create it anew with a PRIMARY KEY, or leave it at home|NULL
--= e|key|it has no PRIMARY KEY, and no two rows are equal in k|sqlite-counter adopt makes (k) its key|"k"
--= f|key|it has no PRIMARY KEY, and no two rows are equal in x_id, y_id|sqlite-counter adopt makes (x_id, y_id) its key|NULL
--= g|refused|it has no PRIMARY KEY, which identifies rows in all files|give it a key, or leave it at home|NULL
--= h|refused|the column name _id is reserved|rename the column, here and in the other files, or leave it at home|NULL
--= i|key|it has no PRIMARY KEY, and no two rows are equal in n|sqlite-counter adopt makes (n) its key|NULL
--= i|key values|the application gives out its numbers: two rows that got one number in two files become one row|let SQLite give them out, by INTEGER PRIMARY KEY AUTOINCREMENT, or use UUIDs|NULL

-- # a-key-that-counter-replicate-refuses-is-refused-by-the-plan
CREATE TABLE a(k TEXT PRIMARY KEY, v);
INSERT INTO a VALUES (NULL, 1);
CREATE TABLE b(id INTEGER PRIMARY KEY);
INSERT INTO b VALUES (9007199254740992);
CREATE TABLE c(id INTEGER PRIMARY KEY AUTOINCREMENT);
INSERT INTO c VALUES (9007199254740992);
CREATE TABLE d(k TEXT PRIMARY KEY);
CREATE VIEW d_counters AS SELECT 1;
CREATE TABLE e(k "a'b" PRIMARY KEY);
CREATE TABLE f(_seq INTEGER PRIMARY KEY);
CREATE TABLE g(k TEXT PRIMARY KEY);
CREATE TRIGGER g_counters_insert AFTER INSERT ON g BEGIN SELECT 1; END;
SELECT table_name, kind, column_name, finding, remedy FROM counter_plan WHERE kind = 'refused';
--= a|refused|k|it has rows with NULL in the key k|give these rows a key, or leave it at home
--= b|refused|id|it has the key 9007199254740992, and files give out keys below 2^53|give its rows smaller keys, or leave it at home
--= c|refused|id|it has the key 9007199254740992, and files give out keys below 2^53|give its rows smaller keys, or call counter_replicate('c', 'keys=spread 63'), whose keys JavaScript rounds, or leave it at home
--= d|refused|k|another table has the name d_counters|rename that table, or leave it at home
--= e|refused|k|the type of the key column k must be plain words, not a'b|change its declaration, or leave it at home
--= f|refused|_seq|the column name _seq is reserved|rename the column, here and in the other files, or leave it at home
--= g|refused|k|there is another trigger g_counters_insert, on g|create it under another name, or leave it at home

-- # tables-that-belong-to-one-file-stay-at-home
CREATE TABLE django_migrations(id INTEGER PRIMARY KEY AUTOINCREMENT, app TEXT);
CREATE TABLE SCHEMA_MIGRATIONS(version TEXT PRIMARY KEY);
CREATE TABLE _prisma_migrations(id TEXT PRIMARY KEY);
CREATE TABLE migrations(id INTEGER PRIMARY KEY, migration TEXT, batch INT);
CREATE TABLE sessions(id TEXT PRIMARY KEY, payload TEXT);
CREATE TABLE jobs(id INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT, payload TEXT);
CREATE TABLE solid_queue_jobs(id INTEGER PRIMARY KEY AUTOINCREMENT, x);
CREATE TABLE _merge_numbers(table_name, theirs, row, PRIMARY KEY (table_name, theirs, row));
SELECT table_name, kind, finding, remedy FROM counter_plan;
--= _merge_numbers|home|sqlite-counter merge notes in it what this file has merged|NULL
--= _prisma_migrations|home|it says which migrations ran in this file: if its rows travelled, another file would believe that they ran there|NULL
--= _prisma_migrations|clients|Prisma up to version 6, and int in EF Core, read whole numbers of 31 bits, and keys that several files give out are larger|declare keys as BigInt in Prisma, as long in EF Core
--= django_migrations|home|it says which migrations ran in this file: if its rows travelled, another file would believe that they ran there|NULL
--= jobs|home|sessions, caches and queues belong to one machine|NULL
--= migrations|home|it says which migrations ran in this file: if its rows travelled, another file would believe that they ran there|NULL
--= SCHEMA_MIGRATIONS|home|it says which migrations ran in this file: if its rows travelled, another file would believe that they ran there|NULL
--= sessions|home|sessions, caches and queues belong to one machine|NULL
--= solid_queue_jobs|home|sessions, caches and queues belong to one machine|NULL

-- # a-session-of-a-conference-and-a-job-that-is-offered-travel
CREATE TABLE sessions(id TEXT PRIMARY KEY, speaker TEXT, room TEXT);
CREATE TABLE jobs(id TEXT PRIMARY KEY, title TEXT, salary INT);
CREATE TABLE migrations(id TEXT PRIMARY KEY, species TEXT);
SELECT table_name, kind FROM counter_plan;
--= jobs|replicate
--= migrations|replicate
--= sessions|replicate

-- # rows-that-each-file-makes-by-a-migration-are-told
CREATE TABLE django_content_type(id INTEGER PRIMARY KEY AUTOINCREMENT, app TEXT);
SELECT kind, finding, remedy FROM counter_plan WHERE kind = 'each file';
--= each file|a migration makes rows in each file where it runs, under keys of its own|run the migration in one file, merge, and run it in the others then

-- # foreign-keys-to-tables-that-stay-are-told-and-those-of-tables-that-stay
CREATE TABLE users(id TEXT PRIMARY KEY);
CREATE TABLE solid_queue_jobs(id INTEGER PRIMARY KEY, user_id TEXT REFERENCES users(id));
CREATE TABLE solid_queue_more(id INTEGER PRIMARY KEY, user_id TEXT REFERENCES users(id) ON DELETE CASCADE);
CREATE TABLE runs(id TEXT PRIMARY KEY, job INT REFERENCES solid_queue_jobs(id), lost TEXT REFERENCES nowhere(k));
SELECT table_name, column_name, finding, remedy FROM counter_plan WHERE kind = 'foreign key';
--= runs|lost|it refers to nowhere, which is missing|create nowhere, or leave this table at home
--= runs|job|it refers to solid_queue_jobs, whose rows do not travel: rows of other files may have no parent here|replicate solid_queue_jobs, too, or leave both at home
--= solid_queue_jobs|user_id|it refers to users, whose rows travel: a row that another file deletes stays here while one of this table refers to it|declare ON DELETE CASCADE or SET NULL, or delete these rows, too

-- # columns-that-look-like-references-are-told
CREATE TABLE users(id TEXT PRIMARY KEY, user_id TEXT);
CREATE TABLE boxes(id TEXT PRIMARY KEY, box_id TEXT);
CREATE TABLE categories(id TEXT PRIMARY KEY);
CREATE TABLE schema_migrations(version TEXT PRIMARY KEY);
CREATE TABLE things(id TEXT PRIMARY KEY, user_id TEXT, userId TEXT, category_id TEXT, boxID TEXT, schema_migrations_id TEXT,
  paid TEXT, valid TEXT, nothing_id TEXT, real_id TEXT REFERENCES users(id));
SELECT column_name, finding, remedy FROM counter_plan WHERE kind = 'reference';
--= user_id|it seems to refer to users, and declares no foreign key: a merge shows a row without waiting for its parent|declare the foreign key, if it is one
--= userId|it seems to refer to users, and declares no foreign key: a merge shows a row without waiting for its parent|declare the foreign key, if it is one
--= category_id|it seems to refer to categories, and declares no foreign key: a merge shows a row without waiting for its parent|declare the foreign key, if it is one
--= boxID|it seems to refer to boxes, and declares no foreign key: a merge shows a row without waiting for its parent|declare the foreign key, if it is one
--= schema_migrations_id|it seems to refer to schema_migrations, whose rows do not travel: in another file it may mean another row|replicate schema_migrations, too, or leave both at home

-- # triggers-that-write-other-rows-are-told-unless-they-ask-whether-a-merge-writes
CREATE TABLE a(id TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m, at TEXT);
CREATE TABLE audit(id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT);
CREATE TABLE totals(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m INTEGER, o INTEGER);
INSERT INTO totals VALUES ('x', 7, 7, 7);
CREATE TABLE sessions(id TEXT PRIMARY KEY, data TEXT);
CREATE TRIGGER writes AFTER INSERT ON a BEGIN INSERT OR IGNORE INTO audit(what) VALUES ('x'); INSERT INTO sessions VALUES (1, 2); END;
CREATE TRIGGER "odd name" AFTER INSERT ON a BEGIN REPLACE INTO "audit"(what) SELECT 'INTO totals'; END;
CREATE TRIGGER adds AFTER INSERT ON a BEGIN UPDATE totals SET n = n + 1, m = ifnull(m, 0) - 1 WHERE k = NEW.id; END;
CREATE TRIGGER sets AFTER UPDATE ON a BEGIN UPDATE OR IGNORE totals SET o = (SELECT count(*) FROM a) WHERE k = NEW.id; END;
CREATE TRIGGER pairs AFTER UPDATE ON a BEGIN UPDATE totals SET (m, o) = (SELECT 1, 2) WHERE k = NEW.id; END;
CREATE TRIGGER removes AFTER DELETE ON a BEGIN DELETE FROM totals WHERE k = OLD.id; END;
CREATE TRIGGER touches AFTER UPDATE OF n ON a BEGIN UPDATE a SET at = 'now' WHERE id = NEW.id; END;
CREATE TRIGGER trims AFTER INSERT ON a BEGIN DELETE FROM a WHERE id < NEW.id; END;
CREATE TRIGGER at_home AFTER INSERT ON sessions BEGIN INSERT INTO audit(what) VALUES ('x'); END;
CREATE TRIGGER asks AFTER INSERT ON totals WHEN NOT counter_merging() BEGIN INSERT INTO audit(what) VALUES ('x'); END;
SELECT table_name, column_name, finding, remedy FROM counter_plan WHERE kind = 'trigger';
--= a|m|adds keeps a total in totals.m, which is right in all files only as a counter|name it as a counter, 'totals.m'
--= a|NULL|odd name inserts into audit: each file that merges a change adds a row of its own|give it the condition WHEN NOT counter_merging(), or leave audit at home
--= a|NULL|pairs writes rows of totals: each file that merges a change does so once more, later than all others|give it the condition WHEN NOT counter_merging(), or leave totals at home
--= a|NULL|removes deletes rows of totals: each file that merges a change does so once more, later than all others|give it the condition WHEN NOT counter_merging(), or leave totals at home
--= a|NULL|sets writes rows of totals: each file that merges a change does so once more, later than all others|give it the condition WHEN NOT counter_merging(), or leave totals at home
--= a|NULL|touches writes rows of its own table: what it writes when a change is merged may differ from file to file, as the time does|give it the condition WHEN NOT counter_merging()
--= a|NULL|writes inserts into audit: each file that merges a change adds a row of its own|give it the condition WHEN NOT counter_merging(), or leave audit at home
SELECT table_name, column_name, finding FROM counter_plan WHERE kind = 'counter';
--= totals|n|a trigger adds to it, and the sum is right in all files only as a counter

-- # unique-columns-beside-the-key-are-told
CREATE TABLE u(k TEXT PRIMARY KEY, mail TEXT UNIQUE, a, b, UNIQUE (b, a));
CREATE UNIQUE INDEX u_lower ON u(lower(mail), a);
SELECT column_name, finding, remedy FROM counter_plan WHERE kind = 'unique' ORDER BY 1;
--= an expression, a|two files may give one value to different rows: one of these waits then in each file|change or delete one of the two rows after the merge: counter_tracked lists those that wait
--= b, a|two files may give one value to different rows: one of these waits then in each file|change or delete one of the two rows after the merge: counter_tracked lists those that wait
--= mail|two files may give one value to different rows: one of these waits then in each file|change or delete one of the two rows after the merge: counter_tracked lists those that wait

-- # counters-are-proposed-by-their-declaration-name-and-values
CREATE TABLE p(k TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0, likes_count BIGINT NOT NULL DEFAULT 0, playCount INT NOT NULL DEFAULT 0,
  views INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0, year_count INTEGER NOT NULL DEFAULT 0,
  discount INTEGER NOT NULL DEFAULT 0, votes INTEGER NOT NULL, hits INTEGER DEFAULT 0, sold TEXT NOT NULL DEFAULT 0,
  total INTEGER NOT NULL DEFAULT 0 UNIQUE, points INTEGER NOT NULL DEFAULT 0 REFERENCES p(total), clicks INTEGER NOT NULL DEFAULT 1);
INSERT INTO p VALUES ('a', 5, 5, 5, 1, 5, 5, 5, 5, 5, '5', 5, 5, 5), ('b', 5, 5, 5, 0, 5, 5, 5, 5, 5, '5', 6, 6, 5);
SELECT column_name, finding, remedy FROM counter_plan WHERE kind = 'counter';
--= stock|it looks like a number that is counted|name it as a counter, 'p.stock', if changes made apart are to add up: else the last write wins
--= likes_count|it looks like a number that is counted|name it as a counter, 'p.likes_count', if changes made apart are to add up: else the last write wins
--= playCount|it looks like a number that is counted|name it as a counter, 'p.playCount', if changes made apart are to add up: else the last write wins
--= votes|it looks like a number that is counted|name it as a counter, 'p.votes', if changes made apart are to add up: else the last write wins

-- # a-table-that-counts-already-has-nothing-to-do
CREATE TABLE replicated(k TEXT PRIMARY KEY, v);
CREATE TABLE tracked(k TEXT PRIMARY KEY, n INTEGER);
CREATE VIRTUAL TABLE views USING counter(path TEXT PRIMARY KEY, hits COUNTER);
SELECT counter_replicate('replicated');
--= 0
SELECT counter_track('tracked', 'n');
--= 0
SELECT * FROM counter_plan;
--= replicated|done|k|it is replicated|NULL
--= tracked|done|k|its counters are tracked, and merge|NULL
--= views|done|NULL|it is a counter table, and merges|NULL
SELECT counter_replicate_all();
--= 0

-- # clients-of-31-bits-are-told
CREATE TABLE __EFMigrationsHistory(MigrationId TEXT PRIMARY KEY);
SELECT kind, finding, remedy FROM counter_plan;
--= home|it says which migrations ran in this file: if its rows travelled, another file would believe that they ran there|NULL
--= clients|Prisma up to version 6, and int in EF Core, read whole numbers of 31 bits, and keys that several files give out are larger|declare keys as BigInt in Prisma, as long in EF Core

-- # numbers-that-the-application-gives-out-are-told
CREATE TABLE a(n INT PRIMARY KEY);
CREATE TABLE b(n INTEGER PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE c(n BIGINT PRIMARY KEY REFERENCES a(n));
SELECT table_name, column_name, finding, remedy FROM counter_plan WHERE kind = 'key values';
--= a|n|the application gives out its numbers: two rows that got one number in two files become one row|let SQLite give them out, by INTEGER PRIMARY KEY AUTOINCREMENT, or use UUIDs
--= b|n|the application gives out its numbers: two rows that got one number in two files become one row|let SQLite give them out, by INTEGER PRIMARY KEY AUTOINCREMENT, or use UUIDs

-- # the-plan-of-an-attached-file-and-of-none
ATTACH 'phone.db' AS phone;
CREATE TABLE phone.t(k TEXT PRIMARY KEY);
CREATE TABLE main.u(k TEXT PRIMARY KEY);
SELECT table_name, kind FROM counter_plan('phone');
--= t|replicate
SELECT table_name, kind FROM counter_plan;
--= u|replicate
SELECT * FROM counter_plan('tablet');
--! counter_plan: no attached database has the name 'tablet'
SELECT * FROM counter_plan(1);
--! counter_plan: the name of a database must be TEXT, not INTEGER 1
SELECT * FROM phone.counter_plan;
--! counter_plan: it belongs to main and cannot be named under the schema phone: open that file as main

-- # the-plan-changes-nothing-and-needs-no-lock
CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, v);
--@ connection other
BEGIN IMMEDIATE;
--@ connection main
SELECT count(*) FROM counter_plan;
--= 1
SELECT name FROM sqlite_master;
--= t
--= sqlite_sequence

-- # all-tables-are-replicated-by-one-call
CREATE TABLE products(id INTEGER PRIMARY KEY AUTOINCREMENT, stock INTEGER NOT NULL DEFAULT 0, sold INTEGER NOT NULL DEFAULT 0);
CREATE TABLE lines(order_id TEXT, product INTEGER REFERENCES products(id), PRIMARY KEY (order_id, product)) WITHOUT ROWID;
CREATE TABLE "odd.name"(k TEXT PRIMARY KEY, "a.b" INTEGER);
CREATE TABLE logs(id INTEGER PRIMARY KEY, what TEXT);
CREATE TABLE schema_migrations(version TEXT PRIMARY KEY);
INSERT INTO products(stock) VALUES (5), (6);
SELECT counter_replicate_all('products.stock', 'odd.name.a.b', 'leave=logs');
--= 3
SELECT table_name, column_name, state FROM counter_tracked WHERE state <> 'spread' ORDER BY 1, 2;
--= lines|NULL|regular
--= odd.name|a.b|tracked
--= products|sold|regular
--= products|stock|tracked
SELECT counter_replicate_all('products.stock', 'leave=logs');
--= 0
SELECT counter_replicate_all('PRODUCTS.Stock', 'leave=LOGS');
--= 0
SELECT counter_replicate_all('products.sold', 'leave=logs');
--= 1
SELECT column_name, state FROM counter_tracked WHERE table_name = 'products' AND state <> 'spread';
--= stock|tracked
--= sold|tracked
CREATE TABLE more(k TEXT PRIMARY KEY);
SELECT counter_replicate_all('leave=logs');
--= 1

-- # a-table-that-cannot-be-replicated-is-named-and-nothing-is-changed
CREATE TABLE a(k TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE b(id INTEGER PRIMARY KEY);
CREATE TABLE c(x, y, z);
CREATE TABLE d(x_id, y_id);
SELECT counter_replicate_all();
--! counter_replicate_all: b: SQLite gives out the key id, and without AUTOINCREMENT a number again whose row was deleted: sqlite-counter adopt writes AUTOINCREMENT into its declaration; 'leave=b' leaves it at home
SELECT counter_replicate_all('leave=b');
--! counter_replicate_all: c: it has no PRIMARY KEY, which identifies rows in all files: give it a key; 'leave=c' leaves it at home
SELECT counter_replicate_all('leave=b', 'leave=c');
--! counter_replicate_all: d: it has no PRIMARY KEY, and no two rows are equal in x_id, y_id: sqlite-counter adopt makes (x_id, y_id) its key; 'leave=d' leaves it at home
SELECT counter_replicate_all('leave=b', 'leave=c', 'leave=d', 'leave=e');
--! counter_replicate_all: leave=e: there is no such table
SELECT counter_replicate_all('leave=b', 'leave=c', 'leave=d', 'a.m');
--! counter_replicate_all: a: there is no column 'm'
SELECT counter_replicate_all('leave=b', 'leave=c', 'leave=d', 'e.m');
--! counter_replicate_all: there is no table for the counter 'e.m'
SELECT counter_replicate_all('leave=b', 'leave=c', 'leave=d', 'n');
--! counter_replicate_all: a counter must be a table and a column, such as 'products.stock', not 'n'
SELECT counter_replicate_all('leave=b', 'leave=c', 'leave=d', 'a.n', 'c.x');
--! counter_replicate_all: c: it is left, so x cannot count
SELECT counter_replicate_all('leave=b', 'leave=c', 'leave=d', 'a.k');
--! counter_replicate_all: a: column k is part of the key and cannot be tracked
SELECT counter_replicate_all('leave=b', 'leave=c', 'leave=d', 7);
--! counter_replicate_all: a counter or an option must be TEXT, not INTEGER 7
SELECT counter_replicate_all(NULL);
--! counter_replicate_all: a counter or an option must be TEXT, not NULL
INSERT INTO a VALUES ('x', 1.5);
SELECT counter_replicate_all('leave=b', 'leave=c', 'leave=d', 'a.n');
--! counter_replicate_all: a: row ('x'): column n: a tracked column takes an INTEGER, not REAL 1.5
SELECT count(*) FROM sqlite_master WHERE name LIKE '%counter%';
--= 0

-- # a-counter-of-a-table-that-stays-at-home-is-refused
CREATE TABLE sessions(id TEXT PRIMARY KEY, data INTEGER);
CREATE TABLE tracked(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);
SELECT counter_track('tracked', 'n');
--= 0
SELECT counter_replicate_all('sessions.data');
--! counter_replicate_all: sessions: its rows do not travel, so data cannot count
SELECT counter_replicate_all('tracked.n');
--= 0
SELECT counter_replicate_all('tracked.m');
--! counter_replicate_all: tracked: it is not replicated, but tracked: counter_track('tracked', 'm') makes m a counter

-- # a-call-within-a-transaction-is-undone-with-it
CREATE TABLE a(k TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE b(id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER);
INSERT INTO b(n) VALUES (7);
BEGIN;
INSERT INTO a VALUES ('x', 5);
SELECT counter_replicate_all('a.n'), last_insert_rowid();
--= 2|1
UPDATE a SET n = n + 1;
ROLLBACK;
SELECT count(*) FROM sqlite_master WHERE name LIKE '%counter%';
--= 0
SELECT counter_replicate_all('a.n', 'b.n');
--= 2
INSERT INTO a VALUES ('x', 5);
SELECT * FROM a_counters;
--= x|5

-- # no-view-and-no-trigger-replicates-all-tables
CREATE TABLE a(k TEXT PRIMARY KEY, n INTEGER);
CREATE VIEW v AS SELECT counter_replicate_all();
SELECT * FROM v;
--! unsafe use of counter_replicate_all()
CREATE VIEW w AS SELECT table_name, kind FROM counter_plan;
SELECT * FROM w;
--= a|replicate

-- # tables-of-a-server-are-not-of-the-application-and-a-reserved-name-is-refused
CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
CREATE TABLE a(k TEXT PRIMARY KEY);
SELECT table_name, kind FROM counter_plan;
--= a|replicate
SELECT counter_replicate_all();
--= 1
CREATE TABLE counter_tops(k TEXT PRIMARY KEY);
SELECT table_name, kind, finding, remedy FROM counter_plan WHERE kind <> 'done';
--= counter_tops|refused|names that begin with counter_ are reserved|rename it, or leave it at home
SELECT counter_replicate_all();
--! counter_replicate_all: counter_tops: names that begin with counter_ are reserved: rename it; 'leave=counter_tops' leaves it at home
SELECT counter_replicate_all('leave=counter_tops');
--= 0

-- # a-table-that-was-renamed-and-built-anew-keeps-its-keys-and-is-no-other-table
CREATE TABLE orders(id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('orders', 'n', 'keys=assigned');
--= 0
ALTER TABLE orders RENAME TO purchases;
SELECT counter_replicate('purchases');
--= 0
CREATE TABLE fresh(id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL DEFAULT 0);
DROP TABLE purchases;
ALTER TABLE fresh RENAME TO purchases;
SELECT table_name, kind, finding, remedy FROM counter_plan WHERE kind = 'replicate';
--= purchases|replicate|it is replicated, and its triggers are missing|counter_replicate('purchases')
SELECT counter_replicate_all();
--= 1
SELECT table_name, column_name, state FROM counter_tracked;
--= purchases|n|tracked

-- # a-table-that-a-migration-has-built-anew-is-replicated-again
CREATE TABLE a(id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0);
INSERT INTO a(n) VALUES (7);
SELECT counter_replicate_all('a.n', 'leave=t');
--= 1
SELECT counter_track('t', 'n');
--= 0
CREATE TABLE fresh(id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL DEFAULT 0, more TEXT);
INSERT INTO fresh(id, n) SELECT id, n FROM a;
DROP TABLE a;
ALTER TABLE fresh RENAME TO a;
SELECT table_name, kind, column_name, finding, remedy FROM counter_plan WHERE kind = 'replicate';
--= a|replicate|id|it is replicated, and its triggers are missing|counter_replicate('a')
SELECT counter_replicate_all('a.n');
--= 1
SELECT column_name, state FROM counter_tracked WHERE table_name = 'a' ORDER BY 1;
--= id|spread
--= more|regular
--= n|tracked
SELECT counter_replicate_all('a.n');
--= 0
CREATE TABLE new_t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0);
DROP TABLE t;
ALTER TABLE new_t RENAME TO t;
SELECT counter_replicate_all('a.n');
--! counter_replicate_all: t: its counters are tracked, and its triggers are missing: call counter_track('t'), which makes them again; 'leave=t' leaves it at home

-- # a-table-with-spread-keys-that-a-migration-has-built-anew-without-autoincrement-is-refused-in-every-way
CREATE TABLE p(id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT, n INTEGER NOT NULL DEFAULT 0, more TEXT);
INSERT INTO p(t) VALUES ('old');
SELECT counter_replicate_all('p.n');
--= 1
SELECT counter_untrack('p', 'more');
--= 1
CREATE TABLE new_p("id" integer NOT NULL PRIMARY KEY, t TEXT NOT NULL DEFAULT '', n INTEGER NOT NULL DEFAULT 0, more TEXT);
INSERT INTO new_p SELECT * FROM p;
DROP TABLE p;
ALTER TABLE new_p RENAME TO p;
SELECT counter_replicate('p');
--! counter_replicate: p: its keys are spread, and its declaration has lost AUTOINCREMENT, so two files would give one number to different rows: let the migration declare INTEGER PRIMARY KEY AUTOINCREMENT again, or call `sqlite-counter adopt`, which writes the word into the declaration, and rebuilds nothing
SELECT counter_replicate('p', 'n', 'keys=spread');
--!~ counter_replicate: p: its keys are spread, and its declaration has lost AUTOINCREMENT, *
SELECT counter_replicate('p', 'keys=assigned');
--!~ counter_replicate: p: its keys are spread, and its declaration has lost AUTOINCREMENT, *
SELECT counter_replicate('p', 'keys=changed');
--!~ counter_replicate: p: its keys are spread, and its declaration has lost AUTOINCREMENT, *
SELECT counter_replicate('p', 'missing=restored', 'values=newest');
--!~ counter_replicate: p: its keys are spread, and its declaration has lost AUTOINCREMENT, *
SELECT counter_track('p', 'n');
--!~ counter_track: p: its keys are spread, and its declaration has lost AUTOINCREMENT, *
SELECT counter_untrack('p', 't');
--!~ counter_untrack: p: its keys are spread, and its declaration has lost AUTOINCREMENT, *
SELECT counter_replicate_all('p.n');
--! counter_replicate_all: p: its keys are spread, and its declaration has lost AUTOINCREMENT, so two files would give one number to different rows: declare it again in the migration, or call sqlite-counter adopt, which writes AUTOINCREMENT into its declaration
SELECT table_name, kind, column_name, finding, declaration FROM counter_plan;
--= p|autoincrement|id|its keys are spread, and its declaration has lost AUTOINCREMENT, so two files would give one number to different rows|CREATE TABLE "p"("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, t TEXT NOT NULL DEFAULT '', n INTEGER NOT NULL DEFAULT 0, more TEXT)
SELECT column_name, state FROM counter_tracked;
--= n|broken
--= t|broken
CREATE TABLE new_p("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, t TEXT NOT NULL DEFAULT '', n INTEGER NOT NULL DEFAULT 0, more TEXT);
INSERT INTO new_p SELECT * FROM p;
DROP TABLE p;
ALTER TABLE new_p RENAME TO p;
SELECT counter_replicate_all('p.n');
--= 1
INSERT INTO p(t) VALUES ('new');
SELECT id > (1 << 32) FROM p WHERE t = 'new';
--= 1

-- # a-table-whose-keys-are-spread-no-more-is-told-and-its-set-up-at-a-start-is-refused
CREATE TABLE p(id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT);
SELECT counter_replicate('p', 'keys=spread');
--= 0
PRAGMA writable_schema = ON;
UPDATE sqlite_master SET sql = replace(sql, ' AUTOINCREMENT', '') WHERE name = 'p';
PRAGMA writable_schema = RESET;
SELECT * FROM counter_warnings;
--= p|keys|its keys are spread, and its declaration has lost AUTOINCREMENT, so two files would give one number to different rows: `sqlite-counter adopt` writes the word again
SELECT kind FROM counter_plan;
--= autoincrement
SELECT counter_replicate('p', 'keys=spread');
--!~ counter_replicate: p: its keys are spread, and its declaration has lost AUTOINCREMENT, *
SELECT counter_replicate_all();
--!~ counter_replicate_all: p: its keys are spread, and its declaration has lost AUTOINCREMENT, *
SELECT counter_untrack('p');
--= 0

-- # a-table-that-is-built-anew-with-another-key-is-told-of-that-key-though-its-keys-were-spread
CREATE TABLE p(id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT);
SELECT counter_replicate('p', 'keys=spread');
--= 0
DROP TABLE p;
CREATE TABLE p(id INTEGER, t TEXT PRIMARY KEY);
SELECT counter_replicate('p');
--! counter_replicate: p: the key is (t TEXT BINARY), but that of its counters, p_counters, is (id INTEGER BINARY): if a migration has changed it, add 'keys=changed' to the call
SELECT counter_replicate_all();
--! counter_replicate_all: p: the key is (t TEXT BINARY), but that of its counters, p_counters, is (id INTEGER BINARY): if a migration has changed it, add 'keys=changed' to the call
SELECT counter_replicate('p', 'keys=changed');
--= 0

-- # columns-that-were-added-are-replicated-by-the-call-for-all-tables
CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0);
INSERT INTO p VALUES ('tea', 3);
SELECT counter_replicate_all('p.n');
--= 1
ALTER TABLE p ADD COLUMN extra TEXT;
ALTER TABLE p ADD COLUMN size INTEGER;
UPDATE p SET extra = 'green', size = 7;
SELECT * FROM counter_plan;
--= p|replicate|k|it is replicated, and columns extra, size do not travel yet|counter_replicate('p')
SELECT counter_replicate_all('p.n');
--= 1
SELECT column_name, state FROM counter_tracked ORDER BY 1;
--= extra|regular
--= n|tracked
--= size|regular
SELECT kind FROM counter_plan;
--= done
SELECT counter_replicate_all('p.n');
--= 0
SELECT counter_untrack('p', 'size');
--= 1
SELECT kind FROM counter_plan;
--= done
SELECT counter_replicate_all('p.n');
--= 0
ALTER TABLE p ADD COLUMN sold INTEGER NOT NULL DEFAULT 0;
SELECT counter_replicate_all('p.n', 'p.sold');
--= 1
SELECT column_name, state FROM counter_tracked ORDER BY 1;
--= extra|regular
--= n|tracked
--= size|regular
--= sold|tracked
ALTER TABLE p ADD COLUMN more TEXT;
SELECT counter_replicate_all('leave=p');
--= 0

-- # the-call-for-all-tables-takes-what-an-added-column-holds-as-the-call-for-one-table-does
ATTACH 'office.db' AS office;
CREATE TABLE main.p(k TEXT PRIMARY KEY NOT NULL, v TEXT);
INSERT INTO main.p VALUES ('tea', 'green');
SELECT counter_replicate_all();
--= 1
VACUUM INTO 'copy.db';
ATTACH 'copy.db' AS copy;
ALTER TABLE main.p ADD COLUMN extra TEXT;
ALTER TABLE copy.p ADD COLUMN extra TEXT;
UPDATE main.p SET extra = 'mine';
SELECT counter_replicate_all();
--= 1
SELECT counter_replicate('copy.p');
--= 0
SELECT rows_changed, note FROM counter_sync('copy');
--= 1|NULL
SELECT * FROM copy.p;
--= tea|green|mine

-- # a-table-whose-triggers-an-index-has-changed-is-replicated-again
CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, code TEXT);
CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0, code TEXT);
SELECT counter_replicate_all('leave=t');
--= 1
SELECT counter_track('t', 'n');
--= 0
CREATE UNIQUE INDEX p_code ON p(code);
SELECT table_name, kind, finding, remedy FROM counter_plan;
--= p|replicate|it is replicated, and its triggers are not those that it needs now|counter_replicate('p')
--= t|done|its counters are tracked, and merge|NULL
SELECT counter_replicate_all();
--= 1
SELECT counter_replicate_all();
--= 0
CREATE UNIQUE INDEX t_code ON t(code);
SELECT table_name, kind, finding, remedy FROM counter_plan WHERE kind = 'refused';
--= t|refused|its counters are tracked, and its triggers are not those that it needs now|call counter_track('t'), which makes them again, or leave it at home

-- # a-call-for-all-tables-notes-a-rename-so-that-a-rebuilt-table-keeps-its-counts-in-the-column
CREATE TABLE s(k TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('s', 'n');
--= 0
INSERT INTO s VALUES ('tea', 5);
VACUUM INTO 'other.db';
ATTACH 'other.db' AS other;
UPDATE other.s SET n = n + 10;
ALTER TABLE main.s RENAME COLUMN n TO n_old;
SELECT counter_replicate_all();
--= 0
CREATE TABLE main.new(k TEXT PRIMARY KEY NOT NULL, n_old INTEGER NOT NULL DEFAULT 0, n INTEGER NOT NULL DEFAULT 0);
INSERT INTO new(k, n_old) SELECT k, n_old FROM main.s;
DROP TABLE main.s;
ALTER TABLE main.new RENAME TO s;
SELECT counter_replicate_all();
--! counter_replicate_all: s: another column was called n when it was replicated, and other files still know it by that name: rename this one
ALTER TABLE main.s RENAME COLUMN n TO count;
SELECT counter_replicate_all();
--= 1
SELECT count(*) FROM counter_sync('other');
--= 1
SELECT k, n_old, count FROM main.s;
--= tea|15|0
SELECT k, n FROM other.s;
--= tea|15
