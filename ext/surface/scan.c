/* surface/scan.c - cursors of a counter table.
 *
 * Rows. A row is shown while one of its counters is live and touched. In it an untouched counter
 * reads 0, one that was deleted alone reads NULL.
 *
 * Numbers and text. SQLite has checked by its own rules that a constraint fits, and checks each row
 * again; ours must not lose a row that it would keep. `path = 12` on a TEXT key arrives as the
 * number 12, whether SQLite will compare it as '12' (a literal) or '012' too (a column of
 * integers). So such an argument is not used, but for a whole key: there the row with the number's
 * exact text comes first, because a one-pass UPDATE looks at one row, and then all others.
 *
 * Markers. UPDATE ... SET hits = 5 has no meaning, SET hits = hits + 5 has. To xUpdate both are a
 * number, so the cursor notes which counters SQLite asks for. Asking for a marker returns what was
 * read of its counter since the marker before, if it was read, and starts anew; the command column,
 * which SQLite asks for first, forgets what WHERE has read.
 */
#include <string.h>

#include "surface/args.h"
#include "surface/table.h"

/* One counter of the row under the cursor. */
typedef struct seen {
    ctr_cell cell;
    int64_t opened; /* the row for which `cell` was opened */
    int64_t asked;  /* the span between two markers in which the counter was asked for */
} seen;

typedef struct scan_cursor {
    sqlite3_vtab_cursor base;
    char *plan;              /* what `statement` was prepared for; owned */
    sqlite3_stmt *statement; /* owned; NULL before the first filter */
    sqlite3_value **rest;    /* owned copies of all arguments if a second scan follows, else NULL */
    int n_rest;
    char *rest_plan; /* its plan; owned */
    int64_t exact;   /* the row that came first */
    bool has_exact, eof;
    int64_t row, span; /* rows seen, markers passed */
    seen counters[];
} scan_cursor;

static ctr_table *table_of(const scan_cursor *cursor)
{
    return (ctr_table *)cursor->base.pVtab;
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool plan_has_argument(const char *plan)
{
    return *plan && strchr("=><GL", *plan);
}

static const char *operator_text(char letter)
{
    switch (letter) {
    case 'G': return ">=";
    case 'L': return "<=";
    case '>': return ">";
    case '<': return "<";
    default: return "=";
    }
}

static char *constraint_list(const ctr_shape *shape, const char *plan)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    int argument = 1;
    for (; plan_has_argument(plan); plan += 2) {
        int column = shape->keys[plan[1] - '0'];
        sqlite3_str_appendf(out, "\"%w\" %s ?%d AND ", shape->columns[column].name,
                            operator_text(plan[0]), argument++);
    }
    if (strchr(plan, 'x')) sqlite3_str_appendf(out, "_id <> ?%d AND ", argument);
    sqlite3_str_appendall(out, "1");
    return sqlite3_str_finish(out);
}

static char *order_list(const ctr_shape *shape, const char *plan)
{
    while (plan_has_argument(plan)) plan += 2;
    plan++; /* the full stop */
    if (*plan != '+' && *plan != '-') return sqlite3_mprintf("NULL");
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (const char *comma = ""; *plan == '+' || *plan == '-'; plan += 2, comma = ", ")
        sqlite3_str_appendf(out, "%s\"%w\"%s", comma,
                            shape->columns[shape->keys[plan[1] - '0']].name,
                            *plan == '-' ? " DESC" : "");
    return sqlite3_str_finish(out);
}

static void prepare_scan(scan_cursor *cursor, const char *plan, ctr_problem *problem)
{
    ctr_table *table = table_of(cursor);
    ctr_run run = ctr_run_on(table->db, table->schema, table->name, problem);
    char *columns = ctr_shape_column_list(&table->shape);
    char *constraint = constraint_list(&table->shape, plan),
         *order = order_list(&table->shape, plan);
    cursor->plan = sqlite3_mprintf("%s", plan);
    run.slots.columns = columns;
    run.slots.constraint = constraint;
    run.slots.order = order;
    if (!columns || !constraint || !order || !cursor->plan) ctr_problem_nomem(problem);
    cursor->statement = ctr_run_prepare(&run, CTR_SQL_ROWS_SCAN);
    sqlite3_free(columns);
    sqlite3_free(constraint);
    sqlite3_free(order);
}

/* Gives the cursor's statement to the table, which keeps the newest few; the oldest goes. */
static void give_back(scan_cursor *cursor)
{
    struct ctr_kept_scan *kept = table_of(cursor)->kept, *last = &kept[CTR_KEPT_SCANS - 1];
    if (cursor->statement) {
        sqlite3_reset(cursor->statement);
        sqlite3_clear_bindings(cursor->statement);
        sqlite3_finalize(last->statement);
        sqlite3_free(last->plan);
        memmove(kept + 1, kept, (CTR_KEPT_SCANS - 1) * sizeof *kept);
        *kept = (struct ctr_kept_scan){cursor->plan, cursor->statement};
    } else {
        sqlite3_free(cursor->plan);
    }
    cursor->statement = NULL;
    cursor->plan = NULL;
}

/* A statement for the plan: the one at hand, a kept one, a new one. */
static void take_scan(scan_cursor *cursor, const char *plan, ctr_problem *problem)
{
    if (cursor->statement && strcmp(cursor->plan, plan) == 0) {
        sqlite3_reset(cursor->statement);
        return;
    }
    give_back(cursor);
    struct ctr_kept_scan *kept = table_of(cursor)->kept;
    for (int i = 0; i < CTR_KEPT_SCANS && kept[i].statement; i++) {
        if (strcmp(kept[i].plan, plan) != 0) continue;
        cursor->plan = kept[i].plan;
        cursor->statement = kept[i].statement;
        memmove(kept + i, kept + i + 1, (size_t)(CTR_KEPT_SCANS - 1 - i) * sizeof *kept);
        kept[CTR_KEPT_SCANS - 1] = (struct ctr_kept_scan){NULL, NULL};
        return;
    }
    prepare_scan(cursor, plan, problem);
}

/* ---- opening and filtering ------------------------------------------------------------------- */

int ctr_scan_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor)
{
    size_t counters = (size_t)((ctr_table *)base)->shape.n_counters * sizeof(seen);
    scan_cursor *made = sqlite3_malloc64(sizeof *made + counters);
    if (!made) return SQLITE_NOMEM;
    memset(made, 0, sizeof *made + counters);
    *cursor = &made->base;
    return SQLITE_OK;
}

static void forget_rest(scan_cursor *cursor)
{
    for (int i = 0; i < cursor->n_rest; i++) sqlite3_value_free(cursor->rest[i]);
    sqlite3_free(cursor->rest);
    sqlite3_free(cursor->rest_plan);
    cursor->rest = NULL;
    cursor->rest_plan = NULL;
    cursor->n_rest = 0;
}

int ctr_scan_close(sqlite3_vtab_cursor *base)
{
    scan_cursor *cursor = (scan_cursor *)base;
    give_back(cursor);
    forget_rest(cursor);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* Does a comparison with this value mean the same on the stored column, whatever the value stood
 * for? A column of NUMERIC affinity makes numbers of both sides. Otherwise a number may be compared
 * with texts, and on a column without type a text with numbers. */
static bool means_the_same(ctr_affinity affinity, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    switch (affinity) {
    case CTR_AFFINITY_TEXT: return type != SQLITE_INTEGER && type != SQLITE_FLOAT;
    case CTR_AFFINITY_BLOB: return type == SQLITE_BLOB || type == SQLITE_NULL;
    default: return true;
    }
}

static bool argument_is_exact(const ctr_table *table, const char *plan, sqlite3_value *value)
{
    const ctr_column *column = &table->shape.columns[table->shape.keys[plan[1] - '0']];
    return means_the_same(column->affinity, value);
}

static bool all_exact(const ctr_table *table, const char *plan, sqlite3_value **argv)
{
    for (int i = 0; plan_has_argument(plan); plan += 2, i++)
        if (!argument_is_exact(table, plan, argv[i])) return false;
    return true;
}

static int bind(sqlite3_stmt *statement, int i, sqlite3_value *value, ctr_problem *problem)
{
    return ctr_problem_sqlite(problem, sqlite3_db_handle(statement),
                              sqlite3_bind_value(statement, i, value));
}

/* Runs `plan` without the arguments that are not exact; without the row that came first, if one
 * did. */
static void start_inexact(scan_cursor *cursor, const char *plan, sqlite3_value **argv,
                          ctr_problem *problem)
{
    const ctr_table *table = table_of(cursor);
    sqlite3_str *out = sqlite3_str_new(NULL);
    const char *at = plan;
    for (int i = 0; plan_has_argument(at); at += 2, i++)
        if (argument_is_exact(table, at, argv[i])) sqlite3_str_append(out, at, 2);
    sqlite3_str_appendf(out, "%s%s", at, cursor->has_exact ? "x" : "");
    char *reduced = sqlite3_str_finish(out);
    if (!reduced) {
        ctr_problem_nomem(problem);
        return;
    }
    take_scan(cursor, reduced, problem);
    sqlite3_free(reduced);
    int bound = 0;
    at = plan;
    for (int i = 0; plan_has_argument(at) && problem->rc == SQLITE_OK; at += 2, i++)
        if (argument_is_exact(table, at, argv[i]))
            bind(cursor->statement, ++bound, argv[i], problem);
    if (problem->rc == SQLITE_OK && cursor->has_exact)
        sqlite3_bind_int64(cursor->statement, bound + 1, cursor->exact);
}

static void keep_rest(scan_cursor *cursor, const char *plan, int argc, sqlite3_value **argv,
                      ctr_problem *problem)
{
    cursor->rest_plan = sqlite3_mprintf("%s", plan);
    cursor->rest = sqlite3_malloc64((size_t)argc * sizeof *cursor->rest);
    if (!cursor->rest_plan || !cursor->rest) {
        ctr_problem_nomem(problem);
        return;
    }
    for (int i = 0; i < argc; i++) {
        sqlite3_value *copy = sqlite3_value_dup(argv[i]);
        if (!copy) ctr_problem_nomem(problem);
        cursor->rest[cursor->n_rest++] = copy;
    }
}

static void start_exact(scan_cursor *cursor, const char *plan, int argc, sqlite3_value **argv,
                        ctr_problem *problem)
{
    take_scan(cursor, plan, problem);
    for (int i = 0; i < argc && problem->rc == SQLITE_OK; i++)
        bind(cursor->statement, i + 1, argv[i], problem);
}

int ctr_scan_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                    sqlite3_value **argv)
{
    scan_cursor *cursor = (scan_cursor *)base;
    ctr_table *table = table_of(cursor);
    ctr_problem problem = {SQLITE_OK, NULL};
    forget_rest(cursor);
    cursor->has_exact = cursor->eof = false;
    if (all_exact(table, plan, argv)) {
        start_exact(cursor, plan, argc, argv, &problem);
    } else if (number & CTR_PLAN_UNIQUE) {
        keep_rest(cursor, plan, argc, argv, &problem);
        start_exact(cursor, plan, argc, argv, &problem);
    } else {
        start_inexact(cursor, plan, argv, &problem);
    }
    if (problem.rc != SQLITE_OK) return ctr_table_fail(table, &problem);
    return ctr_scan_next(base);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The cell of a counter of this row, opened at most once. */
static const ctr_cell *open_counter(scan_cursor *cursor, int counter, ctr_problem *problem)
{
    ctr_table *table = table_of(cursor);
    seen *one = &cursor->counters[counter];
    if (one->opened == cursor->row) return &one->cell;
    int64_t rowid = sqlite3_column_int64(cursor->statement, 0);
    int i = 1 + table->shape.counters[counter];
    ctr_rows_open_cell(&table->rows, cursor->statement, i, rowid, counter, &one->cell, problem);
    one->opened = cursor->row;
    return &one->cell;
}

static bool is_visible(scan_cursor *cursor, ctr_problem *problem)
{
    int n = table_of(cursor)->shape.n_counters;
    for (int i = 0; i < n; i++) {
        const ctr_cell *cell = open_counter(cursor, i, problem);
        if (problem->rc != SQLITE_OK) return false;
        if (ctr_cell_is_live(cell)) return true;
    }
    return false;
}

/* The next stored row of the first scan, or of the one that follows it. */
static bool step(scan_cursor *cursor, ctr_problem *problem)
{
    int rc = sqlite3_step(cursor->statement);
    if (rc == SQLITE_DONE && cursor->rest) {
        start_inexact(cursor, cursor->rest_plan, cursor->rest, problem);
        forget_rest(cursor);
        rc = problem->rc == SQLITE_OK ? sqlite3_step(cursor->statement) : problem->rc;
    }
    cursor->row++;
    cursor->span++;
    ctr_problem_sqlite(problem, table_of(cursor)->db, rc);
    if (rc != SQLITE_ROW) return false;
    if (cursor->rest) {
        cursor->exact = sqlite3_column_int64(cursor->statement, 0);
        cursor->has_exact = true;
    }
    return true;
}

int ctr_scan_next(sqlite3_vtab_cursor *base)
{
    scan_cursor *cursor = (scan_cursor *)base;
    ctr_problem problem = {SQLITE_OK, NULL};
    while (step(cursor, &problem))
        if (is_visible(cursor, &problem) || problem.rc != SQLITE_OK) break;
    if (problem.rc != SQLITE_OK) return ctr_table_fail(table_of(cursor), &problem);
    cursor->eof = !sqlite3_data_count(cursor->statement);
    if (cursor->eof) sqlite3_reset(cursor->statement);
    return SQLITE_OK;
}

int ctr_scan_eof(sqlite3_vtab_cursor *base)
{
    return ((scan_cursor *)base)->eof;
}

int ctr_scan_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = sqlite3_column_int64(((scan_cursor *)base)->statement, 0);
    return SQLITE_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Reads a counter of a visible row: NULL if it was deleted alone. False: the error has
 * been given. */
static bool read_counter(scan_cursor *cursor, sqlite3_context *ctx, int counter, int64_t *value,
                         bool *is_null)
{
    ctr_table *table = table_of(cursor);
    ctr_problem problem = {SQLITE_OK, NULL};
    const ctr_cell *cell = open_counter(cursor, counter, &problem);
    *value = 0;
    *is_null = ctr_cell_is_deleted(cell);
    if (problem.rc == SQLITE_OK && ctr_cell_value(cell, value) != CTR_OK) {
        ctr_problem_set(&problem, SQLITE_ERROR,
                        "integer overflow: the sum of its shards; INSERT of the other sign helps");
        ctr_rows_problem_at(&table->rows, sqlite3_column_int64(cursor->statement, 0), counter,
                            &problem);
    }
    return ctr_arg_problem(ctx, table->name, &problem);
}

static void result_counter(scan_cursor *cursor, sqlite3_context *ctx, int counter)
{
    int64_t value;
    bool is_null;
    if (read_counter(cursor, ctx, counter, &value, &is_null) && !is_null)
        sqlite3_result_int64(ctx, value);
}

static void result_marker(scan_cursor *cursor, sqlite3_context *ctx, int counter)
{
    ctr_marker marker;
    bool is_null;
    if (!read_counter(cursor, ctx, counter, &marker.value, &is_null)) return;
    marker.is_null = is_null;
    memcpy(marker.secret, table_of(cursor)->secret, sizeof marker.secret);
    sqlite3_result_blob(ctx, &marker, sizeof marker, SQLITE_TRANSIENT);
}

int ctr_scan_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    scan_cursor *cursor = (scan_cursor *)base;
    const ctr_shape *shape = &table_of(cursor)->shape;
    if (column == CTR_COLUMN_COMMAND) {
        cursor->span++;
        return SQLITE_OK;
    }
    int i = (column - 1) / 2;
    int counter = shape->columns[i].counter;
    if (column == ctr_table_marker(i)) {
        if (counter >= 0 && cursor->counters[counter].asked == cursor->span)
            result_marker(cursor, ctx, counter);
        cursor->span++;
        return SQLITE_OK;
    }
    if (sqlite3_vtab_nochange(ctx)) return SQLITE_OK;
    if (counter < 0) {
        sqlite3_result_value(ctx, sqlite3_column_value(cursor->statement, 1 + i));
        return SQLITE_OK;
    }
    cursor->counters[counter].asked = cursor->span;
    result_counter(cursor, ctx, counter);
    return SQLITE_OK;
}
