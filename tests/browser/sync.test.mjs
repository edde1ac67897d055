// sync() of the module, in tabs of Chromium, with the servers of the npm package and of the Python package.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import zlib from 'node:zlib';
import { after, before, describe, test } from 'node:test';
import { launch, makeFolder, serve, tab } from './harness.mjs';
import { installNode, nodeServer, pythonServer } from './servers.mjs';

const SCHEMA = `
CREATE TABLE products(sku TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER NOT NULL DEFAULT 0);
SELECT counter_replicate('products', 'stock');`;
const CORS = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Methods': 'POST', 'Access-Control-Allow-Headers': 'Authorization, Content-Type, Content-Encoding' };

const installed = installNode();
const skip = installed.missing ?? false;
let site, other, browser, folder, files = 0, served, requests, refusing;

/** Who answers below /sync, and what came. */
function answers(request, response) {
  const { method, url, headers } = request;
  if (!new URL(url, 'http://x').pathname.startsWith('/sync')) return false;
  const asked = { method, url, headers };
  requests.push(asked);
  if (!refusing?.(request, response)) readThen(request, (body) => {
    asked.size = (headers['content-encoding'] === 'gzip' ? zlib.gunzipSync(body) : body).length;
    served.answer(Object.assign(Readable.from([body]), { method, url, headers, complete: true }), response);
  });
  return true;
}

function readThen(request, work) {
  const parts = [];
  request.on('data', (some) => parts.push(some)).on('end', () => work(Buffer.concat(parts)));
}

before(async () => {
  folder = makeFolder();
  site = await serve({}, answers);
  other = await serve({}, answers);
  browser = await launch();
});

after(async () => {
  await browser.close();
  site.close();
  other.close();
  for (const one of [folder, installed.folder]) if (one) fs.rmSync(one, { recursive: true, force: true });
});

const fresh = () => path.join(folder, `${++files}.db`);

/** Serves a new file by Node from now on; the tokens of these devices. */
async function serveNew(schema, ...devices) {
  served = nodeServer(installed, fresh(), schema);
  [requests, refusing] = [[], undefined];
  return Promise.all(devices.map((device) => served.add(device)));
}

/** A profile of its own, in which `db` is a file with that schema; sync(token, options) syncs it with /sync. */
async function device(schema = SCHEMA, at = '/sync') {
  const context = await browser.createBrowserContext();
  const page = await tab(context, site.origin);
  await page.evaluate(async (sql, url) => {
    globalThis.db = await counter.open('till', { storage: 'indexeddb' });
    await db.exec(sql);
    globalThis.sell = (sku, n) => db.exec('INSERT INTO products(sku, stock) VALUES (?, ?) ON CONFLICT DO UPDATE SET stock = stock + excluded.stock', [sku, n]);
    globalThis.rows = () => db.exec('SELECT * FROM products ORDER BY sku');
    globalThis.sync = (token, options) => db.sync(url, token, options);
    globalThis.fails = async (...all) => sync(...all).then(() => 'it did not fail', (error) => `${error instanceof counter.SyncError} ${error.message}`);
  }, schema, at);
  return Object.assign(page, { end: () => context.close() });
}

const sell = (page, sku, n) => page.evaluate((...all) => sell(...all), sku, n);
const rows = (page) => page.evaluate(() => rows());
const sync = (page, ...all) => page.evaluate((...given) => sync(...given), ...all);
const fails = (page, ...all) => page.evaluate((...given) => fails(...given), ...all);

for (const kind of ['Node', 'Python']) {
  test(`two profiles that counted offline agree through a server of ${kind}`, { skip, timeout: 60000 }, async () => {
    let tokens;
    if (kind === 'Node') tokens = await serveNew(SCHEMA, 'phone', 'laptop');
    else {
      served = await pythonServer(folder, fresh(), SCHEMA, ['phone', 'laptop']);
      [requests, refusing, tokens] = [[], undefined, served.tokens];
    }
    const [phone, laptop] = [await device(), await device()];
    await phone.evaluate(() => db.exec("INSERT INTO products VALUES ('tea', 'Tee', 20)"));
    assert.equal((await sync(phone, tokens[0])).gave, 1);
    await sync(laptop, tokens[1]);
    await phone.setOfflineMode(true);
    assert.match(await fails(phone, tokens[0]), /^true sqlite-counter: http:\/\/localhost:\d+\/sync: the server cannot be reached\. Nothing is lost: the next call goes on$/);
    await sell(phone, 'tea', -3);
    await sell(phone, 'jam', 9007199254740991);
    await laptop.evaluate(() => db.exec("UPDATE products SET name = 'Tea', stock = stock - 4"));
    await phone.setOfflineMode(false);
    assert.equal((await sync(phone, tokens[0])).warnings.length, 0);
    const got = await sync(laptop, tokens[1]);
    assert.deepEqual([got.skipped, got.warnings, got.apart], [0, [], 0]);
    await sync(phone, tokens[0]);
    assert.deepEqual(await rows(phone), [{ sku: 'jam', name: null, stock: 9007199254740991 }, { sku: 'tea', name: 'Tea', stock: 13 }]);
    assert.deepEqual(await rows(laptop), await rows(phone));
    assert.deepEqual(await sync(phone, tokens[0]), { gave: 0, took: 0, skipped: 0, warnings: [], apart: 0 });
    assert.match(await fails(phone, 'wrong'), /^true sqlite-counter: .* the server answered 401: .*: give the token that the server's administrator has made for this device$/);
    assert.ok(requests.filter(({ method }) => method === 'POST').every(({ headers }) => headers['content-encoding'] === 'gzip'));
    await Promise.all([phone.end(), laptop.end()]);
    served.end?.();
  });
}

test('the returned counts are those of Node', { skip }, async () => {
  const [token, mine] = await serveNew(SCHEMA, 'phone', 'node');
  const phone = await device(), { syncHttp, load } = installed.require('sqlite-counter'), Database = installed.require('better-sqlite3');
  const node = new Database(fresh());
  load(node);
  node.exec(SCHEMA);
  await sell(phone, 'tea', 1);
  node.exec("INSERT INTO products(sku, stock) VALUES ('jam', 1)");
  const inBrowser = await sync(phone, token), inNode = await syncHttp(node, `${site.origin}/sync`, mine);
  assert.deepEqual({ ...inBrowser, took: 0 }, { ...inNode, took: 0 });
  assert.deepEqual([inBrowser.took, inNode.took], [1, 2]); // what it has given comes back
  node.close();
  await phone.end();
});

test('what is much goes up in bodies of 4 MiB, and down in several answers, and once', { skip, timeout: 120000 }, async () => {
  const [a, b] = await serveNew(SCHEMA, 'phone', 'laptop');
  const [phone, laptop] = [await device(), await device()];
  await phone.evaluate(() => db.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
    INSERT INTO products SELECT i || '${'x'.repeat(100)}', 'a name', i FROM n`));
  const { gave } = await sync(phone, a);
  assert.equal(gave, 60000);
  const sizes = requests.filter(({ method }) => method === 'POST').map(({ size }) => size);
  assert.ok(sizes.length > 3 && Math.max(...sizes) <= 4 * 2 ** 20, String(sizes));
  requests = [];
  const { took } = await sync(laptop, b);
  assert.equal(took, 60000);
  assert.ok(requests.filter(({ url }) => url.includes('&since=')).length > 3);
  const sum = 'SELECT count(*) AS n, sum(stock) AS stock FROM products';
  assert.deepEqual(await laptop.evaluate((sql) => db.exec(sql), sum), [{ n: 60000, stock: 1800030000 }]);
  assert.deepEqual(served.db.prepare(sum).get(), { n: 60000, stock: 1800030000 });
  assert.deepEqual([(await sync(phone, a)).gave, (await sync(laptop, b)).took], [0, 0]);
  await Promise.all([phone.end(), laptop.end()]);
});

test('an upload that breaks off goes on with the next call, and nothing counts twice', { skip, timeout: 60000 }, async () => {
  const [token] = await serveNew(SCHEMA, 'phone');
  const phone = await device();
  await sell(phone, 'tea', 5);
  refusing = (request, response) => request.method === 'POST' && Boolean(response.destroy());
  assert.match(await fails(phone, token), /^true sqlite-counter: .*\/sync: the server cannot be reached\. Nothing is lost: the next call goes on$/);
  assert.equal(requests.filter(({ method }) => method === 'POST').length >= 3, true, 'it is tried again');
  // The answer is lost: the server has it, and the page does not know.
  let lost = false;
  refusing = (request, response) => {
    if (!request.url.includes('&since=') || lost) return false;
    lost = true;
    served.answer(request, { headersSent: false, writeHead() {}, end() { response.destroy(); }, destroy() {} });
    return true;
  };
  assert.equal((await sync(phone, token)).gave, 1);
  assert.equal(lost, true);
  assert.deepEqual(served.db.prepare('SELECT sku, stock FROM products').all(), [{ sku: 'tea', stock: 5 }]);
  await phone.end();
});

test('a file that is locked for a while is asked again; one that stays locked is a sentence', { skip, timeout: 60000 }, async () => {
  const [token] = await serveNew(SCHEMA, 'phone');
  const phone = await device();
  let times = 2;
  refusing = (request, response) => Boolean(times-- > 0 && response.writeHead(503, { 'Retry-After': '0.1' }).end('{"error":"the file is locked"}'));
  await sync(phone, token);
  times = 99;
  assert.match(await fails(phone, token), /^true sqlite-counter: .*: the server answered 503: the file is locked: Nothing is lost/);
  await phone.end();
});

test('an id that is bound to another token is a warning, until its token is moved', { skip }, async () => {
  const [old, next] = await serveNew(SCHEMA, 'old', 'new');
  const phone = await device();
  await sell(phone, 'tea', 5);
  await sync(phone, old);
  await sell(phone, 'tea', 2);
  const { skipped, warnings } = await sync(phone, next);
  assert.equal(skipped, 1);
  assert.match(warnings[0].message, /^http:\/\/localhost:\d+\/sync: it skips what this file has counted, for the id of the file is bound to another token/);
  assert.equal(warnings[0].url, `${site.origin}/sync`);
  await installed.require('sqlite-counter').removeToken(served.db, 'old', { to: 'new' });
  assert.deepEqual((await sync(phone, next)).warnings, []);
  assert.equal(served.db.prepare('SELECT stock FROM products').get().stock, 7);
  await phone.end();
});

test('a server that is a copy takes an id of its own, and the page its changes', { skip }, async () => {
  const [token] = await serveNew(SCHEMA, 'phone');
  const phone = await device();
  await sell(phone, 'tea', 5);
  await sync(phone, token);
  served.db.exec("INSERT INTO products(sku, stock) VALUES ('jam', 1)");
  const [file, copy] = [served.db.name, fresh()];
  served.close();
  fs.copyFileSync(file, copy);
  served = nodeServer(installed, copy);
  await sell(phone, 'tea', 1);
  await sync(phone, token);
  assert.deepEqual((await rows(phone)).map(({ sku, stock }) => [sku, stock]), [['jam', 1], ['tea', 6]]);
  assert.equal(served.db.prepare("SELECT stock FROM products WHERE sku = 'tea'").get().stock, 6);
  await phone.end();
});

test('a server that was put back from a backup gets what it has lost', { skip }, async () => {
  const [token] = await serveNew(SCHEMA, 'phone');
  const phone = await device();
  const backup = fresh();
  await served.db.backup(backup);
  await sell(phone, 'tea', 5);
  await sync(phone, token);
  served.close();
  served = nodeServer(installed, backup);
  assert.equal((await sync(phone, token)).gave, 1);
  assert.equal(served.db.prepare('SELECT stock FROM products').get().stock, 5);
  await phone.end();
});

test('rows that a constraint refuses are counted, and tried again', { skip }, async () => {
  const [token] = await serveNew(SCHEMA, 'phone');
  const phone = await device(SCHEMA.replace('name TEXT', 'name TEXT UNIQUE'));
  served.db.exec("INSERT INTO products VALUES ('a', 'Tea', 1), ('b', 'Tea', 2)");
  assert.equal((await sync(phone, token)).apart, 1);
  await phone.evaluate(() => db.exec("UPDATE products SET name = 'Another'"));
  assert.equal((await sync(phone, token)).apart, 0);
  assert.equal((await rows(phone)).length, 2);
  await phone.end();
});

test('a scope takes only its rows, and gives everything', { skip }, async () => {
  const [token] = await serveNew(SCHEMA, 'phone');
  const phone = await device();
  served.db.exec("INSERT INTO products(sku, stock) VALUES ('tea', 1), ('jam', 2)");
  await sell(phone, 'mug', 1);
  await sync(phone, token, { scope: ['tea'] });
  assert.deepEqual((await rows(phone)).map(({ sku }) => sku), ['mug', 'tea']);
  assert.equal(served.db.prepare('SELECT count(*) AS n FROM products').get().n, 3);
  await phone.end();
});

test('a browser without CompressionStream sends what it has as it is', { skip }, async () => {
  const [token] = await serveNew(SCHEMA, 'phone');
  const phone = await device();
  await phone.evaluate(() => { delete globalThis.CompressionStream; });
  await sell(phone, 'tea', 5);
  assert.equal((await sync(phone, token)).gave, 1);
  assert.equal(requests.find(({ method }) => method === 'POST').headers['content-encoding'], undefined);
  await phone.end();
});

test('other calls of the database go on while a sync waits for the network', { skip, timeout: 60000 }, async () => {
  const [token] = await serveNew(SCHEMA, 'phone');
  const phone = await device();
  let go;
  const gone = new Promise((ok) => { go = ok; });
  refusing = (request, response) => {
    gone.then(() => served.answer(request, response));
    return true;
  };
  await phone.evaluate((t) => { globalThis.waiting = sync(t); }, token);
  await sell(phone, 'tea', 5);
  assert.equal((await rows(phone))[0].stock, 5);
  go();
  await phone.evaluate(() => waiting);
  refusing = undefined;
  await sync(phone, token);
  assert.equal(served.db.prepare('SELECT stock FROM products').get().stock, 5);
  await phone.end();
});

describe('what cannot be', () => {
  test('a transaction that is open, no counter tables, a wrong URL, no token: sentences', { skip }, async () => {
    const [token] = await serveNew(SCHEMA, 'phone');
    const phone = await device();
    await phone.evaluate(() => db.exec('BEGIN'));
    assert.match(await fails(phone, token), /a transaction is open: commit it before/);
    await phone.evaluate(() => db.exec('ROLLBACK'));
    const said = await phone.evaluate(async (t) => {
      const why = async (work) => work().then(() => 'it did not fail', (error) => error.message);
      const empty = await counter.open('empty', { storage: 'memory' });
      return [await why(() => empty.sync('/sync', t)), await why(() => db.sync('ftp://x/', t)), await why(() => db.sync('http://u:p@localhost/', t)),
        await why(() => db.sync('/sync')), await why(() => db.sync('/sync', 'ä')), await why(() => db.sync('/sync', t, { scope: 5 })), await why(() => db.sync('/empty', t))];
    }, token);
    assert.match(said[0], /the file has no counter tables: create them before it is synchronized/);
    assert.match(said[1], /ftp:\/\/x\/: the URL must begin with https:\/\/ or http:\/\/ and have no password in it/);
    assert.match(said[2], /have no password in it/);
    assert.match(said[3], /token must be the text that addToken\(\) has returned/);
    assert.match(said[4], /token must be the text/);
    assert.match(said[5], /scope must be an array of the first values of a key, not 5/);
    assert.match(said[6], /counter_heard: the answer .*: is the URL that of a sqlite-counter server\?/);
    await phone.end();
  });

  test('a redirect is not followed, and its target is not told the token', { skip }, async () => {
    const [token] = await serveNew(SCHEMA, 'phone');
    const phone = await device();
    refusing = (request, response) => request.headers.host === new URL(site.origin).host && Boolean(response.writeHead(302, { location: `${other.origin}${request.url}`, ...CORS }).end());
    assert.match(await fails(phone, token), /^true sqlite-counter: .*: the server redirects: it has moved to another URL: call sync\(\) with that URL$/);
    assert.equal(requests.length, 1);
    await phone.end();
  });

  test('a server elsewhere must let the page in: it says so, and works with the headers of CORS', { skip, timeout: 60000 }, async () => {
    const [token] = await serveNew(SCHEMA, 'phone');
    const phone = await device(SCHEMA, `${other.origin}/sync`);
    await sell(phone, 'tea', 5);
    assert.match(await fails(phone, token), new RegExp(`the server cannot be reached, or lets no pages of ${site.origin} in \\(CORS\\)\\. Nothing is lost`));
    refusing = (request, response) => {
      for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value);
      return request.method === 'OPTIONS' && Boolean(response.writeHead(204).end());
    };
    assert.equal((await sync(phone, token)).gave, 1);
    await phone.end();
  });

  test('lines of another source, a newer format, half a line: refused, and nothing is taken', { skip }, async () => {
    const [token] = await serveNew(SCHEMA, 'phone');
    const phone = await device();
    served.db.exec("INSERT INTO products(sku, stock) VALUES ('tea', 1)");
    const lines = [];
    for await (const line of installed.require('sqlite-counter').changes(served.db)) lines.push(line);
    for (const [body, said] of [
      [lines[0].replace(/"source":"[^"]*"/, '"source":"776b33c8-fdc4-3199-b06b-1fc19c5bcc63"'), /: it has changes of '776b33c8-fdc4-3199-b06b-1fc19c5bcc63', not of '[0-9a-f-]{36}'$/],
      [lines[0].replace('"format":1', '"format":2'), /: it has the format 2, and this version reads 1: install a newer sqlite-counter$/],
      ...['true', '1.0', '0', 'null'].map((format) => [lines[0].replace('"format":1', `"format":${format}`), /: the member format must be a whole number, 1 or more, not /]),
      [lines[0].slice(0, lines[0].indexOf('"change":') + 20), /: it is cut short$/],
      [lines[0].replace('"table":"products"', '"table":"none"'), /sqlite-counter: http.*none/],
    ]) {
      refusing = (request, response) => {
        const asked = new URL(request.url, 'http://x').searchParams;
        const head = { format: 1, source: JSON.parse(lines[0]).source, more: false, changes: 0, skipped: 0, marks: { [asked.get('by')]: 0 }, warnings: [] };
        const answer = [JSON.stringify(head), ...(asked.has('since') ? [body] : [])];
        return Boolean(response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(`${answer.join('\n')}\n`));
      };
      assert.match(await fails(phone, token), said);
    }
    refusing = (request, response) => Boolean(response.writeHead(200).end('{"format":2,"source":"x"}\n'));
    assert.match(await fails(phone, token), /the answer has the format 2, and this version reads 1: install a newer sqlite-counter: is the URL /);
    assert.deepEqual(await rows(phone), []);
    refusing = undefined;
    assert.equal((await sync(phone, token)).took, 1);
    await phone.end();
  });
});
