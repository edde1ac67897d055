/* track/later.h - many rows of a tracked table that are shown later.
 *
 * While rows are merged nothing else should be written, for the triggers of the table may look at
 * others; when everything is merged all are shown, in the order of storage.
 */
#ifndef CTR_TRACK_LATER_H
#define CTR_TRACK_LATER_H

#include "table/floors.h"
#include "table/rows.h"
#include "track/showing.h"

/* A row, and what it showed before. */
typedef struct ctr_later_row {
    int64_t rowid;
    ctr_shown_before was;
    bool known;        /* the values, for their sums fit in 64 bits */
    ctr_shown shown[]; /* by counter */
} ctr_later_row;

/* Zero it; close it. */
typedef struct ctr_later {
    uint8_t *rows; /* owned: n, with room for more, of `size` bytes each */
    size_t n, room, size;
} ctr_later;

/* Notes a row of `showing`; shows all of them. `rows` are those of the counter table. */
int ctr_later_add(ctr_later *later, const ctr_showing *showing, int64_t rowid,
                  const ctr_summary *before, ctr_problem *problem);
int ctr_later_show(ctr_later *later, ctr_showing *showing, ctr_rows *rows, ctr_problem *problem);
void ctr_later_close(ctr_later *later);

/* Tries once more to show the rows that are listed as apart, in the order of storage or backwards:
 * parents come before their children, and go after them. True if fewer are listed now. */
bool ctr_later_show_apart(ctr_showing *showing, ctr_rows *rows, bool backwards,
                          ctr_problem *problem);

/* Floors have risen: rows below show nothing any more. */
int ctr_later_show_purged(ctr_showing *showing, ctr_floors *floors, ctr_problem *problem);

#endif
