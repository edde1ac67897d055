/* tracked/reports.c - the counter table of a tracked table sees and shows that table. */
#include "tracked/tracked.h"

#include <string.h>

const char *ctr_reports_tracked_table(const ctr_table *table, ctr_problem *problem)
{
    const ctr_objects *objects = ctr_file_objects(table->file, problem);
    return objects ? ctr_triggers_table(objects, table->name, problem) : NULL;
}

static void close_look(ctr_table *table)
{
    if (table->reports->looks) ctr_showing_close(table->reports->looks);
    sqlite3_free(table->reports->looks);
    table->reports->looks = NULL;
    table->reports->looked = false;
}

void ctr_reports_open(ctr_table *table, ctr_problem *problem)
{
    table->reports = sqlite3_malloc64(sizeof *table->reports);
    if (table->reports)
        *table->reports = (ctr_reports){.noted = false};
    else
        ctr_problem_nomem(problem);
}

void ctr_reports_close(ctr_table *table)
{
    if (!table->reports) return;
    close_look(table);
    sqlite3_free(table->reports->may_go);
    sqlite3_free(table->reports);
    table->reports = NULL;
}

ctr_opening *ctr_reports_opening(const ctr_table *table)
{
    ctr_opening *opening = table->joined.conn->opening;
    bool is = opening && sqlite3_stricmp(opening->schema, table->schema) == 0 &&
              sqlite3_stricmp(opening->counters, table->name) == 0;
    return is ? opening : NULL;
}

/* The view is kept until the schema changes. SQLite does not always make a new object of this table
 * then: counter_replicate of a new column changes the triggers alone. A view that shows a row just
 * now is in use. */
ctr_showing *ctr_reports_look(ctr_table *table, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return NULL;
    if (table->reports->looked_in != table->file->schemas && !ctr_own_write_runs(table->file))
        close_look(table);
    if (table->reports->looked) return table->reports->looks;
    ctr_showing *looks = sqlite3_malloc64(sizeof *looks);
    if (!looks) {
        ctr_problem_nomem(problem);
        return NULL;
    }
    if (ctr_showing_look(looks, table->rows->tab, problem)) {
        table->reports->looks = looks;
    } else {
        ctr_showing_close(looks);
        sqlite3_free(looks);
    }
    table->reports->looked = problem->rc == SQLITE_OK;
    table->reports->looked_in = table->file->schemas;
    return table->reports->looks;
}

/* The write fires triggers, which may insert another key here, so the key is copied. */
void ctr_reports_show(ctr_table *table, bool is_trigger, const ctr_shown *from,
                      const ctr_summary *before, const ctr_summary *after, ctr_problem *problem)
{
    ctr_showing showing;
    int64_t rowid = table->rows->rowid;
    size_t size = (size_t)table->shape.n_keys * sizeof *table->keys;
    sqlite3_value **keys = sqlite3_malloc64(size);
    if (keys)
        memcpy(keys, table->keys, size);
    else
        ctr_problem_nomem(problem);
    ctr_tab *tab = table->rows->tab;
    bool open = is_trigger ? ctr_showing_look(&showing, tab, problem)
                           : ctr_showing_open(&showing, tab, problem) == SQLITE_OK;
    if (open) ctr_showing_row(&showing, rowid, keys, from, before, after, problem);
    ctr_showing_close(&showing);
    sqlite3_free(keys);
}

void ctr_reports_note_names(ctr_table *table, ctr_problem *problem)
{
    unsigned nth = table->joined.conn->ended + 1;
    if (table->reports->noted) return;
    if (ctr_tracked_note(table->file, table->name, &table->shape, problem))
        table->reports->noted_in = nth;
    table->reports->noted = problem->rc == SQLITE_OK && table->reports->noted_in != nth;
}

/* =================================================================================================
 * trigger_rows - takes rows that the triggers of a tracked table insert into its counter
 * table.
 *
 *     _event            key and counters     _was_...
 *
 *     'inserted'        key, NEW values                     also after REPLACE removed a row
 *     'updated'         key, NEW values      OLD values     the key is the same
 *     'written'         key                                 _marks: which regular columns
 *     'deleted'         key, OLD values
 *     'may go'          key                                 BEFORE: OR REPLACE would remove it
 *     'may go anyway'   key                                 so would a constraint of the table
 *     'gone'                                                AFTER: looks up the rows that may go
 *
 * counter_track compares the table with its counters, and inserts:
 *
 *     'found'           key, values
 *     'found or apart'  key, values                         the same if some rows are apart
 *     'missing'             key                         they are only seen
 *     'missing, deleted'    key                         a DELETE is made up for
 *     'missing, restored'   key                         the row waits to be inserted
 *
 * The tracked table has changed already. tracked/reconcile.c counts the row. */

/* ---- values ---------------------------------------------------------------------------------- */

/* A tracked column takes a whole number or NULL. Text that looks like a number is refused: in a
 * column without affinity it stays text. An old value (`was`) may be anything; otherwise a wrong
 * one could never be corrected. The OLD values follow the NEW values in an UPDATE; in a DELETE they
 * are the only ones. */
static int take_values(ctr_table *table, sqlite3_value **columns, ctr_shown *shown, bool behind,
                       bool was, ctr_problem *problem)
{
    sqlite3_value *given = columns[ctr_table_marks(&table->shape)];
    const char *marks = ctr_text_value(given, problem);
    int n_marks = marks ? sqlite3_value_bytes(given) : 0;
    for (int i = 0; i < table->shape.n_counters; i++) {
        sqlite3_value *value = columns[behind ? ctr_table_was(&table->shape, i)
                                              : ctr_table_column(table->shape.counters[i])];
        char mark = i < n_marks ? marks[i] : '1';
        int type = sqlite3_value_type(value);
        shown[i] =
            (ctr_shown){.null = type == SQLITE_NULL, .none = mark == '0', .adopted = mark == '2'};
        if (shown[i].null || problem->rc != SQLITE_OK) continue;
        if (type == SQLITE_INTEGER) {
            shown[i].n = sqlite3_value_int64(value);
            continue;
        }
        if (type == SQLITE_FLOAT && ctr_arg_take_integer(table->db, value, &shown[i].n, problem))
            continue;
        shown[i].odd = was;
        if (was) continue;
        char *refusal = ctr_arg_integer_refusal(value);
        if (!refusal) ctr_problem_nomem(problem);
        ctr_problem_set(problem, SQLITE_MISMATCH, "column %s: a tracked column takes %s",
                        ctr_shape_counter_name(&table->shape, i), refusal);
        sqlite3_free(refusal);
    }
    return problem->rc;
}

/* ---- the table ------------------------------------------------------------------------------- */

typedef void event_call(ctr_tracked_row *row, ctr_problem *problem);

static void row_may_go(ctr_tracked_row *row, ctr_problem *problem)
{
    if (sqlite3_vtab_on_conflict(row->table->db) == SQLITE_REPLACE)
        ctr_reconcile_may_go(row, problem);
}

static const struct event {
    const char *what;
    event_call *call; /* or NULL */
    ctr_row_event event;
    bool has_key, has_values;
    bool replaces; /* rows that may be gone are looked up after it */
    bool looks;    /* some row is apart; it may be this one */
} EVENTS[] = {
    {"updated", ctr_reconcile_row, CTR_ROW_UPDATED, .has_key = true, .has_values = true},
    {"written", ctr_stamping_write, CTR_ROW_WRITTEN, .has_key = true},
    {"inserted", ctr_reconcile_row, CTR_ROW_INSERTED, .has_key = true, .has_values = true,
     .replaces = true},
    {"deleted", ctr_reconcile_deleted, CTR_ROW_DELETED, .has_key = true, .has_values = true,
     .replaces = true},
    {"may go", row_may_go, CTR_ROW_MAY_GO, .has_key = true},
    {"found", ctr_reconcile_found, CTR_ROW_FOUND, .has_key = true, .has_values = true},
    {"missing", ctr_reconcile_missing, CTR_ROW_MISSING, .has_key = true},
    {"missing, deleted", ctr_reconcile_missing_deleted, CTR_ROW_MISSING, .has_key = true},
    {"missing, restored", ctr_reconcile_missing_restored, CTR_ROW_MISSING, .has_key = true},
    {"gone", NULL, CTR_ROW_MAY_GO, .replaces = true},
    {"may go anyway", ctr_reconcile_may_go, CTR_ROW_MAY_GO, .has_key = true},
    {"found or apart", ctr_reconcile_found, CTR_ROW_FOUND, .has_key = true, .has_values = true,
     .looks = true},
};

/* Room for a few counters on the stack. */
enum { A_FEW = 4 };
typedef struct row_room {
    ctr_shown shown[2 * A_FEW];
    ctr_summary states[2 * A_FEW];
} row_room;

/* The caller frees it with free_row_room. */
static bool make_row_room(ctr_tracked_row *row, row_room *few, ctr_problem *problem)
{
    size_t n = (size_t)row->table->shape.n_counters;
    bool fits = n <= A_FEW;
    row->now = fits ? few->shown : sqlite3_malloc64(2 * n * sizeof *row->now);
    row->before = fits ? few->states : sqlite3_malloc64(2 * n * sizeof *row->before);
    if (!row->now || !row->before) {
        ctr_problem_nomem(problem);
        return false;
    }
    row->was = row->now + n;
    row->after = row->before + n;
    return true;
}

static void free_row_room(const ctr_tracked_row *row, const row_room *few)
{
    if (row->now != few->shown) sqlite3_free(row->now);
    if (row->before != few->states) sqlite3_free(row->before);
}

/* Takes the key and the values. A value that is no integer is reported with its row. */
static void take_handed(ctr_tracked_row *row, sqlite3_value **columns, const struct event *event,
                        ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (event->has_key) ctr_write_collect_key(table, columns, problem);
    if (problem->rc == SQLITE_OK && event->has_values)
        take_values(table, columns, row->now, false, event->event == CTR_ROW_DELETED, problem);
    if (problem->rc != SQLITE_MISMATCH || !event->has_values) return;
    char *key = ctr_access_given_key_text(table, problem);
    if (key) ctr_problem_where(problem, "row %s", key);
    sqlite3_free(key);
}

/* Fails for a row that none of our triggers inserts. */
static const struct event *find_event(const ctr_shape *shape, sqlite3_value **columns,
                                      ctr_problem *problem)
{
    sqlite3_value *value = columns[ctr_table_event(shape)];
    const char *what = ctr_text_value(value, problem);
    bool alone = !ctr_table_given(columns[CTR_COLUMN_COMMAND]) &&
                 !ctr_table_given(columns[ctr_table_column(shape->n_columns)]);
    for (size_t i = 0; what && alone && i < sizeof EVENTS / sizeof *EVENTS; i++)
        if (strcmp(EVENTS[i].what, what) == 0) return &EVENTS[i];
    char *shown = ctr_problem_describe_value(value);
    if (!shown) ctr_problem_nomem(problem);
    ctr_problem_set(problem, SQLITE_ERROR,
                    "_event is for the triggers of the tracked table, which insert no such row: %s",
                    shown ? shown : "");
    sqlite3_free(shown);
    return NULL;
}

static bool take_reported(ctr_table *table, sqlite3_value **columns, ctr_problem *problem)
{
    if (!ctr_table_given(columns[ctr_table_event(&table->shape)])) return false;
    const struct event *event = find_event(&table->shape, columns, problem);
    table->handed = event != NULL;
    if (!event) return true;

    row_room few;
    ctr_tracked_row row = {.table = table,
                           .event = event->event,
                           .looks = event->looks,
                           .marks = columns[ctr_table_marks(&table->shape)]};
    ctr_reports_note_names(table, problem);
    if (make_row_room(&row, &few, problem)) take_handed(&row, columns, event, problem);
    bool updates = problem->rc == SQLITE_OK && event->event == CTR_ROW_UPDATED;
    bool shown = updates && ctr_own_write_is_row(table->file, table->name, table->keys, row.now);
    if (updates && !shown) take_values(table, columns, row.was, true, true, problem);
    if (problem->rc == SQLITE_OK && event->call && !shown) event->call(&row, problem);
    ctr_apart_close_row(&row.apart);
    if (problem->rc == SQLITE_OK && event->replaces && table->reports->n_may_go > 0)
        ctr_reconcile_replaced(table, problem);
    free_row_room(&row, &few);
    return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* A command makes no row of a replicated table, which would have none of its values. */
static void refuse_no_row(ctr_table *table, ctr_problem *problem)
{
    char *key = ctr_access_given_key_text(table, problem);
    ctr_problem_set(problem, SQLITE_ERROR,
                    "the replicated table has no row %s: a command changes only rows that it has",
                    key);
    sqlite3_free(key);
}

static int write_and_show(ctr_table *table, ctr_problem *problem)
{
    row_room few;
    ctr_tracked_row row = {.table = table};
    unsigned nth = table->joined.conn->ended;
    const ctr_showing *looks = ctr_reports_look(table, problem);
    if (looks) ctr_foreign_refuse_broken(table->db, looks->tracked->table, problem);
    if (table->shape.replicated && !ctr_stamping_is_live(table, problem))
        refuse_no_row(table, problem);
    if (make_row_room(&row, &few, problem)) ctr_reconcile_write(&row, problem);
    if (problem->rc == SQLITE_OK) {
        ctr_reports_show(table, false, NULL, row.before, row.after, problem);
        if (problem->rc != SQLITE_OK) ctr_conn_spoil(table->joined.conn, nth);
    }
    free_row_room(&row, &few);
    return problem->rc;
}

/* Clears the values of the rows that the floor purges. */
static void purge_rows(ctr_table *table, ctr_problem *problem)
{
    ctr_showing showing;
    unsigned nth = table->joined.conn->ended;
    if (ctr_showing_open(&showing, table->rows->tab, problem) == SQLITE_OK)
        ctr_foreign_refuse_broken(table->db, showing.tracked->table, problem);
    if (problem->rc == SQLITE_OK && ctr_access_raise(table, problem) == SQLITE_OK &&
        ctr_later_show_purged(&showing, &table->floors, problem))
        ctr_conn_spoil(table->joined.conn, nth);
    ctr_showing_close(&showing);
}

const ctr_tracker *ctr_trigger_rows_tracker(void)
{
    static const ctr_tracker TRACKER = {.open = ctr_reports_open,
                                        .close = ctr_reports_close,
                                        .tracked_table = ctr_reports_tracked_table,
                                        .take = take_reported,
                                        .write = write_and_show,
                                        .purge = purge_rows};
    return &TRACKER;
}
