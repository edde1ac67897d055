/* fuzz_context.c - any bytes as one of Cassandra's counter contexts: what opens can be merged with
 * itself, and what is written of it is read back.
 */
#include "core/core.h"
#include "fuzz.h"

/* Shards of a context as a cell: its ids ascend. */
static void check_round_trip(const ctr_context_shard *found, size_t n)
{
    ctr_shard *shards = fuzz_room(n, sizeof *shards);
    for (size_t i = 0; i < n; i++) shards[i] = found[i].shard;
    uint8_t *bytes = fuzz_room(CTR_CELL_HEADER_MAX + n * CTR_SHARD_MAX, 1);
    ctr_cell cell;
    fuzz_assert(ctr_cell_open(&cell, bytes, ctr_cell_write(1, shards, n, bytes)) == CTR_OK);

    size_t size = ctr_context_size(n), read = 0;
    uint8_t *out = fuzz_room(size, 1);
    fuzz_assert(ctr_context_write(&cell, out) == size);
    ctr_context_shard *back = fuzz_room(ctr_context_room(size), sizeof *back);
    fuzz_assert(ctr_context_open(out, size, back, &read) == CTR_CONTEXT_OK && read == n);
    for (size_t i = 0; i < n; i++) {
        fuzz_assert(memcmp(back[i].shard.id, shards[i].id, CTR_ID_SIZE) == 0);
        fuzz_assert(back[i].kind == CTR_CONTEXT_GLOBAL && back[i].shard.clock == shards[i].clock &&
                    back[i].shard.value == shards[i].value);
    }
    free(back);
    free(out);
    free(bytes);
    free(shards);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = fuzz_copy(data, size);
    ctr_context_shard *shards = fuzz_room(ctr_context_room(size), sizeof *shards);
    size_t n = 0;
    if (ctr_context_open(bytes, size, shards, &n) == CTR_CONTEXT_OK) {
        ctr_context_shard *twice = fuzz_room(2 * n, sizeof *twice);
        fuzz_assert(ctr_context_merge(shards, n, shards, n, twice) == n);
        if (n > 0 && n <= CTR_CONTEXT_MOST) check_round_trip(shards, n);
        free(twice);
    }
    free(shards);
    free(bytes);
    return 0;
}
