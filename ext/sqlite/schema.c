/* sqlite/schema.c - looks up names. */
#include "sqlite/schema.h"

#include <string.h>

#include "sqlite/text.h"

const char *ctr_schema_object_text(ctr_object object)
{
    static const char *const TEXTS[] = {"nothing", "a table",  "a virtual table",
                                        "a view",  "an index", "a nameless object"};
    return TEXTS[object];
}

ctr_object ctr_schema_object_of(const char *type, int64_t rootpage)
{
    if (!type) return CTR_OBJECT_NAMELESS;
    if (strcmp(type, "table") == 0)
        return rootpage > 0 ? CTR_OBJECT_TABLE : CTR_OBJECT_VIRTUAL_TABLE;
    return strcmp(type, "view") == 0 ? CTR_OBJECT_VIEW : CTR_OBJECT_INDEX;
}

ctr_object ctr_schema_object(sqlite3 *db, const char *schema, const char *name,
                             ctr_problem *problem)
{
    ctr_object object = CTR_OBJECT_NONE;
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_OBJECT);
    ctr_run_bind_text(&run, row, 1, name);
    if (ctr_run_row(&run, row))
        object =
            ctr_schema_object_of(ctr_text_column(row, 0, problem), sqlite3_column_int64(row, 1));
    sqlite3_finalize(row);
    return problem->rc == SQLITE_OK ? object : CTR_OBJECT_NONE;
}

bool ctr_schema_refuse_other(const char *name, ctr_object object, ctr_problem *problem)
{
    if (object == CTR_OBJECT_NONE || object == CTR_OBJECT_TABLE)
        return object == CTR_OBJECT_TABLE && problem->rc == SQLITE_OK;
    ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                    "%s is damaged: it is not an ordinary table but %s", name,
                    ctr_schema_object_text(object));
    return false;
}

bool ctr_schema_is_table(sqlite3 *db, const char *schema, const char *name, ctr_problem *problem)
{
    return ctr_schema_refuse_other(name, ctr_schema_object(db, schema, name, problem), problem);
}

int ctr_schema_refuse_generated(sqlite3 *db, const char *schema, const char *stored,
                                ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    run.slots.name = stored;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&run, row))
        if (sqlite3_column_int(row, 6))
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "%s is damaged: generated column %s",
                            stored, ctr_text_column(row, 1, problem));
    sqlite3_finalize(row);
    return problem->rc;
}

static bool look_everywhere(sqlite3 *db, const char *table, ctr_schema_look *look_there, void *with,
                            ctr_problem *problem)
{
    bool found = look_there(with, "temp", table, problem);
    ctr_run run = ctr_run_on(db, NULL, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    while (!found && ctr_run_row(&run, row)) {
        const char *schema = ctr_text_column(row, 1, problem);
        found = schema && look_there(with, schema, table, problem);
    }
    sqlite3_finalize(row);
    return found;
}

bool ctr_schema_find(sqlite3 *db, const char *name, ctr_schema_look *look_there, void *with,
                     ctr_problem *problem)
{
    const char *dot = strchr(name, '.');
    bool found = look_everywhere(db, name, look_there, with, problem);
    if (found || !dot || problem->rc != SQLITE_OK) return found && problem->rc == SQLITE_OK;
    char *schema = sqlite3_mprintf("%.*s", (int)(dot - name), name);
    if (!schema) ctr_problem_nomem(problem);
    if (schema && ctr_run_has_schema(db, schema))
        found = look_there(with, schema, dot + 1, problem);
    sqlite3_free(schema);
    return found && problem->rc == SQLITE_OK;
}
