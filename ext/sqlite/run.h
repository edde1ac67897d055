/* sqlite/run.h - statements in sequence: once one has failed, the rest do nothing.
 *
 *     ctr_run run = ctr_run_on(db, schema, table, problem);
 *     ctr_run_do(&run, CTR_SQL_SCHEMA_CREATE_CELLS, NULL);
 *     sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CATALOG_BORN);
 *     ctr_run_bind_text(&run, row, 1, name);
 *     while (ctr_run_row(&run, row)) ...
 *     sqlite3_finalize(row);
 */
#ifndef CTR_SQLITE_RUN_H
#define CTR_SQLITE_RUN_H

#include <stdbool.h>

#include "sqlite/problem.h"
#include "sqlite/sql.h"

typedef struct ctr_run {
    sqlite3 *db;
    ctr_slots slots;
    ctr_problem *problem; /* borrowed; zeroed or closed at first, or an earlier error */
} ctr_run;

/* `schema` and `table` are borrowed; table may be NULL where no statement names one. */
ctr_run ctr_run_on(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem);

/* Is this the name of a database of the connection? temp always is. */
bool ctr_run_has_schema(sqlite3 *db, const char *schema);

/* sqlite3_file_control, for which SQLite looks for no name where it is main. */
int ctr_run_ask_file(sqlite3 *db, const char *schema, int what, void *answer);

/* Another number whenever the connection sees that the database has changed, also by itself; to be
 * asked while it reads it. */
unsigned ctr_run_data_version(sqlite3 *db, const char *schema);

/* How far the transaction has come with a schema; the values are those of sqlite3_txn_state(). An
 * SQLite before 3.34 does not tell of which: there a transaction has written everything. */
enum { CTR_TXN_NONE = 0, CTR_TXN_READ = 1, CTR_TXN_WRITE = 2 };
int ctr_run_transaction(sqlite3 *db, const char *schema);

/* Do the files of the connection keep texts in UTF-16? */
bool ctr_run_is_utf16(sqlite3 *db, ctr_problem *problem);

/* How long the connection waits for a lock, in ms; 0 too if a busy handler of the host decides. */
int ctr_run_busy_timeout(sqlite3 *db, ctr_problem *problem);

/* A statement to be finalized by the caller; NULL on error. */
sqlite3_stmt *ctr_run_prepare(ctr_run *run, ctr_sql which);

void ctr_run_bind_text(ctr_run *run, sqlite3_stmt *statement, int i, const char *text);

/* Steps; true while there is a row. */
bool ctr_run_row(ctr_run *run, sqlite3_stmt *statement);

/* Is the first row that a statement gives this text, in letters of either case? */
bool ctr_run_gives(ctr_run *run, ctr_sql which, const char *text);

/* Steps a statement that writes one row. A constraint that fails here is none of ours, and must not
 * be swallowed by OR IGNORE: SQLITE_CORRUPT_VTAB; and so where no row was written. */
int ctr_run_write(ctr_run *run, sqlite3_stmt *statement);

/* A statement that holds a snapshot of the schema until the caller finalizes it: in autocommit each
 * statement sees what others have committed since the one before. NULL on error. */
sqlite3_stmt *ctr_run_hold(ctr_run *run);

/* Prepares, runs to the end, frees; with one text as ?1, or NULL for none. */
void ctr_run_do(ctr_run *run, ctr_sql which, const char *text);

#endif
