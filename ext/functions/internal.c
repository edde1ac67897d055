/* functions/internal.c - two empty tables of the connection.
 *
 *     counter_witness       joins transactions and passes on SQLite's calls. Counter tables join by
 *                           themselves; counter_inc on ordinary tables needs this one, as does a
 *                           table that is created or dropped within the transaction
 *     counter_statements    keeps prepared statements until the connection closes. No kept
 *                           statement may name it, or it would never be freed; so there are two
 */
#include "functions/functions.h"

static ctr_conn *conn_of(sqlite3_vtab *base)
{
    return ((ctr_joined *)base)->conn;
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
    conn_of(base)->joined = true;
    return ctr_events_begin(base);
}

static int witness_commit(sqlite3_vtab *base)
{
    conn_of(base)->joined = false;
    return ctr_events_commit(base);
}

static int witness_rollback(sqlite3_vtab *base)
{
    conn_of(base)->joined = false;
    return ctr_events_rollback(base);
}

static void extend_witness(sqlite3_module *module)
{
    module->iVersion = 2;
    module->xUpdate = witness_update;
    module->xBegin = witness_begin;
    module->xSync = ctr_events_sync;
    module->xCommit = witness_commit;
    module->xRollback = witness_rollback;
    module->xSavepoint = ctr_events_savepoint;
    module->xRelease = ctr_events_release;
    module->xRollbackTo = ctr_events_rollback_to;
}

static int statements_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                              sqlite3_vtab **base, char **message)
{
    int rc = ctr_answer_connect(db, aux, argc, argv, base, message);
    if (rc == SQLITE_OK) conn_of(*base)->has_statements = true;
    return rc;
}

static int statements_disconnect(sqlite3_vtab *base)
{
    conn_of(base)->has_statements = false;
    ctr_conn_release_kept(conn_of(base));
    return ctr_answer_disconnect(base);
}

static void extend_statements(sqlite3_module *module)
{
    module->xConnect = statements_connect;
    module->xDisconnect = statements_disconnect;
}

static const ctr_answer_kind INTERNAL[] = {
    {.name = "counter_statements",
     .columns = "empty",
     .args = "",
     .works = true,
     .extend = extend_statements},
    {.name = "counter_witness",
     .columns = "empty",
     .args = "",
     .works = true,
     .extend = extend_witness},
};

int ctr_internal_renew_witness(ctr_conn *conn, const char *name)
{
    return ctr_answer_register_as(conn, &INTERNAL[1], name);
}

int ctr_internal_register(sqlite3 *db, ctr_conn *conn)
{
    return ctr_answer_register(db, conn, INTERNAL, sizeof INTERNAL / sizeof *INTERNAL);
}
