/* tracked/showing.h - writes the values of counters and merged regular columns into their tracked
 * table.
 *
 *     ctr_showing_open(&showing, tab, problem);
 *     ctr_showing_row(&showing, rowid, keys, NULL, before, now, problem);
 *
 * If a constraint of the table refuses a value, the row is apart, and <counters>_state lists it
 * (tracked/apart.h). A row of a replicated table is written whole, in one statement; if the table
 * refuses it, without its counters. Merged values that the table refuses, or that its triggers
 * change, are listed, too (table/regular.h).
 *
 * A row that neither shows its counters nor is listed there was changed while the triggers did not
 * run. Overwriting it would lose counts, so it is refused.
 */
#ifndef CTR_TRACKED_SHOWING_H
#define CTR_TRACKED_SHOWING_H

#include "tracked/apart.h"
#include "tracked/row_values.h"
#include "tracked/triggers.h"
#include "tracked/writing.h"

/* A row of a replicated table that was merged: whether it lived and lives, and the values to show
 * of its regular columns, in the order of tracked->regular; NULL: the table shows it. A row that
 * begins another life shows its DEFAULT in each column without a value. */
typedef struct ctr_merged_row {
    bool was_live, is_live, begins;
    sqlite3_value **values;
} ctr_merged_row;

typedef struct ctr_showing {
    ctr_tracked *tracked; /* held */
    ctr_apart apart;
    ctr_writing writing;
    const ctr_merged_row *merged; /* borrowed; the row at hand. NULL: it lives as before */
    ctr_row_values listed;        /* owned: reads the listed values of a replicated table */
    bool is_listed;               /* the row at hand has some */
    bool withheld;                /* its counters are not to be shown: they await an answer */
    const bool *leaves_out;       /* borrowed: the regular columns that a new row gets later, in the
                                     order of tracked->regular; NULL: none */
    bool leaves_refused;          /* set by the owner: rows that the table refused are not tried */
    sqlite3_value **values;       /* owned: as merged->values, with the listed ones */
    sqlite3_value **defaults;     /* owned, as are these: of columns that begin anew */
    bool reads_back;              /* triggers of the application may change what is written */
    ctr_row_values shown;         /* owned: reads the row before and after it is written */
    sqlite3_value **before;       /* owned: its values before, which are owned, too */

    /* Owned: room for the current row, by counter: what the table is known to show, what it is to
     * show, what it was found to show. */
    ctr_shown *from, *to, *found;
} ctr_showing;

/* Opens as ctr_triggers_hold does. The caller closes it, even if this fails, and does not move it
 * while it is open. */
int ctr_showing_open(ctr_showing *showing, ctr_tab *tab, ctr_problem *problem);
void ctr_showing_close(ctr_showing *showing);

/* The same for a table that may lack some of its triggers, as while these run. Returns false,
 * mostly without a problem, if the table is not known. */
bool ctr_showing_look(ctr_showing *showing, ctr_tab *tab, ctr_problem *problem);

/* Sets *shown to the value that a counter in this state shows. Returns false if its sum does not
 * fit in 64 bits. */
bool ctr_showing_value(const ctr_showing *showing, int counter, const ctr_summary *state,
                       ctr_shown *shown);

/* Shows a row, number `rowid` of the cells, whose counters were `before` and are `now`. The table
 * shows `from`, or the values of `before` if `from` is NULL. */
int ctr_showing_row(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                    const ctr_shown *from, const ctr_summary *before, const ctr_summary *now,
                    ctr_problem *problem);

/* Lists such a row, to be shown later by ctr_showing_again: one of a feed that a foreign key may
 * touch. SQLite opens no savepoint within the INSERT, so what the key does could not be undone. */
int ctr_showing_list(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                     const ctr_summary *before, const ctr_summary *now, ctr_problem *problem);

/* Writes NULL into regular columns of a row that has ended, `columns` in the order of
 * tracked->regular, so that it no longer refers to others. The table may refuse. */
int ctr_showing_clear(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                      const bool *columns, ctr_problem *problem);

/* Returns whether a foreign key may touch what shows a row of the table: whether it lives now says
 * if it is written or deleted. */
bool ctr_showing_touches(ctr_showing *showing, const ctr_summary *now, ctr_problem *problem);

/* Shows a row that is listed as apart, and has not been merged since. */
int ctr_showing_again(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                      const ctr_summary *now, ctr_problem *problem);

/* Lists a row that shows `shown` for each counter with another value; NULL: the row waits. */
int ctr_showing_set_apart(ctr_showing *showing, int64_t rowid, const ctr_shown *shown,
                          const ctr_summary *now, ctr_problem *problem);

#endif
