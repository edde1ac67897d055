-- Pull, push and sync between files.

-- name: SYNC_SAVEPOINT
SAVEPOINT _counter_session;

-- name: SYNC_RELEASE
RELEASE _counter_session;

-- name: SYNC_ROLLBACK
ROLLBACK TO _counter_session;

-- name: SYNC_SNAPSHOT
BEGIN;

-- Reads the first page, which begins a snapshot and says whether the file is a database.
-- name: SYNC_TOUCH
SELECT count(*) FROM "{schema}".sqlite_master;

-- name: SYNC_QUERY_ONLY
PRAGMA query_only;

-- name: SYNC_LOCKING_MODE
PRAGMA "{schema}".locking_mode;

-- name: SYNC_USER_VERSION
PRAGMA "{schema}".user_version;

-- The contents of a table besides its cells: the last number of its segments; its own in the journal;
-- the last numbers of its floors, and of answers about openings, NULL if it has none; and whether it has generations of counters, which
-- have no number.
-- name: SYNC_NEWEST
SELECT (SELECT max(s.number) FROM "{schema}".counter_segments AS s WHERE s.tab = t.number),
       t.number,
       (SELECT max(seq) FROM "{schema}".counter_state
         WHERE tab = t.number AND kind = 'floors' AND row = 0 AND name = ''),
       (SELECT max(seq) FROM "{schema}".counter_state
         WHERE tab = t.number AND kind BETWEEN 'answer' AND 'answer'),
       EXISTS (SELECT 1 FROM "{schema}".counter_state
                WHERE tab = t.number AND kind BETWEEN 'counter' AND 'counter')
  FROM "{schema}".counter_tables AS t WHERE t.name = :name;

-- A write that changes nothing; "{value}" is the current version. Prepared before the savepoint,
-- stepped only if the savepoint could not be rolled back.
-- name: SYNC_WRITE_NOTHING
PRAGMA "{schema}".user_version = "{value}";

-- The program of an ATTACH that is not run. Asks the authorizer, which may refuse the ATTACH, or
-- ignore it, which leaves its function out. Columns: addr, opcode, ...
-- name: SYNC_EXPLAIN_ATTACH
EXPLAIN ATTACH "{value}" AS _counter_source;

-- Works for a moment, so that SQLite notices an interrupt.
-- name: SYNC_WORK
WITH RECURSIVE count(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM count WHERE n < 1000) SELECT max(n) FROM count;

-- name: SYNC_BUSY_TIMEOUT
PRAGMA busy_timeout;

-- name: SYNC_CREATE_TABLE
CREATE VIRTUAL TABLE "{schema}"."{table}" USING counter("{definition}");

-- name: SYNC_ROLLBACK_ALL
ROLLBACK;

-- Changes nothing. Takes the write lock before anything is read, because only then SQLite waits for
-- it.
-- name: SYNC_LOCK
DELETE FROM "{schema}".counter_replica WHERE 0;

-- The number of changed pages from which on SQLite writes some early; 0: never.
-- name: SYNC_SPILL
PRAGMA "{schema}".cache_spill;

-- name: SYNC_SET_SPILL
PRAGMA "{schema}".cache_spill = "{value}";

-- The size of the cache: pages, or KiB if negative.
-- name: SYNC_CACHE
PRAGMA "{schema}".cache_size;

-- name: SYNC_SET_CACHE
PRAGMA "{schema}".cache_size = "{value}";

-- name: SYNC_JOURNAL_MODE
PRAGMA "{schema}".journal_mode;

-- Changes nothing. The counter table joins the transaction, and SQLite tells it of the end.
-- name: SYNC_JOIN
DELETE FROM "{schema}"."{table}" WHERE 0;

-- Changes as lines: functions/lines.c, functions/take.c. Columns and answers come first, whatever their number: a
-- bound must be known before the rows that it holds for, and rows may need answers.

-- name: LINES_CHANGES
SELECT CASE WHEN substr(change, 1, 1) IN (x'03', x'04') THEN 0 ELSE seq END, table_name, key_columns, key, change, seq, source, upto
  FROM counter_changes(:since)
 WHERE own = :own AND partial = 1 AND of IS :of AND mine IS :mine ORDER BY 1;

-- name: LINES_CHANGES_IN_SCOPE
SELECT CASE WHEN substr(change, 1, 1) IN (x'03', x'04') THEN 0 ELSE seq END, table_name, key_columns, key, change, seq, source, upto
  FROM counter_changes(:since)
 WHERE own = :own AND partial = 1 AND scope = :scope AND of IS :of AND mine IS :mine ORDER BY 1;

-- name: LINES_OWN
SELECT line, upto, changes FROM counter_lines(:since, 1);

-- Gives the right to use directories; the parameter is a pointer.
-- name: FOLDERS_ALLOW
SELECT counter_folders(?1);

-- name: LINES_WARNINGS
SELECT table_name || ': ' || warning FROM counter_warnings WHERE kind NOT IN ('foreign key', 'counter') LIMIT 100;
