/* track/unique.c - turns UNIQUE indexes into conditions. */
#include "track/unique.h"

#include <stddef.h>
#include <string.h>

#include "sqlite/run.h"
#include "sqlite/text.h"

/* Copies a term without ASC or DESC. */
static char *copy_term(const char *from, const char *to)
{
    static const char *const ORDERS[] = {"ASC", "DESC"};
    while (to > from && strchr(" \t\r\n", to[-1])) to--;
    for (size_t i = 0; i < 2; i++) {
        const size_t n = strlen(ORDERS[i]);
        if ((size_t)(to - from) > n && sqlite3_strnicmp(to - n, ORDERS[i], (int)n) == 0 &&
            strchr(" \t\r\n)", to[-(ptrdiff_t)n - 1]))
            to -= n;
    }
    return sqlite3_mprintf("%.*s", (int)(to - from), from);
}

/* Returns the text of term `n` in the first parentheses of a CREATE INDEX. */
static char *term_of(const char *sql, int n)
{
    const char *from = NULL;
    int depth = 0, term = 0;
    for (const char *at = sql; *at; at++) {
        const char *behind = ctr_text_behind(at);
        if (behind) {
            at = behind - 1;
            continue;
        }
        if (*at == '(' && depth++ == 0) from = at + 1;
        bool ends = depth == 1 && (*at == ',' || *at == ')');
        if (*at == ')') depth--;
        if (!ends) continue;
        if (term++ == n) return copy_term(from, at);
        if (depth == 0) return NULL;
        from = at + 1;
    }
    return NULL;
}

/* Returns whether an expression may name a column. */
static bool may_name(const char *term, const char *column, ctr_problem *problem)
{
    char *quoted = sqlite3_mprintf("%w", column);
    if (!quoted) ctr_problem_nomem(problem);
    bool may = ctr_text_contains(term, column) || (quoted && ctr_text_contains(term, quoted));
    sqlite3_free(quoted);
    return may;
}

/* Lists the columns of NEW that an expression names, under their own names, so that it can be
 * evaluated for the new row. */
static void list_new_row(sqlite3 *db, const char *schema, const char *table, const char *term,
                         sqlite3_str *out, ctr_problem *problem)
{
    int n = 0;
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    run.slots.name = table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&run, row)) {
        const char *name = ctr_text_column(row, 1, problem);
        if (name && may_name(term, name, problem))
            sqlite3_str_appendf(out, "%sNEW.\"%w\" AS \"%w\"", n++ ? ", " : "", name, name);
    }
    sqlite3_finalize(row);
    if (n == 0) sqlite3_str_appendall(out, "NULL");
}

/* (expression) = (SELECT expression FROM (SELECT NEW."a" AS "a", ...)) */
static void match_expression(sqlite3 *db, const char *schema, const char *table, const char *index,
                             int n, sqlite3_str *out, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_INDEX);
    ctr_run_bind_text(&run, row, 1, index);
    const char *sql = ctr_run_row(&run, row) ? ctr_text_column(row, 0, problem) : NULL;
    char *term = sql ? term_of(sql, n) : NULL;
    if (sql && !term) ctr_problem_nomem(problem);
    if (term) {
        sqlite3_str_appendf(out, "(%s\n) = (SELECT %s\n FROM (SELECT ", term, term);
        list_new_row(db, schema, table, term, out, problem);
        sqlite3_str_appendall(out, "))");
    } else {
        sqlite3_str_appendall(out, "1");
    }
    sqlite3_free(term);
    sqlite3_finalize(row);
}

static bool has_generated(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem)
{
    bool has = false;
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    run.slots.name = table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&run, row)) has = has || sqlite3_column_int(row, 6) != 0;
    sqlite3_finalize(row);
    return has;
}

/* ---- all terms ------------------------------------------------------------------------------- */

typedef struct terms_of_index {
    ctr_term term;
    void (*visit)(void *with, const ctr_term *term, ctr_problem *problem);
    void *with; /* borrowed */
} terms_of_index;

static void take_index(terms_of_index *of, ctr_run *run)
{
    run->slots.name = of->term.index;
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_SCHEMA_INDEX_COLUMNS);
    while (ctr_run_row(run, row)) {
        if (!sqlite3_column_int(row, 5)) continue; /* not a part of the key */
        of->term.number = sqlite3_column_int(row, 0);
        of->term.name = ctr_text_column(row, 2, run->problem);
        of->term.collation = ctr_text_column(row, 4, run->problem);
        if (run->problem->rc == SQLITE_OK) of->visit(of->with, &of->term, run->problem);
    }
    sqlite3_finalize(row);
}

/* Uses PRAGMAs instead of their table-valued functions: SQLite frees the schema of those functions
 * when the host calls sqlite3_deserialize(), and uses it afterwards. */
void ctr_unique_each_term(sqlite3 *db, const char *schema, const char *table,
                          void (*visit)(void *with, const ctr_term *term, ctr_problem *problem),
                          void *with, ctr_problem *problem)
{
    terms_of_index of = {.visit = visit, .with = with};
    ctr_run run = ctr_run_on(db, schema, NULL, problem), of_index = run;
    run.slots.name = table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_INDEXES);
    while (ctr_run_row(&run, row)) {
        const char *index = ctr_text_column(row, 1, problem),
                   *origin = ctr_text_column(row, 3, problem);
        if (!index || !origin || !sqlite3_column_int(row, 2)) continue;
        of.term.index = index;
        of.term.is_primary = strcmp(origin, "pk") == 0;
        of.term.is_partial = sqlite3_column_int(row, 4) != 0;
        take_index(&of, &of_index);
    }
    sqlite3_finalize(row);
}

/* ---- the condition --------------------------------------------------------------------------- */

typedef struct unique_in {
    sqlite3 *db; /* borrowed, as are the names */
    const char *schema, *table;
    ctr_unique *rows;
} unique_in;

static void match_term(void *with, const ctr_term *term, ctr_problem *problem)
{
    const unique_in *in = with;
    ctr_unique *rows = in->rows;
    if (term->is_primary) return;
    sqlite3_str_appendall(rows->match,
                          term->number ? " AND " : ctr_text_separator(rows->match, " OR "));
    if (term->name) {
        sqlite3_str_appendf(rows->match, "\"%w\" = NEW.\"%w\" COLLATE \"%w\"", term->name,
                            term->name, term->collation ? term->collation : "BINARY");
        sqlite3_str_appendf(rows->names, "%s\"%w\"", ctr_text_separator(rows->names, ", "),
                            term->name);
    } else {
        match_expression(in->db, in->schema, in->table, term->index, term->number, rows->match,
                         problem);
    }
    if (!term->name || term->is_partial) rows->any_column = true;
}

void ctr_unique_list(ctr_unique *rows, sqlite3 *db, const char *schema, const char *table,
                     ctr_problem *problem)
{
    unique_in in = {db, schema, table, rows};
    ctr_unique_each_term(db, schema, table, match_term, &in, problem);
    rows->any_column = rows->any_column || has_generated(db, schema, table, problem);
}
