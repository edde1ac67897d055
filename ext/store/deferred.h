/* store/deferred.h - rows of counter tables that a transaction writes later than it counts in them.
 *
 *     ctr_deferred_write     instead of ctr_rows_write, for increments: may keep the row
 *     ctr_deferred_settle    writes what is kept: before anybody else reads or writes the stored
 *                            tables, before a savepoint, before the commit
 *     ctr_deferred_discard   forgets it: the transaction was rolled back, or to a savepoint
 *
 * All that may be refused is refused before a row is kept, so what is left to fail is the disk and
 * memory; then the COMMIT fails. What is kept is written before a savepoint, so whatever is kept
 * when one is rolled back to belongs to what is taken back; unless it could not be written then:
 * that is older than the savepoint and stays kept (unsettled_depth, store/post.h).
 *
 * Nothing is kept of a table whose stored table has triggers: they run with each increment. Rows
 * are written by statements of one row, for what SQLite writes when a savepoint begins must need no
 * savepoint of its own.
 */
#ifndef CTR_STORE_DEFERRED_H
#define CTR_STORE_DEFERRED_H

#include "store/rows.h"

/* Like ctr_rows_write; a new row is written at once, and kept for those that add to it. */
int ctr_deferred_write(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);

/* A table may have two objects in one transaction: when a column was added, the older one stays for
 * the statement at work. Writes what the others keep. */
int ctr_deferred_settle_others(ctr_rows *rows, ctr_problem *problem);

/* Writes what is kept of all tables of a schema. */
int ctr_deferred_settle(ctr_post *post, ctr_problem *problem);
void ctr_deferred_discard(ctr_post *post);

/* The same before a savepoint; refused where triggers would run with it. */
int ctr_deferred_settle_for_savepoint(ctr_post *post, ctr_problem *problem);

/* For rows.c: the row is kept; its entry then. Of a key the spelling stays in `rows`. */
ctr_entry *ctr_deferred_key(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);

/* Changes the cells of the entry at hand. */
int ctr_deferred_change(ctr_rows *rows, ctr_problem *problem);

/* Before the rows are closed: are they being written? Then `close` is called when that is done.
 * Where a write has no memory SQLite may roll the transaction back at once, and closes a table that
 * was created in it; but the write may be on behalf of another table. */
bool ctr_deferred_outlives(ctr_rows *rows, void (*close)(void *owner), void *owner);

/* What is kept is forgotten for good. */
void ctr_deferred_close(ctr_rows *rows);

#endif
