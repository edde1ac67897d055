/* store/walk.h - the rows of a stored table, all or what has changed since a number.
 *
 *     ctr_walk_open(&walk, db, schema, table, shape, since, problem);
 *     while (ctr_walk_next(&walk, problem))
 *         value = sqlite3_column_value(walk.row, CTR_WALK_COLUMNS + i);
 *     ctr_walk_close(&walk);
 *
 * All are read in the order of storage, for no collation of a foreign file is trusted; what has
 * changed, by the news of the table (store/news.h).
 */
#ifndef CTR_STORE_WALK_H
#define CTR_STORE_WALK_H

#include "store/news.h"
#include "store/shape.h"

/* Columns of a row: behind these come those of the shape. */
enum { CTR_WALK_ID, CTR_WALK_NUMBER, CTR_WALK_COLUMNS };

typedef struct ctr_walk {
    sqlite3_stmt *row; /* stands at a row */
    ctr_run run;
    int64_t since; /* 0: all */
    ctr_ids ids;
    size_t at;
} ctr_walk;

/* To be closed whatever is returned. The names are borrowed until then. */
int ctr_walk_open(ctr_walk *walk, sqlite3 *db, const char *schema, const char *table,
                  const ctr_shape *shape, int64_t since, ctr_problem *problem);
bool ctr_walk_next(ctr_walk *walk, ctr_problem *problem);
void ctr_walk_close(ctr_walk *walk);

#endif
