/* sync/digest.h - equal digests for equal contents, whatever the order of the rows.
 *
 * Each row is hashed: its folded key (table/pack.h), then name and cell of each touched counter, in
 * the order of the names; SHA-1 as in counter_digest, 122 bits. The hashes are added up modulo
 * 2^128, and the sum, the number of rows, the floors and the generations of counters, in the order
 * of the names and but for those that are 1, are hashed once more. Deleted rows are rows.
 *
 * Against chance, not against somebody who makes up rows.
 *
 * A table is digested in parts, so that two files find what differs by a few hundred bytes. A hash
 * of its folded key puts a row into its bucket, so two files put a key into the same one.
 */
#ifndef CTR_SYNC_DIGEST_H
#define CTR_SYNC_DIGEST_H

#include "table/pack.h"

enum { CTR_BUCKETS_MAX = 65536 };

/* One of `of` parts of a table; `of` 0: all of it. */
typedef struct ctr_bucket {
    int64_t number, of;
} ctr_bucket;

/* "3/64": the fourth of 64. */
bool ctr_digest_bucket_from_text(ctr_bucket *bucket, const char *text);

/* Is the key in the bucket? There is one: `of` is not 0. */
bool ctr_digest_bucket_has(const ctr_bucket *bucket, const ctr_packed *folded_key);

typedef struct ctr_digest {
    uint64_t high, low;
    int64_t rows;
} ctr_digest;

/* Adds up the rows of a table, each in that of its bucket, of n, which are zeroed before. */
int ctr_digest_rows(ctr_digest *digests, int64_t n, sqlite3 *db, const char *schema,
                    const char *table, const ctr_shape *shape, ctr_problem *problem);

/* Adds the hash of one thing. */
void ctr_digest_add(ctr_digest *digest, const uint8_t hash[CTR_ID_SIZE]);

/* The digest as it is shown; with the floors and the generations of a table, where they are neither
 * NULL nor empty. */
void ctr_digest_finish(const ctr_digest *digest, const ctr_packed *floors,
                       const ctr_packed *columns, uint8_t out[CTR_ID_SIZE]);

/* The digest of a whole table, floors and generations and all. */
int ctr_digest_table(uint8_t out[CTR_ID_SIZE], sqlite3 *db, const char *schema, const char *table,
                     const ctr_shape *shape, ctr_problem *problem);

#endif
