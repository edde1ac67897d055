/* rows.c - rows to print: columns for people, tabs for scripts. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum { MOST_COLUMNS = 8, GAP = 2 };

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

/* A tab or the end of a line in a name must not look like that of a row. */
void cli_rows_text(cli_rows *rows, const char *text)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (const char *at = text ? text : ""; *at; at++) {
        switch (*at) {
        case '\t': sqlite3_str_appendall(out, "\\t"); break;
        case '\n': sqlite3_str_appendall(out, "\\n"); break;
        case '\r': sqlite3_str_appendall(out, "\\r"); break;
        case '\\': sqlite3_str_appendall(out, "\\\\"); break;
        default: sqlite3_str_appendchar(out, 1, *at);
        }
    }
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
    for (int i = from; i < to; i++) cli_rows_text(rows, (const char *)sqlite3_column_text(row, i));
}

void cli_rows_end(cli_rows *rows)
{
    add_cell(rows, NULL);
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
        if (!is_last && column < MOST_COLUMNS && needed > width[column]) width[column] = needed;
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
        if (!is_last && width && column < MOST_COLUMNS)
            printf("%*s", width[column] - width_of(cell) + GAP, "");
        else if (!is_last)
            putchar('\t');
        column++;
    }
}

/* Before all other rows. */
static void add_titles(cli_rows *rows, const char *titles)
{
    cli_rows whole = {.lacks_memory = rows->lacks_memory};
    for (const char *at = titles; *at; at += strspn(at, "\t")) {
        size_t n = strcspn(at, "\t");
        add_cell(&whole, sqlite3_mprintf("%.*s", (int)n, at));
        at += n;
    }
    cli_rows_end(&whole);
    for (size_t i = 0; i < rows->n; i++) add_cell(&whole, rows->cell[i]);
    sqlite3_free(rows->cell);
    *rows = whole;
}

void cli_rows_print(cli_rows *rows, cli *c, const char *titles)
{
    int width[MOST_COLUMNS] = {0};
    cli_progress_erase(c);
    if (rows->lacks_memory) cli_fail(c, "out of memory");
    if (rows->n > 0 && isatty(STDOUT_FILENO)) {
        if (titles) add_titles(rows, titles);
        measure(rows, width);
        print_cells(rows, width);
    } else {
        print_cells(rows, NULL);
    }
    cli_rows_cut(rows, 0);
    sqlite3_free(rows->cell);
    *rows = (cli_rows){0};
}
