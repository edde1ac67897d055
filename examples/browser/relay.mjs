// relay.mjs - stores rows and forwards them; serves the page, too: node relay.mjs [PORT [FILE]], to this machine alone
//
// It understands nothing of counters. A row that it has already is dropped, everything else is kept, in
// FILE if there is one, and streamed to all who listen:
//
//     POST /rows           batches of a device, a line each, as changes() gives them
//     GET /rows?after=N    a stream of events: all batches after the Nth, and those to come
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const LARGEST = 8 << 20;
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.mjs': 'text/javascript', '.wasm': 'application/wasm', '.svg': 'image/svg+xml' };
const here = fileURLToPath(new URL('.', import.meta.url)), [port = 8080, file] = process.argv.slice(2);
const folders = { '/sqlite-counter/': path.join(here, '../../build/browser/package/'), '/': here };

const batches = [], known = new Set(), listeners = new Set();
const stored = file && fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
const [first = { relay: randomUUID() }, ...rest] = stored.slice(0, stored.lastIndexOf('\n') + 1).split('\n').filter(Boolean).map((line) => JSON.parse(line));
if (file) fs.writeFileSync(file, [first, ...rest].map((line) => `${JSON.stringify(line)}\n`).join(''));
for (const batch of rest) keep(batch, rowsOf(batch));

function rowsOf({ changes }) {
  return changes.map(({ seq, ...row }) => JSON.stringify(row));
}

function keep(batch, rows) {
  batches.push(batch);
  rows.forEach((row) => known.add(row));
}

const send = (to, batch, i) => to.write(`id: ${i + 1}\ndata: ${JSON.stringify(batch)}\n\n`);

async function take(request, response) {
  let text = '';
  for await (const part of request.setEncoding('utf8')) text = text.length > LARGEST ? text : text + part;
  if (text.length > LARGEST) return response.writeHead(413).end('a batch has 8 MB at most');
  let lines;
  try {
    lines = text.split('\n').filter(Boolean).map((line) => JSON.parse(line)).map((line) => ({ ...line, rows: rowsOf(line) }));
  } catch {
    return response.writeHead(400).end('a batch is {"source":..., "changes":[...]}');
  }
  for (const { format, source, since, upto, changes, rows } of lines) {
    const batch = { format, source: String(source), since, upto, changes: changes.filter((_, i) => !known.has(rows[i])) };
    if (!batch.changes.length) continue;
    if (file) fs.appendFileSync(file, `${JSON.stringify(batch)}\n`);
    keep(batch, rows);
    listeners.forEach((one) => send(one, batch, batches.length - 1));
  }
  response.writeHead(204).end();
}

function stream(request, response, after) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(`event: relay\ndata: ${JSON.stringify(first)}\n\n`);
  batches.slice(after).forEach((batch, i) => send(response, batch, after + i));
  listeners.add(response);
  response.on('close', () => listeners.delete(response));
}

async function answer(request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://relay');
  if (pathname === '/rows' && request.method === 'POST') return take(request, response);
  if (pathname === '/rows') return stream(request, response, Number(request.headers['last-event-id'] ?? searchParams.get('after')) || 0);
  const under = Object.keys(folders).find((one) => pathname.startsWith(one));
  const at = path.join(folders[under], pathname === '/' ? 'index.html' : decodeURIComponent(pathname.slice(under.length)));
  if (!at.startsWith(folders[under]) || !TYPES[path.extname(at)] || !fs.existsSync(at)) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': TYPES[path.extname(at)], 'cache-control': 'no-cache' });
  return fs.createReadStream(at).pipe(response);
}

const server = http.createServer((request, response) => answer(request, response).catch(() => response.writableEnded || response.destroy()));
server.listen(port, '127.0.0.1', () => console.log(`http://localhost:${server.address().port}`));
