/* store/buffer.h - rows that a transaction has counted in, until they are written.
 *
 * An INSERT or UPDATE finds its row once in a transaction and leaves it here; the next ones to the
 * same key add to the cells in memory. In the end each row is written once, in the order of
 * storage.
 *
 *     by spelling   the values of a key as they were given -> entry; a key may be spelled in
 *                   several ways ('a' and 'A' under NOCASE), of which an entry has the first
 *     by row id     -> the same entries
 *     blocks        entries, spellings and cells, freed all at once
 *
 * Nothing here runs SQL; deferred.c decides what is kept and when it is written.
 */
#ifndef CTR_STORE_BUFFER_H
#define CTR_STORE_BUFFER_H

#include "counter_cell.h"
#include "store/problem.h"

/* How much may be kept: of one table, in one connection. */
#ifndef CTR_BUFFER_ROWS
#define CTR_BUFFER_ROWS 16384
#endif
#define CTR_BUFFER_BYTES (8u << 20)

typedef struct ctr_entry {
    int64_t rowid, number; /* as it is stored */
    uint64_t hash;
    const uint8_t *spelling;
    size_t spelling_size;
    bool dirty;
    struct ctr_kept_cell {
        ctr_cell cell;
        uint8_t *room;
        size_t capacity;
        size_t at; /* for ctr_cell_increment_again */
        bool dirty;
    } cells[]; /* by counter */
} ctr_entry;

typedef struct ctr_buffer {
    int n_counters;
    ctr_entry **entries;
    size_t n;
    ctr_entry **by_spelling, **by_rowid;
    size_t slots; /* a power of two, or 0 */
    struct ctr_block *blocks;
    size_t bytes;
} ctr_buffer;

uint64_t ctr_buffer_hash(const uint8_t *spelling, size_t size);

/* NULL if there is none. */
ctr_entry *ctr_buffer_spelled(const ctr_buffer *buffer, uint64_t hash, const uint8_t *spelling,
                              size_t size);
ctr_entry *ctr_buffer_row(const ctr_buffer *buffer, int64_t rowid);

/* Keeps a row that is not there, with copies of its cells and of the spelling; 0 bytes of that: it
 * will be looked for by row id alone. NULL and a problem if there is no memory. */
ctr_entry *ctr_buffer_add(ctr_buffer *buffer, int64_t rowid, int64_t number, const ctr_cell *cells,
                          uint64_t hash, const uint8_t *spelling, size_t size,
                          ctr_problem *problem);

/* Makes room for a new cell of an entry, and changes nothing; then it becomes the one with these
 * bytes, which are copied; 0 of them: untouched. */
int ctr_buffer_reserve(ctr_buffer *buffer, ctr_entry *entry, int counter, size_t size,
                       ctr_problem *problem);
void ctr_buffer_set(ctr_entry *entry, int counter, const uint8_t *bytes, size_t size);

bool ctr_buffer_is_full(const ctr_buffer *buffer);

/* Puts the entries into the order of their row ids. */
void ctr_buffer_sort(ctr_buffer *buffer);

/* Forgets all entries and frees their memory; small tables of look-ups stay for the next ones. */
void ctr_buffer_clear(ctr_buffer *buffer);

#endif
