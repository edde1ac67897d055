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

-- Everything else that a table stores. A row is, by its _kind:
--   'request'   a request that was taken: its id, its text, and when                   requests.sql
--   'counter'   a counter that was ever added or dropped by itself: name, generation   columns.sql
--   'floors'    one row: the floors of the key columns; the number when they rose;
--               the rows and bytes that were removed below                             floors.sql
--   'apart'     of a tracked table: a row of the cells, a column, its value            track.sql
--   'column'    of a tracked table: a column, its number, its name, its name there,
--               its generation                                                         columns.sql
--   'opening'   an opening that this file made: its id; the id of the file then        openings.sql
--   'answer'    an answer about two openings; the number when it came                  openings.sql
--   'writer'    an id in row cells: its number there                                   regular.sql
--   'pending'   a counter whose row has not come: its cell, its generation             regular.sql
-- Nearly all rows may be requests. Then, after ANALYZE, SQLite would read all rows to find those of
-- another kind, but not if the statement says BETWEEN two equal kinds.
-- name: SCHEMA_CREATE_STATE
CREATE TABLE "{schema}"."{table}_state"(
  _id INTEGER PRIMARY KEY,
  _kind TEXT NOT NULL,
  _row INTEGER NOT NULL DEFAULT 0,
  _name BLOB NOT NULL DEFAULT '',
  _value BLOB,
  _seq INTEGER,
  _rows INTEGER,
  _bytes INTEGER,
  "{definition}",
  UNIQUE(_kind, _row, _name));

-- name: SCHEMA_DROP_CELLS
DROP TABLE IF EXISTS "{schema}"."{table}_cells";

-- name: SCHEMA_DROP_STATE
DROP TABLE IF EXISTS "{schema}"."{table}_state";

-- name: SCHEMA_DROP
DROP TABLE "{schema}"."{name}";

-- name: SCHEMA_RENAME_STATE
ALTER TABLE "{schema}"."{table}_state" RENAME TO "{name}_state";

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
