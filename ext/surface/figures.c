/* surface/figures.c - counter_stats: what this connection has done, and how long it took.
 *
 *     SELECT * FROM counter_stats;            figure, count, mean, p50, p99, max
 *     SELECT counter_stats_reset();           from zero again; NULL
 *
 *     increments       of one counter by one row of a statement, or by counter_inc and counter_dec
 *     cells created    of them, those that found no cell
 *     shards written   one by each increment, by merges those that changed
 *     merges           of a cell with one that a pull, a push, a feed or a replica brought
 *     cells changed    of them, those that brought something
 *     conflicts        that were found (counter_conflicts)
 *     identity renewals, identity changes    of the witness; of the id, or a refusal to count
 *     write, read before write, read         durations: those of each row that a statement writes,
 *                      of finding that row, and of a scan up to its first row
 *
 * mean, p50, p99 and max are microseconds, and NULL for what has no duration. The first 1,000 are
 * measured, then every 16th; `count` is how many there were. Cassandra and ScyllaDB report the read
 * before the write of a counter apart, too. What was rolled back has been done.
 */
#include <string.h>

#include "store/stats.h"
#include "surface/answer.h"

static void show_count(ctr_answer *answer, const char *figure, int64_t count, ctr_problem *problem)
{
    enum { WITHOUT_DURATION = 4 };
    ctr_answer_text(answer, figure, problem);
    ctr_answer_integer(answer, count, problem);
    for (int i = 0; i < WITHOUT_DURATION; i++) ctr_answer_text(answer, NULL, problem);
}

static void show_us(ctr_answer *answer, const ctr_histogram *of, int64_t ns, ctr_problem *problem)
{
    if (of->count > 0)
        ctr_answer_real(answer, (double)ns / 1000, problem);
    else
        ctr_answer_text(answer, NULL, problem);
}

static void show_timing(ctr_answer *answer, const char *figure, const ctr_timing *timing,
                        ctr_problem *problem)
{
    const ctr_histogram *histogram = &timing->histogram;
    int64_t count = histogram->count > 0 ? histogram->count : 1;
    ctr_answer_text(answer, figure, problem);
    ctr_answer_integer(answer, timing->passed, problem);
    show_us(answer, histogram, histogram->sum / count, problem);
    show_us(answer, histogram, ctr_histogram_percentile(histogram, 50), problem);
    show_us(answer, histogram, ctr_histogram_percentile(histogram, 99), problem);
    show_us(answer, histogram, histogram->max, problem);
}

static void show_figures(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem)
{
    (void)args;
    const ctr_stats *stats = ctr_guard_stats(ctr_answer_shared(answer)->guard);
    show_count(answer, "increments", stats->increments, problem);
    show_count(answer, "cells created", stats->cells_created, problem);
    show_count(answer, "shards written", stats->shards_written, problem);
    show_count(answer, "merges", stats->merges, problem);
    show_count(answer, "cells changed", stats->cells_changed, problem);
    show_count(answer, "conflicts", stats->conflicts, problem);
    show_count(answer, "identity renewals", stats->renewals, problem);
    show_count(answer, "identity changes", stats->changes, problem);
    show_timing(answer, "write", &stats->write, problem);
    show_timing(answer, "read before write", &stats->find, problem);
    show_timing(answer, "read", &stats->read, problem);
}

static void fn_stats_reset(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    ctr_shared *shared = sqlite3_user_data(ctx);
    memset(ctr_guard_stats(shared->guard), 0, sizeof(ctr_stats));
    sqlite3_result_null(ctx);
}

int ctr_figures_register(sqlite3 *db, ctr_shared *shared)
{
    static const ctr_answer_kind KIND = {
        .name = "counter_stats",
        .columns = "figure TEXT, count INTEGER, mean REAL, p50 REAL, p99 REAL, max REAL",
        .args = "",
        .n_columns = 6,
        .fill = show_figures};
    int rc = ctr_answer_register(db, shared, &KIND);
    if (rc != SQLITE_OK) return rc;
    return sqlite3_create_function_v2(db, "counter_stats_reset", 0, CTR_ADMIN,
                                      ctr_shared_hold(shared), fn_stats_reset, NULL, NULL,
                                      ctr_shared_drop);
}
