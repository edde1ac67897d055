// client.js - Sequelize, on npm's sqlite3. Each transaction has a connection of its own.
const { lib, load, versionOf, create, undone, main, BULK } = require("../node/steps");
const { Sequelize, DataTypes, Op, fn, col } = load("sequelize");
const sqlite3 = load("sqlite3");

// The only way in before a connection is used: Sequelize calls no hook for SQLite.
class Database extends sqlite3.Database {
  constructor(file, flags, opened) {
    super(file, flags, (error) => {
      if (error) return opened(error);
      this.configure("busyTimeout", 10000);
      this.loadExtension(lib, opened);
    });
  }
}

function open(file) {
  const db = new Sequelize({
    dialect: "sqlite", storage: file, logging: false, dialectModule: { ...sqlite3, Database },
    define: { timestamps: false, freezeTableName: true },
  });
  const number = () => ({ type: DataTypes.INTEGER, allowNull: false, defaultValue: 0 });
  db.define("page_views", { path: { type: DataTypes.TEXT, primaryKey: true }, hits: number(), bytes: number() });
  db.define("pages", { path: { type: DataTypes.STRING, primaryKey: true }, title: DataTypes.STRING });
  db.models.pages.belongsTo(db.models.page_views, { foreignKey: "path", constraints: false });
  return db;
}

const raw = async (db, text) => (await db.query(text))[0];
const views = (db) => db.models.page_views;
const plain = (models) => models.map((model) => model.get({ plain: true }));
const row = async (db, path) => plain(await views(db).findAll({ where: { path } }));
const add = (db, path, n, options) => views(db).increment({ hits: n }, { where: { path }, ...options });

async function apart(db, path, work) {
  await views(db).create({ path, hits: 1 });
  try {
    return await work();
  } finally {
    await views(db).destroy({ where: { path } });
  }
}

const steps = {
  create: (db) => create((text) => raw(db, text), () => views(db).sync()),
  introspect: async (db) =>
    Object.entries(await db.getQueryInterface().describeTable("page_views")).map(([name, { type }]) => [name, type]),
  insert: async (db) => {
    await views(db).create({ path: "/", hits: 1, bytes: 100 });
    return row(db, "/");
  },
  "insert defaults": async (db) => {
    await views(db).create({ path: "/key-only" });
    return row(db, "/key-only");
  },
  "bulk insert": async (db) => {
    await views(db).bulkCreate(BULK);
    return plain(await views(db).findAll({ where: { path: { [Op.between]: ["/a", "/e"] } }, order: ["path"] }));
  },
  increment: async (db) => {
    await add(db, "/", 1);
    return row(db, "/");
  },
  save: async (db) => {
    const page = await views(db).findByPk("/");
    page.hits = 42;
    await page.save();
    return row(db, "/");
  },
  upsert: (db) => apart(db, "/upsert", async () => {
    await views(db).upsert({ path: "/upsert", hits: 5 });
    return row(db, "/upsert");
  }),
  "insert or ignore": async (db) => {
    await views(db).bulkCreate([{ path: "/", hits: 5, bytes: 5 }], { ignoreDuplicates: true });
    return row(db, "/");
  },
  replace: async (db) => {
    await db.query("INSERT OR REPLACE INTO page_views(path, hits) VALUES ($1, $2)", { bind: ["/b", 7] });
    return row(db, "/b");
  },
  returning: (db) => apart(db, "/returning", async () => {
    const page = await views(db).findByPk("/returning");
    await page.increment("hits");
    await page.reload();
    return page.hits;
  }),
  "delete and create": async (db) => {
    const deleted = await views(db).destroy({ where: { path: "/a" } });
    await views(db).create({ path: "/a", hits: 3 });
    return [deleted, ...(await row(db, "/a"))];
  },
  join: async (db) => {
    const { pages } = db.models;
    await pages.sync();
    await pages.bulkCreate([{ path: "/", title: "Home" }, { path: "/c", title: "Chapter" }]);
    const found = await pages.findAll({ include: { model: views(db), required: true }, order: ["title"] });
    return found.map(({ title, page_view }) => [title, page_view.hits]);
  },
  paging: async (db) =>
    plain(await views(db).findAll({ attributes: ["path", "hits"], order: ["path"], limit: 2, offset: 2 })),
  aggregate: async (db) =>
    plain(await views(db).findAll({ attributes: [[fn("sum", col("hits")), "sum"], [fn("count", col("*")), "count"]] })),
  nested: async (db) => {
    await db.transaction(async (outer) => {
      await add(db, "/c", 1, { transaction: outer });
      await undone((undo) => db.transaction({ transaction: outer }, async (inner) => {
        await add(db, "/c", 10, { transaction: inner });
        throw undo;
      }));
      await db.transaction({ transaction: outer }, (inner) => add(db, "/c", 100, { transaction: inner }));
    });
    return row(db, "/c");
  },
  rollback: async (db) => {
    await undone((undo) => db.transaction(async (transaction) => {
      await add(db, "/", 1000, { transaction });
      await views(db).create({ path: "/gone", hits: 1 }, { transaction });
      throw undo;
    }));
    return [...(await row(db, "/")), ...(await row(db, "/gone"))];
  },
  contents: async (db) => plain(await views(db).findAll({ order: ["path"] })),
};

main({
  version: () => `${versionOf("sequelize")} (sqlite3 ${versionOf("sqlite3")}, SQLite ${sqlite3.VERSION})`,
  open,
  close: (db) => db.close(),
  sql: raw,
  steps,
  count: (db, path) => db.transaction(async (transaction) => {
    await add(db, "/", 1, { transaction });
    await views(db).create({ path, hits: 1 }, { transaction });
  }),
});
