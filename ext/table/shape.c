/* table/shape.c - reads and makes the stored table. */
#include "table/shape.h"

#include <string.h>

#include "sqlite/text.h"
#include "table/generations.h"

/* ---- the struct ------------------------------------------------------------------------------ */

int ctr_shape_open(ctr_shape *shape, int n, ctr_problem *problem)
{
    size_t room = (size_t)(n > 0 ? n : 1);
    *shape = (ctr_shape){.columns = sqlite3_malloc64(room * sizeof *shape->columns),
                         .keys = sqlite3_malloc64(room * sizeof *shape->keys),
                         .counters = sqlite3_malloc64(room * sizeof *shape->counters),
                         .room = n};
    bool made = shape->columns && shape->keys && shape->counters;
    return made ? problem->rc : ctr_problem_nomem(problem);
}

int ctr_shape_add(ctr_shape *shape, const char *name, const char *type, const char *collation,
                  int key, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (shape->n_columns == shape->room)
        return ctr_problem_set(problem, SQLITE_SCHEMA, "the stored table has changed");
    int i = shape->n_columns++;
    ctr_column *column = &shape->columns[i];
    *column = (ctr_column){.name = sqlite3_mprintf("%s", name),
                           .type = sqlite3_mprintf("%s", type),
                           .collation = sqlite3_mprintf("%s", *collation ? collation : "BINARY"),
                           .affinity = ctr_declaration_affinity(type),
                           .key = key,
                           .counter = key < 0 ? shape->n_counters : -1,
                           .generation = key < 0 ? 1 : 0};
    if (key < 0) shape->counters[shape->n_counters++] = i;
    if (key >= 0) {
        shape->keys[key] = i;
        shape->n_keys++;
    }
    bool made = column->name && column->type && column->collation;
    return made ? SQLITE_OK : ctr_problem_nomem(problem);
}

/* Where the name stands among those that are gone, or would stand. */
static int place_of_gone(const ctr_shape *shape, const char *name)
{
    int from = 0, to = shape->n_gone;
    while (from < to) {
        int middle = from + (to - from) / 2;
        if (sqlite3_stricmp(shape->gone[middle].name, name) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void ctr_shape_add_gone(ctr_shape *shape, const char *name, int64_t generation,
                        ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return;
    bool is_full = (shape->n_gone & (shape->n_gone - 1)) == 0; /* it doubles */
    size_t room = shape->n_gone > 0 ? 2 * (size_t)shape->n_gone : 1;
    ctr_gone *gone = is_full ? sqlite3_realloc64(shape->gone, room * sizeof *gone) : shape->gone;
    char *copy = sqlite3_mprintf("%s", name);
    if (gone) shape->gone = gone;
    if (gone && copy) {
        int at = place_of_gone(shape, name);
        memmove(gone + at + 1, gone + at, (size_t)(shape->n_gone - at) * sizeof *gone);
        gone[at] = (ctr_gone){copy, generation};
        shape->n_gone++;
        return;
    }
    sqlite3_free(copy);
    ctr_problem_nomem(problem);
}

int ctr_shape_copy(ctr_shape *shape, const ctr_shape *of, ctr_problem *problem)
{
    ctr_shape_open(shape, of->n_columns, problem);
    for (int i = 0; i < of->n_columns; i++) {
        const ctr_column *column = &of->columns[i];
        ctr_shape_add(shape, column->name, column->type, column->collation, column->key, problem);
        if (problem->rc != SQLITE_OK) return problem->rc;
        shape->columns[i].generation = column->generation;
        shape->columns[i].listed = column->listed;
    }
    for (int i = 0; i < of->n_gone; i++)
        ctr_shape_add_gone(shape, of->gone[i].name, of->gone[i].generation, problem);
    return problem->rc;
}

int ctr_shape_take_generations(ctr_shape *shape, const ctr_shape *from, ctr_problem *problem)
{
    for (int i = 0; i < shape->n_counters; i++) {
        int found = ctr_shape_counter(from, ctr_shape_counter_name(shape, i));
        if (found < 0) continue;
        ctr_column *to = &shape->columns[shape->counters[i]];
        to->generation = from->columns[from->counters[found]].generation;
        to->listed = from->columns[from->counters[found]].listed;
    }
    for (int i = 0; i < from->n_gone; i++)
        ctr_shape_add_gone(shape, from->gone[i].name, from->gone[i].generation, problem);
    return problem->rc;
}

int ctr_shape_counter(const ctr_shape *shape, const char *name)
{
    for (int i = 0; i < shape->n_counters; i++)
        if (strcmp(ctr_shape_counter_name(shape, i), name) == 0) return i;
    return -1;
}

const char *ctr_shape_counter_name(const ctr_shape *shape, int counter)
{
    return shape->columns[shape->counters[counter]].name;
}

int ctr_shape_counter_like(const ctr_shape *shape, const char *name)
{
    for (int i = 0; i < shape->n_counters; i++)
        if (sqlite3_stricmp(ctr_shape_counter_name(shape, i), name) == 0) return i;
    return -1;
}

const char *ctr_shape_ever(const ctr_shape *shape, int i, int64_t *generation)
{
    if (i < shape->n_counters) {
        const ctr_column *counter = &shape->columns[shape->counters[i]];
        *generation = counter->generation;
        return counter->name;
    }
    i -= shape->n_counters;
    if (i >= shape->n_gone) return NULL;
    *generation = shape->gone[i].generation;
    return shape->gone[i].name;
}

int64_t ctr_shape_generation(const ctr_shape *shape, const char *name, const char **spelling)
{
    int counter = ctr_shape_counter_like(shape, name), at = place_of_gone(shape, name);
    bool is_gone = at < shape->n_gone && sqlite3_stricmp(shape->gone[at].name, name) == 0;
    *spelling = NULL;
    if (counter >= 0) *spelling = ctr_shape_counter_name(shape, counter);
    if (counter >= 0) return shape->columns[shape->counters[counter]].generation;
    if (is_gone) *spelling = shape->gone[at].name;
    return is_gone ? shape->gone[at].generation : 0;
}

void ctr_shape_close(ctr_shape *shape)
{
    for (int i = 0; i < shape->n_columns; i++) {
        sqlite3_free(shape->columns[i].name);
        sqlite3_free(shape->columns[i].type);
        sqlite3_free(shape->columns[i].collation);
    }
    for (int i = 0; i < shape->n_gone; i++) sqlite3_free(shape->gone[i].name);
    sqlite3_free(shape->gone);
    sqlite3_free(shape->columns);
    sqlite3_free(shape->keys);
    sqlite3_free(shape->counters);
    *shape = (ctr_shape){0};
}

/* ---- lists of SQL ---------------------------------------------------------------------------- */

static char *definition_list(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_columns; i++) {
        const ctr_column *column = &shape->columns[i];
        sqlite3_str_appendf(out, "%s\"%w\" ", i ? ", " : "", column->name);
        if (column->key < 0)
            sqlite3_str_appendall(out, "BLOB");
        else
            sqlite3_str_appendf(out, "%s COLLATE \"%w\" NOT NULL", column->type, column->collation);
    }
    return sqlite3_str_finish(out);
}

/* Key columns that may be NULL. */
static char *floor_list(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++) {
        const ctr_column *column = &shape->columns[shape->keys[i]];
        sqlite3_str_appendf(out, "%s\"%w\" %s COLLATE \"%w\"", i ? ", " : "", column->name,
                            column->type, column->collation);
    }
    return sqlite3_str_finish(out);
}

char *ctr_shape_key_list(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s\"%w\"", i ? ", " : "", shape->columns[shape->keys[i]].name);
    return sqlite3_str_finish(out);
}

char *ctr_shape_column_list(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_columns; i++)
        sqlite3_str_appendf(out, "%s\"%w\"", i ? ", " : "", shape->columns[i].name);
    return sqlite3_str_finish(out);
}

char *ctr_shape_counter_list(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    if (shape->n_counters == 0) sqlite3_str_appendall(out, "NULL");
    for (int i = 0; i < shape->n_counters; i++)
        sqlite3_str_appendf(out, "%s\"%w\"", i ? ", " : "", ctr_shape_counter_name(shape, i));
    return sqlite3_str_finish(out);
}

const char *ctr_shape_affinity_name(ctr_affinity affinity)
{
    static const char *const NAMES[] = {"BLOB", "TEXT", "NUMERIC", "INTEGER", "REAL"};
    return NAMES[affinity];
}

/* Collations are named in capitals, for SQLite does not tell them apart by letters. */
char *ctr_shape_key_text(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++) {
        const ctr_column *column = &shape->columns[shape->keys[i]];
        sqlite3_str_appendf(out, "%s%s %s ", i ? ", " : "", column->name,
                            ctr_shape_affinity_name(column->affinity));
        for (const char *c = column->collation; *c; c++)
            sqlite3_str_appendchar(out, 1, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    }
    return sqlite3_str_finish(out);
}

char *ctr_shape_declaration(const ctr_shape *shape)
{
    char *keys = ctr_shape_key_list(shape);
    if (!keys) return NULL;
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_columns; i++) {
        const ctr_column *column = &shape->columns[i];
        if (column->key < 0)
            sqlite3_str_appendf(out, "\"%w\" COUNTER, ", column->name);
        else
            sqlite3_str_appendf(out, "\"%w\" %s COLLATE \"%w\", ", column->name, column->type,
                                column->collation);
    }
    if (shape->n_counters == 0 && shape->n_gone > 0)
        sqlite3_str_appendf(out, "\"%w\" COUNTER, ", shape->gone[0].name);
    sqlite3_str_appendf(out, "PRIMARY KEY (%s)", keys);
    sqlite3_free(keys);
    return sqlite3_str_finish(out);
}

void ctr_shape_create(const ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                      ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return;
    char *definition = definition_list(shape), *keys = ctr_shape_key_list(shape),
         *floors = floor_list(shape);
    if (!definition || !keys || !floors) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(db, schema, table, problem);
    run.slots.definition = definition;
    run.slots.keys = keys;
    ctr_run_do(&run, CTR_SQL_SCHEMA_CREATE_CELLS, NULL);
    ctr_run_do(&run, CTR_SQL_SCHEMA_CREATE_JOURNAL, NULL);
    ctr_run_do(&run, CTR_SQL_SCHEMA_CREATE_OPS, NULL);
    ctr_run_do(&run, CTR_SQL_SCHEMA_CREATE_COLUMNS, NULL);
    run.slots.definition = floors;
    ctr_run_do(&run, CTR_SQL_SCHEMA_CREATE_FLOORS, NULL);
    sqlite3_free(definition);
    sqlite3_free(keys);
    sqlite3_free(floors);
}

void ctr_shape_drop(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, table, problem);
    ctr_run_do(&run, CTR_SQL_SCHEMA_DROP_CELLS, NULL);
    ctr_run_do(&run, CTR_SQL_SCHEMA_DROP_JOURNAL, NULL);
    ctr_run_do(&run, CTR_SQL_SCHEMA_DROP_FLOORS, NULL);
    ctr_run_do(&run, CTR_SQL_SCHEMA_DROP_OPS, NULL);
    ctr_run_do(&run, CTR_SQL_SCHEMA_DROP_COLUMNS, NULL);
}

void ctr_shape_rename(sqlite3 *db, const char *schema, const char *table, const char *to,
                      ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, table, problem);
    run.slots.name = to;
    ctr_run_do(&run, CTR_SQL_SCHEMA_RENAME_CELLS, NULL);
    ctr_run_do(&run, CTR_SQL_SCHEMA_RENAME_JOURNAL, NULL);
    ctr_run_do(&run, CTR_SQL_SCHEMA_RENAME_FLOORS, NULL);
    ctr_run_do(&run, CTR_SQL_SCHEMA_RENAME_OPS, NULL);
    ctr_run_do(&run, CTR_SQL_SCHEMA_RENAME_COLUMNS, NULL);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int damaged(ctr_run *run, const char *what, const char *name)
{
    return ctr_problem_set(run->problem, SQLITE_CORRUPT_VTAB,
                           "the stored table %s_cells is damaged: %s%s", run->slots.table, what,
                           name);
}

static void check_is_table(ctr_run *run, const char *stored)
{
    if (run->problem->rc != SQLITE_OK) return;
    ctr_object object = ctr_schema_object(run->db, run->slots.schema, stored, run->problem);
    if (object == CTR_OBJECT_NONE)
        damaged(run, "it is missing", "");
    else if (object != CTR_OBJECT_TABLE)
        damaged(run, "it is not an ordinary table but ", ctr_schema_object_text(object));
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

static void key_columns_add(ctr_run *run, key_columns *keys, int cid, const char *collation)
{
    size_t n = (size_t)keys->n + 1;
    int *cids = sqlite3_realloc64(keys->cids, n * sizeof *cids);
    if (cids) keys->cids = cids;
    char **collations = sqlite3_realloc64(keys->collations, n * sizeof *collations);
    if (collations) keys->collations = collations;
    char *copy = cids && collations ? sqlite3_mprintf("%s", collation ? collation : "") : NULL;
    if (!copy) {
        ctr_problem_nomem(run->problem);
        return;
    }
    cids[keys->n] = cid;
    collations[keys->n++] = copy;
}

/* Reads the columns of one UNIQUE constraint; those over bookkeeping columns are not the key. */
static void read_index(ctr_run *run, const char *index, key_columns *keys)
{
    key_columns found = {0};
    bool ours = false;
    ctr_run of_index = *run;
    of_index.slots.name = index;
    sqlite3_stmt *row = ctr_run_prepare(&of_index, CTR_SQL_SCHEMA_INDEX_COLUMNS);
    while (ctr_run_row(run, row)) {
        const char *name = ctr_text_column(row, 2, run->problem);
        if (!sqlite3_column_int(row, 5)) continue;
        if (!name) damaged(run, "its UNIQUE constraint is over an expression", "");
        if (name && *name == '_') ours = true;
        if (sqlite3_column_int(row, 3)) damaged(run, "its UNIQUE constraint descends", "");
        key_columns_add(run, &found, sqlite3_column_int(row, 1),
                        ctr_text_column(row, 4, run->problem));
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
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_SCHEMA_INDEXES);
    while (ctr_run_row(run, row)) {
        const char *origin = ctr_text_column(row, 3, run->problem);
        if (origin && strcmp(origin, "pk") == 0) damaged(run, "its row id is not _id", "");
        if (!origin || strcmp(origin, "u") != 0) continue;
        const char *index = ctr_text_column(row, 1, run->problem);
        if (index) read_index(run, index, keys);
    }
    sqlite3_finalize(row);
    if (keys->n == 0) damaged(run, "it has no UNIQUE constraint over the key", "");
}

static int key_position(const key_columns *keys, int cid)
{
    for (int i = 0; i < keys->n; i++)
        if (keys->cids[i] == cid) return i;
    return -1;
}

/* Columns of ours that are there. */
enum { HAS_ROWID = 1 };

/* One row of SCHEMA_COLUMNS. Returns which column of ours it is, or 0. */
static int read_column(ctr_run *run, sqlite3_stmt *row, const key_columns *keys, ctr_shape *shape)
{
    const char *name = ctr_text_column(row, 1, run->problem);
    const char *type = ctr_text_column(row, 2, run->problem);
    if (!name || !type) return 0;
    if (sqlite3_column_int(row, 6)) damaged(run, "generated column ", name);
    bool is_rowid = sqlite3_column_int(row, 5) > 0;
    if (is_rowid && (strcmp(name, "_id") != 0 || sqlite3_stricmp(type, "INTEGER") != 0))
        damaged(run, "its row id is not _id but ", name);
    int key = key_position(keys, sqlite3_column_int(row, 0));
    if (*name == '_') return is_rowid ? HAS_ROWID : 0;
    if (ctr_declaration_reserves(name)) damaged(run, "a column has the reserved name ", name);
    if (key < 0 && sqlite3_stricmp(type, "BLOB") != 0)
        damaged(run, "neither a BLOB nor part of the key is column ", name);
    if (key >= 0 && !ctr_declaration_is_plain(type))
        damaged(run, "no plain type has column ", name);
    ctr_shape_add(shape, name, type, key >= 0 ? keys->collations[key] : "", key, run->problem);
    return 0;
}

static int count_columns(ctr_run *run)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_SCHEMA_DESCRIBE);
    int n = sqlite3_column_count(row);
    sqlite3_finalize(row);
    return n;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int ctr_shape_read(ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                   ctr_problem *problem)
{
    *shape = (ctr_shape){0};
    ctr_run run = ctr_run_on(db, schema, table, problem);
    key_columns keys = {0};
    char *stored = sqlite3_mprintf("%s_cells", table);
    if (!stored) ctr_problem_nomem(problem);
    check_is_table(&run, stored);
    run.slots.name = stored;
    read_key(&run, &keys);
    int n = count_columns(&run);
    if (keys.n > n) damaged(&run, "its UNIQUE constraint repeats a column", "");
    ctr_shape_open(shape, n, problem);

    int ours = 0;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&run, row)) ours |= read_column(&run, row, &keys, shape);
    sqlite3_finalize(row);
    if (!(ours & HAS_ROWID)) damaged(&run, "it has no row id _id", "");
    if (shape->n_keys != keys.n) damaged(&run, "its key names a column that it does not have", "");
    key_columns_close(&keys);
    sqlite3_free(stored);
    ctr_generations_read(shape, &run);
    if (shape->n_counters + shape->n_gone == 0) damaged(&run, "it has no counter", "");
    return problem->rc;
}

/* ---- without a lock -------------------------------------------------------------------------- */

static int key_in(const ctr_shape *declared, const char *name)
{
    for (int i = 0; i < declared->n_keys; i++)
        if (strcmp(declared->columns[declared->keys[i]].name, name) == 0) return i;
    return -1;
}

/* False: the stored table is none that could have been declared, or there is a problem. */
static bool describe_column(ctr_run *run, const char *stored, const char *name,
                            const ctr_shape *declared, ctr_shape *shape)
{
    const char *type = NULL, *collation = NULL;
    int key = key_in(declared, name);
    if (*name == '_') return true;
    int rc = sqlite3_table_column_metadata(run->db, run->slots.schema, stored, name, &type,
                                           &collation, NULL, NULL, NULL);
    if (rc != SQLITE_ERROR) ctr_problem_sqlite(run->problem, run->db, rc);
    if (rc != SQLITE_OK || (type && !ctr_declaration_is_plain(type))) return false;
    ctr_shape_add(shape, name, type ? type : "", key >= 0 && collation ? collation : "", key,
                  run->problem);
    return run->problem->rc == SQLITE_OK;
}

static bool describe_columns(ctr_shape *shape, ctr_run *run, const ctr_shape *declared)
{
    ctr_problem missing = {SQLITE_OK, NULL};
    ctr_run look = ctr_run_on(run->db, run->slots.schema, run->slots.table, &missing);
    char *stored = sqlite3_mprintf("%s_cells", run->slots.table);
    sqlite3_stmt *columns = ctr_run_prepare(&look, CTR_SQL_SCHEMA_DESCRIBE);
    int n = sqlite3_column_count(columns), least = declared->n_keys;
    if (missing.rc != SQLITE_OK && missing.rc != SQLITE_ERROR)
        ctr_problem_set(run->problem, missing.rc, "%s", ctr_problem_text(&missing));
    if (!stored) ctr_problem_nomem(run->problem);
    ctr_shape_open(shape, n > least ? n : least, run->problem); /* a damaged one has few */
    bool fits = missing.rc == SQLITE_OK && run->problem->rc == SQLITE_OK;
    for (int i = 0; i < n && fits; i++) {
        const char *name = sqlite3_column_name(columns, i);
        if (!name) ctr_problem_nomem(run->problem);
        fits = name && describe_column(run, stored, name, declared, shape);
    }
    sqlite3_finalize(columns);
    sqlite3_free(stored);
    ctr_problem_close(&missing);
    return fits && shape->n_keys == declared->n_keys;
}

int ctr_shape_describe(ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                       const ctr_shape *declared, ctr_problem *problem)
{
    *shape = (ctr_shape){0};
    ctr_run run = ctr_run_on(db, schema, table, problem);
    if (problem->rc != SQLITE_OK || describe_columns(shape, &run, declared)) return problem->rc;
    if (problem->rc != SQLITE_OK) return problem->rc;
    ctr_shape_close(shape);
    return ctr_shape_copy(shape, declared, problem);
}

bool ctr_shape_same_columns(const ctr_shape *a, const ctr_shape *b)
{
    bool same = a->n_columns == b->n_columns;
    for (int i = 0; i < a->n_columns && same; i++) {
        const ctr_column *x = &a->columns[i], *y = &b->columns[i];
        same = x->key == y->key && strcmp(x->name, y->name) == 0 &&
               (x->key < 0 || (sqlite3_stricmp(x->type, y->type) == 0 &&
                               sqlite3_stricmp(x->collation, y->collation) == 0));
    }
    return same;
}

static const char *const FILE_TABLES[] = {
    "counter_tables",    "counter_replica", "counter_former", "counter_names",
    "counter_conflicts", "counter_sources", "counter_peers",  NULL};

static bool is_among(const char *name, const char *const *names)
{
    while (*names && sqlite3_stricmp(name, *names) != 0) names++;
    return *names != NULL;
}

const char *const *ctr_shape_suffixes(void)
{
    static const char *const suffixes[] = {"cells", "journal", "floors", "ops", "columns", NULL};
    return suffixes;
}

/* Is it a stored table of the counter table? */
static bool is_stored_of(const char *name, const char *table)
{
    size_t size = strlen(table);
    if (sqlite3_strnicmp(name, table, (int)size) != 0 || name[size] != '_') return false;
    return is_among(name + size + 1, ctr_shape_suffixes()) ||
           sqlite3_stricmp(name + size + 1, "apart") == 0;
}

int ctr_shape_refuse_triggers(sqlite3 *db, const char *schema, const char *table, bool of_file,
                              ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_TRIGGERS);
    while (ctr_run_row(&run, row)) {
        const char *trigger = ctr_text_column(row, 0, problem);
        const char *on = ctr_text_column(row, 1, problem);
        if (!trigger || !on) continue;
        if ((table && is_stored_of(on, table)) || (of_file && is_among(on, FILE_TABLES)))
            ctr_problem_set(problem, SQLITE_ERROR,
                            "the stored table %s has the trigger %s: drop it first", on, trigger);
    }
    sqlite3_finalize(row);
    return problem->rc;
}

/* How many columns a program reads. */
static int count_columns_read(ctr_run *run, ctr_sql which)
{
    int n = 0;
    sqlite3_stmt *row = ctr_run_prepare(run, which);
    while (ctr_run_row(run, row)) {
        const char *opcode = ctr_text_column(row, 1, run->problem);
        n += opcode && (strcmp(opcode, "Column") == 0 || strcmp(opcode, "Rowid") == 0);
    }
    sqlite3_finalize(row);
    return n;
}

int ctr_shape_hidden(const char *table, ctr_problem *problem)
{
    return ctr_problem_set(problem, SQLITE_AUTH,
                           "an authorizer of this connection hides columns of %s_cells or "
                           "%s_journal: what is counted there would be lost",
                           table, table);
}

int ctr_shape_refuse_hidden(const ctr_shape *shape, sqlite3 *db, const char *schema,
                            const char *table, ctr_problem *problem)
{
    enum { JOURNAL_COLUMNS = 3 };
    char *counters = ctr_shape_counter_list(shape);
    if (!counters) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(db, schema, table, problem);
    run.slots.columns = counters;
    if (count_columns_read(&run, CTR_SQL_SCHEMA_EXPLAIN_CELLS) < shape->n_counters ||
        count_columns_read(&run, CTR_SQL_SCHEMA_EXPLAIN_JOURNAL) < JOURNAL_COLUMNS)
        ctr_shape_hidden(table, problem);
    sqlite3_free(counters);
    return problem->rc;
}
