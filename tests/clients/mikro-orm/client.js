// client.js - MikroORM, on better-sqlite3. Each step has a fresh unit of work.
const { lib, load, versionOf, packageOf, create, undone, main, BULK } = require("../node/steps");
const better = require("../node/better");
const { MikroORM, EntitySchema, raw } = load("@mikro-orm/core");
const { BetterSqliteDriver } = load("@mikro-orm/better-sqlite");
const { DatabaseSchema } = load("@mikro-orm/knex");

const DRIVER = packageOf("@mikro-orm/better-sqlite", "better-sqlite3");

const text = { type: "string", columnType: "text" };
const number = { type: "integer", default: 0 };
const View = new EntitySchema({
  name: "View", tableName: "page_views",
  properties: { path: { ...text, primary: true }, hits: { ...number }, bytes: { ...number } },
});
const Page = new EntitySchema({
  name: "Page", tableName: "pages",
  properties: { path: { ...text, primary: true }, title: { ...text } },
});

const open = (file, entities = [View, Page]) =>
  MikroORM.init({
    driver: BetterSqliteDriver, dbName: file, entities, metadataCache: { enabled: false },
    pool: {
      afterCreate: (db, done) => {
        db.loadExtension(lib);
        db.pragma("busy_timeout = 10000");
        done(null, db);
      },
    },
  });

// Lets MikroORM make the table of one entity.
async function synchronize(db, entity) {
  const own = await open(db.config.get("dbName"), [entity]);
  await own.schema.createSchema();
  await own.close();
}

const sql = (db, statement, values) => db.em.getConnection().execute(statement, values);
const plain = (entities) => entities.map(({ path, hits, bytes }) => [path, hits, bytes]);
const row = async ({ em }, path) => plain(await em.fork().find(View, { path }));

// In SQL, because MikroORM adds RETURNING to an update by expression, which SQLite has not for virtual tables.
const add = (em, path, n) => em.execute("UPDATE page_views SET hits = hits + ? WHERE path = ?", [n, path], "run");

async function apart({ em }, path, work) {
  await em.fork().insert(View, { path, hits: 1 });
  try {
    return await work();
  } finally {
    await em.fork().nativeDelete(View, { path });
  }
}

const steps = {
  create: (db) => create((statement) => sql(db, statement), () => synchronize(db, View)),
  introspect: async (db) => {
    const schema = await DatabaseSchema.create(db.em.getConnection(), db.em.getPlatform(), db.config);
    return schema.getTable("page_views").getColumns().map(({ name, type }) => [name, type]);
  },
  insert: async (db) => {
    const em = db.em.fork();
    em.create(View, { path: "/", hits: 1, bytes: 100 }, { persist: true });
    await em.flush();
    return row(db, "/");
  },
  "insert defaults": async (db) => {
    const em = db.em.fork();
    const page = em.create(View, { path: "/key-only" }, { persist: true });
    await em.flush();
    return [...plain([page]), ...(await row(db, "/key-only"))];
  },
  "bulk insert": async (db) => {
    await db.em.fork().insertMany(View, BULK);
    return plain(await db.em.fork().find(View, { path: { $gte: "/a", $lte: "/e" } }, { orderBy: { path: "asc" } }));
  },
  increment: async (db) => {
    const changes = await db.em.fork().nativeUpdate(View, { path: "/" }, { hits: raw("hits + 1") });
    return [changes, ...(await row(db, "/"))];
  },
  save: async (db) => {
    const em = db.em.fork();
    const page = await em.findOneOrFail(View, "/");
    page.hits = 42;
    await em.flush();
    return row(db, "/");
  },
  upsert: (db) => apart(db, "/upsert", async () => {
    await db.em.fork().upsert(View, { path: "/upsert", hits: 5 });
    return row(db, "/upsert");
  }),
  "insert or ignore": async (db) => {
    await db.em.fork().createQueryBuilder(View).insert({ path: "/", hits: 5, bytes: 5 }).onConflict("path").ignore();
    return row(db, "/");
  },
  replace: async (db) => {
    await sql(db, "INSERT OR REPLACE INTO page_views(path, hits) VALUES (?, ?)", ["/b", 7]);
    return row(db, "/b");
  },
  returning: (db) => apart(db, "/returning", async () => {
    const em = db.em.fork();
    const page = await em.findOneOrFail(View, "/returning");
    page.hits = raw("hits + 1");
    await em.flush();
    return page.hits;
  }),
  "delete and create": async (db) => {
    const em = db.em.fork();
    await em.remove(await em.findOneOrFail(View, "/a")).flush();
    em.create(View, { path: "/a", hits: 3 }, { persist: true });
    await em.flush();
    return row(db, "/a");
  },
  join: async (db) => {
    await synchronize(db, Page);
    await db.em.fork().insertMany(Page, [{ path: "/", title: "Home" }, { path: "/c", title: "Chapter" }]);
    const knex = db.em.getConnection().getKnex();
    return db.em.getConnection().execute(
      knex("pages").join("page_views", "pages.path", "page_views.path").select("title", "hits").orderBy("title"));
  },
  paging: async (db) =>
    plain(await db.em.fork().find(View, {}, { orderBy: { path: "asc" }, limit: 2, offset: 2 })),
  aggregate: (db) => db.em.fork().createQueryBuilder(View)
    .select([raw("sum(hits) AS sum"), raw("count(*) AS count")]).execute("all", { mapResults: false }),
  nested: async (db) => {
    await db.em.fork().transactional(async (outer) => {
      await add(outer, "/c", 1);
      await undone((undo) => outer.transactional(async (inner) => {
        await add(inner, "/c", 10);
        throw undo;
      }));
      await outer.transactional((inner) => add(inner, "/c", 100));
    });
    return row(db, "/c");
  },
  rollback: async (db) => {
    await undone((undo) => db.em.fork().transactional(async (em) => {
      await add(em, "/", 1000);
      await em.insert(View, { path: "/gone", hits: 1 });
      throw undo;
    }));
    return [...(await row(db, "/")), ...(await row(db, "/gone"))];
  },
  contents: async (db) => plain(await db.em.fork().find(View, {}, { orderBy: { path: "asc" } })),
};

main({
  version: () => `${versionOf("@mikro-orm/core")} (${better.version(DRIVER)})`,
  open,
  close: (db) => db.close(),
  sql,
  steps,
  count: (db, path) => db.em.fork().transactional(async (em) => {
    await add(em, "/", 1);
    em.create(View, { path, hits: 1 }, { persist: true });
  }),
});
