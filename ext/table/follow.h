/* table/follow.h - reads a stored table beside another one, row by row, in the order of storage.
 *
 * Files that have their rows from each other have them in the same order, more or less. So for each
 * row of the one, the next row of the other is looked at first; only where it has another key is
 * the key looked up. Nothing depends on the order but time: a row is taken for the one that was
 * looked for only if it has the same values, byte for byte.
 *
 *     ctr_follow_find      instead of ctr_rows_find_key
 *
 * Each write of a row makes SQLite look up the place of the reader anew.
 */
#ifndef CTR_TABLE_FOLLOW_H
#define CTR_TABLE_FOLLOW_H

#include "table/rows.h"

typedef struct ctr_follow {
    ctr_rows *rows;    /* borrowed */
    sqlite3_stmt *row; /* stands at a row, if it does */
    bool stands;
    bool empty;  /* the table had no row at first: what comes is new */
    int strays;  /* keys in a row that stood elsewhere; it rests after some */
    int resting; /* keys until it tries again */
} ctr_follow;

/* In a table that is empty now nothing is looked for: of two rows with one key the second is
 * refused by the stored table. To be closed whatever is returned. */
int ctr_follow_open(ctr_follow *follow, ctr_rows *rows, ctr_problem *problem);
void ctr_follow_close(ctr_follow *follow);

int ctr_follow_find(ctr_follow *follow, sqlite3_value **keys, ctr_problem *problem);

#endif
