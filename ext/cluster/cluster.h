/* cluster/cluster.h - several replicas of one counter table, attached to one connection, as one.
 *
 *     cluster.c    which replicas are there, and their locks
 *     require.c    whether they are enough for a level
 *     leader.c     under whose id is counted
 *     member.c     one replica
 *     quorum.c     one row: found in all replicas, merged, written to all
 *     reading.c    the rows of as many as a level asks
 *     repair.c     what a read has found lacking
 *
 * Cassandra's coordinator, in one process and inside one transaction. A read contacts as many
 * replicas as its level asks for. A write first takes the write locks of all replicas: which of
 * them it gets are available, and all those are written.
 */
#ifndef CTR_CLUSTER_CLUSTER_H
#define CTR_CLUSTER_CLUSTER_H

#include "cluster/member.h"
#include "core/level.h"
#include "table/collator.h"

typedef struct ctr_levels {
    ctr_level read, write;
    bool repairs; /* a read writes what it has found lacking */
} ctr_levels;

/* The tables of a cluster as this connection has last seen them, for when SQLite lets go of the
 * cluster and connects it again: the name with which they were created, and the columns of one of
 * them. Zeroed at first. */
typedef struct ctr_cluster_seen {
    char *birth, *schema, *table; /* owned */
    ctr_shape shape;
} ctr_cluster_seen;
void ctr_cluster_copy_seen(ctr_cluster_seen *to, const ctr_cluster_seen *from,
                           ctr_problem *problem);
void ctr_cluster_clear_seen(ctr_cluster_seen *seen);

typedef struct ctr_cluster {
    sqlite3 *db;
    ctr_transaction *transaction; /* borrowed */
    ctr_levels *levels;           /* borrowed */
    ctr_cluster_seen *seen;       /* borrowed */
    char *birth;                  /* the name with which the tables were created; owned */
    ctr_shape shape;              /* the columns of all of them */
    bool read;                    /* false: `shape` has but the columns, and no generations */
    ctr_collator collator;
    ctr_member *members; /* main first, then in the given order */
    int n;
    ctr_member *leader; /* of this transaction; NULL: not chosen */
    bool writes;        /* a writing statement of this transaction has begun */
    bool locked;        /* the locks of those that are available have been taken */
    bool within;        /* a transaction of the caller's, when the statement began */
    bool begun;         /* a statement that SQLite may take back by itself; see ctr_cluster_lock */

    /* The row at hand; see cluster/quorum.h. */
    struct ctr_quorum {
        sqlite3_value **keys; /* borrowed */
        bool found, below;
        struct ctr_merged_cell {
            ctr_cell cell;
            uint8_t *bytes, *spare; /* owned, of `room` bytes each */
            size_t room;
        } * cells;
    } row;
} ctr_cluster;

/* `table` is the name that the table has in the first replica that has it; `schemas`, n of them,
 * are copied. Replicas that are missing may come later, but in a new cluster one must be there, and
 * those that are must have the same columns. One that is not new is opened from seen, without a
 * lock: its replicas are read when they are needed. To be closed whatever is returned. */
int ctr_cluster_open(ctr_cluster *cluster, sqlite3 *db, ctr_transaction *transaction,
                     ctr_levels *levels, ctr_cluster_seen *seen, const char *table,
                     char *const *schemas, int n, bool is_new, ctr_problem *problem);
void ctr_cluster_close(ctr_cluster *cluster);

/* Looks at all replicas. */
int ctr_cluster_look(ctr_cluster *cluster, ctr_problem *problem);

/* The replicas that a read contacts, by number into `contacts`, which has room for all. Those in
 * `failed` are not asked again. Returns how many; a problem where the level cannot be reached. */
int ctr_cluster_contact(ctr_cluster *cluster, uint64_t failed, int *contacts, ctr_problem *problem);

/* Takes the write locks, once in a transaction: outside of one in the order of the files' paths, so
 * that two coordinators wait for each other instead of holding each other up. What cannot be locked
 * is unavailable. What the statement at work writes from here on is taken back if it fails. */
int ctr_cluster_lock(ctr_cluster *cluster, ctr_problem *problem);

/* The transaction has ended. */
void ctr_cluster_end(ctr_cluster *cluster);

#endif
