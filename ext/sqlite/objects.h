/* sqlite/objects.h - all named objects of a schema, read once: a query for each name takes time in
 * proportion to the size of the schema.
 */
#ifndef CTR_SQLITE_OBJECTS_H
#define CTR_SQLITE_OBJECTS_H

#include "sqlite/schema.h"

typedef struct ctr_named {
    char *name;           /* owned; its allocation has all texts */
    const char *on, *sql; /* the table of a trigger; sql NULL: it has none */
    ctr_object object;
    bool may_generate; /* its declaration may have generated columns */
} ctr_named;

/* Sorted by name, in letters of either case. The caller zeroes it first and closes it. */
typedef struct ctr_objects {
    ctr_named *named; /* owned */
    size_t n, room;
    ctr_named *triggers; /* owned; in no order */
    size_t n_triggers, room_triggers;
} ctr_objects;

/* Reads the objects; with `temp` also the triggers in temp, which may be on tables of any
 * schema. */
int ctr_objects_read(ctr_objects *objects, sqlite3 *db, const char *schema, bool temp,
                     ctr_problem *problem);
void ctr_objects_close(ctr_objects *objects);

/* Return the object with this name, or with <table>_<suffix>, triggers aside; NULL if there is
 * none, or without memory. If a damaged schema has the name twice, return the object that is no
 * table. */
const ctr_named *ctr_objects_find(const ctr_objects *objects, const char *name);
const ctr_named *ctr_objects_stored(const ctr_objects *objects, const char *table,
                                    const char *suffix, ctr_problem *problem);

/* Like ctr_schema_is_table. */
bool ctr_objects_is_table(const ctr_objects *objects, const char *name, ctr_problem *problem);

#endif
