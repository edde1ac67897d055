// batches.cjs - changes, apply and mark: what a file gives and takes, as lines of JSON.
"use strict";

const { inTransaction, withConnection } = require("./drivers.cjs");
const { FORMAT, readMark, readWindow, scopeText } = require("./giving.cjs");
const { MOST_CHANGES, TooMuch, mostValues, valuesOf } = require("./lines.cjs");
const SQL = require("./statements.cjs");

/* ---- what is asked for ----------------------------------------------------------------------- */

function wholeNumber(value, name) {
  const isWhole =
    typeof value === "bigint" || Number.isSafeInteger(value) || (typeof value === "string" && /^\d{1,19}$/.test(value));
  const number = isWhole ? BigInt(value) : -1n;
  if (number < 0n || number >= 2n ** 63n)
    throw new TypeError(`sqlite-counter: ${name} must be a whole number from 0 on, a BigInt beyond 2^53, not ${value}`);
  return number;
}

/* ---- giving ---------------------------------------------------------------------------------- */

async function* changes(db, { since = 0, own = false, scope } = {}) {
  const query = { since: wholeNumber(since, "since"), own, scope: scopeText(scope) };
  for (let isLast = false; !isLast;) {
    const window = await withConnection(db, (connection) => connection.run(() => readWindow(connection, query)));
    yield* window.lines;
    query.since = window.upto;
    isLast = window.isLast;
  }
}

/* ---- taking ---------------------------------------------------------------------------------- */

const HEXADECIMAL = /^(?:[0-9A-Fa-f]{2})*$/;

function bytesOf(text, what, n) {
  if (!HEXADECIMAL.test(text)) throw new Error(`change ${n}: ${what} must be hexadecimal, not '${text.slice(0, 40)}'`);
  return Buffer.from(text, "hex");
}

function* checkedBatch(connection, line) {
  let batch;
  if (valuesOf(line) > mostValues(line.length)) throw new TooMuch(`it has more than ${mostValues(line.length)} values of JSON`);
  try {
    if (line.includes("\0")) throw new SyntaxError("malformed JSON");
    [batch] = yield connection.all(SQL.BATCH, line);
  } catch (error) {
    if (!/malformed JSON/.test(error.message)) throw error;
    throw new Error("it is not JSON, or was cut short", { cause: error });
  }
  const isBatch = batch.type === "object" && batch.changes === "array" && batch.source !== null;
  if (batch.type === "object" && batch.formatType !== null) {
    if (batch.formatType !== "integer" || batch.format.startsWith("-") || batch.format === "0")
      throw new Error("its format must be a whole number from 1 on");
    if (batch.format !== String(FORMAT))
      throw new Error(`it is of format ${batch.format}, this sqlite-counter knows ${FORMAT}: install a newer one`);
  }
  if (!isBatch) throw new Error("it is not a batch, which has source, since, upto and changes");
  return batch;
}

// What the change has in place of a collected cell: its bytes, or nothing.
function cellBytes(row, n) {
  if (row.isCounter && row.cellType === "text")
    throw new Error(`change ${n}: the cell of a counter must be an object, not a text`);
  return row.cellType === "text" ? bytesOf(row.bytes, "cell", n) : undefined;
}

// A change that was refused may be for a table that is not there.
function* explain(connection, change, n, error) {
  const born = yield connection.all(SQL.IS_BORN, change);
  const [{ name }] = yield connection.all(SQL.TABLE, change);
  const reason =
    born.length > 0 || name === null
      ? error.message
      : `there is no counter table ${name} here: create it as it is at the source; if it is a tracked or replicated table ` +
        "there, create the ordinary table, then call counter_track() or counter_replicate() for it";
  return new Error(`change ${n}: ${reason}`, { cause: error });
}

// Returns how many changes were merged, and how many shards of others were skipped for a token.
function* takeChanges(connection, line, source, { scope, token, device = null }) {
  const taken = { changes: 0, skipped: 0 };
  const [{ has }] = token === undefined ? [{ has: 0 }] : yield connection.all(SQL.HAS_FOREIGN, line, token);
  const rows = yield connection.all(SQL.CHANGES, line);
  for (const [i, row] of rows.entries()) {
    if (row.type !== "object") throw new Error(`change ${i + 1}: it is not an object`);
    if (row.packedType !== "text") throw new Error(`change ${i + 1}: packed must be a text of hexadecimal digits`);
    const key = bytesOf(row.packed, "packed", i + 1);
    let cell = cellBytes(row, i + 1);
    try {
      if (Number(has) && row.cellType === "object") {
        const [{ n }] = yield connection.all(SQL.COUNT_FOREIGN, row.change, token);
        taken.skipped += Number(n);
        if (n !== "0") cell = (yield connection.all(SQL.CELL_WITHOUT_FOREIGN, row.change, token))[0].cell;
        if (cell === null) continue;
      }
      if (cell) yield connection.all(SQL.INSERT_BYTES, row.change, key, source, scope, device, cell);
      else yield connection.all(SQL.INSERT, row.change, key, source, scope, device);
    } catch (error) {
      throw yield* explain(connection, row.change, i + 1, error);
    }
    taken.changes++;
  }
  return taken;
}

// A mark says that all changes below it have come: nobody says so for the device of another token.
// A batch of which something was refused comes again when the file has that.
function* raiseMark(connection, line, source, { scope, token, refused }) {
  const isForeign = token !== undefined && (yield connection.all(SQL.IS_FOREIGN_SOURCE, source, token)).length > 0;
  if (isForeign || refused) return yield* readMark(connection, source, scope);
  const [{ mark }] = yield connection.all(SQL.SEEN, line, scope);
  return BigInt(mark);
}

function* countRefused(connection, device) {
  return device === undefined ? 0 : Number((yield connection.all(SQL.REFUSED))[0].n);
}

// For who takes the changes of one source alone.
function checkBatch(batch, source) {
  if (batch.source !== source) throw new Error(`it is of ${batch.source}, not of ${source}`);
  if (Number(batch.n) > MOST_CHANGES) throw new TooMuch(`it has more than ${MOST_CHANGES} changes`);
}

// Merges lines within the transaction that is open. `accept(batch, line)`, a generator, may refuse a batch by an error. What a
// device sends does not set what the file itself has counted.
function* takeLines(connection, lines, { scope = null, token, device, accept } = {}) {
  const taken = { changes: 0, skipped: 0, refused: 0, marks: new Map() };
  let before = yield* countRefused(connection, device);
  for (const [i, line] of lines.entries()) {
    if (line.trim() === "") continue;
    try {
      const batch = yield* checkedBatch(connection, line);
      if (accept) yield* accept(batch, line);
      const { changes, skipped } = yield* takeChanges(connection, line, batch.source, { scope, token, device });
      const now = yield* countRefused(connection, device);
      const refused = now - before;
      const mark = yield* raiseMark(connection, line, batch.source, { scope, token, refused });
      before = now;
      taken.refused += refused;
      taken.changes += changes;
      taken.skipped += skipped;
      taken.marks.set(batch.source, mark);
    } catch (error) {
      error.message = `line ${i + 1}: ${error.message}: nothing was imported`;
      throw error;
    }
  }
  return taken;
}

// One transaction, or nothing.
const take = (connection, lines, options) =>
  connection.run(() => inTransaction(connection, () => takeLines(connection, lines, options)));

async function apply(db, lines) {
  const all = [];
  if (typeof lines === "string") all.push(...lines.split("\n"));
  else for await (const line of lines) all.push(String(line));
  return withConnection(db, async (connection) => {
    const { changes, marks } = await take(connection, all);
    return { changes, marks };
  });
}

const mark = (db, source, scope) =>
  withConnection(db, (connection) => connection.run(() => readMark(connection, source, scopeText(scope))));

module.exports = { apply, changes, checkBatch, mark, take, takeLines };
