/* test_model.c - all states of three files that can be reached by a few operations, breadth first.
 *
 *     test_model [DEPTH [KEYS [JOINED [EVERY [ONLY]]]]]    4 1 2 128, and all, if nothing is said
 *
 * Each state is expanded once (state.h says when two are the same) by each operation
 * (operations.h), which the library itself carries out on the three files (disk.h). After each
 * one the file must show what the oracle says of it, increment by increment, pass its integrity
 * check, and an operation that is to be refused must have been. In every state that is found
 * within JOINED operations, and in one of EVERY others, all files pull from each other, and must
 * show the union of what they had and one digest. Where the last operation was an increment,
 * which is what uses clocks again if anything does, it is one of EVERY / 32.
 *
 * Prints for each depth how many states there are that were not there before, how many operations
 * have led to them, and how many were joined. A failure prints the operations that lead to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "grow.h"
#include "operations.h"

static struct {
    int depth, keys, joined;
    uint64_t every;
    const char *only;
} wanted = {4, 1, 2, 128, ""};

/* How a state was found: those of depth d stand behind those of d - 1. */
typedef struct step {
    uint32_t parent;
    uint8_t operation;
} step;

static struct {
    operation operations[MOST_OPERATIONS];
    int n_operations;
    lookup keys;
    uint64_t *highs; /* the other half of each key */
    step *steps;
    state *states; /* of this depth, and of the next */
    state *next;
    size_t n_highs, n_steps, n_states, n_next;
    uint64_t transitions, joins;
} search;

static bool same_key(const void *high, uint32_t number)
{
    return search.highs[number] == *(const uint64_t *)high;
}

static void print_path(uint32_t at, int last)
{
    if (at) print_path(search.steps[at].parent, search.steps[at].operation);
    if (last >= 0) print_error("  %s\n", operation_text(&search.operations[last]));
}

static void fail_at(uint32_t parent, int last, const char *wrong, const char *behind)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", wrong);
    print_error("after\n");
    print_path(parent, last);
    print_error("%s", behind);
    fail_msg("%s", copy);
}

static bool is_joined(int depth, int operation_number, uint64_t chance)
{
    bool counts = search.operations[operation_number].kind == INCREMENT;
    uint64_t every = counts && wanted.every >= 32 ? wanted.every / 32 : wanted.every;
    return depth <= wanted.joined || chance % every == 0;
}

/* False if the state is known. */
static bool enter(const state *one, uint32_t parent, int operation_number, int depth)
{
    bool is_new;
    state_key key = state_key_of(one, operations_contents(), wanted.keys);
    uint32_t number = (uint32_t)search.n_highs;
    lookup_find(&search.keys, key.low, same_key, &key.high, number, &is_new);
    if (!is_new) return false;
    *(uint64_t *)grow(&search.highs, &search.n_highs, sizeof *search.highs) = key.high;
    *(step *)grow(&search.steps, &search.n_steps, sizeof *search.steps) =
        (step){parent, (uint8_t)operation_number};
    if (depth < wanted.depth)
        *(state *)grow(&search.next, &search.n_next, sizeof *search.next) = *one;
    if (!is_joined(depth, operation_number, key.low)) return true;
    search.joins++;
    const char *wrong = operations_join(depth, one, key.high);
    if (wrong) fail_at(parent, operation_number, wrong, "  all pull from each other\n");
    return true;
}

static void expand(const state *from, uint32_t number, int depth)
{
    for (int i = 0; i < search.n_operations; i++) {
        state to;
        bool changed;
        const char *wrong = operations_do(&search.operations[i], depth, from, &to, &changed);
        search.transitions++;
        if (wrong) fail_at(number, i, wrong, "");
        if (changed) enter(&to, number, i, depth);
    }
}

static void advance(int depth)
{
    struct timespec began, ended;
    size_t before = search.n_highs, first = before - search.n_states;
    uint64_t transitions = search.transitions, joins = search.joins;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (size_t i = 0; i < search.n_states; i++)
        expand(&search.states[i], (uint32_t)(first + i), depth);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    print_message("depth %d: %zu states, %llu operations, %llu joined; %.1f s\n", depth,
                  search.n_highs - before, (unsigned long long)(search.transitions - transitions),
                  (unsigned long long)(search.joins - joins),
                  (double)(ended.tv_sec - began.tv_sec) +
                      (double)(ended.tv_nsec - began.tv_nsec) / 1e9);
    free(search.states);
    search.states = search.next;
    search.n_states = search.n_next;
    search.next = NULL;
    search.n_next = 0;
}

static void in_every_state_each_file_shows_what_it_has_counted_and_all_agree_once_they_have_pulled(
    void **unused)
{
    (void)unused;
    state first;
    search.n_operations = operations_list(wanted.keys, wanted.only, search.operations);
    operations_open(wanted.keys, &first);
    enter(&first, 0, 0, 0);
    search.states = search.next;
    search.n_states = search.n_next;
    search.next = NULL;
    search.n_next = 0;
    for (int depth = 1; depth <= wanted.depth; depth++) advance(depth);
    print_message("%zu states of 3 files, %llu operations; %u volumes of %u pages\n",
                  search.n_highs, (unsigned long long)search.transitions, disk_volumes(),
                  disk_pages());
    operations_close();
    assert_int_equal(sqlite3_memory_used(), 0);
    free(search.states);
    free(search.highs);
    free(search.steps);
    lookup_close(&search.keys);
}

int main(int argc, char **argv)
{
    if (argc > 1) wanted.depth = atoi(argv[1]);
    if (argc > 2) wanted.keys = atoi(argv[2]);
    if (argc > 3) wanted.joined = atoi(argv[3]);
    if (argc > 4) wanted.every = strtoull(argv[4], NULL, 10);
    if (argc > 5) wanted.only = argv[5];
    if (wanted.depth < 1 || wanted.keys < 1 || wanted.keys > MOST_KEYS || !wanted.every) return 2;
    if (!operations_are_named(wanted.only))
        return 2; /* else nothing would be tried, and all be well */
    const struct CMUnitTest tests[] = {cmocka_unit_test(
        in_every_state_each_file_shows_what_it_has_counted_and_all_agree_once_they_have_pulled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
