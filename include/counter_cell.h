/* counter_cell.h - the state of one counter, read in place from its blob.
 *
 * A cell has a life. A live cell has a set of shards, one for each replica that ever added to it:
 *
 *     id      16 bytes   the replica that owns this shard; no other replica ever writes it
 *     clock              the number of its writes; of two versions, the higher clock wins
 *     value              the contribution of the replica, signed
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
 * A shard of a bounded counter may hold grants, too: how much of its right to decrement its replica
 * has given to others, all its life long. They belong to the state of the shard, so a grant is a
 * write of the granter: its clock rises. A cell in which some shard has grants is of format 2:
 *
 *     +------+---------+--------+--------+--------+----------------------------+---
 *     | 0xC2 |  life   |  size  | grants | grants | shards as above
 *     +------+---------+--------+--------+--------+----------------------------+---
 *
 *     size     varint: the bytes of all grants, 1 or more
 *     grants   of a granter: its id, 16 bytes, which has a shard; varint: the bytes that follow;
 *              then for each other id that it granted to 16 bytes and a varint, 1 ... 2^63-1, how
 *              much. Granters ascend, and in each the others do
 *
 * The right of a replica is its value, less what it has granted, plus what was granted to it. All
 * rights add up to the value of the counter (Balegas and others, "Extending Eventually Consistent
 * Cloud Databases for Enforcing Numeric Invariants", SRDS 2015).
 *
 * A varint is LEB128 of minimal length, so each state has exactly one encoding: two cells are
 * equal if their bytes are equal. The untouched counter (life 1, no shards) has no bytes at all;
 * SQL keeps it as NULL. A reset leaves a live cell without shards, in life 3, 5, ...
 *
 * No function allocates. A ctr_cell is a view: it is valid as long as the bytes that it was opened
 * on. Functions that write take a buffer, state its minimal size, and return the number of bytes
 * written; 0 bytes are the untouched counter. ctr_cell_open finds everything that can be wrong with
 * foreign bytes.
 *
 * The algebra is that of the counter columns of Cassandra and ScyllaDB, with two changes: lives
 * replace tombstone timestamps, and the higher value decides between equal clocks. (That is
 * Cassandra's rule. ScyllaDB keeps the left side, which does not commute.)
 */
#ifndef COUNTER_CELL_H
#define COUNTER_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CTR_ID_SIZE = 16,        /* bytes of a replica id */
    CTR_CELL_HEADER_MAX = 6, /* the first byte and the longest life */
    CTR_SHARD_MAX = 35,      /* id, longest clock (9), longest value (10) */
    CTR_GRANT_MAX = 55       /* the size of all (10), an id, the size of one (4), an id, how much */
};

#define CTR_LIFE_MAX UINT32_MAX /* the last life; it is live */

/* Results. Only ctr_cell_open returns the codes from CTR_NOT_A_CELL on. */
typedef enum ctr_status {
    CTR_OK = 0,
    CTR_OVERFLOW,     /* a shard, its clock or the sum would leave the range of int64 */
    CTR_DELETED,      /* nothing may be added to a deleted cell */
    CTR_LAST_LIFE,    /* there is no further life */
    CTR_NOT_A_CELL,   /* empty, or the first byte is that of something else */
    CTR_NEWER_FORMAT, /* a counter cell of a later format */
    CTR_TRUNCATED,    /* ends inside a life or a shard */
    CTR_NOT_MINIMAL,  /* a varint is longer than necessary */
    CTR_OUT_OF_RANGE, /* a life, clock or value is beyond its limits */
    CTR_UNSORTED,     /* the ids do not ascend */
    CTR_DOUBLED,      /* an id occurs twice */
    CTR_TRAILING,     /* bytes follow a deleted cell */
    CTR_NEEDLESS,     /* life 1 without shards, which must have no bytes at all */
    CTR_BAD_GRANTS    /* grants that no cell has: none, to oneself, of an id without a shard */
} ctr_status;

/* A cell may hold any clock. Files write lower ones than 2^62, and take no others from anybody. */
#define CTR_CLOCK_MAX (((int64_t)1 << 62) - 1)

/* One shard. `id` points to CTR_ID_SIZE bytes that the cell or the caller owns. */
typedef struct ctr_shard {
    const uint8_t *id;
    int64_t clock; /* 1 ... INT64_MAX */
    int64_t value;
} ctr_shard;

/* A checked view of a cell. Read `life`; the other members belong to cell.c. */
typedef struct ctr_cell {
    uint32_t life;
    const uint8_t *bytes; /* the whole encoding; NULL if untouched */
    size_t size;
    size_t header; /* bytes before the first shard */
} ctr_cell;

/* What a replica has granted to another one. The ids point into the bytes of the cell. */
typedef struct ctr_grant {
    const uint8_t *from, *to;
    int64_t n; /* 1 ... INT64_MAX */
} ctr_grant;

/* The order of two states. CTR_DISJOINT: each has something that the other lacks, or one id has the
 * same clock and two values. */
typedef enum ctr_order { CTR_EQUAL, CTR_GREATER, CTR_LESS, CTR_DISJOINT } ctr_order;

/* An exact sum of int64 values: 128 bits, two's complement. Zero it before use. */
typedef struct ctr_sum {
    int64_t high;
    uint64_t low;
} ctr_sum;

/* Returns the untouched counter: life 1, no shards. */
ctr_cell ctr_cell_untouched(void);

/* Checks all of `bytes` and makes `cell` a view of them. If it fails, `cell` is the untouched
 * counter. Returns CTR_NOT_A_CELL for size 0. */
ctr_status ctr_cell_open(ctr_cell *cell, const uint8_t *bytes, size_t size);

/* Returns a clause that follows a noun: "is truncated", "is no counter cell". Static text. */
const char *ctr_status_text(ctr_status status);

bool ctr_cell_is_untouched(const ctr_cell *cell);
bool ctr_cell_is_deleted(const ctr_cell *cell);

/* Returns whether it is live and touched. Such a counter makes its row visible. */
bool ctr_cell_is_live(const ctr_cell *cell);

/* Returns whether both have the same state, and so the same bytes. */
bool ctr_cell_same(const ctr_cell *a, const ctr_cell *b);

/* Walks the shards in ascending order of id: set `at` to 0, and call until it returns false.
 * `shard->id` points into the bytes of the cell. A deleted cell has no shards. */
bool ctr_cell_next(const ctr_cell *cell, size_t *at, ctr_shard *shard);

/* Returns the number of shards. */
size_t ctr_cell_count(const ctr_cell *cell);

/* Finds the shard of an id. Returns false if there is none. */
bool ctr_cell_shard(const ctr_cell *cell, const uint8_t id[CTR_ID_SIZE], ctr_shard *shard);

/* Walks the grants in ascending order of granters and of those that got them: set `at` to 0, and
 * call until it returns false. */
bool ctr_cell_next_grant(const ctr_cell *cell, size_t *at, ctr_grant *grant);

/* Sets *right to what the replica may take: its value, less its grants, plus those to it. It may be
 * negative, which is a debt. */
void ctr_cell_right(const ctr_cell *cell, const uint8_t id[CTR_ID_SIZE], ctr_sum *right);

/* Returns whether two cells have the same grants of a replica. */
bool ctr_cell_grants_alike(const ctr_cell *a, const ctr_cell *b, const uint8_t id[CTR_ID_SIZE]);

/* Gives n, 1 or more, of the right of `from` to `to`, another id: the clock of the shard of `from`
 * rises as by ctr_cell_increment by 0. Does not ask whether `from` has that right. CTR_OVERFLOW
 * if it would have granted more than INT64_MAX to that id. Needs cell->size + CTR_CELL_HEADER_MAX +
 * CTR_SHARD_MAX + CTR_GRANT_MAX bytes. */
ctr_status ctr_cell_grant(const ctr_cell *cell, const uint8_t from[CTR_ID_SIZE],
                          const uint8_t to[CTR_ID_SIZE], int64_t n, int64_t least, uint8_t *out,
                          size_t *size);

/* Writes the cell with these grants in place of its own. The caller guarantees that they ascend by
 * granter and by those that got them, that none occurs twice, and that each granter has a shard and
 * grants nothing to itself. Needs cell->size + n * CTR_GRANT_MAX bytes. */
size_t ctr_cell_with_grants(const ctr_cell *cell, const ctr_grant *grants, size_t n, uint8_t *out);

/* Writes a cell without grants. The caller guarantees that the ids of the shards ascend and that
 * none occurs twice. `life` is 1 ... 2^32-1; n is 0 for an even life. Needs CTR_CELL_HEADER_MAX +
 * n * CTR_SHARD_MAX bytes. */
size_t ctr_cell_write(uint32_t life, const ctr_shard *shards, size_t n, uint8_t *out);

/* Returns whether a wins over b, a shard of the same id, in a merge: the higher clock wins, then
 * the higher value. (Then the grants, which the shard does not show: those that are greater as
 * bytes.) */
bool ctr_shard_beats(const ctr_shard *a, const ctr_shard *b);

/* Adds n to the shard of `id`: (id, clock + 1, value + n), or (id, 1, n) if there is none. The
 * clock becomes `least`, 1 or more, if that is higher. n = 0 writes a shard, too, as in ScyllaDB.
 * Writes nothing if it returns CTR_DELETED or CTR_OVERFLOW. Needs cell->size +
 * CTR_CELL_HEADER_MAX + CTR_SHARD_MAX bytes. */
ctr_status ctr_cell_increment(const ctr_cell *cell, const uint8_t id[CTR_ID_SIZE], int64_t n,
                              int64_t least, uint8_t *out, size_t *size);

/* Adds a difference, which may be wider than 64 bits. The clock rises by `ticks`, 1 or more, as for
 * that many increments. Otherwise as ctr_cell_increment. */
ctr_status ctr_cell_add(const ctr_cell *cell, const uint8_t id[CTR_ID_SIZE],
                        const ctr_sum *difference, int64_t ticks, int64_t least, uint8_t *out,
                        size_t *size);

/* Returns a view of bytes that this library has written itself, without checking them again. */
ctr_cell ctr_cell_written(const uint8_t *bytes, size_t size);

/* The facts of a cell that an increment needs. */
typedef struct ctr_summary {
    uint32_t life;
    bool touched;         /* it has bytes */
    bool has_shards;      /* it has counts in this life */
    ctr_sum sum;          /* of its shards */
    int64_t clock, value; /* of the shard of `id`; clock 0: there is no such shard */
    int64_t beside;       /* what `id` may take beside that value; set by those who ask for it */
} ctr_summary;

/* Return whether it is touched and live, and whether it has counts in this life. */
static inline bool ctr_summary_is_live(const ctr_summary *summary)
{
    return summary->touched && summary->life % 2 == 1;
}

static inline bool ctr_summary_counts(const ctr_summary *summary)
{
    return summary->has_shards && summary->life % 2 == 1;
}

/* Returns the facts of an open cell, without a shard. */
ctr_summary ctr_summary_of(const ctr_cell *cell);

/* Sets *value to the sum. Returns CTR_OVERFLOW if it is not an int64. */
ctr_status ctr_summary_value(const ctr_summary *summary, int64_t *value);

/* Checks `bytes` as ctr_cell_open does, and fills `summary` in the same pass. `id` may be NULL. */
ctr_status ctr_cell_summarize(ctr_summary *summary, const uint8_t id[CTR_ID_SIZE],
                              const uint8_t *bytes, size_t size);

/* Returns the sum of the shards in `value`; 0 for untouched and deleted cells. CTR_OVERFLOW if the
 * sum is not an int64. */
ctr_status ctr_cell_value(const ctr_cell *cell, int64_t *value);

/* Writes the join of a and b: commutative, associative, idempotent. The higher life wins whole;
 * within an odd life, ctr_shard_beats decides shard by shard. Needs a->size + b->size bytes. */
size_t ctr_cell_merge(const ctr_cell *a, const ctr_cell *b, uint8_t *out);

/* Returns the number of shards of `merged` that `mine` lacks, or has with other numbers, in the
 * same life. */
size_t ctr_cell_changed_shards(const ctr_cell *merged, const ctr_cell *mine);

/* Returns the number of ids with the same clock and two values in a and b; 0 unless both are in the
 * same odd life. */
size_t ctr_cell_conflicts(const ctr_cell *a, const ctr_cell *b);

/* Compares a with b. The untouched cell is less than any other. */
ctr_order ctr_cell_compare(const ctr_cell *a, const ctr_cell *b);

/* Writes the smallest cell d with merge(known, d) = merge(known, cell); 0 bytes if there is nothing
 * to send. Needs cell->size bytes. */
size_t ctr_cell_diff(const ctr_cell *cell, const ctr_cell *known, uint8_t *out);

/* Writes the next even life, without shards; a deleted cell stays as it is. CTR_LAST_LIFE if the
 * cell is in its last life. Needs CTR_CELL_HEADER_MAX bytes. */
ctr_status ctr_cell_delete(const ctr_cell *cell, uint8_t *out, size_t *size);

/* Writes the next odd life, without shards. CTR_LAST_LIFE if the cell is in its last life. Needs
 * CTR_CELL_HEADER_MAX bytes. */
ctr_status ctr_cell_reset(const ctr_cell *cell, uint8_t *out, size_t *size);

/* Add or subtract one value, all shards of a cell, or another sum. */
void ctr_sum_add(ctr_sum *sum, int64_t value);
void ctr_sum_subtract(ctr_sum *sum, int64_t value);
void ctr_sum_add_cell(ctr_sum *sum, const ctr_cell *cell);
void ctr_sum_subtract_cell(ctr_sum *sum, const ctr_cell *cell);
void ctr_sum_add_sum(ctr_sum *sum, const ctr_sum *other);
void ctr_sum_subtract_sum(ctr_sum *sum, const ctr_sum *other);

/* Returns the sum in `value`, or CTR_OVERFLOW if it is not an int64. */
ctr_status ctr_sum_value(const ctr_sum *sum, int64_t *value);

/* Returns the sum, or what is next to it among the int64. */
int64_t ctr_sum_clamp(const ctr_sum *sum);

bool ctr_sum_is_negative(const ctr_sum *sum);
bool ctr_sum_is_positive(const ctr_sum *sum);

#endif
