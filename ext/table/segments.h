/* table/segments.h - the list of changes of a journal, kept short.
 *
 * A fold turns the rows of transactions into one segment of level 1: changed rows, with numbers. As
 * in an LSM tree, eight segments of a level become one of the next, which keeps the highest number
 * of each row. All segments become one if together they are more than four times as long as the
 * longest, because the same rows may change again and again. So the list takes a few bytes for each
 * row of the table, and is kept without reading any row.
 *
 *     numbers rise -->
 *     [ level 2                  ] [ level 1 ] [ level 1 ]  row  row  row     of transactions
 */
#ifndef CTR_TABLE_SEGMENTS_H
#define CTR_TABLE_SEGMENTS_H

#include "sqlite/run.h"

/* Makes a segment of the rows of transactions; the amounts in them are lost. */
void ctr_segments_add(ctr_run *run);

/* Makes one segment of the segments of a level that has eight, or of all. Returns false if no level
 * has eight and all are short, or on a problem. */
bool ctr_segments_compact(ctr_run *run);

#endif
