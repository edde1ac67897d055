/* table/refuse.h - refuses stored tables on which a trigger or an authorizer of the user would act.
 *
 * A trigger on a stored table is foreign code that our writes would fire. An authorizer of the
 * connection may answer IGNORE: SQLite then reads NULL instead of a column, and leaves a column out
 * of an UPDATE. Counts would be lost without an error, so these functions fail before that.
 */
#ifndef CTR_TABLE_REFUSE_H
#define CTR_TABLE_REFUSE_H

#include "base/schema.h"
#include "table/shape.h"
#include "table/tab.h"

/* Sets the problem for a column that is not NULL and reads as NULL. */
int ctr_refuse_hidden(const char *table, ctr_problem *problem);

/* Returns whether an authorizer hides _id, a counter, or with `keys` a key column from a statement
 * that reads _id and the columns of the shape. */
bool ctr_refuse_is_hiding(const ctr_shape *shape, sqlite3_stmt *row, bool keys);

/* Checks a statement of the table that reads _id and all columns, and notes that in its slot. Fails
 * if an authorizer hides one. */
void ctr_refuse_hidden_by(ctr_slot *slot, const ctr_tab *tab, ctr_problem *problem);

/* Fail if an authorizer of the host answers IGNORE, so that SQLite would leave out a column: the
 * entries of a journal row that is extended; a cell that is read or written. */
int ctr_refuse_ignored_entries(const ctr_tab *tab, ctr_problem *problem);
int ctr_refuse_ignored_columns(const ctr_tab *tab, const ctr_shape *shape, ctr_problem *problem);

/* Refuses triggers that our writes would fire, because a trigger is foreign code: on the stored
 * tables of `table`, which may be NULL, and with `of_file` on those of the file. */
int ctr_refuse_triggers(sqlite3 *db, const char *schema, const char *table, bool of_file,
                        ctr_problem *problem);
int ctr_refuse_triggers_among(const ctr_objects *objects, const char *table, bool of_file,
                              ctr_problem *problem);

#endif
