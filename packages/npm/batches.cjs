// batches.cjs - changes, apply and mark: lines for any transport.
"use strict";

const { withConnection } = require("./drivers.cjs");
const { readMark, readWindow, scopeText, take } = require("./lines.cjs");

function wholeNumber(value, name) {
  const isWhole =
    typeof value === "bigint" || Number.isSafeInteger(value) || (typeof value === "string" && /^\d{1,19}$/.test(value));
  const number = isWhole ? BigInt(value) : -1n;
  if (number < 0n || number >= 2n ** 63n)
    throw new TypeError(`sqlite-counter: ${name} must be a whole number from 0 on, a BigInt beyond 2^53, not ${value}`);
  return number;
}

async function* changes(db, { since = 0, own = false, scope } = {}) {
  const query = { since: wholeNumber(since, "since"), own, scope: scopeText(scope) };
  for (let isLast = false; !isLast; ) {
    const window = await withConnection(db, (connection) => connection.run(readWindow, query));
    yield* window.lines;
    ({ upto: query.since, isLast } = window);
  }
}

async function apply(db, lines) {
  const all = [];
  if (typeof lines === "string") all.push(lines);
  else for await (const line of lines) all.push(line);
  return withConnection(db, (connection) => connection.run(takeWithMarks, all.join("\n")));
}

function* takeWithMarks(connection, lines) {
  const { changes, sources } = yield* take(connection, lines);
  const marks = new Map();
  for (const source of sources) marks.set(source, yield* readMark(connection, source));
  return { changes, marks };
}

const mark = (db, source, scope) => withConnection(db, (connection) => connection.run(readMark, source, scopeText(scope)));

module.exports = { apply, changes, mark };
