#!/bin/sh
# hub.sh - carries counters between SQLite files and a hub in PostgreSQL (sql/hub/postgresql.sql).
#
#     sql/examples/hub.sh up FILE      what is new in FILE since its last upload, to the hub
#     sql/examples/hub.sh down FILE    what is new in the hub since FILE's last download, to FILE
#
# up prints the rows sent and those that were news to the hub; down the rows received, and the mark to go on from.
# psql finds the hub by its usual variables: PGHOST, PGDATABASE, PGUSER, PGSERVICE and so on. Needs build/counter.so,
# sqlite3 and psql. Ends with another status than 0, and nothing changed, if anything fails. It may be repeated then, and
# where nobody knows how it ended.

set -e
root=$(cd "$(dirname "$0")/../.." && pwd)
export PGCLIENTENCODING=UTF8

shell() {
    sqlite3 -batch -bail -init /dev/null -cmd '.timeout 10000' -cmd ".load '$root/build/counter'" "$@"
}

hub() { psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 "$@"; }

# One row for each shard; the marks of the feed come along in each, so that the hub can keep them.
up() {
    source=$(shell -list "$1" 'SELECT source FROM counter_changes(0) LIMIT 1')
    [ -n "$source" ] || return 0
    since=$(echo "SELECT counter_hub.mark(:'source')" | hub --set=source="$source")
    shell "$1" >"$folder/rows.csv" <<SQL
.mode csv
.separator , "\n"
SELECT f.table_name, '\x' || hex(f.key),
       CASE WHEN instr(counter_key_json(f.key), '\u0000') = 0 THEN counter_key_json(f.key) END,
       f.column_name, f.generation, json_extract(counter_json(f.cell), '\$.life'), s.id, s.clock, s.value,
       f.source, $since, f.upto
  FROM counter_changes($since) AS f LEFT JOIN counter_shards(f.cell) AS s;
SQL
    hub --single-transaction \
        --command='COPY counter_hub.incoming FROM STDIN (FORMAT csv)' \
        --command='SELECT rows_read, rows_changed FROM counter_hub.merge()' <"$folder/rows.csv"
}

# The hub writes one INSERT for each row; texts are quoted as SQLite wants them. Rows of tables that FILE does not have
# are left out: once it has such a table, its mark is 0 and everything comes again.
down() {
    id=$(hub --command='SELECT id FROM counter_hub.hub')
    since=$(shell -list "$1" "SELECT counter_mark('$id')")
    hub --set=since="$since" >"$folder/rows.sql" <<'SQL'
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT format('INSERT INTO upto VALUES (%s);', number + 1) FROM counter_hub.hub;
SELECT format('INSERT INTO down VALUES (%s, X''%s'', %s, %s, %s, %s, %s, %s, %s);',
              '''' || replace(table_name, '''', '''''') || '''', encode(key, 'hex'),
              coalesce('''' || replace(column_name, '''', '''''') || '''', 'NULL'), generation,
              coalesce(life::text, 'NULL'), coalesce('''' || id || '''', 'NULL'),
              coalesce(clock::text, 'NULL'), coalesce(value::text, 'NULL'), changed)
  FROM counter_hub.changes(:since);
COMMIT;
SQL
    shell -list "$1" <<SQL
BEGIN IMMEDIATE;
CREATE TEMP TABLE upto(number INTEGER);
CREATE TEMP TABLE down(table_name TEXT COLLATE NOCASE, key BLOB, column_name TEXT, generation INTEGER,
  life INTEGER, id TEXT, clock INTEGER, value INTEGER, seq INTEGER);
.read '$folder/rows.sql'
DELETE FROM down WHERE table_name NOT IN (SELECT birth FROM counter_tables);
INSERT INTO counter_changes(table_name, key, generation, seq, source)
  SELECT table_name, key, generation, seq, '$id' FROM down WHERE column_name IS NULL;
INSERT INTO counter_changes(table_name, key, column_name, generation, cell, seq, source)
  SELECT table_name, key, column_name, generation, counter_collect(id, clock, value, life), max(seq), '$id'
    FROM down WHERE column_name IS NOT NULL
   GROUP BY table_name COLLATE BINARY, key, column_name, generation;
SELECT count(*), counter_seen('$id', $since, (SELECT number FROM upto)) FROM down;
COMMIT;
SQL
}

case $#$1 in
2up | 2down) ;;
*)
    sed -n '3,4s/^# *//p' "$0" >&2
    exit 2
    ;;
esac
if [ ! -f "$2" ]; then
    echo "$2: no such file" >&2
    exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$2"
