/* table/catalog.c - keeps the list of counter tables. */
#include "table/table.h"

#include <stdlib.h>
#include <string.h>

int ctr_catalog_copy(ctr_catalog_entry *entry, const ctr_catalog_entry *of, ctr_problem *problem)
{
    *entry = *of;
    entry->name = sqlite3_mprintf("%s", of->name);
    entry->birth = sqlite3_mprintf("%s", of->birth);
    return entry->name && entry->birth ? problem->rc : ctr_problem_nomem(problem);
}

static int take_entry(ctr_catalog_entry *entry, sqlite3_stmt *row, ctr_problem *problem)
{
    const char *name = ctr_text_column(row, 0, problem), *birth = ctr_text_column(row, 1, problem);
    const void *token = sqlite3_column_blob(row, 2);
    if (!name || !*name || !birth || !*birth)
        return ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                               "counter_tables is damaged: a table without a name");
    if (!token || sqlite3_column_bytes(row, 2) != CTR_ID_SIZE)
        return ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                               "counter_tables is damaged: the token of %s is not %d bytes", name,
                               CTR_ID_SIZE);
    ctr_catalog_entry lent = {.name = (char *)name, .birth = (char *)birth};
    memcpy(lent.token, token, CTR_ID_SIZE);
    return ctr_catalog_copy(entry, &lent, problem);
}

void ctr_catalog_close_entry(ctr_catalog_entry *entry)
{
    sqlite3_free(entry->name);
    sqlite3_free(entry->birth);
    *entry = (ctr_catalog_entry){0};
}

static bool ask_entry(ctr_catalog_entry *entry, sqlite3 *db, const char *schema, ctr_sql which,
                      const char *name, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, which);
    ctr_run_bind_text(&run, row, ":name", name);
    bool found = ctr_run_row(&run, row) && take_entry(entry, row, problem) == SQLITE_OK;
    if (!found) ctr_run_refuse_hidden(&run, row, 3, "counter_tables");
    sqlite3_finalize(row);
    return found;
}

static bool look_up(ctr_catalog_entry *entry, sqlite3 *db, const char *schema, ctr_sql which,
                    const char *name, ctr_problem *problem)
{
    *entry = (ctr_catalog_entry){0};
    return ctr_schema_is_table(db, schema, "counter_tables", problem) &&
           ask_entry(entry, db, schema, which, name, problem);
}

bool ctr_catalog_born(ctr_catalog_entry *entry, sqlite3 *db, const char *schema, const char *birth,
                      ctr_problem *problem)
{
    return look_up(entry, db, schema, CTR_SQL_CATALOG_BORN, birth, problem);
}

bool ctr_catalog_named(ctr_catalog_entry *entry, sqlite3 *db, const char *schema, const char *table,
                       ctr_problem *problem)
{
    return look_up(entry, db, schema, CTR_SQL_CATALOG_NAMED, table, problem);
}

void ctr_catalog_add(sqlite3 *db, const char *schema, const char *table, const char *birth,
                     ctr_problem *problem)
{
    ctr_catalog_entry holder;
    if (ctr_catalog_born(&holder, db, schema, birth, problem))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the table '%s' was created with this name, by which sync matches tables",
                        holder.name);
    ctr_catalog_close_entry(&holder);
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    ctr_run_do(&run, CTR_SQL_CATALOG_CREATE, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CATALOG_INSERT);
    ctr_run_bind_text(&run, row, ":name", table);
    ctr_run_bind_text(&run, row, ":birth", birth);
    ctr_run_once(&run, row);
}

void ctr_catalog_redraw(sqlite3 *db, const char *schema, ctr_problem *problem)
{
    if (!ctr_schema_is_table(db, schema, "counter_tables", problem)) return;
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    ctr_run_do(&run, CTR_SQL_CATALOG_REDRAW, NULL);
}

void ctr_catalog_remove(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem)
{
    if (!ctr_schema_is_table(db, schema, "counter_tables", problem)) return;
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    ctr_run_do(&run, CTR_SQL_CATALOG_DELETE, table);
}

void ctr_catalog_rename(sqlite3 *db, const char *schema, const char *table, const char *to,
                        ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CATALOG_RENAME);
    ctr_run_bind_text(&run, row, ":name", table);
    ctr_run_bind_text(&run, row, ":to", to);
    ctr_run_once(&run, row);
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

static ctr_catalog_entry *add_entry(ctr_catalog *catalog, ctr_problem *problem)
{
    ctr_catalog_entry *entries = ctr_array_room(catalog->entries, &catalog->room,
                                                (size_t)catalog->n + 1, sizeof *entries, problem);
    if (!entries) return NULL;
    catalog->entries = entries;
    entries[catalog->n] = (ctr_catalog_entry){0};
    return &entries[catalog->n++];
}

int ctr_catalog_read(ctr_catalog *catalog, ctr_file *file, ctr_problem *problem)
{
    const ctr_objects *objects = ctr_file_objects(file, problem);
    ctr_catalog_close(catalog);
    if (!objects || !ctr_schema_objects_is_table(objects, "counter_tables", problem))
        return problem->rc;
    ctr_run run = ctr_file_run(file, problem);
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_LIST, problem);
    while (ctr_run_row(&run, row)) {
        ctr_catalog_entry *entry = add_entry(catalog, problem);
        if (entry) take_entry(entry, row, problem);
    }
    ctr_file_give_back(file, CTR_FILE_LIST, row, problem);
    if (problem->rc == SQLITE_OK && catalog->n > 0)
        qsort(catalog->entries, (size_t)catalog->n, sizeof *catalog->entries, by_birth);
    return problem->rc;
}

int ctr_catalog_list_born(ctr_catalog *catalog, ctr_file *file, const char *birth,
                          ctr_problem *problem)
{
    int at = count_born_before(catalog, birth);
    ctr_catalog_entry born = {0};
    bool found =
        ask_entry(&born, file->conn->db, file->schema, CTR_SQL_CATALOG_BORN, birth, problem);
    if (!found || !add_entry(catalog, problem)) {
        ctr_catalog_close_entry(&born);
        return problem->rc;
    }
    ctr_catalog_entry *entries = catalog->entries;
    memmove(&entries[at + 1], &entries[at], (size_t)(catalog->n - 1 - at) * sizeof *entries);
    entries[at] = born;
    return problem->rc;
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
