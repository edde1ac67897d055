/* table/fold.h - moves amounts of a journal into the cells.
 *
 * A fold writes each row that has amounts once, in the order of storage, and turns the rows of
 * transactions into a segment of level 1, a list of the rows that have changed, with numbers. A
 * commit that finds the journal too long folds the rows that lie densest, and carries the other
 * amounts over, added up, into one new row of the journal:
 *
 *     rows of transactions            segment, level 1        row of a transaction
 *     +1 row 5, +1 row 9, +1 row 5    5, 9: with numbers      all folded; +2 row 5
 *
 * Here row 9 was folded into its cell. A few rows that change often stay in the journal.
 *
 * A commit folds, or compacts segments (table/segments.h), never both.
 *
 * All in the transaction at hand. A fold that fails half-way, with amounts both in the cells and in
 * the journal, spoils it (ctr_transaction_spoil).
 */
#ifndef CTR_TABLE_FOLD_H
#define CTR_TABLE_FOLD_H

#include "table/journal.h"

/* Appends the batch and folds the whole journal. Where this transaction has not checked the
 * identity, the id is read from the file. */
int ctr_fold_table(ctr_journal *journal, ctr_problem *problem);

/* All tables of the file, before its id becomes another one: amounts belong to the shards of the id
 * that the file has. */
int ctr_fold_file(ctr_replica *replica, ctr_problem *problem);

/* Before a commit: the tables whose journals have grown beyond their limits. */
int ctr_fold_grown(ctr_replica *replica, ctr_problem *problem);

#endif
