/* cluster/quorum.c - chooses the replica under whose id a cluster counts; finds, merges and writes
 * one row.
 *
 * The leader is the replica that commits first. SQLite commits files under WAL one by one, in the
 * order in which they were attached, main first; then those with a rollback journal, one by one or
 * as one, and databases in memory. After a crash or an error in between, a leader that commits
 * later would reuse clocks that others have seen. So a replica that commits before the leader takes
 * no part for the rest of the transaction, and the leader's commits must survive a power cut.
 */
#include <string.h>

#include "cluster/cluster.h"

/* ---- the order of commits -------------------------------------------------------------------- */

/* Returns whether the files with a rollback journal commit as one: SQLite does this if there are
 * several and main is a file. */
static bool commits_as_one(const ctr_cluster *cluster)
{
    int n = 0;
    const char *main = sqlite3_db_filename(cluster->conn->db, "main");
    for (int i = 0; i < cluster->n; i++) {
        const ctr_member *member = &cluster->members[i];
        if (ctr_member_takes_part(member))
            n += ctr_durable_has_journal(cluster->conn, member->schema);
    }
    return n > 1 && main && *main;
}

/* ---- identities ------------------------------------------------------------------------------ */

/* One replica takes the names from another that were replaced there. */
static void meet_other(ctr_member *member, const ctr_member *other)
{
    ctr_problem trouble;
    ctr_problem_try(member->conn, &trouble);
    const ctr_identity *theirs = ctr_file_identity(other->merge.row.tab->file);
    if (theirs) {
        ctr_identity identity = *theirs;
        ctr_succession_meet(member->merge.row.tab->file, other->conn, other->schema, &identity);
    }
    ctr_member_blame(member, &trouble);
}

/* Copies take their new ids. Then each replica meets each other one; usually there is no name that
 * was replaced. */
static void meet_all(ctr_cluster *cluster)
{
    for (int i = 0; i < cluster->n; i++) {
        ctr_member *member = &cluster->members[i];
        if (!ctr_member_takes_part(member)) continue;
        ctr_problem trouble;
        ctr_problem_try(member->conn, &trouble);
        const ctr_identity *identity = ctr_file_identity(member->merge.row.tab->file);
        if (identity) ctr_conflicts_set_mine(&member->conflicts, identity);
        ctr_member_blame(member, &trouble);
    }
    for (int i = 0; i < cluster->n; i++)
        for (int j = 0; j < cluster->n; j++) {
            ctr_member *member = &cluster->members[i], *other = &cluster->members[j];
            if (ctr_rc(cluster->conn) == SQLITE_OK && i != j && ctr_member_takes_part(member) &&
                ctr_member_takes_part(other))
                meet_other(member, other);
        }
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool may_lead(ctr_member *member)
{
    ctr_problem trouble;
    ctr_problem_try(member->conn, &trouble);
    bool may = ctr_file_prepare_to_count(member->merge.row.tab->file);
    ctr_member_blame(member, &trouble);
    return may;
}

/* Asks the members in the order in which they commit: as they were attached, but those that commit
 * late after the others. If a late one led and another failed to commit, SQLite would roll the
 * leader back after early ones had committed its counts. Replicas that would commit before the
 * leader are excluded, and also those that take no part now, because they might be available again
 * later. */
static ctr_member *find_first_that_counts(ctr_cluster *cluster)
{
    ctr_member *attached[CTR_LEVEL_SITES], *leader = NULL;
    ctr_commit kinds[CTR_LEVEL_SITES];
    int n = 0;
    ctr_run run = ctr_run_on(cluster->conn, NULL, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    while (ctr_run_row(&run, row)) {
        const char *schema = ctr_text_column(cluster->conn, row, 1);
        int i = 0;
        while (schema && i < cluster->n && sqlite3_stricmp(cluster->members[i].schema, schema) != 0)
            i++;
        if (schema && i < cluster->n && ctr_member_takes_part(&cluster->members[i]))
            attached[n++] = &cluster->members[i];
    }
    sqlite3_finalize(row);
    for (int i = 0; i < n; i++) kinds[i] = ctr_durable_commit(cluster->conn, attached[i]->schema);

    for (ctr_commit kind = CTR_COMMIT_EARLY; kind <= CTR_COMMIT_LATE; kind++)
        for (int i = 0; i < n && !leader && ctr_rc(cluster->conn) == SQLITE_OK; i++)
            if (kinds[i] == kind && may_lead(attached[i])) leader = attached[i];
    for (int i = 0; i < cluster->n && leader; i++)
        if (!ctr_member_takes_part(&cluster->members[i])) ctr_member_bar(&cluster->members[i]);
    return leader;
}

/* Returns the order in which a schema commits: a lower number is earlier. */
static int commit_rank(ctr_conn *conn, const char *schema)
{
    int rank = 0, at = 0;
    ctr_run run = ctr_run_on(conn, NULL, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    for (; ctr_run_row(&run, row); at++) {
        const char *name = ctr_text_column(conn, row, 1);
        if (name && sqlite3_stricmp(name, schema) == 0) rank = at;
    }
    sqlite3_finalize(row);
    return rank + at * (int)ctr_durable_commit(conn, schema);
}

/* Returns whether the member has merged counts from a replica that does not commit first. */
static bool has_taken_of_a_later_one(const ctr_cluster *cluster, const ctr_member *member)
{
    const char *from = ctr_file_taken_from(member->merge.row.tab->file);
    if (!from || (cluster->leader && sqlite3_stricmp(from, cluster->leader->schema) == 0))
        return false;
    bool first = true;
    int rank = commit_rank(cluster->conn, from);
    for (int i = 0; i < cluster->n && first; i++)
        if (ctr_member_takes_part(&cluster->members[i]))
            first = rank <= commit_rank(cluster->conn, cluster->members[i].schema);
    return !first;
}

/* Counts that a replica has made in this transaction outside the cluster are in no file yet. If
 * others took them and committed earlier, a crash between the commits could make the replica use
 * the same clocks again. The same holds for counts that were merged from such a replica. */
static int refuse_pending(const ctr_cluster *cluster)
{
    for (int i = 0; i < cluster->n && ctr_rc(cluster->conn) == SQLITE_OK; i++) {
        const ctr_member *member = &cluster->members[i];
        if (!ctr_member_takes_part(member)) continue;
        bool counted =
            member != cluster->leader && ctr_file_has_counted(member->merge.row.tab->file);
        if (counted || has_taken_of_a_later_one(cluster, member))
            ctr_problem_set(cluster->conn, SQLITE_ERROR,
                            "%s has %s in this transaction, and only committed changes go to other "
                            "replicas: COMMIT first",
                            member->schema, counted ? "counted" : "merged counts");
    }
    return ctr_rc(cluster->conn);
}

/* Chooses the leader, after locking. A leader that still takes part stays. Fails if too few
 * replicas are available for the level of writes; if a power cut could undo the leader's commits;
 * or if some replica has counted in this transaction outside the cluster, or has merged from one
 * that did and commits later. */
static int choose_leader(ctr_cluster *cluster)
{
    if (ctr_cluster_require_write(cluster)) return ctr_rc(cluster->conn);
    ctr_member *leader = cluster->leader;
    bool still_leads =
        leader && ctr_member_takes_part(leader) && ctr_file_known_id(leader->merge.row.tab->file);
    if (still_leads) return refuse_pending(cluster);
    meet_all(cluster);
    ctr_cluster_require_write(cluster);
    leader = find_first_that_counts(cluster);
    if (ctr_cluster_require_write(cluster)) return ctr_rc(cluster->conn);
    if (leader != cluster->leader)
        ctr_durable_check_leader(cluster->conn, leader->schema, commits_as_one(cluster));
    if (ctr_rc(cluster->conn) == SQLITE_OK) cluster->leader = leader;
    return refuse_pending(cluster);
}

void ctr_quorum_prepare(ctr_cluster *cluster)
{
    ctr_problem trouble;
    if (ctr_cluster_lock(cluster) || cluster->leader) return;
    ctr_problem_try(cluster->conn, &trouble);
    choose_leader(cluster);
    if (ctr_member_ends_statement(trouble.rc))
        ctr_problem_raise(cluster->conn, &trouble);
    else
        ctr_problem_close(&trouble);
}

/* Returns whether conflicts in the row have made the leader stop counting. Then the caller chooses
 * another one. */
static bool is_leader_lost(ctr_cluster *cluster)
{
    ctr_member *leader = cluster->leader;
    if (ctr_rc(cluster->conn) != SQLITE_OK || ctr_file_known_id(leader->merge.row.tab->file))
        return false;
    return !may_lead(leader) && ctr_rc(cluster->conn) == SQLITE_OK;
}

/* ---- merging --------------------------------------------------------------------------------- */

void ctr_quorum_merge(ctr_conn *conn, struct ctr_merged_cell *merged, const ctr_cell *with)
{
    if (ctr_rc(conn) != SQLITE_OK || ctr_cell_same(&merged->cell, with)) return;
    size_t room = merged->cell.size + with->size;
    if (merged->room < room) {
        uint8_t *bytes = sqlite3_malloc64(2 * room), *spare = sqlite3_malloc64(2 * room);
        if (!bytes || !spare) {
            sqlite3_free(bytes);
            sqlite3_free(spare);
            {
                ctr_problem_nomem(conn);
                return;
            }
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
}

bool ctr_quorum_differs(const struct ctr_merged_cell *merged, const ctr_cell *cell)
{
    return !ctr_cell_same(cell, &merged->cell);
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Returns whether some replica has a cell other than the merged one. */
static bool any_differs(const ctr_cluster *cluster)
{
    for (int i = 0; i < cluster->n; i++) {
        const ctr_member *member = &cluster->members[i];
        if (!ctr_member_takes_part(member)) continue;
        for (int c = 0; c < cluster->shape.n_counters; c++)
            if (ctr_quorum_differs(&cluster->row.cells[c], &member->merge.row.cells[c]))
                return true;
    }
    return false;
}

/* Finds the row in all replicas, and merges their cells. A replica whose row cannot be read is left
 * out, so the leader is chosen again. */
static void find_everywhere(ctr_cluster *cluster)
{
    struct ctr_quorum *row = &cluster->row;
    if (choose_leader(cluster)) return;
    row->found = row->below = false;
    for (int i = 0; i < cluster->n && ctr_rc(cluster->conn) == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[i];
        ctr_problem trouble;
        if (!ctr_member_takes_part(member)) continue;
        ctr_problem_try(cluster->conn, &trouble);
        bool found = ctr_merge_find(&member->merge, row->keys);
        row->below = row->below || (!found && trouble.rc == SQLITE_OK);
        member->left_out = trouble.rc != SQLITE_OK;
        ctr_member_blame(member, &trouble);
    }
    if (ctr_rc(cluster->conn) == SQLITE_OK) choose_leader(cluster);

    for (int c = 0; c < cluster->shape.n_counters; c++) row->cells[c].cell = ctr_cell_untouched();
    for (int i = 0; i < cluster->n && !row->below; i++) {
        const ctr_member *member = &cluster->members[i];
        if (!ctr_member_takes_part(member) || !member->merge.row.found) continue;
        row->found = true;
        for (int c = 0; c < cluster->shape.n_counters; c++)
            ctr_quorum_merge(cluster->conn, &row->cells[c], &member->merge.row.cells[c]);
    }
    if (ctr_rc(cluster->conn) != SQLITE_OK || row->below || !any_differs(cluster)) return;
    for (int i = 0; i < cluster->n; i++)
        if (ctr_member_takes_part(&cluster->members[i]))
            ctr_member_make_durable(&cluster->members[i]);
}

/* The leader merges the cells of the others, and acts on conflicts before it counts. If it must not
 * count then, another one is chosen. */
int ctr_quorum_find(ctr_cluster *cluster, sqlite3_value **keys)
{
    cluster->row.keys = keys;
    cluster->row.spelling = NULL;
    if (ctr_cluster_lock(cluster)) return ctr_rc(cluster->conn);
    do { /* until the leader that was read still counts */
        find_everywhere(cluster);
        if (ctr_rc(cluster->conn) != SQLITE_OK) return ctr_rc(cluster->conn);
        ctr_member *leader = cluster->leader;
        ctr_file *file = leader->merge.row.tab->file;
        for (int i = 0; i < cluster->n; i++) {
            const ctr_member *member = &cluster->members[i];
            if (ctr_member_takes_part(member) && member != leader)
                ctr_file_note_taken(file, member->merge.row.tab->file);
        }
        for (int c = 0; c < cluster->shape.n_counters && !cluster->row.below; c++)
            ctr_merge_cell(&leader->merge, c, &cluster->row.cells[c].cell);
        ctr_conflicts_change_identity(&leader->conflicts, file);
    } while (is_leader_lost(cluster));
    if (ctr_rc(cluster->conn) != SQLITE_OK)
        return ctr_rc(cluster->conn); /* a rollback has forgotten the leader */
    for (int c = 0; c < cluster->shape.n_counters; c++)
        cluster->leader->merge.row.cells[c] = cluster->row.cells[c].cell;
    return ctr_rc(cluster->conn);
}

/* ---- writing --------------------------------------------------------------------------------- */

int ctr_quorum_write(ctr_cluster *cluster)
{
    ctr_member *leader = cluster->leader;
    unsigned nth = cluster->conn->ended;
    for (int c = 0; c < cluster->shape.n_counters; c++)
        ctr_row_staged_cell(&leader->merge.row, c, &cluster->row.cells[c].cell);
    sqlite3_value **spelling = cluster->row.spelling;
    if (spelling) ctr_row_spell(&leader->merge.row, spelling);
    bool wrote = ctr_merge_write(&leader->merge);
    for (int i = 0; i < cluster->n && ctr_rc(cluster->conn) == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[i];
        if (member == leader || !ctr_member_takes_part(member)) continue;
        for (int c = 0; c < cluster->shape.n_counters; c++)
            ctr_merge_cell(&member->merge, c, &cluster->row.cells[c].cell);
        if (spelling) ctr_row_spell(&member->merge.row, spelling);
        ctr_file_note_taken(member->merge.row.tab->file, leader->merge.row.tab->file);
        wrote = ctr_merge_write(&member->merge) || wrote;
        ctr_conflicts_change_identity(&member->conflicts, member->merge.row.tab->file);
    }
    if (ctr_rc(cluster->conn) != SQLITE_OK && wrote) ctr_conn_spoil(cluster->conn, nth);
    return ctr_rc(cluster->conn);
}

int ctr_quorum_raise(ctr_cluster *cluster, sqlite3_value **values)
{
    if (ctr_cluster_lock(cluster) || choose_leader(cluster)) return ctr_rc(cluster->conn);
    bool wrote = false;
    unsigned nth = cluster->conn->ended;
    for (int i = 0; i < cluster->n && ctr_rc(cluster->conn) == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[i];
        if (!ctr_member_takes_part(member)) continue;
        ctr_floors_raise(&member->merge.floors, values);
        if (ctr_rc(cluster->conn) != SQLITE_OK && wrote) ctr_conn_spoil(cluster->conn, nth);
        wrote = true;
    }
    return ctr_rc(cluster->conn);
}
