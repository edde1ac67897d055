// drivers.cjs - one face for the drivers: connect(db) gives a connection whose answers are values where the driver is
// synchronous, else promises.
//
// What reads and writes with them is written once, as generators that are given the connection and `yield` each answer:
// connection.run(readMark, source) runs readMark(connection, source). With better-sqlite3 and node:sqlite all of a generator runs
// before anything else does, so that no other statement of the program gets into its transaction. sqlite3 has no such moment:
// there a connection of its own is opened beside the one that was given, unless that is in memory, or in a transaction of the
// caller.
"use strict";

const fs = require("fs");

const { SyncError } = require("./errors.cjs");
const { load } = require("./load.cjs");

const BUSY = 5000; // milliseconds that a connection of its own waits for a lock

// What a driver binds to :a, :b, …; it is given the names as they stand there, or without the colon.
function named(values, colon = "") {
  if (values.length === 0) return [];
  return [Object.fromEntries(values.map((value, i) => [colon + String.fromCharCode(97 + i), value]))];
}

// Makes a sentence of what SQLite says where the library is missing.
function told(error) {
  if (!/no such (function|table): counter_(?!http|tables)/.test(error?.message)) return error;
  return new SyncError(`${error.message}: call load(db) for the connection first`, { cause: error });
}

/* ---- synchronous drivers --------------------------------------------------------------------- */

class SynchronousConnection {
  constructor(db, isOwned = false) {
    this.db = db;
    this.isOwned = isOwned;
    this.statements = new Map();
  }

  async run(work, ...args) {
    return this.runNow(work(this, ...args));
  }

  isInTransaction() {
    return this.db.inTransaction ?? this.db.isTransaction ?? false;
  }

  runNow(steps) {
    try {
      let step = steps.next();
      while (!step.done) step = steps.next(step.value);
      return step.value;
    } catch (error) {
      throw told(error);
    }
  }

  prepare(sql) {
    let statement = this.statements.get(sql);
    if (!statement) this.statements.set(sql, (statement = this.db.prepare(sql)));
    return statement;
  }

  all(sql, ...values) {
    const statement = this.prepare(sql);
    if (statement.reader !== false) return statement.all(...named(values));
    statement.run(...named(values));
    return [];
  }

  exec(sql) {
    this.db.exec(sql);
  }

  // Old versions of node:sqlite have no iterate().
  cursor(sql, ...values) {
    const statement = this.prepare(sql);
    const rows = statement.iterate ? statement.iterate(...named(values)) : statement.all(...named(values)).values();
    return { next: () => rows.next().value, close: () => void rows.return?.() };
  }

  close() {
    this.statements.clear();
    if (this.isOwned) this.db.close();
  }
}

/* ---- sqlite3 --------------------------------------------------------------------------------- */

// What is called back with, as a promise; sqlite3 puts the code, which an error has, into the message, too.
function later(call) {
  return new Promise((resolve, reject) =>
    call((error, value) => {
      if (error) error.message = error.message.replace(/^SQLITE_[A-Z]+: /, "");
      return error ? reject(error) : resolve(value);
    })
  );
}

class AsynchronousConnection {
  constructor(db, isOwned, isNested = false) {
    this.db = db;
    this.isNested = isNested; // in a transaction of the caller
    this.isOwned = isOwned;
    this.statements = new Map();
    this.last = Promise.resolve();
  }

  // One after the other, for the statements of one connection are in one transaction.
  run(work, ...args) {
    const result = this.last.then(() => this.runNow(work(this, ...args))).catch((error) => {
      throw told(error);
    });
    this.last = result.catch(() => {});
    return result;
  }

  isInTransaction() {
    return this.isNested;
  }

  async runNow(steps) {
    let step = steps.next();
    while (!step.done) {
      let answer;
      try {
        answer = await step.value;
      } catch (error) {
        step = steps.throw(error);
        continue;
      }
      step = steps.next(answer);
    }
    return step.value;
  }

  async prepare(sql) {
    let statement = this.statements.get(sql);
    if (!statement) {
      await later((done) => (statement = this.db.prepare(sql, done)));
      this.statements.set(sql, statement);
    }
    return statement;
  }

  async all(sql, ...values) {
    const statement = await this.prepare(sql);
    return later((done) => statement.all(...named(values, ":"), done));
  }

  exec(sql) {
    return later((done) => this.db.exec(sql, done));
  }

  async cursor(sql, ...values) {
    const statement = await this.prepare(sql);
    await later((done) => statement.bind(...named(values, ":"), done));
    return {
      next: () => later((done) => statement.get(done)),
      close: () => later((done) => statement.reset(() => done())),
    };
  }

  // A connection with statements does not close.
  async close() {
    for (const statement of this.statements.values()) await later((done) => statement.finalize(() => done()));
    this.statements.clear();
    if (this.isOwned) await later((done) => this.db.close(done));
  }
}

/* ---- connecting ------------------------------------------------------------------------------ */

// BEGIN fails in a transaction of the caller, and changes nothing else.
async function isInTransaction(db) {
  try {
    await later((done) => db.exec("BEGIN; COMMIT", done));
    return false;
  } catch (error) {
    if (/within a transaction/.test(error.message)) return true;
    throw error;
  }
}

// A merge lets a row without its parent wait, or not, as the program has it.
async function openBeside(db, file) {
  let beside;
  const { foreign_keys } = await later((done) => db.get("PRAGMA foreign_keys", done));
  await later((done) => (beside = new db.constructor(file, done)));
  await load(beside);
  beside.configure("busyTimeout", BUSY);
  await later((done) => beside.exec(`PRAGMA foreign_keys = ${foreign_keys}`, done));
  return beside;
}

async function connectLater(db) {
  const { file } = await later((done) => db.get("SELECT file FROM pragma_database_list WHERE name = 'main'", done));
  if (await isInTransaction(db)) return new AsynchronousConnection(db, false, true);
  if (!file) return new AsynchronousConnection(db, false);
  return new AsynchronousConnection(await openBeside(db, file), true);
}

const OPENERS = {
  "better-sqlite3": (Database, path) => new Database(path),
  "node:sqlite": ({ DatabaseSync }, path) => new DatabaseSync(path, { allowExtension: true }),
};

// SQLite would make an empty one.
function checkFile(path) {
  if (!fs.existsSync(path)) throw new SyncError(`${path}: there is no such file`, { file: path });
}

// Opens a file by a driver that is there, and made for this version of Node.
function open(path) {
  checkFile(path);
  for (const [name, opener] of Object.entries(OPENERS)) {
    let db;
    try {
      db = opener(require(name), path);
    } catch (error) {
      if (/MODULE|DLOPEN/.test(error.code)) continue;
      throw error;
    }
    load(db);
    db.exec(`PRAGMA busy_timeout = ${BUSY}; PRAGMA foreign_keys = ON`);
    return new SynchronousConnection(db, true);
  }
  throw new TypeError(
    "sqlite-counter: no driver was found that opens a path, better-sqlite3 or node:sqlite; open the database and give that"
  );
}

// The caller closes the connection; the database that was given stays open.
async function connect(db) {
  if (typeof db === "string") return open(db);
  const plain = typeof db?.getDatabaseInstance === "function" ? db.getDatabaseInstance() : db; // the package `sqlite`
  if (typeof plain?.parallelize === "function") return connectLater(plain);
  if (typeof plain?.prepare === "function" && typeof plain.exec === "function") return new SynchronousConnection(plain);
  throw new TypeError(
    `sqlite-counter: this ${db?.constructor?.name ?? typeof db} is no database; give a Database of better-sqlite3 or sqlite3, ` +
      "or a DatabaseSync of node:sqlite"
  );
}

// Runs `work(connection)`, and closes the connection.
async function withConnection(db, work) {
  const connection = await connect(db);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/* ---- transactions ---------------------------------------------------------------------------- */

const NESTED = "sqlite_counter_batch";

// All that `work`, a generator, does, or nothing; within a transaction of the caller by a savepoint.
function* inTransaction(connection, work) {
  let [commit, rollback] = ["COMMIT", "ROLLBACK"];
  try {
    yield connection.exec("BEGIN IMMEDIATE");
  } catch (error) {
    if (!/within a transaction/.test(error.message)) throw error;
    yield connection.exec(`SAVEPOINT ${NESTED}`);
    [commit, rollback] = [`RELEASE ${NESTED}`, `ROLLBACK TO ${NESTED}; RELEASE ${NESTED}`];
  }
  try {
    const result = yield* work();
    yield connection.exec(commit);
    return result;
  } catch (error) {
    try {
      yield connection.exec(rollback);
    } catch (_) {
      // SQLite has rolled back by itself
    }
    throw error;
  }
}

// By each driver's own way to say it.
const isLocked = (error) => /^SQLITE_(BUSY|LOCKED)/.test(error?.code) || /database (table )?is locked/.test(error?.message);

const isTooBig = (error) => error?.code === "SQLITE_TOOBIG" || error?.errcode === 18;

// What is wrong with this file or its disk, whatever was merged into it.
const OURS = /^SQLITE_(?:BUSY|LOCKED|NOMEM|READONLY|INTERRUPT|IOERR|CORRUPT|FULL|CANTOPEN|PROTOCOL|NOTADB)/;
const OUR_CODES = [5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 26];
const OUR_WORDS = /database or disk is full|disk I\/O error|readonly database|out of memory|database disk image is malformed/;
const isOurs = (error) =>
  Boolean(error) &&
  (isLocked(error) ||
    OURS.test(error.code) ||
    OUR_CODES.includes(error.errcode & 0xff) ||
    OUR_WORDS.test(error.message) ||
    isOurs(error.cause));

module.exports = { checkFile, connect, inTransaction, isLocked, isOurs, isTooBig, withConnection };
