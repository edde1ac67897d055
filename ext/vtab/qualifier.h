/* vtab/qualifier.h - tables that exist by themselves belong to main, whatever schema is named.
 *
 * SQLite finds such a table under every schema's name: phone.counter_changes is main's. A user
 * who writes this means another table, so we refuse it. SQLite does not tell the table the name in
 * the statement; the text of the running statements does.
 */
#ifndef CTR_VTAB_QUALIFIER_H
#define CTR_VTAB_QUALIFIER_H

#include "sqlite/problem.h"

/* Fails if a running statement names the table `name` under another schema than main. */
int ctr_qualifier_check(sqlite3 *db, const char *name, ctr_problem *problem);

#endif
