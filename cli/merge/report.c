/* report.c - what a merge has done: a line for each table, then conflicts, then notes; as sentences, or
 * with --json an object for each.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/merge/merge.h"

enum { SHOWN_LETTERS = 60, SHOWN_MOVES = 8 };

/* ---- values ---------------------------------------------------------------------------------------- */

static void write_json_text(sqlite3_str *out, const char *text, int n)
{
    sqlite3_str_appendchar(out, 1, '"');
    for (int i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            sqlite3_str_appendf(out, "\\%c", c);
        else if (c < ' ' || c == 0x7f)
            sqlite3_str_appendf(out, "\\u%04x", c);
        else
            sqlite3_str_append(out, text + i, 1);
    }
    sqlite3_str_appendchar(out, 1, '"');
}

static void write_hex(sqlite3_str *out, const unsigned char *bytes, int n)
{
    for (int i = 0; i < n; i++) sqlite3_str_appendf(out, "%02x", bytes[i]);
}

/* BLOBs as {"hex": "..."}; infinity, which JSON lacks, as a number that is too large. */
static void write_json(sqlite3_str *out, sqlite3_value *value)
{
    const char *text;
    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL: sqlite3_str_appendall(out, "null"); break;
    case SQLITE_INTEGER: sqlite3_str_appendf(out, "%lld", sqlite3_value_int64(value)); break;
    case SQLITE_FLOAT:
        text = (const char *)sqlite3_value_text(value);
        if (text && strstr(text, "Inf"))
            sqlite3_str_appendall(out, *text == '-' ? "-9e999" : "9e999");
        else
            sqlite3_str_appendf(out, "%!.17g", sqlite3_value_double(value));
        break;
    case SQLITE_TEXT:
        text = (const char *)sqlite3_value_text(value);
        write_json_text(out, text ? text : "", text ? sqlite3_value_bytes(value) : 0);
        break;
    default:
        sqlite3_str_appendall(out, "{\"hex\": \"");
        write_hex(out, sqlite3_value_blob(value), sqlite3_value_bytes(value));
        sqlite3_str_appendall(out, "\"}");
    }
}

/* As a literal of SQL, without what a terminal obeys, and not too long. */
static void write_shown(sqlite3_str *out, sqlite3_value *value)
{
    if (sqlite3_value_type(value) == SQLITE_BLOB) {
        int n = sqlite3_value_bytes(value);
        sqlite3_str_appendall(out, "x'");
        write_hex(out, sqlite3_value_blob(value), n > SHOWN_LETTERS / 2 ? SHOWN_LETTERS / 2 : n);
        sqlite3_str_appendall(out, n > SHOWN_LETTERS / 2 ? "..." : "'");
        return;
    }
    const char *text = (const char *)sqlite3_value_text(value);
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
    if (is_text) sqlite3_str_appendchar(out, 1, '\'');
    int letters = 0;
    for (const char *s = text ? text : "NULL"; *s; letters++) {
        int control = cli_control_size(s), size = cli_letter_size(s);
        if (is_text && letters == SHOWN_LETTERS) {
            sqlite3_str_appendall(out, "...");
            return;
        }
        if (control > 0)
            sqlite3_str_appendchar(out, 1, '?');
        else if (is_text && *s == '\'')
            sqlite3_str_appendall(out, "''");
        else
            sqlite3_str_append(out, s, size);
        s += control > 0 ? control : size;
    }
    if (is_text) sqlite3_str_appendchar(out, 1, '\'');
}

static void result_of(sqlite3_context *ctx, sqlite3_str *out)
{
    int n = sqlite3_str_length(out);
    char *text = sqlite3_str_finish(out);
    if (text || n == 0)
        sqlite3_result_text(ctx, text ? text : sqlite3_mprintf(""), n, sqlite3_free);
    else
        sqlite3_result_error_nomem(ctx);
}

/* merge_shown(value, ...): values of a key, for people. */
static void fn_merge_shown(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < argc; i++) {
        if (i > 0) sqlite3_str_appendall(out, ", ");
        write_shown(out, argv[i]);
    }
    result_of(ctx, out);
}

/* merge_list(value, ...): a JSON array. */
static void fn_merge_list(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendall(out, "[");
    for (int i = 0; i < argc; i++) {
        if (i > 0) sqlite3_str_appendall(out, ", ");
        write_json(out, argv[i]);
    }
    sqlite3_str_appendall(out, "]");
    result_of(ctx, out);
}

/* merge_pairs(name, value, ...): what stands in a JSON object. */
static void fn_merge_pairs(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i + 1 < argc; i += 2) {
        if (i > 0) sqlite3_str_appendall(out, ", ");
        write_json(out, argv[i]);
        sqlite3_str_appendall(out, ": ");
        write_json(out, argv[i + 1]);
    }
    result_of(ctx, out);
}

/* merge_bytes(value, ...): a text that is another one if a type or a byte is; 0.0 is -0.0. */
static void fn_merge_bytes(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < argc; i++) {
        int type = sqlite3_value_type(argv[i]);
        double real = type == SQLITE_FLOAT ? sqlite3_value_double(argv[i]) : 0;
        uint64_t bits;
        real = real == 0 ? 0 : real;
        memcpy(&bits, &real, sizeof bits);
        if (type == SQLITE_INTEGER)
            sqlite3_str_appendf(out, "i%lld;", sqlite3_value_int64(argv[i]));
        if (type == SQLITE_FLOAT) sqlite3_str_appendf(out, "r%llx;", bits);
        if (type == SQLITE_NULL) sqlite3_str_appendall(out, "n;");
        if (type != SQLITE_TEXT && type != SQLITE_BLOB) continue;
        const char *bytes = type == SQLITE_TEXT ? (const char *)sqlite3_value_text(argv[i])
                                                : sqlite3_value_blob(argv[i]);
        int n = sqlite3_value_bytes(argv[i]);
        sqlite3_str_appendf(out, "%c%d:", type == SQLITE_TEXT ? 't' : 'b', n);
        if (n > 0 && bytes) sqlite3_str_append(out, bytes, n);
    }
    result_of(ctx, out);
}

/* merge_digest(text): FNV-1a, a number that is another one if the text is. */
static void fn_merge_digest(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    const unsigned char *text = sqlite3_value_text(argv[0]);
    uint64_t digest = 0xcbf29ce484222325;
    for (int n = sqlite3_value_bytes(argv[0]); text && n > 0; n--)
        digest = (digest ^ *text++) * 0x100000001b3;
    sqlite3_result_int64(ctx, (int64_t)digest);
}

/* merge_has_rows(name, declaration): whether a virtual table is merged row by row. */
static void fn_merge_has_rows(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    sqlite3_result_int(ctx, merge_virtual_has_rows(sqlite3_user_data(ctx),
                                                   (const char *)sqlite3_value_text(argv[0]),
                                                   (const char *)sqlite3_value_text(argv[1])));
}

void merge_report_functions(merge *m)
{
    static const struct {
        const char *name;
        int argc;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } FUNCTIONS[] = {
        {"merge_shown", -1, fn_merge_shown},  {"merge_list", -1, fn_merge_list},
        {"merge_pairs", -1, fn_merge_pairs},  {"merge_bytes", -1, fn_merge_bytes},
        {"merge_digest", 1, fn_merge_digest}, {"merge_has_rows", 2, fn_merge_has_rows}};
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++)
        if (sqlite3_create_function(m->into.db, FUNCTIONS[i].name, FUNCTIONS[i].argc,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, m,
                                    FUNCTIONS[i].call, NULL, NULL) != SQLITE_OK)
            cli_fail_file(&m->into, "");
}

/* ---- collecting ------------------------------------------------------------------------------------ */

static void add_note(merge *m, const char *is_question, const char *format, va_list values)
{
    char *text = sqlite3_vmprintf(format, values);
    if (!text) cli_fail(m->c, "out of memory");
    merge_run_texts(m, CLI_SQL_MERGE_ADD_NOTE, (const char *const[]){text, is_question}, 2);
    sqlite3_free(text);
}

void merge_note(merge *m, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    add_note(m, "0", format, values);
    va_end(values);
}

void merge_question(merge *m, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    add_note(m, "1", format, values);
    va_end(values);
}

void merge_conflict(merge *m, const char *kind, const char *table, const char *column,
                    const char *taken, const char *note)
{
    merge_run_texts(m, CLI_SQL_MERGE_ADD_CONFLICT,
                    (const char *const[]){kind, table, column, taken, note}, 5);
}

void merge_report_keep(merge *m)
{
    if (merge_integer_of(m, CLI_SQL_MERGE_COUNT_CONFLICT) == 0) return;
    cli_run(&m->into, "DROP TABLE IF EXISTS main._merge_conflicts");
    cli_run(&m->into, CLI_SQL_MERGE_CONFLICTS_MAKE);
    cli_run(&m->into, CLI_SQL_MERGE_CONFLICTS_FILL);
}

/* ---- tables ---------------------------------------------------------------------------------------- */

static void write_count(sqlite3_str *out, int64_t n, const char *what)
{
    if (n > 0)
        sqlite3_str_appendf(out, "%s%lld %s", sqlite3_str_length(out) > 0 ? ", " : "", n, what);
}

static void write_moves(merge *m, merge_table *t, sqlite3_str *out, bool as_json)
{
    int64_t n = t->gives_numbers ? merge_integer(m, t, -1, CLI_SQL_MERGE_COUNT_MOVED) : 0, i = 0;
    if (!as_json) write_count(out, n, "renumbered (");
    if (n == 0) return;
    sqlite3_stmt *row = merge_prepare(m, t, -1, CLI_SQL_MERGE_SHOW_MOVED);
    for (; cli_step(&m->into, row) && (as_json || i < SHOWN_MOVES); i++)
        sqlite3_str_appendf(out, as_json ? "%s[%lld, %lld]" : "%s%lld\xe2\x86\x92%lld",
                            i > 0 ? ", " : "", sqlite3_column_int64(row, 0),
                            sqlite3_column_int64(row, 1));
    sqlite3_finalize(row);
    if (!as_json && i < n) sqlite3_str_appendf(out, ", %lld more", n - i);
    if (!as_json) sqlite3_str_appendall(out, ")");
}

static void print_line(merge *m, sqlite3_str *out)
{
    char *line = sqlite3_str_finish(out);
    if (!line) cli_fail(m->c, "out of memory");
    if (line) sqlite3_str_appendf(m->output, "%s\n", line);
    sqlite3_free(line);
}

static void print_table(merge *m, merge_table *t)
{
    if (!merge_integer(m, t, -1, CLI_SQL_MERGE_HAS_CHANGES)) return;
    sqlite3_stmt *row = merge_prepare(m, t, -1, CLI_SQL_MERGE_COUNT_ROWS);
    int64_t count[5] = {0};
    if (cli_step(&m->into, row))
        for (int i = 0; i < 5; i++) count[i] = sqlite3_column_int64(row, i);
    sqlite3_finalize(row);
    sqlite3_str *out = sqlite3_str_new(NULL);
    if (m->given->json) {
        sqlite3_str_appendall(out, "{\"table\": ");
        write_json_text(out, t->name, (int)strlen(t->name));
        sqlite3_str_appendf(out,
                            ", \"inserted\": %lld, \"updated\": %lld, \"deleted\": %lld, \"same\": "
                            "%lld, \"joined\": %lld, \"renumbered\": [",
                            count[0], count[2], count[3], count[4], count[1]);
        write_moves(m, t, out, true);
        sqlite3_str_appendall(out, "]}");
    } else {
        const char *const words[] = {"new", m->mode == MERGE_COPIES ? "in both" : "new in both",
                                     "changed", "deleted"};
        for (int i = 0; i < 4; i++) write_count(out, count[i], words[i]);
        write_moves(m, t, out, false);
        int64_t conflicts = merge_integer(m, t, -1, CLI_SQL_MERGE_COUNT_CONFLICTS_OF);
        if (sqlite3_str_length(out) == 0)
            write_count(out, conflicts, conflicts == 1 ? "conflict" : "conflicts");
        char *counts = sqlite3_str_finish(out);
        out = sqlite3_str_new(NULL);
        sqlite3_str_appendf(out, "%s: %s", t->name, counts ? counts : "nothing new");
        sqlite3_free(counts);
    }
    print_line(m, out);
}

/* ---- conflicts ------------------------------------------------------------------------------------- */

/* Columns of MERGE_CONFLICTS. */
enum { KIND, TABLE, SHOWN, ROW_KEY, COLUMN, BASE, OURS, THEIRS, TAKEN, NOTE };

static const char *text_in(sqlite3_stmt *row, int i)
{
    return (const char *)sqlite3_column_text(row, i);
}

static void write_field(sqlite3_str *out, const char *name, sqlite3_stmt *row, int i, bool is_json)
{
    sqlite3_str_appendf(out, ", \"%s\": ", name);
    if (is_json && text_in(row, i))
        sqlite3_str_appendall(out, text_in(row, i));
    else
        write_json(out, sqlite3_column_value(row, i));
}

static void print_conflict_json(merge *m, sqlite3_stmt *row)
{
    bool is_row = !text_in(row, COLUMN);
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendf(out, "{\"conflict\": {\"kind\": \"%s\"", text_in(row, KIND));
    write_field(out, "table", row, TABLE, false);
    write_field(out, "key", row, ROW_KEY, true);
    write_field(out, "column", row, COLUMN, false);
    write_field(out, "base", row, BASE, is_row);
    write_field(out, "ours", row, OURS, is_row);
    write_field(out, "theirs", row, THEIRS, is_row);
    write_field(out, "taken", row, TAKEN, false);
    write_field(out, "note", row, NOTE, false);
    sqlite3_str_appendall(out, "}}");
    print_line(m, out);
}

static void print_conflict(merge *m, sqlite3_stmt *row)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    const char *taken = text_in(row, TAKEN);
    sqlite3_str_appendf(out, "conflict  %s", text_in(row, TABLE));
    if (text_in(row, SHOWN) && *text_in(row, SHOWN))
        sqlite3_str_appendf(out, " %s", text_in(row, SHOWN));
    if (text_in(row, COLUMN)) sqlite3_str_appendf(out, " %s", text_in(row, COLUMN));
    if (strcmp(text_in(row, KIND), "column") == 0) {
        sqlite3_str_appendall(out, ": ");
        if (sqlite3_column_type(row, BASE) != SQLITE_NULL) {
            sqlite3_str_appendall(out, "base ");
            write_shown(out, sqlite3_column_value(row, BASE));
            sqlite3_str_appendall(out, ", ");
        }
        sqlite3_str_appendall(out, "ours ");
        write_shown(out, sqlite3_column_value(row, OURS));
        sqlite3_str_appendall(out, ", theirs ");
        write_shown(out, sqlite3_column_value(row, THEIRS));
    }
    if (text_in(row, NOTE)) sqlite3_str_appendf(out, ": %s", text_in(row, NOTE));
    bool is_left_out = taken && strcmp(taken, "none") == 0;
    if (is_left_out)
        sqlite3_str_appendf(out, ": left out");
    else if (taken && strcmp(taken, "both") != 0)
        sqlite3_str_appendf(out, ": took %s", taken);
    if (text_in(row, THEIRS) && !text_in(row, COLUMN))
        sqlite3_str_appendf(out, "; theirs %s", text_in(row, THEIRS));
    print_line(m, out);
}

/* ---- notes ----------------------------------------------------------------------------------------- */

/* What was merged into OURS would be added once more: the advice begins from OURS as it was. */
static void guess_adds(merge *m)
{
    bool is_written = !m->given->dry_run && !m->given->output;
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->table[i].n; k++) {
            merge_table *t = &m->table[i];
            const merge_column *column = &t->column[k];
            if (column->adds || column->key > 0 || column->of >= 0) continue;
            int64_t n = merge_integer(m, t, k, CLI_SQL_MERGE_GUESS_ADD);
            if (n > 0)
                merge_note(
                    m,
                    "%lld number%s of %s.%s %s changed on both sides: --add %s.%s adds them up%s",
                    n, n == 1 ? "" : "s", t->name, column->name, n == 1 ? "was" : "were", t->name,
                    column->name, is_written ? ", if OURS is as it was before this merge" : "");
        }
}

/* Rows without a key are not one row in two files. */
static void tell_of_rows(merge *m)
{
    for (int i = 0; i < m->n; i++) {
        merge_table *t = &m->table[i];
        if (t->key != KEY_NONE) continue;
        int64_t n = merge_integer(m, t, -1, CLI_SQL_MERGE_COUNT_BOTH_GONE);
        if (n > 0)
            merge_note(
                m,
                "%lld row%s of %s, which has no key, went on both sides, and others came: one "
                "that was changed on both sides is two rows now",
                n, n == 1 ? "" : "s", t->name);
    }
}

/* Files with counters would have needed no new numbers. */
static void tell_of_counters(merge *m)
{
    for (int i = 0; i < m->n; i++) {
        merge_table *t = &m->table[i];
        bool matters = t->gives_numbers && merge_integer(m, t, -1, CLI_SQL_MERGE_COUNT_MOVED) > 0;
        for (int k = 0; k < t->n; k++)
            matters |= t->column[k].adds && merge_integer(m, t, k, CLI_SQL_MERGE_ADDED_UP);
        if (!matters) continue;
        merge_note(m,
                   "files that count by themselves need no BASE and no new numbers: sqlite-counter "
                   "adopt %s",
                   merge_name_of(m, m->ours_path));
        return;
    }
}

static void print_notes(merge *m, const char *is_question, const char *name)
{
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_NOTES, &is_question, 1);
    while (cli_step(&m->into, row)) {
        sqlite3_str *out = sqlite3_str_new(NULL);
        if (m->given->json) {
            sqlite3_str_appendf(out, "{\"%s\": ", name);
            write_json(out, sqlite3_column_value(row, 0));
            sqlite3_str_appendall(out, "}");
        } else {
            sqlite3_str_appendall(out, text_in(row, 0));
        }
        print_line(m, out);
    }
    sqlite3_finalize(row);
}

void merge_report_asks(merge *m)
{
    print_notes(m, "1", "ask");
}

bool merge_report(merge *m)
{
    int64_t conflicts = merge_integer_of(m, CLI_SQL_MERGE_COUNT_CONFLICT);
    for (int i = 0; i < m->n && !m->c->failed; i++) print_table(m, &m->table[i]);
    sqlite3_stmt *row = cli_prepare(&m->into, CLI_SQL_MERGE_CONFLICTS);
    while (cli_step(&m->into, row))
        if (m->given->json)
            print_conflict_json(m, row);
        else
            print_conflict(m, row);
    sqlite3_finalize(row);
    guess_adds(m);
    tell_of_rows(m);
    tell_of_counters(m);
    print_notes(m, "0", "note");
    return conflicts > 0;
}
