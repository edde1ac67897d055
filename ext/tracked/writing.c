/* tracked/writing.c - statements that read and write one row of a tracked table. */
#include "tracked/tracked.h"

#include <string.h>

static int64_t likely_rowid(const ctr_likely *likely, int64_t id)
{
    return (int64_t)((uint64_t)id + (uint64_t)likely->distance);
}

/* Notes where the row was; returns whether that is as far as the row before. */
static bool note_likely(ctr_likely *likely, int64_t id, int64_t rowid)
{
    int64_t distance = (int64_t)((uint64_t)rowid - (uint64_t)id);
    likely->steady = distance == likely->distance;
    likely->distance = distance;
    return likely->steady;
}

/* =================================================================================================
 * row_values - reads regular columns from a tracked table, and listed values. */

static int after_key(const ctr_tracked *tracked)
{
    return tracked->shape->n_keys + 1;
}

/* SELECT "name", "price", ..., rowid FROM "products" WHERE "sku" = ?1; by rowid: AND rowid = ?2 */
static sqlite3_stmt *prepare_row(const ctr_tracked *tracked, bool has_rowids, bool by_rowid)
{
    sqlite3_str *columns = sqlite3_str_new(NULL), *match = sqlite3_str_new(NULL);
    for (int i = 0; i < tracked->n_regular; i++) {
        const char *name = ctr_tracked_regular(tracked, i)->name;
        const ctr_described *column = name ? ctr_ordinary_column(&tracked->ordinary, name) : NULL;
        if (column && !column->generated)
            sqlite3_str_appendf(columns, "\"%w\", ", name);
        else
            sqlite3_str_appendall(columns, "NULL, ");
    }
    sqlite3_str_appendall(columns, has_rowids ? "rowid" : "NULL");
    ctr_list_bound_key(tracked, match, "");
    if (by_rowid) sqlite3_str_appendf(match, " AND rowid = ?%d", after_key(tracked));
    const char *column_list = ctr_text_built(tracked->conn, columns),
               *row_match = ctr_text_built(tracked->conn, match);
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, tracked->counters);
    run.slots.name = tracked->table;
    run.slots.columns = column_list;
    run.slots.constraint = row_match;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_LOOK);
    return row;
}

/* Returns whether the table has rowids beside its key. A single INTEGER key is the rowid of most
 * tables. A column of the application may have the name rowid; a key column may only get it later,
 * by ALTER TABLE. */
static bool tracked_has_rowids(const ctr_tracked *tracked)
{
    int is_key = 0;
    const ctr_shape *shape = tracked->shape;
    if (shape->n_keys == 1 && shape->columns[shape->keys[0]].affinity == CTR_AFFINITY_INTEGER)
        return false;
    for (int i = 0; i < shape->n_keys; i++)
        if (sqlite3_stricmp(ctr_tracked_key(tracked, i)->name, "rowid") == 0) return false;
    int rc = sqlite3_table_column_metadata(tracked->conn->db, tracked->schema, tracked->table,
                                           "rowid", NULL, NULL, NULL, &is_key, NULL);
    return rc == SQLITE_OK && is_key;
}

static void prepare_rows(ctr_row_values *values)
{
    bool has_rowids = tracked_has_rowids(values->tracked);
    values->likely.steady = true; /* a table that was stored with its cells has their ids */
    values->by_key = prepare_row(values->tracked, has_rowids, false);
    if (has_rowids) values->by_rowid = prepare_row(values->tracked, has_rowids, true);
}

int ctr_row_values_open(ctr_row_values *values, ctr_tab *tab)
{
    *values = (ctr_row_values){.tab = tab, .tracked = ctr_tracked_hold(tab)};
    const ctr_registry *registry = ctr_regular_of(tab);
    if (ctr_rc(tab->conn) != SQLITE_OK || !registry) return ctr_rc(tab->conn);
    values->n = registry->n;
    size_t size = ((size_t)registry->n + 1) * sizeof *values->given;
    values->given = sqlite3_malloc64(size);
    if (!values->given) return ctr_problem_nomem(tab->conn);
    memset(values->given, 0, size);
    if (ctr_tracked_is_known(values->tracked)) prepare_rows(values);
    return ctr_rc(tab->conn);
}

void ctr_row_values_reset(ctr_row_values *values)
{
    sqlite3_reset(values->by_key);
    sqlite3_reset(values->by_rowid);
}

void ctr_row_values_close(ctr_row_values *values)
{
    ctr_apart_close_row(&values->listed);
    sqlite3_finalize(values->by_key);
    sqlite3_finalize(values->by_rowid);
    ctr_tracked_release(values->tracked);
    sqlite3_free(values->given);
    *values = (ctr_row_values){0};
}

/* Steps to the row of the table; NULL: it is not there. */
static sqlite3_stmt *step_to_shown(ctr_row_values *values, int64_t rowid, sqlite3_value **keys)
{
    const ctr_tracked *tracked = values->tracked;
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, tracked->counters);
    if (values->by_rowid && values->likely.steady) {
        sqlite3_bind_int64(values->by_rowid, after_key(tracked),
                           likely_rowid(&values->likely, rowid));
        if (ctr_tracked_bind_key(tracked, values->by_rowid, keys) == SQLITE_OK &&
            ctr_run_row(&run, values->by_rowid))
            return values->by_rowid;
    }
    if (!values->by_key || ctr_tracked_bind_key(tracked, values->by_key, keys) ||
        !ctr_run_row(&run, values->by_key))
        return NULL;
    note_likely(&values->likely, rowid, sqlite3_column_int64(values->by_key, tracked->n_regular));
    return values->by_key;
}

int ctr_row_values_show(ctr_row_values *values, int64_t rowid, sqlite3_value **keys)
{
    ctr_conn *conn = values->tab->conn;
    const ctr_tracked *tracked = values->tracked;
    if (ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    memset(values->given, 0, ((size_t)values->n + 1) * sizeof *values->given);
    ctr_row_values_reset(values);
    sqlite3_stmt *row = step_to_shown(values, rowid, keys);
    for (int i = 0; row && i < tracked->n_regular; i++)
        if (ctr_tracked_regular(tracked, i)->name &&
            ctr_tracked_regular(tracked, i)->number < values->n)
            values->given[ctr_tracked_regular(tracked, i)->number] = sqlite3_column_value(row, i);
    return ctr_rc(conn);
}

int ctr_row_values_read(ctr_row_values *values, int64_t rowid, sqlite3_value **keys)
{
    const ctr_tracked *tracked = values->tracked;
    if (ctr_row_values_show(values, rowid, keys)) return ctr_rc(values->tab->conn);
    ctr_apart_close_row(&values->listed);
    if (!ctr_apart_any(values->tab)) return ctr_rc(values->tab->conn);
    ctr_apart_read(tracked, values->tab, rowid, &values->listed);
    for (int i = 0; values->listed.lists && i < tracked->n_regular; i++) {
        sqlite3_value *value = values->listed.shown[tracked->shape->n_counters + i].value;
        int number = ctr_tracked_regular(tracked, i)->number;
        if (value && number < values->n) values->given[number] = value;
    }
    return ctr_rc(values->tab->conn);
}

const ctr_too_large *ctr_row_values_too_large(const ctr_row_values *values, int number)
{
    return ctr_apart_too_large(&values->listed, values->tracked, number);
}

/* =================================================================================================
 * writing - writes a row, which the table may refuse. */

/* ---- statements ------------------------------------------------------------------------------ */

/* Parameters: the key, the counters to show, the present ones, the rowid, the regular columns to
 * show. */
static int key_parameter(int key)
{
    return 1 + key;
}

static int old_parameter(const ctr_writing *writing, int counter)
{
    return key_parameter(writing->tracked->shape->n_columns) + counter;
}

static int rowid_parameter(const ctr_writing *writing)
{
    return old_parameter(writing, writing->tracked->shape->n_counters);
}

/* Of the columns that travel. */
static int new_parameter(const ctr_writing *writing, int i)
{
    const ctr_shape *shape = writing->tracked->shape;
    if (i < shape->n_counters) return key_parameter(shape->n_keys) + i;
    return rowid_parameter(writing) + 1 + i - shape->n_counters;
}

static bool has_columns(const ctr_writing *writing)
{
    for (int i = 0; i < writing->tracked->shape->n_counters; i++)
        if (ctr_tracked_column_of(writing->tracked, i)) return true;
    return false;
}

/* match: "sku" = ?1; columns: "sku", "stock"; values: ?1, ?2; changes: "stock" = ?2; present:
 * "stock" IS ?3 AND rowid = ?4 */
typedef struct row_lists {
    sqlite3_str *match, *columns, *values, *changes, *present;
} row_lists;

/* The row id of a new row: that of its cells, if it is free. */
static void list_place(const ctr_writing *writing, const row_lists *to)
{
    const ctr_tracked *tracked = writing->tracked;
    int cells = rowid_parameter(writing);
    sqlite3_str_appendf(to->columns, ", %s", tracked->rowid);
    sqlite3_str_appendf(to->values,
                        ", (SELECT ?%d WHERE ?%d > 0 AND NOT EXISTS (SELECT 1 FROM \"%w\".\"%w\" "
                        "WHERE %s = ?%d))",
                        cells, cells, tracked->schema, tracked->table, tracked->rowid, cells);
}

/* The row begins another life: the columns that stay in this file begin anew, too. */
static void list_local(const ctr_writing *writing, const row_lists *to)
{
    ctr_conn *conn = writing->tracked->conn;
    const ctr_ordinary *ordinary = &writing->tracked->ordinary;
    for (size_t i = 0; i < ordinary->n && ctr_rc(conn) == SQLITE_OK; i++) {
        const ctr_described *column = &ordinary->columns[i];
        char *value = column->local ? ctr_constraints_default(conn, column) : NULL;
        if (value)
            sqlite3_str_appendf(to->changes, "%s\"%w\" = %s", ctr_text_separator(to->changes, ", "),
                                column->name, value);
        sqlite3_free(value);
    }
}

/* `values`: those of the regular columns; NULL: none. */
static void list_row(const ctr_writing *writing, const ctr_shown *values, const row_lists *to)
{
    const ctr_shape *shape = writing->tracked->shape;
    ctr_list_bound_key(writing->tracked, to->match, "");
    for (int i = 0; i < shape->n_keys; i++) {
        const char *name = ctr_tracked_key(writing->tracked, i)->name;
        sqlite3_str_appendf(to->columns, "%s\"%w\"", i ? ", " : "", name);
        sqlite3_str_appendf(to->values, "%s?%d", i ? ", " : "", key_parameter(i));
    }
    for (int i = 0; i < ctr_tracked_travel(writing->tracked); i++) {
        const char *name = ctr_tracked_travelling(writing->tracked, i)->name;
        bool is_counter = i < shape->n_counters;
        if (is_counter ? !name || writing->without_counters
                       : !values || !ctr_tracked_is_given(&values[i]))
            continue;
        sqlite3_str_appendf(to->columns, ", \"%w\"", name);
        sqlite3_str_appendf(to->values, ", ?%d", new_parameter(writing, i));
        sqlite3_str_appendf(to->changes, "%s\"%w\" = ?%d", ctr_text_separator(to->changes, ", "),
                            name, new_parameter(writing, i));
        if (is_counter)
            sqlite3_str_appendf(to->present, "%s\"%w\" IS ?%d",
                                ctr_text_separator(to->present, " AND "), name,
                                old_parameter(writing, i));
    }
    if (writing->begins && values) list_local(writing, to);
    if (ctr_tracked_has_homes(writing->tracked)) list_place(writing, to);
    if (values && sqlite3_str_length(to->present) == 0) sqlite3_str_appendall(to->present, "1");
    if (writing->by_rowid && !values)
        sqlite3_str_appendf(to->present, "%srowid = ?%d", ctr_text_separator(to->present, " AND "),
                            rowid_parameter(writing));
}

static ctr_slots make_row_lists(const ctr_writing *writing, const ctr_shown *values)
{
    ctr_conn *conn = writing->tracked->conn;
    ctr_tracked *tracked = writing->tracked;
    row_lists to = {sqlite3_str_new(NULL), sqlite3_str_new(NULL), sqlite3_str_new(NULL),
                    sqlite3_str_new(NULL), sqlite3_str_new(NULL)};
    list_row(writing, values, &to);
    return (ctr_slots){.schema = tracked->schema,
                       .table = tracked->counters,
                       .name = tracked->table,
                       .conflict = ctr_tracked_conflict(tracked),
                       .constraint = ctr_text_finish(conn, to.match),
                       .columns = ctr_text_finish(conn, to.columns),
                       .values = ctr_text_finish(conn, to.values),
                       .changes = ctr_text_finish(conn, to.changes),
                       .value = ctr_text_finish(conn, to.present)};
}

static void make_lists(ctr_writing *writing)
{
    ctr_tracked *tracked = writing->tracked;
    ctr_writing counters = *writing;
    counters.without_counters = false;
    tracked->lists = make_row_lists(&counters, NULL);
    if (ctr_rc(writing->tracked->conn) != SQLITE_OK) ctr_tracked_free_lists(&tracked->lists);
}

/* Takes a statement; NULL on error. */
static ctr_slot *take_shown(ctr_writing *writing, ctr_tab_sql which)
{
    ctr_tracked *tracked = writing->tracked;
    if (ctr_rc(writing->tracked->conn) == SQLITE_OK && !tracked->lists.schema) make_lists(writing);
    return ctr_tab_take_shown(writing->tab, which, tracked, &tracked->lists);
}

/* Gives it back. `proven`: it has found what it looked for, so no authorizer hid a column when it
 * was prepared. */
static void give_shown_back(ctr_writing *writing, ctr_slot *slot, bool proven)
{
    bool again = sqlite3_stmt_status(slot->kept.statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    slot->checked = proven || (slot->checked && !again);
    ctr_tab_give_back(writing->tab, slot);
}

static void bind_shown(ctr_conn *conn, sqlite3_stmt *statement, int parameter,
                       const ctr_shown *shown)
{
    if (shown->value)
        ctr_problem_sqlite(conn, ctr_text_bind_value(statement, parameter, shown->value));
    else if (shown->null)
        sqlite3_bind_null(statement, parameter);
    else
        sqlite3_bind_int64(statement, parameter, shown->n);
}

/* Binds the key, and the values that are given. */
static int bind_row(ctr_writing *writing, sqlite3_stmt *statement, const ctr_shown *to,
                    const ctr_shown *from)
{
    const ctr_tracked *tracked = writing->tracked;
    const int n = tracked->shape->n_counters;
    ctr_tracked_bind_key(tracked, statement, writing->keys);
    for (int i = 0; to && i < ctr_tracked_travel(tracked); i++)
        if (i < n ? ctr_tracked_column_of(tracked, i) != NULL : ctr_tracked_is_given(&to[i]))
            bind_shown(tracked->conn, statement, new_parameter(writing, i), &to[i]);
    for (int i = 0; from && i < n; i++)
        if (ctr_tracked_column_of(tracked, i))
            bind_shown(tracked->conn, statement, old_parameter(writing, i), &from[i]);
    return ctr_rc(tracked->conn);
}

/* Binds the row id of a new row; see list_place. */
static void bind_place(const ctr_writing *writing, sqlite3_stmt *statement)
{
    if (ctr_tracked_has_homes(writing->tracked))
        sqlite3_bind_int64(statement, rowid_parameter(writing), writing->rowid);
}

/* ---- writing the table ----------------------------------------------------------------------- */

/* The table's answer to a statement. */
typedef enum answer_of_table {
    TABLE_TAKES,
    TABLE_REFUSES, /* a constraint failed, a trigger ignored it, or no row matched: no change */
    TABLE_DEFERS   /* a deferred foreign key is broken, and would fail the COMMIT */
} answer_of_table;

bool ctr_writing_is_refusal(int rc)
{
    int primary = rc & 0xff;
    return primary == SQLITE_CONSTRAINT || primary == SQLITE_ERROR || primary == SQLITE_MISMATCH ||
           primary == SQLITE_TOOBIG;
}

void ctr_writing_tell_rollback(const ctr_tracked *tracked)
{
    ctr_problem_clear(tracked->conn);
    ctr_problem_set(tracked->conn, SQLITE_ABORT,
                    "a constraint or a trigger of the tracked table %s rolled back the transaction",
                    tracked->table);
}

/* Keeps the first error by which the table refuses the row. */
static void note_why(ctr_writing *writing, const char *error)
{
    if (!writing->why) writing->why = ctr_text_copy(writing->tracked->conn, error);
}

void ctr_writing_forget_why(ctr_writing *writing)
{
    sqlite3_free(writing->why);
    writing->why = NULL;
}

static answer_of_table step_shown(ctr_writing *writing, sqlite3_stmt *statement)
{
    sqlite3 *db = writing->tracked->conn->db;
    ctr_conn *conn = writing->file->conn;
    unsigned nth = conn->ended;
    bool alone = sqlite3_get_autocommit(db);
    ctr_spill_check(writing->file);
    int rc = ctr_run_to_end(statement);
    bool refused = ctr_writing_is_refusal(rc);
    if (refused)
        note_why(writing, sqlite3_errmsg(db));
    else
        ctr_problem_sqlite(writing->tracked->conn, rc);
    int changes = sqlite3_changes(db);
    sqlite3_reset(statement);
    bool gone = conn->ended != nth || (!alone && sqlite3_get_autocommit(db));
    if (refused && gone) ctr_writing_tell_rollback(writing->tracked);
    if (refused && changes > 0 && writing->unsaved)
        ctr_problem_set(conn, SQLITE_CONSTRAINT,
                        "a trigger of the tracked table %s says FAIL after a merged row was "
                        "written: counter_pull, which can undo it, leaves that waiting",
                        writing->tracked->table);
    if (refused) writing->aside = writing->ended = false; /* rolled back with the statement */
    if (refused || changes == 0 || ctr_rc(writing->tracked->conn) != SQLITE_OK)
        return TABLE_REFUSES;
    bool defers = ctr_foreign_broken(db);
    if (defers) note_why(writing, CTR_FOREIGN_KEY_FAILED);
    return defers ? TABLE_DEFERS : TABLE_TAKES;
}

static answer_of_table run_shown(ctr_writing *writing, sqlite3_stmt *statement,
                                 const ctr_shown *want)
{
    ctr_conn *conn = writing->tracked->conn;
    enum { MOST_LEVELS = 20 };
    sqlite3 *db = conn->db;
    ctr_writing *outer = writing->file->writing;
    writing->level = outer ? outer->level + 1 : 1;
    if (writing->level > MOST_LEVELS) {
        /* No refusal: each level would take it for one, and go on. */
        ctr_problem_set(conn, SQLITE_ABORT,
                        "the triggers of the tracked table %s come back to it more than %d times",
                        writing->tracked->table, MOST_LEVELS);
        return TABLE_REFUSES;
    }
    sqlite3_int64 inserted = sqlite3_last_insert_rowid(db);
    writing->want = want;
    writing->reported = writing->aside = writing->ended = writing->left = false;
    writing->file->writing = writing;
    conn->merging += !writing->commanded;
    answer_of_table answer = step_shown(writing, statement);
    conn->merging -= !writing->commanded;
    writing->file->writing = outer;
    sqlite3_set_last_insert_rowid(db, inserted);
    return answer;
}

static answer_of_table ask_table(ctr_writing *writing, sqlite3_stmt *statement,
                                 const ctr_shown *want)
{
    ctr_conn *conn = writing->tracked->conn;
    if (!writing->together) ctr_foreign_refuse_broken(conn, writing->tracked->table);
    return ctr_rc(conn) == SQLITE_OK ? run_shown(writing, statement, want) : TABLE_REFUSES;
}

/* An authorizer that ignores the UPDATE of a column leaves its value, and SQLite counts a change.
 * Our trigger reports each change, unless a newer trigger of the application keeps it from that. */
static bool has_taken(ctr_writing *writing, const ctr_shown *from, const ctr_shown *to)
{
    const ctr_tracked *tracked = writing->tracked;
    if (writing->reported || ctr_tracked_same_row(tracked, from, to)) return true;
    size_t n = (size_t)tracked->shape->n_counters;
    ctr_shown *shown = sqlite3_malloc64(n * sizeof *shown);
    if (!shown) ctr_problem_nomem(writing->tracked->conn);
    bool is = shown && ctr_writing_look(writing, writing->keys, shown, NULL) &&
              ctr_tracked_same_row(tracked, shown, to);
    sqlite3_free(shown);
    return is;
}

static void bind_rowid(const ctr_writing *writing, sqlite3_stmt *row)
{
    if (writing->by_rowid)
        sqlite3_bind_int64(row, rowid_parameter(writing),
                           likely_rowid(&writing->likely, writing->rowid));
}

/* Finds the rowid by the key. Returns false if no other row than the one that was tried has it. */
static bool find_rowid(ctr_writing *writing)
{
    ctr_conn *conn = writing->tracked->conn;
    if (!writing->by_rowid || ctr_rc(conn) != SQLITE_OK) return false;
    ctr_slot *slot = take_shown(writing, CTR_TAB_FIND_SHOWN);
    if (!slot) return false;
    sqlite3_stmt *row = slot->kept.statement;
    bind_row(writing, row, NULL, NULL);
    ctr_run run = ctr_run_on(conn, writing->tracked->schema, NULL);
    bool there = ctr_run_row(&run, row);
    int64_t rowid = there ? sqlite3_column_int64(row, 0) : 0;
    if (there && sqlite3_column_type(row, 0) == SQLITE_NULL)
        ctr_run_refuse_hidden(&run, row, 1, writing->tracked->table);
    give_shown_back(writing, slot, there);
    if (!there) return false;
    bool tried = writing->likely.steady;
    return !note_likely(&writing->likely, writing->rowid, rowid) || !tried;
}

/* Keeps the error of a statement that cannot be prepared, because a trigger names a missing table,
 * as the reason for which the table refuses the row. */
static void refuse_unprepared(ctr_writing *writing, ctr_problem *failed)
{
    bool is_refused = failed->rc != SQLITE_OK && ctr_writing_is_refusal(failed->rc);
    ctr_problem_end(failed);
    if (is_refused) note_why(writing, ctr_problem_text(failed));
    ctr_problem_raise_if(writing->tracked->conn, failed, !is_refused);
}

/* Takes a statement that writes; NULL, without an error, if the table refuses it. */
static ctr_slot *take_writing(ctr_writing *writing, ctr_tab_sql which)
{
    ctr_conn *conn = writing->tracked->conn;
    ctr_problem failed;
    if (ctr_rc(conn) != SQLITE_OK) return NULL;
    ctr_problem_try(conn, &failed);
    ctr_slot *slot = take_shown(writing, which);
    refuse_unprepared(writing, &failed);
    return slot;
}

static bool write_whole(ctr_writing *writing, const ctr_shown *from, const ctr_shown *to);

static bool has_values(const ctr_writing *writing, const ctr_shown *to)
{
    for (int i = writing->tracked->shape->n_counters; i < ctr_tracked_travel(writing->tracked); i++)
        if (ctr_tracked_is_given(&to[i])) return true;
    return false;
}

bool ctr_writing_update(ctr_writing *writing, const ctr_shown *from, const ctr_shown *to)
{
    if (has_values(writing, to) || (writing->begins && writing->tracked->n_local > 0))
        return write_whole(writing, from, to);
    if (!has_columns(writing))
        return ctr_rc(writing->tracked->conn) == SQLITE_OK; /* there is nothing to show */
    if (writing->tracked->fails) return write_whole(writing, from, to);
    ctr_slot *slot = take_writing(writing, CTR_TAB_SHOW);
    if (!slot) return false;
    sqlite3_stmt *row = slot->kept.statement;
    answer_of_table answer = TABLE_REFUSES;
    bind_row(writing, row, to, from);
    bind_rowid(writing, row);
    if (!writing->by_rowid || writing->likely.steady) answer = ask_table(writing, row, to);
    if (answer == TABLE_REFUSES && find_rowid(writing)) {
        bind_rowid(writing, row);
        answer = ask_table(writing, row, to);
    }
    /* Then the old values are written back. */
    if (answer == TABLE_DEFERS && bind_row(writing, row, from, to) == SQLITE_OK)
        run_shown(writing, row, from);
    bool taken = answer == TABLE_TAKES && has_taken(writing, from, to);
    bool changed = !ctr_tracked_same_row(writing->tracked, from, to);
    give_shown_back(writing, slot, taken && changed);
    return taken;
}

bool ctr_writing_savepoint(ctr_conn *conn)
{
    ctr_problem failed;
    ctr_run run = ctr_run_on(conn, NULL, NULL);
    if (ctr_rc(conn) != SQLITE_OK) return false;
    ctr_problem_try(conn, &failed);
    ctr_run_do(&run, CTR_SQL_TRACK_SAVEPOINT, NULL);
    bool opened = failed.rc == SQLITE_OK;
    ctr_problem_raise_if(conn, &failed, (failed.rc & 0xff) != SQLITE_BUSY);
    return opened;
}

/* Steps a statement within a savepoint, where foreign keys are enforced or a trigger may say FAIL,
 * so that the changes of triggers and cascades can be rolled back, too. While a statement is
 * writing, SQLite opens no savepoint. Then our trigger fails a statement that has broken a foreign
 * key; a key that is broken after our trigger is an error. Rows that are written together may break
 * one meanwhile. */
static bool ask_in_savepoint(ctr_writing *writing, sqlite3_stmt *statement, const ctr_shown *want)
{
    ctr_conn *conn = writing->tracked->conn;
    ctr_run run = ctr_run_on(conn, writing->tracked->schema, NULL);
    bool fails = writing->tracked->fails;
    bool may_break = writing->together || !ctr_foreign_enforced(conn->db);
    bool in_savepoint = (fails || !may_break) && ctr_writing_savepoint(conn);
    writing->unsaved = !in_savepoint && !writing->together;
    answer_of_table answer = ask_table(writing, statement, want);
    writing->unsaved = false;
    bool deferred = answer == TABLE_DEFERS && !writing->together;
    if (in_savepoint && (deferred || (fails && answer == TABLE_REFUSES)) &&
        ctr_rc(conn) == SQLITE_OK) {
        ctr_run_do(&run, CTR_SQL_TRACK_ROLL_BACK, NULL);
        writing->aside = writing->ended = false;
        writing->undone = true;
    }
    if (in_savepoint && ctr_rc(conn) == SQLITE_OK) ctr_run_do(&run, CTR_SQL_TRACK_RELEASE, NULL);
    if (!in_savepoint && deferred)
        ctr_problem_set(conn, SQLITE_CONSTRAINT,
                        "a merged row of the tracked table %s would break a foreign key: "
                        "counter_pull, which can undo it, leaves it waiting",
                        writing->tracked->table);
    return answer != TABLE_REFUSES && !deferred;
}

static bool write_in_savepoint(ctr_writing *writing, ctr_tab_sql which, const ctr_shown *want)
{
    ctr_slot *slot = take_writing(writing, which);
    if (!slot) return false;
    bind_row(writing, slot->kept.statement, want, NULL);
    if (want) bind_place(writing, slot->kept.statement);
    bool taken = ask_in_savepoint(writing, slot->kept.statement, want);
    give_shown_back(writing, slot, taken);
    return taken;
}

/* ---- whole rows ------------------------------------------------------------------------------ */

/* Returns a statement on the counters and the regular columns that are given. It stays for the next
 * row, which mostly has the same ones. */
static sqlite3_stmt *take_whole(ctr_writing *writing, bool inserts, const ctr_shown *to)
{
    ctr_conn *conn = writing->tracked->conn;
    struct ctr_whole_statement *whole = &writing->whole[!inserts                    ? 0
                                                        : writing->without_counters ? 2
                                                                                    : 1];
    size_t n = (size_t)writing->tracked->n_regular;
    const ctr_shown *regular = to + writing->tracked->shape->n_counters;
    bool same = whole->statement != NULL && whole->begins == writing->begins;
    for (size_t i = 0; i < n && same; i++)
        same = whole->given[i] == ctr_tracked_is_given(&regular[i]);
    if (same || ctr_rc(conn) != SQLITE_OK) return whole->statement;
    sqlite3_finalize(whole->statement);
    whole->statement = NULL;
    whole->begins = writing->begins;
    if (!whole->given) whole->given = sqlite3_malloc64(n + 1);
    if (!whole->given) ctr_problem_nomem(conn);
    for (size_t i = 0; whole->given && i < n; i++)
        whole->given[i] = ctr_tracked_is_given(&regular[i]);
    ctr_run run = ctr_run_on(conn, NULL, NULL);
    run.slots = make_row_lists(writing, to);
    ctr_sql sql = inserts ? CTR_SQL_TRACK_SHOW_NEW : CTR_SQL_TRACK_SHOW;
    if (ctr_rc(conn) == SQLITE_OK) {
        ctr_problem failed;
        ctr_problem_try(conn, &failed);
        whole->statement = ctr_run_prepare(&run, sql);
        refuse_unprepared(writing, &failed);
    }
    ctr_tracked_free_lists(&run.slots);
    return whole->statement;
}

/* Writes counters and regular columns in one statement, so that NOT NULL and CHECK see the whole
 * row. `from` is NULL for a row that is inserted. */
static bool write_whole(ctr_writing *writing, const ctr_shown *from, const ctr_shown *to)
{
    sqlite3_stmt *row = take_whole(writing, !from, to);
    if (!row) return false;
    bind_row(writing, row, to, from);
    if (!from) bind_place(writing, row);
    bool taken = ask_in_savepoint(writing, row, to);
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return taken && (!from || has_taken(writing, from, to));
}

static void close_whole(ctr_writing *writing)
{
    for (int i = 0; i < 3; i++) {
        sqlite3_finalize(writing->whole[i].statement);
        sqlite3_free(writing->whole[i].given);
    }
}

bool ctr_writing_delete(ctr_writing *writing)
{
    ctr_conn *conn = writing->tracked->conn;
    if (!writing->together && ctr_foreign_has_children(&writing->foreign, writing->keys)) {
        note_why(writing, CTR_FOREIGN_KEY_FAILED);
        return false;
    }
    if (write_in_savepoint(writing, CTR_TAB_SHOW_DELETED, NULL)) return true;
    /* A trigger may have deleted it before the statement did. */
    return ctr_rc(conn) == SQLITE_OK && !ctr_writing_look(writing, writing->keys, NULL, NULL) &&
           ctr_rc(conn) == SQLITE_OK;
}

bool ctr_writing_insert(ctr_writing *writing, const ctr_shown *to)
{
    if (has_values(writing, to)) return write_whole(writing, NULL, to);
    return write_in_savepoint(writing, CTR_TAB_SHOW_NEW, to);
}

bool ctr_writing_look(ctr_writing *writing, sqlite3_value **keys, ctr_shown *shown,
                      bool *is_integer)
{
    bool whole = true, any_null = false;
    const ctr_shape *shape = writing->tracked->shape;
    writing->keys = keys;
    ctr_slot *slot = take_shown(writing, CTR_TAB_SHOWN);
    if (!slot) return false;
    sqlite3_stmt *row = slot->kept.statement;
    bind_row(writing, row, NULL, NULL);
    ctr_run run = ctr_run_on(writing->tracked->conn, writing->tracked->schema, NULL);
    bool there = ctr_run_row(&run, row);
    for (int i = 0, column = shape->n_keys; there && shown && i < shape->n_counters; i++) {
        if (!ctr_tracked_column_of(writing->tracked, i)) continue;
        int type = sqlite3_column_type(row, column);
        shown[i].null = type == SQLITE_NULL;
        shown[i].n = sqlite3_column_int64(row, column);
        any_null = any_null || shown[i].null;
        if (type == SQLITE_FLOAT)
            whole = whole && sqlite3_column_double(row, column) == (double)shown[i].n;
        else
            whole = whole && (type == SQLITE_NULL || type == SQLITE_INTEGER);
        column++;
    }
    give_shown_back(writing, slot, there && shown && !any_null);
    if (is_integer) *is_integer = whole;
    return there;
}

/* The DEFAULT is an expression without columns, so it can stand in a SELECT. */
sqlite3_value *ctr_writing_default(ctr_writing *writing, const char *column)
{
    ctr_conn *conn = writing->tracked->conn;
    const ctr_described *described = ctr_ordinary_column(&writing->tracked->ordinary, column);
    if (!described || ctr_rc(conn) != SQLITE_OK) return NULL;
    sqlite3_value *value = NULL;
    ctr_problem failed;
    ctr_problem_try(conn, &failed);
    ctr_run run = ctr_run_on(conn, writing->tracked->schema, NULL);
    char *expression = ctr_constraints_default(conn, described);
    run.slots.value = expression;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_VALUE);
    if (ctr_run_row(&run, row)) {
        value = sqlite3_value_dup(sqlite3_column_value(row, 0));
        if (!value) ctr_problem_nomem(conn);
    }
    sqlite3_finalize(row);
    sqlite3_free(expression);
    bool is_refused = failed.rc != SQLITE_OK && ctr_writing_is_refusal(failed.rc);
    ctr_problem_raise_if(conn, &failed, !is_refused);
    return value;
}

/* Returns whether an expression is true of the row with this key; the value, unless it is NULL, is
 * the parameter behind the key. */
static bool is_true_of(ctr_writing *writing, sqlite3_value **keys, const char *expression,
                       sqlite3_value *value)
{
    if (ctr_rc(writing->tracked->conn) != SQLITE_OK) return false;
    if (!writing->tracked->lists.schema) make_lists(writing);
    ctr_run run = ctr_run_on(writing->tracked->conn, writing->tracked->schema, NULL);
    run.slots = writing->tracked->lists;
    run.slots.columns = expression;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_LOOK);
    writing->keys = keys;
    if (row) bind_row(writing, row, NULL, NULL);
    if (row && value)
        ctr_problem_sqlite(writing->tracked->conn,
                           ctr_text_bind_value(row, new_parameter(writing, 0), value));
    bool is = ctr_run_row(&run, row) && sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    return is;
}

bool ctr_writing_is_unlike_default(ctr_writing *writing, sqlite3_value **keys, const char *column)
{
    const ctr_described *described = ctr_ordinary_column(&writing->tracked->ordinary, column);
    if (!described) return false;
    return is_true_of(writing, keys,
                      ctr_constraints_unlike_default(writing->tracked->conn, described), NULL);
}

bool ctr_writing_is_unlike(ctr_writing *writing, sqlite3_value **keys, const char *column,
                           sqlite3_value *value)
{
    const int behind = new_parameter(writing, 0);
    const char *unlike = ctr_text_print(
        writing->tracked->conn, "\"%w\" COLLATE BINARY IS NOT ?%d OR typeof(\"%w\") <> typeof(?%d)",
        column, behind, column, behind);
    return is_true_of(writing, keys, unlike, value);
}

/* ---- life ------------------------------------------------------------------------------------ */

ctr_writing ctr_writing_on(ctr_tracked *tracked, ctr_tab *tab)
{
    return (ctr_writing){.tracked = tracked,
                         .tab = tab,
                         .file = tab->file,
                         .foreign = {.tracked = tracked, .file = tab->file},
                         .by_rowid = tracked_has_rowids(tracked)};
}

/* A statement that is not proven may hide columns, as an authorizer wanted that is gone when it is
 * used again. */
void ctr_writing_close(ctr_writing *writing)
{
    ctr_tab *tab = writing->tab;
    for (ctr_tab_sql which = CTR_TAB_SHOW; tab && which <= CTR_TAB_FIND_SHOWN; which++) {
        ctr_slot *slot = &tab->slots[which];
        if (!slot->checked && !slot->kept.taken) ctr_conn_close_kept(&slot->kept);
    }
    close_whole(writing);
    ctr_writing_forget_why(writing);
    ctr_foreign_close(&writing->foreign);
    *writing = (ctr_writing){0};
}
