/* sync/objects.h - all that a schema has by name, read once: to ask SQLite for each name takes as
 * long as the schema is.
 */
#ifndef CTR_SYNC_OBJECTS_H
#define CTR_SYNC_OBJECTS_H

#include "sqlite/schema.h"

typedef struct ctr_named {
    char *name; /* owned */
    ctr_object object;
    bool may_generate; /* its declaration may have generated columns */
    bool tracked;      /* it is the counter table of a tracked one */
} ctr_named;

/* Sorted by name, whatever the letters. Zero it; close it. */
typedef struct ctr_objects {
    ctr_named *named; /* owned */
    size_t n, room;
} ctr_objects;

/* Triggers aside. */
int ctr_objects_read(ctr_objects *objects, sqlite3 *db, const char *schema, ctr_problem *problem);
void ctr_objects_close(ctr_objects *objects);

/* What has this name, or <table>_<suffix>; NULL: nothing, or no memory. Of a damaged schema that
 * has the name twice, what is no table. */
const ctr_named *ctr_objects_find(const ctr_objects *objects, const char *name);
const ctr_named *ctr_objects_stored(const ctr_objects *objects, const char *table,
                                    const char *suffix, ctr_problem *problem);

/* Is this the counter table of a tracked one? */
bool ctr_objects_is_tracked(const ctr_objects *objects, const char *name);

#endif
