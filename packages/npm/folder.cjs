// folder.cjs - syncFolder: what several machines exchange through a folder that all of them see.
//
//     DIRECTORY/<id of a source>/<since>-<upto>.gz
//
// A file writes in its own folder alone, and only what it has counted itself; it takes from all others.
"use strict";

const fs = require("fs");
const path = require("path");

const { isLocked, isOurs, withConnection } = require("./drivers.cjs");
const { SyncError, plain } = require("./errors.cjs");
const { Folder, nameOf, parseName, readFile, removeAbandoned, writeFile } = require("./files.cjs");
const {
  countApart,
  forgetWarnings,
  readEnd,
  readMark,
  readWarnings,
  readWindow,
  scopeText,
  settle,
  take,
} = require("./lines.cjs");

const RELISTED = 3; // times that files are looked for again which their writer has joined meanwhile
const FOLDER = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-(?!0{16})([0-9a-f]{16}))?$/;
const DAMAGED =
  "nothing of it was taken. If it does not arrive whole, delete it on the machine that wrote it, which writes it again at its next sync";

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
    const found = await folder.stat(file.name).catch(() => undefined); // another process took it in
    if (!found || found.size > size) break;
    size += found.size;
    files.unshift(file);
  }
  return files;
}

const readOwn = (connection, since) => connection.run(readWindow, { since, own: true, scope: null });

// Writes all own changes from `since` on into one file, behind the window that was read first. Returns what it was.
async function writeChanges(connection, folder, since, first) {
  const written = { since, upto: since, changes: 0 };
  async function* lines() {
    for (let window = first; ; window = await readOwn(connection, written.upto)) {
      yield* window.lines;
      written.changes += window.changes;
      written.upto = window.upto;
      if (window.isLast) return;
    }
  }
  written.size = await writeFile(folder, lines(), () => nameOf(since, written.upto));
  written.name = nameOf(since, written.upto);
  return written;
}

// A file whose folder has more of it than it has itself would write what nobody takes.
async function refuseOlder(connection, folder, end) {
  const mine = await connection.run(readEnd);
  if (end > mine)
    throw new SyncError(
      `${folder} has the changes of this file up to ${end}, and the file ends at ${mine}: it is an older copy. ` +
        "SELECT counter_fork() gives it an id of its own, and its next sync a folder of its own",
      { file: folder }
    );
}

const isLink = (at) =>
  fs.promises.lstat(at).then(
    (found) => found.isSymbolicLink(),
    () => false
  );

// Opens the folder of this file, and calls `work` with it; undefined if it is not there.
async function inOwn(at, work) {
  let folder;
  try {
    folder = await Folder.open(at);
  } catch (error) {
    if (isGone(error)) return undefined;
    if (await isLink(at))
      throw new SyncError(`${at}: it is a link, and a sync writes where no link leads: remove it`, { file: at, cause: error });
    throw error;
  }
  try {
    return await work(folder);
  } finally {
    await folder.close();
  }
}

// Writes the changes from the end of the chain on, and puts the last files together.
async function giveInto(connection, folder, chain, first) {
  const end = chain.length > 0 ? chain[chain.length - 1].upto : 0n;
  const written = await writeChanges(connection, folder, end, first);
  const old = await joined(folder, chain, written.size);
  if (old.length === 0) return written.changes;
  const all = await readOwn(connection, old[0].since);
  const whole = all.changes ? await writeChanges(connection, folder, old[0].since, all) : undefined;
  if (!whole || whole.upto < written.upto) return written.changes;
  for (const { name } of [...old, written]) if (name !== whole.name) await folder.remove(name);
  return written.changes;
}

// A folder that is made is on the disk, as are the files in it.
async function makeFolder(at) {
  try {
    await fs.promises.mkdir(at);
  } catch (error) {
    if (error.code === "EEXIST") return;
    throw error;
  }
  if (process.platform === "win32") return; // which flushes no folders
  const above = await fs.promises.open(path.dirname(at), "r");
  await above.sync().finally(() => above.close());
}

// Returns how many changes were given.
async function give(connection, at) {
  const names = await inOwn(at, async (folder) => {
    const found = await folder.names();
    await removeAbandoned(folder, found);
    return regularFiles(folder, found);
  });
  const chain = chainOf((names ?? []).map(parseName).filter(Boolean));
  const end = chain.length > 0 ? chain[chain.length - 1].upto : 0n;
  await refuseOlder(connection, at, end);
  const first = await readOwn(connection, end);
  if (!first.changes) return 0;
  await makeFolder(at);
  return inOwn(at, (folder) => giveInto(connection, folder, chain, first));
}

/* ---- taking ---------------------------------------------------------------------------------- */

// What is wrong with a file is told, and others may still lead further; what is wrong here ends the sync.
async function takeFile(connection, taking, file) {
  const { folder, source, scope } = taking;
  try {
    await readFile(folder, file.name, async (lines) => {
      try {
        taking.changes += (await connection.run(take, lines, { scope, source })).changes;
      } catch (error) {
        throw isOurs(error) ? error : Object.assign(error, { isRefused: true });
      }
    });
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    if (isOurs(error)) throw error;
    taking.bad.add(file.name);
    taking.warn(folder.pathOf(file.name), error.isRefused ? error.message : `${error.message}: ${DAMAGED}`);
    return true;
  }
}

// Those among the names of files of changes that are no links, pipes or devices.
async function regularFiles(folder, names) {
  const files = [];
  for (const name of names.filter(parseName)) {
    const found = await folder.stat(name).catch(() => undefined); // its writer has joined it with others
    if (found?.isFile()) files.push(name);
  }
  return files;
}

async function listFiles(taking) {
  const { folder, warn } = taking;
  const names = await folder.names();
  const files = await regularFiles(folder, names);
  for (const name of names)
    if (!parseName(name) && !name.startsWith("."))
      warn(folder.pathOf(name), "its name is not that of a file of changes: it was left alone");
    else if (parseName(name) && !files.includes(name) && (await folder.stat(name).catch(() => undefined)))
      warn(folder.pathOf(name), "it is no regular file: it was left alone");
  return files;
}

// Takes file after file, each time the one with the highest end that begins at or below the mark.
async function takeSource(connection, taking) {
  let relisted = 0;
  for (;;) {
    const names = await listFiles(taking);
    for (let seen = 0; ; seen++) {
      const mark = await connection.run(readMark, taking.source, taking.scope);
      const next = names
        .map(parseName)
        .filter((file) => file.since <= mark && file.upto > mark && !taking.bad.has(file.name))
        .sort((a, b) => (a.upto < b.upto ? 1 : -1))[0];
      if (!next) return;
      if (!(await takeFile(connection, taking, next))) break;
      const raised = await connection.run(readMark, taking.source, taking.scope);
      if (raised === mark && !taking.bad.has(next.name)) {
        taking.bad.add(next.name);
        taking.warn(taking.folder.pathOf(next.name), "its lines bring less than its name says: it was left alone");
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
      if (!warned.has(file)) result.warnings.push({ file, message: plain(`${file}: ${message}`) });
      warned.add(file);
    };
    const folder = path.join(directory, entry.name);
    if (entry.name === own || entry.name.startsWith(".")) continue;
    if (!found) {
      warn(folder, "its name is not that of the folder of a source: it was left alone");
      continue;
    }
    const taking = { source: sourceOf(found), scope, changes: 0, bad: new Set(), warn };
    try {
      taking.folder = await Folder.open(folder);
      await takeSource(connection, taking);
    } catch (error) {
      if (!error.syscall) throw error;
      warn(folder, `${error.message}: what it has was not taken`);
    } finally {
      await taking.folder?.close();
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
  if (isOurs(error)) return new SyncError(`the database cannot be written: ${error.message}. ${NEXT}`, { cause: error });
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
  const own = folderOf(await connection.run(settle));
  await connection.run(forgetWarnings);
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
  result.apart = await connection.run(countApart);
  result.warnings.push(...(await connection.run(readWarnings)));
  return result;
}

const syncFolder = (db, directory, { scope } = {}) =>
  withConnection(db, (connection) => synchronize(connection, directory, scopeText(scope)));

module.exports = { syncFolder };
