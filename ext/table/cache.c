/* table/cache.c - open addressing over amounts; two hash tables over rows.
 *
 * They are two mechanisms: an amount is small, is found by its place in an array that a fresh
 * connection fills at once, and never leaves it; a row has any size, two keys, and goes alone. */
#include "table/table.h"

#include <string.h>

/* ---- amounts --------------------------------------------------------------------------------- */

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

ctr_amount *ctr_cache_find_amount(const ctr_amounts *amounts, int64_t row, int counter)
{
    if (amounts->n == 0) return NULL;
    ctr_amount *found = slot_for(amounts, row, counter);
    return found->counter != CTR_AMOUNT_UNUSED ? found : NULL;
}

/* Dropped amounts are not copied to the new table. */
int ctr_cache_expect_amounts(ctr_conn *conn, ctr_amounts *amounts, size_t n)
{
    size_t slots = LEAST_SLOTS, live = 0;
    if (3 * amounts->n_slots >= 4 * (amounts->n + n) || ctr_rc(conn) != SQLITE_OK)
        return ctr_rc(conn);
    for (size_t i = 0; i < amounts->n_slots; i++) live += adds(&amounts->slots[i]);
    while (3 * slots < 4 * (live + n)) slots *= 2;
    if (slots == amounts->n_slots && live > amounts->n / 4 * 3) slots *= 2;
    ctr_amounts made = {.slots = sqlite3_malloc64(slots * sizeof *made.slots),
                        .n_slots = slots,
                        .n_columns = amounts->n_columns};
    if (!made.slots) return ctr_problem_nomem(conn);
    memset(made.slots, 0xff, slots * sizeof *made.slots);
    for (size_t i = 0; i < amounts->n_slots; i++) {
        const ctr_amount *amount = &amounts->slots[i];
        if (adds(amount)) *slot_for(&made, amount->row, (int)amount->counter) = *amount;
    }
    made.n = live;
    sqlite3_free(amounts->slots);
    *amounts = made;
    return ctr_rc(conn);
}

ctr_amount *ctr_cache_add_amount(ctr_amounts *amounts, int64_t row, int counter)
{
    ctr_amount *amount = slot_for(amounts, row, counter);
    if (amount->counter != CTR_AMOUNT_UNUSED) return amount;
    *amount = (ctr_amount){.row = row, .counter = (uint32_t)counter};
    amounts->n++;
    return amount;
}

void ctr_cache_drop_amount(ctr_amounts *amounts, int64_t row, int counter)
{
    ctr_amount *amount = ctr_cache_find_amount(amounts, row, counter);
    if (amount) amount->n = amount->ticks = 0;
}

ctr_amount *ctr_cache_set_stamp(ctr_amounts *amounts, int64_t row, int column, int64_t number)
{
    ctr_amount *amount = ctr_cache_add_amount(amounts, row, CTR_AMOUNT_COLUMNS + column);
    if (number > amount->n) amount->n = number;
    amount->ticks = 1;
    if (column >= amounts->n_columns) amounts->n_columns = column + 1;
    return amount;
}

bool ctr_cache_has_stamps(const ctr_amounts *amounts, int64_t row)
{
    bool any = false;
    for (int i = 0; i < amounts->n_columns && !any; i++) {
        const ctr_amount *amount = ctr_cache_find_amount(amounts, row, CTR_AMOUNT_COLUMNS + i);
        any = amount && amount->ticks > 0;
    }
    return any;
}

bool ctr_cache_drop_stamps(ctr_amounts *amounts, int64_t row)
{
    if (!ctr_cache_has_stamps(amounts, row)) return false;
    for (int i = 0; i < amounts->n_columns; i++)
        ctr_cache_drop_amount(amounts, row, CTR_AMOUNT_COLUMNS + i);
    return true;
}

void ctr_cache_clear_amounts(ctr_amounts *amounts)
{
    sqlite3_free(amounts->slots);
    *amounts = (ctr_amounts){0};
}

ctr_status ctr_cache_advance(ctr_summary *state, const ctr_amount *amount, int64_t least)
{
    ctr_sum value = {0, 0};
    ctr_sum_add(&value, state->value);
    ctr_sum_add(&value, amount->n);
    ctr_sum_add(&state->sum, amount->n);
    state->touched = state->has_shards = true;
    if (state->clock < least) state->clock = least - 1;
    if (state->life % 2 == 0 || state->clock > INT64_MAX - amount->ticks) return CTR_OUT_OF_RANGE;
    state->clock += amount->ticks;
    return ctr_sum_value(&value, &state->value) == CTR_OK ? CTR_OK : CTR_OUT_OF_RANGE;
}

enum { FIRST_SLOTS = 64 };

/* ---- slots ----------------------------------------------------------------------------------- */

uint64_t ctr_cache_hash(const uint8_t *key, size_t size)
{
    uint64_t hash = size;
    for (; size >= 8; size -= 8, key += 8) {
        uint64_t word;
        memcpy(&word, key, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    for (; size > 0; size--) hash = (hash ^ *key++) * UINT64_C(0x100000001B3);
    return hash ^ hash >> 29;
}

static size_t slot_of_id(const ctr_cache *cache, int64_t id)
{
    return (size_t)(((uint64_t)id * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (cache->slots - 1);
}

ctr_row *ctr_cache_row(const ctr_cache *cache, int64_t id)
{
    if (cache->n == 0) return NULL;
    if (cache->last && cache->last->id == id) return cache->last;
    ctr_row *row = cache->by_id[slot_of_id(cache, id)];
    while (row && row->id != id) row = row->next[0];
    return row;
}

ctr_row *ctr_cache_key(ctr_cache *cache, uint64_t hash, const uint8_t *key, size_t size)
{
    if (cache->n == 0) return NULL;
    ctr_row *row = cache->by_key[hash & (cache->slots - 1)];
    while (row && (row->hash != hash || row->key_size != size || memcmp(row->key, key, size) != 0))
        row = row->next[1];
    if (row) row->used = true;
    if (row) cache->last = row;
    return row;
}

/* Returns the list of a row by id, or by key. */
static ctr_row **row_list(const ctr_cache *cache, const ctr_row *row, bool by_key)
{
    return by_key ? &cache->by_key[row->hash & (cache->slots - 1)]
                  : &cache->by_id[slot_of_id(cache, row->id)];
}

static void link_row(ctr_cache *cache, ctr_row *row)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        ctr_row **list = row_list(cache, row, by_key);
        row->next[by_key] = *list;
        *list = row;
    }
}

static bool grow_slots(ctr_cache *cache)
{
    if (2 * cache->n < cache->slots) return true;
    size_t slots = cache->slots ? 2 * cache->slots : FIRST_SLOTS;
    ctr_row **made = sqlite3_malloc64(2 * slots * sizeof *made), **old = cache->by_id;
    if (!made) return false;
    memset(made, 0, 2 * slots * sizeof *made);
    size_t before = cache->slots;
    cache->by_id = made;
    cache->by_key = made + slots;
    cache->slots = slots;
    for (size_t i = 0; i < before; i++) {
        for (ctr_row *row = old[i], *next; row; row = next) {
            next = row->next[0];
            link_row(cache, row);
        }
    }
    sqlite3_free(old);
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static size_t size_of_row(const ctr_cache *cache)
{
    return sizeof(ctr_row) + (size_t)cache->n_counters * sizeof(ctr_summary);
}

static void free_row(ctr_cache *cache, ctr_row *row)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        ctr_row **at = row_list(cache, row, by_key);
        while (*at != row) at = &(*at)->next[by_key];
        *at = row->next[by_key];
    }
    if (cache->last == row) cache->last = NULL;
    cache->bytes -= size_of_row(cache) + row->key_size;
    cache->n--;
    sqlite3_free(row);
}

void ctr_cache_forget(ctr_cache *cache, int64_t id)
{
    ctr_row *row = ctr_cache_row(cache, id);
    if (row) free_row(cache, row);
}

/* The clock algorithm: drops rows that were not used since the hand last passed, until there is
 * room. Two rounds are enough: the first one clears every `used`. */
static bool make_room(ctr_cache *cache, size_t size)
{
    if (size > CTR_CACHE_BYTES) return false;
    while (cache->bytes + size > CTR_CACHE_BYTES) {
        cache->hand = (cache->hand + 1) & (cache->slots - 1);
        for (ctr_row *row = cache->by_id[cache->hand], *next; row; row = next) {
            next = row->next[0];
            if (row->used)
                row->used = false;
            else
                free_row(cache, row);
        }
    }
    return true;
}

ctr_row *ctr_cache_add(ctr_cache *cache, int64_t id, uint64_t hash, const uint8_t *key, size_t size,
                       const ctr_summary *states)
{
    if (!make_room(cache, size_of_row(cache) + size) || !grow_slots(cache)) return NULL;
    ctr_row *row = sqlite3_malloc64(size_of_row(cache) + size);
    if (!row) return NULL;
    *row = (ctr_row){.id = id, .key_size = size, .hash = hash, .used = true};
    row->key = (uint8_t *)row + size_of_row(cache);
    memcpy(row->key, key, size);
    memcpy(row->states, states, (size_t)cache->n_counters * sizeof *states);
    link_row(cache, row);
    cache->bytes += size_of_row(cache) + size;
    cache->last = row;
    cache->n++;
    return row;
}

void ctr_cache_clear(ctr_cache *cache)
{
    for (size_t i = 0; i < cache->slots && cache->n > 0; i++) {
        for (ctr_row *row = cache->by_id[i], *next; row; row = next) {
            next = row->next[0];
            sqlite3_free(row);
        }
    }
    sqlite3_free(cache->by_id);
    *cache = (ctr_cache){.n_counters = cache->n_counters};
}
