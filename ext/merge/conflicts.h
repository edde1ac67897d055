/* merge/conflicts.h - shards in a merge that prove a faulty identity, and their record.
 *
 *     own        a shard under my current id that is ahead of mine: I forgot it, or a twin wrote it
 *
 *     source     the same under the id of the source, whose witness went back since its last pull
 *
 *     values     one clock with two values, under any id: two files have written it
 *
 *     device D   a shard under an id that I count or have counted under, ahead of mine, in a change
 *                that came with the token of the device D; or an opening that I know, which never
 *                counts again (table/openings.h), unless it makes way for a greater one
 *
 * Under a replaced name, lower clocks belong to the file that had the name before, and prove
 * nothing; clocks of a higher epoch belong to a successor.
 *
 * The merge follows its rule all the same, but for the last: who has a token would set what this
 * file itself has counted. That shard is left out, and whoever runs this file may merge it. Each
 * conflict is one row in counter_conflicts of the taking file; its user may read and clear them.
 * counter_sources has the last witness of each source.
 */
#ifndef CTR_MERGE_CONFLICTS_H
#define CTR_MERGE_CONFLICTS_H

#include "file/file.h"
#include "merge/source.h"

typedef struct ctr_conflicts {
    ctr_file *file;              /* the taking one; borrowed */
    uint8_t mine[CTR_ID_SIZE];   /* its current id */
    int64_t least, beyond;       /* clocks under that id that prove something: [least, beyond) */
    uint8_t theirs[CTR_ID_SIZE]; /* the source's */
    bool went_back;              /* the witness of the source went back */
    bool own;                    /* found: a shard under my id that is ahead of mine */
    bool replaced;               /* found: a shard that a successor of mine wrote */
} ctr_conflicts;

/* A cell that came with a token, with its place and mine. */
typedef struct ctr_sent_cell {
    const char *device; /* the name of the device that had the token */
    const char *table, *column;
    sqlite3_value **keys;
    int n_keys;
    const ctr_cell *mine, *theirs;
} ctr_sent_cell;

/* The ids that a file itself counts or has counted under. */
typedef struct ctr_own_ids {
    uint8_t *ids; /* owned, one behind the other */
    size_t n, room;
    unsigned read_at; /* the version of the file; 0: not read */
} ctr_own_ids;

/* Reads them, unless they are known. ctr_conflicts_close_own frees them. */
int ctr_conflicts_read_own(ctr_own_ids *own, ctr_file *file, ctr_problem *problem);
void ctr_conflicts_close_own(ctr_own_ids *own);

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

/* Writes the cell that came to `out`, which has room for it, without the shards under my own ids
 * and openings that were changed. One under my ids that is not ahead of mine tells nothing new;
 * the others are recorded. Returns the size. */
size_t ctr_conflicts_leave_out(ctr_conflicts *conflicts, const ctr_own_ids *own,
                               const ctr_sent_cell *sent, uint8_t *out, ctr_problem *problem);

/* Records the conflicts of this pair; `key` as a message shows it. Returns the number of rows. */
int64_t ctr_conflicts_record(ctr_conflicts *conflicts, const char *table, const char *key,
                             const char *column, const ctr_cell *mine, const ctr_cell *theirs,
                             ctr_problem *problem);

#endif
