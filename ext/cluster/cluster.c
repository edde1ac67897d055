/* cluster/cluster.c - opens, looks at and locks the replicas of a cluster, and compares those that
 * are available with a level.
 */
#include "cluster/cluster.h"

#include <string.h>

/* =================================================================================================
 * member - opens, looks at and locks one replica.
 */

/* Columns of CTR_SQL_CLUSTER_LOOK. */
enum { LOOK_TABLE, LOOK_TOKEN, LOOK_ID, LOOK_NAME, LOOK_REFUSES };

/* ---- life ------------------------------------------------------------------------------------ */

static void member_open(ctr_member *member, ctr_conn *conn, const char *schema, const bool *within)
{
    *member = (ctr_member){.conn = conn, .within = within, .schema = ctr_text_copy(conn, schema)};
}

/* Closes the table; the next look opens it again. */
static void member_forget(ctr_member *member)
{
    if (!member->open) return;
    ctr_stream_release(&member->streams);
    ctr_merge_close(&member->merge);
    sqlite3_finalize(member->schema_look);
    sqlite3_finalize(member->look);
    sqlite3_finalize(member->lock);
    member->schema_look = member->look = member->lock = NULL;
    ctr_file_release(member->file);
    member->file = NULL;
    member->open = member->stale = false;
}

static void member_close(ctr_member *member)
{
    member_forget(member);
    ctr_stream_release(&member->streams);
    ctr_problem_close(&member->trouble);
    ctr_problem_close(&member->unlocked);
    sqlite3_free(member->schema);
    *member = (ctr_member){0};
}

/* SQLITE_IOERR_VNODE is the library's own code: the file was moved, and SQLite rolls nothing
 * back. */
bool ctr_member_ends_statement(int rc)
{
    if (rc == SQLITE_IOERR_VNODE) return false;
    int code = rc & 0xff;
    return ctr_problem_rolls_back(rc) || code == SQLITE_SCHEMA || code == SQLITE_ABORT;
}

void ctr_member_fail(ctr_member *member)
{
    bool gone = *member->within && sqlite3_get_autocommit(member->conn->db);
    if (ctr_rc(member->conn) == SQLITE_OK || gone ||
        ctr_member_ends_statement(ctr_rc(member->conn)))
        return;
    ctr_problem_close(&member->trouble);
    member->trouble = ctr_problem_take(member->conn);
}

void ctr_member_blame(ctr_member *member, ctr_problem *trouble)
{
    ctr_member_fail(member);
    ctr_problem_where(member->conn, "replica %s", member->schema);
    ctr_problem_raise(member->conn, trouble);
}

/* If there is no memory for the text, this is an error of the statement, not the replica's
 * trouble. */
static void copy_problem(ctr_conn *conn, ctr_problem *to, const ctr_problem *from)
{
    ctr_problem_close(to);
    if (from->rc == SQLITE_OK) return;
    *to = (ctr_problem){.rc = from->rc, .text = sqlite3_mprintf("%s", ctr_problem_text(from))};
    if (!to->text) ctr_problem_nomem(conn);
}

void ctr_member_bar(ctr_member *member)
{
    if (member->trouble.rc == SQLITE_OK) return;
    member->locked = false;
    copy_problem(member->conn, &member->unlocked, &member->trouble);
}

/* ---- looking --------------------------------------------------------------------------------- */

static bool take_bytes(sqlite3_stmt *row, int column, uint8_t bytes[CTR_ID_SIZE])
{
    const void *found = sqlite3_column_blob(row, column);
    if (!found || sqlite3_column_bytes(row, column) != CTR_ID_SIZE) return false;
    memcpy(bytes, found, CTR_ID_SIZE);
    return true;
}

/* Returns whether name, token and id can be read as before. The id may have changed, and with it
 * the token of the table. If some schema has changed, SQLite has prepared the statement again; this
 * is checked before anything is read, because a column may be an expression now. */
static bool is_as_it_was(ctr_member *member)
{
    if (member->stale) return false;
    ctr_run run = ctr_run_on(member->conn, member->schema, NULL);
    ctr_run_row(&run, member->schema_look);
    sqlite3_reset(member->schema_look);
    bool changed = sqlite3_stmt_status(member->schema_look, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    if (changed || ctr_rc(member->conn) != SQLITE_OK) return false;
    bool found = ctr_run_row(&run, member->look);
    const char *name = found ? ctr_text_column(member->conn, member->look, LOOK_TABLE) : NULL;
    bool same = name && strcmp(name, member->merge.entry.name) == 0 &&
                take_bytes(member->look, LOOK_TOKEN, member->merge.entry.token) &&
                take_bytes(member->look, LOOK_ID, member->id);
    if (same) {
        const char *of_file = ctr_text_column(member->conn, member->look, LOOK_NAME);
        const char *refuses = ctr_text_column(member->conn, member->look, LOOK_REFUSES);
        sqlite3_snprintf(sizeof member->name, member->name, "%s", of_file ? of_file : "");
        sqlite3_snprintf(sizeof member->refuses, member->refuses, "%s", refuses ? refuses : "");
        member->met = true;
    }
    sqlite3_reset(member->look);
    return same;
}

/* Makes sure first that no view and no expression of another file is run. */
static void read_identity(ctr_member *member)
{
    static const char *const TABLES[] = {"counter_replica", "counter_tables",   "counter_sources",
                                         "counter_journal", "counter_segments", "counter_state",
                                         "counter_requests"};
    int n = 0;
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES && ctr_rc(member->conn) == SQLITE_OK;
         i++) {
        n += ctr_schema_is_table(member->conn, member->schema, TABLES[i]);
        if (ctr_rc(member->conn) == SQLITE_OK)
            ctr_schema_refuse_generated(member->conn, member->schema, TABLES[i]);
    }
    if (ctr_rc(member->conn) == SQLITE_OK && n > 1 && n < (int)(sizeof TABLES / sizeof *TABLES))
        ctr_problem_set(member->conn, SQLITE_CORRUPT_VTAB,
                        "one of its own tables is missing: it is damaged");
    if (ctr_rc(member->conn) != SQLITE_OK) return;

    ctr_identity identity;
    if (ctr_identity_read(&identity, member->conn, member->schema)) {
        ctr_identity_offer_fork(member->conn, member->schema);
        return;
    }
    if (!identity.present) {
        member->met = false; /* this is another file than the one with that name */
        ctr_problem_set(member->conn, SQLITE_ERROR, "it has no counter tables");
        return;
    }
    memcpy(member->id, identity.id, CTR_ID_SIZE);
    ctr_conflicts_set_mine(&member->conflicts, &identity);
    memcpy(member->name, identity.name, sizeof member->name);
    member->met = true;
}

/* Opens the table with the birth name. Refuses one that does not fit the cluster. */
static void open_merge(ctr_member *member, const char *birth, const ctr_shape *shape)
{
    const char *schema = member->schema;
    read_identity(member);
    bool there = ctr_merge_open(&member->merge, member->file, birth, &member->conflicts);
    if (!there) ctr_problem_set(member->conn, SQLITE_ERROR, "it has no counter table %s", birth);
    if (there && member->merge.tracked)
        ctr_problem_set(member->conn, SQLITE_ERROR,
                        "%s is a tracked table there, and a cluster takes only counter tables; "
                        "counter_sync merges tracked ones",
                        birth);
    if (ctr_rc(member->conn) != SQLITE_OK) return;
    for (const char *const *suffix = ctr_stored_suffixes(); *suffix; suffix++) {
        const char *stored =
            ctr_text_print(member->conn, "%s_%s", member->merge.entry.name, *suffix);
        if (ctr_rc(member->conn) == SQLITE_OK)
            ctr_schema_refuse_generated(member->conn, schema, stored);
    }
    ctr_shape *mine = &member->merge.shape; /* it takes the order of the cluster's columns */
    member->bounded = mine->bounded;
    if (shape && !ctr_shape_check_same(member->conn, shape, "the cluster", mine, schema)) {
        ctr_shape_close(mine);
        ctr_shape_copy(member->conn, mine, shape);
        ctr_row_reorder(&member->merge.row);
    }
}

static void open_tables(ctr_member *member, const char *birth, const ctr_shape *shape)
{
    member->file = ctr_file_hold(member->conn, member->schema);
    if (!member->file) {
        ctr_problem_nomem(member->conn);
        return;
    }
    member->open = true;
    member->conflicts = (ctr_conflicts){.file = member->file};
    member->streams = (ctr_streams){.conn = member->conn};
    member->floors = (ctr_floors){0};
    open_merge(member, birth, shape);
    if (ctr_rc(member->conn) != SQLITE_OK) return;

    const ctr_shape *mine = &member->merge.shape;
    const char *table = member->merge.row.tab->table;
    member->streams = (ctr_streams){
        .conn = member->conn, .schema = member->schema, .table = table, .shape = mine};
    member->floors = ctr_floors_on(member->merge.row.tab, mine);
    member->floors.only_reads = true;
    ctr_run run = ctr_run_on(member->conn, member->schema, NULL);
    member->schema_look = ctr_run_prepare(&run, CTR_SQL_CLUSTER_SCHEMA);
    member->look = ctr_run_prepare(&run, CTR_SQL_CLUSTER_LOOK);
    ctr_run_bind_text(&run, member->look, ":birth", member->merge.entry.birth);
    member->lock = ctr_run_prepare(&run, CTR_SQL_SYNC_LOCK);
    if (ctr_rc(member->conn) == SQLITE_OK) is_as_it_was(member);
}

/* Looks at the file that is attached now. Returns whether it has the table with the birth name
 * `birth` and the columns of `shape`; NULL: any columns. A failure becomes its trouble; only an
 * error that ends the statement stays at hand. */
static bool member_look(ctr_member *member, const char *birth, const ctr_shape *shape)
{
    if (ctr_rc(member->conn) != SQLITE_OK) return false;
    ctr_problem_close(&member->trouble);
    ctr_problem trouble;
    ctr_problem_try(member->conn, &trouble);
    if (!ctr_run_has_schema(member->conn->db, member->schema)) {
        if (member->streams.out == 0) member_forget(member);
        ctr_problem_set(member->conn, SQLITE_ERROR, "it is not attached");
        ctr_member_blame(member, &trouble);
        return false;
    }
    ctr_events_append(member->conn);
    bool same = member->open && is_as_it_was(member);
    member->stale = member->open && !same && trouble.rc == SQLITE_OK;
    if (!same && member->streams.out > 0)
        ctr_problem_set(member->conn, SQLITE_LOCKED,
                        "it has changed while another statement reads it");
    if (!same && trouble.rc == SQLITE_OK) {
        member_forget(member);
        open_tables(member, birth, shape);
    }
    if (trouble.rc != SQLITE_OK && member->streams.out == 0) member_forget(member);
    ctr_member_blame(member, &trouble);
    member->floors.looked = false;
    return member->open && member->trouble.rc == SQLITE_OK && ctr_rc(member->conn) == SQLITE_OK;
}

/* ---- taking part ----------------------------------------------------------------------------- */

/* Takes the write lock by writing nothing. Call it before the file is read. Forgets conflicts and
 * syncs of earlier transactions here, not at their end: SQLite may roll a transaction back in the
 * middle of a statement that then continues, and a read that repairs may sync a file and then open
 * no transaction. */
static bool member_lock(ctr_member *member)
{
    if (ctr_rc(member->conn) != SQLITE_OK || member->locked) return member->locked;
    member->durable = member->conflicts.own = member->conflicts.replaced = false;
    ctr_problem trouble;
    ctr_problem_try(member->conn, &trouble);
    ctr_run run = ctr_run_on(member->conn, member->schema, NULL);
    if (sqlite3_db_readonly(member->conn->db, member->schema) == 1)
        ctr_problem_set(member->conn, SQLITE_READONLY, "it is read-only");
    if (member->lock) {
        ctr_run_row(&run, member->lock);
        sqlite3_reset(member->lock);
    } else {
        ctr_run_do(&run, CTR_SQL_SYNC_LOCK, NULL);
    }
    member->locked = trouble.rc == SQLITE_OK;
    if (trouble.rc == SQLITE_ERROR) { /* there is no such table */
        ctr_problem_clear(member->conn);
        ctr_problem_set(member->conn, SQLITE_ERROR, "it has no counter tables");
    }
    ctr_member_blame(member, &trouble);
    if (!member->locked) copy_problem(member->conn, &member->unlocked, &member->trouble);
    return member->locked;
}

/* Looks at the file for a writing statement, after member_lock. If that failed, its reason
 * becomes the trouble. */
static void member_look_to_write(ctr_member *member, const char *birth, const ctr_shape *shape)
{
    member->left_out = false;
    if (!member->locked && member->unlocked.rc != SQLITE_OK) {
        copy_problem(member->conn, &member->trouble, &member->unlocked);
        return;
    }
    member_look(member, birth, shape);
    if (!member->locked && member->trouble.rc == SQLITE_OK && ctr_rc(member->conn) == SQLITE_OK) {
        ctr_problem trouble;
        ctr_problem_try(member->conn, &trouble);
        /* It was attached after the locks were taken. */
        ctr_problem_set(member->conn, SQLITE_ERROR,
                        "it was not available when the transaction took its locks: COMMIT first");
        ctr_member_blame(member, &trouble);
    }
}

bool ctr_member_takes_part(const ctr_member *member)
{
    return member->open && member->locked && !member->left_out && member->trouble.rc == SQLITE_OK;
}

void ctr_member_make_durable(ctr_member *member)
{
    if (ctr_rc(member->conn) != SQLITE_OK || member->durable) return;
    ctr_source source = {.conn = member->conn, .schema = member->schema};
    ctr_durable_source(&source);
    member->durable = ctr_rc(member->conn) == SQLITE_OK;
}

/* =================================================================================================
 * cluster - all replicas: which take part, which a read contacts, the order of locks. */

/* ---- waiting --------------------------------------------------------------------------------- */

enum { BRIEFLY = 20 /* milliseconds */ };

/* Looks at a replica. A connection that reads one file already waits only briefly for another: with
 * rollback journals, a writer that commits to both may have locked the second and wait for the
 * reader of the first. `timeout` is the host's timeout, after it was shortened. */
static bool look_briefly(ctr_cluster *cluster, int i, const ctr_shape *shape, int *timeout)
{
    bool there = member_look(&cluster->members[i], cluster->birth, shape);
    if (!there || *timeout > 0) return there;
    *timeout = ctr_run_busy_timeout(cluster->conn);
    if (*timeout > BRIEFLY) sqlite3_busy_timeout(cluster->conn->db, BRIEFLY);
    return ctr_rc(cluster->conn) == SQLITE_OK;
}

static void wait_again(ctr_cluster *cluster, int timeout)
{
    if (timeout > BRIEFLY) sqlite3_busy_timeout(cluster->conn->db, timeout);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Finds the birth name: from the first replica with a table of this name or, if all have renamed
 * it, with a table of this birth name. */
static void find_birth(ctr_cluster *cluster, const char *table)
{
    for (int i = 0; i < 2 * cluster->n && !cluster->birth && ctr_rc(cluster->conn) == SQLITE_OK;
         i++) {
        ctr_problem trouble;
        ctr_problem_try(cluster->conn, &trouble);
        ctr_catalog_entry entry = {0};
        const char *schema = cluster->members[i % cluster->n].schema;
        bool there = ctr_run_has_schema(cluster->conn->db, schema) &&
                     (i < cluster->n ? ctr_catalog_named : ctr_catalog_born)(&entry, cluster->conn,
                                                                             schema, table);
        ctr_problem_end(&trouble);
        if (there) cluster->birth = ctr_text_copy(cluster->conn, entry.birth);
        ctr_catalog_close_entry(&entry);
        if (ctr_member_ends_statement(trouble.rc)) ctr_problem_raise(cluster->conn, &trouble);
        ctr_problem_close(&trouble);
    }
    if (!cluster->birth)
        ctr_problem_set(cluster->conn, SQLITE_ERROR,
                        "no attached replica has a counter table with the name %s", table);
}

/* Returns whether to use `i`, of two names of one file. The name that the transaction has written
 * comes first, then the one that it has read: under the other name it could not commit, or would
 * not see its own writes. Otherwise the one listed first. */
static bool goes_before(const ctr_cluster *cluster, int i, int j)
{
    const ctr_member *one = &cluster->members[i], *other = &cluster->members[j];
    if (one->locked != other->locked) return one->locked;
    int state = ctr_run_transaction(cluster->conn->db, one->schema);
    int of_other = ctr_run_transaction(cluster->conn->db, other->schema);
    return state != of_other ? state > of_other : i < j;
}

/* Returns another name to use for this file, or NULL. One file under two names is one replica, and
 * would wait for its own lock. This is called for each row, so paths are compared before the
 * files. */
static const char *same_file(const ctr_cluster *cluster, int i)
{
    const char *schema = cluster->members[i].schema;
    const char *path = sqlite3_db_filename(cluster->conn->db, schema);
    for (int j = 0; j < cluster->n && path && *path; j++) {
        const char *other = cluster->members[j].schema;
        const char *its_path = j == i ? NULL : sqlite3_db_filename(cluster->conn->db, other);
        if (its_path && strcmp(path, its_path) == 0 &&
            ctr_source_same_file(cluster->conn->db, schema, other) && goes_before(cluster, j, i))
            return other;
    }
    return NULL;
}

/* Refuses two replicas that are one file, also by different paths, as hard links are. */
static void refuse_same_files(const ctr_cluster *cluster)
{
    for (int i = 0; i < cluster->n; i++) {
        const char *other = same_file(cluster, i), *schema = cluster->members[i].schema;
        for (int j = 0; j < i && !other; j++) {
            const char *one = sqlite3_db_filename(cluster->conn->db, schema);
            const char *two = sqlite3_db_filename(cluster->conn->db, cluster->members[j].schema);
            if (one && *one && two && *two && ctr_os_is_same(one, two))
                other = cluster->members[j].schema;
        }
        if (other)
            ctr_problem_set(cluster->conn, SQLITE_ERROR, "replicas: %s and %s are one file", other,
                            schema);
    }
}

/* Returns whether the replica is the same file as another one, attached after the cluster was
 * created. It is not read: a connection cannot commit to a file under one name while it reads it
 * under another. */
static bool is_doubled(ctr_cluster *cluster, int i)
{
    ctr_member *member = &cluster->members[i];
    ctr_problem trouble;
    const char *other = same_file(cluster, i);
    if (!other || ctr_rc(cluster->conn) != SQLITE_OK) return false;
    if (member->streams.out == 0) member_forget(member);
    ctr_problem_try(cluster->conn, &trouble);
    ctr_problem_set(cluster->conn, SQLITE_ERROR, "it is the same file as %s", other);
    ctr_member_blame(member, &trouble);
    return true;
}

/* Opens the cluster from memory. The table that was read last may have other columns now, or may be
 * gone. */
static void open_as_seen(ctr_cluster *cluster)
{
    const ctr_cluster_seen *seen = cluster->seen;
    ctr_problem trouble;
    cluster->birth = ctr_text_copy(cluster->conn, seen->birth);
    if (ctr_rc(cluster->conn) != SQLITE_OK) return;
    ctr_problem_try(cluster->conn, &trouble);
    bool described = ctr_run_has_schema(cluster->conn->db, seen->schema) &&
                     ctr_stored_describe(&cluster->shape, cluster->conn, seen->schema, seen->table,
                                         &seen->shape) == SQLITE_OK;
    if (ctr_member_ends_statement(trouble.rc)) {
        ctr_problem_raise(cluster->conn, &trouble);
        return;
    }
    ctr_problem_close(&trouble);
    if (described) return;
    ctr_shape_close(&cluster->shape);
    ctr_shape_copy(cluster->conn, &cluster->shape, &seen->shape);
}

/* Copies generations and dropped counters of `from`, which was read from the file. */
static void take_generations(ctr_conn *conn, ctr_shape *shape, const ctr_shape *from)
{
    for (int i = 0; i < shape->n_counters; i++) {
        int found = ctr_shape_counter(from, ctr_shape_counter_name(shape, i));
        if (found < 0) continue;
        ctr_column *to = &shape->columns[shape->counters[i]];
        to->generation = from->columns[from->counters[found]].generation;
        to->listed = from->columns[from->counters[found]].listed;
    }
    for (int i = 0; i < from->n_gone; i++)
        ctr_shape_add_gone(conn, shape, from->gone[i].name, from->gone[i].generation);
}

/* The bound may have come to the file since the cluster was opened. */
static void refuse_bound_of(const ctr_member *member)
{
    if (member->bounded)
        ctr_problem_set(member->conn, SQLITE_ERROR,
                        "%s has a bounded counter, and a cluster counts in no such table",
                        member->schema);
}

/* Takes the columns of the first table that can be opened. In a new cluster the others must agree;
 * in an existing one, a replica with other counters is unavailable. */
static void find_shape(ctr_cluster *cluster, bool is_new)
{
    int timeout = 0;
    bool first = true;
    for (int i = 0; i < cluster->n && ctr_rc(cluster->conn) == SQLITE_OK && (first || is_new);
         i++) {
        ctr_member *member = &cluster->members[i];
        if (!ctr_run_has_schema(cluster->conn->db, member->schema)) continue;
        if (!look_briefly(cluster, i, NULL, &timeout)) continue;
        const ctr_shape *shape = &member->merge.shape;
        if (cluster->shape.n_columns == 0)
            ctr_shape_copy(cluster->conn, &cluster->shape, shape);
        else if (first)
            take_generations(cluster->conn, &cluster->shape, shape);
        refuse_bound_of(member);
        const ctr_cluster_seen seen = {cluster->birth, member->schema, member->merge.entry.name,
                                       *shape};
        if (first && ctr_rc(cluster->conn) == SQLITE_OK)
            ctr_clusters_note_seen(cluster->conn, cluster->seen, &seen);
        ctr_shape_check_same(cluster->conn, &cluster->shape, first ? "the cluster" : "one replica",
                             shape, member->schema);
        first = false;
    }
    wait_again(cluster, timeout);
    for (int i = 0; i < cluster->n; i++) member_forget(&cluster->members[i]);
    cluster->read = !first && ctr_rc(cluster->conn) == SQLITE_OK;
}

void ctr_cluster_open(ctr_cluster *cluster, ctr_conn *conn, ctr_levels *levels,
                      ctr_cluster_seen *seen, const char *table, char *const *schemas, int n,
                      bool is_new)
{
    *cluster = (ctr_cluster){.conn = conn, .levels = levels, .seen = seen};
    cluster->members = sqlite3_malloc64((size_t)n * sizeof *cluster->members);
    if (!cluster->members) {
        ctr_problem_nomem(conn);
        return;
    }
    for (; cluster->n < n; cluster->n++)
        member_open(&cluster->members[cluster->n], conn, schemas[cluster->n], &cluster->within);
    refuse_same_files(cluster);
    if (!is_new && seen->birth) {
        open_as_seen(cluster);
    } else {
        if (ctr_rc(conn) == SQLITE_OK) find_birth(cluster, table);
        if (ctr_rc(conn) == SQLITE_OK) find_shape(cluster, is_new);
    }
    if (ctr_rc(conn) == SQLITE_OK && cluster->shape.n_columns == 0)
        ctr_problem_set(conn, SQLITE_ERROR, "the table %s cannot be opened in any replica: %s",
                        cluster->birth, ctr_problem_text(&cluster->members[0].trouble));
    if (cluster->shape.n_keys > CTR_STREAM_KEYS)
        ctr_problem_set(conn, SQLITE_ERROR, "a key of %d columns; a cluster can have %d at most",
                        cluster->shape.n_keys, CTR_STREAM_KEYS);
    if (ctr_rc(conn) != SQLITE_OK) return;
    size_t size = ((size_t)cluster->shape.n_counters + 1) * sizeof *cluster->row.cells;
    cluster->row.cells = sqlite3_malloc64(size);
    if (!cluster->row.cells) {
        ctr_problem_nomem(conn);
        return;
    }
    memset(cluster->row.cells, 0, size);
}

/* Reads the shape of a cluster that was opened from memory. */
static void read_unread(ctr_cluster *cluster)
{
    if (!cluster->read && ctr_rc(cluster->conn) == SQLITE_OK) find_shape(cluster, false);
}

void ctr_cluster_close(ctr_cluster *cluster)
{
    for (int i = 0; i < cluster->n; i++) member_close(&cluster->members[i]);
    for (int i = 0; cluster->row.cells && i < cluster->shape.n_counters; i++) {
        sqlite3_free(cluster->row.cells[i].bytes);
        sqlite3_free(cluster->row.cells[i].spare);
    }
    sqlite3_free(cluster->row.cells);
    sqlite3_free(cluster->members);
    sqlite3_free(cluster->birth);
    for (int i = 0; i < CTR_STREAM_KEYS; i++) sqlite3_finalize(cluster->compares[i]);
    ctr_shape_close(&cluster->shape);
    *cluster = (ctr_cluster){0};
}

/* ---- enough replicas for a level ------------------------------------------------------------- */

/* Returns the size of "dc1" in "dc1:rack1". */
static size_t dc_size(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon ? (size_t)(colon - name) : 0;
}

static bool same_dc(const char *a, const char *b)
{
    return dc_size(a) == dc_size(b) && memcmp(a, b, dc_size(a)) == 0;
}

/* Numbers the data centers in the order of replicas; the local one is 0. */
static void number_centers(const ctr_cluster *cluster, const char *local, ctr_site *sites)
{
    int n = 1;
    for (int i = 0; i < cluster->n; i++) {
        const char *name = cluster->members[i].name;
        int before = 0;
        while (before < i && !same_dc(cluster->members[before].name, name)) before++;
        if (same_dc(local, name))
            sites[i].dc = 0;
        else
            sites[i].dc = before < i ? sites[before].dc : n++;
    }
}

/* The local data center is that of main, which is the first replica, or none. */
static int find_centers(const ctr_cluster *cluster, const char *which, ctr_level level,
                        ctr_site *sites)
{
    ctr_identity identity = {0};
    const char *local = identity.name;
    if (!ctr_level_needs_centers(level)) return ctr_rc(cluster->conn);
    for (int i = 0; i < cluster->n; i++) {
        const ctr_member *member = &cluster->members[i];
        if (!member->met)
            ctr_problem_set(
                cluster->conn, SQLITE_ERROR,
                "%s=%s needs the data center of each replica, and %s has not been seen yet: %s",
                which, ctr_level_text(level), member->schema, ctr_problem_text(&member->trouble));
        else if (!*member->name)
            ctr_problem_set(cluster->conn, SQLITE_ERROR,
                            "%s=%s needs the data center of each replica, and %s has no name: "
                            "SELECT counter_init('dc:rack') before its first counter table",
                            which, ctr_level_text(level), member->schema);
    }
    if (ctr_level_is_local(level) && sqlite3_stricmp(cluster->members[0].schema, "main") == 0)
        local = cluster->members[0].name;
    else if (ctr_level_is_local(level))
        ctr_identity_read(&identity, cluster->conn, "main");
    if (ctr_level_is_local(level) && !*local)
        ctr_problem_set(cluster->conn, SQLITE_ERROR,
                        "%s=%s needs the data center of main, and main has no name", which,
                        ctr_level_text(level));
    number_centers(cluster, local, sites);
    return ctr_rc(cluster->conn);
}

/* `sites` are numbered by find_centers. */
static void refuse_level(const ctr_cluster *cluster, const char *which, ctr_level level,
                         const ctr_site *sites, const ctr_shortage *shortage)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendf(out, "%s=%s needs %d of %d replica%s", which, ctr_level_text(level),
                        shortage->needed, shortage->n, shortage->n == 1 ? "" : "s");
    if (shortage->dc >= 0) {
        int at = 0;
        while (at < cluster->n && sites[at].dc != shortage->dc) at++;
        if (at < cluster->n)
            sqlite3_str_appendf(out, " in %.*s", (int)dc_size(cluster->members[at].name),
                                cluster->members[at].name);
        else
            sqlite3_str_appendall(out, " in the data center of main");
    }
    sqlite3_str_appendf(out, ", %d %s available", shortage->available,
                        shortage->available == 1 ? "is" : "are");
    bool any = false, locks = true; /* are only locks missing? */
    for (int i = 0; i < cluster->n; i++) {
        const ctr_problem *trouble = &cluster->members[i].trouble;
        int code = trouble->rc & 0xff;
        if (trouble->rc == SQLITE_OK) continue;
        sqlite3_str_appendf(out, "%s%s: %s", any ? "; " : ": ", cluster->members[i].schema,
                            ctr_problem_text(trouble));
        locks = locks && (code == SQLITE_BUSY || code == SQLITE_LOCKED);
        any = true;
    }
    const char *text = ctr_text_built(cluster->conn, out);
    ctr_problem_set(cluster->conn, any && locks ? SQLITE_BUSY : SQLITE_ERROR, "%s", text);
}

uint64_t ctr_cluster_parts(const ctr_cluster *cluster)
{
    uint64_t parts = 0;
    for (int i = 0; i < cluster->n; i++)
        if (ctr_member_takes_part(&cluster->members[i])) parts |= (uint64_t)1 << i;
    return parts;
}

int ctr_cluster_require_write(const ctr_cluster *cluster)
{
    ctr_site sites[CTR_LEVEL_SITES] = {{0, false}};
    ctr_shortage shortage;
    ctr_level level = cluster->levels->write;
    for (int i = 0; i < cluster->n; i++)
        sites[i].available = ctr_member_takes_part(&cluster->members[i]);
    if (ctr_rc(cluster->conn) != SQLITE_OK || find_centers(cluster, "write", level, sites))
        return ctr_rc(cluster->conn);
    if (!ctr_level_is_met(level, sites, cluster->n, &shortage))
        refuse_level(cluster, "write", level, sites, &shortage);
    return ctr_rc(cluster->conn);
}

/* ---- reads ----------------------------------------------------------------------------------- */

void ctr_cluster_look(ctr_cluster *cluster)
{
    cluster->within = !sqlite3_get_autocommit(cluster->conn->db);
    read_unread(cluster);
    for (int i = 0; i < cluster->n; i++) {
        if (!is_doubled(cluster, i))
            member_look(&cluster->members[i], cluster->birth, &cluster->shape);
    }
}

/* Contacts all replicas that take part in the write. */
static int contact_parts(ctr_cluster *cluster, int *contacts)
{
    int n = 0;
    uint64_t parts = ctr_cluster_parts(cluster);
    for (int i = 0; i < cluster->n; i++)
        if (parts & (uint64_t)1 << i) contacts[n++] = i;
    if (cluster->readings == 0)
        cluster->read_from = parts;
    else if (parts != cluster->read_from)
        cluster->read_from = 0;
    return n;
}

int ctr_cluster_contact(ctr_cluster *cluster, bool is_writing, uint64_t failed, int *contacts)
{
    ctr_site sites[CTR_LEVEL_SITES] = {{0, false}};
    ctr_shortage shortage;
    ctr_level level = cluster->levels->read;
    int timeout = 0;
    cluster->within = !sqlite3_get_autocommit(cluster->conn->db);
    read_unread(cluster);
    for (int i = 0; i < cluster->n; i++) {
        bool asked = !(failed & (uint64_t)1 << i);
        if (is_writing)
            sites[i].available = ctr_member_takes_part(&cluster->members[i]);
        else
            sites[i].available = asked && !is_doubled(cluster, i) &&
                                 look_briefly(cluster, i, &cluster->shape, &timeout);
    }
    wait_again(cluster, timeout);
    if (ctr_rc(cluster->conn) != SQLITE_OK || find_centers(cluster, "read", level, sites)) return 0;
    int n = ctr_level_contacts(level, sites, cluster->n, contacts, &shortage);
    if (n < 0) {
        refuse_level(cluster, "read", level, sites, &shortage);
        return 0;
    }
    return is_writing ? contact_parts(cluster, contacts) : n;
}

/* ---- locks ----------------------------------------------------------------------------------- */

static const char *path_of(const ctr_member *member)
{
    const char *path = sqlite3_db_filename(member->conn->db, member->schema);
    return path ? path : "";
}

/* A connection that holds a lock does not wait for another, whose owner may be waiting for it. A
 * busy handler of the host, which has no timeout, stays in place. */
static void lock_all(ctr_cluster *cluster)
{
    bool holds_lock = false; /* the running statement always has that of temp */
    ctr_run run = ctr_run_on(cluster->conn, NULL, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    while (!holds_lock && ctr_run_row(&run, row)) {
        const char *schema = ctr_text_column(cluster->conn, row, 1);
        holds_lock = schema && sqlite3_stricmp(schema, "temp") != 0 &&
                     ctr_run_transaction(cluster->conn->db, schema) != 0;
    }
    sqlite3_finalize(row);
    int timeout = holds_lock ? ctr_run_busy_timeout(cluster->conn) : 0;
    if (timeout > 0) sqlite3_busy_timeout(cluster->conn->db, 0);

    int order[CTR_LEVEL_SITES];
    for (int i = 0; i < cluster->n; i++) { /* by path */
        int at = i;
        const char *path = path_of(&cluster->members[i]);
        for (; at > 0 && strcmp(path_of(&cluster->members[order[at - 1]]), path) > 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < cluster->n; i++) {
        ctr_member *member = &cluster->members[order[i]];
        if (ctr_run_has_schema(cluster->conn->db, member->schema) && !same_file(cluster, order[i]))
            member_lock(member);
    }
    if (timeout > 0) sqlite3_busy_timeout(cluster->conn->db, timeout);
}

/* Locks before it looks, because SQLite does not wait for a lock once it reads. SQLite opens the
 * savepoint of a statement only in temp, where the cluster is; this opens it in the replicas,
 * too. */
int ctr_cluster_lock(ctr_cluster *cluster)
{
    cluster->within = !sqlite3_get_autocommit(cluster->conn->db);
    if (!cluster->locked) lock_all(cluster);
    cluster->locked = ctr_rc(cluster->conn) == SQLITE_OK;
    read_unread(cluster);
    for (int i = 0; i < cluster->n; i++) {
        if (!is_doubled(cluster, i))
            member_look_to_write(&cluster->members[i], cluster->birth, &cluster->shape);
        if (ctr_member_takes_part(&cluster->members[i])) refuse_bound_of(&cluster->members[i]);
    }
    if (!cluster->begun) return ctr_rc(cluster->conn);
    for (int i = 0; i < cluster->n && ctr_rc(cluster->conn) == SQLITE_OK; i++) {
        const ctr_member *member = &cluster->members[i];
        ctr_run run = ctr_run_on(cluster->conn, member->schema, NULL);
        if (ctr_member_takes_part(member)) ctr_run_do(&run, CTR_SQL_CLUSTER_MARK, NULL);
    }
    cluster->begun = ctr_rc(cluster->conn) != SQLITE_OK;
    return ctr_rc(cluster->conn);
}
