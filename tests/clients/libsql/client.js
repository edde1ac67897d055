// client.js - libsql: the interface of better-sqlite3, but a fork of SQLite, and it binds every number as REAL.
const { main } = require("../node/steps");
const { client } = require("../node/better");

main(client("libsql"));
