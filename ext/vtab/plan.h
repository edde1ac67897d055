/* vtab/plan.h - xBestIndex; the elements of an IN on a key column, and one search for each.
 *
 * A plan is a text; see table/stream.h.
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
#ifndef CTR_VTAB_PLAN_H
#define CTR_VTAB_PLAN_H

#include "table/shape.h"

/* xBestIndex. The number of the plan is CTR_PLAN_UNIQUE if it finds one row at most. */
enum { CTR_PLAN_UNIQUE = 1 };
int ctr_plan_best_index(sqlite3_vtab *base, sqlite3_index_info *info);

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
bool ctr_plan_has_in(const char *plan);

/* Copies the elements and the other arguments. Call it only in xFilter, after
 * ctr_plan_elements_close. */
void ctr_plan_elements_open(ctr_elements *elements, const ctr_shape *shape, const char *plan,
                            int argc, sqlite3_value **argv, ctr_problem *problem);

/* Moves to the next search; returns false if there is none. */
bool ctr_plan_elements_next(ctr_elements *elements);

/* Frees everything; a second call does nothing. */
void ctr_plan_elements_close(ctr_elements *elements);

#endif
