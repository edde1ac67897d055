/* store/tracked.c - the triggers of a tracked table: written, read, compared. */
#include "store/tracked.h"

#include <stddef.h>
#include <string.h>

#include "store/run.h"
#include "store/text.h"

/* ---- lists for the statements ---------------------------------------------------------------- */

static const ctr_tracked_column *tracked_key(const ctr_tracked *tracked, int key)
{
    return &tracked->columns[tracked->shape->keys[key]];
}

const ctr_tracked_column *ctr_tracked_column_of(const ctr_tracked *tracked, int counter)
{
    const ctr_tracked_column *column = &tracked->columns[tracked->shape->counters[counter]];
    return column->name ? column : NULL;
}

static char mark_of_column(const ctr_tracked *tracked, int counter)
{
    const ctr_tracked_column *column = ctr_tracked_column_of(tracked, counter);
    return !column ? '0' : column->adopted ? '2' : '1';
}

static bool lacks_column(const ctr_tracked *tracked)
{
    for (int i = 0; i < tracked->shape->n_counters; i++)
        if (mark_of_column(tracked, i) != '1') return true;
    return false;
}

static const char *separator(sqlite3_str *out, const char *word)
{
    return sqlite3_str_length(out) > 0 ? word : "";
}

/* The key columns, then the counters, as the counter table names them. */
static void list_own_names(const ctr_tracked *tracked, sqlite3_str *out, bool counters)
{
    const ctr_shape *shape = tracked->shape;
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s\"%w\"", separator(out, ", "),
                            shape->columns[shape->keys[i]].name);
    for (int i = 0; counters && i < shape->n_counters; i++)
        sqlite3_str_appendf(out, ", \"%w\"", ctr_shape_counter_name(shape, i));
    if (counters && lacks_column(tracked)) sqlite3_str_appendall(out, ", request_id");
}

/* The same as the table names them, with a prefix such as NEW. */
static void list_keys(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix)
{
    for (int i = 0; i < tracked->shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s%s\"%w\"", separator(out, ", "), prefix,
                            tracked_key(tracked, i)->name);
}

/* '102': the second counter has no column, the third was adopted; nothing if each has one. */
static void list_lacking(const ctr_tracked *tracked, sqlite3_str *out)
{
    if (!lacks_column(tracked)) return;
    sqlite3_str_appendall(out, ", '");
    for (int i = 0; i < tracked->shape->n_counters; i++)
        sqlite3_str_appendchar(out, 1, mark_of_column(tracked, i));
    sqlite3_str_appendall(out, "'");
}

/* One value for each counter; NULL for one without a column. */
static void list_counter_values(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix)
{
    for (int i = 0; i < tracked->shape->n_counters; i++) {
        const ctr_tracked_column *column = ctr_tracked_column_of(tracked, i);
        if (column)
            sqlite3_str_appendf(out, ", %s\"%w\"", prefix, column->name);
        else
            sqlite3_str_appendall(out, ", NULL");
    }
}

static void list_counters(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix)
{
    for (int i = 0; i < tracked->shape->n_counters; i++) {
        const ctr_tracked_column *column = ctr_tracked_column_of(tracked, i);
        if (column)
            sqlite3_str_appendf(out, "%s%s\"%w\"", separator(out, ", "), prefix, column->name);
    }
}

/* OLD."sku" IS NEW."sku" AND ..., or IS NOT ... OR ... */
static void compare_columns(const ctr_tracked *tracked, sqlite3_str *out, bool keys, bool same)
{
    const ctr_shape *shape = tracked->shape;
    for (int i = 0, any = 0; i < (keys ? shape->n_keys : shape->n_counters); i++) {
        const ctr_tracked_column *column =
            keys ? tracked_key(tracked, i) : ctr_tracked_column_of(tracked, i);
        if (!column) continue;
        const char *word = !any++ ? "" : same ? " AND " : " OR ";
        sqlite3_str_appendf(out, "%sOLD.\"%w\" %s NEW.\"%w\"", word, column->name,
                            same ? "IS" : "IS NOT", column->name);
    }
}

char *ctr_tracked_counter_list(const ctr_tracked *tracked)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    list_own_names(tracked, out, true);
    return sqlite3_str_finish(out);
}

char *ctr_tracked_column_list(const ctr_tracked *tracked)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    list_keys(tracked, out, "");
    list_counter_values(tracked, out, "");
    list_lacking(tracked, out);
    return sqlite3_str_finish(out);
}

char *ctr_tracked_key_match(const ctr_tracked *tracked)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    const ctr_shape *shape = tracked->shape;
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, "%sc.\"%w\" = t.\"%w\"", i ? " AND " : "",
                            shape->columns[shape->keys[i]].name, tracked_key(tracked, i)->name);
    return sqlite3_str_finish(out);
}

/* ---- UNIQUE indexes beside the key ----------------------------------------------------------- */

/* What UNIQUE indexes say of rows that a REPLACE removes. */
typedef struct unique_rows {
    sqlite3_str *match; /* "code" = NEW."code" AND ... OR ... */
    sqlite3_str *names; /* of the columns that can make a row equal to another */
    bool any_column;    /* others can, too, for there are expressions or conditions */
} unique_rows;

/* Behind a name or a text in quotes, or a comment; NULL: there is none at `at`. */
static const char *behind_token(const char *at)
{
    if (at[0] == '-' && at[1] == '-') return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    char quote = *at == '[' ? ']' : *at;
    if (!*at || !strchr("\"'`]", quote)) return NULL;
    for (at++; *at; at++) {
        if (*at != quote) continue;
        if (at[1] != quote || quote == ']') return at + 1;
        at++;
    }
    return at;
}

/* Without ASC or DESC. */
static char *copy_term(const char *from, const char *to)
{
    static const char *const ORDERS[] = {"ASC", "DESC"};
    while (to > from && strchr(" \t\r\n", to[-1])) to--;
    for (size_t i = 0; i < 2; i++) {
        const size_t n = strlen(ORDERS[i]);
        if ((size_t)(to - from) > n && sqlite3_strnicmp(to - n, ORDERS[i], (int)n) == 0 &&
            strchr(" \t\r\n)", to[-(ptrdiff_t)n - 1]))
            to -= n;
    }
    return sqlite3_mprintf("%.*s", (int)(to - from), from);
}

/* The text of term `n` of an index, in its CREATE INDEX: within the first parentheses. */
static char *term_of(const char *sql, int n)
{
    const char *from = NULL;
    int depth = 0, term = 0;
    for (const char *at = sql; *at; at++) {
        const char *behind = behind_token(at);
        if (behind) {
            at = behind - 1;
            continue;
        }
        if (*at == '(' && depth++ == 0) from = at + 1;
        bool ends = depth == 1 && (*at == ',' || *at == ')');
        if (*at == ')') depth--;
        if (!ends) continue;
        if (term++ == n) return copy_term(from, at);
        if (depth == 0) return NULL;
        from = at + 1;
    }
    return NULL;
}

/* Does a text name a column, perhaps? */
static bool mentions(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (; *text; text++)
        if (sqlite3_strnicmp(text, word, (int)n) == 0) return true;
    return false;
}

/* NEW's columns by their own names, as far as an expression names them: what it means for the new
 * row. */
static void list_new_row(const ctr_tracked *tracked, const char *term, sqlite3_str *out,
                         ctr_problem *problem)
{
    int n = 0;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    run.slots.name = tracked->table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&run, row)) {
        const char *name = ctr_text_column(row, 1, problem);
        if (name && mentions(term, name))
            sqlite3_str_appendf(out, "%sNEW.\"%w\" AS \"%w\"", n++ ? ", " : "", name, name);
    }
    sqlite3_finalize(row);
}

/* (expression) = (SELECT expression FROM (SELECT NEW."a" AS "a", ...)) */
static void match_expression(const ctr_tracked *tracked, const char *index, int n, sqlite3_str *out,
                             ctr_problem *problem)
{
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_INDEX);
    ctr_run_bind_text(&run, row, 1, index);
    const char *sql = ctr_run_row(&run, row) ? ctr_text_column(row, 0, problem) : NULL;
    char *term = sql ? term_of(sql, n) : NULL;
    if (sql && !term) ctr_problem_nomem(problem);
    if (term) {
        sqlite3_str_appendf(out, "(%s) = (SELECT %s FROM (SELECT ", term, term);
        list_new_row(tracked, term, out, problem);
        sqlite3_str_appendall(out, "))");
    } else {
        sqlite3_str_appendall(out, "1");
    }
    sqlite3_free(term);
    sqlite3_finalize(row);
}

static void add_index(const ctr_tracked *tracked, const char *index, unique_rows *rows,
                      ctr_problem *problem)
{
    int n = 0;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    run.slots.name = index;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_INDEX_COLUMNS);
    while (ctr_run_row(&run, row)) {
        const char *name = ctr_text_column(row, 2, problem),
                   *collation = ctr_text_column(row, 4, problem);
        if (!sqlite3_column_int(row, 5)) continue;
        sqlite3_str_appendall(rows->match, n ? " AND " : separator(rows->match, " OR "));
        if (name) {
            sqlite3_str_appendf(rows->match, "\"%w\" = NEW.\"%w\" COLLATE \"%w\"", name, name,
                                collation ? collation : "BINARY");
            sqlite3_str_appendf(rows->names, "%s\"%w\"", separator(rows->names, ", "), name);
        } else {
            match_expression(tracked, index, n, rows->match, problem);
            rows->any_column = true;
        }
        n++;
    }
    sqlite3_finalize(row);
}

static bool has_generated(const ctr_tracked *tracked, ctr_problem *problem)
{
    bool has = false;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    run.slots.name = tracked->table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&run, row)) has = has || sqlite3_column_int(row, 6) != 0;
    sqlite3_finalize(row);
    return has;
}

static void list_unique(const ctr_tracked *tracked, unique_rows *rows, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    run.slots.name = tracked->table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_INDEXES);
    while (ctr_run_row(&run, row)) {
        const char *index = ctr_text_column(row, 1, problem);
        const char *origin = ctr_text_column(row, 3, problem);
        bool is_key = origin && strcmp(origin, "pk") == 0;
        if (!index || !sqlite3_column_int(row, 2) || is_key) continue;
        rows->any_column = rows->any_column || sqlite3_column_int(row, 4);
        add_index(tracked, index, rows, problem);
    }
    sqlite3_finalize(row);
    rows->any_column = rows->any_column || has_generated(tracked, problem);
}

/* ---- the texts of the triggers --------------------------------------------------------------- */

/* The triggers, by what follows the name of the counter table. */
static const struct tracked_trigger {
    const char *suffix;
    ctr_sql text;
    bool replaces; /* it is there for UNIQUE indexes */
} TRIGGERS[] = {
    {"insert", CTR_SQL_TRACK_ON_INSERT, false},
    {"update", CTR_SQL_TRACK_ON_UPDATE, false},
    {"key", CTR_SQL_TRACK_ON_KEY, false},
    {"delete", CTR_SQL_TRACK_ON_DELETE, false},
    {"before_insert", CTR_SQL_TRACK_ON_REPLACE_BY_INSERT, true},
    {"before_update", CTR_SQL_TRACK_ON_REPLACE_BY_UPDATE, true},
    {"replaced", CTR_SQL_TRACK_ON_REPLACED, true},
};
enum { N_TRIGGERS = sizeof TRIGGERS / sizeof *TRIGGERS };

typedef struct trigger_lists {
    char *columns, *values, *changes, *order, *constraint;
} trigger_lists;

/* Columns whose assignment fires: an INTEGER PRIMARY KEY has other names, too. */
static void list_order(const ctr_tracked *tracked, ctr_sql which, sqlite3_str *out)
{
    if (which == CTR_SQL_TRACK_ON_UPDATE) list_counters(tracked, out, "");
    if (which != CTR_SQL_TRACK_ON_KEY) return;
    list_keys(tracked, out, "");
    sqlite3_str_appendall(out, ", rowid, oid, _rowid_");
}

static void list_constraint(const ctr_tracked *tracked, ctr_sql which, sqlite3_str *out)
{
    if (which == CTR_SQL_TRACK_ON_KEY) compare_columns(tracked, out, true, false);
    if (which != CTR_SQL_TRACK_ON_UPDATE) return;
    compare_columns(tracked, out, true, true);
    sqlite3_str_appendall(out, " AND (");
    compare_columns(tracked, out, false, false);
    sqlite3_str_appendall(out, ")");
}

static void list_values(const ctr_tracked *tracked, ctr_sql which, sqlite3_str *out,
                        const char *prefix)
{
    list_keys(tracked, out, prefix);
    list_counter_values(tracked, out, prefix);
    list_lacking(tracked, out);
    if (which == CTR_SQL_TRACK_ON_UPDATE) list_counter_values(tracked, out, "OLD.");
}

/* An UPDATE hands over the old values, too. */
static void list_columns(const ctr_tracked *tracked, ctr_sql which, sqlite3_str *out)
{
    list_own_names(tracked, out, true);
    for (int i = 0; which == CTR_SQL_TRACK_ON_UPDATE && i < tracked->shape->n_counters; i++)
        sqlite3_str_appendf(out, ", \"_was_%w\"", ctr_shape_counter_name(tracked->shape, i));
}

bool ctr_tracked_says(const ctr_tracked *tracked, const char *word, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_TABLE);
    ctr_run_bind_text(&run, row, 1, tracked->table);
    const char *text = ctr_run_row(&run, row) ? ctr_text_column(row, 2, problem) : NULL;
    bool says = text && mentions(text, word);
    sqlite3_finalize(row);
    return says;
}

/* The text, to be freed with sqlite3_free: "" if it is empty, NULL and a problem if there was no
 * memory for all of it. */
static char *finish_list(sqlite3_str *list, ctr_problem *problem)
{
    bool whole = sqlite3_str_errcode(list) == SQLITE_OK;
    char *text = sqlite3_str_finish(list);
    if (whole && !text) text = sqlite3_mprintf("");
    if (whole && text) return text;
    ctr_problem_nomem(problem);
    sqlite3_free(text);
    return NULL;
}

static void list_replaced(const ctr_tracked *tracked, sqlite3_str *order, sqlite3_str *match,
                          ctr_problem *problem)
{
    unique_rows rows = {match, sqlite3_str_new(NULL), false};
    list_unique(tracked, &rows, problem);
    char *names = finish_list(rows.names, problem);
    if (names && !rows.any_column) sqlite3_str_appendf(order, "OF %s", names);
    sqlite3_free(names);
}

static char *text_with(const ctr_tracked *tracked, const struct tracked_trigger *trigger,
                       const trigger_lists *lists, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || (trigger->replaces && !*lists->constraint)) return NULL;
    bool anyway = ctr_tracked_says(tracked, "REPLACE", problem);
    ctr_slots slots = {.schema = tracked->schema,
                       .table = tracked->counters,
                       .name = tracked->table,
                       .columns = lists->columns,
                       .values = lists->values,
                       .changes = lists->changes,
                       .order = lists->order,
                       .constraint = lists->constraint,
                       .value = anyway ? " anyway" : ""};
    char *text = problem->rc == SQLITE_OK ? ctr_sql_text(trigger->text, &slots) : NULL;
    if (!text) ctr_problem_nomem(problem);
    return text;
}

/* The text of a trigger, to be freed with sqlite3_free; NULL: the table needs none such, or there
 * is a problem. */
static char *trigger_text(const ctr_tracked *tracked, const struct tracked_trigger *trigger,
                          ctr_problem *problem)
{
    sqlite3_str *columns = sqlite3_str_new(NULL), *values = sqlite3_str_new(NULL),
                *changes = sqlite3_str_new(NULL), *order = sqlite3_str_new(NULL),
                *constraint = sqlite3_str_new(NULL);
    if (trigger->replaces) {
        list_own_names(tracked, columns, false);
        list_keys(tracked, values, "");
        list_replaced(tracked, order, constraint, problem);
    } else {
        list_columns(tracked, trigger->text, columns);
        list_values(tracked, trigger->text, values, "NEW.");
        list_values(tracked, CTR_SQL_TRACK_ON_DELETE, changes, "OLD.");
        list_order(tracked, trigger->text, order);
        list_constraint(tracked, trigger->text, constraint);
    }
    trigger_lists lists = {finish_list(columns, problem), finish_list(values, problem),
                           finish_list(changes, problem), finish_list(order, problem),
                           finish_list(constraint, problem)};
    char *text = text_with(tracked, trigger, &lists, problem);
    sqlite3_free(lists.columns);
    sqlite3_free(lists.values);
    sqlite3_free(lists.changes);
    sqlite3_free(lists.order);
    sqlite3_free(lists.constraint);
    return text;
}

/* ---- the triggers in the file ---------------------------------------------------------------- */

/* A trigger of the file: the table it is on, and its text; both NULL if there is none. */
typedef struct stored_trigger {
    char *table, *text; /* owned */
} stored_trigger;

static stored_trigger read_trigger(ctr_run *run, const char *counters, const char *suffix)
{
    stored_trigger stored = {NULL, NULL};
    char *name = sqlite3_mprintf("%s_%s", counters, suffix);
    if (!name) ctr_problem_nomem(run->problem);
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_TRACK_TRIGGERS);
    ctr_run_bind_text(run, row, 1, name);
    if (ctr_run_row(run, row)) {
        const char *table = ctr_text_column(row, 1, run->problem);
        const char *text = ctr_text_column(row, 2, run->problem);
        stored = (stored_trigger){sqlite3_mprintf("%s", table ? table : ""),
                                  sqlite3_mprintf("%s", text ? text : "")};
        if (!stored.table || !stored.text) ctr_problem_nomem(run->problem);
    }
    sqlite3_finalize(row);
    sqlite3_free(name);
    return stored;
}

static void free_trigger(stored_trigger *stored)
{
    sqlite3_free(stored->table);
    sqlite3_free(stored->text);
}

char *ctr_tracked_table(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    char *table = NULL;
    for (int i = 0; i < N_TRIGGERS && !table; i++) {
        stored_trigger stored = read_trigger(&run, counters, TRIGGERS[i].suffix);
        table = stored.table;
        sqlite3_free(stored.text);
    }
    return table;
}

char *ctr_tracked_noted(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem)
{
    char *table = NULL;
    ctr_run run = ctr_run_on(db, schema, counters, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_NOTED_TABLE);
    if (ctr_run_row(&run, row)) {
        const char *name = ctr_text_column(row, 0, problem);
        table = name ? sqlite3_mprintf("%s", name) : NULL;
        if (name && !table) ctr_problem_nomem(problem);
    }
    sqlite3_finalize(row);
    return table;
}

void ctr_tracked_note(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem)
{
    char *now = ctr_tracked_table(db, schema, counters, problem),
         *noted = ctr_tracked_noted(db, schema, counters, problem);
    ctr_run run = ctr_run_on(db, schema, counters, problem);
    if (now && (!noted || strcmp(now, noted) != 0)) ctr_run_do(&run, CTR_SQL_TRACK_NOTE_TABLE, now);
    sqlite3_free(now);
    sqlite3_free(noted);
}

/* SQLite stores a text without the schema. */
static bool is_trigger_text(const ctr_tracked *tracked, const char *wanted, const char *stored,
                            ctr_problem *problem)
{
    static const char CREATE[] = "CREATE TRIGGER ";
    const size_t n = sizeof CREATE - 1;
    char *schema = sqlite3_mprintf("\"%w\".", tracked->schema);
    if (!schema) {
        ctr_problem_nomem(problem);
        return false;
    }
    bool same =
        strncmp(stored, CREATE, n) == 0 && strcmp(stored + n, wanted + n + strlen(schema)) == 0;
    sqlite3_free(schema);
    return same;
}

static int refuse_broken(const ctr_tracked *tracked, const char *trigger, ctr_problem *problem)
{
    return ctr_problem_set(
        problem, SQLITE_ERROR,
        "the trigger %s_%s of the tracked table %s is not as counter_track makes "
        "it, so that changes may not have been counted: call counter_track('%s', "
        "...) again, which counts them",
        tracked->counters, trigger, tracked->table, tracked->table);
}

static int check_triggers(const ctr_tracked *tracked, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    for (int i = 0; i < N_TRIGGERS && problem->rc == SQLITE_OK; i++) {
        char *wanted = trigger_text(tracked, &TRIGGERS[i], problem);
        stored_trigger stored = read_trigger(&run, tracked->counters, TRIGGERS[i].suffix);
        bool is = wanted && stored.text ? is_trigger_text(tracked, wanted, stored.text, problem)
                                        : !wanted && !stored.text;
        if (!is && problem->rc == SQLITE_OK) refuse_broken(tracked, TRIGGERS[i].suffix, problem);
        sqlite3_free(wanted);
        free_trigger(&stored);
    }
    return problem->rc;
}

void ctr_tracked_drop_triggers(sqlite3 *db, const char *schema, const char *counters,
                               ctr_problem *problem)
{
    for (int i = 0; i < N_TRIGGERS; i++) {
        char *name = sqlite3_mprintf("%s_%s", counters, TRIGGERS[i].suffix);
        if (!name) ctr_problem_nomem(problem);
        ctr_run run = ctr_run_on(db, schema, counters, problem);
        run.slots.name = name;
        ctr_run_do(&run, CTR_SQL_TRACK_DROP_TRIGGER, NULL);
        sqlite3_free(name);
    }
}

void ctr_tracked_create_triggers(const ctr_tracked *tracked, ctr_problem *problem)
{
    ctr_tracked_drop_triggers(tracked->db, tracked->schema, tracked->counters, problem);
    for (int i = 0; i < N_TRIGGERS && problem->rc == SQLITE_OK; i++) {
        char *text = trigger_text(tracked, &TRIGGERS[i], problem);
        if (text)
            ctr_problem_sqlite(problem, tracked->db,
                               sqlite3_exec(tracked->db, text, NULL, NULL, NULL));
        sqlite3_free(text);
    }
}

/* ---- what they say --------------------------------------------------------------------------- */

/* Reads a name in double quotes, to be freed; moves behind it. NULL: there is none, or a
 * problem. */
static char *take_name(const char **at, ctr_problem *problem)
{
    const char *from = *at;
    if (*from != '"') return NULL;
    const char *end = from + 1;
    while (*end && (*end != '"' || end[1] == '"')) end += *end == '"' ? 2 : 1;
    if (!*end) return NULL;
    char *name = sqlite3_malloc64((size_t)(end - from));
    if (!name) ctr_problem_nomem(problem);
    if (!name) return NULL;
    char *out = name;
    for (const char *c = from + 1; c < end; c++) {
        *out++ = *c;
        if (*c == '"') c++;
    }
    *out = '\0';
    *at = end + 1;
    return name;
}

static int column_named(const ctr_shape *shape, const char *name)
{
    for (int i = 0; name && i < shape->n_columns; i++)
        if (sqlite3_stricmp(shape->columns[i].name, name) == 0) return i;
    return -1;
}

static bool take_words(const char **at, const char *words)
{
    size_t n = strlen(words);
    if (strncmp(*at, words, n) != 0) return false;
    *at += n;
    return true;
}

/* Passes over words and a name. */
static bool pass_name(const char **at, const char *words, ctr_problem *problem)
{
    if (!take_words(at, words)) return false;
    char *name = take_name(at, problem);
    sqlite3_free(name);
    return name != NULL;
}

/* One column: its counter or key column, and how the table names it. False: there is none. */
static bool take_pair(ctr_tracked *tracked, const char **own, const char **theirs,
                      ctr_problem *problem)
{
    if (!take_words(own, ", ") || !take_words(theirs, ", ")) return false;
    char *name = take_name(own, problem);
    bool none = take_words(theirs, "NULL");
    char *column = !none && take_words(theirs, "NEW.") ? take_name(theirs, problem) : NULL;
    int i = column_named(tracked->shape, name);
    if (i >= 0 && !tracked->columns[i].name)
        tracked->columns[i].name = column;
    else
        sqlite3_free(column);
    sqlite3_free(name);
    return i >= 0 && (none || column);
}

/* From the trigger on INSERT,
 *
 *     CREATE TRIGGER "products_counters_insert" AFTER INSERT ON "products" BEGIN
 *     INSERT INTO "products_counters"("products_counters", "sku", "stock")
 *     VALUES ('row inserted', NEW."sku", NEW."stock")
 *
 * What it does not say stays NULL; the comparison of the texts finds it. */
static void read_names(ctr_tracked *tracked, const char *text, ctr_problem *problem)
{
    const char *own = text;
    if (!pass_name(&own, "CREATE TRIGGER ", problem) ||
        !pass_name(&own, " AFTER INSERT ON ", problem) ||
        !pass_name(&own, " BEGIN\nINSERT INTO ", problem) || !pass_name(&own, "(", problem))
        return;
    const char *theirs = own;
    while (take_words(&theirs, ", "))
        if (!take_words(&theirs, "request_id")) sqlite3_free(take_name(&theirs, problem));
    if (!take_words(&theirs, ") VALUES ('row inserted'")) return;
    while (take_pair(tracked, &own, &theirs, problem)) {
    }
}

/* Looks each column up in the table; one that is not there loses its name. */
static void read_columns(ctr_tracked *tracked, bool *there, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    run.slots.name = tracked->table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&run, row)) {
        const char *name = ctr_text_column(row, 1, problem);
        for (int i = 0; name && i < tracked->shape->n_columns; i++) {
            ctr_tracked_column *column = &tracked->columns[i];
            if (!column->name || sqlite3_stricmp(column->name, name) != 0) continue;
            there[i] = true;
            column->blank = (ctr_shown){.null = !sqlite3_column_int(row, 3)};
        }
    }
    sqlite3_finalize(row);
}

static void look_up_columns(ctr_tracked *tracked, ctr_problem *problem)
{
    bool *there = sqlite3_malloc64((size_t)tracked->shape->n_columns + 1);
    if (!there) {
        ctr_problem_nomem(problem);
        return;
    }
    memset(there, 0, (size_t)tracked->shape->n_columns + 1);
    read_columns(tracked, there, problem);
    for (int i = 0; i < tracked->shape->n_columns; i++) {
        if (there[i]) continue;
        sqlite3_free(tracked->columns[i].name);
        tracked->columns[i].name = NULL;
    }
    sqlite3_free(there);
}

/* ---- the whole ------------------------------------------------------------------------------- */

bool ctr_tracked_is(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem)
{
    char *apart = sqlite3_mprintf("%s_apart", counters);
    if (!apart) ctr_problem_nomem(problem);
    bool is = problem->rc == SQLITE_OK && ctr_shape_is_table(db, schema, apart, problem);
    sqlite3_free(apart);
    return is;
}

bool ctr_tracked_has_apart(sqlite3 *db, const char *schema, const char *counters,
                           ctr_problem *problem)
{
    if (!ctr_tracked_is(db, schema, counters, problem)) return false;
    ctr_run run = ctr_run_on(db, schema, counters, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_COUNT_APART);
    bool has = ctr_run_row(&run, row) && sqlite3_column_int64(row, 0) > 0;
    sqlite3_finalize(row);
    return has;
}

/* `table` NULL: the one that the triggers are on. */
static int open_tracked(ctr_tracked *tracked, sqlite3 *db, const char *schema, const char *counters,
                        const char *table, const ctr_shape *shape, ctr_problem *problem)
{
    size_t size = ((size_t)shape->n_columns + 1) * sizeof *tracked->columns;
    *tracked = (ctr_tracked){.db = db,
                             .schema = sqlite3_mprintf("%s", schema),
                             .counters = sqlite3_mprintf("%s", counters),
                             .shape = shape,
                             .columns = sqlite3_malloc64(size)};
    if (tracked->columns) memset(tracked->columns, 0, size);
    if (!tracked->schema || !tracked->counters || !tracked->columns)
        return ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    stored_trigger stored = read_trigger(&run, counters, "insert");
    if (stored.text) read_names(tracked, stored.text, problem);
    if (table || stored.table) {
        tracked->table = sqlite3_mprintf("%s", table ? table : stored.table);
        if (!tracked->table) ctr_problem_nomem(problem);
    }
    free_trigger(&stored);
    return problem->rc;
}

static int refuse_lost(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem)
{
    char *noted = ctr_tracked_noted(db, schema, counters, problem);
    const char *table = noted ? noted : counters;
    if (ctr_shape_object(db, schema, table, problem) == CTR_OBJECT_NONE)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the tracked table %s is gone: what is left of it are its counters, in %s, "
                        "which can be dropped, too",
                        table, counters);
    ctr_problem_set(problem, SQLITE_ERROR,
                    "the tracked table %s has lost its triggers, so that changes may not have been "
                    "counted: call counter_track('%s', ...) again, which counts them",
                    table, table);
    sqlite3_free(noted);
    return problem->rc;
}

int ctr_tracked_open(ctr_tracked *tracked, sqlite3 *db, const char *schema, const char *counters,
                     const ctr_shape *shape, ctr_problem *problem)
{
    if (open_tracked(tracked, db, schema, counters, NULL, shape, problem)) return problem->rc;
    if (!tracked->table) return refuse_lost(db, schema, counters, problem);
    look_up_columns(tracked, problem);
    for (int i = 0; i < shape->n_keys && problem->rc == SQLITE_OK; i++)
        if (!tracked_key(tracked, i)->name) refuse_broken(tracked, "insert", problem);
    return problem->rc == SQLITE_OK ? check_triggers(tracked, problem) : problem->rc;
}

int ctr_tracked_look(ctr_tracked *tracked, sqlite3 *db, const char *schema, const char *counters,
                     const ctr_shape *shape, ctr_problem *problem)
{
    if (open_tracked(tracked, db, schema, counters, NULL, shape, problem)) return problem->rc;
    if (tracked->table) look_up_columns(tracked, problem);
    return problem->rc;
}

int ctr_tracked_begin(ctr_tracked *tracked, sqlite3 *db, const char *schema, const char *counters,
                      const char *table, const ctr_shape *shape, ctr_problem *problem)
{
    bool any = false;
    if (open_tracked(tracked, db, schema, counters, table, shape, problem)) return problem->rc;
    for (int i = 0; i < shape->n_columns; i++) any = any || tracked->columns[i].name;
    for (int i = 0; i < shape->n_columns && !any; i++) {
        tracked->columns[i].name = sqlite3_mprintf("%s", shape->columns[i].name);
        if (!tracked->columns[i].name) return ctr_problem_nomem(problem);
    }
    look_up_columns(tracked, problem);
    return problem->rc;
}

void ctr_tracked_adopt(ctr_tracked *tracked, int counter, const char *column, ctr_problem *problem)
{
    ctr_tracked_column *to = &tracked->columns[tracked->shape->counters[counter]];
    if (problem->rc != SQLITE_OK) return;
    if (to->name) {
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s: the counter of the name %s belongs to the column %s", tracked->table,
                        column, to->name);
        return;
    }
    to->name = sqlite3_mprintf("%s", column);
    if (!to->name) ctr_problem_nomem(problem);
    look_up_columns(tracked, problem);
}

int ctr_tracked_follow(sqlite3 *db, const char *schema, const char *counters,
                       const ctr_shape *shape, ctr_problem *problem)
{
    ctr_tracked tracked;
    if (!ctr_tracked_is(db, schema, counters, problem)) return problem->rc;
    open_tracked(&tracked, db, schema, counters, NULL, shape, problem);
    if (problem->rc == SQLITE_OK && tracked.table) look_up_columns(&tracked, problem);
    if (problem->rc == SQLITE_OK && tracked.table) ctr_tracked_create_triggers(&tracked, problem);
    ctr_tracked_close(&tracked);
    return problem->rc;
}

int ctr_tracked_check(sqlite3 *db, const char *schema, const char *counters, const ctr_shape *shape,
                      ctr_problem *problem)
{
    ctr_tracked tracked;
    if (!ctr_tracked_is(db, schema, counters, problem)) return problem->rc;
    ctr_tracked_open(&tracked, db, schema, counters, shape, problem);
    ctr_tracked_close(&tracked);
    return problem->rc;
}

void ctr_tracked_close(ctr_tracked *tracked)
{
    for (int i = 0; tracked->columns && i < tracked->shape->n_columns; i++)
        sqlite3_free(tracked->columns[i].name);
    sqlite3_free(tracked->columns);
    sqlite3_free(tracked->schema);
    sqlite3_free(tracked->counters);
    sqlite3_free(tracked->table);
    *tracked = (ctr_tracked){0};
}
