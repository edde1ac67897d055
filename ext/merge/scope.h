/* merge/scope.h - the scope of a feed: the rows whose leading key columns have given values.
 *
 *     '["store 7"]', counter_key('store 7')      store = 'store 7', whatever follows in the key
 *
 * SQLite compares a value with a column, by its affinity and collation. A table whose key has fewer
 * columns has no row of the scope.
 */
#ifndef CTR_MERGE_SCOPE_H
#define CTR_MERGE_SCOPE_H

#include "table/stream.h"

typedef struct ctr_scope {
    int n;                  /* values; 0: no scope, everything */
    sqlite3_value **values; /* owned */
    char *text;             /* owned: as JSON, one for all spellings of the values; NULL: none */
    ctr_packed key, folded; /* owned; of the table that was entered: ctr_scope_enter */
} ctr_scope;

/* Takes the values of a JSON array, TEXT, or of a packed key, a BLOB. The caller closes the scope,
 * also after a failure. Fails with SQLITE_MISMATCH. */
int ctr_scope_open(ctr_scope *scope, sqlite3 *db, sqlite3_value *given, ctr_problem *problem);
void ctr_scope_close(ctr_scope *scope);

/* Enters a table: compares keys of its columns from now on. Fails with SQLITE_ERROR if one of them
 * has a collation of the application. */
void ctr_scope_enter(ctr_scope *scope, sqlite3 *db, const ctr_shape *shape, ctr_problem *problem);

/* Returns whether a row with these keys, of the table that was entered, is in the scope. */
bool ctr_scope_has(ctr_scope *scope, const ctr_shape *shape, sqlite3_value **keys,
                   ctr_problem *problem);

#endif
