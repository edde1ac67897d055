/* core/histogram.c - buckets of durations. */
#include "core/histogram.h"

static int bucket_of(int64_t n)
{
    int power = 0;
    while (n >> power >= 2 * CTR_HISTOGRAM_PARTS) power++;
    if (n < CTR_HISTOGRAM_PARTS) return (int)n;
    if (power >= CTR_HISTOGRAM_POWERS) return CTR_HISTOGRAM_BUCKETS - 1;
    return CTR_HISTOGRAM_PARTS * power + (int)(n >> power);
}

/* The highest value that falls into a bucket. */
static int64_t top_of(int bucket)
{
    if (bucket < 2 * CTR_HISTOGRAM_PARTS) return bucket;
    int power = bucket / CTR_HISTOGRAM_PARTS - 1;
    int64_t part = bucket - CTR_HISTOGRAM_PARTS * power;
    return ((part + 1) << power) - 1;
}

bool ctr_histogram_samples(int64_t n)
{
    return n < CTR_HISTOGRAM_ALL || n % CTR_HISTOGRAM_EVERY == 0;
}

void ctr_histogram_add(ctr_histogram *histogram, int64_t n)
{
    if (n < 0) n = 0;
    histogram->count++;
    histogram->sum += n;
    if (n > histogram->max) histogram->max = n;
    histogram->buckets[bucket_of(n)]++;
}

int64_t ctr_histogram_percentile(const ctr_histogram *histogram, int percent)
{
    int64_t seen = 0;
    int64_t wanted =
        histogram->count / 100 * percent + (histogram->count % 100 * percent + 99) / 100;
    if (histogram->count == 0) return 0;
    for (int i = 0; i < CTR_HISTOGRAM_BUCKETS - 1; i++) {
        seen += histogram->buckets[i];
        if (seen < wanted) continue;
        return top_of(i) < histogram->max ? top_of(i) : histogram->max;
    }
    return histogram->max;
}
