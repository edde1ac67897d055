/* store/catalog.c - keeps the list of counter tables. */
#include "store/catalog.h"

#include "store/run.h"
#include "store/shape.h"

/* The first column of the row that a statement gives for one name; NULL if there is none. */
static char *look_up(sqlite3 *db, const char *schema, ctr_sql which, const char *name,
                     ctr_problem *problem)
{
    if (!ctr_shape_is_table(db, schema, "counter_tables", problem)) return NULL;
    char *found = NULL;
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, which);
    ctr_run_bind_text(&run, row, 1, name);
    if (ctr_run_row(&run, row)) {
        found = sqlite3_mprintf("%s", sqlite3_column_text(row, 0));
        if (!found) ctr_problem_nomem(problem);
    }
    sqlite3_finalize(row);
    return found;
}

char *ctr_catalog_born(sqlite3 *db, const char *schema, const char *birth, ctr_problem *problem)
{
    return look_up(db, schema, CTR_SQL_CATALOG_BORN, birth, problem);
}

bool ctr_catalog_has(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem)
{
    char *birth = look_up(db, schema, CTR_SQL_CATALOG_HAS, table, problem);
    sqlite3_free(birth);
    return birth != NULL;
}

void ctr_catalog_add(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem)
{
    char *holder = ctr_catalog_born(db, schema, table, problem);
    if (holder)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the table '%s' was created under this name, and sync matches tables by it",
                        holder);
    sqlite3_free(holder);
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    ctr_run_do(&run, CTR_SQL_CATALOG_CREATE, NULL);
    ctr_run_do(&run, CTR_SQL_CATALOG_INSERT, table);
}

void ctr_catalog_remove(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem)
{
    if (!ctr_shape_is_table(db, schema, "counter_tables", problem)) return;
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    ctr_run_do(&run, CTR_SQL_CATALOG_DELETE, table);
}

void ctr_catalog_rename(sqlite3 *db, const char *schema, const char *table, const char *to,
                        ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CATALOG_RENAME);
    ctr_run_bind_text(&run, row, 1, table);
    ctr_run_bind_text(&run, row, 2, to);
    ctr_run_row(&run, row);
    sqlite3_finalize(row);
}

static int add_entry(ctr_catalog *catalog, const char *name, const char *birth,
                     ctr_problem *problem)
{
    if (!name || !*name || !birth || !*birth)
        return ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                               "counter_tables is damaged: a table without a name");
    size_t size = ((size_t)catalog->n + 1) * sizeof *catalog->entries;
    struct ctr_catalog_entry *entries = sqlite3_realloc64(catalog->entries, size);
    if (!entries) return ctr_problem_nomem(problem);
    catalog->entries = entries;
    struct ctr_catalog_entry *entry = &entries[catalog->n++];
    entry->name = sqlite3_mprintf("%s", name);
    entry->birth = sqlite3_mprintf("%s", birth);
    return entry->name && entry->birth ? SQLITE_OK : ctr_problem_nomem(problem);
}

int ctr_catalog_read(ctr_catalog *catalog, sqlite3 *db, const char *schema, ctr_problem *problem)
{
    *catalog = (ctr_catalog){0};
    if (!ctr_shape_is_table(db, schema, "counter_tables", problem)) return problem->rc;
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CATALOG_LIST);
    while (ctr_run_row(&run, row))
        add_entry(catalog, (const char *)sqlite3_column_text(row, 0),
                  (const char *)sqlite3_column_text(row, 1), problem);
    sqlite3_finalize(row);
    return problem->rc;
}

void ctr_catalog_close(ctr_catalog *catalog)
{
    for (int i = 0; i < catalog->n; i++) {
        sqlite3_free(catalog->entries[i].name);
        sqlite3_free(catalog->entries[i].birth);
    }
    sqlite3_free(catalog->entries);
    *catalog = (ctr_catalog){0};
}
