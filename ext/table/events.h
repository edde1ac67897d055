/* table/events.h - SQLite's calls to the tables that have joined a transaction.
 *
 * SQLite makes each call to all of them, one after the other; the first does the work for all files
 * of the connection. The batches of journals are appended before a SAVEPOINT and before the commit,
 * and the attributes of the files are written after it.
 */
#ifndef CTR_TABLE_EVENTS_H
#define CTR_TABLE_EVENTS_H

#include "file/file.h"

/* A table whose struct begins with this can use the functions below as methods of its module. */
typedef struct ctr_joined {
    sqlite3_vtab base;
    ctr_conn *conn; /* of the connection; borrowed from the module */
    bool told;      /* SQLite has begun this transaction with the table */
    unsigned round; /* the last one with the table; 0: none in this transaction */
} ctr_joined;

/* Only sync and savepoint can fail; SQLite rolls back if sync fails. Commit ignores a failed write
 * of an attribute, because a file may be ahead of its attribute. */
int ctr_events_begin(sqlite3_vtab *base);
int ctr_events_sync(sqlite3_vtab *base);
int ctr_events_commit(sqlite3_vtab *base);
int ctr_events_rollback(sqlite3_vtab *base);
int ctr_events_savepoint(sqlite3_vtab *base, int level);
int ctr_events_release(sqlite3_vtab *base, int level);
int ctr_events_rollback_to(sqlite3_vtab *base, int level);

/* Call it before a row is written while SQLite calls no table in this transaction: it adds a table
 * that the transaction creates to its list without xBegin, calls it at the end, but for savepoints
 * only after a new one has begun. counter_witness joins instead, which locks main. */
int ctr_events_witness(ctr_joined *joined, ctr_problem *problem);

/* Call it before the table is dropped, if the transaction has counted in it: if SQLite calls no
 * other table, counter_witness joins, as above. The table itself stays joined until the DROP is
 * done: while no table is joined, the state for savepoints is dropped. */
int ctr_events_pass_on(ctr_joined *joined, ctr_problem *problem);
void ctr_events_leave(ctr_joined *joined);

/* Writes ahead what the end of the transaction would write, so that it does not fail there: if a
 * RELEASE is interrupted, SQLite leaves the savepoint in a state that no statement can repair until
 * the interrupt ends. Appends the batches, and folds the tables whose journals have grown. If no
 * table has joined the transaction, the checks of identities are forgotten. */
int ctr_events_write_ahead(ctr_conn *conn, ctr_problem *problem);

/* Appends all batches to the journals (table/journal.h), in all files. */
int ctr_events_append(ctr_conn *conn, ctr_problem *problem);

/* Returns the hooks of counter tables for a change of the identity of their file. */
const ctr_file_tables *ctr_events_tables(void);

#endif
