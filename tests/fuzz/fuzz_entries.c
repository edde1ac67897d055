/* fuzz_entries.c - any bytes as a row of a journal: what is read without an error is written again by
 * the same bytes.
 *
 *     byte 0     a segment? (odd: yes); else: the mask beside the row, if not 0; that of its groups
 */
#include "core/core.h"
#include "fuzz.h"

enum { NUMBER = 1 << 20 };

static void write_entries_again(const uint8_t *bytes, size_t size, int64_t tabs)
{
    ctr_entries groups, walk;
    ctr_entry entry;
    uint8_t *out =
        fuzz_room(CTR_ENTRIES_HEADER + size, CTR_GROUP_HEADER_MAX + CTR_ENTRY_MAX + CTR_FED_MAX);
    uint8_t *end = ctr_entries_begin(out);
    int64_t table;
    ctr_entries_open(&groups, bytes, size, tabs);
    while (ctr_entries_group_next(&groups, &table, &walk)) {
        ctr_entry last = {.row = 0};
        ctr_fed fed[2] = {{.upto = 0}, {.upto = 0}};
        int n = 0;
        uint8_t *from = end + CTR_GROUP_HEADER_MAX, *to = from;
        fuzz_assert(table >= 1 && table <= CTR_GROUP_TABLES);
        if (tabs == 0) groups.tabs |= ctr_entries_bit(table);
        while (ctr_entries_next(&walk, &entry)) {
            fuzz_assert(entry.counter >= 0 && entry.counter < CTR_ENTRY_COUNTERS);
            fuzz_assert(entry.kind != CTR_ENTRY_ADDED || entry.ticks >= 1);
            if (entry.fed && !ctr_fed_same(last.fed, entry.fed)) {
                fed[n] = *entry.fed; /* the walk forgets it */
                entry.fed = &fed[n];
                n = 1 - n;
            } else if (entry.fed) {
                entry.fed = last.fed;
            }
            to = ctr_entries_put(to, &last, &entry);
        }
        end = ctr_entries_group_put(end, table, (size_t)(to - from));
        groups.status = walk.status;
    }
    if (groups.status == CTR_OK) fuzz_assert(fuzz_same(out, (size_t)(end - out), bytes, size));
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
        write_entries_again(bytes, size - 1, data[0] / 2);
    free(bytes);
    return 0;
}
