/* store/walk.c - steps through rows. */
#include "store/walk.h"

int ctr_walk_open(ctr_walk *walk, sqlite3 *db, const char *schema, const char *table,
                  const ctr_shape *shape, int64_t since, ctr_problem *problem)
{
    *walk = (ctr_walk){.run = ctr_run_on(db, schema, table, problem), .since = since};
    if (since > 0) ctr_news_read(&walk->ids, db, schema, table, since, problem);
    char *columns = ctr_shape_column_list(shape);
    if (!columns) ctr_problem_nomem(problem);
    walk->run.slots.columns = columns;
    walk->row = ctr_run_prepare(&walk->run, since > 0 ? CTR_SQL_ROWS_SINCE : CTR_SQL_ROWS_ALL);
    walk->run.slots.columns = NULL;
    sqlite3_free(columns);
    return problem->rc;
}

/* Of the ids some have no row, or one that has not changed since. */
bool ctr_walk_next(ctr_walk *walk, ctr_problem *problem)
{
    walk->run.problem = problem;
    if (walk->since == 0) return ctr_run_row(&walk->run, walk->row);
    while (walk->at < walk->ids.n && problem->rc == SQLITE_OK) {
        sqlite3_reset(walk->row);
        sqlite3_bind_int64(walk->row, 1, walk->ids.ids[walk->at++]);
        sqlite3_bind_int64(walk->row, 2, walk->since);
        if (ctr_run_row(&walk->run, walk->row)) return true;
    }
    return false;
}

void ctr_walk_close(ctr_walk *walk)
{
    sqlite3_finalize(walk->row);
    sqlite3_free(walk->ids.ids);
    *walk = (ctr_walk){0};
}
