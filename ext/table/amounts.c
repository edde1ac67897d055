/* table/amounts.c - open addressing. */
#include "table/amounts.h"

#include <string.h>

enum { LEAST_SLOTS = 64 };

/* Returns the slot of the amount, or an unused one for it. */
static ctr_amount *slot_for(const ctr_amounts *amounts, int64_t row, int counter)
{
    uint64_t hash = ((uint64_t)row + (uint64_t)counter * UINT64_C(0xC2B2AE3D27D4EB4F)) *
                    UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 32) & (amounts->n_slots - 1);
    const ctr_amount *slots = amounts->slots;
    while (slots[at].counter != CTR_AMOUNT_UNUSED &&
           (slots[at].row != row || slots[at].counter != (uint32_t)counter))
        at = (at + 1) & (amounts->n_slots - 1);
    return &amounts->slots[at];
}

static bool adds(const ctr_amount *amount)
{
    return amount->counter != CTR_AMOUNT_UNUSED && amount->ticks > 0;
}

ctr_amount *ctr_amounts_find(const ctr_amounts *amounts, int64_t row, int counter)
{
    if (amounts->n == 0) return NULL;
    ctr_amount *found = slot_for(amounts, row, counter);
    return found->counter != CTR_AMOUNT_UNUSED ? found : NULL;
}

/* Dropped amounts are not copied to the new table. */
int ctr_amounts_expect(ctr_amounts *amounts, size_t n, ctr_problem *problem)
{
    size_t slots = LEAST_SLOTS, live = 0;
    if (3 * amounts->n_slots >= 4 * (amounts->n + n) || problem->rc != SQLITE_OK)
        return problem->rc;
    for (size_t i = 0; i < amounts->n_slots; i++) live += adds(&amounts->slots[i]);
    while (3 * slots < 4 * (live + n)) slots *= 2;
    if (slots == amounts->n_slots && live > amounts->n / 4 * 3) slots *= 2;
    ctr_amounts made = {.slots = sqlite3_malloc64(slots * sizeof *made.slots), .n_slots = slots};
    if (!made.slots) return ctr_problem_nomem(problem);
    memset(made.slots, 0xff, slots * sizeof *made.slots);
    for (size_t i = 0; i < amounts->n_slots; i++) {
        const ctr_amount *amount = &amounts->slots[i];
        if (adds(amount)) *slot_for(&made, amount->row, (int)amount->counter) = *amount;
    }
    made.n = live;
    sqlite3_free(amounts->slots);
    *amounts = made;
    return problem->rc;
}

ctr_amount *ctr_amounts_add(ctr_amounts *amounts, int64_t row, int counter)
{
    ctr_amount *amount = slot_for(amounts, row, counter);
    if (amount->counter != CTR_AMOUNT_UNUSED) return amount;
    *amount = (ctr_amount){.row = row, .counter = (uint32_t)counter};
    amounts->n++;
    return amount;
}

void ctr_amounts_drop(ctr_amounts *amounts, int64_t row, int counter)
{
    ctr_amount *amount = ctr_amounts_find(amounts, row, counter);
    if (amount) amount->n = amount->ticks = 0;
}

void ctr_amounts_clear(ctr_amounts *amounts)
{
    sqlite3_free(amounts->slots);
    *amounts = (ctr_amounts){0};
}
