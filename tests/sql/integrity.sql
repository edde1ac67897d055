-- PRAGMA integrity_check looks behind virtual tables since 3.44.

-- # planted-damage-is-a-row-of-pragma-integrity-check
--@ since 3.44
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 1, 1), ('y', 2, 2);
PRAGMA integrity_check;
--= ok
PRAGMA quick_check;
--= ok
UPDATE v_cells SET b = substr(b, 1, 5) WHERE k = 'x';
PRAGMA integrity_check;
--= counter table main.v: column b of ('x'): the cell is truncated
PRAGMA quick_check('v');
--= counter table main.v: column b of ('x'): the cell is truncated
DELETE FROM v_cells WHERE k = 'x';
DELETE FROM counter_journal;
PRAGMA quick_check;
--= ok
PRAGMA integrity_check;
--~ counter table main.v: *
DELETE FROM counter_tables;
PRAGMA quick_check;
--= counter table main.v: the table is missing in counter_tables

-- # pragma-integrity-check-sees-what-a-transaction-has-counted
--@ since 3.44
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
BEGIN;
INSERT INTO v VALUES('x', 1), ('y', 1);
PRAGMA integrity_check;
--= ok
COMMIT;
PRAGMA integrity_check;
--= ok
SELECT * FROM v;
--= x|2
--= y|1

-- # a-journal-that-is-no-blob-is-damage
CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES ('x', 1);
UPDATE counter_journal SET entries = 5;
INSERT INTO v(v) VALUES ('integrity-check');
--!~ v: integrity-check: counter_journal is damaged: row * has no entries
