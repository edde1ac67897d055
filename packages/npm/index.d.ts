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
