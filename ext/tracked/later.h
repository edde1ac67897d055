/* tracked/later.h - shows merged rows of a tracked table at the end of a pull, tries rows that are
 * apart again, and clears rows below floors.
 *
 * The triggers of the table may read other rows. So nothing is shown while rows are being merged;
 * when everything is merged, all rows are shown in the order of storage.
 */
#ifndef CTR_TRACKED_LATER_H
#define CTR_TRACKED_LATER_H

#include "table/floors.h"
#include "table/rows.h"
#include "tracked/row_values.h"
#include "tracked/showing.h"

/* A row that was merged; all of it is borrowed. */
typedef struct ctr_later_row {
    int64_t rowid;             /* among the cells */
    const ctr_summary *before; /* its counters before the merge */

    /* Of a replicated table. */
    int64_t giver;     /* its id among the cells of the source */
    bool was_live;     /* before the merge */
    bool begins;       /* it lives, in another life than this file knew */
    const bool *taken; /* by regular column: the value of the source is to be shown */
} ctr_later_row;

/* Zero it; close it. */
typedef struct ctr_later {
    uint8_t *rows; /* owned: n, with room for more, of `size` bytes each */
    size_t n, room, size;

    /* Of a replicated table: reads the values of the source, which has the regular column map[i]
     * for our number i, or -1. Owned. */
    ctr_row_values values;
    int *map;
    int n_map;
} ctr_later;

/* Add notes a row of `showing`; show shows all of them. `rows` are those of the counter table. Rows
 * of a replicated table that have ended are deleted in a second call, with `deletions`. */
int ctr_later_add(ctr_later *later, const ctr_showing *showing, const ctr_later_row *row,
                  ctr_problem *problem);
int ctr_later_show(ctr_later *later, ctr_showing *showing, ctr_rows *rows, bool deletions,
                   ctr_problem *problem);
void ctr_later_close(ctr_later *later);

/* Tries again to show the rows that are listed as apart, in the order of storage or backwards:
 * parents are inserted before their children, and deleted after them. When a row no longer shows a
 * value, the rows that want it are tried at once, wherever they are stored: a UNIQUE index may have
 * refused it. Rows of a replicated table that have ended are tried with `deletions` only. Returns
 * how many values are listed now. */
int64_t ctr_later_show_apart(ctr_showing *showing, ctr_rows *rows, bool backwards, bool deletions,
                             ctr_problem *problem);

/* Try to show one row that is listed; to let one that has ended refer to no other
 * (ctr_showing_clear). */
void ctr_later_show_listed(ctr_showing *showing, ctr_rows *rows, int64_t rowid,
                           ctr_problem *problem);
void ctr_later_clear(ctr_showing *showing, ctr_rows *rows, int64_t rowid, const bool *columns,
                     ctr_problem *problem);

/* Call it after floors have risen: rows below them no longer show a value; in a replicated table
 * they are deleted. */
int ctr_later_show_purged(ctr_showing *showing, ctr_floors *floors, ctr_problem *problem);

#endif
