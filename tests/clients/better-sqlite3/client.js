// client.js - better-sqlite3: synchronous, binds every number as REAL.
const { lib, load, main } = require("../node/steps");
const { steps, count } = require("../node/sql");
const Database = load("better-sqlite3");

class Connection {
  constructor(file) {
    this.db = new Database(file, { timeout: 10000 });
    this.db.loadExtension(lib);
  }
  run(sql, ...values) {
    return this.db.prepare(sql).run(...values).changes;
  }
  all(sql, ...values) {
    return this.db.prepare(sql).all(...values);
  }
}

main({
  version: () => {
    const { version } = load("better-sqlite3/package.json");
    return `${version} (SQLite ${new Database(":memory:").prepare("SELECT sqlite_version()").pluck().get()})`;
  },
  open: (file) => new Connection(file),
  close: (connection) => connection.db.close(),
  sql: async ({ db }, text) => {
    const statement = db.prepare(text);
    return statement.reader ? statement.all() : statement.run();
  },
  steps,
  count,
});
