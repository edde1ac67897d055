/* base/text.c - texts in UTF-8. */
#include "base/base.h"

#include <string.h>

const char *ctr_text_column(sqlite3_stmt *row, int column, ctr_problem *problem)
{
    if (sqlite3_column_type(row, column) == SQLITE_NULL) return NULL;
    const char *text = (const char *)sqlite3_column_text(row, column);
    if (!text) ctr_problem_nomem(problem);
    return text;
}

const char *ctr_text_value(sqlite3_value *value, ctr_problem *problem)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT) return NULL;
    const char *text = (const char *)sqlite3_value_text(value);
    if (!text) ctr_problem_nomem(problem);
    return text;
}

/* sqlite3_value_bytes converts a text to UTF-8; a size of 0 may mean that there was no memory for
 * it. */
int ctr_text_bind_value(sqlite3_stmt *statement, int i, sqlite3_value *value)
{
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
    if (is_text && sqlite3_value_bytes(value) == 0 && !sqlite3_value_text(value))
        return SQLITE_NOMEM;
    return sqlite3_bind_value(statement, i, value);
}

bool ctr_text_alike(sqlite3_value *a, sqlite3_value *b)
{
    int type = sqlite3_value_type(a);
    if (type != sqlite3_value_type(b) || type == SQLITE_FLOAT) return false;
    if (type == SQLITE_INTEGER) return sqlite3_value_int64(a) == sqlite3_value_int64(b);
    bool text = type == SQLITE_TEXT; /* may be converted: read before its size */
    const void *x = text ? (const void *)sqlite3_value_text(a) : sqlite3_value_blob(a),
               *y = text ? (const void *)sqlite3_value_text(b) : sqlite3_value_blob(b);
    int size = sqlite3_value_bytes(a);
    if (size != sqlite3_value_bytes(b)) return false;
    return (x && y && memcmp(x, y, (size_t)size) == 0) || (size == 0 && !text);
}

bool ctr_text_same(sqlite3_value *a, sqlite3_value *b)
{
    if (sqlite3_value_type(a) != SQLITE_FLOAT || sqlite3_value_type(b) != SQLITE_FLOAT)
        return ctr_text_alike(a, b);
    double x = sqlite3_value_double(a), y = sqlite3_value_double(b);
    return memcmp(&x, &y, sizeof x) == 0;
}

const char *ctr_text_separator(sqlite3_str *list, const char *word)
{
    return sqlite3_str_length(list) > 0 ? word : "";
}

void ctr_text_append_hex(sqlite3_str *out, const void *bytes, int size)
{
    const unsigned char *at = bytes;
    for (int i = 0; i < size; i++) sqlite3_str_appendf(out, "%02x", at[i]);
}

char *ctr_text_copy(const char *text, ctr_problem *problem)
{
    return ctr_text_of((ctr_span){text, strlen(text)}, problem);
}

char *ctr_text_of(ctr_span span, ctr_problem *problem)
{
    char *copy = sqlite3_mprintf("%.*s", (int)span.size, span.text);
    if (!copy) ctr_problem_nomem(problem);
    return copy;
}

char *ctr_text_unquoted(ctr_span name, ctr_problem *problem)
{
    char *text = sqlite3_malloc64(name.size + 1);
    if (text)
        ctr_word_unquote(name, text);
    else
        ctr_problem_nomem(problem);
    return text;
}

char *ctr_text_finish(sqlite3_str *list, ctr_problem *problem)
{
    bool whole = sqlite3_str_errcode(list) == SQLITE_OK;
    char *text = sqlite3_str_finish(list);
    if (whole && !text) text = sqlite3_mprintf("");
    if (whole && text) return text;
    ctr_problem_nomem(problem);
    sqlite3_free(text);
    return NULL;
}

/* Returns the size of the character at `at`, where `left` bytes remain; 0 if there is none. */
static size_t character_size(const unsigned char *at, size_t left)
{
    static const unsigned LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    unsigned letter = size == 1 ? at[0] : at[0] & (0x7fU >> size);
    if (size > left || (at[0] & 0xc0) == 0x80 || at[0] >= 0xf8) return 0;
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        letter = letter << 6 | (at[i] & 0x3fU);
    }
    bool is_surrogate = letter >= 0xd800 && letter <= 0xdfff;
    return letter < LEAST[size] || letter > 0x10ffff || is_surrogate ? 0 : size;
}

bool ctr_text_is_utf8(const void *bytes, size_t size)
{
    const unsigned char *at = bytes, *end = at + size;
    size_t one = 1;
    while (at < end && (one = character_size(at, (size_t)(end - at))) > 0) at += one;
    return one > 0;
}

bool ctr_text_has_noncharacter(const void *utf8, size_t size)
{
    const unsigned char *at = utf8;
    for (size_t i = 0; i + 2 < size; i++)
        if (at[i] == 0xef && at[i + 1] == 0xbf && (at[i + 2] == 0xbe || at[i + 2] == 0xbf))
            return true;
    return false;
}
