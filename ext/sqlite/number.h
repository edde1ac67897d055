/* sqlite/number.h - the values that count as integers.
 *
 * Hosts bind numbers in their own ways: JavaScript binds 1 as REAL, Perl and Tcl bind it as TEXT. A
 * value that INTEGER affinity converts to an integer without loss is that integer:
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
#ifndef CTR_SQLITE_NUMBER_H
#define CTR_SQLITE_NUMBER_H

#include <stdint.h>

#include "sqlite/problem.h"

#define CTR_NUMBER_REAL_MAX INT64_C(9007199254740992)

/* Reads an integer. Returns false if the value is none, or on a problem. Never converts the value
 * itself. */
bool ctr_number_take(sqlite3 *db, sqlite3_value *value, int64_t *n, ctr_problem *problem);

/* A value after NUMERIC affinity: its type, SQLITE_INTEGER, ..., and the number if it is one. */
typedef struct ctr_number {
    int type;
    int64_t integer;
    double real;
} ctr_number;
ctr_number ctr_number_of(sqlite3 *db, sqlite3_value *value, ctr_problem *problem);

/* Returns "an INTEGER, not REAL 5.5" for a value that is no integer; NULL without memory. The
 * caller frees it with sqlite3_free. */
char *ctr_number_refusal(sqlite3_value *value);

#endif
