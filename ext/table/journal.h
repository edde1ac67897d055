/* table/journal.h - the journal of one table: amounts that the cells lack, and the list of changed
 * rows.
 *
 *     page_views_journal(_seq INTEGER PRIMARY KEY, level INTEGER, entries BLOB)    core/entries.h
 *
 * The state of a counter is its cell plus the amount of the journal, which belongs to the shard of
 * the file's id. An increment is noted in a batch in memory (table/batch.h), which is appended to
 * the journal. A fold moves amounts into the cells (table/fold.h). The state of a row is its row
 * cell with the stamps of the journal in the same way.
 *
 * Memory is only a cache of the file and of the batch. After a rollback it is dropped and read
 * again (ctr_journal_refresh), after one to a savepoint only if something was written since.
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

#include "table/changes.h"
#include "table/tab.h"

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

/* Brings memory up to date. Call it while a statement of the connection stands on a row of the
 * schema, or within a transaction that has read the schema, because SQLite then keeps one snapshot.
 * Fails with SQLITE_CORRUPT_VTAB if the journal is damaged. */
int ctr_journal_refresh(ctr_tab *tab, ctr_problem *problem);

/* The same for one row; memory then has only this row. So a fresh connection answers its first
 * look-up without a table of all amounts. */
int ctr_journal_refresh_row(ctr_tab *tab, int64_t row, ctr_problem *problem);

/* Returns the amount of a counter of a row in the journal, or (CTR_AMOUNT_COLUMNS + c) the stamp of
 * regular column c; NULL: none. */
static inline const ctr_amount *ctr_journal_amount(const ctr_tab *tab, int64_t row, int counter)
{
    const ctr_amount *amount = ctr_cache_find_amount(&tab->amounts, row, counter);
    return amount && amount->ticks > 0 ? amount : NULL;
}

/* Lists the rows with amounts or stamps, in ascending order; numbers are 0. The second counts the
 * amounts and stamps. */
int ctr_journal_list_amounts(const ctr_tab *tab, ctr_changes *list, ctr_problem *problem);
size_t ctr_journal_count_amounts(const ctr_tab *tab);

/* Drops memory; the batch must have been appended. */
void ctr_journal_drop(ctr_tab *tab);

/* Appends the batch and drops memory, which is read again when needed. */
void ctr_journal_read_again(ctr_tab *tab, ctr_problem *problem);

#endif
