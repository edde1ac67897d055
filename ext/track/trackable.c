/* track/trackable.c - reads the columns of a table, and refuses those that cannot be tracked. */
#include "track/trackable.h"

#include "sqlite/text.h"
#include "track/unique.h"

/* A request to track columns, and the resulting shape. */
typedef struct trackable {
    sqlite3 *db;
    const char *schema, *table, *const *names;
    int n;
    const ctr_tracked *tracked;
    ctr_shape *shape;
} trackable;

static bool is_named(const trackable *want, const char *name)
{
    for (int i = 0; i < want->n; i++)
        if (sqlite3_stricmp(want->names[i], name) == 0) return true;
    return false;
}

/* Adds a column of the table to the shape of its counter table. */
static void take_column(const trackable *want, sqlite3_stmt *row, ctr_problem *problem)
{
    const char *name = ctr_text_column(row, 1, problem), *type = ctr_text_column(row, 2, problem),
               *collation = NULL;
    int key = sqlite3_column_int(row, 5) - 1;
    if (!name || !type ||
        (key < 0 && !is_named(want, name) && ctr_tracked_counter(want->tracked, name) < 0))
        return;
    ctr_affinity affinity = ctr_declaration_affinity(type);
    if (ctr_declaration_reserves(name))
        ctr_problem_set(problem, SQLITE_ERROR, "%s: the column name %s is reserved", want->table,
                        name);
    if (key >= 0 && is_named(want, name))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s: column %s is part of the key and cannot be tracked", want->table,
                        name);
    if (key >= 0 && sqlite3_stricmp(type, "ANY") == 0)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s: the key column %s has the type ANY, which distinguishes '1' from 1 in "
                        "a STRICT table, but not here",
                        want->table, name);
    if (key >= 0 && !ctr_declaration_is_plain(type))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s: the type of the key column %s must be plain words, not %s",
                        want->table, name, type);
    if (key < 0 && sqlite3_column_int(row, 6))
        ctr_problem_set(problem, SQLITE_ERROR, "%s: column %s is generated and cannot be tracked",
                        want->table, name);
    if (key < 0 && (affinity == CTR_AFFINITY_TEXT || affinity == CTR_AFFINITY_REAL))
        ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s: column %s holds %s by its type %s, but a tracked column must hold integers",
            want->table, name, ctr_shape_affinity_name(affinity), type);
    ctr_problem_sqlite(problem, want->db,
                       sqlite3_table_column_metadata(want->db, want->schema, want->table, name,
                                                     NULL, &collation, NULL, NULL, NULL));
    if (problem->rc == SQLITE_OK)
        ctr_shape_add(want->shape, name, key >= 0 ? type : "", key >= 0 ? collation : "", key,
                      problem);
}

static void refuse_unknown(const trackable *want, ctr_problem *problem)
{
    for (int i = 0; i < want->n; i++) {
        if (ctr_shape_counter_like(want->shape, want->names[i]) < 0)
            ctr_problem_set(problem, SQLITE_ERROR, "%s: there is no column '%s'", want->table,
                            want->names[i]);
        for (int k = 0; k < i; k++)
            if (sqlite3_stricmp(want->names[i], want->names[k]) == 0)
                ctr_problem_set(problem, SQLITE_ERROR, "%s: column %s is named twice", want->table,
                                want->names[i]);
    }
}

/* Fails unless the key compares as its columns do; otherwise two rows of the table could have one
 * key here. */
static void check_key_term(void *with, const ctr_term *term, ctr_problem *problem)
{
    const trackable *want = with;
    if (!term->is_primary || !term->name || !term->collation) return;
    for (int i = 0; i < want->shape->n_keys; i++) {
        const ctr_column *column = &want->shape->columns[want->shape->keys[i]];
        if (sqlite3_stricmp(column->name, term->name) == 0 &&
            sqlite3_stricmp(column->collation, term->collation) != 0)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "%s: the PRIMARY KEY compares column %s by %s, the column itself by %s",
                            want->table, term->name, term->collation, column->collation);
    }
}

int ctr_trackable_read(ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                       const char *const *names, int n, const ctr_tracked *tracked,
                       ctr_problem *problem)
{
    enum { COLUMNS_MAX = 32767 };
    trackable want = {db, schema, table, names, n, tracked, shape};
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    run.slots.name = table;
    ctr_shape_open(shape, COLUMNS_MAX, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&run, row)) take_column(&want, row, problem);
    sqlite3_finalize(row);
    refuse_unknown(&want, problem);
    ctr_unique_each_term(db, schema, table, check_key_term, &want, problem);
    if (shape->n_keys == 0)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s has no PRIMARY KEY, which must identify its rows in other files",
                        table);
    return problem->rc;
}
