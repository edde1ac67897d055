#!/usr/bin/env node
// program.cjs - runs the program sqlite-counter, which comes with the library of this platform.
"use strict";

const { spawnSync } = require("child_process");
const fs = require("fs");

const { getProgramPath } = require("./load.cjs");

function main() {
  if (process.platform === "win32") {
    throw new Error("sqlite-counter: there is no program for Windows: call syncFolder() or syncHttp(), or run it in WSL");
  }
  const program = getProgramPath();
  if (!fs.existsSync(program)) {
    throw new Error(
      `sqlite-counter: the package of this platform has no program (${program} is missing): build it from source by make`
    );
  }
  const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
  if (error) throw error;
  if (signal) process.kill(process.pid, signal);
  return status;
}

try {
  process.exitCode = main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
