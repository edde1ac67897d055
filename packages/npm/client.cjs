// client.cjs - a sync by HTTP, whatever carries it: a request uploads what a file has counted, and brings what it has not seen.
//
// http.cjs carries it in Node, the module for browsers by fetch(). Both give
//
//   file       run(step, ...args), which runs a function of lines.cjs; isLocked(error)
//   transport  open(server, url, body), which posts, and answers { status, location, after, bytes() };
//              pack(text), a body; `name`, what people call; `base` of relative URLs, if there are any
"use strict";

const { SyncError, plain } = require("./errors.cjs");
const { FORMAT, PART, joined, partsOf, scopeText } = require("./lines.cjs");

const MAX_ANSWER = 2 ** 20; // bytes of an answer that is refused, and of the first line of others
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
  503: NEXT,
};

// What to do where the server does not say it itself. A proxy may soon reach it again.
function adviceOf(status, said) {
  if (said || ADVICE[status]) return ADVICE[status];
  return status >= 500 ? NEXT : ADVICE[404];
}

// What the server says of a status other than 200. A redirect is not followed: the token is for this server.
async function refusal(server, answer) {
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
    : adviceOf(status, said);
  const answered = status ? `answered ${status}` : "redirects"; // browsers tell no more of it
  const sentence = [`${server.url}: the server ${answered}`, said, advice].filter(Boolean).join(": ");
  return new SyncError(sentence, {
    url: String(server.url),
    status,
  });
}

const isFinal = (error) => error instanceof SyncError && error.status !== 503;

// A request that got no answer is repeated, and one that found the file locked. `read(answer)` takes the answer.
async function ask(server, parameters, body, read) {
  const url = new URL(server.url);
  url.search = `${url.search ? `${url.search}&` : ""}${parameters}`;
  for (let tried = 1; ; tried++) {
    try {
      const answer = await server.open(server, url, body);
      if (answer.status === 200) return await read(answer);
      throw Object.assign(await refusal(server, answer), { after: answer.after });
    } catch (error) {
      if (isFinal(error) || error.isOurs) throw error;
      if (tried < TRIES) await pause(Math.min(error.after || PAUSE * 2 ** (tried - 1), LONGEST_PAUSE));
      else if (error instanceof SyncError) throw error;
      else throw refused(server, `${error.message || error.code}. ${NEXT}`, error, undefined);
    }
  }
}

const refused = (server, message, cause, status = 200) =>
  new SyncError(plain(`${server.url}: ${message}`), { url: String(server.url), status, cause });

/* ---- up and down ----------------------------------------------------------------------------- */

// What fails in the file is not the server's.
async function hear(file, server, line, sent) {
  if (line.length > MAX_ANSWER) throw refused(server, "the answer is too long for a sqlite-counter server: is the URL right?");
  try {
    return await file.run("hear", String(server.url), new TextDecoder().decode(line), sent, server.scope);
  } catch (error) {
    if (/^(sqlite-counter: )?counter_heard: /.test(error.message) && !file.isLocked(error))
      throw refused(server, `${error.message}: is the URL that of a sqlite-counter server?`, error);
    throw Object.assign(error, { isOurs: true });
  }
}

async function take(file, server, part, source) {
  try {
    return (await file.run("take", part, { source })).changes;
  } catch (error) {
    if (file.isLocked(error)) throw Object.assign(error, { isOurs: true });
    throw refused(server, error.message, error);
  }
}

// undefined if it is no answer of a server of sqlite-counter, or a newer one: hear() says so.
function sourceNamedIn(line) {
  try {
    const { format, source, more } = JSON.parse(new TextDecoder().decode(line));
    return format === FORMAT && typeof source === "string" && typeof more === "boolean" ? source : undefined;
  } catch (_) {
    return undefined;
  }
}

// Merges the lines of an answer, a part in each transaction. What its first line says is kept when all is taken: the server leaves
// out what this file has brought, if the file knows how far that goes.
async function takeAnswer(file, server, answer, sent) {
  let first;
  let source;
  let took = 0;
  for await (let part of partsOf(answer.bytes())) {
    if (!first) {
      const end = part.indexOf(10) < 0 ? part.length : part.indexOf(10);
      first = part.slice(0, end);
      source = sourceNamedIn(first);
      part = part.subarray(end + 1);
    }
    if (source !== undefined && part.length > 0) took += await take(file, server, part, source);
  }
  return { ...(await hear(file, server, first ?? new Uint8Array(), sent)), took };
}

const bytesOf = (line) => new TextEncoder().encode(line).length;

// Bodies of up to PART bytes, and at least one line; an empty one if there is none.
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
  yield some;
}

// One sync. What the server has of the file, the file remembers.
class Sync {
  constructor(file, server) {
    Object.assign(this, { file, server, gave: 0, skipped: 0, took: 0, warnings: new Set() });
  }

  request() {
    return this.file.run("readRequest", String(this.server.url), this.server.scope);
  }

  async post(parameters, lines, sent) {
    const body = await this.server.pack(lines.map((line) => `${line}\n`).join(""));
    const heard = await ask(this.server, parameters, body, (answer) => takeAnswer(this.file, this.server, answer, sent));
    this.took += heard.took;
    this.skipped += heard.skipped;
    for (const each of heard.warnings.slice(0, 100)) this.warnings.add(plain(each).slice(0, 500));
    return heard;
  }

  // Uploads own changes from where the server has them; the last body asks for its changes. A server that has less than it has said
  // was restored, or is another: once, it gets all from there.
  async give() {
    if ((await this.request()).source === null) await this.post((await this.request()).upload, [], null);
    const { mine: began } = await this.request();
    for (let since = began, hasGoneBack = false; ; ) {
      const { lines, changes, upto, isLast } = await this.file.run("readWindow", { since, own: true, scope: null }, PART);
      const [sent, all] = changes > 0 ? [upto, [...bodies(lines)]] : [since, [[]]];
      const last = all.pop();
      for (const some of all) await this.post((await this.request()).upload, some, since);
      const heard = await this.post((await this.request()).query, last, sent);
      this.gave += changes;
      if (heard.mine < began && !hasGoneBack) [hasGoneBack, this.gave, since] = [true, 0, heard.mine];
      else if (isLast || sent === since) return heard;
      else since = sent;
    }
  }

  async run() {
    let { more } = await this.give();
    for (let asked = await this.request(), before; more && asked.query !== before; asked = await this.request()) {
      before = asked.query; // if no line raises the mark, it stays
      ({ more } = await this.post(asked.query, [], asked.mine));
    }
  }
}

async function synchronize(file, server) {
  const sync = new Sync(file, server);
  await file.run("settle");
  await file.run("forgetWarnings");
  await sync.run();
  const apart = await file.run("countApart");
  const said = [...sync.warnings].map((each) => ({ url: String(server.url), message: `${server.url}: ${each}` }));
  const { gave, skipped, took } = sync;
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
