/* core/cell.c - the algebra of counter cells: pure functions from bytes to bytes. */
#include "counter_cell.h"

#include <string.h>

#include "core/core.h"

/* What follows the life belongs to the kind of the cell; ctr_shards_... are the functions of a
 * counter. */
static const ctr_kind *kind_of_cell(const ctr_cell *cell)
{
    return cell->size > 0 ? ctr_kind_of_byte(cell->bytes[0]) : ctr_kind_counter();
}

/* ---- opening --------------------------------------------------------------------------------- */

ctr_cell ctr_cell_untouched(void)
{
    return (ctr_cell){.life = 1};
}

ctr_status ctr_shards_check(const uint8_t *at, const uint8_t *end, const uint8_t *id,
                            ctr_summary *summary)
{
    const uint8_t *last = NULL;
    uint64_t last_high = 0, last_low = 0; /* its id, as two numbers: compared faster than bytes */
    while (at < end) {
        if (end - at < CTR_ID_SIZE) return CTR_TRUNCATED;
        const uint64_t high = ctr_bytes_get(at), low = ctr_bytes_get(at + 8);
        bool ascends = high > last_high || (high == last_high && low > last_low);
        if (last && !ascends)
            return high == last_high && low == last_low ? CTR_DOUBLED : CTR_UNSORTED;
        last = at;
        last_high = high;
        last_low = low;
        at += CTR_ID_SIZE;

        uint64_t clock, value;
        ctr_status status = ctr_varint_take(&at, end, &clock);
        if (status != CTR_OK) return status;
        if (clock < 1 || clock > INT64_MAX) return CTR_OUT_OF_RANGE;
        status = ctr_varint_take(&at, end, &value);
        if (status != CTR_OK) return status;
        if (!summary) continue;
        ctr_sum_add(&summary->sum, ctr_varint_unzigzag(value));
        if (!id || memcmp(last, id, CTR_ID_SIZE) != 0) continue;
        summary->clock = (int64_t)clock;
        summary->value = ctr_varint_unzigzag(value);
    }
    return CTR_OK;
}

static ctr_status open_summed(ctr_cell *cell, const uint8_t *bytes, size_t size, const uint8_t *id,
                              ctr_summary *summary)
{
    *cell = ctr_cell_untouched();
    const ctr_kind *kind = size > 0 ? ctr_kind_of_byte(bytes[0]) : NULL;
    if (!kind) return CTR_NOT_A_CELL;
    if (bytes[0] != kind->first) return CTR_NEWER_FORMAT;

    const uint8_t *at = bytes + 1, *end = bytes + size;
    uint64_t life;
    ctr_status status = ctr_varint_take(&at, end, &life);
    if (status != CTR_OK) return status;
    if (life < 1 || life > CTR_LIFE_MAX) return CTR_OUT_OF_RANGE;
    if (life % 2 == 0 && at < end) return CTR_TRAILING;
    if (life == 1 && at == end) return CTR_NEEDLESS;
    status = kind->check(at, end, id, summary);
    if (status != CTR_OK) return status;

    *cell = (ctr_cell){(uint32_t)life, bytes, size, (size_t)(at - bytes)};
    return CTR_OK;
}

ctr_status ctr_cell_open(ctr_cell *cell, const uint8_t *bytes, size_t size)
{
    return open_summed(cell, bytes, size, NULL, NULL);
}

ctr_summary ctr_summary_of(const ctr_cell *cell)
{
    ctr_summary summary = {
        .life = cell->life, .touched = cell->size > 0, .has_shards = cell->header < cell->size};
    ctr_sum_add_cell(&summary.sum, cell);
    return summary;
}

ctr_status ctr_summary_value(const ctr_summary *summary, int64_t *value)
{
    return ctr_sum_value(&summary->sum, value);
}

ctr_status ctr_cell_summarize(ctr_summary *summary, const uint8_t id[CTR_ID_SIZE],
                              const uint8_t *bytes, size_t size)
{
    ctr_cell cell;
    *summary = (ctr_summary){.life = 1};
    ctr_status status = open_summed(&cell, bytes, size, id, summary);
    summary->life = cell.life;
    summary->touched = status == CTR_OK;
    summary->has_shards = status == CTR_OK && cell.header < cell.size;
    return status;
}

ctr_cell ctr_cell_written(const uint8_t *bytes, size_t size)
{
    uint64_t life = 1;
    if (size == 0) return ctr_cell_untouched();
    const uint8_t *shards = ctr_varint_read(bytes + 1, &life);
    return (ctr_cell){(uint32_t)life, bytes, size, (size_t)(shards - bytes)};
}

const char *ctr_status_text(ctr_status status)
{
    switch (status) {
    case CTR_OK: return "is well formed";
    case CTR_OVERFLOW: return "leaves the range of a 64-bit integer";
    case CTR_DELETED: return "was deleted";
    case CTR_LAST_LIFE: return "is in its last life, 4294967295";
    case CTR_NOT_A_CELL: return "is no counter cell";
    case CTR_NEWER_FORMAT: return "is of a newer format than 1";
    case CTR_TRUNCATED: return "is truncated";
    case CTR_NOT_MINIMAL: return "has a number of needless length";
    case CTR_OUT_OF_RANGE: return "has a number out of range";
    case CTR_UNSORTED: return "has unsorted replica ids";
    case CTR_DOUBLED: return "has a replica id twice";
    case CTR_TRAILING: return "is deleted but has bytes after its life";
    case CTR_NEEDLESS: return "is in life 1 without shards, which must be NULL";
    }
    return "is malformed";
}

/* ---- reading --------------------------------------------------------------------------------- */

bool ctr_cell_is_untouched(const ctr_cell *cell)
{
    return cell->size == 0;
}

bool ctr_cell_is_deleted(const ctr_cell *cell)
{
    return cell->life % 2 == 0;
}

bool ctr_cell_is_live(const ctr_cell *cell)
{
    return cell->size > 0 && cell->life % 2 == 1;
}

bool ctr_cell_same(const ctr_cell *a, const ctr_cell *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

bool ctr_cell_next(const ctr_cell *cell, size_t *at, ctr_shard *shard)
{
    if (*at == 0) *at = cell->header;
    if (*at >= cell->size || cell->bytes[0] != CTR_COUNTER_BYTE) return false;

    const uint8_t *byte = cell->bytes + *at;
    uint64_t clock, value;
    shard->id = byte;
    byte = ctr_varint_read(byte + CTR_ID_SIZE, &clock);
    byte = ctr_varint_read(byte, &value);
    shard->clock = (int64_t)clock;
    shard->value = ctr_varint_unzigzag(value);
    *at = (size_t)(byte - cell->bytes);
    return true;
}

bool ctr_shard_beats(const ctr_shard *a, const ctr_shard *b)
{
    return a->clock > b->clock || (a->clock == b->clock && a->value > b->value);
}

/* ---- writing --------------------------------------------------------------------------------- */

static uint8_t *put_header(uint8_t *out, const ctr_kind *kind, uint32_t life)
{
    *out++ = kind->first;
    return ctr_varint_put(out, life);
}

static uint8_t *put_shard(uint8_t *out, const ctr_shard *shard)
{
    memcpy(out, shard->id, CTR_ID_SIZE);
    out = ctr_varint_put(out + CTR_ID_SIZE, (uint64_t)shard->clock);
    return ctr_varint_put(out, ctr_varint_zigzag(shard->value));
}

static uint8_t *put_bytes(uint8_t *out, const uint8_t *bytes, size_t size)
{
    if (size > 0) memcpy(out, bytes, size);
    return out + size;
}

static size_t copy_cell(const ctr_cell *cell, uint8_t *out)
{
    put_bytes(out, cell->bytes, cell->size);
    return cell->size;
}

size_t ctr_cell_write(uint32_t life, const ctr_shard *shards, size_t n, uint8_t *out)
{
    if (life == 1 && n == 0) return 0;
    uint8_t *end = put_header(out, ctr_kind_counter(), life);
    for (size_t i = 0; i < n; i++) end = put_shard(end, &shards[i]);
    return (size_t)(end - out);
}

bool ctr_cell_shard(const ctr_cell *cell, const uint8_t id[CTR_ID_SIZE], ctr_shard *shard)
{
    size_t at = 0;
    while (ctr_cell_next(cell, &at, shard))
        if (memcmp(shard->id, id, CTR_ID_SIZE) == 0) return true;
    return false;
}

ctr_status ctr_cell_add(const ctr_cell *cell, const uint8_t id[CTR_ID_SIZE],
                        const ctr_sum *difference, int64_t ticks, int64_t least, uint8_t *out,
                        size_t *size)
{
    if (ctr_cell_is_deleted(cell)) return CTR_DELETED;

    /* before: the end of the shards with lower ids; after: the start of those with higher ids. */
    size_t before = cell->header, next = 0;
    ctr_shard found, mine = {id, 0, 0};
    int order = -1;
    while (order < 0 && ctr_cell_next(cell, &next, &found)) {
        order = memcmp(found.id, id, CTR_ID_SIZE);
        if (order < 0) before = next;
    }
    size_t after = before;
    ctr_sum sum = *difference;
    if (order == 0) {
        mine.clock = found.clock;
        ctr_sum_add(&sum, found.value);
        after = next;
    }
    if (mine.clock < least) mine.clock = least - 1;
    if (mine.clock > INT64_MAX - ticks) return CTR_OVERFLOW;
    mine.clock += ticks;
    if (ctr_sum_value(&sum, &mine.value) != CTR_OK) return CTR_OVERFLOW;
    uint8_t *end = cell->size == 0 ? put_header(out, ctr_kind_counter(), 1)
                                   : put_bytes(out, cell->bytes, before);
    end = put_shard(end, &mine);
    if (cell->size > 0) end = put_bytes(end, cell->bytes + after, cell->size - after);
    *size = (size_t)(end - out);
    return CTR_OK;
}

/* If counts of other files have moved the sum out of 64 bits, it may come closer again. */
ctr_status ctr_shards_meant(ctr_meaning meaning, const ctr_sum *sum, int64_t from, int64_t n,
                            ctr_sum *difference)
{
    int64_t value;
    ctr_sum after = meaning == CTR_ASSIGNED ? (ctr_sum){0, 0} : *sum;
    ctr_sum_add(&after, n);
    if (meaning == CTR_REPORTED) ctr_sum_subtract(&after, from);
    *difference = after;
    ctr_sum_subtract_sum(difference, sum);
    if (ctr_sum_value(&after, &value) == CTR_OK) return CTR_OK;
    bool is_beyond = meaning == CTR_GIVEN && ctr_sum_value(sum, &value) != CTR_OK;
    return is_beyond && (sum->high < 0 ? n >= 0 : n <= 0) ? CTR_OK : CTR_OVERFLOW;
}

ctr_status ctr_cell_increment(const ctr_cell *cell, const uint8_t id[CTR_ID_SIZE], int64_t n,
                              int64_t least, uint8_t *out, size_t *size)
{
    ctr_sum difference = {0, 0};
    ctr_sum_add(&difference, n);
    return ctr_cell_add(cell, id, &difference, 1, least, out, size);
}

ctr_status ctr_kind_begin_life(const ctr_kind *kind, uint32_t life, bool live, uint8_t *out,
                               size_t *size)
{
    bool lives = life % 2 == 1;
    if (life == CTR_LIFE_MAX) return CTR_LAST_LIFE;
    if (live || lives) life += live && lives ? 2 : 1;
    *size = (size_t)(put_header(out, kind, life) - out);
    return CTR_OK;
}

ctr_status ctr_cell_delete(const ctr_cell *cell, uint8_t *out, size_t *size)
{
    return ctr_kind_begin_life(kind_of_cell(cell), cell->life, false, out, size);
}

ctr_status ctr_cell_reset(const ctr_cell *cell, uint8_t *out, size_t *size)
{
    return ctr_kind_begin_life(kind_of_cell(cell), cell->life, true, out, size);
}

/* ---- two cells ------------------------------------------------------------------------------- */

/* A walk over the shards of one cell, for loops over two. */
typedef struct shard_walk {
    const ctr_cell *cell;
    size_t at;
    ctr_shard shard;
    bool more;
} shard_walk;

static shard_walk walk_open(const ctr_cell *cell)
{
    shard_walk w = {.cell = cell};
    w.more = ctr_cell_next(cell, &w.at, &w.shard);
    return w;
}

static void walk_on(shard_walk *w)
{
    w->more = ctr_cell_next(w->cell, &w->at, &w->shard);
}

/* Compares two walks, one of which has more: < 0 if the id of a comes first or b is at its end, 0
 * if both have the same id. */
static int walk_order(const shard_walk *a, const shard_walk *b)
{
    if (!a->more) return 1;
    if (!b->more) return -1;
    return memcmp(a->shard.id, b->shard.id, CTR_ID_SIZE);
}

/* ---- without what is the same ----
 *
 * Two wide cells of one counter mostly differ in few shards. To compare their bytes is much faster
 * than to read their shards; in cells of fewer than 256 bytes there is little to gain. */

enum { TRIM_FROM = 256, SAME_AT_ONCE = 64 /* bytes */ };

/* The end of a shard of a checked cell. */
static size_t after_shard(const ctr_cell *cell, size_t at)
{
    const uint8_t *byte = cell->bytes + at + CTR_ID_SIZE;
    while (*byte++ & 0x80) continue;
    while (*byte++ & 0x80) continue;
    return (size_t)(byte - cell->bytes);
}

/* Count the bytes that are the same at the beginning, and at the end, of two texts of `most`. */
static size_t same_bytes_first(const uint8_t *a, const uint8_t *b, size_t most)
{
    size_t n = 0;
    for (; n + SAME_AT_ONCE <= most && memcmp(a + n, b + n, SAME_AT_ONCE) == 0; n += SAME_AT_ONCE)
        continue;
    while (n < most && a[n] == b[n]) n++;
    return n;
}

static size_t same_bytes_last(const uint8_t *a, const uint8_t *b, size_t most)
{
    size_t n = 0;
    for (; n + SAME_AT_ONCE <= most; n += SAME_AT_ONCE)
        if (memcmp(a - n - SAME_AT_ONCE, b - n - SAME_AT_ONCE, SAME_AT_ONCE) != 0) break;
    while (n < most && a[-1 - (ptrdiff_t)n] == b[-1 - (ptrdiff_t)n]) n++;
    return n;
}

ctr_trimmed ctr_cell_trim(const ctr_cell *a, const ctr_cell *b)
{
    ctr_trimmed trimmed = {*a, *b};
    size_t shorter = a->size < b->size ? a->size : b->size;
    if (a->life != b->life || shorter < TRIM_FROM || a->bytes[0] != CTR_COUNTER_BYTE ||
        b->bytes[0] != CTR_COUNTER_BYTE)
        return trimmed;
    size_t first = same_bytes_first(a->bytes, b->bytes, shorter), start = a->header;
    for (size_t next = start; next <= first;
         next = next < a->size ? after_shard(a, next) : SIZE_MAX)
        start = next;
    size_t last = same_bytes_last(a->bytes + a->size, b->bytes + b->size, shorter - start);
    bool fits = last >= CTR_ID_SIZE + 2; /* the shortest shard */
    /* At last, the same shards follow in both. */
    size_t left = fits ? start : a->size, right = fits ? start : b->size;
    while (a->size - left != b->size - right || a->size - left > last) {
        if (a->size - left >= b->size - right)
            left = after_shard(a, left);
        else
            right = after_shard(b, right);
    }
    trimmed.a.header = trimmed.b.header = start;
    trimmed.a.size = left;
    trimmed.b.size = right;
    return trimmed;
}

size_t ctr_cell_merge(const ctr_cell *a, const ctr_cell *b, uint8_t *out)
{
    if (a->life != b->life) return copy_cell(a->life > b->life ? a : b, out);
    if (a->size == 0 || ctr_cell_same(a, b)) return copy_cell(b, out);
    if (b->size == 0) return copy_cell(a, out);
    return kind_of_cell(a)->join(a, b, out);
}

size_t ctr_shards_join(const ctr_cell *a, const ctr_cell *b, uint8_t *out)
{
    const ctr_trimmed trimmed = ctr_cell_trim(a, b);
    uint8_t *end = put_bytes(out, a->bytes, trimmed.a.header);
    shard_walk left = walk_open(&trimmed.a), right = walk_open(&trimmed.b);
    while (left.more || right.more) {
        int order = walk_order(&left, &right);
        bool take_left = order < 0 || (order == 0 && ctr_shard_beats(&left.shard, &right.shard));
        end = put_shard(end, take_left ? &left.shard : &right.shard);
        if (order <= 0) walk_on(&left);
        if (order >= 0) walk_on(&right);
    }
    const size_t after = trimmed.a.size;
    end = put_bytes(end, a->bytes + after, a->size - after);
    return (size_t)(end - out);
}

size_t ctr_cell_changed_shards(const ctr_cell *merged, const ctr_cell *mine)
{
    size_t n = 0;
    const ctr_cell none = ctr_cell_untouched();
    shard_walk left = walk_open(merged),
               right = walk_open(merged->life == mine->life ? mine : &none);
    while (left.more) {
        int order = walk_order(&left, &right);
        bool same = order == 0 && left.shard.clock == right.shard.clock &&
                    left.shard.value == right.shard.value;
        n += order <= 0 && !same;
        if (order <= 0) walk_on(&left);
        if (order >= 0) walk_on(&right);
    }
    return n;
}

size_t ctr_cell_conflicts(const ctr_cell *a, const ctr_cell *b)
{
    if (a->life != b->life) return 0;
    size_t n = 0;
    shard_walk left = walk_open(a), right = walk_open(b);
    while (left.more && right.more) {
        int order = walk_order(&left, &right);
        if (order == 0 && left.shard.clock == right.shard.clock)
            n += left.shard.value != right.shard.value;
        if (order <= 0) walk_on(&left);
        if (order >= 0) walk_on(&right);
    }
    return n;
}

ctr_order ctr_cell_compare(const ctr_cell *a, const ctr_cell *b)
{
    if (a->life != b->life) return a->life > b->life ? CTR_GREATER : CTR_LESS;
    return kind_of_cell(a->size > 0 ? a : b)->compare(a, b);
}

ctr_order ctr_shards_compare(const ctr_cell *a, const ctr_cell *b)
{
    bool greater = false, less = false;
    shard_walk left = walk_open(a), right = walk_open(b);
    while (left.more || right.more) {
        int order = walk_order(&left, &right);
        if (order < 0) greater = true;
        if (order > 0) less = true;
        if (order == 0) {
            int64_t mine = left.shard.clock, theirs = right.shard.clock;
            if (mine == theirs && left.shard.value != right.shard.value) return CTR_DISJOINT;
            greater = greater || mine > theirs;
            less = less || mine < theirs;
        }
        if (order <= 0) walk_on(&left);
        if (order >= 0) walk_on(&right);
    }
    if (greater && less) return CTR_DISJOINT;
    return greater ? CTR_GREATER : less ? CTR_LESS : CTR_EQUAL;
}

size_t ctr_cell_diff(const ctr_cell *cell, const ctr_cell *known, uint8_t *out)
{
    if (cell->life > known->life) return copy_cell(cell, out);
    if (cell->life < known->life || cell->size == 0) return 0;
    return kind_of_cell(cell)->diff(cell, known, out);
}

size_t ctr_shards_diff(const ctr_cell *cell, const ctr_cell *known, uint8_t *out)
{
    uint8_t *start = put_header(out, ctr_kind_counter(), cell->life), *end = start;
    shard_walk left = walk_open(cell), right = walk_open(known);
    while (left.more) {
        int order = walk_order(&left, &right);
        if (order < 0 || (order == 0 && ctr_shard_beats(&left.shard, &right.shard)))
            end = put_shard(end, &left.shard);
        if (order <= 0) walk_on(&left);
        if (order >= 0) walk_on(&right);
    }
    return end == start ? 0 : (size_t)(end - out);
}

size_t ctr_shards_own(const ctr_cell *cell, const ctr_own_filter *own, uint8_t *out)
{
    bool any = cell->life > 1;
    uint8_t *end = put_header(out, ctr_kind_counter(), cell->life);
    ctr_shard shard;
    for (size_t at = 0; ctr_cell_next(cell, &at, &shard);) {
        if (!own->is(own->with, shard.id)) continue;
        end = put_shard(end, &shard);
        any = true;
    }
    return any ? (size_t)(end - out) : 0;
}

size_t ctr_cell_own(const ctr_cell *cell, const ctr_own_filter *own, uint8_t *out)
{
    return cell->size > 0 ? kind_of_cell(cell)->own(cell, own, out) : 0;
}

/* ---- sums ------------------------------------------------------------------------------------ */

void ctr_sum_add(ctr_sum *sum, int64_t value)
{
    uint64_t low = sum->low + (uint64_t)value;
    sum->high += (value < 0 ? -1 : 0) + (low < sum->low ? 1 : 0);
    sum->low = low;
}

void ctr_sum_subtract(ctr_sum *sum, int64_t value)
{
    uint64_t low = sum->low - (uint64_t)value;
    sum->high -= (value < 0 ? -1 : 0) + (low > sum->low ? 1 : 0);
    sum->low = low;
}

void ctr_shards_show(const ctr_cell *cell, ctr_sum *sum)
{
    ctr_shard shard;
    for (size_t at = 0; ctr_cell_next(cell, &at, &shard);) ctr_sum_add(sum, shard.value);
}

void ctr_sum_add_cell(ctr_sum *sum, const ctr_cell *cell)
{
    kind_of_cell(cell)->show(cell, sum);
}

void ctr_sum_subtract_cell(ctr_sum *sum, const ctr_cell *cell)
{
    ctr_sum shown = {0, 0};
    ctr_sum_add_cell(&shown, cell);
    ctr_sum_subtract_sum(sum, &shown);
}

void ctr_sum_add_sum(ctr_sum *sum, const ctr_sum *other)
{
    uint64_t low = sum->low + other->low;
    sum->high += other->high + (low < sum->low ? 1 : 0);
    sum->low = low;
}

void ctr_sum_subtract_sum(ctr_sum *sum, const ctr_sum *other)
{
    uint64_t low = sum->low - other->low;
    sum->high -= other->high + (low > sum->low ? 1 : 0);
    sum->low = low;
}

ctr_status ctr_sum_value(const ctr_sum *sum, int64_t *value)
{
    bool negative = sum->low > INT64_MAX;
    if (sum->high != (negative ? -1 : 0)) return CTR_OVERFLOW;
    memcpy(value, &sum->low, sizeof *value);
    return CTR_OK;
}

ctr_status ctr_cell_value(const ctr_cell *cell, int64_t *value)
{
    ctr_sum sum = {0, 0};
    ctr_sum_add_cell(&sum, cell);
    return ctr_sum_value(&sum, value);
}
