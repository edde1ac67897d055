/* core/bytes.h - 64-bit numbers as bytes, the highest first. */
#ifndef CTR_CORE_BYTES_H
#define CTR_CORE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint64_t ctr_bytes_get(const uint8_t *bytes)
{
    uint64_t n = 0;
    for (int i = 0; i < 8; i++) n = n << 8 | bytes[i];
    return n;
}

static inline uint8_t *ctr_bytes_put(uint8_t *out, uint64_t n)
{
    for (int i = 0; i < 8; i++) out[i] = (uint8_t)(n >> (56 - 8 * i));
    return out + 8;
}

/* Two's complement. */
static inline int64_t ctr_bytes_get_signed(const uint8_t *bytes)
{
    uint64_t n = ctr_bytes_get(bytes);
    int64_t value;
    memcpy(&value, &n, sizeof value);
    return value;
}

#endif
