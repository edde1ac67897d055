/* merge/apply.c - checks and merges the changes of a feed; counter_changes, the table of the
 * feed. */
#include "merge/merge.h"

#include <stdlib.h>
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
    ctr_problem none;
    ctr_problem_try(apply->conn, &none); /* without memory there is no warning */
    if (apply->open && apply->merge.entry.birth)
        ctr_brought_list_add(apply->conn, &apply->brought, apply->merge.entry.birth,
                             &apply->merge.brought);
    ctr_problem_close(&none);
    ctr_row_feed_close_taken(&apply->taken);
    if (apply->open && apply->merge.row.tab) ctr_home_end_strays(apply->merge.row.tab);
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
    sqlite3_free(apply->may.bytes);
    apply->left = apply->may = (ctr_packed){0};
    sqlite3_finalize(apply->born);
    apply->born = NULL;
}

void ctr_apply_keep(ctr_apply *apply)
{
    ctr_problem none;
    ctr_problem_try(apply->conn, &none);
    ctr_apply_release(apply);
    ctr_brought_list *list = apply->brought.n > 0 ? ctr_brought_of(apply->conn) : NULL;
    for (size_t i = 0; list && i < apply->brought.n; i++)
        ctr_brought_list_add(apply->conn, list, apply->brought.tables[i].birth,
                             &apply->brought.tables[i].brought);
    ctr_problem_close(&none);
    ctr_brought_list_close(&apply->brought);
}

void ctr_apply_forget(ctr_apply *apply)
{
    ctr_apply_release(apply);
    ctr_brought_list_close(&apply->brought);
}

/* Looks the table up by its birth name again. Returns whether it is the open one and no schema has
 * changed since, which would have made SQLite prepare the statement again. */
static bool look_up_open(ctr_apply *apply)
{
    const ctr_catalog_entry *entry = &apply->merge.entry;
    ctr_run run = ctr_run_on(apply->conn, "main", NULL);
    if (!apply->born) apply->born = ctr_run_prepare(&run, CTR_SQL_CATALOG_BORN);
    ctr_run_bind_text(&run, apply->born, ":name", entry->birth);
    bool found = ctr_run_row(&run, apply->born);
    const char *name = found ? ctr_text_column(apply->conn, apply->born, 0) : NULL;
    const void *token = found ? sqlite3_column_blob(apply->born, 2) : NULL;
    bool same = name && token && strcmp(name, entry->name) == 0 &&
                sqlite3_column_bytes(apply->born, 2) == CTR_ID_SIZE &&
                memcmp(token, entry->token, CTR_ID_SIZE) == 0;
    sqlite3_reset(apply->born);
    bool changed =
        apply->born && sqlite3_stmt_status(apply->born, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    return same && !changed;
}

static int open_target(ctr_apply *apply, const char *birth, bool has_life, ctr_file *file)
{
    bool current =
        apply->open && sqlite3_stricmp(apply->merge.entry.birth, birth) == 0 && look_up_open(apply);
    if (current || ctr_rc(file->conn) != SQLITE_OK) return ctr_rc(file->conn);
    close_target(apply);
    apply->open = true;
    if (ctr_rc(file->conn) == SQLITE_OK &&
        !ctr_merge_open(&apply->merge, file, birth, &apply->conflicts) &&
        ctr_kinds_refuse_name(file, "main", birth, has_life) == SQLITE_OK)
        ctr_problem_set(file->conn, SQLITE_ERROR,
                        has_life ? "no table was replicated with this name here: CREATE it as at "
                                   "the source, and call counter_replicate"
                                 : "no counter table was created with this name here: CREATE it "
                                   "as at the source; if it is a tracked one there, CREATE the "
                                   "ordinary table, and call counter_track");
    if (ctr_rc(file->conn) == SQLITE_OK) {
        apply->merge.row.origin = CTR_FED;
        apply->merge.row.shows = apply->merge.tracked;
        if (apply->at_once && apply->merge.tracked) ctr_home_take_strays(apply->merge.row.tab);
        const ctr_shape *shape = &apply->merge.shape;
        const char *values = ctr_shape_list(file->conn, shape, CTR_KEYS, "#", ", ", 1);
        apply->keys = sqlite3_malloc64((size_t)shape->n_keys * sizeof *apply->keys);
        if (!apply->keys) ctr_problem_nomem(file->conn);
        ctr_run run = ctr_run_on(apply->conn, "main", NULL);
        run.slots.values = values;
        apply->values = ctr_run_prepare(&run, CTR_SQL_ROWS_OF_PARAMETERS);
        look_up_open(apply);
    }
    if (ctr_rc(file->conn) != SQLITE_OK) close_target(apply);
    return ctr_rc(file->conn);
}

/* ---- the key --------------------------------------------------------------------------------- */

/* Returns whether the affinity of the column leaves the value unchanged. Otherwise the column at
 * the source is of another kind, and two keys there might be one here. */
static bool fits(ctr_conn *conn, const ctr_column *column, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL || column->affinity == CTR_AFFINITY_BLOB) return true;
    if (column->affinity == CTR_AFFINITY_TEXT)
        return type != SQLITE_INTEGER && type != SQLITE_FLOAT;
    if (ctr_arg_number(conn, value).type != type) return false;
    if (column->affinity == CTR_AFFINITY_REAL) return type != SQLITE_INTEGER;
    if (type != SQLITE_FLOAT) return true;
    ctr_key_value number = {.type = CTR_KEY_REAL, .real = sqlite3_value_double(value)};
    ctr_key_unify(&number); /* SQLite does not convert the ends of the range */
    return number.type == CTR_KEY_REAL || number.integer == INT64_MIN;
}

/* Fails if the key columns differ: two keys there might be one here, or values belong to other
 * columns. */
static int check_key_text(const ctr_apply *apply, const ctr_change *change)
{
    if (!change->key_text) return ctr_rc(apply->conn);
    const char *mine = ctr_shape_key_text(apply->conn, &apply->merge.shape);
    if (strcmp(mine, change->key_text) != 0)
        ctr_problem_set(apply->conn, SQLITE_ERROR,
                        "the tables differ in the key: the source has (%s), this file has (%s)",
                        change->key_text, mine);
    return ctr_rc(apply->conn);
}

/* Takes the key as values of a row. */
static int take_key(ctr_apply *apply, const ctr_change *change)
{
    const ctr_shape *shape = &apply->merge.shape;
    if (check_key_text(apply, change)) return ctr_rc(apply->conn);
    int n;
    ctr_status status =
        ctr_key_check(change->key, change->key_size, change->told.what == CTR_TELLS_FLOORS, &n);
    if (status != CTR_OK)
        return ctr_problem_set(apply->conn, SQLITE_ERROR, "the key %s",
                               ctr_key_status_text(status));
    if (n != shape->n_keys)
        return ctr_problem_set(
            apply->conn, SQLITE_ERROR,
            "the key has %d value%s and the key of the table %d: the tables differ", n,
            n == 1 ? "" : "s", shape->n_keys);
    if (ctr_text_has_noncharacter(change->key, change->key_size) &&
        ctr_merge_refuse_key(apply->conn))
        return ctr_rc(apply->conn);

    ctr_problem_sqlite(apply->conn, ctr_pack_bind(apply->values, change->key, change->key_size));
    ctr_run run = ctr_run_on(apply->conn, "main", NULL);
    if (!ctr_run_row(&run, apply->values)) return ctr_rc(apply->conn);
    for (int i = 0; i < shape->n_keys; i++) {
        const ctr_column *column = &shape->columns[shape->keys[i]];
        apply->keys[i] = sqlite3_column_value(apply->values, i);
        if (fits(apply->conn, column, apply->keys[i])) continue;
        char *key = ctr_problem_describe_key(&apply->keys[i], 1);
        if (!key) ctr_problem_nomem(apply->conn);
        ctr_problem_set(apply->conn, SQLITE_ERROR,
                        "the key has %s for the column %s %s, which would store another value: the "
                        "tables differ",
                        key, column->name, column->type);
        sqlite3_free(key);
    }
    return ctr_rc(apply->conn);
}

/* ---- the change ------------------------------------------------------------------------------ */

/* Raises a counter to a generation, and renews the triggers of a tracked table, which name its
 * counters. The shape is read again, because the open one may be out of date. */
static void raise_counter(ctr_apply *apply, const char *name, int64_t generation, ctr_file *file)
{
    ctr_shape shape = {0};
    const char *spelling, *table = apply->merge.entry.name;
    if (ctr_declaration_reserves(name))
        ctr_problem_set(file->conn, SQLITE_ERROR, "no column can have the name '%s'", name);
    ctr_stored_read(&shape, apply->conn, "main", table);
    if (ctr_rc(file->conn) == SQLITE_OK &&
        ctr_shape_generation(&shape, name, &spelling) < generation &&
        ctr_columns_check(&shape, apply->conn, table, name) == SQLITE_OK) {
        ctr_tracked_note(file, table, &shape); /* also of one that has ended and begins anew */
        ctr_columns_raise(file, table, &shape, name, generation);
    }
    ctr_shape_close(&shape);
    if (!apply->merge.tracked || ctr_rc(file->conn) != SQLITE_OK) return;
    ctr_stored_read(&shape, apply->conn, "main", table);
    ctr_triggers_follow(file, table, &shape, &name, 1);
    ctr_shape_close(&shape);
}

/* Opens the table and takes the key. */
static int prepare_change(ctr_apply *apply, const ctr_change *change, ctr_file *file)
{
    if (open_target(apply, change->table, change->told.row.is, file)) return ctr_rc(file->conn);
    const ctr_identity *identity = ctr_file_identity(file);
    if (!identity) return ctr_rc(file->conn);
    apply->conflicts = (ctr_conflicts){.file = file};
    ctr_conflicts_set_mine(&apply->conflicts, identity);
    memcpy(apply->conflicts.theirs, change->fed.id, CTR_ID_SIZE);
    apply->merge.row.fed = change->fed.upto > 0 ? ctr_batch_fed(file, &change->fed) : NULL;
    bool has_key = change->told.what == CTR_TELLS_ROW || change->told.what == CTR_TELLS_FLOORS;
    if (has_key) return take_key(apply, change);
    if (change->key_size > 0)
        return ctr_problem_set(file->conn, SQLITE_ERROR,
                               "the change is of the table itself, and its key must be x''");
    return check_key_text(apply, change);
}

/* Returns whether the row of a change is to be merged: the others are outside of its scope. */
static bool is_in_scope(ctr_apply *apply, const ctr_change *change)
{
    if (!change->scope || change->told.what != CTR_TELLS_ROW || ctr_rc(apply->conn) != SQLITE_OK)
        return true;
    if (!apply->scoped || !ctr_text_same(apply->scoped, change->scope)) {
        close_scope(apply);
        ctr_scope_open(&apply->scope, apply->conn, change->scope);
        ctr_scope_enter(&apply->scope, apply->conn, &apply->merge.shape);
        if (ctr_rc(apply->conn) == SQLITE_OK) apply->scoped = sqlite3_value_dup(change->scope);
        if (!apply->scoped) ctr_problem_nomem(apply->conn);
    }
    return ctr_scope_has(apply->conn, &apply->scope, &apply->merge.shape, apply->keys);
}

/* A counter of the source that is a regular column here. One that ends there says nothing, nor does
 * one that was ended here. */
static void refuse_regular(const ctr_apply *apply, const char *name, int64_t generation)
{
    const ctr_merge *merge = &apply->merge;
    if (generation % 2 == 0) return;
    const ctr_registry *registry = ctr_regular_of(merge->row.tab);
    if (!registry || ctr_regular_named(registry, name, strlen(name)) < 0) return;
    ctr_problem_set(apply->conn, SQLITE_ERROR,
                    "column %s is a counter at the source and a regular column here: "
                    "counter_replicate('%s', '%s') makes it a counter",
                    name, merge->showing.tracked->table, name);
}

/* A regular column of the source that counts here. */
static void refuse_counting(const ctr_apply *apply, const char *name, int64_t generation)
{
    const ctr_tracked *tracked = apply->merge.showing.tracked;
    int counter = ctr_shape_counter_like(&apply->merge.shape, name);
    const ctr_tracked_column *column =
        counter >= 0 ? ctr_tracked_column_of(tracked, counter) : NULL;
    if (column)
        ctr_problem_set(apply->conn, SQLITE_ERROR,
                        "column %s was a counter and is a regular column at the source: call "
                        "counter_untrack(%Q, %Q), then %s, which takes the values of the source, "
                        "or %s, which keeps those of this file",
                        name, tracked->table, column->name,
                        ctr_tracked_call_to_follow(tracked, generation),
                        ctr_tracked_call(tracked, NULL));
}

/* Sets the cell that one that came with a token is compared with: the cells of an earlier life of
 * the row have nothing to do with it. Returns false if mine is of a later one, which is ahead. */
static bool set_mine(ctr_merge *merge, int counter, uint32_t life, ctr_cell *mine)
{
    const ctr_row_cell *row = ctr_row_stamps(&merge->row);
    *mine = row && row->life < life ? ctr_cell_untouched() : merge->row.cells[counter];
    return !row || row->life <= life;
}

/* Leaves the shards of the own ids of main out of such a cell. */
static void leave_out_own(ctr_apply *apply, const ctr_change *change, int counter, ctr_cell *cell)
{
    ctr_cell mine;
    ctr_merge *merge = &apply->merge;
    ctr_sent_cell sent = {.device = change->device,
                          .table = merge->entry.birth,
                          .column = ctr_shape_counter_name(&merge->shape, counter),
                          .row = &merge->row,
                          .keys = apply->keys,
                          .n_keys = merge->shape.n_keys,
                          .mine = &mine,
                          .theirs = cell};
    if (!set_mine(merge, counter, change->told.row.life, &mine)) return;
    apply->left.size = 0;
    uint8_t *out = ctr_pack_room(apply->conn, &apply->left, cell->size + CTR_CELL_HEADER_MAX);
    if (!out || ctr_conflicts_read_own(&apply->own, merge->row.tab->file)) return;
    size_t size = ctr_conflicts_leave_out(apply->conn, &apply->conflicts, &apply->own, &sent, out);
    *cell = ctr_cell_written(out, size);
}

/* Returns whether I do not have a shard of a cell, or an older one. */
static bool is_shard_news(const ctr_cell *mine, const ctr_cell *theirs, const ctr_shard *shard)
{
    ctr_shard own;
    if (mine->life != theirs->life) return theirs->life > mine->life;
    return !ctr_cell_shard(mine, shard->id, &own) || ctr_shard_beats(shard, &own);
}

/* Leaves out the shards that the token may not bring. */
static void leave_out_foreign(ctr_apply *apply, const ctr_change *change, int counter,
                              ctr_cell *cell)
{
    ctr_cell mine;
    ctr_shard shard;
    ctr_bringing *bringing = change->bringing;
    const int64_t skipped = bringing->skipped;
    bool is_comparable = set_mine(&apply->merge, counter, change->told.row.life, &mine);
    for (size_t at = 0; ctr_cell_next(cell, &at, &shard);) {
        if (bringing->may.is(bringing->may.with, &shard)) continue;
        bringing->skipped++;
        if (!is_comparable || !is_shard_news(&mine, cell, &shard)) continue;
        if (bringing->missing++ == 0) memcpy(bringing->first, shard.id, CTR_ID_SIZE);
    }
    if (bringing->skipped == skipped) return;
    apply->may.size = 0;
    uint8_t *out = ctr_pack_room(apply->conn, &apply->may, cell->size + CTR_CELL_HEADER_MAX);
    if (out) *cell = ctr_cell_written(out, ctr_cell_own(cell, &bringing->may, out));
}

/* ---- a row ----------------------------------------------------------------------------------- */

/* Returns the name of a column, in the arena. */
static const char *name_of_told(ctr_conn *conn, const ctr_told_column *told)
{
    return ctr_text_print(conn, "%.*s", (int)told->name_size, (const char *)told->name);
}

/* Returns whether the source has a higher generation of a column. */
static bool is_told_ahead(const ctr_apply *apply, const ctr_told_column *told)
{
    const char *spelling, *name = name_of_told(apply->conn, told);
    return ctr_shape_generation(&apply->merge.shape, name, &spelling) < told->generation;
}

static void check_spelling(const ctr_apply *apply, const char *name)
{
    const char *spelling;
    if (ctr_shape_generation(&apply->merge.shape, name, &spelling) > 0 &&
        strcmp(spelling, name) != 0)
        ctr_problem_set(apply->conn, SQLITE_ERROR,
                        "the counter is spelled %s here: the tables differ", spelling);
}

/* Checks one column; `n_new` counts those that the table lacks. */
static void check_told_column(ctr_apply *apply, const ctr_told_column *told, int *n_new)
{
    ctr_cell cell;
    ctr_conn *conn = apply->conn;
    const ctr_shape *shape = &apply->merge.shape;
    const char *spelling, *name = name_of_told(conn, told);
    int64_t present = ctr_shape_generation(shape, name, &spelling);
    if (ctr_rc(conn) != SQLITE_OK) return;
    if (!told->kind->stored) {
        if (present < told->generation) refuse_counting(apply, name, told->generation);
        if (present >= told->generation)
            ctr_row_feed_refuse_regular(&apply->merge, told); /* it must be one here, too */
        return;
    }
    ctr_cell_open(&cell, told->state, told->size);
    if (ctr_merge_check_clocks(conn, &cell)) ctr_problem_where(conn, "column %s", name);
    check_spelling(apply, name);
    if (present >= told->generation || ctr_rc(conn) != SQLITE_OK) return;
    refuse_regular(apply, name, told->generation);
    if (ctr_declaration_reserves(name))
        ctr_problem_set(conn, SQLITE_ERROR, "no column can have the name '%s'", name);
    if (ctr_rc(conn) == SQLITE_OK) ctr_columns_check(shape, conn, apply->merge.entry.name, name);
    *n_new += present == 0;
}

/* Checks the key and the stamps, which are merged after columns have risen. */
static void check_told_row(ctr_apply *apply, ctr_change_view told)
{
    ctr_told_column column;
    ctr_merge *merge = &apply->merge;
    ctr_merge_check_key(merge, apply->keys);
    if (!told.row.is) return;
    ctr_merge_check_stamp(merge, told.row.stamp.number);
    if (told.row.born) ctr_merge_check_stamp(merge, told.row.birth.number);
    while (ctr_rc(apply->conn) == SQLITE_OK && ctr_change_next(&told, &column))
        if (column.stamp.kind == CTR_STAMP_OWN)
            ctr_merge_check_stamp(merge, ctr_stamp_time(column.stamp.own.number));
}

/* Checks the row and all columns before anything is written. */
static void check_told(ctr_apply *apply, const ctr_change *change)
{
    int n_new = 0;
    ctr_told_column told;
    ctr_conn *conn = apply->conn;
    ctr_change_view view = change->told;
    ctr_kinds_check_life(conn, &apply->merge.shape, change->table, view.row.is);
    if (view.row.born && !apply->merge.spread.is)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "its keys are spread at the source, but not here: call "
                        "counter_replicate(%Q, 'keys=spread')",
                        apply->merge.showing.tracked->table);
    if (ctr_rc(conn) == SQLITE_OK) check_told_row(apply, view);
    while (ctr_rc(conn) == SQLITE_OK && ctr_change_next(&view, &told))
        check_told_column(apply, &told, &n_new);
    int most = ctr_columns_most(conn);
    if (ctr_rc(conn) == SQLITE_OK && n_new > 0 && n_new > most - apply->merge.shape.n_columns)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "the change has %d counters that the table lacks, which has %d columns: "
                        "the limit is %d",
                        n_new, apply->merge.shape.n_columns, most);
}

/* Raises the columns of which the source has a higher generation. Returns whether there are any:
 * then the table is opened again. */
static bool raise_told(ctr_apply *apply, const ctr_change *change, ctr_file *file)
{
    bool rises = false;
    ctr_told_column told;
    ctr_change_view view = change->told;
    while (ctr_rc(apply->conn) == SQLITE_OK && ctr_change_next(&view, &told)) {
        if (told.generation == 0 || !is_told_ahead(apply, &told)) continue;
        const char *name = name_of_told(apply->conn, &told);
        rises = true;
        raise_counter(apply, name, told.generation, file);
    }
    if (!rises) return false;
    close_target(apply);
    if (ctr_rc(apply->conn) == SQLITE_OK) prepare_change(apply, change, file);
    return true;
}

/* A change of which the token may bring nothing is passed over. */
static void merge_told_counters(ctr_apply *apply, ctr_change *change)
{
    bool any = change->told.row.is;
    ctr_told_column told;
    ctr_merge *merge = &apply->merge;
    ctr_change_view view = change->told;
    while (ctr_rc(apply->conn) == SQLITE_OK && ctr_change_next(&view, &told)) {
        ctr_cell cell;
        if (!told.kind->stored) continue;
        const char *name = name_of_told(apply->conn, &told);
        int counter = ctr_shape_counter_of(&merge->shape, name, told.generation);
        if (counter < 0) continue; /* its generation has risen since */
        ctr_cell_open(&cell, told.state, told.size);
        if (change->bringing) leave_out_foreign(apply, change, counter, &cell);
        any = any || !ctr_cell_is_untouched(&cell);
        if (change->device) leave_out_own(apply, change, counter, &cell);
        if (cell.size > 0) ctr_merge_cell(merge, counter, &cell);
    }
    change->passed_over = change->bringing && !any;
}

/* ---- what this file has lost ----------------------------------------------------------------- */

static bool is_own_id(const ctr_apply *apply, const uint8_t *id)
{
    for (size_t i = 0; i < apply->own.n; i++)
        if (memcmp(apply->own.ids + i * CTR_ID_SIZE, id, CTR_ID_SIZE) == 0) return true;
    return false;
}

/* Returns whether the column of a change has a shard of mine that I do not have. */
static bool has_own_ahead(const ctr_apply *apply, const ctr_told_column *told)
{
    ctr_cell theirs;
    ctr_shard shard;
    const ctr_merge *merge = &apply->merge;
    ctr_cell_open(&theirs, told->state, told->size);
    for (size_t at = 0; ctr_cell_next(&theirs, &at, &shard);) {
        if (!is_own_id(apply, shard.id)) continue;
        const char *name = name_of_told(apply->conn, told);
        int counter = ctr_shape_counter_of(&merge->shape, name, told->generation);
        if (counter < 0) return false;
        if (is_shard_news(&merge->row.cells[counter], &theirs, &shard)) return true;
    }
    return false;
}

static bool is_own_write_ahead(const ctr_apply *apply, const ctr_row_cell *mine,
                               const ctr_told_column *told)
{
    const ctr_registry *registry = ctr_regular_of(apply->merge.row.tab);
    int number =
        registry ? ctr_regular_named(registry, (const char *)told->name, told->name_size) : -1;
    const ctr_stamp *stamp = number >= 0 ? ctr_row_cell_stamp(mine, number) : NULL;
    return number >= 0 && (!stamp || stamp->number < told->stamp.own.number);
}

/* Returns whether a counter has a later life than mine: by a reset or a deletion. */
static bool begins_anew(const ctr_apply *apply, const ctr_told_column *told)
{
    ctr_cell theirs;
    const ctr_merge *merge = &apply->merge;
    const char *name = name_of_told(apply->conn, told);
    int counter = ctr_shape_counter_of(&merge->shape, name, told->generation);
    ctr_cell_open(&theirs, told->state, told->size);
    return counter >= 0 && theirs.life > merge->row.cells[counter].life;
}

/* Returns whether a change tells what this file has written itself and does not have, as after a
 * restore. Others may know it from nobody else, so it is to be told as a change of this file. A
 * deletion and a reset have no author: of a file that has given up an id they may be its own. What
 * a file had when it became a copy is left to its original. */
static bool brings_back(ctr_apply *apply, const ctr_change *change)
{
    ctr_told_column told;
    ctr_change_view view = change->told;
    ctr_conn *conn = apply->conn;
    const ctr_row_cell *mine = ctr_row_stamps(&apply->merge.row);
    if (ctr_conflicts_read_own(&apply->own, apply->merge.row.tab->file)) return false;
    if (change->fed.own && is_own_id(apply, change->fed.id)) return true;
    if (view.row.is && mine && view.row.life < mine->life) return false;
    const bool begins = view.row.is && mine && view.row.life > mine->life,
               is_deleted = view.row.life % 2 == 0, was_another = apply->own.n > 1;
    if (begins && (is_deleted ? was_another : is_own_id(apply, view.row.stamp.id))) return true;
    while (ctr_rc(conn) == SQLITE_OK && ctr_change_next(&view, &told)) {
        bool is = false;
        if (told.kind->stored)
            is = has_own_ahead(apply, &told) || (was_another && begins_anew(apply, &told));
        else if (told.stamp.kind == CTR_STAMP_OWN && is_own_id(apply, told.stamp.own.id))
            is = begins || (mine && is_own_write_ahead(apply, mine, &told));
        if (is) return true;
    }
    return false;
}

static void apply_row(ctr_apply *apply, ctr_change *change, ctr_file *file)
{
    unsigned nth = apply->conn->ended;
    check_told(apply, change);
    bool rises = raise_told(apply, change, file);
    if (ctr_rc(apply->conn) == SQLITE_OK && ctr_merge_find(&apply->merge, apply->keys)) {
        ctr_taken_row *row = &apply->taken;
        apply->merge.row.also_here = brings_back(apply, change);
        if (ctr_row_feed_join_told(&apply->merge, &change->told, row)) {
            merge_told_counters(apply, change);
            ctr_conflicts_change_identity(&apply->conflicts, file); /* before the row is written */
            if (ctr_rc(apply->conn) == SQLITE_OK) ctr_row_feed_write_taken(&apply->merge, row);
        }
        ctr_row_feed_end_taken(row);
        ctr_conflicts_change_identity(&apply->conflicts, file); /* nothing was left to merge */
    }
    if (rises && ctr_rc(apply->conn) != SQLITE_OK) ctr_conn_spoil(apply->conn, nth);
}

/* ---- a change of the table ------------------------------------------------------------------- */

/* Bounds a counter that the table has in this generation. Returns whether it did. */
static bool bound_told(ctr_apply *apply, const char *name, int64_t generation, ctr_file *file)
{
    ctr_shape shape = {0};
    const char *table = apply->merge.entry.name;
    ctr_stored_read(&shape, apply->conn, "main", table);
    bool lacks = ctr_rc(file->conn) == SQLITE_OK && ctr_shape_lacks_bound(&shape, name, generation);
    if (lacks) ctr_columns_bind(file, table, &shape, name);
    ctr_shape_close(&shape);
    return lacks;
}

/* Opens the table anew, and says who holds the openings that this file made. */
static void declare_told(ctr_apply *apply, const ctr_change *change, ctr_file *file)
{
    if (prepare_change(apply, change, file) == SQLITE_OK)
        ctr_answers_declare_holders(&apply->merge);
}

/* A counter that came, went or was bounded. */
static void apply_column(ctr_apply *apply, const ctr_change *change, ctr_file *file)
{
    unsigned nth = apply->conn->ended;
    const ctr_told_column *told = &change->told.column;
    const char *name = name_of_told(apply->conn, told);
    if (!told->kind->stored) /* only a replicated table has regular columns */
        ctr_kinds_check_life(apply->conn, &apply->merge.shape, change->table, true);
    if (told->kind->stored) check_spelling(apply, name);
    const bool ahead = ctr_rc(apply->conn) == SQLITE_OK && is_told_ahead(apply, told);
    if (ahead && told->kind->stored) refuse_regular(apply, name, told->generation);
    if (ahead && !told->kind->stored) refuse_counting(apply, name, told->generation);
    if (told->bounded && ctr_rc(apply->conn) == SQLITE_OK) ctr_rights_refuse_bound(file, name);
    if (ctr_rc(apply->conn) != SQLITE_OK) return;
    if (ahead) raise_counter(apply, name, told->generation, file);
    bool bounds = told->bounded && bound_told(apply, name, told->generation, file);
    if (ahead || bounds) close_target(apply);
    if (bounds) declare_told(apply, change, file);
    if ((ahead || bounds) && ctr_rc(apply->conn) != SQLITE_OK) ctr_conn_spoil(apply->conn, nth);
}

/* If the rows cannot be written after the answer was recorded, the transaction must not commit. */
static void take_answer(ctr_apply *apply, const ctr_change *change)
{
    unsigned nth = apply->conn->ended;
    const ctr_told_column *answer = &change->told.column;
    if (ctr_openings_check(apply->conn, answer->state, answer->size)) {
        ctr_problem_become(apply->conn, SQLITE_ERROR);
        return;
    }
    ctr_answers_take(&apply->merge, answer->state, 1);
    if (ctr_rc(apply->conn) != SQLITE_OK) ctr_conn_spoil(apply->conn, nth);
}

/* Reads and checks the bytes of a change. */
static void read_told(ctr_conn *conn, ctr_change *change)
{
    ctr_arg_change(conn, &change->told, change->bytes, change->size);
    ctr_problem_where(conn, "table %s", change->table);
}

int ctr_apply_change(ctr_apply *apply, ctr_change *change)
{
    ctr_file *file = ctr_file_of(apply->conn, "main");
    if (!file) return ctr_problem_nomem(apply->conn);
    read_told(apply->conn, change);
    if (ctr_rc(apply->conn) != SQLITE_OK) return ctr_rc(apply->conn);
    apply->busy = true;
    if (prepare_change(apply, change, file) == SQLITE_OK)
        change->passed_over = !is_in_scope(apply, change);
    if (ctr_rc(apply->conn) == SQLITE_OK && !change->passed_over) {
        switch (change->told.what) {
        case CTR_TELLS_FLOORS: ctr_merge_floors(&apply->merge, apply->keys); break;
        case CTR_TELLS_ANSWER: take_answer(apply, change); break;
        case CTR_TELLS_COLUMN: apply_column(apply, change, file); break;
        default: apply_row(apply, change, file); break;
        }
    }
    sqlite3_reset(apply->values);
    ctr_problem_where(apply->conn, "table %s", change->table);
    apply->busy = false;
    if (apply->ended) ctr_apply_forget(apply);
    return ctr_rc(apply->conn);
}

/* =================================================================================================
 * changes - counter_changes(since [, bucket]): the feed. A SELECT returns the changes of main, any
 * transport carries them, and an INSERT merges them into another file.
 *
 *     SELECT table_name, key, change, seq, source FROM counter_changes(0);
 *     INSERT INTO counter_changes(table_name, key, change, seq, source) ...
 *
 *     since      INTEGER, 0 or more: rows with this sequence number or a higher one
 *     bucket     TEXT such as '3/64', from counter_digests: only rows of this part
 *     upto       hidden: the number up to which everything was read, for counter_seen(); NULL
 *                with a bucket. An INSERT may have it: up to where its source is told then
 *     own        hidden: WHERE own = 1 gives, for an upload, only changes that others cannot have
 *                from somebody else (merge/merge.h)
 *     scope      hidden: WHERE scope = '["store 7"]' gives only rows whose leading key columns have
 *                these values (merge/merge.h); an INSERT with it passes over other rows
 *     partial    hidden: counter_lines has it: of a row only the parts that have changed since
 *                (merge/merge.h); without it rows are whole
 *     of, mine   hidden: counter_lines has them: the name of the source that asks, and the mark
 *                of it that it believes main to have; what it has brought itself is left out
 *                (merge/merge.h)
 *     key_columns hidden: the key columns in words; an INSERT with them compares them with the
 *                table here, as a pull does
 *
 * There is one row for each changed row of a table, for floors, for each counter that came or went,
 * and for each answer about openings (merge/merge.h). They may arrive twice, in any order, in part,
 * from many files; each is merged as in a pull, in the caller's transaction. */

enum {
    COLUMN_TABLE,
    COLUMN_KEY,
    COLUMN_CHANGE,
    COLUMN_SEQ,
    COLUMN_SOURCE,
    COLUMN_SINCE,
    COLUMN_BUCKET,
    COLUMN_UPTO,
    COLUMN_KEY_COLUMNS,
    COLUMN_OWN,
    COLUMN_SCOPE,
    COLUMN_PARTIAL,
    COLUMN_OF,
    COLUMN_MINE
};

static const char *const NAMES[] = {"table_name", "key",     "change", "seq",         "source",
                                    "since",      "bucket",  "upto",   "key_columns", "own",
                                    "scope",      "partial", "of",     "mine"};

static const char FUNCTION[] = "counter_changes";

typedef struct changes_table {
    ctr_joined joined;
    ctr_apply apply;
} changes_table;

typedef struct changes_cursor {
    sqlite3_vtab_cursor base;
    ctr_feed feed;
    int64_t row;
} changes_cursor;

static int changes_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                           sqlite3_vtab **base, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    int rc = sqlite3_declare_vtab(
        db, "CREATE TABLE x(table_name TEXT, key BLOB, change BLOB, seq INTEGER, source TEXT, "
            "since HIDDEN, bucket HIDDEN, upto HIDDEN, key_columns HIDDEN, own HIDDEN, "
            "scope HIDDEN, partial HIDDEN, of HIDDEN, mine HIDDEN)");
    if (rc != SQLITE_OK) return rc;
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    changes_table *table = sqlite3_malloc64(sizeof *table);
    if (!table) return SQLITE_NOMEM;
    ctr_conn *conn = aux;
    *table = (changes_table){.joined.conn = conn, .apply = {.conn = conn}};
    *base = &table->joined.base;
    return SQLITE_OK;
}

static int changes_disconnect(sqlite3_vtab *base)
{
    ctr_apply_forget(&((changes_table *)base)->apply);
    sqlite3_free(base->zErrMsg);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int fail_changes(sqlite3_vtab *base, ctr_problem *problem)
{
    return ctr_arg_table_problem(base, FUNCTION, problem);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* SQLite passes a third argument as a condition on the next hidden column. */
static int too_many(sqlite3_vtab *base)
{
    ctr_problem problem;
    ctr_problem_begin(((ctr_joined *)base)->conn, &problem);
    ctr_problem_set(
        ((ctr_joined *)base)->conn, SQLITE_ERROR,
        "at most two arguments, since and bucket; upto and key_columns can only be read");
    return fail_changes(base, &problem);
}

/* The conditions that a plan may have, in the order of its arguments. Its number has a bit for
 * each. */
enum {
    GIVEN_SINCE,
    GIVEN_BUCKET,
    GIVEN_OWN,
    GIVEN_SCOPE,
    GIVEN_PARTIAL,
    GIVEN_OF,
    GIVEN_MINE,
    GIVEN
};

/* Returns GIVEN for a column that can only be read. */
static int given_by(int column)
{
    switch (column) {
    case COLUMN_SINCE: return GIVEN_SINCE;
    case COLUMN_BUCKET: return GIVEN_BUCKET;
    case COLUMN_OWN: return GIVEN_OWN;
    case COLUMN_SCOPE: return GIVEN_SCOPE;
    case COLUMN_PARTIAL: return GIVEN_PARTIAL;
    case COLUMN_OF: return GIVEN_OF;
    case COLUMN_MINE: return GIVEN_MINE;
    default: return GIVEN;
    }
}

static int changes_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    int at[GIVEN], n = 0;
    for (int i = 0; i < GIVEN; i++) at[i] = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn, given = given_by(column);
        unsigned char op = info->aConstraint[i].op;
        if (op != SQLITE_INDEX_CONSTRAINT_EQ && op != SQLITE_INDEX_CONSTRAINT_IS) continue;
        if (column == COLUMN_UPTO || column == COLUMN_KEY_COLUMNS) return too_many(base);
        if (given == GIVEN) continue;
        if (!info->aConstraint[i].usable) return SQLITE_CONSTRAINT;
        at[given] = i;
    }
    for (int i = 0; i < GIVEN; i++) {
        if (at[i] < 0) continue;
        info->idxNum |= 1 << i;
        info->aConstraintUsage[at[i]].argvIndex = ++n;
        info->aConstraintUsage[at[i]].omit = 1;
    }
    /* Without `since` it is a part of a statement that SQLite weighs, or an error of xFilter. */
    info->estimatedCost = at[GIVEN_SINCE] < 0 ? 1e99 : 1e6;
    return SQLITE_OK;
}

static int changes_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor)
{
    (void)base;
    changes_cursor *made = sqlite3_malloc64(sizeof *made);
    if (!made) return SQLITE_NOMEM;
    memset(made, 0, sizeof *made);
    made->feed.eof = true;
    *cursor = &made->base;
    return SQLITE_OK;
}

static int changes_close(sqlite3_vtab_cursor *base)
{
    ctr_feed_close(&((changes_cursor *)base)->feed);
    sqlite3_free(base);
    return SQLITE_OK;
}

/* "3/64": the fourth of 64. */
static bool digest_bucket_from_text(ctr_bucket *bucket, const char *text)
{
    char *end;
    if (*text < '0' || *text > '9') return false;
    bucket->number = strtoll(text, &end, 10);
    if (*end != '/' || end[1] < '1' || end[1] > '9') return false;
    bucket->of = strtoll(end + 1, &end, 10);
    return !*end && bucket->of <= CTR_BUCKETS_MAX && bucket->number < bucket->of;
}

static void take_bucket(ctr_conn *conn, ctr_bucket *bucket, sqlite3_value *value)
{
    const char *part = ctr_text_value(conn, value);
    if (ctr_rc(conn) == SQLITE_OK && (!part || !digest_bucket_from_text(bucket, part)))
        ctr_problem_mismatch(conn, "bucket", "TEXT such as '3/64', from counter_digests", value);
}

/* Returns the name of a source, which the value lends; NULL if it is none. */
static const char *take_source_name(ctr_conn *conn, const char *what, sqlite3_value *value)
{
    ctr_marks_source source;
    const char *text = ctr_text_value(conn, value);
    if (text && ctr_marks_source_of(text, (size_t)sqlite3_value_bytes(value), &source)) return text;
    if (text || ctr_rc(conn) == SQLITE_OK)
        ctr_problem_mismatch(conn, what, "TEXT from counter_changes, the UUID of a file", value);
    return NULL;
}

static int changes_filter(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int argc,
                          sqlite3_value **argv)
{
    (void)plan_text;
    (void)argc;
    changes_cursor *cursor = (changes_cursor *)base;
    changes_table *table = (changes_table *)base->pVtab;
    ctr_problem problem;
    ctr_problem_begin(table->joined.conn, &problem);
    ctr_feed_query query = {.since = 0};
    ctr_feed_close(&cursor->feed);
    cursor->row = 0;
    ctr_shared_check_name(table->joined.conn, FUNCTION);
    if (plan & 1 << GIVEN_SINCE)
        query.since = ctr_arg_between(table->joined.conn, "since", "an INTEGER, 0 or more", *argv++,
                                      0, INT64_MAX);
    else
        ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                        "one argument is needed, the sequence number to begin at: 0, or the result "
                        "of counter_mark(); its rows can only be inserted");
    if (plan & 1 << GIVEN_BUCKET) take_bucket(table->joined.conn, &query.bucket, *argv++);
    if (plan & 1 << GIVEN_OWN)
        query.own = ctr_arg_between(table->joined.conn, "own", "0 or 1", *argv++, 0, 1);
    if (plan & 1 << GIVEN_SCOPE) query.scope = *argv++;
    if (plan & 1 << GIVEN_PARTIAL)
        query.partial = ctr_arg_between(table->joined.conn, "partial", "0 or 1", *argv++, 0, 1);
    if (plan & 1 << GIVEN_OF && sqlite3_value_type(*argv) != SQLITE_NULL)
        query.of = take_source_name(table->joined.conn, "of", *argv);
    argv += plan >> GIVEN_OF & 1;
    if (plan & 1 << GIVEN_MINE && sqlite3_value_type(*argv) != SQLITE_NULL)
        query.mine = ctr_arg_between(table->joined.conn, "mine", "an INTEGER, 0 or more", *argv, 0,
                                     INT64_MAX);
    if (problem.rc == SQLITE_OK) ctr_feed_open(&cursor->feed, table->joined.conn, &query);
    return fail_changes(base->pVtab, &problem);
}

static int changes_next(sqlite3_vtab_cursor *base)
{
    ctr_problem problem;
    ctr_problem_begin(((ctr_joined *)base->pVtab)->conn, &problem);
    changes_cursor *cursor = (changes_cursor *)base;
    ctr_feed_next(&cursor->feed);
    cursor->row++;
    return fail_changes(base->pVtab, &problem);
}

static int changes_eof(sqlite3_vtab_cursor *base)
{
    return ((changes_cursor *)base)->feed.eof;
}

static int changes_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    const ctr_feed *feed = &((changes_cursor *)base)->feed;
    char part[48];
    switch (column) {
    case COLUMN_TABLE: sqlite3_result_text(ctx, feed->table, -1, SQLITE_TRANSIENT); break;
    case COLUMN_KEY:
        if (feed->key.size == 0)
            sqlite3_result_zeroblob(ctx, 0);
        else
            sqlite3_result_blob64(ctx, feed->key.bytes, feed->key.size, SQLITE_TRANSIENT);
        break;
    case COLUMN_CHANGE:
        sqlite3_result_blob64(ctx, feed->change.bytes, feed->change.size, SQLITE_TRANSIENT);
        break;
    case COLUMN_SEQ: sqlite3_result_int64(ctx, feed->number); break;
    case COLUMN_SOURCE: sqlite3_result_text(ctx, feed->name, -1, SQLITE_TRANSIENT); break;
    case COLUMN_SINCE: sqlite3_result_int64(ctx, feed->query.since); break;
    case COLUMN_BUCKET:
        if (feed->query.bucket.of == 0) break;
        sqlite3_snprintf(sizeof part, part, "%lld/%lld", (long long)feed->query.bucket.number,
                         (long long)feed->query.bucket.of);
        sqlite3_result_text(ctx, part, -1, SQLITE_TRANSIENT);
        break;
    case COLUMN_UPTO: /* a copy of the file that was read before may be older than the mark */
        if (feed->query.bucket.of == 0)
            sqlite3_result_int64(ctx, feed->giver.next > feed->query.since ? feed->giver.next
                                                                           : feed->query.since);
        break;
    case COLUMN_SCOPE: sqlite3_result_text(ctx, feed->scope.text, -1, SQLITE_TRANSIENT); break;
    case COLUMN_OWN: sqlite3_result_int(ctx, feed->query.own); break;
    case COLUMN_PARTIAL: sqlite3_result_int(ctx, feed->query.partial); break;
    case COLUMN_OF:
    case COLUMN_MINE: break;
    default: sqlite3_result_text(ctx, feed->key_text, -1, SQLITE_TRANSIENT); break;
    }
    return SQLITE_OK;
}

static int changes_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = ((changes_cursor *)base)->row;
    return SQLITE_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void check_type(ctr_conn *conn, sqlite3_value **columns, int column, int type,
                       const char *wanted)
{
    if (sqlite3_value_type(columns[column]) != type)
        ctr_problem_mismatch(conn, NAMES[column], wanted, columns[column]);
}

static void check_common(ctr_conn *conn, sqlite3_value **columns)
{
    check_type(conn, columns, COLUMN_TABLE, SQLITE_TEXT, "TEXT");
    check_type(conn, columns, COLUMN_KEY, SQLITE_BLOB, "a BLOB");
    check_type(conn, columns, COLUMN_CHANGE, SQLITE_BLOB, "a BLOB");
    ctr_arg_between(conn, "seq", "an INTEGER, 0 or more", columns[COLUMN_SEQ], 0, INT64_MAX);
    check_type(conn, columns, COLUMN_SOURCE, SQLITE_TEXT, "TEXT");
    if (sqlite3_value_type(columns[COLUMN_KEY_COLUMNS]) != SQLITE_NULL)
        check_type(conn, columns, COLUMN_KEY_COLUMNS, SQLITE_TEXT, "TEXT");
    if (sqlite3_value_type(columns[COLUMN_UPTO]) != SQLITE_NULL)
        ctr_arg_between(conn, "upto", "an INTEGER, 0 or more", columns[COLUMN_UPTO], 0, INT64_MAX);
    for (int i = COLUMN_SINCE; i <= COLUMN_MINE; i++)
        if (i != COLUMN_UPTO && i != COLUMN_KEY_COLUMNS && i != COLUMN_SCOPE &&
            sqlite3_value_type(columns[i]) != SQLITE_NULL)
            ctr_problem_set(conn, SQLITE_ERROR, "column %s cannot be written", NAMES[i]);
}

static bool take_change(ctr_conn *conn, ctr_change *change, sqlite3_value **columns)
{
    check_common(conn, columns);
    if (ctr_rc(conn) != SQLITE_OK) return false;
    change->table = ctr_text_value(conn, columns[COLUMN_TABLE]);
    change->bytes = sqlite3_value_blob(columns[COLUMN_CHANGE]);
    change->size = (size_t)sqlite3_value_bytes(columns[COLUMN_CHANGE]);
    change->key = sqlite3_value_blob(columns[COLUMN_KEY]);
    change->key_size = (size_t)sqlite3_value_bytes(columns[COLUMN_KEY]);
    change->key_text = ctr_text_value(conn, columns[COLUMN_KEY_COLUMNS]);
    if (sqlite3_value_type(columns[COLUMN_SCOPE]) != SQLITE_NULL)
        change->scope = columns[COLUMN_SCOPE];
    if (change->key_size && !change->key) ctr_problem_nomem(conn);
    if (change->size && !change->bytes) ctr_problem_nomem(conn);
    ctr_marks_source from;
    sqlite3_value *source = columns[COLUMN_SOURCE];
    const char *text = ctr_text_value(conn, source);
    size_t size = (size_t)sqlite3_value_bytes(source);
    if (text && ctr_marks_source_of(text, size, &from)) {
        bool has_upto = sqlite3_value_type(columns[COLUMN_UPTO]) == SQLITE_INTEGER;
        change->fed =
            ctr_marks_fed(&from, has_upto ? sqlite3_value_int64(columns[COLUMN_UPTO]) : 0);
    } else if (text)
        ctr_problem_mismatch(conn, "source", "TEXT from counter_changes, the UUID of a file",
                             source);
    return ctr_rc(conn) == SQLITE_OK;
}

/* Never returns SQLITE_CONSTRAINT, because OR IGNORE must not skip a change. */
static int changes_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    changes_table *table = (changes_table *)base;
    ctr_problem problem;
    ctr_problem_begin(table->joined.conn, &problem);
    ctr_change change = {0};
    if (argc == 1 || sqlite3_value_type(argv[0]) != SQLITE_NULL)
        ctr_problem_set(table->joined.conn, SQLITE_ERROR, "its rows can only be inserted");
    ctr_shared_check_name(table->joined.conn, FUNCTION);
    if (problem.rc == SQLITE_OK && take_change(table->joined.conn, &change, argv + 2))
        ctr_apply_change(&table->apply, &change);
    *rowid = 0;
    return fail_changes(base, &problem);
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* Everything is closed at the end of a transaction. */
static int changes_commit(sqlite3_vtab *base)
{
    ctr_apply_keep(&((changes_table *)base)->apply);
    return ctr_events_commit(base);
}

static int changes_rollback(sqlite3_vtab *base)
{
    ctr_apply_forget(&((changes_table *)base)->apply);
    return ctr_events_rollback(base);
}

static int changes_rollback_to(sqlite3_vtab *base, int level)
{
    ctr_apply_release(&((changes_table *)base)->apply);
    return ctr_events_rollback_to(base, level);
}

int ctr_changes_register(sqlite3 *db, ctr_conn *conn)
{
    /* No xCreate: the table exists by itself and cannot be created. */
    static const sqlite3_module MODULE = {.iVersion = 2,
                                          .xConnect = changes_connect,
                                          .xBestIndex = changes_best_index,
                                          .xDisconnect = changes_disconnect,
                                          .xOpen = changes_open,
                                          .xClose = changes_close,
                                          .xFilter = changes_filter,
                                          .xNext = changes_next,
                                          .xEof = changes_eof,
                                          .xColumn = changes_column,
                                          .xRowid = changes_rowid,
                                          .xUpdate = changes_update,
                                          .xBegin = ctr_events_begin,
                                          .xSync = ctr_events_sync,
                                          .xCommit = changes_commit,
                                          .xRollback = changes_rollback,
                                          .xSavepoint = ctr_events_savepoint,
                                          .xRelease = ctr_events_release,
                                          .xRollbackTo = changes_rollback_to};
    return sqlite3_create_module_v2(db, FUNCTION, &MODULE, ctr_conn_hold(conn), ctr_conn_drop);
}
