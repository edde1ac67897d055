/* sync/session.c - begins and ends the savepoint around a sync. */
#include "sync/session.h"

#include <stdint.h>

#include "store/run.h"

static int64_t user_version(ctr_run *run)
{
    int64_t version = 0;
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_SYNC_USER_VERSION);
    if (ctr_run_row(run, row)) version = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return version;
}

int ctr_session_begin(ctr_session *session, sqlite3 *db, const char *target, ctr_problem *problem)
{
    *session = (ctr_session){.db = db, .alone = sqlite3_get_autocommit(db)};
    ctr_run run = ctr_run_on(db, target, NULL, problem);
    char *version = sqlite3_mprintf("%lld", (long long)user_version(&run));
    if (!version) return ctr_problem_nomem(problem);
    run.slots.value = version;
    session->write_nothing = ctr_run_prepare(&run, CTR_SQL_SYNC_WRITE_NOTHING);
    sqlite3_free(version);
    if (problem->rc != SQLITE_OK) return problem->rc;

    ctr_run_do(&run, CTR_SQL_SYNC_SAVEPOINT, NULL);
    session->open = problem->rc == SQLITE_OK;
    if ((problem->rc & 0xff) == SQLITE_BUSY) {
        ctr_problem_close(problem);
        ctr_problem_set(problem, SQLITE_ERROR, "it cannot run inside a statement that writes");
    }
    return problem->rc;
}

static void take_back(ctr_session *session)
{
    ctr_problem undo = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(session->db, "main", NULL, &undo);
    ctr_run_do(&run, session->alone ? CTR_SQL_SYNC_ROLLBACK_ALL : CTR_SQL_SYNC_ROLLBACK, NULL);
    if (!session->alone) ctr_run_do(&run, CTR_SQL_SYNC_RELEASE, NULL);
    if ((undo.rc & 0xff) == SQLITE_INTERRUPT) sqlite3_step(session->write_nothing);
    ctr_problem_close(&undo);
}

/* SQLite has rolled back by itself where it had to: then there is nothing left to be taken back. */
int ctr_session_end(ctr_session *session, ctr_problem *problem)
{
    if (session->open) {
        ctr_run run = ctr_run_on(session->db, "main", NULL, problem);
        ctr_run_do(&run, CTR_SQL_SYNC_RELEASE, NULL);
        if (problem->rc != SQLITE_OK && !sqlite3_get_autocommit(session->db)) take_back(session);
    }
    sqlite3_finalize(session->write_nothing);
    *session = (ctr_session){0};
    return problem->rc;
}
