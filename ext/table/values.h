/* table/values.h - the values of a stored row: its cells with the amounts of the journal, its key.
 *
 * `rows` lends the table and its journal. The row is any row of the table, not the one found last.
 */
#ifndef CTR_TABLE_VALUES_H
#define CTR_TABLE_VALUES_H

#include "table/rows.h"

/* Opens the cell in column i of a statement's current row, whose id is in column 0, with the
 * journal's amount added. It lives until the next one is opened. On a malformed cell, sets a
 * problem that names counter and key. */
int ctr_values_open_cell(ctr_rows *rows, sqlite3_stmt *row, int i, int counter, ctr_cell *cell,
                         ctr_problem *problem);

/* The same, but returns only life and sum, without any shard. */
int ctr_values_sum_cell(ctr_rows *rows, sqlite3_stmt *row, int i, int counter, ctr_summary *summary,
                        ctr_problem *problem);

/* For table/rows.c. Opens the cell in a value; the journal is up to date. */
int ctr_values_cell(ctr_rows *rows, sqlite3_value *value, int64_t rowid, int counter,
                    ctr_cell *cell, ctr_problem *problem);

/* For table/rows.c. Takes the state of a counter of the row found last into rows->states, from the
 * statement that stands on it: its cell plus the amount of the journal. */
void ctr_values_state(ctr_rows *rows, sqlite3_stmt *stands, int counter, ctr_problem *problem);

/* Returns whether the row has exactly these key values; NULL matches any. */
bool ctr_values_key_is(ctr_rows *rows, int64_t rowid, sqlite3_value **keys, ctr_problem *problem);

/* Copies the key values of a row; the caller frees them with sqlite3_value_free, also after a
 * failure. Returns false if there is no such row, or on a problem. */
bool ctr_values_take_key(ctr_rows *rows, int64_t rowid, sqlite3_value **keys, ctr_problem *problem);

/* Returns the key of a row as a message shows it, ('/', 12); the caller frees it with sqlite3_free.
 * Returns NULL without memory, or if an error of reading the row made SQLite roll back; that error
 * replaces the problem. */
char *ctr_values_key_text(ctr_rows *rows, int64_t rowid, ctr_problem *problem);

/* Adds "column hits of ('/', 12)" to the problem. */
void ctr_values_problem_at(ctr_rows *rows, int64_t rowid, int counter, ctr_problem *problem);

#endif
