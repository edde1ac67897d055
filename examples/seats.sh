#!/bin/sh
# seats.sh - twelve seats sold at two doors that are offline, and never a thirteenth.
#
#     examples/seats.sh      the demonstration; needs build/counter.so, build/sqlite-counter and sqlite3
#
# Ends with 1 if a statement fails that should not, if one is done that should be refused, or if the files disagree.

set -e
root=$(cd "$(dirname "$0")/.." && pwd)

. "$root/examples/session.sh"

program() {
    echo
    printf '> sqlite-counter %s\n' "$*"
    "$root/build/sqlite-counter" "$@"
}

# refused NAME SQL: shows the sentence.
refused() {
    echo
    printf '%s> %s\n' "$1" "$2"
    if shell "$1.db" "$2" > said 2>&1; then
        echo 'it was not refused'
        exit 1
    fi
    sed 's/^.*Error[^:]*: \(stepping, \)\{0,1\}/Error: /; s/^Runtime error near line [0-9]*: /Error: /' said
}

begin

say '1. THE OFFICE has twelve seats. The bound: in all files together, never below 0.'
on office <<'SQL'
CREATE TABLE seats(hall TEXT PRIMARY KEY, free INTEGER NOT NULL, sold INTEGER NOT NULL DEFAULT 0);
INSERT INTO seats VALUES ('A', 12, 0);
SELECT counter_replicate('seats', 'free', 'sold') AS rows, counter_bound('seats', 'free') AS owing;
SQL

say '2. TWO DOORS get a copy of the file, and the office grants them what they may sell.'
cp office.db east.db
cp office.db west.db
program grant office.db seats A 4 --to east.db
program grant office.db seats A 5 --to west.db
for door in east west; do "$root/build/sqlite-counter" sync office.db $door.db; done > synced

say '3. OFFLINE. The east door sells three. A group of two comes: one seat is left to this door, ten in all.'
on east <<'SQL'
UPDATE seats SET free = free - 3, sold = sold + 3 WHERE hall = 'A';
SQL
refused east "UPDATE seats SET free = free - 2, sold = sold + 2 WHERE hall = 'A'"
on west <<'SQL'
UPDATE seats SET free = free - 5, sold = sold + 5 WHERE hall = 'A';
SQL

say '4. GRANTED. The office can be reached again, and has three. A push brings the grant, as a sync would.'
program grant office.db seats A 3 --to east.db
on office <<'SQL'
SELECT table_name, rows_changed FROM counter_push('east.db');
SQL
on east <<'SQL'
UPDATE seats SET free = free - 4, sold = sold + 4 WHERE hall = 'A';
SQL

say '5. SOLD OUT, and each door knows at once that it has none, whether it can be reached or not.'
for door in east west; do refused $door "UPDATE seats SET free = free - 1, sold = sold + 1 WHERE hall = 'A'"; done
for door in east west east; do "$root/build/sqlite-counter" sync office.db $door.db; done > synced
on west <<'SQL'
SELECT * FROM seats;
SQL

for file in office east west; do
    found=$(shell -list "$file.db" "SELECT * FROM seats; SELECT sum(rights) FROM counter_rights('seats')")
    if [ "$found" != 'A|0|12
0' ]; then
        say "$file disagrees:" "$found"
        exit 1
    fi
done
say '   All three files compared: twelve were sold, none twice.'
