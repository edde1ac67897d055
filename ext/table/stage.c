/* table/stage.c - stages changes of a row, and writes them. */
#include "table/stage.h"

#include <string.h>

#include "identity/replica.h"
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
    for (int i = 0; i < rows->shape->n_counters; i++)
        if (rows->staged[i].kind != CTR_STAGED_NOTHING) return true;
    return false;
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

/* Stages a new cell: `base` with a difference in the shard of `id`. */
static ctr_status stage_cell(ctr_rows *rows, int counter, const ctr_cell *base,
                             const ctr_sum *difference, const uint8_t *id, int64_t least,
                             ctr_problem *problem)
{
    size_t size;
    uint8_t *out = ctr_stage_room(rows, base->size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX, problem);
    if (!out) return CTR_OK;
    ctr_status status = ctr_cell_add(base, id, difference, 1, least, out, &size);
    if (status == CTR_OK) ctr_stage_set(rows, counter, size);
    return status;
}

/* Returns whether the journal can hold the difference: its amount for a counter has 64 bits. */
static bool is_amount(const ctr_rows *rows, int counter, const ctr_sum *difference, int64_t *n)
{
    int64_t sum_of_all;
    ctr_sum sum = *difference;
    const ctr_amount *amount = ctr_journal_amount(rows->journal, rows->rowid, counter);
    if (amount) ctr_sum_add(&sum, amount->n);
    return ctr_sum_value(difference, n) == CTR_OK && ctr_sum_value(&sum, &sum_of_all) == CTR_OK;
}

/* Stages an amount for an existing row, or else a new cell. */
static ctr_status stage_difference(ctr_rows *rows, int counter, const ctr_sum *difference,
                                   const uint8_t *id, int64_t least, ctr_problem *problem)
{
    ctr_staged *staged = &rows->staged[counter];
    const ctr_cell *cell = &rows->cells[counter];
    if (rows->whole || !rows->found)
        return stage_cell(rows, counter, cell, difference, id, least, problem);

    int64_t value;
    const ctr_summary *state = &rows->states[counter];
    ctr_sum sum = *difference;
    ctr_sum_add(&sum, state->value);
    if (state->life % 2 == 0) return CTR_DELETED;
    if (state->clock == INT64_MAX || ctr_sum_value(&sum, &value) != CTR_OK) return CTR_OVERFLOW;
    *staged = (ctr_staged){.kind = CTR_STAGED_AMOUNT};
    if (is_amount(rows, counter, difference, &staged->n)) return CTR_OK;
    staged->kind = CTR_STAGED_NOTHING;
    if (ctr_rows_load_cells(rows, problem)) return CTR_OK;
    return stage_cell(rows, counter, cell, difference, id, least, problem);
}

ctr_status ctr_stage_add(ctr_rows *rows, int counter, int64_t n, const uint8_t id[CTR_ID_SIZE],
                         int64_t least, ctr_problem *problem)
{
    ctr_sum difference = {0, 0};
    ctr_sum_add(&difference, n);
    return stage_difference(rows, counter, &difference, id, least, problem);
}

ctr_status ctr_stage_assign(ctr_rows *rows, int counter, int64_t n, const uint8_t id[CTR_ID_SIZE],
                            int64_t least, ctr_problem *problem)
{
    ctr_sum difference = {0, 0}, sum = ctr_rows_state(rows, counter).sum;
    ctr_sum_add(&difference, n);
    ctr_sum_subtract_sum(&difference, &sum);
    return stage_difference(rows, counter, &difference, id, least, problem);
}

ctr_status ctr_stage_next_life(ctr_rows *rows, int counter, int64_t n, const uint8_t *id,
                               int64_t least, ctr_problem *problem)
{
    uint8_t empty[CTR_CELL_HEADER_MAX], *out;
    size_t size;
    ctr_sum difference = {0, 0};
    ctr_cell cell = {.life = ctr_rows_state(rows, counter).life};
    ctr_status status = ctr_cell_reset(&cell, empty, &size);
    if (status != CTR_OK) return status;
    cell = ctr_cell_written(empty, size);
    ctr_sum_add(&difference, n);
    if (id) return stage_cell(rows, counter, &cell, &difference, id, least, problem);
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

static sqlite3_stmt *write_statement(ctr_rows *rows, ctr_problem *problem)
{
    sqlite3_stmt **keep = rows->found ? &rows->update : &rows->insert;
    if (*keep) return *keep;
    if (rows->found)
        return ctr_rows_prepare(rows, keep, CTR_SQL_ROWS_UPDATE,
                                ctr_shape_update_changes(rows->shape), sqlite3_mprintf(""),
                                problem);
    return ctr_rows_prepare(rows, keep, CTR_SQL_ROWS_INSERT, ctr_shape_insert_columns(rows->shape),
                            ctr_shape_insert_values(rows->shape), problem);
}

static int bind_changes(ctr_rows *rows, sqlite3_stmt *statement, int first)
{
    int rc = SQLITE_OK;
    for (int i = 0; i < rows->shape->n_counters && rc == SQLITE_OK; i++) {
        const ctr_staged *cell = &rows->staged[i];
        if (cell->kind != CTR_STAGED_CELL)
            rc = sqlite3_bind_null(statement, first + i);
        else
            rc = sqlite3_bind_blob64(statement, first + i, rows->fresh.bytes + cell->offset,
                                     cell->size, SQLITE_STATIC);
    }
    return rc;
}

/* Writes new cells, and clears the statement's bindings in any case. */
static int write_cells(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(rows->db, rows->schema, rows->table, problem);
    sqlite3_stmt *statement = write_statement(rows, problem);
    if (!statement) return problem->rc;
    int rc = SQLITE_OK, first = CTR_UPDATE_COUNTERS;
    if (rows->found) {
        sqlite3_bind_int64(statement, CTR_UPDATE_ROWID, rows->rowid);
    } else {
        rc = ctr_rows_bind_keys(rows, statement, CTR_INSERT_KEYS, keys);
        first = CTR_INSERT_KEYS + rows->shape->n_keys;
    }
    if (rc == SQLITE_OK) rc = bind_changes(rows, statement, first);
    ctr_problem_sqlite(problem, rows->db, rc);
    ctr_run_write(&run, statement);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return problem->rc;
}

/* Adds a new row to the cache. */
static void know_new_row(ctr_rows *rows)
{
    if (!rows->packed) return;
    for (int i = 0; i < rows->shape->n_counters; i++) {
        const ctr_staged *staged = &rows->staged[i];
        rows->states[i] = (ctr_summary){.life = 1};
        if (staged->kind == CTR_STAGED_CELL)
            ctr_cell_summarize(&rows->states[i], rows->journal->id,
                               rows->fresh.bytes + staged->offset, staged->size);
    }
    ctr_cache_add(&rows->journal->rows, rows->rowid, rows->hash, rows->key.bytes, rows->key.size,
                  rows->states);
}

/* A new cell replaces the one that was read, so no cell may be hidden. Checked once in each
 * transaction. */
static int refuse_hidden(ctr_rows *rows, ctr_problem *problem)
{
    unsigned nth = rows->replica->transaction->ended + 1;
    if (rows->seen_in != nth)
        ctr_refuse_ignored_columns(rows->shape, rows->db, rows->schema, rows->table, problem);
    if (problem->rc == SQLITE_OK) rows->seen_in = nth;
    return problem->rc;
}

static int write_found(ctr_rows *rows, ctr_problem *problem)
{
    int n = rows->shape->n_counters, n_cells = 0;
    for (int i = 0; i < n; i++) n_cells += rows->staged[i].kind == CTR_STAGED_CELL;
    if (n_cells > 0 && (refuse_hidden(rows, problem) || write_cells(rows, NULL, problem)))
        return problem->rc;
    for (int i = 0; i < n; i++) {
        const ctr_staged *staged = &rows->staged[i];
        if (staged->kind == CTR_STAGED_AMOUNT)
            ctr_batch_add(rows->journal, rows->rowid, i, staged->n);
        else if (staged->kind == CTR_STAGED_CELL)
            ctr_batch_note(rows->journal, rows->rowid, CTR_ENTRY_WRITTEN, i);
    }
    return problem->rc;
}

int ctr_stage_note_cells(ctr_rows *rows, ctr_problem *problem)
{
    int n = rows->shape->n_counters;
    if (ctr_replica_before_write(rows->replica, problem) ||
        ctr_batch_expect(rows->journal, n + 1, problem))
        return problem->rc;
    for (int i = 0; i < n; i++)
        if (rows->staged[i].kind == CTR_STAGED_CELL)
            ctr_batch_note(rows->journal, rows->rowid, CTR_ENTRY_WRITTEN, i);
    return problem->rc;
}

/* A trigger on the tables of the file must not use this row. */
int ctr_stage_write(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    rows->writing = true;
    if (ctr_replica_before_write(rows->replica, problem) == SQLITE_OK &&
        ctr_journal_refresh(rows->journal, problem) == SQLITE_OK &&
        ctr_batch_expect(rows->journal, rows->shape->n_counters + 1, problem) == SQLITE_OK) {
        if (rows->found) {
            write_found(rows, problem);
        } else if (write_cells(rows, keys, problem) == SQLITE_OK) {
            rows->rowid = sqlite3_last_insert_rowid(rows->db);
            ctr_batch_note(rows->journal, rows->rowid, CTR_ENTRY_CHANGED, 0);
            if (!rows->whole) know_new_row(rows);
        }
    }
    rows->writing = false;
    return problem->rc;
}
