// harness.mjs - a server of this checkout's files, and Chromium with profiles of its own.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(fileURLToPath(import.meta.url), '../../..');
export const BUILT = path.join(ROOT, 'build/browser');
const puppeteer = createRequire(path.join(BUILT, 'package.json'))('puppeteer-core');

const TYPES = { '.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html', '.css': 'text/css', '.sql': 'text/plain' };

/** Serves the checkout on a free port: { origin, close }. */
export async function serve() {
  const server = http.createServer((request, response) => {
    const at = path.join(ROOT, decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    if (at === path.join(ROOT, 'empty')) return response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>empty</title>');
    if (!at.startsWith(ROOT) || !fs.existsSync(at) || fs.statSync(at).isDirectory()) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': TYPES[path.extname(at)] ?? 'application/octet-stream' });
    fs.createReadStream(at).pipe(response);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return { origin: `http://localhost:${server.address().port}`, close: () => server.close() };
}

export function makeFolder() {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'counter-browser-'));
}

/** Chromium with a profile: a folder, which stays, or a new one, which goes with the browser. */
export async function launch(profile) {
  const folder = profile ?? makeFolder();
  const browser = await puppeteer.launch({
    executablePath: ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((one) => fs.existsSync(one)) ?? spawnSync('which', ['chromium']).stdout.toString().trim(),
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    userDataDir: folder,
  });
  if (!profile) process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return browser;
}

/** A tab on a page without content, in which `counter` is the module. */
export async function tab(browser, origin) {
  const page = await browser.newPage();
  await page.goto(`${origin}/empty`);
  await use(page);
  return page;
}

export function use(page) {
  return page.evaluate(async () => { globalThis.counter = await import('/build/browser/package/sqlite-counter.mjs'); });
}
