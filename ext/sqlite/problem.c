/* sqlite/problem.c - the first error of a sequence, with its words. */
#include "sqlite/problem.h"

#include <stdarg.h>

int ctr_problem_set(ctr_problem *problem, int rc, const char *format, ...)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    va_list args;
    va_start(args, format);
    problem->text = sqlite3_vmprintf(format, args);
    va_end(args);
    problem->rc = problem->text ? rc : SQLITE_NOMEM;
    return problem->rc;
}

int ctr_problem_sqlite(ctr_problem *problem, sqlite3 *db, int rc)
{
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE) return problem->rc;
    if (rc == SQLITE_NOMEM) return ctr_problem_nomem(problem);
    return ctr_problem_set(problem, rc, "%s", sqlite3_errmsg(db));
}

int ctr_problem_nomem(ctr_problem *problem)
{
    if (problem->rc == SQLITE_OK) problem->rc = SQLITE_NOMEM;
    return problem->rc;
}

void ctr_problem_where(ctr_problem *problem, const char *format, ...)
{
    if (problem->rc == SQLITE_OK || problem->rc == SQLITE_NOMEM) return;
    va_list args;
    va_start(args, format);
    char *where = sqlite3_vmprintf(format, args);
    va_end(args);
    char *text = where ? sqlite3_mprintf("%s: %s", where, ctr_problem_text(problem)) : NULL;
    sqlite3_free(where);
    sqlite3_free(problem->text);
    problem->text = text;
    if (!text) problem->rc = SQLITE_NOMEM;
}

bool ctr_problem_rolls_back(int rc)
{
    rc &= 0xff;
    return rc == SQLITE_NOMEM || rc == SQLITE_IOERR || rc == SQLITE_FULL || rc == SQLITE_INTERRUPT;
}

const char *ctr_problem_text(const ctr_problem *problem)
{
    return problem->text ? problem->text : sqlite3_errstr(problem->rc);
}

void ctr_problem_close(ctr_problem *problem)
{
    sqlite3_free(problem->text);
    *problem = (ctr_problem){SQLITE_OK, NULL};
}
