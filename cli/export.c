/* export.c - the command export: changes as lines of JSON.
 *
 * Each line is a batch, as examples/json.sh describes it:
 *
 *     {"format":1,"source":"<id>","since":0,"upto":9,"changes":[{"table":"page_views", ...}, ...]}
 *
 * A line ends where a sequence number ends, as soon as it has ENOUGH_CHANGES: `upto` of one is
 * `since` of the next. So each line says by itself what it brings, and a mark rises past no line
 * that has not arrived.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

enum { ENOUGH_CHANGES = 1000 };

/* `row` stands on the first change of the batch; afterwards on that of the next one. Its head says
 * where it ends, so that is found first. Returns false if there is no next one. */
static bool collect_batch(cli_file *file, sqlite3_stmt *row, sqlite3_str *changes, int64_t *upto)
{
    int64_t seq = sqlite3_column_int64(row, 0);
    for (int n = 0;; n++) {
        if (sqlite3_column_int64(row, 0) != seq && n >= ENOUGH_CHANGES) {
            *upto = sqlite3_column_int64(row, 0);
            return true;
        }
        seq = sqlite3_column_int64(row, 0);
        *upto = sqlite3_column_int64(row, 1);
        const char *change = (const char *)sqlite3_column_text(row, 3);
        if (!change) cli_fail(file->c, "out of memory");
        sqlite3_str_appendf(changes, "%s%s", n ? "," : "", change ? change : "");
        cli_progress_add(file->c);
        if (!cli_step(file, row)) return false;
    }
}

static void print_batches(cli_file *file, sqlite3_stmt *row, int64_t since)
{
    char source[64];
    bool any = cli_step(file, row);
    if (any) sqlite3_snprintf(sizeof source, source, "%s", sqlite3_column_text(row, 2));
    while (any) {
        int64_t upto;
        sqlite3_str *changes = sqlite3_str_new(file->db);
        any = collect_batch(file, row, changes, &upto);
        int rc = sqlite3_str_errcode(changes);
        char *text = sqlite3_str_finish(changes);
        if (rc == SQLITE_TOOBIG)
            cli_fail(file->c, "%s: one transaction has changed more than a line can take",
                     file->path);
        else if (!text)
            cli_fail(file->c, "out of memory");
        if (!file->c->failed) {
            printf("{\"format\":%d,\"source\":\"%s\",\"since\":%lld,\"upto\":%lld,\"changes\":[",
                   CLI_LINE_FORMAT, source, (long long)since, (long long)upto);
            fputs(text, stdout);
            puts("]}");
        }
        sqlite3_free(text);
        since = upto;
    }
}

/* Refuses a mark of another file, or one that is newer than the content of a restored backup: an
 * export would leave out changes, and nobody would see it. */
static void check_mark(cli_file *file, int64_t since)
{
    sqlite3_stmt *row = cli_prepare(file, CLI_SQL_END_OF_CHANGES);
    if (since > 0 && cli_step(file, row) && sqlite3_column_int64(row, 0) < since)
        cli_fail(file->c,
                 "%s: --since %lld is not a mark of this file, whose changes end before %lld",
                 file->path, (long long)since, (long long)sqlite3_column_int64(row, 0));
    sqlite3_finalize(row);
}

void cli_export(cli *c, const cli_arguments *given)
{
    int64_t since = given->since ? strtoll(given->since, NULL, 10) : 0;
    cli_file file;
    cli_open(&file, c, given->word[0]);
    cli_need_tables(&file);
    if (!isatty(STDOUT_FILENO)) cli_progress_begin(c, given->word[0], "changes");
    check_mark(&file, since);
    sqlite3_stmt *row = cli_prepare(&file, CLI_SQL_CHANGES);
    if (row) sqlite3_bind_int64(row, 1, since);
    print_batches(&file, row, since);
    sqlite3_finalize(row);
    cli_progress_erase(c);
    cli_close(&file);
}
