/* track/foreign.h - foreign keys that refer to a tracked table.
 *
 * A merge may break one. SQLite then reports only that some foreign key of the connection is
 * broken, or, for a deferred one, nothing before the COMMIT. So this file looks for children before
 * a row is deleted.
 */
#ifndef CTR_TRACK_FOREIGN_H
#define CTR_TRACK_FOREIGN_H

#include "track/tracked.h"

/* The caller closes it. */
typedef struct ctr_foreign {
    const ctr_tracked *tracked; /* borrowed */
    sqlite3_stmt *children;
    bool childless; /* no foreign key refers to the table */
} ctr_foreign;

ctr_foreign ctr_foreign_of(const ctr_tracked *tracked);
void ctr_foreign_close(ctr_foreign *foreign);

/* Do rows of other tables refer to the row with this key, and forbid its deletion? */
bool ctr_foreign_has_children(ctr_foreign *foreign, sqlite3_value **keys, ctr_problem *problem);

/* Does SQLite enforce foreign keys? Is a deferred one broken, which must be repaired before the
 * COMMIT? Refuse then reports that `table` cannot be written, because nobody could tell whether
 * that breaks another one. */
bool ctr_foreign_is_enforced(sqlite3 *db);
bool ctr_foreign_is_broken(sqlite3 *db);
void ctr_foreign_refuse_broken(sqlite3 *db, const char *table, ctr_problem *problem);

#endif
