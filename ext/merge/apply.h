/* merge/apply.h - merges the changes of a feed (merge/feed.h) into main, one at a time, in any order.
 *
 * Each row passes the checks of a pull: main must have the table, the column and the kinds of the
 * key's values, and the cell must be well-formed. A table stays open between two rows, because rows
 * of one table usually follow each other; it is opened again if its entry in counter_tables or any
 * schema has changed.
 */
#ifndef CTR_MERGE_APPLY_H
#define CTR_MERGE_APPLY_H

#include "merge/merge.h"
#include "merge/scope.h"

/* A cell, or a row; no cell: floors in the key, or the generation of a counter; an answer about
 * openings, in place of a cell. */
typedef enum ctr_change_kind {
    CTR_CHANGE_CELL,
    CTR_CHANGE_FLOORS,
    CTR_CHANGE_COUNTER,
    CTR_CHANGE_ROW, /* of a replicated table */
    CTR_CHANGE_ANSWER
} ctr_change_kind;

typedef struct ctr_change {
    ctr_change_kind kind;
    const char *table;  /* the name the table was created with */
    const char *column; /* NULL for floors and answers */
    int64_t generation; /* of the counter, in range; odd for a cell */
    uint32_t life;      /* of the row of a cell, 0 unless the table is replicated */
    const uint8_t *key; /* packed, unchecked; empty for a counter and an answer */
    size_t key_size;
    const uint8_t *cell; /* unchecked; NULL unless it is a cell or an answer */
    size_t cell_size;
    const char *key_text; /* the key columns at the source; NULL: not given */
    uint8_t source[CTR_ID_SIZE];
    sqlite3_value *scope; /* a row outside of it is passed over (merge/scope.h); NULL: none is */
    const char *device;   /* it came with its token: shards of the own ids of main are left out, as
                             in merge/conflicts.h; NULL: whoever runs this file gives it */
} ctr_change;

typedef struct ctr_apply {
    sqlite3 *db;
    ctr_conn *conn;
    ctr_conflicts conflicts;
    bool open;        /* `merge` has a table */
    bool busy, ended; /* a change is being merged; the transaction ended meanwhile */
    ctr_merge merge;
    sqlite3_stmt *born; /* looks the table up again at each row */
    sqlite3_stmt *values;
    sqlite3_value **keys;
    sqlite3_value *scoped;    /* owned: the scope of the last change, and what it says */
    ctr_scope scope;          /* owned; has entered the open table */
    ctr_own_ids own;          /* owned */
    ctr_packed left;          /* room for a cell */
    ctr_brought_list brought; /* owned: by changes that are not committed yet */
} ctr_apply;

/* Merges one change. The caller has joined the transaction. */
int ctr_apply_change(ctr_apply *apply, const ctr_change *change, ctr_problem *problem);

/* Closes the open table. The caller calls this at the end of a transaction, too. */
void ctr_apply_release(ctr_apply *apply);

/* Release it, and make what the changes have brought that of the connection, or forget it. */
void ctr_apply_committed(ctr_apply *apply);
void ctr_apply_rolled_back(ctr_apply *apply);

int ctr_changes_register(sqlite3 *db, ctr_conn *conn); /* changes.c: counter_changes */

#endif
