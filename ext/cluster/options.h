/* cluster/options.h - the clauses of USING counter_cluster(...), and the commands that set levels.
 *
 *     page_views                      the counter table
 *     replicas = 'main east west'     names of attached databases, 1 ... 64
 *     read = QUORUM                   a level, see core/level.h; QUORUM if it is not given
 *     write = QUORUM
 *     read_repair = blocking          or none, which it is if it is not given
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

/* To be closed whatever is returned. */
int ctr_options_read(ctr_options *options, int n, const char *const *clauses, ctr_problem *problem);
void ctr_options_close(ctr_options *options);

/* Is this a command that sets a level: "read=ALL"? Then *levels has it. */
bool ctr_options_set(ctr_levels *levels, const char *command, ctr_problem *problem);

#endif
