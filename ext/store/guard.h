/* store/guard.h - lets a file count only while it is the one that its identity says.
 *
 * One guard for each connection, one post for each schema. The first count of a transaction asks
 * the post, which holds the identity against the file (core/lineage.h) and, where they do not fit,
 * takes a new id in the same transaction, or refuses:
 *
 *     transaction begins --> ctr_guard_count: read, stat, getxattr --> checked --> counts, counts
 *                                                                         |
 *           rollback, rollback to, commit: nothing is remembered <--------'
 *
 * So that nothing is remembered, a virtual table that has joined the transaction passes on what
 * SQLite tells it; each counter table does, and for counter_inc on ordinary tables the internal
 * table counter_witness. The witness in the row is renewed within the transaction; its attribute is
 * written after the commit, so a file may be ahead of its attribute, never behind.
 *
 * The identity also has the number that rows are stamped with (core/sequence.h), read and raised in
 * the transaction that writes them.
 *
 * Whoever asks holds the write lock of the schema. Statements are kept by the internal table
 * counter_guard, which SQLite closes before it asks whether the connection has open statements.
 */
#ifndef CTR_STORE_GUARD_H
#define CTR_STORE_GUARD_H

#include "store/identity.h"

typedef struct ctr_guard ctr_guard;
typedef struct ctr_post ctr_post;

/* `renew_witness`, called with `arg`, registers counter_witness anew. NULL if there is no memory. */
ctr_guard *ctr_guard_open(sqlite3 *db, int (*renew_witness)(void *arg), void *arg);
void ctr_guard_close(ctr_guard *guard);

/* The post of a schema, lent as long as the guard; NULL if there is no memory. */
ctr_post *ctr_guard_post(ctr_guard *guard, const char *schema);

ctr_guard *ctr_guard_of(ctr_post *post);

/* The id, if this transaction has checked that the file may count; else NULL. No more than a look at
 * memory. */
const uint8_t *ctr_guard_checked(const ctr_post *post);

/* The id to count under, in this transaction; lent until it ends. NULL and a problem if there is
 * none or the file must not count. */
const uint8_t *ctr_guard_count(ctr_post *post, ctr_problem *problem);

/* The identity, checked in this transaction, before a merge into the file, which is allowed where
 * counting is refused. Lent like the id. */
const ctr_identity *ctr_guard_merge(ctr_post *post, ctr_problem *problem);

/* The number for a row that is about to be written; `last` is the one that it has, 0 if it is new.
 * Every write of a row asks for it. 0 and a problem where the identity cannot be checked. */
int64_t ctr_guard_stamp(ctr_post *post, int64_t last, ctr_problem *problem);

/* Some floor of a table in this file has risen. */
int ctr_guard_floors_rose(ctr_post *post, ctr_problem *problem);

/* Makes the identity where there is none: random, or of `name`; else checks the name. */
int ctr_guard_create(ctr_post *post, const char *name, ctr_problem *problem);

/* This file's lineage has changed: it has forgotten shards of its own, or has a twin. A random id
 * makes way for a new one; a named file refuses to count from now on. */
int ctr_guard_lineage_changed(ctr_post *post, ctr_why why, ctr_problem *problem);

/* A new random id, whatever the old one was; a damaged one too. */
int ctr_guard_fork(ctr_post *post, ctr_problem *problem);

/* From now on the witness alone is asked; refused where there is none. */
int ctr_guard_trust_witness(ctr_post *post, ctr_problem *problem);

/* Joins the transaction that is open or that the running statement has begun; takes the write lock
 * of main. False, without a problem, if there is none: then nothing would be told of its end. */
bool ctr_guard_join(ctr_guard *guard, ctr_problem *problem);

/* What SQLite tells the tables that have joined. Of these only the first can fail, and then the
 * transaction is rolled back: an attribute that is not written leaves the file ahead of it. */
int ctr_guard_sync(ctr_guard *guard);
void ctr_guard_commit(ctr_guard *guard);
void ctr_guard_rollback(ctr_guard *guard);
void ctr_guard_savepoint(ctr_guard *guard, int level);
void ctr_guard_release(ctr_guard *guard, int level);
void ctr_guard_rollback_to(ctr_guard *guard, int level);

/* A statement has done one of two writes and not the other, and inside a transaction SQLite does
 * not take back the first: the transaction cannot be committed, unless it is rolled back to a
 * savepoint before the statement. */
void ctr_guard_spoil(ctr_guard *guard);
bool ctr_guard_is_spoiled(const ctr_guard *guard);

/* For ctr_guard_sync. After many rows the number rises once more: whoever reads from it on need not
 * read the last of them again. */
void ctr_guard_close_bulk(ctr_post *post, ctr_problem *problem);

/* Remembers nothing of a schema for which no table will be told of the transaction's end. */
void ctr_guard_forget(ctr_post *post);

/* For the internal tables: counter_witness is in a transaction, counter_guard is there. */
void ctr_guard_set_joined(ctr_guard *guard, bool joined);
void ctr_guard_set_keeper(ctr_guard *guard, bool there);

#endif
