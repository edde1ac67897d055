/* rows.c - rows to print: columns for people, tabs for scripts. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum {
    MOST_COLUMNS = 8,
    MOST_WIDTH = 40, /* of a column: a longer cell moves the rest of its own row only */
    GAP = 2
};

static void add_cell(cli_rows *rows, char *owned)
{
    if (rows->n == rows->room) {
        size_t room = rows->room ? 2 * rows->room : 64;
        char **cell = sqlite3_realloc64(rows->cell, room * sizeof *cell);
        if (!cell) {
            rows->lacks_memory = true;
            sqlite3_free(owned);
            return;
        }
        rows->cell = cell;
        rows->room = room;
    }
    rows->cell[rows->n++] = owned;
}

/* What a cell holds must not look like the end of a field, and must not reach the terminal as a
 * command. */
static void append_escaped(sqlite3_str *out, const char *text)
{
    while (*text) {
        int size = cli_control_size(text), letter = cli_letter_size(text);
        if (*text == '\t')
            sqlite3_str_appendall(out, "\\t");
        else if (*text == '\n')
            sqlite3_str_appendall(out, "\\n");
        else if (*text == '\r')
            sqlite3_str_appendall(out, "\\r");
        else if (*text == '\\')
            sqlite3_str_appendall(out, "\\\\");
        else if (size == 0)
            sqlite3_str_append(out, text, letter);
        else
            for (int i = 0; i < size; i++)
                sqlite3_str_appendf(out, "\\x%02x", (unsigned char)text[i]);
        text += size > 0 ? size : letter;
    }
}

void cli_rows_text(cli_rows *rows, const char *text)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    append_escaped(out, text ? text : "");
    sqlite3_str_appendchar(out, 1, '\0');
    char *made = sqlite3_str_finish(out);
    if (made)
        add_cell(rows, made);
    else
        rows->lacks_memory = true;
}

void cli_rows_integer(cli_rows *rows, int64_t n)
{
    char text[24];
    sqlite3_snprintf(sizeof text, text, "%lld", (long long)n);
    cli_rows_text(rows, text);
}

void cli_rows_columns(cli_rows *rows, sqlite3_stmt *row, int from, int to)
{
    for (int i = from; i < to; i++) {
        bool is_null = sqlite3_column_type(row, i) == SQLITE_NULL;
        const char *text = (const char *)sqlite3_column_text(row, i);
        if (!text && !is_null) rows->lacks_memory = true;
        cli_rows_text(rows, text);
    }
}

void cli_rows_end(cli_rows *rows)
{
    add_cell(rows, NULL);
}

void cli_rows_moved(cli_rows *rows, const char *what, const char *who, int64_t n, int64_t upto)
{
    cli_rows_text(rows, what);
    cli_rows_text(rows, who);
    cli_rows_integer(rows, n);
    cli_rows_integer(rows, upto);
    cli_rows_end(rows);
}

void cli_rows_cut(cli_rows *rows, size_t n)
{
    while (rows->n > n) sqlite3_free(rows->cell[--rows->n]);
}

/* Characters of UTF-8. */
static int width_of(const char *text)
{
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* The last cell of a row takes what it needs. */
static void measure(const cli_rows *rows, int *width)
{
    int column = 0;
    for (size_t i = 0; i < rows->n; i++) {
        if (!rows->cell[i]) {
            column = 0;
            continue;
        }
        bool is_last = i + 1 == rows->n || !rows->cell[i + 1];
        int needed = width_of(rows->cell[i]);
        if (!is_last && column < MOST_COLUMNS && needed > width[column] && needed <= MOST_WIDTH)
            width[column] = needed;
        column++;
    }
}

static void print_cells(const cli_rows *rows, const int *width)
{
    int column = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const char *cell = rows->cell[i];
        bool is_last = i + 1 == rows->n || !rows->cell[i + 1];
        if (!cell) {
            putchar('\n');
            column = 0;
            continue;
        }
        fputs(cell, stdout);
        if (!is_last && width) {
            int padding = column < MOST_COLUMNS ? width[column] - width_of(cell) : 0;
            printf("%*s", GAP + (padding > 0 ? padding : 0), "");
        }
        if (!is_last && !width) putchar('\t');
        column++;
    }
}

static void free_rows(cli_rows *rows)
{
    cli_rows_cut(rows, 0);
    sqlite3_free(rows->cell);
    *rows = (cli_rows){0};
}

/* A row of them, taken apart at the tabs. */
static void read_titles(cli_rows *head, const char *titles)
{
    for (const char *at = titles; *at; at += strspn(at, "\t")) {
        size_t n = strcspn(at, "\t");
        char *title = sqlite3_mprintf("%.*s", (int)n, at);
        if (title)
            add_cell(head, title);
        else
            head->lacks_memory = true;
        at += n;
    }
    cli_rows_end(head);
}

void cli_rows_print(cli_rows *rows, cli *c, const char *titles)
{
    int width[MOST_COLUMNS] = {0};
    bool in_columns = rows->n > 0 && isatty(STDOUT_FILENO);
    cli_rows head = {0};
    cli_progress_erase(c);
    if (in_columns && titles) read_titles(&head, titles);
    measure(&head, width);
    measure(rows, width);
    print_cells(&head, width);
    print_cells(rows, in_columns ? width : NULL);
    if (head.lacks_memory || rows->lacks_memory) cli_fail(c, "out of memory");
    free_rows(&head);
    free_rows(rows);
}
