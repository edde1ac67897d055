/* test_cell_laws.c - the laws of the cell algebra on random cells, against an oracle.
 *
 * The cells have few ids, small clocks and few lives, so that ties and lives collide. The oracle
 * keeps a cell as arrays by id and knows nothing of the encoding; an encoder of its own says which
 * bytes a state must have. A run prints its seed and takes it back from COUNTER_SEED.
 */
#include <stdio.h>
#include <time.h>
#include "cells.h"
#include "core/core.h"

enum { ROUNDS = 20000, MUTATED_CELLS = 400, IDS = 6 };

/* In ascending order of id; 128 and 384 differ in the last byte alone. */
static const int symbols[IDS] = {0, 1, 127, 128, 384, 255};

typedef struct model {
    uint32_t life;
    struct {
        bool there;
        int64_t clock, value, granted[IDS];
    } of[IDS];
} model;

__extension__ typedef __int128 wide;

static uint64_t random_state;

/* splitmix64 */
static uint64_t random_bits(void)
{
    uint64_t z = (random_state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static int below(int n)
{
    return (int)(random_bits() % (uint64_t)n);
}

static int64_t random_value(void)
{
    static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, -65, -64, 63, 64, INT64_MAX};
    return below(8) == 0 ? edges[below(7)] : below(7) - 3;
}

static model random_model(void)
{
    static const uint32_t lives[] = {1, 1, 1, 1, 1, 2, 3, 3, 3, 4, CTR_LIFE_MAX - 1, CTR_LIFE_MAX};
    model m = {.life = lives[below(below(4) ? 10 : 12)]};
    for (int i = 0; i < IDS && m.life % 2 == 1; i++) {
        if (below(2)) continue;
        m.of[i].there = true;
        m.of[i].clock = below(40) ? 1 + below(3) : INT64_MAX;
        m.of[i].value = random_value();
    }
    bool grants = below(3) == 0;
    for (int i = 0; grants && i < IDS; i++)
        for (int k = 0; k < IDS; k++)
            if (m.of[i].there && i != k && below(3) == 0)
                m.of[i].granted[k] = below(9) ? 1 + below(3) : INT64_MAX - below(2);
    return m;
}

static bool is_empty(const model *m)
{
    for (int i = 0; i < IDS; i++) {
        if (m->of[i].there) return false;
    }
    return true;
}

/* ---- the oracle ---- */

static uint8_t *put_varint(uint8_t *out, uint64_t n)
{
    for (; n > 127; n >>= 7) *out++ = (uint8_t)(n | 128);
    *out++ = (uint8_t)n;
    return out;
}

/* What one has granted, as in a cell; empty if nothing. */
static size_t encode_granted(const model *m, int from, uint8_t *out)
{
    uint8_t *start = out;
    for (int to = 0; to < IDS; to++) {
        if (m->of[from].granted[to] == 0) continue;
        memcpy(out, id_of(symbols[to]), CTR_ID_SIZE);
        out = put_varint(out + CTR_ID_SIZE, (uint64_t)m->of[from].granted[to]);
    }
    return (size_t)(out - start);
}

static size_t encode_grants(const model *m, uint8_t *out)
{
    uint8_t *start = out, list[IDS * CTR_GRANT_MAX];
    for (int from = 0; from < IDS; from++) {
        size_t size = m->of[from].there ? encode_granted(m, from, list) : 0;
        if (size == 0) continue;
        memcpy(out, id_of(symbols[from]), CTR_ID_SIZE);
        out = put_varint(out + CTR_ID_SIZE, size);
        memcpy(out, list, size);
        out += size;
    }
    return (size_t)(out - start);
}

static blob encoded(const model *m)
{
    if (m->life == 1 && is_empty(m)) return untouched();
    uint8_t grants[IDS * IDS * CTR_GRANT_MAX];
    uint8_t buffer[CTR_CELL_HEADER_MAX + IDS * CTR_SHARD_MAX + sizeof grants + 10], *out = buffer;
    size_t of_grants = encode_grants(m, grants);
    *out++ = of_grants > 0 ? 0xC2 : 0xC1;
    out = put_varint(out, m->life);
    if (of_grants > 0) {
        out = put_varint(out, of_grants);
        memcpy(out, grants, of_grants);
        out += of_grants;
    }
    for (int i = 0; i < IDS; i++) {
        if (!m->of[i].there) continue;
        memcpy(out, id_of(symbols[i]), CTR_ID_SIZE);
        out = put_varint(out + CTR_ID_SIZE, (uint64_t)m->of[i].clock);
        int64_t v = m->of[i].value;
        out = put_varint(out, v < 0 ? ~((uint64_t)v << 1) : (uint64_t)v << 1);
    }
    return exact(buffer, (size_t)(out - buffer));
}

/* The order of what one has granted in two cells. */
static int granted_order(const model *a, const model *b, int i)
{
    uint8_t mine[IDS * CTR_GRANT_MAX], theirs[IDS * CTR_GRANT_MAX];
    size_t n = encode_granted(a, i, mine), k = encode_granted(b, i, theirs);
    int order = memcmp(mine, theirs, n < k ? n : k);
    return order != 0 ? order : (n > k) - (n < k);
}

static bool wins(const model *a, const model *b, int i)
{
    if (!a->of[i].there || !b->of[i].there) return a->of[i].there && !b->of[i].there;
    if (a->of[i].clock != b->of[i].clock) return a->of[i].clock > b->of[i].clock;
    if (a->of[i].value != b->of[i].value) return a->of[i].value > b->of[i].value;
    return granted_order(a, b, i) > 0;
}

static bool is_conflict(const model *a, const model *b, int i)
{
    return a->of[i].there && b->of[i].there && a->of[i].clock == b->of[i].clock &&
           (a->of[i].value != b->of[i].value || granted_order(a, b, i) != 0);
}

static model joined(const model *a, const model *b)
{
    if (a->life != b->life) return a->life > b->life ? *a : *b;
    model m = *a;
    for (int i = 0; i < IDS; i++) {
        if (wins(b, a, i)) m.of[i] = b->of[i];
    }
    return m;
}

static model missing(const model *m, const model *known)
{
    if (m->life > known->life) return *m;
    model d = {.life = 1};
    if (m->life < known->life) return d;
    for (int i = 0; i < IDS; i++) {
        if (wins(m, known, i)) d.of[i] = m->of[i];
    }
    if (!is_empty(&d)) d.life = m->life;
    return d;
}

static ctr_order ordered(const model *a, const model *b)
{
    if (a->life != b->life) return a->life > b->life ? CTR_GREATER : CTR_LESS;
    bool more = false, less = false;
    for (int i = 0; i < IDS; i++) {
        more = more || wins(a, b, i) || is_conflict(a, b, i);
        less = less || wins(b, a, i) || is_conflict(a, b, i);
    }
    if (more) return less ? CTR_DISJOINT : CTR_GREATER;
    return less ? CTR_LESS : CTR_EQUAL;
}

static wide summed(const model *m)
{
    wide sum = 0;
    for (int i = 0; i < IDS; i++) {
        if (m->of[i].there) sum += m->of[i].value;
    }
    return sum;
}

/* The sum as int64, or CTR_OVERFLOW, as ctr_cell_value must say it. */
static void assert_sum(wide expected, ctr_status status, int64_t got)
{
    bool fits = expected >= INT64_MIN && expected <= INT64_MAX;
    assert_int_equal(status, fits ? CTR_OK : CTR_OVERFLOW);
    if (fits) assert_true(got == (int64_t)expected);
}

/* ---- the laws ---- */

static void merge_is_commutative_associative_idempotent(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m[3] = {random_model(), random_model(), random_model()};
        blob a = encoded(&m[0]), b = encoded(&m[1]), c = encoded(&m[2]);
        assert_same(merge(a, b), merge(b, a));
        assert_same(merge(a, merge(b, c)), merge(merge(a, b), c));
        assert_same(merge(a, a), a);
        release_all();
    }
}

static void merge_is_that_of_the_oracle(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model a = random_model(), b = random_model(), m = joined(&a, &b);
        assert_same(merge(encoded(&a), encoded(&b)), encoded(&m));
        release_all();
    }
}

static int place_of(const uint8_t *id)
{
    for (int i = 0; i < IDS; i++)
        if (memcmp(id, id_of(symbols[i]), CTR_ID_SIZE) == 0) return i;
    return -1;
}

/* What can be read of a cell. */
static model model_of(blob b)
{
    ctr_cell c = opened(b);
    model m = {.life = c.life};
    ctr_shard shard;
    ctr_grant grant;
    for (size_t at = 0; ctr_cell_next(&c, &at, &shard);) {
        int i = place_of(shard.id);
        m.of[i].there = true;
        m.of[i].clock = shard.clock;
        m.of[i].value = shard.value;
    }
    for (size_t at = 0; ctr_cell_next_grant(&c, &at, &grant);)
        m.of[place_of(grant.from)].granted[place_of(grant.to)] = grant.n;
    return m;
}

static void one_state_has_one_encoding(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m = random_model();
        blob b = encoded(&m);
        model read = model_of(b);
        assert_same(encoded(&read), b);
        release_all();
    }
}

static void diff_is_enough(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m = random_model(), known = random_model(), d = missing(&m, &known);
        blob a = encoded(&m), k = encoded(&known);
        assert_same(merge(k, diff(a, k)), merge(k, a));
        assert_same(diff(a, k), encoded(&d));
        release_all();
    }
}

/* Leave out any shard of a diff, or a diff without shards whole, and the merge differs. */
static void diff_is_minimal(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m = random_model(), known = random_model();
        blob a = encoded(&m), k = encoded(&known), d = diff(a, k), wanted = merge(k, a);
        model of_diff = model_of(d);
        if (is_empty(&of_diff) && d.size > 0) assert_false(same(k, wanted));
        for (int out = 0; out < IDS; out++) {
            model rest = of_diff;
            if (!rest.of[out].there) continue;
            memset(&rest.of[out], 0, sizeof rest.of[out]);
            assert_false(same(merge(k, encoded(&rest)), wanted));
        }
        release_all();
    }
}

static void several_ticks_at_once_are_the_same_as_one_by_one(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m = random_model();
        blob b = encoded(&m);
        ctr_cell start = opened(b), one = start;
        const uint8_t *id = id_of(symbols[rand() % IDS]);
        enum { ROOM = CTR_CELL_HEADER_MAX + (IDS + 1) * CTR_SHARD_MAX + IDS * IDS * CTR_GRANT_MAX };
        uint8_t first[2][ROOM], second[ROOM];
        size_t size = 0, again = 0;
        int64_t ticks = 0, least = rand() % 10 + 1;
        ctr_sum sum = {0, 0};
        for (int turn = 0; turn < 5; turn++) {
            int64_t n = rand() % 100000 - 50000;
            if (ctr_cell_increment(&one, id, n, least, first[turn % 2], &size) != CTR_OK) break;
            assert_int_equal(ctr_cell_open(&one, first[turn % 2], size), CTR_OK);
            ctr_sum_add(&sum, n);
            ticks++;
            assert_int_equal(ctr_cell_add(&start, id, &sum, ticks, least, second, &again), CTR_OK);
            assert_int_equal(size, again);
            assert_memory_equal(first[turn % 2], second, size);
        }
        release_all();
    }
}

static size_t count_shards(blob b)
{
    ctr_cell c = opened(b);
    ctr_shard shard;
    size_t at = 0, n = 0;
    while (ctr_cell_next(&c, &at, &shard)) n++;
    return n;
}

static void a_merge_changes_as_many_shards_as_the_other_side_has_to_send(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m = random_model(), known = random_model();
        blob a = encoded(&m), k = encoded(&known);
        ctr_cell merged = opened(merge(k, a)), mine = opened(k);
        assert_int_equal(ctr_cell_changed_shards(&merged, &mine), count_shards(diff(a, k)));
        assert_int_equal(ctr_cell_changed_shards(&mine, &mine), 0);
        release_all();
    }
}

static void compare_agrees_with_the_oracle_and_with_merge(void **state)
{
    (void)state;
    static const ctr_order mirror[] = {CTR_EQUAL, CTR_LESS, CTR_GREATER, CTR_DISJOINT};
    for (int i = 0; i < ROUNDS; i++) {
        model x = random_model(), y = below(3) ? random_model() : x;
        if (below(3) == 0) y = joined(&x, &y);
        blob a = encoded(&x), b = encoded(&y), both = merge(a, b);
        ctr_order order = compare(a, b);
        assert_int_equal(order, ordered(&x, &y));
        assert_int_equal(compare(b, a), mirror[order]);
        assert_int_equal(order == CTR_EQUAL, same(a, b));
        if (order == CTR_GREATER) assert_same(both, a);
        if (order == CTR_LESS) assert_same(both, b);
        if (order == CTR_DISJOINT && conflicts(a, b) == 0)
            assert_false(same(both, a) || same(both, b));
        release_all();
    }
}

static void conflicts_are_those_of_the_oracle(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model a = random_model(), b = random_model();
        size_t n = 0;
        for (int id = 0; id < IDS; id++) n += a.life == b.life && is_conflict(&a, &b, id);
        assert_int_equal(conflicts(encoded(&a), encoded(&b)), n);
        release_all();
    }
}

static void increment_is_that_of_the_oracle(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m = random_model();
        int id = below(IDS);
        int64_t n = random_value();
        blob before = encoded(&m), after = {NULL, 0};
        ctr_status status = try_increment(before, id_of(symbols[id]), n, &after);
        wide sum = m.of[id].there ? (wide)m.of[id].value + n : n;
        if (m.life % 2 == 0) {
            assert_int_equal(status, CTR_DELETED);
        } else if (m.of[id].clock == INT64_MAX || sum < INT64_MIN || sum > INT64_MAX) {
            assert_int_equal(status, CTR_OVERFLOW);
        } else {
            assert_int_equal(status, CTR_OK);
            m.of[id].there = true;
            m.of[id].clock++;
            m.of[id].value = (int64_t)sum;
            assert_same(after, encoded(&m));
            assert_int_equal(compare(after, before), CTR_GREATER);
        }
        release_all();
    }
}

static void a_grant_is_that_of_the_oracle(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m = random_model();
        int from = below(IDS), to = (from + 1 + below(IDS - 1)) % IDS;
        int64_t n = below(9) ? 1 + below(3) : INT64_MAX;
        blob before = encoded(&m);
        ctr_cell c = opened(before);
        size_t room = before.size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX + CTR_GRANT_MAX, size = 0;
        uint8_t *out = hold(room);
        ctr_status status =
            ctr_cell_grant(&c, id_of(symbols[from]), id_of(symbols[to]), n, 1, out, &size);
        if (m.life % 2 == 0) {
            assert_int_equal(status, CTR_DELETED);
        } else if (m.of[from].clock == INT64_MAX || m.of[from].granted[to] > INT64_MAX - n) {
            assert_int_equal(status, CTR_OVERFLOW);
        } else {
            assert_int_equal(status, CTR_OK);
            m.of[from].there = true;
            m.of[from].clock++;
            m.of[from].granted[to] += n;
            assert_true(size <= room);
            assert_same(exact(out, size), encoded(&m));
            assert_int_equal(compare(exact(out, size), before), CTR_GREATER);
        }
        release_all();
    }
}

static void grants_are_written_as_they_are_read(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m = random_model(), none = m;
        blob whole = encoded(&m);
        for (int id = 0; id < IDS; id++) memset(none.of[id].granted, 0, sizeof none.of[id].granted);
        blob plain = encoded(&none);
        ctr_cell with = opened(whole), without = opened(plain);
        ctr_grant grants[IDS * IDS];
        size_t at = 0, n = 0;
        while (ctr_cell_next_grant(&with, &at, &grants[n])) n++;
        uint8_t *out = hold(plain.size + n * CTR_GRANT_MAX);
        if (plain.size > 0)
            assert_same(exact(out, ctr_cell_with_grants(&without, grants, n, out)), whole);
        release_all();
    }
}

static wide wide_of(ctr_sum sum)
{
    return (wide)sum.high * ((wide)1 << 64) + sum.low;
}

static void rights_add_up_to_the_value(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m = random_model();
        blob b = encoded(&m);
        ctr_cell c = opened(b);
        wide all = 0;
        for (int id = 0; id < IDS; id++) {
            ctr_sum right;
            wide wanted = m.of[id].there ? m.of[id].value : 0;
            for (int k = 0; k < IDS; k++) wanted += (wide)m.of[k].granted[id] - m.of[id].granted[k];
            ctr_cell_right(&c, id_of(symbols[id]), &right);
            assert_true(wide_of(right) == wanted);
            all += wanted;
        }
        assert_true(all == summed(&m));
        release_all();
    }
}

static void value_is_exact(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m = random_model();
        ctr_cell c = opened(encoded(&m));
        int64_t v = 0;
        ctr_status status = ctr_cell_value(&c, &v);
        assert_sum(summed(&m), status, v);
        release_all();
    }
}

/* A window that slides: what was added is taken away again, in any order. */
static void sums_are_exact_and_can_be_undone(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS / 10; i++) {
        ctr_sum sum = {0, 0};
        wide expected = 0;
        for (int step = 0; step < 20; step++) {
            model m = random_model();
            ctr_cell c = opened(encoded(&m));
            int64_t n = random_value(), v = 0;
            switch (below(5)) {
            case 0:
                ctr_sum_add(&sum, n);
                expected += n;
                break;
            case 1:
                ctr_sum_subtract(&sum, n);
                expected -= n;
                break;
            case 2:
                ctr_sum_add_cell(&sum, &c);
                expected += summed(&m);
                break;
            case 3:
                ctr_sum_subtract_cell(&sum, &c);
                expected -= summed(&m);
                break;
            default:
                ctr_sum_add_sum(&sum, &(ctr_sum){n < 0 ? -1 : 0, (uint64_t)n});
                expected += n;
                break;
            }
            ctr_status status = ctr_sum_value(&sum, &v);
            assert_sum(expected, status, v);
        }
        release_all();
    }
}

static void lives_only_rise(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m = random_model();
        blob before = encoded(&m), after;
        life_step *const steps[] = {ctr_cell_delete, ctr_cell_reset};
        for (int step = 0; step < 2; step++) {
            bool stays = step == 0 && m.life % 2 == 0;
            ctr_status status = try_step(steps[step], before, &after);
            assert_int_equal(status, m.life == CTR_LIFE_MAX && !stays ? CTR_LAST_LIFE : CTR_OK);
            if (status != CTR_OK) continue;
            assert_int_equal(compare(after, before), stays ? CTR_EQUAL : CTR_GREATER);
            assert_int_equal(life(after) % 2, step);
            assert_int_equal(shard_count(after), 0);
        }
        release_all();
    }
}

/* ---- wide cells ---- */

enum { WIDE = 64 };

typedef struct wide_model {
    bool there[WIDE];
    int64_t clock[WIDE], value[WIDE];
} wide_model;

static blob encoded_wide(uint32_t life, const wide_model *m)
{
    ctr_shard shards[WIDE];
    size_t n = 0;
    for (int i = 0; i < WIDE; i++)
        if (m->there[i]) shards[n++] = (ctr_shard){id_of(i), m->clock[i], m->value[i]};
    return cell_of(life, shards, n);
}

/* A cell with many shards, or with about 256 bytes; its clocks have one byte or several. */
static wide_model random_wide(void)
{
    wide_model m = {.there = {false}};
    int filled = below(5), most = below(3) ? WIDE : 8 + below(8);
    for (int i = 0; i < WIDE; i++) {
        m.there[i] = i < most && below(5) <= filled;
        m.clock[i] = 1 + below(below(2) ? 3 : 5000);
        m.value[i] = random_value();
    }
    return m;
}

static void change_wide(wide_model *m, int times)
{
    for (; times > 0; times--) {
        int i = below(WIDE);
        m->there[i] = below(4) > 0;
        m->clock[i] = below(2) ? m->clock[i] + below(200) : 1 + below(3);
        m->value[i] = below(2) ? m->value[i] : random_value();
    }
}

/* Makes it a prefix of what it was. */
static void cut_wide(wide_model *m)
{
    for (int i = below(WIDE); i < WIDE; i++) m->there[i] = false;
}

static bool beats_in(const wide_model *a, const wide_model *b, int i)
{
    if (!a->there[i] || !b->there[i]) return a->there[i];
    return a->clock[i] > b->clock[i] || (a->clock[i] == b->clock[i] && a->value[i] > b->value[i]);
}

/* Two cells that differ in few shards, or in many. */
static void wide_cells_merge_as_those_of_the_oracle(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS / 10; round++) {
        wide_model a = random_wide(), b = below(4) ? a : random_wide(), both = a;
        change_wide(&a, below(3));
        change_wide(&b, below(3));
        if (below(4) == 0) cut_wide(below(2) ? &a : &b);
        uint32_t life = below(2) ? 3 : 1 + 2 * (uint32_t)below(100);
        size_t changed = 0, conflicts = 0;
        for (int i = 0; i < WIDE; i++) {
            bool same = a.there[i] == b.there[i] &&
                        (!a.there[i] || (a.clock[i] == b.clock[i] && a.value[i] == b.value[i]));
            bool theirs = beats_in(&b, &a, i);
            const wide_model *from = theirs ? &b : &a;
            both.there[i] = from->there[i];
            both.clock[i] = from->clock[i];
            both.value[i] = from->value[i];
            changed += theirs && !same;
            conflicts += !same && a.there[i] && b.there[i] && a.clock[i] == b.clock[i];
        }
        blob x = encoded_wide(life, &a), y = encoded_wide(life, &b),
             joined = encoded_wide(life, &both);
        assert_same(merge(x, y), joined);
        assert_same(merge(y, x), joined);
        ctr_cell mine = opened(x), theirs = opened(y), result = opened(joined);
        ctr_trimmed trimmed = ctr_cell_trim(&mine, &theirs), after = ctr_cell_trim(&result, &mine);
        assert_int_equal(ctr_cell_conflicts(&trimmed.a, &trimmed.b), conflicts);
        assert_int_equal(ctr_cell_conflicts(&mine, &theirs), conflicts);
        assert_int_equal(ctr_cell_changed_shards(&after.a, &after.b), changed);
        assert_int_equal(ctr_cell_changed_shards(&result, &mine), changed);
        release_all();
    }
}

/* ---- whose shards they are ---- */

/* Whether the id is that of a symbol in the mask. */
static bool is_in(const void *mask, const ctr_shard *shard)
{
    for (int i = 0; i < IDS; i++) {
        if (memcmp(id_of(symbols[i]), shard->id, CTR_ID_SIZE) == 0)
            return *(const unsigned *)mask >> i & 1;
    }
    return false;
}

static blob own(blob b, unsigned mask)
{
    const ctr_own_filter filter = {is_in, &mask};
    ctr_cell c = opened(b);
    uint8_t *out = hold(c.size + CTR_CELL_HEADER_MAX);
    return exact(out, ctr_cell_own(&c, &filter, out));
}

static void own_shards_joined_with_the_rest_are_the_whole(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        model m = random_model(), mine = m;
        unsigned mask = (unsigned)below(1 << IDS);
        for (int id = 0; id < IDS; id++)
            if (!(mask >> id & 1)) memset(&mine.of[id], 0, sizeof mine.of[id]);
        blob whole = encoded(&m), part = own(whole, mask), rest = own(whole, ~mask);
        assert_same(part, encoded(&mine));
        assert_same(merge(part, rest), whole);
        release_all();
    }
}

/* ---- malformed cells ---- */

/* The grants of a cell, written again from what the walk says. */
static uint8_t *put_grants_again(const ctr_cell *c, uint8_t *out)
{
    uint8_t all[1500], list[1500], *to_all = all, *to_list = list;
    ctr_grant grant;
    const uint8_t *from = NULL;
    size_t at = 0;
    bool more = ctr_cell_next_grant(c, &at, &grant);
    while (from || more) {
        if (from && (!more || memcmp(from, grant.from, CTR_ID_SIZE) != 0)) {
            size_t size = (size_t)(to_list - list);
            memcpy(to_all, from, CTR_ID_SIZE);
            to_all = put_varint(to_all + CTR_ID_SIZE, size);
            memcpy(to_all, list, size);
            to_all += size;
            to_list = list;
            from = NULL;
            continue;
        }
        from = grant.from;
        memcpy(to_list, grant.to, CTR_ID_SIZE);
        to_list = put_varint(to_list + CTR_ID_SIZE, (uint64_t)grant.n);
        more = ctr_cell_next_grant(c, &at, &grant);
    }
    size_t size = (size_t)(to_all - all);
    if (size == 0) return out;
    out = put_varint(out, size);
    memcpy(out, all, size);
    return out + size;
}

/* Bytes that are accepted say exactly one state; bytes that are not leave the untouched cell. */
static void assert_canonical_or_refused(const uint8_t *bytes, size_t size)
{
    ctr_cell c;
    ctr_status status = ctr_cell_open(&c, bytes, size);
    if (status != CTR_OK) {
        assert_true(status >= CTR_NOT_A_CELL && status <= CTR_BAD_GRANTS);
        assert_true(ctr_cell_is_untouched(&c));
        return;
    }
    uint8_t again[2000], *out = again;
    *out++ = bytes[0];
    out = put_varint(out, c.life);
    out = put_grants_again(&c, out);
    ctr_shard shard;
    const uint8_t *before = NULL;
    size_t at = 0;
    while (ctr_cell_next(&c, &at, &shard)) {
        assert_true(!before || memcmp(before, shard.id, CTR_ID_SIZE) < 0);
        assert_true(shard.clock > 0 && (size_t)(out - again) + CTR_SHARD_MAX <= sizeof again);
        memcpy(out, shard.id, CTR_ID_SIZE);
        out = put_varint(out + CTR_ID_SIZE, (uint64_t)shard.clock);
        int64_t v = shard.value;
        out = put_varint(out, v < 0 ? ~((uint64_t)v << 1) : (uint64_t)v << 1);
        before = shard.id;
    }
    assert_true((size_t)(out - again) == size && memcmp(again, bytes, size) == 0);
    assert_true(c.life % 2 == 1 || size <= CTR_CELL_HEADER_MAX);
}

static void every_truncation_is_a_cell_or_refused(void **state)
{
    (void)state;
    for (int i = 0; i < MUTATED_CELLS; i++) {
        model m = random_model();
        blob b = encoded(&m);
        for (size_t size = 0; size < b.size; size++) {
            blob cut = exact(b.bytes, size);
            assert_canonical_or_refused(cut.bytes, cut.size);
        }
        release_all();
    }
}

static void every_changed_byte_is_a_cell_or_refused(void **state)
{
    (void)state;
    for (int i = 0; i < MUTATED_CELLS; i++) {
        model m = random_model();
        blob b = encoded(&m);
        for (size_t at = 0; at < b.size; at++) {
            for (int change = 1; change < 256; change++) {
                b.bytes[at] ^= (uint8_t)change;
                assert_canonical_or_refused(b.bytes, b.size);
                b.bytes[at] ^= (uint8_t)change;
            }
        }
        release_all();
    }
}

static void random_bytes_are_a_cell_or_refused(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        uint8_t bytes[64] = {(uint8_t)(0xC1 + below(2)), (uint8_t)(1 + below(4))};
        size_t size = (size_t)below(sizeof bytes + 1);
        for (size_t at = 2; at < sizeof bytes; at++) bytes[at] = (uint8_t)random_bits();
        blob b = exact(bytes, size);
        assert_canonical_or_refused(b.bytes, b.size);
        release_all();
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, release_after)

int main(void)
{
    const char *seed = getenv("COUNTER_SEED");
    random_state = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    printf("COUNTER_SEED=%llu\n", (unsigned long long)random_state);
    const struct CMUnitTest tests[] = {
        TEST(merge_is_commutative_associative_idempotent),
        TEST(merge_is_that_of_the_oracle),
        TEST(one_state_has_one_encoding),
        TEST(diff_is_enough),
        TEST(diff_is_minimal),
        TEST(several_ticks_at_once_are_the_same_as_one_by_one),
        TEST(a_merge_changes_as_many_shards_as_the_other_side_has_to_send),
        TEST(compare_agrees_with_the_oracle_and_with_merge),
        TEST(conflicts_are_those_of_the_oracle),
        TEST(increment_is_that_of_the_oracle),
        TEST(a_grant_is_that_of_the_oracle),
        TEST(grants_are_written_as_they_are_read),
        TEST(rights_add_up_to_the_value),
        TEST(value_is_exact),
        TEST(sums_are_exact_and_can_be_undone),
        TEST(lives_only_rise),
        TEST(wide_cells_merge_as_those_of_the_oracle),
        TEST(own_shards_joined_with_the_rest_are_the_whole),
        TEST(every_truncation_is_a_cell_or_refused),
        TEST(every_changed_byte_is_a_cell_or_refused),
        TEST(random_bytes_are_a_cell_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
