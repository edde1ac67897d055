/* vtab/elements.h - the elements of an IN on a key column, and one search for each.
 *
 * SQLite passes the elements of an IN one by one, each as the argument of an `=`, and checks each
 * row by that `=` again. On a column of TEXT affinity or none, this differs from the IN. Since 3.38
 * SQLite passes all elements at once on request, and checks a row by the IN itself. In a plan, such
 * an argument has the operator I; everything else is as in table/stream.h:
 *
 *     "=0I1."        path = ? AND referrer IN (...)
 *
 * A plan has one I at most. Streams never see it: they get one plan for each element, with = in
 * place of I. If some element may match more than its exact value, they get a single plan without
 * that condition.
 */
#ifndef CTR_VTAB_ELEMENTS_H
#define CTR_VTAB_ELEMENTS_H

#include "table/shape.h"

/* For xBestIndex: returns whether constraint i may be an IN whose elements come all at once; before
 * SQLite 3.38 none is. SQLite answers only for the first 32 constraints, so any later one may
 * be. */
bool ctr_elements_in_constraint(sqlite3_index_info *info, int i);

/* Requests all elements at once as argument number `argument`, counted from 1. Returns false if
 * SQLite cannot pass them. */
bool ctr_elements_ask(sqlite3_index_info *info, int i, int argument);

/* The searches of a plan. Zero it first. */
typedef struct ctr_elements {
    char *plan;           /* of one search; owned */
    sqlite3_value **args; /* of the current search; owned */
    int argc;

    /* Private. */
    int place;                /* the argument that is an element, or -1 */
    sqlite3_value **elements; /* owned copies; NULL if there is a single search without them */
    int n, next;
    size_t room;
} ctr_elements;

/* Returns whether the plan has an IN. */
bool ctr_elements_in_plan(const char *plan);

/* Copies the elements and the other arguments. Call it only in xFilter, after
 * ctr_elements_close. */
void ctr_elements_open(ctr_elements *elements, const ctr_shape *shape, const char *plan, int argc,
                       sqlite3_value **argv, ctr_problem *problem);

/* Moves to the next search; returns false if there is none. */
bool ctr_elements_next(ctr_elements *elements);

/* Frees everything; a second call does nothing. */
void ctr_elements_close(ctr_elements *elements);

#endif
