/* track/trackable.h - which columns of an ordinary table can be tracked.
 *
 * The key is the PRIMARY KEY, of plain types, which compares as its columns do, or two rows of one
 * key could not be told apart in the counter table. A column that counts has no type that makes
 * texts or reals of integers, and is not generated.
 */
#ifndef CTR_TRACK_TRACKABLE_H
#define CTR_TRACK_TRACKABLE_H

#include "track/tracked.h"

/* The shape that the counter table of a table has, with counters for the n columns that are named
 * and for those that `tracked` has, which may be closed. SQLITE_ERROR for what cannot be tracked,
 * by name. To be closed whatever is returned. */
int ctr_trackable_read(ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                       const char *const *names, int n, const ctr_tracked *tracked,
                       ctr_problem *problem);

#endif
