/* sync/shards.c - digests shards and looks them up in another file. */
#include "sync/shards.h"

#include <string.h>

#include "sync/digest.h"
#include "table/catalog.h"
#include "table/pack.h"
#include "table/rows.h"
#include "table/shape.h"
#include "table/stored.h"
#include "table/stream.h"
#include "table/values.h"

/* One table on both sides. */
typedef struct holds_job {
    const ctr_source *source; /* NULL: there is no other side */
    ctr_file *file;
    const uint8_t *id;
    const ctr_catalog_entry *entry;
    ctr_shape shape, other_shape;
    ctr_rows rows, other;
    sqlite3_value **keys;
    ctr_packed bytes;
    bool there, holds; /* the source has the table; everything seen so far */
    ctr_digest *digest;
} holds_job;

static void append_word(ctr_packed *bytes, const char *text, ctr_problem *problem)
{
    size_t size = strlen(text) + 1;
    uint8_t *out = ctr_pack_room(bytes, size, problem);
    if (!out) return;
    memcpy(out, text, size);
    bytes->size += size;
}

static void add_shard(holds_job *job, const char *counter, const ctr_cell *cell,
                      const ctr_shard *shard, ctr_problem *problem)
{
    char numbers[64];
    sqlite3_snprintf(sizeof numbers, numbers, "%u %lld", cell->life, (long long)shard->clock);
    ctr_pack_folded(&job->bytes, &job->shape, job->keys, problem);
    append_word(&job->bytes, job->entry->birth, problem);
    append_word(&job->bytes, counter, problem);
    append_word(&job->bytes, numbers, problem);
    if (problem->rc == SQLITE_OK) ctr_digest_add(job->digest, &job->bytes);
}

static void walk_row(holds_job *job, sqlite3_stmt *row, ctr_problem *problem)
{
    const ctr_shape *shape = &job->shape;
    bool looked = false;
    for (int i = 0; i < shape->n_keys; i++)
        job->keys[i] = sqlite3_column_value(row, CTR_WALK_COLUMNS + shape->keys[i]);
    for (int c = 0; c < shape->n_counters && problem->rc == SQLITE_OK; c++) {
        ctr_cell cell;
        ctr_shard shard, found;
        const ctr_column *column = &shape->columns[shape->counters[c]];
        if (ctr_values_open_cell(&job->rows, row, CTR_WALK_COLUMNS + shape->counters[c], c, &cell,
                                 problem) ||
            !ctr_cell_shard(&cell, job->id, &shard))
            continue;
        add_shard(job, column->name, &cell, &shard, problem);
        if (job->there && !looked) ctr_rows_find_key(&job->other, job->keys, problem);
        looked = true;
        if (!job->source || problem->rc != SQLITE_OK) continue;
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

static void walk_table(holds_job *job, ctr_problem *problem)
{
    ctr_walk walk;
    const char *name = job->entry->name;
    if (ctr_tab_read_shape(job->file, name, &job->shape, problem)) return;
    job->keys = sqlite3_malloc64((size_t)job->shape.n_keys * sizeof *job->keys);
    if (!job->keys) ctr_problem_nomem(problem);
    ctr_rows_open(&job->rows, job->file, name, &job->shape, problem);
    const ctr_source *source = job->source;
    if (source && problem->rc == SQLITE_OK) {
        ctr_catalog_entry theirs = {0};
        const char *birth = job->entry->birth;
        job->there = ctr_catalog_born(&theirs, source->db, source->schema, birth, problem);
        if (job->there) ctr_tab_read_shape(source->file, theirs.name, &job->other_shape, problem);
        if (job->there)
            ctr_shape_check_keys(&job->other_shape, "the giving file", &job->shape,
                                 "the taking file", problem);
        if (job->there && problem->rc == SQLITE_OK)
            ctr_rows_open(&job->other, source->file, theirs.name, &job->other_shape, problem);
        job->other.whole = true;
        ctr_catalog_close_entry(&theirs);
    }
    ctr_stream_walk_open(&walk, &job->rows, CTR_WALK_ALL, 0, problem);
    while (ctr_stream_walk_next(&walk, problem)) walk_row(job, walk.row, problem);
    ctr_stream_walk_close(&walk);
}

bool ctr_shards_digest(const ctr_source *source, ctr_file *file, const uint8_t id[CTR_ID_SIZE],
                       uint8_t digest[CTR_ID_SIZE], ctr_problem *problem)
{
    ctr_catalog catalog = {0};
    ctr_digest sum = {0, 0, 0};
    bool holds = true;
    ctr_catalog_read(&catalog, file, problem);
    for (int i = 0; i < catalog.n && problem->rc == SQLITE_OK; i++) {
        holds_job job = {.source = source,
                         .file = file,
                         .id = id,
                         .entry = &catalog.entries[i],
                         .holds = true,
                         .digest = &sum};
        walk_table(&job, problem);
        holds = holds && job.holds;
        ctr_rows_close(&job.rows);
        ctr_rows_close(&job.other);
        ctr_shape_close(&job.shape);
        ctr_shape_close(&job.other_shape);
        sqlite3_free(job.keys);
        sqlite3_free(job.bytes.bytes);
    }
    ctr_catalog_close(&catalog);
    ctr_digest_finish(&sum, NULL, NULL, digest);
    return holds && problem->rc == SQLITE_OK;
}
