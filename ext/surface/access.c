/* surface/access.c - the row at hand: in one file, or in all replicas of a cluster.
 *
 * A cursor over a cluster names a row by the replica in which it has seen it and the row id there,
 * so a row is found again by its key.
 */
#include "store/describe.h"
#include "store/watch.h"
#include "surface/table.h"
#include "sync/quorum.h"

/* From here on the rows of the leader are those of the table. */
static int follow_leader(ctr_table *table, ctr_problem *problem)
{
    ctr_member *leader = table->cluster->leader;
    if (problem->rc != SQLITE_OK) return problem->rc;
    table->rows = &leader->merge.rows;
    table->post = leader->merge.rows.post;
    return problem->rc;
}

static int find_in_cluster(ctr_table *table, ctr_problem *problem)
{
    ctr_quorum_find(table->cluster, table->keys, problem);
    return follow_leader(table, problem);
}

/* Before the row is found: under a new id it has another shard; and before anything is written. */
static int check_identity(ctr_table *table, ctr_problem *problem)
{
    table->rows->writing = true; /* a trigger on counter_replica must not come back to the rows */
    if (ctr_watch_merge(table->post, problem) &&
        ctr_journal_refresh(table->rows->journal, problem) == SQLITE_OK)
        ctr_journal_refuse_triggers(table->rows->journal, problem);
    table->rows->writing = false;
    return problem->rc;
}

int ctr_access_find(ctr_table *table, ctr_problem *problem)
{
    ctr_timing *timing = &ctr_guard_stats(table->joined.guard)->find;
    int64_t begun = ctr_stats_begin(timing);
    if (table->cluster)
        find_in_cluster(table, problem);
    else if (check_identity(table, problem) == SQLITE_OK)
        ctr_rows_find_key(table->rows, table->keys, problem);
    ctr_stats_end(timing, begun);
    return problem->rc;
}

static ctr_rows *rows_of(const ctr_table *table, int64_t rowid)
{
    ctr_member *member = &table->cluster->members[rowid % CTR_LEVEL_SITES];
    return member->open ? &member->merge.rows : NULL;
}

static int find_stored(ctr_table *table, int64_t rowid, ctr_problem *problem)
{
    ctr_timing *timing = &ctr_guard_stats(table->joined.guard)->find;
    int64_t begun = ctr_stats_begin(timing);
    if (check_identity(table, problem) == SQLITE_OK)
        ctr_rows_find_rowid(table->rows, rowid, problem);
    ctr_stats_end(timing, begun);
    return problem->rc;
}

int ctr_access_find_rowid(ctr_table *table, int64_t rowid, ctr_problem *problem)
{
    if (!table->cluster) return find_stored(table, rowid, problem);
    ctr_rows *rows = rows_of(table, rowid);
    ctr_access_end(table);
    table->holds_keys = rows != NULL; /* it has put copies there, whatever it returns */
    bool there = rows && ctr_rows_take_key(rows, rowid / CTR_LEVEL_SITES, table->keys, problem);
    if (!there && problem->rc == SQLITE_OK)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "a replica went away while the statement was running");
    return problem->rc == SQLITE_OK ? ctr_access_find(table, problem) : problem->rc;
}

void ctr_access_end(ctr_table *table)
{
    if (!table->holds_keys) return;
    for (int i = 0; i < table->shape.n_keys; i++) {
        sqlite3_value_free(table->keys[i]);
        table->keys[i] = NULL;
    }
    table->holds_keys = false;
}

int64_t ctr_access_name_row(int replica, int64_t id)
{
    return id * CTR_LEVEL_SITES + replica;
}

int64_t ctr_access_rowid(const ctr_table *table)
{
    int64_t rowid = table->rows->rowid;
    if (!table->cluster || !table->cluster->leader) return rowid;
    return ctr_access_name_row((int)(table->cluster->leader - table->cluster->members), rowid);
}

bool ctr_access_found(const ctr_table *table)
{
    return table->cluster ? table->cluster->row.found : table->rows->found;
}

bool ctr_access_is_below(ctr_table *table, ctr_problem *problem)
{
    if (table->cluster) return table->cluster->row.below;
    return ctr_floors_is_below(&table->floors, table->keys, problem);
}

/* No trigger on the requests may come back to the row at hand. */
static int remember_request(ctr_table *table, ctr_problem *problem)
{
    table->rows->writing = true;
    ctr_request_remember(table, problem);
    table->rows->writing = false;
    return problem->rc;
}

/* The request at work, if there is one, is remembered first; then one write of the row. */
static int write_own(ctr_table *table, ctr_problem *problem)
{
    ctr_guard *guard = table->joined.guard;
    unsigned transaction = ctr_guard_transaction(guard);
    if (remember_request(table, problem)) return problem->rc;
    ctr_rows_write(table->rows, table->keys, problem);
    if (problem->rc != SQLITE_OK && table->request) ctr_guard_spoil(guard, transaction);
    return problem->rc;
}

int ctr_access_write(ctr_table *table, ctr_problem *problem)
{
    if (table->cluster) return ctr_quorum_write(table->cluster, problem);
    return write_own(table, problem);
}

int ctr_access_raise(ctr_table *table, ctr_problem *problem)
{
    if (table->cluster) return ctr_quorum_raise(table->cluster, table->keys, problem);
    table->rows->writing = true; /* no trigger may come back to the rows */
    ctr_floors_raise(&table->floors, table->keys, problem);
    table->rows->writing = false;
    return problem->rc;
}

bool ctr_access_key_is(ctr_table *table, int64_t rowid, ctr_problem *problem)
{
    if (!table->cluster) return ctr_rows_key_is(table->rows, rowid, table->keys, problem);
    ctr_rows *rows = rows_of(table, rowid);
    return rows && ctr_rows_key_is(rows, rowid / CTR_LEVEL_SITES, table->keys, problem);
}

/* The row as the first replica has stored it; NULL: no replica has. */
static ctr_rows *stored_row(const ctr_cluster *cluster)
{
    for (int i = 0; i < cluster->n; i++) {
        ctr_member *member = &cluster->members[i];
        if (ctr_member_takes_part(member) && member->merge.rows.found) return &member->merge.rows;
    }
    return NULL;
}

char *ctr_access_key_text(ctr_table *table, ctr_problem *problem)
{
    ctr_rows *rows = table->cluster ? stored_row(table->cluster) : table->rows;
    if (rows) return ctr_rows_key_text(rows, rows->rowid, problem);
    char *key = ctr_describe_key(table->keys, table->shape.n_keys);
    if (!key) {
        ctr_problem_close(problem);
        ctr_problem_nomem(problem);
    }
    return key;
}

void ctr_access_problem_at(ctr_table *table, int counter, ctr_problem *problem)
{
    char *key = ctr_access_key_text(table, problem);
    const char *name = table->shape.columns[table->shape.counters[counter]].name;
    if (key) ctr_problem_where(problem, "column %s of %s", name, key);
    sqlite3_free(key);
}
