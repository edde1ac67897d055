// tokens.cjs - who may use a server: tokens, one for each device, and the ids that are bound to them.
//
// They stand in the served file. Of a token it has the SHA-256 in hexadecimal digits. The library binds ids to them as lines come:
// counter_receive().
"use strict";

const { createHash, randomBytes } = require("crypto");

const { inTransaction, withConnection } = require("./drivers.cjs");

const TABLES = `
CREATE TABLE IF NOT EXISTS counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);`;
const HAS_SOURCES = "SELECT 1 FROM sqlite_master WHERE name = 'counter_http_sources'";
const FORGET_SOURCES = "DELETE FROM counter_http_sources WHERE token = :a";
const HAS_TABLES =
  "SELECT CAST(count(*) AS TEXT) AS n FROM sqlite_master WHERE name IN ('counter_http_tokens', 'counter_http_ids')";
const DEVICE = "SELECT device FROM counter_http_tokens WHERE token = :a";
const TOKEN = "SELECT token FROM counter_http_tokens WHERE device = :a";
const TOKEN_OF_ID = "SELECT token FROM counter_http_ids WHERE id = lower(:a)";
const ADD = "INSERT INTO counter_http_tokens(token, device) VALUES (:a, :b)";
const REMOVE = "DELETE FROM counter_http_tokens WHERE token = :a";
const MOVE = "UPDATE counter_http_ids SET token = :b WHERE token = :a";
const HAS_PEERS = "SELECT 1 FROM sqlite_master WHERE name = 'counter_peers'";
const FORGET = `
DELETE FROM counter_peers
 WHERE lower(hex(id)) NOT IN (SELECT replace(id, '-', '') FROM counter_http_ids WHERE token <> :a)`;
const LIST = `
SELECT device, coalesce((SELECT json_group_array(id) FROM counter_http_ids AS i WHERE i.token = t.token), '[]') AS ids
  FROM counter_http_tokens AS t ORDER BY device`;

const digestOf = (token) => createHash("sha256").update(token).digest("hex");

function* hasTables(connection) {
  const [{ n }] = yield connection.all(HAS_TABLES);
  return n === "2";
}

/* ---- for people ------------------------------------------------------------------------------ */

// `isOld`: also by an id that is bound to it, even when the token is gone.
function* tokenOf(connection, device, isOld = false) {
  const has = yield* hasTables(connection);
  let [found] = has ? yield connection.all(TOKEN, device) : [];
  if (has && isOld && !found) [found] = yield connection.all(TOKEN_OF_ID, device);
  if (!found) throw new Error(`sqlite-counter: no token was given to the device ${device}`);
  return found.token;
}

function checkDevice(device) {
  if (typeof device !== "string" || device === "")
    throw new TypeError(`sqlite-counter: device must be a name, not ${device}`);
}

// All of `work`, or nothing.
const change = (db, work) => withConnection(db, (connection) => connection.run(inTransaction, () => work(connection)));

async function addToken(db, device) {
  checkDevice(device);
  const token = randomBytes(32).toString("base64url");
  await change(db, function* (connection) {
    yield connection.exec(TABLES);
    const [there] = yield connection.all(TOKEN, device);
    if (there)
      throw new Error(`sqlite-counter: the device ${device} has a token: give the new one another name, or remove that`);
    yield connection.all(ADD, digestOf(token), device);
  });
  return token;
}

// The device that goes on with the ids may have uploaded shards of them that were skipped: it uploads all once more.
function* move(connection, token, to) {
  if (token === to) throw new Error("sqlite-counter: a token cannot hand its ids on to itself");
  yield connection.all(MOVE, token, to);
  if ((yield connection.all(HAS_PEERS)).length > 0) yield connection.all(FORGET, to);
}

// Its ids stay bound to it, or move to the token of another device.
async function removeToken(db, device, { to } = {}) {
  checkDevice(device);
  await change(db, function* (connection) {
    const token = yield* tokenOf(connection, device, true);
    if (to !== undefined) yield* move(connection, token, yield* tokenOf(connection, to));
    if ((yield connection.all(HAS_SOURCES)).length > 0) yield connection.all(FORGET_SOURCES, token);
    yield connection.all(REMOVE, token);
  });
}

function tokens(db) {
  return withConnection(db, (connection) => connection.run(listTokens));
}

function* listTokens(connection) {
  const rows = (yield* hasTables(connection)) ? yield connection.all(LIST) : [];
  return rows.map(({ device, ids }) => ({ device, ids: JSON.parse(ids) }));
}

/* ---- for the server -------------------------------------------------------------------------- */

// The device that has a token, undefined if none has; by the SHA-256 of it, so that the time of a search tells nothing.
function* deviceOf(connection, digest) {
  const [found] = (yield* hasTables(connection)) ? yield connection.all(DEVICE, digest) : [];
  return found?.device;
}

module.exports = { addToken, deviceOf, digestOf, removeToken, tokens };
