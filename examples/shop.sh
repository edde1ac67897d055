#!/bin/sh
# shop.sh - a shop with two tills and an office, each with a file of its own: products and sales.
#
#     examples/shop.sh       the demonstration; needs build/counter.so and sqlite3
#
# Ends with 1 if a statement fails, or if the files disagree or have not what was counted and written.

set -e
root=$(cd "$(dirname "$0")/.." && pwd)

. "$root/examples/session.sh"

begin

say '1. AN ORDINARY SHOP. Nothing in its schema knows of counters; then its tables are replicated, and the' \
    '   stock is a counter.'

on office <<'SQL'
CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT NOT NULL, price REAL NOT NULL, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE sales(id TEXT PRIMARY KEY, sku TEXT NOT NULL REFERENCES products, pieces INTEGER NOT NULL);
CREATE INDEX products_stock ON products(stock);
INSERT INTO products VALUES ('tea', 'Tea', 4.5, 20), ('coffee', 'Coffee', 7.0, 10), ('mug', 'Mug', 12.0, 3);
SELECT counter_replicate('products', 'stock') AS products, counter_replicate('sales') AS sales;
SQL

say '2. TWO TILLS get a copy of the file. Each copy takes an identity of its own with its first change.'

cp office.db till1.db
cp office.db till2.db

say '3. OFFLINE. The tills sell what they have, and never more than they have. The office takes a delivery,' \
    '   counts the mugs on the shelf, changes a price, and has a new product.'

on till1 <<'SQL'
UPDATE products SET stock = stock - 2 WHERE sku = 'tea' AND stock >= 2;
INSERT INTO sales VALUES ('till1-1', 'tea', 2);
UPDATE products SET stock = stock - 1 WHERE sku = 'mug' AND stock >= 1;
INSERT INTO sales VALUES ('till1-2', 'mug', 1);
SQL
on till2 <<'SQL'
UPDATE products SET stock = stock - 5 WHERE sku = 'tea' AND stock >= 5;
INSERT INTO sales VALUES ('till2-1', 'tea', 5);
UPDATE products SET stock = stock - 100 WHERE sku = 'coffee' AND stock >= 100;
SELECT changes() AS too_many_coffees_sold;
SQL
on office <<'SQL'
UPDATE products SET stock = stock + 30 WHERE sku = 'coffee';
UPDATE products SET stock = 2 WHERE sku = 'mug';
UPDATE products SET price = 4.8 WHERE sku = 'tea';
INSERT INTO products VALUES ('honey', 'Honey', 6.0, 12);
SQL

say '4. MERGING. The stock is what all have counted; the new product, the price and the sales arrive whole.'

on till1 <<'SQL'
SELECT table_name, rows_changed FROM counter_sync('office.db');
SELECT * FROM products ORDER BY sku;
SQL
on till2 <<'SQL'
SELECT table_name, rows_changed FROM counter_sync('office.db');
UPDATE products SET stock = stock - 1 WHERE sku = 'honey' AND stock >= 1;
INSERT INTO sales VALUES ('till2-2', 'honey', 1);
SELECT table_name, rows_changed FROM counter_sync('office.db');
SQL
on till1 <<'SQL'
SELECT table_name, rows_changed FROM counter_pull('office.db');
SQL
on office <<'SQL'
SELECT * FROM products ORDER BY sku;
SELECT * FROM sales ORDER BY id;
SQL

# The stock: 20 - 2 - 5, 10 + 30, 3 - 1 and one that the shelf lacked, 12 - 1.
wanted='coffee|Coffee|7.0|40
honey|Honey|6.0|11
mug|Mug|12.0|1
tea|Tea|4.8|13
till1-1|tea|2
till1-2|mug|1
till2-1|tea|5
till2-2|honey|1'
for file in office till1 till2; do
    found=$(shell -list "$file.db" 'SELECT * FROM products ORDER BY sku; SELECT * FROM sales ORDER BY id')
    apart=$(shell -list "$file.db" "SELECT * FROM counter_tracked WHERE state IN ('waits', 'differs')")
    if [ "$found" != "$wanted" ] || [ -n "$apart" ]; then
        say "$file disagrees:" "$found" "$apart"
        exit 1
    fi
done
say '   All rows of all three files compared: all agree.'
