-- postgresql.sql - a hub: one PostgreSQL database; files upload counters to it and download them.
--
--     psql -v ON_ERROR_STOP=1 -f sql/hub/postgresql.sql    makes counter_hub; may be repeated
--     examples/hub.sh up FILE                          what is new in FILE, to the hub
--     examples/hub.sh down FILE                        what is new in the hub, to FILE
--     SELECT * FROM counter_hub.totals;                    the counters, for all who speak SQL
--
-- The hub merges as the files do, shard by shard, so uploads may be late, doubled, in any order,
-- from files that have pulled from each other. It never counts itself: it has no shard of its own.
-- PostgreSQL 13 or later.
--
-- The lattice is made of registers that only rise, each in one row:
--
--     cells     life                      the highest wins; even: deleted
--     shards    (life, clock, value)      the highest wins, compared from left to right
--     floors    floor                     the highest wins, as SQLite sorts the column
--     columns   generation                the highest wins; even: dropped
--     answers                             a set: what has come stays
--
-- What the counter is follows from the first four when it is read: the shards whose life is that of their
-- cell, unless it is deleted, below a floor or of a generation that is over. So no order between
-- rows can make a difference, and old rows are removed only to save room.
-- No triggers, no rules, no extensions, nothing that needs to see two keys at once: engines that
-- speak PostgreSQL and shard by key have what they need, for table_name and key stand first in the
-- primary keys. It is tested on PostgreSQL alone.
--
-- What is not as in a file:
--
--   * A key that is spelled in two ways, where the column has NOCASE, RTRIM or a collation of an
--     application, is two keys here, and again one in a file that downloads it. So are 1 and 1.0 in
--     a key column without a type, and tables that were created as "t" and as "T".
--   * A floor removes what a file would remove, by BINARY, NOCASE and RTRIM. In texts of a column
--     with another collation, or whose name has a comma and the name of a type, it removes nothing
--     here and is only passed on to the files.
--   * A REAL from 2^53 on is compared with an INTEGER by its first 17 digits.
--   * A key with a character U+0000 in a text has no JSON here and shows as NULL. It is never below
--     a floor of the hub; the files that download it see to that themselves. A floor with such a
--     text, and a text that is not valid UTF-8, are refused.
--   * Sums are exact and of any size. Files say `integer overflow` beyond 64 bits.
--   * Answers about opening values are kept for the files, which obey them: an opening that gives way
--     comes as a shard of clock 2 and value 0. Until a file has sent it, totals have the sum of both.
--   * Who may upload is trusted, as whoever may write a file is.
--
-- Tables of one name have one key, in all files: names, order, affinities and collations of its
-- columns; and a counter has one spelling. The first upload says which; another is refused as a
-- whole. To take a table out of the hub, with all that was counted in it here:
--
--     SELECT counter_hub.forget('page_views');
--
-- Files keep what they have, and at their next upload send everything once more: where the table is
-- to be gone, DROP it in the files first.

BEGIN;

CREATE SCHEMA IF NOT EXISTS counter_hub;

-- ---- tables -------------------------------------------------------------------------------------

-- The hub itself: one row. `id` is the source that files know it by; `number` counts uploads.
--
-- An upload raises the number first, so it holds this row until it commits and uploads come one
-- after the other. That is on purpose: numbers are then committed in the order in which they were
-- given, and whoever has downloaded up to number n has seen everything up to n. With a sequence a
-- slow upload could commit a lower number after a higher one had been downloaded, and it would be
-- missed for ever. Uploads are whole batches; what is lost by waiting is little.
CREATE TABLE IF NOT EXISTS counter_hub.hub(
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  number bigint NOT NULL DEFAULT 0);

INSERT INTO counter_hub.hub DEFAULT VALUES ON CONFLICT DO NOTHING;

-- After the database was restored from a backup, files have seen numbers that it will give again.
-- Then make them download everything once, by a new id:
-- UPDATE counter_hub.hub SET id = gen_random_uuid();

-- The tables that have come, and the columns of their keys as counter_changes tells them.
CREATE TABLE IF NOT EXISTS counter_hub.tables(
  table_name text PRIMARY KEY,
  key_columns text NOT NULL);

-- The counters of the tables. A counter is added and dropped by raising its generation: odd, it
-- is there; even, it was dropped. Cells of a lower one are over: they are removed here, to save
-- room, and seen by nobody where they are not, so that none can come back by a file that has not
-- heard of it.
CREATE TABLE IF NOT EXISTS counter_hub.columns(
  table_name text NOT NULL,
  column_name text NOT NULL,
  generation bigint NOT NULL,
  changed bigint NOT NULL,
  PRIMARY KEY (table_name, column_name));

-- A cell. `key` is what counter_key() packs, `key_json` what counter_key_json() makes of it.
-- `changed`, here and below, is the number of the upload that has raised the row.
CREATE TABLE IF NOT EXISTS counter_hub.cells(
  table_name text NOT NULL,
  key bytea NOT NULL,
  column_name text NOT NULL,
  generation bigint NOT NULL,
  key_json jsonb,
  life bigint NOT NULL,
  changed bigint NOT NULL,
  PRIMARY KEY (table_name, key, column_name, generation));

CREATE INDEX IF NOT EXISTS cells_changed ON counter_hub.cells(changed);

-- What one replica, `id`, has added to a cell.
CREATE TABLE IF NOT EXISTS counter_hub.shards(
  table_name text NOT NULL,
  key bytea NOT NULL,
  column_name text NOT NULL,
  generation bigint NOT NULL,
  id uuid NOT NULL,
  life bigint NOT NULL,
  clock bigint NOT NULL,
  value bigint NOT NULL,
  changed bigint NOT NULL,
  PRIMARY KEY (table_name, key, column_name, generation, id));

CREATE INDEX IF NOT EXISTS shards_changed ON counter_hub.shards(changed);

-- The floors of a key column, counted from 0: rows below are gone for good. There is one, the
-- highest, unless the hub cannot compare them, since it does not know the column's collation: then
-- all that have come, for the files to choose. `packed` is the key with holes that has brought it,
-- for the files; it may hold older floors of other columns, which changes nothing.
CREATE TABLE IF NOT EXISTS counter_hub.floors(
  table_name text NOT NULL,
  key_column integer NOT NULL,
  floor jsonb NOT NULL,
  collation_name text,
  packed bytea NOT NULL,
  changed bigint NOT NULL,
  PRIMARY KEY (table_name, key_column, floor));

-- Answers to the question whether the opening values of two files are one stock or two: 34 bytes, as
-- counter_changes has them.
CREATE TABLE IF NOT EXISTS counter_hub.answers(
  table_name text NOT NULL,
  answer bytea NOT NULL,
  changed bigint NOT NULL,
  PRIMARY KEY (table_name, answer));

-- How far each file has uploaded: the number to ask its change feed from. A file that has become
-- another, by a copy or a restore, is another source and begins at 0.
CREATE TABLE IF NOT EXISTS counter_hub.sources(
  source text PRIMARY KEY,
  mark bigint NOT NULL);

-- Rows on their way in: COPY them here and call merge() in one transaction. merge() takes them out
-- again, so nobody else ever sees them, and uploads at the same time do not meet here. Floors have
-- no column_name; their key has holes. A counter by itself has an empty key and no life. A cell
-- that has no shards, deleted or reset, is one row without an id. An answer has an empty key, no
-- column_name and no life.
CREATE TABLE IF NOT EXISTS counter_hub.incoming(
  table_name text NOT NULL,
  key_columns text NOT NULL,
  key bytea NOT NULL,
  key_json jsonb CHECK (jsonb_typeof(key_json) = 'array'),
  column_name text,
  generation bigint NOT NULL CHECK (generation BETWEEN 0 AND 4294967295),
  life bigint CHECK (life BETWEEN 1 AND 4294967295),
  id uuid,
  clock bigint CHECK (clock BETWEEN 1 AND 4611686018427387903),
  value bigint,
  source text,
  since bigint,
  upto bigint,
  answer bytea,
  CHECK (CASE WHEN answer IS NOT NULL
                THEN generation = 0 AND key = '' AND num_nonnulls(key_json, column_name, life, id, clock, value) = 0
              WHEN column_name IS NULL
                THEN generation = 0 AND key_json IS NOT NULL AND num_nonnulls(life, id, clock, value) = 0
              WHEN life IS NULL THEN generation > 0 AND key = '' AND num_nonnulls(key_json, id, clock, value) = 0
              WHEN id IS NULL THEN generation % 2 = 1 AND life > 1 AND num_nonnulls(clock, value) = 0
              ELSE generation % 2 = 1 AND life % 2 = 1 AND num_nonnulls(clock, value) = 2 END),
  CHECK (num_nonnulls(source, since, upto) IN (0, 3)));

-- ---- floors -------------------------------------------------------------------------------------

-- The collation of a column, counted from 0, of key columns such as 'path TEXT NOCASE, hour INTEGER
-- BINARY'. Names stand there as they are: NULL if they make it look like another number of columns.
CREATE OR REPLACE FUNCTION counter_hub.collation_of(key_columns text, key_column bigint, columns integer)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN count(*) = columns THEN max(words[1]) FILTER (WHERE at = key_column + 1) END
    FROM regexp_matches(key_columns, ' (?:BLOB|TEXT|NUMERIC|INTEGER|REAL) ([^,]+)(?:, |$)', 'g')
         WITH ORDINALITY AS column_words(words, at)
$$;

-- Does a come before b where SQLite sorts? Numbers, then texts, then blobs, which are objects
-- {"hex":"00ff"} in JSON. NULL for a text that is not UTF-8, {"text":"61ff"}, and for two texts of a
-- collation that is not known here.
CREATE OR REPLACE FUNCTION counter_hub.is_less(a jsonb, b jsonb, collation_name text)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN a ->> 'text' IS NOT NULL OR b ->> 'text' IS NOT NULL THEN NULL
    WHEN jsonb_typeof(a) <> jsonb_typeof(b)
      THEN array_position(ARRAY['number', 'string', 'object'], jsonb_typeof(a))
         < array_position(ARRAY['number', 'string', 'object'], jsonb_typeof(b))
    WHEN jsonb_typeof(a) = 'number' THEN (a #>> '{}')::numeric < (b #>> '{}')::numeric
    WHEN jsonb_typeof(a) = 'object' THEN decode(a ->> 'hex', 'hex') < decode(b ->> 'hex', 'hex')
    WHEN collation_name = 'BINARY' THEN convert_to(a #>> '{}', 'UTF8') < convert_to(b #>> '{}', 'UTF8')
    WHEN collation_name = 'NOCASE'
      THEN convert_to(lower((a #>> '{}') COLLATE "C"), 'UTF8') < convert_to(lower((b #>> '{}') COLLATE "C"), 'UTF8')
    WHEN collation_name = 'RTRIM'
      THEN convert_to(rtrim(a #>> '{}', ' '), 'UTF8') < convert_to(rtrim(b #>> '{}', ' '), 'UTF8')
  END
$$;

-- ---- upload -------------------------------------------------------------------------------------

-- How far a file has uploaded; 0 if never.
CREATE OR REPLACE FUNCTION counter_hub.mark(of_source text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce(max(mark), 0) FROM counter_hub.sources WHERE source = of_source
$$;

-- Refuses, or takes note of, the keys of the tables that have come.
CREATE OR REPLACE FUNCTION counter_hub.check_tables() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wrong record;
BEGIN
  INSERT INTO counter_hub.tables(table_name, key_columns)
  SELECT table_name, min(key_columns) FROM counter_hub.incoming GROUP BY table_name
  ON CONFLICT DO NOTHING;

  SELECT i.table_name, t.key_columns AS here, i.key_columns AS there INTO wrong
    FROM counter_hub.incoming i JOIN counter_hub.tables t USING (table_name)
   WHERE i.key_columns <> t.key_columns
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'counter_hub: table %: the upload has the key (%), the hub has (%): nothing was taken',
                    wrong.table_name, wrong.there, wrong.here
      USING HINT = format('Create the table in the file under another name, or with the key of the hub. If the hub has '
                          'the wrong one: SELECT counter_hub.forget(%L)', wrong.table_name);
  END IF;
END
$$;

-- Raises the counters that have come; then those rows are done with that were of counters alone, or
-- of cells that are over.
CREATE OR REPLACE FUNCTION counter_hub.raise_columns(this_upload bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wrong record;
BEGIN
  INSERT INTO counter_hub.columns AS c(table_name, column_name, generation, changed)
  SELECT i.table_name, i.column_name, max(i.generation), this_upload
    FROM counter_hub.incoming i
   WHERE i.column_name IS NOT NULL
   GROUP BY i.table_name, i.column_name
  ON CONFLICT (table_name, column_name) DO UPDATE SET generation = excluded.generation, changed = excluded.changed
   WHERE c.generation < excluded.generation;

  SELECT table_name, a.column_name AS here, b.column_name AS there INTO wrong
    FROM counter_hub.columns a JOIN counter_hub.columns b USING (table_name)
   WHERE a.column_name <> b.column_name AND a.changed <= b.changed
     AND lower(a.column_name COLLATE "C") = lower(b.column_name COLLATE "C")
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'counter_hub: table %: the upload has the counter %, the hub has %, in other letters: nothing was taken',
                    wrong.table_name, wrong.there, wrong.here;
  END IF;

  DELETE FROM counter_hub.incoming i USING counter_hub.columns c
   WHERE (i.table_name, i.column_name) = (c.table_name, c.column_name)
     AND (i.life IS NULL OR i.generation < c.generation);
END
$$;

-- Refuses a damaged answer; takes those that have come out of counter_hub.incoming.
CREATE OR REPLACE FUNCTION counter_hub.take_answers(this_upload bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wrong record;
BEGIN
  SELECT i.table_name, encode(i.answer, 'hex') AS bytes INTO wrong
    FROM counter_hub.incoming i
   WHERE NOT CASE WHEN length(i.answer) <> 34 THEN false
                  ELSE get_byte(i.answer, 0) = 177 AND get_byte(i.answer, 1) IN (1, 2)
                       AND get_byte(i.answer, 8) >> 4 = 8 AND get_byte(i.answer, 24) >> 4 = 8
                       AND substr(i.answer, 3, 16) < substr(i.answer, 19, 16) END
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'counter_hub: table %: an answer about two openings is damaged: %: nothing was taken',
                    wrong.table_name, wrong.bytes;
  END IF;

  INSERT INTO counter_hub.answers(table_name, answer, changed)
  SELECT DISTINCT table_name, answer, this_upload FROM counter_hub.incoming WHERE answer IS NOT NULL
  ON CONFLICT DO NOTHING;
  DELETE FROM counter_hub.incoming WHERE answer IS NOT NULL;
END
$$;

-- Merges what is in counter_hub.incoming, and empties it. All or nothing, for it is one
-- transaction; an upload that was refused, or whose fate is not known, is simply repeated.
CREATE OR REPLACE FUNCTION counter_hub.merge(OUT rows_read bigint, OUT rows_changed bigint) LANGUAGE plpgsql AS $$
DECLARE
  this_upload bigint;
BEGIN
  UPDATE counter_hub.hub SET number = number + 1 RETURNING number INTO STRICT this_upload;
  PERFORM counter_hub.check_tables();
  SELECT count(*) INTO rows_read FROM counter_hub.incoming;

  -- Marks.
  INSERT INTO counter_hub.sources AS m(source, mark)
  SELECT i.source, max(i.upto)
    FROM counter_hub.incoming i
   WHERE i.source IS NOT NULL AND i.since <= counter_hub.mark(i.source)
   GROUP BY i.source
  ON CONFLICT (source) DO UPDATE SET mark = excluded.mark WHERE m.mark < excluded.mark;

  PERFORM counter_hub.raise_columns(this_upload);
  PERFORM counter_hub.take_answers(this_upload);

  -- Floors that are not below others, here or in what has come; then those go that are below them.
  WITH came AS (
    SELECT i.table_name, e.at - 1 AS key_column, e.floor, i.key,
           counter_hub.collation_of(i.key_columns, e.at - 1, jsonb_array_length(i.key_json)) AS collation_name
      FROM counter_hub.incoming i, jsonb_array_elements(i.key_json) WITH ORDINALITY AS e(floor, at)
     WHERE i.column_name IS NULL AND jsonb_typeof(e.floor) <> 'null')
  INSERT INTO counter_hub.floors(table_name, key_column, floor, collation_name, packed, changed)
  SELECT a.table_name, a.key_column, a.floor, a.collation_name, a.key, this_upload
    FROM came a
   WHERE NOT EXISTS (
     SELECT FROM came b
      WHERE b.table_name = a.table_name AND b.key_column = a.key_column
        AND counter_hub.is_less(a.floor, b.floor, a.collation_name))
     AND NOT EXISTS (
     SELECT FROM counter_hub.floors b
      WHERE b.table_name = a.table_name AND b.key_column = a.key_column
        AND counter_hub.is_less(a.floor, b.floor, a.collation_name))
  ON CONFLICT DO NOTHING;

  DELETE FROM counter_hub.floors a USING counter_hub.floors b
   WHERE b.changed = this_upload AND b.table_name = a.table_name AND b.key_column = a.key_column
     AND counter_hub.is_less(a.floor, b.floor, a.collation_name);

  DELETE FROM counter_hub.incoming i USING counter_hub.floors f
   WHERE i.column_name IS NOT NULL AND f.table_name = i.table_name
     AND counter_hub.is_less(i.key_json -> f.key_column, f.floor, f.collation_name);

  -- Lives.
  INSERT INTO counter_hub.cells AS c(table_name, key, column_name, generation, key_json, life, changed)
  SELECT i.table_name, i.key, i.column_name, i.generation, min(i.key_json::text)::jsonb, max(i.life), this_upload
    FROM counter_hub.incoming i
   WHERE i.column_name IS NOT NULL
   GROUP BY i.table_name, i.key, i.column_name, i.generation
  ON CONFLICT (table_name, key, column_name, generation) DO UPDATE
     SET life = excluded.life, changed = excluded.changed
   WHERE c.life < excluded.life;

  -- Shards of those lives; again the highest versions.
  INSERT INTO counter_hub.shards AS s(table_name, key, column_name, generation, id, life, clock, value, changed)
  SELECT DISTINCT ON (i.table_name, i.key, i.column_name, i.generation, i.id)
         i.table_name, i.key, i.column_name, i.generation, i.id, i.life, i.clock, i.value, this_upload
    FROM counter_hub.incoming i JOIN counter_hub.cells c USING (table_name, key, column_name, generation, life)
   WHERE i.id IS NOT NULL
   ORDER BY i.table_name, i.key, i.column_name, i.generation, i.id, i.clock DESC, i.value DESC
  ON CONFLICT (table_name, key, column_name, generation, id) DO UPDATE
     SET life = excluded.life, clock = excluded.clock, value = excluded.value, changed = excluded.changed
   WHERE (s.life, s.clock, s.value) < (excluded.life, excluded.clock, excluded.value);

  SELECT (SELECT count(*) FROM counter_hub.columns WHERE changed = this_upload)
       + (SELECT count(*) FROM counter_hub.answers WHERE changed = this_upload)
       + (SELECT count(*) FROM counter_hub.floors WHERE changed = this_upload)
       + (SELECT count(*) FROM counter_hub.cells WHERE changed = this_upload)
       + (SELECT count(*) FROM counter_hub.shards WHERE changed = this_upload) INTO rows_changed;

  -- To save room: shards of ended lives, what is of ended generations, what is below the floors
  -- that have risen, and what has come.
  DELETE FROM counter_hub.shards s USING counter_hub.cells c
   WHERE c.changed = this_upload AND s.life < c.life
     AND (s.table_name, s.key, s.column_name, s.generation) = (c.table_name, c.key, c.column_name, c.generation);
  DELETE FROM counter_hub.shards s USING counter_hub.columns n
   WHERE n.changed = this_upload AND (s.table_name, s.column_name) = (n.table_name, n.column_name)
     AND s.generation < n.generation;
  DELETE FROM counter_hub.cells c USING counter_hub.columns n
   WHERE n.changed = this_upload AND (c.table_name, c.column_name) = (n.table_name, n.column_name)
     AND c.generation < n.generation;
  DELETE FROM counter_hub.shards s USING counter_hub.cells c, counter_hub.floors f
   WHERE f.changed = this_upload AND c.table_name = f.table_name
     AND counter_hub.is_less(c.key_json -> f.key_column, f.floor, f.collation_name)
     AND (s.table_name, s.key, s.column_name, s.generation) = (c.table_name, c.key, c.column_name, c.generation);
  DELETE FROM counter_hub.cells c USING counter_hub.floors f
   WHERE f.changed = this_upload AND c.table_name = f.table_name
     AND counter_hub.is_less(c.key_json -> f.key_column, f.floor, f.collation_name);
  DELETE FROM counter_hub.incoming;
END
$$;

-- Takes a table out, with all that was counted in it. Marks of files are of all their tables, so
-- they go, too.
CREATE OR REPLACE FUNCTION counter_hub.forget(of_table text) RETURNS void LANGUAGE sql AS $$
  UPDATE counter_hub.hub SET number = number + 1;
  DELETE FROM counter_hub.shards WHERE table_name = of_table;
  DELETE FROM counter_hub.cells WHERE table_name = of_table;
  DELETE FROM counter_hub.floors WHERE table_name = of_table;
  DELETE FROM counter_hub.answers WHERE table_name = of_table;
  DELETE FROM counter_hub.columns WHERE table_name = of_table;
  DELETE FROM counter_hub.tables WHERE table_name = of_table;
  DELETE FROM counter_hub.sources;
$$;

-- ---- download -----------------------------------------------------------------------------------

-- The cells that count, deleted ones too: all that are of the present generation of their counter
-- and not below a floor. merge() lets no others in; where rows, columns and floors have come apart
-- from it, another is stored, but seen by nobody.
CREATE OR REPLACE VIEW counter_hub.held AS
SELECT c.table_name, c.key, c.column_name, c.generation, c.key_json, c.life, c.changed
  FROM counter_hub.cells c
 WHERE NOT EXISTS (
   SELECT FROM counter_hub.floors f
    WHERE f.table_name = c.table_name
      AND counter_hub.is_less(c.key_json -> f.key_column, f.floor, f.collation_name))
   AND NOT EXISTS (
   SELECT FROM counter_hub.columns n
    WHERE (n.table_name, n.column_name) = (c.table_name, c.column_name) AND n.generation > c.generation);

-- What has changed in the uploads from `since` on. A file asks from counter_mark(hub.id), merges
-- the rows, and then says counter_seen(hub.id, since, hub.number + 1); the number is to be read in
-- the snapshot of the rows, or before. A cell without shards is one row without an id; a counter by
-- itself has no life either, and an empty key; floors have no column_name, and a key with holes; an
-- answer has neither. Merge answers before cells, which may need them.
CREATE OR REPLACE FUNCTION counter_hub.changes(since bigint)
RETURNS TABLE(table_name text, key_columns text, key bytea, column_name text, generation bigint, life bigint, id uuid,
              clock bigint, value bigint, changed bigint, answer bytea)
LANGUAGE sql STABLE AS $$
  SELECT table_name, t.key_columns, ''::bytea, NULL::text, 0::bigint, NULL::bigint, NULL::uuid, NULL::bigint, NULL::bigint,
         a.changed, a.answer
    FROM counter_hub.answers a JOIN counter_hub.tables t USING (table_name)
   WHERE a.changed >= since
  UNION ALL
  SELECT table_name, t.key_columns, f.packed, NULL, 0, NULL, NULL, NULL, NULL, f.changed, NULL
    FROM counter_hub.floors f JOIN counter_hub.tables t USING (table_name)
   WHERE f.changed >= since
  UNION ALL
  SELECT table_name, t.key_columns, '', n.column_name, n.generation, NULL, NULL, NULL, NULL, n.changed, NULL
    FROM counter_hub.columns n JOIN counter_hub.tables t USING (table_name)
   WHERE n.changed >= since
  UNION ALL
  SELECT table_name, t.key_columns, key, column_name, generation, life, s.id, s.clock, s.value, s.changed, NULL
    FROM counter_hub.held c JOIN counter_hub.shards s USING (table_name, key, column_name, generation, life)
    JOIN counter_hub.tables t USING (table_name)
   WHERE s.changed >= since
  UNION ALL
  SELECT table_name, t.key_columns, c.key, c.column_name, c.generation, c.life, NULL, NULL, NULL, c.changed, NULL
    FROM counter_hub.held c JOIN counter_hub.tables t USING (table_name)
   WHERE c.changed >= since AND c.life > 1
     AND NOT EXISTS (
       SELECT FROM counter_hub.shards s
        WHERE (s.table_name, s.key, s.column_name, s.generation, s.life)
            = (c.table_name, c.key, c.column_name, c.generation, c.life))
$$;

-- The live counters. A deleted one has no row, one that was reset has the value 0.
CREATE OR REPLACE VIEW counter_hub.totals AS
SELECT c.table_name, c.key_json, c.column_name, coalesce(sum(s.value), 0) AS value
  FROM counter_hub.held c LEFT JOIN counter_hub.shards s USING (table_name, key, column_name, generation, life)
 WHERE c.life % 2 = 1
 GROUP BY c.table_name, c.key, c.key_json, c.column_name, c.generation;

COMMIT;
