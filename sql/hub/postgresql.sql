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
--     columns   generation, kind                           even, and still a counter: dropped
--     rows      birth, life, stamp of the INSERT           an even life: deleted
--     cells     birth and life of the row,                 the number of a counter is the life of its
--               generation, number, id
--                                                          cell, even: deleted; number and id of a
--                                                          regular column are its stamp
--     shards    birth and life of the row, generation, life of the cell, clock, value
--     floors    floor                                      as SQLite sorts the column
--     answers                                              a set: what has come stays
--
-- Of two the higher wins, compared from left to right, with its value. A birth stands as text that
-- sorts the other way, because the earlier one wins; 'z', none, wins over all. Of two live rows under
-- one key the one that was born later is listed in counter_hub.replaced; its origin inserts it again.
-- Rows of tables that are not replicated have the life 0. What a row shows follows when it is read:
-- its cells of its own life, counters of the generation of their column, with the shards of the same
-- life, generation and life of the cell, unless the row is below a floor. So no order between rows can
-- make a difference, and old rows are removed only to save room.
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
--   * A column without a stamp, which has no value to give, or whose value was too large to be told, is not
--     stored, and left out in downloads.
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
-- they are replicated: NULL until a row has told.
CREATE TABLE IF NOT EXISTS counter_hub.tables(
  table_name text PRIMARY KEY,
  key_columns text NOT NULL,
  replicated boolean);

-- The columns that count, or did. A counter is added and dropped by raising its generation: odd, it
-- is there; even, it was dropped, and the kind says whether it became a regular column. Cells of a lower
-- generation are over: they are removed here, to save room, and seen by nobody where they are not, so
-- that none can come back by a file that has not heard of it. A bounded counter never goes below zero:
-- files see to that; the hub tells them.
-- `changed`, here and below, is the number of the upload that has raised the row.
CREATE TABLE IF NOT EXISTS counter_hub.columns(
  table_name text NOT NULL,
  column_name text NOT NULL,
  generation bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  bounded boolean NOT NULL,
  changed bigint NOT NULL,
  PRIMARY KEY (table_name, column_name));

-- The rows. `key` is what counter_key() packs, `key_json` what counter_key_json() makes of it. Of a row
-- of a replicated table: its birth (counter_hub.birth_of), its life, and the stamp of its INSERT unless
-- it is deleted; else 0.
-- `changed` is the number of the upload that has raised this row, one of its cells or shards.
CREATE TABLE IF NOT EXISTS counter_hub.row_cells(
  table_name text NOT NULL,
  key bytea NOT NULL,
  key_json jsonb,
  birth text COLLATE "C" NOT NULL,
  life bigint NOT NULL,
  number bigint,
  id uuid,
  changed bigint NOT NULL,
  PRIMARY KEY (table_name, key));

CREATE INDEX IF NOT EXISTS row_cells_changed ON counter_hub.row_cells(changed);

-- The columns of the rows. The value of a regular one stands as counter_change_json writes it: jsonb
-- would make integers of REALs.
CREATE TABLE IF NOT EXISTS counter_hub.cells(
  table_name text NOT NULL,
  key bytea NOT NULL,
  column_name text NOT NULL,
  kind text NOT NULL,
  birth text COLLATE "C" NOT NULL,
  row_life bigint NOT NULL,
  generation bigint NOT NULL,
  number bigint NOT NULL,
  id uuid,
  value json,
  PRIMARY KEY (table_name, key, column_name, kind));

-- What one replica, `id`, has added to a counter; of a bounded one, what it has granted to others, and
-- the same as in a cell: of equal clocks and values the greater bytes win.
CREATE TABLE IF NOT EXISTS counter_hub.shards(
  table_name text NOT NULL,
  key bytea NOT NULL,
  column_name text NOT NULL,
  id uuid NOT NULL,
  birth text COLLATE "C" NOT NULL,
  row_life bigint NOT NULL,
  generation bigint NOT NULL,
  life bigint NOT NULL,
  clock bigint NOT NULL,
  value bigint NOT NULL,
  grants jsonb,
  packed bytea NOT NULL DEFAULT '',
  PRIMARY KEY (table_name, key, column_name, id));

-- The live rows whose number another row had first, each as the change that it was.
CREATE TABLE IF NOT EXISTS counter_hub.replaced(
  table_name text NOT NULL,
  key bytea NOT NULL,
  key_json jsonb,
  birth text COLLATE "C" NOT NULL,
  change text NOT NULL,
  changed bigint NOT NULL,
  PRIMARY KEY (table_name, key, birth));

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

-- Answers to the question whether the opening values of two files are one stock or two: 34 bytes in
-- hexadecimal digits.
CREATE TABLE IF NOT EXISTS counter_hub.answers(
  table_name text NOT NULL,
  answer text COLLATE "C" NOT NULL,
  changed bigint NOT NULL,
  PRIMARY KEY (table_name, answer));

-- How far each file has uploaded: the number to ask its change feed from. A file that has become
-- another, by a copy or a restore, is another source and begins at 0.
CREATE TABLE IF NOT EXISTS counter_hub.sources(
  source text PRIMARY KEY,
  mark bigint NOT NULL);

-- Changes on their way in, as counter_changes gives them and counter_change_json and
-- counter_key_json show them: COPY them here and call merge() in one transaction. merge() takes them
-- out again, so nobody else ever sees them, and uploads at the same time do not meet here.
CREATE TABLE IF NOT EXISTS counter_hub.incoming(
  table_name text NOT NULL,
  key_columns text NOT NULL,
  key bytea NOT NULL,
  key_json json CHECK (json_typeof(key_json) = 'array'),
  change text NOT NULL,
  source text,
  since bigint,
  upto bigint,
  CHECK (num_nonnulls(source, since, upto) IN (0, 3)));

-- Their parts, while merge() runs: one for each shard, each cell without shards, each regular column,
-- each row that tells no column, and each change of another kind. What files refuse is refused here,
-- too, for they could not download it. The last stamp is that of the year 2200.
CREATE TABLE IF NOT EXISTS counter_hub.parts(
  table_name text NOT NULL,
  key_columns text NOT NULL,
  key bytea NOT NULL,
  key_json jsonb,
  tells text NOT NULL,
  replicated boolean NOT NULL,
  birth text COLLATE "C" NOT NULL,
  birth_number bigint,
  birth_id uuid,
  row_life bigint NOT NULL,
  row_number bigint,
  row_id uuid,
  column_name text,
  kind text,
  generation bigint,
  number bigint,
  id uuid,
  clock bigint,
  amount bigint,
  grants jsonb,
  packed bytea,
  value json,
  answer text COLLATE "C",
  bounded boolean,
  known boolean NOT NULL,
  CONSTRAINT "nothing is told that the hub does not know"
    CHECK (known AND tells IN ('row', 'column', 'floors', 'answer')
           AND (column_name IS NULL) = (kind IS NULL) AND (kind IS NULL OR kind IN ('counter', 'regular'))),
  CONSTRAINT "a row and floors have a key, and floors have JSON"
    CHECK ((key <> '') = (tells IN ('row', 'floors')) AND (key_json IS NOT NULL OR tells <> 'floors')),
  CONSTRAINT "a row has a life, and if that is odd a stamp"
    CHECK (CASE WHEN replicated THEN row_life BETWEEN 1 AND 2147483647 ELSE row_life = 0 END
           AND num_nonnulls(row_number, row_id) = row_life % 2 * 2),
  CONSTRAINT "a birth is a stamp of a row"
    CHECK (num_nonnulls(birth_number, birth_id) IN (0, CASE WHEN replicated THEN 2 ELSE 0 END)),
  CONSTRAINT "no stamp lies beyond the year 2200"
    CHECK (row_number BETWEEN 0 AND 29859523934027776 AND birth_number BETWEEN 0 AND 29859523934027776 AND (kind = 'counter' OR number BETWEEN 0 AND 29859523934027776)),
  CONSTRAINT "a column that came or went has a generation"
    CHECK (tells <> 'column' OR (column_name <> '' AND generation BETWEEN 1 AND 4294967295
                                 AND (kind = 'counter' OR generation % 2 = 0)) IS TRUE),
  CONSTRAINT "only a counter that is there is bounded"
    CHECK (bounded IS NULL OR (bounded AND tells = 'column' AND kind = 'counter' AND generation % 2 = 1) IS TRUE),
  CONSTRAINT "a counter of a row has an odd generation, and a cell that is touched"
    CHECK (tells <> 'row' OR kind = 'regular' OR column_name IS NULL OR
           (column_name <> '' AND row_life % 2 = replicated::integer
            AND generation BETWEEN 1 AND 4294967295 AND generation % 2 = 1 AND number BETWEEN 1 AND 4294967295
            AND CASE num_nonnulls(id, clock, amount) WHEN 0 THEN number > 1
                     WHEN 3 THEN number % 2 = 1 AND clock BETWEEN 1 AND 4611686018427387903 END) IS TRUE),
  CONSTRAINT "a regular column of a replicated row has a value, and its stamp"
    CHECK (tells <> 'row' OR kind = 'counter' OR column_name IS NULL OR
           (column_name <> '' AND row_life % 2 = 1 AND generation BETWEEN 0 AND 510 AND generation % 2 = 0
            AND num_nonnulls(number, id, value) IN (0, 3)) IS TRUE),
  CONSTRAINT "an answer is about two openings, or who holds one"
    CHECK (tells <> 'answer' OR (answer ~ '^b10[12]([0-9a-f]{12}8[0-9a-f]{19}){2}$'
                                 AND substr(answer, 5, 32) < substr(answer, 37)
                                 OR answer ~ '^b103[0-9a-f]{12}8[0-9a-f]{19}[0-9a-f]{12}[0-79a-f][0-9a-f]{19}$') IS TRUE));

-- ---- births -------------------------------------------------------------------------------------

-- A birth as text: the later it is, the sooner it sorts. And what it was, for a change: NULL if none.
CREATE OR REPLACE FUNCTION counter_hub.birth_of(number bigint, id uuid) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(translate(lpad(to_hex(number), 16, '0') || replace(id::text, '-', ''), '0123456789abcdef', 'fedcba9876543210'),
                  'z')
$$;

CREATE OR REPLACE FUNCTION counter_hub.stamp_of(birth text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN birth <> 'z' THEN (
    SELECT format('{"number":%s,"id":"%s"}', ('x' || left(digits, 16))::bit(64)::bigint, substr(digits, 17)::uuid)
      FROM translate(birth, '0123456789abcdef', 'fedcba9876543210') AS digits) END
$$;

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

-- ---- what counts --------------------------------------------------------------------------------

-- The rows that are not below a floor, deleted ones too. merge() lets no others in; where rows and
-- floors have come apart from it, another is stored, but seen by nobody.
CREATE OR REPLACE VIEW counter_hub.held_rows AS
SELECT r.table_name, r.key, r.key_json, r.birth, r.life, r.number, r.id, r.changed
  FROM counter_hub.row_cells r
 WHERE NOT EXISTS (
   SELECT FROM counter_hub.floors f
    WHERE f.table_name = r.table_name
      AND counter_hub.is_less(r.key_json -> f.key_column, f.floor, f.collation_name));

-- Their cells, deleted ones too, of their life and the generation of the counter; the same holds.
CREATE OR REPLACE VIEW counter_hub.held_cells AS
SELECT r.table_name, r.key, r.key_json, c.column_name, c.kind, c.birth, c.row_life, c.generation, c.number, c.id, c.value
  FROM counter_hub.held_rows r
  JOIN counter_hub.cells c ON (c.table_name, c.key, c.birth, c.row_life) = (r.table_name, r.key, r.birth, r.life)
 WHERE c.kind = 'regular' OR EXISTS (
   SELECT FROM counter_hub.columns n
    WHERE (n.table_name, n.column_name, n.generation) = (c.table_name, c.column_name, c.generation));

-- ---- upload -------------------------------------------------------------------------------------

-- How far a file has uploaded; 0 if never.
CREATE OR REPLACE FUNCTION counter_hub.mark(of_source text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce(max(mark), 0) FROM counter_hub.sources WHERE source = of_source
$$;


-- Whether the object, if there is one, has no other members.
CREATE OR REPLACE FUNCTION counter_hub.has_only(object jsonb, VARIADIC members text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(object - members = '{}', true)
$$;

-- Whether the value is a number, a text, null, {"hex":"00ff"}, {"text":"61ff"} or {"real":"7f…"}, or there
-- is none.
CREATE OR REPLACE FUNCTION counter_hub.is_value(value jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE jsonb_typeof(value)
           WHEN 'object' THEN (value - 'hex' = '{}' OR value - 'text' = '{}' OR value - 'real' = '{}')
             AND decode(coalesce(value ->> 'hex', value ->> 'text', value ->> 'real'), 'hex') IS NOT NULL
           ELSE coalesce(jsonb_typeof(value) IN ('number', 'string', 'null'), true) END
$$;

-- Grants: {"id": how much, ...}, to others and not to nobody.
CREATE OR REPLACE FUNCTION counter_hub.are_grants(grants jsonb, granter text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN grants IS NULL THEN true
              WHEN jsonb_typeof(grants) <> 'object' OR grants = '{}' THEN false
              ELSE (SELECT bool_and(e.id::uuid <> granter::uuid AND jsonb_typeof(e.n) = 'number' AND (e.n #>> '{}')::bigint > 0)
                      FROM jsonb_each(grants) AS e(id, n)) END
$$;

-- A number as in a cell: seven bits a byte, the lowest first.
CREATE OR REPLACE FUNCTION counter_hub.varint(n bigint) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
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

-- Grants as in a cell.
CREATE OR REPLACE FUNCTION counter_hub.pack_grants(grants jsonb) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(string_agg(decode(replace(e.id::uuid::text, '-', ''), 'hex') || counter_hub.varint((e.n #>> '{}')::bigint),
                             '' ORDER BY e.id::uuid), '')
    FROM jsonb_each(grants) AS e(id, n)
$$;

-- Moves the changes that have come to counter_hub.parts. jsonb takes no U+0000, so a word stands for
-- it while the changes are read; a value with it becomes {"text":"610062"}, which is the same.
-- OFFSET 0 keeps what is said of a column from being worked out again for each of its shards.
CREATE OR REPLACE FUNCTION counter_hub.take_apart() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  zero text := gen_random_uuid();
  failed text;
BEGIN
  INSERT INTO counter_hub.parts(table_name, key_columns, key, key_json, tells, replicated, birth, birth_number, birth_id,
                                row_life, row_number, row_id, column_name, kind, generation, number, id, clock, amount, grants,
                                packed, value, answer, bounded, known)
  SELECT i.table_name, i.key_columns, i.key,
         CASE WHEN strpos(replace(i.key_json::text, '\\', ''), '\u0000') = 0 THEN i.key_json::jsonb END,
         w.tells, w.row IS NOT NULL,
         counter_hub.birth_of((w.row #>> '{birth,number}')::bigint, (w.row #>> '{birth,id}')::uuid),
         (w.row #>> '{birth,number}')::bigint, (w.row #>> '{birth,id}')::uuid, coalesce((w.row ->> 'life')::bigint, 0),
         (w.row #>> '{stamp,number}')::bigint, (w.row #>> '{stamp,id}')::uuid,
         coalesce(c.name, w.name), coalesce(c.kind, w.kind), coalesce(c.generation, w.generation), c.number,
         coalesce(s.shard ->> 'id', c.id)::uuid, (s.shard ->> 'clock')::bigint, (s.shard ->> 'value')::bigint,
         s.shard -> 'grants', CASE WHEN s.shard ? 'grants' THEN counter_hub.pack_grants(s.shard -> 'grants') ELSE '' END,
         c.value, w.answer, w.bounded,
         w.known AND coalesce(c.known, true) AND counter_hub.has_only(s.shard, 'id', 'clock', 'value', 'grants')
           AND counter_hub.are_grants(s.shard -> 'grants', s.shard ->> 'id')
    FROM counter_hub.incoming i
   CROSS JOIN LATERAL (
     SELECT CASE WHEN strpos(i.change, '\u0000') = 0 THEN i.change
                 ELSE replace(replace(i.change, '\\', '\u005c'), '\u0000', zero) END AS json OFFSET 0) AS t
   CROSS JOIN LATERAL (
     SELECT m.*,
            CASE m.tells
              WHEN 'row' THEN counter_hub.has_only(t.json::jsonb, 'tells', 'row', 'columns') AND m.columns IS NOT NULL
                AND counter_hub.has_only(m.row, 'life', 'stamp', 'birth')
                AND counter_hub.has_only(m.row -> 'stamp', 'number', 'id')
                AND counter_hub.has_only(m.row -> 'birth', 'number', 'id')
                AND (m.row ? 'birth' AND jsonb_typeof(m.row -> 'birth') <> 'object') IS NOT TRUE
              WHEN 'column' THEN counter_hub.has_only(t.json::jsonb, 'tells', 'name', 'kind', 'generation', 'bounded')
              ELSE counter_hub.has_only(t.json::jsonb, 'tells', 'answer') END AS known
       FROM jsonb_to_record(t.json::jsonb)
         AS m(tells text, "row" jsonb, columns jsonb, name text, kind text, generation bigint, answer text, bounded boolean)
      OFFSET 0) AS w
    LEFT JOIN LATERAL (
     SELECT m.told ->> 'name' AS name, m.told ->> 'kind' AS kind, (m.told ->> 'generation')::bigint AS generation,
            coalesce(m.told #>> '{cell,life}', m.told #>> '{stamp,number}')::bigint AS number,
            m.told #>> '{stamp,id}' AS id, m.told #> '{cell,shards}' AS shards,
            CASE WHEN strpos(m.told ->> 'value', zero) > 0 THEN (
                   SELECT json_build_object('text', string_agg(encode(convert_to(part, 'UTF8'), 'hex'), '00' ORDER BY at))
                     FROM unnest(string_to_array(m.told ->> 'value', zero)) WITH ORDINALITY AS p(part, at))
                 ELSE m.raw -> 'value' END AS value,
            CASE m.told ->> 'kind'
              WHEN 'counter' THEN counter_hub.has_only(m.told, 'name', 'kind', 'generation', 'cell')
                AND counter_hub.has_only(m.told -> 'cell', 'life', 'value', 'shards')
              WHEN 'regular' THEN counter_hub.has_only(m.told, 'name', 'kind', 'generation', 'stamp', 'value')
                AND counter_hub.has_only(nullif(m.told -> 'stamp', 'null'), 'number', 'id')
                AND m.told ? 'stamp' AND counter_hub.is_value(m.told -> 'value')
              ELSE false END AS known
       FROM ROWS FROM (jsonb_array_elements(w.columns), json_array_elements(t.json::json -> 'columns'))
         AS m(told, raw)
      WHERE (m.told ->> 'kind' = 'regular' AND m.told ? 'too_large') IS NOT TRUE OFFSET 0) AS c ON true
    LEFT JOIN jsonb_array_elements(c.shards) AS s(shard) ON true;
  DELETE FROM counter_hub.incoming;
EXCEPTION
  WHEN data_exception OR check_violation OR not_null_violation THEN
    GET STACKED DIAGNOSTICS failed = PG_EXCEPTION_DETAIL;
    RAISE EXCEPTION 'counter_hub: a change is damaged: %: nothing was taken', SQLERRM
      USING DETAIL = left(failed, 1000);
END
$$;

-- Refuses, or takes note of, the keys of the tables that have come.
CREATE OR REPLACE FUNCTION counter_hub.check_tables() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wrong record;
BEGIN
  INSERT INTO counter_hub.tables(table_name, key_columns)
  SELECT table_name, min(key_columns) FROM counter_hub.parts GROUP BY table_name
  ON CONFLICT DO NOTHING;

  SELECT table_name, t.key_columns AS here, p.key_columns AS there INTO wrong
    FROM counter_hub.parts p JOIN counter_hub.tables t USING (table_name)
   WHERE p.key_columns <> t.key_columns
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'counter_hub: table %: the upload has the key (%), the hub has (%): nothing was taken',
                    wrong.table_name, wrong.there, wrong.here
      USING HINT = format('Create the table in the file under another name, or with the key of the hub. If the hub has '
                          'the wrong one: SELECT counter_hub.forget(%L)', wrong.table_name);
  END IF;

  UPDATE counter_hub.tables t SET replicated = p.replicated
    FROM counter_hub.parts p
   WHERE p.table_name = t.table_name AND p.tells = 'row' AND t.replicated IS NULL;

  SELECT table_name, t.replicated INTO wrong
    FROM counter_hub.parts p JOIN counter_hub.tables t USING (table_name)
   WHERE p.tells = 'row' AND p.replicated <> t.replicated
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

-- Raises the columns that have come, and removes the counters that are over.
CREATE OR REPLACE FUNCTION counter_hub.raise_columns(this_upload bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wrong record;
BEGIN
  INSERT INTO counter_hub.columns AS c(table_name, column_name, generation, kind, bounded, changed)
  SELECT DISTINCT ON (p.table_name, p.column_name) p.table_name, p.column_name, p.generation, p.kind,
                     coalesce(p.bounded, false), this_upload
    FROM counter_hub.parts p
   WHERE p.generation > 0
   ORDER BY p.table_name, p.column_name, p.generation DESC, p.kind COLLATE "C" DESC, p.bounded
  ON CONFLICT (table_name, column_name) DO UPDATE
     SET generation = excluded.generation, kind = excluded.kind, bounded = excluded.bounded, changed = excluded.changed
   WHERE (c.generation, c.kind, c.bounded) < (excluded.generation, excluded.kind, excluded.bounded);

  SELECT table_name, a.column_name AS here, b.column_name AS there INTO wrong
    FROM counter_hub.columns a JOIN counter_hub.columns b USING (table_name)
   WHERE a.column_name <> b.column_name AND a.changed <= b.changed
     AND lower(a.column_name COLLATE "C") = lower(b.column_name COLLATE "C")
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'counter_hub: table %: the upload has the counter %, the hub has %, in other letters: nothing was taken',
                    wrong.table_name, wrong.there, wrong.here;
  END IF;

  DELETE FROM counter_hub.shards s USING counter_hub.columns n
   WHERE n.changed = this_upload AND (s.table_name, s.column_name) = (n.table_name, n.column_name)
     AND s.generation < n.generation;
  DELETE FROM counter_hub.cells c USING counter_hub.columns n
   WHERE n.changed = this_upload AND (c.table_name, c.column_name) = (n.table_name, n.column_name)
     AND c.generation < n.generation AND c.kind = 'counter';
END
$$;

-- Raises the floors that have come, and removes what is below them.
CREATE OR REPLACE FUNCTION counter_hub.raise_floors(this_upload bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- Floors that are not below others, here or in what has come; then those go that are below them.
  WITH came AS (
    SELECT p.table_name, e.at - 1 AS key_column, e.floor, p.key,
           counter_hub.collation_of(p.key_columns, e.at - 1, jsonb_array_length(p.key_json)) AS collation_name
      FROM counter_hub.parts p, jsonb_array_elements(p.key_json) WITH ORDINALITY AS e(floor, at)
     WHERE p.tells = 'floors' AND jsonb_typeof(e.floor) <> 'null')
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

  DELETE FROM counter_hub.parts p USING counter_hub.floors f
   WHERE p.tells = 'row' AND f.table_name = p.table_name
     AND counter_hub.is_less(p.key_json -> f.key_column, f.floor, f.collation_name);

  DELETE FROM counter_hub.shards s USING counter_hub.row_cells r, counter_hub.floors f
   WHERE f.changed = this_upload AND r.table_name = f.table_name
     AND counter_hub.is_less(r.key_json -> f.key_column, f.floor, f.collation_name)
     AND (s.table_name, s.key) = (r.table_name, r.key);
  DELETE FROM counter_hub.cells c USING counter_hub.row_cells r, counter_hub.floors f
   WHERE f.changed = this_upload AND r.table_name = f.table_name
     AND counter_hub.is_less(r.key_json -> f.key_column, f.floor, f.collation_name)
     AND (c.table_name, c.key) = (r.table_name, r.key);
  DELETE FROM counter_hub.row_cells r USING counter_hub.floors f
   WHERE f.changed = this_upload AND r.table_name = f.table_name
     AND counter_hub.is_less(r.key_json -> f.key_column, f.floor, f.collation_name);
END
$$;

-- Raises the rows that have come, and what they have.
CREATE OR REPLACE FUNCTION counter_hub.raise_rows(this_upload bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM counter_hub.parts p USING counter_hub.columns n
   WHERE (p.table_name, p.column_name) = (n.table_name, n.column_name)
     AND p.kind = 'counter' AND p.generation < n.generation AND NOT p.replicated;

  INSERT INTO counter_hub.replaced(table_name, key, key_json, birth, change, changed)
  SELECT r.table_name, r.key, r.key_json, r.birth, c.change, this_upload
    FROM counter_hub.row_cells r
    JOIN (SELECT table_name, key, max(birth) AS birth FROM counter_hub.parts WHERE tells = 'row' GROUP BY 1, 2) AS p
      ON (p.table_name, p.key) = (r.table_name, r.key) AND p.birth > r.birth
   CROSS JOIN LATERAL (
     SELECT c.change FROM counter_hub.changes(r.changed) c WHERE (c.table_name, c.key) = (r.table_name, r.key)) AS c
   WHERE r.life % 2 = 1
  ON CONFLICT DO NOTHING;

  INSERT INTO counter_hub.row_cells AS r(table_name, key, key_json, birth, life, number, id, changed)
  SELECT DISTINCT ON (p.table_name, p.key)
         p.table_name, p.key, p.key_json, p.birth, p.row_life, p.row_number, p.row_id, this_upload
    FROM counter_hub.parts p
   WHERE p.tells = 'row' AND (p.replicated OR p.column_name IS NOT NULL)
   ORDER BY p.table_name, p.key, p.birth DESC, p.row_life DESC, p.row_number DESC, p.row_id DESC
  ON CONFLICT (table_name, key) DO UPDATE
     SET birth = excluded.birth, life = excluded.life, number = excluded.number, id = excluded.id, changed = excluded.changed
   WHERE r.birth < excluded.birth
      OR (r.birth = excluded.birth AND (r.life, r.number, r.id) < (excluded.life, excluded.number, excluded.id));

  WITH risen AS (
    INSERT INTO counter_hub.cells AS c(table_name, key, column_name, kind, birth, row_life, generation, number, id, value)
    SELECT DISTINCT ON (p.table_name, p.key, p.column_name, p.kind)
           p.table_name, p.key, p.column_name, p.kind, p.birth, p.row_life, p.generation, p.number,
           CASE WHEN p.kind = 'regular' THEN p.id END, p.value
      FROM counter_hub.parts p
      JOIN counter_hub.row_cells r ON (r.table_name, r.key, r.birth, r.life) = (p.table_name, p.key, p.birth, p.row_life)
      LEFT JOIN counter_hub.columns n ON (n.table_name, n.column_name) = (p.table_name, p.column_name)
     WHERE p.tells = 'row' AND p.number IS NOT NULL AND (p.kind = 'regular' OR p.generation = n.generation)
     ORDER BY p.table_name, p.key, p.column_name, p.kind, p.generation DESC, p.number DESC, p.id DESC
    ON CONFLICT (table_name, key, column_name, kind) DO UPDATE
       SET birth = excluded.birth, row_life = excluded.row_life, generation = excluded.generation,
           number = excluded.number, id = excluded.id, value = excluded.value
     WHERE (c.birth, c.row_life, c.generation, c.number, c.id)
         < (excluded.birth, excluded.row_life, excluded.generation, excluded.number, excluded.id)
    RETURNING c.table_name, c.key)
  UPDATE counter_hub.row_cells r SET changed = this_upload
    FROM risen WHERE (r.table_name, r.key) = (risen.table_name, risen.key) AND r.changed < this_upload;

  WITH risen AS (
    INSERT INTO counter_hub.shards AS s(table_name, key, column_name, id, birth, row_life, generation, life, clock, value,
                                        grants, packed)
    SELECT DISTINCT ON (p.table_name, p.key, p.column_name, p.id)
           p.table_name, p.key, p.column_name, p.id, p.birth, p.row_life, p.generation, p.number, p.clock, p.amount, p.grants,
           p.packed
      FROM counter_hub.parts p
      JOIN counter_hub.cells c
        ON (c.table_name, c.key, c.column_name, c.kind, c.birth, c.row_life, c.generation, c.number)
         = (p.table_name, p.key, p.column_name, p.kind, p.birth, p.row_life, p.generation, p.number)
     WHERE p.clock IS NOT NULL
     ORDER BY p.table_name, p.key, p.column_name, p.id, p.clock DESC, p.amount DESC, p.packed DESC
    ON CONFLICT (table_name, key, column_name, id) DO UPDATE
       SET birth = excluded.birth, row_life = excluded.row_life, generation = excluded.generation,
           life = excluded.life, clock = excluded.clock, value = excluded.value, grants = excluded.grants,
           packed = excluded.packed
     WHERE (s.birth, s.row_life, s.generation, s.life, s.clock, s.value, s.packed)
         < (excluded.birth, excluded.row_life, excluded.generation, excluded.life, excluded.clock, excluded.value, excluded.packed)
    RETURNING s.table_name, s.key)
  UPDATE counter_hub.row_cells r SET changed = this_upload
    FROM risen WHERE (r.table_name, r.key) = (risen.table_name, risen.key) AND r.changed < this_upload;

  -- What is of lives that are over.
  DELETE FROM counter_hub.cells c USING counter_hub.row_cells r
   WHERE r.changed = this_upload AND (c.table_name, c.key) = (r.table_name, r.key)
     AND (c.birth, c.row_life) < (r.birth, r.life);
  DELETE FROM counter_hub.shards s USING counter_hub.row_cells r
   WHERE r.changed = this_upload AND (s.table_name, s.key) = (r.table_name, r.key)
     AND NOT EXISTS (
       SELECT FROM counter_hub.cells c
        WHERE (c.table_name, c.key, c.column_name, c.kind, c.birth, c.row_life, c.generation, c.number)
            = (s.table_name, s.key, s.column_name, 'counter', s.birth, s.row_life, s.generation, s.life));
END
$$;

-- Merges what is in counter_hub.incoming, and empties it. All or nothing, for it is one
-- transaction; an upload that was refused, or whose fate is not known, is simply repeated.
CREATE OR REPLACE FUNCTION counter_hub.merge(OUT rows_read bigint, OUT rows_changed bigint) LANGUAGE plpgsql AS $$
DECLARE
  this_upload bigint;
BEGIN
  UPDATE counter_hub.hub SET number = number + 1 RETURNING number INTO STRICT this_upload;
  SELECT count(*) INTO rows_read FROM counter_hub.incoming;

  -- Marks.
  INSERT INTO counter_hub.sources AS m(source, mark)
  SELECT i.source, max(i.upto)
    FROM counter_hub.incoming i
   WHERE i.source IS NOT NULL AND i.since <= counter_hub.mark(i.source)
   GROUP BY i.source
  ON CONFLICT (source) DO UPDATE SET mark = excluded.mark WHERE m.mark < excluded.mark;

  PERFORM counter_hub.take_apart();
  PERFORM counter_hub.check_tables();
  INSERT INTO counter_hub.answers(table_name, answer, changed)
  SELECT DISTINCT p.table_name, p.answer, this_upload FROM counter_hub.parts p WHERE p.tells = 'answer'
  ON CONFLICT DO NOTHING;
  PERFORM counter_hub.raise_columns(this_upload);
  PERFORM counter_hub.raise_floors(this_upload);
  PERFORM counter_hub.raise_rows(this_upload);
  DELETE FROM counter_hub.parts;

  SELECT (SELECT count(*) FROM counter_hub.columns WHERE changed = this_upload)
       + (SELECT count(*) FROM counter_hub.answers WHERE changed = this_upload)
       + (SELECT count(*) FROM counter_hub.floors WHERE changed = this_upload)
       + (SELECT count(*) FROM counter_hub.row_cells WHERE changed = this_upload) INTO rows_changed;
END
$$;

-- Takes a table out, with all that was counted in it. Marks of files are of all their tables, so
-- they go, too.
CREATE OR REPLACE FUNCTION counter_hub.forget(of_table text) RETURNS void LANGUAGE sql AS $$
  UPDATE counter_hub.hub SET number = number + 1;
  DELETE FROM counter_hub.shards WHERE table_name = of_table;
  DELETE FROM counter_hub.cells WHERE table_name = of_table;
  DELETE FROM counter_hub.row_cells WHERE table_name = of_table;
  DELETE FROM counter_hub.replaced WHERE table_name = of_table;
  DELETE FROM counter_hub.floors WHERE table_name = of_table;
  DELETE FROM counter_hub.answers WHERE table_name = of_table;
  DELETE FROM counter_hub.columns WHERE table_name = of_table;
  DELETE FROM counter_hub.tables WHERE table_name = of_table;
  DELETE FROM counter_hub.sources;
$$;

-- Takes a regular column out, which all files have ceased to replicate. While their tables still have
-- it, they refuse to download it.
CREATE OR REPLACE FUNCTION counter_hub.forget(of_table text, of_column text) RETURNS void LANGUAGE sql AS $$
  DELETE FROM counter_hub.cells WHERE table_name = of_table AND column_name = of_column AND kind = 'regular';
$$;

-- ---- download -----------------------------------------------------------------------------------

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


-- What has changed in the uploads from `since` on, as counter_changes has it: of each row all that is
-- held. A file asks from counter_mark(hub.id), INSERTs the changes, which counter_change_of makes,
-- and then says counter_seen(hub.id, since, hub.number + 1); the number is to be read in the snapshot
-- of the changes, or before. With a scope, only rows that may be in it, and all that has none.
CREATE OR REPLACE FUNCTION counter_hub.changes(since bigint, scope jsonb DEFAULT NULL)
RETURNS TABLE(table_name text, key_columns text, key bytea, change text, changed bigint) LANGUAGE sql STABLE AS $$
  SELECT table_name, t.key_columns, f.packed, '{"tells":"floors"}', f.changed
    FROM counter_hub.floors f JOIN counter_hub.tables t USING (table_name)
   WHERE f.changed >= since
  UNION ALL
  SELECT table_name, t.key_columns, '', format('{"tells":"column","name":%s,"kind":"%s","generation":%s%s}',
                                               to_json(n.column_name), n.kind, n.generation,
                                               CASE WHEN n.bounded THEN ',"bounded":true' END), n.changed
    FROM counter_hub.columns n JOIN counter_hub.tables t USING (table_name)
   WHERE n.changed >= since
  UNION ALL
  SELECT table_name, t.key_columns, '', format('{"tells":"answer","answer":"%s"}', a.answer), a.changed
    FROM counter_hub.answers a JOIN counter_hub.tables t USING (table_name)
   WHERE a.changed >= since
  UNION ALL
  SELECT table_name, t.key_columns, r.key,
         format('{"tells":"row"%s,"columns":[%s]}',
                ',"row":{' || CASE WHEN r.life % 2 = 1
                                     THEN format('"life":%s,"stamp":{"number":%s,"id":"%s"}', r.life, r.number, r.id)
                                   WHEN r.life > 0 THEN format('"life":%s', r.life) END
                           || coalesce(',"birth":' || counter_hub.stamp_of(r.birth), '') || '}',
                told.columns), r.changed
    FROM counter_hub.held_rows r JOIN counter_hub.tables t USING (table_name), LATERAL (
      SELECT string_agg(format('{"name":%s,"kind":"%s","generation":%s,%s}', to_json(c.column_name), c.kind, c.generation,
               CASE WHEN c.kind = 'regular'
                      THEN format('"stamp":{"number":%s,"id":"%s"},"value":%s', c.number, c.id, c.value)
                    ELSE format('"cell":{"life":%s,"shards":[%s]}', c.number, (
                      SELECT string_agg(format('{"id":"%s","clock":%s,"value":%s%s}', s.id, s.clock, s.value,
                                               ',"grants":' || s.grants::text), ',')
                        FROM counter_hub.shards s
                       WHERE (s.table_name, s.key, s.column_name, s.birth, s.row_life, s.generation, s.life)
                           = (c.table_name, c.key, c.column_name, c.birth, c.row_life, c.generation, c.number))) END), ',')
             AS columns
        FROM counter_hub.held_cells c
       WHERE (c.table_name, c.key) = (r.table_name, r.key)) AS told
   WHERE r.changed >= since AND counter_hub.may_be_in(r.key_json, scope) AND (r.life > 0 OR told.columns IS NOT NULL)
$$;

-- ---- for people ---------------------------------------------------------------------------------

-- The live counters, by key; NULL if they were reset.
CREATE OR REPLACE VIEW counter_hub.sums AS
SELECT c.table_name, c.key, c.key_json, c.column_name, sum(s.value) AS value
  FROM counter_hub.held_cells c LEFT JOIN counter_hub.shards s
    ON (s.table_name, s.key, s.column_name, s.birth, s.row_life, s.generation, s.life)
     = (c.table_name, c.key, c.column_name, c.birth, c.row_life, c.generation, c.number)
 WHERE c.kind = 'counter' AND c.number % 2 = 1
 GROUP BY c.table_name, c.key, c.key_json, c.column_name;

-- Who holds what the openings of a table have: who made them, 0 if nobody does.
CREATE OR REPLACE VIEW counter_hub.holders AS
SELECT table_name, substr(answer, 5, 32)::uuid AS opening,
       CASE count(*) WHEN 1 THEN min(substr(answer, 37))::uuid ELSE '00000000-0000-0000-0000-000000000000' END AS holder
  FROM counter_hub.answers
 WHERE answer LIKE 'b103%'
 GROUP BY table_name, substr(answer, 5, 32);

-- What each replica may take of a bounded counter: its value, less its grants, plus those to it.
CREATE OR REPLACE VIEW counter_hub.rights AS
SELECT table_name, key_json, column_name, id, sum(n) AS "right"
  FROM (SELECT c.table_name, c.key, c.key_json, c.column_name, coalesce(h.holder, m.id) AS id, m.n
          FROM counter_hub.held_cells c
          JOIN counter_hub.columns b
            ON (b.table_name, b.column_name, b.generation, b.bounded) = (c.table_name, c.column_name, c.generation, true)
          JOIN counter_hub.shards s
            ON (s.table_name, s.key, s.column_name, s.birth, s.row_life, s.generation, s.life)
             = (c.table_name, c.key, c.column_name, c.birth, c.row_life, c.generation, c.number)
         CROSS JOIN LATERAL (
           SELECT s.id, s.value AS n
            UNION ALL SELECT s.id, -(g.n #>> '{}')::bigint FROM jsonb_each(s.grants) AS g(id, n)
            UNION ALL SELECT g.id::uuid, (g.n #>> '{}')::bigint FROM jsonb_each(s.grants) AS g(id, n)) AS m
          LEFT JOIN counter_hub.holders h ON (h.table_name, h.opening) = (c.table_name, m.id)
         WHERE c.kind = 'counter' AND c.number % 2 = 1) AS moved
 GROUP BY table_name, key, key_json, column_name, id;

-- The live counters. A deleted one has no row, one that was reset has the value 0.
CREATE OR REPLACE VIEW counter_hub.totals AS
SELECT table_name, key_json, column_name, coalesce(value, 0) AS value FROM counter_hub.sums;

-- The rows of replicated tables: their regular columns, and the sums of their counters, of those
-- that have counted. A deleted row has neither.
CREATE OR REPLACE VIEW counter_hub.rows AS
SELECT r.table_name, r.key_json, r.life % 2 = 0 AS deleted,
       (SELECT coalesce(jsonb_object_agg(c.column_name, c.value), '{}')
          FROM counter_hub.held_cells c
         WHERE (c.table_name, c.key) = (r.table_name, r.key) AND c.kind = 'regular') AS columns,
       (SELECT coalesce(jsonb_object_agg(s.column_name, s.value), '{}')
          FROM counter_hub.sums s
         WHERE (s.table_name, s.key) = (r.table_name, r.key) AND s.value IS NOT NULL) AS counters
  FROM counter_hub.held_rows r
 WHERE r.life > 0;

COMMIT;
