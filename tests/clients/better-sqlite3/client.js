// client.js - better-sqlite3: synchronous, binds every number as REAL.
const { main } = require("../node/steps");
const { client } = require("../node/better");

main(client("better-sqlite3"));
