/* table/row.c - the row at hand: its values, how it is found, staged and written. */
#include "table/table.h"

#include <string.h>

/* =================================================================================================
 * values - opens cells and reads keys of stored rows. */

/* ---- keys ------------------------------------------------------------------------------------ */

static ctr_slot *take_key_statement(ctr_rows *rows, int64_t rowid)
{
    ctr_slot *slot = ctr_tab_take(rows->sql, CTR_TAB_KEY);
    if (slot) sqlite3_bind_int64(slot->kept.statement, 1, rowid);
    return slot;
}

bool ctr_values_take_key(ctr_rows *rows, int64_t rowid, sqlite3_value **keys)
{
    for (int i = 0; i < rows->shape->n_keys; i++) keys[i] = NULL;
    ctr_run run = ctr_tab_run(rows->tab);
    ctr_slot *slot = take_key_statement(rows, rowid);
    sqlite3_stmt *row = slot ? slot->kept.statement : NULL;
    bool there = ctr_run_row(&run, row);
    for (int i = 0; there && i < rows->shape->n_keys; i++) {
        keys[i] = sqlite3_value_dup(sqlite3_column_value(row, i));
        if (!keys[i]) ctr_problem_nomem(rows->conn);
    }
    ctr_tab_give_back(rows->sql, slot);
    return there && ctr_rc(rows->conn) == SQLITE_OK;
}

bool ctr_values_key_is(ctr_rows *rows, int64_t rowid, sqlite3_value **keys)
{
    ctr_slot *slot = ctr_tab_take(rows->sql, CTR_TAB_KEY_IS);
    if (!slot) return false;
    sqlite3_stmt *row = slot->kept.statement;
    sqlite3_bind_int64(row, 1, rowid);
    int rc = SQLITE_OK;
    for (int i = 0; i < rows->shape->n_keys && rc == SQLITE_OK; i++)
        if (keys[i]) rc = ctr_text_bind_value(row, i + 2, keys[i]);
    if (rc == SQLITE_OK) rc = sqlite3_step(row);
    ctr_problem_sqlite(rows->conn, rc);
    ctr_tab_give_back(rows->sql, slot);
    return rc == SQLITE_ROW;
}

/* If the row cannot be read, the text has no values. */
char *ctr_values_key_text(ctr_rows *rows, int64_t rowid)
{
    ctr_problem trouble;
    ctr_problem_try(rows->conn, &trouble);
    ctr_run run = ctr_tab_run(rows->tab);
    ctr_slot *slot = take_key_statement(rows, rowid);
    sqlite3_stmt *row = slot ? slot->kept.statement : NULL;
    int n = ctr_run_row(&run, row) ? rows->shape->n_keys : 0;
    sqlite3_value **keys = sqlite3_malloc64(((size_t)n + 1) * sizeof *keys);
    for (int i = 0; keys && i < n; i++) keys[i] = sqlite3_column_value(row, i);
    char *text =
        keys && !ctr_problem_rolls_back(trouble.rc) ? ctr_problem_describe_key(keys, n) : NULL;
    sqlite3_free(keys);
    ctr_tab_give_back(rows->sql, slot);
    if (!text) ctr_problem_nomem(rows->conn);
    ctr_problem_end(&trouble);
    if (!text) ctr_problem_clear(rows->conn);
    ctr_problem_raise_if(rows->conn, &trouble, !text);
    return text;
}

void ctr_values_problem_at(ctr_rows *rows, int64_t rowid, int counter)
{
    char *key = ctr_values_key_text(rows, rowid);
    if (key)
        ctr_problem_where(rows->conn, "column %s of %s",
                          ctr_shape_counter_name(rows->shape, counter), key);
    sqlite3_free(key);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static int malformed(ctr_rows *rows, int64_t rowid, int counter, ctr_status status)
{
    ctr_problem_set(rows->conn, SQLITE_CORRUPT_VTAB, "the cell %s", ctr_status_text(status));
    ctr_values_problem_at(rows, rowid, counter);
    return ctr_rc(rows->conn);
}

/* Sets the bytes of a value; NULL and 0 for an untouched counter. Returns CTR_NOT_A_CELL for a
 * value that is neither NULL nor a BLOB. */
static ctr_status bytes_of(ctr_conn *conn, sqlite3_value *value, const uint8_t **bytes,
                           size_t *size)
{
    int type = sqlite3_value_type(value);
    *bytes = type == SQLITE_BLOB ? sqlite3_value_blob(value) : NULL;
    *size = *bytes ? (size_t)sqlite3_value_bytes(value) : 0;
    if (type == SQLITE_NULL) return CTR_OK;
    bool lost = !*bytes && type == SQLITE_BLOB && sqlite3_errcode(conn->db) == SQLITE_NOMEM;
    if (lost) ctr_problem_nomem(conn);
    return *bytes || lost ? CTR_OK : CTR_NOT_A_CELL;
}

static const ctr_column *counter_at(const ctr_rows *rows, int counter)
{
    return &rows->shape->columns[rows->shape->counters[counter]];
}

static const ctr_kind *kind_at(const ctr_rows *rows, int counter)
{
    return counter_at(rows, counter)->kind;
}

ctr_cell ctr_values_advance(ctr_tab *tab, const ctr_column *counter, const ctr_amount *amount,
                            const uint8_t *bytes, size_t size, ctr_packed *room, ctr_status *status)
{
    ctr_cell cell = ctr_cell_untouched();
    ctr_sum n = {0, 0};
    ctr_sum_add(&n, amount->n);
    *status = size > 0 ? ctr_cell_open(&cell, bytes, size) : CTR_OK;
    uint8_t *out = ctr_pack_room(tab->conn, room, size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX);
    if (!out || *status != CTR_OK) return cell;
    *status = counter->kind->change(&cell, tab->id, &n, amount->ticks, tab->least, out, &size);
    return *status == CTR_OK ? ctr_cell_written(out, size) : cell;
}

/* Opens the cell in a value; the journal is up to date. */
static int values_cell(ctr_rows *rows, sqlite3_value *value, int64_t rowid, int counter,
                       ctr_cell *cell)
{
    size_t size;
    const uint8_t *bytes;
    *cell = ctr_cell_untouched();
    ctr_status status = bytes_of(rows->conn, value, &bytes, &size);
    const ctr_amount *amount = ctr_journal_amount(rows->tab, rowid, counter);
    rows->advanced.size = 0;
    if (status == CTR_OK && amount)
        *cell = ctr_values_advance(rows->tab, counter_at(rows, counter), amount, bytes, size,
                                   &rows->advanced, &status);
    else if (status == CTR_OK && bytes)
        status = ctr_cell_open(cell, bytes, size);
    return status == CTR_OK ? ctr_rc(rows->conn) : malformed(rows, rowid, counter, status);
}

int ctr_values_open_cell(ctr_rows *rows, sqlite3_stmt *row, int i, int counter, ctr_cell *cell)
{
    *cell = ctr_cell_untouched();
    if (ctr_journal_refresh(rows->tab)) return ctr_rc(rows->conn);
    sqlite3_value *value = sqlite3_column_value(row, i); /* read once: each read locks */
    return values_cell(rows, value, sqlite3_column_int64(row, 0), counter, cell);
}

/* Fails if counters were added or dropped since `rows` was opened. */
static int rows_refuse_other_shape(const ctr_rows *rows)
{
    if (rows->shapes == rows->tab->shapes) return ctr_rc(rows->conn);
    return ctr_problem_set(rows->conn, SQLITE_ERROR,
                           "a column was added or dropped while this statement ran");
}

bool ctr_values_same_cells(ctr_rows *rows, sqlite3_stmt *row, int first, const ctr_rows *other)
{
    const ctr_shape *shape = rows->shape;
    for (int i = 0; i < shape->n_counters; i++) {
        ctr_cell cell;
        if (ctr_values_open_cell(rows, row, first + shape->counters[i], i, &cell) ||
            !ctr_cell_same(&cell, &other->cells[i]))
            return false;
    }
    return true;
}

int ctr_values_sum_cell(ctr_rows *rows, sqlite3_stmt *row, int i, int counter, ctr_summary *summary)
{
    size_t size;
    const uint8_t *bytes;
    *summary = (ctr_summary){.life = 1};
    ctr_status status = bytes_of(rows->conn, sqlite3_column_value(row, i), &bytes, &size);
    if (status == CTR_OK && bytes) status = ctr_cell_summarize(summary, NULL, bytes, size);
    const ctr_amount *amount = NULL;
    if (rows->tab->amounts.n > 0) {
        if (rows_refuse_other_shape(rows)) return ctr_rc(rows->conn);
        amount = ctr_journal_amount(rows->tab, sqlite3_column_int64(row, 0), counter);
    }
    if (amount) ctr_sum_add(&summary->sum, amount->n);
    if (amount) summary->touched = true;
    return status == CTR_OK ? ctr_rc(rows->conn)
                            : malformed(rows, sqlite3_column_int64(row, 0), counter, status);
}

/* Takes the state of a counter of the row found last into rows->states, from the statement that
 * stands on it: its cell plus the amount of the journal. */
static void values_state(ctr_rows *rows, sqlite3_stmt *stands, int counter)
{
    size_t size;
    const uint8_t *bytes;
    ctr_summary *state = &rows->states[counter];
    int column = CTR_FIND_COLUMNS + rows->shape->counters[counter];
    const ctr_amount *amount = ctr_journal_amount(rows->tab, rows->rowid, counter);
    ctr_status status = bytes_of(rows->conn, sqlite3_column_value(stands, column), &bytes, &size);
    if (status == CTR_OK && bytes) status = ctr_cell_summarize(state, rows->tab->id, bytes, size);
    if (status == CTR_OK && amount) status = ctr_cache_advance(state, amount, rows->tab->least);
    if (status != CTR_OK) malformed(rows, rows->rowid, counter, status);
}

/* =================================================================================================
 * rows - finds stored rows, in memory or by SQL, and opens their cells. */

int ctr_rows_open(ctr_rows *rows, ctr_file *file, const char *table, const ctr_shape *shape)
{
    size_t n = (size_t)shape->n_counters + 1;
    *rows = (ctr_rows){.conn = file->conn,
                       .shape = shape,
                       .origin = CTR_MADE_HERE,
                       .states = sqlite3_malloc64(n * sizeof *rows->states),
                       .cells = sqlite3_malloc64(n * sizeof *rows->cells),
                       .staged = sqlite3_malloc64(n * sizeof *rows->staged),
                       .values = sqlite3_malloc64(n * sizeof *rows->values)};
    if (!rows->states || !rows->cells || !rows->staged || !rows->values)
        return ctr_problem_nomem(file->conn);
    rows->tab = rows->sql = ctr_tab_of(file, table, shape);
    if (rows->tab) rows->shapes = rows->tab->shapes;
    return ctr_rc(file->conn);
}

void ctr_rows_reorder(ctr_rows *rows)
{
    if (ctr_rc(rows->conn) != SQLITE_OK || ctr_shape_same_columns(&rows->sql->shape, rows->shape))
        return;
    ctr_tab *sql = ctr_tab_reordered(rows->tab, rows->shape);
    if (sql) rows->sql = sql;
}

void ctr_rows_close(ctr_rows *rows)
{
    if (rows->sql != rows->tab) ctr_tab_free(rows->sql);
    sqlite3_free(rows->states);
    sqlite3_free(rows->cells);
    sqlite3_free(rows->staged);
    sqlite3_free(rows->row.columns);
    sqlite3_free(rows->join.before);
    sqlite3_free(rows->join.after);
    sqlite3_free(rows->join.taken);
    sqlite3_free(rows->join.apart);
    sqlite3_free(rows->values);
    sqlite3_free(rows->old.bytes);
    sqlite3_free(rows->fresh.bytes);
    sqlite3_free(rows->advanced.bytes);
    sqlite3_free(rows->key.bytes);
    *rows = (ctr_rows){.conn = rows->conn};
}

/* ---- keys ------------------------------------------------------------------------------------ */

int ctr_rows_lend_keys(ctr_rows *rows, sqlite3_stmt *statement, sqlite3_value **keys)
{
    for (int i = 0; i < rows->shape->n_keys && ctr_rc(rows->conn) == SQLITE_OK; i++) {
        const ctr_column *column = &rows->shape->columns[rows->shape->keys[i]];
        int rc = ctr_pack_lend_stored(rows->conn, statement, i + 1, column, keys[i]);
        ctr_problem_sqlite(rows->conn, rc);
    }
    return ctr_rc(rows->conn);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void forget(ctr_rows *rows)
{
    rows->found = rows->packed = rows->exact = rows->also_here = false;
    rows->spelling = NULL;
    rows->stamped = NULL;
    rows->has_row = rows->live = rows->join.noted = false;
    rows->staged_row.kind = CTR_STAGED_NOTHING;
    rows->old.size = rows->fresh.size = 0;
    for (int i = 0; i < rows->shape->n_counters; i++) {
        rows->states[i] = (ctr_summary){.life = 1};
        rows->cells[i] = ctr_cell_untouched();
        rows->staged[i].kind = CTR_STAGED_NOTHING;
    }
}

/* Copies the cells in rows->values, so that no read is open when the row is written. */
static void take_cells(ctr_rows *rows, int64_t rowid)
{
    const ctr_shape *shape = rows->shape;
    size_t total = 0;
    for (int i = 0; i < shape->n_counters; i++)
        total += (size_t)sqlite3_value_bytes(rows->values[i]) + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX;
    rows->old.size = 0;
    if (!ctr_pack_room(rows->conn, &rows->old, total)) return;
    for (int i = 0; i < shape->n_counters; i++) {
        ctr_cell *cell = &rows->cells[i];
        if (values_cell(rows, rows->values[i], rowid, i, cell)) return;
        if (ctr_cell_is_untouched(cell)) continue;
        uint8_t *copy = rows->old.bytes + rows->old.size;
        memcpy(copy, cell->bytes, cell->size);
        cell->bytes = copy;
        rows->old.size += cell->size;
    }
}

static void take_cells_of(ctr_rows *rows, sqlite3_stmt *row)
{
    const ctr_shape *shape = rows->shape;
    for (int i = 0; i < shape->n_counters; i++)
        rows->values[i] = sqlite3_column_value(row, CTR_FIND_COLUMNS + shape->counters[i]);
    if (ctr_journal_refresh(rows->tab) == SQLITE_OK) take_cells(rows, rows->rowid);
}

int ctr_rows_take_values(ctr_rows *rows, sqlite3_value *rowid, sqlite3_value **columns)
{
    const ctr_shape *shape = rows->shape;
    forget(rows);
    if (sqlite3_value_type(rowid) == SQLITE_NULL)
        return ctr_refuse_hidden(rows->conn, rows->tab->table);
    rows->found = true;
    rows->rowid = sqlite3_value_int64(rowid);
    for (int i = 0; i < shape->n_counters; i++) rows->values[i] = columns[shape->counters[i]];
    take_cells(rows, rows->rowid);
    return ctr_rc(rows->conn);
}

/* Reads the cells of the row found last, of which only the states are known. */
static int rows_load_cells(ctr_rows *rows)
{
    ctr_slot *slot = ctr_tab_take(rows->sql, CTR_TAB_FIND_ROWID);
    if (!slot) return ctr_rc(rows->conn);
    sqlite3_bind_int64(slot->kept.statement, 1, rows->rowid);
    ctr_run run = ctr_tab_run(rows->tab);
    if (ctr_run_row(&run, slot->kept.statement)) take_cells_of(rows, slot->kept.statement);
    ctr_tab_give_back(rows->sql, slot);
    return ctr_rc(rows->conn);
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
static void pack_stored(ctr_rows *rows, sqlite3_stmt *stands)
{
    sqlite3_value *few[8], **keys = few;
    int n = rows->shape->n_keys;
    if (n > 8) keys = sqlite3_malloc64((size_t)n * sizeof *keys);
    if (!keys) {
        ctr_problem_nomem(rows->conn);
        return;
    }
    for (int i = 0; i < n; i++)
        keys[i] = sqlite3_column_value(stands, CTR_FIND_COLUMNS + rows->shape->keys[i]);
    ctr_pack_values(rows->conn, &rows->key, keys, n);
    rows->hash = ctr_cache_hash(rows->key.bytes, rows->key.size);
    rows->packed = ctr_rc(rows->conn) == SQLITE_OK;
    if (keys != few) sqlite3_free(keys);
}

/* Takes the row, and adds it to the cache if there is room. */
static void take_stored(ctr_rows *rows, sqlite3_stmt *stands)
{
    ctr_cache *cache = &rows->tab->cache;
    bool looked = rows->packed && rows->exact; /* the cache was searched for this key */
    const ctr_row *row = looked ? NULL : ctr_cache_row(cache, rows->rowid);
    if (!looked) pack_stored(rows, stands);
    if (row) {
        take_known(rows, row);
        return;
    }
    for (int i = 0; i < rows->shape->n_counters && ctr_rc(rows->conn) == SQLITE_OK; i++)
        values_state(rows, stands, i);
    ctr_row *added = NULL;
    if (ctr_rc(rows->conn) == SQLITE_OK && rows->tab->known)
        added = ctr_cache_add(cache, rows->rowid, rows->hash, rows->key.bytes, rows->key.size,
                              rows->states);
    if (added) added->live = rows->live;
}

ctr_summary ctr_rows_state(const ctr_rows *rows, int counter)
{
    return rows->whole ? ctr_summary_of(&rows->cells[counter]) : rows->states[counter];
}

ctr_row_cell *ctr_rows_row(ctr_rows *rows)
{
    if (ctr_rc(rows->conn) != SQLITE_OK || !rows->shape->replicated) return NULL;
    if (rows->has_row) return &rows->row;
    if (!ctr_regular_room(rows->tab, &rows->row, &rows->room_row)) return NULL;
    if (rows->found) ctr_regular_read(rows->tab, rows->rowid, &rows->row);
    rows->has_row = ctr_rc(rows->conn) == SQLITE_OK;
    return rows->has_row ? &rows->row : NULL;
}

bool ctr_rows_is_live(ctr_rows *rows)
{
    for (int i = 0; !rows->shape->replicated && i < rows->shape->n_counters; i++) {
        ctr_summary state = ctr_rows_state(rows, i);
        if (ctr_summary_is_live(&state)) return true;
    }
    if (rows->found && !rows->has_row && rows->live) return ctr_rc(rows->conn) == SQLITE_OK;
    const ctr_row_cell *cell = rows->found ? ctr_rows_row(rows) : NULL;
    return cell && ctr_row_cell_is_live(cell);
}

/* ---- finding --------------------------------------------------------------------------------- */

static int refuse_reentry(const ctr_rows *rows)
{
    if (rows->shapes == rows->tab->shapes && !rows->writing) return ctr_rc(rows->conn);
    if (rows_refuse_other_shape(rows)) return ctr_rc(rows->conn);
    return ctr_problem_set(rows->conn, SQLITE_ERROR,
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

static void take_row(ctr_rows *rows, sqlite3_stmt *row)
{
    sqlite3_value *rowid = sqlite3_column_value(row, CTR_FIND_ROWID);
    if (sqlite3_value_type(rowid) == SQLITE_NULL) {
        ctr_refuse_hidden(rows->conn, rows->tab->table);
        return;
    }
    rows->found = true;
    rows->rowid = sqlite3_value_int64(rowid);
    rows->live = has_odd_life(rows, row);
    bool writes = rows->whole || ctr_file_known_id(rows->tab->file);
    if (writes ? ctr_journal_refresh(rows->tab) : ctr_journal_refresh_row(rows->tab, rows->rowid))
        return;
    if (rows->whole)
        take_cells_of(rows, row);
    else
        take_stored(rows, row);
}

/* Steps a statement that finds a row, and gives it back. Fails if an authorizer hides a column of
 * it. SQLite prepares a statement again for another authorizer. */
static int find(ctr_rows *rows, ctr_slot *slot)
{
    sqlite3_stmt *statement = slot->kept.statement;
    int rc = ctr_rc(rows->conn) == SQLITE_OK ? sqlite3_step(statement) : SQLITE_DONE;
    bool again = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    if (!slot->checked || again) ctr_refuse_hidden_by(slot, rows->sql);
    if (rc == SQLITE_ROW)
        take_row(rows, statement);
    else
        ctr_problem_sqlite(rows->conn, rc);
    ctr_tab_give_back(rows->sql, slot);
    return ctr_rc(rows->conn);
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
static bool pack_key(ctr_rows *rows, sqlite3_value **keys)
{
    rows->packed = false;
    rows->exact = true;
    for (int i = 0; i < rows->shape->n_keys; i++) {
        const ctr_column *column = &rows->shape->columns[rows->shape->keys[i]];
        if (!is_as_stored(column, keys[i])) return false;
        rows->exact = rows->exact && is_stored_as_it_is(column, keys[i]);
    }
    if (ctr_pack_values(rows->conn, &rows->key, keys, rows->shape->n_keys)) return false;
    rows->hash = ctr_cache_hash(rows->key.bytes, rows->key.size);
    rows->packed = true;
    return true;
}

/* Looks for the row in the cache alone. */
static bool find_known(ctr_rows *rows, sqlite3_value **keys)
{
    if (refuse_reentry(rows)) return false;
    forget(rows);
    if (rows->whole || !pack_key(rows, keys)) return false;
    if (!rows->tab->known) return false;
    if (!ctr_tab_is_ready(rows->tab) && ctr_journal_refresh(rows->tab)) return false;
    const ctr_row *row =
        ctr_cache_key(&rows->tab->cache, rows->hash, rows->key.bytes, rows->key.size);
    if (row) take_known(rows, row);
    return row != NULL;
}

/* A connection that has counted in many rows one by one will count in others. So with each row that
 * the cache lacks, this reads some more rows, in the order of storage, while there is room. This
 * costs about as much as finding the one. Errors in the other rows are ignored, unless SQLite rolls
 * back. */
static void read_ahead(ctr_rows *rows)
{
    enum { AT_ONCE = 16 };
    ctr_cache *cache = &rows->tab->cache;
    ctr_problem trouble;
    ctr_problem_try(rows->conn, &trouble);
    ctr_run run = ctr_tab_run(rows->tab);
    ctr_slot *slot = ctr_tab_take(rows->sql, CTR_TAB_AHEAD);
    sqlite3_stmt *follow = slot ? slot->kept.statement : NULL;
    if (follow) sqlite3_bind_int64(follow, 1, cache->ahead);
    size_t room = AT_ONCE * (cache->bytes / (cache->n + 1) + 1);
    int n = cache->bytes + room > CTR_CACHE_BYTES ? AT_ONCE : 0;
    cache->ahead = INT64_MAX;
    for (; n < AT_ONCE && ctr_run_row(&run, follow); n++) {
        ctr_rows_take(rows, follow);
        if (n == AT_ONCE - 1) cache->ahead = rows->rowid;
    }
    ctr_tab_give_back(rows->sql, slot);
    ctr_problem_raise_if(rows->conn, &trouble, ctr_problem_rolls_back(trouble.rc));
}

bool ctr_rows_may_be_new(ctr_rows *rows, sqlite3_value **keys)
{
    return !find_known(rows, keys) && ctr_rc(rows->conn) == SQLITE_OK && rows->packed &&
           rows->exact;
}

int ctr_rows_find_key(ctr_rows *rows, sqlite3_value **keys)
{
    if (find_known(rows, keys) || ctr_rc(rows->conn) != SQLITE_OK) return ctr_rc(rows->conn);
    ctr_cache *cache = &rows->tab->cache;
    bool counts = !rows->whole && rows->packed && ctr_file_known_id(rows->tab->file);
    if (counts && ++cache->missed > CTR_CACHE_MISSED && cache->ahead < INT64_MAX) {
        read_ahead(rows);
        if (find_known(rows, keys) || ctr_rc(rows->conn) != SQLITE_OK) return ctr_rc(rows->conn);
    }
    ctr_slot *slot = ctr_tab_take(rows->sql, CTR_TAB_FIND_KEY);
    if (!slot) return ctr_rc(rows->conn);
    ctr_rows_lend_keys(rows, slot->kept.statement, keys);
    return find(rows, slot);
}

int ctr_rows_find_rowid(ctr_rows *rows, int64_t rowid)
{
    if (refuse_reentry(rows)) return ctr_rc(rows->conn);
    forget(rows);
    bool known = !rows->whole && rows->tab->known;
    if (known && ctr_journal_refresh(rows->tab)) return ctr_rc(rows->conn);
    const ctr_row *there = !known ? NULL : ctr_cache_row(&rows->tab->cache, rowid);
    if (there) {
        take_known(rows, there);
        return ctr_rc(rows->conn);
    }
    ctr_slot *slot = ctr_tab_take(rows->sql, CTR_TAB_FIND_ROWID);
    if (!slot) return ctr_rc(rows->conn);
    sqlite3_bind_int64(slot->kept.statement, 1, rowid);
    return find(rows, slot);
}

bool ctr_rows_is_empty(ctr_rows *rows)
{
    ctr_run run = ctr_tab_run(rows->tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_ROWS_ANY);
    bool any = ctr_run_once(&run, row);
    return !any && ctr_rc(rows->conn) == SQLITE_OK;
}

int ctr_rows_find_none(ctr_rows *rows)
{
    if (refuse_reentry(rows)) return ctr_rc(rows->conn);
    forget(rows);
    return ctr_rc(rows->conn);
}

int ctr_rows_take(ctr_rows *rows, sqlite3_stmt *row)
{
    if (refuse_reentry(rows)) return ctr_rc(rows->conn);
    forget(rows);
    take_row(rows, row);
    return ctr_rc(rows->conn);
}

/* =================================================================================================
 * stage - stages changes of a row, and writes them. */

/* ---- staging --------------------------------------------------------------------------------- */

uint8_t *ctr_stage_room(ctr_rows *rows, size_t size)
{
    return ctr_pack_room(rows->conn, &rows->fresh, size);
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

/* Notes that a stamp with this number is written into a cell. */
static void batch_learn(ctr_tab *tab, int64_t number)
{
    if (number > tab->file->learned) tab->file->learned = number;
}

int ctr_stage_row(ctr_rows *rows)
{
    size_t room = ctr_row_cell_room(rows->row.n);
    uint8_t *out = ctr_stage_room(rows, room);
    size_t size = out ? ctr_regular_write(rows->tab, &rows->row, out) : 0;
    if (ctr_rc(rows->conn) != SQLITE_OK) return ctr_rc(rows->conn);
    rows->staged_row =
        (ctr_staged){.kind = CTR_STAGED_CELL, .offset = rows->fresh.size, .size = size};
    rows->fresh.size += size;
    batch_learn(rows->tab, ctr_row_cell_highest(&rows->row));
    return ctr_rc(rows->conn);
}

bool ctr_stage_stamps(ctr_rows *rows, const bool *mask, int n)
{
    int64_t number = ctr_batch_number(rows->tab);
    if (number == 0 || number > CTR_STAMP_LAST) return false;
    rows->stamped = mask;
    rows->n_stamped = n;
    return true;
}

bool ctr_stage_any(const ctr_rows *rows)
{
    if (rows->spelling || rows->stamped || ctr_stage_has_row(rows)) return true;
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

void ctr_stage_spell(ctr_rows *rows, sqlite3_value **keys)
{
    const ctr_shape *shape = rows->shape;
    bool may = false;
    for (int i = 0; i < shape->n_keys; i++)
        may = may || (keys[i] && may_read_otherwise(&shape->columns[shape->keys[i]], keys[i]));
    if (!rows->found || !may || shape->n_counters == 0) return;
    const ctr_row *known = rows->packed ? NULL : ctr_cache_row(&rows->tab->cache, rows->rowid);
    const uint8_t *key = known ? known->key : rows->packed ? rows->key.bytes : NULL;
    size_t size = known ? known->key_size : rows->key.size;
    if (!key || !ctr_pack_has(rows->conn, key, size, keys, shape->n_keys)) rows->spelling = keys;
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
                             const ctr_sum *difference, const ctr_leader *leader)
{
    size_t size;
    uint8_t *out = ctr_stage_room(rows, base->size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX);
    if (!out) return CTR_OK;
    const ctr_kind *kind = kind_at(rows, counter);
    ctr_status status = kind->change(base, leader->id, difference, 1, leader->least, out, &size);
    if (status == CTR_OK) ctr_stage_set(rows, counter, size);
    return status;
}

/* Stages an amount for an existing row, or else a new cell. */
ctr_status ctr_stage_change(ctr_rows *rows, int counter, const ctr_sum *difference,
                            const ctr_leader *leader)
{
    ctr_staged *staged = &rows->staged[counter];
    const ctr_cell *cell = &rows->cells[counter];
    if (!rows->whole && rows->found && !kind_at(rows, counter)->adds && rows_load_cells(rows))
        return CTR_OK;
    if (rows->whole || !rows->found || !kind_at(rows, counter)->adds)
        return stage_cell(rows, counter, cell, difference, leader);

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
    if (rows_load_cells(rows)) return CTR_OK;
    return stage_cell(rows, counter, cell, difference, leader);
}

ctr_status ctr_stage_open(ctr_rows *rows, int counter, int64_t n, const ctr_leader *opening)
{
    ctr_sum difference = {0, 0};
    ctr_sum_add(&difference, n);
    if (rows->found && !rows->whole && rows_load_cells(rows)) return CTR_OK;
    return stage_cell(rows, counter, &rows->cells[counter], &difference, opening);
}

ctr_status ctr_stage_next_life(ctr_rows *rows, int counter, int64_t n, const ctr_leader *leader)
{
    uint8_t empty[CTR_CELL_HEADER_MAX], *out;
    size_t size;
    ctr_sum difference = {0, 0};
    ctr_status status = ctr_kind_begin_life(kind_at(rows, counter),
                                            ctr_rows_state(rows, counter).life, true, empty, &size);
    if (status != CTR_OK) return status;
    const ctr_cell cell = ctr_cell_written(empty, size);
    ctr_sum_add(&difference, n);
    if (leader) return stage_cell(rows, counter, &cell, &difference, leader);
    out = ctr_stage_room(rows, size);
    if (!out) return CTR_OK;
    memcpy(out, empty, size);
    ctr_stage_set(rows, counter, size);
    return CTR_OK;
}

ctr_status ctr_stage_delete(ctr_rows *rows, int counter)
{
    size_t size;
    uint8_t *out = ctr_stage_room(rows, CTR_CELL_HEADER_MAX);
    if (!out) return CTR_OK;
    ctr_status status = ctr_kind_begin_life(kind_at(rows, counter),
                                            ctr_rows_state(rows, counter).life, false, out, &size);
    if (status == CTR_OK) ctr_stage_set(rows, counter, size);
    return status;
}

/* ---- joins ----------------------------------------------------------------------------------- */

void ctr_rows_open_joins(ctr_rows *rows)
{
    const ctr_registry *registry = ctr_regular_of(rows->tab);
    if (!registry) return;
    size_t n = (size_t)rows->shape->n_counters + 1, m = (size_t)registry->n + 1;
    rows->join = (ctr_join){.before = sqlite3_malloc64(n * sizeof *rows->join.before),
                            .after = sqlite3_malloc64(n * sizeof *rows->join.after),
                            .taken = sqlite3_malloc64(m),
                            .apart = sqlite3_malloc64(m)};
    if (!rows->join.before || !rows->join.after || !rows->join.taken || !rows->join.apart)
        ctr_problem_nomem(rows->conn);
}

const ctr_summary *ctr_rows_before(ctr_rows *rows)
{
    ctr_join *join = &rows->join;
    for (int i = 0; !join->noted && i < rows->shape->n_counters; i++)
        join->before[i] = ctr_rows_state(rows, i);
    join->noted = true;
    return join->before;
}

const ctr_summary *ctr_rows_after(ctr_rows *rows)
{
    for (int i = 0; i < rows->shape->n_counters; i++)
        rows->join.after[i] = ctr_stage_state(rows, i);
    return rows->join.after;
}

void ctr_rows_join_counters(ctr_rows *rows)
{
    ctr_join *join = &rows->join;
    const ctr_row_cell *mine = ctr_rows_row(rows);
    if (!mine) return;
    join->was_live = ctr_row_cell_is_live(mine);
    join->begins = join->asks = false;
    memset(join->taken, 0, (size_t)mine->n * sizeof *join->taken);
    ctr_rows_before(rows);
}

/* The row of the other file replaces mine whole, with its counters. */
static void drop_counters(ctr_rows *rows)
{
    ctr_stage_empty(rows);
    for (int i = 0; i < rows->shape->n_counters; i++) rows->cells[i] = ctr_cell_untouched();
}

/* A column that has a higher generation in the other file has it here, too. */
static void learn_generations(ctr_rows *rows)
{
    const ctr_row_cell *mine = &rows->row;
    for (int i = 0; i < mine->n; i++) {
        const ctr_registry *registry = rows->join.taken[i] ? ctr_regular_of(rows->tab) : NULL;
        const ctr_stamp *stamp = registry ? ctr_row_cell_stamp(mine, i) : NULL;
        int64_t generation = stamp ? ctr_stamp_generation(stamp->number) : 0;
        if (generation > 0 && registry->columns[i].generation < generation)
            ctr_regular_note(rows->tab, i, registry->columns[i].name, registry->columns[i].noted,
                             generation);
    }
}

ctr_row_outcome ctr_rows_join_row(ctr_rows *rows, const ctr_row_cell *theirs, const int *map)
{
    ctr_join *join = &rows->join;
    ctr_row_cell *mine = ctr_rows_row(rows);
    ctr_rows_join_counters(rows);
    if (!mine) return CTR_ROW_STAYS;
    const ctr_stamp before = mine->row;
    const uint32_t life = mine->life;
    join->asks = ctr_row_cell_began_apart(mine, theirs, map, join->apart);
    ctr_row_outcome outcome = ctr_row_cell_join(mine, theirs, map, join->taken);
    join->begins = outcome == CTR_ROW_REPLACED && life > 0 && ctr_row_cell_is_live(mine);
    if (outcome == CTR_ROW_REPLACED) drop_counters(rows);
    bool changed = outcome == CTR_ROW_REPLACED || ctr_row_cell_beats(&mine->row, &before);
    for (int i = 0; i < mine->n; i++) changed = changed || join->taken[i];
    learn_generations(rows);
    if (changed) ctr_stage_row(rows);
    return outcome;
}

ctr_cell ctr_rows_join_cell(ctr_rows *rows, int counter, const ctr_cell *theirs)
{
    const ctr_cell *mine = &rows->cells[counter];
    uint8_t *out = ctr_stage_room(rows, mine->size + theirs->size);
    return out ? ctr_cell_written(out, ctr_cell_merge(mine, theirs, out)) : *mine;
}

bool ctr_rows_set_joined(ctr_rows *rows, int counter, const ctr_cell *joined)
{
    const ctr_cell *mine = &rows->cells[counter];
    if (ctr_cell_same(joined, mine)) return false;
    ctr_stats *stats = &rows->tab->file->conn->stats;
    stats->cells_changed++;
    const ctr_trimmed apart = ctr_cell_trim(joined, mine);
    stats->shards_written += (int64_t)ctr_cell_changed_shards(&apart.a, &apart.b);
    ctr_stage_set(rows, counter, joined->size);
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int bind_spelling(const ctr_rows *rows, sqlite3_stmt *statement)
{
    const ctr_shape *shape = rows->shape;
    int rc = SQLITE_OK, first = CTR_UPDATE_COUNTERS + ctr_shape_states(shape);
    for (int i = 0; i < shape->n_keys && rc == SQLITE_OK; i++)
        if (rows->spelling[i])
            rc = ctr_pack_bind_stored(rows->conn, statement, first + i,
                                      &shape->columns[shape->keys[i]], rows->spelling[i]);
    return rc;
}

/* Looks at a statement that was just prepared, or prepared again. A new cell replaces the one that
 * was read, so no cell may be hidden. */
static void check_write(ctr_rows *rows, ctr_slot *slot)
{
    ctr_batch_refuse_triggers_anew(rows->tab);
    if (rows->found && ctr_rc(rows->conn) == SQLITE_OK)
        ctr_refuse_ignored_columns(rows->tab, rows->shape);
    slot->checked = ctr_rc(rows->conn) == SQLITE_OK;
}

/* Looks again if SQLite has prepared the statement again, as for another authorizer or a new
 * trigger. Then the row is written already. */
static void write_row(ctr_rows *rows, ctr_slot *slot, bool may_be_there)
{
    ctr_conn *conn = rows->tab->file->conn;
    unsigned nth = conn->ended;
    ctr_run run = ctr_tab_run(rows->tab);
    if (!slot->checked) check_write(rows, slot);
    if (ctr_rc(rows->conn) != SQLITE_OK) return;
    ctr_spill_check(rows->tab->file);
    if (may_be_there)
        ctr_problem_sqlite(run.conn, ctr_run_to_end(slot->kept.statement));
    else
        ctr_run_write(&run, slot->kept.statement);
    bool again = sqlite3_stmt_status(slot->kept.statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    if (!again || ctr_rc(rows->conn) != SQLITE_OK) return;
    check_write(rows, slot);
    if (ctr_rc(rows->conn) != SQLITE_OK) ctr_conn_spoil(conn, nth);
}

/* Writes new cells. */
static int write_cells(ctr_rows *rows, ctr_tab_sql which, sqlite3_value **keys)
{
    const ctr_shape *shape = rows->shape;
    ctr_slot *slot = ctr_tab_take(rows->sql, which);
    if (!slot) return ctr_rc(rows->conn);
    sqlite3_stmt *statement = slot->kept.statement;
    int rc = SQLITE_OK, first = CTR_UPDATE_COUNTERS;
    if (rows->found) {
        sqlite3_bind_int64(statement, CTR_UPDATE_ROWID, rows->rowid);
    } else {
        rc = ctr_pack_bind_keys(rows->conn, statement, CTR_INSERT_KEYS, shape, keys);
        first = CTR_INSERT_KEYS + shape->n_keys;
    }
    int n = which == CTR_TAB_SET_ROW ? 0 : shape->n_counters;
    if (shape->replicated && ctr_stage_has_row(rows))
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
    ctr_problem_sqlite(rows->conn, rc);
    write_row(rows, slot, which == CTR_TAB_INSERT_NEW);
    ctr_tab_give_back(rows->sql, slot);
    return ctr_rc(rows->conn);
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
    if (row) row->live = ctr_stage_has_row(rows) && ctr_row_cell_is_live(&rows->row);
}

/* The stamps that the journal had are in the row cell now. */
static void note_row_cell(ctr_rows *rows)
{
    ctr_row *known = ctr_cache_row(&rows->tab->cache, rows->rowid);
    if (known) known->live = ctr_row_cell_is_live(&rows->row);
    ctr_batch_note(rows->tab, rows->rowid, CTR_ENTRY_ROW_WRITTEN, 0, CTR_MADE_HERE);
}

static void write_found(ctr_rows *rows)
{
    int n = rows->shape->n_counters, n_cells = 0;
    for (int i = 0; i < n; i++) n_cells += rows->staged[i].kind == CTR_STAGED_CELL;
    bool stamps = ctr_stage_has_row(rows);
    bool writes = n_cells > 0 || rows->spelling || stamps;
    ctr_tab_sql which = rows->spelling           ? CTR_TAB_SPELL
                        : stamps && n_cells == 0 ? CTR_TAB_SET_ROW
                                                 : CTR_TAB_UPDATE;
    if (ctr_rc(rows->conn) != SQLITE_OK || (writes && write_cells(rows, which, NULL))) return;
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
}

int ctr_stage_note(ctr_rows *rows)
{
    int n = rows->shape->n_counters;
    if (ctr_file_before_write(rows->tab->file) || ctr_batch_expect(rows->tab, n + 1))
        return ctr_rc(rows->conn);
    for (int i = 0; i < n; i++)
        if (rows->staged[i].kind == CTR_STAGED_CELL)
            ctr_batch_note(rows->tab, rows->rowid, CTR_ENTRY_WRITTEN, i, rows->origin);
    note_own_part(rows);
    return ctr_rc(rows->conn);
}

int ctr_stage_refuse_writing(ctr_conn *conn)
{
    return ctr_problem_set(conn, SQLITE_ERROR,
                           "a row of the table is being written: the collation of its key must not "
                           "change the table");
}

/* Returns whether the row was inserted. */
static bool insert_cells(ctr_rows *rows, ctr_tab_sql which, sqlite3_value **keys)
{
    int before = sqlite3_total_changes(rows->conn->db);
    if (write_cells(rows, which, keys)) return false;
    if (sqlite3_total_changes(rows->conn->db) == before) return false;
    rows->rowid = sqlite3_last_insert_rowid(rows->conn->db);
    ctr_batch_note(rows->tab, rows->rowid, CTR_ENTRY_CHANGED, 0, rows->origin);
    note_own_part(rows);
    if (!rows->whole) know_new_row(rows);
    return true;
}

/* A trigger on the tables of the file must not use this row. */
static bool begin_writing(ctr_rows *rows)
{
    ctr_tab *tab = rows->tab;
    if (tab->writing) {
        ctr_stage_refuse_writing(rows->conn);
        return false;
    }
    rows->writing = tab->writing = true;
    bool ready = ctr_tab_is_ready(tab) && tab->file->renewed;
    if (!ready && ctr_file_before_write(tab->file) == SQLITE_OK) ctr_journal_refresh(tab);
    int n = rows->shape->n_counters + 4 + (rows->stamped ? rows->n_stamped : 0);
    if (ctr_rc(rows->conn) == SQLITE_OK) ctr_batch_expect(tab, n);
    if (rows->stamped) ctr_batch_number(tab);
    if (ctr_rc(rows->conn) != SQLITE_OK) rows->writing = tab->writing = false;
    return ctr_rc(rows->conn) == SQLITE_OK;
}

int ctr_stage_write(ctr_rows *rows, sqlite3_value **keys)
{
    if (!begin_writing(rows)) return ctr_rc(rows->conn);
    if (rows->found)
        write_found(rows);
    else
        insert_cells(rows, CTR_TAB_INSERT, keys);
    rows->writing = rows->tab->writing = false;
    return ctr_rc(rows->conn);
}

bool ctr_stage_write_new(ctr_rows *rows, sqlite3_value **keys)
{
    if (!begin_writing(rows)) return false;
    bool inserted = insert_cells(rows, CTR_TAB_INSERT_NEW, keys);
    rows->writing = rows->tab->writing = false;
    return inserted;
}
