/* functions/status.c - counter_cluster_status(cluster): the state of its replicas.
 *
 *     SELECT * FROM counter_cluster_status('traffic');
 *
 *     schema          name of the attached database
 *     id, dc, rack    of the file; NULL if unknown, or if it has no name
 *     available       1 if a write would include it: it can be locked, and its file was not moved;
 *                     else 0
 *     reason          why not; or why it does not count, as in counter_identity
 *     rows            stored rows of the table, with deleted ones
 *     digest          as from counter_table_digest; NULL if a row is damaged
 *     different       rows that differ from those of the first replica (main, if it is one), or
 *                     that only one of both has
 *
 * To find out whether replicas can be locked, it locks them: briefly or, inside a transaction,
 * until its end.
 */
#include <string.h>

#include "cluster/coordinator.h"
#include "core/id.h"
#include "functions/answer.h"
#include "identity/storage.h"
#include "sync/digest.h"
#include "sync/session.h"
#include "table/rows.h"
#include "table/walk.h"

/* ---- one replica ----------------------------------------------------------------------------- */

/* Finds out whether the file is still at its path: SQLite reads and locks a file that was moved
 * away. A write notices this when it checks the identity; but the check may take a new id, which
 * this function must not. */
static void find_file(ctr_member *member, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || !ctr_member_takes_part(member)) return;
    ctr_fingerprint seen;
    ctr_attribute attribute;
    ctr_storage storage = {.kind = CTR_STORAGE_UNASKED};
    ctr_problem trouble = {SQLITE_OK, NULL};
    ctr_storage_see(&storage, member->db, member->schema, true, &seen, &attribute, &trouble);
    ctr_storage_close(&storage);
    ctr_member_blame(member, &trouble, problem);
}

static void answer_name(ctr_answer *answer, const ctr_member *member, ctr_problem *problem)
{
    char id[CTR_ID_TEXT_SIZE];
    ctr_id_to_text(member->id, id);
    const char *colon = strchr(member->name, ':');
    char *dc = colon ? sqlite3_mprintf("%.*s", (int)(colon - member->name), member->name) : NULL;
    if (colon && !dc) ctr_problem_nomem(problem);
    ctr_answer_text(answer, member->schema, problem);
    ctr_answer_text(answer, member->met ? id : NULL, problem);
    ctr_answer_text(answer, dc, problem);
    ctr_answer_text(answer, colon ? colon + 1 : NULL, problem);
    sqlite3_free(dc);
}

static void answer_state(ctr_answer *answer, const ctr_member *member, ctr_problem *problem)
{
    const ctr_problem *reason = member->trouble.rc ? &member->trouble : &member->unlocked;
    if (reason->rc == SQLITE_OK && *member->refuses) {
        ctr_answer_integer(answer, 1, problem);
        ctr_answer_text(answer, member->refuses, problem);
        return;
    }
    ctr_answer_integer(answer, reason->rc == SQLITE_OK, problem);
    ctr_answer_text(answer, reason->rc ? ctr_problem_text(reason) : NULL, problem);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The rows of two replicas. */
typedef struct row_comparison {
    ctr_rows rows, other;
    sqlite3_value **keys;
    int64_t met, different; /* rows that both have; rows that differ, or that only the first has */
} row_comparison;

/* A row that is damaged in one replica counts as different; any other error is a problem. */
static bool is_damage(ctr_problem *trouble, ctr_problem *problem)
{
    if (trouble->rc == SQLITE_OK) return false;
    if (trouble->rc == SQLITE_CORRUPT_VTAB)
        ctr_problem_close(trouble);
    else
        *problem = *trouble;
    return true;
}

static void compare_row(row_comparison *job, sqlite3_stmt *row, ctr_problem *problem)
{
    const ctr_shape *shape = job->rows.shape;
    ctr_problem trouble = {SQLITE_OK, NULL};
    bool same = true;
    for (int i = 0; i < shape->n_keys; i++)
        job->keys[i] = sqlite3_column_value(row, CTR_WALK_COLUMNS + shape->keys[i]);
    ctr_rows_find_key(&job->other, job->keys, &trouble);
    if (trouble.rc == SQLITE_OK && !job->other.found) {
        job->different++;
        return;
    }
    for (int i = 0; i < shape->n_counters && trouble.rc == SQLITE_OK; i++) {
        ctr_cell cell;
        ctr_rows_open_cell(&job->rows, row, CTR_WALK_COLUMNS + shape->counters[i], i, &cell,
                           &trouble);
        same = same && ctr_cell_same(&cell, &job->other.cells[i]);
    }
    same = !is_damage(&trouble, problem) && same;
    job->met++;
    job->different += !same;
}

static int64_t count_all(const ctr_member *member, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(member->db, member->schema, member->merge.entry.name, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CLUSTER_ROWS);
    int64_t n = ctr_run_row(&run, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return n;
}

/* Returns the number of rows that differ, or that only one of the two has. */
static int64_t count_different(const ctr_member *one, const ctr_member *other, ctr_problem *problem)
{
    ctr_walk walk;
    const ctr_shape *shape = &one->merge.shape;
    row_comparison job = {.keys = sqlite3_malloc64((size_t)shape->n_keys * sizeof *job.keys)};
    if (!job.keys) ctr_problem_nomem(problem);
    ctr_rows_open(&job.rows, one->db, one->schema, one->merge.entry.name, shape, NULL, problem);
    ctr_rows_open(&job.other, other->db, other->schema, other->merge.entry.name,
                  &other->merge.shape, NULL, problem);
    ctr_walk_open(&walk, one->db, one->schema, one->merge.entry.name, shape, CTR_WALK_ALL, 0,
                  problem);
    while (ctr_walk_next(&walk, problem)) compare_row(&job, walk.row, problem);
    ctr_walk_close(&walk);
    ctr_rows_close(&job.rows);
    ctr_rows_close(&job.other);
    sqlite3_free(job.keys);
    return job.different + count_all(other, problem) - job.met;
}

/* Returns the digest as text; the caller frees it with sqlite3_free. NULL: a row is damaged, which
 * is no problem, or there is a problem. */
static char *digest_of(const ctr_member *member, ctr_problem *problem)
{
    uint8_t digest[CTR_ID_SIZE];
    char text[CTR_ID_TEXT_SIZE];
    ctr_problem damage = {SQLITE_OK, NULL};
    int rc = ctr_digest_table(digest, member->db, member->schema, member->merge.entry.name,
                              &member->merge.shape, &damage);
    if (ctr_member_ends_statement(rc))
        ctr_problem_set(problem, rc, "%s", ctr_problem_text(&damage));
    ctr_problem_close(&damage);
    if (rc != SQLITE_OK) return NULL;
    ctr_id_to_text(digest, text);
    char *shown = sqlite3_mprintf("%s", text);
    if (!shown) ctr_problem_nomem(problem);
    return shown;
}

static void answer_rows(ctr_answer *answer, const ctr_member *first, const ctr_member *member,
                        ctr_problem *problem)
{
    if (!member->open) {
        for (int i = 0; i < 3; i++) ctr_answer_text(answer, NULL, problem);
        return;
    }
    char *digest = digest_of(member, problem);
    ctr_answer_integer(answer, count_all(member, problem), problem);
    ctr_answer_text(answer, digest, problem);
    sqlite3_free(digest);
    if (!first->open) {
        ctr_answer_text(answer, NULL, problem);
        return;
    }
    ctr_answer_integer(answer, count_different(member, first, problem), problem);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const ctr_cluster_entry *find_cluster(ctr_answer *answer, const char *name,
                                             ctr_problem *problem)
{
    const ctr_clusters *clusters = ctr_answer_shared(answer)->fronts;
    const ctr_cluster_entry *entry =
        name ? ctr_clusters_connected(clusters, ctr_answer_db(answer), name, problem) : NULL;
    if (!entry)
        ctr_problem_set(problem, SQLITE_ERROR, "no cluster has the name '%s'", name ? name : "");
    return entry;
}

static void fill_status(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem)
{
    const char *name = ctr_answer_arg(args[0], "the name of the cluster", NULL, problem);
    const ctr_cluster_entry *entry = find_cluster(answer, name, problem);
    if (!entry) return;
    ctr_session session = {0};
    ctr_run run = ctr_run_on(ctr_answer_db(answer), "temp", name, problem);
    ctr_session_begin(&session, ctr_answer_db(answer), NULL, problem);
    ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
    ctr_cluster *cluster = entry->cluster; /* the cluster of the joined table */
    if (problem->rc == SQLITE_OK) ctr_cluster_lock(cluster, problem);
    if (problem->rc == SQLITE_OK)
        ctr_cluster_look(cluster, problem); /* a replica locked by another connection can be read */
    for (int i = 0; problem->rc == SQLITE_OK && i < cluster->n; i++) {
        find_file(&cluster->members[i], problem);
        answer_name(answer, &cluster->members[i], problem);
        answer_state(answer, &cluster->members[i], problem);
        answer_rows(answer, &cluster->members[0], &cluster->members[i], problem);
    }
    ctr_session_end(&session, problem);
}

int ctr_status_register(sqlite3 *db, ctr_shared *shared)
{
    static const ctr_answer_kind KIND = {
        .name = "counter_cluster_status",
        .n_columns = 9,
        .n_args = 1,
        .n_needed = 1,
        .works = true,
        .columns = "schema TEXT, id TEXT, dc TEXT, rack TEXT, available INTEGER, reason TEXT, "
                   "rows INTEGER, digest TEXT, different INTEGER",
        .args = "cluster HIDDEN",
        .usage = "one argument is needed, the name of a cluster",
        .fill = fill_status};
    return ctr_answer_register(db, shared, &KIND, 1);
}
