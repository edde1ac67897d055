// world.mjs - random operations on several files, which meet through a folder with damage in it and through a server:
// at the end each file has the sums of all increments.
import assert from "assert";
import fs from "fs";
import path from "path";
import { addToken, makeFolder, syncFolder, syncHttp } from "sqlite-counter";
import { claims, close, contents, count, open, place, random, serve } from "./common.mjs";

const VALUES = ["1", "-1", "3", "9007199254740993", "-9007199254740995"];
const FILES = 4;
const STEPS = 90;

async function world(stream) {
  const pick = random(stream);
  const folder = `${place(`world-${stream}`)}/folder`;
  await makeFolder(folder);
  const model = {};
  const files = [];
  const server = await open(`world-${stream}/server.db`);
  const served = await serve(server);
  for (let i = 0; i < FILES; i++)
    files.push({ db: await open(`world-${stream}/${i}.db`), token: await addToken(server, `device ${i}`) });

  const filesThere = () =>
    fs
      .readdirSync(folder)
      .filter((name) => !name.startsWith("."))
      .flatMap((name) => fs.readdirSync(path.join(folder, name)).map((file) => path.join(folder, name, file)))
      .filter((file) => /^\d{20}-\d{20}\.gz$/.test(path.basename(file)));
  const steps = {
    async count() {
      const n = VALUES[pick(VALUES.length)];
      const [shop, k] = ["ab"[pick(2)], pick(5)];
      await count(files[pick(FILES)].db, shop, k, n);
      model[`${shop}/${k}`] = (model[`${shop}/${k}`] ?? 0n) + BigInt(n);
    },
    folder: () => syncFolder(files[pick(FILES)].db, folder),
    http() {
      const { db, token } = files[pick(FILES)];
      return syncHttp(db, served.url, token);
    },
    // A synchronizer is not done with a file yet: whoever reads now is told, and takes it when it is whole.
    async half() {
      const there = filesThere();
      if (there.length === 0) return;
      const file = there[pick(there.length)];
      const whole = fs.readFileSync(file);
      fs.writeFileSync(file, whole.subarray(0, pick(whole.length)));
      await syncFolder(files[pick(FILES)].db, folder);
      if (fs.existsSync(file)) fs.writeFileSync(file, whole);
    },
    async changed() {
      const there = filesThere();
      if (there.length === 0) return;
      const file = there[pick(there.length)];
      const whole = fs.readFileSync(file);
      const damaged = Buffer.from(whole);
      damaged[pick(whole.length)] ^= 1 << pick(8);
      fs.writeFileSync(file, damaged);
      await syncFolder(files[pick(FILES)].db, folder);
      if (fs.existsSync(file)) fs.writeFileSync(file, whole);
    },
    doubled() {
      const there = filesThere();
      if (there.length === 0) return;
      const file = there[pick(there.length)];
      fs.copyFileSync(file, file.replace(/\.gz$/, " (conflicted copy 2026-11-26).gz"));
    },
    // An old file comes back.
    late() {
      const there = filesThere();
      if (there.length === 0) return;
      const file = there[pick(there.length)];
      const bytes = fs.readFileSync(file);
      late.push(() => fs.existsSync(path.dirname(file)) && fs.writeFileSync(file, bytes));
      if (pick(2)) late.splice(pick(late.length), 1)[0]();
    },
  };
  const late = [];
  const names = ["count", "count", "count", ...Object.keys(steps), "folder", "http"];
  for (let i = 0; i < STEPS; i++) await steps[names[pick(names.length)]]();

  for (let round = 0; round < 2; round++) for (const { db } of files) await syncFolder(db, folder);
  for (const { db } of files) await syncFolder(db, folder);
  const sums = Object.fromEntries(
    Object.entries(model)
      .filter(([, n]) => n !== 0n)
      .sort()
      .map(([name, n]) => [name, String(n)])
  );
  for (const { db } of files) assert.deepStrictEqual(await contents(db), sums);
  for (const { db, token } of files) await syncHttp(db, served.url, token);
  assert.deepStrictEqual(await contents(server), sums);
  await served.close();
  for (const db of [server, ...files.map((file) => file.db)]) await close(db);
}

await claims({
  async "whatever files exchange, their sums are those of all increments"() {
    for (let stream = 0; stream < Number(process.env.COUNTER_WORLDS ?? 1); stream++) await world(stream);
  },
});
