/* store/text.c - texts in UTF-8. */
#include "store/text.h"

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
