/* tracked/constraints.h - what the constraints of an ordinary table mean for its counters: which
 * columns can be tracked, and which rows OR REPLACE removes. tracked/foreign.h: foreign keys.
 */
#ifndef CTR_TRACKED_CONSTRAINTS_H
#define CTR_TRACKED_CONSTRAINTS_H

#include "base/problem.h"
#include "tracked/tracked.h"

/* ---- columns --------------------------------------------------------------------------------- */

/* Reads the shape of the counter table of a table: counters for the n named columns and for those
 * of `tracked`, which may be closed. Returns SQLITE_ERROR, and names the column, if it cannot be
 * tracked. The caller closes the shape, even if this fails.
 *
 * The key is the PRIMARY KEY. Its types are plain, and it compares as its columns do; otherwise two
 * rows of the table could have one key in the counter table. A tracked column has no type that
 * turns integers into texts or reals, and is not generated. */
int ctr_constraints_read_shape(ctr_shape *shape, sqlite3 *db, const char *schema, const char *table,
                               const char *const *names, int n, const ctr_tracked *tracked,
                               ctr_problem *problem);

/* Fails if SQLite itself gives out the key of a row that is inserted without one: the key is the
 * row id. Such a PRIMARY KEY alone has no index. The shape is that of the table. */
void ctr_constraints_refuse_own_keys(const ctr_shape *shape, sqlite3 *db, const char *schema,
                                     const char *table, ctr_problem *problem);

/* Returns whether SQLite numbers the keys of a table whose terms were read, which has a key. */
bool ctr_constraints_numbers_keys(const ctr_ordinary *ordinary);

/* Fails if a key column has a collation that is not built in: a pull looks for rows by their keys
 * in the other file, and no code of the application may decide which rows are one there. */
void ctr_constraints_refuse_collations(const ctr_shape *shape, const char *table,
                                       ctr_problem *problem);

/* ---- UNIQUE ---------------------------------------------------------------------------------- */

/* Which rows OR REPLACE removes for a new row: a condition for each UNIQUE index of a table, except
 * for the PRIMARY KEY, and for a row id that is not the key, within a trigger on the table. */

typedef struct ctr_unique {
    sqlite3_str *match;      /* "code" = NEW."code" AND ..., for each index */
    const char *between;     /* what stands between the conditions of two indexes; borrowed */
    sqlite3_str *names;      /* of the columns in these indexes, and of the row id */
    const char *rowid_alone; /* a name of the row id, if there is no other condition; else NULL */
    bool any_column;         /* other columns count, too: in expressions or conditions */
    bool any_generated;      /* the table has generated columns */
    sqlite3_str *stored;     /* NEW."a" IS NULL OR ..., for what generated columns are made of */
} ctr_unique;

/* Appends to `match`, `names` and `stored`, which the caller makes and finishes. The terms of the
 * indexes were read. */
void ctr_constraints_list_unique(ctr_unique *rows, const ctr_tracked *tracked,
                                 ctr_problem *problem);

/* Returns the DEFAULT of a column as an expression, "NULL" if there is none. A name in it, as in
 * DEFAULT blue, means its text. The caller frees it with sqlite3_free; NULL on a problem. */
char *ctr_constraints_default(const ctr_described *column, ctr_problem *problem);

/* Appends NEW."name" for a BEFORE trigger; for a column with NOT NULL and DEFAULT, the value that
 * OR REPLACE stores in place of a NULL. A DEFAULT that calls a function, or has a
 * name in quotes among others, is left out. */
void ctr_constraints_append_new(sqlite3_str *out, const ctr_tracked *tracked, const char *name,
                                ctr_problem *problem);

#endif
