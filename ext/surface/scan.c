/* surface/scan.c - cursors of a counter table, and of a cluster.
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
 * One row. An UPDATE by the whole key closes its cursor before it writes; the row that the cursor
 * has read is handed over to it, so that it need not be looked for again.
 *
 * IN. Where an IN comes all at once (elements.h), there is a scan for each of its elements, one
 * behind the other.
 *
 * Replicas. Over a cluster the rows are those of a reading (sync/reading.h), with merged cells.
 */
#include <string.h>

#include "store/deferred.h"
#include "surface/args.h"
#include "surface/elements.h"
#include "surface/table.h"
#include "sync/reading.h"
#include "sync/repair.h"

/* One counter of the row under the cursor. */
typedef struct seen_counter {
    ctr_cell cell;
    int64_t opened; /* the row for which `cell` was opened */
} seen_counter;

typedef struct scan_cursor {
    sqlite3_vtab_cursor base;
    ctr_reading reading;   /* of a cluster */
    ctr_stream stream;     /* of one file */
    ctr_elements elements; /* of an IN, if the plan has one */
    bool started;          /* has a scan begun since xFilter? */
    sqlite3_value **rest;  /* owned copies of all arguments if a second scan follows, else NULL */
    int n_rest;
    char *rest_plan;  /* its plan; owned */
    bool eof, unique; /* unique: there is one row at most */
    int changes;      /* sqlite3_total_changes() when it was read */
    int64_t row;      /* rows seen */
    seen_counter counters[];
} scan_cursor;

static ctr_table *table_of(const scan_cursor *cursor)
{
    return (ctr_table *)cursor->base.pVtab;
}

/* ---- opening and filtering ------------------------------------------------------------------- */

int ctr_scan_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor)
{
    ctr_table *table = (ctr_table *)base;
    ctr_problem problem = {SQLITE_OK, NULL};
    size_t counters = (size_t)table->shape.n_counters * sizeof(seen_counter);
    scan_cursor *made = sqlite3_malloc64(sizeof *made + counters);
    if (!made) return SQLITE_NOMEM;
    memset(made, 0, sizeof *made + counters);
    made->stream.of = &table->streams;
    if (table->cluster) ctr_reading_open(&made->reading, table->cluster, &problem);
    *cursor = &made->base;
    if (problem.rc != SQLITE_OK) sqlite3_free(made);
    return ctr_table_fail(table, &problem);
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

/* An UPDATE that looks at one row closes its cursor there, and then writes the row. A statement
 * that was prepared tells that there may be triggers now. */
static void hand_over(scan_cursor *cursor)
{
    ctr_table *table = table_of(cursor);
    ctr_problem problem = {SQLITE_OK, NULL};
    if (!cursor->unique || cursor->eof || table->cluster || table->rows->writing) return;
    if (cursor->changes != sqlite3_total_changes(table->db)) return;
    bool anew = table->streams.made != table->visited_made ||
                sqlite3_stmt_status(cursor->stream.statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    if (anew) table->rows->looked = false;
    table->visited_made = table->streams.made;
    ctr_rows_take(table->rows, cursor->stream.statement, &problem);
    table->visited = problem.rc == SQLITE_OK ? table->rows->finds : -1;
    table->visited_changes = cursor->changes;
    ctr_problem_close(&problem);
}

int ctr_scan_close(sqlite3_vtab_cursor *base)
{
    scan_cursor *cursor = (scan_cursor *)base;
    ctr_reading_close(&cursor->reading);
    hand_over(cursor);
    ctr_stream_close(&cursor->stream);
    forget_rest(cursor);
    ctr_elements_close(&cursor->elements);
    sqlite3_free(cursor);
    return SQLITE_OK;
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

static void start_stream(scan_cursor *cursor, bool unique, const char *plan, int argc,
                         sqlite3_value **argv, ctr_problem *problem)
{
    bool exact = ctr_stream_is_exact(&table_of(cursor)->shape, plan, argv);
    forget_rest(cursor);
    cursor->stream.has_exact = false;
    if (unique && !exact) keep_rest(cursor, plan, argc, argv, problem);
    ctr_stream_start(&cursor->stream, plan, argv, exact || unique, problem);
}

/* A statement that writes takes the locks before it reads. */
static void start_reading(scan_cursor *cursor, bool unique, const char *plan, int argc,
                          sqlite3_value **argv, ctr_problem *problem)
{
    ctr_table *table = table_of(cursor);
    if (table->cluster->writes)
        ctr_cluster_lock(table->cluster, problem);
    else if (table->cluster->levels->repairs)
        ctr_repair_rows(table->cluster, table->name, plan, argc, argv, problem);
    ctr_reading_start(&cursor->reading, plan, argc, argv, unique, problem);
}

static void start_scan(scan_cursor *cursor, const char *plan, int argc, sqlite3_value **argv,
                       ctr_problem *problem)
{
    cursor->started = true;
    if (table_of(cursor)->cluster)
        start_reading(cursor, cursor->unique, plan, argc, argv, problem);
    else if (ctr_deferred_settle_others(table_of(cursor)->rows, problem) == SQLITE_OK)
        start_stream(cursor, cursor->unique, plan, argc, argv, problem);
}

int ctr_scan_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                    sqlite3_value **argv)
{
    scan_cursor *cursor = (scan_cursor *)base;
    ctr_problem problem = {SQLITE_OK, NULL};
    cursor->unique = number & CTR_PLAN_UNIQUE;
    cursor->started = false;
    cursor->eof = true;                    /* until there is a row, and where there is an error */
    ctr_elements_close(&cursor->elements); /* the sides of an OR share a cursor */
    table_of(cursor)->visited = -1;        /* a row is handed over within its statement alone */
    table_of(cursor)->updated = 0;
    ctr_timing *timing = &ctr_guard_stats(table_of(cursor)->joined.guard)->read;
    int64_t begun = ctr_stats_begin(timing);
    ctr_table_read(table_of(cursor), &problem);
    if (ctr_elements_in_plan(plan))
        ctr_elements_open(&cursor->elements, &table_of(cursor)->shape, plan, argc, argv, &problem);
    else
        start_scan(cursor, plan, argc, argv, &problem);
    if (problem.rc != SQLITE_OK) return ctr_table_fail(table_of(cursor), &problem);
    int rc = ctr_scan_next(base);
    ctr_stats_end(timing, begun);
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The stored row under the cursor; of a cluster that of one replica. */
static sqlite3_stmt *row_of(const scan_cursor *cursor)
{
    return table_of(cursor)->cluster ? ctr_reading_row(&cursor->reading) : cursor->stream.statement;
}

/* The cell of a counter of this row, opened at most once; of a row that is kept (store/deferred.h)
 * as it is now. */
static const ctr_cell *open_counter(scan_cursor *cursor, int counter, ctr_problem *problem)
{
    ctr_table *table = table_of(cursor);
    seen_counter *one = &cursor->counters[counter];
    if (table->cluster) return &cursor->reading.cells[counter].cell;
    if (one->opened == cursor->row) return &one->cell;
    sqlite3_stmt *row = cursor->stream.statement;
    const ctr_buffer *buffer = &table->rows->buffer;
    const ctr_entry *kept =
        buffer->n > 0 ? ctr_buffer_row(buffer, sqlite3_column_int64(row, CTR_STREAM_ID)) : NULL;
    if (kept) return &kept->cells[counter].cell;
    int i = CTR_STREAM_COLUMNS + table->shape.counters[counter];
    ctr_rows_open_cell(table->rows, row, i, CTR_ROWS_ID_IN_ROW, counter, &one->cell, problem);
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
static bool step_stream(scan_cursor *cursor, ctr_problem *problem)
{
    ctr_stream *stream = &cursor->stream;
    bool row = ctr_stream_step(stream, problem);
    if (row && cursor->rest) {
        stream->exact = sqlite3_column_int64(stream->statement, CTR_STREAM_ID);
        stream->has_exact = true;
    }
    if (row || !cursor->rest || problem->rc != SQLITE_OK) return row;
    ctr_stream_start(stream, cursor->rest_plan, cursor->rest, false, problem);
    forget_rest(cursor);
    return ctr_stream_step(stream, problem);
}

/* The next row of the scan at hand. */
static bool step_scan(scan_cursor *cursor, ctr_problem *problem)
{
    return table_of(cursor)->cluster ? ctr_reading_step(&cursor->reading, problem)
                                     : step_stream(cursor, problem);
}

static bool step(scan_cursor *cursor, ctr_problem *problem)
{
    ctr_elements *elements = &cursor->elements;
    cursor->row++;
    bool row = cursor->started && step_scan(cursor, problem);
    while (!row && problem->rc == SQLITE_OK && ctr_elements_next(elements)) {
        start_scan(cursor, elements->plan, elements->argc, elements->args, problem);
        row = problem->rc == SQLITE_OK && step_scan(cursor, problem);
    }
    return row;
}

int ctr_scan_next(sqlite3_vtab_cursor *base)
{
    scan_cursor *cursor = (scan_cursor *)base;
    ctr_problem problem = {SQLITE_OK, NULL};
    cursor->eof = true;
    bool row = step(cursor, &problem);
    while (row && !is_visible(cursor, &problem) && problem.rc == SQLITE_OK)
        row = step(cursor, &problem);
    if (problem.rc != SQLITE_OK) return ctr_table_fail(table_of(cursor), &problem);
    cursor->eof = !row;
    if (cursor->unique) cursor->changes = sqlite3_total_changes(table_of(cursor)->db);
    if (!row && cursor->stream.statement) sqlite3_reset(cursor->stream.statement);
    return SQLITE_OK;
}

int ctr_scan_eof(sqlite3_vtab_cursor *base)
{
    return ((scan_cursor *)base)->eof;
}

int ctr_scan_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    const scan_cursor *cursor = (scan_cursor *)base;
    *rowid = sqlite3_column_int64(row_of(cursor), CTR_STREAM_ID);
    if (table_of(cursor)->cluster)
        *rowid = ctr_access_name_row(ctr_reading_replica(&cursor->reading), *rowid);
    return SQLITE_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

static void say_where(const scan_cursor *cursor, int counter, ctr_problem *problem)
{
    const ctr_table *table = table_of(cursor);
    int64_t rowid = sqlite3_column_int64(row_of(cursor), CTR_STREAM_ID);
    ctr_rows *rows = table->rows;
    if (table->cluster)
        rows = &table->cluster->members[ctr_reading_replica(&cursor->reading)].merge.rows;
    ctr_rows_problem_at(rows, rowid, counter, problem);
}

/* NULL if it was deleted alone. */
static void result_counter(scan_cursor *cursor, sqlite3_context *ctx, int counter)
{
    ctr_table *table = table_of(cursor);
    ctr_problem problem = {SQLITE_OK, NULL};
    int64_t value = 0;
    const ctr_cell *cell = open_counter(cursor, counter, &problem);
    if (problem.rc == SQLITE_OK && ctr_cell_value(cell, &value) != CTR_OK) {
        ctr_problem_set(&problem, SQLITE_ERROR,
                        "integer overflow: what the files have counted adds up to more than 64 "
                        "bits; INSERT a number of the other sign");
        say_where(cursor, counter, &problem);
    }
    if (!ctr_arg_problem(ctx, table->name, &problem)) return;
    if (!ctr_cell_is_deleted(cell)) sqlite3_result_int64(ctx, value);
}

/* A column that an UPDATE does not assign is not read; the command and the request id are NULL. */
int ctr_scan_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    scan_cursor *cursor = (scan_cursor *)base;
    const ctr_shape *shape = &table_of(cursor)->shape;
    int i = column - ctr_table_column(0);
    if (i < 0 || i == shape->n_columns || sqlite3_vtab_nochange(ctx)) return SQLITE_OK;
    if (shape->columns[i].counter >= 0)
        result_counter(cursor, ctx, shape->columns[i].counter);
    else
        sqlite3_result_value(ctx, sqlite3_column_value(row_of(cursor), CTR_STREAM_COLUMNS + i));
    return SQLITE_OK;
}
