/* table/shape.h - the keys and the counters of a counter table.
 *
 * The columns of the UNIQUE constraint of the stored table are the key, in its order; the other
 * columns are counters (table/stored.h).
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

/* A dropped counter that was here or elsewhere. */
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

/* Appends a dropped counter; copies the name. */
void ctr_shape_add_gone(ctr_shape *shape, const char *name, int64_t generation,
                        ctr_problem *problem);

/* Copies a shape. The caller closes the copy, also after a failure. */
int ctr_shape_copy(ctr_shape *shape, const ctr_shape *of, ctr_problem *problem);

/* Returns whether the two have the same columns. Does not compare generations. */
bool ctr_shape_same_columns(const ctr_shape *a, const ctr_shape *b);

/* Takes over what `from`, which was read, says of generations and of counters that are gone. */
int ctr_shape_take_generations(ctr_shape *shape, const ctr_shape *from, ctr_problem *problem);

/* The counter of this name, in these letters or in any, or -1. */
int ctr_shape_counter(const ctr_shape *shape, const char *name);
int ctr_shape_counter_like(const ctr_shape *shape, const char *name);

/* Returns the name of a counter by its number. */
const char *ctr_shape_counter_name(const ctr_shape *shape, int counter);

/* The counters that are there and those that are gone, one after the other: the name of number `i`,
 * and its generation; NULL behind the last. */
const char *ctr_shape_ever(const ctr_shape *shape, int i, int64_t *generation);

/* The generation of a counter of this name, whatever the letters, and how its letters are here if
 * it ever was: 0 and NULL if not. */
int64_t ctr_shape_generation(const ctr_shape *shape, const char *name, const char **spelling);

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

/* ---- lists for sql/rows.sql; to be freed with sqlite3_free, NULL: no memory ---- */

/* Columns of a find: _id, then those of the shape. */
enum { CTR_FIND_ROWID, CTR_FIND_COLUMNS };

/* Parameters of a write: the key of a new row, or the row id of one that is there; then the
 * counters. */
enum { CTR_INSERT_KEYS = 1, CTR_UPDATE_ROWID = 1, CTR_UPDATE_COUNTERS };

char *ctr_shape_key_match(const ctr_shape *shape);

/* Byte for byte, whatever the collation; a parameter that is NULL asks nothing. */
char *ctr_shape_exact_match(const ctr_shape *shape);
char *ctr_shape_insert_columns(const ctr_shape *shape);
char *ctr_shape_insert_values(const ctr_shape *shape);
char *ctr_shape_update_changes(const ctr_shape *shape);

/* Frees everything; a second call does nothing. */
void ctr_shape_close(ctr_shape *shape);

#endif
