/* table/cache.h - what is known of one table in memory: the amounts of its journal, and rows.
 *
 * Nothing here runs SQL.
 */
#ifndef CTR_TABLE_CACHE_H
#define CTR_TABLE_CACHE_H

#include <stdint.h>

#include "counter_cell.h"
#include "base/problem.h"
#include "base/sqlite.h"

/* ---- amounts --------------------------------------------------------------------------------- */

/* A hash table by row and counter. A journal may have many amounts, and a fresh connection reads
 * them all. So they are in one array, without an allocation for each.
 *
 * It has the stamps of regular columns, too: CTR_AMOUNT_COLUMNS + c is column c, and its amount
 * the number of the stamp. */

typedef struct ctr_amount {
    int64_t row;
    int64_t n, ticks; /* added to value and clock; 0 ticks: nothing */
    uint32_t counter;
    uint32_t batch; /* perhaps its entry in the batch; see table/batch.c */
} ctr_amount;

/* The counter of a slot that is not used. */
#define CTR_AMOUNT_UNUSED UINT32_MAX

enum { CTR_AMOUNT_COLUMNS = 1 << 20 };

typedef struct ctr_amounts {
    ctr_amount *slots; /* owned */
    int n_columns;     /* regular columns may have stamps up to this number */
    size_t n_slots;    /* a power of two, or 0; a quarter of them stay unused */
    size_t n;
} ctr_amounts;

/* Returns the amount of a counter of a row, or NULL. */
ctr_amount *ctr_cache_find_amount(const ctr_amounts *amounts, int64_t row, int counter);

/* Makes room for n more; the next n calls of ctr_cache_add_amount cannot fail. */
int ctr_cache_expect_amounts(ctr_amounts *amounts, size_t n, ctr_problem *problem);

/* Finds or creates an amount. It is lent until the next call of ctr_cache_expect_amounts. */
ctr_amount *ctr_cache_add_amount(ctr_amounts *amounts, int64_t row, int counter);

/* Drops an amount, because its cell was written with it. */
void ctr_cache_drop_amount(ctr_amounts *amounts, int64_t row, int counter);

/* Sets the stamp of a regular column of a row, which the caller has made room for; the highest
 * number stays. Return whether a row has stamps; the third drops them. */
ctr_amount *ctr_cache_set_stamp(ctr_amounts *amounts, int64_t row, int column, int64_t number);
bool ctr_cache_has_stamps(const ctr_amounts *amounts, int64_t row);
bool ctr_cache_drop_stamps(ctr_amounts *amounts, int64_t row);

/* Drops all amounts, and frees the memory. */
void ctr_cache_clear_amounts(ctr_amounts *amounts);

/* Adds an amount to a state with the shard to which it belongs; `least` is the lowest clock of that
 * shard. Returns CTR_OUT_OF_RANGE if the amount cannot belong to this state. */
ctr_status ctr_cache_advance(ctr_summary *state, const ctr_amount *amount, int64_t least);

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows of the table: the key, and the state of each counter, with the journal's amounts.
 *
 *     by id, by key    -> the same rows; a key as the row stores it
 *
 * A cached row can be read and counted in without a statement. Any row may be dropped at any time;
 * rows that were not used recently are dropped to stay within CTR_CACHE_BYTES. */

/* The most bytes for the rows of one table in one connection. */
#ifndef CTR_CACHE_BYTES
#define CTR_CACHE_BYTES (16 << 20)
#endif

/* After this number of missed look-ups, other rows are read ahead. */
#ifndef CTR_CACHE_MISSED
#define CTR_CACHE_MISSED 4096
#endif

typedef struct ctr_row {
    int64_t id;
    struct ctr_row *next[2]; /* by id, by key */
    uint8_t *key;            /* after the states */
    size_t key_size;
    uint64_t hash;        /* of the key */
    bool used;            /* since the clock hand last passed */
    bool live;            /* of a replicated table, by its row cell; false: look */
    ctr_summary states[]; /* by counter, with the shard of the file's id */
} ctr_row;

typedef struct ctr_cache {
    int n_counters;
    ctr_row **by_id, **by_key;
    size_t slots; /* of each; a power of two, or 0; twice as many as rows, or more */
    size_t n, bytes;
    size_t hand;   /* the clock hand: a slot of by_id */
    ctr_row *last; /* the row that was found or added last, or NULL */

    /* For reading ahead: the number of missed look-ups, and the id of the last row read. */
    size_t missed;
    int64_t ahead;
} ctr_cache;

uint64_t ctr_cache_hash(const uint8_t *key, size_t size);

/* Return the row, or NULL if there is none. */
ctr_row *ctr_cache_row(const ctr_cache *cache, int64_t id);
ctr_row *ctr_cache_key(ctr_cache *cache, uint64_t hash, const uint8_t *key, size_t size);

/* Adds a new row, with copies of its key and its states; may drop other rows. Returns it, or NULL
 * without memory or room. */
ctr_row *ctr_cache_add(ctr_cache *cache, int64_t id, uint64_t hash, const uint8_t *key, size_t size,
                       const ctr_summary *states);

/* Drops a row, if it is cached. */
void ctr_cache_forget(ctr_cache *cache, int64_t id);

/* Drops all rows, and frees their memory. */
void ctr_cache_clear(ctr_cache *cache);

#endif
