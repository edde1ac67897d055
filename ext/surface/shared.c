/* surface/shared.c - what the modules and functions of one connection share. */
#include "surface/register.h"

ctr_shared *ctr_shared_new(sqlite3 *db, ctr_register_all *register_all)
{
    ctr_shared *shared = sqlite3_malloc64(sizeof *shared);
    if (!shared) return NULL;
    *shared = (ctr_shared){.holders = 1, .guard = NULL};
    shared->guard = ctr_guard_open(db, ctr_internal_renew_witness, shared);
    shared->db = db;
    shared->register_all = register_all;
    if (shared->guard) return shared;
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
    ctr_guard_close(shared->guard);
    ctr_clusters_close(&shared->clusters);
    sqlite3_free(shared);
}
