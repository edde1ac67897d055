// statements.cjs - the SQL of batches. Whole numbers leave SQLite as TEXT and come back as TEXT, because a number of
// JavaScript has 53 bits; JSON that comes from outside is read by SQLite alone, and only as a parameter.
// The parameters of a statement are :a, :b, …, in the order of the values, because all drivers understand these.
"use strict";

// What a file gives; `conditions` narrows it to its own changes, to a scope. Answers about openings come first, whatever
// their number: the rows may need them.
const changesOf = (conditions) => `
SELECT CAST(n AS TEXT) AS n, CAST(seq AS TEXT) AS seq, upto, source,
       json_object(
         'table', table_name, 'key_columns', key_columns,
         'key', json(CASE WHEN length(key) > 0 THEN counter_key_json(key) END), 'packed', hex(key),
         'column', column_name, 'generation', generation,
         'cell', json(CASE WHEN coalesce(column_name, '') = '' THEN json_quote(nullif(hex(cell), ''))
                           ELSE counter_json(cell) END),
         'seq', seq) AS change
  FROM (SELECT CASE WHEN column_name IS NULL AND cell IS NOT NULL THEN 0 ELSE seq END AS n, CAST(upto AS TEXT) AS upto,
               source, table_name, key_columns, key, column_name, generation, cell, seq
          FROM counter_changes(CAST(:a AS INTEGER)) ${conditions} ORDER BY 1 LIMIT -1)`;

const SOURCE = "SELECT counter_source(CAST(:a AS INTEGER), :b) AS source";
const HAS_CATALOG = "SELECT 1 FROM sqlite_master WHERE name = 'counter_tables'";
const END = "SELECT CAST(counter_changes_end() AS TEXT) AS upto";
const SETTLE = "SELECT counter_settle() AS id";
const APART = `SELECT count(*) AS n
  FROM (SELECT DISTINCT table_name, row_key FROM counter_tracked WHERE row_key IS NOT NULL)`;
const RETRY = "SELECT counter_seen(counter_settle(), 0, 0) AS mark"; // takes no changes, and tries again what is apart
// What a sync tells of a table. Foreign keys are told by the command status: they stay as they are.
const WARNINGS = `SELECT table_name AS "table", table_name || ': ' || warning AS message
  FROM counter_warnings WHERE kind <> 'foreign key'`;
const FORGET_WARNINGS = "SELECT counter_warnings_reset() AS forgotten";
const MARK = "SELECT CAST(counter_mark(:a, :b) AS TEXT) AS mark";

// A batch that is not JSON fails here.
const BATCH = `
SELECT json_array_length(:a, '$.changes') AS n, json_type(:a) AS type, json_type(:a, '$.changes') AS changes, json_type(:a, '$.format') AS formatType,
       CAST(json_extract(:a, '$.format') AS TEXT) AS format,
       CASE json_type(:a, '$.source') WHEN 'text' THEN json_extract(:a, '$.source') END AS source,
       CAST(json_extract(:a, '$.since') AS TEXT) AS since, CAST(json_extract(:a, '$.upto') AS TEXT) AS upto`;

const CHANGES = `
SELECT value AS change, type,
       CASE WHEN type = 'object' THEN json_extract(value, '$.packed') END AS packed,
       CASE WHEN type = 'object' THEN json_type(value, '$.packed') END AS packedType,
       CASE WHEN type = 'object' THEN coalesce(json_extract(value, '$.column'), '') <> '' END AS isCounter,
       CASE WHEN type = 'object' THEN json_type(value, '$.cell') END AS cellType,
       CASE WHEN type = 'object' AND json_type(value, '$.cell') = 'text' THEN json_extract(value, '$.cell') END AS bytes
  FROM json_each(:a, '$.changes')`;

// A cell is collected from its shards; the row without an id brings its life, which is all that a deleted one has.
const cellWhere = (condition) => `
(SELECT counter_collect(id, clock, value, life)
   FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.clock') AS clock,
                json_extract(value, '$.value') AS value
           FROM json_each(:a, '$.cell.shards') ${condition}
         UNION ALL SELECT NULL, NULL, NULL),
        (SELECT json_extract(:a, '$.cell.life') AS life)
  WHERE life IS NOT NULL)`;

const insertWith = (cell) => `
INSERT INTO counter_changes(table_name, key, column_name, generation, cell, seq, key_columns, source, scope, device)
SELECT json_extract(:a, '$.table'), :b, json_extract(:a, '$.column'), json_extract(:a, '$.generation'), ${cell},
       json_extract(:a, '$.seq'), json_extract(:a, '$.key_columns'), :c, :d, :e`;

const INSERT = insertWith(cellWhere("")); // change, key, source, scope, device
const INSERT_BYTES = insertWith(":f"); // and the cell

const SEEN = `
SELECT CAST(counter_seen(json_extract(:a, '$.source'), json_extract(:a, '$.since'), json_extract(:a, '$.upto'), :b)
            AS TEXT) AS mark`;

const IS_BORN = "SELECT 1 FROM counter_tables WHERE birth = json_extract(:a, '$.table')";
const TABLE = "SELECT CAST(json_extract(:a, '$.table') AS TEXT) AS name";

// Ids that are bound to another token than :b, among the shards of a change, or of a whole batch.
const FOREIGN = "lower(json_extract(value, '$.id')) IN (SELECT id FROM counter_http_ids WHERE token <> :b)";
const CELL_WITHOUT_FOREIGN = `SELECT ${cellWhere(`WHERE coalesce(NOT ${FOREIGN}, 1)`)} AS cell`;
const COUNT_FOREIGN = `SELECT CAST(count(*) AS TEXT) AS n FROM json_each(:a, '$.cell.shards') WHERE ${FOREIGN}`;
const HAS_FOREIGN = `
SELECT EXISTS (SELECT 1 FROM json_each(:a, '$.changes') AS change, json_each(change.value, '$.cell.shards') AS shard
                WHERE lower(json_extract(shard.value, '$.id')) IN (SELECT id FROM counter_http_ids WHERE token <> :b)) AS has`;

const IS_FOREIGN_SOURCE = `
SELECT 1 FROM counter_http_ids WHERE id = lower(substr(:a, 1, 36)) AND token <> :b`;

// Shards that a device sent under ids of the file itself, and that it does not have: merge/merge.c of the library.
const REFUSED = "SELECT count AS n FROM counter_stats WHERE figure = 'shards refused'";

// What a server answers: its state, if it speaks no newer format than :b; what has become of an upload, and the mark of :b.
const STATE = `
SELECT CASE WHEN json_type(:a, '$.format') = 'integer' AND json_extract(:a, '$.format') > 0
            THEN json_extract(:a, '$.format') <= CAST(:b AS INTEGER) END AS isKnown,
       CAST(json_extract(:a, '$.source') AS TEXT) AS source,
       CASE json_type(:a, '$.mark') WHEN 'integer' THEN CAST(json_extract(:a, '$.mark') AS TEXT) END AS mark`;
const RECEIVED = `
SELECT CAST(json_extract(:a, '$.skipped') AS TEXT) AS skipped,
       (SELECT json_group_array(substr(value, 1, 500))
          FROM (SELECT value FROM json_each(:a, '$.warnings') WHERE type = 'text' LIMIT 100)) AS warnings,
       (SELECT CAST(value AS TEXT) FROM json_each(:a, '$.marks') WHERE key = :b AND type = 'integer') AS mark`;

module.exports = {
  APART,
  BATCH,
  CELL_WITHOUT_FOREIGN,
  CHANGES,
  COUNT_FOREIGN,
  END,
  FORGET_WARNINGS,
  HAS_CATALOG,
  HAS_FOREIGN,
  INSERT,
  INSERT_BYTES,
  IS_BORN,
  IS_FOREIGN_SOURCE,
  MARK,
  RECEIVED,
  REFUSED,
  RETRY,
  SEEN,
  SETTLE,
  SOURCE,
  STATE,
  TABLE,
  WARNINGS,
  changesOf,
};
