/* vtab/shared.c - what the modules and functions of one connection share. */
#include "vtab/shared.h"

#include "table/events.h"

ctr_shared *ctr_shared_new(sqlite3 *db, ctr_register_all *register_all)
{
    ctr_shared *shared = sqlite3_malloc64(sizeof *shared);
    if (!shared) return NULL;
    *shared = (ctr_shared){.holders = 1, .transaction = NULL};
    shared->transaction = ctr_transaction_open(db, ctr_internal_renew_witness, shared);
    shared->db = db;
    shared->register_all = register_all;
    if (shared->transaction) {
        shared->transaction->tables = ctr_events_tables();
        return shared;
    }
    sqlite3_free(shared);
    return NULL;
}

ctr_shared *ctr_shared_hold(ctr_shared *shared)
{
    shared->holders++;
    return shared;
}

void ctr_shared_drop(void *holder)
{
    ctr_shared *shared = holder;
    if (--shared->holders > 0) return;
    ctr_replica_close_all(shared->transaction);
    ctr_transaction_close(shared->transaction);
    if (shared->fronts) shared->close_fronts(shared->fronts);
    sqlite3_free(shared);
}

int ctr_shared_functions(sqlite3 *db, ctr_shared *shared, const ctr_function *functions, size_t n)
{
    int rc = SQLITE_OK;
    for (const ctr_function *made = functions; made < functions + n; made++)
        for (int argc = made->least; argc <= made->most && rc == SQLITE_OK; argc++)
            rc = sqlite3_create_function_v2(db, made->name, argc, made->flags,
                                            shared ? ctr_shared_hold(shared) : NULL, made->call,
                                            NULL, NULL, shared ? ctr_shared_drop : NULL);
    return rc;
}
