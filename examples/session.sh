# session.sh - for demo.sh, shop.sh and seats.sh: SQL shown and run, in files of a folder of its own.
#
# To be sourced, with `root` set to the project's folder; needs build/counter.so and sqlite3.

shell() { sqlite3 -batch -bail -init /dev/null -cmd ".load '$root/build/counter'" "$@"; }

say() {
    echo
    printf '%s\n' "$@"
}

# on NAME: each line of standard input is SQL, shown and run in NAME.db.
on() {
    echo
    while read -r sql; do
        printf '%s> %s\n' "$1" "$sql"
        shell -column -header "$1.db" "$sql"
    done
}

# Goes to an empty folder, that is removed at the end.
begin() {
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    cd "$folder"
}
