// storage.mjs - the bytes of files: in memory, in OPFS, or in IndexedDB.
//
// A storage has the files of one database: the database, its journal, and its record, which stands
// beside the bytes and is the file's identity (a random number, and the attribute). It has
//
//     acquire()        before a turn: what other tabs have done is seen. True if they may have
//     persist()        what was written in the turn is durable; throws if it cannot be, and then
//                      nothing of the turn was kept
//     release()        after a turn
//     remove()         the database is gone
//     file(path)       its bytes: read, write, truncate, size, flush; undefined: not of this storage
//     number, attribute, forget

export const MEMORY = 'memory', OPFS = 'opfs', INDEXEDDB = 'indexeddb';

const BLOCK = 4096; // A page of SQLite's: what is written is what is kept.

/** Bytes in memory, in blocks; which of them were written since `clean` is remembered. */
export class Bytes {
  blocks = [];
  length = 0;
  dirty = new Set();

  #block(i) {
    this.blocks[i] ??= new Uint8Array(BLOCK);
    return this.blocks[i];
  }

  #each(n, at, visit) {
    for (let done = 0; done < n;) {
      const i = Math.floor((at + done) / BLOCK), from = (at + done) % BLOCK;
      const part = Math.min(BLOCK - from, n - done);
      visit(i, from, part, done);
      done += part;
    }
  }

  read(to, at) {
    const n = Math.max(0, Math.min(to.length, this.length - at));
    this.#each(n, at, (i, from, part, done) =>
      to.set(this.#block(i).subarray(from, from + part), done));
    return n;
  }

  write(bytes, at) {
    this.#each(bytes.length, at, (i, from, part, done) => {
      this.#block(i).set(bytes.subarray(done, done + part), from);
      this.dirty.add(i);
    });
    this.length = Math.max(this.length, at + bytes.length);
  }

  truncate(size) {
    if (size < this.length) {
      const keep = Math.ceil(size / BLOCK), from = size % BLOCK;
      this.blocks.length = Math.min(this.blocks.length, keep);
      if (from && this.blocks[keep - 1]) this.blocks[keep - 1].fill(0, from);
      for (let i = Math.max(0, keep - 1); i * BLOCK < this.length; i++) this.dirty.add(i);
    }
    this.length = size;
  }

  size() {
    return this.length;
  }

  flush() {}
}

const RANDOM_SIZE = 16;

/** The record: a number, and the attribute if there is one. */
class Record {
  bytes = null;

  number() {
    this.bytes ??= crypto.getRandomValues(new Uint8Array(RANDOM_SIZE));
    return this.bytes.subarray(0, RANDOM_SIZE);
  }

  attribute() {
    return this.bytes && this.bytes.length > RANDOM_SIZE ? this.bytes.subarray(RANDOM_SIZE) : null;
  }

  setAttribute(value) {
    const whole = new Uint8Array(RANDOM_SIZE + value.length);
    whole.set(this.number());
    whole.set(value, RANDOM_SIZE);
    this.bytes = whole;
  }
}

/** Any number of files, which are gone with the page. */
export class MemoryStorage {
  kind = MEMORY;
  #files = new Map();
  #records = new Map();

  async acquire() {
    return false;
  }

  async persist() {}

  async release() {}

  async remove() {
    this.clear();
  }

  clear() {
    this.#files.clear();
    this.#records.clear();
  }

  file(path, creates) {
    if (creates && !this.#files.has(path)) this.#files.set(path, new Bytes());
    return this.#files.get(path);
  }

  unlink(path) {
    this.#records.delete(path);
    return this.#files.delete(path);
  }

  record(path) {
    if (!this.#files.has(path)) return undefined;
    if (!this.#records.has(path)) this.#records.set(path, new Record());
    return this.#records.get(path);
  }

  forget(path) {
    this.#records.delete(path);
  }
}

// ---- OPFS ----------------------------------------------------------------------------------------

/** A file of the origin's private file system, open for the length of a turn. */
class Handle {
  constructor(access) {
    this.access = access;
  }

  read(to, at) {
    return this.access.read(to, { at });
  }

  write(bytes, at) {
    const n = this.access.write(bytes, { at });
    if (n !== bytes.length) throw new DOMException('there is no room', 'QuotaExceededError');
  }

  truncate(size) {
    this.access.truncate(size);
  }

  size() {
    return this.access.getSize();
  }

  flush() {
    this.access.flush();
  }
}

/** The record as a file. It need not be flushed: what it says is older than the database then, or torn, and a
 * file with another record than it had takes a new id. */
class FileRecord extends Record {
  constructor(handle) {
    super();
    this.handle = handle;
    const size = handle.size();
    if (size < RANDOM_SIZE) return;
    this.bytes = new Uint8Array(size);
    handle.read(this.bytes, 0);
  }

  #keep() {
    if (this.handle.size() !== this.bytes.length) this.handle.truncate(this.bytes.length);
    this.handle.write(this.bytes, 0);
  }

  number() {
    const is_new = !this.bytes, number = super.number();
    if (is_new) this.#keep();
    return number;
  }

  setAttribute(value) {
    super.setAttribute(value);
    this.#keep();
  }
}

const SUFFIXES = ['', '-journal', '-record'];

export class OpfsStorage {
  kind = OPFS;
  #files = new Map();
  #scratch = new MemoryStorage();
  #record;

  constructor(name) {
    this.name = name;
  }

  static async isThere() {
    try {
      const root = await navigator.storage.getDirectory();
      const name = `.sqlite-counter-${crypto.randomUUID()}`;
      const file = await root.getFileHandle(name, { create: true });
      const access = await file.createSyncAccessHandle();
      access.close();
      await root.removeEntry(name);
      return true;
    } catch (error) {
      return error?.name === 'QuotaExceededError';
    }
  }

  static async has(name) {
    try {
      const root = await navigator.storage.getDirectory();
      const folder = await root.getDirectoryHandle('sqlite-counter');
      const file = await folder.getFileHandle(encodeURIComponent(name));
      return (await file.getFile()).size > 0;
    } catch {
      return false;
    }
  }

  async #folder() {
    const root = await navigator.storage.getDirectory();
    return root.getDirectoryHandle('sqlite-counter', { create: true });
  }

  async acquire() {
    const folder = await this.#folder(), files = encodeURIComponent(this.name);
    try {
      for (const suffix of SUFFIXES) {
        const file = await folder.getFileHandle(files + suffix, { create: true });
        this.#files.set(this.name + suffix, new Handle(await file.createSyncAccessHandle()));
      }
    } catch (error) {
      await this.release();
      throw error;
    }
    this.#record = new FileRecord(this.#files.get(`${this.name}-record`));
    return true;
  }

  async persist() {}

  async release() {
    for (const handle of this.#files.values()) handle.access.close();
    this.#files.clear();
    this.#record = undefined;
  }

  async remove() {
    const folder = await this.#folder(), files = encodeURIComponent(this.name);
    for (const suffix of [...SUFFIXES].reverse()) await folder.removeEntry(files + suffix).catch(() => {});
  }

  file(path, creates) {
    return this.#files.get(path) ?? this.#scratch.file(path, creates);
  }

  // An empty journal is as good as none, to SQLite and after a crash.
  unlink(path) {
    const handle = this.#files.get(path);
    if (!handle) return this.#scratch.unlink(path);
    handle.truncate(0);
    handle.flush();
    return true;
  }

  record(path) {
    return path === this.name ? this.#record : this.#scratch.record(path);
  }

  forget() {
    const handle = this.#files.get(`${this.name}-record`);
    handle.truncate(0);
    handle.flush();
    this.#record = new FileRecord(handle);
  }
}

// ---- IndexedDB -----------------------------------------------------------------------------------

const asked = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

const completed = (transaction) => new Promise((resolve, reject) => {
  transaction.oncomplete = () => resolve();
  transaction.onabort = () => reject(transaction.error ?? new Error('IndexedDB aborted'));
});

/** The whole file in memory; one IndexedDB transaction takes over what a turn has written. */
export class IndexedDbStorage {
  kind = INDEXEDDB;
  #scratch = new MemoryStorage();
  #bytes = new Bytes();
  #record = new Record();
  #version = -1;
  #database;
  #kept = '';

  constructor(name) {
    this.name = name;
  }

  static async isThere() {
    try {
      const database = await IndexedDbStorage.#open();
      database.close();
      return true;
    } catch {
      return false;
    }
  }

  static async has(name) {
    const database = await IndexedDbStorage.#open();
    try {
      return await asked(database.transaction('files').objectStore('files').count(name)) > 0;
    } finally {
      database.close();
    }
  }

  static #open() {
    const request = indexedDB.open('sqlite-counter', 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore('files');
      request.result.createObjectStore('blocks');
    };
    return asked(request);
  }

  // Stays open, until the browser closes it or somebody wants to delete it.
  async #connect() {
    if (this.#database) return this.#database;
    this.#database = await IndexedDbStorage.#open();
    this.#database.onclose = () => { this.#database = undefined; };
    this.#database.onversionchange = () => {
      this.#database?.close();
      this.#database = undefined;
    };
    return this.#database;
  }

  async #in(mode, work) {
    const transaction = (await this.#connect()).transaction(['files', 'blocks'], mode, { durability: 'strict' });
    const done = completed(transaction);
    done.catch(() => {});
    try {
      const result = await work(transaction.objectStore('files'), transaction.objectStore('blocks'));
      await done;
      return result;
    } catch (error) {
      try {
        transaction.abort(); // What was asked for before the error must not be kept without the rest.
      } catch { /* It has ended. */ }
      throw error;
    }
  }

  #all() {
    return IDBKeyRange.bound([this.name], [this.name, []]);
  }

  async acquire() {
    return this.#in('readonly', async (files, blocks) => {
      const file = await asked(files.get(this.name));
      if ((file?.version ?? 0) === this.#version) return false;
      this.#version = file?.version ?? 0;
      this.#bytes = new Bytes();
      this.#record = new Record();
      if (!file) return true;
      const [keys, values] = await Promise.all([asked(blocks.getAllKeys(this.#all())), asked(blocks.getAll(this.#all()))]);
      keys.forEach(([, i], at) => { this.#bytes.blocks[i] = values[at]; });
      this.#bytes.length = file.size;
      this.#record.bytes = file.record;
      this.#kept = String(file.record);
      return true;
    });
  }

  async persist() {
    const dirty = this.#bytes.dirty;
    if (!dirty.size && String(this.#record.bytes) === this.#kept) return;
    try {
      await this.#in('readwrite', async (files, blocks) => {
        const file = { version: this.#version + 1, size: this.#bytes.length, record: this.#record.bytes };
        files.put(file, this.name);
        for (const i of dirty) {
          if (i * BLOCK < this.#bytes.length) blocks.put(this.#bytes.blocks[i] ?? new Uint8Array(BLOCK), [this.name, i]);
          else blocks.delete([this.name, i]);
        }
      });
    } catch (error) {
      this.#version = -1;
      throw error;
    }
    this.#version++;
    this.#kept = String(this.#record.bytes);
    dirty.clear();
  }

  async release() {}

  async remove() {
    await this.#in('readwrite', async (files, blocks) => {
      files.delete(this.name);
      blocks.delete(this.#all());
    });
    this.#version = -1;
  }

  file(path, creates) {
    return path === this.name ? this.#bytes : this.#scratch.file(path, creates);
  }

  unlink(path) {
    return this.#scratch.unlink(path);
  }

  record(path) {
    return path === this.name ? this.#record : this.#scratch.record(path);
  }

  forget() {
    this.#record = new Record();
  }
}

// ---- what the module imports ---------------------------------------------------------------------

const OPEN_CREATE = 4, OPEN_DELETEONCLOSE = 8, OPEN_MAIN_DB = 0x100;
const CANTOPEN = 14, FULL = 13, IOERR_READ = 266, IOERR_WRITE = 778, IOERR_FSYNC = 1034, IOERR_TRUNCATE = 1546;
const ENOENT = 44, EIO = 29, ERANGE = 68; // emscripten's

/** The functions of the module `storage` for vfs.c; `memory()` is the module's memory now. */
export function importsOf(storage, memory) {
  const files = [], errors = [];
  const bytes = (at, n) => new Uint8Array(memory(), at, n);
  const text = (at) => {
    const all = new Uint8Array(memory(), at);
    return new TextDecoder().decode(all.subarray(0, all.indexOf(0)));
  };
  const tried = (code, work) => {
    try {
      work();
      return 0;
    } catch (error) {
      errors.push(error);
      return error?.name === 'QuotaExceededError' ? FULL : code;
    }
  };
  const isForeign = (path, flags) => storage.kind !== MEMORY && flags & OPEN_MAIN_DB && path !== storage.name;
  return {
    /** Takes the last error of the storage that SQLite has told by a number. */
    lastError: () => errors.splice(0).pop(),

    functions: {
      open(at, flags) {
        const path = at ? text(at) : null;
        if (path && isForeign(path, flags)) return -CANTOPEN;
        const file = path ? storage.file(path, flags & OPEN_CREATE) : new Bytes();
        if (!file) return -CANTOPEN;
        let i = files.indexOf(undefined);
        if (i < 0) i = files.length;
        files[i] = { path, removes: flags & OPEN_DELETEONCLOSE, own: path ? null : file };
        return i;
      },
      close(i) {
        const { path, removes } = files[i];
        files[i] = undefined;
        return path && removes ? tried(IOERR_WRITE, () => storage.unlink(path)) : 0;
      },
      read(i, to, n, at) {
        let got = -1;
        tried(IOERR_READ, () => { got = of(i).read(bytes(to, n), at); });
        return got;
      },
      write: (i, from, n, at) => tried(IOERR_WRITE, () => of(i).write(bytes(from, n), at)),
      truncate: (i, size) => tried(IOERR_TRUNCATE, () => of(i).truncate(size)),
      size: (i) => of(i).size(),
      sync: (i) => tried(IOERR_FSYNC, () => of(i).flush()),
      remove: (path) => tried(IOERR_WRITE, () => storage.unlink(text(path))),
      exists(path) {
        const file = storage.file(text(path));
        return Number(file !== undefined && (storage.kind === MEMORY || file.size() > 0));
      },
      number(path, to) {
        const record = storage.record(text(path));
        if (!record) return ENOENT;
        return tried(IOERR_READ, () => bytes(to, RANDOM_SIZE).set(record.number())) && EIO;
      },
      get(path, to, size) {
        const value = storage.record(text(path))?.attribute();
        if (!value) return -ENOENT;
        if (value.length > size) return -ERANGE;
        bytes(to, value.length).set(value);
        return value.length;
      },
      set(path, from, size) {
        tried(IOERR_WRITE, () => storage.record(text(path))?.setAttribute(bytes(from, size).slice()));
      },
      random(to, n) {
        crypto.getRandomValues(bytes(to, n));
      },
      now: () => Date.now(),
    },
  };

  // By its path each time: the handles of a turn are others than those of the turn before.
  function of(i) {
    const { path, own } = files[i];
    return own ?? storage.file(path, true);
  }
}
