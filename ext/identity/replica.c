/* identity/replica.c - the files of a connection. */
#include "identity/replica.h"

#include <string.h>

#include "sqlite/run.h"

static void free_replica(ctr_replica *replica)
{
    ctr_transaction_close_kept(&replica->read);
    ctr_transaction_close_kept(&replica->renew);
    ctr_transaction_close_kept(&replica->probe);
    ctr_storage_close(&replica->storage);
    if (replica->journals) replica->transaction->tables->close(replica);
    sqlite3_free(replica->schema);
    sqlite3_free(replica);
}

void ctr_replica_close_all(ctr_transaction *transaction)
{
    while (transaction->replicas) {
        ctr_replica *replica = transaction->replicas;
        transaction->replicas = replica->next;
        free_replica(replica);
    }
}

/* Frees detached files: an application may attach thousands of files, one after the other, each
 * under its own name. */
static void free_detached(ctr_transaction *transaction)
{
    ctr_replica **at = &transaction->replicas;
    while (*at) {
        ctr_replica *replica = *at;
        if (replica->holders > 0 || ctr_run_has_schema(transaction->db, replica->schema)) {
            at = &replica->next;
        } else {
            *at = replica->next;
            free_replica(replica);
        }
    }
}

ctr_replica *ctr_replica_of(ctr_transaction *transaction, const char *schema)
{
    for (ctr_replica *replica = transaction->replicas; replica; replica = replica->next)
        if (sqlite3_stricmp(replica->schema, schema) == 0) return replica;
    free_detached(transaction);
    ctr_replica *replica = sqlite3_malloc64(sizeof *replica);
    char *name = sqlite3_mprintf("%s", schema);
    if (!replica || !name) {
        sqlite3_free(replica);
        sqlite3_free(name);
        return NULL;
    }
    memset(replica, 0, sizeof *replica);
    replica->transaction = transaction;
    replica->schema = name;
    replica->next = transaction->replicas;
    transaction->replicas = replica;
    return replica;
}

ctr_replica *ctr_replica_hold(ctr_transaction *transaction, const char *schema)
{
    ctr_replica *replica = ctr_replica_of(transaction, schema);
    if (replica) replica->holders++;
    return replica;
}

void ctr_replica_let_go(ctr_replica *replica)
{
    if (replica) replica->holders--;
}

unsigned ctr_replica_version(ctr_replica *replica)
{
    return replica->checked ? replica->version
                            : ctr_run_data_version(replica->transaction->db, replica->schema);
}

void ctr_replica_forget(ctr_replica *replica)
{
    replica->checked = replica->renewed = false;
    replica->after = CTR_AFTER_NOTHING;
}
