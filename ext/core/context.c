/* core/context.c - reads, merges and writes Cassandra's counter contexts. */
#include "core/core.h"

#include <string.h>

enum { ID = 0, CLOCK = CTR_ID_SIZE, COUNT = CTR_ID_SIZE + 8, GLOBAL_MARK = 32768 };

const char *ctr_context_text(ctr_context_status status)
{
    static const char *const TEXTS[] = {
        [CTR_CONTEXT_OK] = "is well-formed",
        [CTR_CONTEXT_SHORT] = "is shorter than its header says",
        [CTR_CONTEXT_CLEARS_LOCAL] = "has a negative number of header elements: it is marked to "
                                     "have its local shards cleared, "
                                     "which Cassandra nodes do among themselves",
        [CTR_CONTEXT_UNEVEN] = "does not end with a whole shard of 32 bytes",
        [CTR_CONTEXT_ELEMENT_BEYOND] = "has a header element for a shard that it does not have",
        [CTR_CONTEXT_ELEMENT_DOUBLED] = "has header elements that do not ascend",
        [CTR_CONTEXT_UNSORTED] = "has ids that do not ascend",
        [CTR_CONTEXT_CLOCK] = "has a clock that is below 1",
    };
    return TEXTS[status];
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int get_int16(const uint8_t *bytes)
{
    int n = bytes[0] << 8 | bytes[1];
    return n >= 32768 ? n - 65536 : n;
}

static uint8_t *put_int16(uint8_t *out, int n)
{
    *out++ = (uint8_t)((unsigned)n >> 8);
    *out++ = (uint8_t)n;
    return out;
}

/* ---- reading --------------------------------------------------------------------------------- */

size_t ctr_context_room(size_t size)
{
    return size / CTR_CONTEXT_SHARD;
}

/* The header elements set the kinds of the shards. */
ctr_context_status ctr_context_open(const uint8_t *bytes, size_t size, ctr_context_shard *shards,
                                    size_t *n)
{
    *n = 0;
    if (size < CTR_CONTEXT_HEAD) return CTR_CONTEXT_SHORT;
    int n_elements = get_int16(bytes);
    if (n_elements < 0) return CTR_CONTEXT_CLEARS_LOCAL;
    size_t head = CTR_CONTEXT_HEAD + CTR_CONTEXT_ELEMENT * (size_t)n_elements;
    if (size < head) return CTR_CONTEXT_SHORT;
    if ((size - head) % CTR_CONTEXT_SHARD != 0) return CTR_CONTEXT_UNEVEN;

    size_t found = (size - head) / CTR_CONTEXT_SHARD;
    for (size_t i = 0; i < found; i++) {
        const uint8_t *at = bytes + head + i * CTR_CONTEXT_SHARD;
        shards[i] = (ctr_context_shard){
            .shard = {at + ID, ctr_bytes_get_signed(at + CLOCK), ctr_bytes_get_signed(at + COUNT)},
            .kind = CTR_CONTEXT_REMOTE};
        ctr_sum_add(&shards[i].clock, shards[i].shard.clock);
        ctr_sum_add(&shards[i].count, shards[i].shard.value);
        if (shards[i].shard.clock < 1) return CTR_CONTEXT_CLOCK;
        if (i > 0 && memcmp(shards[i - 1].shard.id, shards[i].shard.id, CTR_ID_SIZE) >= 0)
            return CTR_CONTEXT_UNSORTED;
    }
    for (int i = 0, last = -1; i < n_elements; i++) {
        int element = get_int16(bytes + CTR_CONTEXT_HEAD + CTR_CONTEXT_ELEMENT * i);
        int index = element < 0 ? element + GLOBAL_MARK : element;
        if ((size_t)index >= found) return CTR_CONTEXT_ELEMENT_BEYOND;
        if (index <= last) return CTR_CONTEXT_ELEMENT_DOUBLED;
        shards[index].kind = element < 0 ? CTR_CONTEXT_GLOBAL : CTR_CONTEXT_LOCAL;
        last = index;
    }
    *n = found;
    return CTR_CONTEXT_OK;
}

/* ---- merging --------------------------------------------------------------------------------- */

static ctr_context_shard merge_shard(const ctr_context_shard *a, const ctr_context_shard *b)
{
    if (a->kind != b->kind) return b->kind > a->kind ? *b : *a;
    if (a->kind != CTR_CONTEXT_LOCAL) return ctr_shard_beats(&b->shard, &a->shard) ? *b : *a;
    ctr_context_shard both = *a;
    ctr_sum_add(&both.clock, b->shard.clock);
    ctr_sum_add(&both.count, b->shard.value);
    return both;
}

size_t ctr_context_merge(const ctr_context_shard *list, size_t n_list,
                         const ctr_context_shard *context, size_t n_context, ctr_context_shard *out)
{
    size_t i = 0, j = 0, n = 0;
    while (i < n_list || j < n_context) {
        int order = i == n_list      ? 1
                    : j == n_context ? -1
                                     : memcmp(list[i].shard.id, context[j].shard.id, CTR_ID_SIZE);
        if (order == 0)
            out[n++] = merge_shard(&list[i++], &context[j++]);
        else
            out[n++] = order < 0 ? list[i++] : context[j++];
    }
    return n;
}

bool ctr_context_shard_of(const ctr_context_shard *merged, ctr_shard *shard)
{
    *shard = merged->shard;
    return merged->kind != CTR_CONTEXT_LOCAL ||
           (ctr_sum_value(&merged->clock, &shard->clock) == CTR_OK &&
            ctr_sum_value(&merged->count, &shard->value) == CTR_OK);
}

/* ---- writing --------------------------------------------------------------------------------- */

size_t ctr_context_size(size_t n)
{
    return CTR_CONTEXT_HEAD + n * (CTR_CONTEXT_ELEMENT + CTR_CONTEXT_SHARD);
}

size_t ctr_context_write(const ctr_cell *cell, uint8_t *out)
{
    ctr_shard shard;
    int n = (int)ctr_cell_count(cell);
    uint8_t *end = put_int16(out, n);
    for (int i = 0; i < n; i++) end = put_int16(end, i - GLOBAL_MARK);
    for (size_t at = 0; ctr_cell_next(cell, &at, &shard);) {
        memcpy(end, shard.id, CTR_ID_SIZE);
        end = ctr_bytes_put(end + CTR_ID_SIZE, (uint64_t)shard.clock);
        end = ctr_bytes_put(end, (uint64_t)shard.value);
    }
    return (size_t)(end - out);
}
