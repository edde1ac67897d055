// sql.js - the steps in SQL with bound values, for drivers that offer no more than that:
//
//     db.run(sql, ...values)   the number of rows changed
//     db.all(sql, ...values)   the rows
//
// Both may return promises.

const { create, BULK, PAGES } = require("./steps");

const row = (db, path) => db.all("SELECT * FROM page_views WHERE path = ?", path);

// A statement and the row that it was about.
const change = (path, sql, ...values) => async (db) => [await db.run(sql, ...values), ...(await row(db, path))];

const add = (db, path, n) => db.run("UPDATE page_views SET hits = hits + ? WHERE path = ?", n, path);

// Does something with a row of its own, so that what fails leaves nothing behind.
async function apart(db, path, work) {
  await db.run("INSERT INTO page_views(path, hits) VALUES (?, ?)", path, 1);
  try {
    return await work(db);
  } finally {
    await db.run("DELETE FROM page_views WHERE path = ?", path);
  }
}

const steps = {
  create: (db) => create((sql) => (/^SELECT/.test(sql) ? db.all(sql) : db.run(sql))),

  introspect: async (db) => (await db.all("PRAGMA table_info(page_views)")).map(({ name, type }) => [name, type]),

  insert: change("/", "INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", "/", 1, 100),

  "insert defaults": change("/key-only", "INSERT INTO page_views(path) VALUES (?)", "/key-only"),

  "bulk insert": async (db) => {
    await db.run("BEGIN");
    for (const { path, hits, bytes } of BULK) {
      await db.run("INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", path, hits, bytes);
    }
    await db.run("COMMIT");
    return db.all("SELECT * FROM page_views WHERE path BETWEEN '/a' AND '/e' ORDER BY path");
  },

  increment: change("/", "UPDATE page_views SET hits = hits + 1 WHERE path = ?", "/"),

  save: async (db) => {
    const [page] = await row(db, "/");
    page.hits = 42;
    const changes = await db.run(
      "UPDATE page_views SET hits = ?, bytes = ? WHERE path = ?", page.hits, page.bytes, page.path);
    return [changes, ...(await row(db, "/"))];
  },

  upsert: (db) => apart(db, "/upsert", change(
    "/upsert",
    `INSERT INTO page_views(path, hits) VALUES (?, ?)
     ON CONFLICT(path) DO UPDATE SET hits = hits + excluded.hits`,
    "/upsert", 5)),

  "insert or ignore": change("/", "INSERT OR IGNORE INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", "/", 5, 5),

  replace: change("/b", "INSERT OR REPLACE INTO page_views(path, hits) VALUES (?, ?)", "/b", 7),

  returning: (db) => apart(db, "/returning", () => db.all(
    "UPDATE page_views SET hits = hits + ? WHERE path = ? RETURNING hits", 1, "/returning")),

  "delete and create": async (db) => [
    await db.run("DELETE FROM page_views WHERE path = ?", "/a"),
    await db.run("INSERT INTO page_views(path, hits) VALUES (?, ?)", "/a", 3),
    ...(await row(db, "/a")),
  ],

  join: async (db) => {
    await db.run(PAGES);
    await db.run("INSERT INTO pages VALUES (?, ?), (?, ?)", "/", "Home", "/c", "Chapter");
    return db.all("SELECT title, hits FROM pages JOIN page_views USING (path) ORDER BY title");
  },

  paging: (db) => db.all("SELECT path, hits FROM page_views ORDER BY path LIMIT ? OFFSET ?", 2, 2),

  aggregate: (db) => db.all("SELECT sum(hits), count(*) FROM page_views"),

  nested: async (db) => {
    await db.run("BEGIN");
    await add(db, "/c", 1);
    await db.run("SAVEPOINT inner");
    await add(db, "/c", 10);
    await db.run("ROLLBACK TO inner");
    await db.run("RELEASE inner");
    await db.run("SAVEPOINT inner");
    await add(db, "/c", 100);
    await db.run("RELEASE inner");
    await db.run("COMMIT");
    return row(db, "/c");
  },

  rollback: async (db) => {
    await db.run("BEGIN");
    await add(db, "/", 1000);
    await db.run("INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", "/gone", 1, 1);
    await db.run("ROLLBACK");
    return [...(await row(db, "/")), ...(await row(db, "/gone"))];
  },

  contents: (db) => db.all("SELECT * FROM page_views ORDER BY path"),
};

// The transaction of a concurrent writer.
async function count(db, key) {
  await db.run("BEGIN");
  try {
    await add(db, "/", 1);
    await db.run("INSERT INTO page_views(path, hits) VALUES (?, ?)", key, 1);
    await db.run("COMMIT");
  } catch (error) {
    await Promise.resolve(db.run("ROLLBACK")).catch(() => {});
    throw error;
  }
}

module.exports = { steps, count };
