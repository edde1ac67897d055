/* base/conn.h - a connection of the host: its files, its transaction, its running sync. All
 * modules and functions that are registered on it hold it as their user data.
 *
 * It must forget everything that is rolled back. So a virtual table that has joined the transaction
 * passes on SQLite's calls (table/events.h): each counter table, counter_changes, and the internal
 * table counter_witness, for counter_inc on ordinary tables and if a transaction creates or drops a
 * table.
 *
 * The internal table counter_statements keeps statements. SQLite closes it before it checks whether
 * the connection has open statements.
 */
#ifndef CTR_BASE_CONN_H
#define CTR_BASE_CONN_H

#include <stdint.h>

#include "base/problem.h"
#include "base/run.h"

/* Figures of the work of a connection. Work that was rolled back counts, too. */
typedef struct ctr_stats {
    int64_t increments;     /* of one counter by one statement; +0 is one */
    int64_t cells_created;  /* increments that found no cell */
    int64_t shards_written; /* one for each increment; changed shards in a merge */
    int64_t merges;         /* of a cell with one of another file */
    int64_t cells_changed;  /* merges that changed the cell */
    int64_t conflicts;      /* rows that were written to counter_conflicts */
    int64_t refused;        /* shards of its own ids that a file did not take from a device */
    int64_t renewals;       /* of the witness of an identity */
    int64_t tracked;        /* rows in which counter_track found counts */
    int64_t changes;        /* new ids, and decisions to stop counting */
    int64_t writes;         /* rows of INSERT, UPDATE and DELETE */
    int64_t finds;          /* look-ups before such a write */
    int64_t reads;          /* scans */
} ctr_stats;

/* Calls that SQLite makes to each table that has joined the transaction. */
typedef enum ctr_call {
    CTR_CALL_NONE,
    CTR_CALL_SYNC,
    CTR_CALL_SAVEPOINT,
    CTR_CALL_RELEASE,
    CTR_CALL_ROLLBACK_TO
} ctr_call;

/* A kept statement; {0}: none. */
typedef struct ctr_kept {
    sqlite3_stmt *statement;
    struct ctr_kept *next, **link; /* the list of the connection */
    bool taken;                    /* it may be running: nobody but its owner closes it */
    bool expired;                  /* its owner closes it as soon as it is not taken */
} ctr_kept;

typedef struct ctr_conn ctr_conn;

/* What the upper floors do for a connection. */
typedef struct ctr_conn_above {
    /* Registers the library on another connection, and lends that connection's object. */
    int (*register_all)(sqlite3 *db, ctr_conn **conn);
    /* Registers one more counter_witness. */
    int (*renew_witness)(ctr_conn *conn, const char *name);
    void (*close_files)(ctr_conn *conn);
    const struct ctr_file_tables *tables; /* hooks of the counter tables: file/file.h */
    const struct ctr_tracker *tracker;    /* of the tables that track: counter/table.h */
} ctr_conn_above;

struct ctr_conn {
    sqlite3 *db;
    ctr_conn_above above;
    int holders;
    struct ctr_file *files;      /* the files of the connection: file/file.h */
    struct ctr_session *session; /* the running one, or NULL: file/session.h */
    int spill;                   /* cache_spill of main that a session could not restore, or 0 */
    void *fronts;                /* the tables in front of others, owned; NULL: none */
    void (*close_fronts)(void *fronts);
    void *brought; /* by merges into main, owned: merge/brought.h; or NULL */
    void (*close_brought)(void *brought);

    ctr_kept *kept, schema, join;
    int witnesses;       /* the number of the last counter_witness */
    bool is_memory;      /* main used the VFS "memdb" when the last transaction was joined */
    bool witness_used;   /* a statement was prepared on it, and may be finalized since */
    bool has_statements; /* counter_statements exists */
    bool joined;         /* counter_witness is in a transaction */
    int told;            /* the number of tables that SQLite calls in this transaction */
    bool busy;           /* with an identity; a trigger on its table must not use it again */

    struct ctr_opening *opening; /* of the running counter_track: table/openings.h; or NULL */
    bool row_cells;    /* counter_replicate is making a counter table: its rows have row cells */
    unsigned answered; /* the number of answers about openings that were recorded */

    /* The rows that a running counter_track has found missing: the key of the first is owned. */
    struct {
        int64_t n;
        char *key;
    } missing;

    /* Open savepoints, as far as SQLite reported them; and their number when a statement failed
     * half-way. */
    int depth;
    bool spoiled;
    int spoiled_depth;

    bool noted; /* some batch may have pending entries */

    /* The round of calls that is going on: table/events.c. Work in between ends it. */
    struct {
        ctr_call call;
        int level;
        unsigned number;
    } round;

    unsigned ended;  /* the number of transactions that have ended */
    ctr_stats stats; /* of the connection */
};

/* Counts one increment, and with `created` a new cell. */
static inline void ctr_conn_count(ctr_conn *conn, bool created)
{
    conn->stats.increments++;
    conn->stats.cells_created += created;
    conn->stats.shards_written++;
}

/* The caller holds the result; NULL without memory. The last holder that drops it frees it. */
ctr_conn *ctr_conn_new(sqlite3 *db, ctr_conn_above above);
ctr_conn *ctr_conn_hold(ctr_conn *conn);
void ctr_conn_drop(void *conn);

/* Joins the transaction that is open or that the running statement has begun; takes the write lock
 * of main. Returns false, without a problem, if there is none: SQLite would call no table at its
 * end. */
bool ctr_conn_join(ctr_conn *conn, ctr_problem *problem);

/* The same; fails if there is none, because a table of the user has the name counter_witness. */
bool ctr_conn_require_join(ctr_conn *conn, ctr_problem *problem);

/* Ends the round of calls, for what follows needs the next call even if it is the same again. */
static inline void ctr_conn_end_round(ctr_conn *conn)
{
    conn->round.call = CTR_CALL_NONE;
}

/* Enter and leave work on identities. Enter fails if a trigger on an identity tries to enter
 * again. */
bool ctr_conn_enter(ctr_conn *conn, ctr_problem *problem);
int ctr_conn_leave(ctr_conn *conn, ctr_problem *problem);

/* Spoils a transaction after a statement that did only one of two writes, which SQLite does not
 * roll back inside a transaction. It cannot commit unless it is rolled back to a savepoint before
 * the statement. `nth` is the value of `ended` before the first write; SQLite may have rolled back
 * the whole transaction by itself, as on a full disk. */
void ctr_conn_spoil(ctr_conn *conn, unsigned nth);

/* ---- statements that are kept ---------------------------------------------------------------- */

/* Returns the kept statement; prepares it if need be. */
sqlite3_stmt *ctr_conn_keep(ctr_conn *conn, ctr_kept *kept, ctr_run *run, ctr_sql which);

/* Takes the kept statement, which nobody else uses until it is given back: prepares it if need be,
 * or another one if it is taken. NULL on error. */
sqlite3_stmt *ctr_conn_take(ctr_conn *conn, ctr_kept *kept, ctr_run *run, ctr_sql which);

/* Gives a statement back: resets it and clears its bindings; NULL is harmless. After a problem it
 * is finalized, for it may hide columns, as an authorizer wanted it; and if no statement can be
 * kept, because another object has the name counter_statements. */
void ctr_conn_give_back(ctr_conn *conn, ctr_kept *kept, sqlite3_stmt *statement,
                        const ctr_problem *problem);

/* Makes it the first in the list of those that are kept, in which they have no order. */
void ctr_conn_list_first(ctr_conn *conn, ctr_kept *kept);

/* Closes a kept statement, before its owner is freed; a second call does nothing. */
void ctr_conn_close_kept(ctr_kept *kept);

/* Closes all kept statements, those that are taken when they are given back; they are prepared
 * again when needed. */
void ctr_conn_release_kept(ctr_conn *conn);

/* Creates counter_statements while no connection locks main, so that counting in another file does
 * not need main later. Fails only on errors for which SQLite rolls back. */
void ctr_conn_prepare(ctr_conn *conn, ctr_problem *problem);

#endif
