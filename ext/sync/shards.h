/* sync/shards.h - whether another file has all shards that this one has under an id.
 *
 * Before a file takes over a name, every replica must have its shards under the negated id, because
 * no file writes them again. Each pull from a replica checks that it has them. The digest proves
 * that none was added since.
 */
#ifndef CTR_SYNC_SHARDS_H
#define CTR_SYNC_SHARDS_H

#include "sync/source.h"

/* Computes the digest of all shards under `id` in the schema. Unless `source` is NULL, returns
 * whether the source has them all too, or later lives. */
bool ctr_shards_digest(const ctr_source *source, ctr_file *file, const uint8_t id[CTR_ID_SIZE],
                       uint8_t digest[CTR_ID_SIZE], ctr_problem *problem);

#endif
