/* functions/tracking.c - implements functions/tracking.h: counts the present values of a table. */
#include "functions/tracking.h"
#include "sync/answers.h"
#include "sync/session.h"
#include "table/catalog.h"
#include "track/apart.h"

/* Each new row of the counters goes to some page of their index, so SQLite needs a larger cache. */
int64_t ctr_tracking_count(ctr_tracking *call, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return 0;
    ctr_replica *replica = ctr_replica_of(call->shared->transaction, call->schema);
    if (replica && ctr_session_raise_cache(call->db, call->schema)) replica->raised = true;
    ctr_stats *stats = &call->shared->transaction->stats;
    int64_t before = stats->tracked;
    char *columns = ctr_tracked_counter_list(&call->tracked),
         *values = ctr_tracked_column_list(&call->tracked),
         *match = ctr_tracked_key_match(&call->tracked), *keys = ctr_shape_key_list(&call->shape);
    if (!columns || !values || !match || !keys) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(call->db, call->schema, call->counters, problem);
    run.slots.name = call->table;
    run.slots.columns = columns;
    run.slots.values = values;
    run.slots.keys = keys;
    run.slots.constraint = match;
    run.slots.value =
        ctr_apart_count(call->db, call->schema, call->counters, problem) > 0 ? " or apart" : "";
    ctr_run_do(&run, CTR_SQL_TRACK_COUNT_GONE, NULL);
    ctr_run_do(&run, CTR_SQL_TRACK_COUNT_ROWS, NULL);
    if (replica && replica->raised)
        replica->raised = !ctr_session_lower_cache(call->db, call->schema);
    sqlite3_free(columns);
    sqlite3_free(values);
    sqlite3_free(match);
    sqlite3_free(keys);
    return stats->tracked - before;
}

/* Records the answers about the opening: that of the name, and those of other files that stand in
 * the cells. */
static void answer_opening(ctr_tracking *call, ctr_problem *problem)
{
    ctr_opening *opening = &call->opening;
    ctr_catalog_entry entry = {0};
    uint8_t birth[CTR_ID_SIZE], *answers = sqlite3_malloc64((opening->n_met + 1) * CTR_ANSWER_SIZE);
    if (!answers) ctr_problem_nomem(problem);
    ctr_replica *replica = ctr_replica_of(call->shared->transaction, call->schema);
    if (!replica) ctr_problem_nomem(problem);
    ctr_catalog_named(&entry, call->db, call->schema, call->counters, problem);
    if (problem->rc == SQLITE_OK) ctr_openings_of_birth(entry.birth, birth, problem);
    if (problem->rc == SQLITE_OK) {
        size_t n = 0;
        ctr_conflicts conflicts = {.db = call->db, .schema = call->schema};
        ctr_merge merge;
        for (size_t i = 0; i < opening->n_met; i++)
            ctr_openings_write(answers + n++ * CTR_ANSWER_SIZE, opening->id,
                               opening->met + i * CTR_ID_SIZE, opening->answer);
        if (opening->answer == CTR_SAME)
            ctr_openings_write(answers + n++ * CTR_ANSWER_SIZE, opening->id, birth, CTR_SAME);
        ctr_merge_open(&merge, call->db, call->schema, entry.birth, replica, &conflicts, problem);
        if (problem->rc == SQLITE_OK) ctr_answers_take(&merge, answers, n, problem);
        ctr_merge_close(&merge);
    }
    ctr_catalog_close_entry(&entry);
    sqlite3_free(answers);
}

int64_t ctr_tracking_count_opening(ctr_tracking *call,
                                   bool (*opens)(const ctr_tracking *, int counter),
                                   ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return 0;
    ctr_opening *opening = &call->opening;
    ctr_transaction *transaction = call->shared->transaction;
    bool *list = sqlite3_malloc64((size_t)call->shape.n_counters + 1);
    if (!list) {
        ctr_problem_nomem(problem);
        return 0;
    }
    for (int i = 0; i < call->shape.n_counters; i++) list[i] = opens(call, i);
    opening->schema = call->schema;
    opening->counters = call->counters;
    opening->opens = list;
    ctr_openings_new(opening->id);
    transaction->opening = opening;
    int64_t counted = ctr_tracking_count(call, problem);
    transaction->opening = NULL;
    sqlite3_free(list);
    ctr_replica *replica = ctr_replica_of(transaction, call->schema);
    const ctr_identity *identity = NULL;
    if (replica && problem->rc == SQLITE_OK && opening->n > 0)
        identity = ctr_replica_identity(replica, problem);
    ctr_run run = ctr_run_on(call->db, call->schema, call->counters, problem);
    if (identity) ctr_openings_record(&run, opening->id, identity->id);
    if (identity && opening->answer != CTR_UNANSWERED) answer_opening(call, problem);
    return counted;
}
