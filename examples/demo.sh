#!/bin/sh
# demo.sh - three servers count web requests, each in its own file, and then agree.
#
#     examples/demo.sh                     the demonstration; needs build/counter.so and sqlite3
#     examples/demo.sh agree FILE FILE…    only says whether files agree on page_views
#
# Ends with 1 if a statement fails or the files disagree.

set -e
root=$(cd "$(dirname "$0")/.." && pwd)

. "$root/examples/session.sh"

# Every value that a user sees, and a digest of every cell, deleted ones too.
state() {
    shell -list "$1" "
        SELECT path, hits FROM page_views ORDER BY path;
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

say '1. THREE FILES with the same table. Each takes a random id of its own when it first counts.'
for city in paris tokyo lima; do
    on $city <<'SQL'
CREATE VIRTUAL TABLE page_views USING counter(path TEXT PRIMARY KEY, hits COUNTER);
SQL
done

say '2. COUNTING APART, with no connection between them. INSERT adds, and UPDATE may.'
on paris <<'SQL'
INSERT INTO page_views VALUES ('/', 1), ('/', 1), ('/blog', 1);
UPDATE page_views SET hits = hits + 1 WHERE path = '/';
SQL
on tokyo <<'SQL'
INSERT INTO page_views VALUES ('/', 10), ('/blog', 5);
SQL
on lima <<'SQL'
INSERT INTO page_views VALUES ('/', 100), ('/contact', 7);
SQL

say '3. MERGING, in any order and any number of times. Paris pulls from Lima twice: the second pull' \
    '   changes nothing.'
on tokyo <<'SQL'
SELECT * FROM counter_sync('paris.db');
SQL
on paris <<'SQL'
SELECT * FROM counter_pull('lima.db');
SELECT * FROM counter_pull('lima.db');
SQL
on lima <<'SQL'
SELECT * FROM counter_sync('tokyo.db');
SELECT * FROM page_views ORDER BY path;
SQL
on tokyo <<'SQL'
SELECT * FROM page_views ORDER BY path;
SQL

say '   Why it adds up: a counter is a set of shards, one for each file that has counted. Only its' \
    '   owner changes a shard, and a merge takes the one with the higher clock. The hits of "/":'
on paris <<'SQL'
SELECT s.* FROM counter_cells('page_views') AS c, counter_shards(c.cell) AS s WHERE key = '["/"]';
SQL

agree paris.db tokyo.db lima.db
say '   Values and digests of all cells compared: all three agree.'

say '4. APART AGAIN. Paris deletes a page while Tokyo still counts it; Lima sets "/" back to 0.'
on paris <<'SQL'
DELETE FROM page_views WHERE path = '/blog';
SQL
on tokyo <<'SQL'
UPDATE page_views SET hits = hits + 3 WHERE path IN ('/blog', '/contact');
SQL
on lima <<'SQL'
INSERT INTO page_views(page_views, path) VALUES ('reset', '/');
UPDATE page_views SET hits = hits + 2 WHERE path = '/';
SELECT * FROM counter_sync('paris.db');
SELECT * FROM counter_sync('tokyo.db');
SQL
on paris <<'SQL'
SELECT * FROM counter_pull('lima.db');
SELECT * FROM page_views ORDER BY path;
SQL

agree paris.db tokyo.db lima.db
say '   The delete and the reset beat what was counted before they arrived; nothing else is lost.' \
    '   Values and digests of all cells compared: all three agree.'
