// The page of examples/browser: its story in two tabs and in two profiles, and what may go wrong in between.
//
// Screenshots of it are left in build/browser/screenshots, to be looked at.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BUILT, kill, launch, makeFolder, serve, startRelay, until } from './harness.mjs';

const SHOTS = path.join(BUILT, 'screenshots');
const PHONE = { width: 390, height: 844 }, DESKTOP = { width: 1280, height: 900 };
let server, browser, names = 0;

before(async () => {
  fs.mkdirSync(SHOTS, { recursive: true });
  server = await serve();
  browser = await launch();
});

after(async () => {
  await browser.close();
  server.close();
});

const fresh = (kind) => `${kind}${++names}`;
const pageOf = (origin) => (origin === server.origin ? `${origin}/examples/browser/index.html` : `${origin}/`);

/** A tab with a device, ready to count. A test in a browser of its own sees its own devices alone. */
async function open(where, name, { origin = server.origin, size = DESKTOP, prepare } = {}) {
  const page = await where.newPage();
  await page.setViewport(size);
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(error.message));
  await prepare?.(page);
  await page.goto(`${pageOf(origin)}?device=${encodeURIComponent(name)}`);
  await ready(page);
  return page;
}

const ready = (page) => until(page, () => document.body.dataset.ready === '');

async function reload(page) {
  await page.reload();
  await ready(page);
}

/** Presses a button by its name, or by its id. */
const press = (page, name) => page.evaluate((one) => {
  const button = document.querySelector(one.startsWith('#') ? one : `[title="${one}"]`);
  if (!button || button.disabled) throw new Error(`there is no button ${one}`);
  button.click();
}, name);

/** What a card shows: '19', '▲6 ▼0', or 'deleted'. */
const shown = (page, name) => page.evaluate((one) => {
  const card = document.querySelector(`[data-name="${one}"]`);
  if (!card) return null;
  return card.classList.contains('tombstone') ? 'deleted' : [...card.querySelectorAll('.value')].map((value) => value.textContent).join(' ');
}, name);

const shows = (page, name, value) => until(page, (one, wanted) => {
  const card = document.querySelector(`[data-name="${one}"]`);
  if (!card) return false;
  return (card.classList.contains('tombstone') ? 'deleted' : [...card.querySelectorAll('.value')].map((each) => each.textContent).join(' ')) === wanted;
}, name, value);

/** Waits until both show the same, which may still be changing. */
async function agree(one, two, name) {
  const end = Date.now() + 30000;
  let both;
  do {
    both = [await shown(one, name), await shown(two, name)];
    if (both[0] && both[0] === both[1]) return;
    await new Promise((later) => { setTimeout(later, 50); });
  } while (Date.now() < end);
  assert.equal(...both);
}

const says = (page, text) => until(page, (one) => [...document.querySelectorAll('#notices .notice > span')].map((notice) => notice.textContent).find((notice) => notice.includes(one)), text);
const state = (page, begin) => until(page, (one) => document.getElementById('state').textContent.startsWith(one), begin);
const offline = async (page) => {
  await press(page, '#switch');
  await state(page, 'Offline');
};
const online = async (page) => {
  await press(page, '#switch');
  await state(page, 'Online');
};

/** The shards of a counter, as the page draws them: { device: [counted, clock] }. */
const shards = (page, name, column) => page.evaluate((one, of) => {
  const table = [...document.querySelectorAll(`[data-name="${one}"] table.shards`)].find((each) => each.caption.textContent.startsWith(of));
  return Object.fromEntries([...table.tBodies[0].rows].map((row) => [row.cells[0].textContent.slice(1).replace(' (you)', ''), [row.cells[2].firstChild.textContent, row.cells[3].firstChild.textContent]]));
}, name, column);

async function shot(page, name, size) {
  await page.setViewport(size);
  await page.bringToFront();
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: path.join(SHOTS, `${name}-${size.width}.png`), fullPage: true });
}

/** Presses a button as fast as the page allows, and tells of each count that the page has shown. */
const hammer = (page, title, name) => page.evaluate((button, of) => {
  const sum = () => Number(document.querySelector(`[data-name="${of}"] .value`).lastChild.textContent.replace(/\D/g, ''));
  let last = sum();
  (async () => {
    for (;;) {
      document.querySelector(`[title="${button}"]`).click();
      while (sum() <= last) await new Promise((later) => { setTimeout(later, 1); });
      last = sum();
      await acknowledge(last);
    }
  })();
}, title, name);

describe('two tabs', () => {
  test('count apart, offline too, through a reload, and agree when they meet', async () => {
    const own = await launch();
    try {
      const fox = await open(own, 'Fox'), otter = await open(own, 'Otter', { size: PHONE });
      await state(fox, 'Online: 1 other device in this browser');
      assert.deepEqual([await shown(fox, 'Tea'), await shown(otter, 'Tea')], ['24', '24'], 'one delivery, known to both');
      await press(fox, 'Sell 1 Tea');
      await shows(otter, 'Tea', '23');

      await offline(otter);
      for (const page of [fox, otter]) for (let i = 0; i < 3; i++) await press(page, 'Sell 1 Mugs');
      await press(fox, 'Vote for Seaside');
      await press(otter, 'Vote for Seaside');
      await press(otter, 'Vote against City');
      await press(otter, 'Deliver 10 Honey');
      await shows(fox, 'Seaside', '▲1 ▼0');
      await shows(otter, 'Honey', '16');
      await until(otter, () => document.getElementById('state').textContent === 'Offline: 4 changed rows wait to be merged');
      await press(fox, 'Sell 1 Mugs');
      assert.match(await says(fox, 'Mugs'), /^No Mugs left on this device/);
      await shot(otter, 'offline', PHONE);

      await reload(otter);
      await state(otter, 'Offline: 4 changed rows');
      assert.equal(await shown(otter, 'Mugs'), '0');
      assert.equal(await shown(fox, 'Honey'), '6');

      await online(otter);
      for (const page of [fox, otter]) {
        await shows(page, 'Mugs', '−3');
        await shows(page, 'Seaside', '▲2 ▼0');
        await shows(page, 'City', '▲0 ▼1');
        await shows(page, 'Honey', '16');
        assert.deepEqual(await shards(page, 'Mugs', 'stock'), { Warehouse: ['+3', '1'], Fox: ['−3', '3'], Otter: ['−3', '3'] });
      }
      const log = await until(fox, () => document.getElementById('log').innerText.includes('Honey') && document.getElementById('log').innerText);
      assert.match(log, /Mugs 0 → −3\nO\nOtter −3, clock 3/);
      assert.match(await fox.evaluate(() => document.querySelector('[data-name="Mugs"] .note').textContent), /^3 more sold than there was/);
      assert.deepEqual(await otter.evaluate(() => [...document.querySelectorAll('#steps .done')].map((one) => one.dataset.step)), ['count', 'second', 'offline', 'reload', 'merge']);
      for (const page of [fox, otter]) await page.evaluate(() => { for (const one of ['Mugs', 'Seaside']) document.querySelector(`[data-name="${one}"] details`).open = true; });
      await shot(fox, 'merged', DESKTOP);
      await shot(otter, 'merged', PHONE);
      assert.deepEqual([...fox.problems, ...otter.problems], []);
    } finally {
      await own.close();
    }
  });

  test('never sell a seat twice: refused offline, given, sold', async () => {
    const own = await launch();
    try {
      const fox = await open(own, 'Fox'), otter = await open(own, 'Otter');
      await fox.type('#hall', 'Opera');
      await fox.evaluate(() => document.querySelector('#new-hall button').click());
      await shows(otter, 'Opera', '10');
      await offline(otter);
      await press(otter, 'Sell 1 seat of Opera');
      assert.match(await says(otter, 'Opera'), /this file may take none of the 10: have a file grant some, or sync with one/);
      assert.equal(await shown(otter, 'Opera'), '10');
      await until(fox, () => document.getElementById('grantee').selectedOptions[0]?.textContent === 'Otter');
      await press(fox, 'Give 5 seats of Opera');
      await online(otter);
      await until(otter, () => document.querySelector('[data-name="Opera"] .note').textContent === 'This device may sell 5 of them.');
      await offline(otter);
      for (const page of [fox, otter]) {
        for (let left = 4; left >= 0; left--) {
          await press(page, 'Sell 1 seat of Opera');
          await until(page, (n) => document.querySelector('[data-name="Opera"] .note').textContent.includes(n ? `may sell ${n} ` : 'may sell none'), left);
        }
        await press(page, 'Sell 1 seat of Opera');
        await says(page, 'this file may take none of the 5');
      }
      await online(otter);
      for (const page of [fox, otter]) await shows(page, 'Opera', '0');
      assert.deepEqual([...fox.problems, ...otter.problems], []);
    } finally {
      await own.close();
    }
  });

  test('a tombstone wins over votes that it has not seen, and a reset begins the next life', async () => {
    const own = await launch();
    try {
      const bear = await open(own, 'Bear'), newt = await open(own, 'Newt');
      await offline(newt);
      await press(newt, 'Vote for City');
      await shows(newt, 'City', '▲1 ▼0');
      await press(bear, 'Delete City');
      await shows(bear, 'City', 'deleted');
      await online(newt);
      await shows(newt, 'City', 'deleted');
      assert.match(await until(newt, () => document.getElementById('log').innerText.includes('City') && document.getElementById('log').innerText), /City ▲ 1 → deleted\nlife 1 → 2; the 1 counted before is gone, yours too \(\+1\)/);
      assert.equal(await shown(bear, 'City'), 'deleted');
      await press(newt, 'Bring City back');
      await press(bear, 'Vote for Seaside');
      for (const page of [bear, newt]) {
        await shows(page, 'City', '▲0 ▼0');
        await shows(page, 'Seaside', '▲1 ▼0');
      }
      await press(newt, 'Reset Seaside');
      await shows(bear, 'Seaside', '▲0 ▼0');
      await press(bear, 'Vote for Seaside');
      await shows(newt, 'Seaside', '▲1 ▼0');
      assert.match(await newt.evaluate(() => document.querySelector('[data-name="Seaside"] caption').textContent), /life 3/);
    } finally {
      await own.close();
    }
  });

  test('on one device take turns, and show the same', async () => {
    const name = fresh('Shared '), one = await open(browser, name), two = await open(browser, name);
    for (let i = 0; i < 5; i++) for (const page of [one, two]) await press(page, 'Vote for Mountains');
    for (const page of [one, two]) await shows(page, 'Mountains', '▲10 ▼0');
    await one.close();
    await two.close();
  });

  test('new products and topics come to the other one by their names, whatever is in them', async () => {
    const own = await launch();
    try {
      const one = await open(own, 'Goat'), two = await open(own, 'Raven'), odd = '<b>"it\'s" ü 日';
      await one.type('#product', odd);
      await one.evaluate(() => document.querySelector('#new-product button').click());
      await until(two, (text) => [...document.querySelectorAll('#products h3')].some((title) => title.textContent === text), odd);
      await two.type('#topic', 'Desert');
      await two.evaluate(() => document.querySelector('#new-topic button').click());
      await shows(one, 'Desert', '▲0 ▼0');
      assert.deepEqual([...one.problems, ...two.problems], []);
    } finally {
      await own.close();
    }
  });

  test('beside each other in one page, which a reload brings back', async () => {
    const own = await launch();
    try {
      const page = await open(own, 'Lynx');
      await press(page, '#beside');
      const frame = await until(page, () => document.querySelector('iframe')?.contentDocument?.body?.dataset.ready === '') && page.frames()[1];
      await press(page, 'Sell 1 Tea');
      await shows(frame, 'Tea', '23');
      await frame.evaluate(() => document.querySelector('[title="Vote for City"]').click());
      await shows(page, 'City', '▲1 ▼0');
      await page.bringToFront();
      await page.screenshot({ path: path.join(SHOTS, 'beside-1280.png') });
      await reload(page);
      await until(page, () => document.querySelector('iframe')?.contentDocument?.body?.dataset.ready === '');
      await shows(page.frames()[1], 'Tea', '23');
    } finally {
      await own.close();
    }
  });

  test('count 100,000 between them, and agree on each', { timeout: 120000 }, async () => {
    const own = await launch();
    try {
      const one = await open(own, 'Puma'), two = await open(own, 'Toad');
      await offline(two);
      for (const page of [one, two]) for (let i = 0; i < 5; i++) await press(page, 'Vote 10,000 times for Mountains');
      for (const page of [one, two]) await shows(page, 'Mountains', '▲50,000 ▼0');
      await online(two);
      for (const page of [one, two]) {
        await shows(page, 'Mountains', '▲100,000 ▼0');
        const drawn = await shards(page, 'Mountains', 'up');
        assert.deepEqual([drawn.Puma[0], drawn.Toad[0]], ['+50,000', '+50,000']);
      }
    } finally {
      await own.close();
    }
  });
});

describe('two profiles, through the relay', () => {
  test('agree, though the relay ends, comes back, and forgets everything', { timeout: 120000 }, async () => {
    const folder = makeFolder(), file = path.join(folder, 'rows');
    let relay = await startRelay(file);
    const { origin } = relay, { port } = new URL(origin);
    const here = await launch(), there = await launch();
    try {
      const one = await open(here, 'Deer', { origin }), two = await open(there, 'Kiwi', { origin });
      for (const page of [one, two]) await state(page, 'Online: no other device in this browser, relay connected');
      await press(one, 'Sell 1 Tea');
      await press(two, 'Sell 1 Tea');
      for (const page of [one, two]) await shows(page, 'Tea', '22');

      await offline(two);
      await press(one, 'Vote for City');
      await press(two, 'Vote for City');
      await reload(two);
      await press(two, 'Vote for City');
      await online(two);
      for (const page of [one, two]) await shows(page, 'City', '▲3 ▼0');

      await relay.end();
      await state(one, 'Online: no other device in this browser, relay not reached');
      await press(one, 'Vote against City');
      await press(two, 'Vote against City');
      await shows(one, 'City', '▲3 ▼1');
      relay = await startRelay(file, port);
      for (const page of [one, two]) await shows(page, 'City', '▲3 ▼2');

      await relay.end();
      fs.rmSync(file);
      relay = await startRelay(file, port);
      await press(one, 'Vote for Seaside');
      await press(two, 'Vote for Seaside');
      for (const page of [one, two]) await shows(page, 'Seaside', '▲2 ▼0');

      const late = await open(there, 'Seal', { origin });
      await shows(late, 'City', '▲3 ▼2');
      await shows(late, 'Tea', '22');
      assert.deepEqual(Object.keys(await shards(late, 'Tea', 'stock')).sort(), ['Deer', 'Kiwi', 'Warehouse']);
      assert.deepEqual([...one.problems, ...two.problems, ...late.problems], []);
    } finally {
      await here.close();
      await there.close();
      await relay.end();
      fs.rmSync(folder, { recursive: true, force: true });
    }
  });

  test("a stranger's rows are a sentence on each device, and counting goes on", async () => {
    const relay = await startRelay();
    const own = await launch();
    try {
      const { origin } = relay, page = await open(own, 'Jay', { origin });
      await press(page, 'Vote for City');
      await shows(page, 'City', '▲1 ▼0');
      const post = (body) => fetch(`${origin}/rows`, { method: 'POST', body });
      const source = '776b33c8-fdc4-3199-b06b-1fc19c5bcc63';
      const change = { table: 'votes', key_columns: 'topic INTEGER BINARY', key: ['City'], packed: 'D1030443697479', change: '010000', seq: 1 };
      const batch = (more, of = {}) => ({ format: 1, source, since: 0, upto: 1, changes: [{ ...change, ...more }], ...of });
      for (const [line, sentence] of [
        [batch({}), 'left out: '],
        [batch({ packed: 'D10300' }, { format: 7 }), 'it has the format 7, and this version reads 1: install a newer sqlite-counter'],
        [batch({ packed: 'no' }), 'change 1: the member packed must be a text of hexadecimal digits'],
      ]) {
        assert.equal((await post(JSON.stringify(line))).status, 204);
        assert.match(await says(page, sentence), /^Rows from the relay do not fit, and were left out: /);
      }
      assert.deepEqual([(await post('no JSON')).status, (await post('{}')).status, (await post('{"changes":5}')).status], [400, 400, 400]);
      assert.equal(await fetch(`${origin}/rows`, { method: 'POST', body: 'x'.repeat(9 << 20) }).then(({ status }) => status, () => 413), 413);
      assert.deepEqual([(await fetch(`${origin}/%2e%2e/%2e%2e/Makefile`)).status, (await fetch(`${origin}/..%2f..%2fMakefile`)).status], [404, 404]);
      await fetch(`${origin}/%ff`).catch(() => {});
      await press(page, 'Vote for City');
      await shows(page, 'City', '▲2 ▼0');
      await reload(page);
      await shows(page, 'City', '▲2 ▼0');
      assert.deepEqual(page.problems, []);
    } finally {
      await own.close();
      await relay.end();
    }
  });

  test('a browser that is killed while it counts and merges loses nothing that it has shown', { timeout: 180000 }, async () => {
    const relay = await startRelay(), folder = makeFolder();
    const other = await launch();
    try {
      const { origin } = relay, safe = await open(other, 'Mole', { origin });
      let told = 0;
      for (let round = 0; round < 4; round++) {
        const doomed = await launch(folder), page = await open(doomed, 'Vole', { origin });
        const found = Number((await until(page, () => document.querySelector('[data-name="Mountains"] .value')?.textContent)).replace(/\D/g, ''));
        assert.ok(found >= told, `${told} were shown, ${found} are there`);
        const begun = told = found;
        await page.exposeFunction('acknowledge', (n) => { told = n; });
        await hammer(page, 'Vote for Mountains', 'Mountains');
        while (told < begun + 12) {
          await press(safe, 'Vote against Mountains');
          await new Promise((later) => { setTimeout(later, 5); });
        }
        await kill(doomed, folder);
      }
      const again = await launch(folder);
      try {
        const page = await open(again, 'Vole', { origin });
        const sum = await until(page, () => document.querySelector('[data-name="Mountains"] .value')?.textContent);
        assert.ok(Number(sum.replace(/\D/g, '')) >= told);
        await press(safe, 'Vote for Seaside');
        await shows(page, 'Seaside', '▲1 ▼0');
        await agree(page, safe, 'Mountains');
      } finally {
        await again.close();
      }
    } finally {
      await other.close();
      await relay.end();
      fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    }
  });
});

describe('the page lives on', () => {
  test('through reloads in the middle of everything: all that was shown is there', { timeout: 120000 }, async () => {
    const own = await launch();
    try {
      const page = await open(own, 'Crow'), other = await open(own, 'Ibis');
      let told = 0;
      await page.exposeFunction('acknowledge', (n) => { told = n; });
      for (let round = 0; round < 6; round++) {
        const begun = told;
        await hammer(page, 'Vote for Mountains', 'Mountains');
        while (told < begun + 7) {
          await press(other, 'Vote against Mountains');
          await new Promise((later) => { setTimeout(later, 3); });
        }
        await reload(page);
        const found = Number((await until(page, () => document.querySelector('[data-name="Mountains"] .value')?.textContent)).replace(/\D/g, ''));
        assert.ok(found >= told && found <= told + 1, `${told} were shown, ${found} are there`);
        told = found;
      }
      await agree(page, other, 'Mountains');
    } finally {
      await own.close();
    }
  });

  test('a full quota: a sentence, what was counted stays, and it goes on when there is room', async () => {
    const own = await launch();
    try {
      const page = await open(own, 'Quail'), session = await page.createCDPSession();
      await press(page, 'Vote for City');
      await shows(page, 'City', '▲1 ▼0');
      await session.send('Storage.overrideQuotaForOrigin', { origin: server.origin, quotaSize: 1 });
      await reload(page);
      await press(page, 'Vote for City');
      assert.match(await says(page, 'full'), /database or disk is full/);
      assert.equal(await shown(page, 'City'), '▲1 ▼0');
      await session.send('Storage.overrideQuotaForOrigin', { origin: server.origin });
      await press(page, 'Vote for City');
      await shows(page, 'City', '▲2 ▼0');
      await reload(page);
      assert.equal(await shown(page, 'City'), '▲2 ▼0');
    } finally {
      await own.close();
    }
  });

  test('refused storage: a sentence, and counting in memory for whoever wants it', async () => {
    const refuse = (page) => page.evaluateOnNewDocument(() => {
      const line = `const early = []; onmessage = (event) => early.push(event);
        Object.defineProperty(navigator.storage, 'getDirectory', { value: () => Promise.reject(new DOMException('no', 'SecurityError')) });
        Object.defineProperty(globalThis, 'indexedDB', { value: { open() { throw new DOMException('no', 'SecurityError'); } } });`;
      const Real = Worker;
      globalThis.Worker = function Refused(url, options) {
        return new Real(URL.createObjectURL(new Blob([`${line} import(${JSON.stringify(String(url))}).then(() => early.forEach((event) => onmessage(event)))`], { type: 'text/javascript' })), options);
      };
    });
    const page = await open(browser, fresh('Private '), { prepare: refuse });
    assert.match(await says(page, 'keeps no files here'), /neither in OPFS nor in IndexedDB: what is counted would be lost$/);
    assert.equal(await page.evaluate(() => document.getElementById('switch').disabled), true);
    await shot(page, 'refused', PHONE);
    await page.evaluate(() => [...document.querySelectorAll('#notices button')].find((one) => one.textContent === 'Count in memory').click());
    await shows(page, 'Tea', '24');
    await press(page, 'Sell 1 Tea');
    await shows(page, 'Tea', '23');
    assert.equal(await page.evaluate(() => document.getElementById('place').textContent), 'in memory: gone with this tab');
    assert.deepEqual(page.problems, []);
    await page.close();
  });

  test('a copy of the file is opened under a new id; what is no such file is a sentence', async () => {
    const folder = makeFolder(), page = await open(browser, fresh('Copied '));
    try {
      const session = await page.createCDPSession();
      await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder, eventsEnabled: true });
      const saved = new Promise((done) => { session.on('Browser.downloadProgress', ({ state: one }) => one === 'completed' && done()); });
      await press(page, 'Vote for City');
      await shows(page, 'City', '▲1 ▼0');
      await press(page, '#save');
      await saved;
      const [name] = fs.readdirSync(folder), at = path.join(folder, name);
      await press(page, 'Vote for City');
      await shows(page, 'City', '▲2 ▼0');
      const input = await page.$('#open');
      const idsOf = () => page.evaluate(() => [...document.querySelectorAll('#ids tbody tr')].map((row) => row.innerText.replaceAll('\t', ' ')));
      const before_ = await idsOf();

      const wrong = path.join(folder, 'wrong.db');
      fs.writeFileSync(wrong, 'no database at all');
      await input.uploadFile(wrong);
      assert.match(await says(page, 'cannot be used'), /^import: these bytes cannot be used: file is not a database$/);
      fs.writeFileSync(wrong, '');
      await input.uploadFile(wrong);
      await says(page, 'there are no bytes');
      fs.writeFileSync(wrong, await page.evaluate(async () => {
        const { open: opened } = await import('/build/browser/package/sqlite-counter.mjs');
        const other = await opened('other', { storage: 'memory' });
        await other.exec('CREATE TABLE t(a)');
        return [...await other.export()];
      }).then((bytes) => Buffer.from(bytes)));
      await input.uploadFile(wrong);
      await says(page, 'This database has no shop and no voting board.');
      assert.deepEqual([await shown(page, 'City'), await idsOf()], ['▲2 ▼0', before_]);

      await input.uploadFile(at);
      await says(page, 'counts under a new id');
      await shows(page, 'City', '▲1 ▼0');
      await press(page, 'Vote for City');
      await shows(page, 'City', '▲2 ▼0');
      const after_ = await idsOf();
      assert.equal(after_.length, 2);
      assert.match(after_[1], /former/);
    } finally {
      await page.close();
      fs.rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('a person', () => {
  test('needs no mouse: every control has a name and the focus, O and + and − count', async () => {
    const own = await launch();
    try {
      const page = await open(own, 'Yak');
      await page.bringToFront();
      const controls = await page.evaluate(() => [...document.querySelectorAll('button, a, input, select, summary')].filter((one) => one.checkVisibility()).length);
      const reached = new Set();
      for (let i = 0; i < controls + 5; i++) {
        await page.keyboard.press('Tab');
        reached.add(await page.evaluate(() => {
          const one = document.activeElement;
          one.dataset.at ??= String(Math.random());
          const name = one.getAttribute('aria-label') ?? (one.labels?.[0] ?? one).textContent.trim();
          if (one !== document.body && !name) throw new Error(`no name: ${one.outerHTML}`);
          const style = getComputedStyle(one);
          if (one.id !== 'open' && one !== document.body && style.outlineStyle === 'none') throw new Error(`the focus cannot be seen: ${one.outerHTML}`);
          return one === document.body ? '' : one.dataset.at;
        }));
      }
      assert.equal(reached.size - Number(reached.has('')), controls);
      await page.focus('[title="Vote for City"]');
      await page.keyboard.press('+');
      await page.keyboard.press('-');
      await page.keyboard.press('Enter');
      await shows(page, 'City', '▲2 ▼1');
      assert.equal(await page.evaluate(() => document.activeElement.title), 'Vote for City');
      await page.keyboard.press('o');
      await state(page, 'Offline');
      await page.keyboard.press('o');
      await state(page, 'Online');
    } finally {
      await own.close();
    }
  });

  test('reads it at each width without scrolling sideways, and without colours', async () => {
    const page = await open(browser, fresh('Wide '));
    for (let i = 0; i < 3; i++) await press(page, 'Vote 10,000 times for Mountains');
    await shows(page, 'Mountains', '▲30,000 ▼0');
    await page.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
    for (const width of [320, 390, 768, 1280, 1920]) {
      await page.setViewport({ width, height: 800 });
      const [wide, inside] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide <= inside, `${wide} in ${width}`);
    }
    // A device is told by its letter and its name, a state by a word.
    const badges = await page.evaluate(() => [...document.querySelectorAll('.badge')].every((one) => one.textContent.trim().length > 0));
    assert.ok(badges);
    await page.emulateVisionDeficiency('achromatopsia');
    await shot(page, 'no-colours', DESKTOP);
    await page.emulateVisionDeficiency('none');
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    await shot(page, 'dark', DESKTOP);
    await page.close();
  });
});
