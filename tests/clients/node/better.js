// better.js - better-sqlite3, and what has its interface, with the extension loaded.
const { lib, load, versionOf } = require("./steps");
const { steps, count } = require("./sql");

// Opens a file as the package of that name does; extension and busy timeout are set.
function open(name, file) {
  const Database = load(name);
  const db = new Database(file, { timeout: 10000 });
  db.loadExtension(lib);
  return db;
}

const sqliteVersion = (name) => {
  const Database = load(name);
  return new Database(":memory:").prepare("SELECT sqlite_version() AS version").get().version;
};

const client = (name) => ({
  version: () => `${versionOf(name)} (SQLite ${sqliteVersion(name)})`,
  open: (file) => {
    const db = open(name, file);
    return {
      db,
      run: (sql, ...values) => db.prepare(sql).run(...values).changes,
      all: (sql, ...values) => db.prepare(sql).all(...values),
    };
  },
  close: ({ db }) => db.close(),
  sql: async ({ db }, text) => {
    const statement = db.prepare(text);
    return statement.reader ? statement.all() : statement.run();
  },
  steps,
  count,
});

// For clients that are built on better-sqlite3; the name says where it is.
const version = (name = "better-sqlite3") => `better-sqlite3 ${versionOf(name)}, SQLite ${sqliteVersion(name)}`;

module.exports = { open: (file) => open("better-sqlite3", file), version, client };
