/* cluster/cluster.c - finds and locks the replicas of a cluster. */
#include "cluster/cluster.h"

#include <string.h>

#include "cluster/require.h"
#include "identity/os.h"
#include "sqlite/text.h"
#include "sync/agree.h"
#include "sync/source.h"
#include "table/stored.h"

/* ---- waiting --------------------------------------------------------------------------------- */

enum { BRIEFLY = 20 /* milliseconds */ };

/* Looks at a replica. A connection that reads one file already waits only briefly for another: with
 * rollback journals, a writer that commits to both may have locked the second and wait for the
 * reader of the first. `timeout` is the host's timeout, after it was shortened. */
static bool look_briefly(ctr_cluster *cluster, int i, const ctr_shape *shape, int *timeout,
                         ctr_problem *problem)
{
    bool there = ctr_member_look(&cluster->members[i], cluster->birth, shape, problem);
    if (!there || *timeout > 0) return there;
    *timeout = ctr_run_busy_timeout(cluster->db, problem);
    if (*timeout > BRIEFLY) sqlite3_busy_timeout(cluster->db, BRIEFLY);
    return problem->rc == SQLITE_OK;
}

static void wait_again(ctr_cluster *cluster, int timeout)
{
    if (timeout > BRIEFLY) sqlite3_busy_timeout(cluster->db, timeout);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Finds the birth name: from the first replica with a table of this name or, if all have renamed
 * it, with a table of this birth name. */
static void find_birth(ctr_cluster *cluster, const char *table, ctr_problem *problem)
{
    for (int i = 0; i < 2 * cluster->n && !cluster->birth && problem->rc == SQLITE_OK; i++) {
        ctr_problem trouble = {SQLITE_OK, NULL};
        ctr_catalog_entry entry = {0};
        const char *schema = cluster->members[i % cluster->n].schema;
        bool there = ctr_run_has_schema(cluster->db, schema) &&
                     (i < cluster->n ? ctr_catalog_named : ctr_catalog_born)(
                         &entry, cluster->db, schema, table, &trouble);
        if (there) cluster->birth = sqlite3_mprintf("%s", entry.birth);
        if (there && !cluster->birth) ctr_problem_nomem(problem);
        ctr_catalog_close_entry(&entry);
        if (ctr_member_ends_statement(trouble.rc))
            ctr_problem_set(problem, trouble.rc, "%s", ctr_problem_text(&trouble));
        ctr_problem_close(&trouble);
    }
    if (!cluster->birth)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "no attached replica has a counter table with the name %s", table);
}

/* Returns whether to use `i`, of two names of one file. The name that the transaction has written
 * comes first, then the one that it has read: under the other name it could not commit, or would
 * not see its own writes. Otherwise the one listed first. */
static bool goes_before(const ctr_cluster *cluster, int i, int j)
{
    const ctr_member *one = &cluster->members[i], *other = &cluster->members[j];
    if (one->locked != other->locked) return one->locked;
    int state = ctr_run_transaction(cluster->db, one->schema);
    int of_other = ctr_run_transaction(cluster->db, other->schema);
    return state != of_other ? state > of_other : i < j;
}

/* Returns another name to use for this file, or NULL. One file under two names is one replica, and
 * would wait for its own lock. This is called for each row, so paths are compared before the
 * files. */
static const char *same_file(const ctr_cluster *cluster, int i)
{
    const char *schema = cluster->members[i].schema;
    const char *path = sqlite3_db_filename(cluster->db, schema);
    for (int j = 0; j < cluster->n && path && *path; j++) {
        const char *other = cluster->members[j].schema;
        const char *its_path = j == i ? NULL : sqlite3_db_filename(cluster->db, other);
        if (its_path && strcmp(path, its_path) == 0 &&
            ctr_source_same_file(cluster->db, schema, other) && goes_before(cluster, j, i))
            return other;
    }
    return NULL;
}

/* Returns whether two replicas share a file by different paths, as hard links do. */
static bool is_same_inode(const ctr_cluster *cluster, int i, int j)
{
    const char *one = sqlite3_db_filename(cluster->db, cluster->members[i].schema);
    const char *two = sqlite3_db_filename(cluster->db, cluster->members[j].schema);
    return one && *one && two && *two && ctr_os_is_same(one, two);
}

static void refuse_same_files(const ctr_cluster *cluster, ctr_problem *problem)
{
    for (int i = 0; i < cluster->n; i++) {
        const char *other = same_file(cluster, i);
        for (int j = 0; j < i && !other; j++)
            if (is_same_inode(cluster, i, j)) other = cluster->members[j].schema;
        if (other)
            ctr_problem_set(problem, SQLITE_ERROR, "replicas: %s and %s are one file", other,
                            cluster->members[i].schema);
    }
}

/* Returns whether the replica is the same file as another one, attached after the cluster was
 * created. It is not read: a connection cannot commit to a file under one name while it reads it
 * under another. */
static bool is_doubled(ctr_cluster *cluster, int i, ctr_problem *problem)
{
    ctr_member *member = &cluster->members[i];
    ctr_problem trouble = {SQLITE_OK, NULL};
    const char *other = same_file(cluster, i);
    if (!other || problem->rc != SQLITE_OK) return false;
    if (member->streams.out == 0) ctr_member_forget(member);
    ctr_problem_set(&trouble, SQLITE_ERROR, "it is the same file as %s", other);
    ctr_member_blame(member, &trouble, problem);
    return true;
}

/* Notes whether the caller has a transaction, so that a later rollback by SQLite is noticed. */
static void note_transaction(ctr_cluster *cluster)
{
    cluster->within = !sqlite3_get_autocommit(cluster->db);
}

void ctr_cluster_clear_seen(ctr_cluster_seen *seen)
{
    sqlite3_free(seen->birth);
    sqlite3_free(seen->schema);
    sqlite3_free(seen->table);
    ctr_shape_close(&seen->shape);
    *seen = (ctr_cluster_seen){0};
}

static void fill_seen(ctr_cluster_seen *seen, const char *birth, const char *schema,
                      const char *table, const ctr_shape *shape, ctr_problem *problem)
{
    ctr_cluster_seen made = {.birth = sqlite3_mprintf("%s", birth),
                             .schema = sqlite3_mprintf("%s", schema),
                             .table = sqlite3_mprintf("%s", table)};
    if (!made.birth || !made.schema || !made.table) ctr_problem_nomem(problem);
    ctr_shape_copy(&made.shape, shape, problem);
    if (problem->rc == SQLITE_OK) {
        ctr_cluster_clear_seen(seen);
        *seen = made;
    } else {
        ctr_cluster_clear_seen(&made);
    }
}

void ctr_cluster_copy_seen(ctr_cluster_seen *to, const ctr_cluster_seen *from, ctr_problem *problem)
{
    fill_seen(to, from->birth, from->schema, from->table, &from->shape, problem);
}

/* Opens the cluster from memory. The table that was read last may have other columns now, or may be
 * gone. */
static void open_as_seen(ctr_cluster *cluster, ctr_problem *problem)
{
    const ctr_cluster_seen *seen = cluster->seen;
    ctr_problem trouble = {SQLITE_OK, NULL};
    cluster->birth = sqlite3_mprintf("%s", seen->birth);
    if (!cluster->birth) ctr_problem_nomem(problem);
    if (problem->rc != SQLITE_OK) return;
    if (ctr_run_has_schema(cluster->db, seen->schema) &&
        ctr_stored_describe(&cluster->shape, cluster->db, seen->schema, seen->table, &seen->shape,
                            &trouble) == SQLITE_OK)
        return;
    if (ctr_member_ends_statement(trouble.rc)) {
        *problem = trouble;
        return;
    }
    ctr_problem_close(&trouble);
    ctr_shape_close(&cluster->shape);
    ctr_shape_copy(&cluster->shape, &seen->shape, problem);
}

/* Takes the columns of the first table that can be opened. In a new cluster the others must agree;
 * in an existing one, a replica with other counters is unavailable. */
static void find_shape(ctr_cluster *cluster, bool is_new, ctr_problem *problem)
{
    int timeout = 0;
    bool first = true;
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK && (first || is_new); i++) {
        ctr_member *member = &cluster->members[i];
        if (!ctr_run_has_schema(cluster->db, member->schema)) continue;
        if (!look_briefly(cluster, i, NULL, &timeout, problem)) continue;
        const ctr_shape *shape = &member->merge.shape;
        if (cluster->shape.n_columns == 0)
            ctr_shape_copy(&cluster->shape, shape, problem);
        else if (first)
            ctr_shape_take_generations(&cluster->shape, shape, problem);
        if (first && problem->rc == SQLITE_OK)
            fill_seen(cluster->seen, cluster->birth, member->schema, member->merge.entry.name,
                      shape, problem);
        ctr_agree_check(&cluster->shape, first ? "the cluster" : "one replica", shape,
                        member->schema, problem);
        first = false;
    }
    wait_again(cluster, timeout);
    for (int i = 0; i < cluster->n; i++) ctr_member_forget(&cluster->members[i]);
    cluster->read = !first && problem->rc == SQLITE_OK;
}

static void check_shape(const ctr_cluster *cluster, ctr_problem *problem)
{
    if (problem->rc == SQLITE_OK && cluster->shape.n_columns == 0)
        ctr_problem_set(problem, SQLITE_ERROR, "the table %s cannot be opened in any replica: %s",
                        cluster->birth, ctr_problem_text(&cluster->members[0].trouble));
    if (cluster->shape.n_keys > CTR_STREAM_KEYS)
        ctr_problem_set(problem, SQLITE_ERROR, "a key of %d columns; a cluster can have %d at most",
                        cluster->shape.n_keys, CTR_STREAM_KEYS);
}

int ctr_cluster_open(ctr_cluster *cluster, sqlite3 *db, ctr_transaction *transaction,
                     ctr_levels *levels, ctr_cluster_seen *seen, const char *table,
                     char *const *schemas, int n, bool is_new, ctr_problem *problem)
{
    *cluster = (ctr_cluster){.db = db, .transaction = transaction, .levels = levels, .seen = seen};
    cluster->members = sqlite3_malloc64((size_t)n * sizeof *cluster->members);
    if (!cluster->members) return ctr_problem_nomem(problem);
    for (; cluster->n < n; cluster->n++)
        ctr_member_open(&cluster->members[cluster->n], db, transaction, schemas[cluster->n],
                        &cluster->within, problem);
    refuse_same_files(cluster, problem);
    if (!is_new && seen->birth) {
        open_as_seen(cluster, problem);
    } else {
        if (problem->rc == SQLITE_OK) find_birth(cluster, table, problem);
        if (problem->rc == SQLITE_OK) find_shape(cluster, is_new, problem);
    }
    check_shape(cluster, problem);
    if (problem->rc != SQLITE_OK) return problem->rc;
    ctr_collator_open(&cluster->collator, db, &cluster->shape, problem);
    size_t size = ((size_t)cluster->shape.n_counters + 1) * sizeof *cluster->row.cells;
    cluster->row.cells = sqlite3_malloc64(size);
    if (!cluster->row.cells) return ctr_problem_nomem(problem);
    memset(cluster->row.cells, 0, size);
    return problem->rc;
}

/* Reads the shape of a cluster that was opened from memory. */
static int read_unread(ctr_cluster *cluster, ctr_problem *problem)
{
    if (!cluster->read && problem->rc == SQLITE_OK) find_shape(cluster, false, problem);
    return problem->rc;
}

void ctr_cluster_close(ctr_cluster *cluster)
{
    for (int i = 0; i < cluster->n; i++) ctr_member_close(&cluster->members[i]);
    for (int i = 0; cluster->row.cells && i < cluster->shape.n_counters; i++) {
        sqlite3_free(cluster->row.cells[i].bytes);
        sqlite3_free(cluster->row.cells[i].spare);
    }
    sqlite3_free(cluster->row.cells);
    sqlite3_free(cluster->members);
    sqlite3_free(cluster->birth);
    ctr_collator_close(&cluster->collator);
    ctr_shape_close(&cluster->shape);
    *cluster = (ctr_cluster){0};
}

void ctr_cluster_end(ctr_cluster *cluster)
{
    for (int i = 0; i < cluster->n; i++) ctr_member_end(&cluster->members[i]);
    cluster->leader = NULL;
    cluster->writes = cluster->locked = cluster->begun = false;
}

/* ---- reads ----------------------------------------------------------------------------------- */

int ctr_cluster_look(ctr_cluster *cluster, ctr_problem *problem)
{
    note_transaction(cluster);
    read_unread(cluster, problem);
    for (int i = 0; i < cluster->n; i++) {
        if (!is_doubled(cluster, i, problem))
            ctr_member_look(&cluster->members[i], cluster->birth, &cluster->shape, problem);
    }
    return problem->rc;
}

int ctr_cluster_contact(ctr_cluster *cluster, uint64_t failed, int *contacts, ctr_problem *problem)
{
    uint64_t available = 0;
    int timeout = 0;
    note_transaction(cluster);
    read_unread(cluster, problem);
    for (int i = 0; i < cluster->n; i++) {
        uint64_t bit = (uint64_t)1 << i;
        bool asked = !(failed & bit);
        if (asked && !is_doubled(cluster, i, problem) &&
            look_briefly(cluster, i, &cluster->shape, &timeout, problem))
            available |= bit;
    }
    wait_again(cluster, timeout);
    return ctr_require_read(cluster, available, contacts, problem);
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* Returns whether this connection holds a lock of some file already. The running statement always
 * has that of temp. */
static bool holds_lock(sqlite3 *db, ctr_problem *problem)
{
    bool holds = false;
    ctr_run run = ctr_run_on(db, NULL, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    while (!holds && ctr_run_row(&run, row)) {
        const char *schema = ctr_text_column(row, 1, problem);
        holds =
            schema && sqlite3_stricmp(schema, "temp") != 0 && ctr_run_transaction(db, schema) != 0;
    }
    sqlite3_finalize(row);
    return holds;
}

static const char *path_of(const ctr_member *member)
{
    const char *path = sqlite3_db_filename(member->db, member->schema);
    return path ? path : "";
}

static void sort_by_path(const ctr_cluster *cluster, int *order)
{
    for (int i = 0; i < cluster->n; i++) {
        int at = i;
        const char *path = path_of(&cluster->members[i]);
        for (; at > 0 && strcmp(path_of(&cluster->members[order[at - 1]]), path) > 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* A connection that holds a lock does not wait for another, whose owner may be waiting for it. A
 * busy handler of the host, which has no timeout, stays in place. */
static void lock_all(ctr_cluster *cluster, ctr_problem *problem)
{
    int order[CTR_LEVEL_SITES];
    int timeout = holds_lock(cluster->db, problem) ? ctr_run_busy_timeout(cluster->db, problem) : 0;
    if (timeout > 0) sqlite3_busy_timeout(cluster->db, 0);
    sort_by_path(cluster, order);
    for (int i = 0; i < cluster->n; i++) {
        ctr_member *member = &cluster->members[order[i]];
        if (ctr_run_has_schema(cluster->db, member->schema) && !same_file(cluster, order[i]))
            ctr_member_lock(member, problem);
    }
    if (timeout > 0) sqlite3_busy_timeout(cluster->db, timeout);
}

/* SQLite opens the savepoint of a statement only in temp, where the cluster is; this opens it in
 * the replicas, too. */
static void mark_all(ctr_cluster *cluster, ctr_problem *problem)
{
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK; i++) {
        const ctr_member *member = &cluster->members[i];
        ctr_run run = ctr_run_on(cluster->db, member->schema, NULL, problem);
        if (ctr_member_takes_part(member)) ctr_run_do(&run, CTR_SQL_CLUSTER_MARK, NULL);
    }
    cluster->begun = problem->rc != SQLITE_OK;
}

/* Locks before it looks, because SQLite does not wait for a lock once it reads. */
int ctr_cluster_lock(ctr_cluster *cluster, ctr_problem *problem)
{
    note_transaction(cluster);
    if (!cluster->locked) lock_all(cluster, problem);
    cluster->locked = problem->rc == SQLITE_OK;
    read_unread(cluster, problem);
    for (int i = 0; i < cluster->n; i++) {
        if (!is_doubled(cluster, i, problem))
            ctr_member_look_to_write(&cluster->members[i], cluster->birth, &cluster->shape,
                                     problem);
    }
    if (cluster->begun) mark_all(cluster, problem);
    return problem->rc;
}
