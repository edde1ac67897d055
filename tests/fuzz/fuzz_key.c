/* fuzz_key.c - any bytes as a packed key: what passes the check is packed again by the same bytes.
 *
 *     byte 0     may there be values of no type? (odd: yes)
 */
#include "core/core.h"
#include "fuzz.h"

static void check_again(const uint8_t *bytes, size_t size, int n)
{
    uint8_t *out = fuzz_room(size + CTR_KEY_HEADER + (size_t)n * CTR_KEY_VALUE_MAX, 1);
    uint8_t *end = ctr_key_begin(out);
    ctr_key_value value;
    size_t at = 0;
    int values = 0;
    while (ctr_key_next(bytes, size, &at, &value)) {
        end = ctr_key_put(end, &value);
        ctr_key_unify(&value);
        values++;
    }
    fuzz_assert(values == n);
    fuzz_assert(fuzz_same(out, (size_t)(end - out), bytes, size));
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    uint8_t *bytes = fuzz_copy(data + 1, size - 1);
    int n = 0;
    if (ctr_key_check(bytes, size - 1, data[0] & 1, &n) == CTR_OK) check_again(bytes, size - 1, n);
    free(bytes);
    return 0;
}
