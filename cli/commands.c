/* commands.c - sync, status, track and check. */
#define _POSIX_C_SOURCE 200809L

#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

/* Opens the file of a command that looks at one. */
static void open_one(cli_file *file, cli *c, const char *path)
{
    cli_open(file, c, path);
    cli_progress_begin(c, path, NULL);
}

/* Ends its transaction, and prints what it has found unless that failed. */
static void end_one(cli_file *file, cli_rows *rows, const char *titles)
{
    cli_end(file);
    if (file->c->failed) cli_rows_cut(rows, 0);
    cli_rows_print(rows, file->c, titles);
}

/* ---- sync ------------------------------------------------------------------------------------ */

static bool are_same(const char *one, const char *two)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(two, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* counter_pull takes the names of databases, too. */
static char *name_path(const char *path)
{
    bool is_name = sqlite3_stricmp(path, "main") == 0 || sqlite3_stricmp(path, "temp") == 0;
    return sqlite3_mprintf("%s%s", is_name ? "./" : "", path);
}

/* The lock of the file that takes is waited for, then that of the other one. */
static void pull(cli_file *to, const char *from, cli_rows *rows)
{
    char *path = name_path(from);
    size_t before = rows->n;
    if (!path) cli_fail(to->c, "out of memory");
    cli_progress_begin(to->c, to->path, NULL);
    cli_begin(to);
    sqlite3_stmt *row = cli_prepare(
        to, "SELECT table_name, rows_read, rows_changed, conflicts, note FROM counter_pull(?1)");
    if (row) sqlite3_bind_text(row, 1, path, -1, SQLITE_STATIC);
    while (cli_step(to, row)) {
        cli_rows_columns(rows, row, 0, 1);
        cli_rows_text(rows, from);
        cli_rows_text(rows, to->path);
        cli_rows_columns(rows, row, 1, 5);
        cli_rows_end(rows);
    }
    sqlite3_finalize(row);
    cli_end(to);
    if (to->c->failed) cli_rows_cut(rows, before);
    sqlite3_free(path);
}

/* Two pulls, each whole or not at all: what the first one brought stays if the second one fails. */
void cli_sync(cli *c, const cli_arguments *given)
{
    const char *const *path = (const char *const *)given->word;
    cli_file one, two;
    cli_rows rows = {0};
    cli_open(&one, c, path[0]);
    cli_open(&two, c, path[1]);
    if (!c->failed && are_same(path[0], path[1]))
        cli_fail(c, "%s and %s are the same file", path[0], path[1]);
    cli_need_write(&one);
    cli_need_write(&two);
    bool one_has = cli_count_tables(&one) > 0, two_has = cli_count_tables(&two) > 0;
    if (!one_has && !two_has)
        cli_fail(c, "%s: the file has no counter tables, nor has %s", path[0], path[1]);
    if (two_has) pull(&one, path[1], &rows);
    pull(&two, path[0], &rows);
    cli_rows_print(&rows, c, "table\tfrom\tto\tread\tchanged\tconflicts\tnote");
    cli_close(&one);
    cli_close(&two);
}

/* ---- status ---------------------------------------------------------------------------------- */

/* The columns of each row of a query behind `kind`, or as they are where that is NULL. */
static void tell(cli_file *file, cli_rows *rows, const char *kind, const char *sql)
{
    sqlite3_stmt *row = cli_prepare(file, sql);
    while (cli_step(file, row)) {
        if (kind) cli_rows_text(rows, kind);
        cli_rows_columns(rows, row, 0, sqlite3_column_count(row));
        cli_rows_end(rows);
    }
    sqlite3_finalize(row);
}

static void tell_identity(cli_file *file, cli_rows *rows)
{
    static const char *const KINDS[] = {"id", "name", "fingerprint", "witness", "refuses"};
    sqlite3_stmt *row = cli_prepare(file, "SELECT id, name, fingerprint, witness, refuses FROM "
                                          "counter_identity WHERE state <> 'former' LIMIT 1");
    bool any = cli_step(file, row);
    for (int i = 0; any && i < 5; i++) {
        cli_rows_text(rows, KINDS[i]);
        cli_rows_columns(rows, row, i, i + 1);
        cli_rows_end(rows);
    }
    sqlite3_finalize(row);
}

static void tell_counters(cli_file *file, cli_rows *rows, const char *table)
{
    sqlite3_stmt *row = cli_prepare(
        file, "SELECT name FROM pragma_table_info(?1) WHERE \"notnull\" = 0 ORDER BY cid");
    if (row) sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
    while (cli_step(file, row)) {
        cli_rows_text(rows, "counter");
        cli_rows_text(rows, table);
        cli_rows_columns(rows, row, 0, 1);
        cli_rows_end(rows);
    }
    sqlite3_finalize(row);
}

static void tell_table(cli_file *file, cli_rows *rows, const char *table)
{
    char *sql = sqlite3_mprintf("SELECT count(*) FROM main.\"%w\"", table);
    if (!sql) cli_fail(file->c, "out of memory");
    cli_rows_text(rows, "table");
    cli_rows_text(rows, table);
    cli_rows_integer(rows, sql ? cli_integer(file, sql) : 0);
    cli_rows_end(rows);
    tell_counters(file, rows, table);
    sqlite3_free(sql);
}

static const char TABLES[] = "SELECT name FROM counter_tables ORDER BY name";

/* The table `counter_conflicts` comes with the first counter table. */
void cli_status(cli *c, const cli_arguments *given)
{
    cli_file file;
    cli_rows rows = {0};
    open_one(&file, c, given->word[0]);
    cli_need_tables(&file);
    cli_run(&file, "BEGIN");
    tell_identity(&file, &rows);
    sqlite3_stmt *row = cli_prepare(&file, TABLES);
    while (cli_step(&file, row))
        tell_table(&file, &rows, (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    tell(&file, &rows, NULL,
         "SELECT state, table_name, column_name FROM counter_tracked WHERE row_key IS NULL");
    tell(&file, &rows, NULL,
         "SELECT state, table_name, column_name, row_key, shown, merged FROM counter_tracked "
         "WHERE row_key IS NOT NULL");
    tell(&file, &rows, "conflicts", "SELECT count(*) FROM counter_conflicts");
    end_one(&file, &rows, NULL);
    cli_close(&file);
}

/* ---- track ----------------------------------------------------------------------------------- */

/* SELECT counter_track(?1, ?2, ...) with as many parameters as there are words. */
static sqlite3_stmt *prepare_track(cli_file *file, char *const *words, int n)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendall(sql, "SELECT counter_track(?");
    for (int i = 1; i < n; i++) sqlite3_str_appendall(sql, ", ?");
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    if (!text) cli_fail(file->c, "out of memory");
    sqlite3_stmt *call = text ? cli_prepare(file, text) : NULL;
    for (int i = 0; call && i < n; i++) sqlite3_bind_text(call, i + 1, words[i], -1, SQLITE_STATIC);
    sqlite3_free(text);
    return call;
}

void cli_track(cli *c, const cli_arguments *given)
{
    cli_file file;
    cli_rows rows = {0};
    open_one(&file, c, given->word[0]);
    cli_begin(&file);
    sqlite3_stmt *call = prepare_track(&file, given->word + 1, given->n - 1);
    if (cli_step(&file, call)) {
        cli_rows_text(&rows, given->word[1]);
        cli_rows_columns(&rows, call, 0, 1);
        cli_rows_end(&rows);
    }
    sqlite3_finalize(call);
    end_one(&file, &rows, "table\trows counted");
    cli_close(&file);
}

/* ---- check ----------------------------------------------------------------------------------- */

/* True if damage was found. Anything else that goes wrong is an error. */
static bool check_table(cli_file *file, cli_rows *rows, const char *table)
{
    char *sql =
        sqlite3_mprintf("INSERT INTO main.\"%w\"(\"%w\") VALUES ('integrity-check')", table, table);
    if (!sql) cli_fail(file->c, "out of memory");
    int rc = file->c->failed ? SQLITE_OK : sqlite3_exec(file->db, sql, NULL, NULL, NULL);
    bool is_damaged = (rc & 0xff) == SQLITE_CORRUPT;
    if (rc != SQLITE_OK && !is_damaged) cli_fail_file(file, "");
    cli_rows_text(rows, table);
    cli_rows_text(rows, is_damaged ? "damaged" : "ok");
    if (is_damaged) cli_rows_text(rows, sqlite3_errmsg(file->db));
    cli_rows_end(rows);
    sqlite3_free(sql);
    return is_damaged;
}

static int64_t check_tables(cli_file *file, cli_rows *rows)
{
    int64_t damaged = 0;
    sqlite3_stmt *row = cli_prepare(file, TABLES);
    while (cli_step(file, row))
        damaged += check_table(file, rows, (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    return damaged;
}

static int64_t check_triggers(cli_file *file, cli_rows *rows)
{
    int64_t broken = 0;
    sqlite3_stmt *row = cli_prepare(
        file, "SELECT DISTINCT table_name, 'damaged', 'the triggers of the tracked table are not "
              "whole' FROM counter_tracked WHERE state = 'broken'");
    for (; cli_step(file, row); broken++) {
        cli_rows_columns(rows, row, 0, 3);
        cli_rows_end(rows);
    }
    sqlite3_finalize(row);
    return broken;
}

void cli_check(cli *c, const cli_arguments *given)
{
    cli_file file;
    cli_rows rows = {0};
    open_one(&file, c, given->word[0]);
    cli_need_tables(&file);
    cli_begin(&file);
    int64_t damaged = check_tables(&file, &rows);
    int64_t broken = check_triggers(&file, &rows);
    end_one(&file, &rows, "table\tstate\tfound");
    if (damaged + broken)
        cli_fail(c, "%s: damaged counter tables: %lld, tracked tables with broken triggers: %lld",
                 file.path, (long long)damaged, (long long)broken);
    cli_close(&file);
}
