#!/bin/sh
# demo.sh - three servers count web requests, each in its own file, and then agree.
#
#     sql/examples/demo.sh                     the demonstration; needs build/counter.so and sqlite3
#     sql/examples/demo.sh agree FILE FILE…    only says whether files agree on page_views
#
# Ends with 1 if a statement fails or the files disagree.

set -e
root=$(cd "$(dirname "$0")/../.." && pwd)

. "$root/sql/examples/session.sh"

# Every value that a user sees, and a digest of every cell, deleted ones too.
state() {
    shell -list "$1" "
        SELECT path, hits, bytes FROM page_views ORDER BY path;
        SELECT key, column_name, counter_digest(cell) FROM counter_cells('page_views') ORDER BY key, column_name;"
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

say '1. THREE FILES. Each gets an identity of its own and the same table of counters.'

for city in paris tokyo lima; do
    on $city <<SQL
SELECT counter_init('edge:$city') AS replica_id;
CREATE VIRTUAL TABLE page_views USING counter(path TEXT PRIMARY KEY, hits COUNTER, bytes COUNTER);
SQL
done

say '2. COUNTING, with no connection between them. INSERT adds; so does UPDATE … SET hits = hits + 1.' \
    '   Paris and Tokyo count the same pages; Lima has a page of its own.'

on paris <<'SQL'
INSERT INTO page_views VALUES ('/', 1, 5120), ('/', 1, 5120), ('/blog', 1, 900);
UPDATE page_views SET hits = hits + 1, bytes = bytes + 5120 WHERE path = '/';
SELECT * FROM page_views ORDER BY path;
SQL
on tokyo <<'SQL'
INSERT INTO page_views VALUES ('/', 10, 51200), ('/blog', 5, 4500);
SELECT * FROM page_views ORDER BY path;
SQL
on lima <<'SQL'
INSERT INTO page_views VALUES ('/', 100, 512000), ('/contact', 7, 700);
SELECT * FROM page_views ORDER BY path;
SQL

say '3. MERGING, everyone in another order. Tokyo brings the news of Paris to Lima.' \
    '   Paris pulls from Lima twice, the second time nothing changes.'

on tokyo <<'SQL'
SELECT * FROM counter_pull('paris.db');
SELECT * FROM counter_pull('lima.db');
SQL
on paris <<'SQL'
SELECT * FROM counter_pull('lima.db');
SELECT * FROM counter_pull('lima.db');
SELECT * FROM counter_pull('tokyo.db');
SQL
on lima <<'SQL'
ATTACH 'tokyo.db' AS tokyo; SELECT * FROM counter_sync('tokyo');
SQL

for city in paris tokyo lima; do
    on $city <<'SQL'
SELECT * FROM page_views ORDER BY path;
SQL
done

say '   Why it adds up: a counter is a set of shards, one for each replica that has counted, and only' \
    '   its owner ever changes a shard. A merge takes the later version of each. The hits of "/", as' \
    '   Lima has them:'

on lima <<'SQL'
SELECT s.* FROM counter_cells('page_views') AS c, counter_shards(c.cell) AS s WHERE key = '["/"]' AND column_name = 'hits';
SELECT key, counter_value(cell), counter_digest(cell) FROM counter_cells('page_views') WHERE key = '["/"]' AND column_name = 'hits';
SQL

agree paris.db tokyo.db lima.db
say '   Values and digests of all cells compared: all three agree.'

say '4. APART AGAIN. Paris deletes a page while Tokyo still counts it; Lima starts "/" again from 0.'

on paris <<'SQL'
DELETE FROM page_views WHERE path = '/blog';
UPDATE page_views SET hits = hits + 1, bytes = bytes + 100 WHERE path = '/contact';
SQL
on tokyo <<'SQL'
UPDATE page_views SET hits = hits + 3 WHERE path IN ('/blog', '/contact');
SQL
on lima <<'SQL'
INSERT INTO page_views(page_views, path) VALUES ('reset', '/');
UPDATE page_views SET hits = hits + 2, bytes = bytes + 10240 WHERE path = '/';
SQL

say '   After the merge the page is gone, for a delete beats what was counted before it arrived; "/" goes' \
    '   on from where Lima began again; both additions to "/contact" are there.'

on tokyo <<'SQL'
SELECT * FROM counter_pull('lima.db');
SELECT * FROM counter_pull('paris.db');
SQL
on lima <<'SQL'
SELECT * FROM counter_pull('tokyo.db');
SQL
on paris <<'SQL'
SELECT * FROM counter_pull('lima.db');
SELECT * FROM page_views ORDER BY path;
SQL

agree paris.db tokyo.db lima.db
say '   Values and digests of all cells compared: all three agree.'
