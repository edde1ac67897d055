/* core/row_cell.c - joins, writes and reads the states of rows. */
#include "core/core.h"

#include <string.h>

/* ---- stamps ---------------------------------------------------------------------------------- */

bool ctr_row_cell_beats(const ctr_stamp *a, const ctr_stamp *b)
{
    if (a->number != b->number) return a->number > b->number;
    return memcmp(a->id, b->id, CTR_ID_SIZE) > 0;
}

static bool is_same(const ctr_stamp *a, const ctr_stamp *b)
{
    return a->number == b->number && memcmp(a->id, b->id, CTR_ID_SIZE) == 0;
}

int ctr_row_cell_age(const ctr_row_cell *a, const ctr_row_cell *b)
{
    if (a->born != b->born) return a->born ? 1 : -1;
    if (!a->born || is_same(&a->birth, &b->birth)) return 0;
    return ctr_row_cell_beats(&a->birth, &b->birth) ? 1 : -1;
}

const ctr_stamp *ctr_row_cell_stamp(const ctr_row_cell *cell, int column)
{
    const ctr_column_stamp *stamp = &cell->columns[column];
    if (stamp->kind == CTR_STAMP_NONE) return NULL;
    return stamp->kind == CTR_STAMP_OWN ? &stamp->own : &cell->row;
}

int64_t ctr_row_cell_highest_of(const ctr_row_cell *cell, const bool *mask)
{
    int64_t highest = 0;
    for (int i = 0; i < cell->n; i++) {
        const ctr_stamp *stamp = mask[i] ? ctr_row_cell_stamp(cell, i) : NULL;
        int64_t time = stamp ? ctr_stamp_time(stamp->number) : 0;
        if (time > highest) highest = time;
    }
    return highest;
}

const ctr_stamp *ctr_row_cell_newest(const ctr_row_cell *cell)
{
    const ctr_stamp *newest = &cell->row;
    for (int i = 0; i < cell->n; i++) {
        const ctr_column_stamp *column = &cell->columns[i];
        if (column->kind == CTR_STAMP_OWN &&
            ctr_stamp_time(column->own.number) > ctr_stamp_time(newest->number))
            newest = &column->own;
    }
    return newest;
}

int64_t ctr_row_cell_highest(const ctr_row_cell *cell)
{
    return ctr_row_cell_is_live(cell) ? ctr_stamp_time(ctr_row_cell_newest(cell)->number) : 0;
}

/* The stamp of a column beside that of the row. */
static ctr_column_stamp beside_row(const ctr_stamp *stamp, const ctr_stamp *row)
{
    if (!stamp) return (ctr_column_stamp){.kind = CTR_STAMP_NONE};
    if (is_same(stamp, row)) return (ctr_column_stamp){.kind = CTR_STAMP_OF_ROW};
    return (ctr_column_stamp){.kind = CTR_STAMP_OWN, .own = *stamp};
}

/* ---- writes ---------------------------------------------------------------------------------- */

/* All columns have the stamp of the row from now on. */
static void stamp_with_row(ctr_row_cell *cell)
{
    for (int i = 0; i < cell->n; i++)
        cell->columns[i] = (ctr_column_stamp){.kind = CTR_STAMP_OF_ROW};
}

ctr_status ctr_row_cell_insert(ctr_row_cell *cell, const ctr_stamp *stamp)
{
    bool live = ctr_row_cell_is_live(cell);
    if (!live && cell->life >= CTR_ROW_LIFE_MAX) return CTR_LAST_LIFE;
    if (!live) cell->life++;
    if (!live) stamp_with_row(cell);
    cell->row = *stamp;
    for (int i = 0; i < cell->n; i++) ctr_row_cell_set_column(cell, i, stamp);
    return CTR_OK;
}

void ctr_row_cell_set_column(ctr_row_cell *cell, int column, const ctr_stamp *stamp)
{
    ctr_stamp written = *stamp;
    const ctr_stamp *before = ctr_row_cell_stamp(cell, column);
    int64_t generation = before ? ctr_stamp_generation(before->number) : 0;
    written.number = ctr_stamp_number(generation, ctr_stamp_time(stamp->number));
    cell->columns[column] = beside_row(&written, &cell->row);
}

void ctr_row_cell_raise(ctr_row_cell *cell, int column, int64_t generation)
{
    const ctr_stamp *stamp = ctr_row_cell_stamp(cell, column);
    if (!stamp || ctr_stamp_generation(stamp->number) >= generation) return;
    ctr_stamp raised = *stamp;
    raised.number = ctr_stamp_number(generation, ctr_stamp_time(stamp->number));
    cell->columns[column] = (ctr_column_stamp){.kind = CTR_STAMP_OWN, .own = raised};
}

void ctr_row_cell_set(ctr_row_cell *cell, const bool *mask, const ctr_stamp *stamp)
{
    for (int i = 0; i < cell->n; i++)
        if (mask[i]) ctr_row_cell_set_column(cell, i, stamp);
}

ctr_status ctr_row_cell_delete(ctr_row_cell *cell)
{
    if (cell->life >= CTR_ROW_LIFE_MAX) return CTR_LAST_LIFE;
    cell->life++;
    cell->row = (ctr_stamp){0};
    stamp_with_row(cell);
    return CTR_OK;
}

/* ---- the join -------------------------------------------------------------------------------- */

static void take_all(ctr_row_cell *mine, const ctr_row_cell *theirs, const int *map, bool *taken)
{
    mine->life = theirs->life;
    mine->born = theirs->born;
    mine->birth = theirs->birth;
    mine->row = theirs->row;
    bool live = ctr_row_cell_is_live(theirs);
    for (int i = 0; i < mine->n; i++) {
        ctr_column_stamp none = {.kind = live ? CTR_STAMP_NONE : CTR_STAMP_OF_ROW};
        mine->columns[i] = live && map[i] >= 0 ? theirs->columns[map[i]] : none;
        taken[i] = live && mine->columns[i].kind != CTR_STAMP_NONE;
    }
}

ctr_row_outcome ctr_row_cell_join(ctr_row_cell *mine, const ctr_row_cell *theirs, const int *map,
                                  bool *taken)
{
    memset(taken, 0, (size_t)mine->n * sizeof *taken);
    int age = mine->life > 0 && theirs->life > 0 ? ctr_row_cell_age(mine, theirs) : 0;
    if (age < 0 || (age == 0 && theirs->life < mine->life)) return CTR_ROW_STAYS;
    if (age > 0 || theirs->life > mine->life) {
        take_all(mine, theirs, map, taken);
        return CTR_ROW_REPLACED;
    }
    if (!ctr_row_cell_is_live(mine)) return CTR_ROW_STAYS;
    ctr_stamp before = mine->row;
    if (ctr_row_cell_beats(&theirs->row, &mine->row)) mine->row = theirs->row;
    for (int i = 0; i < mine->n; i++) {
        ctr_column_stamp *column = &mine->columns[i];
        const ctr_stamp own = column->own;
        const ctr_stamp *here = column->kind == CTR_STAMP_NONE  ? NULL
                                : column->kind == CTR_STAMP_OWN ? &own
                                                                : &before;
        const ctr_stamp *there = map[i] >= 0 ? ctr_row_cell_stamp(theirs, map[i]) : NULL;
        taken[i] = there && (!here || ctr_row_cell_beats(there, here));
        *column = beside_row(taken[i] ? there : here, &mine->row);
    }
    return CTR_ROW_MERGES;
}

/* ---- values that were lost ------------------------------------------------------------------- */

/* Returns whether both are in the same life of one row, and live. */
static bool is_one_life(const ctr_row_cell *a, const ctr_row_cell *b)
{
    return a->life == b->life && ctr_row_cell_is_live(a) && ctr_row_cell_age(a, b) == 0;
}

bool ctr_row_cell_lacks(const ctr_row_cell *mine, const ctr_row_cell *theirs, const int *map)
{
    bool any = false, all = true;
    if (!is_one_life(mine, theirs)) return false;
    bool one_insert = is_same(&mine->row, &theirs->row);
    for (int i = 0; i < mine->n; i++) {
        if (map[i] < 0) continue;
        bool none = theirs->columns[map[i]].kind == CTR_STAMP_NONE;
        bool lacks = none && mine->columns[i].kind != CTR_STAMP_NONE;
        if (lacks && one_insert && mine->columns[i].kind == CTR_STAMP_OF_ROW) return true;
        any = any || lacks;
        all = all && none;
    }
    return any && all;
}

/* ---- rows that were there when replication began --------------------------------------------- */

static bool is_of_beginning(const ctr_stamp *stamp)
{
    return stamp && stamp->number <= CTR_STAMP_BEGAN_MAX;
}

bool ctr_row_cell_began_apart(const ctr_row_cell *mine, const ctr_row_cell *theirs, const int *map,
                              bool *apart)
{
    bool any = false;
    if (!is_one_life(mine, theirs)) return false;
    if (!is_of_beginning(&mine->row) && !is_of_beginning(&theirs->row)) return false;
    memset(apart, 0, (size_t)mine->n * sizeof *apart);
    for (int i = 0; i < mine->n; i++) {
        if (map[i] < 0) continue;
        const ctr_stamp *here = ctr_row_cell_stamp(mine, i),
                        *there = ctr_row_cell_stamp(theirs, map[i]);
        bool added =
            mine->columns[i].kind == CTR_STAMP_OWN && theirs->columns[map[i]].kind == CTR_STAMP_OWN;
        apart[i] = !added && is_of_beginning(here) && is_of_beginning(there) &&
                   here->number == there->number && !is_same(here, there);
        any = any || apart[i];
    }
    return any;
}

static bool begin_stamp_again(ctr_stamp *stamp, bool next, const uint8_t id[CTR_ID_SIZE])
{
    if (!is_of_beginning(stamp)) return false;
    if (next && stamp->number < CTR_STAMP_BEGAN_MAX) stamp->number++;
    if (!next && stamp->number > 0) stamp->number--;
    memcpy(stamp->id, id, CTR_ID_SIZE);
    return true;
}

bool ctr_row_cell_begin_again(ctr_row_cell *cell, bool next, const uint8_t id[CTR_ID_SIZE])
{
    bool any = begin_stamp_again(&cell->row, next, id);
    for (int i = 0; i < cell->n; i++) {
        ctr_column_stamp *column = &cell->columns[i];
        if (column->kind != CTR_STAMP_OWN) continue;
        any = begin_stamp_again(&column->own, next, id) || any;
        *column = beside_row(&column->own, &cell->row);
    }
    return any;
}

/* ---- as stored ------------------------------------------------------------------------------- */

typedef enum birth_kind { BIRTH_NONE, BIRTH_OF_ROW, BIRTH_OWN, BIRTH_KINDS = 4 } birth_kind;

static birth_kind birth_of(const ctr_row_cell *cell)
{
    if (!cell->born) return BIRTH_NONE;
    bool is_of_row = ctr_row_cell_is_live(cell) && is_same(&cell->birth, &cell->row);
    return is_of_row ? BIRTH_OF_ROW : BIRTH_OWN;
}

static uint8_t *put_short_stamp(uint8_t *out, const ctr_stamp *stamp, const ctr_writer_map *writers)
{
    out = ctr_varint_put(out, (uint64_t)stamp->number);
    return ctr_varint_put(out, writers->number(writers->with, stamp->id));
}

size_t ctr_row_cell_write(const ctr_row_cell *cell, const ctr_writer_map *writers, uint8_t *out)
{
    uint8_t *at = ctr_varint_put(out, cell->life);
    bool live = ctr_row_cell_is_live(cell);
    birth_kind birth = birth_of(cell);
    if (live) at = put_short_stamp(at, &cell->row, writers);
    if (live) at = ctr_varint_put(at, (uint64_t)cell->n * BIRTH_KINDS + birth);
    if (birth == BIRTH_OWN) at = put_short_stamp(at, &cell->birth, writers);
    if (!live) return (size_t)(at - out);
    for (int i = 0; i < cell->n; i++) {
        const ctr_column_stamp *column = &cell->columns[i];
        if (column->kind == CTR_STAMP_OF_ROW) continue;
        at = ctr_varint_put(at, 2 * (uint64_t)i + (column->kind == CTR_STAMP_NONE));
        if (column->kind == CTR_STAMP_OWN) at = put_short_stamp(at, &column->own, writers);
    }
    return (size_t)(at - out);
}

static ctr_status take_up_to(const uint8_t **at, const uint8_t *end, uint64_t most, uint64_t *n)
{
    ctr_status status = ctr_varint_take(at, end, n);
    return status == CTR_OK && *n > most ? CTR_OUT_OF_RANGE : status;
}

static ctr_status take_short_stamp(const uint8_t **at, const uint8_t *end,
                                   const ctr_writer_map *writers, ctr_stamp *stamp)
{
    uint64_t number, writer;
    ctr_status status = take_up_to(at, end, INT64_MAX, &number);
    if (status == CTR_OK && ctr_stamp_time((int64_t)number) > CTR_STAMP_MAX)
        return CTR_OUT_OF_RANGE;
    if (status == CTR_OK) status = ctr_varint_take(at, end, &writer);
    if (status != CTR_OK) return status;
    const uint8_t *id = writers->id(writers->with, writer);
    if (!id) return CTR_OUT_OF_RANGE;
    stamp->number = (int64_t)number;
    memcpy(stamp->id, id, CTR_ID_SIZE);
    return CTR_OK;
}

static ctr_status take_life(const uint8_t **at, const uint8_t *end, uint32_t *life)
{
    uint64_t n = 0;
    ctr_status status = take_up_to(at, end, CTR_ROW_LIFE_MAX, &n);
    *life = (uint32_t)n;
    return status == CTR_OK && n == 0 ? CTR_OUT_OF_RANGE : status;
}

static ctr_status read_columns(ctr_row_cell *cell, uint64_t known, const uint8_t *at,
                               const uint8_t *end, const ctr_writer_map *writers)
{
    uint64_t next = 0;
    for (int i = (int)known; i < cell->n; i++)
        cell->columns[i] = (ctr_column_stamp){.kind = CTR_STAMP_NONE};
    while (at < end) {
        uint64_t code;
        ctr_status status = ctr_varint_take(&at, end, &code);
        if (status == CTR_OK && code / 2 < next) status = CTR_UNSORTED;
        if (status == CTR_OK && code / 2 >= known) status = CTR_OUT_OF_RANGE;
        if (status != CTR_OK) return status;
        ctr_column_stamp *column = &cell->columns[code / 2];
        column->kind = code % 2 ? CTR_STAMP_NONE : CTR_STAMP_OWN;
        if (code % 2 == 0) status = take_short_stamp(&at, end, writers, &column->own);
        if (status != CTR_OK) return status;
        next = code / 2 + 1;
    }
    return CTR_OK;
}

ctr_status ctr_row_cell_read(ctr_row_cell *cell, const ctr_writer_map *writers,
                             const uint8_t *bytes, size_t size)
{
    const uint8_t *at = bytes, *end = bytes + size;
    uint64_t known = 0, birth = BIRTH_OWN;
    cell->row = cell->birth = (ctr_stamp){0};
    stamp_with_row(cell);
    ctr_status status = take_life(&at, end, &cell->life);
    if (status != CTR_OK) return status;
    bool live = ctr_row_cell_is_live(cell);
    if (!live && at == end) birth = BIRTH_NONE;
    if (live) status = take_short_stamp(&at, end, writers, &cell->row);
    if (live && status == CTR_OK)
        status = take_up_to(&at, end, (uint64_t)cell->n * BIRTH_KINDS + BIRTH_OWN, &known);
    if (live) birth = known % BIRTH_KINDS;
    cell->born = birth != BIRTH_NONE;
    if (birth == BIRTH_OF_ROW) cell->birth = cell->row;
    if (status == CTR_OK && birth >= BIRTH_OWN)
        status = birth > BIRTH_OWN ? CTR_OUT_OF_RANGE
                                   : take_short_stamp(&at, end, writers, &cell->birth);
    if (status == CTR_OK && birth != birth_of(cell)) status = CTR_OUT_OF_RANGE; /* told twice */
    if (status != CTR_OK) return status;
    if (!live) return at == end ? CTR_OK : CTR_TRAILING;
    return read_columns(cell, known / BIRTH_KINDS, at, end, writers);
}

const char *ctr_row_cell_status_text(ctr_status status)
{
    switch (status) {
    case CTR_OUT_OF_RANGE: return "has a number or a kind that is out of range";
    case CTR_UNSORTED: return "has columns that are not in order";
    default: return ctr_status_text(status);
    }
}
