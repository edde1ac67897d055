// folder.mjs - a folder with damage in it, and processes that are killed.
import assert from "assert";
import { randomBytes } from "crypto";
import { execFileSync, spawn } from "child_process";
import fs from "fs";
import path from "path";
import zlib from "zlib";
import { SyncError, addToken, apply, changes, makeFolder, mark, syncFolder, syncHttp } from "sqlite-counter";
import { all, claims, close, connect, contents, count, driver, idOf, open, place, random, run, serve } from "./common.mjs";

const KILLS = Number(process.env.COUNTER_KILLS ?? 4);

async function two(name) {
  const folder = `${place(name)}/folder`;
  await makeFolder(folder);
  const [a, b] = [await open(`${name}/a.db`), await open(`${name}/b.db`)];
  return { folder, a, b, of: path.join(folder, await idOf(a)) };
}

const numbers = (folder) =>
  fs
    .readdirSync(folder)
    .filter((name) => /^\d{20}-\d{20}\.gz$/.test(name))
    .sort();

// What b says of one file after `change(lines, file)`, which may return other bytes; then the file is whole again.
async function warned({ folder, b, of }, change) {
  const file = path.join(of, numbers(of)[0]);
  const whole = fs.readFileSync(file);
  const lines = zlib.gunzipSync(whole).toString().split("\n");
  fs.writeFileSync(file, change(lines, whole) ?? zlib.gzipSync(lines.join("\n")));
  const { took, warnings } = await syncFolder(b, folder);
  fs.writeFileSync(file, whole);
  assert.deepStrictEqual([took, warnings.length, warnings[0].file], [0, 1, path.dirname(file)]);
  assert.ok(warnings[0].message.startsWith(`${file}: `));
  return warnings[0].message.slice(file.length + 2);
}

async function child(name) {
  const db = await open(`${name}/a.db`);
  for (let i = 1; ; i++) {
    await count(db, "x", 1, 1);
    process.stdout.write(`${i}\n`); // it has counted
    await syncFolder(db, `${name}/folder`);
  }
}

if (process.argv[3] === "child") await child(process.argv[4]);
if (process.argv[3] === "once") {
  const db = await open(`${process.argv[4]}/a.db`);
  await run(db, "PRAGMA temp_store = MEMORY"); // what sorts changes does not write, either
  console.log(String(await syncFolder(db, `${process.argv[4]}/folder`).catch((error) => error)));
  process.exit();
}

await claims({
  async "no folder, and that of a source, are refused by a sentence, and nothing is written"() {
    const { folder, a, b, of } = await two("refused");
    await count(a, "x", 1, 1);
    await syncFolder(a, folder);
    const says = async (at, what) => {
      const error = await syncFolder(b, at).catch((each) => each);
      assert.ok(error instanceof SyncError, String(error));
      assert.deepStrictEqual([error.message, error.file], [`sqlite-counter: ${at}: ${what}`, at]);
    };
    const inside = "it is the directory of one device: give the one that it is in";
    await says(`${folder}/nowhere`, "there is no such folder: make it once, by makeFolder(), or mount what it is on");
    await says(of, inside);
    await says(`${of}/`, inside);
    const before = fs.readdirSync(of);
    fs.renameSync(of, `${folder}/moved`);
    await says(`${folder}/moved`, inside);
    fs.renameSync(`${folder}/moved`, of);
    assert.deepStrictEqual([fs.readdirSync(folder), fs.readdirSync(of)], [[".sqlite-counter", path.basename(of)], before]);
    await close(a);
    await close(b);
  },

  async "a merged row without its parent waits, or not, as the program has its foreign keys"() {
    for (const enforced of [1, 0]) {
      const folder = `${place(`keys${enforced}`)}/folder`;
      await makeFolder(folder);
      const [a, b] = [await open(`keys${enforced}/a.db`, ""), await open(`keys${enforced}/b.db`, "")];
      for (const db of [a, b]) {
        await run(db, `PRAGMA foreign_keys = ${enforced}`);
        await run(db, "CREATE TABLE p(k TEXT PRIMARY KEY); CREATE TABLE c(k TEXT PRIMARY KEY, p TEXT REFERENCES p)");
        for (const table of ["p", "c"]) await all(db, `SELECT counter_replicate('${table}')`);
      }
      await run(a, "INSERT INTO p VALUES ('p')");
      for (const db of [a, b]) await syncFolder(db, folder);
      await run(a, "DELETE FROM p");
      await run(b, "INSERT INTO c VALUES ('c', 'p')");
      for (const db of [b, a]) await syncFolder(db, folder);
      assert.strictEqual((await all(a, "SELECT count(*) AS n FROM c"))[0].n, 1 - enforced);
      await close(a);
      await close(b);
    }
  },

  async "a connection without load() is told so"() {
    const { folder, a } = await two("unloaded");
    const b = await connect(driver === "sqlite3" ? ":memory:" : `${folder}/../a.db`);
    if (driver === "sqlite3") await run(b, "CREATE TABLE counter_tables(birth)"); // a file is opened once more, with the library
    const told = /^sqlite-counter: no such (function|table): counter_\w+: call load\(db\) for the connection first$/;
    for (const work of [
      () => syncFolder(b, folder),
      () => syncHttp(b, "http://localhost:1/sync", "x"),
      () => mark(b, "x"),
      () => changes(b).next(),
    ])
      await assert.rejects(work, { name: "SyncError", message: told });
    await close(a);
    await close(b);
  },

  async "a damaged file is told of, and taken when it is whole"() {
    const world = await two("damaged");
    await count(world.a, "x", 1, 1);
    await syncFolder(world.a, world.folder);
    for (const harm of [
      (_, whole) => whole.subarray(0, whole.length / 2),
      () => Buffer.alloc(0),
      (lines) => void (lines[0] = lines[0].replace('"table":"hits"', '"table":"hats"')),
      (lines) => void lines.splice(1, 1),
    ])
      assert.match(await warned(world, harm), /^(it is cut short or damaged|line 1: .*): nothing of it was taken$/);
    assert.deepStrictEqual((await syncFolder(world.b, world.folder)).warnings, []);
    assert.deepStrictEqual(await contents(world.b), { "x/1": "1" });
    await close(world.a);
    await close(world.b);
  },

  async "one source is refused, and others are taken"() {
    const { folder, a, b } = await two("others");
    const c = await open(
      "others/c.db",
      "CREATE VIRTUAL TABLE IF NOT EXISTS other USING counter(k TEXT PRIMARY KEY, n COUNTER);"
    );
    await count(a, "x", 1, 1);
    await run(c, "INSERT INTO other VALUES ('y', 1)");
    await syncFolder(c, folder);
    await syncFolder(a, folder);
    fs.mkdirSync(path.join(folder, "not a source"));
    fs.writeFileSync(path.join(folder, ".hidden"), "");
    fs.copyFileSync(
      path.join(folder, await idOf(a), numbers(path.join(folder, await idOf(a)))[0]),
      path.join(folder, await idOf(a), "0 (conflicted copy).gz")
    );
    const { took, warnings } = await syncFolder(b, folder);
    assert.strictEqual(took, 1);
    assert.deepStrictEqual(await contents(b), { "x/1": "1" });
    const messages = warnings.map(({ message }) => message).join("\n");
    assert.strictEqual(warnings.length, 1);
    assert.match(messages, /: line 1: change 1: table other: no counter table was created with this name here: CREATE it as at the source/);
    for (const db of [a, b, c]) await close(db);
  },

  async "ten syncs leave few files, and a new file takes all by them"() {
    const { folder, a, b, of } = await two("few");
    for (let i = 0; i < 20; i++) {
      await count(a, "x", i, 1);
      await syncFolder(a, folder);
    }
    assert.ok(numbers(of).length <= 7, String(numbers(of)));
    assert.strictEqual((await syncFolder(a, folder)).gave, 0);
    await syncFolder(b, folder);
    assert.deepStrictEqual(await contents(b), await contents(a));
    fs.rmSync(path.join(of, numbers(of)[0])); // by hand: it is written again
    await count(a, "x", 0, 1);
    await syncFolder(a, folder);
    const c = await open("few/c.db");
    await syncFolder(c, folder);
    assert.deepStrictEqual(await contents(c), await contents(a));
    for (const db of [a, b, c]) await close(db);
  },

  async "lines of more than are merged at once are taken whole, from a folder and from a server"() {
    const { folder, a, b } = await two("parts");
    const c = await open("parts/c.db");
    await run(a, "INSERT INTO hits WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT 'ä' || i, i, i FROM n");
    await syncFolder(a, folder);
    assert.deepStrictEqual((await syncFolder(b, folder)).warnings, []);
    const served = await serve(b);
    await syncHttp(c, served.url, await addToken(b, "c"));
    await served.close();
    const sums = async (db) => ({ ...(await all(db, "SELECT count(*) AS n, sum(n) AS sum, sum(k * n) AS product FROM hits"))[0] });
    for (const db of [b, c]) assert.deepStrictEqual(await sums(db), { n: 50000, sum: 1250025000, product: 41667916675000 });
    for (const db of [a, b, c]) await close(db);
  },

  async "a copy of a file writes into a folder of its own"() {
    const { folder, a, b } = await two("copy");
    await count(a, "x", 1, 1);
    await syncFolder(a, folder);
    await run(a, "VACUUM INTO 'copy/c.db'");
    const c = await open("copy/c.db");
    await count(c, "x", 1, 10);
    await count(a, "x", 1, 100);
    for (const db of [a, c, b, a, c]) await syncFolder(db, folder);
    for (const db of [a, b, c]) assert.deepStrictEqual(await contents(db), { "x/1": "111" });
    assert.strictEqual(fs.readdirSync(folder).length, 3);
    for (const db of [a, b, c]) await close(db);
  },

  async "a scope takes its rows alone"() {
    const { folder, a, b } = await two("scope");
    await count(a, "x", 1, 1);
    await count(a, "y", 1, 2);
    await syncFolder(a, folder);
    await syncFolder(b, folder, { scope: ["y"] });
    assert.deepStrictEqual(await contents(b), { "y/1": "2" });
    await syncFolder(b, folder);
    assert.deepStrictEqual(await contents(b), { "x/1": "1", "y/1": "2" });
    await close(a);
    await close(b);
  },

  async "a folder that is not there, or cannot be written, is one error"() {
    const { folder, a, b, of } = await two("unwritable");
    const fails = (db, at, message) =>
      assert.rejects(
        syncFolder(db, at),
        (error) =>
          error instanceof SyncError &&
          error.name === "SyncError" &&
          message.test(error.message) &&
          error.file.startsWith(at)
      );
    await fails(a, "unwritable/none", /unwritable\/none: there is no such folder: make it once, by makeFolder\(\), or mount what it is on/);
    fs.writeFileSync("unwritable/file", "");
    await fails(a, "unwritable/file", /unwritable\/file: there is no such folder/);
    await count(b, "x", 1, 1);
    await syncFolder(b, folder);
    await count(a, "x", 1, 1);
    fs.writeFileSync(of, "in the way");
    await fails(a, folder, /cannot be read: Not a directory/);
    assert.deepStrictEqual(await contents(a), { "x/1": "2" });
    fs.rmSync(of);
    assert.strictEqual((await syncFolder(a, folder)).gave, 1);
    await run(a, "BEGIN");
    await assert.rejects(syncFolder(a, folder), /syncFolder\(\) was called within a transaction: commit it before/);
    await run(a, "COMMIT");
    await close(a);
    await close(b);
  },

  async "rows that a constraint refuses are told by their number"() {
    const folder = `${place("apart")}/folder`;
    await makeFolder(folder);
    const table = "CREATE TABLE p(k TEXT PRIMARY KEY, name UNIQUE, n INTEGER); SELECT counter_replicate('p', 'n')";
    const [a, b] = [await open("apart/a.db", table), await open("apart/b.db", table)];
    await run(a, "INSERT INTO p VALUES ('a', 'tea', 1), ('b', 'jam', 1)");
    await run(b, "INSERT INTO p VALUES ('c', 'tea', 1), ('d', 'jam', 1), ('e', 'salt', 1)");
    assert.strictEqual((await syncFolder(a, folder)).apart, 0);
    assert.strictEqual((await syncFolder(b, folder)).apart, 2);
    await run(b, "UPDATE p SET name = 'green tea' WHERE name = 'tea'");
    assert.strictEqual((await syncFolder(b, folder)).apart, 1);
    await close(a);
    await close(b);
  },

  async "a scope with the character 0 is a scope by each transport"() {
    const { folder, a, b } = await two("zero");
    const c = await open("zero/c.db");
    await run(a, "INSERT INTO hits VALUES (CAST(x'610062' AS TEXT), 1, 3), ('a', 1, 4)");
    await syncFolder(a, folder);
    const scope = ["a\0b"];
    await syncFolder(b, folder, { scope });
    const lines = [];
    for await (const line of changes(a, { scope })) lines.push(line);
    await apply(c, lines);
    const { source } = JSON.parse(lines[0]);
    assert.match(source, / \["a\\u0000b"\]$/);
    assert.ok((await mark(c, source)) > 0n);
    for (const db of [b, c]) assert.deepStrictEqual((await all(db, "SELECT hex(shop) AS shop, n FROM hits")).map((row) => ({ ...row })), [{ shop: "610062", n: 3 }]);
    for (const db of [a, b, c]) await close(db);
  },

  async "a sync warns of what it has deleted and of columns that do not travel"() {
    const folder = `${place("warned")}/folder`;
    await makeFolder(folder);
    const table = "CREATE TABLE p(k TEXT PRIMARY KEY, v); SELECT counter_replicate('p')";
    const [a, b] = [await open("warned/a.db", table), await open("warned/b.db", table)];
    await run(a, "INSERT INTO p SELECT value, 1 FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12]')");
    await syncFolder(a, folder);
    assert.deepStrictEqual((await syncFolder(b, folder)).warnings, []);
    await run(a, "DELETE FROM p WHERE k <> '12'");
    await run(b, "ALTER TABLE p ADD COLUMN weight");
    assert.deepStrictEqual((await syncFolder(a, folder)).warnings, []);
    const missing = { table: "p", message: "p: column weight does not travel yet: call counter_replicate('p')" };
    const { warnings } = await syncFolder(b, folder);
    assert.deepStrictEqual(
      warnings.map((each) => ({ ...each })),
      [missing, { table: "p", message: "p: this merge deleted 11 of 12 rows" }]
    );
    assert.deepStrictEqual(
      (await syncFolder(b, folder)).warnings.map((each) => ({ ...each })),
      [missing]
    );
    await close(a);
    await close(b);
  },

  async "a link in place of its own folder is refused, and nothing is written or deleted where it leads"() {
    const { folder, a, b, of } = await two("links");
    await count(a, "x", 1, 1);
    await count(b, "x", 1, 10);
    await syncFolder(b, folder);
    const target = place("links/target");
    const precious = [".tmp-precious", `${"0".repeat(20)}-${"1".padStart(20, "0")}.gz`];
    for (const name of precious) {
      fs.writeFileSync(`${target}/${name}`, "precious");
      fs.utimesSync(`${target}/${name}`, 0, 0);
    }
    fs.symlinkSync(path.resolve(target), of);
    for (let i = 0; i < 2; i++)
      await assert.rejects(syncFolder(a, folder), {
        name: "SyncError",
        file: folder,
        message: `sqlite-counter: ${of}: it is a link, and links are not followed`,
      });
    assert.deepStrictEqual(fs.readdirSync(target).sort(), precious);
    for (const name of precious) assert.strictEqual(fs.readFileSync(`${target}/${name}`, "utf8"), "precious");
    assert.deepStrictEqual(await contents(a), { "x/1": "11" });
    fs.rmSync(of);
    assert.strictEqual((await syncFolder(a, folder)).gave, 1);
    await close(a);
    await close(b);
  },

  async "a disk without room for what others have written is an error, no warning"() {
    const { folder, a, b } = await two("room");
    await run(a, `BEGIN; ${Array.from({ length: 500 }, (_, i) => `INSERT INTO hits VALUES ('${"x".repeat(500)}', ${i}, 1)`).join(";")}; COMMIT`);
    await syncFolder(a, folder);
    await run(b, "PRAGMA user_version = 1");
    const pages = (await all(b, "SELECT page_count AS n FROM pragma_page_count"))[0].n;
    await run(b, `PRAGMA max_page_count = ${pages + 5}`);
    if (driver !== "sqlite3") // which opens a connection of its own, without this limit
      await assert.rejects(syncFolder(b, folder), /^SyncError: sqlite-counter: .*database or disk is full\. Nothing is lost: the next call goes on/);
    await run(b, "PRAGMA max_page_count = 1000000");
    assert.deepStrictEqual((await syncFolder(b, folder)).warnings, []);
    assert.deepStrictEqual(await contents(b), await contents(a));
    await close(a);
    await close(b);
  },

  async "a disk without room for its own changes is an error, and leaves no half file"() {
    if (driver === "sqlite3") return; // whose second connection writes into the file, and is as limited
    const { folder, a, b, of } = await two("full");
    await run(a, `BEGIN; ${Array.from({ length: 12000 }, (_, i) => `INSERT INTO hits VALUES ('${randomBytes(60).toString("hex")}', ${i}, 1)`).join(";")}; COMMIT`);
    await close(a);
    const once = `${JSON.stringify(process.execPath)} --no-warnings folder.mjs ${driver} once full`;
    const said = execFileSync("sh", ["-c", `trap '' XFSZ; ulimit -f 512; exec ${once}`]).toString();
    assert.match(said, /cannot be written: File too large/);
    assert.deepStrictEqual(fs.readdirSync(of).map((name) => name.slice(0, 7)), [".place-"]);
    const again = await open("full/a.db");
    await syncFolder(again, folder);
    await syncFolder(b, folder);
    assert.deepStrictEqual(await contents(b), await contents(again));
    await close(again);
    await close(b);
  },

  async "a process that is killed loses and doubles nothing"() {
    const pick = random(99);
    const { folder, a, b } = await two("killed");
    let sum = 0;
    for (let i = 0; i < KILLS; i++) {
      const killed = spawn(process.execPath, [...process.execArgv, "folder.mjs", driver, "child", "killed"], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let said = "";
      killed.stdout.on("data", (bytes) => {
        if (said === "") setTimeout(() => killed.kill("SIGKILL"), pick(60));
        said += bytes;
      });
      await new Promise((resolve) => killed.on("close", resolve));
      const counted = Number(said.slice(0, said.lastIndexOf("\n")).split("\n").pop());
      const now = Number((await contents(a))["x/1"]) - sum;
      assert.ok(now === counted || now === counted + 1, `${now} of ${counted}`);
      sum += now;
      await syncFolder(b, folder);
    }
    await syncFolder(a, folder);
    assert.deepStrictEqual((await syncFolder(b, folder)).warnings, []);
    assert.deepStrictEqual(await contents(b), { "x/1": String(sum) });
    await close(a);
    await close(b);
  },
});
