/* track/apart.h - <counters>_apart: rows in which a tracked table is not as its counters say.
 *
 *     it waits      the counters are live, and the table has no such row
 *     it differs    a column shows another value than its counter has
 *
 * A row that waits has one entry without a counter; else there is one for each counter whose column
 * shows another value.
 */
#ifndef CTR_TRACK_APART_H
#define CTR_TRACK_APART_H

#include "track/tracked.h"

/* The list; it keeps its statements. To be closed. */
typedef struct ctr_apart {
    const ctr_tracked *tracked; /* borrowed */
    sqlite3_stmt *read, *add, *remove;
} ctr_apart;

/* A row that is listed, or is not. */
typedef struct ctr_apart_row {
    bool waits, differs;
    bool *differs_in; /* owned; by counter */
    ctr_shown *shown; /* owned; by counter: what the column shows */
} ctr_apart_row;

ctr_apart ctr_apart_of(const ctr_tracked *tracked);
void ctr_apart_close(ctr_apart *apart);

/* Is the row listed? To be closed whatever is returned. */
int ctr_apart_read(ctr_apart *apart, int64_t rowid, ctr_apart_row *row, ctr_problem *problem);
void ctr_apart_close_row(ctr_apart_row *row);

/* Lists a counter of the row with what its column shows, or NULL: that the row waits; takes the row
 * off the list. */
void ctr_apart_add(ctr_apart *apart, int64_t rowid, const char *counter, const ctr_shown *shown,
                   ctr_problem *problem);
int ctr_apart_remove(ctr_apart *apart, int64_t rowid, ctr_problem *problem);

/* How many entries there are; is there any, in what may be no tracked table? */
int64_t ctr_apart_count(sqlite3 *db, const char *schema, const char *counters,
                        ctr_problem *problem);
bool ctr_apart_any(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem);

#endif
