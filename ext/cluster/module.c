/* cluster/module.c - the module counter_cluster: options, and a table in front of several
 * replicas. */
#include "cluster/cluster.h"

#include <string.h>

/* =================================================================================================
 * clusters - reads options, name = value, and keeps them with their clusters. */

/* ---- options --------------------------------------------------------------------------------- */

static const char BETWEEN[] = ", \t\n\r\f"; /* items of a list; those behind the comma are blank */

static ctr_span trim(const char *text, size_t size)
{
    while (size > 0 && strchr(BETWEEN + 1, *text)) text++, size--;
    while (size > 0 && strchr(BETWEEN + 1, text[size - 1])) size--;
    return (ctr_span){text, size};
}

static ctr_level read_level(ctr_conn *conn, const char *option, const char *value)
{
    ctr_level level = ctr_level_from_text(value);
    if (level != CTR_LEVEL_NONE) return level;
    if (sqlite3_stricmp(value, "ANY") == 0)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s=ANY: counters have no such level, because a hint is not a replica",
                        option);
    else if (sqlite3_stricmp(value, "SERIAL") == 0 || sqlite3_stricmp(value, "LOCAL_SERIAL") == 0)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s=%s: counters have no conditional updates and no such level", option,
                        value);
    else
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s=%s: unknown level; there are ONE, TWO, THREE, QUORUM, ALL, LOCAL_ONE, "
                        "LOCAL_QUORUM and EACH_QUORUM",
                        option, value);
    return level;
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* Returns false if the option is none of these. */
static bool set_level(ctr_conn *conn, ctr_levels *levels, const char *option, const char *value)
{
    if (sqlite3_stricmp(option, "read") == 0) {
        levels->read = read_level(conn, "read", value);
    } else if (sqlite3_stricmp(option, "write") == 0) {
        levels->write = read_level(conn, "write", value);
    } else if (sqlite3_stricmp(option, "read_repair") == 0) {
        levels->repairs = sqlite3_stricmp(value, "blocking") == 0;
        if (!levels->repairs && sqlite3_stricmp(value, "none") != 0)
            ctr_problem_set(conn, SQLITE_ERROR, "read_repair must be blocking or none, not %s",
                            value);
    } else {
        return false;
    }
    return true;
}

/* Splits "name = value". Returns false if there is no equals sign. */
static bool split(ctr_conn *conn, const char *clause, char **name, char **value)
{
    const char *equals = strchr(clause, '=');
    if (!equals) return false;
    *name = ctr_text_unquoted(conn, trim(clause, (size_t)(equals - clause)));
    *value = ctr_text_unquoted(conn, trim(equals + 1, strlen(equals + 1)));
    return true;
}

/* Returns whether the command sets a level, such as "read=ALL"; then sets it in *levels. */
static bool clusters_set_option(ctr_conn *conn, ctr_levels *levels, const char *command)
{
    char *name = NULL, *value = NULL;
    ctr_levels changed = *levels;
    bool is = split(conn, command, &name, &value);
    is = is && ctr_rc(conn) == SQLITE_OK && set_level(conn, &changed, name, value);
    if (ctr_rc(conn) == SQLITE_OK) *levels = changed;
    sqlite3_free(name);
    sqlite3_free(value);
    return is;
}

/* ---- the declaration ------------------------------------------------------------------------- */

/* Main comes first, because reads contact replicas in this order. */
static void read_replicas(ctr_conn *conn, ctr_options *options, const char *list)
{
    if (options->n > 0) ctr_problem_set(conn, SQLITE_ERROR, "replicas is given twice");
    while (*(list += strspn(list, BETWEEN)) && ctr_rc(conn) == SQLITE_OK) {
        size_t size = strcspn(list, BETWEEN);
        char *name = ctr_text_of(conn, (ctr_span){list, size});
        list += size;
        for (int i = 0; name && i < options->n; i++)
            if (sqlite3_stricmp(options->replicas[i], name) == 0)
                ctr_problem_set(conn, SQLITE_ERROR, "replicas: %s is named twice", name);
        if (options->n == CTR_LEVEL_SITES)
            ctr_problem_set(conn, SQLITE_ERROR, "replicas: a cluster can have %d at most",
                            CTR_LEVEL_SITES);
        if (name && sqlite3_stricmp(name, "temp") == 0)
            ctr_problem_set(conn, SQLITE_ERROR, "replicas: temp cannot be a replica");
        if (ctr_rc(conn) == SQLITE_OK)
            options->replicas[options->n++] = name;
        else
            sqlite3_free(name);
    }

    int main = options->n - 1;
    while (main > 0 && sqlite3_stricmp(options->replicas[main], "main") != 0) main--;
    if (main <= 0) return;
    char *name = options->replicas[main];
    memmove(options->replicas + 1, options->replicas, (size_t)main * sizeof *options->replicas);
    options->replicas[0] = name;
}

static void read_clause(ctr_conn *conn, ctr_options *options, const char *clause)
{
    char *name = NULL, *value = NULL;
    ctr_span whole = trim(clause, strlen(clause));
    if (!split(conn, clause, &name, &value)) {
        ctr_problem_set(conn, SQLITE_ERROR, "cannot read the option '%.*s'", (int)whole.size,
                        whole.text);
        return;
    }
    if (ctr_rc(conn) == SQLITE_OK && sqlite3_stricmp(name, "replicas") == 0)
        read_replicas(conn, options, value);
    else if (ctr_rc(conn) == SQLITE_OK && !set_level(conn, &options->levels, name, value))
        ctr_problem_set(conn, SQLITE_ERROR,
                        "unknown option '%s'; there are replicas, read, write and read_repair",
                        name);
    sqlite3_free(name);
    sqlite3_free(value);
}

/* The caller closes the options, also after a failure. */
static void clusters_read_options(ctr_conn *conn, ctr_options *options, int n,
                                  const char *const *clauses)
{
    *options = (ctr_options){.levels = {CTR_LEVEL_QUORUM, CTR_LEVEL_QUORUM, false}};
    if (ctr_rc(conn) != SQLITE_OK) return;
    ctr_span table = n > 0 ? trim(clauses[0], strlen(clauses[0])) : (ctr_span){"", 0};
    options->table = ctr_text_unquoted(conn, table);
    if (ctr_rc(conn) == SQLITE_OK && (!*options->table || strchr(options->table, '=')))
        ctr_problem_set(conn, SQLITE_ERROR,
                        "the first argument must be the name of a counter table");
    for (int i = 1; i < n && ctr_rc(conn) == SQLITE_OK; i++) read_clause(conn, options, clauses[i]);
    if (options->n == 0)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "replicas is needed: names of attached databases, replicas='main east'");
}

static void clusters_close_options(ctr_options *options)
{
    for (int i = 0; i < options->n; i++) sqlite3_free(options->replicas[i]);
    sqlite3_free(options->table);
    *options = (ctr_options){0};
}

static void clear_seen(ctr_cluster_seen *seen)
{
    sqlite3_free(seen->birth);
    sqlite3_free(seen->schema);
    sqlite3_free(seen->table);
    ctr_shape_close(&seen->shape);
    *seen = (ctr_cluster_seen){0};
}

void ctr_clusters_note_seen(ctr_conn *conn, ctr_cluster_seen *seen, const ctr_cluster_seen *of)
{
    ctr_cluster_seen made = {.birth = ctr_text_copy(conn, of->birth),
                             .schema = ctr_text_copy(conn, of->schema),
                             .table = ctr_text_copy(conn, of->table)};
    ctr_shape_copy(conn, &made.shape, &of->shape);
    if (ctr_rc(conn) == SQLITE_OK) {
        clear_seen(seen);
        *seen = made;
    } else {
        clear_seen(&made);
    }
}

/* ---- the list -------------------------------------------------------------------------------- */

static ctr_cluster_entry *find_entry(const ctr_clusters *clusters, const char *name)
{
    ctr_cluster_entry *entry = clusters->first;
    while (entry && sqlite3_stricmp(entry->name, name) != 0) entry = entry->next;
    return entry;
}

ctr_cluster_entry *ctr_clusters_connected(const ctr_clusters *clusters, ctr_conn *conn,
                                          const char *name)
{
    ctr_cluster_entry *entry = find_entry(clusters, name);
    if (!entry || ctr_rc(conn) != SQLITE_OK) return NULL;
    if (ctr_schema_object(conn, "temp", name) != CTR_OBJECT_VIRTUAL_TABLE) return NULL;
    ctr_run run = ctr_run_on(conn, "temp", name);
    sqlite3_finalize(ctr_run_prepare(&run, CTR_SQL_SYNC_JOIN));
    return ctr_rc(conn) == SQLITE_OK && entry->cluster ? entry : NULL;
}

/* Returns the entry of this name, a new one if there is none. Lent as long as the connection; NULL:
 * no memory. */
static ctr_cluster_entry *clusters_entry(ctr_clusters *clusters, const char *name)
{
    ctr_cluster_entry *entry = find_entry(clusters, name);
    if (entry) return entry;
    entry = sqlite3_malloc64(sizeof *entry);
    char *copy = sqlite3_mprintf("%s", name);
    if (!entry || !copy) {
        sqlite3_free(entry);
        sqlite3_free(copy);
        return NULL;
    }
    *entry = (ctr_cluster_entry){.name = copy, .next = clusters->first};
    clusters->first = entry;
    return entry;
}

/* Notes the declaration of the cluster. Options and seen tables stay if the declaration is the same
 * and the cluster is not new: a transaction that drops a cluster and creates another one of its
 * name may be rolled back without notice. */
static void clusters_declare(ctr_conn *conn, ctr_cluster_entry *entry, const char *declaration,
                             bool is_new, const ctr_levels *levels)
{
    if (ctr_rc(conn) != SQLITE_OK) return;
    if (!is_new && entry->declaration && strcmp(entry->declaration, declaration) == 0) return;
    char *copy = ctr_text_copy(conn, declaration);
    if (!copy) return;
    sqlite3_free(entry->declaration);
    entry->declaration = copy;
    entry->levels = *levels;
    clear_seen(&entry->seen);
}

static void clusters_close(ctr_clusters *clusters)
{
    while (clusters->first) {
        ctr_cluster_entry *entry = clusters->first;
        clusters->first = entry->next;
        sqlite3_free(entry->name);
        sqlite3_free(entry->declaration);
        clear_seen(&entry->seen);
        sqlite3_free(entry);
    }
}

/* =================================================================================================
 * front - the rows and the commands of a table in front of several replicas.
 *
 * A cursor names a row by a replica that has it and the row id there. The row is found again by its
 * key. */

static ctr_cluster *cluster_of(const ctr_table *table)
{
    return ((const ctr_coordinator *)table)->cluster;
}

/* ---- the current row ------------------------------------------------------------------------- */

/* The table uses the rows of the leader. */
static int find_in_replicas(ctr_table *table)
{
    if (ctr_quorum_find(cluster_of(table), table->keys)) return ctr_rc(table->joined.conn);
    ctr_member *leader = cluster_of(table)->leader;
    table->row = &leader->merge.row;
    table->file = leader->merge.row.tab->file;
    return SQLITE_OK;
}

static ctr_row *rows_by_rowid(const ctr_table *table, int64_t rowid)
{
    ctr_member *member = &cluster_of(table)->members[rowid % CTR_LEVEL_SITES];
    return member->open ? &member->merge.row : NULL;
}

static int find_again(ctr_table *table, int64_t rowid)
{
    ctr_conn *conn = table->joined.conn;
    ctr_row *row = rows_by_rowid(table, rowid);
    ctr_table_end_row(table);
    table->holds_keys = row != NULL; /* copies to free, also after a failure */
    bool there = row && ctr_row_key_of(row, rowid / CTR_LEVEL_SITES, table->keys);
    if (!there && ctr_rc(conn) == SQLITE_OK)
        return ctr_problem_set(conn, SQLITE_ERROR,
                               "a replica became unavailable while the statement was running");
    return ctr_rc(conn) == SQLITE_OK ? ctr_table_find(table) : ctr_rc(conn);
}

/* An UPDATE writes to the replicas that it has read. */
static void require_as_read(const ctr_table *table)
{
    const ctr_cluster *cluster = cluster_of(table);
    if (ctr_cluster_parts(cluster) != cluster->read_from)
        ctr_problem_set(table->joined.conn, SQLITE_ERROR,
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

static bool key_is_of(ctr_table *table, int64_t rowid)
{
    ctr_row *row = rows_by_rowid(table, rowid);
    return row && ctr_row_has_key(row, rowid / CTR_LEVEL_SITES, table->keys);
}

static void spell_in_replicas(ctr_table *table)
{
    cluster_of(table)->row.spelling = table->keys;
}

static int write_to_replicas(ctr_table *table)
{
    return ctr_quorum_write(cluster_of(table));
}

static int raise_in_replicas(ctr_table *table)
{
    return ctr_quorum_raise(cluster_of(table), table->keys);
}

static int64_t name_in_replica(int number, int64_t id)
{
    return id * CTR_LEVEL_SITES + number;
}

static int64_t rowid_in_leader(const ctr_table *table)
{
    const ctr_cluster *cluster = cluster_of(table);
    if (!cluster->leader) return table->row->rowid;
    return name_in_replica((int)(cluster->leader - cluster->members), table->row->rowid);
}

/* Returns the rows of the first replica that stores the row. */
static ctr_row *stored_row(const ctr_table *table)
{
    const ctr_cluster *cluster = cluster_of(table);
    for (int i = 0; i < cluster->n; i++) {
        ctr_member *member = &cluster->members[i];
        if (ctr_member_takes_part(member) && member->merge.row.found) return &member->merge.row;
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

static ctr_reading *open_reading(ctr_table *table)
{
    ctr_reading *reading = sqlite3_malloc64(sizeof *reading);
    if (!reading) {
        ctr_problem_nomem(table->joined.conn);
        return NULL;
    }
    if (ctr_reading_open(reading, cluster_of(table)) == SQLITE_OK) return reading;
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
    sqlite3_stmt *statement = sqlite3_next_stmt(cluster->conn->db, NULL);
    while (statement && (sqlite3_stmt_readonly(statement) || !sqlite3_stmt_busy(statement)))
        statement = sqlite3_next_stmt(cluster->conn->db, statement);
    return statement != NULL;
}

/* A statement that writes takes the locks before it reads. */
static void start_reading(ctr_reading *reading, ctr_table *table, bool unique, const char *plan,
                          int argc, sqlite3_value **argv)
{
    ctr_cluster *cluster = cluster_of(table);
    reading->is_writing = is_writing_to(cluster);
    if (reading->is_writing)
        ctr_quorum_prepare(cluster);
    else if (!cluster->locked && cluster->levels->repairs)
        ctr_reading_repair(cluster, table->name, plan, argc, argv);
    ctr_reading_start(reading, plan, argc, argv, unique);
}

static void sum_merged(const ctr_reading *reading, int counter, ctr_summary *state)
{
    *state = ctr_summary_of(&reading->cells[counter].cell);
}

static int64_t name_row_of_reading(const ctr_reading *reading, int64_t id)
{
    return name_in_replica(replica_of_reading(reading), id);
}

static ctr_row *rows_of_reading(const ctr_reading *reading)
{
    return &reading->cluster->members[replica_of_reading(reading)].merge.row;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Runs the command on the table of each replica. */
static void check_replicas(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    ctr_cluster *cluster = cluster_of(table);
    ctr_cluster_look(cluster);
    for (int i = 0; i < cluster->n && ctr_rc(conn) == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[i];
        if (member->trouble.rc != SQLITE_OK) {
            ctr_problem_set(conn, member->trouble.rc, "%s", ctr_problem_text(&member->trouble));
        } else {
            ctr_run run = ctr_run_on(conn, member->schema, member->merge.entry.name);
            ctr_run_do(&run, CTR_SQL_CLUSTER_CHECK, NULL);
        }
        ctr_problem_where(conn, "replica %s", member->schema);
    }
}

static bool run_command(ctr_table *table, sqlite3_value **columns, const char *command)
{
    ctr_cluster *cluster = cluster_of(table);
    ctr_levels levels = *cluster->levels;
    if (clusters_set_option(table->joined.conn, &levels, command)) {
        if (ctr_commands_refuse_values(table, columns, command) == SQLITE_OK)
            *cluster->levels = levels;
        return true;
    }
    if (ctr_commands_name(command, "add column") || ctr_commands_name(command, "drop column")) {
        ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                        "'%s' is a command for the table of one replica; counter_sync merges it "
                        "into the others",
                        command);
    } else if (ctr_commands_name(command, "forget requests")) {
        ctr_problem_set(table->joined.conn, SQLITE_ERROR, "a cluster records no requests");
    } else if (sqlite3_stricmp(command, "optimize") == 0) {
        if (ctr_commands_refuse_values(table, columns, "optimize") == SQLITE_OK)
            ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                            "'optimize' is a command for the table of one replica: run it there");
    } else if (sqlite3_stricmp(command, "integrity-check") == 0) {
        if (ctr_commands_refuse_values(table, columns, "integrity-check") == SQLITE_OK)
            check_replicas(table);
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

/* Returns the methods by which a table in front of others reads and writes rows, and runs
 * commands. */
static const ctr_front *front_methods(void)
{
    return &FRONT;
}

/* =================================================================================================
 * coordinator - a counter table in front of several replicas.
 *
 *     CREATE VIRTUAL TABLE temp.traffic USING counter_cluster(
 *       page_views, replicas='main east west', read=QUORUM, write=QUORUM, read_repair=blocking);
 *     INSERT INTO traffic(traffic) VALUES ('read=ALL');       for the rest of this connection
 *
 * Statements, refusals, commands and plans are those of a counter table (counter/counter.h); only
 * reading and writing rows differs: the part front. The table is in temp, because the names of its
 * replicas belong to the connection. */

/* ---- the virtual table ----------------------------------------------------------------------- */

enum { CLUSTER_SCHEMA = 1, CLUSTER_TABLE = 2, CLUSTER_CLAUSES = 3 };

static int cluster_disconnect(sqlite3_vtab *base)
{
    ctr_coordinator *front = (ctr_coordinator *)base;
    ctr_table *table = &front->table;
    if (front->entry && front->entry->cluster == front->cluster) front->entry->cluster = NULL;
    if (front->cluster) ctr_cluster_close(front->cluster);
    sqlite3_free(front->cluster);
    ctr_shape_close(&table->shape);
    sqlite3_free(table->keys);
    ctr_scan_release(table);
    sqlite3_free(table->given);
    sqlite3_free(table->schema);
    sqlite3_free(table->name);
    sqlite3_free(base->zErrMsg);
    sqlite3_free(front);
    return SQLITE_OK;
}

/* SQLite will not call a dropped table at the end of the transaction, so a locked cluster is not
 * dropped. SQLite shows no message of xDestroy. */
static int cluster_destroy(sqlite3_vtab *base)
{
    ctr_coordinator *front = (ctr_coordinator *)base;
    if (front->cluster->locked) return SQLITE_LOCKED;
    ctr_events_leave(&front->table.joined);
    return cluster_disconnect(base);
}

static void open_cluster(ctr_coordinator *front, const ctr_options *options, bool is_new)
{
    ctr_conn *conn = front->table.joined.conn;
    ctr_table *table = &front->table;
    front->cluster = sqlite3_malloc64(sizeof *front->cluster);
    if (!front->cluster) {
        ctr_problem_nomem(conn);
        return;
    }
    ctr_cluster_open(front->cluster, table->joined.conn, &front->entry->levels, &front->entry->seen,
                     options->table, options->replicas, options->n, is_new);
    if (ctr_rc(conn) != SQLITE_OK) return;
    ctr_shape_copy(conn, &table->shape, &front->cluster->shape);
    size_t n = (size_t)table->shape.n_keys;
    table->keys = sqlite3_malloc64(n * sizeof *table->keys);
    table->given = sqlite3_malloc64(((size_t)table->shape.n_counters + 1) * sizeof *table->given);
    if (table->keys) memset(table->keys, 0, n * sizeof *table->keys);
    if (!table->keys || !table->given) ctr_problem_nomem(conn);
    front->entry->cluster = front->cluster;
}

/* Opens the cluster before its columns are declared. If SQLite reads the changed schema of a
 * replica, it reads that of temp again, too, and frees the table that is being connected. Then this
 * fails with SQLITE_SCHEMA, and SQLite calls again. */
static void open_unless_gone(ctr_coordinator *front, const ctr_options *options, bool is_new)
{
    ctr_conn *conn = front->table.joined.conn;
    if (!is_new && front->entry->seen.birth) { /* nothing is read */
        open_cluster(front, options, is_new);
        return;
    }
    ctr_run run = ctr_run_on(conn, "temp", NULL);
    sqlite3_stmt *temp = ctr_run_prepare(&run, CTR_SQL_TRANSACTION_SCHEMA);
    ctr_run_row(&run, temp);
    sqlite3_reset(temp);
    if (ctr_rc(conn) == SQLITE_OK) open_cluster(front, options, is_new);
    ctr_run_row(&run, temp);
    if (ctr_rc(conn) == SQLITE_OK && sqlite3_stmt_status(temp, SQLITE_STMTSTATUS_REPREPARE, 0) > 0)
        ctr_problem_set(conn, SQLITE_SCHEMA, "the schema of a replica has changed");
    sqlite3_finalize(temp);
}

static void open_front(ctr_coordinator *front, ctr_conn *conn, const char *declaration,
                       const ctr_options *options, bool is_new)
{
    ctr_table *table = &front->table;
    front->entry = clusters_entry(front->clusters, table->name);
    if (!front->entry) {
        ctr_problem_nomem(conn);
        return;
    }
    clusters_declare(conn, front->entry, declaration, is_new, &options->levels);
    ctr_conn_prepare(conn);
    if (ctr_rc(conn) == SQLITE_OK) open_unless_gone(front, options, is_new);
    ctr_table_check_name(conn, &table->shape, table->name);
    ctr_table_declare(table);
}

static ctr_coordinator *make_front(ctr_conn *conn, const char *const *argv)
{
    ctr_coordinator *front = sqlite3_malloc64(sizeof *front);
    if (!front) {
        ctr_problem_nomem(conn);
        return NULL;
    }
    memset(front, 0, sizeof *front);
    ctr_table *table = &front->table;
    table->front = front_methods();
    table->joined.conn = conn;
    front->clusters = conn->fronts;
    table->row = &table->own_rows;
    table->schema = ctr_text_copy(conn, argv[CLUSTER_SCHEMA]);
    table->name = ctr_text_copy(conn, argv[CLUSTER_TABLE]);
    return front;
}

static int start_cluster(ctr_conn *conn, int argc, const char *const *argv, bool is_new,
                         sqlite3_vtab **base, char **message)
{
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    ctr_options options;
    ctr_coordinator *front = make_front(conn, argv);
    ctr_table *table = front ? &front->table : NULL;
    if (problem.rc == SQLITE_OK && sqlite3_stricmp(table->schema, "temp") != 0)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "a cluster belongs to a connection: CREATE VIRTUAL TABLE temp.%s",
                        table->name);
    sqlite3_str *clauses = sqlite3_str_new(NULL);
    for (int i = CLUSTER_CLAUSES; i < argc; i++) sqlite3_str_appendf(clauses, "%s,", argv[i]);
    if (sqlite3_str_errcode(clauses) != SQLITE_OK) ctr_problem_nomem(conn);
    const char *declaration = ctr_text_built(conn, clauses);
    clusters_read_options(conn, &options, argc - CLUSTER_CLAUSES, argv + CLUSTER_CLAUSES);
    if (problem.rc == SQLITE_OK) open_front(front, conn, declaration, &options, is_new);
    clusters_close_options(&options);
    if (problem.rc == SQLITE_OK) *base = &table->joined.base;
    if (problem.rc == SQLITE_OK) return ctr_table_report(&problem, message);
    if (table) ctr_problem_where(conn, "%s", table->name);
    if (table) cluster_disconnect(&table->joined.base);
    return ctr_table_report(&problem, message);
}

static int cluster_create(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **base, char **message)
{
    (void)db;
    return start_cluster(aux, argc, argv, true, base, message);
}

static int cluster_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                           sqlite3_vtab **base, char **message)
{
    (void)db;
    return start_cluster(aux, argc, argv, false, base, message);
}

/* A cluster stores nothing, so the replicas stay unchanged. */
static int cluster_rename(sqlite3_vtab *base, const char *to)
{
    ctr_coordinator *front = (ctr_coordinator *)base;
    ctr_table *table = &front->table;
    ctr_problem problem;
    ctr_problem_begin(table->joined.conn, &problem);
    ctr_table_check_name(table->joined.conn, &table->shape, to);
    ctr_cluster_entry *entry = clusters_entry(front->clusters, to);
    if (!entry) ctr_problem_nomem(table->joined.conn);
    if (problem.rc == SQLITE_OK) {
        const ctr_cluster_entry *from = front->entry;
        clusters_declare(table->joined.conn, entry, from->declaration, true, &from->levels);
        if (from->seen.birth) ctr_clusters_note_seen(table->joined.conn, &entry->seen, &from->seen);
    }
    return ctr_table_fail(table, &problem);
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* A writing statement begins. It reads under the locks. */
static int cluster_begin(sqlite3_vtab *base)
{
    ((ctr_coordinator *)base)->cluster->writes = true;
    return ctr_events_begin(base);
}

static int cluster_savepoint(sqlite3_vtab *base, int level)
{
    ((ctr_coordinator *)base)->cluster->begun = true;
    return ctr_events_savepoint(base, level);
}

/* Call it at the end of a transaction. */
static void member_end(ctr_member *member)
{
    member->locked = member->left_out = false;
    ctr_problem_close(&member->unlocked);
}

/* Call it at the end of a transaction. */
static void end_in_replicas(ctr_cluster *cluster)
{
    for (int i = 0; i < cluster->n; i++) member_end(&cluster->members[i]);
    cluster->leader = NULL;
    cluster->writes = cluster->locked = cluster->begun = false;
}

static int cluster_commit(sqlite3_vtab *base)
{
    end_in_replicas(((ctr_coordinator *)base)->cluster);
    return ctr_events_commit(base);
}

static int cluster_rollback(sqlite3_vtab *base)
{
    end_in_replicas(((ctr_coordinator *)base)->cluster);
    return ctr_events_rollback(base);
}

/* ---- registration ---------------------------------------------------------------------------- */

static void close_clusters(void *clusters)
{
    clusters_close(clusters);
    sqlite3_free(clusters);
}

int ctr_coordinator_register(sqlite3 *db, ctr_conn *conn)
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
                                          .xSync = ctr_events_sync,
                                          .xCommit = cluster_commit,
                                          .xRollback = cluster_rollback,
                                          .xSavepoint = cluster_savepoint,
                                          .xRelease = ctr_events_release,
                                          .xRollbackTo = ctr_events_rollback_to};
    ctr_clusters *clusters = sqlite3_malloc64(sizeof *clusters);
    if (!clusters) return SQLITE_NOMEM;
    *clusters = (ctr_clusters){NULL};
    conn->fronts = clusters;
    conn->close_fronts = close_clusters;
    return sqlite3_create_module_v2(db, "counter_cluster", &MODULE, ctr_conn_hold(conn),
                                    ctr_conn_drop);
}
