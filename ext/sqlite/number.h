/* sqlite/number.h - which values are taken for an integer.
 *
 * Hosts bind a number as they can: JavaScript binds 1 as REAL, Perl and Tcl bind it as TEXT. What
 * INTEGER affinity makes an integer of without loss is that integer:
 *
 *     INTEGER    itself
 *     REAL       5.0, 1e3, -0.0: a whole number, at most 2^53 = 9007199254740992 from 0, for
 *                beyond that a REAL stands for several integers
 *     TEXT       '5', ' 5 ', '-0': an integer literal of 64 bits; '5.0', '1e3': as a REAL, and
 *                less than 2^53 from 0, for '9007199254740993.0' is rounded to 2^53
 *
 * Nothing else is: 5.5, 'five', '', '0x10', a BLOB, an infinite REAL. SQLite passes on a NaN as
 * NULL.
 */
#ifndef CTR_SQLITE_NUMBER_H
#define CTR_SQLITE_NUMBER_H

#include <stdint.h>

#include "sqlite/problem.h"

#define CTR_NUMBER_REAL_MAX INT64_C(9007199254740992)

/* False: the value is no integer, or there is a problem. The value itself is never converted. */
bool ctr_number_take(sqlite3 *db, sqlite3_value *value, int64_t *n, ctr_problem *problem);

/* A value as NUMERIC affinity makes it: its type, SQLITE_INTEGER, ..., and the number if it is
 * one. */
typedef struct ctr_number {
    int type;
    int64_t integer;
    double real;
} ctr_number;
ctr_number ctr_number_of(sqlite3 *db, sqlite3_value *value, ctr_problem *problem);

/* "an INTEGER, not REAL 5.5", of a value that was not taken; to be freed with sqlite3_free, NULL if
 * there is no memory. */
char *ctr_number_refusal(sqlite3_value *value);

#endif
