// client.js - Prisma, on its adapter for better-sqlite3. node/prisma/client is generated from schema.prisma.
const { lib, load, versionOf, create, undone, main, BULK, PAGES } = require("../node/steps");
const better = require("../node/better");
const { PrismaBetterSqlite3 } = load("@prisma/adapter-better-sqlite3");
const { PrismaClient } = load("../prisma/client");

// The adapter has no option for extensions; its connection is better-sqlite3's. docs/recipes/existing-application.md shows this.
class WithCounters extends PrismaBetterSqlite3 {
  async connect() {
    const adapter = await super.connect();
    adapter.client.loadExtension(lib);
    return adapter;
  }
}

const open = (file) => new PrismaClient({ adapter: new WithCounters({ url: "file:" + file, timeout: 10000 }) });
const raw = (db, sql) => /^(SELECT|PRAGMA)/.test(sql) ? db.$queryRawUnsafe(sql) : db.$executeRawUnsafe(sql);

const row = (db, path) => db.page_views.findMany({ where: { path } });
const increment = (n) => ({ hits: { increment: n } });

// The row of `update` comes from RETURNING, which SQLite has not for virtual tables; `updateMany` has none.
const add = (db, path, n) => db.page_views.updateMany({ where: { path }, data: increment(n) });

async function apart(db, path, work) {
  await db.page_views.create({ data: { path, hits: 1 } });
  try {
    return await work();
  } finally {
    await db.page_views.deleteMany({ where: { path } });
  }
}

const steps = {
  create: (db) => create((sql) => raw(db, sql)),
  introspect: async (db) => (await raw(db, "PRAGMA table_info(page_views)")).map(({ name, type }) => [name, type]),
  insert: async (db) => [await db.page_views.create({ data: { path: "/", hits: 1, bytes: 100 } }), ...(await row(db, "/"))],
  "insert defaults": async (db) =>
    [await db.page_views.create({ data: { path: "/key-only" } }), ...(await row(db, "/key-only"))],
  "bulk insert": async (db) => {
    const { count } = await db.page_views.createMany({ data: BULK });
    const where = { path: { gte: "/a", lte: "/e" } };
    return [count, ...(await db.page_views.findMany({ where, orderBy: { path: "asc" } }))];
  },
  increment: async (db) => [(await add(db, "/", 1)).count, ...(await row(db, "/"))],
  save: async (db) => {
    const page = await db.page_views.findUniqueOrThrow({ where: { path: "/" } });
    page.hits = 42;
    await db.page_views.updateMany({ where: { path: page.path }, data: page });
    return row(db, "/");
  },
  upsert: (db) => apart(db, "/upsert", async () => {
    const path = "/upsert";
    await db.page_views.upsert({ where: { path }, create: { path, hits: 5 }, update: increment(5) });
    return row(db, path);
  }),
  "insert or ignore": async (db) => {
    await db.$executeRaw`INSERT OR IGNORE INTO page_views(path, hits, bytes) VALUES (${"/"}, ${5}, ${5})`;
    return row(db, "/");
  },
  replace: async (db) => {
    await db.$executeRaw`INSERT OR REPLACE INTO page_views(path, hits) VALUES (${"/b"}, ${7})`;
    return row(db, "/b");
  },
  returning: (db) => apart(db, "/returning", async () => {
    const { hits } = await db.page_views.update({ where: { path: "/returning" }, data: increment(1) });
    return hits;
  }),
  "delete and create": async (db) => {
    const { count } = await db.page_views.deleteMany({ where: { path: "/a" } });
    await db.page_views.create({ data: { path: "/a", hits: 3 } });
    return [count, ...(await row(db, "/a"))];
  },
  join: async (db) => {
    await raw(db, PAGES);
    await db.pages.createMany({ data: [{ path: "/", title: "Home" }, { path: "/c", title: "Chapter" }] });
    return db.$queryRaw`SELECT title, hits FROM pages JOIN page_views USING (path) ORDER BY title`;
  },
  paging: (db) => db.page_views.findMany({
    select: { path: true, hits: true }, orderBy: { path: "asc" }, take: 2, skip: 2,
  }),
  aggregate: async (db) => {
    const { _sum, _count } = await db.page_views.aggregate({ _sum: { hits: true }, _count: true });
    return [[_sum.hits, _count]];
  },
  nested: async (db) => {
    await db.$transaction(async (outer) => {
      await add(outer, "/c", 1);
      await undone((undo) => outer.$transaction(async (inner) => {
        await add(inner, "/c", 10);
        throw undo;
      }));
      await outer.$transaction((inner) => add(inner, "/c", 100));
    });
    return row(db, "/c");
  },
  rollback: async (db) => {
    await undone((undo) => db.$transaction(async (transaction) => {
      await add(transaction, "/", 1000);
      await transaction.page_views.create({ data: { path: "/gone", hits: 1 } });
      throw undo;
    }));
    return [...(await row(db, "/")), ...(await row(db, "/gone"))];
  },
  contents: (db) => db.page_views.findMany({ orderBy: { path: "asc" } }),
};

main({
  version: () => `${versionOf("@prisma/client")} (${better.version()})`,
  open,
  close: (db) => db.$disconnect(),
  sql: raw,
  steps,
  addOrder: async (db, item) => (await db.orders.create({ data: { item } })).id,
  order: async (db, id) => (await db.orders.findUniqueOrThrow({ where: { id } })).item,
  count: (db, path) => db.$transaction(async (transaction) => {
    await add(transaction, "/", 1);
    await transaction.page_views.create({ data: { path, hits: 1 } });
  }, { timeout: 30000, maxWait: 30000 }),
});
