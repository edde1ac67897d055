/* track/unique.h - which rows OR REPLACE removes for a new row: the UNIQUE indexes of a table,
 * except for the PRIMARY KEY, as a condition within a trigger on the table.
 */
#ifndef CTR_TRACK_UNIQUE_H
#define CTR_TRACK_UNIQUE_H

#include "sqlite/problem.h"

typedef struct ctr_unique {
    sqlite3_str *match; /* "code" = NEW."code" AND ... OR ... */
    sqlite3_str *names; /* of the columns in these indexes */
    bool any_column;    /* other columns count, too: in expressions or conditions */
} ctr_unique;

/* Appends to `match` and `names`, which the caller makes and finishes. */
void ctr_unique_list(ctr_unique *rows, sqlite3 *db, const char *schema, const char *table,
                     ctr_problem *problem);

/* One term of a UNIQUE index, or of the index of a PRIMARY KEY. All is borrowed. */
typedef struct ctr_term {
    const char *index;
    const char *name, *collation; /* of the column; no name: an expression */
    int number;                   /* within the index, from 0 */
    bool is_primary, is_partial;  /* the index */
} ctr_term;

/* Calls `visit` for each term of each UNIQUE index of the table. */
void ctr_unique_each_term(sqlite3 *db, const char *schema, const char *table,
                          void (*visit)(void *with, const ctr_term *term, ctr_problem *problem),
                          void *with, ctr_problem *problem);

#endif
