/* vtab/elements.h - the elements of an IN on a key column, and one search for each.
 *
 * SQLite gives the elements of an IN one by one, each as the argument of an `=`, and checks a row
 * by that `=` again; on a column of TEXT affinity or none this is not what the IN means. Since 3.38
 * it gives them all at once if asked to, and then checks a row by the IN itself. In a plan such an
 * argument has the operator I; everything else is as in table/stream.h:
 *
 *     "=0I1."        path = ? AND referrer IN (...)
 *
 * A plan has one at most. It is not for streams: they get one plan for each element, with = in the
 * place of I; or, where an element may mean more than the rows that are equal to it, a single one
 * without that condition.
 */
#ifndef CTR_VTAB_ELEMENTS_H
#define CTR_VTAB_ELEMENTS_H

#include "table/shape.h"

/* For xBestIndex: returns whether constraint i may be an IN to take all at once. Before SQLite 3.38
 * none is. SQLite does not tell beyond the first 32, so any of those may be. */
bool ctr_elements_in_constraint(sqlite3_index_info *info, int i);

/* Asks for all elements at once, as argument number `argument`, from 1 on. Returns false if SQLite
 * cannot give them so. */
bool ctr_elements_ask(sqlite3_index_info *info, int i, int argument);

/* The searches of a plan. Zeroed at first. */
typedef struct ctr_elements {
    char *plan;           /* of a search; owned */
    sqlite3_value **args; /* of the search at hand; owned */
    int argc;

    /* Private. */
    int place;                /* the argument that is an element, or -1 */
    sqlite3_value **elements; /* owned copies; NULL once there is but one search, without them */
    int n, next;
    size_t room;
} ctr_elements;

/* Returns whether the plan has an IN. */
bool ctr_elements_in_plan(const char *plan);

/* Takes the elements and copies of the other arguments. Only within xFilter, and closed
 * before each. */
void ctr_elements_open(ctr_elements *elements, const ctr_shape *shape, const char *plan, int argc,
                       sqlite3_value **argv, ctr_problem *problem);

/* Moves to the next search; returns false if there is none. */
bool ctr_elements_next(ctr_elements *elements);

/* Frees everything; a second call does nothing. */
void ctr_elements_close(ctr_elements *elements);

#endif
