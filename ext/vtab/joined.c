/* vtab/joined.c - passes on SQLite's calls to a table that has joined a transaction; the two
 * internal tables, counter_witness and counter_statements. */
#include "vtab/joined.h"

#include <string.h>

#include "sqlite/args.h"
#include "sqlite/text.h"

static ctr_conn *transaction_of(sqlite3_vtab *base)
{
    return ((ctr_joined *)base)->conn;
}

/* SQLite does not fetch the message of a SAVEPOINT that failed, and would show it for a later
 * error; so it is freed here. */
static void free_message(ctr_joined *joined)
{
    sqlite3_free(joined->base.zErrMsg);
    joined->base.zErrMsg = NULL;
}

/* `told` holds for this transaction alone. */
static void set_told(ctr_joined *joined, bool told)
{
    free_message(joined);
    if (told != joined->told) ctr_events_tell(joined->conn, told ? 1 : -1);
    joined->told = told;
}

/* SQLite makes each call to all tables that have joined, one after the other and always in the same
 * order: one round. Returns whether the call begins a round. Only this first one has work to do. */
static bool begins_round(ctr_joined *joined, ctr_call call, int level)
{
    ctr_conn *conn = joined->conn;
    bool goes_on = conn->round.call == call && conn->round.level == level &&
                   joined->round != conn->round.number;
    if (!goes_on) conn->round.number++;
    conn->round.call = call;
    conn->round.level = level;
    joined->round = conn->round.number;
    return !goes_on;
}

int ctr_joined_begin(sqlite3_vtab *base)
{
    ctr_joined *joined = (ctr_joined *)base;
    set_told(joined, true);
    joined->round = 0;
    ctr_conn_end_round(joined->conn);
    return SQLITE_OK;
}

/* A table of another module may have counted since the first call. */
int ctr_joined_sync(sqlite3_vtab *base)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_conn *conn = transaction_of(base);
    if (begins_round((ctr_joined *)base, CTR_CALL_SYNC, 0) || conn->noted)
        ctr_events_sync(conn, &problem);
    return ctr_arg_table_problem(base, "COMMIT", &problem);
}

/* Returns whether no other table that was told has noted the end. */
static bool is_first_at_end(ctr_joined *joined)
{
    bool is = !joined->told || joined->conn->told > 0;
    free_message(joined);
    joined->told = false;
    return is;
}

int ctr_joined_commit(sqlite3_vtab *base)
{
    if (is_first_at_end((ctr_joined *)base)) ctr_events_commit(transaction_of(base));
    return SQLITE_OK;
}

int ctr_joined_rollback(sqlite3_vtab *base)
{
    if (is_first_at_end((ctr_joined *)base)) ctr_events_rollback(transaction_of(base));
    return SQLITE_OK;
}

/* A table that joins is told of the last savepoint, even if other tables were told before. After
 * its first savepoint, a table is also called for older ones. */
int ctr_joined_savepoint(sqlite3_vtab *base, int level)
{
    ctr_joined *joined = (ctr_joined *)base;
    ctr_problem problem = {SQLITE_OK, NULL};
    set_told(joined, true);
    bool is_known = joined->round == 0 && level < joined->conn->depth;
    if (!is_known && begins_round(joined, CTR_CALL_SAVEPOINT, level))
        ctr_events_savepoint(joined->conn, level, &problem);
    return ctr_arg_table_problem(base, "SAVEPOINT", &problem);
}

int ctr_joined_release(sqlite3_vtab *base, int level)
{
    if (begins_round((ctr_joined *)base, CTR_CALL_RELEASE, level))
        ctr_events_release(transaction_of(base), level);
    return SQLITE_OK;
}

int ctr_joined_rollback_to(sqlite3_vtab *base, int level)
{
    if (begins_round((ctr_joined *)base, CTR_CALL_ROLLBACK_TO, level))
        ctr_events_rollback_to(transaction_of(base), level);
    return SQLITE_OK;
}

/* ---- a table that is created or dropped within a transaction --------------------------------- */

static int tell_main(ctr_joined *joined, ctr_problem *problem)
{
    if (!ctr_conn_join(joined->conn, problem))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "a table in main has the name counter_witness, which is reserved");
    return problem->rc;
}

int ctr_joined_witness(ctr_joined *joined, ctr_problem *problem)
{
    tell_main(joined, problem);
    ctr_problem_where(problem, "counting in a table that this transaction has created, without a "
                               "SAVEPOINT in between, locks main until the COMMIT");
    return problem->rc;
}

int ctr_joined_pass_on(ctr_joined *joined, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || joined->conn->told > joined->told) return problem->rc;
    return tell_main(joined, problem);
}

/* The next round may begin with another table. */
void ctr_joined_leave(ctr_joined *joined)
{
    set_told(joined, false);
    joined->conn->round.call = CTR_CALL_NONE;
}

/* ---- two empty tables of the connection ------------------------------------------------------ */

/*     counter_witness       joins transactions and passes on SQLite's calls. Counter tables join by
 *                           themselves; counter_inc on ordinary tables needs this one, as does a
 *                           table that is created or dropped within the transaction
 *     counter_statements    keeps prepared statements until the connection closes. No kept
 *                           statement may name it, or it would never be freed; so there are two
 */

static int internal_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                            sqlite3_vtab **base, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(empty)");
    if (rc != SQLITE_OK) return rc;
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    ctr_joined *table = sqlite3_malloc64(sizeof *table);
    if (!table) return SQLITE_NOMEM;
    *table = (ctr_joined){.conn = aux};
    *base = &table->base;
    return SQLITE_OK;
}

static int internal_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base->zErrMsg);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int statements_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                              sqlite3_vtab **base, char **message)
{
    int rc = internal_connect(db, aux, argc, argv, base, message);
    if (rc == SQLITE_OK) ctr_conn_set_statements(aux, true);
    return rc;
}

static int statements_disconnect(sqlite3_vtab *base)
{
    ctr_conn_set_statements(((ctr_joined *)base)->conn, false);
    return internal_disconnect(base);
}

static int internal_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    info->estimatedCost = 1;
    info->estimatedRows = 1;
    return SQLITE_OK;
}

static int internal_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor)
{
    (void)base;
    *cursor = sqlite3_malloc64(sizeof **cursor);
    if (!*cursor) return SQLITE_NOMEM;
    memset(*cursor, 0, sizeof **cursor);
    return SQLITE_OK;
}

static int internal_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int internal_filter(sqlite3_vtab_cursor *cursor, int plan, const char *plan_text, int argc,
                           sqlite3_value **argv)
{
    (void)cursor;
    (void)plan;
    (void)plan_text;
    (void)argc;
    (void)argv;
    return SQLITE_OK;
}

static int internal_next(sqlite3_vtab_cursor *cursor)
{
    (void)cursor;
    return SQLITE_OK;
}

static int internal_eof(sqlite3_vtab_cursor *cursor)
{
    (void)cursor;
    return 1;
}

static int internal_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int column)
{
    (void)cursor;
    (void)ctx;
    (void)column;
    return SQLITE_OK;
}

static int internal_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
    (void)cursor;
    *rowid = 0;
    return SQLITE_OK;
}

static int witness_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    (void)argc;
    (void)argv;
    (void)rowid;
    sqlite3_free(base->zErrMsg);
    base->zErrMsg = sqlite3_mprintf("counter_witness: it has no rows");
    return base->zErrMsg ? SQLITE_READONLY : SQLITE_NOMEM;
}

static int witness_begin(sqlite3_vtab *base)
{
    ctr_conn_set_joined(((ctr_joined *)base)->conn, true);
    return ctr_joined_begin(base);
}

static int witness_commit(sqlite3_vtab *base)
{
    ctr_conn_set_joined(((ctr_joined *)base)->conn, false);
    return ctr_joined_commit(base);
}

static int witness_rollback(sqlite3_vtab *base)
{
    ctr_conn_set_joined(((ctr_joined *)base)->conn, false);
    return ctr_joined_rollback(base);
}

/* An SQLite built without PRAGMA module_list always gives false. */
int ctr_joined_is_registered(sqlite3 *db, bool *is)
{
    bool found = false;
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(db, "main", NULL, &problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRANSACTION_MODULES);
    while (!found && ctr_run_row(&run, row)) {
        const char *name = ctr_text_column(row, 0, &problem);
        found = name && strcmp(name, "counter_statements") == 0;
    }
    sqlite3_finalize(row);
    int rc = ctr_problem_rolls_back(problem.rc) ? problem.rc : SQLITE_OK;
    ctr_problem_close(&problem);
    *is = found;
    return rc;
}

int ctr_joined_renew_witness(ctr_conn *conn, int number)
{
    char name[CTR_WITNESS_NAME_SIZE];
    /* No xCreate, here and below: the tables exist by themselves and cannot be created. */
    static const sqlite3_module WITNESS = {.iVersion = 2,
                                           .xConnect = internal_connect,
                                           .xBestIndex = internal_best_index,
                                           .xDisconnect = internal_disconnect,
                                           .xOpen = internal_open,
                                           .xClose = internal_close,
                                           .xFilter = internal_filter,
                                           .xNext = internal_next,
                                           .xEof = internal_eof,
                                           .xColumn = internal_column,
                                           .xRowid = internal_rowid,
                                           .xUpdate = witness_update,
                                           .xBegin = witness_begin,
                                           .xSync = ctr_joined_sync,
                                           .xCommit = witness_commit,
                                           .xRollback = witness_rollback,
                                           .xSavepoint = ctr_joined_savepoint,
                                           .xRelease = ctr_joined_release,
                                           .xRollbackTo = ctr_joined_rollback_to};
    return sqlite3_create_module_v2(conn->db, ctr_conn_witness_name(number, name), &WITNESS,
                                    ctr_conn_hold(conn), ctr_conn_drop);
}

int ctr_joined_register(sqlite3 *db, ctr_conn *conn)
{
    static const sqlite3_module STATEMENTS_MODULE = {.xConnect = statements_connect,
                                                     .xBestIndex = internal_best_index,
                                                     .xDisconnect = statements_disconnect,
                                                     .xOpen = internal_open,
                                                     .xClose = internal_close,
                                                     .xFilter = internal_filter,
                                                     .xNext = internal_next,
                                                     .xEof = internal_eof,
                                                     .xColumn = internal_column,
                                                     .xRowid = internal_rowid};
    int rc = sqlite3_create_module_v2(db, "counter_statements", &STATEMENTS_MODULE,
                                      ctr_conn_hold(conn), ctr_conn_drop);
    if (rc != SQLITE_OK) return rc;
    return ctr_joined_renew_witness(conn, 0);
}
