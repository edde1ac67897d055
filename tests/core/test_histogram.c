/* test_histogram.c - durations in buckets, against sorted ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "core/histogram.h"

enum { MOST = 5000 };

static int order(const void *a, const void *b)
{
    int64_t one, two;
    memcpy(&one, a, sizeof one);
    memcpy(&two, b, sizeof two);
    return one < two ? -1 : one > two;
}

/* The least value that `percent` of n sorted ones do not exceed. */
static int64_t exact(const int64_t *sorted, int n, int percent)
{
    return sorted[(n * percent + 99) / 100 - 1];
}

static void an_empty_histogram_has_no_percentiles(void **state)
{
    (void)state;
    static ctr_histogram histogram;
    assert_int_equal(ctr_histogram_percentile(&histogram, 50), 0);
    assert_int_equal(ctr_histogram_percentile(&histogram, 100), 0);
}

static void one_duration_is_every_percentile(void **state)
{
    (void)state;
    const int64_t values[] = {0,        1, 15, 16, 17, 31, 32, 1000, 123456789, INT64_C(1) << 43,
                              INT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        ctr_histogram histogram = {0};
        ctr_histogram_add(&histogram, values[i]);
        assert_true(ctr_histogram_percentile(&histogram, 1) == values[i]);
        assert_true(ctr_histogram_percentile(&histogram, 100) == values[i]);
        assert_true(histogram.max == values[i]);
    }
}

static void a_clock_that_goes_back_counts_as_nothing(void **state)
{
    (void)state;
    ctr_histogram histogram = {0};
    ctr_histogram_add(&histogram, -5);
    assert_int_equal(histogram.count, 1);
    assert_int_equal(histogram.sum, 0);
    assert_int_equal(ctr_histogram_percentile(&histogram, 50), 0);
}

static void small_durations_are_exact(void **state)
{
    (void)state;
    ctr_histogram histogram = {0};
    for (int i = 1; i <= 20; i++) ctr_histogram_add(&histogram, i);
    for (int i = 1; i <= 20; i++) assert_int_equal(ctr_histogram_percentile(&histogram, i * 5), i);
}

static void percentiles_are_right_to_one_in_sixteen(void **state)
{
    (void)state;
    static int64_t values[MOST];
    const char *given = getenv("COUNTER_SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 200; round++) {
        ctr_histogram histogram = {0};
        int n = 1 + rand() % MOST, power = rand() % 44;
        int64_t sum = 0;
        for (int i = 0; i < n; i++) {
            int64_t wide = (int64_t)rand() << 31 | rand();
            values[i] = wide & ((INT64_C(2) << (rand() % (power + 1))) - 1);
            sum += values[i];
            ctr_histogram_add(&histogram, values[i]);
        }
        qsort(values, (size_t)n, sizeof *values, order);
        assert_true(histogram.count == n && histogram.sum == sum);
        assert_true(histogram.max == values[n - 1]);
        for (int percent = 1; percent <= 100; percent++) {
            int64_t found = ctr_histogram_percentile(&histogram, percent);
            int64_t wanted = exact(values, n, percent);
            assert_true(found >= wanted);
            assert_true(found <= wanted + wanted / 16);
        }
    }
}

static void the_first_thousand_are_measured_and_then_every_16th(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 1000; n++) assert_true(ctr_histogram_samples(n));
    for (int64_t n = 1000; n < 5000; n++) assert_int_equal(ctr_histogram_samples(n), n % 16 == 0);
    assert_true(ctr_histogram_samples(INT64_MAX - 15));
    assert_false(ctr_histogram_samples(INT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_histogram_has_no_percentiles),
        cmocka_unit_test(one_duration_is_every_percentile),
        cmocka_unit_test(a_clock_that_goes_back_counts_as_nothing),
        cmocka_unit_test(small_durations_are_exact),
        cmocka_unit_test(the_first_thousand_are_measured_and_then_every_16th),
        cmocka_unit_test(percentiles_are_right_to_one_in_sixteen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
