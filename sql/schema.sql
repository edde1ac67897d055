-- The stored table of a counter table, and what SQLite says of it.

-- name: SCHEMA_CREATE_CELLS
CREATE TABLE "{schema}"."{table}_cells"(
  _id INTEGER PRIMARY KEY,
  "{definition}",
  UNIQUE("{keys}"));

-- name: SCHEMA_CREATE_JOURNAL
CREATE TABLE "{schema}"."{table}_journal"(_seq INTEGER PRIMARY KEY, level INTEGER NOT NULL, entries BLOB NOT NULL);

-- Everything else that is known of a table. _kind says what a row is:
--   'request'   one that was taken: its id, and in words what it asked for             requests.sql
--   'counter'   one that was ever added or dropped by itself: name, generation         columns.sql
--   'floors'    the only one: the floor of each key column that has one; when they rose;
--               rows and bytes that were removed below                                 floors.sql
--   'apart'     of a tracked table: a row of the cells, a counter, what is shown       track.sql
--   'named'     of a tracked table: a counter or key column, the name of its column    track.sql
-- Requests may be nearly all rows, and after ANALYZE SQLite would read them all for the few of
-- another kind; it does not for a kind BETWEEN two equal ones.
-- name: SCHEMA_CREATE_STATE
CREATE TABLE "{schema}"."{table}_state"(
  _id INTEGER PRIMARY KEY,
  _kind TEXT NOT NULL,
  _row INTEGER NOT NULL DEFAULT 0,
  _name BLOB NOT NULL DEFAULT '',
  _value,
  _seq INTEGER,
  _rows INTEGER,
  _bytes INTEGER,
  "{definition}",
  UNIQUE(_kind, _row, _name));

-- name: SCHEMA_DROP_CELLS
DROP TABLE IF EXISTS "{schema}"."{table}_cells";

-- name: SCHEMA_DROP_STATE
DROP TABLE IF EXISTS "{schema}"."{table}_state";

-- name: SCHEMA_DROP_JOURNAL
DROP TABLE IF EXISTS "{schema}"."{table}_journal";

-- name: SCHEMA_RENAME_JOURNAL
ALTER TABLE "{schema}"."{table}_journal" RENAME TO "{name}_journal";

-- name: SCHEMA_RENAME_STATE
ALTER TABLE "{schema}"."{table}_state" RENAME TO "{name}_state";

-- name: SCHEMA_RENAME_CELLS
ALTER TABLE "{schema}"."{table}_cells" RENAME TO "{name}_cells";

-- What has the name ?1: table, view, index, ...; a virtual table is one without a root page.
-- name: SCHEMA_OBJECT
SELECT type, rootpage FROM "{schema}".sqlite_master
 WHERE name = ?1 COLLATE NOCASE AND type <> 'trigger';

-- All names, of triggers too.
-- name: SCHEMA_OBJECTS
SELECT name, type, rootpage, sql, tbl_name FROM "{schema}".sqlite_master;

-- name: SCHEMA_OBJECTS_AND_TEMP
SELECT name, type, rootpage, sql, tbl_name FROM "{schema}".sqlite_master
UNION ALL
SELECT name, type, rootpage, sql, tbl_name FROM temp.sqlite_master WHERE type = 'trigger';

-- Prepared for the names of its columns, and never stepped.
-- name: SCHEMA_DESCRIBE
SELECT * FROM "{schema}"."{table}_cells";

-- The programs that read all counters and the journal: an authorizer that hides a column makes a NULL
-- of it. Columns: addr, opcode, ...
-- name: SCHEMA_EXPLAIN_CELLS
EXPLAIN SELECT "{columns}" FROM "{schema}"."{table}_cells" NOT INDEXED;

-- name: SCHEMA_EXPLAIN_JOURNAL
EXPLAIN SELECT _seq, level, entries FROM "{schema}"."{table}_journal";

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

-- All triggers that may run with a write to the file, and their tables.
-- name: SCHEMA_TRIGGERS
SELECT name, tbl_name FROM "{schema}".sqlite_master WHERE type = 'trigger'
UNION ALL
SELECT name, tbl_name FROM temp.sqlite_master WHERE type = 'trigger';

-- Pages, records and the index of one stored table against each other; since SQLite 3.33.
-- name: SCHEMA_INTEGRITY
PRAGMA "{schema}".integrity_check("{table}_cells");

-- While it stands on a row, everything that the connection reads of the file is of one moment.
-- name: SCHEMA_HOLD
SELECT 1 FROM "{schema}".sqlite_master;
