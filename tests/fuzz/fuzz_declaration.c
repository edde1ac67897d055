/* fuzz_declaration.c - any texts as the clauses of CREATE VIRTUAL TABLE … USING counter(…).
 *
 * The bytes are cut at each newline: the name of the table, then the clauses. What is accepted has
 * a key and a counter, its spans lie within the clauses, and names and types fit their room.
 */
#include "core/core.h"
#include "fuzz.h"

enum { CLAUSES_MAX = 64 };

/* Cuts the text in place; returns the number of pieces. */
static int cut(char *text, const char **pieces)
{
    int n = 0;
    for (char *at = text; at && n < CLAUSES_MAX; n++) {
        pieces[n] = at;
        at = strchr(at, '\n');
        if (at) *at++ = 0;
    }
    return n;
}

static bool lies_within(ctr_span span, const char *const *clauses, int n)
{
    for (int i = 0; i < n; i++) {
        size_t size = strlen(clauses[i]);
        if (span.text >= clauses[i] && span.text + span.size <= clauses[i] + size) return true;
    }
    return span.size == 0;
}

static void check_column(const ctr_declared *column, const char *const *clauses, int n)
{
    fuzz_assert(lies_within(column->name, clauses, n) && lies_within(column->type, clauses, n));
    char *name = fuzz_room(column->name.size + 1, 1), *type = fuzz_room(column->type.size + 1, 1);
    ctr_word_unquote(column->name, name);
    ctr_declaration_type(column->type, type);
    fuzz_assert(*name && !ctr_declaration_reserves(name));
    if (!column->counter) fuzz_assert(ctr_declaration_is_plain(type));
    ctr_declaration_affinity(type);
    free(name);
    free(type);
}

static void check(const char *table, const char *const *clauses, int n)
{
    ctr_declared room[CLAUSES_MAX];
    ctr_declaration found;
    int counters = 0;
    ctr_declaration_reserves_table(table);
    if (ctr_declaration_counter(&found, room, table, clauses[0]))
        check_column(&found.columns[0], clauses, 1);
    if (!ctr_declaration_parse(&found, room, table, clauses, n)) {
        fuzz_assert(found.refusal != CTR_ACCEPTED);
        return;
    }
    for (int i = 0; i < found.n_columns; i++) {
        check_column(&found.columns[i], clauses, n);
        fuzz_assert(found.columns[i].counter == (found.columns[i].key < 0));
        counters += found.columns[i].counter;
    }
    fuzz_assert(counters > 0 && found.n_keys == found.n_columns - counters && found.n_keys > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *pieces[CLAUSES_MAX];
    char *text = fuzz_room(size + 1, 1);
    if (size) memcpy(text, data, size);
    int n = cut(text, pieces);
    if (n > 1) check(pieces[0], pieces + 1, n - 1);
    free(text);
    return 0;
}
