/* ties.c - a qsort that turns round what compares as equal, so that whatever relies on its order
 * fails: the C library of Debian 12 happens to keep it, those of Windows and macOS do not. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Merges two sorted halves; of equal elements those of the second half come first. */
static void merge(char *out, const char *a, size_t n_a, const char *b, size_t n_b, size_t size,
                  int (*order)(const void *, const void *))
{
    while (n_a > 0 || n_b > 0) {
        bool first = n_b == 0 || (n_a > 0 && order(a, b) < 0);
        memcpy(out, first ? a : b, size);
        out += size;
        if (first)
            a += size, n_a--;
        else
            b += size, n_b--;
    }
}

static void sort(char *list, char *room, size_t n, size_t size,
                 int (*order)(const void *, const void *))
{
    size_t half = n / 2;
    if (n < 2) return;
    sort(list, room, half, size, order);
    sort(list + half * size, room, n - half, size, order);
    merge(room, list, half, list + half * size, n - half, size, order);
    memcpy(list, room, n * size);
}

void qsort(void *list, size_t n, size_t size, int (*order)(const void *, const void *))
{
    char *room = malloc(n * size + 1);
    if (!room) abort();
    sort(list, room, n, size, order);
    free(room);
}
