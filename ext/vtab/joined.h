/* vtab/joined.h - passes on SQLite's calls to a table that has joined a transaction.
 *
 * A table whose struct begins with a ctr_joined can use these as methods of its module.
 */
#ifndef CTR_VTAB_JOINED_H
#define CTR_VTAB_JOINED_H

#include "table/events.h"

typedef struct ctr_joined {
    sqlite3_vtab base;
    ctr_transaction *transaction; /* of the connection; borrowed from the module */
    bool told;                    /* SQLite has begun this transaction with the table */
} ctr_joined;

int ctr_joined_begin(sqlite3_vtab *base);
int ctr_joined_sync(sqlite3_vtab *base);
int ctr_joined_commit(sqlite3_vtab *base);
int ctr_joined_rollback(sqlite3_vtab *base);
int ctr_joined_savepoint(sqlite3_vtab *base, int level);
int ctr_joined_release(sqlite3_vtab *base, int level);
int ctr_joined_rollback_to(sqlite3_vtab *base, int level);

/* Before a row is written. A table that was created within the transaction is told of its end, and
 * not of savepoints that were there before, unless another has begun since: SQLite counts it among
 * those that have joined, without xBegin. Unless another table is told, counter_witness joins, for
 * which main is locked. */
int ctr_joined_be_told(ctr_joined *joined, ctr_problem *problem);

/* Before the table is dropped, if the transaction has counted in it: unless another one is told,
 * counter_witness joins, as above. Until the DROP is done, the table itself is told, too: while
 * nobody is, what savepoints have to restore is forgotten. */
int ctr_joined_pass_on(ctr_joined *joined, ctr_problem *problem);

/* Notes that the table is dropped; SQLite does not call it any more. */
void ctr_joined_leave(ctr_joined *joined);

#endif
