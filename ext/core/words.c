/* core/words.c - reads SQL word by word. */
#include "core/core.h"

#include <string.h>

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - ('a' - 'A')) : c;
}

/* What a character of SQL is: b blank, q quote, d digit, w letter of a word, m mark, 0 the end. As
 * in SQLite, every byte of a multibyte character may be in a name. */
static const char CLASSES[] =
    "0mmmmmmmmbbbbbmmmmmmmmmmmmmmmmmm"
    "bmqmwmmqmmmmmmmmddddddddddmmmmmm" /*  !"#$%&'()*+,-./ 0 to 9 :;<=>? */
    "mwwwwwwwwwwwwwwwwwwwwwwwwwwqmmmw" /* @ A to Z [\]^_ */
    "qwwwwwwwwwwwwwwwwwwwwwwwwwwmmmmm" /* ` a to z {|}~ */
    "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"
    "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"
    "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"
    "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww";

/* ---- one after the other --------------------------------------------------------------------- */

static const char *skip_blank(const char *at)
{
    for (;;) {
        while (CLASSES[(unsigned char)*at] == 'b') at++;
        if (at[0] == '-' && at[1] == '-') {
            while (*at && *at != '\n') at++;
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else {
            return at;
        }
    }
}

static char closing_quote(char c)
{
    return c == '[' ? ']' : c == '"' || c == '`' || c == '\'' ? c : '\0';
}

/* Returns the end of a quoted name, or NULL if it has none. Brackets cannot be doubled. */
static const char *quoted_end(const char *at)
{
    char quote = closing_quote(*at);
    for (at++; *at; at++) {
        if (*at != quote) continue;
        if (quote == ']' || at[1] != quote) return at + 1;
        at++;
    }
    return NULL;
}

static const char *word_end(const char *at)
{
    char class;
    do class = CLASSES[(unsigned char)*++at];
    while (class == 'w' || class == 'd');
    return at;
}

/* Digits, with a sign or not. Returns NULL if there are none. */
static const char *number_end(const char *at)
{
    if (*at == '-' || *at == '+') at++;
    size_t digits = strspn(at, "0123456789");
    return digits > 0 ? at + digits : NULL;
}

void ctr_word_next(ctr_words *words)
{
    const char *start = skip_blank(words->at), *end = NULL;
    char class = CLASSES[(unsigned char)*start];
    if (class == '0') {
        words->kind = CTR_WORD_END;
        end = start;
    } else if (class == 'w') {
        words->kind = CTR_WORD_PLAIN;
        end = word_end(start);
    } else if (class == 'q') {
        words->kind = CTR_WORD_QUOTED;
        end = quoted_end(start);
    } else {
        words->kind = CTR_WORD_NUMBER;
        end = number_end(start);
    }
    if (!end) {
        words->kind = CTR_WORD_MARK;
        end = start + 1;
    }
    words->word = (ctr_span){start, (size_t)(end - start)};
    words->at = end;
}

bool ctr_word_at(const ctr_words *words, const char *word)
{
    return words->kind == CTR_WORD_PLAIN && ctr_word_is(words->word, word);
}

bool ctr_word_at_mark(const ctr_words *words, char mark)
{
    return words->kind == CTR_WORD_MARK && *words->word.text == mark;
}

bool ctr_word_at_name(const ctr_words *words)
{
    return words->kind == CTR_WORD_PLAIN || words->kind == CTR_WORD_QUOTED;
}

/* No quote and no escape can stand within a plain word: what has one has its letters in a row. */
bool ctr_word_follow(const char *sql, const char *one, const char *other)
{
    bool found = false;
    ctr_words words = {.at = sql};
    if (!ctr_word_is_in(one, sql) || (other && !ctr_word_is_in(other, sql))) return false;
    for (ctr_word_next(&words); words.kind != CTR_WORD_END; ctr_word_next(&words)) {
        if (found && other && ctr_word_at(&words, other)) return true;
        found = ctr_word_at(&words, one);
        if (found && !other) return true;
    }
    return false;
}

/* ---- the text of a table --------------------------------------------------------------------- */

/* Moves to the parenthesis that begins the columns. Returns false if there is none. */
static bool enter_columns(ctr_words *words, const char *sql)
{
    *words = (ctr_words){.at = sql};
    do {
        ctr_word_next(words);
    } while (words->kind != CTR_WORD_END && !ctr_word_at_mark(words, '('));
    return words->kind != CTR_WORD_END;
}

/* Moves from a parenthesis to the one that closes it. Returns the end of the last word before that;
 * NULL if there is none, or if the word `unless` stands at the top. */
static const char *pass_parenthesis(ctr_words *words, const char *unless)
{
    for (int depth = 1; words->kind != CTR_WORD_END;) {
        const char *end = words->at;
        ctr_word_next(words);
        if (ctr_word_at_mark(words, '(')) depth++;
        if (ctr_word_at_mark(words, ')') && --depth == 0) return end;
        if (unless && depth == 1 && ctr_word_at(words, unless)) return NULL;
    }
    return NULL;
}

/* PRIMARY KEY (id ...), or behind a column PRIMARY KEY [ASC] [ON CONFLICT ...]; at KEY. */
static const char *number_keys_behind(ctr_words *words)
{
    static const char WORD[] = "AUTOINCREMENT";
    const char *end = words->at;
    ctr_word_next(words);
    if (ctr_word_at_mark(words, '(')) return pass_parenthesis(words, WORD);
    if (ctr_word_at(words, "ASC") || ctr_word_at(words, "DESC")) {
        end = words->at;
        ctr_word_next(words);
    }
    if (ctr_word_at(words, "ON")) {
        ctr_word_next(words);
        ctr_word_next(words);
        end = words->at;
        ctr_word_next(words);
    }
    return ctr_word_at(words, WORD) ? NULL : end;
}

const char *ctr_word_before_autoincrement(const char *sql)
{
    ctr_words words;
    if (!enter_columns(&words, sql)) return NULL;
    for (int depth = 1; depth > 0 && words.kind != CTR_WORD_END;) {
        ctr_word_next(&words);
        depth += ctr_word_at_mark(&words, '(') - ctr_word_at_mark(&words, ')');
        if (depth != 1 || !ctr_word_at(&words, "PRIMARY")) continue;
        ctr_word_next(&words);
        return ctr_word_at(&words, "KEY") ? number_keys_behind(&words) : NULL;
    }
    return NULL;
}

const char *ctr_word_before_constraint(const char *sql)
{
    ctr_words words;
    return enter_columns(&words, sql) ? pass_parenthesis(&words, NULL) : NULL;
}

/* ---- texts ----------------------------------------------------------------------------------- */

bool ctr_word_is(ctr_span span, const char *word)
{
    if (strlen(word) != span.size) return false;
    for (size_t i = 0; i < span.size; i++)
        if (lower(span.text[i]) != lower(word[i])) return false;
    return true;
}

static bool differ_in_case(char a, char b)
{
    return (a ^ b) == ('a' ^ 'A') && lower(a) == lower(b);
}

bool ctr_word_is_in(const char *word, const char *text)
{
    const char first[] = {lower(*word), upper(*word), '\0'};
    for (const char *at = text; (at = strpbrk(at, first)); at++) {
        size_t i = 1;
        while (word[i] && (at[i] == word[i] || differ_in_case(at[i], word[i]))) i++;
        if (!word[i]) return true;
    }
    return false;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns the next character of a name without its quotes, '\0' at the end. Start with *at = 0. */
static char name_next(ctr_span name, size_t *at)
{
    char quote = name.size > 0 ? closing_quote(name.text[0]) : '\0';
    size_t end = quote ? name.size - 1 : name.size;
    if (quote && *at == 0) *at = 1;
    if (*at >= end) return '\0';
    char c = name.text[(*at)++];
    if (quote && quote != ']' && c == quote) ++*at;
    return c;
}

void ctr_word_unquote(ctr_span span, char *out)
{
    size_t at = 0;
    while ((*out = name_next(span, &at)) != '\0') out++;
}

bool ctr_word_same_name(ctr_span a, ctr_span b)
{
    size_t i = 0, j = 0;
    if (a.size == b.size && memcmp(a.text, b.text, a.size) == 0) return true;
    for (;;) {
        char x = lower(name_next(a, &i)), y = lower(name_next(b, &j));
        if (x != y) return false;
        if (!x) return true;
    }
}

bool ctr_word_names(ctr_span name, const char *text)
{
    size_t at = 0;
    for (;; text++) {
        char c = lower(name_next(name, &at));
        if (c != lower(*text)) return false;
        if (!c) return true;
    }
}
