/* test_cell.c - the cell algebra by examples: merge, diff, compare, lives, limits, malformed bytes.
 * The laws on random cells are in test_cell_laws.c. */
#include "cells.h"

#define MAX "9223372036854775807"
#define MIN "-9223372036854775808"

/* ---- merge ---- */

static void value_is_the_sum_of_the_shards(void **state)
{
    (void)state;
    assert_int_equal(value(live("0:(1,5) 1:(1,-4)")), 1);
    assert_int_equal(value(untouched()), 0);
    assert_int_equal(value(cell(2, "")), 0);
    assert_int_equal(value(cell(3, "")), 0);
}

static void higher_clock_wins(void **state)
{
    (void)state;
    blob a = live("0:(1,5) 1:(1,-4)"), b = live("0:(2,7) 2:(1,1)");
    assert_same(merge(a, b), live("0:(2,7) 1:(1,-4) 2:(1,1)"));
    assert_same(merge(b, a), merge(a, b));
    assert_int_equal(value(merge(a, b)), 4);
}

static void ids_of_one_side_are_kept(void **state)
{
    (void)state;
    blob a = live("1:(1,1) 2:(2,2) 3:(3,3)"), b = live("3:(6,6) 4:(4,4) 5:(5,5)");
    assert_int_equal(shard_count(merge(a, b)), 5);
    assert_int_equal(value(merge(a, b)), 18);
    assert_same(merge(b, a), merge(a, b));
}

static void higher_value_wins_on_equal_clocks(void **state)
{
    (void)state;
    blob a = live("1:(10,20)"), b = live("1:(10,30)");
    assert_same(merge(a, b), b);
    assert_same(merge(b, a), b);
    assert_same(merge(live("1:(10,-20)"), live("1:(10,-30)")), live("1:(10,-20)"));
    assert_int_equal(conflicts(a, b), 1);
}

static void merge_of_mixed_wins_and_its_diffs(void **state)
{
    (void)state;
    blob left = live("0:(1,1) 1:(1,2) 2:(1,3)"), right = live("0:(1,1) 2:(4,-5) 3:(1,-100)");
    assert_int_equal(value(merge(left, right)), -102);
    assert_same(diff(left, right), live("1:(1,2)"));
    assert_int_equal(value(diff(left, right)), 2);
    assert_int_equal(value(diff(right, left)), -105);
}

static void deleted_beats_the_live_cell_of_its_life(void **state)
{
    (void)state;
    blob a = live("0:(" MAX "," MAX ")"), gone = deleted(live("1:(1,1)"));
    assert_same(merge(a, gone), gone);
    assert_same(merge(gone, a), gone);
    assert_same(merge(gone, gone), gone);
}

static void higher_life_wins_whole(void **state)
{
    (void)state;
    blob old = live("0:(9,9) 1:(9,9)"), new = cell(3, "1:(1,1)");
    assert_same(merge(old, new), new);
    assert_same(merge(new, old), new);
    assert_same(merge(old, cell(3, "")), cell(3, ""));
    assert_same(merge(cell(4, ""), new), cell(4, ""));
}

static void concurrent_resets_meet_in_one_life_and_add_up(void **state)
{
    (void)state;
    blob old = live("0:(9,9)");
    blob a = increment(reset(old), 1, 2), b = increment(reset(old), 2, 3);
    assert_int_equal(value(merge(a, b)), 5);
    assert_int_equal(life(merge(a, b)), 3);
}

static void untouched_is_neutral(void **state)
{
    (void)state;
    blob cells[] = {untouched(), live("0:(1,1)"), cell(2, ""), cell(3, "")};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        assert_same(merge(cells[i], untouched()), cells[i]);
        assert_same(merge(untouched(), cells[i]), cells[i]);
    }
}

static void ids_are_ordered_as_unsigned_bytes(void **state)
{
    (void)state;
    blob a = live("127:(1,1) 128:(1,2)"), b = live("127:(2,3)"), c = live("128:(2,5)");
    assert_same(merge(a, merge(b, c)), live("127:(2,3) 128:(2,5)"));
    assert_same(increment(increment(untouched(), 128, 2), 127, 1), a);
}

static void shard_beats_by_clock_then_value(void **state)
{
    (void)state;
    ctr_shard low = {id_of(1), 1, 100}, high = {id_of(1), 2, -100}, rich = {id_of(1), 2, 5};
    assert_true(ctr_shard_beats(&high, &low));
    assert_false(ctr_shard_beats(&low, &high));
    assert_true(ctr_shard_beats(&rich, &high));
    assert_false(ctr_shard_beats(&high, &rich));
    assert_false(ctr_shard_beats(&high, &high));
}

/* ---- diff and compare ---- */

static void diff_of_live_and_deleted(void **state)
{
    (void)state;
    blob a = live("0:(1,5)"), gone = deleted(a);
    assert_same(diff(a, gone), untouched());
    assert_same(diff(gone, a), gone);
    assert_same(diff(gone, gone), untouched());
}

static void diff_against_untouched_is_the_whole_cell(void **state)
{
    (void)state;
    blob a = live("0:(1,5) 1:(1,0)");
    assert_same(diff(a, untouched()), a);
    assert_same(diff(cell(3, ""), untouched()), cell(3, ""));
    assert_same(diff(untouched(), a), untouched());
    assert_same(diff(untouched(), untouched()), untouched());
}

static void diff_sends_a_higher_life_whole(void **state)
{
    (void)state;
    blob a = cell(3, "0:(1,5)");
    assert_same(diff(a, live("0:(7,7)")), a);
    assert_same(diff(cell(3, ""), cell(2, "")), cell(3, ""));
    assert_same(diff(live("0:(7,7)"), a), untouched());
    assert_same(diff(cell(3, ""), a), untouched());
}

static void diff_sends_the_higher_value_of_equal_clocks(void **state)
{
    (void)state;
    assert_same(diff(live("1:(1,9)"), live("1:(1,8)")), live("1:(1,9)"));
    assert_same(diff(live("1:(1,8)"), live("1:(1,9)")), untouched());
}

static void compare_is_by_version_vector(void **state)
{
    (void)state;
    blob a = live("3:(3,1) 6:(2,1) 9:(1,1)"), more = live("3:(3,1) 6:(2,1) 9:(1,1) 12:(1,1)");
    assert_int_equal(compare(a, a), CTR_EQUAL);
    assert_int_equal(compare(more, a), CTR_GREATER);
    assert_int_equal(compare(a, more), CTR_LESS);
    assert_int_equal(compare(live("3:(1,1) 4:(1,1) 9:(1,1)"), live("3:(1,1) 6:(1,1) 9:(1,1)")),
                     CTR_DISJOINT);
    assert_int_equal(compare(live("3:(1,1) 6:(3,1) 9:(1,1)"), live("3:(1,1) 6:(1,1) 9:(5,1)")),
                     CTR_DISJOINT);
    assert_int_equal(compare(live("3:(2,1)"), live("3:(1,9)")), CTR_GREATER);
}

static void one_clock_with_two_values_is_disjoint(void **state)
{
    (void)state;
    assert_int_equal(compare(live("1:(1,1)"), live("1:(1,2)")), CTR_DISJOINT);
    assert_int_equal(compare(live("1:(1,1) 2:(9,1)"), live("1:(1,2)")), CTR_DISJOINT);
}

static void compare_orders_lives(void **state)
{
    (void)state;
    blob ascending[] = {untouched(), live("0:(1,0)"), cell(2, ""), cell(3, ""), cell(3, "0:(1,1)")};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(compare(ascending[i], ascending[i]), CTR_EQUAL);
        for (size_t j = 0; j < i; j++) {
            assert_int_equal(compare(ascending[i], ascending[j]), CTR_GREATER);
            assert_int_equal(compare(ascending[j], ascending[i]), CTR_LESS);
        }
    }
}

static void news_are_shards_that_the_other_has_not_or_has_otherwise(void **state)
{
    (void)state;
    ctr_cell c = opened(live("1:(1,1) 3:(3,3) 5:(5,5) 7:(7,7)")),
             mine = opened(live("0:(9,9) 1:(1,1) 2:(9,9) 3:(2,3) 5:(5,4)")),
             other_life = opened(cell(3, "1:(1,1) 3:(3,3) 5:(5,5) 7:(7,7)"));
    assert_int_equal(ctr_cell_changed_shards(&c, &mine), 3);
    assert_int_equal(ctr_cell_changed_shards(&mine, &c), 4);
    assert_int_equal(ctr_cell_changed_shards(&c, &c), 0);
    assert_int_equal(ctr_cell_changed_shards(&c, &other_life), 4);
}

static void conflicts_count_only_within_one_live_life(void **state)
{
    (void)state;
    blob a = live("0:(1,1) 1:(2,2) 2:(3,3)"), b = live("0:(1,2) 1:(2,3) 2:(4,4) 3:(1,1)");
    assert_int_equal(conflicts(a, b), 2);
    assert_int_equal(conflicts(b, a), 2);
    assert_int_equal(conflicts(a, a), 0);
    assert_int_equal(conflicts(a, cell(3, "0:(1,2)")), 0);
    assert_int_equal(conflicts(a, untouched()), 0);
}

/* ---- increments ---- */

static void increments_in_a_row(void **state)
{
    (void)state;
    const int64_t short_run[][2] = {{1, 1}, {2, 3}, {-3, 0}};
    const int64_t long_run[][2] = {{1, 1}, {-4, -3}, {1, -2},  {-2, -4},
                                   {6, 2}, {-1, 1},  {-2, -1}, {2, 1}};
    blob c = untouched();
    for (size_t i = 0; i < 3; i++) {
        c = increment(c, 7, short_run[i][0]);
        assert_int_equal(value(c), short_run[i][1]);
    }
    assert_same(c, live("7:(3,0)"));
    c = untouched();
    for (size_t i = 0; i < 8; i++) {
        c = increment(c, 7, long_run[i][0]);
        assert_int_equal(value(c), long_run[i][1]);
    }
    assert_int_equal(value(increment(increment(increment(untouched(), 7, 1), 7, 125), 7, -64)), 62);
}

static void adding_nothing_writes_a_shard(void **state)
{
    (void)state;
    assert_same(increment(untouched(), 1, 0), live("1:(1,0)"));
    assert_same(increment(live("1:(1,0)"), 1, 0), live("1:(2,0)"));
}

static void increment_touches_only_the_leaders_shard(void **state)
{
    (void)state;
    blob c = live("1:(1,1) 3:(3,3) 5:(5,5)");
    assert_same(increment(c, 0, 9), live("0:(1,9) 1:(1,1) 3:(3,3) 5:(5,5)"));
    assert_same(increment(c, 2, 9), live("1:(1,1) 2:(1,9) 3:(3,3) 5:(5,5)"));
    assert_same(increment(c, 3, 9), live("1:(1,1) 3:(4,12) 5:(5,5)"));
    assert_same(increment(c, 6, 9), live("1:(1,1) 3:(3,3) 5:(5,5) 6:(1,9)"));
    assert_same(increment(cell(3, ""), 6, 9), cell(3, "6:(1,9)"));
}

static blob add_from(blob c, int symbol, int64_t n, int64_t ticks, int64_t least)
{
    ctr_cell x = opened(c);
    ctr_sum difference = {0, 0};
    uint8_t *out = hold(c.size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX);
    size_t size;
    ctr_sum_add(&difference, n);
    assert_int_equal(ctr_cell_add(&x, id_of(symbol), &difference, ticks, least, out, &size),
                     CTR_OK);
    return exact(out, size);
}

static void a_clock_leaps_to_the_least_and_never_falls(void **state)
{
    (void)state;
    blob c = live("1:(3,3) 2:(9,9)");
    assert_same(add_from(c, 1, 1, 1, 9), live("1:(9,4) 2:(9,9)"));
    assert_same(add_from(c, 2, 1, 1, 9), live("1:(3,3) 2:(10,10)"));
    assert_same(add_from(c, 3, 1, 1, 9), live("1:(3,3) 2:(9,9) 3:(9,1)"));
}

static void several_ticks_are_as_many_increments(void **state)
{
    (void)state;
    blob c = live("1:(3,3) 2:(9,9)");
    assert_same(add_from(c, 1, 12, 4, 1), live("1:(7,15) 2:(9,9)"));
    assert_same(add_from(c, 1, 12, 4, 9), live("1:(12,15) 2:(9,9)"));
    assert_same(add_from(c, 3, -5, 2, 1), live("1:(3,3) 2:(9,9) 3:(2,-5)"));
    ctr_cell late = opened(live("1:(9223372036854775805,3)"));
    ctr_sum none = {0, 0};
    uint8_t out[CTR_CELL_HEADER_MAX + 2 * CTR_SHARD_MAX];
    size_t size;
    assert_int_equal(ctr_cell_add(&late, id_of(1), &none, 2, 1, out, &size), CTR_OK);
    assert_int_equal(ctr_cell_add(&late, id_of(1), &none, 3, 1, out, &size), CTR_OVERFLOW);
}

/* The difference between a value and what a cell has. */
static ctr_status assign_to(const ctr_cell *cell, int symbol, int64_t value, uint8_t *out,
                            size_t *size)
{
    ctr_sum difference = {0, 0};
    ctr_sum_add(&difference, value);
    ctr_sum_subtract_cell(&difference, cell);
    return ctr_cell_add(cell, id_of(symbol), &difference, 1, 1, out, size);
}

static blob assign(blob c, int symbol, int64_t value)
{
    ctr_cell x = opened(c);
    uint8_t *out = hold(c.size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX);
    size_t size;
    assert_int_equal(assign_to(&x, symbol, value, out, &size), CTR_OK);
    return exact(out, size);
}

static void an_assignment_is_counted_by_its_difference(void **state)
{
    (void)state;
    blob c = live("1:(1,10) 3:(3,-3) 5:(5,5)");
    assert_same(assign(c, 3, 42), live("1:(1,10) 3:(4,27) 5:(5,5)"));
    assert_same(assign(live("1:(1,10) 3:(4,27) 5:(5,5)"), 3, 0),
                live("1:(1,10) 3:(5,-15) 5:(5,5)"));
    assert_same(assign(c, 4, -1), live("1:(1,10) 3:(3,-3) 4:(1,-13) 5:(5,5)"));
    assert_same(assign(cell(3, ""), 4, 7), cell(3, "4:(1,7)"));
    assert_same(assign(c, 3, 12), live("1:(1,10) 3:(4,-3) 5:(5,5)"));
}

/* The difference may be wider than a counter, and so may the sum before; the shard may not. */
static void an_assignment_goes_from_end_to_end(void **state)
{
    (void)state;
    size_t size;
    uint8_t out[CTR_CELL_HEADER_MAX + 3 * CTR_SHARD_MAX];
    blob most = live("1:(1,9223372036854775807)"), least = live("1:(2,-9223372036854775808)");
    assert_same(assign(most, 1, INT64_MIN), least);
    assert_same(assign(least, 1, INT64_MAX), live("1:(3,9223372036854775807)"));
    blob twice = live("1:(1,9223372036854775807) 2:(1,9223372036854775807)");
    assert_same(assign(twice, 2, 5), live("1:(1,9223372036854775807) 2:(2,-9223372036854775802)"));
    ctr_cell x = opened(most), gone = opened(deleted(most));
    assert_int_equal(assign_to(&x, 2, -2, out, &size), CTR_OVERFLOW);
    assert_int_equal(assign_to(&gone, 1, 0, out, &size), CTR_DELETED);
}

static void a_summary_tells_what_the_cell_does(void **state)
{
    (void)state;
    ctr_summary summary;
    blob c = live("1:(3,3) 2:(9,-9) 5:(1,7)");
    assert_int_equal(ctr_cell_summarize(&summary, id_of(2), c.bytes, c.size), CTR_OK);
    int64_t value;
    assert_int_equal(ctr_sum_value(&summary.sum, &value), CTR_OK);
    assert_int_equal(value, 1);
    assert_int_equal(summary.clock, 9);
    assert_int_equal(summary.value, -9);
    assert_int_equal(summary.life, 1);
    assert_true(summary.touched);
    assert_int_equal(ctr_cell_summarize(&summary, id_of(4), c.bytes, c.size), CTR_OK);
    assert_int_equal(summary.clock, 0);
    assert_int_equal(ctr_cell_summarize(&summary, NULL, c.bytes, c.size - 1), CTR_TRUNCATED);
    assert_false(summary.touched);
}

static void nothing_is_added_to_a_deleted_cell(void **state)
{
    (void)state;
    blob out, gone = deleted(increment(increment(untouched(), 1, 6), 1, -1));
    assert_int_equal(try_increment(gone, id_of(1), 3, &out), CTR_DELETED);
    assert_int_equal(try_increment(gone, id_of(1), 0, &out), CTR_DELETED);
}

static void two_hundred_replicas_lose_nothing(void **state)
{
    (void)state;
    blob all = untouched();
    for (int replica = 0; replica < 200; replica++) {
        ctr_shard own = {id_of(replica), 499, 499};
        all = merge(all, increment(cell_of(1, &own, 1), replica, 1));
    }
    assert_int_equal(value(all), 100000);
    assert_int_equal(shard_count(all), 200);
}

static void many_shards_make_the_round_trip(void **state)
{
    (void)state;
    ctr_shard shards[128], shard;
    for (int i = 0; i < 128; i++) shards[i] = (ctr_shard){id_of(2 * i), i + 1, i - 64};
    blob b = cell_of(1, shards, 128);
    ctr_cell c = opened(b);
    size_t at = 0;
    for (int i = 0; i < 128; i++) {
        assert_true(ctr_cell_next(&c, &at, &shard));
        assert_memory_equal(shard.id, shards[i].id, CTR_ID_SIZE);
        assert_int_equal(shard.clock, i + 1);
        assert_int_equal(shard.value, i - 64);
    }
    assert_false(ctr_cell_next(&c, &at, &shard));
    assert_int_equal(c.size, b.size);
}

/* ---- lives ---- */

static void delete_and_reset_start_the_next_life(void **state)
{
    (void)state;
    blob a = live("0:(1,5)");
    assert_same(deleted(untouched()), cell(2, ""));
    assert_same(deleted(a), cell(2, ""));
    assert_same(deleted(deleted(a)), cell(2, ""));
    assert_same(reset(untouched()), cell(3, ""));
    assert_same(reset(a), cell(3, ""));
    assert_same(reset(deleted(a)), cell(3, ""));
    assert_same(reset(reset(a)), cell(5, ""));
    assert_same(deleted(reset(a)), cell(4, ""));
}

static void the_last_life_is_live_and_has_no_next(void **state)
{
    (void)state;
    blob out, last = cell(CTR_LIFE_MAX, "0:(1,5)"), gone = cell(CTR_LIFE_MAX - 1, "");
    assert_int_equal(try_step(ctr_cell_delete, last, &out), CTR_LAST_LIFE);
    assert_int_equal(try_step(ctr_cell_reset, last, &out), CTR_LAST_LIFE);
    assert_same(increment(last, 0, 1), cell(CTR_LIFE_MAX, "0:(2,6)"));
    assert_same(deleted(gone), gone);
    assert_same(reset(gone), cell(CTR_LIFE_MAX, ""));
    assert_same(deleted(cell(CTR_LIFE_MAX - 2, "0:(1,1)")), gone);
    assert_same(reset(cell(CTR_LIFE_MAX - 2, "0:(1,1)")), cell(CTR_LIFE_MAX, ""));
    assert_same(merge(last, gone), last);
}

static void states_are_told_apart(void **state)
{
    (void)state;
    ctr_cell none = opened(untouched()), some = opened(live("0:(1,0)"));
    ctr_cell gone = opened(cell(2, "")), empty = opened(cell(3, ""));
    assert_true(ctr_cell_is_untouched(&none) && !ctr_cell_is_untouched(&some) &&
                !ctr_cell_is_untouched(&gone) && !ctr_cell_is_untouched(&empty));
    assert_true(ctr_cell_is_deleted(&gone) && !ctr_cell_is_deleted(&none) &&
                !ctr_cell_is_deleted(&some) && !ctr_cell_is_deleted(&empty));
    assert_true(ctr_cell_is_live(&some) && ctr_cell_is_live(&empty) && !ctr_cell_is_live(&none) &&
                !ctr_cell_is_live(&gone));
    assert_true(ctr_cell_same(&none, &none) && ctr_cell_same(&some, &some));
    assert_false(ctr_cell_same(&none, &some) || ctr_cell_same(&gone, &empty));
    assert_int_equal(none.life, 1);
}

/* ---- limits ---- */

static void overflow_of_a_shard_is_an_error(void **state)
{
    (void)state;
    blob out;
    assert_int_equal(try_increment(live("0:(1," MAX ")"), id_of(0), 1, &out), CTR_OVERFLOW);
    assert_int_equal(try_increment(live("0:(1," MIN ")"), id_of(0), -1, &out), CTR_OVERFLOW);
    assert_int_equal(try_increment(live("0:(1,-1)"), id_of(0), INT64_MIN, &out), CTR_OVERFLOW);
    assert_same(increment(live("0:(1," MAX ")"), 0, INT64_MIN), live("0:(2,-1)"));
    assert_same(increment(untouched(), 0, INT64_MIN), live("0:(1," MIN ")"));
}

static void overflow_of_a_clock_is_an_error(void **state)
{
    (void)state;
    blob out;
    assert_int_equal(try_increment(live("0:(" MAX ",1)"), id_of(0), 1, &out), CTR_OVERFLOW);
    assert_int_equal(try_increment(live("0:(" MAX ",1)"), id_of(0), 0, &out), CTR_OVERFLOW);
    assert_same(increment(live("0:(9223372036854775806,1)"), 0, 1), live("0:(" MAX ",2)"));
}

static void overflow_of_the_sum_is_an_error(void **state)
{
    (void)state;
    int64_t v;
    ctr_cell high = opened(live("0:(1," MAX ") 1:(1,1)")),
             low = opened(live("0:(1," MIN ") 1:(1,-1)"));
    assert_int_equal(ctr_cell_value(&high, &v), CTR_OVERFLOW);
    assert_int_equal(ctr_cell_value(&low, &v), CTR_OVERFLOW);
}

static void only_the_end_of_the_sum_must_fit(void **state)
{
    (void)state;
    assert_int_equal(value(live("0:(1," MAX ") 1:(1," MAX ") 2:(1," MIN ") 3:(1," MIN ")")), -2);
    assert_int_equal(value(live("0:(1," MIN ") 1:(1," MIN ") 2:(1," MAX ") 3:(1,1)")), INT64_MIN);
}

static void longest_shard_has_the_promised_size(void **state)
{
    (void)state;
    blob c = cell(CTR_LIFE_MAX, "0:(" MAX "," MIN ")");
    assert_int_equal(c.size, CTR_CELL_HEADER_MAX + CTR_SHARD_MAX);
    assert_same(merge(c, c), c);
}

/* ---- malformed cells ---- */

#define ID_1 "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1"
#define ID_2 "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\2"
#define EXAMPLE(status, text)                          \
    {                                                  \
        status, (const uint8_t *)text, sizeof text - 1 \
    }

static const struct {
    ctr_status status;
    const uint8_t *bytes;
    size_t size;
} examples[] = {
    EXAMPLE(CTR_OK, "\xC1\x02"), EXAMPLE(CTR_OK, "\xC1\x03"),
    EXAMPLE(CTR_OK, "\xC1\xFF\xFF\xFF\xFF\x0F"), EXAMPLE(CTR_OK, "\xC1\x01" ID_1 "\x01\x00"),
    EXAMPLE(CTR_OK, "\xC1\x01" ID_1 "\x01\x00" ID_2 "\x80\x01\x80\x01"),
    EXAMPLE(CTR_OK, "\xC1\x01" ID_1 "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"
                    "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"),
    EXAMPLE(CTR_NOT_A_CELL, ""), EXAMPLE(CTR_NOT_A_CELL, "\x00"),
    EXAMPLE(CTR_NOT_A_CELL, "\xD1\x01" ID_1 "\x01\x00"), EXAMPLE(CTR_NOT_A_CELL, "counter"),
    EXAMPLE(CTR_NEWER_FORMAT, "\xC3\x01" ID_1 "\x01\x00"), EXAMPLE(CTR_NEWER_FORMAT, "\xCF"),
    EXAMPLE(CTR_TRUNCATED, "\xC1"), EXAMPLE(CTR_TRUNCATED, "\xC1\x80"),
    EXAMPLE(CTR_TRUNCATED, "\xC1\x01\x01"), EXAMPLE(CTR_TRUNCATED, "\xC1\x01" ID_1),
    EXAMPLE(CTR_TRUNCATED, "\xC1\x01" ID_1 "\x01"), EXAMPLE(CTR_TRUNCATED, "\xC1\x01" ID_1 "\x80"),
    EXAMPLE(CTR_TRUNCATED, "\xC1\x01" ID_1 "\x01\x80"), EXAMPLE(CTR_NOT_MINIMAL, "\xC1\x83\x00"),
    EXAMPLE(CTR_NOT_MINIMAL, "\xC1\x01" ID_1 "\x81\x00\x00"),
    EXAMPLE(CTR_NOT_MINIMAL, "\xC1\x01" ID_1 "\x01\x80\x00"), EXAMPLE(CTR_OUT_OF_RANGE, "\xC1\x00"),
    EXAMPLE(CTR_OUT_OF_RANGE, "\xC1\x80\x80\x80\x80\x10"),
    EXAMPLE(CTR_OUT_OF_RANGE, "\xC1\x01" ID_1 "\x00\x00"),
    EXAMPLE(CTR_OUT_OF_RANGE, "\xC1\x01" ID_1 "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x00"),
    EXAMPLE(CTR_OUT_OF_RANGE, "\xC1\x01" ID_1 "\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02"),
    EXAMPLE(CTR_UNSORTED, "\xC1\x01" ID_2 "\x01\x00" ID_1 "\x01\x00"),
    EXAMPLE(CTR_DOUBLED, "\xC1\x01" ID_1 "\x01\x00" ID_1 "\x01\x00"),
    EXAMPLE(CTR_TRAILING, "\xC1\x02\x00"), EXAMPLE(CTR_TRAILING, "\xC1\x02" ID_1 "\x01\x00"),
    EXAMPLE(CTR_NEEDLESS, "\xC1\x01"),
    /* with grants: their size; of each granter its id, the size of what it has granted, that */
    EXAMPLE(CTR_OK, "\xC2\x01\x22" ID_1 "\x11" ID_2 "\x05" ID_1 "\x01\x14"),
    EXAMPLE(CTR_OK, "\xC2\x03\x44" ID_1 "\x11" ID_2 "\x05" ID_2 "\x11" ID_1 "\x02" ID_1
                    "\x01\x14" ID_2 "\x01\x00"),
    EXAMPLE(CTR_TRUNCATED, "\xC2\x01"), EXAMPLE(CTR_TRUNCATED, "\xC2\x01\x22" ID_1 "\x11" ID_2),
    EXAMPLE(CTR_TRUNCATED, "\xC2\x01\x10" ID_1),
    EXAMPLE(CTR_TRUNCATED, "\xC2\x01\x12" ID_1 "\x11\x05"),
    EXAMPLE(CTR_TRUNCATED, "\xC2\x01\x22" ID_1 "\x11" ID_2 "\x05" ID_1 "\x01"),
    EXAMPLE(CTR_NOT_MINIMAL, "\xC2\x01\x23" ID_1 "\x12" ID_2 "\x85\x00" ID_1 "\x01\x14"),
    EXAMPLE(CTR_OUT_OF_RANGE, "\xC2\x01\x22" ID_1 "\x11" ID_2 "\x00" ID_1 "\x01\x14"),
    EXAMPLE(CTR_UNSORTED, "\xC2\x01\x44" ID_2 "\x11" ID_1 "\x05" ID_1 "\x11" ID_2 "\x02" ID_1
                          "\x01\x14" ID_2 "\x01\x00"),
    EXAMPLE(CTR_DOUBLED, "\xC2\x01\x33" ID_1 "\x22" ID_2 "\x05" ID_2 "\x05" ID_1 "\x01\x14"),
    EXAMPLE(CTR_BAD_GRANTS, "\xC2\x01\x00" ID_1 "\x01\x14"),                         /* none */
    EXAMPLE(CTR_BAD_GRANTS, "\xC2\x01\x11" ID_1 "\x00" ID_1 "\x01\x14"),             /* of one */
    EXAMPLE(CTR_BAD_GRANTS, "\xC2\x01\x22" ID_1 "\x11" ID_1 "\x05" ID_1 "\x01\x14"), /* to itself */
    EXAMPLE(CTR_BAD_GRANTS, "\xC2\x01\x22" ID_1 "\x11" ID_2 "\x05" ID_2 "\x01\x14"), /* no shard */
    EXAMPLE(CTR_BAD_GRANTS, "\xC2\x01\x22" ID_1 "\x11" ID_2 "\x05"),                 /* no shards */
    EXAMPLE(CTR_TRAILING, "\xC2\x02\x22" ID_1 "\x11" ID_2 "\x05"),
    EXAMPLE(CTR_BAD_GRANTS, "\xC2\x02"), /* deleted */
};

static void malformed_cells_are_refused_by_their_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        blob b = exact(examples[i].bytes, examples[i].size);
        ctr_cell c = opened(cell(2, ""));
        ctr_status status = ctr_cell_open(&c, b.bytes, b.size);
        if (status != examples[i].status) print_error("example %zu\n", i);
        assert_int_equal(status, examples[i].status);
        assert_int_equal(ctr_cell_is_untouched(&c), status != CTR_OK);
    }
}

static void every_status_has_its_own_text(void **state)
{
    (void)state;
    for (int i = CTR_OK + 1; i <= CTR_BAD_GRANTS; i++) {
        const char *text = ctr_status_text((ctr_status)i);
        assert_non_null(text);
        assert_true(*text);
        for (int j = CTR_OK + 1; j < i; j++)
            assert_string_not_equal(text, ctr_status_text((ctr_status)j));
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, release_after)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(value_is_the_sum_of_the_shards),
        TEST(higher_clock_wins),
        TEST(ids_of_one_side_are_kept),
        TEST(higher_value_wins_on_equal_clocks),
        TEST(merge_of_mixed_wins_and_its_diffs),
        TEST(deleted_beats_the_live_cell_of_its_life),
        TEST(higher_life_wins_whole),
        TEST(concurrent_resets_meet_in_one_life_and_add_up),
        TEST(untouched_is_neutral),
        TEST(ids_are_ordered_as_unsigned_bytes),
        TEST(shard_beats_by_clock_then_value),
        TEST(diff_of_live_and_deleted),
        TEST(diff_against_untouched_is_the_whole_cell),
        TEST(diff_sends_a_higher_life_whole),
        TEST(diff_sends_the_higher_value_of_equal_clocks),
        TEST(compare_is_by_version_vector),
        TEST(one_clock_with_two_values_is_disjoint),
        TEST(compare_orders_lives),
        TEST(news_are_shards_that_the_other_has_not_or_has_otherwise),
        TEST(conflicts_count_only_within_one_live_life),
        TEST(increments_in_a_row),
        TEST(adding_nothing_writes_a_shard),
        TEST(increment_touches_only_the_leaders_shard),
        TEST(a_clock_leaps_to_the_least_and_never_falls),
        TEST(several_ticks_are_as_many_increments),
        TEST(a_summary_tells_what_the_cell_does),
        TEST(an_assignment_is_counted_by_its_difference),
        TEST(an_assignment_goes_from_end_to_end),
        TEST(nothing_is_added_to_a_deleted_cell),
        TEST(two_hundred_replicas_lose_nothing),
        TEST(many_shards_make_the_round_trip),
        TEST(delete_and_reset_start_the_next_life),
        TEST(the_last_life_is_live_and_has_no_next),
        TEST(states_are_told_apart),
        TEST(overflow_of_a_shard_is_an_error),
        TEST(overflow_of_a_clock_is_an_error),
        TEST(overflow_of_the_sum_is_an_error),
        TEST(only_the_end_of_the_sum_must_fit),
        TEST(longest_shard_has_the_promised_size),
        TEST(malformed_cells_are_refused_by_their_status),
        TEST(every_status_has_its_own_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
