/* sqlite/stats.h - what a connection has done, in figures.
 *
 * Everything that was done counts, whether it was rolled back or not.
 */
#ifndef CTR_SQLITE_STATS_H
#define CTR_SQLITE_STATS_H

#include <stdbool.h>
#include <stdint.h>

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
    int64_t writes;         /* rows of INSERT, UPDATE and DELETE */
    int64_t finds;          /* the read before such a write */
    int64_t reads;          /* scans */
} ctr_stats;

/* One increment; of a cell that was not there? */
static inline void ctr_stats_increment(ctr_stats *stats, bool created)
{
    stats->increments++;
    stats->cells_created += created;
    stats->shards_written++;
}

#endif
