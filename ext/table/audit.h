/* table/audit.h - proves that the journal of a table is whole.
 *
 * Numbers rise and are positive; levels fall towards the newest rows, and each segment has a first
 * row; every row that is stored is in the list of changes; every row with amounts is stored.
 */
#ifndef CTR_TABLE_AUDIT_H
#define CTR_TABLE_AUDIT_H

#include "table/journal.h"

/* SQLITE_CORRUPT_VTAB where it is not. The batch was appended. */
int ctr_audit_journal(sqlite3 *db, const char *schema, const char *table, int n_counters,
                      ctr_problem *problem);

#endif
