/* sqlite/sql.h - every statement that we run, by name, with its identifiers filled in.
 *
 * The texts stand in sql/ and are embedded at build time; each line of the generated list makes the
 * enum and the text, so that they cannot part. A placeholder stands in double quotes:
 * "{table}_cells" takes a name, quoted as SQL wants it; "{columns}" takes a list that is SQL
 * already, and its quotes go away. All are filled in one pass, so that a name with braces is only a
 * name.
 */
#ifndef CTR_SQLITE_SQL_H
#define CTR_SQLITE_SQL_H

typedef enum ctr_sql {
#define CTR_STATEMENT(name, text) CTR_SQL_##name,
#include "statements.h"
#undef CTR_STATEMENT
    CTR_SQL_COUNT
} ctr_sql;

/* What is put in. Borrowed; a statement uses those that it names, and they must not be
 * NULL then. */
typedef struct ctr_slots {
    const char *schema, *table, *name; /* names */
    /* SQL */
    const char *columns, *keys, *definition, *constraint, *values, *changes, *order, *value;
} ctr_slots;

/* The statement, to be freed with sqlite3_free; NULL if there is no memory. */
char *ctr_sql_text(ctr_sql which, const ctr_slots *slots);

#endif
