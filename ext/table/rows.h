/* table/rows.h - reads the rows of one stored table, one row at a time.
 *
 *     ctr_rows_find_key(rows, keys, problem);            rows->found, rows->states
 *
 * table/stage.h stages and writes changes of the counters of that row, table/values.h reads the
 * values of rows without finding them.
 *
 * A merge needs the cells themselves, complete with the journal's amounts: `whole`.
 */
#ifndef CTR_TABLE_ROWS_H
#define CTR_TABLE_ROWS_H

#include "table/journal.h"
#include "table/regular.h"
#include "table/shape.h"

/* A staged change of a counter. */
typedef struct ctr_staged {
    enum { CTR_STAGED_NOTHING, CTR_STAGED_AMOUNT, CTR_STAGED_CELL } kind;
    int64_t n;           /* of an amount */
    size_t offset, size; /* of a cell; 0: it is emptied */
} ctr_staged;

typedef struct ctr_rows {
    const ctr_shape *shape; /* borrowed */
    ctr_tab *tab;           /* borrowed */
    ctr_tab *sql;           /* whose statements are used: see ctr_rows_reorder */
    bool whole;             /* set by the owner: finds whole cells, else only states */
    ctr_origin origin;      /* set by the owner: of what is written; at first CTR_MADE_HERE */

    /* The row found last. */
    bool found;
    int64_t rowid;       /* of that row, or of a row just inserted */
    ctr_summary *states; /* by counter; untouched if nothing was found */
    ctr_cell *cells;     /* by counter, if `whole` */
    bool also_here;      /* a part of the staged change is made here, whatever `origin` says */
    bool packed;         /* `key` is its key, as in the cache */
    bool exact;          /* a row found by `key` has stored exactly this key */
    uint64_t hash;       /* of `key` */
    ctr_packed key;
    sqlite3_value **spelling; /* staged: new key values, equal to the old ones; NULL: none */
    const bool *stamped;      /* staged: a mask of regular columns; NULL: none */
    int n_stamped;
    ctr_row_cell row; /* of a replicated table: see ctr_rows_row */
    bool has_row;
    bool live; /* its row cell is live, as it was found; false: look */

    /* Private: statements, copies of the cells found, new cells by counter. */
    unsigned shapes; /* shape number of the journal when these were opened */
    bool writing;
    ctr_packed old, fresh, advanced;
    ctr_staged *staged, staged_row;
    int room_row;           /* for columns of `row` */
    sqlite3_value **values; /* by counter: of the row being taken */
} ctr_rows;

/* Borrows the shape. The caller closes `rows`, also after a failure. */
int ctr_rows_open(ctr_rows *rows, ctr_file *file, const char *table, const ctr_shape *shape,
                  ctr_problem *problem);
void ctr_rows_close(ctr_rows *rows);

/* Call it after the columns of the shape were put into another order: from now on statements with
 * this order are used. */
int ctr_rows_reorder(ctr_rows *rows, ctr_problem *problem);

/* Looks for the row with these key values, in key order. They may have any type: the columns'
 * affinity applies. On a malformed cell, sets a problem that names column and key. */
int ctr_rows_find_key(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);
int ctr_rows_find_rowid(ctr_rows *rows, int64_t rowid, ctr_problem *problem);

/* Looks for the row in memory alone, and returns whether it may still be written as a new one: it
 * is not there, and its key is stored as it is. */
bool ctr_rows_may_be_new(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);

/* Returns whether the table has no row. */
bool ctr_rows_is_empty(ctr_rows *rows, ctr_problem *problem);

/* Acts as if no row was found. */
int ctr_rows_find_none(ctr_rows *rows, ctr_problem *problem);

/* Takes the current row of a statement on the same table, _id, the columns of the shape and perhaps
 * the row cell, as if it were found. */
int ctr_rows_take(ctr_rows *rows, sqlite3_stmt *row, ctr_problem *problem);

/* The same for the arguments of the function in table/update.h: the row id and the columns of the
 * shape. The cells are whole. */
int ctr_rows_take_values(ctr_rows *rows, sqlite3_value *rowid, sqlite3_value **columns,
                         ctr_problem *problem);

/* ---- the row found last ---------------------------------------------------------------------- */

/* Returns the state of a counter of the row found last. */
ctr_summary ctr_rows_state(const ctr_rows *rows, int counter);

/* Returns the row cell of the row found last, read at the first call; life 0 if none was found or
 * it has none. NULL on a problem. Only for a replicated table. */
ctr_row_cell *ctr_rows_row(ctr_rows *rows, ctr_problem *problem);

/* Returns whether that row is live, by its row cell, which is read only if nothing else says so. */
bool ctr_rows_is_live(ctr_rows *rows, ctr_problem *problem);

/* ---- for table/stage.h and table/values.h ---------------------------------------------------- */

/* Fails if counters were added or dropped since `rows` was opened. */
int ctr_rows_refuse_other_shape(const ctr_rows *rows, ctr_problem *problem);

/* Reads the cells of the row found last, of which only the states are known. */
int ctr_rows_load_cells(ctr_rows *rows, ctr_problem *problem);

/* Binds the values of a key, from the first parameter on. It borrows the caller's texts instead of
 * copying them. */
int ctr_rows_lend_keys(ctr_rows *rows, sqlite3_stmt *statement, sqlite3_value **keys,
                       ctr_problem *problem);

#endif
