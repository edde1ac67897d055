/* functions/counting.c - counts the present values of a table. */
#include "functions/functions.h"

/* Lists the key and the counters by their names in the counter table. */
static char *list_counters(const ctr_tracked *tracked)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    ctr_list_own_names(tracked, out, true);
    return sqlite3_str_finish(out);
}

/* Lists the same columns by their names in the tracked table, NULL for a missing one, with marks
 * if some are missing or adopted. */
static char *list_columns(const ctr_tracked *tracked)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    ctr_list_row(tracked, out, "");
    return sqlite3_str_finish(out);
}

/* ---- rows that are missing ------------------------------------------------------------------- */

/* No statement that was counted has deleted them: the table may have been made anew. Deleted rows
 * are deleted in all files. */
static void refuse_missing_rows(const ctr_tracking *call, ctr_problem *problem)
{
    const long long n = call->conn->missing.n;
    ctr_problem_set(problem, SQLITE_ERROR,
                    "%s: %lld of its rows %s%s, and no DELETE of them was seen: add "
                    "'missing=restored' to the call, which brings them back, or "
                    "'missing=deleted', which deletes them in all files",
                    call->table, n, n == 1 ? "is missing, " : "are missing, such as ",
                    call->conn->missing.key);
}

/* Compares every counter with the rows. Regular columns that come back have no value here: a new
 * token makes the next merges read all rows of other files. */
static void count_missing(ctr_tracking *call, ctr_run *run, ctr_problem *problem)
{
    ctr_conn *conn = call->conn;
    conn->missing.n = 0;
    run->slots.value = "";
    ctr_run_do(run, CTR_SQL_TRACK_COUNT_GONE, NULL);
    bool any = conn->missing.n > 0;
    if (any && call->missing == CTR_MISSING_REFUSED) refuse_missing_rows(call, problem);
    sqlite3_free(conn->missing.key);
    conn->missing.key = NULL;
    if (!any || problem->rc != SQLITE_OK) return;
    bool restored = call->missing == CTR_MISSING_RESTORED;
    run->slots.value = restored ? ", restored" : ", deleted";
    ctr_run_do(run, CTR_SQL_TRACK_COUNT_GONE, NULL);
    if (restored && call->shape.replicated)
        ctr_run_do(run, CTR_SQL_CATALOG_REDRAW_TABLE, call->counters);
}

/* ---- all rows -------------------------------------------------------------------------------- */

/* Returns whether rows and values that the table refused stay listed: a migration that rebuilds it
 * has switched foreign keys off, and checks them at its end. So nothing may show a child without
 * its parent. */
static bool leaves_refused(ctr_tracking *call, ctr_problem *problem)
{
    if (ctr_foreign_enforced(call->db) || call->missing == CTR_MISSING_RESTORED) return false;
    const ctr_foreign_keys *foreign = ctr_foreign_keys_of(call->file, problem);
    return foreign && ctr_foreign_is_child(foreign, call->table);
}

/* Shows the rows that were listed while the table was read. */
static void show_listed(ctr_tracking *call, ctr_problem *problem)
{
    ctr_merge merge;
    ctr_catalog_entry entry = {0};
    ctr_conflicts conflicts = {.file = call->file};
    if (ctr_apart_count(call->file, call->counters, problem) == 0 || ctr_foreign_broken(call->db))
        return;
    ctr_catalog_named(&entry, call->db, call->schema, call->counters, problem);
    if (problem->rc == SQLITE_OK) {
        if (ctr_merge_open_table(&merge, call->file, &entry, &conflicts, problem)) {
            merge.showing.leaves_refused = leaves_refused(call, problem);
            ctr_later_show_apart(&merge.showing, &merge.rows, false, false, problem);
        }
        ctr_merge_close(&merge);
    }
    ctr_catalog_close_entry(&entry);
}

/* Each new row of the counters goes to some page of their index, so SQLite needs a larger cache. */
static int64_t count_rows(ctr_tracking *call, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return 0;
    ctr_file *file = call->file;
    if (ctr_session_raise_cache(file)) file->raised = true;
    ctr_stats *stats = &call->conn->stats;
    int64_t before = stats->tracked;
    char *columns = list_counters(&call->tracked), *values = list_columns(&call->tracked),
         *match = ctr_list_key_match(&call->tracked), *keys = ctr_shape_key_list(&call->shape);
    if (!columns || !values || !match || !keys) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(call->db, call->schema, call->counters, problem);
    run.slots.name = call->table;
    run.slots.columns = columns;
    run.slots.values = values;
    run.slots.keys = keys;
    run.slots.constraint = match;
    count_missing(call, &run, problem);
    run.slots.value = ctr_apart_count(file, call->counters, problem) > 0 ? " or apart" : "";
    ctr_run_do(&run, CTR_SQL_TRACK_COUNT_ROWS, NULL);
    if (file->raised) file->raised = !ctr_session_lower_cache(file);
    sqlite3_free(columns);
    sqlite3_free(values);
    sqlite3_free(match);
    sqlite3_free(keys);
    return stats->tracked - before;
}

int64_t ctr_counting_rows(ctr_tracking *call, ctr_problem *problem)
{
    int64_t counted = count_rows(call, problem);
    if (problem->rc == SQLITE_OK) show_listed(call, problem);
    return counted;
}

/* Records the answers about the opening: that of the name, and those of other files that stand in
 * the cells. */
static void answer_opening(ctr_tracking *call, ctr_problem *problem)
{
    ctr_opening *opening = &call->opening;
    ctr_catalog_entry entry = {0};
    uint8_t birth[CTR_ID_SIZE], *answers = sqlite3_malloc64((opening->n_met + 1) * CTR_ANSWER_SIZE);
    if (!answers) ctr_problem_nomem(problem);
    ctr_catalog_named(&entry, call->db, call->schema, call->counters, problem);
    if (problem->rc == SQLITE_OK) ctr_openings_of_birth(entry.birth, birth, problem);
    if (problem->rc == SQLITE_OK) {
        size_t n = 0;
        ctr_conflicts conflicts = {.file = call->file};
        ctr_merge merge;
        for (size_t i = 0; i < opening->n_met; i++)
            ctr_openings_write(answers + n++ * CTR_ANSWER_SIZE, opening->id,
                               opening->met + i * CTR_ID_SIZE, opening->answer);
        if (opening->answer == CTR_SAME)
            ctr_openings_write(answers + n++ * CTR_ANSWER_SIZE, opening->id, birth, CTR_SAME);
        ctr_merge_open(&merge, call->file, entry.birth, &conflicts, problem);
        if (problem->rc == SQLITE_OK) ctr_answers_take(&merge, answers, n, problem);
        ctr_merge_close(&merge);
    }
    ctr_catalog_close_entry(&entry);
    sqlite3_free(answers);
}

/* Fails if the column of a counter shows values, and counter_untrack has ended such a counter. */
static void refuse_values_again(ctr_tracking *call, int counter, const char *birth,
                                ctr_problem *problem)
{
    const char *name = ctr_shape_counter_name(&call->shape, counter);
    const ctr_tracked_column *column = ctr_tracked_column_of(&call->tracked, counter);
    ctr_run run = ctr_run_on(call->db, call->schema, call->counters, problem);
    sqlite3_stmt *find = ctr_run_prepare(&run, CTR_SQL_UNTRACKED_FIND);
    ctr_run_bind_text(&run, find, ":table", birth);
    ctr_run_bind_text(&run, find, ":column", name);
    if (!ctr_run_once(&run, find) || !column) return;

    char *value = sqlite3_mprintf("\"%w\"", column->name);
    if (!value) ctr_problem_nomem(problem);
    run.slots.name = call->table;
    run.slots.value = value;
    int64_t n = ctr_run_number(&run, CTR_SQL_TRACK_COUNT_VALUES);
    sqlite3_free(value);
    if (n > 0)
        ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s: %s was tracked in this file before, and the values in %lld of its rows would be "
            "counted again: if another file has its counters, set %s to 0, track it, merge with "
            "that file, and count again what was changed here since; if none has, add "
            "'values=again'",
            call->table, column->name, (long long)n, column->name);
}

/* Refuses values that are about to be counted again, under an opening: `opens`, by counter. Notes
 * that the counters are tracked. */
static void take_untracked(ctr_tracking *call, const bool *opens, ctr_problem *problem)
{
    ctr_catalog_entry entry = {0};
    if (ctr_schema_object(call->db, call->schema, "counter_untracked", problem) != CTR_OBJECT_TABLE)
        return;
    ctr_catalog_named(&entry, call->db, call->schema, call->counters, problem);
    ctr_run run = ctr_run_on(call->db, call->schema, call->counters, problem);
    for (int i = 0; i < call->shape.n_counters && !call->again; i++)
        if (opens[i]) refuse_values_again(call, i, entry.birth, problem);
    sqlite3_stmt *forget = ctr_run_prepare(&run, CTR_SQL_UNTRACKED_FORGET);
    for (int i = 0; i < call->shape.n_counters; i++) {
        ctr_run_bind_text(&run, forget, ":table", entry.birth);
        ctr_run_bind_text(&run, forget, ":column", ctr_shape_counter_name(&call->shape, i));
        if (opens[i]) ctr_run_row(&run, forget);
        sqlite3_reset(forget);
    }
    sqlite3_finalize(forget);
    ctr_catalog_close_entry(&entry);
}

int64_t ctr_counting_opening(ctr_tracking *call, bool (*opens)(const ctr_tracking *, int counter),
                             ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return 0;
    ctr_opening *opening = &call->opening;
    ctr_conn *conn = call->conn;
    bool *list = sqlite3_malloc64((size_t)call->shape.n_counters + 1);
    if (!list) {
        ctr_problem_nomem(problem);
        return 0;
    }
    for (int i = 0; i < call->shape.n_counters; i++) list[i] = opens(call, i);
    opening->schema = call->schema;
    opening->counters = call->counters;
    opening->opens = list;
    opening->stamps = call->stamps;
    opening->values = call->values;
    ctr_openings_new(opening->id);
    conn->opening = opening;
    take_untracked(call, list, problem);
    int64_t counted = count_rows(call, problem);
    conn->opening = NULL;
    sqlite3_free(list);
    const ctr_identity *identity = NULL;
    if (problem->rc == SQLITE_OK && opening->n > 0)
        identity = ctr_file_identity(call->file, problem);
    ctr_run run = ctr_run_on(call->db, call->schema, call->counters, problem);
    if (identity) ctr_openings_record(&run, opening->id, identity->id);
    if (identity && opening->answer != CTR_UNANSWERED) answer_opening(call, problem);
    if (problem->rc == SQLITE_OK) show_listed(call, problem);
    return counted;
}
