/* cluster/repair.c - reads the rows once and writes those that differ. */
#include "cluster/repair.h"

#include "cluster/reading.h"
#include "identity/check.h"
#include "sync/session.h"
#include "table/events.h"

typedef struct repair_job {
    ctr_cluster *cluster;
    const char *name;
    ctr_reading reading;
    ctr_session session;
    bool open; /* the session is open, and the locks are taken */
} repair_job;

/* Only committed cells may go to others. */
static bool may_give(const repair_job *job, ctr_problem *problem)
{
    for (int i = 0; i < job->reading.n; i++) {
        ctr_member *member = &job->cluster->members[job->reading.contacts[i]];
        if (ctr_check_is_pending(member->merge.rows.replica)) return false;
        ctr_member_make_durable(member, problem);
    }
    return problem->rc == SQLITE_OK;
}

static void open_session(repair_job *job, ctr_problem *problem)
{
    ctr_session_begin(&job->session, job->cluster->db, NULL, problem);
    ctr_run run = ctr_run_on(job->cluster->db, "temp", job->name, problem);
    ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
    if (problem->rc == SQLITE_OK) ctr_cluster_lock(job->cluster, problem);
    job->open = true;
}

static void write_row(repair_job *job, ctr_member *member, ctr_problem *problem)
{
    const ctr_identity *identity = ctr_check_identity(member->merge.rows.replica, problem);
    if (identity) ctr_conflicts_set_mine(&member->conflicts, identity);
    if (!identity || !ctr_merge_find(&member->merge, ctr_reading_keys(&job->reading), problem))
        return;
    for (int c = 0; c < job->cluster->shape.n_counters; c++)
        ctr_merge_cell(&member->merge, c, &job->reading.cells[c].cell, problem);
    ctr_merge_write(&member->merge, problem);
    ctr_conflicts_heed(&member->conflicts, member->merge.rows.replica, problem);
}

static void repair_row(repair_job *job, ctr_problem *problem)
{
    if (!job->open) open_session(job, problem);
    for (int i = 0; i < job->reading.n && problem->rc == SQLITE_OK; i++) {
        ctr_member *member = &job->cluster->members[job->reading.contacts[i]];
        bool lacks = job->reading.lack & (uint64_t)1 << i;
        if (lacks && ctr_member_takes_part(member)) write_row(job, member, problem);
    }
}

/* Returns whether the error ends the statement, or SQLite has rolled back the caller's
 * transaction. */
static bool is_serious(const repair_job *job, int rc)
{
    bool gone = job->cluster->within && sqlite3_get_autocommit(job->cluster->db);
    rc &= 0xff;
    return rc == SQLITE_NOMEM || rc == SQLITE_INTERRUPT || (rc != SQLITE_OK && gone);
}

void ctr_repair_rows(ctr_cluster *cluster, const char *name, const char *plan, int argc,
                     sqlite3_value **argv, ctr_problem *problem)
{
    ctr_problem trouble = {SQLITE_OK, NULL};
    repair_job job = {.cluster = cluster, .name = name};
    if (ctr_reading_open(&job.reading, cluster, &trouble) == SQLITE_OK) {
        job.reading.compares = true;
        ctr_reading_start(&job.reading, plan, argc, argv, false, &trouble);
        while (ctr_reading_step(&job.reading, &trouble))
            if (job.reading.lack && (job.open || may_give(&job, &trouble)))
                repair_row(&job, &trouble);
    }
    ctr_reading_close(&job.reading);
    if (job.open) ctr_events_write_ahead(cluster->transaction, &trouble);
    if (job.open) ctr_session_end(&job.session, &trouble);
    if (is_serious(&job, trouble.rc))
        *problem = trouble;
    else
        ctr_problem_close(&trouble);
}
