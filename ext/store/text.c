/* store/text.c - texts in UTF-8. */
#include "store/text.h"

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

/* To ask for the size of a text makes UTF-8 of it; a size of 0 may be that of one that there was no
 * memory for. */
int ctr_text_bind_value(sqlite3_stmt *statement, int i, sqlite3_value *value)
{
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
    if (is_text && sqlite3_value_bytes(value) == 0 && !sqlite3_value_text(value))
        return SQLITE_NOMEM;
    return sqlite3_bind_value(statement, i, value);
}

bool ctr_text_contains(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (; *text; text++)
        if (sqlite3_strnicmp(text, word, (int)n) == 0) return true;
    return false;
}

const char *ctr_text_separator(sqlite3_str *list, const char *word)
{
    return sqlite3_str_length(list) > 0 ? word : "";
}
