// client.js - Kysely, on better-sqlite3.
const { load, versionOf, create, undone, main, BULK } = require("../node/steps");
const better = require("../node/better");
const { Kysely, SqliteDialect, sql } = load("kysely");

const open = (file) => new Kysely({ dialect: new SqliteDialect({ database: async () => better.open(file) }) });
const raw = async (db, text) => (await sql.raw(text).execute(db)).rows;

const row = (db, path) => db.selectFrom("page_views").selectAll().where("path", "=", path).execute();
const insert = (db, values) => db.insertInto("page_views").values(values);
const add = (db, path, n) =>
  db.updateTable("page_views").set((page) => ({ hits: page("hits", "+", n) })).where("path", "=", path);
const remove = (db, path) => db.deleteFrom("page_views").where("path", "=", path);

async function apart(db, path, work) {
  await insert(db, { path, hits: 1 }).execute();
  try {
    return await work();
  } finally {
    await remove(db, path).execute();
  }
}

const migrate = (db) =>
  db.schema.createTable("page_views")
    .addColumn("path", "text", (column) => column.notNull().primaryKey())
    .addColumn("hits", "integer", (column) => column.notNull().defaultTo(0))
    .addColumn("bytes", "integer", (column) => column.notNull().defaultTo(0))
    .execute();

const steps = {
  create: (db) => create((text) => raw(db, text), () => migrate(db)),
  introspect: async (db) => {
    const tables = await db.introspection.getTables();
    return tables.find(({ name }) => name === "page_views").columns.map(({ name, dataType }) => [name, dataType]);
  },
  insert: async (db) => {
    const { numInsertedOrUpdatedRows } = await insert(db, { path: "/", hits: 1, bytes: 100 }).executeTakeFirst();
    return [numInsertedOrUpdatedRows, ...(await row(db, "/"))];
  },
  "insert defaults": async (db) => {
    await insert(db, { path: "/key-only" }).execute();
    return row(db, "/key-only");
  },
  "bulk insert": async (db) => {
    await insert(db, BULK).execute();
    return db.selectFrom("page_views").selectAll().where("path", ">=", "/a").where("path", "<=", "/e")
      .orderBy("path").execute();
  },
  increment: async (db) => {
    const { numUpdatedRows } = await add(db, "/", 1).executeTakeFirst();
    return [numUpdatedRows, ...(await row(db, "/"))];
  },
  save: async (db) => {
    const [page] = await row(db, "/");
    page.hits = 42;
    const { numUpdatedRows } = await db.updateTable("page_views").set(page).where("path", "=", page.path)
      .executeTakeFirst();
    return [numUpdatedRows, ...(await row(db, "/"))];
  },
  upsert: (db) => apart(db, "/upsert", async () => {
    await insert(db, { path: "/upsert", hits: 5 })
      .onConflict((conflict) => conflict.column("path").doUpdateSet({
        hits: (page) => page("page_views.hits", "+", page.ref("excluded.hits")),
      })).execute();
    return row(db, "/upsert");
  }),
  "insert or ignore": async (db) => {
    await insert(db, { path: "/", hits: 5, bytes: 5 }).orIgnore().execute();
    return row(db, "/");
  },
  replace: async (db) => {
    await insert(db, { path: "/b", hits: 7 }).orReplace().execute();
    return row(db, "/b");
  },
  returning: (db) => apart(db, "/returning", () => add(db, "/returning", 1).returning("hits").execute()),
  "delete and create": async (db) => {
    const { numDeletedRows } = await remove(db, "/a").executeTakeFirst();
    await insert(db, { path: "/a", hits: 3 }).execute();
    return [numDeletedRows, ...(await row(db, "/a"))];
  },
  join: async (db) => {
    await db.schema.createTable("pages").addColumn("path", "text", (column) => column.primaryKey())
      .addColumn("title", "text").execute();
    await db.insertInto("pages").values([{ path: "/", title: "Home" }, { path: "/c", title: "Chapter" }]).execute();
    return db.selectFrom("pages").innerJoin("page_views", "pages.path", "page_views.path")
      .select(["title", "hits"]).orderBy("title").execute();
  },
  paging: (db) => db.selectFrom("page_views").select(["path", "hits"]).orderBy("path").limit(2).offset(2).execute(),
  aggregate: (db) => db.selectFrom("page_views")
    .select(({ fn }) => [fn.sum("hits").as("sum"), fn.countAll().as("count")]).execute(),
  nested: async (db) => {
    const outer = await db.startTransaction().execute();
    await add(outer, "/c", 1).execute();
    const first = await outer.savepoint("inner").execute();
    await add(first, "/c", 10).execute();
    await first.rollbackToSavepoint("inner").execute();
    const second = await outer.savepoint("again").execute();
    await add(second, "/c", 100).execute();
    await second.releaseSavepoint("again").execute();
    await outer.commit().execute();
    return row(db, "/c");
  },
  rollback: async (db) => {
    await undone((undo) => db.transaction().execute(async (transaction) => {
      await add(transaction, "/", 1000).execute();
      await insert(transaction, { path: "/gone", hits: 1 }).execute();
      throw undo;
    }));
    return [...(await row(db, "/")), ...(await row(db, "/gone"))];
  },
  contents: (db) => db.selectFrom("page_views").selectAll().orderBy("path").execute(),
};

main({
  version: () => `${versionOf("kysely")} (${better.version()})`,
  open,
  close: (db) => db.destroy(),
  sql: raw,
  steps,
  count: (db, key) => db.transaction().execute(async (transaction) => {
    await add(transaction, "/", 1).execute();
    await insert(transaction, { path: key, hits: 1 }).execute();
  }),
});
