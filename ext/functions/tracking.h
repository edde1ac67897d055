/* functions/tracking.h - a call of counter_track or counter_untrack, and how it counts a table. */
#ifndef CTR_FUNCTIONS_TRACKING_H
#define CTR_FUNCTIONS_TRACKING_H

#include "functions/register.h"
#include "table/openings.h"
#include "track/tracked.h"

/* One call of counter_track or counter_untrack. */
typedef struct ctr_tracking {
    sqlite3 *db;
    ctr_conn *conn;
    char *schema, *table; /* owned; the table as it is spelled in the schema */
    char *counters;       /* owned: its counter table, if there is one */
    bool taken_up;        /* its stored tables existed without it */
    ctr_file *file;       /* borrowed */
    ctr_shape shape;      /* of the counter table, present or future */
    ctr_tracked tracked;
    int n; /* the named columns */
    const char **names;
    bool keys_assigned, again; /* options, as is the answer in `opening` */
    ctr_opening opening;
} ctr_tracking;

/* Compares every row with its counters, and every counter with the rows. Returns the number of rows
 * that were counted. */
int64_t ctr_tracking_count(ctr_tracking *call, ctr_problem *problem);

/* The same; the values of columns that `opens` names, by counter, are counted under a new opening,
 * with the answer of the call. */
int64_t ctr_tracking_count_opening(ctr_tracking *call,
                                   bool (*opens)(const ctr_tracking *, int counter),
                                   ctr_problem *problem);

#endif
