/* table/stage.h - changes of the counters of a found or missing row: staged, then written; and
 * an UPDATE that merges.
 *
 *     ctr_rows_find_key(rows, keys, problem);
 *     ctr_stage_add(rows, counter, n, leader, problem);     for each counter that changes
 *     ctr_stage_write(rows, keys, problem);
 *
 * An increment of an existing row goes to the journal (table/batch.h), every other change to the
 * cells, in one INSERT or UPDATE. Every refusal comes before the write: inside a transaction,
 * SQLite does not roll back half of the writes of a virtual table.
 */
#ifndef CTR_TABLE_STAGE_H
#define CTR_TABLE_STAGE_H

#include "table/rows.h"

/* Adds n to a counter, or sets it to n, in the shard of the leader. Stages nothing and returns
 * CTR_DELETED or CTR_OVERFLOW if that is impossible. */
ctr_status ctr_stage_add(ctr_rows *rows, int counter, int64_t n, const ctr_leader *leader,
                         ctr_problem *problem);
ctr_status ctr_stage_assign(ctr_rows *rows, int counter, int64_t n, const ctr_leader *leader,
                            ctr_problem *problem);

/* Adds n to the cell itself: the leader is an opening (table/openings.h). */
ctr_status ctr_stage_open(ctr_rows *rows, int counter, int64_t n, const ctr_leader *opening,
                          ctr_problem *problem);

/* Begins the next life of a counter, with n unless `leader` is NULL; deletes it. Both may return
 * CTR_LAST_LIFE. */
ctr_status ctr_stage_next_life(ctr_rows *rows, int counter, int64_t n, const ctr_leader *leader,
                               ctr_problem *problem);
ctr_status ctr_stage_delete(ctr_rows *rows, int counter, ctr_problem *problem);

/* Returns room for a new cell, valid until the next call; NULL if there is no memory. The second
 * makes its first `size` bytes the new cell of a counter. */
uint8_t *ctr_stage_room(ctr_rows *rows, size_t size, ctr_problem *problem);
void ctr_stage_set(ctr_rows *rows, int counter, size_t size);

/* Stages the spelling of the key of the row that was found: `keys` are equal to its values, and
 * perhaps other letters, blanks at the end, or 1.0 for 1. NULL: the value stays. Borrows them until
 * the row is written. */
void ctr_stage_spell(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);

/* Returns the state of a counter of the row with the staged change. */
ctr_summary ctr_stage_state(const ctr_rows *rows, int counter);

/* If a new cell was staged for a counter, opens it; it lives until the next find. */
void ctr_stage_cell(const ctr_rows *rows, int counter, ctr_cell *cell);

/* Returns whether there is anything to write. */
bool ctr_stage_any(const ctr_rows *rows);

/* Inserts the row with `keys` if none was found, or changes the row that was found; then keys may
 * be NULL. */
int ctr_stage_write(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);

/* Sets the problem that a row is being written, and a collation of the host writes another. */
int ctr_stage_refuse_writing(ctr_problem *problem);

/* ---- an UPDATE that merges ------------------------------------------------------------------- */

/* Merges into rows of a stored table while SQLite writes them.
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
 * The function fails in any other statement. ctr_stage_open_update returns false if the host
 * forbids the function, or if the table has too many columns for it; then the caller finds and
 * writes rows one by one.
 */

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

int ctr_stage_register(sqlite3 *db);

/* Returns false, without a problem, if the function cannot be used. The caller closes the update,
 * also after a failure. */
bool ctr_stage_open_update(ctr_update *update, ctr_rows *rows, ctr_update_merge *merge, void *with,
                           ctr_problem *problem);
void ctr_stage_close_update(ctr_update *update, const ctr_problem *problem);

/* Merges into the row with this key. Returns whether it was written. rows->found says whether the
 * row exists, if update->called. */
bool ctr_stage_update_key(ctr_update *update, sqlite3_value **keys, ctr_problem *problem);

/* Merges into some of the rows behind `rowid`. Returns the number of written rows. rows->rowid is
 * the last row that was passed to `merge`, if rows->found. */
int ctr_stage_update_behind(ctr_update *update, int64_t rowid, ctr_problem *problem);

#endif
