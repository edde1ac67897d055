/* cluster/leader.h - the replica under whose id a cluster counts.
 *
 * The leader is the replica that commits first. SQLite commits files under WAL one by one, in the
 * order in which they were attached, main first; then those with a rollback journal, one by one or
 * as one, and databases in memory. After a crash or an error in between, a leader that commits
 * later would reuse clocks that others have seen. So a replica that commits before the leader takes
 * no part for the rest of the transaction, and the leader's commits must survive a power cut.
 */
#ifndef CTR_CLUSTER_LEADER_H
#define CTR_CLUSTER_LEADER_H

#include "cluster/cluster.h"

/* Chooses the leader, after locking. A leader that still takes part stays. Fails if too few
 * replicas are available for the level of writes; if a power cut could undo the leader's commits;
 * or if some replica has counted in this transaction outside the cluster, or has merged from one
 * that did and commits later. */
int ctr_leader_choose(ctr_cluster *cluster, ctr_problem *problem);

/* Returns whether conflicts in the row have made the leader stop counting. Then the caller chooses
 * another one. */
bool ctr_leader_is_lost(ctr_cluster *cluster, ctr_problem *problem);

#endif
