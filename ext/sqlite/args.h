/* sqlite/args.h - SQL arguments to C values, and problems to sentences.
 *
 * A function that returns bool has, when it returns false, already given the SQL function its
 * error: a sentence that starts with `function` and shows the value received.
 */
#ifndef CTR_SQLITE_ARGS_H
#define CTR_SQLITE_ARGS_H

#include <stdbool.h>

#include "counter_cell.h"
#include "sqlite/problem.h"

/* "<function>: <name> must be <wanted>, not <the value>"; false. */
bool ctr_arg_refuse(sqlite3_context *ctx, const char *function, const char *name,
                    const char *wanted, sqlite3_value *value);

/* The TEXT; or NULL and an error: that of ctr_arg_refuse, or no memory to read it. */
const char *ctr_arg_text(sqlite3_context *ctx, const char *function, const char *name,
                         sqlite3_value *value);

/* A BLOB that holds a cell, or NULL, the untouched one. The view lives as long as `value`. */
bool ctr_arg_cell(sqlite3_context *ctx, const char *function, sqlite3_value *value, ctr_cell *cell);

/* An integer (sqlite/number.h) between `least` and `most`. */
bool ctr_arg_integer(sqlite3_context *ctx, const char *function, const char *name,
                     sqlite3_value *value, int64_t least, int64_t most, int64_t *n);

/* A replica id: a BLOB of 16 bytes or the text of a UUID. */
bool ctr_arg_id(sqlite3_context *ctx, const char *function, const char *name, sqlite3_value *value,
                uint8_t id[CTR_ID_SIZE]);

/* The name of an attached database; main if `value` is NULL, for there is no such argument. NULL
 * and an error if there is none of this name. */
const char *ctr_arg_schema(sqlite3_context *ctx, const char *function, sqlite3_value *value);

/* The result is an id, as text. */
void ctr_arg_result_id(sqlite3_context *ctx, const uint8_t id[CTR_ID_SIZE]);

/* True if CTR_OK; else the error says what the core refused. */
bool ctr_arg_status(sqlite3_context *ctx, const char *function, ctr_status status);

/* Hands the problem over as the function's error and closes it. True if there was none. */
bool ctr_arg_problem(sqlite3_context *ctx, const char *function, ctr_problem *problem);

/* Makes the problem the message of a virtual table, "<name>: <text>", closes it, and returns its
 * code. */
int ctr_arg_table_problem(sqlite3_vtab *table, const char *name, ctr_problem *problem);

/* sqlite3_result_error with a format. */
void ctr_arg_error(sqlite3_context *ctx, const char *format, ...);

#endif
