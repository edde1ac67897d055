// folder.cjs - syncFolder: what several machines exchange through a folder that all of them see. The library reads and
// writes it; docs/batches.md specifies what stands in it.
"use strict";

const fs = require("fs");
const path = require("path");

const { isOurs, withConnection } = require("./drivers.cjs");
const { SyncError, plain } = require("./errors.cjs");
const { countApart, forgetWarnings, readWarnings, scopeText, settle } = require("./lines.cjs");
const { loadFolders } = require("./load.cjs");

const MARKER = ".sqlite-counter";
const SYNC = `SELECT table_name AS file, source, rows_read AS changes, note FROM counter_sync(:a, NULL, :b)`;

async function makeFolder(directory) {
  try {
    await fs.promises.mkdir(directory, { recursive: true });
    await (await fs.promises.open(path.join(directory, MARKER), "a")).close();
  } catch (cause) {
    throw new SyncError(`${directory}: ${cause.message}`, { file: directory, cause });
  }
}

function* exchange(connection, directory, scope) {
  return yield connection.all(SYNC, directory, scope);
}

// The right is given when it is missed: a program that calls syncFolder() means it.
async function exchangeWithRight(connection, directory, scope) {
  try {
    return await connection.run(exchange, directory, scope);
  } catch (error) {
    if (!/this connection has no right to use one/.test(error.message)) throw error;
  }
  await loadFolders(connection.db);
  return connection.run(exchange, directory, scope);
}

function failing(directory, error) {
  if (error instanceof SyncError || !/^counter_sync: /.test(error.message)) return error;
  const said = error.message.replace(/^counter_sync: /, "");
  const next = isOurs(error) ? ". Nothing is lost: the next call goes on" : "";
  return new SyncError(`${said}${next}`, { file: directory, cause: error });
}

async function synchronize(connection, directory, scope) {
  if (connection.isInTransaction()) throw new SyncError("syncFolder() was called within a transaction: commit it before");
  if (!fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory())
    throw new SyncError(`${directory}: there is no such folder: make it once, by makeFolder(), or mount what it is on`, {
      file: directory,
    });
  const own = (await connection.run(settle)).replace(/ own$/, "");
  await connection.run(forgetWarnings);
  const result = { gave: 0, took: 0, warnings: [], apart: 0 };
  try {
    for (const { file, source, changes, note } of await exchangeWithRight(connection, directory, scope)) {
      result[source === own ? "gave" : "took"] += Number(changes);
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
