/* table/shape.h - the keys and the counters of a counter table.
 *
 * The columns of the UNIQUE constraint of the stored table are the key, in its order; the other
 * columns are counters (table/stored.h).
 */
#ifndef CTR_TABLE_SHAPE_H
#define CTR_TABLE_SHAPE_H

#include <stdint.h>

#include "core/declaration.h"
#include "base/schema.h"

typedef struct ctr_column {
    char *name, *type, *collation; /* owned; type "" and collation "BINARY" if none was declared */
    ctr_affinity affinity;
    int key;     /* position in the key, or -1 */
    int counter; /* number among the counters, or -1 */

    /* Of a counter: see table/columns.h. */
    int64_t generation;
    bool listed; /* <table>_state lists it */
} ctr_column;

#define CTR_GENERATION_MAX INT64_C(0xffffffff)

/* A counter that was dropped, in this file or in another. */
typedef struct ctr_gone {
    char *name; /* owned */
    int64_t generation;
} ctr_gone;

/* Columns in declared order; `keys` and `counters` are positions among them. There may be no
 * counter, if two files have each dropped the counter that the other kept. */
typedef struct ctr_shape {
    ctr_column *columns;
    int *keys, *counters;
    int n_columns, n_keys, n_counters, room;
    ctr_gone *gone; /* owned; sorted by name, ignoring case */
    int n_gone;
    bool replicated; /* the rows have row cells: table/regular.h */
} ctr_shape;

/* Makes room for n columns. */
int ctr_shape_open(ctr_shape *shape, int n, ctr_problem *problem);

/* Appends a copied column; `key` is its position in the key, or -1 for a counter. Fails with
 * SQLITE_SCHEMA if there is no room, because the table has grown meanwhile; SQLite then tries
 * again. */
int ctr_shape_add(ctr_shape *shape, const char *name, const char *type, const char *collation,
                  int key, ctr_problem *problem);

/* Appends a dropped counter; copies the name. */
void ctr_shape_add_gone(ctr_shape *shape, const char *name, int64_t generation,
                        ctr_problem *problem);

/* Copies a shape, with its dropped counters. The caller closes the copy, also after a failure. */
int ctr_shape_copy(ctr_shape *shape, const ctr_shape *of, ctr_problem *problem);

/* Returns whether the two have the same columns. Does not compare generations. */
bool ctr_shape_same_columns(const ctr_shape *a, const ctr_shape *b);

/* Return the counter of this name, or -1. The second ignores case. */
int ctr_shape_counter(const ctr_shape *shape, const char *name);
int ctr_shape_counter_like(const ctr_shape *shape, const char *name);

/* Returns the column of this name, ignoring case, or -1; NULL is the name of none. */
int ctr_shape_column_like(const ctr_shape *shape, const char *name);

/* Returns the name of a counter by its number. */
const char *ctr_shape_counter_name(const ctr_shape *shape, int counter);

/* Lists present and then dropped counters: returns the name of number `i` and sets its generation;
 * NULL after the last. */
const char *ctr_shape_ever(const ctr_shape *shape, int i, int64_t *generation);

/* Returns the generation of a counter of this name, ignoring case, and sets its spelling here; 0
 * and NULL if there never was one. */
int64_t ctr_shape_generation(const ctr_shape *shape, const char *name, const char **spelling);

/* Returns the key in words, "path TEXT BINARY, hour INTEGER BINARY": names, affinities and
 * collations must agree between two files. The caller frees it with sqlite3_free; NULL: no
 * memory. */
char *ctr_shape_key_text(const ctr_shape *shape);
const char *ctr_shape_affinity_name(ctr_affinity affinity);

/* Returns the clauses of a declaration with this shape; the caller frees them with sqlite3_free;
 * NULL: no memory. A table without counters cannot be declared, so it gets a dropped one. */
char *ctr_shape_declaration(const ctr_shape *shape);

/* Return lists of quoted names: the key columns in key order; the counters, or the word NULL if
 * there is none; all columns in declared order. The caller frees them with sqlite3_free. */
char *ctr_shape_key_list(const ctr_shape *shape);
char *ctr_shape_counter_list(const ctr_shape *shape);
char *ctr_shape_column_list(const ctr_shape *shape);

/* Returns a list of SQL with an item for each column of a part of the shape: the keys in key order,
 * the counters, first these and then those, or all in declared order. In `item`, @ stands for
 * the quoted name of the column and # for its parameter: ?first, ?first+1, ... The caller frees it
 * with sqlite3_free. NULL: no memory, or there is no such column. */
typedef enum ctr_part { CTR_KEYS, CTR_COUNTERS, CTR_KEYS_FIRST, CTR_AS_DECLARED } ctr_part;
char *ctr_shape_list(const ctr_shape *shape, ctr_part part, const char *item, const char *separator,
                     int first);

/* ---- lists for sql/rows.sql; the caller frees them with sqlite3_free; NULL: no memory -------- */

/* Columns of a find: _id, then those of the shape. */
enum { CTR_FIND_ROWID, CTR_FIND_COLUMNS };

/* Parameters of a write: the key of a new row, or the row id of an existing one; then the
 * counters, and the row cell of a replicated table. */
enum { CTR_INSERT_KEYS = 1, CTR_UPDATE_ROWID = 1, CTR_UPDATE_COUNTERS };

char *ctr_shape_key_match(const ctr_shape *shape);
char *ctr_shape_update_changes(const ctr_shape *shape);

/* Frees everything; a second call does nothing. */
void ctr_shape_close(ctr_shape *shape);

/* ---- two shapes ------------------------------------------------------------------------------ */

/* Compares the keys and the counters of two tables.
 *
 * Keys must agree in name, order, affinity and collation. Otherwise two keys here could be one key
 * there, and a merge would mix their shards. Counters may be added and dropped (table/columns.h),
 * but a name must be spelled the same everywhere.
 */

/* Fails unless the keys agree, as a merge requires. `a` and `b` are the names of the two files in
 * messages. */
int ctr_shape_check_keys(const ctr_shape *one, const char *a, const ctr_shape *two, const char *b,
                         ctr_problem *problem);

/* The same; fails also unless both sides have each counter, in the same generation. */
int ctr_shape_check_same(const ctr_shape *one, const char *a, const ctr_shape *two, const char *b,
                         ctr_problem *problem);

/* Returns whether some counter of `from` has a higher generation than in `shape`. */
bool ctr_shape_is_behind(const ctr_shape *shape, const ctr_shape *from);

/* Returns the counter of this name and this generation, or -1. */
int ctr_shape_counter_of(const ctr_shape *shape, const char *name, int64_t generation);

#endif
