/* test_id.c - replica ids: text, negation, names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "core/core.h"

static const uint8_t dc1_rack1[CTR_ID_SIZE] = {0x4c, 0x51, 0x28, 0xaa, 0x40, 0x2c, 0x31, 0xc8,
                                               0x9f, 0xc0, 0x6c, 0x27, 0xb0, 0xf5, 0x3f, 0x93};

/* Ids of dc1:rack1 and eu-west:a with their negations. */
static const char *const negations[][2] = {
    {"4c5128aa-402c-31c8-9fc0-6c27b0f53f93", "4c5128aa-402c-31c8-a03f-6c27b0f53f93"},
    {"611598c6-9c4c-3079-8a99-b4e1096f1905", "611598c6-9c4c-3079-b566-b4e1096f1905"},
};

static void text_is_lower_case_with_hyphens(void **state)
{
    (void)state;
    char text[CTR_ID_TEXT_SIZE];
    ctr_id_to_text(dc1_rack1, text);
    assert_string_equal(text, negations[0][0]);
}

static void text_is_read_in_upper_and_lower_case(void **state)
{
    (void)state;
    uint8_t id[CTR_ID_SIZE];
    assert_true(ctr_id_from_text(negations[0][0], 36, id));
    assert_memory_equal(id, dc1_rack1, CTR_ID_SIZE);
    memset(id, 0, sizeof id);
    assert_true(ctr_id_from_text("4C5128AA-402c-31C8-9fc0-6C27B0F53F93", 36, id));
    assert_memory_equal(id, dc1_rack1, CTR_ID_SIZE);
}

static void every_byte_survives_the_text(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        uint8_t id[CTR_ID_SIZE], back[CTR_ID_SIZE];
        for (int i = 0; i < CTR_ID_SIZE; i++) id[i] = (uint8_t)(byte + 17 * i);
        char text[CTR_ID_TEXT_SIZE];
        ctr_id_to_text(id, text);
        assert_int_equal(strlen(text), 36);
        assert_true(ctr_id_from_text(text, 36, back));
        assert_memory_equal(id, back, CTR_ID_SIZE);
    }
}

static void text_of_another_length_is_refused(void **state)
{
    (void)state;
    const char *text = "4c5128aa-402c-31c8-9fc0-6c27b0f53f93a";
    uint8_t id[CTR_ID_SIZE];
    for (size_t size = 0; size <= 37; size++) {
        if (size != 36) assert_false(ctr_id_from_text(text, size, id));
    }
    assert_false(ctr_id_from_text("4c5128aa402c31c89fc06c27b0f53f93", 32, id));
}

/* Each character in turn is replaced by each other byte; a hyphen stays, a digit may become
 * another. */
static void any_other_character_is_refused(void **state)
{
    (void)state;
    char text[37] = "4c5128aa-402c-31c8-9fc0-6c27b0f53f93";
    uint8_t id[CTR_ID_SIZE];
    for (int at = 0; at < 36; at++) {
        char kept = text[at];
        for (int c = 0; c < 256; c++) {
            text[at] = (char)c;
            bool digit = c != 0 && strchr("0123456789abcdefABCDEF", c) != NULL;
            assert_int_equal(ctr_id_from_text(text, 36, id), kept == '-' ? c == '-' : digit);
        }
        text[at] = kept;
    }
}

static void negation_is_that_of_scylla(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof negations / sizeof *negations; i++) {
        uint8_t id[CTR_ID_SIZE], negated[CTR_ID_SIZE];
        char text[CTR_ID_TEXT_SIZE];
        assert_true(ctr_id_from_text(negations[i][0], 36, id));
        ctr_id_negate(id, negated);
        ctr_id_to_text(negated, text);
        assert_string_equal(text, negations[i][1]);
    }
}

static void negation_twice_is_the_id_itself(void **state)
{
    (void)state;
    uint8_t negated[CTR_ID_SIZE], back[CTR_ID_SIZE];
    ctr_id_negate(dc1_rack1, negated);
    assert_memory_not_equal(negated, dc1_rack1, CTR_ID_SIZE);
    ctr_id_negate(negated, back);
    assert_memory_equal(back, dc1_rack1, CTR_ID_SIZE);
}

static bool is_name(const char *text)
{
    return ctr_id_is_name(text, strlen(text));
}

static void a_name_is_dc_colon_rack(void **state)
{
    (void)state;
    assert_true(is_name("dc1:rack1"));
    assert_true(is_name("eu-west:a"));
    assert_true(is_name("a:b"));
    assert_true(ctr_id_is_name("a:b:c", 3));
}

static void anything_else_is_no_name(void **state)
{
    (void)state;
    const char *const others[] = {"", ":", "a", "a:", ":b", "a:b:c", "a::b", "a:b:", ":a:b"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_false(is_name(others[i]));
    assert_false(ctr_id_is_name("a:b", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_lower_case_with_hyphens),
        cmocka_unit_test(text_is_read_in_upper_and_lower_case),
        cmocka_unit_test(every_byte_survives_the_text),
        cmocka_unit_test(text_of_another_length_is_refused),
        cmocka_unit_test(any_other_character_is_refused),
        cmocka_unit_test(negation_is_that_of_scylla),
        cmocka_unit_test(negation_twice_is_the_id_itself),
        cmocka_unit_test(a_name_is_dc_colon_rack),
        cmocka_unit_test(anything_else_is_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
