// client.js - npm's sqlite3: asynchronous, binds every number as REAL or INTEGER by its value.
const { lib, load, versionOf, main } = require("../node/steps");
const { steps, count } = require("../node/sql");
const sqlite3 = load("sqlite3");

// Calls a method that takes a callback, and returns a promise of its result.
const promise = (db, method, ...values) =>
  new Promise((resolve, reject) => {
    db[method](...values, function (error, result) {
      if (error) reject(error);
      else resolve(result ?? this.changes);
    });
  });

class Connection {
  run(sql, ...values) {
    return promise(this.db, "run", sql, ...values);
  }
  all(sql, ...values) {
    return promise(this.db, "all", sql, ...values);
  }
}

async function open(file) {
  const connection = new Connection();
  await new Promise((resolve, reject) => {
    connection.db = new sqlite3.Database(file, (error) => (error ? reject(error) : resolve()));
  });
  connection.db.configure("busyTimeout", 10000);
  await promise(connection.db, "loadExtension", lib);
  return connection;
}

main({
  version: () => `${versionOf("sqlite3")} (SQLite ${sqlite3.VERSION})`,
  open,
  close: ({ db }) => promise(db, "close"),
  sql: (connection, text) => connection.all(text),
  steps,
  count,
});
