/* merge.c - the command merge: two descendants of one SQLite file become one. cli/merge/merge.h says
 * how.
 *
 * Exit status: 0 merged; 1 merged, and conflicts are listed; 2 nothing was done.
 */
#define _POSIX_C_SOURCE 200809L

#include "cli/merge/merge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory -------------------------------------------------------------------------------------- */

void *merge_keep(merge *m, void *owned)
{
    if (!owned) {
        cli_fail(m->c, "out of memory");
        return NULL;
    }
    if (m->n_kept % 256 == 0) {
        void **more = sqlite3_realloc64(m->kept, (m->n_kept + 256) * sizeof *more);
        if (!more) {
            sqlite3_free(owned);
            cli_fail(m->c, "out of memory");
            return NULL;
        }
        m->kept = more;
    }
    m->kept[m->n_kept++] = owned;
    return owned;
}

const char *merge_text(merge *m, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const char *text = merge_keep(m, sqlite3_vmprintf(format, values));
    va_end(values);
    return text ? text : "";
}

void *merge_array(merge *m, size_t n, size_t size)
{
    void *array = merge_keep(m, sqlite3_malloc64(n * size));
    if (array) memset(array, 0, n * size);
    return array;
}

void merge_free(merge *m)
{
    for (size_t i = 0; i < m->n_kept; i++) sqlite3_free(m->kept[i]);
    sqlite3_free(m->kept);
}

/* ---- what was asked for -------------------------------------------------------------------------- */

const char *merge_asked(const merge *m, const char *prefix, int k)
{
    size_t n = strlen(prefix);
    for (int i = 0; i < m->given->n_asks; i++)
        if (strncmp(m->given->asks[i], prefix, n) == 0 && k-- == 0) return m->given->asks[i] + n;
    for (int i = 0; i < m->n_options; i++)
        if (strncmp(m->option[i], prefix, n) == 0 && k-- == 0) return m->option[i] + n;
    return NULL;
}

bool merge_asks_for(const merge *m, const char *prefix, const char *value)
{
    const char *word;
    for (int k = 0; (word = merge_asked(m, prefix, k)); k++)
        if (sqlite3_stricmp(word, value) == 0) return true;
    return false;
}

/* A line of a file of options: an option as the command takes it, or a comment. */
static void read_option_line(merge *m, const char *path, const char *line)
{
    static const char *const VALUED[] = {"add", "ref", "no-ref", "assigned", "theirs"};
    line += strspn(line, " \t");
    size_t size = strcspn(line, "\r\n");
    while (size > 0 && (line[size - 1] == ' ' || line[size - 1] == '\t')) size--;
    if (size == 0 || *line == '#') return;
    const char *word = merge_text(m, "%.*s", (int)size, line);
    m->base_is_fork |= strcmp(word, "--base-is-fork") == 0;
    m->conflict_table |= strcmp(word, "--conflict-table") == 0;
    if (strcmp(word, "--base-is-fork") == 0 || strcmp(word, "--conflict-table") == 0) return;
    for (size_t i = 0; i < sizeof VALUED / sizeof *VALUED; i++) {
        size_t n = strlen(VALUED[i]);
        bool is_named = strncmp(word, "--", 2) == 0 && strncmp(word + 2, VALUED[i], n) == 0;
        const char *value = is_named ? word + 2 + n : "";
        bool is_bare = is_named && *value == '\0' && strcmp(VALUED[i], "theirs") == 0;
        if (!is_bare && (*value == '\0' || !strchr("= \t", *value))) continue;
        value += strspn(value, "= \t");
        char **more = merge_array(m, (size_t)m->n_options + 1, sizeof *more);
        if (!more) return;
        if (m->n_options > 0) memcpy(more, m->option, (size_t)m->n_options * sizeof *more);
        more[m->n_options++] = merge_keep(m, sqlite3_mprintf("%s=%s", VALUED[i], value));
        m->option = more;
        return;
    }
    cli_fail(m->c, "%s: '%s' is no option that merge takes from a file", path, word);
}

/* Returns false if there is no such file. */
static bool read_option_file(merge *m, const char *path)
{
    char line[4096];
    FILE *file = fopen(path, "r");
    while (file && !m->c->failed && fgets(line, sizeof line, file)) read_option_line(m, path, line);
    if (file) fclose(file);
    return file != NULL;
}

/* --options FILE, or .sqlite-merge beside OURS, or in the top folder of the work tree of git. */
static void read_options(merge *m)
{
    const char *ours = m->driven_path ? m->driven_path : m->ours_path, *slash = strrchr(ours, '/');
    if (m->given->options) {
        if (!read_option_file(m, m->given->options))
            cli_fail(m->c, "%s: the file of options cannot be read", m->given->options);
        return;
    }
    const char *folder = slash ? merge_text(m, "%.*s", (int)(slash - ours), ours) : ".";
    if (slash == ours) folder = "/.";
    if (read_option_file(m, merge_text(m, "%s/.sqlite-merge", folder))) return;
    char *top = merge_top_folder(folder);
    if (top) read_option_file(m, merge_text(m, "%s/.sqlite-merge", top));
    sqlite3_free(top);
}

/* BASE OURS THEIRS, or OURS THEIRS with --copies or --unrelated; git adds what it calls OURS. */
static void read_files(merge *m)
{
    const cli_arguments *given = m->given;
    int n = given->driver ? given->n - 1 : given->n;
    m->mode = given->copies ? MERGE_COPIES : given->unrelated ? MERGE_UNRELATED : MERGE_THREE_WAY;
    if (n < 2 || n > 3)
        cli_fail(m->c,
                 "merge takes [OPTION...] BASE OURS THEIRS, not %d argument%s: see sqlite-counter "
                 "merge --help",
                 given->n, given->n == 1 ? "" : "s");
    else if (n == 3 && m->mode != MERGE_THREE_WAY)
        cli_fail(m->c, "merge: --%s takes OURS and THEIRS, without BASE",
                 given->copies ? "copies" : "unrelated");
    else if (n == 2 && m->mode == MERGE_THREE_WAY)
        cli_fail(
            m->c,
            "merge: without BASE deletions cannot be told from new rows: say --copies, if one key "
            "is one row in both files, or --unrelated, if each has given its own numbers to its "
            "rows");
    if (given->copies && given->unrelated)
        cli_fail(m->c, "merge: --copies and --unrelated exclude each other");
    if (given->driver && (given->output || given->dry_run))
        cli_fail(m->c, "merge: --driver is for git, without --output and --dry-run");
    if (m->c->failed) return;
    m->base_path = n == 3 ? given->word[0] : NULL;
    m->ours_path = m->into.path = given->word[n - 2];
    m->theirs_path = given->word[n - 1];
    m->driven_path = given->driver ? given->word[n] : NULL;
    if (m->driven_path) m->into.path = m->driven_path; /* errors name the file that users know */
    m->base_is_fork = given->base_is_fork;
    m->conflict_table = given->conflict_table || given->driver;
    read_options(m);
    if (given->copies && merge_asked(m, "add=", 0))
        cli_fail(m->c,
                 "merge: --add needs BASE: of two numbers alone nobody can tell what was added");
}

/* ---- the merge ----------------------------------------------------------------------------------- */

/* What was written must be whole. */
static void check_result(merge *m)
{
    for (int i = 0; i < m->n && !m->c->failed; i++) {
        merge_table *t = &m->table[i];
        if (t->is_virtual || !merge_integer(m, t, -1, CLI_SQL_MERGE_TOUCHED)) continue;
        sqlite3_stmt *row =
            cli_prepare(&m->into, merge_text(m, "PRAGMA main.integrity_check('%q')", t->name));
        if (cli_step(&m->into, row) && strcmp((const char *)sqlite3_column_text(row, 0), "ok") != 0)
            cli_fail(m->c, "merge: %s: the result would be damaged: %s", t->name,
                     sqlite3_column_text(row, 0));
        sqlite3_finalize(row);
    }
}

/* Returns whether there are conflicts. */
static bool merge_all(merge *m)
{
    cli_run(&m->into, CLI_SQL_MERGE_MAKE_CONFLICT);
    cli_run(&m->into, CLI_SQL_MERGE_MAKE_NOTE);
    cli_run(&m->into, CLI_SQL_MERGE_MAKE_MOVES);
    cli_run(&m->into, CLI_SQL_MERGE_INDEX_MOVES);
    cli_run(&m->into, CLI_SQL_MERGE_MAKE_NAMES);
    merge_schema_begin(m);
    merge_tables_read(m);
    merge_rows_find(m);
    merge_amounts_read(m);
    merge_numbers(m);
    if (m->c->failed || m->asks) return false;
    merge_rows_join(m);
    merge_amounts_check(m);
    merge_virtual(m);
    merge_schema_end(m);
    merge_numbers_remember(m);
    merge_amounts_remember(m);
    if (m->conflict_table) merge_report_keep(m);
    check_result(m);
    return !m->c->failed && merge_report(m);
}

static void merge_files(merge *m)
{
    bool conflicts = false;
    read_files(m);
    if (!m->c->failed) merge_open(m);
    if (!m->c->failed) conflicts = merge_all(m);
    if (m->asks && !m->c->failed) merge_report_asks(m);
    merge_close(m, !m->c->failed && !m->asks && !m->given->dry_run);
    m->c->status = m->c->failed || m->asks ? 2 : conflicts ? 1 : 0;
}

void cli_merge(cli *c, const cli_arguments *given)
{
    merge m = {.c = c, .given = given, .into = {.c = c}, .output = sqlite3_str_new(NULL)};
    if (given->install) {
        merge_install_driver(c, given);
    } else if (given->as_text) {
        m.into.path = given->n == 1 ? given->word[0] : "";
        if (given->n != 1) cli_fail(c, "merge: --text takes one file, not %d", given->n);
        if (!c->failed) merge_print_text(&m);
        merge_close(&m, false);
    } else {
        merge_files(&m);
    }
    char *output = sqlite3_str_finish(m.output);
    cli_progress_erase(c);
    if (output && !c->failed) fputs(output, stdout);
    sqlite3_free(output);
    merge_free(&m);
    if (c->failed) c->status = 2;
}
