/* merge/pull_rows.h - merges the rows of one table of the source into ours. */
#ifndef CTR_MERGE_PULL_ROWS_H
#define CTR_MERGE_PULL_ROWS_H

#include "merge/pull.h"
#include "table/stream.h"
#include "table/update.h"

typedef struct ctr_pull_rows {
    /* Set by the owner. */
    ctr_pull *pull;                /* borrowed, as are the next two */
    ctr_merge *to;                 /* the merge into our table */
    struct ctr_report_row *report; /* gets the numbers of rows */
    const int *regular;            /* lent by ctr_later.map; NULL: it is not replicated */
    ctr_row_values *theirs;        /* borrowed, if it is: reads the values of the source */

    ctr_rows from;        /* the rows of the source */
    int *counters;        /* owned: for each counter of `to`, that of `from` to be merged, or -1 */
    sqlite3_value **keys; /* owned: room for a key; that of the row, lent by its statement */
    ctr_walk walk;        /* stands at the source's row */
    bool more;            /* the walk stands at a row */
    ctr_row_cell row;     /* its row cell, of a replicated table; owned columns */
    int room_row;

    /* How the rows of `to` are found. */
    bool empty;   /* `to` had no rows before: the second of two rows with one key is refused */
    bool updates; /* the UPDATE that writes a row also finds it */
    bool matched; /* the UPDATE has merged a row */
    int64_t last; /* the id of the row that was merged last */
    int strays;   /* consecutive keys that were not behind the row merged last */
    int resting;  /* keys to pass before the next attempt in order */
    ctr_update update;
} ctr_pull_rows;

/* Opens the rows of the source's table `theirs`, whose shape it borrows; the keys of both tables
 * agree (ctr_shape_check_keys). The caller closes them, even if this fails. */
int ctr_pull_rows_open(ctr_pull_rows *job, const char *theirs, const ctr_shape *shape,
                       ctr_problem *problem);
void ctr_pull_rows_close(ctr_pull_rows *job);

/* Merges the rows that have changed since the mark, or all if that is 0. */
void ctr_pull_rows_merge(ctr_pull_rows *job, int64_t mark, ctr_problem *problem);

#endif
