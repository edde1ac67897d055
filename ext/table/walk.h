/* table/walk.h - the rows of a stored table, all or what has changed since a number.
 *
 *     ctr_walk_open(&walk, db, schema, table, shape, CTR_WALK_SINCE, since, problem);
 *     while (ctr_walk_next(&walk, problem))
 *         value = sqlite3_column_value(walk.row, CTR_WALK_COLUMNS + i);
 *     ctr_walk_close(&walk);
 *
 * They come in the order of storage, for no collation of a foreign file is trusted. What has
 * changed, and when, the journal of the table tells. A cell is complete when ctr_rows_open_cell has
 * opened it (table/rows.h).
 */
#ifndef CTR_TABLE_WALK_H
#define CTR_TABLE_WALK_H

#include "table/changes.h"
#include "table/shape.h"

/* Columns of a row: behind these come those of the shape. */
enum { CTR_WALK_ID, CTR_WALK_COLUMNS };

typedef enum ctr_walk_kind {
    CTR_WALK_ALL,
    CTR_WALK_ALL_NUMBERED, /* all, with their numbers */
    CTR_WALK_SINCE         /* those of a number or a higher one, with it */
} ctr_walk_kind;

typedef struct ctr_walk {
    sqlite3_stmt *row; /* stands at a row */
    int64_t number;    /* of its last change; 0 where nobody asked */
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
