/* track/showing.h - shows in a tracked table what its counters say.
 *
 *     ctr_showing_open(&showing, db, schema, "products_counters", &shape, replica, problem);
 *     ctr_showing_row(&showing, rowid, keys, NULL, before, now, problem);
 *
 * Where the table does not take what the counters say, for a constraint of its own, the two are
 * apart, and <counters>_apart lists the row (track/apart.h).
 *
 * A row that is neither as its counters say nor listed there was changed while the triggers did not
 * run. To write over it would lose what was counted: it is refused.
 */
#ifndef CTR_TRACK_SHOWING_H
#define CTR_TRACK_SHOWING_H

#include "track/apart.h"
#include "track/triggers.h"
#include "track/writing.h"

typedef struct ctr_showing {
    ctr_tracked tracked;
    ctr_apart apart;
    ctr_writing writing;
    ctr_shown *from, *to; /* owned: room for the row at work, by counter */
} ctr_showing;

/* What a row showed before it was merged. */
typedef enum ctr_shown_before { CTR_SHOWN_NEW, CTR_SHOWN_LIVE, CTR_SHOWN_DELETED } ctr_shown_before;

/* As ctr_triggers_open. To be closed whatever is returned; not to be moved while it is open. */
int ctr_showing_open(ctr_showing *showing, sqlite3 *db, const char *schema, const char *counters,
                     const ctr_shape *shape, ctr_replica *replica, ctr_problem *problem);
void ctr_showing_close(ctr_showing *showing);

/* The same for a table that need not have all its triggers, as it is when these run: false, mostly
 * without a problem, if it is not known which table it is. */
bool ctr_showing_look(ctr_showing *showing, sqlite3 *db, const char *schema, const char *counters,
                      const ctr_shape *shape, ctr_replica *replica, ctr_problem *problem);

/* What a counter in this state shows; false: its sum is no integer of 64 bits. */
bool ctr_showing_value(const ctr_showing *showing, int counter, const ctr_summary *state,
                       ctr_shown *shown);

/* The counters of a row, number `rowid` of the cells, were `before` and are `now`. The table shows
 * `from`, or if that is NULL what they were before. */
int ctr_showing_row(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                    const ctr_shown *from, const ctr_summary *before, const ctr_summary *now,
                    ctr_problem *problem);

/* Lists a row that shows `shown`, NULL: that waits, as far as its counters are not that. */
int ctr_showing_set_apart(ctr_showing *showing, int64_t rowid, const ctr_shown *shown,
                          const ctr_summary *now, ctr_problem *problem);

/* For track/later.h. The steps of ctr_showing_row: what the row was; what it is to show, into
 * showing->to, false: some sum cannot be shown. Then it is written: at once, where showing->from is
 * what it shows, if `known`; or it is looked at first. */
ctr_shown_before ctr_showing_before(const ctr_showing *showing, const ctr_summary *before);
bool ctr_showing_take_wanted(ctr_showing *showing, const ctr_summary *now);
int ctr_showing_write(ctr_showing *showing, int64_t rowid, ctr_shown_before was, bool known,
                      const ctr_summary *now, ctr_problem *problem);
int ctr_showing_look_and_write(ctr_showing *showing, int64_t rowid, bool was_live,
                               const ctr_summary *now, bool complete, ctr_problem *problem);

#endif
