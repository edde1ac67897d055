-- cassandra.sql - counters of Cassandra and ScyllaDB become counters here. Run it from the root of
-- the project:
--
--     sqlite3 main.db < examples/cassandra.sql
--
-- The rows below stand for what you have exported. Everything may be run again: the same rows
-- change nothing.

.load build/counter
CREATE VIRTUAL TABLE IF NOT EXISTS page_views USING counter(path TEXT PRIMARY KEY, hits COUNTER);

-- The generation of the counter: 1, unless it was added or dropped.
CREATE TEMP TABLE hits AS
SELECT coalesce(max(s.value), 1) AS generation FROM counter_state AS s, counter_tables AS t
 WHERE t.name = 'page_views' AND s.tab = t.number AND s.kind = 'counter' AND s.name = 'hits';

-- 1. Shards. The parents' tools (sstabledump, scylla sstable dump-data) show for each cell the
-- counter id, the logical clock and the value of each shard, as text. counter_collect makes a cell
-- of them; a shard that stands there twice, for it comes from two nodes, follows the merge rule.
CREATE TEMP TABLE dump(path TEXT, counter_id TEXT, clock TEXT, value TEXT);
INSERT INTO dump VALUES
  ('/',        '59b82720-99b0-4033-885c-e94d62106a35', '1528799884268000', '30'),
  ('/',        'e079a6fe-eb79-4bdf-97ca-c87a2c387d5c', '7', '12'),
  ('/',        'e079a6fe-eb79-4bdf-97ca-c87a2c387d5c', '6', '11'),
  ('/contact', 'e079a6fe-eb79-4bdf-97ca-c87a2c387d5c', '1', '-2');

INSERT INTO counter_changes(table_name, key, change, seq, source)
SELECT 'page_views', counter_key(path), counter_change_of(
         '{"tells":"row","columns":[{"name":"hits","kind":"counter","generation":' || generation || ',"cell":' ||
         counter_json(counter_collect(counter_id, CAST(clock AS INTEGER), CAST(value AS INTEGER))) || '}]}'),
       1, max(counter_id)
  FROM dump, hits
 GROUP BY path;

SELECT 'after the shards', path, hits FROM page_views;

-- 2. Contexts, the bytes of a cell as Cassandra keeps them: counter_from_cassandra(context, ...)
-- merges the versions of several nodes or SSTables.
SELECT 'a context', counter_value(counter_from_cassandra(
  x'0001800059b8272099b04033885ce94d62106a3500056e6f7608d1e00000000000000003'));

-- 3. Totals alone, all that COPY ... TO gives. They become the shard of one made-up replica, here
-- cassandra:export; its id is what `uuidgen --md5 --namespace @dns --name cassandra:export` prints.
-- The clock is the time of the export in seconds: the same export again is the same shard, and a
-- later one takes the place of the earlier.
CREATE TEMP TABLE export(taken TEXT, path TEXT, total INTEGER);
INSERT INTO export VALUES ('2026-11-01 12:00:00', '/about', 1000), ('2026-11-02 12:00:00', '/about', 1005);

INSERT INTO counter_changes(table_name, key, change, seq, source)
SELECT 'page_views', counter_key(path), counter_change_of(
         '{"tells":"row","columns":[{"name":"hits","kind":"counter","generation":' || generation || ',"cell":' ||
         counter_json(counter_collect(
           '776b33c8-fdc4-3199-b06b-1fc19c5bcc63', CAST(strftime('%s', taken) AS INTEGER), total)) || '}]}'),
       1, '776b33c8-fdc4-3199-b06b-1fc19c5bcc63'
  FROM export, hits
 GROUP BY path;

SELECT 'after the totals', path, hits FROM page_views;
