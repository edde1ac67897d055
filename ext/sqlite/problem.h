/* sqlite/problem.h - what went wrong, carried up beside the result code.
 *
 * The first problem stays; what is set on top of it is dropped. The text says where and what,
 * without the name of the SQL function or table: functions/ and vtab/ put that in front.
 */
#ifndef CTR_SQLITE_PROBLEM_H
#define CTR_SQLITE_PROBLEM_H

#include <stdbool.h>

#include "sqlite/sqlite.h"

typedef struct ctr_problem {
    int rc;     /* SQLITE_OK: none */
    char *text; /* owned; NULL if there was no memory for it */
} ctr_problem;

/* Both return problem->rc. A text that cannot be made turns the code into SQLITE_NOMEM. */
int ctr_problem_set(ctr_problem *problem, int rc, const char *format, ...);

/* With the message that SQLite has for this connection; rc SQLITE_OK, ROW and DONE set nothing. */
int ctr_problem_sqlite(ctr_problem *problem, sqlite3 *db, int rc);

int ctr_problem_nomem(ctr_problem *problem);

/* Puts "<format>: " in front of the text, to say where. Nothing if there is no problem. */
void ctr_problem_where(ctr_problem *problem, const char *format, ...);

/* Is it one for which SQLite takes back the statement, or the whole transaction, by itself? */
bool ctr_problem_rolls_back(int rc);

/* The text, or SQLite's words for the code. Lent until the next change. */
const char *ctr_problem_text(const ctr_problem *problem);

/* Frees the text; twice is harmless. */
void ctr_problem_close(ctr_problem *problem);

/* ---- values as messages show them: 5, 1.5, 'five', x'01', NULL; long ones cut ---- */

/* "TEXT 'five'", "REAL 1.5", "NULL": to be freed with sqlite3_free, NULL if there is no memory. */
char *ctr_problem_describe_value(sqlite3_value *value);

/* The same of a key, ('/', 12); the values may be those of a statement's row. */
char *ctr_problem_describe_key(sqlite3_value **values, int n);

/* SQLITE_MISMATCH: "<what> must be <wanted>, not TEXT 'five'". */
int ctr_problem_mismatch(ctr_problem *problem, const char *what, const char *wanted,
                         sqlite3_value *value);

#endif
