/* sync/agree.h - do two tables have the same key and the same counters?
 *
 * Keys must agree in name, order, affinity and collation: else two keys here would be one there,
 * and shards of different keys be merged. Counters must agree in name.
 */
#ifndef CTR_SYNC_AGREE_H
#define CTR_SYNC_AGREE_H

#include "store/shape.h"

/* `a` and `b` are how a message calls the files that have the two tables. */
int ctr_agree_check(const ctr_shape *one, const char *a, const ctr_shape *two, const char *b,
                    ctr_problem *problem);

/* The counter of this name, or -1. */
int ctr_agree_counter(const ctr_shape *shape, const char *name);

#endif
