/* base/args.h - turns SQL arguments into C values, and problems into messages.
 *
 * A function that returns false has set the error of the SQL function: a sentence that starts with
 * `function` and shows the value received.
 */
#ifndef CTR_BASE_ARGS_H
#define CTR_BASE_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "counter_cell.h"
#include "base/problem.h"

/* Sets the error "<function>: <name> must be <wanted>, not <the value>". Returns false. */
bool ctr_arg_refuse(sqlite3_context *ctx, const char *function, const char *name,
                    const char *wanted, sqlite3_value *value);

/* Returns the TEXT. Fails, with NULL, if it is no TEXT, as ctr_arg_refuse, or without memory. */
const char *ctr_arg_text(sqlite3_context *ctx, const char *function, const char *name,
                         sqlite3_value *value);

/* Reads a BLOB that holds a cell, or NULL, the untouched cell. `cell` is valid as long as
 * `value`. */
bool ctr_arg_cell(sqlite3_context *ctx, const char *function, sqlite3_value *value, ctr_cell *cell);

/* Reads an integer between `least` and `most`. */
bool ctr_arg_integer(sqlite3_context *ctx, const char *function, const char *name,
                     sqlite3_value *value, int64_t least, int64_t most, int64_t *n);

/* Reads a replica id: a BLOB of 16 bytes or the text of a UUID. */
bool ctr_arg_id(sqlite3_context *ctx, const char *function, const char *name, sqlite3_value *value,
                uint8_t id[CTR_ID_SIZE]);

/* Returns the name of an attached database; main if `value` is NULL, without this argument. Fails,
 * with NULL, if no database has this name. */
const char *ctr_arg_schema(sqlite3_context *ctx, const char *function, sqlite3_value *value);

/* Sets the result to an id, as text. */
void ctr_arg_result_id(sqlite3_context *ctx, const uint8_t id[CTR_ID_SIZE]);

/* Returns whether the status is CTR_OK; else sets the error to the refusal of the core. */
bool ctr_arg_status(sqlite3_context *ctx, const char *function, ctr_status status);

/* Makes the problem the function's error and closes it. Returns true if there was none. */
bool ctr_arg_problem(sqlite3_context *ctx, const char *function, ctr_problem *problem);

/* Makes the problem the message of a virtual table, "<name>: <text>", closes it, and returns its
 * code. */
int ctr_arg_table_problem(sqlite3_vtab *table, const char *name, ctr_problem *problem);

/* Calls sqlite3_result_error with a formatted text. */
void ctr_arg_error(sqlite3_context *ctx, const char *format, ...);

/* Returns copies of n values. Fails without memory; the caller frees them all the same. */
sqlite3_value **ctr_arg_copies(sqlite3_value **values, int n, ctr_problem *problem);
void ctr_arg_free(sqlite3_value **values, int n);

/* ---- integers -------------------------------------------------------------------------------- */

/* Hosts bind numbers in their own ways: JavaScript binds 1 as REAL, Perl and Tcl bind it as TEXT. A
 * value that INTEGER affinity converts to an integer without loss counts as that integer:
 *
 *     INTEGER    itself
 *     REAL       5.0, 1e3, -0.0: a whole number, at most 2^53 = 9007199254740992 from 0, since
 *                a REAL beyond that stands for several integers
 *     TEXT       '5', ' 5 ', '-0': an integer literal of 64 bits; '5.0', '1e3': as a REAL, and
 *                less than 2^53 from 0, since '9007199254740993.0' is rounded to 2^53
 *
 * No other value is an integer: 5.5, 'five', '', '0x10', a BLOB, an infinite REAL. SQLite passes a
 * NaN as NULL.
 */
#define CTR_NUMBER_REAL_MAX INT64_C(9007199254740992)

/* Reads an integer. Returns false if the value is none, or on a problem. Never converts the value
 * itself. */
bool ctr_arg_take_integer(sqlite3 *db, sqlite3_value *value, int64_t *n, ctr_problem *problem);

/* A value after NUMERIC affinity: its type, SQLITE_INTEGER, ..., and the number if it is one. */
typedef struct ctr_number {
    int type;
    int64_t integer;
    double real;
} ctr_number;
ctr_number ctr_arg_number(sqlite3 *db, sqlite3_value *value, ctr_problem *problem);

/* Returns "an INTEGER, not REAL 5.5" for a value that is no integer; NULL without memory. The
 * caller frees it with sqlite3_free. */
char *ctr_arg_integer_refusal(sqlite3_value *value);

#endif
