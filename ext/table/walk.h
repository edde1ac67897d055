/* table/walk.h - the rows of a stored table: all, or those changed since a number.
 *
 *     ctr_walk_open(&walk, db, schema, table, shape, CTR_WALK_SINCE, since, problem);
 *     while (ctr_walk_next(&walk, problem))
 *         value = sqlite3_column_value(walk.row, CTR_WALK_COLUMNS + i);
 *     ctr_walk_close(&walk);
 *
 * Rows come in the order of storage, because no collation of another file is trusted. The journal
 * of the table lists the changed rows and their numbers. A cell is complete only after
 * ctr_rows_open_cell (table/rows.h).
 */
#ifndef CTR_TABLE_WALK_H
#define CTR_TABLE_WALK_H

#include "table/changes.h"
#include "table/shape.h"

/* Columns of a row; those of the shape follow. */
enum { CTR_WALK_ID, CTR_WALK_COLUMNS };

typedef enum ctr_walk_kind {
    CTR_WALK_ALL,
    CTR_WALK_ALL_NUMBERED, /* all, with their numbers */
    CTR_WALK_SINCE         /* rows changed with this number or a higher one, with numbers */
} ctr_walk_kind;

typedef struct ctr_walk {
    sqlite3_stmt *row; /* its current row */
    int64_t number;    /* of its last change; 0 if unknown */
    ctr_run run;
    ctr_walk_kind kind;
    ctr_changes changes;
    size_t at;
} ctr_walk;

/* The caller closes the walk, also after a failure. The names are borrowed until then. */
int ctr_walk_open(ctr_walk *walk, sqlite3 *db, const char *schema, const char *table,
                  const ctr_shape *shape, ctr_walk_kind kind, int64_t since, ctr_problem *problem);
bool ctr_walk_next(ctr_walk *walk, ctr_problem *problem);
void ctr_walk_close(ctr_walk *walk);

#endif
