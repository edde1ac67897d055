/* cluster/require.c - compares the available replicas with a level. */
#include "cluster/require.h"

#include <string.h>

/* ---- data centers ---------------------------------------------------------------------------- */

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

/* Reads the name of main, whose data center is the local one; main is the first replica, or
 * none. */
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

static int find_centers(const ctr_cluster *cluster, const char *which, ctr_level level,
                        ctr_site *sites, ctr_problem *problem)
{
    char local[CTR_NAME_MAX + 1] = "";
    if (!ctr_level_needs_places(level)) return problem->rc;
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
    if (ctr_level_is_local(level)) read_local(cluster, local, problem);
    if (ctr_level_is_local(level) && !*local)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s=%s needs the data center of main, and main has no name", which,
                        ctr_level_text(level));
    number_centers(cluster, local, sites);
    return problem->rc;
}

/* ---- refusals -------------------------------------------------------------------------------- */

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

static void append_center(const ctr_cluster *cluster, const ctr_shortage *shortage, ctr_level level,
                          sqlite3_str *out, ctr_problem *problem)
{
    ctr_site sites[CTR_LEVEL_SITES] = {{0, false}};
    if (shortage->dc < 0 || find_centers(cluster, "", level, sites, problem) != SQLITE_OK) return;
    int at = 0;
    while (at < cluster->n && sites[at].dc != shortage->dc) at++;
    if (at < cluster->n)
        sqlite3_str_appendf(out, " in %.*s", (int)dc_size(cluster->members[at].name),
                            cluster->members[at].name);
    else
        sqlite3_str_appendall(out, " in the data center of main");
}

/* Returns whether only locks are missing. */
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

static int refuse_level(const ctr_cluster *cluster, const char *which, ctr_level level,
                        const ctr_shortage *shortage, ctr_problem *problem)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendf(out, "%s=%s needs %d of %d replica%s", which, ctr_level_text(level),
                        shortage->needed, shortage->n, shortage->n == 1 ? "" : "s");
    append_center(cluster, shortage, level, out, problem);
    sqlite3_str_appendf(out, ", %d %s available", shortage->available,
                        shortage->available == 1 ? "is" : "are");
    append_reasons(cluster, out);
    char *text = sqlite3_str_finish(out);
    if (!text) return ctr_problem_nomem(problem);
    ctr_problem_set(problem, only_locks(cluster) ? SQLITE_BUSY : SQLITE_ERROR, "%s", text);
    sqlite3_free(text);
    return problem->rc;
}

/* ---- levels ---------------------------------------------------------------------------------- */

int ctr_require_read(const ctr_cluster *cluster, uint64_t available, int *contacts,
                     ctr_problem *problem)
{
    ctr_site sites[CTR_LEVEL_SITES] = {{0, false}};
    ctr_shortage shortage;
    ctr_level level = cluster->levels->read;
    for (int i = 0; i < cluster->n; i++) sites[i].available = available & (uint64_t)1 << i;
    if (problem->rc != SQLITE_OK || find_centers(cluster, "read", level, sites, problem)) return 0;
    int n = ctr_level_contacts(level, sites, cluster->n, contacts, &shortage);
    if (n < 0) refuse_level(cluster, "read", level, &shortage, problem);
    return n < 0 ? 0 : n;
}

int ctr_require_write(const ctr_cluster *cluster, ctr_problem *problem)
{
    ctr_site sites[CTR_LEVEL_SITES] = {{0, false}};
    ctr_shortage shortage;
    ctr_level level = cluster->levels->write;
    for (int i = 0; i < cluster->n; i++)
        sites[i].available = ctr_member_takes_part(&cluster->members[i]);
    if (problem->rc != SQLITE_OK || find_centers(cluster, "write", level, sites, problem))
        return problem->rc;
    if (!ctr_level_is_met(level, sites, cluster->n, &shortage))
        refuse_level(cluster, "write", level, &shortage, problem);
    return problem->rc;
}
