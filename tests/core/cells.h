/* cells.h - cells for the tests: written from text, in buffers of exactly the promised size.
 *
 * A cell is a blob; 0 bytes are the untouched counter. All blobs live until release_all(), so that
 * a test can say merge(a, merge(b, c)). Every buffer is as large as counter_cell.h demands and no
 * byte larger: the address sanitizer proves the bounds.
 */
#ifndef TESTS_CELLS_H
#define TESTS_CELLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "counter_cell.h"

typedef struct blob {
    uint8_t *bytes;
    size_t size;
} blob;

static void **held;
static size_t held_count, held_room;

static inline void *hold(size_t size)
{
    if (held_count == held_room) {
        held_room = held_room ? 2 * held_room : 64;
        held = realloc(held, held_room * sizeof *held);
        assert_non_null(held);
    }
    void *memory = malloc(size);
    assert_non_null(memory);
    held[held_count++] = memory;
    return memory;
}

static inline void release_all(void)
{
    while (held_count > 0) free(held[--held_count]);
    free(held);
    held = NULL;
    held_room = 0;
}

static inline int release_after(void **state)
{
    (void)state;
    release_all();
    return 0;
}

/* A copy without a spare byte. */
static inline blob exact(const uint8_t *bytes, size_t size)
{
    blob b = {hold(size), size};
    if (size > 0) memcpy(b.bytes, bytes, size);
    return b;
}

/* The id of a symbol: its low byte comes first, its high byte last, so ids ascend with the low
 * byte. */
static inline const uint8_t *id_of(int symbol)
{
    uint8_t *id = hold(CTR_ID_SIZE);
    memset(id, 0xAA, CTR_ID_SIZE);
    id[0] = (uint8_t)symbol;
    id[CTR_ID_SIZE - 1] = (uint8_t)(symbol >> 8);
    return id;
}

static inline blob cell_of(uint32_t life, const ctr_shard *shards, size_t n)
{
    size_t room = CTR_CELL_HEADER_MAX + n * CTR_SHARD_MAX;
    uint8_t *out = hold(room);
    size_t size = ctr_cell_write(life, shards, n, out);
    assert_true(size <= room);
    return exact(out, size);
}

/* From text: "0:(1,5) 1:(1,-4)" are the shards id:(clock,value). */
static inline blob cell(uint32_t life, const char *text)
{
    ctr_shard shards[16];
    size_t n = 0;
    while (*text) {
        char *end;
        shards[n].id = id_of((int)strtol(text, &end, 10));
        shards[n].clock = strtoll(end + 2, &end, 10);
        shards[n].value = strtoll(end + 1, &end, 10);
        n++;
        text = end + 1;
        while (*text == ' ') text++;
    }
    return cell_of(life, shards, n);
}

static inline blob live(const char *text)
{
    return cell(1, text);
}

static inline blob untouched(void)
{
    return exact(NULL, 0);
}

static inline ctr_cell opened(blob b)
{
    ctr_cell c = ctr_cell_untouched();
    if (b.size > 0) assert_int_equal(ctr_cell_open(&c, b.bytes, b.size), CTR_OK);
    return c;
}

static inline blob merge(blob a, blob b)
{
    ctr_cell x = opened(a), y = opened(b);
    uint8_t *out = hold(a.size + b.size);
    size_t size = ctr_cell_merge(&x, &y, out);
    assert_true(size <= a.size + b.size);
    return exact(out, size);
}

static inline blob diff(blob c, blob known)
{
    ctr_cell x = opened(c), y = opened(known);
    uint8_t *out = hold(c.size);
    size_t size = ctr_cell_diff(&x, &y, out);
    assert_true(size <= c.size);
    return exact(out, size);
}

static inline ctr_order compare(blob a, blob b)
{
    ctr_cell x = opened(a), y = opened(b);
    return ctr_cell_compare(&x, &y);
}

static inline size_t conflicts(blob a, blob b)
{
    ctr_cell x = opened(a), y = opened(b);
    return ctr_cell_conflicts(&x, &y);
}

static inline ctr_status try_increment(blob c, const uint8_t *id, int64_t n, blob *result)
{
    ctr_cell x = opened(c);
    uint8_t *out = hold(c.size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX);
    size_t size = 0;
    ctr_status status = ctr_cell_increment(&x, id, n, 1, out, &size);
    if (status == CTR_OK) *result = exact(out, size);
    return status;
}

static inline blob increment(blob c, int symbol, int64_t n)
{
    blob result = {NULL, 0};
    assert_int_equal(try_increment(c, id_of(symbol), n, &result), CTR_OK);
    return result;
}

/* ctr_cell_delete or ctr_cell_reset. */
typedef ctr_status life_step(const ctr_cell *cell, uint8_t *out, size_t *size);

static inline ctr_status try_step(life_step *step, blob c, blob *result)
{
    ctr_cell x = opened(c);
    uint8_t *out = hold(CTR_CELL_HEADER_MAX);
    size_t size = 0;
    ctr_status status = step(&x, out, &size);
    if (status == CTR_OK) *result = exact(out, size);
    return status;
}

static inline blob deleted(blob c)
{
    blob result = {NULL, 0};
    assert_int_equal(try_step(ctr_cell_delete, c, &result), CTR_OK);
    return result;
}

static inline blob reset(blob c)
{
    blob result = {NULL, 0};
    assert_int_equal(try_step(ctr_cell_reset, c, &result), CTR_OK);
    return result;
}

static inline int64_t value(blob c)
{
    ctr_cell x = opened(c);
    int64_t v = -1;
    assert_int_equal(ctr_cell_value(&x, &v), CTR_OK);
    return v;
}

static inline uint32_t life(blob c)
{
    return opened(c).life;
}

static inline size_t shard_count(blob c)
{
    ctr_cell x = opened(c);
    ctr_shard shard;
    size_t at = 0, n = 0;
    while (ctr_cell_next(&x, &at, &shard)) n++;
    return n;
}

static inline bool same(blob a, blob b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

#define assert_same(a, b) assert_true(same(a, b))

#endif
