-- What the commands ask, by names; tools/embed.awk makes constants of them, CLI_SQL_<name>.

-- ---- files ---------------------------------------------------------------------------------------

-- Reads the first page: is it a database?
-- name: TOUCH
SELECT count(*) FROM sqlite_master;

-- Fails if the file is of a format that the library does not know.
-- name: HAS_IDENTITY
SELECT 1 FROM counter_identity WHERE state <> 'former';

-- name: HAS_CATALOG
SELECT count(*) FROM sqlite_master WHERE name = 'counter_tables';

-- name: COUNT_TABLES
SELECT count(*) FROM counter_tables;

-- Rows of tracked tables, by what is the matter with them.
-- A row that lost its number, and that this file cannot insert again, waits for that.
-- name: COUNT_APART
SELECT state, count(*) FROM (
  SELECT DISTINCT CASE state WHEN 'refused' THEN 'waits' ELSE state END AS state, table_name, row_key, state = 'refused'
    FROM counter_tracked WHERE state IN ('waits', 'differs', 'refused'))
 GROUP BY state ORDER BY state DESC;

-- Foreign keys stay as they are: status tells of them. A warning calls the file "main".
-- name: WARNINGS
SELECT table_name, replace(warning, ' in main', ' in ' || ?1) FROM counter_warnings WHERE kind NOT IN ('foreign key', 'counter');

-- Takes no changes, and tries again what is apart: a table may take it since.
-- name: RETRY_APART
SELECT counter_seen(counter_settle(), 0, 0) WHERE EXISTS (SELECT 1 FROM counter_tracked WHERE state IN ('waits', 'differs', 'refused'));

-- Files match their tables by the name that they were created with.
-- name: IS_BORN
SELECT 1 FROM counter_tables WHERE birth = ?1;

-- ---- sync ----------------------------------------------------------------------------------------

-- The counters of a table that is tracked under the name it was created with, else NULL; and whether
-- it is replicated.
-- name: GIVEN_TABLES
SELECT birth, (SELECT group_concat(column_name, ' ') FROM counter_tracked
                WHERE table_name = t.birth COLLATE NOCASE AND row_key IS NULL AND state IN ('tracked', 'broken')),
       EXISTS (SELECT 1 FROM pragma_table_info(t.name || '_cells') WHERE name = '_row')
  FROM counter_tables AS t ORDER BY birth;

-- name: IS_ORDINARY
SELECT 1 FROM sqlite_master WHERE name = ?1 COLLATE NOCASE AND type = 'table';

-- name: IS_TRACKED
SELECT 1 FROM counter_tracked WHERE table_name = ?1 COLLATE NOCASE AND row_key IS NULL;

-- name: IS_SPREAD
SELECT 1 FROM counter_tracked WHERE table_name = ?1 COLLATE NOCASE AND row_key IS NULL AND state = 'spread';

-- The note calls the file that takes "main".
-- name: PULL
SELECT table_name, rows_read, rows_changed, conflicts, replace(note, ' in main', ' in ' || ?2), more
  FROM counter_pull(?1, ?3);

-- The same, both ways, which also levels what both may take of bounded counters: what the file has
-- done, what the other one, and the note with both as they are called.
-- name: SYNC
SELECT table_name, rows_read - read_there, rows_changed - changed_there, conflicts - conflicts_there,
       read_there, changed_there, conflicts_there,
       replace(replace(replace(note, 'in ' || ?1, 'in ' || char(1)), ' in main', ' in ' || ?2), char(1), ?4)
  FROM counter_sync(?1, ?3);

-- name: COUNT_BOUNDED
SELECT count(*) FROM counter_state WHERE kind = 'counter' AND rows = 1;

-- name: PUSH_INTO
SELECT source, rows_read, upto, note FROM counter_push(?1);

-- name: PULL_FROM
SELECT source, rows_read, upto, note FROM counter_pull(?1, NULL, ?2);

-- ---- status --------------------------------------------------------------------------------------

-- A copy of a file with a name refuses to count as soon as it tries; only then that is stored.
-- name: IDENTITY
SELECT id, name, fingerprint, witness,
       coalesce(refuses, CASE WHEN fingerprint LIKE '%refuses to count' THEN fingerprint
                              WHEN witness LIKE '%refuses to count' THEN witness END)
  FROM counter_identity WHERE state <> 'former' LIMIT 1;

-- name: TABLES
SELECT name FROM counter_tables ORDER BY name;

-- name: COUNTERS
SELECT name FROM pragma_table_info(?1) WHERE "notnull" = 0 ORDER BY cid;

-- name: TRACKED
SELECT state, table_name,
       CASE WHEN state <> 'spread' THEN column_name
            ELSE printf('%s: from %s, greatest key: %d, %s', column_name, ifnull(merged, 'the next write'), shown, why) END
  FROM counter_tracked WHERE row_key IS NULL;

-- For each bounded counter: its rows of which this file may take; in which it owes; of which something
-- nobody may take, because it is granted to the id 0, or to an opening of unknown make.
-- name: BOUNDED
SELECT t.name, s.name,
       count(DISTINCT CASE WHEN here AND rights > 0 THEN key END),
       count(DISTINCT CASE WHEN here AND rights < 0 THEN key END),
       count(DISTINCT CASE WHEN NOT here AND rights > 0 AND (id GLOB '00000000-*' OR substr(id, 15, 1) = '8') THEN key END)
  FROM counter_state AS s
  JOIN counter_tables AS t ON t.number = s.tab
  LEFT JOIN counter_rights(t.name) AS r ON r.column_name = s.name COLLATE NOCASE
 WHERE s.kind = 'counter' AND s.rows = 1 AND s.value % 2 = 1
 GROUP BY t.name, s.name;

-- name: ALL_WARNINGS
SELECT table_name, warning FROM counter_warnings;

-- name: APART
SELECT state, table_name, column_name, row_key, shown, merged FROM counter_tracked
 WHERE row_key IS NOT NULL;

-- name: COUNT_CONFLICTS
SELECT count(*) FROM counter_conflicts;

-- name: FOLDER
SELECT path, source, strftime('%Y-%m-%d %H:%M:%S', written, 'unixepoch'), upto, mark FROM counter_folder(?1)
 ORDER BY source IS NULL, path;

-- ---- check ---------------------------------------------------------------------------------------

-- name: NEXT_TABLE
SELECT name FROM counter_tables WHERE name > ?1 ORDER BY name LIMIT 1;

-- name: BROKEN
SELECT DISTINCT table_name, 'damaged', 'the triggers of the tracked table are not whole'
  FROM counter_tracked WHERE state = 'broken';

-- ---- grant ---------------------------------------------------------------------------------------

-- name: SETTLE
SELECT counter_settle();

-- The counter table of a table with this name; its own name, too.
-- name: COUNTERS_OF
SELECT name FROM counter_tables AS t
 WHERE name = ?1 COLLATE NOCASE
    OR EXISTS (SELECT 1 FROM sqlite_master
                WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE AND name = t.name || '_insert');

-- name: BOUNDED_OF
SELECT count(*), group_concat(name, ', ') FROM counter_state
 WHERE tab = (SELECT number FROM counter_tables WHERE name = ?1)
   AND kind = 'counter' AND rows = 1 AND value % 2 = 1;

-- The key columns, in the order of the key: an index of several has that.
-- name: KEYS_OF
SELECT c.name FROM pragma_table_info(?1) AS c
  LEFT JOIN (SELECT i.name, i.seqno FROM pragma_index_list(?1 || '_cells') AS l, pragma_index_info(l.name) AS i
              WHERE l."unique") AS k ON k.name = c.name
 WHERE c."notnull" ORDER BY k.seqno;

-- The values of a key: an array of JSON, in which a BLOB is {"hex":"00ff"}, or a plain value.
-- name: KEY_VALUES
WITH given(key) AS (SELECT CASE WHEN ?1 LIKE '[%' AND json_valid(?1) THEN ?1 ELSE json_array(?1) END),
 listed AS (SELECT value, type, json_extract(CASE type WHEN 'object' THEN value END, '$.hex') AS hex,
                   json_extract(CASE type WHEN 'object' THEN value END, '$.text') AS text
              FROM given, json_each(given.key))
SELECT value, type IN ('integer', 'real', 'text') OR length(ifnull(hex, text)) % 2 = 0 AND NOT ifnull(hex, text) GLOB '*[^0-9a-fA-F]*',
       hex, text FROM listed;

-- name: RIGHTS_OF_BOTH
SELECT max(CASE WHEN here THEN id END), ifnull(sum(CASE WHEN here THEN rights END), 0), ifnull(sum(CASE WHEN id = ?3 THEN rights END), 0)
  FROM counter_rights(?1) WHERE column_name = ?2 COLLATE NOCASE AND key = ?4;

-- ---- export --------------------------------------------------------------------------------------

-- name: LINES
SELECT line, upto, changes FROM counter_lines(?1, ?2, ?3);

-- name: END_OF_CHANGES
SELECT counter_changes_end();

-- ---- import --------------------------------------------------------------------------------------

-- name: TAKE
SELECT counter_take(?1, NULL, ?2);

-- What it has answered; nothing if there was no line.
-- name: ANSWERED
SELECT json_extract(?1, '$.changes'), key, value FROM json_each(?1, '$.marks');

-- name: MARK
SELECT counter_mark(?1);

-- ---- a server ------------------------------------------------------------------------------------

-- name: REQUEST
SELECT upload, query, mine FROM counter_request(?1, ?2);

-- name: HEARD
SELECT source, mine, more, warnings FROM counter_heard(?1, ?2, ?3, ?4);

-- What a server warns of.
-- name: WARNED
SELECT value FROM json_each(?1) WHERE type = 'text' LIMIT 100;

-- What a server says is wrong.
-- name: SENTENCE
SELECT json_extract(?1, '$.error') WHERE json_valid(?1) AND json_type(?1, '$.error') = 'text';

-- ---- plan and adopt ------------------------------------------------------------------------------

-- name: PLAN_TABLES
SELECT table_name, kind, column_name, finding FROM counter_plan
 WHERE kind IN ('replicate', 'autoincrement', 'key', 'home', 'virtual', 'done', 'refused');

-- What is not done by adopt itself.
-- name: PLAN_REMEDIES
SELECT kind, table_name || CASE WHEN column_name IS NULL OR kind IN ('refused', 'virtual') THEN ''
                                WHEN instr(column_name, ',') THEN '(' || column_name || ')'
                                ELSE '.' || column_name END || ': ' || finding || ': ' || remedy
  FROM counter_plan WHERE remedy IS NOT NULL AND kind NOT IN ('replicate', 'autoincrement', 'key');

-- name: PLAN_JSON
SELECT json_object('table', table_name, 'kind', kind, 'column', column_name, 'finding', finding, 'remedy', remedy)
  FROM counter_plan;

-- What is to be done; shape: the columns of a table as they are and must stay.
-- name: ADOPT_PLAN
CREATE TEMP TABLE adopting AS
SELECT table_name AS name, kind, column_name AS keys, finding, remedy, declaration, key_index,
       (SELECT group_concat(quote(x.name) || ' ' || quote(type) || ' ' || "notnull" || ' ' || quote(dflt_value) || ' ' || hidden ||
                            CASE kind WHEN 'key' THEN '' ELSE ' ' || pk END, ', ')
          FROM pragma_table_xinfo(table_name, 'main') AS x) AS shape
  FROM counter_plan
 WHERE kind IN ('replicate', 'autoincrement', 'key', 'home', 'virtual', 'done', 'refused');

-- name: ADOPT_LEAVE
UPDATE temp.adopting SET kind = 'left' WHERE name = ?1 COLLATE NOCASE AND kind <> 'done';

-- name: ADOPT_IS_TABLE
SELECT 1 FROM temp.adopting WHERE name = ?1 COLLATE NOCASE;

-- name: ADOPT_REFUSED
SELECT name, finding, remedy FROM temp.adopting WHERE kind = 'refused';

-- name: ADOPT_TEXTS
SELECT name, declaration, key_index, kind, keys FROM temp.adopting WHERE declaration IS NOT NULL AND kind <> 'left';

-- name: ADOPT_COUNT_TEXTS
SELECT count(*) FROM temp.adopting WHERE declaration IS NOT NULL AND kind <> 'left';

-- Makes sqlite_sequence, and raises the number of the schema. What renames the table reads the schema
-- again in all versions of SQLite, within the transaction.
-- name: ADOPT_TOUCH
CREATE TABLE main._adopting(id INTEGER PRIMARY KEY AUTOINCREMENT);

-- name: ADOPT_WRITABLE
PRAGMA writable_schema = ON;

-- name: ADOPT_NOT_WRITABLE
PRAGMA writable_schema = OFF;

-- Views that do not compile are none of its business.
-- name: ADOPT_LEGACY
PRAGMA legacy_alter_table = ON;

-- name: ADOPT_RELOAD
ALTER TABLE main._adopting RENAME TO _adopted;

-- name: ADOPT_TOUCHED
DROP TABLE main._adopted;

-- name: ADOPT_WRITE
UPDATE main.sqlite_master SET sql = ?2 WHERE type = 'table' AND name = ?1;

-- The index of a PRIMARY KEY has a name that SQLite gives it, and no text.
-- name: ADOPT_NAME_INDEX
UPDATE main.sqlite_master
   SET sql = NULL,
       name = 'sqlite_autoindex_' || tbl_name || '_' ||
              (1 + (SELECT count(*) FROM main.sqlite_master AS o
                     WHERE o.type = 'index' AND o.tbl_name = ?1 AND o.sql IS NULL))
 WHERE type = 'index' AND tbl_name = ?1 AND name GLOB '_adopting_key_[0-9]*';

-- The greatest number that was given.
-- name: ADOPT_FORGET_SEQUENCE
DELETE FROM main.sqlite_sequence WHERE name = ?1;

-- name: ADOPT_SEQUENCE
SELECT max(seq) FROM main.sqlite_sequence WHERE name = ?1;

-- name: ADOPT_SET_SEQUENCE
INSERT INTO main.sqlite_sequence(name, seq) VALUES (?1, CAST(?2 AS INTEGER));

-- name: ADOPT_CHANGED_SHAPE
SELECT name FROM temp.adopting AS a
 WHERE declaration IS NOT NULL AND kind <> 'left' AND shape IS NOT
       (SELECT group_concat(quote(x.name) || ' ' || quote(type) || ' ' || "notnull" || ' ' || quote(dflt_value) || ' ' || hidden ||
                            CASE a.kind WHEN 'key' THEN '' ELSE ' ' || pk END, ', ')
          FROM pragma_table_xinfo(a.name, 'main') AS x)
    OR kind = 'key' AND NOT EXISTS (SELECT 1 FROM pragma_index_list(a.name, 'main') WHERE origin = 'pk');

-- The views and tables of the application.
-- name: ADOPT_OBJECTS
CREATE TEMP TABLE adopting_objects AS
SELECT name FROM main.sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*';

-- name: ADOPT_COMPILED
SELECT name, type, CASE type WHEN 'table' THEN
       (SELECT group_concat('"' || replace(x.name, '"', '""') || '" = "' || replace(x.name, '"', '""') || '"', ', ')
          FROM pragma_table_xinfo(m.name, 'main') AS x WHERE hidden = 0) END
  FROM temp.adopting_objects CROSS JOIN main.sqlite_master AS m USING (name)
 WHERE type IN ('table', 'view');

-- name: ADOPT_BROKEN
CREATE TEMP TABLE adopting_broken(name, message, PRIMARY KEY (name, message));

-- name: ADOPT_NOTE_BROKEN
INSERT OR IGNORE INTO temp.adopting_broken VALUES (?1, ?2);

-- name: ADOPT_WAS_BROKEN
SELECT 1 FROM temp.adopting_broken WHERE name = ?1 AND message = ?2;

-- name: ADOPT_COUNT_ORPHANS
SELECT count(*) FROM pragma_foreign_key_check;

-- Of the tables that get a key: other tables may need functions of the application. SQLite before
-- 3.33 checks all tables instead.
-- name: ADOPT_COUNT_DAMAGE
SELECT count(*) FROM temp.adopting AS a CROSS JOIN pragma_integrity_check(a.name, 'main') AS found
 WHERE a.kind = 'key' AND found.integrity_check <> 'ok';

-- name: ADOPT_DONE
SELECT name, CASE kind WHEN 'replicate' THEN 'replicated'
                       WHEN 'autoincrement' THEN 'replicated, AUTOINCREMENT was written'
                       WHEN 'key' THEN 'replicated, got a key'
                       WHEN 'home' THEN 'stays at home'
                       WHEN 'left' THEN 'was left as it is'
                       WHEN 'virtual' THEN 'was passed over'
                       ELSE 'counts already' END, keys
  FROM temp.adopting ORDER BY name COLLATE NOCASE;

-- name: ADOPT_DONE_JSON
SELECT json_object('table', name, 'kind', kind, 'key', keys) FROM temp.adopting ORDER BY name COLLATE NOCASE;
