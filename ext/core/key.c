/* core/key.c - packs and unpacks the values of a key. */
#include "core/core.h"

#include <string.h>

enum { KEY_FORMAT_1 = 0xD1, KEY_KIND = 0xD0, REAL_SIZE = 8 };

uint8_t *ctr_key_begin(uint8_t *out)
{
    *out++ = KEY_FORMAT_1;
    return out;
}

static double read_real(const uint8_t *at)
{
    uint64_t bits = ctr_bytes_get(at);
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

uint8_t *ctr_key_put(uint8_t *out, const ctr_key_value *value)
{
    uint64_t bits;
    *out++ = (uint8_t)value->type;
    switch (value->type) {
    case CTR_KEY_NOTHING: return out;
    case CTR_KEY_INTEGER: return ctr_varint_put(out, ctr_varint_zigzag(value->integer));
    case CTR_KEY_REAL: memcpy(&bits, &value->real, sizeof bits); return ctr_bytes_put(out, bits);
    default: break;
    }
    out = ctr_varint_put(out, value->size);
    if (value->size > 0) memcpy(out, value->bytes, value->size);
    return out + value->size;
}

static ctr_status check_value(const uint8_t **at, const uint8_t *end, bool holes)
{
    uint64_t n;
    ctr_status status = CTR_OK;
    switch (*(*at)++) {
    case CTR_KEY_NOTHING: return holes ? CTR_OK : CTR_OUT_OF_RANGE;
    case CTR_KEY_INTEGER: return ctr_varint_take(at, end, &n);
    case CTR_KEY_REAL:
        if (end - *at < REAL_SIZE) return CTR_TRUNCATED;
        double real = read_real(*at);
        *at += REAL_SIZE;
        return real == real ? CTR_OK : CTR_OUT_OF_RANGE;
    case CTR_KEY_TEXT:
    case CTR_KEY_BLOB:
        status = ctr_varint_take(at, end, &n);
        if (status == CTR_OK && n > (uint64_t)(end - *at)) return CTR_TRUNCATED;
        if (status == CTR_OK) *at += n;
        return status;
    default: return CTR_OUT_OF_RANGE;
    }
}

ctr_status ctr_key_check(const uint8_t *bytes, size_t size, bool holes, int *n)
{
    *n = 0;
    if (size == 0 || (bytes[0] & 0xf0) != KEY_KIND || bytes[0] == KEY_KIND) return CTR_NOT_A_CELL;
    if (bytes[0] != KEY_FORMAT_1) return CTR_NEWER_FORMAT;
    if (size == CTR_KEY_HEADER) return CTR_TRUNCATED;
    const uint8_t *at = bytes + CTR_KEY_HEADER, *end = bytes + size;
    for (; at < end; ++*n) {
        ctr_status status = check_value(&at, end, holes);
        if (status != CTR_OK) return status;
    }
    return CTR_OK;
}

bool ctr_key_next(const uint8_t *bytes, size_t size, size_t *at, ctr_key_value *value)
{
    if (*at == 0) *at = CTR_KEY_HEADER;
    if (*at >= size) return false;
    uint64_t n = 0;
    const uint8_t *from = bytes + *at;
    *value = (ctr_key_value){.type = (ctr_key_type)*from++};
    switch (value->type) {
    case CTR_KEY_NOTHING: break;
    case CTR_KEY_INTEGER:
        from = ctr_varint_read(from, &n);
        value->integer = ctr_varint_unzigzag(n);
        break;
    case CTR_KEY_REAL:
        value->real = read_real(from);
        from += REAL_SIZE;
        break;
    case CTR_KEY_TEXT:
    case CTR_KEY_BLOB:
        value->bytes = ctr_varint_read(from, &n);
        value->size = (size_t)n;
        from = value->bytes + n;
        break;
    }
    *at = (size_t)(from - bytes);
    return true;
}

/* All of these are exact as a double: from -2^63 up to, not including, 2^63. */
void ctr_key_unify(ctr_key_value *value)
{
    const double end = 9223372036854775808.0;
    if (value->type != CTR_KEY_REAL || value->real < -end || value->real >= end) return;
    int64_t whole = (int64_t)value->real;
    if ((double)whole != value->real) return;
    *value = (ctr_key_value){.type = CTR_KEY_INTEGER, .integer = whole};
}

const char *ctr_key_status_text(ctr_status status)
{
    switch (status) {
    case CTR_NOT_A_CELL: return "is no packed key";
    case CTR_NEWER_FORMAT: return "is a packed key of a newer format";
    case CTR_OUT_OF_RANGE: return "has a value of no known type";
    default: return ctr_status_text(status);
    }
}
