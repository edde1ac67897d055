/* sqlite/schema.h - looks up a name, in one schema or in all. */
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
    CTR_OBJECT_NAMELESS /* in a damaged schema */
} ctr_object;

/* Returns the kind of object in a row of sqlite_master. */
ctr_object ctr_schema_object_of(const char *type, int64_t rootpage);

/* Returns the kind of object with this name; CTR_OBJECT_NONE, too, on a problem. */
ctr_object ctr_schema_object(sqlite3 *db, const char *schema, const char *name,
                             ctr_problem *problem);

/* Returns "a view", "an index". */
const char *ctr_schema_object_text(ctr_object object);

/* Returns whether there is an ordinary table of this name. Fails if another object has the name. */
bool ctr_schema_is_table(sqlite3 *db, const char *schema, const char *name, ctr_problem *problem);

/* The same for an object that was looked up. */
bool ctr_schema_refuse_other(const char *name, ctr_object object, ctr_problem *problem);

/* Refuses a table with generated columns, whose expressions would run on a read. */
int ctr_schema_refuse_generated(sqlite3 *db, const char *schema, const char *stored,
                                ctr_problem *problem);

/* Returns whether the table is in this schema. */
typedef bool ctr_schema_look(void *with, const char *schema, const char *table,
                             ctr_problem *problem);

/* Looks for a table by the name that a user gives. Returns false if no schema has it, or on a
 * problem.
 *
 *     table           in the order of SQLite: in temp, main and the attached databases
 *     schema.table    in that schema, unless the whole is the name of a table
 */
bool ctr_schema_find(sqlite3 *db, const char *name, ctr_schema_look *look_there, void *with,
                     ctr_problem *problem);

#endif
