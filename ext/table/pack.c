/* table/pack.c - packs values. */
#include "table/table.h"

#include <string.h>

uint8_t *ctr_pack_room(ctr_packed *packed, size_t size, ctr_problem *problem)
{
    size_t needed = packed->size + size;
    uint8_t *bytes = ctr_array_room(packed->bytes, &packed->room, needed, 1, problem);
    if (!bytes) return NULL;
    packed->bytes = bytes;
    return bytes + packed->size;
}

/* The result borrows the bytes of the value. sqlite3_value_bytes converts a text to UTF-8, and
 * sqlite3_value_blob then returns its bytes; sqlite3_value_text would copy most texts, to add a
 * NUL. A size of 0 may mean that there was no memory for the conversion. */
static ctr_key_value to_key_value(sqlite3_value *value, ctr_problem *problem)
{
    ctr_key_value made = {.type = CTR_KEY_NOTHING};
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        made.type = CTR_KEY_INTEGER;
        made.integer = sqlite3_value_int64(value);
        break;
    case SQLITE_FLOAT:
        made.type = CTR_KEY_REAL;
        made.real = sqlite3_value_double(value);
        break;
    case SQLITE_TEXT:
        made.type = CTR_KEY_TEXT;
        made.size = (size_t)sqlite3_value_bytes(value);
        made.bytes = made.size > 0 ? sqlite3_value_blob(value) : sqlite3_value_text(value);
        if (made.size == 0) made.size = (size_t)sqlite3_value_bytes(value);
        break;
    case SQLITE_BLOB:
        made.type = CTR_KEY_BLOB;
        made.bytes = sqlite3_value_blob(value);
        made.size = (size_t)sqlite3_value_bytes(value);
        break;
    default: break;
    }
    bool lost = !made.bytes && (made.size > 0 || made.type == CTR_KEY_TEXT);
    if (lost) ctr_problem_nomem(problem);
    return made;
}

void ctr_pack_begin(ctr_packed *packed, ctr_problem *problem)
{
    uint8_t *out = ctr_pack_room(packed, CTR_KEY_HEADER, problem);
    if (out) packed->size = (size_t)(ctr_key_begin(out) - packed->bytes);
}

/* Returns the bytes of the value in the packed key, or NULL without memory. */
static uint8_t *put_value(ctr_packed *packed, const ctr_key_value *value, ctr_problem *problem)
{
    uint8_t *out = ctr_pack_room(packed, CTR_KEY_VALUE_MAX + value->size, problem);
    if (!out) return NULL;
    uint8_t *end = ctr_key_put(out, value);
    packed->size = (size_t)(end - packed->bytes);
    return end - value->size;
}

void ctr_pack_append(ctr_packed *packed, sqlite3_value *value, ctr_problem *problem)
{
    ctr_key_value made = {.type = CTR_KEY_NOTHING};
    if (value) made = to_key_value(value, problem);
    if (problem->rc == SQLITE_OK) put_value(packed, &made, problem);
}

int ctr_pack_values(ctr_packed *packed, sqlite3_value **values, int n, ctr_problem *problem)
{
    packed->size = 0;
    ctr_pack_begin(packed, problem);
    for (int i = 0; i < n && problem->rc == SQLITE_OK; i++)
        ctr_pack_append(packed, values[i], problem);
    return problem->rc;
}

bool ctr_pack_has(const uint8_t *bytes, size_t size, sqlite3_value **keys, int n,
                  ctr_problem *problem)
{
    size_t at = 0;
    ctr_key_value stored;
    for (int i = 0; i < n && ctr_key_next(bytes, size, &at, &stored); i++) {
        if (!keys[i]) continue;
        ctr_key_value value = to_key_value(keys[i], problem);
        bool number = value.type == CTR_KEY_INTEGER || value.type == CTR_KEY_REAL;
        if (value.type != stored.type) return false;
        if (value.type == CTR_KEY_INTEGER && value.integer != stored.integer) return false;
        if (value.type == CTR_KEY_REAL && memcmp(&value.real, &stored.real, sizeof value.real) != 0)
            return false; /* 0.0 and -0.0 */
        if (!number && (value.size != stored.size ||
                        (value.size > 0 && memcmp(value.bytes, stored.bytes, value.size) != 0)))
            return false;
    }
    return problem->rc == SQLITE_OK;
}

/* ---- folding --------------------------------------------------------------------------------- */

/* Folds as NOCASE compares: of the bytes after a NUL, only the length counts. */
static void fold_case(uint8_t *text, size_t size)
{
    const uint8_t *nul = memchr(text, 0, size);
    size_t compared = nul ? (size_t)(nul - text) : size;
    memset(text + compared, 0, size - compared);
    for (size_t i = 0; i < compared; i++)
        if (text[i] >= 'A' && text[i] <= 'Z') text[i] = (uint8_t)(text[i] + ('a' - 'A'));
}

int ctr_pack_folded(ctr_packed *packed, const ctr_shape *shape, sqlite3_value **keys,
                    ctr_problem *problem)
{
    packed->size = 0;
    ctr_pack_begin(packed, problem);
    for (int i = 0; i < shape->n_keys && problem->rc == SQLITE_OK; i++) {
        const char *collation = shape->columns[shape->keys[i]].collation;
        ctr_key_value value = to_key_value(keys[i], problem);
        bool is_text = value.type == CTR_KEY_TEXT;
        if (problem->rc != SQLITE_OK) return problem->rc;
        ctr_key_unify(&value);
        if (is_text && sqlite3_stricmp(collation, "RTRIM") == 0) /* before the size is written */
            while (value.size > 0 && value.bytes[value.size - 1] == ' ') value.size--;
        uint8_t *text = put_value(packed, &value, problem);
        if (text && is_text && sqlite3_stricmp(collation, "NOCASE") == 0)
            fold_case(text, value.size);
    }
    return problem->rc;
}

/* ---- binding --------------------------------------------------------------------------------- */

int ctr_pack_lend_stored(sqlite3_stmt *statement, int i, const ctr_column *column,
                         sqlite3_value *value)
{
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
    bool lends = is_text && column->affinity != CTR_AFFINITY_REAL;
    int size = lends ? sqlite3_value_bytes(value) : 0; /* converts it to UTF-8 */
    const char *text = size > 0 ? sqlite3_value_blob(value) : NULL;
    if (!text) return ctr_pack_bind_stored(statement, i, column, value);
    return sqlite3_bind_text64(statement, i, text, (sqlite3_uint64)size, SQLITE_STATIC,
                               SQLITE_UTF8);
}

int ctr_pack_bind_stored(sqlite3_stmt *statement, int i, const ctr_column *column,
                         sqlite3_value *value)
{
    if (column->affinity == CTR_AFFINITY_REAL) {
        ctr_problem problem = {SQLITE_OK, NULL};
        ctr_number number = ctr_arg_number(sqlite3_db_handle(statement), value, &problem);
        int rc = problem.rc;
        ctr_problem_close(&problem);
        if (rc != SQLITE_OK) return rc;
        if (number.type == SQLITE_INTEGER)
            return sqlite3_bind_double(statement, i, (double)number.integer);
    }
    return ctr_text_bind_value(statement, i, value);
}

int ctr_pack_bind_keys(sqlite3_stmt *statement, int first, const ctr_shape *shape,
                       sqlite3_value **keys)
{
    int rc = SQLITE_OK;
    for (int i = 0; i < shape->n_keys && rc == SQLITE_OK; i++)
        rc = ctr_pack_bind_stored(statement, first + i, &shape->columns[shape->keys[i]], keys[i]);
    return rc;
}

int ctr_pack_bind(sqlite3_stmt *statement, const uint8_t *bytes, size_t size)
{
    ctr_key_value value;
    size_t at = 0;
    int rc = SQLITE_OK;
    for (int i = 1; rc == SQLITE_OK && ctr_key_next(bytes, size, &at, &value); i++) {
        const void *content = value.bytes ? value.bytes : (const uint8_t *)"";
        switch (value.type) {
        case CTR_KEY_NOTHING: rc = sqlite3_bind_null(statement, i); break;
        case CTR_KEY_INTEGER: rc = sqlite3_bind_int64(statement, i, value.integer); break;
        case CTR_KEY_REAL: rc = sqlite3_bind_double(statement, i, value.real); break;
        case CTR_KEY_TEXT:
            rc = sqlite3_bind_text64(statement, i, content, value.size, SQLITE_TRANSIENT,
                                     SQLITE_UTF8);
            break;
        case CTR_KEY_BLOB:
            rc = sqlite3_bind_blob64(statement, i, content, value.size, SQLITE_TRANSIENT);
            break;
        }
    }
    return rc;
}
