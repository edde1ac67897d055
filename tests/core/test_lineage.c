/* test_lineage.c - the judgement on a file: copy, restore, or innocent.
 *
 * A verdict is a letter, and a row has one for each thing that the attribute may say:
 *
 *     unarmed missing foreign  behind equal ahead other     of the file's pair; other: the number
 *        .       .       R       .      .     R     R       is equal, the random is not
 *
 *     .  it keeps its id     R  restore     C  copy     A  copy, by the fingerprint alone
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "core/core.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define INODE 4711
#define BIRTH INT64_C(1700000000123456789)
#define DEVICE 64768
#define LEAP (INT64_C(1) << 20)

static const ctr_fingerprint born = {
    .place = CTR_PLACE_FILE, .has_birth = true, .inode = INODE, .birth = BIRTH};
static const ctr_fingerprint unborn = {.place = CTR_PLACE_FILE, .inode = INODE, .device = DEVICE};
static const ctr_fingerprint handled = {.place = CTR_PLACE_FILE,
                                        .inode = INODE,
                                        .device = DEVICE,
                                        .handle_size = 8,
                                        .handle = {0x67, 0x12, 0, 0, 1, 2, 3, 4}};
static const ctr_fingerprint memory = {.place = CTR_PLACE_MEMORY, .instance = {1, 2, 3}};
static const ctr_fingerprint unknown = {.place = CTR_PLACE_UNKNOWN};

static const int64_t numbers[] = {1, 2, LEAP, CTR_PAIR_MAX / 2, CTR_PAIR_MAX - 1, CTR_PAIR_MAX};
static const int64_t randoms[] = {INT64_MIN, -1, 0, 1, INT64_MAX};

/* ---- places ---------------------------------------------------------------------------------- */

/* Asks both ways round. */
static bool same(ctr_fingerprint a, ctr_fingerprint b)
{
    bool is = ctr_lineage_same_place(&a, &b);
    assert_int_equal(is, ctr_lineage_same_place(&b, &a));
    return is;
}

static void a_place_is_the_same_as_itself_and_as_no_other_kind_of_place(void **state)
{
    (void)state;
    const ctr_fingerprint places[] = {born, unborn, memory, unknown};
    assert_true(same(handled, handled));
    for (size_t i = 0; i < COUNT(places); i++)
        for (size_t j = 0; j < COUNT(places); j++)
            assert_int_equal(same(places[i], places[j]), i == j);
}

static void birth_time_makes_the_device_irrelevant(void **state)
{
    (void)state;
    ctr_fingerprint elsewhere = born;
    elsewhere.device = DEVICE + 1;
    assert_true(same(born, elsewhere));
}

static void every_nanosecond_of_the_birth_counts(void **state)
{
    (void)state;
    ctr_fingerprint other = born;
    for (int bit = 0; bit < 63; bit++) {
        other.birth = BIRTH ^ (INT64_C(1) << bit);
        assert_false(same(born, other));
    }
}

static void without_birth_time_the_device_counts(void **state)
{
    (void)state;
    ctr_fingerprint other = unborn;
    other.device = DEVICE + 1;
    assert_false(same(unborn, other));
    other = unborn;
    other.birth = BIRTH; /* it has none, whatever stands there */
    assert_true(same(unborn, other));
}

static void an_unknown_device_is_any(void **state)
{
    (void)state;
    ctr_fingerprint other = unborn;
    other.device = 0; /* as if it were numbered anew at each mount */
    assert_true(same(unborn, other));
    assert_true(same(other, other));
    other.inode = INODE + 1;
    assert_false(same(unborn, other));
}

static void without_birth_time_the_handle_decides_where_both_have_one(void **state)
{
    (void)state;
    ctr_fingerprint other = handled;
    other.device = DEVICE + 1; /* another mount */
    assert_true(same(handled, other));
    for (int i = 0; i < handled.handle_size; i++) {
        other = handled;
        other.handle[i] ^= 1;
        assert_false(same(handled, other));
    }
    other = handled;
    other.handle_size = 12;
    assert_false(same(handled, other));
    other = handled;
    other.handle_size = 0; /* it cannot be asked here */
    assert_true(same(handled, other));
    other.device = DEVICE + 1;
    assert_false(same(handled, other));
}

static void only_a_birth_time_or_a_handle_makes_a_file_sure(void **state)
{
    (void)state;
    assert_true(ctr_lineage_is_weak(&unborn));
    assert_false(ctr_lineage_is_weak(&born));
    assert_false(ctr_lineage_is_weak(&handled));
    assert_false(ctr_lineage_is_weak(&memory));
    assert_false(ctr_lineage_is_weak(&unknown));
}

static void the_inode_counts_with_and_without_birth_time(void **state)
{
    (void)state;
    ctr_fingerprint other = born, other_unborn = unborn;
    for (int bit = 0; bit < 63; bit++) {
        other.inode = other_unborn.inode = INODE ^ (INT64_C(1) << bit);
        assert_false(same(born, other));
        assert_false(same(unborn, other_unborn));
    }
}

static void a_birth_time_that_is_gone_is_another_place(void **state)
{
    (void)state;
    ctr_fingerprint gone = born;
    gone.has_birth = false;
    assert_false(same(born, gone));
}

static void every_byte_of_a_memory_instance_counts_and_nothing_else_of_it(void **state)
{
    (void)state;
    for (int i = 0; i < CTR_ID_SIZE; i++) {
        ctr_fingerprint other = memory;
        other.instance[i] ^= 1;
        assert_false(same(memory, other));
    }
    ctr_fingerprint alike = memory;
    alike.has_birth = true;
    alike.inode = INODE;
    alike.birth = BIRTH;
    alike.device = DEVICE;
    assert_true(same(memory, alike));
}

static void unknown_places_are_one_place(void **state)
{
    (void)state;
    ctr_fingerprint other = born;
    other.place = CTR_PLACE_UNKNOWN;
    other.instance[0] = 1;
    assert_true(same(unknown, other));
}

/* ---- verdicts -------------------------------------------------------------------------------- */

enum { COLUMNS = 7 };

static char letter(ctr_verdict verdict)
{
    switch (verdict.why) {
    case CTR_WHY_NONE: return verdict.alone ? '?' : '.';
    case CTR_WHY_RESTORE: return verdict.alone ? '?' : 'R';
    case CTR_WHY_COPY: return verdict.alone ? 'A' : 'C';
    default: return '?';
    }
}

static char judged(const ctr_lineage *lineage, const ctr_fingerprint *seen,
                   ctr_attribute_state state, int64_t number, int64_t random)
{
    ctr_attribute attribute = {state, {number, random}};
    return letter(ctr_lineage_judge(lineage, seen, &attribute));
}

/* Of a file's number: the ones that an attribute may have in a column. */
static bool fits(size_t column, int64_t attribute, int64_t file)
{
    if (column == 3) return attribute < file;
    return column == 5 ? attribute > file : attribute == file;
}

static void expect_letter(const ctr_lineage *lineage, const ctr_fingerprint *seen, size_t column,
                          char expected)
{
    static const ctr_attribute_state states[COLUMNS] = {
        CTR_ATTRIBUTE_UNARMED, CTR_ATTRIBUTE_MISSING, CTR_ATTRIBUTE_FOREIGN, CTR_ATTRIBUTE_READ,
        CTR_ATTRIBUTE_READ,    CTR_ATTRIBUTE_READ,    CTR_ATTRIBUTE_READ};
    ctr_pair file = lineage->pair;
    for (size_t n = 0; n < COUNT(numbers); n++)
        for (size_t r = 0; r < COUNT(randoms); r++) {
            bool read = states[column] == CTR_ATTRIBUTE_READ;
            if (read && !fits(column, numbers[n], file.number)) continue;
            if (column == 4 && randoms[r] != file.random) continue;
            if (column == 6 && randoms[r] == file.random) continue;
            char got = judged(lineage, seen, states[column], numbers[n], randoms[r]);
            assert_int_equal(got, expected); /* where it was not read, the pair means nothing */
        }
}

/* The row has to hold for all pairs of the file. */
static void expect_row(ctr_fingerprint written, ctr_fingerprint seen, bool witnessed, bool trusts,
                       const char *row)
{
    for (size_t column = 0; column < COLUMNS; column++)
        for (size_t n = 0; n < COUNT(numbers); n++)
            for (size_t r = 0; r < COUNT(randoms); r++) {
                ctr_lineage lineage = {written, {numbers[n], randoms[r]}, witnessed, trusts};
                expect_letter(&lineage, &seen, column, row[column]);
            }
}

static ctr_fingerprint with_inode(ctr_fingerprint place, int64_t inode)
{
    place.inode = inode;
    return place;
}

static ctr_fingerprint with_birth(ctr_fingerprint place, int64_t birth)
{
    place.birth = birth;
    return place;
}

static ctr_fingerprint with_device(ctr_fingerprint place, int64_t device)
{
    place.device = device;
    return place;
}

static ctr_fingerprint other_instance(void)
{
    ctr_fingerprint place = memory;
    place.instance[CTR_ID_SIZE - 1] = 9;
    return place;
}

typedef void places_fn(ctr_fingerprint written, ctr_fingerprint seen);

static void each_same_place(places_fn *call)
{
    call(handled, handled);
    call(handled, with_device(handled, DEVICE + 1));
    call(unborn, unborn);
    call(unborn, with_device(unborn, 0));
    call(born, born);
    call(born, with_device(born, DEVICE + 1));
    call(memory, memory);
    call(unknown, unknown);
}

/* Of these, no time of birth says that the one seen is the younger. */
static void each_other_place(places_fn *call)
{
    const ctr_fingerprint places[] = {born, unborn, memory, unknown};
    for (size_t i = 0; i < COUNT(places); i++)
        for (size_t j = 0; j < COUNT(places); j++)
            if (i != j) call(places[i], places[j]);
    call(born, with_inode(born, INODE + 1));
    call(born, with_birth(born, BIRTH - 1));
    call(born, with_birth(with_inode(born, INODE + 1), BIRTH - 1));
    call(unborn, with_inode(unborn, INODE + 1));
    call(unborn, with_device(unborn, DEVICE + 1));
    call(unborn, with_birth(with_inode(unborn, INODE + 1), 1)); /* it has none */
    call(memory, other_instance());
}

static void each_younger_place(places_fn *call)
{
    call(born, with_birth(born, BIRTH + 1));
    call(born, with_birth(with_inode(born, INODE + 1), BIRTH + 1));
    call(born, with_birth(with_inode(born, INODE - 1), INT64_MAX));
}

static void expect_innocent_unless_outrun(ctr_fingerprint written, ctr_fingerprint seen)
{
    expect_row(written, seen, false, false, "..R..RR");
}

static void expect_a_missing_one_to_matter(ctr_fingerprint written, ctr_fingerprint seen)
{
    expect_row(written, seen, true, false, ".RR..RR");
}

static void expect_copy_alone_if_the_attribute_fits(ctr_fingerprint written, ctr_fingerprint seen)
{
    expect_row(written, seen, false, false, "CCCCACC");
    expect_row(written, seen, true, false, "CCCCACC");
}

static void expect_copy(ctr_fingerprint written, ctr_fingerprint seen)
{
    expect_row(written, seen, false, false, "CCCCCCC");
    expect_row(written, seen, true, false, "CCCCCCC");
}

static void expect_the_witness_alone(ctr_fingerprint written, ctr_fingerprint seen)
{
    expect_row(written, seen, false, true, "RRR..RR");
    expect_row(written, seen, true, true, "RRR..RR");
}

static void in_its_place_a_file_is_restored_if_the_attribute_is_foreign_or_not_older(void **state)
{
    (void)state;
    each_same_place(expect_innocent_unless_outrun);
}

static void in_its_place_a_missing_attribute_that_was_witnessed_is_a_restore(void **state)
{
    (void)state;
    each_same_place(expect_a_missing_one_to_matter);
}

static void another_place_is_a_copy_and_alone_in_saying_so_if_the_attribute_fits(void **state)
{
    (void)state;
    each_other_place(expect_copy_alone_if_the_attribute_fits);
}

static void a_copy_born_later_is_honest_whatever_came_along(void **state)
{
    (void)state;
    each_younger_place(expect_copy);
}

static void trusting_the_witness_it_alone_decides_in_every_place(void **state)
{
    (void)state;
    each_same_place(expect_the_witness_alone);
    each_other_place(expect_the_witness_alone);
    each_younger_place(expect_the_witness_alone);
}

static void each_reason_has_its_text(void **state)
{
    (void)state;
    assert_string_equal(ctr_lineage_why(CTR_WHY_CREATED), "created");
    assert_string_equal(ctr_lineage_why(CTR_WHY_COPY), "copy");
    assert_string_equal(ctr_lineage_why(CTR_WHY_RESTORE), "restore");
    assert_string_equal(ctr_lineage_why(CTR_WHY_CONFLICT), "conflict");
    assert_string_equal(ctr_lineage_why(CTR_WHY_DROPPED), "dropped table");
    assert_string_equal(ctr_lineage_why(CTR_WHY_FORK), "fork");
    assert_non_null(ctr_lineage_why(CTR_WHY_NONE));
}

/* ---- numbers --------------------------------------------------------------------------------- */

typedef void pairs_fn(const ctr_pair *pair, const ctr_pair *attribute);

static void each_two_pairs(pairs_fn *call)
{
    for (size_t i = 0; i < COUNT(numbers) * COUNT(randoms); i++)
        for (size_t j = 0; j < COUNT(numbers) * COUNT(randoms); j++) {
            ctr_pair a = {numbers[i / COUNT(randoms)], randoms[i % COUNT(randoms)]};
            ctr_pair b = {numbers[j / COUNT(randoms)], randoms[j % COUNT(randoms)]};
            call(&a, &b);
        }
}

static bool outdates(const ctr_pair *pair, ctr_attribute_state state, const ctr_pair *seen)
{
    ctr_attribute attribute = {state, *seen};
    return ctr_lineage_outdates(pair, &attribute);
}

static void expect_written_only_if_higher(const ctr_pair *pair, const ctr_pair *seen)
{
    assert_int_equal(outdates(pair, CTR_ATTRIBUTE_READ, seen), pair->number > seen->number);
}

static void an_attribute_that_was_read_is_never_lowered_nor_given_another_random(void **state)
{
    (void)state;
    each_two_pairs(expect_written_only_if_higher);
}

static void expect_written_if_armed(const ctr_pair *pair, const ctr_pair *seen)
{
    assert_true(outdates(pair, CTR_ATTRIBUTE_MISSING, seen));
    assert_true(outdates(pair, CTR_ATTRIBUTE_FOREIGN, seen));
    assert_false(outdates(pair, CTR_ATTRIBUTE_UNARMED, seen));
}

static void what_is_missing_or_foreign_is_written_and_nothing_where_there_are_none(void **state)
{
    (void)state;
    each_two_pairs(expect_written_if_armed);
}

static int64_t leap(int64_t number, ctr_attribute_state state, const ctr_pair *seen)
{
    ctr_attribute attribute = {state, *seen};
    return ctr_lineage_leap(number, &attribute);
}

static void expect_leap_beyond_both(const ctr_pair *pair, const ctr_pair *seen)
{
    int64_t higher = pair->number > seen->number ? pair->number : seen->number;
    assert_true(leap(pair->number, CTR_ATTRIBUTE_READ, seen) == higher + LEAP);
}

static void a_leap_is_beyond_the_file_and_the_attribute(void **state)
{
    (void)state;
    each_two_pairs(expect_leap_beyond_both);
}

static void expect_leap_beyond_the_file(const ctr_pair *pair, const ctr_pair *seen)
{
    const ctr_attribute_state unread[] = {CTR_ATTRIBUTE_UNARMED, CTR_ATTRIBUTE_MISSING,
                                          CTR_ATTRIBUTE_FOREIGN};
    for (size_t i = 0; i < COUNT(unread); i++)
        assert_true(leap(pair->number, unread[i], seen) == pair->number + LEAP);
}

static void a_leap_does_not_look_at_a_number_that_was_not_read(void **state)
{
    (void)state;
    each_two_pairs(expect_leap_beyond_the_file);
}

static void expect_peace_after_a_leap(const ctr_pair *pair, const ctr_pair *seen)
{
    ctr_pair next = {leap(pair->number, CTR_ATTRIBUTE_READ, seen), pair->random};
    ctr_lineage lineage = {born, next, true, false};
    assert_true(outdates(&next, CTR_ATTRIBUTE_READ, seen));
    assert_int_equal(judged(&lineage, &born, CTR_ATTRIBUTE_READ, seen->number, seen->random), '.');
    lineage.pair = *pair;
    assert_int_equal(judged(&lineage, &born, CTR_ATTRIBUTE_READ, next.number, next.random), 'R');
}

static void after_a_leap_the_file_is_innocent_and_its_older_content_a_restore(void **state)
{
    (void)state;
    each_two_pairs(expect_peace_after_a_leap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_the_same_as_itself_and_as_no_other_kind_of_place),
        cmocka_unit_test(birth_time_makes_the_device_irrelevant),
        cmocka_unit_test(every_nanosecond_of_the_birth_counts),
        cmocka_unit_test(without_birth_time_the_device_counts),
        cmocka_unit_test(an_unknown_device_is_any),
        cmocka_unit_test(without_birth_time_the_handle_decides_where_both_have_one),
        cmocka_unit_test(only_a_birth_time_or_a_handle_makes_a_file_sure),
        cmocka_unit_test(the_inode_counts_with_and_without_birth_time),
        cmocka_unit_test(a_birth_time_that_is_gone_is_another_place),
        cmocka_unit_test(every_byte_of_a_memory_instance_counts_and_nothing_else_of_it),
        cmocka_unit_test(unknown_places_are_one_place),
        cmocka_unit_test(in_its_place_a_file_is_restored_if_the_attribute_is_foreign_or_not_older),
        cmocka_unit_test(in_its_place_a_missing_attribute_that_was_witnessed_is_a_restore),
        cmocka_unit_test(another_place_is_a_copy_and_alone_in_saying_so_if_the_attribute_fits),
        cmocka_unit_test(a_copy_born_later_is_honest_whatever_came_along),
        cmocka_unit_test(trusting_the_witness_it_alone_decides_in_every_place),
        cmocka_unit_test(each_reason_has_its_text),
        cmocka_unit_test(an_attribute_that_was_read_is_never_lowered_nor_given_another_random),
        cmocka_unit_test(what_is_missing_or_foreign_is_written_and_nothing_where_there_are_none),
        cmocka_unit_test(a_leap_is_beyond_the_file_and_the_attribute),
        cmocka_unit_test(a_leap_does_not_look_at_a_number_that_was_not_read),
        cmocka_unit_test(after_a_leap_the_file_is_innocent_and_its_older_content_a_restore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
