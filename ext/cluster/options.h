/* cluster/options.h - the clauses of USING counter_cluster(...), and the commands that set levels.
 *
 *     page_views                      the counter table
 *     replicas = 'main east west'     names of attached databases, 1 ... 64
 *     read = QUORUM                   a level, see core/level.h; default QUORUM
 *     write = QUORUM
 *     read_repair = blocking          or none, the default
 */
#ifndef CTR_CLUSTER_OPTIONS_H
#define CTR_CLUSTER_OPTIONS_H

#include "cluster/cluster.h"

typedef struct ctr_options {
    char *table;                     /* owned */
    char *replicas[CTR_LEVEL_SITES]; /* owned; main first */
    int n;
    ctr_levels levels;
} ctr_options;

/* The caller closes the options, also after a failure. */
int ctr_options_read(ctr_options *options, int n, const char *const *clauses, ctr_problem *problem);
void ctr_options_close(ctr_options *options);

/* Returns whether the command sets a level, such as "read=ALL"; then sets it in *levels. */
bool ctr_options_set(ctr_levels *levels, const char *command, ctr_problem *problem);

#endif
