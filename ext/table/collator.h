/* table/collator.h - compares keys of two stored tables as an index over the key does.
 *
 * Values are those of stored rows, so they have the affinity of their column already. If they
 * differ in their bytes, SQLite compares them: only SQLite knows the collations, and the encoding
 * in which BINARY compares.
 */
#ifndef CTR_TABLE_COLLATOR_H
#define CTR_TABLE_COLLATOR_H

#include "table/shape.h"

typedef struct ctr_collator {
    sqlite3 *db;
    const ctr_shape *shape;  /* borrowed */
    sqlite3_stmt **compares; /* for each key column, prepared when needed */
} ctr_collator;

/* The caller closes the collator, also after a failure. */
int ctr_collator_open(ctr_collator *collator, sqlite3 *db, const ctr_shape *shape,
                      ctr_problem *problem);
void ctr_collator_close(ctr_collator *collator);

/* Returns -1, 0 or 1: a before, equal to, after b. Both have the key values in key order. `order`
 * has, for each key column, + or - and the character '0' + its position in the key. */
int ctr_collator_compare(ctr_collator *collator, sqlite3_value **a, sqlite3_value **b,
                         const char *order, ctr_problem *problem);

#endif
