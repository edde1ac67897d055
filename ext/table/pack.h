/* table/pack.h - SQLite's values to packed keys (core/key.h) and back.
 *
 * Folded, a key stands for all keys that its columns compare as equal: it is what digests and
 * buckets are made of, for two files may spell one key in two ways. NOCASE and RTRIM are folded,
 * numbers are one whether INTEGER or REAL; the spelling counts under collations of the application.
 */
#ifndef CTR_TABLE_PACK_H
#define CTR_TABLE_PACK_H

#include "core/key.h"
#include "table/shape.h"

/* Bytes that grow. Zero it, use it again and again, free `bytes`. */
typedef struct ctr_packed {
    uint8_t *bytes;
    size_t size, room;
} ctr_packed;

/* Makes room for `size` more bytes behind those that are there; NULL if there is no memory. */
uint8_t *ctr_pack_room(ctr_packed *packed, size_t size, ctr_problem *problem);

/* Packs n values in place of what was there. A NULL among them is a hole. They may be those of a
 * statement's row. */
int ctr_pack_values(ctr_packed *packed, sqlite3_value **values, int n, ctr_problem *problem);

/* The same of the key columns of a row, or of floors, folded. */
int ctr_pack_folded(ctr_packed *packed, const ctr_shape *shape, sqlite3_value **keys,
                    ctr_problem *problem);

/* Binds a value as a column would store it; the second lends the bytes of a text until the bindings
 * are cleared. SQLite converts an integer to REAL when it stores it,
 * not when it compares it. */
int ctr_pack_bind_stored(sqlite3_stmt *statement, int i, const ctr_column *column,
                         sqlite3_value *value);
int ctr_pack_lend_stored(sqlite3_stmt *statement, int i, const ctr_column *column,
                         sqlite3_value *value);

/* Binds the values of a checked key to the parameters of a statement, from the first on. */
int ctr_pack_bind(sqlite3_stmt *statement, const uint8_t *bytes, size_t size);

#endif
