/* table/row.c - the row at hand: its values, how it is found, changed, joined and written. */
#include "table/table.h"

#include <string.h>

/* ---- the key of any row ---------------------------------------------------------------------- */

static ctr_slot *take_key_statement(ctr_row *row, int64_t rowid)
{
    ctr_slot *slot = ctr_tab_take(row->sql, CTR_TAB_KEY);
    if (slot) sqlite3_bind_int64(slot->kept.statement, 1, rowid);
    return slot;
}

bool ctr_row_key_of(ctr_row *row, int64_t rowid, sqlite3_value **keys)
{
    for (int i = 0; i < row->shape->n_keys; i++) keys[i] = NULL;
    ctr_run run = ctr_tab_run(row->tab);
    ctr_slot *slot = take_key_statement(row, rowid);
    sqlite3_stmt *stands = slot ? slot->kept.statement : NULL;
    bool there = ctr_run_row(&run, stands);
    for (int i = 0; there && i < row->shape->n_keys; i++) {
        keys[i] = sqlite3_value_dup(sqlite3_column_value(stands, i));
        if (!keys[i]) ctr_problem_nomem(row->conn);
    }
    ctr_tab_give_back(row->sql, slot);
    return there && ctr_rc(row->conn) == SQLITE_OK;
}

bool ctr_row_has_key(ctr_row *row, int64_t rowid, sqlite3_value **keys)
{
    ctr_slot *slot = ctr_tab_take(row->sql, CTR_TAB_KEY_IS);
    if (!slot) return false;
    sqlite3_stmt *stands = slot->kept.statement;
    sqlite3_bind_int64(stands, 1, rowid);
    int rc = SQLITE_OK;
    for (int i = 0; i < row->shape->n_keys && rc == SQLITE_OK; i++)
        if (keys[i]) rc = ctr_text_bind_value(stands, i + 2, keys[i]);
    if (rc == SQLITE_OK) rc = sqlite3_step(stands);
    ctr_problem_sqlite(row->conn, rc);
    ctr_tab_give_back(row->sql, slot);
    return rc == SQLITE_ROW;
}

/* If the row cannot be read, the text has no values. */
char *ctr_row_key_text(ctr_row *row, int64_t rowid)
{
    ctr_problem trouble;
    ctr_problem_try(row->conn, &trouble);
    ctr_run run = ctr_tab_run(row->tab);
    ctr_slot *slot = take_key_statement(row, rowid);
    sqlite3_stmt *stands = slot ? slot->kept.statement : NULL;
    int n = ctr_run_row(&run, stands) ? row->shape->n_keys : 0;
    sqlite3_value **keys = sqlite3_malloc64(((size_t)n + 1) * sizeof *keys);
    for (int i = 0; keys && i < n; i++) keys[i] = sqlite3_column_value(stands, i);
    char *text =
        keys && !ctr_problem_rolls_back(trouble.rc) ? ctr_problem_describe_key(keys, n) : NULL;
    sqlite3_free(keys);
    ctr_tab_give_back(row->sql, slot);
    if (!text) ctr_problem_nomem(row->conn);
    ctr_problem_end(&trouble);
    if (!text) ctr_problem_clear(row->conn);
    ctr_problem_raise_if(row->conn, &trouble, !text);
    return text;
}

void ctr_row_problem_at(ctr_row *row, int64_t rowid, int counter)
{
    char *key = ctr_row_key_text(row, rowid);
    if (key)
        ctr_problem_where(row->conn, "column %s of %s", ctr_shape_counter_name(row->shape, counter),
                          key);
    sqlite3_free(key);
}

/* ---- the cells of any row -------------------------------------------------------------------- */

static int malformed(ctr_row *row, int64_t rowid, int counter, ctr_status status)
{
    ctr_problem_set(row->conn, SQLITE_CORRUPT_VTAB, "the cell %s", ctr_status_text(status));
    ctr_row_problem_at(row, rowid, counter);
    return ctr_rc(row->conn);
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

static const ctr_column *counter_at(const ctr_row *row, int counter)
{
    return &row->shape->columns[row->shape->counters[counter]];
}

static const ctr_kind *kind_at(const ctr_row *row, int counter)
{
    return counter_at(row, counter)->kind;
}

ctr_cell ctr_row_advance(ctr_tab *tab, const ctr_column *counter, const ctr_amount *amount,
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
static int values_cell(ctr_row *row, sqlite3_value *value, int64_t rowid, int counter,
                       ctr_cell *cell)
{
    size_t size;
    const uint8_t *bytes;
    *cell = ctr_cell_untouched();
    ctr_status status = bytes_of(row->conn, value, &bytes, &size);
    const ctr_amount *amount = ctr_journal_amount(row->tab, rowid, counter);
    row->advanced.size = 0;
    if (status == CTR_OK && amount)
        *cell = ctr_row_advance(row->tab, counter_at(row, counter), amount, bytes, size,
                                &row->advanced, &status);
    else if (status == CTR_OK && bytes)
        status = ctr_cell_open(cell, bytes, size);
    return status == CTR_OK ? ctr_rc(row->conn) : malformed(row, rowid, counter, status);
}

int ctr_row_open_cell(ctr_row *row, sqlite3_stmt *stands, int i, int counter, ctr_cell *cell)
{
    *cell = ctr_cell_untouched();
    if (ctr_journal_refresh(row->tab)) return ctr_rc(row->conn);
    sqlite3_value *value = sqlite3_column_value(stands, i); /* read once: each read locks */
    return values_cell(row, value, sqlite3_column_int64(stands, 0), counter, cell);
}

/* Fails if counters were added or dropped since `row` was opened. */
static int refuse_other_shape(const ctr_row *row)
{
    if (row->shapes == row->tab->shapes) return ctr_rc(row->conn);
    return ctr_problem_set(row->conn, SQLITE_ERROR,
                           "a column was added or dropped while this statement ran");
}

bool ctr_row_same_cells(ctr_row *row, sqlite3_stmt *stands, int first, const ctr_row *other)
{
    const ctr_shape *shape = row->shape;
    for (int i = 0; i < shape->n_counters; i++) {
        ctr_cell cell;
        if (ctr_row_open_cell(row, stands, first + shape->counters[i], i, &cell) ||
            !ctr_cell_same(&cell, &other->cells[i]))
            return false;
    }
    return true;
}

int ctr_row_sum_cell(ctr_row *row, sqlite3_stmt *stands, int i, int counter, ctr_summary *summary)
{
    size_t size;
    const uint8_t *bytes;
    *summary = (ctr_summary){.life = 1};
    ctr_status status = bytes_of(row->conn, sqlite3_column_value(stands, i), &bytes, &size);
    if (status == CTR_OK && bytes) status = ctr_cell_summarize(summary, NULL, bytes, size);
    const ctr_amount *amount = NULL;
    if (row->tab->amounts.n > 0) {
        if (refuse_other_shape(row)) return ctr_rc(row->conn);
        amount = ctr_journal_amount(row->tab, sqlite3_column_int64(stands, 0), counter);
    }
    if (amount) ctr_sum_add(&summary->sum, amount->n);
    if (amount) summary->touched = true;
    return status == CTR_OK ? ctr_rc(row->conn)
                            : malformed(row, sqlite3_column_int64(stands, 0), counter, status);
}

/* Sets what the file may take of a bounded counter beside its own shard. */
static void take_beside(ctr_row *row, int counter, const uint8_t *bytes, size_t size,
                        ctr_summary *state)
{
    if (!counter_at(row, counter)->bounded) return;
    const ctr_cell cell = ctr_cell_written(bytes, size);
    state->beside = ctr_rights_beside(row->tab, &cell);
}

/* Takes the state of a counter of the row found last into row->states, from the statement that
 * stands on it: its cell plus the amount of the journal. */
static void values_state(ctr_row *row, sqlite3_stmt *stands, int counter)
{
    size_t size;
    const uint8_t *bytes;
    ctr_summary *state = &row->states[counter];
    int column = CTR_FIND_COLUMNS + row->shape->counters[counter];
    const ctr_amount *amount = ctr_journal_amount(row->tab, row->rowid, counter);
    ctr_status status = bytes_of(row->conn, sqlite3_column_value(stands, column), &bytes, &size);
    if (status == CTR_OK && bytes) status = ctr_cell_summarize(state, row->tab->id, bytes, size);
    if (status == CTR_OK && bytes) take_beside(row, counter, bytes, size, state);
    if (status == CTR_OK && amount) status = ctr_cache_advance(state, amount, row->tab->least);
    if (status != CTR_OK) malformed(row, row->rowid, counter, status);
}

/* ---- opening and closing --------------------------------------------------------------------- */

int ctr_row_open(ctr_row *row, ctr_file *file, const char *table, const ctr_shape *shape)
{
    size_t n = (size_t)shape->n_counters + 1;
    *row = (ctr_row){.conn = file->conn,
                     .shape = shape,
                     .origin = CTR_MADE_HERE,
                     .states = sqlite3_malloc64(n * sizeof *row->states),
                     .cells = sqlite3_malloc64(n * sizeof *row->cells),
                     .staged = sqlite3_malloc64(n * sizeof *row->staged),
                     .values = sqlite3_malloc64(n * sizeof *row->values)};
    if (!row->states || !row->cells || !row->staged || !row->values)
        return ctr_problem_nomem(file->conn);
    row->tab = row->sql = ctr_tab_of(file, table, shape);
    if (row->tab) row->shapes = row->tab->shapes;
    return ctr_rc(file->conn);
}

void ctr_row_reorder(ctr_row *row)
{
    if (ctr_rc(row->conn) != SQLITE_OK || ctr_shape_same_columns(&row->sql->shape, row->shape))
        return;
    ctr_tab *sql = ctr_tab_reordered(row->tab, row->shape);
    if (sql) row->sql = sql;
}

void ctr_row_close(ctr_row *row)
{
    if (row->sql != row->tab) ctr_tab_free(row->sql);
    sqlite3_free(row->states);
    sqlite3_free(row->cells);
    sqlite3_free(row->staged);
    sqlite3_free(row->stamps.columns);
    sqlite3_free(row->join.before);
    sqlite3_free(row->join.after);
    sqlite3_free(row->join.taken);
    sqlite3_free(row->join.apart);
    sqlite3_free(row->values);
    sqlite3_free(row->parts);
    sqlite3_free(row->old.bytes);
    sqlite3_free(row->fresh.bytes);
    sqlite3_free(row->advanced.bytes);
    sqlite3_free(row->key.bytes);
    *row = (ctr_row){.conn = row->conn};
}

/* ---- keys ------------------------------------------------------------------------------------ */

int ctr_row_lend_keys(ctr_row *row, sqlite3_stmt *statement, sqlite3_value **keys)
{
    for (int i = 0; i < row->shape->n_keys && ctr_rc(row->conn) == SQLITE_OK; i++) {
        const ctr_column *column = &row->shape->columns[row->shape->keys[i]];
        int rc = ctr_pack_lend_stored(row->conn, statement, i + 1, column, keys[i]);
        ctr_problem_sqlite(row->conn, rc);
    }
    return ctr_rc(row->conn);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void forget(ctr_row *row)
{
    row->found = row->packed = row->exact = row->also_here = row->has_home = false;
    row->spelling = NULL;
    row->stamped = NULL;
    row->has_stamps = row->live = row->join.noted = row->join.replaces = false;
    row->staged_stamps.kind = CTR_STAGED_NOTHING;
    row->old.size = row->fresh.size = 0;
    for (int i = 0; i < row->shape->n_counters; i++) {
        row->states[i] = (ctr_summary){.life = 1};
        row->cells[i] = ctr_cell_untouched();
        row->staged[i].kind = CTR_STAGED_NOTHING;
    }
}

/* Copies the cells in row->values, so that no read is open when the row is written. */
static void take_cells(ctr_row *row, int64_t rowid)
{
    const ctr_shape *shape = row->shape;
    size_t total = 0;
    for (int i = 0; i < shape->n_counters; i++)
        total += (size_t)sqlite3_value_bytes(row->values[i]) + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX;
    row->old.size = 0;
    if (!ctr_pack_room(row->conn, &row->old, total)) return;
    for (int i = 0; i < shape->n_counters; i++) {
        ctr_cell *cell = &row->cells[i];
        if (values_cell(row, row->values[i], rowid, i, cell)) return;
        if (ctr_cell_is_untouched(cell)) continue;
        uint8_t *copy = row->old.bytes + row->old.size;
        memcpy(copy, cell->bytes, cell->size);
        cell->bytes = copy;
        row->old.size += cell->size;
    }
}

static void take_cells_of(ctr_row *row, sqlite3_stmt *stands)
{
    const ctr_shape *shape = row->shape;
    for (int i = 0; i < shape->n_counters; i++)
        row->values[i] = sqlite3_column_value(stands, CTR_FIND_COLUMNS + shape->counters[i]);
    if (ctr_journal_refresh(row->tab) == SQLITE_OK) take_cells(row, row->rowid);
}

int ctr_row_take_values(ctr_row *row, sqlite3_value *rowid, sqlite3_value **columns)
{
    const ctr_shape *shape = row->shape;
    forget(row);
    if (sqlite3_value_type(rowid) == SQLITE_NULL)
        return ctr_refuse_hidden(row->conn, row->tab->table);
    row->found = true;
    row->rowid = sqlite3_value_int64(rowid);
    for (int i = 0; i < shape->n_counters; i++) row->values[i] = columns[shape->counters[i]];
    take_cells(row, row->rowid);
    return ctr_rc(row->conn);
}

/* Reads the cells of the row found last, of which only the states are known. */
static int load_cells(ctr_row *row)
{
    ctr_slot *slot = ctr_tab_take(row->sql, CTR_TAB_FIND_ROWID);
    if (!slot) return ctr_rc(row->conn);
    sqlite3_bind_int64(slot->kept.statement, 1, row->rowid);
    ctr_run run = ctr_tab_run(row->tab);
    if (ctr_run_row(&run, slot->kept.statement)) take_cells_of(row, slot->kept.statement);
    ctr_tab_give_back(row->sql, slot);
    return ctr_rc(row->conn);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void take_known(ctr_row *row, const ctr_known_row *known)
{
    row->found = true;
    row->rowid = known->id;
    row->live = known->live;
    memcpy(row->states, known->states, (size_t)row->shape->n_counters * sizeof *row->states);
}

/* Packs the key as stored in the row. */
static void pack_stored(ctr_row *row, sqlite3_stmt *stands)
{
    sqlite3_value *few[8], **keys = few;
    int n = row->shape->n_keys;
    if (n > 8) keys = sqlite3_malloc64((size_t)n * sizeof *keys);
    if (!keys) {
        ctr_problem_nomem(row->conn);
        return;
    }
    for (int i = 0; i < n; i++)
        keys[i] = sqlite3_column_value(stands, CTR_FIND_COLUMNS + row->shape->keys[i]);
    ctr_pack_values(row->conn, &row->key, keys, n);
    row->hash = ctr_cache_hash(row->key.bytes, row->key.size);
    row->packed = ctr_rc(row->conn) == SQLITE_OK;
    if (keys != few) sqlite3_free(keys);
}

/* Takes the row, and adds it to the cache if there is room. */
static void take_stored(ctr_row *row, sqlite3_stmt *stands)
{
    ctr_cache *cache = &row->tab->cache;
    bool looked = row->packed && row->exact; /* the cache was searched for this key */
    const ctr_known_row *known = looked ? NULL : ctr_cache_row(cache, row->rowid);
    if (!looked) pack_stored(row, stands);
    if (known) {
        take_known(row, known);
        return;
    }
    for (int i = 0; i < row->shape->n_counters && ctr_rc(row->conn) == SQLITE_OK; i++)
        values_state(row, stands, i);
    ctr_known_row *added = NULL;
    if (ctr_rc(row->conn) == SQLITE_OK && row->tab->known)
        added =
            ctr_cache_add(cache, row->rowid, row->hash, row->key.bytes, row->key.size, row->states);
    if (added) added->live = row->live;
}

ctr_summary ctr_row_state(const ctr_row *row, int counter)
{
    return row->whole ? ctr_summary_of(&row->cells[counter]) : row->states[counter];
}

ctr_row_cell *ctr_row_stamps(ctr_row *row)
{
    if (ctr_rc(row->conn) != SQLITE_OK || !row->shape->replicated) return NULL;
    if (row->has_stamps) return &row->stamps;
    if (!ctr_regular_room(row->tab, &row->stamps, &row->room_stamps)) return NULL;
    if (row->found) ctr_regular_read(row->tab, row->rowid, &row->stamps);
    row->has_stamps = ctr_rc(row->conn) == SQLITE_OK;
    return row->has_stamps ? &row->stamps : NULL;
}

bool ctr_row_is_live(ctr_row *row)
{
    for (int i = 0; !row->shape->replicated && i < row->shape->n_counters; i++) {
        ctr_summary state = ctr_row_state(row, i);
        if (ctr_summary_is_live(&state)) return true;
    }
    if (row->found && !row->has_stamps && row->live) return ctr_rc(row->conn) == SQLITE_OK;
    const ctr_row_cell *cell = row->found ? ctr_row_stamps(row) : NULL;
    return cell && ctr_row_cell_is_live(cell);
}

/* ---- finding --------------------------------------------------------------------------------- */

static int refuse_reentry(const ctr_row *row)
{
    if (row->shapes == row->tab->shapes && !row->writing) return ctr_rc(row->conn);
    if (refuse_other_shape(row)) return ctr_rc(row->conn);
    return ctr_problem_set(row->conn, SQLITE_ERROR,
                           "a trigger on a stored table of %s writes to the table itself",
                           row->tab->table);
}

/* Returns whether the row cell, if the statement has it, has an odd life, which is its first
 * number. */
static bool has_odd_life(const ctr_row *row, sqlite3_stmt *stands)
{
    int column = CTR_FIND_COLUMNS + row->shape->n_columns;
    if (!row->shape->replicated || sqlite3_column_count(stands) <= column) return false;
    const uint8_t *bytes = sqlite3_column_blob(stands, column);
    return bytes && sqlite3_column_bytes(stands, column) > 0 && bytes[0] % 2 == 1;
}

/* A merge needs the row cell of each row. */
static void take_stamps_of(ctr_row *row, sqlite3_stmt *stands)
{
    if (!row->shape->replicated || !ctr_regular_room(row->tab, &row->stamps, &row->room_stamps))
        return;
    row->has_stamps = ctr_regular_take(row->tab, stands, &row->stamps) == SQLITE_OK;
}

/* Is it a row of the tracked table whose cells are not there? Takes its row id. */
static bool take_home(ctr_row *row, sqlite3_stmt *stands)
{
    int column = CTR_FIND_COLUMNS + row->shape->n_columns + row->shape->replicated;
    if (!row->shape->linked || sqlite3_column_count(stands) <= column) return false;
    row->has_home = true;
    row->home = sqlite3_column_int64(stands, column);
    return sqlite3_column_type(stands, CTR_FIND_ROWID) == SQLITE_NULL;
}

static void take_row(ctr_row *row, sqlite3_stmt *stands)
{
    if (take_home(row, stands)) return;
    sqlite3_value *rowid = sqlite3_column_value(stands, CTR_FIND_ROWID);
    if (sqlite3_value_type(rowid) == SQLITE_NULL) {
        ctr_refuse_hidden(row->conn, row->tab->table);
        return;
    }
    row->found = true;
    row->rowid = sqlite3_value_int64(rowid);
    row->live = has_odd_life(row, stands);
    bool writes = row->whole || ctr_file_known_id(row->tab->file);
    if (writes ? ctr_journal_refresh(row->tab) : ctr_journal_refresh_row(row->tab, row->rowid))
        return;
    if (!row->whole) {
        take_stored(row, stands);
        return;
    }
    take_cells_of(row, stands);
    take_stamps_of(row, stands);
}

/* Steps a statement that finds a row, and gives it back. Fails if an authorizer hides a column of
 * it. SQLite prepares a statement again for another authorizer. */
static int find(ctr_row *row, ctr_slot *slot)
{
    sqlite3_stmt *statement = slot->kept.statement;
    int rc = ctr_rc(row->conn) == SQLITE_OK ? sqlite3_step(statement) : SQLITE_DONE;
    bool again = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    if (!slot->checked || again) ctr_refuse_hidden_by(slot, row->sql);
    if (!slot->checked || again) ctr_home_refuse_hidden(row->sql);
    if (again) ctr_home_forget(row->tab);
    if (rc == SQLITE_ROW)
        take_row(row, statement);
    else
        ctr_problem_sqlite(row->conn, rc);
    ctr_tab_give_back(row->sql, slot);
    return ctr_rc(row->conn);
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
static bool pack_key(ctr_row *row, sqlite3_value **keys)
{
    row->packed = false;
    row->exact = true;
    for (int i = 0; i < row->shape->n_keys; i++) {
        const ctr_column *column = &row->shape->columns[row->shape->keys[i]];
        if (!is_as_stored(column, keys[i])) return false;
        row->exact = row->exact && is_stored_as_it_is(column, keys[i]);
    }
    if (ctr_pack_values(row->conn, &row->key, keys, row->shape->n_keys)) return false;
    row->hash = ctr_cache_hash(row->key.bytes, row->key.size);
    row->packed = true;
    return true;
}

/* Looks for the row in the cache alone. */
static bool find_known(ctr_row *row, sqlite3_value **keys)
{
    if (refuse_reentry(row)) return false;
    forget(row);
    if (row->whole || !pack_key(row, keys)) return false;
    if (!row->tab->known) return false;
    if (!ctr_tab_is_ready(row->tab) && ctr_journal_refresh(row->tab)) return false;
    const ctr_known_row *known =
        ctr_cache_key(&row->tab->cache, row->hash, row->key.bytes, row->key.size);
    if (known) take_known(row, known);
    return known != NULL;
}

/* A connection that has counted in many rows one by one will count in others. So with each row that
 * the cache lacks, this reads some more rows, in the order of storage, while there is room. This
 * costs about as much as finding the one. Errors in the other rows are ignored, unless SQLite rolls
 * back. */
static void read_ahead(ctr_row *row)
{
    enum { AT_ONCE = 16 };
    ctr_cache *cache = &row->tab->cache;
    ctr_problem trouble;
    ctr_problem_try(row->conn, &trouble);
    ctr_run run = ctr_tab_run(row->tab);
    ctr_slot *slot = ctr_tab_take(row->sql, CTR_TAB_AHEAD);
    sqlite3_stmt *follow = slot ? slot->kept.statement : NULL;
    if (follow) sqlite3_bind_int64(follow, 1, cache->ahead);
    size_t room = AT_ONCE * (cache->bytes / (cache->n + 1) + 1);
    int n = cache->bytes + room > CTR_CACHE_BYTES ? AT_ONCE : 0;
    cache->ahead = INT64_MAX;
    for (; n < AT_ONCE && ctr_run_row(&run, follow); n++) {
        ctr_row_take(row, follow);
        if (n == AT_ONCE - 1 && row->rowid < INT64_MAX) cache->ahead = row->rowid + 1;
    }
    ctr_tab_give_back(row->sql, slot);
    ctr_problem_raise_if(row->conn, &trouble, ctr_problem_rolls_back(trouble.rc));
}

/* Finds by the key, and by a row id if that is not NULL. */
static int find_by(ctr_row *row, ctr_tab_sql which, sqlite3_value **keys, const int64_t *at)
{
    ctr_slot *slot = ctr_tab_take(row->sql, which);
    if (!slot) return ctr_rc(row->conn);
    ctr_row_lend_keys(row, slot->kept.statement, keys);
    if (at) sqlite3_bind_int64(slot->kept.statement, row->shape->n_keys + 1, *at);
    return find(row, slot);
}

/* In a linked table such a row is at `home`, and no cells with its key are away. */
bool ctr_row_may_be_new(ctr_row *row, sqlite3_value **keys, const int64_t *home)
{
    if (find_known(row, keys) || ctr_rc(row->conn) != SQLITE_OK || !row->packed || !row->exact)
        return false;
    if (!row->shape->linked) return true;
    if (!home || !ctr_home_is_known(row->tab) || !ctr_home_holds(row->tab, false)) return false;
    if (ctr_home_any_away(row->tab) && (find_by(row, CTR_TAB_FIND_AWAY, keys, NULL) || row->found))
        return false;
    row->has_home = true;
    row->home = *home;
    return ctr_rc(row->conn) == SQLITE_OK;
}

/* Finds cells of a linked table that are not at home; `is_new`: a row of the tracked table was
 * inserted just now, so numbers do not matter. */
static void find_away(ctr_row *row, sqlite3_value **keys, bool is_new)
{
    int64_t rowid;
    size_t at = 0;
    if (ctr_home_any_away(row->tab)) find_by(row, CTR_TAB_FIND_AWAY, keys, NULL);
    while (!row->found && ctr_home_next_stray(row->tab, keys, &at, &rowid))
        find_by(row, CTR_TAB_FIND_AT, keys, &rowid);
    bool writes = row->tab->file->checked && !row->writing && !row->tab->writing;
    if (row->found) return;
    if (!writes) ctr_file_objects(row->tab->file); /* nobody else looks for another schema */
    if (ctr_home_holds(row->tab, row->has_home && !is_new)) return;
    if (!writes) {
        find_by(row, CTR_TAB_SCAN_KEY, keys, NULL);
        return;
    }
    ctr_home_relink(row->tab);
    if (find_by(row, CTR_TAB_FIND_KEY, keys, NULL) == SQLITE_OK && !row->found)
        find_by(row, CTR_TAB_FIND_AWAY, keys, NULL);
}

int ctr_row_scan_key(ctr_row *row, sqlite3_value **keys)
{
    return row->found || !row->shape->linked ? ctr_rc(row->conn)
                                             : find_by(row, CTR_TAB_SCAN_KEY, keys, NULL);
}

int ctr_row_find_key(ctr_row *row, sqlite3_value **keys)
{
    if (find_known(row, keys) || ctr_rc(row->conn) != SQLITE_OK) return ctr_rc(row->conn);
    ctr_cache *cache = &row->tab->cache;
    bool counts = !row->whole && row->packed && ctr_file_known_id(row->tab->file);
    if (counts && ++cache->missed > CTR_CACHE_MISSED && cache->ahead < INT64_MAX) {
        read_ahead(row);
        if (find_known(row, keys) || ctr_rc(row->conn) != SQLITE_OK) return ctr_rc(row->conn);
    }
    if (find_by(row, CTR_TAB_FIND_KEY, keys, NULL) == SQLITE_OK && !row->found &&
        row->shape->linked)
        find_away(row, keys, false);
    return ctr_rc(row->conn);
}

int ctr_row_find_at(ctr_row *row, sqlite3_value **keys, int64_t home, bool is_new)
{
    if (!ctr_home_is_known(row->tab)) return ctr_row_find_key(row, keys);
    if (find_known(row, keys) || ctr_rc(row->conn) != SQLITE_OK) return ctr_rc(row->conn);
    if (find_by(row, CTR_TAB_FIND_AT, keys, &home) || row->found) return ctr_rc(row->conn);
    if (find_by(row, CTR_TAB_FIND_KEY, keys, NULL) == SQLITE_OK && !row->found)
        find_away(row, keys, is_new);
    return ctr_rc(row->conn);
}

int ctr_row_find_rowid(ctr_row *row, int64_t rowid)
{
    if (refuse_reentry(row)) return ctr_rc(row->conn);
    forget(row);
    bool known = !row->whole && row->tab->known;
    if (known && ctr_journal_refresh(row->tab)) return ctr_rc(row->conn);
    const ctr_known_row *there = !known ? NULL : ctr_cache_row(&row->tab->cache, rowid);
    if (there) {
        take_known(row, there);
        return ctr_rc(row->conn);
    }
    ctr_slot *slot = ctr_tab_take(row->sql, CTR_TAB_FIND_ROWID);
    if (!slot) return ctr_rc(row->conn);
    sqlite3_bind_int64(slot->kept.statement, 1, rowid);
    return find(row, slot);
}

bool ctr_row_is_none_stored(ctr_row *row)
{
    ctr_run run = ctr_tab_run(row->tab);
    sqlite3_stmt *stands = ctr_run_prepare(&run, CTR_SQL_ROWS_ANY);
    bool any = ctr_run_once(&run, stands);
    return !any && ctr_rc(row->conn) == SQLITE_OK;
}

int ctr_row_find_none(ctr_row *row)
{
    if (refuse_reentry(row)) return ctr_rc(row->conn);
    forget(row);
    return ctr_rc(row->conn);
}

int ctr_row_take(ctr_row *row, sqlite3_stmt *stands)
{
    if (refuse_reentry(row)) return ctr_rc(row->conn);
    forget(row);
    take_row(row, stands);
    return ctr_rc(row->conn);
}

/* ---- staging --------------------------------------------------------------------------------- */

uint8_t *ctr_row_room(ctr_row *row, size_t size)
{
    return ctr_pack_room(row->conn, &row->fresh, size);
}

void ctr_row_set(ctr_row *row, int counter, size_t size)
{
    row->staged[counter] =
        (ctr_staged){.kind = CTR_STAGED_CELL, .offset = row->fresh.size, .size = size};
    row->fresh.size += size;
}

void ctr_row_staged_cell(const ctr_row *row, int counter, ctr_cell *cell)
{
    const ctr_staged *staged = &row->staged[counter];
    if (staged->kind == CTR_STAGED_CELL)
        *cell = ctr_cell_written(row->fresh.bytes + staged->offset, staged->size);
}

void ctr_row_empty(ctr_row *row)
{
    for (int i = 0; i < row->shape->n_counters; i++)
        if (ctr_row_state(row, i).touched) ctr_row_set(row, i, 0);
}

/* Notes that a stamp with this number is written into a cell. */
static void batch_learn(ctr_tab *tab, int64_t number)
{
    if (number > tab->file->learned) tab->file->learned = number;
}

int ctr_row_set_stamps(ctr_row *row)
{
    size_t room = ctr_row_cell_room(row->stamps.n);
    uint8_t *out = ctr_row_room(row, room);
    size_t size = out ? ctr_regular_write(row->tab, &row->stamps, out) : 0;
    if (ctr_rc(row->conn) != SQLITE_OK) return ctr_rc(row->conn);
    row->staged_stamps =
        (ctr_staged){.kind = CTR_STAGED_CELL, .offset = row->fresh.size, .size = size};
    row->fresh.size += size;
    batch_learn(row->tab, ctr_row_cell_highest(&row->stamps));
    return ctr_rc(row->conn);
}

bool ctr_row_stamp(ctr_row *row, const bool *mask, int n)
{
    int64_t number = ctr_batch_number(row->tab);
    if (number == 0 || number > CTR_STAMP_LAST) return false;
    row->stamped = mask;
    row->n_stamped = n;
    return true;
}

bool ctr_row_is_staged(const ctr_row *row)
{
    if (row->spelling || row->stamped || ctr_row_sets_stamps(row)) return true;
    for (int i = 0; i < row->shape->n_counters; i++)
        if (row->staged[i].kind != CTR_STAGED_NOTHING) return true;
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

void ctr_row_spell(ctr_row *row, sqlite3_value **keys)
{
    const ctr_shape *shape = row->shape;
    bool may = false;
    for (int i = 0; i < shape->n_keys; i++)
        may = may || (keys[i] && may_read_otherwise(&shape->columns[shape->keys[i]], keys[i]));
    if (!row->found || !may || shape->n_counters == 0) return;
    const ctr_known_row *known = row->packed ? NULL : ctr_cache_row(&row->tab->cache, row->rowid);
    const uint8_t *key = known ? known->key : row->packed ? row->key.bytes : NULL;
    size_t size = known ? known->key_size : row->key.size;
    if (!key || !ctr_pack_has(row->conn, key, size, keys, shape->n_keys)) row->spelling = keys;
}

ctr_summary ctr_row_staged_state(const ctr_row *row, int counter)
{
    const ctr_staged *staged = &row->staged[counter];
    ctr_summary state = ctr_row_state(row, counter);
    if (staged->kind == CTR_STAGED_CELL && staged->size == 0) {
        state = (ctr_summary){.life = 1};
    } else if (staged->kind == CTR_STAGED_CELL) {
        ctr_cell_summarize(&state, NULL, row->fresh.bytes + staged->offset, staged->size);
    } else if (staged->kind == CTR_STAGED_AMOUNT) {
        ctr_sum_add(&state.sum, staged->n);
        state.touched = state.has_shards = true;
    }
    return state;
}

/* Stages a new cell: `base` with a difference in the shard of the leader. */
static ctr_status stage_cell(ctr_row *row, int counter, const ctr_cell *base,
                             const ctr_sum *difference, const ctr_leader *leader)
{
    size_t size;
    uint8_t *out = ctr_row_room(row, base->size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX);
    if (!out) return CTR_OK;
    const ctr_kind *kind = kind_at(row, counter);
    ctr_status status = kind->change(base, leader->id, difference, 1, leader->least, out, &size);
    if (status == CTR_OK) ctr_row_set(row, counter, size);
    return status;
}

/* Stages an amount for an existing row, if the kind adds and the journal can hold it; or else a new
 * cell. */
ctr_status ctr_row_change(ctr_row *row, int counter, const ctr_sum *difference,
                          const ctr_leader *leader)
{
    ctr_staged *staged = &row->staged[counter];
    const ctr_cell *cell = &row->cells[counter];
    if (!row->whole && row->found && !kind_at(row, counter)->adds && load_cells(row)) return CTR_OK;
    if (row->whole || !row->found || !kind_at(row, counter)->adds)
        return stage_cell(row, counter, cell, difference, leader);

    int64_t value;
    const ctr_summary *state = &row->states[counter];
    ctr_sum sum = *difference;
    ctr_sum_add(&sum, state->value);
    if (state->life % 2 == 0) return CTR_DELETED;
    if (state->clock >= CTR_CLOCK_MAX || ctr_sum_value(&sum, &value) != CTR_OK) return CTR_OVERFLOW;
    /* Can the journal hold it? Its amount for a counter has 64 bits. */
    const ctr_amount *amount = ctr_journal_amount(row->tab, row->rowid, counter);
    ctr_sum amounts = *difference;
    if (amount) ctr_sum_add(&amounts, amount->n);
    *staged = (ctr_staged){.kind = CTR_STAGED_AMOUNT};
    if (ctr_sum_value(difference, &staged->n) == CTR_OK &&
        ctr_sum_value(&amounts, &value) == CTR_OK)
        return CTR_OK;
    staged->kind = CTR_STAGED_NOTHING;
    if (load_cells(row)) return CTR_OK;
    return stage_cell(row, counter, cell, difference, leader);
}

ctr_status ctr_row_change_cell(ctr_row *row, int counter, int64_t n, const ctr_leader *opening)
{
    ctr_sum difference = {0, 0};
    ctr_sum_add(&difference, n);
    size_t size = ctr_row_whole_cell(row, counter).size;
    uint8_t *room = ctr_row_room(row, size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX);
    if (!room || ctr_rc(row->conn) != SQLITE_OK) return CTR_OK;
    const ctr_cell cell = ctr_row_whole_cell(row, counter); /* what is staged may have moved */
    return stage_cell(row, counter, &cell, &difference, opening);
}

ctr_cell ctr_row_whole_cell(ctr_row *row, int counter)
{
    ctr_cell cell = ctr_cell_untouched();
    if (row->found && !row->whole) load_cells(row);
    if (row->found || row->whole) cell = row->cells[counter];
    if (row->staged[counter].kind == CTR_STAGED_AMOUNT) {
        ctr_sum n = {0, 0};
        ctr_leader leader = {.least = row->tab->least};
        memcpy(leader.id, row->tab->id, CTR_ID_SIZE);
        ctr_sum_add(&n, row->staged[counter].n);
        stage_cell(row, counter, &cell, &n, &leader);
    }
    ctr_row_staged_cell(row, counter, &cell);
    return cell;
}

ctr_status ctr_row_grant(ctr_row *row, int counter, const uint8_t to[CTR_ID_SIZE], int64_t n,
                         const ctr_leader *leader)
{
    size_t size = ctr_row_whole_cell(row, counter).size;
    uint8_t *out = ctr_row_room(row, size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX + CTR_GRANT_MAX);
    if (!out || ctr_rc(row->conn) != SQLITE_OK) return CTR_OK;
    const ctr_cell cell = ctr_row_whole_cell(row, counter); /* what is staged may have moved */
    ctr_status status = ctr_cell_grant(&cell, leader->id, to, n, leader->least, out, &size);
    if (status == CTR_OK) ctr_row_set(row, counter, size);
    return status;
}

ctr_status ctr_row_next_life(ctr_row *row, int counter, int64_t n, const ctr_leader *leader)
{
    uint8_t empty[CTR_CELL_HEADER_MAX], *out;
    size_t size;
    ctr_sum difference = {0, 0};
    ctr_status status = ctr_kind_begin_life(kind_at(row, counter), ctr_row_state(row, counter).life,
                                            true, empty, &size);
    if (status != CTR_OK) return status;
    const ctr_cell cell = ctr_cell_written(empty, size);
    ctr_sum_add(&difference, n);
    if (leader) return stage_cell(row, counter, &cell, &difference, leader);
    out = ctr_row_room(row, size);
    if (!out) return CTR_OK;
    memcpy(out, empty, size);
    ctr_row_set(row, counter, size);
    return CTR_OK;
}

ctr_status ctr_row_end_counter(ctr_row *row, int counter)
{
    size_t size;
    uint8_t *out = ctr_row_room(row, CTR_CELL_HEADER_MAX);
    if (!out) return CTR_OK;
    ctr_status status = ctr_kind_begin_life(kind_at(row, counter), ctr_row_state(row, counter).life,
                                            false, out, &size);
    if (status == CTR_OK) ctr_row_set(row, counter, size);
    return status;
}

/* ---- joins ----------------------------------------------------------------------------------- */

void ctr_row_open_joins(ctr_row *row)
{
    const ctr_registry *registry = ctr_regular_of(row->tab);
    if (!registry) return;
    size_t n = (size_t)row->shape->n_counters + 1, m = (size_t)registry->n + 1;
    row->join = (ctr_join){.before = sqlite3_malloc64(n * sizeof *row->join.before),
                           .after = sqlite3_malloc64(n * sizeof *row->join.after),
                           .taken = sqlite3_malloc64(m),
                           .apart = sqlite3_malloc64(m)};
    if (!row->join.before || !row->join.after || !row->join.taken || !row->join.apart)
        ctr_problem_nomem(row->conn);
}

void ctr_row_before(ctr_row *row)
{
    ctr_join *join = &row->join;
    for (int i = 0; !join->noted && i < row->shape->n_counters; i++)
        join->before[i] = ctr_row_state(row, i);
    join->noted = true;
}

void ctr_row_after(ctr_row *row)
{
    for (int i = 0; i < row->shape->n_counters; i++)
        row->join.after[i] = ctr_row_staged_state(row, i);
}

void ctr_row_join_counters(ctr_row *row)
{
    ctr_join *join = &row->join;
    const ctr_row_cell *mine = ctr_row_stamps(row);
    if (!mine) return;
    join->was_live = ctr_row_cell_is_live(mine);
    join->begins = join->asks = join->replaces = false;
    memset(join->taken, 0, (size_t)mine->n * sizeof *join->taken);
    ctr_row_before(row);
}

/* The row of the other file replaces mine whole, with its counters. */
static void drop_counters(ctr_row *row)
{
    ctr_row_empty(row);
    for (int i = 0; i < row->shape->n_counters; i++) row->cells[i] = ctr_cell_untouched();
}

/* A column that has a higher generation in the other file has it here, too. */
static void learn_generations(ctr_row *row)
{
    const ctr_row_cell *mine = &row->stamps;
    for (int i = 0; i < mine->n; i++) {
        const ctr_stamp *stamp = row->join.taken[i] ? ctr_row_cell_stamp(mine, i) : NULL;
        int64_t generation = stamp ? ctr_stamp_generation(stamp->number) : 0;
        if (generation > 0) ctr_regular_learn(row->tab, i, generation);
    }
}

ctr_row_outcome ctr_row_join(ctr_row *row, const ctr_row_cell *theirs, const int *map)
{
    ctr_join *join = &row->join;
    ctr_row_cell *mine = ctr_row_stamps(row);
    ctr_row_join_counters(row);
    if (!mine) return CTR_ROW_STAYS;
    const ctr_stamp before = mine->row;
    const uint32_t life = mine->life;
    join->asks = ctr_row_cell_began_apart(mine, theirs, map, join->apart);
    ctr_row_outcome outcome = ctr_row_cell_join(mine, theirs, map, join->taken);
    join->begins = outcome == CTR_ROW_REPLACED && life > 0 && ctr_row_cell_is_live(mine);
    join->replaces = outcome == CTR_ROW_REPLACED;
    if (join->replaces) drop_counters(row);
    bool changed = outcome == CTR_ROW_REPLACED || ctr_row_cell_beats(&mine->row, &before);
    for (int i = 0; i < mine->n; i++) changed = changed || join->taken[i];
    learn_generations(row);
    if (changed) ctr_row_set_stamps(row);
    return ctr_rc(row->conn) == SQLITE_OK ? outcome : CTR_ROW_STAYS;
}

ctr_cell ctr_row_join_cell(ctr_row *row, int counter, const ctr_cell *theirs)
{
    const ctr_cell *mine = &row->cells[counter];
    uint8_t *out = ctr_row_room(row, mine->size + theirs->size);
    return out ? ctr_cell_written(out, ctr_cell_merge(mine, theirs, out)) : *mine;
}

bool ctr_row_set_joined(ctr_row *row, int counter, const ctr_cell *joined)
{
    const ctr_cell *mine = &row->cells[counter];
    if (ctr_cell_same(joined, mine)) return false;
    ctr_stats *stats = &row->tab->file->conn->stats;
    stats->cells_changed++;
    const ctr_trimmed trimmed = ctr_cell_trim(joined, mine);
    stats->shards_written += (int64_t)ctr_cell_changed_shards(&trimmed.a, &trimmed.b);
    ctr_row_set(row, counter, joined->size);
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int bind_spelling(const ctr_row *row, sqlite3_stmt *statement)
{
    const ctr_shape *shape = row->shape;
    int rc = SQLITE_OK, first = CTR_UPDATE_COUNTERS + ctr_shape_states(shape);
    for (int i = 0; i < shape->n_keys && rc == SQLITE_OK; i++)
        if (row->spelling[i])
            rc = ctr_pack_bind_stored(row->conn, statement, first + i,
                                      &shape->columns[shape->keys[i]], row->spelling[i]);
    return rc;
}

/* Looks at a statement that was just prepared, or prepared again. A new cell replaces the one that
 * was read, so no cell may be hidden. */
static void check_write(ctr_row *row, ctr_slot *slot)
{
    ctr_batch_refuse_triggers_anew(row->tab);
    if (row->found && ctr_rc(row->conn) == SQLITE_OK)
        ctr_refuse_ignored_columns(row->tab, row->shape);
    slot->checked = ctr_rc(row->conn) == SQLITE_OK;
}

/* Looks again if SQLite has prepared the statement again, as for another authorizer or a new
 * trigger. Then the row is written already. */
static void write_row(ctr_row *row, ctr_slot *slot, bool may_be_there)
{
    ctr_conn *conn = row->tab->file->conn;
    unsigned nth = conn->ended;
    ctr_run run = ctr_tab_run(row->tab);
    if (!slot->checked) check_write(row, slot);
    if (ctr_rc(row->conn) != SQLITE_OK) return;
    ctr_spill_check(row->tab->file);
    if (may_be_there)
        ctr_problem_sqlite(run.conn, ctr_run_to_end(slot->kept.statement));
    else
        ctr_run_write(&run, slot->kept.statement);
    bool again = sqlite3_stmt_status(slot->kept.statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    if (!again || ctr_rc(row->conn) != SQLITE_OK) return;
    ctr_home_forget(row->tab);
    check_write(row, slot);
    if (ctr_rc(row->conn) != SQLITE_OK) ctr_conn_spoil(conn, nth);
}

/* Where a new row of a linked table is written. */
typedef struct new_place {
    int64_t rowid;
    bool away, stray;
} new_place;

/* Writes new cells; `place` of a new row of a linked table, or NULL. */
static int write_cells(ctr_row *row, ctr_tab_sql which, sqlite3_value **keys,
                       const new_place *place)
{
    const ctr_shape *shape = row->shape;
    ctr_slot *slot = ctr_tab_take(row->sql, which);
    if (!slot) return ctr_rc(row->conn);
    sqlite3_stmt *statement = slot->kept.statement;
    int rc = SQLITE_OK, first = CTR_UPDATE_COUNTERS;
    if (row->found) {
        sqlite3_bind_int64(statement, CTR_UPDATE_ROWID, row->rowid);
    } else {
        rc = ctr_pack_bind_keys(row->conn, statement, CTR_INSERT_KEYS, shape, keys);
        first = CTR_INSERT_KEYS + shape->n_keys;
    }
    int n = which == CTR_TAB_SET_ROW ? 0 : shape->n_counters;
    if (shape->replicated && ctr_row_sets_stamps(row))
        rc = sqlite3_bind_blob64(statement, first + n, row->fresh.bytes + row->staged_stamps.offset,
                                 row->staged_stamps.size, SQLITE_STATIC);
    for (int i = 0; i < n && rc == SQLITE_OK; i++) {
        const ctr_staged *cell = &row->staged[i];
        if (cell->kind != CTR_STAGED_CELL)
            rc = sqlite3_bind_null(statement, first + i);
        else
            rc = sqlite3_bind_blob64(statement, first + i, row->fresh.bytes + cell->offset,
                                     cell->size, SQLITE_STATIC);
    }
    if (row->spelling && rc == SQLITE_OK) rc = bind_spelling(row, statement);
    if (place) sqlite3_bind_int64(statement, ctr_row_id_parameter(shape), place->rowid);
    if (place && place->away) sqlite3_bind_int(statement, ctr_row_id_parameter(shape) + 1, 1);
    ctr_problem_sqlite(row->conn, rc);
    write_row(row, slot, which == CTR_TAB_INSERT_NEW);
    ctr_tab_give_back(row->sql, slot);
    return ctr_rc(row->conn);
}

/* ---- what has changed ------------------------------------------------------------------------ */

enum {
    PARTS_MOST = 255 /* writers in one change; if there are more, it is one of the whole row */
};

static void note_change(ctr_row *row, ctr_origin origin, int part)
{
    ctr_batch_note(row->tab, &(ctr_entry){.row = row->rowid,
                                          .kind = CTR_ENTRY_CHANGED,
                                          .origin = origin,
                                          .part = part,
                                          .fed = origin == CTR_FED ? row->fed : NULL});
}

/* Notes that a part of a change that came from elsewhere was made here. */
static void note_own_part(ctr_row *row)
{
    if (row->also_here && row->origin != CTR_MADE_HERE)
        note_change(row, CTR_MADE_HERE, CTR_PART_WHOLE);
}

static void add_part(ctr_row *row, int counter, int part)
{
    ctr_changed_cell *parts =
        ctr_array_room(row->conn, row->parts, &row->room_parts, row->n_parts + 1, sizeof *parts);
    if (!parts) return;
    row->parts = parts;
    parts[row->n_parts++] = (ctr_changed_cell){counter, part};
}

/* Lists the writers whose shards differ in two cells of one life; returns false if there are too
 * many. */
static bool list_writers(ctr_row *row, int counter, const ctr_cell *mine, const ctr_cell *joined)
{
    const ctr_trimmed trimmed = ctr_cell_trim(joined, mine);
    ctr_shard now, was;
    size_t at = 0, was_at = 0, first = row->n_parts;
    bool more = ctr_cell_next(&trimmed.b, &was_at, &was);
    while (ctr_rc(row->conn) == SQLITE_OK && ctr_cell_next(&trimmed.a, &at, &now)) {
        while (more && memcmp(was.id, now.id, CTR_ID_SIZE) < 0)
            more = ctr_cell_next(&trimmed.b, &was_at, &was);
        bool is_here = more && memcmp(was.id, now.id, CTR_ID_SIZE) == 0;
        if (is_here && was.clock == now.clock && was.value == now.value) continue;
        if (row->n_parts - first == PARTS_MOST) return false;
        add_part(row, counter, ctr_entries_part_of(now.id));
    }
    return true;
}

/* Lists what a merge changes in the counters of a row that was found: all of it, if a life rises or
 * a counter gets its first shards. */
static void list_parts(ctr_row *row)
{
    row->n_parts = 0;
    for (int i = 0; i < row->shape->n_counters && row->origin != CTR_MADE_HERE; i++) {
        const ctr_cell *mine = &row->cells[i];
        ctr_cell joined = ctr_cell_untouched();
        if (row->staged[i].kind != CTR_STAGED_CELL) continue;
        if (row->staged[i].size > 0) ctr_row_staged_cell(row, i, &joined);
        size_t first = row->n_parts;
        bool by_writer = row->whole && !row->join.replaces && !ctr_cell_is_untouched(mine) &&
                         joined.life == mine->life;
        if (by_writer && list_writers(row, i, mine, &joined) && row->n_parts > first) continue;
        row->n_parts = first;
        add_part(row, i, CTR_PART_WHOLE);
    }
}

/* Notes that the cell of a counter was written. */
static void note_cell(ctr_row *row, int counter)
{
    ctr_entry entry = {.row = row->rowid,
                       .kind = CTR_ENTRY_WRITTEN,
                       .origin = row->origin,
                       .counter = counter,
                       .fed = row->origin == CTR_FED ? row->fed : NULL};
    if (row->origin == CTR_MADE_HERE) ctr_batch_note(row->tab, &entry);
    for (size_t i = 0; i < row->n_parts; i++) {
        if (row->parts[i].counter != counter) continue;
        entry.part = row->parts[i].part;
        ctr_batch_note(row->tab, &entry);
    }
}

/* Adds a new row to the cache. */
static void know_new_row(ctr_row *row)
{
    if (!row->packed) return;
    for (int i = 0; i < row->shape->n_counters; i++) {
        const ctr_staged *staged = &row->staged[i];
        row->states[i] = (ctr_summary){.life = 1};
        if (staged->kind != CTR_STAGED_CELL) continue;
        const uint8_t *bytes = row->fresh.bytes + staged->offset;
        ctr_cell_summarize(&row->states[i], row->tab->id, bytes, staged->size);
        if (staged->size > 0) take_beside(row, i, bytes, staged->size, &row->states[i]);
    }
    ctr_known_row *known = ctr_cache_add(&row->tab->cache, row->rowid, row->hash, row->key.bytes,
                                         row->key.size, row->states);
    if (known) known->live = ctr_row_sets_stamps(row) && ctr_row_cell_is_live(&row->stamps);
}

/* The stamps that the journal had are in the row cell now. */
static void note_row_cell(ctr_row *row)
{
    ctr_known_row *known = ctr_cache_row(&row->tab->cache, row->rowid);
    if (known) known->live = ctr_row_cell_is_live(&row->stamps);
    ctr_batch_note(
        row->tab,
        &(ctr_entry){.row = row->rowid, .kind = CTR_ENTRY_ROW_WRITTEN, .origin = CTR_MADE_HERE});
}

static void write_found(ctr_row *row)
{
    int n = row->shape->n_counters, n_cells = 0;
    for (int i = 0; i < n; i++) n_cells += row->staged[i].kind == CTR_STAGED_CELL;
    bool stamps = ctr_row_sets_stamps(row);
    bool writes = n_cells > 0 || row->spelling || stamps;
    ctr_tab_sql which = row->spelling            ? CTR_TAB_SPELL
                        : stamps && n_cells == 0 ? CTR_TAB_SET_ROW
                                                 : CTR_TAB_UPDATE;
    if (ctr_rc(row->conn) != SQLITE_OK || (writes && write_cells(row, which, NULL, NULL))) return;
    if (row->spelling) { /* so that caches forget the row, those of other connections, too */
        note_change(row, CTR_MADE_HERE, CTR_PART_WHOLE);
        ctr_cache_forget(&row->tab->cache, row->rowid);
    }
    if (stamps && row->origin != CTR_MADE_HERE)
        note_change(row, row->origin, row->join.replaces ? CTR_PART_WHOLE : CTR_PART_COLUMNS);
    else if (stamps && n_cells == 0)
        note_change(row, CTR_MADE_HERE, CTR_PART_WHOLE);
    if (stamps) note_row_cell(row);
    if (row->stamped) ctr_batch_stamp(row->tab, row->rowid, row->stamped, row->n_stamped);
    for (int i = 0; i < n; i++) {
        const ctr_staged *staged = &row->staged[i];
        if (staged->kind == CTR_STAGED_AMOUNT)
            ctr_batch_add(row->tab, row->rowid, i, staged->n);
        else if (staged->kind == CTR_STAGED_CELL)
            note_cell(row, i);
    }
    note_own_part(row);
}

int ctr_row_note(ctr_row *row)
{
    int n = row->shape->n_counters;
    list_parts(row);
    if (ctr_file_before_write(row->tab->file) ||
        ctr_batch_expect(row->tab, n + 1 + (int)row->n_parts))
        return ctr_rc(row->conn);
    for (int i = 0; i < n; i++)
        if (row->staged[i].kind == CTR_STAGED_CELL) note_cell(row, i);
    note_own_part(row);
    return ctr_rc(row->conn);
}

int ctr_row_refuse_writing(ctr_conn *conn)
{
    return ctr_problem_set(conn, SQLITE_ERROR,
                           "a row of the table is being written: the collation of its key must not "
                           "change the table");
}

/* Returns whether a column of INTEGER affinity would store an integer. */
static bool is_stored_whole(ctr_conn *conn, sqlite3_value *key)
{
    const ctr_number number = ctr_arg_number(conn, key);
    ctr_key_value value = {.type = CTR_KEY_REAL, .real = number.real};
    if (number.type == SQLITE_FLOAT) ctr_key_unify(&value);
    return number.type == SQLITE_INTEGER ||
           (number.type == SQLITE_FLOAT && value.type == CTR_KEY_INTEGER);
}

/* A file whose table has another PRIMARY KEY may have other keys. */
static void refuse_odd_key(ctr_row *row, sqlite3_value **keys)
{
    char *key = ctr_problem_describe_key(keys, 1);
    if (!key) ctr_problem_nomem(row->conn);
    ctr_problem_set(row->conn, SQLITE_MISMATCH,
                    "row %s: the key is an INTEGER PRIMARY KEY here, which takes whole numbers "
                    "alone",
                    key ? key : "");
    sqlite3_free(key);
}

/* Returns whether the new row is to live in the tracked table. */
static bool is_to_live(ctr_row *row)
{
    if (row->shape->replicated) return row->has_stamps && ctr_row_cell_is_live(&row->stamps);
    for (int i = 0; i < row->shape->n_counters; i++) {
        ctr_summary state = ctr_row_staged_state(row, i);
        if (ctr_summary_is_live(&state)) return true;
    }
    return false;
}

/* Marks the cells at a row id, if there are any at home; the row is being written. */
static void leave_at(ctr_row *row, int64_t rowid)
{
    ctr_slot *slot = ctr_tab_take(row->tab, CTR_TAB_LEAVE);
    if (!slot) return;
    sqlite3_bind_int64(slot->kept.statement, 1, rowid);
    sqlite3_bind_int64(slot->kept.statement, 2, rowid);
    ctr_home_note_away(row->tab);
    write_row(row, slot, true);
    ctr_tab_give_back(row->tab, slot);
    if (ctr_home_occupied(row->tab, rowid) != CTR_OCCUPIED_AWAY)
        ctr_refuse_hidden(row->conn, row->tab->table);
}

/* Returns whether the home of a new row is taken by cells that are away; then it is away, too. */
static bool is_displaced(ctr_row *row, new_place *place)
{
    ctr_tab *tab = row->tab;
    tab->displaces = row->shape->linked && ctr_home_occupied(tab, row->home) == CTR_OCCUPIED_AWAY;
    if (!tab->displaces) return false;
    *place = (new_place){.rowid = ctr_home_free(tab, false), .away = true};
    ctr_home_note_away(tab);
    return ctr_rc(row->conn) == SQLITE_OK;
}

/* A new row is at home if its row is in the tracked table and the row id is free. One that is to be
 * shown there gets a row id that is free in both, its home. Returns false if it cannot be
 * written unless it is looked for. */
static bool take_place(ctr_row *row, ctr_tab_sql which, new_place *place)
{
    if (which == CTR_TAB_INSERT_NEW) {
        place->rowid = row->home;
        if (row->has_home && row->tab->displaces) is_displaced(row, place); /* as the last one */
        return row->has_home && ctr_rc(row->conn) == SQLITE_OK;
    }
    place->rowid = row->home;
    ctr_occupied is = row->has_home ? ctr_home_occupied(row->tab, row->home) : CTR_OCCUPIED_AWAY;
    if (is == CTR_OCCUPIED_HOME)
        leave_at(row, row->home); /* its row is gone, and nobody has told */
    place->away = is != CTR_OCCUPIED_NOT;
    if (!place->away) return ctr_rc(row->conn) == SQLITE_OK;
    bool to_show = row->arrives && !row->has_home && is_to_live(row);
    place->rowid = ctr_home_free(row->tab, to_show);
    place->stray = to_show && row->tab->strays.taken && place->rowid > 0;
    place->away = !place->stray;
    return ctr_rc(row->conn) == SQLITE_OK;
}

/* Returns whether the row was inserted. */
static bool insert_cells(ctr_row *row, ctr_tab_sql which, sqlite3_value **keys)
{
    int before = sqlite3_total_changes(row->conn->db);
    bool fits = !row->shape->keyed || sqlite3_value_type(keys[0]) == SQLITE_INTEGER ||
                is_stored_whole(row->conn, keys[0]);
    new_place place = {.away = false};
    if (!fits) refuse_odd_key(row, keys);
    if (ctr_pack_refuse_large(row->conn, keys, row->shape->n_keys)) return false;
    if (row->shape->linked && !take_place(row, which, &place)) return false;
    if (place.away) ctr_home_note_away(row->tab);
    if (write_cells(row, which, keys, row->shape->linked ? &place : NULL)) return false;
    if (sqlite3_total_changes(row->conn->db) == before &&
        !(which == CTR_TAB_INSERT_NEW && is_displaced(row, &place) &&
          write_cells(row, CTR_TAB_INSERT, keys, &place) == SQLITE_OK))
        return false;
    if (place.stray) ctr_home_add_stray(row->tab, place.rowid, keys);
    if (which == CTR_TAB_INSERT_NEW && row->shape->linked && !ctr_home_holds(row->tab, false)) {
        ctr_home_remove(row->tab, place.rowid); /* the schema has changed: it may not be new */
        return false;
    }
    row->rowid = sqlite3_last_insert_rowid(row->conn->db);
    note_change(row, row->origin, CTR_PART_WHOLE);
    note_own_part(row);
    /* The triggers that show the row at once look for it in the cache. */
    if (row->shows && row->tab->known) pack_key(row, keys);
    if (!row->whole || row->shows) know_new_row(row);
    return true;
}

/* A trigger on the tables of the file must not use this row. */
static bool begin_writing(ctr_row *row)
{
    ctr_tab *tab = row->tab;
    if (tab->writing) {
        ctr_row_refuse_writing(row->conn);
        return false;
    }
    row->writing = tab->writing = true;
    bool ready = ctr_tab_is_ready(tab) && tab->file->renewed;
    if (!ready && ctr_file_before_write(tab->file) == SQLITE_OK) ctr_journal_refresh(tab);
    row->n_parts = 0;
    if (row->found && row->origin != CTR_MADE_HERE) list_parts(row);
    int n = row->shape->n_counters + 4 + (row->stamped ? row->n_stamped : 0) + (int)row->n_parts;
    if (ctr_rc(row->conn) == SQLITE_OK) ctr_batch_expect(tab, n);
    if (row->stamped) ctr_batch_number(tab);
    if (ctr_rc(row->conn) != SQLITE_OK) row->writing = tab->writing = false;
    return ctr_rc(row->conn) == SQLITE_OK;
}

int ctr_row_write(ctr_row *row, sqlite3_value **keys)
{
    if (!begin_writing(row)) return ctr_rc(row->conn);
    if (row->found)
        write_found(row);
    else
        insert_cells(row, CTR_TAB_INSERT, keys);
    row->writing = row->tab->writing = false;
    return ctr_rc(row->conn);
}

bool ctr_row_write_new(ctr_row *row, sqlite3_value **keys)
{
    if (!begin_writing(row)) return false;
    bool inserted = insert_cells(row, CTR_TAB_INSERT_NEW, keys);
    row->writing = row->tab->writing = false;
    return inserted;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* An authorizer may ignore the column: then the row is not where it is said to be. */
static void check_place(ctr_row *row, ctr_slot *slot, int64_t rowid, bool leaves)
{
    bool is_home = ctr_home_occupied(row->tab, rowid) == CTR_OCCUPIED_HOME;
    if (is_home == leaves) ctr_refuse_hidden(row->conn, row->tab->table);
    slot->checked = ctr_rc(row->conn) == SQLITE_OK;
}

/* Marks the row with the row id as away, or as at home. */
static void write_place(ctr_row *row, ctr_tab_sql which, int64_t rowid)
{
    if (!begin_writing(row)) return;
    ctr_slot *slot = ctr_tab_take(row->tab, which);
    bool checked = slot && slot->checked, again = false;
    unsigned nth = row->conn->ended;
    sqlite3_stmt *statement = slot ? slot->kept.statement : NULL;
    if (slot && !checked) ctr_batch_refuse_triggers_anew(row->tab);
    if (slot) sqlite3_bind_int64(statement, 1, rowid);
    if (slot && ctr_rc(row->conn) == SQLITE_OK) {
        ctr_spill_check(row->tab->file);
        ctr_problem_sqlite(row->conn, ctr_run_to_end(statement));
        again = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
        sqlite3_reset(statement);
    }
    if (again) ctr_home_forget(row->tab);
    if (again) ctr_batch_refuse_triggers_anew(row->tab);
    if (slot && (!checked || again) && ctr_rc(row->conn) == SQLITE_OK)
        check_place(row, slot, rowid, which == CTR_TAB_LEAVE);
    if (again && ctr_rc(row->conn) != SQLITE_OK) ctr_conn_spoil(row->conn, nth);
    ctr_tab_give_back(row->tab, slot);
    row->writing = row->tab->writing = false;
}

void ctr_row_leave(ctr_row *row)
{
    if (!row->shape->linked || !row->found) return;
    ctr_home_note_away(row->tab);
    write_place(row, CTR_TAB_LEAVE, row->rowid);
}

void ctr_row_come_home(ctr_row *row, int64_t home, bool sure)
{
    if (!row->shape->linked || !row->found || !ctr_home_is_known(row->tab)) return;
    if (home != row->rowid || !sure) {
        ctr_home_note_away(row->tab);
        write_place(row, CTR_TAB_LEAVE, row->rowid);
        if (home != row->rowid) write_place(row, CTR_TAB_LEAVE, home);
    } else if (ctr_home_any_away(row->tab)) {
        write_place(row, CTR_TAB_COME_HOME, home);
    }
}
