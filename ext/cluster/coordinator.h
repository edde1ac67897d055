/* cluster/coordinator.h - the table in front of the replicas of a cluster. */
#ifndef CTR_CLUSTER_COORDINATOR_H
#define CTR_CLUSTER_COORDINATOR_H

#include "cluster/clusters.h"
#include "vtab/shared.h"
#include "vtab/table.h"

typedef struct ctr_coordinator {
    ctr_table table;
    ctr_cluster *cluster;     /* owned */
    ctr_cluster_entry *entry; /* of the cluster; borrowed */
    ctr_clusters *clusters;   /* the list with that entry; borrowed */
} ctr_coordinator;

/* USING counter_cluster(...) */
int ctr_coordinator_register(sqlite3 *db, ctr_shared *shared);

#endif
