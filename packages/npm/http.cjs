// http.cjs - syncHttp: exchanges changes with a server, as client.cjs does, by http and https of Node.
"use strict";

const zlib = require("zlib");
const { promisify } = require("util");

const { NEXT, serverOf, synchronize } = require("./client.cjs");
const { inTransaction, isLocked, withConnection } = require("./drivers.cjs");
const { SyncError } = require("./errors.cjs");
const { gunzip } = require("./gzip.cjs");
const lines = require("./lines.cjs");

const TIMEOUT = 60000; // milliseconds in which nothing comes

const gzip = promisify(zlib.gzip);

/* ---- one request ----------------------------------------------------------------------------- */

// A certificate that is not accepted will not be at the next try. Node says so of the socket, and gives no class of its errors.
function failure(error, socket, { url }) {
  if (!error.code || error.code !== socket?.authorizationError) return error;
  const advice = "NODE_EXTRA_CA_CERTS names a file of certificates to trust";
  return new SyncError(`${url}: its certificate is not accepted: ${error.message.replace(/\.$/, "")}: ${advice}`, {
    url: String(url),
    cause: error,
  });
}

function request(server, url, body) {
  return new Promise((resolve, reject) => {
    const request = require(url.protocol === "https:" ? "https" : "http").request(url, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${server.token}`,
        "Accept-Encoding": "gzip",
        "Content-Type": "application/x-ndjson",
        "Content-Encoding": "gzip",
        "Content-Length": body.length,
      },
    });
    request.setTimeout(TIMEOUT, () => request.destroy(new Error(`no answer within ${TIMEOUT / 1000} seconds`)));
    request.on("error", (error) => reject(failure(error, request.socket, server)));
    request.on("response", resolve);
    request.end(body);
  });
}

// The bytes of an answer; one that is cut short is an error.
const bodyOf = (response) => {
  if (response.headers["content-encoding"] === "gzip") return gunzip(response);
  response.on("aborted", () => response.destroy(new Error("it was cut short")));
  return response;
};

const transport = {
  name: "syncHttp()",
  pack: (text) => gzip(Buffer.from(text)),
  async open(server, url, body) {
    const response = await request(server, url, body);
    const isRedirect = response.statusCode >= 300 && response.statusCode < 400;
    return {
      status: response.statusCode,
      location: isRedirect && response.headers.location,
      after: 1000 * Number(response.headers["retry-after"]),
      bytes: () => bodyOf(response),
    };
  },
};

/* ---- the file -------------------------------------------------------------------------------- */

// A SELECT that writes does not wait for a lock: the transaction around it does.
const runHere = (connection, step, ...args) =>
  step === "hear"
    ? connection.run(inTransaction, () => lines.hear(connection, ...args))
    : connection.run(lines[step], ...args);

const fileOf = (connection) => ({
  run: (step, ...args) => runHere(connection, step, ...args),
  isLocked,
});

async function syncWith(connection, server) {
  if (connection.isInTransaction()) throw new SyncError("syncHttp() was called within a transaction: commit it before");
  try {
    return await synchronize(fileOf(connection), server);
  } catch (error) {
    if (error instanceof SyncError || !isLocked(error)) throw error;
    throw new SyncError(`the database is locked: ${error.message}. ${NEXT}`, { cause: error });
  }
}

async function syncHttp(db, url, token, { scope } = {}) {
  const server = serverOf(transport, url, token, scope);
  return withConnection(db, (connection) => syncWith(connection, server));
}

module.exports = { syncHttp };
