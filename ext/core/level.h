/* core/level.h - consistency levels: the number of replicas, of n, that a read or a write needs.
 *
 *     ONE, TWO, THREE    that many
 *     QUORUM             more than half of all
 *     ALL                all
 *     LOCAL_ONE          one of the local data center
 *     LOCAL_QUORUM       more than half of the replicas of the local data center
 *     EACH_QUORUM        more than half of the replicas of each data center
 *
 * They have the same meaning in Cassandra (org.apache.cassandra.db.ConsistencyLevel). Its levels
 * ANY, a hint instead of a replica, and SERIAL, a round of Paxos, do not exist here.
 */
#ifndef CTR_CORE_LEVEL_H
#define CTR_CORE_LEVEL_H

#include <stdbool.h>

typedef enum ctr_level {
    CTR_LEVEL_ONE,
    CTR_LEVEL_TWO,
    CTR_LEVEL_THREE,
    CTR_LEVEL_QUORUM,
    CTR_LEVEL_ALL,
    CTR_LEVEL_LOCAL_ONE,
    CTR_LEVEL_LOCAL_QUORUM,
    CTR_LEVEL_EACH_QUORUM,
    CTR_LEVEL_NONE /* no level has this name */
} ctr_level;

/* Reads a name in upper or lower case. */
ctr_level ctr_level_from_text(const char *text);
const char *ctr_level_text(ctr_level level);

/* Return whether the level depends on the data center of each replica, and on the local one. */
bool ctr_level_needs_centers(ctr_level level);
bool ctr_level_is_local(ctr_level level);

enum { CTR_LEVEL_SITES = 64 /* replicas of a cluster, at most */ };

/* A replica. `dc` is the number of its data center, 0 is the local one. */
typedef struct ctr_site {
    int dc;
    bool available;
} ctr_site;

/* A lack of replicas: the level needs `needed` of the `n` replicas of data center `dc`, or of all
 * if `dc` is -1, and only `available` of them are available. */
typedef struct ctr_shortage {
    int dc, needed, n, available;
} ctr_shortage;

/* Returns whether enough replicas are available; else fills `shortage`. */
bool ctr_level_is_met(ctr_level level, const ctr_site *sites, int n, ctr_shortage *shortage);

/* Writes the numbers of the replicas that a read contacts, the first available ones in the given
 * order, to `contacts`, which has room for n. Returns their count, or -1 if too few are
 * available. */
int ctr_level_contacts(ctr_level level, const ctr_site *sites, int n, int *contacts,
                       ctr_shortage *shortage);

#endif
