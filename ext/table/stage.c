/* table/stage.c - stages changes of a row, and writes them. */
#include "table/table.h"

#include <string.h>

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

void ctr_stage_empty(ctr_rows *rows)
{
    for (int i = 0; i < rows->shape->n_counters; i++)
        if (ctr_rows_state(rows, i).touched) ctr_stage_set(rows, i, 0);
}

int ctr_stage_row(ctr_rows *rows, ctr_problem *problem)
{
    size_t room = ctr_row_cell_room(rows->row.n);
    uint8_t *out = ctr_stage_room(rows, room, problem);
    size_t size = out ? ctr_regular_write(rows->tab, &rows->row, out, problem) : 0;
    if (problem->rc != SQLITE_OK) return problem->rc;
    rows->staged_row =
        (ctr_staged){.kind = CTR_STAGED_CELL, .offset = rows->fresh.size, .size = size};
    rows->fresh.size += size;
    ctr_batch_learn(rows->tab, ctr_row_cell_highest(&rows->row));
    return problem->rc;
}

bool ctr_stage_stamps(ctr_rows *rows, const bool *mask, int n, ctr_problem *problem)
{
    int64_t number = ctr_batch_number(rows->tab, problem);
    if (number == 0 || number > CTR_STAMP_LAST) return false;
    rows->stamped = mask;
    rows->n_stamped = n;
    return true;
}

bool ctr_stage_any(const ctr_rows *rows)
{
    if (rows->spelling || rows->stamped || rows->staged_row.kind != CTR_STAGED_NOTHING) return true;
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
    if (staged->kind == CTR_STAGED_CELL && staged->size == 0) {
        state = (ctr_summary){.life = 1};
    } else if (staged->kind == CTR_STAGED_CELL) {
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
    int rc = SQLITE_OK, first = CTR_UPDATE_COUNTERS + shape->n_counters + shape->replicated;
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
static void write_row(ctr_rows *rows, ctr_slot *slot, bool may_be_there, ctr_problem *problem)
{
    ctr_conn *conn = rows->tab->file->conn;
    unsigned nth = conn->ended;
    ctr_run run = ctr_tab_run(rows->tab, problem);
    if (!slot->checked) check_write(rows, slot, problem);
    if (problem->rc != SQLITE_OK) return;
    ctr_spill_check(rows->tab->file);
    if (may_be_there)
        ctr_problem_sqlite(problem, run.db, ctr_run_to_end(slot->kept.statement));
    else
        ctr_run_write(&run, slot->kept.statement);
    bool again = sqlite3_stmt_status(slot->kept.statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    if (!again || problem->rc != SQLITE_OK) return;
    check_write(rows, slot, problem);
    if (problem->rc != SQLITE_OK) ctr_conn_spoil(conn, nth);
}

/* Writes new cells. */
static int write_cells(ctr_rows *rows, ctr_tab_sql which, sqlite3_value **keys,
                       ctr_problem *problem)
{
    const ctr_shape *shape = rows->shape;
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
    int n = which == CTR_TAB_SET_ROW ? 0 : shape->n_counters;
    if (shape->replicated && rows->staged_row.kind == CTR_STAGED_CELL)
        rc = sqlite3_bind_blob64(statement, first + n, rows->fresh.bytes + rows->staged_row.offset,
                                 rows->staged_row.size, SQLITE_STATIC);
    for (int i = 0; i < n && rc == SQLITE_OK; i++) {
        const ctr_staged *cell = &rows->staged[i];
        if (cell->kind != CTR_STAGED_CELL)
            rc = sqlite3_bind_null(statement, first + i);
        else
            rc = sqlite3_bind_blob64(statement, first + i, rows->fresh.bytes + cell->offset,
                                     cell->size, SQLITE_STATIC);
    }
    if (rows->spelling && rc == SQLITE_OK) rc = bind_spelling(rows, statement);
    ctr_problem_sqlite(problem, rows->tab->db, rc);
    write_row(rows, slot, which == CTR_TAB_INSERT_NEW, problem);
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
    ctr_row *row = ctr_cache_add(&rows->tab->cache, rows->rowid, rows->hash, rows->key.bytes,
                                 rows->key.size, rows->states);
    if (row)
        row->live = rows->staged_row.kind == CTR_STAGED_CELL && ctr_row_cell_is_live(&rows->row);
}

/* The stamps that the journal had are in the row cell now. */
static void note_row_cell(ctr_rows *rows)
{
    ctr_row *known = ctr_cache_row(&rows->tab->cache, rows->rowid);
    if (known) known->live = ctr_row_cell_is_live(&rows->row);
    ctr_batch_note(rows->tab, rows->rowid, CTR_ENTRY_ROW_WRITTEN, 0, CTR_MADE_HERE);
}

static int write_found(ctr_rows *rows, ctr_problem *problem)
{
    int n = rows->shape->n_counters, n_cells = 0;
    for (int i = 0; i < n; i++) n_cells += rows->staged[i].kind == CTR_STAGED_CELL;
    bool stamps = rows->staged_row.kind == CTR_STAGED_CELL;
    bool writes = n_cells > 0 || rows->spelling || stamps;
    ctr_tab_sql which = rows->spelling           ? CTR_TAB_SPELL
                        : stamps && n_cells == 0 ? CTR_TAB_SET_ROW
                                                 : CTR_TAB_UPDATE;
    if (problem->rc != SQLITE_OK || (writes && write_cells(rows, which, NULL, problem)))
        return problem->rc;
    if (rows->spelling) { /* so that caches forget the row, those of other connections, too */
        ctr_batch_note(rows->tab, rows->rowid, CTR_ENTRY_CHANGED, 0, CTR_MADE_HERE);
        ctr_cache_forget(&rows->tab->cache, rows->rowid);
    }
    if (stamps && n_cells == 0)
        ctr_batch_note(rows->tab, rows->rowid, CTR_ENTRY_CHANGED, 0, rows->origin);
    if (stamps) note_row_cell(rows);
    if (rows->stamped) ctr_batch_stamp(rows->tab, rows->rowid, rows->stamped, rows->n_stamped);
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

int ctr_stage_note(ctr_rows *rows, ctr_problem *problem)
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

/* Returns whether the row was inserted. */
static bool insert_cells(ctr_rows *rows, ctr_tab_sql which, sqlite3_value **keys,
                         ctr_problem *problem)
{
    int before = sqlite3_total_changes(rows->tab->db);
    if (write_cells(rows, which, keys, problem)) return false;
    if (sqlite3_total_changes(rows->tab->db) == before) return false;
    rows->rowid = sqlite3_last_insert_rowid(rows->tab->db);
    ctr_batch_note(rows->tab, rows->rowid, CTR_ENTRY_CHANGED, 0, rows->origin);
    note_own_part(rows);
    if (!rows->whole) know_new_row(rows);
    return true;
}

/* A trigger on the tables of the file must not use this row. */
static bool begin_writing(ctr_rows *rows, ctr_problem *problem)
{
    ctr_tab *tab = rows->tab;
    if (tab->writing) {
        ctr_stage_refuse_writing(problem);
        return false;
    }
    rows->writing = tab->writing = true;
    bool ready = ctr_tab_is_ready(tab) && tab->file->renewed;
    if (!ready && ctr_file_before_write(tab->file, problem) == SQLITE_OK)
        ctr_journal_refresh(tab, problem);
    int n = rows->shape->n_counters + 4 + (rows->stamped ? rows->n_stamped : 0);
    if (problem->rc == SQLITE_OK) ctr_batch_expect(tab, n, problem);
    if (rows->stamped) ctr_batch_number(tab, problem);
    if (problem->rc != SQLITE_OK) rows->writing = tab->writing = false;
    return problem->rc == SQLITE_OK;
}

int ctr_stage_write(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    if (!begin_writing(rows, problem)) return problem->rc;
    if (rows->found)
        write_found(rows, problem);
    else
        insert_cells(rows, CTR_TAB_INSERT, keys, problem);
    rows->writing = rows->tab->writing = false;
    return problem->rc;
}

bool ctr_stage_write_new(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    if (!begin_writing(rows, problem)) return false;
    bool inserted = insert_cells(rows, CTR_TAB_INSERT_NEW, keys, problem);
    rows->writing = rows->tab->writing = false;
    return inserted;
}
