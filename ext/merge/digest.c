/* merge/digest.c - hashes rows and adds them up; looks shards up in another file. */
#include "merge/merge.h"

#include <string.h>

#include "file/uuid.h"

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

/* ---- rows ------------------------------------------------------------------------------------ */

/* A table while its rows are hashed. */
typedef struct hashing {
    const ctr_shape *shape;
    ctr_row *row;
    int *by_name; /* counters in the order of their names */
    sqlite3_value **keys;
    ctr_packed bytes;
    ctr_row_giver giver; /* of a replicated table */
} hashing;

static void append_bytes(ctr_conn *conn, ctr_packed *packed, const void *bytes, size_t size)
{
    uint8_t *out = ctr_pack_room(conn, packed, CTR_VARINT_MAX + size);
    if (!out) return;
    uint8_t *at = ctr_varint_put(out, size);
    memcpy(at, bytes, size);
    packed->size += (size_t)(at - out) + size;
}

static void add_hash(ctr_digest *digest, const ctr_packed *row)
{
    uint8_t hash[CTR_ID_SIZE];
    ctr_uuid_of_bytes(row->bytes, row->size, hash);
    uint64_t low = ctr_bytes_get(hash + CTR_ID_SIZE / 2);
    digest->low += low;
    digest->high += ctr_bytes_get(hash) + (digest->low < low);
    digest->rows++;
}

static void hash_row(hashing *job, ctr_digest *digests, int64_t n, sqlite3_stmt *row)
{
    ctr_conn *conn = job->row->conn;
    for (int i = 0; i < job->shape->n_keys; i++)
        job->keys[i] = sqlite3_column_value(row, CTR_WALK_COLUMNS + job->shape->keys[i]);
    if (ctr_pack_folded(conn, &job->bytes, job->shape, job->keys)) return;
    int64_t bucket = bucket_of(&job->bytes, n);
    bool any = ctr_row_feed_read(conn, &job->giver, row, job->keys); /* or touched counter */
    if (any) append_bytes(conn, &job->bytes, "", 0);
    if (any) append_bytes(conn, &job->bytes, job->giver.regular.bytes, job->giver.regular.size);
    for (int i = 0; i < job->shape->n_counters && ctr_rc(conn) == SQLITE_OK; i++) {
        ctr_cell cell;
        int counter = job->by_name[i], column = job->shape->counters[counter];
        if (ctr_row_open_cell(job->row, row, CTR_WALK_COLUMNS + column, counter, &cell)) return;
        if (ctr_cell_is_untouched(&cell)) continue;
        const char *name = ctr_shape_counter_name(job->shape, counter);
        append_bytes(conn, &job->bytes, name, strlen(name));
        append_bytes(conn, &job->bytes, cell.bytes, cell.size);
        any = true;
    }
    if (any && ctr_rc(conn) == SQLITE_OK) add_hash(&digests[bucket], &job->bytes);
}

void ctr_digest_rows(ctr_digest *digests, int64_t n, ctr_row *row)
{
    const ctr_shape *shape = row->shape;
    hashing job = {.shape = shape, .row = row};
    job.by_name = sqlite3_malloc64(((size_t)shape->n_counters + 1) * sizeof *job.by_name);
    job.keys = sqlite3_malloc64((size_t)shape->n_keys * sizeof *job.keys);
    if (!job.by_name || !job.keys) ctr_problem_nomem(row->conn);
    ctr_row_feed_open(&job.giver, row->tab);
    if (ctr_rc(row->conn) == SQLITE_OK) {
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
        ctr_stream_walk_open(&walk, row, CTR_WALK_ALL, 0);
        while (ctr_stream_walk_next(&walk)) hash_row(&job, digests, n, walk.row);
        ctr_stream_walk_close(&walk);
    }
    ctr_row_feed_close(&job.giver);
    sqlite3_free(job.by_name);
    sqlite3_free(job.keys);
    sqlite3_free(job.bytes.bytes);
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

/* Returns the lowest name above `last` among the counters with a generation higher than 1, and the
 * bounded ones. *state: its generation, and 2^32 more if it is bounded. */
static const char *next_name(const ctr_shape *shape, const char *last, int64_t *state)
{
    enum { BOUNDED = 32 /* bits */ };
    int64_t of;
    const char *least = NULL, *name;
    for (int i = 0; (name = ctr_shape_ever(shape, i, &of)); i++) {
        if (i < shape->n_counters && shape->columns[shape->counters[i]].bounded)
            of += INT64_C(1) << BOUNDED;
        if (of < 2 || (last && strcmp(name, last) <= 0)) continue;
        if (least && strcmp(name, least) >= 0) continue;
        least = name;
        *state = of;
    }
    return least;
}

int ctr_digest_table(uint8_t out[CTR_ID_SIZE], ctr_row *row)
{
    const ctr_shape *shape = row->shape;
    ctr_digest digest = {0, 0, 0};
    ctr_packed floors = {NULL, 0, 0}, columns = {NULL, 0, 0};
    ctr_digest_rows(&digest, 1, row);

    sqlite3_value **values = sqlite3_malloc64((size_t)shape->n_keys * sizeof *values);
    if (!values) ctr_problem_nomem(row->conn);
    ctr_slot *found = ctr_floors_read(row->tab);
    for (int i = 0; found && i < shape->n_keys; i++)
        values[i] = sqlite3_column_value(found->kept.statement, i);
    if (found) ctr_pack_folded(row->conn, &floors, shape, values);
    ctr_tab_give_back(row->tab, found);
    sqlite3_free(values);

    const char *name = NULL;
    int64_t state;
    while (ctr_rc(row->conn) == SQLITE_OK && (name = next_name(shape, name, &state))) {
        uint8_t bytes[8];
        ctr_bytes_put(bytes, (uint64_t)state);
        append_bytes(row->conn, &columns, name, strlen(name));
        append_bytes(row->conn, &columns, bytes, sizeof bytes);
    }
    ctr_digest_finish(&digest, &floors, &columns, out);
    sqlite3_free(floors.bytes);
    sqlite3_free(columns.bytes);
    return ctr_rc(row->conn);
}

/* ---- the shards of an id --------------------------------------------------------------------- */

/* One table on both sides. */
typedef struct holds_job {
    const ctr_source *source; /* NULL: there is no other side */
    ctr_file *file;
    const uint8_t *id;
    const ctr_catalog_entry *entry;
    ctr_shape shape, other_shape;
    ctr_row row, other;
    sqlite3_value **keys;
    ctr_packed bytes;
    bool there, holds; /* the source has the table; everything seen so far */
    ctr_digest *digest;
} holds_job;

static void append_word(ctr_conn *conn, ctr_packed *bytes, const char *text)
{
    size_t size = strlen(text) + 1;
    uint8_t *out = ctr_pack_room(conn, bytes, size);
    if (!out) return;
    memcpy(out, text, size);
    bytes->size += size;
}

static void add_shard(holds_job *job, const char *counter, const ctr_cell *cell,
                      const ctr_shard *shard)
{
    ctr_conn *conn = job->file->conn;
    char numbers[64];
    sqlite3_snprintf(sizeof numbers, numbers, "%u %lld", cell->life, (long long)shard->clock);
    ctr_pack_folded(conn, &job->bytes, &job->shape, job->keys);
    append_word(conn, &job->bytes, job->entry->birth);
    append_word(conn, &job->bytes, counter);
    append_word(conn, &job->bytes, numbers);
    if (ctr_rc(conn) == SQLITE_OK) add_hash(job->digest, &job->bytes);
}

static void walk_row(holds_job *job, sqlite3_stmt *row)
{
    const ctr_shape *shape = &job->shape;
    bool looked = false;
    for (int i = 0; i < shape->n_keys; i++)
        job->keys[i] = sqlite3_column_value(row, CTR_WALK_COLUMNS + shape->keys[i]);
    for (int c = 0; c < shape->n_counters && ctr_rc(job->file->conn) == SQLITE_OK; c++) {
        ctr_cell cell;
        ctr_shard shard, found;
        const ctr_column *column = &shape->columns[shape->counters[c]];
        if (ctr_row_open_cell(&job->row, row, CTR_WALK_COLUMNS + shape->counters[c], c, &cell) ||
            !ctr_cell_shard(&cell, job->id, &shard))
            continue;
        add_shard(job, column->name, &cell, &shard);
        if (job->there && !looked) ctr_row_find_key(&job->other, job->keys);
        looked = true;
        if (!job->source || ctr_rc(job->file->conn) != SQLITE_OK) continue;
        int theirs = job->there
                         ? ctr_shape_counter_of(&job->other_shape, column->name, column->generation)
                         : -1;
        const ctr_cell *other = theirs >= 0 ? &job->other.cells[theirs] : NULL;
        job->holds = job->holds && other &&
                     (other->life > cell.life ||
                      (other->life == cell.life && ctr_cell_shard(other, job->id, &found) &&
                       found.clock >= shard.clock));
    }
}

static void walk_table(holds_job *job)
{
    ctr_conn *conn = job->file->conn;
    ctr_walk walk;
    const char *name = job->entry->name;
    if (ctr_tab_read_shape(job->file, name, &job->shape)) return;
    job->keys = sqlite3_malloc64((size_t)job->shape.n_keys * sizeof *job->keys);
    if (!job->keys) ctr_problem_nomem(conn);
    ctr_row_open(&job->row, job->file, name, &job->shape);
    const ctr_source *source = job->source;
    if (source && ctr_rc(conn) == SQLITE_OK) {
        ctr_catalog_entry theirs = {0};
        const char *birth = job->entry->birth;
        job->there = ctr_catalog_born(&theirs, source->conn, source->schema, birth);
        if (job->there) ctr_tab_read_shape(source->file, theirs.name, &job->other_shape);
        if (job->there)
            ctr_shape_check_keys(conn, &job->other_shape, "the giving file", &job->shape,
                                 "the taking file");
        if (job->there && ctr_rc(conn) == SQLITE_OK)
            ctr_row_open(&job->other, source->file, theirs.name, &job->other_shape);
        job->other.whole = true;
        ctr_catalog_close_entry(&theirs);
    }
    ctr_stream_walk_open(&walk, &job->row, CTR_WALK_ALL, 0);
    while (ctr_stream_walk_next(&walk)) walk_row(job, walk.row);
    ctr_stream_walk_close(&walk);
}

bool ctr_digest_shards(const ctr_source *source, ctr_file *file, const uint8_t id[CTR_ID_SIZE],
                       uint8_t digest[CTR_ID_SIZE])
{
    ctr_catalog catalog = {0};
    ctr_digest sum = {0, 0, 0};
    bool holds = true;
    ctr_catalog_read(&catalog, file);
    for (int i = 0; i < catalog.n && ctr_rc(file->conn) == SQLITE_OK; i++) {
        holds_job job = {.source = source,
                         .file = file,
                         .id = id,
                         .entry = &catalog.entries[i],
                         .holds = true,
                         .digest = &sum};
        walk_table(&job);
        holds = holds && job.holds;
        ctr_row_close(&job.row);
        ctr_row_close(&job.other);
        ctr_shape_close(&job.shape);
        ctr_shape_close(&job.other_shape);
        sqlite3_free(job.keys);
        sqlite3_free(job.bytes.bytes);
    }
    ctr_catalog_close(&catalog);
    ctr_digest_finish(&sum, NULL, NULL, digest);
    return holds && ctr_rc(file->conn) == SQLITE_OK;
}
