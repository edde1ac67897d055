/* file/session.c - begins and ends the savepoint around a sync. */
#include "file/file.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

enum { DEFAULT_CACHE = 2000, PULL_CACHE = 32000 }; /* KiB; the first is SQLite's */

/* If this fails, the old statement stays: SQLite prepares it again when it is stepped. */
static void prepare_anew(sqlite3_stmt **slot, ctr_run *run, ctr_sql which)
{
    sqlite3_stmt *fresh = ctr_run_prepare(run, which);
    if (!fresh) return;
    sqlite3_finalize(*slot);
    *slot = fresh;
}

/* Prepares the statement that locks a schema. Returns false if the schema has no identity, or on
 * error. */
static bool prepare_lock(ctr_conn *conn, const char *schema, sqlite3_stmt **lock)
{
    ctr_problem missing;
    if (ctr_rc(conn) != SQLITE_OK) return false;
    ctr_problem_try(conn, &missing);
    ctr_run look = ctr_run_on(conn, schema, NULL);
    *lock = ctr_run_prepare(&look, CTR_SQL_SYNC_LOCK);
    ctr_problem_raise_if(conn, &missing, missing.rc != SQLITE_ERROR);
    return *lock != NULL;
}

static int prepare_all(ctr_session *session)
{
    ctr_run run = ctr_run_on(session->conn, "main", NULL);
    prepare_anew(&session->release, &run, CTR_SQL_SYNC_RELEASE);
    prepare_anew(&session->roll_back, &run,
                 session->alone ? CTR_SQL_SYNC_ROLLBACK_ALL : CTR_SQL_SYNC_ROLLBACK);

    /* A sync reads and locks main anyway, so it writes there, with the statement that locks main if
     * there is one. Any other session writes to temp, which no other connection can lock. */
    sqlite3_stmt *lock = NULL;
    session->locks = session->syncs && prepare_lock(session->conn, "main", &lock);
    if (session->locks) {
        sqlite3_finalize(session->write_nothing);
        session->write_nothing = lock;
        return ctr_rc(session->conn);
    }
    run.slots.schema = session->syncs ? "main" : "temp";
    char *version =
        sqlite3_mprintf("%lld", (long long)ctr_run_number(&run, CTR_SQL_SYNC_USER_VERSION));
    if (!version) ctr_problem_nomem(session->conn);
    run.slots.value = version;
    prepare_anew(&session->write_nothing, &run, CTR_SQL_SYNC_WRITE_NOTHING);
    sqlite3_free(version);
    return ctr_rc(session->conn);
}

int ctr_session_begin(ctr_session *session, ctr_conn *conn, bool syncs)
{
    sqlite3 *db = conn->db;
    *session = (ctr_session){.conn = conn, .syncs = syncs, .alone = sqlite3_get_autocommit(db)};
    if (syncs && conn->spill != 0) { /* an interrupt leaves it to the next session */
        ctr_problem none;
        ctr_problem_try(conn, &none);
        ctr_run restore = ctr_run_on(conn, "main", NULL);
        ctr_run_set(&restore, CTR_SQL_SYNC_SET_SPILL, conn->spill);
        if (none.rc == SQLITE_OK) conn->spill = 0;
        ctr_problem_close(&none);
    }
    if (prepare_all(session)) return ctr_rc(conn);

    ctr_run run = ctr_run_on(conn, "main", NULL);
    ctr_run_do(&run, CTR_SQL_SYNC_SAVEPOINT, NULL);
    if (session->alone && ctr_rc(conn) == SQLITE_OK && sqlite3_get_autocommit(db))
        ctr_problem_set(conn, SQLITE_AUTH, "an authorizer of this connection ignores SAVEPOINT");
    int code = ctr_rc(conn) & 0xff; /* an interrupt may come when the savepoint is there already */
    session->open = code == SQLITE_OK || code == SQLITE_INTERRUPT;
    if (syncs) conn->session = session;
    if (code == SQLITE_BUSY) {
        ctr_problem_clear(conn);
        ctr_problem_set(conn, SQLITE_ERROR, "it cannot run inside a statement that writes");
    }
    return ctr_rc(conn);
}

int ctr_session_renew(ctr_conn *conn)
{
    if (ctr_rc(conn) != SQLITE_OK || !conn->session) return ctr_rc(conn);
    return prepare_all(conn->session);
}

/* SQLite does not wait for the lock if the transaction reads already, as within a SELECT. We wait
 * under WAL: if the other writer ends without a commit, our snapshot is still the newest. With a
 * rollback journal the other writer would wait for us. */
static int lock_or_wait(ctr_session *session, sqlite3_stmt *lock, const char *schema)
{
    enum { PAUSE = 5 /* milliseconds */ };
    ctr_run run = ctr_run_on(session->conn, schema, NULL);
    bool reads = ctr_run_transaction(session->conn->db, schema) == CTR_TXN_READ;
    int timeout = -1; /* not asked yet */
    for (int waited = 0; ctr_rc(session->conn) == SQLITE_OK; waited += PAUSE) {
        int rc = sqlite3_step(lock);
        bool again = (rc & 0xff) == SQLITE_BUSY && reads &&
                     sqlite3_extended_errcode(session->conn->db) != SQLITE_BUSY_SNAPSHOT;
        if (again && timeout < 0)
            timeout = ctr_run_gives(&run, CTR_SQL_SYNC_JOURNAL_MODE, "wal")
                          ? ctr_run_busy_timeout(session->conn)
                          : 0;
        if (again && waited >= timeout) { /* SQLite's text is that of the statement above */
            ctr_problem_set(session->conn, rc, "%s", sqlite3_errstr(rc));
            break;
        }
        if (!again) {
            ctr_problem_sqlite(session->conn, rc);
            break;
        }
        sqlite3_reset(lock);
        sqlite3_sleep(PAUSE);
    }
    sqlite3_reset(lock);
    return ctr_rc(session->conn);
}

/* A file without counter tables is locked by the statement that creates them. */
int ctr_session_lock(ctr_session *session, const char *schema)
{
    sqlite3_stmt *lock = NULL;
    if (ctr_rc(session->conn) != SQLITE_OK) return ctr_rc(session->conn);
    if (session->locks && strcmp(schema, "main") == 0)
        return lock_or_wait(session, session->write_nothing, schema);
    if (prepare_lock(session->conn, schema, &lock)) lock_or_wait(session, lock, schema);
    sqlite3_finalize(lock);
    return ctr_rc(session->conn);
}

int ctr_session_keep_pages(ctr_session *session)
{
    ctr_run run = ctr_run_on(session->conn, "main", NULL);
    session->spill = (int)ctr_run_number(&run, CTR_SQL_SYNC_SPILL);
    if (session->conn && session->conn->spill > 0) session->spill = session->conn->spill;
    if (session->conn) session->conn->spill = 0;
    if (session->spill > 0) ctr_run_set(&run, CTR_SQL_SYNC_SET_SPILL, INT_MAX);
    return ctr_rc(session->conn);
}

void ctr_session_raise_cache(ctr_file *file)
{
    ctr_problem none;
    ctr_problem_try(file->conn, &none); /* ignored: it costs only speed */
    ctr_run run = ctr_file_run(file);
    bool raises = ctr_run_number(&run, CTR_SQL_SYNC_CACHE) == -DEFAULT_CACHE;
    if (raises)
        ctr_run_set(&run, CTR_SQL_SYNC_SET_CACHE, -PULL_CACHE); /* an interrupt may follow */
    ctr_problem_close(&none);
    file->raised = file->raised || raises;
}

void ctr_session_lower_cache(ctr_file *file)
{
    ctr_problem none;
    if (!file->raised) return;
    ctr_problem_try(file->conn, &none);
    ctr_run run = ctr_file_run(file);
    ctr_run_set(&run, CTR_SQL_SYNC_SET_CACHE, -DEFAULT_CACHE);
    file->raised = none.rc != SQLITE_OK;
    ctr_problem_close(&none);
}

static int step_once(sqlite3_stmt *statement)
{
    if (!statement) return SQLITE_NOMEM;
    sqlite3_step(statement);
    return sqlite3_reset(statement) & 0xff;
}

static int roll_back(const ctr_session *session)
{
    int rc = step_once(session->roll_back);
    if (rc == SQLITE_OK && !session->alone) rc = step_once(session->release);
    return rc;
}

static void set_spill_back(ctr_session *session)
{
    ctr_run run = ctr_run_on(session->conn, "main", NULL);
    if (session->spill > 0) ctr_run_set(&run, CTR_SQL_SYNC_SET_SPILL, session->spill);
    if (ctr_rc(session->conn) == SQLITE_OK) session->spill = 0;
}

/* A statement that an interrupt ends because the schema has changed, before it is prepared again,
 * rolls nothing back. */
static void prepare_again(sqlite3_stmt **statement)
{
    sqlite3_stmt *fresh = NULL;
    const char *sql = *statement ? sqlite3_sql(*statement) : NULL;
    if (!sql) return;
    sqlite3_prepare_v2(sqlite3_db_handle(*statement), sql, -1, &fresh, NULL);
    if (!fresh) return;
    sqlite3_finalize(*statement);
    *statement = fresh;
}

/* If SQLite has rolled back by itself, nothing is left to undo. An interrupt or a lack of memory
 * can make the rollback fail. If the cause lasts, the write fails, too, and SQLite rolls back the
 * transaction. If it is over, the second attempt succeeds. An error after the commit is
 * ignored, because it would make the commit look like a failure. */
void ctr_session_end(ctr_session *session)
{
    ctr_conn *conn = session->conn;
    if (!conn) return; /* it did not begin */
    ctr_problem kept;  /* ignored: it costs only memory */
    if (ctr_rc(conn) == SQLITE_OK) set_spill_back(session);
    if (session->open) {
        ctr_run run = ctr_run_on(conn, "main", NULL);
        ctr_run_row(&run, session->release);
        sqlite3_reset(session->release);
        if (session->alone && ctr_rc(conn) == SQLITE_OK && !sqlite3_get_autocommit(conn->db))
            ctr_problem_set(conn, SQLITE_AUTH, "an authorizer of this connection ignores RELEASE");
        if (ctr_rc(conn) != SQLITE_OK && !sqlite3_get_autocommit(conn->db) &&
            roll_back(session) != SQLITE_OK) {
            prepare_again(&session->write_nothing);
            step_once(session->write_nothing);
            if (!sqlite3_get_autocommit(conn->db)) roll_back(session);
        }
    }
    /* If none of our tables has joined the transaction, nobody hears of its end. */
    if (session->alone && sqlite3_get_autocommit(conn->db)) conn->spoiled = false;
    ctr_problem_try(conn, &kept);
    set_spill_back(session);
    ctr_problem_close(&kept);
    if (session->syncs && session->spill > 0) conn->spill = session->spill;
    sqlite3_finalize(session->write_nothing);
    sqlite3_finalize(session->release);
    sqlite3_finalize(session->roll_back);
    if (session->syncs) conn->session = NULL;
    *session = (ctr_session){0};
}
