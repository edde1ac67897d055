/** The path of the library for this platform, to be given to a driver's loadExtension(). */
export function getLoadablePath(): string;

/** A Database of sqlite3, whose methods call back. */
export interface AsynchronousDatabase {
  loadExtension(path: string, callback?: (error: Error | null) => void): unknown;
  parallelize(callback?: () => void): void;
}

/** A Database of sqlite, which wraps that. */
export interface PromisingDatabase {
  loadExtension(path: string): Promise<void>;
}

/** A Database of better-sqlite3, or a DatabaseSync of node:sqlite opened with allowExtension. */
export interface SynchronousDatabase {
  loadExtension(path: string): unknown;
}

/**
 * Loads sqlite-counter into a connection. Returns a promise where the driver is asynchronous, else
 * nothing: `await load(db)` is right for all.
 */
export function load(db: AsynchronousDatabase): Promise<void>;
export function load(db: PromisingDatabase): Promise<void>;
export function load(db: SynchronousDatabase): void;

/**
 * What all functions below take: a connection of any of these drivers into which the library was
 * loaded. They return promises for each driver. With better-sqlite3 and node:sqlite a transaction is
 * done before anything else runs; with sqlite3 it is done on a connection beside the one that was
 * given, unless that is in memory or in a transaction.
 */
export type Database = AsynchronousDatabase | PromisingDatabase | SynchronousDatabase;

/** The first values of a key, `["store 7"]`: only rows whose keys begin with these. */
export type Scope = readonly (string | number | bigint)[] | string;

/** A mark may lie beyond 2^53, so it is a BigInt where it is returned. */
export interface ChangesOptions {
  since?: bigint | number | string;
  /** Only what this file has counted itself. */
  own?: boolean;
  scope?: Scope;
}

/** Gives batches, lines of JSON without line breaks, in the order of their numbers. */
export function changes(db: Database, options?: ChangesOptions): AsyncGenerator<string, void, undefined>;

export interface Applied {
  /** How many changes the lines had. */
  changes: number;
  /** The mark of each source, from which to ask it next. */
  marks: Map<string, bigint>;
}

/**
 * Merges batches in one transaction, or within that of the caller; or nothing. A text is split into
 * its lines.
 */
export function apply(db: Database, lines: string | Iterable<string> | AsyncIterable<string>): Promise<Applied>;

/** The number from which to ask a source for changes; 0n: for all. */
export function mark(db: Database, source: string, scope?: Scope): Promise<bigint>;

/** A sync that failed. Nothing is half done: the next call goes on. Also a file that is not there, a connection without load(). */
export class SyncError extends Error {
  readonly name: "SyncError";
  readonly file?: string;
  readonly url?: string;
  /** The status of an answer by HTTP. */
  readonly status?: number;
  readonly cause?: unknown;
}

/** Of a table first what would be done with it, then what to think of: docs/reference.md tells the kinds. */
export interface Matter {
  table: string;
  kind: string;
  column: string | null;
  finding: string;
  remedy: string | null;
}

export interface AdoptOptions {
  /** Columns that count: "products.stock". */
  counters?: readonly string[];
  /** Tables that stay at home. */
  leave?: readonly string[];
}

export interface Adopted {
  table: string;
  /** What was done; "done": it counted before. */
  kind: "replicate" | "autoincrement" | "key" | "left" | "home" | "virtual" | "done";
  key: string | null;
}

/** What it takes to replicate all tables of an application, and what to think of before. Changes nothing. */
export function plan(db: Database): Promise<Matter[]>;

/**
 * Replicates all tables, all or nothing; gives their number. A table whose declaration must be changed first is an error:
 * adopt() changes it.
 */
export function replicateAll(db: Database, options?: AdoptOptions): Promise<number>;

/**
 * Replicates all tables of a file, all or nothing, by the program sqlite-counter: it writes AUTOINCREMENT and keys into
 * declarations where they are needed. With dryRun it takes all of it back.
 */
export function adopt(path: string, options?: AdoptOptions & { dryRun?: boolean }): Promise<Adopted[]>;

export interface MergeOptions {
  /** Numbers that add up: "song.plays". */
  add?: readonly string[];
  /** Columns that hold numbers of a table: "tagged.song=song". */
  ref?: readonly string[];
  /** Columns that do not: "tagged.song". */
  noRef?: readonly string[];
  /** Tables whose numbers the application gives: one number is one row. */
  assigned?: readonly string[];
  /** Where both sides changed a column, theirs stays: in all tables, or in these. */
  theirsWins?: boolean | readonly string[];
  /** Without base: one key is one row. */
  copies?: boolean;
  /** Without base: each file has given its own numbers. */
  unrelated?: boolean;
  /** What both sides changed alike is chance. */
  baseIsFork?: boolean;
  /** Keeps the conflicts in the table _merge_conflicts. */
  conflictTable?: boolean;
  /** Writes this file instead of ours. */
  output?: string | null;
  dryRun?: boolean;
}

/** What SQLite stores; an integer beyond 2^53 is a BigInt. */
export type Value = null | number | bigint | string | Uint8Array;

export interface MergedTable {
  table: string;
  /** How many rows theirs brought. */
  inserted: number;
  updated: number;
  deleted: number;
  /** New rows that both had. */
  same: number;
  /** Those of them that were found by their UNIQUE values. */
  joined: number;
  /** Numbers that moved: [17, 21]. */
  renumbered: [number | bigint, number | bigint][];
}

/** What was not merged by itself. Of a column base, ours and theirs are its values; else they are whole rows. */
export interface Conflict {
  kind: "column" | "delete" | "constraint" | "foreign key" | "number" | "schema" | "virtual" | "rows";
  table: string;
  key: Value[] | null;
  column: string | null;
  base: Value | { [column: string]: Value };
  ours: Value | { [column: string]: Value };
  theirs: Value | { [column: string]: Value };
  /** The side that stays. */
  taken: "ours" | "theirs" | "both" | "none";
  note: string | null;
}

export interface Merged {
  tables: MergedTable[];
  conflicts: Conflict[];
  notes: string[];
}

/** What a merge must be told first; nothing was done. Each question names its two answers. */
export class QuestionError extends SyncError {
  readonly questions: string[];
}

/**
 * Merges theirs into ours, two descendants of base, paths of files that nobody prepared, by the program sqlite-counter; with
 * copies or unrelated base is null.
 */
export function merge(base: string | null, ours: string, theirs: string, options?: MergeOptions): Promise<Merged>;

/** What a file, named by its id, may take of a bounded counter of a row, as far as this file has heard. */
export interface Right {
  key: Value[];
  column: string;
  id: string;
  /** Below 0: it owes. */
  rights: number | bigint;
  /** It is this file. */
  here: boolean;
}

/** Who may take how many of the bounded counters of a table, which never go below 0 in all files together. */
export function rights(db: Database, table: string): Promise<Right[]>;

/**
 * Lets another file take n more of a bounded counter, and this file so much less. A key of several columns is an array; `to` is the
 * id of the other file, or a connection to it; `column` is needed if several counters of the table are bounded.
 */
export function grant(
  db: Database,
  table: string,
  key: Exclude<Value, null> | readonly Exclude<Value, null>[],
  to: string | Database,
  n: number | bigint,
  options?: { column?: string }
): Promise<void>;

export interface SyncOptions {
  /** Takes only rows of a scope; what this file has counted is given whole. */
  scope?: Scope;
}

/** A column that does not travel yet, many rows that the sync has deleted, conflicts, a clock that is ahead. */
export interface TableWarning {
  table: string;
  message: string;
}

export interface FolderSynced {
  /** How many changes were written, and merged. */
  gave: number;
  took: number;
  /** What was left alone, and why; the rest was taken. Then what `counter_warnings` tells of tables. */
  warnings: ({ file: string; message: string } | TableWarning)[];
  /** How many rows of this file are apart now: a constraint refuses them, and counter_tracked lists them. */
  apart: number;
}

/** Makes a folder one that files sync through, unless it is one: by the file .sqlite-counter, without which nothing is read there. */
export function makeFolder(directory: string): Promise<void>;

/** Exchanges changes through a folder that makeFolder() has made, and other machines see, too. */
export function syncFolder(db: Database, directory: string, options?: SyncOptions): Promise<FolderSynced>;

export interface HttpSynced {
  /** How many changes were uploaded, and merged here; of a server also those that it has from here. */
  gave: number;
  took: number;
  /** Shards that the server did not take, because their ids are those of another device. */
  skipped: number;
  /**
   * That the server takes nothing of this file, because its id is bound to another token; what else it warns of. Then what
   * `counter_warnings` tells.
   */
  warnings: ({ url: string; message: string } | TableWarning)[];
  /** How many rows of this file are apart now: a constraint refuses them, and counter_tracked lists them. */
  apart: number;
}

/** Exchanges changes with a server. */
export function syncHttp(db: Database, url: string, token: string, options?: SyncOptions): Promise<HttpSynced>;

export interface HandlerOptions {
  /** Bytes of a body, as it comes or decompressed; 16 MiB. */
  maxBody?: number;
  /** The path that the server is at: "/sync". */
  prefix?: string;
}

/** What is used of an IncomingMessage of node:http, or a Request of Express. */
export interface ServedRequest {
  method?: string;
  url?: string;
  headers: object;
}

/** What is used of a ServerResponse, or a Response of Express. */
export interface ServedResponse {
  headersSent: boolean;
  writeHead(status: number, headers?: { [name: string]: string }): unknown;
  end(text: string): unknown;
}

/** Serves one file; calls `next`, if there is one, for paths that are not its own. */
export interface Handler {
  (request: ServedRequest, response: ServedResponse, next?: (error?: unknown) => void): Promise<unknown>;
  /** Closes the file if the handler has opened it. */
  close(): Promise<void>;
}

/** A path is opened by better-sqlite3 or node:sqlite, whichever is there. Throws if there is no such file. */
export function handler(db: Database | string, options?: HandlerOptions): Handler;

/** Makes a token for a device and returns it: it is not kept, only its digest. */
export function addToken(db: Database | string, device: string): Promise<string>;

/** Takes the token of a device away. Its ids stay bound to it, or move to the token of device `to`. Such an id names it, too, also
 *  after it was removed. */
export function removeToken(db: Database | string, device: string, options?: { to?: string }): Promise<void>;

/** All devices that have a token, and the ids that are bound to it. */
export function tokens(db: Database | string): Promise<{ device: string; ids: string[] }[]>;
