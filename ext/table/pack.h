/* table/pack.h - turns SQLite values into packed keys (core/key.h) and back.
 *
 * A folded key stands for all keys that its columns compare as equal. Digests and buckets use
 * folded keys, because two files may spell one key in two ways. NOCASE and RTRIM are folded, and
 * INTEGER and REAL of one value are the same; under collations of the application the spelling
 * counts.
 */
#ifndef CTR_TABLE_PACK_H
#define CTR_TABLE_PACK_H

#include "core/key.h"
#include "table/shape.h"

/* A buffer that grows. Zero it first, reuse it, and free `bytes`. */
typedef struct ctr_packed {
    uint8_t *bytes;
    size_t size, room;
} ctr_packed;

/* Makes room for `size` more bytes after the present ones and returns it; NULL if there is no
 * memory. */
uint8_t *ctr_pack_room(ctr_packed *packed, size_t size, ctr_problem *problem);

/* Packs n values in place of the present bytes; a NULL becomes CTR_KEY_NOTHING. They may belong to
 * a statement's current row. */
int ctr_pack_values(ctr_packed *packed, sqlite3_value **values, int n, ctr_problem *problem);

/* Append a packed key: begin it, and add a value; NULL is nothing. */
void ctr_pack_begin(ctr_packed *packed, ctr_problem *problem);
void ctr_pack_append(ctr_packed *packed, sqlite3_value *value, ctr_problem *problem);

/* The same for the key columns of a row, or for floors, folded. */
int ctr_pack_folded(ctr_packed *packed, const ctr_shape *shape, sqlite3_value **keys,
                    ctr_problem *problem);

/* Returns whether a packed key has exactly these values; NULL: any. */
bool ctr_pack_has(const uint8_t *bytes, size_t size, sqlite3_value **keys, int n,
                  ctr_problem *problem);

/* Binds a value as a column would store it; the second borrows the bytes of a text until the
 * bindings are cleared. SQLite converts an integer to REAL when it stores it, not when it compares
 * it. */
int ctr_pack_bind_stored(sqlite3_stmt *statement, int i, const ctr_column *column,
                         sqlite3_value *value);
int ctr_pack_lend_stored(sqlite3_stmt *statement, int i, const ctr_column *column,
                         sqlite3_value *value);

/* Binds the key columns of a row, beginning at the parameter `first`. Returns an SQLite code. */
int ctr_pack_bind_keys(sqlite3_stmt *statement, int first, const ctr_shape *shape,
                       sqlite3_value **keys);

/* Binds the values of a checked key to the parameters of a statement, from the first on. */
int ctr_pack_bind(sqlite3_stmt *statement, const uint8_t *bytes, size_t size);

#endif
