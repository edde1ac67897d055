/* cluster/member.h - one replica of a cluster, as this connection sees its file.
 *
 * What stands under a schema may change between two statements: another file is attached, the table
 * goes away, somebody locks it. So each statement looks at its members anew; one that takes no part
 * says why.
 */
#ifndef CTR_CLUSTER_MEMBER_H
#define CTR_CLUSTER_MEMBER_H

#include "sync/merge.h"
#include "table/stream.h"

typedef struct ctr_member {
    sqlite3 *db;
    ctr_transaction *transaction; /* borrowed */
    ctr_replica *replica;         /* held while it is open */
    char *schema;                 /* owned */
    bool met;                     /* its name has been read once, and stands while it is away: */
    char name[CTR_NAME_MAX + 1];  /* "dc:rack"; "" for a random id */
    uint8_t id[CTR_ID_SIZE];
    char refuses[CTR_REFUSAL_MAX + 1]; /* why it does not count; "" if it does */
    ctr_problem trouble;               /* why it takes no part; SQLITE_OK: it does */
    const bool *within;                /* the cluster's; borrowed */

    /* The table, while it is open. */
    bool open;
    ctr_merge merge; /* in the order of the cluster's columns */
    ctr_conflicts conflicts;
    ctr_floors floors; /* for reads: nothing is written for their sake */
    ctr_streams streams;
    sqlite3_stmt *sentry, *look, *lock;
    bool stale; /* it has changed, and a cursor is in it yet */

    /* In this transaction. */
    bool locked, durable;
    bool left_out;        /* from the row at hand, for `trouble` */
    ctr_problem unlocked; /* why the lock could not be had */
} ctr_member;

int ctr_member_open(ctr_member *member, sqlite3 *db, ctr_transaction *transaction,
                    const char *schema, const bool *within, ctr_problem *problem);
void ctr_member_close(ctr_member *member);

/* Looks at the file that is attached now: is the table born as `birth` there, with the columns of
 * `shape`? What is wrong becomes its trouble; a problem is only what ends the statement. NULL
 * `shape`: any columns. */
bool ctr_member_look(ctr_member *member, const char *birth, const ctr_shape *shape,
                     ctr_problem *problem);

/* Takes the write lock by a write of nothing; to be called before the file is read. What was proved
 * or made durable in an earlier transaction counts no more. */
bool ctr_member_lock(ctr_member *member, ctr_problem *problem);

/* The look of a statement that writes, after the lock was tried: why that failed is the trouble
 * then. */
int ctr_member_look_to_write(ctr_member *member, const char *birth, const ctr_shape *shape,
                             ctr_problem *problem);

/* Does it take part in what is written? */
bool ctr_member_takes_part(const ctr_member *member);

/* Closes the table, to be opened by the next look. */
void ctr_member_forget(ctr_member *member);

/* Is it an error for which SQLite rolls back all files, those of the other replicas, too? No
 * memory, an interrupt, a full disk, a disk that fails, or what was rolled back already; a schema
 * that is to be read anew is like them. */
bool ctr_member_ends_statement(int rc);

/* Makes a problem the member's trouble, and leaves none behind; unless it is one that ends the
 * statement, or the transaction was rolled back with it. */
void ctr_member_fail(ctr_member *member, ctr_problem *problem);

/* The same for a problem of its own, of which only what ends the statement becomes `problem`. */
void ctr_member_blame(ctr_member *member, ctr_problem *trouble, ctr_problem *problem);

/* For the rest of the transaction it takes no part, for its present trouble. */
void ctr_member_bar(ctr_member *member, ctr_problem *problem);

/* What others are about to be given of this file outlives a power cut; once in a transaction. */
int ctr_member_make_durable(ctr_member *member, ctr_problem *problem);

/* Is a row of these keys, which the member does not have, below a floor of it? */
bool ctr_member_is_below(ctr_member *member, sqlite3_value **keys, ctr_problem *problem);

/* The transaction has ended. */
void ctr_member_end(ctr_member *member);

#endif
