// harness.mjs - a server of this checkout's files, and Chromium with profiles of its own.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(fileURLToPath(import.meta.url), '../../..');
export const BUILT = path.join(ROOT, 'build/browser');
const puppeteer = createRequire(path.join(BUILT, 'package.json'))('puppeteer-core');

const TYPES = { '.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html', '.css': 'text/css', '.sql': 'text/plain', '.svg': 'image/svg+xml' };

/** Serves the checkout and these pages on a free port: { origin, close }. The package is in sqlite-counter/ of each folder.
 * `answers(request, response)` may answer first. */
export async function serve(pages = {}, answers = () => false) {
  const server = http.createServer((request, response) => {
    if (answers(request, response)) return;
    const { pathname } = new URL(request.url, 'http://localhost');
    const at = path.join(ROOT, decodeURIComponent(pathname.replace(/^.*\/sqlite-counter\/(?=[^/]*$)/, '/build/browser/package/')));
    const made = { '/empty': '<!doctype html><title>empty</title>', ...pages }[pathname];
    if (made) return response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(made);
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
export async function launch(profile, ...flags) {
  const folder = profile ?? makeFolder();
  const browser = await puppeteer.launch({
    executablePath: ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((one) => fs.existsSync(one)) ?? spawnSync('which', ['chromium']).stdout.toString().trim(),
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', ...flags],
    userDataDir: folder,
  });
  if (!profile) browser.process().once('exit', () => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
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

/** The relay of examples/browser, which serves the page, too: { origin, end }. It keeps rows in `file`, if given. */
export async function startRelay(file, port = 0) {
  const relay = spawn(process.execPath, [path.join(ROOT, 'examples/browser/relay.mjs'), String(port), ...(file ? [file] : [])], { stdio: ['ignore', 'pipe', 'inherit'] });
  const origin = await new Promise((listening, failed) => {
    relay.stdout.once('data', (line) => listening(String(line).trim()));
    relay.once('exit', (code) => failed(new Error(`the relay ended with ${code}`)));
  });
  const end = () => new Promise((gone) => {
    relay.once('exit', gone);
    relay.kill('SIGKILL');
  });
  process.once('exit', () => relay.kill('SIGKILL'));
  return { origin, end };
}

/** Ends a browser as a crash would, with its helpers, which would write on, so that its profile can be opened again. */
export async function kill(browser, folder) {
  process.kill(-browser.process().pid, 'SIGKILL'); // It leads a process group of its own.
  if (browser.process().exitCode === null && browser.process().signalCode === null) await new Promise((gone) => { browser.process().once('exit', gone); });
  for (const lock of ['SingletonLock', 'SingletonSocket', 'SingletonCookie']) fs.rmSync(path.join(folder, lock), { force: true });
}

/** Asks a page until the answer is not false, undefined or null; fails with what it was last asked for. */
export async function until(page, what, ...args) {
  const end = Date.now() + 30000;
  let answer;
  do {
    answer = await page.evaluate(what, ...args).catch((error) => {
      if (!/context was destroyed|navigat/i.test(error.message)) throw error;
    });
    if (answer !== undefined && answer !== null && answer !== false) return answer;
    await new Promise((later) => { setTimeout(later, 20); });
  } while (Date.now() < end);
  throw new Error(`it did not become true in 30 s: ${what} ${JSON.stringify(args)}\n${await page.evaluate(() => document.body.innerText)}`);
}
