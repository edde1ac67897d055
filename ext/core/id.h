/* core/id.h - replica ids: 16 bytes, their text, their negation, and the names that they come from.
 *
 * An id is a UUID (RFC 4122), compared byte by byte as memcmp does. ScyllaDB once compared signed
 * bytes and doubled shards.
 */
#ifndef CTR_CORE_ID_H
#define CTR_CORE_ID_H

#include "counter_cell.h"

enum { CTR_ID_TEXT_SIZE = 37 /* 36 characters and a NUL */ };

/* Writes "4c5128aa-402c-31c8-9fc0-6c27b0f53f93", in lower case, with a NUL. */
void ctr_id_to_text(const uint8_t id[CTR_ID_SIZE], char text[CTR_ID_TEXT_SIZE]);

/* Reads the same form, in upper or lower case. Returns false for any other text. `size` counts the
 * characters without a NUL. */
bool ctr_id_from_text(const char *text, size_t size, uint8_t id[CTR_ID_SIZE]);

/* Returns what a hexadecimal digit stands for; -1 if it is none. */
int ctr_id_digit(char c);

/* Computes the id under which the pending holder of a name writes: bytes 8 and 9 XOR 3F FF, as in
 * ScyllaDB. Negating it again gives the id itself. */
void ctr_id_negate(const uint8_t id[CTR_ID_SIZE], uint8_t negated[CTR_ID_SIZE]);

/* Returns whether the id is an opening (table/openings.h): a UUID of version 8. The second makes
 * one of an id of another version. */
static inline bool ctr_id_is_opening(const uint8_t id[CTR_ID_SIZE])
{
    return id[6] >> 4 == 8;
}

static inline void ctr_id_make_opening(uint8_t id[CTR_ID_SIZE])
{
    id[6] = (uint8_t)((id[6] & 0x0f) | 0x80);
}

/* Returns whether this is "dc:rack", with exactly one colon and both sides non-empty. */
bool ctr_id_is_name(const char *name, size_t size);

#endif
