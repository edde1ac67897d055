/* tracked/stamping.c - stamps the rows of a replicated table, as its triggers report them.
 *
 *     INSERT, REPLACE    the next life, or the same if the row lives; all columns have the stamp
 *     UPDATE             the columns that the trigger names; the stamp goes to the journal
 *     DELETE             the next life, which is even; the counters of the row are empty
 *
 * They come from tracked/reconcile.c, the second from tracked/trigger_rows.c; the row cell is written
 * with the counters of the row. A stamp is higher than those that it replaces, also if the clock
 * of another file is ahead (core/row_cell.h). Stamping asks under whom the file counts, as
 * counting does. What a trigger of the application changes in a row while that row is merged is
 * not stamped.
 *
 * counter_replicate stamps the rows that are there with (CTR_STAMP_BEGAN, its opening), or with the
 * number above or below for 'values=newest' or 'values=oldest'. Of two files that began with one
 * number a merge asks whose values win.
 */
#include <stdlib.h>
#include <string.h>

#include "tracked/tracked.h"

static int refuse_last_life(ctr_table *table, ctr_problem *problem)
{
    char *key = ctr_access_given_key_text(table, problem);
    ctr_problem_set(problem, SQLITE_FULL, "row %s: there is no further life after %u", key,
                    (unsigned)CTR_ROW_LIFE_MAX);
    sqlite3_free(key);
    return problem->rc;
}

/* Makes a stamp of this file, higher than `above`. Returns false on a problem. */
static bool make_stamp(ctr_table *table, int64_t above, ctr_stamp *stamp, ctr_problem *problem)
{
    const ctr_leader *leader = ctr_file_leader(table->file, problem);
    if (!leader) return false;
    int64_t number = ctr_batch_number(table->rows->tab, problem);
    bool fits = number > above && number <= CTR_STAMP_LAST;
    *stamp = (ctr_stamp){.number = fits ? number : ctr_regular_number(above)};
    memcpy(stamp->id, leader->id, CTR_ID_SIZE);
    if (problem->rc == SQLITE_OK && stamp->number <= CTR_STAMP_MAX) return true;
    ctr_problem_set(problem, SQLITE_FULL, "the stamps of the row have reached the last one, %lld",
                    (long long)CTR_STAMP_MAX);
    return false;
}

/* A row that was not looked for is taken for one without a row cell. */
bool ctr_stamping_is_live(ctr_table *table, ctr_problem *problem)
{
    if (!table->rows->shape->replicated) return ctr_access_is_live(table);
    return ctr_rows_is_live(table->rows, problem);
}

void ctr_stamping_insert(ctr_table *table, ctr_problem *problem)
{
    ctr_stamp stamp;
    ctr_rows *rows = table->rows;
    if (problem->rc != SQLITE_OK || !rows->shape->replicated) return;
    ctr_row_cell *cell = ctr_rows_row(rows, problem);
    if (!cell || !make_stamp(table, ctr_row_cell_highest(cell), &stamp, problem)) return;
    if (cell->life > 0) ctr_regular_unlist(rows->tab, rows->rowid, NULL, problem);
    if (ctr_row_cell_insert(cell, &stamp) != CTR_OK)
        refuse_last_life(table, problem);
    else
        ctr_stage_row(rows, problem);
}

void ctr_stamping_delete(ctr_table *table, ctr_problem *problem)
{
    ctr_rows *rows = table->rows;
    ctr_row_cell *cell = ctr_rows_row(rows, problem);
    if (!cell || !ctr_row_cell_is_live(cell)) return;
    if (!ctr_file_leader(table->file, problem)) return;
    ctr_regular_unlist(rows->tab, rows->rowid, NULL, problem);
    ctr_stage_empty(rows);
    if (ctr_row_cell_delete(cell) != CTR_OK)
        refuse_last_life(table, problem);
    else
        ctr_stage_row(rows, problem);
}

/* ---- an UPDATE ------------------------------------------------------------------------------- */

/* Reads 5 or '5,0,1', CTR_MASK_COLUMNS in each number, into a mask by the numbers of the columns;
 * see tracked/trigger_texts.c. */
static bool *read_mask(sqlite3_value *marks, int n, ctr_problem *problem)
{
    bool *mask = sqlite3_malloc64((size_t)n + 1);
    if (!mask) {
        ctr_problem_nomem(problem);
        return NULL;
    }
    memset(mask, 0, (size_t)n + 1);
    const char *at = ctr_text_value(marks, problem); /* NULL: it is a number */
    int64_t bits = at ? 0 : sqlite3_value_int64(marks);
    for (int i = 0; i < n && problem->rc == SQLITE_OK; i++) {
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
static void unlist_columns(ctr_table *table, const bool *mask, int n, ctr_problem *problem)
{
    ctr_tab *tab = table->rows->tab;
    int64_t rowid = table->rows->rowid;
    if (!ctr_reports_look(table, problem) || !ctr_regular_is_listed(tab, rowid, problem)) return;
    const ctr_registry *registry = ctr_regular_of(tab, problem);
    for (int i = 0; registry && i < n; i++)
        if (mask[i]) ctr_regular_unlist(tab, rowid, registry->columns[i].name, problem);
}

static void stamp_columns(ctr_table *table, const bool *mask, int n, ctr_problem *problem)
{
    ctr_stamp stamp;
    ctr_rows *rows = table->rows;
    if (!ctr_file_leader(table->file, problem)) return;
    unlist_columns(table, mask, n, problem);
    if (!ctr_stage_stamps(rows, mask, n, problem)) {
        ctr_row_cell *cell = ctr_rows_row(rows, problem);
        if (!cell || !make_stamp(table, ctr_row_cell_highest_of(cell, mask), &stamp, problem))
            return;
        ctr_row_cell_set(cell, mask, &stamp);
        ctr_stage_row(rows, problem);
    }
    if (problem->rc == SQLITE_OK) ctr_access_write(table, problem);
}

/* Takes out of the mask the columns that a foreign key has changed because the library writes their
 * parent. Every file that merges it does the same, so it is no write of this one. Returns whether
 * any column is left. */
static bool leave_out_actions(ctr_table *table, bool *mask, int n, ctr_problem *problem)
{
    bool any = false;
    const ctr_writing *writing = table->file->writing;
    const ctr_showing *looks = ctr_reports_look(table, problem);
    const ctr_foreign_keys *foreign = looks ? ctr_foreign_keys_of(table->file, problem) : NULL;
    for (int i = 0; foreign && i < looks->tracked->n_regular; i++) {
        const ctr_tracked_regular *column = &looks->tracked->regular[i];
        if (column->number < n && mask[column->number] && column->column &&
            ctr_foreign_refers(foreign, looks->tracked->table, column->column,
                               writing->tracked->table))
            mask[column->number] = false;
    }
    for (int i = 0; i < n; i++) any = any || mask[i];
    return any;
}

void ctr_stamping_write(ctr_tracked_row *row, ctr_problem *problem)
{
    ctr_table *table = row->table;
    if (ctr_access_find(table, problem) || !table->rows->found ||
        ctr_own_write_is_of_rowid(table->file, table->name, table->rows->rowid))
        return;
    if (!ctr_rows_is_live(table->rows, problem) && !ctr_reconcile_revive(row, problem))
        return; /* its INSERT will be reported */
    const ctr_registry *registry = ctr_regular_of(table->rows->tab, problem);
    int n = registry ? registry->n : 0;
    bool *mask = registry ? read_mask(row->marks, n, problem) : NULL;
    bool any =
        mask && (!ctr_own_write_runs(table->file) || leave_out_actions(table, mask, n, problem));
    if (any && problem->rc == SQLITE_OK) stamp_columns(table, mask, n, problem);
    table->rows->stamped = NULL;
    sqlite3_free(mask);
}

/* ---- counter_replicate ----------------------------------------------------------------------- */

/* The greatest odd life not above the least of the counters of a row. */
static uint32_t life_of_counters(const ctr_table *table)
{
    uint32_t least = CTR_ROW_LIFE_MAX;
    bool any = false;
    for (int i = 0; i < table->shape.n_counters; i++) {
        ctr_summary state = ctr_rows_state(table->rows, i);
        if (!state.touched) continue;
        any = true;
        if (state.life < least) least = state.life;
    }
    if (!any) return 1;
    return least % 2 == 1 ? least : least - 1;
}

/* Returns the opening of the running counter_replicate, if it stamps. */
static const ctr_opening *stamping_opening(const ctr_table *table)
{
    const ctr_opening *opening = ctr_reports_opening(table);
    return opening && opening->stamps ? opening : NULL;
}

/* A column that was added to a row with a stamp gets one if it shows something else than its
 * DEFAULT. */
static bool stamp_new_columns(ctr_table *table, ctr_row_cell *cell, const ctr_stamp *opening,
                              ctr_problem *problem)
{
    bool any = false;
    ctr_showing *looks = ctr_reports_look(table, problem);
    for (int i = 0; looks && i < looks->tracked->n_regular && problem->rc == SQLITE_OK; i++) {
        const ctr_tracked_regular *column = &looks->tracked->regular[i];
        ctr_column_stamp *stamp = &cell->columns[column->number];
        if (!column->column || stamp->kind != CTR_STAMP_NONE ||
            !ctr_writing_is_unlike_default(&looks->writing, table->keys, column->column, problem))
            continue;
        *stamp = (ctr_column_stamp){.kind = CTR_STAMP_OWN, .own = *opening};
        any = true;
    }
    return any;
}

/* Stamps a live row with new columns, or whose stamps from when replication began win now, or
 * yield. */
static bool stamp_again(ctr_table *table, ctr_row_cell *cell, const ctr_stamp *stamp,
                        ctr_problem *problem)
{
    const ctr_opening *opening = stamping_opening(table);
    if (!opening) return false;
    bool any = stamp_new_columns(table, cell, stamp, problem);
    if (opening->values)
        any = ctr_row_cell_begin_again(cell, opening->values == CTR_VALUES_NEWEST, opening->id) ||
              any;
    return any;
}

/* In a rebuilt table with 'values=newest' each row is stamped as by an INSERT. Else these are: one
 * from before replication, which takes the life of its counters; one that was inserted while the
 * triggers did not run; one that stamp_again stamps. */
bool ctr_stamping_found(ctr_table *table, ctr_problem *problem)
{
    ctr_stamp stamp = {.number = CTR_STAMP_BEGAN};
    const ctr_opening *opening = stamping_opening(table);
    if (!table->shape.replicated || problem->rc != SQLITE_OK) return false;
    ctr_row_cell *cell = ctr_rows_row(table->rows, problem);
    if (!cell) return false;
    if (opening) memcpy(stamp.id, opening->id, CTR_ID_SIZE);
    if (opening && opening->values == CTR_VALUES_WRITTEN) {
        ctr_stamping_insert(table, problem);
        return true;
    }
    if (cell->life == 0 && opening) {
        cell->life = life_of_counters(table) - 1;
        ctr_row_cell_insert(cell, &stamp);
        if (opening->values) stamp_again(table, cell, &stamp, problem);
    } else if (!ctr_row_cell_is_live(cell)) {
        ctr_stamping_insert(table, problem);
        return true;
    } else if (!stamp_again(table, cell, &stamp, problem)) {
        return false;
    }
    ctr_stage_row(table->rows, problem);
    return true;
}

/* The row lives on, and its values are lost here: those of any other file are newer. */
void ctr_stamping_restored(ctr_table *table, ctr_problem *problem)
{
    ctr_rows *rows = table->rows;
    if (!rows->shape->replicated) return;
    ctr_row_cell *cell = ctr_rows_row(rows, problem);
    if (!cell) return;
    for (int i = 0; i < cell->n; i++) cell->columns[i].kind = CTR_STAMP_NONE;
    ctr_stage_row(rows, problem);
}

/* A row of the cells without one in the table, which has no row cell yet: it was deleted, or waits,
 * and then it has the values of some other file. */
void ctr_stamping_missing(ctr_table *table, bool waits, ctr_problem *problem)
{
    ctr_rows *rows = table->rows;
    if (!rows->shape->replicated || !stamping_opening(table)) return;
    ctr_row_cell *cell = ctr_rows_row(rows, problem);
    if (!cell || cell->life != 0) return;
    cell->life = life_of_counters(table);
    for (int i = 0; i < cell->n; i++) cell->columns[i].kind = CTR_STAMP_NONE;
    if (!waits && !ctr_access_is_live(table)) {
        ctr_row_cell_delete(cell);
        ctr_stage_empty(rows);
    }
    if (ctr_stage_row(rows, problem) == SQLITE_OK) ctr_access_write(table, problem);
}
