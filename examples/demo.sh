#!/bin/sh
# demo.sh - a shop on two laptops, each with a file of its own: what both change apart, one sync makes the same.
#
#     examples/demo.sh                     the demonstration; needs build/counter.so and sqlite3
#     examples/demo.sh agree FILE FILE…    only says whether files agree on products
#
# Ends with 1 if a statement fails or the files disagree.

set -e
root=$(cd "$(dirname "$0")/.." && pwd)

. "$root/examples/session.sh"

# Every value that a user sees, and a digest of all that was merged: rows, counters, deletions.
state() {
    shell -list "$1" "
        SELECT sku, name, price, stock FROM products ORDER BY sku;
        SELECT counter_table_digest('products_counters');"
}

agree() {
    first=$(state "$1")
    for file; do
        other=$(state "$file")
        if [ -z "$other" ] || [ "$other" != "$first" ]; then
            echo "$file disagrees with $1"
            return 1
        fi
    done
}

if [ "${1-}" = agree ]; then
    shift
    agree "$@"
    echo "all $# agree"
    exit
fi

begin

say '1. AN ORDINARY TABLE. One call makes its rows travel: stock is a counter, which adds up; in name and' \
    '   price the last write wins.'
on ann <<'SQL'
CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT NOT NULL, price REAL, stock INTEGER NOT NULL DEFAULT 0);
INSERT INTO products VALUES ('tea', 'Tea', 4.5, 10), ('mug', 'Mug', 12.0, 3), ('salt', 'Salt', 1.5, 8);
SELECT counter_replicate('products', 'stock') AS rows;
SQL

say "2. BOB GETS A COPY. A copy takes an identity of its own with its first change."
cp ann.db bob.db

say '3. APART. Ann has a new product and a new price; Bob gives a product a better name; both sell tea.'
on ann <<'SQL'
INSERT INTO products VALUES ('jam', 'Plum jam', 3.9, 12);
UPDATE products SET price = 4.8 WHERE sku = 'tea';
UPDATE products SET stock = stock - 1 WHERE sku = 'tea';
SQL
on bob <<'SQL'
UPDATE products SET name = 'Green tea' WHERE sku = 'tea';
UPDATE products SET stock = stock - 2 WHERE sku = 'tea';
SQL

say '4. ONE SYNC. The jam arrives whole, the tea has both changes, and 10 - 1 - 2 = 7.'
on ann <<'SQL'
SELECT table_name, rows_changed FROM counter_sync('bob.db');
SELECT * FROM products ORDER BY sku;
SQL
on bob <<'SQL'
SELECT * FROM products ORDER BY sku;
SQL
agree ann.db bob.db
say '   Values, and digests of all that was merged, compared: both agree.'

say '   Why the stock adds up: a counter is a set of shards, one for each file that has counted, and one for' \
    '   the 10 at the beginning. Only its owner changes a shard; a merge takes the one with the higher clock:'
on bob <<'SQL'
SELECT s.* FROM counter_cells('products_counters') AS c, counter_shards(c.cell) AS s WHERE key = '["tea"]';
SQL

say '5. APART AGAIN. Both change one price; Ann deletes the mug while Bob sells one; Bob counts the shelf.'
on ann <<'SQL'
UPDATE products SET price = 5.0 WHERE sku = 'tea';
DELETE FROM products WHERE sku = 'mug';
UPDATE products SET stock = stock - 3 WHERE sku = 'jam';
SQL
on bob <<'SQL'
UPDATE products SET price = 5.2 WHERE sku = 'tea';
UPDATE products SET stock = stock - 1 WHERE sku = 'mug';
UPDATE products SET stock = 11 WHERE sku = 'jam';
SELECT table_name, rows_changed FROM counter_sync('ann.db');
SELECT table_name, rows_changed FROM counter_sync('ann.db');
SELECT * FROM products ORDER BY sku;
SQL

agree ann.db bob.db
say '   The later price wins, a deleted row stays deleted, the number that was set counts as the difference' \
    '   of 1, and a second sync changes nothing. Values and digests compared: both agree.'
