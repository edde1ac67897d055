// adopting.cjs - the tables of an existing application, all at once: what it takes, and doing it.
"use strict";

const { execFile } = require("child_process");

const { withConnection } = require("./drivers.cjs");
const { SyncError } = require("./errors.cjs");
const { getProgramPath } = require("./load.cjs");

const PLAN = `SELECT table_name AS "table", kind, column_name AS "column", finding, remedy FROM counter_plan`;

function list(value, name) {
  if (!Array.isArray(value) || value.some((one) => typeof one !== "string"))
    throw new TypeError(`sqlite-counter: ${name} must be an array of texts, not ${value}`);
  return value;
}

function* readPlan(connection) {
  return yield connection.all(PLAN);
}

// Drivers have no parameters whose number is not known before: the names of tables are quoted.
function* callForAll(connection, words) {
  const given = words.map((word) => `'${word.replaceAll("'", "''")}'`).join(", ");
  const [row] = yield connection.all(`SELECT counter_replicate_all(${given}) AS n`);
  return Number(row.n);
}

const plan = (db) => withConnection(db, (connection) => connection.run(readPlan));

async function replicateAll(db, { counters = [], leave = [] } = {}) {
  const left = list(leave, "leave").map((table) => `leave=${table}`);
  const words = [...list(counters, "counters"), ...left];
  return withConnection(db, (connection) => connection.run(callForAll, words));
}

// By the program, because it changes declarations, for which SQLite knows no statement.
async function adopt(path, { counters = [], leave = [], dryRun = false } = {}) {
  const words = [
    ...list(counters, "counters").map((counter) => `--counter=${counter}`),
    ...list(leave, "leave").map((table) => `--leave=${table}`),
    ...(dryRun ? ["--dry-run"] : []),
  ];
  const text = await new Promise((done, fail) => {
    execFile(getProgramPath(), ["adopt", "--json", ...words, "--", String(path)], (error, out, told) => {
      if (!error) done(out);
      else fail(new SyncError(told.trim().replace(/^sqlite-counter: /, "") || error.message, { cause: error }));
    });
  });
  return text
    .split("\n")
    .filter((line) => line)
    .map((line) => JSON.parse(line));
}

module.exports = { adopt, plan, replicateAll };
