/* tracked/showing.c - writes merged values into the table that shows them, and lists rows that it
 * refuses. */
#include "tracked/tracked.h"

#include <string.h>

/* =================================================================================================
 * apart - reads and writes the list of rows that do not show what was merged. */

/* Returns which of the columns that travel an entry names, or -1. */
static int column_named(const ctr_tracked *tracked, const char *name)
{
    const ctr_tracked_column *columns = ctr_tracked_travelling(tracked, 0);
    for (int i = 0; name && i < ctr_tracked_travel(tracked); i++)
        if (sqlite3_stricmp(columns[i].birth, name) == 0) return i;
    return -1;
}

/* The value of a CTR_APART_TOO_LARGE: varints of the life, the stamp and the size, then the id. */
enum { TOO_LARGE_MAX = 3 * 10 + CTR_ID_SIZE };

static void take_too_large(ctr_apart_row *row, const ctr_tracked *tracked, sqlite3_stmt *entry)
{
    uint64_t life, number, size;
    int i = ctr_tracked_numbered(tracked, -1 - sqlite3_column_int64(entry, 1));
    const uint8_t *at = sqlite3_column_blob(entry, 2);
    const uint8_t *end = at ? at + sqlite3_column_bytes(entry, 2) : NULL;
    if (i < 0 || !at || ctr_varint_take(&at, end, &life) || ctr_varint_take(&at, end, &number) ||
        ctr_varint_take(&at, end, &size) || end - at != CTR_ID_SIZE)
        return;
    size_t n = (size_t)row->n * sizeof *row->too_large;
    if (!row->too_large) {
        row->too_large = sqlite3_malloc64(n);
        if (!row->too_large) ctr_problem_nomem(tracked->conn);
        if (!row->too_large) return;
        memset(row->too_large, 0, n);
    }
    ctr_too_large *value = &row->too_large[i];
    *value = (ctr_too_large){
        .life = (uint32_t)life, .stamp.number = (int64_t)number, .size = (int64_t)size};
    memcpy(value->stamp.id, at, CTR_ID_SIZE);
}

/* Takes the entry about a column. */
static void take_entry_of_column(ctr_apart_row *row, const ctr_tracked *tracked,
                                 sqlite3_stmt *entry)
{
    int i = column_named(tracked, ctr_text_column(tracked->conn, entry, 1));
    bool is_counter = i >= 0 && i < tracked->shape->n_counters;
    if (i < 0 || is_counter != (sqlite3_column_int(entry, 0) == CTR_APART_SHOWS)) return;
    ctr_shown *shown = &row->shown[i];
    row->differs = row->differs || is_counter;
    row->lists = row->lists || !is_counter;
    row->is_in[i] = true;
    shown->null = sqlite3_column_type(entry, 2) == SQLITE_NULL;
    shown->n = is_counter ? sqlite3_column_int64(entry, 2) : 0;
    if (is_counter) return;
    sqlite3_value_free(shown->value);
    shown->value = sqlite3_value_dup(sqlite3_column_value(entry, 2));
    if (!shown->value) ctr_problem_nomem(tracked->conn);
}

static void take_apart_entry(ctr_apart_row *row, const ctr_tracked *tracked, sqlite3_stmt *entry)
{
    int what = sqlite3_column_int(entry, 0);
    const char *why = what == CTR_APART_WHY ? ctr_text_column(tracked->conn, entry, 2) : NULL;
    row->waits = row->waits || what == CTR_APART_WAITS;
    row->ended = row->ended || what == CTR_APART_ENDED;
    row->withheld = row->withheld || what == CTR_APART_WITHHELD;
    row->refused = row->refused || what == CTR_APART_REFUSED;
    if (why && !row->why) row->why = ctr_text_copy(tracked->conn, why);
    if (what == CTR_APART_TOO_LARGE) take_too_large(row, tracked, entry);
    if (what == CTR_APART_SHOWS || what == CTR_APART_REFUSED || what == CTR_APART_CHANGED)
        take_entry_of_column(row, tracked, entry);
}

int ctr_apart_read(const ctr_tracked *tracked, ctr_tab *tab, int64_t rowid, ctr_apart_row *row)
{
    size_t n = (size_t)ctr_tracked_travel(tracked) + 1;
    *row = (ctr_apart_row){.shown = sqlite3_malloc64(n * (sizeof *row->shown + sizeof *row->is_in)),
                           .n = (int)n - 1};
    if (!row->shown) return ctr_problem_nomem(tab->conn);
    memset(row->shown, 0, n * (sizeof *row->shown + sizeof *row->is_in));
    row->is_in = (bool *)(row->shown + n);
    if (!ctr_apart_any(tab)) return ctr_rc(tab->conn);
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *entry = ctr_tab_take_of(tab, CTR_FILE_APART);
    ctr_run_bind_int(&run, entry, ":row", rowid);
    while (ctr_run_row(&run, entry)) take_apart_entry(row, tracked, entry);
    ctr_file_give_back(tab->file, CTR_FILE_APART, entry);
    return ctr_rc(tab->conn);
}

void ctr_apart_close_row(ctr_apart_row *row)
{
    for (int i = 0; row->shown && i < row->n; i++) sqlite3_value_free(row->shown[i].value);
    sqlite3_free(row->shown);
    sqlite3_free(row->too_large);
    sqlite3_free(row->why);
    *row = (ctr_apart_row){0};
}

/* Nearly all tables list nothing. While memory is doubtful, another connection may have listed
 * something since. */
bool ctr_apart_any(ctr_tab *tab)
{
    bool current = tab->known && !tab->doubtful && tab->apart.looked &&
                   tab->apart.version == tab->version && tab->apart.schemas == tab->file->schemas;
    if (current) return tab->apart.any;
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_tab_take_of(tab, CTR_FILE_APART_ANY);
    bool any = ctr_run_row(&run, row) && sqlite3_column_int(row, 0);
    ctr_file_give_back(tab->file, CTR_FILE_APART_ANY, row);
    tab->apart.any = any;
    tab->apart.looked = tab->known && ctr_rc(tab->conn) == SQLITE_OK;
    tab->apart.version = tab->version;
    tab->apart.schemas = tab->file->schemas;
    return any;
}

void ctr_apart_remove(ctr_tab *tab, int64_t rowid, unsigned whats, const char *column)
{
    if (!ctr_apart_any(tab)) return;
    ctr_tab_do(tab, CTR_FILE_APART_REMOVE, ":row i :whats i :column t", rowid, (int64_t)whats,
               column);
}

/* Lists an entry in place of one about the same column; those about the row have no column, and no
 * value. */
static void apart_add(ctr_tab *tab, int64_t rowid, ctr_apart_what what, const char *column,
                      const ctr_shown *shown)
{
    tab->apart.any = true;
    if (shown && shown->value)
        ctr_tab_do(tab, CTR_FILE_APART_ADD, ":row i :what i :column t :value v", rowid,
                   (int64_t)what, column, shown->value);
    else if (shown && !shown->null)
        ctr_tab_do(tab, CTR_FILE_APART_ADD, ":row i :what i :column t :value i", rowid,
                   (int64_t)what, column, shown->n);
    else
        ctr_tab_do(tab, CTR_FILE_APART_ADD, ":row i :what i :column t", rowid, (int64_t)what,
                   column);
}

void ctr_apart_keep(ctr_tab *tab)
{
    apart_add(tab, 0, CTR_APART_KEPT, NULL, NULL);
}

bool ctr_apart_keeps(ctr_tab *tab)
{
    ctr_run run = ctr_tab_run(tab);
    return ctr_apart_any(tab) && ctr_run_number(&run, CTR_SQL_APART_KEEPS) > 0;
}

/* Lists the error by which the table refused the row, which is on the list; NULL: it is not known.
 * What takes the row off forgets the reason. */
void ctr_apart_explain(ctr_tab *tab, int64_t rowid, const char *why)
{
    if (why)
        ctr_tab_do(tab, CTR_FILE_APART_ADD, ":row i :what i :value t", rowid,
                   (int64_t)CTR_APART_WHY, why);
}

const ctr_too_large *ctr_apart_too_large(const ctr_apart_row *row, const ctr_tracked *tracked,
                                         int number)
{
    int i = row->too_large ? ctr_tracked_numbered(tracked, number) : -1;
    return i >= 0 && row->too_large[i].size > 0 ? &row->too_large[i] : NULL;
}

bool ctr_too_large_is_missing(const ctr_too_large *value, const ctr_row_cell *cell, int number)
{
    if (cell->life != value->life) return false;
    const ctr_stamp *here = ctr_row_cell_stamp(cell, number);
    return !here || ctr_row_cell_beats(&value->stamp, here);
}

bool ctr_too_large_is_news(const ctr_tracked *tracked, const ctr_apart_row *row, int number,
                           const ctr_too_large *value)
{
    const ctr_too_large *known = ctr_apart_too_large(row, tracked, number);
    if (!known || known->life != value->life) return !known || known->life < value->life;
    return ctr_row_cell_beats(&value->stamp, &known->stamp);
}

void ctr_apart_list_too_large(ctr_tab *tab, int64_t rowid, int number, const ctr_too_large *value)
{
    uint8_t bytes[TOO_LARGE_MAX], *end = bytes;
    end = ctr_varint_put(end, value->life);
    end = ctr_varint_put(end, (uint64_t)value->stamp.number);
    end = ctr_varint_put(end, (uint64_t)value->size);
    memcpy(end, value->stamp.id, CTR_ID_SIZE);
    end += CTR_ID_SIZE;
    tab->apart.any = true;
    ctr_tab_do(tab, CTR_FILE_APART_ADD, ":row i :what i :column i :value b", rowid,
               (int64_t)CTR_APART_TOO_LARGE, -1 - (int64_t)number, bytes, (size_t)(end - bytes));
}

void ctr_apart_remove_too_large(ctr_tab *tab, int64_t rowid, int number)
{
    if (ctr_apart_any(tab))
        ctr_tab_do(tab, CTR_FILE_APART_REMOVE, ":row i :whats i :column i", rowid,
                   (int64_t)(1 << CTR_APART_TOO_LARGE), -1 - (int64_t)number);
}

int64_t ctr_apart_count(ctr_file *file, const char *counters)
{
    ctr_tab *tab = ctr_tab_known(file, counters);
    ctr_run run = ctr_run_on(file->conn, file->schema, counters);
    if (!tab) return ctr_run_number(&run, CTR_SQL_APART_COUNT);
    sqlite3_stmt *row = ctr_tab_take_of(tab, CTR_FILE_APART_COUNT);
    int64_t n = ctr_run_row(&run, row) ? sqlite3_column_int64(row, 0) : 0;
    if (row && ctr_run_is_hidden(row, 1)) ctr_refuse_hidden_state(file->conn);
    ctr_file_give_back(file, CTR_FILE_APART_COUNT, row);
    return n;
}

void ctr_apart_count_rows(ctr_file *file, const char *counters, int64_t *wait, int64_t *differ)
{
    ctr_run run = ctr_run_on(file->conn, file->schema, counters);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_APART_COUNT_ROWS);
    bool is = ctr_run_row(&run, row);
    *wait = is ? sqlite3_column_int64(row, 0) : 0;
    *differ = is ? sqlite3_column_int64(row, 1) : 0;
    sqlite3_finalize(row);
}

/* =================================================================================================
 * showing - writes a row, or lists it. */

static bool is_live(const ctr_showing *showing, const ctr_summary *states)
{
    if (showing->merged) return showing->merged->is_live;
    for (int i = 0; i < showing->tracked->shape->n_counters; i++)
        if (ctr_summary_is_live(&states[i])) return true;
    return false;
}

bool ctr_showing_value(const ctr_showing *showing, int counter, const ctr_summary *state,
                       ctr_shown *shown)
{
    const ctr_tracked_column *column = ctr_tracked_column_of(showing->tracked, counter);
    *shown = column ? column->blank : (ctr_shown){.null = true};
    if (state->touched && !(column && column->not_null)) shown->null = true; /* NULL was written */
    if (!ctr_summary_counts(state)) return true;
    shown->null = false;
    return ctr_summary_value(state, &shown->n) == CTR_OK;
}

int ctr_showing_set_apart(ctr_showing *showing, int64_t rowid, const ctr_shown *shown,
                          const ctr_summary *now)
{
    ctr_tab *tab = showing->tab;
    const ctr_shape *shape = showing->tracked->shape;
    bool live = is_live(showing, now);
    ctr_apart_remove(tab, rowid, CTR_APART_OF_COUNTERS, NULL);
    if (!shown) apart_add(tab, rowid, CTR_APART_WAITS, NULL, NULL);
    if (shown && !live && showing->merged) apart_add(tab, rowid, CTR_APART_ENDED, NULL, NULL);
    if (showing->withheld) apart_add(tab, rowid, CTR_APART_WITHHELD, NULL, NULL);
    for (int i = 0; shown && i < shape->n_counters; i++) {
        ctr_shown wanted;
        if (!ctr_tracked_column_of(showing->tracked, i)) continue;
        bool is = ctr_showing_value(showing, i, &now[i], &wanted);
        if (!is || !live || !ctr_tracked_same_shown(&shown[i], &wanted))
            apart_add(tab, rowid, CTR_APART_SHOWS, ctr_shape_counter_name(shape, i), &shown[i]);
    }
    if (rowid == showing->writing.rowid) ctr_apart_explain(tab, rowid, showing->writing.why);
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
                    "counter_track('%s'), which %s",
                    key, tracked->table, deleted ? "was deleted" : "was changed", tracked->table,
                    deleted ? "asks whether it comes back" : "counts it");
    sqlite3_free(key);
}

/* ---- regular columns ------------------------------------------------------------------------- */

/* Returns the value to be shown of a regular column; NULL: it is left alone. */
static sqlite3_value *value_to_show(const ctr_showing *showing, int regular)
{
    return showing->to[showing->tracked->shape->n_counters + regular].value;
}

/* Reads the row if a trigger of the application may change more of it than is written. */
static void remember_row(ctr_showing *showing)
{
    ctr_conn *conn = showing->conn;
    const ctr_tracked *tracked = showing->tracked;
    const ctr_writing *writing = &showing->writing;
    if (!showing->reads_back || ctr_rc(conn) != SQLITE_OK) return;
    if (!showing->shown.tab) ctr_row_values_open(&showing->shown, showing->tab);
    ctr_row_values_read(&showing->shown, writing->rowid, writing->keys);
    for (int i = 0; i < tracked->n_regular && ctr_rc(conn) == SQLITE_OK; i++) {
        sqlite3_value *value = showing->shown.given[ctr_tracked_regular(tracked, i)->number];
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
    ctr_row_values_read(&showing->shown, writing->rowid, writing->keys);
    for (int i = 0; i < tracked->n_regular && ctr_rc(showing->conn) == SQLITE_OK; i++) {
        const ctr_tracked_column *column = ctr_tracked_regular(tracked, i);
        sqlite3_value *now = showing->shown.given[column->number], *to = value_to_show(showing, i);
        const ctr_shown merged = {.value = to ? to : showing->before[i]};
        if (merged.value && now && !ctr_text_same(now, merged.value))
            apart_add(showing->tab, writing->rowid, CTR_APART_CHANGED, column->birth, &merged);
    }
    ctr_row_values_reset(&showing->shown);
}

/* Lists the merged values if the table has refused them, else takes them off the list. */
static void list_regular(ctr_showing *showing, bool live, bool taken)
{
    ctr_tab *tab = showing->tab;
    const ctr_tracked *tracked = showing->tracked;
    int64_t rowid = showing->writing.rowid;
    if (ctr_rc(showing->conn) != SQLITE_OK) return;
    if (showing->listed.lists && !live) ctr_apart_remove(tab, rowid, CTR_APART_OF_REGULAR, NULL);
    if (!live || showing->writing.ended) return;
    for (int i = 0; i < tracked->n_regular; i++) {
        const char *name = ctr_tracked_regular(tracked, i)->birth;
        if (!value_to_show(showing, i)) continue;
        if (!taken)
            apart_add(tab, rowid, CTR_APART_REFUSED, name,
                      &showing->to[tracked->shape->n_counters + i]);
        else if (showing->listed.lists)
            ctr_apart_remove(tab, rowid, CTR_APART_OF_SHOWN, name);
    }
    if (!taken && showing->has_values)
        showing->listed.lists = true; /* if it is written after all */
    if (taken) list_changed(showing);
    if (!taken && showing->has_values) ctr_apart_explain(tab, rowid, showing->writing.why);
}

/* Returns the DEFAULT of a column of a row that begins another life, lent until the next row. */
static sqlite3_value *take_default(ctr_showing *showing, int i)
{
    sqlite3_value_free(showing->defaults[i]);
    showing->defaults[i] =
        ctr_writing_default(&showing->writing, ctr_tracked_regular(showing->tracked, i)->name);
    return showing->defaults[i];
}

/* Takes values that lines did not carry off the list if the row has them now, or later ones, or is
 * another row: one that was born before it may have the same life. */
static void unlist_too_large(ctr_showing *showing)
{
    const ctr_tracked *tracked = showing->tracked;
    const ctr_row_cell *cell = showing->merged ? showing->merged->cell : NULL;
    for (int i = 0; cell && i < tracked->n_regular; i++) {
        int number = ctr_tracked_regular(tracked, i)->number;
        const ctr_too_large *value = ctr_apart_too_large(&showing->listed, tracked, number);
        if (value && (showing->merged->begins || !ctr_too_large_is_missing(value, cell, number)))
            ctr_apart_remove_too_large(showing->tab, showing->writing.rowid, number);
    }
}

/* Takes the values to be shown of the regular columns of the row at hand: merged ones, else listed
 * ones, because a row that waits is inserted with all of them. Those of an earlier life are
 * forgotten. */
static void take_values_to_show(ctr_showing *showing)
{
    const ctr_tracked *tracked = showing->tracked;
    const ctr_merged_row *merged = showing->merged;
    const int n = tracked->shape->n_counters;
    bool begins = merged && merged->begins;
    ctr_apart_close_row(&showing->listed);
    showing->has_values = false;
    if (tracked->n_regular == 0) return;
    if (ctr_apart_any(showing->tab))
        ctr_apart_read(tracked, showing->tab, showing->writing.rowid, &showing->listed);
    if (showing->listed.too_large) unlist_too_large(showing);
    if (begins && showing->listed.lists) {
        ctr_apart_remove(showing->tab, showing->writing.rowid, CTR_APART_OF_SHOWN, NULL);
        ctr_apart_close_row(&showing->listed);
    }
    for (int i = 0; i < tracked->n_regular && ctr_rc(showing->conn) == SQLITE_OK; i++) {
        sqlite3_value *value = merged && merged->values ? merged->values[i] : NULL;
        if (!value && showing->listed.lists) value = showing->listed.shown[n + i].value;
        if (!value && begins && ctr_tracked_regular(tracked, i)->name)
            value = take_default(showing, i);
        if (!ctr_tracked_regular(tracked, i)->name) value = NULL;
        showing->to[n + i] = (ctr_shown){.value = value};
        showing->has_values = showing->has_values || value;
    }
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
    writing->begins = showing->merged && showing->merged->begins && showing->merged->was_live;
    ctr_writing_forget_why(writing);
    take_values_to_show(showing);
    for (int i = 0; i < showing->tracked->shape->n_counters; i++)
        complete = ctr_showing_value(showing, i, &now[i], &showing->to[i]) && complete;
    return complete && !showing->withheld;
}

/* Writes the counters and the regular columns or, if the table refuses them together, the regular
 * ones alone: a stock below its CHECK must not hold back a name. */
static bool write_columns(ctr_showing *showing, const ctr_shown *shown, bool complete)
{
    bool taken = false;
    ctr_writing *writing = &showing->writing;
    const ctr_tracked *tracked = showing->tracked;
    size_t n = (size_t)tracked->shape->n_counters;
    if (complete && shown) taken = ctr_writing_update(writing, shown, showing->to);
    if (complete && !shown) taken = ctr_writing_insert(writing, showing->to);
    if (taken || !showing->has_values || writing->aside || writing->ended) return taken;
    if (shown) {
        memcpy(showing->alone, shown, n * sizeof *shown);
        memcpy(showing->alone + n, showing->to + n, (size_t)tracked->n_regular * sizeof *shown);
        writing->aside = ctr_writing_update(writing, shown, showing->alone);
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
    bool deleted = !live && showing->merged;
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
    ctr_apart_read(tracked, showing->tab, writing->rowid, &apart);
    const ctr_shown *shown = showing->found;
    if (!ctr_writing_look(writing, writing->keys, showing->found, &is_integer)) shown = NULL;
    if (ctr_rc(conn) != SQLITE_OK) goto done;
    for (int i = 0; i < tracked->shape->n_counters; i++)
        if (apart.is_in[i])
            showing->from[i] = apart.shown[i];
        else if (apart.differs && shown && ctr_tracked_column_of(tracked, i) &&
                 ctr_tracked_same_shown(&shown[i], &showing->to[i]))
            showing->from[i] = shown[i]; /* listed by a trigger, after the merge */

    bool shows_counts = shown && is_integer && complete && live &&
                        ctr_tracked_same_row(tracked, shown, showing->to);
    size_t n = (size_t)tracked->shape->n_counters;
    if (shows_counts && !apart.waits) /* a trigger did it */
        memcpy(showing->from, shown, n * sizeof *showing->from);
    if (shows_counts && !showing->has_values) {
        ctr_apart_remove(showing->tab, writing->rowid, CTR_APART_OF_COUNTERS, NULL);
    } else if (shown && (apart.waits || !is_integer ||
                         !ctr_tracked_same_row(tracked, shown, showing->from))) {
        refuse_uncounted(showing, false);
    } else if (!shown && live && was_live && !apart.waits) {
        refuse_uncounted(showing, true);
    } else {
        /* Triggers may list it again. */
        ctr_apart_remove(showing->tab, writing->rowid, CTR_APART_OF_COUNTERS, NULL);
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

/* A row that waits is inserted with all of its values. Those that are not listed stand in the
 * table. */
static void list_all_values(ctr_showing *showing)
{
    const ctr_tracked *tracked = showing->tracked;
    const ctr_writing *writing = &showing->writing;
    if (!showing->shown.tab) ctr_row_values_open(&showing->shown, showing->tab);
    ctr_row_values_read(&showing->shown, writing->rowid, writing->keys);
    for (int i = 0; i < tracked->n_regular && ctr_rc(showing->conn) == SQLITE_OK; i++) {
        const ctr_tracked_column *column = ctr_tracked_regular(tracked, i);
        const ctr_shown shown = {.value = showing->shown.given[column->number]};
        if (shown.value && !value_to_show(showing, i))
            apart_add(showing->tab, writing->rowid, CTR_APART_REFUSED, column->birth, &shown);
    }
    ctr_row_values_reset(&showing->shown);
}

bool ctr_showing_take_off(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                          const ctr_summary *now)
{
    ctr_writing *writing = &showing->writing;
    begin_row(showing, rowid, keys, now);
    list_all_values(showing);
    if (showing->listed.why) writing->why = ctr_text_copy(showing->conn, showing->listed.why);
    ctr_showing_set_apart(showing, rowid, NULL, now); /* first: so its counters do not end */
    return ctr_rc(showing->conn) == SQLITE_OK && ctr_writing_delete(writing);
}

/* The list has what the row shows: the values from before the merge, unless it lists other ones. */
void ctr_showing_list(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                      const ctr_summary *before, const ctr_summary *now)
{
    ctr_conn *conn = showing->conn;
    ctr_apart_row apart = {0};
    ctr_tab *tab = showing->tab;
    const ctr_tracked *tracked = showing->tracked;
    if (ctr_rc(conn) != SQLITE_OK) return;
    bool live = is_live(showing, now), was_live = is_live(showing, before);
    if (showing->merged) was_live = showing->merged->was_live;
    begin_row(showing, rowid, keys, now);
    ctr_apart_read(tracked, tab, rowid, &apart);
    if (ctr_rc(conn) != SQLITE_OK) goto done;
    bool there = apart.ended || apart.differs || (was_live && !apart.waits);
    for (int i = 0; i < tracked->shape->n_counters; i++) {
        ctr_showing_value(showing, i, &before[i], &showing->from[i]);
        if (apart.is_in[i]) showing->from[i] = apart.shown[i];
    }
    if (!there && live && !apart.waits) /* a row in which nothing was counted has no cells */
        there = ctr_writing_look(&showing->writing, keys, showing->from, NULL);
    if (there || live)
        ctr_showing_set_apart(showing, rowid, there ? showing->from : NULL, now);
    else
        ctr_apart_remove(tab, rowid, CTR_APART_OF_COUNTERS, NULL);
    if (!live) ctr_apart_remove(tab, rowid, CTR_APART_OF_REGULAR, NULL);
    for (int i = 0; live && i < tracked->n_regular; i++)
        if (value_to_show(showing, i))
            apart_add(tab, rowid, CTR_APART_REFUSED, ctr_tracked_regular(tracked, i)->birth,
                      &showing->to[tracked->shape->n_counters + i]);
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
    *showing = (ctr_showing){.conn = tab->conn, .tracked = tracked, .tab = tab};
    if (!tracked) return ctr_rc(tab->conn);
    size_t n = (size_t)ctr_tracked_travel(tracked) + 1, n_regular = (size_t)tracked->n_regular;
    showing->from = sqlite3_malloc64(4 * n * sizeof *showing->from);
    showing->before = sqlite3_malloc64(2 * (n_regular + 1) * sizeof *showing->before);
    if (showing->from) memset(showing->from, 0, 4 * n * sizeof *showing->from);
    if (showing->before) memset(showing->before, 0, 2 * (n_regular + 1) * sizeof *showing->before);
    if (!showing->from || !showing->before) return ctr_problem_nomem(tab->conn);
    showing->to = showing->from + n;
    showing->found = showing->to + n;
    showing->alone = showing->found + n;
    showing->defaults = showing->before + n_regular;
    if (!tracked->table || ctr_rc(tab->conn) != SQLITE_OK) return ctr_rc(tab->conn);
    showing->writing = ctr_writing_on(tracked, tab);
    showing->reads_back = n_regular > 0 && ctr_triggers_are_others(tracked, tab->file);
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
    for (int i = 0; showing->before && i < 2 * showing->tracked->n_regular; i++)
        sqlite3_value_free(showing->before[i]);
    ctr_row_values_close(&showing->shown);
    ctr_apart_close_row(&showing->listed);
    sqlite3_free(showing->before);
    ctr_tracked_release(showing->tracked);
    sqlite3_free(showing->from);
    *showing = (ctr_showing){0};
}
