/* test_entries.c - rows of a journal: what is written comes back, and nothing else is taken for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "core/core.h"

enum { MOST = 200, ROUNDS = 2000 };

static int64_t random_row(void)
{
    static const int64_t ENDS[] = {0, -1, INT64_MIN, INT64_MAX, 1};
    int choice = rand() % 20;
    return choice < 5 ? ENDS[choice] : rand() % 1000;
}

static int random_part(void)
{
    return rand() % 3 ? rand() % (CTR_PART_OWN + 1) : CTR_PARTS - 1 - rand() % (1 << 20);
}

static const ctr_fed SOURCES[] = {{.id = {1}, .upto = 1},
                                  {.id = {1}, .upto = INT64_MAX, .own = true},
                                  {.id = {2}, .upto = 7, .twist = INT64_MIN}};

static ctr_entry random_entry(void)
{
    ctr_entry entry = {
        .row = random_row(), .kind = (ctr_entry_kind)(rand() % 6), .origin = CTR_MADE_HERE};
    bool counts = entry.kind == CTR_ENTRY_ADDED || entry.kind == CTR_ENTRY_WRITTEN;
    bool travels = entry.kind == CTR_ENTRY_CHANGED || entry.kind == CTR_ENTRY_WRITTEN;
    if (travels) entry.origin = (ctr_origin)(1 << rand() % 3);
    if (travels && entry.origin != CTR_MADE_HERE) entry.part = random_part();
    if (travels && entry.origin == CTR_FED && rand() % 3) entry.fed = &SOURCES[rand() % 3];
    if (entry.kind == CTR_ENTRY_ADDED) entry.part = CTR_PART_OWN;
    if (entry.kind == CTR_ENTRY_STAMPED || entry.kind == CTR_ENTRY_ROW_WRITTEN)
        entry.part = CTR_PART_COLUMNS;
    if (counts) entry.counter = rand() % 3 ? 0 : rand() % CTR_ENTRY_COUNTERS;
    if (entry.kind == CTR_ENTRY_STAMPED) {
        entry.word = rand() % 3 ? 0 : rand() % (CTR_ENTRY_COUNTERS / CTR_ENTRY_MASK);
        entry.mask = UINT64_C(1) << rand() % CTR_ENTRY_MASK | (uint64_t)(rand() % 8);
        entry.number = rand() % 2 ? 0 : rand() % 2 ? INT64_MAX : (int64_t)rand() + 1;
    }
    if (entry.kind != CTR_ENTRY_ADDED) return entry;
    entry.n = rand() % 5 ? rand() % 100 - 50 : random_row();
    entry.ticks = rand() % 3 ? 1 : rand() % 10 ? rand() % 1000 + 1 : INT64_MAX;
    return entry;
}

/* Appends a group of a table. */
static uint8_t *put_table(uint8_t *out, int64_t table, const ctr_entry *entries, int n)
{
    ctr_entry last = {.row = 0};
    uint8_t *from = out + CTR_GROUP_HEADER_MAX, *end = from;
    for (int i = 0; i < n; i++) end = ctr_entries_put(end, &last, &entries[i]);
    return ctr_entries_group_put(out, table, (size_t)(end - from));
}

static void entries_come_back_as_they_were_put(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        ctr_entry put[MOST], found;
        uint8_t
            bytes[CTR_ENTRIES_HEADER + CTR_GROUP_HEADER_MAX + MOST * (CTR_ENTRY_MAX + CTR_FED_MAX)];
        ctr_entries groups, walk;
        int n = rand() % MOST + 1, i = 0;
        int64_t table = rand() % 3 ? rand() % 200 + 1 : CTR_GROUP_TABLES, found_table;
        for (int k = 0; k < n; k++) put[k] = random_entry();
        size_t size = (size_t)(put_table(ctr_entries_begin(bytes), table, put, n) - bytes);
        int64_t tabs = ctr_entries_bit(table);
        assert_int_equal(ctr_entries_open(&groups, bytes, size, tabs), CTR_OK);
        assert_true(ctr_entries_group_next(&groups, &found_table, &walk));
        assert_int_equal(found_table, table);
        for (; ctr_entries_next(&walk, &found); i++) {
            assert_int_equal(found.row, put[i].row);
            assert_int_equal(found.kind, put[i].kind);
            assert_int_equal(found.origin, put[i].origin);
            assert_int_equal(found.part, put[i].part);
            assert_true(ctr_fed_same(found.fed, put[i].fed));
            assert_int_equal(found.counter, put[i].counter);
            assert_int_equal(found.n, put[i].n);
            assert_int_equal(found.ticks, put[i].ticks);
            assert_int_equal(found.word, put[i].word);
            assert_int_equal(found.mask, put[i].mask);
            assert_int_equal(found.number, put[i].number);
        }
        assert_int_equal(i, n);
        assert_int_equal(walk.status, CTR_OK);
        assert_false(ctr_entries_group_next(&groups, &found_table, &walk));
        assert_int_equal(groups.status, CTR_OK);
    }
}

/* Groups of a table are found among those of others, in order, however many it has. */
static void a_table_finds_its_own_groups_in_a_row(void **state)
{
    (void)state;
    enum { GROUPS = 20, TABLES = 5 };
    static const int64_t NUMBERS[TABLES] = {1, 64, 2, 63, CTR_GROUP_TABLES};
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t bytes[CTR_ENTRIES_HEADER + GROUPS * (CTR_GROUP_HEADER_MAX + 3 * CTR_ENTRY_MAX)];
        uint8_t *end = ctr_entries_begin(bytes);
        int64_t tabs = 0, of[GROUPS];
        ctr_entry put[GROUPS][3], found;
        int n = rand() % GROUPS;
        for (int i = 0; i < n; i++) {
            of[i] = NUMBERS[rand() % TABLES];
            for (int k = 0; k < 3; k++) put[i][k] = random_entry();
            end = put_table(end, of[i], put[i], 3);
            tabs |= ctr_entries_bit(of[i]);
        }
        for (int t = 0; t < TABLES; t++) {
            ctr_entries groups, walk;
            ctr_entries_open(&groups, bytes, (size_t)(end - bytes), tabs);
            for (int i = 0; i < n; i++) {
                if (of[i] != NUMBERS[t]) continue;
                assert_true(ctr_entries_group_of(&groups, NUMBERS[t], &walk));
                for (int k = 0; k < 3; k++) {
                    assert_true(ctr_entries_next(&walk, &found));
                    assert_int_equal(found.row, put[i][k].row);
                }
                assert_false(ctr_entries_next(&walk, &found));
            }
            assert_false(ctr_entries_group_of(&groups, NUMBERS[t], &walk));
            assert_int_equal(groups.status, CTR_OK);
        }
        ctr_entries wrong, walk;
        ctr_entries_open(&wrong, bytes, (size_t)(end - bytes), tabs ^ 8);
        assert_false(ctr_entries_group_of(&wrong, 7, &walk));
        assert_int_equal(wrong.status, CTR_UNSORTED);
    }
}

static int in_order_of_segment(const void *a, const void *b)
{
    return ctr_entries_segment_order(a, b);
}

static void segments_come_back_as_they_were_written(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        ctr_change_of_row put[MOST], found;
        uint8_t bytes[CTR_ENTRIES_HEADER + MOST * CTR_ENTRY_MAX];
        ctr_entries walk;
        size_t n = 0, i = 0;
        int wanted = rand() % MOST + 1;
        for (int k = 0; k < wanted; k++)
            put[k] = (ctr_change_of_row){rand() % 7 ? rand() % 500 : random_row(), rand() % 20 + 1,
                                         rand() % 3 ? CTR_MADE_HERE : rand() % 7 + 1,
                                         rand() % 3 ? CTR_PART_OWN : random_part()};
        qsort(put, (size_t)wanted, sizeof *put, in_order_of_segment);
        for (int k = 0; k < wanted; k++)
            if (n == 0 || ctr_entries_segment_order(&put[n - 1], &put[k]) != 0) put[n++] = put[k];
        size_t size = ctr_entries_segment_write(put, n, bytes);
        assert_true(size <= CTR_ENTRIES_HEADER + n * CTR_ENTRY_MAX);
        assert_int_equal(ctr_entries_segment_open(&walk, bytes, size, put[0].number), CTR_OK);
        for (; ctr_entries_segment_next(&walk, &found); i++) {
            assert_int_equal(found.row, put[i].row);
            assert_int_equal(found.number, put[i].number);
            assert_int_equal(found.origins, put[i].origins);
            assert_int_equal(found.part, put[i].part);
        }
        assert_int_equal(i, n);
        assert_int_equal(walk.status, CTR_OK);
    }
}

static bool is_group_of(const ctr_change_of_row *a, const ctr_change_of_row *b)
{
    return a->number == b->number && a->origins == b->origins;
}

static void what_is_passed_in_a_segment_are_lower_rows_of_the_group(void **state)
{
    (void)state;
    int64_t passed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        ctr_change_of_row put[MOST], found;
        uint8_t bytes[CTR_ENTRIES_HEADER + MOST * CTR_ENTRY_MAX];
        ctr_entries walk;
        int64_t row = rand() % 9 ? 0 : INT64_MAX - MOST * 210, number = MOST, target = INT64_MIN;
        size_t n = (size_t)(rand() % MOST) + 1, i = 0;
        for (size_t k = 0; k < n; k++) {
            bool begins = k > 0 && rand() % 60 == 0;
            number -= begins;
            row = begins ? rand() % 100 : row + (rand() % 30 ? 1 : rand() % 2 ? 3 : 200);
            put[k] = (ctr_change_of_row){row, number, CTR_MADE_HERE, CTR_PART_OWN};
        }
        size_t size = ctr_entries_segment_write(put, n, bytes);
        ctr_entries_segment_open(&walk, bytes, size, put[0].number);
        for (; ctr_entries_segment_next(&walk, &found); i++, passed++) {
            for (; i < n && ctr_entries_segment_order(&put[i], &found) != 0; i++)
                assert_true(put[i].row < target && is_group_of(&put[i], &put[i - 1]));
            assert_true(i < n);
            target = rand() % 3 ? rand() % 3 ? found.row + rand() % 40 : INT64_MAX : INT64_MIN;
            ctr_entries_segment_pass(&walk, target);
            if (rand() % 20 == 0) ctr_entries_segment_pass(&walk, target);
        }
        for (; i < n; i++) assert_true(put[i].row < target && is_group_of(&put[i], &put[i - 1]));
        assert_int_equal(walk.status, CTR_OK);
    }
    assert_in_range(passed, ROUNDS, ROUNDS * MOST / 3);
}

static ctr_status status_of_entries(const char *bytes, size_t size)
{
    ctr_entries walk, groups;
    ctr_entry entry;
    uint8_t row[128];
    memcpy(row + CTR_ENTRIES_HEADER + CTR_GROUP_HEADER_MAX, bytes, size);
    uint8_t *end = ctr_entries_group_put(ctr_entries_begin(row), 1, size);
    ctr_entries_open(&groups, row, (size_t)(end - row), ctr_entries_bit(1));
    if (!ctr_entries_group_of(&groups, 1, &walk)) return groups.status;
    while (ctr_entries_next(&walk, &entry)) continue;
    return walk.status;
}

static ctr_status status_of_row(const char *bytes, size_t size, int64_t tabs)
{
    ctr_entries walk, groups;
    ctr_entries_open(&groups, (const uint8_t *)bytes, size, tabs);
    while (ctr_entries_group_of(&groups, 1, &walk)) continue;
    return groups.status;
}

static ctr_status status_of_segment(const char *bytes, size_t size, int64_t number)
{
    ctr_entries walk;
    ctr_change_of_row change;
    ctr_entries_segment_open(&walk, (const uint8_t *)bytes, size, number);
    while (ctr_entries_segment_next(&walk, &change)) continue;
    return walk.status;
}

#define ENTRIES(text) status_of_entries(text, sizeof text - 1)
#define ROW(text, tabs) status_of_row(text, sizeof text - 1, tabs)
#define SEGMENT(text, number) status_of_segment(text, sizeof text - 1, number)

static void what_is_wrong_with_entries_is_said(void **state)
{
    (void)state;
    assert_int_equal(ENTRIES(""), CTR_OUT_OF_RANGE); /* a group without entries */
    assert_int_equal(ENTRIES("\x02\x03\x00"), CTR_OK);
    assert_int_equal(ENTRIES("\x02\x03"), CTR_TRUNCATED);
    assert_int_equal(ENTRIES("\x02\x03\x01"), CTR_OK);
    assert_int_equal(ENTRIES("\x02\x02\x03"), CTR_NEWER_FORMAT); /* a part before writers */
    assert_int_equal(ENTRIES("\x02\x13\x07"), CTR_NEWER_FORMAT);
    assert_int_equal(ENTRIES("\x02\x13\x08"), CTR_OK);
    assert_int_equal(ENTRIES("\x02\x14\x87\x80\x40"), CTR_OK);
    assert_int_equal(ENTRIES("\x02\x14\x88\x80\x40"), CTR_OUT_OF_RANGE);
    assert_int_equal(ENTRIES("\x02\x04"), CTR_TRUNCATED);
    assert_int_equal(ENTRIES("\x02\x04\x02"), CTR_TRUNCATED);
    assert_int_equal(ENTRIES("\x02\x04\x02\x03"), CTR_OK);
    assert_int_equal(ENTRIES("\x02\x04\x02\x00"), CTR_OUT_OF_RANGE); /* no column */
    assert_int_equal(ENTRIES("\x02\x04\x03\x03"), CTR_TRUNCATED);
    assert_int_equal(ENTRIES("\x02\x04\x03\x03\x00"), CTR_OUT_OF_RANGE);
    assert_int_equal(ENTRIES("\x02\x04\x03\x03\x09"), CTR_OK);
    assert_int_equal(ENTRIES("\x02\x04\x02\x80\x80\x80\x80\x80\x80\x80\x80\x10"),
                     CTR_OUT_OF_RANGE);                                  /* column 60 of a mask */
    assert_int_equal(ENTRIES("\x02\x04\xc4\x08\x01"), CTR_OUT_OF_RANGE); /* word 546 */
    assert_int_equal(ENTRIES("\x02\x05"), CTR_OK);
    assert_int_equal(ENTRIES("\x02"), CTR_TRUNCATED);
    assert_int_equal(ENTRIES("\x02\x07"), CTR_NEWER_FORMAT);
    assert_int_equal(ENTRIES("\x02\x0f"), CTR_NEWER_FORMAT);
    assert_int_equal(ENTRIES("\x02\x15"), CTR_NEWER_FORMAT); /* of counter 0 */
    assert_int_equal(ENTRIES("\x02\x1f"), CTR_NEWER_FORMAT); /* of counter 1 */
    assert_int_equal(ENTRIES("\x02\x10"), CTR_TRUNCATED);
    assert_int_equal(ENTRIES("\x02\x10\x02"), CTR_OK);
    assert_int_equal(ENTRIES("\x02\x11\x02"), CTR_TRUNCATED);
    assert_int_equal(ENTRIES("\x02\x11\x02\x01"), CTR_OUT_OF_RANGE);
    assert_int_equal(ENTRIES("\x02\x11\x02\x02"), CTR_OK);
    assert_int_equal(ENTRIES("\x82\x00\x00"), CTR_NOT_MINIMAL);
    assert_int_equal(ENTRIES("\x02\xf8\xff\xff\xff\x0f\x02"), CTR_OUT_OF_RANGE);
    assert_int_equal(ENTRIES("\x02\x11\x02\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
                     CTR_OUT_OF_RANGE);
}

#define ID "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
#define NO_ID "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

static void a_source_stands_before_what_came_from_it(void **state)
{
    (void)state;
    assert_int_equal(ENTRIES("\x00\x06" ID "\x02\x00\x02\x03\x00"), CTR_OK);
    assert_int_equal(ENTRIES("\x02\x06" ID "\x02\x00\x02\x03\x00"), CTR_OUT_OF_RANGE);
    assert_int_equal(ENTRIES("\x00\x06" ID "\x02\x00\x02\x02\x00"), CTR_OUT_OF_RANGE); /* pulled */
    assert_int_equal(ENTRIES("\x00\x06" ID "\x02\x00\x02\x00"), CTR_OUT_OF_RANGE);
    assert_int_equal(ENTRIES("\x00\x06" ID "\x02\x00"), CTR_TRUNCATED);
    assert_int_equal(ENTRIES("\x00\x06" ID "\x02"), CTR_TRUNCATED);
    assert_int_equal(ENTRIES("\x00\x06\x01\x02"), CTR_TRUNCATED);
    assert_int_equal(ENTRIES("\x00\x06" ID "\x01\x00\x02\x03\x00"), CTR_OUT_OF_RANGE); /* up to 0 */
    assert_int_equal(ENTRIES("\x00\x06" ID "\x00\x00\x02\x03\x00"), CTR_OUT_OF_RANGE);
    assert_int_equal(ENTRIES("\x00\x06" NO_ID "\x00\x00\x02\x03\x00"), CTR_OUT_OF_RANGE);
    assert_int_equal(
        ENTRIES("\x00\x06" ID "\x02\x00\x02\x03\x00\x00\x06" NO_ID "\x00\x00\x02\x03\x00"), CTR_OK);
    assert_int_equal(
        ENTRIES("\x00\x06" ID "\x02\x00\x02\x03\x00\x00\x06" ID "\x02\x00\x02\x03\x00"),
        CTR_OUT_OF_RANGE); /* the same */
    assert_int_equal(ENTRIES("\x00\x06" ID "\x02\x00\x00\x06" ID "\x04\x00\x02\x03\x00"),
                     CTR_OUT_OF_RANGE);
}

static void what_is_wrong_with_a_row_is_said(void **state)
{
    (void)state;
    assert_int_equal(ROW("", 0), CTR_NOT_A_CELL);
    assert_int_equal(ROW("\xc1", 0), CTR_NOT_A_CELL);
    assert_int_equal(ROW("\xe0", 0), CTR_NOT_A_CELL);
    assert_int_equal(ROW("\xe5", 0), CTR_NEWER_FORMAT);
    assert_int_equal(ROW("\xe1", 0), CTR_NOT_A_CELL);
    assert_int_equal(ROW("\xe4", 0), CTR_OK);
    assert_int_equal(ROW("\xe4", 2), CTR_UNSORTED);
    assert_int_equal(ROW("\xe4\x01", 2), CTR_TRUNCATED);
    assert_int_equal(ROW("\xe4\x01\x00", 2), CTR_OUT_OF_RANGE);
    assert_int_equal(ROW("\xe4\x01\x03\x02\x03", 2), CTR_TRUNCATED);
    assert_int_equal(ROW("\xe4\x01\x02\x02\x03", 2), CTR_OK);
    assert_int_equal(ROW("\xe4\x01\x02\x02\x03", 4), CTR_UNSORTED);
    assert_int_equal(ROW("\xe4\x00\x02\x02\x03", 1), CTR_OUT_OF_RANGE);
    assert_int_equal(ROW("\xe4\x40\x02\x02\x03", 2), CTR_OK); /* table 64, with the bit of 1 */
    assert_int_equal(ROW("\xe4\x81\x00\x02\x02\x03", 2), CTR_NOT_MINIMAL);
    assert_int_equal(ROW("\xe4\xff\xff\xff\xff\x07\x02\x02\x03", 2), CTR_OK);
    assert_int_equal(ROW("\xe4\x80\x80\x80\x80\x08\x02\x02\x03", 4), CTR_OUT_OF_RANGE);
}

static void what_is_wrong_with_a_segment_is_said(void **state)
{
    (void)state;
    assert_int_equal(SEGMENT("\xe4\x00\x09\x00\x02", 9), CTR_OK);
    assert_int_equal(SEGMENT("\xe4\x01\x09\x00\x02", 9), CTR_OUT_OF_RANGE);
    assert_int_equal(SEGMENT("\xe4\x00\x01\x00\x02", 9), CTR_OUT_OF_RANGE);
    assert_int_equal(SEGMENT("\xe4\x00\x11\x00\x02\x00", 9), CTR_DOUBLED);
    assert_int_equal(SEGMENT("\xe4\x00\x11\x00\x02\x01", 9), CTR_OK);
    assert_int_equal(SEGMENT("\xe4\x00\x11\x00\x02", 9), CTR_TRUNCATED);
    assert_int_equal(SEGMENT("\xe4\x00\x09\x00\x02\x00\x09\x00\x02", 9), CTR_OUT_OF_RANGE);
    assert_int_equal(SEGMENT("\xe4\x00\x09\x00\x02\x09\x09\x00\x02", 9), CTR_OK);
    assert_int_equal(SEGMENT("\xe4\x00\x09\x00\x02\x0a\x09\x00\x02", 9), CTR_OUT_OF_RANGE);
    assert_int_equal(SEGMENT("\xe4\x00\x08\x00\x02", 9), CTR_OUT_OF_RANGE); /* without an origin */
    assert_int_equal(SEGMENT("\xe4\x00\x09\x00\x02\x00\x09\x00\x02", 9), CTR_OUT_OF_RANGE);
    assert_int_equal(SEGMENT("\xe4\x00\x09\x00\x02\x00\x0a\x00\x02", 9), CTR_OK);
    assert_int_equal(SEGMENT("\xe5", 9), CTR_NEWER_FORMAT);
    assert_int_equal(SEGMENT("\xe4\x00", 9), CTR_TRUNCATED);
    assert_int_equal(SEGMENT("\xe4\x00\x09", 9), CTR_TRUNCATED);
    assert_int_equal(SEGMENT("\xe4\x00\x09\x00", 9), CTR_TRUNCATED);
    assert_int_equal(SEGMENT("\xe4\x00\x09\x03\x02", 9), CTR_NEWER_FORMAT);
    assert_int_equal(SEGMENT("\xe4\x00\x09\x01\x02\x00\x09\x00\x02", 9), CTR_OUT_OF_RANGE);
    assert_int_equal(SEGMENT("\xe4\x00\x09\x01\x02\x00\x0a\x00\x02", 9), CTR_OK);
    assert_int_equal(SEGMENT("\xe4\x00\x09\x00\x02\x00\x09\x02\x02", 9), CTR_OK);
}

/* The greatest row of all, and one behind it. */
static void a_segment_has_no_row_behind_the_greatest(void **state)
{
    (void)state;
    assert_int_equal(SEGMENT("\xe4\x00\x09\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 9),
                     CTR_OK);
    assert_int_equal(SEGMENT("\xe4\x00\x11\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01", 9),
                     CTR_OUT_OF_RANGE);
}

static void each_fault_of_entries_has_words(void **state)
{
    (void)state;
    assert_string_equal(ctr_entries_status_text(CTR_NOT_A_CELL), "has no entries");
    assert_string_equal(ctr_entries_status_text(CTR_DOUBLED), "has a row twice in one number");
    assert_string_equal(ctr_entries_status_text(CTR_UNSORTED),
                        "has groups of other tables than it says");
    assert_string_equal(ctr_entries_status_text(CTR_TRUNCATED), ctr_status_text(CTR_TRUNCATED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_back_as_they_were_put),
        cmocka_unit_test(a_table_finds_its_own_groups_in_a_row),
        cmocka_unit_test(segments_come_back_as_they_were_written),
        cmocka_unit_test(what_is_passed_in_a_segment_are_lower_rows_of_the_group),
        cmocka_unit_test(what_is_wrong_with_entries_is_said),
        cmocka_unit_test(a_source_stands_before_what_came_from_it),
        cmocka_unit_test(what_is_wrong_with_a_row_is_said),
        cmocka_unit_test(what_is_wrong_with_a_segment_is_said),
        cmocka_unit_test(a_segment_has_no_row_behind_the_greatest),
        cmocka_unit_test(each_fault_of_entries_has_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
