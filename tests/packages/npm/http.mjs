// http.mjs - a server, what it refuses, and connections that end in the middle.
import assert from "assert";
import fs from "fs";
import http from "http";
import net from "net";
import zlib from "zlib";
import { SyncError, addToken, changes, handler, removeToken, syncHttp, tokens } from "sqlite-counter";
import { all, claims, close, contents, count, driver, idOf, open, place, run, serve } from "./common.mjs";

const CLIENTS = Number(process.env.COUNTER_CLIENTS ?? 10);
const here = place("http");
let n = 0;
const fresh = () => open(`${here}/${n++}.db`);

async function world(options, wrap) {
  const server = await fresh();
  const served = await serve(server, options, wrap);
  const token = await addToken(server, "laptop");
  const end = async (...more) => {
    await served.close();
    for (const db of [server, ...more]) await close(db);
  };
  return { server, served, token, end };
}

function ask({ served, token }, { method = "GET", path = "/sync", headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const authorization = token ? { Authorization: `Bearer ${token}` } : {};
    const request = http.request({ port: served.port, host: "127.0.0.1", method, path, headers: { ...authorization, ...headers } }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks), text: String(Buffer.concat(chunks)) }));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function linesOf(db, options) {
  const lines = [];
  for await (const line of changes(db, options)) lines.push(line);
  return `${lines.join("\n")}\n`;
}

const post = (world, body, headers) => ask(world, { method: "POST", path: "/sync/changes", headers, body });

async function refuses(world, request, status, message, headers = {}) {
  const before = await contents(world.server);
  const answer = await ask(world, request);
  assert.strictEqual(answer.status, status, answer.text);
  assert.match(JSON.parse(answer.text).error, message);
  for (const [name, value] of Object.entries(headers)) assert.strictEqual(answer.headers[name], value);
  assert.deepStrictEqual(await contents(world.server), before);
}

await claims({
  async "the three requests answer as they are specified"() {
    const w = await world();
    const a = await fresh();
    await count(a, "x", 1, "9007199254740993");
    const source = `${await idOf(a)} own`;
    const before = await ask(w, { path: `/sync?source=${encodeURIComponent(source)}` });
    assert.deepStrictEqual(JSON.parse(before.text), { format: 1, source: await idOf(w.server), mark: 0 });
    const posted = await post(w, zlib.gzipSync(await linesOf(a, { own: true })), { "Content-Encoding": "gzip" });
    const { marks, ...rest } = JSON.parse(posted.text);
    assert.deepStrictEqual(rest, { changes: 1, skipped: 0 });
    assert.deepStrictEqual(Object.keys(marks), [source]);
    const state = await ask(w, { path: `/sync?source=${encodeURIComponent(source)}` });
    assert.match(state.text, new RegExp(`"mark":${marks[source]}\\}`));
    const got = await ask(w, { path: "/sync/changes?since=0", headers: { "Accept-Encoding": "gzip" } });
    assert.deepStrictEqual([got.headers["content-encoding"], got.headers["content-type"]], ["gzip", "application/x-ndjson"]);
    const line = zlib.gunzipSync(got.bytes).toString();
    assert.match(line, /"value":9007199254740993/);
    const { upto, ids } = JSON.parse(line);
    assert.deepStrictEqual(ids, [await idOf(w.server)]);
    const none = JSON.parse((await ask(w, { path: `/sync/changes?since=${upto}` })).text);
    assert.deepStrictEqual(none, { format: 1, source: await idOf(w.server), since: upto, upto, changes: [] });
    const scope = encodeURIComponent('["z"]');
    assert.strictEqual(JSON.parse((await ask(w, { path: `/sync?scope=${scope}` })).text).source, `${await idOf(w.server)} ["z"]`);
    assert.deepStrictEqual(JSON.parse((await ask(w, { path: `/sync/changes?since=0&scope=${scope}` })).text).changes, []);
    await w.end(a);
  },

  async "what cannot be served is refused, and nothing is changed"() {
    const w = await world({ maxBody: 100000 });
    const a = await fresh();
    await count(a, "x", 1, 1);
    const good = await linesOf(a, { own: true });
    const changed = { method: "POST", path: "/sync/changes" };
    await refuses({ ...w, token: "" }, {}, 401, /the token is missing or unknown/, { "www-authenticate": "Bearer" });
    await refuses({ ...w, token: w.token.replace(/.$/, (last) => (last === "A" ? "E" : "A")) }, { ...changed, body: good }, 401, /unknown/);
    await refuses(w, { path: "/other" }, 404, /nothing at \/other/);
    await refuses(w, { path: "/sync/changes", method: "DELETE" }, 405, /GET, POST/, { allow: "GET, POST" });
    await refuses(w, { path: "/sync", method: "POST", body: good }, 405, /GET/, { allow: "GET" });
    for (const since of ["", "x", "-1", "1.5", "9223372036854775808"]) await refuses(w, { path: `/sync/changes?since=${since}` }, 400, /since must be a whole number/);
    await refuses(w, { path: "/sync?source=nobody" }, 400, /counter_mark: source/);
    await refuses(w, { path: `/sync/changes?since=0&scope=${encodeURIComponent('"x"')}` }, 400, /scope/);
    await refuses(w, { ...changed, body: good.slice(0, -40) }, 400, /line 1: it is not JSON, or was cut short/);
    await refuses(w, { ...changed, body: good + good.replace('"format":1', '"format":2') }, 400, /line 2: it is of format 2/);
    await refuses(w, { ...changed, body: good + good.replace(/"hits"/, '"none"') }, 400, /no counter table none here/);
    await refuses(w, { ...changed, body: Buffer.from([0x7b, 0xff, 0x7d]) }, 400, /not UTF-8/);
    const zipped = zlib.gzipSync(good);
    const gzip = { "Content-Encoding": "gzip" };
    await refuses(w, { ...changed, headers: gzip, body: zipped.subarray(0, -9) }, 400, /the body was cut short: unexpected end of file/);
    await refuses(w, { ...changed, headers: gzip, body: good }, 400, /the body was cut short: incorrect header check/);
    await refuses(w, { ...changed, headers: { "Content-Encoding": "br" }, body: good }, 415, /must be gzip or identity, not br/);
    await refuses(w, { ...changed, body: " ".repeat(100001) }, 413, /more than 100000 bytes/);
    await refuses(w, { ...changed, headers: { "Transfer-Encoding": "chunked" }, body: " ".repeat(100001) }, 413, /more than 100000 bytes/);
    await refuses(w, { ...changed, headers: gzip, body: zlib.gzipSync(Buffer.alloc(10 ** 7)) }, 413, /more than 100000 bytes/);
    assert.deepStrictEqual(JSON.parse((await post(w, good)).text).changes, 1);
    await w.end(a);
  },

  async "half a body is refused, and nothing is changed"() {
    const w = await world();
    const a = await fresh();
    await count(a, "x", 1, 1);
    const good = await linesOf(a, { own: true });
    for (const end of ["end", "destroy"]) {
      const socket = net.connect(w.served.port, "127.0.0.1");
      let said = "";
      socket.on("data", (bytes) => (said += bytes)).on("error", () => {});
      socket.write(`POST /sync/changes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${w.token}\r\nContent-Length: ${good.length + 5}\r\n\r\n${good}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      const closed = new Promise((resolve) => socket.on("close", resolve));
      socket[end]();
      await closed;
      if (end === "end") assert.match(said, /^HTTP\/1.1 400 /);
    }
    assert.deepStrictEqual(await contents(w.server), {});
    await w.end(a);
  },

  async "shards under the id of another token are skipped and counted"() {
    const w = await world();
    const [a, b] = [await fresh(), await fresh()];
    const other = await addToken(w.server, "phone");
    await count(a, "x", 1, 5);
    await syncHttp(a, w.served.url, w.token);
    await count(b, "x", 1, 7);
    await syncHttp(b, w.served.url, other);
    assert.deepStrictEqual(await contents(w.server), { "x/1": "12" });
    const id = await idOf(a);
    const forged = (await linesOf(b)).replace(/\{"id":"[0-9a-f-]*","clock":\d+,"value":5\}/, `{"id":"${id.toUpperCase()}","clock":999,"value":500}`);
    assert.ok(forged.includes("500"));
    assert.deepStrictEqual({ ...JSON.parse((await post({ ...w, token: other }, forged)).text), marks: 0 }, { changes: 1, skipped: 1, marks: 0 });
    const alone = forged.replace(/"shards":\[.*?\]/, `"shards":[{"id":"${id}","clock":999,"value":500}]`);
    assert.deepStrictEqual({ ...JSON.parse((await post({ ...w, token: other }, alone)).text), marks: 0 }, { changes: 0, skipped: 1, marks: 0 });
    const ahead = `{"source":"${id.toUpperCase()} own","since":0,"upto":9223372036854775807,"changes":[]}`;
    const said = (await post({ ...w, token: other }, ahead)).text;
    assert.match(said, /"marks":\{"[^"]* own":\d{16}\}/); // nobody else raises the mark of a device
    const bytes = forged.replace(/"cell":\{.*?\]\}/, '"cell":"C1"');
    assert.strictEqual((await post({ ...w, token: other }, bytes)).status, 400);
    assert.deepStrictEqual(await contents(w.server), { "x/1": "12" });
    assert.deepStrictEqual(await tokens(w.server), [{ device: "laptop", ids: [id] }, { device: "phone", ids: [await idOf(b)] }]);
    await assert.rejects(addToken(w.server, "phone"), /the device phone has a token/);
    await removeToken(w.server, "laptop", { to: "phone" });
    await assert.rejects(removeToken(w.server, "laptop"), /no token was given to the device laptop/);
    assert.deepStrictEqual((await tokens(w.server))[0].ids.sort(), [id, await idOf(b)].sort());
    await assert.rejects(syncHttp(a, w.served.url, w.token), (error) => error.status === 401 && /give the token that/.test(error.message));
    assert.strictEqual((await all(w.server, "SELECT count(*) AS n FROM counter_http_tokens WHERE length(token) = 64"))[0].n, 1);
    await w.end(a, b);
  },

  async "a file that is locked is 503, and a client waits for it"() {
    const w = await world();
    const a = await fresh();
    await count(a, "x", 1, 1);
    await run(w.server, "PRAGMA busy_timeout = 0");
    const locking = await open(`${here}/${n - 2}.db`);
    await run(locking, "BEGIN IMMEDIATE");
    if (driver !== "sqlite3") { // there the server has a connection of its own, which waits
      const refused = await post(w, await linesOf(a, { own: true }));
      assert.deepStrictEqual([refused.status, refused.headers["retry-after"]], [503, "1"]);
    }
    setTimeout(() => run(locking, "COMMIT"), 200);
    assert.strictEqual((await syncHttp(a, w.served.url, w.token)).gave, 1);
    assert.deepStrictEqual(await contents(w.server), { "x/1": "1" });
    await w.end(a, locking);
  },

  async "a server that dies in the middle leaves nothing half done, and the next call goes on"() {
    const w = await world();
    const [a, b] = [await fresh(), await fresh()];
    await run(a, "INSERT INTO hits WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1200) SELECT 'x', i * 7919 % 1201, i FROM c");
    const other = await addToken(w.server, "other");
    let room = 0;
    const proxy = net.createServer((socket) => {
      const up = net.connect(w.served.port, "127.0.0.1");
      const pass = (from, to) => from.on("data", (bytes) => ((room -= bytes.length) < 0 ? (socket.destroy(), up.destroy()) : to.write(bytes))).on("error", () => {}).on("end", () => to.end());
      pass(socket, up);
      pass(up, socket);
    });
    await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${proxy.address().port}/sync`;
    const later = globalThis.setTimeout;
    globalThis.setTimeout = (call, milliseconds, ...more) => later(call, milliseconds === 500 || milliseconds === 1000 ? 1 : milliseconds, ...more);
    for (const [db, token] of [[a, w.token], [b, other]]) {
      for (room = 0; ; room += 9000) {
        const size = room;
        try {
          await syncHttp(db, url, token);
          break;
        } catch (error) {
          assert.ok(error instanceof SyncError, error.stack);
          assert.match(error.message, /^sqlite-counter: http:\/\/127\.0\.0\.1:\d+\/sync.*: .*\. Nothing is lost: the next call goes on$/);
          assert.ok(error.url.startsWith(url));
        }
        room = size;
      }
    }
    globalThis.setTimeout = later;
    assert.deepStrictEqual(await contents(b), await contents(a));
    proxy.close();
    await w.end(a, b);
  },

  async "a redirect is told, and the token goes nowhere else"() {
    const seen = [];
    const servers = [0, 1].map(() => http.createServer((request, response) => {
      seen.push(request.headers.host);
      response.writeHead(302, { Location: `http://127.0.0.1:${servers[1].address().port}/sync` }).end();
    }));
    for (const server of servers) await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const a = await fresh();
    await count(a, "x", 1, 1);
    await assert.rejects(syncHttp(a, `http://127.0.0.1:${servers[0].address().port}/sync`, "token"), (error) =>
      error.status === 302 && /it has moved to http:\/\/127\.0\.0\.1:\d+\/sync: call syncHttp\(\) with that URL/.test(error.message));
    assert.strictEqual(seen.length, 1);
    for (const server of servers) server.close();
    await assert.rejects(syncHttp(a, "ftp://x", "token"), /must begin with https:/);
    await assert.rejects(syncHttp(a, "http://127.0.0.1:1/sync", "a\r\nb"), /token must be the text/);
    await close(a);
  },

  async "another server is no server of counters"() {
    const a = await fresh();
    for (const [body, message] of [["hello", /is the URL right/], ['{"format":2,"source":"x","mark":0}', /newer format: install a newer/], ["x".repeat(2 ** 20 + 1), /more than 1048576 bytes/]]) {
      const server = http.createServer((_, response) => response.end(body));
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      await assert.rejects(syncHttp(a, `http://127.0.0.1:${server.address().port}/sync`, "token"), (error) => error instanceof SyncError && message.test(error.message));
      server.close();
      server.closeAllConnections?.();
    }
    await close(a);
  },

  async "it stands behind other handlers, and says if these have read the body"() {
    const w = await world({}, (handle) => (request, response) => {
      if (request.url !== "/sync/changes") return handle(request, response, () => response.writeHead(204).end());
      request.on("end", () => handle(request, response)).resume();
    });
    assert.strictEqual((await ask(w, { path: "/other" })).status, 204);
    assert.strictEqual((await ask(w)).status, 200);
    const answer = await post(w, "{}");
    assert.strictEqual(answer.status, 500);
    assert.match(answer.text, /the body was read before handler\(\) got it: call handler\(\) before express\.json\(\)/);
    await w.end();
  },

  async "a path is served by the driver that is there"() {
    if (driver === "sqlite3") return;
    const a = await fresh();
    await count(a, "x", 1, 3);
    const path = `${here}/${n - 1}.db`;
    const token = await addToken(path, "b");
    const served = await serve(path);
    const b = await fresh();
    await syncHttp(b, served.url, token);
    assert.deepStrictEqual(await contents(b), { "x/1": "3" });
    await served.close();
    await close(a);
    await close(b);
    fs.mkdirSync(`${here}/none.db`);
    const broken = await serve(`${here}/none.db`).catch(() => undefined);
    if (broken) {
      assert.strictEqual((await ask({ served: broken, token: "x" })).status, 500);
      await broken.close().catch(() => {});
    }
  },

  async "many clients at once: no error, and sums are exact"() {
    const w = await world();
    const clients = [];
    for (let i = 0; i < CLIENTS; i++) clients.push({ db: await fresh(), token: await addToken(w.server, `client ${i}`) });
    const begun = Date.now();
    let syncs = 0;
    await Promise.all(clients.map(async ({ db, token }, i) => {
      for (let round = 0; round < 3; round++, syncs++) {
        await count(db, "x", (i + round) % 5, 1);
        await syncHttp(db, w.served.url, token);
      }
    }));
    const took = (Date.now() - begun) / 1000;
    const sum = Object.values(await contents(w.server)).reduce((all, each) => all + Number(each), 0);
    assert.strictEqual(sum, 3 * CLIENTS);
    for (const { db, token } of clients) await syncHttp(db, w.served.url, token);
    for (const { db } of clients) assert.deepStrictEqual(await contents(db), await contents(w.server));
    console.log(`${driver}: ${CLIENTS} clients at once, ${Math.round(syncs / took)} syncs a second`);
    await w.end(...clients.map(({ db }) => db));
  },
});
