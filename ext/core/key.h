/* core/key.h - the values of a row's key, packed into one blob that any transport can carry.
 *
 *     byte 0        0xD1: a packed key (high half) of format 1 (low half)
 *     each value    one byte for its type, then
 *                     0  nothing: a column without a floor, in packed floors; never in a key
 *                     1  INTEGER   zigzag LEB128 of minimal length
 *                     2  REAL      8 bytes, IEEE 754, the highest first; no NaN
 *                     3  TEXT      LEB128 of minimal length: bytes; then the text in UTF-8
 *                     4  BLOB      LEB128 of minimal length: bytes; then the bytes
 *
 * A key has at least one value. A tuple of values has exactly one encoding.
 */
#ifndef CTR_CORE_KEY_H
#define CTR_CORE_KEY_H

#include "counter_cell.h"

enum { CTR_KEY_HEADER = 1, CTR_KEY_VALUE_MAX = 11 /* bytes besides those of a text or blob */ };

typedef enum ctr_key_type {
    CTR_KEY_NOTHING,
    CTR_KEY_INTEGER,
    CTR_KEY_REAL,
    CTR_KEY_TEXT,
    CTR_KEY_BLOB
} ctr_key_type;

typedef struct ctr_key_value {
    ctr_key_type type;
    int64_t integer;
    double real;
    const uint8_t *bytes; /* of a text or blob; borrowed */
    size_t size;
} ctr_key_value;

/* Begin a key, and append a value to it; both return its end. Room: CTR_KEY_HEADER, and for each
 * value CTR_KEY_VALUE_MAX and its bytes. */
uint8_t *ctr_key_begin(uint8_t *out);
uint8_t *ctr_key_put(uint8_t *out, const ctr_key_value *value);

/* Checks all of `bytes`, and sets `n` to the number of values. `holes` allows CTR_KEY_NOTHING.
 * Returns CTR_NOT_A_CELL if it is no packed key. */
ctr_status ctr_key_check(const uint8_t *bytes, size_t size, bool holes, int *n);

/* Walks the values of a checked key: set `at` to 0, call until it returns false. */
bool ctr_key_next(const uint8_t *bytes, size_t size, size_t *at, ctr_key_value *value);

/* Makes values that SQLite compares as equal one: a REAL that is a whole number becomes an
 * INTEGER. */
void ctr_key_unify(ctr_key_value *value);

/* Returns a clause that follows a noun, for a status of a key. Static text. */
const char *ctr_key_status_text(ctr_status status);

#endif
