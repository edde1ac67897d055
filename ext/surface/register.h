/* surface/register.h - what each file of the surface gives to a connection. */
#ifndef CTR_SURFACE_REGISTER_H
#define CTR_SURFACE_REGISTER_H

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
int ctr_replica_register(sqlite3 *db);    /* counter_init, counter_id, counter_inc, counter_dec */
int ctr_shards_register(sqlite3 *db);     /* counter_shards */

/* These two share the running session, and hold it. */
int ctr_table_register(sqlite3 *db, ctr_sessions *sessions);    /* USING counter(...) */
int ctr_exchange_register(sqlite3 *db, ctr_sessions *sessions); /* counter_pull, _push, _sync */

#endif
