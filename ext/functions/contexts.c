/* functions/contexts.c - converts counters of Cassandra and ScyllaDB.
 *
 *     counter_from_cassandra(context, ...)    the cell of one or more counter contexts,
 *                                             versions of one counter: of nodes or SSTables
 *     counter_to_cassandra(cell)              the context, with global shards
 *
 * NULL contexts are skipped; without any context the result is NULL, as it is for a NULL cell. A
 * context has no life: a deleted cell cannot be converted, and the life of a live one is lost.
 */
#include <string.h>

#include "core/context.h"
#include "core/id.h"
#include "functions/register.h"
#include "sqlite/args.h"

static const char FROM[] = "counter_from_cassandra", TO[] = "counter_to_cassandra";

/* Shards that were merged so far, and room for the next step. */
typedef struct merging {
    ctr_context_shard *shards, *spare;
    size_t n, room;
} merging;

static bool make_shard_room(sqlite3_context *ctx, merging *all, size_t more)
{
    size_t room = all->n + more + 1;
    if (room <= all->room) return true;
    ctr_context_shard *shards = sqlite3_realloc64(all->shards, 2 * room * sizeof *shards);
    if (shards) all->shards = shards;
    ctr_context_shard *spare = sqlite3_realloc64(all->spare, 2 * room * sizeof *spare);
    if (spare) all->spare = spare;
    if (shards && spare) all->room = 2 * room;
    if (!shards || !spare) sqlite3_result_error_nomem(ctx);
    return shards && spare;
}

static bool refuse_context(sqlite3_context *ctx, int i, ctr_context_status status)
{
    ctr_arg_error(ctx, "%s: context %d %s", FROM, i + 1, ctr_context_text(status));
    return false;
}

/* Merges one argument into `all`. */
static bool take_context(sqlite3_context *ctx, merging *all, sqlite3_value *value, int i)
{
    if (sqlite3_value_type(value) == SQLITE_NULL) return true;
    if (sqlite3_value_type(value) != SQLITE_BLOB)
        return ctr_arg_refuse(ctx, FROM, "a context", "a BLOB", value);
    const uint8_t *bytes = sqlite3_value_blob(value);
    size_t size = (size_t)sqlite3_value_bytes(value), found = 0;
    if (!make_shard_room(ctx, all, ctr_context_room(size))) return false;
    ctr_context_shard *read = sqlite3_malloc64((ctr_context_room(size) + 1) * sizeof *read);
    if (!read) {
        sqlite3_result_error_nomem(ctx);
        return false;
    }
    ctr_context_status status = ctr_context_open(bytes, size, read, &found);
    all->n = ctr_context_merge(all->shards, all->n, read, found, all->spare);
    sqlite3_free(read);
    ctr_context_shard *merged = all->spare;
    all->spare = all->shards;
    all->shards = merged;
    return status == CTR_CONTEXT_OK || refuse_context(ctx, i, status);
}

static bool shards_of(sqlite3_context *ctx, const merging *all, ctr_shard *shards)
{
    char id[CTR_ID_TEXT_SIZE];
    for (size_t i = 0; i < all->n; i++) {
        if (ctr_context_shard_of(&all->shards[i], &shards[i])) continue;
        ctr_id_to_text(shards[i].id, id);
        ctr_arg_error(ctx, "%s: the local shards of %s add up to an integer overflow", FROM, id);
        return false;
    }
    return true;
}

static void result_shards(sqlite3_context *ctx, const merging *all)
{
    if (all->n == 0) return;
    ctr_shard *shards = sqlite3_malloc64(all->n * sizeof *shards);
    uint8_t *out = sqlite3_malloc64(CTR_CELL_HEADER_MAX + all->n * CTR_SHARD_MAX);
    if (!shards || !out) {
        sqlite3_result_error_nomem(ctx);
    } else if (shards_of(ctx, all, shards)) {
        sqlite3_result_blob64(ctx, out, ctr_cell_write(1, shards, all->n, out), sqlite3_free);
        out = NULL;
    }
    sqlite3_free(out);
    sqlite3_free(shards);
}

static void fn_from(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    merging all = {NULL, NULL, 0, 0};
    bool taken = true;
    if (argc == 0) {
        ctr_arg_error(ctx, "%s: at least one context is needed", FROM);
        return;
    }
    for (int i = 0; i < argc && taken; i++) taken = take_context(ctx, &all, argv[i], i);
    if (taken) result_shards(ctx, &all);
    sqlite3_free(all.shards);
    sqlite3_free(all.spare);
}

static size_t count_shards(const ctr_cell *cell)
{
    ctr_shard shard;
    size_t n = 0;
    for (size_t at = 0; ctr_cell_next(cell, &at, &shard);) n++;
    return n;
}

static void fn_to(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    ctr_cell cell;
    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;
    if (!ctr_arg_cell(ctx, TO, argv[0], &cell)) return;
    size_t n = count_shards(&cell);
    if (ctr_cell_is_deleted(&cell)) {
        ctr_arg_error(
            ctx, "%s: a deleted cell has no context: Cassandra stores tombstones separately", TO);
        return;
    }
    if (n > CTR_CONTEXT_MOST) {
        ctr_arg_error(ctx, "%s: the cell has %lld shards, a context can have %d", TO, (long long)n,
                      CTR_CONTEXT_MOST);
        return;
    }
    uint8_t *out = sqlite3_malloc64(ctr_context_size(n));
    if (out)
        sqlite3_result_blob64(ctx, out, ctr_context_write(&cell, out), sqlite3_free);
    else
        sqlite3_result_error_nomem(ctx);
}

int ctr_contexts_register(sqlite3 *db)
{
    static const ctr_function FUNCTIONS[] = {
        {FROM, -1, -1, CTR_PURE, fn_from},
        {TO, 1, 1, CTR_PURE, fn_to},
    };
    return ctr_shared_functions(db, NULL, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
