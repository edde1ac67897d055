/* fuzz_cell.c - any bytes as cells: what opens is written again by the same bytes, and the laws of
 * the algebra hold for it.
 *
 *     byte 0     the size of the first of two cells; the second is the rest
 */
#include "counter_cell.h"
#include "fuzz.h"

static void check_written(const ctr_cell *cell)
{
    size_t most = cell->size / CTR_ID_SIZE + 1, at = 0, n = 0, n_grants = 0;
    ctr_shard *shards = fuzz_room(most, sizeof *shards), shard;
    ctr_grant *grants = fuzz_room(most, sizeof *grants), grant;
    while (ctr_cell_next(cell, &at, &shard)) {
        ctr_shard found;
        shards[n++] = shard;
        fuzz_assert(ctr_cell_shard(cell, shard.id, &found) && found.clock == shard.clock);
    }
    for (at = 0; ctr_cell_next_grant(cell, &at, &grant);) grants[n_grants++] = grant;

    uint8_t *out = fuzz_room(CTR_CELL_HEADER_MAX + n * CTR_SHARD_MAX, 1);
    size_t size = ctr_cell_is_untouched(cell) ? 0 : ctr_cell_write(cell->life, shards, n, out);
    uint8_t *whole = fuzz_room(size + n_grants * CTR_GRANT_MAX + 1, 1);
    ctr_cell bare;
    if (n_grants > 0) fuzz_assert(ctr_cell_open(&bare, out, size) == CTR_OK);
    if (n_grants > 0) size = ctr_cell_with_grants(&bare, grants, n_grants, whole);
    fuzz_assert(fuzz_same(n_grants > 0 ? whole : out, size, cell->bytes, cell->size));
    free(whole);
    free(out);
    free(grants);
    free(shards);
}

/* Whatever is done to a cell gives one that opens, or is refused. */
static void check_changes(const ctr_cell *cell)
{
    static const uint8_t id[CTR_ID_SIZE] = {7};
    uint8_t *out = fuzz_room(cell->size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX, 1);
    size_t size = 0;
    int64_t before, after;
    ctr_cell made;
    if (ctr_cell_increment(cell, id, 1, 1, out, &size) == CTR_OK) {
        fuzz_assert(ctr_cell_open(&made, out, size) == CTR_OK);
        fuzz_assert(ctr_cell_compare(&made, cell) == CTR_GREATER);
        if (ctr_cell_value(cell, &before) == CTR_OK && ctr_cell_value(&made, &after) == CTR_OK)
            fuzz_assert(after == before + 1);
    }
    if (ctr_cell_delete(cell, out, &size) == CTR_OK)
        fuzz_assert(ctr_cell_open(&made, out, size) == CTR_OK && ctr_cell_is_deleted(&made));
    if (ctr_cell_reset(cell, out, &size) == CTR_OK)
        fuzz_assert(ctr_cell_open(&made, out, size) == CTR_OK && ctr_cell_is_live(&made));
    free(out);
}

static void check_pair(const ctr_cell *a, const ctr_cell *b)
{
    size_t room = a->size + b->size + CTR_CELL_HEADER_MAX;
    uint8_t *ab = fuzz_room(room, 1), *ba = fuzz_room(room, 1), *part = fuzz_room(room, 1),
            *again = fuzz_room(2 * room, 1);
    ctr_cell merged, missing;
    size_t size = ctr_cell_merge(a, b, ab);
    fuzz_assert(fuzz_same(ab, size, ba, ctr_cell_merge(b, a, ba)));
    fuzz_assert(ctr_cell_open(&merged, ab, size) == CTR_OK);
    fuzz_assert(fuzz_same(ab, size, again, ctr_cell_merge(&merged, a, again)));

    size_t left = ctr_cell_diff(a, b, part);
    missing = ctr_cell_untouched();
    if (left > 0) fuzz_assert(ctr_cell_open(&missing, part, left) == CTR_OK);
    fuzz_assert(fuzz_same(ab, size, again, ctr_cell_merge(b, &missing, again)));
    ctr_order order = ctr_cell_compare(a, b), back = ctr_cell_compare(b, a);
    fuzz_assert((order == CTR_GREATER) == (back == CTR_LESS));
    fuzz_assert((order == CTR_EQUAL) == ctr_cell_same(a, b));
    free(ab);
    free(ba);
    free(part);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    size_t first = data[0] < size ? data[0] : size - 1;
    uint8_t *bytes = fuzz_copy(data + 1, first),
            *rest = fuzz_copy(data + 1 + first, size - 1 - first);
    ctr_cell a, b;
    bool opens = ctr_cell_open(&a, bytes, first) == CTR_OK;
    bool both = ctr_cell_open(&b, rest, size - 1 - first) == CTR_OK && opens;
    if (opens) check_written(&a);
    if (opens) check_changes(&a);
    if (both) check_pair(&a, &b);
    free(bytes);
    free(rest);
    return 0;
}
