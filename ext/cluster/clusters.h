/* cluster/clusters.h - the clusters of a connection, by the names of their tables, with options.
 *
 * SQLite may disconnect a table and connect it again at any time. Options for the rest of the
 * connection, INSERT INTO traffic(traffic) VALUES ('read=ALL'), are kept here meanwhile.
 */
#ifndef CTR_CLUSTER_CLUSTERS_H
#define CTR_CLUSTER_CLUSTERS_H

#include "cluster/cluster.h"
#include "vtab/shared.h"

/* The clauses of USING counter_cluster(...), and the commands that set levels.
 *
 *     page_views                      the counter table
 *     replicas = 'main east west'     names of attached databases, 1 ... 64
 *     read = QUORUM                   a level, see core/level.h; default QUORUM
 *     write = QUORUM
 *     read_repair = blocking          or none, the default
 */
typedef struct ctr_options {
    char *table;                     /* owned */
    char *replicas[CTR_LEVEL_SITES]; /* owned; main first */
    int n;
    ctr_levels levels;
} ctr_options;

/* The caller closes the options, also after a failure. */
int ctr_clusters_read_options(ctr_options *options, int n, const char *const *clauses,
                              ctr_problem *problem);
void ctr_clusters_close_options(ctr_options *options);

/* Returns whether the command sets a level, such as "read=ALL"; then sets it in *levels. */
bool ctr_clusters_set_option(ctr_levels *levels, const char *command, ctr_problem *problem);

typedef struct ctr_cluster_entry {
    char *name;        /* owned */
    char *declaration; /* owned; the other members belong to this cluster; NULL: none */
    ctr_levels levels;
    ctr_cluster_seen seen;
    ctr_cluster *cluster; /* borrowed; NULL while the table is not connected */
    struct ctr_cluster_entry *next;
} ctr_cluster_entry;

/* Zero it first. */
typedef struct ctr_clusters {
    ctr_cluster_entry *first;
} ctr_clusters;

/* Returns the entry of this name with its cluster, connecting a disconnected one first. NULL: there
 * is none; or it was dropped, or its CREATE was rolled back, although a statement may still hold
 * it; or, with a problem, it could not be connected. */
ctr_cluster_entry *ctr_clusters_connected(const ctr_clusters *clusters, sqlite3 *db,
                                          const char *name, ctr_problem *problem);

/* Returns the entry of this name, a new one if there is none. Lent as long as the connection; NULL:
 * no memory. */
ctr_cluster_entry *ctr_clusters_entry(ctr_clusters *clusters, const char *name);

/* Notes the declaration of the cluster. Options and seen tables stay if the declaration is the same
 * and the cluster is not new: a transaction that drops a cluster and creates another one of its
 * name may be rolled back without notice. */
void ctr_clusters_declare(ctr_cluster_entry *entry, const char *declaration, bool is_new,
                          const ctr_levels *levels, ctr_problem *problem);

/* Notes the tables of a cluster as this connection has just seen them. */
void ctr_clusters_note_seen(ctr_cluster_seen *seen, const char *birth, const char *schema,
                            const char *table, const ctr_shape *shape, ctr_problem *problem);

void ctr_clusters_close(ctr_clusters *clusters);

/* coordinator.c: USING counter_cluster(...). `conn` has the list as its fronts. */
int ctr_coordinator_register(sqlite3 *db, ctr_conn *conn);

#endif
