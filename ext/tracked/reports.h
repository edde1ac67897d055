/* tracked/reports.h - the counter table of a tracked table: what its triggers report.
 *
 *     trigger_rows.c  rows that the triggers of a tracked table insert
 *     reconcile.c     a row of a tracked table and its counters
 *     stamping.c      rows of a replicated table
 */
#ifndef CTR_TRACKED_REPORTS_H
#define CTR_TRACKED_REPORTS_H

#include "tracked/apart.h"
#include "tracked/showing.h"
#include "counter/table.h"

/* A row of a tracked table that a statement may replace. */
typedef struct ctr_may_go {
    int64_t rowid;
    bool at_work; /* noted while the library wrote a merged row */
} ctr_may_go;

/* What the triggers have reported to a counter table, and its view of the tracked table. */
typedef struct ctr_reports {
    bool noted;         /* the names of the tracked columns are written */
    unsigned noted_in;  /* the last transaction in which they were written, counted from 1 */
    ctr_showing *looks; /* owned: reads the tracked table; NULL: it is not known */
    bool looked;        /* `looks` was set */
    unsigned looked_in; /* ctr_file.schemas when it was set */
    ctr_may_go *may_go; /* owned; rows that a statement may replace, as noted by triggers */
    int n_may_go;
    size_t room_may_go;
    unsigned may_go_in;   /* the transaction in which they were noted */
    unsigned disorder_in; /* the last transaction in which one ran before ours, from 1 */
} ctr_reports;

/* The methods of a counter table of a tracked table. */
const ctr_tracker *ctr_trigger_rows_tracker(void);

/* Of these methods, those that read the tracked table. */
void ctr_reports_open(ctr_table *table, ctr_problem *problem);
void ctr_reports_close(ctr_table *table);
const char *ctr_reports_tracked_table(const ctr_table *table, ctr_problem *problem);

/* Returns the opening of the running counter_track, if that tracks this table; else NULL. */
ctr_opening *ctr_reports_opening(const ctr_table *table);

/* Returns a view of the tracked table, by which none of its rows is written, or NULL if that table
 * is not known or on a problem. */
ctr_showing *ctr_reports_look(ctr_table *table, ctr_problem *problem);

/* Writes the counters of the row that was found into the tracked table, if the table accepts them.
 * All of our triggers must exist, unless one of them is the caller. The other arguments are those
 * of ctr_showing_row. */
void ctr_reports_show(ctr_table *table, bool is_trigger, const ctr_shown *from,
                      const ctr_summary *before, const ctr_summary *after, ctr_problem *problem);

/* Notes the names of the tracked table and its columns, once: the table is connected again when the
 * schema changes. But names that this transaction wrote may be rolled back, so they are written
 * again in the next one. */
void ctr_reports_note_names(ctr_table *table, ctr_problem *problem);

/* reconcile.c: the row of a tracked table with table->keys, as an event reports it. */
typedef enum ctr_row_event {
    CTR_ROW_UPDATED,
    CTR_ROW_INSERTED,
    CTR_ROW_DELETED,
    CTR_ROW_FOUND, /* by counter_track, as the next */
    CTR_ROW_MISSING,
    CTR_ROW_MAY_GO,
    CTR_ROW_WRITTEN /* regular columns of it: `marks` */
} ctr_row_event;

typedef struct ctr_tracked_row {
    ctr_table *table;
    ctr_row_event event;
    bool looks;                  /* CTR_ROW_FOUND: some row is apart; it may be this one */
    ctr_shown *now, *was;        /* by counter: what it shows, and showed before; see `event` */
    ctr_summary *before, *after; /* by counter: room */
    ctr_apart_row apart;         /* owned: how it is listed, if `is_apart` */
    bool is_apart;
    sqlite3_value *marks; /* as the trigger hands them over */
} ctr_tracked_row;

/* Count a row that is there. The second is for counter_track. */
void ctr_reconcile_row(ctr_tracked_row *row, ctr_problem *problem);
void ctr_reconcile_found(ctr_tracked_row *row, ctr_problem *problem);

/* Begins the next life of a row that was found and is deleted, with all that it shows, if its
 * merged deletion is listed and a write of the application is being reported. Returns whether it
 * did. */
bool ctr_reconcile_revive(ctr_tracked_row *row, ctr_problem *problem);

/* Ends the counters of a row that was deleted. */
void ctr_reconcile_deleted(ctr_tracked_row *row, ctr_problem *problem);

/* A row of the counters that the table lacks: the first notes it in conn->missing, unless it was
 * deleted or waits; the others end its counters, or list it as one that waits, whose regular
 * columns have no values here. */
void ctr_reconcile_missing(ctr_tracked_row *row, ctr_problem *problem);
void ctr_reconcile_missing_deleted(ctr_tracked_row *row, ctr_problem *problem);
void ctr_reconcile_missing_restored(ctr_tracked_row *row, ctr_problem *problem);

/* Remembers a row that the statement may remove unnoticed. The second looks up the remembered rows,
 * and ends the counters of those that are gone. */
void ctr_reconcile_may_go(ctr_tracked_row *row, ctr_problem *problem);
void ctr_reconcile_replaced(ctr_table *table, ctr_problem *problem);

/* Writes what is staged; notes the states of the counters before and after. */
void ctr_reconcile_write(ctr_tracked_row *row, ctr_problem *problem);

/* stamping.c: all but the first do nothing unless the table is replicated. They fail with
 * SQLITE_FULL if a row has no further life or stamp.
 *
 * Returns whether the row that was found lives: by its row cell or, in other tables, its
 * counters. */
bool ctr_stamping_is_live(ctr_table *table, ctr_problem *problem);

/* Stage the row cell of the row that was found or is missing: inserted; deleted. */
void ctr_stamping_insert(ctr_table *table, ctr_problem *problem);
void ctr_stamping_delete(ctr_table *table, ctr_problem *problem);

/* Stamps and writes the columns that an UPDATE has changed. */
void ctr_stamping_write(ctr_tracked_row *row, ctr_problem *problem);

/* Stages the row cell of a row that counter_replicate finds. Returns whether it has changed. */
bool ctr_stamping_found(ctr_table *table, ctr_problem *problem);

/* Writes the row cell of a row that counter_replicate finds among the cells alone. `waits`: it is
 * listed so. */
void ctr_stamping_missing(ctr_table *table, bool waits, ctr_problem *problem);

/* Stages the row cell of such a row that is to come back: its columns have no stamp any more, by
 * which other files notice that they should give their values (ctr_row_cell_lacks). */
void ctr_stamping_restored(ctr_table *table, ctr_problem *problem);

#endif
