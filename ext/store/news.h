/* store/news.h - which rows of a table have changed, in the order of their numbers.
 *
 * Each row has the number of its last change in _seq. An index on it would be touched at two places
 * for each row that changes, and two more pages be written in each transaction. So <table>_news
 * takes its part: only appended to, at the end of a transaction, with the row ids that it has
 * stamped:
 *
 *     ctr_news_expect    before a row is written: makes room, so that what follows cannot fail
 *     ctr_news_add       after it
 *     ctr_news_flush     before the commit, and before anybody reads
 *
 * Whoever asks for what is new since a number gets row ids, and looks at _seq of each row: it may
 * have more than it needs, never less. Ids of rows that changed again or went away are swept out
 * bit by bit, in proportion to what is appended (store/sweep.h).
 */
#ifndef CTR_STORE_NEWS_H
#define CTR_STORE_NEWS_H

#include "store/guard.h"

typedef struct ctr_news ctr_news;

/* What the transaction at hand has changed in a table; lent as long as the guard. NULL if there is
 * no memory. */
ctr_news *ctr_news_of(ctr_post *post, const char *table);

int ctr_news_expect(ctr_news *news, ctr_problem *problem);
void ctr_news_add(ctr_news *news, int64_t number, int64_t rowid);

/* Writes down what all tables of a schema have. */
int ctr_news_flush(ctr_post *post, ctr_problem *problem);

/* Has the transaction at hand changed rows of the table? */
bool ctr_news_has_changes(const ctr_post *post, const char *table);

/* The transaction has ended; it has been rolled back to a savepoint. */
void ctr_news_end(ctr_post *post);
void ctr_news_rolled_back_to(ctr_post *post);

/* The table goes away, or gets another name; what it had is to be flushed before, if it stays. */
void ctr_news_forget(ctr_post *post, const char *table);

/* For the guard: finalizes statements; frees everything. */
void ctr_news_release(ctr_post *post);
void ctr_news_close(ctr_post *post);

/* Row ids in ascending order, none twice. */
typedef struct ctr_ids {
    int64_t *ids; /* owned: sqlite3_free */
    size_t n, room;
} ctr_ids;

/* The rows that may have `number` or a higher one. SQLITE_CORRUPT_VTAB if <table>_news is
 * damaged. */
int ctr_news_read(ctr_ids *ids, sqlite3 *db, const char *schema, const char *table, int64_t number,
                  ctr_problem *problem);

/* Where the rows of <table>_news for a number begin. */
int64_t ctr_news_first(int64_t number);

/* Row ids, each with a number that its row had, or a higher one. */
typedef struct ctr_dated_id {
    int64_t id, number;
} ctr_dated_id;

typedef struct ctr_dated_ids {
    ctr_dated_id *ids; /* owned: sqlite3_free */
    size_t n, room;
} ctr_dated_ids;

/* Appends the ids that a row of the statement NEWS_SINCE lists. SQLITE_CORRUPT_VTAB if it is
 * damaged. */
int ctr_news_take_dated(ctr_dated_ids *to, sqlite3_stmt *row, const char *table,
                        ctr_problem *problem);

/* Into ascending order of the ids; of each the highest number stays. */
void ctr_news_sort_dated(ctr_dated_ids *dated);

/* Fails if a row would not be found by its number. */
int ctr_news_check(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem);

#endif
