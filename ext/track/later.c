/* track/later.c - shows merged rows at the end, tries rows that are apart
 * again, and clears rows below floors. */
#include "track/later.h"

#include <stdlib.h>
#include <string.h>

#include "sqlite/array.h"

int ctr_later_add(ctr_later *later, const ctr_showing *showing, int64_t rowid,
                  const ctr_summary *before, ctr_problem *problem)
{
    const int n = showing->tracked->shape->n_counters;
    size_t size = sizeof(ctr_later_row) + (size_t)n * sizeof(ctr_shown);
    uint8_t *rows = ctr_array_room(later->rows, &later->room, later->n + 1, size, problem);
    if (!rows) return problem->rc;
    later->rows = rows;
    later->size = size;
    ctr_later_row *row = (void *)(rows + later->n++ * size);
    *row =
        (ctr_later_row){.rowid = rowid, .was = ctr_showing_before(showing, before), .known = true};
    for (int i = 0; i < n; i++)
        row->known = ctr_showing_value(showing, i, &before[i], &row->shown[i]) && row->known;
    return problem->rc;
}

void ctr_later_close(ctr_later *later)
{
    sqlite3_free(later->rows);
    *later = (ctr_later){0};
}

static int by_rowid(const void *a, const void *b)
{
    const ctr_later_row *x = a, *y = b;
    return x->rowid < y->rowid ? -1 : x->rowid > y->rowid;
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
    sqlite3_bind_int64(row, 1, rowid - 1);
    return ctr_run_row(run, row) && sqlite3_column_int64(row, 0) == rowid;
}

/* Reads the states of the row with this id, and its key, which the statement lends until its next
 * step. */
static bool step_to_cells(ctr_showing *showing, sqlite3_stmt *row, int64_t rowid, ctr_rows *rows,
                          ctr_summary *now, ctr_problem *problem)
{
    enum { CELLS_ID = 1 };
    const ctr_shape *shape = showing->tracked->shape;
    ctr_run run = ctr_run_on(showing->tracked->db, showing->tracked->schema, NULL, problem);
    if (!step_to_row(&run, row, rowid) || ctr_rows_take(rows, row, problem)) return false;
    for (int i = 0; i < shape->n_keys; i++)
        showing->writing.keys[i] = sqlite3_column_value(row, CELLS_ID + shape->keys[i]);
    for (int i = 0; i < shape->n_counters; i++) now[i] = ctr_rows_state(rows, i);
    return true;
}

/* Allocates room for a key and for states. */
static bool make_show_room(const ctr_showing *showing, sqlite3_value ***keys, ctr_summary **now,
                           ctr_problem *problem)
{
    *keys = sqlite3_malloc64(((size_t)showing->tracked->shape->n_keys + 1) * sizeof **keys);
    *now = sqlite3_malloc64(((size_t)showing->tracked->shape->n_counters + 1) * sizeof **now);
    if (!*keys || !*now) ctr_problem_nomem(problem);
    return problem->rc == SQLITE_OK;
}

int ctr_later_show(ctr_later *later, ctr_showing *showing, ctr_rows *rows, ctr_problem *problem)
{
    sqlite3_value **keys;
    ctr_summary *now;
    size_t counters = (size_t)showing->tracked->shape->n_counters;
    ctr_slot *slot = ctr_tab_take(rows->tab, CTR_TAB_FOLLOW, problem);
    sqlite3_stmt *row = slot ? slot->kept.statement : NULL;
    if (make_show_room(showing, &keys, &now, problem) && later->n > 0)
        qsort(later->rows, later->n, later->size, by_rowid);
    showing->writing.keys = keys;
    for (size_t i = 0; i < later->n && problem->rc == SQLITE_OK; i++) {
        const ctr_later_row *due = (const void *)(later->rows + i * later->size);
        memcpy(showing->from, due->shown, counters * sizeof *showing->from);
        if (step_to_cells(showing, row, due->rowid, rows, now, problem))
            ctr_showing_write(showing, due->rowid, due->was, due->known, now, problem);
    }
    ctr_tab_give_back(rows->tab, slot, problem);
    sqlite3_free(keys);
    sqlite3_free(now);
    return problem->rc;
}

/* ---- rows that are apart --------------------------------------------------------------------- */

/* A listed row has an entry for each counter whose column shows another value, or one for itself if
 * it waits. In a UNIQUE index, a row may have to wait until another one no longer shows the value
 * that it wants. */
typedef struct listed {
    int64_t rowid;
    int counter; /* -1: the row waits */
    ctr_shown shows, wants;
    int tries; /* because another row no longer showed the wanted value */
} listed;

typedef struct wanted_value {
    int counter;
    int64_t n;
    size_t entry;
} wanted_value;

typedef struct apart_job {
    ctr_showing *showing;
    ctr_rows *rows;
    sqlite3_stmt *cells;
    ctr_summary *now;
    listed *entries; /* owned; by row, ascending */
    size_t n, room;
    wanted_value *wanted; /* owned: values that are wanted, ascending */
    size_t n_wanted;
    size_t *due; /* owned: a stack of entries whose rows are to be tried; as long as all tries */
    size_t n_due;
} apart_job;

enum { TRIES = 4 /* for the sake of one entry, besides the first */ };

static int by_wanted(const void *a, const void *b)
{
    const wanted_value *x = a, *y = b;
    if (x->counter != y->counter) return x->counter < y->counter ? -1 : 1;
    return x->n < y->n ? -1 : x->n > y->n;
}

static void list_value(apart_job *job, int64_t rowid, int counter, const ctr_shown *shows,
                       ctr_problem *problem)
{
    listed *entries =
        ctr_array_room(job->entries, &job->room, job->n + 1, sizeof *entries, problem);
    if (!entries) return;
    job->entries = entries;
    entries[job->n++] =
        (listed){.rowid = rowid, .counter = counter, .shows = *shows, .wants = {.null = true}};
    if (counter >= 0) entries[job->n - 1].wants = job->showing->to[counter];
}

/* Reads the list, and sorts the values that the rows should show. */
static void read_listed(apart_job *job, ctr_problem *problem)
{
    const ctr_tracked *tracked = job->showing->tracked;
    const ctr_shown nothing = {.null = true};
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_APART_ROWS);
    while (ctr_run_row(&run, row)) {
        ctr_apart_row apart;
        int64_t rowid = sqlite3_column_int64(row, 0);
        ctr_apart_read(&job->showing->apart, rowid, &apart, problem);
        if (problem->rc == SQLITE_OK && apart.waits) list_value(job, rowid, -1, &nothing, problem);
        if (apart.differs &&
            step_to_cells(job->showing, job->cells, rowid, job->rows, job->now, problem)) {
            ctr_showing_take_wanted(job->showing, job->now);
            for (int i = 0; i < tracked->shape->n_counters; i++)
                if (apart.differs_in[i]) list_value(job, rowid, i, &apart.shown[i], problem);
        }
        ctr_apart_close_row(&apart);
    }
    sqlite3_finalize(row);

    job->wanted = sqlite3_malloc64((job->n + 1) * sizeof *job->wanted);
    job->due = sqlite3_malloc64(((TRIES + 1) * job->n + 1) * sizeof *job->due);
    if (!job->wanted || !job->due) ctr_problem_nomem(problem);
    for (size_t i = 0; i < job->n && problem->rc == SQLITE_OK; i++)
        if (!job->entries[i].wants.null)
            job->wanted[job->n_wanted++] =
                (wanted_value){job->entries[i].counter, job->entries[i].wants.n, i};
    if (problem->rc == SQLITE_OK) qsort(job->wanted, job->n_wanted, sizeof *job->wanted, by_wanted);
}

/* Adds the rows that want a value of a counter to those that are to be tried. */
static void try_wanting(apart_job *job, int counter, int64_t n)
{
    size_t from = 0;
    const wanted_value value = {counter, n, 0};
    for (size_t to = job->n_wanted; from < to;) {
        size_t middle = from + (to - from) / 2;
        if (by_wanted(&job->wanted[middle], &value) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    for (; from < job->n_wanted && by_wanted(&job->wanted[from], &value) == 0; from++)
        if (job->entries[job->wanted[from].entry].tries++ < TRIES)
            job->due[job->n_due++] = job->wanted[from].entry;
}

static bool is_row_apart(apart_job *job, int64_t rowid, ctr_problem *problem)
{
    ctr_apart_row apart;
    ctr_apart_read(&job->showing->apart, rowid, &apart, problem);
    bool is = apart.waits || apart.differs;
    ctr_apart_close_row(&apart);
    return is;
}

/* Tries to show the row of an entry and, each time a row has come off the list and no longer shows
 * a value, those that want it. */
static void show_from(apart_job *job, size_t entry, ctr_problem *problem)
{
    ctr_showing *showing = job->showing;
    size_t n = (size_t)showing->tracked->shape->n_counters;
    job->n_due = 0;
    job->due[job->n_due++] = entry;
    while (job->n_due > 0 && problem->rc == SQLITE_OK) {
        size_t at = job->due[--job->n_due];
        int64_t rowid = job->entries[at].rowid;
        if (!is_row_apart(job, rowid, problem) ||
            !step_to_cells(showing, job->cells, rowid, job->rows, job->now, problem))
            continue;
        bool complete = ctr_showing_take_wanted(showing, job->now);
        memcpy(showing->from, showing->to, n * sizeof *showing->from);
        showing->writing.rowid = rowid;
        ctr_showing_look_and_write(showing, rowid, true, job->now, complete, problem);
        if (is_row_apart(job, rowid, problem) || problem->rc != SQLITE_OK) continue;
        while (at > 0 && job->entries[at - 1].rowid == rowid) at--;
        for (; at < job->n && job->entries[at].rowid == rowid; at++)
            if (!job->entries[at].shows.null)
                try_wanting(job, job->entries[at].counter, job->entries[at].shows.n);
    }
}

int64_t ctr_later_show_apart(ctr_showing *showing, ctr_rows *rows, bool backwards,
                             ctr_problem *problem)
{
    sqlite3_value **keys;
    ctr_slot *slot = ctr_tab_take(rows->tab, CTR_TAB_FOLLOW, problem);
    apart_job job = {.showing = showing, .rows = rows, .cells = slot ? slot->kept.statement : NULL};
    if (make_show_room(showing, &keys, &job.now, problem)) {
        showing->writing.keys = keys;
        read_listed(&job, problem);
        for (size_t i = 0; i < job.n && problem->rc == SQLITE_OK; i++) {
            size_t at = backwards ? job.n - 1 - i : i;
            bool again = at > 0 && job.entries[at - 1].rowid == job.entries[at].rowid;
            if (!again) show_from(&job, at, problem);
        }
    }
    ctr_tab_give_back(rows->tab, slot, problem);
    sqlite3_free(job.entries);
    sqlite3_free(job.wanted);
    sqlite3_free(job.due);
    sqlite3_free(keys);
    sqlite3_free(job.now);
    return ctr_apart_count(rows->tab->file, rows->tab->table, problem);
}

/* ---- rows below floors ----------------------------------------------------------------------- */

/* Clears the values of the statement's current row, if it is below a floor. The row has the id
 * among the cells, 0 if there is none, and the key. */
static void show_nothing_below(ctr_showing *showing, sqlite3_stmt *row, ctr_floors *floors,
                               ctr_problem *problem)
{
    int n = showing->tracked->shape->n_keys;
    sqlite3_value **keys = showing->writing.keys;
    showing->writing.rowid = sqlite3_column_int64(row, 0);
    for (int i = 0; i < n; i++) keys[i] = sqlite3_value_dup(sqlite3_column_value(row, 1 + i));
    for (int i = 0; i < n; i++)
        if (!keys[i]) ctr_problem_nomem(problem);
    bool below = problem->rc == SQLITE_OK && ctr_floors_is_below(floors, keys, problem);
    for (int i = 0; below && i < showing->tracked->shape->n_counters; i++) {
        const ctr_summary none = {.life = 1};
        ctr_showing_value(showing, i, &none, &showing->to[i]);
    }
    if (below && ctr_writing_look(&showing->writing, keys, showing->from, NULL, problem))
        ctr_writing_update(&showing->writing, showing->from, showing->to, problem);
    for (int i = 0; i < n; i++) sqlite3_value_free(keys[i]);
}

int ctr_later_show_purged(ctr_showing *showing, ctr_floors *floors, ctr_problem *problem)
{
    const ctr_tracked *tracked = showing->tracked;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    ctr_run_do(&run, CTR_SQL_TRACK_FORGET_APART, NULL);

    sqlite3_str *list = sqlite3_str_new(NULL);
    ctr_tracked_list_keys(tracked, list, "t.");
    char *key_list = sqlite3_str_finish(list), *match = ctr_tracked_key_match(tracked);
    if (!key_list || !match) ctr_problem_nomem(problem);
    run.slots.name = tracked->table;
    run.slots.keys = key_list;
    run.slots.constraint = match;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_WITHOUT_COUNTERS);
    sqlite3_value **keys = sqlite3_malloc64(((size_t)tracked->shape->n_keys + 1) * sizeof *keys);
    if (!keys) ctr_problem_nomem(problem);
    showing->writing.keys = keys;
    while (ctr_run_row(&run, row)) show_nothing_below(showing, row, floors, problem);
    sqlite3_finalize(row);
    sqlite3_free(key_list);
    sqlite3_free(match);
    sqlite3_free(keys);
    showing->writing.keys = NULL;
    return problem->rc;
}
