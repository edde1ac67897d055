/* table/rows.h - reads and writes the rows of one stored table, one row at a time.
 *
 * Find a row, stage what becomes of its counters, write:
 *
 *     ctr_rows_find_key(rows, keys, problem);            rows->found, rows->states
 *     ctr_rows_add(rows, counter, n);                    for each counter that changes
 *     ctr_rows_write(rows, keys, problem);
 *
 * An increment of a row that is there goes to the journal (table/journal.h), everything else to the
 * cells, in one INSERT or UPDATE. All that can be refused is refused before the write: inside a
 * transaction SQLite does not take back half of what a virtual table has written.
 *
 * Who merges needs the cells themselves, complete with what the journal adds: `whole`.
 *
 * Kept statements belong to an object that SQLite closes before the connection: a virtual table, or
 * a sync that is running.
 */
#ifndef CTR_TABLE_ROWS_H
#define CTR_TABLE_ROWS_H

#include "table/journal.h"
#include "table/shape.h"

/* What becomes of a counter. */
typedef struct ctr_staged {
    enum { CTR_STAGED_NOTHING, CTR_STAGED_AMOUNT, CTR_STAGED_CELL } kind;
    int64_t n;           /* of an amount */
    size_t offset, size; /* of a cell, which is not empty */
} ctr_staged;

typedef struct ctr_rows {
    sqlite3 *db;
    char *schema, *table;   /* owned */
    const ctr_shape *shape; /* borrowed */
    ctr_replica *replica;   /* of the schema; borrowed; NULL: they are only read */
    ctr_journal *journal;   /* that of the replica, or an own one */
    bool whole;             /* for the owner to set: whole cells are found, else only states */

    /* The row found last. */
    bool found;
    int64_t rowid;       /* of that row, or of the one just inserted */
    ctr_summary *states; /* by counter; untouched ones if nothing was found */
    ctr_cell *cells;     /* by counter, if they are whole */
    bool packed;         /* `key` is its key, as the cache has it */
    bool exact;          /* and as the row has stored it, wherever it is found */
    uint64_t hash;       /* of `key` */
    ctr_packed key;

    /* Private: statements, copies of the cells found, new cells by counter. */
    sqlite3_stmt *find_key, *find_rowid, *insert, *update;
    bool writing;
    unsigned seen_in; /* the transaction, counted from 1, in which it was asked for hidden cells */
    ctr_packed old, fresh, advanced;
    ctr_staged *staged;
} ctr_rows;

/* Copies the names. NULL `replica`: they are only read, and whole. To be closed whatever
 * is returned. */
int ctr_rows_open(ctr_rows *rows, sqlite3 *db, const char *schema, const char *table,
                  const ctr_shape *shape, ctr_replica *replica, ctr_problem *problem);
void ctr_rows_close(ctr_rows *rows);

/* Finalizes the kept statements; they are prepared again when they are needed. */
void ctr_rows_release(ctr_rows *rows);

/* Looks for the row with these key values, in key order, which may be of any type: they follow the
 * columns' affinity. Fails where a cell is malformed, naming column and key. */
int ctr_rows_find_key(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);
int ctr_rows_find_rowid(ctr_rows *rows, int64_t rowid, ctr_problem *problem);

/* As if nothing was found. */
int ctr_rows_find_none(ctr_rows *rows, ctr_problem *problem);

/* Looks for the row in memory alone; true if it is known. */
bool ctr_rows_find_known(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);

/* Takes the row at which a statement on the same table stands, the columns of the shape behind its
 * id, as if it were found. */
int ctr_rows_take(ctr_rows *rows, sqlite3_stmt *row, ctr_problem *problem);

/* ---- staging: to `id`, which has `least` as its lowest clock ---- */

/* Adds n to a counter, or makes it n. CTR_DELETED, CTR_OVERFLOW: nothing is staged. */
ctr_status ctr_rows_add(ctr_rows *rows, int counter, int64_t n, const uint8_t id[CTR_ID_SIZE],
                        int64_t least, ctr_problem *problem);
ctr_status ctr_rows_assign(ctr_rows *rows, int counter, int64_t n, const uint8_t id[CTR_ID_SIZE],
                           int64_t least, ctr_problem *problem);

/* Begins the next life of a counter, with n unless `id` is NULL; deletes it. CTR_LAST_LIFE. */
ctr_status ctr_rows_next_life(ctr_rows *rows, int counter, int64_t n, const uint8_t *id,
                              int64_t least, ctr_problem *problem);
ctr_status ctr_rows_delete(ctr_rows *rows, int counter, ctr_problem *problem);

/* Room for a new cell, until the next call; NULL if there is no memory. What stands in it, `size`
 * bytes, becomes the new cell of a counter. */
uint8_t *ctr_rows_room(ctr_rows *rows, size_t size, ctr_problem *problem);
void ctr_rows_set(ctr_rows *rows, int counter, size_t size);

/* What a counter of the row becomes, or became, by what is staged. */
ctr_summary ctr_rows_new_state(const ctr_rows *rows, int counter);

/* If a new cell was made for a counter, opens it; it lives until the next find. */
void ctr_rows_staged(const ctr_rows *rows, int counter, ctr_cell *cell);

/* Is there anything to write? */
bool ctr_rows_changed(const ctr_rows *rows);

/* Inserts the row that was not found, with `keys`, or changes the one that was; keys may be NULL
 * then. */
int ctr_rows_write(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);

/* ---- looking ---- */

/* What a counter of the row found last is. */
ctr_summary ctr_rows_state(const ctr_rows *rows, int counter);

/* Has the row exactly these values in the key columns that are not NULL here? */
bool ctr_rows_key_is(ctr_rows *rows, int64_t rowid, sqlite3_value **keys, ctr_problem *problem);

/* Copies of the values of a row's key, to be freed with sqlite3_value_free whatever is returned.
 * False: there is no such row, or a problem. */
bool ctr_rows_take_key(ctr_rows *rows, int64_t rowid, sqlite3_value **keys, ctr_problem *problem);

/* The key of a row as a message shows it, ('/', 12); to be freed with sqlite3_free. NULL: there is
 * no memory, or SQLite rolls back for what reading it has met; that is the problem from then on. */
char *ctr_rows_key_text(ctr_rows *rows, int64_t rowid, ctr_problem *problem);

/* Opens the cell in column i of a statement that stands at a row with its id in column 0, with what
 * the journal adds to it; it lives until the next one is opened. On a malformed one sets a problem
 * that names counter and key. */
int ctr_rows_open_cell(ctr_rows *rows, sqlite3_stmt *row, int i, int counter, ctr_cell *cell,
                       ctr_problem *problem);

/* The same, of which only the sum is asked, and whether it is live: no shard of anybody. */
int ctr_rows_sum_cell(ctr_rows *rows, sqlite3_stmt *row, int i, int counter, ctr_summary *summary,
                      ctr_problem *problem);

/* "column hits of ('/', 12)", as where a problem is. */
void ctr_rows_problem_at(ctr_rows *rows, int64_t rowid, int counter, ctr_problem *problem);

#endif
