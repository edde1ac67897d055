/* tracked/row_values.h - reads the merged values of the regular columns of a row.
 *
 * They stand in the tracked table alone, or are listed in <counters>_state where the table shows
 * another value (table/regular.h). The columns are read by their names, so that no CHECK, DEFAULT,
 * index expression or generated column of the file runs; the collations of keys are built in.
 */
#ifndef CTR_TRACKED_ROW_VALUES_H
#define CTR_TRACKED_ROW_VALUES_H

#include "table/regular.h"
#include "tracked/likely.h"
#include "tracked/tracked.h"

typedef struct ctr_row_values {
    ctr_tab *tab;         /* borrowed */
    ctr_tracked *tracked; /* held */

    /* Owned: the columns in the order of tracked->regular, and the rowid or NULL, by the key; the
     * same by key and rowid, NULL if the table has no rowids. */
    sqlite3_stmt *by_key, *by_rowid;
    ctr_likely likely;

    int n;                 /* regular columns, by number */
    sqlite3_value **given; /* owned, by number: the values; NULL: there is none */
    sqlite3_value **list;  /* owned, by number: the listed ones, which it frees */
} ctr_row_values;

/* Opens a reader of the table that `tab` counts; if the names of that table are not known, it has
 * only listed values. The caller closes it, even if this fails. */
int ctr_row_values_open(ctr_row_values *values, ctr_tab *tab, ctr_problem *problem);
void ctr_row_values_close(ctr_row_values *values);

/* Reads the values of the row with this key, number `rowid` among the cells, into values->given:
 * listed ones, else those of the table; NULL for a column without one, and for all if there is no
 * such row. Lent until the next call, those of the table also until the reset. `only_listed`: only
 * the listed ones. */
int ctr_row_values_read(ctr_row_values *values, int64_t rowid, sqlite3_value **keys,
                        bool only_listed, ctr_problem *problem);

/* Reads what the table shows in this row, whatever is listed; lent as above. */
int ctr_row_values_show(ctr_row_values *values, int64_t rowid, sqlite3_value **keys,
                        ctr_problem *problem);

/* Lets go of the row of the table that was read last. */
void ctr_row_values_reset(ctr_row_values *values);

#endif
