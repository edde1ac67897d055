/* tracked/showing.c - writes merged values into the table that shows them, and lists rows that it
 * refuses. */
#include "tracked/tracked.h"

#include <string.h>

/* =================================================================================================
 * apart - reads and writes the list of rows that do not show their counters. */

/* What an entry says, as TRACK_APART has it. */
enum { APART_COUNTER, APART_REFUSED, APART_ENDED, APART_WITHHELD, APART_KEPT };

int ctr_apart_read(ctr_apart *apart, int64_t rowid, ctr_apart_row *row)
{
    ctr_conn *conn = apart->tab->conn;
    const ctr_shape *shape = apart->tracked->shape;
    size_t n = (size_t)shape->n_counters + 1;
    *row = (ctr_apart_row){.differs_in = sqlite3_malloc64(n * sizeof *row->differs_in),
                           .shown = sqlite3_malloc64(n * sizeof *row->shown)};
    if (!row->differs_in || !row->shown) {
        ctr_apart_close_row(row);
        return ctr_problem_nomem(conn);
    }
    memset(row->differs_in, 0, n * sizeof *row->differs_in);
    ctr_run run = ctr_tab_run(apart->tab);
    ctr_slot *slot = ctr_tab_take(apart->tab, CTR_TAB_APART);
    sqlite3_stmt *entry = slot ? slot->kept.statement : NULL;
    ctr_run_bind_int(&run, entry, ":row", rowid);
    while (ctr_run_row(&run, entry)) {
        const char *name = ctr_text_column(conn, entry, 0);
        int kind = sqlite3_column_int(entry, 2);
        row->refused = row->refused || kind == APART_REFUSED;
        row->ended = row->ended || kind == APART_ENDED;
        row->withheld = row->withheld || kind == APART_WITHHELD;
        if (kind != APART_COUNTER) continue;
        int i = name ? ctr_shape_counter_like(shape, name) : -1;
        row->waits = row->waits || (name && !*name);
        if (i < 0) continue;
        row->differs = row->differs_in[i] = true;
        row->shown[i] = (ctr_shown){.null = sqlite3_column_type(entry, 1) == SQLITE_NULL,
                                    .n = sqlite3_column_int64(entry, 1)};
    }
    ctr_tab_give_back(apart->tab, slot);
    return ctr_rc(conn);
}

void ctr_apart_close_row(ctr_apart_row *row)
{
    sqlite3_free(row->differs_in);
    sqlite3_free(row->shown);
    *row = (ctr_apart_row){0};
}

void ctr_apart_remove(ctr_apart *apart, int64_t rowid)
{
    ctr_tab_do(apart->tab, CTR_TAB_NOT_APART, ":row i", rowid);
}

void ctr_apart_add(ctr_apart *apart, int64_t rowid, const char *counter, const ctr_shown *shown)
{
    const char *name = counter ? counter : "";
    if (!shown || shown->null)
        ctr_tab_do(apart->tab, CTR_TAB_SET_APART, ":row i :counter t", rowid, name);
    else
        ctr_tab_do(apart->tab, CTR_TAB_SET_APART, ":row i :counter t :shown i", rowid, name,
                   shown->n);
}

static void set_state(ctr_apart *apart, ctr_sql sql, int64_t rowid)
{
    ctr_run run = ctr_tab_run(apart->tab);
    ctr_run_with(&run, sql, ":row i", rowid);
}

void ctr_apart_end(ctr_apart *apart, int64_t rowid)
{
    set_state(apart, CTR_SQL_TRACK_SET_ENDED, rowid);
}

void ctr_apart_withhold(ctr_apart *apart, int64_t rowid)
{
    set_state(apart, CTR_SQL_TRACK_SET_WITHHELD, rowid);
}

/* Lists why the table refused the row: the error. NULL: it is not known. The row is on the list, or
 * has refused regular columns; what takes it off forgets the reason. */
static void apart_explain(ctr_apart *apart, int64_t rowid, const char *why)
{
    if (!why) return;
    ctr_run run = ctr_tab_run(apart->tab);
    ctr_run_with(&run, CTR_SQL_TRACK_EXPLAIN_APART, ":row i :why t", rowid, why);
}

/* A table that keeps no statements is not to keep this one alone. */
int64_t ctr_apart_count(ctr_file *file, const char *counters)
{
    ctr_tab *tab = ctr_tab_known(file, counters);
    ctr_run run = ctr_run_on(file->conn, file->schema, counters);
    if (!tab || !tab->keeps) return ctr_run_number(&run, CTR_SQL_TRACK_COUNT_APART);
    ctr_slot *slot = ctr_tab_take(tab, CTR_TAB_COUNT_APART);
    int64_t n = 0;
    if (slot && ctr_run_row(&run, slot->kept.statement)) {
        n = sqlite3_column_int64(slot->kept.statement, 0);
        if (ctr_run_is_hidden(slot->kept.statement, 1))
            ctr_problem_set(file->conn, SQLITE_AUTH,
                            "an authorizer of this connection hides columns of %s_state", counters);
    }
    ctr_tab_give_back(tab, slot);
    return n;
}

void ctr_apart_count_rows(ctr_file *file, const char *counters, int64_t *wait, int64_t *differ)
{
    ctr_run run = ctr_run_on(file->conn, file->schema, counters);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_COUNT_APART_ROWS);
    bool is = ctr_run_row(&run, row);
    *wait = is ? sqlite3_column_int64(row, 0) : 0;
    *differ = is ? sqlite3_column_int64(row, 1) : 0;
    sqlite3_finalize(row);
}

/* =================================================================================================
 * showing - writes a row, or lists it. */

static bool is_live(const ctr_showing *showing, const ctr_summary *states)
{
    if (showing->tracked->shape->replicated) return !showing->merged || showing->merged->is_live;
    for (int i = 0; i < showing->tracked->shape->n_counters; i++)
        if (ctr_summary_is_live(&states[i])) return true;
    return false;
}

bool ctr_showing_value(const ctr_showing *showing, int counter, const ctr_summary *state,
                       ctr_shown *shown)
{
    const ctr_tracked_column *column = ctr_tracked_column_of(showing->tracked, counter);
    *shown = column ? column->blank : (ctr_shown){.null = true};
    if (!ctr_summary_counts(state)) return true;
    shown->null = false;
    return ctr_sum_value(&state->sum, &shown->n) == CTR_OK;
}

int ctr_showing_set_apart(ctr_showing *showing, int64_t rowid, const ctr_shown *shown,
                          const ctr_summary *now)
{
    const ctr_shape *shape = showing->tracked->shape;
    bool live = is_live(showing, now);
    ctr_apart_remove(&showing->apart, rowid);
    if (!shown) ctr_apart_add(&showing->apart, rowid, NULL, NULL);
    if (shown && !live && shape->replicated) ctr_apart_end(&showing->apart, rowid);
    if (showing->withheld) ctr_apart_withhold(&showing->apart, rowid);
    for (int i = 0; shown && i < shape->n_counters; i++) {
        ctr_shown wanted;
        if (!ctr_tracked_column_of(showing->tracked, i)) continue;
        bool is = ctr_showing_value(showing, i, &now[i], &wanted);
        if (!is || !live || !ctr_tracked_same_shown(&shown[i], &wanted))
            ctr_apart_add(&showing->apart, rowid, ctr_shape_counter_name(shape, i), &shown[i]);
    }
    if (rowid == showing->writing.rowid)
        apart_explain(&showing->apart, rowid, showing->writing.why);
    return ctr_rc(showing->conn);
}

static void refuse_uncounted(ctr_showing *showing, bool deleted)
{
    ctr_conn *conn = showing->conn;
    const ctr_tracked *tracked = showing->tracked;
    char *key = ctr_problem_describe_key(showing->writing.keys, tracked->shape->n_keys);
    if (!key) {
        ctr_problem_nomem(conn);
        return;
    }
    ctr_problem_set(conn, SQLITE_ERROR,
                    "the row %s of the tracked table %s %s while its triggers did not run: call "
                    "%s('%s', ...) again, which %s",
                    key, tracked->table, deleted ? "was deleted" : "was changed",
                    ctr_tracked_function(tracked), tracked->table,
                    deleted ? "asks whether it comes back" : "counts it");
    sqlite3_free(key);
}

/* ---- regular columns ------------------------------------------------------------------------- */

/* Reads the row if a trigger of the application may change more of it than is written. */
static void remember_row(ctr_showing *showing)
{
    ctr_conn *conn = showing->conn;
    const ctr_tracked *tracked = showing->tracked;
    const ctr_writing *writing = &showing->writing;
    if (!showing->reads_back || ctr_rc(conn) != SQLITE_OK) return;
    if (!showing->shown.tab) ctr_row_values_open(&showing->shown, showing->apart.tab);
    ctr_row_values_read(&showing->shown, writing->rowid, writing->keys, false);
    for (int i = 0; i < tracked->n_regular && ctr_rc(conn) == SQLITE_OK; i++) {
        sqlite3_value *value = showing->shown.given[tracked->regular[i].number];
        sqlite3_value_free(showing->before[i]);
        showing->before[i] = value ? sqlite3_value_dup(value) : NULL;
        if (value && !showing->before[i]) ctr_problem_nomem(conn);
    }
    ctr_row_values_reset(&showing->shown);
}

/* Reads the row again, and lists the merged value of each column that shows another one now. */
static void list_changed(ctr_showing *showing)
{
    const ctr_tracked *tracked = showing->tracked;
    const ctr_writing *writing = &showing->writing;
    if (!showing->reads_back) return;
    ctr_row_values_read(&showing->shown, writing->rowid, writing->keys, false);
    for (int i = 0; i < tracked->n_regular && ctr_rc(showing->conn) == SQLITE_OK; i++) {
        const ctr_tracked_regular *column = &tracked->regular[i];
        sqlite3_value *now = showing->shown.given[column->number],
                      *merged = showing->values[i] ? showing->values[i] : showing->before[i];
        if (merged && now && !ctr_text_same(now, merged))
            ctr_regular_list(showing->apart.tab, writing->rowid, column->name, merged, false);
    }
    ctr_row_values_reset(&showing->shown);
}

/* Lists the merged values if the table has refused them, else takes them off the list. */
static void list_regular(ctr_showing *showing, bool live, bool taken)
{
    const ctr_tracked *tracked = showing->tracked;
    ctr_tab *tab = showing->apart.tab;
    int64_t rowid = showing->writing.rowid;
    if (!tracked->shape->replicated || ctr_rc(showing->conn) != SQLITE_OK) return;
    if (showing->is_listed && !live) ctr_regular_unlist(tab, rowid, NULL);
    if (!live || showing->writing.ended) return;
    for (int i = 0; showing->writing.regular && i < tracked->n_regular; i++) {
        const char *name = tracked->regular[i].name;
        if (showing->values[i] && !taken)
            ctr_regular_list(tab, rowid, name, showing->values[i], true);
        else if (showing->values[i] && showing->is_listed)
            ctr_regular_unlist(tab, rowid, name);
    }
    if (taken) list_changed(showing);
    if (!taken && showing->writing.regular)
        apart_explain(&showing->apart, rowid, showing->writing.why);
}

/* Returns the DEFAULT of a column of a row that begins another life, lent until the next row. */
static sqlite3_value *take_default(ctr_showing *showing, int i)
{
    sqlite3_value_free(showing->defaults[i]);
    showing->defaults[i] =
        ctr_writing_default(&showing->writing, showing->tracked->regular[i].column);
    return showing->defaults[i];
}

/* Takes the values to be shown of the row at hand: merged ones, else listed ones, because a row
 * that waits is inserted with all of them. Those of an earlier life are forgotten. Returns them, or
 * NULL if there are none. */
static sqlite3_value **take_values_to_show(ctr_showing *showing)
{
    ctr_conn *conn = showing->conn;
    bool any = false;
    const ctr_tracked *tracked = showing->tracked;
    const ctr_merged_row *merged = showing->merged;
    int64_t rowid = showing->writing.rowid;
    if (!tracked->shape->replicated || ctr_rc(conn) != SQLITE_OK) return NULL;
    bool begins = merged && merged->begins;
    showing->is_listed = ctr_regular_is_listed(showing->apart.tab, rowid);
    if (begins && showing->is_listed) ctr_regular_unlist(showing->apart.tab, rowid, NULL);
    showing->is_listed = showing->is_listed && !begins;
    if (showing->is_listed && !showing->listed.tab)
        ctr_row_values_open(&showing->listed, showing->apart.tab);
    if (showing->is_listed)
        ctr_row_values_read(&showing->listed, rowid, showing->writing.keys, true);
    for (int i = 0; i < tracked->n_regular && ctr_rc(conn) == SQLITE_OK; i++) {
        int number = tracked->regular[i].number;
        sqlite3_value *value = merged && merged->values ? merged->values[i] : NULL;
        if (!value && showing->is_listed && number < showing->listed.n)
            value = showing->listed.given[number];
        if (!value && begins && tracked->regular[i].column) value = take_default(showing, i);
        showing->values[i] = tracked->regular[i].column ? value : NULL;
        any = any || showing->values[i];
    }
    return any ? showing->values : NULL;
}

/* ---- one row --------------------------------------------------------------------------------- */

/* Begins with a row. Returns whether its counters fit in 64 bits, so that the table can show
 * them. */
static bool begin_row(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                      const ctr_summary *now)
{
    bool complete = true;
    ctr_writing *writing = &showing->writing;
    writing->rowid = rowid;
    writing->keys = keys;
    writing->aside = writing->ended = false;
    ctr_writing_forget_why(writing);
    writing->regular = take_values_to_show(showing);
    for (int i = 0; i < showing->tracked->shape->n_counters; i++)
        complete = ctr_showing_value(showing, i, &now[i], &showing->to[i]) && complete;
    return complete && !showing->withheld;
}

/* Writes the counters and the regular columns or, if the table refuses them together, the regular
 * ones alone: a stock below its CHECK must not hold back a name. */
static bool write_columns(ctr_showing *showing, const ctr_shown *shown, bool complete)
{
    ctr_writing *writing = &showing->writing;
    bool taken = false;
    for (int i = 0; !shown && showing->leaves_out && i < showing->tracked->n_regular; i++)
        if (showing->leaves_out[i]) showing->values[i] = NULL; /* it stays listed */
    if (complete && shown) taken = ctr_writing_update(writing, shown, showing->to);
    if (complete && !shown) taken = ctr_writing_insert(writing, showing->to);
    if (taken || !writing->regular || writing->aside || writing->ended) return taken;
    if (shown) {
        writing->aside = ctr_writing_update(writing, shown, shown);
    } else {
        writing->without_counters = true;
        writing->aside = ctr_writing_insert(writing, showing->to);
        writing->without_counters = false;
    }
    return writing->aside;
}

/* Brings the row from `shown`, NULL if the table has no such row, to its counters. Returns false if
 * the table refuses. A row that a trigger changed meanwhile is listed. If a trigger deleted it, its
 * counters were deleted, too, and `now` is no longer their state. */
static bool write_shown(ctr_showing *showing, const ctr_shown *shown, const ctr_summary *now,
                        bool complete)
{
    ctr_writing *writing = &showing->writing;
    bool live = is_live(showing, now), taken = !shown && !live;
    bool deleted = !live && showing->tracked->shape->replicated;
    for (int i = 0; i < showing->tracked->shape->n_counters && !live; i++)
        deleted = deleted || now[i].life % 2 == 0;
    if (!deleted) remember_row(showing);
    if (shown && deleted)
        taken = ctr_writing_delete(writing);
    else if (shown || live)
        taken = write_columns(showing, shown, complete);
    list_regular(showing, live, taken);
    if (!writing->aside || writing->ended) return taken;
    shown = showing->found;
    if (!ctr_writing_look(writing, writing->keys, showing->found, NULL)) shown = NULL;
    if (shown || live) ctr_showing_set_apart(showing, writing->rowid, shown, now);
    return taken;
}

/* Looks at the row and at the list, then writes the row; lists it if the table refuses. */
static int look_and_write(ctr_showing *showing, bool was_live, const ctr_summary *now,
                          bool complete)
{
    ctr_conn *conn = showing->conn;
    ctr_apart_row apart = {0};
    ctr_writing *writing = &showing->writing;
    const ctr_tracked *tracked = showing->tracked;
    bool live = is_live(showing, now), is_integer = true;
    writing->aside = writing->ended = false;
    ctr_apart_read(&showing->apart, writing->rowid, &apart);
    const ctr_shown *shown = showing->found;
    if (!ctr_writing_look(writing, writing->keys, showing->found, &is_integer)) shown = NULL;
    if (ctr_rc(conn) != SQLITE_OK) goto done;
    for (int i = 0; i < tracked->shape->n_counters; i++)
        if (apart.differs_in[i])
            showing->from[i] = apart.shown[i];
        else if (apart.differs && shown && ctr_tracked_column_of(tracked, i) &&
                 ctr_tracked_same_shown(&shown[i], &showing->to[i]))
            showing->from[i] = shown[i]; /* listed by a trigger, after the merge */

    bool shows_counts = shown && is_integer && complete && live &&
                        ctr_tracked_same_row(tracked, shown, showing->to);
    size_t n = (size_t)tracked->shape->n_counters;
    if (shows_counts && !apart.waits) /* a trigger did it */
        memcpy(showing->from, shown, n * sizeof *showing->from);
    if (shows_counts && !writing->regular) {
        ctr_apart_remove(&showing->apart, writing->rowid);
    } else if (shown && (apart.waits || !is_integer ||
                         !ctr_tracked_same_row(tracked, shown, showing->from))) {
        refuse_uncounted(showing, false);
    } else if (!shown && live && was_live && !apart.waits) {
        refuse_uncounted(showing, true);
    } else {
        ctr_apart_remove(&showing->apart, writing->rowid); /* triggers may list it again */
        if (!write_shown(showing, shown, now, complete) && !writing->ended && !writing->aside)
            ctr_showing_set_apart(showing, writing->rowid, shown, now);
    }
done:
    ctr_apart_close_row(&apart);
    return ctr_rc(conn);
}

/* Nearly every row shows what it is known to show, so it is written first. */
int ctr_showing_row(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                    const ctr_shown *from, const ctr_summary *before, const ctr_summary *now)
{
    ctr_conn *conn = showing->conn;
    if (ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    bool known = begin_row(showing, rowid, keys, now), complete = known, is_new = !from;
    bool was_live = from || is_live(showing, before);
    if (showing->merged) was_live = showing->merged->was_live;
    for (int i = 0; i < showing->tracked->shape->n_counters; i++) {
        is_new = is_new && (showing->merged || !before[i].touched);
        if (from)
            showing->from[i] = from[i];
        else
            known = ctr_showing_value(showing, i, &before[i], &showing->from[i]) && known;
    }
    if (known && (was_live || is_new) && is_live(showing, now) &&
        (write_shown(showing, was_live ? showing->from : NULL, now, complete) ||
         showing->writing.ended))
        return ctr_rc(conn);
    return look_and_write(showing, was_live, now, complete);
}

int ctr_showing_again(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                      const ctr_summary *now)
{
    bool complete = begin_row(showing, rowid, keys, now);
    size_t n = (size_t)showing->tracked->shape->n_counters;
    memcpy(showing->from, showing->to, n * sizeof *showing->from);
    return look_and_write(showing, true, now, complete);
}

/* The list has what the row shows: the values from before the merge, unless it lists other ones. */
void ctr_showing_list(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                      const ctr_summary *before, const ctr_summary *now)
{
    ctr_conn *conn = showing->conn;
    ctr_apart_row apart = {0};
    ctr_tab *tab = showing->apart.tab;
    const ctr_tracked *tracked = showing->tracked;
    if (ctr_rc(conn) != SQLITE_OK) return;
    bool live = is_live(showing, now), was_live = is_live(showing, before);
    if (showing->merged) was_live = showing->merged->was_live;
    begin_row(showing, rowid, keys, now);
    ctr_apart_read(&showing->apart, rowid, &apart);
    if (ctr_rc(conn) != SQLITE_OK) goto done;
    bool there = apart.ended || (was_live && !apart.waits);
    for (int i = 0; i < tracked->shape->n_counters; i++) {
        ctr_showing_value(showing, i, &before[i], &showing->from[i]);
        if (apart.differs_in[i]) showing->from[i] = apart.shown[i];
    }
    if (there || live)
        ctr_showing_set_apart(showing, rowid, there ? showing->from : NULL, now);
    else
        ctr_apart_remove(&showing->apart, rowid);
    if (tracked->shape->replicated && !live) ctr_regular_unlist(tab, rowid, NULL);
    for (int i = 0; live && showing->writing.regular && i < tracked->n_regular; i++)
        if (showing->values[i])
            ctr_regular_list(tab, rowid, tracked->regular[i].name, showing->values[i], true);
done:
    ctr_apart_close_row(&apart);
}

bool ctr_showing_touches(ctr_showing *showing, const ctr_summary *now)
{
    const ctr_tracked *tracked = showing->tracked;
    const ctr_foreign_keys *foreign = ctr_foreign_keys_of(showing->writing.file);
    if (!foreign || foreign->n == 0) return false;
    bool parent = ctr_foreign_is_parent(foreign, tracked->table);
    if (!ctr_foreign_enforced(tracked->conn->db)) return parent && !is_live(showing, now);
    return parent || ctr_foreign_is_child(foreign, tracked->table);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Takes what the table tracks, if it is known. */
static int begin_showing(ctr_showing *showing, ctr_tab *tab, ctr_tracked *tracked)
{
    size_t n = (size_t)tab->shape.n_counters + 1;
    ctr_shown *room = sqlite3_malloc64(3 * n * sizeof *room);
    *showing = (ctr_showing){
        .conn = tab->conn, .tracked = tracked, .apart = {.tracked = tracked, .tab = tab}};
    if (!room) return ctr_problem_nomem(tab->conn);
    showing->from = room;
    showing->to = room + n;
    showing->found = room + 2 * n;
    if (tracked && tracked->table && ctr_rc(tab->conn) == SQLITE_OK)
        showing->writing = ctr_writing_on(tracked, tab);
    if (tracked && tab->shape.replicated) {
        size_t size = ((size_t)tracked->n_regular + 1) * sizeof *showing->values;
        showing->values = sqlite3_malloc64(size);
        showing->before = sqlite3_malloc64(size);
        showing->defaults = sqlite3_malloc64(size);
        if (showing->values) memset(showing->values, 0, size);
        if (showing->before) memset(showing->before, 0, size);
        if (showing->defaults) memset(showing->defaults, 0, size);
        if (!showing->values || !showing->before || !showing->defaults)
            return ctr_problem_nomem(tab->conn);
    }
    if (tracked && tracked->table && tab->shape.replicated)
        showing->reads_back = ctr_triggers_are_others(tracked, tab->file);
    return ctr_rc(tab->conn);
}

int ctr_showing_open(ctr_showing *showing, ctr_tab *tab)
{
    return begin_showing(showing, tab, ctr_triggers_hold(tab));
}

bool ctr_showing_look(ctr_showing *showing, ctr_tab *tab)
{
    if (begin_showing(showing, tab, ctr_tracked_hold(tab))) return false;
    return ctr_tracked_is_known(showing->tracked);
}

void ctr_showing_close(ctr_showing *showing)
{
    ctr_writing_close(&showing->writing);
    for (int i = 0; showing->before && i < showing->tracked->n_regular; i++)
        sqlite3_value_free(showing->before[i]);
    for (int i = 0; showing->defaults && i < showing->tracked->n_regular; i++)
        sqlite3_value_free(showing->defaults[i]);
    ctr_row_values_close(&showing->listed);
    ctr_row_values_close(&showing->shown);
    sqlite3_free(showing->before);
    sqlite3_free(showing->defaults);
    ctr_tracked_release(showing->tracked);
    sqlite3_free(showing->values);
    sqlite3_free(showing->from);
    *showing = (ctr_showing){0};
}
