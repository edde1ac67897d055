// served.mjs - a file that is served, and requests to it.
import assert from "assert";
import http from "http";
import path from "path";
import { addToken, changes } from "sqlite-counter";
import { close, contents, open, place, serve } from "./common.mjs";

const here = place(`http-${path.basename(process.argv[1], ".mjs")}`);
let n = 0;
export const pathOf = (db) => paths.get(db);
const paths = new Map();

export async function fresh() {
  const file = `${here}/${n++}.db`;
  const db = await open(file);
  paths.set(db, file);
  return db;
}

export async function world(options, wrap) {
  const server = await fresh();
  const served = await serve(server, options, wrap);
  const token = await addToken(server, "laptop");
  const end = async (...more) => {
    await served.close();
    for (const db of [server, ...more]) await close(db);
  };
  return { server, served, token, end };
}

export function ask({ served, token }, { method = "POST", path = "/sync", headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const authorization = token ? { Authorization: `Bearer ${token}` } : {};
    const request = http.request(
      { port: served.port, host: "127.0.0.1", method, path, headers: { ...authorization, ...headers } },
      (response) => {
        const chunks = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("end", () =>
          resolve({
            status: response.statusCode,
            headers: response.headers,
            bytes: Buffer.concat(chunks),
            text: String(Buffer.concat(chunks)),
          })
        );
        response.on("error", reject);
      }
    );
    request.on("error", reject);
    request.end(body);
  });
}

export async function linesOf(db, options) {
  const lines = [];
  for await (const line of changes(db, options)) lines.push(line);
  return `${lines.join("\n")}\n`;
}

export const post = (world, body, headers) => ask(world, { headers, body });

// The first line of an answer.
export const headOf = ({ text }) => JSON.parse(text.split("\n")[0]);

export async function refuses(world, request, status, message, headers = {}) {
  const before = await contents(world.server);
  const answer = await ask(world, request);
  assert.strictEqual(answer.status, status, answer.text);
  assert.match(JSON.parse(answer.text).error, message);
  for (const [name, value] of Object.entries(headers)) assert.strictEqual(answer.headers[name], value);
  assert.deepStrictEqual(await contents(world.server), before);
}
