/* table/update.h - merges into rows of a stored table while SQLite writes them.
 *
 *     UPDATE t_cells SET n = coalesce(counter_merging(?2, 0), n)
 *      WHERE k = ?1 AND counter_merging(?2, _id, k, n)
 *
 * To find a row by one statement and to write it by another costs two searches and twice the
 * beginning and the end of a statement. Here the condition merges: it takes the row, asks `merge`
 * what is to be staged (table/stage.h), and is true if anything is; then the assignments fetch what
 * was staged. Many rows in the order of storage are one statement: `merge` is handed each, until
 * one is not what it expects.
 *
 * The function is SQLite's to call: to others it is an error. Where the host does not allow it, or
 * the table has too many columns for it, ctr_update_open says so, and rows are found and written
 * one by one.
 */
#ifndef CTR_TABLE_UPDATE_H
#define CTR_TABLE_UPDATE_H

#include "table/rows.h"

/* Stages what the row, which has been taken, is to be. `keys`, in key order, are its own where rows
 * are handed out in the order of storage, else NULL. False: it is not what was expected; nothing of
 * it is written, and no other row is handed out. */
typedef bool ctr_update_merge(void *with, sqlite3_value **keys, ctr_problem *problem);

typedef struct ctr_update {
    ctr_rows *rows; /* borrowed; whole */
    ctr_update_merge *merge;
    void *with;
    sqlite3_stmt *by_key, *behind;
    sqlite3_value **keys;   /* owned: room */
    bool in_order, stopped; /* this statement hands out rows in order; no more of them are wanted */
    bool pending;           /* a row was staged, and is not written yet */
    bool called;            /* an authorizer may have SQLite answer NULL without a call */
    int n_written, n_fetched;
    ctr_problem *problem;
} ctr_update;

int ctr_update_register(sqlite3 *db);

/* Returns false, without a problem, if the function cannot be used. The caller closes the update,
 * also after a failure. */
bool ctr_update_open(ctr_update *update, ctr_rows *rows, ctr_update_merge *merge, void *with,
                     ctr_problem *problem);
void ctr_update_close(ctr_update *update);

/* Merges into the row with this key; rows->found says whether it is there, if the function was ever
 * called. Returns whether it was written. */
bool ctr_update_key(ctr_update *update, sqlite3_value **keys, ctr_problem *problem);

/* Merges into some of the rows behind `rowid`, and returns how many were written. rows->rowid is
 * the last one that was handed out, if rows->found. */
int ctr_update_behind(ctr_update *update, int64_t rowid, ctr_problem *problem);

#endif
