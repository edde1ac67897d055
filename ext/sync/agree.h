/* sync/agree.h - compares the keys and the counters of two tables.
 *
 * Keys must agree in name, order, affinity and collation. Otherwise two keys here could be one key
 * there, and a merge would mix their shards. Counters may be added and dropped (table/columns.h),
 * but a name must be spelled the same everywhere.
 */
#ifndef CTR_SYNC_AGREE_H
#define CTR_SYNC_AGREE_H

#include "table/shape.h"

/* Fails unless the keys agree, as a merge requires. `a` and `b` are the names of the two files in
 * messages. */
int ctr_agree_keys(const ctr_shape *one, const char *a, const ctr_shape *two, const char *b,
                   ctr_problem *problem);

/* The same; fails also unless both sides have each counter, in the same generation. */
int ctr_agree_check(const ctr_shape *one, const char *a, const ctr_shape *two, const char *b,
                    ctr_problem *problem);

/* Returns the counter of this name and this generation, or -1. */
int ctr_agree_counter(const ctr_shape *shape, const char *name, int64_t generation);

#endif
