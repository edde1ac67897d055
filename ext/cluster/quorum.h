/* cluster/quorum.h - one row of a cluster: found in all replicas that take part, merged, and
 * written to all.
 *
 *     ctr_quorum_find(cluster, keys, problem);         the leader's rows have the merged cells
 *     ... ctr_stage_room, ctr_stage_set on these ...   stages the changes of the statement
 *     ctr_quorum_write(cluster, problem);              one write for each replica
 *
 * A replica whose row cannot be read takes no part in this row. Every refusal comes before the
 * first write; if a later write fails, the transaction is spoiled (sqlite/conn.h), because
 * SQLite does not roll back the first one within a transaction.
 */
#ifndef CTR_CLUSTER_QUORUM_H
#define CTR_CLUSTER_QUORUM_H

#include "cluster/cluster.h"

/* Locks and looks at the replicas, chooses the leader, and finds the row; `keys` in key order. */
int ctr_quorum_find(ctr_cluster *cluster, sqlite3_value **keys, ctr_problem *problem);

/* Writes the cells staged in the leader's rows, and otherwise the merged cells, to all replicas. */
int ctr_quorum_write(ctr_cluster *cluster, ctr_problem *problem);

/* Raises floors in all replicas that take part; see ctr_floors_raise. */
int ctr_quorum_raise(ctr_cluster *cluster, sqlite3_value **values, ctr_problem *problem);

/* Makes *cell the merge of both; the bytes live until the next row. `merged` holds *cell. */
int ctr_quorum_merge(struct ctr_merged_cell *merged, const ctr_cell *with, ctr_problem *problem);

#endif
