/* vtab/joined.h - passes on SQLite's calls to a table that has joined a transaction; the two
 * internal tables, counter_witness and counter_statements.
 *
 * A table whose struct begins with a ctr_joined can use these as methods of its module.
 */
#ifndef CTR_VTAB_JOINED_H
#define CTR_VTAB_JOINED_H

#include "table/events.h"
#include "vtab/shared.h"

typedef struct ctr_joined {
    sqlite3_vtab base;
    ctr_conn *conn; /* of the connection; borrowed from the module */
    bool told;      /* SQLite has begun this transaction with the table */
    unsigned round; /* the last one with the table; 0: none in this transaction */
} ctr_joined;

int ctr_joined_begin(sqlite3_vtab *base);
int ctr_joined_sync(sqlite3_vtab *base);
int ctr_joined_commit(sqlite3_vtab *base);
int ctr_joined_rollback(sqlite3_vtab *base);
int ctr_joined_savepoint(sqlite3_vtab *base, int level);
int ctr_joined_release(sqlite3_vtab *base, int level);
int ctr_joined_rollback_to(sqlite3_vtab *base, int level);

/* Call it before a row is written while SQLite calls no table in this transaction: it adds a table
 * that the transaction creates to its list without xBegin, calls it at the end, but for savepoints
 * only after a new one has begun. counter_witness joins instead, which locks main. */
int ctr_joined_witness(ctr_joined *joined, ctr_problem *problem);

/* Call it before the table is dropped, if the transaction has counted in it: if SQLite calls no
 * other table, counter_witness joins, as above. The table itself stays joined until the DROP is
 * done: while no table is joined, the state for savepoints is dropped. */
int ctr_joined_pass_on(ctr_joined *joined, ctr_problem *problem);

/* Notes that the table was dropped; SQLite no longer calls it. */
void ctr_joined_leave(ctr_joined *joined);

/* Registers the two internal tables. */
int ctr_joined_register(sqlite3 *db, ctr_conn *conn);

/* Sets `is` if this connection has the library already. Two copies would not see each other's
 * batches, so a second load does nothing. Returns an SQLite code. */
int ctr_joined_is_registered(sqlite3 *db, bool *is);

/* Registers one more counter_witness, for a new schema of main. */
int ctr_joined_renew_witness(ctr_conn *conn, int number);

#endif
