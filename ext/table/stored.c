/* table/stored.c - creates, renames, drops and reads the stored tables; their catalog; what may not
 * stand on them. */
#include "table/table.h"

#include <stdlib.h>
#include <string.h>

/* =================================================================================================
 * catalog - keeps the list of counter tables. */

int ctr_catalog_copy(ctr_conn *conn, ctr_catalog_entry *entry, const ctr_catalog_entry *of)
{
    *entry = *of;
    entry->name = sqlite3_mprintf("%s", of->name);
    entry->birth = sqlite3_mprintf("%s", of->birth);
    return entry->name && entry->birth ? ctr_rc(conn) : ctr_problem_nomem(conn);
}

static int take_entry(ctr_conn *conn, ctr_catalog_entry *entry, sqlite3_stmt *row)
{
    const char *name = ctr_text_column(conn, row, 0), *birth = ctr_text_column(conn, row, 1);
    const void *token = sqlite3_column_blob(row, 2);
    if (!name || !*name || !birth || !*birth)
        return ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
                               "counter_tables is damaged: a table without a name");
    if (!token || sqlite3_column_bytes(row, 2) != CTR_ID_SIZE)
        return ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
                               "counter_tables is damaged: the token of %s is not %d bytes", name,
                               CTR_ID_SIZE);
    ctr_catalog_entry lent = {.name = (char *)name, .birth = (char *)birth};
    memcpy(lent.token, token, CTR_ID_SIZE);
    return ctr_catalog_copy(conn, entry, &lent);
}

void ctr_catalog_close_entry(ctr_catalog_entry *entry)
{
    sqlite3_free(entry->name);
    sqlite3_free(entry->birth);
    *entry = (ctr_catalog_entry){0};
}

static bool ask_entry(ctr_catalog_entry *entry, ctr_conn *conn, const char *schema, ctr_sql which,
                      const char *name)
{
    ctr_run run = ctr_run_on(conn, schema, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, which);
    ctr_run_bind_text(&run, row, ":name", name);
    bool found = ctr_run_row(&run, row) && take_entry(conn, entry, row) == SQLITE_OK;
    if (!found) ctr_run_refuse_hidden(&run, row, 3, "counter_tables");
    sqlite3_finalize(row);
    return found;
}

static bool look_up(ctr_catalog_entry *entry, ctr_conn *conn, const char *schema, ctr_sql which,
                    const char *name)
{
    *entry = (ctr_catalog_entry){0};
    return ctr_schema_is_table(conn, schema, "counter_tables") &&
           ask_entry(entry, conn, schema, which, name);
}

bool ctr_catalog_born(ctr_catalog_entry *entry, ctr_conn *conn, const char *schema,
                      const char *birth)
{
    return look_up(entry, conn, schema, CTR_SQL_CATALOG_BORN, birth);
}

bool ctr_catalog_named(ctr_catalog_entry *entry, ctr_conn *conn, const char *schema,
                       const char *table)
{
    return look_up(entry, conn, schema, CTR_SQL_CATALOG_NAMED, table);
}

void ctr_catalog_add(ctr_conn *conn, const char *schema, const char *table, const char *birth)
{
    ctr_catalog_entry holder;
    if (ctr_catalog_born(&holder, conn, schema, birth))
        ctr_problem_set(conn, SQLITE_ERROR,
                        "the table '%s' was created with this name, by which sync matches tables",
                        holder.name);
    ctr_catalog_close_entry(&holder);
    ctr_run run = ctr_run_on(conn, schema, NULL);
    ctr_run_do(&run, CTR_SQL_CATALOG_CREATE, NULL);
    ctr_run_with(&run, CTR_SQL_CATALOG_INSERT, ":name t :birth t", table, birth);
    ctr_run_do(&run, CTR_SQL_CATALOG_MARK, NULL);
}

void ctr_catalog_remove(ctr_conn *conn, const char *schema, const char *table)
{
    if (!ctr_schema_is_table(conn, schema, "counter_tables")) return;
    ctr_run run = ctr_run_on(conn, schema, NULL);
    ctr_run_do(&run, CTR_SQL_CATALOG_DELETE, table);
}

void ctr_catalog_rename(ctr_conn *conn, const char *schema, const char *table, const char *to)
{
    ctr_run run = ctr_run_on(conn, schema, NULL);
    ctr_run_with(&run, CTR_SQL_CATALOG_RENAME, ":name t :to t", table, to);
}

static int by_birth(const void *a, const void *b)
{
    return sqlite3_stricmp(((const ctr_catalog_entry *)a)->birth,
                           ((const ctr_catalog_entry *)b)->birth);
}

/* Returns how many tables stand before this birth name. */
static int count_born_before(const ctr_catalog *catalog, const char *birth)
{
    int from = 0, to = catalog->n;
    while (from < to) {
        int middle = from + (to - from) / 2;
        if (sqlite3_stricmp(catalog->entries[middle].birth, birth) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static ctr_catalog_entry *add_entry(ctr_conn *conn, ctr_catalog *catalog)
{
    ctr_catalog_entry *entries = ctr_array_room(conn, catalog->entries, &catalog->room,
                                                (size_t)catalog->n + 1, sizeof *entries);
    if (!entries) return NULL;
    catalog->entries = entries;
    entries[catalog->n] = (ctr_catalog_entry){0};
    return &entries[catalog->n++];
}

void ctr_catalog_read(ctr_catalog *catalog, ctr_file *file)
{
    const ctr_objects *objects = ctr_file_objects(file);
    ctr_catalog_close(catalog);
    if (!objects || !ctr_schema_objects_is_table(objects, "counter_tables")) return;
    ctr_run run = ctr_file_run(file);
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_LIST);
    while (ctr_run_row(&run, row)) {
        ctr_catalog_entry *entry = add_entry(file->conn, catalog);
        if (entry) take_entry(file->conn, entry, row);
    }
    ctr_file_give_back(file, CTR_FILE_LIST, row);
    if (ctr_rc(file->conn) == SQLITE_OK && catalog->n > 0)
        qsort(catalog->entries, (size_t)catalog->n, sizeof *catalog->entries, by_birth);
}

void ctr_catalog_list_born(ctr_catalog *catalog, ctr_file *file, const char *birth)
{
    int at = count_born_before(catalog, birth);
    ctr_catalog_entry born = {0};
    bool found = ask_entry(&born, file->conn, file->schema, CTR_SQL_CATALOG_BORN, birth);
    if (!found || !add_entry(file->conn, catalog)) {
        ctr_catalog_close_entry(&born);
        return;
    }
    ctr_catalog_entry *entries = catalog->entries;
    memmove(&entries[at + 1], &entries[at], (size_t)(catalog->n - 1 - at) * sizeof *entries);
    entries[at] = born;
}

const ctr_catalog_entry *ctr_catalog_find(const ctr_catalog *catalog, const char *birth)
{
    int at = count_born_before(catalog, birth);
    bool is = at < catalog->n && sqlite3_stricmp(catalog->entries[at].birth, birth) == 0;
    return is ? &catalog->entries[at] : NULL;
}

void ctr_catalog_close(ctr_catalog *catalog)
{
    for (int i = 0; i < catalog->n; i++) ctr_catalog_close_entry(&catalog->entries[i]);
    sqlite3_free(catalog->entries);
    *catalog = (ctr_catalog){0};
}

/* =================================================================================================
 * refuse - looks for triggers, and at the programs that SQLite makes of our statements. */

static bool is_among(const char *name, const char *const *names)
{
    while (*names && sqlite3_stricmp(name, *names) != 0) names++;
    return *names != NULL;
}

/* Is it a stored table of the counter table, or one in which it has rows? */
static bool is_stored_of(const char *name, const char *table)
{
    size_t size = strlen(table);
    if (is_among(name, ctr_stored_shared())) return true;
    if (sqlite3_strnicmp(name, table, (int)size) != 0 || name[size] != '_') return false;
    return is_among(name + size + 1, ctr_stored_suffixes());
}

static void refuse_trigger(ctr_conn *conn, const char *trigger, const char *on, const char *table,
                           bool of_file)
{
    if (!trigger || !on) return;
    if ((table && is_stored_of(on, table)) || (of_file && is_among(on, ctr_stored_of_file())))
        ctr_problem_set(conn, SQLITE_ERROR, "the stored table %s has the trigger %s: drop it first",
                        on, trigger);
}

int ctr_refuse_triggers_among(const ctr_objects *objects, const char *table, bool of_file)
{
    for (size_t i = 0; i < objects->n_triggers && ctr_rc(objects->conn) == SQLITE_OK; i++)
        refuse_trigger(objects->conn, objects->triggers[i].name, objects->triggers[i].on, table,
                       of_file);
    return ctr_rc(objects->conn);
}

void ctr_refuse_triggers(ctr_conn *conn, const char *schema, const char *table)
{
    ctr_run run = ctr_run_on(conn, schema, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_TRIGGERS);
    while (ctr_run_row(&run, row))
        refuse_trigger(conn, ctr_text_column(conn, row, 0), ctr_text_column(conn, row, 1), table,
                       false);
    sqlite3_finalize(row);
}

/* Counts the columns that a program reads or writes, by the opcodes of SQLite for them. */
static int count_opcodes(ctr_run *run, ctr_sql which, const char *one, const char *other)
{
    int n = 0;
    sqlite3_stmt *row = ctr_run_prepare(run, which);
    while (ctr_run_row(run, row)) {
        const char *opcode = ctr_text_column(run->conn, row, 1);
        n += opcode && (strcmp(opcode, one) == 0 || strcmp(opcode, other) == 0);
    }
    sqlite3_finalize(row);
    return n;
}

/* A hidden column is a NULL without a declared type. A key column may be declared without one. */
bool ctr_refuse_is_hiding(const ctr_shape *shape, sqlite3_stmt *row, bool keys)
{
    bool hides = ctr_run_is_hidden(row, CTR_FIND_ROWID);
    for (int i = 0; keys && i < shape->n_keys; i++)
        hides = hides || (shape->columns[shape->keys[i]].affinity != CTR_AFFINITY_BLOB &&
                          ctr_run_is_hidden(row, CTR_FIND_COLUMNS + shape->keys[i]));
    for (int i = 0; i < shape->n_counters; i++)
        hides = hides || ctr_run_is_hidden(row, CTR_FIND_COLUMNS + shape->counters[i]);
    return hides;
}

int ctr_refuse_hidden(ctr_conn *conn, const char *table)
{
    return ctr_problem_set(conn, SQLITE_AUTH,
                           "an authorizer of this connection hides columns of %s_cells or the "
                           "journal: what is counted there would be lost",
                           table);
}

int ctr_refuse_hidden_state(ctr_conn *conn)
{
    return ctr_problem_set(conn, SQLITE_AUTH,
                           "an authorizer of this connection hides columns of counter_state");
}

void ctr_refuse_hidden_by(ctr_slot *slot, const ctr_tab *tab)
{
    slot->checked = !ctr_refuse_is_hiding(&tab->shape, slot->kept.statement, true);
    if (!slot->checked) ctr_refuse_hidden(tab->conn, tab->table);
}

void ctr_refuse_ignored_entries(const ctr_file *file)
{
    enum { PARAMETERS = 3 };
    ctr_run run = ctr_file_run(file);
    if (count_opcodes(&run, CTR_SQL_JOURNAL_EXPLAIN, "Variable", "Variable") < PARAMETERS)
        ctr_problem_set(file->conn, SQLITE_AUTH,
                        "an authorizer of this connection ignores columns of counter_journal: what "
                        "is counted there would be lost");
}

void ctr_refuse_ignored_columns(const ctr_tab *tab, const ctr_shape *shape)
{
    enum { JOURNAL_COLUMNS = 7 };
    const char *counters = ctr_shape_counter_list(tab->conn, shape),
               *changes = ctr_shape_update_changes(tab->conn, shape);
    ctr_run run = ctr_tab_run(tab);
    run.slots.columns = counters;
    run.slots.changes = changes;
    if (count_opcodes(&run, CTR_SQL_SCHEMA_EXPLAIN_CELLS, "Column", "Rowid") < shape->n_counters ||
        count_opcodes(&run, CTR_SQL_SCHEMA_EXPLAIN_JOURNAL, "Column", "Rowid") < JOURNAL_COLUMNS ||
        count_opcodes(&run, CTR_SQL_ROWS_EXPLAIN, "Variable", "Variable") <=
            shape->n_counters + shape->replicated)
        ctr_refuse_hidden(tab->conn, tab->table);
}

/* =================================================================================================
 * stored - the tables themselves: their columns, as CREATE TABLE or SQLite tells them. */

const char *const *ctr_stored_suffixes(void)
{
    static const char *const suffixes[] = {"cells", NULL};
    return suffixes;
}

const char *const *ctr_stored_of_file(void)
{
    static const char *const tables[] = {"counter_tables",
                                         "counter_replica",
                                         "counter_conflicts",
                                         "counter_sources",
                                         "counter_peers",
                                         "counter_untracked",
                                         "counter_journal",
                                         "counter_segments",
                                         "counter_state",
                                         "counter_requests",
                                         NULL};
    return tables;
}

const char *const *ctr_stored_shared(void)
{
    static const char *const tables[] = {"counter_journal", "counter_segments", "counter_state",
                                         "counter_requests", NULL};
    return tables;
}

bool ctr_stored_shares(const ctr_objects *objects)
{
    bool is = true;
    for (const char *const *name = ctr_stored_shared(); *name; name++) {
        const ctr_named *named = ctr_schema_objects_find(objects, *name);
        is = is && named && named->object == CTR_OBJECT_TABLE && !ctr_schema_may_generate(named);
    }
    return is;
}

/* ---- creating -------------------------------------------------------------------------------- */

static const char *definition_list(ctr_conn *conn, const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_columns; i++) {
        const ctr_column *column = &shape->columns[i];
        sqlite3_str_appendf(out, "%s\"%w\" ", i ? ", " : "", column->name);
        if (column->key < 0)
            sqlite3_str_appendall(out, column->kind->stored);
        else if (shape->keyed)
            sqlite3_str_appendall(out, "INTEGER PRIMARY KEY");
        else
            sqlite3_str_appendf(out, "%s COLLATE \"%w\" NOT NULL", column->type, column->collation);
    }
    if (shape->replicated) sqlite3_str_appendall(out, ", \"_row\" BLOB");
    return ctr_text_built(conn, out);
}

static ctr_sql create_cells(const ctr_shape *shape)
{
    return shape->keyed    ? CTR_SQL_SCHEMA_CREATE_CELLS_BY_KEY
           : shape->linked ? CTR_SQL_SCHEMA_CREATE_CELLS_AT_ROWS
                           : CTR_SQL_SCHEMA_CREATE_CELLS;
}

/* Makes the tables that all counter tables of the file share, unless it has them. A table of the
 * user may have the name. */
static void create_shared(ctr_conn *conn, const char *schema)
{
    ctr_run run = ctr_run_on(conn, schema, NULL);
    ctr_run_do(&run, CTR_SQL_JOURNAL_CREATE, NULL);
    ctr_run_do(&run, CTR_SQL_SEGMENTS_CREATE, NULL);
    ctr_run_do(&run, CTR_SQL_STATE_CREATE, NULL);
    ctr_run_do(&run, CTR_SQL_REQUESTS_CREATE, NULL);
    for (const char *const *name = ctr_stored_shared(); *name && ctr_rc(conn) == SQLITE_OK; name++)
        if (sqlite3_table_column_metadata(conn->db, schema, *name, NULL, NULL, NULL, NULL, NULL,
                                          NULL) != SQLITE_OK) /* it may be a view */
            ctr_schema_is_table(conn, schema, *name);
    if (ctr_rc(conn) != SQLITE_OK) return;
    ctr_problem other;
    ctr_problem_try(conn, &other);
    sqlite3_finalize(ctr_run_prepare(&run, CTR_SQL_SCHEMA_EXPLAIN_JOURNAL));
    sqlite3_finalize(ctr_run_prepare(&run, CTR_SQL_SCHEMA_DESCRIBE_STATE));
    bool is_other = other.rc == SQLITE_ERROR;
    ctr_problem_raise_if(conn, &other, !is_other);
    if (is_other)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "the names counter_journal, counter_segments, counter_state and "
                        "counter_requests are reserved, and the file has a table of that name with "
                        "other columns: rename it first");
}

void ctr_stored_create(const ctr_shape *shape, ctr_conn *conn, const char *schema,
                       const char *table)
{
    if (ctr_rc(conn) != SQLITE_OK) return;
    const char *definition = definition_list(conn, shape), *keys = ctr_shape_key_list(conn, shape);
    ctr_run run = ctr_run_on(conn, schema, table);
    run.slots.definition = definition;
    run.slots.keys = keys;
    ctr_run_do(&run, create_cells(shape), NULL);
    if (shape->linked) ctr_run_do(&run, CTR_SQL_HOME_INDEX, NULL);
    create_shared(conn, schema);
}

/* Returns what the declaration of a counter table has in PRIMARY KEY (...). */
static const char *declared_key(ctr_conn *conn, const char *sql)
{
    static const char KEY[] = "PRIMARY KEY (";
    const char *last = NULL;
    for (const char *at = sql; (at = strstr(at, KEY)); at++) last = at + sizeof KEY - 1;
    ctr_words words = {.at = last ? last : ""};
    do {
        ctr_word_next(&words);
    } while (words.kind != CTR_WORD_END && !ctr_word_at_mark(&words, ')'));
    return ctr_text_print(conn, "%.*s", last ? (int)(words.word.text - last) : 0, last);
}

bool ctr_stored_lacks_index(ctr_file *file, const char *table)
{
    const ctr_objects *objects = ctr_file_objects(file);
    const ctr_named *cells = objects ? ctr_schema_objects_stored(objects, table, "cells") : NULL,
                    *declared = objects ? ctr_schema_objects_find(objects, table) : NULL;
    bool linked = cells && cells->sql && ctr_word_is_in("_away INTEGER", cells->sql);
    return linked && declared && declared->sql &&
           !ctr_schema_objects_stored(objects, table, "cells_away");
}

void ctr_stored_mend_index(ctr_file *file, const char *table)
{
    ctr_conn *conn = file->conn;
    if (!ctr_stored_lacks_index(file, table)) return;
    const ctr_objects *objects = ctr_file_objects(file);
    const ctr_named *declared = objects ? ctr_schema_objects_find(objects, table) : NULL;
    if (!declared) return;
    ctr_run run = ctr_run_on(conn, file->schema, table);
    run.slots.keys = declared_key(conn, declared->sql);
    ctr_run_do(&run, CTR_SQL_HOME_INDEX, NULL);
    ctr_session_renew(conn); /* CREATE INDEX has expired its statements */
}

void ctr_stored_drop(ctr_conn *conn, const char *schema, const char *table)
{
    ctr_run run = ctr_run_on(conn, schema, table);
    ctr_run_do(&run, CTR_SQL_SCHEMA_DROP_CELLS, NULL);
}

void ctr_stored_forget(ctr_tab *tab)
{
    ctr_run run = ctr_tab_run(tab);
    ctr_run_do(&run, CTR_SQL_STATE_DROP, NULL);
    ctr_run_do(&run, CTR_SQL_REQUESTS_DROP, NULL);
}

void ctr_stored_rename(ctr_conn *conn, const char *schema, const char *table, const char *to)
{
    ctr_run run = ctr_run_on(conn, schema, table);
    run.slots.name = to;
    ctr_run_do(&run, CTR_SQL_SCHEMA_RENAME_CELLS, NULL);
}

int ctr_stored_damaged(ctr_conn *conn, const char *what, const char *name)
{
    return ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
                           "the stored table counter_state is damaged: %s%s", what, name);
}

/* ---- reading: the key ------------------------------------------------------------------------ */

static const char NO_KEY[] = "it has no UNIQUE constraint over the key",
                  NO_INDEX[] = "its index was dropped: counter_track or counter_replicate of the "
                               "tracked table makes it again";

static int damaged(ctr_run *run, const char *what, const char *name)
{
    return ctr_problem_set(run->conn, SQLITE_CORRUPT_VTAB,
                           "the stored table %s_cells is damaged: %s%s", run->slots.table, what,
                           name);
}

/* The key columns as one index sees them: for each the column id and the collation. */
typedef struct key_columns {
    int *cids;
    char **collations;
    int n;
} key_columns;

static void key_columns_close(key_columns *keys)
{
    for (int i = 0; i < keys->n; i++) sqlite3_free(keys->collations[i]);
    sqlite3_free(keys->cids);
    sqlite3_free(keys->collations);
    *keys = (key_columns){0};
}

/* Reads the columns of one UNIQUE constraint. One with a column of our own is not the key. */
static void read_index(ctr_run *run, const char *index, key_columns *keys)
{
    key_columns found = {0};
    bool ours = false;
    ctr_run of_index = *run;
    of_index.slots.name = index;
    sqlite3_stmt *row = ctr_run_prepare(&of_index, CTR_SQL_SCHEMA_INDEX_COLUMNS);
    while (ctr_run_row(run, row)) {
        const char *name = ctr_text_column(run->conn, row, 2);
        if (!sqlite3_column_int(row, 5)) continue;
        if (!name) damaged(run, "its UNIQUE constraint is over an expression", "");
        if (name && *name == '_') ours = true;
        if (sqlite3_column_int(row, 3)) damaged(run, "its UNIQUE constraint descends", "");
        const char *collation = ctr_text_column(run->conn, row, 4);
        size_t n = (size_t)found.n + 1;
        int *cids = sqlite3_realloc64(found.cids, n * sizeof *cids);
        if (cids) found.cids = cids;
        char **collations = sqlite3_realloc64(found.collations, n * sizeof *collations);
        if (collations) found.collations = collations;
        char *copy = cids && collations ? sqlite3_mprintf("%s", collation ? collation : "") : NULL;
        if (!copy) ctr_problem_nomem(run->conn);
        if (!copy) break;
        cids[found.n] = sqlite3_column_int(row, 1);
        collations[found.n++] = copy;
    }
    sqlite3_finalize(row);
    if (!ours && keys->n > 0) damaged(run, "it has two UNIQUE constraints", "");
    if (ours || keys->n > 0)
        key_columns_close(&found);
    else
        *keys = found;
}

static void read_key(ctr_run *run, key_columns *keys)
{
    const char *away = ctr_text_print(run->conn, "%s_cells_away", run->slots.table);
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_SCHEMA_INDEXES);
    while (ctr_run_row(run, row)) {
        const char *origin = ctr_text_column(run->conn, row, 3);
        if (origin && strcmp(origin, "pk") == 0) damaged(run, "its row id is not _id", "");
        const char *index = ctr_text_column(run->conn, row, 1);
        bool is_away = index && sqlite3_stricmp(index, away) == 0 && sqlite3_column_int(row, 2) &&
                       sqlite3_column_int(row, 4);
        if (index && ((origin && strcmp(origin, "u") == 0) || is_away))
            read_index(run, index, keys);
    }
    sqlite3_finalize(row);
}

void ctr_stored_refuse_no_index(ctr_tab *tab)
{
    ctr_run run = ctr_tab_run(tab);
    damaged(&run, NO_INDEX, "");
}

/* ---- reading: the columns -------------------------------------------------------------------- */

/* One row of SCHEMA_COLUMNS. Is it the row id? */
static bool read_column(ctr_run *run, sqlite3_stmt *row, const key_columns *keys, ctr_shape *shape)
{
    const char *name = ctr_text_column(run->conn, row, 1);
    const char *type = ctr_text_column(run->conn, row, 2);
    if (!name || !type) return false;
    if (sqlite3_column_int(row, 6)) damaged(run, "generated column ", name);
    bool is_rowid = sqlite3_column_int(row, 5) > 0;
    bool is_key = is_rowid && keys->n == 0 && *name != '_';
    if (is_rowid &&
        ((!is_key && strcmp(name, "_id") != 0) || sqlite3_stricmp(type, "INTEGER") != 0))
        damaged(run, "its row id is not _id but ", name);
    int key = keys->n - 1;
    while (key >= 0 && keys->cids[key] != sqlite3_column_int(row, 0)) key--;
    if (is_key) key = 0;
    shape->keyed = shape->keyed || is_key;
    if (strcmp(name, "_row") == 0) shape->replicated = true;
    if (strcmp(name, "_away") == 0) shape->linked = true;
    if (*name == '_') return is_rowid;
    if (ctr_declaration_reserves(name)) damaged(run, "a column has the reserved name ", name);
    if (key < 0 && !ctr_kind_of_stored(type) && keys->n == 0 && !shape->keyed)
        damaged(run, shape->linked ? NO_INDEX : NO_KEY, "");
    if (key < 0 && !ctr_kind_of_stored(type))
        damaged(run, "a column is neither a BLOB nor part of the key: ", name);
    if (key >= 0 && !ctr_declaration_is_plain(type))
        damaged(run, "the type of a column is not plain: ", name);
    ctr_shape_add(run->conn, shape, name, type,
                  keys->n > 0 && key >= 0 ? keys->collations[key] : "", key);
    return is_rowid;
}

/* Reads a counter that counter_state lists. It must agree with the stored cells. */
static void read_generation(ctr_run *run, sqlite3_stmt *row, ctr_shape *shape)
{
    bool plain =
        sqlite3_column_type(row, 0) == SQLITE_TEXT && sqlite3_column_type(row, 1) == SQLITE_INTEGER;
    const char *name = ctr_text_column(run->conn, row, 0), *spelling;
    int64_t generation = sqlite3_column_int64(row, 1);
    if (!plain || generation < 1 || generation > CTR_GENERATION_MAX) {
        ctr_stored_damaged(run->conn, "it has a row that is not a name and a generation", "");
        return;
    }
    if (!name) return;
    if (ctr_declaration_reserves(name))
        ctr_stored_damaged(run->conn, "it lists the reserved name ", name);
    for (int i = 0; i < shape->n_keys; i++)
        if (sqlite3_stricmp(shape->columns[shape->keys[i]].name, name) == 0)
            ctr_stored_damaged(run->conn, "it lists the key column ", name);
    int counter = ctr_shape_counter(shape, name);
    bool known = ctr_shape_generation(shape, name, &spelling) > 0;
    if (counter >= 0 && shape->columns[shape->counters[counter]].listed)
        ctr_stored_damaged(run->conn, "it lists two counters named ", name);
    if (known != (counter >= 0) || (generation % 2 == 1) != (counter >= 0))
        ctr_stored_damaged(run->conn, "it contradicts the stored cells about column ", name);
    if (ctr_rc(run->conn) != SQLITE_OK) return;
    if (counter < 0) ctr_shape_add_gone(run->conn, shape, name, generation);
    if (counter < 0) return;
    ctr_column *column = &shape->columns[shape->counters[counter]];
    column->generation = generation;
    column->listed = true;
    column->bounded = sqlite3_column_int(row, 2) == 1;
    shape->bounded = shape->bounded || column->bounded;
}

void ctr_stored_read_generations(ctr_shape *shape, ctr_run *run, sqlite3_stmt *row)
{
    enum { BOUNDED = 2, KIND, TAB };
    while (ctr_run_row(run, row)) read_generation(run, row, shape);
    if (row && (ctr_run_is_hidden(row, BOUNDED) || ctr_run_is_hidden(row, KIND) ||
                ctr_run_is_hidden(row, TAB)))
        ctr_refuse_hidden_state(run->conn);
}

/* Fails unless it is an ordinary table without generated columns. */
static void check_ordinary(ctr_run *run, const char *stored)
{
    if (ctr_rc(run->conn) == SQLITE_OK &&
        !ctr_schema_is_table(run->conn, run->slots.schema, stored))
        ctr_problem_set(run->conn, SQLITE_CORRUPT_VTAB, "the stored table %s is missing", stored);
    if (ctr_rc(run->conn) == SQLITE_OK)
        ctr_schema_refuse_generated(run->conn, run->slots.schema, stored);
}

static void read_generations(ctr_run *run, ctr_shape *shape)
{
    check_ordinary(run, "counter_state");
    check_ordinary(run, "counter_requests");
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_COLUMNS_ALL);
    ctr_stored_read_generations(shape, run, row);
    sqlite3_finalize(row);
}

int ctr_stored_read(ctr_shape *shape, ctr_conn *conn, const char *schema, const char *table)
{
    *shape = (ctr_shape){0};
    ctr_run run = ctr_run_on(conn, schema, table);
    key_columns keys = {0};
    const char *stored = ctr_text_print(conn, "%s_cells", table);
    run.slots.name = stored;
    ctr_object object = CTR_OBJECT_TABLE;
    if (ctr_rc(conn) == SQLITE_OK) object = ctr_schema_object(conn, schema, stored);
    if (object == CTR_OBJECT_NONE)
        damaged(&run, "it is missing", "");
    else if (object != CTR_OBJECT_TABLE)
        damaged(&run, "it is not an ordinary table but ", ctr_schema_object_text(object));
    read_key(&run, &keys);
    sqlite3_stmt *columns = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DESCRIBE);
    int n = sqlite3_column_count(columns);
    sqlite3_finalize(columns);
    if (keys.n > n) damaged(&run, "its UNIQUE constraint repeats a column", "");
    ctr_shape_open(conn, shape, n);

    bool has_rowid = false;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&run, row)) has_rowid |= read_column(&run, row, &keys, shape);
    sqlite3_finalize(row);
    if (keys.n == 0 && shape->linked) damaged(&run, NO_INDEX, "");
    if (keys.n == 0 && !shape->keyed) damaged(&run, NO_KEY, "");
    if (!has_rowid) damaged(&run, "it has no row id _id", "");
    if (shape->n_keys != keys.n + shape->keyed)
        damaged(&run, "its key names a column that it does not have", "");
    key_columns_close(&keys);
    read_generations(&run, shape);
    if (shape->n_counters + shape->n_gone == 0 && !shape->replicated)
        damaged(&run, "it has no counter", "");
    return ctr_rc(conn);
}

/* ---- reading: the text of CREATE TABLE ------------------------------------------------------- */

/* Returns the position of a name among those in the parentheses at which the words stand, or -1. */
static int position_in(ctr_words keys, ctr_span name)
{
    for (int i = 0;; i++) {
        ctr_word_next(&keys);
        if (keys.kind != CTR_WORD_QUOTED) return -1;
        if (ctr_word_same_name(keys.word, name)) return i;
        ctr_word_next(&keys);
    }
}

/* Is there a comma, or the parenthesis behind the last column, if no constraint follows? */
static bool is_behind_column(const ctr_shape *shape, const ctr_words *at)
{
    return ctr_word_at_mark(at, ',') ||
           ((shape->keyed || shape->linked) && ctr_word_at_mark(at, ')'));
}

/* Reads one column, up to the comma behind it. Returns false if we do not declare one like this. */
static bool read_declared_column(ctr_conn *conn, ctr_words *at, const ctr_words *keys,
                                 ctr_shape *shape)
{
    const ctr_span quoted = at->word;
    static const ctr_span ROW = {"\"_row\"", 6};
    if (ctr_word_same_name(quoted, ROW)) { /* BLOB */
        shape->replicated = true;
        for (int i = 0; i < 2; i++) ctr_word_next(at);
        return is_behind_column(shape, at);
    }
    ctr_span collated = {"", 0};
    int key = position_in(*keys, quoted);
    ctr_word_next(at);
    ctr_span type_span = at->word;
    if (ctr_word_at(at, "INTEGER") && key < 0) { /* INTEGER PRIMARY KEY */
        shape->keyed = true;
        key = 0;
        for (int i = 0; i < 2; i++) ctr_word_next(at);
    } else if (key >= 0) { /* type COLLATE "collation" NOT NULL */
        type_span.size = 0;
        for (; at->kind != CTR_WORD_END && !ctr_word_at(at, "COLLATE"); ctr_word_next(at))
            type_span.size = (size_t)(at->at - type_span.text);
        ctr_word_next(at);
        collated = at->word;
        for (int i = 0; i < 2; i++) ctr_word_next(at);
    }
    ctr_word_next(at);
    char *name = ctr_text_unquoted(conn, quoted), *type = ctr_text_of(conn, type_span),
         *collation = ctr_text_unquoted(conn, collated);
    bool is = ctr_rc(conn) == SQLITE_OK && ctr_declaration_is_plain(type) &&
              !ctr_declaration_reserves(name) &&
              ctr_shape_add(conn, shape, name, type, collation, key) == SQLITE_OK;
    sqlite3_free(name);
    sqlite3_free(type);
    sqlite3_free(collation);
    return is && is_behind_column(shape, at);
}

/* Would we declare the shape by this text? */
static bool would_declare(ctr_conn *conn, const ctr_shape *shape, const char *table,
                          const char *sql, const char *away)
{
    const char *definition = definition_list(conn, shape), *keys = ctr_shape_key_list(conn, shape);
    ctr_slots slots = {.schema = "", .table = table, .definition = definition, .keys = keys};
    char *ours = ctr_run_sql(create_cells(shape), &slots);
    if (!ours) ctr_problem_nomem(conn);
    static const char OURS[] = "CREATE TABLE \"\".", THEIRS[] = "CREATE TABLE ";
    bool is = ours && strncmp(sql, THEIRS, sizeof THEIRS - 1) == 0 &&
              strcmp(ours + sizeof OURS - 1, sql + sizeof THEIRS - 1) == 0;
    sqlite3_free(ours);
    if (!shape->linked || !is) return is && !away;
    static const char INDEX[] = "CREATE UNIQUE INDEX ", OF[] = "CREATE UNIQUE INDEX \"\".";
    ours = ctr_run_sql(CTR_SQL_HOME_INDEX, &slots);
    if (!ours) ctr_problem_nomem(conn);
    is = ours && away && strncmp(away, INDEX, sizeof INDEX - 1) == 0 &&
         strcmp(ours + sizeof OF - 1, away + sizeof INDEX - 1) == 0;
    sqlite3_free(ours);
    return is;
}

/* Reads the shape from the text of CREATE TABLE, if it is the text we write for that shape. Returns
 * false if it is another text, which only SQLite can read, or on error. The reading need not be
 * exact, because would_declare compares what has been read. */
static bool read_declared(ctr_conn *conn, ctr_shape *shape, const char *table, const char *sql,
                          const char *away)
{
    static const char UNIQUE[] = "UNIQUE";
    int n = 0; /* more than columns */
    ctr_words at = {.at = sql}, keys = {.at = ""};
    if (!sql || ctr_rc(conn) != SQLITE_OK) return false;
    for (const char *all = sql; *all; all++) n += strchr("\"'`[", *all) != NULL;
    for (const char *all = sql; (all = strstr(all, UNIQUE)); all++)
        keys.at = all + sizeof UNIQUE - 1; /* the last one, because a name may have the word */
    if (away) keys.at = away;
    do {
        ctr_word_next(&keys);
    } while (away && keys.kind != CTR_WORD_END && !ctr_word_at_mark(&keys, '('));
    bool is = ctr_shape_open(conn, shape, n) == SQLITE_OK;
    for (int i = 0; i < n && is; i++) shape->keys[i] = -1;
    do {
        ctr_word_next(&at);
    } while (at.kind != CTR_WORD_END && !ctr_word_at_mark(&at, '('));
    ctr_word_next(&at);
    bool has_id = ctr_word_at(&at, "_id"); /* INTEGER PRIMARY KEY */
    for (int i = 0; has_id && i < 5; i++) ctr_word_next(&at);
    shape->linked = ctr_word_at(&at, "_away"); /* INTEGER */
    for (int i = 0; shape->linked && i < 3; i++) ctr_word_next(&at);
    for (; is && at.kind == CTR_WORD_QUOTED; ctr_word_next(&at))
        is = read_declared_column(conn, &at, &keys, shape);
    is = is && shape->n_keys > 0 && (shape->n_counters > 0 || shape->replicated);
    for (int i = 0; i < shape->n_keys; i++) is = is && shape->keys[i] >= 0;
    is = is && would_declare(conn, shape, table, sql, away) && ctr_rc(conn) == SQLITE_OK;
    if (!is) ctr_shape_close(shape);
    return is;
}

bool ctr_stored_read_text(ctr_shape *shape, const ctr_objects *objects, const char *table)
{
    *shape = (ctr_shape){0};
    const ctr_named *cells = ctr_schema_objects_stored(objects, table, "cells"),
                    *away = ctr_schema_objects_stored(objects, table, "cells_away");
    bool plain = cells && cells->object == CTR_OBJECT_TABLE && ctr_stored_shares(objects);
    return plain && read_declared(objects->conn, shape, table, cells->sql, away ? away->sql : NULL);
}

/* ---- without a lock -------------------------------------------------------------------------- */

/* Returns false if we never declare such a column, or on error. */
static bool describe_column(ctr_run *run, const char *stored, const char *name,
                            const ctr_shape *declared, ctr_shape *shape)
{
    const char *type = NULL, *collation = NULL;
    int key = declared->n_keys - 1;
    while (key >= 0 && strcmp(declared->columns[declared->keys[key]].name, name) != 0) key--;
    if (strcmp(name, "_row") == 0) shape->replicated = true;
    if (strcmp(name, "_away") == 0) shape->linked = true;
    if (*name == '_') return true;
    int is_primary = 0;
    int rc = sqlite3_table_column_metadata(run->db, run->slots.schema, stored, name, &type,
                                           &collation, NULL, &is_primary, NULL);
    if (rc != SQLITE_ERROR) ctr_problem_sqlite(run->conn, rc);
    if (rc != SQLITE_OK || (type && !ctr_declaration_is_plain(type))) return false;
    shape->keyed = shape->keyed || (is_primary && key >= 0);
    ctr_shape_add(run->conn, shape, name, type ? type : "", key >= 0 && collation ? collation : "",
                  key);
    return ctr_rc(run->conn) == SQLITE_OK;
}

static bool describe_columns(ctr_shape *shape, ctr_run *run, const ctr_shape *declared)
{
    ctr_problem missing;
    ctr_problem_try(run->conn, &missing);
    ctr_run look = ctr_run_on(run->conn, run->slots.schema, run->slots.table);
    const char *stored = ctr_text_print(run->conn, "%s_cells", run->slots.table);
    sqlite3_stmt *columns = ctr_run_prepare(&look, CTR_SQL_SCHEMA_DESCRIBE);
    int n = sqlite3_column_count(columns), least = declared->n_keys;
    bool is_missing = missing.rc == SQLITE_ERROR;
    ctr_problem_raise_if(run->conn, &missing, !is_missing);
    ctr_shape_open(run->conn, shape, n > least ? n : least); /* a damaged table may have few */
    bool fits = !is_missing && ctr_rc(run->conn) == SQLITE_OK;
    for (int i = 0; i < n && fits; i++) {
        const char *name = sqlite3_column_name(columns, i);
        if (!name) ctr_problem_nomem(run->conn);
        fits = name && describe_column(run, stored, name, declared, shape);
    }
    sqlite3_finalize(columns);
    return fits && shape->n_keys == declared->n_keys;
}

int ctr_stored_describe(ctr_shape *shape, ctr_conn *conn, const char *schema, const char *table,
                        const ctr_shape *declared)
{
    *shape = (ctr_shape){0};
    ctr_run run = ctr_run_on(conn, schema, table);
    if (ctr_rc(conn) != SQLITE_OK || describe_columns(shape, &run, declared)) return ctr_rc(conn);
    if (ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    ctr_shape_close(shape);
    return ctr_shape_copy(conn, shape, declared);
}

/* ---- the tracked table ----------------------------------------------------------------------- */

char *ctr_stored_tracked(ctr_conn *conn, const char *schema, const char *counters)
{
    char *table = NULL;
    ctr_run run = ctr_run_on(conn, schema, counters);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_COLUMNS_NOTED);
    while (ctr_run_row(&run, row)) {
        const char *birth = ctr_text_column(conn, row, 1), *name = ctr_text_column(conn, row, 2);
        if (!birth || *birth || !name || table) continue;
        table = ctr_text_copy(conn, name);
    }
    sqlite3_finalize(row);
    return table;
}
