#!/bin/sh
# json.sh - the same as changes.sh for a transport that speaks JSON, such as HTTP.
#
#     examples/json.sh export FROM.db [MARK]     prints the changes of FROM.db since
#     examples/json.sh import TO.db BATCH.json   takes them in, all or nothing; prints the mark
#
# A batch is {"format":1,"source":…,"since":0,"upto":9,"changes":[{"table":…},…]}, or several of them,
# each on a line of its own, as sqlite-counter export prints them; blank lines mean nothing. A batch
# without "format" is of format 1, and one of another format is refused.
#
# A change of the counter hits of a row, the floors of a table, a counter that was added or dropped,
# an answer about opening values and a row of a replicated table, both in the bytes of
# counter_changes:
#
#     {"table":"page_views","key_columns":"path TEXT BINARY, hour INTEGER BINARY","key":["/",12],
#      "packed":"D103012F0118","column":"hits","generation":1,
#      "cell":{"life":1,"value":5,"shards":[{"id":"…","clock":2,"value":5}]},"seq":7}
#     {"table":"page_views","key_columns":…,"key":[null,12],
#      "packed":"D1000118","column":null,"generation":0,"cell":null,"seq":8}
#     {"table":"page_views","key_columns":…,"key":null,
#      "packed":"","column":"errors","generation":2,"cell":null,"seq":0}
#     {"table":"products","key_columns":…,"key":null,
#      "packed":"","column":null,"generation":0,"cell":"B101…","seq":9}
#     {"table":"products","key_columns":…,"key":["jam"],
#      "packed":"D103036A616D","column":"","generation":0,"cell":"A101…","seq":10}
#
# "key" is there to be read. What is taken in is "packed", the same in the bytes of counter_key():
# JSON cannot tell all keys apart. "key_columns" is compared with the table in TO.db. An export
# without news prints nothing, and an empty batch is taken for that. Needs build/counter.so
# and sqlite3.

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

export_changes() {
    need_tables "$1"
    shell -list "$1" <<SQL
SELECT json_object('format', 1, 'source', source, 'since', since, 'upto', upto, 'changes', json_group_array(json_object(
         'table', table_name, 'key_columns', key_columns,
         'key', json(CASE WHEN length(key) > 0 THEN counter_key_json(key) END), 'packed', hex(key),
         'column', column_name, 'generation', generation,
         'cell', json(CASE WHEN coalesce(column_name, '') = '' THEN json_quote(nullif(hex(cell), '')) ELSE counter_json(cell) END),
         'seq', seq)))
  FROM counter_changes($2)
 GROUP BY source;
SQL
}

# The batch becomes one INSERT for each change, since only a literal makes a BLOB of hexadecimal
# digits: of a key, or of an answer. A cell is collected from its shards; the row without an id brings
# its life, which is all that a deleted one has.
import_changes() {
    [ -f "$2" ] || fail "$2: no such file"
    [ -s "$2" ] || return 0
    LC_ALL=C sed '/^[[:space:]]*$/d' "$2" >"$folder/batch.json"
    shell -list "$1" <<SQL
CREATE TEMP TABLE file(list TEXT CONSTRAINT "batches are JSON, each on a line of its own" CHECK (json_valid(list)));
INSERT INTO file
SELECT CASE WHEN json_valid(text) THEN '[' || text || ']'
            ELSE '[' || replace(rtrim(text, char(10)), char(10), ',') || ']' END
  FROM (SELECT CAST(readfile('$folder/batch.json') AS TEXT) AS text);
CREATE TEMP TABLE batch(json TEXT, format INTEGER CONSTRAINT "a batch must be of format 1" CHECK (format = 1));
INSERT INTO batch SELECT value, coalesce(json_extract(value, '\$.format'), 1) FROM file, json_each(list);
CREATE TEMP TABLE change AS
SELECT json_extract(value, '\$.packed') AS packed, json_extract(value, '\$.column') AS "column",
       json_extract(value, '\$.generation') AS generation, json_extract(value, '\$.cell.life') AS life,
       json_extract(value, '\$.cell.shards') AS shards,
       CASE json_type(value, '\$.cell') WHEN 'text' THEN json_extract(value, '\$.cell') END AS answer,
       json_extract(value, '\$.table') AS "table", json_extract(value, '\$.seq') AS seq,
       json_extract(value, '\$.key_columns') AS key_columns, json_extract(batch.json, '\$.source') AS source
  FROM batch, json_each(batch.json, '\$.changes');
.output '$folder/rows.sql'
SELECT 'INSERT INTO counter_changes(table_name, key, column_name, generation, cell, seq, source, key_columns) VALUES('
       || quote("table") || ', '
       || CASE WHEN packed NOT GLOB '*[^0-9A-Fa-f]*' THEN 'X''' || packed || '''' ELSE 'NULL' END || ', '
       || quote("column") || ', ' || quote(generation) || ', '
       || CASE WHEN answer NOT GLOB '*[^0-9A-Fa-f]*' THEN 'X''' || answer || '''' WHEN answer IS NOT NULL THEN quote(answer)
          ELSE quote((SELECT counter_collect(id, clock, value, life)
                   FROM (SELECT json_extract(value, '\$.id') AS id, json_extract(value, '\$.clock') AS clock,
                                json_extract(value, '\$.value') AS value
                           FROM json_each(shards)
                         UNION ALL SELECT NULL, NULL, NULL)
                  WHERE life IS NOT NULL)) END || ', '
       || quote(seq) || ', ' || quote(source) || ', ' || quote(key_columns) || ');'
  FROM change;
.output
BEGIN IMMEDIATE;
.read '$folder/rows.sql'
SELECT counter_seen(json_extract(json, '\$.source'), json_extract(json, '\$.since'), json_extract(json, '\$.upto'))
  FROM batch;
COMMIT;
SQL
}

case $1$# in
export2 | export3 | import3) ;;
*)
    sed -n '4,5s/^# *//p' "$0" >&2
    exit 2
    ;;
esac
[ -f "$2" ] || fail "$2: no such file"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
case $1 in
export)
    need_number "${3-0}"
    export_changes "$2" "${3-0}"
    ;;
import) import_changes "$2" "$3" ;;
esac
