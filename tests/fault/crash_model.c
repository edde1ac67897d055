/* crash_model.c - sets of operations, and the sums that they make. */
#include "crash_model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "crash.h"

enum { AMOUNT_BITS = 40 };

void model_begin(model_state *state)
{
    memset(state, 0, sizeof *state);
    state->exists = true;
    for (int i = 0; i < MODEL_ROWS; i++) state->rows[i].life = 1;
}

int model_columns(int op)
{
    uint64_t state = (uint64_t)op;
    return (int)(crash_random(&state) % 3) + 1;
}

int64_t model_amount(int op, int column)
{
    uint64_t state = (uint64_t)op * 4 + (uint64_t)column, roll = crash_random(&state);
    int64_t amount = (int64_t)(roll >> (64 - AMOUNT_BITS)) + 1;
    return roll & 1 ? amount : -amount;
}

static bool has(const model_row *row, int op)
{
    return row->ops[op / 64] >> (op % 64) & 1;
}

static bool is_touched(const model_row *row, int column)
{
    for (int op = 0; op < MODEL_OPS; op++)
        if (has(row, op) && (model_columns(op) & column)) return true;
    return false;
}

bool model_lives(const model_row *row)
{
    return row->life % 2 == 1;
}

bool model_shows(const model_row *row)
{
    return model_lives(row) && (row->life > 1 || is_touched(row, MODEL_A | MODEL_B));
}

void model_add(model_row *row, int op)
{
    row->ops[op / 64] |= UINT64_C(1) << (op % 64);
}

static void begin_life(model_row *row, uint32_t life)
{
    memset(row, 0, sizeof *row);
    row->life = life;
}

void model_reset(model_row *row)
{
    begin_life(row, row->life + 1 + row->life % 2);
}

void model_delete(model_row *row)
{
    begin_life(row, row->life + 1);
}

void model_write(model_lasting *row, int op, int columns, bool counts)
{
    if (!model_lives(&row->row)) begin_life(&row->row, row->row.life + 1);
    for (int i = 0; i < MODEL_REGULAR; i++)
        if (columns >> i & 1) row->regular[i] = op;
    if (counts) model_add(&row->row, op);
}

void model_end(model_lasting *row)
{
    model_delete(&row->row);
    memset(row->regular, 0, sizeof row->regular);
}

static void merge_row(model_row *to, const model_row *from)
{
    if (from->life > to->life) *to = *from;
    if (from->life != to->life) return;
    for (int i = 0; i < MODEL_OPS / 64; i++) to->ops[i] |= from->ops[i];
}

static void merge_lasting(model_lasting *to, const model_lasting *from)
{
    bool ends = from->row.life > to->row.life, same = from->row.life == to->row.life;
    for (int i = 0; i < MODEL_REGULAR; i++)
        if (ends || (same && from->regular[i] > to->regular[i])) to->regular[i] = from->regular[i];
    merge_row(&to->row, &from->row);
}

void model_merge(model_state *to, const model_state *from)
{
    for (int i = 0; i < MODEL_ROWS; i++) merge_row(&to->rows[i], &from->rows[i]);
    for (int i = 0; i < MODEL_LASTING; i++) merge_lasting(&to->lasting[i], &from->lasting[i]);
    for (int i = 0; i < MODEL_FILES; i++)
        if (from->known[i] > to->known[i]) to->known[i] = from->known[i];
}

bool model_same(const model_state *a, const model_state *b)
{
    return a->exists == b->exists && memcmp(a->rows, b->rows, sizeof a->rows) == 0 &&
           memcmp(a->lasting, b->lasting, sizeof a->lasting) == 0;
}

/* ---- as a text ------------------------------------------------------------------------------- */

typedef struct out {
    char *text;
    size_t size;
} out;

static void print(out *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(to->text + to->size, MODEL_TEXT - to->size, format, arguments);
    va_end(arguments);
    if (size > 0) to->size += (size_t)size;
    if (to->size >= MODEL_TEXT) to->size = MODEL_TEXT - 1;
}

static int64_t sum(const model_row *row, int column)
{
    int64_t total = 0;
    for (int op = 0; op < MODEL_OPS; op++)
        if (has(row, op) && (model_columns(op) & column)) total += model_amount(op, column);
    return total;
}

static int64_t lasting_sum(const model_lasting *row)
{
    int64_t total = 0;
    for (int op = 0; op < MODEL_OPS; op++)
        if (has(&row->row, op)) total += model_amount(op, MODEL_A);
    return total;
}

/* The cell: none, deleted, or a value. */
static void print_cell(out *to, const model_row *row, int column)
{
    if (row->life == 1 && !is_touched(row, column))
        print(to, "|-");
    else if (model_lives(row))
        print(to, "|%" PRIu32 ":%" PRId64, row->life, sum(row, column));
    else
        print(to, "|%" PRIu32 ":", row->life);
}

void model_text(const model_state *state, char text[MODEL_TEXT])
{
    out to = {text, 0};
    *text = '\0';
    if (!state->exists) print(&to, "no table\n");
    for (int i = 0; state->exists && i < MODEL_ROWS; i++) {
        const model_row *row = &state->rows[i];
        if (row->life == 1 && !model_shows(row)) continue;
        print(&to, "k%d", i);
        print_cell(&to, row, MODEL_A);
        print_cell(&to, row, MODEL_B);
        print(&to, "\n");
    }
    for (int i = 0; state->exists && i < MODEL_ROWS; i++) {
        const model_row *row = &state->rows[i];
        if (model_shows(row))
            print(&to, "k%d|%" PRId64 "|%" PRId64 "\n", i, sum(row, MODEL_A), sum(row, MODEL_B));
    }
    for (int i = 0; state->exists && i < MODEL_LASTING; i++)
        if (state->lasting[i].row.life > 0)
            print(&to, "r%d|%" PRIu32 "\n", i, state->lasting[i].row.life);
    for (int i = 0; state->exists && i < MODEL_LASTING; i++)
        if (model_lives(&state->lasting[i].row))
            print(&to, "r%d|%d|%d|%" PRId64 "\n", i, state->lasting[i].regular[0],
                  state->lasting[i].regular[1], lasting_sum(&state->lasting[i]));
}
