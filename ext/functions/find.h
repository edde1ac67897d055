/* functions/find.h - a table by the name that a user gives.
 *
 *     table           as SQLite looks for it: in temp, main and the attached databases
 *     schema.table    there, unless a table has all of it as its name
 */
#ifndef CTR_FUNCTIONS_FIND_H
#define CTR_FUNCTIONS_FIND_H

#include "sqlite/problem.h"

/* Is the table in this schema? */
typedef bool ctr_find_look(void *with, const char *schema, const char *table, ctr_problem *problem);

/* Looks until the table is found; false: it is nowhere, or there is a problem. */
bool ctr_find_table(sqlite3 *db, const char *name, ctr_find_look *look_there, void *with,
                    ctr_problem *problem);

#endif
