/* merge/feed.c - gives the changes of main. */
#include "merge/merge.h"

#include <string.h>

/* ---- tables ---------------------------------------------------------------------------------- */

static void leave_table(ctr_feed *feed)
{
    ctr_stream_walk_close(&feed->walk);
    sqlite3_finalize(feed->answers);
    feed->answers = NULL;
    ctr_row_feed_close(&feed->row);
    ctr_rows_close(&feed->rows);
    ctr_shape_close(&feed->shape);
    sqlite3_free(feed->keys);
    sqlite3_free(feed->key_text);
    feed->keys = NULL;
    feed->key_text = NULL;
}

static const char *present_name(const ctr_feed *feed)
{
    return feed->source.catalog.entries[feed->entry].name;
}

/* Makes the floors of the table the current row, if they changed. Returns whether it did. */
static bool take_floors(ctr_feed *feed, ctr_problem *problem)
{
    int n = feed->shape.n_keys;
    ctr_slot *floors = ctr_floors_read(feed->rows.tab, problem);
    sqlite3_stmt *row = floors ? floors->kept.statement : NULL;
    bool found = row && sqlite3_column_int64(row, n) >= feed->query.since;
    if (found) {
        for (int i = 0; i < n; i++) feed->keys[i] = sqlite3_column_value(row, i);
        ctr_pack_values(&feed->key, feed->keys, n, problem);
        feed->number = sqlite3_column_int64(row, n);
        feed->column = NULL;
        feed->generation = 0;
        feed->has_cell = false;
    }
    ctr_tab_give_back(feed->rows.tab, floors, problem);
    return found && problem->rc == SQLITE_OK;
}

/* Steps to the next answer about openings. Returns false after the last. */
static bool step_answer(ctr_feed *feed, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(feed->source.db, feed->source.schema, present_name(feed), problem);
    if (!feed->answers) return false;
    if (!ctr_run_row(&run, feed->answers)) {
        sqlite3_finalize(feed->answers); /* a further step would begin anew */
        feed->answers = NULL;
        return false;
    }
    const void *answer = sqlite3_column_blob(feed->answers, 0);
    size_t size = (size_t)sqlite3_column_bytes(feed->answers, 0);
    if (ctr_openings_check(answer, size, problem)) return false;
    memcpy(feed->answer, answer, sizeof feed->answer);
    feed->cell = (ctr_cell){.bytes = feed->answer, .size = sizeof feed->answer};
    feed->number = sqlite3_column_int64(feed->answers, 1);
    feed->column = NULL;
    feed->generation = 0;
    feed->key.size = 0;
    feed->has_cell = true;
    return true;
}

/* Opens the table number `entry`. Returns whether the current row has its floors. */
static bool enter_table(ctr_feed *feed, ctr_problem *problem)
{
    const ctr_source *source = &feed->source;
    const char *name = present_name(feed);
    feed->table = feed->source.catalog.entries[feed->entry].birth;
    const ctr_objects *objects = ctr_file_objects(source->file, problem);
    if (!objects || ctr_tab_read_shape(source->file, name, &feed->shape, problem) ||
        ctr_refuse_triggers_among(objects, name, false, problem) ||
        ctr_triggers_check(source->file, name, problem))
        return false;
    feed->keys = sqlite3_malloc64((size_t)feed->shape.n_keys * sizeof *feed->keys);
    feed->key_text = ctr_shape_key_text(&feed->shape);
    if (!feed->keys || !feed->key_text) ctr_problem_nomem(problem);
    ctr_rows_open(&feed->rows, source->file, name, &feed->shape, problem);
    feed->rows.whole = true;
    if (feed->shape.replicated && problem->rc == SQLITE_OK)
        ctr_row_feed_open(&feed->row, feed->rows.tab, problem);
    if (feed->scope.n > 0) {
        ctr_stream_walk_open_scope(&feed->walk, &feed->rows, feed->query.since, feed->scope.values,
                                   feed->scope.n, problem);
        ctr_problem_where(problem, "table %s", feed->table); /* a collation may be missing */
    } else {
        ctr_stream_walk_open(&feed->walk, &feed->rows,
                             feed->query.since > 0 ? CTR_WALK_SINCE : CTR_WALK_ALL_NUMBERED,
                             feed->query.since, problem);
    }
    if (feed->query.own) feed->walk.skips = CTR_FED;
    ctr_run run = ctr_run_on(source->db, source->schema, name, problem);
    feed->answers = ctr_run_prepare(&run, CTR_SQL_OPENINGS_ANSWERS);
    ctr_run_bind_int(&run, feed->answers, ":number", feed->query.since);
    feed->named = 0;
    feed->counter = feed->shape.n_counters; /* before the first row */
    return problem->rc == SQLITE_OK && take_floors(feed, problem);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Steps to the next row in the bucket: packs its key and copies its cells. Copies are needed
 * because the host may count while the feed reads through its connection. */
static bool step_row(ctr_feed *feed, ctr_problem *problem)
{
    sqlite3_stmt *row = feed->walk.row;
    while (ctr_stream_walk_next(&feed->walk, problem)) {
        for (int i = 0; i < feed->shape.n_keys; i++)
            feed->keys[i] = sqlite3_column_value(row, CTR_WALK_COLUMNS + feed->shape.keys[i]);
        bool in_bucket = feed->query.bucket.of == 0;
        if (!in_bucket &&
            ctr_pack_folded(&feed->key, &feed->shape, feed->keys, problem) == SQLITE_OK)
            in_bucket = ctr_digest_bucket_has(&feed->query.bucket, &feed->key);
        if (!in_bucket) continue;
        feed->number = feed->walk.number;
        feed->counter = 0;
        ctr_source_append(&feed->source, problem);
        if (ctr_rows_take(&feed->rows, row, problem)) return false;
        int64_t rowid = sqlite3_column_int64(row, CTR_WALK_ID);
        feed->gives_row =
            feed->shape.replicated && ctr_row_feed_read(&feed->row, rowid, feed->keys, problem);
        return ctr_pack_values(&feed->key, feed->keys, feed->shape.n_keys, problem) == SQLITE_OK;
    }
    return false;
}

static bool is_own(const ctr_feed *feed, const uint8_t *id)
{
    for (size_t i = 0; i < feed->n_ids; i++)
        if (memcmp(feed->ids + i * CTR_ID_SIZE, id, CTR_ID_SIZE) == 0) return true;
    return ctr_id_is_opening(id);
}

/* Takes the shards of others out of the current cell. Its life stays. */
static void keep_own_shards(ctr_feed *feed, ctr_problem *problem)
{
    enum { LEAST = CTR_ID_SIZE + 2 }; /* bytes of a shard */
    size_t n = 0, at = 0;
    ctr_shard shard, *kept;
    feed->own_shards.size = feed->own_cell.size = 0;
    kept = (void *)ctr_pack_room(&feed->own_shards, (feed->cell.size / LEAST + 1) * sizeof *kept,
                                 problem);
    uint8_t *out = ctr_pack_room(&feed->own_cell, feed->cell.size + CTR_CELL_HEADER_MAX, problem);
    if (!kept || !out) return;
    while (ctr_cell_next(&feed->cell, &at, &shard))
        if (is_own(feed, shard.id)) kept[n++] = shard;
    size_t size = ctr_cell_write(feed->cell.life, kept, n, out);
    feed->cell = ctr_cell_written(out, size);
}

static void read_own_ids(ctr_feed *feed, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(feed->source.db, feed->source.schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_IDS);
    while (ctr_run_row(&run, row)) {
        const void *id = sqlite3_column_blob(row, 0);
        if (!id || sqlite3_column_bytes(row, 0) != CTR_ID_SIZE) continue;
        uint8_t *ids =
            ctr_array_room(feed->ids, &feed->room_ids, feed->n_ids + 1, CTR_ID_SIZE, problem);
        if (!ids) break;
        feed->ids = ids;
        memcpy(ids + feed->n_ids++ * CTR_ID_SIZE, id, CTR_ID_SIZE);
    }
    sqlite3_finalize(row);
}

/* Steps to the next row of the feed: to each counter that was added or dropped, to each answer,
 * then to each touched counter of each row. */
static bool step_in_table(ctr_feed *feed, ctr_problem *problem)
{
    const ctr_shape *shape = &feed->shape;
    const char *name;
    int64_t generation;
    while ((name = ctr_shape_ever(shape, feed->named, &generation))) {
        int i = feed->named++;
        if (i < shape->n_counters && !shape->columns[shape->counters[i]].listed) continue;
        feed->column = name;
        feed->generation = generation;
        feed->number = 0;
        feed->key.size = 0;
        feed->has_cell = false;
        return true;
    }
    if (step_answer(feed, problem)) return true;
    while (problem->rc == SQLITE_OK) {
        if (feed->gives_row) {
            const ctr_packed *image = &feed->row.image;
            feed->gives_row = false;
            feed->cell = (ctr_cell){.bytes = image->bytes, .size = image->size};
            feed->column = "";
            feed->generation = 0;
            return feed->has_cell = true;
        }
        while (feed->counter < shape->n_counters) {
            const ctr_column *column = &shape->columns[shape->counters[feed->counter]];
            feed->cell = feed->rows.cells[feed->counter++];
            if (feed->query.own && !(feed->walk.origins & CTR_PULLED))
                keep_own_shards(feed, problem);
            if (ctr_cell_is_untouched(&feed->cell)) continue;
            feed->column = column->name;
            feed->generation = column->generation;
            if (shape->replicated) feed->generation += feed->row.cell.life * CTR_LIVES;
            feed->has_cell = true;
            return true;
        }
        if (!step_row(feed, problem)) return false;
    }
    return false;
}

int ctr_feed_next(ctr_feed *feed, ctr_problem *problem)
{
    while (problem->rc == SQLITE_OK && !step_in_table(feed, problem)) {
        ctr_problem_where(problem, "table %s", feed->table);
        if (problem->rc != SQLITE_OK) return problem->rc;
        leave_table(feed);
        feed->eof = ++feed->entry >= feed->source.catalog.n;
        if (feed->eof || enter_table(feed, problem)) return problem->rc;
        ctr_problem_where(problem, "table %s", feed->table);
    }
    return problem->rc;
}

/* ---- the feed -------------------------------------------------------------------------------- */

/* Names the source as its marks do. */
static void name_source(ctr_feed *feed, ctr_problem *problem)
{
    ctr_marks_source source = {
        .twist = feed->giver.twist, .own = feed->query.own, .scope = feed->scope.text};
    memcpy(source.id, feed->giver.id, CTR_ID_SIZE);
    feed->name = ctr_marks_name(&source);
    if (!feed->name) ctr_problem_nomem(problem);
}

int ctr_feed_open(ctr_feed *feed, ctr_conn *conn, const ctr_feed_query *query, ctr_problem *problem)
{
    *feed = (ctr_feed){.query = *query, .eof = true};
    sqlite3_value *scope = query->scope;
    feed->query.scope = NULL;
    if (scope && ctr_scope_open(&feed->scope, conn->db, scope, problem)) return problem->rc;
    if (ctr_source_open(&feed->source, conn, "main", problem)) return problem->rc;
    if (ctr_source_hold(&feed->source, problem)) return problem->rc;
    if (ctr_source_read(&feed->source, &feed->giver, problem)) return problem->rc;
    ctr_durable_source(&feed->source, problem);
    ctr_source_append(&feed->source, problem);
    if (problem->rc != SQLITE_OK || feed->source.catalog.n == 0) return problem->rc;
    if (!feed->giver.present) return ctr_identity_missing("main", problem);
    if (query->own) read_own_ids(feed, problem);
    name_source(feed, problem);
    feed->eof = false;
    if (!enter_table(feed, problem) && problem->rc == SQLITE_OK) ctr_feed_next(feed, problem);
    return problem->rc;
}

void ctr_feed_close(ctr_feed *feed)
{
    leave_table(feed);
    ctr_source_close(&feed->source);
    ctr_scope_close(&feed->scope);
    sqlite3_free(feed->name);
    sqlite3_free(feed->key.bytes);
    sqlite3_free(feed->ids);
    sqlite3_free(feed->own_cell.bytes);
    sqlite3_free(feed->own_shards.bytes);
    *feed = (ctr_feed){.eof = true};
}
