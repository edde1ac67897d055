/* cluster/cluster.c - finds and locks the replicas of a cluster, and compares those that are
 * available with a level. */
#include "cluster/cluster.h"

#include <string.h>

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
        if (there) cluster->birth = ctr_text_copy(entry.birth, problem);
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

/* Refuses two replicas that are one file, also by different paths, as hard links are. */
static void refuse_same_files(const ctr_cluster *cluster, ctr_problem *problem)
{
    for (int i = 0; i < cluster->n; i++) {
        const char *other = same_file(cluster, i), *schema = cluster->members[i].schema;
        for (int j = 0; j < i && !other; j++) {
            const char *one = sqlite3_db_filename(cluster->db, schema);
            const char *two = sqlite3_db_filename(cluster->db, cluster->members[j].schema);
            if (one && *one && two && *two && ctr_os_is_same(one, two))
                other = cluster->members[j].schema;
        }
        if (other)
            ctr_problem_set(problem, SQLITE_ERROR, "replicas: %s and %s are one file", other,
                            schema);
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

/* Opens the cluster from memory. The table that was read last may have other columns now, or may be
 * gone. */
static void open_as_seen(ctr_cluster *cluster, ctr_problem *problem)
{
    const ctr_cluster_seen *seen = cluster->seen;
    ctr_problem trouble = {SQLITE_OK, NULL};
    cluster->birth = ctr_text_copy(seen->birth, problem);
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

/* Copies generations and dropped counters of `from`, which was read from the file. */
static int take_generations(ctr_shape *shape, const ctr_shape *from, ctr_problem *problem)
{
    for (int i = 0; i < shape->n_counters; i++) {
        int found = ctr_shape_counter(from, ctr_shape_counter_name(shape, i));
        if (found < 0) continue;
        ctr_column *to = &shape->columns[shape->counters[i]];
        to->generation = from->columns[from->counters[found]].generation;
        to->listed = from->columns[from->counters[found]].listed;
    }
    for (int i = 0; i < from->n_gone; i++)
        ctr_shape_add_gone(shape, from->gone[i].name, from->gone[i].generation, problem);
    return problem->rc;
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
            take_generations(&cluster->shape, shape, problem);
        if (first && problem->rc == SQLITE_OK)
            ctr_clusters_note_seen(cluster->seen, cluster->birth, member->schema,
                                   member->merge.entry.name, shape, problem);
        ctr_shape_check_same(&cluster->shape, first ? "the cluster" : "one replica", shape,
                             member->schema, problem);
        first = false;
    }
    wait_again(cluster, timeout);
    for (int i = 0; i < cluster->n; i++) ctr_member_forget(&cluster->members[i]);
    cluster->read = !first && problem->rc == SQLITE_OK;
}

int ctr_cluster_open(ctr_cluster *cluster, sqlite3 *db, ctr_conn *conn, ctr_levels *levels,
                     ctr_cluster_seen *seen, const char *table, char *const *schemas, int n,
                     bool is_new, ctr_problem *problem)
{
    *cluster = (ctr_cluster){.db = db, .conn = conn, .levels = levels, .seen = seen};
    cluster->members = sqlite3_malloc64((size_t)n * sizeof *cluster->members);
    if (!cluster->members) return ctr_problem_nomem(problem);
    for (; cluster->n < n; cluster->n++)
        ctr_member_open(&cluster->members[cluster->n], db, conn, schemas[cluster->n],
                        &cluster->within, problem);
    refuse_same_files(cluster, problem);
    if (!is_new && seen->birth) {
        open_as_seen(cluster, problem);
    } else {
        if (problem->rc == SQLITE_OK) find_birth(cluster, table, problem);
        if (problem->rc == SQLITE_OK) find_shape(cluster, is_new, problem);
    }
    if (problem->rc == SQLITE_OK && cluster->shape.n_columns == 0)
        ctr_problem_set(problem, SQLITE_ERROR, "the table %s cannot be opened in any replica: %s",
                        cluster->birth, ctr_problem_text(&cluster->members[0].trouble));
    if (cluster->shape.n_keys > CTR_STREAM_KEYS)
        ctr_problem_set(problem, SQLITE_ERROR, "a key of %d columns; a cluster can have %d at most",
                        cluster->shape.n_keys, CTR_STREAM_KEYS);
    if (problem->rc != SQLITE_OK) return problem->rc;
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
                        ctr_site *sites, ctr_problem *problem)
{
    ctr_identity identity = {0};
    const char *local = identity.name;
    if (!ctr_level_needs_centers(level)) return problem->rc;
    for (int i = 0; i < cluster->n; i++) {
        const ctr_member *member = &cluster->members[i];
        if (!member->met)
            ctr_problem_set(
                problem, SQLITE_ERROR,
                "%s=%s needs the data center of each replica, and %s has not been seen yet: %s",
                which, ctr_level_text(level), member->schema, ctr_problem_text(&member->trouble));
        else if (!*member->name)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "%s=%s needs the data center of each replica, and %s has no name: "
                            "SELECT counter_init('dc:rack') before its first counter table",
                            which, ctr_level_text(level), member->schema);
    }
    if (ctr_level_is_local(level) && sqlite3_stricmp(cluster->members[0].schema, "main") == 0)
        local = cluster->members[0].name;
    else if (ctr_level_is_local(level))
        ctr_identity_read(&identity, cluster->db, "main", problem);
    if (ctr_level_is_local(level) && !*local)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s=%s needs the data center of main, and main has no name", which,
                        ctr_level_text(level));
    number_centers(cluster, local, sites);
    return problem->rc;
}

/* `sites` are numbered by find_centers. */
static int refuse_level(const ctr_cluster *cluster, const char *which, ctr_level level,
                        const ctr_site *sites, const ctr_shortage *shortage, ctr_problem *problem)
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
    char *text = sqlite3_str_finish(out);
    if (!text) return ctr_problem_nomem(problem);
    ctr_problem_set(problem, any && locks ? SQLITE_BUSY : SQLITE_ERROR, "%s", text);
    sqlite3_free(text);
    return problem->rc;
}

uint64_t ctr_cluster_parts(const ctr_cluster *cluster)
{
    uint64_t parts = 0;
    for (int i = 0; i < cluster->n; i++)
        if (ctr_member_takes_part(&cluster->members[i])) parts |= (uint64_t)1 << i;
    return parts;
}

int ctr_cluster_require_write(const ctr_cluster *cluster, ctr_problem *problem)
{
    ctr_site sites[CTR_LEVEL_SITES] = {{0, false}};
    ctr_shortage shortage;
    ctr_level level = cluster->levels->write;
    for (int i = 0; i < cluster->n; i++)
        sites[i].available = ctr_member_takes_part(&cluster->members[i]);
    if (problem->rc != SQLITE_OK || find_centers(cluster, "write", level, sites, problem))
        return problem->rc;
    if (!ctr_level_is_met(level, sites, cluster->n, &shortage))
        refuse_level(cluster, "write", level, sites, &shortage, problem);
    return problem->rc;
}

/* ---- reads ----------------------------------------------------------------------------------- */

int ctr_cluster_look(ctr_cluster *cluster, ctr_problem *problem)
{
    cluster->within = !sqlite3_get_autocommit(cluster->db);
    read_unread(cluster, problem);
    for (int i = 0; i < cluster->n; i++) {
        if (!is_doubled(cluster, i, problem))
            ctr_member_look(&cluster->members[i], cluster->birth, &cluster->shape, problem);
    }
    return problem->rc;
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

int ctr_cluster_contact(ctr_cluster *cluster, bool is_writing, uint64_t failed, int *contacts,
                        ctr_problem *problem)
{
    ctr_site sites[CTR_LEVEL_SITES] = {{0, false}};
    ctr_shortage shortage;
    ctr_level level = cluster->levels->read;
    int timeout = 0;
    cluster->within = !sqlite3_get_autocommit(cluster->db);
    read_unread(cluster, problem);
    for (int i = 0; i < cluster->n; i++) {
        bool asked = !(failed & (uint64_t)1 << i);
        if (is_writing)
            sites[i].available = ctr_member_takes_part(&cluster->members[i]);
        else
            sites[i].available = asked && !is_doubled(cluster, i, problem) &&
                                 look_briefly(cluster, i, &cluster->shape, &timeout, problem);
    }
    wait_again(cluster, timeout);
    if (problem->rc != SQLITE_OK || find_centers(cluster, "read", level, sites, problem)) return 0;
    int n = ctr_level_contacts(level, sites, cluster->n, contacts, &shortage);
    if (n < 0) {
        refuse_level(cluster, "read", level, sites, &shortage, problem);
        return 0;
    }
    return is_writing ? contact_parts(cluster, contacts) : n;
}

/* ---- locks ----------------------------------------------------------------------------------- */

static const char *path_of(const ctr_member *member)
{
    const char *path = sqlite3_db_filename(member->db, member->schema);
    return path ? path : "";
}

/* A connection that holds a lock does not wait for another, whose owner may be waiting for it. A
 * busy handler of the host, which has no timeout, stays in place. */
static void lock_all(ctr_cluster *cluster, ctr_problem *problem)
{
    bool holds_lock = false; /* the running statement always has that of temp */
    ctr_run run = ctr_run_on(cluster->db, NULL, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    while (!holds_lock && ctr_run_row(&run, row)) {
        const char *schema = ctr_text_column(row, 1, problem);
        holds_lock = schema && sqlite3_stricmp(schema, "temp") != 0 &&
                     ctr_run_transaction(cluster->db, schema) != 0;
    }
    sqlite3_finalize(row);
    int timeout = holds_lock ? ctr_run_busy_timeout(cluster->db, problem) : 0;
    if (timeout > 0) sqlite3_busy_timeout(cluster->db, 0);

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
        if (ctr_run_has_schema(cluster->db, member->schema) && !same_file(cluster, order[i]))
            ctr_member_lock(member, problem);
    }
    if (timeout > 0) sqlite3_busy_timeout(cluster->db, timeout);
}

/* Locks before it looks, because SQLite does not wait for a lock once it reads. SQLite opens the
 * savepoint of a statement only in temp, where the cluster is; this opens it in the replicas,
 * too. */
int ctr_cluster_lock(ctr_cluster *cluster, ctr_problem *problem)
{
    cluster->within = !sqlite3_get_autocommit(cluster->db);
    if (!cluster->locked) lock_all(cluster, problem);
    cluster->locked = problem->rc == SQLITE_OK;
    read_unread(cluster, problem);
    for (int i = 0; i < cluster->n; i++) {
        if (!is_doubled(cluster, i, problem))
            ctr_member_look_to_write(&cluster->members[i], cluster->birth, &cluster->shape,
                                     problem);
    }
    if (!cluster->begun) return problem->rc;
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK; i++) {
        const ctr_member *member = &cluster->members[i];
        ctr_run run = ctr_run_on(cluster->db, member->schema, NULL, problem);
        if (ctr_member_takes_part(member)) ctr_run_do(&run, CTR_SQL_CLUSTER_MARK, NULL);
    }
    cluster->begun = problem->rc != SQLITE_OK;
    return problem->rc;
}

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

static ctr_level read_level(const char *option, const char *value, ctr_problem *problem)
{
    ctr_level level = ctr_level_from_text(value);
    if (level != CTR_LEVEL_NONE) return level;
    if (sqlite3_stricmp(value, "ANY") == 0)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s=ANY: counters have no such level, because a hint is not a replica",
                        option);
    else if (sqlite3_stricmp(value, "SERIAL") == 0 || sqlite3_stricmp(value, "LOCAL_SERIAL") == 0)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s=%s: counters have no conditional updates and no such level", option,
                        value);
    else
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s=%s: unknown level; there are ONE, TWO, THREE, QUORUM, ALL, LOCAL_ONE, "
                        "LOCAL_QUORUM and EACH_QUORUM",
                        option, value);
    return level;
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* Returns false if the option is none of these. */
static bool set_level(ctr_levels *levels, const char *option, const char *value,
                      ctr_problem *problem)
{
    if (sqlite3_stricmp(option, "read") == 0) {
        levels->read = read_level("read", value, problem);
    } else if (sqlite3_stricmp(option, "write") == 0) {
        levels->write = read_level("write", value, problem);
    } else if (sqlite3_stricmp(option, "read_repair") == 0) {
        levels->repairs = sqlite3_stricmp(value, "blocking") == 0;
        if (!levels->repairs && sqlite3_stricmp(value, "none") != 0)
            ctr_problem_set(problem, SQLITE_ERROR, "read_repair must be blocking or none, not %s",
                            value);
    } else {
        return false;
    }
    return true;
}

/* Splits "name = value". Returns false if there is no equals sign. */
static bool split(const char *clause, char **name, char **value, ctr_problem *problem)
{
    const char *equals = strchr(clause, '=');
    if (!equals) return false;
    *name = ctr_text_unquoted(trim(clause, (size_t)(equals - clause)), problem);
    *value = ctr_text_unquoted(trim(equals + 1, strlen(equals + 1)), problem);
    return true;
}

bool ctr_clusters_set_option(ctr_levels *levels, const char *command, ctr_problem *problem)
{
    char *name = NULL, *value = NULL;
    ctr_levels changed = *levels;
    bool is = split(command, &name, &value, problem);
    is = is && problem->rc == SQLITE_OK && set_level(&changed, name, value, problem);
    if (problem->rc == SQLITE_OK) *levels = changed;
    sqlite3_free(name);
    sqlite3_free(value);
    return is;
}

/* ---- the declaration ------------------------------------------------------------------------- */

/* Main comes first, because reads contact replicas in this order. */
static void read_replicas(ctr_options *options, const char *list, ctr_problem *problem)
{
    if (options->n > 0) ctr_problem_set(problem, SQLITE_ERROR, "replicas is given twice");
    while (*(list += strspn(list, BETWEEN)) && problem->rc == SQLITE_OK) {
        size_t size = strcspn(list, BETWEEN);
        char *name = ctr_text_of((ctr_span){list, size}, problem);
        list += size;
        for (int i = 0; name && i < options->n; i++)
            if (sqlite3_stricmp(options->replicas[i], name) == 0)
                ctr_problem_set(problem, SQLITE_ERROR, "replicas: %s is named twice", name);
        if (options->n == CTR_LEVEL_SITES)
            ctr_problem_set(problem, SQLITE_ERROR, "replicas: a cluster can have %d at most",
                            CTR_LEVEL_SITES);
        if (name && sqlite3_stricmp(name, "temp") == 0)
            ctr_problem_set(problem, SQLITE_ERROR, "replicas: temp cannot be a replica");
        if (problem->rc == SQLITE_OK)
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

static void read_clause(ctr_options *options, const char *clause, ctr_problem *problem)
{
    char *name = NULL, *value = NULL;
    ctr_span whole = trim(clause, strlen(clause));
    if (!split(clause, &name, &value, problem)) {
        ctr_problem_set(problem, SQLITE_ERROR, "cannot read the option '%.*s'", (int)whole.size,
                        whole.text);
        return;
    }
    if (problem->rc == SQLITE_OK && sqlite3_stricmp(name, "replicas") == 0)
        read_replicas(options, value, problem);
    else if (problem->rc == SQLITE_OK && !set_level(&options->levels, name, value, problem))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "unknown option '%s'; there are replicas, read, write and read_repair",
                        name);
    sqlite3_free(name);
    sqlite3_free(value);
}

int ctr_clusters_read_options(ctr_options *options, int n, const char *const *clauses,
                              ctr_problem *problem)
{
    *options = (ctr_options){.levels = {CTR_LEVEL_QUORUM, CTR_LEVEL_QUORUM, false}};
    if (problem->rc != SQLITE_OK) return problem->rc;
    ctr_span table = n > 0 ? trim(clauses[0], strlen(clauses[0])) : (ctr_span){"", 0};
    options->table = ctr_text_unquoted(table, problem);
    if (problem->rc == SQLITE_OK && (!*options->table || strchr(options->table, '=')))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the first argument must be the name of a counter table");
    for (int i = 1; i < n && problem->rc == SQLITE_OK; i++)
        read_clause(options, clauses[i], problem);
    if (options->n == 0)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "replicas is needed: names of attached databases, replicas='main east'");
    return problem->rc;
}

void ctr_clusters_close_options(ctr_options *options)
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

void ctr_clusters_note_seen(ctr_cluster_seen *seen, const char *birth, const char *schema,
                            const char *table, const ctr_shape *shape, ctr_problem *problem)
{
    ctr_cluster_seen made = {.birth = ctr_text_copy(birth, problem),
                             .schema = ctr_text_copy(schema, problem),
                             .table = ctr_text_copy(table, problem)};
    ctr_shape_copy(&made.shape, shape, problem);
    if (problem->rc == SQLITE_OK) {
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

ctr_cluster_entry *ctr_clusters_connected(const ctr_clusters *clusters, sqlite3 *db,
                                          const char *name, ctr_problem *problem)
{
    ctr_cluster_entry *entry = find_entry(clusters, name);
    if (!entry || problem->rc != SQLITE_OK) return NULL;
    if (ctr_schema_object(db, "temp", name, problem) != CTR_OBJECT_VIRTUAL_TABLE) return NULL;
    ctr_run run = ctr_run_on(db, "temp", name, problem);
    sqlite3_finalize(ctr_run_prepare(&run, CTR_SQL_SYNC_JOIN));
    return problem->rc == SQLITE_OK && entry->cluster ? entry : NULL;
}

ctr_cluster_entry *ctr_clusters_entry(ctr_clusters *clusters, const char *name)
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

void ctr_clusters_declare(ctr_cluster_entry *entry, const char *declaration, bool is_new,
                          const ctr_levels *levels, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return;
    if (!is_new && entry->declaration && strcmp(entry->declaration, declaration) == 0) return;
    char *copy = ctr_text_copy(declaration, problem);
    if (!copy) return;
    sqlite3_free(entry->declaration);
    entry->declaration = copy;
    entry->levels = *levels;
    clear_seen(&entry->seen);
}

void ctr_clusters_close(ctr_clusters *clusters)
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
