/* sqlite/transaction.h - the transaction of a connection: one for each connection, and there is one
 * SQLite transaction at a time.
 *
 * To remember nothing that was rolled back, a virtual table that has joined the transaction passes
 * on what SQLite tells it (table/events.h). Each counter table does, and counter_changes; and the
 * internal table counter_witness, for counter_inc on ordinary tables and where a table comes or
 * goes within the transaction.
 *
 * Statements are kept by the internal table counter_guard, which SQLite closes before it asks
 * whether the connection has open statements.
 */
#ifndef CTR_SQLITE_TRANSACTION_H
#define CTR_SQLITE_TRANSACTION_H

#include <stdint.h>

#include "sqlite/problem.h"
#include "sqlite/sql.h"

/* What a connection has done, in figures. Everything that was done counts, whether it was rolled
 * back or not. */
typedef struct ctr_stats {
    int64_t increments;     /* of one counter by one statement; +0 is one */
    int64_t cells_created;  /* of them, those that found no cell */
    int64_t shards_written; /* one by each increment, by merges those that changed */
    int64_t merges;         /* of a cell with one that came from elsewhere */
    int64_t cells_changed;  /* of them, those that brought something */
    int64_t conflicts;      /* rows that were written to counter_conflicts */
    int64_t renewals;       /* of the witness of an identity */
    int64_t tracked;        /* rows in which counter_track has found something to count */
    int64_t changes;        /* a new id, or a refusal to count from then on */
    int64_t writes;         /* rows of INSERT, UPDATE and DELETE */
    int64_t finds;          /* the read before such a write */
    int64_t reads;          /* scans */
} ctr_stats;

/* A statement that is kept; {0}: none is. */
typedef struct ctr_kept {
    sqlite3_stmt *statement;
    struct ctr_kept *next, **link; /* among those of the connection */
} ctr_kept;

typedef struct ctr_transaction {
    sqlite3 *db;
    struct ctr_replica *replicas;            /* the files of the connection: identity/replica.h */
    const struct ctr_replica_tables *tables; /* what their counter tables do; likewise */
    ctr_kept *kept, schema, join;
    int (*renew_witness)(void *arg, int number);
    void *arg;
    int witnesses;     /* the number of the last one */
    bool is_memory;    /* main was of the VFS "memdb" when the last transaction was joined */
    bool witness_used; /* a statement was prepared on it; it may have been let go of since */
    bool has_keeper, joined;
    int told;  /* tables that are told how the transaction goes */
    bool busy; /* with an identity; a trigger on it must not come back here */

    /* Savepoints that are open, as far as we were told; and how many were when a half-done
     * statement could not be taken back. */
    int depth;
    bool spoiled;
    int spoiled_depth;

    /* SQLite tells each table of each savepoint: all journals have marks of the levels below the
     * first number, and none has one from the second on. Has any noted something since nothing was
     * pending? */
    int marked_least, marked_most;
    bool noted;

    unsigned ended;  /* transactions: another number whenever one has ended */
    ctr_stats stats; /* what the connection has done */
} ctr_transaction;

/* Counts one increment; of a cell that was not there? */
static inline void ctr_transaction_count(ctr_transaction *transaction, bool created)
{
    transaction->stats.increments++;
    transaction->stats.cells_created += created;
    transaction->stats.shards_written++;
}

/* `renew_witness`, called with `arg`, registers one more counter_witness, with the name that
 * ctr_transaction_witness_name gives for its number; the caller registers number 0. NULL if there
 * is no memory. */
ctr_transaction *ctr_transaction_open(sqlite3 *db, int (*renew_witness)(void *arg, int number),
                                      void *arg);
enum { CTR_WITNESS_NAME_SIZE = 32 };
const char *ctr_transaction_witness_name(int number, char name[CTR_WITNESS_NAME_SIZE]);

/* Its replicas are closed before. */
void ctr_transaction_close(ctr_transaction *transaction);

/* Joins the transaction that is open or that the running statement has begun; takes the write lock
 * of main. False, without a problem, if there is none: then nothing would be told of its end. */
bool ctr_transaction_join(ctr_transaction *transaction, ctr_problem *problem);

/* Takes the identities for one piece of work, or sets a problem. */
bool ctr_transaction_enter(ctr_transaction *transaction, ctr_problem *problem);
int ctr_transaction_leave(ctr_transaction *transaction, ctr_problem *problem);

/* A statement has done one of two writes and not the other, and inside a transaction SQLite does
 * not take back the first: the transaction cannot be committed, unless it is rolled back to a
 * savepoint before the statement. `nth` is what `ended` was before the first; SQLite may have
 * rolled all of it back by itself, as it does when a disk is full. */
void ctr_transaction_spoil(ctr_transaction *transaction, unsigned nth);

/* ---- statements that are kept ---------------------------------------------------------------- */

/* Prepares the statement, unless it is kept; `table` may be NULL. */
sqlite3_stmt *ctr_transaction_keep(ctr_transaction *transaction, ctr_kept *kept, const char *schema,
                                   const char *table, ctr_sql which, ctr_problem *problem);

/* To be called once the statement has run: nothing can be kept where something else has the name of
 * the keeper. */
void ctr_transaction_keep_no_more(ctr_transaction *transaction);

/* To be called before its owner goes; twice is harmless. */
void ctr_transaction_close_kept(ctr_kept *kept);

/* Calls counter_guard into being while nobody keeps main locked; a file that counts later needs
 * main no more. Not being able to is no problem, unless SQLite rolls back for it. */
void ctr_transaction_prepare(ctr_transaction *transaction, ctr_problem *problem);

/* For the internal tables: counter_witness is in a transaction, counter_guard is there. */
void ctr_transaction_set_joined(ctr_transaction *transaction, bool joined);
void ctr_transaction_set_keeper(ctr_transaction *transaction, bool there);

#endif
