/* sync/pull_columns.h - counters that come and go, in a pull. */
#ifndef CTR_SYNC_PULL_COLUMNS_H
#define CTR_SYNC_PULL_COLUMNS_H

#include "sync/pull.h"

/* Returns whether some counter of the source has a higher generation than in `here`. */
bool ctr_pull_columns_any(const ctr_shape *from, const ctr_shape *here);

/* Raises each counter of our table to its generation at the source. A pull takes all generations
 * before the rows, whatever the marks say, because rows are merged by generation. Returns the
 * number of emptied cells. */
int64_t ctr_pull_columns_take(const ctr_pull *pull, const ctr_shape *from, const char *table,
                              ctr_problem *problem);

#endif
