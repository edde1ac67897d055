// steps.js - what every npm client does, in which order, and how its results are printed.
//
//     node client.js LIB DIR MODE version | steps | pool | writers N
//
// A client is an object:
//
//     version()       the version of the package and of its SQLite
//     open(file)      a fresh connection with the extension and a busy timeout of 10 s
//     close(db)
//     sql(db, text)   one statement without values, as the client runs raw SQL: a promise of its rows
//     count(db, key)  one transaction: '/' counts one more, and a row for the new key
//     steps           one function for each step but `merge`; it gets db and returns what is printed:
//                     a value or a list, in which each element is a row. Where the client tells how
//                     many rows a statement changed, that number is the first element.
//
// MODE decides how the table is made, and whether `merge` merges two files or counts in one.

const fs = require("fs");
const path = require("path");

const [lib, dir, mode, action, transactions] = process.argv.slice(2);

const STEPS = [
  "create", "introspect", "insert", "insert defaults", "bulk insert", "increment", "save", "upsert",
  "insert or ignore", "replace", "returning", "delete and create", "join", "paging", "aggregate",
  "nested", "rollback", "contents", "merge",
];

const COUNTER = `CREATE VIRTUAL TABLE page_views USING counter(
  path TEXT NOT NULL PRIMARY KEY, hits COUNTER NOT NULL DEFAULT 0, bytes COUNTER NOT NULL DEFAULT 0)`;
const ORDINARY = `CREATE TABLE page_views(
  path TEXT NOT NULL PRIMARY KEY, hits INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)`;

const BULK = ["/a", "/b", "/c", "/d", "/e"].map((path, i) => ({ path, hits: i + 1, bytes: 10 * (i + 1) }));
const PAGES = "CREATE TABLE pages(path TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL)";

// The folder into which node/setup installs.
const installed = path.join(
  path.dirname(process.env.CLIENT_BUILD ?? path.join(__dirname, "../../../build/clients/any")), "node", "node_modules");

const load = (name) => require(require.resolve(name, { paths: [installed] }));
const versionOf = (name) => JSON.parse(fs.readFileSync(path.resolve(installed, name, "package.json"))).version;

// The folder of the package that another one loads, which may have a version of its own.
const packageOf = (owner, name) =>
  path.dirname(require.resolve(`${name}/package.json`, { paths: [path.join(installed, owner)] }));

// Makes the table; `sync` makes it as the client's users do, if they do not write DDL.
async function create(sql, sync) {
  if (mode === "counter") await sql(COUNTER);
  else if (sync) await sync();
  else await sql(ORDINARY);
  if (process.env.CLIENT_TRACK) await sql(process.env.CLIENT_TRACK);
  return "created";
}

// Waits for a transaction whose work ends by throwing `undo`.
async function undone(transaction) {
  const undo = new Error("rolled back by the application");
  await transaction(undo).catch((error) => {
    if (error !== undo) throw error;
  });
}

async function merge(client, file) {
  const other = path.join(dir, "other.db");
  const add = async (name, n) => {
    const db = await client.open(name);
    await client.sql(db, `UPDATE page_views SET hits = hits + ${n} WHERE path = '/'`);
    await client.close(db);
  };
  const value = (db, schema) => client.sql(db, `SELECT hits FROM ${schema}.page_views WHERE path = '/'`);

  if (mode !== "ordinary") fs.copyFileSync(file, other);
  await add(file, 10);
  await add(mode === "ordinary" ? file : other, 20);

  const db = await client.open(file);
  try {
    if (mode === "ordinary") return [...(await value(db, "main")), ...(await value(db, "main"))];
    await client.sql(db, `ATTACH '${other}' AS other`);
    await client.sql(db, "SELECT * FROM counter_sync('other')");
    return [...(await value(db, "main")), ...(await value(db, "other"))];
  } finally {
    await client.close(db);
  }
}

function text(value) {
  if (value === null) return "NULL";
  if (Buffer.isBuffer(value)) return "x" + value.toString("hex");
  if (Array.isArray(value)) return value.map(text).join("|");
  if (typeof value === "object") return Object.values(value).map(text).join("|");
  return String(value);
}

const print = (name, result) => console.log(`${name}\t${result}`);

// The first line of a message. Prisma tells the place first and the reason last.
function firstLine(error) {
  const lines = String((error.cause ?? error).message ?? error).trim().split("\n");
  return /^Invalid .* invocation/.test(lines[0]) ? lines.at(-1) : lines[0];
}

async function step(name, run) {
  try {
    const result = await run();
    print(name, Array.isArray(result) ? result.map(text).join(";") : text(result));
  } catch (error) {
    print(name, "error: " + firstLine(error));
    return false;
  }
  return true;
}

async function steps(client) {
  const file = path.join(dir, "app.db");
  const db = await client.open(file);
  for (const name of STEPS.slice(0, -1)) {
    if (!(await step(name, () => client.steps[name](db)))) await client.sql(db, "ROLLBACK").catch(() => {});
  }
  await client.close(db);
  await step("merge", () => merge(client, file));
}

// Rows whose keys SQLite gives out, before a merge and after it, each read by the key that the client told: addOrder(db, item)
// returns it, and order(db, key) the item.
async function keys(client) {
  const db = await client.open(path.join(dir, "app.db"));
  const told = [];
  for (const item of "abcdef") {
    if (item === "d") await client.sql(db, `SELECT * FROM counter_sync('${path.join(dir, "other.db")}')`);
    told.push([item, await client.addOrder(db, item)]);
  }
  for (const [item, key] of told) print(item, `${key}|${await client.order(db, key)}`);
  await client.close(db);
}

async function pool(client) {
  const db = await client.open(path.join(dir, "pool.db"));
  const sql = (statement) => client.sql(db, statement);
  await sql("PRAGMA journal_mode = WAL");
  await create(sql);
  await sql("INSERT INTO page_views(path) VALUES ('/')");
  await client.close(db);
}

async function writers(client) {
  let locks = 0;
  let others = 0;
  for (let i = 0; i < transactions; i++) {
    let db;
    try {
      db = await client.open(path.join(dir, "pool.db"));
      await client.count(db, `${process.pid}-${i}`);
    } catch (error) {
      if (/locked|busy|P1008/i.test(error.message + error.code)) locks++; // P1008 is Prisma's busy
      else if (others++ === 0) console.error(firstLine(error));
    } finally {
      if (db) await client.close(db);
    }
  }
  print("transactions", transactions);
  print("lock errors", locks);
  print("other errors", others);
}

async function main(client) {
  if (action === "version") console.log(client.version());
  else if (action === "steps") await steps(client);
  else if (action === "keys") await keys(client);
  else if (action === "pool") await pool(client);
  else if (action === "writers") await writers(client);
  else throw new Error("unknown action " + action);
}

module.exports = { mode, lib, load, versionOf, packageOf, create, undone, main, BULK, PAGES };
