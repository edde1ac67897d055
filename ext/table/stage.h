/* table/stage.h - changes of the counters of a found or missing row: staged, then written.
 *
 *     ctr_rows_find_key(rows, keys, problem);
 *     ctr_stage_add(rows, counter, n, id, least, problem);     for each counter that changes
 *     ctr_stage_write(rows, keys, problem);
 *
 * An increment of an existing row goes to the journal (table/batch.h), every other change to the
 * cells, in one INSERT or UPDATE. Every refusal comes before the write: inside a transaction,
 * SQLite does not roll back half of the writes of a virtual table.
 */
#ifndef CTR_TABLE_STAGE_H
#define CTR_TABLE_STAGE_H

#include "table/rows.h"

/* Adds n to a counter, or sets it to n, in the shard of `id`, whose lowest clock is `least`. Stages
 * nothing and returns CTR_DELETED or CTR_OVERFLOW if that is impossible. */
ctr_status ctr_stage_add(ctr_rows *rows, int counter, int64_t n, const uint8_t id[CTR_ID_SIZE],
                         int64_t least, ctr_problem *problem);
ctr_status ctr_stage_assign(ctr_rows *rows, int counter, int64_t n, const uint8_t id[CTR_ID_SIZE],
                            int64_t least, ctr_problem *problem);

/* Begins the next life of a counter, with n unless `id` is NULL; deletes it. Both may return
 * CTR_LAST_LIFE. */
ctr_status ctr_stage_next_life(ctr_rows *rows, int counter, int64_t n, const uint8_t *id,
                               int64_t least, ctr_problem *problem);
ctr_status ctr_stage_delete(ctr_rows *rows, int counter, ctr_problem *problem);

/* Returns room for a new cell, valid until the next call; NULL if there is no memory. The second
 * makes its first `size` bytes the new cell of a counter. */
uint8_t *ctr_stage_room(ctr_rows *rows, size_t size, ctr_problem *problem);
void ctr_stage_set(ctr_rows *rows, int counter, size_t size);

/* Returns the state of a counter of the row with the staged change. */
ctr_summary ctr_stage_state(const ctr_rows *rows, int counter);

/* If a new cell was staged for a counter, opens it; it lives until the next find. */
void ctr_stage_cell(const ctr_rows *rows, int counter, ctr_cell *cell);

/* Returns whether there is anything to write. */
bool ctr_stage_any(const ctr_rows *rows);

/* Inserts the row with `keys` if none was found, or changes the row that was found; then keys may
 * be NULL. */
int ctr_stage_write(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);

/* Notes the staged cells of a row in the batch; the caller writes them (table/update.h). */
int ctr_stage_note_cells(ctr_rows *rows, ctr_problem *problem);

#endif
