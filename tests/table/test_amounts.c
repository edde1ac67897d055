/* test_amounts.c - the table of amounts against a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "table/table.h"

enum { ROWS = 3000, COUNTERS = 3, ROUNDS = 400, MOST = 97 };

typedef struct model {
    bool there[ROWS][COUNTERS];
    int64_t n[ROWS][COUNTERS];
    size_t live;
} model;

static void close_nothing(ctr_conn *conn)
{
    (void)conn;
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % below;
}

static void add(ctr_amounts *amounts, model *expected, int row, int counter)
{
    ctr_amount *amount = ctr_cache_add_amount(amounts, row, counter);
    amount->n++;
    amount->ticks++;
    expected->n[row][counter]++;
    expected->live += !expected->there[row][counter];
    expected->there[row][counter] = true;
}

static void drop(ctr_amounts *amounts, model *expected, int row, int counter)
{
    ctr_cache_drop_amount(amounts, row, counter);
    expected->live -= expected->there[row][counter];
    expected->there[row][counter] = false;
    expected->n[row][counter] = 0;
}

static void assert_as_expected(const ctr_amounts *amounts, const model *expected)
{
    size_t live = 0;
    for (int row = 0; row < ROWS; row++) {
        for (int counter = 0; counter < COUNTERS; counter++) {
            const ctr_amount *amount = ctr_cache_find_amount(amounts, row, counter);
            bool adds = amount && amount->ticks > 0;
            assert_int_equal(adds, expected->there[row][counter]);
            if (adds) assert_int_equal(amount->n, expected->n[row][counter]);
            live += adds;
        }
    }
    assert_int_equal(live, expected->live);
    assert_int_equal(amounts->n_slots & (amounts->n_slots - 1), 0);
    assert_true(4 * amounts->n <= 3 * amounts->n_slots);
}

/* Each round adds some and drops a share of those that are there, few or most. */
static void amounts_are_those_of_an_array(void **state)
{
    static model expected;
    ctr_conn *conn = ctr_conn_new(NULL, (ctr_conn_above){.close_files = close_nothing});
    ctr_amounts amounts = {0};
    uint64_t seed = 20261124;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int n = 1 + (int)draw(&seed, MOST), rows = round % 2 ? ROWS : ROWS / 20;
        assert_int_equal(ctr_cache_expect_amounts(conn, &amounts, (size_t)n), SQLITE_OK);
        for (int i = 0; i < n; i++)
            add(&amounts, &expected, (int)draw(&seed, (uint32_t)rows), (int)draw(&seed, COUNTERS));
        uint32_t share = 2 + draw(&seed, 8);
        for (int row = 0; row < ROWS; row++)
            for (int counter = 0; counter < COUNTERS; counter++)
                if (expected.there[row][counter] && draw(&seed, 10) > share)
                    drop(&amounts, &expected, row, counter);
        assert_as_expected(&amounts, &expected);
    }
    ctr_cache_clear_amounts(&amounts);
    assert_null(ctr_cache_find_amount(&amounts, 1, 0));
    ctr_conn_drop(conn);
}

/* Where nearly all amounts add, the table grows; else it is made anew in its size. */
static void the_table_grows_only_where_most_of_it_is_used(void **state)
{
    enum { FULL = 48 }; /* three quarters of the first table */
    ctr_conn *conn = ctr_conn_new(NULL, (ctr_conn_above){.close_files = close_nothing});
    (void)state;
    for (int dropped = 0; dropped <= FULL; dropped++) {
        ctr_amounts amounts = {0};
        assert_int_equal(ctr_cache_expect_amounts(conn, &amounts, FULL), SQLITE_OK);
        for (int row = 0; row < FULL; row++) ctr_cache_add_amount(&amounts, row, 0)->ticks = 1;
        for (int row = 0; row < dropped; row++) ctr_cache_drop_amount(&amounts, row, 0);
        assert_int_equal(ctr_cache_expect_amounts(conn, &amounts, 1), SQLITE_OK);
        assert_int_equal(amounts.n_slots, dropped < FULL / 4 ? 128 : 64);
        assert_int_equal(amounts.n, FULL - dropped);
        for (int row = 0; row < FULL; row++)
            assert_int_equal(ctr_cache_find_amount(&amounts, row, 0) != NULL, row >= dropped);
        ctr_cache_clear_amounts(&amounts);
    }
    ctr_conn_drop(conn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_are_those_of_an_array),
        cmocka_unit_test(the_table_grows_only_where_most_of_it_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
