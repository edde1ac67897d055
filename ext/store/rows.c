/* store/rows.c - the one place that reads and writes stored rows. */
#include "store/rows.h"

#include <string.h>

#include "store/deferred.h"
#include "store/describe.h"
#include "store/stream.h"
#include "store/text.h"
#include "store/watch.h"
#include "store/wording.h"

/* ---- statements, each prepared at its first use ---------------------------------------------- */

/* `keep` is where the statement stays. The lists are taken over and freed. */
static sqlite3_stmt *prepare(ctr_rows *rows, sqlite3_stmt **keep, ctr_sql which, char *columns,
                             char *constraint, ctr_problem *problem)
{
    if (!columns || !constraint) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(rows->db, rows->schema, rows->table, problem);
    run.slots.columns = run.slots.changes = run.slots.keys = columns;
    run.slots.constraint = run.slots.values = constraint;
    *keep = ctr_run_prepare(&run, which);
    sqlite3_free(columns);
    sqlite3_free(constraint);
    return *keep;
}

bool ctr_rows_have_triggers(ctr_rows *rows, ctr_problem *problem)
{
    if (rows->looked) return rows->has_triggers;
    char *stored = sqlite3_mprintf("%s_cells", rows->table);
    if (!stored) ctr_problem_nomem(problem);
    char *trigger = ctr_shape_trigger(rows->db, rows->schema, stored, problem);
    rows->has_triggers = trigger != NULL;
    rows->looked = problem->rc == SQLITE_OK;
    sqlite3_free(stored);
    sqlite3_free(trigger);
    return rows->has_triggers;
}

/* From its first run on a find tells when the schema has changed; see find(). */
static sqlite3_stmt *find_key_statement(ctr_rows *rows, ctr_problem *problem)
{
    if (rows->find_key) return rows->find_key;
    rows->looked = false;
    return prepare(rows, &rows->find_key, CTR_SQL_ROWS_FIND_KEY,
                   ctr_wording_found_counters(rows->shape), ctr_wording_key_match(rows->shape),
                   problem);
}

static sqlite3_stmt *find_rowid_statement(ctr_rows *rows, ctr_problem *problem)
{
    if (rows->find_rowid) return rows->find_rowid;
    rows->looked = false;
    return prepare(rows, &rows->find_rowid, CTR_SQL_ROWS_FIND_ROWID,
                   ctr_wording_found_counters(rows->shape), sqlite3_mprintf(""), problem);
}

/* A write of the stored table; whoever prepares one looks whether triggers will run with it. */
static sqlite3_stmt *write_statement(ctr_rows *rows, bool stamps, ctr_problem *problem)
{
    sqlite3_stmt **keep = !rows->found ? &rows->insert
                          : stamps     ? &rows->update_stamp
                                       : &rows->update;
    if (*keep) return *keep;
    rows->looked = false;
    ctr_rows_have_triggers(rows, problem);
    if (rows->found)
        return prepare(rows, keep, stamps ? CTR_SQL_ROWS_UPDATE_STAMP : CTR_SQL_ROWS_UPDATE,
                       ctr_wording_update_changes(rows->shape), sqlite3_mprintf(""), problem);
    return prepare(rows, keep, CTR_SQL_ROWS_INSERT, ctr_wording_insert_columns(rows->shape),
                   ctr_wording_insert_values(rows->shape), problem);
}

static void release_writes(ctr_rows *rows)
{
    sqlite3_finalize(rows->insert);
    sqlite3_finalize(rows->update);
    sqlite3_finalize(rows->update_stamp);
    rows->insert = rows->update = rows->update_stamp = NULL;
}

void ctr_rows_release(ctr_rows *rows)
{
    sqlite3_finalize(rows->find_key);
    sqlite3_finalize(rows->find_rowid);
    rows->find_key = rows->find_rowid = NULL;
    release_writes(rows);
}

int ctr_rows_open(ctr_rows *rows, sqlite3 *db, const char *schema, const char *table,
                  const ctr_shape *shape, ctr_post *post, ctr_problem *problem)
{
    size_t n = (size_t)shape->n_counters + 1;
    *rows = (ctr_rows){.db = db,
                       .schema = sqlite3_mprintf("%s", schema),
                       .table = sqlite3_mprintf("%s", table),
                       .shape = shape,
                       .post = post,
                       .cells = sqlite3_malloc64(n * sizeof *rows->cells),
                       .changes = sqlite3_malloc64(n * sizeof *rows->changes),
                       .buffer.n_counters = shape->n_counters};
    if (post) rows->news = ctr_news_of(post, table);
    bool made = rows->schema && rows->table && rows->cells && rows->changes;
    return made && (rows->news || !post) ? problem->rc : ctr_problem_nomem(problem);
}

void ctr_rows_close(ctr_rows *rows)
{
    ctr_rows_release(rows);
    sqlite3_free(rows->schema);
    sqlite3_free(rows->table);
    sqlite3_free(rows->cells);
    sqlite3_free(rows->changes);
    sqlite3_free(rows->old.bytes);
    sqlite3_free(rows->fresh.bytes);
    ctr_deferred_close(rows);
    *rows = (ctr_rows){0};
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static int reserve(struct ctr_bytes *room, size_t size, ctr_problem *problem)
{
    size_t needed = room->size + size;
    if (needed <= room->capacity) return SQLITE_OK;
    uint8_t *bytes = sqlite3_realloc64(room->bytes, needed * 2);
    if (!bytes) return ctr_problem_nomem(problem);
    room->bytes = bytes;
    room->capacity = needed * 2;
    return SQLITE_OK;
}

uint8_t *ctr_rows_room(ctr_rows *rows, size_t size, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || reserve(&rows->fresh, size, problem)) return NULL;
    return rows->fresh.bytes + rows->fresh.size;
}

void ctr_rows_set(ctr_rows *rows, int counter, size_t size)
{
    rows->changes[counter] = (struct ctr_new_cell){true, rows->fresh.size, size};
    rows->fresh.size += size;
}

void ctr_rows_staged(const ctr_rows *rows, int counter, ctr_cell *cell)
{
    const struct ctr_new_cell *fresh = &rows->changes[counter];
    if (!fresh->set) return;
    *cell = ctr_cell_written(rows->fresh.bytes + fresh->offset, fresh->size);
}

bool ctr_rows_changed(const ctr_rows *rows)
{
    for (int i = 0; i < rows->shape->n_counters; i++)
        if (rows->changes[i].set) return true;
    return false;
}

/* ---- finding --------------------------------------------------------------------------------- */

static int bind_keys(ctr_rows *rows, sqlite3_stmt *statement, int first, sqlite3_value **keys)
{
    int rc = SQLITE_OK;
    for (int i = 0; i < rows->shape->n_keys && rc == SQLITE_OK; i++)
        rc = ctr_pack_bind_stored(statement, first + i, &rows->shape->columns[rows->shape->keys[i]],
                                  keys[i]);
    return rc;
}

static char *describe_row(sqlite3_stmt *row, int n_keys)
{
    sqlite3_value **keys = sqlite3_malloc64(((size_t)n_keys + 1) * sizeof *keys);
    if (!keys) return NULL;
    for (int i = 0; i < n_keys; i++) keys[i] = sqlite3_column_value(row, i);
    char *text = ctr_describe_key(keys, n_keys);
    sqlite3_free(keys);
    return text;
}

static sqlite3_stmt *key_statement(ctr_rows *rows, int64_t rowid, ctr_problem *problem)
{
    sqlite3_stmt *row = NULL;
    prepare(rows, &row, CTR_SQL_ROWS_KEY, ctr_shape_key_list(rows->shape), sqlite3_mprintf(""),
            problem);
    if (row) sqlite3_bind_int64(row, 1, rowid);
    return row;
}

bool ctr_rows_take_key(ctr_rows *rows, int64_t rowid, sqlite3_value **keys, ctr_problem *problem)
{
    for (int i = 0; i < rows->shape->n_keys; i++) keys[i] = NULL;
    ctr_run run = ctr_run_on(rows->db, rows->schema, rows->table, problem);
    sqlite3_stmt *row = key_statement(rows, rowid, problem);
    bool there = ctr_run_row(&run, row);
    for (int i = 0; there && i < rows->shape->n_keys; i++) {
        keys[i] = sqlite3_value_dup(sqlite3_column_value(row, i));
        if (!keys[i]) ctr_problem_nomem(problem);
    }
    sqlite3_finalize(row);
    return there && problem->rc == SQLITE_OK;
}

/* A row that cannot be read is shown without values. */
char *ctr_rows_key_text(ctr_rows *rows, int64_t rowid, ctr_problem *problem)
{
    ctr_problem trouble = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(rows->db, rows->schema, rows->table, &trouble);
    sqlite3_stmt *row = key_statement(rows, rowid, &trouble);
    int n = ctr_run_row(&run, row) ? rows->shape->n_keys : 0;
    char *text = ctr_problem_rolls_back(trouble.rc) ? NULL : describe_row(row, n);
    sqlite3_finalize(row);
    if (!text) {
        ctr_problem_close(problem);
        ctr_problem_nomem(&trouble);
        *problem = trouble;
    } else {
        ctr_problem_close(&trouble);
    }
    return text;
}

void ctr_rows_problem_at(ctr_rows *rows, int64_t rowid, int counter, ctr_problem *problem)
{
    char *key = ctr_rows_key_text(rows, rowid, problem);
    if (key)
        ctr_problem_where(problem, "column %s of %s", ctr_shape_counter_name(rows->shape, counter),
                          key);
    sqlite3_free(key);
}

static int malformed(ctr_rows *rows, int64_t rowid, int counter, ctr_status status,
                     ctr_problem *problem)
{
    ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "the cell %s", ctr_status_text(status));
    ctr_rows_problem_at(rows, rowid, counter, problem);
    return problem->rc;
}

int ctr_rows_open_cell(ctr_rows *rows, sqlite3_stmt *row, int i, int64_t rowid, int counter,
                       ctr_cell *cell, ctr_problem *problem)
{
    *cell = ctr_cell_untouched();
    sqlite3_value *value = sqlite3_column_value(row, i); /* asked at once: each asking locks */
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL) return problem->rc;
    ctr_status status = CTR_NOT_A_CELL;
    const uint8_t *bytes = type == SQLITE_BLOB ? sqlite3_value_blob(value) : NULL;
    size_t size = (size_t)sqlite3_value_bytes(value);
    if (!bytes && type == SQLITE_BLOB && sqlite3_errcode(sqlite3_db_handle(row)) == SQLITE_NOMEM)
        return ctr_problem_nomem(problem);
    if (type == SQLITE_BLOB) status = ctr_cell_open(cell, bytes, size);
    if (status == CTR_OK) return problem->rc;
    if (rowid == CTR_ROWS_ID_IN_ROW) rowid = sqlite3_column_int64(row, 0);
    return malformed(rows, rowid, counter, status, problem);
}

/* Keeps copies of the cells, so that no read is open when the row is written. The cell of a counter
 * stands `first` columns behind its place, or its number if there are no places. */
static void take_cells(ctr_rows *rows, sqlite3_stmt *row, int first, const int *places,
                       ctr_problem *problem)
{
    const ctr_shape *shape = rows->shape;
    size_t total = 0;
    for (int i = 0; i < shape->n_counters; i++)
        total += (size_t)sqlite3_column_bytes(row, first + (places ? places[i] : i));
    if (reserve(&rows->old, total, problem)) return;

    for (int i = 0; i < shape->n_counters; i++) {
        ctr_cell *cell = &rows->cells[i];
        int column = first + (places ? places[i] : i);
        if (ctr_rows_open_cell(rows, row, column, rows->rowid, i, cell, problem)) return;
        if (ctr_cell_is_untouched(cell)) continue;
        uint8_t *copy = rows->old.bytes + rows->old.size;
        memcpy(copy, cell->bytes, cell->size);
        cell->bytes = copy;
        rows->old.size += cell->size;
    }
}

static void take_row(ctr_rows *rows, sqlite3_stmt *row, ctr_problem *problem)
{
    rows->found = true;
    rows->rowid = sqlite3_column_int64(row, CTR_FIND_ROWID);
    rows->number = sqlite3_column_int64(row, CTR_FIND_NUMBER);
    take_cells(rows, row, CTR_FIND_COUNTERS, NULL, problem);
}

static int refuse_reentry(const ctr_rows *rows, ctr_problem *problem)
{
    if (!rows->writing) return problem->rc;
    return ctr_problem_set(problem, SQLITE_ERROR,
                           "a trigger on the stored table %s_cells writes to the table itself",
                           rows->table);
}

static void forget(ctr_rows *rows)
{
    rows->finds++;
    rows->found = rows->spelled = false;
    rows->entry = NULL;
    rows->number = 0;
    rows->old.size = rows->fresh.size = 0;
    for (int i = 0; i < rows->shape->n_counters; i++) {
        rows->cells[i] = ctr_cell_untouched();
        rows->changes[i].set = false;
    }
}

void ctr_rows_stand_at(ctr_rows *rows, int64_t rowid, int64_t number)
{
    forget(rows);
    rows->found = true;
    rows->rowid = rowid;
    rows->number = number;
}

/* A statement that SQLite has to prepare again tells that the schema has changed. */
bool ctr_rows_have_triggers_now(ctr_rows *rows, ctr_problem *problem)
{
    sqlite3_stmt *statement = find_rowid_statement(rows, problem);
    if (!statement) return false;
    sqlite3_bind_null(statement, 1);
    ctr_run run = ctr_run_on(rows->db, rows->schema, rows->table, problem);
    ctr_run_row(&run, statement);
    sqlite3_reset(statement);
    if (sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0) rows->looked = false;
    return ctr_rows_have_triggers(rows, problem);
}

/* A row that is kept is as it will be, not as it is stored. */
static int take_kept(ctr_rows *rows, ctr_entry *entry)
{
    ctr_rows_stand_at(rows, entry->rowid, entry->number);
    for (int i = 0; i < rows->shape->n_counters; i++) rows->cells[i] = entry->cells[i].cell;
    rows->entry = entry;
    return SQLITE_OK;
}

static int find(ctr_rows *rows, sqlite3_stmt *statement, ctr_problem *problem)
{
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW)
        take_row(rows, statement, problem);
    else
        ctr_problem_sqlite(problem, rows->db, rc);
    sqlite3_reset(statement);
    if (sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0) rows->looked = false;
    ctr_entry *kept = rows->found ? ctr_buffer_row(&rows->buffer, rows->rowid) : NULL;
    return kept && problem->rc == SQLITE_OK ? take_kept(rows, kept) : problem->rc;
}

int ctr_rows_find_key(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    if (refuse_reentry(rows, problem)) return problem->rc;
    ctr_entry *kept = rows->defers ? ctr_deferred_key(rows, keys, problem) : NULL;
    forget(rows); /* now, for writing what is kept stands at other rows */
    rows->spelled = rows->defers;
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (kept) return take_kept(rows, kept);
    sqlite3_stmt *statement = find_key_statement(rows, problem);
    if (!statement) return problem->rc;
    if (ctr_problem_sqlite(problem, rows->db, bind_keys(rows, statement, 1, keys)))
        return problem->rc;
    return find(rows, statement, problem);
}

int ctr_rows_find_rowid(ctr_rows *rows, int64_t rowid, ctr_problem *problem)
{
    if (refuse_reentry(rows, problem)) return problem->rc;
    forget(rows);
    ctr_entry *kept = ctr_buffer_row(&rows->buffer, rowid);
    if (kept) return take_kept(rows, kept);
    sqlite3_stmt *statement = find_rowid_statement(rows, problem);
    if (!statement) return problem->rc;
    sqlite3_bind_int64(statement, 1, rowid);
    return find(rows, statement, problem);
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
    int64_t rowid = sqlite3_column_int64(row, CTR_STREAM_ID);
    ctr_entry *kept = ctr_buffer_row(&rows->buffer, rowid);
    if (kept) return take_kept(rows, kept);
    ctr_rows_stand_at(rows, rowid, sqlite3_column_int64(row, CTR_STREAM_NUMBER));
    take_cells(rows, row, CTR_STREAM_COLUMNS, rows->shape->counters, problem);
    return problem->rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int bind_changes(ctr_rows *rows, sqlite3_stmt *statement, int first)
{
    int rc = SQLITE_OK;
    for (int i = 0; i < rows->shape->n_counters && rc == SQLITE_OK; i++) {
        const struct ctr_new_cell *cell = &rows->changes[i];
        if (!cell->set || cell->size == 0)
            rc = sqlite3_bind_null(statement, first + i);
        else
            rc = sqlite3_bind_blob64(statement, first + i, rows->fresh.bytes + cell->offset,
                                     cell->size, SQLITE_STATIC);
    }
    return rc;
}

/* A constraint that fails here is no constraint of ours: OR IGNORE must not swallow it. Nor may a
 * trigger that somebody put on the stored table make a write vanish. */
static void step_write(ctr_rows *rows, sqlite3_stmt *statement, ctr_problem *problem)
{
    rows->writing = true;
    int rc = sqlite3_step(statement);
    rows->writing = false;
    if ((rc & 0xff) == SQLITE_CONSTRAINT)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "the stored table refuses the row: %s",
                        sqlite3_errmsg(rows->db));
    else if (rc == SQLITE_DONE && sqlite3_changes(rows->db) != 1)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "the stored table did not take the row");
    else
        ctr_problem_sqlite(problem, rows->db, rc);
}

/* Runs a write, if its values could be bound, and lets go of what it holds either way. A statement
 * that SQLite had to prepare again tells that the schema has changed: there may be triggers now.
 * One that runs triggers is not kept: if they name the virtual table, each would hold the other. */
static int run_write(ctr_rows *rows, sqlite3_stmt *statement, ctr_problem *problem)
{
    if (problem->rc == SQLITE_OK) step_write(rows, statement, problem);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    bool changed = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    if (changed) rows->looked = false;
    if (changed || rows->has_triggers) release_writes(rows);
    return problem->rc;
}

/* A trigger on the table of the identity must not come back to this row. */
static int64_t take_number(ctr_rows *rows, ctr_problem *problem)
{
    rows->writing = true;
    int64_t number = ctr_watch_stamp(rows->post, rows->number, problem);
    if (number != rows->number) ctr_news_expect(rows->news, problem);
    rows->writing = false;
    return number;
}

static int bind_write(ctr_rows *rows, sqlite3_stmt *statement, int64_t number, sqlite3_value **keys)
{
    if (rows->found) {
        sqlite3_bind_int64(statement, CTR_UPDATE_ROWID, rows->rowid);
        if (number != rows->number) sqlite3_bind_int64(statement, CTR_UPDATE_NUMBER, number);
        return bind_changes(rows, statement, CTR_UPDATE_COUNTERS);
    }
    sqlite3_bind_int64(statement, CTR_INSERT_NUMBER, number);
    int rc = bind_keys(rows, statement, CTR_INSERT_KEYS, keys);
    return rc == SQLITE_OK ? bind_changes(rows, statement, CTR_INSERT_KEYS + rows->shape->n_keys)
                           : rc;
}

int ctr_rows_write(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    if (rows->entry) return ctr_deferred_change(rows, problem);
    int64_t number = take_number(rows, problem);
    if (problem->rc != SQLITE_OK) return problem->rc;
    sqlite3_stmt *statement = write_statement(rows, number != rows->number, problem);
    if (!statement) return problem->rc;
    ctr_problem_sqlite(problem, rows->db, bind_write(rows, statement, number, keys));
    if (run_write(rows, statement, problem)) return problem->rc;
    if (!rows->found) rows->rowid = sqlite3_last_insert_rowid(rows->db);
    if (number != rows->number) ctr_news_add(rows->news, number, rows->rowid);
    rows->number = number;
    return SQLITE_OK;
}

bool ctr_rows_key_is(ctr_rows *rows, int64_t rowid, sqlite3_value **keys, ctr_problem *problem)
{
    sqlite3_stmt *row = NULL;
    prepare(rows, &row, CTR_SQL_ROWS_KEY_IS, sqlite3_mprintf(""),
            ctr_wording_exact_match(rows->shape), problem);
    if (!row) return false;
    sqlite3_bind_int64(row, 1, rowid);
    int rc = SQLITE_OK;
    for (int i = 0; i < rows->shape->n_keys && rc == SQLITE_OK; i++)
        if (keys[i]) rc = ctr_text_bind_value(row, i + 2, keys[i]);
    if (rc == SQLITE_OK) rc = sqlite3_step(row);
    ctr_problem_sqlite(problem, rows->db, rc);
    sqlite3_finalize(row);
    return rc == SQLITE_ROW;
}
