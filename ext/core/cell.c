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

static bool is_counter(uint8_t first)
{
    return (first & 0xf0) == (CTR_COUNTER_BYTE & 0xf0);
}

/* ---- grants ---------------------------------------------------------------------------------- */

/* A walk over the granters of a cell, each with its list: ids and how much. */
typedef struct granters {
    const uint8_t *at, *end, *id, *list;
    size_t size; /* of the list */
    bool more;
} granters;

static void granters_next(granters *walk)
{
    uint64_t size;
    walk->more = walk->at < walk->end;
    if (!walk->more) return;
    walk->id = walk->at;
    walk->list = ctr_varint_read(walk->at + CTR_ID_SIZE, &size);
    walk->size = (size_t)size;
    walk->at = walk->list + walk->size;
}

static bool has_grants(const ctr_cell *cell)
{
    return cell->size > 0 && cell->bytes[0] == CTR_GRANTS_BYTE;
}

static granters granters_of(const ctr_cell *cell)
{
    granters walk = {0};
    if (!has_grants(cell)) return walk;
    uint64_t life, size;
    walk.at = ctr_varint_read(ctr_varint_read(cell->bytes + 1, &life), &size);
    walk.end = walk.at + size;
    granters_next(&walk);
    return walk;
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

/* Checks the grants to one granter's others. */
static ctr_status check_granted(const uint8_t *at, const uint8_t *end, const uint8_t *from)
{
    const uint8_t *last = NULL;
    if (at == end) return CTR_BAD_GRANTS;
    while (at < end) {
        uint64_t n;
        if (end - at < CTR_ID_SIZE) return CTR_TRUNCATED;
        int order = last ? memcmp(last, at, CTR_ID_SIZE) : -1;
        if (order >= 0) return order == 0 ? CTR_DOUBLED : CTR_UNSORTED;
        last = at;
        if (memcmp(at, from, CTR_ID_SIZE) == 0) return CTR_BAD_GRANTS;
        at += CTR_ID_SIZE;
        ctr_status status = ctr_varint_take(&at, end, &n);
        if (status != CTR_OK) return status;
        if (n < 1 || n > INT64_MAX) return CTR_OUT_OF_RANGE;
    }
    return CTR_OK;
}

static ctr_status check_grants(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *last = NULL;
    if (at == end) return CTR_BAD_GRANTS;
    while (at < end) {
        uint64_t size;
        if (end - at < CTR_ID_SIZE) return CTR_TRUNCATED;
        int order = last ? memcmp(last, at, CTR_ID_SIZE) : -1;
        if (order >= 0) return order == 0 ? CTR_DOUBLED : CTR_UNSORTED;
        last = at;
        at += CTR_ID_SIZE;
        ctr_status status = ctr_varint_take(&at, end, &size);
        if (status == CTR_OK && size > (uint64_t)(end - at)) status = CTR_TRUNCATED;
        if (status == CTR_OK) status = check_granted(at, at + size, last);
        if (status != CTR_OK) return status;
        at += size;
    }
    return CTR_OK;
}

/* Each granter has a shard. */
static bool have_shards(const ctr_cell *cell)
{
    size_t at = 0;
    ctr_shard shard;
    bool more = ctr_cell_next(cell, &at, &shard);
    for (granters walk = granters_of(cell); walk.more; granters_next(&walk)) {
        while (more && memcmp(shard.id, walk.id, CTR_ID_SIZE) < 0)
            more = ctr_cell_next(cell, &at, &shard);
        if (!more || memcmp(shard.id, walk.id, CTR_ID_SIZE) != 0) return false;
    }
    return true;
}

static ctr_status open_summed(ctr_cell *cell, const uint8_t *bytes, size_t size, const uint8_t *id,
                              ctr_summary *summary)
{
    *cell = ctr_cell_untouched();
    const ctr_kind *kind = size > 0 ? ctr_kind_of_byte(bytes[0]) : NULL;
    if (!kind) return CTR_NOT_A_CELL;
    if (bytes[0] < kind->first || bytes[0] > kind->last) return CTR_NEWER_FORMAT;

    const uint8_t *at = bytes + 1, *end = bytes + size;
    uint64_t life;
    ctr_status status = ctr_varint_take(&at, end, &life);
    if (status != CTR_OK) return status;
    if (life < 1 || life > CTR_LIFE_MAX) return CTR_OUT_OF_RANGE;
    if (life % 2 == 0 && at < end) return CTR_TRAILING;
    bool grants = bytes[0] == CTR_GRANTS_BYTE;
    if (grants && life % 2 == 0) return CTR_BAD_GRANTS;
    if (grants) {
        uint64_t of_grants;
        status = ctr_varint_take(&at, end, &of_grants);
        if (status == CTR_OK && of_grants > (uint64_t)(end - at)) status = CTR_TRUNCATED;
        if (status == CTR_OK) status = check_grants(at, at + of_grants);
        if (status != CTR_OK) return status;
        at += of_grants;
    }
    if (life == 1 && at == end) return grants ? CTR_BAD_GRANTS : CTR_NEEDLESS;
    status = kind->check(at, end, id, summary);
    if (status != CTR_OK) return status;

    ctr_cell opened = {(uint32_t)life, bytes, size, (size_t)(at - bytes)};
    if (grants && !have_shards(&opened)) return CTR_BAD_GRANTS;
    *cell = opened;
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
    if (bytes[0] == CTR_GRANTS_BYTE) {
        uint64_t of_grants;
        shards = ctr_varint_read(shards, &of_grants);
        shards += of_grants;
    }
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
    case CTR_NEWER_FORMAT: return "is of a newer format than 2";
    case CTR_TRUNCATED: return "is truncated";
    case CTR_NOT_MINIMAL: return "has a number of needless length";
    case CTR_OUT_OF_RANGE: return "has a number out of range";
    case CTR_UNSORTED: return "has unsorted replica ids";
    case CTR_DOUBLED: return "has a replica id twice";
    case CTR_TRAILING: return "is deleted but has bytes after its life";
    case CTR_NEEDLESS: return "is in life 1 without shards, which must be NULL";
    case CTR_BAD_GRANTS: return "has grants that no replica can have made";
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
    if (*at == 0) {
        if (cell->size == 0 || !is_counter(cell->bytes[0])) return false;
        *at = cell->header;
    }
    if (*at >= cell->size) return false;

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

size_t ctr_cell_count(const ctr_cell *cell)
{
    size_t at = 0, n = 0;
    ctr_shard shard;
    while (ctr_cell_next(cell, &at, &shard)) n++;
    return n;
}

bool ctr_cell_next_grant(const ctr_cell *cell, size_t *at, ctr_grant *grant)
{
    /* `at` counts the bytes of ids and amounts that were passed, plus 1. */
    size_t passed = *at > 0 ? *at - 1 : 0;
    for (granters walk = granters_of(cell); walk.more; granters_next(&walk)) {
        if (passed >= walk.size) {
            passed -= walk.size;
            continue;
        }
        uint64_t n;
        grant->from = walk.id;
        grant->to = walk.list + passed;
        const uint8_t *end = ctr_varint_read(grant->to + CTR_ID_SIZE, &n);
        grant->n = (int64_t)n;
        *at = (*at > 0 ? *at : 1) + (size_t)(end - grant->to);
        return true;
    }
    return false;
}

void ctr_cell_right(const ctr_cell *cell, const uint8_t id[CTR_ID_SIZE], ctr_sum *right)
{
    ctr_shard shard;
    ctr_grant grant;
    *right = (ctr_sum){0, 0};
    if (ctr_cell_shard(cell, id, &shard)) ctr_sum_add(right, shard.value);
    for (size_t at = 0; ctr_cell_next_grant(cell, &at, &grant);) {
        if (memcmp(grant.from, id, CTR_ID_SIZE) == 0) ctr_sum_subtract(right, grant.n);
        if (memcmp(grant.to, id, CTR_ID_SIZE) == 0) ctr_sum_add(right, grant.n);
    }
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

/* A shard that takes its place among those of a cell: behind `before`, in front of `after`. */
typedef struct placed_shard {
    size_t before, after;
    ctr_shard shard;
} placed_shard;

static ctr_status place_shard(const ctr_cell *cell, const uint8_t *id, const ctr_sum *difference,
                              int64_t ticks, int64_t least, placed_shard *placed)
{
    if (ctr_cell_is_deleted(cell)) return CTR_DELETED;

    size_t before = cell->header, next = 0;
    ctr_shard found, mine = {id, 0, 0};
    ctr_sum sum = *difference;
    int order = -1;
    while (order < 0 && ctr_cell_next(cell, &next, &found)) {
        order = memcmp(found.id, id, CTR_ID_SIZE);
        if (order < 0) before = next;
    }
    placed->before = placed->after = before;
    if (order == 0) {
        mine.clock = found.clock;
        ctr_sum_add(&sum, found.value);
        placed->after = next;
    }
    if (mine.clock < least) mine.clock = least - 1;
    if (mine.clock > INT64_MAX - ticks) return CTR_OVERFLOW;
    mine.clock += ticks;
    if (ctr_sum_value(&sum, &mine.value) != CTR_OK) return CTR_OVERFLOW;
    placed->shard = mine;
    return CTR_OK;
}

/* Writes the shards of a cell with that one. */
static uint8_t *put_placed(const ctr_cell *cell, const placed_shard *placed, uint8_t *out)
{
    if (cell->size == 0) return put_shard(out, &placed->shard);
    out = put_bytes(out, cell->bytes + cell->header, placed->before - cell->header);
    out = put_shard(out, &placed->shard);
    return put_bytes(out, cell->bytes + placed->after, cell->size - placed->after);
}

ctr_status ctr_cell_add(const ctr_cell *cell, const uint8_t id[CTR_ID_SIZE],
                        const ctr_sum *difference, int64_t ticks, int64_t least, uint8_t *out,
                        size_t *size)
{
    placed_shard placed;
    ctr_status status = place_shard(cell, id, difference, ticks, least, &placed);
    if (status != CTR_OK) return status;
    uint8_t *end = cell->size == 0 ? put_header(out, ctr_kind_counter(), 1)
                                   : put_bytes(out, cell->bytes, cell->header);
    *size = (size_t)(put_placed(cell, &placed, end) - out);
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

/* Writes what one replica has granted, with n more to another one. */
static uint8_t *put_granted(const uint8_t *at, const uint8_t *end, const uint8_t *to, int64_t n,
                            uint8_t *out)
{
    bool is_put = false;
    while (at < end || !is_put) {
        uint64_t granted = 0;
        int order = at == end ? 1 : memcmp(at, to, CTR_ID_SIZE);
        const uint8_t *next = at == end ? end : ctr_varint_read(at + CTR_ID_SIZE, &granted);
        if (order >= 0 && !is_put) {
            out = put_bytes(out, to, CTR_ID_SIZE);
            out = ctr_varint_put(out, (order == 0 ? granted : 0) + (uint64_t)n);
            is_put = true;
        }
        if (order != 0) out = put_bytes(out, at, (size_t)(next - at));
        at = next;
    }
    return out;
}

/* Puts a number in front of bytes that stand there already, at the place behind. */
static uint8_t *put_size_before(uint8_t *at, uint8_t *end)
{
    uint8_t size[CTR_VARINT_MAX];
    size_t n = (size_t)(end - at), room = (size_t)(ctr_varint_put(size, n) - size);
    memmove(at + room, at, n);
    memcpy(at, size, room);
    return end + room;
}

/* Writes the grants of a cell with n more. */
static uint8_t *put_grants(const ctr_cell *cell, const uint8_t *from, const uint8_t *to, int64_t n,
                           uint8_t *out)
{
    bool is_put = false;
    granters walk = granters_of(cell);
    while (walk.more || !is_put) {
        int order = walk.more ? memcmp(walk.id, from, CTR_ID_SIZE) : 1;
        const uint8_t *list = order == 0 ? walk.list : NULL, *end = order == 0 ? walk.at : NULL;
        if (order >= 0 && !is_put) {
            uint8_t *start = put_bytes(out, from, CTR_ID_SIZE);
            out = put_size_before(start, put_granted(list, end, to, n, start));
            is_put = true;
        }
        if (walk.more && order != 0) {
            out = put_bytes(out, walk.id, CTR_ID_SIZE);
            out = ctr_varint_put(out, walk.size);
            out = put_bytes(out, walk.list, walk.size);
        }
        if (walk.more) granters_next(&walk);
    }
    return out;
}

ctr_status ctr_cell_grant(const ctr_cell *cell, const uint8_t from[CTR_ID_SIZE],
                          const uint8_t to[CTR_ID_SIZE], int64_t n, int64_t least, uint8_t *out,
                          size_t *size)
{
    ctr_grant grant;
    placed_shard placed;
    const ctr_sum none = {0, 0};
    ctr_status status = place_shard(cell, from, &none, 1, least, &placed);
    for (size_t at = 0; status == CTR_OK && ctr_cell_next_grant(cell, &at, &grant);)
        if (memcmp(grant.from, from, CTR_ID_SIZE) == 0 && memcmp(grant.to, to, CTR_ID_SIZE) == 0 &&
            grant.n > INT64_MAX - n)
            status = CTR_OVERFLOW;
    if (status != CTR_OK) return status;
    uint8_t *start = put_header(out, ctr_kind_counter(), cell->life);
    out[0] = CTR_GRANTS_BYTE;
    uint8_t *end = put_size_before(start, put_grants(cell, from, to, n, start));
    *size = (size_t)(put_placed(cell, &placed, end) - out);
    return CTR_OK;
}

size_t ctr_cell_with_grants(const ctr_cell *cell, const ctr_grant *grants, size_t n, uint8_t *out)
{
    uint8_t *all = put_header(out, ctr_kind_counter(), cell->life), *end = all;
    for (size_t i = 0; i < n;) {
        const uint8_t *from = grants[i].from;
        uint8_t *list = put_bytes(end, from, CTR_ID_SIZE);
        for (end = list; i < n && memcmp(grants[i].from, from, CTR_ID_SIZE) == 0; i++) {
            end = put_bytes(end, grants[i].to, CTR_ID_SIZE);
            end = ctr_varint_put(end, (uint64_t)grants[i].n);
        }
        end = put_size_before(list, end);
    }
    if (n > 0) out[0] = CTR_GRANTS_BYTE;
    if (n > 0) end = put_size_before(all, end);
    return (size_t)(put_bytes(end, cell->bytes + cell->header, cell->size - cell->header) - out);
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
    bool grants; /* the cell has some */
} shard_walk;

static shard_walk walk_open(const ctr_cell *cell)
{
    shard_walk w = {.cell = cell, .grants = has_grants(cell)};
    w.more = ctr_cell_next(cell, &w.at, &w.shard);
    return w;
}

static void walk_on(shard_walk *w)
{
    w->more = ctr_cell_next(w->cell, &w->at, &w->shard);
}

/* What the replica of the shard at hand has granted; no more: nothing. */
static granters walk_grants(const shard_walk *w)
{
    granters walk = granters_of(w->cell);
    while (walk.more && memcmp(walk.id, w->shard.id, CTR_ID_SIZE) != 0) granters_next(&walk);
    return walk;
}

/* The order of the grants of two shards, as bytes. */
static int grants_order(const shard_walk *a, const shard_walk *b)
{
    const granters mine = walk_grants(a), theirs = walk_grants(b);
    size_t n = mine.more ? mine.size : 0, k = theirs.more ? theirs.size : 0;
    int order = n > 0 && k > 0 ? memcmp(mine.list, theirs.list, n < k ? n : k) : 0;
    return order != 0 ? order : (n > k) - (n < k);
}

/* Of two versions of a shard with one clock. */
static bool is_same_write(const shard_walk *a, const shard_walk *b)
{
    if (a->shard.value != b->shard.value) return false;
    return (!a->grants && !b->grants) || grants_order(a, b) == 0;
}

bool ctr_cell_grants_alike(const ctr_cell *a, const ctr_cell *b, const uint8_t id[CTR_ID_SIZE])
{
    const ctr_shard shard = {.id = id};
    const shard_walk x = {.cell = a, .shard = shard}, y = {.cell = b, .shard = shard};
    return grants_order(&x, &y) == 0;
}

static bool walk_beats(const shard_walk *a, const shard_walk *b)
{
    if (a->shard.clock != b->shard.clock || a->shard.value != b->shard.value)
        return ctr_shard_beats(&a->shard, &b->shard);
    return (a->grants || b->grants) && grants_order(a, b) > 0;
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

/* Which of two shards of one id a new cell has; order: as walk_order says. */
typedef enum picked { PICK_NONE, PICK_LEFT, PICK_RIGHT } picked;
typedef picked (*picker)(const void *with, int order, const shard_walk *left,
                         const shard_walk *right);

/* Writes the grants of the shards that are picked, each behind its granter. Returns their size; out
 * NULL: writes nothing. */
static size_t put_picked_grants(const ctr_cell *a, const ctr_cell *b, picker pick, const void *with,
                                uint8_t *out)
{
    size_t size = 0;
    uint8_t number[CTR_VARINT_MAX];
    shard_walk left = walk_open(a), right = walk_open(b);
    while (left.more || right.more) {
        int order = walk_order(&left, &right);
        picked which = pick(with, order, &left, &right);
        granters of = {0};
        if (which != PICK_NONE) of = walk_grants(which == PICK_LEFT ? &left : &right);
        if (of.more && out) {
            out = ctr_varint_put(put_bytes(out, of.id, CTR_ID_SIZE), of.size);
            out = put_bytes(out, of.list, of.size);
        }
        if (of.more)
            size += CTR_ID_SIZE + (size_t)(ctr_varint_put(number, of.size) - number) + of.size;
        if (order <= 0) walk_on(&left);
        if (order >= 0) walk_on(&right);
    }
    return size;
}

/* Writes a cell of shards of two others, of those that are picked. Returns its size; *any: whether
 * there are any. Inline, so that cells without grants pay nothing for picking. */
static inline size_t put_picked(const ctr_cell *a, const ctr_cell *b, picker pick, const void *with,
                                uint8_t *out, bool *any)
{
    uint8_t *end = put_header(out, ctr_kind_counter(), a->life);
    bool grants = has_grants(a) || has_grants(b);
    size_t size = grants ? put_picked_grants(a, b, pick, with, NULL) : 0;
    if (size > 0) {
        out[0] = CTR_GRANTS_BYTE;
        end = ctr_varint_put(end, size);
        end += put_picked_grants(a, b, pick, with, end);
    }
    const uint8_t *start = end;
    shard_walk left = walk_open(a), right = walk_open(b);
    while (left.more || right.more) {
        int order = walk_order(&left, &right);
        picked which = pick(with, order, &left, &right);
        if (which != PICK_NONE)
            end = put_shard(end, which == PICK_LEFT ? &left.shard : &right.shard);
        if (order <= 0) walk_on(&left);
        if (order >= 0) walk_on(&right);
    }
    *any = end > start;
    return (size_t)(end - out);
}

static picked pick_winner(const void *with, int order, const shard_walk *left,
                          const shard_walk *right)
{
    (void)with;
    return order < 0 || (order == 0 && walk_beats(left, right)) ? PICK_LEFT : PICK_RIGHT;
}

size_t ctr_shards_join(const ctr_cell *a, const ctr_cell *b, uint8_t *out)
{
    bool any;
    if (has_grants(a) || has_grants(b)) return put_picked(a, b, pick_winner, NULL, out, &any);
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
        bool same =
            order == 0 && left.shard.clock == right.shard.clock && is_same_write(&left, &right);
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
        if (order == 0 && left.shard.clock == right.shard.clock) n += !is_same_write(&left, &right);
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
            if (mine == theirs && !is_same_write(&left, &right)) return CTR_DISJOINT;
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

static picked pick_news(const void *with, int order, const shard_walk *left,
                        const shard_walk *right)
{
    (void)with;
    return order < 0 || (order == 0 && walk_beats(left, right)) ? PICK_LEFT : PICK_NONE;
}

size_t ctr_shards_diff(const ctr_cell *cell, const ctr_cell *known, uint8_t *out)
{
    bool any;
    size_t size = put_picked(cell, known, pick_news, NULL, out, &any);
    return any ? size : 0;
}

static picked pick_own(const void *with, int order, const shard_walk *left, const shard_walk *right)
{
    const ctr_own_filter *own = with;
    (void)order, (void)right;
    return own->is(own->with, &left->shard) ? PICK_LEFT : PICK_NONE;
}

size_t ctr_shards_own(const ctr_cell *cell, const ctr_own_filter *own, uint8_t *out)
{
    const ctr_cell none = ctr_cell_untouched();
    bool any;
    size_t size = put_picked(cell, &none, pick_own, own, out, &any);
    return any || cell->life > 1 ? size : 0;
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

bool ctr_sum_is_negative(const ctr_sum *sum)
{
    return sum->high < 0;
}

bool ctr_sum_is_positive(const ctr_sum *sum)
{
    return sum->high > 0 || (sum->high == 0 && sum->low > 0);
}

int64_t ctr_sum_clamp(const ctr_sum *sum)
{
    int64_t n;
    if (ctr_sum_value(sum, &n) == CTR_OK) return n;
    return ctr_sum_is_negative(sum) ? INT64_MIN : INT64_MAX;
}

ctr_status ctr_cell_value(const ctr_cell *cell, int64_t *value)
{
    ctr_sum sum = {0, 0};
    ctr_sum_add_cell(&sum, cell);
    return ctr_sum_value(&sum, value);
}
