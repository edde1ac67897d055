/* tracked/foreign.c - reads the foreign keys of a file, and looks for the children of a row. */
#include "tracked/tracked.h"

#include <string.h>

/* ---- the foreign keys of a file -------------------------------------------------------------- */

static void free_pairs(ctr_foreign_key *key)
{
    for (int i = 0; i < key->n; i++) {
        sqlite3_free(key->pairs[i].from);
        sqlite3_free(key->pairs[i].to);
    }
    sqlite3_free(key->pairs);
    key->pairs = NULL;
    key->n = 0;
}

void ctr_foreign_release(ctr_foreign_keys *foreign)
{
    if (!foreign || --foreign->holders > 0) return;
    for (int i = 0; i < foreign->n; i++) {
        sqlite3_free(foreign->keys[i].child);
        sqlite3_free(foreign->keys[i].parent);
        free_pairs(&foreign->keys[i]);
    }
    sqlite3_free(foreign->keys);
    sqlite3_free(foreign);
}

static void free_keys(ctr_file *file)
{
    ctr_foreign_release(file->foreign);
    file->foreign = NULL;
}

typedef struct reading_keys {
    ctr_foreign_keys *foreign;
    const ctr_objects *objects;
    const char **replicated; /* owned: the replicated tables, and those with a bounded counter, of
                                which no row may go by an action; the objects lend the names */
    size_t n, room;
} reading_keys;

static bool is_any_bounded(const ctr_objects *objects, const char *counters)
{
    ctr_run run = ctr_run_on(objects->conn, objects->schema, counters);
    return ctr_run_once(&run, ctr_run_prepare(&run, CTR_SQL_COLUMNS_ANY_BOUNDED));
}

static void list_replicated(ctr_conn *conn, reading_keys *reading)
{
    const ctr_objects *objects = reading->objects;
    for (size_t i = 0; i < objects->n && ctr_rc(conn) == SQLITE_OK; i++) {
        const ctr_named *named = &objects->named[i];
        if (named->object != CTR_OBJECT_VIRTUAL_TABLE ||
            !ctr_tracked_is_among(objects, named->name))
            continue;
        const ctr_named *cells = ctr_schema_objects_stored(objects, named->name, "cells");
        const char *table = ctr_triggers_table(objects, named->name);
        if (!table || !cells || !cells->sql ||
            !(ctr_word_is_in("\"_row\" BLOB", cells->sql) || is_any_bounded(objects, named->name)))
            continue;
        const char **list =
            ctr_array_room(conn, reading->replicated, &reading->room, reading->n + 1, sizeof *list);
        if (!list) return;
        reading->replicated = list;
        list[reading->n++] = table;
    }
}

static bool is_replicated(const reading_keys *reading, const char *table)
{
    for (size_t i = 0; i < reading->n; i++)
        if (sqlite3_stricmp(reading->replicated[i], table) == 0) return true;
    return false;
}

/* Returns whether an action refuses the change of the parent. */
static bool is_refusing(const char *action)
{
    return strcmp(action, "NO ACTION") == 0 || strcmp(action, "RESTRICT") == 0;
}

/* Appends a foreign key without columns. Returns NULL on error. */
static ctr_foreign_key *add_foreign_key(ctr_conn *conn, ctr_foreign_keys *foreign,
                                        const char *child, const char *parent)
{
    ctr_foreign_key *keys =
        ctr_array_room(conn, foreign->keys, &foreign->room, (size_t)foreign->n + 1, sizeof *keys);
    if (!keys) return NULL;
    foreign->keys = keys;
    ctr_foreign_key *key = &keys[foreign->n++];
    *key = (ctr_foreign_key){.child = ctr_text_copy(conn, child),
                             .parent = ctr_text_copy(conn, parent)};
    return ctr_rc(conn) == SQLITE_OK ? key : NULL;
}

static void add_pair(ctr_conn *conn, ctr_foreign_key *key, const char *from, const char *to)
{
    struct ctr_foreign_pair *pairs =
        ctr_array_room(conn, key->pairs, &key->room, (size_t)key->n + 1, sizeof *pairs);
    if (!pairs) return;
    key->pairs = pairs;
    pairs[key->n].from = ctr_text_copy(conn, from);
    pairs[key->n++].to = ctr_text_copy(conn, to);
}

/* Reads the foreign keys of one table. */
static void read_keys(ctr_conn *conn, reading_keys *reading, const char *child)
{
    const ctr_objects *objects = reading->objects;
    ctr_run run = ctr_run_on(objects->conn, objects->schema, NULL);
    run.slots.name = child;
    bool replicated = is_replicated(reading, child);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_FOREIGN_KEYS);
    ctr_foreign_key *key = NULL;
    ctr_ordinary parent = {0};
    while (ctr_run_row(&run, row)) {
        int part = sqlite3_column_int(row, 1);
        const char *name = ctr_text_column(conn, row, 2), *from = ctr_text_column(conn, row, 3),
                   *to = ctr_text_column(conn, row, 4), *on_update = ctr_text_column(conn, row, 5),
                   *on_delete = ctr_text_column(conn, row, 6);
        if (!name || !from || !on_update || !on_delete || ctr_rc(conn) != SQLITE_OK) continue;
        if (part == 0) {
            key = add_foreign_key(conn, reading->foreign, child, name);
            if (key) key->travels = replicated;
            if (key) key->forbids = is_refusing(on_delete);
            if (key) key->fixes = is_refusing(on_update);
            ctr_ordinary_close(&parent);
            parent = (ctr_ordinary){0};
            ctr_ordinary_read(&parent, objects->conn, objects->schema, name);
        }
        if (!to) to = ctr_ordinary_key(&parent, part);
        if (!key) continue;
        if (to && ctr_ordinary_column(&parent, to) && key->n == part)
            add_pair(conn, key, from, to);
        else
            free_pairs(key);
    }
    sqlite3_finalize(row);
    ctr_ordinary_close(&parent);
}

const ctr_foreign_keys *ctr_foreign_keys_of(ctr_file *file)
{
    const ctr_objects *objects = ctr_file_objects(file);
    if (!objects || ctr_rc(file->conn) != SQLITE_OK) return NULL;
    if (file->foreign && file->foreign->as_of == file->schemas) return file->foreign;
    free_keys(file);
    ctr_foreign_keys *foreign = sqlite3_malloc64(sizeof *foreign);
    if (!foreign) {
        ctr_problem_nomem(file->conn);
        return NULL;
    }
    *foreign = (ctr_foreign_keys){.as_of = file->schemas, .holders = 1};
    file->foreign = foreign;
    file->free_foreign = free_keys;
    reading_keys reading = {.foreign = foreign, .objects = objects};
    list_replicated(file->conn, &reading);
    for (size_t i = 0; i < objects->n && ctr_rc(file->conn) == SQLITE_OK; i++) {
        const ctr_named *named = &objects->named[i];
        if (named->object == CTR_OBJECT_TABLE && named->sql &&
            ctr_word_is_in("REFERENCES", named->sql))
            read_keys(file->conn, &reading, named->name);
    }
    sqlite3_free(reading.replicated);
    if (ctr_rc(file->conn) == SQLITE_OK) return foreign;
    free_keys(file);
    return NULL;
}

ctr_foreign_keys *ctr_foreign_hold(ctr_file *file)
{
    ctr_foreign_keys *foreign = ctr_foreign_keys_of(file) ? file->foreign : NULL;
    if (foreign) foreign->holders++;
    return foreign;
}

bool ctr_foreign_is_child(const ctr_foreign_keys *foreign, const char *table)
{
    for (int i = 0; i < foreign->n; i++)
        if (sqlite3_stricmp(foreign->keys[i].child, table) == 0) return true;
    return false;
}

bool ctr_foreign_is_parent(const ctr_foreign_keys *foreign, const char *table)
{
    for (int i = 0; i < foreign->n; i++)
        if (sqlite3_stricmp(foreign->keys[i].parent, table) == 0) return true;
    return false;
}

bool ctr_foreign_is_to_key(const ctr_foreign_key *key, const ctr_tracked *parent)
{
    for (int i = 0; i < key->n; i++) {
        int column = ctr_tracked_named(parent, key->pairs[i].to);
        if (column < 0 || column >= parent->shape->n_keys) return false;
    }
    return key->n == parent->shape->n_keys;
}

bool ctr_foreign_refers(const ctr_foreign_keys *foreign, const char *child, const char *column,
                        const char *parent)
{
    for (int i = 0; i < foreign->n; i++) {
        const ctr_foreign_key *key = &foreign->keys[i];
        if (sqlite3_stricmp(key->child, child) != 0 || sqlite3_stricmp(key->parent, parent) != 0)
            continue;
        for (int j = 0; j < key->n; j++)
            if (sqlite3_stricmp(key->pairs[j].from, column) == 0) return true;
    }
    return false;
}

/* Marks the keys whose child is this table, then those of their parents, and so on. Returns whether
 * one of them leads back to `goal`. */
static bool leads_to(const ctr_foreign_keys *foreign, const char *table, const char *goal,
                     bool *marked)
{
    bool leads = false;
    for (int i = 0; i < foreign->n && !leads; i++) {
        const ctr_foreign_key *key = &foreign->keys[i];
        if (marked[i] || sqlite3_stricmp(key->child, table) != 0) continue;
        marked[i] = true;
        leads =
            sqlite3_stricmp(key->parent, goal) == 0 || leads_to(foreign, key->parent, goal, marked);
    }
    return leads;
}

bool ctr_foreign_is_in_circle(ctr_conn *conn, const ctr_foreign_keys *foreign, const char *table)
{
    bool *marked = ctr_rc(conn) == SQLITE_OK ? sqlite3_malloc64((size_t)foreign->n + 1) : NULL;
    if (!marked) ctr_problem_nomem(conn);
    if (marked) memset(marked, 0, (size_t)foreign->n + 1);
    bool is = marked && leads_to(foreign, table, table, marked);
    sqlite3_free(marked);
    return is;
}

/* ---- parents before children ----------------------------------------------------------------- */

typedef struct sorting {
    const ctr_foreign_keys *foreign;
    const char *const *tables;
    int n, n_sorted, *order;
    bool *begun; /* by table */
} sorting;

/* Appends a table behind its parents. */
static void append_table(sorting *to, int table)
{
    if (to->begun[table]) return;
    to->begun[table] = true;
    for (int i = 0; to->tables[table] && i < to->foreign->n; i++) {
        const ctr_foreign_key *key = &to->foreign->keys[i];
        if (sqlite3_stricmp(key->child, to->tables[table]) != 0) continue;
        for (int j = 0; j < to->n; j++)
            if (to->tables[j] && sqlite3_stricmp(key->parent, to->tables[j]) == 0)
                append_table(to, j);
    }
    to->order[to->n_sorted++] = table;
}

void ctr_foreign_sort(ctr_conn *conn, const ctr_foreign_keys *foreign, const char *const *tables,
                      int n, int *order)
{
    sorting to = {.foreign = foreign, .tables = tables, .n = n, .order = order};
    to.begun = ctr_rc(conn) == SQLITE_OK ? sqlite3_malloc64((size_t)n + 1) : NULL;
    if (!to.begun) {
        ctr_problem_nomem(conn);
        return;
    }
    memset(to.begun, 0, (size_t)n + 1);
    for (int i = 0; i < n; i++) append_table(&to, i);
    sqlite3_free(to.begun);
}

/* ---- what SQLite says of them ---------------------------------------------------------------- */

bool ctr_foreign_enforced(sqlite3 *db)
{
    int enforced = 0;
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, -1, &enforced);
    return enforced != 0;
}

bool ctr_foreign_broken(sqlite3 *db)
{
    int is = 0, high;
    sqlite3_db_status(db, SQLITE_DBSTATUS_DEFERRED_FKS, &is, &high, 0);
    return is != 0;
}

void ctr_foreign_refuse_broken(ctr_conn *conn, const char *table)
{
    if (ctr_foreign_broken(conn->db))
        ctr_problem_set(
            conn, SQLITE_ERROR,
            "the transaction violates a deferred foreign key: repair it before values are "
            "written into the tracked table %s",
            table);
}

/* ---- children -------------------------------------------------------------------------------- */

static bool is_to(const ctr_foreign_key *key, const ctr_tracked *parent)
{
    return key->n > 0 && sqlite3_stricmp(key->parent, parent->table) == 0;
}

bool ctr_foreign_keeps(const ctr_foreign_key *key, const ctr_tracked *parent)
{
    if (!is_to(key, parent)) return false;
    return key->travels || (key->forbids && ctr_foreign_enforced(parent->conn->db));
}

void ctr_foreign_list_children(const ctr_foreign_key *key, const ctr_tracked *parent,
                               sqlite3_str *out)
{
    sqlite3_str_appendf(out, " FROM \"%w\".\"%w\" AS p, \"%w\".\"%w\" AS c WHERE ", parent->schema,
                        parent->table, parent->schema, key->child);
    ctr_list_bound_key(parent, out, "p.");
    if (sqlite3_stricmp(key->child, parent->table) == 0) {
        sqlite3_str_appendall(out, " AND NOT (");
        ctr_list_bound_key(parent, out, "c.");
        sqlite3_str_appendall(out, ")");
    }
    for (int i = 0; i < key->n; i++)
        sqlite3_str_appendf(out, " AND p.\"%w\" = c.\"%w\"", key->pairs[i].to, key->pairs[i].from);
}

/* EXISTS (a child of the row with the key ?1, ?2, ...) for each foreign key that keeps the row. A
 * child that is to be deleted, too, goes first, and keeps it until then. */
static char *list_children(ctr_foreign *foreign)
{
    const ctr_tracked *tracked = foreign->tracked;
    const ctr_foreign_keys *all = ctr_foreign_keys_of(foreign->file);
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; all && i < all->n; i++) {
        if (!(foreign->all && is_to(&all->keys[i], tracked)) &&
            !ctr_foreign_keeps(&all->keys[i], tracked))
            continue;
        sqlite3_str_appendf(out, "%sEXISTS (SELECT 1", ctr_text_separator(out, " OR "));
        ctr_foreign_list_children(&all->keys[i], tracked, out);
        sqlite3_str_appendall(out, ")");
    }
    if (sqlite3_str_errcode(out) != SQLITE_OK) ctr_problem_nomem(foreign->tracked->conn);
    return sqlite3_str_finish(out); /* NULL: there is none, or no memory */
}

static sqlite3_stmt *prepare_children(ctr_foreign *foreign)
{
    ctr_conn *conn = foreign->tracked->conn;
    if (foreign->children || foreign->childless || ctr_rc(conn) != SQLITE_OK)
        return foreign->children;
    const ctr_tracked *tracked = foreign->tracked;
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, NULL);
    char *children = list_children(foreign);
    run.slots.value = children;
    if (children) foreign->children = ctr_run_prepare(&run, CTR_SQL_TRACK_VALUE);
    foreign->childless = !children && ctr_rc(conn) == SQLITE_OK;
    sqlite3_free(children);
    return foreign->children;
}

void ctr_foreign_close(ctr_foreign *foreign)
{
    sqlite3_finalize(foreign->children);
    *foreign = (ctr_foreign){0};
}

bool ctr_foreign_has_children(ctr_foreign *foreign, sqlite3_value **keys)
{
    const ctr_tracked *tracked = foreign->tracked;
    sqlite3_stmt *row = prepare_children(foreign);
    if (!row || ctr_tracked_bind_key(tracked, row, keys)) return false;
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, NULL);
    bool has = ctr_run_row(&run, row) && sqlite3_column_int(row, 0);
    sqlite3_reset(row);
    return has;
}
