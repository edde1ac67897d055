// client.js - knex, on better-sqlite3.
const { lib, load, versionOf, create, undone, main, BULK } = require("../node/steps");
const better = require("../node/better");
const Knex = load("knex");

const open = (file) =>
  Knex({
    client: "better-sqlite3",
    connection: { filename: file },
    useNullAsDefault: true,
    pool: {
      afterCreate: (db, done) => {
        db.loadExtension(lib);
        db.pragma("busy_timeout = 10000");
        done(null, db);
      },
    },
  });

const views = (db) => db("page_views");
const row = (db, path) => views(db).where({ path });
const add = (db, path, n) => row(db, path).increment("hits", n);

async function apart(db, path, work) {
  await views(db).insert({ path, hits: 1 });
  try {
    return await work();
  } finally {
    await row(db, path).del();
  }
}

async function migrate(db) {
  await db.schema.createTable("page_views", (table) => {
    table.text("path").notNullable().primary();
    table.integer("hits").notNullable().defaultTo(0);
    table.integer("bytes").notNullable().defaultTo(0);
  });
}

const steps = {
  create: (db) => create((sql) => db.raw(sql), () => migrate(db)),
  introspect: async (db) => Object.entries(await views(db).columnInfo()).map(([name, { type }]) => [name, type]),
  insert: async (db) => {
    await views(db).insert({ path: "/", hits: 1, bytes: 100 });
    return row(db, "/");
  },
  "insert defaults": async (db) => {
    await views(db).insert({ path: "/key-only" });
    return row(db, "/key-only");
  },
  "bulk insert": async (db) => {
    await db.batchInsert("page_views", BULK, 2);
    return views(db).whereBetween("path", ["/a", "/e"]).orderBy("path");
  },
  increment: async (db) => [await add(db, "/", 1), ...(await row(db, "/"))],
  save: async (db) => {
    const page = await row(db, "/").first();
    page.hits = 42;
    return [await row(db, page.path).update(page), ...(await row(db, "/"))];
  },
  upsert: (db) => apart(db, "/upsert", async () => {
    await views(db).insert({ path: "/upsert", hits: 5 }).onConflict("path")
      .merge({ hits: db.raw("hits + excluded.hits") });
    return row(db, "/upsert");
  }),
  "insert or ignore": async (db) => {
    await views(db).insert({ path: "/", hits: 5, bytes: 5 }).onConflict("path").ignore();
    return row(db, "/");
  },
  replace: async (db) => {
    await db.raw("INSERT OR REPLACE INTO page_views(path, hits) VALUES (?, ?)", ["/b", 7]);
    return row(db, "/b");
  },
  returning: (db) => apart(db, "/returning", () => add(db, "/returning", 1).returning("hits")),
  "delete and create": async (db) => {
    const deleted = await row(db, "/a").del();
    await views(db).insert({ path: "/a", hits: 3 });
    return [deleted, ...(await row(db, "/a"))];
  },
  join: async (db) => {
    await db.schema.createTable("pages", (table) => {
      table.text("path").primary();
      table.string("title");
    });
    await db("pages").insert([{ path: "/", title: "Home" }, { path: "/c", title: "Chapter" }]);
    return db("pages").join("page_views", "pages.path", "page_views.path").select("title", "hits").orderBy("title");
  },
  paging: (db) => views(db).select("path", "hits").orderBy("path").limit(2).offset(2),
  aggregate: (db) => views(db).sum("hits").count(),
  nested: async (db) => {
    await db.transaction(async (outer) => {
      await add(outer, "/c", 1);
      await undone((undo) => outer.transaction(async (inner) => {
        await add(inner, "/c", 10);
        throw undo;
      }));
      await outer.transaction((inner) => add(inner, "/c", 100));
    });
    return row(db, "/c");
  },
  rollback: async (db) => {
    await undone((undo) => db.transaction(async (transaction) => {
      await add(transaction, "/", 1000);
      await views(transaction).insert({ path: "/gone", hits: 1 });
      throw undo;
    }));
    return [...(await row(db, "/")), ...(await row(db, "/gone"))];
  },
  contents: (db) => views(db).orderBy("path"),
};

main({
  version: () => `${versionOf("knex")} (${better.version()})`,
  open,
  close: (db) => db.destroy(),
  sql: (db, text) => db.raw(text),
  steps,
  addOrder: async (db, item) => (await db("orders").insert({ item }))[0],
  order: async (db, id) => (await db("orders").where({ id }).first()).item,
  count: (db, key) => db.transaction(async (transaction) => {
    await add(transaction, "/", 1);
    await views(transaction).insert({ path: key, hits: 1 });
  }),
});
