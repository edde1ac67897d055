/* core/level.h - consistency levels: how many replicas of n a read or a write needs.
 *
 *     ONE, TWO, THREE    so many
 *     QUORUM             more than half of all
 *     ALL                all
 *     LOCAL_ONE          one of the local data center
 *     LOCAL_QUORUM       more than half of those of the local data center
 *     EACH_QUORUM        more than half of those of each data center
 *
 * They mean what they mean in Cassandra (org.apache.cassandra.db.ConsistencyLevel). Its ANY, which
 * is a hint instead of a replica, and SERIAL, which is a round of Paxos, are none of these.
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

/* Upper or lower case. */
ctr_level ctr_level_from_text(const char *text);
const char *ctr_level_text(ctr_level level);

/* Must it be known in which data center each replica is, and which of them is the local one? */
bool ctr_level_needs_places(ctr_level level);
bool ctr_level_is_local(ctr_level level);

enum { CTR_LEVEL_SITES = 64 /* replicas of a cluster, at most */ };

/* A replica as a level sees it. `dc` is the number of its data center, 0 is the local one. */
typedef struct ctr_site {
    int dc;
    bool available;
} ctr_site;

/* Where it was not enough: `needed` of the `n` replicas of data center `dc`, -1: of all, of which
 * only `available` are. */
typedef struct ctr_shortage {
    int dc, needed, n, available;
} ctr_shortage;

/* Are enough available? */
bool ctr_level_is_met(ctr_level level, const ctr_site *sites, int n, ctr_shortage *shortage);

/* The replicas that a read contacts, the first available ones in the given order: their numbers
 * into `contacts`, which has room for n. Returns how many, -1 where there are not enough. */
int ctr_level_contacts(ctr_level level, const ctr_site *sites, int n, int *contacts,
                       ctr_shortage *shortage);

#endif
