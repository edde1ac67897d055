/* base/array.h - arrays that grow. */
#ifndef CTR_BASE_ARRAY_H
#define CTR_BASE_ARRAY_H

#include "base/problem.h"

/* Gives the array `items`, which has room for *room items of `size` bytes, room for at least n.
 * Returns the array, which may have moved; NULL after a problem or without memory: then the array
 * is unchanged. */
static inline void *ctr_array_room(void *items, size_t *room, size_t n, size_t size,
                                   ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return NULL;
    if (n <= *room && items) return items;
    size_t more = 2 * n + 14;
    void *longer = sqlite3_realloc64(items, more * size);
    if (longer)
        *room = more;
    else
        ctr_problem_nomem(problem);
    return longer;
}

#endif
