/* store/stats.h - what a connection has done, in figures.
 *
 * Everything that was done counts, whether it was rolled back or not.
 *
 *     int64_t begun = ctr_stats_begin(&stats->write);
 *     ...
 *     ctr_stats_end(&stats->write, begun);
 */
#ifndef CTR_STORE_STATS_H
#define CTR_STORE_STATS_H

#include <stdbool.h>

#include "core/histogram.h"

typedef struct ctr_timing {
    ctr_histogram histogram;
    int64_t passed; /* all that have begun */
} ctr_timing;

typedef struct ctr_stats {
    int64_t increments;     /* of one counter by one statement; +0 is one */
    int64_t cells_created;  /* of them, those that found no cell */
    int64_t shards_written; /* one by each increment, by merges those that changed */
    int64_t merges;         /* of a cell with one that came from elsewhere */
    int64_t cells_changed;  /* of them, those that brought something */
    int64_t conflicts;      /* rows that were written to counter_conflicts */
    int64_t renewals;       /* of the witness of an identity */
    int64_t tracked;        /* rows in which counter_track has found something to count */
    int64_t changes;        /* a new id, or a refusal to count from then on */
    ctr_timing write;       /* a row of INSERT, UPDATE or DELETE */
    ctr_timing find;        /* in it, the read before the write */
    ctr_timing read;        /* from the start of a scan to its first row */
} ctr_stats;

/* One increment; of a cell that was not there? */
static inline void ctr_stats_increment(ctr_stats *stats, bool created)
{
    stats->increments++;
    stats->cells_created += created;
    stats->shards_written++;
}

/* The time, if this one is to be measured; else 0. */
int64_t ctr_stats_begin(ctr_timing *timing);
void ctr_stats_end(ctr_timing *timing, int64_t begun);

#endif
