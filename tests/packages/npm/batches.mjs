// batches.mjs - lines that are given and taken.
import assert from "assert";
import { apply, changes, mark } from "sqlite-counter";
import { all, changeOf, claims, close, contents, count, idOf, lineOf, open, place, run } from "./common.mjs";

const here = place("batches");
let n = 0;
const fresh = (table) => open(`${here}/${n++}.db`, table);

async function linesOf(db, options) {
  const lines = [];
  for await (const line of changes(db, options)) lines.push(line);
  return lines;
}

const FROM = "7529cd67-394b-3247-8020-f2a7272fc8d9";
const shards = [{ id: FROM, clock: 1, value: 1 }];

async function refuses(db, lines, message) {
  const before = await contents(db);
  await assert.rejects(
    apply(db, lines),
    (error) => {
      assert.match(error.message, message);
      return true;
    },
    lines[1]
  );
  assert.deepStrictEqual(await contents(db), before);
  assert.strictEqual(await mark(db, FROM), 0n);
}

await claims({
  async "what one file gives another one takes, exactly"() {
    const [a, b] = [await fresh(), await fresh()];
    await count(a, "x", 1, "9007199254740993");
    await count(a, "y", 2, "-9223372036854775807");
    const lines = await linesOf(a);
    const taken = await apply(b, lines);
    const source = await idOf(a);
    const { upto } = JSON.parse(lines[0]);
    assert.deepStrictEqual(taken, { changes: 2, marks: new Map([[source, BigInt(upto)]]) });
    assert.strictEqual(await mark(b, source), BigInt(upto));
    assert.deepStrictEqual(await contents(b), { "x/1": "9007199254740993", "y/2": "-9223372036854775807" });
    assert.deepStrictEqual(await linesOf(a, { since: await mark(b, source) }), []);
    assert.deepStrictEqual((await apply(b, lines)).changes, 2);
    assert.deepStrictEqual(await contents(b), await contents(a));
    await close(a);
    await close(b);
  },

  async "own changes and scopes have marks of their own"() {
    const [a, b] = [await fresh(), await fresh()];
    await count(a, "x", 1, 5);
    await count(a, "y", 1, 7);
    await apply(a, [lineOf(FROM, [await changeOf(a, shards)])]);
    const own = await linesOf(a, { own: true });
    assert.deepStrictEqual(
      JSON.parse(own[0]).changes.map(({ key }) => key[0]),
      ["x", "y"]
    );
    assert.strictEqual(JSON.parse(own[0]).source, `${await idOf(a)} own`);
    const scoped = await linesOf(a, { scope: ["y"] });
    assert.strictEqual(JSON.parse(scoped[0]).source, `${await idOf(a)} ["y"]`);
    await apply(b, scoped.join("\n"));
    assert.deepStrictEqual(await contents(b), { "y/1": "7" });
    assert.strictEqual(await mark(b, await idOf(a)), 0n);
    assert.ok((await mark(b, await idOf(a), ["y"])) > 0n);
    await close(a);
    await close(b);
  },

  async "marks beyond 2^53 are exact"() {
    const db = await fresh();
    await count(db, "x", 1, 1);
    for (const upto of ["9007199254740993", "9223372036854775807"]) {
      const { marks } = await apply(db, [lineOf(FROM, []).replace('"upto":9', `"upto":${upto}`)]);
      assert.deepStrictEqual([...marks.values()], [BigInt(upto)]);
      assert.strictEqual(await mark(db, FROM), BigInt(upto));
    }
    assert.deepStrictEqual(await linesOf(db, { since: 9223372036854775807n }), await linesOf(db)); // a mark of another file
    await assert.rejects(linesOf(db, { since: 2 ** 60 }), /since must be a whole number/);
    await close(db);
  },

  async "a line has a thousand changes at most, also of one number"() {
    const [a, b] = [await fresh(), await fresh()];
    await count(a, "first", 0, 1);
    await run(
      a,
      "INSERT INTO hits WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2500) SELECT 'x', i, 1 FROM c"
    );
    await count(a, "last", 0, 1);
    const lines = await linesOf(a);
    const batches = lines.map((line) => JSON.parse(line));
    assert.ok(batches.every((each) => each.changes.length <= 1000));
    assert.strictEqual(
      batches.reduce((sum, each) => sum + each.changes.length, 0),
      2502
    );
    for (let i = 1; i < batches.length; i++) assert.strictEqual(batches[i].since, batches[i - 1].upto);
    const same = batches.filter((each) => each.since === each.upto);
    assert.ok(same.length >= 1);
    const marks = [];
    for (const line of lines) marks.push([...(await apply(b, [line])).marks.values()][0]);
    assert.deepStrictEqual(
      marks,
      batches.map((each) => BigInt(each.upto))
    );
    assert.deepStrictEqual(await contents(b), await contents(a));
    await close(a);
    await close(b);
  },

  async "a file that is written in the middle of changes() is read on"() {
    const a = await fresh();
    await count(a, "x", 1, 1);
    for await (const line of changes(a)) {
      assert.ok(line);
      await count(a, "x", 2, 1);
    }
    assert.deepStrictEqual(await contents(a), { "x/1": "1", "x/2": "1" });
    await close(a);
  },

  async "one bad line, and nothing is taken"() {
    const db = await fresh();
    const good = await changeOf(db, shards);
    const line = lineOf(FROM, [good]);
    const table = "x'); DROP TABLE hits; --";
    for (const [bad, message] of [
      [line.slice(0, -20), /^counter_take: line 2: it is cut short$/],
      [`${line}\0`, /line 2: it has something behind its end/],
      ["[]", /line 2: it must be an object of JSON/],
      [lineOf(FROM, {}), /line 2: the member changes must be an array/],
      [lineOf(5, []), /line 2: the member source must be a text, not 5/],
      [lineOf(FROM, [], { format: 2 }), /line 2: it has the format 2, and this version reads 1: install a newer sqlite-counter/],
      [lineOf(FROM, [], { format: "1" }), /line 2: the member format must be a whole number, 1 or more, not "1"/],
      [lineOf(FROM, [], { format: -1 }), /line 2: the member format must be a whole number, 1 or more, not -1/],
      [lineOf(FROM, [], { upto: "nine" }), /line 2: the member upto must be a whole number/],
      [lineOf(FROM, [], { since: 10 }), /line 2: the member upto must be a whole number, 10 or more, not 9/],
      [lineOf("x", []), /line 2: the source 'x' is not the name of a file/],
      [lineOf(FROM, [{ ...good, packed: "D1030" }]), /line 2: change 1: the member packed must be a text of hexadecimal digits, not "D1030"/],
      [lineOf(FROM, [{ ...good, packed: 7 }]), /line 2: change 1: the member packed must be a text of hexadecimal digits, not 7/],
      [lineOf(FROM, [{ ...good, change: "zz" }]), /line 2: change 1: the member change must be a text of hexadecimal digits, not "zz"/],
      [lineOf(FROM, [{ ...good, change: good.change.slice(2) }]), /line 2: change 1: table hits: the change is none: its first byte is that of something else/],
      [lineOf(FROM, [good, 5]), /line 2: change 2: it must be an object/],
      [lineOf(FROM, [{ ...good, seq: 1.5 }]), /line 2: change 1: the member seq must be a whole number, 0 or more, not 1\.5/],
      [
        lineOf(FROM, [{ ...good, table }]),
        /line 2: change 1: table x'\); DROP TABLE hits; --: no counter table was created with this name here/,
      ],
    ])
      await refuses(db, [line, bad], message);
    assert.deepStrictEqual((await apply(db, ["", line, ""])).changes, 1);
    await close(db);
  },

  async "within a transaction of the caller lines that are refused leave nothing"() {
    const db = await fresh();
    await run(db, "BEGIN");
    await count(db, "x", 1, 1);
    await assert.rejects(apply(db, [lineOf(FROM, [await changeOf(db, shards)]), "{"]));
    await apply(db, [lineOf(FROM, [await changeOf(db, shards, { packed: "D10301620102" })])]);
    assert.deepStrictEqual(await contents(db), { "b/1": "1", "x/1": "1" });
    await run(db, "ROLLBACK");
    assert.deepStrictEqual(await contents(db), {});
    assert.strictEqual(await mark(db, FROM), 0n);
    await close(db);
  },

  async "what the program counts while a batch is refused stays"() {
    const db = await fresh();
    const refused = assert.rejects(apply(db, [lineOf(FROM, [await changeOf(db, shards)]), "{"]));
    const counted = count(db, "x", 1, 1);
    await refused;
    await counted;
    assert.deepStrictEqual(await contents(db), { "x/1": "1" });
    await close(db);
  },

  async "two calls at once on one connection do not disturb each other"() {
    const [a, b] = [await fresh(), await fresh()];
    for (let i = 0; i < 5; i++) await count(a, "x", i, 1);
    const lines = await linesOf(a);
    const other = lineOf(FROM, [await changeOf(b, shards)]);
    await Promise.all([apply(b, lines), apply(b, [other]), assert.rejects(apply(b, ["{"])), apply(b, lines)]);
    assert.deepStrictEqual(await contents(b), { ...(await contents(a)), "a/1": "1" });
    await close(a);
    await close(b);
  },

  async "the rows of a replicated table travel, their deletion too"() {
    const table = "CREATE TABLE IF NOT EXISTS products(sku TEXT PRIMARY KEY, name TEXT, stock INTEGER NOT NULL DEFAULT 0);";
    const [a, b] = [await fresh(table), await fresh(table)];
    for (const db of [a, b]) await all(db, "SELECT counter_replicate('products', 'stock')");
    await run(a, "INSERT INTO products VALUES ('tea', 'Tee ☕', 5), ('jam', NULL, 2)");
    await apply(b, await linesOf(a));
    assert.deepStrictEqual(
      (await all(b, "SELECT sku || name || stock AS row FROM products WHERE sku = 'tea'"))[0].row,
      "teaTee ☕5"
    );
    await run(a, "DELETE FROM products WHERE sku = 'tea'");
    await apply(b, await linesOf(a));
    assert.deepStrictEqual((await all(b, "SELECT group_concat(sku) AS skus FROM products"))[0].skus, "jam");
    await close(a);
    await close(b);
  },
});
