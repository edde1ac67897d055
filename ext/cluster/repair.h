/* cluster/repair.h - blocking read repair: the replicas that a read contacts get what they lack.
 *
 * As in Cassandra, before the row is returned; the replicas of a row that was not contacted stay as
 * they are, and so does one that cannot be written now.
 */
#ifndef CTR_CLUSTER_REPAIR_H
#define CTR_CLUSTER_REPAIR_H

#include "cluster/cluster.h"

/* Repairs the rows that a read with this plan would show. `name` is that of the cluster's table in
 * temp, which joins the transaction. Not being able to is no problem. */
void ctr_repair_rows(ctr_cluster *cluster, const char *name, const char *plan, int argc,
                     sqlite3_value **argv, ctr_problem *problem);

#endif
