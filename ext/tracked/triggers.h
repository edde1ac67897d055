/* tracked/triggers.h - the triggers of a tracked table, which insert its changes into its counter
 * table.
 *
 * Their texts must be exactly those that would be written now. Otherwise changes may not have been
 * counted, and nothing is merged until counter_track is called again.
 */
#ifndef CTR_TRACKED_TRIGGERS_H
#define CTR_TRACKED_TRIGGERS_H

#include "tracked/tracked.h"

/* As ctr_tracked_hold. Fails with SQLITE_ERROR if a trigger is missing or has another text; the
 * message names the function to call. */
ctr_tracked *ctr_triggers_hold(ctr_tab *tab, ctr_problem *problem);

/* Checks the triggers of any counter table; does nothing unless it holds the counters of a tracked
 * table. */
int ctr_triggers_check(ctr_file *file, const char *counters, ctr_problem *problem);

/* Returns whether triggers of the application stand on the tracked table. */
bool ctr_triggers_are_others(const ctr_tracked *tracked, ctr_file *file, ctr_problem *problem);

/* Returns whether, within an INSERT or UPDATE (`event`) of the application, triggers of its own
 * have still to run when ours do, and an UPDATE of the row would come before them: SQLite runs the
 * newest first. Only those count that write another table, such as an index of the words of the
 * row; there the old values of that UPDATE are not yet known. */
bool ctr_triggers_run_later(const ctr_tracked *tracked, ctr_file *file, const char *event,
                            ctr_problem *problem);

/* Create the triggers in place of existing ones, and drop them. */
void ctr_triggers_create(ctr_tracked *tracked, ctr_file *file, ctr_problem *problem);
void ctr_triggers_drop(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem);

/* Call it after a merge has added or dropped the counters `raised`: creates the triggers again, for
 * the columns that are tracked already. A counter that another file dropped and added again has no
 * column here, as if both changes had arrived one by one. */
int ctr_triggers_follow(ctr_file *file, const char *counters, const ctr_shape *shape,
                        const char *const *raised, int n_raised, ctr_problem *problem);

/* Returns the table that has triggers of `counters`, lent by the objects. NULL: none. */
const char *ctr_triggers_table(const ctr_objects *objects, const char *counters,
                               ctr_problem *problem);

/* Returns whether this table has some trigger of `counters`. */
bool ctr_triggers_stand_on(const ctr_objects *objects, const char *counters, const char *table,
                           ctr_problem *problem);

/* Returns the counter table of a table, found by its triggers or, if there are none, by the noted
 * name; the caller frees it with sqlite3_free. NULL: it has none. */
char *ctr_triggers_counters(ctr_file *file, const char *table, ctr_problem *problem);

#endif
