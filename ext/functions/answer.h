/* functions/answer.h - table-valued functions whose answer is made whole before its first row.
 *
 * What differs between them is a description and one function that makes the rows:
 *
 *     static void fill(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem);
 *
 * It gets an argument or NULL for each hidden column, and appends values column by column. A cursor
 * calls it once for the same arguments, for the planner may put the table into an inner loop.
 */
#ifndef CTR_FUNCTIONS_ANSWER_H
#define CTR_FUNCTIONS_ANSWER_H

#include "functions/register.h"

typedef struct ctr_answer ctr_answer;

typedef struct ctr_answer_kind {
    const char *name;
    const char *columns; /* "a TEXT, b INTEGER" */
    const char *args;    /* "x HIDDEN, y HIDDEN"; "" for none */
    int n_columns, n_args, n_needed;
    const char *usage; /* what to say where fewer are given than are needed */
    bool works;        /* it changes something: dear, and for no view and no trigger */
    void (*fill)(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem);
} ctr_answer_kind;

/* For `fill`. */
sqlite3 *ctr_answer_db(const ctr_answer *answer);
ctr_shared *ctr_answer_shared(const ctr_answer *answer);
const ctr_answer_kind *ctr_answer_kind_of(const ctr_answer *answer);

/* Appends a value; copies it. NULL text is NULL, and so is a BLOB of no bytes. */
void ctr_answer_text(ctr_answer *answer, const char *text, ctr_problem *problem);
void ctr_answer_integer(ctr_answer *answer, int64_t n, ctr_problem *problem);
void ctr_answer_real(ctr_answer *answer, double x, ctr_problem *problem);
void ctr_answer_blob(ctr_answer *answer, const uint8_t *bytes, size_t size, ctr_problem *problem);
void ctr_answer_value(ctr_answer *answer, sqlite3_value *value, ctr_problem *problem);

/* The schema that an argument names, main if it is not given; NULL and a problem if it is none. */
const char *ctr_answer_schema(const ctr_answer *answer, sqlite3_value *value, ctr_problem *problem);

/* An argument as text. One that is not given is `missing`; NULL and a problem if it is no TEXT. */
const char *ctr_answer_arg(sqlite3_value *value, const char *what, const char *missing,
                           ctr_problem *problem);

/* Registers n functions; `kinds` are static. */
int ctr_answer_register(sqlite3 *db, ctr_shared *shared, const ctr_answer_kind *kinds, size_t n);

#endif
