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
-- name: COUNT_APART
SELECT state, count(*) FROM (
  SELECT DISTINCT state, table_name, row_key FROM counter_tracked WHERE row_key IS NOT NULL)
 GROUP BY state ORDER BY state DESC;

-- Foreign keys stay as they are: status tells of them. A warning calls the file "main".
-- name: WARNINGS
SELECT table_name, replace(warning, ' in main', ' in ' || ?1) FROM counter_warnings WHERE kind <> 'foreign key';

-- Takes no changes, and tries again what is apart: a table may take it since.
-- name: RETRY_APART
SELECT counter_seen(counter_settle(), 0, 0) WHERE EXISTS (SELECT 1 FROM counter_tracked WHERE state IN ('waits', 'differs'));

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

-- The note calls the file that takes "main".
-- name: PULL
SELECT table_name, rows_read, rows_changed, conflicts, replace(note, ' in main', ' in ' || ?2), more
  FROM counter_pull(?1, ?3);

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
SELECT state, table_name, column_name FROM counter_tracked WHERE row_key IS NULL;

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
