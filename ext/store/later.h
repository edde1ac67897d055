/* store/later.h - many rows of a tracked table that are shown later.
 *
 * While rows are merged nothing else should be written, for the triggers of the table may look at
 * others; when everything is merged all are shown, in the order of storage.
 */
#ifndef CTR_STORE_LATER_H
#define CTR_STORE_LATER_H

#include "store/floors.h"
#include "store/rows.h"
#include "store/showing.h"

/* A row, and what it showed before. */
typedef struct ctr_later_row {
    int64_t rowid;
    ctr_shown_before was;
    bool known;        /* the values, for their sums have 64 bits */
    ctr_shown shown[]; /* by counter */
} ctr_later_row;

/* Zero it; free `bytes` with sqlite3_free. */
typedef struct ctr_later {
    uint8_t *bytes;
    size_t size, used, room; /* of one row, of all */
} ctr_later;

/* Notes a row of `showing`; shows all of them. `rows` are those of the counter table. */
int ctr_later_add(ctr_later *later, const ctr_showing *showing, int64_t rowid,
                  const ctr_summary *before, ctr_problem *problem);
int ctr_later_show(ctr_later *later, ctr_showing *showing, ctr_rows *rows, ctr_problem *problem);

/* Tries once more to show the rows that are listed as apart, in the order of storage or backwards:
 * parents come before their children, and go after them. True if fewer are listed now. */
bool ctr_later_again(ctr_showing *showing, ctr_rows *rows, bool backwards, ctr_problem *problem);

/* Floors have risen: rows below show nothing any more. */
int ctr_later_purged(ctr_showing *showing, ctr_floors *floors, ctr_problem *problem);

#endif
