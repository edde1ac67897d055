-- CREATE VIRTUAL TABLE ... USING counter(...): what is taken and what is refused.

-- # a-declaration-makes-the-stored-table
CREATE VIRTUAL TABLE page_views USING counter(
  path TEXT, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY (path, hour));
SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name;
--= counter_conflicts
--= counter_journal
--= counter_peers
--= counter_replica
--= counter_requests
--= counter_segments
--= counter_sources
--= counter_state
--= counter_tables
--= page_views
--= page_views_cells
SELECT name, type, "notnull" FROM pragma_table_info('page_views_cells');
--= _id|INTEGER|0
--= path|TEXT|1
--= hour|INTEGER|1
--= hits|BLOB|0
--= bytes|BLOB|0
SELECT name, type FROM pragma_table_info('page_views');
--= path|TEXT
--= hour|INTEGER
--= hits|INTEGER
--= bytes|INTEGER
SELECT name, hidden FROM pragma_table_xinfo('page_views') WHERE hidden;
--= page_views|1
--= request_id|1
SELECT name, birth FROM counter_tables;
--= page_views|page_views
SELECT length(counter_id());
--= 36

-- # an-inline-key-comments-quotes-and-cases-are-read
CREATE VIRTUAL TABLE "my ""table" USING counter(
  -- a comment, with a comma
  "the key" VARCHAR ( 20 ) collate nocase primary key, /* another */ [n 1] Counter, `n"2` COUNTER);
INSERT INTO "my ""table" VALUES('A', 1, 2), ('a', 10, 20);
SELECT "the key", [n 1], `n"2` FROM "my ""table";
--= A|11|22
INSERT INTO "my ""table"("my ""table", "the key") VALUES('delete n"2', 'a');
SELECT * FROM "my ""table";
--= A|11|NULL

-- # names-with-braces-are-only-names
CREATE VIRTUAL TABLE "{schema}" USING counter("{table}" TEXT PRIMARY KEY, "{keys}" COUNTER);
INSERT INTO "{schema}" VALUES('"{columns}"', 3);
SELECT * FROM "{schema}" WHERE "{table}" = '"{columns}"';
--= "{columns}"|3

-- # the-counter-may-come-first
CREATE VIRTUAL TABLE t USING counter(n COUNTER, b, a, PRIMARY KEY(a, b));
INSERT INTO t VALUES(1, 'b', 'a');
UPDATE t SET n = n + 5 WHERE a = 'a' AND b = 'b';
SELECT * FROM t;
--= 6|b|a

-- # plain-columns-are-refused
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, note TEXT, n COUNTER);
--! t: column note is neither a COUNTER nor part of the PRIMARY KEY; a counter table has no plain columns
CREATE VIRTUAL TABLE t USING counter(note TEXT, k TEXT PRIMARY KEY, n COUNTER);
--! t: column note is neither a COUNTER nor part of the PRIMARY KEY; a counter table has no plain columns
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, note TEXT);
--! t: column note is neither a COUNTER nor part of the PRIMARY KEY; a counter table has no plain columns

-- # a-counter-in-the-key-is-refused
CREATE VIRTUAL TABLE t USING counter(k TEXT, n COUNTER, PRIMARY KEY (k, n));
--! t: column n: a COUNTER cannot be part of the PRIMARY KEY
CREATE VIRTUAL TABLE t USING counter(n COUNTER PRIMARY KEY);
--! t: column n: a COUNTER cannot be part of the PRIMARY KEY

-- # key-and-counter-are-needed
CREATE VIRTUAL TABLE t USING counter(k TEXT, n COUNTER);
--! t: a PRIMARY KEY is needed
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY);
--! t: at least one column must be a COUNTER
CREATE VIRTUAL TABLE t USING counter;
--! t: a PRIMARY KEY is needed
CREATE VIRTUAL TABLE t USING counter();
--! t: a PRIMARY KEY is needed

-- # not-null-and-default-0-are-what-holds-anyway
CREATE VIRTUAL TABLE a USING counter(k TEXT NOT NULL PRIMARY KEY, n COUNTER NOT NULL, m COUNTER DEFAULT 0, o counter not null default (0), p COUNTER DEFAULT -0 NOT NULL);
CREATE VIRTUAL TABLE b USING counter(k TEXT NOT NULL, j INTEGER COLLATE BINARY NOT NULL, n COUNTER /* none */ DEFAULT +0, PRIMARY KEY (k, j));
CREATE VIRTUAL TABLE c USING counter(k TEXT NOT NULL, n COUNTER DEFAULT '0' NOT NULL, CONSTRAINT "pk of c" PRIMARY KEY (k ASC));
INSERT INTO c(k) VALUES('x');
SELECT * FROM c;
--= x|0
CREATE VIRTUAL TABLE d USING counter(k TEXT, n COUNTER, PRIMARY KEY (k DESC));
--! d: cannot read the declaration 'PRIMARY KEY (k DESC)'
CREATE VIRTUAL TABLE d USING counter(k TEXT, n COUNTER CONSTRAINT positive CHECK (n > 0), PRIMARY KEY (k));
--! d: column n: CHECK is not possible in a counter table, which has only counters and their key
CREATE VIRTUAL TABLE d USING counter(k TEXT, n COUNTER, CONSTRAINT one UNIQUE (k));
--! d: 'CONSTRAINT one UNIQUE (k)' is not possible in a counter table, whose only constraint is its PRIMARY KEY
SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info('a');
--= k|TEXT|1|NULL|0
--= n|INTEGER|0|NULL|0
--= m|INTEGER|0|NULL|0
--= o|INTEGER|0|NULL|0
--= p|INTEGER|0|NULL|0
SELECT name, type, "notnull", hidden FROM pragma_table_xinfo('b');
--= b|TEXT|0|1
--= k|TEXT|1|0
--= j|INTEGER|1|0
--= n|INTEGER|0|0
--= request_id|BLOB|0|1
INSERT INTO a(k) VALUES('x');
SELECT * FROM a;
--= x|0|0|0|0
PRAGMA integrity_check;
--= ok

-- # constraints-are-refused-by-name
CREATE VIRTUAL TABLE t USING counter(k TEXT DEFAULT 'x' PRIMARY KEY, n COUNTER);
--! t: column k: DEFAULT is not possible in a counter table, which has only counters and their key
CREATE VIRTUAL TABLE t USING counter(k TEXT UNIQUE, n COUNTER, PRIMARY KEY(k));
--! t: column k: UNIQUE is not possible in a counter table, which has only counters and their key
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER CHECK (n > 0));
--! t: column n: CHECK is not possible in a counter table, which has only counters and their key
CREATE VIRTUAL TABLE t USING counter(k TEXT REFERENCES other(k), n COUNTER, PRIMARY KEY(k));
--! t: column k: REFERENCES is not possible in a counter table, which has only counters and their key
CREATE VIRTUAL TABLE t USING counter(k TEXT NOT PRIMARY KEY, n COUNTER);
--! t: cannot read the declaration 'k TEXT NOT PRIMARY KEY'
CREATE VIRTUAL TABLE t USING counter(k TEXT NULL PRIMARY KEY, n COUNTER);
--! t: column k: NULL is not possible in a counter table, which has only counters and their key
CREATE VIRTUAL TABLE t USING counter(k TEXT DEFAULT 0 PRIMARY KEY, n COUNTER);
--! t: column k: DEFAULT is not possible in a counter table, which has only counters and their key
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER DEFAULT 5);
--! t: column n: a counter begins at 0, so its DEFAULT cannot be 5
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER DEFAULT 0.5);
--! t: column n: a counter begins at 0, so its DEFAULT cannot be 0.5
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER DEFAULT ( 1 ) NOT NULL);
--! t: column n: a counter begins at 0, so its DEFAULT cannot be ( 1 )
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER DEFAULT NULL);
--! t: column n: a counter begins at 0, so its DEFAULT cannot be NULL
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER DEFAULT);
--! t: cannot read the declaration 'n COUNTER DEFAULT'
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER NOT NULL ON CONFLICT IGNORE);
--! t: column n: ON is not possible in a counter table, which has only counters and their key
CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY AUTOINCREMENT, n COUNTER);
--! t: column k: AUTOINCREMENT is not possible in a counter table, which has only counters and their key
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY DESC, n COUNTER);
--! t: column k: DESC is not possible in a counter table, which has only counters and their key
CREATE VIRTUAL TABLE t USING counter(k TEXT COLLATE NOCASE COLLATE BINARY PRIMARY KEY, n COUNTER);
--! t: column k: COLLATE is not possible in a counter table, which has only counters and their key
CREATE VIRTUAL TABLE t USING counter(k TEXT, n COUNTER, PRIMARY KEY(k) ON CONFLICT IGNORE);
--! t: cannot read the declaration 'PRIMARY KEY(k) ON CONFLICT IGNORE'
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER GENERATED ALWAYS AS (1));
--! t: column n: GENERATED is not possible in a counter table, which has only counters and their key
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, UNIQUE(k));
--! t: 'UNIQUE(k)' is not possible in a counter table, whose only constraint is its PRIMARY KEY
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, CHECK (k <> ''));
--! t: 'CHECK (k <> '')' is not possible in a counter table, whose only constraint is its PRIMARY KEY
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, FOREIGN KEY(k) REFERENCES o(k));
--! t: 'FOREIGN KEY(k) REFERENCES o(k)' is not possible in a counter table, whose only constraint is its PRIMARY KEY
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER COLLATE NOCASE);
--! t: column n: a COUNTER is an integer and has no COLLATE
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER COLLATE x);
--! t: column n: a COUNTER is an integer and has no COLLATE

-- # a-ttl-is-refused
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER TTL 60);
--! t: column n: a counter table cannot have a TTL
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, ttl=60);
--! t: unknown option 'ttl=60': a counter table has no options and no TTL

-- # types-are-plain-words
CREATE VIRTUAL TABLE t USING counter(k TEXT HIDDEN PRIMARY KEY, n COUNTER);
--! t: column k: its type must be plain words, such as TEXT or VARCHAR(20)
CREATE VIRTUAL TABLE t USING counter(k "TEXT, x" PRIMARY KEY, n COUNTER);
--! t: column k: its type must be plain words, such as TEXT or VARCHAR(20)
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n BIG COUNTER);
--! t: column n: the type COUNTER takes no other words
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER(8));
--! t: column n: the type COUNTER takes no other words

-- # reserved-names-are-refused
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, _n COUNTER);
--! t: column _n: the names rowid, oid, request_id and those that begin with _ are reserved
CREATE VIRTUAL TABLE t USING counter(RowId TEXT PRIMARY KEY, n COUNTER);
--! t: column RowId: the names rowid, oid, request_id and those that begin with _ are reserved
CREATE VIRTUAL TABLE t USING counter(oid TEXT PRIMARY KEY, n COUNTER);
--! t: column oid: the names rowid, oid, request_id and those that begin with _ are reserved
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, request_id COUNTER);
--! t: column request_id: the names rowid, oid, request_id and those that begin with _ are reserved
CREATE VIRTUAL TABLE t USING counter("" TEXT PRIMARY KEY, n COUNTER);
--! t: column "": the names rowid, oid, request_id and those that begin with _ are reserved
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, T COUNTER);
--! t: column T has the name of the table, which is reserved for the command column
CREATE VIRTUAL TABLE counter_x USING counter(k TEXT PRIMARY KEY, n COUNTER);
--! counter_x: names that begin with counter_ are reserved, such as counter_x
CREATE VIRTUAL TABLE Request_Id USING counter(k PRIMARY KEY, n COUNTER);
--! Request_Id: the table cannot have the name Request_Id: it has a hidden column of that name
CREATE VIRTUAL TABLE t USING counter(k PRIMARY KEY, n COUNTER);
ALTER TABLE t RENAME TO request_id;
--!~ *the table cannot have the name request_id: it has a hidden column of that name
DROP TABLE t;

-- # columns-stand-there-once
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, "N" COUNTER);
--! t: column "N" is named twice
CREATE VIRTUAL TABLE t USING counter(k TEXT, n COUNTER, PRIMARY KEY(k, K));
--! t: the PRIMARY KEY names K twice
CREATE VIRTUAL TABLE t USING counter(k TEXT, n COUNTER, PRIMARY KEY(k, x));
--! t: the PRIMARY KEY names x, which is not a column
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, PRIMARY KEY(k));
--! t: a second PRIMARY KEY at 'PRIMARY KEY(k)'; write PRIMARY KEY (...) for several columns
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, j TEXT PRIMARY KEY, n COUNTER);
--! t: a second PRIMARY KEY at 'j'; write PRIMARY KEY (...) for several columns
CREATE VIRTUAL TABLE t USING counter(k TEXT, PRIMARY KEY(k), n COUNTER);
--! t: PRIMARY KEY (...) must be the last clause; 'n COUNTER' follows it
CREATE VIRTUAL TABLE t USING counter(k TEXT, n COUNTER, PRIMARY KEY(k COLLATE NOCASE));
--! t: cannot read the declaration 'PRIMARY KEY(k COLLATE NOCASE)'

-- # an-unknown-collation-is-named
CREATE VIRTUAL TABLE t USING counter(k TEXT COLLATE klingon PRIMARY KEY, n COUNTER);
--! t: no such collation sequence: klingon

-- # a-refused-create-leaves-nothing
BEGIN;
CREATE TABLE v_cells(x);
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
--! v: table "v_cells" already exists
COMMIT;
SELECT name FROM sqlite_master;
--= v_cells
SELECT counter_id();
--= NULL

-- # a-birth-name-is-held-until-its-table-is-dropped
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
ALTER TABLE v RENAME TO w;
CREATE VIRTUAL TABLE V USING counter(k PRIMARY KEY, n COUNTER);
--! V: the table 'w' was created with this name, by which sync matches tables
DROP TABLE w;
CREATE VIRTUAL TABLE V USING counter(k PRIMARY KEY, n COUNTER);
SELECT name, birth FROM counter_tables;
--= V|V
