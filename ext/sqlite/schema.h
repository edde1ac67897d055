/* sqlite/schema.h - what stands under a name, in a schema or in any. */
#ifndef CTR_SQLITE_SCHEMA_H
#define CTR_SQLITE_SCHEMA_H

#include <stdint.h>

#include "sqlite/run.h"

typedef enum ctr_object {
    CTR_OBJECT_NONE,
    CTR_OBJECT_TABLE,
    CTR_OBJECT_VIRTUAL_TABLE,
    CTR_OBJECT_VIEW,
    CTR_OBJECT_INDEX,
    CTR_OBJECT_NAMELESS /* a damaged schema does not say */
} ctr_object;

/* By a row of sqlite_master. */
ctr_object ctr_schema_object_of(const char *type, int64_t rootpage);

/* CTR_OBJECT_NONE, too, if there is a problem. */
ctr_object ctr_schema_object(sqlite3 *db, const char *schema, const char *name,
                             ctr_problem *problem);

/* "a view", "an index". */
const char *ctr_schema_object_text(ctr_object object);

/* Is there an ordinary table of this name? Nothing is no problem, anything else is. */
bool ctr_schema_is_table(sqlite3 *db, const char *schema, const char *name, ctr_problem *problem);

/* The same of an object that was looked up. */
bool ctr_schema_refuse_other(const char *name, ctr_object object, ctr_problem *problem);

/* Refuses a table with generated columns, whose expressions would run when it is read. */
int ctr_schema_refuse_generated(sqlite3 *db, const char *schema, const char *stored,
                                ctr_problem *problem);

/* Is the table in this schema? */
typedef bool ctr_schema_look(void *with, const char *schema, const char *table,
                             ctr_problem *problem);

/* Looks for a table by the name that a user gives, until it is found; false: it is nowhere, or
 * there is a problem.
 *
 *     table           as SQLite looks for it: in temp, main and the attached databases
 *     schema.table    there, unless a table has all of it as its name
 */
bool ctr_schema_find(sqlite3 *db, const char *name, ctr_schema_look *look_there, void *with,
                     ctr_problem *problem);

#endif
