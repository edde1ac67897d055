/* core/bytes.h - numbers as bytes: 8 bytes, the highest first; or varints of 1 to 10 bytes. */
#ifndef CTR_CORE_BYTES_H
#define CTR_CORE_BYTES_H

#include <stdint.h>
#include <string.h>

#include "counter_cell.h"

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

/* Varints are LEB128 of minimal length, with the zigzag that keeps small negative values short.
 * They are inline, because cells consist of them. */

enum { CTR_VARINT_MAX = 10 /* bytes of the longest, a 64-bit number */ };

/* Writes n; returns its end. */
static inline uint8_t *ctr_varint_put(uint8_t *out, uint64_t n)
{
    while (n >= 0x80) {
        *out++ = (uint8_t)(n | 0x80);
        n >>= 7;
    }
    *out++ = (uint8_t)n;
    return out;
}

/* Reads a varint, or returns its fault: CTR_TRUNCATED, CTR_NOT_MINIMAL, CTR_OUT_OF_RANGE. */
static inline ctr_status ctr_varint_take(const uint8_t **at, const uint8_t *end, uint64_t *n)
{
    uint64_t result = 0;
    if (*at < end && **at < 0x80) {
        *n = *(*at)++;
        return CTR_OK;
    }
    for (int i = 0; i < CTR_VARINT_MAX; i++) {
        if (*at == end) return CTR_TRUNCATED;
        uint8_t byte = *(*at)++;
        if (i == CTR_VARINT_MAX - 1 && byte > 1) return CTR_OUT_OF_RANGE;
        result |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80) continue;
        if (byte == 0 && i > 0) return CTR_NOT_MINIMAL;
        *n = result;
        return CTR_OK;
    }
    return CTR_OUT_OF_RANGE;
}

/* The same for bytes that ctr_varint_take has accepted before. Returns the end of the varint. */
static inline const uint8_t *ctr_varint_read(const uint8_t *at, uint64_t *n)
{
    uint64_t result = 0;
    int shift = 0;
    for (; *at & 0x80; shift += 7) result |= (uint64_t)(*at++ & 0x7f) << shift;
    *n = result | (uint64_t)*at++ << shift;
    return at;
}

/* 0, -1, 1, -2 become 0, 1, 2, 3. */
static inline uint64_t ctr_varint_zigzag(int64_t n)
{
    return (uint64_t)n << 1 ^ (n < 0 ? UINT64_MAX : 0);
}

static inline int64_t ctr_varint_unzigzag(uint64_t n)
{
    uint64_t bits = n >> 1 ^ (n & 1 ? UINT64_MAX : 0);
    int64_t value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
