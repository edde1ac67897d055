#!/bin/sh
# changes.sh - carries counters from file to file by a batch of changes: on a stick, by mail,
# through a queue.
#
#     examples/changes.sh mark TO.db SOURCE          from where TO.db wants them; 0: all
#     examples/changes.sh export FROM.db [MARK]      the changes of FROM.db since, as SQL
#     examples/changes.sh import TO.db < BATCH.sql   takes them in, whole or not at all
#
# SOURCE is what FROM.db calls itself: SELECT counter_source(). That is its
# counter_id(), with a / and a number behind it once the file has taken over a name or has stopped
# counting. A batch may come twice, late, or after a newer one. Both files have the same counter
# tables; one that has another key here is refused. A batch is SQL and is run as it is: take only
# those of people whom you trust. Needs build/counter.so and sqlite3.

set -e
root=$(cd "$(dirname "$0")/.." && pwd)

shell() { sqlite3 -batch -bail -init /dev/null -cmd '.timeout 10000' -cmd ".load '$root/build/counter'" "$@"; }

fail() {
    echo "$1" >&2
    exit 1
}

# MARK comes from another machine, and becomes a part of a statement.
need_number() {
    case $1 in
    '' | *[!0-9]*) fail "MARK is a whole number, not '$1'" ;;
    esac
}

need_tables() {
    has=$(shell -list "$1" "SELECT count(*) FROM sqlite_master WHERE name = 'counter_tables'")
    [ "$has" = 1 ] || fail "$1: no counter tables"
}

# `upto` is of the same snapshot as the rows, so both are read at once, before anything is printed.
export_changes() {
    need_tables "$1"
    shell "$1" <<SQL
CREATE TEMP TABLE batch AS SELECT *, upto, key_columns FROM counter_changes($2);
.print BEGIN IMMEDIATE;
.headers on
.mode insert counter_changes
SELECT table_name, key, column_name, generation, cell, seq, source, key_columns FROM batch;
.headers off
.mode list
SELECT 'SELECT counter_seen(''' || source || ''', $2, ' || upto || ');' FROM batch LIMIT 1;
.print COMMIT;
SQL
}

# A batch that was cut short would be rolled back, and nobody told.
import_changes() {
    batch=$(mktemp)
    trap 'rm -f "$batch"' EXIT
    cat >"$batch"
    [ "$(tail -n 1 "$batch")" = 'COMMIT;' ] || fail 'the batch has no end: nothing was taken in'
    shell "$1" <"$batch"
}

case $1$# in
mark3 | export2 | export3 | import2) ;;
*)
    sed -n '5,7s/^# *//p' "$0" >&2
    exit 2
    ;;
esac
[ -f "$2" ] || fail "$2: no such file"
case $1 in
mark)
    case $3 in
    *[!0-9A-Fa-f/-]*) fail "SOURCE is a replica id, not '$3'" ;;
    esac
    shell "$2" "SELECT counter_mark('$3')"
    ;;
export)
    need_number "${3-0}"
    export_changes "$2" "${3-0}"
    ;;
import) import_changes "$2" ;;
esac
