/* table/update.c - two statements, and the function that they call. */
#include "table/update.h"

#include "identity/replica.h"
#include "table/batch.h"
#include "table/stage.h"
#include "table/refuse.h"

#define UPDATE_POINTER "counter update"

enum { UPDATE_ARG, ROW_ARG, COLUMN_ARGS };
enum { ROWS_AT_ONCE = 64 }; /* row ids; after an unexpected row the others were read in vain */

/* ---- the function ---------------------------------------------------------------------------- */

/* SQLite writes each row right after its condition was true. If it collects all rows first,
 * fn_merging takes only one. */
static void fetch_cell(sqlite3_context *ctx, ctr_update *update, int counter)
{
    const ctr_rows *rows = update->rows;
    const ctr_staged *staged = &rows->staged[counter];
    update->pending = false;
    update->n_fetched++;
    if (staged->kind == CTR_STAGED_CELL)
        sqlite3_result_blob64(ctx, rows->fresh.bytes + staged->offset, staged->size, SQLITE_STATIC);
}

static bool merge_row_at_hand(ctr_update *update, sqlite3_value **argv, ctr_problem *problem)
{
    ctr_rows *rows = update->rows;
    const ctr_shape *shape = rows->shape;
    if (ctr_rows_take_values(rows, argv[ROW_ARG], argv + COLUMN_ARGS, problem)) return false;
    for (int i = 0; update->in_order && i < shape->n_keys; i++)
        update->keys[i] = argv[COLUMN_ARGS + shape->keys[i]];
    if (!update->merge(update->with, update->in_order ? update->keys : NULL, problem)) {
        update->stopped = true;
        return false;
    }
    return ctr_stage_any(rows) && ctr_stage_note_cells(rows, problem) == SQLITE_OK;
}

static void fn_merging(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    ctr_update *update =
        argc > ROW_ARG ? sqlite3_value_pointer(argv[UPDATE_ARG], UPDATE_POINTER) : NULL;
    if (!update) {
        sqlite3_result_error(ctx, "counter_merging is for the library alone", -1);
        return;
    }
    if (argc == COLUMN_ARGS) {
        fetch_cell(ctx, update, sqlite3_value_int(argv[ROW_ARG]));
        return;
    }
    update->called = true;
    if (update->pending) update->stopped = true;
    bool writes = !update->stopped && merge_row_at_hand(update, argv, update->problem);
    update->pending = update->pending || writes;
    update->n_written += writes;
    if (update->problem->rc != SQLITE_OK)
        sqlite3_result_error_code(ctx, update->problem->rc);
    else
        sqlite3_result_int(ctx, writes);
}

int ctr_update_register(sqlite3 *db)
{
    return sqlite3_create_function_v2(db, "counter_merging", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                      NULL, fn_merging, NULL, NULL, NULL);
}

/* ---- the statements -------------------------------------------------------------------------- */

/* The pointer is the last parameter, behind the keys or the row ids. */
static sqlite3_stmt *prepare_update(ctr_update *update, ctr_sql which, int n_before,
                                    ctr_problem *problem)
{
    ctr_rows *rows = update->rows;
    const ctr_shape *shape = rows->shape;
    sqlite3_stmt *made = NULL;
    char *all = ctr_shape_column_list(shape), *match = ctr_shape_key_match(shape);
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_counters; i++) {
        const char *name = ctr_shape_counter_name(shape, i);
        sqlite3_str_appendf(out, "%s\"%w\" = coalesce(counter_merging(?%d, %d), \"%w\")",
                            i ? ", " : "", name, n_before + 1, i, name);
    }
    char *changes = sqlite3_str_finish(out);
    char *condition =
        all ? sqlite3_mprintf("counter_merging(?%d, _id, %s)", n_before + 1, all) : NULL;
    if (!changes || !condition || !match) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(rows->db, rows->schema, rows->table, problem);
    run.slots.changes = changes;
    run.slots.constraint = match;
    run.slots.value = condition;
    made = ctr_run_prepare(&run, which);
    if (made) sqlite3_bind_pointer(made, n_before + 1, update, UPDATE_POINTER, NULL);
    sqlite3_free(all);
    sqlite3_free(match);
    sqlite3_free(changes);
    sqlite3_free(condition);
    return made;
}

bool ctr_update_open(ctr_update *update, ctr_rows *rows, ctr_update_merge *merge, void *with,
                     ctr_problem *problem)
{
    int n_keys = rows->shape->n_keys;
    ctr_problem refused = {SQLITE_OK, NULL};
    *update = (ctr_update){.rows = rows, .merge = merge, .with = with};
    if (problem->rc != SQLITE_OK || rows->shape->n_counters == 0) return false;
    update->keys = sqlite3_malloc64((size_t)n_keys * sizeof *update->keys);
    if (!update->keys) ctr_problem_nomem(&refused);
    update->by_key = prepare_update(update, CTR_SQL_UPDATE_KEY, n_keys, &refused);
    if (refused.rc == SQLITE_ERROR || refused.rc == SQLITE_AUTH) {
        ctr_problem_close(&refused);
        return false;
    }
    if (refused.rc == SQLITE_OK)
        ctr_refuse_ignored_columns(rows->shape, rows->db, rows->schema, rows->table, problem);
    else
        *problem = refused;
    return problem->rc == SQLITE_OK;
}

void ctr_update_close(ctr_update *update)
{
    sqlite3_finalize(update->by_key);
    sqlite3_finalize(update->behind);
    sqlite3_free(update->keys);
    *update = (ctr_update){0};
}

/* The callers read the journal before, because anything within the statement is done for each
 * row. */
static int step_update(ctr_update *update, sqlite3_stmt *statement, ctr_problem *problem)
{
    ctr_rows *rows = update->rows;
    update->problem = problem;
    update->stopped = update->pending = false;
    update->n_written = update->n_fetched = 0;
    rows->writing = true;
    int rc = sqlite3_step(statement);
    rows->writing = false;
    if ((rc & 0xff) == SQLITE_CONSTRAINT && problem->rc == SQLITE_OK)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "the stored table refuses the row: %s",
                        sqlite3_errmsg(rows->db));
    if (rc == SQLITE_DONE && (sqlite3_changes(rows->db) != update->n_written ||
                              update->n_fetched != update->n_written * rows->shape->n_counters))
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "the stored table did not take the row");
    ctr_problem_sqlite(problem, rows->db, rc);
    sqlite3_reset(statement);
    return problem->rc;
}

bool ctr_update_key(ctr_update *update, sqlite3_value **keys, ctr_problem *problem)
{
    ctr_rows *rows = update->rows;
    if (ctr_rows_find_none(rows, problem) || ctr_journal_refresh(rows->journal, problem))
        return false;
    if (ctr_rows_lend_keys(rows, update->by_key, keys, problem)) return false;
    update->in_order = false;
    return step_update(update, update->by_key, problem) == SQLITE_OK && update->n_written > 0;
}

int ctr_update_behind(ctr_update *update, int64_t rowid, ctr_problem *problem)
{
    ctr_rows *rows = update->rows;
    if (ctr_rows_find_none(rows, problem) || ctr_journal_refresh(rows->journal, problem)) return 0;
    if (!update->behind) update->behind = prepare_update(update, CTR_SQL_UPDATE_BEHIND, 2, problem);
    if (!update->behind) return 0;
    int64_t most = rowid > INT64_MAX - ROWS_AT_ONCE ? INT64_MAX : rowid + ROWS_AT_ONCE;
    sqlite3_bind_int64(update->behind, 1, rowid);
    sqlite3_bind_int64(update->behind, 2, most);
    update->in_order = true;
    return step_update(update, update->behind, problem) == SQLITE_OK ? update->n_written : 0;
}
