#!/bin/sh
# json.sh - the same as changes.sh for a transport that speaks JSON, such as HTTP; for the table
#
#     CREATE VIRTUAL TABLE page_views USING counter(
#       path TEXT, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY (path, hour));
#
#     sql/examples/json.sh export FROM.db [MARK]        {"source":…,"since":0,"upto":9,"changes":[{"table":…},…]}
#     sql/examples/json.sh import TO.db BATCH.json      takes it in, whole or not at all; prints the mark
#
# A change: {"table":"page_views","key":["/",12],"column":"hits","cell":{"life":1,"value":5,"shards":[…]},"seq":7}, and
# {"table":"page_views","key":[null,12],"column":null,"cell":null,"seq":8} for floors. Another table differs where its key
# is made, in counter_key() and in 'purge below'.

set -e
root=$(cd "$(dirname "$0")/../.." && pwd)

shell() { sqlite3 -batch -bail -init /dev/null -cmd '.timeout 10000' -cmd ".load '$root/build/counter'" "$@"; }

export_changes() {
    shell -list "$1" <<SQL
SELECT json_object('source', source, 'since', since, 'upto', upto, 'changes', json_group_array(json_object(
         'table', table_name, 'key', json(counter_key_json(key)), 'column', column_name,
         'cell', json(counter_json(cell)), 'seq', seq)))
  FROM counter_changes($2)
 GROUP BY source;
SQL
}

# A cell is collected from its shards; the row without an id brings its life, which is all that a deleted one has.
import_changes() {
    [ -s "$2" ] || return 0 # nothing was new
    shell -list "$1" <<SQL
BEGIN IMMEDIATE;
CREATE TEMP TABLE batch AS SELECT CAST(readfile('$2') AS TEXT) AS json;
CREATE TEMP TABLE change AS SELECT value AS json, json_extract(batch.json, '\$.source') AS source
  FROM batch, json_each(batch.json, '\$.changes');
INSERT INTO page_views(page_views, path) SELECT 'purge below', json_extract(json, '\$.key[0]') FROM change
 WHERE json_extract(json, '\$.column') IS NULL AND json_extract(json, '\$.key[0]') IS NOT NULL;
INSERT INTO page_views(page_views, hour) SELECT 'purge below', json_extract(json, '\$.key[1]') FROM change
 WHERE json_extract(json, '\$.column') IS NULL AND json_extract(json, '\$.key[1]') IS NOT NULL;
INSERT INTO counter_changes(table_name, key, column_name, generation, cell, seq, source)
SELECT json_extract(json, '\$.table'),
       counter_key(json_extract(json, '\$.key[0]'), json_extract(json, '\$.key[1]')),
       json_extract(json, '\$.column'), 0,
       (SELECT counter_collect(id, clock, value, json_extract(json, '\$.cell.life'))
          FROM (SELECT json_extract(value, '\$.id') AS id, json_extract(value, '\$.clock') AS clock,
                       json_extract(value, '\$.value') AS value
                  FROM json_each(change.json, '\$.cell.shards')
                UNION ALL SELECT NULL, NULL, NULL)),
       json_extract(json, '\$.seq'), source
  FROM change WHERE json_extract(json, '\$.column') IS NOT NULL;
SELECT counter_seen(json_extract(json, '\$.source'), json_extract(json, '\$.since'), json_extract(json, '\$.upto'))
  FROM batch WHERE json <> '';
COMMIT;
SQL
}

case $1$# in
export2 | export3) export_changes "$2" "${3:-0}" ;;
import3) import_changes "$2" "$3" ;;
*)
    sed -n '7,8s/^# *//p' "$0" >&2
    exit 2
    ;;
esac
