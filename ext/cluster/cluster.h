/* cluster/cluster.h - several files behind one table.
 *
 *     ctr_cluster  the replicas that are attached to one connection
 *     ctr_member   one of them
 *     ctr_reading  rows of several of them, merged
 */
#ifndef CTR_CLUSTER_CLUSTER_H
#define CTR_CLUSTER_CLUSTER_H

#include "merge/merge.h"

/* Several replicas of one counter table, attached to one connection, used as one table.
 *
 *     cluster.c  opens and locks the replicas, decides whether they are enough for a level
 *     quorum.c   the replica whose id counts; one row: found in all, merged, written to all
 *     reading.c  the rows of as many replicas as a level demands; read repair
 *     module.c   the virtual table in front of them: its options, its rows, its commands
 *
 * Cassandra's coordinator, in one process and inside one transaction. A read contacts as many
 * replicas as its level demands. A write first takes the write locks of all replicas. Those that it
 * can lock are available, and it writes all of them. */

/* The file of a schema may change between two statements: another file is attached, the table is
 * dropped, another connection locks it. So each statement looks at its members again. A member that
 * takes no part has a `trouble`, the reason.
 */
typedef struct ctr_member {
    ctr_conn *conn;              /* borrowed */
    ctr_file *file;              /* held while it is open */
    char *schema;                /* owned */
    bool met;                    /* `name` was read once, and stays while it is away */
    char name[CTR_NAME_MAX + 1]; /* "dc:rack"; "" for a random id */
    uint8_t id[CTR_ID_SIZE];
    char refuses[CTR_REFUSAL_MAX + 1]; /* why it does not count; "" if it does */
    ctr_problem trouble;               /* why it takes no part; SQLITE_OK: it takes part */
    const bool *within;                /* the cluster's; borrowed */

    /* The table, while it is open. */
    bool open;
    bool bounded;    /* it has a bounded counter */
    ctr_merge merge; /* in the order of the cluster's columns */
    ctr_conflicts conflicts;
    ctr_floors floors; /* for reads, which write nothing */
    ctr_streams streams;
    sqlite3_stmt *schema_look, *look, *lock;
    bool stale; /* it has changed, and a cursor still reads it */

    /* In this transaction. */
    bool locked, durable;
    bool left_out;        /* of the current row, because of `trouble` */
    ctr_problem unlocked; /* why it could not be locked */
} ctr_member;

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

    /* The current row: cluster/quorum.c. */
    struct ctr_quorum {
        sqlite3_value **keys;     /* borrowed */
        sqlite3_value **spelling; /* borrowed; as in ctr_row */
        bool found, below;
        struct ctr_merged_cell {
            ctr_cell cell;
            uint8_t *bytes, *spare; /* owned, of `room` bytes each */
            size_t room;
        } * cells;
    } row;
} ctr_cluster;

/* The rows of several replicas of a stored table, gathered by key. Each step stands on one key, and
 * on all streams that have a row with it. */
typedef struct ctr_gather {
    ctr_stream *streams; /* owned */
    int n;
    uint64_t here;        /* a bit for each stream with a row of the current key */
    int first;            /* the lowest of them */
    sqlite3_value **keys; /* of that row, in key order; lent until the next step */
    int failed;           /* the stream that failed; -1: none */

    ctr_cluster *cluster;   /* borrowed */
    const ctr_shape *shape; /* of the cluster */
    uint64_t rows;          /* streams that stand on a row */
    char *order;            /* owned */
    sqlite3_value **heads;  /* the keys of the current rows, stream by stream */
} ctr_gather;

typedef struct ctr_reading {
    ctr_cluster *cluster;          /* borrowed */
    struct ctr_merged_cell *cells; /* of the current row, by counter; owned */
    int contacts[CTR_LEVEL_SITES]; /* the replicas contacted, by number */
    int n;
    bool is_writing; /* set by the reader: the statement writes to the cluster */
    bool compares;   /* set by the reader: compute `lack` */
    uint64_t lack;   /* a bit for each contact whose row differs, by its index in `contacts` */

    /* Private. */
    ctr_gather rows;
    uint64_t failed; /* a bit for each replica that turned out to be damaged */
    char *plan;      /* owned */
    sqlite3_value **args, **last;
    int n_args;
    bool unique, rest, skips;
    bool is_counted; /* in the `readings` of the cluster */
} ctr_reading;

/* The clauses of USING counter_cluster(...), and the commands that set levels.
 *
 *     page_views                      the counter table
 *     replicas = 'main east west'     names of attached databases, 1 ... 64
 *     read = QUORUM                   a level, see core/core.h; default QUORUM
 *     write = QUORUM
 *     read_repair = blocking          or none, the default
 */
typedef struct ctr_options {
    char *table;                     /* owned */
    char *replicas[CTR_LEVEL_SITES]; /* owned; main first */
    int n;
    ctr_levels levels;
} ctr_options;

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

/* ==== cluster.c =============================================================================== */

/* Looks at the files of all replicas; see member_look. */
void ctr_cluster_look(ctr_cluster *cluster);

/* Takes the write locks, once in a transaction. Outside a transaction it takes them in the order of
 * the files' paths, so that two coordinators wait for each other instead of blocking each other. A
 * replica that cannot be locked is unavailable. If the current statement fails, its later writes
 * are undone. */
int ctr_cluster_lock(ctr_cluster *cluster);

/* Returns whether it takes part in writes. */
bool ctr_member_takes_part(const ctr_member *member);

/* Returns whether it is an error for which SQLite rolls back all files, also those of other
 * replicas: no memory, an interrupt, a full or failing disk, an earlier rollback; or a schema that
 * must be read again. */
bool ctr_member_ends_statement(int rc);

/* Ends the try of `trouble`: its error becomes the trouble of the member or, if it ends the
 * statement, the error at hand. */
void ctr_member_blame(ctr_member *member, ctr_problem *trouble);

/* ==== module.c ================================================================================ */

/* SQLite may disconnect a table and connect it again at any time. Options that are given for the
 * rest of the connection, INSERT INTO traffic(traffic) VALUES ('read=ALL'), are kept here
 * meanwhile.
 */

/* Returns the entry of this name with its cluster, connecting a disconnected one first. NULL: there
 * is none; or it was dropped, or its CREATE was rolled back, although a statement may still hold
 * it; or, with an error, it could not be connected. */
ctr_cluster_entry *ctr_clusters_connected(const ctr_clusters *clusters, ctr_conn *conn,
                                          const char *name);

/* Registers USING counter_cluster(...). `conn` has the list as its fronts. */
int ctr_coordinator_register(sqlite3 *db, ctr_conn *conn);

/* =================================================================================================
 * Only files of this folder use what follows.
 */

/* ==== cluster.c =============================================================================== */

/* Moves the error at hand into the member's trouble, unless it ends the statement or the
 * transaction was rolled back. */
void ctr_member_fail(ctr_member *member);

/* Excludes the member from the rest of the transaction, because of its present trouble. */
void ctr_member_bar(ctr_member *member);

/* Makes the file durable before others take its cells; once in a transaction. */
void ctr_member_make_durable(ctr_member *member);

/* Opens a cluster. `table` is the name of the table in the first replica that has it; the n
 * `schemas` are copied. Missing replicas may be attached later, but a new cluster needs at least
 * one, and all that are attached must have the same columns. A cluster that is not new is opened
 * from `seen`, without a lock; its replicas are read when they are needed. The caller closes it,
 * even if this fails. */
void ctr_cluster_open(ctr_cluster *cluster, ctr_conn *conn, ctr_levels *levels,
                      ctr_cluster_seen *seen, const char *table, char *const *schemas, int n,
                      bool is_new);
void ctr_cluster_close(ctr_cluster *cluster);

/* Chooses the replicas that a read contacts: their numbers go into `contacts`, which has room for
 * all. Leaves out those in `failed`. Returns their number. Fails if the level cannot be met. If the
 * statement is writing, these are all that take part in the write: an UPDATE counts the difference
 * between its new value and the row that it writes, which must be the row that it has read. */
int ctr_cluster_contact(ctr_cluster *cluster, bool is_writing, uint64_t failed, int *contacts);

/* Returns a bit for each replica that takes part in the write of the current row. */
uint64_t ctr_cluster_parts(const ctr_cluster *cluster);

/* Fails unless enough replicas take part in a write, and says why not:
 *
 * "write=QUORUM needs 2 of 3 replicas, 1 is available: east: database is locked; west: it is not
 * attached"; the code is SQLITE_BUSY if only locks are missing, because then it is worth trying
 * again. The data center of a replica is that of its name; the local one is that of main. */
int ctr_cluster_require_write(const ctr_cluster *cluster);

/* ==== quorum.c: one row of all replicas that take part ======================================== */

/*     ctr_quorum_find(cluster, keys);                  the leader's rows have the merged cells
 *     ... ctr_row_room, ctr_row_set on these ...   stages the changes of the statement
 *     ctr_quorum_write(cluster);                       one write for each replica
 *
 * A replica whose row cannot be read takes no part in this row. Every refusal comes before the
 * first write; if a later write fails, the transaction is spoiled (base/conn.c), because SQLite
 * does not roll back the first one within a transaction. */

/* Locks the replicas, and chooses the leader, which leaves those out that cannot take part, before
 * a statement that writes reads. It may write no row, so errors of the write alone are reported by
 * the next choice. */
void ctr_quorum_prepare(ctr_cluster *cluster);

/* Locks and looks at the replicas, chooses the leader, and finds the row; `keys` in key order. */
int ctr_quorum_find(ctr_cluster *cluster, sqlite3_value **keys);

/* Writes the cells staged in the leader's rows, and otherwise the merged cells, to all replicas. */
int ctr_quorum_write(ctr_cluster *cluster);

/* Raises floors in all replicas that take part; see ctr_floors_raise. */
int ctr_quorum_raise(ctr_cluster *cluster, sqlite3_value **values);

/* Makes *cell the merge of both; the bytes live until the next row. `merged` holds *cell. */
void ctr_quorum_merge(ctr_conn *conn, struct ctr_merged_cell *merged, const ctr_cell *with);

/* Returns whether the merge has changed the cell of a replica. */
bool ctr_quorum_differs(const struct ctr_merged_cell *merged, const ctr_cell *cell);

/* ==== reading.c: the rows of as many replicas as the level demands ============================ */

/*     ctr_reading_open(reading, cluster);
 *     ctr_reading_start(reading, plan, argc, argv, unique);
 *     while (ctr_reading_step(reading)) ... reading->cells
 *     ctr_reading_close(reading);
 *
 * If a replica turns out to be damaged, another one is contacted instead, and the reading continues
 * after the key that it returned last. An UPDATE then fails: rows that it has read with the damaged
 * replica would be written without it. */

/* The caller closes the reading, also after a failure. */
int ctr_reading_open(ctr_reading *reading, ctr_cluster *cluster);
void ctr_reading_close(ctr_reading *reading);

/* Starts a new scan. For a `unique` row, the row with exactly these values comes first; if the
 * arguments may match other rows, too, those follow. */
void ctr_reading_start(ctr_reading *reading, const char *plan, int argc, sqlite3_value **argv,
                       bool unique);

bool ctr_reading_step(ctr_reading *reading);

/* Blocking read repair: before a read with this plan returns a row, as in Cassandra, writes the
 * merged row to the contacted replicas that lack it. Others, and those that cannot be written now,
 * stay unchanged. `name` is that of the cluster's table in temp, which joins the transaction. A
 * failed repair is no error, unless the statement must end. */
void ctr_reading_repair(ctr_cluster *cluster, const char *name, const char *plan, int argc,
                        sqlite3_value **argv);

/* ==== module.c ================================================================================ */

/* Notes a copy of `of`: the tables of a cluster as this connection has just seen them. */
void ctr_clusters_note_seen(ctr_conn *conn, ctr_cluster_seen *seen, const ctr_cluster_seen *of);

/* The counter table in front of several replicas. */
typedef struct ctr_coordinator {
    ctr_table table;
    ctr_cluster *cluster;     /* owned */
    ctr_cluster_entry *entry; /* of the cluster; borrowed */
    ctr_clusters *clusters;   /* the list with that entry; borrowed */
} ctr_coordinator;

#endif
