/* crash_model.h - what a replica must hold: the oracle of run_crashes.c, without SQL.
 *
 * Each increment is an operation with a number and with amounts that follow from it, so large that
 * sums of different sets differ. A row is its life and the set of operations that count in it; two
 * states merge as cells do: the higher life wins, in the same life the union.
 *
 * A row of the replicated table has two regular columns more. What an operation writes into one is
 * its own number, and numbers rise with the clock: the highest wins.
 *
 * What a replica does by itself is numbered too, and a state says up to which number it knows the
 * doings of each replica: what one knows of another, that one must not forget.
 */
#ifndef TESTS_FAULT_CRASH_MODEL_H
#define TESTS_FAULT_CRASH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_FILES = 3, MODEL_ROWS = 6, MODEL_OPS = 1024, MODEL_TEXT = 4096 };
enum { MODEL_LASTING = 4, MODEL_REGULAR = 2 };

/* Columns that an operation adds to. */
enum { MODEL_A = 1, MODEL_B = 2 };

typedef struct model_row {
    uint32_t life;
    uint64_t ops[MODEL_OPS / 64];
} model_row;

/* Of the replicated table; life 0: there never was such a row. */
typedef struct model_lasting {
    model_row row;
    int regular[MODEL_REGULAR]; /* operations */
} model_lasting;

typedef struct model_state {
    bool exists; /* the tables do */
    int64_t known[MODEL_FILES];
    model_row rows[MODEL_ROWS];
    model_lasting lasting[MODEL_LASTING];
} model_state;

/* Tables without rows. */
void model_begin(model_state *state);

int model_columns(int op);
int64_t model_amount(int op, int column);

/* Does a SELECT show the row? */
bool model_shows(const model_row *row);
bool model_lives(const model_row *row);

/* The operation counts in the row, which lives. */
void model_add(model_row *row, int op);

/* The next life that is odd, or even. */
void model_reset(model_row *row);
void model_delete(model_row *row);

/* The operation writes regular columns, of a mask, and adds to the counter of a row that lives, or
 * begins its next life with all of this. */
void model_write(model_lasting *row, int op, int columns, bool counts);
void model_end(model_lasting *row);

void model_merge(model_state *to, const model_state *from);

/* Do they hold the same? What they know of others is not asked. */
bool model_same(const model_state *a, const model_state *b);

/* As "key|life:a|life:b" for stored rows and "key|a|b" for those that a SELECT shows; of the
 * replicated table as "key|life" and "key|name|price|n". */
void model_text(const model_state *state, char text[MODEL_TEXT]);

#endif
