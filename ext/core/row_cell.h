/* core/row_cell.h - the state of a row of a replicated table: whether it lives, and who wrote each
 * of its regular columns last.
 *
 * A row is (L, K), compared lexicographically: the higher life L wins with its whole K. An even
 * life is deleted, and K is empty. In an odd one K is the stamp of the INSERT and, for each regular
 * column, a stamp and a value, of which the higher stamp wins; the counters of the row belong to K,
 * too (counter_cell.h). The values themselves stand in the tracked table alone.
 *
 * A stamp is (number, replica id). The number follows the time in milliseconds times 4096, as the
 * numbers of journals do, and is higher than that of the stamp that it replaces: a hybrid logical
 * clock. No number lies beyond the year 2200, so a clock in the future wins for a while, and no
 * longer.
 *
 * Of two equal stamps mine stays. Values are never compared: conversions, triggers and encodings
 * make them differ under one stamp, and two files would overwrite each other for ever.
 *
 * As stored in <table>_cells, in the column _row:
 *
 *     life      varint, 1 ... 2^31-1; nothing follows an even one
 *     number    varint: the stamp of the INSERT
 *     writer    varint: the number that the file has given to the id (table/regular.h)
 *     n         varint: the regular columns that the file knew. One with a higher number has no
 *               stamp
 *     columns whose stamp is another one, in ascending order:
 *         column    varint: twice its number among those of the file, plus 1 if it has no stamp
 *         number    varint and
 *         writer    varint, unless it has none
 *
 * Between files, in a feed, it stands on its own:
 *
 *     byte 0    0xA1: a row (high half) of format 1 (low half)
 *     life      as above
 *     number    varint, and the id, 16 bytes: the stamp of the INSERT
 *     n         varint: regular columns, in ascending memcmp order of their names, none twice
 *         name      varint: bytes; the name in UTF-8
 *         kind      byte: 0: the stamp of the INSERT, 1: its own, 2: none
 *         stamp     varint and id, if it has its own
 *     values    a packed key (core/key.h) with a value for each column; nothing stands for NULL. It
 *               is missing if n is 0
 *
 * Nothing in this file allocates.
 */
#ifndef CTR_CORE_ROW_CELL_H
#define CTR_CORE_ROW_CELL_H

#include "core/key.h"
#include "counter_cell.h"

/* Numbers of stamps in a millisecond. */
enum { CTR_STAMPS_IN_MS = 4096 };

/* The last number that a clock gives: the end of the year 2200. What is written over a stamp with
 * that number has a higher one; no file takes one beyond the second. */
#define CTR_STAMP_LAST (INT64_C(7289654400000) * CTR_STAMPS_IN_MS)
#define CTR_STAMP_MAX (CTR_STAMP_LAST + (INT64_C(1) << 40))

/* The last life of a row; it is live. In a feed a life stands in the high half of a generation. */
#define CTR_ROW_LIFE_MAX INT32_MAX

/* The stamps of rows that were there when replication began have numbers below those of any clock.
 * One file has one such number, and an id of its call; it is raised or lowered if the user says
 * whose values win (ctr_row_cell_began_apart). */
enum { CTR_STAMP_BEGAN = 1, CTR_STAMP_BEGAN_MAX = CTR_STAMPS_IN_MS - 1 };

typedef struct ctr_stamp {
    int64_t number; /* 0 ... CTR_STAMP_MAX */
    uint8_t id[CTR_ID_SIZE];
} ctr_stamp;

typedef enum ctr_stamp_kind {
    CTR_STAMP_OF_ROW, /* that of the INSERT */
    CTR_STAMP_OWN,
    CTR_STAMP_NONE /* the column was added later: it has no value to give */
} ctr_stamp_kind;

typedef struct ctr_column_stamp {
    ctr_stamp_kind kind;
    ctr_stamp own;
} ctr_column_stamp;

/* The row cell of a row, its columns by their numbers in the file. */
typedef struct ctr_row_cell {
    uint32_t life; /* 0: there never was such a row */
    ctr_stamp row;
    int n;
    ctr_column_stamp *columns; /* n; the caller's */
} ctr_row_cell;

static inline bool ctr_row_cell_is_live(const ctr_row_cell *cell)
{
    return cell->life % 2 == 1;
}

/* Returns whether a wins over b; the id decides between equal numbers. */
bool ctr_row_cell_beats(const ctr_stamp *a, const ctr_stamp *b);

/* Returns the stamp of a column of a live row; NULL: it has none. */
const ctr_stamp *ctr_row_cell_stamp(const ctr_row_cell *cell, int column);

/* Returns the highest stamp of a live row. */
const ctr_stamp *ctr_row_cell_newest(const ctr_row_cell *cell);

/* Return the highest number of the stamps that an INSERT, or a write of the columns in the mask
 * (a bool for each), would replace; 0: none. */
int64_t ctr_row_cell_highest(const ctr_row_cell *cell);
int64_t ctr_row_cell_highest_of(const ctr_row_cell *cell, const bool *mask);

/* An INSERT: begins the next life unless the row is live, and stamps all columns; a write of the
 * columns in the mask of a live row; a DELETE of a live row. They return CTR_LAST_LIFE, and change
 * nothing, if there is no further life. */
ctr_status ctr_row_cell_insert(ctr_row_cell *cell, const ctr_stamp *stamp);
void ctr_row_cell_set(ctr_row_cell *cell, const bool *mask, const ctr_stamp *stamp);
void ctr_row_cell_set_column(ctr_row_cell *cell, int column, const ctr_stamp *stamp);
ctr_status ctr_row_cell_delete(ctr_row_cell *cell);

/* The join with the row of another file, which has the column map[i] for my column i, or -1. Sets
 * `taken`, a bool for each of my columns: its value is now that of the other file. */
typedef enum ctr_row_outcome {
    CTR_ROW_STAYS,    /* nothing of mine has changed; counters are not merged, for I am ahead */
    CTR_ROW_MERGES,   /* the same life: the counters are merged, too */
    CTR_ROW_REPLACED, /* a higher life: the counters are theirs */
} ctr_row_outcome;

ctr_row_outcome ctr_row_cell_join(ctr_row_cell *mine, const ctr_row_cell *theirs, const int *map,
                                  bool *taken);

/* Returns whether the other file has lost values of a row that I have, of the same life: it has no
 * stamp of a column that was there when the row was inserted, or of any. A column that was added
 * later is without one until it is written. Call it before the join. */
bool ctr_row_cell_lacks(const ctr_row_cell *mine, const ctr_row_cell *theirs, const int *map);

/* Sets `apart`, a bool for each of my columns: both files had the row when each began to replicate
 * it, so nobody knows which of two values is the newer one. Not so for a column that both have
 * added since: a migration gives it a value in each file. Returns whether there are any; if there
 * are none, it may leave `apart` as it is. Call it before the join. */
bool ctr_row_cell_began_apart(const ctr_row_cell *mine, const ctr_row_cell *theirs, const int *map,
                              bool *apart);

/* Gives the stamps of a live row from when replication began this id, and the next number or the
 * one before it. Returns whether there are any. */
bool ctr_row_cell_begin_again(ctr_row_cell *cell, bool next, const uint8_t id[CTR_ID_SIZE]);

/* ---- as stored ------------------------------------------------------------------------------- */

/* Turn ids into the numbers of writers and back. The second returns NULL for an unknown number. */
typedef struct ctr_writer_map {
    uint64_t (*number)(void *with, const uint8_t id[CTR_ID_SIZE]);
    const uint8_t *(*id)(void *with, uint64_t number);
    void *with;
} ctr_writer_map;

/* Bytes that a cell with n columns needs at most. */
static inline size_t ctr_row_cell_room(int n)
{
    return 40 + (size_t)n * 30;
}

/* Write a cell, and return its size; read one into a cell with room for cell->n columns. Those
 * beyond the ones that were known when it was written have no stamp. The second returns
 * CTR_TRUNCATED, CTR_TRAILING, CTR_OUT_OF_RANGE (also for an unknown writer) or CTR_UNSORTED if the
 * bytes are damaged. */
size_t ctr_row_cell_write(const ctr_row_cell *cell, const ctr_writer_map *writers, uint8_t *out);
ctr_status ctr_row_cell_read(ctr_row_cell *cell, const ctr_writer_map *writers,
                             const uint8_t *bytes, size_t size);

/* ---- between files --------------------------------------------------------------------------- */

typedef struct ctr_row_column {
    const uint8_t *name; /* borrowed; `size` bytes */
    size_t size;
    ctr_column_stamp stamp;
} ctr_row_column;

/* Write the beginning of a row with n columns, and a column; both return the end. Room:
 * CTR_ROW_HEADER_MAX, and for each column CTR_ROW_COLUMN_MAX and its name. The values follow. */
enum { CTR_ROW_HEADER_MAX = 40, CTR_ROW_COLUMN_MAX = 40 };
uint8_t *ctr_row_cell_begin(uint8_t *out, uint32_t life, const ctr_stamp *row, uint64_t n);
uint8_t *ctr_row_cell_put(uint8_t *out, const ctr_row_column *column);

/* A checked view of such bytes. */
typedef struct ctr_row_image {
    uint32_t life;
    ctr_stamp row;
    int n;
    const uint8_t *at, *values, *end; /* private but for `values`: a packed key up to `end` */
} ctr_row_image;

/* Checks all of the bytes, which the image borrows. Fails with CTR_NOT_A_CELL, CTR_NEWER_FORMAT or,
 * if they are damaged, as ctr_row_cell_read. Numbers of stamps may lie beyond CTR_STAMP_MAX. */
ctr_status ctr_row_cell_open(ctr_row_image *image, const uint8_t *bytes, size_t size);

/* Walks the columns: call it until it returns false. */
bool ctr_row_cell_next(ctr_row_image *image, ctr_row_column *column);

/* Returns a clause for a message that follows a noun: "is truncated". Static text. */
const char *ctr_row_cell_status_text(ctr_status status);

#endif
