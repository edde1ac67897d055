// giving.cjs - what a file gives: its changes as lines of JSON, window by window; and its marks.
//
// It knows no driver, and the module for browsers has it, too. A connection has all(), cursor() and run(), as those of
// drivers.cjs.
"use strict";

const SQL = require("./statements.cjs");

const FORMAT = 1;
const CHANGES_PER_LINE = 1000;
const BYTES_PER_LINE = 2 ** 20; // a line that is longer has one change
const WINDOW = 8 * 2 ** 20; // characters that are read at once

// JSON has whole numbers of any size, JSON.stringify() has not.
function scopeText(scope) {
  if (scope === undefined || scope === null) return null;
  if (typeof scope === "string") return scope;
  if (!Array.isArray(scope))
    throw new TypeError(`sqlite-counter: scope must be an array of the first values of a key, not ${scope}`);
  return `[${scope.map((value) => (typeof value === "bigint" ? String(value) : JSON.stringify(value))).join(",")}]`;
}

/* ---- lines ----------------------------------------------------------------------------------- */

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

const NO_TABLES = "sqlite-counter: the file has no counter tables: create them before it is synchronized";

// The name of what a file gives.
function* readSource(connection, { own, scope }) {
  const [{ source }] = yield connection.all(SQL.SOURCE, own ? "1" : "0", scope);
  if (source === null) throw new Error(NO_TABLES);
  return source;
}

// The name of its own changes, after a copy has taken an id of its own.
function* settle(connection) {
  if ((yield connection.all(SQL.HAS_CATALOG)).length === 0) throw new Error(NO_TABLES);
  yield connection.all(SQL.SETTLE);
  return yield* readSource(connection, { own: true, scope: null });
}

// The number that all changes lie below.
function* readEnd(connection) {
  const [{ upto }] = yield connection.all(SQL.END);
  return upto;
}

function* readMark(connection, source, scope) {
  const [{ mark }] = yield connection.all(SQL.MARK, source, scope);
  return BigInt(mark);
}

// How many rows the tables refuse, after another attempt: a table may take them since.
function* countApart(connection) {
  const count = function* () {
    return Number((yield connection.all(SQL.APART))[0].n);
  };
  if ((yield* count()) === 0) return 0;
  try {
    yield connection.all(SQL.RETRY);
  } catch (_) {
    // the file is locked: the next sync tries again
  }
  return yield* count();
}

module.exports = { FORMAT, countApart, readEnd, readMark, readSource, readWindow, scopeText, settle };
