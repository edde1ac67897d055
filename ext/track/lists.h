/* track/lists.h - lists of the columns of a tracked table, for statements on it and on its counter
 * table.
 */
#ifndef CTR_TRACK_LISTS_H
#define CTR_TRACK_LISTS_H

#include "track/tracked.h"

/* Returns c.key = t.key, for a statement on both tables. The caller frees it with sqlite3_free;
 * NULL: no memory. */
char *ctr_list_key_match(const ctr_tracked *tracked);

/* Appends "sku" = ?1 AND ..., for a key that ctr_tracked_bind_key binds. */
void ctr_list_bound_key(const ctr_tracked *tracked, sqlite3_str *out);

/* Append parts of these lists. own_names: the key, and the counters if wanted, by their names in
 * the counter table. keys, values: the key, and a value for each counter or NULL, by their names in
 * the tracked table, with a prefix such as NEW. marks: '102' if the second counter has
 * no column and the third was adopted; nothing if each has a column. */
void ctr_list_own_names(const ctr_tracked *tracked, sqlite3_str *out, bool counters);
void ctr_list_keys(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix);
void ctr_list_values(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix);
void ctr_list_marks(const ctr_tracked *tracked, sqlite3_str *out);

#endif
