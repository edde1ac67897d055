// The scripts of tests/sql, with the objects of the module, in a worker of Chromium.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { launch, ROOT, serve } from './harness.mjs';

test('the scripts of tests/sql hold inside the module', { timeout: 300000 }, async () => {
  const folder = path.join(ROOT, 'tests/sql'), scripts = {};
  for (const name of fs.readdirSync(folder).filter((one) => one.endsWith('.sql'))) scripts[name] = fs.readFileSync(path.join(folder, name), 'utf8');
  const server = await serve(), browser = await launch();
  try {
    const page = await browser.newPage();
    await page.goto(`${server.origin}/empty`);
    const { lines, code } = await page.evaluate((all) => new Promise((done, failed) => {
      const worker = new Worker('/tests/browser/suite.mjs', { type: 'module' });
      worker.onmessage = ({ data }) => done(data);
      worker.onerror = (event) => failed(new Error(event.message));
      worker.postMessage({ scripts: all });
    }), scripts);
    const summary = lines.find((line) => / passed, /.test(line));
    assert.equal(code, 0, lines.join('\n'));
    assert.match(summary, /^\d+ passed, 0 failed$/);
    console.log(summary);
  } finally {
    await browser.close();
    server.close();
  }
});
