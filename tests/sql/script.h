/* script.h - reads the scripts of this folder.
 *
 *     -- # name            starts a case: an empty working directory, a new main.db, the extension
 *     SELECT 1, NULL;      a statement; it ends with the line on which sqlite3_complete() says so
 *     --= 1|NULL           a row that it gives, in order
 *     --~ [0-9]|N*         a row that matches this GLOB pattern
 *     --! message          the error that it ends with
 *     --!~ glob            an error that matches this GLOB pattern
 *     --@ directive        reopen, readonly, connection NAME, defensive on|off,
 *                          trusted-schema on|off, columns N (that a table may have, for this
 *                          connection), directory NAME (which is made for files that sync, and may
 *                          be used by this connection); directly under the name: shell-only,
 *                          process-only, since 3.35 (with an older SQLite the case is left out),
 *                          not-wal (left out where main.db is put under WAL), not-utf-16 (left out
 *                          where it has its texts in that), attributes (left out where files have
 *                          none, as under Wine), journal (left out where that keeps nothing,
 *                          as in make test-bounds), whole-sqlite (left out where SQLite is built
 *                          without WAL and UTF-16, as for browsers)
 *     -- anything else     a comment
 *
 * A statement gives exactly the rows and the error that are written below it. A script that breaks
 * these rules ends the process with a message.
 */
#ifndef TESTS_SQL_SCRIPT_H
#define TESTS_SQL_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct script_answer {
    bool is_error, is_glob;
    char *text;
    int line;
} script_answer;

typedef struct script_step {
    bool is_directive;
    char *text;
    int line;
    script_answer *answers; /* rows in order, then the error */
    size_t n;
} script_step;

typedef struct script_case {
    char *name;
    bool shell_only, not_wal, not_utf16, attributes, journal, whole_sqlite;
    script_step *steps;
    size_t n;
} script_case;

typedef struct script_file {
    const char *path; /* borrowed */
    script_case *cases;
    size_t n;
} script_file;

script_file script_read(const char *path);
void script_free(script_file *script);

#endif
