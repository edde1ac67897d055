/* tracked/reconcile.c - brings the counters of a row to what the tracked table shows, or ends them.
 *
 *     own_write      the row that the library is writing: its triggers count nothing
 *     reports        how the counter table sees and shows the tracked table
 *     stamping       the row cells of a replicated table
 *     reconcile      a row and its counters
 *     trigger_rows   the rows that the triggers insert
 *
 *     count = what the row shows - its base
 *
 * The base is what the row showed when it was last counted: the value of its counter or, in a row
 * that is apart (tracked/tracked.h), the listed value. A base is absent, NULL or a number.
 *
 *                  no base        a number                            deleted
 *     a number     it is added    the difference is added             next life, the number
 *     NULL         nothing        next life, without a count          the same, unless another
 *                                                                     counter of the row is live
 *
 * Then the row shows its counters, or is listed with what it shows.
 *
 * A statement that is as expected is counted from the values that its trigger hands over. But
 * triggers of the application that run before ours change rows within the statement, so that ours
 * report changes in another order than they happened. The first that does not fit the counters is
 * a disorder: from then on, until the transaction ends, the rows themselves are read.
 *
 * While the library writes a merged row, births and deletions count. Differences do not: the file
 * that counted the merged value has counted what triggers made of it, too. Such a row is listed,
 * and the next merge of it shows it again.
 */
#include "tracked/tracked.h"

#include <stdlib.h>
#include <string.h>

/* =================================================================================================
 * own_write - the row of a tracked table that the library is writing.
 *
 * Writing the table fires its triggers, which report the row. So the file knows the row being
 * written (tracked/writing.c), and does not count it again. */

/* Returns whether the library is writing a row of the file. */
static bool own_write_runs(const ctr_file *file)
{
    return file->writing != NULL;
}

/* Returns whether these are the values to show, and notes that our trigger has seen them. */
static bool note_if_wanted(ctr_writing *writing, const ctr_shown *shown)
{
    bool is = !shown && !writing->want;
    if (shown && writing->want) is = ctr_tracked_same_row(writing->tracked, shown, writing->want);
    writing->reported = writing->reported || is;
    return is;
}

/* Returns whether the library is writing the row with exactly table->keys and not ended, with these
 * values, by counter (NULL: it deletes the row). Then notes that our trigger has seen them. */
static bool own_write_is_row(const ctr_table *table, const ctr_shown *shown)
{
    ctr_writing *writing = table->file->writing;
    if (!writing || strcmp(writing->tracked->counters, table->name) != 0) return false;
    for (int i = 0; i < writing->tracked->shape->n_keys; i++)
        if (!ctr_text_alike(table->keys[i], writing->keys[i])) return false;
    return note_if_wanted(writing, shown) && !writing->ended;
}

/* Returns the writing of the row that the table has found, NULL if nobody is writing it. */
static ctr_writing *own_write_of(const ctr_table *table)
{
    ctr_writing *writing = table->file->writing;
    bool is = writing && strcmp(writing->tracked->counters, table->name) == 0 &&
              writing->rowid == table->row->rowid;
    return is ? writing : NULL;
}

/* =================================================================================================
 * reports - the counter table of a tracked table sees and shows that table.
 */

static const char *reports_tracked_table(const ctr_table *table)
{
    const ctr_objects *objects = ctr_file_objects(table->file);
    return objects ? ctr_triggers_table(objects, table->name) : NULL;
}

static void close_look(ctr_table *table)
{
    if (table->reports->looks) ctr_showing_close(table->reports->looks);
    sqlite3_free(table->reports->looks);
    table->reports->looks = NULL;
    table->reports->looked = false;
}

static void reports_open(ctr_table *table)
{
    table->reports = sqlite3_malloc64(sizeof *table->reports);
    if (table->reports)
        *table->reports = (ctr_reports){.noted = false};
    else
        ctr_problem_nomem(table->joined.conn);
}

static void reports_close(ctr_table *table)
{
    if (!table->reports) return;
    close_look(table);
    sqlite3_free(table->reports->may_go);
    sqlite3_free(table->reports);
    table->reports = NULL;
}

/* Returns the opening of the running counter_track, if that tracks this table; else NULL. */
static ctr_opening *reports_opening(const ctr_table *table)
{
    ctr_opening *opening = table->joined.conn->opening;
    bool is = opening && sqlite3_stricmp(opening->schema, table->schema) == 0 &&
              sqlite3_stricmp(opening->counters, table->name) == 0;
    return is ? opening : NULL;
}

/* Returns a view of the tracked table, by which none of its rows is written, or NULL if that table
 * is not known or on error.
 *
 * The view is kept until the schema changes. SQLite does not always make a new object of this table
 * then: counter_replicate of a new column changes the triggers alone. A view that shows a row just
 * now is in use. */
static ctr_showing *reports_look(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    if (ctr_rc(conn) != SQLITE_OK) return NULL;
    if (table->reports->looked_in != table->file->schemas && !own_write_runs(table->file))
        close_look(table);
    if (table->reports->looked) return table->reports->looks;
    ctr_showing *looks = sqlite3_malloc64(sizeof *looks);
    if (!looks) {
        ctr_problem_nomem(conn);
        return NULL;
    }
    if (ctr_showing_look(looks, table->row->tab)) {
        table->reports->looks = looks;
    } else {
        ctr_showing_close(looks);
        sqlite3_free(looks);
    }
    table->reports->looked = ctr_rc(conn) == SQLITE_OK;
    table->reports->looked_in = table->file->schemas;
    return table->reports->looks;
}

/* Returns the life of a row that is being counted: it lives, and lived before. NULL: the table is
 * not replicated. */
static const ctr_merged_row *life_of_counted(const ctr_table *table)
{
    static const ctr_merged_row LIVES = {.was_live = true, .is_live = true};
    return table->shape.replicated ? &LIVES : NULL;
}

/* Lists the row as one that shows these values; NULL: it waits. */
static void reports_list(ctr_table *table, const ctr_merged_row *life, const ctr_shown *shown,
                         const ctr_summary *now)
{
    ctr_showing *looks = reports_look(table);
    if (!looks) return;
    looks->merged = life;
    ctr_showing_set_apart(looks, table->row->rowid, shown, now);
    looks->merged = NULL;
}

/* Writes the counters of the row that was found into the tracked table, if the table accepts them.
 * All of our triggers must exist, unless one of them is the caller; else a command is. The other
 * arguments are those of ctr_showing_row. The write fires triggers, which may insert another key
 * here, so the key is copied. */
static void reports_show(ctr_table *table, bool is_trigger, const ctr_shown *from,
                         const ctr_summary *before, const ctr_summary *after)
{
    ctr_showing showing;
    int64_t rowid = table->row->rowid;
    size_t size = (size_t)table->shape.n_keys * sizeof *table->keys;
    sqlite3_value **keys = sqlite3_malloc64(size);
    if (keys)
        memcpy(keys, table->keys, size);
    else
        ctr_problem_nomem(table->joined.conn);
    ctr_tab *tab = table->row->tab;
    bool open =
        is_trigger ? ctr_showing_look(&showing, tab) : ctr_showing_open(&showing, tab) == SQLITE_OK;
    showing.merged = life_of_counted(table);
    showing.writing.commanded = !is_trigger;
    if (open) ctr_showing_row(&showing, rowid, keys, from, before, after);
    ctr_showing_close(&showing);
    sqlite3_free(keys);
}

/* Notes the names of the tracked table and its columns, once: the table is connected again when the
 * schema changes. But names that this transaction wrote may be rolled back, so they are written
 * again in the next one. */
static void reports_note_names(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    unsigned nth = conn->ended + 1;
    if (table->reports->noted) return;
    if (ctr_tracked_note(table->file, table->name, &table->shape)) table->reports->noted_in = nth;
    table->reports->noted = ctr_rc(conn) == SQLITE_OK && table->reports->noted_in != nth;
}

/* =================================================================================================
 * stamping - stamps the rows of a replicated table, as its triggers report them.
 *
 *     INSERT, REPLACE    the next life, or the same if the row lives; all columns have the stamp
 *     UPDATE             the columns that the trigger names; the stamp goes to the journal
 *     DELETE             the next life, which is even; the counters of the row are empty
 *
 * The row cell is written with the counters of the row. A stamp is higher than those that it
 * replaces, also if the clock of another file is ahead (core/core.h). Stamping asks under whom the
 * file counts, as counting does. What a trigger of the application changes in a row while that row
 * is merged is not stamped.
 *
 * counter_replicate stamps the rows that are there with (CTR_STAMP_BEGAN, its opening), or with the
 * number above or below for 'values=newest' or 'values=oldest'. Of two files that began with one
 * number a merge asks whose values win.
 *
 * These functions do nothing unless the table is replicated. They fail with SQLITE_FULL if a row
 * has no further life or stamp. */

static void refuse_last_life(ctr_table *table)
{
    char *key = ctr_table_key_text(table);
    ctr_problem_set(table->joined.conn, SQLITE_FULL, "row %s: there is no further life after %u",
                    key, (unsigned)CTR_ROW_LIFE_MAX);
    sqlite3_free(key);
}

/* Makes a stamp of this file, higher than `above`. Returns false on error. */
static bool make_stamp(ctr_table *table, int64_t above, ctr_stamp *stamp)
{
    ctr_conn *conn = table->joined.conn;
    const ctr_leader *leader = ctr_file_leader(table->file);
    if (!leader) return false;
    if (above > table->file->learned) table->file->learned = above; /* numbers are drawn above it */
    int64_t number = ctr_batch_number(table->row->tab);
    bool fits = number > above && number <= CTR_STAMP_LAST;
    *stamp = (ctr_stamp){.number = fits ? number : ctr_batch_stamp_number(above)};
    memcpy(stamp->id, leader->id, CTR_ID_SIZE);
    if (ctr_rc(conn) == SQLITE_OK && stamp->number <= CTR_STAMP_MAX) return true;
    ctr_problem_set(conn, SQLITE_FULL, "the stamps of the row have reached the last one, %lld",
                    (long long)CTR_STAMP_MAX);
    return false;
}

/* Returns the highest time of values that lines did not carry, of the columns in the mask or, if it
 * is NULL, of all: a write of the column must be later. 0: there is none. */
static int64_t highest_too_large(ctr_table *table, const bool *mask)
{
    int64_t highest = 0;
    ctr_apart_row apart = {0};
    ctr_tab *tab = table->row->tab;
    const ctr_showing *looks = table->row->found ? reports_look(table) : NULL;
    if (!looks || !ctr_apart_any(tab)) return 0;
    ctr_apart_read(looks->tracked, tab, table->row->rowid, &apart);
    for (int i = 0; i < looks->tracked->n_regular; i++) {
        int number = ctr_tracked_regular(looks->tracked, i)->number;
        const ctr_too_large *value =
            mask && !mask[number] ? NULL : ctr_apart_too_large(&apart, looks->tracked, number);
        int64_t time = value ? ctr_stamp_time(value->stamp.number) : 0;
        if (time > highest) highest = time;
    }
    ctr_apart_close_row(&apart);
    return highest;
}

/* Stages the row cell of the row that was found or is missing, as inserted. */
static void stamping_insert(ctr_table *table)
{
    ctr_stamp stamp;
    ctr_row *row = table->row;
    int64_t above = highest_too_large(table, NULL);
    ctr_row_cell *cell = ctr_row_stamps(row);
    if (cell && ctr_row_cell_highest(cell) > above) above = ctr_row_cell_highest(cell);
    if (!cell || !make_stamp(table, above, &stamp)) return;
    if (cell->life > 0) ctr_apart_remove(row->tab, row->rowid, CTR_APART_OF_REGULAR, NULL);
    bool is_born = cell->life == 0 && ctr_spread_bears(table);
    if (ctr_row_cell_insert(cell, &stamp) != CTR_OK) refuse_last_life(table);
    if (is_born) cell->birth = stamp;
    cell->born = cell->born || is_born;
    ctr_regular_raise(row->tab, cell, NULL);
    ctr_row_set_stamps(row);
}

/* Stages it as deleted. */
static void stamping_delete(ctr_table *table)
{
    ctr_row *row = table->row;
    ctr_row_cell *cell = ctr_row_stamps(row);
    if (!cell || !ctr_row_cell_is_live(cell)) return;
    if (!ctr_file_leader(table->file)) return;
    for (int i = 0; i < table->shape.n_counters; i++)
        if (ctr_write_check_end(table, i)) return;
    ctr_apart_remove(row->tab, row->rowid, CTR_APART_OF_REGULAR, NULL);
    ctr_row_empty(row);
    if (ctr_row_cell_delete(cell) != CTR_OK)
        refuse_last_life(table);
    else
        ctr_row_set_stamps(row);
}

/* ---- an UPDATE ------------------------------------------------------------------------------- */

/* Reads 5 or '5,0,1', CTR_MASK_COLUMNS in each number, into a mask by the numbers of the columns;
 * see tracked/tracked.h. */
static bool *read_mask(ctr_conn *conn, sqlite3_value *marks, int n)
{
    bool *mask = sqlite3_malloc64((size_t)n + 1);
    if (!mask) {
        ctr_problem_nomem(conn);
        return NULL;
    }
    memset(mask, 0, (size_t)n + 1);
    const char *at = ctr_text_value(conn, marks); /* NULL: it is a number */
    int64_t bits = at ? 0 : sqlite3_value_int64(marks);
    for (int i = 0; i < n && ctr_rc(conn) == SQLITE_OK; i++) {
        char *end;
        if (at && i % CTR_MASK_COLUMNS == 0) {
            bits = strtoll(at, &end, 10);
            at = *end == ',' ? end + 1 : end;
        }
        mask[i] = bits >> i % CTR_MASK_COLUMNS & 1;
        if (!at && i == CTR_MASK_COLUMNS - 1) bits = 0;
    }
    return mask;
}

/* What was merged into the columns is no longer waiting to be shown. */
static void unlist_columns(ctr_table *table, const bool *mask, int n)
{
    ctr_tab *tab = table->row->tab;
    int64_t rowid = table->row->rowid;
    if (!reports_look(table) || !ctr_apart_any(tab)) return;
    const ctr_registry *registry = ctr_regular_of(tab);
    for (int i = 0; registry && i < n; i++) {
        if (!mask[i]) continue;
        ctr_apart_remove(tab, rowid, CTR_APART_OF_SHOWN, registry->columns[i].name);
        ctr_apart_remove_too_large(tab, rowid, i);
    }
}

/* Returns whether some column in the mask has a lower generation in the row than in the file. A
 * stamp of the journal has that of the row. */
static bool writes_higher(ctr_row *row, const bool *mask, int n)
{
    bool any = false;
    const ctr_registry *registry = ctr_regular_of(row->tab);
    for (int i = 0; registry && i < n; i++)
        any = any || (mask[i] && registry->columns[i].generation > 0);
    const ctr_row_cell *cell = any ? ctr_row_stamps(row) : NULL;
    registry = cell ? ctr_regular_of(row->tab) : NULL; /* it may have been read again */
    for (int i = 0; registry && i < n; i++) {
        const ctr_stamp *stamp = ctr_row_cell_stamp(cell, i);
        int64_t generation = stamp ? ctr_stamp_generation(stamp->number) : 0;
        if (mask[i] && registry->columns[i].generation > generation) return true;
    }
    return false;
}

static void stamp_columns(ctr_table *table, const bool *mask, int n)
{
    ctr_stamp stamp;
    ctr_row *row = table->row;
    if (!ctr_file_leader(table->file)) return;
    int64_t above = highest_too_large(table, mask);
    unlist_columns(table, mask, n);
    if (above > 0 || writes_higher(row, mask, n) || !ctr_row_stamp(row, mask, n)) {
        ctr_row_cell *cell = ctr_row_stamps(row);
        int64_t highest = cell ? ctr_row_cell_highest_of(cell, mask) : 0;
        if (!cell || !make_stamp(table, highest > above ? highest : above, &stamp)) return;
        ctr_row_cell_set(cell, mask, &stamp);
        ctr_regular_raise(row->tab, cell, mask);
        ctr_row_set_stamps(row);
    }
    if (ctr_rc(table->joined.conn) == SQLITE_OK) ctr_table_write(table);
}

/* Takes out of the mask the columns that a foreign key has changed because the library writes their
 * parent. Every file that merges it does the same, so it is no write of this one. Returns whether
 * any column is left. */
static bool leave_out_actions(ctr_table *table, bool *mask, int n)
{
    bool any = false;
    const ctr_writing *writing = table->file->writing;
    const ctr_showing *looks = reports_look(table);
    const ctr_foreign_keys *foreign = looks ? ctr_foreign_keys_of(table->file) : NULL;
    for (int i = 0; foreign && i < looks->tracked->n_regular; i++) {
        const ctr_tracked_column *column = ctr_tracked_regular(looks->tracked, i);
        if (column->number < n && mask[column->number] && column->name &&
            ctr_foreign_refers(foreign, looks->tracked->table, column->name,
                               writing->tracked->table))
            mask[column->number] = false;
    }
    for (int i = 0; i < n; i++) any = any || mask[i];
    return any;
}

/* ---- counter_replicate ----------------------------------------------------------------------- */

/* Returns the life in which a row begins to be replicated, an odd one. Its counters tell how often
 * it was deleted: the one with the highest life, for one that the row has had since then has a
 * lower one, and one that it never had has none. A life that a reset began looks alike. With
 * another key all rows are in their first life: those that were deleted are not there, and a reset
 * that one file alone has made must not win over what others counted. */
static uint32_t life_of_counters(const ctr_table *table)
{
    uint32_t highest = 0;
    const ctr_opening *opening = reports_opening(table);
    for (int i = 0; i < table->shape.n_counters && !(opening && opening->carries); i++) {
        ctr_summary state = ctr_row_state(table->row, i);
        if (state.touched && state.life > highest) highest = state.life;
    }
    if (highest == 0) return 1;
    if (highest > CTR_ROW_LIFE_MAX) highest = CTR_ROW_LIFE_MAX;
    return highest % 2 == 1 ? highest : highest - 1;
}

/* Returns the opening of the running counter_replicate, if it stamps. */
static const ctr_opening *stamping_opening(const ctr_table *table)
{
    const ctr_opening *opening = reports_opening(table);
    return opening && opening->stamps ? opening : NULL;
}

/* Above that of what a file shows that follows another one, and below those of any clock. */
enum { STAMP_ENDED = CTR_STAMP_BEGAN + 1 };

/* A column that was added to a row with a stamp gets one if it shows something else than its
 * DEFAULT. If it was a counter that this file has ended, the file writes what that shows; by
 * 'values=oldest' it takes whatever any other file has, also one that never counted. A file that
 * follows another one, by 'values=oldest', has counted: only values of the same generation win. A
 * DEFAULT, which may be that of a column that was dropped and added since, yields to all that is
 * written elsewhere. */
static bool stamp_new_columns(ctr_table *table, ctr_row_cell *cell, const ctr_stamp *began)
{
    bool any = false;
    const ctr_opening *opening = stamping_opening(table);
    const ctr_registry *registry = ctr_regular_of(table->row->tab);
    ctr_showing *looks = registry ? reports_look(table) : NULL;
    for (int i = 0;
         looks && i < looks->tracked->n_regular && ctr_rc(table->joined.conn) == SQLITE_OK; i++) {
        const ctr_tracked_column *column = ctr_tracked_regular(looks->tracked, i);
        const int number = column->number;
        if (!column->name || cell->columns[number].kind != CTR_STAMP_NONE) continue;
        int64_t generation = registry->columns[number].generation;
        ctr_stamp stamp = *began;
        bool ended = number < opening->n_ended && opening->ended[number];
        if (ended && opening->values == CTR_VALUES_OLDEST) {
            ended = false;
            generation = 0;
        }
        bool unlike = ctr_writing_is_unlike_default(&looks->writing, table->keys, column->name);
        bool newest = generation > 0 && opening->values == CTR_VALUES_NEWEST;
        if (!unlike && !ended && !newest) continue;
        if (ended) stamp.number = STAMP_ENDED;
        if ((newest || (ended && unlike)) && !make_stamp(table, 0, &stamp)) break;
        if (generation == 0 && opening->values)
            stamp.number += opening->values == CTR_VALUES_NEWEST ? 1 : -1;
        stamp.number = ctr_stamp_number(generation, stamp.number);
        cell->columns[number] = (ctr_column_stamp){.kind = CTR_STAMP_OWN, .own = stamp};
        any = true;
    }
    return any;
}

/* Stamps a live row with new columns. If there are none, its stamps from when replication began win
 * now, or yield, if the call says so. */
static bool stamp_again(ctr_table *table, ctr_row_cell *cell, const ctr_stamp *stamp)
{
    const ctr_opening *opening = stamping_opening(table);
    if (!opening) return false;
    bool any = stamp_new_columns(table, cell, stamp);
    if (opening->values && !opening->adds)
        any = ctr_row_cell_begin_again(cell, opening->values == CTR_VALUES_NEWEST, opening->id) ||
              any;
    return any;
}

/* Stages the row cell of a row that counter_replicate finds. Returns whether it has changed.
 *
 * In a rebuilt table with 'values=newest' each row is stamped as by an INSERT. Else these are: one
 * from before replication, which takes the life of its counters; one that was inserted while the
 * triggers did not run; one that stamp_again stamps. The second have a number that SQLite gave out
 * if keys are spread, and a birth; one with a number from below all places has none: each file may
 * have got it from the migration. */
static bool stamping_found(ctr_table *table)
{
    ctr_stamp stamp = {.number = CTR_STAMP_BEGAN};
    const ctr_opening *opening = stamping_opening(table);
    ctr_row_cell *cell = ctr_row_stamps(table->row);
    if (!cell) return false;
    if (opening) memcpy(stamp.id, opening->id, CTR_ID_SIZE);
    if (opening && opening->values == CTR_VALUES_WRITTEN) {
        if (ctr_row_cell_is_live(cell)) stamp_new_columns(table, cell, &stamp);
        stamping_insert(table);
        return true;
    }
    if (cell->life == 0 && opening && !ctr_spread_bears(table)) {
        cell->life = life_of_counters(table) - 1;
        ctr_row_cell_insert(cell, &stamp);
        if (opening->values) stamp_again(table, cell, &stamp);
    } else if (!ctr_row_cell_is_live(cell)) {
        stamping_insert(table);
        return true;
    } else if (!stamp_again(table, cell, &stamp)) {
        return false;
    }
    ctr_row_set_stamps(table->row);
    return true;
}

/* Stages the row cell of a missing row that is to come back. It lives on, but its values are lost
 * here: its columns have no stamp any more, by which other files notice that they should give
 * theirs (ctr_row_cell_lacks). */
static void stamping_restored(ctr_table *table)
{
    ctr_row *row = table->row;
    ctr_row_cell *cell = ctr_row_stamps(row);
    if (!cell) return;
    for (int i = 0; i < cell->n; i++) cell->columns[i].kind = CTR_STAMP_NONE;
    ctr_row_set_stamps(row);
}

static bool any_counter_is_live(const ctr_table *table)
{
    for (int i = 0; i < table->shape.n_counters; i++) {
        ctr_summary state = ctr_row_state(table->row, i);
        if (ctr_summary_is_live(&state)) return true;
    }
    return false;
}

/* Writes the row cell of a row that counter_replicate finds among the cells alone, unless it has
 * one: it was deleted, or is listed as one that `waits`, and then it has the values of some other
 * file. */
static void stamping_missing(ctr_table *table, bool waits)
{
    ctr_row *row = table->row;
    ctr_row_cell *cell = stamping_opening(table) ? ctr_row_stamps(row) : NULL;
    if (!cell || cell->life != 0) return;
    cell->life = life_of_counters(table);
    for (int i = 0; i < cell->n; i++) cell->columns[i].kind = CTR_STAMP_NONE;
    if (!waits && !any_counter_is_live(table)) {
        ctr_row_cell_delete(cell);
        ctr_row_empty(row);
    }
    if (ctr_row_set_stamps(row) == SQLITE_OK) ctr_table_write(table);
}

/* =================================================================================================
 * reconcile - counts a row, ends its counters, looks for rows that OR REPLACE removed. */

/* ---- what the row showed --------------------------------------------------------------------- */

/* Returns whether a column of a live row shows the value of a counter that has none. */
static bool shows_nothing(const ctr_tracked_row *row, int counter, const ctr_shown *shown)
{
    ctr_shown nothing;
    ctr_summary state = ctr_row_state(row->table->row, counter);
    if (ctr_summary_counts(&state) || !ctr_row_is_live(row->table->row)) return false;
    ctr_showing *looks = reports_look(row->table);
    if (!looks) return shown->null;
    return ctr_showing_value(looks, counter, &state, &nothing) &&
           ctr_tracked_same_shown(shown, &nothing);
}

/* Returns whether the counters have the values that the row showed. */
static bool is_as_counted(const ctr_tracked_row *row, const ctr_shown *showed)
{
    for (int i = 0; i < row->table->shape.n_counters; i++) {
        int64_t value = 0;
        const ctr_shown *was = &showed[i];
        ctr_summary state = ctr_row_state(row->table->row, i);
        bool counts = ctr_summary_counts(&state);
        if (was->none) continue;
        if (was->odd) return false;
        if (!counts && !was->null && !shows_nothing(row, i, was)) return false;
        if (counts && (was->null || ctr_summary_value(&state, &value) != CTR_OK || value != was->n))
            return false;
    }
    return true;
}

/* Looks up whether the row is listed as apart. Called only if the row is not as expected. */
static void look_apart(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    ctr_showing *looks = table->row->found ? reports_look(table) : NULL;
    if (!looks) return;
    ctr_apart_close_row(&row->apart);
    ctr_apart_read(looks->tracked, looks->tab, table->row->rowid, &row->apart);
    const ctr_apart_row *apart = &row->apart;
    row->is_apart = ctr_rc(row->table->joined.conn) == SQLITE_OK &&
                    (apart->waits || apart->differs || apart->ended || apart->withheld);
}

/* Returns the value that a column of a row apart shows in place of its counter; NULL: it shows the
 * counter. */
static const ctr_shown *shown_apart(const ctr_tracked_row *row, int counter)
{
    return row->is_apart && row->apart.is_in[counter] ? &row->apart.shown[counter] : NULL;
}

static void note_disorder(ctr_table *table)
{
    table->reports->disorder_in = table->joined.conn->ended + 1;
}

static bool is_disorder(const ctr_table *table)
{
    return table->reports->disorder_in == table->joined.conn->ended + 1;
}

/* A row has left its place, or may do so at once, but for the one that the library deletes. */
static void note_left(ctr_table *table)
{
    ctr_writing *writing = own_write_of(table);
    bool deletes = writing && !writing->want && !writing->left;
    if (writing) writing->left = true; /* a trigger may bring it back */
    if (!deletes) table->reports->left_in = table->joined.conn->ended + 1;
}

/* Returns whether the row of an INSERT is where it was inserted: a trigger that ran before ours may
 * have deleted, replaced or moved it. Until the transaction ends, rows that left stay away. */
static bool is_at_home(const ctr_table *table)
{
    return !is_disorder(table) && table->reports->left_in != table->joined.conn->ended + 1;
}

/* Returns whether the row exists in the tracked table, and its present values if `shown` is not
 * NULL; they may differ from those that the trigger inserted. If the tracked table is not known,
 * returns `said`. */
static bool is_there(ctr_tracked_row *row, ctr_shown *shown, bool said)
{
    ctr_table *table = row->table;
    ctr_showing *looks = reports_look(table);
    if (!looks) return said && ctr_rc(row->table->joined.conn) == SQLITE_OK;
    return ctr_writing_look(&looks->writing, table->keys, shown, NULL);
}

/* Refuses a row below a floor; a merged one and one of counter_track are skipped. */
static bool is_below(const ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    if (table->row->found) return false;
    if (row->event == CTR_ROW_FOUND || own_write_runs(table->file))
        return ctr_table_is_below(table);
    return ctr_write_check_floors(table) != SQLITE_OK;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Returns whether other files would show another value than NULL, for nothing was counted. */
static bool hides_null(ctr_table *table, int counter)
{
    ctr_summary state = ctr_row_state(table->row, counter);
    ctr_showing *looks = table->shape.replicated && !state.touched ? reports_look(table) : NULL;
    const ctr_tracked_column *column =
        looks ? ctr_tracked_column_of(looks->tracked, counter) : NULL;
    return column && !column->blank.null;
}

/* Refuses a NULL that hides a DEFAULT where counting begins: to tell other files of it would end
 * what they have counted. */
static void refuse_null(ctr_table *table, int counter)
{
    ctr_conn *conn = table->joined.conn;
    const ctr_tracked *tracked = reports_look(table)->tracked;
    const ctr_tracked_column *column = ctr_tracked_column_of(tracked, counter);
    const char *of_file = sqlite3_stricmp(table->schema, "main") == 0
                              ? ""
                              : ctr_text_print(conn, "\"%w\".", table->schema);
    char *key = ctr_table_key_text(table);
    ctr_problem_set(
        conn, SQLITE_ERROR,
        "the row %s has NULL in the counter %s, and other files would show its DEFAULT, "
        "%lld: UPDATE %s\"%w\" SET \"%w\" = %lld WHERE \"%w\" IS NULL, before the call",
        key, column->name, (long long)column->blank.n, of_file, tracked->table, column->name,
        (long long)column->blank.n, column->name);
    sqlite3_free(key);
}

/* NULL ends what was counted. In a row that others would show otherwise it is told, too, unless
 * counting begins with it. */
static void count_null(ctr_table *table, int counter, const ctr_summary *state)
{
    const ctr_opening *opening = reports_opening(table);
    bool hides = hides_null(table, counter);
    bool ends = hides || ctr_summary_counts(state) ||
                (state->life % 2 == 0 && !ctr_row_is_live(table->row));
    if (hides && opening && opening->opens[counter])
        refuse_null(table, counter);
    else if (ends && ctr_write_check_end(table, counter) == SQLITE_OK)
        ctr_write_next_life(table, counter, &(ctr_given){.is = false});
}

/* Counts one counter of the row that was found: its column shows `now`. `base` is the listed value
 * of a row that is apart; in others it is NULL, for the base is the counter. `adds`: the counter
 * has counts that the row never showed. */
static void count_value(ctr_table *table, int counter, const ctr_shown *base, const ctr_shown *now,
                        bool adds)
{
    ctr_summary state = ctr_row_state(table->row, counter);
    bool counts = ctr_summary_counts(&state);
    bool deleted = state.life % 2 == 0;
    if (ctr_rc(table->joined.conn) != SQLITE_OK || now->none) return;
    if (base && !deleted && ctr_tracked_same_shown(base, now)) return;
    if (now->null) {
        if (!adds) count_null(table, counter, &state);
    } else if (deleted) {
        ctr_write_next_life(table, counter, &(ctr_given){.is = true, .n = now->n});
    } else if (base && !base->null) {
        ctr_write_change(table, counter, base->n, now->n);
    } else if (base || adds || !counts) {
        ctr_write_add(table, counter, now->n);
    } else {
        ctr_write_assign(table, counter, now->n);
    }
}

/* Returns the opening of the running counter_track, if it counts this value under it: tracking of
 * the column begins, and the value is not 0. */
static ctr_opening *opening_of(const ctr_tracked_row *row, int counter, const ctr_shown *value)
{
    ctr_opening *opening = reports_opening(row->table);
    bool is = row->event == CTR_ROW_FOUND && opening && opening->opens[counter] && !value->none &&
              !value->null && value->n != 0 &&
              !(opening->carries && ctr_row_state(row->table->row, counter).touched);
    return is ? opening : NULL;
}

/* Counts each counter; those that the statement left alone, too, unless it is `expected`. */
static void count_values(ctr_tracked_row *row, bool expected)
{
    ctr_table *table = row->table;
    bool waits = row->is_apart && row->apart.waits;
    bool dead = table->shape.replicated && table->row->found &&
                !ctr_row_is_live(table->row); /* its counters are empty, whatever it shows */
    for (int i = 0; i < table->shape.n_counters && ctr_rc(row->table->joined.conn) == SQLITE_OK;
         i++) {
        const ctr_shown *base = dead ? NULL : shown_apart(row, i), *now = &row->now[i];
        ctr_opening *opening = opening_of(row, i, now);
        bool same = expected
                        ? row->event == CTR_ROW_UPDATED && ctr_tracked_same_shown(&row->was[i], now)
                    : base ? ctr_tracked_same_shown(base, now)
                           : !now->adopted && shows_nothing(row, i, now);
        if (opening)
            ctr_write_open(table, opening, i, now->n);
        else if (!same)
            count_value(table, i, base, now, waits || now->adopted);
    }
}

static void write_staged(ctr_table *table)
{
    if (ctr_rc(table->joined.conn) == SQLITE_OK && ctr_row_is_staged(table->row))
        ctr_table_write(table);
}

/* Writes what is staged; notes the states of the counters before and after. */
static void reconcile_write(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    for (int i = 0; i < table->shape.n_counters; i++) {
        row->before[i] = ctr_row_state(table->row, i);
        row->after[i] = ctr_row_staged_state(table->row, i);
    }
    write_staged(table);
}

/* ---- showing --------------------------------------------------------------------------------- */

/* Shows the counters in a row that was apart, or lists it again to be shown later. While a row is
 * being written, its triggers may come back here for each row that is shown, without an end; while
 * counter_track reads the table, it would read what is written, and count it again. And
 * triggers of the application that have still to run must not meet a row that is changed again: an
 * index of FTS5 is told to delete words that it was never given. */
static void show_again(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    int64_t rowid = table->row->rowid;
    ctr_showing *looks = reports_look(table);
    bool later = row->event == CTR_ROW_FOUND || own_write_runs(table->file) ||
                 ctr_foreign_broken(table->joined.conn->db);
    const char *event = row->event == CTR_ROW_INSERTED  ? "insert"
                        : row->event == CTR_ROW_UPDATED ? "update"
                                                        : NULL;
    if (looks && event && !later)
        later = ctr_triggers_run_later(looks->tracked, table->file, event);
    if (looks && (later || row->apart.withheld)) {
        looks->withheld = row->apart.withheld;
        reports_list(table, life_of_counted(table), row->now, row->after);
        looks->withheld = false;
    } else if (looks) {
        ctr_apart_remove(looks->tab, rowid, CTR_APART_OF_COUNTERS, NULL);
        reports_show(table, true, row->now, row->before, row->after);
    }
}

/* Lists a row that a trigger has made differ. Its values are read: other triggers may have changed
 * it since. */
static void set_aside(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    if (!is_there(row, row->now, true)) return;
    for (int i = 0; i < table->shape.n_counters; i++) row->after[i] = ctr_row_state(table->row, i);
    const ctr_merged_row life = {.is_live = ctr_row_is_live(table->row)};
    reports_list(table, table->shape.replicated ? &life : NULL, row->now, row->after);
    ctr_writing *writing = own_write_of(table);
    if (writing) writing->aside = true;
}

/* Returns whether the library is writing this row; then there is nothing to count. A row that a
 * trigger has deleted and inserted again is the trigger's, though it shows the same. */
static bool is_being_shown(const ctr_tracked_row *row, const ctr_shown *shown)
{
    ctr_conn *conn = row->table->joined.conn;
    ctr_writing *writing = own_write_of(row->table);
    if (!writing || !note_if_wanted(writing, shown)) return false;
    /* Only a statement that fails can be undone while another one writes. A trigger that would run
     * after ours and repair the key comes too late. */
    if (writing->unsaved && ctr_foreign_broken(conn->db))
        ctr_problem_set(conn, SQLITE_CONSTRAINT, "the row breaks a deferred foreign key");
    return !writing->ended;
}

/* ---- a row that goes on ---------------------------------------------------------------------- */

/* Counts what the counters of the row show under the opening of its next life. A column that shows
 * NULL shows it in other files, too. */
static void open_shown(ctr_tracked_row *row, uint32_t life)
{
    ctr_conn *conn = row->table->joined.conn;
    ctr_table *table = row->table;
    ctr_packed key = {0};
    ctr_opening opening = {.answer = CTR_SAME};
    ctr_catalog_entry entry = {0};
    ctr_pack_folded(conn, &key, &table->shape, table->keys);
    if (ctr_catalog_named(&entry, table->joined.conn, table->schema, table->name))
        ctr_openings_of_life(conn, entry.birth, &key, life, opening.id);
    for (int i = 0; i < table->shape.n_counters && ctr_rc(conn) == SQLITE_OK; i++) {
        const ctr_shown *shown = &row->apart.shown[i];
        if (row->apart.is_in[i] && !shown->null)
            ctr_write_open(table, &opening, i, shown->n);
        else if (row->apart.is_in[i] && hides_null(table, i) &&
                 ctr_write_check_end(table, i) == SQLITE_OK)
            ctr_write_next_life(table, i, &(ctr_given){.is = false});
    }
    ctr_catalog_close_entry(&entry);
    sqlite3_free(key.bytes);
}

/* Begins the next life of a row that was found and is deleted, with all that it shows, if its
 * merged deletion is listed: it gives way to the write of the application that is being reported.
 * Returns whether it did. */
static bool reconcile_revive(ctr_tracked_row *row)
{
    ctr_conn *conn = row->table->joined.conn;
    ctr_table *table = row->table;
    if (!table->shape.replicated || own_write_runs(table->file)) return false;
    look_apart(row);
    const ctr_row_cell *cell = row->apart.ended ? ctr_row_stamps(table->row) : NULL;
    if (!cell || ctr_rc(conn) != SQLITE_OK) return false;
    open_shown(row, cell->life + 1);
    stamping_insert(table);
    write_staged(table);
    ctr_apart_remove(table->row->tab, table->row->rowid, CTR_APART_OF_COUNTERS, NULL);
    ctr_spread_keep(table->row->tab, table->row->rowid);
    row->is_apart = false;
    return ctr_rc(conn) == SQLITE_OK && ctr_table_find(table) == SQLITE_OK;
}

/* ---- a row that is there --------------------------------------------------------------------- */

/* Returns whether the counters are as the event has it: those of a new row are missing, those of
 * another one have the values that it showed. */
static bool is_expected(const ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    if (row->event == CTR_ROW_INSERTED) return !table->row->found;
    bool gone = table->row->found && !ctr_row_is_live(table->row);
    return !gone && is_as_counted(row, row->event == CTR_ROW_FOUND ? row->now : row->was);
}

/* Returns whether the statement may have removed a row of this key that no trigger has told of. */
static bool hides_replaced(const ctr_table *table)
{
    ctr_tab *tab = table->row->tab;
    return ctr_home_is_known(tab) && tab->home.hides &&
           (sqlite3_vtab_on_conflict(table->joined.conn->db) == SQLITE_REPLACE ||
            ctr_tracked_replaces(tab));
}

/* Counts a row that nothing is known of as a new one, which nearly all are that were inserted: so
 * it is not looked for. Returns false if it must be, because something speaks against it. */
static bool count_new(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    if (row->event != CTR_ROW_INSERTED || is_disorder(table) || own_write_runs(table->file) ||
        hides_replaced(table) || !ctr_table_may_be_new(table) || ctr_table_is_below(table))
        return false;
    count_values(row, true);
    stamping_insert(table);
    return ctr_rc(row->table->joined.conn) == SQLITE_OK && ctr_row_is_staged(table->row) &&
           ctr_row_write_new(table->row, table->keys);
}

/* Returns whether a column of a row that waits was merged with another value than it shows now. */
static bool shows_other_values(const ctr_tracked_row *row)
{
    ctr_showing *looks = reports_look(row->table);
    const int n = row->table->shape.n_counters;
    bool any = false;
    for (int i = 0; looks && i < looks->tracked->n_regular && !any; i++) {
        const char *column = ctr_tracked_regular(looks->tracked, i)->name;
        if (column && row->apart.is_in[n + i])
            any = ctr_writing_is_unlike(&looks->writing, row->table->keys, column,
                                        row->apart.shown[n + i].value);
    }
    return any;
}

/* Fails if the application inserts another row under a number that SQLite has given to one that
 * waits: the values of that would be gone in all files. Returns whether it failed. */
static bool refuse_number_of_waiting(const ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    if (row->event != CTR_ROW_INSERTED || !row->apart.waits || !ctr_spread_bears(table) ||
        !shows_other_values(row))
        return false;
    char *key = ctr_table_key_text(table);
    ctr_problem_set(table->joined.conn, SQLITE_CONSTRAINT,
                    "the number of the row %s is that of a row of another file, which waits: see "
                    "counter_tracked, and give this row another number, or none",
                    key);
    sqlite3_free(key);
    return true;
}

/* Counts a row that is there. */
static void reconcile_row(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    if (count_new(row) || ctr_rc(row->table->joined.conn) != SQLITE_OK) return;
    if (ctr_table_find(table)) return;
    if (row->event == CTR_ROW_INSERTED && hides_replaced(table))
        ctr_row_scan_key(table->row, table->keys);
    if (row->event == CTR_ROW_INSERTED && table->has_at)
        ctr_row_come_home(table->row, table->at, is_at_home(table));
    bool live = table->row->found && ctr_row_is_live(table->row);
    if (table->row->found && !live) live = reconcile_revive(row);
    if (table->row->found && own_write_runs(table->file)) {
        bool counts = !live && row->event == CTR_ROW_INSERTED; /* a trigger deleted it before */
        if (!is_being_shown(row, row->now) && !counts) set_aside(row);
        if (!counts) return;
    }
    if (is_below(row)) return;
    bool expected = is_expected(row);
    if (!expected) look_apart(row);
    if (!expected && !row->is_apart) note_disorder(table);
    expected = expected && !is_disorder(table);
    if (!expected && !is_there(row, row->now, true)) return;
    if (refuse_number_of_waiting(row)) return;
    count_values(row, expected);
    if (row->event == CTR_ROW_INSERTED || !live) stamping_insert(table);
    if (row->is_apart) {
        reconcile_write(row);
        show_again(row);
    } else {
        write_staged(table);
    }
}

/* Stamps and writes the columns that an UPDATE has changed. */
static void stamping_write(ctr_tracked_row *row)
{
    ctr_conn *conn = row->table->joined.conn;
    ctr_table *table = row->table;
    if (ctr_table_find(table) || !table->row->found || own_write_of(table)) return;
    if (!ctr_row_is_live(table->row) && !reconcile_revive(row))
        return; /* its INSERT will be reported */
    const ctr_registry *registry = ctr_regular_of(table->row->tab);
    int n = registry ? registry->n : 0;
    bool *mask = registry ? read_mask(conn, row->marks, n) : NULL;
    bool any = mask && (!own_write_runs(table->file) || leave_out_actions(table, mask, n));
    if (any && ctr_rc(conn) == SQLITE_OK) stamp_columns(table, mask, n);
    table->row->stamped = NULL;
    sqlite3_free(mask);
}

/* Returns whether the counters of a row that is listed as deleted show what the list says. */
static bool shows_listed(const ctr_tracked_row *row)
{
    for (int i = 0; i < row->table->shape.n_counters; i++)
        if (row->apart.is_in[i] && !row->now[i].none &&
            !ctr_tracked_same_shown(&row->apart.shown[i], &row->now[i]))
            return false;
    return true;
}

/* Lists what a row that is listed as deleted shows in counters that were added since. */
static void list_added(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    bool any = false;
    for (int i = 0; i < table->shape.n_counters; i++) {
        any = any || (!row->apart.is_in[i] && !row->now[i].none);
        row->after[i] = ctr_row_state(table->row, i);
    }
    if (!any) return;
    const ctr_merged_row life = {.is_live = false};
    reports_list(table, &life, row->now, row->after);
    ctr_apart_explain(table->row->tab, table->row->rowid, row->apart.why);
}

/* Fails if a row was inserted, while its triggers did not run, under a number that SQLite had given
 * to one that waits or is deleted: a migration has built the table anew, and its sequence goes by
 * what is shown. The two would be one row. Returns whether it failed. */
static bool refuse_number_given_again(const ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    bool is_deleted = table->row->found && !ctr_row_is_live(table->row) && !row->apart.ended;
    if (!(row->apart.waits || is_deleted) || !ctr_spread_bears(table)) return false;
    char *key = ctr_table_key_text(table);
    ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                    "the row %s was inserted while its triggers did not run, and its number is "
                    "that of %s: give it another number, also where other rows refer to it, and "
                    "make the call again",
                    key,
                    row->apart.waits ? "a row of another file, which waits"
                                     : "a deleted row, which it would bring back");
    sqlite3_free(key);
    return true;
}

static void reconcile_found(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    bool adopts = false;
    if (ctr_table_find(table)) return;
    for (int i = 0; i < table->shape.n_counters; i++) adopts = adopts || row->now[i].adopted;
    bool stamps = table->shape.replicated;
    bool expected = table->row->found && !adopts && is_expected(row);
    if (expected && !row->looks && !stamps) return;
    if (is_below(row)) return;
    look_apart(row);
    if (refuse_number_given_again(row)) return;
    const ctr_opening *opening = reports_opening(table);
    if (row->apart.ended && !(opening && opening->values == CTR_VALUES_WRITTEN) &&
        shows_listed(row)) {
        list_added(row); /* nobody has written it */
        return;
    }
    if (row->apart.ended) reconcile_revive(row);
    if (expected && !row->is_apart && !stamps) return;
    count_values(row, false);
    if (stamps && !stamping_found(table) && expected && !row->is_apart) return;
    table->joined.conn->stats.tracked += ctr_row_is_staged(table->row);
    reconcile_write(row);
    /* A newly tracked column also shows the counts that its counter has from other files. */
    bool shows = row->is_apart || (adopts && table->row->found && reports_look(table));
    if (shows) show_again(row);
}

/* ---- a row that is gone ---------------------------------------------------------------------- */

/* All of them, for others may have counted in those in which this file has not. */
static void end_counters(ctr_table *table)
{
    bool replicated = table->shape.replicated, touched = false;
    for (int i = 0; i < table->shape.n_counters; i++)
        touched = touched || ctr_row_state(table->row, i).touched;
    for (int i = 0; i < table->shape.n_counters && touched && !replicated; i++)
        ctr_write_tombstone(table, i);
    if (replicated) stamping_delete(table);
    write_staged(table);
    /* Where places are not known, no trigger has said that it leaves. */
    if (table->shape.linked && !ctr_home_is_known(table->row->tab)) ctr_row_leave(table->row);
}

static void forget_may_go(ctr_table *table, int64_t rowid)
{
    int n = 0;
    for (int i = 0; i < table->reports->n_may_go; i++)
        if (table->reports->may_go[i].rowid != rowid)
            table->reports->may_go[n++] = table->reports->may_go[i];
    table->reports->n_may_go = n;
}

/* Ends the counters of the row that was found, unless it waits, and takes it off the list; returns
 * whether it does. `expected`: the row is not listed. */
static bool end_row(ctr_tracked_row *row, bool expected)
{
    ctr_table *table = row->table;
    if (!expected) look_apart(row);
    if (ctr_rc(row->table->joined.conn) != SQLITE_OK || (row->is_apart && row->apart.waits))
        return false;
    forget_may_go(table, table->row->rowid);
    ctr_writing *writing = own_write_of(table);
    if (writing) writing->ended = true;
    table->unchecked = false; /* rights are asked for also where a trigger ends it in a merge */
    end_counters(table);
    if (row->is_apart)
        ctr_apart_remove(table->row->tab, table->row->rowid, CTR_APART_OF_COUNTERS, NULL);
    return true;
}

/* Ends the counters of a row that was deleted. If they are live, it is not the row that the library
 * deletes just now, for that has ended, but one that a trigger has inserted in its place. */
static void reconcile_deleted(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    if (ctr_table_find(table)) return;
    bool live = table->row->found && ctr_row_is_live(table->row);
    if (!live) note_disorder(table);
    if (!table->row->found || (!live && is_being_shown(row, NULL))) return;
    bool at_work = own_write_runs(table->file);
    bool expected = !at_work && live && is_as_counted(row, row->now);
    if ((!expected || is_disorder(table)) && is_there(row, NULL, false))
        note_disorder(table); /* inserted again */
    else
        end_row(row, expected);
}

/* Returns whether the row should be in the table: it is live, and does not wait. */
static bool is_missing(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    if (ctr_table_find(table)) return false;
    look_apart(row);
    bool waits = row->is_apart && row->apart.waits;
    stamping_missing(table, waits);
    return !waits && ctr_row_is_live(table->row) && ctr_rc(row->table->joined.conn) == SQLITE_OK;
}

/* Notes a row of the counters that the table lacks in conn->missing, unless it was deleted or
 * waits. */
static void reconcile_missing(ctr_tracked_row *row)
{
    ctr_conn *conn = row->table->joined.conn;
    if (!is_missing(row)) return;
    if (conn->missing.n++ > 0) return;
    sqlite3_free(conn->missing.key);
    conn->missing.key = ctr_table_key_text(row->table);
}

/* Ends the counters of such a row. */
static void reconcile_missing_deleted(ctr_tracked_row *row)
{
    if (is_missing(row)) row->table->joined.conn->stats.tracked += end_row(row, false);
}

/* Lists such a row as one that waits, whose regular columns have no values here. */
static void reconcile_missing_restored(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    if (!is_missing(row)) return;
    stamping_restored(table);
    reconcile_write(row);
    reports_list(table, life_of_counted(table), NULL, row->after);
    table->joined.conn->stats.tracked++;
}

/* ---- rows that leave their place ------------------------------------------------------------- */

/* The row that was looked for is there still. */
static void leave_place(ctr_table *table)
{
    if (!table->row->found) {
        note_disorder(table); /* its insertion was not reported yet */
        return;
    }
    ctr_row_leave(table->row);
    note_left(table);
}

static void reconcile_leaves(ctr_tracked_row *row)
{
    if (ctr_table_find(row->table) == SQLITE_OK) leave_place(row->table);
}

/* The same for the row with the key of a new one, if there is any. */
static void reconcile_replaced_key(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    if (ctr_table_find(table)) return;
    bool is_there = table->row->has_home || !ctr_home_is_known(table->row->tab);
    if (table->row->found || is_there) leave_place(table);
}

/* ---- rows that OR REPLACE removes ------------------------------------------------------------ */

/* Remembers a row that the statement may remove unnoticed: SQLite fires no delete trigger for it,
 * unless recursive triggers are on. A trigger BEFORE the write inserts the keys that the statement
 * may remove; one AFTER it has them looked up. The statement may still keep such a row, or remove
 * it later, after triggers of the application have written other rows. So it is remembered until it
 * is gone or the transaction ends. */
static void reconcile_may_go(ctr_tracked_row *row)
{
    ctr_table *table = row->table;
    unsigned nth = table->joined.conn->ended;
    if (table->reports->may_go_in != nth) table->reports->n_may_go = 0;
    table->reports->may_go_in = nth;
    if (ctr_table_find(table)) return;
    leave_place(table);
    if (!table->row->found) return;
    ctr_may_go it = {table->row->rowid, own_write_runs(table->file)};
    for (int i = 0; i < table->reports->n_may_go; i++)
        if (table->reports->may_go[i].rowid == it.rowid &&
            table->reports->may_go[i].at_work == it.at_work)
            return;
    ctr_may_go *may_go = ctr_array_room(row->table->joined.conn, table->reports->may_go,
                                        &table->reports->room_may_go,
                                        (size_t)table->reports->n_may_go + 1, sizeof *may_go);
    if (!may_go) return;
    table->reports->may_go = may_go;
    may_go[table->reports->n_may_go++] = it;
}

/* Returns whether the row is gone; then its counters are deleted, unless it waits. */
static bool look_for_row(ctr_table *table, int64_t rowid)
{
    ctr_table_end_row(table);
    ctr_showing *looks = reports_look(table);
    table->holds_keys = looks != NULL; /* copies to free, also after a failure */
    bool taken = looks && ctr_row_key_of(table->row, rowid, table->keys);
    bool gone = taken && !ctr_writing_look(&looks->writing, table->keys, NULL, NULL) &&
                ctr_rc(table->joined.conn) == SQLITE_OK;
    if (gone && ctr_table_find_rowid(table, rowid) == SQLITE_OK && ctr_row_is_live(table->row)) {
        ctr_tracked_row row = {.table = table};
        end_row(&row, false);
        ctr_apart_close_row(&row.apart);
    }
    ctr_table_end_row(table);
    return gone;
}

/* Looks up those remembered while the library wrote a merged row, or the others. */
static void reconcile_replaced(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    bool at_work = own_write_runs(table->file);
    if (table->reports->may_go_in != conn->ended) table->reports->n_may_go = 0;
    for (int i = table->reports->n_may_go - 1; i >= 0 && ctr_rc(conn) == SQLITE_OK; i--) {
        if (i >= table->reports->n_may_go) continue; /* a row was remembered twice */
        int64_t rowid = table->reports->may_go[i].rowid;
        if (table->reports->may_go[i].at_work == at_work && look_for_row(table, rowid))
            forget_may_go(table, rowid);
    }
}

/* =================================================================================================
 * trigger_rows - takes rows that the triggers of a tracked table insert into its counter table.
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
 *     'leaves'          key                                 BEFORE: a row leaves its row id
 *     'replaced'        key of a new row                    the same, if OR REPLACE writes it
 *     'replaced anyway' key of a new row                    so does a constraint of the table
 *
 * counter_track compares the table with its counters, and inserts:
 *
 *     'found'           key, values
 *     'found or apart'  key, values                         the same if some rows are apart
 *     'missing'             key                         they are only seen
 *     'missing, deleted'    key                         a DELETE is made up for
 *     'missing, restored'   key                         the row waits to be inserted
 *
 * The tracked table has changed already. */

/* ---- values ---------------------------------------------------------------------------------- */

/* A tracked column takes a whole number or NULL. Text that looks like a number is refused: in a
 * column without affinity it stays text. An old value (`was`) may be anything; otherwise a wrong
 * one could never be corrected. The OLD values follow the NEW values in an UPDATE; in a DELETE they
 * are the only ones. */
static void take_values(ctr_table *table, sqlite3_value **columns, ctr_shown *shown, bool behind,
                        bool was)
{
    ctr_conn *conn = table->joined.conn;
    sqlite3_value *given = columns[ctr_table_marks(&table->shape)];
    const char *marks = ctr_text_value(conn, given);
    int n_marks = marks ? sqlite3_value_bytes(given) : 0;
    for (int i = 0; i < table->shape.n_counters; i++) {
        sqlite3_value *value = columns[behind ? ctr_table_was(&table->shape, i)
                                              : ctr_table_column(table->shape.counters[i])];
        char mark = i < n_marks ? marks[i] : '1';
        int type = sqlite3_value_type(value);
        shown[i] =
            (ctr_shown){.null = type == SQLITE_NULL, .none = mark == '0', .adopted = mark == '2'};
        if (shown[i].null || ctr_rc(conn) != SQLITE_OK) continue;
        if (type == SQLITE_INTEGER) {
            shown[i].n = sqlite3_value_int64(value);
            continue;
        }
        if (type == SQLITE_FLOAT && ctr_arg_take_integer(conn, value, &shown[i].n)) continue;
        shown[i].odd = was;
        if (was) continue;
        char *refusal = ctr_arg_integer_refusal(value);
        if (!refusal) ctr_problem_nomem(conn);
        ctr_problem_set(conn, SQLITE_MISMATCH, "column %s: a tracked column takes %s",
                        ctr_shape_counter_name(&table->shape, i), refusal);
        sqlite3_free(refusal);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

typedef void event_call(ctr_tracked_row *row);

static const struct event {
    const char *what;
    event_call *call; /* or NULL */
    ctr_row_event event;
    bool has_key, has_values;
    bool replaces; /* rows that may be gone are looked up after it */
    bool replaced; /* it means something only if OR REPLACE writes the row */
    bool looks;    /* some row is apart; it may be this one */
} EVENTS[] = {
    {"updated", reconcile_row, CTR_ROW_UPDATED, .has_key = true, .has_values = true},
    {"written", stamping_write, CTR_ROW_WRITTEN, .has_key = true},
    {"inserted", reconcile_row, CTR_ROW_INSERTED, .has_key = true, .has_values = true,
     .replaces = true},
    {"deleted", reconcile_deleted, CTR_ROW_DELETED, .has_key = true, .has_values = true,
     .replaces = true},
    {"may go", reconcile_may_go, CTR_ROW_MAY_GO, .has_key = true, .replaced = true},
    {"leaves", reconcile_leaves, CTR_ROW_MAY_GO, .has_key = true},
    {"replaced", reconcile_replaced_key, CTR_ROW_MAY_GO, .has_key = true, .replaced = true},
    {"replaced anyway", reconcile_replaced_key, CTR_ROW_MAY_GO, .has_key = true},
    {"found", reconcile_found, CTR_ROW_FOUND, .has_key = true, .has_values = true},
    {"missing", reconcile_missing, CTR_ROW_MISSING, .has_key = true},
    {"missing, deleted", reconcile_missing_deleted, CTR_ROW_MISSING, .has_key = true},
    {"missing, restored", reconcile_missing_restored, CTR_ROW_MISSING, .has_key = true},
    {"gone", NULL, CTR_ROW_MAY_GO, .replaces = true},
    {"may go anyway", reconcile_may_go, CTR_ROW_MAY_GO, .has_key = true},
    {"found or apart", reconcile_found, CTR_ROW_FOUND, .has_key = true, .has_values = true,
     .looks = true},
};

/* Room for a few counters on the stack. */
enum { A_FEW = 4 };
typedef struct row_room {
    ctr_shown shown[2 * A_FEW];
    ctr_summary states[2 * A_FEW];
} row_room;

/* The caller frees it with free_row_room. */
static bool make_row_room(ctr_tracked_row *row, row_room *few)
{
    size_t n = (size_t)row->table->shape.n_counters;
    bool fits = n <= A_FEW;
    row->now = fits ? few->shown : sqlite3_malloc64(2 * n * sizeof *row->now);
    row->before = fits ? few->states : sqlite3_malloc64(2 * n * sizeof *row->before);
    if (!row->now || !row->before) {
        ctr_problem_nomem(row->table->joined.conn);
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
static void take_handed(ctr_tracked_row *row, sqlite3_value **columns, const struct event *event)
{
    ctr_conn *conn = row->table->joined.conn;
    ctr_table *table = row->table;
    sqlite3_value *at = columns[ctr_table_at(&table->shape)];
    table->has_at = table->shape.linked && sqlite3_value_type(at) == SQLITE_INTEGER;
    table->at = table->has_at ? sqlite3_value_int64(at) : 0;
    table->at_new = event->event == CTR_ROW_INSERTED;
    if (event->has_key) ctr_write_collect_key(table, columns);
    if (ctr_rc(conn) == SQLITE_OK && event->has_values)
        take_values(table, columns, row->now, false, event->event == CTR_ROW_DELETED);
    if (ctr_rc(conn) != SQLITE_MISMATCH || !event->has_values) return;
    char *key = ctr_table_key_text(table);
    if (key) ctr_problem_where(conn, "row %s", key);
    sqlite3_free(key);
}

static bool is_key_a_number(const ctr_table *table, sqlite3_value **columns)
{
    for (int i = 0; i < table->shape.n_keys; i++) {
        const int key = table->shape.keys[i];
        const int type = sqlite3_value_type(columns[ctr_table_column(key)]);
        if (table->shape.columns[key].affinity == CTR_AFFINITY_TEXT &&
            (type == SQLITE_INTEGER || type == SQLITE_FLOAT))
            return true;
    }
    return false;
}

/* While SQLite looks for rows that refer to this one, it makes a number of a key in OLD and NEW if
 * their column is one of numbers, and triggers run behind that: of '0042' they see 42, which is the
 * key '42'. Fails unless that is the row which came or went. */
static void refuse_other_key(ctr_tracked_row *row, sqlite3_value **columns)
{
    ctr_table *table = row->table;
    bool comes = row->event == CTR_ROW_INSERTED, goes = row->event == CTR_ROW_DELETED;
    if ((!comes && !goes) || ctr_rc(table->joined.conn) != SQLITE_OK ||
        !is_key_a_number(table, columns) || own_write_runs(table->file) || ctr_table_find(table))
        return;
    bool was_live = table->row->found && ctr_row_is_live(table->row);
    bool is_it = was_live == goes && is_there(row, NULL, comes) == comes;
    if (is_it || ctr_rc(table->joined.conn) != SQLITE_OK) return;
    char *key = ctr_table_key_text(table);
    ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                    "SQLite tells triggers the key of the row as %s, and that is another row: some "
                    "foreign key refers to this TEXT by a column of numbers, where only the text "
                    "of a number as SQLite writes it can be followed: declare that column TEXT, "
                    "too",
                    key);
    sqlite3_free(key);
}

/* Fails for a row that none of our triggers inserts. */
static const struct event *find_event(ctr_conn *conn, const ctr_shape *shape,
                                      sqlite3_value **columns)
{
    sqlite3_value *value = columns[ctr_table_event(shape)];
    const char *what = ctr_text_value(conn, value);
    bool alone = !ctr_table_given(columns[CTR_COLUMN_COMMAND]) &&
                 !ctr_table_given(columns[ctr_table_column(shape->n_columns)]);
    for (size_t i = 0; what && alone && i < sizeof EVENTS / sizeof *EVENTS; i++)
        if (strcmp(EVENTS[i].what, what) == 0) return &EVENTS[i];
    char *shown = ctr_problem_describe_value(value);
    if (!shown) ctr_problem_nomem(conn);
    ctr_problem_set(conn, SQLITE_ERROR,
                    "_event is for the triggers of the tracked table, which insert no such row: %s",
                    shown ? shown : "");
    sqlite3_free(shown);
    return NULL;
}

static bool take_reported(ctr_table *table, sqlite3_value **columns)
{
    if (!ctr_table_given(columns[ctr_table_event(&table->shape)])) return false;
    const struct event *event = find_event(table->joined.conn, &table->shape, columns);
    table->handed = event != NULL;
    if (!event) return true;
    if (event->replaced && sqlite3_vtab_on_conflict(table->joined.conn->db) != SQLITE_REPLACE)
        return true;

    row_room few;
    ctr_tracked_row row = {.table = table,
                           .event = event->event,
                           .looks = event->looks,
                           .marks = columns[ctr_table_marks(&table->shape)]};
    reports_note_names(table);
    if (make_row_room(&row, &few)) take_handed(&row, columns, event);
    refuse_other_key(&row, columns);
    bool updates = ctr_rc(table->joined.conn) == SQLITE_OK && event->event == CTR_ROW_UPDATED;
    bool shown = updates && own_write_is_row(table, row.now);
    if (updates && !shown) take_values(table, columns, row.was, true, true);
    if (ctr_rc(table->joined.conn) == SQLITE_OK && event->event == CTR_ROW_INSERTED)
        ctr_spread_check_key(table);
    table->unchecked = event->event == CTR_ROW_FOUND || own_write_runs(table->file);
    if (ctr_rc(table->joined.conn) == SQLITE_OK && event->call && !shown) event->call(&row);
    table->unchecked = false;
    if (row.apart.shown) ctr_apart_close_row(&row.apart);
    if (ctr_rc(table->joined.conn) == SQLITE_OK && event->replaces && table->reports->n_may_go > 0)
        reconcile_replaced(table);
    free_row_room(&row, &few);
    table->has_at = false;
    return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* A command makes no row of a replicated table, which would have none of its values. */
static void refuse_no_row(ctr_table *table)
{
    char *key = ctr_table_key_text(table);
    ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                    "the replicated table has no row %s: a command changes only rows that it has",
                    key);
    sqlite3_free(key);
}

static int write_and_show(ctr_table *table)
{
    row_room few;
    ctr_tracked_row row = {.table = table};
    unsigned nth = table->joined.conn->ended;
    const ctr_showing *looks = reports_look(table);
    if (looks) ctr_foreign_refuse_broken(table->joined.conn, looks->tracked->table);
    if (table->shape.replicated && !ctr_row_is_live(table->row)) refuse_no_row(table);
    if (make_row_room(&row, &few)) reconcile_write(&row);
    if (ctr_rc(table->joined.conn) == SQLITE_OK) {
        reports_show(table, false, NULL, row.before, row.after);
        if (ctr_rc(table->joined.conn) != SQLITE_OK) ctr_conn_spoil(table->joined.conn, nth);
    }
    free_row_room(&row, &few);
    return ctr_rc(table->joined.conn);
}

/* Clears the values of the rows that the floor purges. */
static void purge_rows(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    ctr_showing showing;
    unsigned nth = conn->ended;
    if (ctr_showing_open(&showing, table->row->tab) == SQLITE_OK)
        ctr_foreign_refuse_broken(conn, showing.tracked->table);
    showing.writing.commanded = true;
    if (ctr_rc(conn) == SQLITE_OK && ctr_table_raise(table) == SQLITE_OK &&
        ctr_later_show_purged(&showing, &table->floors))
        ctr_conn_spoil(conn, nth);
    ctr_showing_close(&showing);
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* Another statement, or a merge, may have moved the sequence of a spread table. */
static void begin_savepoint_of(ctr_table *table)
{
    if (ctr_spread_is_unsettled(table)) ctr_spread_begin(table);
}

const ctr_tracker *ctr_trigger_rows_tracker(void)
{
    static const ctr_tracker TRACKER = {.open = reports_open,
                                        .close = reports_close,
                                        .tracked_table = reports_tracked_table,
                                        .begin = ctr_spread_begin,
                                        .savepoint = begin_savepoint_of,
                                        .sync = ctr_spread_end,
                                        .take = take_reported,
                                        .write = write_and_show,
                                        .purge = purge_rows};
    return &TRACKER;
}
