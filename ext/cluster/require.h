/* cluster/require.h - decides whether enough replicas are available for a level, and says why not.
 *
 * "write=QUORUM needs 2 of 3 replicas, 1 is available: east: database is locked; west: it is not
 * attached"; the code is SQLITE_BUSY if only locks are missing, because then it is worth trying
 * again. The data center of a replica is that of its name; the local one is that of main.
 */
#ifndef CTR_CLUSTER_REQUIRE_H
#define CTR_CLUSTER_REQUIRE_H

#include "cluster/cluster.h"

/* Chooses the replicas that a read contacts, by number, into `contacts`, which has room for all.
 * `available` has a bit for each replica that can be read. Returns their number; 0 and a problem if
 * they are too few. */
int ctr_require_read(const ctr_cluster *cluster, uint64_t available, int *contacts,
                     ctr_problem *problem);

/* Fails unless enough replicas take part in a write. */
int ctr_require_write(const ctr_cluster *cluster, ctr_problem *problem);

#endif
