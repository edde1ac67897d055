/* cluster/gather.h - rows of several replicas of a stored table, gathered by key.
 *
 * The plan must order by the whole key. Each step stands on one key, and on all streams that have a
 * row with it.
 */
#ifndef CTR_CLUSTER_GATHER_H
#define CTR_CLUSTER_GATHER_H

#include <stdint.h>

#include "core/level.h"
#include "table/collator.h"
#include "table/stream.h"

/* Cursors name a row of a replica by id * CTR_LEVEL_SITES + replica. */
#define CTR_GATHER_LAST_ID (INT64_MAX / CTR_LEVEL_SITES - 1)

typedef struct ctr_gather {
    ctr_stream *streams; /* owned */
    int n;
    uint64_t here;        /* a bit for each stream with a row of the current key */
    int first;            /* the lowest of them */
    sqlite3_value **keys; /* of that row, in key order; lent until the next step */
    int failed;           /* the stream that failed; -1: none */

    /* Private. */
    ctr_collator *collator; /* borrowed */
    const ctr_shape *shape; /* borrowed */
    uint64_t rows;          /* streams that stand on a row */
    char *order;            /* owned */
    sqlite3_value **heads;  /* the keys of the current rows, stream by stream */
} ctr_gather;

/* `of`: the tables of the n streams, CTR_LEVEL_SITES at most. The caller closes it, also after a
 * failure. */
int ctr_gather_open(ctr_gather *gather, ctr_streams *const *of, int n, const ctr_shape *shape,
                    ctr_collator *collator, ctr_problem *problem);
void ctr_gather_close(ctr_gather *gather);

/* Starts all streams; see ctr_stream_start. */
void ctr_gather_start(ctr_gather *gather, const char *plan, sqlite3_value **argv, bool all,
                      ctr_problem *problem);

/* Steps to the next key. */
bool ctr_gather_step(ctr_gather *gather, ctr_problem *problem);

/* When the streams are started again, each skips its current row. */
void ctr_gather_except(ctr_gather *gather);

/* Returns the plan with an order by all columns of the key; NULL: no memory. The caller frees it
 * with sqlite3_free. */
char *ctr_gather_plan(const ctr_shape *shape, const char *plan);

#endif
