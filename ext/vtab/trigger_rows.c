/* vtab/trigger_rows.c - rows that the triggers of a tracked table insert into its counter table.
 *
 *     ('row inserted', key, NEW values)              also after REPLACE removed a row
 *     ('row updated', key, NEW values, OLD values)   the key is the same
 *     ('row deleted', key, OLD values)
 *     ('row may go', key)        BEFORE: an OR REPLACE would remove it; looked up later
 *     ('row may go anyway', key)    the same if a constraint of the table says ON CONFLICT REPLACE
 *     ('rows gone')              AFTER: looks up those rows
 *
 * counter_track compares the table with its counters, and inserts:
 *
 *     ('row found', key, values)
 *     ('row found or apart', key, values)    the same if some rows are apart
 *     ('row missing', key)
 *
 * The tracked table has changed already. The difference between its values and its counters is
 * counted; in a row that is apart (track/apart.h), the difference between the new values and those
 * that the row showed, where NULL is 0. Then that row shows its counters, if the table accepts
 * them.
 *
 *                  untouched     live                                deleted
 *     a value      its value     the difference                      next life, its value
 *     NULL                       next life, without a count         the same, unless another
 *                                                                   counter of the row is live
 */
#include <string.h>

#include "sqlite/args.h"
#include "sqlite/text.h"
#include "table/stage.h"
#include "track/showing.h"
#include "vtab/table.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* A tracked column takes a whole number or NULL. Text that looks like a number is refused: in a
 * column without affinity it stays text. An old value (`was`) may be anything; otherwise a wrong
 * one could never be corrected. The OLD values follow the NEW values in an UPDATE; in a DELETE they
 * are the only ones. */
static int take_values(ctr_table *table, sqlite3_value **columns, ctr_shown *shown, bool behind,
                       bool was, ctr_problem *problem)
{
    sqlite3_value *marks = columns[ctr_table_column(table->shape.n_columns)];
    const char *lacking = ctr_text_value(marks, problem); /* '101': see track/tracked.c */
    for (int i = 0; i < table->shape.n_counters; i++) {
        sqlite3_value *value = columns[behind ? ctr_table_was(&table->shape, i)
                                              : ctr_table_column(table->shape.counters[i])];
        char mark = lacking && i < sqlite3_value_bytes(marks) ? lacking[i] : '1';
        int type = sqlite3_value_type(value);
        shown[i] =
            (ctr_shown){.null = type == SQLITE_NULL, .none = mark == '0', .adopted = mark == '2'};
        if (shown[i].null || problem->rc != SQLITE_OK) continue;
        bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
        if (number && ctr_arg_take_integer(table->db, value, &shown[i].n, problem)) continue;
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

/* ---- counting -------------------------------------------------------------------------------- */

/* Counts one counter of the row that was found: its column shows `now`, and showed `was`, or its
 * counter if `was` is NULL. */
static void count_value(ctr_table *table, int counter, const ctr_shown *was, const ctr_shown *now,
                        bool adds, ctr_problem *problem)
{
    ctr_summary state = ctr_rows_state(table->rows, counter);
    bool counts = ctr_summary_counts(&state);
    bool deleted = state.life % 2 == 0;
    if (problem->rc != SQLITE_OK || now->none) return;
    if (was && !deleted && ctr_tracked_same_shown(was, now)) return;
    if (now->null) {
        if (!adds && (counts || (deleted && !ctr_access_is_live(table))))
            ctr_write_next_life(table, counter, &(ctr_given){.is = false}, problem);
    } else if (deleted) {
        ctr_write_next_life(table, counter, &(ctr_given){.is = true, .n = now->n}, problem);
    } else if (was && !was->null) {
        ctr_write_change(table, counter, was->n, now->n, problem);
    } else if (was || adds || !counts) {
        ctr_write_add(table, counter, now->n, problem);
    } else {
        ctr_write_assign(table, counter, now->n, problem);
    }
}

/* The row of a tracked table that a trigger inserts. */
typedef struct handed_row {
    ctr_table *table;
    sqlite3_value **columns;
    ctr_shown *now, *was; /* by counter */
    ctr_summary *before, *after;
    ctr_apart_row apart;
    bool is_apart;
    bool looks; /* some row is apart; it may be this one */
} handed_row;

/* Returns whether a column of a live row shows the value of a counter that has none: NULL, or 0 if
 * NULL is not allowed. */
static bool shows_nothing(const handed_row *row, int counter, const ctr_shown *shown,
                          ctr_problem *problem)
{
    ctr_shown nothing;
    ctr_summary state = ctr_rows_state(row->table->rows, counter);
    if (ctr_summary_counts(&state) || !ctr_access_is_live(row->table)) return false;
    if (shown->null) return true;
    ctr_showing *looks = ctr_table_look(row->table, problem);
    return looks && ctr_showing_value(looks, counter, &state, &nothing) &&
           ctr_tracked_same_shown(shown, &nothing);
}

/* Returns whether the counters have the values that the row showed. */
static bool is_as_counted(const handed_row *row, ctr_problem *problem)
{
    for (int i = 0; i < row->table->shape.n_counters; i++) {
        int64_t value = 0;
        const ctr_shown *was = &row->was[i];
        ctr_summary state = ctr_rows_state(row->table->rows, i);
        bool counts = ctr_summary_counts(&state);
        if (was->none) continue;
        if (was->odd) return false;
        if (!counts && !was->null && !shows_nothing(row, i, was, problem)) return false;
        if (counts && (was->null || ctr_sum_value(&state.sum, &value) != CTR_OK || value != was->n))
            return false;
    }
    return true;
}

/* Looks up whether the row is listed as apart. Called only if the row is not as expected. */
static void look_apart(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    ctr_showing *looks = table->rows->found ? ctr_table_look(table, problem) : NULL;
    if (!looks) return;
    ctr_apart_close_row(&row->apart);
    ctr_apart_read(&looks->apart, table->rows->rowid, &row->apart, problem);
    row->is_apart = problem->rc == SQLITE_OK && (row->apart.waits || row->apart.differs);
}

/* Returns the value that a column of a row apart shows in place of its counter; NULL: it shows the
 * counter. */
static const ctr_shown *shown_apart(const handed_row *row, int counter)
{
    return row->is_apart && row->apart.differs_in[counter] ? &row->apart.shown[counter] : NULL;
}

static void write_staged(ctr_table *table, ctr_problem *problem)
{
    if (problem->rc == SQLITE_OK && ctr_stage_any(table->rows)) ctr_access_write(table, problem);
}

/* The same; it also notes the states of the counters before and after. */
static void write_counted(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    for (int i = 0; i < table->shape.n_counters; i++) {
        row->before[i] = ctr_rows_state(table->rows, i);
        row->after[i] = ctr_stage_state(table->rows, i);
    }
    write_staged(table, problem);
}

/* Shows the counters in a row that was apart, or lists it again to be shown later. While a row is
 * being written, its triggers may come back here for each row that is shown, without an end. */
static void show_again(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    int64_t rowid = table->rows->rowid;
    ctr_showing *looks = ctr_table_look(table, problem);
    bool later = ctr_writing_is_at_work(table->file) || ctr_foreign_broken(table->db);
    if (looks && later) {
        ctr_showing_set_apart(looks, rowid, row->now, row->after, problem);
    } else if (looks) {
        ctr_apart_remove(&looks->apart, rowid, problem);
        ctr_table_show(table, true, row->now, row->before, row->after, problem);
    }
}

static void write_and_show(handed_row *row, ctr_problem *problem)
{
    if (row->is_apart) {
        write_counted(row, problem);
        show_again(row, problem);
    } else {
        write_staged(row->table, problem);
    }
}

/* Returns whether the library is writing this row; then there is nothing to count. */
static bool is_being_shown(const handed_row *row, const ctr_shown *shown, ctr_problem *problem)
{
    const ctr_table *table = row->table;
    bool is = ctr_writing_is_rowid(table->file, table->name, table->rows->rowid, shown);
    if (is && ctr_writing_refuses(table->file))
        ctr_problem_set(problem, SQLITE_CONSTRAINT, "the row breaks a deferred foreign key");
    return is;
}

/* ---- triggers that run before ours ----------------------------------------------------------- */

/* Such a trigger changed rows within the statement, so our triggers reported changes in another
 * order than they happened. From then on, until the transaction ends, the rows themselves are
 * read. */
static void note_disorder(ctr_table *table)
{
    table->disorder_in = table->joined.conn->ended;
}

static bool is_disorder(const ctr_table *table)
{
    return table->disorder_in == table->joined.conn->ended;
}

/* Returns whether the row exists in the tracked table, and its present values if `shown` is not
 * NULL; they may differ from those that the trigger inserted. If the tracked table is not known,
 * returns `said`. */
static bool is_there(handed_row *row, ctr_shown *shown, bool said, ctr_problem *problem)
{
    ctr_table *table = row->table;
    ctr_showing *looks = ctr_table_look(table, problem);
    if (!looks) return said && problem->rc == SQLITE_OK;
    return ctr_writing_look(&looks->writing, table->keys, shown, NULL, problem);
}

/* While the library writes a merged value, a trigger of the application wrote another row or
 * another value. This is not counted: the file that counted the merged value has counted the
 * trigger's change, too. The row is listed as apart, and the next merge of it shows it again. Its
 * values are read: other triggers may have changed it since. */
static void set_aside(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (!is_there(row, row->now, true, problem)) return;
    for (int i = 0; i < table->shape.n_counters; i++)
        row->after[i] = ctr_rows_state(table->rows, i);
    ctr_showing *looks = ctr_table_look(table, problem);
    if (looks) ctr_showing_set_apart(looks, table->rows->rowid, row->now, row->after, problem);
    ctr_writing_note_aside(table->file, table->name, table->rows->rowid);
}

/* Refuses a row below a floor. OR IGNORE must not hide this error, because the row is in the
 * tracked table. While a merged row is written, a row of the application's triggers below a floor
 * is skipped. */
static bool is_below(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (table->rows->found) return false;
    if (ctr_writing_is_at_work(table->file)) return ctr_access_is_below(table, problem);
    if (ctr_write_check_floors(table, problem) == SQLITE_CONSTRAINT) problem->rc = SQLITE_ERROR;
    return problem->rc != SQLITE_OK;
}

static void row_may_go_anyway(handed_row *row, ctr_problem *problem)
{
    if (!ctr_replaced_note(row->table, problem) && problem->rc == SQLITE_OK)
        note_disorder(row->table); /* the insertion of the row was not reported */
}

static void row_may_go(handed_row *row, ctr_problem *problem)
{
    if (sqlite3_vtab_on_conflict(row->table->db) == SQLITE_REPLACE) row_may_go_anyway(row, problem);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void row_updated(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (take_values(table, row->columns, row->was, true, true, problem)) return;
    if (ctr_access_find(table, problem)) return;
    if (ctr_writing_is_at_work(table->file) && table->rows->found) {
        if (!is_being_shown(row, row->now, problem)) set_aside(row, problem);
        return;
    }
    if (is_below(row, problem)) return;
    bool counted = is_as_counted(row, problem);
    bool is_gone = table->rows->found && !ctr_access_is_live(table);
    if (!counted || is_gone) look_apart(row, problem);
    if ((!counted || is_gone) && !row->is_apart) note_disorder(table);
    counted = counted && !is_disorder(table);
    if (!counted && !is_there(row, row->now, true, problem)) return;
    for (int i = 0; i < table->shape.n_counters && problem->rc == SQLITE_OK; i++) {
        bool same = ctr_tracked_same_shown(&row->was[i], &row->now[i]);
        const ctr_shown *shown = shown_apart(row, i);
        if (!counted && shown) same = ctr_tracked_same_shown(shown, &row->now[i]);
        if (!counted && !shown) same = shows_nothing(row, i, &row->now[i], problem);
        if (!same)
            count_value(table, i, shown, &row->now[i], row->is_apart && row->apart.waits, problem);
    }
    write_and_show(row, problem);
}

/* If the counters were live, the new row replaced an old one, unless the counters waited for it. */
static void row_inserted(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (ctr_access_find(table, problem)) return;
    if (ctr_writing_is_at_work(table->file) && table->rows->found) {
        bool is_live = ctr_access_is_live(table), is_shown = is_being_shown(row, row->now, problem);
        if (is_live && !is_shown) set_aside(row, problem);
        if (is_live) return; /* else a trigger deleted it and inserts it again */
    }
    if (is_below(row, problem)) return;
    if (table->rows->found) look_apart(row, problem);
    if (table->rows->found && !row->is_apart) note_disorder(table);
    bool looks = table->rows->found || is_disorder(table);
    if (looks && !is_there(row, row->now, true, problem)) return;
    for (int i = 0; i < table->shape.n_counters && problem->rc == SQLITE_OK; i++)
        count_value(table, i, shown_apart(row, i), &row->now[i], row->is_apart && row->apart.waits,
                    problem);
    write_and_show(row, problem);
}

void ctr_trigger_rows_delete(ctr_table *table, ctr_problem *problem)
{
    for (int i = 0; i < table->shape.n_counters; i++)
        if (ctr_rows_state(table->rows, i).touched) ctr_write_tombstone(table, i, problem);
    write_staged(table, problem);
}

static void row_deleted(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    memcpy(row->was, row->now, (size_t)table->shape.n_counters * sizeof *row->was);
    if (ctr_access_find(table, problem)) return;
    bool is_live = table->rows->found && ctr_access_is_live(table);
    if (!is_live) note_disorder(table);
    if (!table->rows->found || is_being_shown(row, NULL, problem)) return;
    bool at_work = ctr_writing_is_at_work(table->file);
    if ((at_work || is_disorder(table)) && is_there(row, NULL, false, problem))
        return; /* inserted again */
    ctr_replaced_forget(table, table->rows->rowid);
    if (at_work || !is_live || !is_as_counted(row, problem)) look_apart(row, problem);
    ctr_writing_note_ended(table->file, table->name, table->rows->rowid);
    ctr_trigger_rows_delete(table, problem);
    if (row->is_apart) ctr_apart_remove(&table->looks->apart, table->rows->rowid, problem);
}

/* Returns the opening of the running counter_track, if it counts this value under it: tracking of
 * the column begins, and the value is not 0. */
static ctr_opening *opening_of(const ctr_table *table, int counter, const ctr_shown *value)
{
    ctr_opening *opening = table->joined.conn->opening;
    bool is = opening && opening->opens[counter] && !value->none && !value->null && value->n != 0 &&
              sqlite3_stricmp(opening->schema, table->schema) == 0 &&
              sqlite3_stricmp(opening->counters, table->name) == 0;
    return is ? opening : NULL;
}

/* For counter_track: the counters take the values of the row. */
static void row_found(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (ctr_access_find(table, problem)) return;
    memcpy(row->was, row->now, (size_t)table->shape.n_counters * sizeof *row->was);
    bool adopts = false;
    for (int i = 0; i < table->shape.n_counters; i++) adopts = adopts || row->now[i].adopted;
    bool is_gone = table->rows->found && !ctr_access_is_live(table);
    bool counted = table->rows->found && is_as_counted(row, problem) && !adopts && !is_gone;
    if (counted && !row->looks) return;
    if (!table->rows->found && ctr_access_is_below(table, problem)) return;
    look_apart(row, problem);
    if (counted && !row->is_apart) return;
    for (int i = 0; i < table->shape.n_counters && problem->rc == SQLITE_OK; i++) {
        const ctr_shown *was = shown_apart(row, i);
        bool adds = (row->is_apart && row->apart.waits) || row->now[i].adopted;
        ctr_opening *opening = opening_of(table, i, &row->now[i]);
        if (opening)
            ctr_write_open(table, opening, i, row->now[i].n, problem);
        else if (!was || was->null != row->now[i].null || was->n != row->now[i].n)
            count_value(table, i, was, &row->now[i], adds, problem);
    }
    bool counts = ctr_stage_any(table->rows);
    write_counted(row, problem);
    table->joined.conn->stats.tracked += counts;
    /* A newly tracked column also shows the counts that its counter has from other files. */
    bool shows = row->is_apart || (adopts && table->rows->found && ctr_table_look(table, problem));
    if (shows) show_again(row, problem);
}

/* For counter_track: the row is missing in the tracked table. Its counters are deleted, unless it
 * waits. */
static void row_missing(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (ctr_access_find(table, problem) || !ctr_access_is_live(table)) return;
    look_apart(row, problem);
    if (row->is_apart && row->apart.waits) return;
    ctr_trigger_rows_delete(table, problem);
    table->joined.conn->stats.tracked++;
    if (row->is_apart) ctr_apart_remove(&table->looks->apart, table->rows->rowid, problem);
}

/* ---- the table ------------------------------------------------------------------------------- */

typedef void event_call(handed_row *row, ctr_problem *problem);

static const struct event {
    const char *what;
    event_call *call; /* or NULL */
    bool has_key, has_values;
    bool is_update; /* of a row that the library may be writing */
    bool is_delete; /* its values are OLD values */
    bool replaces;  /* rows that may be gone are looked up after it */
    bool looks;     /* some row is apart; it may be this one */
} EVENTS[] = {
    {"row updated", row_updated, .has_key = true, .has_values = true, .is_update = true},
    {"row inserted", row_inserted, .has_key = true, .has_values = true, .replaces = true},
    {"row deleted", row_deleted, .has_key = true, .has_values = true, .is_delete = true,
     .replaces = true},
    {"row may go", row_may_go, .has_key = true},
    {"row found", row_found, .has_key = true, .has_values = true},
    {"row missing", row_missing, .has_key = true},
    {"rows gone", NULL, .replaces = true},
    {"row may go anyway", row_may_go_anyway, .has_key = true},
    {"row found or apart", row_found, .has_key = true, .has_values = true, .looks = true},
};

/* Room for a few counters on the stack. */
enum { A_FEW = 4 };
typedef struct row_room {
    ctr_shown shown[2 * A_FEW];
    ctr_summary states[2 * A_FEW];
} row_room;

/* The caller frees it with free_row_room. */
static bool make_row_room(handed_row *row, row_room *few, ctr_problem *problem)
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

static void free_row_room(const handed_row *row, const row_room *few)
{
    if (row->now != few->shown) sqlite3_free(row->now);
    if (row->before != few->states) sqlite3_free(row->before);
}

/* Takes the key and the values. A value that is no integer is reported with its row. */
static void take_handed(handed_row *row, const struct event *event, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (event->has_key) ctr_write_collect_key(table, row->columns, problem);
    if (problem->rc == SQLITE_OK && event->has_values)
        take_values(table, row->columns, row->now, false, event->is_delete, problem);
    if (problem->rc != SQLITE_MISMATCH || !event->has_values) return;
    char *key = ctr_access_given_key_text(table, problem);
    if (key) ctr_problem_where(problem, "row %s", key);
    sqlite3_free(key);
}

bool ctr_trigger_rows_take(ctr_table *table, sqlite3_value **columns, ctr_problem *problem)
{
    sqlite3_value *value = columns[CTR_COLUMN_COMMAND];
    if (sqlite3_value_type(value) != SQLITE_TEXT) return false;
    const char *what = ctr_text_value(value, problem);
    const struct event *event = NULL;
    for (size_t i = 0; what && !event && i < sizeof EVENTS / sizeof *EVENTS; i++)
        if (strcmp(EVENTS[i].what, what) == 0) event = &EVENTS[i];
    table->handed = event != NULL;
    if (!event) return false;

    row_room few;
    handed_row row = {.table = table, .columns = columns, .looks = event->looks};
    ctr_table_note_names(table, problem);
    if (make_row_room(&row, &few, problem)) take_handed(&row, event, problem);
    bool shown = problem->rc == SQLITE_OK && event->is_update &&
                 ctr_writing_is_row(table->file, table->name, table->keys, row.now);
    if (problem->rc == SQLITE_OK && event->call && !shown) event->call(&row, problem);
    ctr_apart_close_row(&row.apart);
    if (problem->rc == SQLITE_OK && event->replaces && table->n_may_go > 0)
        ctr_replaced_look_up(table, problem);
    free_row_room(&row, &few);
    return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

int ctr_trigger_rows_write(ctr_table *table, ctr_problem *problem)
{
    row_room few;
    handed_row row = {.table = table};
    if (!table->tracked) return ctr_access_write(table, problem);
    unsigned nth = table->joined.conn->ended;
    const ctr_showing *looks = ctr_table_look(table, problem);
    if (looks) ctr_foreign_refuse_broken(table->db, looks->tracked->table, problem);
    if (make_row_room(&row, &few, problem)) write_counted(&row, problem);
    if (problem->rc == SQLITE_OK) {
        ctr_table_show(table, false, NULL, row.before, row.after, problem);
        if (problem->rc != SQLITE_OK) ctr_conn_spoil(table->joined.conn, nth);
    }
    free_row_room(&row, &few);
    return problem->rc;
}
