/* table/changes.h - the changed rows of a table, read from its journal.
 *
 *     ctr_changes_read(&changes, tab, since, problem);
 *     ctr_changes_latest(&changes, problem);      by row, each once, with its highest number
 *     sqlite3_free(changes.rows);
 */
#ifndef CTR_TABLE_CHANGES_H
#define CTR_TABLE_CHANGES_H

#include "core/entries.h"
#include "table/tab.h"

/* Columns of CTR_SQL_JOURNAL_SINCE and CTR_SQL_JOURNAL_LEVELS. */
enum { CTR_JOURNAL_NUMBER, CTR_JOURNAL_LEVEL, CTR_JOURNAL_ENTRIES };

/* A row of level 0; a segment is of level 1 or higher. */
enum { CTR_LEVEL_TRANSACTIONS = 0 };

typedef struct ctr_changes {
    ctr_change_of_row *rows; /* owned: sqlite3_free */
    size_t n, room;
    const struct ctr_changes *only; /* private: the rows that are read, sorted; NULL: all */
} ctr_changes;

/* Appends a change; a list that has become long is first reduced to the last change of each row. */
int ctr_changes_add(ctr_changes *changes, const ctr_change_of_row *change, ctr_problem *problem);

/* Reads all changes with `since` or a higher number, in no order. */
int ctr_changes_read(ctr_changes *changes, ctr_tab *tab, int64_t since, ctr_problem *problem);

/* The same for some rows, each once and sorted: of these, all are listed if `since` is 0. */
int ctr_changes_read_of(ctr_changes *changes, ctr_tab *tab, int64_t since, const ctr_changes *rows,
                        ctr_problem *problem);

/* Sorts by row, ascending, and keeps each row once, with its highest number and all its origins. */
int ctr_changes_latest(ctr_changes *changes, ctr_problem *problem);

/* Sets the problem "t_journal is damaged: row 5 is truncated". */
int ctr_changes_damaged(const char *table, int64_t number, const char *what, ctr_problem *problem);

/* ---- segments -------------------------------------------------------------------------------- */

/* The list of changes of a journal, kept short.
 *
 * A fold turns the rows of transactions into one segment of level 1: changed rows, with numbers. As
 * in an LSM tree, eight segments of a level become one of the next, which keeps the highest number
 * of each row. All segments become one if together they are more than four times as long as the
 * longest, because the same rows may change again and again. So the list takes a few bytes for each
 * row of the table, and is kept without reading any row.
 *
 *     numbers rise -->
 *     [ level 2                  ] [ level 1 ] [ level 1 ]  row  row  row     of transactions
 */

/* Makes a segment of the rows of transactions; the amounts in them are lost. */
void ctr_changes_make_segment(ctr_run *run);

/* Makes one segment of the segments of a level that has eight, or of all. Returns false if no level
 * has eight and all are short, or on a problem. */
bool ctr_changes_compact(ctr_run *run);

#endif
