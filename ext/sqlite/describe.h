/* sqlite/describe.h - values as messages show them: 5, 1.5, 'five', x'01', NULL; long ones cut. */
#ifndef CTR_SQLITE_DESCRIBE_H
#define CTR_SQLITE_DESCRIBE_H

#include "sqlite/sqlite.h"

/* A key as messages show it, ('/', 12); like the next one to be freed. The values may be those of a
 * statement's row. */
char *ctr_describe_key(sqlite3_value **values, int n);

/* "TEXT 'five'", "REAL 1.5", "NULL": to be freed with sqlite3_free, NULL if there is no memory. */
char *ctr_describe_value(sqlite3_value *value);

#endif
