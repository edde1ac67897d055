/* oracle.h - what a file must show, by definition.
 *
 * Of each key a file knows a life and the set of increments that it has seen in it; operation i
 * adds 2^i, so the value of a counter is its set. Of two lives the higher one wins whole, in one
 * life sets are united, and below a floor there is nothing.
 */
#ifndef MODEL_ORACLE_H
#define MODEL_ORACLE_H

#include "content.h"

typedef struct oracle_cell {
    uint32_t life, set;
} oracle_cell;

typedef struct oracle {
    oracle_cell cells[MOST_KEYS];
    bool floor; /* key 1 is below it */
} oracle;

static inline oracle oracle_empty(void)
{
    oracle of = {.floor = false};
    for (int key = 0; key < MOST_KEYS; key++) of.cells[key].life = 1;
    return of;
}

static inline bool oracle_is_below(const oracle *of, int key)
{
    return of->floor && key == 0;
}

static inline bool oracle_shows(const oracle *of, int key)
{
    const oracle_cell *cell = &of->cells[key];
    return cell->life % 2 && (cell->life > 1 || cell->set);
}

/* Each is false where the file must refuse. */
static inline bool oracle_increment(oracle *of, int key, int operation)
{
    if (oracle_is_below(of, key)) return false;
    of->cells[key].life += of->cells[key].life % 2 == 0; /* a deleted row begins its next life */
    of->cells[key].set |= (uint32_t)1 << operation;
    return true;
}

static inline bool oracle_delete(oracle *of, int key)
{
    if (oracle_shows(of, key)) of->cells[key] = (oracle_cell){of->cells[key].life + 1, 0};
    return true;
}

static inline bool oracle_reset(oracle *of, int key)
{
    if (oracle_is_below(of, key)) return false;
    uint32_t life = of->cells[key].life;
    of->cells[key] = (oracle_cell){life + (life % 2 ? 2 : 1), 0};
    return true;
}

static inline void oracle_raise_floor(oracle *of)
{
    of->floor = true;
    of->cells[0] = (oracle_cell){1, 0};
}

static inline void oracle_merge(oracle *into, const oracle *from)
{
    for (int key = 0; key < MOST_KEYS; key++) {
        oracle_cell *mine = &into->cells[key];
        const oracle_cell *theirs = &from->cells[key];
        if (theirs->life > mine->life)
            *mine = *theirs;
        else if (theirs->life == mine->life)
            mine->set |= theirs->set;
    }
    if (into->floor || from->floor) oracle_raise_floor(into);
}

static inline bool oracle_same(const oracle *a, const oracle *b)
{
    for (int key = 0; key < MOST_KEYS; key++)
        if (a->cells[key].life != b->cells[key].life || a->cells[key].set != b->cells[key].set)
            return false;
    return a->floor == b->floor;
}

/* Does the content show this, and nothing else? */
static inline bool oracle_agrees(const oracle *of, const content *is, int keys)
{
    for (int key = 0; key < keys; key++) {
        const oracle_cell *cell = &of->cells[key];
        const struct content_row *row = &is->rows[key];
        if ((row->present ? row->life : 1) != cell->life) return false;
        if (row->shown != oracle_shows(of, key)) return false;
        if (row->shown && row->value != cell->set) return false;
    }
    return of->floor == is->floor;
}

#endif
