/* functions/size.c - figures about the size of a counter table.
 *
 *     counter_size(table [, schema])    one row:
 *         rows, live, deleted           stored rows; the visible ones; the deleted ones
 *         cells, bytes                  touched counters; bytes of keys and cells
 *         shards_mean, shards_p99, shards_max     shards of a live cell
 *         ids                           replica ids with a shard in some cell
 *     counter_ids(table [, schema])     id, cells: the number of cells in which it has a shard;
 *                                       the most first
 *
 * Both read the whole table.
 */
#include <stdlib.h>
#include <string.h>

#include "core/id.h"
#include "functions/answer.h"
#include "sqlite/array.h"
#include "table/catalog.h"
#include "table/rows.h"
#include "table/stored.h"
#include "table/walk.h"

typedef struct id_count {
    uint8_t id[CTR_ID_SIZE];
    int64_t cells;
} id_count;

/* The counts so far. */
typedef struct census {
    int64_t rows, live, deleted, cells, bytes;
    int64_t live_cells, shards;
    int64_t *by_shards; /* the number of live cells, by number of shards; owned */
    size_t n_by_shards;
    id_count *ids; /* owned; after gather_ids ascending, each once */
    size_t n_ids, room;
} census;

static void close_census(census *all)
{
    sqlite3_free(all->by_shards);
    sqlite3_free(all->ids);
}

/* ---- counting -------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    return memcmp(((const id_count *)a)->id, ((const id_count *)b)->id, CTR_ID_SIZE);
}

/* Sorts, and adds up equal ids. */
static void gather_ids(census *all)
{
    size_t n = 0;
    if (all->n_ids > 0) qsort(all->ids, all->n_ids, sizeof *all->ids, by_id);
    for (size_t i = 0; i < all->n_ids; i++) {
        if (n > 0 && by_id(&all->ids[n - 1], &all->ids[i]) == 0)
            all->ids[n - 1].cells += all->ids[i].cells;
        else
            all->ids[n++] = all->ids[i];
    }
    all->n_ids = n;
}

/* Appends an id. If there is no room left, gathers the ids, and doubles the room if that frees less
 * than half of it. */
static void count_id(census *all, const uint8_t id[CTR_ID_SIZE], ctr_problem *problem)
{
    bool is_full = all->n_ids == all->room;
    if (is_full) gather_ids(all);
    size_t needed = is_full && all->n_ids >= all->room / 2 ? all->room + 1 : all->n_ids + 1;
    id_count *ids = ctr_array_room(all->ids, &all->room, needed, sizeof *ids, problem);
    if (!ids) return;
    all->ids = ids;
    ids[all->n_ids].cells = 1;
    memcpy(ids[all->n_ids++].id, id, CTR_ID_SIZE);
}

static void count_shards_of(census *all, size_t n, ctr_problem *problem)
{
    if (n >= all->n_by_shards) {
        size_t size = 2 * n + 16;
        int64_t *grown = sqlite3_realloc64(all->by_shards, size * sizeof *grown);
        if (!grown) {
            ctr_problem_nomem(problem);
            return;
        }
        memset(grown + all->n_by_shards, 0, (size - all->n_by_shards) * sizeof *grown);
        all->by_shards = grown;
        all->n_by_shards = size;
    }
    all->by_shards[n]++;
    all->live_cells++;
    all->shards += (int64_t)n;
}

static void count_cell(census *all, const ctr_cell *cell, ctr_problem *problem)
{
    ctr_shard shard;
    size_t n = 0;
    if (ctr_cell_is_untouched(cell)) return;
    all->cells++;
    all->bytes += (int64_t)cell->size;
    for (size_t at = 0; ctr_cell_next(cell, &at, &shard) && problem->rc == SQLITE_OK; n++)
        count_id(all, shard.id, problem);
    if (ctr_cell_is_live(cell) && problem->rc == SQLITE_OK) count_shards_of(all, n, problem);
}

static void count_key_bytes(census *all, sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    all->bytes += number ? 8 : sqlite3_column_bytes(row, column);
}

static void count_row(census *all, ctr_rows *rows, sqlite3_stmt *row, ctr_problem *problem)
{
    const ctr_shape *shape = rows->shape;
    bool live = false, deleted = false;
    for (int i = 0; i < shape->n_columns && problem->rc == SQLITE_OK; i++) {
        ctr_cell cell;
        if (shape->columns[i].counter < 0) {
            count_key_bytes(all, row, CTR_WALK_COLUMNS + i);
            continue;
        }
        if (ctr_rows_open_cell(rows, row, CTR_WALK_COLUMNS + i, shape->columns[i].counter, &cell,
                               problem))
            return;
        count_cell(all, &cell, problem);
        live = live || ctr_cell_is_live(&cell);
        deleted = deleted || ctr_cell_is_deleted(&cell);
    }
    all->rows++;
    all->live += live;
    all->deleted += deleted && !live;
}

static void count_rows_of(census *all, sqlite3 *db, const char *schema, const char *table,
                          ctr_problem *problem)
{
    ctr_walk walk;
    ctr_shape shape = {0};
    ctr_rows rows = {0};
    if (ctr_stored_read(&shape, db, schema, table, problem) == SQLITE_OK) {
        ctr_rows_open(&rows, db, schema, table, &shape, NULL, problem);
        ctr_walk_open(&walk, db, schema, table, &shape, CTR_WALK_ALL, 0, problem);
        while (ctr_walk_next(&walk, problem)) count_row(all, &rows, walk.row, problem);
        ctr_walk_close(&walk);
        ctr_rows_close(&rows);
    }
    ctr_shape_close(&shape);
}

/* Counts the table that the arguments name. */
static void take_census(census *all, ctr_answer *answer, sqlite3_value **args, ctr_problem *problem)
{
    sqlite3 *db = ctr_answer_db(answer);
    const char *table = ctr_answer_arg(args[0], "the name of the table", NULL, problem);
    const char *schema = ctr_answer_schema(answer, args[1], problem);
    if (problem->rc != SQLITE_OK) return;
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *snapshot = ctr_run_hold(&run);
    if (ctr_catalog_require(db, schema, table, problem) == SQLITE_OK)
        count_rows_of(all, db, schema, table, problem);
    gather_ids(all);
    sqlite3_finalize(snapshot);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Returns the number of shards that 99 of 100 live cells do not exceed. */
static int64_t percentile_99(const census *all)
{
    int64_t seen = 0, wanted = all->live_cells - all->live_cells / 100;
    size_t n = 0;
    while (n < all->n_by_shards && seen + all->by_shards[n] < wanted) seen += all->by_shards[n++];
    return (int64_t)n;
}

static int64_t most_shards(const census *all)
{
    size_t n = all->n_by_shards;
    while (n > 0 && all->by_shards[n - 1] == 0) n--;
    return n > 0 ? (int64_t)n - 1 : 0;
}

static void fill_size(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem)
{
    census all = {0};
    take_census(&all, answer, args, problem);
    if (problem->rc == SQLITE_OK) {
        double mean = all.live_cells ? (double)all.shards / (double)all.live_cells : 0;
        const int64_t before[] = {all.rows, all.live, all.deleted, all.cells, all.bytes};
        const int64_t behind[] = {percentile_99(&all), most_shards(&all), (int64_t)all.n_ids};
        for (size_t i = 0; i < sizeof before / sizeof *before; i++)
            ctr_answer_integer(answer, before[i], problem);
        ctr_answer_real(answer, mean, problem);
        for (size_t i = 0; i < sizeof behind / sizeof *behind; i++)
            ctr_answer_integer(answer, behind[i], problem);
    }
    close_census(&all);
}

static int by_cells(const void *a, const void *b)
{
    const id_count *x = a, *y = b;
    if (x->cells != y->cells) return x->cells < y->cells ? 1 : -1;
    return memcmp(x->id, y->id, CTR_ID_SIZE);
}

static void fill_ids(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem)
{
    census all = {0};
    take_census(&all, answer, args, problem);
    if (all.n_ids > 0) qsort(all.ids, all.n_ids, sizeof *all.ids, by_cells);
    for (size_t i = 0; i < all.n_ids && problem->rc == SQLITE_OK; i++) {
        char text[CTR_ID_TEXT_SIZE];
        ctr_id_to_text(all.ids[i].id, text);
        ctr_answer_text(answer, text, problem);
        ctr_answer_integer(answer, all.ids[i].cells, problem);
    }
    close_census(&all);
}

int ctr_size_register(sqlite3 *db, ctr_shared *shared)
{
    static const ctr_answer_kind KINDS[] = {
        {.name = "counter_size",
         .columns = "rows INTEGER, live INTEGER, deleted INTEGER, cells INTEGER, bytes INTEGER, "
                    "shards_mean REAL, shards_p99 INTEGER, shards_max INTEGER, ids INTEGER",
         .args = "\"table\" HIDDEN, schema HIDDEN",
         .n_columns = 9,
         .n_args = 2,
         .n_needed = 1,
         .usage = "the name of a counter table is needed",
         .fill = fill_size},
        {.name = "counter_ids",
         .columns = "id TEXT, cells INTEGER",
         .args = "\"table\" HIDDEN, schema HIDDEN",
         .n_columns = 2,
         .n_args = 2,
         .n_needed = 1,
         .usage = "the name of a counter table is needed",
         .fill = fill_ids}};
    return ctr_answer_register(db, shared, KINDS, sizeof KINDS / sizeof *KINDS);
}
