// client.js - Drizzle, on better-sqlite3.
const { load, versionOf, create, undone, main, BULK, PAGES } = require("../node/steps");
const better = require("../node/better");
const { drizzle } = load("drizzle-orm/better-sqlite3");
const { sqliteTable, text, integer } = load("drizzle-orm/sqlite-core");
const { sql, eq, between, asc, sum, count } = load("drizzle-orm");

const views = sqliteTable("page_views", {
  path: text().notNull().primaryKey(),
  hits: integer().notNull().default(0),
  bytes: integer().notNull().default(0),
});
const pages = sqliteTable("pages", { path: text().notNull().primaryKey(), title: text().notNull() });
const orders = sqliteTable("orders", { id: integer().primaryKey({ autoIncrement: true }), item: text() });

const open = (file) => drizzle(better.open(file), { schema: { views } });
const raw = async (db, statement) =>
  /^(SELECT|PRAGMA)/.test(statement) ? db.all(sql.raw(statement)) : db.run(sql.raw(statement));

const row = (db, path) => db.query.views.findMany({ where: eq(views.path, path) });
const insert = (db, values) => db.insert(views).values(values);
const add = (db, path, n) => db.update(views).set({ hits: sql`${views.hits} + ${n}` }).where(eq(views.path, path));
const remove = (db, path) => db.delete(views).where(eq(views.path, path));

async function apart(db, path, work) {
  await insert(db, { path, hits: 1 });
  try {
    return await work();
  } finally {
    await remove(db, path);
  }
}

const steps = {
  create: (db) => create((statement) => raw(db, statement)),
  introspect: async (db) => (await raw(db, "PRAGMA table_info(page_views)")).map(({ name, type }) => [name, type]),
  insert: async (db) => [(await insert(db, { path: "/", hits: 1, bytes: 100 })).changes, ...(await row(db, "/"))],
  "insert defaults": async (db) => {
    await insert(db, { path: "/key-only" });
    return row(db, "/key-only");
  },
  "bulk insert": async (db) => {
    await insert(db, BULK);
    return db.select().from(views).where(between(views.path, "/a", "/e")).orderBy(asc(views.path));
  },
  increment: async (db) => [(await add(db, "/", 1)).changes, ...(await row(db, "/"))],
  save: async (db) => {
    const [page] = await row(db, "/");
    page.hits = 42;
    const { changes } = await db.update(views).set(page).where(eq(views.path, page.path));
    return [changes, ...(await row(db, "/"))];
  },
  upsert: (db) => apart(db, "/upsert", async () => {
    await insert(db, { path: "/upsert", hits: 5 })
      .onConflictDoUpdate({ target: views.path, set: { hits: sql`${views.hits} + excluded.hits` } });
    return row(db, "/upsert");
  }),
  "insert or ignore": async (db) => {
    await insert(db, { path: "/", hits: 5, bytes: 5 }).onConflictDoNothing();
    return row(db, "/");
  },
  replace: async (db) => {
    await db.run(sql`INSERT OR REPLACE INTO page_views(path, hits) VALUES (${"/b"}, ${7})`);
    return row(db, "/b");
  },
  returning: (db) => apart(db, "/returning", () => add(db, "/returning", 1).returning({ hits: views.hits })),
  "delete and create": async (db) => {
    const { changes } = await remove(db, "/a");
    await insert(db, { path: "/a", hits: 3 });
    return [changes, ...(await row(db, "/a"))];
  },
  join: async (db) => {
    await raw(db, PAGES);
    await db.insert(pages).values([{ path: "/", title: "Home" }, { path: "/c", title: "Chapter" }]);
    return db.select({ title: pages.title, hits: views.hits }).from(pages)
      .innerJoin(views, eq(pages.path, views.path)).orderBy(asc(pages.title));
  },
  paging: (db) => db.query.views.findMany({
    columns: { path: true, hits: true }, orderBy: asc(views.path), limit: 2, offset: 2,
  }),
  aggregate: (db) => db.select({ sum: sum(views.hits), count: count() }).from(views),
  nested: async (db) => {
    db.transaction((outer) => {
      add(outer, "/c", 1).run();
      try {
        outer.transaction((inner) => {
          add(inner, "/c", 10).run();
          inner.rollback();
        });
      } catch (error) {
        if (error.message !== "Rollback") throw error;
      }
      outer.transaction((inner) => add(inner, "/c", 100).run());
    });
    return row(db, "/c");
  },
  rollback: async (db) => {
    await undone(async (undo) => db.transaction((transaction) => {
      add(transaction, "/", 1000).run();
      insert(transaction, { path: "/gone", hits: 1 }).run();
      throw undo;
    }));
    return [...(await row(db, "/")), ...(await row(db, "/gone"))];
  },
  contents: (db) => db.select().from(views).orderBy(asc(views.path)),
};

main({
  version: () => `${versionOf("drizzle-orm")} (${better.version()})`,
  open,
  close: (db) => db.$client.close(),
  sql: raw,
  steps,
  addOrder: async (db, item) => (await db.insert(orders).values({ item }).returning({ id: orders.id }))[0].id,
  order: async (db, id) => (await db.select().from(orders).where(eq(orders.id, id)))[0].item,
  count: async (db, key) => db.transaction((transaction) => {
    add(transaction, "/", 1).run();
    insert(transaction, { path: key, hits: 1 }).run();
  }),
});
