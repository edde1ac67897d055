// What the READMEs and the recipe say is run: each block of JavaScript as a page of its own, in which each
// console.log prints what stands behind it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { launch, ROOT, serve, until } from './harness.mjs';

const PAGES = ['packages/browser/README.md', 'docs/recipes/browser.md'];
const MODULE = 'sqlite-counter.mjs';

const blocks = PAGES.flatMap((page) => [...fs.readFileSync(path.join(ROOT, page), 'utf8').matchAll(/^```js\n(.*?)^```$/gms)]
  .filter(([, text]) => text.includes(MODULE)).map(([, text], i) => ({ title: `${page}, block ${i + 1}`, url: `/${page}/${i}/`, text })));
const eight = blocks.filter(({ text }) => text.includes('BroadcastChannel'));

let server, browser;

before(async () => {
  server = await serve(Object.fromEntries(blocks.map(({ url, text }) => [url, `<!doctype html><title>block</title><script type="module">\n${text}\nprinted.isDone = true;</script>`])));
  browser = await launch();
});

after(async () => {
  await browser.close();
  server.close();
});

/** What a page prints, each line as JSON. */
async function printed(where, url) {
  const page = await where.newPage();
  await page.evaluateOnNewDocument(() => {
    globalThis.printed = [];
    console.log = (...all) => printed.push(JSON.stringify(all));
    addEventListener('unhandledrejection', ({ reason }) => { printed.problem = reason.message; });
    addEventListener('error', ({ message }) => { printed.problem = message; });
  });
  await page.goto(server.origin + url);
  return { page, lines: await linesOf(page) };
}

async function linesOf(page) {
  await until(page, () => printed.isDone || printed.problem);
  assert.equal(await page.evaluate(() => printed.problem), undefined);
  return page.evaluate(() => [...printed]);
}

test('each page has blocks, and each block says what it prints', () => {
  for (const page of PAGES) assert.ok(blocks.some(({ title }) => title.startsWith(`${page},`)), page);
  for (const { title, text } of blocks) assert.match(text, /console\.log\(.*\); \/\/ /, title);
});

for (const { title, url, text } of blocks) {
  test(`${title} prints what it says`, async () => {
    const wanted = [...text.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, says]) => JSON.stringify(Function(`return [${says}]`)()));
    assert.equal(wanted.length, text.match(/console\.log/g).length);
    const context = await browser.createBrowserContext();
    const { lines } = await printed(context, url);
    assert.deepEqual(lines, wanted);
    await context.close();
  });
}

test('the eight lines are eight, stand in one place, and do what is said of them: two devices that merge', async () => {
  assert.equal(eight.length, 1);
  assert.equal(eight[0].text.trimEnd().split('\n').length, 8);
  const own = await launch(), { url } = eight[0];
  try {
    const phone = await printed(own, `${url}?phone`), laptop = await printed(own, `${url}?laptop`);
    const shows = (n) => [JSON.stringify([[{ topic: 'tea', n }]])];
    assert.deepEqual([phone.lines, laptop.lines], [shows(1), shows(1)]);
    // Whoever is open takes what the other one says when it is loaded; taken is what a reload shows.
    const settled = async (page, n) => {
      await page.reload();
      const lines = await linesOf(page);
      assert.deepEqual(lines, shows(n));
    };
    await until(phone.page, async () => {
      const { open } = await import('./sqlite-counter/sqlite-counter.mjs');
      const db = await open('votes?phone');
      const [{ n }] = await db.exec('SELECT n FROM votes');
      await db.close();
      return n === 2;
    });
    await settled(phone.page, 3);
    await until(laptop.page, async () => {
      const { open } = await import('./sqlite-counter/sqlite-counter.mjs');
      const db = await open('votes?laptop');
      const [{ n }] = await db.exec('SELECT n FROM votes');
      await db.close();
      return n === 3;
    });
    await settled(laptop.page, 4);
  } finally {
    await own.close();
  }
});
