/* tracked/ordinary.h - an ordinary table as SQLite describes it: its columns, and the terms of its
 * UNIQUE indexes and of its PRIMARY KEY.
 */
#ifndef CTR_TRACKED_ORDINARY_H
#define CTR_TRACKED_ORDINARY_H

#include "base/run.h"

typedef struct ctr_described {
    char *name, *type, *value; /* owned; the value is that of DEFAULT, NULL: it has none */
    bool not_null, generated;
    int key; /* the position in the PRIMARY KEY, or -1 */
} ctr_described;

/* A term of an index. */
typedef struct ctr_term {
    char *index, *name, *collation; /* owned; of the column; no name: an expression */
    int number;                     /* within the index, from 0 */
    bool is_primary, is_partial;    /* the index */
} ctr_term;

/* Zero it; close it. */
typedef struct ctr_ordinary {
    ctr_described *columns; /* owned */
    size_t n, room;
    ctr_term *terms; /* owned; after ctr_ordinary_read_terms */
    size_t n_terms, room_terms;
    bool has_terms;
} ctr_ordinary;

/* Read the columns, and the terms unless they were read; the second call comes before their use.
 * They use PRAGMAs instead of their table-valued functions: SQLite frees the schema of those
 * functions when the host calls sqlite3_deserialize(), and uses it afterwards. */
int ctr_ordinary_read(ctr_ordinary *ordinary, sqlite3 *db, const char *schema, const char *table,
                      ctr_problem *problem);
int ctr_ordinary_read_terms(ctr_ordinary *ordinary, sqlite3 *db, const char *schema,
                            const char *table, ctr_problem *problem);
void ctr_ordinary_close(ctr_ordinary *ordinary);

/* Returns the column of this name, in letters of either case, or NULL. */
const ctr_described *ctr_ordinary_column(const ctr_ordinary *ordinary, const char *name);

#endif
