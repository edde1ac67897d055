/* sync/conflicts.h - shards in a merge that prove a fault of somebody's identity, and their record.
 *
 *     own      a shard under my current id that is ahead of mine: I have forgotten it, or have a twin
 *     source   the same under the id of the source, whose witness has gone back since it was pulled
 *     values   one clock with two values, under anybody's id: two files have written it
 *
 * The merge goes by its rule all the same; each is one row in counter_conflicts of the file that
 * takes, which its user may read and clear. counter_sources holds how far each source had come.
 */
#ifndef CTR_SYNC_CONFLICTS_H
#define CTR_SYNC_CONFLICTS_H

#include "store/identity.h"
#include "sync/source.h"

typedef struct ctr_conflicts {
    sqlite3 *db;
    const char *schema;          /* that takes; borrowed */
    uint8_t mine[CTR_ID_SIZE];   /* its current id */
    uint8_t theirs[CTR_ID_SIZE]; /* the source's */
    bool went_back;              /* the source's witness has */
    bool own;                    /* found: a shard under my id that is ahead of mine */
} ctr_conflicts;

/* Opens for one merge: compares the source's witness with the one of the last merge and keeps it. */
int ctr_conflicts_open(ctr_conflicts *conflicts, sqlite3 *db, const char *schema,
                       const uint8_t mine[CTR_ID_SIZE], const ctr_identity *source,
                       ctr_problem *problem);

/* Is there nothing to record in this pair of cells? */
bool ctr_conflicts_none(const ctr_conflicts *conflicts, const ctr_cell *mine,
                        const ctr_cell *theirs);

/* Records what is; `key` as a message shows it. Returns the number of rows. */
int64_t ctr_conflicts_record(ctr_conflicts *conflicts, const char *table, const char *key,
                             const char *column, const ctr_cell *mine, const ctr_cell *theirs,
                             ctr_problem *problem);

#endif
