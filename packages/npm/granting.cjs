// granting.cjs - bounded counters, which never go below 0 in all files together: who may take how many, and giving some to another
// file.
"use strict";

const { inTransaction, withConnection } = require("./drivers.cjs");
const { SyncError } = require("./errors.cjs");

const COUNTERS = `
SELECT name FROM counter_tables AS t
 WHERE name = :a COLLATE NOCASE
    OR EXISTS (SELECT 1 FROM sqlite_master
                WHERE type = 'trigger' AND tbl_name = :a COLLATE NOCASE AND name = t.name || '_insert')`;
const BOUNDED = `
SELECT name FROM counter_state
 WHERE tab = (SELECT number FROM counter_tables WHERE name = :a) AND kind = 'counter' AND rows = 1 AND value % 2 = 1`;
const KEYS = `
SELECT c.name FROM pragma_table_info(:a) AS c
  LEFT JOIN (SELECT i.name, i.seqno FROM pragma_index_list(:a || '_cells') AS l, pragma_index_info(l.name) AS i
              WHERE l."unique") AS k ON k.name = c.name
 WHERE c."notnull" ORDER BY k.seqno`;
const RIGHTS = `
SELECT key, column_name AS "column", id, CAST(rights AS TEXT) AS rights, CAST(here AS TEXT) AS here FROM counter_rights(:a)`;

const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
const numberOf = (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text));

/* ---- rights ---------------------------------------------------------------------------------- */

// Integers of a key beyond 2^53 are in its text alone.
function keyOf(text) {
  const exact = text.replace(/("(?:[^"\\]|\\.)*")|-?\d{16,}(?![\d.eE])/g, (found, string) => string ?? `{"integer":"${found}"}`);
  return JSON.parse(exact).map((value) => {
    if (typeof value?.integer === "string") return numberOf(value.integer);
    return typeof value?.hex === "string" ? new Uint8Array(Buffer.from(value.hex, "hex")) : value;
  });
}

function* readRights(connection, table) {
  const rows = yield connection.all(RIGHTS, table);
  return rows.map((row) => ({ ...row, key: keyOf(row.key), rights: numberOf(row.rights), here: row.here === "1" }));
}

const rights = (db, table) => withConnection(db, (connection) => connection.run(readRights, table));

/* ---- grant ----------------------------------------------------------------------------------- */

function* findCounter(connection, table, column) {
  const [found] = yield connection.all(COUNTERS, table);
  if (!found) throw new SyncError(`there is no tracked table or counter table '${table}'`);
  const bounded = column ? [{ name: column }] : yield connection.all(BOUNDED, found.name);
  if (bounded.length === 0) throw new SyncError(`table ${table} has no bounded counter`);
  if (bounded.length > 1)
    throw new SyncError(`several counters are bounded, ${bounded.map(({ name }) => name).join(", ")}: column says which`);
  return { counters: found.name, column: bounded[0].name };
}

function* give(connection, table, key, to, n, column) {
  const counter = yield* findCounter(connection, table, column);
  const names = (yield connection.all(KEYS, counter.counters)).map(({ name }) => name);
  if (key.length !== names.length)
    throw new SyncError(`the key of table ${table} is (${names.join(", ")}), not ${key.length} value${key.length === 1 ? "" : "s"}`);
  const bound = [`grant ${to}`, String(n)]; // numbers stand in the text, because drivers bind some as REAL
  const values = key.map((value) => {
    if (typeof value === "number" || typeof value === "bigint") return String(value);
    bound.push(value);
    return `:${String.fromCharCode(96 + bound.length)}`;
  });
  const columns = [counter.counters, counter.column, ...names].map(quoted).join(", ");
  yield connection.all(`INSERT INTO main.${quoted(counter.counters)}(${columns}) VALUES (:a, :b, ${values.join(", ")})`, ...bound);
}

function* settle(connection) {
  const [{ id }] = yield connection.all("SELECT counter_settle() AS id");
  return id;
}

async function grant(db, table, key, to, n, { column } = {}) {
  const id = typeof to === "string" ? to : await withConnection(to, (connection) => connection.run(settle));
  const values = Array.isArray(key) ? key : [key];
  const work = (connection) => connection.run(inTransaction, () => give(connection, table, values, id, n, column));
  await withConnection(db, work);
}

module.exports = { grant, rights };
