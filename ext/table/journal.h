/* table/journal.h - the journal of one table: increments that are not in the cells yet, and the
 * list of what has changed.
 *
 *     page_views_journal(_seq INTEGER PRIMARY KEY, level INTEGER, entries BLOB)    core/entries.h
 *
 * The state of a counter is its cell, with what the journal adds to the shard of the file's id. An
 * increment is noted in a batch in memory (table/batch.h), which is appended to the journal.
 * Folding moves amounts into the cells (table/fold.h).
 *
 * Memory is a cache of the file and of the batch, and nothing else is remembered: after a rollback,
 * also to a savepoint, all of it is dropped and read again: ctr_journal_refresh.
 *
 * Memory is valid as long as the data version of the file is the same. If others have committed,
 * their rows of the journal tell what has changed: amounts are added, rows whose cells were written
 * are forgotten, and after a fold everything is.
 *
 * Numbers rise in each file, from table to table, and are near to the time in milliseconds times
 * 4096, so that they tend to rise even where a file was restored.
 */
#ifndef CTR_TABLE_JOURNAL_H
#define CTR_TABLE_JOURNAL_H

#include "identity/replica.h"
#include "table/amounts.h"
#include "table/cache.h"
#include "table/changes.h"
#include "table/pack.h"

/* A commit shortens a journal that has more amounts and other changes, or more rows of
 * transactions. */
#ifndef CTR_JOURNAL_AMOUNTS
#define CTR_JOURNAL_AMOUNTS 65536
#endif
#ifndef CTR_JOURNAL_ROWS
#define CTR_JOURNAL_ROWS 4096
#endif

/* No journal has a number like this, or a higher one. */
#define CTR_JOURNAL_NUMBERS (INT64_MAX / 2)

/* A batch when a savepoint began. */
typedef struct ctr_journal_mark {
    size_t n, appended;
} ctr_journal_mark;

typedef struct ctr_journal {
    const ctr_identity *giver; /* borrowed; of a snapshot of which it is known, or NULL */
    ctr_replica *replica;      /* borrowed; NULL: the table is only read */
    sqlite3 *db;
    char *schema, *table; /* owned */
    struct ctr_journal *next;
    unsigned
        shapes; /* how often counters came or went: another number, another meaning of theirs */

    /* What memory knows. */
    ctr_amounts amounts; /* that the cells do not have, those of the batch among them */
    ctr_cache rows;
    bool known;                /* anything at all */
    bool untriggered;          /* the stored tables have no triggers */
    const int64_t *only;       /* the one row that is being read, or NULL */
    int looks;                 /* for one row, since anything was known */
    bool doubtful;             /* whether the file is the same one */
    unsigned version;          /* the data version of which it is */
    int64_t last;              /* the highest number in the journal, 0: it is empty */
    int64_t n_rows, n_entries; /* of transactions; their amounts, and what else has changed */
    uint8_t id[CTR_ID_SIZE];   /* to whose shards the amounts belong */
    int64_t least;             /* the lowest clock under that id */

    /* Of the transaction at hand: table/batch.h. */
    ctr_entry *batch;
    size_t n, room;
    size_t n_appended;       /* so many of the batch, its first ones, are in the file */
    ctr_journal_mark *marks; /* by the level of the savepoint */
    size_t n_marks, room_for_marks;
    bool appended;       /* something, to the file */
    int64_t open_number; /* the row that was appended last, if it can grow; or 0 */
    ctr_packed open;     /* its bytes */
    int64_t open_row;    /* the row of its last entry */

    ctr_kept since, append, extend;
} ctr_journal;

/* That of a table of a file, lent as long as the replica; NULL and a problem if there is no memory.
 * What it knows stays, unless the table had another number of counters. */
ctr_journal *ctr_journal_of(ctr_replica *replica, const char *table, int n_counters,
                            ctr_problem *problem);

/* One that is only read, in a snapshot that its owner holds; to be freed with ctr_journal_free.
 * NULL and a problem if there is no memory. */
ctr_journal *ctr_journal_to_read(sqlite3 *db, const char *schema, const char *table, int n_counters,
                                 ctr_problem *problem);
void ctr_journal_free(ctr_journal *journal);

/* Frees those of a file. */
void ctr_journal_close(ctr_replica *replica);

/* Finalizes the kept statements. Later calls prepare them again. */
void ctr_journal_release(ctr_journal *journal);

/* To be called while a statement of the connection stands on a row of the schema, or within a
 * transaction that has read it: SQLite keeps one snapshot then. SQLITE_CORRUPT_VTAB if the journal
 * is damaged. */
int ctr_journal_refresh(ctr_journal *journal, ctr_problem *problem);

/* The same for one row alone, which is all that is known then: a fresh connection answers its first
 * look-ups so, without a table of all amounts. */
int ctr_journal_refresh_row(ctr_journal *journal, int64_t row, ctr_problem *problem);

/* Returns the amount that the journal adds to a counter of a row; NULL: none. */
static inline const ctr_amount *ctr_journal_amount(const ctr_journal *journal, int64_t row,
                                                   int counter)
{
    const ctr_amount *amount = ctr_amounts_find(&journal->amounts, row, counter);
    return amount && amount->ticks > 0 ? amount : NULL;
}

/* Adds an amount to a state. CTR_OUT_OF_RANGE: it was not counted in this state. */
ctr_status ctr_journal_advance(const ctr_journal *journal, const ctr_amount *amount,
                               ctr_summary *state);

/* The rows to which the journal adds something, in ascending order; numbers are 0. */
int ctr_journal_list_amounts(const ctr_journal *journal, ctr_changes *list, ctr_problem *problem);

/* Forgets all that is known of the rows; the batch must have been appended. */
void ctr_journal_drop(ctr_journal *journal);

/* Appends the batch, and forgets all else: it is read again when it is needed. */
void ctr_journal_read_again(ctr_journal *journal, ctr_problem *problem);

/* ctr_journal_drop for a table that goes away, comes back or is another one now: for one with a
 * batch nothing is done. */
void ctr_journal_forget(ctr_replica *replica, const char *table);

/* Returns the number after the last one in the file. */
int64_t ctr_journal_next(sqlite3 *db, const char *schema, ctr_problem *problem);

#endif
