/* table/lists.h - the lists in the statements of sql/rows.sql, for one shape.
 *
 * Each is to be freed with sqlite3_free; NULL: no memory.
 */
#ifndef CTR_TABLE_LISTS_H
#define CTR_TABLE_LISTS_H

#include "table/shape.h"

/* Columns of a find: _id, then those of the shape. */
enum { CTR_FIND_ROWID, CTR_FIND_COLUMNS };

/* Parameters of a write: the key of a new row, or the row id of one that is there; then the
 * counters. */
enum { CTR_INSERT_KEYS = 1, CTR_UPDATE_ROWID = 1, CTR_UPDATE_COUNTERS };

char *ctr_lists_key_match(const ctr_shape *shape);

/* Byte for byte, whatever the collation; a parameter that is NULL asks nothing. */
char *ctr_lists_exact_match(const ctr_shape *shape);
char *ctr_lists_insert_columns(const ctr_shape *shape);
char *ctr_lists_insert_values(const ctr_shape *shape);
char *ctr_lists_update_changes(const ctr_shape *shape);

#endif
