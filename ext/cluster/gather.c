/* cluster/gather.c - merges streams that are ordered by key. */
#include "cluster/gather.h"

#include <string.h>

/* ---- life ------------------------------------------------------------------------------------ */

int ctr_gather_open(ctr_gather *gather, ctr_streams *const *of, int n, const ctr_shape *shape,
                    ctr_collator *collator, ctr_problem *problem)
{
    size_t size = (size_t)n * sizeof *gather->streams;
    size_t heads = (size_t)n * (size_t)shape->n_keys * sizeof *gather->heads;
    *gather = (ctr_gather){.streams = sqlite3_malloc64(size),
                           .n = n,
                           .failed = -1,
                           .collator = collator,
                           .shape = shape,
                           .heads = sqlite3_malloc64(heads)};
    if (!gather->streams || !gather->heads) {
        gather->n = 0;
        return ctr_problem_nomem(problem);
    }
    for (int i = 0; i < n; i++) gather->streams[i] = (ctr_stream){.of = of[i]};
    return problem->rc;
}

void ctr_gather_close(ctr_gather *gather)
{
    for (int i = 0; i < gather->n; i++) ctr_stream_close(&gather->streams[i]);
    sqlite3_free(gather->streams);
    sqlite3_free(gather->heads);
    sqlite3_free(gather->order);
    *gather = (ctr_gather){.failed = -1};
}

/* ---- order ----------------------------------------------------------------------------------- */

static const char *order_of(const char *plan)
{
    while (ctr_stream_plan_has_argument(plan)) plan += 2;
    return plan + 1; /* after the full stop */
}

static bool orders_by(const char *order, int key)
{
    for (; *order; order += 2)
        if (order[1] - '0' == key) return true;
    return false;
}

char *ctr_gather_plan(const ctr_shape *shape, const char *plan)
{
    const char *order = order_of(plan);
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendall(out, plan);
    for (int i = 0; i < shape->n_keys; i++)
        if (!orders_by(order, i)) sqlite3_str_appendf(out, "+%c", '0' + i);
    return sqlite3_str_finish(out);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static sqlite3_value **head(const ctr_gather *gather, int stream)
{
    return gather->heads + (size_t)stream * (size_t)gather->shape->n_keys;
}

/* Another file may have stored a NULL in a key, or a row id that no cursor can name. */
static void check_head(const ctr_gather *gather, sqlite3_stmt *row, sqlite3_value **keys,
                       ctr_problem *problem)
{
    int64_t id = sqlite3_column_int64(row, CTR_STREAM_ID);
    if (id < 0 || id > CTR_GATHER_LAST_ID)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "a row has the id %lld", (long long)id);
    for (int i = 0; i < gather->shape->n_keys; i++)
        if (sqlite3_value_type(keys[i]) == SQLITE_NULL)
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "key column %s is NULL in row %lld",
                            gather->shape->columns[gather->shape->keys[i]].name, (long long)id);
}

static void take_head(ctr_gather *gather, int stream, ctr_problem *problem)
{
    sqlite3_stmt *row = gather->streams[stream].statement;
    sqlite3_value **keys = head(gather, stream);
    for (int i = 0; i < gather->shape->n_keys; i++)
        keys[i] = sqlite3_column_value(row, CTR_STREAM_COLUMNS + gather->shape->keys[i]);
    check_head(gather, row, keys, problem);
}

static void step_one(ctr_gather *gather, int stream, ctr_problem *problem)
{
    uint64_t bit = (uint64_t)1 << stream;
    bool row = ctr_stream_step(&gather->streams[stream], problem);
    gather->rows = row ? gather->rows | bit : gather->rows & ~bit;
    if (row) take_head(gather, stream, problem);
    if (problem->rc != SQLITE_OK) gather->failed = stream;
}

void ctr_gather_start(ctr_gather *gather, const char *plan, sqlite3_value **argv, bool all,
                      ctr_problem *problem)
{
    gather->here = gather->rows = 0;
    gather->failed = -1;
    sqlite3_free(gather->order);
    gather->order = sqlite3_mprintf("%s", order_of(plan));
    if (!gather->order) ctr_problem_nomem(problem);
    for (int i = 0; i < gather->n && problem->rc == SQLITE_OK; i++) {
        ctr_stream_start(&gather->streams[i], plan, argv, all, problem);
        if (problem->rc != SQLITE_OK) gather->failed = i;
        gather->here |= (uint64_t)1 << i; /* so that the first step steps all of them */
    }
}

/* Finds the streams that have the row that comes first. */
static void find_first(ctr_gather *gather, ctr_problem *problem)
{
    gather->here = 0;
    for (int i = 0; i < gather->n && problem->rc == SQLITE_OK; i++) {
        uint64_t bit = (uint64_t)1 << i;
        if (!(gather->rows & bit)) continue;
        int order = gather->here ? ctr_collator_compare(gather->collator, head(gather, i),
                                                        gather->keys, gather->order, problem)
                                 : -1;
        if (order > 0) continue;
        if (order < 0) {
            gather->here = 0;
            gather->first = i;
            gather->keys = head(gather, i);
        }
        gather->here |= bit;
    }
}

bool ctr_gather_step(ctr_gather *gather, ctr_problem *problem)
{
    for (int i = 0; i < gather->n && problem->rc == SQLITE_OK; i++)
        if (gather->here & (uint64_t)1 << i) step_one(gather, i, problem);
    find_first(gather, problem);
    return problem->rc == SQLITE_OK && gather->here != 0;
}

void ctr_gather_except(ctr_gather *gather)
{
    for (int i = 0; i < gather->n; i++) {
        ctr_stream *stream = &gather->streams[i];
        if (!(gather->here & (uint64_t)1 << i)) continue;
        stream->exact = sqlite3_column_int64(stream->statement, CTR_STREAM_ID);
        stream->has_exact = true;
    }
}
