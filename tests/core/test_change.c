/* test_change.c - a change comes back as it was written, by one encoding, and nothing else is
 * taken for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "core/core.h"

enum { ROOM = 4096, ROUNDS = 20000, COLUMNS = 4 };

static const uint8_t CELL[] = {
    CTR_COUNTER_BYTE, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 5, 24};
static const uint8_t TEXT[] = {3, 3, 'j', 'a', 'm'}, NOTHING[] = {0};
static const char *const NAMES[COLUMNS] = {"a", "ab", "b", "\xc3\xa9"};

/* ---- random changes -------------------------------------------------------------------------- */

typedef struct made_change {
    ctr_told_row row;
    ctr_told_column columns[COLUMNS];
    uint64_t n;
    uint8_t bytes[ROOM];
    size_t size;
} made_change;

static ctr_stamp random_told_stamp(int64_t generation)
{
    ctr_stamp stamp = {.number = ctr_stamp_number(generation, rand() % 1000)};
    stamp.id[3] = (uint8_t)rand();
    return stamp;
}

static ctr_told_column random_column(const ctr_told_row *row, const char *name)
{
    ctr_told_column column = {.name = (const uint8_t *)name, .name_size = strlen(name)};
    if (!row->is || rand() % 2) {
        column.kind = ctr_kind_counter();
        column.generation = 1 + 2 * (rand() % 3);
        column.state = CELL;
        column.size = sizeof CELL;
        return column;
    }
    column.kind = ctr_kind_regular();
    column.stamp.kind = (ctr_stamp_kind)(rand() % 3);
    if (column.stamp.kind == CTR_STAMP_OWN) column.generation = 2 * (rand() % 3);
    if (column.stamp.kind == CTR_STAMP_OWN) column.stamp.own = random_told_stamp(column.generation);
    if (column.stamp.kind == CTR_STAMP_NONE) return column;
    bool null = rand() % 2;
    column.state = null ? NOTHING : TEXT;
    column.size = null ? sizeof NOTHING : sizeof TEXT;
    return column;
}

static void make_row(made_change *made)
{
    *made = (made_change){.row = {.is = rand() % 3 > 0}};
    if (made->row.is) made->row.life = 1 + (uint32_t)(rand() % 3);
    if (made->row.life % 2 == 1) made->row.stamp = random_told_stamp(0);
    made->row.born = made->row.is && rand() % 2;
    if (made->row.born)
        made->row.birth = rand() % 2 && made->row.life % 2 ? made->row.stamp : random_told_stamp(0);
    bool dead = made->row.is && made->row.life % 2 == 0;
    for (int i = 0; i < COLUMNS && !dead; i++)
        if (rand() % 2) made->columns[made->n++] = random_column(&made->row, NAMES[i]);
    uint8_t *end = ctr_change_begin_row(made->bytes, &made->row, made->n);
    for (uint64_t i = 0; i < made->n; i++) end = ctr_change_put_column(end, &made->columns[i]);
    made->size = (size_t)(end - made->bytes);
}

static void assert_same_stamp(const ctr_stamp *a, const ctr_stamp *b)
{
    assert_int_equal(a->number, b->number);
    assert_memory_equal(a->id, b->id, CTR_ID_SIZE);
}

static void assert_same_column(const ctr_told_column *a, const ctr_told_column *b)
{
    assert_int_equal(a->name_size, b->name_size);
    assert_memory_equal(a->name, b->name, a->name_size);
    assert_int_equal(a->generation, b->generation);
    assert_ptr_equal(a->kind, b->kind);
    assert_int_equal(a->stamp.kind, b->stamp.kind);
    if (a->stamp.kind == CTR_STAMP_OWN) assert_same_stamp(&a->stamp.own, &b->stamp.own);
    assert_int_equal(a->size, b->size);
    if (a->size > 0) assert_memory_equal(a->state, b->state, a->size);
}

static void a_row_comes_back_as_it_was_told(void **state)
{
    (void)state;
    static made_change made;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t n = 0;
        ctr_change_view change;
        ctr_told_column column;
        make_row(&made);
        assert_int_equal(ctr_change_open(&change, made.bytes, made.size), CTR_OK);
        assert_int_equal(change.what, CTR_TELLS_ROW);
        assert_int_equal(change.row.is, made.row.is);
        assert_int_equal(change.row.life, made.row.life);
        assert_same_stamp(&change.row.stamp, &made.row.stamp);
        assert_int_equal(change.row.born, made.row.born);
        assert_same_stamp(&change.row.birth, &made.row.birth);
        for (; ctr_change_next(&change, &column); n++)
            assert_same_column(&column, &made.columns[n]);
        assert_int_equal(n, made.n);
    }
}

static void every_cut_of_a_row_is_refused(void **state)
{
    (void)state;
    static made_change made;
    for (int round = 0; round < ROUNDS / 20; round++) {
        ctr_change_view change;
        make_row(&made);
        for (size_t size = 0; size < made.size; size++) {
            uint8_t *exact = malloc(size + 1);
            memcpy(exact, made.bytes, size);
            assert_int_not_equal(ctr_change_open(&change, exact, size), CTR_OK);
            free(exact);
        }
        made.bytes[made.size] = 0;
        assert_int_not_equal(ctr_change_open(&change, made.bytes, made.size + 1), CTR_OK);
    }
}

/* ---- other changes --------------------------------------------------------------------------- */

static void floors_columns_and_answers_come_back(void **state)
{
    (void)state;
    ctr_change_view change;
    uint8_t bytes[ROOM];
    static const uint8_t ANSWER[] = {1, 2, 3};
    uint8_t *end = ctr_change_put_floors(bytes);
    assert_int_equal(ctr_change_open(&change, bytes, (size_t)(end - bytes)), CTR_OK);
    assert_int_equal(change.what, CTR_TELLS_FLOORS);
    end = ctr_change_put_answer(bytes, ANSWER, sizeof ANSWER);
    assert_int_equal(ctr_change_open(&change, bytes, (size_t)(end - bytes)), CTR_OK);
    assert_int_equal(change.what, CTR_TELLS_ANSWER);
    assert_int_equal(change.column.size, sizeof ANSWER);
    assert_memory_equal(change.column.state, ANSWER, sizeof ANSWER);
    const ctr_told_column column = {.name = (const uint8_t *)"n",
                                    .name_size = 1,
                                    .generation = CTR_GENERATION_MAX,
                                    .kind = ctr_kind_counter()};
    end = ctr_change_put_generation(bytes, &column);
    assert_int_equal(ctr_change_open(&change, bytes, (size_t)(end - bytes)), CTR_OK);
    assert_int_equal(change.what, CTR_TELLS_COLUMN);
    assert_same_column(&change.column, &column);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static ctr_status status_of(const char *bytes, size_t size)
{
    ctr_change_view change;
    uint8_t *exact = malloc(size + 1);
    memcpy(exact, bytes, size);
    ctr_status status = ctr_change_open(&change, exact, size);
    free(exact);
    return status;
}

#define assert_status(bytes, status) assert_int_equal(status_of(bytes, sizeof bytes - 1), status)

static void what_this_version_does_not_know_is_newer(void **state)
{
    (void)state;
    assert_status("\x05", CTR_NEWER_FORMAT);
    assert_status("\x3f", CTR_NEWER_FORMAT);
    assert_status("\x01\x03\x01\x01\x02\x09\x01\x00\x00", CTR_NEWER_FORMAT); /* three fields */
    assert_status("\x01\x01\x03\x01\x02\x00", CTR_NEWER_FORMAT);             /* another tag */
    assert_status("\x03\x01n\x01\x03", CTR_NEWER_FORMAT);                    /* another kind */
}

static void bytes_that_say_something_else_are_refused(void **state)
{
    (void)state;
    assert_status("", CTR_NOT_A_CELL);
    assert_status("\x00", CTR_NOT_A_CELL);
    assert_status("\x40", CTR_NOT_A_CELL);
    assert_status("\x02\x00", CTR_TRAILING);
    assert_status("\x01\x00\x00", CTR_OK);             /* a row of which nothing is told */
    assert_status("\x01\x01\x01\x01\x02\x00", CTR_OK); /* deleted */
    assert_status("\x01\x01\x01\x01\x00\x00", CTR_OUT_OF_RANGE); /* there was never such a row */
    assert_status("\x01\x01\x00\x01\x02\x00", CTR_OUT_OF_RANGE); /* tag 0 */
    assert_status("\x01\x01\x01\x02\x02\x02\x00", CTR_TRAILING); /* behind the life */
    assert_status("\x01\x01\x02\x00\x00", CTR_OUT_OF_RANGE);     /* a birth of no row */
    assert_status("\x01\x02\x01\x01\x02\x02\x00\x00", CTR_TRUNCATED);    /* none of a tombstone */
    assert_status("\x01\x02\x02\x00\x01\x01\x02\x00", CTR_OUT_OF_RANGE); /* before its row */
    assert_status("\x01\x01\x01\x01\x02\x01\x01n\x00\x02\x01\x02", CTR_OUT_OF_RANGE);
    assert_status("\x01\x00\x01\x01n\x00\x02\x02\x00\x00",
                  CTR_OUT_OF_RANGE);                                /* no row, a regular */
    assert_status("\x01\x00\x01\x01n\x01\x01\x00", CTR_NOT_A_CELL); /* an empty cell */
    assert_status("\x01\x00\x01\x01n\x02\x01\x02\xc1\x02", CTR_OUT_OF_RANGE); /* that was dropped */
    assert_status("\x01\x00\x01\x00\x01\x01\x02\xc1\x02", CTR_OUT_OF_RANGE);  /* without a name */
    assert_status("\x03\x01n\x00\x01", CTR_OUT_OF_RANGE);
    assert_status("\x01\x00\x81\x00", CTR_NOT_MINIMAL); /* a number that is too long */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_comes_back_as_it_was_told),
        cmocka_unit_test(every_cut_of_a_row_is_refused),
        cmocka_unit_test(floors_columns_and_answers_come_back),
        cmocka_unit_test(what_this_version_does_not_know_is_newer),
        cmocka_unit_test(bytes_that_say_something_else_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
