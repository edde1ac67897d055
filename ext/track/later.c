/* track/later.c - collects merged rows of a tracked table and shows them. */
#include "track/later.h"

#include <stdlib.h>
#include <string.h>

#include "sqlite/array.h"

int ctr_later_add(ctr_later *later, const ctr_showing *showing, int64_t rowid,
                  const ctr_summary *before, ctr_problem *problem)
{
    const int n = showing->tracked.shape->n_counters;
    size_t size = sizeof(ctr_later_row) + (size_t)n * sizeof(ctr_shown);
    uint8_t *rows = ctr_array_room(later->rows, &later->room, later->n + 1, size, problem);
    if (!rows) return problem->rc;
    later->rows = rows;
    later->size = size;
    ctr_later_row *row = (void *)(rows + later->n++ * size);
    *row =
        (ctr_later_row){.rowid = rowid, .was = ctr_showing_before(showing, before), .known = true};
    for (int i = 0; i < n; i++)
        row->known = ctr_showing_value(showing, i, &before[i], &row->shown[i]) && row->known;
    return problem->rc;
}

void ctr_later_close(ctr_later *later)
{
    sqlite3_free(later->rows);
    *later = (ctr_later){0};
}

static int by_rowid(const void *a, const void *b)
{
    const ctr_later_row *x = a, *y = b;
    return x->rowid < y->rowid ? -1 : x->rowid > y->rowid;
}

static sqlite3_stmt *prepare_cells(ctr_showing *showing, ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    char *columns = ctr_shape_column_list(tracked->shape);
    if (!columns) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    run.slots.columns = columns;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_ROWS_FOLLOW);
    sqlite3_free(columns);
    return row;
}

/* Steps to the row with this id. Many are only a few steps after the previous one. */
static bool step_to_row(ctr_run *run, sqlite3_stmt *row, int64_t rowid)
{
    enum { STEPS = 8 };
    bool stands = sqlite3_stmt_busy(row);
    int64_t at = stands ? sqlite3_column_int64(row, 0) : 0;
    for (int i = 0; stands && i < STEPS && at < rowid; i++) {
        stands = ctr_run_row(run, row);
        if (stands) at = sqlite3_column_int64(row, 0);
    }
    if (stands && at == rowid) return true;
    sqlite3_reset(row);
    sqlite3_bind_int64(row, 1, rowid - 1);
    return ctr_run_row(run, row) && sqlite3_column_int64(row, 0) == rowid;
}

/* Reads the states of the row with this id, and its key, which the statement lends until its next
 * step. */
static bool step_to_cells(ctr_showing *showing, sqlite3_stmt *row, int64_t rowid, ctr_rows *rows,
                          ctr_summary *now, ctr_problem *problem)
{
    enum { CELLS_ID = 1 };
    const ctr_shape *shape = showing->tracked.shape;
    ctr_run run = ctr_run_on(showing->tracked.db, showing->tracked.schema, NULL, problem);
    if (!step_to_row(&run, row, rowid) || ctr_rows_take(rows, row, problem)) return false;
    for (int i = 0; i < shape->n_keys; i++)
        showing->writing.keys[i] = sqlite3_column_value(row, CELLS_ID + shape->keys[i]);
    for (int i = 0; i < shape->n_counters; i++) now[i] = ctr_rows_state(rows, i);
    return true;
}

/* Allocates room for a key and for states. */
static bool make_show_room(const ctr_showing *showing, sqlite3_value ***keys, ctr_summary **now,
                           ctr_problem *problem)
{
    *keys = sqlite3_malloc64(((size_t)showing->tracked.shape->n_keys + 1) * sizeof **keys);
    *now = sqlite3_malloc64(((size_t)showing->tracked.shape->n_counters + 1) * sizeof **now);
    if (!*keys || !*now) ctr_problem_nomem(problem);
    return problem->rc == SQLITE_OK;
}

int ctr_later_show(ctr_later *later, ctr_showing *showing, ctr_rows *rows, ctr_problem *problem)
{
    sqlite3_value **keys;
    ctr_summary *now;
    size_t counters = (size_t)showing->tracked.shape->n_counters;
    sqlite3_stmt *row = prepare_cells(showing, problem);
    if (make_show_room(showing, &keys, &now, problem) && later->n > 0)
        qsort(later->rows, later->n, later->size, by_rowid);
    showing->writing.keys = keys;
    for (size_t i = 0; i < later->n && problem->rc == SQLITE_OK; i++) {
        const ctr_later_row *due = (const void *)(later->rows + i * later->size);
        memcpy(showing->from, due->shown, counters * sizeof *showing->from);
        if (step_to_cells(showing, row, due->rowid, rows, now, problem))
            ctr_showing_write(showing, due->rowid, due->was, due->known, now, problem);
    }
    sqlite3_finalize(row);
    sqlite3_free(keys);
    sqlite3_free(now);
    return problem->rc;
}

static void show_each_apart(ctr_showing *showing, ctr_rows *rows, bool backwards,
                            sqlite3_stmt *cells, ctr_summary *now, ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    int64_t after = backwards ? INT64_MAX : 0;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    sqlite3_stmt *row =
        ctr_run_prepare(&run, backwards ? CTR_SQL_TRACK_PREVIOUS_APART : CTR_SQL_TRACK_NEXT_APART);
    for (;;) {
        if (row) sqlite3_bind_int64(row, 1, after);
        bool more = ctr_run_row(&run, row);
        if (more) after = sqlite3_column_int64(row, 0);
        sqlite3_reset(row);
        if (!more || problem->rc != SQLITE_OK) break;
        if (step_to_cells(showing, cells, after, rows, now, problem)) {
            bool complete = ctr_showing_take_wanted(showing, now);
            memcpy(showing->from, showing->to,
                   (size_t)tracked->shape->n_counters * sizeof *showing->from);
            showing->writing.rowid = after;
            ctr_showing_look_and_write(showing, after, true, now, complete, problem);
        }
    }
    sqlite3_finalize(row);
}

int64_t ctr_later_show_apart(ctr_showing *showing, ctr_rows *rows, bool backwards,
                             ctr_problem *problem)
{
    sqlite3_value **keys;
    ctr_summary *now;
    const ctr_tracked *of = &showing->tracked;
    sqlite3_stmt *cells = prepare_cells(showing, problem);
    if (make_show_room(showing, &keys, &now, problem)) {
        showing->writing.keys = keys;
        show_each_apart(showing, rows, backwards, cells, now, problem);
    }
    sqlite3_finalize(cells);
    sqlite3_free(keys);
    sqlite3_free(now);
    return ctr_apart_count(of->db, of->schema, of->counters, problem);
}

/* ---- rows below floors ----------------------------------------------------------------------- */

/* Returns a statement on the id of each row among the cells, 0 if it has none, and its key. */
static sqlite3_stmt *prepare_rows(const ctr_showing *showing, ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    sqlite3_str *list = sqlite3_str_new(NULL);
    ctr_tracked_list_keys(tracked, list, "t.");
    char *keys = sqlite3_str_finish(list), *match = ctr_tracked_key_match(tracked);
    if (!keys || !match) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    run.slots.name = tracked->table;
    run.slots.keys = keys;
    run.slots.constraint = match;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_WITHOUT_COUNTERS);
    sqlite3_free(keys);
    sqlite3_free(match);
    return row;
}

/* Clears the values of the statement's current row, if it is below a floor. */
static void show_nothing_below(ctr_showing *showing, sqlite3_stmt *row, ctr_floors *floors,
                               ctr_problem *problem)
{
    int n = showing->tracked.shape->n_keys;
    sqlite3_value **keys = showing->writing.keys;
    showing->writing.rowid = sqlite3_column_int64(row, 0);
    for (int i = 0; i < n; i++) keys[i] = sqlite3_value_dup(sqlite3_column_value(row, 1 + i));
    for (int i = 0; i < n; i++)
        if (!keys[i]) ctr_problem_nomem(problem);
    bool below = problem->rc == SQLITE_OK && ctr_floors_is_below(floors, keys, problem);
    for (int i = 0; below && i < showing->tracked.shape->n_counters; i++) {
        const ctr_summary none = {.life = 1};
        ctr_showing_value(showing, i, &none, &showing->to[i]);
    }
    if (below && ctr_writing_look(&showing->writing, keys, showing->from, NULL, problem))
        ctr_writing_update(&showing->writing, showing->from, showing->to, problem);
    for (int i = 0; i < n; i++) sqlite3_value_free(keys[i]);
}

int ctr_later_show_purged(ctr_showing *showing, ctr_floors *floors, ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    ctr_run_do(&run, CTR_SQL_TRACK_FORGET_APART, NULL);
    sqlite3_stmt *row = prepare_rows(showing, problem);
    sqlite3_value **keys = sqlite3_malloc64(((size_t)tracked->shape->n_keys + 1) * sizeof *keys);
    if (!keys) ctr_problem_nomem(problem);
    showing->writing.keys = keys;
    while (ctr_run_row(&run, row)) show_nothing_below(showing, row, floors, problem);
    sqlite3_finalize(row);
    sqlite3_free(keys);
    showing->writing.keys = NULL;
    return problem->rc;
}
