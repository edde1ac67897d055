/* cluster/clusters.c - reads options, name = value, and keeps them with their clusters. */
#include "cluster/cluster.h"

#include <string.h>

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
