-- postgresql.sql - a hub: one PostgreSQL database; files upload counters to it and download them.
--
--     psql -v ON_ERROR_STOP=1 -f sql/hub/postgresql.sql    makes counter_hub; may be repeated
--     examples/hub.sh up FILE                          what is new in FILE, to the hub
--     examples/hub.sh down FILE [SCOPE]                what is new in the hub, or in a scope, to FILE
--     SELECT * FROM counter_hub.totals;                    the counters, for all who speak SQL
--     SELECT * FROM counter_hub.rows;                      the rows of replicated tables
--
-- The hub merges as the files do, shard by shard and column by column, so uploads may be late,
-- doubled, in any order, from files that have pulled from each other. It never counts itself: it
-- has no shard of its own.
-- PostgreSQL 13 or later.
--
-- The lattice is made of registers that only rise, each in one row:
--
--     cells     life                      the highest wins; even: deleted
--     shards    (life, clock, value)      the highest wins, compared from left to right
--     floors    floor                     the highest wins, as SQLite sorts the column
--     columns   generation                the highest wins; even: dropped
--     answers                             a set: what has come stays
--     row_cells (life, stamp of the INSERT)     the highest wins; an even life: deleted
--     regular   (life, stamp), with its value   the highest wins
--
-- What the counter is follows from the first four when it is read: the shards whose life is that of their
-- cell, unless it is deleted, below a floor or of a generation that is over. A row of a replicated
-- table is its row cell with what has the same life: its regular columns, and its counters, whose
-- generation is 2^32 times that life plus their own. So no order between rows can make a
-- difference, and old rows are removed only to save room.
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
--   * A column without a stamp, which has no value to give, is not stored, and left out in downloads.
--   * Sums are exact and of any size. Files say `integer overflow` beyond 64 bits.
--   * Answers about opening values are kept for the files, which obey them: an opening that gives way
--     comes as a shard of clock 2 and value 0. Until a file has sent it, totals have the sum of both.
--   * Who may upload is trusted, as whoever may write a file is.
--
-- Tables of one name have one key, in all files: names, order, affinities and collations of its
-- columns; a counter has one spelling; and all replicate the table or none does. The first upload
-- says which; another is refused as a whole. To take a table out of the hub, with all that was
-- counted in it here:
--
--     SELECT counter_hub.forget('page_views');
--
-- Files keep what they have, and at their next upload send everything once more: where the table is
-- to be gone, DROP it in the files first.

BEGIN;

SET LOCAL client_min_messages = warning;

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

-- The tables that have come, the columns of their keys as counter_changes tells them, and whether
-- they are replicated: NULL until a cell or a row has told.
CREATE TABLE IF NOT EXISTS counter_hub.tables(
  table_name text PRIMARY KEY,
  key_columns text NOT NULL,
  replicated boolean);

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

-- A row of a replicated table: its life and the stamp of its INSERT, 0 and 0 if it is deleted.
-- `changed` is the number of the upload that has raised this row or one of its regular columns.
CREATE TABLE IF NOT EXISTS counter_hub.row_cells(
  table_name text NOT NULL,
  key bytea NOT NULL,
  key_json jsonb,
  life bigint NOT NULL,
  number bigint NOT NULL,
  id uuid NOT NULL,
  changed bigint NOT NULL,
  PRIMARY KEY (table_name, key));

CREATE INDEX IF NOT EXISTS row_cells_changed ON counter_hub.row_cells(changed);

-- A regular column of such a row: the life of the row, the stamp, and the value as counter_key()
-- packs it, without the first byte; one byte 0 is NULL.
CREATE TABLE IF NOT EXISTS counter_hub.regular(
  table_name text NOT NULL,
  key bytea NOT NULL,
  column_name text NOT NULL,
  life bigint NOT NULL,
  number bigint NOT NULL,
  id uuid NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (table_name, key, column_name));

-- A cell. `key` is what counter_key() packs, `key_json` what counter_key_json() makes of it.
-- `changed`, here and below, is the number of the upload that has raised the row. In a replicated
-- table the generation, here and below, has the life of the row in its high half.
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
-- column_name and no life; a row of a replicated table has the column_name '' and no life. Of these
-- two counter_changes has the bytes.
CREATE TABLE IF NOT EXISTS counter_hub.incoming(
  table_name text NOT NULL,
  key_columns text NOT NULL,
  key bytea NOT NULL,
  key_json jsonb CHECK (jsonb_typeof(key_json) = 'array'),
  column_name text,
  generation bigint NOT NULL CHECK (generation >= 0),
  life bigint CHECK (life BETWEEN 1 AND 4294967295),
  id uuid,
  clock bigint CHECK (clock BETWEEN 1 AND 4611686018427387903),
  value bigint,
  source text,
  since bigint,
  upto bigint,
  bytes bytea,
  CHECK (CASE WHEN column_name = ''
                THEN generation = 0 AND key <> '' AND bytes IS NOT NULL AND num_nonnulls(life, id, clock, value) = 0
              WHEN bytes IS NOT NULL
                THEN generation = 0 AND key = '' AND num_nonnulls(key_json, column_name, life, id, clock, value) = 0
              WHEN column_name IS NULL
                THEN generation = 0 AND key_json IS NOT NULL AND num_nonnulls(life, id, clock, value) = 0
              WHEN life IS NULL
                THEN generation BETWEEN 1 AND 4294967295 AND key = '' AND num_nonnulls(key_json, id, clock, value) = 0
              WHEN generation % 2 = 0 OR generation > 4294967295 AND (generation >> 32) % 2 = 0 THEN false
              WHEN id IS NULL THEN life > 1 AND num_nonnulls(clock, value) = 0
              ELSE life % 2 = 1 AND num_nonnulls(clock, value) = 2 END),
  CHECK (num_nonnulls(source, since, upto) IN (0, 3)));

-- The parts of the rows of replicated tables among them, while merge() runs: each row by itself, with
-- the column_name '', and its regular columns that have a stamp.
CREATE TABLE IF NOT EXISTS counter_hub.parts(
  table_name text NOT NULL,
  key bytea NOT NULL,
  key_json jsonb,
  life bigint NOT NULL,
  column_name text NOT NULL,
  number bigint NOT NULL,
  id uuid NOT NULL,
  value bytea);

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

-- ---- rows as bytes ------------------------------------------------------------------------------

-- The bytes of a row of a replicated table, as files have them between each other (core/row_cell.c),
-- are read from `at` on, the first byte at 0. Bytes that are no row raise a data_exception, or run
-- into one of PostgreSQL's.

-- Takes a number: LEB128 of minimal length. From 2^63 on it is negative here.
CREATE OR REPLACE FUNCTION counter_hub.take_number(bytes bytea, INOUT at integer, OUT n bigint)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  byte integer := get_byte(bytes, at);
  shift integer := 0;
BEGIN
  n := byte & 127;
  at := at + 1;
  WHILE byte > 127 LOOP
    byte := get_byte(bytes, at);
    at := at + 1;
    shift := shift + 7;
    IF byte = 0 OR shift > 63 OR shift = 63 AND byte > 1 THEN RAISE data_exception; END IF;
    n := n | ((byte & 127)::bigint << shift);
  END LOOP;
END
$$;

-- Takes a stamp. No file takes one beyond the year 2200, so one here would stop all downloads.
CREATE OR REPLACE FUNCTION counter_hub.take_stamp(bytes bytea, INOUT at integer, OUT number bigint, OUT id uuid)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  taken record := counter_hub.take_number(bytes, at);
BEGIN
  number := taken.n;
  id := encode(substr(bytes, taken.at + 1, 16), 'hex')::uuid;
  at := taken.at + 16;
  IF number < 0 THEN RAISE data_exception; END IF;
  IF number & 36028797018963967 > 29859523934027776 THEN  -- above these 55 bits lies a generation
    RAISE EXCEPTION 'counter_hub: a row has a stamp with the number %, which lies beyond the year 2200; the highest is '
                    '29859523934027776: nothing was taken', number;
  END IF;
END
$$;

-- Takes a value of a packed key (core/key.c), and checks it.
CREATE OR REPLACE FUNCTION counter_hub.take_value(bytes bytea, INOUT at integer, OUT value bytea)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  begins integer := at;
  type integer := get_byte(bytes, at);
  taken record;
BEGIN
  at := at + 1;
  IF type = 2 THEN
    at := at + 8;
  ELSIF type <> 0 THEN
    taken := counter_hub.take_number(bytes, at);
    at := taken.at;
    IF type > 4 OR type > 2 AND taken.n NOT BETWEEN 0 AND length(bytes) - at THEN RAISE data_exception; END IF;
    IF type > 2 THEN at := at + taken.n; END IF;
  END IF;
  value := substr(bytes, begins + 1, at - begins);
  IF length(value) < at - begins OR type = 2 AND set_bit(value, 15, 0) > '\x027ff0000000000000' THEN  -- not a number
    RAISE data_exception;
  END IF;
END
$$;

-- The parts of a row.
CREATE OR REPLACE FUNCTION counter_hub.parts_of(of_table text, image bytea)
RETURNS TABLE(life bigint, column_name text, number bigint, id uuid, value bytea) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  bytes bytea := image || '';  -- in memory, and not compressed
  at integer := 1;
  taken record;
  columns bigint := 0;
  name bytea := '';
  size bigint;
  names text[];
  numbers bigint[];
  ids uuid[];
  own_number bigint := 0;
  own_id uuid := '00000000-0000-0000-0000-000000000000';
BEGIN
  IF get_byte(bytes, 0) <> 161 THEN RAISE data_exception; END IF;
  taken := counter_hub.take_number(bytes, at);
  at := taken.at;
  life := taken.n;
  IF life NOT BETWEEN 1 AND 2147483647 THEN RAISE data_exception; END IF;
  IF life % 2 = 1 THEN
    taken := counter_hub.take_stamp(bytes, at);
    own_number := taken.number;
    own_id := taken.id;
    taken := counter_hub.take_number(bytes, taken.at);
    columns := taken.n;
    at := taken.at;
  END IF;
  IF columns NOT BETWEEN 0 AND 32767 THEN RAISE data_exception; END IF;

  FOR i IN 1 .. columns LOOP
    taken := counter_hub.take_number(bytes, at);
    at := taken.at;
    size := taken.n;
    IF size NOT BETWEEN 1 AND length(bytes) - at OR substr(bytes, at + 1, size::integer) <= name THEN
      RAISE data_exception;
    END IF;
    name := substr(bytes, at + 1, size::integer);
    names[i] := convert_from(name, 'UTF8');
    at := at + size + 1;
    CASE get_byte(bytes, at - 1)
      WHEN 0 THEN
        numbers[i] := own_number;
        ids[i] := own_id;
      WHEN 1 THEN
        taken := counter_hub.take_stamp(bytes, at);
        at := taken.at;
        numbers[i] := taken.number;
        ids[i] := taken.id;
      WHEN 2 THEN
        numbers[i] := NULL;
      ELSE RAISE data_exception;
    END CASE;
  END LOOP;

  IF columns > 0 THEN
    IF get_byte(bytes, at) <> 209 THEN RAISE data_exception; END IF;
    at := at + 1;
  END IF;
  FOR i IN 1 .. columns LOOP
    taken := counter_hub.take_value(bytes, at);
    at := taken.at;
    value := taken.value;
    column_name := names[i];
    number := numbers[i];
    id := ids[i];
    IF number IS NOT NULL THEN RETURN NEXT; END IF;
  END LOOP;
  IF at <> length(bytes) THEN RAISE data_exception; END IF;
  column_name := '';
  number := own_number;
  id := own_id;
  value := NULL;
  RETURN NEXT;
EXCEPTION
  WHEN data_exception THEN
    RAISE EXCEPTION 'counter_hub: table %: a row is damaged: %: nothing was taken', of_table,
                    left(encode(image, 'hex'), 400);
END
$$;

CREATE OR REPLACE FUNCTION counter_hub.number_bytes(n bigint) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  bytes bytea := '';
BEGIN
  WHILE n > 127 LOOP
    bytes := bytes || set_byte('\x00', 0, (n & 127 | 128)::integer);
    n := n >> 7;
  END LOOP;
  RETURN bytes || set_byte('\x00', 0, n::integer);
END
$$;

CREATE OR REPLACE FUNCTION counter_hub.stamp_bytes(number bigint, id uuid) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT counter_hub.number_bytes(number) || uuid_send(id)
$$;

-- A value as JSON, in the words of counter_key_json: a BLOB is {"hex":"00ff"}, a TEXT that is no
-- text in JSON, for it is not UTF-8 or has a character U+0000, {"text":"61ff"}.
CREATE OR REPLACE FUNCTION counter_hub.json_of(value bytea) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  type integer := get_byte(value, 0);
  taken record;
  bits bigint;
  exponent integer;
BEGIN
  IF type = 0 THEN RETURN 'null'; END IF;
  IF type = 2 THEN
    bits := ('x' || encode(substr(value, 2), 'hex'))::bit(64)::bigint;
    exponent := (bits >> 52 & 2047)::integer;
    IF exponent = 2047 THEN RETURN CASE WHEN bits < 0 THEN '-9e999' ELSE '9e999' END; END IF;
    bits := bits & 4503599627370495 | CASE WHEN exponent > 0 THEN 4503599627370496 ELSE 0 END;
    exponent := greatest(exponent, 1) - 1075;  -- the two powers are exact, one alone might be 0
    RETURN to_jsonb(CASE WHEN get_bit(value, 15) = 1 THEN -1 ELSE 1 END * bits::float8
                    * power(2::float8, exponent / 2) * power(2::float8, exponent - exponent / 2));
  END IF;
  taken := counter_hub.take_number(value, 1);
  IF type = 1 THEN RETURN to_jsonb((taken.n >> 1 & 9223372036854775807) # -(taken.n & 1)); END IF;
  value := substr(value, taken.at + 1);
  IF type = 4 THEN RETURN jsonb_build_object('hex', encode(value, 'hex')); END IF;
  RETURN to_jsonb(convert_from(value, 'UTF8'));
EXCEPTION
  WHEN character_not_in_repertoire THEN RETURN jsonb_build_object('text', encode(value, 'hex'));
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

  WITH kinds AS (
    SELECT DISTINCT table_name, column_name = '' OR generation > 4294967295 AS replicated
      FROM counter_hub.incoming WHERE key <> '' AND column_name IS NOT NULL)
  UPDATE counter_hub.tables t SET replicated = k.replicated
    FROM kinds k WHERE k.table_name = t.table_name AND t.replicated IS NULL;

  SELECT i.table_name, t.replicated INTO wrong
    FROM counter_hub.incoming i JOIN counter_hub.tables t USING (table_name)
   WHERE i.key <> '' AND (i.column_name = '' OR i.generation > 4294967295) <> t.replicated
   LIMIT 1;
  IF FOUND THEN
    IF wrong.replicated THEN
      RAISE EXCEPTION 'counter_hub: table %: it is replicated in the hub, but not in the upload: nothing was taken',
                      wrong.table_name
        USING HINT = format('Call counter_replicate(%L, ...) in the file.', wrong.table_name);
    END IF;
    RAISE EXCEPTION 'counter_hub: table %: it is replicated in the upload, but not in the hub: nothing was taken',
                    wrong.table_name
      USING HINT = format('When all files have uploaded, downloaded and called counter_replicate: '
                          'SELECT counter_hub.forget(%L)', wrong.table_name);
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
  SELECT i.table_name, i.column_name, max(i.generation & 4294967295), this_upload
    FROM counter_hub.incoming i
   WHERE i.column_name <> ''
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
     AND (i.life IS NULL OR i.generation & 4294967295 < c.generation);
END
$$;

-- Refuses a damaged answer; takes those that have come out of counter_hub.incoming.
CREATE OR REPLACE FUNCTION counter_hub.take_answers(this_upload bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wrong record;
BEGIN
  SELECT i.table_name, encode(i.bytes, 'hex') AS bytes INTO wrong
    FROM counter_hub.incoming i
   WHERE i.column_name IS NULL
     AND NOT CASE WHEN length(i.bytes) <> 34 THEN false
                  ELSE get_byte(i.bytes, 0) = 177 AND get_byte(i.bytes, 1) IN (1, 2)
                       AND get_byte(i.bytes, 8) >> 4 = 8 AND get_byte(i.bytes, 24) >> 4 = 8
                       AND substr(i.bytes, 3, 16) < substr(i.bytes, 19, 16) END
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'counter_hub: table %: an answer about two openings is damaged: %: nothing was taken',
                    wrong.table_name, wrong.bytes;
  END IF;

  INSERT INTO counter_hub.answers(table_name, answer, changed)
  SELECT DISTINCT i.table_name, i.bytes, this_upload
    FROM counter_hub.incoming i
   WHERE i.column_name IS NULL AND i.bytes IS NOT NULL
  ON CONFLICT DO NOTHING;
  DELETE FROM counter_hub.incoming WHERE column_name IS NULL AND bytes IS NOT NULL;
END
$$;

-- Raises the rows of replicated tables that have come, and their regular columns; takes them, and
-- counters of lives that are over, out of counter_hub.incoming.
CREATE OR REPLACE FUNCTION counter_hub.take_rows(this_upload bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO counter_hub.parts(table_name, key, key_json, life, column_name, number, id, value)
  SELECT i.table_name, i.key, i.key_json, p.life, p.column_name, p.number, p.id, p.value
    FROM counter_hub.incoming i, counter_hub.parts_of(i.table_name, i.bytes) p
   WHERE i.column_name = '';

  INSERT INTO counter_hub.row_cells AS r(table_name, key, key_json, life, number, id, changed)
  SELECT DISTINCT ON (p.table_name, p.key) p.table_name, p.key, p.key_json, p.life, p.number, p.id, this_upload
    FROM counter_hub.parts p
   WHERE p.column_name = ''
   ORDER BY p.table_name, p.key, p.life DESC, p.number DESC, p.id DESC
  ON CONFLICT (table_name, key) DO UPDATE
     SET life = excluded.life, number = excluded.number, id = excluded.id, changed = excluded.changed
   WHERE (r.life, r.number, r.id) < (excluded.life, excluded.number, excluded.id);

  -- Regular columns of those lives.
  WITH risen AS (
    INSERT INTO counter_hub.regular AS v(table_name, key, column_name, life, number, id, value)
    SELECT DISTINCT ON (p.table_name, p.key, p.column_name)
           p.table_name, p.key, p.column_name, p.life, p.number, p.id, p.value
      FROM counter_hub.parts p JOIN counter_hub.row_cells r USING (table_name, key, life)
     WHERE p.column_name <> ''
     ORDER BY p.table_name, p.key, p.column_name, p.number DESC, p.id DESC
    ON CONFLICT (table_name, key, column_name) DO UPDATE
       SET life = excluded.life, number = excluded.number, id = excluded.id, value = excluded.value
     WHERE (v.life, v.number, v.id) < (excluded.life, excluded.number, excluded.id)
    RETURNING v.table_name, v.key)
  UPDATE counter_hub.row_cells r SET changed = this_upload
    FROM risen n
   WHERE (r.table_name, r.key) = (n.table_name, n.key) AND r.changed < this_upload;

  DELETE FROM counter_hub.parts;
  DELETE FROM counter_hub.incoming WHERE column_name = '';
  DELETE FROM counter_hub.incoming i USING counter_hub.row_cells r
   WHERE (i.table_name, i.key) = (r.table_name, r.key) AND i.generation >> 32 < r.life;
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

  PERFORM counter_hub.take_rows(this_upload);

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
       + (SELECT count(*) FROM counter_hub.row_cells WHERE changed = this_upload)
       + (SELECT count(*) FROM counter_hub.cells WHERE changed = this_upload)
       + (SELECT count(*) FROM counter_hub.shards WHERE changed = this_upload) INTO rows_changed;

  -- To save room: shards of ended lives, what is of ended lives of rows or of ended generations,
  -- what is below the floors that have risen, and what has come.
  DELETE FROM counter_hub.shards s USING counter_hub.cells c
   WHERE c.changed = this_upload AND s.life < c.life
     AND (s.table_name, s.key, s.column_name, s.generation) = (c.table_name, c.key, c.column_name, c.generation);
  DELETE FROM counter_hub.shards s USING counter_hub.columns n
   WHERE n.changed = this_upload AND (s.table_name, s.column_name) = (n.table_name, n.column_name)
     AND s.generation & 4294967295 < n.generation;
  DELETE FROM counter_hub.cells c USING counter_hub.columns n
   WHERE n.changed = this_upload AND (c.table_name, c.column_name) = (n.table_name, n.column_name)
     AND c.generation & 4294967295 < n.generation;
  DELETE FROM counter_hub.shards s USING counter_hub.row_cells r
   WHERE r.changed = this_upload AND (s.table_name, s.key) = (r.table_name, r.key) AND s.generation >> 32 < r.life;
  DELETE FROM counter_hub.cells c USING counter_hub.row_cells r
   WHERE r.changed = this_upload AND (c.table_name, c.key) = (r.table_name, r.key) AND c.generation >> 32 < r.life;
  DELETE FROM counter_hub.regular v USING counter_hub.row_cells r
   WHERE r.changed = this_upload AND (v.table_name, v.key) = (r.table_name, r.key) AND v.life < r.life;
  DELETE FROM counter_hub.shards s USING counter_hub.cells c, counter_hub.floors f
   WHERE f.changed = this_upload AND c.table_name = f.table_name
     AND counter_hub.is_less(c.key_json -> f.key_column, f.floor, f.collation_name)
     AND (s.table_name, s.key, s.column_name, s.generation) = (c.table_name, c.key, c.column_name, c.generation);
  DELETE FROM counter_hub.cells c USING counter_hub.floors f
   WHERE f.changed = this_upload AND c.table_name = f.table_name
     AND counter_hub.is_less(c.key_json -> f.key_column, f.floor, f.collation_name);
  DELETE FROM counter_hub.regular v USING counter_hub.row_cells r, counter_hub.floors f
   WHERE f.changed = this_upload AND r.table_name = f.table_name
     AND counter_hub.is_less(r.key_json -> f.key_column, f.floor, f.collation_name)
     AND (v.table_name, v.key) = (r.table_name, r.key);
  DELETE FROM counter_hub.row_cells r USING counter_hub.floors f
   WHERE f.changed = this_upload AND r.table_name = f.table_name
     AND counter_hub.is_less(r.key_json -> f.key_column, f.floor, f.collation_name);
  DELETE FROM counter_hub.incoming;
END
$$;

-- Takes a table out, with all that was counted in it. Marks of files are of all their tables, so
-- they go, too.
CREATE OR REPLACE FUNCTION counter_hub.forget(of_table text) RETURNS void LANGUAGE sql AS $$
  UPDATE counter_hub.hub SET number = number + 1;
  DELETE FROM counter_hub.shards WHERE table_name = of_table;
  DELETE FROM counter_hub.cells WHERE table_name = of_table;
  DELETE FROM counter_hub.regular WHERE table_name = of_table;
  DELETE FROM counter_hub.row_cells WHERE table_name = of_table;
  DELETE FROM counter_hub.floors WHERE table_name = of_table;
  DELETE FROM counter_hub.answers WHERE table_name = of_table;
  DELETE FROM counter_hub.columns WHERE table_name = of_table;
  DELETE FROM counter_hub.tables WHERE table_name = of_table;
  DELETE FROM counter_hub.sources;
$$;

-- Takes a regular column out, which all files have ceased to replicate. While their tables still have
-- it, they refuse to download it.
CREATE OR REPLACE FUNCTION counter_hub.forget(of_table text, of_column text) RETURNS void LANGUAGE sql AS $$
  DELETE FROM counter_hub.regular WHERE table_name = of_table AND column_name = of_column;
$$;

-- ---- download -----------------------------------------------------------------------------------

-- The cells that count, deleted ones too: all that are of the present generation of their counter,
-- of a life of their row that is not over, and not below a floor. merge() lets no others in; where
-- rows, columns and floors have come apart from it, another is stored, but seen by nobody.
CREATE OR REPLACE VIEW counter_hub.held AS
SELECT c.table_name, c.key, c.column_name, c.generation, c.key_json, c.life, c.changed
  FROM counter_hub.cells c
 WHERE NOT EXISTS (
   SELECT FROM counter_hub.floors f
    WHERE f.table_name = c.table_name
      AND counter_hub.is_less(c.key_json -> f.key_column, f.floor, f.collation_name))
   AND NOT EXISTS (
   SELECT FROM counter_hub.columns n
    WHERE (n.table_name, n.column_name) = (c.table_name, c.column_name)
      AND n.generation > c.generation & 4294967295)
   AND NOT EXISTS (
   SELECT FROM counter_hub.row_cells r
    WHERE (r.table_name, r.key) = (c.table_name, c.key) AND r.life > c.generation >> 32);

-- The rows of replicated tables, deleted ones too, that are not below a floor.
CREATE OR REPLACE VIEW counter_hub.held_rows AS
SELECT r.table_name, r.key, r.key_json, r.life, r.number, r.id, r.changed
  FROM counter_hub.row_cells r
 WHERE NOT EXISTS (
   SELECT FROM counter_hub.floors f
    WHERE f.table_name = r.table_name
      AND counter_hub.is_less(r.key_json -> f.key_column, f.floor, f.collation_name));

-- These rows as bytes, as counter_changes has them.
CREATE OR REPLACE VIEW counter_hub.images AS
SELECT r.table_name, r.key, r.changed,
       '\xa1' || counter_hub.number_bytes(r.life) ||
       CASE WHEN r.life % 2 = 1 THEN counter_hub.stamp_bytes(r.number, r.id) || c.bytes ELSE '' END AS bytes,
       r.key_json
  FROM counter_hub.held_rows r, LATERAL (
    SELECT counter_hub.number_bytes(count(*)) || coalesce(
             string_agg(counter_hub.number_bytes(octet_length(v.column_name)) || convert_to(v.column_name, 'UTF8') ||
                        CASE WHEN (v.number, v.id) = (r.number, r.id) THEN '\x00'
                             ELSE '\x01' || counter_hub.stamp_bytes(v.number, v.id) END,
                        '' ORDER BY v.column_name COLLATE "C") ||
             '\xd1' || string_agg(v.value, '' ORDER BY v.column_name COLLATE "C"), '') AS bytes
      FROM counter_hub.regular v
     WHERE (v.table_name, v.key, v.life) = (r.table_name, r.key, r.life)) AS c;

-- What two values have in common that SQLite may take for one, by affinities, NOCASE and RTRIM.
CREATE OR REPLACE FUNCTION counter_hub.scope_word(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN word !~ '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]{1,3})?$' THEN word
              WHEN abs(word::numeric) BETWEEN 1e-300 AND 1e300 THEN word::float8::text ELSE 'a number' END
    FROM (SELECT lower(btrim(value #>> '{}', E' \t\n\r\f\v') COLLATE "C") AS word) AS w
$$;

-- Whether a file may find the row in the scope, the first values of keys; it looks again itself.
CREATE OR REPLACE FUNCTION counter_hub.may_be_in(key_json jsonb, scope jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT scope IS NULL OR key_json IS NULL OR NOT EXISTS (
    SELECT FROM jsonb_array_elements(scope) WITH ORDINALITY AS s(value, n)
     WHERE counter_hub.scope_word(s.value) IS DISTINCT FROM counter_hub.scope_word(key_json -> (n - 1)::integer)
       AND 'object' NOT IN (jsonb_typeof(s.value), jsonb_typeof(key_json -> (n - 1)::integer)))
$$;

-- What has changed in the uploads from `since` on. A file asks from counter_mark(hub.id), merges
-- the rows, and then says counter_seen(hub.id, since, hub.number + 1); the number is to be read in
-- the snapshot of the rows, or before. A cell without shards is one row without an id; a counter by
-- itself has no life either, and an empty key; floors have no column_name, and a key with holes; an
-- answer has neither; a row of a replicated table has the column_name ''. Merge answers and rows
-- before cells, which may need them. With a scope, only rows that may be in it, and all that has none.
DROP FUNCTION IF EXISTS counter_hub.changes(bigint);
CREATE OR REPLACE FUNCTION counter_hub.changes(since bigint, scope jsonb DEFAULT NULL)
RETURNS TABLE(table_name text, key_columns text, key bytea, column_name text, generation bigint, life bigint, id uuid,
              clock bigint, value bigint, changed bigint, bytes bytea)
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
  SELECT table_name, t.key_columns, i.key, '', 0, NULL, NULL, NULL, NULL, i.changed, i.bytes
    FROM counter_hub.images i JOIN counter_hub.tables t USING (table_name)
   WHERE i.changed >= since AND counter_hub.may_be_in(i.key_json, scope)
  UNION ALL
  SELECT table_name, t.key_columns, key, column_name, generation, life, s.id, s.clock, s.value, s.changed, NULL
    FROM counter_hub.held c JOIN counter_hub.shards s USING (table_name, key, column_name, generation, life)
    JOIN counter_hub.tables t USING (table_name)
   WHERE s.changed >= since AND counter_hub.may_be_in(c.key_json, scope)
  UNION ALL
  SELECT table_name, t.key_columns, c.key, c.column_name, c.generation, c.life, NULL, NULL, NULL, c.changed, NULL
    FROM counter_hub.held c JOIN counter_hub.tables t USING (table_name)
   WHERE c.changed >= since AND c.life > 1 AND counter_hub.may_be_in(c.key_json, scope)
     AND NOT EXISTS (
       SELECT FROM counter_hub.shards s
        WHERE (s.table_name, s.key, s.column_name, s.generation, s.life)
            = (c.table_name, c.key, c.column_name, c.generation, c.life))
$$;

-- ---- for people ---------------------------------------------------------------------------------

-- The live counters, by key; NULL if they were reset. One that has come before its row waits, and is
-- not among them.
CREATE OR REPLACE VIEW counter_hub.sums AS
SELECT c.table_name, c.key, c.key_json, c.column_name, sum(s.value) AS value
  FROM counter_hub.held c LEFT JOIN counter_hub.shards s USING (table_name, key, column_name, generation, life)
  LEFT JOIN counter_hub.row_cells r USING (table_name, key)
 WHERE c.life % 2 = 1 AND c.generation >> 32 = coalesce(r.life, 0)
 GROUP BY c.table_name, c.key, c.key_json, c.column_name, c.generation;

-- The live counters. A deleted one has no row, one that was reset has the value 0.
CREATE OR REPLACE VIEW counter_hub.totals AS
SELECT table_name, key_json, column_name, coalesce(value, 0) AS value FROM counter_hub.sums;

-- The rows of replicated tables: their regular columns, and the sums of their counters, of those
-- that have counted. A deleted row has neither.
CREATE OR REPLACE VIEW counter_hub.rows AS
SELECT r.table_name, r.key_json, r.life % 2 = 0 AS deleted,
       (SELECT coalesce(jsonb_object_agg(v.column_name, counter_hub.json_of(v.value)), '{}')
          FROM counter_hub.regular v
         WHERE (v.table_name, v.key, v.life) = (r.table_name, r.key, r.life)) AS columns,
       (SELECT coalesce(jsonb_object_agg(s.column_name, s.value), '{}')
          FROM counter_hub.sums s
         WHERE (s.table_name, s.key) = (r.table_name, r.key) AND s.value IS NOT NULL) AS counters
  FROM counter_hub.held_rows r;

COMMIT;
