/* cluster/member.h - one replica of a cluster, as this connection sees its file.
 *
 * The file of a schema may change between two statements: another file is attached, the table is
 * dropped, another connection locks it. So each statement looks at its members again. A member that
 * takes no part has a `trouble`, the reason.
 */
#ifndef CTR_CLUSTER_MEMBER_H
#define CTR_CLUSTER_MEMBER_H

#include "sync/merge.h"
#include "table/stream.h"

typedef struct ctr_member {
    sqlite3 *db;
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

int ctr_member_open(ctr_member *member, sqlite3 *db, ctr_conn *conn, const char *schema,
                    const bool *within, ctr_problem *problem);
void ctr_member_close(ctr_member *member);

/* Looks at the file that is attached now. Returns whether it has the table with the birth name
 * `birth` and the columns of `shape`; NULL: any columns. A failure becomes its trouble; only an
 * error that ends the statement becomes the problem. */
bool ctr_member_look(ctr_member *member, const char *birth, const ctr_shape *shape,
                     ctr_problem *problem);

/* Takes the write lock by writing nothing. Call it before the file is read. Forgets conflicts and
 * syncs of earlier transactions. */
bool ctr_member_lock(ctr_member *member, ctr_problem *problem);

/* Looks at the file for a writing statement, after ctr_member_lock. If that failed, its reason
 * becomes the trouble. */
int ctr_member_look_to_write(ctr_member *member, const char *birth, const ctr_shape *shape,
                             ctr_problem *problem);

/* Returns whether it takes part in writes. */
bool ctr_member_takes_part(const ctr_member *member);

/* Closes the table; the next look opens it again. */
void ctr_member_forget(ctr_member *member);

/* Returns whether it is an error for which SQLite rolls back all files, also those of other
 * replicas: no memory, an interrupt, a full or failing disk, an earlier rollback; or a schema that
 * must be read again. */
bool ctr_member_ends_statement(int rc);

/* Moves a problem into the member's trouble, unless it ends the statement or the transaction was
 * rolled back. */
void ctr_member_fail(ctr_member *member, ctr_problem *problem);

/* The same for a separate problem; it becomes `problem` only if it ends the statement. */
void ctr_member_blame(ctr_member *member, ctr_problem *trouble, ctr_problem *problem);

/* Excludes the member from the rest of the transaction, because of its present trouble. */
void ctr_member_bar(ctr_member *member, ctr_problem *problem);

/* Makes the file durable before others take its cells; once in a transaction. */
int ctr_member_make_durable(ctr_member *member, ctr_problem *problem);

/* Call it at the end of a transaction. */
void ctr_member_end(ctr_member *member);

#endif
