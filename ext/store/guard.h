/* store/guard.h - lets a file count only while it is the one that its identity says.
 *
 * One guard for each connection, one post for each schema. The first count of a transaction asks
 * the post, which holds the identity against the file (core/lineage.h) and, where they do not fit,
 * takes a new id in the same transaction, or refuses:
 *
 *     transaction begins --> ctr_watch_count: read, stat, getxattr --> checked --> counts, counts
 *                                                                         |
 *           rollback, rollback to, commit: nothing is remembered <--------'
 *
 * So that nothing is remembered, a virtual table that has joined the transaction passes on what
 * SQLite tells it; each counter table does, and counter_changes; and the internal table
 * counter_witness, for counter_inc on ordinary tables and where a table comes or goes within the
 * transaction. The witness in the row is renewed within the transaction; its attribute is
 * written after the commit, so a file may be ahead of its attribute, never behind.
 *
 * Whoever asks holds the write lock of the schema. Statements are kept by the internal table
 * counter_guard, which SQLite closes before it asks whether the connection has open statements.
 */
#ifndef CTR_STORE_GUARD_H
#define CTR_STORE_GUARD_H

#include "store/identity.h"
#include "store/stats.h"

typedef struct ctr_guard ctr_guard;
typedef struct ctr_post ctr_post;

/* `renew_witness`, called with `arg`, registers one more counter_witness, with the name that
 * ctr_guard_witness_name gives for its number; number 0 is registered by the caller. NULL if there
 * is no memory. */
ctr_guard *ctr_guard_open(sqlite3 *db, int (*renew_witness)(void *arg, int number), void *arg);
enum { CTR_WITNESS_NAME_SIZE = 32 };
const char *ctr_guard_witness_name(int number, char name[CTR_WITNESS_NAME_SIZE]);
void ctr_guard_close(ctr_guard *guard);

/* The post of a schema, lent until the statement at work ends; NULL if there is no memory. Whoever
 * needs it for longer holds it: those of schemas that are detached, and that nobody holds, go. */
ctr_post *ctr_guard_post(ctr_guard *guard, const char *schema);
ctr_post *ctr_guard_hold(ctr_guard *guard, const char *schema);
void ctr_guard_let_go(ctr_post *post); /* NULL is harmless */

ctr_guard *ctr_guard_of(ctr_post *post);

/* What the connection has done; lent as long as the guard. */
ctr_stats *ctr_guard_stats(ctr_guard *guard);

/* Joins the transaction that is open or that the running statement has begun; takes the write lock
 * of main. False, without a problem, if there is none: then nothing would be told of its end. */
bool ctr_guard_join(ctr_guard *guard, ctr_problem *problem);

/* One table more, or fewer, is told of the savepoints of the transaction, and of its end. */
void ctr_guard_tell(ctr_guard *guard, int change);
bool ctr_guard_is_told(const ctr_guard *guard);

/* Writes what the end of the transaction would write, so that it does not fail there: SQLite
 * leaves a savepoint that cannot be released in a state that nothing mends while it is
 * interrupted. Where nobody is told of savepoints, nothing is remembered behind it. Folds the
 * tables whose journals have grown. */
int ctr_guard_settle(ctr_guard *guard, ctr_problem *problem);

/* A counter that a pull wants to be of a generation. The command 'take column' of its table does
 * it: a pull reads, and only where the statement at work writes does an interrupt take everything
 * back. Lent until NULL is set. */
typedef struct ctr_wanted {
    const char *name;
    int64_t generation;
    int64_t emptied; /* cells that are gone, when it was done */
} ctr_wanted;
void ctr_guard_want(ctr_guard *guard, ctr_wanted *wanted);
ctr_wanted *ctr_guard_wanted(const ctr_guard *guard);

/* Appends what is in batches to the journals (store/journal.h), of all schemas. */
int ctr_guard_write_rows(ctr_guard *guard, ctr_problem *problem);

/* What SQLite tells the tables that have joined. Sync and savepoint can fail; after the first the
 * transaction is rolled back: an attribute that is not written leaves the file ahead of it. */
int ctr_guard_sync(ctr_guard *guard, ctr_problem *problem);
void ctr_guard_commit(ctr_guard *guard);
void ctr_guard_rollback(ctr_guard *guard);
int ctr_guard_savepoint(ctr_guard *guard, int level, ctr_problem *problem);
void ctr_guard_release(ctr_guard *guard, int level);
void ctr_guard_rollback_to(ctr_guard *guard, int level);

/* Another number whenever a transaction has ended. */
unsigned ctr_guard_transaction(const ctr_guard *guard);

/* A statement has done one of two writes and not the other, and inside a transaction SQLite does
 * not take back the first: the transaction cannot be committed, unless it is rolled back to a
 * savepoint before the statement. `transaction` is the number it had before the first; SQLite may
 * have rolled all of it back by itself, as it does when a disk is full. */
void ctr_guard_spoil(ctr_guard *guard, unsigned transaction);

/* Remembers nothing of a schema for which no table will be told of the transaction's end. */
void ctr_guard_forget(ctr_post *post);

/* Calls counter_guard into being while nobody keeps main locked; a file that counts later needs
 * main no more. Not being able to is no problem, unless SQLite rolls back for it. */
void ctr_guard_prepare(ctr_guard *guard, ctr_problem *problem);

/* For the internal tables: counter_witness is in a transaction, counter_guard is there. */
void ctr_guard_set_joined(ctr_guard *guard, bool joined);
void ctr_guard_set_keeper(ctr_guard *guard, bool there);

#endif
