// server.mjs - the requests that a server answers, and those that it refuses.
import assert from "assert";
import fs from "fs";
import net from "net";
import zlib from "zlib";
import { addToken, handler, removeToken, syncHttp, tokens } from "sqlite-counter";
import { all, claims, close, contents, count, driver, idOf, serve } from "./common.mjs";
import { ask, fresh, linesOf, pathOf, post, refuses, world } from "./served.mjs";

await claims({
  async "a path at which there is no file is refused, and none is made"() {
    const there = pathOf(await fresh());
    const typo = there.replace(/\.db$/, "-typo.db");
    const refused = { name: "SyncError", message: `sqlite-counter: ${typo}: there is no such file`, file: typo };
    assert.throws(() => handler(typo), refused);
    await assert.rejects(addToken(typo, "till 1"), refused);
    await assert.rejects(removeToken(typo, "till 1"), refused);
    await assert.rejects(tokens(typo), refused);
    assert.ok(!fs.existsSync(typo));
    if (driver === "sqlite3") return; // opens no path
    assert.match(await addToken(there, "till 1"), /^[\w-]{43}$/);
    assert.deepStrictEqual(await tokens(there), [{ device: "till 1", ids: [] }]);
  },

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
    const { upto } = JSON.parse(line);
    const none = JSON.parse((await ask(w, { path: `/sync/changes?since=${upto}` })).text);
    assert.deepStrictEqual(none, { format: 1, source: await idOf(w.server), since: upto, upto, changes: [] });
    const scope = encodeURIComponent('["z"]');
    assert.strictEqual(
      JSON.parse((await ask(w, { path: `/sync?scope=${scope}` })).text).source,
      `${await idOf(w.server)} ["z"]`
    );
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
    await refuses(
      { ...w, token: w.token.replace(/.$/, (last) => (last === "A" ? "E" : "A")) },
      { ...changed, body: good },
      401,
      /unknown/
    );
    await refuses(w, { path: "/other" }, 404, /nothing at \/other/);
    await refuses(w, { path: "/sync/changes", method: "DELETE" }, 405, /GET, POST/, { allow: "GET, POST" });
    await refuses(w, { path: "/sync", method: "POST", body: good }, 405, /GET/, { allow: "GET" });
    for (const since of ["", "x", "-1", "1.5", "9223372036854775808"])
      await refuses(w, { path: `/sync/changes?since=${since}` }, 400, /since must be a whole number/);
    await refuses(w, { path: "/sync?source=nobody" }, 400, /counter_mark: source/);
    await refuses(w, { path: `/sync/changes?since=0&scope=${encodeURIComponent('"x"')}` }, 400, /scope/);
    await refuses(w, { ...changed, body: good.slice(0, -40) }, 400, /line 1: it is not JSON, or was cut short/);
    await refuses(
      w,
      { ...changed, body: good + good.replace('"format":1', '"format":2') },
      400,
      /line 2: it is of format 2/
    );
    await refuses(w, { ...changed, body: good + good.replace(/"hits"/, '"none"') }, 400, /no counter table none here/);
    await refuses(w, { ...changed, body: Buffer.from([0x7b, 0xff, 0x7d]) }, 400, /not UTF-8/);
    const zipped = zlib.gzipSync(good);
    const gzip = { "Content-Encoding": "gzip" };
    await refuses(
      w,
      { ...changed, headers: gzip, body: zipped.subarray(0, -9) },
      400,
      /the body was cut short: unexpected end of file/
    );
    await refuses(w, { ...changed, headers: gzip, body: good }, 400, /the body was cut short: incorrect header check/);
    await refuses(
      w,
      { ...changed, headers: { "Content-Encoding": "br" }, body: good },
      415,
      /must be gzip or identity, not br/
    );
    await refuses(w, { ...changed, body: " ".repeat(100001) }, 413, /more than 100000 bytes/);
    await refuses(
      w,
      { ...changed, headers: { "Transfer-Encoding": "chunked" }, body: " ".repeat(100001) },
      413,
      /more than 100000 bytes/
    );
    await refuses(
      w,
      { ...changed, headers: gzip, body: zlib.gzipSync(Buffer.alloc(10 ** 7)) },
      413,
      /more than 100000 bytes/
    );
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
      socket.write(
        `POST /sync/changes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${w.token}\r\nContent-Length: ${good.length + 5}\r\n\r\n${good}`
      );
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
    const forged = (await linesOf(b)).replace(
      /\{"id":"[0-9a-f-]*","clock":\d+,"value":5\}/,
      `{"id":"${id.toUpperCase()}","clock":999,"value":500}`
    );
    assert.ok(forged.includes("500"));
    assert.deepStrictEqual(
      { ...JSON.parse((await post({ ...w, token: other }, forged)).text), marks: 0 },
      { changes: 1, skipped: 1, marks: 0 }
    );
    const alone = forged.replace(/"shards":\[.*?\]/, `"shards":[{"id":"${id}","clock":999,"value":500}]`);
    assert.deepStrictEqual(
      { ...JSON.parse((await post({ ...w, token: other }, alone)).text), marks: 0 },
      { changes: 0, skipped: 1, marks: 0 }
    );
    const ahead = `{"source":"${id.toUpperCase()} own","since":0,"upto":9223372036854775807,"changes":[]}`;
    const said = (await post({ ...w, token: other }, ahead)).text;
    assert.match(said, /"marks":\{"[^"]* own":\d{16}\}/); // nobody else raises the mark of a device
    const bytes = forged.replace(/"cell":\{.*?\]\}/, '"cell":"C1"');
    assert.strictEqual((await post({ ...w, token: other }, bytes)).status, 400);
    assert.deepStrictEqual(await contents(w.server), { "x/1": "12" });
    assert.deepStrictEqual(await tokens(w.server), [
      { device: "laptop", ids: [id] },
      { device: "phone", ids: [await idOf(b)] },
    ]);
    await assert.rejects(addToken(w.server, "phone"), /the device phone has a token/);
    await assert.rejects(removeToken(w.server, "laptop", { to: "laptop" }), /cannot hand its ids on to itself/);
    await removeToken(w.server, "laptop", { to: "phone" });
    assert.match((await ask({ ...w, token: other }, { path: `/sync?source=${await idOf(b)}%20own` })).text, /"mark":0\}/);
    await assert.rejects(removeToken(w.server, "laptop"), /no token was given to the device laptop/);
    assert.deepStrictEqual((await tokens(w.server))[0].ids.sort(), [id, await idOf(b)].sort());
    await assert.rejects(
      syncHttp(a, w.served.url, w.token),
      (error) => error.status === 401 && /give the token that/.test(error.message)
    );
    assert.strictEqual(
      (await all(w.server, "SELECT count(*) AS n FROM counter_http_tokens WHERE length(token) = 64"))[0].n,
      1
    );
    await w.end(a, b);
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
    const path = pathOf(a);
    const token = await addToken(path, "b");
    const served = await serve(path);
    const b = await fresh();
    await syncHttp(b, served.url, token);
    assert.deepStrictEqual(await contents(b), { "x/1": "3" });
    await served.close();
    await close(a);
    await close(b);
    const broken = await serve("server.mjs"); // no database
    assert.strictEqual((await ask({ served: broken, token: "x" })).status, 500);
    await broken.close().catch(() => {});
  },
});
