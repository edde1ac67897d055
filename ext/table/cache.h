/* table/cache.h - the rows of one table that are cached in memory: the key, and the state of each
 * counter, with the journal's amounts.
 *
 *     by id, by key    -> the same rows; a key as the row stores it
 *
 * A cached row can be read and counted in without a statement. Any row may be dropped at any time;
 * rows that were not used recently are dropped to stay within CTR_CACHE_BYTES. Nothing here runs
 * SQL.
 */
#ifndef CTR_TABLE_CACHE_H
#define CTR_TABLE_CACHE_H

#include "counter_cell.h"
#include "sqlite/sqlite.h"

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
    struct ctr_row *next_by_id, *next_by_key;
    uint8_t *key; /* after the states */
    size_t key_size;
    uint64_t hash;        /* of the key */
    bool used;            /* since the clock hand last passed */
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

/* Adds a new row, with copies of its key and its states; may drop other rows. Returns false without
 * memory or room. */
bool ctr_cache_add(ctr_cache *cache, int64_t id, uint64_t hash, const uint8_t *key, size_t size,
                   const ctr_summary *states);

/* Drops a row, if it is cached. */
void ctr_cache_forget(ctr_cache *cache, int64_t id);

/* Drops all rows, and frees their memory. */
void ctr_cache_clear(ctr_cache *cache);

#endif
