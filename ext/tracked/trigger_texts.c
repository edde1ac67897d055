/* tracked/trigger_texts.c - the texts of the triggers that pass the changes of a tracked table on. */
#include "tracked/tracked.h"

#include <string.h>

/* Lists what the trigger on UPDATE of counters passes on beside the new values, the old ones; and
 * the columns whose assignment fires it. */
static void list_update(const ctr_tracked *tracked, sqlite3_str *passed, sqlite3_str *fires)
{
    for (int i = 0; i < tracked->shape->n_counters; i++) {
        const ctr_tracked_column *column = ctr_tracked_column_of(tracked, i);
        sqlite3_str_appendf(passed, ", \"_was_%w\"", ctr_shape_counter_name(tracked->shape, i));
        if (column)
            sqlite3_str_appendf(fires, "%s\"%w\"", ctr_text_separator(fires, ", "), column->name);
    }
}

/* OLD."sku" IS NEW."sku" AND ..., or IS NOT ... OR ... */
static void compare_columns(const ctr_tracked *tracked, sqlite3_str *out, bool keys, bool same)
{
    const ctr_shape *shape = tracked->shape;
    for (int i = 0, any = 0; i < (keys ? shape->n_keys : shape->n_counters); i++) {
        const ctr_tracked_column *column =
            keys ? ctr_tracked_key(tracked, i) : ctr_tracked_column_of(tracked, i);
        if (!column) continue;
        const char *word = !any++ ? "" : same ? " AND " : " OR ";
        sqlite3_str_appendf(out, "%sOLD.\"%w\" %s NEW.\"%w\"", word, column->name,
                            same ? "IS" : "IS NOT", column->name);
    }
}

/* ---- regular columns ------------------------------------------------------------------------- */

/* Appends counter_differs(NEW."a", OLD."a", ...) for the columns of one part of the mask. It
 * compares bytes and types: under the column's own collation and for SQL, 'jam' and 'Jam', or 1 and
 * 1.0, may be the same. */
static void compare_regular(const ctr_tracked_regular *columns, int n, sqlite3_str *out)
{
    sqlite3_str_appendall(out, "counter_differs(");
    for (int i = 0, bit = 0; i < n; i++) {
        for (; bit < columns[i].number % CTR_MASK_COLUMNS; bit++)
            sqlite3_str_appendall(out, "NULL, NULL, ");
        sqlite3_str_appendf(out, "NEW.\"%w\", OLD.\"%w\"%s", columns[i].column, columns[i].column,
                            i < n - 1 ? ", " : ")");
        bit++;
    }
}

/* Appends the masks of the changed columns, CTR_MASK_COLUMNS in each, with `word` between them. */
static void list_masks(const ctr_tracked_regular *columns, int n, const char *word,
                       sqlite3_str *out)
{
    int last = columns[n - 1].number / CTR_MASK_COLUMNS;
    for (int part = 0, i = 0; part <= last; part++) {
        int from = i;
        while (i < n && columns[i].number / CTR_MASK_COLUMNS == part) i++;
        if (part > 0) sqlite3_str_appendall(out, word);
        if (i == from) sqlite3_str_appendall(out, "0");
        if (i > from) compare_regular(columns + from, i - from, out);
    }
}

/* Lists what the trigger on UPDATE of regular columns fires for, when, and what it passes on. */
static void list_regular_columns(const ctr_tracked *tracked, sqlite3_str *fires, sqlite3_str *when,
                                 sqlite3_str *passed)
{
    int n = tracked->n_regular;
    for (int i = 0; i < n; i++)
        if (!tracked->regular[i].column) n = i; /* refused: see check_triggers */
    if (n == 0) return;
    for (int i = 0; i < n; i++)
        sqlite3_str_appendf(fires, "%s\"%w\"", i ? ", " : "", tracked->regular[i].column);
    compare_columns(tracked, when, true, true);
    sqlite3_str_appendall(when, " AND (");
    list_masks(tracked->regular, n, " OR ", when);
    sqlite3_str_appendall(when, ")");
    sqlite3_str_appendall(passed, ", ");
    list_masks(tracked->regular, n, "||','||", passed);
}

/* ---- the texts of the triggers --------------------------------------------------------------- */

/* The triggers; the name of each is that of the counter table, _ and the suffix. */
static const struct tracked_trigger {
    const char *suffix;
    ctr_sql text;
    bool replaces; /* it exists for UNIQUE indexes */
} TRIGGERS[] = {
    {"insert", CTR_SQL_TRACK_ON_INSERT, false},
    {"update", CTR_SQL_TRACK_ON_UPDATE, false},
    {"key", CTR_SQL_TRACK_ON_KEY, false},
    {"row", CTR_SQL_TRACK_ON_REGULAR, false},
    {"delete", CTR_SQL_TRACK_ON_DELETE, false},
    {"before_insert", CTR_SQL_TRACK_ON_REPLACE_BY_INSERT, true},
    {"before_update", CTR_SQL_TRACK_ON_REPLACE_BY_UPDATE, true},
    {"replaced", CTR_SQL_TRACK_ON_REPLACED, true},
};
_Static_assert(sizeof TRIGGERS / sizeof *TRIGGERS == CTR_N_TRIGGERS, "each trigger has a text");

typedef struct trigger_lists {
    char *columns, *values, *changes, *order, *constraint;
    const char *what; /* of a row that may go; borrowed */
} trigger_lists;

/* "k" IS NEW."k" AND ..., or the same with OLD. */
static void match_key(const ctr_tracked *tracked, bool old, sqlite3_str *out, ctr_problem *problem)
{
    for (int i = 0; i < tracked->shape->n_keys; i++) {
        const char *name = ctr_tracked_key(tracked, i)->name;
        sqlite3_str_appendf(out, "%s\"%w\" IS ", i ? " AND " : "", name);
        if (old)
            sqlite3_str_appendf(out, "OLD.\"%w\"", name);
        else
            ctr_constraints_append_new(out, tracked, name, problem);
    }
}

/* Appends ") AND NOT (the row has the key of the new or the old row)". In a BEFORE INSERT, NEW has
 * -1 for a rowid that SQLite has yet to choose. */
static void exclude_keys(const ctr_tracked *tracked, bool updates, sqlite3_str *out,
                         ctr_problem *problem)
{
    const ctr_column *key = &tracked->shape->columns[tracked->shape->keys[0]];
    sqlite3_str_appendall(out, ") AND NOT (");
    match_key(tracked, false, out, problem);
    if (!updates && tracked->shape->n_keys == 1 && sqlite3_stricmp(key->type, "INTEGER") == 0)
        sqlite3_str_appendf(out, " AND NEW.\"%w\" IS NOT -1", ctr_tracked_key(tracked, 0)->name);
    if (updates) sqlite3_str_appendall(out, ") AND NOT (");
    if (updates) match_key(tracked, true, out, problem);
    sqlite3_str_appendall(out, ")");
}

/* Lists the rows with another key that OR REPLACE removes: one INSERT for each UNIQUE index. SQLite
 * 3.40 to 3.49 finds not all rows of "u" = 'x' COLLATE a OR "u" = 'x' COLLATE b. The other triggers
 * report rows with the same key. `columns`, `what` and `values` are those of each INSERT. */
static void list_replaced(const ctr_tracked *tracked, ctr_sql trigger, const char *columns,
                          const char *what, const char *values, sqlite3_str *order,
                          sqlite3_str *constraint, ctr_problem *problem)
{
    bool updates = trigger == CTR_SQL_TRACK_ON_REPLACE_BY_UPDATE;
    bool inserts = trigger == CTR_SQL_TRACK_ON_REPLACE_BY_INSERT;
    sqlite3_str *out = sqlite3_str_new(NULL);
    exclude_keys(tracked, updates, out, problem);
    char *own_keys = ctr_text_finish(out, problem);
    char *between =
        own_keys
            ? sqlite3_mprintf("%s; INSERT INTO \"%w\"(_event, %s) SELECT '%s', %s FROM \"%w\" "
                              "WHERE (",
                              own_keys, tracked->counters, columns, what, values, tracked->table)
            : NULL;
    if (!between) ctr_problem_nomem(problem);
    ctr_unique rows = {.match = sqlite3_str_new(NULL),
                       .between = between,
                       .names = sqlite3_str_new(NULL),
                       .stored = sqlite3_str_new(NULL)};
    if (between) ctr_constraints_list_unique(&rows, tracked, problem);
    char *match = ctr_text_finish(rows.match, problem),
         *names = ctr_text_finish(rows.names, problem),
         *stored = ctr_text_finish(rows.stored, problem);
    if (!inserts && names && !rows.any_column) sqlite3_str_appendf(order, "OF %s", names);
    if (inserts && rows.rowid_alone) /* most statements give no row id: NEW has -1 */
        sqlite3_str_appendf(order, "WHEN NEW.\"%w\" IS NOT -1", rows.rowid_alone);
    if (match && *match) {
        /* In a trigger that reads a table named NEW, NEW."sku" is a column of that table. */
        const char *table = tracked->table;
        if (sqlite3_stricmp(table, "NEW") == 0 || sqlite3_stricmp(table, "OLD") == 0)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "%s: a tracked table with a UNIQUE index must not be named NEW or OLD, "
                            "which mean rows in its triggers: rename the table",
                            table);
        sqlite3_str_appendf(constraint, "(%s%s", match, own_keys);
        /* SQLite computes a generated NEW column of an UPDATE from those that the trigger names. */
        if (updates && rows.any_generated)
            sqlite3_str_appendf(constraint, " AND (%s1)", stored ? stored : "");
    }
    sqlite3_free(stored);
    sqlite3_free(match);
    sqlite3_free(names);
    sqlite3_free(between);
    sqlite3_free(own_keys);
}

static char *text_with(const ctr_tracked *tracked, const struct tracked_trigger *trigger,
                       const trigger_lists *lists, ctr_problem *problem)
{
    bool updates =
        trigger->text == CTR_SQL_TRACK_ON_UPDATE || trigger->text == CTR_SQL_TRACK_ON_REGULAR;
    if (problem->rc != SQLITE_OK || (trigger->replaces && !*lists->constraint)) return NULL;
    if (updates && !*lists->order) return NULL; /* there is no such column */
    ctr_slots slots = {.schema = tracked->schema,
                       .table = tracked->counters,
                       .name = tracked->table,
                       .columns = lists->columns,
                       .values = lists->values,
                       .changes = lists->changes,
                       .order = lists->order,
                       .constraint = lists->constraint,
                       .value = lists->what};
    char *text = problem->rc == SQLITE_OK ? ctr_run_sql(trigger->text, &slots) : NULL;
    if (!text) ctr_problem_nomem(problem);
    return text;
}

/* The same lists while they grow. */
typedef struct growing_lists {
    sqlite3_str *columns, *values, *changes, *order, *constraint;
    const char *what;
} growing_lists;

static void fill_lists(const ctr_tracked *tracked, const struct tracked_trigger *trigger,
                       const growing_lists *to, ctr_problem *problem)
{
    bool keys_only = trigger->replaces || trigger->text == CTR_SQL_TRACK_ON_REGULAR;
    ctr_list_own_names(tracked, to->columns, !keys_only);
    if (trigger->replaces) {
        ctr_list_keys(tracked, to->values, "");
        list_replaced(tracked, trigger->text, sqlite3_str_value(to->columns), to->what,
                      sqlite3_str_value(to->values), to->order, to->constraint, problem);
        return;
    }
    if (trigger->text == CTR_SQL_TRACK_ON_REGULAR) {
        ctr_list_keys(tracked, to->values, "NEW.");
        list_regular_columns(tracked, to->order, to->constraint, to->values);
        return;
    }
    ctr_list_row(tracked, to->values, "NEW.");
    ctr_list_row(tracked, to->changes, "OLD.");
    if (trigger->text == CTR_SQL_TRACK_ON_UPDATE) {
        list_update(tracked, to->columns, to->order);
        ctr_list_values(tracked, to->values, "OLD.");
        compare_columns(tracked, to->constraint, true, true);
        sqlite3_str_appendall(to->constraint, " AND (");
        compare_columns(tracked, to->constraint, false, false);
        sqlite3_str_appendall(to->constraint, ")");
    } else if (trigger->text == CTR_SQL_TRACK_ON_KEY) {
        ctr_list_keys(tracked, to->order, "");
        sqlite3_str_appendall(to->order, ", rowid, oid, _rowid_"); /* an INTEGER PRIMARY KEY */
        compare_columns(tracked, to->constraint, true, false);
    }
}

const char *ctr_trigger_texts_suffix(int trigger)
{
    return TRIGGERS[trigger].suffix;
}

char *ctr_trigger_texts_get(const ctr_tracked *tracked, int nth, ctr_problem *problem)
{
    const struct tracked_trigger *trigger = &TRIGGERS[nth];
    const growing_lists to = {.columns = sqlite3_str_new(NULL),
                              .values = sqlite3_str_new(NULL),
                              .changes = sqlite3_str_new(NULL),
                              .order = sqlite3_str_new(NULL),
                              .constraint = sqlite3_str_new(NULL),
                              .what = tracked->replaces ? "may go anyway" : "may go"};
    fill_lists(tracked, trigger, &to, problem);
    trigger_lists lists = {.columns = ctr_text_finish(to.columns, problem),
                           .values = ctr_text_finish(to.values, problem),
                           .changes = ctr_text_finish(to.changes, problem),
                           .order = ctr_text_finish(to.order, problem),
                           .constraint = ctr_text_finish(to.constraint, problem),
                           .what = to.what};
    char *text = text_with(tracked, trigger, &lists, problem);
    sqlite3_free(lists.columns);
    sqlite3_free(lists.values);
    sqlite3_free(lists.changes);
    sqlite3_free(lists.order);
    sqlite3_free(lists.constraint);
    return text;
}
