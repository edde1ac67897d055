/* file.c - opens a file with the extension, and runs statements on it. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "counter.h"

#define CTR_STATEMENT(name, text) const char CLI_SQL_##name[] = text;
#include "cli_statements.h"
#undef CTR_STATEMENT

/* ---- open and close -------------------------------------------------------------------------- */

bool cli_is_there(cli *c, const char *path, const char *name)
{
    struct stat seen;
    if (stat(path, &seen) != 0)
        cli_fail(c, "%s: %s", name, errno == ENOENT ? "there is no such file" : strerror(errno));
    else if (!S_ISREG(seen.st_mode))
        cli_fail(c, "%s: is not a regular file", name);
    return !c->failed;
}

char *cli_path(const char *path)
{
    return sqlite3_mprintf("%s%s", *path == '/' ? "" : "./", path);
}

/* `name` is the path for SQLite; "" opens a temporary file. */
static void connect_to(cli_file *file, const char *name)
{
    char *message = NULL;
    file->asked_at = cli_seconds();
    int flags = SQLITE_OPEN_READWRITE | (*name ? 0 : SQLITE_OPEN_CREATE);
    if (sqlite3_open_v2(name, &file->db, flags, NULL) != SQLITE_OK) {
        cli_fail_file(file, "");
        return;
    }
    sqlite3_extended_result_codes(file->db, 1);
    sqlite3_busy_timeout(file->db, CLI_BUSY_SECONDS * 1000);
    if (sqlite3_counter_folders_init(file->db, &message, NULL) != SQLITE_OK)
        cli_fail(file->c, "%s: %s", file->path, message ? message : "out of memory");
    sqlite3_free(message);
    cli_progress_follow(file);
}

/* A damaged identity is left to the command. */
static void check_format(cli_file *file)
{
    sqlite3_stmt *row = cli_prepare(file, CLI_SQL_HAS_IDENTITY);
    if (row && sqlite3_step(row) == SQLITE_ERROR) cli_fail_file(file, "");
    sqlite3_finalize(row);
}

void cli_open(cli_file *file, cli *c, const char *path)
{
    *file = (cli_file){.c = c, .path = path};
    if (c->failed || !cli_is_there(c, path, path)) return;
    char *name = cli_path(path);
    if (name)
        connect_to(file, name);
    else
        cli_fail(c, "out of memory");
    sqlite3_free(name);
    cli_run(file, "PRAGMA foreign_keys = ON");
    cli_integer(file, CLI_SQL_TOUCH);
    check_format(file);
}

void cli_close(cli_file *file)
{
    if (sqlite3_close(file->db) != SQLITE_OK) cli_fail_file(file, "");
    file->db = NULL;
}

void cli_copy(cli_file *file)
{
    cli_file copy = {.c = file->c, .path = file->path};
    if (file->c->failed) return;
    connect_to(&copy, "");
    sqlite3_backup *backup =
        file->c->failed ? NULL : sqlite3_backup_init(copy.db, "main", file->db, "main");
    if (backup) sqlite3_backup_step(backup, -1);
    if (!backup || sqlite3_backup_finish(backup) != SQLITE_OK) cli_fail_file(&copy, "");
    cli_close(file);
    *file = copy;
}

/* ---- what is needed of it -------------------------------------------------------------------- */

void cli_need_write(cli_file *file)
{
    if (!file->c->failed && sqlite3_db_readonly(file->db, "main") != 0)
        cli_fail(file->c, "%s: the file cannot be written, it is read-only", file->path);
}

int64_t cli_count_tables(cli_file *file)
{
    if (cli_integer(file, CLI_SQL_HAS_CATALOG) == 0) return 0;
    return cli_integer(file, CLI_SQL_COUNT_TABLES);
}

void cli_need_tables(cli_file *file)
{
    if (cli_count_tables(file) == 0)
        cli_fail(file->c,
                 "%s: the file has no counter tables: make a table one first: sqlite-counter "
                 "replicate %s TABLE COLUMN, or track",
                 file->path, file->path);
}

static void warn_apart(cli_file *file)
{
    sqlite3_exec(file->db, CLI_SQL_RETRY_APART, NULL, NULL, NULL); /* if not now, the next sync */
    sqlite3_stmt *row = cli_prepare(file, CLI_SQL_COUNT_APART);
    while (cli_step(file, row)) {
        bool waits = strcmp((const char *)sqlite3_column_text(row, 0), "waits") == 0;
        int64_t n = sqlite3_column_int64(row, 1);
        cli_warn(file->c, "%s: %lld row%s %s: see sqlite-counter status %s", file->path,
                 (long long)n, n == 1 ? "" : "s",
                 waits ? (n == 1 ? "waits for its table" : "wait for their tables")
                       : (n == 1 ? "differs from what was merged" : "differ from what was merged"),
                 file->path);
    }
    sqlite3_finalize(row);
}

void cli_warn_of_tables(cli_file *file)
{
    warn_apart(file);
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_WARNINGS, file->path);
    while (cli_step(file, row))
        cli_warn(file->c, "%s: table %s: %s", file->path, sqlite3_column_text(row, 0),
                 sqlite3_column_text(row, 1));
    sqlite3_finalize(row);
}

/* ---- statements ------------------------------------------------------------------------------ */

void cli_run(cli_file *file, const char *sql)
{
    sqlite3_stmt *statement = cli_prepare(file, sql);
    cli_step(file, statement);
    sqlite3_finalize(statement);
}

void cli_begin(cli_file *file)
{
    cli_need_write(file);
    cli_run(file, "BEGIN IMMEDIATE");
}

void cli_end(cli_file *file)
{
    cli_run(file, "COMMIT");
    cli_rollback(file);
}

void cli_rollback(cli_file *file)
{
    if (file->db && !sqlite3_get_autocommit(file->db))
        sqlite3_exec(file->db, "ROLLBACK", NULL, NULL, NULL);
}

sqlite3_stmt *cli_prepare(cli_file *file, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (file->c->failed) return NULL;
    file->asked_at = cli_seconds();
    if (sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL) != SQLITE_OK)
        cli_fail_file(file, "");
    return statement;
}

sqlite3_stmt *cli_prepare_text(cli_file *file, const char *sql, const char *text)
{
    sqlite3_stmt *statement = cli_prepare(file, sql);
    if (statement && sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC) != SQLITE_OK)
        cli_fail_file(file, "");
    return statement;
}

bool cli_step(cli_file *file, sqlite3_stmt *statement)
{
    if (file->c->failed) return false;
    file->asked_at = cli_seconds();
    int rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) cli_fail_file(file, "");
    return rc == SQLITE_ROW;
}

int64_t cli_integer(cli_file *file, const char *sql)
{
    sqlite3_stmt *statement = cli_prepare(file, sql);
    int64_t n = cli_step(file, statement) ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return n;
}

int64_t cli_call(cli_file *file, const char *function, char *const *words, int n)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendf(sql, "SELECT %s(", function);
    for (int i = 0; i < n; i++) sqlite3_str_appendall(sql, i > 0 ? ", ?" : "?");
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    if (!text) cli_fail(file->c, "out of memory");
    sqlite3_stmt *call = text ? cli_prepare(file, text) : NULL;
    for (int i = 0; call && i < n; i++) sqlite3_bind_text(call, i + 1, words[i], -1, SQLITE_STATIC);
    int64_t result = cli_step(file, call) ? sqlite3_column_int64(call, 0) : 0;
    sqlite3_finalize(call);
    sqlite3_free(text);
    return result;
}
