/* core/key.c - packs and unpacks the values of a key; ids and names of replicas. */
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

ctr_status ctr_key_take(const uint8_t **at, const uint8_t *end, bool holes)
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
        ctr_status status = ctr_key_take(&at, end, holes);
        if (status != CTR_OK) return status;
    }
    return CTR_OK;
}

const uint8_t *ctr_key_read(const uint8_t *from, ctr_key_value *value)
{
    uint64_t n = 0;
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
    return from;
}

bool ctr_key_next(const uint8_t *bytes, size_t size, size_t *at, ctr_key_value *value)
{
    if (*at == 0) *at = CTR_KEY_HEADER;
    if (*at >= size) return false;
    *at = (size_t)(ctr_key_read(bytes + *at, value) - bytes);
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

/* =================================================================================================
 * id - replica ids as text, negated, and the form of names. */

static const char HEX_DIGITS[] = "0123456789abcdef";

/* A hyphen stands before bytes 4, 6, 8 and 10. */
static bool hyphen_before(int byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void ctr_id_to_text(const uint8_t id[CTR_ID_SIZE], char text[CTR_ID_TEXT_SIZE])
{
    for (int i = 0; i < CTR_ID_SIZE; i++) {
        if (hyphen_before(i)) *text++ = '-';
        *text++ = HEX_DIGITS[id[i] >> 4];
        *text++ = HEX_DIGITS[id[i] & 15];
    }
    *text = '\0';
}

int ctr_id_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool ctr_id_from_text(const char *text, size_t size, uint8_t id[CTR_ID_SIZE])
{
    if (size != CTR_ID_TEXT_SIZE - 1) return false;
    for (int i = 0; i < CTR_ID_SIZE; i++) {
        if (hyphen_before(i) && *text++ != '-') return false;
        int high = ctr_id_digit(*text++), low = ctr_id_digit(*text++);
        if (high < 0 || low < 0) return false;
        id[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void ctr_id_negate(const uint8_t id[CTR_ID_SIZE], uint8_t negated[CTR_ID_SIZE])
{
    memmove(negated, id, CTR_ID_SIZE);
    negated[8] ^= 0x3f;
    negated[9] ^= 0xff;
}

bool ctr_id_is_name(const char *name, size_t size)
{
    const char *colon = memchr(name, ':', size);
    if (!colon || colon == name) return false;
    size_t rack = size - (size_t)(colon - name) - 1;
    return rack > 0 && !memchr(colon + 1, ':', rack) && !memchr(name, '\0', size);
}
