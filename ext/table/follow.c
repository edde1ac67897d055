/* table/follow.c - steps through one table and compares keys. */
#include "table/follow.h"

#include "sqlite/run.h"
#include "sqlite/text.h"
#include "table/stream.h"

enum { STRAYS = 8, REST = 1000 };

static void step_follow(ctr_follow *follow, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(follow->rows->db, follow->rows->schema, follow->rows->table, problem);
    follow->stands = ctr_run_row(&run, follow->row);
}

static void start_behind(ctr_follow *follow, int64_t rowid, ctr_problem *problem)
{
    sqlite3_reset(follow->row);
    sqlite3_bind_int64(follow->row, 1, rowid);
    step_follow(follow, problem);
}

int ctr_follow_open(ctr_follow *follow, ctr_rows *rows, ctr_problem *problem)
{
    *follow = (ctr_follow){.rows = rows};
    char *columns = ctr_shape_column_list(rows->shape);
    if (!columns) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(rows->db, rows->schema, rows->table, problem);
    run.slots.columns = columns;
    follow->row = ctr_run_prepare(&run, CTR_SQL_ROWS_FOLLOW);
    sqlite3_free(columns);
    if (follow->row) start_behind(follow, INT64_MIN, problem);
    follow->empty = problem->rc == SQLITE_OK && !follow->stands;
    return problem->rc;
}

void ctr_follow_close(ctr_follow *follow)
{
    sqlite3_finalize(follow->row);
    *follow = (ctr_follow){0};
}

static bool has_key(const ctr_follow *follow, sqlite3_value **keys)
{
    const ctr_shape *shape = follow->rows->shape;
    for (int i = 0; i < shape->n_keys; i++) {
        sqlite3_value *stored =
            sqlite3_column_value(follow->row, CTR_STREAM_COLUMNS + shape->keys[i]);
        bool real = sqlite3_value_type(stored) == SQLITE_FLOAT &&
                    sqlite3_value_type(keys[i]) == SQLITE_FLOAT;
        if (real ? sqlite3_value_double(stored) != sqlite3_value_double(keys[i])
                 : !ctr_text_alike(stored, keys[i]))
            return false;
    }
    return true;
}

/* After some strays it rests: the tables are in other orders, at least here. */
static void note_stray(ctr_follow *follow, ctr_problem *problem)
{
    if (++follow->strays < STRAYS) {
        if (follow->rows->found) start_behind(follow, follow->rows->rowid, problem);
        return;
    }
    follow->strays = 0;
    follow->resting = REST;
    follow->stands = false;
    sqlite3_reset(follow->row);
}

int ctr_follow_find(ctr_follow *follow, sqlite3_value **keys, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (follow->stands && has_key(follow, keys)) {
        follow->strays = 0;
        ctr_rows_take(follow->rows, follow->row, problem);
        step_follow(follow, problem);
        return problem->rc;
    }
    if (follow->empty) return ctr_rows_find_none(follow->rows, problem);
    if (ctr_rows_find_key(follow->rows, keys, problem)) return problem->rc;
    if (follow->resting == 0)
        note_stray(follow, problem);
    else if (--follow->resting == 0 && follow->rows->found)
        start_behind(follow, follow->rows->rowid, problem);
    return problem->rc;
}
