/* table/floors.h - the floors of one counter table: rows below them are gone for good.
 *
 * A tombstone can never be removed by its age: somebody may come with the counter it has deleted. A
 * floor can take the place of all tombstones below it, for it refuses whatever comes. It is a value
 * of one key column, of the time mostly, kept in <table>_state; it only rises, and merges as the
 * maximum, by the order that the column's affinity and collation give.
 */
#ifndef CTR_TABLE_FLOORS_H
#define CTR_TABLE_FLOORS_H

#include "identity/replica.h"
#include "table/shape.h"

typedef struct ctr_floors {
    sqlite3 *db;
    const char *schema, *table; /* borrowed */
    const ctr_shape *shape;     /* borrowed */
    ctr_replica *replica;       /* borrowed; NULL: they are only read */
    int64_t as_of;              /* identity.floors, when `any` was looked up */
    bool any;
    bool looked; /* without a replica: `any` is known; to be cleared when they may have risen */
    sqlite3_stmt *below;
} ctr_floors;

/* To be closed. */
ctr_floors ctr_floors_on(sqlite3 *db, const char *schema, const char *table, const ctr_shape *shape,
                         ctr_replica *replica);

/* Finalizes the kept statements. */
void ctr_floors_release(ctr_floors *floors);

/* Returns whether a key with these values, in key order, is below a floor. Costs next to nothing if
 * the file has no floors. */
bool ctr_floors_is_below(ctr_floors *floors, sqlite3_value **keys, ctr_problem *problem);

/* Raises floors where `values`, in key order, are higher, and removes the rows below. NULL values
 * raise nothing. Refuses values of a kind that the column does not have, for a text is above all
 * numbers and would remove them all; and texts under BINARY in a file in UTF-16. Returns the number
 * of removed rows.
 *
 * The journal is folded first, for a removed row must have no amounts in it. A failure after the
 * first write spoils the transaction. */
int64_t ctr_floors_raise(ctr_floors *floors, sqlite3_value **values, ctr_problem *problem);

/* The floors: a statement on a row of the key columns, then _seq, rows and bytes removed so far; or
 * on no row. To be finalized by the caller; NULL on error. Works on any file of which the shape was
 * read, for that has looked whether <table>_state is an ordinary table. */
sqlite3_stmt *ctr_floors_read(sqlite3 *db, const char *schema, const char *table,
                              const ctr_shape *shape, ctr_problem *problem);

#endif
