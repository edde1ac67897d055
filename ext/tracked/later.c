/* tracked/later.c - shows merged rows at the end, tries rows that are apart again, and clears rows
 * below floors. */
#include "tracked/tracked.h"

#include <stdlib.h>
#include <string.h>

/* ---- the cells of rows ----------------------------------------------------------------------- */

enum { CELLS_ID = 1 }; /* the columns of the statement before those of the table */

typedef struct cells_reader {
    ctr_showing *showing;
    ctr_row *row;
    ctr_slot *slot;
    sqlite3_value **keys; /* owned; of the current row, lent by the statement until its next step */
    ctr_summary *now;     /* owned; of the current row */
    ctr_openings answers; /* owned: those of the table, once a row needs them */
    bool has_answers;

    /* Of a replicated table. */
    ctr_merged_row merged; /* the current row; its values are owned */
} cells_reader;

/* The caller closes it, even if this fails. */
static cells_reader open_cells(ctr_showing *showing, ctr_row *row)
{
    const ctr_shape *shape = showing->tracked->shape;
    cells_reader cells = {
        .showing = showing, .row = row, .slot = ctr_tab_take(row->tab, CTR_TAB_FOLLOW)};
    ctr_batch_expect(row->tab, 0); /* so that what is refused leaves memory as it is */
    cells.keys = sqlite3_malloc64(((size_t)shape->n_keys + 1) * sizeof *cells.keys);
    cells.now = sqlite3_malloc64(((size_t)shape->n_counters + 1) * sizeof *cells.now);
    if (!cells.keys || !cells.now) ctr_problem_nomem(row->conn);
    size_t n = (size_t)showing->tracked->n_regular + 1;
    cells.merged.values = sqlite3_malloc64(n * sizeof *cells.merged.values);
    if (!cells.merged.values) ctr_problem_nomem(row->conn);
    return cells;
}

static void close_cells(cells_reader *cells)
{
    ctr_tab_give_back(cells->row->tab, cells->slot);
    sqlite3_free(cells->keys);
    sqlite3_free(cells->now);
    sqlite3_free(cells->merged.values);
    ctr_openings_close(&cells->answers);
    cells->showing->merged = NULL;
    cells->showing->withheld = false;
}

/* Steps to the row with this id. Many are only a few steps after the previous one. */
static bool step_to_row(ctr_run *run, sqlite3_stmt *row, int64_t rowid)
{
    enum { STEPS = 8 };
    bool stands = sqlite3_stmt_busy(row);
    int64_t at = stands ? sqlite3_column_int64(row, 0) : 0;
    for (int i = 0; stands && i < STEPS && at < rowid; i++) {
        stands = ctr_run_row(run, row);
        if (stands) at = sqlite3_column_int64(row, 0);
    }
    if (stands && at == rowid) return true;
    sqlite3_reset(row);
    sqlite3_bind_int64(row, 1, rowid);
    return ctr_run_row(run, row) && sqlite3_column_int64(row, 0) == rowid;
}

/* Returns whether the row that the statement stands on has openings without an answer. */
static bool is_withheld_row(cells_reader *cells, sqlite3_stmt *row)
{
    ctr_conn *conn = cells->row->conn;
    bool withheld = false;
    const ctr_shape *shape = cells->showing->tracked->shape;
    for (int i = 0; i < shape->n_counters && !withheld; i++) {
        ctr_cell cell;
        ctr_shard pair[2];
        if (ctr_row_open_cell(cells->row, row, CELLS_ID + shape->counters[i], i, &cell)) break;
        if (ctr_openings_count(&cell) < 2) continue;
        if (!cells->has_answers) ctr_openings_read(&cells->answers, cells->row->tab);
        cells->has_answers = true;
        withheld = ctr_openings_unanswered(conn, &cells->answers, &cell, pair);
    }
    return withheld;
}

/* Reads the key and the states of the row with this id. In a transaction that has changed the
 * schema, SQLite aborts the statements that stand on a row when it rolls a savepoint back. */
static bool read_cells(cells_reader *cells, int64_t rowid)
{
    sqlite3_stmt *row = cells->slot->kept.statement;
    if (cells->showing->writing.undone) sqlite3_reset(row);
    cells->showing->writing.undone = false;
    const ctr_tracked *tracked = cells->showing->tracked;
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, NULL);
    if (!step_to_row(&run, row, rowid) || ctr_row_take(cells->row, row)) return false;
    for (int i = 0; i < tracked->shape->n_keys; i++)
        cells->keys[i] = sqlite3_column_value(row, CELLS_ID + tracked->shape->keys[i]);
    for (int i = 0; i < tracked->shape->n_counters; i++)
        cells->now[i] = ctr_row_state(cells->row, i);
    cells->showing->withheld = is_withheld_row(cells, row);
    return ctr_rc(cells->row->conn) == SQLITE_OK;
}

/* ---- rows of a table that refers to itself: parents before their children -------------------- */

enum family_state { ROW_NEW, ROW_CALLED_PARENTS, ROW_DONE };

typedef struct family {
    ctr_foreign_keys *foreign; /* held; NULL: the table does not refer to itself */
    sqlite3_value **keys;      /* owned: room for the key of a parent */
    const void *rows; /* borrowed: n_rows of `size` bytes, which begin with their ids, ascending */
    size_t n_rows, size;
    uint8_t *states; /* owned: by row, a family_state */
    size_t *stack;   /* owned: rows to be shown, the next one on top */
    size_t n, room;
} family;

static int by_rowid(const void *a, const void *b)
{
    int64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

/* Returns whether it is a foreign key of the table to its own key. */
static bool is_to_itself(const ctr_tracked *tracked, const ctr_foreign_key *key)
{
    return sqlite3_stricmp(key->child, tracked->table) == 0 &&
           sqlite3_stricmp(key->parent, tracked->table) == 0 && key->n == tracked->shape->n_keys;
}

/* The caller closes it. */
static family open_family(const ctr_showing *showing, const void *rows, size_t n, size_t size)
{
    family all = {.rows = rows, .n_rows = n, .size = size};
    ctr_conn *conn = showing->conn;
    const ctr_tracked *tracked = showing->tracked;
    if (n == 0 || !tracked->shape->replicated || !ctr_foreign_enforced(conn->db)) return all;
    const ctr_foreign_keys *foreign = ctr_foreign_keys_of(showing->tab->file);
    bool is = false;
    for (int i = 0; foreign && i < foreign->n && !is; i++)
        is = is_to_itself(tracked, &foreign->keys[i]);
    if (!is) return all;
    all.foreign = ctr_foreign_hold(showing->tab->file);
    all.keys = sqlite3_malloc64(((size_t)tracked->shape->n_keys + 1) * sizeof *all.keys);
    all.states = sqlite3_malloc64(n);
    if (all.states) memset(all.states, ROW_NEW, n);
    if (!all.keys || !all.states) ctr_problem_nomem(conn);
    return all;
}

static void close_family(family *all)
{
    ctr_foreign_release(all->foreign);
    sqlite3_free(all->keys);
    sqlite3_free(all->states);
    sqlite3_free(all->stack);
}

static void put_on_stack(ctr_conn *conn, family *all, size_t i)
{
    size_t *stack = ctr_array_room(conn, all->stack, &all->room, all->n + 1, sizeof *stack);
    if (!stack) return;
    all->stack = stack;
    stack[all->n++] = i;
}

/* Returns the value that the row at hand is to show in a column of its key, or in a regular one;
 * NULL: it stays, or it is NULL. */
static sqlite3_value *value_due(const cells_reader *cells, const char *column)
{
    const ctr_tracked *tracked = cells->showing->tracked;
    int i = ctr_tracked_named(tracked, column);
    if (i >= 0 && i < tracked->shape->n_keys) return cells->keys[i];
    if (i < tracked->shape->n_columns) return NULL;
    sqlite3_value *value = cells->merged.values[i - tracked->shape->n_columns];
    return value && sqlite3_value_type(value) != SQLITE_NULL ? value : NULL;
}

/* Returns the first number of a row, or -1. */
static int64_t number_in(const family *all, int64_t rowid)
{
    const uint8_t *first = all->rows,
                  *row = bsearch(&rowid, first, all->n_rows, all->size, by_rowid);
    if (!row) return -1;
    while (row > first && by_rowid(row - all->size, &rowid) == 0) row -= all->size;
    return (row - first) / (int64_t)all->size;
}

/* Puts the parent of the row at hand on the stack, if it is among the rows and new. */
static void call_parent(family *all, cells_reader *cells, const ctr_foreign_key *key)
{
    const ctr_tracked *tracked = cells->showing->tracked;
    for (int i = 0; i < tracked->shape->n_keys; i++) {
        all->keys[i] = NULL;
        for (int j = 0; j < key->n; j++)
            if (sqlite3_stricmp(key->pairs[j].to, ctr_tracked_key(tracked, i)->name) == 0)
                all->keys[i] = value_due(cells, key->pairs[j].from);
        if (!all->keys[i]) return;
    }
    ctr_row *row = cells->row;
    if (ctr_row_find_key(row, all->keys) || !row->found) return;
    int64_t parent = number_in(all, row->rowid);
    if (parent >= 0 && all->states[parent] == ROW_NEW) put_on_stack(row->conn, all, (size_t)parent);
}

/* Returns whether the row at hand waits for parents, which are on the stack above it. */
static bool call_parents(family *all, cells_reader *cells, size_t i)
{
    if (!all->foreign || all->states[i] != ROW_NEW) return false;
    size_t before = all->n;
    all->states[i] = ROW_CALLED_PARENTS;
    put_on_stack(cells->row->conn, all, i);
    for (int k = 0; k < all->foreign->n && ctr_rc(cells->row->conn) == SQLITE_OK; k++)
        if (is_to_itself(cells->showing->tracked, &all->foreign->keys[k]))
            call_parent(all, cells, &all->foreign->keys[k]);
    if (all->n > before + 1) return true;
    all->n = before;
    return false;
}

/* ---- merged rows ----------------------------------------------------------------------------- */

/* A row as it is kept: the states of its counters are followed by a bool for each regular
 * column. */
/* What a merge does to a row. It may do two things to one, first by an answer about openings: what
 * the first one found in the row is what the table shows. */
typedef struct due_row {
    int64_t rowid, giver;
    size_t turn;
    bool was_live, begins;
    bool ended; /* seen when the others were shown: it is to be deleted */
    ctr_summary before[];
} due_row;

static int by_row_and_turn(const void *a, const void *b)
{
    const due_row *x = a, *y = b;
    int order = by_rowid(a, b);
    return order != 0 ? order : (x->turn > y->turn) - (x->turn < y->turn);
}

static bool *taken_of(const due_row *row, const ctr_showing *showing)
{
    return (bool *)&row->before[showing->tracked->shape->n_counters];
}

void ctr_later_add(ctr_later *later, const ctr_showing *showing, const ctr_row *row, int64_t giver)
{
    const ctr_join *join = &row->join;
    size_t counters = (size_t)showing->tracked->shape->n_counters * sizeof *join->before;
    size_t size = sizeof(due_row) + counters + (size_t)later->n_map;
    size = (size + 7) / 8 * 8; /* so that the next row is aligned */
    uint8_t *all = ctr_array_room(showing->conn, later->rows, &later->room, later->n + 1, size);
    if (!all) return;
    later->rows = all;
    later->size = size;
    due_row *due = (void *)(all + later->n * size);
    memset(due, 0, size);
    due->turn = later->n++;
    due->rowid = row->rowid;
    due->giver = giver;
    due->was_live = join->was_live;
    due->begins = join->begins;
    memcpy(due->before, join->before, counters);
    if (later->n_map > 0) memcpy(taken_of(due, showing), join->taken, (size_t)later->n_map);
}

void ctr_later_close(ctr_later *later)
{
    sqlite3_free(later->rows);
    ctr_row_values_close(&later->values);
    sqlite3_free(later->map);
    *later = (ctr_later){0};
}

/* Notes the lives of the current row of a replicated table, which is to be shown. `due` is NULL for
 * a row that was not merged. */
static void take_lives(cells_reader *cells, const due_row *due)
{
    if (!cells->showing->tracked->shape->replicated) return;
    cells->showing->merged = &cells->merged;
    cells->merged.is_live = ctr_row_is_live(cells->row);
    cells->merged.cell = ctr_row_stamps(cells->row);
    cells->merged.was_live = !due || due->was_live;
    cells->merged.begins = due && due->begins;
    for (int i = 0; i < cells->showing->tracked->n_regular; i++) cells->merged.values[i] = NULL;
}

/* Reads the values that the merge has taken. */
static void take_values_of(cells_reader *cells, ctr_later *later, const due_row *due)
{
    const ctr_tracked *tracked = cells->showing->tracked;
    ctr_row_values_read(&later->values, due->giver, cells->keys);
    for (int i = 0; i < tracked->n_regular && ctr_rc(cells->row->conn) == SQLITE_OK; i++) {
        int number = ctr_tracked_regular(tracked, i)->number;
        bool is = number < later->n_map && taken_of(due, cells->showing)[number];
        cells->merged.values[i] = is ? later->values.given[later->map[number]] : NULL;
    }
}

/* Reads a row that is due. Returns whether it is to be shown now, or deleted. */
static bool read_due(cells_reader *cells, ctr_later *later, due_row *due, bool deletions)
{
    const ctr_showing *showing = cells->showing;
    if ((deletions && !due->ended) || !read_cells(cells, due->rowid)) return false;
    take_lives(cells, due);
    due->ended = showing->merged && !cells->merged.is_live;
    if (due->ended != deletions) return false;
    if (showing->merged && !deletions) take_values_of(cells, later, due);
    return ctr_rc(cells->row->conn) == SQLITE_OK;
}

static due_row *due_at(const ctr_later *later, size_t i)
{
    return (void *)(later->rows + i * later->size);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void show_due(cells_reader *cells, ctr_later *later, family *all, size_t i,
                     ctr_later_what what)
{
    bool deletions = what != CTR_LATER_ROWS;
    due_row *due = due_at(later, i);
    if (all->foreign && all->states[i] == ROW_DONE) return;
    if (read_due(cells, later, due, deletions)) {
        if (!deletions && call_parents(all, cells, i)) return;
        if (what == CTR_LATER_LIST_DELETIONS)
            ctr_showing_list(cells->showing, due->rowid, cells->keys, due->before, cells->now);
        else if (ctr_rc(cells->row->conn) == SQLITE_OK)
            ctr_showing_row(cells->showing, due->rowid, cells->keys, NULL, due->before, cells->now);
    }
    if (all->foreign) all->states[i] = ROW_DONE;
}

/* Rows that are not whole go into the cache, where the triggers of the table find them. */
void ctr_later_show(ctr_later *later, ctr_showing *showing, ctr_row *row, ctr_later_what what)
{
    bool deletions = what != CTR_LATER_ROWS;
    bool whole = row->whole;
    cells_reader cells = open_cells(showing, row);
    row->whole = false;
    if (later->n > 0) qsort(later->rows, later->n, later->size, by_row_and_turn);
    family all = open_family(showing, later->rows, deletions ? 0 : later->n, later->size);
    for (size_t i = 0; i < later->n && ctr_rc(row->conn) == SQLITE_OK; i++) {
        show_due(&cells, later, &all, i, what);
        while (all.n > 0 && ctr_rc(row->conn) == SQLITE_OK)
            show_due(&cells, later, &all, all.stack[--all.n], what);
    }
    close_family(&all);
    row->whole = whole;
    close_cells(&cells);
}

/* ---- rows that are apart --------------------------------------------------------------------- */

/* A value that a listed row wants to show. In a UNIQUE index, it may have to wait until another row
 * no longer shows it. */
typedef struct wanted_value {
    int column; /* of those that travel */
    int64_t n;  /* the value; of a regular column its hash */
    int64_t rowid;
    int tries; /* because another row no longer showed it */
} wanted_value;

typedef struct shown_hash {
    bool is; /* the row shows a value */
    int64_t hash;
} shown_hash;

typedef struct apart_job {
    cells_reader cells;
    int64_t *listed; /* owned: the rows, ascending */
    size_t n, room;
    wanted_value *wanted; /* owned; ascending */
    size_t n_wanted, room_wanted;
    int64_t *due; /* owned: a stack of rows to be tried, with room for all tries */
    size_t n_due;
    family all;
    sqlite3_stmt **parents; /* owned: by foreign key, whether the row at hand has that parent */
    int n_parents;

    /* Of a replicated table. */
    ctr_row_values values; /* owned: reads what rows show */
    ctr_packed packed;     /* owned: a value */
    shown_hash *shown;     /* owned: of the row at hand, by regular column */
} apart_job;

enum { TRIES = 4 /* for the sake of one value, besides the first */ };

static int by_value(const void *a, const void *b)
{
    const wanted_value *x = a, *y = b;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return x->n < y->n ? -1 : x->n > y->n;
}

static void add_wanted(ctr_conn *conn, apart_job *job, int64_t rowid, int column, int64_t n)
{
    wanted_value *wanted =
        ctr_array_room(conn, job->wanted, &job->room_wanted, job->n_wanted + 1, sizeof *wanted);
    if (!wanted) return;
    job->wanted = wanted;
    wanted[job->n_wanted++] = (wanted_value){.column = column, .n = n, .rowid = rowid};
}

static void add_wanted_counter(ctr_conn *conn, apart_job *job, int64_t rowid, int counter)
{
    ctr_shown value;
    if (ctr_showing_value(job->cells.showing, counter, &job->cells.now[counter], &value) &&
        !value.null)
        add_wanted(conn, job, rowid, counter, value.n);
}

/* Values that are equal and not the same, as under NOCASE, have other hashes: such a row waits for
 * the next turn. */
static int64_t hash_of(ctr_conn *conn, apart_job *job, sqlite3_value *value)
{
    if (ctr_pack_values(conn, &job->packed, &value, 1) != SQLITE_OK) return 0;
    return (int64_t)ctr_cache_hash(job->packed.bytes, job->packed.size);
}

static bool has_value(sqlite3_value *value)
{
    return value && sqlite3_value_type(value) != SQLITE_NULL;
}

/* Adds the values that a listed row wants to show. */
static void add_all_wanted(apart_job *job, int64_t rowid, const ctr_apart_row *is)
{
    ctr_conn *conn = job->cells.row->conn;
    const int n = job->cells.showing->tracked->shape->n_counters;
    bool counts = is->differs && read_cells(&job->cells, rowid);
    for (int i = 0; counts && i < n; i++)
        if (is->is_in[i]) add_wanted_counter(conn, job, rowid, i);
    for (int i = n; is->refused && i < is->n && ctr_rc(conn) == SQLITE_OK; i++)
        if (has_value(is->shown[i].value))
            add_wanted(conn, job, rowid, i, hash_of(conn, job, is->shown[i].value));
}

/* Reads what a row shows in its regular columns. */
static void read_shown(ctr_conn *conn, apart_job *job, int64_t rowid)
{
    ctr_row_values *values = &job->values;
    if (ctr_row_values_show(values, rowid, job->cells.keys) != SQLITE_OK) return;
    const ctr_tracked *tracked = values->tracked;
    for (int i = 0; i < tracked->n_regular && ctr_rc(conn) == SQLITE_OK; i++) {
        sqlite3_value *value = values->given[ctr_tracked_regular(tracked, i)->number];
        job->shown[i].is = has_value(value);
        if (job->shown[i].is) job->shown[i].hash = hash_of(conn, job, value);
    }
    ctr_row_values_reset(values);
}

static void open_values(ctr_conn *conn, apart_job *job)
{
    if (ctr_row_values_open(&job->values, job->cells.row->tab) != SQLITE_OK) return;
    job->shown =
        sqlite3_malloc64(((size_t)job->values.tracked->n_regular + 1) * sizeof *job->shown);
    if (!job->shown) ctr_problem_nomem(conn);
}

/* Reads the list, and sorts the values that the rows want. */
static void read_listed(ctr_conn *conn, apart_job *job, bool parents_first)
{
    const ctr_showing *showing = job->cells.showing;
    ctr_run run = ctr_tab_run(showing->tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_APART_ROWS);
    while (ctr_run_row(&run, row)) {
        ctr_apart_row is;
        int64_t rowid = sqlite3_column_int64(row, 0), *listed = job->listed;
        listed = ctr_array_room(conn, listed, &job->room, job->n + 1, sizeof *listed);
        if (!listed) break;
        job->listed = listed;
        listed[job->n++] = rowid;
        if (ctr_apart_read(showing->tracked, showing->tab, rowid, &is) == SQLITE_OK)
            add_all_wanted(job, rowid, &is);
        ctr_apart_close_row(&is);
    }
    sqlite3_finalize(row);
    job->all = open_family(showing, job->listed, parents_first ? job->n : 0, sizeof *job->listed);
    size_t calls = job->all.foreign ? job->n * ((size_t)job->all.foreign->n + 1) : 0;
    job->due = sqlite3_malloc64((TRIES * job->n_wanted + calls + 1) * sizeof *job->due);
    if (!job->due) ctr_problem_nomem(conn);
    if (job->n_wanted > 0) qsort(job->wanted, job->n_wanted, sizeof *job->wanted, by_value);
}

/* Adds the rows that want a value of a column to those that are to be tried. */
static void try_wanting(apart_job *job, int column, int64_t n)
{
    size_t from = 0;
    const wanted_value value = {.column = column, .n = n};
    for (size_t to = job->n_wanted; from < to;) {
        size_t middle = from + (to - from) / 2;
        if (by_value(&job->wanted[middle], &value) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    for (; from < job->n_wanted && by_value(&job->wanted[from], &value) == 0; from++)
        if (job->wanted[from].tries++ < TRIES) job->due[job->n_due++] = job->wanted[from].rowid;
}

/* Lends the values that a listed row is to show to the row at hand; NULL takes them back. */
static void lend_shown(apart_job *job, const ctr_apart_row *is)
{
    cells_reader *cells = &job->cells;
    const int n = cells->showing->tracked->shape->n_counters;
    for (int i = 0; i < cells->showing->tracked->n_regular; i++)
        cells->merged.values[i] = is ? is->shown[n + i].value : NULL;
}

/* Puts a row that waits, and its parents, which are listed, too, among those to be tried. Returns
 * whether there are any. */
static bool try_parents(apart_job *job, int64_t rowid, const ctr_apart_row *is)
{
    family *all = &job->all;
    cells_reader *cells = &job->cells;
    int64_t number = all->foreign && is->waits ? number_in(all, rowid) : -1;
    if (number < 0 || all->states[number] != ROW_NEW) return false;
    lend_shown(job, is);
    call_parents(all, cells, (size_t)number);
    lend_shown(job, NULL);
    bool any = all->n > 0;
    for (size_t i = 0; i < all->n; i++) job->due[job->n_due++] = job->listed[all->stack[i]];
    all->n = 0;
    return any;
}

/* Says whether the parent with the values ?1, ?2, ... is there. */
static sqlite3_stmt *prepare_parent(const ctr_showing *showing, const ctr_foreign_key *key)
{
    const ctr_tracked *tracked = showing->tracked;
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendf(out, "EXISTS (SELECT 1 FROM \"%w\".\"%w\" WHERE ", tracked->schema,
                        key->parent);
    for (int i = 0; i < key->n; i++)
        sqlite3_str_appendf(out, "%s\"%w\" = ?%d", i > 0 ? " AND " : "", key->pairs[i].to, i + 1);
    sqlite3_str_appendall(out, ")");
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, NULL);
    run.slots.value = ctr_text_built(tracked->conn, out);
    return ctr_run_prepare(&run, CTR_SQL_TRACK_VALUE);
}

/* Returns whether the row at hand refers to a row of another table that is not there. */
static bool lacks_parent(apart_job *job, const ctr_foreign_key *key, sqlite3_stmt **look)
{
    const ctr_showing *showing = job->cells.showing;
    if (key->n == 0 || sqlite3_stricmp(key->child, showing->tracked->table) != 0 ||
        sqlite3_stricmp(key->parent, showing->tracked->table) == 0)
        return false;
    for (int i = 0; i < key->n; i++)
        if (!value_due(&job->cells, key->pairs[i].from)) return false;
    if (!*look) *look = prepare_parent(showing, key);
    for (int i = 0; *look && i < key->n; i++)
        ctr_text_bind_value(*look, i + 1, value_due(&job->cells, key->pairs[i].from));
    ctr_run run = ctr_run_on(showing->conn, showing->tracked->schema, NULL);
    bool lacks = ctr_run_row(&run, *look) && !sqlite3_column_int(*look, 0);
    sqlite3_reset(*look);
    return lacks;
}

/* Returns whether a row that waits has to wait on for a parent. To try it would cost a savepoint. A
 * trigger of the application may make the parent: then the row is tried once. */
static bool waits_for_parent(apart_job *job, int64_t rowid, const ctr_apart_row *is)
{
    const ctr_showing *showing = job->cells.showing;
    bool was_tried = is->why && strcmp(is->why, CTR_FOREIGN_KEY_FAILED) == 0;
    if (!is->waits || !showing->merged || !ctr_foreign_enforced(showing->conn->db) ||
        (showing->reads_back && !was_tried))
        return false;
    const ctr_foreign_keys *keys = ctr_foreign_keys_of(showing->tab->file);
    bool lacks = false;
    size_t n = keys ? (size_t)keys->n : 0;
    if (keys && !job->parents) {
        job->parents = sqlite3_malloc64((n + 1) * sizeof *job->parents);
        if (!job->parents) ctr_problem_nomem(showing->conn);
        if (job->parents) memset(job->parents, 0, (n + 1) * sizeof *job->parents);
        job->n_parents = job->parents ? keys->n : 0;
    }
    lend_shown(job, is);
    for (int i = 0;
         i < job->n_parents && (size_t)i < n && !lacks && ctr_rc(showing->conn) == SQLITE_OK; i++)
        lacks = lacks_parent(job, &keys->keys[i], &job->parents[i]);
    lend_shown(job, NULL);
    if (lacks && !was_tried) ctr_apart_explain(showing->tab, rowid, CTR_FOREIGN_KEY_FAILED);
    return lacks;
}

/* Tries to show a row. If it comes off the list, adds those that want what it showed. */
static void try_row(ctr_conn *conn, apart_job *job, int64_t rowid, bool deletions)
{
    cells_reader *cells = &job->cells;
    ctr_showing *showing = cells->showing;
    const int n = showing->tracked->shape->n_counters;
    ctr_apart_row was, is = {0};
    ctr_apart_read(showing->tracked, showing->tab, rowid, &was);
    bool listed = was.waits || was.differs || was.refused || was.ended || was.withheld;
    bool leaves = (was.waits || was.refused) && showing->leaves_refused;
    bool tried = listed && !leaves && read_cells(cells, rowid);
    if (tried) take_lives(cells, NULL);
    tried = tried && !waits_for_parent(job, rowid, &was) && !try_parents(job, rowid, &was);
    tried = tried && (deletions || !showing->merged || cells->merged.is_live);
    bool may_free = tried && was.refused;
    if (may_free) read_shown(conn, job, rowid);
    if (tried && ctr_rc(conn) == SQLITE_OK)
        ctr_showing_again(showing, rowid, cells->keys, cells->now);
    if (tried && ctr_apart_read(showing->tracked, showing->tab, rowid, &is) == SQLITE_OK &&
        !is.waits && !is.differs)
        for (int i = 0; i < n; i++)
            if (was.is_in[i] && !was.shown[i].null) try_wanting(job, i, was.shown[i].n);
    for (int i = n; may_free && !is.refused && i < was.n && ctr_rc(conn) == SQLITE_OK; i++)
        if (job->shown[i - n].is) try_wanting(job, i, job->shown[i - n].hash);
    ctr_apart_close_row(&was);
    ctr_apart_close_row(&is);
}

int64_t ctr_later_show_apart(ctr_showing *showing, ctr_row *row, bool backwards, bool deletions)
{
    apart_job job = {.cells = open_cells(showing, row)};
    if (showing->tracked->n_regular > 0) open_values(row->conn, &job);
    read_listed(row->conn, &job, !backwards && !deletions);
    for (size_t i = 0; i < job.n && ctr_rc(row->conn) == SQLITE_OK; i++) {
        job.due[job.n_due++] = job.listed[backwards ? job.n - 1 - i : i];
        while (job.n_due > 0 && ctr_rc(row->conn) == SQLITE_OK)
            try_row(row->conn, &job, job.due[--job.n_due], deletions);
    }
    close_family(&job.all);
    for (int i = 0; i < job.n_parents; i++) sqlite3_finalize(job.parents[i]);
    sqlite3_free(job.parents);
    close_cells(&job.cells);
    if (deletions && ctr_apart_keeps(showing->tab)) {
        ctr_floors floors = ctr_floors_on(row->tab, showing->tracked->shape);
        ctr_later_show_purged(showing, &floors);
    }
    ctr_row_values_close(&job.values);
    sqlite3_free(job.packed.bytes);
    sqlite3_free(job.shown);
    sqlite3_free(job.listed);
    sqlite3_free(job.wanted);
    sqlite3_free(job.due);
    return ctr_apart_count(row->tab->file, row->tab->table);
}

void ctr_later_show_listed(ctr_showing *showing, ctr_row *row, int64_t rowid)
{
    cells_reader cells = open_cells(showing, row);
    bool there = ctr_rc(row->conn) == SQLITE_OK && read_cells(&cells, rowid);
    if (there) take_lives(&cells, NULL);
    if (there && ctr_rc(row->conn) == SQLITE_OK)
        ctr_showing_again(showing, rowid, cells.keys, cells.now);
    close_cells(&cells);
}

/* The table may refuse. */
static void showing_clear(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                          const ctr_lets_go *columns, int64_t number)
{
    ctr_writing *writing = &showing->writing;
    const int n = showing->tracked->shape->n_counters;
    bool there = ctr_writing_look(writing, keys, showing->found, NULL);
    memcpy(showing->alone, showing->found, (size_t)n * sizeof *showing->found);
    for (int i = 0; i < showing->tracked->n_regular; i++) {
        bool may_be_null = !ctr_tracked_regular(showing->tracked, i)->not_null;
        showing->alone[n + i] = (ctr_shown){.null = columns[i] != CTR_KEEPS && may_be_null,
                                            .number = columns[i] == CTR_HAS_NUMBER && !may_be_null,
                                            .n = number};
    }
    writing->rowid = rowid;
    writing->keys = keys;
    if (there) ctr_writing_update(writing, showing->found, showing->alone);
}

void ctr_later_clear(ctr_showing *showing, ctr_row *row, int64_t rowid, const ctr_lets_go *columns,
                     int64_t number)
{
    cells_reader cells = open_cells(showing, row);
    if (ctr_rc(row->conn) == SQLITE_OK && read_cells(&cells, rowid))
        showing_clear(showing, rowid, cells.keys, columns, number);
    close_cells(&cells);
}

bool ctr_later_take_off(ctr_showing *showing, ctr_row *row, int64_t rowid)
{
    cells_reader cells = open_cells(showing, row);
    bool there = ctr_rc(row->conn) == SQLITE_OK && read_cells(&cells, rowid);
    if (there) take_lives(&cells, NULL);
    bool is = there && ctr_showing_take_off(showing, rowid, cells.keys, cells.now);
    close_cells(&cells);
    return is;
}

/* ---- rows below floors ----------------------------------------------------------------------- */

/* Clears the values of the statement's current row, if it is below a floor; deletes a row of a
 * replicated table: without a row cell it would look new, and travel. The row has the id
 * among the cells, 0 if there is none, and the key. Returns whether others keep the row. */
static bool show_nothing_below(ctr_showing *showing, sqlite3_stmt *row, ctr_floors *floors)
{
    ctr_conn *conn = floors->tab->conn;
    int n = showing->tracked->shape->n_keys;
    sqlite3_value **keys = showing->writing.keys;
    showing->writing.rowid = sqlite3_column_int64(row, 0);
    for (int i = 0; i < n; i++) keys[i] = sqlite3_value_dup(sqlite3_column_value(row, 1 + i));
    for (int i = 0; i < n; i++)
        if (!keys[i]) ctr_problem_nomem(conn);
    bool below = ctr_rc(conn) == SQLITE_OK && ctr_floors_is_below(floors, keys);
    for (int i = 0; below && i < showing->tracked->shape->n_counters; i++) {
        const ctr_summary none = {.life = 1};
        ctr_showing_value(showing, i, &none, &showing->to[i]);
    }
    bool there = below && ctr_writing_look(&showing->writing, keys, showing->from, NULL);
    bool deletes = there && showing->tracked->shape->replicated;
    bool kept = deletes && !ctr_writing_delete(&showing->writing);
    if (there && !deletes) ctr_writing_update(&showing->writing, showing->from, showing->to);
    for (int i = 0; i < n; i++) sqlite3_value_free(keys[i]);
    return kept;
}

int ctr_later_show_purged(ctr_showing *showing, ctr_floors *floors)
{
    ctr_conn *conn = floors->tab->conn;
    const ctr_tracked *tracked = showing->tracked;
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, tracked->counters);
    ctr_run_do(&run, CTR_SQL_APART_FORGET_GONE, NULL);
    if (!ctr_home_holds(showing->tab, true)) ctr_home_relink(showing->tab);

    sqlite3_str *list = sqlite3_str_new(NULL);
    ctr_list_keys(tracked, list, "t.");
    run.slots.name = tracked->table;
    run.slots.keys = ctr_text_built(conn, list);
    run.slots.constraint = ctr_list_cells_match(tracked);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_WITHOUT_COUNTERS);
    sqlite3_value **keys = sqlite3_malloc64(((size_t)tracked->shape->n_keys + 1) * sizeof *keys);
    if (!keys) ctr_problem_nomem(conn);
    showing->writing.keys = keys;
    /* Rows of the table may refer to each other. */
    int64_t kept = 0, before;
    do {
        before = kept;
        kept = 0;
        while (ctr_run_row(&run, row)) kept += show_nothing_below(showing, row, floors);
        sqlite3_reset(row);
    } while (kept > 0 && kept != before && ctr_rc(conn) == SQLITE_OK);
    sqlite3_finalize(row);
    if (kept > 0) ctr_apart_keep(showing->tab);
    sqlite3_free(keys);
    showing->writing.keys = NULL;
    return ctr_rc(conn);
}
