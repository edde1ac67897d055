// adopting.cjs - the tables of an existing application, all at once: what it takes, and doing it.
"use strict";

const { withConnection } = require("./drivers.cjs");
const { list, runProgram } = require("./running.cjs");

const PLAN = `SELECT table_name AS "table", kind, column_name AS "column", finding, remedy FROM counter_plan`;

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
  return (await runProgram("adopt", words, [path])).map((line) => JSON.parse(line));
}

module.exports = { adopt, plan, replicateAll };
