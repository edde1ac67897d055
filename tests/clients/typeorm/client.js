// client.js - TypeORM, on better-sqlite3, with an EntitySchema in place of decorators.
const { lib, load, versionOf, create, undone, main, BULK } = require("../node/steps");
const better = require("../node/better");
load("reflect-metadata");
const { DataSource, EntitySchema, Between } = load("typeorm");

const number = { type: "integer", default: 0 };
const View = new EntitySchema({
  name: "View", tableName: "page_views",
  columns: { path: { type: "text", primary: true }, hits: number, bytes: number },
});
const Page = new EntitySchema({
  name: "Page", tableName: "pages",
  columns: { path: { type: "text", primary: true }, title: { type: "text" } },
});
const Order = new EntitySchema({
  name: "Order", tableName: "orders",
  columns: { id: { type: "integer", primary: true, generated: "increment" }, item: { type: "text" } },
});

const open = (file, entities = [View, Page, Order]) =>
  new DataSource({
    type: "better-sqlite3", database: file, timeout: 10000, entities,
    prepareDatabase: (db) => db.loadExtension(lib),
  }).initialize();

// Lets TypeORM make the table of one entity.
async function synchronize(db, entity) {
  const own = await open(db.options.database, [entity]);
  await own.synchronize();
  await own.destroy();
}

const views = (db) => db.getRepository(View);
const row = (db, path) => views(db).findBy({ path });
const add = (db, path, n) => views(db).increment({ path }, "hits", n);

async function apart(db, path, work) {
  await views(db).insert({ path, hits: 1 });
  try {
    return await work();
  } finally {
    await views(db).delete({ path });
  }
}

const steps = {
  create: (db) => create((sql) => db.query(sql), () => synchronize(db, View)),
  introspect: async (db) => {
    const runner = db.createQueryRunner();
    const { columns } = await runner.getTable("page_views");
    await runner.release();
    return columns.map(({ name, type }) => [name, type]);
  },
  insert: async (db) => {
    await views(db).insert({ path: "/", hits: 1, bytes: 100 });
    return row(db, "/");
  },
  "insert defaults": async (db) => {
    await views(db).insert({ path: "/key-only" });
    return row(db, "/key-only");
  },
  "bulk insert": async (db) => {
    await views(db).save(BULK, { chunk: 2 });
    return views(db).find({ where: { path: Between("/a", "/e") }, order: { path: "ASC" } });
  },
  increment: async (db) => {
    await add(db, "/", 1);
    return row(db, "/");
  },
  save: async (db) => {
    const page = await views(db).findOneBy({ path: "/" });
    page.hits = 42;
    await views(db).save(page);
    return row(db, "/");
  },
  upsert: (db) => apart(db, "/upsert", async () => {
    await views(db).upsert({ path: "/upsert", hits: 5 }, ["path"]);
    return row(db, "/upsert");
  }),
  "insert or ignore": async (db) => {
    await views(db).createQueryBuilder().insert().values({ path: "/", hits: 5, bytes: 5 }).orIgnore().execute();
    return row(db, "/");
  },
  replace: async (db) => {
    await db.query("INSERT OR REPLACE INTO page_views(path, hits) VALUES (?, ?)", ["/b", 7]);
    return row(db, "/b");
  },
  returning: (db) => apart(db, "/returning", async () => {
    await add(db, "/returning", 1);
    const { hits } = await views(db).findOneByOrFail({ path: "/returning" });
    return hits;
  }),
  "delete and create": async (db) => {
    await views(db).remove(await views(db).findOneByOrFail({ path: "/a" }));
    await views(db).save({ path: "/a", hits: 3 });
    return row(db, "/a");
  },
  join: async (db) => {
    await synchronize(db, Page);
    await db.getRepository(Page).save([{ path: "/", title: "Home" }, { path: "/c", title: "Chapter" }]);
    return db.createQueryBuilder(Page, "page").innerJoin(View, "view", "view.path = page.path")
      .select(["page.title AS title", "view.hits AS hits"]).orderBy("title").getRawMany();
  },
  paging: (db) => views(db).find({ select: { path: true, hits: true }, order: { path: "ASC" }, take: 2, skip: 2 }),
  aggregate: async (db) => [[await views(db).sum("hits"), await views(db).count()]],
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
  contents: (db) => views(db).find({ order: { path: "ASC" } }),
};

main({
  version: () => `${versionOf("typeorm")} (${better.version()})`,
  open,
  close: (db) => db.destroy(),
  sql: (db, text) => db.query(text),
  steps,
  addOrder: async (db, item) => (await db.getRepository(Order).save({ item })).id,
  order: async (db, id) => (await db.getRepository(Order).findOneByOrFail({ id })).item,
  count: (db, path) => db.transaction(async (transaction) => {
    await add(transaction, "/", 1);
    await views(transaction).insert({ path, hits: 1 });
  }),
});
