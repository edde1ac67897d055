// worker.mjs - serves one database to the page that has started this worker.
//
// A turn is the time in which this worker alone has the file: a Web Lock. It ends when another tab
// asks for the file, between two calls and outside of a transaction, or with the worker. What a call
// answers is durable.
import { Database, Sqlite, SqliteError } from './database.mjs';
import { apply, changes, mark, run } from './lines.mjs';
import { INDEXEDDB, IndexedDbStorage, MEMORY, MemoryStorage, OPFS, OpfsStorage } from './storage.mjs';

const PLEASE = 'please';

async function chooseStorage(name, kind) {
  if (!isSecureContext && kind !== MEMORY) throw new Error(`open: ${name}: browsers keep files for https and for localhost alone, not for ${location.origin}`);
  switch (kind) {
    case MEMORY: return Object.assign(new MemoryStorage(), { name });
    case OPFS:
      if (!await OpfsStorage.isThere()) throw new Error(`open: ${name}: this browser has no OPFS with synchronous access, or refuses it here`);
      return new OpfsStorage(name);
    case INDEXEDDB:
      if (!await IndexedDbStorage.isThere()) throw new Error(`open: ${name}: this browser has no IndexedDB, or refuses it here`);
      return new IndexedDbStorage(name);
    case undefined: break;
    default: throw new RangeError(`open: ${name}: storage is 'opfs', 'indexeddb' or 'memory', not '${kind}'`);
  }
  // A file stays where it was made, whatever else there is room for now.
  if (await OpfsStorage.has(name)) return new OpfsStorage(name);
  const hasIndexedDb = await IndexedDbStorage.isThere();
  if (hasIndexedDb && await IndexedDbStorage.has(name)) return new IndexedDbStorage(name);
  if (await OpfsStorage.isThere()) return new OpfsStorage(name);
  if (hasIndexedDb) return new IndexedDbStorage(name);
  throw new Error(`open: ${name}: this browser keeps no files here, neither in OPFS nor in IndexedDB: what is counted would be lost`);
}

async function compile(wasm) {
  try {
    return await WebAssembly.compileStreaming(fetch(wasm));
  } catch (error) {
    throw new Error(`open: ${wasm} cannot be loaded: ${error.message}`);
  }
}

/** The turns of one name, among all tabs. */
class Turns {
  #name;
  #end;
  #asks;

  constructor(name, onWanted) {
    if (!navigator.locks) throw new Error(`open: ${name}: this browser has no Web Locks, and two tabs would write at once`);
    this.#name = `sqlite-counter:${name}`;
    this.#asks = new BroadcastChannel(this.#name);
    this.#asks.onmessage = onWanted;
  }

  begin() {
    return new Promise((granted, refused) => {
      const hold = () => new Promise((end) => {
        this.#end = end;
        granted();
      });
      const wait = () => {
        this.#asks.postMessage(PLEASE);
        return navigator.locks.request(this.#name, hold);
      };
      navigator.locks.request(this.#name, { ifAvailable: true }, (lock) => (lock ? hold() : wait)).then((next) => next?.()).catch(refused);
    });
  }

  end() {
    this.#end();
  }

  close() {
    this.#asks.close();
  }
}

class Server {
  #storage;
  #sqlite;
  #compiled;
  #database;
  #turns;
  #hasTurn = false;
  #isWanted = false;
  #isBusy = false;
  #statements = new Map();
  #lastStatement = 0;

  async open({ name, storage, wasm }) {
    if (typeof name !== 'string' || !name) throw new TypeError('open: a database has a name');
    this.#storage = await chooseStorage(name, storage);
    if (this.#storage.kind !== MEMORY) this.#turns = new Turns(name, () => this.#want());
    this.#compiled = await compile(wasm);
    await this.#takeTurn();
    return { storage: this.#storage.kind };
  }

  async #want() {
    this.#isWanted = true;
    if (!this.#isBusy) await this.#giveTurn();
  }

  async #takeTurn() {
    if (this.#hasTurn) return;
    await this.#turns?.begin();
    try {
      await this.#storage.acquire();
      this.#hasTurn = true;
      await this.#connect();
    } catch (error) {
      if (this.#hasTurn) await this.#storage.release();
      this.#hasTurn = false;
      this.#turns?.end();
      throw error;
    }
  }

  async #giveTurn() {
    if (!this.#turns || !this.#hasTurn || !this.#isWanted || this.#database?.isInTransaction()) return;
    this.#isWanted = false;
    this.#hasTurn = false;
    await this.#storage.release();
    this.#turns.end();
  }

  async #connect() {
    if (this.#database) return;
    this.#sqlite ??= await Sqlite.of(this.#compiled, this.#storage);
    this.#database = new Database(this.#sqlite, this.#storage.name);
  }

  #disconnect() {
    for (const one of this.#statements.values()) {
      one.statement?.finalize();
      one.statement = undefined;
    }
    this.#database?.close();
    this.#database = undefined;
  }

  // What could not be kept did not happen: SQLite must not remember it.
  async #persist() {
    if (this.#database?.isInTransaction()) return;
    try {
      await this.#storage.persist();
    } catch (error) {
      this.#disconnect();
      await this.#storage.acquire();
      await this.#connect();
      throw new SqliteError(`what was written could not be kept, and none of it was: ${error.message || error.name}`, 13);
    }
  }

  async call(method, args) {
    this.#isBusy = true;
    try {
      if (method === 'open') return await this.open(...args);
      await this.#takeTurn();
      let result;
      try {
        result = this[`do_${method}`](...args);
      } finally {
        await this.#persist();
      }
      return result;
    } finally {
      this.#isBusy = false;
      await this.#giveTurn();
    }
  }

  do_exec(sql, params) {
    return this.#database.exec(sql, params);
  }

  do_rollback() {
    if (this.#database.isInTransaction()) this.#database.exec('ROLLBACK');
  }

  do_prepare(sql) {
    this.#statements.set(++this.#lastStatement, { sql });
    this.#statement(this.#lastStatement);
    return this.#lastStatement;
  }

  #statement(id) {
    const one = this.#statements.get(id);
    if (!one) throw new Error('the statement has been finalized');
    if (!one.statement) {
      const { statement, tail } = this.#database.prepare(one.sql);
      one.statement = statement;
      if (!statement || tail.trim()) {
        this.do_finalize(id);
        throw new RangeError('prepare: takes one statement');
      }
    }
    return one.statement;
  }

  do_all(id, params) {
    return this.#statement(id).all(params);
  }

  do_run(id, params) {
    this.#statement(id).all(params);
    return this.#database.counts();
  }

  do_finalize(id) {
    this.#statements.get(id)?.statement?.finalize();
    this.#statements.delete(id);
  }

  do_export() {
    return this.#database.export();
  }

  do_import(bytes) {
    this.#database.import(bytes);
  }

  do_changes(since, which) {
    return changes(this.#database, since, which);
  }

  do_apply(lines) {
    return apply(this.#database, lines);
  }

  do_mark(source, scope) {
    return mark(this.#database, source, scope);
  }

  // What is not committed does not travel, and nobody waits for a network within a transaction.
  do_sync(step, ...args) {
    if (this.#database.isInTransaction()) throw new SqliteError('sync: a transaction is open: commit it before', 1);
    return run(this.#database, step, ...args);
  }

  do_close() {
    if (this.#database.isInTransaction()) this.#database.exec('ROLLBACK');
    this.#disconnect();
    this.#isWanted = true;
  }
}

/** Answers the messages of index.mjs, one after the other. */
export function serve(scope) {
  const server = new Server();
  let last = Promise.resolve();
  scope.onmessage = ({ data: { id, method, args } }) => {
    last = last.then(() => server.call(method, args)).then(
      (result) => scope.postMessage({ id, result }),
      (error) => scope.postMessage({ id, error: { message: error.message, name: error.name, code: error.code } }),
    );
  };
}
