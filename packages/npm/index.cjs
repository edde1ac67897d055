// index.cjs - what the package gives: the library, and ways between files.
"use strict";

const { adopt, plan, replicateAll } = require("./adopting.cjs");
const { apply, changes, mark } = require("./batches.cjs");
const { SyncError } = require("./errors.cjs");
const { makeFolder, syncFolder } = require("./folder.cjs");
const { grant, rights } = require("./granting.cjs");
const { handler } = require("./handler.cjs");
const { syncHttp } = require("./http.cjs");
const { getLoadablePath, load } = require("./load.cjs");
const { QuestionError, merge } = require("./merging.cjs");
const { addToken, removeToken, tokens } = require("./tokens.cjs");

module.exports = {
  QuestionError,
  SyncError,
  addToken,
  adopt,
  apply,
  changes,
  getLoadablePath,
  grant,
  handler,
  load,
  makeFolder,
  mark,
  merge,
  plan,
  removeToken,
  replicateAll,
  rights,
  syncFolder,
  syncHttp,
  tokens,
};
