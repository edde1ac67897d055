# embed.awk - makes one X-macro line of every named statement in sql/*.sql.
#
#     -- name: ROWS_FIND
#     SELECT id FROM "{schema}"."{table}_cells"
#      WHERE "{keys}";
#
# becomes CTR_STATEMENT(ROWS_FIND, "SELECT ...\nWHERE ..."), without the last semicolon and without
# the comment lines. A statement ends at the line that ends with a semicolon.

function fail(file, line, message)
{
    printf "%s:%d: %s\n", file, line, message | "cat >&2"
    failed = 1
    exit 1
}

function check_ended()
{
    if (name != "") fail(started_in, started_at, "statement " name " has no end")
}

FNR == 1 { check_ended() }

{ sub(/[ \t\r]+$/, ""); sub(/^[ \t]+/, "") }

/^-- name:/ {
    check_ended()
    name = $3
    if (name !~ /^[A-Z][A-Z0-9_]*$/) fail(FILENAME, FNR, "no name: " $0)
    if (name in where) fail(FILENAME, FNR, "statement " name " is already in " where[name])
    where[name] = FILENAME ":" FNR
    started_in = FILENAME
    started_at = FNR
    text = ""
    next
}

/^--/ || /^$/ { next }

name == "" { fail(FILENAME, FNR, "statement without a name: " $0) }

{
    ends = sub(/;$/, "")
    gsub(/[\\"]/, "\\\\&")
    text = text (text == "" ? "" : "\\n") $0
    if (!ends) next
    printf "CTR_STATEMENT(%s, \"%s\")\n", name, text
    name = ""
}

END { if (!failed) check_ended() }
