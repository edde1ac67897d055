/* store/cache.h - the rows of one table in memory: what the journal adds to them, and what is known
 * of their cells.
 *
 *     by id     -> every row that has amounts in the journal, and every known one
 *     by key    -> the known ones, by the values of their key as they are stored
 *
 * A row is known if it has a key here: then it can be counted in, and read, without a statement. A
 * known row without amounts may be dropped at any moment, to stay within CTR_CACHE_BYTES; one with
 * amounts is only forgotten.
 *
 * Nothing here runs SQL.
 */
#ifndef CTR_STORE_CACHE_H
#define CTR_STORE_CACHE_H

#include "counter_cell.h"
#include "store/problem.h"

/* What known rows may take: of one table, in one connection. */
#ifndef CTR_CACHE_BYTES
#define CTR_CACHE_BYTES (16 << 20)
#endif

/* One counter of a row. */
typedef struct ctr_held {
    ctr_summary cell; /* of a known row: as it is stored, with the shard of the file's id */
    int64_t n, ticks; /* what the journal and the batch add to that shard */
    size_t batch;     /* where the batch adds to it, perhaps; see store/journal.c */
} ctr_held;

typedef struct ctr_row {
    int64_t id;
    struct ctr_row *next_by_id, *next_by_key;
    uint8_t *key; /* owned; NULL: it is not known */
    size_t key_size;
    uint64_t hash; /* of the key */
    bool used;     /* since the last look of who makes room */
    ctr_held counters[];
} ctr_row;

typedef struct ctr_cache {
    int n_counters;
    ctr_row **by_id, **by_key;
    size_t slots; /* of each; a power of two, or 0 */
    size_t n;     /* rows */
    size_t bytes; /* of known ones */
    size_t hand;  /* where the look for room goes on */
} ctr_cache;

uint64_t ctr_cache_hash(const uint8_t *key, size_t size);

/* NULL if there is none. */
ctr_row *ctr_cache_row(const ctr_cache *cache, int64_t id);
ctr_row *ctr_cache_key(const ctr_cache *cache, uint64_t hash, const uint8_t *key, size_t size);

/* The row, made if it is not there; NULL and a problem if there is no memory. */
ctr_row *ctr_cache_add(ctr_cache *cache, int64_t id, ctr_problem *problem);

/* The row becomes known, with a copy of its key; the cells are the caller's to set. Others may be
 * dropped. False: there is no memory, or no room, and it stays as it was. */
bool ctr_cache_know(ctr_cache *cache, ctr_row *row, uint64_t hash, const uint8_t *key, size_t size);

/* The row is known no more; without amounts it is dropped. */
void ctr_cache_forget(ctr_cache *cache, ctr_row *row);

bool ctr_cache_has_amounts(const ctr_cache *cache, const ctr_row *row);

/* Drops all rows, and frees their memory. */
void ctr_cache_clear(ctr_cache *cache);

#endif
