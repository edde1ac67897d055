/* sync/cluster.c - which replicas take part, and who leads. */
#include "sync/cluster.h"

#include <string.h>

#include "store/replacement.h"
#include "store/watch.h"
#include "sync/agree.h"
#include "sync/durable.h"

/* ---- waiting --------------------------------------------------------------------------------- */

enum { BRIEFLY = 20 /* milliseconds */ };

/* Looks at a replica. Who can read one file already waits for another only briefly: with rollback
 * journals the one who is about to commit to both may have locked the other and wait for the reader of
 * the first. `timeout` is the one of the host, once it has been shortened. */
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

/* The name of birth, from the first replica that has a table of this name. */
static void find_birth(ctr_cluster *cluster, const char *table, ctr_problem *problem)
{
    for (int i = 0; i < cluster->n && !cluster->birth && problem->rc == SQLITE_OK; i++) {
        ctr_problem trouble = {SQLITE_OK, NULL};
        ctr_catalog_entry entry = {0};
        const char *schema = cluster->members[i].schema;
        bool there = ctr_run_has_schema(cluster->db, schema) &&
                     ctr_shape_is_table(cluster->db, schema, "counter_tables", &trouble) &&
                     ctr_catalog_named(&entry, cluster->db, schema, table, &trouble);
        if (there) cluster->birth = sqlite3_mprintf("%s", entry.birth);
        if (there && !cluster->birth) ctr_problem_nomem(problem);
        ctr_catalog_close_entry(&entry);
        ctr_problem_close(&trouble);
    }
    if (!cluster->birth)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "no attached replica has a counter table with the name %s", table);
}

/* One file under two names would wait for its own lock. */
static void refuse_same_files(const ctr_cluster *cluster, ctr_problem *problem)
{
    for (int i = 0; i < cluster->n; i++)
        for (int j = 0; j < i; j++)
            if (ctr_source_same_file(cluster->db, cluster->members[i].schema,
                                     cluster->members[j].schema))
                ctr_problem_set(problem, SQLITE_ERROR, "replicas: %s and %s are one file",
                                cluster->members[j].schema, cluster->members[i].schema);
}

/* The columns are those of the first table that can be opened; the others must agree. */
static void find_shape(ctr_cluster *cluster, ctr_problem *problem)
{
    int timeout = 0;
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[i];
        bool first = cluster->shape.n_columns == 0;
        if (!ctr_run_has_schema(cluster->db, member->schema)) continue;
        if (!look_briefly(cluster, i, NULL, &timeout, problem)) continue;
        if (first)
            ctr_shape_copy(&cluster->shape, &member->merge.shape, problem);
        else
            ctr_agree_check(&cluster->shape, "one replica", &member->merge.shape, member->schema,
                            problem);
    }
    wait_again(cluster, timeout);
    if (problem->rc == SQLITE_OK && cluster->shape.n_columns == 0)
        ctr_problem_set(problem, SQLITE_ERROR, "the table %s cannot be opened in any replica: %s",
                        cluster->birth, ctr_problem_text(&cluster->members[0].trouble));
    if (cluster->shape.n_keys > CTR_STREAM_KEYS)
        ctr_problem_set(problem, SQLITE_ERROR, "a key of %d columns; a cluster can have %d at most",
                        cluster->shape.n_keys, CTR_STREAM_KEYS);
}

int ctr_cluster_open(ctr_cluster *cluster, sqlite3 *db, ctr_guard *guard, ctr_levels *levels,
                     const char *table, char *const *schemas, int n, ctr_problem *problem)
{
    *cluster = (ctr_cluster){.db = db, .guard = guard, .levels = levels};
    cluster->members = sqlite3_malloc64((size_t)n * sizeof *cluster->members);
    if (!cluster->members) return ctr_problem_nomem(problem);
    for (; cluster->n < n; cluster->n++)
        ctr_member_open(&cluster->members[cluster->n], db, guard, schemas[cluster->n], problem);
    refuse_same_files(cluster, problem);
    if (problem->rc == SQLITE_OK) find_birth(cluster, table, problem);
    find_shape(cluster, problem);
    if (problem->rc != SQLITE_OK) return problem->rc;
    for (int i = 0; i < n; i++) ctr_member_forget(&cluster->members[i]);
    ctr_collator_open(&cluster->collator, db, &cluster->shape, problem);
    size_t size = (size_t)cluster->shape.n_counters * sizeof *cluster->row.cells;
    cluster->row.cells = sqlite3_malloc64(size);
    if (!cluster->row.cells) return ctr_problem_nomem(problem);
    memset(cluster->row.cells, 0, size);
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

/* ---- levels ---------------------------------------------------------------------------------- */

/* "dc1" of "dc1:rack1"; how many bytes. */
static size_t dc_size(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon ? (size_t)(colon - name) : 0;
}

static bool same_dc(const char *a, const char *b)
{
    return dc_size(a) == dc_size(b) && memcmp(a, b, dc_size(a)) == 0;
}

/* Numbers the data centres as they come; the local one is 0. */
static void number_places(const ctr_cluster *cluster, const char *local, ctr_site *sites)
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

/* The name of main, whose data centre is the local one; main is the first replica, or none. */
static void read_local(const ctr_cluster *cluster, char name[CTR_NAME_MAX + 1],
                       ctr_problem *problem)
{
    ctr_identity identity = {0};
    if (sqlite3_stricmp(cluster->members[0].schema, "main") == 0)
        memcpy(identity.name, cluster->members[0].name, sizeof identity.name);
    else
        ctr_identity_read(&identity, cluster->db, "main", problem);
    memcpy(name, identity.name, sizeof identity.name);
}

static int place(const ctr_cluster *cluster, const char *which, ctr_level level, ctr_site *sites,
                 ctr_problem *problem)
{
    char local[CTR_NAME_MAX + 1] = "";
    if (!ctr_level_needs_places(level)) return problem->rc;
    for (int i = 0; i < cluster->n; i++) {
        const ctr_member *member = &cluster->members[i];
        if (!member->met)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "%s=%s asks in which data centre each replica is, and %s has not been "
                            "seen yet: %s",
                            which, ctr_level_text(level), member->schema,
                            ctr_problem_text(&member->trouble));
        else if (!*member->name)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "%s=%s asks in which data centre each replica is, and %s has no name: "
                            "SELECT counter_init('dc:rack') before its first counter table",
                            which, ctr_level_text(level), member->schema);
    }
    if (ctr_level_is_local(level)) read_local(cluster, local, problem);
    if (ctr_level_is_local(level) && !*local)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s=%s means the data centre of main, and main has no name", which,
                        ctr_level_text(level));
    number_places(cluster, local, sites);
    return problem->rc;
}

static void append_reasons(const ctr_cluster *cluster, sqlite3_str *out)
{
    const char *colon = ": ";
    for (int i = 0; i < cluster->n; i++) {
        const ctr_member *member = &cluster->members[i];
        if (member->trouble.rc == SQLITE_OK) continue;
        sqlite3_str_appendf(out, "%s%s: %s", colon, member->schema,
                            ctr_problem_text(&member->trouble));
        colon = "; ";
    }
}

static void append_place(const ctr_cluster *cluster, const ctr_shortage *shortage, ctr_level level,
                         sqlite3_str *out)
{
    ctr_site sites[CTR_LEVEL_SITES] = {{0, false}};
    ctr_problem problem = {SQLITE_OK, NULL};
    if (shortage->dc < 0 || place(cluster, "", level, sites, &problem) != SQLITE_OK) {
        ctr_problem_close(&problem);
        return;
    }
    int at = 0;
    while (at < cluster->n && sites[at].dc != shortage->dc) at++;
    if (at < cluster->n)
        sqlite3_str_appendf(out, " in %.*s", (int)dc_size(cluster->members[at].name),
                            cluster->members[at].name);
    else
        sqlite3_str_appendall(out, " in the data centre of main");
}

/* Whoever is told that locks are all that is missing may try again. */
static bool only_locks(const ctr_cluster *cluster)
{
    bool any = false;
    for (int i = 0; i < cluster->n; i++) {
        int code = cluster->members[i].trouble.rc & 0xff;
        if (code == SQLITE_OK) continue;
        if (code != SQLITE_BUSY && code != SQLITE_LOCKED) return false;
        any = true;
    }
    return any;
}

int ctr_cluster_refuse(const ctr_cluster *cluster, const char *which, ctr_level level,
                       const ctr_shortage *shortage, ctr_problem *problem)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendf(out, "%s=%s needs %d of %d replica%s", which, ctr_level_text(level),
                        shortage->needed, shortage->n, shortage->n == 1 ? "" : "s");
    append_place(cluster, shortage, level, out);
    sqlite3_str_appendf(out, ", %d %s available", shortage->available,
                        shortage->available == 1 ? "is" : "are");
    append_reasons(cluster, out);
    char *text = sqlite3_str_finish(out);
    if (!text) return ctr_problem_nomem(problem);
    ctr_problem_set(problem, only_locks(cluster) ? SQLITE_BUSY : SQLITE_ERROR, "%s", text);
    sqlite3_free(text);
    return problem->rc;
}

/* ---- reads ----------------------------------------------------------------------------------- */

int ctr_cluster_look(ctr_cluster *cluster, ctr_problem *problem)
{
    for (int i = 0; i < cluster->n; i++)
        ctr_member_look(&cluster->members[i], cluster->birth, &cluster->shape, problem);
    return problem->rc;
}

int ctr_cluster_contact(ctr_cluster *cluster, uint64_t failed, int *contacts, ctr_problem *problem)
{
    ctr_site sites[CTR_LEVEL_SITES] = {{0, false}};
    ctr_shortage shortage;
    ctr_level level = cluster->levels->read;
    int timeout = 0;
    for (int i = 0; i < cluster->n; i++) {
        bool asked = !(failed & (uint64_t)1 << i);
        sites[i].available = asked && look_briefly(cluster, i, &cluster->shape, &timeout, problem);
    }
    wait_again(cluster, timeout);
    if (problem->rc != SQLITE_OK || place(cluster, "read", level, sites, problem)) return 0;
    int n = ctr_level_contacts(level, sites, cluster->n, contacts, &shortage);
    if (n < 0) ctr_cluster_refuse(cluster, "read", level, &shortage, problem);
    return n < 0 ? 0 : n;
}

/* ---- locks ----------------------------------------------------------------------------------- */

static bool is_reading(sqlite3 *db, const char *schema)
{
#if SQLITE_VERSION_NUMBER >= 3034000
    if (sqlite3_libversion_number() >= 3034000)
        return sqlite3_txn_state(db, schema) != SQLITE_TXN_NONE;
#endif
    (void)schema;
    return !sqlite3_get_autocommit(db);
}

/* Does this connection hold a lock of some file already? The statement at work has that of temp. */
static bool holds_lock(sqlite3 *db, ctr_problem *problem)
{
    bool holds = false;
    ctr_run run = ctr_run_on(db, NULL, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CLUSTER_DATABASES);
    while (!holds && ctr_run_row(&run, row)) {
        const char *schema = (const char *)sqlite3_column_text(row, 1);
        holds = schema && sqlite3_stricmp(schema, "temp") != 0 && is_reading(db, schema);
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

/* Who holds a lock already does not wait for another: the one who has that may be waiting for him.
 * A busy handler of the host's own, which has no timeout, is not touched. */
static void lock_all(ctr_cluster *cluster, ctr_problem *problem)
{
    int order[CTR_LEVEL_SITES];
    int timeout = holds_lock(cluster->db, problem) ? ctr_run_busy_timeout(cluster->db, problem) : 0;
    if (timeout > 0) sqlite3_busy_timeout(cluster->db, 0);
    sort_by_path(cluster, order);
    for (int i = 0; i < cluster->n; i++) {
        ctr_member *member = &cluster->members[order[i]];
        if (ctr_run_has_schema(cluster->db, member->schema)) ctr_member_lock(member, problem);
    }
    if (timeout > 0) sqlite3_busy_timeout(cluster->db, timeout);
}

/* What a replica has counted in this transaction without us is in no file yet. Were it given to
 * others, a crash between the commits could make the replica count under the same clocks again. */
static int refuse_pending(const ctr_cluster *cluster, ctr_problem *problem)
{
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK; i++) {
        const ctr_member *member = &cluster->members[i];
        if (!member->open || member == cluster->leader) continue;
        if (ctr_watch_has_counted(member->merge.rows.post))
            ctr_problem_set(problem, SQLITE_ERROR,
                            "%s has counted in this transaction, and only what is committed is "
                            "given to other replicas: COMMIT first",
                            member->schema);
    }
    return problem->rc;
}

/* The savepoint of a statement is opened in temp alone, where the cluster stands. */
static void mark_all(ctr_cluster *cluster, ctr_problem *problem)
{
    for (int i = 0; i < cluster->n && problem->rc == SQLITE_OK; i++) {
        const ctr_member *member = &cluster->members[i];
        ctr_run run = ctr_run_on(cluster->db, member->schema, NULL, problem);
        if (ctr_member_takes_part(member)) ctr_run_do(&run, CTR_SQL_CLUSTER_MARK, NULL);
    }
    cluster->begun = problem->rc != SQLITE_OK;
}

/* Locks before looks, for SQLite does not wait for a lock once it reads. */
int ctr_cluster_lock(ctr_cluster *cluster, ctr_problem *problem)
{
    bool locks = !cluster->locked;
    if (locks) lock_all(cluster, problem);
    cluster->locked = problem->rc == SQLITE_OK;
    for (int i = 0; i < cluster->n; i++)
        ctr_member_look_to_write(&cluster->members[i], cluster->birth, &cluster->shape, problem);
    if (cluster->begun) mark_all(cluster, problem);
    return problem->rc;
}

/* ---- the leader ------------------------------------------------------------------------------ */

static int check_level(const ctr_cluster *cluster, ctr_problem *problem)
{
    ctr_site sites[CTR_LEVEL_SITES] = {{0, false}};
    ctr_shortage shortage;
    ctr_level level = cluster->levels->write;
    for (int i = 0; i < cluster->n; i++)
        sites[i].available = ctr_member_takes_part(&cluster->members[i]);
    if (problem->rc != SQLITE_OK || place(cluster, "write", level, sites, problem))
        return problem->rc;
    if (!ctr_level_is_met(level, sites, cluster->n, &shortage))
        ctr_cluster_refuse(cluster, "write", level, &shortage, problem);
    return problem->rc;
}

static ctr_member *member_of(ctr_cluster *cluster, const char *schema)
{
    for (int i = 0; i < cluster->n; i++)
        if (sqlite3_stricmp(cluster->members[i].schema, schema) == 0) return &cluster->members[i];
    return NULL;
}

/* A replica that may take what others have may yet be one that must not count: then it takes no part,
 * for whoever leads instead would commit after it. */
static bool may_lead(ctr_member *member, ctr_problem *problem)
{
    ctr_problem trouble = {SQLITE_OK, NULL};
    bool may = ctr_watch_may_count(member->merge.rows.post, &trouble);
    ctr_member_fail(member, &trouble);
    if (trouble.rc != SQLITE_OK) *problem = trouble;
    return may;
}

static ctr_member *choose_leader(ctr_cluster *cluster, ctr_problem *problem)
{
    ctr_member *leader = NULL;
    ctr_run run = ctr_run_on(cluster->db, NULL, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CLUSTER_DATABASES);
    while (!leader && ctr_run_row(&run, row)) {
        ctr_member *member = member_of(cluster, (const char *)sqlite3_column_text(row, 1));
        if (member && ctr_member_takes_part(member) && may_lead(member, problem)) leader = member;
    }
    sqlite3_finalize(row);
    return leader;
}

/* The others are held against their identity too: a copy among them takes its new id now. */
static void check_identities(ctr_cluster *cluster, ctr_problem *problem)
{
    for (int i = 0; i < cluster->n; i++) {
        ctr_member *member = &cluster->members[i];
        if (!ctr_member_takes_part(member)) continue;
        ctr_problem trouble = {SQLITE_OK, NULL};
        const ctr_identity *identity = ctr_watch_merge(member->merge.rows.post, &trouble);
        if (identity) ctr_conflicts_set_mine(&member->conflicts, identity);
        ctr_member_fail(member, &trouble);
        if (trouble.rc != SQLITE_OK) *problem = trouble;
    }
}

/* Do the files with a rollback journal commit as one? SQLite has them do so if there are several and
 * main is a file. */
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

static void meet_other(ctr_member *member, const ctr_member *other, ctr_problem *problem)
{
    ctr_identity identity;
    ctr_problem trouble = {SQLITE_OK, NULL};
    if (problem->rc != SQLITE_OK || !ctr_member_takes_part(member)) return;
    const ctr_identity *theirs = ctr_watch_merge(other->merge.rows.post, &trouble);
    if (theirs) identity = *theirs;
    if (theirs)
        ctr_replacement_meet(member->merge.rows.post, other->db, other->schema, &identity,
                             &trouble);
    ctr_member_fail(member, &trouble);
    if (trouble.rc != SQLITE_OK) *problem = trouble;
}

/* All tell each other which names have been replaced; mostly there is none. */
static void meet_all(ctr_cluster *cluster, ctr_problem *problem)
{
    for (int i = 0; i < cluster->n; i++)
        for (int j = 0; j < cluster->n; j++)
            if (i != j && ctr_member_takes_part(&cluster->members[j]))
                meet_other(&cluster->members[i], &cluster->members[j], problem);
}

int ctr_cluster_lead(ctr_cluster *cluster, ctr_problem *problem)
{
    if (check_level(cluster, problem)) return problem->rc;
    if (cluster->leader && ctr_member_takes_part(cluster->leader) &&
        ctr_watch_checked(cluster->leader->merge.rows.post))
        return refuse_pending(cluster, problem);
    check_identities(cluster, problem);
    meet_all(cluster, problem);
    ctr_member *leader = check_level(cluster, problem) ? NULL : choose_leader(cluster, problem);
    if (check_level(cluster, problem)) return problem->rc;
    if (leader != cluster->leader)
        ctr_durable_check_leader(cluster->db, leader->schema, commits_as_one(cluster, problem),
                                 problem);
    cluster->leader = leader;
    return refuse_pending(cluster, problem);
}
