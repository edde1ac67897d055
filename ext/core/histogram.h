/* core/histogram.h - how long things took, in fixed room.
 *
 * A duration of n nanoseconds falls into one of 16 equal parts of the range between two powers of
 * two, so percentiles are known to 1/16 (the decaying histograms of Cassandra's metrics are as
 * coarse); count, mean and maximum are exact. Below 16 ns each value has a bucket of its own.
 */
#ifndef CTR_CORE_HISTOGRAM_H
#define CTR_CORE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CTR_HISTOGRAM_ALL = 1000, /* durations that are measured before some are left out */
    CTR_HISTOGRAM_EVERY = 16,
    CTR_HISTOGRAM_PARTS = 16,
    CTR_HISTOGRAM_POWERS = 40, /* of two, above the parts: up to 2^44 ns, 4.8 hours */
    CTR_HISTOGRAM_BUCKETS = CTR_HISTOGRAM_PARTS * (CTR_HISTOGRAM_POWERS + 1)
};

/* Zero it before use. */
typedef struct ctr_histogram {
    int64_t count, sum, max;
    int64_t buckets[CTR_HISTOGRAM_BUCKETS];
} ctr_histogram;

/* A duration costs two looks at a clock: is the n-th, from 0, to be measured? Beyond the first
 * CTR_HISTOGRAM_ALL one of CTR_HISTOGRAM_EVERY is. */
bool ctr_histogram_samples(int64_t n);

/* Adds one of n nanoseconds; less than 0 counts as 0, for a clock may go back. */
void ctr_histogram_add(ctr_histogram *histogram, int64_t n);

/* The least duration, to 1/16 above it, that `percent` of all did not exceed; 0 if there are none.
 * `percent` is 1 ... 100. Never above the maximum. */
int64_t ctr_histogram_percentile(const ctr_histogram *histogram, int percent);

#endif
