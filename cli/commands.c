/* commands.c - the commands status, track, replicate, opening and check. */
#define _POSIX_C_SOURCE 200809L

#include "cli/folder.h"

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

/* Returns false if the file has none. */
static bool tell_identity(cli_file *file, cli_rows *rows)
{
    static const char *const KINDS[] = {"id", "name", "fingerprint", "witness", "refuses"};
    sqlite3_stmt *row = cli_prepare(file, CLI_SQL_IDENTITY);
    bool any = cli_step(file, row);
    for (int i = 0; any && i < 5; i++) {
        cli_rows_text(rows, KINDS[i]);
        cli_rows_columns(rows, row, i, i + 1);
        cli_rows_end(rows);
    }
    sqlite3_finalize(row);
    return any;
}

static void tell_counters(cli_file *file, cli_rows *rows, const char *table)
{
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_COUNTERS, table);
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

/* A file can have an identity before its first counter table. */
void cli_status(cli *c, const cli_arguments *given)
{
    cli_file file;
    cli_rows rows = {0};
    open_one(&file, c, given->word[0]);
    cli_run(&file, "BEGIN");
    bool has_tables = cli_count_tables(&file) > 0;
    if (!tell_identity(&file, &rows) && !has_tables) cli_need_tables(&file);
    sqlite3_stmt *row = has_tables ? cli_prepare(&file, CLI_SQL_TABLES) : NULL;
    while (row && cli_step(&file, row))
        tell_table(&file, &rows, (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    if (has_tables) {
        tell(&file, &rows, NULL, CLI_SQL_TRACKED);
        tell(&file, &rows, NULL, CLI_SQL_APART);
        tell(&file, &rows, "bounded", CLI_SQL_BOUNDED);
        tell(&file, &rows, "warning", CLI_SQL_ALL_WARNINGS);
        tell(&file, &rows, "conflicts", CLI_SQL_COUNT_CONFLICTS);
    }
    if (given->n > 1) cli_folder_tell(&file, given->word[1], &rows);
    end_one(&file, &rows, NULL);
    cli_close(&file);
}

/* ---- track, replicate and opening ------------------------------------------------------------ */

/* Calls a function of a table and more words, and prints the table and the number of rows. */
static void call_for_table(cli *c, const char *function, const cli_arguments *given,
                           const char *titles)
{
    cli_file file;
    cli_rows rows = {0};
    open_one(&file, c, given->word[0]);
    cli_begin(&file);
    int64_t n = cli_call(&file, function, given->word + 1, given->n - 1);
    cli_rows_text(&rows, given->word[1]);
    cli_rows_integer(&rows, n);
    cli_rows_end(&rows);
    end_one(&file, &rows, titles);
    cli_close(&file);
}

void cli_track(cli *c, const cli_arguments *given)
{
    call_for_table(c, "counter_track", given, "table\trows counted");
}

void cli_replicate(cli *c, const cli_arguments *given)
{
    call_for_table(c, "counter_replicate", given, "table\trows counted");
}

void cli_opening(cli *c, const cli_arguments *given)
{
    call_for_table(c, "counter_opening", given, "table\trows changed");
}

/* ---- check ----------------------------------------------------------------------------------- */

/* True if damage was found. Anything else that goes wrong is an error. SQLite reads no more in a
 * transaction that has met a damaged page, so each table has a transaction of its own. */
static bool check_table(cli_file *file, cli_rows *rows, const char *table)
{
    char *sql =
        sqlite3_mprintf("INSERT INTO main.\"%w\"(\"%w\") VALUES ('integrity-check')", table, table);
    if (!sql) cli_fail(file->c, "out of memory");
    cli_begin(file);
    int rc = file->c->failed ? SQLITE_ABORT : sqlite3_exec(file->db, sql, NULL, NULL, NULL);
    bool is_damaged = (rc & 0xff) == SQLITE_CORRUPT;
    if (rc != SQLITE_OK && !is_damaged) cli_fail_file(file, "");
    if (rc == SQLITE_OK || is_damaged) {
        cli_rows_text(rows, table);
        cli_rows_text(rows, is_damaged ? "damaged" : "ok");
        if (is_damaged) cli_rows_text(rows, sqlite3_errmsg(file->db));
        cli_rows_end(rows);
    }
    cli_rollback(file);
    sqlite3_free(sql);
    return is_damaged;
}

/* The name of the counter table that comes after `name`, to be freed; NULL at the end. */
static char *next_table(cli_file *file, const char *name)
{
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_NEXT_TABLE, name);
    char *next = NULL;
    if (cli_step(file, row)) {
        next = sqlite3_mprintf("%s", sqlite3_column_text(row, 0));
        if (!next) cli_fail(file->c, "out of memory");
    }
    sqlite3_finalize(row);
    return next;
}

static int64_t check_tables(cli_file *file, cli_rows *rows)
{
    int64_t damaged = 0;
    for (char *next, *table = next_table(file, ""); table; table = next) {
        damaged += check_table(file, rows, table);
        next = next_table(file, table);
        sqlite3_free(table);
    }
    return damaged;
}

static int64_t check_triggers(cli_file *file, cli_rows *rows)
{
    int64_t broken = 0;
    sqlite3_stmt *row = cli_prepare(file, CLI_SQL_BROKEN);
    for (; cli_step(file, row); broken++) {
        cli_rows_columns(rows, row, 0, 3);
        cli_rows_end(rows);
    }
    sqlite3_finalize(row);
    return broken;
}

/* What was found is printed after an error, too. */
void cli_check(cli *c, const cli_arguments *given)
{
    cli_file file;
    cli_rows rows = {0};
    open_one(&file, c, given->word[0]);
    cli_need_tables(&file);
    if (!c->failed && sqlite3_db_readonly(file.db, "main") != 0) cli_copy(&file);
    int64_t damaged = check_tables(&file, &rows);
    int64_t broken = check_triggers(&file, &rows);
    cli_rows_print(&rows, c, "table\tstate\tfound");
    if (damaged + broken)
        cli_fail(c, "%s: damaged counter tables: %lld, tracked tables with broken triggers: %lld",
                 file.path, (long long)damaged, (long long)broken);
    cli_close(&file);
}
