/* cluster/quorum.c - finds, merges and writes one row. */
#include "cluster/quorum.h"

#include <string.h>

#include "identity/file.h"
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

/* The leader merges the cells of the others, and acts on conflicts before it counts. If it must not
 * count then, another one is chosen. */
int ctr_quorum_find(ctr_cluster *cluster, sqlite3_value **keys, ctr_problem *problem)
{
    cluster->row.keys = keys;
    cluster->row.spelling = NULL;
    if (ctr_cluster_lock(cluster, problem)) return problem->rc;
    do { /* until the leader that was read still counts */
        find_everywhere(cluster, problem);
        if (problem->rc != SQLITE_OK) return problem->rc;
        ctr_member *leader = cluster->leader;
        ctr_file *file = leader->merge.rows.tab->file;
        for (int i = 0; i < cluster->n; i++) {
            const ctr_member *member = &cluster->members[i];
            if (ctr_member_takes_part(member) && member != leader)
                ctr_file_note_taken(file, member->merge.rows.tab->file);
        }
        for (int c = 0; c < cluster->shape.n_counters && !cluster->row.below; c++)
            ctr_merge_cell(&leader->merge, c, &cluster->row.cells[c].cell, problem);
        ctr_conflicts_change_identity(&leader->conflicts, file, problem);
    } while (ctr_leader_is_lost(cluster, problem));
    if (problem->rc != SQLITE_OK) return problem->rc; /* a rollback has forgotten the leader */
    for (int c = 0; c < cluster->shape.n_counters; c++)
        cluster->leader->merge.rows.cells[c] = cluster->row.cells[c].cell;
    return problem->rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

int ctr_quorum_write(ctr_cluster *cluster, ctr_problem *problem)
{
    ctr_member *leader = cluster->leader;
    unsigned nth = cluster->conn->ended;
    for (int c = 0; c < cluster->shape.n_counters; c++)
        ctr_stage_cell(&leader->merge.rows, c, &cluster->row.cells[c].cell);
    sqlite3_value **spelling = cluster->row.spelling;
    if (spelling) ctr_stage_spell(&leader->merge.rows, spelling, problem);
    bool wrote = ctr_merge_write(&leader->merge, problem);
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[i];
        if (member == leader || !ctr_member_takes_part(member)) continue;
        for (int c = 0; c < cluster->shape.n_counters; c++)
            ctr_merge_cell(&member->merge, c, &cluster->row.cells[c].cell, problem);
        if (spelling) ctr_stage_spell(&member->merge.rows, spelling, problem);
        ctr_file_note_taken(member->merge.rows.tab->file, leader->merge.rows.tab->file);
        wrote = ctr_merge_write(&member->merge, problem) || wrote;
        ctr_conflicts_change_identity(&member->conflicts, member->merge.rows.tab->file, problem);
    }
    if (problem->rc != SQLITE_OK && wrote) ctr_conn_spoil(cluster->conn, nth);
    return problem->rc;
}

int ctr_quorum_raise(ctr_cluster *cluster, sqlite3_value **values, ctr_problem *problem)
{
    if (ctr_cluster_lock(cluster, problem) || ctr_leader_choose(cluster, problem))
        return problem->rc;
    bool wrote = false;
    unsigned nth = cluster->conn->ended;
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[i];
        if (!ctr_member_takes_part(member)) continue;
        ctr_floors_raise(&member->merge.floors, values, problem);
        if (problem->rc != SQLITE_OK && wrote) ctr_conn_spoil(cluster->conn, nth);
        wrote = true;
    }
    return problem->rc;
}
