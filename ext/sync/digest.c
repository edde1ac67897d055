/* sync/digest.c - hashes rows and adds them up. */
#include "sync/digest.h"

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "identity/uuid.h"
#include "table/floors.h"
#include "table/pack.h"
#include "table/stream.h"
#include "table/values.h"

/* ---- buckets --------------------------------------------------------------------------------- */

/* Returns the number of the key's bucket among `of`. */
static int64_t bucket_of(const ctr_packed *folded_key, int64_t of)
{
    uint8_t hash[CTR_ID_SIZE];
    uint64_t n = 0;
    if (of <= 1) return 0;
    ctr_uuid_of_bytes(folded_key->bytes, folded_key->size, hash);
    for (int i = CTR_ID_SIZE / 2; i < CTR_ID_SIZE; i++) n = n << 8 | hash[i];
    return (int64_t)(n % (uint64_t)of);
}

bool ctr_digest_bucket_has(const ctr_bucket *bucket, const ctr_packed *folded_key)
{
    return bucket_of(folded_key, bucket->of) == bucket->number;
}

bool ctr_digest_bucket_from_text(ctr_bucket *bucket, const char *text)
{
    char *end;
    if (*text < '0' || *text > '9') return false;
    bucket->number = strtoll(text, &end, 10);
    if (*end != '/' || end[1] < '1' || end[1] > '9') return false;
    bucket->of = strtoll(end + 1, &end, 10);
    return !*end && bucket->of <= CTR_BUCKETS_MAX && bucket->number < bucket->of;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A table while its rows are hashed. */
typedef struct hashing {
    const ctr_shape *shape;
    ctr_rows *rows;
    int *by_name; /* counters in the order of their names */
    sqlite3_value **keys;
    ctr_packed bytes;
} hashing;

static void append_bytes(ctr_packed *packed, const void *bytes, size_t size, ctr_problem *problem)
{
    uint8_t *out = ctr_pack_room(packed, CTR_VARINT_MAX + size, problem);
    if (!out) return;
    uint8_t *at = ctr_varint_put(out, size);
    memcpy(at, bytes, size);
    packed->size += (size_t)(at - out) + size;
}

void ctr_digest_add(ctr_digest *digest, const ctr_packed *row)
{
    uint8_t hash[CTR_ID_SIZE];
    ctr_uuid_of_bytes(row->bytes, row->size, hash);
    uint64_t low = ctr_bytes_get(hash + CTR_ID_SIZE / 2);
    digest->low += low;
    digest->high += ctr_bytes_get(hash) + (digest->low < low);
    digest->rows++;
}

static void hash_row(hashing *job, ctr_digest *digests, int64_t n, sqlite3_stmt *row,
                     ctr_problem *problem)
{
    for (int i = 0; i < job->shape->n_keys; i++)
        job->keys[i] = sqlite3_column_value(row, CTR_WALK_COLUMNS + job->shape->keys[i]);
    if (ctr_pack_folded(&job->bytes, job->shape, job->keys, problem)) return;
    int64_t bucket = bucket_of(&job->bytes, n);
    bool any = false; /* touched counter */
    for (int i = 0; i < job->shape->n_counters && problem->rc == SQLITE_OK; i++) {
        ctr_cell cell;
        int counter = job->by_name[i], column = job->shape->counters[counter];
        if (ctr_values_open_cell(job->rows, row, CTR_WALK_COLUMNS + column, counter, &cell,
                                 problem))
            return;
        if (ctr_cell_is_untouched(&cell)) continue;
        const char *name = ctr_shape_counter_name(job->shape, counter);
        append_bytes(&job->bytes, name, strlen(name), problem);
        append_bytes(&job->bytes, cell.bytes, cell.size, problem);
        any = true;
    }
    if (any && problem->rc == SQLITE_OK) ctr_digest_add(&digests[bucket], &job->bytes);
}

int ctr_digest_rows(ctr_digest *digests, int64_t n, ctr_rows *rows, ctr_problem *problem)
{
    const ctr_shape *shape = rows->shape;
    hashing job = {.shape = shape, .rows = rows};
    job.by_name = sqlite3_malloc64(((size_t)shape->n_counters + 1) * sizeof *job.by_name);
    job.keys = sqlite3_malloc64((size_t)shape->n_keys * sizeof *job.keys);
    if (!job.by_name || !job.keys) ctr_problem_nomem(problem);
    if (problem->rc == SQLITE_OK) {
        ctr_walk walk;
        for (int i = 0, at; i < shape->n_counters; i++) { /* an insertion sort */
            const char *name = ctr_shape_counter_name(shape, i);
            for (at = i; at > 0; at--) {
                const char *other = ctr_shape_counter_name(shape, job.by_name[at - 1]);
                if (strcmp(other, name) <= 0) break;
                job.by_name[at] = job.by_name[at - 1];
            }
            job.by_name[at] = i;
        }
        ctr_stream_walk_open(&walk, rows, CTR_WALK_ALL, 0, problem);
        while (ctr_stream_walk_next(&walk, problem)) hash_row(&job, digests, n, walk.row, problem);
        ctr_stream_walk_close(&walk);
    }
    sqlite3_free(job.by_name);
    sqlite3_free(job.keys);
    sqlite3_free(job.bytes.bytes);
    return problem->rc;
}

/* ---- the end --------------------------------------------------------------------------------- */

void ctr_digest_finish(const ctr_digest *digest, const ctr_packed *floors,
                       const ctr_packed *columns, uint8_t out[CTR_ID_SIZE])
{
    uint8_t bytes[3 * 8 + 2 * CTR_ID_SIZE] = {0};
    bool aged = columns && columns->size > 0;
    size_t size = aged ? sizeof bytes : sizeof bytes - CTR_ID_SIZE;
    ctr_bytes_put(bytes, digest->high);
    ctr_bytes_put(bytes + 8, digest->low);
    ctr_bytes_put(bytes + 16, (uint64_t)digest->rows);
    if (floors && floors->size > 0) ctr_uuid_of_bytes(floors->bytes, floors->size, bytes + 24);
    if (aged) ctr_uuid_of_bytes(columns->bytes, columns->size, bytes + 24 + CTR_ID_SIZE);
    ctr_uuid_of_bytes(bytes, size, out);
}

/* Returns the lowest name above `last` among the counters with a generation higher than 1. */
static const char *next_name(const ctr_shape *shape, const char *last, int64_t *generation)
{
    int64_t of;
    const char *least = NULL, *name;
    for (int i = 0; (name = ctr_shape_ever(shape, i, &of)); i++) {
        if (of < 2 || (last && strcmp(name, last) <= 0)) continue;
        if (least && strcmp(name, least) >= 0) continue;
        least = name;
        *generation = of;
    }
    return least;
}

int ctr_digest_table(uint8_t out[CTR_ID_SIZE], ctr_rows *rows, ctr_problem *problem)
{
    const ctr_shape *shape = rows->shape;
    ctr_digest digest = {0, 0, 0};
    ctr_packed floors = {NULL, 0, 0}, columns = {NULL, 0, 0};
    ctr_digest_rows(&digest, 1, rows, problem);

    sqlite3_value **values = sqlite3_malloc64((size_t)shape->n_keys * sizeof *values);
    if (!values) ctr_problem_nomem(problem);
    ctr_slot *found = ctr_floors_read(rows->tab, problem);
    for (int i = 0; found && i < shape->n_keys; i++)
        values[i] = sqlite3_column_value(found->kept.statement, i);
    if (found) ctr_pack_folded(&floors, shape, values, problem);
    ctr_tab_give_back(rows->tab, found, problem);
    sqlite3_free(values);

    const char *name = NULL;
    int64_t generation;
    while (problem->rc == SQLITE_OK && (name = next_name(shape, name, &generation))) {
        uint8_t bytes[8];
        ctr_bytes_put(bytes, (uint64_t)generation);
        append_bytes(&columns, name, strlen(name), problem);
        append_bytes(&columns, bytes, sizeof bytes, problem);
    }
    ctr_digest_finish(&digest, &floors, &columns, out);
    sqlite3_free(floors.bytes);
    sqlite3_free(columns.bytes);
    return problem->rc;
}
