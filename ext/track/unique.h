/* track/unique.h - which rows a new row of a table removes by OR REPLACE: UNIQUE indexes, the
 * PRIMARY KEY aside, as a condition within a trigger on the table.
 */
#ifndef CTR_TRACK_UNIQUE_H
#define CTR_TRACK_UNIQUE_H

#include "sqlite/problem.h"

typedef struct ctr_unique {
    sqlite3_str *match; /* "code" = NEW."code" AND ... OR ... */
    sqlite3_str *names; /* of the columns that can make a row equal to another */
    bool any_column;    /* others can, too, for there are expressions or conditions */
} ctr_unique;

/* Columns of the statement TRACK_INDEX_TERMS. */
enum {
    CTR_TERM_INDEX,
    CTR_TERM_ORIGIN,
    CTR_TERM_PARTIAL,
    CTR_TERM_NUMBER,
    CTR_TERM_NAME, /* NULL: an expression */
    CTR_TERM_COLLATION
};

/* Appends to `match` and `names`, which the caller makes and finishes. */
void ctr_unique_list(ctr_unique *rows, sqlite3 *db, const char *schema, const char *table,
                     ctr_problem *problem);

#endif
