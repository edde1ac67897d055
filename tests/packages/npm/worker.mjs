// worker.mjs - does what a test in another language asks for: each line that it reads is a request in JSON, each that it
// writes an answer.
import readline from "readline";
import { apply, changes, load, mark, syncFolder, syncHttp } from "sqlite-counter";
import { close, connect, run, serve } from "./common.mjs";

// A server that is gone is asked again at once.
const later = globalThis.setTimeout;
globalThis.setTimeout = (call, milliseconds, ...more) => later(call, milliseconds === 500 ? 5 : milliseconds, ...more);

async function open(path) {
  const db = await connect(path);
  await load(db);
  await run(db, "PRAGMA busy_timeout = 10000");
  return db;
}

const served = [];
const verbs = {
  async folder(db, { folder, scope }) {
    const { gave, took, warnings } = await syncFolder(db, folder, { scope });
    return { gave, took, warnings: warnings.map(({ message }) => message) };
  },
  async http(db, { url, token, scope }) {
    const { warnings, ...done } = await syncHttp(db, url, token, { scope });
    return { ...done, warnings: warnings.map(({ message }) => message) };
  },
  async lines(db, { since, own, scope }) {
    const lines = [];
    for await (const line of changes(db, { since, own, scope })) lines.push(line);
    return lines;
  },
  async apply(db, { lines }) {
    const { changes, marks } = await apply(db, lines);
    return { changes, marks: Object.fromEntries([...marks].map(([source, mark]) => [source, String(mark)])) };
  },
  mark: async (db, { source }) => String(await mark(db, source)),
  async serve(db, { certificate }) {
    await run(db, "PRAGMA journal_mode = WAL");
    served.push(await serve(db, undefined, undefined, certificate));
    return served[served.length - 1].url;
  },
};

async function answer({ verb, path, ...given }) {
  const db = await open(path);
  try {
    return { value: await verbs[verb](db, given) };
  } catch (error) {
    return { error: error.message };
  } finally {
    if (verb !== "serve") await close(db);
  }
}

console.log("ready");
for await (const line of readline.createInterface({ input: process.stdin }))
  console.log(JSON.stringify(await answer(JSON.parse(line))));
process.exit();
