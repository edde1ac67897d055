/* table/key_json.c - writes packed keys as JSON, and reads them. */
#include "table/table.h"

#include <math.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

static void append_hex(sqlite3_str *out, const char *what, const uint8_t *bytes, size_t size)
{
    sqlite3_str_appendf(out, "{\"%s\":\"", what);
    ctr_text_append_hex(out, bytes, (int)size);
    sqlite3_str_appendall(out, "\"}");
}

static void append_text_key(sqlite3_str *out, const uint8_t *text, size_t size)
{
    if (!ctr_text_is_utf8(text, size)) {
        append_hex(out, "text", text, size);
        return;
    }
    sqlite3_str_appendchar(out, 1, '"');
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\')
            sqlite3_str_appendf(out, "\\%c", text[i]);
        else if (text[i] < 0x20)
            sqlite3_str_appendf(out, "\\u%04x", text[i]);
        else
            sqlite3_str_appendchar(out, 1, (char)text[i]);
    }
    sqlite3_str_appendchar(out, 1, '"');
}

char *ctr_key_json_write(const uint8_t *key, size_t size)
{
    ctr_key_value value;
    size_t at = 0;
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendchar(out, 1, '[');
    for (int i = 0; ctr_key_next(key, size, &at, &value); i++) {
        if (i) sqlite3_str_appendchar(out, 1, ',');
        switch (value.type) {
        case CTR_KEY_NOTHING: sqlite3_str_appendall(out, "null"); break;
        case CTR_KEY_INTEGER: sqlite3_str_appendf(out, "%lld", (long long)value.integer); break;
        case CTR_KEY_REAL:
            if (isinf(value.real)) /* JSON has no infinity: 9e999 is read as one */
                sqlite3_str_appendall(out, value.real > 0 ? "9e999" : "-9e999");
            else
                sqlite3_str_appendf(out, "%!.17g", value.real);
            break;
        case CTR_KEY_TEXT: append_text_key(out, value.bytes, value.size); break;
        case CTR_KEY_BLOB: append_hex(out, "hex", value.bytes, value.size); break;
        }
    }
    sqlite3_str_appendchar(out, 1, ']');
    return sqlite3_str_finish(out);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Columns of CTR_SQL_KEY_JSON. */
enum { VALUE_WHOLE, VALUE_TYPE, VALUE_ATOM, VALUE_HEX, VALUE_TEXT };

/* Appends what hexadecimal digits say. Returns false if they are none. */
static bool take_hex(ctr_packed *key, ctr_key_type type, const char *digits, ctr_problem *problem)
{
    size_t size = strlen(digits) / 2;
    bool is_valid = strlen(digits) % 2 == 0;
    uint8_t *bytes = sqlite3_malloc64(size + 1);
    if (!bytes) ctr_problem_nomem(problem);
    for (size_t i = 0; bytes && i < size; i++) {
        int high = ctr_id_digit(digits[2 * i]), low = ctr_id_digit(digits[2 * i + 1]);
        is_valid = is_valid && high >= 0 && low >= 0;
        bytes[i] = (uint8_t)(is_valid ? 16 * high + low : 0);
    }
    uint8_t *out = bytes && is_valid ? ctr_pack_room(key, CTR_KEY_VALUE_MAX + size, problem) : NULL;
    const ctr_key_value value = {.type = type, .bytes = bytes, .size = size};
    if (out) key->size = (size_t)(ctr_key_put(out, &value) - key->bytes);
    sqlite3_free(bytes);
    return out != NULL;
}

/* Appends the value that the row of json_each has. */
static bool take_value(ctr_packed *key, sqlite3_stmt *row, ctr_problem *problem)
{
    const char *type = ctr_text_column(row, VALUE_TYPE, problem),
               *whole = ctr_text_column(row, VALUE_WHOLE, problem),
               *hex = ctr_text_column(row, VALUE_HEX, problem),
               *text = ctr_text_column(row, VALUE_TEXT, problem);
    if (!type || !whole || strcmp(whole, "array") != 0) return false;
    if (hex || text)
        return take_hex(key, hex ? CTR_KEY_BLOB : CTR_KEY_TEXT, hex ? hex : text, problem);
    if (strcmp(type, "text") != 0 && strcmp(type, "integer") != 0 && strcmp(type, "real") != 0)
        return false;
    ctr_pack_append(key, sqlite3_column_value(row, VALUE_ATOM), problem);
    return problem->rc == SQLITE_OK;
}

/* Returns what an escape without a number stands for, 0: it is none. */
static char escaped(char letter)
{
    static const char LETTERS[] = "\"\\/bfnrt", MEANT[] = "\"\\/\b\f\n\r\t";
    const char *found = letter ? strchr(LETTERS, letter) : NULL;
    return found ? MEANT[found - LETTERS] : '\0';
}

/* Reads the 4 digits of \u. Returns -1 if there are none. */
static int32_t read_unit(const char *at)
{
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = ctr_id_digit(at[i]);
        if (digit < 0) return -1;
        unit = 16 * unit + digit;
    }
    return unit;
}

/* Appends the digits of a character in UTF-8. */
static void append_character(sqlite3_str *out, int32_t code)
{
    if (code < 0x80)
        sqlite3_str_appendf(out, "%02x", code);
    else if (code < 0x800)
        sqlite3_str_appendf(out, "%02x%02x", 0xc0 | code >> 6, 0x80 | (code & 0x3f));
    else if (code < 0x10000)
        sqlite3_str_appendf(out, "%02x%02x%02x", 0xe0 | code >> 12, 0x80 | (code >> 6 & 0x3f),
                            0x80 | (code & 0x3f));
    else
        sqlite3_str_appendf(out, "%02x%02x%02x%02x", 0xf0 | code >> 18, 0x80 | (code >> 12 & 0x3f),
                            0x80 | (code >> 6 & 0x3f), 0x80 | (code & 0x3f));
}

/* Appends the text between these quotes of JSON in hexadecimal digits. Returns false if it has an
 * escape that JSON does not have, or half of a surrogate pair. */
static bool append_text_hex(sqlite3_str *out, const char *at, const char *end)
{
    while (at < end) {
        if (*at != '\\') {
            sqlite3_str_appendf(out, "%02x", (unsigned char)*at++);
        } else if (at[1] != 'u') {
            if (!escaped(at[1])) return false;
            sqlite3_str_appendf(out, "%02x", (unsigned char)escaped(at[1]));
            at += 2;
        } else {
            int32_t code = read_unit(at + 2), low = -1;
            at += 6;
            if (code < 0 || at > end) return false;
            if (code >= 0xd800 && code < 0xe000) {
                if (code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u')
                    low = read_unit(at + 2);
                if (low < 0xdc00 || low >= 0xe000) return false;
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                at += 6;
            }
            append_character(out, code);
        }
    }
    return true;
}

/* Returns whether a text has an escape of U+0000, as JSON spells it or JSON5. */
static bool has_nul(const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at != '\\') continue;
        at++;
        if (*at == '0' || strncmp(at, "u0000", 5) == 0 || strncmp(at, "x00", 3) == 0) return true;
    }
    return false;
}

/* json_each ends a text at a U+0000. Returns the JSON with {"text":"6100"} in place of such texts,
 * to be freed; NULL if it is no JSON. */
static char *nul_texts_in_hex(const char *json, ctr_problem *problem)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    bool is_json = true;
    for (const char *at = json; *at && is_json; at++) {
        const char *end = at + 1;
        while (*at == '"' && *end && *end != '"') end += end[0] == '\\' && end[1] ? 2 : 1;
        bool is_nul = *at == '"' && *end == '"' && has_nul(at + 1, end);
        if (is_nul) {
            sqlite3_str_appendall(out, "{\"text\":\"");
            is_json = append_text_hex(out, at + 1, end);
            sqlite3_str_appendall(out, "\"}");
        } else {
            sqlite3_str_append(out, at, (int)(end - at) + (*at == '"' && *end == '"'));
        }
        if (*at == '"' && *end == '"')
            at = end;
        else
            at = end - 1;
    }
    char *text = ctr_text_finish(out, problem);
    is_json = is_json && text && !has_nul(text, text + strlen(text));
    if (!is_json) sqlite3_free(text);
    return is_json ? text : NULL;
}

bool ctr_key_json_read(ctr_packed *key, int *n, sqlite3 *db, const char *json, ctr_problem *problem)
{
    ctr_problem malformed = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(db, "main", NULL, &malformed);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_KEY_JSON);
    char *read = nul_texts_in_hex(json, problem);
    bool is_key = read != NULL;
    *n = 0;
    key->size = 0;
    if (read) ctr_run_bind_text(&run, row, ":json", read);
    if (problem->rc == SQLITE_OK) ctr_pack_begin(key, problem);
    while (is_key && ctr_run_row(&run, row)) {
        is_key = take_value(key, row, problem);
        ++*n;
    }
    sqlite3_finalize(row);
    sqlite3_free(read);
    is_key = is_key && *n > 0 && malformed.rc == SQLITE_OK && problem->rc == SQLITE_OK;
    bool is_json = malformed.rc == SQLITE_OK || malformed.rc == SQLITE_ERROR;
    if (is_json || problem->rc != SQLITE_OK)
        ctr_problem_close(&malformed);
    else
        *problem = malformed;
    return is_key;
}
