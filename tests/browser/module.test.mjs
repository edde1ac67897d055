// The module in tabs of Chromium: storages, identity, turns, and what may go wrong.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { kill, launch, makeFolder, serve, tab, use } from './harness.mjs';

const STORAGES = ['opfs', 'indexeddb'];
let server, browser, page, names = 0;

before(async () => {
  server = await serve();
  browser = await launch();
  page = await open();
});

after(async () => {
  await browser.close();
  server.close();
});

const fresh = () => `file ${++names}`;

/** Runs a function in a tab, with the helpers of the page below. */
const run = (where, work, ...args) => where.evaluate(work, ...args);

async function open() {
  const opened = await tab(browser, server.origin);
  await helpers(opened);
  return opened;
}

/** What the tests ask a database for. */
function helpers(where) {
  return where.evaluate(() => {
    globalThis.shop = async (name, storage) => {
      const db = await counter.open(name, { storage });
      await db.exec('CREATE TABLE IF NOT EXISTS products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0)');
      await db.transaction(async (t) => {
        if (!(await t.exec("SELECT 1 FROM counter_tracked WHERE table_name = 'products'")).length) await t.exec("SELECT counter_track('products', 'stock')");
      });
      return db;
    };
    globalThis.sell = (db, n) => db.exec('INSERT INTO products VALUES (?, ?) ON CONFLICT DO UPDATE SET stock = stock + excluded.stock', ['tea', n]);
    globalThis.stock = async (db) => (await db.exec("SELECT stock FROM products WHERE sku = 'tea'"))[0]?.stock;
    globalThis.id = async (db) => (await db.exec('SELECT counter_id() AS id'))[0].id;
    globalThis.fails = async (work) => {
      try {
        await work();
        return 'it did not fail';
      } catch (error) {
        return error.message;
      }
    };
  });
}

describe('values', () => {
  test('come back as they went in, of every kind', async () => {
    const rows = await run(page, async () => {
      const db = await counter.open('values', { storage: 'memory' });
      const [row] = await db.exec('SELECT ?1 AS a, ?2 AS b, ?3 AS c, ?4 AS d, ?5 AS e, ?6 AS f, ?7 AS g',
        [1, 2 ** 53 - 1, 9223372036854775807n, 1.5, 'é\u0000x', new Uint8Array([0, 255]), null]);
      return { ...row, c: String(row.c), kind: typeof row.c, f: [...row.f] };
    });
    assert.deepEqual(rows, { a: 1, b: 2 ** 53 - 1, c: '9223372036854775807', kind: 'bigint', d: 1.5, e: 'é\u0000x', f: [0, 255], g: null });
  });

  test('a parameter that is missing, of another kind, or too large is an error', async () => {
    const said = await run(page, async () => {
      const db = await counter.open('values', { storage: 'memory' });
      return [await fails(() => db.exec('SELECT ?')), await fails(() => db.exec('SELECT ?', [2n ** 63n])), await fails(() => db.exec('SELECT ?', [{}])),
        await fails(() => db.exec('SELECT :a', { b: 1 })), await fails(() => db.exec('SELECT 1; SELECT ?', [1])), await fails(() => db.exec('SELEC'))];
    });
    assert.deepEqual(said, ['the statement has 1 parameters, 0 were given', 'parameter 1: 9223372036854775808 leaves the range of a 64-bit integer',
      'parameter 1: [object Object] is no value of SQL', 'parameter :a was not given', 'parameters are for one statement, the text has several', 'near "SELEC": syntax error']);
  });

  test('a prepared statement is run again and again, and tells what it changed', async () => {
    const got = await run(page, async () => {
      const db = await counter.open('prepared', { storage: 'memory' });
      await db.exec('CREATE TABLE t(a)');
      const insert = await db.prepare('INSERT INTO t VALUES (:a)'), select = await db.prepare('SELECT sum(a) AS n FROM t');
      const runs = [await insert.run({ a: 5 }), await insert.run({ ':a': 6 })];
      const { n } = await select.get();
      await insert.finalize();
      return { runs, n, after: await fails(() => insert.run({ a: 1 })), two: await fails(() => db.prepare('SELECT 1; SELECT 2')), none: await fails(() => db.prepare('-- nothing')) };
    });
    assert.deepEqual(got, { runs: [{ changes: 1, lastInsertRowid: 1 }, { changes: 1, lastInsertRowid: 2 }], n: 11,
      after: 'the statement has been finalized', two: 'prepare: takes one statement', none: 'prepare: takes one statement' });
  });
});

describe('transactions', () => {
  test('one that throws leaves nothing, and calls beside it wait', async () => {
    const got = await run(page, async () => {
      const db = await counter.open('transactions', { storage: 'memory' });
      await db.exec('CREATE TABLE t(a)');
      const thrown = await fails(() => db.transaction(async (t) => {
        await t.exec('INSERT INTO t VALUES (1)');
        throw new Error('no');
      }));
      const first = db.transaction(async (t) => {
        await t.exec('INSERT INTO t VALUES (2)');
        await new Promise((later) => { setTimeout(later, 50); });
        return (await t.exec('SELECT count(*) AS n FROM t'))[0].n;
      });
      const second = db.exec('INSERT INTO t VALUES (3)');
      return { thrown, n: await first, second: (await second).length, all: (await db.exec('SELECT a FROM t')).map((row) => row.a) };
    });
    assert.deepEqual(got, { thrown: 'no', n: 1, second: 0, all: [2, 3] });
  });
});

for (const storage of STORAGES) {
  describe(storage, () => {
    test('what was counted is there after a reload', async () => {
      const name = fresh();
      const before_ = await run(page, async (n, s) => {
        const db = await shop(n, s);
        await sell(db, 5);
        return { kind: db.storage, id: await id(db) };
      }, name, storage);
      assert.equal(before_.kind, storage);
      await page.reload();
      await use(page);
      await helpers(page);
      const after_ = await run(page, async (n, s) => {
        const db = await shop(n, s);
        await sell(db, 2);
        return { stock: await stock(db), id: await id(db) };
      }, name, storage);
      assert.deepEqual(after_, { stock: 7, id: before_.id });
    });

    test('a name without a storage is found where it was made', async () => {
      const name = fresh();
      const kind = await run(page, async (n, s) => {
        const db = await shop(n, s);
        await sell(db, 1);
        await db.close();
        const again = await shop(n);
        return [again.storage, await stock(again)];
      }, name, storage);
      assert.deepEqual(kind, [storage, 1]);
    });

    test('tabs that open one new file at the same moment, and then do nothing, let each other in', { timeout: 60000 }, async () => {
      const name = fresh(), tabs = await Promise.all([open(), open(), open()]);
      await Promise.all(tabs.map((one) => run(one, async (n, s) => { globalThis.db = await counter.open(n, { storage: s }); }, name, storage)));
      await Promise.all(tabs.map((one) => run(one, async () => {
        await db.exec('CREATE TABLE IF NOT EXISTS t(a)');
        await db.exec('INSERT INTO t VALUES (1)');
      })));
      for (const one of tabs) assert.equal(await run(one, async () => (await db.exec('SELECT count(*) AS n FROM t'))[0].n), 3);
      await Promise.all(tabs.map((one) => one.close()));
    });

    test('two tabs on one file take turns, and lose nothing', async () => {
      const name = fresh(), other = await open();
      const count = async (n, s) => {
        const db = await shop(n, s);
        const insert = await db.prepare("INSERT INTO products VALUES ('tea', 1) ON CONFLICT DO UPDATE SET stock = stock + 1");
        for (let i = 0; i < 100; i++) await insert.run();
        const one = await id(db);
        await db.close();
        return one;
      };
      const ids = await Promise.all([run(page, count, name, storage), run(other, count, name, storage)]);
      const sum = await run(other, async (n, s) => stock(await shop(n, s)), name, storage);
      await other.close();
      assert.equal(sum, 200);
      assert.equal(ids[0], ids[1]);
    });

    test('a transaction of one tab is whole for the other', async () => {
      const name = fresh(), other = await open();
      await run(page, async (n, s) => {
        globalThis.held = await shop(n, s);
        await new Promise((begun) => {
          globalThis.ended = held.transaction(async (t) => {
            await t.exec("INSERT INTO products VALUES ('tea', 1)");
            begun();
            await new Promise((later) => { globalThis.letGo = later; });
            await t.exec("UPDATE products SET stock = stock + 1");
          });
        });
      }, name, storage);
      const reading = run(other, async (n, s) => stock(await shop(n, s)), name, storage);
      await run(page, () => {
        letGo();
        return ended;
      });
      assert.equal(await reading, 2);
      await other.close();
    });

    test('an export that is imported elsewhere is a copy: it takes an id of its own, and both merge', async () => {
      const [a, b] = [fresh(), fresh()];
      const got = await run(page, async (one, two, s) => {
        const db = await shop(one, s);
        await sell(db, 10);
        const copy = await counter.open(two, { storage: s });
        await copy.import(await db.export());
        await sell(copy, 1);
        await sell(db, 2);
        const ids = [await id(db), await id(copy)];
        await db.apply(await copy.changes());
        await copy.apply(await db.changes());
        return { ids, sums: [await stock(db), await stock(copy)] };
      }, a, b, storage);
      assert.notEqual(got.ids[0], got.ids[1]);
      assert.deepEqual(got.sums, [13, 13]);
    });

    test('own changes and a scope go along alone, and have marks of their own', async () => {
      const [a, b] = [fresh(), fresh()];
      const got = await run(page, async (one, two, s) => {
        const db = await shop(one, s), other = await counter.open(two, { storage: s });
        await sell(db, 10);
        await other.import(await db.export());
        await sell(other, 1);
        await db.apply(await other.changes());
        await sell(db, 2);
        const own = JSON.parse(await db.changes(0, { own: true }));
        const [none, some] = [JSON.parse(await db.changes(0, { scope: ['jam'] })), JSON.parse(await db.changes(0, { scope: ['tea'] }))];
        await other.apply(JSON.stringify(some));
        const told = await Promise.all(own.changes.map(async ({ change }) => (await db.exec('SELECT counter_change_json(unhex(?)) AS told', [change]))[0].told));
        return {
          shards: told.flatMap((one) => JSON.parse(one).columns).flatMap(({ cell }) => cell?.shards ?? []).map((shard) => shard.id), ids: [await id(db), await id(other)],
          sources: [own.source, some.source], none: none.changes, stock: await stock(other),
          marks: [await other.mark(await id(db)), (await other.mark(await id(db), ['tea'])) === some.upto],
        };
      }, a, b, storage);
      assert.ok(!got.shards.includes(got.ids[1]) && got.shards.includes(got.ids[0]));
      assert.deepEqual(got.sources, [`${got.ids[0]} own`, `${got.ids[0]} ["tea"]`]);
      assert.deepEqual([got.none, got.stock, ...got.marks], [[], 13, 0, true]);
    });

    test('answers about opening values go along with the changes, and what is none is refused', async () => {
      const [a, b] = [fresh(), fresh()];
      const got = await run(page, async (one, two, s) => {
        const tracking = async (name) => {
          const db = await counter.open(name, { storage: s });
          await db.exec('CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0)');
          await db.exec("INSERT INTO products VALUES ('tea', 10)");
          await db.exec("SELECT counter_track('products', 'stock')");
          return db;
        };
        const db = await tracking(one), other = await tracking(two);
        await other.apply(await db.changes());
        const [{ why }] = await other.exec("SELECT why FROM counter_tracked WHERE row_key NOT NULL");
        const said = [why];
        const [{ opening }] = await other.exec("SELECT name AS opening FROM counter_state WHERE kind = 'opening'");
        await db.exec("SELECT counter_opening('products', 'same', ?)", [opening]);
        const answered = await db.changes();
        said.push(await fails(() => other.apply(answered.replace('"change":"04b1', '"change":"x04b1'))), await fails(() => other.apply(answered.replace('"change":"04b1', '"change":"04b2'))));
        await other.apply(answered);
        await sell(other, 1);
        await db.apply(await other.changes());
        return { said, sums: [await stock(db), await stock(other)] };
      }, a, b, storage);
      assert.deepEqual(got.sums, [11, 11]);
      [/two files counted the values that they had/, /change 1: the member change must be a text of hexadecimal digits/, /an answer about two openings is damaged/]
        .forEach((sentence, i) => assert.match(got.said[i], sentence));
    });

    test('an older export that is imported into its own file is a restore: no id is used twice', async () => {
      const [a, b] = [fresh(), fresh()];
      const got = await run(page, async (one, two, s) => {
        const db = await shop(one, s), other = await shop(two, s);
        await sell(db, 10);
        const before = await id(db), backup = await db.export();
        await sell(db, 5);
        await other.apply(await db.changes());
        await db.import(backup);
        await sell(db, 3);
        const since = await id(db);
        await other.apply(await db.changes());
        await db.apply(await other.changes());
        return { isNew: before !== since, sums: [await stock(db), await stock(other)] };
      }, a, b, storage);
      assert.deepEqual(got, { isNew: true, sums: [18, 18] });
    });

    test('the bytes put back behind the module are a restore, too', async () => {
      const [a, b] = [fresh(), fresh()];
      const got = await run(page, async (one, two, s) => {
        const bytesOf = async () => {
          if (s === 'opfs') {
            const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('sqlite-counter');
            const file = await folder.getFileHandle(encodeURIComponent(one));
            return { read: async () => (await file.getFile()).arrayBuffer(), write: async (bytes) => {
              const to = await file.createWritable();
              await to.write(bytes);
              await to.close();
            } };
          }
          const idb = await new Promise((done) => { indexedDB.open('sqlite-counter').onsuccess = ({ target }) => done(target.result); });
          const at = (mode) => idb.transaction('blocks', mode).objectStore('blocks');
          const done = (request) => new Promise((ok) => { request.onsuccess = () => ok(request.result); });
          return { read: () => done(at('readonly').getAll(IDBKeyRange.bound([one], [one, []]))), write: (blocks) => Promise.all(blocks.map((bytes, i) => done(at('readwrite').put(bytes, [one, i])))) };
        };
        let db = await shop(one, s);
        const other = await shop(two, s);
        await sell(db, 10);
        const before = await id(db);
        await db.close();
        const file = await bytesOf(), old = await file.read();
        db = await shop(one, s);
        for (let i = 0; i < 5; i++) await sell(db, 1);
        await other.apply(await db.changes());
        await db.close();
        await file.write(old);
        db = await shop(one, s);
        await sell(db, 3);
        await other.apply(await db.changes());
        await db.apply(await other.changes());
        return { isNew: before !== await id(db), sums: [await stock(db), await stock(other)] };
      }, a, b, storage);
      assert.deepEqual(got, { isNew: true, sums: [18, 18] });
    });

    test('the record lost beside the bytes: a copy', async () => {
      const name = fresh();
      const got = await run(page, async (n, s) => {
        let db = await shop(n, s);
        await sell(db, 10);
        const before = await id(db);
        await db.close();
        if (s === 'opfs') {
          const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('sqlite-counter');
          await folder.removeEntry(`${encodeURIComponent(n)}-record`);
        } else {
          const idb = await new Promise((done) => { indexedDB.open('sqlite-counter').onsuccess = ({ target }) => done(target.result); });
          const files = idb.transaction('files', 'readwrite').objectStore('files');
          const file = await new Promise((ok) => { files.get(n).onsuccess = ({ target }) => ok(target.result); });
          await new Promise((ok) => { files.put({ ...file, record: null }, n).onsuccess = ok; });
        }
        db = await shop(n, s);
        await sell(db, 1);
        return { isNew: before !== await id(db), stock: await stock(db) };
      }, name, storage);
      assert.deepEqual(got, { isNew: true, stock: 11 });
    });

    test('bytes that are no database, cut off, or of a newer version change nothing', async () => {
      const name = fresh();
      const got = await run(page, async (n, s) => {
        const db = await shop(n, s);
        await sell(db, 4);
        const before = await id(db);
        const newer = await counter.open('newer', { storage: 'memory' });
        await newer.import(await db.export());
        await newer.exec('UPDATE counter_replica SET format = 9999');
        const said = [];
        for (const bytes of [new Uint8Array(0), new TextEncoder().encode('no database'.repeat(100)), (await db.export()).slice(0, 5000), await newer.export(), 'text'])
          said.push(await fails(() => db.import(bytes)));
        return { said, stock: await stock(db), same: before === await id(db) };
      }, name, storage);
      assert.deepEqual([got.stock, got.same], [4, true]);
      assert.match(got.said[0], /^import: these bytes cannot be used: there are no bytes$/);
      assert.match(got.said[1], /^import: these bytes cannot be used: file is not a database$/);
      assert.match(got.said[2], /^import: these bytes cannot be used: /);
      assert.match(got.said[3], /^import: these bytes cannot be used: .*newer version: format 9999, this library knows \d+; install a newer sqlite-counter$/);
      assert.match(got.said[4], /^import: takes the bytes of a database, a Uint8Array$/);
    });

    test('a file that a newer version has written is opened, read without its counters, and not changed', async () => {
      const got = await run(page, async (n, s) => {
        const db = await shop(n, s);
        await sell(db, 4);
        await db.exec('UPDATE counter_replica SET format = 9999');
        await db.close();
        const again = await counter.open(n, { storage: s });
        const said = [await fails(() => sell(again, 1)), await fails(() => again.changes())];
        return { said, stock: await stock(again), plain: (await again.exec('CREATE TABLE t(a)')).length };
      }, fresh(), storage);
      for (const sentence of got.said) assert.match(sentence, /format 9999, this library knows \d+; install a newer sqlite-counter$/);
      assert.deepEqual([got.stock, got.plain], [4, 0]);
    });

    test("rows of a stranger's feed are refused by a sentence, and change nothing", async () => {
      const name = fresh();
      const got = await run(page, async (n, s) => {
        const db = await shop(n, s);
        await sell(db, 4);
        const [line] = (await db.changes()).split('\n');
        const said = [];
        for (const batch of ['no JSON', '[]', '{"source":"x","changes":[]', line.replace('"products"', '"strangers"'), line.replace(/"packed":"[^"]*"/, '"packed":"zz"'),
          line.replace('sku TEXT BINARY', 'sku INTEGER BINARY'), line.replace('"change":"01', '"change":"09'), line.replace('"format":1', '"format":2'), 5])
          said.push(await fails(() => db.apply(batch)));
        return { said, stock: await stock(db) };
      }, name, storage);
      assert.equal(got.stock, 4);
      for (const sentence of got.said) assert.notEqual(sentence, 'it did not fail', got.said.join('\n'));
    });

    test('a tab that is killed while it writes keeps what was acknowledged', { timeout: 120000 }, async () => {
      const folder = makeFolder(), name = 'killed';
      let acknowledged = 0;
      try {
        for (let round = 0; round < 5; round++) {
          const doomed = await launch(folder);
          const one = await tab(doomed, server.origin);
          await helpers(one);
          await one.exposeFunction('acknowledge', () => { acknowledged++; });
          const found = await run(one, async (n, s) => stock(await shop(n, s)), name, storage);
          assert.ok((found ?? 0) >= acknowledged && (found ?? 0) <= acknowledged + 1, `${found} of ${acknowledged}`);
          acknowledged = found ?? 0;
          const begun = acknowledged;
          run(one, async (n, s) => {
            const db = await shop(n, s);
            for (;;) {
              await sell(db, 1);
              await acknowledge();
            }
          }, name, storage).catch(() => {});
          while (acknowledged < begun + 20) await new Promise((later) => { setTimeout(later, 5); });
          await kill(doomed, folder);
        }
      } finally {
        fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
      }
      assert.ok(acknowledged >= 80);
    });

    // Chromium does not hold IndexedDB to a quota that DevTools set; see "no room in IndexedDB" below.
    if (storage === 'opfs')
      test('a quota that is full: a sentence, nothing half written, and it goes on when there is room', { timeout: 120000 }, async () => {
        const own = await launch(), full = await tab(own, server.origin);
        await helpers(full);
        const session = await full.createCDPSession();
        await run(full, async (s) => {
          globalThis.db = await shop('full', s);
          await sell(db, 4);
          await db.exec('CREATE TABLE ballast(bytes BLOB)');
        }, storage);
        await session.send('Storage.overrideQuotaForOrigin', { origin: server.origin, quotaSize: 600000 });
        const said = await run(full, async () => {
          for (let i = 0; i < 40; i++) {
            const why = await fails(() => db.transaction(async (t) => {
              await t.exec("UPDATE products SET stock = stock + 1");
              await t.exec('INSERT INTO ballast VALUES (randomblob(100000))');
            }));
            if (why !== 'it did not fail') return { why, i, stock: await stock(db), rows: (await db.exec('SELECT count(*) AS n FROM ballast'))[0].n };
          }
          return { why: 'it did not fail' };
        });
        assert.match(said.why, /full|could not be kept/);
        assert.deepEqual([said.stock, said.rows], [4 + said.i, said.i]);
        const again = await tab(own, server.origin);
        await helpers(again);
        assert.equal(await run(again, async () => stock(await counter.open('full'))), said.stock, 'it is found and read without room');
        await again.close();
        await session.send('Storage.overrideQuotaForOrigin', { origin: server.origin });
        const later = await run(full, async () => {
          await sell(db, 1);
          return [await stock(db), (await db.exec('PRAGMA integrity_check'))[0].integrity_check];
        });
        assert.deepEqual(later, [5 + said.i, 'ok']);
        await own.close();
      });

    test('100,000 increments in one transaction and one by one are all there', { timeout: 120000 }, async () => {
      const got = await run(page, async (n, s) => {
        const db = await shop(n, s);
        await db.exec(`WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 99000)
          INSERT INTO products SELECT 'tea', 1 FROM c WHERE true ON CONFLICT DO UPDATE SET stock = stock + 1`);
        const one = await db.prepare("UPDATE products SET stock = stock + 1");
        for (let i = 0; i < 1000; i++) await one.run();
        return stock(db);
      }, fresh(), storage);
      assert.equal(got, 100000);
    });
  });
}

describe('what a browser may lack', () => {
  const without = async (script) => {
    const lacking = await browser.newPage();
    await lacking.evaluateOnNewDocument(script);
    await lacking.goto(`${server.origin}/empty`);
    await use(lacking);
    await helpers(lacking);
    return lacking;
  };

  test('no workers: a sentence', async () => {
    const lacking = await without('delete globalThis.Worker');
    assert.equal(await run(lacking, () => fails(() => counter.open('x'))), 'open: this browser has no workers, in which SQLite runs');
    await lacking.close();
  });

  test('no https: a sentence, but for memory', async () => {
    const own = await launch(undefined, '--host-resolver-rules=MAP insecure.example 127.0.0.1');
    try {
      const origin = server.origin.replace('localhost', 'insecure.example'), lacking = await tab(own, origin);
      await helpers(lacking);
      assert.equal(await run(lacking, () => fails(() => counter.open('x'))), `open: x: browsers keep files for https and for localhost alone, not for ${origin}`);
      assert.equal(await run(lacking, async () => (await (await counter.open('x', { storage: 'memory' })).exec('SELECT counter_version() AS v')).length), 1);
    } finally {
      await own.close();
    }
  });

  test('no SharedArrayBuffer: nothing is missed', async () => {
    assert.equal(await run(page, () => [typeof SharedArrayBuffer, crossOriginIsolated].join()), 'undefined,false');
  });

  // A worker has globals of its own: the module is served with a line before it.
  const workerWithout = (line) => `const Real = Worker; globalThis.Worker = function (url, options) {
    return new Real(URL.createObjectURL(new Blob([${JSON.stringify(line)} + '; import(' + JSON.stringify(String(url)) + ').then(() => early.forEach((event) => onmessage(event)))'], { type: 'text/javascript' })), options);
  }`;
  const late = (line) => `const early = []; onmessage = (event) => early.push(event); ${line}`;

  test('no OPFS: IndexedDB; neither: a sentence, and nothing is opened', async () => {
    const noOpfs = 'Object.defineProperty(navigator.storage, "getDirectory", { value: () => Promise.reject(new DOMException("no", "SecurityError")) })';
    const noDb = 'Object.defineProperty(globalThis, "indexedDB", { value: { open() { throw new DOMException("no", "SecurityError") } } })';
    for (const [line, expected] of [[noOpfs, 'indexeddb'], [`${noOpfs}; ${noDb}`, /^open: refused: this browser keeps no files here, neither in OPFS nor in IndexedDB: what is counted would be lost$/]]) {
      const lacking = await without(workerWithout(late(line)));
      const got = await run(lacking, async () => {
        let db;
        const why = await fails(async () => { db = await counter.open('refused'); });
        return db?.storage ?? why;
      });
      if (typeof expected === 'string') assert.equal(got, expected);
      else assert.match(got, expected);
      await lacking.close();
    }
  });

  // Chromium gives IndexedDB what it wants, whatever quota DevTools sets: here a put fails as a full disk fails it.
  for (const [how, fails_] of [['at once', "throw new DOMException('no room', 'QuotaExceededError')"], ['with its transaction', 'put.apply(this, all); this.transaction.abort(); return {}']]) {
    test(`no room in IndexedDB, which a write hears ${how}: a sentence, nothing half kept`, { timeout: 60000 }, async () => {
      const line = `let n = 0, full = false; const put = IDBObjectStore.prototype.put; new BroadcastChannel('room').onmessage = ({ data }) => { full = data; n = 0; };
        IDBObjectStore.prototype.put = function (...all) { if (full && ++n > 1) { ${fails_}; } return put.apply(this, all); }`;
      const lacking = await without(workerWithout(late(line)));
      const got = await run(lacking, async (name) => {
        const room = new BroadcastChannel('room'), db = await shop(name, 'indexeddb');
        await sell(db, 4);
        const one = await db.prepare('SELECT stock FROM products');
        room.postMessage(true);
        let why;
        for (let i = 0; i < 200 && !why; i++) {
          const said = await fails(() => sell(db, 1));
          if (said !== 'it did not fail') why = said;
        }
        const shown = await stock(db), prepared = (await one.get()).stock, big = await fails(() => db.transaction(async (t) => {
          await t.exec('UPDATE products SET stock = stock + 1');
          await t.exec('CREATE TABLE ballast AS SELECT randomblob(300000) AS bytes');
        }));
        room.postMessage(false);
        const other = await counter.open(`${name} `, { storage: 'indexeddb' });
        await other.exec('CREATE TABLE t(a)');
        await sell(db, 1);
        await db.close();
        const again = await counter.open(name, { storage: 'indexeddb' });
        return { why, big, same: shown === prepared, grown: await stock(again) - shown, whole: (await again.exec('PRAGMA integrity_check'))[0].integrity_check, tables: (await again.exec("SELECT 1 FROM sqlite_schema WHERE name = 'ballast'")).length };
      }, fresh());
      assert.match(got.why, /^what was written could not be kept, and none of it was: /);
      assert.match(got.big, /^what was written could not be kept, and none of it was: /);
      assert.deepEqual([got.same, got.grown, got.whole, got.tables], [true, 1, 'ok', 0]);
      await lacking.close();
    });
  }

  test('an unknown storage, no name, no module: sentences', async () => {
    const said = await run(page, async () => [await fails(() => counter.open('x', { storage: 'disk' })), await fails(() => counter.open('')), await fails(() => counter.open('x', { wasm: '/nowhere.wasm' }))]);
    assert.equal(said[0], "open: x: storage is 'opfs', 'indexeddb' or 'memory', not 'disk'");
    assert.equal(said[1], 'open: a database has a name');
    assert.match(said[2], /nowhere\.wasm/);
  });
});
