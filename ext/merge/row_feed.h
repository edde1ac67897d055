/* merge/row_feed.h - rows of replicated tables in a feed: their row cells with the values of the
 * regular columns (core/row_cell.h), and counters that come before their rows.
 *
 * In a feed, the generation of a counter of a replicated table is CTR_LIVES times the life of its
 * row plus the generation of the counter (table/columns.h): the higher one wins whole, as the life
 * of a row does. A counter whose row has not come waits in <table>_state, by _kind:
 *
 *     'pending'   a cell: the life of its row in _row; the packed key and the name of the counter
 *                 in _name; the cell in _value
 */
#ifndef CTR_MERGE_ROW_FEED_H
#define CTR_MERGE_ROW_FEED_H

#include "merge/merge.h"
#include "tracked/row_values.h"

#define CTR_LIVES (INT64_C(1) << 32)

/* ---- giving ---------------------------------------------------------------------------------- */

typedef struct ctr_row_giver {
    ctr_row_values values;
    ctr_row_cell cell; /* of the row read last; owned columns */
    int room;          /* for columns of `cell` */
    int *order;        /* owned: the regular columns that are given, by number, in order of names */
    int n;
    ctr_packed image; /* owned: the row as bytes */
} ctr_row_giver;

/* Opens a giver of the rows of a replicated table. The caller closes it, even if this fails. */
int ctr_row_feed_open(ctr_row_giver *giver, ctr_tab *tab, ctr_problem *problem);
void ctr_row_feed_close(ctr_row_giver *giver);

/* Reads a row, number `rowid` of the cells, into giver->image, lent until the next one. Returns
 * false if it has no row cell, or on a problem. */
bool ctr_row_feed_read(ctr_row_giver *giver, int64_t rowid, sqlite3_value **keys,
                       ctr_problem *problem);

/* ---- taking ---------------------------------------------------------------------------------- */

/* Merges the row with the key merge->keys, which was found or is missing, and shows it. Fails with
 * SQLITE_ERROR if the bytes are no row, if a stamp lies beyond CTR_STAMP_MAX, or if the table has a
 * column of the row and does not replicate it yet. */
void ctr_row_feed_take(ctr_merge *merge, const uint8_t *bytes, size_t size, ctr_problem *problem);

/* Returns whether a cell of the row that was found, or is missing, is to be merged now: that of a
 * table that is not replicated always; else only if the row has this life. Keeps the cell if the
 * row has not come yet; one of an earlier life is over. */
bool ctr_row_feed_admits(ctr_merge *merge, uint32_t life, int counter, const ctr_cell *cell,
                         ctr_problem *problem);

/* Merges the cells that have waited for rows which have come, whatever row is at hand. */
void ctr_row_feed_take_pending(ctr_merge *merge, ctr_problem *problem);

#endif
