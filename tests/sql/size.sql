-- counter_size, counter_ids: how large a table is, and who has written in it.

-- # rows-cells-and-shards-are-counted
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
SELECT * FROM counter_size('v');
--= 0|0|0|0|0|0.0|0|0|0
INSERT INTO v VALUES('x', 1, NULL), ('y', 1, 1), ('z', 1, 1);
DELETE FROM v WHERE k = 'z';
SELECT rows, live, deleted, cells, shards_mean, shards_p99, shards_max, ids FROM counter_size('v');
--= 3|2|1|5|1.0|1|1|1
SELECT bytes = (SELECT sum(length(k) + coalesce(length(a), 0) + coalesce(length(b), 0)) FROM v_cells) FROM counter_size('v');
--= 1
SELECT id = counter_id(), cells FROM counter_ids('v');
--= 1|3
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO phone.v VALUES('x', 1, NULL);
SELECT rows_changed FROM counter_pull('phone');
--= 1
SELECT rows, live, deleted, cells, round(shards_mean, 2), shards_p99, shards_max, ids FROM counter_size('v');
--= 3|2|1|5|1.33|2|2|2
SELECT id = counter_id(), cells FROM counter_ids('v');
--= 1|3
--= 0|1
SELECT rows, ids FROM counter_size('v', 'phone');
--= 1|1
INSERT INTO v(v, k) VALUES('reset', 'y');
SELECT live, round(shards_mean, 2), shards_max FROM counter_size('v');
--= 2|0.67|2
SELECT * FROM counter_size('w');
--! counter_size: main has no counter table 'w'
SELECT * FROM counter_ids('v', 'nowhere');
--!~ counter_ids: *nowhere*
SELECT * FROM counter_size();
--! counter_size: the name of a counter table is needed
UPDATE v_cells SET a = x'00' WHERE k = 'x';
SELECT * FROM counter_size('v');
--!~ counter_size: column a of ('x'): the cell *

-- # a-row-is-deleted-when-all-its-counters-are
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);
INSERT INTO v VALUES('x', 1, 1);
INSERT INTO v(v, k) VALUES('delete a', 'x');
SELECT rows, live, deleted, "table", "schema" FROM counter_size('v');
--= 1|1|0|v|NULL
INSERT INTO v(v, k) VALUES('delete b', 'x');
SELECT rows, live, deleted, "table", "schema" FROM counter_size('v', 'main');
--= 1|0|1|v|main

-- # ids-with-as-many-cells-are-in-the-order-of-their-bytes
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
ATTACH 'phone.db' AS phone;
CREATE VIRTUAL TABLE phone.v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO phone.v VALUES('x', 1), ('y', 1), ('z', 1);
UPDATE phone.v_cells SET n = counter_inc(n, 1, 'ffffffff-0000-4000-8000-000000000001');
UPDATE phone.v_cells SET n = counter_inc(n, 1, '00000000-0000-4000-8000-000000000002') WHERE k = 'y';
UPDATE phone.v_cells SET n = counter_inc(n, 1, '00000000-0000-4000-8000-000000000001') WHERE k = 'z';
UPDATE phone.v_cells SET n = counter_inc(n, 1, '00000000-0000-4000-8000-000000000003') WHERE k <> 'x';
SELECT CASE id WHEN counter_id('phone') THEN 'random' ELSE id END, cells FROM counter_ids('v', 'phone') WHERE cells < 3;
--= 00000000-0000-4000-8000-000000000003|2
--= 00000000-0000-4000-8000-000000000001|1
--= 00000000-0000-4000-8000-000000000002|1
SELECT cells FROM counter_ids('v', 'phone') LIMIT 2;
--= 3
--= 3

-- # keys-are-as-long-as-their-bytes-and-numbers-eight
CREATE VIRTUAL TABLE v USING counter(i INTEGER, r REAL, t TEXT, b BLOB, n COUNTER, PRIMARY KEY(i, r, t, b));
INSERT INTO v VALUES(1, 1.5, 'xy', x'616263', 1);
SELECT rows, bytes - (SELECT length(n) FROM v_cells) FROM counter_size('v');
--= 1|21

-- # bytes-are-those-of-complete-cells
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('x', 1);
SELECT length(counter_fork());
--= 36
INSERT INTO v VALUES('x', 1);
CREATE TEMP TABLE was AS SELECT bytes FROM counter_size('v');
INSERT INTO v(v) VALUES('optimize');
SELECT was.bytes - now.bytes, now.bytes - (SELECT length(k) + length(n) FROM v_cells) FROM was, counter_size('v') AS now;
--= 0|0

-- # a-tracked-table-is-asked-for-by-its-own-name
CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);
INSERT INTO products VALUES ('tea', 10);
SELECT counter_track('products', 'stock');
--= 1
SELECT counter_table_digest('products') = counter_table_digest('products_counters');
--= 1
SELECT rows, cells FROM counter_size('products');
--= 1|1
SELECT key, column_name FROM counter_cells('products', 'main');
--= ["tea"]|stock
SELECT count(*) FROM counter_ids('Products');
--= 1
SELECT table_name FROM counter_purge('products');
--= products_counters
CREATE TABLE other(k);
SELECT * FROM counter_size('other');
--! counter_size: main has no counter table 'other'
