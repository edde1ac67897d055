/* table/regular.h - the regular columns of a replicated table, and the row cells of its rows.
 *
 * A regular column is one of the tracked table that is neither key nor counter; the last write wins
 * (core/row_cell.h). <table>_cells has the row cell of each row in the column _row. <table>_state
 * has, by _kind:
 *
 *     'regular'   a regular column: its number in _row; the name by which files match their columns
 *                 in _name; its present name in _value, NULL if it is replicated no longer
 *     'writer'    the number that row cells have in place of a replica id: the id in _name, the
 *                 number in _value
 *     'merged'    the merged value of a column, in _value, where the tracked table shows another
 *                 one: the row of the cells in _row, the name in _name; in _seq 1 if the table
 *                 refuses it, 0 if a trigger of the application has changed it
 *
 * Memory of the first two is a cache, dropped with that of the journal.
 */
#ifndef CTR_TABLE_REGULAR_H
#define CTR_TABLE_REGULAR_H

#include "core/row_cell.h"
#include "table/tab.h"

/* A column by its number. */
typedef struct ctr_regular {
    char *name;  /* owned; between files */
    char *noted; /* owned; as last noted in the tracked table; NULL: it is replicated no longer */
} ctr_regular;

typedef struct ctr_registry {
    ctr_regular *columns; /* owned: n, by number; a missing number has no names */
    int n;
    uint8_t (*writers)[CTR_ID_SIZE]; /* owned: the ids numbered 1, 2, ... */
    size_t n_writers, room_writers;
    size_t room;
    unsigned schemas; /* ctr_file.schemas when it was read */
    bool stale;       /* memory was dropped, and somebody may still use this: it is read again */

    /* Whether any merged value is listed, as of this version of the table's memory. */
    bool any_listed, looked;
    unsigned version;
} ctr_registry;

/* Returns the columns and writers, lent until they are asked for again after memory was dropped;
 * NULL on a problem, which is SQLITE_CORRUPT_VTAB if they are damaged. Forget drops memory; close
 * frees it. */
const ctr_registry *ctr_regular_of(ctr_tab *tab, ctr_problem *problem);
void ctr_regular_forget(ctr_tab *tab);
void ctr_regular_close(ctr_tab *tab);

/* Returns whether a column ever had this name between files, also one that is replicated no
 * longer. */
bool ctr_regular_was_named(const ctr_registry *registry, const char *name, size_t size);

/* Returns the number of the column with this name, or -1; upper and lower case are the same. */
int ctr_regular_named(const ctr_registry *registry, const char *name, size_t size);

/* Notes a new column, its present name, or (NULL) that it is replicated no longer. Drops memory. */
void ctr_regular_note(ctr_tab *tab, int number, const char *name, const char *column,
                      ctr_problem *problem);

/* Makes room in `cell` for the columns of the table, and empties it. `room` counts the columns that
 * it has room for, 0 at first. The caller frees cell->columns with sqlite3_free. */
bool ctr_regular_room(ctr_tab *tab, ctr_row_cell *cell, int *room, ctr_problem *problem);

/* Reads the row cell of a row, with the stamps of the journal, into `cell`, as ctr_regular_room
 * leaves it; life 0: there is none. Fails with SQLITE_CORRUPT_VTAB if it is damaged. */
int ctr_regular_read(ctr_tab *tab, int64_t rowid, ctr_row_cell *cell, ctr_problem *problem);

/* Encodes a cell into `out`, with room for ctr_row_cell_room(cell->n) bytes, and returns its size.
 * Numbers new writers. */
size_t ctr_regular_write(ctr_tab *tab, const ctr_row_cell *cell, uint8_t *out,
                         ctr_problem *problem);

/* Returns the number of a new stamp, or of a row of a journal: the time, in the unit of
 * core/row_cell.h, at most CTR_STAMP_LAST; or above + 1 if that is higher. The caller refuses a
 * stamp beyond CTR_STAMP_MAX. */
int64_t ctr_regular_number(int64_t above);

/* ---- listed values --------------------------------------------------------------------------- */

/* Lists the merged value of a column of a row in place of the listed one. `refused`: the table has
 * refused it. */
void ctr_regular_list(ctr_tab *tab, int64_t rowid, const char *name, sqlite3_value *value,
                      bool refused, ctr_problem *problem);

/* Return whether any value is listed, and whether one of the row is. The third forgets that of a
 * column, or of all (NULL). */
bool ctr_regular_lists(ctr_tab *tab, ctr_problem *problem);
bool ctr_regular_is_listed(ctr_tab *tab, int64_t rowid, ctr_problem *problem);
void ctr_regular_unlist(ctr_tab *tab, int64_t rowid, const char *name, ctr_problem *problem);

#endif
