/* fuzz_row_cell.c - any bytes as row cells: what opens is written again by the same bytes, and two
 * of them join to one, whichever is first.
 *
 *     byte 0     0: as stored in a file, by the numbers of columns; 1: as in a feed, by names
 *     byte 1     the size of the first of two row cells; the second is the rest
 *
 * The writers 1 ... 200 are known. A stored cell is read with the fewest columns that it names, and
 * again with all COLUMNS.
 */
#include "core/core.h"
#include "fuzz.h"

enum { COLUMNS = 12, WRITERS = 200 };

/* A row cell and, if it is from a feed, the names of its columns. */
typedef struct row {
    ctr_row_cell cell;
    ctr_row_column *names;
} row;

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

static row make_row(int columns)
{
    row made = {.cell = {.n = columns}};
    made.cell.columns = fuzz_room((size_t)columns, sizeof *made.cell.columns);
    made.names = fuzz_room((size_t)columns, sizeof *made.names);
    return made;
}

static row copy_row(const row *from)
{
    row to = make_row(from->cell.n);
    ctr_column_stamp *columns = to.cell.columns;
    memcpy(columns, from->cell.columns, (size_t)from->cell.n * sizeof *columns);
    memcpy(to.names, from->names, (size_t)from->cell.n * sizeof *to.names);
    to.cell = from->cell;
    to.cell.columns = columns;
    return to;
}

static void free_row(row *gone)
{
    free(gone->cell.columns);
    free(gone->names);
}

static bool same_stamp(const ctr_stamp *a, const ctr_stamp *b)
{
    if (!a || !b) return !a && !b;
    return a->number == b->number && memcmp(a->id, b->id, CTR_ID_SIZE) == 0;
}

static bool same_cell(const ctr_row_cell *a, const ctr_row_cell *b)
{
    if (a->life != b->life || a->n != b->n) return false;
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
    row back = make_row(cell->n);
    uint8_t *out = fuzz_room(ctr_row_cell_room(cell->n), 1);
    size_t size = ctr_row_cell_write(cell, &MAP, out);
    uint8_t *exact = fuzz_copy(out, size);
    fuzz_assert(ctr_row_cell_read(&back.cell, &MAP, exact, size) == CTR_OK);
    fuzz_assert(same_cell(&back.cell, cell));
    free(exact);
    free(out);
    free_row(&back);
}

static bool read_stored(row *to, const uint8_t *bytes, size_t size)
{
    bool good = ctr_row_cell_read(&to->cell, &MAP, bytes, size) == CTR_OK;
    for (int fewest = 0; good && fewest <= COLUMNS; fewest++) {
        row least = make_row(fewest);
        good = ctr_row_cell_read(&least.cell, &MAP, bytes, size) != CTR_OK;
        uint8_t *out = fuzz_room(ctr_row_cell_room(fewest), 1);
        if (!good)
            fuzz_assert(fuzz_same(out, ctr_row_cell_write(&least.cell, &MAP, out), bytes, size));
        for (int i = fewest; !good && i < COLUMNS && ctr_row_cell_is_live(&to->cell); i++)
            fuzz_assert(!ctr_row_cell_stamp(&to->cell, i));
        free(out);
        free_row(&least);
        if (!good) return true;
    }
    return false;
}

static void write_image_again(const ctr_row_image *image, const row *of, const uint8_t *bytes,
                              size_t size)
{
    size_t room = CTR_ROW_HEADER_MAX + size, values = (size_t)(image->end - image->values);
    for (int i = 0; i < of->cell.n; i++) room += CTR_ROW_COLUMN_MAX + of->names[i].size;
    uint8_t *out = fuzz_room(room, 1);
    uint8_t *end = ctr_row_cell_begin(out, image->life, &image->row, (uint64_t)image->n);
    for (int i = 0; i < of->cell.n; i++) end = ctr_row_cell_put(end, &of->names[i]);
    if (values > 0) memcpy(end, image->values, values);
    fuzz_assert(fuzz_same(out, (size_t)(end - out) + values, bytes, size));
    free(out);
}

static bool read_image(row *to, const uint8_t *bytes, size_t size)
{
    ctr_row_image image, walk;
    if (ctr_row_cell_open(&image, bytes, size) != CTR_OK) return false;
    free_row(to);
    *to = make_row(image.n);
    to->cell.life = image.life;
    to->cell.row = image.row;
    int n = 0;
    for (walk = image; n < image.n && ctr_row_cell_next(&walk, &to->names[n]); n++)
        to->cell.columns[n] = to->names[n].stamp;
    fuzz_assert(n == image.n && (n == 0 || ctr_row_cell_is_live(&to->cell)));
    write_image_again(&image, to, bytes, size);
    return true;
}

/* A write wins over what it replaces, wherever that comes from; the next life over all. */
static void check_changes(const row *before)
{
    bool *all = fuzz_room((size_t)before->cell.n, 1), *taken = fuzz_room((size_t)before->cell.n, 1);
    int *map = fuzz_room((size_t)before->cell.n, sizeof *map);
    row now = copy_row(before);
    for (int i = 0; i < now.cell.n; i++) all[i] = i % 2, map[i] = i;
    ctr_stamp stamp = {.number = ctr_row_cell_highest(&now.cell), .id = {9}};
    fuzz_assert(ctr_row_cell_highest_of(&now.cell, all) <= stamp.number);
    if (stamp.number < INT64_MAX) stamp.number++;
    if (ctr_row_cell_is_live(&now.cell) && stamp.number <= CTR_STAMP_MAX) {
        ctr_row_cell_set(&now.cell, all, &stamp);
        row written = copy_row(&now);
        fuzz_assert(ctr_row_cell_join(&now.cell, &before->cell, map, taken) == CTR_ROW_MERGES);
        fuzz_assert(same_cell(&now.cell, &written.cell));
        free_row(&written);
    }
    uint32_t life = now.cell.life;
    if (ctr_row_cell_is_live(&now.cell) && ctr_row_cell_delete(&now.cell) == CTR_OK)
        fuzz_assert(now.cell.life == life + 1 && ctr_row_cell_highest(&now.cell) == 0);
    if (ctr_row_cell_insert(&now.cell, &stamp) == CTR_OK) {
        fuzz_assert(ctr_row_cell_is_live(&now.cell) && now.cell.life >= life);
        row written = copy_row(&now);
        if (now.cell.life > life) {
            fuzz_assert(ctr_row_cell_join(&now.cell, &before->cell, map, taken) == CTR_ROW_STAYS);
            fuzz_assert(same_cell(&now.cell, &written.cell));
        }
        free_row(&written);
    }
    free_row(&now);
    free(map);
    free(taken);
    free(all);
}

/* ---- two cells ------------------------------------------------------------------------------- */

/* For each column of `a` the one of `b` with its number or, in a feed, its name; else -1. */
static int *map_columns(const row *a, const row *b, bool by_name)
{
    int *map = fuzz_room((size_t)a->cell.n, sizeof *map);
    for (int i = 0; i < a->cell.n; i++) {
        map[i] = by_name ? -1 : i;
        for (int k = 0; by_name && k < b->cell.n; k++)
            if (fuzz_same(a->names[i].name, a->names[i].size, b->names[k].name, b->names[k].size))
                map[i] = k;
    }
    return map;
}

static row join(const row *a, const row *b, bool by_name)
{
    row both = copy_row(a);
    bool *taken = fuzz_room((size_t)a->cell.n, 1);
    int *map = map_columns(a, b, by_name);
    ctr_row_outcome outcome = ctr_row_cell_join(&both.cell, &b->cell, map, taken);
    bool live = ctr_row_cell_is_live(&both.cell), same_life = a->cell.life == both.cell.life;
    fuzz_assert((outcome == CTR_ROW_REPLACED) == (b->cell.life > a->cell.life));
    fuzz_assert((outcome == CTR_ROW_MERGES) == (a->cell.life == b->cell.life && live));
    for (int i = 0; i < a->cell.n; i++) {
        const ctr_stamp *now = live ? ctr_row_cell_stamp(&both.cell, i) : NULL;
        const ctr_stamp *here = live && same_life ? ctr_row_cell_stamp(&a->cell, i) : NULL;
        fuzz_assert(taken[i] == (now && !same_stamp(now, here)));
        fuzz_assert(!here || (now && !ctr_row_cell_beats(here, now)));
    }
    free(map);
    free(taken);
    return both;
}

static void check_pair(const row *a, const row *b, bool by_name)
{
    row ab = join(a, b, by_name), ba = join(b, a, by_name);
    int *map = map_columns(&ab, &ba, by_name);
    fuzz_assert(ab.cell.life == ba.cell.life);
    fuzz_assert(same_stamp(&ab.cell.row, &ba.cell.row));
    for (int i = 0; i < ab.cell.n && ctr_row_cell_is_live(&ab.cell); i++)
        if (map[i] >= 0)
            fuzz_assert(
                same_stamp(ctr_row_cell_stamp(&ab.cell, i), ctr_row_cell_stamp(&ba.cell, map[i])));
    row again = join(&ab, b, by_name), back = join(&ab, a, by_name);
    fuzz_assert(same_cell(&again.cell, &ab.cell));
    fuzz_assert(same_cell(&back.cell, &ab.cell));
    if (!by_name) check_written(&ab.cell);
    free(map);
    free_row(&back);
    free_row(&again);
    free_row(&ba);
    free_row(&ab);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    bool by_name = data[0] & 1;
    size_t sizes[2] = {data[1] < size - 1 ? data[1] : size - 2, 0};
    sizes[1] = size - 2 - sizes[0];
    const uint8_t *at = data + 2;
    uint8_t *bytes[2];
    row rows[2];
    bool opens[2];
    for (int i = 0; i < 2; at += sizes[i], i++) {
        bytes[i] = fuzz_copy(at, sizes[i]);
        rows[i] = make_row(COLUMNS);
        opens[i] = (by_name ? read_image : read_stored)(&rows[i], bytes[i], sizes[i]);
        if (opens[i] && !by_name) check_written(&rows[i].cell);
        if (opens[i]) check_changes(&rows[i]);
    }
    if (opens[0] && opens[1]) check_pair(&rows[0], &rows[1], by_name);
    for (int i = 0; i < 2; i++) {
        free_row(&rows[i]);
        free(bytes[i]);
    }
    return 0;
}
