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
        cli_progress_add(c, 1);
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

/* ---- taking ---------------------------------------------------------------------------------- */

/* Columns of ANSWERED. */
enum { ANSWERED_CHANGES, ANSWERED_SOURCE, ANSWERED_MARK };

/* Parameters of TAKE. */
enum { TAKE_LINE = 1, TAKE_SOURCE };

static void fail_line(cli_taking *in, const char *what)
{
    cli_fail(in->file->c, "%s: %sline %lld: %s: nothing was imported", in->file->path, in->from,
             (long long)in->line, what);
}

void cli_taking_begin(cli_taking *in, cli_file *file, const char *from, const char *source)
{
    *in = (cli_taking){.file = file, .from = from, .is_of_one = source != NULL};
    in->take = cli_prepare(file, CLI_SQL_TAKE);
    in->answered = cli_prepare(file, CLI_SQL_ANSWERED);
    if (file->c->failed) return;
    sqlite3_bind_text(in->take, TAKE_SOURCE, source, -1, SQLITE_STATIC);
}

void cli_taking_end(cli_taking *in)
{
    sqlite3_finalize(in->take);
    sqlite3_finalize(in->answered);
    for (size_t i = 0; i < in->n; i++) sqlite3_free(in->received[i].source);
    sqlite3_free(in->received);
    sqlite3_free(in->slots);
}

/* Where all lines are of one source, one without changes says that there is nothing new: a writer
 * needs no second one. Each takes time, and a thousand of them a few bytes of gzip. */
static void count_empty(cli_taking *in)
{
    enum { MOST = 1000 };
    if (in->is_of_one && ++in->empty > MOST)
        fail_line(in, "it is one of more than 1000 without changes");
}

/* Notes what the library has answered. */
static void note_answer(cli_taking *in)
{
    int64_t changes = 0;
    sqlite3_bind_value(in->answered, 1, sqlite3_column_value(in->take, 0));
    while (cli_step(in->file, in->answered)) {
        const char *source = (const char *)sqlite3_column_text(in->answered, ANSWERED_SOURCE);
        cli_received *from = source ? find_source(in, source) : NULL;
        changes = sqlite3_column_int64(in->answered, ANSWERED_CHANGES);
        if (!from) cli_fail(in->file->c, "out of memory");
        if (!from) continue;
        from->changes += changes;
        from->mark = sqlite3_column_int64(in->answered, ANSWERED_MARK);
    }
    sqlite3_reset(in->answered);
    cli_progress_add(in->file->c, changes);
    in->changes += changes;
    if (changes == 0) count_empty(in);
}

void cli_taking_line(cli_taking *in, const char *line, size_t size)
{
    in->line++;
    if (in->file->c->failed) return;
    sqlite3_bind_blob64(in->take, TAKE_LINE, line, size, SQLITE_STATIC);
    if (sqlite3_step(in->take) == SQLITE_ROW)
        note_answer(in);
    else
        fail_line(in, cli_message(in->file->db));
    sqlite3_reset(in->take);
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

int64_t cli_mark(cli_file *file, const char *source)
{
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_MARK, source);
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
