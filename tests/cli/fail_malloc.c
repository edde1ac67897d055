/* fail_malloc.c - loaded before the C library, lets every allocation fail from the one that
 * FAIL_MALLOC_AT numbers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static long left = -1;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_MALLOC_AT");
    left = at ? atol(at) : -1;
}

static int fails(void)
{
    if (left > 0) left--;
    return left == 0;
}

void *malloc(size_t size)
{
    static void *(*next)(size_t);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "malloc");
    return fails() ? NULL : next(size);
}

void *realloc(void *at, size_t size)
{
    static void *(*next)(void *, size_t);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "realloc");
    return fails() ? NULL : next(at, size);
}
