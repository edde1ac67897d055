/* base/text.h - texts in UTF-8. Reading a text of a UTF-16 database needs memory.
 *
 * A function that reads a text returns NULL without a problem if there is none, and NULL with a
 * problem if there is no memory. SQLite owns the bytes; they last as long as the row or the value.
 */
#ifndef CTR_BASE_TEXT_H
#define CTR_BASE_TEXT_H

#include "core/words.h"
#include "base/problem.h"

/* Returns the text of a column. NULL is no text. */
const char *ctr_text_column(sqlite3_stmt *row, int column, ctr_problem *problem);

/* Returns the text of a value. Only TEXT is text. */
const char *ctr_text_value(sqlite3_value *value, ctr_problem *problem);

/* Binds a foreign value, a text as UTF-8: a text in UTF-16 would lose a U+FEFF at its start, which
 * sqlite3_bind_value takes for a byte order mark. Returns SQLITE_OK or an error code of SQLite. */
int ctr_text_bind_value(sqlite3_stmt *statement, int i, sqlite3_value *value);

/* Returns whether two values have one type and the same bytes. A REAL is like no other value. */
bool ctr_text_alike(sqlite3_value *a, sqlite3_value *b);

/* The same, but a REAL is like another one with the same bits. */
bool ctr_text_same(sqlite3_value *a, sqlite3_value *b);

/* Returns whether it has U+FFFE or U+FFFF, which SQLite stores as U+FFFD in UTF-16. */
bool ctr_text_has_noncharacter(const void *utf8, size_t size);

/* Returns whether it is UTF-8 (RFC 3629). Applications can bind any bytes as a text. */
bool ctr_text_is_utf8(const void *bytes, size_t size);

/* Return a copy: of a text, of a piece of one, of a name without its quotes. Fail, with NULL,
 * without memory. The caller frees it with sqlite3_free. */
char *ctr_text_copy(const char *text, ctr_problem *problem);
char *ctr_text_of(ctr_span span, ctr_problem *problem);
char *ctr_text_unquoted(ctr_span name, ctr_problem *problem);

/* Appends bytes as hexadecimal digits. */
void ctr_text_append_hex(sqlite3_str *out, const void *bytes, int size);

/* Returns the separator before the next item of a list: the word, "" before the first. */
const char *ctr_text_separator(sqlite3_str *list, const char *word);

/* Returns the whole list, "" if it is empty. Fails, with NULL, without memory. The caller frees it
 * with sqlite3_free. */
char *ctr_text_finish(sqlite3_str *list, ctr_problem *problem);

#endif
