// http.cjs - syncHttp: uploads what a file has counted to a server, then downloads what it has not seen.
"use strict";

const zlib = require("zlib");
const { promisify } = require("util");

const { FORMAT, countApart, readEnd, readMark, readSource, readWindow, scopeText, take } = require("./batches.cjs");
const { isLocked, withConnection } = require("./drivers.cjs");
const { SyncError } = require("./errors.cjs");
const { gunzip, splitLines, textOf } = require("./lines.cjs");
const SQL = require("./statements.cjs");

const BODY = 4 * 2 ** 20; // bytes of a body, and of a transaction, or one line
const MAX_ANSWER = 2 ** 20; // bytes of an answer that is no download
const TIMEOUT = 60000; // milliseconds in which nothing comes
const TRIES = 3;
const PAUSE = 500; // milliseconds before the second try
const LONGEST_PAUSE = 10000;

const gzip = promisify(zlib.gzip);
const NEXT = "Nothing is lost: the next call goes on";

/* ---- one request ----------------------------------------------------------------------------- */

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// A redirect is not followed: the token is for this server.
function open(server, method, url, body) {
  return new Promise((resolve, reject) => {
    const request = require(url.protocol === "https:" ? "https" : "http").request(url, {
      method,
      headers: {
        Authorization: `Bearer ${server.token}`,
        "Accept-Encoding": "gzip",
        ...(body
          ? { "Content-Type": "application/x-ndjson", "Content-Encoding": "gzip", "Content-Length": body.length }
          : {}),
      },
    });
    request.setTimeout(TIMEOUT, () => request.destroy(new Error(`no answer within ${TIMEOUT / 1000} seconds`)));
    request.on("error", reject);
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

async function textOfAnswer(response) {
  const chunks = [];
  let size = 0;
  for await (const chunk of bodyOf(response)) {
    size += chunk.length;
    if (size > MAX_ANSWER) throw new Error(`the answer has more than ${MAX_ANSWER} bytes`);
    chunks.push(chunk);
  }
  return textOf(Buffer.concat(chunks));
}

const ADVICE = {
  401: "give the token that the server's administrator has made for this device",
  404: "is this the URL of a sqlite-counter server?",
  413: "the server must take larger bodies: its administrator raises their limit",
};

// What the server says of a status other than 200.
async function refusal(response, url) {
  const status = response.statusCode;
  const text = await textOfAnswer(response).catch(() => "");
  let said = "";
  try {
    said = JSON.parse(text).error ?? "";
  } catch (_) {
    // some other server, or a proxy
  }
  const isRedirect = status >= 300 && status < 400;
  const advice = isRedirect
    ? `it has moved to ${response.headers.location}: call syncHttp() with that URL`
    : (ADVICE[status] ?? NEXT);
  return new SyncError(`${url}: the server answered ${status}${said ? `: ${said}` : ""}: ${advice}`, {
    url: String(url),
    status,
  });
}

const isFinal = (error) => error instanceof SyncError && error.status !== 503;

// A request that got no answer is repeated, and one that found the file locked. `read(response)` takes the answer.
async function ask(server, method, url, body, read) {
  for (let tried = 1; ; tried++) {
    try {
      const response = await open(server, method, url, body);
      if (response.statusCode === 200) return await read(response);
      const refused = await refusal(response, url);
      refused.after = 1000 * Number(response.headers["retry-after"]);
      throw refused;
    } catch (error) {
      if (isFinal(error) || error.isOurs) throw error;
      if (tried < TRIES) await pause(Math.min(error.after || PAUSE * 2 ** (tried - 1), LONGEST_PAUSE));
      else if (error instanceof SyncError) throw error;
      else throw new SyncError(`${url}: ${error.message || error.code}. ${NEXT}`, { url: String(url), cause: error });
    }
  }
}

const askJson = (server, method, url, body) => ask(server, method, url, body, textOfAnswer);

/* ---- up and down ----------------------------------------------------------------------------- */

function urlAt(base, path, parameters) {
  const url = new URL(base);
  url.pathname = url.pathname.replace(/\/+$/, "") + path;
  for (const [name, value] of Object.entries(parameters)) if (value !== null) url.searchParams.set(name, value);
  return url;
}

const notOurs = (url, cause) =>
  new SyncError(`${url}: the answer is not that of a sqlite-counter server: is the URL right?`, {
    url: String(url),
    status: 200,
    cause,
  });

// What the server gives, and its mark of ours; SQLite reads the number.
async function askState(connection, server, name) {
  const url = urlAt(server.url, "", { source: name, scope: server.scope });
  const text = await askJson(server, "GET", url);
  try {
    const [state] = await connection.query(
      "SELECT json_extract(:a, '$.format') <= :b AS isKnown, CAST(json_extract(:a, '$.source') AS TEXT) AS source, " +
        "CASE json_type(:a, '$.mark') WHEN 'integer' THEN CAST(json_extract(:a, '$.mark') AS TEXT) END AS mark",
      text,
      FORMAT
    );
    if (state.source !== null && state.mark !== null && Number(state.isKnown) === 1)
      return { ...state, mark: BigInt(state.mark) };
    if (Number(state.isKnown) === 0)
      throw new SyncError(`${url}: the server speaks a newer format: install a newer sqlite-counter`, {
        url: String(url),
        status: 200,
      });
  } catch (error) {
    if (error instanceof SyncError || isLocked(error)) throw error;
  }
  throw notOurs(url);
}

// Bodies of up to BODY bytes, and at least one line.
function* bodies(lines) {
  let [some, size] = [[], 0];
  for (const line of lines) {
    const bytes = Buffer.byteLength(line) + 1;
    if (some.length > 0 && size + bytes > BODY) {
      yield some;
      [some, size] = [[], 0];
    }
    some.push(line);
    size += bytes;
  }
  if (some.length > 0) yield some;
}

// What an upload has brought: the shards that were skipped, and the server's mark of `own`.
async function receivedOf(connection, text, url, own) {
  const [{ skipped, mark }] = await connection
    .query(
      "SELECT CAST(json_extract(:a, '$.skipped') AS TEXT) AS skipped, " +
        "(SELECT CAST(value AS TEXT) FROM json_each(:a, '$.marks') WHERE key = :b AND type = 'integer') AS mark",
      text,
      own
    )
    .catch((cause) => {
      throw isLocked(cause) ? cause : notOurs(url, cause);
    });
  if (skipped === null || mark === null) throw notOurs(url);
  return { skipped: Number(skipped), mark: BigInt(mark) };
}

const BOUND =
  "it skips what this file has counted, for the id of the file is bound to another token: whoever runs the server moves it " +
  "to this one by removeToken(OLD, { to: NEW }); then everything is uploaded once more";

// A mark beyond the changes of the file is that of a later copy, or was made up: the server gets everything again. One that
// stays behind what was uploaded tells that the id of the file is bound to another token.
async function upload(connection, server, own, mark) {
  const result = { gave: 0, skipped: 0, warnings: [] };
  const end = BigInt(await connection.run(() => readEnd(connection)));
  const query = { since: mark > end ? 0n : mark, own: true, scope: null };
  let reached = query.since;
  for (let isLast = false; !isLast;) {
    const window = await connection.run(() => readWindow(connection, query, BODY));
    if (window.news === 0) break;
    for (const lines of bodies(window.lines)) {
      const body = await gzip(Buffer.from(`${lines.join("\n")}\n`));
      const url = urlAt(server.url, "/changes", {});
      const received = await receivedOf(connection, await askJson(server, "POST", url, body), url, own);
      result.skipped += received.skipped;
      reached = received.mark;
    }
    result.gave += window.news;
    ({ upto: query.since, isLast } = window);
  }
  if (reached < query.since) result.warnings.push({ url: String(server.url), message: `${server.url}: ${BOUND}` });
  return result;
}

// Merges the lines of one answer, some in each transaction.
async function takeAnswer(connection, response, url, source) {
  const accept = function* (batch) {
    if (batch.source !== source) throw new Error(`it is of ${batch.source}, not of ${source}`);
  };
  let [lines, size, changes] = [[], 0, 0];
  const merge = async () => {
    try {
      changes += (await take(connection, lines, { accept })).changes;
    } catch (error) {
      if (isLocked(error)) throw Object.assign(error, { isOurs: true });
      throw new SyncError(`${url}: ${error.message}`, { url: String(url), status: 200, cause: error });
    }
    [lines, size] = [[], 0];
  };
  for await (const line of splitLines(bodyOf(response))) {
    lines.push(textOf(line));
    size += line.length;
    if (size >= BODY) await merge();
  }
  if (lines.length > 0) await merge();
  return changes;
}

async function download(connection, server, source) {
  const markNow = () => connection.run(() => readMark(connection, source, null));
  let took = 0;
  for (let mark = await markNow(), before = -1n; mark > before;) {
    const url = urlAt(server.url, "/changes", { since: String(mark), scope: server.scope });
    took += await ask(server, "GET", url, undefined, (response) => takeAnswer(connection, response, url, source));
    [before, mark] = [mark, await markNow()];
  }
  return took;
}

async function synchronize(connection, server) {
  if (connection.isInTransaction()) throw new SyncError("syncHttp() was called within a transaction: commit it before");
  try {
    await connection.query(SQL.SETTLE);
    const own = await connection.run(() => readSource(connection, { own: true, scope: null }));
    let { source, mark } = await askState(connection, server, own);
    const given = await upload(connection, server, own, mark);
    // A server that is a copy takes an id of its own when it first merges.
    if (given.gave > 0) ({ source } = await askState(connection, server, own));
    const took = await download(connection, server, source);
    return { ...given, took, apart: await countApart(connection) };
  } catch (error) {
    if (error instanceof SyncError || !isLocked(error)) throw error;
    throw new SyncError(`the database is locked: ${error.message}. ${NEXT}`, { cause: error });
  }
}

function checkedUrl(text) {
  try {
    const url = new URL(text);
    if (/^https?:$/.test(url.protocol) && !url.username && !url.password) return url;
  } catch (_) {
    // said below
  }
  throw new SyncError(`${text}: the URL must begin with https:// or http:// and have no password in it`, {
    url: String(text),
  });
}

async function syncHttp(db, url, token, { scope } = {}) {
  const server = { url: checkedUrl(url), token, scope: scopeText(scope) };
  if (!/^[A-Za-z0-9._~+/=-]+$/.test(token))
    throw new SyncError("token must be the text that addToken() has returned", { url: String(url), status: 401 });
  return withConnection(db, (connection) => synchronize(connection, server));
}

module.exports = { syncHttp };
