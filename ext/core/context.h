/* core/context.h - Cassandra's counter contexts, for import and export.
 *
 * A context is Cassandra's form of one counter cell (org.apache.cassandra.db.context.
 * CounterContext), big-endian:
 *
 *     int16    n              header elements
 *     int16    element        n times: the shard at index i is global: i - 32768, or local: i
 *     32 bytes shard          counter id (16), clock (int64), count (int64);
 *                             ascending by id, unsigned
 *
 * A shard without an element is remote. Cassandra since 2.1 and ScyllaDB write global shards; local
 * and remote ones are older:
 *
 *     global + global         the higher clock, then the higher count
 *     global + other          the global one, whatever the clocks
 *     local + local           clocks and counts are added
 *     local + remote          the local one
 *     remote + remote         the higher clock, then the higher count
 *
 * Nothing here allocates.
 */
#ifndef CTR_CORE_CONTEXT_H
#define CTR_CORE_CONTEXT_H

#include "counter_cell.h"

enum {
    CTR_CONTEXT_MOST = 32767, /* shards that can be written: each has an element */
    CTR_CONTEXT_HEAD = 2,
    CTR_CONTEXT_ELEMENT = 2,
    CTR_CONTEXT_SHARD = 32
};

typedef enum ctr_context_status {
    CTR_CONTEXT_OK,
    CTR_CONTEXT_SHORT,           /* shorter than its header */
    CTR_CONTEXT_CLEARS_LOCAL,    /* n is negative: a marker between old nodes */
    CTR_CONTEXT_UNEVEN,          /* no whole number of shards follows the header */
    CTR_CONTEXT_ELEMENT_BEYOND,  /* an element points beyond the last shard */
    CTR_CONTEXT_ELEMENT_DOUBLED, /* elements do not ascend */
    CTR_CONTEXT_UNSORTED,        /* ids do not ascend */
    CTR_CONTEXT_CLOCK            /* a clock that no cell can have: below 1 */
} ctr_context_status;

typedef enum ctr_context_kind {
    CTR_CONTEXT_REMOTE,
    CTR_CONTEXT_LOCAL,
    CTR_CONTEXT_GLOBAL
} ctr_context_kind;

/* The sums are exact, so that local shards merge equally in any order. */
typedef struct ctr_context_shard {
    ctr_shard shard; /* its id is lent by the context */
    ctr_context_kind kind;
    ctr_sum clock, count; /* of the local shards that were merged into it */
} ctr_context_shard;

/* Returns the most shards that `size` bytes have room for. */
size_t ctr_context_room(size_t size);

/* Checks all of `bytes` and reads them into `shards`, which has room for ctr_context_room(size):
 * *n shards, ascending by id. */
ctr_context_status ctr_context_open(const uint8_t *bytes, size_t size, ctr_context_shard *shards,
                                    size_t *n);

/* Merges an opened context and a list into `out`, which has room for both; all ascend by id.
 * Returns the number of shards in `out`. */
size_t ctr_context_merge(const ctr_context_shard *list, size_t n_list,
                         const ctr_context_shard *context, size_t n_context,
                         ctr_context_shard *out);

/* Computes the shard that results from a merge. Returns false if the sum of the clocks or of the
 * counts of local shards leaves int64. */
bool ctr_context_shard_of(const ctr_context_shard *merged, ctr_shard *shard);

/* Writes the shards of a cell as a context of global shards, without the cell's life. `out` has
 * ctr_context_size(n) bytes for n shards, at most CTR_CONTEXT_MOST. */
size_t ctr_context_size(size_t n);
size_t ctr_context_write(const ctr_cell *cell, uint8_t *out);

/* Returns a clause that follows a noun: "is shorter than its header says". Static text. */
const char *ctr_context_text(ctr_context_status status);

#endif
