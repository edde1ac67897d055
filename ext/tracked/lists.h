/* tracked/lists.h - lists of the columns of a tracked table, for statements on it and on its counter
 * table.
 */
#ifndef CTR_TRACKED_LISTS_H
#define CTR_TRACKED_LISTS_H

#include "tracked/tracked.h"

/* Returns c.key = t.key, for a statement on both tables. The caller frees it with sqlite3_free;
 * NULL: no memory. */
char *ctr_list_key_match(const ctr_tracked *tracked);

/* The others append to `out`. A prefix such as "NEW." stands before each name of the tracked table.
 *
 * "sku" = ?1 AND ..., for a key that ctr_tracked_bind_key binds. */
void ctr_list_bound_key(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix);

/* The key and, if wanted, the counters, by their names in the counter table. If some counter has no
 * column or an adopted one, the marks tell which (counter/table.h): _marks is behind the counters. */
void ctr_list_own_names(const ctr_tracked *tracked, sqlite3_str *out, bool counters);

/* By their names in the tracked table: the key; behind another list, the counters, NULL for one
 * without a column; both, and the marks if there are any. */
void ctr_list_keys(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix);
void ctr_list_values(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix);
void ctr_list_row(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix);

#endif
