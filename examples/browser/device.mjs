// device.mjs - one device: a file of its own, with a shop, a voting board, a box office, and the names of all devices.
import { open } from 'sqlite-counter-wasm';

// Every device knows the same delivery of the same warehouse. It is one shard, so it counts once, however
// many devices bring it along.
export const WAREHOUSE = '3a7e0a1c-5f0e-4d55-9c3b-0f1d2a4b6c8e';
const DELIVERED = { Tea: 24, Coffee: 12, Honey: 6, Mugs: 3 };
const FULL = 13; // SQLITE_FULL
const TOPICS = ['Mountains', 'Seaside', 'City'];

const SCHEMA = `
CREATE TABLE products(name TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
SELECT counter_track('products', 'stock');
CREATE VIRTUAL TABLE votes USING counter(topic TEXT PRIMARY KEY, up COUNTER, down COUNTER);
CREATE TABLE devices(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL);
SELECT counter_replicate('devices');
CREATE TABLE settings(name TEXT PRIMARY KEY, value) WITHOUT ROWID`;

// A bounded counter: nobody sells a seat that another device may sell.
const SEATS = `
CREATE VIRTUAL TABLE seats USING counter(hall TEXT PRIMARY KEY, free COUNTER);
SELECT counter_bound('seats', 'free')`;

// The row of this device; it is written only if it says something new, for what is written travels.
const CALL = `
INSERT INTO devices VALUES (?, ?) ON CONFLICT DO UPDATE SET name = excluded.name WHERE name <> excluded.name`;

const DELIVER = `
INSERT INTO counter_changes(table_name, key, change, seq, source, key_columns)
VALUES ('products', counter_key(?1), counter_change_of(json_object('tells', 'row', 'columns', json_array(json_object(
         'name', 'stock', 'kind', 'counter', 'generation', 1, 'cell', json_object('life', 1, 'shards', json_array(json_object(
           'id', '${WAREHOUSE}', 'clock', 1, 'value', ?2))))))), 1, '${WAREHOUSE}', 'name TEXT BINARY')`;

const COUNTERS = `
SELECT 'products' AS "table", key ->> '$[0]' AS name, column_name AS "column", counter_json(cell) AS cell
  FROM counter_cells('products_counters')
UNION ALL
SELECT 'votes', key ->> '$[0]', column_name, counter_json(cell) FROM counter_cells('votes')
UNION ALL
SELECT 'seats', key ->> '$[0]', column_name, counter_json(cell) FROM counter_cells('seats')
 ORDER BY 1, 2, 3 DESC`;

/** What every count and every merge ends with: the page shows what is durable. */
export class Device {
  #db;
  #hears;
  #last = Promise.resolve();

  static async open(name, options) {
    const db = await open(`example ${name}`, options);
    await db.transaction(async (t) => {
      if ((await t.exec("SELECT 1 FROM sqlite_schema WHERE name = 'settings'")).length) return;
      await t.exec(SCHEMA);
      for (const [product, n] of Object.entries(DELIVERED)) await t.exec(DELIVER, [product, n]);
      for (const topic of TOPICS) await t.exec('INSERT INTO votes(topic) VALUES (?)', [topic]);
    });
    const device = new Device();
    device.#db = db;
    device.name = name;
    device.storage = db.storage;
    await device.#know();
    return device;
  }

  /** Calls `hears` after each change: with nothing for one of its own, or with what a merge took. */
  onChange(hears) {
    this.#hears = hears;
  }

  // A file that is a copy takes its new id with the first transaction that writes: so write, if there is room. One that an earlier
  // version of this page has made has no box office.
  async #know() {
    const ask = async (t) => (await t.exec('SELECT counter_id() AS id'))[0].id;
    try {
      this.id = await this.#db.transaction(async (t) => {
        if (!(await t.exec("SELECT 1 FROM sqlite_schema WHERE name = 'seats'")).length) await t.exec(SEATS);
        await t.exec('INSERT OR REPLACE INTO settings VALUES (?, ?)', ['name', this.name]);
        const id = await ask(t);
        await t.exec(CALL, [id, this.name]);
        return id;
      });
    } catch (error) {
      if (error.code !== FULL) throw error;
      this.id = await ask(this.#db);
    }
  }

  async #count(sql, params) {
    const rows = await this.#db.exec(sql, params);
    this.#hears?.();
    return rows;
  }

  // ---- counting ----------------------------------------------------------------------------------

  /** Sells what is there, and never more than that; false if there is none. */
  async sell(product) {
    return (await this.#count('UPDATE products SET stock = stock - 1 WHERE name = ? AND stock >= 1 RETURNING stock', [product])).length > 0;
  }

  deliver(product, n) {
    return this.#count('INSERT INTO products VALUES (?, ?) ON CONFLICT DO UPDATE SET stock = stock + excluded.stock', [product, n]);
  }

  dropProduct(product) {
    return this.#count('DELETE FROM products WHERE name = ?', [product]);
  }

  vote(topic, column, n = 1) {
    return this.#count(`INSERT INTO votes(topic, ${column === 'up' ? 'up' : 'down'}) VALUES (?, ?)`, [topic, n]);
  }

  /** n increments, one by one, in one transaction. */
  voteOften(topic, n) {
    return this.#count(`WITH RECURSIVE each(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM each WHERE i < ?2)
      INSERT INTO votes(topic, up) SELECT ?1, 1 FROM each`, [topic, n]);
  }

  addTopic(topic) {
    return this.#count('INSERT INTO votes(topic) VALUES (?)', [topic]);
  }

  resetTopic(topic) {
    return this.#count("INSERT INTO votes(votes, topic) VALUES ('reset', ?)", [topic]);
  }

  dropTopic(topic) {
    return this.#count('DELETE FROM votes WHERE topic = ?', [topic]);
  }

  // ---- seats: each is sold once --------------------------------------------------------------------

  /** Seats that this device adds are its own, until it gives some away. */
  openSeats(hall, n) {
    return this.#count('INSERT INTO seats VALUES (?, ?)', [hall, n]);
  }

  /** Fails with a sentence if another device may sell those that are left. */
  sellSeat(hall) {
    return this.#count('INSERT INTO seats VALUES (?, -1)', [hall]);
  }

  /** Lets another device sell n seats in place of this one. */
  giveSeats(hall, n, id) {
    return this.#count("INSERT INTO seats(seats, hall, free) VALUES ('grant ' || ?, ?, ?)", [id, hall, n]);
  }

  closeHall(hall) {
    return this.#count('DELETE FROM seats WHERE hall = ?', [hall]);
  }

  /** How many seats this device may sell, by the hall. */
  async mine() {
    const rows = await this.#db.exec("SELECT key ->> '$[0]' AS hall, rights FROM counter_rights('seats') WHERE here");
    return new Map(rows.map(({ hall, rights }) => [hall, rights]));
  }

  // ---- what is in the counters -------------------------------------------------------------------

  /** All counters, deleted ones too: table, name, column, life, value, shards of id, clock and value. */
  async counters() {
    return (await this.#db.exec(COUNTERS)).map(({ cell, ...counter }) => ({ shards: [], ...counter, ...JSON.parse(cell ?? '{"life":1,"value":0}') }));
  }

  /** Names of devices by their ids. */
  async names() {
    const rows = await this.#db.exec('SELECT id, name FROM devices');
    return new Map([[WAREHOUSE, 'Warehouse'], ...rows.map(({ id, name }) => [id, name])]);
  }

  /** The ids that this file has had, the newest first. */
  ids() {
    return this.#db.exec('SELECT id, state, since, why FROM counter_identity ORDER BY since DESC');
  }

  // ---- between devices ---------------------------------------------------------------------------

  changes(since) {
    return this.#db.changes(since);
  }

  mark(source) {
    return this.#db.mark(source);
  }

  /** How many rows have changed after a mark. */
  async waiting(since) {
    return (await this.#db.exec('SELECT count(*) AS n FROM (SELECT DISTINCT table_name, key FROM counter_changes(?))', [since]))[0].n;
  }

  /** Merges a batch; what it has changed, as pairs of a counter before and after. One after the other. */
  take(batch, from) {
    const taken = this.#last.then(() => this.#take(batch, from));
    this.#last = taken.catch(() => {});
    return taken;
  }

  async #take(batch, { source, by }) {
    const before = new Map((await this.counters()).map((one) => [keyOf(one), one]));
    await this.#db.apply(batch);
    const changed = [];
    for (const after of await this.counters()) {
      const old = before.get(keyOf(after)) ?? { ...after, life: 0, value: 0, shards: [] };
      const shards = after.shards.filter(({ id, clock }) => id !== this.id && (old.life !== after.life || clock > (shardOf(old, id)?.clock ?? 0)));
      if (old.life !== after.life || shards.length) changed.push({ before: old, after, shards });
    }
    if (changed.length) this.#hears?.({ source, by, changed });
    return changed;
  }

  // ---- the file ----------------------------------------------------------------------------------

  async setting(name) {
    return (await this.#db.exec('SELECT value FROM settings WHERE name = ?', [name]))[0]?.value;
  }

  set(name, value) {
    return this.#db.exec('INSERT INTO settings VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value', [name, value]);
  }

  save() {
    return this.#db.export();
  }

  /** Takes the place of the file. A file without a shop and a voting board is refused. */
  async restore(bytes) {
    const probe = await open('probe', { storage: 'memory' });
    try {
      await probe.import(bytes);
      if ((await probe.exec("SELECT 1 FROM sqlite_schema WHERE name IN ('products', 'votes', 'devices', 'settings')")).length < 4) {
        throw new Error('This database has no shop and no voting board.');
      }
    } finally {
      await probe.close();
    }
    await this.#db.import(bytes);
    await this.#know();
    this.#hears?.();
  }

  close() {
    return this.#db.close();
  }
}

export const keyOf = ({ table, name, column }) => JSON.stringify([table, name, column]);
export const shardOf = ({ shards }, id) => shards.find((shard) => shard.id === id);
