/* sync/pull_columns.c - raises counters to the generations of the source. */
#include "sync/pull_columns.h"

#include "sqlite/array.h"
#include "table/shape.h"
#include "table/columns.h"
#include "table/stored.h"

typedef struct take_job {
    const ctr_pull *pull;
    const char *table;
    ctr_shape here;
    const char **raised; /* owned; counters that begin anew: names of the source's shape */
    int n_raised;
    size_t room_raised;
    int64_t changed;
} take_job;

bool ctr_pull_columns_any(const ctr_shape *from, const ctr_shape *here)
{
    int64_t generation;
    const char *name, *spelling;
    for (int i = 0; (name = ctr_shape_ever(from, i, &generation)); i++)
        if (ctr_shape_generation(here, name, &spelling) < generation) return true;
    return false;
}

static void read_here(take_job *job, ctr_problem *problem)
{
    ctr_shape_close(&job->here);
    if (problem->rc == SQLITE_OK)
        ctr_stored_read(&job->here, job->pull->db, job->pull->target, job->table, problem);
}

/* Raises one counter. Reads the shape again if a column changes. */
static void take_counter(take_job *job, const char *name, int64_t generation, ctr_problem *problem)
{
    const char *spelling;
    const ctr_pull *pull = job->pull;
    if (ctr_shape_generation(&job->here, name, &spelling) >= generation) return;
    if (ctr_columns_check(&job->here, pull->db, job->table, name, problem)) return;
    if (generation % 2 == 0 && ctr_shape_counter(&job->here, name) < 0) {
        ctr_columns_raise(pull->replica, pull->db, pull->target, job->table, &job->here, name,
                          generation, problem);
        return;
    }
    const char **raised = ctr_array_room(job->raised, &job->room_raised, (size_t)job->n_raised + 1,
                                         sizeof *raised, problem);
    if (!raised) return;
    job->raised = raised;
    raised[job->n_raised++] = name;
    job->changed += ctr_columns_ask(pull->db, pull->target, job->table, name, generation, problem);
    read_here(job, problem);
}

/* The triggers of a tracked table name its counters, so they are made anew. */
int64_t ctr_pull_columns_take(const ctr_pull *pull, const ctr_shape *from, const char *table,
                              ctr_problem *problem)
{
    int64_t generation;
    const char *name;
    take_job job = {.pull = pull, .table = table};
    read_here(&job, problem);
    if (problem->rc == SQLITE_OK)
        ctr_shape_check_keys(from, "the giving file", &job.here, "the taking file", problem);
    for (int i = 0; problem->rc == SQLITE_OK && (name = ctr_shape_ever(from, i, &generation)); i++)
        take_counter(&job, name, generation, problem);
    read_here(&job, problem);
    if (problem->rc == SQLITE_OK)
        ctr_triggers_follow(pull->db, pull->target, table, &job.here, job.raised, job.n_raised,
                            problem);
    ctr_shape_close(&job.here);
    sqlite3_free(job.raised);
    return job.changed;
}
