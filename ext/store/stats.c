/* store/stats.c - decides what is measured. */
#include "store/stats.h"

#include "store/clock.h"

int64_t ctr_stats_begin(ctr_timing *timing)
{
    int64_t n = timing->passed++;
    return n < CTR_STATS_ALL || n % CTR_STATS_EVERY == 0 ? ctr_clock_now() : 0;
}

void ctr_stats_end(ctr_timing *timing, int64_t begun)
{
    if (begun) ctr_histogram_add(&timing->histogram, ctr_clock_now() - begun);
}
