// bench.mjs - what counting in a browser costs: `make bench-browser`. Size and speed, beside an ordinary table of
// the same module, and beside the official module of SQLite.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { BUILT, launch, makeFolder, serve } from './harness.mjs';

const OFFICIAL = '@sqlite.org/sqlite-wasm@3.53.4-build2';
const PROFILES = 5;
const SHAPES = [
  ['100 keys, 1,000 to a transaction', { keys: 100, increments: 20000, each: 1000 }],
  ['10,000 keys, 1,000 to a transaction', { keys: 10000, increments: 20000, each: 1000 }],
  ['100 keys, one to a transaction', { keys: 100, increments: 200, each: 1 }],
];

const say = (...cells) => console.log(cells[0].padEnd(46), ...cells.slice(1).map((cell) => String(cell).padStart(11)));
const whole = (n) => Math.round(n).toLocaleString('en');
const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

function sizes() {
  const folder = makeFolder();
  try {
    const { stdout } = spawnSync('npm', ['pack', '--silent', '--ignore-scripts', OFFICIAL], { cwd: folder });
    spawnSync('tar', ['xzf', stdout.toString().trim()], { cwd: folder });
    const official = fs.readdirSync(folder, { recursive: true }).find((name) => name.endsWith('/sqlite3.wasm'));
    const all = [['sqlite-counter.wasm', fs.readFileSync(path.join(BUILT, 'package/sqlite-counter.wasm'))]];
    if (official) all.push([OFFICIAL, fs.readFileSync(path.join(folder, official))]);
    else console.log(`${OFFICIAL} cannot be had here`);
    say('module', 'bytes', 'gzip -9', 'brotli');
    const rows = all.map(([name, bytes]) => [name, bytes.length, zlib.gzipSync(bytes, { level: 9 }).length, zlib.brotliCompressSync(bytes).length]);
    for (const [name, ...numbers] of rows) say(name, ...numbers.map(whole));
    if (official) say('ours : theirs', ...[1, 2, 3].map((i) => (rows[0][i] / rows[1][i]).toFixed(3)));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

async function rates(origin) {
  const browser = await launch(), page = await browser.newPage();
  await page.goto(`${origin}/empty`);
  for (const [title, shape] of SHAPES) {
    console.log();
    say(title, 'plain', 'counter', 'ratio', 'tracked', 'ratio');
    for (const kind of ['opfs', 'indexeddb', 'memory']) {
      const { rates: found, error } = await page.evaluate((data) => new Promise((done) => {
        const worker = new Worker('/tests/browser/bench_worker.mjs', { type: 'module' });
        worker.onmessage = (message) => done(message.data);
        worker.onerror = (event) => done({ error: event.message });
        worker.postMessage(data);
      }), { kind, ...shape });
      if (error) throw new Error(error);
      const { plain, counted, tracked } = found;
      say(`  ${kind}, increments a second`, whole(plain.rate), whole(counted.rate), counted.ratio.toFixed(2), whole(tracked.rate), tracked.ratio.toFixed(2));
    }
  }
  await browser.close();
}

/** From the navigation to the first count that is durable, in a profile that has never seen the page. */
async function firstCounts(origin) {
  console.log();
  say(`first count of a new profile, of ${PROFILES}`, 'median', 'slowest');
  for (const storage of ['opfs', 'indexeddb']) {
    const times = [];
    for (let i = 0; i < PROFILES; i++) {
      const browser = await launch(), page = await browser.newPage();
      await page.goto(`${origin}/empty`);
      times.push(await page.evaluate(async (kind) => {
        const { open } = await import('/build/browser/package/sqlite-counter.mjs');
        const db = await open('first', { storage: kind });
        await db.exec('CREATE VIRTUAL TABLE hits USING counter(path TEXT PRIMARY KEY, n COUNTER)');
        await db.exec('INSERT INTO hits VALUES (?, 1)', ['/']);
        return performance.now();
      }, storage));
      await browser.close();
    }
    say(`  ${storage}, ms`, whole(median(times)), whole(Math.max(...times)));
  }
}

sizes();
const server = await serve();
await rates(server.origin);
await firstCounts(server.origin);
server.close();
