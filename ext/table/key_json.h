/* table/key_json.h - packed keys as JSON, for people and for scopes.
 *
 *     ["/",12]    a BLOB is {"hex":"00ff"}, a TEXT that is not valid UTF-8 {"text":"61ff"}, a
 *                 missing floor null, infinity 9e999
 */
#ifndef CTR_TABLE_KEY_JSON_H
#define CTR_TABLE_KEY_JSON_H

#include "table/pack.h"

/* Returns a checked packed key as JSON; NULL: no memory. The caller frees it with sqlite3_free. */
char *ctr_key_json_write(const uint8_t *key, size_t size);

/* Packs the values of a JSON array, which SQLite's json_each reads, in place of the present bytes,
 * and sets their number. Returns false if it is no array of values of a key, or on a problem. */
bool ctr_key_json_read(ctr_packed *key, int *n, sqlite3 *db, const char *json,
                       ctr_problem *problem);

#endif
