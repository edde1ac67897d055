/* merge/pull_rows.c - merges the rows of one table. */
#include "merge/merge.h"

int ctr_pull_rows_open(ctr_pull_rows *job, const char *theirs, const ctr_shape *shape,
                       ctr_problem *problem)
{
    size_t n = (size_t)job->to->shape.n_counters + 1;
    job->counters = sqlite3_malloc64(n * sizeof *job->counters);
    job->keys = sqlite3_malloc64((size_t)job->to->shape.n_keys * sizeof *job->keys);
    if (!job->counters || !job->keys) return ctr_problem_nomem(problem);
    for (int i = 0; i < job->to->shape.n_counters; i++) {
        const ctr_column *column = &job->to->shape.columns[job->to->shape.counters[i]];
        job->counters[i] = ctr_shape_counter_of(shape, column->name, column->generation);
    }
    ctr_rows_open(&job->from, job->pull->source->file, theirs, shape, problem);
    job->from.whole = true;
    return problem->rc;
}

void ctr_pull_rows_close(ctr_pull_rows *job)
{
    ctr_rows_close(&job->from);
    sqlite3_free(job->counters);
    sqlite3_free(job->row.columns);
    sqlite3_free(job->keys);
    *job = (ctr_pull_rows){0};
}

static void next_row(ctr_pull_rows *job, ctr_problem *problem)
{
    job->more = ctr_stream_walk_next(&job->walk, problem);
    for (int i = 0; job->more && i < job->from.shape->n_keys; i++) {
        int column = job->from.shape->keys[i];
        job->keys[i] = sqlite3_column_value(job->walk.row, CTR_WALK_COLUMNS + column);
        if (sqlite3_value_type(job->keys[i]) == SQLITE_NULL)
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                            "key column %s of the giving file is NULL",
                            job->from.shape->columns[column].name);
    }
    job->more = job->more && ctr_merge_check_key(job->to, job->keys, problem) == SQLITE_OK;
    if (job->more) job->report->read++;
}

static void merge_all_cells(ctr_pull_rows *job, ctr_problem *problem)
{
    for (int i = 0; i < job->to->shape.n_counters; i++) {
        int theirs = job->counters[i];
        ctr_cell cell;
        if (theirs < 0) continue;
        if (ctr_values_open_cell(&job->from, job->walk.row,
                                 CTR_WALK_COLUMNS + job->from.shape->counters[theirs], theirs,
                                 &cell, problem) ||
            ctr_merge_cell(job->to, i, &cell, problem))
            return;
    }
}

static bool has_key(const ctr_pull_rows *job, sqlite3_value **keys)
{
    for (int i = 0; i < job->from.shape->n_keys; i++) {
        bool real = sqlite3_value_type(keys[i]) == SQLITE_FLOAT &&
                    sqlite3_value_type(job->keys[i]) == SQLITE_FLOAT;
        if (real ? sqlite3_value_double(keys[i]) != sqlite3_value_double(job->keys[i])
                 : !ctr_text_alike(keys[i], job->keys[i]))
            return false;
    }
    return true;
}

/* Merges the source's row into the row that an UPDATE has found. In the order of storage both must
 * have the same key; then the walk goes on to the next row. */
static bool merge_found(void *with, sqlite3_value **keys, ctr_problem *problem)
{
    ctr_pull_rows *job = with;
    if (keys && (!job->more || !has_key(job, keys))) return false;
    ctr_merge_begin(job->to);
    merge_all_cells(job, problem);
    if (!ctr_merge_end(job->to, problem)) return false;
    job->last = job->to->rows.rowid;
    job->matched = true;
    if (keys && problem->rc == SQLITE_OK) next_row(job, problem);
    return problem->rc == SQLITE_OK;
}

/* The row was there when both files began to replicate the table. */
static void compare_values(ctr_pull_rows *job, int64_t rowid, ctr_problem *problem)
{
    ctr_row_values *theirs = job->theirs;
    ctr_row_values_read(theirs, rowid, job->keys, false, problem);
    ctr_drift_compare(job->to, theirs->given, job->regular, problem);
    ctr_row_values_reset(theirs);
}

/* Joins the row cells of a replicated table. Returns whether the cells are to be merged. */
static bool merge_row_cell(ctr_pull_rows *job, ctr_problem *problem)
{
    if (!job->to->shape.replicated) return true;
    ctr_tab *from = job->from.tab;
    int64_t rowid = sqlite3_column_int64(job->walk.row, CTR_WALK_ID);
    if (!ctr_regular_room(from, &job->row, &job->room_row, problem) ||
        ctr_regular_read(from, rowid, &job->row, problem))
        return false;
    bool merges = ctr_merge_row(job->to, &job->row, job->regular, rowid, problem) != CTR_ROW_STAYS;
    if (merges && job->to->asks) compare_values(job, rowid, problem);
    return merges;
}

static void write_merged(ctr_pull_rows *job, ctr_problem *problem)
{
    if (!merge_row_cell(job, problem)) return;
    merge_all_cells(job, problem);
    if (ctr_merge_write(job->to, problem)) job->report->changed++;
}

static void merge_row(ctr_pull_rows *job, ctr_problem *problem)
{
    ctr_rows *rows = &job->to->rows;
    if (job->empty) {
        if (ctr_rows_find_none(rows, problem) == SQLITE_OK &&
            ctr_merge_is_wanted(job->to, job->keys, problem))
            write_merged(job, problem);
        return;
    }
    job->matched = false;
    if (job->updates && ctr_update_key(&job->update, job->keys, problem)) job->report->changed++;
    if (problem->rc != SQLITE_OK || job->matched) return;
    bool is_new = job->updates && !rows->found && job->update.called;
    if (is_new ? ctr_merge_is_wanted(job->to, job->keys, problem)
               : ctr_merge_find(job->to, job->keys, problem))
        write_merged(job, problem);
}

/* Merges rows by one statement, as long as both tables have the same order of storage. After STRAYS
 * keys that are in another order it leaves REST keys to merge_row. */
static void merge_in_order(ctr_pull_rows *job, ctr_problem *problem)
{
    enum { STRAYS = 8, REST = 1000 };
    if (job->resting > 0) {
        job->resting--;
        return;
    }
    do {
        job->matched = false;
        job->report->changed += ctr_update_behind(&job->update, job->last, problem);
        if (job->matched) job->strays = 0;
    } while (job->matched && job->more && problem->rc == SQLITE_OK);
    if (++job->strays < STRAYS) return;
    job->strays = 0;
    job->resting = REST;
}

void ctr_pull_rows_merge(ctr_pull_rows *job, int64_t mark, ctr_problem *problem)
{
    enum { MANY = 1000 }; /* changed rows; after these the cache is raised */
    ctr_pull *pull = job->pull;
    if (problem->rc != SQLITE_OK) return; /* the rows may not be open */
    ctr_stream_walk_open(&job->walk, &job->from, mark > 0 ? CTR_WALK_SINCE : CTR_WALK_ALL, mark,
                         problem);
    job->empty = mark == 0 && ctr_rows_is_empty(&job->to->rows, problem);
    job->updates = !job->empty && !job->to->shape.replicated &&
                   ctr_update_open(&job->update, &job->to->rows, merge_found, job, problem);
    job->last = INT64_MIN;
    next_row(job, problem);
    while (job->more && problem->rc == SQLITE_OK) {
        if (job->report->changed >= MANY && !pull->asked) {
            pull->asked = true;
            if (ctr_session_raise_cache(pull->file)) pull->raised = true;
        }
        if (job->updates && mark == 0) merge_in_order(job, problem);
        if (!job->more || problem->rc != SQLITE_OK) break;
        merge_row(job, problem);
        next_row(job, problem);
    }
    ctr_update_close(&job->update, problem);
    ctr_stream_walk_close(&job->walk);
}
