/* sqlite/array.c - arrays that grow. */
#include "sqlite/array.h"

void *ctr_array_room(void *items, size_t *room, size_t n, size_t size, ctr_problem *problem)
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
