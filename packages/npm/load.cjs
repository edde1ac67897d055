// load.cjs - finds the library of this platform and loads it into a connection.
"use strict";

const path = require("path");

const { optionalDependencies } = require("./package.json");

const NAME = "sqlite-counter";
const OS = { win32: "windows" };
const OPENING = 5000; // milliseconds; opening reads nothing of the file

let known;

// linux-x64, linux-x64-musl, windows-x64: what stands behind the name of a package.
function platform() {
  if (known) return known;
  const musl = process.platform === "linux" && !glibcVersion() ? "-musl" : "";
  known = `${OS[process.platform] ?? process.platform}-${process.arch}${musl}`;
  return known;
}

// A report takes some milliseconds; looking at the network, which it does unless told otherwise, may take seconds.
function glibcVersion() {
  const before = process.report.excludeNetwork;
  process.report.excludeNetwork = true;
  try {
    return process.report.getReport().header.glibcVersionRuntime;
  } finally {
    process.report.excludeNetwork = before;
  }
}

// A packed Electron app has its modules in app.asar, which only Node can read; SQLite and the system find the files that
// were left out of it here.
const unpacked = (file) => file.replace(/\bapp\.asar(?=[\\/])/, "app.asar.unpacked");

// A file of the package of this platform.
function find(file) {
  const here = platform();
  const name = `${NAME}-${here}`;
  if (!(name in optionalDependencies)) {
    const all = Object.keys(optionalDependencies).map((each) => each.slice(NAME.length + 1));
    throw new Error(
      `${NAME}: there is no package for ${here}, only for ${all.join(", ")}; ` +
        "build the library from source and give its path to loadExtension()"
    );
  }
  try {
    return unpacked(path.join(path.dirname(require.resolve(`${name}/package.json`)), file));
  } catch (cause) {
    throw new Error(
      `${NAME}: the package ${name} is not installed; run: npm install --include=optional ${NAME}; ` +
        "from .tgz files, install both packages by one command",
      { cause }
    );
  }
}

const getLoadablePath = () => find(`counter.${process.platform === "win32" ? "dll" : "so"}`);

// The program need not be there.
const getProgramPath = () => find("sqlite-counter");

const load = (db) => loadLibrary(db, getLoadablePath());

// The right to use directories, which SQL cannot give.
const loadFolders = (db) => loadLibrary(db, getLoadablePath().replace(/counter(?=\.\w+$)/, "counter-folders"));

function loadLibrary(db, path) {
  if (typeof db?.loadExtension !== "function") {
    throw new TypeError(
      `${NAME}: this ${db?.constructor?.name ?? typeof db} has no loadExtension(); give load() a Database of ` +
        "better-sqlite3 or sqlite3, or a DatabaseSync of node:sqlite from Node 22.13 on"
    );
  }
  if (typeof db.enableLoadExtension === "function") return loadAllowed(db, path);
  if (typeof db.parallelize === "function") return loadLater(db, path);
  return nothingOf(db.loadExtension(path));
}

const isPromise = (value) => typeof value?.then === "function";
const nothingOf = (loaded) => (isPromise(loaded) ? loaded.then(() => {}) : undefined);

// node:sqlite: whether loading is enabled cannot be asked, so it is tried, and left as it was.
function loadAllowed(db, path) {
  try {
    db.loadExtension(path);
    return;
  } catch (error) {
    if (!/not allowed/.test(error.message)) throw error;
  }
  try {
    db.enableLoadExtension(true);
  } catch (cause) {
    throw new Error(
      `${NAME}: this database must not load extensions; open it by new DatabaseSync(path, { allowExtension: true })`,
      { cause }
    );
  }
  try {
    db.loadExtension(path);
  } finally {
    db.enableLoadExtension(false);
  }
}

// sqlite3: what is asked of the connection later, in db.serialize(), waits for this. `sqlite`, which wraps it, answers by
// a promise and calls nothing back.
function loadLater(db, path) {
  return new Promise((resolve, reject) => {
    const stopWatching = watchOpening(db, reject);
    const loaded = db.loadExtension(path, (error) => {
      stopWatching();
      if (error) reject(error);
      else resolve();
    });
    if (isPromise(loaded)) nothingOf(loaded).then(resolve, reject);
  });
}

// A database of sqlite3 that cannot be opened never calls back what it was asked. It tells the callback of its constructor
// or, if there is none, by an event, perhaps before this.
function watchOpening(db, reject) {
  if (db.open !== false) return () => {};
  const stop = () => {
    clearTimeout(timer);
    db.removeListener("error", fail);
    db.removeListener("open", stop);
  };
  const fail = (error) => {
    stop();
    reject(error);
  };
  const timer = setTimeout(
    () => fail(new Error(`${NAME}: the database is not open; the callback of its constructor is told why`)),
    OPENING
  );
  db.once("error", fail);
  db.once("open", stop);
  return stop;
}

module.exports = { getLoadablePath, getProgramPath, load, loadFolders };
