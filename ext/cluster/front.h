/* cluster/front.h - the counter table in front of several replicas. */
#ifndef CTR_CLUSTER_FRONT_H
#define CTR_CLUSTER_FRONT_H

#include "cluster/cluster.h"
#include "counter/table.h"

typedef struct ctr_coordinator {
    ctr_table table;
    ctr_cluster *cluster;     /* owned */
    ctr_cluster_entry *entry; /* of the cluster; borrowed */
    ctr_clusters *clusters;   /* the list with that entry; borrowed */
} ctr_coordinator;

/* Returns the methods by which such a table reads and writes rows, and runs commands. */
const ctr_front *ctr_front_methods(void);

#endif
