/* store/showing.c - writes the values of counters into the table that shows them. */
#include "store/showing.h"

#include <stdlib.h>
#include <string.h>

#include "store/describe.h"
#include "store/post.h"
#include "store/run.h"
#include "store/text.h"

/* ---- statements ------------------------------------------------------------------------------ */

/* Parameters: the key, the values to be shown, the values that are shown now. */
static int key_parameter(int key)
{
    return 1 + key;
}

static int new_parameter(const ctr_showing *showing, int counter)
{
    return key_parameter(showing->tracked.shape->n_keys) + counter;
}

static int old_parameter(const ctr_showing *showing, int counter)
{
    return new_parameter(showing, showing->tracked.shape->n_counters) + counter;
}

static const char *key_column_name(const ctr_showing *showing, int key)
{
    const ctr_tracked *tracked = &showing->tracked;
    return tracked->columns[tracked->shape->keys[key]].name;
}

static const char *counter_column_name(const ctr_showing *showing, int counter)
{
    const ctr_tracked_column *column = ctr_tracked_column_of(&showing->tracked, counter);
    return column ? column->name : NULL;
}

/* "sku" = ?1 AND "stock" IS ?3, the second if asked for. */
static void match_row(const ctr_showing *showing, sqlite3_str *out, bool values)
{
    const ctr_shape *shape = showing->tracked.shape;
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s\"%w\" = ?%d", i ? " AND " : "", key_column_name(showing, i),
                            key_parameter(i));
    for (int i = 0; values && i < shape->n_counters; i++)
        if (counter_column_name(showing, i))
            sqlite3_str_appendf(out, " AND \"%w\" IS ?%d", counter_column_name(showing, i),
                                old_parameter(showing, i));
}

static void assign_values(const ctr_showing *showing, sqlite3_str *out)
{
    for (int i = 0; i < showing->tracked.shape->n_counters; i++)
        if (counter_column_name(showing, i))
            sqlite3_str_appendf(out, "%s\"%w\" = ?%d", sqlite3_str_length(out) ? ", " : "",
                                counter_column_name(showing, i), new_parameter(showing, i));
}

static void list_row(const ctr_showing *showing, sqlite3_str *columns, sqlite3_str *values)
{
    const ctr_shape *shape = showing->tracked.shape;
    for (int i = 0; i < shape->n_keys; i++) {
        sqlite3_str_appendf(columns, "%s\"%w\"", i ? ", " : "", key_column_name(showing, i));
        sqlite3_str_appendf(values, "%s?%d", i ? ", " : "", key_parameter(i));
    }
    for (int i = 0; i < shape->n_counters; i++) {
        if (!counter_column_name(showing, i)) continue;
        sqlite3_str_appendf(columns, ", \"%w\"", counter_column_name(showing, i));
        sqlite3_str_appendf(values, ", ?%d", new_parameter(showing, i));
    }
}

/* A statement that is kept. */
static sqlite3_stmt *prepare_kept(ctr_showing *showing, sqlite3_stmt **keep, ctr_sql which,
                                  ctr_problem *problem)
{
    if (*keep || problem->rc != SQLITE_OK) return *keep;
    const ctr_tracked *tracked = &showing->tracked;
    sqlite3_str *columns = sqlite3_str_new(NULL), *values = sqlite3_str_new(NULL),
                *changes = sqlite3_str_new(NULL), *match = sqlite3_str_new(NULL);
    list_row(showing, columns, values);
    assign_values(showing, changes);
    match_row(showing, match, which == CTR_SQL_TRACK_SHOW || which == CTR_SQL_TRACK_SHOW_STRICTLY);
    char *column_list = sqlite3_str_finish(columns), *value_list = sqlite3_str_finish(values),
         *change_list = sqlite3_str_finish(changes), *constraint = sqlite3_str_finish(match);
    if (!column_list || !value_list || !change_list || !constraint) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    run.slots.name = tracked->table;
    run.slots.columns = column_list;
    run.slots.values = value_list;
    run.slots.changes = change_list;
    run.slots.constraint = constraint;
    *keep = ctr_run_prepare(&run, which);
    sqlite3_free(column_list);
    sqlite3_free(value_list);
    sqlite3_free(change_list);
    sqlite3_free(constraint);
    return *keep;
}

static void bind_shown(sqlite3_stmt *statement, int parameter, const ctr_shown *shown)
{
    if (shown->null)
        sqlite3_bind_null(statement, parameter);
    else
        sqlite3_bind_int64(statement, parameter, shown->n);
}

/* Binds what the statement has parameters for. */
static int bind_row(ctr_showing *showing, sqlite3_stmt *statement, const ctr_shown *to,
                    const ctr_shown *from, ctr_problem *problem)
{
    const ctr_shape *shape = showing->tracked.shape;
    for (int i = 0; i < shape->n_keys; i++)
        ctr_problem_sqlite(problem, showing->tracked.db,
                           ctr_pack_bind_stored(statement, key_parameter(i),
                                                &shape->columns[shape->keys[i]], showing->keys[i]));
    for (int i = 0; to && i < shape->n_counters; i++)
        if (counter_column_name(showing, i))
            bind_shown(statement, new_parameter(showing, i), &to[i]);
    for (int i = 0; from && i < shape->n_counters; i++)
        if (counter_column_name(showing, i))
            bind_shown(statement, old_parameter(showing, i), &from[i]);
    return problem->rc;
}

static bool is_live(const ctr_showing *showing, const ctr_summary *states)
{
    for (int i = 0; i < showing->tracked.shape->n_counters; i++)
        if (states[i].touched && states[i].life % 2 == 1) return true;
    return false;
}

/* ---- rows that are apart --------------------------------------------------------------------- */

int ctr_showing_apart(ctr_showing *showing, int64_t rowid, ctr_apart *apart, ctr_problem *problem)
{
    const ctr_shape *shape = showing->tracked.shape;
    size_t n = (size_t)shape->n_counters + 1;
    *apart = (ctr_apart){.is = sqlite3_malloc64(n * sizeof *apart->is),
                         .shown = sqlite3_malloc64(n * sizeof *apart->shown)};
    if (!apart->is || !apart->shown) return ctr_problem_nomem(problem);
    memset(apart->is, 0, n * sizeof *apart->is);
    sqlite3_stmt *row = prepare_kept(showing, &showing->apart, CTR_SQL_TRACK_APART, problem);
    if (!row) return problem->rc;
    ctr_run run = ctr_run_on(showing->tracked.db, showing->tracked.schema, NULL, problem);
    sqlite3_bind_int64(row, 1, rowid);
    while (ctr_run_row(&run, row)) {
        const char *name = ctr_text_column(row, 0, problem);
        int i = name ? ctr_shape_counter_like(shape, name) : -1;
        apart->waits = apart->waits || (name && !*name);
        if (i < 0) continue;
        apart->differs = apart->is[i] = true;
        apart->shown[i] = (ctr_shown){.null = sqlite3_column_type(row, 1) == SQLITE_NULL,
                                      .n = sqlite3_column_int64(row, 1)};
    }
    sqlite3_reset(row);
    return problem->rc;
}

void ctr_showing_close_apart(ctr_apart *apart)
{
    sqlite3_free(apart->is);
    sqlite3_free(apart->shown);
    *apart = (ctr_apart){0};
}

int ctr_showing_not_apart(ctr_showing *showing, int64_t rowid, ctr_problem *problem)
{
    sqlite3_stmt *row =
        prepare_kept(showing, &showing->not_apart, CTR_SQL_TRACK_NOT_APART, problem);
    if (!row) return problem->rc;
    ctr_run run = ctr_run_on(showing->tracked.db, showing->tracked.schema, NULL, problem);
    sqlite3_bind_int64(row, 1, rowid);
    ctr_run_row(&run, row);
    sqlite3_reset(row);
    return problem->rc;
}

static void list_apart(ctr_showing *showing, int64_t rowid, const char *counter,
                       const ctr_shown *shown, ctr_problem *problem)
{
    sqlite3_stmt *row =
        prepare_kept(showing, &showing->set_apart, CTR_SQL_TRACK_SET_APART, problem);
    if (!row) return;
    ctr_run run = ctr_run_on(showing->tracked.db, showing->tracked.schema, NULL, problem);
    sqlite3_bind_int64(row, 1, rowid);
    ctr_run_bind_text(&run, row, 2, counter);
    bind_shown(row, 3, shown);
    ctr_run_row(&run, row);
    sqlite3_reset(row);
}

static bool same_shown(const ctr_shown *a, const ctr_shown *b)
{
    return a->null == b->null && (a->null || a->n == b->n);
}

int ctr_showing_set_apart(ctr_showing *showing, int64_t rowid, const ctr_shown *shown,
                          const ctr_summary *now, ctr_problem *problem)
{
    const ctr_shown nothing = {.null = true};
    bool live = is_live(showing, now);
    ctr_showing_not_apart(showing, rowid, problem);
    if (!shown) list_apart(showing, rowid, "", &nothing, problem);
    for (int i = 0; shown && i < showing->tracked.shape->n_counters; i++) {
        ctr_shown wanted;
        if (!counter_column_name(showing, i)) continue;
        bool is = ctr_showing_value(showing, i, &now[i], &wanted);
        if (!is || !live || !same_shown(&shown[i], &wanted))
            list_apart(showing, rowid, ctr_shape_counter_name(showing->tracked.shape, i), &shown[i],
                       problem);
    }
    return problem->rc;
}

/* ---- writing the table ----------------------------------------------------------------------- */

/* What a table makes of a statement. */
typedef enum answer_of_table {
    TABLE_TAKES,
    TABLE_REFUSES, /* a constraint, or a trigger that ignores it; nothing has changed */
    TABLE_DEFERS   /* a foreign key is broken, and would be found when the transaction commits */
} answer_of_table;

static bool has_broken_keys(sqlite3 *db)
{
    int is = 0, high;
    sqlite3_db_status(db, SQLITE_DBSTATUS_DEFERRED_FKS, &is, &high, 0);
    return is != 0;
}

/* A constraint or a trigger that says ROLLBACK has taken back all that this is a part of. */
static void refuse_rolled_back(const ctr_showing *showing, ctr_problem *problem)
{
    ctr_problem_close(problem);
    ctr_problem_set(problem, SQLITE_ABORT,
                    "a constraint or a trigger of the tracked table %s has rolled the transaction "
                    "back",
                    showing->tracked.table);
}

static answer_of_table step_shown(ctr_showing *showing, sqlite3_stmt *statement,
                                  ctr_problem *problem)
{
    sqlite3 *db = showing->tracked.db;
    ctr_guard *guard = ctr_guard_of(showing->post);
    unsigned transaction = ctr_guard_transaction(guard);
    bool alone = sqlite3_get_autocommit(db);
    int rc = sqlite3_step(statement);
    bool refused = (rc & 0xff) == SQLITE_CONSTRAINT;
    if (!refused) ctr_problem_sqlite(problem, db, rc);
    int changes = sqlite3_changes(db);
    sqlite3_reset(statement);
    bool gone =
        ctr_guard_transaction(guard) != transaction || (!alone && sqlite3_get_autocommit(db));
    if (refused && gone) refuse_rolled_back(showing, problem);
    if (refused || changes == 0 || problem->rc != SQLITE_OK) return TABLE_REFUSES;
    return has_broken_keys(db) ? TABLE_DEFERS : TABLE_TAKES;
}

static answer_of_table run_shown(ctr_showing *showing, sqlite3_stmt *statement,
                                 const ctr_shown *want, ctr_problem *problem)
{
    sqlite3 *db = showing->tracked.db;
    const ctr_showing *outer = showing->post->showing;
    sqlite3_int64 inserted = sqlite3_last_insert_rowid(db);
    showing->want = want;
    showing->post->showing = showing;
    answer_of_table answer = step_shown(showing, statement, problem);
    showing->post->showing = outer;
    sqlite3_set_last_insert_rowid(db, inserted);
    return answer;
}

/* SQLite tells only whether any foreign key is broken: if one is already, what this statement
 * breaks would come to light when the transaction commits. */
void ctr_showing_refuse_blocked(sqlite3 *db, const char *table, ctr_problem *problem)
{
    if (has_broken_keys(db))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the transaction has broken a foreign key that is to be mended before its "
                        "COMMIT: nothing can be merged into the tracked table %s until then",
                        table);
}

bool ctr_showing_is_blocked(const ctr_showing *showing)
{
    return has_broken_keys(showing->tracked.db);
}

static answer_of_table ask_table(ctr_showing *showing, sqlite3_stmt *statement,
                                 const ctr_shown *want, ctr_problem *problem)
{
    ctr_showing_refuse_blocked(showing->tracked.db, showing->tracked.table, problem);
    return problem->rc == SQLITE_OK ? run_shown(showing, statement, want, problem) : TABLE_REFUSES;
}

static bool try_update(ctr_showing *showing, const ctr_shown *from, const ctr_shown *to,
                       ctr_problem *problem)
{
    ctr_sql which = showing->strict ? CTR_SQL_TRACK_SHOW_STRICTLY : CTR_SQL_TRACK_SHOW;
    sqlite3_stmt *row = prepare_kept(showing, &showing->show, which, problem);
    if (!row || bind_row(showing, row, to, from, problem)) return false;
    answer_of_table answer = ask_table(showing, row, to, problem);
    if (answer == TABLE_DEFERS && bind_row(showing, row, from, to, problem) == SQLITE_OK)
        run_shown(showing, row, from, problem);
    return answer == TABLE_TAKES;
}

/* p."sku" = ?1 AND ... */
static void match_key_of(const ctr_showing *showing, const char *alias, sqlite3_str *out)
{
    for (int i = 0; i < showing->tracked.shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s%s.\"%w\" = ?%d", i ? " AND " : "", alias,
                            key_column_name(showing, i), key_parameter(i));
}

/* Begins EXISTS (rows of a child whose parent is the row). */
static void begin_child(const ctr_showing *showing, const char *child, sqlite3_str *out)
{
    const ctr_tracked *tracked = &showing->tracked;
    sqlite3_str_appendf(out,
                        "%sEXISTS (SELECT 1 FROM \"%w\".\"%w\" AS p, \"%w\".\"%w\" AS c WHERE ",
                        sqlite3_str_length(out) ? ") OR " : "", tracked->schema, tracked->table,
                        tracked->schema, child);
    match_key_of(showing, "p", out);
    if (sqlite3_stricmp(child, tracked->table) != 0) return;
    sqlite3_str_appendall(out, " AND NOT (");
    match_key_of(showing, "c", out);
    sqlite3_str_appendall(out, ")");
}

/* One EXISTS for each foreign key that refers to the table; NULL: none does, or no memory. */
static char *list_children(ctr_showing *showing, ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    sqlite3_str *out = sqlite3_str_new(NULL);
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_CHILDREN);
    ctr_run_bind_text(&run, row, 1, tracked->table);
    while (ctr_run_row(&run, row)) {
        const char *child = ctr_text_column(row, 0, problem),
                   *from = ctr_text_column(row, 3, problem), *to = ctr_text_column(row, 4, problem);
        int part = sqlite3_column_int(row, 2);
        if (!child || !from || (!to && part >= tracked->shape->n_keys)) continue;
        if (part == 0) begin_child(showing, child, out);
        sqlite3_str_appendf(out, " AND p.\"%w\" = c.\"%w\"",
                            to ? to : key_column_name(showing, part), from);
    }
    sqlite3_finalize(row);
    if (sqlite3_str_length(out)) sqlite3_str_appendall(out, ")");
    if (sqlite3_str_errcode(out) != SQLITE_OK) ctr_problem_nomem(problem);
    return sqlite3_str_finish(out);
}

static sqlite3_stmt *prepare_children(ctr_showing *showing, ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    if (showing->children || showing->childless || problem->rc != SQLITE_OK)
        return showing->children;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    char *children = list_children(showing, problem);
    run.slots.value = children;
    if (children && problem->rc == SQLITE_OK)
        showing->children = ctr_run_prepare(&run, CTR_SQL_TRACK_VALUE);
    showing->childless = !children && problem->rc == SQLITE_OK;
    sqlite3_free(children);
    return showing->children;
}

static bool are_keys_enforced(const ctr_showing *showing)
{
    int enforced = 0;
    sqlite3_db_config(showing->tracked.db, SQLITE_DBCONFIG_ENABLE_FKEY, -1, &enforced);
    return enforced != 0;
}

/* Would it leave rows of others without their parent? That a foreign key is deferred does not show
 * before the COMMIT. */
static bool has_children(ctr_showing *showing, ctr_problem *problem)
{
    sqlite3_stmt *row = are_keys_enforced(showing) ? prepare_children(showing, problem) : NULL;
    if (!row || bind_row(showing, row, NULL, NULL, problem)) return false;
    ctr_run run = ctr_run_on(showing->tracked.db, showing->tracked.schema, NULL, problem);
    bool has = ctr_run_row(&run, row) && sqlite3_column_int(row, 0);
    sqlite3_reset(row);
    return has;
}

/* Asks so that the answer can be taken back with all that triggers and cascades have done. Where a
 * statement is writing SQLite opens no savepoint: then what breaks a foreign key fails. */
static bool is_taken_whole(ctr_showing *showing, sqlite3_stmt *row, const ctr_shown *want,
                           ctr_problem *problem)
{
    sqlite3 *db = showing->tracked.db;
    ctr_run run = ctr_run_on(db, showing->tracked.schema, NULL, problem);
    ctr_problem none = {SQLITE_OK, NULL};
    ctr_run begin = ctr_run_on(db, showing->tracked.schema, NULL, &none);
    bool guarded = are_keys_enforced(showing) && problem->rc == SQLITE_OK;
    if (guarded) ctr_run_do(&begin, CTR_SQL_TRACK_SAVEPOINT, NULL);
    guarded = guarded && none.rc == SQLITE_OK;
    if (none.rc != SQLITE_OK && (none.rc & 0xff) != SQLITE_BUSY)
        ctr_problem_set(problem, none.rc, "%s", ctr_problem_text(&none));
    ctr_problem_close(&none);
    answer_of_table answer = ask_table(showing, row, want, problem);
    if (guarded && answer == TABLE_DEFERS) ctr_run_do(&run, CTR_SQL_TRACK_ROLL_BACK, NULL);
    if (guarded && problem->rc == SQLITE_OK) ctr_run_do(&run, CTR_SQL_TRACK_RELEASE, NULL);
    if (!guarded && answer == TABLE_DEFERS)
        ctr_problem_set(problem, SQLITE_CONSTRAINT,
                        "a merged row of the tracked table %s would break a foreign key: "
                        "counter_pull, which can take it back, leaves it waiting",
                        showing->tracked.table);
    return answer == TABLE_TAKES;
}

static bool try_delete(ctr_showing *showing, ctr_problem *problem)
{
    if (has_children(showing, problem)) return false;
    sqlite3_stmt *row =
        prepare_kept(showing, &showing->remove, CTR_SQL_TRACK_SHOW_DELETED, problem);
    if (!row || bind_row(showing, row, NULL, NULL, problem)) return false;
    return is_taken_whole(showing, row, NULL, problem);
}

static bool try_insert(ctr_showing *showing, const ctr_shown *to, ctr_problem *problem)
{
    ctr_sql which = showing->strict ? CTR_SQL_TRACK_SHOW_NEW_STRICTLY : CTR_SQL_TRACK_SHOW_NEW;
    sqlite3_stmt *row = prepare_kept(showing, &showing->insert, which, problem);
    if (!row || bind_row(showing, row, to, NULL, problem)) return false;
    return is_taken_whole(showing, row, to, problem);
}

/* What the columns of the row show; false: it is not there. */
static bool look_at_row(ctr_showing *showing, ctr_shown *shown, bool *is_integer,
                        ctr_problem *problem)
{
    const ctr_shape *shape = showing->tracked.shape;
    sqlite3_stmt *row = prepare_kept(showing, &showing->look, CTR_SQL_TRACK_LOOK, problem);
    if (!row || bind_row(showing, row, NULL, NULL, problem)) return false;
    ctr_run run = ctr_run_on(showing->tracked.db, showing->tracked.schema, NULL, problem);
    bool there = ctr_run_row(&run, row);
    *is_integer = true;
    for (int i = 0, column = shape->n_keys; there && i < shape->n_counters; i++) {
        if (!counter_column_name(showing, i)) continue;
        int type = sqlite3_column_type(row, column);
        shown[i].null = type == SQLITE_NULL;
        shown[i].n = sqlite3_column_int64(row, column);
        bool whole =
            type == SQLITE_FLOAT && sqlite3_column_double(row, column) == (double)shown[i].n;
        if (type != SQLITE_NULL && type != SQLITE_INTEGER && !whole) *is_integer = false;
        column++;
    }
    sqlite3_reset(row);
    return there;
}

bool ctr_showing_values(ctr_showing *showing, sqlite3_value **keys, ctr_shown *shown,
                        ctr_problem *problem)
{
    bool is_integer;
    showing->keys = keys;
    return look_at_row(showing, shown, &is_integer, problem);
}

bool ctr_showing_has_row(ctr_showing *showing, sqlite3_value **keys, ctr_problem *problem)
{
    bool is_integer;
    showing->keys = keys;
    return look_at_row(showing, showing->from, &is_integer, problem);
}

/* ---- one row --------------------------------------------------------------------------------- */

bool ctr_showing_value(const ctr_showing *showing, int counter, const ctr_summary *state,
                       ctr_shown *shown)
{
    const ctr_tracked_column *column = ctr_tracked_column_of(&showing->tracked, counter);
    *shown = column ? column->blank : (ctr_shown){.null = true};
    if (!state->has_shards || state->life % 2 == 0) return true;
    shown->null = false;
    return ctr_sum_value(&state->sum, &shown->n) == CTR_OK;
}

static bool is_untouched(const ctr_showing *showing, const ctr_summary *states)
{
    for (int i = 0; i < showing->tracked.shape->n_counters; i++)
        if (states[i].touched) return false;
    return true;
}

/* Live in no counter, and deleted in one: the row was. */
static bool is_deleted_row(const ctr_showing *showing, const ctr_summary *states)
{
    bool deleted = false;
    for (int i = 0; i < showing->tracked.shape->n_counters; i++)
        deleted = deleted || states[i].life % 2 == 0;
    return deleted && !is_live(showing, states);
}

static int refuse_uncounted(ctr_showing *showing, const char *what, ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    char *key = ctr_describe_key(showing->keys, tracked->shape->n_keys);
    if (!key) return ctr_problem_nomem(problem);
    ctr_problem_set(problem, SQLITE_ERROR,
                    "the row %s of the tracked table %s %s while its triggers did not run: call "
                    "counter_track('%s', ...) again, which counts it",
                    key, tracked->table, what, tracked->table);
    sqlite3_free(key);
    return problem->rc;
}

/* The row shows what it should show before it is written. */
static bool is_as_expected(ctr_showing *showing, const ctr_shown *shown, const ctr_shown *expected,
                           const ctr_apart *apart)
{
    for (int i = 0; i < showing->tracked.shape->n_counters; i++) {
        const ctr_shown *due = apart->is[i] ? &apart->shown[i] : &expected[i];
        if (counter_column_name(showing, i) && !same_shown(&shown[i], due)) return false;
    }
    return true;
}

/* Does the row show what it should, whoever has written it? */
static bool is_shown(const ctr_showing *showing, const ctr_shown *shown)
{
    for (int i = 0; i < showing->tracked.shape->n_counters; i++)
        if (counter_column_name(showing, i) && !same_shown(&shown[i], &showing->to[i]))
            return false;
    return true;
}

static void show_in_row(ctr_showing *showing, int64_t rowid, const ctr_shown *shown,
                        const ctr_summary *now, bool complete, ctr_problem *problem)
{
    ctr_showing_not_apart(showing, rowid, problem); /* a trigger may list it anew */
    bool taken = is_deleted_row(showing, now) ? try_delete(showing, problem)
                 : complete                   ? try_update(showing, shown, showing->to, problem)
                                              : false;
    if (!taken) ctr_showing_set_apart(showing, rowid, shown, now, problem);
}

static void show_new_row(ctr_showing *showing, int64_t rowid, const ctr_summary *now, bool complete,
                         ctr_problem *problem)
{
    ctr_showing_not_apart(showing, rowid, problem);
    if (is_live(showing, now) && !(complete && try_insert(showing, showing->to, problem)))
        ctr_showing_set_apart(showing, rowid, NULL, now, problem);
}

/* The row is not simply there as expected: it is looked at. */
static int show_anyway(ctr_showing *showing, int64_t rowid, bool was_live, const ctr_summary *now,
                       bool complete, ctr_problem *problem)
{
    ctr_apart apart;
    bool is_integer;
    size_t n = (size_t)showing->tracked.shape->n_counters + 1;
    ctr_shown *shown = sqlite3_malloc64(n * sizeof *shown);
    if (!shown) ctr_problem_nomem(problem);
    ctr_showing_apart(showing, rowid, &apart, problem);
    bool there = shown && look_at_row(showing, shown, &is_integer, problem);
    if (problem->rc == SQLITE_OK && there) {
        if (is_integer && complete && is_shown(showing, shown) && is_live(showing, now))
            ctr_showing_not_apart(showing, rowid, problem);
        else if (apart.waits || !is_integer ||
                 !is_as_expected(showing, shown, showing->from, &apart))
            refuse_uncounted(showing, "was changed", problem);
        else
            show_in_row(showing, rowid, shown, now, complete, problem);
    } else if (problem->rc == SQLITE_OK) {
        if (was_live && !apart.waits && is_live(showing, now))
            refuse_uncounted(showing, "was deleted", problem);
        else
            show_new_row(showing, rowid, now, complete, problem);
    }
    ctr_showing_close_apart(&apart);
    sqlite3_free(shown);
    return problem->rc;
}

/* The row as it should be; false: some sum cannot be shown. */
static bool take_wanted(ctr_showing *showing, const ctr_summary *now)
{
    bool complete = true;
    for (int i = 0; i < showing->tracked.shape->n_counters; i++)
        complete = ctr_showing_value(showing, i, &now[i], &showing->to[i]) && complete;
    return complete;
}

/* showing->from is what the row shows, if `known`. */
static int show_row_now(ctr_showing *showing, int64_t rowid, ctr_shown_before was, bool known,
                        const ctr_summary *now, ctr_problem *problem)
{
    showing->rowid = rowid;
    bool complete = take_wanted(showing, now);
    if (complete && known && is_live(showing, now) && problem->rc == SQLITE_OK) {
        if (was == CTR_SHOWN_NEW && try_insert(showing, showing->to, problem)) return problem->rc;
        if (was == CTR_SHOWN_LIVE && try_update(showing, showing->from, showing->to, problem))
            return problem->rc;
    }
    if (problem->rc != SQLITE_OK) return problem->rc;
    return show_anyway(showing, rowid, was == CTR_SHOWN_LIVE, now, complete, problem);
}

static ctr_shown_before what_it_was(const ctr_showing *showing, const ctr_summary *before)
{
    if (is_live(showing, before)) return CTR_SHOWN_LIVE;
    return is_untouched(showing, before) ? CTR_SHOWN_NEW : CTR_SHOWN_DELETED;
}

int ctr_showing_row(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                    const ctr_shown *from, const ctr_summary *before, const ctr_summary *now,
                    ctr_problem *problem)
{
    bool known = true;
    if (problem->rc != SQLITE_OK) return problem->rc;
    showing->keys = keys;
    for (int i = 0; i < showing->tracked.shape->n_counters; i++) {
        if (from)
            showing->from[i] = from[i];
        else
            known = ctr_showing_value(showing, i, &before[i], &showing->from[i]) && known;
    }
    ctr_shown_before was = from ? CTR_SHOWN_LIVE : what_it_was(showing, before);
    return show_row_now(showing, rowid, was, known, now, problem);
}

/* ---- many rows, later ------------------------------------------------------------------------ */

int ctr_showing_later(ctr_showing *showing, ctr_later *later, int64_t rowid,
                      const ctr_summary *before, ctr_problem *problem)
{
    const int n = showing->tracked.shape->n_counters;
    size_t size = sizeof(ctr_later_row) + (size_t)n * sizeof(ctr_shown);
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (later->used + size > later->room) {
        size_t room = later->room ? later->room * 2 : 64 * size;
        uint8_t *bytes = sqlite3_realloc64(later->bytes, room);
        if (!bytes) return ctr_problem_nomem(problem);
        later->bytes = bytes;
        later->room = room;
    }
    ctr_later_row *row = (ctr_later_row *)(void *)(later->bytes + later->used);
    *row = (ctr_later_row){.rowid = rowid, .was = what_it_was(showing, before), .known = true};
    for (int i = 0; i < n; i++)
        row->known = ctr_showing_value(showing, i, &before[i], &row->shown[i]) && row->known;
    later->used += size;
    later->size = size;
    return problem->rc;
}

static int by_rowid(const void *a, const void *b)
{
    const ctr_later_row *x = a, *y = b;
    return x->rowid < y->rowid ? -1 : x->rowid > y->rowid;
}

static sqlite3_stmt *prepare_cells(ctr_showing *showing, ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    char *columns = ctr_shape_column_list(tracked->shape);
    if (!columns) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    run.slots.columns = columns;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_ROWS_FIND_ROWID);
    sqlite3_free(columns);
    return row;
}

/* The state of a row by its number, and its key, which the statement lends until it is reset. */
static bool step_to_cells(ctr_showing *showing, sqlite3_stmt *row, int64_t rowid, ctr_rows *rows,
                          ctr_summary *now, ctr_problem *problem)
{
    enum { CELLS_ID = 1 };
    const ctr_shape *shape = showing->tracked.shape;
    ctr_run run = ctr_run_on(showing->tracked.db, showing->tracked.schema, NULL, problem);
    sqlite3_bind_int64(row, 1, rowid);
    if (!ctr_run_row(&run, row) || ctr_rows_take(rows, row, problem)) return false;
    for (int i = 0; i < shape->n_keys; i++)
        showing->keys[i] = sqlite3_column_value(row, CELLS_ID + shape->keys[i]);
    for (int i = 0; i < shape->n_counters; i++) now[i] = ctr_rows_state(rows, i);
    return true;
}

/* Room for a key and for states. */
static bool make_show_room(const ctr_showing *showing, sqlite3_value ***keys, ctr_summary **now,
                           ctr_problem *problem)
{
    *keys = sqlite3_malloc64(((size_t)showing->tracked.shape->n_keys + 1) * sizeof **keys);
    *now = sqlite3_malloc64(((size_t)showing->tracked.shape->n_counters + 1) * sizeof **now);
    if (!*keys || !*now) ctr_problem_nomem(problem);
    return problem->rc == SQLITE_OK;
}

int ctr_showing_all(ctr_showing *showing, ctr_later *later, ctr_rows *rows, ctr_problem *problem)
{
    sqlite3_value **keys;
    ctr_summary *now;
    size_t n = later->size ? later->used / later->size : 0, counters = 0;
    sqlite3_stmt *row = prepare_cells(showing, problem);
    if (make_show_room(showing, &keys, &now, problem) && n > 0)
        qsort(later->bytes, n, later->size, by_rowid);
    counters = (size_t)showing->tracked.shape->n_counters;
    showing->keys = keys;
    for (size_t i = 0; i < n && problem->rc == SQLITE_OK; i++) {
        const ctr_later_row *due = (const void *)(later->bytes + i * later->size);
        memcpy(showing->from, due->shown, counters * sizeof *showing->from);
        if (step_to_cells(showing, row, due->rowid, rows, now, problem))
            show_row_now(showing, due->rowid, due->was, due->known, now, problem);
        sqlite3_reset(row);
    }
    sqlite3_finalize(row);
    sqlite3_free(keys);
    sqlite3_free(now);
    return problem->rc;
}

static int64_t count_apart(ctr_showing *showing, ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_COUNT_APART);
    int64_t n = ctr_run_row(&run, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return n;
}

static void show_again(ctr_showing *showing, ctr_rows *rows, sqlite3_stmt *cells, ctr_summary *now,
                       ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    int64_t after = INT64_MIN;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_NEXT_APART);
    for (;;) {
        if (row) sqlite3_bind_int64(row, 1, after);
        bool more = ctr_run_row(&run, row);
        if (more) after = sqlite3_column_int64(row, 0);
        sqlite3_reset(row);
        if (!more || problem->rc != SQLITE_OK) break;
        if (step_to_cells(showing, cells, after, rows, now, problem)) {
            bool complete = take_wanted(showing, now);
            memcpy(showing->from, showing->to,
                   (size_t)tracked->shape->n_counters * sizeof *showing->from);
            showing->rowid = after;
            show_anyway(showing, after, true, now, complete, problem);
        }
        sqlite3_reset(cells);
    }
    sqlite3_finalize(row);
}

bool ctr_showing_again(ctr_showing *showing, ctr_rows *rows, ctr_problem *problem)
{
    sqlite3_value **keys;
    ctr_summary *now;
    int64_t before = count_apart(showing, problem);
    if (before == 0 || problem->rc != SQLITE_OK) return false;
    sqlite3_stmt *cells = prepare_cells(showing, problem);
    if (make_show_room(showing, &keys, &now, problem)) {
        showing->keys = keys;
        show_again(showing, rows, cells, now, problem);
    }
    sqlite3_finalize(cells);
    sqlite3_free(keys);
    sqlite3_free(now);
    return count_apart(showing, problem) < before && problem->rc == SQLITE_OK;
}

/* ---- floors ---------------------------------------------------------------------------------- */

static void show_nothing(ctr_showing *showing, ctr_problem *problem)
{
    bool is_integer;
    for (int i = 0; i < showing->tracked.shape->n_counters; i++) {
        const ctr_summary none = {.life = 1};
        ctr_showing_value(showing, i, &none, &showing->to[i]);
    }
    if (look_at_row(showing, showing->from, &is_integer, problem))
        try_update(showing, showing->from, showing->to, problem);
}

static sqlite3_stmt *rows_without_counters(ctr_showing *showing, ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    char *values = ctr_tracked_column_list(tracked), *match = ctr_tracked_key_match(tracked);
    if (!values || !match) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    run.slots.name = tracked->table;
    run.slots.values = values;
    run.slots.constraint = match;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_WITHOUT_COUNTERS);
    sqlite3_free(values);
    sqlite3_free(match);
    return row;
}

int ctr_showing_purged(ctr_showing *showing, ctr_floors *floors, ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    int n = tracked->shape->n_keys;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    ctr_run_do(&run, CTR_SQL_TRACK_FORGET_APART, NULL);
    sqlite3_value **keys = sqlite3_malloc64(((size_t)n + 1) * sizeof *keys);
    if (!keys) ctr_problem_nomem(problem);
    sqlite3_stmt *row = rows_without_counters(showing, problem);
    showing->keys = keys;
    showing->rowid = 0; /* its counters are gone */
    while (ctr_run_row(&run, row)) {
        for (int i = 0; i < n; i++) keys[i] = sqlite3_value_dup(sqlite3_column_value(row, i));
        for (int i = 0; i < n; i++)
            if (!keys[i]) ctr_problem_nomem(problem);
        if (problem->rc == SQLITE_OK && ctr_floors_is_below(floors, keys, problem))
            show_nothing(showing, problem);
        for (int i = 0; i < n; i++) sqlite3_value_free(keys[i]);
    }
    sqlite3_finalize(row);
    sqlite3_free(keys);
    return problem->rc;
}

/* ---- the row at work ------------------------------------------------------------------------- */

bool ctr_showing_is_at_work(const ctr_post *post)
{
    return post->showing != NULL;
}

static bool same_value_bytes(sqlite3_value *a, sqlite3_value *b)
{
    int size = sqlite3_value_bytes(a);
    const void *x = sqlite3_value_blob(a), *y = sqlite3_value_blob(b);
    return size == sqlite3_value_bytes(b) && (size == 0 || (x && y && !memcmp(x, y, (size_t)size)));
}

static bool same_key(sqlite3_value *a, sqlite3_value *b)
{
    int type = sqlite3_value_type(a);
    if (type != sqlite3_value_type(b)) return false;
    if (type == SQLITE_INTEGER) return sqlite3_value_int64(a) == sqlite3_value_int64(b);
    return type != SQLITE_FLOAT && same_value_bytes(a, b);
}

/* Are these the values to be shown? */
static bool is_wanted(const ctr_showing *showing, const ctr_shown *shown)
{
    if (!shown != !showing->want) return false;
    for (int i = 0; shown && i < showing->tracked.shape->n_counters; i++)
        if (counter_column_name(showing, i) && !same_shown(&shown[i], &showing->want[i]))
            return false;
    return true;
}

bool ctr_showing_is_row(const ctr_post *post, const char *counters, sqlite3_value **keys,
                        const ctr_shown *shown)
{
    const ctr_showing *showing = post->showing;
    if (!showing || strcmp(showing->tracked.counters, counters) != 0) return false;
    for (int i = 0; i < showing->tracked.shape->n_keys; i++)
        if (!same_key(keys[i], showing->keys[i])) return false;
    return is_wanted(showing, shown);
}

bool ctr_showing_is_rowid(const ctr_post *post, const char *counters, int64_t rowid,
                          const ctr_shown *shown)
{
    const ctr_showing *showing = post->showing;
    return showing && strcmp(showing->tracked.counters, counters) == 0 && showing->rowid == rowid &&
           is_wanted(showing, shown);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int open_showing(ctr_showing *showing, sqlite3 *db, const char *schema, const char *counters,
                        const ctr_shape *shape, ctr_post *post, bool whole, ctr_problem *problem)
{
    size_t n = (size_t)shape->n_counters + 1;
    *showing = (ctr_showing){.post = post,
                             .from = sqlite3_malloc64(n * sizeof *showing->from),
                             .to = sqlite3_malloc64(n * sizeof *showing->to)};
    if (!showing->from || !showing->to) return ctr_problem_nomem(problem);
    if (whole)
        ctr_tracked_open(&showing->tracked, db, schema, counters, shape, problem);
    else
        ctr_tracked_look(&showing->tracked, db, schema, counters, shape, problem);
    if (showing->tracked.table && problem->rc == SQLITE_OK)
        showing->strict = ctr_tracked_says(&showing->tracked, "CONFLICT", problem);
    return problem->rc;
}

int ctr_showing_open(ctr_showing *showing, sqlite3 *db, const char *schema, const char *counters,
                     const ctr_shape *shape, ctr_post *post, ctr_problem *problem)
{
    return open_showing(showing, db, schema, counters, shape, post, true, problem);
}

bool ctr_showing_look(ctr_showing *showing, sqlite3 *db, const char *schema, const char *counters,
                      const ctr_shape *shape, ctr_post *post, ctr_problem *problem)
{
    open_showing(showing, db, schema, counters, shape, post, false, problem);
    bool known = showing->tracked.table != NULL;
    for (int i = 0; known && i < shape->n_keys; i++) known = key_column_name(showing, i) != NULL;
    return known && problem->rc == SQLITE_OK;
}

void ctr_showing_close(ctr_showing *showing)
{
    sqlite3_stmt *const statements[] = {showing->show,      showing->insert,  showing->remove,
                                        showing->look,      showing->apart,   showing->set_apart,
                                        showing->not_apart, showing->children};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        sqlite3_finalize(statements[i]);
    if (showing->tracked.db) ctr_tracked_close(&showing->tracked);
    sqlite3_free(showing->from);
    sqlite3_free(showing->to);
    *showing = (ctr_showing){0};
}
