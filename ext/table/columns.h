/* table/columns.h - counters that come and go.
 *
 * A name may be dropped and added again, here and elsewhere at once. So each counter of a table has
 * a generation, and generations of one name merge as the maximum:
 *
 *     0           nobody has ever heard of it
 *     1, 3, 5 …   it is there; 1 is that of the declaration
 *     2, 4, 6 …   it was dropped
 *
 * The higher generation wins whole: what was counted in a lower one is gone, wherever it comes
 * from, and can never be mistaken for what is counted in a later one. In the same odd generation
 * cells merge as ever. (Cassandra keeps a dropped counter's name for ever instead, for its shards
 * carry nothing that would tell the two apart: CASSANDRA-10063 and the like.)
 *
 * Counters that were added or dropped by themselves stand in <table>_state, with their
 * generations. The stored column of a dropped counter is emptied and waits as _dropped_<name>: no
 * row is written anew.
 */
#ifndef CTR_TABLE_COLUMNS_H
#define CTR_TABLE_COLUMNS_H

#include "identity/replica.h"
#include "table/shape.h"

/* Fails if the table cannot have a counter of this name: if it is a key column, makes the table
 * impossible, or has other letters than a counter that was here; or beyond SQLite's
 * limits. `name` is not a reserved one. */
int ctr_columns_check(const ctr_shape *shape, sqlite3 *db, const char *table, const char *name,
                      ctr_problem *problem);

/* Lists the counters that `from` lists, in a new table with the same ones: its feed tells of them
 * as that of `from` does. */
int ctr_columns_list(sqlite3 *db, const char *schema, const char *table, const ctr_shape *from,
                     ctr_problem *problem);

/* Raises a counter to `generation`, which is higher than the one that `shape`, just read from the
 * table, has; it was checked if it is new here. The shape is out of date then, and so are
 * statements on the table. Returns how many cells are gone.
 *
 * Everything is checked before the first write; if one fails after that, the transaction is
 * spoiled. */
int64_t ctr_columns_raise(ctr_replica *replica, sqlite3 *db, const char *schema, const char *table,
                          const ctr_shape *shape, const char *name, int64_t generation,
                          ctr_problem *problem);

/* A request to raise a counter to a generation. */
typedef struct ctr_wanted {
    const char *name;
    int64_t generation;
    int64_t emptied; /* cells that are gone, when it was done */
} ctr_wanted;

/* The same as a command to the table, which an INSERT brings it as a pointer that no text can name:
 * a pull reads, and only where the statement at work writes does an interrupt take everything back.
 * Returns how many cells are gone. */
int64_t ctr_columns_ask(sqlite3 *db, const char *schema, const char *table, const char *name,
                        int64_t generation, ctr_problem *problem);

/* What such an INSERT asks for by the value of its command; NULL: it is another one. */
#define CTR_WANTED "counter column"
static inline ctr_wanted *ctr_columns_wanted(sqlite3_value *command)
{
    return sqlite3_value_pointer(command, CTR_WANTED);
}

#endif
