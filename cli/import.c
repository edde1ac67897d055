/* import.c - the command import: takes in the lines of export, in one transaction.
 *
 * The transaction begins when the last line has arrived: a slow sender locks nobody out.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/core.h"

/* ---- the lines ------------------------------------------------------------------------------- */

static void fail_input(cli *c, const char *what)
{
    cli_fail(c, "%s: %s: nothing was imported", what, strerror(errno));
}

/* A file that is gone when it is closed; NULL and an error if there is none. */
static FILE *open_temporary(cli *c)
{
    const char *folder = getenv("TMPDIR");
    char *path = sqlite3_mprintf("%s/sqlite-counter-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = path ? mkstemp(path) : -1;
    FILE *file = fd >= 0 ? fdopen(fd, "w+") : NULL;
    if (!file) fail_input(c, "a temporary file cannot be made");
    if (fd >= 0) unlink(path);
    if (fd >= 0 && !file) close(fd);
    sqlite3_free(path);
    return file;
}

static void copy_lines(cli *c, FILE *to)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    while ((size = getline(&line, &room, stdin)) >= 0) {
        if (fwrite(line, 1, (size_t)size, to) != (size_t)size) break;
        cli_progress_add(c);
        cli_progress_show(c);
    }
    if (ferror(to) || fflush(to) != 0)
        fail_input(c, "a temporary file cannot be written");
    else if (!feof(stdin))
        fail_input(c, "standard input");
    free(line);
    rewind(to);
}

/* All of standard input, to be closed unless it is stdin itself; NULL after an error. */
static FILE *read_input(cli *c, const char *path)
{
    struct stat seen;
    if (c->failed) return NULL;
    if (fstat(STDIN_FILENO, &seen) != 0) {
        fail_input(c, "standard input");
        return NULL;
    }
    if (S_ISREG(seen.st_mode)) return stdin;
    if (isatty(STDIN_FILENO)) cli_warn(c, "import reads the lines of export from standard input");
    FILE *copy = open_temporary(c);
    cli_progress_begin(c, path, "lines read");
    if (copy) copy_lines(c, copy);
    return copy;
}

/* ---- what is told of them -------------------------------------------------------------------- */

/* Returns where the source stands among the slots, or is to stand. There is a free one. */
static size_t slot_of(const cli_taking *in, const char *source)
{
    uint32_t hash = 2166136261; /* FNV-1a */
    for (const char *at = source; *at; at++) hash = (hash ^ (unsigned char)*at) * 16777619;
    size_t slot = hash & (in->n_slots - 1);
    while (in->slots[slot] && strcmp(in->received[in->slots[slot] - 1].source, source) != 0)
        slot = (slot + 1) & (in->n_slots - 1);
    return slot;
}

/* Makes room for one more source, so that half of the slots stay free. Returns false without
 * memory. */
static bool widen(cli_taking *in)
{
    if (in->n < in->n_slots / 2) return true;
    size_t n_slots = in->n_slots ? 2 * in->n_slots : 32;
    cli_received *received = sqlite3_realloc64(in->received, n_slots / 2 * sizeof *received);
    if (received) in->received = received;
    size_t *slots = received ? sqlite3_malloc64(n_slots * sizeof *slots) : NULL;
    if (!slots) return false;
    sqlite3_free(in->slots);
    in->slots = memset(slots, 0, n_slots * sizeof *slots);
    in->n_slots = n_slots;
    for (size_t i = 0; i < in->n; i++) slots[slot_of(in, received[i].source)] = i + 1;
    return true;
}

/* Lent until the next call; NULL without memory. */
static cli_received *find_source(cli_taking *in, const char *source)
{
    if (!widen(in)) return NULL;
    size_t slot = slot_of(in, source);
    if (in->slots[slot]) return &in->received[in->slots[slot] - 1];
    char *copy = sqlite3_mprintf("%s", source);
    if (!copy) return NULL;
    in->received[in->n] = (cli_received){.source = copy};
    in->slots[slot] = ++in->n;
    return &in->received[in->n - 1];
}

static void print_received(cli_taking *in)
{
    cli_rows rows = {0};
    for (size_t i = 0; i < in->n && !in->file->c->failed; i++) {
        cli_rows_text(&rows, in->received[i].source);
        cli_rows_integer(&rows, in->received[i].changes);
        cli_rows_integer(&rows, in->received[i].mark);
        cli_rows_end(&rows);
    }
    cli_rows_print(&rows, in->file->c, "source\tchanges\tmark");
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Columns of BATCH_CHANGES, and parameters of INSERT_CHANGE. */
enum { CHANGE_TABLE, CHANGE_PACKED, CHANGE_COLUMN, CHANGE_GENERATION, CHANGE_ANSWER = 7 };
enum { INSERT_KEY = 2, INSERT_CELL = 5, INSERT_SHARED = 7, INSERT_SOURCE = 8, INSERT_SCOPE = 9 };

static void fail_line(cli_taking *in, const char *what)
{
    cli_fail(in->file->c, "%s: %sline %lld: %s: nothing was imported", in->file->path, in->from,
             (long long)in->line, what);
}

/* Fails with `what`, which is freed; NULL: out of memory. */
static void fail_line_made(cli_taking *in, char *what)
{
    fail_line(in, what ? what : "out of memory");
    sqlite3_free(what);
}

static void fail_change(cli_taking *in, int64_t n)
{
    fail_line_made(in, sqlite3_mprintf("change %lld: %s", (long long)n, cli_message(in->file->db)));
}

/* A change that was refused may be for a table that is not there. */
static void fail_insert(cli_taking *in, int64_t n)
{
    const char *table = (const char *)sqlite3_column_text(in->changes, CHANGE_TABLE);
    const char *column = (const char *)sqlite3_column_text(in->changes, CHANGE_COLUMN);
    bool replicated =
        (column && !*column) || sqlite3_column_int64(in->changes, CHANGE_GENERATION) > UINT32_MAX;
    char *reason = sqlite3_mprintf("%s", cli_message(in->file->db));
    sqlite3_stmt *born = cli_prepare_text(in->file, CLI_SQL_IS_BORN, table);
    if (!table || cli_step(in->file, born))
        fail_line_made(in, sqlite3_mprintf("change %lld: %s", (long long)n, reason));
    else
        fail_line_made(
            in, sqlite3_mprintf("change %lld: there is no counter table %s here: create it as it "
                                "is at the source; if it is a %s table there, create the "
                                "ordinary table, then run: sqlite-counter %s %s %s %s",
                                (long long)n, table, replicated ? "replicated" : "tracked",
                                replicated ? "replicate" : "track", in->file->path, table,
                                column && *column ? column : "COLUMN"));
    sqlite3_finalize(born);
    sqlite3_free(reason);
}

/* The bytes of hexadecimal digits; false if they are none. */
static bool bind_hexadecimal(sqlite3_stmt *to, int index, const char *text)
{
    size_t n = text ? strlen(text) : 1;
    unsigned char *bytes = n % 2 == 0 ? sqlite3_malloc64(n / 2 + 1) : NULL;
    if (!bytes) return false;
    bool is_valid = true;
    for (size_t i = 0; i < n; i += 2) {
        int high = ctr_id_digit(text[i]), low = ctr_id_digit(text[i + 1]);
        is_valid = is_valid && high >= 0 && low >= 0;
        bytes[i / 2] = (unsigned char)(is_valid ? 16 * high + low : 0);
    }
    sqlite3_bind_blob64(to, index, bytes, n / 2, sqlite3_free);
    return is_valid;
}

static void insert_change(cli_taking *in, int64_t n)
{
    sqlite3_stmt *from = in->changes, *to = in->insert;
    for (int i = 0; i < INSERT_SHARED; i++)
        sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
    const char *packed = (const char *)sqlite3_column_text(from, CHANGE_PACKED),
               *answer = (const char *)sqlite3_column_text(from, CHANGE_ANSWER);
    bool is_key = bind_hexadecimal(to, INSERT_KEY, packed);
    if (!is_key || (answer && !bind_hexadecimal(to, INSERT_CELL, answer))) {
        fail_line_made(in,
                       sqlite3_mprintf("change %lld: %s must be hexadecimal, not %Q", (long long)n,
                                       is_key ? "cell" : "packed", is_key ? answer : packed));
        return;
    }
    if (sqlite3_step(to) != SQLITE_DONE) fail_insert(in, n);
    sqlite3_reset(to);
    cli_progress_add(in->file->c);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Columns of BATCH; SEEN takes the last three. */
enum {
    BATCH_TYPE,
    BATCH_CHANGES_TYPE,
    BATCH_FORMAT_TYPE,
    BATCH_FORMAT,
    BATCH_SOURCE,
    SEEN_TAKES = 3,
    SEEN_SCOPE
};

/* Returns the number of changes. */
static int64_t import_changes(cli_taking *in, const char *line, size_t size)
{
    int64_t n = 0;
    int rc = SQLITE_ROW;
    sqlite3_bind_text64(in->changes, 1, line, size, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_value(in->insert, INSERT_SOURCE, sqlite3_column_value(in->batch, BATCH_SOURCE));
    while (rc == SQLITE_ROW && !in->file->c->failed) {
        rc = sqlite3_step(in->changes);
        if (rc == SQLITE_ROW)
            insert_change(in, ++n);
        else if (rc != SQLITE_DONE)
            fail_change(in, n + 1);
    }
    sqlite3_reset(in->changes);
    return n;
}

/* All changes of the line are in. */
static void raise_mark(cli_taking *in, int64_t changes)
{
    const char *source = (const char *)sqlite3_column_text(in->batch, BATCH_SOURCE);
    if (in->file->c->failed) return;
    for (int i = 0; i < SEEN_TAKES; i++)
        sqlite3_bind_value(in->seen, i + 1, sqlite3_column_value(in->batch, BATCH_SOURCE + i));
    cli_received *from = NULL;
    if (sqlite3_step(in->seen) != SQLITE_ROW)
        fail_line(in, cli_message(in->file->db));
    else if (!source || !(from = find_source(in, source)))
        fail_line(in, "out of memory");
    if (from) {
        from->changes += changes;
        from->mark = sqlite3_column_int64(in->seen, 0);
    }
    sqlite3_reset(in->seen);
}

static bool is_type(sqlite3_stmt *row, int column, const char *type)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return text && strcmp(text, type) == 0;
}

static void check_format(cli_taking *in)
{
    int64_t format = sqlite3_column_int64(in->batch, BATCH_FORMAT);
    if (sqlite3_column_type(in->batch, BATCH_FORMAT_TYPE) == SQLITE_NULL) return;
    if (!is_type(in->batch, BATCH_FORMAT_TYPE, "integer") || format < 1)
        fail_line(in, "its format must be a whole number from 1 on");
    else if (format > CLI_LINE_FORMAT)
        fail_line_made(in,
                       sqlite3_mprintf(CLI_FORMAT_IS_NEWER, (long long)format, CLI_LINE_FORMAT));
}

/* Fails unless the line is a batch that we can read; `rc` is that of the step that has read it. */
static void check_batch(cli_taking *in, int rc, bool is_text)
{
    if (!is_text || rc == SQLITE_ERROR) {
        fail_line(in, "it is not JSON, or was cut short");
    } else if (rc != SQLITE_ROW) {
        fail_line(in, cli_message(in->file->db));
    } else {
        bool is_object = is_type(in->batch, BATCH_TYPE, "object");
        if (is_object) check_format(in);
        if (!is_object || !is_type(in->batch, BATCH_CHANGES_TYPE, "array"))
            fail_line(in, "it is not a batch, which has source, since, upto and changes");
    }
}

/* Fails if the batch is another one's, or goes further than its file says. */
static void check_place(cli_taking *in)
{
    const char *source = (const char *)sqlite3_column_text(in->batch, BATCH_SOURCE);
    int64_t since = sqlite3_column_int64(in->batch, BATCH_SOURCE + 1),
            upto = sqlite3_column_int64(in->batch, BATCH_SOURCE + 2);
    if (!in->only || in->file->c->failed) return;
    if (!source || strcmp(source, in->only) != 0)
        fail_line_made(in, sqlite3_mprintf("it has changes of %Q, not of %Q", source, in->only));
    else if (since < in->since || upto > in->upto)
        fail_line_made(in,
                       sqlite3_mprintf("it has changes from %lld to %lld, which the name of the "
                                       "file does not say",
                                       (long long)since, (long long)upto));
}

void cli_taking_begin(cli_taking *in, cli_file *file, const char *from, const char *scope)
{
    *in = (cli_taking){.file = file, .from = from, .scope = scope};
    in->batch = cli_prepare(file, CLI_SQL_BATCH);
    in->changes = cli_prepare(file, CLI_SQL_BATCH_CHANGES);
    in->insert = cli_prepare(file, CLI_SQL_INSERT_CHANGE);
    in->seen = cli_prepare(file, CLI_SQL_SEEN);
    if (file->c->failed) return;
    sqlite3_bind_text(in->insert, INSERT_SCOPE, scope, -1, SQLITE_STATIC);
    sqlite3_bind_text(in->seen, SEEN_SCOPE, scope, -1, SQLITE_STATIC);
}

void cli_taking_end(cli_taking *in)
{
    sqlite3_finalize(in->batch);
    sqlite3_finalize(in->changes);
    sqlite3_finalize(in->insert);
    sqlite3_finalize(in->seen);
    for (size_t i = 0; i < in->n; i++) sqlite3_free(in->received[i].source);
    sqlite3_free(in->received);
    sqlite3_free(in->slots);
}

/* Where all lines are of one source, one without changes says that there is nothing new: a writer
 * needs no second one. Each takes time, and a thousand of them a few bytes of gzip. */
static void count_empty(cli_taking *in, int64_t changes)
{
    enum { MOST = 1000 };
    if (changes > 0 || !in->only || ++in->empty <= MOST || in->file->c->failed) return;
    fail_line_made(in, sqlite3_mprintf("it is one of more than %d batches without changes", MOST));
}

void cli_taking_line(cli_taking *in, const char *line, size_t size)
{
    int64_t n = 0;
    in->line++;
    if (in->file->c->failed) return;
    if (strspn(line, " \t\r\n") == size) {
        count_empty(in, n);
        return;
    }
    int rc = sqlite3_bind_text64(in->batch, 1, line, size, SQLITE_STATIC, SQLITE_UTF8);
    if (rc == SQLITE_OK) rc = sqlite3_step(in->batch);
    check_batch(in, rc, !memchr(line, '\0', size));
    check_place(in);
    if (!in->file->c->failed) n = import_changes(in, line, size);
    count_empty(in, n);
    raise_mark(in, n);
    sqlite3_reset(in->batch);
}

static void import_lines(cli_taking *in, FILE *lines)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size = 0;
    while (!in->file->c->failed && (size = getline(&line, &room, lines)) >= 0) {
        cli_taking_line(in, line, (size_t)size);
    }
    if (!in->file->c->failed && !feof(lines)) fail_input(in->file->c, "standard input");
    free(line);
}

int64_t cli_mark(cli_file *file, const char *source, const char *scope)
{
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_MARK, source);
    if (row) sqlite3_bind_text(row, 2, scope, -1, SQLITE_STATIC);
    int64_t mark = cli_step(file, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return mark;
}

void cli_import(cli *c, const cli_arguments *given)
{
    cli_file file;
    cli_taking in;
    cli_open(&file, c, given->word[0]);
    cli_need_write(&file);
    cli_need_tables(&file);
    FILE *lines = read_input(c, given->word[0]);
    cli_progress_begin(c, given->word[0], "changes");
    cli_begin(&file);
    cli_taking_begin(&in, &file, "", NULL);
    if (lines) import_lines(&in, lines);
    cli_end(&file);
    print_received(&in);
    cli_taking_end(&in);
    cli_warn_of_tables(&file);
    if (lines && lines != stdin) fclose(lines);
    cli_close(&file);
}
