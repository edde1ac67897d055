/* vtab/trigger_rows.c - what the triggers of a tracked table hand to its counter table.
 *
 *     ('row inserted', key, NEW values)              also over a row that REPLACE has removed
 *     ('row updated', key, NEW values, OLD values)   the key is the same
 *     ('row deleted', key, OLD values)
 *     ('row may go', key)        BEFORE: an OR REPLACE would remove it; it is looked for later
 *     ('row may go anyway', key)    the same where a constraint of the table says REPLACE itself
 *     ('rows gone')              AFTER: are those still there?
 *
 * and for counter_track, which holds the table against its counters:
 *
 *     ('row found', key, values)
 *     ('row found or apart', key, values)    the same where rows are apart
 *     ('row missing', key)
 *
 * The table has changed already. What is counted is the difference between the values and what the
 * counters say; in a row that is apart (track/apart.h) that between the new values and those that
 * it showed, and then the row shows its counters, if it can.
 *
 *                  untouched     live                                deleted
 *     a value      its value     the difference                      next life, its value
 *     NULL                       next life, in which nobody counts   the same: the row is there
 */
#include <string.h>

#include "identity/check.h"
#include "sqlite/array.h"
#include "sqlite/number.h"
#include "sqlite/text.h"
#include "table/stage.h"
#include "track/later.h"
#include "vtab/table.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* What the column may hold: a whole number, or NULL. Text that looks like a number stays a text in
 * a column without affinity, so it is none. What a row `was` may be anything, or it could never be
 * mended. */
static void take_shown(ctr_table *table, int counter, sqlite3_value *value, ctr_shown *shown,
                       bool was, ctr_problem *problem)
{
    int type = sqlite3_value_type(value);
    *shown = (ctr_shown){.null = type == SQLITE_NULL};
    if (shown->null || problem->rc != SQLITE_OK) return;
    bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    if (number && ctr_number_take(table->db, value, &shown->n, problem)) return;
    shown->odd = was;
    if (was) return;
    char *refusal = ctr_number_refusal(value);
    if (!refusal) {
        ctr_problem_nomem(problem);
        return;
    }
    ctr_problem_set(problem, SQLITE_MISMATCH, "column %s: a tracked column takes %s",
                    ctr_shape_counter_name(&table->shape, counter), refusal);
    sqlite3_free(refusal);
}

/* OLD values stand behind the others in an UPDATE, and in their place in a DELETE. */
static int take_values(ctr_table *table, sqlite3_value **columns, ctr_shown *shown, bool behind,
                       bool was, ctr_problem *problem)
{
    sqlite3_value *marks = columns[ctr_table_column(table->shape.n_columns)];
    const char *lacking = ctr_text_value(marks, problem); /* '101': see track/tracked.c */
    for (int i = 0; i < table->shape.n_counters; i++) {
        int column =
            behind ? ctr_table_was(&table->shape, i) : ctr_table_column(table->shape.counters[i]);
        take_shown(table, i, columns[column], &shown[i], was, problem);
        char mark = lacking && i < sqlite3_value_bytes(marks) ? lacking[i] : '1';
        shown[i].none = mark == '0';
        shown[i].adopted = mark == '2';
    }
    return problem->rc;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* One counter of the row that was found: it was `was`, if that is known, and is `now`. */
static void count_value(ctr_table *table, int counter, const ctr_shown *was, const ctr_shown *now,
                        bool adds, ctr_problem *problem)
{
    ctr_summary state = ctr_rows_state(table->rows, counter);
    bool counts = ctr_summary_counts(&state);
    if (problem->rc != SQLITE_OK || now->none) return;
    if (now->null) {
        if (!adds && (counts || state.life % 2 == 0))
            ctr_write_next_life(table, counter, &(ctr_given){.is = false}, problem);
    } else if (state.life % 2 == 0) {
        ctr_write_next_life(table, counter, &(ctr_given){.is = true, .n = now->n}, problem);
    } else if (!counts || adds) {
        ctr_write_add(table, counter, now->n, problem);
    } else if (was && !was->null) {
        ctr_write_change(table, counter, was->n, now->n, problem);
    } else {
        ctr_write_assign(table, counter, now->n, problem);
    }
}

/* What a statement on a tracked table is about. */
typedef struct handed_row {
    ctr_table *table;
    sqlite3_value **columns;
    ctr_shown *now, *was; /* by counter */
    ctr_summary *before, *after;
    ctr_apart_row apart;
    bool is_apart;
    bool looks; /* some row is apart; it may be this one */
} handed_row;

static bool is_live_row(const ctr_table *table)
{
    for (int i = 0; i < table->shape.n_counters; i++) {
        ctr_summary state = ctr_rows_state(table->rows, i);
        if (ctr_summary_is_live(&state)) return true;
    }
    return false;
}

/* Do the counters say what the row showed? */
static bool is_as_counted(const handed_row *row)
{
    for (int i = 0; i < row->table->shape.n_counters; i++) {
        int64_t value = 0;
        ctr_summary state = ctr_rows_state(row->table->rows, i);
        bool counts = ctr_summary_counts(&state);
        if (row->was[i].none) continue;
        if (row->was[i].odd) return false;
        if (row->was[i].null ? counts : !counts) return false;
        if (counts && (ctr_sum_value(&state.sum, &value) != CTR_OK || value != row->was[i].n))
            return false;
    }
    return true;
}

/* The table itself, to look at and not to write; NULL: it is not known which it is, or there is a
 * problem. It is kept, for SQLite makes another object of this table when the schema changes. */
static ctr_showing *look_at_table(ctr_table *table, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return NULL;
    if (table->looked) return table->looks;
    ctr_showing *looks = sqlite3_malloc64(sizeof *looks);
    if (!looks) {
        ctr_problem_nomem(problem);
        return NULL;
    }
    bool known = ctr_showing_look(looks, table->db, table->schema, table->name, &table->shape,
                                  table->replica, problem);
    if (known) {
        table->looks = looks;
    } else {
        ctr_showing_close(looks);
        sqlite3_free(looks);
    }
    table->looked = problem->rc == SQLITE_OK;
    return table->looks;
}

/* Is the row listed as apart? Looked up only where something is not as it should be. */
static void look_apart(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    ctr_showing *looks = table->rows->found ? look_at_table(table, problem) : NULL;
    if (!looks) return;
    ctr_apart_close_row(&row->apart);
    ctr_apart_read(&looks->apart, table->rows->rowid, &row->apart, problem);
    row->is_apart = problem->rc == SQLITE_OK && (row->apart.waits || row->apart.differs);
}

/* What a column of a row that is apart shows in place of its counter; NULL: it is not apart. */
static const ctr_shown *shown_apart(const handed_row *row, int counter)
{
    return row->is_apart && row->apart.differs_in[counter] ? &row->apart.shown[counter] : NULL;
}

static void write_staged(ctr_table *table, ctr_problem *problem)
{
    if (problem->rc == SQLITE_OK && ctr_stage_any(table->rows)) ctr_access_write(table, problem);
}

/* The same, with what the counters were before and are then. */
static void write_counted(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    for (int i = 0; i < table->shape.n_counters; i++) {
        row->before[i] = ctr_rows_state(table->rows, i);
        row->after[i] = ctr_stage_state(table->rows, i);
    }
    write_staged(table, problem);
}

/* The table shows what the row that was found counts, if it can: all of the triggers must be there,
 * unless it is one of them that asks. That fires triggers, which may come back here with another
 * key, so the key is copied. */
static void show_row_found(ctr_table *table, bool is_trigger, const ctr_shown *from,
                           const ctr_summary *before, const ctr_summary *after,
                           ctr_problem *problem)
{
    ctr_showing showing;
    int64_t rowid = table->rows->rowid;
    size_t size = (size_t)table->shape.n_keys * sizeof *table->keys;
    sqlite3_value **keys = sqlite3_malloc64(size);
    if (keys)
        memcpy(keys, table->keys, size);
    else
        ctr_problem_nomem(problem);
    bool open = is_trigger ? ctr_showing_look(&showing, table->db, table->schema, table->name,
                                              &table->shape, table->replica, problem)
                           : ctr_showing_open(&showing, table->db, table->schema, table->name,
                                              &table->shape, table->replica, problem) == SQLITE_OK;
    if (open) ctr_showing_row(&showing, rowid, keys, from, before, after, problem);
    ctr_showing_close(&showing);
    sqlite3_free(keys);
}

/* A row that was apart shows its counters, later if it cannot now. */
static void show_again(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    int64_t rowid = table->rows->rowid;
    ctr_showing *looks = look_at_table(table, problem);
    if (looks && ctr_foreign_is_broken(table->db)) { /* it is shown later */
        ctr_showing_set_apart(looks, rowid, row->now, row->after, problem);
    } else if (looks) {
        ctr_apart_remove(&looks->apart, rowid, problem);
        show_row_found(table, true, row->now, row->before, row->after, problem);
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

/* A merged value is being shown, and a trigger of the application's has written another row with
 * it, or another value: that is not counted, for whoever has counted the merged value has counted
 * this, too. The row is listed, and shown again by the next merge of it. */
static void set_aside(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    for (int i = 0; i < table->shape.n_counters; i++)
        row->after[i] = ctr_rows_state(table->rows, i);
    ctr_showing *looks = look_at_table(table, problem);
    if (looks) ctr_showing_set_apart(looks, table->rows->rowid, row->now, row->after, problem);
}

/* Is this the row that is being shown? Then there is nothing to count. */
static bool is_being_shown(const handed_row *row, const ctr_shown *shown)
{
    const ctr_table *table = row->table;
    return ctr_writing_is_rowid(table->replica, table->name, table->rows->rowid, shown);
}

/* ---- triggers that run before ours ----------------------------------------------------------- */

/* Such a trigger has changed rows within the statement, and what was handed over came in another
 * order than it happened. From then on, until the transaction ends, rows are looked at. */
static void note_disorder(ctr_table *table)
{
    table->disorder_in = table->joined.transaction->ended;
}

static bool is_disorder(const ctr_table *table)
{
    return table->disorder_in == table->joined.transaction->ended;
}

/* Is the row there? What it shows now, if asked for, which need not be what was handed over. Where
 * it is not known which table it is: what it was said to be. */
static bool is_there(handed_row *row, ctr_shown *shown, bool said, ctr_problem *problem)
{
    ctr_table *table = row->table;
    ctr_showing *looks = look_at_table(table, problem);
    if (!looks) return said && problem->rc == SQLITE_OK;
    return ctr_writing_look(&looks->writing, table->keys, shown, NULL, problem);
}

/* A row below a floor is refused, and OR IGNORE must not swallow that, for the row is there. What a
 * trigger of the application's writes while a merged row is shown is not counted there. */
static bool is_below(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (table->rows->found) return false;
    if (ctr_writing_is_at_work(table->replica)) return ctr_access_is_below(table, problem);
    if (ctr_write_check_floors(table, problem) == SQLITE_CONSTRAINT) problem->rc = SQLITE_ERROR;
    return problem->rc != SQLITE_OK;
}

/* ---- rows that OR REPLACE removes ------------------------------------------------------------ */

/* Remembers a row, to look for it afterwards. It may stay, for the statement has changed its mind,
 * or go later, for triggers of the application's write others first: so it is remembered until it
 * is gone, or the transaction ends. */
static void row_may_go_anyway(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    unsigned nth = table->joined.transaction->ended;
    if (table->may_go_in != nth) table->n_may_go = 0;
    table->may_go_in = nth;
    if (ctr_access_find(table, problem)) return;
    if (!table->rows->found) note_disorder(table); /* a row that has not been handed over */
    if (!table->rows->found) return;
    ctr_may_go it = {table->rows->rowid, ctr_writing_is_at_work(table->replica)};
    for (int i = 0; i < table->n_may_go; i++)
        if (table->may_go[i].rowid == it.rowid && table->may_go[i].at_work == it.at_work) return;
    ctr_may_go *may_go = ctr_array_room(table->may_go, &table->room_may_go,
                                        (size_t)table->n_may_go + 1, sizeof *may_go, problem);
    if (!may_go) return;
    table->may_go = may_go;
    may_go[table->n_may_go++] = it;
}

static void row_may_go(handed_row *row, ctr_problem *problem)
{
    if (sqlite3_vtab_on_conflict(row->table->db) == SQLITE_REPLACE) row_may_go_anyway(row, problem);
}

static void forget_may_go(ctr_table *table, int64_t rowid)
{
    int n = 0;
    for (int i = 0; i < table->n_may_go; i++)
        if (table->may_go[i].rowid != rowid) table->may_go[n++] = table->may_go[i];
    table->n_may_go = n;
}

/* ---- what has happened ----------------------------------------------------------------------- */

static void row_updated(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (take_values(table, row->columns, row->was, true, true, problem)) return;
    if (ctr_access_find(table, problem)) return;
    if (ctr_writing_is_at_work(table->replica) && table->rows->found) {
        if (!is_being_shown(row, row->now)) set_aside(row, problem);
        return;
    }
    if (is_below(row, problem)) return;
    bool counted = is_as_counted(row);
    if (!counted) look_apart(row, problem);
    bool is_gone = table->rows->found && !is_live_row(table);
    if ((!counted || is_gone) && !row->is_apart) note_disorder(table);
    counted = counted && !is_disorder(table);
    if (!counted && !is_there(row, row->now, true, problem)) return;
    for (int i = 0; i < table->shape.n_counters && problem->rc == SQLITE_OK; i++) {
        bool same = ctr_tracked_same_shown(&row->was[i], &row->now[i]);
        const ctr_shown *shown = shown_apart(row, i);
        if (!counted) same = shown && ctr_tracked_same_shown(shown, &row->now[i]);
        if (!same)
            count_value(table, i, shown, &row->now[i], row->is_apart && row->apart.waits, problem);
    }
    write_and_show(row, problem);
}

/* Over a row that was live, it has replaced that row, unless that waited for it. */
static void row_inserted(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (ctr_access_find(table, problem)) return;
    if (ctr_writing_is_at_work(table->replica) && table->rows->found) {
        bool is_live = is_live_row(table), is_shown = is_being_shown(row, row->now);
        if (is_live && !is_shown) set_aside(row, problem);
        if (is_live) return; /* else a trigger has deleted it, and inserts it again */
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

static void delete_counters(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    for (int i = 0; i < table->shape.n_counters; i++)
        if (ctr_rows_state(table->rows, i).touched) ctr_write_tombstone(table, i, problem);
    write_counted(row, problem);
}

static void row_deleted(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    memcpy(row->was, row->now, (size_t)table->shape.n_counters * sizeof *row->was);
    if (ctr_access_find(table, problem)) return;
    if (!table->rows->found || !is_live_row(table)) note_disorder(table);
    if (!table->rows->found || is_being_shown(row, NULL)) return;
    if (is_disorder(table) && is_there(row, NULL, false, problem)) return; /* again, and counted */
    forget_may_go(table, table->rows->rowid);
    if (!is_as_counted(row)) look_apart(row, problem);
    delete_counters(row, problem);
    if (row->is_apart) ctr_apart_remove(&table->looks->apart, table->rows->rowid, problem);
}

/* For counter_track: the row is as it is, and its counters follow. */
static void row_found(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (ctr_access_find(table, problem)) return;
    memcpy(row->was, row->now, (size_t)table->shape.n_counters * sizeof *row->was);
    bool adopts = false;
    for (int i = 0; i < table->shape.n_counters; i++) adopts = adopts || row->now[i].adopted;
    bool counted = table->rows->found && is_as_counted(row) && !adopts;
    if (counted && !row->looks) return;
    if (!table->rows->found && ctr_access_is_below(table, problem)) return;
    look_apart(row, problem);
    if (counted && !row->is_apart) return;
    for (int i = 0; i < table->shape.n_counters && problem->rc == SQLITE_OK; i++) {
        const ctr_shown *was = shown_apart(row, i);
        bool adds = (row->is_apart && row->apart.waits) || row->now[i].adopted;
        if (!was || was->null != row->now[i].null || was->n != row->now[i].n)
            count_value(table, i, was, &row->now[i], adds, problem);
    }
    bool counts = ctr_stage_any(table->rows);
    write_counted(row, problem);
    table->joined.transaction->stats.tracked += counts;
    /* A column that is tracked from now on shows what its counter has from other files, too. */
    bool shows = row->is_apart || (adopts && table->rows->found && look_at_table(table, problem));
    if (shows) show_again(row, problem);
}

/* It is not there, and does not wait. */
static void row_missing(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (ctr_access_find(table, problem) || !is_live_row(table)) return;
    look_apart(row, problem);
    if (row->is_apart && row->apart.waits) return;
    delete_counters(row, problem);
    table->joined.transaction->stats.tracked++;
    if (row->is_apart) ctr_apart_remove(&table->looks->apart, table->rows->rowid, problem);
}

/* ---- rows that were replaced ----------------------------------------------------------------- */

/* True: it is gone, and its counters with it, unless it waits. */
static bool look_for_row(handed_row *row, int64_t rowid, ctr_problem *problem)
{
    ctr_table *table = row->table;
    ctr_access_end(table);
    ctr_showing *looks = look_at_table(table, problem);
    table->holds_keys = looks != NULL; /* there are copies, whatever is returned */
    bool taken = looks && ctr_rows_take_key(table->rows, rowid, table->keys, problem);
    bool gone = taken && !is_there(row, NULL, true, problem) && problem->rc == SQLITE_OK;
    if (gone && ctr_access_find_rowid(table, rowid, problem) == SQLITE_OK && is_live_row(table)) {
        ctr_apart_row apart;
        ctr_apart_read(&looks->apart, rowid, &apart, problem);
        if (!apart.waits) delete_counters(row, problem);
        if (apart.differs) ctr_apart_remove(&looks->apart, rowid, problem);
        ctr_apart_close_row(&apart);
    }
    ctr_access_end(table);
    return gone;
}

/* Of those that were noted while another row was shown, or of the others. */
static void rows_gone(handed_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    bool at_work = ctr_writing_is_at_work(table->replica);
    if (table->may_go_in != table->joined.transaction->ended) table->n_may_go = 0;
    for (int i = table->n_may_go - 1; i >= 0 && problem->rc == SQLITE_OK; i--) {
        if (i >= table->n_may_go) continue; /* one row was remembered twice */
        int64_t rowid = table->may_go[i].rowid;
        if (table->may_go[i].at_work == at_work && look_for_row(row, rowid, problem))
            forget_may_go(table, rowid);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

typedef void event_call(handed_row *row, ctr_problem *problem);

static const struct event {
    const char *what;
    event_call *call;
    bool has_key, has_values;
    bool is_update; /* of a row that may be being shown */
    bool is_delete; /* its values are those that were */
    bool replaces;  /* rows that may go are looked for behind it */
    bool looks;     /* some row is apart; it may be this one */
} EVENTS[] = {
    {"row updated", row_updated, .has_key = true, .has_values = true, .is_update = true},
    {"row inserted", row_inserted, .has_key = true, .has_values = true, .replaces = true},
    {"row deleted", row_deleted, .has_key = true, .has_values = true, .is_delete = true},
    {"row may go", row_may_go, .has_key = true},
    {"row found", row_found, .has_key = true, .has_values = true},
    {"row missing", row_missing, .has_key = true},
    {"rows gone", rows_gone, .has_key = false},
    {"row may go anyway", row_may_go_anyway, .has_key = true},
    {"row found or apart", row_found, .has_key = true, .has_values = true, .looks = true},
};

/* Room for a few counters, without asking for memory. */
enum { A_FEW = 4 };
typedef struct row_room {
    ctr_shown shown[2 * A_FEW];
    ctr_summary states[2 * A_FEW];
} row_room;

/* To be freed with free_row_room. */
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

/* Once, for the table is connected anew when the schema has changed; but what this transaction has
 * written may be taken back. */
static void note_names(ctr_table *table, ctr_problem *problem)
{
    unsigned nth = table->joined.transaction->ended + 1;
    if (ctr_tracked_note(table->db, table->schema, table->name, &table->shape, problem))
        table->noted_in = nth;
    table->noted = problem->rc == SQLITE_OK && table->noted_in != nth;
}

static void hand_over(ctr_table *table, const struct event *event, sqlite3_value **columns,
                      ctr_problem *problem)
{
    row_room few;
    handed_row row = {.table = table, .columns = columns, .looks = event->looks};
    if (!table->noted) note_names(table, problem);
    if (make_row_room(&row, &few, problem) && event->has_key)
        ctr_write_keys(table, columns, problem);
    if (problem->rc == SQLITE_OK && event->has_values)
        take_values(table, columns, row.now, false, event->is_delete, problem);
    if (problem->rc == SQLITE_MISMATCH && event->has_values) { /* of which row? */
        char *key = ctr_access_given_key_text(table, problem);
        if (key) ctr_problem_where(problem, "row %s", key);
        sqlite3_free(key);
    }
    bool shown = problem->rc == SQLITE_OK && event->is_update &&
                 ctr_writing_is_row(table->replica, table->name, table->keys, row.now);
    if (problem->rc == SQLITE_OK && !shown) event->call(&row, problem);
    ctr_apart_close_row(&row.apart);
    if (problem->rc == SQLITE_OK && event->replaces && table->n_may_go > 0)
        rows_gone(&row, problem);
    free_row_room(&row, &few);
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
    if (event) hand_over(table, event, columns, problem);
    return event != NULL;
}

/* ---- commands -------------------------------------------------------------------------------- */

int ctr_trigger_rows_write(ctr_table *table, ctr_problem *problem)
{
    row_room few;
    handed_row row = {.table = table};
    if (!table->tracked) return ctr_access_write(table, problem);
    unsigned nth = table->joined.transaction->ended;
    ctr_foreign_refuse_broken(table->db, table->name, problem);
    if (make_row_room(&row, &few, problem)) write_counted(&row, problem);
    if (problem->rc == SQLITE_OK) {
        show_row_found(table, false, NULL, row.before, row.after, problem);
        if (problem->rc != SQLITE_OK) ctr_transaction_spoil(table->joined.transaction, nth);
    }
    free_row_room(&row, &few);
    return problem->rc;
}

int ctr_trigger_rows_show_purged(ctr_table *table, ctr_problem *problem)
{
    ctr_showing showing;
    unsigned nth = table->joined.transaction->ended;
    if (!table->tracked || problem->rc != SQLITE_OK) return problem->rc;
    if (ctr_showing_open(&showing, table->db, table->schema, table->name, &table->shape,
                         table->replica, problem) == SQLITE_OK)
        ctr_later_show_purged(&showing, &table->floors, problem);
    ctr_showing_close(&showing);
    if (problem->rc != SQLITE_OK) ctr_transaction_spoil(table->joined.transaction, nth);
    return problem->rc;
}
