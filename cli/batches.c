/* batches.c - export and import: changes as lines of JSON.
 *
 * Each line is a batch, as sql/examples/json.sh describes it:
 *
 *     {"source":"<id>","since":0,"upto":9,"changes":[{"table":"page_views", ...}, ...]}
 *
 * A batch ends where a sequence number ends, when it has MOST_CHANGES: `upto` of one is `since` of
 * the next. So each line says by itself what it brings, and a mark rises past no line that has not
 * arrived.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum { MOST_CHANGES = 1000 };

/* ---- export ---------------------------------------------------------------------------------- */

static const char CHANGES[] =
    "SELECT seq, upto, source, json_object('table', table_name, 'key_columns', key_columns, "
    "'key', json(CASE WHEN length(key) > 0 THEN counter_key_json(key) END), 'packed', hex(key), "
    "'column', column_name, 'generation', generation, 'cell', json(counter_json(cell)), "
    "'seq', seq) FROM counter_changes(?1) ORDER BY seq";

/* `row` stands on the first change of the batch; afterwards on that of the next one. Its head says
 * where it ends, so that is found first. Returns false if there is no next one. */
static bool collect_batch(cli_file *file, sqlite3_stmt *row, sqlite3_str *changes, int64_t *upto)
{
    int64_t seq = sqlite3_column_int64(row, 0);
    for (int n = 0;; n++) {
        if (sqlite3_column_int64(row, 0) != seq && n >= MOST_CHANGES) {
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
            printf("{\"source\":\"%s\",\"since\":%lld,\"upto\":%lld,\"changes\":[", source,
                   (long long)since, (long long)upto);
            fputs(text, stdout);
            puts("]}");
        }
        sqlite3_free(text);
        since = upto;
    }
}

/* Nothing would come from a mark of another file, or of newer content than a backup has, and nobody
 * would see what is missing. */
static void check_mark(cli_file *file, int64_t since)
{
    sqlite3_stmt *row = cli_prepare(file, "SELECT upto FROM counter_changes(0) LIMIT 1");
    if (since > 0 && cli_step(file, row) && sqlite3_column_int64(row, 0) < since)
        cli_fail(file->c, "%s: --since %lld is no mark of this file, whose changes end before %lld",
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
    sqlite3_stmt *row = cli_prepare(&file, CHANGES);
    if (row) sqlite3_bind_int64(row, 1, since);
    print_batches(&file, row, since);
    sqlite3_finalize(row);
    cli_progress_erase(c);
    cli_close(&file);
}

/* ---- import ---------------------------------------------------------------------------------- */

static const char BATCH[] =
    "SELECT json_type(?1), json_type(?1, '$.changes'), json_extract(?1, '$.source'), "
    "json_extract(?1, '$.since'), json_extract(?1, '$.upto')";

/* A cell is collected from its shards; the row without an id brings its life, which is all that a
 * deleted one has. */
static const char BATCH_CHANGES[] =
    "SELECT json_extract(value, '$.table'), json_extract(value, '$.packed'), "
    "json_extract(value, '$.column'), json_extract(value, '$.generation'), "
    "(SELECT counter_collect(id, clock, value, life) FROM (SELECT json_extract(value, '$.id') AS "
    "id, json_extract(value, '$.clock') AS clock, json_extract(value, '$.value') AS value FROM "
    "json_each(change.value, '$.cell.shards') UNION ALL SELECT NULL, NULL, NULL), (SELECT "
    "json_extract(change.value, '$.cell.life') AS life) WHERE life IS NOT NULL), "
    "json_extract(value, '$.seq'), json_extract(value, '$.key_columns') "
    "FROM json_each(?1, '$.changes') AS change";
enum { CHANGE_PACKED = 1, CHANGE_CELL = 4, CHANGE_SEQ = 5, CHANGE_KEY_COLUMNS = 6 };

static const char INSERT[] =
    "INSERT INTO counter_changes(table_name, key, column_name, generation, cell, seq, key_columns, "
    "source) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
enum { INSERT_KEY = 2, INSERT_SOURCE = 8, INSERT_SHARED = 7 };

/* Lines that come one after the other from one source are told as one. */
typedef struct import {
    cli_file file;
    sqlite3_stmt *batch, *changes, *insert, *seen;
    int64_t line;
    char source[64]; /* of the line before; "": none */
    int64_t taken, mark;
    cli_rows rows;
} import;

static void fail_line(import *in, const char *what)
{
    cli_fail(in->file.c, "%s: line %lld: %s: nothing was imported", in->file.path,
             (long long)in->line, what);
}

/* The error that the connection is in, for change `n` of the line, or 0. */
static void fail_change(import *in, int64_t n)
{
    char *what = n ? sqlite3_mprintf("change %lld: %s", (long long)n, sqlite3_errmsg(in->file.db))
                   : sqlite3_mprintf("%s", sqlite3_errmsg(in->file.db));
    fail_line(in, what ? what : "out of memory");
    sqlite3_free(what);
}

static int digit(char c)
{
    static const char DIGITS[] = "0123456789ABCDEFabcdef";
    const char *at = c ? strchr(DIGITS, c) : NULL;
    int n = at ? (int)(at - DIGITS) : -1;
    return n > 15 ? n - 6 : n;
}

/* The bytes of hexadecimal digits; false if they are none. */
static bool bind_hexadecimal(sqlite3_stmt *to, int index, const char *text)
{
    size_t n = text ? strlen(text) : 1;
    unsigned char *bytes = n % 2 == 0 ? sqlite3_malloc64(n / 2 + 1) : NULL;
    if (!bytes) return false;
    bool is_valid = true;
    for (size_t i = 0; i < n; i += 2) {
        int high = digit(text[i]), low = digit(text[i + 1]);
        is_valid = is_valid && high >= 0 && low >= 0;
        bytes[i / 2] = (unsigned char)(is_valid ? 16 * high + low : 0);
    }
    sqlite3_bind_blob64(to, index, bytes, n / 2, sqlite3_free);
    return is_valid;
}

static void insert_change(import *in, int64_t n)
{
    sqlite3_stmt *from = in->changes, *to = in->insert;
    for (int i = 0; i < INSERT_SHARED; i++)
        sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
    const char *packed = (const char *)sqlite3_column_text(from, CHANGE_PACKED);
    if (!bind_hexadecimal(to, INSERT_KEY, packed)) {
        char *what = sqlite3_mprintf("change %lld: packed has to be hexadecimal, not %Q",
                                     (long long)n, packed);
        fail_line(in, what ? what : "out of memory");
        sqlite3_free(what);
        return;
    }
    if (sqlite3_step(to) != SQLITE_DONE) fail_change(in, n);
    sqlite3_reset(to);
    in->taken++;
    cli_progress_add(in->file.c);
}

/* Another source begins, or the end. */
static void tell_source(import *in, const char *next)
{
    if (strcmp(in->source, next) == 0) return;
    if (*in->source) {
        cli_rows_text(&in->rows, in->source);
        cli_rows_integer(&in->rows, in->taken);
        cli_rows_integer(&in->rows, in->mark);
        cli_rows_end(&in->rows);
    }
    sqlite3_snprintf(sizeof in->source, in->source, "%s", next);
    in->taken = 0;
}

static void import_changes(import *in, const char *line, size_t size)
{
    int rc = SQLITE_ROW;
    sqlite3_bind_text64(in->changes, 1, line, size, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_value(in->insert, INSERT_SOURCE, sqlite3_column_value(in->batch, 2));
    for (int64_t n = 1; rc == SQLITE_ROW && !in->file.c->failed; n++) {
        rc = sqlite3_step(in->changes);
        if (rc == SQLITE_ROW)
            insert_change(in, n);
        else if (rc != SQLITE_DONE)
            fail_change(in, n);
    }
    sqlite3_reset(in->changes);
}

/* All changes of the line are in. */
static void raise_mark(import *in)
{
    for (int i = 0; i < 3; i++)
        sqlite3_bind_value(in->seen, i + 1, sqlite3_column_value(in->batch, 2 + i));
    if (in->file.c->failed) return;
    if (sqlite3_step(in->seen) == SQLITE_ROW)
        in->mark = sqlite3_column_int64(in->seen, 0);
    else
        fail_change(in, 0);
    sqlite3_reset(in->seen);
}

static bool is_type(sqlite3_stmt *row, int column, const char *type)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return text && strcmp(text, type) == 0;
}

static void import_line(import *in, const char *line, size_t size)
{
    if (strspn(line, " \t\r\n") == size) return;
    int rc = sqlite3_bind_text64(in->batch, 1, line, size, SQLITE_STATIC, SQLITE_UTF8);
    bool is_json =
        rc == SQLITE_OK && !memchr(line, '\0', size) && sqlite3_step(in->batch) == SQLITE_ROW;
    if (rc != SQLITE_OK)
        fail_change(in, 0);
    else if (!is_json)
        fail_line(in, "it is no JSON, or was cut short");
    else if (!is_type(in->batch, 0, "object") || !is_type(in->batch, 1, "array"))
        fail_line(in, "it is no batch, which has source, since, upto and changes");
    if (!in->file.c->failed) {
        const char *source = (const char *)sqlite3_column_text(in->batch, 2);
        tell_source(in, source ? source : "");
        import_changes(in, line, size);
        raise_mark(in);
    }
    sqlite3_reset(in->batch);
}

static void import_lines(import *in)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size = 0;
    while (!in->file.c->failed && (size = getline(&line, &room, stdin)) >= 0) {
        in->line++;
        import_line(in, line, (size_t)size);
    }
    if (!in->file.c->failed && !feof(stdin))
        cli_fail(in->file.c, "standard input: %s: nothing was imported", strerror(errno));
    free(line);
}

void cli_import(cli *c, const cli_arguments *given)
{
import in = {.line = 0 };
    cli_open(&in.file, c, given->word[0]);
    cli_need_tables(&in.file);
    cli_progress_begin(c, given->word[0], "changes");
    cli_begin(&in.file);
    in.batch = cli_prepare(&in.file, BATCH);
    in.changes = cli_prepare(&in.file, BATCH_CHANGES);
    in.insert = cli_prepare(&in.file, INSERT);
    in.seen = cli_prepare(&in.file, "SELECT counter_seen(?1, ?2, ?3)");
    import_lines(&in);
    tell_source(&in, "");
    sqlite3_finalize(in.batch);
    sqlite3_finalize(in.changes);
    sqlite3_finalize(in.insert);
    sqlite3_finalize(in.seen);
    cli_end(&in.file);
    if (c->failed) cli_rows_cut(&in.rows, 0);
    cli_rows_print(&in.rows, c, "source\tchanges\tmark");
    cli_close(&in.file);
}
