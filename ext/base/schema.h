/* base/schema.h - looks up a name, in one schema or in all, or all names of a schema. */
#ifndef CTR_BASE_SCHEMA_H
#define CTR_BASE_SCHEMA_H

#include <stdint.h>

#include "base/run.h"

typedef enum ctr_object {
    CTR_OBJECT_NONE,
    CTR_OBJECT_TABLE,
    CTR_OBJECT_VIRTUAL_TABLE,
    CTR_OBJECT_VIEW,
    CTR_OBJECT_INDEX,
    CTR_OBJECT_NAMELESS /* in a damaged schema */
} ctr_object;

/* Returns the kind of object with this name; CTR_OBJECT_NONE, too, on a problem. */
ctr_object ctr_schema_object(sqlite3 *db, const char *schema, const char *name,
                             ctr_problem *problem);

/* Returns "a view", "an index". */
const char *ctr_schema_object_text(ctr_object object);

/* Returns whether there is an ordinary table of this name. Fails if another object has the name. */
bool ctr_schema_is_table(sqlite3 *db, const char *schema, const char *name, ctr_problem *problem);

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

/* ---- all objects, read once: a query for each takes time in proportion to the schema ---- */

typedef struct ctr_named {
    char *name;           /* owned; its allocation has all texts */
    const char *on, *sql; /* the table of a trigger; sql NULL: it has none */
    ctr_object object;
    bool may_generate; /* its declaration has AS: perhaps of generated columns */
    bool temp;         /* a trigger in temp */
    int64_t rowid;     /* in sqlite_master: the higher, the newer */
} ctr_named;

/* Sorted by name, in letters of either case. The caller zeroes it first and closes it. */
typedef struct ctr_objects {
    sqlite3 *db;
    const char *schema; /* borrowed */
    ctr_named *named;   /* owned */
    size_t n, room;
    ctr_named *triggers; /* owned */
    size_t n_triggers, room_triggers;
    int64_t last; /* the highest rowid in sqlite_master */
} ctr_objects;

/* Reads the objects, and the triggers in temp, which may be on tables of any schema. The name of
 * the schema must live as long. */
int ctr_schema_objects_read(ctr_objects *objects, sqlite3 *db, const char *schema,
                            ctr_problem *problem);
void ctr_schema_objects_close(ctr_objects *objects);

/* Adds the objects that were created since. If others may have been changed or dropped, the caller
 * closes and reads all. */
int ctr_schema_objects_read_on(ctr_objects *objects, ctr_problem *problem);

/* Return the object with this name, or with <table>_<suffix>, triggers aside; NULL if there is
 * none, or without memory. If a damaged schema has the name twice, return the object that is no
 * table. */
const ctr_named *ctr_schema_objects_find(const ctr_objects *objects, const char *name);
const ctr_named *ctr_schema_objects_stored(const ctr_objects *objects, const char *table,
                                           const char *suffix, ctr_problem *problem);

/* Returns the trigger of the schema with the name <table>_<suffix>, or NULL. */
const ctr_named *ctr_schema_objects_trigger(const ctr_objects *objects, const char *table,
                                            const char *suffix, ctr_problem *problem);

/* Like ctr_schema_is_table. */
bool ctr_schema_objects_is_table(const ctr_objects *objects, const char *name,
                                 ctr_problem *problem);

#endif
