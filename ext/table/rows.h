/* table/rows.h - reads the rows of one stored table, one row at a time.
 *
 *     ctr_rows_find_key(rows, keys, problem);            rows->found, rows->states
 *
 * table/stage.h stages and writes changes of the counters of that row.
 *
 * A merge needs the cells themselves, complete with the journal's amounts: `whole`.
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
    unsigned shapes; /* of the journal when they were opened */
    sqlite3_stmt *find_key, *find_rowid, *follow, *insert, *update;
    bool writing;
    unsigned seen_in; /* the transaction, counted from 1, in which it was asked for hidden cells */
    ctr_packed old, fresh, advanced;
    ctr_staged *staged;
    sqlite3_value **values; /* by counter: of the row that is taken */
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

/* Returns whether the table has no row. */
bool ctr_rows_is_empty(ctr_rows *rows, ctr_problem *problem);

/* Acts as if no row was found. */
int ctr_rows_find_none(ctr_rows *rows, ctr_problem *problem);

/* Takes the row at which a statement on the same table stands, the columns of the shape behind its
 * id, as if it were found. */
int ctr_rows_take(ctr_rows *rows, sqlite3_stmt *row, ctr_problem *problem);

/* The same of a row as the function of table/update.h has it: its id, and the columns of the
 * shape. The cells are whole. */
int ctr_rows_take_values(ctr_rows *rows, sqlite3_value *rowid, sqlite3_value **columns,
                         ctr_problem *problem);

/* ---- looking ---- */

/* Returns the state of a counter of the row found last. */
ctr_summary ctr_rows_state(const ctr_rows *rows, int counter);

/* Returns whether the row has exactly these values in the key columns that are not NULL here. */
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

/* ---- for table/stage.h ---- */

/* Reads the cells of a row of which only the states were found. */
int ctr_rows_load_cells(ctr_rows *rows, ctr_problem *problem);

/* Prepares a statement on the stored table, and keeps it in `keep`. The lists are taken over and
 * freed; NULL: there is no memory for one. */
sqlite3_stmt *ctr_rows_prepare(ctr_rows *rows, sqlite3_stmt **keep, ctr_sql which, char *columns,
                               char *constraint, ctr_problem *problem);

/* Binds the values of a key from the parameter `first` on. Returns a code of SQLite's. */
int ctr_rows_bind_keys(ctr_rows *rows, sqlite3_stmt *statement, int first, sqlite3_value **keys);

/* The same from the first parameter on; the caller's texts are lent, not copied. */
int ctr_rows_lend_keys(ctr_rows *rows, sqlite3_stmt *statement, sqlite3_value **keys,
                       ctr_problem *problem);

#endif
