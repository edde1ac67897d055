/* tracked/apart.h - rows of a tracked table that do not show their counters, in <counters>_state.
 *
 *     it waits      the counters are live, and the table has no such row
 *     it differs    a column shows a value other than that of its counter
 *     it has ended  it was deleted by a merge, and the replicated table still has it
 *     it is withheld    its counters have openings without an answer (table/openings.h)
 *
 * A row that waits has one entry, without a counter. A row that differs has one entry for each
 * counter whose column shows another value. A row that has ended has these for all counters, and
 * one more, as does one that is withheld. Another entry, of the kind 'why', has the error by which
 * the table refused the row.
 *
 * Rows below a floor have no cells. One entry, of the row 0, stands for all of them that the table
 * keeps, because others refer to them.
 */
#ifndef CTR_TRACKED_APART_H
#define CTR_TRACKED_APART_H

#include "tracked/tracked.h"

/* The list. All is borrowed. */
typedef struct ctr_apart {
    const ctr_tracked *tracked;
    ctr_tab *tab; /* has the statements */
} ctr_apart;

/* A row, listed or not. */
typedef struct ctr_apart_row {
    bool waits, differs, ended, withheld;
    bool refused;     /* the table refuses values of regular columns: table/regular.h */
    bool *differs_in; /* owned; by counter */
    ctr_shown *shown; /* owned; by counter: what the column shows */
} ctr_apart_row;

/* Reads whether the row is listed. The caller closes the row, even if this fails. */
int ctr_apart_read(ctr_apart *apart, int64_t rowid, ctr_apart_row *row, ctr_problem *problem);
void ctr_apart_close_row(ctr_apart_row *row);

/* List that the row has ended, that it is withheld, a counter of it with the value that its column
 * shows; counter NULL: the row waits. Remove takes the row off the list. */
void ctr_apart_end(ctr_apart *apart, int64_t rowid, ctr_problem *problem);
void ctr_apart_withhold(ctr_apart *apart, int64_t rowid, ctr_problem *problem);
void ctr_apart_add(ctr_apart *apart, int64_t rowid, const char *counter, const ctr_shown *shown,
                   ctr_problem *problem);
int ctr_apart_remove(ctr_apart *apart, int64_t rowid, ctr_problem *problem);

/* Lists that the table keeps rows below a floor. */
void ctr_apart_keep(ctr_apart *apart, ctr_problem *problem);

/* Lists why the table refused the row: the error. NULL: it is not known. The row is on the list, or
 * has refused regular columns; what takes it off forgets the reason. */
void ctr_apart_explain(ctr_apart *apart, int64_t rowid, const char *why, ctr_problem *problem);

/* Returns the number of entries. */
int64_t ctr_apart_count(ctr_file *file, const char *counters, ctr_problem *problem);

/* Sets the numbers of rows that wait, and of those that differ. */
void ctr_apart_count_rows(ctr_file *file, const char *counters, int64_t *wait, int64_t *differ,
                          ctr_problem *problem);

#endif
