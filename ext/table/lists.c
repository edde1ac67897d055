/* table/lists.c - writes the lists that statements on stored rows are made of. */
#include "table/lists.h"

static const char *key_name(const ctr_shape *shape, int key)
{
    return shape->columns[shape->keys[key]].name;
}

char *ctr_lists_key_match(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s\"%w\" = ?%d", i ? " AND " : "", key_name(shape, i), i + 1);
    return sqlite3_str_finish(out);
}

char *ctr_lists_exact_match(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s(?%d IS NULL OR \"%w\" = ?%d COLLATE BINARY)", i ? " AND " : "",
                            i + 2, key_name(shape, i), i + 2);
    return sqlite3_str_finish(out);
}

char *ctr_lists_insert_columns(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s\"%w\"", i ? ", " : "", key_name(shape, i));
    for (int i = 0; i < shape->n_counters; i++)
        sqlite3_str_appendf(out, ", \"%w\"", ctr_shape_counter_name(shape, i));
    return sqlite3_str_finish(out);
}

char *ctr_lists_insert_values(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_columns; i++)
        sqlite3_str_appendf(out, "%s?%d", i ? ", " : "", CTR_INSERT_KEYS + i);
    return sqlite3_str_finish(out);
}

char *ctr_lists_update_changes(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_counters; i++)
        sqlite3_str_appendf(out, "%s\"%w\" = coalesce(?%d, \"%w\")", i ? ", " : "",
                            ctr_shape_counter_name(shape, i), CTR_UPDATE_COUNTERS + i,
                            ctr_shape_counter_name(shape, i));
    return sqlite3_str_finish(out);
}
