// index.mjs - databases with counters that merge, in a page: SQLite and sqlite-counter in a worker.
import { SqliteError } from './database.mjs';
import { sync, SyncError } from './http.mjs';
import { serve } from './worker.mjs';

export { SqliteError, SyncError };

const WORKER = 'sqlite-counter';

// The same module is the worker's.
if (typeof WorkerGlobalScope !== 'undefined' && self instanceof WorkerGlobalScope && self.name === WORKER) serve(self);

/** Calls the worker; answers come in order. */
class Line {
  #worker;
  #waiting = new Map();
  #last = 0;
  #broken;

  constructor() {
    if (typeof Worker === 'undefined') throw new Error('open: this browser has no workers, in which SQLite runs');
    this.#worker = new Worker(new URL(import.meta.url), { type: 'module', name: WORKER });
    this.#worker.onmessage = ({ data: { id, result, error } }) => {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) reject(error.code === undefined ? Object.assign(new Error(error.message), { name: error.name }) : new SqliteError(error.message, error.code));
      else resolve(result);
    };
    this.#worker.onerror = (event) => this.#break(`the worker of sqlite-counter has ended: ${event.message ?? 'it could not be loaded'}`);
  }

  #break(why) {
    this.#broken = new Error(why);
    for (const { reject } of this.#waiting.values()) reject(this.#broken);
    this.#waiting.clear();
  }

  call(method, ...args) {
    if (this.#broken) return Promise.reject(this.#broken);
    return new Promise((resolve, reject) => {
      this.#waiting.set(++this.#last, { resolve, reject });
      this.#worker.postMessage({ id: this.#last, method, args });
    });
  }

  end() {
    this.#worker.terminate();
    this.#break('the database has been closed');
  }
}

class Statement {
  #call;
  #id;

  constructor(call, id) {
    this.#call = call;
    this.#id = id;
  }

  all(params = []) {
    return this.#call('all', this.#id, params);
  }

  async get(params = []) {
    return (await this.all(params))[0];
  }

  run(params = []) {
    return this.#call('run', this.#id, params);
  }

  finalize() {
    return this.#call('finalize', this.#id);
  }
}

/** What runs statements: a database, and a transaction. */
class Runner {
  #call;

  constructor(call) {
    this.#call = call;
  }

  exec(sql, params = []) {
    return this.#call('exec', sql, params);
  }

  async prepare(sql) {
    return new Statement(this.#call, await this.#call('prepare', sql));
  }
}

class Database extends Runner {
  #line;
  #call;
  #alone;

  constructor(line, storage) {
    let last = Promise.resolve();
    const alone = (work) => {
      const done = last.then(work);
      last = done.catch(() => {});
      return done;
    };
    const call = (method, ...args) => alone(() => line.call(method, ...args));
    super(call);
    this.#line = line;
    this.#call = call;
    this.#alone = alone;
    this.storage = storage;
  }

  transaction(work) {
    return this.#alone(async () => {
      const call = (method, ...args) => this.#line.call(method, ...args);
      await call('exec', 'BEGIN IMMEDIATE', []);
      try {
        const result = await work(new Runner(call));
        await call('exec', 'COMMIT', []);
        return result;
      } catch (error) {
        await call('rollback').catch(() => {});
        throw error;
      }
    });
  }

  export() {
    return this.#call('export');
  }

  import(bytes) {
    return this.#call('import', bytes);
  }

  changes(since = 0, { own = false, scope } = {}) {
    return this.#call('changes', since, { own, scope });
  }

  apply(lines) {
    return this.#call('apply', lines);
  }

  mark(source, scope) {
    return this.#call('mark', source, scope);
  }

  sync(url, token, which) {
    return sync(this.#call, url, token, which);
  }

  async close() {
    await this.#call('close');
    this.#line.end();
  }
}

export async function open(name, { storage, wasm } = {}) {
  const line = new Line();
  try {
    const file = new URL(wasm ?? new URL('./sqlite-counter.wasm', import.meta.url), globalThis.location?.href).href;
    const opened = await line.call('open', { name, storage, wasm: file });
    return new Database(line, opened.storage);
  } catch (error) {
    line.end();
    throw error;
  }
}
