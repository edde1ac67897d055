/* track/foreign.h - foreign keys that refer to a tracked table.
 *
 * A merge may break one. SQLite then reports only that some foreign key of the connection is
 * broken, or, for a deferred one, nothing before the COMMIT. So this file looks for children before
 * a row is deleted.
 */
#ifndef CTR_TRACK_FOREIGN_H
#define CTR_TRACK_FOREIGN_H

#include "track/tracked.h"

/* Begin with {.tracked = ...}; the caller closes it. */
typedef struct ctr_foreign {
    const ctr_tracked *tracked; /* borrowed */
    sqlite3_stmt *children;
    bool childless; /* no foreign key refers to the table */
} ctr_foreign;

void ctr_foreign_close(ctr_foreign *foreign);

/* Returns whether other rows refer to the row with this key and forbid its deletion. */
bool ctr_foreign_has_children(ctr_foreign *foreign, sqlite3_value **keys, ctr_problem *problem);

/* Return whether SQLite enforces foreign keys, and whether a deferred one is broken, which must be
 * repaired before the COMMIT. While one is broken, `refuse` sets the problem that `table` cannot be
 * written, because a second broken key could not be noticed. */
bool ctr_foreign_enforced(sqlite3 *db);
bool ctr_foreign_broken(sqlite3 *db);
void ctr_foreign_refuse_broken(sqlite3 *db, const char *table, ctr_problem *problem);

#endif
