/* base/run.h - statements in sequence: after a failure, the rest do nothing.
 *
 *     ctr_run run = ctr_run_on(db, schema, table, problem);
 *     ctr_run_do(&run, CTR_SQL_SCHEMA_CREATE_CELLS, NULL);
 *     sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CATALOG_BORN);
 *     ctr_run_bind_text(&run, row, ":name", name);
 *     while (ctr_run_row(&run, row)) ...
 *     sqlite3_finalize(row);
 */
#ifndef CTR_BASE_RUN_H
#define CTR_BASE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/problem.h"

/* Every statement that we run, by name, with its identifiers filled in.
 *
 * The texts are in sql/ and are embedded at build time; each line of the generated list makes the
 * enum and the text, so that they always agree. A placeholder is in double quotes: "{table}_cells"
 * takes a name, quoted as SQL wants it; "{columns}" takes a list that is SQL already, without the
 * quotes. All are filled in one pass, so that a name with braces is only a name.
 */
typedef enum ctr_sql {
#define CTR_STATEMENT(name, text) CTR_SQL_##name,
#include "statements.h"
#undef CTR_STATEMENT
    CTR_SQL_COUNT
} ctr_sql;

/* The values of placeholders; borrowed. The slots that a statement names must not be NULL. */
typedef struct ctr_slots {
    const char *schema, *table, *name; /* names */
    /* SQL */
    const char *columns, *keys, *definition, *constraint, *values, *changes, *order, *value;
} ctr_slots;

/* Returns the statement; NULL without memory. The caller frees it with sqlite3_free. */
char *ctr_run_sql(ctr_sql which, const ctr_slots *slots);

typedef struct ctr_run {
    sqlite3 *db;
    ctr_slots slots;
    ctr_problem *problem; /* borrowed; zeroed or closed at first, or an earlier error */
} ctr_run;

/* Borrows `schema` and `table`; `table` may be NULL if no statement names one. */
ctr_run ctr_run_on(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem);

/* Returns whether the connection has a database of this name. It always has temp. */
bool ctr_run_has_schema(sqlite3 *db, const char *schema);

/* Calls sqlite3_file_control, in a way that needs no look-up of the name main. */
int ctr_run_ask_file(sqlite3 *db, const char *schema, int what, void *answer);

/* Returns a number that changes whenever the connection sees a change of the database, also its
 * own. The caller calls this while the connection reads the database. */
unsigned ctr_run_data_version(sqlite3 *db, const char *schema);

/* The state of the transaction on a schema; the values are those of sqlite3_txn_state(). SQLite
 * before 3.34 does not distinguish schemas: there, an open transaction counts as writing all of
 * them. */
enum { CTR_TXN_NONE = 0, CTR_TXN_READ = 1, CTR_TXN_WRITE = 2 };
int ctr_run_transaction(sqlite3 *db, const char *schema);

/* Returns whether the files of the connection store texts in UTF-16. */
bool ctr_run_is_utf16(sqlite3 *db, ctr_problem *problem);

/* Returns the busy timeout in ms; 0, too, if a busy handler of the host decides. */
int ctr_run_busy_timeout(sqlite3 *db, ctr_problem *problem);

/* Returns a statement that the caller finalizes; NULL on error. */
sqlite3_stmt *ctr_run_prepare(ctr_run *run, ctr_sql which);

/* Bind a parameter by its name, as in ":epoch"; fail if the statement has none of that name. They
 * copy a text or an id, and borrow bytes until the statement is reset; before it is stepped again,
 * bytes are bound anew. NULL binds NULL. Numbered parameters are those of a row of the table at
 * hand: its rowid, its keys, its counters. */
void ctr_run_bind_int(ctr_run *run, sqlite3_stmt *statement, const char *parameter, int64_t n);
void ctr_run_bind_text(ctr_run *run, sqlite3_stmt *statement, const char *parameter,
                       const char *text);
void ctr_run_bind_blob(ctr_run *run, sqlite3_stmt *statement, const char *parameter,
                       const void *bytes, size_t size);
void ctr_run_bind_value(ctr_run *run, sqlite3_stmt *statement, const char *parameter,
                        sqlite3_value *value);
void ctr_run_bind_id(ctr_run *run, sqlite3_stmt *statement, const char *parameter,
                     const uint8_t *id);

/* Steps; returns true while there is a row. ctr_run_once also finalizes the statement. */
bool ctr_run_row(ctr_run *run, sqlite3_stmt *statement);
bool ctr_run_once(ctr_run *run, sqlite3_stmt *statement);

/* Returns the integer in the first column of the first row; 0 if there is none. */
int64_t ctr_run_number(ctr_run *run, ctr_sql which);

/* Runs a PRAGMA that sets a number, "{value}". */
void ctr_run_set(ctr_run *run, ctr_sql which, int number);

/* Returns whether an authorizer makes a NULL of a result column that is declared with a type. False
 * where SQLite was built without sqlite3_column_decltype (SQLITE_OMIT_DECLTYPE). */
bool ctr_run_is_hidden(sqlite3_stmt *row, int column);

/* Fails if an authorizer hides one of the first n columns of `table`: then a row that was not found
 * may be there. */
void ctr_run_refuse_hidden(ctr_run *run, sqlite3_stmt *row, int n, const char *table);

/* Returns whether the first row of a statement is this text, in letters of either case. */
bool ctr_run_gives(ctr_run *run, ctr_sql which, const char *text);

/* Steps a statement that writes to its end. PRAGMA count_changes lets it return a row before. */
int ctr_run_to_end(sqlite3_stmt *statement);

/* Steps a statement that writes one row. Fails with SQLITE_CORRUPT_VTAB if no row was written, or
 * if a constraint failed: it is none of ours, and OR IGNORE must not hide the error. */
int ctr_run_write(ctr_run *run, sqlite3_stmt *statement);

/* Returns a statement that holds a snapshot of the schema until the caller finalizes it; NULL on
 * error. Without it, in autocommit, each statement sees the latest commits of others. */
sqlite3_stmt *ctr_run_hold(ctr_run *run);

/* Prepares a statement, runs it to the end, and frees it. `text` is its only parameter, or NULL.
 * Fails if there are several. */
void ctr_run_do(ctr_run *run, ctr_sql which, const char *text);

#endif
