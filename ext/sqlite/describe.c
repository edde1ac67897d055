/* sqlite/describe.c - values as a message shows them. */
#include "sqlite/describe.h"

#include <stdbool.h>

enum { SHOWN_MAX = 40 };

/* The longest beginning of at most SHOWN_MAX bytes that does not cut a UTF-8 character. */
static int shown_length(const char *text, int size)
{
    if (size <= SHOWN_MAX) return size;
    int n = SHOWN_MAX;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
    return n;
}

/* These return false where there is no memory to look at the value. */
static bool append_text(sqlite3_str *out, sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    int size = sqlite3_value_bytes(value);
    if (!text) return false;
    int shown = shown_length(text, size);
    sqlite3_str_appendf(out, "'%.*q%s'", shown, text, shown < size ? "..." : "");
    return true;
}

static bool append_blob(sqlite3_str *out, sqlite3_value *value)
{
    const unsigned char *bytes = sqlite3_value_blob(value);
    int size = sqlite3_value_bytes(value);
    if (!bytes && size > 0) return false;
    sqlite3_str_appendall(out, "x'");
    for (int i = 0; i < size && i < SHOWN_MAX / 2; i++) sqlite3_str_appendf(out, "%02x", bytes[i]);
    sqlite3_str_appendall(out, size > SHOWN_MAX / 2 ? "...'" : "'");
    return true;
}

/* An SQL literal of at most some 40 characters. */
static bool append_literal(sqlite3_str *out, sqlite3_value *value)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        sqlite3_str_appendf(out, "%lld", (long long)sqlite3_value_int64(value));
        return true;
    case SQLITE_FLOAT: sqlite3_str_appendf(out, "%!.15g", sqlite3_value_double(value)); return true;
    case SQLITE_TEXT: return append_text(out, value);
    case SQLITE_BLOB: return append_blob(out, value);
    default: sqlite3_str_appendall(out, "NULL"); return true;
    }
}

static char *finish_description(sqlite3_str *out, bool is_whole)
{
    char *text = sqlite3_str_finish(out);
    if (is_whole) return text;
    sqlite3_free(text);
    return NULL;
}

char *ctr_describe_value(sqlite3_value *value)
{
    static const char *const TYPES[] = {"", "INTEGER ", "REAL ", "TEXT ", "BLOB ", ""};
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendall(out, TYPES[sqlite3_value_type(value)]);
    return finish_description(out, append_literal(out, value));
}

/* Copies, for the values of a row must not be converted in place. */
char *ctr_describe_key(sqlite3_value **values, int n)
{
    bool is_whole = true;
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendchar(out, 1, '(');
    for (int i = 0; i < n; i++) {
        sqlite3_value *value = sqlite3_value_dup(values[i]);
        if (i) sqlite3_str_appendall(out, ", ");
        is_whole = is_whole && value && append_literal(out, value);
        sqlite3_value_free(value);
    }
    sqlite3_str_appendchar(out, 1, ')');
    return finish_description(out, is_whole);
}
