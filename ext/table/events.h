/* table/events.h - SQLite's calls to the tables that have joined a transaction.
 *
 * The batches of journals are appended before a SAVEPOINT and before the commit, and the attributes
 * of the files are written after it.
 */
#ifndef CTR_TABLE_EVENTS_H
#define CTR_TABLE_EVENTS_H

#include "identity/file.h"

/* Notes that one table more, or fewer, has joined the transaction: SQLite calls it at savepoints
 * and at the end. */
void ctr_events_tell(ctr_conn *conn, int change);

/* Only sync and savepoint can fail; SQLite rolls back if sync fails. Commit ignores a failed write
 * of an attribute, because a file may be ahead of its attribute. */
int ctr_events_sync(ctr_conn *conn, ctr_problem *problem);
void ctr_events_commit(ctr_conn *conn);
void ctr_events_rollback(ctr_conn *conn);
int ctr_events_savepoint(ctr_conn *conn, int level, ctr_problem *problem);
void ctr_events_release(ctr_conn *conn, int level);
void ctr_events_rollback_to(ctr_conn *conn, int level);

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
