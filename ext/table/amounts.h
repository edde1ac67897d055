/* table/amounts.h - the amounts of a journal, in memory: a hash table by row and counter.
 *
 * A journal may have many amounts, and a fresh connection reads them all. So they are in one array,
 * without an allocation for each. Nothing here runs SQL.
 */
#ifndef CTR_TABLE_AMOUNTS_H
#define CTR_TABLE_AMOUNTS_H

#include <stdint.h>

#include "sqlite/problem.h"

typedef struct ctr_amount {
    int64_t row;
    int64_t n, ticks; /* added to value and clock; 0 ticks: nothing */
    uint32_t counter;
    uint32_t batch; /* perhaps its entry in the batch; see table/batch.c */
} ctr_amount;

/* The counter of a slot that is not used. */
#define CTR_AMOUNT_UNUSED UINT32_MAX

typedef struct ctr_amounts {
    ctr_amount *slots; /* owned */
    size_t n_slots;    /* a power of two, or 0; a quarter of them stay unused */
    size_t n;
} ctr_amounts;

/* Returns the amount of a counter of a row, or NULL. */
ctr_amount *ctr_amounts_find(const ctr_amounts *amounts, int64_t row, int counter);

/* Makes room for n more; the next n calls of ctr_amounts_add cannot fail. */
int ctr_amounts_expect(ctr_amounts *amounts, size_t n, ctr_problem *problem);

/* Finds or creates an amount. It is lent until the next call of ctr_amounts_expect. */
ctr_amount *ctr_amounts_add(ctr_amounts *amounts, int64_t row, int counter);

/* Drops an amount, because its cell was written with it. */
void ctr_amounts_drop(ctr_amounts *amounts, int64_t row, int counter);

/* Drops all amounts, and frees the memory. */
void ctr_amounts_clear(ctr_amounts *amounts);

#endif
