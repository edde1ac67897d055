/* table/stage.c - stages changes of a row, and writes them; an UPDATE that merges. */
#include "table/stage.h"

#include <string.h>

#include "identity/spill.h"
#include "table/batch.h"
#include "table/refuse.h"

/* ---- staging --------------------------------------------------------------------------------- */

uint8_t *ctr_stage_room(ctr_rows *rows, size_t size, ctr_problem *problem)
{
    return ctr_pack_room(&rows->fresh, size, problem);
}

void ctr_stage_set(ctr_rows *rows, int counter, size_t size)
{
    rows->staged[counter] =
        (ctr_staged){.kind = CTR_STAGED_CELL, .offset = rows->fresh.size, .size = size};
    rows->fresh.size += size;
}

void ctr_stage_cell(const ctr_rows *rows, int counter, ctr_cell *cell)
{
    const ctr_staged *staged = &rows->staged[counter];
    if (staged->kind == CTR_STAGED_CELL)
        *cell = ctr_cell_written(rows->fresh.bytes + staged->offset, staged->size);
}

bool ctr_stage_any(const ctr_rows *rows)
{
    if (rows->spelling) return true;
    for (int i = 0; i < rows->shape->n_counters; i++)
        if (rows->staged[i].kind != CTR_STAGED_NOTHING) return true;
    return false;
}

/* Returns whether the column may have stored an equal value that reads differently. */
static bool may_read_otherwise(const ctr_column *column, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    if (number && column->affinity == CTR_AFFINITY_BLOB) return true;
    bool text = type == SQLITE_TEXT || (number && column->affinity == CTR_AFFINITY_TEXT);
    return text && sqlite3_stricmp(column->collation, "BINARY") != 0;
}

void ctr_stage_spell(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    const ctr_shape *shape = rows->shape;
    bool may = false;
    for (int i = 0; i < shape->n_keys; i++)
        may = may || (keys[i] && may_read_otherwise(&shape->columns[shape->keys[i]], keys[i]));
    if (!rows->found || !may || shape->n_counters == 0) return;
    const ctr_row *known = rows->packed ? NULL : ctr_cache_row(&rows->tab->cache, rows->rowid);
    const uint8_t *key = known ? known->key : rows->packed ? rows->key.bytes : NULL;
    size_t size = known ? known->key_size : rows->key.size;
    if (!key || !ctr_pack_has(key, size, keys, shape->n_keys, problem)) rows->spelling = keys;
}

ctr_summary ctr_stage_state(const ctr_rows *rows, int counter)
{
    const ctr_staged *staged = &rows->staged[counter];
    ctr_summary state = ctr_rows_state(rows, counter);
    if (staged->kind == CTR_STAGED_CELL) {
        ctr_cell_summarize(&state, NULL, rows->fresh.bytes + staged->offset, staged->size);
    } else if (staged->kind == CTR_STAGED_AMOUNT) {
        ctr_sum_add(&state.sum, staged->n);
        state.touched = state.has_shards = true;
    }
    return state;
}

/* Stages a new cell: `base` with a difference in the shard of the leader. */
static ctr_status stage_cell(ctr_rows *rows, int counter, const ctr_cell *base,
                             const ctr_sum *difference, const ctr_leader *leader,
                             ctr_problem *problem)
{
    size_t size;
    uint8_t *out = ctr_stage_room(rows, base->size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX, problem);
    if (!out) return CTR_OK;
    ctr_status status = ctr_cell_add(base, leader->id, difference, 1, leader->least, out, &size);
    if (status == CTR_OK) ctr_stage_set(rows, counter, size);
    return status;
}

/* Stages an amount for an existing row, or else a new cell. */
static ctr_status stage_difference(ctr_rows *rows, int counter, const ctr_sum *difference,
                                   const ctr_leader *leader, ctr_problem *problem)
{
    ctr_staged *staged = &rows->staged[counter];
    const ctr_cell *cell = &rows->cells[counter];
    if (rows->whole || !rows->found)
        return stage_cell(rows, counter, cell, difference, leader, problem);

    int64_t value;
    const ctr_summary *state = &rows->states[counter];
    ctr_sum sum = *difference;
    ctr_sum_add(&sum, state->value);
    if (state->life % 2 == 0) return CTR_DELETED;
    if (state->clock >= CTR_CLOCK_MAX || ctr_sum_value(&sum, &value) != CTR_OK) return CTR_OVERFLOW;
    /* Can the journal hold it? Its amount for a counter has 64 bits. */
    const ctr_amount *amount = ctr_journal_amount(rows->tab, rows->rowid, counter);
    ctr_sum amounts = *difference;
    if (amount) ctr_sum_add(&amounts, amount->n);
    *staged = (ctr_staged){.kind = CTR_STAGED_AMOUNT};
    if (ctr_sum_value(difference, &staged->n) == CTR_OK &&
        ctr_sum_value(&amounts, &value) == CTR_OK)
        return CTR_OK;
    staged->kind = CTR_STAGED_NOTHING;
    if (ctr_rows_load_cells(rows, problem)) return CTR_OK;
    return stage_cell(rows, counter, cell, difference, leader, problem);
}

ctr_status ctr_stage_add(ctr_rows *rows, int counter, int64_t n, const ctr_leader *leader,
                         ctr_problem *problem)
{
    ctr_sum difference = {0, 0};
    ctr_sum_add(&difference, n);
    return stage_difference(rows, counter, &difference, leader, problem);
}

ctr_status ctr_stage_assign(ctr_rows *rows, int counter, int64_t n, const ctr_leader *leader,
                            ctr_problem *problem)
{
    ctr_sum difference = {0, 0}, sum = ctr_rows_state(rows, counter).sum;
    ctr_sum_add(&difference, n);
    ctr_sum_subtract_sum(&difference, &sum);
    return stage_difference(rows, counter, &difference, leader, problem);
}

ctr_status ctr_stage_open(ctr_rows *rows, int counter, int64_t n, const ctr_leader *opening,
                          ctr_problem *problem)
{
    ctr_sum difference = {0, 0};
    ctr_sum_add(&difference, n);
    if (rows->found && !rows->whole && ctr_rows_load_cells(rows, problem)) return CTR_OK;
    return stage_cell(rows, counter, &rows->cells[counter], &difference, opening, problem);
}

ctr_status ctr_stage_next_life(ctr_rows *rows, int counter, int64_t n, const ctr_leader *leader,
                               ctr_problem *problem)
{
    uint8_t empty[CTR_CELL_HEADER_MAX], *out;
    size_t size;
    ctr_sum difference = {0, 0};
    ctr_cell cell = {.life = ctr_rows_state(rows, counter).life};
    ctr_status status = ctr_cell_reset(&cell, empty, &size);
    if (status != CTR_OK) return status;
    cell = ctr_cell_written(empty, size);
    ctr_sum_add(&difference, n);
    if (leader) return stage_cell(rows, counter, &cell, &difference, leader, problem);
    out = ctr_stage_room(rows, size, problem);
    if (!out) return CTR_OK;
    memcpy(out, empty, size);
    ctr_stage_set(rows, counter, size);
    return CTR_OK;
}

ctr_status ctr_stage_delete(ctr_rows *rows, int counter, ctr_problem *problem)
{
    size_t size;
    ctr_cell cell = {.life = ctr_rows_state(rows, counter).life};
    uint8_t *out = ctr_stage_room(rows, CTR_CELL_HEADER_MAX, problem);
    if (!out) return CTR_OK;
    ctr_status status = ctr_cell_delete(&cell, out, &size);
    if (status == CTR_OK) ctr_stage_set(rows, counter, size);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int bind_spelling(const ctr_rows *rows, sqlite3_stmt *statement)
{
    const ctr_shape *shape = rows->shape;
    int rc = SQLITE_OK, first = CTR_UPDATE_COUNTERS + shape->n_counters;
    for (int i = 0; i < shape->n_keys && rc == SQLITE_OK; i++)
        if (rows->spelling[i])
            rc = ctr_pack_bind_stored(statement, first + i, &shape->columns[shape->keys[i]],
                                      rows->spelling[i]);
    return rc;
}

/* Looks at a statement that was just prepared, or prepared again. A new cell replaces the one that
 * was read, so no cell may be hidden. */
static void check_write(ctr_rows *rows, ctr_slot *slot, ctr_problem *problem)
{
    ctr_batch_refuse_triggers_anew(rows->tab, problem);
    if (rows->found && problem->rc == SQLITE_OK)
        ctr_refuse_ignored_columns(rows->tab, rows->shape, problem);
    slot->checked = problem->rc == SQLITE_OK;
}

/* Looks again if SQLite has prepared the statement again, as for another authorizer or a new
 * trigger. Then the row is written already. */
static void write_row(ctr_rows *rows, ctr_slot *slot, ctr_problem *problem)
{
    ctr_conn *conn = rows->tab->file->conn;
    unsigned nth = conn->ended;
    ctr_run run = ctr_tab_run(rows->tab, problem);
    if (!slot->checked) check_write(rows, slot, problem);
    if (problem->rc != SQLITE_OK) return;
    ctr_spill_check(rows->tab->file);
    ctr_run_write(&run, slot->kept.statement);
    bool again = sqlite3_stmt_status(slot->kept.statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    if (!again || problem->rc != SQLITE_OK) return;
    check_write(rows, slot, problem);
    if (problem->rc != SQLITE_OK) ctr_conn_spoil(conn, nth);
}

/* Writes new cells. */
static int write_cells(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    const ctr_shape *shape = rows->shape;
    ctr_tab_sql which = rows->spelling ? CTR_TAB_SPELL
                        : rows->found  ? CTR_TAB_UPDATE
                                       : CTR_TAB_INSERT;
    ctr_slot *slot = ctr_tab_take(rows->sql, which, problem);
    if (!slot) return problem->rc;
    sqlite3_stmt *statement = slot->kept.statement;
    int rc = SQLITE_OK, first = CTR_UPDATE_COUNTERS;
    if (rows->found) {
        sqlite3_bind_int64(statement, CTR_UPDATE_ROWID, rows->rowid);
    } else {
        rc = ctr_pack_bind_keys(statement, CTR_INSERT_KEYS, shape, keys);
        first = CTR_INSERT_KEYS + shape->n_keys;
    }
    for (int i = 0; i < shape->n_counters && rc == SQLITE_OK; i++) {
        const ctr_staged *cell = &rows->staged[i];
        if (cell->kind != CTR_STAGED_CELL)
            rc = sqlite3_bind_null(statement, first + i);
        else
            rc = sqlite3_bind_blob64(statement, first + i, rows->fresh.bytes + cell->offset,
                                     cell->size, SQLITE_STATIC);
    }
    if (rows->spelling && rc == SQLITE_OK) rc = bind_spelling(rows, statement);
    ctr_problem_sqlite(problem, rows->tab->db, rc);
    write_row(rows, slot, problem);
    ctr_tab_give_back(rows->sql, slot, problem);
    return problem->rc;
}

/* Notes that a part of a change that came from elsewhere was made here. */
static void note_own_part(ctr_rows *rows)
{
    if (rows->also_here && rows->origin != CTR_MADE_HERE)
        ctr_batch_note(rows->tab, rows->rowid, CTR_ENTRY_CHANGED, 0, CTR_MADE_HERE);
}

/* Adds a new row to the cache. */
static void know_new_row(ctr_rows *rows)
{
    if (!rows->packed) return;
    for (int i = 0; i < rows->shape->n_counters; i++) {
        const ctr_staged *staged = &rows->staged[i];
        rows->states[i] = (ctr_summary){.life = 1};
        if (staged->kind == CTR_STAGED_CELL)
            ctr_cell_summarize(&rows->states[i], rows->tab->id, rows->fresh.bytes + staged->offset,
                               staged->size);
    }
    ctr_cache_add(&rows->tab->cache, rows->rowid, rows->hash, rows->key.bytes, rows->key.size,
                  rows->states);
}

static int write_found(ctr_rows *rows, ctr_problem *problem)
{
    int n = rows->shape->n_counters, n_cells = 0;
    for (int i = 0; i < n; i++) n_cells += rows->staged[i].kind == CTR_STAGED_CELL;
    bool writes = n_cells > 0 || rows->spelling;
    if (problem->rc != SQLITE_OK || (writes && write_cells(rows, NULL, problem)))
        return problem->rc;
    if (rows->spelling) { /* so that caches forget the row, those of other connections, too */
        ctr_batch_note(rows->tab, rows->rowid, CTR_ENTRY_CHANGED, 0, CTR_MADE_HERE);
        ctr_cache_forget(&rows->tab->cache, rows->rowid);
    }
    for (int i = 0; i < n; i++) {
        const ctr_staged *staged = &rows->staged[i];
        if (staged->kind == CTR_STAGED_AMOUNT)
            ctr_batch_add(rows->tab, rows->rowid, i, staged->n);
        else if (staged->kind == CTR_STAGED_CELL)
            ctr_batch_note(rows->tab, rows->rowid, CTR_ENTRY_WRITTEN, i, rows->origin);
    }
    note_own_part(rows);
    return problem->rc;
}

/* Notes the staged cells of a row in the batch, before the UPDATE writes them. */
static int note_staged_cells(ctr_rows *rows, ctr_problem *problem)
{
    int n = rows->shape->n_counters;
    if (ctr_file_before_write(rows->tab->file, problem) ||
        ctr_batch_expect(rows->tab, n + 1, problem))
        return problem->rc;
    for (int i = 0; i < n; i++)
        if (rows->staged[i].kind == CTR_STAGED_CELL)
            ctr_batch_note(rows->tab, rows->rowid, CTR_ENTRY_WRITTEN, i, rows->origin);
    note_own_part(rows);
    return problem->rc;
}

int ctr_stage_refuse_writing(ctr_problem *problem)
{
    return ctr_problem_set(problem, SQLITE_ERROR,
                           "a row of the table is being written: the collation of its key must not "
                           "change the table");
}

/* A trigger on the tables of the file must not use this row. */
int ctr_stage_write(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    if (rows->tab->writing) return ctr_stage_refuse_writing(problem);
    rows->writing = rows->tab->writing = true;
    bool ready = ctr_tab_is_ready(rows->tab) && rows->tab->file->renewed;
    if ((ready || (ctr_file_before_write(rows->tab->file, problem) == SQLITE_OK &&
                   ctr_journal_refresh(rows->tab, problem) == SQLITE_OK)) &&
        ctr_batch_expect(rows->tab, rows->shape->n_counters + 1, problem) == SQLITE_OK) {
        if (rows->found) {
            write_found(rows, problem);
        } else if (write_cells(rows, keys, problem) == SQLITE_OK) {
            rows->rowid = sqlite3_last_insert_rowid(rows->tab->db);
            ctr_batch_note(rows->tab, rows->rowid, CTR_ENTRY_CHANGED, 0, rows->origin);
            note_own_part(rows);
            if (!rows->whole) know_new_row(rows);
        }
    }
    rows->writing = rows->tab->writing = false;
    return problem->rc;
}

/* ---- an UPDATE that merges ------------------------------------------------------------------- */

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
    return ctr_stage_any(rows) && note_staged_cells(rows, problem) == SQLITE_OK;
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

int ctr_stage_register(sqlite3 *db)
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

bool ctr_stage_open_update(ctr_update *update, ctr_rows *rows, ctr_update_merge *merge, void *with,
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

void ctr_stage_close_update(ctr_update *update, const ctr_problem *problem)
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

bool ctr_stage_update_key(ctr_update *update, sqlite3_value **keys, ctr_problem *problem)
{
    ctr_rows *rows = update->rows;
    if (ctr_rows_find_none(rows, problem) || ctr_journal_refresh(rows->tab, problem)) return false;
    sqlite3_stmt *statement = update->by_key->kept.statement;
    if (ctr_rows_lend_keys(rows, statement, keys, problem)) return false;
    update->in_order = false;
    return step_update(update, statement, problem) == SQLITE_OK && update->n_written > 0;
}

int ctr_stage_update_behind(ctr_update *update, int64_t rowid, ctr_problem *problem)
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
