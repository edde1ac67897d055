/* core/declaration.c - reads the declaration of a counter table. */
#include "core/declaration.h"

#include <string.h>

/* ---- characters and words -------------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* As in SQLite, every byte of a multibyte character may be in a name. */
static bool is_word(char c)
{
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static bool span_is(ctr_span span, const char *word)
{
    if (strlen(word) != span.size) return false;
    for (size_t i = 0; i < span.size; i++)
        if (lower(span.text[i]) != word[i]) return false;
    return true;
}

static bool span_is_one_of(ctr_span span, const char *const *words)
{
    for (; *words; words++)
        if (span_is(span, *words)) return true;
    return false;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

typedef enum token_kind {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_QUOTED,
    TOKEN_NUMBER,
    TOKEN_OTHER
} token_kind;

typedef struct scanner {
    const char *at;
    token_kind kind;
    ctr_span token;
} scanner;

static const char *skip_blank(const char *at)
{
    for (;;) {
        while (*at == ' ' || (*at >= '\t' && *at <= '\r')) at++;
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

static void scan(scanner *s)
{
    const char *start = skip_blank(s->at), *end = start + 1;
    if (!*start) {
        s->kind = TOKEN_END;
        end = start;
    } else if (closing_quote(*start)) {
        const char *close = quoted_end(start);
        s->kind = close ? TOKEN_QUOTED : TOKEN_OTHER;
        if (close) end = close;
    } else if (is_digit(*start) || ((*start == '-' || *start == '+') && is_digit(start[1]))) {
        s->kind = TOKEN_NUMBER;
        while (is_digit(*end)) end++;
    } else if (is_word(*start)) {
        s->kind = TOKEN_WORD;
        while (is_word(*end)) end++;
    } else {
        s->kind = TOKEN_OTHER;
    }
    s->token = (ctr_span){start, (size_t)(end - start)};
    s->at = end;
}

static bool at_word(const scanner *s, const char *word)
{
    return s->kind == TOKEN_WORD && span_is(s->token, word);
}

static bool at_mark(const scanner *s, char mark)
{
    return s->kind == TOKEN_OTHER && *s->token.text == mark;
}

static bool at_name(const scanner *s)
{
    return s->kind == TOKEN_WORD || s->kind == TOKEN_QUOTED;
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

void ctr_declaration_unquote(ctr_span span, char *out)
{
    size_t at = 0;
    while ((*out = name_next(span, &at)) != '\0') out++;
}

static bool same_name(ctr_span a, ctr_span b)
{
    size_t i = 0, j = 0;
    for (;;) {
        char x = lower(name_next(a, &i)), y = lower(name_next(b, &j));
        if (x != y) return false;
        if (!x) return true;
    }
}

static bool name_is(ctr_span name, const char *text)
{
    size_t at = 0;
    for (;; text++) {
        char c = lower(name_next(name, &at));
        if (c != lower(*text)) return false;
        if (!c) return true;
    }
}

static bool name_is_reserved(ctr_span name)
{
    size_t at = 0;
    char first = name_next(name, &at);
    return first == '\0' || first == '_' || name_is(name, "rowid") || name_is(name, "oid") ||
           name_is(name, "request_id");
}

/* The name is plain text; name_is_reserved would remove a quote at its start. */
bool ctr_declaration_reserves(const char *name)
{
    if (closing_quote(*name)) return false;
    return name_is_reserved((ctr_span){name, strlen(name)});
}

bool ctr_declaration_reserves_table(const char *table)
{
    static const char PREFIX[] = "counter_";
    size_t i = 0;
    while (PREFIX[i] && lower(table[i]) == PREFIX[i]) i++;
    return PREFIX[i] == '\0';
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Words that begin a constraint, and so end a type. */
static const char *const CONSTRAINT_WORDS[] = {
    "primary",    "collate",   "not", "null", "unique", "check",   "default",       "references",
    "constraint", "generated", "as",  "on",   "ttl",    "foreign", "autoincrement", NULL};

static bool at_type_word(const scanner *s)
{
    return s->kind == TOKEN_WORD && !span_is_one_of(s->token, CONSTRAINT_WORDS);
}

/* Reads words and (n) or (n,m). The scanner starts at the first token and ends after the last one.
 * Refuses HIDDEN: SQLite would hide a column of a virtual table whose type has this word. */
static bool scan_type(scanner *s, ctr_span *type, int *words)
{
    type->text = s->token.text;
    type->size = 0;
    *words = 0;
    for (; at_type_word(s); scan(s), ++*words) {
        if (span_is(s->token, "hidden")) return false;
        type->size = (size_t)(s->at - type->text);
    }
    if (!at_mark(s, '(')) return s->kind != TOKEN_QUOTED;
    if (*words == 0) return false;
    do {
        scan(s);
        if (s->kind != TOKEN_NUMBER) return false;
        scan(s);
    } while (at_mark(s, ','));
    if (!at_mark(s, ')')) return false;
    type->size = (size_t)(s->at - type->text);
    scan(s);
    ++*words;
    return true;
}

void ctr_declaration_type(ctr_span span, char *out)
{
    scanner s = {.at = span.text};
    const char *end = span.text + span.size;
    bool word_before = false;
    for (scan(&s); s.kind != TOKEN_END && s.token.text < end; scan(&s)) {
        if (word_before && s.kind == TOKEN_WORD) *out++ = ' ';
        memcpy(out, s.token.text, s.token.size);
        out += s.token.size;
        word_before = s.kind == TOKEN_WORD;
    }
    *out = '\0';
}

bool ctr_declaration_is_plain(const char *type)
{
    scanner s = {.at = type};
    ctr_span span;
    int words;
    scan(&s);
    return scan_type(&s, &span, &words) && s.kind == TOKEN_END;
}

static bool contains(const char *text, const char *word)
{
    for (; *text; text++) {
        size_t i = 0;
        while (word[i] && lower(text[i]) == word[i]) i++;
        if (!word[i]) return true;
    }
    return false;
}

ctr_affinity ctr_declaration_affinity(const char *type)
{
    if (contains(type, "int")) return CTR_AFFINITY_INTEGER;
    if (contains(type, "char") || contains(type, "clob") || contains(type, "text"))
        return CTR_AFFINITY_TEXT;
    if (!*type || contains(type, "blob")) return CTR_AFFINITY_BLOB;
    if (contains(type, "real") || contains(type, "floa") || contains(type, "doub"))
        return CTR_AFFINITY_REAL;
    return CTR_AFFINITY_NUMERIC;
}

/* ---- clauses --------------------------------------------------------------------------------- */

static bool refuse_clause(ctr_declaration *d, ctr_refusal why, ctr_span culprit)
{
    d->refusal = why;
    d->culprit = culprit;
    return false;
}

static ctr_span whole(const char *clause)
{
    return (ctr_span){clause, strlen(clause)};
}

static bool has_word(ctr_span type, const char *word)
{
    scanner s = {.at = type.text};
    for (scan(&s); s.kind != TOKEN_END && s.token.text < type.text + type.size; scan(&s))
        if (at_word(&s, word)) return true;
    return false;
}

static bool check_name(ctr_declaration *d, ctr_span name, const char *table)
{
    if (name_is(name, table)) return refuse_clause(d, CTR_REFUSE_NAME_OF_TABLE, name);
    if (name_is_reserved(name)) return refuse_clause(d, CTR_REFUSE_NAME_RESERVED, name);
    for (int i = 0; i < d->n_columns; i++)
        if (same_name(d->columns[i].name, name))
            return refuse_clause(d, CTR_REFUSE_NAME_TWICE, name);
    return true;
}

/* Accepts 0 or '0', also with a sign or in parentheses. The scanner starts at DEFAULT and ends
 * after the value. */
static bool parse_default(ctr_declaration *d, scanner *s, const ctr_declared *column)
{
    scan(s);
    if (s->kind == TOKEN_END) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(column->name.text));
    const char *value = s->token.text;
    bool in_parentheses = at_mark(s, '(');
    if (in_parentheses) scan(s);
    bool is_number = s->kind == TOKEN_NUMBER && s->token.text[s->token.size - 1] == '0' &&
                     strspn(s->token.text, "+-0") >= s->token.size;
    bool is_zero = is_number || (s->kind == TOKEN_QUOTED && span_is(s->token, "'0'"));
    if (in_parentheses) {
        scan(s);
        is_zero = is_zero && at_mark(s, ')');
    }
    const char *end = s->at;
    scan(s);
    bool ends = s->kind == TOKEN_WORD || s->kind == TOKEN_END;
    if (is_zero && ends) return true;
    d->word = ends ? (ctr_span){value, (size_t)(end - value)} : whole(value);
    return refuse_clause(d, CTR_REFUSE_DEFAULT, column->name);
}

/* Skips CONSTRAINT and a name, which have no effect. */
static void skip_constraint_name(scanner *s)
{
    scan(s);
    if (at_name(s)) scan(s);
}

/* Reads NOT NULL, COLLATE, PRIMARY KEY and the DEFAULT of a counter, in any order. Any other word
 * is an unsupported constraint. */
static bool parse_constraints(ctr_declaration *d, scanner *s, ctr_declared *column)
{
    while (s->kind != TOKEN_END) {
        if (at_word(s, "collate") && column->collation.size == 0) {
            scan(s);
            if (!at_name(s)) return refuse_clause(d, CTR_REFUSE_SYNTAX, column->name);
            column->collation = s->token;
            scan(s);
        } else if (at_word(s, "primary")) {
            scan(s);
            if (!at_word(s, "key")) return refuse_clause(d, CTR_REFUSE_SYNTAX, column->name);
            if (d->n_keys > 0) return refuse_clause(d, CTR_REFUSE_KEY_TWICE, column->name);
            column->key = d->n_keys++;
            scan(s);
        } else if (at_word(s, "not")) {
            scan(s);
            if (!at_word(s, "null"))
                return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(column->name.text));
            scan(s);
        } else if (at_word(s, "default") && column->counter) {
            if (!parse_default(d, s, column)) return false;
        } else if (at_word(s, "constraint")) {
            skip_constraint_name(s);
        } else if (at_word(s, "ttl")) {
            return refuse_clause(d, CTR_REFUSE_TTL, column->name);
        } else {
            d->word = s->token;
            return refuse_clause(
                d, s->kind == TOKEN_WORD ? CTR_REFUSE_CONSTRAINT : CTR_REFUSE_SYNTAX, column->name);
        }
    }
    return true;
}

/* If `is_counter`, a column without a type is a counter. */
static bool parse_column(ctr_declaration *d, const char *clause, const char *table, bool is_counter)
{
    scanner s = {.at = clause};
    scan(&s);
    if (!at_name(&s)) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(clause));

    ctr_declared column = {.name = s.token, .key = -1};
    scan(&s);
    if (at_mark(&s, '=')) return refuse_clause(d, CTR_REFUSE_OPTION, whole(clause));
    if (!check_name(d, column.name, table)) return false;
    int words;
    if (!scan_type(&s, &column.type, &words)) return refuse_clause(d, CTR_REFUSE_TYPE, column.name);
    if (has_word(column.type, "counter")) {
        if (words > 1) return refuse_clause(d, CTR_REFUSE_COUNTER_TYPE, column.name);
        column.counter = true;
    }
    column.counter |= is_counter && column.type.size == 0;
    if (!parse_constraints(d, &s, &column)) return false;
    if (column.counter && column.key >= 0)
        return refuse_clause(d, CTR_REFUSE_COUNTER_IN_KEY, column.name);
    if (column.counter && column.collation.size > 0)
        return refuse_clause(d, CTR_REFUSE_COUNTER_COLLATED, column.name);
    d->columns[d->n_columns++] = column;
    return true;
}

static bool add_key(ctr_declaration *d, ctr_span name)
{
    for (int i = 0; i < d->n_columns; i++) {
        ctr_declared *column = &d->columns[i];
        if (!same_name(column->name, name)) continue;
        if (column->counter) return refuse_clause(d, CTR_REFUSE_COUNTER_IN_KEY, name);
        if (column->key >= 0) return refuse_clause(d, CTR_REFUSE_KEY_REPEATED, name);
        column->key = d->n_keys++;
        return true;
    }
    return refuse_clause(d, CTR_REFUSE_KEY_UNKNOWN, name);
}

/* Reads PRIMARY KEY (name, ...). The scanner starts after PRIMARY. */
static bool parse_key(ctr_declaration *d, scanner *s, const char *clause)
{
    if (d->n_keys > 0) return refuse_clause(d, CTR_REFUSE_KEY_TWICE, whole(clause));
    scan(s);
    if (!at_word(s, "key")) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(clause));
    scan(s);
    if (!at_mark(s, '(')) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(clause));
    do {
        scan(s);
        if (!at_name(s)) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(clause));
        if (!add_key(d, s->token)) return false;
        scan(s);
        if (at_word(s, "asc")) scan(s);
    } while (at_mark(s, ','));
    if (!at_mark(s, ')')) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(clause));
    scan(s);
    if (s->kind != TOKEN_END) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(clause));
    return true;
}

static bool check_columns(ctr_declaration *d)
{
    int counters = 0;
    for (int i = 0; i < d->n_columns; i++) counters += d->columns[i].counter;
    const ctr_span none = {"", 0};
    if (d->n_keys == 0) return refuse_clause(d, CTR_REFUSE_NO_KEY, none);
    for (int i = 0; i < d->n_columns; i++) {
        const ctr_declared *column = &d->columns[i];
        if (!column->counter && column->key < 0)
            return refuse_clause(d, CTR_REFUSE_PLAIN_COLUMN, column->name);
    }
    if (counters == 0) return refuse_clause(d, CTR_REFUSE_NO_COUNTER, none);
    return true;
}

static const char *const TABLE_CONSTRAINTS[] = {"constraint", "unique", "check", "foreign", NULL};

bool ctr_declaration_parse(ctr_declaration *d, ctr_declared *room, const char *table,
                           const char *const *clauses, int n)
{
    *d = (ctr_declaration){.columns = room};
    bool key_clause = false;
    for (int i = 0; i < n; i++) {
        scanner s = {.at = clauses[i]};
        scan(&s);
        if (key_clause) return refuse_clause(d, CTR_REFUSE_KEY_NOT_LAST, whole(clauses[i]));
        scanner named = s;
        if (at_word(&s, "constraint")) skip_constraint_name(&named);
        if (at_word(&named, "primary")) s = named;
        if (s.kind == TOKEN_WORD && span_is_one_of(s.token, TABLE_CONSTRAINTS))
            return refuse_clause(d, CTR_REFUSE_TABLE_CONSTRAINT, whole(clauses[i]));
        key_clause = at_word(&s, "primary");
        if (key_clause ? !parse_key(d, &s, clauses[i]) : !parse_column(d, clauses[i], table, false))
            return false;
    }
    return check_columns(d);
}

bool ctr_declaration_counter(ctr_declaration *d, ctr_declared *room, const char *table,
                             const char *clause)
{
    *d = (ctr_declaration){.columns = room};
    if (!parse_column(d, clause, table, true)) return false;
    const ctr_declared *column = &d->columns[0];
    if (!column->counter) return refuse_clause(d, CTR_REFUSE_NOT_A_COUNTER, column->name);
    return true;
}
