// database.mjs - a connection to a database of a storage, through the functions of the module.
//
// Integers are numbers, or bigint beyond 2^53; BLOBs are Uint8Array. Everything here is synchronous:
// worker.mjs is where turns and waiting are.
import { importsOf } from './storage.mjs';

const ROW = 100, DONE = 101, OK = 0, NOTADB = 26;
const OPEN = 2 | 4; // SQLITE_OPEN_READWRITE, SQLITE_OPEN_CREATE
const INTEGER = 1, FLOAT = 2, TEXT = 3, BLOB = 4;
const TRANSIENT = -1;
const FREEONCLOSE = 1, RESIZEABLE = 2;
const ENOSYS = 52; // emscripten's

// What a module that stands alone asks of its host, beside the storage: random bytes. Its C library
// has streams, too, which nothing writes into.
export const hostOf = (memory) => ({
  env: {
    getentropy(to, n) {
      crypto.getRandomValues(new Uint8Array(memory(), to, n));
      return 0;
    },
    emscripten_notify_memory_growth() {},
  },
  wasi_snapshot_preview1: new Proxy({}, { get: () => () => ENOSYS }),
});

/** An error of SQLite; `code` is its extended result code. */
export class SqliteError extends Error {
  name = 'SqliteError';

  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

/** SQLite and the extension, with one storage. */
export class Sqlite {
  static async of(compiled, storage) {
    const sqlite = new Sqlite();
    const memory = () => sqlite.c.memory.buffer;
    const { functions, lastError } = importsOf(storage, memory);
    const instance = await WebAssembly.instantiate(compiled, { storage: functions, ...hostOf(memory) });
    sqlite.c = instance.exports;
    sqlite.storage = storage;
    sqlite.storageError = lastError;
    sqlite.c._initialize?.();
    return sqlite;
  }

  bytes(at, n) {
    return new Uint8Array(this.c.memory.buffer, at, n);
  }

  text(at) {
    if (!at) return null;
    const all = new Uint8Array(this.c.memory.buffer, at);
    return new TextDecoder().decode(all.subarray(0, all.indexOf(0)));
  }

  /** Memory of SQLite's with these bytes and a 0 behind them. */
  give(bytes) {
    const at = this.c.sqlite3_malloc64(BigInt(bytes.length + 1));
    if (!at) throw new SqliteError('out of memory', 7);
    const to = this.bytes(at, bytes.length + 1);
    to.set(bytes);
    to[bytes.length] = 0;
    return at;
  }

  /** Calls `work` with the address of a text or bytes, and frees that after it. */
  with(value, work) {
    const at = this.give(typeof value === 'string' ? new TextEncoder().encode(value) : value);
    try {
      return work(at);
    } finally {
      this.c.sqlite3_free(at);
    }
  }

  /** What `work` has put where a pointer stands. */
  pointer(work) {
    return this.with(new Uint8Array(8), (at) => {
      const result = work(at);
      return [new DataView(this.c.memory.buffer).getUint32(at, true), result];
    });
  }
}

class Statement {
  constructor(database, at, tail) {
    this.database = database;
    this.at = at;
    this.tail = tail;
  }

  #bindOne(i, value) {
    const { sqlite } = this.database, { c } = sqlite;
    switch (typeof value) {
      case 'undefined': return c.sqlite3_bind_null(this.at, i);
      case 'boolean': return c.sqlite3_bind_int64(this.at, i, BigInt(value));
      case 'bigint': {
        if (BigInt.asIntN(64, value) !== value) throw new RangeError(`parameter ${i}: ${value} leaves the range of a 64-bit integer`);
        return c.sqlite3_bind_int64(this.at, i, value);
      }
      case 'number':
        if (Number.isSafeInteger(value)) return c.sqlite3_bind_int64(this.at, i, BigInt(value));
        return c.sqlite3_bind_double(this.at, i, value);
      case 'string': {
        const bytes = new TextEncoder().encode(value);
        return sqlite.with(bytes, (at) => c.sqlite3_bind_text(this.at, i, at, bytes.length, TRANSIENT));
      }
    }
    if (value === null) return c.sqlite3_bind_null(this.at, i);
    if (value instanceof Uint8Array) return sqlite.with(value, (at) => c.sqlite3_bind_blob(this.at, i, at, value.length, TRANSIENT));
    throw new TypeError(`parameter ${i}: ${Object.prototype.toString.call(value)} is no value of SQL`);
  }

  /** An array for ?, an object for :name, @name and $name. */
  bind(params) {
    const { sqlite } = this.database, { c } = sqlite;
    const n = c.sqlite3_bind_parameter_count(this.at);
    const isNamed = !Array.isArray(params);
    if (!isNamed && params.length !== n) throw new RangeError(`the statement has ${n} parameters, ${params.length} were given`);
    for (let i = 1; i <= n; i++) {
      let value = params[i - 1];
      if (isNamed) {
        const name = sqlite.text(c.sqlite3_bind_parameter_name(this.at, i));
        const key = name === null ? undefined : [name, name.slice(1)].find((one) => Object.hasOwn(params, one));
        if (key === undefined) throw new RangeError(`parameter ${name ?? i} was not given`);
        value = params[key];
      }
      if (this.#bindOne(i, value) !== OK) throw this.database.error();
    }
  }

  #value(i) {
    const { sqlite } = this.database, { c } = sqlite;
    switch (c.sqlite3_column_type(this.at, i)) {
      case INTEGER: {
        const value = c.sqlite3_column_int64(this.at, i), short = Number(value);
        return Number.isSafeInteger(short) ? short : value;
      }
      case FLOAT: return c.sqlite3_column_double(this.at, i);
      case TEXT: {
        const at = c.sqlite3_column_text(this.at, i);
        return new TextDecoder().decode(sqlite.bytes(at, c.sqlite3_column_bytes(this.at, i)));
      }
      case BLOB: {
        const at = c.sqlite3_column_blob(this.at, i);
        return sqlite.bytes(at, c.sqlite3_column_bytes(this.at, i)).slice();
      }
    }
    return null;
  }

  /** Rows as objects, one after the other. */
  *rows(params = []) {
    const { sqlite } = this.database, { c } = sqlite;
    try {
      this.bind(params);
      let rc;
      for (let names; (rc = c.sqlite3_step(this.at)) === ROW;) {
        names ??= Array.from({ length: c.sqlite3_column_count(this.at) }, (_, i) => sqlite.text(c.sqlite3_column_name(this.at, i)));
        yield Object.fromEntries(names.map((name, i) => [name, this.#value(i)]));
      }
      if (rc !== DONE) throw this.database.error();
    } finally {
      c.sqlite3_reset(this.at);
      c.sqlite3_clear_bindings(this.at);
    }
  }

  /** All rows. The statement can be run again. */
  all(params) {
    return [...this.rows(params)];
  }

  finalize() {
    this.database.sqlite.c.sqlite3_finalize(this.at);
    this.at = 0;
  }
}

export class Database {
  constructor(sqlite, path) {
    this.sqlite = sqlite;
    const { c } = sqlite;
    const [at, rc] = sqlite.with(path, (name) => sqlite.pointer((to) => c.sqlite3_open_v2(name, to, OPEN, 0)));
    this.at = at;
    const failed = rc !== OK || c.sqlite3_counter_init(at, 0, 0) !== OK;
    if (failed) {
      const error = this.error();
      this.close();
      throw error;
    }
    c.sqlite3_extended_result_codes(at, 1);
  }

  close() {
    this.sqlite.c.sqlite3_close_v2(this.at);
    this.at = 0;
  }

  /** The last error; where the storage has failed, in its words. */
  error() {
    const { c } = this.sqlite;
    const below = this.sqlite.storageError();
    const message = this.sqlite.text(c.sqlite3_errmsg(this.at));
    return new SqliteError(below ? `${message}: ${below.message}` : message, c.sqlite3_extended_errcode(this.at));
  }

  /** Of the last statement that wrote, as better-sqlite3's run() answers. */
  counts() {
    const { c } = this.sqlite;
    const short = (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value);
    return { changes: short(c.sqlite3_changes64(this.at)), lastInsertRowid: short(c.sqlite3_last_insert_rowid(this.at)) };
  }

  isInTransaction() {
    return !this.sqlite.c.sqlite3_get_autocommit(this.at);
  }

  /** The first statement of a text; undefined if there is none, such as in a comment. */
  prepare(sql) {
    const { sqlite } = this, { c } = sqlite;
    const bytes = new TextEncoder().encode(sql);
    return sqlite.with(bytes, (text) => {
      let tail;
      const [at, rc] = sqlite.pointer((to) => {
        const [end, code] = sqlite.pointer((toEnd) => c.sqlite3_prepare_v2(this.at, text, bytes.length + 1, to, toEnd));
        tail = new TextDecoder().decode(bytes.subarray(end - text));
        return code;
      });
      if (rc !== OK) throw this.error();
      return { statement: at ? new Statement(this, at) : undefined, tail };
    });
  }

  /** Runs all statements of a text; the rows of the last one. Parameters are those of the only one. */
  exec(sql, params = []) {
    const hasParams = !Array.isArray(params) || params.length > 0;
    let rows = [];
    for (let rest = sql; rest.trim();) {
      const { statement, tail } = this.prepare(rest);
      rest = tail;
      if (!statement) continue;
      try {
        if (hasParams && tail.trim()) throw new RangeError('parameters are for one statement, the text has several');
        rows = statement.all(params);
      } finally {
        statement.finalize();
      }
    }
    return rows;
  }

  export() {
    const { sqlite } = this, { c } = sqlite;
    return sqlite.with('main', (name) => sqlite.with(new Uint8Array(8), (size) => {
      const at = c.sqlite3_serialize(this.at, name, size, 0);
      const n = Number(new DataView(c.memory.buffer).getBigInt64(size, true));
      if (!at && n > 0) throw new SqliteError('out of memory', 7);
      const bytes = sqlite.bytes(at, at ? n : 0).slice();
      c.sqlite3_free(at);
      return bytes;
    }));
  }

  /** Takes the place of all that is in the file, in one transaction; the file is another one then. */
  import(bytes) {
    const { sqlite } = this, { c } = sqlite;
    if (!(bytes instanceof Uint8Array)) throw new TypeError('import: takes the bytes of a database, a Uint8Array');
    const given = new Database(sqlite, ':memory:');
    try {
      given.#become(bytes);
      sqlite.storage.forget(sqlite.storage.name);
      sqlite.with('main', (name) => {
        const copy = c.sqlite3_backup_init(this.at, name, given.at, name);
        if (!copy) throw this.error();
        c.sqlite3_backup_step(copy, -1);
        if (c.sqlite3_backup_finish(copy) !== OK) throw this.error();
      });
    } finally {
      given.close();
    }
  }

  // SQLite owns the bytes after the call, and frees them when that fails, too.
  #become(bytes) {
    const { sqlite } = this, { c } = sqlite;
    const size = BigInt(bytes.length), at = sqlite.give(bytes);
    const rc = sqlite.with('main', (name) => c.sqlite3_deserialize(this.at, name, at, size, size, FREEONCLOSE | RESIZEABLE));
    if (rc !== OK) throw this.error();
    try {
      if (!bytes.length) throw new SqliteError('there are no bytes', NOTADB);
      this.exec('SELECT count(*) FROM sqlite_schema');
      if (this.exec("SELECT 1 FROM sqlite_schema WHERE name = 'counter_replica'").length) this.exec('SELECT counter_id()');
    } catch (error) {
      throw new SqliteError(`import: these bytes cannot be used: ${error.message}`, error.code);
    }
  }
}
