/* merge/answers.c - implements merge/answers.h. */
#include "merge/merge.h"

/* ---- answers that are missing ---------------------------------------------------------------- */

/* The user is told the opening that is not in main, and both if main has not made the first. The
 * value of main comes first. */
static void refuse_missing(const ctr_merge *merge, const ctr_unanswered *noted, const char *table,
                           const char *here, const char *there, bool gives, ctr_problem *problem)
{
    int other = noted->is_here[0] != gives ? 1 : 0;
    bool apart = noted->is_here[0] != noted->is_here[1];
    bool is_own = apart && (gives || ctr_openings_is_own(&merge->openings, noted->ids[!other]));
    const uint8_t *second = is_own ? NULL : noted->ids[!other];
    char rows[48] = "", *same = ctr_openings_call(table, "same", noted->ids[other], second),
         *add = ctr_openings_call(table, "add", noted->ids[other], second);
    if (noted->rows > 1)
        sqlite3_snprintf(sizeof rows, rows, " (%lld such rows)", (long long)noted->rows);
    if (!same || !add) ctr_problem_nomem(problem);
    ctr_problem_set(
        problem, SQLITE_ERROR,
        "two files counted the values that they had when they began to track it: %s: %lld %s, %lld "
        "%s%s: if they were copies of one file, %s, and only the greater value counts; if each had "
        "its own, "
        "%s, and they add up",
        noted->key, (long long)noted->values[!other], noted->is_here[!other] ? here : there,
        (long long)noted->values[other], noted->is_here[other] ? here : there, rows, same, add);
    sqlite3_free(same);
    sqlite3_free(add);
}

int ctr_answers_refuse_missing(ctr_merge *merge, const char *table, const char *here,
                               const char *there, bool gives, ctr_problem *problem)
{
    ctr_unanswered *noted = &merge->unanswered;
    if (noted->rows > 0 && problem->rc == SQLITE_OK)
        refuse_missing(merge, noted, table, here, there, gives, problem);
    sqlite3_free(noted->key);
    *noted = (ctr_unanswered){0};
    return problem->rc;
}

/* ---- answers that come ----------------------------------------------------------------------- */

static void stage_reduced(ctr_merge *merge, int counter, ctr_problem *problem)
{
    ctr_rows *rows = &merge->rows;
    const ctr_cell *cell = &rows->cells[counter];
    size_t size;
    uint8_t *out = ctr_stage_room(rows, cell->size + 1, problem);
    if (out && ctr_openings_reduce(&merge->openings, cell, out, &size, problem))
        ctr_stage_set(rows, counter, size);
}

/* Lists the rows that the answers change. */
static void list_rows_to_reduce(ctr_merge *merge, ctr_changes *due, ctr_problem *problem)
{
    ctr_walk walk;
    ctr_rows *rows = &merge->rows;
    size_t size;
    ctr_stream_walk_open(&walk, rows, CTR_WALK_ALL, 0, problem);
    while (ctr_stream_walk_next(&walk, problem)) {
        bool reduces = false;
        for (int i = 0; i < rows->shape->n_counters && !reduces && problem->rc == SQLITE_OK; i++) {
            ctr_cell cell;
            if (ctr_values_open_cell(rows, walk.row, CTR_WALK_COLUMNS + rows->shape->counters[i], i,
                                     &cell, problem))
                break;
            merge->reduced.size = 0;
            uint8_t *out = ctr_pack_room(&merge->reduced, cell.size + 1, problem);
            reduces = out && ctr_openings_reduce(&merge->openings, &cell, out, &size, problem);
        }
        int64_t row = sqlite3_column_int64(walk.row, CTR_WALK_ID);
        if (reduces) ctr_changes_add(due, &(ctr_change_of_row){row, 0, 0}, problem);
    }
    ctr_stream_walk_close(&walk);
}

/* Reduces each row of the table after an answer. Rows are listed first, for a row that is written
 * may move in the walk. Returns the number of rows that changed. */
static int64_t reduce_rows(ctr_merge *merge, ctr_problem *problem)
{
    ctr_rows *rows = &merge->rows;
    ctr_changes due = {0};
    int64_t changed = 0;
    list_rows_to_reduce(merge, &due, problem);
    size_t n_keys = (size_t)rows->shape->n_keys;
    sqlite3_value **keys = sqlite3_malloc64(n_keys * sizeof *keys);
    if (!keys) ctr_problem_nomem(problem);
    for (size_t i = 0; keys && i < due.n && problem->rc == SQLITE_OK; i++) {
        bool there = ctr_values_take_key(rows, due.rows[i].row, keys, problem) &&
                     ctr_rows_find_rowid(rows, due.rows[i].row, problem) == SQLITE_OK;
        merge->keys = keys;
        if (there && merge->shape.replicated) ctr_merge_counters(merge, problem);
        for (int c = 0; there && c < rows->shape->n_counters; c++) stage_reduced(merge, c, problem);
        rows->also_here = true;
        changed += there && ctr_merge_write(merge, problem);
        for (size_t k = 0; k < n_keys; k++) sqlite3_value_free(keys[k]);
    }
    sqlite3_free(keys);
    sqlite3_free(due.rows);
    return changed;
}

int64_t ctr_answers_take(ctr_merge *merge, const uint8_t *answers, size_t n, ctr_problem *problem)
{
    size_t added = 0;
    ctr_openings *openings = n > 0 ? ctr_merge_openings(merge, problem) : NULL;
    ctr_run run = ctr_tab_run(merge->rows.tab, problem);
    for (size_t i = 0; openings && i < n && problem->rc == SQLITE_OK; i++) {
        const uint8_t *answer = answers + i * CTR_ANSWER_SIZE;
        if (!ctr_openings_add(openings, answer, problem)) continue;
        if (added++ == 0 && ctr_file_before_write(merge->rows.tab->file, problem) == SQLITE_OK) {
            ctr_fold_table(merge->rows.tab, problem); /* the change says that all is folded */
            merge->number = ctr_batch_mark_change(merge->rows.tab, problem);
        }
        ctr_openings_record_answer(&run, answer, merge->number);
        merge->openings_read_at = ++merge->rows.tab->file->conn->answered + 1;
    }
    return added > 0 && problem->rc == SQLITE_OK ? reduce_rows(merge, problem) : 0;
}
