/* functions/find.c - a table by the name that a user gives. */
#include "functions/find.h"

#include <string.h>

#include "sqlite/run.h"
#include "sqlite/text.h"

static bool look_everywhere(sqlite3 *db, const char *table, ctr_find_look *look_there, void *with,
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

bool ctr_find_table(sqlite3 *db, const char *name, ctr_find_look *look_there, void *with,
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
