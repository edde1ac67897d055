/* track/triggers.h - the triggers of a tracked table, which hand its changes to its counter table.
 *
 * They must be what would be written now, to the letter: else changes may not have been counted,
 * and nothing is merged before counter_track is called again.
 */
#ifndef CTR_TRACK_TRIGGERS_H
#define CTR_TRACK_TRIGGERS_H

#include "track/tracked.h"

/* As ctr_tracked_look. SQLITE_ERROR, and a sentence that says what to call, if the triggers are not
 * whole. */
int ctr_triggers_open(ctr_tracked *tracked, sqlite3 *db, const char *schema, const char *counters,
                      const ctr_shape *shape, ctr_problem *problem);

/* The same, of any counter table, that is closed at once; one of no tracked table is no problem. */
int ctr_triggers_check(sqlite3 *db, const char *schema, const char *counters,
                       const ctr_shape *shape, ctr_problem *problem);

/* Makes the triggers, in place of those that are there; drops them. */
void ctr_triggers_create(const ctr_tracked *tracked, ctr_problem *problem);
void ctr_triggers_drop(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem);

/* Counters have come or gone by a merge, `raised` by name: makes the triggers anew, for the columns
 * that are tracked already. A counter that another file has dropped and added again has no column
 * here, as if both had come one after the other. */
int ctr_triggers_follow(sqlite3 *db, const char *schema, const char *counters,
                        const ctr_shape *shape, const char *const *raised, int n_raised,
                        ctr_problem *problem);

/* The table on which triggers of `counters` stand, to be freed with sqlite3_free; NULL: none. */
char *ctr_triggers_table(sqlite3 *db, const char *schema, const char *counters,
                         ctr_problem *problem);

/* Does `counters` count this table, by its triggers, some or all? */
bool ctr_triggers_stand_on(sqlite3 *db, const char *schema, const char *counters, const char *table,
                           ctr_problem *problem);

/* The counter table of a table, by the triggers on it, or if there are none by the name noted; to
 * be freed. NULL: it has none. */
char *ctr_triggers_counters(sqlite3 *db, const char *schema, const char *table,
                            ctr_problem *problem);

/* Refuses to track `table` while some tracked table is gone: one that was renamed, and rebuilt
 * after that, cannot be told from a new one, whose counters would begin anew, known to no other
 * file. */
void ctr_triggers_refuse_orphans(sqlite3 *db, const char *schema, const char *table,
                                 ctr_problem *problem);

#endif
