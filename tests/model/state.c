/* state.c - the key of a state. */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

enum { SIDES = 2 * FILES, MOST_IDS = 64, MOST_BYTES = 32768 };

/* A state in one order of its files. `sides` are the volumes: now and before of the first, ... */
typedef struct view {
    int rank[FILES]; /* when a file comes */
    const content *sides[SIDES];
    int keys;
    id ids[MOST_IDS];
    int n_ids;
    uint8_t bytes[MOST_BYTES];
    size_t n;
} view;

/* ---- what is written ------------------------------------------------------------------------- */

static void put(view *to, int64_t number)
{
    if (to->n + sizeof number > MOST_BYTES) abort();
    memcpy(to->bytes + to->n, &number, sizeof number);
    to->n += sizeof number;
}

static bool same_id(const id *a, const id *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Increments of file i in the bits of the place where it comes. */
static int64_t permuted(const view *in, int64_t value)
{
    int64_t to = 0;
    for (int file = 0; file < FILES; file++) {
        int64_t own = value >> OPERATIONS_OF_A_FILE * file & ((1 << OPERATIONS_OF_A_FILE) - 1);
        to |= own << OPERATIONS_OF_A_FILE * in->rank[file];
    }
    return to;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static int number_of(view *in, const id *one)
{
    for (int i = 0; i < in->n_ids; i++)
        if (same_id(&in->ids[i], one)) return i;
    if (in->n_ids == MOST_IDS) abort();
    in->ids[in->n_ids] = *one;
    return in->n_ids++;
}

static bool is_numbered(const view *in, const id *one)
{
    for (int i = 0; i < in->n_ids; i++)
        if (same_id(&in->ids[i], one)) return true;
    return false;
}

/* An id without a file, and the shards that are left of it. */
typedef struct orphan {
    id who;
    int64_t shards[SIDES][MOST_KEYS][2];
} orphan;

static void collect(const view *in, orphan *orphans, int *n, int side, int key)
{
    const struct content_row *row = &in->sides[side]->rows[key];
    for (int i = 0; i < row->n; i++) {
        int at = 0;
        if (is_numbered(in, &row->shards[i].who)) continue;
        while (at < *n && !same_id(&orphans[at].who, &row->shards[i].who)) at++;
        if (at == MOST_SHARDS) abort();
        if (at == *n) orphans[(*n)++] = (orphan){.who = row->shards[i].who};
        orphans[at].shards[side][key][0] = row->shards[i].clock;
        orphans[at].shards[side][key][1] = permuted(in, row->shards[i].value);
    }
}

static int compare_orphans(const void *a, const void *b)
{
    return memcmp(((const orphan *)a)->shards, ((const orphan *)b)->shards,
                  sizeof((const orphan *)a)->shards);
}

static void number_ids(view *in)
{
    orphan orphans[MOST_SHARDS];
    int n = 0;
    for (int side = 0; side < SIDES; side += 2) number_of(in, &in->sides[side]->who);
    for (int side = 1; side < SIDES; side += 2) number_of(in, &in->sides[side]->who);
    for (int side = 0; side < SIDES; side++)
        for (int key = 0; key < in->keys; key++) collect(in, orphans, &n, side, key);
    qsort(orphans, (size_t)n, sizeof *orphans, compare_orphans);
    for (int i = 0; i < n; i++) number_of(in, &orphans[i].who);
}

/* The first side that has the same; holders and tokens are only ever compared. */
static int first_with(const view *in, size_t offset, int side)
{
    const char *mine = (const char *)in->sides[side] + offset;
    for (int i = 0;; i++)
        if (same_id((const void *)((const char *)in->sides[i] + offset), (const void *)mine))
            return i;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The numbers of the changes of a volume, ascending, none twice. */
typedef struct ranks {
    int64_t numbers[1 + 2 * MOST_ENTRIES];
    int n;
} ranks;

static void add_rank(ranks *to, int64_t number)
{
    int at = 0;
    while (at < to->n && to->numbers[at] < number) at++;
    if (at < to->n && to->numbers[at] == number) return;
    memmove(to->numbers + at + 1, to->numbers + at, (size_t)(to->n - at) * sizeof number);
    to->numbers[at] = number;
    to->n++;
}

static ranks ranks_of(const content *is)
{
    ranks to = {.n = 0};
    if (is->floor) add_rank(&to, is->floor_sequence);
    for (int i = 0; i < is->n_entries; i++) {
        add_rank(&to, is->entries[i].at);
        add_rank(&to, is->entries[i].number);
    }
    return to;
}

/* Twice the rank, and one more for a number between two ranks. */
static int rank_of(const ranks *in, int64_t number)
{
    int at = 0;
    while (at < in->n && in->numbers[at] < number) at++;
    return 2 * at + !(at < in->n && in->numbers[at] == number);
}

static int compare_pairs(const pair *a, const pair *b)
{
    if (a->number != b->number) return a->number < b->number ? 0 : 1;
    return a->random == b->random ? 2 : 3;
}

static int64_t big_endian(const uint8_t *bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++) number = number << 8 | bytes[i];
    return (int64_t)number;
}

static int compare_with_attribute(const content *is, const disk_place *place)
{
    if (!place->attribute_size) return 4;
    pair attribute = {big_endian(place->attribute + 1), big_endian(place->attribute + 9)};
    return compare_pairs(&is->witness, &attribute);
}

/* ---- the parts ------------------------------------------------------------------------------- */

static int compare_shards(const void *a, const void *b)
{
    const int64_t *one = a, *other = b;
    return (one[0] > other[0]) - (one[0] < other[0]);
}

static void put_row(view *to, const struct content_row *row)
{
    int64_t shards[MOST_SHARDS][3];
    put(to, row->present);
    if (!row->present) return;
    for (int i = 0; i < row->n; i++) {
        shards[i][0] = number_of(to, &row->shards[i].who);
        shards[i][1] = row->shards[i].clock;
        shards[i][2] = permuted(to, row->shards[i].value);
    }
    qsort(shards, (size_t)row->n, sizeof *shards, compare_shards);
    put(to, row->id);
    put(to, row->life);
    put(to, row->n);
    for (int i = 0; i < row->n; i++)
        for (int part = 0; part < 3; part++) put(to, shards[i][part]);
}

static void put_entry(view *to, const struct content_entry *entry, const ranks *numbers)
{
    put(to, rank_of(numbers, entry->at));
    put(to, rank_of(numbers, entry->number));
    put(to, entry->level << 8 | entry->kind);
    put(to, entry->row);
    put(to, permuted(to, entry->n));
    put(to, entry->ticks);
}

/* To whom it says something, and what. */
static void put_mark(view *to, const void *row)
{
    const struct content_mark *mark = row;
    for (int side = 0; side < SIDES; side++) {
        const content *theirs = to->sides[side];
        if (!same_id(&theirs->who, &mark->who) || !same_id(&theirs->token, &mark->theirs)) continue;
        ranks numbers = ranks_of(theirs);
        put(to, side + 100);
        put(to, rank_of(&numbers, mark->mark));
    }
}

static void put_known(view *to, const void *row)
{
    const struct content_known *known = row;
    for (int side = 0; side < SIDES; side++) {
        const content *theirs = to->sides[side];
        if (!same_id(&theirs->holder, &known->holder) || !same_id(&theirs->who, &known->who))
            continue;
        put(to, side + 200);
        put(to, compare_pairs(&known->witness, &theirs->witness));
    }
}

/* Lists of rows stand in the order of random ids: what each row puts is hashed, and hashes are
 * added. */
static void put_all(view *to, int n, const void *rows, size_t size,
                    void (*put_one)(view *, const void *))
{
    const size_t from = to->n;
    uint64_t sum = 0;
    for (int i = 0; i < n; i++) {
        put_one(to, (const char *)rows + (size_t)i * size);
        if (to->n > from) sum += hash_bytes(to->bytes + from, to->n - from);
        to->n = from;
    }
    put(to, (int64_t)(sum >> 1));
}

static void put_content(view *to, int side, const disk_place *place)
{
    const content *is = to->sides[side];
    ranks numbers = ranks_of(is);
    put(to, number_of(to, &is->who));
    put(to, first_with(to, offsetof(content, holder), side));
    put(to, first_with(to, offsetof(content, token), side));
    put(to, is->inode == place->inode && is->birth == place->birth);
    put(to, compare_with_attribute(is, place));
    put(to, is->witnessed | is->knows_floors << 1 | is->floor << 2);
    if (is->floor) put(to, rank_of(&numbers, is->floor_sequence));
    for (int key = 0; key < to->keys; key++) put_row(to, &is->rows[key]);
    put(to, is->n_entries);
    for (int i = 0; i < is->n_entries; i++) put_entry(to, &is->entries[i], &numbers);
    put_all(to, is->n_marks, is->marks, sizeof *is->marks, put_mark);
    put_all(to, is->n_known, is->known, sizeof *is->known, put_known);
}

static state_key key_in_order(const state *of, const content *contents, int keys, const int *order)
{
    view in = {.keys = keys};
    for (int i = 0; i < FILES; i++) {
        in.rank[order[i]] = i;
        in.sides[2 * i] = &contents[of->files[order[i]].volume];
        in.sides[2 * i + 1] = &contents[of->files[order[i]].before];
    }
    number_ids(&in);
    for (int side = 0; side < SIDES; side++)
        put_content(&in, side, disk_kept_place(of->files[order[side / 2]].place));
    return (state_key){hash_bytes(in.bytes, in.n),
                       hash_seeded(UINT64_C(0x5851F42D4C957F2D), in.bytes, in.n)};
}

state_key state_key_of(const state *of, const content *contents, int keys)
{
    static const int ORDERS[][FILES] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    state_key lowest = {UINT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof ORDERS / sizeof *ORDERS; i++) {
        state_key key = key_in_order(of, contents, keys, ORDERS[i]);
        if (key.low < lowest.low || (key.low == lowest.low && key.high < lowest.high)) lowest = key;
    }
    return lowest;
}

int state_free_operation(const state *of, int file)
{
    uint32_t used = 0;
    for (int i = 0; i < FILES; i++)
        for (int key = 0; key < MOST_KEYS; key++)
            used |= of->files[i].shows.cells[key].set | of->files[i].showed.cells[key].set;
    int at = OPERATIONS_OF_A_FILE * file;
    while (used >> at & 1) at++;
    if (at >= OPERATIONS_OF_A_FILE * (file + 1)) abort();
    return at;
}
