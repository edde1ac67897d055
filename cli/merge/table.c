/* table.c - what a table is like: its columns in all three files, its key, its references; and SQL
 * written for it.
 *
 * A template is SQL with these in it, where b, t, o and d are aliases of rows of BASE, THEIRS, OURS and
 * _merge_d{n}:
 *
 *     {n} {name}            the place of the table; its name as a text
 *     {T} {B} {H}           the table in main, base, theirs, as it stands behind FROM
 *     {k} {key}             the place of the column that is its number; that column, quoted, or rowid
 *     {base_key} {theirs_key}   the number over b, over t
 *     {rowid}               the name of its rowid, or NULL
 *     {orid} {brid} {trid}  the rowid over o, b, t, or NULL
 *     {link}                the same over o; 1 if it has none
 *     {put_rowid} {put_value}   a rowid that no column shows, in the lists of an INSERT; or nothing
 *     {now}                 the number in main of a row of base
 *     {ready} {unique_ready}    whether the rows of THEIRS to which d refers are decided; of a UNIQUE
 *                               index
 *     {new_in_ours}         whether o is no row of base
 *     {base_row} {theirs_row}   all values of a row over b, over t
 *     {C, |o.@o = d.t#}     a list over all columns, with ", " between
 *     {K...} {N...} {Y...}  the same over columns of the key, the others, those that hold 1 and 1.0
 *     {Z AND |@t IS NOT NULL}   whether a row has a key: no column of it is NULL
 *     {U...} {F...} {I...}  the same over a UNIQUE index, a foreign key, the columns that tell a row
 *     {V|t.@o}              a text of all columns that differs if a value does
 *     {J|o#}                a JSON object of all columns
 *     {PT} {PB} {PH} {Pn} {Ptrid} {PC...}   the same of the parent in a foreign key
 *
 * and, for a column:
 *
 *     #         its place
 *     @o @n     its name, quoted; as a text
 *     @b @t @f  SQL for it over b, over t; over t, with numbers that have moved
 *     @m        what a reference of THEIRS becomes
 *     @c        a collation
 *     @a @s     whether it is of --add; whether what was changed adds up
 *     @w @l     the value that stays in a conflict; whether one side lacks it
 *     ~x~y~     whether x and y are equal in type and bytes
 *     @p @g $   in the parent of a foreign key: its name; SQL for it over t, as @f; its place
 *     @r @q     there: SQL for it over b, over t
 */
#include <string.h>

#include "cli/merge/merge.h"

enum { ARGUMENTS_AT_ONCE = 100 }; /* SQLite takes 127 */

const char *const MERGE_ROWID_NAME[MERGE_ROWID_NAMES] = {"rowid", "_rowid_", "oid"};

/* ---- templates --------------------------------------------------------------------------------- */

typedef struct place {
    merge *m;
    merge_table *t;
    sqlite3_str *out;
    int column, parent; /* -1: none */
    const char *collation;
} place;

static void write_part(place at, const char *from, const char *to);

/* What a reference of THEIRS' row d becomes: NULL if it leads to a row that only THEIRS has. */
static void write_moved(place at)
{
    const merge_column *column = &at.t->column[at.column];
    if (column->of < 0) {
        sqlite3_str_appendf(at.out, "d.t%d", at.column);
        return;
    }
    const merge_table *of = &at.m->table[column->of];
    if (of->number < 0) {
        sqlite3_str_appendf(at.out,
                            "CASE WHEN EXISTS (SELECT 1 FROM temp._merge_d%d AS p WHERE p.op = 'I'"
                            " AND p.rid = d.t%d) THEN NULL ELSE coalesce((SELECT ours FROM"
                            " temp._merge_moves WHERE tab = %d AND theirs = d.t%d), d.t%d) END",
                            of->i, at.column, of->i, at.column, at.column);
        return;
    }
    if (of->i == at.t->i)
        sqlite3_str_appendf(at.out, "CASE WHEN d.t%d = d.t%d THEN o.%s ELSE ", at.column,
                            of->number, of->column[of->number].quoted);
    sqlite3_str_appendf(
        at.out,
        "CASE WHEN EXISTS (SELECT 1 FROM temp._merge_d%d AS p WHERE p.op = 'I' AND p.t%d = d.t%d)"
        " THEN (SELECT p.becomes FROM temp._merge_d%d AS p WHERE p.op = 'I' AND p.t%d = d.t%d"
        " AND p.how <> 'new')"
        " ELSE coalesce((SELECT ours FROM temp._merge_moves WHERE tab = %d AND theirs = d.t%d), "
        "d.t%d) END",
        of->i, of->number, at.column, of->i, of->number, at.column, of->i, at.column, at.column);
    if (of->i == at.t->i) sqlite3_str_appendall(at.out, " END");
}

static void write_equal(place at, const char *x, const char *middle, const char *end)
{
    bool is_typed = at.column >= 0 && at.t->column[at.column].is_typed;
    sqlite3_str_appendall(at.out, "(");
    write_part(at, x, middle);
    sqlite3_str_appendall(at.out, " IS ");
    write_part(at, middle + 1, end);
    if (is_typed) {
        sqlite3_str_appendall(at.out, " AND typeof(");
        write_part(at, x, middle);
        sqlite3_str_appendall(at.out, ") = typeof(");
        write_part(at, middle + 1, end);
        sqlite3_str_appendall(at.out, ")");
    }
    sqlite3_str_appendall(at.out, ")");
}

/* What is changed on both sides adds up if all are integers, and so is the sum. */
static void write_adds(place at)
{
    static const char SUM[] =
        "how IS NOT 'same' AND typeof(o#) = 'integer' AND typeof(t#) = 'integer'"
        " AND (op = 'I' OR typeof(b#) = 'integer')"
        " AND typeof(o# + (t# - CASE op WHEN 'U' THEN b# ELSE 0 END)) = 'integer'";
    if (at.t->column[at.column].adds)
        write_part(at, SUM, SUM + strlen(SUM));
    else
        sqlite3_str_appendall(at.out, "0");
}

static merge_table *parent_of(place at)
{
    return at.t->foreign_now ? &at.m->table[at.t->foreign_now->parent] : NULL;
}

/* A value of THEIRS, over t, in which numbers that have moved are followed. */
static void write_followed(place at, const merge_table *t, int i)
{
    int of = i == t->number && t->gives_numbers ? t->i : t->column[i].of;
    const char *value = t->column[i].in_theirs;
    if (of < 0)
        sqlite3_str_appendall(at.out, value);
    else
        sqlite3_str_appendf(at.out,
                            "coalesce((SELECT ours FROM temp._merge_moves WHERE tab = %d AND "
                            "theirs = %s), %s)",
                            of, value, value);
}

static void write_at(place at, char what)
{
    const merge_column *column = &at.t->column[at.column];
    const merge_column *other = at.parent >= 0 ? &parent_of(at)->column[at.parent] : NULL;
    if (what == 'o') sqlite3_str_appendall(at.out, column->quoted);
    if (what == 'n') sqlite3_str_appendf(at.out, "%Q", column->name);
    if (what == 'b') sqlite3_str_appendall(at.out, column->in_base);
    if (what == 't') sqlite3_str_appendall(at.out, column->in_theirs);
    if (what == 'c') sqlite3_str_appendf(at.out, "\"%w\"", at.collation ? at.collation : "BINARY");
    if (what == 'p' && other) sqlite3_str_appendall(at.out, other->quoted);
    if (what == 'f') write_followed(at, at.t, at.column);
    if (what == 'g' && other) write_followed(at, parent_of(at), at.parent);
    if (what == 'q' && other) sqlite3_str_appendall(at.out, other->in_theirs);
    if (what == 'r' && other) sqlite3_str_appendall(at.out, other->in_base);
    if (what == 'm') write_moved(at);
    if (what == 's') write_adds(at);
    if (what == 'a') sqlite3_str_appendall(at.out, column->adds ? "1" : "0");
    if (what == 'l') sqlite3_str_appendf(at.out, "%d", column->ours_lacks || column->theirs_lacks);
    bool takes_theirs = (at.t->theirs_wins && !column->theirs_lacks) || column->ours_lacks;
    if (what == 'w') sqlite3_str_appendf(at.out, "%c%d", takes_theirs ? 't' : 'o', at.column);
}

static bool is_in_list(const merge_table *t, int i, char list)
{
    const merge_column *column = &t->column[i];
    bool is_of_key = column->key > 0;
    return strchr("CJ", list) || (list == 'V' && !column->is_kept) || (list == 'K' && is_of_key) ||
           (list == 'Z' && is_of_key && t->has_null_keys) || (list == 'N' && !is_of_key) ||
           (list == 'Y' && column->is_typed) ||
           (list == 'I' && (t->key == KEY_NONE ? i < ARGUMENTS_AT_ONCE : is_of_key));
}

/* Writes what stands between two items. Arguments are split: SQLite takes 127. */
static void write_between(place at, char which, const char *between, int n, int written)
{
    bool is_part = written % (which == 'J' ? ARGUMENTS_AT_ONCE / 2 : ARGUMENTS_AT_ONCE) == 0;
    if (which == 'V')
        sqlite3_str_appendall(at.out, is_part ? ") || merge_bytes(" : ", ");
    else if (which == 'J')
        sqlite3_str_appendall(at.out, is_part ? ") || ', ' || merge_pairs(" : ", ");
    else
        sqlite3_str_append(at.out, between, n);
}

/* A list: its letter, what is between, "|", the body. */
static void write_list(place at, const char *list, const char *end)
{
    if (*list == 'P') {
        at.t = parent_of(at);
        list++;
    }
    const char *bar = memchr(list, '|', (size_t)(end - list));
    char which = *list;
    const merge_unique *unique = which == 'U' ? at.t->unique_now : NULL;
    const merge_foreign *foreign = which == 'F' ? at.t->foreign_now : NULL;
    int written = 0, n = unique ? unique->n : foreign ? foreign->n : at.t->n;
    if (which == 'V') sqlite3_str_appendall(at.out, "merge_bytes(");
    if (which == 'J') sqlite3_str_appendall(at.out, "'{' || merge_pairs(");
    for (int i = 0; i < n; i++) {
        place in = at;
        in.column = unique ? unique->column[i] : foreign ? foreign->from[i] : i;
        in.parent = foreign ? foreign->to[i] : -1;
        in.collation = unique ? unique->collation[i] : NULL;
        if (!unique && !foreign && !is_in_list(at.t, i, which)) continue;
        if (written > 0) write_between(at, which, list + 1, (int)(bar - list - 1), written);
        if (which == 'J') sqlite3_str_appendf(at.out, "%Q, ", at.t->column[i].name);
        write_part(in, bar + 1, end);
        written++;
    }
    /* Without columns of the key, the one row of BASE is meant. */
    bool is_and = bar - list > 1 && list[2] == 'A';
    if (written == 0 && which == 'K')
        sqlite3_str_appendall(at.out, is_and || !at.t->in_base ? "1" : "0");
    if (written == 0 && which == 'Z')
        sqlite3_str_appendall(at.out, at.t->key == KEY_NONE ? "0" : "1");
    if (which == 'V') sqlite3_str_appendall(at.out, ")");
    if (which == 'J') sqlite3_str_appendall(at.out, ") || '}'");
}

/* The rowid over an alias. */
static void write_rowid(place at, const merge_table *t, char alias)
{
    if (t->rowid)
        sqlite3_str_appendf(at.out, "%c.%s", alias, t->rowid);
    else
        sqlite3_str_appendall(at.out, "NULL");
}

/* The column that is the number of a row, else its rowid, over an alias. */
static void write_number(place at, const char *column, char alias)
{
    if (column)
        sqlite3_str_appendall(at.out, column);
    else
        write_rowid(at, at.t, alias);
}

/* Whether rows are written with a rowid that no column shows. */
static bool has_hidden_rowid(const merge_table *t)
{
    return t->rowid && t->number < 0;
}

/* Rows are to be decided when the rows of THEIRS to which they refer are. */
static void write_ready(place at, const merge_unique *unique)
{
    int n = unique ? unique->n : at.t->n;
    sqlite3_str_appendall(at.out, "1");
    for (int k = 0; k < n; k++) {
        int i = unique ? unique->column[k] : k, of = at.t->column[i].of;
        if (of < 0 || !at.m->table[of].gives_numbers) continue;
        sqlite3_str_appendf(at.out,
                            " AND NOT EXISTS (SELECT 1 FROM temp._merge_d%d AS p WHERE p.op = 'I'"
                            " AND p.how IS NULL AND p.t%d = d.t%d%s)",
                            of, at.m->table[of].number, i, of == at.t->i ? " AND p.n <> d.n" : "");
    }
}

/* Whether the row o is none of BASE, in which it may have the number that it has had in THEIRS. */
static void write_new_in_ours(place at)
{
    const merge_table *t = at.t;
    const char *base = t->column[t->number].in_base, *key = t->column[t->number].quoted;
    sqlite3_str_appendf(
        at.out,
        "NOT EXISTS (SELECT 1 FROM %s AS b WHERE %s = o.%s AND %s NOT IN (SELECT theirs FROM"
        " temp._merge_moves WHERE tab = %d AND why = 'known')) AND NOT EXISTS (SELECT 1 FROM"
        " temp._merge_moves AS k JOIN %s AS b ON %s = k.theirs WHERE k.tab = %d AND"
        " k.ours = o.%s AND k.why = 'known')",
        t->base, base, key, base, t->i, t->base, base, t->i, key);
}

static void write_name(place at, const char *name, size_t n)
{
    const merge_table *t = at.t, *parent = parent_of(at);
    const merge_column *key = t->number >= 0 ? &t->column[t->number] : NULL;
    const char *rowid = t->rowid ? t->rowid : "NULL";
    char *word = sqlite3_mprintf("%.*s", (int)n, name);
    const struct {
        const char *name, *text;
    } names[] = {
        {"T", t->main},
        {"B", t->base},
        {"H", t->theirs},
        {"rowid", rowid},
        {"key", key ? key->quoted : rowid},
        {"base_row", t->base_row ? t->base_row : "NULL"},
        {"theirs_row", t->theirs_row ? t->theirs_row : "NULL"},
        {"put_value", has_hidden_rowid(t) ? "CASE WHEN was THEN orid ELSE prid END, " : ""},
        {"PT", parent ? parent->main : ""},
        {"PB", parent ? parent->base : ""},
        {"PH", parent ? parent->theirs : ""}};
    for (size_t i = 0; word && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, word) == 0) sqlite3_str_appendall(at.out, names[i].text);
    if (word && strcmp(word, "base_key") == 0) write_number(at, key ? key->in_base : NULL, 'b');
    if (word && strcmp(word, "theirs_key") == 0) write_number(at, key ? key->in_theirs : NULL, 't');
    if (word && strcmp(word, "n") == 0) sqlite3_str_appendf(at.out, "%d", t->i);
    if (word && strcmp(word, "k") == 0) sqlite3_str_appendf(at.out, "%d", t->number);
    if (word && strcmp(word, "Pn") == 0) sqlite3_str_appendf(at.out, "%d", parent->i);
    if (word && strcmp(word, "name") == 0) sqlite3_str_appendf(at.out, "%Q", t->name);
    if (word && strcmp(word, "ready") == 0) write_ready(at, NULL);
    if (word && strcmp(word, "unique_ready") == 0) write_ready(at, t->unique_now);
    if (word && strcmp(word, "new_in_ours") == 0) write_new_in_ours(at);
    if (word && strcmp(word, "link") == 0 && !t->rowid) sqlite3_str_appendall(at.out, "1");
    if (word && strcmp(word, "link") == 0 && t->rowid) write_rowid(at, t, 'o');
    if (word && strcmp(word, "now") == 0 && key)
        sqlite3_str_appendf(at.out,
                            "coalesce((SELECT ours FROM temp._merge_moves WHERE tab = %d AND "
                            "theirs = %s), %s)",
                            t->i, key->in_base, key->in_base);
    if (word && strcmp(word, "put_rowid") == 0 && has_hidden_rowid(t))
        sqlite3_str_appendf(at.out, "%s, ", t->rowid);
    if (word && n == 4 && strcmp(word + 1, "rid") == 0) write_rowid(at, t, *word);
    if (word && strcmp(word, "Ptrid") == 0) write_rowid(at, parent, 't');
    sqlite3_free(word);
}

static void write_part(place at, const char *from, const char *to)
{
    for (const char *s = from; s < to; s++) {
        if (*s == '{') {
            const char *end = memchr(s, '}', (size_t)(to - s));
            if (memchr(s, '|', (size_t)(end - s)))
                write_list(at, s + 1, end);
            else
                write_name(at, s + 1, (size_t)(end - s - 1));
            s = end;
        } else if (*s == '~' && at.column >= 0) {
            const char *middle = strchr(s + 1, '~'), *end = strchr(middle + 1, '~');
            write_equal(at, s + 1, middle, end);
            s = end;
        } else if (*s == '@' && at.column >= 0) {
            write_at(at, *++s);
        } else if (*s == '#' && at.column >= 0) {
            sqlite3_str_appendf(at.out, "%d", at.column);
        } else if (*s == '$' && at.parent >= 0) {
            sqlite3_str_appendf(at.out, "%d", at.parent);
        } else {
            sqlite3_str_append(at.out, s, 1);
        }
    }
}

/* The caller frees it; NULL after an error. */
static char *write_sql(merge *m, merge_table *t, int column, const char *template)
{
    if (m->c->failed) return NULL;
    place at = {m, t, sqlite3_str_new(NULL), column, -1, NULL};
    write_part(at, template, template + strlen(template));
    char *sql = sqlite3_str_finish(at.out);
    if (!sql) cli_fail(m->c, "out of memory");
    return sql;
}

const char *merge_sql(merge *m, merge_table *t, int column, const char *template)
{
    const char *sql = merge_keep(m, write_sql(m, t, column, template));
    return sql ? sql : "";
}

sqlite3_stmt *merge_prepare(merge *m, merge_table *t, int column, const char *template)
{
    char *sql = write_sql(m, t, column, template);
    sqlite3_stmt *statement = sql ? cli_prepare(&m->into, sql) : NULL;
    sqlite3_free(sql);
    return statement;
}

int64_t merge_run(merge *m, merge_table *t, int column, const char *template)
{
    sqlite3_stmt *statement = merge_prepare(m, t, column, template);
    while (cli_step(&m->into, statement)) continue;
    sqlite3_finalize(statement);
    return m->c->failed ? 0 : sqlite3_changes(m->into.db);
}

int64_t merge_integer(merge *m, merge_table *t, int column, const char *template)
{
    sqlite3_stmt *statement = merge_prepare(m, t, column, template);
    int64_t n = cli_step(&m->into, statement) ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return n;
}

int64_t merge_integer_for(merge *m, merge_table *t, int column, const char *template, int64_t of)
{
    sqlite3_stmt *statement = merge_prepare(m, t, column, template);
    sqlite3_bind_int64(statement, 1, of);
    int64_t n = cli_step(&m->into, statement) ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return n;
}

sqlite3_stmt *merge_prepare_texts(merge *m, const char *sql, const char *const *text, int n)
{
    sqlite3_stmt *statement = cli_prepare(&m->into, sql);
    for (int i = 0; statement && i < n; i++)
        if (sqlite3_bind_text(statement, i + 1, text[i], -1, SQLITE_TRANSIENT) != SQLITE_OK)
            cli_fail_file(&m->into, "");
    return statement;
}

void merge_run_texts(merge *m, const char *sql, const char *const *text, int n)
{
    sqlite3_stmt *statement = merge_prepare_texts(m, sql, text, n);
    while (cli_step(&m->into, statement)) continue;
    sqlite3_finalize(statement);
}

int64_t merge_integer_of(merge *m, const char *sql)
{
    return cli_integer(&m->into, sql);
}

bool merge_has_table(merge *m, const char *schema, const char *name)
{
    return merge_integer_of(m, merge_text(m, CLI_SQL_MERGE_HAS_TABLE, schema, name)) != 0;
}

bool merge_has_column(merge *m, const char *schema, const char *table, const char *column)
{
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_HAS_COLUMN,
                                            (const char *const[]){table, schema, column}, 3);
    bool has = cli_step(&m->into, row);
    sqlite3_finalize(row);
    return has;
}

/* ---- finding ----------------------------------------------------------------------------------- */

merge_table *merge_table_find(merge *m, const char *name)
{
    for (int i = 0; i < m->n; i++)
        if (sqlite3_stricmp(m->table[i].name, name) == 0) return &m->table[i];
    return NULL;
}

bool merge_is_rowid_column(const merge_column *column)
{
    return column->of < 0 && !column->is_no_reference && !column->adds &&
           sqlite3_strlike("%rowid%", column->name, 0) == 0;
}

int merge_column_find(const merge_table *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (sqlite3_stricmp(t->column[i].name, name) == 0) return i;
    return -1;
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* A column of BASE or THEIRS as SQL over the alias of it; its DEFAULT where the file lacks it. */
static const char *column_of(merge *m, bool has_table, const char *alias, const char *name,
                             const char *standing)
{
    if (!has_table) return "NULL";
    return name ? merge_text(m, "%s.\"%w\"", alias, name) : merge_text(m, "(%s)", standing);
}

static void read_columns(merge *m, merge_table *t)
{
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_COLUMNS, &t->name, 1);
    merge_column *at = t->column =
        merge_array(m, (size_t)merge_integer_of(m, CLI_SQL_MERGE_MOST_COLUMNS) + 1, sizeof *at);
    if (t->is_virtual && !t->is_rtree && at) { /* its rows have numbers, which no column shows */
        *at++ = (merge_column){.name = "rowid",
                               .quoted = "rowid",
                               .in_base = t->in_base ? "b.rowid" : "NULL",
                               .in_theirs = t->in_theirs ? "t.rowid" : "NULL",
                               .key = 1,
                               .of = -1};
    }
    while (at && cli_step(&m->into, row)) {
        const char *name = (const char *)sqlite3_column_text(row, 0),
                   *standing = (const char *)sqlite3_column_text(row, 1),
                   *base = (const char *)sqlite3_column_text(row, 4),
                   *theirs = (const char *)sqlite3_column_text(row, 5);
        *at = (merge_column){.key = sqlite3_column_int(row, 2),
                             .is_typed = t->is_virtual || sqlite3_column_int(row, 3),
                             .of = -1};
        at->name = merge_text(m, "%s", name);
        at->quoted = merge_text(m, "\"%w\"", name);
        at->theirs_lacks = t->in_theirs && !theirs;
        at->ours_lacks = !sqlite3_column_int(row, 6);
        at->is_kept = t->in_base && base && at->theirs_lacks;
        at->in_base = column_of(m, t->in_base, "b", base, standing ? standing : "NULL");
        at->in_theirs = column_of(m, t->in_theirs, "t", theirs, standing ? standing : "NULL");
        at++;
    }
    sqlite3_finalize(row);
    t->n = at ? (int)(at - t->column) : 0;
    if (t->is_rtree && t->n > 0) t->column[0].key = 1;
}

/* A name of the rowid that no column has in any file; NULL if the table has none. */
static const char *rowid_of(merge *m, const merge_table *t)
{
    for (int i = 0; i < MERGE_ROWID_NAMES; i++) {
        const char *name = MERGE_ROWID_NAME[i];
        if (merge_has_column(m, "main", t->name, name) ||
            merge_has_column(m, "base", t->name, name) ||
            merge_has_column(m, "theirs", t->name, name))
            continue;
        char *sql = sqlite3_mprintf("SELECT %s FROM %s", name, t->main);
        sqlite3_stmt *statement = NULL;
        bool has = sql && sqlite3_prepare_v2(m->into.db, sql, -1, &statement, NULL) == SQLITE_OK;
        sqlite3_finalize(statement);
        sqlite3_free(sql);
        if (has) return name;
    }
    return NULL;
}

static void read_uniques(merge *m, merge_table *t)
{
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_UNIQUES, &t->name, 1);
    t->unique = merge_array(m, 64, sizeof *t->unique);
    const char *before = NULL;
    int *columns = NULL;
    const char **collations = NULL;
    merge_unique *at = NULL;
    bool is_whole = true;
    while (t->unique && cli_step(&m->into, row)) {
        const char *index = (const char *)sqlite3_column_text(row, 0);
        if (!index) cli_fail(m->c, "out of memory");
        if (!index) break;
        if (!before || strcmp(index, before) != 0) {
            if (t->n_unique == 64) break;
            at = &t->unique[t->n_unique++];
            at->column = columns = merge_array(m, 64, sizeof *columns);
            at->collation = collations = merge_array(m, 64, sizeof *collations);
            before = merge_text(m, "%s", index);
            is_whole = true;
        }
        const char *name = (const char *)sqlite3_column_text(row, 1);
        int column = name ? merge_column_find(t, name) : -1;
        if (column < 0 || at->n == 64 || !is_whole) { /* an expression, a generated column */
            is_whole = false;
            at->n = 0;
            continue;
        }
        columns[at->n] = column;
        collations[at->n++] = merge_text(m, "%s", sqlite3_column_text(row, 2));
    }
    sqlite3_finalize(row);
    int n = 0;
    for (int i = 0; i < t->n_unique; i++)
        if (t->unique[i].n > 0) t->unique[n++] = t->unique[i];
    t->n_unique = n;
}

/* A key of the table: PRIMARY KEY, else a UNIQUE constraint of NOT NULL columns, else none. */
static void read_key(merge *m, merge_table *t)
{
    int n = 0, last = -1;
    for (int i = 0; i < t->n; i++)
        if (t->column[i].key > 0) n++, last = i;
    bool is_rowid = t->is_virtual ||
                    (n == 1 && merge_integer_of(m, merge_text(m, CLI_SQL_MERGE_IS_ROWID, t->name,
                                                              t->name, t->column[last].name)));
    t->key = is_rowid ? KEY_NUMBER : n > 0 ? KEY_COLUMNS : KEY_NONE;
    t->number = is_rowid ? last : -1;
    if (n > 0) return;
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_OTHER_KEY, &t->name, 1);
    while (cli_step(&m->into, row)) {
        int i = merge_column_find(t, (const char *)sqlite3_column_text(row, 0));
        if (i >= 0) t->column[i].key = ++n;
    }
    sqlite3_finalize(row);
    bool is_copy = m->mode == MERGE_COPIES && t->in_theirs;
    const char *base = t->base;
    if (is_copy) t->base = t->main; /* which has what both have alike */
    /* A table with one row, such as settings, has that row in all files. */
    if (n > 0 || (t->rowid && merge_integer(m, t, -1, CLI_SQL_MERGE_HAS_ONE_ROW)))
        t->key = KEY_COLUMNS;
    if (t->key != KEY_NONE) t->base = base;
    for (int i = 0; i < t->n && is_copy && t->key == KEY_NONE; i++)
        t->column[i].in_base = merge_text(m, "b.%s", t->column[i].quoted);
}

/* Rows whose key has a NULL are as those without one. */
static void check_key(merge *m, merge_table *t)
{
    if (t->key == KEY_COLUMNS && t->rowid)
        t->has_null_keys = (t->in_base && merge_integer(m, t, -1, CLI_SQL_MERGE_BASE_NULL_KEY)) ||
                           (t->in_theirs && merge_integer(m, t, -1, CLI_SQL_MERGE_THEIRS_NULL_KEY));
}

/* A column that THEIRS has dropped and OURS has changed: in THEIRS it is as in BASE. */
static void read_kept(merge *m, merge_table *t)
{
    const char *same_row =
        t->key == KEY_NONE ? "" : merge_sql(m, t, -1, "FROM {B} AS b WHERE {K AND |@b = @t}");
    for (int i = 0; i < t->n; i++) {
        merge_column *column = &t->column[i];
        if (!column->is_kept) continue;
        if (t->key == KEY_NONE)
            column->in_base = column->in_theirs;
        else
            column->in_theirs =
                merge_text(m, "CASE WHEN EXISTS (SELECT 1 %s) THEN (SELECT %s %s) ELSE %s END",
                           same_row, column->in_base, same_row, column->in_theirs);
    }
}

static void read_foreign(merge *m, merge_table *t)
{
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_FOREIGN, &t->name, 1);
    t->foreign = merge_array(m, 64, sizeof *t->foreign);
    int before = -1, *from = NULL, *to = NULL;
    while (t->foreign && cli_step(&m->into, row)) {
        int id = sqlite3_column_int(row, 0);
        merge_table *parent = merge_table_find(m, (const char *)sqlite3_column_text(row, 1));
        if (!parent || t->n_foreign == 64) continue;
        if (id != before) {
            merge_foreign *at = &t->foreign[t->n_foreign++];
            at->parent = parent->i;
            at->from = from = merge_array(m, 64, sizeof *from);
            at->to = to = merge_array(m, 64, sizeof *to);
            before = id;
        }
        merge_foreign *at = &t->foreign[t->n_foreign - 1];
        const char *name = (const char *)sqlite3_column_text(row, 3);
        int child = merge_column_find(t, (const char *)sqlite3_column_text(row, 2)), other = -1;
        for (int i = 0; !name && i < parent->n; i++)
            if (parent->column[i].key == at->n + 1) other = i;
        if (name) other = merge_column_find(parent, name);
        if (child < 0 || other < 0 || at->n == 64) continue; /* generated, or a broken key */
        from[at->n] = child;
        to[at->n++] = other;
    }
    sqlite3_finalize(row);
    int n = 0;
    for (int i = 0; i < t->n_foreign; i++)
        if (t->foreign[i].n > 0) t->foreign[n++] = t->foreign[i];
    t->n_foreign = n;
}

/* ---- what the user said of columns --------------------------------------------------------------- */

/* The table and the column of "table.column"; the table may have a dot in its name. */
static merge_table *column_asked(merge *m, const char *option, const char *word, size_t n, int *i)
{
    const char *name = merge_text(m, "%.*s", (int)n, word);
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        merge_table *t = merge_table_find(m, merge_text(m, "%.*s", (int)(dot - name), name));
        *i = t ? merge_column_find(t, dot + 1) : -1;
        if (t && *i >= 0) return t;
    }
    cli_fail(m->c, "merge: --%s %s: there is no such column in a table that is merged", option,
             word);
    return NULL;
}

static void apply_words(merge *m)
{
    int i = -1;
    const char *word;
    for (int k = 0; (word = merge_asked(m, "add=", k)); k++) {
        merge_table *t = column_asked(m, "add", word, strlen(word), &i);
        if (t && t->column[i].key > 0)
            cli_fail(m->c, "merge: --add %s: the column is of the key, which says which row it is",
                     word);
        if (t) t->column[i].adds = true;
    }
    for (int k = 0; (word = merge_asked(m, "no-ref=", k)); k++) {
        merge_table *t = column_asked(m, "no-ref", word, strlen(word), &i);
        if (t) t->column[i].is_no_reference = true;
    }
    for (int k = 0; (word = merge_asked(m, "ref=", k)); k++) {
        const char *equals = strrchr(word, '=');
        merge_table *t = equals ? column_asked(m, "ref", word, (size_t)(equals - word), &i) : NULL;
        merge_table *of = equals ? merge_table_find(m, equals + 1) : NULL;
        if (!equals || !of)
            cli_fail(m->c,
                     "merge: --ref %s: must be a column and the table whose numbers it holds, such "
                     "as --ref note_tag.tag_id=tag",
                     word);
        if (of && of->number < 0 && !of->rowid)
            cli_fail(m->c, "merge: --ref %s: rows of %s have no numbers", word, of->name);
        if (!t || !of) continue;
        t->column[i].of = of->i;
        t->column[i].is_said = true;
    }
    for (int k = 0; (word = merge_asked(m, "assigned=", k)); k++)
        if (!merge_table_find(m, word))
            cli_fail(m->c, "merge: --assigned %s: there is no such table in both files", word);
    for (int k = 0; (word = merge_asked(m, "theirs=", k)); k++)
        if (*word && !merge_table_find(m, word))
            cli_fail(m->c, "merge: --theirs=%s: there is no such table in both files", word);
}

/* ---- references ---------------------------------------------------------------------------------- */

/* A column that leads to a column that holds numbers holds them, too. */
static bool spread_references(merge *m)
{
    bool changed = false;
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->table[i].n_foreign; k++) {
            const merge_foreign *foreign = &m->table[i].foreign[k];
            const merge_table *parent = &m->table[foreign->parent];
            for (int j = 0; j < foreign->n; j++) {
                merge_column *column = &m->table[i].column[foreign->from[j]];
                int of = foreign->to[j] == parent->number && parent->column[parent->number].of < 0
                             ? parent->i
                             : parent->column[foreign->to[j]].of;
                if (column->of >= 0 || of < 0) continue;
                column->of = of;
                changed = true;
            }
        }
    return changed;
}

/* Whether a column may hold rowids of a table that has no column for them. */
static bool may_hold_rowids(merge *m, const merge_table *of)
{
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->table[i].n; k++) {
            const merge_column *column = &m->table[i].column[k];
            if (column->of == of->i || merge_is_rowid_column(column)) return true;
        }
    return false;
}

/* A key that is a foreign key follows its parent: those come first. */
static void read_references(merge *m)
{
    for (int i = 0; i < m->n; i++) {
        merge_table *t = &m->table[i];
        for (int k = 0; k < t->n_foreign; k++)
            if (t->number >= 0 && t->foreign[k].n == 1 && t->foreign[k].from[0] == t->number &&
                t->foreign[k].parent != t->i && t->column[t->number].of < 0) {
                const merge_table *parent = &m->table[t->foreign[k].parent];
                if (t->foreign[k].to[0] == parent->number) t->column[t->number].of = parent->i;
            }
    }
    while (spread_references(m)) continue;
    for (int i = 0; i < m->n; i++) /* a chain of 1:1 ends at the table that gives the numbers */
        for (int k = 0; k < m->table[i].n; k++) {
            merge_column *column = &m->table[i].column[k];
            for (int steps = 0; column->of >= 0 && steps < m->n; steps++) {
                const merge_table *of = &m->table[column->of];
                if (of->number < 0 || of->column[of->number].of < 0) break;
                column->of = of->column[of->number].of;
            }
        }
    for (int i = 0; i < m->n; i++) {
        merge_table *t = &m->table[i];
        t->gives_numbers = t->number >= 0 && !t->is_virtual && t->column[t->number].of < 0 &&
                           m->mode != MERGE_COPIES && !merge_asks_for(m, "assigned=", t->name);
        t->gives_rowids =
            t->number < 0 && t->rowid && m->mode != MERGE_COPIES && may_hold_rowids(m, t);
        if (!t->gives_numbers && !t->gives_rowids) continue;
        t->base_row = merge_row_bytes(m, "base", t->name);
        t->theirs_row = merge_row_bytes(m, "theirs", t->name);
    }
}

static void read_table(merge *m, merge_table *t, sqlite3_stmt *row)
{
    t->name = merge_text(m, "%s", sqlite3_column_text(row, 0));
    t->is_virtual = sqlite3_column_int(row, 1) > 0;
    t->is_rtree = sqlite3_column_int(row, 1) > 1;
    t->is_autoincrement = sqlite3_column_int(row, 2);
    t->in_base = sqlite3_column_int(row, 3);
    t->in_theirs = sqlite3_column_int(row, 4);
    t->main = merge_text(m, "main.\"%w\"", t->name);
    t->base = t->in_base ? merge_text(m, "base.\"%w\"", t->name) : "(SELECT 1 AS rowid WHERE 0)";
    t->theirs =
        t->in_theirs ? merge_text(m, "theirs.\"%w\"", t->name) : "(SELECT 1 AS rowid WHERE 0)";
    t->theirs_wins = merge_asks_for(m, "theirs=", "") || merge_asks_for(m, "theirs=", t->name);
}

void merge_tables_read(merge *m)
{
    int room = (int)merge_integer_of(m, CLI_SQL_MERGE_COUNT_TABLES);
    m->table = merge_array(m, (size_t)room + 1, sizeof *m->table);
    sqlite3_stmt *row = cli_prepare(&m->into, CLI_SQL_MERGE_TABLES);
    while (m->n < room && cli_step(&m->into, row)) {
        merge_table *t = &m->table[m->n];
        t->i = m->n;
        read_table(m, t, row);
        m->n++;
    }
    sqlite3_finalize(row);
    for (int i = 0; i < m->n && !m->c->failed; i++) {
        merge_table *t = &m->table[i];
        read_columns(m, t);
        t->rowid = rowid_of(m, t);
        read_key(m, t);
        check_key(m, t);
        read_kept(m, t);
        read_uniques(m, t);
    }
    for (int i = 0; i < m->n && !m->c->failed; i++) read_foreign(m, &m->table[i]);
    if (!m->c->failed) apply_words(m);
    if (!m->c->failed) read_references(m);
}
