/* surface/clusters.c - a list of clusters. */
#include "surface/clusters.h"

ctr_cluster_entry *ctr_clusters_find(const ctr_clusters *clusters, const char *name)
{
    ctr_cluster_entry *entry = clusters->first;
    while (entry && sqlite3_stricmp(entry->name, name) != 0) entry = entry->next;
    return entry;
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

void ctr_clusters_close(ctr_clusters *clusters)
{
    while (clusters->first) {
        ctr_cluster_entry *entry = clusters->first;
        clusters->first = entry->next;
        sqlite3_free(entry->name);
        sqlite3_free(entry);
    }
}
