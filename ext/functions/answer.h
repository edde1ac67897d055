/* functions/answer.h - table-valued functions that make all rows before they return the first.
 *
 * Each of them is a description and one function that makes the rows:
 *
 *     static void fill(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem);
 *
 * The function receives an argument or NULL for each hidden column, and appends values column by
 * column. A cursor calls it once for the same arguments, because the planner may put the table into
 * an inner loop.
 */
#ifndef CTR_FUNCTIONS_ANSWER_H
#define CTR_FUNCTIONS_ANSWER_H

#include "functions/register.h"
#include "table/events.h"

typedef struct ctr_answer ctr_answer;

typedef struct ctr_answer_kind {
    const char *name;
    const char *columns; /* "a TEXT, b INTEGER" */
    const char *args;    /* "x HIDDEN, y HIDDEN"; "" for none */
    int n_columns, n_args, n_needed;
    const char *usage; /* the message if arguments are missing */
    bool works;        /* it changes something: expensive, and not for views and triggers */
    bool pure;         /* its rows depend on the arguments alone: cheap, and in all schemas;
                        row ids begin at 1 */
    void (*fill)(ctr_answer *answer, sqlite3_value **args,
                 ctr_problem *problem);     /* NULL: no rows */
    void (*extend)(sqlite3_module *module); /* sets more methods; NULL: there are none */
} ctr_answer_kind;

/* For `fill`. */
sqlite3 *ctr_answer_db(const ctr_answer *answer);
ctr_conn *ctr_answer_conn(const ctr_answer *answer);
const ctr_answer_kind *ctr_answer_kind_of(const ctr_answer *answer);

/* Append a copy of a value. A NULL text and an empty BLOB become NULL. */
void ctr_answer_text(ctr_answer *answer, const char *text, ctr_problem *problem);
void ctr_answer_integer(ctr_answer *answer, int64_t n, ctr_problem *problem);
void ctr_answer_real(ctr_answer *answer, double x, ctr_problem *problem);
void ctr_answer_blob(ctr_answer *answer, const uint8_t *bytes, size_t size, ctr_problem *problem);
void ctr_answer_value(ctr_answer *answer, sqlite3_value *value, ctr_problem *problem);

/* Returns the schema that an argument names, or main if it is missing; NULL and a problem if there
 * is no such schema. */
const char *ctr_answer_schema(const ctr_answer *answer, sqlite3_value *value, ctr_problem *problem);

/* Returns an argument as text, or `missing` if it was not given; NULL and a problem if it is not
 * TEXT. */
const char *ctr_answer_arg(sqlite3_value *value, const char *what, const char *missing,
                           ctr_problem *problem);

/* Registers n functions; `kinds` are static. */
int ctr_answer_register(sqlite3 *db, ctr_conn *conn, const ctr_answer_kind *kinds, size_t n);

/* Registers one of them under another name. */
int ctr_answer_register_as(ctr_conn *conn, const ctr_answer_kind *kind, const char *name);

/* The methods of the module that `extend` may replace. The table is a ctr_joined. */
int ctr_answer_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                       sqlite3_vtab **base, char **message);
int ctr_answer_disconnect(sqlite3_vtab *base);

#endif
