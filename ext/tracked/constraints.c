/* tracked/constraints.c - which columns of a table can be tracked, and which rows OR REPLACE
 * removes. */
#include "tracked/tracked.h"

#include <string.h>

/* ---- columns --------------------------------------------------------------------------------- */

/* A request to track columns, and the resulting shape. */
typedef struct trackable {
    ctr_conn *conn;
    const char *schema, *table, *const *names;
    int n;
    const ctr_tracked *tracked;
    ctr_shape *shape;
} trackable;

static bool is_named(const trackable *want, const char *name)
{
    for (int i = 0; i < want->n; i++)
        if (sqlite3_stricmp(want->names[i], name) == 0) return true;
    return false;
}

/* Returns the table to which a foreign key of the column refers, in the arena, or NULL. */
static const char *parent_of(const trackable *want, const char *name)
{
    enum { PARENT = 2, FROM };
    const char *parent = NULL;
    ctr_run run = ctr_run_on(want->conn, want->schema, NULL);
    run.slots.name = want->table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_FOREIGN_KEYS);
    while (!parent && ctr_run_row(&run, row)) {
        const char *from = ctr_text_column(want->conn, row, FROM),
                   *to = ctr_text_column(want->conn, row, PARENT);
        if (from && to && sqlite3_stricmp(from, name) == 0)
            parent = ctr_text_print(want->conn, "%s", to);
    }
    sqlite3_finalize(row);
    return parent;
}

/* Fails if changes of a column that is to be a counter cannot add up. One that counts already is as
 * it is. */
static void refuse_counter(const trackable *want, const ctr_described *column)
{
    const char *name = column->name, *type = column->type;
    ctr_affinity affinity = ctr_declaration_affinity(type);
    if (column->generated)
        ctr_problem_set(want->conn, SQLITE_ERROR,
                        "%s: column %s is generated and cannot be tracked", want->table, name);
    if (affinity == CTR_AFFINITY_TEXT || affinity == CTR_AFFINITY_REAL)
        ctr_problem_set(
            want->conn, SQLITE_ERROR,
            "%s: column %s holds %s by its type %s, but a tracked column must hold integers",
            want->table, name, ctr_shape_affinity_name(affinity), type);
    if (ctr_tracked_counter(want->tracked, name) >= 0 || ctr_rc(want->conn) != SQLITE_OK) return;
    const char *parent = parent_of(want, name);
    if (parent)
        ctr_problem_set(
            want->conn, SQLITE_ERROR,
            "%s: column %s refers to a row of %s, and two changes of it that add up "
            "would refer to another row: it cannot be a counter; where counter_replicate "
            "does not name it, the last write wins",
            want->table, name, parent);
    if (ctr_word_follow(type, "BOOLEAN", NULL) || ctr_word_follow(type, "BOOL", NULL))
        ctr_problem_set(want->conn, SQLITE_ERROR,
                        "%s: column %s is a %s, and two changes of it that add up would make it "
                        "neither 0 nor 1: it cannot be a counter; where counter_replicate does not "
                        "name it, the last write wins",
                        want->table, name, type);
}

/* Adds a column of the table to the shape of its counter table. */
static void take_column(const trackable *want, const ctr_described *column)
{
    const char *name = column->name, *type = column->type, *collation = NULL;
    int key = column->key;
    if (!name || !type ||
        (key < 0 && !is_named(want, name) && ctr_tracked_counter(want->tracked, name) < 0))
        return;
    if (ctr_declaration_reserves(name))
        ctr_problem_set(want->conn, SQLITE_ERROR,
                        "%s: the column name %s is reserved: rename the column, here and in the "
                        "other files",
                        want->table, name);
    if (key >= 0 && is_named(want, name))
        ctr_problem_set(want->conn, SQLITE_ERROR,
                        "%s: column %s is part of the key and cannot be tracked", want->table,
                        name);
    if (key >= 0 && sqlite3_stricmp(type, "ANY") == 0)
        ctr_problem_set(want->conn, SQLITE_ERROR,
                        "%s: the key column %s has the type ANY, which distinguishes '1' from 1 in "
                        "a STRICT table, but not here",
                        want->table, name);
    if (key >= 0 && !ctr_declaration_is_plain(type))
        ctr_problem_set(want->conn, SQLITE_ERROR,
                        "%s: the type of the key column %s must be plain words, not %s",
                        want->table, name, type);
    if (key < 0) refuse_counter(want, column);
    ctr_problem_sqlite(want->conn,
                       sqlite3_table_column_metadata(want->conn->db, want->schema, want->table,
                                                     name, NULL, &collation, NULL, NULL, NULL));
    if (ctr_rc(want->conn) == SQLITE_OK)
        ctr_shape_add(want->conn, want->shape, name, key >= 0 ? type : "",
                      key >= 0 ? collation : "", key);
}

/* Fails unless the key compares as its columns do; otherwise two rows of the table could have one
 * key here. */
static void check_key_term(const trackable *want, const ctr_term *term)
{
    if (!term->is_primary || !term->name || !term->collation) return;
    for (int i = 0; i < want->shape->n_keys; i++) {
        const ctr_column *column = &want->shape->columns[want->shape->keys[i]];
        if (sqlite3_stricmp(column->name, term->name) == 0 &&
            sqlite3_stricmp(column->collation, term->collation) != 0)
            ctr_problem_set(want->conn, SQLITE_ERROR,
                            "%s: the PRIMARY KEY compares column %s by %s, the column itself by %s",
                            want->table, term->name, term->collation, column->collation);
    }
}

void ctr_constraints_read_shape(ctr_shape *shape, ctr_conn *conn, const char *schema,
                                const char *table, const char *const *names, int n,
                                const ctr_tracked *tracked)
{
    enum { COLUMNS_MAX = 32767 };
    trackable want = {conn, schema, table, names, n, tracked, shape};
    ctr_ordinary ordinary = {0};
    ctr_ordinary_read(&ordinary, conn, schema, table);
    ctr_ordinary_read_terms(&ordinary, conn, schema, table);
    ctr_shape_open(conn, shape, COLUMNS_MAX);
    for (size_t i = 0; i < ordinary.n && ctr_rc(conn) == SQLITE_OK; i++)
        take_column(&want, &ordinary.columns[i]);
    for (int i = 0; i < n; i++) {
        if (ctr_shape_counter_like(shape, names[i]) < 0)
            ctr_problem_set(conn, SQLITE_ERROR, "%s: there is no column '%s'", table, names[i]);
        for (int k = 0; k < i; k++)
            if (sqlite3_stricmp(names[i], names[k]) == 0)
                ctr_problem_set(conn, SQLITE_ERROR, "%s: column %s is named twice", table,
                                names[i]);
    }
    for (size_t i = 0; i < ordinary.n_terms && ctr_rc(conn) == SQLITE_OK; i++)
        check_key_term(&want, &ordinary.terms[i]);
    shape->keyed = shape->n_keys == 1 && ctr_constraints_numbers_keys(&ordinary);
    shape->linked = !shape->keyed && sqlite3_stricmp(table, "NEW") != 0 &&
                    sqlite3_stricmp(table, "OLD") != 0 && /* rows in triggers */
                    ctr_ordinary_rowid(&ordinary, conn, schema, table);
    ctr_ordinary_close(&ordinary);
    if (shape->n_keys == 0)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s has no PRIMARY KEY, which must identify its rows in other files",
                        table);
}

void ctr_constraints_read_key(ctr_shape *shape, ctr_conn *conn, const char *schema,
                              const char *table, const ctr_ordinary *ordinary)
{
    const trackable want = {.conn = conn, .schema = schema, .table = table, .shape = shape};
    ctr_shape_open(conn, shape, (int)ordinary->n);
    for (size_t i = 0; i < ordinary->n && ctr_rc(conn) == SQLITE_OK; i++)
        if (ordinary->columns[i].key >= 0) take_column(&want, &ordinary->columns[i]);
}

/* The key of any other table has an index. */
bool ctr_constraints_numbers_keys(const ctr_ordinary *ordinary)
{
    for (size_t i = 0; i < ordinary->n_terms; i++)
        if (ordinary->terms[i].is_primary) return false;
    return true;
}

void ctr_constraints_refuse_own_keys(const ctr_shape *shape, ctr_conn *conn, const char *schema,
                                     const char *table)
{
    ctr_ordinary ordinary = {0};
    ctr_ordinary_read_terms(&ordinary, conn, schema, table);
    bool numbers = ctr_constraints_numbers_keys(&ordinary);
    ctr_ordinary_close(&ordinary);
    if (ctr_rc(conn) == SQLITE_OK && numbers)
        ctr_problem_set(
            conn, SQLITE_ERROR,
            "%s: SQLite gives out the key %s by itself, so two files give one number to "
            "different rows, and a merge makes one row of the two: 'keys=spread' of "
            "counter_replicate lets each file count from a place of its own; a natural key or "
            "UUIDs need nothing, as docs/tracked-columns.md#keys describes; 'keys=assigned' is for "
            "numbers that no two files can share",
            table, shape->columns[shape->keys[0]].name);
}

void ctr_constraints_refuse_collations(ctr_conn *conn, const ctr_shape *shape, const char *table)
{
    for (int i = 0; i < shape->n_keys; i++) {
        const ctr_column *column = &shape->columns[shape->keys[i]];
        if (!ctr_pack_folds(column->collation))
            ctr_problem_set(conn, SQLITE_ERROR,
                            "%s: the key column %s has the collation %s, and the keys of a "
                            "replicated table have BINARY, NOCASE or RTRIM",
                            table, column->name, column->collation);
    }
}

/* ---- UNIQUE ---------------------------------------------------------------------------------- */

/* Returns the next term of an index, without ASC or DESC, and moves to the mark behind it. */
static ctr_span next_term(ctr_words *words)
{
    ctr_word_next(words);
    const char *from = words->word.text, *to = from;
    for (int depth = 0; words->kind != CTR_WORD_END; ctr_word_next(words)) {
        bool closes = ctr_word_at_mark(words, ')');
        if (depth == 0 && (closes || ctr_word_at_mark(words, ','))) break;
        depth += ctr_word_at_mark(words, '(') - closes;
        if (!ctr_word_at(words, "ASC") && !ctr_word_at(words, "DESC")) to = words->at;
    }
    return (ctr_span){from, (size_t)(to - from)};
}

/* Finds term `number` and the condition of a CREATE INDEX; an index without one leaves it as it
 * is. */
static void split_index(const char *sql, int number, ctr_span *term, ctr_span *condition)
{
    ctr_words words = {.at = sql};
    do {
        ctr_word_next(&words);
    } while (words.kind != CTR_WORD_END && !ctr_word_at_mark(&words, '('));
    for (int i = 0; words.kind != CTR_WORD_END && !ctr_word_at_mark(&words, ')'); i++) {
        const ctr_span next = next_term(&words);
        if (i == number) *term = next;
    }
    ctr_word_next(&words);
    if (!ctr_word_at(&words, "WHERE")) return;
    ctr_word_next(&words);
    condition->text = words.word.text;
    for (; words.kind != CTR_WORD_END; ctr_word_next(&words))
        condition->size = (size_t)(words.at - condition->text);
}

/* Returns whether a DEFAULT is one word or name in quotes, which means its text. */
static bool is_default_text(const char *value)
{
    static const char *const VALUES[] = {"NULL",         "TRUE",         "FALSE",
                                         "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP"};
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++)
        if (sqlite3_stricmp(value, VALUES[i]) == 0) return false;
    ctr_words words = {.at = value};
    ctr_word_next(&words);
    return ctr_word_at_name(&words) && *value != '\'' && !*words.at;
}

/* Returns whether an expression calls no function, which may be missing, or not be permitted in
 * triggers, and has no name in quotes, which could mean a column there. */
static bool is_constant(const char *expression)
{
    ctr_words words = {.at = expression};
    for (ctr_word_next(&words); words.kind != CTR_WORD_END; ctr_word_next(&words))
        if (strchr("([\"`", *words.word.text)) return false;
    return true;
}

char *ctr_constraints_default(ctr_conn *conn, const ctr_described *column)
{
    const char *value = column->value;
    char *text = value && is_default_text(value)
                     ? ctr_text_unquoted(conn, (ctr_span){value, strlen(value)})
                     : NULL;
    char *expression =
        text ? sqlite3_mprintf("%Q", text) : sqlite3_mprintf("(%s\n)", value ? value : "NULL");
    if (!expression) ctr_problem_nomem(conn);
    sqlite3_free(text);
    return expression;
}

const char *ctr_constraints_unlike_default(ctr_conn *conn, const ctr_described *column)
{
    char *value = ctr_constraints_default(conn, column);
    const char *unlike =
        ctr_text_print(conn, "\"%w\" IS NOT %s", column->name, value ? value : "NULL");
    sqlite3_free(value);
    return unlike;
}

/* Appends the value that a row of the table gets for a column: NEW."u", or the DEFAULT, with which
 * OR REPLACE replaces a NULL after the BEFORE triggers. */
static void append_new(ctr_conn *conn, const ctr_described *column, sqlite3_str *out)
{
    const char *value = column->value;
    bool replaced = value && column->not_null && (is_default_text(value) || is_constant(value));
    char *expression = replaced ? ctr_constraints_default(conn, column) : NULL;
    if (replaced && !expression) return;
    sqlite3_str_appendf(out, replaced ? "ifnull(NEW.\"%w\", %s)" : "NEW.\"%w\"", column->name,
                        expression);
    sqlite3_free(expression);
}

bool ctr_constraints_computes(const ctr_tracked *tracked, const char *name)
{
    const ctr_described *column = ctr_ordinary_column(&tracked->ordinary, name);
    const char *value = column && column->not_null ? column->value : NULL;
    return value && !is_default_text(value) && !is_constant(value);
}

void ctr_constraints_append_new(sqlite3_str *out, const ctr_tracked *tracked, const char *name)
{
    const ctr_described *column = ctr_ordinary_column(&tracked->ordinary, name);
    if (column) append_new(tracked->conn, column, out);
}

/* Returns whether a word of an expression, which is no text in quotes, is this name. */
static bool mentions(const char *expression, const char *name)
{
    ctr_words words = {.at = expression};
    for (ctr_word_next(&words); words.kind != CTR_WORD_END; ctr_word_next(&words))
        if (*words.word.text != '\'' && ctr_word_names(words.word, name)) return true;
    return false;
}

/* Lists the columns of NEW that an expression may name, under their own names, so that it can be
 * evaluated for the new row. SQLite drops no other column that a trigger names. */
static void list_new_row(ctr_conn *conn, const ctr_ordinary *ordinary, const char *term,
                         sqlite3_str *out)
{
    int n = 0;
    for (size_t i = 0; i < ordinary->n; i++) {
        const char *name = ordinary->columns[i].name;
        if (!mentions(term, name)) continue;
        sqlite3_str_appendall(out, n++ ? ", " : "");
        append_new(conn, &ordinary->columns[i], out);
        sqlite3_str_appendf(out, " AS \"%w\"", name);
    }
    if (n == 0) sqlite3_str_appendall(out, "NULL");
}

/* ---- the condition --------------------------------------------------------------------------- */

typedef struct unique_in {
    const ctr_tracked *tracked;
    ctr_unique *rows;
} unique_in;

/* Returns the text of the index; NULL on error, or if it is one of a constraint. */
static char *read_index_text(ctr_conn *conn, const unique_in *in, const char *index)
{
    ctr_run run = ctr_run_on(in->tracked->conn, in->tracked->schema, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_INDEX);
    ctr_run_bind_text(&run, row, ":name", index);
    const char *sql = ctr_run_row(&run, row) ? ctr_text_column(conn, row, 0) : NULL;
    char *copy = sql ? ctr_text_copy(conn, sql) : NULL;
    sqlite3_finalize(row);
    return copy;
}

/* Returns whether a name in quotes is that of a column. */
static bool names_column(ctr_conn *conn, const unique_in *in, ctr_span quoted)
{
    const ctr_tracked *tracked = in->tracked;
    char *name = ctr_text_unquoted(conn, quoted);
    if (!name) return false;
    int rc = sqlite3_table_column_metadata(tracked->conn->db, tracked->schema, tracked->table, name,
                                           NULL, NULL, NULL, NULL, NULL);
    if (rc != SQLITE_ERROR) ctr_problem_sqlite(tracked->conn, rc);
    sqlite3_free(name);
    return rc == SQLITE_OK;
}

/* Returns whether a condition means in a trigger what it means in its index: each name in quotes is
 * a column, not a text; and no name has a schema or table before it. */
static bool means_the_same(ctr_conn *conn, const unique_in *in, const char *condition)
{
    ctr_words words = {.at = condition};
    for (ctr_word_next(&words); words.kind != CTR_WORD_END; ctr_word_next(&words)) {
        if (ctr_word_at_mark(&words, '.')) return false;
        if (strchr("\"`[", *words.word.text) && !names_column(conn, in, words.word)) return false;
    }
    return true;
}

/* Begins the condition of an index. With its own condition, SQLite can use a partial index to find
 * the row. */
static void begin_index(const unique_in *in, const char *condition)
{
    sqlite3_str *match = in->rows->match;
    if (sqlite3_str_length(match)) sqlite3_str_appendall(match, in->rows->between);
    if (condition) sqlite3_str_appendf(match, "(%s\n) AND ", condition);
}

/* Appends (expression) = (SELECT expression FROM (SELECT NEW."a" AS "a", ...) WHERE condition). */
static void match_expression(ctr_conn *conn, const unique_in *in, const char *text,
                             const char *condition)
{
    sqlite3_str *match = in->rows->match;
    const char *named = condition ? ctr_text_print(conn, "%s %s", text, condition) : text;
    sqlite3_str_appendf(match, "(%s\n) = (SELECT %s\n FROM (SELECT ", text, text);
    list_new_row(conn, &in->tracked->ordinary, named, match);
    sqlite3_str_appendall(match, ")");
    if (condition) sqlite3_str_appendf(match, " WHERE %s\n", condition);
    sqlite3_str_appendall(match, ")");
}

/* Appends "u" = NEW."u", or the same of an expression. */
static void match_term(ctr_conn *conn, const unique_in *in, const ctr_term *term)
{
    sqlite3_str *match = in->rows->match, *names = in->rows->names;
    if (term->is_primary) return;
    if (!term->name || term->is_partial) in->rows->any_column = true;
    bool reads = !term->name || (term->is_partial && term->number == 0);
    char *sql = reads ? read_index_text(conn, in, term->index) : NULL;
    ctr_span expression = {NULL, 0}, where = {NULL, 0};
    if (sql) split_index(sql, term->number, &expression, &where);
    char *text = !term->name && sql ? ctr_text_of(conn, expression) : NULL;
    char *copy = where.text ? ctr_text_of(conn, where) : NULL;
    const char *condition = copy && means_the_same(conn, in, copy) ? copy : NULL;
    if (term->number == 0)
        begin_index(in, condition);
    else
        sqlite3_str_appendall(match, " AND ");
    if (term->name) {
        sqlite3_str_appendf(match, "\"%w\" = ", term->name);
        ctr_constraints_append_new(match, in->tracked, term->name);
        sqlite3_str_appendf(match, " COLLATE \"%w\"", term->collation ? term->collation : "BINARY");
        sqlite3_str_appendf(names, "%s\"%w\"", ctr_text_separator(names, ", "), term->name);
    } else if (text) {
        match_expression(conn, in, text, condition);
    } else {
        sqlite3_str_appendall(match, "1");
    }
    sqlite3_free(text);
    sqlite3_free(copy);
    sqlite3_free(sql);
}

/* The names of a row id; a column that has one of them takes it away, least likely the first. */
static const char *const ROWID_NAMES[] = {"_rowid_", "oid", "rowid"};
enum { ROWID_NAMES_N = sizeof ROWID_NAMES / sizeof *ROWID_NAMES };

/* Appends "rowid" = NEW."rowid", for a statement may give the row id of another row. In a BEFORE
 * INSERT, NEW has -1 for one that SQLite has yet to choose. A table named NEW has no such NEW. */
static void match_rowid(const unique_in *in)
{
    int i = 0;
    bool has_primary = false; /* an index of the key, which is not the row id */
    const ctr_tracked *tracked = in->tracked;
    const ctr_ordinary *ordinary = &tracked->ordinary;
    for (size_t t = 0; t < ordinary->n_terms; t++)
        has_primary = has_primary || ordinary->terms[t].is_primary;
    while (i < ROWID_NAMES_N && ctr_ordinary_column(ordinary, ROWID_NAMES[i])) i++;
    bool shadows =
        sqlite3_stricmp(tracked->table, "NEW") == 0 || sqlite3_stricmp(tracked->table, "OLD") == 0;
    if (!has_primary || i == ROWID_NAMES_N || shadows) return;
    int rc = sqlite3_table_column_metadata(tracked->conn->db, tracked->schema, tracked->table,
                                           ROWID_NAMES[i], NULL, NULL, NULL, NULL, NULL);
    if (rc == SQLITE_ERROR) return; /* WITHOUT ROWID */
    if (ctr_problem_sqlite(tracked->conn, rc)) return;
    in->rows->rowid_alone = sqlite3_str_length(in->rows->match) == 0 ? ROWID_NAMES[i] : NULL;
    begin_index(in, NULL);
    sqlite3_str_appendf(in->rows->match, "\"%w\" = NEW.\"%w\"", ROWID_NAMES[i], ROWID_NAMES[i]);
    for (i = 0; i < ROWID_NAMES_N; i++)
        sqlite3_str_appendf(in->rows->names, "%s%s", ctr_text_separator(in->rows->names, ", "),
                            ROWID_NAMES[i]);
}

/* Returns whether a generated column of the table is computed from this one: its name stands in the
 * parentheses behind some AS of the declaration. */
static bool is_source(const char *declaration, const char *name)
{
    int depth = 0; /* within such parentheses */
    bool behind_as = false;
    ctr_words words = {.at = declaration};
    for (ctr_word_next(&words); words.kind != CTR_WORD_END; ctr_word_next(&words)) {
        if (depth > 0 && *words.word.text != '\'' && ctr_word_names(words.word, name)) return true;
        if (ctr_word_at_mark(&words, '(')) depth += depth > 0 || behind_as;
        if (ctr_word_at_mark(&words, ')') && depth > 0) depth--;
        behind_as = ctr_word_at(&words, "AS");
    }
    return false;
}

/* Lists NEW."a" IS NULL OR ..., for each column from which a generated one is computed. SQLite
 * refuses to drop these, and drops no other column that a trigger names. */
static void list_sources(const ctr_tracked *tracked, sqlite3_str *out)
{
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_TABLE);
    ctr_run_bind_text(&run, row, ":name", tracked->table);
    const char *declaration =
        ctr_run_row(&run, row) ? ctr_text_column(tracked->conn, row, 2) : NULL;
    for (size_t i = 0; declaration && i < tracked->ordinary.n; i++) {
        const ctr_described *column = &tracked->ordinary.columns[i];
        if (!column->generated && is_source(declaration, column->name))
            sqlite3_str_appendf(out, "NEW.\"%w\" IS NULL OR ", column->name);
    }
    sqlite3_finalize(row);
}

void ctr_constraints_list_unique(ctr_unique *rows, const ctr_tracked *tracked)
{
    const ctr_ordinary *ordinary = &tracked->ordinary;
    unique_in in = {tracked, rows};
    for (size_t i = 0; i < ordinary->n_terms && ctr_rc(tracked->conn) == SQLITE_OK; i++)
        match_term(tracked->conn, &in, &ordinary->terms[i]);
    for (size_t i = 0; i < ordinary->n; i++)
        rows->any_generated = rows->any_generated || ordinary->columns[i].generated;
    if (rows->any_generated) list_sources(tracked, rows->stored);
    match_rowid(&in);
    rows->any_column = rows->any_column || rows->any_generated;
}
