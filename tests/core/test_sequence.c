/* test_sequence.c - when the number rises, and to what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "core/sequence.h"

static void it_is_due_after_a_second_whichever_way_the_clock_went(void **state)
{
    (void)state;
    const ctr_sequence sequence = {.number = 5, .risen = 100000};
    assert_false(ctr_sequence_is_due(&sequence, 100000));
    assert_false(ctr_sequence_is_due(&sequence, 100999));
    assert_false(ctr_sequence_is_due(&sequence, 99001));
    assert_true(ctr_sequence_is_due(&sequence, 101000));
    assert_true(ctr_sequence_is_due(&sequence, 99000));
}

static void it_is_due_after_a_thousand_rows(void **state)
{
    (void)state;
    ctr_sequence sequence = {.number = 5, .risen = 100000, .stamped = 999};
    assert_false(ctr_sequence_is_due(&sequence, 100000));
    sequence.stamped = 1000;
    assert_true(ctr_sequence_is_due(&sequence, 100000));
}

static void it_rises_to_the_time_or_by_one(void **state)
{
    (void)state;
    ctr_sequence sequence = {.number = 5, .risen = 3, .stamped = 7};
    ctr_sequence_rise(&sequence, 1700000000000);
    assert_int_equal(sequence.number, 1700000000000);
    assert_int_equal(sequence.risen, 1700000000000);
    assert_int_equal(sequence.stamped, 0);
    ctr_sequence_rise(&sequence, 1700000000000);
    assert_int_equal(sequence.number, 1700000000001);
    ctr_sequence_rise(&sequence, 1600000000000); /* a clock set back */
    assert_int_equal(sequence.number, 1700000000002);
    assert_int_equal(sequence.risen, 1600000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_due_after_a_second_whichever_way_the_clock_went),
        cmocka_unit_test(it_is_due_after_a_thousand_rows),
        cmocka_unit_test(it_rises_to_the_time_or_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
