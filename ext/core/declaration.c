/* core/declaration.c - reads the declaration of a counter table. */
#include "core/core.h"

#include <string.h>

static bool is_any_word(ctr_span span, const char *const *words)
{
    for (; *words; words++)
        if (ctr_word_is(span, *words)) return true;
    return false;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool name_is_reserved(ctr_span name)
{
    bool is_quoted = name.size > 1 && strchr("\"`['", *name.text);
    return ctr_word_names(name, "") || name.text[is_quoted] == '_' ||
           ctr_word_names(name, "rowid") || ctr_word_names(name, "oid") ||
           ctr_word_names(name, "request_id");
}

/* The name is plain text; name_is_reserved would remove a quote at its start. */
bool ctr_declaration_reserves(const char *name)
{
    if (*name && strchr("\"`['", *name)) return false;
    return name_is_reserved((ctr_span){name, strlen(name)});
}

bool ctr_declaration_reserves_table(const char *table)
{
    static const char PREFIX[] = "counter_";
    return ctr_word_is((ctr_span){table, sizeof PREFIX - 1}, PREFIX);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Words that begin a constraint, and so end a type. */
static const char *const CONSTRAINT_WORDS[] = {
    "primary",    "collate",   "not", "null", "unique", "check",   "default",       "references",
    "constraint", "generated", "as",  "on",   "ttl",    "foreign", "autoincrement", NULL};

static bool at_type_word(const ctr_words *s)
{
    return s->kind == CTR_WORD_PLAIN && !is_any_word(s->word, CONSTRAINT_WORDS);
}

/* Reads words and (n) or (n,m). The scanner starts at the first token and ends after the last one.
 * Refuses HIDDEN: SQLite would hide a column of a virtual table whose type has this word. */
static bool scan_type(ctr_words *s, ctr_span *type, int *words)
{
    type->text = s->word.text;
    type->size = 0;
    *words = 0;
    for (; at_type_word(s); ctr_word_next(s), ++*words) {
        if (ctr_word_is(s->word, "hidden")) return false;
        type->size = (size_t)(s->at - type->text);
    }
    if (!ctr_word_at_mark(s, '(')) return s->kind != CTR_WORD_QUOTED;
    if (*words == 0) return false;
    do {
        ctr_word_next(s);
        if (s->kind != CTR_WORD_NUMBER) return false;
        ctr_word_next(s);
    } while (ctr_word_at_mark(s, ','));
    if (!ctr_word_at_mark(s, ')')) return false;
    type->size = (size_t)(s->at - type->text);
    ctr_word_next(s);
    ++*words;
    return true;
}

void ctr_declaration_type(ctr_span span, char *out)
{
    ctr_words s = {.at = span.text};
    const char *end = span.text + span.size;
    bool word_before = false;
    for (ctr_word_next(&s); s.kind != CTR_WORD_END && s.word.text < end; ctr_word_next(&s)) {
        if (word_before && s.kind == CTR_WORD_PLAIN) *out++ = ' ';
        memcpy(out, s.word.text, s.word.size);
        out += s.word.size;
        word_before = s.kind == CTR_WORD_PLAIN;
    }
    *out = '\0';
}

bool ctr_declaration_is_plain(const char *type)
{
    ctr_words s = {.at = type};
    ctr_span span;
    int words;
    ctr_word_next(&s);
    return scan_type(&s, &span, &words) && s.kind == CTR_WORD_END;
}

ctr_affinity ctr_declaration_affinity(const char *type)
{
    if (ctr_word_is_in("int", type)) return CTR_AFFINITY_INTEGER;
    if (ctr_word_is_in("char", type) || ctr_word_is_in("clob", type) ||
        ctr_word_is_in("text", type))
        return CTR_AFFINITY_TEXT;
    if (!*type || ctr_word_is_in("blob", type)) return CTR_AFFINITY_BLOB;
    if (ctr_word_is_in("real", type) || ctr_word_is_in("floa", type) ||
        ctr_word_is_in("doub", type))
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

/* Has the type the word of a kind that is declared? */
static bool has_kind(ctr_span type)
{
    ctr_words s = {.at = type.text};
    for (ctr_word_next(&s); s.kind != CTR_WORD_END && s.word.text < type.text + type.size;
         ctr_word_next(&s))
        if (s.kind == CTR_WORD_PLAIN && ctr_kind_of_word(s.word)) return true;
    return false;
}

static bool check_name(ctr_declaration *d, ctr_span name, const char *table)
{
    if (ctr_word_names(name, table)) return refuse_clause(d, CTR_REFUSE_NAME_OF_TABLE, name);
    if (name_is_reserved(name)) return refuse_clause(d, CTR_REFUSE_NAME_RESERVED, name);
    for (int i = 0; i < d->n_columns; i++)
        if (ctr_word_same_name(d->columns[i].name, name))
            return refuse_clause(d, CTR_REFUSE_NAME_TWICE, name);
    return true;
}

/* Accepts 0 or '0', also with a sign or in parentheses. The scanner starts at DEFAULT and ends
 * after the value. */
static bool parse_default(ctr_declaration *d, ctr_words *s, const ctr_declared *column)
{
    ctr_word_next(s);
    if (s->kind == CTR_WORD_END)
        return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(column->name.text));
    const char *value = s->word.text;
    bool in_parentheses = ctr_word_at_mark(s, '(');
    if (in_parentheses) ctr_word_next(s);
    bool is_number = s->kind == CTR_WORD_NUMBER && s->word.text[s->word.size - 1] == '0' &&
                     strspn(s->word.text, "+-0") >= s->word.size;
    bool is_zero = is_number || (s->kind == CTR_WORD_QUOTED && ctr_word_is(s->word, "'0'"));
    if (in_parentheses) {
        ctr_word_next(s);
        is_zero = is_zero && ctr_word_at_mark(s, ')');
    }
    const char *end = s->at;
    ctr_word_next(s);
    bool ends = s->kind == CTR_WORD_PLAIN || s->kind == CTR_WORD_END;
    if (is_zero && ends) return true;
    d->word = ends ? (ctr_span){value, (size_t)(end - value)} : whole(value);
    return refuse_clause(d, CTR_REFUSE_DEFAULT, column->name);
}

/* Skips CONSTRAINT and a name, which have no effect. */
static void skip_constraint_name(ctr_words *s)
{
    ctr_word_next(s);
    if (ctr_word_at_name(s)) ctr_word_next(s);
}

/* Reads NOT NULL, COLLATE, PRIMARY KEY and the DEFAULT of a counter, in any order. Any other word
 * is an unsupported constraint. */
static bool parse_constraints(ctr_declaration *d, ctr_words *s, ctr_declared *column)
{
    while (s->kind != CTR_WORD_END) {
        if (ctr_word_at(s, "collate") && column->collation.size == 0) {
            ctr_word_next(s);
            if (!ctr_word_at_name(s)) return refuse_clause(d, CTR_REFUSE_SYNTAX, column->name);
            column->collation = s->word;
            ctr_word_next(s);
        } else if (ctr_word_at(s, "primary")) {
            ctr_word_next(s);
            if (!ctr_word_at(s, "key")) return refuse_clause(d, CTR_REFUSE_SYNTAX, column->name);
            if (d->n_keys > 0) return refuse_clause(d, CTR_REFUSE_KEY_TWICE, column->name);
            column->key = d->n_keys++;
            ctr_word_next(s);
        } else if (ctr_word_at(s, "not")) {
            ctr_word_next(s);
            if (!ctr_word_at(s, "null"))
                return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(column->name.text));
            ctr_word_next(s);
        } else if (ctr_word_at(s, "default") && column->counter) {
            if (!parse_default(d, s, column)) return false;
        } else if (ctr_word_at(s, "constraint")) {
            skip_constraint_name(s);
        } else if (ctr_word_at(s, "ttl")) {
            return refuse_clause(d, CTR_REFUSE_TTL, column->name);
        } else {
            d->word = s->word;
            return refuse_clause(
                d, s->kind == CTR_WORD_PLAIN ? CTR_REFUSE_CONSTRAINT : CTR_REFUSE_SYNTAX,
                column->name);
        }
    }
    return true;
}

/* If `is_counter`, a column without a type is a counter. */
static bool parse_column(ctr_declaration *d, const char *clause, const char *table, bool is_counter)
{
    ctr_words s = {.at = clause};
    ctr_word_next(&s);
    if (!ctr_word_at_name(&s)) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(clause));

    ctr_declared column = {.name = s.word, .key = -1};
    ctr_word_next(&s);
    if (ctr_word_at_mark(&s, '=')) return refuse_clause(d, CTR_REFUSE_OPTION, whole(clause));
    if (!check_name(d, column.name, table)) return false;
    int words;
    if (!scan_type(&s, &column.type, &words)) return refuse_clause(d, CTR_REFUSE_TYPE, column.name);
    column.counter = (is_counter && column.type.size == 0) || has_kind(column.type);
    if (column.counter && words > 1) return refuse_clause(d, CTR_REFUSE_COUNTER_TYPE, column.name);
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
        if (!ctr_word_same_name(column->name, name)) continue;
        if (column->counter) return refuse_clause(d, CTR_REFUSE_COUNTER_IN_KEY, name);
        if (column->key >= 0) return refuse_clause(d, CTR_REFUSE_KEY_REPEATED, name);
        column->key = d->n_keys++;
        return true;
    }
    return refuse_clause(d, CTR_REFUSE_KEY_UNKNOWN, name);
}

/* Reads PRIMARY KEY (name, ...). The scanner starts after PRIMARY. */
static bool parse_key(ctr_declaration *d, ctr_words *s, const char *clause)
{
    if (d->n_keys > 0) return refuse_clause(d, CTR_REFUSE_KEY_TWICE, whole(clause));
    ctr_word_next(s);
    if (!ctr_word_at(s, "key")) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(clause));
    ctr_word_next(s);
    if (!ctr_word_at_mark(s, '(')) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(clause));
    do {
        ctr_word_next(s);
        if (!ctr_word_at_name(s)) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(clause));
        if (!add_key(d, s->word)) return false;
        ctr_word_next(s);
        if (ctr_word_at(s, "asc")) ctr_word_next(s);
    } while (ctr_word_at_mark(s, ','));
    if (!ctr_word_at_mark(s, ')')) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(clause));
    ctr_word_next(s);
    if (s->kind != CTR_WORD_END) return refuse_clause(d, CTR_REFUSE_SYNTAX, whole(clause));
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
        ctr_words s = {.at = clauses[i]};
        ctr_word_next(&s);
        if (key_clause) return refuse_clause(d, CTR_REFUSE_KEY_NOT_LAST, whole(clauses[i]));
        ctr_words named = s;
        if (ctr_word_at(&s, "constraint")) skip_constraint_name(&named);
        if (ctr_word_at(&named, "primary")) s = named;
        if (s.kind == CTR_WORD_PLAIN && is_any_word(s.word, TABLE_CONSTRAINTS))
            return refuse_clause(d, CTR_REFUSE_TABLE_CONSTRAINT, whole(clauses[i]));
        key_clause = ctr_word_at(&s, "primary");
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
