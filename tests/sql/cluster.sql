-- counter_cluster: several replicas behind one table.

-- # a-write-goes-to-all-replicas-under-one-id
ATTACH 'east.db' AS east;
ATTACH 'west.db' AS west;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
CREATE VIRTUAL TABLE west.v USING counter(b COUNTER, k TEXT, a COUNTER, PRIMARY KEY(k));
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east west');
INSERT INTO c VALUES('x', 1, 10), ('y', 2, NULL);
SELECT * FROM c;
--= x|1|10
--= y|2|0
SELECT * FROM west.v;
--= 10|x|1
--= 0|y|2
UPDATE c SET a = a * 3, b = b - 1 WHERE k = 'x';
UPDATE c SET a = a + 1;
SELECT * FROM c ORDER BY k DESC;
--= y|3|0
--= x|4|9
SELECT count(DISTINCT id), group_concat(DISTINCT id = counter_id()) FROM
  (SELECT id FROM v_cells, counter_shards(a) UNION ALL SELECT id FROM east.v_cells, counter_shards(a)
   UNION ALL SELECT id FROM west.v_cells, counter_shards(a));
--= 1|1
DELETE FROM c WHERE k = 'y';
INSERT INTO c(k, a) VALUES('y', 1);
INSERT OR IGNORE INTO c(k, a) VALUES('y', 1);
INSERT INTO c(c, k, a) VALUES('reset', 'y', 7);
INSERT INTO c(c, k, b) VALUES('reset b', 'x', 5);
INSERT INTO c(c, k) VALUES('delete a', 'x');
SELECT 'main', * FROM main.v UNION ALL SELECT 'east', * FROM east.v UNION ALL SELECT 'west', k, a, b FROM west.v;
--= main|x|NULL|5
--= main|y|7|0
--= east|x|NULL|5
--= east|y|7|0
--= west|x|NULL|5
--= west|y|7|0
INSERT INTO c(c) VALUES('integrity-check');
SELECT schema, dc, rack, available, reason, rows, different FROM counter_cluster_status('c');
--= main|NULL|NULL|1|NULL|2|0
--= east|NULL|NULL|1|NULL|2|0
--= west|NULL|NULL|1|NULL|2|0

-- # a-read-merges-as-many-replicas-as-its-level-asks
ATTACH 'east.db' AS east;
ATTACH 'west.db' AS west;
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE west.v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO main.v VALUES(1, 1), (3, 1);
INSERT INTO east.v VALUES(1, 10), (2, 10), (4, 10);
INSERT INTO west.v VALUES(3, 100), (0, 100), (4, 100);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='east main west', read=ONE);
SELECT * FROM c;
--= 1|1
--= 3|1
INSERT INTO c(c) VALUES('read=quorum');
SELECT * FROM c;
--= 1|11
--= 2|10
--= 3|1
--= 4|10
INSERT INTO c(c) VALUES('read=ALL');
SELECT * FROM c ORDER BY k DESC;
--= 4|110
--= 3|101
--= 2|10
--= 1|11
--= 0|100
SELECT * FROM c WHERE k BETWEEN 1 AND 3;
--= 1|11
--= 2|10
--= 3|101
SELECT n FROM c WHERE k = 4;
--= 110
SELECT k, n FROM c WHERE k IN (0, 4, 9);
--= 0|100
--= 4|110
SELECT schema, rows, different FROM counter_cluster_status('c');
--= main|2|0
--= east|3|4
--= west|3|4
SELECT count(*) FROM main.v;
--= 2
INSERT INTO c(c) VALUES('read_repair=blocking');
SELECT sum(n) FROM c WHERE k > 1;
--= 221
SELECT sum(n), count(*) FROM main.v WHERE k > 1;
--= 221|3
SELECT count(*) FROM main.v;
--= 4
SELECT schema, rows, different FROM counter_cluster_status('c');
--= main|4|0
--= east|4|1
--= west|4|2

-- # an-in-means-what-it-means-on-one-file
--@ since 3.38
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(a TEXT, b TEXT, n COUNTER, PRIMARY KEY(a, b));
CREATE VIRTUAL TABLE east.v USING counter(a TEXT, b TEXT, n COUNTER, PRIMARY KEY(a, b));
INSERT INTO main.v VALUES('1', 'x', 1), ('01', 'x', 2), ('z', 'y', 4);
INSERT INTO east.v VALUES('1', 'x', 10), ('z', '1', 20), ('z', '01', 40);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read=ALL, read_repair=blocking);
CREATE TABLE i(x INTEGER, t TEXT);
INSERT INTO i VALUES(1, 'z'), (NULL, NULL), (1, '1'), (3, 'nosuch');
SELECT a, b, n FROM c WHERE a IN (SELECT t FROM i WHERE x <> 1);
SELECT count(*) FROM east.v;
--= 3
SELECT a, b, n FROM c WHERE a IN (SELECT t FROM i) AND b = 'x';
--= 1|x|11
SELECT sum(n) FROM c WHERE a IN (SELECT x FROM i);
--= 13
SELECT a, b, n FROM c WHERE a IN (SELECT t FROM i) ORDER BY a DESC, b;
--= z|01|40
--= z|1|20
--= z|y|4
--= 1|x|11
SELECT a, b, n FROM c WHERE a = 'z' AND b IN (SELECT x FROM i) ORDER BY b;
--= z|01|40
--= z|1|20
SELECT a, (SELECT sum(n) FROM c WHERE a IN (k.a, 'nosuch', NULL)) FROM (SELECT DISTINCT a FROM main.v) AS k ORDER BY a;
--= 01|2
--= 1|11
--= z|64
UPDATE c SET n = n + 100 WHERE a IN (SELECT x FROM i) AND b IN (SELECT 'x' UNION SELECT 'y');
DELETE FROM c WHERE a IN ('z', 'z', 'nosuch') AND b IN (SELECT x FROM i);
SELECT 'main', * FROM main.v UNION ALL SELECT 'east', * FROM east.v ORDER BY 1, 2, 3;
--= east|01|x|102
--= east|1|x|111
--= east|z|y|4
--= main|01|x|102
--= main|1|x|111
--= main|z|y|4

-- # what-is-not-committed-is-given-to-no-other-replica
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO east.v VALUES('x', 10);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read=ALL, read_repair=blocking);
BEGIN;
INSERT INTO main.v VALUES('x', 1);
SELECT * FROM c;
--= x|11
SELECT n FROM main.v UNION ALL SELECT n FROM east.v;
--= 1
--= 10
COMMIT;
SELECT * FROM c;
--= x|11
SELECT n FROM main.v UNION ALL SELECT n FROM east.v;
--= 11
--= 11

-- # too-few-replicas-are-a-sentence-and-nothing-is-written
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main, east west');
INSERT INTO c VALUES('x', 1);
INSERT INTO c(c) VALUES('write=ALL');
INSERT INTO c VALUES('x', 1);
--! c: write=ALL needs 3 of 3 replicas, 2 are available: west: it is not attached
INSERT INTO c(c) VALUES('write=LOCAL_QUORUM');
INSERT INTO c VALUES('x', 1);
--!~ c: write=LOCAL_QUORUM needs the data center of each replica, and main has no name*
INSERT INTO c(c) VALUES('read=THREE');
SELECT * FROM c;
--! c: read=THREE needs 3 of 3 replicas, 2 are available: west: it is not attached
DETACH east;
INSERT INTO c(c) VALUES('read=ONE');
SELECT * FROM c;
--= x|1
INSERT INTO c(c) VALUES('write=QUORUM');
DELETE FROM c;
--! c: write=QUORUM needs 2 of 3 replicas, 1 is available: east: it is not attached; west: it is not attached
SELECT schema, available, reason FROM counter_cluster_status('c');
--= main|1|NULL
--= east|0|it is not attached
--= west|0|it is not attached

-- # what-a-declaration-may-say
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v);
--! c: replicas is needed: names of attached databases, replicas='main east'
CREATE VIRTUAL TABLE temp.c USING counter_cluster(replicas='main');
--! c: the first argument must be the name of a counter table
CREATE VIRTUAL TABLE temp.c USING counter_cluster(w, replicas='main');
--! c: no attached replica has a counter table with the name w
CREATE VIRTUAL TABLE c USING counter_cluster(v, replicas='main');
--! c: a cluster belongs to a connection: CREATE VIRTUAL TABLE temp.c
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main MAIN');
--! c: replicas: MAIN is named twice
ATTACH 'east.db' AS again;
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east again');
--! c: replicas: east and again are one file
DETACH again;
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main', read=ANY);
--! c: read=ANY: counters have no such level, because a hint is not a replica
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main', write = SERIAL);
--! c: write=SERIAL: counters have no conditional updates and no such level
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main', write=most);
--!~ c: write=most: unknown level; there are ONE, TWO*
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main', read_repair=yes);
--! c: read_repair must be blocking or none, not yes
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main', hints=1);
--!~ c: unknown option 'hints'; *
CREATE VIRTUAL TABLE temp.n USING counter_cluster(v, replicas='main');
--! n: the table cannot have the name n: it has the column n
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, m COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
--!~ c: the tables differ: *
DROP TABLE east.v;
CREATE VIRTUAL TABLE temp.c USING counter_cluster("v", replicas = "main east", write=one);
PRAGMA main.synchronous = EXTRA;
INSERT INTO c VALUES('x', 1);
INSERT INTO c(c) VALUES('read=LOCAL_SERIAL');
--!~ c: read=LOCAL_SERIAL: *
INSERT INTO c(c, k) VALUES('read=ALL', 'x');
--! c: read=ALL takes no value for column k
INSERT INTO c(c) VALUES('nonsense');
--! c: unknown command TEXT 'nonsense'; the commands are 'read=', 'write=', 'read_repair=', 'integrity-check'; these delete counts: 'purge below', 'reset', 'reset <counter>', 'delete <counter>'
INSERT INTO c(k, n, request_id) VALUES('x', 1, 'a');
--!~ c: a cluster takes no request_id: *
SELECT * FROM c;
--! c: read=QUORUM needs 2 of 2 replicas, 1 is available: east: it has no counter table v
ALTER TABLE temp.c RENAME TO d;
INSERT INTO d VALUES('x', 1);
SELECT n FROM v;
--= 2
DROP TABLE d;
SELECT n FROM v;
--= 2

-- # levels-by-data-centre
ATTACH 'east.db' AS east;
SELECT counter_init('dc1:a');
--= 4e441b18-adda-384a-ae47-837be078edba
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read=LOCAL_ONE, write=EACH_QUORUM);
INSERT INTO c VALUES('x', 1);
--!~ c: write=EACH_QUORUM needs the data center of each replica, and east has no name*
SELECT * FROM c;
--!~ c: read=LOCAL_ONE needs the data center of each replica, and east has no name*

-- # a-leader-that-could-forget-is-refused
--@ whole-sqlite
ATTACH 'east.db' AS east;
PRAGMA main.journal_mode = WAL;
--= wal
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
PRAGMA main.synchronous = NORMAL;
INSERT INTO c VALUES('x', 1);
--!~ c: main is the leader, and a power cut must not undo its commits: journal_mode=wal needs PRAGMA main.synchronous=FULL, not NORMAL
PRAGMA main.synchronous = FULL;
INSERT INTO c VALUES('x', 1);
SELECT n FROM c;
--= 1

-- # keys-of-other-types-are-other-rows
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(5, 1), ('a', 2);
INSERT INTO east.v VALUES('5', 10), (x'35', 20), (x'61', 30);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read=ALL);
SELECT quote(k), n FROM c;
--= 5|1
--= '5'|10
--= 'a'|2
--= X'35'|20
--= X'61'|30

-- # what-is-not-committed-is-not-given-to-others
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
BEGIN;
INSERT INTO east.v VALUES('x', 1);
INSERT INTO c VALUES('x', 1);
--! c: east has counted in this transaction, and only committed changes go to other replicas: COMMIT first
COMMIT;
INSERT INTO c VALUES('x', 1);
BEGIN;
INSERT INTO c VALUES('x', 1);
SAVEPOINT s;
INSERT INTO c VALUES('x', 1), ('y', 1);
ROLLBACK TO s;
INSERT INTO c VALUES('z', 1);
COMMIT;
BEGIN;
DELETE FROM c;
ROLLBACK;
SELECT * FROM main.v JOIN east.v USING (k, n);
--= x|3
--= z|1
INSERT INTO c(c) VALUES('integrity-check');

-- # counters-of-another-generation-are-other-counters
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO east.v(v) VALUES('drop column n');
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
--! c: the tables differ: east has no counter n
INSERT INTO east.v(v) VALUES('add column n');
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
--! c: the tables differ: one replica has no counter n of this generation

-- # a-replica-that-is-not-there-is-passed-over-for-the-name-of-the-table
ATTACH 'east.db' AS east;
ATTACH 'west.db' AS west;
CREATE VIEW west.counter_tables AS SELECT 1;
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='north west main east', write=ONE, read=ONE);
PRAGMA east.synchronous = EXTRA;
INSERT INTO c VALUES('x', 1);
SELECT * FROM c;
--= x|1
SELECT schema, available, reason FROM counter_cluster_status('c');
--= main|0|it has no counter tables
--= north|0|it is not attached
--= west|0|counter_tables is damaged: it is not an ordinary table but a view
--= east|1|NULL

-- # floors-are-floors-of-all
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read_repair=blocking);
INSERT INTO c VALUES(1, 1), (2, 1), (3, 1), (4, 1);
INSERT INTO east.v(v, k) VALUES('purge below', 3);
SELECT k FROM c;
--= 3
--= 4
INSERT INTO c VALUES(2, 1);
--!~ c: the key (2) is below a floor of the table*counter_floors('v')
UPDATE c SET n = n + 1;
INSERT INTO c(c, k) VALUES('purge below', 4);
INSERT INTO c VALUES(3, 1);
--!~ c: the key (3) is below a floor of the table*counter_floors('v')
SELECT * FROM main.v;
--= 4|2
SELECT * FROM east.v;
--= 4|2

-- # floors-rise-in-the-replicas-that-are-there
ATTACH 'east.db' AS east;
ATTACH 'west.db' AS west;
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE west.v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east west', write=QUORUM);
INSERT INTO c VALUES(1, 1), (2, 1);
DETACH east;
INSERT INTO c(c, k) VALUES('purge below', 2);
SELECT * FROM main.v UNION ALL SELECT * FROM west.v;
--= 2|1
--= 2|1
ATTACH 'east.db' AS east;
SELECT * FROM east.v;
--= 1|1
--= 2|1
SELECT * FROM c;
--= 2|1

-- # rows-of-two-keys-come-in-the-order-of-either
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(a TEXT, b INTEGER, n COUNTER, PRIMARY KEY(a, b));
CREATE VIRTUAL TABLE east.v USING counter(a TEXT, b INTEGER, n COUNTER, PRIMARY KEY(a, b));
INSERT INTO v VALUES('x', 2, 1), ('y', 1, 1), ('z', 3, 1);
INSERT INTO east.v VALUES('x', 2, 10), ('y', 3, 10), ('a', 1, 10);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
SELECT * FROM c ORDER BY b;
--= a|1|10
--= y|1|1
--= x|2|11
--= y|3|10
--= z|3|1
SELECT * FROM c ORDER BY b DESC, a DESC;
--= z|3|1
--= y|3|10
--= x|2|11
--= y|1|1
--= a|1|10
SELECT * FROM c ORDER BY a, b;
--= a|1|10
--= x|2|11
--= y|1|1
--= y|3|10
--= z|3|1
SELECT * FROM c WHERE a = 'y' ORDER BY b DESC;
--= y|3|10
--= y|1|1

-- # numbers-against-text-keys-find-what-they-find-in-the-table
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('12', 1), ('012', 2), ('Ab', 3);
INSERT INTO east.v VALUES('12', 10), ('12.0', 20), ('aB', 30);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
SELECT * FROM c;
--= 012|2
--= 12|11
--= 12.0|20
--= Ab|33
SELECT n FROM c WHERE k = 12;
--= 11
SELECT n FROM c WHERE k = 'ab';
--= 33
SELECT n FROM c WHERE k = '012';
--= 2
UPDATE c SET n = n + 1 WHERE k = 12;
UPDATE c SET n = n + 1 WHERE k = 'AB';
SELECT * FROM main.v ORDER BY k;
--= 012|2
--= 12|12
--= Ab|34
INSERT INTO main.v VALUES('7', 5);
SELECT n FROM c WHERE k = 7;
--= 5
UPDATE c SET n = n + 1 WHERE k = 7;
SELECT * FROM east.v WHERE k = '7';
--= 7|6

-- # a-damaged-cell-is-left-to-others
ATTACH 'east.db' AS east;
ATTACH 'west.db' AS west;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE west.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east west');
INSERT INTO c VALUES('a', 1), ('b', 2), ('c', 3);
UPDATE east.v_cells SET n = x'C101' WHERE k = 'b';
SELECT * FROM c;
--= a|1
--= b|2
--= c|3
INSERT INTO c VALUES('b', 5);
SELECT k, n FROM west.v WHERE k = 'b';
--= b|7
INSERT INTO c(c) VALUES('write=ALL');
INSERT INTO c VALUES('b', 5);
--!~ c: write=ALL needs 3 of 3 replicas, 2 are available: east: column n of ('b'): the cell *
INSERT INTO c VALUES('a', 5);
SELECT n FROM east.v WHERE k = 'a';
--= 6

-- # what-is-no-option-of-a-cluster
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main temp');
--! c: replicas: temp cannot be a replica
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='a0 a1 a2 a3 a4 a5 a6 a7 b0 b1 b2 b3 b4 b5 b6 b7 c0 c1 c2 c3 c4 c5 c6 c7
  d0 d1 d2 d3 d4 d5 d6 d7 e0 e1 e2 e3 e4 e5 e6 e7 f0 f1 f2 f3 f4 f5 f6 f7 g0 g1 g2 g3 g4 g5 g6 g7 h0 h1 h2 h3 h4 h5 h6 h7 i0');
--! c: replicas: a cluster can have 64 at most
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, nothing);
--! c: cannot read the option 'nothing'
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, =);
--! c: unknown option ''; there are replicas, read, write and read_repair
CREATE VIRTUAL TABLE temp.c USING counter_cluster;
--! c: the first argument must be the name of a counter table
SELECT * FROM counter_cluster_status('nowhere');
--! counter_cluster_status: no cluster has the name 'nowhere'
SELECT * FROM counter_cluster_status(NULL);
--! counter_cluster_status: the name of the cluster must be TEXT, not NULL

-- # any-blanks-stand-between-the-parts-of-an-option
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO east.v VALUES('x', 1);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
INSERT INTO c(c) VALUES(char(9, 10, 12, 13) || 'read' || char(13, 12, 10, 9) || '=' || char(12, 13) || 'one ');
SELECT * FROM c;
INSERT INTO c(c) VALUES(char(11) || 'read=ALL');
--!~ c: unknown command TEXT '*
INSERT INTO c(c) VALUES('read=ALL' || char(11));
--!~ c: read=ALL*: unknown level; there are ONE, TWO*
SELECT * FROM c;

-- # a-level-that-is-set-within-a-transaction-holds-from-the-next-statement-on
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', write=ONE);
PRAGMA main.synchronous = EXTRA;
BEGIN;
INSERT INTO c VALUES('x', 1);
INSERT INTO c(c) VALUES('write=ALL');
INSERT INTO c VALUES('x', 1);
--! c: write=ALL needs 2 of 2 replicas, 1 is available: east: it has no counter tables
INSERT INTO c(c) VALUES('write=ONE');
INSERT INTO c VALUES('x', 5);
COMMIT;
SELECT n FROM v;
--= 6

-- # the-status-is-that-of-a-cluster-of-which-sqlite-has-let-go
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
INSERT INTO c VALUES('x', 1);
BEGIN;
CREATE TABLE t(x);
ROLLBACK;
SELECT schema, rows FROM counter_cluster_status('c');
--= main|1
--= east|1
DROP TABLE c;
SELECT * FROM counter_cluster_status('c');
--! counter_cluster_status: no cluster has the name 'c'
CREATE TABLE temp.c(x);
SELECT * FROM counter_cluster_status('c');
--! counter_cluster_status: no cluster has the name 'c'

-- # a-row-id-that-no-cursor-could-name-is-damage-of-its-replica
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, a COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read='ALL');
INSERT INTO c VALUES ('x', 1);
UPDATE east.v_cells SET _id = -5;
SELECT * FROM c;
--! c: read=ALL needs 2 of 2 replicas, 1 is available: east: a row has the id -5

-- # a-file-that-comes-under-a-second-name-is-one-replica-and-is-written
PRAGMA main.synchronous = EXTRA;
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east again');
ATTACH 'east.db' AS again;
INSERT INTO c VALUES('x', 1);
BEGIN;
SELECT * FROM c;
--= x|1
INSERT INTO c VALUES('x', 1);
COMMIT;
SELECT n FROM east.v;
--= 2
SELECT schema, available, reason, rows FROM counter_cluster_status('c');
--= main|1|NULL|1
--= east|1|NULL|1
--= again|0|it is the same file as east|NULL
INSERT INTO c(c) VALUES('write=ALL');
INSERT INTO c VALUES('x', 1);
--! c: write=ALL needs 3 of 3 replicas, 2 are available: again: it is the same file as east
INSERT INTO c(c) VALUES('read=ALL');
SELECT * FROM c;
--! c: read=ALL needs 3 of 3 replicas, 2 are available: again: it is the same file as east
DETACH again;
ATTACH 'west.db' AS again;
CREATE VIRTUAL TABLE again.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO c VALUES('x', 1);
SELECT * FROM c;
--= x|3
DETACH again;
ATTACH 'east.db' AS again;
SELECT * FROM c;
--! c: read=ALL needs 3 of 3 replicas, 2 are available: again: it is the same file as east
INSERT INTO c(c) VALUES('integrity-check');
--! c: replica again: it is the same file as east

-- # a-cluster-of-a-read-only-replica-is-read-and-not-written
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
--@ readonly
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main');
SELECT * FROM c;
--= x|1
INSERT INTO c VALUES('x', 1);
--! c: write=QUORUM needs 1 of 1 replica, 0 are available: main: it is read-only

-- # what-a-data-centre-lacks-is-said-of-that-data-centre
ATTACH 'east.db' AS east;
ATTACH 'west.db' AS west;
SELECT counter_init('dc1:a');
--= 4e441b18-adda-384a-ae47-837be078edba
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE west.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
-- as if each had been main once, and had got its name there
UPDATE east.counter_replica SET name = 'dc2:a';
UPDATE west.counter_replica SET name = 'dc2:b';
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east west', read=EACH_QUORUM, write=LOCAL_QUORUM);
CREATE VIRTUAL TABLE temp.away USING counter_cluster(v, replicas='east west', read=LOCAL_QUORUM);
INSERT INTO c VALUES('x', 1);
SELECT * FROM c;
--= x|1
SELECT schema, dc, rack, available, reason FROM counter_cluster_status('c');
--= main|dc1|a|1|NULL
--= east|dc2|a|1|NULL
--= west|dc2|b|1|NULL
SELECT * FROM away;
--! away: read=LOCAL_QUORUM needs 1 of 0 replicas in the data center of main, 0 are available
DETACH east;
SELECT * FROM c;
--! c: read=EACH_QUORUM needs 2 of 2 replicas in dc2, 1 is available: east: it is not attached
INSERT INTO c VALUES('x', 1);

-- # a-cluster-compares-keys-of-sixty-four-columns-and-not-of-one-more
CREATE VIRTUAL TABLE v USING counter(n COUNTER, a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7,
  c0, c1, c2, c3, c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7, e0, e1, e2, e3, e4, e5, e6, e7,
  f0, f1, f2, f3, f4, f5, f6, f7, g0, g1, g2, g3, g4, g5, g6, g7, h0, h1, h2, h3, h4, h5, h6, h7, i,
  PRIMARY KEY(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7,
  c0, c1, c2, c3, c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7, e0, e1, e2, e3, e4, e5, e6, e7,
  f0, f1, f2, f3, f4, f5, f6, f7, g0, g1, g2, g3, g4, g5, g6, g7, h0, h1, h2, h3, h4, h5, h6, h7, i));
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main');
--! c: a key of 65 columns; a cluster can have 64 at most
CREATE VIRTUAL TABLE w USING counter(n COUNTER, a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7,
  c0, c1, c2, c3, c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7, e0, e1, e2, e3, e4, e5, e6, e7,
  f0, f1, f2, f3, f4, f5, f6, f7, g0, g1, g2, g3, g4, g5, g6, g7, h0, h1, h2, h3, h4, h5, h6, h7,
  PRIMARY KEY(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7,
  c0, c1, c2, c3, c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7, e0, e1, e2, e3, e4, e5, e6, e7,
  f0, f1, f2, f3, f4, f5, f6, f7, g0, g1, g2, g3, g4, g5, g6, g7, h0, h1, h2, h3, h4, h5, h6, h7));
CREATE VIRTUAL TABLE temp.c USING counter_cluster(w, replicas='main');

-- # a-table-that-no-replica-can-open-makes-no-cluster
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
DROP TABLE v_cells;
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main');
--! c: the table v cannot be opened in any replica: the stored table v_cells is damaged: it is missing

-- # a-file-without-counter-tables-is-not-there-yet
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
INSERT INTO c VALUES('x', 1);
--! c: write=QUORUM needs 2 of 2 replicas, 1 is available: east: it has no counter tables
SELECT * FROM c;
--! c: read=QUORUM needs 2 of 2 replicas, 1 is available: east: it has no counter tables
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO c VALUES('x', 1);
DROP TABLE east.counter_sources;
SELECT * FROM c;
--! c: read=QUORUM needs 2 of 2 replicas, 1 is available: east: one of its own tables is missing: it is damaged
SELECT schema, available, reason FROM counter_cluster_status('c');
--= main|1|NULL
--= east|0|one of its own tables is missing: it is damaged

-- # a-replica-whose-schema-changes-under-a-scan-is-not-read-on
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'east.db' AS east;
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.w USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read=ALL);
INSERT INTO c VALUES('x', 1);
SELECT c.k, table_name, d.n FROM c CROSS JOIN counter_pull('phone') CROSS JOIN c AS d;
--!~ c: read=ALL needs 2 of 2 replicas, 0 are available: main: it has changed while another statement reads it; *
SELECT c.k, table_name, d.n FROM c CROSS JOIN counter_pull('phone') CROSS JOIN c AS d;
--= x|w|1

-- # a-stored-key-that-is-NULL-is-damage-of-its-replica
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read=ALL);
DROP TABLE east.v_cells;
CREATE TABLE east.v_cells(_id INTEGER PRIMARY KEY, _seq INTEGER, k TEXT, n BLOB, UNIQUE(k));
INSERT INTO east.v_cells VALUES(7, 1, NULL, x'c103');
SELECT * FROM c;
--! c: read=ALL needs 2 of 2 replicas, 1 is available: east: key column k is NULL in row 7

-- # a-cluster-that-has-written-is-not-dropped-before-the-commit
PRAGMA main.synchronous = EXTRA;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main');
BEGIN;
INSERT INTO c VALUES('x', 1);
DROP TABLE c;
--! database table is locked
COMMIT;
DROP TABLE c;
SELECT * FROM v;
--= x|1

-- # the-status-tells-who-does-not-count-and-counts-nothing-against-who-is-away
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='east main');
SELECT counter_retire('east') IS NOT NULL;
--= 1
INSERT INTO c VALUES('x', 1);
SELECT schema, available, reason, rows, different FROM counter_cluster_status('c');
--= main|1|NULL|1|0
--= east|1|retired|1|0
DETACH east;
CREATE VIRTUAL TABLE temp.away USING counter_cluster(v, replicas='east main');
SELECT schema, available, reason, rows, different FROM counter_cluster_status('away');
--= main|1|NULL|1|0
--= east|0|it is not attached|NULL|NULL
INSERT INTO c(c) VALUES('integrity-check');
--! c: replica east: it is not attached
ATTACH 'east.db' AS east;
ATTACH 'west.db' AS west;
CREATE VIRTUAL TABLE temp.far USING counter_cluster(v, replicas='west east');
SELECT schema, available, reason, rows, different FROM counter_cluster_status('far');
--= west|0|it has no counter tables|NULL|NULL
--= east|1|retired|1|NULL

-- # counters-that-were-dropped-everywhere-are-no-columns-of-a-cluster
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
INSERT INTO v(v) VALUES('drop column m');
INSERT INTO east.v(v) VALUES('drop column m');
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read=ALL);
INSERT INTO c VALUES('x', 1);
SELECT * FROM c;
--= x|1
SELECT count(DISTINCT digest), digest = counter_table_digest('v') FROM counter_cluster_status('c');
--= 1|1

-- # dropped-counters-with-other-spellings-are-other-columns-for-a-cluster-too
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER, M COUNTER);
INSERT INTO v(v) VALUES('drop column m');
INSERT INTO east.v(v) VALUES('drop column M');
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read=ALL);
--! c: the tables differ in the spelling of a counter: one replica has m, east has M
SELECT * FROM counter_pull('east');
--! counter_pull: table v: the tables differ in the spelling of a counter: the giving file has M, the taking file has m

-- # a-replica-that-another-connection-writes-is-locked
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', write=ALL);
--@ connection other
BEGIN IMMEDIATE;
--@ connection main
INSERT INTO c VALUES('x', 1);
--! c: write=ALL needs 2 of 2 replicas, 1 is available: main: database is locked
INSERT INTO c(c, k) VALUES('purge below', 'c');
--! c: write=ALL needs 2 of 2 replicas, 1 is available: main: database is locked
--@ connection other
COMMIT;
--@ connection main
INSERT INTO c VALUES('x', 1);
SELECT * FROM c;
--= x|1

-- # a-sum-of-all-replicas-that-is-too-large-names-the-row
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read=ALL);
INSERT INTO main.v VALUES('x', 9223372036854775807);
INSERT INTO east.v VALUES('x', 1);
SELECT * FROM c;
--! c: column n of ('x'): integer overflow: the counts of all files add up to more than 64 bits; INSERT a number of the other sign
INSERT INTO c VALUES('x', -5);
UPDATE c SET k = 'x', n = n + 1;
UPDATE c SET k = 'z', n = n + 1;
--! c: the key of a row cannot be changed
SELECT * FROM c;
--= x|9223372036854775804

-- # a-number-that-no-text-key-is-equal-to-is-looked-for-in-all-replicas
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
INSERT INTO c VALUES('12', 1), ('x', 1);
SELECT n FROM c WHERE k = 99;
SELECT n FROM c WHERE k = 12;
--= 1
SELECT n FROM c WHERE k = 12.0;
UPDATE c SET n = n + 1 WHERE k = 99;
UPDATE c SET n = n + 1 WHERE k = 12;
SELECT * FROM east.v;
--= 12|2
--= x|1

-- # a-leader-that-proves-to-have-a-twin-makes-way-within-the-statement
PRAGMA main.synchronous = EXTRA;
SELECT counter_init('dc1:a');
--= 4e441b18-adda-384a-ae47-837be078edba
ATTACH 'east.db' AS east;
ATTACH 'west.db' AS west;
PRAGMA east.synchronous = EXTRA;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE west.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east west');
INSERT INTO c VALUES('x', 1), ('y', 1);
-- main has counted there, says east, and main knows nothing of it
UPDATE east.v_cells SET n = (SELECT counter_collect('4e441b18-adda-384a-ae47-837be078edba', 9, 9)) WHERE k = 'x';
INSERT INTO c VALUES('y', 1), ('x', 1);
SELECT k, CASE id WHEN counter_id() THEN 'main' WHEN counter_id('east') THEN 'east' END AS who, clock, value FROM main.v_cells, counter_shards(n) ORDER BY 1, 2;
--= x|main|1|1
--= y|main|2|2
SELECT refuses FROM counter_identity();
--= conflict
SELECT * FROM c;
--= x|10
--= y|2
INSERT INTO main.v VALUES('x', 1);
--!~ v: main is 'dc1:a' and does not count, *(conflict): *

-- # keys-without-a-type-are-compared-as-values-are-and-options-may-stand-in-lines
CREATE VIRTUAL TABLE v USING counter(k, j, n COUNTER, PRIMARY KEY(k, j));
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE east.v USING counter(k, j, n COUNTER, PRIMARY KEY(k, j));
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main', replicas='main');
--! c: replicas is given twice
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v,	replicas
 =	'main east'	, read_repair =
none,	read='ALL');
INSERT INTO c VALUES(1, 1.5, 1), (1, 'a', 1), (1, x'61', 1), ('1', 1, 1), (x'', '', 1), (1, 1, 1);
INSERT INTO east.v VALUES(1, 1.5, 1), (1, 'a', 1), (1, x'61', 1), ('1', 1, 1), (x'', '', 1), (1, 1, 1), (1, 'b', 1), (1, '', 1), (1, x'', 1), (1.25, 1, 1);
SELECT typeof(k), typeof(j), k, CASE typeof(j) WHEN 'blob' THEN hex(j) ELSE j END, n FROM c;
--= integer|integer|1|1|2
--= integer|real|1|1.5|2
--= integer|text|1||1
--= integer|text|1|a|2
--= integer|text|1|b|1
--= integer|blob|1||1
--= integer|blob|1|61|2
--= real|integer|1.25|1|1
--= text|integer|1|1|2
--= blob|text|||2
SELECT schema, rows, different FROM counter_cluster_status('c');
--= main|6|0
--= east|10|10

-- # of-two-names-of-a-file-the-one-counts-that-the-transaction-has-written
ATTACH 'phone.db' AS second;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE second.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main first second', read=ONE, write=ONE);
BEGIN;
INSERT INTO c VALUES('a', 1);
ATTACH 'phone.db' AS first;
INSERT INTO c VALUES('a', 1);
SELECT * FROM c;
--= a|2
SELECT schema, reason FROM counter_cluster_status('c');
--= main|NULL
--= first|it is the same file as second
--= second|NULL
COMMIT;
SELECT * FROM main.v UNION ALL SELECT * FROM second.v;
--= a|2
--= a|2
SELECT schema, reason FROM counter_cluster_status('c');
--= main|NULL
--= first|NULL
--= second|it is the same file as first

-- # of-two-names-of-a-file-the-one-counts-that-the-transaction-has-read
--@ since 3.34
ATTACH 'phone.db' AS second;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE second.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main first second', read=ONE, write=ONE);
BEGIN;
SELECT count(*) FROM second.v;
--= 0
ATTACH 'phone.db' AS first;
INSERT INTO c VALUES('a', 1);
COMMIT;
SELECT * FROM main.v UNION ALL SELECT * FROM second.v;
--= a|1
--= a|1

-- # of-two-names-of-a-file-the-one-that-was-written-counts-before-the-one-that-was-read
--@ whole-sqlite
--@ since 3.34
--@ not-wal
ATTACH 'phone.db' AS first;
PRAGMA first.journal_mode = WAL;
--= wal
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE first.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main first second', read=ONE, write=ONE);
ATTACH 'phone.db' AS second;
BEGIN;
SELECT count(*) FROM first.v;
--= 0
INSERT INTO second.v VALUES('a', 1);
INSERT INTO c VALUES('a', 10);
INSERT INTO c(c) VALUES('read=TWO');
SELECT * FROM c;
--= a|11
COMMIT;
SELECT * FROM second.v;
--= a|11

-- # what-one-cluster-has-not-committed-another-gives-to-no-earlier-file
ATTACH 'east.db' AS east;
ATTACH 'west.db' AS west;
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER);
SELECT count(*) FROM counter_push('east');
--= 1
SELECT count(*) FROM counter_push('west');
--= 1
CREATE VIRTUAL TABLE temp.a USING counter_cluster(t, replicas='east west');
CREATE VIRTUAL TABLE temp.b USING counter_cluster(t, replicas='main west');
CREATE VIRTUAL TABLE temp.c USING counter_cluster(t, replicas='west east');
BEGIN;
INSERT INTO a VALUES('k', 1);
INSERT INTO b VALUES('k', 1);
--! b: west has merged counts in this transaction, and only committed changes go to other replicas: COMMIT first
INSERT INTO c VALUES('k', 1);
COMMIT;
INSERT INTO b VALUES('k', 1);
SELECT n FROM main.t;
--= 3

-- # a-database-in-memory-is-a-replica-and-gives-nothing-that-is-not-committed
PRAGMA synchronous = EXTRA;
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH ':memory:' AS m;
SELECT count(*) FROM counter_push('m');
--= 1
CREATE VIRTUAL TABLE temp.c USING counter_cluster(t, replicas='m main');
INSERT INTO c VALUES('k', 1);
BEGIN;
INSERT INTO m.t VALUES('k', 1);
SELECT * FROM counter_pull('m');
--! counter_pull: m has counted in this transaction, and only what is committed is given to other files: COMMIT first
INSERT INTO c VALUES('k', 1);
--! c: m has counted in this transaction, and only committed changes go to other replicas: COMMIT first
COMMIT;
SELECT rows_changed FROM counter_pull('m');
--= 1
SELECT main.t.n, m.t.n FROM main.t, m.t;
--= 2|2

-- # what-an-assignment-acknowledges-has-reached-all-replicas
ATTACH 'east.db' AS east;
ATTACH 'west.db' AS west;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
SELECT rows_changed FROM counter_push('east');
--= 0
SELECT rows_changed FROM counter_push('west');
--= 0
PRAGMA synchronous = EXTRA;
PRAGMA east.synchronous = EXTRA;
PRAGMA west.synchronous = EXTRA;
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east west', write=ALL);
INSERT INTO c VALUES('x', 5, 5);
INSERT INTO main.v VALUES('x', 100, 0);
UPDATE c SET a = 105 WHERE k = 'x';
SELECT a, b FROM east.v UNION ALL SELECT a, b FROM west.v;
--= 105|5
--= 105|5
INSERT INTO main.v VALUES('x', 1, 1);
REPLACE INTO c VALUES('x', 106.0, '6');
SELECT a, b FROM east.v UNION ALL SELECT a, b FROM west.v;
--= 106|6
--= 106|6
DELETE FROM c;
INSERT OR IGNORE INTO c(k, b) VALUES('x', 3), ('x', 4);
INSERT INTO c(k) VALUES('x'), ('y');
SELECT * FROM east.v;
--= x|0|3
--= y|0|0
SELECT count(DISTINCT counter_table_digest('v', name)) FROM (SELECT 'main' AS name UNION SELECT 'east' UNION SELECT 'west');
--= 1

-- # a-cluster-made-anew-in-a-transaction-that-is-rolled-back-is-the-one-before
PRAGMA main.synchronous = EXTRA;
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main phone', read=ALL);
INSERT INTO c VALUES('x', 1);
BEGIN;
DROP TABLE c;
CREATE VIRTUAL TABLE temp.c USING counter_cluster(w, replicas='main', read=ONE);
ROLLBACK;
INSERT INTO c VALUES('x', 2);
SELECT counter_add('c', 'n', 4, 'x');
--= 7
SELECT * FROM v;
--= x|7
SELECT * FROM phone.v;
--= x|7
SELECT count(*) FROM w;
--= 0
CREATE VIRTUAL TABLE temp.d USING counter_cluster(w, replicas='main');
BEGIN;
DROP TABLE c;
ALTER TABLE d RENAME TO c;
ROLLBACK;
INSERT INTO c VALUES('x', 8);
SELECT counter_add('c', 'n', 16, 'x');
--= 31
INSERT INTO d VALUES('y', 5);
SELECT * FROM v;
--= x|31
SELECT * FROM w;
--= y|5
ALTER TABLE d RENAME TO e;
SELECT counter_add('e', 'n', 1, 'y');
--= 6

-- # a-cluster-whose-create-was-rolled-back-is-none
PRAGMA main.synchronous = EXTRA;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
BEGIN;
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main');
SELECT counter_add('c', 'n', 1, 'x');
--= 1
ROLLBACK;
SELECT counter_add('c', 'n', 1, 'x');
--! counter_add: there is no counter table 'c'
SELECT * FROM counter_cluster_status('c');
--! counter_cluster_status: no cluster has the name 'c'
SELECT count(*) FROM v;
--= 0

-- # optimize-is-for-one-replica-and-takes-no-values
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east');
INSERT INTO c(c) VALUES('optimize');
--! c: 'optimize' is a command for the table of one replica: run it there
INSERT INTO c(c, k) VALUES('optimize', 'x');
--! c: optimize takes no value for column k
INSERT INTO v(v, k) VALUES('optimize', 'x');
--! v: optimize takes no value for column k
INSERT INTO v(v, n) VALUES('optimize', 1);
--! v: optimize takes no value for column n

-- # a-cluster-that-is-opened-again-keeps-what-its-replicas-have-dropped
ATTACH 'east.db' AS east;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read=ALL);
INSERT INTO v(v) VALUES('drop column m');
INSERT INTO east.v(v) VALUES('drop column m');
CREATE TABLE other(x);
INSERT INTO c VALUES ('a', 1);
SELECT * FROM c;
--= a|1
SELECT count(DISTINCT digest), digest = counter_table_digest('v') FROM counter_cluster_status('c');
--= 1|1

-- # a-cluster-whose-table-is-gone-in-one-replica-is-opened-again-with-its-columns
ATTACH 'east.db' AS east;
PRAGMA east.synchronous = EXTRA;
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE east.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main east', read=ONE, write=ONE);
INSERT INTO c VALUES ('a', 1);
DROP TABLE v;
BEGIN;
CREATE TEMP TABLE other(x);
ROLLBACK;
SELECT * FROM c;
--= a|1
INSERT INTO c VALUES ('a', 1);
SELECT * FROM c;
--= a|2
