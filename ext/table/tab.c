/* table/tab.c - makes, finds and frees the tables of a file, and keeps their statements. */
#include "table/table.h"

/* ---- statements ------------------------------------------------------------------------------ */

/* Those of ctr_row_take. */
static const char *found_columns(ctr_conn *conn, const ctr_shape *shape)
{
    return ctr_shape_with_row_cell(conn, shape, ctr_shape_column_list(conn, shape), 0);
}

static const char *new_columns(ctr_conn *conn, const ctr_shape *shape)
{
    const char *columns = ctr_shape_with_row_cell(
        conn, shape, ctr_shape_list(conn, shape, CTR_KEYS_FIRST, "@", ", ", 1), 0);
    return shape->linked ? ctr_text_print(conn, "%s, _id, _away", columns) : columns;
}

static const char *new_values(ctr_conn *conn, const ctr_shape *shape)
{
    const char *values = ctr_shape_list(conn, shape, CTR_KEYS_FIRST, "#", ", ", CTR_INSERT_KEYS);
    values = ctr_shape_with_row_cell(conn, shape, values, CTR_INSERT_KEYS + shape->n_columns);
    int id = ctr_row_id_parameter(shape);
    return shape->linked ? ctr_text_print(conn, "%s, ?%d, ?%d", values, id, id + 1) : values;
}

static const char *same_key(ctr_conn *conn, const ctr_shape *shape)
{
    return ctr_shape_list(conn, shape, CTR_KEYS, "(# IS NULL OR @ = # COLLATE BINARY)", " AND ", 2);
}

static const char *cells_and_keys(ctr_conn *conn, const ctr_shape *shape)
{
    return ctr_text_print(conn, "%s, %s", ctr_shape_update_changes(conn, shape),
                          ctr_shape_list(conn, shape, CTR_KEYS, "@ = coalesce(#, @)", ", ",
                                         CTR_UPDATE_COUNTERS + ctr_shape_states(shape)));
}

/* Is some floor, of the first parameters, above a key, the others? */
static const char *some_above(ctr_conn *conn, const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s?%d > ?%d COLLATE \"%w\"", i ? " OR " : "", i + 1,
                            shape->n_keys + i + 1, shape->columns[shape->keys[i]].collation);
    return ctr_text_built(conn, out);
}

static const char *floors_and_sums(ctr_conn *conn, const ctr_shape *shape)
{
    int n = shape->n_keys;
    return ctr_text_print(conn, "%s, ?%d, ?%d, ?%d",
                          ctr_shape_list(conn, shape, CTR_KEYS, "#", ", ", 1), n + 1, n + 2, n + 3);
}

/* See table/stream.c. The pointer is the last parameter, behind the keys or the row ids. */
static const char *merged_cells(ctr_conn *conn, const ctr_shape *shape, int pointer)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_counters; i++) {
        const char *name = ctr_shape_counter_name(shape, i);
        sqlite3_str_appendf(out, "%s\"%w\" = coalesce(counter_joining(?%d, %d), \"%w\")",
                            i ? ", " : "", name, pointer, i, name);
    }
    return ctr_text_built(conn, out);
}

static const char *merges_row(ctr_conn *conn, const ctr_shape *shape, int pointer)
{
    return ctr_text_print(conn, "counter_joining(?%d, _rowid_, %s)", pointer,
                          ctr_shape_column_list(conn, shape));
}

static const char *merged_by_key(ctr_conn *conn, const ctr_shape *shape)
{
    return merged_cells(conn, shape, shape->n_keys + 1);
}

static const char *merges_by_key(ctr_conn *conn, const ctr_shape *shape)
{
    return merges_row(conn, shape, shape->n_keys + 1);
}

static const char *merged_behind(ctr_conn *conn, const ctr_shape *shape)
{
    return merged_cells(conn, shape, 3);
}

static const char *merges_behind(ctr_conn *conn, const ctr_shape *shape)
{
    return merges_row(conn, shape, 3);
}

typedef const char *list_of(ctr_conn *, const ctr_shape *);

/* The lists for the placeholders of each statement; NULL: it has none. */
static const struct {
    ctr_sql sql;
    list_of *columns, *constraint, *value;
} TAB_STATEMENTS[CTR_TAB_STATEMENTS] = {
    [CTR_TAB_FIND_KEY] = {CTR_SQL_ROWS_FIND_KEY, found_columns, ctr_shape_key_match, NULL},
    [CTR_TAB_FIND_ROWID] = {CTR_SQL_ROWS_FIND_ROWID, found_columns, NULL, NULL},
    [CTR_TAB_WALK] = {CTR_SQL_ROWS_ALL, found_columns, NULL, NULL},
    [CTR_TAB_FOLLOW] = {CTR_SQL_ROWS_FOLLOW, found_columns, NULL, NULL},
    [CTR_TAB_AHEAD] = {CTR_SQL_ROWS_FOLLOW, found_columns, NULL, NULL},
    [CTR_TAB_INSERT] = {CTR_SQL_ROWS_INSERT, new_columns, new_values, NULL},
    [CTR_TAB_INSERT_NEW] = {CTR_SQL_ROWS_INSERT_NEW, new_columns, new_values, NULL},
    [CTR_TAB_UPDATE] = {CTR_SQL_ROWS_UPDATE, ctr_shape_update_changes, NULL, NULL},
    [CTR_TAB_SPELL] = {CTR_SQL_ROWS_UPDATE, cells_and_keys, NULL, NULL},
    [CTR_TAB_MERGE_KEY] = {CTR_SQL_UPDATE_KEY, merged_by_key, ctr_shape_key_match, merges_by_key},
    [CTR_TAB_WINDOW] = {CTR_SQL_ROWS_WINDOW, NULL, NULL, NULL},
    [CTR_TAB_MERGE_BEHIND] = {CTR_SQL_UPDATE_BEHIND, merged_behind, NULL, merges_behind},
    [CTR_TAB_KEY] = {CTR_SQL_ROWS_KEY, ctr_shape_key_list, NULL, NULL},
    [CTR_TAB_KEY_IS] = {CTR_SQL_ROWS_KEY_IS, NULL, same_key, NULL},
    [CTR_TAB_ROW] = {CTR_SQL_ROWS_ROW_CELL, NULL, NULL, NULL},
    [CTR_TAB_SET_ROW] = {CTR_SQL_ROWS_SET_ROW_CELL, NULL, NULL, NULL},
    [CTR_TAB_BELOW] = {CTR_SQL_ROWS_OF_PARAMETERS, NULL, some_above, NULL},
    [CTR_TAB_FLOORS] = {CTR_SQL_ROWS_OF_PARAMETERS, NULL, floors_and_sums, NULL},
    [CTR_TAB_SCAN_KEY] = {CTR_SQL_ROWS_FIND_KEY, found_columns, ctr_shape_key_match, NULL},
    [CTR_TAB_FIND_AWAY] = {CTR_SQL_HOME_FIND_AWAY, found_columns, ctr_shape_key_match, NULL},
    [CTR_TAB_FIND_AT] = {CTR_SQL_HOME_FIND_AT, found_columns, ctr_shape_key_match, NULL},
    [CTR_TAB_ANY_AWAY] = {CTR_SQL_HOME_ANY_AWAY, NULL, NULL, NULL},
    [CTR_TAB_LEAVE] = {CTR_SQL_HOME_LEAVE, NULL, NULL, NULL},
    [CTR_TAB_COME_HOME] = {CTR_SQL_HOME_COME, NULL, NULL, NULL},
    [CTR_TAB_OCCUPIED] = {CTR_SQL_HOME_OCCUPIED, NULL, NULL, NULL},
    [CTR_TAB_LOWEST] = {CTR_SQL_HOME_LOWEST, NULL, NULL, NULL},
    [CTR_TAB_HIGHEST] = {CTR_SQL_HOME_HIGHEST, NULL, NULL, NULL},
    [CTR_TAB_GREATEST] = {CTR_SQL_SPREAD_HIGHEST, NULL, NULL, NULL},
    [CTR_TAB_SHOW] = {CTR_SQL_TRACK_SHOW, NULL, NULL, NULL},
    [CTR_TAB_SHOW_NEW] = {CTR_SQL_TRACK_SHOW_NEW, NULL, NULL, NULL},
    [CTR_TAB_SHOW_DELETED] = {CTR_SQL_TRACK_SHOW_DELETED, NULL, NULL, NULL},
    [CTR_TAB_SHOWN] = {CTR_SQL_TRACK_LOOK, NULL, NULL, NULL},
    [CTR_TAB_FIND_SHOWN] = {CTR_SQL_TRACK_FIND, NULL, NULL, NULL},
};

static bool knows_number(const ctr_tab *tab)
{
    return tab->number > 0 && tab->numbered == tab->file->schemas;
}

ctr_run ctr_tab_run(const ctr_tab *tab)
{
    if (!tab) return (ctr_run){0};
    ctr_run run = ctr_run_on(tab->conn, tab->schema, tab->table);
    if (knows_number(tab)) run.tab = tab->number;
    return run;
}

static const char *list(const ctr_tab *tab, list_of *of)
{
    return of ? of(tab->conn, &tab->shape) : "";
}

static void keep_in(ctr_tab *tab, ctr_slot *slot, ctr_run *run, ctr_sql sql)
{
    slot->checked = false;
    if (!slot->temporary)
        ctr_conn_keep(tab->file->conn, &slot->kept, run, sql);
    else
        slot->kept.statement = ctr_run_prepare(run, sql);
}

static void prepare_slot(ctr_tab *tab, ctr_slot *slot, ctr_tab_sql which)
{
    ctr_text *mark = ctr_text_mark(tab->conn);
    ctr_run run = ctr_tab_run(tab);
    run.slots.columns = run.slots.changes = run.slots.keys =
        list(tab, TAB_STATEMENTS[which].columns);
    run.slots.constraint = run.slots.values = list(tab, TAB_STATEMENTS[which].constraint);
    run.slots.value = list(tab, TAB_STATEMENTS[which].value);
    ctr_sql sql = TAB_STATEMENTS[which].sql;
    if (tab->shape.linked) ctr_home_slots(tab, which, &run.slots, &sql);
    keep_in(tab, slot, &run, sql);
    ctr_text_release(tab->conn, mark);
}

void ctr_tab_release(ctr_tab *tab)
{
    for (ctr_tab_sql which = 0; which < CTR_TAB_STATEMENTS; which++)
        if (!tab->slots[which].kept.taken) ctr_conn_close_kept(&tab->slots[which].kept);
}

/* The statements may be those of another table: nobody takes them any more. */
static void expire(ctr_tab *tab, ctr_tab_sql first, ctr_tab_sql end)
{
    for (ctr_tab_sql which = first; which < end; which++) {
        ctr_kept *kept = &tab->slots[which].kept;
        kept->expired = kept->taken;
        if (!kept->taken) ctr_conn_close_kept(kept);
    }
}

/* Another table keeps statements no longer. */
static void become_keeper(ctr_tab *tab)
{
    if (tab->keeps) return;
    ctr_tab **place = &tab->file->keepers[tab->file->n_keepers++ % CTR_TABS_KEPT];
    if (*place) {
        (*place)->keeps = false;
        ctr_tab_release(*place);
    }
    *place = tab;
    tab->keeps = true;
}

static void keep_no_more(ctr_tab *tab)
{
    for (int i = 0; i < CTR_TABS_KEPT && tab->keeps; i++)
        if (tab->file->keepers[i] == tab) tab->file->keepers[i] = NULL;
    tab->keeps = false;
}

/* Takes a slot, or another one if it is taken or may not be `shared`. */
static ctr_slot *take_slot(ctr_tab *tab, ctr_tab_sql which, bool shared)
{
    if (ctr_rc(tab->conn) != SQLITE_OK) return NULL;
    ctr_slot *slot = &tab->slots[which];
    if (slot->kept.taken || !shared) {
        slot = sqlite3_malloc64(sizeof *slot);
        if (!slot) {
            ctr_problem_nomem(tab->conn);
            return NULL;
        }
        *slot = (ctr_slot){.temporary = true};
    }
    slot->kept.taken = true;
    if (!slot->kept.statement) become_keeper(tab);
    return slot;
}

/* Returns the slot if it has a statement. */
static ctr_slot *prepared(ctr_tab *tab, ctr_slot *slot)
{
    if (!slot || slot->kept.statement) return slot;
    ctr_tab_give_back(tab, slot);
    return NULL;
}

ctr_slot *ctr_tab_take(ctr_tab *tab, ctr_tab_sql which)
{
    if (!tab) return NULL;
    ctr_slot *slot = take_slot(tab, which, true);
    if (slot && !slot->kept.statement) prepare_slot(tab, slot, which);
    return prepared(tab, slot);
}

ctr_slot *ctr_tab_take_shown(ctr_tab *tab, ctr_tab_sql which, const struct ctr_tracked *tracked,
                             const ctr_slots *lists)
{
    ctr_slot *slot = take_slot(tab, which, tracked == tab->tracked);
    ctr_run run = {.conn = tab->conn, .db = tab->conn->db, .slots = *lists};
    if (slot && !slot->kept.statement) keep_in(tab, slot, &run, TAB_STATEMENTS[which].sql);
    return prepared(tab, slot);
}

void ctr_tab_track(ctr_tab *tab, struct ctr_tracked *tracked, void (*drop)(struct ctr_tracked *))
{
    expire(tab, CTR_TAB_SHOW, CTR_TAB_FIND_SHOWN + 1);
    if (tab->tracked) tab->release_tracked(tab->tracked);
    tab->tracked = tracked;
    tab->release_tracked = drop;
}

/* No statement can be kept if another object has the name counter_statements. */
static bool stays(const ctr_tab *tab, const ctr_slot *slot)
{
    return !slot->temporary && tab->file->conn->has_statements;
}

void ctr_tab_give_back(ctr_tab *tab, ctr_slot *slot)
{
    if (!slot) return;
    if (ctr_rc(tab->conn) != SQLITE_OK || slot->kept.expired || !stays(tab, slot)) {
        ctr_tab_drop(slot);
        return;
    }
    slot->kept.taken = false;
    sqlite3_reset(slot->kept.statement);
    sqlite3_clear_bindings(slot->kept.statement);
}

sqlite3_stmt *ctr_tab_take_of(ctr_tab *tab, ctr_file_sql which)
{
    int64_t number = tab ? ctr_tab_number(tab) : 0;
    sqlite3_stmt *statement = number > 0 ? ctr_file_take(tab->file, which) : NULL;
    ctr_run run = ctr_tab_run(tab);
    if (statement) ctr_run_bind_int(&run, statement, ":tab", number);
    return statement;
}

void ctr_tab_do(ctr_tab *tab, ctr_file_sql which, const char *format, ...)
{
    va_list args;
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *statement = ctr_tab_take_of(tab, which);
    if (!statement) return;
    va_start(args, format);
    ctr_run_bind(&run, statement, format, args);
    va_end(args);
    ctr_run_row(&run, statement);
    ctr_file_give_back(tab->file, which, statement);
}

void ctr_tab_drop(ctr_slot *slot)
{
    ctr_conn_close_kept(&slot->kept);
    if (slot->temporary) sqlite3_free(slot);
}

/* ---- life ------------------------------------------------------------------------------------ */

static ctr_tab *make_tab(ctr_file *file, const char *table, const ctr_shape *shape)
{
    ctr_tab *tab = sqlite3_malloc64(sizeof *tab);
    if (!tab) {
        ctr_problem_nomem(file->conn);
        return NULL;
    }
    *tab = (ctr_tab){.file = file,
                     .conn = file->conn,
                     .schema = file->schema,
                     .table = sqlite3_mprintf("%s", table),
                     .cache.n_counters = shape->n_counters};
    if (!tab->table) ctr_problem_nomem(file->conn);
    if (ctr_rc(file->conn) == SQLITE_OK &&
        ctr_shape_copy(file->conn, &tab->shape, shape) == SQLITE_OK)
        return tab;
    ctr_tab_free(tab);
    return NULL;
}

ctr_tab *ctr_tab_reordered(const ctr_tab *tab, const ctr_shape *shape)
{
    return ctr_rc(tab->conn) == SQLITE_OK ? make_tab(tab->file, tab->table, shape) : NULL;
}

void ctr_tab_free(ctr_tab *tab)
{
    if (!tab) return;
    keep_no_more(tab);
    ctr_tab_release(tab);
    ctr_tab_track(tab, NULL, NULL);
    ctr_cache_clear(&tab->cache);
    ctr_cache_clear_amounts(&tab->amounts);
    sqlite3_free(tab->batch);
    sqlite3_free(tab->marks);
    ctr_regular_close(tab);
    ctr_rights_close(tab);
    ctr_home_close(&tab->home);
    ctr_home_close_strays(tab);
    ctr_shape_close(&tab->shape);
    sqlite3_free(tab->table);
    sqlite3_free(tab);
}

ctr_tab *ctr_tab_known(ctr_file *file, const char *table)
{
    ctr_tab *tab = file->tabs;
    while (tab && sqlite3_stricmp(tab->table, table) != 0) tab = tab->next;
    return tab;
}

bool ctr_tab_read_columns(ctr_file *file, const char *table, ctr_shape *shape)
{
    *shape = (ctr_shape){0};
    const ctr_objects *objects = ctr_file_objects(file);
    ctr_tab *tab = ctr_tab_known(file, table);
    if (!objects) return false;
    if (tab && tab->read_at == file->schemas) {
        ctr_shape_copy_columns(file->conn, shape, &tab->shape);
    } else if (ctr_stored_read_text(shape, objects, table)) {
        if (!tab) tab = ctr_tab_of(file, table, shape);
        if (tab && ctr_shape_same_columns(&tab->shape, shape)) tab->read_at = file->schemas;
    } else {
        return false;
    }
    if (ctr_rc(file->conn) != SQLITE_OK) ctr_shape_close(shape);
    return ctr_rc(file->conn) == SQLITE_OK;
}

int ctr_tab_read_shape(ctr_file *file, const char *table, ctr_shape *shape)
{
    if (!ctr_tab_read_columns(file, table, shape) && ctr_rc(file->conn) == SQLITE_OK)
        return ctr_stored_read(shape, file->conn, file->schema, table);
    if (ctr_rc(file->conn) != SQLITE_OK) return ctr_rc(file->conn);
    ctr_tab *tab = ctr_tab_known(file, table);
    sqlite3_stmt *row = ctr_tab_take_of(tab, CTR_FILE_COUNTERS);
    ctr_run run = ctr_tab_run(tab);
    ctr_stored_read_generations(shape, &run, row);
    ctr_file_give_back(file, CTR_FILE_COUNTERS, row);
    return ctr_rc(file->conn);
}

/* The statements name columns, so they are those of one shape. */
static void take_shape(ctr_tab *tab, const ctr_shape *shape)
{
    if (ctr_shape_same_columns(&tab->shape, shape)) return;
    ctr_shape copy = {0};
    if (ctr_shape_copy(tab->conn, &copy, shape)) {
        ctr_shape_close(&copy);
        return;
    }
    ctr_shape_close(&tab->shape);
    tab->shape = copy;
    tab->read_at = 0;
    tab->home.as_of = 0;
    ctr_regular_forget(tab);
    expire(tab, 0, CTR_TAB_STATEMENTS);
    ctr_tab_track(tab, NULL, NULL);
    if (tab->cache.n_counters == shape->n_counters) return;
    ctr_journal_drop(tab);
    tab->cache.n_counters = shape->n_counters;
    tab->shapes++;
}

ctr_tab *ctr_tab_of(ctr_file *file, const char *table, const ctr_shape *shape)
{
    if (ctr_rc(file->conn) != SQLITE_OK) return NULL;
    ctr_tab *tab = ctr_tab_known(file, table);
    if (!tab) {
        tab = make_tab(file, table, shape);
        if (!tab) return NULL;
        tab->next = file->tabs;
        file->tabs = tab;
    }
    if (tab->schemas != file->schemas) ctr_tab_forget(file, table);
    tab->schemas = file->schemas;
    take_shape(tab, shape);
    tab->doubtful = true;
    tab->ready_at = 0;
    return ctr_rc(file->conn) == SQLITE_OK ? tab : NULL;
}

ctr_tab *ctr_tab_read(ctr_file *file, const char *table)
{
    ctr_shape shape = {0};
    bool is = ctr_tab_read_shape(file, table, &shape) == SQLITE_OK;
    ctr_tab *tab = is ? ctr_tab_of(file, table, &shape) : NULL;
    ctr_shape_close(&shape);
    return tab;
}

int64_t ctr_tab_number(ctr_tab *tab)
{
    if (ctr_rc(tab->conn) != SQLITE_OK) return 0;
    if (knows_number(tab)) return tab->number;
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_file_take(tab->file, CTR_FILE_NUMBER);
    tab->number = ctr_run_take_number(&run, row);
    tab->numbered = tab->file->schemas;
    ctr_file_give_back(tab->file, CTR_FILE_NUMBER, row);
    return tab->number;
}

void ctr_tab_forget(ctr_file *file, const char *table)
{
    ctr_tab *tab = ctr_tab_known(file, table);
    if (tab) expire(tab, 0, CTR_TAB_STATEMENTS);
    if (tab) tab->home.as_of = 0;
    if (tab && ctr_batch_pending(tab) == 0) ctr_journal_drop(tab);
}
