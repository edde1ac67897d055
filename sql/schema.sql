-- The stored table of a counter table, and what SQLite says of it.

-- name: SCHEMA_CREATE_CELLS
CREATE TABLE "{schema}"."{table}_cells"(
  _id INTEGER PRIMARY KEY,
  "{definition}",
  UNIQUE("{keys}"));

-- name: SCHEMA_CREATE_JOURNAL
CREATE TABLE "{schema}"."{table}_journal"(_seq INTEGER PRIMARY KEY, level INTEGER NOT NULL, entries BLOB NOT NULL);

-- No row, or one: the floor of each key column that has one, and what has been removed below.
-- name: SCHEMA_CREATE_FLOORS
CREATE TABLE "{schema}"."{table}_floors"(
  _id INTEGER PRIMARY KEY,
  _seq INTEGER NOT NULL,
  _rows INTEGER NOT NULL DEFAULT 0,
  _bytes INTEGER NOT NULL DEFAULT 0,
  "{definition}");

-- name: SCHEMA_CREATE_OPS
CREATE TABLE "{schema}"."{table}_ops"(_id INTEGER PRIMARY KEY, request BLOB NOT NULL UNIQUE, what TEXT NOT NULL);

-- name: SCHEMA_CREATE_COLUMNS
CREATE TABLE "{schema}"."{table}_columns"(name TEXT NOT NULL COLLATE NOCASE PRIMARY KEY, generation INTEGER NOT NULL);

-- name: SCHEMA_DROP_COLUMNS
DROP TABLE IF EXISTS "{schema}"."{table}_columns";

-- name: SCHEMA_RENAME_COLUMNS
ALTER TABLE "{schema}"."{table}_columns" RENAME TO "{name}_columns";

-- name: SCHEMA_DROP_OPS
DROP TABLE IF EXISTS "{schema}"."{table}_ops";

-- name: SCHEMA_RENAME_OPS
ALTER TABLE "{schema}"."{table}_ops" RENAME TO "{name}_ops";

-- name: SCHEMA_DROP_CELLS
DROP TABLE IF EXISTS "{schema}"."{table}_cells";

-- name: SCHEMA_DROP_FLOORS
DROP TABLE IF EXISTS "{schema}"."{table}_floors";

-- name: SCHEMA_DROP_JOURNAL
DROP TABLE IF EXISTS "{schema}"."{table}_journal";

-- name: SCHEMA_RENAME_JOURNAL
ALTER TABLE "{schema}"."{table}_journal" RENAME TO "{name}_journal";

-- name: SCHEMA_RENAME_FLOORS
ALTER TABLE "{schema}"."{table}_floors" RENAME TO "{name}_floors";

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
