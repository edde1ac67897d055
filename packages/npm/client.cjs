// client.cjs - a sync by HTTP, whatever carries it: uploads what a file has counted, then downloads what it has not seen.
//
// http.cjs carries it in Node, the module for browsers by fetch(). Both give
//
//   file       query(sql, ...values), source(), end(), window(query, bytes), take(lines, source), mark(source), apart();
//              isLocked(error)
//   transport  open(server, method, url, body), which answers { status, location, after, text(most), lines() };
//              pack(lines), a body; `name`, what people call; `base` of relative URLs, if there are any
"use strict";

const { SyncError, plain } = require("./errors.cjs");
const { FORMAT, scopeText } = require("./giving.cjs");
const SQL = require("./statements.cjs");

const BODY = 4 * 2 ** 20; // bytes of a body, and of a transaction, or one line
const MAX_ANSWER = 2 ** 20; // bytes of an answer that is no download
const TRIES = 3;
const PAUSE = 500; // milliseconds before the second try
const LONGEST_PAUSE = 10000;

const NEXT = "Nothing is lost: the next call goes on";

/* ---- one request ----------------------------------------------------------------------------- */

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const ADVICE = {
  401: "give the token that the server's administrator has made for this device",
  404: "is this the URL of a sqlite-counter server?",
  413: "the server must take larger bodies: its administrator raises their limit",
};

// What the server says of a status other than 200. A redirect is not followed: the token is for this server.
async function refusal(server, answer, url) {
  const { status, location } = answer;
  const text = await answer.text(MAX_ANSWER).catch(() => "");
  let said = "";
  try {
    said = plain(JSON.parse(text).error ?? "").slice(0, 500);
  } catch (_) {
    // some other server, or a proxy
  }
  const advice = location
    ? `it has moved to ${plain(location).slice(0, 500)}: call ${server.name} with that URL`
    : (ADVICE[status] ?? NEXT);
  const answered = status ? `answered ${status}` : "redirects"; // browsers tell no more of it
  return new SyncError(`${url}: the server ${answered}${said ? `: ${said}` : ""}: ${advice}`, {
    url: String(url),
    status,
  });
}

const isFinal = (error) => error instanceof SyncError && error.status !== 503;

// A request that got no answer is repeated, and one that found the file locked. `read(answer)` takes the answer.
async function ask(server, method, url, body, read) {
  for (let tried = 1; ; tried++) {
    try {
      const answer = await server.open(server, method, url, body);
      if (answer.status === 200) return await read(answer);
      throw Object.assign(await refusal(server, answer, url), { after: answer.after });
    } catch (error) {
      if (isFinal(error) || error.isOurs) throw error;
      if (tried < TRIES) await pause(Math.min(error.after || PAUSE * 2 ** (tried - 1), LONGEST_PAUSE));
      else if (error instanceof SyncError) throw error;
      else throw new SyncError(`${url}: ${error.message || error.code}. ${NEXT}`, { url: String(url), cause: error });
    }
  }
}

const askJson = (server, method, url, body) => ask(server, method, url, body, (answer) => answer.text(MAX_ANSWER));

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

// SQLite reads the numbers of an answer. What else fails there is the file's.
async function readAnswer(file, url, sql, text, value) {
  try {
    return (await file.query(sql, text, value))[0];
  } catch (error) {
    throw /malformed JSON/.test(error.message) ? notOurs(url, error) : error;
  }
}

// What the server gives, and its mark of ours.
async function askState(file, server, name) {
  const url = urlAt(server.url, "", { source: name, scope: server.scope });
  const state = await readAnswer(file, url, SQL.STATE, await askJson(server, "GET", url), FORMAT);
  if (Number(state.isKnown) === 0 && state.isKnown !== null)
    throw new SyncError(`${url}: the server speaks a newer format: install a newer sqlite-counter`, {
      url: String(url),
      status: 200,
    });
  if (state.isKnown === null || state.source === null || state.mark === null) throw notOurs(url);
  return { source: state.source, mark: BigInt(state.mark) };
}

const bytesOf = (line) => new TextEncoder().encode(line).length;

// Bodies of up to BODY bytes, and at least one line.
function* bodies(lines) {
  let [some, size] = [[], 0];
  for (const line of lines) {
    const bytes = bytesOf(line) + 1;
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
async function giveBody(file, server, lines, own) {
  const url = urlAt(server.url, "/changes", {});
  const text = await askJson(server, "POST", url, await server.pack(lines));
  const { skipped, mark, warnings } = await readAnswer(file, url, SQL.RECEIVED, text, own);
  if (skipped === null || mark === null) throw notOurs(url);
  return { skipped: Number(skipped), mark: BigInt(mark), warnings: JSON.parse(warnings).map(plain) };
}

const BOUND =
  "it skips what this file has counted, for the id of the file is bound to another token: whoever runs the server moves it " +
  "to this one by removeToken(OLD, { to: NEW }); then everything is uploaded once more";

// A mark beyond the changes of the file is that of a later copy, or was made up: the server gets everything again. One that
// stays behind what was uploaded tells that the id of the file is bound to another token.
async function upload(file, server, own, mark) {
  const result = { gave: 0, skipped: 0, warnings: [] };
  const query = { since: mark > (await file.end()) ? 0n : mark, own: true, scope: null };
  const said = new Set();
  let reached = query.since;
  for (let isLast = false; !isLast;) {
    const window = await file.window(query, BODY);
    if (window.news === 0) break;
    for (const lines of bodies(window.lines)) {
      const received = await giveBody(file, server, lines, own);
      result.skipped += received.skipped;
      for (const each of received.warnings) said.add(`${server.url}: ${each}`);
      reached = received.mark;
    }
    result.gave += window.news;
    ({ upto: query.since, isLast } = window);
  }
  for (const message of said) result.warnings.push({ url: String(server.url), message });
  if (reached < query.since && said.size === 0) result.warnings.push({ url: String(server.url), message: `${server.url}: ${BOUND}` });
  return result;
}

// Merges the lines of one answer, some in each transaction.
async function takeAnswer(file, answer, url, source) {
  let [lines, size, changes] = [[], 0, 0];
  const merge = async () => {
    try {
      changes += await file.take(lines, source);
    } catch (error) {
      if (file.isLocked(error)) throw Object.assign(error, { isOurs: true });
      throw new SyncError(plain(`${url}: ${error.message}`), { url: String(url), status: 200, cause: error });
    }
    [lines, size] = [[], 0];
  };
  for await (const line of answer.lines()) {
    lines.push(line);
    size += line.length;
    if (size >= BODY) await merge();
  }
  if (lines.length > 0) await merge();
  return changes;
}

async function download(file, server, source) {
  let took = 0;
  for (let mark = await file.mark(source), before = -1n; mark > before;) {
    const url = urlAt(server.url, "/changes", { since: String(mark), scope: server.scope });
    took += await ask(server, "GET", url, undefined, (answer) => takeAnswer(file, answer, url, source));
    [before, mark] = [mark, await file.mark(source)];
  }
  return took;
}

async function synchronize(file, server) {
  const own = await file.source();
  await file.query(SQL.FORGET_WARNINGS);
  let { source, mark } = await askState(file, server, own);
  const given = await upload(file, server, own, mark);
  // A server that is a copy takes an id of its own when it first merges.
  if (given.gave > 0) ({ source } = await askState(file, server, own));
  const took = await download(file, server, source);
  const apart = await file.apart();
  const warnings = [...given.warnings, ...(await file.query(SQL.WARNINGS))];
  return { ...given, warnings, took, apart };
}

/* ---- the server ------------------------------------------------------------------------------ */

function checkedUrl(text, base) {
  try {
    const url = new URL(text, base);
    if (/^https?:$/.test(url.protocol) && !url.username && !url.password) return url;
  } catch (_) {
    // said below
  }
  throw new SyncError(`${text}: the URL must begin with https:// or http:// and have no password in it`, {
    url: String(text),
  });
}

function serverOf(transport, text, token, scope) {
  const url = checkedUrl(text, transport.base);
  if (typeof token !== "string" || !/^[A-Za-z0-9._~+/=-]+$/.test(token))
    throw new SyncError("token must be the text that addToken() has returned", { url: String(text), status: 401 });
  return { ...transport, url, token, scope: scopeText(scope) };
}

module.exports = { NEXT, serverOf, synchronize };
