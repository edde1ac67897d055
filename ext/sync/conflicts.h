/* sync/conflicts.h - shards in a merge that prove a faulty identity, and their record.
 *
 *     own        a shard under my current id that is ahead of mine: I forgot it, or a twin wrote it
 *
 *     source     the same under the id of the source, whose witness went back since its last pull
 *
 *     values     one clock with two values, under any id: two files have written it
 *
 * Under a replaced name, lower clocks belong to the file that had the name before, and prove
 * nothing; clocks of a higher epoch belong to a successor.
 *
 * The merge follows its rule all the same. Each conflict is one row in counter_conflicts of the
 * taking file; its user may read and clear them. counter_sources has the last witness of each
 * source.
 */
#ifndef CTR_SYNC_CONFLICTS_H
#define CTR_SYNC_CONFLICTS_H

#include "identity/file.h"
#include "sync/source.h"

typedef struct ctr_conflicts {
    ctr_file *file;              /* the taking one; borrowed */
    uint8_t mine[CTR_ID_SIZE];   /* its current id */
    int64_t least, beyond;       /* clocks under that id that prove something: [least, beyond) */
    uint8_t theirs[CTR_ID_SIZE]; /* the source's */
    bool went_back;              /* the witness of the source went back */
    bool own;                    /* found: a shard under my id that is ahead of mine */
    bool replaced;               /* found: a shard that a successor of mine wrote */
} ctr_conflicts;

/* Sets the identity of the taking file. */
void ctr_conflicts_set_mine(ctr_conflicts *conflicts, const ctr_identity *mine);

/* Opens for one merge: compares the witness of the source with that of the last merge, and records
 * it in counter_sources, which is created unless `objects` has it. */
int ctr_conflicts_open(ctr_conflicts *conflicts, ctr_file *file, const ctr_objects *objects,
                       const ctr_identity *mine, const ctr_identity *source, ctr_problem *problem);

/* Acts on the conflicts found: the taking file takes another id, or stops counting. */
int ctr_conflicts_change_identity(ctr_conflicts *conflicts, ctr_file *file, ctr_problem *problem);

/* Returns whether this pair of cells has no conflict. */
bool ctr_conflicts_none(const ctr_conflicts *conflicts, const ctr_cell *mine,
                        const ctr_cell *theirs);

/* Records the conflicts of this pair; `key` as a message shows it. Returns the number of rows. */
int64_t ctr_conflicts_record(ctr_conflicts *conflicts, const char *table, const char *key,
                             const char *column, const ctr_cell *mine, const ctr_cell *theirs,
                             ctr_problem *problem);

#endif
