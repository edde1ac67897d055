/* merge/row_feed.c - writes and takes rows of replicated tables. */
#include "merge/merge.h"

#include <stdlib.h>
#include <string.h>

/* ---- giving ---------------------------------------------------------------------------------- */

/* Puts the numbers of the columns in the order of their names, byte by byte. */
static void sort_by_name(ctr_row_giver *giver, const ctr_registry *registry)
{
    for (int i = 0; i < registry->n; i++) {
        const ctr_regular *column = &registry->columns[i];
        int at = giver->n;
        if (!column->name || !column->noted) continue;
        for (; at > 0 && strcmp(registry->columns[giver->order[at - 1]].name, column->name) > 0;
             at--)
            giver->order[at] = giver->order[at - 1];
        giver->order[at] = i;
        giver->n++;
    }
}

int ctr_row_feed_open(ctr_row_giver *giver, ctr_tab *tab, ctr_problem *problem)
{
    *giver = (ctr_row_giver){.n = 0};
    ctr_row_values_open(&giver->values, tab, problem);
    const ctr_registry *registry = ctr_regular_of(tab, problem);
    if (!registry || problem->rc != SQLITE_OK) return problem->rc;
    giver->order = sqlite3_malloc64(((size_t)registry->n + 1) * sizeof *giver->order);
    if (!giver->order) return ctr_problem_nomem(problem);
    sort_by_name(giver, registry);
    return problem->rc;
}

void ctr_row_feed_close(ctr_row_giver *giver)
{
    ctr_row_values_close(&giver->values);
    sqlite3_free(giver->cell.columns);
    sqlite3_free(giver->order);
    sqlite3_free(giver->image.bytes);
    *giver = (ctr_row_giver){.n = 0};
}

static void put_columns(ctr_row_giver *giver, ctr_problem *problem)
{
    ctr_packed *image = &giver->image;
    const ctr_registry *registry = ctr_regular_of(giver->values.tab, problem);
    for (int i = 0; registry && i < giver->n; i++) {
        const char *name = registry->columns[giver->order[i]].name;
        ctr_row_column column = {.name = (const uint8_t *)name,
                                 .size = strlen(name),
                                 .stamp = giver->cell.columns[giver->order[i]]};
        uint8_t *out = ctr_pack_room(image, CTR_ROW_COLUMN_MAX + column.size, problem);
        if (!out) return;
        image->size = (size_t)(ctr_row_cell_put(out, &column) - image->bytes);
    }
    if (giver->n == 0) return;
    ctr_pack_begin(image, problem);
    for (int i = 0; i < giver->n && problem->rc == SQLITE_OK; i++) {
        int number = giver->order[i];
        bool none = giver->cell.columns[number].kind == CTR_STAMP_NONE;
        ctr_pack_append(image, none ? NULL : giver->values.given[number], problem);
    }
}

bool ctr_row_feed_read(ctr_row_giver *giver, int64_t rowid, sqlite3_value **keys,
                       ctr_problem *problem)
{
    ctr_tab *tab = giver->values.tab;
    if (!ctr_regular_room(tab, &giver->cell, &giver->room, problem) ||
        ctr_regular_read(tab, rowid, &giver->cell, problem) || giver->cell.life == 0)
        return false;
    bool live = ctr_row_cell_is_live(&giver->cell);
    giver->image.size = 0;
    uint8_t *out = ctr_pack_room(&giver->image, CTR_ROW_HEADER_MAX, problem);
    if (!out) return false;
    out = ctr_row_cell_begin(out, giver->cell.life, &giver->cell.row, (uint64_t)giver->n);
    giver->image.size = (size_t)(out - giver->image.bytes);
    if (live && ctr_row_values_read(&giver->values, rowid, keys, false, problem) == SQLITE_OK)
        put_columns(giver, problem);
    ctr_row_values_reset(&giver->values);
    return problem->rc == SQLITE_OK;
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* A row that has come: its state by my columns, and its values in their order. */
typedef struct taken_row {
    ctr_row_cell cell;     /* owned columns */
    int *map;              /* owned: each of my columns is that of the same number; -1: not given */
    int *places;           /* owned: for each of my columns its place among the values, or -1 */
    sqlite3_value **given; /* owned: for each of my columns its value, or NULL */
    sqlite3_stmt *values;  /* owned: a row of the values */
    sqlite3_value **shown; /* owned: by the order of tracked->regular */
    int room;
} taken_row;

static void close_taken(taken_row *row)
{
    sqlite3_free(row->cell.columns);
    sqlite3_free(row->map);
    sqlite3_free(row->places);
    sqlite3_free(row->given);
    sqlite3_free(row->shown);
    sqlite3_finalize(row->values);
}

/* Refuses a column that the table has, and this file does not replicate yet; passes over one that
 * the table lacks, and one that counts here: the row may have been written before the source made
 * it a counter, too. A source that has not yet refuses the counter (merge/apply.c). */
static void refuse_column(const ctr_merge *merge, const ctr_row_column *column,
                          ctr_problem *problem)
{
    const ctr_tracked *tracked = merge->showing.tracked;
    char *name = ctr_text_of((ctr_span){(const char *)column->name, column->size}, problem);
    bool counts = name && ctr_shape_counter_like(&merge->shape, name) >= 0;
    if (name && !counts && ctr_ordinary_column(&tracked->ordinary, name))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "column %s is replicated at the source and not yet here: call "
                        "counter_replicate('%s')",
                        name, tracked->table);
    sqlite3_free(name);
}

/* Sets the stamps of my columns, and where their values are. */
static void take_columns(ctr_merge *merge, ctr_row_image *image, taken_row *row,
                         ctr_problem *problem)
{
    const ctr_registry *registry = ctr_regular_of(merge->rows.tab, problem);
    ctr_row_column column;
    for (int i = 0; i < row->cell.n; i++) {
        row->map[i] = row->places[i] = -1;
        row->cell.columns[i].kind = CTR_STAMP_NONE;
    }
    for (int i = 0; registry && ctr_row_cell_next(image, &column); i++) {
        int number = ctr_regular_named(registry, (const char *)column.name, column.size);
        if (number < 0 && ctr_regular_was_named(registry, (const char *)column.name, column.size))
            continue; /* it is replicated here no longer */
        if (number < 0) {
            refuse_column(merge, &column, problem);
            continue;
        }
        row->cell.columns[number] = column.stamp;
        row->map[number] = number;
        row->places[number] = i;
    }
}

/* Makes a row of the packed values. */
static void take_row_values(const ctr_merge *merge, const ctr_row_image *image, taken_row *row,
                            ctr_problem *problem)
{
    if (image->n == 0 || problem->rc != SQLITE_OK) return;
    sqlite3_str *list = sqlite3_str_new(NULL);
    for (int i = 1; i <= image->n; i++) sqlite3_str_appendf(list, "%s?%d", i > 1 ? ", " : "", i);
    char *values = ctr_text_finish(list, problem);
    ctr_run run = ctr_run_on(merge->rows.tab->db, merge->rows.tab->schema, NULL, problem);
    run.slots.values = values;
    row->values = ctr_run_prepare(&run, CTR_SQL_ROWS_OF_PARAMETERS);
    size_t size = (size_t)(image->end - image->values);
    if (row->values)
        ctr_problem_sqlite(problem, run.db, ctr_pack_bind(row->values, image->values, size));
    ctr_run_row(&run, row->values);
    sqlite3_free(values);
}

static void make_room_for_taken(const ctr_merge *merge, taken_row *row, ctr_problem *problem)
{
    if (!ctr_regular_room(merge->rows.tab, &row->cell, &row->room, problem)) return;
    size_t n = (size_t)row->cell.n + 1, m = (size_t)merge->showing.tracked->n_regular + 1;
    row->map = sqlite3_malloc64(n * sizeof *row->map);
    row->places = sqlite3_malloc64(n * sizeof *row->places);
    row->given = sqlite3_malloc64(n * sizeof *row->given);
    row->shown = sqlite3_malloc64(m * sizeof *row->shown);
    if (!row->map || !row->places || !row->given || !row->shown) ctr_problem_nomem(problem);
}

/* Refuses a row that both files had when each began to replicate the table, if its values
 * differ. */
static void refuse_drift(ctr_merge *merge, taken_row *row, ctr_problem *problem)
{
    for (int i = 0; i < row->cell.n; i++)
        row->given[i] =
            row->places[i] >= 0 ? sqlite3_column_value(row->values, row->places[i]) : NULL;
    ctr_drift_compare(merge, row->given, row->map, problem);
    ctr_drift_refuse(merge, merge->showing.tracked->table, "here", "in the change", false, problem);
}

/* Sets the values to be shown: those that the merge has taken. */
static void choose_values(const ctr_merge *merge, taken_row *row)
{
    const ctr_tracked *tracked = merge->showing.tracked;
    for (int i = 0; i < tracked->n_regular; i++) {
        int number = tracked->regular[i].number;
        bool is = number < row->cell.n && merge->taken[number] && tracked->regular[i].column &&
                  row->places[number] >= 0;
        row->shown[i] = is ? sqlite3_column_value(row->values, row->places[number]) : NULL;
    }
}

/* What the source has lost, nobody else may give it in a feed of own changes: the row counts as a
 * change of this file. */
static void give_back(ctr_merge *merge, ctr_problem *problem)
{
    ctr_stage_row(&merge->rows, problem);
    merge->rows.also_here = true;
}

void ctr_row_feed_take(ctr_merge *merge, const uint8_t *bytes, size_t size, ctr_problem *problem)
{
    taken_row row = {.room = 0};
    ctr_row_image image;
    ctr_status status = ctr_row_cell_open(&image, bytes, size);
    if (status != CTR_OK) {
        ctr_problem_set(problem, SQLITE_ERROR, "the row %s", ctr_row_cell_status_text(status));
        return;
    }
    make_room_for_taken(merge, &row, problem);
    if (problem->rc == SQLITE_OK) {
        row.cell.life = image.life;
        row.cell.row = image.row;
        take_columns(merge, &image, &row, problem);
        take_row_values(merge, &image, &row, problem);
    }
    const ctr_row_cell *mine = ctr_rows_row(&merge->rows, problem);
    bool lost = problem->rc == SQLITE_OK && mine && ctr_row_cell_lacks(mine, &row.cell, row.map);
    if (problem->rc == SQLITE_OK &&
        ctr_merge_row(merge, &row.cell, row.map, 0, problem) != CTR_ROW_STAYS) {
        if (merge->asks) refuse_drift(merge, &row, problem);
        if (lost) give_back(merge, problem);
        choose_values(merge, &row);
        ctr_merge_write_values(merge, row.shown, problem);
    }
    close_taken(&row);
}

/* ---- counters that come before their rows ---------------------------------------------------- */

/* Packs the key of the row at hand and the name of a counter. */
static void pack_name(const ctr_merge *merge, const char *column, ctr_packed *packed,
                      ctr_problem *problem)
{
    size_t size = strlen(column);
    ctr_pack_values(packed, merge->keys, merge->shape.n_keys, problem);
    uint8_t *out = ctr_pack_room(packed, size, problem);
    if (!out) return;
    memcpy(out, column, size);
    packed->size += size;
}

/* Keeps a cell until its row comes, merged with one that waits already. */
static void keep_pending(ctr_merge *merge, uint32_t life, int counter, const ctr_cell *cell,
                         ctr_problem *problem)
{
    ctr_packed name = {0};
    ctr_cell kept = ctr_cell_untouched();
    pack_name(merge, ctr_shape_counter_name(&merge->shape, counter), &name, problem);
    ctr_run run = ctr_tab_run(merge->rows.tab, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_REGULAR_PENDING);
    ctr_run_bind_int(&run, row, ":life", life);
    ctr_run_bind_blob(&run, row, ":name", name.bytes, name.size);
    if (ctr_run_row(&run, row))
        ctr_cell_open(&kept, sqlite3_column_blob(row, 0), (size_t)sqlite3_column_bytes(row, 0));
    uint8_t *both = sqlite3_malloc64(kept.size + cell->size + 1);
    if (!both) ctr_problem_nomem(problem);
    size_t n = both ? ctr_cell_merge(&kept, cell, both) : 0;
    sqlite3_finalize(row);
    row = ctr_run_prepare(&run, CTR_SQL_REGULAR_KEEP_PENDING);
    ctr_run_bind_int(&run, row, ":life", life);
    ctr_run_bind_blob(&run, row, ":name", name.bytes, name.size);
    ctr_run_bind_blob(&run, row, ":cell", both, n);
    if (row && problem->rc == SQLITE_OK) ctr_run_row(&run, row);
    sqlite3_finalize(row);
    sqlite3_free(both);
    sqlite3_free(name.bytes);
}

bool ctr_row_feed_admits(ctr_merge *merge, uint32_t life, int counter, const ctr_cell *cell,
                         ctr_problem *problem)
{
    if (!merge->shape.replicated) return true;
    const ctr_row_cell *mine = ctr_rows_row(&merge->rows, problem);
    if (!mine) return false;
    if (mine->life < life) keep_pending(merge, life, counter, cell, problem);
    if (mine->life != life || problem->rc != SQLITE_OK) return false;
    ctr_merge_counters(merge, problem);
    return problem->rc == SQLITE_OK;
}

/* Splits the name of a pending cell into the key, whose size it sets, and the counter, which it
 * returns; -1: it is none of ours. */
static int counter_of_name(const ctr_merge *merge, const uint8_t *name, size_t size,
                           size_t *key_size)
{
    ctr_key_value value;
    size_t at = 0;
    for (int i = 0; i < merge->shape.n_keys; i++)
        if (!ctr_key_next(name, size, &at, &value)) return -1;
    *key_size = at;
    for (int i = 0; i < merge->shape.n_counters; i++) {
        const char *column = ctr_shape_counter_name(&merge->shape, i);
        if (strlen(column) == size - at && memcmp(column, name + at, size - at) == 0) return i;
    }
    return -1;
}

/* Merges a pending cell if its row has come. Returns whether it is to be forgotten: it is merged,
 * or of an earlier life. */
static bool take_one_pending(ctr_merge *merge, sqlite3_stmt *pending, sqlite3_stmt *values,
                             sqlite3_value **keys, ctr_problem *problem)
{
    int64_t life = sqlite3_column_int64(pending, 0);
    const uint8_t *name = sqlite3_column_blob(pending, 1);
    size_t size = (size_t)sqlite3_column_bytes(pending, 1), key_size = 0;
    int counter = name ? counter_of_name(merge, name, size, &key_size) : -1;
    if (counter < 0) return true;
    ctr_run run = ctr_tab_run(merge->rows.tab, problem);
    sqlite3_reset(values);
    ctr_problem_sqlite(problem, run.db, ctr_pack_bind(values, name, key_size));
    if (!ctr_run_row(&run, values)) return false;
    for (int i = 0; i < merge->shape.n_keys; i++) keys[i] = sqlite3_column_value(values, i);
    if (!ctr_merge_find(merge, keys, problem)) return problem->rc == SQLITE_OK;
    const ctr_row_cell *mine = ctr_rows_row(&merge->rows, problem);
    if (!mine || mine->life < life) return false;
    ctr_cell cell;
    const void *bytes = sqlite3_column_blob(pending, 2);
    ctr_status status = ctr_cell_open(&cell, bytes, (size_t)sqlite3_column_bytes(pending, 2));
    if (mine->life > life || status != CTR_OK) return true;
    ctr_merge_counters(merge, problem);
    ctr_merge_cell(merge, counter, &cell, problem);
    ctr_merge_write(merge, problem);
    return problem->rc == SQLITE_OK;
}

void ctr_row_feed_take_pending(ctr_merge *merge, ctr_problem *problem)
{
    ctr_run run = ctr_tab_run(merge->rows.tab, problem);
    if (!ctr_run_number(&run, CTR_SQL_REGULAR_ANY_PENDING) || problem->rc != SQLITE_OK) return;
    char *list = ctr_shape_list(&merge->shape, CTR_KEYS, "#", ", ", 1);
    sqlite3_value **keys = sqlite3_malloc64((size_t)merge->shape.n_keys * sizeof *keys);
    if (!list || !keys) ctr_problem_nomem(problem);
    run.slots.values = list;
    sqlite3_stmt *pending = ctr_run_prepare(&run, CTR_SQL_REGULAR_ALL_PENDING),
                 *forget = ctr_run_prepare(&run, CTR_SQL_REGULAR_FORGET_PENDING),
                 *values = ctr_run_prepare(&run, CTR_SQL_ROWS_OF_PARAMETERS);
    while (ctr_run_row(&run, pending)) {
        if (!take_one_pending(merge, pending, values, keys, problem)) continue;
        ctr_run_bind_int(&run, forget, ":id", sqlite3_column_int64(pending, 3));
        if (problem->rc == SQLITE_OK) ctr_run_row(&run, forget);
        sqlite3_reset(forget);
    }
    sqlite3_finalize(pending);
    sqlite3_finalize(forget);
    sqlite3_finalize(values);
    sqlite3_free(list);
    sqlite3_free(keys);
    merge->keys = NULL; /* these were the last ones */
}
