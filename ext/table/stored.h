/* table/stored.h - the stored tables of a counter table.
 *
 * They say which keys and counters it has, not the text of CREATE VIRTUAL TABLE:
 *
 *     CREATE TABLE page_views_cells(
 *       _id INTEGER PRIMARY KEY,
 *       path TEXT COLLATE "BINARY" NOT NULL, hour INTEGER COLLATE "BINARY" NOT NULL,
 *       hits BLOB, bytes BLOB,
 *       UNIQUE(path, hour))
 *
 *     CREATE TABLE page_views_journal(
 *       _seq INTEGER PRIMARY KEY, level INTEGER, entries BLOB)                 see table/journal.h
 *
 *     CREATE TABLE page_views_state(
 *       _id INTEGER PRIMARY KEY, _kind TEXT, _row, _name, _value, _seq, _rows, _bytes,
 *       path TEXT COLLATE "BINARY", hour INTEGER COLLATE "BINARY",
 *       UNIQUE(_kind, _row, _name))
 *
 *     _kind       a row is
 *     request     a request that was taken; see counter/request.c
 *     counter     a counter that came or went; see table/columns.h
 *     floors      the floors of the key columns; see table/floors.h
 *     apart       of a tracked table: a value that is not shown; see tracked/apart.h
 *     named       of a tracked table: the name of a column; see tracked/tracked.h
 *
 * The columns of the UNIQUE constraint are the key, in its order; the other columns are counters,
 * each a cell or NULL. Names that begin with an underscore are ours. A stored table of any other
 * shape is damaged, and we refuse it before we use it.
 *
 */
#ifndef CTR_TABLE_STORED_H
#define CTR_TABLE_STORED_H

#include "base/schema.h"
#include "table/shape.h"

/* The stored tables of a counter table: "cells", "journal", "state"; NULL at the end. */
const char *const *ctr_stored_suffixes(void);

/* Those of a file; NULL at the end. */
const char *const *ctr_stored_of_file(void);

/* Creates, drops and renames the stored tables. */
void ctr_stored_create(const ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                       ctr_problem *problem);
void ctr_stored_drop(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem);
void ctr_stored_rename(sqlite3 *db, const char *schema, const char *table, const char *to,
                       ctr_problem *problem);

/* Reads the shape from the stored tables of `table`. SQLITE_CORRUPT_VTAB if they are missing or
 * damaged. The caller closes it, also after a failure. */
int ctr_stored_read(ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                    ctr_problem *problem);

/* The same in two steps, for ctr_tab_read_shape: the columns, from the text of CREATE TABLE alone,
 * if that is the text we write (else returns false); the generations, from CTR_SQL_COLUMNS_ALL. */
bool ctr_stored_read_text(ctr_shape *shape, const ctr_objects *objects, const char *table,
                          ctr_problem *problem);
void ctr_stored_read_generations(ctr_shape *shape, ctr_run *run, sqlite3_stmt *row);

/* Returns the name of the tracked table, as it was noted last, or NULL if there is none. The caller
 * frees it with sqlite3_free. */
char *ctr_stored_tracked(sqlite3 *db, const char *schema, const char *counters,
                         ctr_problem *problem);

/* Learns the columns by preparing a SELECT, which keeps no lock, for xConnect. The key columns are
 * those of `declared`. Copies `declared` if no stored table fits. ctr_stored_read checks the rest
 * and reads the generations. The caller closes the shape, also after a failure. */
int ctr_stored_describe(ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                        const ctr_shape *declared, ctr_problem *problem);

#endif
