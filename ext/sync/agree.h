/* sync/agree.h - do two tables have the same key and the same counters?
 *
 * Keys must agree in name, order, affinity and collation: else two keys here would be one there,
 * and shards of different keys be merged. Counters may come and go (table/columns.h), but one name
 * is written in the same letters everywhere.
 */
#ifndef CTR_SYNC_AGREE_H
#define CTR_SYNC_AGREE_H

#include "table/shape.h"

/* What two files must have in common to be merged. `a` and `b` are how a message calls the files
 * that have the two tables. */
int ctr_agree_keys(const ctr_shape *one, const char *a, const ctr_shape *two, const char *b,
                   ctr_problem *problem);

/* The same, and that each counter is there on both sides, in the same generation. */
int ctr_agree_check(const ctr_shape *one, const char *a, const ctr_shape *two, const char *b,
                    ctr_problem *problem);

/* The counter of this name and this generation, or -1. */
int ctr_agree_counter(const ctr_shape *shape, const char *name, int64_t generation);

#endif
