/* table/journal.h - the journal of one table: amounts that the cells lack, and the list of changed
 * rows.
 *
 *     page_views_journal(_seq INTEGER PRIMARY KEY, level INTEGER, entries BLOB)    core/entries.h
 *
 * The state of a counter is its cell plus the amount of the journal, which belongs to the shard of
 * the file's id. An increment is noted in a batch in memory (table/batch.h), which is appended to
 * the journal. A fold moves amounts into the cells (table/fold.h).
 *
 * Memory is only a cache of the file and of the batch. After a rollback, also to a savepoint, it is
 * dropped and read again (ctr_journal_refresh).
 *
 * Memory is valid while the data version of the file is the same. After commits of other
 * connections, their rows of the journal are read: amounts are added, rows whose cells were written
 * are forgotten, and after a fold all memory is dropped.
 *
 * Numbers rise across all tables of a file. They follow the time in milliseconds times 4096, so
 * that they usually rise even after a file was restored.
 */
#ifndef CTR_TABLE_JOURNAL_H
#define CTR_TABLE_JOURNAL_H

#include "identity/replica.h"
#include "sqlite/schema.h"
#include "table/cache.h"
#include "table/changes.h"
#include "table/pack.h"

/* The limits beyond which a commit shortens a journal: amounts and other changes, rows of
 * transactions. */
#ifndef CTR_JOURNAL_AMOUNTS
#define CTR_JOURNAL_AMOUNTS 65536
#endif
#ifndef CTR_JOURNAL_ROWS
#define CTR_JOURNAL_ROWS 4096
#endif

/* Numbers of journals are lower than this. */
#define CTR_JOURNAL_NUMBERS (INT64_MAX / 2)

/* The length of a batch when a savepoint began. */
typedef struct ctr_journal_mark {
    size_t n, appended;
} ctr_journal_mark;

typedef struct ctr_journal {
    const ctr_identity *giver;  /* borrowed; the known identity of a snapshot, or NULL */
    const ctr_objects *objects; /* borrowed; the known objects of the schema, or NULL */
    ctr_replica *replica;       /* borrowed; NULL: the table is only read */
    sqlite3 *db;
    char *schema, *table; /* owned */
    struct ctr_journal *next;
    unsigned
        shapes; /* how often the number of counters changed: a new number means other counters */

    /* Memory. */
    ctr_amounts amounts; /* amounts that the cells lack, with those of the batch */
    ctr_cache cache;
    bool known;                /* memory is valid */
    bool untriggered;          /* the stored tables have no triggers */
    const int64_t *only;       /* the only row to be read, or NULL */
    int looks;                 /* look-ups of one row while memory was not known */
    bool doubtful;             /* the file may be another one */
    unsigned version;          /* the data version of the file for which memory is valid */
    int64_t last;              /* the highest number in the journal, 0: it is empty */
    int64_t n_rows, n_entries; /* rows of transactions; their amounts and other changes */
    uint8_t id[CTR_ID_SIZE];   /* the id of the shards to which amounts belong */
    int64_t least;             /* the lowest clock under that id */

    /* Of the current transaction: table/batch.h. */
    bool is_touched; /* it is in the list of such journals */
    struct ctr_journal *next_touched;
    ctr_entry *batch;
    size_t n, room;
    size_t n_appended;       /* the first entries of the batch that are in the file */
    ctr_journal_mark *marks; /* by the level of the savepoint */
    size_t n_marks, room_for_marks;
    bool appended;       /* this transaction appended to the file */
    int64_t open_number; /* the row appended last, if it can grow, or 0 */
    ctr_packed open;     /* its bytes */
    int64_t open_row;    /* the row of its last entry */

    ctr_kept since, append, extend;
} ctr_journal;

/* Returns the journal of a table of a file, lent as long as the replica, or NULL and a problem
 * without memory. It keeps its memory, unless the table had another number of counters. */
ctr_journal *ctr_journal_of(ctr_replica *replica, const char *table, int n_counters,
                            ctr_problem *problem);

/* Returns a read-only journal for a snapshot that its owner holds, or NULL and a problem without
 * memory. The caller frees it with ctr_journal_free. */
ctr_journal *ctr_journal_to_read(sqlite3 *db, const char *schema, const char *table, int n_counters,
                                 ctr_problem *problem);
void ctr_journal_free(ctr_journal *journal);

/* Frees the journals of a file. */
void ctr_journal_close(ctr_replica *replica);

/* Finalizes the kept statements. Later calls prepare them again. */
void ctr_journal_release(ctr_journal *journal);

/* Brings memory up to date. Call it while a statement of the connection stands on a row of the
 * schema, or within a transaction that has read the schema, because SQLite then keeps one snapshot.
 * Fails with SQLITE_CORRUPT_VTAB if the journal is damaged. */
int ctr_journal_refresh(ctr_journal *journal, ctr_problem *problem);

/* The same for one row; memory then has only this row. So a fresh connection answers its first
 * look-up without a table of all amounts. */
int ctr_journal_refresh_row(ctr_journal *journal, int64_t row, ctr_problem *problem);

/* Returns the amount of a counter of a row in the journal; NULL: none. */
static inline const ctr_amount *ctr_journal_amount(const ctr_journal *journal, int64_t row,
                                                   int counter)
{
    const ctr_amount *amount = ctr_cache_find_amount(&journal->amounts, row, counter);
    return amount && amount->ticks > 0 ? amount : NULL;
}

/* Adds an amount to a state. Returns CTR_OUT_OF_RANGE if the amount cannot belong to this state. */
ctr_status ctr_journal_advance(const ctr_journal *journal, const ctr_amount *amount,
                               ctr_summary *state);

/* Lists the rows with amounts, in ascending order; numbers are 0. */
int ctr_journal_list_amounts(const ctr_journal *journal, ctr_changes *list, ctr_problem *problem);

/* Drops memory; the batch must have been appended. */
void ctr_journal_drop(ctr_journal *journal);

/* Appends the batch and drops memory, which is read again when needed. */
void ctr_journal_read_again(ctr_journal *journal, ctr_problem *problem);

/* ctr_journal_drop for a table that was dropped or created, or is another one now. Does nothing if
 * it has a batch. */
void ctr_journal_forget(ctr_replica *replica, const char *table);

/* Returns the number after the last one in the file. */
int64_t ctr_journal_next(sqlite3 *db, const char *schema, ctr_problem *problem);

#endif
