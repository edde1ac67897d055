/* test_level.c - how many replicas each level needs, and which of them a read contacts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "core/core.h"

enum { N = 5 };

static const int ONE_DC[N], TWO_DCS[N] = {0, 0, 0, 1, 1}, APART[N] = {0, 2, 0, 2, 2};

/* Sites of which bit i of `available` says whether it is. */
static void make_sites(ctr_site *sites, int n, const int *dcs, unsigned available)
{
    for (int i = 0; i < n; i++) sites[i] = (ctr_site){dcs[i], (available >> i & 1) != 0};
}

static bool is_met(ctr_level level, int n, const int *dcs, unsigned available)
{
    ctr_site sites[CTR_LEVEL_SITES];
    ctr_shortage shortage;
    make_sites(sites, n, dcs, available);
    return ctr_level_is_met(level, sites, n, &shortage);
}

static void assert_contacts(ctr_level level, int n, const int *dcs, unsigned available,
                            const char *expected)
{
    ctr_site sites[CTR_LEVEL_SITES];
    ctr_shortage shortage;
    int contacts[CTR_LEVEL_SITES];
    char found[CTR_LEVEL_SITES + 1] = "";
    make_sites(sites, n, dcs, available);
    int taken = ctr_level_contacts(level, sites, n, contacts, &shortage);
    for (int i = 0; i < taken; i++) found[i] = (char)('0' + contacts[i]);
    assert_string_equal(found, expected);
}

static void assert_short(ctr_level level, int n, const int *dcs, unsigned available,
                         ctr_shortage expected)
{
    ctr_site sites[CTR_LEVEL_SITES];
    ctr_shortage shortage;
    make_sites(sites, n, dcs, available);
    assert_false(ctr_level_is_met(level, sites, n, &shortage));
    assert_int_equal(shortage.dc, expected.dc);
    assert_int_equal(shortage.needed, expected.needed);
    assert_int_equal(shortage.n, expected.n);
    assert_int_equal(shortage.available, expected.available);
}

static int count(unsigned bits)
{
    int n = 0;
    for (; bits; bits >>= 1) n += (int)(bits & 1);
    return n;
}

/* The sites of a data center, as bits. */
static unsigned sites_of(const int *dcs, int n, int dc)
{
    unsigned bits = 0;
    for (int i = 0; i < n; i++) bits |= (unsigned)(dcs[i] == dc) << i;
    return bits;
}

static bool has_majority(unsigned of, unsigned available)
{
    return 2 * count(of & available) > count(of);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void a_name_is_read_in_any_case_and_nothing_else_is_a_name(void **state)
{
    (void)state;
    for (int level = 0; level < CTR_LEVEL_NONE; level++)
        assert_int_equal(ctr_level_from_text(ctr_level_text((ctr_level)level)), level);
    assert_int_equal(ctr_level_from_text("quorum"), CTR_LEVEL_QUORUM);
    assert_int_equal(ctr_level_from_text("Each_Quorum"), CTR_LEVEL_EACH_QUORUM);
    const char *const others[] = {"",     "ANY",          "SERIAL",       "LOCAL_SERIAL",
                                  "QUOR", "QUORUMS",      "LOCAL",        "ONE ",
                                  " ONE", "LOCAL-QUORUM", "local\x7fone", "\xcf\xce\xc5"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(ctr_level_from_text(others[i]), CTR_LEVEL_NONE);
}

static void those_of_data_centres_need_places_and_local_ones_a_local_one(void **state)
{
    (void)state;
    for (int level = 0; level < CTR_LEVEL_NONE; level++) {
        const char *text = ctr_level_text((ctr_level)level);
        bool local = strncmp(text, "LOCAL_", 6) == 0, each = strncmp(text, "EACH_", 5) == 0;
        assert_int_equal(ctr_level_is_local((ctr_level)level), local);
        assert_int_equal(ctr_level_needs_centers((ctr_level)level), local || each);
    }
}

/* ---- how many -------------------------------------------------------------------------------- */

static void one_two_three_quorum_and_all_are_met_by_so_many_wherever_they_are(void **state)
{
    (void)state;
    for (int n = 1; n <= N; n++) {
        for (unsigned available = 0; available < 1u << n; available++) {
            int have = count(available);
            assert_int_equal(is_met(CTR_LEVEL_ONE, n, APART, available), have >= 1);
            assert_int_equal(is_met(CTR_LEVEL_TWO, n, APART, available), have >= 2);
            assert_int_equal(is_met(CTR_LEVEL_THREE, n, APART, available), have >= 3);
            assert_int_equal(is_met(CTR_LEVEL_QUORUM, n, APART, available), 2 * have > n);
            assert_int_equal(is_met(CTR_LEVEL_ALL, n, APART, available), have == n);
        }
    }
}

static void two_of_one_replica_can_never_be_met(void **state)
{
    (void)state;
    assert_short(CTR_LEVEL_TWO, 1, ONE_DC, 1, (ctr_shortage){-1, 2, 1, 1});
    assert_short(CTR_LEVEL_THREE, 2, ONE_DC, 3, (ctr_shortage){-1, 3, 2, 2});
}

static void two_quorums_always_have_a_replica_in_common(void **state)
{
    (void)state;
    for (int n = 1; n <= N; n++)
        for (unsigned a = 0; a < 1u << n; a++)
            for (unsigned b = 0; b < 1u << n; b++)
                if (is_met(CTR_LEVEL_QUORUM, n, ONE_DC, a) &&
                    is_met(CTR_LEVEL_QUORUM, n, ONE_DC, b))
                    assert_true(a & b);
}

static void local_levels_count_the_replicas_of_data_centre_0_alone(void **state)
{
    (void)state;
    for (unsigned available = 0; available < 1u << N; available++) {
        unsigned local = sites_of(TWO_DCS, N, 0);
        assert_int_equal(is_met(CTR_LEVEL_LOCAL_ONE, N, TWO_DCS, available),
                         (available & local) != 0);
        assert_int_equal(is_met(CTR_LEVEL_LOCAL_QUORUM, N, TWO_DCS, available),
                         has_majority(local, available));
    }
}

static void each_quorum_is_a_majority_of_every_data_centre_that_has_replicas(void **state)
{
    (void)state;
    for (unsigned available = 0; available < 1u << N; available++) {
        bool majorities = has_majority(sites_of(APART, N, 0), available) &&
                          has_majority(sites_of(APART, N, 2), available);
        assert_int_equal(is_met(CTR_LEVEL_EACH_QUORUM, N, APART, available), majorities);
    }
}

static void a_local_level_without_a_local_replica_is_never_met(void **state)
{
    (void)state;
    static const int FAR[] = {1, 1, 2};
    assert_short(CTR_LEVEL_LOCAL_ONE, 3, FAR, 7, (ctr_shortage){0, 1, 0, 0});
    assert_short(CTR_LEVEL_LOCAL_QUORUM, 3, FAR, 7, (ctr_shortage){0, 1, 0, 0});
    assert_true(is_met(CTR_LEVEL_EACH_QUORUM, 3, FAR, 7));
}

static void a_shortage_says_where_how_many_are_needed_and_how_many_there_are(void **state)
{
    (void)state;
    assert_short(CTR_LEVEL_QUORUM, 5, ONE_DC, 1 | 16, (ctr_shortage){-1, 3, 5, 2});
    assert_short(CTR_LEVEL_ALL, 3, ONE_DC, 0, (ctr_shortage){-1, 3, 3, 0});
    assert_short(CTR_LEVEL_LOCAL_QUORUM, 5, TWO_DCS, 2 | 8 | 16, (ctr_shortage){0, 2, 3, 1});
    assert_short(CTR_LEVEL_EACH_QUORUM, 5, TWO_DCS, 1 | 2 | 8, (ctr_shortage){1, 2, 2, 1});
    assert_short(CTR_LEVEL_EACH_QUORUM, 5, APART, 1 | 4 | 8, (ctr_shortage){2, 2, 3, 1});
}

/* ---- which ----------------------------------------------------------------------------------- */

static void the_first_available_replicas_are_contacted_and_no_more_than_needed(void **state)
{
    (void)state;
    assert_contacts(CTR_LEVEL_ONE, 5, ONE_DC, 31, "0");
    assert_contacts(CTR_LEVEL_ONE, 5, ONE_DC, 24, "3");
    assert_contacts(CTR_LEVEL_TWO, 5, ONE_DC, 2 | 8 | 16, "13");
    assert_contacts(CTR_LEVEL_QUORUM, 5, ONE_DC, 31, "012");
    assert_contacts(CTR_LEVEL_QUORUM, 5, ONE_DC, 31 - 2, "023");
    assert_contacts(CTR_LEVEL_ALL, 5, ONE_DC, 31, "01234");
    assert_contacts(CTR_LEVEL_ALL, 5, ONE_DC, 30, "");
}

static void local_levels_contact_local_replicas_and_each_quorum_some_of_each(void **state)
{
    (void)state;
    assert_contacts(CTR_LEVEL_LOCAL_ONE, 5, APART, 31, "0");
    assert_contacts(CTR_LEVEL_LOCAL_ONE, 5, APART, 30, "2");
    assert_contacts(CTR_LEVEL_LOCAL_QUORUM, 5, APART, 31, "02");
    assert_contacts(CTR_LEVEL_LOCAL_QUORUM, 5, APART, 30, "");
    assert_contacts(CTR_LEVEL_EACH_QUORUM, 5, TWO_DCS, 31, "0134");
    assert_contacts(CTR_LEVEL_EACH_QUORUM, 5, APART, 31 - 2, "0234");
    assert_contacts(CTR_LEVEL_EACH_QUORUM, 5, ONE_DC, 31, "012");
}

static void there_is_room_for_64_replicas(void **state)
{
    (void)state;
    ctr_site sites[CTR_LEVEL_SITES];
    ctr_shortage shortage;
    for (int i = 0; i < CTR_LEVEL_SITES; i++) sites[i] = (ctr_site){i, true};
    assert_true(ctr_level_is_met(CTR_LEVEL_ALL, sites, CTR_LEVEL_SITES, &shortage));
    assert_true(ctr_level_is_met(CTR_LEVEL_EACH_QUORUM, sites, CTR_LEVEL_SITES, &shortage));
    sites[63].available = false;
    assert_false(ctr_level_is_met(CTR_LEVEL_EACH_QUORUM, sites, CTR_LEVEL_SITES, &shortage));
    assert_int_equal(shortage.dc, 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_read_in_any_case_and_nothing_else_is_a_name),
        cmocka_unit_test(those_of_data_centres_need_places_and_local_ones_a_local_one),
        cmocka_unit_test(one_two_three_quorum_and_all_are_met_by_so_many_wherever_they_are),
        cmocka_unit_test(two_of_one_replica_can_never_be_met),
        cmocka_unit_test(two_quorums_always_have_a_replica_in_common),
        cmocka_unit_test(local_levels_count_the_replicas_of_data_centre_0_alone),
        cmocka_unit_test(each_quorum_is_a_majority_of_every_data_centre_that_has_replicas),
        cmocka_unit_test(a_local_level_without_a_local_replica_is_never_met),
        cmocka_unit_test(a_shortage_says_where_how_many_are_needed_and_how_many_there_are),
        cmocka_unit_test(the_first_available_replicas_are_contacted_and_no_more_than_needed),
        cmocka_unit_test(local_levels_contact_local_replicas_and_each_quorum_some_of_each),
        cmocka_unit_test(there_is_room_for_64_replicas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
