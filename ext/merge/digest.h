/* merge/digest.h - equal digests for equal contents, whatever the order of the rows.
 *
 * A row hashes its folded key (table/pack.h), then name and cell of each touched counter, in the
 * order of the names; SHA-1 as in counter_digest, 122 bits. The hashes are added up modulo 2^128. A
 * last hash covers the sum, the number of rows, the floors, and the generations of counters other
 * than 1, in the order of the names. Deleted rows are rows.
 *
 * A digest detects accidental differences, but not rows that an attacker makes up.
 *
 * A table can be digested in parts, so that two files find their differences with a few hundred
 * bytes. A hash of its folded key puts a row into its bucket: the same one in each file.
 */
#ifndef CTR_MERGE_DIGEST_H
#define CTR_MERGE_DIGEST_H

#include "merge/source.h"
#include "table/pack.h"
#include "table/rows.h"

enum { CTR_BUCKETS_MAX = 65536 };

/* One of `of` parts of a table; `of` 0: all of it. */
typedef struct ctr_bucket {
    int64_t number, of;
} ctr_bucket;

/* "3/64": the fourth of 64. */
bool ctr_digest_bucket_from_text(ctr_bucket *bucket, const char *text);

/* Returns whether the key is in the bucket. `of` must not be 0. */
bool ctr_digest_bucket_has(const ctr_bucket *bucket, const ctr_packed *folded_key);

typedef struct ctr_digest {
    uint64_t high, low;
    int64_t rows;
} ctr_digest;

/* Adds up the rows of a table, each in the digest of its bucket. Zeroes the n digests first. */
int ctr_digest_rows(ctr_digest *digests, int64_t n, ctr_rows *rows, ctr_problem *problem);

/* Writes the digest as users see it, with the floors and the generations of a table unless they are
 * NULL or empty. */
void ctr_digest_finish(const ctr_digest *digest, const ctr_packed *floors,
                       const ctr_packed *columns, uint8_t out[CTR_ID_SIZE]);

/* Writes the digest of a whole table, with its floors and generations. */
int ctr_digest_table(uint8_t out[CTR_ID_SIZE], ctr_rows *rows, ctr_problem *problem);

/* Computes the digest of all shards under `id` in a file. Unless `source` is NULL, returns whether
 * the source has them all too, or later lives.
 *
 * Before a file takes over a name, every replica must have its shards under the negated id, because
 * no file writes them again. Each pull from a replica checks that it has them. The digest proves
 * that none was added since. */
bool ctr_digest_shards(const ctr_source *source, ctr_file *file, const uint8_t id[CTR_ID_SIZE],
                       uint8_t digest[CTR_ID_SIZE], ctr_problem *problem);

#endif
