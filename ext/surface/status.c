/* surface/status.c - counter_cluster_status(cluster): how its replicas stand.
 *
 *     SELECT * FROM counter_cluster_status('traffic');
 *
 *     schema          name of the attached database
 *     id, dc, rack    who the file is; NULL if it is not known, or has no name
 *     available       1 if a write would have it: its lock could be had, its file is where it was;
 *                     else 0
 *     reason          why not; or why it does not count itself, as counter_identity gives it
 *     rows            stored rows of the table, deleted ones too
 *     digest          as counter_table_digest gives it; NULL if a row is damaged
 *     different       rows that the first replica, main if it is one, has not or has otherwise, and
 *                     the other way round
 *
 * To tell whether a lock can be had it is taken, for a moment or, inside a transaction, to its end.
 */
#include <string.h>

#include "core/id.h"
#include "store/medium.h"
#include "surface/answer.h"
#include "sync/digest.h"
#include "sync/session.h"

/* ---- one replica ----------------------------------------------------------------------------- */

/* SQLite reads and locks a file that is gone from its path. A write finds out when it checks the
 * identity; that may take a new id, which a question must not. */
static void find_file(ctr_member *member, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || !ctr_member_takes_part(member)) return;
    ctr_fingerprint seen;
    ctr_attribute attribute;
    ctr_medium medium = {.kind = CTR_MEDIUM_UNASKED};
    ctr_problem trouble = {SQLITE_OK, NULL};
    ctr_medium_see(&medium, member->db, member->schema, true, &seen, &attribute, &trouble);
    ctr_medium_close(&medium);
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

/* ---- its rows -------------------------------------------------------------------------------- */

static char *same_row(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_columns; i++) {
        const char *name = shape->columns[i].name;
        sqlite3_str_appendf(out, "%sb.\"%w\" %s a.\"%w\"", i ? " AND " : "", name,
                            shape->columns[i].key < 0 ? "IS" : "=", name);
    }
    return sqlite3_str_finish(out);
}

static char *same_key(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++) {
        const char *name = shape->columns[shape->keys[i]].name;
        sqlite3_str_appendf(out, "%sb.\"%w\" = a.\"%w\"", i ? " AND " : "", name, name);
    }
    return sqlite3_str_finish(out);
}

/* Rows of one for which the other has no row that is `constraint`, which is freed. */
static int64_t count_rows(const ctr_member *one, const ctr_member *other, char *constraint,
                          ctr_problem *problem)
{
    int64_t n = 0;
    char *stored = sqlite3_mprintf("%s_cells", other->merge.entry.name);
    if (!stored || !constraint) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(one->db, one->schema, one->merge.entry.name, problem);
    run.slots.name = other->schema;
    run.slots.value = stored;
    run.slots.constraint = constraint;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CLUSTER_DIFFERENT);
    if (ctr_run_row(&run, row)) n = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    sqlite3_free(stored);
    sqlite3_free(constraint);
    return n;
}

/* To be freed with sqlite3_free; NULL where a row is damaged, which is no problem, or with one. */
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

static int64_t count_all(const ctr_member *member, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(member->db, member->schema, member->merge.entry.name, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CLUSTER_ROWS);
    int64_t n = ctr_run_row(&run, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return n;
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
    const ctr_shape *shape = &member->merge.shape;
    int64_t n = count_rows(member, first, same_row(shape), problem);
    n += count_rows(first, member, same_key(shape), problem);
    ctr_answer_integer(answer, n, problem);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static ctr_cluster *find_cluster(ctr_answer *answer, const char *name, ctr_problem *problem)
{
    const ctr_clusters *clusters = &ctr_answer_shared(answer)->clusters;
    ctr_cluster_entry *entry =
        name ? ctr_clusters_connected(clusters, ctr_answer_db(answer), name, problem) : NULL;
    if (entry) return entry->cluster;
    ctr_problem_set(problem, SQLITE_ERROR, "no cluster has the name '%s'", name ? name : "");
    return NULL;
}

static void fill_status(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem)
{
    const char *name = ctr_answer_arg(args[0], "the name of the cluster", NULL, problem);
    ctr_cluster *cluster = find_cluster(answer, name, problem);
    if (!cluster) return;
    ctr_session session = {0};
    ctr_run run = ctr_run_on(ctr_answer_db(answer), "temp", name, problem);
    ctr_session_begin(&session, ctr_answer_db(answer), NULL, problem);
    ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
    if (problem->rc == SQLITE_OK) cluster = find_cluster(answer, name, problem);
    if (problem->rc == SQLITE_OK) ctr_cluster_lock(cluster, problem);
    if (problem->rc == SQLITE_OK)
        ctr_cluster_look(cluster, problem); /* one that is locked by another can be read */
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
    return ctr_answer_register(db, shared, &KIND);
}
