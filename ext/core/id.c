/* core/id.c - replica ids as text, negated, and the form of names. */
#include "core/core.h"

#include <string.h>

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
