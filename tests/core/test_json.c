/* test_json.c - JSON: what RFC 8259 allows is taken and walked, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "core/core.h"

static const char *check(const char *text)
{
    ctr_span whole;
    size_t size = strlen(text);
    char *exact = malloc(size + 1); /* the sanitizer sees what is read behind it */
    memcpy(exact, text, size);
    const char *wrong = ctr_json_check(exact, size, &whole);
    free(exact);
    return wrong;
}

static void what_json_allows_is_taken(void **state)
{
    (void)state;
    static const char *const GOOD[] = {"0",
                                       "-0",
                                       "-1",
                                       "12",
                                       "1.5",
                                       "-0.5e10",
                                       "1E+2",
                                       "1e-2",
                                       "true",
                                       "false",
                                       "null",
                                       "\"\"",
                                       "\"a\"",
                                       "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\"",
                                       "\"\\ud83d\\ude00\"",
                                       "\"\\u0000\"",
                                       "\"\xf0\x9f\x98\x80\"",
                                       "\"\x7f\"",
                                       "[]",
                                       "[ ]",
                                       "{}",
                                       "{ }",
                                       "[1,2]",
                                       " [ 1 , 2 ] ",
                                       "{\"a\":1}",
                                       "{\"a\":{\"b\":[{}]},\"a\":2}",
                                       "\t\r\n[]\n",
                                       "{\"\":0}",
                                       "[\"]\",\"\\\"]\"]"};
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) assert_null(check(GOOD[i]));
}

static void what_it_does_not_allow_is_refused(void **state)
{
    (void)state;
    static const char *const BAD[] = {"",
                                      " ",
                                      "+1",
                                      "01",
                                      "-",
                                      "-01",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "1x",
                                      "0x10",
                                      "Infinity",
                                      "NaN",
                                      "tru",
                                      "nul",
                                      "True",
                                      "'a'",
                                      "\"",
                                      "\"a",
                                      "\"\\\"",
                                      "\"\\x41\"",
                                      "\"\\u12\"",
                                      "\"\\u12g4\"",
                                      "\"\\ud83d\"",
                                      "\"\\ud83d\\u0041\"",
                                      "\"\\ude00\"",
                                      "\"\n\"",
                                      "\"\x01\"",
                                      "\"\xff\"",
                                      "\"\xc0\xaf\"",
                                      "\"\xed\xa0\x80\"",
                                      "\"\xf4\x90\x80\x80\"",
                                      "\"\xe2\x82\"",
                                      "[",
                                      "[1",
                                      "[1,",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "[1}",
                                      "{",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":1",
                                      "{\"a\":1,",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{\"a\" 1}",
                                      "{1:2}",
                                      "{,}",
                                      "1 2",
                                      "[]]",
                                      "[] x",
                                      "/**/1",
                                      "[1] // a",
                                      "\xef\xbb\xbf[]"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        if (!check(BAD[i])) fail_msg("taken: %s", BAD[i]);
}

static void nesting_ends_at_a_depth(void **state)
{
    (void)state;
    char deep[2 * (CTR_JSON_DEPTH + 1) + 1] = "";
    for (int n = CTR_JSON_DEPTH; n <= CTR_JSON_DEPTH + 1; n++) {
        for (int i = 0; i < n; i++) deep[i] = '[', deep[n + i] = ']';
        deep[2 * n] = '\0';
        const char *wrong = check(deep);
        assert_true(n == CTR_JSON_DEPTH ? !wrong : strcmp(wrong, "is nested too deep") == 0);
    }
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    static const char WHOLE[] = "{\"a\":[1.5e3,true,\"x\\ud83d\\ude00\",{}],\"b\":null}";
    ctr_span value;
    for (size_t size = 0; size < sizeof WHOLE - 1; size++)
        assert_non_null(ctr_json_check(WHOLE, size, &value));
    assert_null(ctr_json_check(WHOLE, sizeof WHOLE - 1, &value));
}

static void a_walk_meets_each_item_and_member(void **state)
{
    (void)state;
    static const char TEXT[] =
        " {\"a\" : [ 1, -2.5 ,\"x,]\\\"\" , [ ] ] , \"b\\u0062\":{\"c\":{}} ,\"d\":null}";
    static const struct {
        const char *name;
        ctr_json_type type;
        size_t size;
    } MEMBERS[] = {{"a", CTR_JSON_ARRAY, 26}, {"bb", CTR_JSON_OBJECT, 8}, {"d", CTR_JSON_NULL, 4}};
    static const ctr_json_type ITEMS[] = {CTR_JSON_INTEGER, CTR_JSON_REAL, CTR_JSON_TEXT,
                                          CTR_JSON_ARRAY};
    size_t at = 0, n = 0;
    ctr_span whole, name, value, item, none;
    assert_null(ctr_json_check(TEXT, sizeof TEXT - 1, &whole));
    for (; ctr_json_next(whole, &at, &name, &value); n++) {
        assert_true(ctr_json_is(name, MEMBERS[n].name));
        assert_int_equal(ctr_json_type_of(value), MEMBERS[n].type);
        assert_int_equal(value.size, MEMBERS[n].size);
        size_t items = 0, in = 0;
        if (n != 0) continue;
        for (; ctr_json_next(value, &in, &none, &item); items++) {
            assert_int_equal(none.size, 0);
            assert_int_equal(ctr_json_type_of(item), ITEMS[items]);
        }
        assert_int_equal(items, 4);
    }
    assert_int_equal(n, 3);
}

static void integers_have_64_bits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is;
        int64_t n;
    } NUMBERS[] = {{"0", true, 0},
                   {"-0", true, 0},
                   {"9223372036854775807", true, INT64_MAX},
                   {"-9223372036854775808", true, INT64_MIN},
                   {"9223372036854775808", false, 0},
                   {"-9223372036854775809", false, 0},
                   {"99999999999999999999999", false, 0},
                   {"-1", true, -1}};
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        int64_t n = 0;
        const ctr_span number = {NUMBERS[i].text, strlen(NUMBERS[i].text)};
        assert_int_equal(ctr_json_integer(number, &n), NUMBERS[i].is);
        if (NUMBERS[i].is) assert_int_equal(n, NUMBERS[i].n);
    }
}

static void a_text_says_what_its_escapes_mean(void **state)
{
    (void)state;
    static const char TEXT[] = "\"a\\n\\u00e9\\u20ac\\ud83d\\ude00\\u0000\\/z\"";
    static const char MEANT[] = "a\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\0/z";
    char out[sizeof TEXT];
    size_t size = ctr_json_text((ctr_span){TEXT, sizeof TEXT - 1}, out);
    assert_int_equal(size, sizeof MEANT - 1);
    assert_memory_equal(out, MEANT, size);
    assert_true(ctr_json_is((ctr_span){"\"\\u0061b\"", 9}, "ab"));
    assert_false(ctr_json_is((ctr_span){"\"a\"", 3}, "ab"));
    assert_false(ctr_json_is((ctr_span){"12", 2}, "12"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_json_allows_is_taken),
        cmocka_unit_test(what_it_does_not_allow_is_refused),
        cmocka_unit_test(nesting_ends_at_a_depth),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(a_walk_meets_each_item_and_member),
        cmocka_unit_test(integers_have_64_bits),
        cmocka_unit_test(a_text_says_what_its_escapes_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
