/* table/values.c - opens cells and reads keys of stored rows. */
#include "table/table.h"

/* ---- keys ------------------------------------------------------------------------------------ */

static ctr_slot *take_key_statement(ctr_rows *rows, int64_t rowid, ctr_problem *problem)
{
    ctr_slot *slot = ctr_tab_take(rows->sql, CTR_TAB_KEY, problem);
    if (slot) sqlite3_bind_int64(slot->kept.statement, 1, rowid);
    return slot;
}

bool ctr_values_take_key(ctr_rows *rows, int64_t rowid, sqlite3_value **keys, ctr_problem *problem)
{
    for (int i = 0; i < rows->shape->n_keys; i++) keys[i] = NULL;
    ctr_run run = ctr_tab_run(rows->tab, problem);
    ctr_slot *slot = take_key_statement(rows, rowid, problem);
    sqlite3_stmt *row = slot ? slot->kept.statement : NULL;
    bool there = ctr_run_row(&run, row);
    for (int i = 0; there && i < rows->shape->n_keys; i++) {
        keys[i] = sqlite3_value_dup(sqlite3_column_value(row, i));
        if (!keys[i]) ctr_problem_nomem(problem);
    }
    ctr_tab_give_back(rows->sql, slot, problem);
    return there && problem->rc == SQLITE_OK;
}

bool ctr_values_key_is(ctr_rows *rows, int64_t rowid, sqlite3_value **keys, ctr_problem *problem)
{
    ctr_slot *slot = ctr_tab_take(rows->sql, CTR_TAB_KEY_IS, problem);
    if (!slot) return false;
    sqlite3_stmt *row = slot->kept.statement;
    sqlite3_bind_int64(row, 1, rowid);
    int rc = SQLITE_OK;
    for (int i = 0; i < rows->shape->n_keys && rc == SQLITE_OK; i++)
        if (keys[i]) rc = ctr_text_bind_value(row, i + 2, keys[i]);
    if (rc == SQLITE_OK) rc = sqlite3_step(row);
    ctr_problem_sqlite(problem, rows->tab->db, rc);
    ctr_tab_give_back(rows->sql, slot, problem);
    return rc == SQLITE_ROW;
}

/* If the row cannot be read, the text has no values. */
char *ctr_values_key_text(ctr_rows *rows, int64_t rowid, ctr_problem *problem)
{
    ctr_problem trouble = {SQLITE_OK, NULL};
    ctr_run run = ctr_tab_run(rows->tab, &trouble);
    ctr_slot *slot = take_key_statement(rows, rowid, &trouble);
    sqlite3_stmt *row = slot ? slot->kept.statement : NULL;
    int n = ctr_run_row(&run, row) ? rows->shape->n_keys : 0;
    sqlite3_value **keys = sqlite3_malloc64(((size_t)n + 1) * sizeof *keys);
    for (int i = 0; keys && i < n; i++) keys[i] = sqlite3_column_value(row, i);
    char *text =
        keys && !ctr_problem_rolls_back(trouble.rc) ? ctr_problem_describe_key(keys, n) : NULL;
    sqlite3_free(keys);
    ctr_tab_give_back(rows->sql, slot, &trouble);
    if (!text) {
        ctr_problem_close(problem);
        ctr_problem_nomem(&trouble);
        *problem = trouble;
    } else {
        ctr_problem_close(&trouble);
    }
    return text;
}

void ctr_values_problem_at(ctr_rows *rows, int64_t rowid, int counter, ctr_problem *problem)
{
    char *key = ctr_values_key_text(rows, rowid, problem);
    if (key)
        ctr_problem_where(problem, "column %s of %s", ctr_shape_counter_name(rows->shape, counter),
                          key);
    sqlite3_free(key);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static int malformed(ctr_rows *rows, int64_t rowid, int counter, ctr_status status,
                     ctr_problem *problem)
{
    ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "the cell %s", ctr_status_text(status));
    ctr_values_problem_at(rows, rowid, counter, problem);
    return problem->rc;
}

/* Sets the bytes of a value; NULL and 0 for an untouched counter. Returns CTR_NOT_A_CELL for a
 * value that is neither NULL nor a BLOB. */
static ctr_status bytes_of(sqlite3 *db, sqlite3_value *value, const uint8_t **bytes, size_t *size,
                           ctr_problem *problem)
{
    int type = sqlite3_value_type(value);
    *bytes = type == SQLITE_BLOB ? sqlite3_value_blob(value) : NULL;
    *size = *bytes ? (size_t)sqlite3_value_bytes(value) : 0;
    if (type == SQLITE_NULL) return CTR_OK;
    bool lost = !*bytes && type == SQLITE_BLOB && sqlite3_errcode(db) == SQLITE_NOMEM;
    if (lost) ctr_problem_nomem(problem);
    return *bytes || lost ? CTR_OK : CTR_NOT_A_CELL;
}

int ctr_values_cell(ctr_rows *rows, sqlite3_value *value, int64_t rowid, int counter,
                    ctr_cell *cell, ctr_problem *problem)
{
    size_t size;
    const uint8_t *bytes;
    *cell = ctr_cell_untouched();
    ctr_status status = bytes_of(rows->tab->db, value, &bytes, &size, problem);
    if (status == CTR_OK && bytes) status = ctr_cell_open(cell, bytes, size);
    const ctr_amount *amount = ctr_journal_amount(rows->tab, rowid, counter);
    if (status == CTR_OK && amount) {
        ctr_packed *room = &rows->advanced;
        room->size = 0;
        uint8_t *out =
            ctr_pack_room(room, cell->size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX, problem);
        if (!out) return problem->rc;
        ctr_sum n = {0, 0};
        ctr_sum_add(&n, amount->n);
        status = ctr_cell_add(cell, rows->tab->id, &n, amount->ticks, rows->tab->least, out, &size);
        if (status == CTR_OK) *cell = ctr_cell_written(out, size);
    }
    return status == CTR_OK ? problem->rc : malformed(rows, rowid, counter, status, problem);
}

int ctr_values_open_cell(ctr_rows *rows, sqlite3_stmt *row, int i, int counter, ctr_cell *cell,
                         ctr_problem *problem)
{
    *cell = ctr_cell_untouched();
    if (ctr_journal_refresh(rows->tab, problem)) return problem->rc;
    sqlite3_value *value = sqlite3_column_value(row, i); /* read once: each read locks */
    return ctr_values_cell(rows, value, sqlite3_column_int64(row, 0), counter, cell, problem);
}

int ctr_values_sum_cell(ctr_rows *rows, sqlite3_stmt *row, int i, int counter, ctr_summary *summary,
                        ctr_problem *problem)
{
    size_t size;
    const uint8_t *bytes;
    *summary = (ctr_summary){.life = 1};
    ctr_status status =
        bytes_of(rows->tab->db, sqlite3_column_value(row, i), &bytes, &size, problem);
    if (status == CTR_OK && bytes) status = ctr_cell_summarize(summary, NULL, bytes, size);
    const ctr_amount *amount = NULL;
    if (rows->tab->amounts.n > 0) {
        if (ctr_rows_refuse_other_shape(rows, problem)) return problem->rc;
        amount = ctr_journal_amount(rows->tab, sqlite3_column_int64(row, 0), counter);
    }
    if (amount) ctr_sum_add(&summary->sum, amount->n);
    if (amount) summary->touched = true;
    return status == CTR_OK
               ? problem->rc
               : malformed(rows, sqlite3_column_int64(row, 0), counter, status, problem);
}

/* Takes the state of a counter: its cell plus the amount of the journal. */
void ctr_values_state(ctr_rows *rows, sqlite3_stmt *stands, int counter, ctr_problem *problem)
{
    size_t size;
    const uint8_t *bytes;
    ctr_summary *state = &rows->states[counter];
    int column = CTR_FIND_COLUMNS + rows->shape->counters[counter];
    const ctr_amount *amount = ctr_journal_amount(rows->tab, rows->rowid, counter);
    ctr_status status =
        bytes_of(rows->tab->db, sqlite3_column_value(stands, column), &bytes, &size, problem);
    if (status == CTR_OK && bytes) status = ctr_cell_summarize(state, rows->tab->id, bytes, size);
    if (status == CTR_OK && amount) status = ctr_cache_advance(state, amount, rows->tab->least);
    if (status != CTR_OK) malformed(rows, rows->rowid, counter, status, problem);
}
