/* sync.c - the command sync: two files take what the other one has counted, or a file syncs with a
 * directory or a server. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/folder.h"
#include "cli/http.h"

static bool are_same(const char *one, const char *two)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(two, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool is_missing(const char *path)
{
    struct stat seen;
    return stat(path, &seen) != 0 && errno == ENOENT;
}

static bool has_row(cli_file *file, const char *sql, const char *text)
{
    sqlite3_stmt *row = cli_prepare_text(file, sql, text);
    bool has = cli_step(file, row);
    sqlite3_finalize(row);
    return has;
}

/* A counter table is created where there is none, but not in place of an ordinary one. */
static void check_places(cli_file *from, cli_file *to)
{
    bool has_tables = cli_count_tables(to) > 0;
    sqlite3_stmt *row = cli_prepare(from, CLI_SQL_GIVEN_TABLES);
    while (cli_step(from, row)) {
        const char *table = (const char *)sqlite3_column_text(row, 0);
        const char *columns = (const char *)sqlite3_column_text(row, 1);
        bool replicated = sqlite3_column_int(row, 2) != 0;
        if (!has_row(to, CLI_SQL_IS_ORDINARY, table) ||
            (has_tables &&
             (has_row(to, CLI_SQL_IS_BORN, table) || has_row(to, CLI_SQL_IS_TRACKED, table))))
            continue;
        if (replicated && has_row(from, CLI_SQL_IS_SPREAD, table))
            cli_fail(to->c,
                     "%s: table %s is not replicated, as it is in %s: write what %s alone has into "
                     "%s, rows without their numbers, and put a copy of %s in its place: if both "
                     "replicate it apart, one number is one row",
                     to->path, table, from->path, to->path, from->path, from->path);
        else if (replicated)
            cli_fail(to->c,
                     "%s: table %s is not replicated, as it is in %s: put a copy of %s in its "
                     "place if it has no rows of its own; else sqlite-counter replicate %s %s%s%s "
                     "replicates it, and the sync asks about values that both files had when they "
                     "began to, and adds all others up",
                     to->path, table, from->path, from->path, to->path, table, columns ? " " : "",
                     columns ? columns : "");
        else if (columns)
            cli_fail(to->c,
                     "%s: table %s is not tracked, as it is in %s: sqlite-counter track %s %s %s "
                     "tracks it, and the sync asks about values that both files had when they "
                     "began to, and adds all others up",
                     to->path, table, from->path, to->path, table, columns);
        else
            cli_fail(to->c, "%s: table %s is an ordinary table, in %s it is a counter table",
                     to->path, table, from->path);
    }
    sqlite3_finalize(row);
}

/* Fails with the names of both files, for the error may be about either. */
static void fail_sync(cli_file *to, const char *doing, const char *from)
{
    char *where = sqlite3_mprintf("%s %s: ", doing, from);
    cli_fail_file(to, where ? where : "");
    sqlite3_free(where);
}

/* What the parts of a pull have done in a table. */
typedef struct table_sums {
    char *table; /* owned */
    int64_t n[3];
} table_sums;

typedef struct pull_sums {
    table_sums *tables; /* owned */
    int n;
} pull_sums;

static void close_sums(pull_sums *list)
{
    for (int i = 0; i < list->n; i++) sqlite3_free(list->tables[i].table);
    sqlite3_free(list->tables);
}

/* Adds a row of a part. Returns the sums of its table; NULL without memory. */
static const table_sums *add_to_sums(pull_sums *list, sqlite3_stmt *row)
{
    const char *table = (const char *)sqlite3_column_text(row, 0);
    table_sums *sums = NULL;
    for (int i = 0; table && i < list->n && !sums; i++)
        if (strcmp(list->tables[i].table, table) == 0) sums = &list->tables[i];
    if (table && !sums) {
        table_sums *tables =
            sqlite3_realloc64(list->tables, ((size_t)list->n + 1) * sizeof *tables);
        char *name = tables ? sqlite3_mprintf("%s", table) : NULL;
        if (tables) list->tables = tables;
        if (!name) return NULL;
        sums = &tables[list->n++];
        *sums = (table_sums){.table = name};
    }
    for (int i = 0; sums && i < 3; i++) sums->n[i] += sqlite3_column_int64(row, 1 + i);
    return sums;
}

/* Adds the rows of a statement that merges `from` into a file. Returns whether there is more. */
static bool take_rows(cli_file *to, sqlite3_stmt *row, const char *from, pull_sums *list,
                      cli_rows *rows)
{
    int rc = SQLITE_DONE;
    bool more = false;
    while (row && (rc = sqlite3_step(row)) == SQLITE_ROW) {
        const table_sums *sums = add_to_sums(list, row);
        if (!sums) rows->lacks_memory = true;
        more = sqlite3_column_int(row, 5) != 0;
        cli_rows_columns(rows, row, 0, 1);
        cli_rows_text(rows, from);
        cli_rows_text(rows, to->path);
        for (int i = 0; i < 3; i++) cli_rows_integer(rows, sums ? sums->n[i] : 0);
        cli_rows_columns(rows, row, 4, 5);
        cli_rows_end(rows);
    }
    if (rc != SQLITE_DONE) fail_sync(to, "taking from", from);
    return more;
}

static sqlite3_stmt *prepare_merge(cli_file *to, const char *sql, const char *path, const char *how)
{
    sqlite3_stmt *row = cli_prepare_text(to, sql, path);
    if (row) sqlite3_bind_text(row, 2, to->path, -1, SQLITE_STATIC);
    if (row) sqlite3_bind_text(row, 3, how, -1, SQLITE_STATIC);
    return row;
}

/* One part, which is all unless the file that takes has nothing yet. The rows of the last one count
 * for all; each has all tables up to where it ends. Returns whether there is more. */
static bool pull_part(cli_file *to, const char *path, const char *from, const char *how,
                      pull_sums *list, cli_rows *rows)
{
    const size_t before = rows->n;
    cli_begin(to);
    sqlite3_stmt *row = prepare_merge(to, CLI_SQL_PULL, path, how);
    bool more = take_rows(to, row, from, list, rows);
    sqlite3_finalize(row);
    cli_end(to);
    more = more && !to->c->failed;
    if (more || to->c->failed) cli_rows_cut(rows, before);
    return more;
}

/* Waits for the lock of the file that takes, then for that of the other one. Others who wait for it
 * get it in the pause between two parts: SQLite looks every 100 ms at least. */
static void pull(cli_file *to, const char *from, const char *how, cli_rows *rows)
{
    enum { PAUSE = 100 /* milliseconds */ };
    pull_sums list = {NULL, 0};
    char *path = cli_path(from);
    if (!path) cli_fail(to->c, "out of memory");
    cli_progress_rows(to);
    while (pull_part(to, path, from, how, &list, rows)) sqlite3_sleep(PAUSE);
    close_sums(&list);
    sqlite3_free(path);
}

/* A line of a table: what `to` has done of its rows, in columns `at` and on, and a note. */
static void add_line(cli_rows *rows, sqlite3_stmt *row, const char *from, const char *to, int at,
                     bool has_note)
{
    enum { COLUMN_NOTE = 7 };
    cli_rows_columns(rows, row, 0, 1);
    cli_rows_text(rows, from);
    cli_rows_text(rows, to);
    cli_rows_columns(rows, row, at, at + 3);
    if (has_note)
        cli_rows_columns(rows, row, COLUMN_NOTE, COLUMN_NOTE + 1);
    else
        cli_rows_text(rows, NULL);
    cli_rows_end(rows);
}

/* Returns the result of the first step. SQLite waits for no lock of a file that the statement reads
 * already, so it is tried again. */
static int sync_patiently(cli_file *one, sqlite3_stmt *row)
{
    enum { PAUSE = 50 /* milliseconds */ };
    int rc;
    one->asked_at = cli_seconds();
    while (((rc = sqlite3_step(row)) & 0xff) == SQLITE_BUSY &&
           cli_seconds() - one->asked_at < CLI_BUSY_SECONDS) {
        sqlite3_reset(row);
        sqlite3_sleep(PAUSE);
    }
    return rc;
}

/* Files with bounded counters in one sync: it alone can tell the grants that it brings, which stay,
 * from those that are levelled. */
static void sync_and_level(cli_file *one, cli_file *two, const char *how, bool two_gives,
                           cli_rows *rows)
{
    char *path = cli_path(two->path);
    if (!path) cli_fail(one->c, "out of memory");
    sqlite3_stmt *row = prepare_merge(one, CLI_SQL_SYNC, path, how);
    if (row) sqlite3_bind_text(row, 4, two->path, -1, SQLITE_STATIC);
    int rc = row ? sync_patiently(one, row) : SQLITE_DONE;
    for (; rc == SQLITE_ROW; rc = sqlite3_step(row)) {
        if (two_gives) add_line(rows, row, two->path, one->path, 1, true);
        add_line(rows, row, one->path, two->path, 4, !two_gives);
    }
    if (rc != SQLITE_DONE) fail_sync(one, "syncing with", two->path);
    sqlite3_finalize(row);
    sqlite3_free(path);
}

static bool has_bounds(cli_file *file)
{
    return cli_count_tables(file) > 0 && cli_integer(file, CLI_SQL_COUNT_BOUNDED) > 0;
}

/* Two pulls, or one sync. What the first pull brought stays if the second one fails; so do finished
 * parts of a first merge. */
static void sync_files(cli *c, const cli_arguments *given)
{
    const char *const *path = (const char *const *)given->word;
    const char *how = given->create_tables ? "part, create tables" : "part";
    const char *whole = given->create_tables ? "create tables" : NULL;
    cli_file one, two;
    cli_rows rows = {0};
    cli_open(&one, c, path[0]);
    if (!c->failed && is_missing(path[1]))
        cli_fail(c, "%s: there is no such file or directory", path[1]);
    cli_open(&two, c, path[1]);
    if (!c->failed && are_same(path[0], path[1]))
        cli_fail(c, "%s and %s are the same file", path[0], path[1]);
    cli_need_write(&one);
    cli_need_write(&two);
    bool one_has = cli_count_tables(&one) > 0, two_has = cli_count_tables(&two) > 0;
    if (!one_has && !two_has)
        cli_fail(c,
                 "neither %s nor %s has counter tables: track a table first: sqlite-counter track "
                 "%s TABLE COLUMN",
                 path[0], path[1], path[0]);
    if (two_has) check_places(&two, &one);
    if (one_has) check_places(&one, &two);
    bool levels = has_bounds(&one) || has_bounds(&two);
    if (levels) sync_and_level(&one, &two, whole, two_has, &rows);
    if (two_has && !levels) pull(&one, path[1], how, &rows);
    if (!levels) pull(&two, path[0], how, &rows);
    cli_rows_print(&rows, c, "table\tfrom\tto\tread\tchanged\tconflicts\tnote");
    cli_warn_of_tables(&one);
    cli_warn_of_tables(&two);
    cli_close(&one);
    cli_close(&two);
}

/* ---- a directory, a server ------------------------------------------------------------------- */

static bool is_https(const char *text)
{
    return strncmp(text, "https://", 8) == 0;
}

static bool is_url(const char *text)
{
    return strncmp(text, "http://", 7) == 0 || is_https(text);
}

static bool is_directory(const char *path)
{
    struct stat seen;
    return stat(path, &seen) == 0 && S_ISDIR(seen.st_mode);
}

/* Seconds after which --watch looks again, where nothing has told it before. */
enum { A_FOLDER = 2, A_SERVER = 30 };

/* Once, or again and again until the user wants to stop; then each round tries everything again. */
static void sync_with_many(cli *c, const cli_arguments *given)
{
    const char *other = given->word[1];
    cli_file file;
    cli_watch watch;
    cli_open(&file, c, given->word[0]);
    cli_need_write(&file);
    cli_need_tables(&file);
    if (!is_url(other)) cli_folder_check(&file, other);
    bool opened = !c->failed, goes_on = opened;
    if (given->watch) cli_watch_open(&watch);
    while (goes_on) {
        cli_rows rows = {0};
        if (given->watch) cli_watch_begin(&watch, &file);
        if (is_url(other))
            cli_http_sync(&file, given, &rows);
        else
            cli_folder_sync(&file, other, given->scope, given->watch ? &watch : NULL, &rows);
        cli_rows_print(&rows, c, "what\tid\tchanges\tupto");
        if (given->watch) c->failed = false;
        goes_on =
            given->watch && cli_watch_wait(&watch, &file, is_url(other) ? A_SERVER : A_FOLDER);
    }
    if (opened) cli_warn_of_tables(&file);
    if (given->watch) cli_watch_close(&watch);
    cli_close(&file);
}

void cli_sync(cli *c, const cli_arguments *given)
{
    bool many = is_url(given->word[1]) || is_directory(given->word[1]);
    if (is_directory(given->word[0]) || is_url(given->word[0]))
        cli_fail(c, "%s: the file comes first, then what it syncs with: sqlite-counter sync %s %s",
                 given->word[0], given->word[1], given->word[0]);
    if (many && given->create_tables)
        cli_fail(c, "--create-tables is for two files, not for %s", given->word[1]);
    if (!many && (given->watch || given->scope))
        cli_fail(c, "%s is for a directory or a server, and %s is neither",
                 given->watch ? "--watch" : "--scope", given->word[1]);
    if (given->token_file && !is_url(given->word[1]))
        cli_fail(c, "--token-file is for a server, and %s is none", given->word[1]);
    if (given->ca && !is_https(given->word[1]))
        cli_fail(c, "--ca is for a server of https://, and %s is none", given->word[1]);
    if (many && !c->failed) sync_with_many(c, given);
    if (!many && !c->failed) sync_files(c, given);
}
