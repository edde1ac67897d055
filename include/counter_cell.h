/* counter_cell.h - the state of one counter, read in place from its blob.
 *
 * A cell is a life and, while it lives, a set of shards, one for each replica that ever added to
 * it:
 *
 *     id      16 bytes   who wrote this shard; no one else ever writes it
 *     clock              how often; of two versions the higher clock wins
 *     value              the replica's own contribution, signed
 *
 * The value of the counter is the sum of the values of its shards. On disk:
 *
 *     +------+---------+----------------------------+----------------------------+---
 *     | 0xC1 |  life   |  id   16 | clock | value    |  id   16 | clock | value    | ...
 *     +------+---------+----------------------------+----------------------------+---
 *
 *     byte 0   0xC1: a counter cell (high half) of format 1 (low half)
 *     life     varint, 1 ... 2^32-1; odd: live, even: deleted (then nothing follows)
 *     id       ascending in memcmp order, none twice
 *     clock    varint, 1 ... 2^63-1
 *     value    zigzag varint, any int64
 *
 * A varint is LEB128 of minimal length, so one state has exactly one encoding: two cells are equal
 * if their bytes are. The counter that nobody has touched yet (life 1, no shards) has no bytes at
 * all; SQL keeps it as NULL. A live cell without shards in life 3, 5, ... is what a reset leaves.
 *
 * Nothing in this file allocates. A ctr_cell is a view: it lives as long as the bytes it was opened
 * on. Functions that write take a buffer, say how large it must be, and return the bytes written; 0
 * bytes are the untouched counter. All that can be wrong with foreign bytes is found by
 * ctr_cell_open.
 *
 * The algebra is that of Cassandra's and ScyllaDB's counter columns with two changes: lives instead
 * of tombstone timestamps, and ties of the clock decided by the higher value (Cassandra's rule;
 * ScyllaDB keeps the left side, which does not commute).
 */
#ifndef COUNTER_CELL_H
#define COUNTER_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CTR_ID_SIZE = 16,        /* bytes of a replica id */
    CTR_CELL_HEADER_MAX = 6, /* the first byte and the longest life */
    CTR_SHARD_MAX = 35       /* id, longest clock (9), longest value (10) */
};

#define CTR_LIFE_MAX UINT32_MAX /* the last life; it is live */

/* What can be wrong. Everything from CTR_NOT_A_CELL on is said by ctr_cell_open alone. */
typedef enum ctr_status {
    CTR_OK = 0,
    CTR_OVERFLOW,     /* a shard, its clock or the sum leaves the range of int64 */
    CTR_DELETED,      /* nothing may be added to a deleted cell */
    CTR_LAST_LIFE,    /* there is no further life */
    CTR_NOT_A_CELL,   /* empty, or the first byte is that of something else */
    CTR_NEWER_FORMAT, /* a counter cell of a later format */
    CTR_TRUNCATED,    /* ends inside a life or a shard */
    CTR_NOT_MINIMAL,  /* a varint longer than it need be */
    CTR_OUT_OF_RANGE, /* life, clock or value beyond its limits */
    CTR_UNSORTED,     /* ids do not ascend */
    CTR_DOUBLED,      /* one id twice */
    CTR_TRAILING,     /* bytes after a deleted cell */
    CTR_NEEDLESS      /* life 1 without shards, which is written as no bytes at all */
} ctr_status;

/* One shard. `id` points to CTR_ID_SIZE bytes, lent by the cell or the caller. */
typedef struct ctr_shard {
    const uint8_t *id;
    int64_t clock; /* 1 ... INT64_MAX */
    int64_t value;
} ctr_shard;

/* A checked view of a cell. Read `life`; the rest belongs to cell.c. */
typedef struct ctr_cell {
    uint32_t life;
    const uint8_t *bytes; /* the whole encoding; NULL if untouched */
    size_t size;
    size_t header; /* bytes before the first shard */
} ctr_cell;

/* Order of two cells as states; CTR_DISJOINT: each has something that the other lacks, or one id
 * has one clock and two values. */
typedef enum ctr_order { CTR_EQUAL, CTR_GREATER, CTR_LESS, CTR_DISJOINT } ctr_order;

/* An exact sum of int64 values: 128 bits, two's complement. Zero it before use. */
typedef struct ctr_sum {
    int64_t high;
    uint64_t low;
} ctr_sum;

/* The counter that nobody has touched: life 1, no shards. */
ctr_cell ctr_cell_untouched(void);

/* Checks all of `bytes` and makes `cell` a view of them. On anything but CTR_OK `cell` is the
 * untouched one. `size` 0 is CTR_NOT_A_CELL. */
ctr_status ctr_cell_open(ctr_cell *cell, const uint8_t *bytes, size_t size);

/* A clause for each status, to follow a noun: "is truncated", "is no counter cell". Static text. */
const char *ctr_status_text(ctr_status status);

bool ctr_cell_is_untouched(const ctr_cell *cell);
bool ctr_cell_is_deleted(const ctr_cell *cell);

/* Live and touched: what makes a row visible. */
bool ctr_cell_is_live(const ctr_cell *cell);

/* Same state, that is, same bytes. */
bool ctr_cell_same(const ctr_cell *a, const ctr_cell *b);

/* Walks the shards in ascending order of id: set `at` to 0, call until false. `shard->id` is lent
 * from the cell's bytes. A deleted cell has none. */
bool ctr_cell_next(const ctr_cell *cell, size_t *at, ctr_shard *shard);

/* The shard of an id; false if there is none. */
bool ctr_cell_shard(const ctr_cell *cell, const uint8_t id[CTR_ID_SIZE], ctr_shard *shard);

/* Writes a cell from shards that ascend by id, none twice; the caller warrants that. `life` 1 ...
 * 2^32-1, n = 0 for an even one. Needs CTR_CELL_HEADER_MAX + n * CTR_SHARD_MAX bytes. */
size_t ctr_cell_write(uint32_t life, const ctr_shard *shards, size_t n, uint8_t *out);

/* Does a, of the same id, win over b in a merge? Higher clock, then higher value. */
bool ctr_shard_beats(const ctr_shard *a, const ctr_shard *b);

/* Adds n to the shard of `id`: (id, clock + 1, value + n), or (id, 1, n) if there is none; the
 * clock leaps to `least`, 1 or more, if that is higher. n = 0 writes a shard too, as ScyllaDB does.
 * CTR_DELETED, CTR_OVERFLOW: nothing is written. Needs cell->size + CTR_CELL_HEADER_MAX +
 * CTR_SHARD_MAX bytes. */
ctr_status ctr_cell_increment(const ctr_cell *cell, const uint8_t id[CTR_ID_SIZE], int64_t n,
                              int64_t least, uint8_t *out, size_t *size);

/* Adds a difference, which may be wider than 64 bits, in one go or in many: the clock rises by
 * `ticks`, 1 or more, as if that many increments had been made. */
ctr_status ctr_cell_add(const ctr_cell *cell, const uint8_t id[CTR_ID_SIZE],
                        const ctr_sum *difference, int64_t ticks, int64_t least, uint8_t *out,
                        size_t *size);

/* A view of what this library has written itself, which is not checked again. */
ctr_cell ctr_cell_written(const uint8_t *bytes, size_t size);

/* What an increment must know of a cell. */
typedef struct ctr_summary {
    uint32_t life;
    bool touched;         /* it has bytes */
    bool has_shards;      /* somebody has counted in it in this life */
    ctr_sum sum;          /* of its shards */
    int64_t clock, value; /* of the shard of `id`; clock 0: there is none */
} ctr_summary;

/* Is it touched and live? Has somebody counted in it in this life? */
static inline bool ctr_summary_is_live(const ctr_summary *summary)
{
    return summary->touched && summary->life % 2 == 1;
}

static inline bool ctr_summary_counts(const ctr_summary *summary)
{
    return summary->has_shards && summary->life % 2 == 1;
}

/* Opens `bytes` as ctr_cell_open does, and sums up in the same pass. `id` may be NULL. */
ctr_status ctr_cell_summarize(ctr_summary *summary, const uint8_t id[CTR_ID_SIZE],
                              const uint8_t *bytes, size_t size);

/* The sum of the shards; 0 for untouched and deleted cells. CTR_OVERFLOW if it is no int64. */
ctr_status ctr_cell_value(const ctr_cell *cell, int64_t *value);

/* The join: commutative, associative, idempotent. The higher life wins whole; in one odd life,
 * shard by shard, ctr_shard_beats. Needs a->size + b->size bytes. */
size_t ctr_cell_merge(const ctr_cell *a, const ctr_cell *b, uint8_t *out);

/* How many shards of `merged` are not, in the same life and as they are, in `mine`. */
size_t ctr_cell_news(const ctr_cell *merged, const ctr_cell *mine);

/* How many ids have one clock and two values in a and b; 0 unless both are in the same odd life. */
size_t ctr_cell_conflicts(const ctr_cell *a, const ctr_cell *b);

/* a against b. The untouched cell is the bottom. */
ctr_order ctr_cell_compare(const ctr_cell *a, const ctr_cell *b);

/* The smallest cell d with merge(known, d) = merge(known, cell); 0 bytes if there is nothing to
 * send. Needs cell->size bytes. */
size_t ctr_cell_diff(const ctr_cell *cell, const ctr_cell *known, uint8_t *out);

/* The next even life, without shards; a deleted cell stays as it is. CTR_LAST_LIFE in the last one.
 * Needs CTR_CELL_HEADER_MAX bytes. */
ctr_status ctr_cell_delete(const ctr_cell *cell, uint8_t *out, size_t *size);

/* The next odd life, without shards. CTR_LAST_LIFE in the last one. Needs CTR_CELL_HEADER_MAX
 * bytes. */
ctr_status ctr_cell_reset(const ctr_cell *cell, uint8_t *out, size_t *size);

/* Exact sums: add and subtract one value, all shards of a cell, another sum. */
void ctr_sum_add(ctr_sum *sum, int64_t value);
void ctr_sum_subtract(ctr_sum *sum, int64_t value);
void ctr_sum_add_cell(ctr_sum *sum, const ctr_cell *cell);
void ctr_sum_subtract_cell(ctr_sum *sum, const ctr_cell *cell);
void ctr_sum_subtract_sum(ctr_sum *sum, const ctr_sum *other);

/* The sum as int64, or CTR_OVERFLOW. */
ctr_status ctr_sum_value(const ctr_sum *sum, int64_t *value);

#endif
