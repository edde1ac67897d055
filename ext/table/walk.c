/* table/walk.c - steps through rows. */
#include "table/walk.h"

#include "table/refuse.h"

int ctr_walk_open(ctr_walk *walk, sqlite3 *db, const char *schema, const char *table,
                  const ctr_shape *shape, ctr_walk_kind kind, int64_t since, ctr_problem *problem)
{
    *walk = (ctr_walk){.run = ctr_run_on(db, schema, table, problem), .kind = kind};
    if (kind != CTR_WALK_ALL && problem->rc == SQLITE_OK)
        ctr_changes_read(&walk->changes, db, schema, table, since, problem);
    ctr_changes_latest(&walk->changes, problem);
    char *columns = ctr_shape_column_list(shape);
    if (!columns) ctr_problem_nomem(problem);
    walk->run.slots.columns = columns;
    walk->row = ctr_run_prepare(&walk->run, kind == CTR_WALK_SINCE ? CTR_SQL_ROWS_FIND_ROWID
                                                                   : CTR_SQL_ROWS_ALL);
    walk->run.slots.columns = NULL;
    if (walk->row && ctr_refuse_is_hiding(shape, walk->row, true))
        ctr_refuse_hidden(table, problem);
    sqlite3_free(columns);
    return problem->rc;
}

/* Skips changed rows that no longer exist. */
static bool next_changed(ctr_walk *walk)
{
    while (walk->at < walk->changes.n && walk->run.problem->rc == SQLITE_OK) {
        const ctr_change_of_row *change = &walk->changes.rows[walk->at++];
        walk->number = change->number;
        sqlite3_reset(walk->row);
        sqlite3_bind_int64(walk->row, 1, change->row);
        if (ctr_run_row(&walk->run, walk->row)) return true;
    }
    return false;
}

bool ctr_walk_next(ctr_walk *walk, ctr_problem *problem)
{
    walk->run.problem = problem;
    if (walk->kind == CTR_WALK_SINCE) return next_changed(walk);
    if (!ctr_run_row(&walk->run, walk->row)) return false;
    if (walk->kind == CTR_WALK_ALL) return true;
    const ctr_changes *changes = &walk->changes;
    int64_t id = sqlite3_column_int64(walk->row, CTR_WALK_ID);
    while (walk->at < changes->n && changes->rows[walk->at].row < id) walk->at++;
    bool listed = walk->at < changes->n && changes->rows[walk->at].row == id;
    walk->number = listed ? changes->rows[walk->at].number : 0;
    return true;
}

void ctr_walk_close(ctr_walk *walk)
{
    sqlite3_finalize(walk->row);
    sqlite3_free(walk->changes.rows);
    *walk = (ctr_walk){0};
}
