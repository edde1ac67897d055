/* core/words.h - SQL, word by word, with spaces and comments skipped.
 *
 * Nothing in this file allocates. Words and names are compared in letters of either case.
 */
#ifndef CTR_CORE_WORDS_H
#define CTR_CORE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* A piece of the caller's text. Names have their quotes. */
typedef struct ctr_span {
    const char *text;
    size_t size;
} ctr_span;

typedef enum ctr_word_kind {
    CTR_WORD_END,
    CTR_WORD_PLAIN,  /* a keyword, or a name without quotes */
    CTR_WORD_QUOTED, /* a name in quotes, or a text */
    CTR_WORD_NUMBER, /* digits, perhaps with a sign */
    CTR_WORD_MARK    /* one other character, such as a quote that does not end */
} ctr_word_kind;

typedef struct ctr_words {
    const char *at; /* behind the word */
    ctr_word_kind kind;
    ctr_span word;
} ctr_words;

/* Moves to the next word. Begin with {.at = sql}, before the first one. */
void ctr_word_next(ctr_words *words);

/* Return whether the words stand at this plain word, at this mark, at any name. */
bool ctr_word_at(const ctr_words *words, const char *word);
bool ctr_word_at_mark(const ctr_words *words, char mark);
bool ctr_word_at_name(const ctr_words *words);

/* Returns whether `sql` has the plain word `one`, with `other` right behind it unless that is
 * NULL. */
bool ctr_word_follow(const char *sql, const char *one, const char *other);

/* Returns whether the text is the word. */
bool ctr_word_is(ctr_span span, const char *word);

/* Returns whether the text has the word, also inside of another one: UNREPLACED has replace. */
bool ctr_word_is_in(const char *word, const char *text);

/* Writes a name without its quotes, doubled quotes as single ones, with a NUL. `out` has
 * span.size + 1 bytes. */
void ctr_word_unquote(ctr_span span, char *out);

/* Return whether two names are the same, whatever their quotes; the second has none. */
bool ctr_word_same_name(ctr_span a, ctr_span b);
bool ctr_word_names(ctr_span name, const char *text);

#endif
