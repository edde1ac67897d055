/* sqlite/objects.h - all that a schema has by name, read once: to ask SQLite for each name takes as
 * long as the schema is.
 */
#ifndef CTR_SQLITE_OBJECTS_H
#define CTR_SQLITE_OBJECTS_H

#include "sqlite/schema.h"

typedef struct ctr_named {
    char *name;           /* owned; the allocation has all texts */
    const char *on, *sql; /* of a trigger its table; sql NULL: SQLite says nothing */
    ctr_object object;
    bool may_generate; /* its declaration may have generated columns */
} ctr_named;

/* Sorted by name, whatever the letters. Zero it; close it. */
typedef struct ctr_objects {
    ctr_named *named; /* owned */
    size_t n, room;
    ctr_named *triggers; /* owned; in no order */
    size_t n_triggers, room_triggers;
} ctr_objects;

/* With `temp` also the triggers in temp, which may be on tables of any schema. */
int ctr_objects_read(ctr_objects *objects, sqlite3 *db, const char *schema, bool temp,
                     ctr_problem *problem);
void ctr_objects_close(ctr_objects *objects);

/* What has this name, or <table>_<suffix>, triggers aside; NULL: nothing, or no memory. Of a
 * damaged schema that has the name twice, what is no table. */
const ctr_named *ctr_objects_find(const ctr_objects *objects, const char *name);
const ctr_named *ctr_objects_stored(const ctr_objects *objects, const char *table,
                                    const char *suffix, ctr_problem *problem);

/* As ctr_schema_is_table. */
bool ctr_objects_is_table(const ctr_objects *objects, const char *name, ctr_problem *problem);

#endif
