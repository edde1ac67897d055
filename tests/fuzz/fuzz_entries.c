/* fuzz_entries.c - any bytes as a row of a journal: what is read without an error is written again by
 * the same bytes.
 *
 *     byte 0     a segment? (odd: yes)
 */
#include "core/core.h"
#include "fuzz.h"

enum { NUMBER = 1 << 20 };

static void write_entries_again(const uint8_t *bytes, size_t size)
{
    ctr_entries walk;
    ctr_entry entry;
    uint8_t *out = fuzz_room(CTR_ENTRIES_HEADER + size, CTR_ENTRY_MAX);
    uint8_t *end = ctr_entries_begin(out);
    int64_t last = 0;
    ctr_entries_open(&walk, bytes, size);
    while (ctr_entries_next(&walk, &entry)) {
        fuzz_assert(entry.counter >= 0 && entry.counter < CTR_ENTRY_COUNTERS);
        fuzz_assert(entry.kind != CTR_ENTRY_ADDED || entry.ticks >= 1);
        end = ctr_entries_put(end, &last, &entry);
    }
    if (walk.status == CTR_OK) fuzz_assert(fuzz_same(out, (size_t)(end - out), bytes, size));
    free(out);
}

static void write_segment_again(const uint8_t *bytes, size_t size)
{
    ctr_entries walk;
    ctr_change_of_row *changes = fuzz_room(size + 1, sizeof *changes);
    uint8_t *out = fuzz_room(CTR_ENTRIES_HEADER + size, CTR_ENTRY_MAX);
    size_t n = 0;
    ctr_entries_segment_open(&walk, bytes, size, NUMBER);
    while (ctr_entries_segment_next(&walk, &changes[n])) {
        fuzz_assert(changes[n].number >= 0 && changes[n].number <= NUMBER);
        n++;
    }
    if (walk.status == CTR_OK && n > 0)
        fuzz_assert(fuzz_same(out, ctr_entries_segment_write(changes, n, out), bytes, size));
    free(changes);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    uint8_t *bytes = fuzz_copy(data + 1, size - 1);
    if (data[0] & 1)
        write_segment_again(bytes, size - 1);
    else
        write_entries_again(bytes, size - 1);
    free(bytes);
    return 0;
}
