/* sqlite/sql.h - every statement that we run, by name, with its identifiers filled in.
 *
 * The texts are in sql/ and are embedded at build time; each line of the generated list makes the
 * enum and the text, so that they always agree. A placeholder is in double quotes: "{table}_cells"
 * takes a name, quoted as SQL wants it; "{columns}" takes a list that is SQL already, without the
 * quotes. All are filled in one pass, so that a name with braces is only a name.
 */
#ifndef CTR_SQLITE_SQL_H
#define CTR_SQLITE_SQL_H

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
char *ctr_sql_text(ctr_sql which, const ctr_slots *slots);

#endif
