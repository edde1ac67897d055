/* export.c - the command export: changes as lines, which the library makes (docs/batches.md). */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

/* Prints the lines of a file. A line without changes, which only raises a mark, is left out where
 * only own ones are asked for. */
static void print_lines(cli_file *file, const cli_arguments *given, int64_t since)
{
    sqlite3_stmt *row = cli_prepare(file, CLI_SQL_LINES);
    if (row) sqlite3_bind_int64(row, 1, since);
    if (row) sqlite3_bind_int(row, 2, given->own);
    if (row && given->scope) sqlite3_bind_text(row, 3, given->scope, -1, SQLITE_STATIC);
    while (cli_step(file, row)) {
        const char *line = (const char *)sqlite3_column_text(row, 0);
        int64_t changes = sqlite3_column_int64(row, 2);
        if (!line)
            cli_fail(file->c, "out of memory");
        else if (changes > 0 || !given->own)
            puts(line);
        cli_progress_add(file->c, changes);
    }
    sqlite3_finalize(row);
}

/* Refuses a mark of another file, or one that is newer than the content of a restored backup: an
 * export would leave out changes, and nobody would see it. */
static void check_mark(cli_file *file, int64_t since)
{
    int64_t end = since > 0 ? cli_integer(file, CLI_SQL_END_OF_CHANGES) : 0;
    if (end > 0 && end < since)
        cli_fail(file->c,
                 "%s: --since %lld is not a mark of this file, whose changes end before %lld",
                 file->path, (long long)since, (long long)end);
}

void cli_export(cli *c, const cli_arguments *given)
{
    int64_t since = given->since ? strtoll(given->since, NULL, 10) : 0;
    cli_file file;
    cli_open(&file, c, given->word[0]);
    cli_need_tables(&file);
    if (!isatty(STDOUT_FILENO)) cli_progress_begin(c, given->word[0], "changes");
    check_mark(&file, since);
    print_lines(&file, given, since);
    cli_progress_erase(c);
    cli_close(&file);
}
