/* vtab/internal.c - two empty tables of the connection, for internal use.
 *
 *     counter_witness    joins transactions and passes on SQLite's calls. Counter tables join by
 *                        themselves; counter_inc on ordinary tables needs this one, as does a
 *                        table that is created or dropped within the transaction
 *     counter_guard      keeps prepared statements until the connection closes. No kept statement
 *                        may name it, or it would never be freed; so there are two tables
 */
#include <string.h>

#include "sqlite/text.h"
#include "vtab/joined.h"
#include "vtab/shared.h"

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
    *table = (ctr_joined){.transaction = ((ctr_shared *)aux)->transaction};
    *base = &table->base;
    return SQLITE_OK;
}

static int internal_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base->zErrMsg);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int guard_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **base, char **message)
{
    int rc = internal_connect(db, aux, argc, argv, base, message);
    if (rc == SQLITE_OK) ctr_transaction_set_keeper(((ctr_shared *)aux)->transaction, true);
    return rc;
}

static int guard_disconnect(sqlite3_vtab *base)
{
    ctr_transaction_set_keeper(((ctr_joined *)base)->transaction, false);
    return internal_disconnect(base);
}

/* ---- no rows --------------------------------------------------------------------------------- */

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

/* ---- transactions ---------------------------------------------------------------------------- */

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
    ctr_transaction_set_joined(((ctr_joined *)base)->transaction, true);
    return ctr_joined_begin(base);
}

static int witness_commit(sqlite3_vtab *base)
{
    ctr_transaction_set_joined(((ctr_joined *)base)->transaction, false);
    return ctr_joined_commit(base);
}

static int witness_rollback(sqlite3_vtab *base)
{
    ctr_transaction_set_joined(((ctr_joined *)base)->transaction, false);
    return ctr_joined_rollback(base);
}

/* An SQLite built without PRAGMA module_list always gives false. */
int ctr_internal_is_registered(sqlite3 *db, bool *is)
{
    bool found = false;
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(db, "main", NULL, &problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRANSACTION_MODULES);
    while (!found && ctr_run_row(&run, row)) {
        const char *name = ctr_text_column(row, 0, &problem);
        found = name && strcmp(name, "counter_guard") == 0;
    }
    sqlite3_finalize(row);
    int rc = ctr_problem_rolls_back(problem.rc) ? problem.rc : SQLITE_OK;
    ctr_problem_close(&problem);
    *is = found;
    return rc;
}

int ctr_internal_renew_witness(void *holder, int number)
{
    ctr_shared *shared = holder;
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
    return sqlite3_create_module_v2(shared->db, ctr_transaction_witness_name(number, name),
                                    &WITNESS, ctr_shared_hold(shared), ctr_shared_drop);
}

int ctr_internal_register(sqlite3 *db, ctr_shared *shared)
{
    static const sqlite3_module KEEPER = {.xConnect = guard_connect,
                                          .xBestIndex = internal_best_index,
                                          .xDisconnect = guard_disconnect,
                                          .xOpen = internal_open,
                                          .xClose = internal_close,
                                          .xFilter = internal_filter,
                                          .xNext = internal_next,
                                          .xEof = internal_eof,
                                          .xColumn = internal_column,
                                          .xRowid = internal_rowid};
    int rc = sqlite3_create_module_v2(db, "counter_guard", &KEEPER, ctr_shared_hold(shared),
                                      ctr_shared_drop);
    if (rc != SQLITE_OK) return rc;
    return ctr_internal_renew_witness(shared, 0);
}
