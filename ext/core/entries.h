/* core/entries.h - the rows of a journal: the changes of transactions, and their summaries.
 *
 * A transaction appends a row of level 0. Its entries are in the order of the changes:
 *
 *     byte 0    0xE2: entries of a journal (high half) of format 2 (low half)
 *     row       zigzag varint: the difference to the row of the previous entry, or to 0
 *     code      varint
 *                 0          the row is new, or has changed; the change was made here
 *                 1          all amounts and stamps before this were folded into the cells, or rows
 *                            were removed. Later ones in the same row of the journal were carried
 *                            over: no cell has them, and their change is older
 *                 2, 3       as 0: the change was pulled from a file, or came with a feed
 *                 4          regular columns of the row were written here: their stamps have the
 *                            number of this row of the journal, or their own (core/row_cell.h)
 *                 5          the row cell was written here: it has the stamps before this
 *                 6 + 5 c    counter c was incremented by n, at one tick of the clock
 *                 7 + 5 c    the same at several ticks
 *                 8 + 5 c    the cell of counter c was written: it has the amounts before this;
 *                            the change was made here
 *                 9 + 5 c    the same: it was pulled; 10 + 5 c: it came with a feed
 *     n         zigzag varint, for an increment
 *     ticks     varint, 2 ... 2^63-1, for an increment at several ticks
 *     word      varint, for stamps: 2 w, plus 1 if a number follows the mask
 *     mask      varint, for stamps, 1 ... 2^60-1: bit b is regular column 60 w + b
 *     number    varint, for stamps that were carried over: 1 ... 2^63-1
 *
 * Segments, the rows of higher levels, have no amounts. They list the changed rows with the numbers
 * of their last changes and the origins of all changes, in groups of one number and the same
 * origins, the highest number first, in one number the lowest origins:
 *
 *     byte 0    0xE2
 *     number    varint: the number of the group before minus this one; 0 in the first group, which
 *               has the number of the segment
 *     n         varint: 8 times the count of rows in the group, 1 or more; plus their origins, a
 *               sum of 1 (made here), 2 (pulled), 4 (came with a feed)
 *     rows      the first as zigzag varint, each other as varint: its difference to the one before
 *
 * Nothing in this file allocates. The bytes may come from anywhere: a walk finds every fault.
 */
#ifndef CTR_CORE_ENTRIES_H
#define CTR_CORE_ENTRIES_H

#include "counter_cell.h"

enum {
    CTR_ENTRIES_HEADER = 1,
    CTR_ENTRY_MAX = 40,           /* bytes of the longest entry, and of a row in a segment */
    CTR_ENTRY_COUNTERS = 1 << 15, /* a counter, or a regular column, has a lower number than this */
    CTR_ENTRY_MASK = 60           /* regular columns in a mask */
};

typedef enum ctr_entry_kind {
    CTR_ENTRY_CHANGED,
    CTR_ENTRY_FOLDED,
    CTR_ENTRY_ADDED,
    CTR_ENTRY_WRITTEN,
    CTR_ENTRY_STAMPED,
    CTR_ENTRY_ROW_WRITTEN
} ctr_entry_kind;

/* The origins of a change: whoever takes a change from this file asks for some of them. */
typedef enum ctr_origin { CTR_MADE_HERE = 1, CTR_PULLED = 2, CTR_FED = 4 } ctr_origin;

typedef struct ctr_entry {
    int64_t row;
    ctr_entry_kind kind;
    ctr_origin origin; /* CTR_MADE_HERE for all but CTR_ENTRY_CHANGED and CTR_ENTRY_WRITTEN */
    int counter;       /* of CTR_ENTRY_ADDED and CTR_ENTRY_WRITTEN */
    int64_t n, ticks;  /* of CTR_ENTRY_ADDED */
    int word;          /* of CTR_ENTRY_STAMPED, with `mask` */
    uint64_t mask;
    int64_t number; /* 0: that of the row of the journal */
} ctr_entry;

/* Begin entries, and append one; both return the end of the entries. `last` is the row of the entry
 * before, 0 at first. */
uint8_t *ctr_entries_begin(uint8_t *out);
uint8_t *ctr_entries_put(uint8_t *out, int64_t *last, const ctr_entry *entry);

/* Walks entries, or a segment. */
typedef struct ctr_entries {
    const uint8_t *at, *end;
    ctr_status status; /* CTR_OK, or the fault that ended the walk */
    int64_t row;
    int64_t number; /* in a segment: the number of the group */
    int origins;    /* in a segment: those of the group */
    uint64_t left;  /* rows that remain in the group */
    bool begun;     /* a segment: its first group has been entered */
} ctr_entries;

/* Returns CTR_NOT_A_CELL if these are no entries. */
ctr_status ctr_entries_open(ctr_entries *entries, const uint8_t *bytes, size_t size);

/* Reads the next entry. Returns false at the end or at a fault. */
bool ctr_entries_next(ctr_entries *entries, ctr_entry *entry);

/* A row, the number of its last change, and the origins of its changes: a sum of ctr_origin. */
typedef struct ctr_change_of_row {
    int64_t row, number;
    int origins;
} ctr_change_of_row;

/* The same for a segment with this number: open it, and read its rows one by one. */
ctr_status ctr_entries_segment_open(ctr_entries *entries, const uint8_t *bytes, size_t size,
                                    int64_t number);
bool ctr_entries_segment_next(ctr_entries *entries, ctr_change_of_row *change);

/* Passes over rows of the group at hand that are lower than `row`: the next one may still be. */
void ctr_entries_segment_pass(ctr_entries *entries, int64_t row);

/* Writes a segment of n changes, 1 or more, in descending order of numbers and, within a number, in
 * ascending order of rows. Returns its size. Room: CTR_ENTRIES_HEADER + n * CTR_ENTRY_MAX. */
size_t ctr_entries_segment_write(const ctr_change_of_row *changes, size_t n, uint8_t *out);

/* Returns a clause that follows a noun, for a status of entries. Static text. */
const char *ctr_entries_status_text(ctr_status status);

#endif
