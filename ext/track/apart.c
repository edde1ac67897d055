/* track/apart.c - reads and writes the list of rows that do not show their counters. */
#include "track/apart.h"

#include <string.h>

#include "sqlite/text.h"

ctr_apart ctr_apart_of(const ctr_tracked *tracked)
{
    return (ctr_apart){.tracked = tracked};
}

void ctr_apart_close(ctr_apart *apart)
{
    sqlite3_finalize(apart->read);
    sqlite3_finalize(apart->add);
    sqlite3_finalize(apart->remove);
    *apart = (ctr_apart){0};
}

static ctr_run run_apart(const ctr_apart *apart, ctr_problem *problem)
{
    const ctr_tracked *tracked = apart->tracked;
    return ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
}

/* Returns a kept statement, bound to this row. */
static sqlite3_stmt *prepare_apart(ctr_run *run, sqlite3_stmt **keep, ctr_sql which, int64_t rowid)
{
    if (!*keep) *keep = ctr_run_prepare(run, which);
    ctr_run_bind_int(run, *keep, ":row", rowid);
    return *keep;
}

int ctr_apart_read(ctr_apart *apart, int64_t rowid, ctr_apart_row *row, ctr_problem *problem)
{
    const ctr_shape *shape = apart->tracked->shape;
    size_t n = (size_t)shape->n_counters + 1;
    *row = (ctr_apart_row){.differs_in = sqlite3_malloc64(n * sizeof *row->differs_in),
                           .shown = sqlite3_malloc64(n * sizeof *row->shown)};
    if (!row->differs_in || !row->shown) return ctr_problem_nomem(problem);
    memset(row->differs_in, 0, n * sizeof *row->differs_in);
    ctr_run run = run_apart(apart, problem);
    sqlite3_stmt *entry = prepare_apart(&run, &apart->read, CTR_SQL_TRACK_APART, rowid);
    while (ctr_run_row(&run, entry)) {
        const char *name = ctr_text_column(entry, 0, problem);
        int i = name ? ctr_shape_counter_like(shape, name) : -1;
        row->waits = row->waits || (name && !*name);
        if (i < 0) continue;
        row->differs = row->differs_in[i] = true;
        row->shown[i] = (ctr_shown){.null = sqlite3_column_type(entry, 1) == SQLITE_NULL,
                                    .n = sqlite3_column_int64(entry, 1)};
    }
    sqlite3_reset(entry);
    return problem->rc;
}

void ctr_apart_close_row(ctr_apart_row *row)
{
    sqlite3_free(row->differs_in);
    sqlite3_free(row->shown);
    *row = (ctr_apart_row){0};
}

int ctr_apart_remove(ctr_apart *apart, int64_t rowid, ctr_problem *problem)
{
    ctr_run run = run_apart(apart, problem);
    sqlite3_stmt *entry = prepare_apart(&run, &apart->remove, CTR_SQL_TRACK_NOT_APART, rowid);
    ctr_run_row(&run, entry);
    sqlite3_reset(entry);
    return problem->rc;
}

void ctr_apart_add(ctr_apart *apart, int64_t rowid, const char *counter, const ctr_shown *shown,
                   ctr_problem *problem)
{
    ctr_run run = run_apart(apart, problem);
    sqlite3_stmt *entry = prepare_apart(&run, &apart->add, CTR_SQL_TRACK_SET_APART, rowid);
    ctr_run_bind_text(&run, entry, ":counter", counter ? counter : "");
    if (!shown || shown->null)
        ctr_run_bind_text(&run, entry, ":shown", NULL);
    else
        ctr_run_bind_int(&run, entry, ":shown", shown->n);
    ctr_run_row(&run, entry);
    sqlite3_reset(entry);
}

int64_t ctr_apart_count(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, counters, problem);
    return ctr_run_number(&run, CTR_SQL_TRACK_COUNT_APART);
}

void ctr_apart_count_rows(sqlite3 *db, const char *schema, const char *counters, int64_t *wait,
                          int64_t *differ, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, counters, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_COUNT_APART_ROWS);
    bool is = ctr_run_row(&run, row);
    *wait = is ? sqlite3_column_int64(row, 0) : 0;
    *differ = is ? sqlite3_column_int64(row, 1) : 0;
    sqlite3_finalize(row);
}
