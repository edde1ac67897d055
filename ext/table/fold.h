/* table/fold.h - moves amounts of a journal into the cells.
 *
 * A fold writes each row with amounts once, in the order of storage. It turns the journal's rows of
 * transactions into a segment of level 1: a list of changed rows, with numbers. If the journal has
 * grown too long, a commit folds only the rows that lie densest, and carries the other amounts
 * over, added up, into one new row of the journal:
 *
 *     rows of transactions            segment, level 1        row of a transaction
 *     +1 row 5, +1 row 9, +1 row 5    5, 9: with numbers      all folded; +2 row 5
 *
 * Here row 9 was folded into its cell; a few rows that change often stay in the journal.
 *
 * A commit folds, or compacts segments (table/changes.h), never both.
 *
 * A fold runs in the current transaction. If it fails half-way, with amounts both in the cells and
 * in the journal, it spoils the transaction (ctr_conn_spoil).
 */
#ifndef CTR_TABLE_FOLD_H
#define CTR_TABLE_FOLD_H

#include "table/journal.h"

/* Appends the batch and folds the whole journal. If this transaction has not checked the identity,
 * the id is read from the file. */
int ctr_fold_table(ctr_tab *tab, ctr_problem *problem);

/* The same, and compacts segments even if there is nothing to fold. */
int ctr_fold_optimize(ctr_tab *tab, ctr_problem *problem);

/* Folds all tables of the file. Call it before the id changes: amounts belong to the shards of the
 * old id. */
int ctr_fold_file(ctr_file *file, ctr_problem *problem);

/* Before a commit: folds the tables whose journals have grown beyond their limits. */
int ctr_fold_grown(ctr_file *file, ctr_problem *problem);

#endif
