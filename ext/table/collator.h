/* table/collator.h - compares keys of two stored tables as an index over the key does.
 *
 * Values are those of stored rows, so they have followed the affinity of their column already.
 * Where they are not alike byte for byte, SQLite is asked: it alone knows the collations, and the
 * encoding in which BINARY compares.
 */
#ifndef CTR_TABLE_COLLATOR_H
#define CTR_TABLE_COLLATOR_H

#include "table/shape.h"

typedef struct ctr_collator {
    sqlite3 *db;
    const ctr_shape *shape;  /* borrowed */
    sqlite3_stmt **compares; /* for each key column, once it was needed */
} ctr_collator;

/* The caller closes the collator, also after a failure. */
int ctr_collator_open(ctr_collator *collator, sqlite3 *db, const ctr_shape *shape,
                      ctr_problem *problem);
void ctr_collator_close(ctr_collator *collator);

/* -1, 0, 1: does a come before b? Both have the values of the key in its order; `order` is how they
 * are ordered: for each key column + or - and the character '0' + its position in the key. */
int ctr_collator_compare(ctr_collator *collator, sqlite3_value **a, sqlite3_value **b,
                         const char *order, ctr_problem *problem);

#endif
