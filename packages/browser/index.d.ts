/** Databases with counters that merge, in a page: SQLite and sqlite-counter in a worker. */

/** An integer beyond 2^53 is a bigint, both ways; a BLOB is a Uint8Array. */
export type Value = null | number | bigint | string | Uint8Array;
export type Row = Record<string, Value>;

/** An array for `?`, an object for `:name`, `@name` and `$name`. */
export type Params = (Value | boolean | undefined)[] | Record<string, Value | boolean | undefined>;

/** `code` is SQLite's extended result code. */
export class SqliteError extends Error {
  code: number;
}

export interface Statement {
  all<T = Row>(params?: Params): Promise<T[]>;
  get<T = Row>(params?: Params): Promise<T | undefined>;
  run(params?: Params): Promise<{ changes: number | bigint; lastInsertRowid: number | bigint }>;
  finalize(): Promise<void>;
}

export interface Transaction {
  /** Runs all statements of the text; the rows of the last one. Parameters are for a single statement. */
  exec<T = Row>(sql: string, params?: Params): Promise<T[]>;
  prepare(sql: string): Promise<Statement>;
}

export interface SyncOptions {
  /** Takes only rows whose keys begin with these values, such as ["store 7"]; what this file has counted is given whole. */
  scope?: (string | number | bigint)[] | string;
}

export interface Synced {
  /** How many changes were uploaded, and merged here; of a server also those that it has from here. */
  gave: number;
  took: number;
  /** Shards that the server did not take, because their ids are those of another device. */
  skipped: number;
  /** That the server takes nothing of this file, because its id is bound to another token. Then what `counter_warnings` tells: a
   *  column that does not travel yet, many rows that the sync has deleted, conflicts, a clock that is ahead. */
  warnings: ({ url: string; message: string } | { table: string; message: string })[];
  /** How many rows of this file are apart now: a constraint refuses them, and counter_tracked lists them. */
  apart: number;
}

/** A sync that failed. Nothing is half done: the next call goes on. */
export class SyncError extends Error {
  readonly name: 'SyncError';
  readonly url?: string;
  /** The status of the server's answer. */
  readonly status?: number;
  readonly cause?: unknown;
}

export interface Database extends Transaction {
  /** Where the bytes are. */
  readonly storage: 'opfs' | 'indexeddb' | 'memory';

  /** BEGIN IMMEDIATE, `work`, COMMIT; ROLLBACK if it throws. What `work` runs it runs on its argument:
   * calls of the database itself wait until the transaction has ended. */
  transaction<T>(work: (transaction: Transaction) => Promise<T> | T): Promise<T>;

  /** The bytes of the database. Opened elsewhere they are a copy, which takes an id of its own. */
  export(): Promise<Uint8Array>;

  /** Replaces all that is in the database, in one transaction. It is a copy then, and takes a new id. */
  import(bytes: Uint8Array): Promise<void>;

  /** What this file has that is newer than `since`: lines of JSON, as `sqlite-counter export` prints; ''
   * if there is nothing. `own`: only what others cannot have from somebody else, for an upload to a place that has
   * everything from all; `scope`: only rows whose keys begin with these values, such as ["store 7"]. Both have marks of
   * their own. */
  changes(since?: number | bigint, which?: { own?: boolean; scope?: Value[] }): Promise<string>;

  /** Merges such lines, all or none, as often as you like; the number of changes in them. */
  apply(lines: string): Promise<number>;

  /** How far the changes of `source` have been taken: the `since` to ask it for. */
  mark(source: string, scope?: Value[]): Promise<number | bigint>;

  /** Exchanges changes with a server of the npm or the Python package, or one that docs/batches.md specifies. `url` may be
   * relative to the page: "/sync". Other calls go on meanwhile; not within a transaction. */
  sync(url: string | URL, token: string, options?: SyncOptions): Promise<Synced>;

  close(): Promise<void>;
}

export interface Options {
  /** If it is not said: where the file is already; a new one in OPFS where the browser has it, else in IndexedDB. `memory` is lost with the page. */
  storage?: 'opfs' | 'indexeddb' | 'memory';

  /** Where sqlite-counter.wasm is, if it does not stand beside the module. */
  wasm?: string | URL;
}

export function open(name: string, options?: Options): Promise<Database>;
