/* sync/holds.h - has another file all shards that stand under an id here?
 *
 * Before a file takes over a name its shards under the negated id must be everywhere, for they are
 * never written again. Each pull from a replica looks whether they are there; the digest says that
 * none has been added since.
 */
#ifndef CTR_SYNC_HOLDS_H
#define CTR_SYNC_HOLDS_H

#include "sync/source.h"

/* The digest of all shards under `id` in the schema. NULL `source`: no more than that; else returns
 * whether the source has them all too, or later lives. */
bool ctr_holds_all(const ctr_source *source, sqlite3 *db, const char *schema,
                   const uint8_t id[CTR_ID_SIZE], uint8_t digest[CTR_ID_SIZE],
                   ctr_problem *problem);

#endif
