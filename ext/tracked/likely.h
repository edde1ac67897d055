/* tracked/likely.h - where a row of a tracked table probably is: a look there saves the search of an
 * index. Most rows are as far from the ids of their cells as the row before, because both were
 * stored in the same order.
 */
#ifndef CTR_TRACKED_LIKELY_H
#define CTR_TRACKED_LIKELY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ctr_likely {
    bool steady;      /* the last two rows were equally far */
    int64_t distance; /* from the id of the last row's cells to its rowid */
} ctr_likely;

static inline int64_t ctr_likely_rowid(const ctr_likely *likely, int64_t id)
{
    return (int64_t)((uint64_t)id + (uint64_t)likely->distance);
}

/* Notes where the row was; returns whether that is as far as the row before. */
static inline bool ctr_likely_note(ctr_likely *likely, int64_t id, int64_t rowid)
{
    int64_t distance = (int64_t)((uint64_t)rowid - (uint64_t)id);
    likely->steady = distance == likely->distance;
    likely->distance = distance;
    return likely->steady;
}

#endif
