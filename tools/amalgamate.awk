# amalgamate.awk - makes one header, or one C file, of many, named in the order in which they stand.
#
#     awk -f tools/amalgamate.awk include/counter.h include/counter_cell.h > counter.h
#     awk -v one=counter.h -f tools/amalgamate.awk ext/core/*.c ... ext/counter.c > counter.c
#
# A header of ours is put in where it is needed first, and the list of statements at each place that
# makes something of it. What a C file asks of the system's headers, before it includes any, stands
# at the top. `one` is the header made of include/, which the C file begins with: what it declares
# can be called from outside, all other functions are static.

BEGIN {
    if (one != "") {
        print "/* All of sqlite-counter, to be compiled as one file; made by `make amalgamation`. */"
        for (i = 1; i < ARGC; i++) print_demands(ARGV[i])
        print "#include \"" one "\""
        know_public("counter.h")
        know_public("counter_cell.h")
    }
    for (i = 1; i < ARGC; i++) print_file(ARGV[i])
    exit failed
}

function fail(message)
{
    print "amalgamate.awk: " message | "cat >&2"
    failed = 1
    exit 1
}

# The function that a line declares or begins to define, "" if it does neither.
function function_of(line)
{
    if (line !~ /^[a-z]/ || line ~ /^(static|typedef|extern) / || !match(line, /[ *](ctr|sqlite3)_[a-z0-9_]+\(/))
        return ""
    return substr(line, RSTART + 1, RLENGTH - 2)
}

function know_public(name,    line)
{
    stands[name] = 1
    while ((getline line < ("include/" name)) > 0) public[function_of(line)] = 1
    close("include/" name)
}

# What stands before the first #include: macros that change the system's headers.
function print_demands(path,    line)
{
    while ((getline line < path) > 0 && line !~ /^#include/)
        if (line ~ /^#/) print line
    close(path)
}

function place_of(name,    path, line, n, folders, i)
{
    n = split("ext include build/gen .", folders, " ")
    for (i = 1; i <= n; i++) {
        path = folders[i] "/" name
        if ((getline line < path) < 0) continue
        close(path)
        return path
    }
    fail("there is no " name)
}

function prefix_of(name)
{
    return one == "" || name == "" || name in public ? "" : "static "
}

# Within conditions a header of the system is included again, for they may have left it out.
function print_include(line, depth,    word)
{
    if (line ~ /^#include </) {
        if (depth > 0 || !(line in stands)) print line
        if (depth == 0) stands[line] = 1
        return
    }
    split(line, word, "\"")
    if (word[2] in stands) return
    print_file(place_of(word[2]))
}

function print_file(path,    name, line, depth, awaits)
{
    name = path
    sub(/^(ext|include|build\/gen|\.)\//, "", name)
    if (name != "statements.h") stands[name] = 1
    printf "\n/* ---- %s ---- */\n\n", name
    awaits = path ~ /\.c$/
    depth = awaits ? 0 : -1 # a header stands within its guard
    while ((getline line < path) > 0) {
        if (awaits && line ~ /^#/ && line !~ /^#include/) continue
        if (line ~ /^#include/) awaits = 0
        if (line ~ /^#if/) depth++
        if (line ~ /^#endif/) depth--
        if (line ~ /^#include/) print_include(line, depth)
        else print prefix_of(function_of(line)) line
    }
    close(path)
}
