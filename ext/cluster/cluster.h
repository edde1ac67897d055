/* cluster/cluster.h - several replicas of one counter table, attached to one connection, used as
 * one table.
 *
 *     cluster.c      finds and locks the replicas, decides whether they are enough for a level
 *     leader.c       the replica whose id counts
 *     member.c       one replica
 *     quorum.c       one row: found in all replicas, merged, written to all
 *     reading.c      the rows of as many replicas as a level demands; read repair
 *     coordinator.c  the virtual table in front of them; clusters.c has their options
 *
 * Cassandra's coordinator, in one process and inside one transaction. A read contacts as many
 * replicas as its level demands. A write first takes the write locks of all replicas. Those that it
 * can lock are available, and it writes all of them. This header declares the functions of
 * cluster.c and leader.c.
 */
#ifndef CTR_CLUSTER_CLUSTER_H
#define CTR_CLUSTER_CLUSTER_H

#include "cluster/member.h"
#include "core/level.h"

typedef struct ctr_levels {
    ctr_level read, write;
    bool repairs; /* a read writes rows that replicas lack */
} ctr_levels;

/* The tables of a cluster as this connection last saw them: their birth name, and the columns of
 * one of them. It outlives the cluster, which SQLite may disconnect and connect again. Zero it
 * first. */
typedef struct ctr_cluster_seen {
    char *birth, *schema, *table; /* owned */
    ctr_shape shape;
} ctr_cluster_seen;

typedef struct ctr_cluster {
    sqlite3 *db;
    ctr_conn *conn;         /* borrowed */
    ctr_levels *levels;     /* borrowed */
    ctr_cluster_seen *seen; /* borrowed */
    char *birth;            /* the name with which the tables were created; owned */
    ctr_shape shape;        /* the columns of all of them */
    bool read;              /* false: `shape` has only the columns, and no generations */
    sqlite3_stmt *compares[CTR_STREAM_KEYS]; /* values of a key column; prepared when needed */
    ctr_member *members;                     /* main first, then in the given order */
    int n;
    ctr_member *leader; /* of this transaction; NULL: not chosen */
    bool writes;        /* this transaction has begun a writing statement */
    bool locked;        /* the available replicas are locked */
    bool within;        /* the caller had a transaction when the statement began */
    bool begun;         /* a statement that SQLite may roll back by itself; see ctr_cluster_lock */
    int readings;       /* open scans of writing statements */
    uint64_t read_from; /* the replicas that all of these read; 0: not all read the same */

    /* The current row; see cluster/quorum.h. */
    struct ctr_quorum {
        sqlite3_value **keys;     /* borrowed */
        sqlite3_value **spelling; /* borrowed; as in ctr_rows */
        bool found, below;
        struct ctr_merged_cell {
            ctr_cell cell;
            uint8_t *bytes, *spare; /* owned, of `room` bytes each */
            size_t room;
        } * cells;
    } row;
} ctr_cluster;

/* `table` is the name of the table in the first replica that has it; the n `schemas` are copied.
 * Missing replicas may be attached later, but a new cluster needs at least one, and all that are
 * attached must have the same columns. A cluster that is not new is opened from `seen`, without a
 * lock; its replicas are read when they are needed. The caller closes it, even if this fails. */
int ctr_cluster_open(ctr_cluster *cluster, sqlite3 *db, ctr_conn *conn, ctr_levels *levels,
                     ctr_cluster_seen *seen, const char *table, char *const *schemas, int n,
                     bool is_new, ctr_problem *problem);
void ctr_cluster_close(ctr_cluster *cluster);

/* Looks at the files of all replicas; see ctr_member_look. */
int ctr_cluster_look(ctr_cluster *cluster, ctr_problem *problem);

/* Returns whether a statement that writes is running in a transaction that writes to the
 * cluster. */
bool ctr_cluster_is_writing(const ctr_cluster *cluster);

/* Chooses the replicas that a read contacts: their numbers go into `contacts`, which has room for
 * all. Leaves out those in `failed`. Returns their number. Fails if the level cannot be met. If the
 * statement is writing, these are all that take part in the write: an UPDATE counts the difference
 * between its new value and the row that it writes, which must be the row that it has read. */
int ctr_cluster_contact(ctr_cluster *cluster, bool is_writing, uint64_t failed, int *contacts,
                        ctr_problem *problem);

/* Takes the write locks, once in a transaction. Outside a transaction it takes them in the order of
 * the files' paths, so that two coordinators wait for each other instead of blocking each other. A
 * replica that cannot be locked is unavailable. If the current statement fails, its later writes
 * are undone. */
int ctr_cluster_lock(ctr_cluster *cluster, ctr_problem *problem);

/* Returns a bit for each replica that takes part in the write of the current row. */
uint64_t ctr_cluster_parts(const ctr_cluster *cluster);

/* Call it at the end of a transaction. */
void ctr_cluster_end(ctr_cluster *cluster);

/* Fails unless enough replicas take part in a write, and says why not:
 *
 * "write=QUORUM needs 2 of 3 replicas, 1 is available: east: database is locked; west: it is not
 * attached"; the code is SQLITE_BUSY if only locks are missing, because then it is worth trying
 * again. The data center of a replica is that of its name; the local one is that of main. */
int ctr_cluster_require_write(const ctr_cluster *cluster, ctr_problem *problem);

/* leader.c */

/* Chooses the leader, after locking. A leader that still takes part stays. Fails if too few
 * replicas are available for the level of writes; if a power cut could undo the leader's commits;
 * or if some replica has counted in this transaction outside the cluster, or has merged from one
 * that did and commits later. */
int ctr_leader_choose(ctr_cluster *cluster, ctr_problem *problem);

/* Locks the replicas, and chooses the leader, which leaves those out that cannot take part, before
 * a statement that writes reads. It may write no row, so problems of the write alone are reported
 * by the next choice. */
void ctr_leader_prepare(ctr_cluster *cluster, ctr_problem *problem);

/* Returns whether conflicts in the row have made the leader stop counting. Then the caller chooses
 * another one. */
bool ctr_leader_is_lost(ctr_cluster *cluster, ctr_problem *problem);

#endif
