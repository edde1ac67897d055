// servers.mjs - what serves a file to pages: the handler of the npm package, the WSGI application of the Python package.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { makeFolder, ROOT } from './harness.mjs';

const LIBRARY = path.join(ROOT, 'build/counter.so');
const DRIVER = path.join(ROOT, 'build/clients/node/node_modules/better-sqlite3'); // where tests/clients installs it
const PYTHON = '/usr/bin/python3';

function must(program, args, options) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', ...options });
  if (error || status !== 0) throw error ?? new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

/** The npm package as it is installed, with the library of this machine; `missing` says what keeps it from that. */
export function installNode() {
  if (!fs.existsSync(LIBRARY)) return { missing: 'build/counter.so: run make' };
  if (!fs.existsSync(DRIVER)) return { missing: 'better-sqlite3: run make clients' };
  const folder = makeFolder(), platform = `linux-${os.machine()}`;
  fs.mkdirSync(path.join(folder, 'libs', platform), { recursive: true });
  fs.copyFileSync(LIBRARY, path.join(folder, 'libs', platform, 'counter.so'));
  must(path.join(ROOT, 'packages/npm/build'), [path.join(folder, 'libs'), path.join(folder, 'tgz')], { env: { ...process.env, COUNTER_ALLOW_LIBUUID: '1' } });
  const modules = path.join(folder, 'node_modules');
  for (const tgz of fs.readdirSync(path.join(folder, 'tgz'))) {
    const at = path.join(modules, tgz.replace(/-[^-]*$/, ''));
    fs.mkdirSync(at, { recursive: true });
    must('tar', ['-xzf', path.join(folder, 'tgz', tgz), '-C', at, '--strip-components=1']);
  }
  fs.symlinkSync(DRIVER, path.join(modules, 'better-sqlite3'));
  return { folder, require: createRequire(path.join(folder, 'index.cjs')) };
}

/** A file that Node serves: { answer, db, add, close }. */
export function nodeServer({ require }, file, schema) {
  const Database = require('better-sqlite3'), { addToken, handler, load } = require('sqlite-counter');
  const db = new Database(file);
  load(db);
  if (schema) db.exec(schema);
  const answer = handler(db);
  return { answer, db, add: (device) => addToken(db, device), close: () => db.close() };
}

const SERVES = `
import sqlite3, sys, wsgiref.simple_server
import sqlite_counter
from sqlite_counter.server import Application

class Silent(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass

file, schema, *devices = sys.argv[1:]
connection = sqlite3.connect(file, isolation_level=None)
sqlite_counter.load(connection)
connection.executescript(schema)
for device in devices:
    print(sqlite_counter.add_token(connection, device))
connection.close()
server = wsgiref.simple_server.make_server("127.0.0.1", 0, Application(file, prefix="/sync"), handler_class=Silent)
print(server.server_port, flush=True)
server.serve_forever()
`;

/** A file that Python serves, behind a proxy: { answer, tokens, end }. */
export async function pythonServer(folder, file, schema, devices) {
  const at = path.join(folder, 'python');
  fs.cpSync(path.join(ROOT, 'packages/python/sqlite_counter'), path.join(at, 'sqlite_counter'), { recursive: true });
  fs.copyFileSync(LIBRARY, path.join(at, 'sqlite_counter/counter.so'));
  const server = spawn(PYTHON, ['-c', SERVES, file, schema, ...devices], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, PYTHONPATH: at } });
  process.once('exit', () => server.kill('SIGKILL'));
  let said = '';
  await new Promise((serving, failed) => {
    server.stdout.on('data', (some) => {
      said += some;
      if (said.split('\n').length > devices.length + 1) serving();
    });
    server.once('exit', (code) => failed(new Error(`Python ended with ${code}`)));
  });
  const tokens = said.split('\n').slice(0, devices.length), port = Number(said.split('\n')[devices.length]);
  const answer = (request, response) => {
    const { method, url, headers } = request;
    const asked = http.request({ port, host: '127.0.0.1', method, path: url, headers }, (answered) => {
      response.writeHead(answered.statusCode, answered.headers);
      answered.pipe(response);
    });
    asked.on('error', () => response.destroy());
    request.pipe(asked);
  };
  return { answer, tokens, end: () => server.kill('SIGKILL') };
}
