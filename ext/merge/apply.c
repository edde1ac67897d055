/* merge/apply.c - checks and merges the changes of a feed. */
#include "merge/merge.h"

#include <string.h>

/* ---- the table ------------------------------------------------------------------------------- */

static void close_scope(ctr_apply *apply)
{
    ctr_scope_close(&apply->scope);
    sqlite3_value_free(apply->scoped);
    apply->scoped = NULL;
}

static void close_target(ctr_apply *apply)
{
    ctr_problem none = {SQLITE_OK, NULL}; /* without memory there is no warning */
    if (apply->open && apply->merge.entry.birth)
        ctr_brought_list_add(&apply->brought, apply->merge.entry.birth, &apply->merge.brought,
                             &none);
    ctr_problem_close(&none);
    if (apply->open) ctr_merge_close(&apply->merge);
    sqlite3_finalize(apply->values);
    sqlite3_free(apply->keys);
    close_scope(apply);
    apply->open = false;
    apply->values = NULL;
    apply->keys = NULL;
}

void ctr_apply_release(ctr_apply *apply)
{
    apply->ended = apply->busy;
    if (apply->busy) return;
    close_target(apply);
    ctr_conflicts_close_own(&apply->own);
    sqlite3_free(apply->left.bytes);
    apply->left = (ctr_packed){0};
    sqlite3_finalize(apply->born);
    apply->born = NULL;
}

void ctr_apply_committed(ctr_apply *apply)
{
    ctr_problem none = {SQLITE_OK, NULL};
    ctr_apply_release(apply);
    ctr_brought_list *list = apply->brought.n > 0 ? ctr_brought_of(apply->conn) : NULL;
    for (size_t i = 0; list && i < apply->brought.n; i++)
        ctr_brought_list_add(list, apply->brought.tables[i].birth,
                             &apply->brought.tables[i].brought, &none);
    ctr_problem_close(&none);
    ctr_brought_list_close(&apply->brought);
}

void ctr_apply_rolled_back(ctr_apply *apply)
{
    ctr_apply_release(apply);
    ctr_brought_list_close(&apply->brought);
}

/* Looks the table up by its birth name again. Returns whether it is the open one and no schema has
 * changed since, which would have made SQLite prepare the statement again. */
static bool look_up_open(ctr_apply *apply, ctr_problem *problem)
{
    const ctr_catalog_entry *entry = &apply->merge.entry;
    ctr_run run = ctr_run_on(apply->db, "main", NULL, problem);
    if (!apply->born) apply->born = ctr_run_prepare(&run, CTR_SQL_CATALOG_BORN);
    ctr_run_bind_text(&run, apply->born, ":name", entry->birth);
    bool found = ctr_run_row(&run, apply->born);
    const char *name = found ? ctr_text_column(apply->born, 0, problem) : NULL;
    const void *token = found ? sqlite3_column_blob(apply->born, 2) : NULL;
    bool same = name && token && strcmp(name, entry->name) == 0 &&
                sqlite3_column_bytes(apply->born, 2) == CTR_ID_SIZE &&
                memcmp(token, entry->token, CTR_ID_SIZE) == 0;
    sqlite3_reset(apply->born);
    bool changed =
        apply->born && sqlite3_stmt_status(apply->born, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    return same && !changed;
}

static int open_target(ctr_apply *apply, const char *birth, bool replicated, ctr_file *file,
                       ctr_problem *problem)
{
    bool current = apply->open && sqlite3_stricmp(apply->merge.entry.birth, birth) == 0 &&
                   look_up_open(apply, problem);
    if (current || problem->rc != SQLITE_OK) return problem->rc;
    close_target(apply);
    apply->open = true;
    if (problem->rc == SQLITE_OK &&
        !ctr_merge_open(&apply->merge, file, birth, &apply->conflicts, problem) &&
        ctr_merge_refuse_name(file, "main", birth, replicated, problem) == SQLITE_OK)
        ctr_problem_set(
            problem, SQLITE_ERROR,
            "no counter table was created with this name here: CREATE it first, as at the source");
    if (problem->rc == SQLITE_OK) {
        apply->merge.rows.origin = CTR_FED;
        const ctr_shape *shape = &apply->merge.shape;
        char *values = ctr_shape_list(shape, CTR_KEYS, "#", ", ", 1);
        apply->keys = sqlite3_malloc64((size_t)shape->n_keys * sizeof *apply->keys);
        if (!values || !apply->keys) ctr_problem_nomem(problem);
        ctr_run run = ctr_run_on(apply->db, "main", NULL, problem);
        run.slots.values = values;
        apply->values = ctr_run_prepare(&run, CTR_SQL_ROWS_OF_PARAMETERS);
        sqlite3_free(values);
        look_up_open(apply, problem);
    }
    if (problem->rc != SQLITE_OK) close_target(apply);
    return problem->rc;
}

/* ---- the key --------------------------------------------------------------------------------- */

/* Returns whether the affinity of the column leaves the value unchanged. Otherwise the column at
 * the source is of another kind, and two keys there might be one here. */
static bool fits(sqlite3 *db, const ctr_column *column, sqlite3_value *value, ctr_problem *problem)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL || column->affinity == CTR_AFFINITY_BLOB) return true;
    if (column->affinity == CTR_AFFINITY_TEXT)
        return type != SQLITE_INTEGER && type != SQLITE_FLOAT;
    if (ctr_arg_number(db, value, problem).type != type) return false;
    if (column->affinity == CTR_AFFINITY_REAL) return type != SQLITE_INTEGER;
    if (type != SQLITE_FLOAT) return true;
    ctr_key_value number = {.type = CTR_KEY_REAL, .real = sqlite3_value_double(value)};
    ctr_key_unify(&number); /* SQLite does not convert the ends of the range */
    return number.type == CTR_KEY_REAL || number.integer == INT64_MIN;
}

/* Fails if the key columns differ: two keys there might be one here, or values belong to other
 * columns. */
static int check_key_text(const ctr_apply *apply, const ctr_change *change, ctr_problem *problem)
{
    if (!change->key_text) return problem->rc;
    char *mine = ctr_shape_key_text(&apply->merge.shape);
    if (!mine) return ctr_problem_nomem(problem);
    if (strcmp(mine, change->key_text) != 0)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the tables differ in the key: the source has (%s), this file has (%s)",
                        change->key_text, mine);
    sqlite3_free(mine);
    return problem->rc;
}

/* Takes the key as values of a row. */
static int take_key(ctr_apply *apply, const ctr_change *change, ctr_problem *problem)
{
    const ctr_shape *shape = &apply->merge.shape;
    if (check_key_text(apply, change, problem)) return problem->rc;
    int n;
    ctr_status status =
        ctr_key_check(change->key, change->key_size, change->kind == CTR_CHANGE_FLOORS, &n);
    if (status != CTR_OK)
        return ctr_problem_set(problem, SQLITE_ERROR, "the key %s", ctr_key_status_text(status));
    if (n != shape->n_keys)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "the key has %d value%s and the key of the table %d: the tables differ", n,
            n == 1 ? "" : "s", shape->n_keys);
    if (ctr_text_has_noncharacter(change->key, change->key_size) &&
        ctr_merge_refuse_key(apply->db, problem))
        return problem->rc;

    ctr_problem_sqlite(problem, apply->db,
                       ctr_pack_bind(apply->values, change->key, change->key_size));
    ctr_run run = ctr_run_on(apply->db, "main", NULL, problem);
    if (!ctr_run_row(&run, apply->values)) return problem->rc;
    for (int i = 0; i < shape->n_keys; i++) {
        const ctr_column *column = &shape->columns[shape->keys[i]];
        apply->keys[i] = sqlite3_column_value(apply->values, i);
        if (fits(apply->db, column, apply->keys[i], problem)) continue;
        char *key = ctr_problem_describe_key(&apply->keys[i], 1);
        if (!key) ctr_problem_nomem(problem);
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the key has %s for the column %s %s, which would store another value: the "
                        "tables differ",
                        key, column->name, column->type);
        sqlite3_free(key);
    }
    return problem->rc;
}

/* ---- the change ------------------------------------------------------------------------------ */

/* Raises a counter to the generation of the change, and renews the triggers of a tracked table,
 * which name its counters. The shape is read again, because the open one may be out of date. */
static void raise_counter(ctr_apply *apply, const ctr_change *change, ctr_file *file,
                          ctr_problem *problem)
{
    ctr_shape shape = {0};
    const char *spelling, *table = apply->merge.entry.name;
    if (ctr_declaration_reserves(change->column))
        ctr_problem_set(problem, SQLITE_ERROR, "no column can have the name '%s'", change->column);
    ctr_stored_read(&shape, apply->db, "main", table, problem);
    if (problem->rc == SQLITE_OK &&
        ctr_shape_generation(&shape, change->column, &spelling) < change->generation &&
        ctr_columns_check(&shape, apply->db, table, change->column, problem) == SQLITE_OK)
        ctr_columns_raise(file, table, &shape, change->column, change->generation, problem);
    ctr_shape_close(&shape);
    if (!apply->merge.tracked || problem->rc != SQLITE_OK) return;
    ctr_stored_read(&shape, apply->db, "main", table, problem);
    ctr_triggers_follow(file, table, &shape, &change->column, 1, problem);
    ctr_shape_close(&shape);
}

/* Opens the table and takes the key. */
static int prepare_change(ctr_apply *apply, const ctr_change *change, ctr_file *file,
                          ctr_problem *problem)
{
    bool replicated = change->kind == CTR_CHANGE_ROW || change->life > 0;
    if (open_target(apply, change->table, replicated, file, problem)) return problem->rc;
    const ctr_identity *identity = ctr_file_identity(file, problem);
    if (!identity) return problem->rc;
    apply->conflicts = (ctr_conflicts){.file = file};
    ctr_conflicts_set_mine(&apply->conflicts, identity);
    memcpy(apply->conflicts.theirs, change->source, CTR_ID_SIZE);
    if (change->kind == CTR_CHANGE_COUNTER || change->kind == CTR_CHANGE_ANSWER)
        return check_key_text(apply, change, problem);
    return take_key(apply, change, problem);
}

/* Returns whether the row of a change is to be merged: the others are outside of its scope. */
static bool is_in_scope(ctr_apply *apply, const ctr_change *change, ctr_problem *problem)
{
    bool has_row = change->kind == CTR_CHANGE_CELL || change->kind == CTR_CHANGE_ROW;
    if (!change->scope || !has_row || problem->rc != SQLITE_OK) return true;
    if (!apply->scoped || !ctr_text_same(apply->scoped, change->scope)) {
        close_scope(apply);
        ctr_scope_open(&apply->scope, apply->db, change->scope, problem);
        ctr_scope_enter(&apply->scope, apply->db, &apply->merge.shape, problem);
        if (problem->rc == SQLITE_OK) apply->scoped = sqlite3_value_dup(change->scope);
        if (!apply->scoped) ctr_problem_nomem(problem);
    }
    return ctr_scope_has(&apply->scope, &apply->merge.shape, apply->keys, problem);
}

/* A cell of a replicated table has the life of its row, and no other has one. */
static void check_life(const ctr_apply *apply, const ctr_change *change, ctr_problem *problem)
{
    bool replicated = apply->merge.shape.replicated;
    if (change->kind != CTR_CHANGE_CELL && change->kind != CTR_CHANGE_ROW) return;
    bool comes = change->kind == CTR_CHANGE_ROW || change->life > 0;
    if (replicated == comes || problem->rc != SQLITE_OK) return;
    ctr_problem_set(problem, SQLITE_ERROR,
                    "it is replicated %s, and a replicated table merges with replicated ones only: "
                    "call counter_replicate('%s', ...) %s",
                    comes ? "at the source, but not here" : "here, but not at the source",
                    change->table, comes ? "here" : "there");
}

/* A counter of the source that is a regular column here. One that ends there says nothing. */
static void refuse_regular(const ctr_apply *apply, const ctr_change *change, ctr_problem *problem)
{
    const ctr_merge *merge = &apply->merge;
    if (!merge->shape.replicated || change->generation % 2 == 0) return;
    const ctr_registry *registry = ctr_regular_of(merge->rows.tab, problem);
    if (!registry || ctr_regular_named(registry, change->column, strlen(change->column)) < 0)
        return;
    ctr_problem_set(problem, SQLITE_ERROR,
                    "column %s is a counter at the source and a regular column here: "
                    "counter_replicate('%s', '%s') makes it a counter",
                    change->column, merge->showing.tracked->table, change->column);
}

static void apply_to_row(ctr_apply *apply, const ctr_change *change, ctr_problem *problem)
{
    check_life(apply, change, problem);
    if (problem->rc != SQLITE_OK || !ctr_merge_find(&apply->merge, apply->keys, problem)) return;
    ctr_row_feed_take(&apply->merge, change->cell, change->cell_size, problem);
    ctr_row_feed_take_pending(&apply->merge, problem);
}

/* Leaves the shards of the own ids of main out of a cell that came with a token. The cells of an
 * earlier life of the row have nothing to do with it; one of a later life is ahead in any case. */
static void leave_out_own(ctr_apply *apply, const ctr_change *change, int counter, ctr_cell *cell,
                          ctr_problem *problem)
{
    ctr_merge *merge = &apply->merge;
    const ctr_row_cell *row = merge->shape.replicated ? ctr_rows_row(&merge->rows, problem) : NULL;
    const ctr_cell none = ctr_cell_untouched();
    ctr_sent_cell sent = {.device = change->device,
                          .table = merge->entry.birth,
                          .column = change->column,
                          .keys = apply->keys,
                          .n_keys = merge->shape.n_keys,
                          .mine =
                              row && row->life < change->life ? &none : &merge->rows.cells[counter],
                          .theirs = cell};
    if (row && row->life > change->life) return;
    apply->left.size = 0;
    uint8_t *out = ctr_pack_room(&apply->left, cell->size, problem);
    if (!out || ctr_conflicts_read_own(&apply->own, merge->rows.tab->file, problem)) return;
    size_t size = ctr_conflicts_leave_out(&apply->conflicts, &apply->own, &sent, out, problem);
    *cell = ctr_cell_written(out, size);
}

/* Everything is checked before the first write: SQLite cannot roll back one of two writes. */
static void apply_to_counter(ctr_apply *apply, const ctr_change *change, ctr_file *file,
                             ctr_problem *problem)
{
    ctr_cell cell = ctr_cell_untouched();
    ctr_status status = CTR_OK;
    if (change->kind == CTR_CHANGE_CELL)
        status = ctr_cell_open(&cell, change->cell, change->cell_size);
    if (status != CTR_OK)
        ctr_problem_set(problem, SQLITE_ERROR, "column %s: the cell %s", change->column,
                        ctr_status_text(status));
    if (ctr_merge_check_clocks(&cell, problem))
        ctr_problem_where(problem, "column %s", change->column);
    const char *spelling;
    int64_t present = ctr_shape_generation(&apply->merge.shape, change->column, &spelling);
    if (present > 0 && strcmp(spelling, change->column) != 0)
        ctr_problem_set(problem, SQLITE_ERROR, "the counter is spelled %s here: the tables differ",
                        spelling);
    check_life(apply, change, problem);
    refuse_regular(apply, change, problem);
    unsigned nth = apply->conn->ended;
    if (problem->rc != SQLITE_OK) return;
    bool rises = present < change->generation;
    if (rises) raise_counter(apply, change, file, problem);
    if (rises && problem->rc != SQLITE_OK) ctr_conn_spoil(apply->conn, nth);
    if (rises) close_target(apply);
    if (problem->rc != SQLITE_OK || change->kind == CTR_CHANGE_COUNTER) return;

    if (rises) prepare_change(apply, change, file, problem);
    int counter = -1; /* none: the generation has risen since the cell was written */
    if (problem->rc == SQLITE_OK)
        counter = ctr_shape_counter_of(&apply->merge.shape, change->column, change->generation);
    bool wanted = counter >= 0 && ctr_merge_find(&apply->merge, apply->keys, problem);
    if (wanted && change->device) leave_out_own(apply, change, counter, &cell, problem);
    if (wanted && problem->rc == SQLITE_OK && !(change->device && cell.size == 0) &&
        ctr_row_feed_admits(&apply->merge, change->life, counter, &cell, problem)) {
        ctr_merge *merge = &apply->merge;
        ctr_merge_cell(merge, counter, &cell, problem);
        ctr_conflicts_change_identity(&apply->conflicts, file,
                                      problem); /* before the row is written */
        ctr_merge_write(&apply->merge, problem);
    }
    ctr_conflicts_change_identity(&apply->conflicts, file, problem); /* nothing was left to merge */
    if (rises && problem->rc != SQLITE_OK) ctr_conn_spoil(apply->conn, nth);
}

/* If the rows cannot be written after the answer was recorded, the transaction must not commit. */
static void take_answer(ctr_apply *apply, const ctr_change *change, ctr_problem *problem)
{
    unsigned nth = apply->conn->ended;
    if (ctr_openings_check(change->cell, change->cell_size, problem)) {
        problem->rc = SQLITE_ERROR;
        return;
    }
    ctr_answers_take(&apply->merge, change->cell, 1, problem);
    if (problem->rc != SQLITE_OK) ctr_conn_spoil(apply->conn, nth);
}

/* If a statement runs out of memory, SQLite may roll the transaction back during the change and
 * call ctr_apply_release; the open table is then closed after the change. */
int ctr_apply_change(ctr_apply *apply, const ctr_change *change, ctr_problem *problem)
{
    ctr_file *file = ctr_file_of(apply->conn, "main");
    if (!file) return ctr_problem_nomem(problem);
    apply->busy = true;
    if (prepare_change(apply, change, file, problem) == SQLITE_OK &&
        is_in_scope(apply, change, problem)) {
        if (change->kind == CTR_CHANGE_FLOORS)
            ctr_merge_floors(&apply->merge, apply->keys, problem);
        else if (change->kind == CTR_CHANGE_ANSWER)
            take_answer(apply, change, problem);
        else if (change->kind == CTR_CHANGE_ROW)
            apply_to_row(apply, change, problem);
        else
            apply_to_counter(apply, change, file, problem);
    }
    sqlite3_reset(apply->values);
    ctr_problem_where(problem, "table %s", change->table);
    apply->busy = false;
    if (apply->ended) ctr_apply_rolled_back(apply);
    return problem->rc;
}
