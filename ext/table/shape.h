/* table/shape.h - which keys and counters a counter table has.
 *
 * The stored table says it, not the text of CREATE VIRTUAL TABLE:
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
 *     CREATE TABLE page_views_floors(
 *       _id INTEGER PRIMARY KEY, _seq, _rows, _bytes,         see table/floors.h
 *       path TEXT COLLATE "BINARY", hour INTEGER COLLATE "BINARY")
 *
 *     CREATE TABLE page_views_ops(
 *       _id INTEGER PRIMARY KEY, request NOT NULL UNIQUE, what TEXT NOT NULL)  see table/requests.h
 *
 *     CREATE TABLE page_views_columns(
 *       name TEXT COLLATE NOCASE PRIMARY KEY, generation INTEGER NOT NULL)     see table/columns.h
 *
 * The columns of the UNIQUE constraint are the key, in its order; the other columns are counters,
 * each a cell or NULL. Names that begin with an underscore are ours. A stored table that is
 * anything else is damaged, and is refused before it is used.
 */
#ifndef CTR_TABLE_SHAPE_H
#define CTR_TABLE_SHAPE_H

#include <stdint.h>

#include "core/declaration.h"
#include "sqlite/schema.h"

typedef struct ctr_column {
    char *name, *type, *collation; /* owned; type "" and collation "BINARY" if none was declared */
    ctr_affinity affinity;
    int key;     /* position in the key, or -1 */
    int counter; /* number among the counters, or -1 */

    /* Of a counter: see table/columns.h. */
    int64_t generation;
    bool listed; /* it stands in <table>_columns */
} ctr_column;

#define CTR_GENERATION_MAX INT64_C(0xffffffff)

/* A counter that was here, or elsewhere, and is no more. */
typedef struct ctr_gone {
    char *name; /* owned */
    int64_t generation;
} ctr_gone;

/* Columns in declared order, and where the n-th key column and the n-th counter stand
 * among them. There may be no counter, where two files have each dropped what the other
 * has kept. */
typedef struct ctr_shape {
    ctr_column *columns;
    int *keys, *counters;
    int n_columns, n_keys, n_counters, room;
    ctr_gone *gone; /* owned; by name, whatever the letters */
    int n_gone;
} ctr_shape;

/* Makes room for n columns. */
int ctr_shape_open(ctr_shape *shape, int n, ctr_problem *problem);

/* Appends a copied column; key: its position in the key or -1 for a counter. Without room for it
 * the table has grown meanwhile: SQLITE_SCHEMA, and SQLite tries again. */
int ctr_shape_add(ctr_shape *shape, const char *name, const char *type, const char *collation,
                  int key, ctr_problem *problem);

/* Appends a counter that is no more; the name is copied. */
void ctr_shape_add_gone(ctr_shape *shape, const char *name, int64_t generation,
                        ctr_problem *problem);

/* A copy; to be closed whatever is returned. */
int ctr_shape_copy(ctr_shape *shape, const ctr_shape *of, ctr_problem *problem);

/* Reads it from the stored table of `table`. SQLITE_CORRUPT_VTAB if that is missing or damaged. To
 * be closed whatever is returned. */
int ctr_shape_read(ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                   ctr_problem *problem);

/* Learns the columns by preparing a SELECT, which takes no lock that lasts: what xConnect needs.
 * The key is the one of `declared`, which is copied where there is no stored table that fits:
 * whether it is whole, and its generations, are for ctr_shape_read. To be closed whatever is
 * returned. */
int ctr_shape_describe(ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                       const ctr_shape *declared, ctr_problem *problem);

/* Have the two the same columns? Generations are not compared. */
bool ctr_shape_same_columns(const ctr_shape *a, const ctr_shape *b);

/* Takes over what `from`, which was read, says of generations and of counters that are gone. */
int ctr_shape_take_generations(ctr_shape *shape, const ctr_shape *from, ctr_problem *problem);

/* The counter of this name, in these letters or in any, or -1. */
int ctr_shape_counter(const ctr_shape *shape, const char *name);
int ctr_shape_counter_like(const ctr_shape *shape, const char *name);

/* The name of a counter by its number. */
const char *ctr_shape_counter_name(const ctr_shape *shape, int counter);

/* The counters that are there and those that are gone, one after the other: the name of number `i`,
 * and its generation; NULL behind the last. */
const char *ctr_shape_ever(const ctr_shape *shape, int i, int64_t *generation);

/* The generation of a counter of this name, whatever the letters, and how its letters are here if
 * it ever was: 0 and NULL if not. */
int64_t ctr_shape_generation(const ctr_shape *shape, const char *name, const char **spelling);

/* The stored tables of a counter table: "cells", "journal", "floors", ...; NULL at the end. */
const char *const *ctr_shape_suffixes(void);

/* Creates, drops and renames the stored tables. */
void ctr_shape_create(const ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                      ctr_problem *problem);
void ctr_shape_drop(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem);
void ctr_shape_rename(sqlite3 *db, const char *schema, const char *table, const char *to,
                      ctr_problem *problem);

/* The key in words, "path TEXT BINARY, hour INTEGER BINARY": names, affinities and collations, what
 * two files must have in common. To be freed with sqlite3_free; NULL: no memory. */
char *ctr_shape_key_text(const ctr_shape *shape);
const char *ctr_shape_affinity_name(ctr_affinity affinity);

/* The clauses of a declaration that gives this shape, to be freed with sqlite3_free; NULL: no
 * memory. One without counters cannot be declared: it gets one of those that are gone. */
char *ctr_shape_declaration(const ctr_shape *shape);

/* The key columns, quoted, in key order; all columns in declared order; the counters, or NULL where
 * there is none. To be freed with sqlite3_free. */
char *ctr_shape_key_list(const ctr_shape *shape);
char *ctr_shape_counter_list(const ctr_shape *shape);
char *ctr_shape_column_list(const ctr_shape *shape);

/* The refusal where a column that is not NULL reads as NULL. */
int ctr_shape_hidden(const char *table, ctr_problem *problem);

/* Refuses to write cells where an authorizer of the host has SQLite answer NULL for one of them. */
int ctr_shape_refuse_hidden(const ctr_shape *shape, sqlite3 *db, const char *schema,
                            const char *table, ctr_problem *problem);

/* Refuses triggers that would run with what we write, for a trigger is foreign code: on the stored
 * tables of `table`, which may be NULL, and with `of_file` on those of the file. */
int ctr_shape_refuse_triggers(sqlite3 *db, const char *schema, const char *table, bool of_file,
                              ctr_problem *problem);

/* Frees all; twice is harmless. */
void ctr_shape_close(ctr_shape *shape);

#endif
