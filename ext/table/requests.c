/* table/requests.c - finds, records and deletes requests. */
#include "table/requests.h"

#include <string.h>

#include "sqlite/run.h"
#include "sqlite/text.h"
#include "table/shape.h"

void ctr_requests_release(ctr_requests *requests)
{
    sqlite3_finalize(requests->find);
    sqlite3_finalize(requests->insert);
    requests->find = requests->insert = NULL;
}

static sqlite3_stmt *kept_statement(ctr_requests *requests, sqlite3_stmt **keep, ctr_sql which,
                                    ctr_problem *problem)
{
    ctr_run run = ctr_run_on(requests->db, requests->schema, requests->table, problem);
    if (!*keep) *keep = ctr_run_prepare(&run, which);
    return *keep;
}

static int refuse_other(sqlite3_value *id, const char *before, const char *now,
                        ctr_problem *problem)
{
    char *shown = ctr_problem_describe_value(id);
    if (!shown) return ctr_problem_nomem(problem);
    ctr_problem_set(problem, SQLITE_ERROR, "the request %s was taken before for %s, not for %s",
                    shown, before, now);
    sqlite3_free(shown);
    return problem->rc;
}

bool ctr_requests_is_done(ctr_requests *requests, sqlite3_value *id, const char *what,
                          ctr_problem *problem)
{
    sqlite3_stmt *row = kept_statement(requests, &requests->find, CTR_SQL_REQUESTS_FIND, problem);
    if (!row) return false;
    ctr_problem_sqlite(problem, requests->db, ctr_text_bind_value(row, 1, id));
    ctr_run run = ctr_run_on(requests->db, requests->schema, requests->table, problem);
    bool done = ctr_run_row(&run, row);
    const char *before = done ? ctr_text_column(row, 0, problem) : NULL;
    if (before && strcmp(before, what) != 0) refuse_other(id, before, what, problem);
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return done && problem->rc == SQLITE_OK;
}

int ctr_requests_add(ctr_requests *requests, sqlite3_value *id, const char *what,
                     ctr_problem *problem)
{
    sqlite3_stmt *row =
        kept_statement(requests, &requests->insert, CTR_SQL_REQUESTS_INSERT, problem);
    ctr_run run = ctr_run_on(requests->db, requests->schema, requests->table, problem);
    if (!row) return problem->rc;
    ctr_problem_sqlite(problem, requests->db, ctr_text_bind_value(row, 1, id));
    ctr_run_bind_text(&run, row, 2, what);
    ctr_run_row(&run, row);
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return problem->rc;
}

int ctr_requests_forget(ctr_requests *requests, int64_t keep, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(requests->db, requests->schema, requests->table, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_REQUESTS_FORGET);
    if (row) sqlite3_bind_int64(row, 1, keep);
    ctr_run_row(&run, row);
    sqlite3_finalize(row);
    return problem->rc;
}
