/* sync/feed.c - walks the tables of main, their rows, their counters. */
#include "sync/feed.h"

#include "sync/durable.h"
#include "sync/merge.h"
#include "sync/pull.h"
#include "table/floors.h"
#include "table/refuse.h"
#include "table/stored.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static void leave_table(ctr_feed *feed)
{
    ctr_stream_walk_close(&feed->walk);
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
    ctr_run run = ctr_run_on(feed->source.db, feed->source.schema, present_name(feed), problem);
    sqlite3_stmt *row =
        ctr_floors_read(run.db, run.slots.schema, run.slots.table, &feed->shape, problem);
    bool found = ctr_run_row(&run, row) && sqlite3_column_int64(row, n) >= feed->since;
    if (found) {
        for (int i = 0; i < n; i++) feed->keys[i] = sqlite3_column_value(row, i);
        ctr_pack_values(&feed->key, feed->keys, n, problem);
        feed->number = sqlite3_column_int64(row, n);
        feed->column = NULL;
        feed->generation = 0;
        feed->has_cell = false;
    }
    sqlite3_finalize(row);
    return found && problem->rc == SQLITE_OK;
}

/* Opens the table number `entry`. Returns whether the current row has its floors. */
static bool enter_table(ctr_feed *feed, ctr_problem *problem)
{
    const ctr_source *source = &feed->source;
    const char *name = present_name(feed);
    feed->table = feed->source.catalog.entries[feed->entry].birth;
    if (ctr_stored_read(&feed->shape, source->db, source->schema, name, problem)) return false;
    if (ctr_refuse_triggers(source->db, source->schema, name, false, problem)) return false;
    if (ctr_triggers_check(source->db, source->schema, name, &feed->shape, problem)) return false;
    feed->keys = sqlite3_malloc64((size_t)feed->shape.n_keys * sizeof *feed->keys);
    feed->key_text = ctr_shape_key_text(&feed->shape);
    if (!feed->keys || !feed->key_text) ctr_problem_nomem(problem);
    ctr_rows_open(&feed->rows, source->db, source->schema, name, &feed->shape, feed->replica,
                  problem);
    feed->rows.whole = true;
    ctr_stream_walk(&feed->walk, source->db, source->schema, name, &feed->shape,
                    feed->since > 0 ? CTR_WALK_SINCE : CTR_WALK_ALL_NUMBERED, feed->since, problem);
    feed->named = 0;
    feed->counter = feed->shape.n_counters; /* before the first row */
    return problem->rc == SQLITE_OK && take_floors(feed, problem);
}

/* Makes the generation of a counter the current row. */
static bool stand_at_name(ctr_feed *feed, const char *name, int64_t generation)
{
    feed->column = name;
    feed->generation = generation;
    feed->number = 0;
    feed->key.size = 0;
    feed->has_cell = false;
    return true;
}

/* Steps to the next counter that was added or dropped. */
static bool step_name(ctr_feed *feed)
{
    const ctr_shape *shape = &feed->shape;
    while (feed->named < shape->n_counters + shape->n_gone) {
        int i = feed->named++;
        if (i >= shape->n_counters) {
            const ctr_gone *gone = &shape->gone[i - shape->n_counters];
            return stand_at_name(feed, gone->name, gone->generation);
        }
        const ctr_column *counter = &shape->columns[shape->counters[i]];
        if (counter->listed) return stand_at_name(feed, counter->name, counter->generation);
    }
    return false;
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
        bool in_bucket = feed->bucket.of == 0;
        if (!in_bucket &&
            ctr_pack_folded(&feed->key, &feed->shape, feed->keys, problem) == SQLITE_OK)
            in_bucket = ctr_digest_bucket_has(&feed->bucket, &feed->key);
        if (!in_bucket) continue;
        feed->number = feed->walk.number;
        feed->counter = 0;
        ctr_source_append(&feed->source, feed->transaction, problem);
        if (ctr_rows_take(&feed->rows, row, problem)) return false;
        return ctr_pack_values(&feed->key, feed->keys, feed->shape.n_keys, problem) == SQLITE_OK;
    }
    return false;
}

/* Steps to the next touched counter of the row. */
static bool step_counter(ctr_feed *feed, ctr_problem *problem)
{
    const ctr_shape *shape = &feed->shape;
    for (; feed->counter < shape->n_counters && problem->rc == SQLITE_OK; feed->counter++) {
        int column = shape->counters[feed->counter];
        feed->cell = feed->rows.cells[feed->counter];
        if (ctr_cell_is_untouched(&feed->cell)) continue;
        feed->column = shape->columns[column].name;
        feed->generation = shape->columns[column].generation;
        feed->has_cell = true;
        feed->counter++;
        return true;
    }
    return false;
}

static bool step_in_table(ctr_feed *feed, ctr_problem *problem)
{
    if (step_name(feed)) return true;
    do
        if (step_counter(feed, problem)) return true;
    while (problem->rc == SQLITE_OK && step_row(feed, problem));
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

int ctr_feed_open(ctr_feed *feed, sqlite3 *host, ctr_transaction *transaction, int64_t since,
                  const ctr_bucket *bucket, ctr_problem *problem)
{
    *feed = (ctr_feed){.transaction = transaction, .since = since, .bucket = *bucket, .eof = true};
    if (ctr_source_open(&feed->source, host, "main", problem)) return problem->rc;
    if (!feed->source.own) {
        feed->replica = ctr_replica_of(transaction, "main");
        if (!feed->replica) return ctr_problem_nomem(problem);
    }
    if (ctr_source_hold(&feed->source, problem)) return problem->rc;
    if (ctr_pull_open(&feed->source, &feed->giver, problem)) return problem->rc;
    ctr_durable_source(&feed->source, problem);
    ctr_source_append(&feed->source, transaction, problem);
    if (problem->rc != SQLITE_OK || feed->source.catalog.n == 0) return problem->rc;
    if (!feed->giver.present) return ctr_identity_missing("main", problem);
    ctr_marks_source_to_text(feed->giver.id, feed->giver.twist, feed->name);
    feed->eof = false;
    if (!enter_table(feed, problem) && problem->rc == SQLITE_OK) ctr_feed_next(feed, problem);
    return problem->rc;
}

void ctr_feed_close(ctr_feed *feed)
{
    leave_table(feed);
    ctr_source_close(&feed->source);
    sqlite3_free(feed->key.bytes);
    *feed = (ctr_feed){.eof = true};
}
