/* track/foreign.h - foreign keys that refer to a tracked table.
 *
 * What a merge writes may break one, and SQLite tells only that some foreign key of the connection
 * is broken, or nothing before the COMMIT where it is deferred: so a row whose children would lose
 * it is looked for before it is deleted.
 */
#ifndef CTR_TRACK_FOREIGN_H
#define CTR_TRACK_FOREIGN_H

#include "track/tracked.h"

/* To be closed. */
typedef struct ctr_foreign {
    const ctr_tracked *tracked; /* borrowed */
    sqlite3_stmt *children;
    bool childless; /* no foreign key refers to the table */
} ctr_foreign;

ctr_foreign ctr_foreign_of(const ctr_tracked *tracked);
void ctr_foreign_close(ctr_foreign *foreign);

/* Do rows of others refer to the row with this key, and forbid that it goes? */
bool ctr_foreign_has_children(ctr_foreign *foreign, sqlite3_value **keys, ctr_problem *problem);

/* Does SQLite enforce foreign keys? Is one broken, that is to be mended before the COMMIT? Refuses
 * to write `table` then, for it could not be told whether that breaks another one. */
bool ctr_foreign_is_enforced(sqlite3 *db);
bool ctr_foreign_is_broken(sqlite3 *db);
void ctr_foreign_refuse_broken(sqlite3 *db, const char *table, ctr_problem *problem);

#endif
