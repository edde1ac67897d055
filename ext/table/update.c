/* table/update.c - the function counter_merging, and the UPDATEs that call it. */
#include "table/table.h"

#define UPDATE_POINTER "counter update"

enum { UPDATE_ARG, ROW_ARG, COLUMN_ARGS };
enum { ROWS_AT_ONCE = 64 }; /* row ids; after an unexpected row the others were read in vain */

/* ---- the function ---------------------------------------------------------------------------- */

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
    return ctr_stage_any(rows) && ctr_stage_note(rows, problem) == SQLITE_OK;
}

/* With a counter, fetches its staged cell; with a row, merges it. SQLite writes each row right
 * after its condition was true. If it collects all rows first, this takes only one. */
static void fn_merging(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    ctr_update *update =
        argc > ROW_ARG ? sqlite3_value_pointer(argv[UPDATE_ARG], UPDATE_POINTER) : NULL;
    if (!update) {
        sqlite3_result_error(ctx, "counter_merging is for the library alone", -1);
        return;
    }
    if (argc == COLUMN_ARGS) {
        const ctr_rows *rows = update->rows;
        const ctr_staged *staged = &rows->staged[sqlite3_value_int(argv[ROW_ARG])];
        update->pending = false;
        update->n_fetched++;
        if (staged->kind == CTR_STAGED_CELL)
            sqlite3_result_blob64(ctx, rows->fresh.bytes + staged->offset, staged->size,
                                  SQLITE_STATIC);
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

/* Takes a statement and passes it the pointer, its last parameter. */
static ctr_slot *take_update(ctr_update *update, ctr_tab_sql which, ctr_problem *problem)
{
    ctr_slot *slot = ctr_tab_take(update->rows->sql, which, problem);
    if (!slot) return NULL;
    sqlite3_stmt *statement = slot->kept.statement;
    int last = sqlite3_bind_parameter_count(statement);
    int rc = sqlite3_bind_pointer(statement, last, update, UPDATE_POINTER, NULL);
    ctr_problem_sqlite(problem, update->rows->tab->db, rc);
    return slot;
}

/* Finds no row, for it has no key yet. If SQLite prepares a kept statement again, then here. */
static void try_update(ctr_update *update, ctr_problem *problem)
{
    sqlite3_stmt *statement = update->by_key->kept.statement;
    ctr_problem_sqlite(problem, update->rows->tab->db, sqlite3_step(statement));
    sqlite3_reset(statement);
    if (sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0)
        update->by_key->checked = false;
}

bool ctr_update_open(ctr_update *update, ctr_rows *rows, ctr_update_merge *merge, void *with,
                     ctr_problem *problem)
{
    ctr_problem refused = {SQLITE_OK, NULL};
    *update = (ctr_update){.rows = rows, .merge = merge, .with = with};
    if (problem->rc != SQLITE_OK || rows->shape->n_counters == 0) return false;
    int n_keys = rows->shape->n_keys;
    update->keys = sqlite3_malloc64((size_t)n_keys * sizeof *update->keys);
    if (!update->keys) ctr_problem_nomem(&refused);
    update->by_key = take_update(update, CTR_TAB_MERGE_KEY, &refused);
    if (refused.rc == SQLITE_OK && update->by_key->checked) try_update(update, &refused);
    if (refused.rc == SQLITE_ERROR || refused.rc == SQLITE_AUTH) {
        ctr_tab_give_back(rows->sql, update->by_key, &refused);
        ctr_problem_close(&refused);
        update->by_key = NULL;
        return false;
    }
    if (refused.rc != SQLITE_OK)
        *problem = refused;
    else if (!update->by_key->checked)
        ctr_refuse_ignored_columns(rows->tab, rows->shape, problem);
    if (update->by_key) update->by_key->checked = problem->rc == SQLITE_OK;
    return problem->rc == SQLITE_OK;
}

void ctr_update_close(ctr_update *update, const ctr_problem *problem)
{
    if (update->by_key) ctr_tab_give_back(update->rows->sql, update->by_key, problem);
    if (update->behind) ctr_tab_give_back(update->rows->sql, update->behind, problem);
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
    ctr_spill_check(rows->tab->file);
    int rc = ctr_run_to_end(statement);
    rows->writing = false;
    if ((rc & 0xff) == SQLITE_CONSTRAINT && problem->rc == SQLITE_OK)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "the stored table refuses the row: %s",
                        sqlite3_errmsg(rows->tab->db));
    if (rc == SQLITE_DONE && (sqlite3_changes(rows->tab->db) != update->n_written ||
                              update->n_fetched != update->n_written * rows->shape->n_counters))
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "the stored table did not take the row");
    ctr_problem_sqlite(problem, rows->tab->db, rc);
    sqlite3_reset(statement);
    return problem->rc;
}

bool ctr_update_key(ctr_update *update, sqlite3_value **keys, ctr_problem *problem)
{
    ctr_rows *rows = update->rows;
    if (ctr_rows_find_none(rows, problem) || ctr_journal_refresh(rows->tab, problem)) return false;
    sqlite3_stmt *statement = update->by_key->kept.statement;
    if (ctr_rows_lend_keys(rows, statement, keys, problem)) return false;
    update->in_order = false;
    return step_update(update, statement, problem) == SQLITE_OK && update->n_written > 0;
}

int ctr_update_behind(ctr_update *update, int64_t rowid, ctr_problem *problem)
{
    ctr_rows *rows = update->rows;
    if (ctr_rows_find_none(rows, problem) || ctr_journal_refresh(rows->tab, problem)) return 0;
    if (!update->behind) update->behind = take_update(update, CTR_TAB_MERGE_BEHIND, problem);
    if (!update->behind) return 0;
    sqlite3_stmt *statement = update->behind->kept.statement;
    int64_t most = rowid > INT64_MAX - ROWS_AT_ONCE ? INT64_MAX : rowid + ROWS_AT_ONCE;
    sqlite3_bind_int64(statement, 1, rowid);
    sqlite3_bind_int64(statement, 2, most);
    update->in_order = true;
    return step_update(update, statement, problem) == SQLITE_OK ? update->n_written : 0;
}
