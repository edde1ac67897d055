/* functions/figures.c - counter_stats: figures of the work of this connection.
 *
 *     SELECT * FROM counter_stats;            figure, count
 *     SELECT counter_stats_reset();           resets them to 0; NULL
 *
 *     increments       of one counter by one row of a statement, or by counter_inc and counter_dec
 *     cells created    increments that found no cell
 *     shards written   one for each increment; changed shards in a merge
 *     merges           of a cell with one of a pull, a push, a feed or a replica
 *     cells changed    merges that changed the cell
 *     conflicts        rows written to counter_conflicts
 *     identity renewals, identity changes    new witnesses; new ids, and stops of counting
 *     write, read before write, read         rows of INSERT, UPDATE and DELETE; look-ups before
 *                      such a write; scans
 *
 * Work that was rolled back counts, too.
 */
#include <string.h>

#include "functions/answer.h"

static void show_count(ctr_answer *answer, const char *figure, int64_t count, ctr_problem *problem)
{
    ctr_answer_text(answer, figure, problem);
    ctr_answer_integer(answer, count, problem);
}

static void show_figures(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem)
{
    (void)args;
    const ctr_stats *stats = &ctr_answer_shared(answer)->transaction->stats;
    show_count(answer, "increments", stats->increments, problem);
    show_count(answer, "cells created", stats->cells_created, problem);
    show_count(answer, "shards written", stats->shards_written, problem);
    show_count(answer, "merges", stats->merges, problem);
    show_count(answer, "cells changed", stats->cells_changed, problem);
    show_count(answer, "conflicts", stats->conflicts, problem);
    show_count(answer, "identity renewals", stats->renewals, problem);
    show_count(answer, "identity changes", stats->changes, problem);
    show_count(answer, "write", stats->writes, problem);
    show_count(answer, "read before write", stats->finds, problem);
    show_count(answer, "read", stats->reads, problem);
}

static void fn_stats_reset(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    ctr_shared *shared = sqlite3_user_data(ctx);
    memset(&shared->transaction->stats, 0, sizeof(ctr_stats));
    sqlite3_result_null(ctx);
}

int ctr_figures_register(sqlite3 *db, ctr_shared *shared)
{
    static const ctr_answer_kind KIND = {.name = "counter_stats",
                                         .columns = "figure TEXT, count INTEGER",
                                         .args = "",
                                         .n_columns = 2,
                                         .fill = show_figures};
    static const ctr_function RESET = {"counter_stats_reset", 0, 0, CTR_ADMIN, fn_stats_reset};
    int rc = ctr_answer_register(db, shared, &KIND, 1);
    if (rc != SQLITE_OK) return rc;
    return ctr_shared_functions(db, shared, &RESET, 1);
}
