/* table/columns.h - counters that come and go.
 *
 * A name may be dropped and added again, here and elsewhere at once. So each counter of a table has
 * a generation, and generations of one name merge as the maximum:
 *
 *     0           no file has ever had it
 *     1, 3, 5 …   it is there; 1 is that of the declaration
 *     2, 4, 6 …   it was dropped
 *
 * The higher generation wins as a whole: counts of a lower one are gone, whichever file brings
 * them, and never mix with counts of a later one. In the same odd generation cells merge.
 * (Cassandra reserves the name of a dropped counter for ever instead, because its shards do not
 * distinguish the two: CASSANDRA-10063 and others.)
 *
 * <table>_state lists the counters that were added or dropped by themselves, with their
 * generations. The stored column of a dropped counter is renamed to _dropped_<name> and emptied.
 */
#ifndef CTR_TABLE_COLUMNS_H
#define CTR_TABLE_COLUMNS_H

#include "file/file.h"
#include "table/shape.h"

/* Fails if the table cannot have a counter of this name: it is the name of a key column or of the
 * table, differs only in case from the name of a counter that is or was here, or exceeds a limit of
 * SQLite. The caller has refused reserved names. */
int ctr_columns_check(const ctr_shape *shape, sqlite3 *db, const char *table, const char *name,
                      ctr_problem *problem);

/* Lists the counters that `from` lists, in a new table with the same counters, so that its feed has
 * the same rows for them. */
int ctr_columns_list(ctr_file *file, const char *table, const ctr_shape *from,
                     ctr_problem *problem);

/* Raises a counter to `generation`, which is higher than its generation in `shape`. The caller has
 * just read `shape` from the table, and has checked a new name. Afterwards the shape and statements
 * on the table are out of date. Returns the number of emptied cells.
 *
 * A failure after the first write spoils the transaction. */
int64_t ctr_columns_raise(ctr_file *file, const char *table, const ctr_shape *shape,
                          const char *name, int64_t generation, ctr_problem *problem);

/* A request to raise a counter to a generation. */
typedef struct ctr_wanted {
    const char *name;
    int64_t generation;
    int64_t emptied; /* the number of emptied cells, set when it is done */
} ctr_wanted;

/* The same, as a command to the table: an INSERT passes it as a pointer, which no SQL text can
 * name. A pull needs it, because it is a statement that reads, and an interrupt undoes everything
 * only if the running statement writes. Returns the number of emptied cells. */
int64_t ctr_columns_ask(sqlite3 *db, const char *schema, const char *table, const char *name,
                        int64_t generation, ctr_problem *problem);

/* Returns the request of such an INSERT, by its command; NULL for another command. */
#define CTR_WANTED "counter column"
static inline ctr_wanted *ctr_columns_wanted(sqlite3_value *command)
{
    return sqlite3_value_pointer(command, CTR_WANTED);
}

#endif
