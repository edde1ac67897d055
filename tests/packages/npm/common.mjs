// common.mjs - one face for the drivers, and claims that are tried one after the other.
//
//     node <claims>.mjs DRIVER     better-sqlite3, node:sqlite or sqlite3; COUNTER_SEED repeats a random run
import fs from "fs";
import http from "http";
import https from "https";
import { handler, load } from "sqlite-counter";

export const driver = process.argv[2];
export const TABLE =
  "CREATE VIRTUAL TABLE IF NOT EXISTS hits USING counter(shop TEXT, k INTEGER, n COUNTER, PRIMARY KEY (shop, k));";
const SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 10000;";

const later = (call) => new Promise((resolve, reject) => call((error, value) => (error ? reject(error) : resolve(value))));

export async function connect(path) {
  if (driver === "sqlite3") {
    const { default: sqlite3 } = await import("sqlite3");
    let db;
    await later((done) => (db = new sqlite3.Database(path, done)));
    return db;
  }
  if (driver === "node:sqlite") return new (await import("node:sqlite")).DatabaseSync(path, { allowExtension: true });
  return new (await import("better-sqlite3")).default(path);
}

export async function open(path, table = TABLE) {
  const db = await connect(path);
  await load(db);
  await run(db, SETTINGS + table);
  return db;
}

export const run = (db, sql) => (driver === "sqlite3" ? later((done) => db.exec(sql, done)) : db.exec(sql));
export const all = (db, sql) => (driver === "sqlite3" ? later((done) => db.all(sql, done)) : db.prepare(sql).all());
export const close = (db) => (driver === "sqlite3" ? later((done) => db.close(done)) : db.close());

export const count = (db, shop, k, n) => run(db, `INSERT INTO hits VALUES ('${shop}', ${k}, ${n})`);

export async function contents(db) {
  const rows = await all(db, "SELECT shop || '/' || k AS name, CAST(n AS TEXT) AS n FROM hits WHERE n <> 0 ORDER BY 1");
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

// A change of one counter of hits, as a line has it. Its shards are { id, clock, value }.
export async function changeOf(db, shards, more) {
  const told = { tells: "row", columns: [{ name: "n", kind: "counter", generation: 1, cell: { life: 1, shards } }] };
  const [{ change }] = await all(db, `SELECT hex(counter_change_of('${JSON.stringify(told)}')) AS change`);
  return { table: "hits", key_columns: "shop TEXT BINARY, k INTEGER BINARY", packed: "D10301610102", change, seq: 5, ...more };
}

export const lineOf = (source, changes, more) =>
  JSON.stringify({ format: 1, source, since: 0, upto: 9, changes, ...more });

// The shards of a change of a line.
export async function shardsOf(db, { change }) {
  const [{ told }] = await all(db, `SELECT counter_change_json(x'${change}') AS told`);
  return JSON.parse(told).columns[0].cell.shards;
}

export const idOf = async (db) => (await all(db, "SELECT counter_settle() AS id"))[0].id;

// An HTTP server for one file, behind TLS if there is a certificate; url, requests and close().
export async function serve(db, options, wrap = (handle) => handle, certificate = null) {
  const handle = handler(db, options);
  const pem = certificate && fs.readFileSync(certificate);
  const server = pem ? https.createServer({ key: pem, cert: pem }, wrap(handle)) : http.createServer(wrap(handle));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: server.address().port,
    url: `${pem ? "https" : "http"}://127.0.0.1:${server.address().port}/sync`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections?.();
      await closed;
      await handle.close();
    },
  };
}

export const place = (name) => {
  fs.rmSync(name, { recursive: true, force: true });
  fs.mkdirSync(name, { recursive: true });
  return name;
};

const seed = Number(process.env.COUNTER_SEED ?? Math.floor(Math.random() * 2 ** 31));

// Numbers from 0 below n: mulberry32.
export function random(stream = 0) {
  let state = seed + stream;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

export async function claims(all) {
  console.log(`seed ${seed}`);
  for (const [name, claim] of Object.entries(all)) {
    await claim();
    console.log(`ok ${name}`);
  }
}
