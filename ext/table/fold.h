/* table/fold.h - moves the amounts of a journal into the cells, and shortens the list of changes.
 *
 * A fold writes each row that has amounts once, in the order of storage, and leaves of the rows of
 * transactions a segment of level 1: which rows have changed, with which number. Eight segments of
 * a level become one of the next, as in an LSM tree, in which the highest number of each row
 * stays; and all become one where they are more than four times as long as the longest, for the
 * same rows may change again and again. So the list takes a few bytes for each row, and no row is
 * looked at for it.
 *
 * All in the transaction at hand. A fold that fails half-way, with amounts both in the cells and in
 * the journal, spoils it (ctr_transaction_spoil).
 */
#ifndef CTR_TABLE_FOLD_H
#define CTR_TABLE_FOLD_H

#include "table/journal.h"

/* Appends the batch and folds, if there is anything to fold. Where this transaction has not checked
 * the identity, the id is read from the file. */
int ctr_fold_table(ctr_journal *journal, ctr_problem *problem);

/* Has the journal grown beyond its limits? */
bool ctr_fold_is_due(const ctr_journal *journal);

/* All tables of the file, before its id becomes another one: amounts belong to the shards of the id
 * that the file has. */
int ctr_fold_file(ctr_replica *replica, ctr_problem *problem);

/* Before a commit: the tables that have grown. */
int ctr_fold_grown(ctr_replica *replica, ctr_problem *problem);

#endif
