/* table/batch.h - entries of a transaction for a journal, in memory until they are appended.
 *
 *     ctr_batch_expect     before rows are written: makes room, so that the next two cannot fail
 *     ctr_batch_add        an increment
 *     ctr_batch_stamp      a write of regular columns
 *     ctr_batch_note       another change
 *     ctr_batch_flush      appends the batch
 *
 * It is appended before the commit, before a SAVEPOINT, and before other code reads the stored
 * tables. The batch is a list. A savepoint records its length and the number of appended entries.
 * Entries before that mark never change, and a rollback cuts the list at the mark:
 *
 *     appended   not yet       of the running statement
 *     e  e  e  | e  e  e  e  | e  e
 *                            mark
 *
 * After a rollback, the journal drops its memory and reads it again, unless nothing was written
 * after the savepoint: rows that a table refuses are undone one by one.
 *
 * The stamps of regular columns have the number of their row of the journal, a hybrid logical
 * clock: it is drawn with the first of them, and higher than all stamps in the cells of the file.
 * So the stamps in the cells need not be looked at. After a merge in the same transaction, whose
 * stamps may be higher, a new row begins with a higher number. A row that was appended takes no
 * stamps.
 */
#ifndef CTR_TABLE_BATCH_H
#define CTR_TABLE_BATCH_H

#include "table/journal.h"

/* Returns the number of entries that are not in the file yet. */
static inline size_t ctr_batch_pending(const ctr_tab *tab)
{
    return tab->n - tab->n_appended;
}

/* Returns whether the current transaction has entries in the journal, or for it. Then no other
 * transaction has, because a transaction with entries in the file holds the write lock. */
static inline bool ctr_batch_is_ahead(const ctr_tab *tab)
{
    return ctr_batch_pending(tab) > 0 || tab->appended;
}

/* Refuses to write if the write would run triggers. */
int ctr_batch_refuse_triggers(ctr_tab *tab, ctr_problem *problem);

/* The same for a statement that was just prepared, or prepared again: there may be new triggers. */
int ctr_batch_refuse_triggers_anew(ctr_tab *tab, ctr_problem *problem);

/* Makes room for `n` entries, and appends the batch if it has grown long. */
int ctr_batch_expect(ctr_tab *tab, int n, ctr_problem *problem);

/* Notes an increment of a counter of a row by n: one tick of its clock. */
void ctr_batch_add(ctr_tab *tab, int64_t row, int counter, int64_t n);

/* Returns the number that the entries which follow will have. The write lock is held. 0 on a
 * problem. */
int64_t ctr_batch_number(ctr_tab *tab, ctr_problem *problem);

/* Notes a write of the regular columns in a mask, a bool for each of n, with that number. */
void ctr_batch_stamp(ctr_tab *tab, int64_t row, const bool *mask, int n);

/* Notes that a stamp with this number is written into a cell. */
void ctr_batch_learn(ctr_tab *tab, int64_t number);

/* Notes that a row is new; that the cell of a counter was written, which drops the row from memory,
 * or the row cell; or that all memory is out of date. */
void ctr_batch_note(ctr_tab *tab, int64_t row, ctr_entry_kind kind, int counter, ctr_origin origin);

/* Appends the batch, in a row that may grow until the transaction ends. */
int ctr_batch_flush(ctr_tab *tab, ctr_problem *problem);

/* After a fold: appends a row that says that all earlier amounts were folded, and has the amounts
 * that are carried over. */
void ctr_batch_carry(ctr_tab *tab, ctr_problem *problem);

/* Drops the batch, down to the last savepoint, and all memory. */
void ctr_batch_abandon(ctr_tab *tab);

/* Makes this and all other connections drop their memory of the table. The caller has folded the
 * journal: amounts that stand in it would be lost. Returns the number of the change, or 0 on a
 * problem. */
int64_t ctr_batch_mark_change(ctr_tab *tab, ctr_problem *problem);

/* ---- all tables of a file that this transaction has written to, or is about to ---- */

int ctr_batch_flush_all(ctr_file *file, ctr_problem *problem);

/* Returns whether a batch is not appended yet. */
bool ctr_batch_any_pending(const ctr_file *file);
void ctr_batch_committed(ctr_file *file);
void ctr_batch_rolled_back(ctr_file *file);

/* The same for savepoints. */
int ctr_batch_begin_savepoint(ctr_file *file, int level, ctr_problem *problem);
void ctr_batch_end_savepoint(ctr_file *file, int level);
void ctr_batch_roll_back_to(ctr_file *file, int level);

#endif
