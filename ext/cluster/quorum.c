/* cluster/quorum.c - finds, merges and writes one row; read repair. */
#include "cluster/quorum.h"

#include <string.h>

#include "cluster/reading.h"
#include "identity/replica.h"
#include "sync/session.h"
#include "table/events.h"
#include "table/stage.h"

/* ---- merging --------------------------------------------------------------------------------- */

int ctr_quorum_merge(struct ctr_merged_cell *merged, const ctr_cell *with, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || ctr_cell_same(&merged->cell, with)) return problem->rc;
    size_t room = merged->cell.size + with->size;
    if (merged->room < room) {
        uint8_t *bytes = sqlite3_malloc64(2 * room), *spare = sqlite3_malloc64(2 * room);
        if (!bytes || !spare) {
            sqlite3_free(bytes);
            sqlite3_free(spare);
            return ctr_problem_nomem(problem);
        }
        if (merged->cell.size > 0) memcpy(bytes, merged->cell.bytes, merged->cell.size);
        if (merged->cell.size > 0) merged->cell.bytes = bytes;
        sqlite3_free(merged->bytes);
        sqlite3_free(merged->spare);
        merged->bytes = bytes;
        merged->spare = spare;
        merged->room = 2 * room;
    }
    uint8_t *out = merged->cell.bytes == merged->spare ? merged->bytes : merged->spare;
    size_t size = ctr_cell_merge(&merged->cell, with, out);
    if (size > 0) ctr_cell_open(&merged->cell, out, size);
    return problem->rc;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Returns whether some replica has a cell other than the merged one. */
static bool any_differs(const ctr_cluster *cluster)
{
    for (int i = 0; i < cluster->n; i++) {
        const ctr_member *member = &cluster->members[i];
        if (!ctr_member_takes_part(member)) continue;
        for (int c = 0; c < cluster->shape.n_counters; c++)
            if (!ctr_cell_same(&member->merge.rows.cells[c], &cluster->row.cells[c].cell))
                return true;
    }
    return false;
}

/* The leader merges the cells of the others, and acts on conflicts before it counts. Returns false
 * if it must not count. Otherwise its rows have the merged cells. */
static bool show_in_leader(ctr_cluster *cluster, ctr_problem *problem)
{
    ctr_member *leader = cluster->leader;
    for (int i = 0; i < cluster->n; i++)
        if (ctr_member_takes_part(&cluster->members[i]) && &cluster->members[i] != leader)
            ctr_replica_note_taken(leader->merge.rows.replica,
                                   cluster->members[i].merge.rows.replica);
    for (int c = 0; c < cluster->shape.n_counters && !cluster->row.below; c++)
        ctr_merge_cell(&leader->merge, c, &cluster->row.cells[c].cell, problem);
    ctr_conflicts_change_identity(&leader->conflicts, leader->merge.rows.replica, problem);
    if (ctr_leader_is_lost(cluster, problem)) return false;
    for (int c = 0; c < cluster->shape.n_counters; c++)
        leader->merge.rows.cells[c] = cluster->row.cells[c].cell;
    return true;
}

/* Finds the row in all replicas, and merges their cells. A replica whose row cannot be read is left
 * out, so the leader is chosen again. */
static void find_everywhere(ctr_cluster *cluster, ctr_problem *problem)
{
    struct ctr_quorum *row = &cluster->row;
    if (ctr_leader_choose(cluster, problem)) return;
    row->found = row->below = false;
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[i];
        ctr_problem trouble = {SQLITE_OK, NULL};
        if (!ctr_member_takes_part(member)) continue;
        bool found = ctr_merge_find(&member->merge, row->keys, &trouble);
        row->below = row->below || (!found && trouble.rc == SQLITE_OK);
        member->left_out = trouble.rc != SQLITE_OK;
        ctr_member_blame(member, &trouble, problem);
    }
    if (problem->rc == SQLITE_OK) ctr_leader_choose(cluster, problem);

    for (int c = 0; c < cluster->shape.n_counters; c++) row->cells[c].cell = ctr_cell_untouched();
    for (int i = 0; i < cluster->n && !row->below; i++) {
        const ctr_member *member = &cluster->members[i];
        if (!ctr_member_takes_part(member) || !member->merge.rows.found) continue;
        row->found = true;
        for (int c = 0; c < cluster->shape.n_counters; c++)
            ctr_quorum_merge(&row->cells[c], &member->merge.rows.cells[c], problem);
    }
    if (problem->rc != SQLITE_OK || row->below || !any_differs(cluster)) return;
    for (int i = 0; i < cluster->n; i++)
        if (ctr_member_takes_part(&cluster->members[i]))
            ctr_member_make_durable(&cluster->members[i], problem);
}

int ctr_quorum_find(ctr_cluster *cluster, sqlite3_value **keys, ctr_problem *problem)
{
    bool led = false;
    cluster->row.keys = keys;
    ctr_cluster_lock(cluster, problem);
    while (!led && problem->rc == SQLITE_OK) {
        find_everywhere(cluster, problem);
        if (problem->rc == SQLITE_OK) led = show_in_leader(cluster, problem);
    }
    return problem->rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

int ctr_quorum_write(ctr_cluster *cluster, ctr_problem *problem)
{
    ctr_member *leader = cluster->leader;
    unsigned nth = cluster->transaction->ended;
    for (int c = 0; c < cluster->shape.n_counters; c++)
        ctr_stage_cell(&leader->merge.rows, c, &cluster->row.cells[c].cell);
    bool wrote = ctr_merge_write(&leader->merge, problem);
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[i];
        if (member == leader || !ctr_member_takes_part(member)) continue;
        for (int c = 0; c < cluster->shape.n_counters; c++)
            ctr_merge_cell(&member->merge, c, &cluster->row.cells[c].cell, problem);
        ctr_replica_note_taken(member->merge.rows.replica, leader->merge.rows.replica);
        wrote = ctr_merge_write(&member->merge, problem) || wrote;
        ctr_conflicts_change_identity(&member->conflicts, member->merge.rows.replica, problem);
    }
    if (problem->rc != SQLITE_OK && wrote) ctr_transaction_spoil(cluster->transaction, nth);
    return problem->rc;
}

int ctr_quorum_raise(ctr_cluster *cluster, sqlite3_value **values, ctr_problem *problem)
{
    if (ctr_cluster_lock(cluster, problem) || ctr_leader_choose(cluster, problem))
        return problem->rc;
    bool wrote = false;
    unsigned nth = cluster->transaction->ended;
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[i];
        if (!ctr_member_takes_part(member)) continue;
        ctr_floors_raise(&member->merge.floors, values, problem);
        if (problem->rc != SQLITE_OK && wrote) ctr_transaction_spoil(cluster->transaction, nth);
        wrote = true;
    }
    return problem->rc;
}

/* ---- read repair ----------------------------------------------------------------------------- */

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
        if (ctr_replica_is_pending(member->merge.rows.replica)) return false;
        ctr_member_make_durable(member, problem);
    }
    return problem->rc == SQLITE_OK;
}

static void write_row(repair_job *job, ctr_member *member, ctr_problem *problem)
{
    const ctr_identity *identity = ctr_replica_identity(member->merge.rows.replica, problem);
    if (identity) ctr_conflicts_set_mine(&member->conflicts, identity);
    if (!identity || !ctr_merge_find(&member->merge, ctr_reading_keys(&job->reading), problem))
        return;
    for (int c = 0; c < job->cluster->shape.n_counters; c++)
        ctr_merge_cell(&member->merge, c, &job->reading.cells[c].cell, problem);
    ctr_merge_write(&member->merge, problem);
    ctr_conflicts_change_identity(&member->conflicts, member->merge.rows.replica, problem);
}

static void repair_row(repair_job *job, ctr_problem *problem)
{
    ctr_cluster *cluster = job->cluster;
    if (!job->open) {
        ctr_session_begin(&job->session, cluster->db, NULL, problem);
        ctr_run run = ctr_run_on(cluster->db, "temp", job->name, problem);
        ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
        if (problem->rc == SQLITE_OK) ctr_cluster_lock(cluster, problem);
        job->open = true;
    }
    for (int i = 0; i < job->reading.n && problem->rc == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[job->reading.contacts[i]];
        bool lacks = job->reading.lack & (uint64_t)1 << i;
        if (lacks && ctr_member_takes_part(member)) write_row(job, member, problem);
    }
}

void ctr_quorum_repair(ctr_cluster *cluster, const char *name, const char *plan, int argc,
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
    /* What ends the statement, or has rolled back the transaction of the caller, is a problem. */
    int code = trouble.rc & 0xff;
    bool gone = cluster->within && sqlite3_get_autocommit(cluster->db);
    if (code == SQLITE_NOMEM || code == SQLITE_INTERRUPT || (code != SQLITE_OK && gone))
        *problem = trouble;
    else
        ctr_problem_close(&trouble);
}
