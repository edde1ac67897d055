#!/bin/sh
# hub.sh - carries counters and rows between SQLite files and a hub in PostgreSQL (sql/hub/postgresql.sql).
#
#     examples/hub.sh up FILE      what is new in FILE since its last upload, to the hub
#     examples/hub.sh all FILE     the same, with what FILE has from others: for a hub that was restored
#     examples/hub.sh down FILE [SCOPE]
#                                  what is new in the hub since FILE's last download, to FILE; only rows
#                                  whose keys begin with the values of a scope, such as '["store 7"]'
#
# up and all print the number of changes sent, and of rows, columns, floors and answers that changed in the
# hub; down the number of changes received, and the mark to go on from. psql finds the hub by its usual
# variables: PGHOST, PGDATABASE, PGUSER, PGSERVICE and so on. Needs build/counter.so, sqlite3 and psql.
# Ends with 1, and nothing changed, if anything fails. It may be repeated then, and where nobody knows
# how it ended.

set -e
root=$(cd "$(dirname "$0")/.." && pwd)
export PGCLIENTENCODING=UTF8

shell() {
    sqlite3 -batch -bail -init /dev/null -cmd '.timeout 10000' -cmd ".load '$root/build/counter'" "$@"
}

hub() {
    psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --set=SHOW_CONTEXT=never "$@"
}

fail() {
    echo "$1" >&2
    exit 1
}

finish() {
    rc=$?
    rm -rf "$folder"
    [ $rc -eq 0 ] || exit 1
}

# Sets answer to what the hub says to a query about a source.
ask_hub() {
    answer=$(hub --set=source="$2" <<SQL
SELECT count(*) = 1 AS has FROM pg_tables WHERE schemaname = 'counter_hub' AND tablename = 'columns' \gset
\if :has
$1;
\endif
SQL
    )
    [ -n "$answer" ] || fail 'the database has no hub: run psql -v ON_ERROR_STOP=1 -f sql/hub/postgresql.sql first'
}

# One line for each change: with 1 what the hub cannot have from other files, with 0 all. The marks of
# the feed come along in each, so that the hub can keep them.
send() {
    has=$(shell -list "$1" "SELECT count(*) FROM sqlite_master WHERE name = 'counter_tables'")
    [ "$has" = 1 ] || fail "$1: no counter tables"
    source=$(shell -list "$1" "SELECT counter_source($2)")
    ask_hub "SELECT counter_hub.mark(:'source')" "$source"
    [ -n "$source" ] || return 0
    since=$answer
    shell "$1" >"$folder/changes.csv" <<SQL
.mode csv
.separator , "\n"
SELECT table_name, key_columns, '\x' || hex(key), counter_key_json(key), counter_change_json(change), source, $since, upto
  FROM counter_changes($since) WHERE own = $2;
SQL
    hub --single-transaction \
        --command='COPY counter_hub.incoming FROM STDIN (FORMAT csv)' \
        --command='SELECT rows_read, rows_changed FROM counter_hub.merge()' <"$folder/changes.csv"
}

up() {
    send "$1" 1
}

all() {
    send "$1" 0
}

# The hub writes one INSERT for each change; texts are quoted as SQLite wants them. Changes of tables
# that FILE does not have are left out: once it has such a table, its mark is 0 and everything comes
# again. Counters that FILE's table does not have are added to it, as by a pull.
down() {
    ask_hub 'SELECT id FROM counter_hub.hub' ''
    id=$answer
    scope=NULL
    [ -z "$2" ] || scope="'$(printf %s "$2" | sed "s/'/''/g")'"
    since=$(shell -list "$1" "SELECT counter_mark('$id', $scope)")
    hub --set=since="$since" --set=scope="$2" >"$folder/changes.sql" <<'SQL'
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT format('INSERT INTO upto VALUES (%s);', number + 1) FROM counter_hub.hub;
SELECT format('INSERT INTO down VALUES (''%s'', ''%s'', X''%s'', ''%s'', %s);', replace(table_name, '''', ''''''),
              replace(key_columns, '''', ''''''), encode(key, 'hex'), replace(change, '''', ''''''), changed)
  FROM counter_hub.changes(:since, nullif(:'scope', '')::jsonb);
COMMIT;
SQL
    shell -list "$1" >"$folder/received" <<SQL
BEGIN IMMEDIATE;
CREATE TEMP TABLE upto(number INTEGER);
CREATE TEMP TABLE down(table_name TEXT COLLATE NOCASE, key_columns TEXT, key BLOB, change TEXT, seq INTEGER);
.read '$folder/changes.sql'
DELETE FROM down WHERE table_name NOT IN (SELECT birth FROM counter_tables);
INSERT INTO counter_changes(table_name, key, change, seq, source, key_columns, scope)
  SELECT table_name, key, counter_change_of(change), seq, '$id', key_columns, $scope FROM down;
SELECT count(*), counter_seen('$id', $since, (SELECT number FROM upto), $scope) FROM down;
COMMIT;
SQL
    cat "$folder/received"
}

case $#$1 in
2up | 2all | 2down | 3down) ;;
*)
    sed -n '4,8s/^# *//p' "$0" >&2
    exit 2
    ;;
esac
[ -f "$2" ] || fail "$2: no such file"
folder=$(mktemp -d)
trap finish EXIT
"$1" "$2" "$3"
