-- counter_replica: the identity of this file is row 1; the other rows are its former ids.
--
-- since, until, renewed: milliseconds since 1970. inode, birth (nanoseconds), device, instance (of
-- a memory database; the handle of a file without birth time): the fingerprint of the file that the
-- row was written in. number, random: the witness, renewed after `renewal` milliseconds. witnessed:
-- its attribute was read once. alone: the id was taken because of the fingerprint alone. trust:
-- ignore the fingerprint. refuses: the reason why a named file, or a file without a steady
-- fingerprint, does not count. twist: changes if the lineage changes without a new id; each file
-- that waits for a name has its own. floors: a new random number whenever a floor of any table
-- rises; 0: no floors. tables: the highest number of a table, see catalog.sql. epoch, turn, names, holder: see replacement.sql.

-- name: IDENTITY_CREATE
CREATE TABLE IF NOT EXISTS "{schema}"."counter_replica"(
  one INTEGER PRIMARY KEY,
  format INTEGER NOT NULL,
  id BLOB NOT NULL,
  name TEXT,
  since INTEGER NOT NULL,
  why TEXT NOT NULL,
  inode INTEGER,
  birth INTEGER,
  device INTEGER,
  instance BLOB,
  number INTEGER NOT NULL,
  random INTEGER NOT NULL,
  renewed INTEGER NOT NULL,
  renewal INTEGER NOT NULL DEFAULT 10,
  witnessed INTEGER NOT NULL DEFAULT 0,
  alone INTEGER NOT NULL DEFAULT 0,
  trust INTEGER NOT NULL DEFAULT 0,
  refuses TEXT,
  twist INTEGER NOT NULL DEFAULT 0,
  floors INTEGER NOT NULL DEFAULT 0,
  tables INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL DEFAULT 0,
  turn INTEGER NOT NULL DEFAULT 0,
  names INTEGER NOT NULL DEFAULT 0,
  holder BLOB NOT NULL,
  until INTEGER);

-- A damaged table may have several such rows.
-- name: IDENTITY_READ
SELECT format, id, name, inode, birth, device, instance, number, random, renewed, renewal, witnessed, trust, refuses,
       twist, floors, epoch, turn, names, holder, tables
  FROM "{schema}".counter_replica WHERE one = 1;

-- SQLite prepares it again if the schema of the file has changed. Reads nothing.
-- name: IDENTITY_PROBE
SELECT 1 FROM "{schema}".counter_replica LIMIT 0;

-- name: IDENTITY_WRITE
INSERT OR REPLACE INTO "{schema}".counter_replica(
  one, format, id, name, since, why, inode, birth, device, instance, number, random, renewed,
  renewal, witnessed, alone, trust, floors, epoch, turn, names, holder, twist, tables)
VALUES (1, :format, :id, :name, :now, :why, :inode, :birth, :device, :instance, :number, :random,
  :now, :renewal, :witnessed, :alone, :trust, :floors, :epoch, :turn, :names, :holder, :twist,
  (SELECT coalesce(max(tables), 0) FROM "{schema}".counter_replica));

-- Whether this file alone has gone on from a former id: it was given up because another file counts
-- under it, too, or because something was dropped. A copy takes an id because the former one is that
-- of the original.
-- name: IDENTITY_WENT_ON
SELECT NOT EXISTS (
       SELECT 1 FROM "{schema}".counter_replica AS later
        WHERE (later.one = 1 OR later.one > former.one) AND later.why NOT IN (:met, :dropped))
  FROM "{schema}".counter_replica AS former
 WHERE one > 1 AND id = :id ORDER BY one DESC LIMIT 1;

-- Its present and former ids.
-- name: IDENTITY_IDS
SELECT id FROM "{schema}".counter_replica;

-- Those that the file itself has counted under: an id that it had before it became a copy is that of
-- the original.
-- name: IDENTITY_OWN
SELECT id FROM "{schema}".counter_replica
 WHERE one = 1
    OR (one >= (SELECT coalesce(max(one), 0) FROM "{schema}".counter_replica WHERE one > 1 AND why = 'copy')
        AND NOT EXISTS (SELECT 1 FROM "{schema}".counter_replica WHERE one = 1 AND why = 'copy'));

-- name: IDENTITY_CLEAR
DELETE FROM "{schema}".counter_replica WHERE one = 1;

-- name: IDENTITY_RENEW
UPDATE "{schema}".counter_replica
   SET number = :number, random = :random, renewed = :renewed, witnessed = :witnessed
 WHERE one = 1;

-- name: IDENTITY_REFUSE
UPDATE "{schema}".counter_replica
   SET inode = :inode, birth = :birth, device = :device, instance = :instance, number = :number,
       random = :random, refuses = :refuses, twist = :twist
 WHERE one = 1;

-- name: IDENTITY_FLOORS
UPDATE "{schema}".counter_replica SET floors = :floors WHERE one = 1;

-- name: IDENTITY_TRUST
UPDATE "{schema}".counter_replica SET trust = 1, refuses = NULL WHERE one = 1;

-- The current id, if the file had it before: only the last time counts.
-- name: IDENTITY_FORGET
DELETE FROM "{schema}".counter_replica
 WHERE one > 1 AND id = (SELECT id FROM "{schema}".counter_replica WHERE one = 1);

-- name: IDENTITY_RETIRE
UPDATE "{schema}".counter_replica
   SET one = (SELECT max(one) + 1 FROM "{schema}".counter_replica), until = :now
 WHERE one = 1;

-- name: IDENTITY_EPOCH
UPDATE "{schema}".counter_replica SET epoch = :epoch, turn = :turn WHERE one = 1;

-- name: IDENTITY_NAMES
UPDATE "{schema}".counter_replica SET names = :names WHERE one = 1;

-- The number of ids taken within a day because of the fingerprint alone.
-- name: IDENTITY_ALONE
SELECT count(*) FROM "{schema}".counter_replica WHERE alone AND abs(:now - since) < 86400000;

-- name: IDENTITY_HISTORY
SELECT id, name, CASE WHEN one > 1 THEN 'former' WHEN turn = 0 THEN 'current' ELSE 'pending' END,
       strftime('%Y-%m-%d %H:%M:%f', since / 1000.0, 'unixepoch'), why, CASE one WHEN 1 THEN refuses END
  FROM "{schema}".counter_replica
 ORDER BY since DESC, 3;

-- Changes nothing: makes a table of the connection join the transaction, and takes the write lock
-- of main.
-- name: TRANSACTION_JOIN
DELETE FROM main."{table}" WHERE 0;

-- The modules of the connection. Does not read the file, which may not be open yet.
-- name: TRANSACTION_MODULES
PRAGMA module_list;

-- SQLite prepares it again if the schema has changed.
-- name: TRANSACTION_SCHEMA
SELECT 1 FROM "{schema}".sqlite_master LIMIT 0;

-- Preparing this creates the internal table that keeps statements until the connection closes.
-- name: TRANSACTION_KEEP
SELECT 1 FROM main.counter_statements;

-- Whether memory databases can share a cache.
-- name: INSTANCE_OPTIONS
PRAGMA compile_options;

-- The instance and the witness of a memory database are in another memory database of the process,
-- which lives as long as a connection that counts in the first. The mark is a setting of the open
-- database that is not in its content and has no effect in memory.
-- name: INSTANCE_MARK
PRAGMA "{schema}".journal_size_limit;

-- name: INSTANCE_SET_MARK
PRAGMA "{schema}".journal_size_limit = "{value}";

-- name: INSTANCE_CREATE
CREATE TABLE IF NOT EXISTS instance(one INTEGER PRIMARY KEY, id BLOB NOT NULL, number INTEGER, random INTEGER);

-- name: INSTANCE_INSERT
INSERT OR IGNORE INTO instance(one, id) VALUES (1, :id);

-- name: INSTANCE_READ
SELECT id, number, random FROM instance;

-- name: INSTANCE_WITNESS
UPDATE instance SET number = :number, random = :random WHERE number IS NULL OR number < :number;
