/* sync/bucket.h - parts of a table, so that two files find what differs by a few hundred bytes.
 *
 * A row's bucket is told by a hash of its folded key (table/pack.h), so two files put a key into
 * the same one.
 */
#ifndef CTR_SYNC_BUCKET_H
#define CTR_SYNC_BUCKET_H

#include "table/pack.h"

enum { CTR_BUCKETS_MAX = 65536 };

/* One of `of` parts of a table; `of` 0: all of it. */
typedef struct ctr_bucket {
    int64_t number, of;
} ctr_bucket;

/* "3/64": the fourth of 64. */
bool ctr_bucket_from_text(ctr_bucket *bucket, const char *text);

/* Which one of `of`. */
int64_t ctr_bucket_of(const ctr_packed *folded_key, int64_t of);

/* Is the key in the bucket? There is one: `of` is not 0. */
bool ctr_bucket_has(const ctr_bucket *bucket, const ctr_packed *folded_key);

#endif
