/* export.c - the command export: changes as lines of JSON.
 *
 * Each line is a batch, as docs/batches.md describes it:
 *
 *     {"format":1,"source":"<id>","since":0,"upto":9,"changes":[...]}
 *
 * A line ends after ENOUGH_CHANGES, or ENOUGH_BYTES: its `upto` is the number of the next change,
 * and `since` of the next line. So each line says by itself what it brings, and a mark rises past
 * no line that has not arrived.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

enum { ENOUGH_CHANGES = 1000, ENOUGH_BYTES = 1 << 20 };

/* Columns of CHANGES. */
enum { CHANGE_NUMBER, CHANGE_UPTO, CHANGE_SOURCE, CHANGE_JSON, CHANGE_IS_NEWS };

/* Changes on their way into lines. */
typedef struct giving {
    int64_t n, news; /* changes so far; those that do not come each time */
    int64_t upto;    /* of the line */
} giving;

/* `row` stands on the first change of the batch; afterwards on that of the next one. Its head says
 * where it ends, so that is found first. Returns false if there is no next one. */
static bool collect_batch(cli_file *file, sqlite3_stmt *row, sqlite3_str *changes, giving *given)
{
    for (int i = 0; i < ENOUGH_CHANGES && sqlite3_str_length(changes) < ENOUGH_BYTES; i++) {
        given->upto = sqlite3_column_int64(row, CHANGE_UPTO);
        given->news += sqlite3_column_int(row, CHANGE_IS_NEWS);
        const char *change = (const char *)sqlite3_column_text(row, CHANGE_JSON);
        if (!change) cli_fail(file->c, "out of memory");
        sqlite3_str_appendf(changes, "%s%s", i ? "," : "", change ? change : "");
        cli_progress_add(file->c);
        given->n++;
        if (!cli_step(file, row)) return false;
    }
    given->upto = sqlite3_column_int64(row, CHANGE_NUMBER);
    return true;
}

/* Makes the line of a batch, to be freed, from its changes. NULL and an error without memory. */
static char *make_line(cli_file *file, const char *source, int64_t since, int64_t upto,
                       sqlite3_str *changes)
{
    int rc = sqlite3_str_errcode(changes);
    char *text = sqlite3_str_finish(changes);
    sqlite3_str *line = sqlite3_str_new(file->db);
    sqlite3_str_appendf(line, "{\"format\":%d,\"source\":%s,\"since\":%lld,", CLI_LINE_FORMAT,
                        source, (long long)since);
    sqlite3_str_appendf(line, "\"upto\":%lld,\"changes\":[%s]}", (long long)upto, text ? text : "");
    if (rc == SQLITE_OK) rc = sqlite3_str_errcode(line);
    char *made = sqlite3_str_finish(line);
    sqlite3_free(text);
    if (rc == SQLITE_TOOBIG)
        cli_fail(file->c, "%s: a row is longer than a line can be", file->path);
    else if (rc != SQLITE_OK || !made)
        cli_fail(file->c, "out of memory");
    return made;
}

static sqlite3_stmt *prepare_changes(cli_file *file, const cli_query *query)
{
    char *sql =
        sqlite3_mprintf("%s%s ORDER BY 1", CLI_SQL_CHANGES, query->scope ? " AND scope = ?3" : "");
    if (!sql) cli_fail(file->c, "out of memory");
    sqlite3_stmt *row = sql ? cli_prepare(file, sql) : NULL;
    if (row) sqlite3_bind_int64(row, 1, query->since);
    if (row) sqlite3_bind_int(row, 2, query->own);
    if (row && query->scope) sqlite3_bind_text(row, 3, query->scope, -1, SQLITE_STATIC);
    sqlite3_free(sql);
    return row;
}

int64_t cli_give(cli_file *file, const cli_query *query, int64_t *upto,
                 void (*take)(void *to, const char *line), void *to)
{
    int64_t since = query->since;
    giving given = {.upto = since};
    char *source = NULL;
    sqlite3_stmt *row = prepare_changes(file, query);
    bool any = cli_step(file, row);
    if (any) source = sqlite3_mprintf("%s", sqlite3_column_text(row, CHANGE_SOURCE));
    if (any && !source) cli_fail(file->c, "out of memory");
    while (any && !file->c->failed) {
        sqlite3_str *changes = sqlite3_str_new(file->db);
        any = collect_batch(file, row, changes, &given);
        if (given.upto < since) given.upto = since; /* what comes each time has the number 0 */
        char *line = make_line(file, source ? source : "", since, given.upto, changes);
        if (!file->c->failed && (any || given.news > 0 || !query->own)) take(to, line);
        sqlite3_free(line);
        since = given.upto;
    }
    sqlite3_finalize(row);
    sqlite3_free(source);
    *upto = given.upto;
    return query->own && given.news == 0 ? 0 : given.n;
}

int64_t cli_end_of_changes(cli_file *file)
{
    return cli_integer(file, CLI_SQL_END_OF_CHANGES);
}

static void print_line(void *to, const char *line)
{
    (void)to;
    puts(line);
}

/* Refuses a mark of another file, or one that is newer than the content of a restored backup: an
 * export would leave out changes, and nobody would see it. */
static void check_mark(cli_file *file, int64_t since)
{
    int64_t end = since > 0 ? cli_end_of_changes(file) : 0;
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
    const cli_query query = {.since = since, .own = given->own, .scope = given->scope};
    cli_give(&file, &query, &since, print_line, NULL);
    cli_progress_erase(c);
    cli_close(&file);
}
