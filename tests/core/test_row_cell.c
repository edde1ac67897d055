/* test_row_cell.c - row cells: the join is a lattice, what is written comes back, and nothing else
 * is taken for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "core/core.h"

enum { COLUMNS = 5, ROUNDS = 20000, ROOM = 1024 };

static const int SAME[COLUMNS] = {0, 1, 2, 3, 4};

typedef struct row {
    ctr_row_cell cell;
    ctr_column_stamp columns[COLUMNS];
} row;

static ctr_stamp random_stamp(void)
{
    ctr_stamp stamp = {.number = rand() % 6};
    if (rand() % 50 == 0) stamp.number = CTR_STAMP_MAX;
    stamp.id[0] = (uint8_t)(rand() % 3);
    return stamp;
}

static bool same_stamp(const ctr_stamp *a, const ctr_stamp *b)
{
    if (!a || !b) return !a && !b;
    return a->number == b->number && memcmp(a->id, b->id, CTR_ID_SIZE) == 0;
}

static void make_row(row *made)
{
    *made = (row){.cell = {.life = (uint32_t)(rand() % 4), .row = random_stamp(), .n = COLUMNS}};
    made->cell.columns = made->columns;
    bool live = ctr_row_cell_is_live(&made->cell);
    made->cell.born = made->cell.life > 0 && rand() % 3 > 0;
    if (made->cell.born) made->cell.birth = rand() % 2 ? made->cell.row : random_stamp();
    if (!live) made->cell.row = (ctr_stamp){0};
    for (int i = 0; i < COLUMNS && live; i++) {
        made->columns[i].kind = (ctr_stamp_kind)(rand() % 3);
        ctr_stamp own = random_stamp();
        if (rand() % 4 == 0) own.number = ctr_stamp_number(2 * (1 + rand() % 2), own.number);
        if (made->columns[i].kind == CTR_STAMP_OWN && same_stamp(&own, &made->cell.row))
            made->columns[i].kind = CTR_STAMP_OF_ROW;
        if (made->columns[i].kind == CTR_STAMP_OWN) made->columns[i].own = own;
    }
}

static void copy_row(row *to, const row *from)
{
    *to = *from;
    to->cell.columns = to->columns;
}

static bool same_row(const row *a, const row *b)
{
    if (a->cell.life != b->cell.life || a->cell.born != b->cell.born) return false;
    if (a->cell.born && !same_stamp(&a->cell.birth, &b->cell.birth)) return false;
    if (!ctr_row_cell_is_live(&a->cell)) return true;
    bool same = same_stamp(&a->cell.row, &b->cell.row);
    for (int i = 0; i < COLUMNS && same; i++)
        same = a->columns[i].kind == b->columns[i].kind &&
               same_stamp(ctr_row_cell_stamp(&a->cell, i), ctr_row_cell_stamp(&b->cell, i));
    return same;
}

static row joined(const row *a, const row *b)
{
    row both;
    bool taken[COLUMNS];
    copy_row(&both, a);
    ctr_row_cell_join(&both.cell, &b->cell, SAME, taken);
    return both;
}

static void assert_same_row(row a, row b)
{
    a.cell.columns = a.columns;
    b.cell.columns = b.columns;
    assert_true(same_row(&a, &b));
}

static void test_the_join_does_not_depend_on_order_grouping_and_repetition(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        row a, b, c;
        make_row(&a);
        make_row(&b);
        make_row(&c);
        row ab = joined(&a, &b), bc = joined(&b, &c);
        ab.cell.columns = ab.columns;
        bc.cell.columns = bc.columns;
        assert_same_row(ab, joined(&b, &a));
        assert_same_row(joined(&ab, &c), joined(&a, &bc));
        assert_same_row(joined(&ab, &b), ab);
        assert_same_row(joined(&a, &a), a);
    }
}

static void test_a_value_is_taken_exactly_where_the_stamp_becomes_theirs(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        row a, b, both;
        bool taken[COLUMNS];
        make_row(&a);
        make_row(&b);
        copy_row(&both, &a);
        ctr_row_outcome outcome = ctr_row_cell_join(&both.cell, &b.cell, SAME, taken);
        int age = a.cell.life > 0 && b.cell.life > 0 ? ctr_row_cell_age(&a.cell, &b.cell) : 0;
        bool is_one = age == 0;
        assert_int_equal(outcome == CTR_ROW_REPLACED,
                         age > 0 || (is_one && b.cell.life > a.cell.life));
        for (int k = 0; k < COLUMNS; k++) {
            bool live = ctr_row_cell_is_live(&both.cell);
            const ctr_stamp *now = live ? ctr_row_cell_stamp(&both.cell, k) : NULL;
            bool stays = age < 0 || (is_one && a.cell.life == both.cell.life);
            const ctr_stamp *here = stays && live ? ctr_row_cell_stamp(&a.cell, k) : NULL;
            assert_int_equal(taken[k], now && !same_stamp(now, here));
        }
    }
}

static void test_of_two_rows_under_one_key_the_one_that_was_born_first_wins_whole(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        row a, b, first, both;
        make_row(&a);
        make_row(&b);
        if (a.cell.life == 0 || b.cell.life == 0) continue;
        int age = ctr_row_cell_age(&a.cell, &b.cell);
        assert_int_equal(age, -ctr_row_cell_age(&b.cell, &a.cell));
        copy_row(&first, age < 0 ? &a : &b);
        both = joined(&a, &b);
        if (age != 0) assert_same_row(both, first);
    }
}

static void test_a_birth_stays_as_the_row_lives_and_dies(void **state)
{
    (void)state;
    const ctr_stamp birth = {.number = 5};
    row a = {.cell = {.n = COLUMNS, .born = true, .birth = birth}};
    a.cell.columns = a.columns;
    for (int64_t i = 5; i < 15; i++) {
        const ctr_stamp stamp = {.number = i};
        assert_int_equal(i % 3 == 2   ? ctr_row_cell_insert(&a.cell, &stamp)
                         : i % 3 == 0 ? ctr_row_cell_insert(&a.cell, &stamp)
                                      : ctr_row_cell_delete(&a.cell),
                         CTR_OK);
        assert_true(a.cell.born && same_stamp(&a.cell.birth, &birth));
    }
    assert_int_equal(a.cell.life, 7);
}

static void test_a_write_beats_everything_that_it_replaces(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        row a, merged;
        bool mask[COLUMNS], taken[COLUMNS];
        make_row(&a);
        if (!ctr_row_cell_is_live(&a.cell)) continue;
        for (int k = 0; k < COLUMNS; k++) mask[k] = rand() % 2;
        ctr_stamp stamp = {.number = ctr_row_cell_highest_of(&a.cell, mask) + 1};
        row written;
        copy_row(&written, &a);
        ctr_row_cell_set(&written.cell, mask, &stamp);
        merged = joined(&written, &a);
        merged.cell.columns = merged.columns;
        assert_same_row(merged, written);
        copy_row(&merged, &a);
        ctr_row_cell_join(&merged.cell, &written.cell, SAME, taken);
        assert_memory_equal(taken, mask, sizeof mask);
    }
}

static void test_a_higher_generation_wins_over_all_times_and_stays(void **state)
{
    (void)state;
    const ctr_stamp late = {.number = CTR_STAMP_MAX}, write = {.number = 9};
    for (int i = 0; i < ROUNDS; i++) {
        row r;
        make_row(&r);
        if (!ctr_row_cell_is_live(&r.cell)) continue;
        int column = rand() % COLUMNS;
        const ctr_stamp *stamp = ctr_row_cell_stamp(&r.cell, column);
        int64_t before = stamp ? ctr_stamp_generation(stamp->number) : 0;
        int64_t time = stamp ? ctr_stamp_time(stamp->number) : 0;
        ctr_row_cell_raise(&r.cell, column, 6);
        stamp = ctr_row_cell_stamp(&r.cell, column);
        if (!stamp) continue;
        assert_true(before < 6 && ctr_row_cell_beats(stamp, &late));
        assert_true(ctr_stamp_time(stamp->number) == time);
        ctr_row_cell_raise(&r.cell, column, 4);
        ctr_row_cell_set_column(&r.cell, column, &write);
        if (rand() % 2) assert_int_equal(ctr_row_cell_insert(&r.cell, &write), CTR_OK);
        stamp = ctr_row_cell_stamp(&r.cell, column);
        assert_true(ctr_stamp_generation(stamp->number) == 6);
        assert_true(ctr_stamp_time(stamp->number) == 9);
    }
    assert_true(ctr_stamp_number(1 << 20, 5) == ctr_stamp_number(510, 5));
    assert_true(ctr_stamp_number(510, CTR_STAMP_MAX) > 0);
}

static void test_a_row_lives_and_dies_in_turns(void **state)
{
    (void)state;
    row a = {.cell = {.n = COLUMNS}};
    a.cell.columns = a.columns;
    ctr_stamp stamp = {.number = 5};
    assert_int_equal(ctr_row_cell_insert(&a.cell, &stamp), CTR_OK);
    assert_int_equal(a.cell.life, 1);
    stamp.number = 6;
    assert_int_equal(ctr_row_cell_insert(&a.cell, &stamp), CTR_OK); /* REPLACE: the same life */
    assert_int_equal(a.cell.life, 1);
    assert_int_equal(ctr_row_cell_highest(&a.cell), 6);
    assert_int_equal(ctr_row_cell_delete(&a.cell), CTR_OK);
    assert_int_equal(a.cell.life, 2);
    assert_int_equal(ctr_row_cell_highest(&a.cell), 0);
    assert_int_equal(ctr_row_cell_insert(&a.cell, &stamp), CTR_OK);
    assert_int_equal(a.cell.life, 3);
    a.cell.life = CTR_ROW_LIFE_MAX;
    assert_int_equal(ctr_row_cell_delete(&a.cell), CTR_LAST_LIFE);
}

static void test_a_column_that_the_other_file_lacks_stays_or_has_no_stamp(void **state)
{
    (void)state;
    row mine, theirs;
    bool taken[COLUMNS];
    const int map[COLUMNS] = {0, -1, 2, -1, 4};
    for (int i = 0; i < ROUNDS; i++) {
        make_row(&mine);
        make_row(&theirs);
        row before;
        copy_row(&before, &mine);
        ctr_row_outcome outcome = ctr_row_cell_join(&mine.cell, &theirs.cell, map, taken);
        assert_false(taken[1] || taken[3]);
        if (!ctr_row_cell_is_live(&mine.cell)) continue;
        if (outcome == CTR_ROW_REPLACED)
            assert_null(ctr_row_cell_stamp(&mine.cell, 1));
        else
            assert_true(
                same_stamp(ctr_row_cell_stamp(&mine.cell, 1), ctr_row_cell_stamp(&before.cell, 1)));
    }
}

/* ---- encodings ------------------------------------------------------------------------------- */

static uint64_t number_of(void *with, const uint8_t id[CTR_ID_SIZE])
{
    (void)with;
    return (uint64_t)id[0] + 1;
}

static const uint8_t *id_of(void *with, uint64_t number)
{
    static uint8_t id[CTR_ID_SIZE];
    (void)with;
    if (number < 1 || number > 3) return NULL;
    id[0] = (uint8_t)(number - 1);
    return id;
}

static const ctr_writer_map WRITERS = {number_of, id_of, NULL};

static void test_a_stored_cell_comes_back(void **state)
{
    (void)state;
    uint8_t bytes[ROOM];
    for (int i = 0; i < ROUNDS; i++) {
        row a, b = {.cell = {.n = COLUMNS}};
        b.cell.columns = b.columns;
        make_row(&a);
        if (a.cell.life == 0) continue;
        size_t size = ctr_row_cell_write(&a.cell, &WRITERS, bytes);
        assert_true(size <= ctr_row_cell_room(COLUMNS));
        assert_int_equal(ctr_row_cell_read(&b.cell, &WRITERS, bytes, size), CTR_OK);
        assert_same_row(a, b);
        for (size_t cut = 0; cut < size && ctr_row_cell_is_live(&a.cell); cut++) {
            row c = b;
            c.cell.columns = c.columns;
            ctr_status status = ctr_row_cell_read(&c.cell, &WRITERS, bytes, cut);
            assert_true(status != CTR_OK || cut > 3); /* whole columns may be missing */
        }
    }
}

static void test_a_column_added_later_has_no_stamp_in_older_rows(void **state)
{
    (void)state;
    uint8_t bytes[ROOM];
    row old = {.cell = {.n = 2}}, now = {.cell = {.n = COLUMNS}};
    old.cell.columns = old.columns;
    now.cell.columns = now.columns;
    ctr_stamp stamp = {.number = 9};
    ctr_row_cell_insert(&old.cell, &stamp);
    size_t size = ctr_row_cell_write(&old.cell, &WRITERS, bytes);
    assert_int_equal(ctr_row_cell_read(&now.cell, &WRITERS, bytes, size), CTR_OK);
    assert_int_equal(ctr_row_cell_stamp(&now.cell, 1)->number, 9);
    assert_null(ctr_row_cell_stamp(&now.cell, 2));
    assert_int_equal(ctr_row_cell_read(&old.cell, &WRITERS, bytes, size), CTR_OK);
    now.cell.n = 1; /* the file has forgotten a column: the cell is damaged */
    assert_int_equal(ctr_row_cell_read(&now.cell, &WRITERS, bytes, size), CTR_OUT_OF_RANGE);
}

static void test_random_bytes_are_refused_or_read_within_their_end(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        row a;
        make_row(&a);
        if (a.cell.life == 0) continue;
        uint8_t room[ROOM];
        size_t size = ctr_row_cell_write(&a.cell, &WRITERS, room);
        uint8_t *bytes = malloc(size); /* so that the sanitizer sees its end */
        memcpy(bytes, room, size);
        for (int k = rand() % 3; k >= 0; k--) bytes[(size_t)rand() % size] = (uint8_t)rand();
        row b = {.cell = {.n = COLUMNS}};
        b.cell.columns = b.columns;
        ctr_row_cell_read(&b.cell, &WRITERS, bytes, size);
        free(bytes);
    }
}

/* Both ask about the same columns; once one of them says that it wins, or yields, neither asks, its
 * values win or yield there, and what a clock has stamped stays. */
static void test_rows_that_began_apart_are_asked_about_until_one_of_them_wins_or_yields(void **s)
{
    (void)s;
    const uint8_t id[CTR_ID_SIZE] = {9};
    for (int i = 0; i < ROUNDS; i++) {
        row a, b, said;
        bool here[COLUMNS] = {false}, there[COLUMNS] = {false}, taken[COLUMNS];
        bool wins = rand() % 2;
        make_row(&a);
        make_row(&b);
        bool asks = ctr_row_cell_began_apart(&a.cell, &b.cell, SAME, here);
        assert_int_equal(asks, ctr_row_cell_began_apart(&b.cell, &a.cell, SAME, there));
        if (!asks) continue;
        assert_memory_equal(here, there, sizeof here);
        copy_row(&said, &a);
        assert_true(ctr_row_cell_begin_again(&said.cell, wins, id));
        for (int k = 0; k < COLUMNS; k++) {
            const ctr_stamp *was = ctr_row_cell_stamp(&a.cell, k),
                            *is = ctr_row_cell_stamp(&said.cell, k);
            assert_int_equal(was == NULL, is == NULL);
            if (was && was->number > CTR_STAMP_BEGAN_MAX) assert_true(same_stamp(was, is));
        }
        ctr_row_cell_join(&b.cell, &said.cell, SAME, taken);
        for (int k = 0; k < COLUMNS; k++) {
            if (!here[k] || ctr_row_cell_stamp(&a.cell, k)->number == 0) continue;
            assert_int_equal(taken[k], wins);
        }
        assert_false(wins && ctr_row_cell_began_apart(&b.cell, &said.cell, SAME, there));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_join_does_not_depend_on_order_grouping_and_repetition),
        cmocka_unit_test(test_a_value_is_taken_exactly_where_the_stamp_becomes_theirs),
        cmocka_unit_test(test_of_two_rows_under_one_key_the_one_that_was_born_first_wins_whole),
        cmocka_unit_test(test_a_birth_stays_as_the_row_lives_and_dies),
        cmocka_unit_test(test_a_write_beats_everything_that_it_replaces),
        cmocka_unit_test(test_a_higher_generation_wins_over_all_times_and_stays),
        cmocka_unit_test(test_a_row_lives_and_dies_in_turns),
        cmocka_unit_test(test_a_column_that_the_other_file_lacks_stays_or_has_no_stamp),
        cmocka_unit_test(test_a_stored_cell_comes_back),
        cmocka_unit_test(test_a_column_added_later_has_no_stamp_in_older_rows),
        cmocka_unit_test(test_random_bytes_are_refused_or_read_within_their_end),
        cmocka_unit_test(
            test_rows_that_began_apart_are_asked_about_until_one_of_them_wins_or_yields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
