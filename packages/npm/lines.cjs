// lines.cjs - what a file gives and takes: lines of JSON, which the library makes and reads; and the marks that say how far.
//
// It knows no driver, and the module for browsers has it, too: a connection has all() and cursor(), as those of drivers.cjs. Whole
// numbers leave SQLite as TEXT and come back as TEXT, because a number of JavaScript has 53 bits. The parameters of a statement
// are :a, :b, …, in the order of the values, because all drivers understand these.
"use strict";

const FORMAT = 1; // of the answers of a server, and of lines
const PART = 4 * 2 ** 20; // bytes of lines that are sent, or merged, at once
const WINDOW = 8 * 2 ** 20; // characters of lines that are read at once
const LONGEST = 64 * 2 ** 20; // bytes of a line, as the command and Python take them

const LINES = `
SELECT line, CAST(since AS TEXT) AS since, CAST(upto AS TEXT) AS upto, changes
  FROM counter_lines(CAST(:a AS INTEGER), CAST(:b AS INTEGER), :c, :d, CAST(:e AS INTEGER))`;
const TAKE = "SELECT counter_take(:a, :b, :c) AS answer";
const SOURCE = "SELECT counter_source(0, :a) AS source";
const HAS_CATALOG = "SELECT 1 FROM sqlite_master WHERE name = 'counter_tables'";
const SETTLE = "SELECT counter_settle() AS id";
const MARK = "SELECT CAST(counter_mark(:a, :b) AS TEXT) AS mark";
const APART = `SELECT count(*) AS n
  FROM (SELECT DISTINCT table_name, row_key FROM counter_tracked WHERE state IN ('waits', 'differs', 'refused'))`;
// What a sync tells of a table. Foreign keys are told by the command status: they stay as they are.
const WARNINGS = `SELECT table_name AS "table", table_name || ': ' || warning AS message
  FROM counter_warnings WHERE kind <> 'foreign key'`;
const FORGET_WARNINGS = "SELECT counter_warnings_reset() AS forgotten";
const REQUEST = "SELECT upload, query, source, CAST(mine AS TEXT) AS mine FROM counter_request(:a, :b)";
const HEARD = `
SELECT source, CAST(mine AS TEXT) AS mine, more, skipped, warnings
  FROM counter_heard(:a, :b, CAST(:c AS INTEGER), :d)`;

// JSON has whole numbers of any size, JSON.stringify() has not.
function scopeText(scope) {
  if (scope === undefined || scope === null) return null;
  if (typeof scope === "string") return scope;
  if (!Array.isArray(scope))
    throw new TypeError(`sqlite-counter: scope must be an array of the first values of a key, not ${scope}`);
  return `[${scope.map((value) => (typeof value === "bigint" ? String(value) : JSON.stringify(value))).join(",")}]`;
}

/* ---- lines ----------------------------------------------------------------------------------- */

// Reads lines from `since` on until they have `enough` characters and the last one raises the mark: `upto` is where to go on.
// None raises a mark that lies beyond them, of a file that was here before: then all come at once.
function* readWindow(connection, { since, own, scope, of = null, mine = null }, enough = WINDOW) {
  const window = { lines: [], changes: 0, upto: since, isLast: false };
  const rows = yield connection.cursor(LINES, String(since), own ? "1" : "0", scope, of, mine);
  try {
    for (let size = 0, raises = false; ; ) {
      const row = yield rows.next();
      if (!row) return { ...window, isLast: true };
      if (size >= enough && raises) return window;
      window.lines.push(row.line);
      window.changes += Number(row.changes);
      window.upto = BigInt(row.upto);
      size += row.line.length;
      raises = row.upto !== row.since && BigInt(row.since) >= BigInt(since);
    }
  } finally {
    yield rows.close();
  }
}

// Merges lines, a text or its bytes, or nothing of them. Returns how many changes they had, and the names of their sources.
function* take(connection, lines, { scope = null, source = null } = {}) {
  const [{ answer }] = yield connection.all(TAKE, lines, scope, source);
  const { changes, marks } = JSON.parse(answer);
  return { changes, sources: Object.keys(marks) };
}

function joined(chunks) {
  const bytes = new Uint8Array(chunks.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

// Parts of a stream of bytes that end where lines end: some PART bytes, or one line.
async function* partsOf(stream) {
  let [held, size] = [[], 0];
  for await (const chunk of stream) {
    const end = size + chunk.length < PART ? 0 : chunk.lastIndexOf(10) + 1;
    if (end > 0) {
      yield joined([...held, chunk.subarray(0, end)]);
      [held, size] = [[], 0];
    }
    held.push(chunk.subarray(end));
    size += chunk.length - end;
    if (size > LONGEST) throw new RangeError(`a line has more than ${LONGEST} bytes`);
  }
  if (size > 0) yield joined(held);
}

/* ---- sources and marks ----------------------------------------------------------------------- */

const NO_TABLES = "sqlite-counter: the file has no counter tables: create them before it is synchronized";

// The name of what a file gives.
function* readSource(connection, scope) {
  const [{ source }] = yield connection.all(SOURCE, scope);
  if (source === null) throw new Error(NO_TABLES);
  return source;
}

// Gives the file the id that it will count under: a copy takes its own one now.
function* settle(connection) {
  if ((yield connection.all(HAS_CATALOG)).length === 0) throw new Error(NO_TABLES);
  yield connection.all(SETTLE);
}

function* readMark(connection, source, scope = null) {
  const [{ mark }] = yield connection.all(MARK, source, scope);
  return BigInt(mark);
}

/* ---- a server -------------------------------------------------------------------------------- */

// The parameters of the next request: without and with a question for changes. The source is null if the file knows nothing of the
// server, else own changes go up from `mine` on.
function* readRequest(connection, url, scope) {
  const [{ upload, query, source, mine }] = yield connection.all(REQUEST, url, scope);
  return { upload, query, source, mine: BigInt(mine) };
}

// What the first line of an answer says; own changes up to `sent` were uploaded, null if the file knew nothing of the server.
function* hear(connection, url, line, sent, scope) {
  const given = sent === null ? null : String(sent);
  const [{ source, mine, more, skipped, warnings }] = yield connection.all(HEARD, url, line, given, scope);
  return { source, mine: BigInt(mine), more: Number(more) === 1, skipped: Number(skipped), warnings: JSON.parse(warnings) };
}

/* ---- what a sync tells ----------------------------------------------------------------------- */

function* forgetWarnings(connection) {
  yield connection.all(FORGET_WARNINGS);
}

function* readWarnings(connection) {
  return yield connection.all(WARNINGS);
}

// How many rows the tables refuse, after another attempt: a table may take them since.
function* countApart(connection) {
  const count = function* () {
    return Number((yield connection.all(APART))[0].n);
  };
  if ((yield* count()) === 0) return 0;
  try {
    yield* take(connection, "");
  } catch (_) {
    // the file is locked: the next sync tries again
  }
  return yield* count();
}

module.exports = {
  FORMAT,
  LONGEST,
  PART,
  countApart,
  forgetWarnings,
  hear,
  joined,
  partsOf,
  readMark,
  readRequest,
  readSource,
  readWarnings,
  readWindow,
  scopeText,
  settle,
  take,
};
