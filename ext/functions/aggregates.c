/* functions/aggregates.c - aggregate functions of cells and shards.
 *
 *     counter_merge(cell)                          the merge of all; NULL for no cells
 *     counter_sum(cell)                            exact sum of live cells; a window function too
 *     counter_collect(id, clock, value [, life])   a cell from rows such as those of counter_shards
 */
#include <stdlib.h>
#include <string.h>

#include "functions/functions.h"

/* ---- counter_merge --------------------------------------------------------------------------- */

typedef struct merged_cell {
    uint8_t *bytes; /* owned; NULL: there is none */
    size_t size;
} merged_cell;

/* Level n has the merge of 2^n cells, or nothing. As in a merge sort, each cell is written only log
 * n times. */
enum { MERGE_LEVELS = 64 };

typedef struct merge_levels {
    merged_cell levels[MERGE_LEVELS];
} merge_levels;

/* Puts the merge of both in place of the second, and frees the first. */
static bool merge_pair(merged_cell *one, merged_cell *other)
{
    ctr_cell left = ctr_cell_untouched(), right = ctr_cell_untouched();
    uint8_t *out = sqlite3_malloc64(one->size + other->size);
    if (!out) return false;
    ctr_cell_open(&left, one->bytes, one->size);
    ctr_cell_open(&right, other->bytes, other->size);
    size_t size = ctr_cell_merge(&left, &right, out);
    sqlite3_free(one->bytes);
    sqlite3_free(other->bytes);
    *one = (merged_cell){NULL, 0};
    *other = (merged_cell){out, size};
    return true;
}

static void merge_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    ctr_cell cell;
    merge_levels *state = sqlite3_aggregate_context(ctx, sizeof *state);
    if (!state) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    if (!ctr_arg_cell(ctx, "counter_merge", argv[0], &cell) || ctr_cell_is_untouched(&cell)) return;
    merged_cell merged = {sqlite3_malloc64(cell.size), cell.size};
    bool whole = merged.bytes != NULL;
    if (whole) memcpy(merged.bytes, cell.bytes, cell.size);
    int level = 0;
    while (whole && level < MERGE_LEVELS - 1 && state->levels[level].bytes)
        whole = merge_pair(&state->levels[level++], &merged);
    if (whole) {
        state->levels[level] = merged;
        return;
    }
    sqlite3_free(merged.bytes);
    sqlite3_result_error_nomem(ctx);
}

static void merge_final(sqlite3_context *ctx)
{
    merged_cell all = {NULL, 0};
    bool whole = true;
    merge_levels *state = sqlite3_aggregate_context(ctx, 0);
    for (int i = 0; state && i < MERGE_LEVELS; i++) {
        if (all.bytes && state->levels[i].bytes)
            whole = whole && merge_pair(&state->levels[i], &all);
        else if (state->levels[i].bytes)
            all = state->levels[i];
        else
            continue;
        if (all.bytes != state->levels[i].bytes) sqlite3_free(state->levels[i].bytes);
        state->levels[i] = (merged_cell){NULL, 0};
    }
    if (whole && all.bytes)
        sqlite3_result_blob64(ctx, all.bytes, all.size, sqlite3_free);
    else
        sqlite3_free(all.bytes);
    if (!whole) sqlite3_result_error_nomem(ctx);
}

/* ---- counter_sum ----------------------------------------------------------------------------- */

typedef struct total {
    ctr_sum sum;
    int64_t cells; /* live ones in the window */
} total;

static void change_total(sqlite3_context *ctx, sqlite3_value *value, bool adds)
{
    ctr_cell cell;
    total *state = sqlite3_aggregate_context(ctx, sizeof *state);
    if (!state) sqlite3_result_error_nomem(ctx);
    if (!state || !ctr_arg_cell(ctx, "counter_sum", value, &cell)) return;
    if (!ctr_cell_is_live(&cell)) return;
    (adds ? ctr_sum_add_cell : ctr_sum_subtract_cell)(&state->sum, &cell);
    state->cells += adds ? 1 : -1;
}

static void sum_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    change_total(ctx, argv[0], true);
}

/* Subtracts a row that leaves the window. */
static void sum_inverse(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    change_total(ctx, argv[0], false);
}

static void sum_value(sqlite3_context *ctx)
{
    int64_t value;
    total *state = sqlite3_aggregate_context(ctx, 0);
    if (!state || state->cells == 0) return;
    if (ctr_arg_status(ctx, "counter_sum", ctr_sum_value(&state->sum, &value)))
        sqlite3_result_int64(ctx, value);
}

/* ---- counter_collect ------------------------------------------------------------------------- */

typedef struct collected_shard {
    uint8_t id[CTR_ID_SIZE];
    int64_t clock, value;
} collected_shard;

typedef struct collection {
    collected_shard *shards; /* owned, in the order of rows */
    size_t n, capacity;
    int64_t life; /* 0: no row yet */
} collection;

/* All rows of one cell must have the same life. */
static void collect_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char SELF[] = "counter_collect";
    collection *state = sqlite3_aggregate_context(ctx, sizeof *state);
    int64_t life = 1;
    collected_shard row;
    if (!state) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    if (argc > 3 && !ctr_arg_integer(ctx, SELF, "life", argv[3], 1, CTR_LIFE_MAX, &life)) return;
    if (state->life != 0 && state->life != life) {
        ctr_arg_error(ctx,
                      "counter_collect: rows of one cell must have one life, not %lld and %lld",
                      (long long)state->life, (long long)life);
        return;
    }
    state->life = life;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;

    if (life % 2 == 0) {
        ctr_arg_error(ctx, "counter_collect: life %lld is deleted and has no shards",
                      (long long)life);
        return;
    }
    if (!ctr_arg_id(ctx, SELF, "id", argv[0], row.id)) return;
    if (!ctr_arg_integer(ctx, SELF, "clock", argv[1], 1, INT64_MAX, &row.clock)) return;
    if (!ctr_arg_integer(ctx, SELF, "value", argv[2], INT64_MIN, INT64_MAX, &row.value)) return;
    if (state->n == state->capacity) {
        size_t capacity = state->capacity ? state->capacity * 2 : 8;
        collected_shard *shards = sqlite3_realloc64(state->shards, capacity * sizeof *shards);
        if (!shards) {
            sqlite3_result_error_nomem(ctx);
            return;
        }
        state->shards = shards;
        state->capacity = capacity;
    }
    state->shards[state->n++] = row;
}

/* Ascending by id; for one id, the shard that a merge would keep comes first. */
static int collected_order(const void *left, const void *right)
{
    const collected_shard *a = left, *b = right;
    int order = memcmp(a->id, b->id, CTR_ID_SIZE);
    if (order != 0) return order;
    ctr_shard x = {a->id, a->clock, a->value}, y = {b->id, b->clock, b->value};
    return ctr_shard_beats(&x, &y) ? -1 : ctr_shard_beats(&y, &x);
}

static void collect_final(sqlite3_context *ctx)
{
    collection *state = sqlite3_aggregate_context(ctx, 0);
    if (!state || state->life == 0) return;
    if (state->n > 0) qsort(state->shards, state->n, sizeof *state->shards, collected_order);

    ctr_shard *shards = sqlite3_malloc64((state->n + 1) * sizeof *shards);
    uint8_t *out = sqlite3_malloc64(CTR_CELL_HEADER_MAX + state->n * CTR_SHARD_MAX);
    size_t n = 0, size = 0;
    if (!shards || !out) {
        sqlite3_result_error_nomem(ctx);
    } else {
        for (size_t i = 0; i < state->n; i++) {
            const collected_shard *shard = &state->shards[i];
            if (i > 0 && memcmp(shard->id, shard[-1].id, CTR_ID_SIZE) == 0) continue;
            shards[n++] = (ctr_shard){shard->id, shard->clock, shard->value};
        }
        size = ctr_cell_write((uint32_t)state->life, shards, n, out);
    }
    if (size > 0)
        sqlite3_result_blob64(ctx, out, size, sqlite3_free);
    else
        sqlite3_free(out);
    sqlite3_free(shards);
    sqlite3_free(state->shards);
}

int ctr_aggregates_register(sqlite3 *db)
{
    static const struct {
        const char *name;
        int argc;
        void (*step)(sqlite3_context *, int, sqlite3_value **);
        void (*final)(sqlite3_context *);
        void (*value)(sqlite3_context *);
        void (*inverse)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"counter_merge", 1, merge_step, merge_final, NULL, NULL},
        {"counter_sum", 1, sum_step, sum_value, sum_value, sum_inverse},
        {"counter_collect", 3, collect_step, collect_final, NULL, NULL},
        {"counter_collect", 4, collect_step, collect_final, NULL, NULL},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && rc == SQLITE_OK; i++)
        rc = sqlite3_create_window_function(db, functions[i].name, functions[i].argc, CTR_PURE,
                                            NULL, functions[i].step, functions[i].final,
                                            functions[i].value, functions[i].inverse, NULL);
    return rc;
}
