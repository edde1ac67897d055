/* track/trackable.h - which columns of an ordinary table can be tracked.
 *
 * The key is the PRIMARY KEY. Its types are plain, and it compares as its columns do; otherwise two
 * rows of the table could have one key in the counter table. A tracked column has no type that
 * turns integers into texts or reals, and is not generated.
 */
#ifndef CTR_TRACK_TRACKABLE_H
#define CTR_TRACK_TRACKABLE_H

#include "track/tracked.h"

/* Reads the shape of the counter table of a table: counters for the n named columns and for those
 * of `tracked`, which may be closed. Returns SQLITE_ERROR, and names the column, if it cannot be
 * tracked. The caller closes the shape, even if this fails. */
int ctr_trackable_read(ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                       const char *const *names, int n, const ctr_tracked *tracked,
                       ctr_problem *problem);

#endif
