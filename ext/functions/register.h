/* functions/register.h - registers the functions of each file of this folder. */
#ifndef CTR_FUNCTIONS_REGISTER_H
#define CTR_FUNCTIONS_REGISTER_H

#include "vtab/shared.h"

int ctr_aggregates_register(sqlite3 *db); /* counter_merge(cell), counter_sum, counter_collect */
int ctr_keys_register(sqlite3 *db, ctr_conn *conn);      /* counter_key, _key_json, _mark, _seen */
int ctr_cells_register(sqlite3 *db, ctr_conn *conn);     /* functions of cells, _shards */
int ctr_increment_register(sqlite3 *db, ctr_conn *conn); /* counter_inc, _dec, _id, _add */
int ctr_admin_register(sqlite3 *db, ctr_conn *conn);     /* counter_init, ..., _identity */
int ctr_exchange_register(sqlite3 *db, ctr_conn *conn);  /* counter_pull, _push, _sync */
int ctr_contents_register(sqlite3 *db, ctr_conn *conn);  /* digests, floors, cells, sizes */
int ctr_status_register(sqlite3 *db, ctr_conn *conn);    /* counter_cluster_status, _stats, ... */
int ctr_track_register(sqlite3 *db, ctr_conn *conn);     /* counter_track, _untrack */
int ctr_opening_register(sqlite3 *db, ctr_conn *conn);   /* counter_opening */

/* Returns a checked packed key as JSON; NULL: no memory. The caller frees it with sqlite3_free. */
char *ctr_keys_json(const uint8_t *key, size_t size);

#endif
