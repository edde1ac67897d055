/* fuzz_row_cell.c - any bytes as row cells: what opens is written again by the same bytes, and two
 * of them join to one, whichever is first.
 *
 *     byte 0     the size of the first of two row cells, as stored in a file; the second is the rest
 *
 * The writers 1 ... 200 are known. A cell is read with the fewest columns that it names, and again
 * with all COLUMNS.
 */
#include "core/core.h"
#include "fuzz.h"

enum { COLUMNS = 12, WRITERS = 200 };

static const int SAME[COLUMNS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static uint64_t number_of(void *unused, const uint8_t id[CTR_ID_SIZE])
{
    (void)unused;
    return id[0];
}

static const uint8_t *id_of(void *unused, uint64_t number)
{
    static uint8_t id[CTR_ID_SIZE];
    (void)unused;
    id[0] = (uint8_t)number;
    return number >= 1 && number <= WRITERS ? id : NULL;
}

static const ctr_writer_map MAP = {number_of, id_of, NULL};

static ctr_row_cell make_cell(int columns)
{
    ctr_row_cell made = {.n = columns};
    made.columns = fuzz_room((size_t)columns, sizeof *made.columns);
    return made;
}

static ctr_row_cell copy_cell(const ctr_row_cell *from)
{
    ctr_row_cell to = *from;
    to.columns = fuzz_room((size_t)to.n, sizeof *to.columns);
    memcpy(to.columns, from->columns, (size_t)to.n * sizeof *to.columns);
    return to;
}

static bool same_stamp(const ctr_stamp *a, const ctr_stamp *b)
{
    if (!a || !b) return !a && !b;
    return a->number == b->number && memcmp(a->id, b->id, CTR_ID_SIZE) == 0;
}

static bool same_cell(const ctr_row_cell *a, const ctr_row_cell *b)
{
    if (a->life != b->life || a->n != b->n || a->born != b->born) return false;
    if (a->born && !same_stamp(&a->birth, &b->birth)) return false;
    if (!ctr_row_cell_is_live(a)) return true;
    if (!same_stamp(&a->row, &b->row)) return false;
    for (int i = 0; i < a->n; i++)
        if (!same_stamp(ctr_row_cell_stamp(a, i), ctr_row_cell_stamp(b, i))) return false;
    return true;
}

/* ---- one cell -------------------------------------------------------------------------------- */

/* What is written is within its bound, and comes back. */
static void check_written(const ctr_row_cell *cell)
{
    ctr_row_cell back = make_cell(cell->n);
    uint8_t *out = fuzz_room(ctr_row_cell_room(cell->n), 1);
    size_t size = ctr_row_cell_write(cell, &MAP, out);
    uint8_t *exact = fuzz_copy(out, size);
    fuzz_assert(ctr_row_cell_read(&back, &MAP, exact, size) == CTR_OK);
    fuzz_assert(same_cell(&back, cell));
    free(exact);
    free(out);
    free(back.columns);
}

static bool read_stored(ctr_row_cell *to, const uint8_t *bytes, size_t size)
{
    bool good = ctr_row_cell_read(to, &MAP, bytes, size) == CTR_OK;
    for (int fewest = 0; good && fewest <= COLUMNS; fewest++) {
        ctr_row_cell least = make_cell(fewest);
        good = ctr_row_cell_read(&least, &MAP, bytes, size) != CTR_OK;
        uint8_t *out = fuzz_room(ctr_row_cell_room(fewest), 1);
        if (!good) fuzz_assert(fuzz_same(out, ctr_row_cell_write(&least, &MAP, out), bytes, size));
        for (int i = fewest; !good && i < COLUMNS && ctr_row_cell_is_live(to); i++)
            fuzz_assert(!ctr_row_cell_stamp(to, i));
        free(out);
        free(least.columns);
        if (!good) return true;
    }
    return false;
}

/* A write wins over what it replaces, wherever that comes from; the next life over all. */
static void check_changes(const ctr_row_cell *before)
{
    bool *all = fuzz_room((size_t)before->n, 1), *taken = fuzz_room((size_t)before->n, 1);
    ctr_row_cell now = copy_cell(before);
    for (int i = 0; i < now.n; i++) all[i] = i % 2;
    ctr_stamp stamp = {.number = ctr_row_cell_highest(&now), .id = {9}};
    fuzz_assert(ctr_row_cell_highest_of(&now, all) <= stamp.number);
    if (stamp.number < INT64_MAX) stamp.number++;
    if (ctr_row_cell_is_live(&now) && stamp.number <= CTR_STAMP_MAX) {
        ctr_row_cell_set(&now, all, &stamp);
        ctr_row_cell written = copy_cell(&now);
        fuzz_assert(ctr_row_cell_join(&now, before, SAME, taken) == CTR_ROW_MERGES);
        fuzz_assert(same_cell(&now, &written));
        free(written.columns);
    }
    uint32_t life = now.life;
    if (ctr_row_cell_is_live(&now) && ctr_row_cell_delete(&now) == CTR_OK)
        fuzz_assert(now.life == life + 1 && ctr_row_cell_highest(&now) == 0);
    if (ctr_row_cell_insert(&now, &stamp) == CTR_OK) {
        fuzz_assert(ctr_row_cell_is_live(&now) && now.life >= life);
        ctr_row_cell written = copy_cell(&now);
        if (now.life > life) {
            fuzz_assert(ctr_row_cell_join(&now, before, SAME, taken) == CTR_ROW_STAYS);
            fuzz_assert(same_cell(&now, &written));
        }
        free(written.columns);
    }
    free(now.columns);
    free(taken);
    free(all);
}

/* ---- two cells ------------------------------------------------------------------------------- */

static ctr_row_cell join(const ctr_row_cell *a, const ctr_row_cell *b)
{
    ctr_row_cell both = copy_cell(a);
    bool *taken = fuzz_room((size_t)a->n, 1);
    ctr_row_outcome outcome = ctr_row_cell_join(&both, b, SAME, taken);
    int age = ctr_row_cell_age(a, b);
    bool live = ctr_row_cell_is_live(&both), stays = age < 0 || (age == 0 && a->life == both.life);
    fuzz_assert((outcome == CTR_ROW_REPLACED) == (age > 0 || (age == 0 && b->life > a->life)));
    fuzz_assert((outcome == CTR_ROW_MERGES) == (age == 0 && a->life == b->life && live));
    for (int i = 0; i < a->n; i++) {
        const ctr_stamp *now = live ? ctr_row_cell_stamp(&both, i) : NULL;
        const ctr_stamp *here = live && stays ? ctr_row_cell_stamp(a, i) : NULL;
        fuzz_assert(taken[i] == (now && !same_stamp(now, here)));
        fuzz_assert(!here || (now && !ctr_row_cell_beats(here, now)));
    }
    free(taken);
    return both;
}

static void check_pair(const ctr_row_cell *a, const ctr_row_cell *b)
{
    ctr_row_cell ab = join(a, b), ba = join(b, a);
    fuzz_assert(same_cell(&ab, &ba));
    ctr_row_cell again = join(&ab, b), back = join(&ab, a);
    fuzz_assert(same_cell(&again, &ab));
    fuzz_assert(same_cell(&back, &ab));
    check_written(&ab);
    free(back.columns);
    free(again.columns);
    free(ba.columns);
    free(ab.columns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    size_t sizes[2] = {data[0] < size ? data[0] : size - 1, 0};
    sizes[1] = size - 1 - sizes[0];
    const uint8_t *at = data + 1;
    uint8_t *bytes[2];
    ctr_row_cell cells[2];
    bool opens[2];
    for (int i = 0; i < 2; at += sizes[i], i++) {
        bytes[i] = fuzz_copy(at, sizes[i]);
        cells[i] = make_cell(COLUMNS);
        opens[i] = read_stored(&cells[i], bytes[i], sizes[i]);
        if (opens[i]) check_written(&cells[i]);
        if (opens[i]) check_changes(&cells[i]);
    }
    if (opens[0] && opens[1]) check_pair(&cells[0], &cells[1]);
    for (int i = 0; i < 2; i++) {
        free(cells[i].columns);
        free(bytes[i]);
    }
    return 0;
}
