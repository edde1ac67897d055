/* sync/apply.h - merges rows of a change feed into main, one at a time, in any order.
 *
 * Each with the checks of a pull: that the table, the column and the kinds of the key's values are
 * those of main, and that the cell is well-formed. Tables stay open between two rows, for rows of
 * one table tend to follow each other, and are opened anew when anything may have changed.
 */
#ifndef CTR_SYNC_APPLY_H
#define CTR_SYNC_APPLY_H

#include "sync/merge.h"

/* A cell; or without one: the key carries floors, or a counter is of a generation. */
typedef enum ctr_change_kind {
    CTR_CHANGE_CELL,
    CTR_CHANGE_FLOORS,
    CTR_CHANGE_COUNTER
} ctr_change_kind;

typedef struct ctr_change {
    ctr_change_kind kind;
    const char *table;  /* the name the table was created with */
    const char *column; /* NULL for floors */
    int64_t generation; /* of the counter, in range; odd for a cell */
    const uint8_t *key; /* packed, unchecked; empty for a counter */
    size_t key_size;
    const uint8_t *cell; /* unchecked; NULL but for a cell */
    size_t cell_size;
    const char *key_text; /* the key columns at the source; NULL: not told */
    uint8_t source[CTR_ID_SIZE];
} ctr_change;

typedef struct ctr_apply {
    sqlite3 *db;
    ctr_transaction *transaction;
    ctr_conflicts conflicts;
    bool open;        /* is there a table in `merge`? */
    bool busy, ended; /* a change is at work; the transaction has ended since it began */
    ctr_merge merge;
    sqlite3_stmt *born; /* looks the table up again at each row */
    sqlite3_stmt *values;
    sqlite3_value **keys;
} ctr_apply;

/* The caller's transaction has been joined. */
int ctr_apply_change(ctr_apply *apply, const ctr_change *change, ctr_problem *problem);

/* Closes what is open; to be called at the end of a transaction, too. */
void ctr_apply_release(ctr_apply *apply);

#endif
