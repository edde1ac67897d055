/* merge/drift.h - rows that two files began to replicate apart, and that differ.
 *
 * Such rows were there before each file called counter_replicate, and nobody knows which of two
 * values is the newer one (core/row_cell.h). A merge that meets them is refused until one of the
 * files says whose values win, by 'values=newest' or 'values=oldest'.
 */
#ifndef CTR_MERGE_DRIFT_H
#define CTR_MERGE_DRIFT_H

#include "merge/merge.h"

/* Call it after ctr_merge_row, before the row is written, if merge->asks: compares the values of
 * both files, and notes the row if some differ. That of my column i in the other file is
 * theirs[map[i]], NULL: there is none. */
void ctr_drift_compare(ctr_merge *merge, sqlite3_value *const *theirs, const int *map,
                       ctr_problem *problem);

/* Frees what was noted. ctr_merge_close does this. */
void ctr_drift_close(ctr_merge *merge);

/* Fails if rows were noted, as ctr_answers_refuse_missing does, with the same arguments. */
int ctr_drift_refuse(ctr_merge *merge, const char *table, const char *here, const char *there,
                     bool gives, ctr_problem *problem);

#endif
