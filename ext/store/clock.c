/* store/clock.c - the one file that asks the operating system how time passes. */
#if !defined(_WIN32) && !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700
#endif

#include "store/clock.h"

#include <time.h>

int64_t ctr_clock_now(void)
{
    struct timespec now;
#if defined(CLOCK_MONOTONIC) && !defined(_WIN32)
    clock_gettime(CLOCK_MONOTONIC, &now);
#else
    timespec_get(&now, TIME_UTC);
#endif
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
