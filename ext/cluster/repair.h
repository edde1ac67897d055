/* cluster/repair.h - blocking read repair: writes merged rows to the contacted replicas that lack
 * them.
 *
 * As in Cassandra, this happens before the row is returned. Replicas that were not contacted, or
 * that cannot be written now, stay unchanged.
 */
#ifndef CTR_CLUSTER_REPAIR_H
#define CTR_CLUSTER_REPAIR_H

#include "cluster/cluster.h"

/* Repairs the rows that a read with this plan would return. `name` is that of the cluster's table
 * in temp, which joins the transaction. A failed repair is no problem, unless the statement must
 * end. */
void ctr_repair_rows(ctr_cluster *cluster, const char *name, const char *plan, int argc,
                     sqlite3_value **argv, ctr_problem *problem);

#endif
