/* cluster/clusters.c - a list of clusters. */
#include "cluster/clusters.h"

#include <string.h>

ctr_cluster_entry *ctr_clusters_find(const ctr_clusters *clusters, const char *name)
{
    ctr_cluster_entry *entry = clusters->first;
    while (entry && sqlite3_stricmp(entry->name, name) != 0) entry = entry->next;
    return entry;
}

ctr_cluster_entry *ctr_clusters_connected(const ctr_clusters *clusters, sqlite3 *db,
                                          const char *name, ctr_problem *problem)
{
    ctr_cluster_entry *entry = ctr_clusters_find(clusters, name);
    if (!entry || problem->rc != SQLITE_OK) return NULL;
    if (ctr_schema_object(db, "temp", name, problem) != CTR_OBJECT_VIRTUAL_TABLE) return NULL;
    ctr_run run = ctr_run_on(db, "temp", name, problem);
    sqlite3_finalize(ctr_run_prepare(&run, CTR_SQL_SYNC_JOIN));
    return problem->rc == SQLITE_OK && entry->cluster ? entry : NULL;
}

ctr_cluster_entry *ctr_clusters_entry(ctr_clusters *clusters, const char *name)
{
    ctr_cluster_entry *entry = ctr_clusters_find(clusters, name);
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
    char *copy = sqlite3_mprintf("%s", declaration);
    if (!copy) {
        ctr_problem_nomem(problem);
        return;
    }
    sqlite3_free(entry->declaration);
    entry->declaration = copy;
    entry->levels = *levels;
    ctr_cluster_clear_seen(&entry->seen);
}

void ctr_clusters_close(ctr_clusters *clusters)
{
    while (clusters->first) {
        ctr_cluster_entry *entry = clusters->first;
        clusters->first = entry->next;
        sqlite3_free(entry->name);
        sqlite3_free(entry->declaration);
        ctr_cluster_clear_seen(&entry->seen);
        sqlite3_free(entry);
    }
}
