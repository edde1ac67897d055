/* sqlite/text.h - texts in UTF-8: where a database keeps them in UTF-16, that takes memory.
 *
 * Each is NULL if there is no text, without a problem, and if there is no memory for it, with one.
 * The bytes are SQLite's, and stand as long as the row or the value does.
 */
#ifndef CTR_SQLITE_TEXT_H
#define CTR_SQLITE_TEXT_H

#include "sqlite/problem.h"

/* Of a column; no text is NULL. */
const char *ctr_text_column(sqlite3_stmt *row, int column, ctr_problem *problem);

/* Of a value; no text is all that is not TEXT. */
const char *ctr_text_value(sqlite3_value *value, ctr_problem *problem);

/* Binds a value that somebody else gave, a text as UTF-8: one in UTF-16 that begins with U+FEFF
 * would lose it, for sqlite3_bind_value takes that for a byte order mark. Returns SQLITE_OK or an
 * error code of SQLite. */
int ctr_text_bind_value(sqlite3_stmt *statement, int i, sqlite3_value *value);

/* Are the two values of one type, and byte for byte the same? A REAL is like no other. */
bool ctr_text_alike(sqlite3_value *a, sqlite3_value *b);

/* Has a text a word, in letters of either case? Nothing is a word of its own: UNREPLACED has
 * REPLACE. */
bool ctr_text_contains(const char *text, const char *word);

/* Of SQL: behind a name or a text in quotes, or a comment, that begins at `at`; NULL: none does. */
const char *ctr_text_behind(const char *at);

/* Of SQL: behind spaces and comments. */
const char *ctr_text_behind_blanks(const char *at);

/* Of SQL: do two words follow each other, outside of quotes and comments? */
bool ctr_text_has_words(const char *sql, const char *one, const char *other);

/* Has it U+FFFE or U+FFFF, of which SQLite makes U+FFFD where it keeps texts in UTF-16? */
bool ctr_text_has_noncharacter(const void *utf8, size_t size);

/* Is it UTF-8, as RFC 3629 has it? What an application binds as a text may be anything. */
bool ctr_text_is_utf8(const void *bytes, size_t size);

/* Between the items of a list: the word, "" before the first. */
const char *ctr_text_separator(sqlite3_str *list, const char *word);

/* The whole list, to be freed with sqlite3_free: "" if it is empty; NULL, with a problem, if there
 * was no memory for all of it. */
char *ctr_text_finish(sqlite3_str *list, ctr_problem *problem);

#endif
