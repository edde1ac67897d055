/* cluster/leader.c - chooses the replica under whose id a cluster counts.
 *
 * The leader is the replica that commits first. SQLite commits files under WAL one by one, in the
 * order in which they were attached, main first; then those with a rollback journal, one by one or
 * as one, and databases in memory. After a crash or an error in between, a leader that commits
 * later would reuse clocks that others have seen. So a replica that commits before the leader takes
 * no part for the rest of the transaction, and the leader's commits must survive a power cut.
 */
#include "cluster/cluster.h"

#include "identity/file.h"
#include "identity/succession.h"
#include "sqlite/text.h"
#include "sync/durable.h"

/* ---- the order of commits -------------------------------------------------------------------- */

/* Returns whether the files with a rollback journal commit as one: SQLite does this if there are
 * several and main is a file. */
static bool commits_as_one(const ctr_cluster *cluster, ctr_problem *problem)
{
    int n = 0;
    const char *main = sqlite3_db_filename(cluster->db, "main");
    for (int i = 0; i < cluster->n; i++) {
        const ctr_member *member = &cluster->members[i];
        if (ctr_member_takes_part(member))
            n += ctr_durable_has_journal(cluster->db, member->schema, problem);
    }
    return n > 1 && main && *main;
}

/* ---- identities ------------------------------------------------------------------------------ */

/* One replica takes the names from another that were replaced there. */
static void meet_other(ctr_member *member, const ctr_member *other, ctr_problem *problem)
{
    ctr_problem trouble = {SQLITE_OK, NULL};
    const ctr_identity *theirs = ctr_file_identity(other->merge.rows.tab->file, &trouble);
    if (theirs) {
        ctr_identity identity = *theirs;
        ctr_succession_meet(member->merge.rows.tab->file, other->db, other->schema, &identity,
                            &trouble);
    }
    ctr_member_blame(member, &trouble, problem);
}

/* Copies take their new ids. Then each replica meets each other one; usually there is no name that
 * was replaced. */
static void meet_all(ctr_cluster *cluster, ctr_problem *problem)
{
    for (int i = 0; i < cluster->n; i++) {
        ctr_member *member = &cluster->members[i];
        if (!ctr_member_takes_part(member)) continue;
        ctr_problem trouble = {SQLITE_OK, NULL};
        const ctr_identity *identity = ctr_file_identity(member->merge.rows.tab->file, &trouble);
        if (identity) ctr_conflicts_set_mine(&member->conflicts, identity);
        ctr_member_blame(member, &trouble, problem);
    }
    for (int i = 0; i < cluster->n; i++)
        for (int j = 0; j < cluster->n; j++) {
            ctr_member *member = &cluster->members[i], *other = &cluster->members[j];
            if (problem->rc == SQLITE_OK && i != j && ctr_member_takes_part(member) &&
                ctr_member_takes_part(other))
                meet_other(member, other, problem);
        }
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool may_lead(ctr_member *member, ctr_problem *problem)
{
    ctr_problem trouble = {SQLITE_OK, NULL};
    bool may = ctr_file_prepare_to_count(member->merge.rows.tab->file, &trouble);
    ctr_member_blame(member, &trouble, problem);
    return may;
}

/* Asks the members in the order in which they commit: as they were attached, but those that commit
 * late after the others. If a late one led and another failed to commit, SQLite would roll the
 * leader back after early ones had committed its counts. Replicas that would commit before the
 * leader are excluded, and also those that take no part now, because they might be available again
 * later. */
static ctr_member *find_first_that_counts(ctr_cluster *cluster, ctr_problem *problem)
{
    ctr_member *attached[CTR_LEVEL_SITES], *leader = NULL;
    ctr_commit kinds[CTR_LEVEL_SITES];
    int n = 0;
    ctr_run run = ctr_run_on(cluster->db, NULL, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    while (ctr_run_row(&run, row)) {
        const char *schema = ctr_text_column(row, 1, problem);
        int i = 0;
        while (schema && i < cluster->n && sqlite3_stricmp(cluster->members[i].schema, schema) != 0)
            i++;
        if (schema && i < cluster->n && ctr_member_takes_part(&cluster->members[i]))
            attached[n++] = &cluster->members[i];
    }
    sqlite3_finalize(row);
    for (int i = 0; i < n; i++)
        kinds[i] = ctr_durable_commit(cluster->db, attached[i]->schema, problem);

    for (ctr_commit kind = CTR_COMMIT_EARLY; kind <= CTR_COMMIT_LATE; kind++)
        for (int i = 0; i < n && !leader && problem->rc == SQLITE_OK; i++)
            if (kinds[i] == kind && may_lead(attached[i], problem)) leader = attached[i];
    for (int i = 0; i < cluster->n && leader; i++)
        if (!ctr_member_takes_part(&cluster->members[i]))
            ctr_member_bar(&cluster->members[i], problem);
    return leader;
}

/* Returns the order in which a schema commits: a lower number is earlier. */
static int commit_rank(sqlite3 *db, const char *schema, ctr_problem *problem)
{
    int rank = 0, at = 0;
    ctr_run run = ctr_run_on(db, NULL, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    for (; ctr_run_row(&run, row); at++) {
        const char *name = ctr_text_column(row, 1, problem);
        if (name && sqlite3_stricmp(name, schema) == 0) rank = at;
    }
    sqlite3_finalize(row);
    return rank + at * (int)ctr_durable_commit(db, schema, problem);
}

/* Returns whether the member has merged counts from a replica that does not commit first. */
static bool has_taken_of_a_later_one(const ctr_cluster *cluster, const ctr_member *member,
                                     ctr_problem *problem)
{
    const char *from = ctr_file_taken_from(member->merge.rows.tab->file);
    if (!from || (cluster->leader && sqlite3_stricmp(from, cluster->leader->schema) == 0))
        return false;
    bool first = true;
    int rank = commit_rank(cluster->db, from, problem);
    for (int i = 0; i < cluster->n && first; i++)
        if (ctr_member_takes_part(&cluster->members[i]))
            first = rank <= commit_rank(cluster->db, cluster->members[i].schema, problem);
    return !first;
}

/* Counts that a replica has made in this transaction outside the cluster are in no file yet. If
 * others took them and committed earlier, a crash between the commits could make the replica use
 * the same clocks again. The same holds for counts that were merged from such a replica. */
static int refuse_pending(const ctr_cluster *cluster, ctr_problem *problem)
{
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK; i++) {
        const ctr_member *member = &cluster->members[i];
        if (!ctr_member_takes_part(member)) continue;
        bool counted =
            member != cluster->leader && ctr_file_has_counted(member->merge.rows.tab->file);
        if (counted || has_taken_of_a_later_one(cluster, member, problem))
            ctr_problem_set(problem, SQLITE_ERROR,
                            "%s has %s in this transaction, and only committed changes go to other "
                            "replicas: COMMIT first",
                            member->schema, counted ? "counted" : "merged counts");
    }
    return problem->rc;
}

int ctr_leader_choose(ctr_cluster *cluster, ctr_problem *problem)
{
    if (ctr_cluster_require_write(cluster, problem)) return problem->rc;
    ctr_member *leader = cluster->leader;
    bool still_leads =
        leader && ctr_member_takes_part(leader) && ctr_file_known_id(leader->merge.rows.tab->file);
    if (still_leads) return refuse_pending(cluster, problem);
    meet_all(cluster, problem);
    ctr_cluster_require_write(cluster, problem);
    leader = find_first_that_counts(cluster, problem);
    if (ctr_cluster_require_write(cluster, problem)) return problem->rc;
    if (leader != cluster->leader)
        ctr_durable_check_leader(cluster->db, leader->schema, commits_as_one(cluster, problem),
                                 problem);
    if (problem->rc == SQLITE_OK) cluster->leader = leader;
    return refuse_pending(cluster, problem);
}

void ctr_leader_prepare(ctr_cluster *cluster, ctr_problem *problem)
{
    ctr_problem trouble = {SQLITE_OK, NULL};
    if (ctr_cluster_lock(cluster, problem) || cluster->leader) return;
    ctr_leader_choose(cluster, &trouble);
    if (ctr_member_ends_statement(trouble.rc))
        *problem = trouble;
    else
        ctr_problem_close(&trouble);
}

bool ctr_leader_is_lost(ctr_cluster *cluster, ctr_problem *problem)
{
    ctr_member *leader = cluster->leader;
    if (problem->rc != SQLITE_OK || ctr_file_known_id(leader->merge.rows.tab->file)) return false;
    return !may_lead(leader, problem) && problem->rc == SQLITE_OK;
}
