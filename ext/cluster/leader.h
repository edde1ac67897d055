/* cluster/leader.h - the replica under whose id a cluster counts.
 *
 * It is the one that commits first of all that take part. SQLite commits files under WAL one by
 * one, in the order in which they were attached, main first; then those with a rollback journal,
 * one by one or as one, and databases in memory. A leader that commits later would, after a crash
 * or an error in between, use clocks again that others have seen. So who commits before the leader
 * takes no part for the rest of the transaction; and what the leader commits must outlive a power
 * cut.
 */
#ifndef CTR_CLUSTER_LEADER_H
#define CTR_CLUSTER_LEADER_H

#include "cluster/cluster.h"

/* Chooses the leader, after locking; where there is one that still takes part, it stays. A
 * problem: too few are available for the level of writes, the leader could forget what it has
 * committed, or some replica has counted by itself in this transaction, or has taken of one that
 * did and commits later. */
int ctr_leader_choose(ctr_cluster *cluster, ctr_problem *problem);

/* Must the leader not count after all, for what the row has proved? Then another one is to be
 * chosen. */
bool ctr_leader_is_lost(ctr_cluster *cluster, ctr_problem *problem);

#endif
