// bench_worker.mjs - in a worker: increments of counters beside those of ordinary columns, in one module.
import { Database, Sqlite } from '/packages/browser/database.mjs';
import { IndexedDbStorage, MemoryStorage, OpfsStorage } from '/packages/browser/storage.mjs';

const STORAGES = { opfs: OpfsStorage, indexeddb: IndexedDbStorage, memory: MemoryStorage };
const ROUNDS = 9;

const SCHEMA = `
CREATE TABLE plain(key TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0);
CREATE VIRTUAL TABLE counted USING counter(key TEXT PRIMARY KEY, n COUNTER);
CREATE TABLE tracked(key TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0);
SELECT counter_track('tracked', 'n')`;

const UPSERT = (table) => `INSERT INTO ${table}(key, n) VALUES (?, 1) ON CONFLICT DO UPDATE SET n = n + 1`;
const STATEMENTS = { plain: UPSERT('plain'), counted: 'INSERT INTO counted(key, n) VALUES (?, 1)', tracked: UPSERT('tracked') };

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

/** The median of some rounds in which the kinds take turns: increments a second, and what a kind does of the rate
 * that the ordinary table has in the same round. */
async function measure(database, storage, { keys, increments, each }) {
  const rates = { plain: [], counted: [], tracked: [] };
  for (let round = 0; round <= ROUNDS; round++) {
    for (const kind of round % 2 ? Object.keys(rates) : Object.keys(rates).reverse()) {
      const { statement } = database.prepare(STATEMENTS[kind]), begun = performance.now();
      for (let done = 0; done < increments;) {
        database.exec('BEGIN');
        for (const end = done + each; done < end; done++) statement.all([`/page/${Math.floor(Math.random() * keys)}`]);
        database.exec('COMMIT');
        await storage.persist();
      }
      if (round) rates[kind].push(increments / (performance.now() - begun) * 1000);
      statement.finalize();
    }
  }
  const sums = ['plain', 'counted', 'tracked'].map((table) => database.exec(`SELECT sum(n) AS n FROM ${table}`)[0].n);
  if (new Set(sums).size > 1) throw new Error(`they have counted ${sums}`);
  return Object.fromEntries(Object.entries(rates).map(([kind, all]) => [kind, { rate: median(all), ratio: median(all.map((one, i) => one / rates.plain[i])) }]));
}

onmessage = async ({ data: { kind, ...shape } }) => {
  try {
    const name = `bench ${Math.random()}`, storage = new STORAGES[kind](name);
    storage.name = name;
    await storage.acquire();
    const sqlite = await Sqlite.of(await WebAssembly.compileStreaming(fetch('/build/browser/package/sqlite-counter.wasm')), storage);
    const database = new Database(sqlite, name);
    database.exec(SCHEMA);
    const rates = await measure(database, storage, shape);
    database.close();
    await storage.release();
    await storage.remove();
    postMessage({ rates });
  } catch (error) {
    postMessage({ error: error.message });
  }
};
