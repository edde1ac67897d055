/* cluster/reading.h - reads a cluster: the rows of as many replicas as the level asks, merged.
 *
 *     ctr_reading_open(reading, cluster, problem);
 *     ctr_reading_start(reading, plan, argc, argv, unique, problem);
 *     while (ctr_reading_step(reading, problem)) ... reading->cells, ctr_reading_row(reading)
 *     ctr_reading_close(reading);
 *
 * A replica that turns out to be damaged is left out and another one contacted instead; the reading
 * goes on behind the key that it has shown last.
 */
#ifndef CTR_CLUSTER_READING_H
#define CTR_CLUSTER_READING_H

#include "cluster/cluster.h"
#include "cluster/gather.h"

typedef struct ctr_reading {
    ctr_cluster *cluster;          /* borrowed */
    struct ctr_merged_cell *cells; /* of the row at hand, by counter; owned */
    int contacts[CTR_LEVEL_SITES]; /* the replicas contacted, by number */
    int n;
    bool compares; /* by the reader: find out which of them lack something */
    uint64_t lack; /* then a bit for each contact, by its place in `contacts` */

    /* Private. */
    ctr_gather rows;
    uint64_t failed; /* replicas, by number, that have turned out to be damaged */
    char *plan;      /* owned */
    sqlite3_value **args, **last;
    int n_args;
    bool unique, rest, skips;
} ctr_reading;

/* To be closed whatever is returned. */
int ctr_reading_open(ctr_reading *reading, ctr_cluster *cluster, ctr_problem *problem);
void ctr_reading_close(ctr_reading *reading);

/* Starts anew. A plan for a `unique` row is served with the row of exactly these values first; if
 * the arguments may mean other rows too, they follow. */
void ctr_reading_start(ctr_reading *reading, const char *plan, int argc, sqlite3_value **argv,
                       bool unique, ctr_problem *problem);

bool ctr_reading_step(ctr_reading *reading, ctr_problem *problem);

/* A stored row with the key at hand: _id and the declared columns. */
sqlite3_stmt *ctr_reading_row(const ctr_reading *reading);

/* The values of its key, in key order; lent until the next step. */
sqlite3_value **ctr_reading_keys(const ctr_reading *reading);

/* The number of the replica that the row stands in. */
int ctr_reading_replica(const ctr_reading *reading);

#endif
