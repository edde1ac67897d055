/* core/entries.h - the rows of a journal: what a transaction has changed, and what is left of that.
 *
 * A row of level 0 is what a transaction has appended. Its entries stand in the order in which they
 * were made:
 *
 *     byte 0    0xE1: entries of a journal (high half) of format 1 (low half)
 *     row       zigzag varint: the difference to the row of the entry before, or to 0
 *     code      varint
 *                 0          the row is new, or has changed
 *                 1          all amounts before this were folded into the cells, or rows were
 *                            removed. Amounts that follow in the same row of the journal were
 *                            carried over: they stand in no cell, and changed earlier
 *                 2 + 3 c    counter c was incremented by n, at one tick of the clock
 *                 3 + 3 c    the same at several ticks
 *                 4 + 3 c    the cell of counter c was written: amounts before this are in it
 *     n         zigzag varint, of an increment
 *     ticks     varint, 2 ... 2^63-1, of an increment at several
 *
 * Segments, the rows of higher levels, have no amounts any more. They say which rows have changed,
 * and with which number, in groups of one number each, the highest first:
 *
 *     byte 0    0xE1
 *     number    varint: what the group before had more; of the first 0: it is that of the segment
 *     n         varint, 1 or more: rows of the group
 *     rows      the first as zigzag varint, each other as varint: how much more than the one before
 *
 * Nothing in this file allocates. The bytes may come from anywhere: all that can be wrong is found.
 */
#ifndef CTR_CORE_ENTRIES_H
#define CTR_CORE_ENTRIES_H

#include "counter_cell.h"

enum {
    CTR_ENTRIES_HEADER = 1,
    CTR_ENTRY_MAX = 40, /* bytes of the longest entry, and of what a segment has for a row */
    CTR_ENTRY_COUNTERS = 1 << 15 /* a counter has a lower number than this */
};

typedef enum ctr_entry_kind {
    CTR_ENTRY_CHANGED,
    CTR_ENTRY_FOLDED,
    CTR_ENTRY_ADDED,
    CTR_ENTRY_WRITTEN
} ctr_entry_kind;

typedef struct ctr_entry {
    int64_t row;
    ctr_entry_kind kind;
    int counter;      /* of CTR_ENTRY_ADDED and CTR_ENTRY_WRITTEN */
    int64_t n, ticks; /* of CTR_ENTRY_ADDED */
} ctr_entry;

/* Begins entries, and appends one; both return where they end. `last` is the row of the entry
 * before, 0 at first. */
uint8_t *ctr_entries_begin(uint8_t *out);
uint8_t *ctr_entries_put(uint8_t *out, int64_t *last, const ctr_entry *entry);

/* Walks entries, or a segment. */
typedef struct ctr_entries {
    const uint8_t *at, *end;
    ctr_status status; /* CTR_OK, or what is wrong where the walk has ended */
    int64_t row;
    int64_t number; /* of a segment: that of the group */
    uint64_t left;  /* rows of the group that are yet to come */
    bool begun;     /* a segment: its first group has been entered */
} ctr_entries;

/* CTR_NOT_A_CELL: these are no entries. */
ctr_status ctr_entries_open(ctr_entries *entries, const uint8_t *bytes, size_t size);

/* The next one; false at the end, or where something is wrong. */
bool ctr_entries_next(ctr_entries *entries, ctr_entry *entry);

/* A row and the number with which it changed last. */
typedef struct ctr_change_of_row {
    int64_t row, number;
} ctr_change_of_row;

/* The same for a segment with this number: opens it, and takes its rows one by one. */
ctr_status ctr_entries_segment_open(ctr_entries *entries, const uint8_t *bytes, size_t size,
                                    int64_t number);
bool ctr_entries_segment_next(ctr_entries *entries, ctr_change_of_row *change);

/* Writes a segment of n changes, 1 or more, in descending order of their numbers and in one
 * number in ascending order of rows. Room: CTR_ENTRIES_HEADER + n * CTR_ENTRY_MAX. */
size_t ctr_entries_segment_write(const ctr_change_of_row *changes, size_t n, uint8_t *out);

/* A clause for each status of entries, to follow a noun. */
const char *ctr_entries_status_text(ctr_status status);

#endif
