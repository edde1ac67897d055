// handler.cjs - serves one file to devices that call syncHttp(), or anything else that speaks its request, POST /sync: docs/batches.md.
//
// For node:http and for Express. A status other than 200 means that nothing was changed.
"use strict";

const { Readable, pipeline } = require("stream");
const zlib = require("zlib");

const { checkFile, connect, isLocked, isOurs, isTooBig } = require("./drivers.cjs");
const { gunzip } = require("./gzip.cjs");
const { FORMAT, readSource, readWindow } = require("./lines.cjs");
const { deviceOf, digestOf } = require("./tokens.cjs");

const MAX_BODY = 16 * 2 ** 20; // bytes, as they came or decompressed
const SHORT = 65536; // characters of an answer that is sent at once
const ZIPPED = { level: 1 };
const LINGER = 2000; // milliseconds in which a client that was refused may read why
const DRAINED = 30000; // milliseconds in which a client that is refused may send on
const RECEIVE = "SELECT counter_receive(:a, :b, :c, CAST(:d AS INTEGER)) AS answer";

/* ---- answers --------------------------------------------------------------------------------- */

// Ends a request with a status and a sentence.
class Refusal extends Error {
  constructor(status, message, headers = {}) {
    super(message);
    Object.assign(this, { status, headers });
  }
}

function refusalOf(error) {
  if (error instanceof Refusal) return error;
  if (isLocked(error)) return new Refusal(503, "the file is locked: repeat the request", { "Retry-After": "1" });
  return new Refusal(500, error.message);
}

const acceptsGzip = (request) => /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(request.headers["accept-encoding"] ?? "");

// Answers with texts: short ones at once, others one after the other, as the client takes them.
function send(request, response, texts) {
  const isZipped = acceptsGzip(request);
  const headers = {
    "Content-Type": "application/x-ndjson",
    "Cache-Control": "no-store",
    Vary: "Accept-Encoding, Authorization",
    ...(isZipped ? { "Content-Encoding": "gzip" } : {}),
  };
  if (texts.reduce((sum, { length }) => sum + length, 0) <= SHORT) {
    const text = Buffer.from(texts.join(""));
    const body = isZipped ? zlib.gzipSync(text, ZIPPED) : text;
    response.writeHead(200, { ...headers, "Content-Length": body.length });
    return void response.end(body);
  }
  response.writeHead(200, headers);
  const parts = isZipped ? [zlib.createGzip(ZIPPED)] : [];
  pipeline(Readable.from(texts), ...parts, response, () => {}); // a client that has gone asks again
}

// A client that sends first and listens then would get no answer, if it were cut off while it sends.
function drained(request) {
  if (request.complete || request.destroyed) return undefined;
  request.unpipe?.();
  request.removeAllListeners("data");
  request.resume();
  return new Promise((resolve) => {
    for (const event of ["end", "close", "error"]) request.once(event, resolve);
    setTimeout(resolve, DRAINED).unref();
  });
}

async function refuse(request, response, refusal) {
  if (response.headersSent) return void response.destroy();
  if (refusal.status === 413) await drained(request);
  const isUnread = !request.complete;
  response.writeHead(refusal.status, {
    "Content-Type": "application/json",
    ...(isUnread ? { Connection: "close" } : {}),
    ...refusal.headers,
  });
  response.end(JSON.stringify({ error: refusal.message }));
  if (!isUnread) return;
  request.unpipe?.();
  request.resume(); // a client that is still writing would not read the answer
  setTimeout(() => request.destroy(), LINGER).unref();
}

/* ---- bodies ---------------------------------------------------------------------------------- */

const tooLarge = (limit) =>
  new Refusal(413, `the body has more than ${limit} bytes: send fewer lines at once, or raise maxBody`);

function decoded(request) {
  const coding = (request.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (coding === "identity") return request;
  if (coding !== "gzip") throw new Refusal(415, `the Content-Encoding must be gzip or identity, not ${coding}`);
  return gunzip(request);
}

function readBody(request, limit) {
  if (request.readableEnded || request.body instanceof Buffer || typeof request.body === "string")
    throw new Refusal(
      500,
      "the body was read before handler() got it: call handler() before express.json(), express.text() and other parsers"
    );
  if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
  const stream = decoded(request);
  return new Promise((resolve, reject) => {
    const chunks = [];
    let [came, size] = [0, 0];
    const count = () => (size > limit || came > limit) && reject(tooLarge(limit));
    if (stream !== request)
      request.on("data", (chunk) => {
        came += chunk.length;
        count();
      });
    stream.on("data", (chunk) => {
      size += chunk.length;
      if (size > limit) stream.pause();
      else chunks.push(chunk);
      count();
    });
    stream.on("end", () => resolve(Buffer.concat(chunks)));
    const cut = (error) => reject(new Refusal(400, `the body was cut short: ${error?.message ?? "the connection ended"}`));
    stream.on("error", cut);
    request.on("aborted", cut);
  });
}

/* ---- requests -------------------------------------------------------------------------------- */

function bad(error) {
  if (isOurs(error) || error instanceof Refusal) return error;
  return new Refusal(isTooBig(error) ? 413 : 400, error.message);
}

function numberOf(parameters, name) {
  const text = parameters.get(name);
  if (text === null) return null;
  if (!/^\d{1,19}$/.test(text) || BigInt(text) >= 2n ** 63n)
    throw new Refusal(400, `${name} must be a whole number from 0 on, not '${text}'`);
  return BigInt(text);
}

// Lines for a device that has `since` of `of`; in one snapshot, which ends before they are sent.
function* give(connection, { since, of, scope }, leftOut) {
  const [begin, end] = connection.isInTransaction() ? ["", ""] : ["BEGIN", "COMMIT"];
  yield connection.exec(begin);
  try {
    const source = yield* readSource(connection, scope);
    const query = { since: of === source ? since : 0n, own: false, scope, ...leftOut };
    const { lines, isLast } = since === null ? { lines: [], isLast: false } : yield* readWindow(connection, query);
    return { source, more: !isLast, lines };
  } finally {
    yield connection.exec(end);
  }
}

function* receive(connection, digest, body, by, mine) {
  if ((yield* deviceOf(connection, digest)) === undefined) throw unauthorized(); // it was removed meanwhile
  return (yield connection.all(RECEIVE, digest, body, by, mine))[0].answer;
}

// All of an answer is made before any of it is sent.
async function answer({ writes, reads }, token, body, asked) {
  const received = await (body.length > 0 ? writes : reads).run(receive, token, body, asked.by, asked.mine);
  const [, mine] = /^\{"left_out":(\d+)/.exec(received) ?? [undefined, "0"];
  const { source, more, lines } = await reads.run(give, asked, mine === "0" ? {} : { of: asked.by, mine });
  const head = `{"format":${FORMAT},"source":${JSON.stringify(source)},"more":${more},${received.slice(1)}`;
  return [head, ...lines].map((line) => `${line}\n`);
}

async function serveRequest(file, request, response, parameters, maxBody) {
  const token = await authorize(file.reads, request);
  const [by, of, scope] = ["by", "of", "scope"].map((name) => parameters.get(name));
  const asked = { since: numberOf(parameters, "since"), mine: numberOf(parameters, "mine")?.toString() ?? null, by, of, scope };
  const body = await readBody(request, maxBody);
  const texts = await answer(file, token, body, asked).catch((error) => {
    throw bad(error);
  });
  send(request, response, texts);
}

const unauthorized = () =>
  new Refusal(401, "the token is missing or unknown: addToken() gives one to each device", { "WWW-Authenticate": "Bearer" });

// The digest of the token of a request.
async function authorize(connection, request) {
  const [, token] = /^Bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(request.headers.authorization ?? "") ?? [];
  const digest = digestOf(token ?? "");
  if (!token || (await connection.run(deviceOf, digest)) === undefined) throw unauthorized();
  return digest;
}

// Express cuts off the path at which the handler was put.
const urlOf = (request) => new URL((request.originalUrl ?? request.url).replace(/^\/+/, "/"), "http://localhost");

// A connection that cannot write reads its changes itself, without another one for each request.
async function openBoth(db) {
  const writes = await connect(db);
  if (typeof db !== "string") return { writes, reads: writes };
  const reads = await connect(db);
  reads.exec("PRAGMA query_only = ON");
  return { writes, reads };
}

function handler(db, { maxBody = MAX_BODY, prefix = "/sync" } = {}) {
  if (typeof db === "string") checkFile(db);
  const opened = openBoth(db);
  opened.catch(() => {}); // each request is told
  const base = prefix.replace(/\/+$/, "");

  const serve = async (request, response, next) => {
    const url = urlOf(request);
    if (url.pathname.replace(/\/$/, "") !== base) {
      if (next) return next();
      throw new Refusal(404, `there is nothing at ${url.pathname}: the URL of this server ends with ${base || "its port"}`);
    }
    if (request.method !== "POST") throw new Refusal(405, "the method must be POST", { Allow: "POST" });
    await serveRequest(await opened, request, response, url.searchParams, maxBody);
  };
  const handle = (request, response, next) =>
    serve(request, response, next).catch((error) => refuse(request, response, refusalOf(error)));
  handle.close = async () => {
    for (const connection of new Set(Object.values(await opened))) await connection.close();
  };
  return handle;
}

module.exports = { handler };
