/* table/stage.h - changes of the counters of a found or missing row: staged, then written.
 *
 *     ctr_rows_find_key(rows, keys, problem);
 *     ctr_stage_add(rows, counter, n, leader, problem);     for each counter that changes
 *     ctr_stage_write(rows, keys, problem);
 *
 * An increment and a write of regular columns of an existing row go to the journal
 * (table/batch.h), every other change to the cells, in one INSERT or UPDATE. Every refusal comes
 * before the write: inside a transaction, SQLite does not roll back half of the writes of a virtual
 * table.
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

/* Empties the counters of a row of a replicated table, which ends or begins a life. */
void ctr_stage_empty(ctr_rows *rows);

/* Makes rows->row the new row cell; numbers new writers (table/regular.h). */
int ctr_stage_row(ctr_rows *rows, ctr_problem *problem);

/* Stages a write of the regular columns in a mask, a bool for each of n, which is borrowed until
 * the row is written. Returns false if the clock is beyond the last number (core/row_cell.h): then
 * the row cell must be written. */
bool ctr_stage_stamps(ctr_rows *rows, const bool *mask, int n, ctr_problem *problem);

/* Returns the state of a counter of the row with the staged change. */
ctr_summary ctr_stage_state(const ctr_rows *rows, int counter);

/* If a new cell was staged for a counter, opens it; it lives until the next find. */
void ctr_stage_cell(const ctr_rows *rows, int counter, ctr_cell *cell);

/* Returns whether there is anything to write. */
bool ctr_stage_any(const ctr_rows *rows);

/* Inserts the row with `keys` if none was found, or changes the row that was found; then keys may
 * be NULL. */
int ctr_stage_write(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);

/* The same for a row that was not looked for. Returns false if it exists; then nothing changed. */
bool ctr_stage_write_new(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);

/* Notes the staged cells in the batch, before an UPDATE (table/update.h) writes them. */
int ctr_stage_note(ctr_rows *rows, ctr_problem *problem);

/* Sets the problem that a row is being written, and a collation of the host writes another. */
int ctr_stage_refuse_writing(ctr_problem *problem);

#endif
