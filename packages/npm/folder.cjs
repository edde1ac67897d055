// folder.cjs - syncFolder: what several machines exchange through a folder that all of them see. The library reads and
// writes it; docs/batches.md specifies what stands in it.
"use strict";

const fs = require("fs");
const path = require("path");

const { inTransaction, isOurs, withConnection } = require("./drivers.cjs");
const { SyncError, plain } = require("./errors.cjs");
const { countApart, forgetWarnings, readWarnings, scopeText, settle } = require("./lines.cjs");
const { loadFolders } = require("./load.cjs");

const MARKER = ".sqlite-counter";
const PULL = "SELECT table_name AS file, rows_read AS changes, note FROM counter_pull(:a, NULL, :b)";
const PUSH = "SELECT table_name AS file, rows_read AS changes, note FROM counter_push(:a)";

async function makeFolder(directory) {
  try {
    await fs.promises.mkdir(directory, { recursive: true });
    await (await fs.promises.open(path.join(directory, MARKER), "a")).close();
  } catch (cause) {
    throw new SyncError(`${directory}: ${cause.message}`, { file: directory, cause });
  }
}

// BEGIN waits for others that write the file.
function* move(connection, sql, values) {
  return yield* inTransaction(connection, function* () {
    return yield connection.all(sql, ...values);
  });
}

// The right is given when it is missed: a program that calls syncFolder() means it.
async function moveWithRight(connection, sql, ...values) {
  try {
    return await connection.run(move, sql, values);
  } catch (error) {
    if (!/sqlite3_counter_folders_init/.test(error.message)) throw error;
  }
  await loadFolders(connection.db);
  return connection.run(move, sql, values);
}

function failing(directory, error) {
  if (error instanceof SyncError || !(isOurs(error) || /^counter_pu/.test(error.message))) return error;
  const said = error.message.replace(/^counter_(pull|push): /, "");
  const next = isOurs(error) ? ". Nothing is lost: the next call goes on" : "";
  return new SyncError(`${said}${next}`, { file: directory, cause: error });
}

async function synchronize(connection, directory, scope) {
  if (connection.isInTransaction()) throw new SyncError("syncFolder() was called within a transaction: commit it before");
  if (!fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory())
    throw new SyncError(`${directory}: there is no such folder: make it once, by makeFolder(), or mount what it is on`, {
      file: directory,
    });
  await connection.run(settle); // before its directory is named
  await connection.run(forgetWarnings);
  const result = { gave: 0, took: 0, warnings: [], apart: 0 };
  try {
    for (const [way, sql, ...values] of [["took", PULL, directory, scope], ["gave", PUSH, directory]])
      for (const { file, changes, note } of await moveWithRight(connection, sql, ...values)) {
        result[way] += Number(changes);
        if (note) result.warnings.push({ file, message: plain(note) });
      }
  } catch (error) {
    throw failing(directory, error);
  }
  result.apart = await connection.run(countApart);
  result.warnings.push(...(await connection.run(readWarnings)));
  return result;
}

const syncFolder = (db, directory, { scope } = {}) =>
  withConnection(db, (connection) => synchronize(connection, directory, scopeText(scope)));

module.exports = { makeFolder, syncFolder };
