/* table/rows.c - finds stored rows, in memory or by SQL, and opens their cells. */
#include "table/table.h"

#include <string.h>

int ctr_rows_open(ctr_rows *rows, ctr_file *file, const char *table, const ctr_shape *shape,
                  ctr_problem *problem)
{
    size_t n = (size_t)shape->n_counters + 1;
    *rows = (ctr_rows){.shape = shape,
                       .origin = CTR_MADE_HERE,
                       .states = sqlite3_malloc64(n * sizeof *rows->states),
                       .cells = sqlite3_malloc64(n * sizeof *rows->cells),
                       .staged = sqlite3_malloc64(n * sizeof *rows->staged),
                       .values = sqlite3_malloc64(n * sizeof *rows->values)};
    if (!rows->states || !rows->cells || !rows->staged || !rows->values)
        return ctr_problem_nomem(problem);
    rows->tab = rows->sql = ctr_tab_of(file, table, shape, problem);
    if (rows->tab) rows->shapes = rows->tab->shapes;
    return problem->rc;
}

int ctr_rows_reorder(ctr_rows *rows, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || ctr_shape_same_columns(&rows->sql->shape, rows->shape))
        return problem->rc;
    ctr_tab *sql = ctr_tab_reordered(rows->tab, rows->shape, problem);
    if (sql) rows->sql = sql;
    return problem->rc;
}

void ctr_rows_close(ctr_rows *rows)
{
    if (rows->sql != rows->tab) ctr_tab_free(rows->sql);
    sqlite3_free(rows->states);
    sqlite3_free(rows->cells);
    sqlite3_free(rows->staged);
    sqlite3_free(rows->row.columns);
    sqlite3_free(rows->values);
    sqlite3_free(rows->old.bytes);
    sqlite3_free(rows->fresh.bytes);
    sqlite3_free(rows->advanced.bytes);
    sqlite3_free(rows->key.bytes);
    *rows = (ctr_rows){0};
}

/* ---- keys ------------------------------------------------------------------------------------ */

int ctr_rows_lend_keys(ctr_rows *rows, sqlite3_stmt *statement, sqlite3_value **keys,
                       ctr_problem *problem)
{
    for (int i = 0; i < rows->shape->n_keys && problem->rc == SQLITE_OK; i++) {
        const ctr_column *column = &rows->shape->columns[rows->shape->keys[i]];
        int rc = ctr_pack_lend_stored(statement, i + 1, column, keys[i]);
        ctr_problem_sqlite(problem, rows->tab->db, rc);
    }
    return problem->rc;
}

int ctr_rows_refuse_other_shape(const ctr_rows *rows, ctr_problem *problem)
{
    if (rows->shapes == rows->tab->shapes) return problem->rc;
    return ctr_problem_set(problem, SQLITE_ERROR,
                           "a column was added or dropped while this statement ran");
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void forget(ctr_rows *rows)
{
    rows->found = rows->packed = rows->exact = rows->also_here = false;
    rows->spelling = NULL;
    rows->stamped = NULL;
    rows->has_row = rows->live = false;
    rows->staged_row.kind = CTR_STAGED_NOTHING;
    rows->old.size = rows->fresh.size = 0;
    for (int i = 0; i < rows->shape->n_counters; i++) {
        rows->states[i] = (ctr_summary){.life = 1};
        rows->cells[i] = ctr_cell_untouched();
        rows->staged[i].kind = CTR_STAGED_NOTHING;
    }
}

/* Copies the cells in rows->values, so that no read is open when the row is written. */
static void take_cells(ctr_rows *rows, int64_t rowid, ctr_problem *problem)
{
    const ctr_shape *shape = rows->shape;
    size_t total = 0;
    for (int i = 0; i < shape->n_counters; i++)
        total += (size_t)sqlite3_value_bytes(rows->values[i]) + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX;
    rows->old.size = 0;
    if (!ctr_pack_room(&rows->old, total, problem)) return;
    for (int i = 0; i < shape->n_counters; i++) {
        ctr_cell *cell = &rows->cells[i];
        if (ctr_values_cell(rows, rows->values[i], rowid, i, cell, problem)) return;
        if (ctr_cell_is_untouched(cell)) continue;
        uint8_t *copy = rows->old.bytes + rows->old.size;
        memcpy(copy, cell->bytes, cell->size);
        cell->bytes = copy;
        rows->old.size += cell->size;
    }
}

static void take_cells_of(ctr_rows *rows, sqlite3_stmt *row, ctr_problem *problem)
{
    const ctr_shape *shape = rows->shape;
    for (int i = 0; i < shape->n_counters; i++)
        rows->values[i] = sqlite3_column_value(row, CTR_FIND_COLUMNS + shape->counters[i]);
    if (ctr_journal_refresh(rows->tab, problem) == SQLITE_OK)
        take_cells(rows, rows->rowid, problem);
}

int ctr_rows_take_values(ctr_rows *rows, sqlite3_value *rowid, sqlite3_value **columns,
                         ctr_problem *problem)
{
    const ctr_shape *shape = rows->shape;
    forget(rows);
    if (sqlite3_value_type(rowid) == SQLITE_NULL)
        return ctr_refuse_hidden(rows->tab->table, problem);
    rows->found = true;
    rows->rowid = sqlite3_value_int64(rowid);
    for (int i = 0; i < shape->n_counters; i++) rows->values[i] = columns[shape->counters[i]];
    take_cells(rows, rows->rowid, problem);
    return problem->rc;
}

int ctr_rows_load_cells(ctr_rows *rows, ctr_problem *problem)
{
    ctr_slot *slot = ctr_tab_take(rows->sql, CTR_TAB_FIND_ROWID, problem);
    if (!slot) return problem->rc;
    sqlite3_bind_int64(slot->kept.statement, 1, rows->rowid);
    ctr_run run = ctr_tab_run(rows->tab, problem);
    if (ctr_run_row(&run, slot->kept.statement)) take_cells_of(rows, slot->kept.statement, problem);
    ctr_tab_give_back(rows->sql, slot, problem);
    return problem->rc;
}

/* ---- states ---------------------------------------------------------------------------------- */

static void take_known(ctr_rows *rows, const ctr_row *row)
{
    rows->found = true;
    rows->rowid = row->id;
    rows->live = row->live;
    memcpy(rows->states, row->states, (size_t)rows->shape->n_counters * sizeof *rows->states);
}

/* Packs the key as stored in the row. */
static void pack_stored(ctr_rows *rows, sqlite3_stmt *stands, ctr_problem *problem)
{
    sqlite3_value *few[8], **keys = few;
    int n = rows->shape->n_keys;
    if (n > 8) keys = sqlite3_malloc64((size_t)n * sizeof *keys);
    if (!keys) {
        ctr_problem_nomem(problem);
        return;
    }
    for (int i = 0; i < n; i++)
        keys[i] = sqlite3_column_value(stands, CTR_FIND_COLUMNS + rows->shape->keys[i]);
    ctr_pack_values(&rows->key, keys, n, problem);
    rows->hash = ctr_cache_hash(rows->key.bytes, rows->key.size);
    rows->packed = problem->rc == SQLITE_OK;
    if (keys != few) sqlite3_free(keys);
}

/* Takes the row, and adds it to the cache if there is room. */
static void take_stored(ctr_rows *rows, sqlite3_stmt *stands, ctr_problem *problem)
{
    ctr_cache *cache = &rows->tab->cache;
    bool looked = rows->packed && rows->exact; /* the cache was searched for this key */
    const ctr_row *row = looked ? NULL : ctr_cache_row(cache, rows->rowid);
    if (!looked) pack_stored(rows, stands, problem);
    if (row) {
        take_known(rows, row);
        return;
    }
    for (int i = 0; i < rows->shape->n_counters && problem->rc == SQLITE_OK; i++)
        ctr_values_state(rows, stands, i, problem);
    ctr_row *added = NULL;
    if (problem->rc == SQLITE_OK && rows->tab->known)
        added = ctr_cache_add(cache, rows->rowid, rows->hash, rows->key.bytes, rows->key.size,
                              rows->states);
    if (added) added->live = rows->live;
}

ctr_summary ctr_rows_state(const ctr_rows *rows, int counter)
{
    if (!rows->whole) return rows->states[counter];
    const ctr_cell *cell = &rows->cells[counter];
    ctr_summary state = {
        .life = cell->life, .touched = cell->size > 0, .has_shards = cell->header < cell->size};
    ctr_sum_add_cell(&state.sum, cell);
    return state;
}

ctr_row_cell *ctr_rows_row(ctr_rows *rows, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return NULL;
    if (rows->has_row) return &rows->row;
    if (!ctr_regular_room(rows->tab, &rows->row, &rows->room_row, problem)) return NULL;
    if (rows->found) ctr_regular_read(rows->tab, rows->rowid, &rows->row, problem);
    rows->has_row = problem->rc == SQLITE_OK;
    return rows->has_row ? &rows->row : NULL;
}

bool ctr_rows_is_live(ctr_rows *rows, ctr_problem *problem)
{
    if (rows->found && !rows->has_row && rows->live) return problem->rc == SQLITE_OK;
    const ctr_row_cell *cell = rows->found ? ctr_rows_row(rows, problem) : NULL;
    return cell && ctr_row_cell_is_live(cell);
}

/* ---- finding --------------------------------------------------------------------------------- */

static int refuse_reentry(const ctr_rows *rows, ctr_problem *problem)
{
    if (rows->shapes == rows->tab->shapes && !rows->writing) return problem->rc;
    if (ctr_rows_refuse_other_shape(rows, problem)) return problem->rc;
    return ctr_problem_set(problem, SQLITE_ERROR,
                           "a trigger on a stored table of %s writes to the table itself",
                           rows->tab->table);
}

/* Returns whether the row cell, if the statement has it, has an odd life, which is its first
 * number. */
static bool has_odd_life(const ctr_rows *rows, sqlite3_stmt *row)
{
    int column = CTR_FIND_COLUMNS + rows->shape->n_columns;
    if (!rows->shape->replicated || sqlite3_column_count(row) <= column) return false;
    const uint8_t *bytes = sqlite3_column_blob(row, column);
    return bytes && sqlite3_column_bytes(row, column) > 0 && bytes[0] % 2 == 1;
}

static void take_row(ctr_rows *rows, sqlite3_stmt *row, ctr_problem *problem)
{
    sqlite3_value *rowid = sqlite3_column_value(row, CTR_FIND_ROWID);
    if (sqlite3_value_type(rowid) == SQLITE_NULL) {
        ctr_refuse_hidden(rows->tab->table, problem);
        return;
    }
    rows->found = true;
    rows->rowid = sqlite3_value_int64(rowid);
    rows->live = has_odd_life(rows, row);
    bool writes = rows->whole || ctr_file_known_id(rows->tab->file);
    if (writes ? ctr_journal_refresh(rows->tab, problem)
               : ctr_journal_refresh_row(rows->tab, rows->rowid, problem))
        return;
    if (rows->whole)
        take_cells_of(rows, row, problem);
    else
        take_stored(rows, row, problem);
}

/* Steps a statement that finds a row, and gives it back. Fails if an authorizer hides a column of
 * it. SQLite prepares a statement again for another authorizer. */
static int find(ctr_rows *rows, ctr_slot *slot, ctr_problem *problem)
{
    sqlite3_stmt *statement = slot->kept.statement;
    int rc = problem->rc == SQLITE_OK ? sqlite3_step(statement) : SQLITE_DONE;
    bool again = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    if (!slot->checked || again) ctr_refuse_hidden_by(slot, rows->sql, problem);
    if (rc == SQLITE_ROW)
        take_row(rows, statement, problem);
    else
        ctr_problem_sqlite(problem, rows->tab->db, rc);
    ctr_tab_give_back(rows->sql, slot, problem);
    return problem->rc;
}

/* Returns whether the column would store the value unchanged, so that the cache can be searched for
 * it. SQLite searches for the others: a text that stands for a number, a number in a column of
 * texts, -0.0, which a REAL column stores as 0.0. */
static bool is_as_stored(const ctr_column *column, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    switch (column->affinity) {
    case CTR_AFFINITY_BLOB: return true;
    case CTR_AFFINITY_TEXT: return type == SQLITE_TEXT || type == SQLITE_BLOB;
    case CTR_AFFINITY_REAL:
        return (type == SQLITE_FLOAT && sqlite3_value_double(value) != 0.0) || type == SQLITE_BLOB;
    default: return type == SQLITE_INTEGER || type == SQLITE_BLOB;
    }
}

/* Returns whether every equal value in the column is stored exactly like this one. A number may be
 * stored as 0 and searched for as -0.0; under NOCASE a text may have other letters. */
static bool is_stored_as_it_is(const ctr_column *column, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_TEXT) return sqlite3_stricmp(column->collation, "BINARY") == 0;
    return type == SQLITE_BLOB || (type == SQLITE_INTEGER && column->affinity != CTR_AFFINITY_BLOB);
}

/* Packs the key, if the cache can be searched for it. */
static bool pack_key(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    rows->packed = false;
    rows->exact = true;
    for (int i = 0; i < rows->shape->n_keys; i++) {
        const ctr_column *column = &rows->shape->columns[rows->shape->keys[i]];
        if (!is_as_stored(column, keys[i])) return false;
        rows->exact = rows->exact && is_stored_as_it_is(column, keys[i]);
    }
    if (ctr_pack_values(&rows->key, keys, rows->shape->n_keys, problem)) return false;
    rows->hash = ctr_cache_hash(rows->key.bytes, rows->key.size);
    rows->packed = true;
    return true;
}

/* Looks for the row in the cache alone. */
static bool find_known(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    if (refuse_reentry(rows, problem)) return false;
    forget(rows);
    if (rows->whole || !pack_key(rows, keys, problem)) return false;
    if (!rows->tab->known) return false;
    if (!ctr_tab_is_ready(rows->tab) && ctr_journal_refresh(rows->tab, problem)) return false;
    const ctr_row *row =
        ctr_cache_key(&rows->tab->cache, rows->hash, rows->key.bytes, rows->key.size);
    if (row) take_known(rows, row);
    return row != NULL;
}

/* A connection that has counted in many rows one by one will count in others. So with each row that
 * the cache lacks, this reads some more rows, in the order of storage, while there is room. This
 * costs about as much as finding the one. Errors in the other rows are ignored, unless SQLite rolls
 * back. */
static void read_ahead(ctr_rows *rows, ctr_problem *problem)
{
    enum { AT_ONCE = 16 };
    ctr_cache *cache = &rows->tab->cache;
    ctr_problem trouble = {SQLITE_OK, NULL};
    ctr_run run = ctr_tab_run(rows->tab, &trouble);
    ctr_slot *slot = ctr_tab_take(rows->sql, CTR_TAB_AHEAD, &trouble);
    sqlite3_stmt *follow = slot ? slot->kept.statement : NULL;
    if (follow) sqlite3_bind_int64(follow, 1, cache->ahead);
    size_t room = AT_ONCE * (cache->bytes / (cache->n + 1) + 1);
    int n = cache->bytes + room > CTR_CACHE_BYTES ? AT_ONCE : 0;
    cache->ahead = INT64_MAX;
    for (; n < AT_ONCE && ctr_run_row(&run, follow); n++) {
        ctr_rows_take(rows, follow, &trouble);
        if (n == AT_ONCE - 1) cache->ahead = rows->rowid;
    }
    ctr_tab_give_back(rows->sql, slot, &trouble);
    if (ctr_problem_rolls_back(trouble.rc))
        *problem = trouble;
    else
        ctr_problem_close(&trouble);
}

bool ctr_rows_may_be_new(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    return !find_known(rows, keys, problem) && problem->rc == SQLITE_OK && rows->packed &&
           rows->exact;
}

int ctr_rows_find_key(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    if (find_known(rows, keys, problem) || problem->rc != SQLITE_OK) return problem->rc;
    ctr_cache *cache = &rows->tab->cache;
    bool counts = !rows->whole && rows->packed && ctr_file_known_id(rows->tab->file);
    if (counts && ++cache->missed > CTR_CACHE_MISSED && cache->ahead < INT64_MAX) {
        read_ahead(rows, problem);
        if (find_known(rows, keys, problem) || problem->rc != SQLITE_OK) return problem->rc;
    }
    ctr_slot *slot = ctr_tab_take(rows->sql, CTR_TAB_FIND_KEY, problem);
    if (!slot) return problem->rc;
    ctr_rows_lend_keys(rows, slot->kept.statement, keys, problem);
    return find(rows, slot, problem);
}

int ctr_rows_find_rowid(ctr_rows *rows, int64_t rowid, ctr_problem *problem)
{
    if (refuse_reentry(rows, problem)) return problem->rc;
    forget(rows);
    bool known = !rows->whole && rows->tab->known;
    if (known && ctr_journal_refresh(rows->tab, problem)) return problem->rc;
    const ctr_row *row = !known ? NULL : ctr_cache_row(&rows->tab->cache, rowid);
    if (row) {
        take_known(rows, row);
        return problem->rc;
    }
    ctr_slot *slot = ctr_tab_take(rows->sql, CTR_TAB_FIND_ROWID, problem);
    if (!slot) return problem->rc;
    sqlite3_bind_int64(slot->kept.statement, 1, rowid);
    return find(rows, slot, problem);
}

bool ctr_rows_is_empty(ctr_rows *rows, ctr_problem *problem)
{
    ctr_run run = ctr_tab_run(rows->tab, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_ROWS_ANY);
    bool any = ctr_run_once(&run, row);
    return !any && problem->rc == SQLITE_OK;
}

int ctr_rows_find_none(ctr_rows *rows, ctr_problem *problem)
{
    if (refuse_reentry(rows, problem)) return problem->rc;
    forget(rows);
    return problem->rc;
}

int ctr_rows_take(ctr_rows *rows, sqlite3_stmt *row, ctr_problem *problem)
{
    if (refuse_reentry(rows, problem)) return problem->rc;
    forget(rows);
    take_row(rows, row, problem);
    return problem->rc;
}
