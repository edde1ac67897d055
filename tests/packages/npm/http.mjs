// http.mjs - clients of a server: connections that end in the middle, locks, redirects, many at once.
import assert from "assert";
import http from "http";
import net from "net";
import { SyncError, addToken, syncHttp } from "sqlite-counter";
import { changeOf, claims, close, contents, count, driver, idOf, lineOf, open, run, serve } from "./common.mjs";
import { fresh, linesOf, pathOf, post, world } from "./served.mjs";

const CLIENTS = Number(process.env.COUNTER_CLIENTS ?? 10);

await claims({
  async "a file that is locked is 503, and a client waits for it"() {
    const w = await world();
    const a = await fresh();
    await count(a, "x", 1, 1);
    await run(w.server, "PRAGMA busy_timeout = 0");
    const locking = await open(pathOf(w.server));
    await run(locking, "BEGIN IMMEDIATE");
    if (driver !== "sqlite3") {
      // there the server has a connection of its own, which waits
      const refused = await post(w, await linesOf(a, { own: true }));
      assert.deepStrictEqual([refused.status, refused.headers["retry-after"]], [503, "1"]);
    }
    setTimeout(() => run(locking, "COMMIT"), 200);
    assert.strictEqual((await syncHttp(a, w.served.url, w.token)).gave, 1);
    assert.deepStrictEqual(await contents(w.server), { "x/1": "1" });
    await w.end(a, locking);
  },

  async "a server whose file is a copy that has not counted yet gives to the first client, too"() {
    const [original, a] = [await fresh(), await fresh()];
    await count(original, "x", 1, 5);
    await run(original, `VACUUM INTO '${pathOf(original)}.copy'`);
    const server = await open(`${pathOf(original)}.copy`);
    const served = await serve(server);
    await count(a, "x", 1, 2);
    const result = await syncHttp(a, served.url, await addToken(server, "laptop"));
    assert.deepStrictEqual([result.gave, result.took > 0], [1, true]);
    assert.deepStrictEqual(await contents(a), { "x/1": "7" });
    assert.deepStrictEqual(await contents(server), { "x/1": "7" });
    await served.close();
    for (const db of [original, a, server]) await close(db);
  },

  async "a server that dies in the middle leaves nothing half done, and the next call goes on"() {
    const w = await world();
    const [a, b] = [await fresh(), await fresh()];
    await run(
      a,
      "INSERT INTO hits WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1200) SELECT 'x', i * 7919 % 1201, i FROM c"
    );
    const other = await addToken(w.server, "other");
    let room = 0;
    const proxy = net.createServer((socket) => {
      const up = net.connect(w.served.port, "127.0.0.1");
      const pass = (from, to) =>
        from
          .on("data", (bytes) => ((room -= bytes.length) < 0 ? (socket.destroy(), up.destroy()) : to.write(bytes)))
          .on("error", () => {})
          .on("end", () => to.end());
      pass(socket, up);
      pass(up, socket);
    });
    await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${proxy.address().port}/sync`;
    const later = globalThis.setTimeout;
    globalThis.setTimeout = (call, milliseconds, ...more) =>
      later(call, milliseconds === 500 || milliseconds === 1000 ? 1 : milliseconds, ...more);
    for (const [db, token] of [
      [a, w.token],
      [b, other],
    ]) {
      for (room = 0; ; room += 9000) {
        const size = room;
        try {
          await syncHttp(db, url, token);
          break;
        } catch (error) {
          assert.ok(error instanceof SyncError, error.stack);
          assert.match(
            error.message,
            /^sqlite-counter: http:\/\/127\.0\.0\.1:\d+\/sync.*: .*\. Nothing is lost: the next call goes on$/
          );
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
    const servers = [0, 1].map(() =>
      http.createServer((request, response) => {
        seen.push(request.headers.host);
        response.writeHead(302, { Location: `http://127.0.0.1:${servers[1].address().port}/sync` }).end();
      })
    );
    for (const server of servers) await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const a = await fresh();
    await count(a, "x", 1, 1);
    await assert.rejects(
      syncHttp(a, `http://127.0.0.1:${servers[0].address().port}/sync`, "token"),
      (error) =>
        error.status === 302 &&
        /it has moved to http:\/\/127\.0\.0\.1:\d+\/sync: call syncHttp\(\) with that URL/.test(error.message)
    );
    assert.strictEqual(seen.length, 1);
    for (const server of servers) server.close();
    await assert.rejects(syncHttp(a, "ftp://x", "token"), /must begin with https:/);
    await assert.rejects(syncHttp(a, "http://127.0.0.1:1/sync", "a\r\nb"), /token must be the text/);
    await close(a);
  },

  async "another server is no server of counters"() {
    const a = await fresh();
    for (const [body, message] of [
      ["hello", /counter_heard: the answer .*: is the URL that of a sqlite-counter server\?/],
      ["", /is the URL that of a sqlite-counter server\?/],
      ['{"format":2}', /the answer has the format 2, and this version reads 1: install a newer/],
      ['{"format":0}', /the member format must be/],
      ['{"format":1,"source":"x"}\n{}\n', /the source 'x' is not the name of a file/],
      ["x".repeat(2 ** 20 + 1), /the answer is too long/],
    ]) {
      const server = http.createServer((_, response) => response.end(body));
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      await assert.rejects(
        syncHttp(a, `http://127.0.0.1:${server.address().port}/sync`, "token"),
        (error) => error instanceof SyncError && message.test(error.message)
      );
      server.close();
      server.closeAllConnections?.();
    }
    await close(a);
  },

  async "that the next call goes on is said where it may: not of what somebody must change"() {
    const a = await fresh();
    for (const [status, body, said] of [
      [400, '{"error":"no table was replicated"}', /answered 400: no table was replicated$/],
      [400, "<html>", /answered 400: is this the URL of a sqlite-counter server\?$/],
      [404, '{"error":"nothing"}', /answered 404: nothing: is this the URL of a sqlite-counter server\?$/],
      [500, '{"error":"the body was read before"}', /answered 500: the body was read before$/],
      [502, "<html>", /answered 502: Nothing is lost: the next call goes on$/],
      [503, '{"error":"the file is locked"}', /answered 503: the file is locked: Nothing is lost: the next call goes on$/],
    ]) {
      const server = http.createServer((_, response) => response.writeHead(status, { "Retry-After": "0.01" }).end(body));
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      await assert.rejects(syncHttp(a, `http://127.0.0.1:${server.address().port}/sync`, "token"), (error) => said.test(error.message));
      server.close();
      server.closeAllConnections?.();
    }
    await close(a);
  },

  async "no sentence has control characters of a server, and no line of another source is taken"() {
    const [a, source] = [await fresh(), "7529cd67-394b-3247-8020-f2a7272fc8d9"];
    const change = await changeOf(a, [{ id: source, clock: 1, value: 1 }], { table: "a\u001b[31m\u009b1m\u2028" });
    const head = (of) => JSON.stringify({ format: 1, source: of, more: true, changes: 0, skipped: 0, marks: { [`${own}`]: 0 }, warnings: [] });
    const own = `${await idOf(a)} own`;
    const line = (of) => `${head(source)}\n${lineOf(of, [change])}\n`;
    for (const [answers, said] of [
      [[[200, head("a\u001b[31m")]], /the source 'a \[31m' is not the name of a file/],
      [[[200, line(source)]], /counter_take: change 1: table a \[31m 1m : no counter table was created with this name here/],
      [[[200, line(`${source}\u001b[31m`)]], /the source '7529cd67-394b-3247-8020-f2a7272fc8d9 \[31m' is not the name of a file/],
      [[[200, line(`${source} own`)]], /it has changes of '7529cd67-394b-3247-8020-f2a7272fc8d9 own', not of '7529/],
      [[[500, JSON.stringify({ error: "a\u001b[31m\u009b1m\nb" })]], /the server answered 500: a \[31m 1m b$/],
    ]) {
      const left = [...answers, ...answers, ...answers];
      const server = http.createServer((_, response) => {
        const [status, body] = left.shift();
        response.writeHead(status);
        response.end(body);
      });
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      await assert.rejects(
        syncHttp(a, `http://127.0.0.1:${server.address().port}/sync`, "token"),
        (error) => said.test(error.message) && !/[\x00-\x1f\x7f-\x9f\u2028]/.test(error.message) && error instanceof SyncError
      );
      server.close();
      server.closeAllConnections?.();
    }
    assert.deepStrictEqual(await contents(a), {});
    await close(a);
  },

  async "what fails in the file while an answer is read is not said of the server"() {
    if (driver === "sqlite3") return; // which has a connection of its own, and that stays open
    const a = await fresh();
    const server = http.createServer(async (_, response) => {
      await close(a);
      response.end('{"format":1}');
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    await assert.rejects(
      syncHttp(a, `http://127.0.0.1:${server.address().port}/sync`, "token"),
      (error) => !(error instanceof SyncError) && /open|closed|MISUSE/.test(error.message)
    );
    server.close();
    server.closeAllConnections?.();
  },

  async "many clients at once: no error, and sums are exact"() {
    const w = await world();
    const clients = [];
    for (let i = 0; i < CLIENTS; i++) clients.push({ db: await fresh(), token: await addToken(w.server, `client ${i}`) });
    const begun = Date.now();
    let syncs = 0;
    await Promise.all(
      clients.map(async ({ db, token }, i) => {
        for (let round = 0; round < 3; round++, syncs++) {
          await count(db, "x", (i + round) % 5, 1);
          await syncHttp(db, w.served.url, token);
        }
      })
    );
    const took = (Date.now() - begun) / 1000;
    const sum = Object.values(await contents(w.server)).reduce((all, each) => all + Number(each), 0);
    assert.strictEqual(sum, 3 * CLIENTS);
    for (const { db, token } of clients) await syncHttp(db, w.served.url, token);
    for (const { db } of clients) assert.deepStrictEqual(await contents(db), await contents(w.server));
    console.log(`${driver}: ${CLIENTS} clients at once, ${Math.round(syncs / took)} syncs a second`);
    await w.end(...clients.map(({ db }) => db));
  },
});
