/* alter.c - how one declaration of a table came from another: ADD, RENAME and DROP COLUMN.
 *
 * The columns of both say what may have been done. It is done to the older one in a database in memory;
 * the texts must be the same then.
 */
#include <ctype.h>
#include <string.h>

#include "cli/merge/merge.h"

typedef struct names {
    const char **name;
    int n;
} names;

/* What is to be explained. base has the table as in `from`, and the schema as in `to`; no schema: there
 * are no rows. */
typedef struct change {
    const char *table, *from, *to, *schema;
    names old, new; /* columns of both */
} change;

static bool has_name(const names *in, const char *name)
{
    for (int i = 0; i < in->n; i++)
        if (sqlite3_stricmp(in->name[i], name) == 0) return true;
    return false;
}

/* A database in memory with the table; NULL if its declaration needs what is not here. */
static sqlite3 *open_with(const char *declaration)
{
    sqlite3 *db = NULL;
    bool is_open = sqlite3_open(":memory:", &db) == SQLITE_OK &&
                   sqlite3_exec(db, declaration, NULL, NULL, NULL) == SQLITE_OK;
    if (is_open) return db;
    sqlite3_close(db);
    return NULL;
}

static names columns_of(merge *m, sqlite3 *db, const char *table)
{
    names found = {0};
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(db, CLI_SQL_MERGE_NAMES_OF, -1, &row, NULL) == SQLITE_OK)
        sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
    found.name = merge_array(m, 2001, sizeof *found.name);
    while (found.name && found.n < 2000 && row && sqlite3_step(row) == SQLITE_ROW)
        found.name[found.n++] = merge_text(m, "%s", sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    return found;
}

static const char *text_of(merge *m, sqlite3 *db, const char *table)
{
    const char *text = "";
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(db, CLI_SQL_MERGE_TEXT_OF, -1, &row, NULL) == SQLITE_OK)
        sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
    if (row && sqlite3_step(row) == SQLITE_ROW)
        text = merge_text(m, "%s", sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    return text;
}

/* ---- steps --------------------------------------------------------------------------------------- */

static bool play(sqlite3 *db, const char *table, const merge_step *step)
{
    char *sql = sqlite3_mprintf("ALTER TABLE \"%w\" %s", table, step->sql);
    bool is_done = sql && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_free(sql);
    return is_done;
}

static void add_step(merge *m, merge_steps *steps, merge_step step)
{
    merge_step *more = merge_array(m, (size_t)steps->n + 1, sizeof *more);
    if (!more) return;
    if (steps->n > 0) memcpy(more, steps->step, (size_t)steps->n * sizeof *more);
    more[steps->n++] = step;
    steps->step = more;
}

static merge_step rename_step(merge *m, const char *from, const char *to, bool quotes)
{
    const char *sql = quotes ? merge_text(m, "RENAME COLUMN \"%w\" TO \"%w\"", from, to)
                             : merge_text(m, "RENAME COLUMN \"%w\" TO %s", from, to);
    return (merge_step){STEP_RENAME, from, to, sql};
}

static merge_step drop_step(merge *m, const char *name)
{
    return (merge_step){STEP_DROP, name, NULL, merge_text(m, "DROP COLUMN \"%w\"", name)};
}

/* How many names follow from i on that the other declaration lacks. */
static int count_lacking(const names *of, int i, const names *in)
{
    int n = 0;
    while (i + n < of->n && !has_name(in, of->name[i + n])) n++;
    return n;
}

/* Whether the k-th new column is the i-th old one. Of more old ones than new ones in one place the text
 * does not tell which were renamed: the one whose values are most alike. */
static bool is_renamed(merge *m, const change *of, int i, int k)
{
    int spare = count_lacking(&of->old, i, &of->new) - count_lacking(&of->new, k, &of->old);
    int64_t least = INT64_MAX;
    int best = i;
    for (int j = i; of->schema && spare > 0 && j <= i + spare; j++) {
        int64_t differ =
            merge_integer_of(m, merge_text(m, CLI_SQL_MERGE_COUNT_OTHER_VALUES, of->old.name[j],
                                           of->table, of->new.name[k], of->schema, of->table));
        if (differ < least) best = j;
        if (differ < least) least = differ;
    }
    return best == i;
}

/* Columns that are gone were renamed, if a new one stands in their place, or dropped. */
static void rename_and_drop(merge *m, merge_steps *steps, const change *of, bool renames,
                            bool quotes)
{
    const names *from = &of->old, *to = &of->new;
    int k = 0;
    for (int i = 0; i < from->n; i++) {
        bool stays = has_name(to, from->name[i]);
        bool renamed = !stays && renames && k < to->n && !has_name(from, to->name[k]) &&
                       is_renamed(m, of, i, k);
        if (renamed) add_step(m, steps, rename_step(m, from->name[i], to->name[k], quotes));
        if (!stays && !renamed) add_step(m, steps, drop_step(m, from->name[i]));
        k += stays || renamed;
    }
}

/* ---- added columns --------------------------------------------------------------------------------- */

/* Behind a word in quotes, brackets or a comment that begins here; else behind one character. */
static const char *skip_token(const char *s)
{
    char end = *s == '[' ? ']' : *s;
    if (strchr("'\"`[", *s)) {
        const char *found = strchr(s + 1, end);
        return found ? found + 1 : s + strlen(s);
    }
    if (s[0] == '-' && s[1] == '-') return s + strcspn(s, "\n");
    if (s[0] == '/' && s[1] == '*') {
        const char *found = strstr(s + 2, "*/");
        return found ? found + 2 : s + strlen(s);
    }
    return s + 1;
}

/* Behind the words of a column: where a comma stands that is in no brackets, or the end. */
static const char *end_of_column(const char *s)
{
    int depth = 0;
    while (*s && !(*s == ',' && depth == 0)) {
        depth += (*s == '(') - (*s == ')');
        s = skip_token(s);
    }
    return s;
}

/* What was put into a text to get another one, beginning with a comma; NULL if it was changed in
 * another way. */
static const char *put_in(merge *m, const char *from, const char *to)
{
    size_t n = strlen(from), longer = strlen(to), at = 0;
    if (longer <= n) return NULL;
    while (at < n && from[at] == to[at]) at++;
    size_t size = longer - n;
    if (strcmp(from + at, to + at + size) != 0) return NULL;
    while (at > 0 && to[at] != ',' && to[at - 1] == to[at + size - 1]) at--;
    return to[at] == ',' ? merge_text(m, "%.*s", (int)size - 1, to + at + 1) : NULL;
}

/* Whether a column was renamed so. */
static bool is_new_name(const merge_steps *steps, const char *name)
{
    for (int i = 0; i < steps->n; i++)
        if (steps->step[i].what == STEP_RENAME && strcmp(steps->step[i].to, name) == 0) return true;
    return false;
}

static void add_columns(merge *m, merge_steps *steps, const char *words, const names *from,
                        const names *to)
{
    int k = 0;
    for (const char *s = words; *s;) {
        const char *end = end_of_column(s);
        while (s < end && isspace((unsigned char)*s)) s++;
        while (k < to->n && (has_name(from, to->name[k]) || is_new_name(steps, to->name[k]))) k++;
        if (k == to->n) return;
        const char *column = merge_text(m, "%.*s", (int)(end - s), s);
        add_step(
            m, steps,
            (merge_step){STEP_ADD, to->name[k++], column, merge_text(m, "ADD COLUMN %s", column)});
        s = *end ? end + 1 : end;
    }
}

/* ---- both together --------------------------------------------------------------------------------- */

/* One way in which it may have come about; is_known if it leads there. */
static merge_steps attempt(merge *m, const change *of, bool renames, bool quotes)
{
    merge_steps steps = {0};
    rename_and_drop(m, &steps, of, renames, quotes);
    sqlite3 *db = open_with(of->from);
    bool is_played = db != NULL;
    for (int i = 0; is_played && i < steps.n; i++) is_played = play(db, of->table, &steps.step[i]);
    int played = steps.n;
    const char *words = is_played ? put_in(m, text_of(m, db, of->table), of->to) : NULL;
    if (words) add_columns(m, &steps, words, &of->old, &of->new);
    for (int i = played; is_played && i < steps.n; i++)
        is_played = play(db, of->table, &steps.step[i]);
    steps.is_known = is_played && strcmp(text_of(m, db, of->table), of->to) == 0;
    sqlite3_close(db);
    return steps;
}

merge_steps merge_explain(merge *m, const char *table, const char *from, const char *to,
                          const char *schema)
{
    merge_steps steps = {0};
    steps.is_known = strcmp(from, to) == 0;
    if (steps.is_known) return steps;
    sqlite3 *older = open_with(from), *newer = open_with(to);
    change of = {.table = table, .from = from, .to = to, .schema = schema};
    if (older) of.old = columns_of(m, older, table);
    if (newer) of.new = columns_of(m, newer, table);
    for (int way = 0; older && newer && way < 3 && !steps.is_known; way++)
        steps = attempt(m, &of, way < 2, way == 0);
    sqlite3_close(older);
    sqlite3_close(newer);
    return steps;
}
