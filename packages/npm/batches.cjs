// batches.cjs - changes, apply and mark: what a file gives and takes, as lines of JSON.
"use strict";

const { inTransaction, withConnection } = require("./drivers.cjs");
const SQL = require("./statements.cjs");

const FORMAT = 1;
const CHANGES_PER_LINE = 1000;
const BYTES_PER_LINE = 2 ** 20; // a line that is longer has one change
const WINDOW = 8 * 2 ** 20; // characters that are read at once

/* ---- what is asked for ----------------------------------------------------------------------- */

// JSON has whole numbers of any size, JSON.stringify() has not.
function scopeText(scope) {
  if (scope === undefined || scope === null) return null;
  if (typeof scope === "string") return scope;
  if (!Array.isArray(scope))
    throw new TypeError(`sqlite-counter: scope must be an array of the first values of a key, not ${scope}`);
  return `[${scope.map((value) => (typeof value === "bigint" ? String(value) : JSON.stringify(value))).join(",")}]`;
}

function wholeNumber(value, name) {
  const isWhole =
    typeof value === "bigint" || Number.isSafeInteger(value) || (typeof value === "string" && /^\d{1,19}$/.test(value));
  const number = isWhole ? BigInt(value) : -1n;
  if (number < 0n || number >= 2n ** 63n)
    throw new TypeError(`sqlite-counter: ${name} must be a whole number from 0 on, a BigInt beyond 2^53, not ${value}`);
  return number;
}

/* ---- giving ---------------------------------------------------------------------------------- */

// Makes lines of changes that come in the order of their numbers. A line ends where a number ends; where the changes of one
// number do not fit, the lines before the last one raise no mark.
class Lines {
  constructor(source, since) {
    Object.assign(this, { source, since, lines: [], size: 0, changes: [], bytes: 0, number: null, whole: 0 });
  }

  push(change, number) {
    if (number !== this.number) this.whole = this.changes.length;
    this.number = number;
    const isFull = this.changes.length === CHANGES_PER_LINE || this.bytes + change.length > BYTES_PER_LINE;
    if (isFull && this.changes.length > 0) this.cut();
    this.changes.push(change);
    this.bytes += change.length;
  }

  cut() {
    const isWhole = this.whole > 0;
    const cut = this.changes.splice(0, isWhole ? this.whole : this.changes.length);
    this.end(isWhole && BigInt(this.number) > this.since ? BigInt(this.number) : this.since, cut);
    this.bytes = this.changes.reduce((sum, change) => sum + change.length, 0);
    this.whole = 0;
  }

  end(upto, changes = this.changes.splice(0)) {
    const line =
      `{"format":${FORMAT},"source":${JSON.stringify(this.source)},` +
      `"since":${this.since},"upto":${upto},"changes":[${changes.join(",")}]}`;
    this.lines.push(line);
    this.size += line.length;
    this.since = upto;
  }
}

// Reads lines from `since` on until they have `enough` characters and a number ends. `news` are the changes that do not
// come each time.
function* readWindow(connection, { since, own, scope }, enough = WINDOW) {
  const conditions = [...(own ? ["own = 1"] : []), ...(scope === null ? [] : ["scope = :b"])];
  const where = conditions.length ? `WHERE ${conditions.join(" AND ")}` : "";
  const rows = yield connection.cursor(SQL.changesOf(where), String(since), ...(scope === null ? [] : [scope]));
  try {
    let row = yield rows.next();
    const lines = row && new Lines(row.source, since);
    let end;
    let news = 0;
    for (; row; row = yield rows.next()) {
      if (lines.size >= enough && row.n !== lines.number && BigInt(row.n) > since) {
        lines.end(BigInt(row.n));
        return { lines: lines.lines, upto: lines.since, news, isLast: false };
      }
      lines.push(row.change, row.n);
      if (BigInt(row.seq) >= since) news++;
      end = row.upto;
    }
    if (lines) lines.end(BigInt(end) > lines.since ? BigInt(end) : lines.since); // since may lie beyond the end
    return { lines: lines ? lines.lines : [], upto: lines ? lines.since : since, news, isLast: true };
  } finally {
    yield rows.close();
  }
}

// The name of what a file gives.
function* readSource(connection, { own, scope }) {
  const [{ source }] = yield connection.all(SQL.SOURCE, own ? "1" : "0", scope);
  if (source === null)
    throw new Error("sqlite-counter: the file has no counter tables: create them before it is synchronized");
  return source;
}

// The number that all changes lie below.
function* readEnd(connection) {
  const [row] = yield connection.all(SQL.END);
  return row ? row.upto : "0";
}

// How many rows the tables refuse, after another attempt: a table may take them since.
async function countApart(connection) {
  const count = async () => Number((await connection.query(SQL.APART))[0].n);
  if ((await count()) > 0) await connection.query(SQL.RETRY);
  return count();
}

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
function* takeChanges(connection, line, source, { scope, token }) {
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
      if (cell) yield connection.all(SQL.INSERT_BYTES, row.change, key, source, scope, cell);
      else yield connection.all(SQL.INSERT, row.change, key, source, scope);
    } catch (error) {
      throw yield* explain(connection, row.change, i + 1, error);
    }
    taken.changes++;
  }
  return taken;
}

// A mark says that all changes below it have come: nobody says so for the device of another token.
function* raiseMark(connection, line, source, { scope, token }) {
  const isForeign = token !== undefined && (yield connection.all(SQL.IS_FOREIGN_SOURCE, source, token)).length > 0;
  if (isForeign) return yield* readMark(connection, source, scope);
  const [{ mark }] = yield connection.all(SQL.SEEN, line, scope);
  return BigInt(mark);
}

// Merges lines within the transaction that is open. `accept(batch, line)`, a generator, may refuse a batch by an error.
function* takeLines(connection, lines, { scope = null, token, accept } = {}) {
  const taken = { changes: 0, skipped: 0, marks: new Map() };
  for (const [i, line] of lines.entries()) {
    if (line.trim() === "") continue;
    try {
      const batch = yield* checkedBatch(connection, line);
      if (accept) yield* accept(batch, line);
      const { changes, skipped } = yield* takeChanges(connection, line, batch.source, { scope, token });
      const mark = yield* raiseMark(connection, line, batch.source, { scope, token });
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

function* readMark(connection, source, scope) {
  const [{ mark }] = yield connection.all(SQL.MARK, source, scope);
  return BigInt(mark);
}

const mark = (db, source, scope) =>
  withConnection(db, (connection) => connection.run(() => readMark(connection, source, scopeText(scope))));

module.exports = {
  FORMAT,
  apply,
  changes,
  countApart,
  mark,
  readEnd,
  readMark,
  readSource,
  readWindow,
  scopeText,
  take,
  takeLines,
  wholeNumber,
};
