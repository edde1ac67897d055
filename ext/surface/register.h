/* surface/register.h - what each file of the surface gives to a connection. */
#ifndef CTR_SURFACE_REGISTER_H
#define CTR_SURFACE_REGISTER_H

#include "store/guard.h"
#include "surface/clusters.h"
#include "sync/session.h"

/* How an SQL function may be used. PURE: its result depends on its arguments alone. READS: it looks
 * at the identity. ADMIN: it changes the file, so it may stand in no trigger and no view. */
enum {
    CTR_PURE = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
    CTR_READS = SQLITE_UTF8,
    CTR_ADMIN = SQLITE_UTF8 | SQLITE_DIRECTONLY
};

int ctr_cells_register(sqlite3 *db);      /* functions of cells */
int ctr_aggregates_register(sqlite3 *db); /* counter_merge(cell), counter_sum, counter_collect */
int ctr_shards_register(sqlite3 *db);     /* counter_shards */
int ctr_contexts_register(sqlite3 *db);   /* counter_from_cassandra, counter_to_cassandra */
int ctr_keys_register(sqlite3 *db);       /* counter_key, _key_json, _mark, _seen */

/* A packed key that was checked as JSON, to be freed with sqlite3_free; NULL: no memory. */
char *ctr_keys_json(const uint8_t *key, size_t size);

/* What those share that work with files: the connection's guard, the sync that is running, the
 * clusters. */
typedef struct ctr_shared ctr_shared;

/* Registers all of this on another connection, which lends what it shares. */
typedef int ctr_register_all(sqlite3 *db, ctr_shared **shared);

struct ctr_shared {
    sqlite3 *db;
    ctr_register_all *register_all;
    ctr_guard *guard;
    ctr_sessions sessions;
    ctr_clusters clusters;
    int holders;
};

/* The caller holds it; NULL if there is no memory. Each module and each function holds it as its
 * user data. */
ctr_shared *ctr_shared_new(sqlite3 *db, ctr_register_all *register_all);
ctr_shared *ctr_shared_hold(ctr_shared *shared);

/* Frees it with its last holder. */
void ctr_shared_drop(void *shared);

int ctr_replica_register(sqlite3 *db, ctr_shared *shared);  /* counter_inc, _dec, _id */
int ctr_admin_register(sqlite3 *db, ctr_shared *shared);    /* counter_init, _fork, _promote, ... */
int ctr_table_register(sqlite3 *db, ctr_shared *shared);    /* USING counter(...) */
int ctr_exchange_register(sqlite3 *db, ctr_shared *shared); /* counter_pull, _push, _sync */
int ctr_history_register(sqlite3 *db, ctr_shared *shared);  /* counter_identity */
int ctr_changes_register(sqlite3 *db, ctr_shared *shared);  /* counter_changes */
int ctr_contents_register(sqlite3 *db, ctr_shared *shared); /* digests, floors */
int ctr_coordinator_register(sqlite3 *db, ctr_shared *shared); /* USING counter_cluster(...) */
int ctr_status_register(sqlite3 *db, ctr_shared *shared);      /* counter_cluster_status */
int ctr_add_register(sqlite3 *db, ctr_shared *shared);         /* counter_add */
int ctr_track_register(sqlite3 *db, ctr_shared *shared);       /* counter_track, _untrack */
int ctr_states_register(sqlite3 *db, ctr_shared *shared);      /* counter_tracked */
int ctr_size_register(sqlite3 *db, ctr_shared *shared);        /* counter_size, counter_ids */
int ctr_figures_register(sqlite3 *db, ctr_shared *shared);     /* counter_stats, _stats_reset */
int ctr_internal_register(sqlite3 *db, ctr_shared *shared);    /* counter_guard, counter_witness */

/* Is the library in this connection already? A second guard beside the first would not know what
 * that does, so a second load does nothing. Returns a code of SQLite's. */
int ctr_internal_is_registered(sqlite3 *db, bool *is);

/* Registers one more counter_witness, for a new schema of main. */
int ctr_internal_renew_witness(void *shared, int number);

#endif
