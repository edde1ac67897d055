/* base/problem.h - the error message that goes with a result code.
 *
 * The first problem stays; later ones are dropped. The text says where the fault is and what it is.
 * functions/ and vtab/ put the name of the SQL function or table in front.
 */
#ifndef CTR_BASE_PROBLEM_H
#define CTR_BASE_PROBLEM_H

#include <stdbool.h>

#include "base/sqlite.h"

typedef struct ctr_problem {
    int rc;     /* SQLITE_OK: none */
    char *text; /* owned; NULL if there was no memory for it */
} ctr_problem;

/* Set a problem, and return problem->rc: SQLITE_NOMEM if there is no memory for the text. */
int ctr_problem_set(ctr_problem *problem, int rc, const char *format, ...);

/* Sets SQLite's message for this connection. Does nothing for rc SQLITE_OK, ROW and DONE. */
int ctr_problem_sqlite(ctr_problem *problem, sqlite3 *db, int rc);

int ctr_problem_nomem(ctr_problem *problem);

/* Puts "<format>: " in front of the text, unless it stands there. Does nothing if there is no
 * problem. */
void ctr_problem_where(ctr_problem *problem, const char *format, ...);

/* Returns whether SQLite itself rolls back the statement, or the transaction, on this error. */
bool ctr_problem_rolls_back(int rc);

/* Returns the text, or SQLite's text for the code. Lent until the next change. */
const char *ctr_problem_text(const ctr_problem *problem);

/* Frees the text; a second call does nothing. */
void ctr_problem_close(ctr_problem *problem);

/* ---- values as messages show them: 5, 1.5, 'five', x'01', NULL; long ones cut ---- */

/* Returns "TEXT 'five'", "REAL 1.5", "NULL"; NULL without memory. The caller frees it with
 * sqlite3_free. */
char *ctr_problem_describe_value(sqlite3_value *value);

/* The same for a key, ('/', 12). The values may be columns of a statement's row. */
char *ctr_problem_describe_key(sqlite3_value **values, int n);

/* Sets SQLITE_MISMATCH: "<what> must be <wanted>, not TEXT 'five'". */
int ctr_problem_mismatch(ctr_problem *problem, const char *what, const char *wanted,
                         sqlite3_value *value);

#endif
