/* base/conn.c - joins transactions and keeps statements of a connection. */
#include "base/base.h"

#include <string.h>

/* ---- statements that are kept ---------------------------------------------------------------- */

static void link_kept(ctr_conn *conn, ctr_kept *kept)
{
    kept->next = conn->kept;
    kept->link = &conn->kept;
    if (kept->next) kept->next->link = &kept->next;
    conn->kept = kept;
}

static void unlink_kept(const ctr_kept *kept)
{
    if (kept->link) *kept->link = kept->next;
    if (kept->link && kept->next) kept->next->link = kept->link;
}

void ctr_conn_list_first(ctr_conn *conn, ctr_kept *kept)
{
    unlink_kept(kept);
    link_kept(conn, kept);
}

/* With its last statement a virtual table is disconnected, which may close other statements. */
void ctr_conn_close_kept(ctr_kept *kept)
{
    sqlite3_stmt *statement = kept->statement;
    unlink_kept(kept);
    *kept = (ctr_kept){0};
    sqlite3_finalize(statement);
}

void ctr_conn_release_kept(ctr_conn *conn)
{
    for (ctr_kept *kept = conn->kept; kept;) {
        bool taken = kept->expired = kept->taken;
        if (!taken) ctr_conn_close_kept(kept);
        kept = taken ? kept->next : conn->kept;
    }
}

/* Preparing a statement creates counter_statements, and locks nothing. */
static void create_statements(ctr_conn *conn, ctr_run *run)
{
    if (!conn->has_statements) sqlite3_finalize(ctr_run_prepare(run, CTR_SQL_TRANSACTION_KEEP));
}

sqlite3_stmt *ctr_conn_keep(ctr_conn *conn, ctr_kept *kept, ctr_run *run, ctr_sql which)
{
    if (run->problem->rc != SQLITE_OK) return NULL;
    if (kept->statement) return kept->statement;
    create_statements(conn, run);
    kept->statement = ctr_run_prepare(run, which);
    if (kept->statement) link_kept(conn, kept);
    return kept->statement;
}

sqlite3_stmt *ctr_conn_take(ctr_conn *conn, ctr_kept *kept, ctr_run *run, ctr_sql which)
{
    if (kept->taken) return ctr_run_prepare(run, which);
    sqlite3_stmt *statement = ctr_conn_keep(conn, kept, run, which);
    kept->taken = statement != NULL;
    return statement;
}

void ctr_conn_give_back(ctr_conn *conn, ctr_kept *kept, sqlite3_stmt *statement,
                        const ctr_problem *problem)
{
    if (statement != kept->statement) { /* NULL, too */
        sqlite3_finalize(statement);
        return;
    }
    if (problem->rc != SQLITE_OK || kept->expired || !conn->has_statements) {
        ctr_conn_close_kept(kept);
        return;
    }
    kept->taken = false;
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

void ctr_conn_prepare(ctr_conn *conn, ctr_problem *problem)
{
    ctr_problem trouble = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(conn->db, NULL, NULL, &trouble);
    create_statements(conn, &run);
    if (ctr_problem_rolls_back(trouble.rc)) /* including the schema change that follows */
        ctr_problem_set(problem, trouble.rc, "%s", ctr_problem_text(&trouble));
    ctr_problem_close(&trouble);
}

/* ---- life ------------------------------------------------------------------------------------ */

ctr_conn *ctr_conn_new(sqlite3 *db, ctr_conn_above above)
{
    ctr_conn *conn = sqlite3_malloc64(sizeof *conn);
    if (conn) *conn = (ctr_conn){.db = db, .above = above, .holders = 1};
    return conn;
}

ctr_conn *ctr_conn_hold(ctr_conn *conn)
{
    conn->holders++;
    return conn;
}

void ctr_conn_drop(void *holder)
{
    ctr_conn *conn = holder;
    if (--conn->holders > 0) return;
    conn->above.close_files(conn);
    ctr_conn_release_kept(conn);
    if (conn->fronts) conn->close_fronts(conn->fronts);
    if (conn->brought) conn->close_brought(conn->brought);
    sqlite3_free(conn->missing.key);
    sqlite3_free(conn);
}

/* ---- joining --------------------------------------------------------------------------------- */

enum { NAME_SIZE = 32 };

static const char *name_witness(const ctr_conn *conn, char name[NAME_SIZE])
{
    const char *format = conn->witnesses == 0 ? "counter_witness" : "counter_witness_%d";
    return sqlite3_snprintf(NAME_SIZE, name, format, conn->witnesses);
}

/* Registers a new witness table for a deserialized database: sqlite3_deserialize() frees the schema
 * of main without disconnecting eponymous tables, and preparing a write to one again would crash.
 * From then on main uses the VFS "memdb", where each new schema may be that of another file.
 *
 * It needs a new name: when a module is replaced, SQLite frees its table and with it all prepared
 * statements, including the running one. A module stays as long as the connection: about 800 bytes
 * for each schema of such a file. */
static void renew_witness(ctr_conn *conn, ctr_problem *problem)
{
    bool is_new = !conn->is_memory;
    sqlite3_vfs *vfs = NULL;
    ctr_run_ask_file(conn->db, "main", SQLITE_FCNTL_VFS_POINTER, &vfs);
    conn->is_memory = vfs && strcmp(vfs->zName, "memdb") == 0;
    if (!conn->is_memory || problem->rc != SQLITE_OK) return;
    bool had = conn->schema.statement != NULL;
    ctr_run run = ctr_run_on(conn->db, "main", NULL, problem);
    sqlite3_stmt *schema = ctr_conn_take(conn, &conn->schema, &run, CTR_SQL_TRANSACTION_SCHEMA);
    if (!schema) return;
    ctr_run_row(&run, schema);
    if (!had || sqlite3_stmt_status(schema, SQLITE_STMTSTATUS_REPREPARE, 1) > 0) is_new = true;
    ctr_conn_give_back(conn, &conn->schema, schema, problem);
    if (!conn->witness_used || !is_new) return;
    ctr_conn_close_kept(&conn->join);
    char name[NAME_SIZE];
    conn->witnesses++;
    int rc = conn->above.renew_witness(conn, name_witness(conn, name));
    ctr_problem_sqlite(problem, conn->db, rc);
}

bool ctr_conn_enter(ctr_conn *conn, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return false;
    ctr_conn_end_round(conn);
    if (conn->busy)
        ctr_problem_set(problem, SQLITE_ERROR, "a trigger on counter_replica tries to count");
    else
        conn->busy = true;
    return problem->rc == SQLITE_OK;
}

int ctr_conn_leave(ctr_conn *conn, ctr_problem *problem)
{
    conn->busy = false;
    return problem->rc;
}

bool ctr_conn_join(ctr_conn *conn, ctr_problem *problem)
{
    if (!ctr_conn_enter(conn, problem)) return false;
    char name[NAME_SIZE];
    renew_witness(conn, problem);
    conn->witness_used = true;
    ctr_run run = ctr_run_on(conn->db, "main", name_witness(conn, name), problem);
    sqlite3_stmt *join = ctr_conn_take(conn, &conn->join, &run, CTR_SQL_TRANSACTION_JOIN);
    ctr_run_row(&run, join);
    ctr_conn_give_back(conn, &conn->join, join, problem);
    return ctr_conn_leave(conn, problem) == SQLITE_OK && conn->joined;
}

bool ctr_conn_require_join(ctr_conn *conn, ctr_problem *problem)
{
    bool joined = ctr_conn_join(conn, problem);
    if (!joined)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "a table in main has the name counter_witness, which is reserved");
    return joined;
}

/* ---- failures half-way ----------------------------------------------------------------------- */

void ctr_conn_spoil(ctr_conn *conn, unsigned nth)
{
    if (conn->ended != nth) return;
    if (!conn->spoiled) conn->spoiled_depth = conn->depth;
    conn->spoiled = true;
}
