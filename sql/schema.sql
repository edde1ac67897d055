-- The stored tables of a counter table, and the schema as SQLite describes it.

-- name: SCHEMA_CREATE_CELLS
CREATE TABLE "{schema}"."{table}_cells"(
  _id INTEGER PRIMARY KEY,
  "{definition}",
  UNIQUE("{keys}"));

-- Those of a tracked table with an INTEGER PRIMARY KEY, which is the row id.
-- name: SCHEMA_CREATE_CELLS_BY_KEY
CREATE TABLE "{schema}"."{table}_cells"(
  "{definition}");

-- Those of another tracked table: table/home.c.
-- name: SCHEMA_CREATE_CELLS_AT_ROWS
CREATE TABLE "{schema}"."{table}_cells"(
  _id INTEGER PRIMARY KEY, _away INTEGER,
  "{definition}");

-- Everything else that the tables of a file store, but for the journal and the requests. tab: the
-- number of the table in counter_tables; 0: of the file. :tab is bound by ctr_run_prepare. A row
-- is, by its kind:
--   'counter'   a counter that was ever added or dropped by itself: its name, its generation;
--               the number when it came or went; whether it is bounded                 columns.sql
--   'ended'     a counter that this file ended itself: its name                        columns.sql
--   'floors'    one row: the floors as a packed key; the number when they rose;
--               the rows and bytes that were removed below                             floors.sql
--   'apart'     of a tracked table: a row of the cells, a column, its value            track.sql
--   'column'    of a tracked table: a column, its number, its name, its name there,
--               its generation                                                         columns.sql
--   'former'    of a tracked table: a counter that ended: its name, its column then    columns.sql
--   'local'     of a replicated table: a column that stays in this file: its name      columns.sql
--   'opening'   an opening that this file made: its id; the id of the file then        openings.sql
--   'answer'    an answer about two openings; the number when it came                  openings.sql
--   'home'      for which schema the places of the cells hold                          home.sql
--   'spread'    of a table whose keys SQLite gives out: from where                     spread.sql
--   'replaced'  of such a table: a row whose number another one had first               spread.sql
--   'writer'    of the file: an id in row cells: its number there                      regular.sql
--   'kinds'     of the file: the number when columns became other kinds                columns.sql
-- Nearly all rows may be of one kind. Then, after ANALYZE, SQLite would read all rows to find those
-- of another kind, but not if the statement says BETWEEN two equal kinds.
-- name: STATE_CREATE
CREATE TABLE IF NOT EXISTS "{schema}"."counter_state"(
  tab INTEGER NOT NULL,
  kind TEXT NOT NULL,
  row INTEGER NOT NULL DEFAULT 0,
  name BLOB NOT NULL DEFAULT '',
  value BLOB,
  seq INTEGER,
  rows INTEGER,
  bytes INTEGER,
  PRIMARY KEY (tab, kind, row, name)) WITHOUT ROWID;

-- name: STATE_DROP
DELETE FROM "{schema}".counter_state WHERE tab = :tab;

-- A row that is nobody's, or of no known kind.
-- name: STATE_CHECK
SELECT tab, kind, tab = 0 OR tab IN (SELECT number FROM "{schema}".counter_tables)
  FROM (SELECT DISTINCT tab, kind FROM "{schema}".counter_state)
 WHERE CASE WHEN tab = 0 THEN kind NOT IN ('writer', 'kinds')
            ELSE tab NOT IN (SELECT number FROM "{schema}".counter_tables)
              OR kind NOT IN ('counter', 'ended', 'floors', 'apart', 'column', 'opening', 'answer', 'home', 'spread', 'replaced', 'former', 'local') END;

-- name: SCHEMA_DROP_CELLS
DROP TABLE IF EXISTS "{schema}"."{table}_cells";

-- name: SCHEMA_DROP
DROP TABLE "{schema}"."{name}";

-- name: SCHEMA_RENAME_CELLS
ALTER TABLE "{schema}"."{table}_cells" RENAME TO "{name}_cells";

-- The object with this name: table, view, index, ... A virtual table has no root page.
-- name: SCHEMA_OBJECT
SELECT type, rootpage, name FROM "{schema}".sqlite_master
 WHERE name = :name COLLATE NOCASE AND type <> 'trigger';

-- All names, of triggers too, and the triggers in temp.
-- name: SCHEMA_OBJECTS
SELECT name, type, rootpage, sql, tbl_name, rowid FROM "{schema}".sqlite_master
UNION ALL
SELECT name, type, rootpage, sql, tbl_name, NULL FROM temp.sqlite_master WHERE type = 'trigger';

-- Those that were created after the row with this number.
-- name: SCHEMA_OBJECTS_SINCE
SELECT name, type, rootpage, sql, tbl_name, rowid FROM "{schema}".sqlite_master WHERE rowid > :last;

-- Only prepared, for the names of the columns.
-- name: SCHEMA_DESCRIBE
SELECT * FROM "{schema}"."{table}_cells";

-- The programs that read all counters and the journal: they lack a column if an authorizer hides
-- it. Columns: addr, opcode, ...
-- name: SCHEMA_EXPLAIN_CELLS
EXPLAIN SELECT "{columns}" FROM "{schema}"."{table}_cells" NOT INDEXED;

-- name: SCHEMA_EXPLAIN_JOURNAL
EXPLAIN SELECT j._seq, j.tabs, j.entries, s.tab, s.number, s.level, s.entries
  FROM "{schema}".counter_journal AS j, "{schema}".counter_segments AS s;

-- Only prepared, for the names of the columns.
-- name: SCHEMA_DESCRIBE_STATE
SELECT s.tab, s.kind, s.row, s.name, s.value, s.seq, s.rows, s.bytes,
       r.number, r.tab, r.id, r.at, r.text
  FROM "{schema}".counter_state AS s, "{schema}".counter_requests AS r;

-- name: SCHEMA_ENCODING
PRAGMA encoding;

-- Columns: seq, name, file. 0 is main, 1 temp, the others are attached. They commit in this order.
-- name: SCHEMA_DATABASES
PRAGMA database_list;

-- Columns: cid, name, type, notnull, dflt_value, pk, hidden.
-- name: SCHEMA_COLUMNS
PRAGMA "{schema}".table_xinfo("{name}");

-- Columns: seq, name, unique, origin, partial.
-- name: SCHEMA_INDEXES
PRAGMA "{schema}".index_list("{name}");

-- Columns: seqno, cid, name, desc, coll, key.
-- name: SCHEMA_INDEX_COLUMNS
PRAGMA "{schema}".index_xinfo("{name}");

-- All triggers that a write to the file may fire, and their tables.
-- name: SCHEMA_TRIGGERS
SELECT name, tbl_name FROM "{schema}".sqlite_master WHERE type = 'trigger'
UNION ALL
SELECT name, tbl_name FROM temp.sqlite_master WHERE type = 'trigger';

-- Checks the pages, records and the index of one stored table. SQLite 3.33 or newer.
-- name: SCHEMA_INTEGRITY
PRAGMA "{schema}".integrity_check("{table}_cells");

-- While it stands on a row, the connection reads one snapshot of the file.
-- name: SCHEMA_HOLD
SELECT 1 FROM "{schema}".sqlite_master;
