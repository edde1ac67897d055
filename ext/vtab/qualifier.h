/* vtab/qualifier.h - refuses an eponymous table under another schema than main.
 *
 * SQLite finds a table without xCreate under every schema's name: phone.counter_changes is main's.
 * A user who writes this means another table, so it is refused. SQLite does not pass the schema to
 * the table, so this file looks for it in the text of the running statements.
 */
#ifndef CTR_VTAB_QUALIFIER_H
#define CTR_VTAB_QUALIFIER_H

#include "sqlite/problem.h"

/* Fails if a running statement names the table `name` under another schema than main. */
int ctr_qualifier_check(sqlite3 *db, const char *name, ctr_problem *problem);

#endif
