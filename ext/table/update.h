/* table/update.h - an UPDATE that merges into rows of a stored table while SQLite writes them.
 *
 *     UPDATE t_cells SET n = coalesce(counter_merging(?2, 0), n)
 *      WHERE k = ?1 AND counter_merging(?2, _id, k, n)
 *
 * Finding a row by one statement and writing it by another costs two searches and two statements.
 * Here the condition merges: it takes the row, calls `merge` to stage its new cells,
 * and is true if any is staged; then the assignments fetch the staged cells. One
 * statement merges many rows in the order of storage: it passes each to `merge`, until `merge`
 * returns false.
 *
 * The function fails in any other statement. ctr_update_open returns false if the host
 * forbids the function, or if the table has too many columns for it; then the caller finds and
 * writes rows one by one.
 */
#ifndef CTR_TABLE_UPDATE_H
#define CTR_TABLE_UPDATE_H

#include "table/stage.h"

/* Stages the new cells of the current row. `keys` is its key, in key order, if the statement passes
 * rows in the order of storage, else NULL. Returns false if the row is not the expected one: then
 * the statement does not write it and passes no other row. */
typedef bool ctr_update_merge(void *with, sqlite3_value **keys, ctr_problem *problem);

typedef struct ctr_update {
    ctr_rows *rows; /* borrowed; whole */
    ctr_update_merge *merge;
    void *with;
    ctr_slot *by_key, *behind;
    sqlite3_value **keys;   /* owned: room */
    bool in_order, stopped; /* the statement passes rows in order; it passes no more of them */
    bool pending;           /* a row is staged and not written yet */
    bool called;            /* false if an authorizer makes SQLite use NULL instead of a call */
    int n_written, n_fetched;
    ctr_problem *problem;
} ctr_update;

int ctr_update_register(sqlite3 *db);

/* Returns false, without a problem, if the function cannot be used. The caller closes the update,
 * also after a failure. */
bool ctr_update_open(ctr_update *update, ctr_rows *rows, ctr_update_merge *merge, void *with,
                     ctr_problem *problem);
void ctr_update_close(ctr_update *update, const ctr_problem *problem);

/* Merges into the row with this key. Returns whether it was written. rows->found says whether the
 * row exists, if update->called. */
bool ctr_update_key(ctr_update *update, sqlite3_value **keys, ctr_problem *problem);

/* Merges into some of the rows behind `rowid`. Returns the number of written rows. rows->rowid is
 * the last row that was passed to `merge`, if rows->found. */
int ctr_update_behind(ctr_update *update, int64_t rowid, ctr_problem *problem);

#endif
