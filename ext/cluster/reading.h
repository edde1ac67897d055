/* cluster/reading.h - reads a cluster: merges the rows of as many replicas as the level demands.
 *
 *     ctr_reading_open(reading, cluster, problem);
 *     ctr_reading_start(reading, plan, argc, argv, unique, problem);
 *     while (ctr_reading_step(reading, problem)) ... reading->cells, ctr_reading_row(reading)
 *     ctr_reading_close(reading);
 *
 * If a replica turns out to be damaged, another one is contacted instead, and the reading continues
 * after the key that it returned last. An UPDATE then fails: rows that it has read with the damaged
 * replica would be written without it.
 */
#ifndef CTR_CLUSTER_READING_H
#define CTR_CLUSTER_READING_H

#include <stdint.h>

#include "cluster/cluster.h"

/* The rows of several replicas of a stored table, gathered by key. Each step stands on one key, and
 * on all streams that have a row with it. */
typedef struct ctr_gather {
    ctr_stream *streams; /* owned */
    int n;
    uint64_t here;        /* a bit for each stream with a row of the current key */
    int first;            /* the lowest of them */
    sqlite3_value **keys; /* of that row, in key order; lent until the next step */
    int failed;           /* the stream that failed; -1: none */

    ctr_cluster *cluster;   /* borrowed */
    const ctr_shape *shape; /* of the cluster */
    uint64_t rows;          /* streams that stand on a row */
    char *order;            /* owned */
    sqlite3_value **heads;  /* the keys of the current rows, stream by stream */
} ctr_gather;

typedef struct ctr_reading {
    ctr_cluster *cluster;          /* borrowed */
    struct ctr_merged_cell *cells; /* of the current row, by counter; owned */
    int contacts[CTR_LEVEL_SITES]; /* the replicas contacted, by number */
    int n;
    bool is_writing; /* set by the reader: the statement writes to the cluster */
    bool compares;   /* set by the reader: compute `lack` */
    uint64_t lack;   /* a bit for each contact whose row differs, by its index in `contacts` */

    /* Private. */
    ctr_gather rows;
    uint64_t failed; /* a bit for each replica that turned out to be damaged */
    char *plan;      /* owned */
    sqlite3_value **args, **last;
    int n_args;
    bool unique, rest, skips;
    bool is_counted; /* in the `readings` of the cluster */
} ctr_reading;

/* The caller closes the reading, also after a failure. */
int ctr_reading_open(ctr_reading *reading, ctr_cluster *cluster, ctr_problem *problem);
void ctr_reading_close(ctr_reading *reading);

/* Starts a new scan. For a `unique` row, the row with exactly these values comes first; if the
 * arguments may match other rows, too, those follow. */
void ctr_reading_start(ctr_reading *reading, const char *plan, int argc, sqlite3_value **argv,
                       bool unique, ctr_problem *problem);

bool ctr_reading_step(ctr_reading *reading, ctr_problem *problem);

/* Returns a stored row with the current key: _id and the declared columns. */
sqlite3_stmt *ctr_reading_row(const ctr_reading *reading);

/* Returns its key values, in key order; lent until the next step. */
sqlite3_value **ctr_reading_keys(const ctr_reading *reading);

/* Returns the number of the replica of this row. */
int ctr_reading_replica(const ctr_reading *reading);

/* Blocking read repair: before a read with this plan returns a row, as in Cassandra, writes the
 * merged row to the contacted replicas that lack it. Others, and those that cannot be written now,
 * stay unchanged. `name` is that of the cluster's table in temp, which joins the transaction. A
 * failed repair is no problem, unless the statement must end. */
void ctr_reading_repair(ctr_cluster *cluster, const char *name, const char *plan, int argc,
                        sqlite3_value **argv, ctr_problem *problem);

#endif
