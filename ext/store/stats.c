/* store/stats.c - measures. */
#include "store/stats.h"

#include "store/clock.h"

int64_t ctr_stats_begin(ctr_timing *timing)
{
    return ctr_histogram_samples(timing->passed++) ? ctr_clock_now() : 0;
}

void ctr_stats_end(ctr_timing *timing, int64_t begun)
{
    if (begun) ctr_histogram_add(&timing->histogram, ctr_clock_now() - begun);
}
