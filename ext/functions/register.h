/* functions/register.h - registers the functions of each file of this folder. */
#ifndef CTR_FUNCTIONS_REGISTER_H
#define CTR_FUNCTIONS_REGISTER_H

#include "vtab/shared.h"

int ctr_cells_register(sqlite3 *db);      /* functions of cells */
int ctr_aggregates_register(sqlite3 *db); /* counter_merge(cell), counter_sum, counter_collect */
int ctr_shards_register(sqlite3 *db);     /* counter_shards */
int ctr_contexts_register(sqlite3 *db);   /* counter_from_cassandra, counter_to_cassandra */
int ctr_keys_register(sqlite3 *db);       /* counter_key, _key_json, _mark, _seen */
int ctr_increment_register(sqlite3 *db, ctr_shared *shared); /* counter_inc, _dec, _id */
int ctr_admin_register(sqlite3 *db, ctr_shared *shared);    /* counter_init, _fork, _promote, ... */
int ctr_exchange_register(sqlite3 *db, ctr_shared *shared); /* counter_pull, _push, _sync */
int ctr_history_register(sqlite3 *db, ctr_shared *shared);  /* counter_identity */
int ctr_contents_register(sqlite3 *db, ctr_shared *shared); /* digests, floors */
int ctr_status_register(sqlite3 *db, ctr_shared *shared);   /* counter_cluster_status */
int ctr_add_register(sqlite3 *db, ctr_shared *shared);      /* counter_add */
int ctr_track_register(sqlite3 *db, ctr_shared *shared);    /* counter_track, _untrack */
int ctr_states_register(sqlite3 *db, ctr_shared *shared);   /* counter_tracked */
int ctr_size_register(sqlite3 *db, ctr_shared *shared);     /* counter_size, counter_ids */
int ctr_figures_register(sqlite3 *db, ctr_shared *shared);  /* counter_stats, _stats_reset */

/* Returns a checked packed key as JSON; NULL: no memory. The caller frees it with sqlite3_free. */
char *ctr_keys_json(const uint8_t *key, size_t size);

#endif
