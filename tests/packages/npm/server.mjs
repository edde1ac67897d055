// server.mjs - the requests that a server answers, and those that it refuses.
import assert from "assert";
import { randomBytes } from "crypto";
import fs from "fs";
import net from "net";
import zlib from "zlib";
import { addToken, apply, handler, removeToken, syncHttp, tokens } from "sqlite-counter";
import { all, changeOf, claims, close, contents, count, driver, idOf, lineOf, run, serve, shardsOf } from "./common.mjs";
import { ask, fresh, headOf, linesOf, pathOf, post, refuses, world } from "./served.mjs";

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

  async "a request is answered as it is specified"() {
    const w = await world();
    const a = await fresh();
    await count(a, "x", 1, "9007199254740993");
    const name = `${await idOf(a)} own`;
    const by = `by=${encodeURIComponent(name)}`;
    const first = { format: 1, source: await idOf(w.server), more: true, changes: 0, skipped: 0, warnings: [] };
    assert.deepStrictEqual(headOf(await ask(w, { path: `/sync?${by}&mine=7` })), { ...first, left_out: 0, marks: { [name]: 0 } });
    const posted = await post(w, zlib.gzipSync(await linesOf(a, { own: true })), { "Content-Encoding": "gzip" });
    const { marks, ...rest } = headOf(posted);
    assert.deepStrictEqual(rest, { ...first, changes: 1 });
    assert.deepStrictEqual([Object.keys(marks), posted.text.split("\n").length], [[name], 2]);
    assert.deepStrictEqual(headOf(await ask(w, { path: `/sync?${by}` })).marks, marks);
    const got = await ask(w, { path: "/sync?since=0", headers: { "Accept-Encoding": "gzip" } });
    assert.deepStrictEqual([got.headers["content-encoding"], got.headers["content-type"]], ["gzip", "application/x-ndjson"]);
    const [, line, none] = zlib.gunzipSync(got.bytes).toString().split("\n");
    const { source, upto, changes } = JSON.parse(line);
    assert.deepStrictEqual([source, none], [first.source, ""]);
    const [{ told }] = await all(w.server, `SELECT counter_change_json(x'${changes[0].change}') AS told`);
    assert.match(told, /"value":9007199254740993/);
    const lines = async (query) => (await ask(w, { path: `/sync?${query}` })).text.split("\n").slice(1, -1);
    assert.deepStrictEqual(await lines(`since=${upto}&of=${source}`), []);
    for (const query of [`since=${upto}`, `since=${upto}&of=${await idOf(a)}`, `since=9223372036854775807&of=${source}`])
      assert.deepStrictEqual(await lines(query), [line]); // of another file, or an older one
    const scope = encodeURIComponent('["z"]');
    assert.strictEqual(headOf(await ask(w, { path: `/sync?scope=${scope}` })).source, `${source} ["z"]`);
    assert.deepStrictEqual((await lines(`since=0&scope=${scope}`)).map((each) => JSON.parse(each).changes), [[]]);
    await w.end(a);
  },

  async "what cannot be served is refused, and nothing is changed"() {
    const w = await world({ maxBody: 100000 });
    const a = await fresh();
    await count(a, "x", 1, 1);
    const good = await linesOf(a, { own: true });
    const changed = {};
    await refuses({ ...w, token: "" }, {}, 401, /the token is missing or unknown/, { "www-authenticate": "Bearer" });
    await refuses(
      { ...w, token: w.token.replace(/.$/, (last) => (last === "A" ? "E" : "A")) },
      { ...changed, body: good },
      401,
      /unknown/
    );
    await refuses(w, { path: "/other" }, 404, /nothing at \/other/);
    for (const method of ["GET", "DELETE"]) await refuses(w, { method }, 405, /POST/, { allow: "POST" });
    await refuses(w, { path: "/sync?mine=x" }, 400, /mine must be a whole number/);
    for (const since of ["", "x", "-1", "1.5", "9223372036854775808"])
      await refuses(w, { path: `/sync?since=${since}` }, 400, /since must be a whole number/);
    await refuses(w, { path: "/sync?by=nobody" }, 400, /counter_receive: by must be the name of a file/);
    await refuses(w, { path: `/sync?since=0&scope=${encodeURIComponent('"x"')}` }, 400, /scope/);
    await refuses(w, { ...changed, body: good.slice(0, -40) }, 400, /counter_receive: it is cut short/);
    await refuses(
      w,
      { ...changed, body: good + good.replace('"format":1', '"format":2') },
      400,
      /line 2: it has the format 2/
    );
    await refuses(w, { ...changed, body: good + good.replace(/"hits"/, '"none"') }, 400, /line 2: change 1: table none: no counter table was created with this name here/);
    await refuses(w, { ...changed, body: Buffer.from('{"\xff":1}', "latin1") }, 400, /it is not UTF-8/);
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
    assert.deepStrictEqual(headOf(await post(w, "")).marks, {});
    assert.deepStrictEqual(headOf(await post(w, good)).changes, 1);
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
        `POST /sync HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${w.token}\r\nContent-Length: ${good.length + 5}\r\n\r\n${good}`
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
    const line = JSON.parse(await linesOf(b));
    const forged = { id: id.toUpperCase(), clock: 999, value: 500 };
    const send = async (shards, device) => {
      const { change } = await changeOf(b, shards.sort((one, two) => (one.id.toLowerCase() < two.id.toLowerCase() ? -1 : 1)));
      const body = JSON.stringify({ ...line, changes: [{ ...line.changes[0], change }] });
      const { changes, skipped, warnings } = headOf(await post({ ...w, token: device }, body));
      return { changes, skipped, warnings };
    };
    const shards = (await shardsOf(b, line.changes[0])).filter((each) => each.id !== id);
    assert.deepStrictEqual(await send([...shards, forged], other), { changes: 1, skipped: 1, warnings: [] });
    assert.deepStrictEqual(await send([forged], other), { changes: 0, skipped: 1, warnings: [] });
    const ahead = lineOf(`${id.toUpperCase()} own`, []).replace('"upto":9', '"upto":9223372036854775807');
    const said = (await post({ ...w, token: other }, ahead)).text;
    assert.match(said, /"marks":\{"[^"]* own":\d{16}\}/); // nobody else raises the mark of a device
    assert.deepStrictEqual(await contents(w.server), { "x/1": "12" });
    assert.deepStrictEqual(await tokens(w.server), [
      { device: "laptop", ids: [id] },
      { device: "phone", ids: [await idOf(b)] },
    ]);
    await assert.rejects(addToken(w.server, "phone"), /the device phone has a token/);
    await assert.rejects(removeToken(w.server, "laptop", { to: "laptop" }), /cannot hand its ids on to itself/);
    await removeToken(w.server, "laptop", { to: "phone" });
    assert.match((await ask({ ...w, token: other }, { path: `/sync?by=${await idOf(b)}%20own` })).text, / own":0\}/);
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

  async "a device does not set what the served file itself has counted"() {
    const w = await world();
    const [thief, b] = [await fresh(), await fresh()];
    await count(w.server, "x", 1, 1000);
    await count(thief, "x", 1, 7);
    const [id, own] = [await idOf(w.server), await idOf(thief)];
    const [counted] = JSON.parse(await linesOf(thief, { own: true })).changes;
    const { change } = await changeOf(thief, [id, own].sort().map((each) => ({ id: each, clock: 99, value: 0 })));
    for (const source of [`${id} own`, `${own} own`]) {
      const said = headOf(await post(w, lineOf(source, [{ ...counted, change }])));
      assert.deepStrictEqual(said.marks, { [source]: 0 });
      assert.match(said.warnings[0], /^the device laptop sent 1 count under an id of the served file itself/);
    }
    const sql = "SELECT id, value, their_clock, why FROM counter_conflicts";
    const found = (await all(w.server, sql)).map((row) => ({ ...row }));
    assert.deepStrictEqual(found, [{ id, value: 1000, their_clock: 99, why: "device laptop" }]);
    assert.notStrictEqual(await idOf(w.server), id);
    assert.deepStrictEqual(await tokens(w.server), [{ device: "laptop", ids: [own] }]);
    const { warnings } = await syncHttp(b, w.served.url, await addToken(w.server, "b"));
    assert.deepStrictEqual([warnings, await contents(b)], [[], { "x/1": "1000" }]);
    assert.deepStrictEqual(await contents(w.server), { "x/1": "1000" });
    await run(thief, "SELECT counter_fork()");
    await apply(w.server, lineOf(own, [{ ...counted, change }])); // who runs the file may
    assert.deepStrictEqual(await contents(w.server), {});
    await w.end(thief, b);
  },

  async "a device that sends such counts is told so at each sync, until the file has them"() {
    const w = await world();
    const a = await fresh();
    await count(w.server, "x", 1, 1);
    await syncHttp(a, w.served.url, w.token);
    await count(a, "x", 1, 10);
    const c = await fresh(); // which has what the server has lost
    const [counted] = JSON.parse(await linesOf(w.server)).changes;
    const [shard] = await shardsOf(w.server, counted);
    const { change } = await changeOf(c, [{ ...shard, clock: 2, value: 101 }]);
    await apply(c, lineOf(await idOf(w.server), [{ ...counted, change }], { upto: 0 }));
    await all(a, `SELECT * FROM counter_pull('${pathOf(c)}')`);
    await count(a, "x", 1, 1000);
    for (let i = 0; i < 2; i++) {
      const { warnings } = await syncHttp(a, w.served.url, w.token);
      assert.match(warnings[0].message, /: the device laptop sent 1 count under an id of the served file itself/);
      for (const other of warnings.slice(1)) assert.match(other.message, /: the server has another id than before/);
    }
    await apply(w.server, (await linesOf(a)).split("\n"));
    assert.deepStrictEqual((await syncHttp(a, w.served.url, w.token)).warnings, []);
    assert.deepStrictEqual(await contents(w.server), { "x/1": "1111" });
    await w.end(a, c);
  },

  async "a body of more than is taken at once is refused before it takes memory and time"() {
    const w = await world({ maxBody: 2 ** 26 });
    const source = await idOf(await fresh());
    const line = (of, changes) => `{"format":1,"source":"${of} own","since":0,"upto":1,"changes":[${changes}]}\n`;
    const times = (what, n) => Array(n).fill(what).join(",");
    const change = JSON.stringify(await changeOf(w.server, [{ id: source, clock: 1, value: 1 }]));
    const idOfNumber = (i) => `${String(i).padStart(8, "0")}-0000-4000-8000-000000000000`;
    const bodies = {
      "more than 100000 changes, the limit": line(source, times(change, 1000)).repeat(101),
      "there are 40001 lines, and 40000 are the limit": "\n".repeat(40_001),
      "more than 1000 sources, the limit": Array.from({ length: 1001 }, (_, i) => line(idOfNumber(i), "")).join(""),
    };
    for (const [said, body] of Object.entries(bodies)) {
      const before = process.memoryUsage().rss;
      const begun = Date.now();
      const headers = { "Content-Encoding": "gzip" };
      await refuses(w, { headers, body: zlib.gzipSync(body) }, 413, new RegExp(said));
      assert.ok(Date.now() - begun < 20000, `${said}: ${Date.now() - begun} ms`);
      assert.ok(process.memoryUsage().rss - before < 300 * 2 ** 20, `${said}: ${(process.memoryUsage().rss - before) >> 20} MiB`);
    }
    await w.end();
  },

  async "the largest bodies that a client may send are taken"() {
    const w = await world();
    const [a, source] = [await fresh(), await idOf(await fresh())];
    await count(a, "x", 1, 1);
    const line = (changes) => `${lineOf(`${source} own`, changes)}\n`;
    const short = line(Array(1000).fill(await changeOf(a, [{ id: source, clock: 1, value: 1 }])));
    const [wide] = JSON.parse(await linesOf(a, { own: true })).changes;
    const shard = (i) => ({ id: `${String(i).padStart(8, "0")}-0000-4000-8000-000000000000`, clock: 1, value: 1 });
    const shards = Array.from({ length: 200_000 }, (_, i) => shard(i));
    wide.change = (await changeOf(a, shards)).change;
    for (const body of [short.repeat((4 * 2 ** 20) / short.length), line([wide])]) {
      const { status, text } = await post(w, zlib.gzipSync(body, { level: 1 }), { "Content-Encoding": "gzip" });
      assert.strictEqual(status, 200, text);
    }
    assert.deepStrictEqual(await contents(w.server), { "a/1": "1", "x/1": "200000" });
    await w.end(a);
  },

  async "a token brings no more than ten thousand sources"() {
    const w = await world();
    const id = (i) => `${String(i).padStart(8, "0")}-0000-4000-8000-000000000000`;
    const line = (i) => lineOf(id(i), []);
    assert.strictEqual((await post(w, line(1))).status, 200);
    const digest = (await all(w.server, "SELECT token FROM counter_http_tokens"))[0].token;
    await run(w.server, `INSERT INTO counter_http_sources WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) SELECT '${digest}', i FROM n`);
    assert.strictEqual((await post(w, line(1))).status, 200);
    const refused = await post(w, line(2));
    assert.strictEqual(refused.status, 400);
    assert.match(refused.text, /the token has brought changes of 10000 sources, the limit/);
    await removeToken(w.server, "laptop");
    assert.strictEqual((await all(w.server, "SELECT count(*) AS n FROM counter_http_sources"))[0].n, 0);
    await w.end();
  },

  async "a client that sends too much is told so, whenever it listens"() {
    const w = await world({ maxBody: 100000 });
    const a = await fresh();
    for (let i = 0; i < 3000; i++) await count(a, randomBytes(1000).toString("hex"), i, 1);
    for (let i = 0; i < 5; i++)
      await assert.rejects(
        syncHttp(a, w.served.url, w.token),
        (error) => error.status === 413 && /the server answered 413: the body has more than 100000 bytes/.test(error.message)
      );
    const head = `POST /sync HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${w.token}\r\nContent-Length: ${20 * 2 ** 20}\r\n\r\n`;
    for (const milliseconds of [0, 150]) {
      const socket = net.connect(w.served.port, "127.0.0.1");
      const closed = new Promise((resolve) => socket.on("close", resolve));
      let failed;
      socket.on("error", (error) => (failed = error)).pause(); // it listens when it has sent all
      socket.write(head);
      for (let i = 0; i < 20 && !failed; i++) {
        await new Promise((resolve) => socket.write(randomBytes(2 ** 20), resolve));
        await new Promise((resolve) => setTimeout(resolve, milliseconds));
      }
      let said = "";
      socket.on("data", (bytes) => (said += bytes)).resume().end();
      await closed;
      assert.strictEqual(failed, undefined);
      assert.match(said, /^HTTP\/1.1 413 [^]*the body has more than 100000 bytes/);
    }
    await w.end(a);
  },

  async "a served file that has no room is no fault of the client"() {
    if (driver === "sqlite3") return; // which opens a connection of its own, without this limit
    const w = await world();
    const a = await fresh();
    for (let i = 0; i < 500; i++) await count(a, randomBytes(200).toString("hex"), i, 1);
    const pages = (await all(w.server, "SELECT page_count AS n FROM pragma_page_count"))[0].n;
    await run(w.server, `PRAGMA max_page_count = ${pages + 3}`);
    await assert.rejects(syncHttp(a, w.served.url, w.token), (error) => error.status === 500 && /full/.test(error.message));
    await run(w.server, "PRAGMA max_page_count = 1000000");
    await syncHttp(a, w.served.url, w.token);
    assert.deepStrictEqual(await contents(w.server), await contents(a));
    await w.end(a);
  },

  async "it stands behind other handlers, and says if these have read the body"() {
    const w = await world({}, (handle) => (request, response) => {
      if (request.url !== "/sync?read") return handle(request, response, () => response.writeHead(204).end());
      request.on("end", () => handle(request, response)).resume();
    });
    assert.strictEqual((await ask(w, { path: "/other" })).status, 204);
    assert.strictEqual((await ask(w)).status, 200);
    const answer = await ask(w, { path: "/sync?read", body: "{}" });
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
