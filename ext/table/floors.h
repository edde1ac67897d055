/* table/floors.h - the floors of one counter table: rows below them are gone for good.
 *
 * A tombstone must stay, however old: a file may still bring the counter that it deleted. A floor
 * replaces all tombstones below it, because it refuses every row there. It is a value of one key
 * column, mostly of a time, stored in <table>_state. It only rises. Floors merge as the maximum, in
 * the order of the column's affinity and collation.
 */
#ifndef CTR_TABLE_FLOORS_H
#define CTR_TABLE_FLOORS_H

#include "table/shape.h"
#include "table/tab.h"

typedef struct ctr_floors {
    ctr_tab *tab;           /* borrowed */
    const ctr_shape *shape; /* borrowed */
    bool only_reads;        /* set by the owner: asks for no identity */
    int64_t as_of;          /* identity.floors when `any` was read */
    bool any;
    bool looked; /* if `only_reads`: `any` is known; cleared when floors may have risen */
} ctr_floors;

ctr_floors ctr_floors_on(ctr_tab *tab, const ctr_shape *shape);

/* Returns whether a key with these values, in key order, is below a floor. Costs next to nothing if
 * the file has no floors. */
bool ctr_floors_is_below(ctr_floors *floors, sqlite3_value **keys, ctr_problem *problem);

/* Raises floors where `values`, in key order, are higher, and removes the rows below. NULL values
 * raise nothing. Refuses values of another kind than the column, because a text is above all
 * numbers and would remove all of them; and texts under BINARY in a file in UTF-16. Returns the
 * number of removed rows.
 *
 * Folds the journal first, because a removed row must have no amounts in it. A failure after the
 * first write spoils the transaction. */
int64_t ctr_floors_raise(ctr_floors *floors, sqlite3_value **values, ctr_problem *problem);

/* Returns the statement of CTR_TAB_FLOORS if the table has floors, at their row, else NULL. The
 * caller gives it back, and has read the shape, which checks that <table>_state is an ordinary
 * table. */
ctr_slot *ctr_floors_read(ctr_tab *tab, ctr_problem *problem);

#endif
