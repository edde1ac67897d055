/* file.c - files, the sentences of errors, and progress. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "counter.h"

enum {
    BUSY_SECONDS = 5,
    STEPS_BETWEEN = 20000 /* instructions of SQLite from one look at the clock to the next */
};

/* ---- errors ---------------------------------------------------------------------------------- */

/* A name or a value may hold anything; an error is one line. */
static void print_sentence(const char *sentence)
{
    fputs("sqlite-counter: ", stderr);
    for (const char *at = sentence; *at; at++)
        fputc((unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at, stderr);
    fputc('\n', stderr);
}

void cli_fail(cli *c, const char *format, ...)
{
    if (c->failed) return;
    c->failed = true;
    cli_progress_erase(c);
    va_list values;
    va_start(values, format);
    char *sentence = sqlite3_vmprintf(format, values);
    va_end(values);
    print_sentence(sentence ? sentence : "out of memory");
    sqlite3_free(sentence);
}

void cli_fail_file(cli_file *file, const char *where)
{
    int rc = sqlite3_errcode(file->db) & 0xff;
    if (rc == SQLITE_BUSY)
        cli_fail(file->c, "%s: %sbusy for %d seconds: %s", file->path, where, BUSY_SECONDS,
                 sqlite3_errmsg(file->db));
    else
        cli_fail(file->c, "%s: %s%s", file->path, where, sqlite3_errmsg(file->db));
}

/* ---- files ----------------------------------------------------------------------------------- */

static int show_progress(void *c);

static bool is_there(cli *c, const char *path)
{
    struct stat seen;
    if (stat(path, &seen) != 0)
        cli_fail(c, "%s: %s", path, errno == ENOENT ? "there is no such file" : strerror(errno));
    else if (!S_ISREG(seen.st_mode))
        cli_fail(c, "%s: it is no file, but a folder or a device", path);
    return !c->failed;
}

void cli_open(cli_file *file, cli *c, const char *path)
{
    char *message = NULL;
    *file = (cli_file){.c = c, .path = path};
    if (c->failed || !is_there(c, path)) return;
    if (sqlite3_open_v2(path, &file->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        cli_fail_file(file, "");
        return;
    }
    sqlite3_extended_result_codes(file->db, 1);
    sqlite3_busy_timeout(file->db, BUSY_SECONDS * 1000);
    if (sqlite3_counter_init(file->db, &message, NULL) != SQLITE_OK)
        cli_fail(c, "%s: %s", path, message ? message : "out of memory");
    sqlite3_free(message);
    if (isatty(STDERR_FILENO)) sqlite3_progress_handler(file->db, STEPS_BETWEEN, show_progress, c);
    cli_run(file, "PRAGMA foreign_keys = ON");
    cli_integer(file, "SELECT count(*) FROM sqlite_master"); /* is it a database? */
}

void cli_close(cli_file *file)
{
    if (sqlite3_close(file->db) != SQLITE_OK) cli_fail_file(file, "");
    file->db = NULL;
}

void cli_need_write(cli_file *file)
{
    if (!file->c->failed && sqlite3_db_readonly(file->db, "main") != 0)
        cli_fail(file->c, "%s: the file cannot be written, it is read-only", file->path);
}

int64_t cli_count_tables(cli_file *file)
{
    if (cli_integer(file, "SELECT count(*) FROM sqlite_master WHERE name = 'counter_tables'") == 0)
        return 0;
    return cli_integer(file, "SELECT count(*) FROM counter_tables");
}

void cli_need_tables(cli_file *file)
{
    if (cli_count_tables(file) == 0)
        cli_fail(file->c, "%s: the file has no counter tables", file->path);
}

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
    if (file->db && !sqlite3_get_autocommit(file->db))
        sqlite3_exec(file->db, "ROLLBACK", NULL, NULL, NULL);
}

sqlite3_stmt *cli_prepare(cli_file *file, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (file->c->failed) return NULL;
    if (sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL) != SQLITE_OK)
        cli_fail_file(file, "");
    return statement;
}

bool cli_step(cli_file *file, sqlite3_stmt *statement)
{
    if (file->c->failed) return false;
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

/* ---- progress -------------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Called by SQLite while it works, where standard error is a terminal. Short work shows nothing. */
static int show_progress(void *of)
{
    cli_progress *progress = &((cli *)of)->progress;
    double now = seconds();
    if (progress->began == 0 || now - progress->began < 0.4 || now - progress->shown_at < 0.2)
        return 0;
    progress->shown_at = now;
    fprintf(stderr, "\r%s %s: %.0f s", progress->command, progress->file, now - progress->began);
    if (progress->unit) fprintf(stderr, ", %lld %s", (long long)progress->count, progress->unit);
    fputs("\033[K", stderr);
    fflush(stderr);
    return 0;
}

void cli_progress_begin(cli *c, const char *file, const char *unit)
{
    cli_progress_erase(c);
    c->progress =
        (cli_progress){.command = c->command, .file = file, .unit = unit, .began = seconds()};
}

void cli_progress_add(cli *c)
{
    c->progress.count++;
}

void cli_progress_erase(cli *c)
{
    if (c->progress.shown_at > 0) fputs("\r\033[K", stderr);
    c->progress = (cli_progress){0};
}
