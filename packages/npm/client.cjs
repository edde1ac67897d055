// client.cjs - a sync by HTTP, whatever carries it: uploads what a file has counted, then downloads what it has not seen.
//
// http.cjs carries it in Node, the module for browsers by fetch(). Both give
//
//   file       run(step, ...args), which runs a function of lines.cjs; isLocked(error)
//   transport  open(server, method, url, body), which answers { status, location, after, bytes() };
//              pack(lines), a body; `name`, what people call; `base` of relative URLs, if there are any
"use strict";

const { SyncError, plain } = require("./errors.cjs");
const { PART, joined, partsOf, scopeText } = require("./lines.cjs");

const MAX_ANSWER = 2 ** 20; // bytes of an answer that is no download
const TRIES = 3;
const PAUSE = 500; // milliseconds before the second try
const LONGEST_PAUSE = 10000;

const NEXT = "Nothing is lost: the next call goes on";

/* ---- one request ----------------------------------------------------------------------------- */

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function textOf(answer) {
  const chunks = [];
  let size = 0;
  for await (const chunk of answer.bytes()) {
    size += chunk.length;
    if (size > MAX_ANSWER) throw new Error(`the answer has more than ${MAX_ANSWER} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(joined(chunks));
}

const ADVICE = {
  401: "give the token that the server's administrator has made for this device",
  404: "is this the URL of a sqlite-counter server?",
  413: "the server must take larger bodies: its administrator raises their limit",
};

// What the server says of a status other than 200. A redirect is not followed: the token is for this server.
async function refusal(server, answer, url) {
  const { status, location } = answer;
  const text = await textOf(answer).catch(() => "");
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

const askJson = (server, method, url, body) => ask(server, method, url, body, textOf);

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

// What the server gives, and its mark of ours. What fails in the file is not the server's.
async function askState(file, server, name) {
  const url = urlAt(server.url, "", { source: name, scope: server.scope });
  const answer = await askJson(server, "GET", url);
  const { isKnown, source, mark } = await file.run("readState", answer).catch((error) => {
    throw /malformed JSON/.test(error.message) ? notOurs(url, error) : error;
  });
  if (isKnown === false)
    throw new SyncError(`${url}: the server speaks a newer format: install a newer sqlite-counter`, {
      url: String(url),
      status: 200,
    });
  if (isKnown === null || source === null || mark === null) throw notOurs(url);
  return { source, mark };
}

const bytesOf = (line) => new TextEncoder().encode(line).length;

// Bodies of up to PART bytes, and at least one line.
function* bodies(lines) {
  let [some, size] = [[], 0];
  for (const line of lines) {
    const bytes = bytesOf(line) + 1;
    if (some.length > 0 && size + bytes > PART) {
      yield some;
      [some, size] = [[], 0];
    }
    some.push(line);
    size += bytes;
  }
  if (some.length > 0) yield some;
}

// Uploads a body. Returns how many shards were skipped, and what the server warns of.
async function giveBody(server, lines) {
  const url = urlAt(server.url, "/changes", {});
  const text = await askJson(server, "POST", url, await server.pack(lines));
  try {
    const { skipped, warnings = [] } = JSON.parse(text);
    if (Number.isInteger(skipped)) return { skipped, warnings: warnings.slice(0, 100).map((each) => plain(each).slice(0, 500)) };
  } catch (cause) {
    throw notOurs(url, cause);
  }
  throw notOurs(url);
}

// Uploads own changes from `since` on; `upto` is where they end.
async function upload(file, server, since) {
  const given = { gave: 0, skipped: 0, warnings: new Set(), upto: since };
  for (let isLast = false; !isLast; ) {
    const window = await file.run("readWindow", { since: given.upto, own: true, scope: null }, PART);
    if (window.changes === 0) break;
    for (const lines of bodies(window.lines)) {
      const { skipped, warnings } = await giveBody(server, lines);
      given.skipped += skipped;
      for (const each of warnings) given.warnings.add(each);
    }
    given.gave += window.changes;
    ({ upto: given.upto, isLast } = window);
  }
  return given;
}

// Merges the lines of one answer, a part in each transaction.
async function takeAnswer(file, answer, url, source) {
  let took = 0;
  for await (const part of partsOf(answer.bytes()))
    try {
      took += (await file.run("take", part, { source })).changes;
    } catch (error) {
      if (file.isLocked(error)) throw Object.assign(error, { isOurs: true });
      throw new SyncError(plain(`${url}: ${error.message}`), { url: String(url), status: 200, cause: error });
    }
  return took;
}

async function download(file, server, source) {
  let took = 0;
  for (let mark = await file.run("readMark", source), before = -1n; mark > before; ) {
    const url = urlAt(server.url, "/changes", { since: String(mark), scope: server.scope });
    took += await ask(server, "GET", url, undefined, (answer) => takeAnswer(file, answer, url, source));
    [before, mark] = [mark, await file.run("readMark", source)];
  }
  return took;
}

const BOUND =
  "it skips what this file has counted, for the id of the file is bound to another token: whoever runs the server moves it " +
  "to this one by removeToken(OLD, { to: NEW }); then everything is uploaded once more";

// A server that is a copy takes an id of its own when it first merges. A mark that stays behind what was uploaded tells that the
// id of the file is bound to another token.
async function synchronize(file, server) {
  const own = await file.run("settle");
  await file.run("forgetWarnings");
  let { source, mark } = await askState(file, server, own);
  const { gave, skipped, warnings, upto } = await upload(file, server, mark);
  if (gave > 0) ({ source, mark } = await askState(file, server, own));
  if (gave > 0 && mark < upto && warnings.size === 0) warnings.add(BOUND);
  const took = await download(file, server, source);
  const apart = await file.run("countApart");
  const said = [...warnings].map((each) => ({ url: String(server.url), message: `${server.url}: ${each}` }));
  return { gave, skipped, warnings: [...said, ...(await file.run("readWarnings"))], took, apart };
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
