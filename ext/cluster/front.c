/* cluster/front.c - the rows and the commands of a table in front of several replicas.
 *
 * A cursor names a row by a replica that has it and the row id there. The row is found again by its
 * key.
 */
#include "cluster/cluster.h"

static ctr_cluster *cluster_of(const ctr_table *table)
{
    return ((const ctr_coordinator *)table)->cluster;
}

/* ---- the current row ------------------------------------------------------------------------- */

/* The table uses the rows of the leader. */
static int find_in_replicas(ctr_table *table, ctr_problem *problem)
{
    if (ctr_quorum_find(cluster_of(table), table->keys, problem)) return problem->rc;
    ctr_member *leader = cluster_of(table)->leader;
    table->rows = &leader->merge.rows;
    table->file = leader->merge.rows.tab->file;
    return SQLITE_OK;
}

static ctr_rows *rows_by_rowid(const ctr_table *table, int64_t rowid)
{
    ctr_member *member = &cluster_of(table)->members[rowid % CTR_LEVEL_SITES];
    return member->open ? &member->merge.rows : NULL;
}

static int find_again(ctr_table *table, int64_t rowid, ctr_problem *problem)
{
    ctr_rows *rows = rows_by_rowid(table, rowid);
    ctr_access_end(table);
    table->holds_keys = rows != NULL; /* copies to free, also after a failure */
    bool there = rows && ctr_values_take_key(rows, rowid / CTR_LEVEL_SITES, table->keys, problem);
    if (!there && problem->rc == SQLITE_OK)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "a replica became unavailable while the statement was running");
    return problem->rc == SQLITE_OK ? ctr_access_find(table, problem) : problem->rc;
}

/* An UPDATE writes to the replicas that it has read. */
static void require_as_read(const ctr_table *table, ctr_problem *problem)
{
    const ctr_cluster *cluster = cluster_of(table);
    if (ctr_cluster_parts(cluster) != cluster->read_from)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the available replicas changed while the statement was running");
}

static bool is_found(const ctr_table *table)
{
    return cluster_of(table)->row.found;
}

static bool is_below_floors(const ctr_table *table)
{
    return cluster_of(table)->row.below;
}

static bool key_is_of(ctr_table *table, int64_t rowid, ctr_problem *problem)
{
    ctr_rows *rows = rows_by_rowid(table, rowid);
    return rows && ctr_values_key_is(rows, rowid / CTR_LEVEL_SITES, table->keys, problem);
}

static void spell_in_replicas(ctr_table *table)
{
    cluster_of(table)->row.spelling = table->keys;
}

static int write_to_replicas(ctr_table *table, ctr_problem *problem)
{
    return ctr_quorum_write(cluster_of(table), problem);
}

static int raise_in_replicas(ctr_table *table, ctr_problem *problem)
{
    return ctr_quorum_raise(cluster_of(table), table->keys, problem);
}

static int64_t name_in_replica(int number, int64_t id)
{
    return id * CTR_LEVEL_SITES + number;
}

static int64_t rowid_in_leader(const ctr_table *table)
{
    const ctr_cluster *cluster = cluster_of(table);
    if (!cluster->leader) return table->rows->rowid;
    return name_in_replica((int)(cluster->leader - cluster->members), table->rows->rowid);
}

/* Returns the rows of the first replica that stores the row. */
static ctr_rows *stored_row(const ctr_table *table)
{
    const ctr_cluster *cluster = cluster_of(table);
    for (int i = 0; i < cluster->n; i++) {
        ctr_member *member = &cluster->members[i];
        if (ctr_member_takes_part(member) && member->merge.rows.found) return &member->merge.rows;
    }
    return NULL;
}

/* ---- cursors --------------------------------------------------------------------------------- */

/* Returns a stored row with the current key: _id and the declared columns. */
static sqlite3_stmt *row_of_reading(const ctr_reading *reading)
{
    return reading->rows.streams[reading->rows.first].statement;
}

/* Returns the number of the replica of this row. */
static int replica_of_reading(const ctr_reading *reading)
{
    return reading->contacts[reading->rows.first];
}

static ctr_reading *open_reading(ctr_table *table, ctr_problem *problem)
{
    ctr_reading *reading = sqlite3_malloc64(sizeof *reading);
    if (!reading) {
        ctr_problem_nomem(problem);
        return NULL;
    }
    if (ctr_reading_open(reading, cluster_of(table), problem) == SQLITE_OK) return reading;
    sqlite3_free(reading);
    return NULL;
}

static void close_reading(ctr_reading *reading)
{
    ctr_reading_close(reading);
    sqlite3_free(reading);
}

/* Returns whether a statement that writes is running in a transaction that writes to the
 * cluster. */
static bool is_writing_to(const ctr_cluster *cluster)
{
    if (!cluster->writes) return false;
    sqlite3_stmt *statement = sqlite3_next_stmt(cluster->db, NULL);
    while (statement && (sqlite3_stmt_readonly(statement) || !sqlite3_stmt_busy(statement)))
        statement = sqlite3_next_stmt(cluster->db, statement);
    return statement != NULL;
}

/* A statement that writes takes the locks before it reads. */
static void start_reading(ctr_reading *reading, ctr_table *table, bool unique, const char *plan,
                          int argc, sqlite3_value **argv, ctr_problem *problem)
{
    ctr_cluster *cluster = cluster_of(table);
    reading->is_writing = is_writing_to(cluster);
    if (reading->is_writing)
        ctr_quorum_prepare(cluster, problem);
    else if (!cluster->locked && cluster->levels->repairs)
        ctr_reading_repair(cluster, table->name, plan, argc, argv, problem);
    ctr_reading_start(reading, plan, argc, argv, unique, problem);
}

static void sum_merged(const ctr_reading *reading, int counter, ctr_summary *state)
{
    const ctr_cell *cell = &reading->cells[counter].cell;
    *state = (ctr_summary){.life = cell->life, .touched = cell->size > 0};
    ctr_sum_add_cell(&state->sum, cell);
}

static int64_t name_row_of_reading(const ctr_reading *reading, int64_t id)
{
    return name_in_replica(replica_of_reading(reading), id);
}

static ctr_rows *rows_of_reading(const ctr_reading *reading)
{
    return &reading->cluster->members[replica_of_reading(reading)].merge.rows;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Runs the command on the table of each replica. */
static void check_replicas(ctr_table *table, ctr_problem *problem)
{
    ctr_cluster *cluster = cluster_of(table);
    ctr_cluster_look(cluster, problem);
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[i];
        if (member->trouble.rc != SQLITE_OK) {
            ctr_problem_set(problem, member->trouble.rc, "%s", ctr_problem_text(&member->trouble));
        } else {
            ctr_run run = ctr_run_on(table->db, member->schema, member->merge.entry.name, problem);
            ctr_run_do(&run, CTR_SQL_CLUSTER_CHECK, NULL);
        }
        ctr_problem_where(problem, "replica %s", member->schema);
    }
}

static bool run_command(ctr_table *table, sqlite3_value **columns, const char *command,
                        ctr_problem *problem)
{
    ctr_cluster *cluster = cluster_of(table);
    ctr_levels levels = *cluster->levels;
    if (ctr_clusters_set_option(&levels, command, problem)) {
        if (ctr_commands_refuse_values(table, columns, command, problem) == SQLITE_OK)
            *cluster->levels = levels;
        return true;
    }
    if (ctr_commands_name(command, "add column") || ctr_commands_name(command, "drop column")) {
        ctr_problem_set(problem, SQLITE_ERROR,
                        "'%s' is a command for the table of one replica; counter_sync merges it "
                        "into the others",
                        command);
    } else if (ctr_commands_name(command, "forget requests")) {
        ctr_problem_set(problem, SQLITE_ERROR, "a cluster records no requests");
    } else if (sqlite3_stricmp(command, "optimize") == 0) {
        if (ctr_commands_refuse_values(table, columns, "optimize", problem) == SQLITE_OK)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "'optimize' is a command for the table of one replica: run it there");
    } else if (sqlite3_stricmp(command, "integrity-check") == 0) {
        if (ctr_commands_refuse_values(table, columns, "integrity-check", problem) == SQLITE_OK)
            check_replicas(table, problem);
    } else {
        return false;
    }
    return true;
}

static const char *birth_of_tables(const ctr_table *table)
{
    return cluster_of(table)->birth;
}

static const ctr_front FRONT = {
    .find = find_in_replicas,
    .find_rowid = find_again,
    .require_as_read = require_as_read,
    .found = is_found,
    .is_below = is_below_floors,
    .key_is = key_is_of,
    .spell = spell_in_replicas,
    .write = write_to_replicas,
    .raise = raise_in_replicas,
    .rowid = rowid_in_leader,
    .stored_row = stored_row,
    .open = open_reading,
    .close = close_reading,
    .start = start_reading,
    .step = ctr_reading_step,
    .row = row_of_reading,
    .sum = sum_merged,
    .name_row = name_row_of_reading,
    .rows = rows_of_reading,
    .command = run_command,
    .commands = "'read=', 'write=', 'read_repair=', 'integrity-check'",
    .refuses_request = "a cluster takes no request_id: under another leader, a repeated "
                       "request would count twice",
    .birth = birth_of_tables,
};

const ctr_front *ctr_front_methods(void)
{
    return &FRONT;
}
