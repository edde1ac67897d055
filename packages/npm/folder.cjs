// folder.cjs - syncFolder: what several machines exchange through a folder that all of them see.
//
//     DIRECTORY/<id of a source>/<since>-<upto>.gz
//
// A file writes in its own folder alone, and only what it has counted itself; it takes from all others.
"use strict";

const fs = require("fs");
const path = require("path");

const { take } = require("./batches.cjs");
const { isLocked, withConnection } = require("./drivers.cjs");
const { SyncError } = require("./errors.cjs");
const { flushFolder, nameOf, parseName, readFile, removeAbandoned, writeFile } = require("./files.cjs");
const { countApart, readEnd, readMark, readWindow, scopeText, settle } = require("./giving.cjs");
const SQL = require("./statements.cjs");

const ENOUGH = 4 * 2 ** 20; // bytes that are merged in one transaction
const RELISTED = 3; // times that files are looked for again which their writer has joined meanwhile
const FOLDER = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-([0-9a-f]{16}))?$/;
const DAMAGED =
  "nothing of it was taken. If it does not arrive whole, delete it on the machine that wrote it, which writes it again at its next sync";
const OWN = { own: true, scope: null };

const isGone = (error) => error.code === "ENOENT";
const folderOf = (source) => source.replace(/ own$/, "").replace("/", "-");
const sourceOf = ([, id, twist]) => `${id}${twist ? `/${twist}` : ""} own`;

/* ---- giving ---------------------------------------------------------------------------------- */

// The files from 0 on, each of which begins at or below the end of those before; those that lead further.
function chainOf(files) {
  const chain = [];
  for (let end = 0n; ; end = chain[chain.length - 1].upto) {
    const next = files.filter(({ since, upto }) => since <= end && upto > end);
    if (next.length === 0) return chain;
    chain.push(next.reduce((best, file) => (file.upto > best.upto ? file : best)));
  }
}

// The last files that a new one of `size` bytes takes in: as long as each is not larger than all behind it.
async function joined(folder, chain, size) {
  const files = [];
  for (const file of [...chain].reverse()) {
    const found = await fs.promises.stat(path.join(folder, file.name)).catch(() => undefined); // another process took it in
    if (!found || found.size > size) break;
    size += found.size;
    files.unshift(file);
  }
  return files;
}

// Writes all own changes from `since` on into one file; nothing if there are none. Returns what it was.
async function writeChanges(connection, folder, since) {
  const query = { ...OWN, since };
  const read = () => connection.run(() => readWindow(connection, query));
  let window = await read();
  if (!window.news) return undefined;
  if (await fs.promises.mkdir(folder, { recursive: true })) await flushFolder(path.dirname(folder));
  const written = { since, upto: window.upto, news: 0 };
  async function* lines() {
    for (;;) {
      yield* window.lines;
      written.news += window.news;
      written.upto = query.since = window.upto;
      if (window.isLast) return;
      window = await read();
    }
  }
  written.size = await writeFile(folder, lines(), () => nameOf(since, written.upto));
  written.name = nameOf(since, written.upto);
  return written;
}

// A file whose folder has more of it than it has itself would write what nobody takes.
async function refuseOlder(connection, folder, end) {
  const mine = BigInt(await connection.run(() => readEnd(connection)));
  if (end > mine)
    throw new SyncError(
      `${folder} has the changes of this file up to ${end}, and the file ends at ${mine}: it is an older copy. ` +
        "SELECT counter_fork() gives it an id of its own, and its next sync a folder of its own",
      { file: folder }
    );
}

// Returns how many changes were given.
async function give(connection, folder) {
  const names = await fs.promises.readdir(folder).catch((error) => {
    if (!isGone(error)) throw error;
    return [];
  });
  await removeAbandoned(folder, names);
  const files = names.map(parseName).filter(Boolean);
  const chain = chainOf(files);
  const end = chain.length > 0 ? chain[chain.length - 1].upto : 0n;
  await refuseOlder(connection, folder, end);
  const written = await writeChanges(connection, folder, end);
  if (!written) return 0;
  const old = await joined(folder, chain, written.size);
  if (old.length === 0) return written.news;
  const whole = await writeChanges(connection, folder, old[0].since);
  if (!whole || whole.upto < written.upto) return written.news;
  for (const { name } of [...old, written])
    if (name !== whole.name) await fs.promises.rm(path.join(folder, name), { force: true });
  return written.news;
}

/* ---- taking ---------------------------------------------------------------------------------- */

// A batch must be what the name of its file promises.
const accepting = (source, file) =>
  function* (batch) {
    if (batch.source !== source) throw new Error(`it is of ${batch.source}, and the folder is that of ${source}`);
    if (BigInt(batch.since) < file.since || BigInt(batch.upto) > file.upto)
      throw new Error("its since and upto are not within those in the name of the file");
  };

// What is wrong with a file is told, and others may still lead further; what is wrong here ends the sync.
async function takeFile(connection, taking, file) {
  const { folder, source, scope } = taking;
  const at = path.join(folder, file.name);
  try {
    await readFile(at, ENOUGH, async (lines) => {
      try {
        taking.changes += (await take(connection, lines, { scope, accept: accepting(source, file) })).changes;
      } catch (error) {
        throw isLocked(error) ? error : Object.assign(error, { isRefused: true });
      }
    });
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    if (isLocked(error)) throw error;
    taking.bad.add(file.name);
    taking.warn(at, error.isRefused ? error.message : `${error.message}: ${DAMAGED}`);
    return true;
  }
}

// Takes file after file, each time the one with the highest end that begins at or below the mark.
async function takeSource(connection, taking) {
  let relisted = 0;
  for (;;) {
    const names = await fs.promises.readdir(taking.folder);
    for (const name of names)
      if (!parseName(name) && !name.startsWith("."))
        taking.warn(path.join(taking.folder, name), "its name is not that of a file of changes: it was left alone");
    for (let seen = 0; ; seen++) {
      const mark = await connection.run(() => readMark(connection, taking.source, taking.scope));
      const next = names
        .map(parseName)
        .filter((file) => file && file.since <= mark && file.upto > mark && !taking.bad.has(file.name))
        .sort((a, b) => (a.upto < b.upto ? 1 : -1))[0];
      if (!next) return;
      if (!(await takeFile(connection, taking, next))) break;
      const raised = await connection.run(() => readMark(connection, taking.source, taking.scope));
      if (raised === mark && !taking.bad.has(next.name)) {
        taking.bad.add(next.name);
        taking.warn(path.join(taking.folder, next.name), "its lines bring less than its name says: it was left alone");
      }
    }
    if (++relisted > RELISTED) return; // the next call finds it
  }
}

async function takeAll(connection, directory, own, scope) {
  const result = { took: 0, warnings: [] };
  for (const entry of (await fs.promises.readdir(directory, { withFileTypes: true })).sort((a, b) =>
    a.name < b.name ? -1 : 1
  )) {
    const found = entry.isDirectory() && FOLDER.exec(entry.name);
    const warned = new Set();
    const warn = (file, message) => {
      if (!warned.has(file)) result.warnings.push({ file, message: `${file}: ${message}` });
      warned.add(file);
    };
    const folder = path.join(directory, entry.name);
    if (entry.name === own || entry.name.startsWith(".")) continue;
    if (!found) {
      warn(folder, "its name is not that of the folder of a source: it was left alone");
      continue;
    }
    const taking = { folder, source: sourceOf(found), scope, changes: 0, bad: new Set(), warn };
    try {
      await takeSource(connection, taking);
    } catch (error) {
      if (!error.syscall) throw error;
      warn(folder, `${error.message}: what it has was not taken`);
    }
    result.took += taking.changes;
  }
  return result;
}

/* ---- both ------------------------------------------------------------------------------------ */

const NEXT = "Nothing is lost: the next call goes on";

function failing(directory, what, error) {
  if (error instanceof SyncError) return error;
  if (isLocked(error)) return new SyncError(`the database is locked: ${error.message}. ${NEXT}`, { cause: error });
  return new SyncError(`${directory}: ${what}: ${error.message}. ${NEXT}`, { file: error.path ?? directory, cause: error });
}

// One level too deep a file would write its folder into that of a source.
async function checkFolder(directory) {
  const names = await fs.promises.readdir(directory).catch((error) => {
    if (!isGone(error)) throw failing(directory, "it cannot be read", error);
    throw new SyncError(`${directory}: there is no such folder: make it, once, or mount what it is on`, { file: directory });
  });
  if (names.some(parseName))
    throw new SyncError(`${directory}: it is the folder of one source: give the folder that it is in`, { file: directory });
}

async function synchronize(connection, directory, scope) {
  if (connection.isInTransaction()) throw new SyncError("syncFolder() was called within a transaction: commit it before");
  await checkFolder(directory);
  const own = folderOf(await connection.run(() => settle(connection)));
  await connection.query(SQL.FORGET_WARNINGS);
  let result;
  try {
    result = await takeAll(connection, directory, own, scope);
  } catch (error) {
    throw failing(directory, "it cannot be read", error);
  }
  try {
    result.gave = await give(connection, path.join(directory, own));
  } catch (error) {
    throw failing(path.join(directory, own), "own changes cannot be written; those of others were taken", error);
  }
  result.apart = await connection.run(() => countApart(connection));
  result.warnings.push(...(await connection.query(SQL.WARNINGS)));
  return result;
}

const syncFolder = (db, directory, { scope } = {}) =>
  withConnection(db, (connection) => synchronize(connection, directory, scopeText(scope)));

module.exports = { syncFolder };
