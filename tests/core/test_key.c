/* test_key.c - packed keys: one encoding for each tuple, and nothing else is taken for one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "core/core.h"

enum { ROOM = 512, MOST = 8 };

static size_t pack(uint8_t out[ROOM], const ctr_key_value *values, int n)
{
    uint8_t *at = ctr_key_begin(out);
    for (int i = 0; i < n; i++) at = ctr_key_put(at, &values[i]);
    return (size_t)(at - out);
}

static ctr_key_value text(const char *content)
{
    return (ctr_key_value){
        .type = CTR_KEY_TEXT, .bytes = (const uint8_t *)content, .size = strlen(content)};
}

static ctr_key_value blob(const uint8_t *bytes, size_t size)
{
    return (ctr_key_value){.type = CTR_KEY_BLOB, .bytes = bytes, .size = size};
}

static ctr_key_value integer(int64_t n)
{
    return (ctr_key_value){.type = CTR_KEY_INTEGER, .integer = n};
}

static ctr_key_value real(double x)
{
    return (ctr_key_value){.type = CTR_KEY_REAL, .real = x};
}

static void assert_same(const ctr_key_value *a, const ctr_key_value *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->integer, b->integer);
    assert_memory_equal(&a->real, &b->real, sizeof a->real);
    assert_int_equal(a->size, b->size);
    if (a->size) assert_memory_equal(a->bytes, b->bytes, a->size);
}

static void assert_comes_back(const ctr_key_value *values, int n)
{
    uint8_t bytes[ROOM];
    size_t size = pack(bytes, values, n), at = 0;
    int found;
    ctr_key_value value;
    assert_int_equal(ctr_key_check(bytes, size, true, &found), CTR_OK);
    assert_int_equal(found, n);
    for (int i = 0; i < n; i++) {
        assert_true(ctr_key_next(bytes, size, &at, &value));
        assert_same(&value, &values[i]);
    }
    assert_false(ctr_key_next(bytes, size, &at, &value));
}

static void a_key_has_these_bytes(void **state)
{
    (void)state;
    const ctr_key_value values[] = {text("/"), integer(12), real(0.5),
                                    blob((const uint8_t *)"\0", 1)};
    static const uint8_t wanted[] = {0xD1, 3, 1, '/', 1, 24, 2, 0x3f, 0xe0,
                                     0,    0, 0, 0,   0, 0,  4, 1,    0};
    uint8_t bytes[ROOM];
    assert_int_equal(pack(bytes, values, 4), sizeof wanted);
    assert_memory_equal(bytes, wanted, sizeof wanted);
}

static void values_of_all_types_come_back(void **state)
{
    (void)state;
    const int64_t numbers[] = {0, 1, -1, 63, 64, -64, -65, INT64_MAX, INT64_MIN};
    const double reals[] = {0.0, -0.0, 1.5, -1e308, 5e-324, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_comes_back((ctr_key_value[]){integer(numbers[i])}, 1);
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        assert_comes_back((ctr_key_value[]){real(reals[i])}, 1);
    char longer[300];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_comes_back((ctr_key_value[]){text(""), text(longer), blob(NULL, 0), integer(5)}, 4);
    assert_comes_back((ctr_key_value[]){{.type = CTR_KEY_NOTHING}, integer(480000)}, 2);
}

static void a_hole_is_in_no_key(void **state)
{
    (void)state;
    uint8_t bytes[ROOM];
    int n;
    size_t size = pack(bytes, (ctr_key_value[]){{.type = CTR_KEY_NOTHING}}, 1);
    assert_int_equal(ctr_key_check(bytes, size, false, &n), CTR_OUT_OF_RANGE);
    assert_int_equal(ctr_key_check(bytes, size, true, &n), CTR_OK);
}

static void every_cut_of_a_key_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[ROOM];
    int n;
    const ctr_key_value values[] = {text("key"), integer(-300), real(2.5),
                                    blob((const uint8_t *)"ab", 2)};
    size_t whole = pack(bytes, values, 4);
    for (size_t size = 0; size < whole; size++) {
        uint8_t *exact = malloc(size ? size : 1); /* so that reading beyond it is seen */
        memcpy(exact, bytes, size);
        bool between = size == 1 + 5 || size == 1 + 5 + 3 || size == 1 + 5 + 3 + 9;
        assert_int_equal(ctr_key_check(exact, size, false, &n) == CTR_OK, between);
        free(exact);
    }
}

static void assert_refused(const uint8_t *bytes, size_t size, ctr_status status)
{
    int n;
    assert_int_equal(ctr_key_check(bytes, size, false, &n), status);
}

static void other_bytes_are_refused(void **state)
{
    (void)state;
    assert_refused((const uint8_t *)"", 0, CTR_NOT_A_CELL);
    assert_refused((const uint8_t *)"\xC1\x01\x02", 3, CTR_NOT_A_CELL);
    assert_refused((const uint8_t *)"\xD0\x01\x02", 3, CTR_NOT_A_CELL);
    assert_refused((const uint8_t *)"\xD2\x01\x02", 3, CTR_NEWER_FORMAT);
    assert_refused((const uint8_t *)"\xD1", 1, CTR_TRUNCATED);
    assert_refused((const uint8_t *)"\xD1\x05", 2, CTR_OUT_OF_RANGE);
    assert_refused((const uint8_t *)"\xD1\x01\x82\x00", 4, CTR_NOT_MINIMAL);
    assert_refused((const uint8_t *)"\xD1\x03\x81\x00x", 5, CTR_NOT_MINIMAL);
    assert_refused((const uint8_t *)"\xD1\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 13,
                   CTR_TRUNCATED);
    assert_refused((const uint8_t *)"\xD1\x02\x7f\xf8\0\0\0\0\0\0", 10, CTR_OUT_OF_RANGE);
}

static void whatever_is_accepted_is_the_one_encoding(void **state)
{
    (void)state;
    uint8_t bytes[16], again[ROOM];
    int n, accepted = 0;
    srand(1);
    for (int round = 0; round < 200000; round++) {
        size_t size = 1 + (size_t)(rand() % 12), at = 0;
        bytes[0] = 0xD1;
        for (size_t i = 1; i < size; i++)
            bytes[i] = (uint8_t)(rand() % 3 ? rand() % 6 : rand() % 256);
        if (ctr_key_check(bytes, size, true, &n) != CTR_OK) continue;
        accepted++;
        ctr_key_value values[MOST + 8];
        for (int i = 0; i < n; i++) assert_true(ctr_key_next(bytes, size, &at, &values[i]));
        assert_int_equal(pack(again, values, n), size);
        assert_memory_equal(again, bytes, size);
    }
    assert_true(accepted > 1000);
}

static void a_whole_real_becomes_an_integer(void **state)
{
    (void)state;
    static const struct {
        double from;
        int64_t to;
    } whole[] = {{1.0, 1},
                 {-0.0, 0},
                 {-9223372036854775808.0, INT64_MIN},
                 {9007199254740994.0, 9007199254740994}};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        ctr_key_value value = real(whole[i].from);
        ctr_key_unify(&value);
        assert_int_equal(value.type, CTR_KEY_INTEGER);
        assert_int_equal(value.integer, whole[i].to);
    }
    const double others[] = {0.5, 9223372036854775808.0, 1e300, -1e19, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ctr_key_value value = real(others[i]);
        ctr_key_unify(&value);
        assert_int_equal(value.type, CTR_KEY_REAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_has_these_bytes),
        cmocka_unit_test(values_of_all_types_come_back),
        cmocka_unit_test(a_hole_is_in_no_key),
        cmocka_unit_test(every_cut_of_a_key_is_refused),
        cmocka_unit_test(other_bytes_are_refused),
        cmocka_unit_test(whatever_is_accepted_is_the_one_encoding),
        cmocka_unit_test(a_whole_real_becomes_an_integer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
