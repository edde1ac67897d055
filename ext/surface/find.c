/* surface/find.c - a table by the name that a user gives. */
#include "surface/find.h"

#include <string.h>

#include "store/run.h"
#include "store/text.h"

static bool look_everywhere(sqlite3 *db, const char *table, ctr_find_look *is_there, void *with,
                            ctr_problem *problem)
{
    bool found = is_there(with, "temp", table, problem);
    ctr_run run = ctr_run_on(db, NULL, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CLUSTER_DATABASES);
    while (!found && ctr_run_row(&run, row)) {
        const char *schema = ctr_text_column(row, 1, problem);
        found = schema && is_there(with, schema, table, problem);
    }
    sqlite3_finalize(row);
    return found;
}

bool ctr_find_table(sqlite3 *db, const char *name, ctr_find_look *is_there, void *with,
                    ctr_problem *problem)
{
    const char *dot = strchr(name, '.');
    bool found = look_everywhere(db, name, is_there, with, problem);
    if (found || !dot || problem->rc != SQLITE_OK) return found && problem->rc == SQLITE_OK;
    char *schema = sqlite3_mprintf("%.*s", (int)(dot - name), name);
    if (!schema) ctr_problem_nomem(problem);
    if (schema && ctr_run_has_schema(db, schema)) found = is_there(with, schema, dot + 1, problem);
    sqlite3_free(schema);
    return found && problem->rc == SQLITE_OK;
}
