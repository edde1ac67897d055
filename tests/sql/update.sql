-- UPDATE makes a counter what the assignment says, and counts the difference.

-- # increments-in-a-row
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
UPDATE v SET n = n - 4;
UPDATE v SET n = n + 1 WHERE k = 'x';
UPDATE v SET n = 2 * n - 7 + 9 WHERE n = -2;
SELECT n FROM v;
--= -2
BEGIN;
UPDATE v SET n = n + 1;
UPDATE v SET n = n + 125;
UPDATE v SET n = n - 64;
COMMIT;
SELECT n FROM v;
--= 60
INSERT INTO v(v) VALUES('optimize');
SELECT counter_json(n) LIKE '%"clock":6,"value":60%' FROM v_cells;
--= 1

-- # an-assignment-sets-the-value-and-counts-the-difference
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 1, 10), ('y', 2, 20);
UPDATE v SET a = 5 WHERE k = 'x' AND a > 0;
SELECT * FROM v;
--= x|5|10
--= y|2|20
UPDATE v SET b = a, a = 5;
SELECT * FROM v;
--= x|5|5
--= y|5|2
UPDATE v SET a = b, b = a WHERE k = 'y';
SELECT * FROM v;
--= x|5|5
--= y|2|5
UPDATE v SET b = a + b, a = -5;
SELECT * FROM v;
--= x|-5|10
--= y|-5|7
UPDATE v SET a = NULL;
--! v: column a: a counter takes an INTEGER, not NULL
UPDATE v SET k = CASE WHEN a > 0 THEN k ELSE k END, a = '6';
UPDATE v SET a = (SELECT max(n.b) FROM v AS n), b = (SELECT 5.0);
SELECT * FROM v;
--= x|10|5
--= y|10|5
INSERT INTO v(v) VALUES('optimize');
SELECT id = counter_id(), value FROM v_cells, counter_shards(a);
--= 1|10
--= 1|10

-- # what-others-have-counted-stays-theirs-when-a-value-is-set
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 100);
SELECT rows_changed FROM counter_sync('phone');
--= 1
UPDATE phone.v SET n = 42;
INSERT INTO v VALUES('x', 5);
SELECT rows_changed FROM counter_sync('phone');
--= 2
SELECT n FROM v UNION ALL SELECT n FROM phone.v;
--= 47
--= 47
SELECT value FROM v_cells, counter_shards(n) ORDER BY value;
--= -58
--= 105
UPDATE v SET n = 9223372036854775807;
--! v: column n: integer overflow: with the value 9223372036854775807, the count of this file would exceed 64 bits
UPDATE v SET n = 9223372036854775700;
SELECT n FROM v;
--= 9223372036854775700

-- # an-assignment-may-be-any-expression
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 1, 10), ('y', 2, 20);
UPDATE v SET a = abs(max(a, 0)) + length(k), b = coalesce(nullif(b, 10), b) - 1;
SELECT * FROM v;
--= x|2|9
--= y|3|19
UPDATE v SET a = a + (SELECT count(*) FROM v AS o WHERE o.a < v.a);
SELECT * FROM v;
--= x|2|9
--= y|4|19
UPDATE v SET a = (SELECT v.a + 1);
SELECT * FROM v;
--= x|3|9
--= y|5|19
UPDATE v SET (a, b) = (a + 1, b + 1) WHERE k = 'x';
SELECT * FROM v;
--= x|4|10
--= y|5|19

-- # both-counters-may-read-each-other
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 1, 10);
UPDATE v SET a = a + b, b = b - a;
SELECT * FROM v;
--= x|11|9

-- # columns-may-be-set-from-one-subquery
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 1, 10);
UPDATE v SET (b, a) = (SELECT b + 1, a + 1);
SELECT * FROM v;
--= x|2|11

-- # a-difference-of-zero-changes-nothing
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
UPDATE v SET n = n + 0, k = k;
SELECT counter_json(n) LIKE '%"clock":1,"value":1}]}' FROM v_cells;
--= 1

-- # results-that-are-no-integers-are-refused
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
UPDATE v SET n = n + NULL;
--! v: column n: a counter takes an INTEGER, not NULL
UPDATE v SET n = n + 0.5;
--! v: column n: a counter takes an INTEGER, not REAL 1.5
UPDATE v SET n = n || ' one';
--! v: column n: a counter takes an INTEGER, not TEXT '1 one'
UPDATE v SET n = substr(x'31', n);
--! v: column n: a counter takes an INTEGER, not BLOB x'31'
UPDATE OR IGNORE v SET n = n + NULL;
--! v: column n: a counter takes an INTEGER, not NULL
SELECT * FROM v;
--= x|1

-- # a-difference-may-be-wider-than-a-counter
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', -2);
UPDATE v SET n = CASE WHEN n < 0 THEN 9223372036854775807 ELSE n END;
SELECT * FROM v;
--= x|9223372036854775807
BEGIN;
UPDATE v SET n = -9223372036854775808;
UPDATE v SET n = 9223372036854775807;
UPDATE v SET n = -9223372036854775808;
COMMIT;
REPLACE INTO v SELECT 'x', '9223372036854775807';
SELECT * FROM v;
--= x|9223372036854775807
UPDATE v SET n = n + 1;
--! v: column n: a counter takes an INTEGER, not REAL 9.22337203685478e+18: integer overflow

-- # a-key-keeps-its-value
CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE, j INTEGER, n COUNTER, PRIMARY KEY(k, j));
INSERT INTO v VALUES('x', 1, 1);
UPDATE v SET k = 'x', j = '1', n = n + 1;
UPDATE v SET k = k, j = j + 0, n = n + 1;
SELECT * FROM v;
--= x|1|3
UPDATE v SET k = 'X', n = n + 1;
--! v: the key of a row cannot be changed
UPDATE v SET j = 2;
--! v: the key of a row cannot be changed
UPDATE v SET j = NULL;
--! v: key column j must not be NULL
SELECT * FROM v;
--= x|1|3

-- # a-row-id-keeps-its-value
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
UPDATE v SET rowid = rowid, n = n + 1;
UPDATE v SET rowid = rowid + 1, n = n + 1;
--! v: the row id cannot be changed
UPDATE v SET rowid = NULL, n = n + 1;
--! v: the row id cannot be changed
SELECT * FROM v;
--= x|2

-- # update-from-takes-one-of-the-rows-that-match
--@ since 3.33
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 1, 10), ('y', 2, 20), ('z', 3, 30);
CREATE TABLE src(k, n);
INSERT INTO src VALUES('x', 100), ('x', 1000), ('y', 7);
UPDATE v SET a = a + src.n FROM src WHERE src.k = v.k;
SELECT * FROM v;
--= x|1001|10
--= y|9|20
--= z|3|30
UPDATE v SET a = src.n FROM src WHERE src.k = v.k;
UPDATE v SET a = v.b FROM src WHERE src.k = v.k;
SELECT * FROM v;
--= x|10|10
--= y|20|20
--= z|3|30
UPDATE v SET a = src.n, b = v.b + v.a FROM src WHERE src.k = v.k AND v.a > 0;
INSERT INTO v(v, k) VALUES('delete b', 'x');
UPDATE v SET a = a + src.n FROM src WHERE src.k = v.k AND src.k = 'x';
SELECT * FROM v;
--= x|2000|NULL
--= y|7|40
--= z|3|30

-- # two-pass-updates-add-once
CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES(1, 1), (2, 2), (3, 3), (4, 4);
UPDATE v SET n = n + 10 WHERE k IN (SELECT k FROM v WHERE n > 1);
UPDATE v SET n = n + 100 WHERE k > 1 AND n < (SELECT avg(n) FROM v);
SELECT * FROM v;
--= 1|1
--= 2|12
--= 3|13
--= 4|14
UPDATE v SET n = n + (SELECT sum(n) FROM v) WHERE k <= 2;
SELECT * FROM v ORDER BY k;
--= 1|41
--= 2|52
--= 3|13
--= 4|14
UPDATE v SET n = 5 WHERE k IN (SELECT k FROM v WHERE n > 40);
SELECT * FROM v;
--= 1|5
--= 2|5
--= 3|13
--= 4|14

-- # triggers-update-like-any-other-statement
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
CREATE TABLE page(k, w);
CREATE TRIGGER adds AFTER INSERT ON page WHEN new.w > 0 BEGIN UPDATE v SET n = n + new.w WHERE k = new.k AND n > 0; END;
CREATE TRIGGER sets AFTER INSERT ON page WHEN new.w < 0 BEGIN UPDATE v SET n = new.w WHERE k = new.k AND n > 0; END;
INSERT INTO page VALUES('x', 5), ('x', 6), ('nosuch', 7);
INSERT INTO page VALUES('x', -5);
SELECT n, (SELECT count(*) FROM page) FROM v;
--= -5|4

-- # an-update-from-that-fails-half-way-cannot-be-committed
--@ since 3.33
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE src(k TEXT PRIMARY KEY, x);
INSERT INTO v VALUES('a', 1), ('b', 1), ('c', 1), ('d', 1);
INSERT INTO src VALUES('a', 2), ('b', 3), ('c', NULL), ('d', 4);
UPDATE v SET n = s.x FROM src AS s WHERE s.k = v.k;
--! v: column n: a counter takes an INTEGER, not NULL
SELECT sum(n) FROM v;
--= 4
BEGIN;
INSERT INTO v VALUES('e', 1);
UPDATE v SET n = s.x FROM src AS s WHERE s.k = v.k;
--! v: column n: a counter takes an INTEGER, not NULL
COMMIT;
--! COMMIT: a statement of this transaction failed half-way and could not be undone: the transaction is rolled back
SELECT sum(n) FROM v;
--= 4
BEGIN;
INSERT INTO v VALUES('e', 1);
SAVEPOINT s;
UPDATE v SET n = s.x FROM src AS s WHERE s.k = v.k;
--! v: column n: a counter takes an INTEGER, not NULL
ROLLBACK TO s;
COMMIT;
SELECT sum(n) FROM v;
--= 5
BEGIN;
UPDATE v SET n = 7 WHERE k = 'a';
UPDATE v SET n = NULL WHERE k = 'b';
--! v: column n: a counter takes an INTEGER, not NULL
UPDATE v SET n = CASE k WHEN 'c' THEN NULL ELSE 9 END;
--! v: column n: a counter takes an INTEGER, not NULL
UPDATE v SET n = CASE k WHEN 'c' THEN NULL ELSE 9 END WHERE k IN ('b', 'c');
--! v: column n: a counter takes an INTEGER, not NULL
COMMIT;
SELECT * FROM v;
--= a|7
--= b|1
--= c|1
--= d|1
--= e|1

-- # no-statement-makes-a-counter-unreadable
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'phone.db' AS phone;
INSERT INTO v VALUES('x', 9223372036854775807);
SELECT rows_changed FROM counter_push('phone');
--= 1
INSERT INTO phone.v VALUES('x', 1);
--! v: column n: integer overflow: 1 cannot be added
INSERT INTO phone.v VALUES('x', -1);
INSERT INTO v VALUES('x', -10);
UPDATE phone.v SET n = 9223372036854775807;
SELECT rows_changed FROM counter_sync('phone');
--= 2
SELECT n FROM v;
--= 9223372036854775797
INSERT INTO v VALUES('x', 10);
INSERT INTO phone.v VALUES('x', 10);
SELECT rows_changed FROM counter_sync('phone');
--= 2
SELECT n FROM v;
--!~ v: column n of ('x'): integer overflow: *
INSERT INTO phone.v VALUES('x', 1);
--! v: column n: integer overflow: 1 cannot be added
INSERT INTO phone.v VALUES('x', -20);
SELECT rows_changed FROM counter_sync('phone');
--= 1
SELECT n FROM v;
--= 9223372036854775797
