/* vtab/integrity.h - checks the stored content of a counter table.
 *
 *     INSERT INTO t(t) VALUES ('integrity-check')   an error with the first finding
 *     PRAGMA integrity_check, PRAGMA quick_check    the same as a row, since SQLite 3.44
 *
 * It checks the identity and the list of tables, each key and cell, the journal, and the pages of
 * the stored table. SQLite checks pages in a PRAGMA; quick_check skips the journal.
 *
 * In a journal, numbers are positive and rise; levels fall towards the newest rows, and each
 * segment has a first row. Every stored row is in the list of changes, and every row with amounts
 * is stored.
 */
#ifndef CTR_VTAB_INTEGRITY_H
#define CTR_VTAB_INTEGRITY_H

#include "vtab/table.h"

typedef enum ctr_integrity_extent {
    CTR_INTEGRITY_ALONE, /* nothing else checks the pages */
    CTR_INTEGRITY_PRAGMA,
    CTR_INTEGRITY_QUICK
} ctr_integrity_extent;

int ctr_integrity_check(ctr_table *table, ctr_integrity_extent extent, ctr_problem *problem);

/* xIntegrity, which SQLite calls since 3.44; earlier versions ignore it. Their headers lack it, so
 * there is a type of our own. */
int ctr_integrity_method(sqlite3_vtab *base, const char *schema, const char *name, int flags,
                         char **message);

typedef struct ctr_integrity_module {
    sqlite3_module module;
#if SQLITE_VERSION_NUMBER < 3044000
    int (*xIntegrity)(sqlite3_vtab *, const char *, const char *, int, char **);
#define CTR_X_INTEGRITY xIntegrity
#else
#define CTR_X_INTEGRITY module.xIntegrity
#endif
} ctr_integrity_module;

enum { CTR_INTEGRITY_VERSION = 4 }; /* iVersion of a module with xIntegrity */

#endif
