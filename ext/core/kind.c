/* core/kind.c - the kinds of columns. */
#include "core/core.h"

static const ctr_kind KINDS[] = {
    {.word = "COUNTER",
     .noun = "a counter",
     .called = "counter",
     .stored = "BLOB",
     .code = 1,
     .first = CTR_COUNTER_BYTE,
     .last = CTR_GRANTS_BYTE,
     .adds = true,
     .check = ctr_shards_check,
     .show = ctr_shards_show,
     .meant = ctr_shards_meant,
     .change = ctr_cell_add,
     .join = ctr_shards_join,
     .compare = ctr_shards_compare,
     .diff = ctr_shards_diff,
     .own = ctr_shards_own},
    {.noun = "a regular column", .called = "regular", .code = 2},
};

enum { KINDS_OF_COLUMNS = sizeof KINDS / sizeof *KINDS };

const ctr_kind *ctr_kind_counter(void)
{
    return &KINDS[0];
}

const ctr_kind *ctr_kind_regular(void)
{
    return &KINDS[1];
}

const ctr_kind *ctr_kind_of_byte(uint8_t first)
{
    if (first == KINDS[0].first) return &KINDS[0]; /* nearly all cells: no search */
    if ((first & 0x0f) == 0) return NULL;          /* there is no format 0 */
    for (int i = 0; i < KINDS_OF_COLUMNS; i++)
        if (KINDS[i].stored && (KINDS[i].first & 0xf0) == (first & 0xf0)) return &KINDS[i];
    return NULL;
}

const ctr_kind *ctr_kind_of_code(uint8_t code)
{
    for (int i = 0; i < KINDS_OF_COLUMNS; i++)
        if (KINDS[i].code == code) return &KINDS[i];
    return NULL;
}

const ctr_kind *ctr_kind_of_word(ctr_span word)
{
    for (int i = 0; i < KINDS_OF_COLUMNS; i++)
        if (KINDS[i].word && ctr_word_is(word, KINDS[i].word)) return &KINDS[i];
    return NULL;
}

const ctr_kind *ctr_kind_of_stored(const char *type)
{
    const ctr_span word = {type, strlen(type)};
    for (int i = 0; i < KINDS_OF_COLUMNS; i++)
        if (KINDS[i].stored && ctr_word_is(word, KINDS[i].stored)) return &KINDS[i];
    return NULL;
}
