/* fuzz_told.c - any bytes as a change: what opens is written again by the same bytes. */
#include "core/core.h"
#include "fuzz.h"

static uint8_t *write_row(ctr_change_view change, uint8_t *out)
{
    ctr_told_column column;
    uint64_t n = change.n, walked = 0;
    out = ctr_change_begin_row(out, &change.row, n);
    for (; ctr_change_next(&change, &column); walked++) {
        fuzz_assert(column.kind->stored || change.row.is);
        out = ctr_change_put_column(out, &column);
    }
    fuzz_assert(walked == n);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ctr_change_view change;
    uint8_t *bytes = fuzz_copy(data, size);
    if (ctr_change_open(&change, bytes, size) == CTR_OK) {
        uint8_t *out = fuzz_room((change.n + 1) * CTR_CHANGE_HEADER_MAX + size, 1), *end = out;
        switch (change.what) {
        case CTR_TELLS_ROW: end = write_row(change, out); break;
        case CTR_TELLS_FLOORS: end = ctr_change_put_floors(out); break;
        case CTR_TELLS_COLUMN: end = ctr_change_put_generation(out, &change.column); break;
        case CTR_TELLS_ANSWER:
            end = ctr_change_put_answer(out, change.column.state, change.column.size);
            break;
        case CTR_CHANGES_END: fuzz_assert(false);
        }
        fuzz_assert(fuzz_same(out, (size_t)(end - out), bytes, size));
        free(out);
    }
    free(bytes);
    return 0;
}
