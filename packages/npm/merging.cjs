// merging.cjs - two descendants of a file that nobody prepared become one, by the program; docs/merge.md has the rules.
"use strict";

const { SyncError } = require("./errors.cjs");
const { list, runProgram } = require("./running.cjs");

class QuestionError extends SyncError {
  constructor(questions) {
    super(`merge asks before it does anything: ${questions.join("; ")}`);
    this.questions = questions;
  }
}

// Outside of texts: integers that a number may not hold.
const TEXT_OR_LARGE = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;
const parse = (line) =>
  JSON.parse(line.replace(TEXT_OR_LARGE, (found) => (found[0] === '"' ? found : `{"integer": "${found}"}`)));

// A value of a field; JSON has no BLOBs.
function valueOf(value) {
  if (value === null || typeof value !== "object") return value;
  if ("hex" in value) return Buffer.from(value.hex, "hex");
  const number = Number(value.integer);
  return Number.isSafeInteger(number) ? number : BigInt(value.integer);
}

const rowOf = (row) =>
  row && Object.fromEntries(Object.entries(row).map(([name, value]) => [name, valueOf(value)]));

function conflictOf(conflict) {
  const { key, column, base, ours, theirs } = conflict;
  const of = column === null ? rowOf : valueOf;
  return { ...conflict, key: key && key.map(valueOf), base: of(base), ours: of(ours), theirs: of(theirs) };
}

const tableOf = (line) => ({ ...line, renumbered: line.renumbered.map((pair) => pair.map(valueOf)) });

async function merge(base, ours, theirs, options = {}) {
  const { add = [], ref = [], noRef = [], assigned = [], theirsWins = false, output = null, ...switches } = options;
  const { copies, unrelated, baseIsFork, conflictTable, dryRun } = switches;
  const each = (name, values, given) => list(values, given).map((value) => `--${name}=${value}`);
  const words = [
    ...each("add", add, "add"),
    ...each("ref", ref, "ref"),
    ...each("no-ref", noRef, "noRef"),
    ...each("assigned", assigned, "assigned"),
    ...(theirsWins === true ? ["--theirs"] : theirsWins ? each("theirs", theirsWins, "theirsWins") : []),
    ...(copies ? ["--copies"] : []),
    ...(unrelated ? ["--unrelated"] : []),
    ...(baseIsFork ? ["--base-is-fork"] : []),
    ...(conflictTable ? ["--conflict-table"] : []),
    ...(dryRun ? ["--dry-run"] : []),
    ...(output === null ? [] : [`--output=${output}`]),
  ];
  const files = [base, ours, theirs].filter((path) => path !== null && path !== undefined);
  const lines = (await runProgram("merge", words, files)).map(parse);
  const questions = lines.filter((line) => "ask" in line).map(({ ask }) => ask);
  if (questions.length) throw new QuestionError(questions);
  return {
    tables: lines.filter((line) => "table" in line).map(tableOf),
    conflicts: lines.filter((line) => "conflict" in line).map(({ conflict }) => conflictOf(conflict)),
    notes: lines.filter((line) => "note" in line).map(({ note }) => note),
  };
}

module.exports = { QuestionError, merge };
