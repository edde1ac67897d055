// running.cjs - runs the program sqlite-counter, for what SQL cannot do.
"use strict";

const { execFile } = require("child_process");

const { SyncError } = require("./errors.cjs");
const { getProgramPath } = require("./load.cjs");

function list(value, name) {
  if (!Array.isArray(value) || value.some((one) => typeof one !== "string"))
    throw new TypeError(`sqlite-counter: ${name} must be an array of texts, not ${value}`);
  return value;
}

// The lines that a command prints with --json. Its sentence is the error; a status without one is left to the lines.
async function runProgram(command, words, files) {
  const text = await new Promise((done, fail) => {
    const all = [command, "--json", ...words, "--", ...files.map(String)];
    execFile(getProgramPath(), all, { maxBuffer: Infinity }, (error, out, told) => {
      const sentence = told.trim().replace(/^sqlite-counter: /, "");
      if (!error || (out && !sentence)) done(out);
      else fail(new SyncError(sentence || error.message, { cause: error }));
    });
  });
  return text.split("\n").filter((line) => line);
}

module.exports = { list, runProgram };
