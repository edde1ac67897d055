/* surface/coordinator.c - a counter table in front of several replicas.
 *
 *     CREATE VIRTUAL TABLE temp.traffic USING counter_cluster(
 *       page_views, replicas='main east west', read=QUORUM, write=QUORUM, read_repair=blocking);
 *     INSERT INTO traffic(traffic) VALUES ('read=ALL');       for the rest of this connection
 *
 * The same statements, refusals, commands and plans as those of the table it fronts; see
 * surface/table.h, of which it shares all but where rows come from and go to. It stands in temp,
 * for what the names of its replicas stand for is a matter of the connection.
 */
#include <string.h>

#include "core/declaration.h"
#include "surface/args.h"
#include "surface/options.h"
#include "surface/register.h"
#include "surface/table.h"

enum { CLUSTER_SCHEMA = 1, CLUSTER_TABLE = 2, CLUSTER_CLAUSES = 3 };

static int cluster_disconnect(sqlite3_vtab *base)
{
    ctr_table *table = (ctr_table *)base;
    if (table->entry && table->entry->cluster == table->cluster) table->entry->cluster = NULL;
    if (table->cluster) ctr_cluster_close(table->cluster);
    sqlite3_free(table->cluster);
    ctr_shape_close(&table->shape);
    sqlite3_free(table->keys);
    sqlite3_free(table->given);
    sqlite3_free(table->schema);
    sqlite3_free(table->name);
    sqlite3_free(base->zErrMsg);
    sqlite3_free(table);
    return SQLITE_OK;
}

/* SQLite will not tell a table that is dropped how the transaction ends; nor does it show what such
 * a table has to say. */
static int cluster_destroy(sqlite3_vtab *base)
{
    ctr_table *table = (ctr_table *)base;
    if (table->cluster->locked) return SQLITE_LOCKED;
    ctr_joined_leave(&table->joined);
    return cluster_disconnect(base);
}

static void open_cluster(ctr_table *table, const ctr_options *options, bool is_new,
                         ctr_problem *problem)
{
    table->cluster = sqlite3_malloc64(sizeof *table->cluster);
    if (!table->cluster) {
        ctr_problem_nomem(problem);
        return;
    }
    ctr_cluster_open(table->cluster, table->db, table->joined.guard, &table->entry->levels,
                     &table->entry->seen, options->table, options->replicas, options->n, is_new,
                     problem);
    if (problem->rc != SQLITE_OK) return;
    ctr_shape_copy(&table->shape, &table->cluster->shape, problem);
    size_t n = (size_t)table->shape.n_keys;
    table->keys = sqlite3_malloc64(n * sizeof *table->keys);
    table->given = sqlite3_malloc64(((size_t)table->shape.n_counters + 1) * sizeof *table->given);
    if (table->keys) memset(table->keys, 0, n * sizeof *table->keys);
    if (!table->keys || !table->given) ctr_problem_nomem(problem);
    table->entry->cluster = table->cluster;
}

/* What was set stands, unless the table is new. */
static void open_front(ctr_table *table, ctr_shared *shared, const ctr_options *options,
                       bool is_new, ctr_problem *problem)
{
    bool known = ctr_clusters_find(&shared->clusters, table->name) != NULL;
    table->entry = ctr_clusters_entry(&shared->clusters, table->name);
    if (!table->entry) {
        ctr_problem_nomem(problem);
        return;
    }
    if (is_new || !known) table->entry->levels = options->levels;
    ctr_guard_prepare(shared->guard, problem);
    if (problem->rc == SQLITE_OK) open_cluster(table, options, is_new, problem);
    ctr_table_check_name(&table->shape, table->name, problem);
    ctr_table_declare(table, problem);
}

static ctr_table *make_table(sqlite3 *db, ctr_shared *shared, const char *const *argv,
                             ctr_problem *problem)
{
    ctr_table *table = sqlite3_malloc64(sizeof *table);
    if (!table) {
        ctr_problem_nomem(problem);
        return NULL;
    }
    memset(table, 0, sizeof *table);
    table->db = db;
    table->joined.guard = shared->guard;
    table->clusters = &shared->clusters;
    table->rows = &table->own_rows;
    table->schema = sqlite3_mprintf("%s", argv[CLUSTER_SCHEMA]);
    table->name = sqlite3_mprintf("%s", argv[CLUSTER_TABLE]);
    if (!table->schema || !table->name) ctr_problem_nomem(problem);
    return table;
}

static int start_cluster(sqlite3 *db, ctr_shared *shared, int argc, const char *const *argv,
                         bool is_new, sqlite3_vtab **base, char **message)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_options options;
    ctr_table *table = make_table(db, shared, argv, &problem);
    if (problem.rc == SQLITE_OK && sqlite3_stricmp(table->schema, "temp") != 0)
        ctr_problem_set(&problem, SQLITE_ERROR,
                        "a cluster belongs to a connection: CREATE VIRTUAL TABLE temp.%s",
                        table->name);
    ctr_options_read(&options, argc - CLUSTER_CLAUSES, argv + CLUSTER_CLAUSES, &problem);
    if (problem.rc == SQLITE_OK) open_front(table, shared, &options, is_new, &problem);
    ctr_options_close(&options);
    if (problem.rc == SQLITE_OK) {
        *base = &table->joined.base;
        return SQLITE_OK;
    }
    if (table) ctr_problem_where(&problem, "%s", table->name);
    if (table) cluster_disconnect(&table->joined.base);
    return ctr_table_report(&problem, message);
}

static int cluster_create(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **base, char **message)
{
    return start_cluster(db, aux, argc, argv, true, base, message);
}

static int cluster_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                           sqlite3_vtab **base, char **message)
{
    return start_cluster(db, aux, argc, argv, false, base, message);
}

/* Replicas stay as they are: a cluster has nothing of its own. */
static int cluster_rename(sqlite3_vtab *base, const char *to)
{
    ctr_table *table = (ctr_table *)base;
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_table_check_name(&table->shape, to, &problem);
    ctr_cluster_entry *entry = ctr_clusters_entry(table->clusters, to);
    if (!entry) ctr_problem_nomem(&problem);
    if (problem.rc == SQLITE_OK) entry->levels = table->entry->levels;
    if (problem.rc == SQLITE_OK) ctr_cluster_copy_seen(&entry->seen, &table->entry->seen, &problem);
    return ctr_table_fail(table, &problem);
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* A statement that writes begins: what it reads is to be read under the locks. */
static int cluster_begin(sqlite3_vtab *base)
{
    ((ctr_table *)base)->cluster->writes = true;
    return ctr_joined_begin(base);
}

static int cluster_savepoint(sqlite3_vtab *base, int level)
{
    ((ctr_table *)base)->cluster->begun = true;
    return ctr_joined_savepoint(base, level);
}

static int cluster_commit(sqlite3_vtab *base)
{
    ctr_cluster_end(((ctr_table *)base)->cluster);
    return ctr_joined_commit(base);
}

static int cluster_rollback(sqlite3_vtab *base)
{
    ctr_cluster_end(((ctr_table *)base)->cluster);
    return ctr_joined_rollback(base);
}

int ctr_coordinator_register(sqlite3 *db, ctr_shared *shared)
{
    static const sqlite3_module MODULE = {.iVersion = 2,
                                          .xCreate = cluster_create,
                                          .xConnect = cluster_connect,
                                          .xBestIndex = ctr_plan_best_index,
                                          .xDisconnect = cluster_disconnect,
                                          .xDestroy = cluster_destroy,
                                          .xOpen = ctr_scan_open,
                                          .xClose = ctr_scan_close,
                                          .xFilter = ctr_scan_filter,
                                          .xNext = ctr_scan_next,
                                          .xEof = ctr_scan_eof,
                                          .xColumn = ctr_scan_column,
                                          .xRowid = ctr_scan_rowid,
                                          .xUpdate = ctr_write_update,
                                          .xRename = cluster_rename,
                                          .xBegin = cluster_begin,
                                          .xSync = ctr_joined_sync,
                                          .xCommit = cluster_commit,
                                          .xRollback = cluster_rollback,
                                          .xSavepoint = cluster_savepoint,
                                          .xRelease = ctr_joined_release,
                                          .xRollbackTo = ctr_joined_rollback_to};
    return sqlite3_create_module_v2(db, "counter_cluster", &MODULE, ctr_shared_hold(shared),
                                    ctr_shared_drop);
}
