/* tests/core/test_declaration.c - the parser of declarations: what it takes, what it refuses, and
 * that no text makes it read beyond its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/core.h"

enum { ROOM = 16 };

/* Parses up to ROOM clauses, each in memory of exactly its size, so that the sanitizer sees one
 * byte too far. */
static bool parse(ctr_declaration *declaration, ctr_declared *room, char **copies, int n,
                  const char *const *clauses)
{
    for (int i = 0; i < n; i++) {
        copies[i] = malloc(strlen(clauses[i]) + 1);
        strcpy(copies[i], clauses[i]);
    }
    return ctr_declaration_parse(declaration, room, "t", (const char *const *)copies, n);
}

static void free_all(char **copies, int n)
{
    for (int i = 0; i < n; i++) free(copies[i]);
}

static void a_declaration_is_read_in_declared_order(void **state)
{
    (void)state;
    static const char *const clauses[] = {
        "hits COUNTER", "\"the \"\"path\" VARCHAR ( 20 , 3 ) /* , */",
        "hour  BIG\n INT COLLATE [no case] -- end", "PRIMARY KEY (hour, [the \"path])"};
    ctr_declaration d;
    ctr_declared room[ROOM];
    char *copies[ROOM], text[64];
    assert_true(parse(&d, room, copies, 4, clauses));
    assert_int_equal(d.n_columns, 3);
    assert_int_equal(d.n_keys, 2);
    assert_true(room[0].counter);
    assert_int_equal(room[0].key, -1);
    assert_int_equal(room[1].key, 1);
    assert_int_equal(room[2].key, 0);
    ctr_word_unquote(room[1].name, text);
    assert_string_equal(text, "the \"path");
    ctr_declaration_type(room[1].type, text);
    assert_string_equal(text, "VARCHAR(20,3)");
    ctr_declaration_type(room[2].type, text);
    assert_string_equal(text, "BIG INT");
    ctr_word_unquote(room[2].collation, text);
    assert_string_equal(text, "no case");
    free_all(copies, 4);
}

/* What a clause of a counter is refused for, or CTR_ACCEPTED. */
static ctr_refusal refusal_of(const char *clause)
{
    ctr_declaration d;
    ctr_declared room[ROOM];
    char *copies[ROOM];
    const char *const clauses[] = {clause, "k NOT NULL PRIMARY KEY"};
    bool taken = parse(&d, room, copies, 2, clauses);
    assert_int_equal(taken, d.refusal == CTR_ACCEPTED);
    free_all(copies, 2);
    return d.refusal;
}

static void not_null_and_default_0_are_taken_and_no_other_default(void **state)
{
    (void)state;
    static const char *const taken[] = {"n COUNTER NOT NULL",
                                        "n COUNTER DEFAULT 0",
                                        "n COUNTER NOT NULL DEFAULT 0",
                                        "n counter default -0 not/**/null",
                                        "n COUNTER DEFAULT(0)",
                                        "n COUNTER DEFAULT ( +00 ) NOT NULL",
                                        "n COUNTER NOT NULL NOT NULL DEFAULT 0 DEFAULT 0",
                                        "n COUNTER DEFAULT '0' CONSTRAINT zero NOT NULL"};
    static const char *const defaults[] = {"n COUNTER DEFAULT 1",    "n COUNTER DEFAULT 10",
                                           "n COUNTER DEFAULT 0.0",  "n COUNTER DEFAULT '1'",
                                           "n COUNTER DEFAULT NULL", "n COUNTER DEFAULT (0",
                                           "n COUNTER DEFAULT 0)",   "n COUNTER DEFAULT (0 + 0)",
                                           "n COUNTER DEFAULT -",    "n COUNTER DEFAULT ()"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_int_equal(refusal_of(taken[i]), CTR_ACCEPTED);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        assert_int_equal(refusal_of(defaults[i]), CTR_REFUSE_DEFAULT);
    assert_int_equal(refusal_of("n COUNTER DEFAULT 0x0"), CTR_REFUSE_CONSTRAINT);
    assert_int_equal(refusal_of("n COUNTER DEFAULT"), CTR_REFUSE_SYNTAX);
    assert_int_equal(refusal_of("n COUNTER NOT"), CTR_REFUSE_SYNTAX);
    assert_int_equal(refusal_of("n COUNTER NULL"), CTR_REFUSE_CONSTRAINT);
}

static void a_comment_ends_with_its_line_and_the_declaration_goes_on(void **state)
{
    (void)state;
    static const char *const clauses[] = {"k VARCHAR -- of any length\n(20) PRIMARY KEY",
                                          "n -- a name\n COUNTER"};
    ctr_declaration d;
    ctr_declared room[ROOM];
    char *copies[ROOM], text[64];
    assert_true(parse(&d, room, copies, 2, clauses));
    ctr_declaration_type(room[0].type, text);
    assert_string_equal(text, "VARCHAR(20)");
    assert_int_equal(room[0].key, 0);
    assert_true(room[1].counter);
    free_all(copies, 2);
}

static void a_dollar_sign_stands_in_a_name_and_a_brace_ends_it(void **state)
{
    (void)state;
    static const char *const dollar[] = {"k$1 TEXT PRIMARY KEY", "n$ COUNTER"},
                             *const brace[] = {"k TEXT PRIMARY KEY", "n{ COUNTER"};
    ctr_declaration d;
    ctr_declared room[ROOM];
    char *copies[ROOM], text[64];
    assert_true(parse(&d, room, copies, 2, dollar));
    ctr_word_unquote(room[0].name, text);
    assert_string_equal(text, "k$1");
    ctr_word_unquote(room[1].name, text);
    assert_string_equal(text, "n$");
    free_all(copies, 2);
    assert_false(parse(&d, room, copies, 2, brace));
    assert_int_equal(d.refusal, CTR_REFUSE_SYNTAX);
    assert_int_equal(d.culprit.size, 1);
    free_all(copies, 2);
}

/* What is behind the columns is whatever was there before. */
static void what_is_behind_the_last_column_is_not_read(void **state)
{
    (void)state;
    static const char *const clauses[] = {"a TEXT", "PRIMARY KEY (a)"};
    ctr_declaration d;
    ctr_declared room[ROOM];
    char *copies[ROOM];
    for (int i = 0; i < ROOM; i++) room[i] = (ctr_declared){.counter = true, .key = -1};
    assert_false(parse(&d, room, copies, 2, clauses));
    assert_int_equal(d.refusal, CTR_REFUSE_NO_COUNTER);
    free_all(copies, 2);
}

static void affinity_follows_the_rules_of_sqlite(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        ctr_affinity affinity;
    } cases[] = {
        {"", CTR_AFFINITY_BLOB},
        {"BLOB", CTR_AFFINITY_BLOB},
        {"INTEGER", CTR_AFFINITY_INTEGER},
        {"tinyint", CTR_AFFINITY_INTEGER},
        {"CHARINT", CTR_AFFINITY_INTEGER},
        {"VARCHAR(20)", CTR_AFFINITY_TEXT},
        {"CLOB", CTR_AFFINITY_TEXT},
        {"text", CTR_AFFINITY_TEXT},
        {"REAL", CTR_AFFINITY_REAL},
        {"DOUBLE PRECISION", CTR_AFFINITY_REAL},
        {"FLOAT", CTR_AFFINITY_REAL},
        {"FLOATING POINT", CTR_AFFINITY_INTEGER},
        {"DECIMAL(10,5)", CTR_AFFINITY_NUMERIC},
        {"DATE", CTR_AFFINITY_NUMERIC},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(ctr_declaration_affinity(cases[i].type), cases[i].affinity);
}

static void plain_types_are_words_and_numbers(void **state)
{
    (void)state;
    static const char *const plain[] = {"",        "TEXT",        "VARCHAR(20)", "DECIMAL(10, -5)",
                                        "BIG INT", "DECIMAL(+10)"};
    static const char *const other[] = {"HIDDEN",     "TEXT HIDDEN", "\"TEXT\"",  "TEXT, x",
                                        "TEXT)",      "VARCHAR(x)",  "VARCHAR(1", "(1)",
                                        "TEXT; --x;", "A B'",        "INT(+)"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_true(ctr_declaration_is_plain(plain[i]));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_false(ctr_declaration_is_plain(other[i]));
}

static void reserved_names_are_known_in_any_case(void **state)
{
    (void)state;
    assert_true(ctr_declaration_reserves("ROWID"));
    assert_true(ctr_declaration_reserves("oid"));
    assert_true(ctr_declaration_reserves("Request_Id"));
    assert_true(ctr_declaration_reserves("_x"));
    assert_true(ctr_declaration_reserves(""));
    assert_false(ctr_declaration_reserves("rowids"));
    assert_false(ctr_declaration_reserves("\"_x\""));
    assert_true(ctr_declaration_reserves_table("Counter_x"));
    assert_false(ctr_declaration_reserves_table("counters"));
    assert_false(ctr_declaration_reserves_table("Recounter_x"));
    assert_false(ctr_declaration_reserves_table("mounter_x"));
}

/* Each clause cut at each place, alone and beside a sound one: any answer, but no byte too far. */
static void no_cut_or_changed_text_reads_beyond_its_end(void **state)
{
    (void)state;
    static const char *const clauses[] = {"\"a\"\"b\" VARCHAR(20, -3) COLLATE \"x\" PRIMARY KEY",
                                          "[n ] /* c */ COUNTER -- d",
                                          "PRIMARY KEY (\"a\"\"b\", `c``d`)",
                                          "n COUNTER TTL 5",
                                          "ttl = 60",
                                          "k 'te''xt' CHECK (a > 1)"};
    static const char changes[] = "\"'`[](),-/*=\xff 1a";
    for (size_t i = 0; i < sizeof clauses / sizeof *clauses; i++) {
        char text[128];
        size_t size = strlen(clauses[i]);
        for (size_t at = 0; at < size; at++) {
            for (size_t c = 0; c < sizeof changes; c++) {
                strcpy(text, clauses[i]);
                text[at] = changes[c]; /* the last one is the NUL, which cuts */
                const char *const both[] = {"k TEXT", text};
                ctr_declaration d;
                ctr_declared room[ROOM];
                char *copies[ROOM];
                if (!parse(&d, room, copies, 2, both))
                    assert_int_not_equal(d.refusal, CTR_ACCEPTED);
                free_all(copies, 2);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_declaration_is_read_in_declared_order),
        cmocka_unit_test(not_null_and_default_0_are_taken_and_no_other_default),
        cmocka_unit_test(a_comment_ends_with_its_line_and_the_declaration_goes_on),
        cmocka_unit_test(a_dollar_sign_stands_in_a_name_and_a_brace_ends_it),
        cmocka_unit_test(what_is_behind_the_last_column_is_not_read),
        cmocka_unit_test(affinity_follows_the_rules_of_sqlite),
        cmocka_unit_test(plain_types_are_words_and_numbers),
        cmocka_unit_test(reserved_names_are_known_in_any_case),
        cmocka_unit_test(no_cut_or_changed_text_reads_beyond_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
