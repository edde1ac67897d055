/* sync/bucket.c - hashes keys. */
#include "sync/bucket.h"

#include <stdlib.h>

#include "identity/uuid.h"

int64_t ctr_bucket_of(const ctr_packed *folded_key, int64_t of)
{
    uint8_t hash[CTR_ID_SIZE];
    uint64_t n = 0;
    if (of <= 1) return 0;
    ctr_uuid_of_bytes(folded_key->bytes, folded_key->size, hash);
    for (int i = CTR_ID_SIZE / 2; i < CTR_ID_SIZE; i++) n = n << 8 | hash[i];
    return (int64_t)(n % (uint64_t)of);
}

bool ctr_bucket_has(const ctr_bucket *bucket, const ctr_packed *folded_key)
{
    return ctr_bucket_of(folded_key, bucket->of) == bucket->number;
}

bool ctr_bucket_from_text(ctr_bucket *bucket, const char *text)
{
    char *end;
    if (*text < '0' || *text > '9') return false;
    bucket->number = strtoll(text, &end, 10);
    if (*end != '/' || end[1] < '1' || end[1] > '9') return false;
    bucket->of = strtoll(end + 1, &end, 10);
    return !*end && bucket->of <= CTR_BUCKETS_MAX && bucket->number < bucket->of;
}
