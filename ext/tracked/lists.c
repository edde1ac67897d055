/* tracked/lists.c - lists of the columns of a tracked table, for statements. */
#include "tracked/tracked.h"

static char mark_of_column(const ctr_tracked *tracked, int counter)
{
    const ctr_tracked_column *column = ctr_tracked_column_of(tracked, counter);
    return !column ? '0' : column->adopted ? '2' : '1';
}

static bool lacks_column(const ctr_tracked *tracked)
{
    for (int i = 0; i < tracked->shape->n_counters; i++)
        if (mark_of_column(tracked, i) != '1') return true;
    return false;
}

void ctr_list_own_names(const ctr_tracked *tracked, sqlite3_str *out, bool counters)
{
    const ctr_shape *shape = tracked->shape;
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s\"%w\"", ctr_text_separator(out, ", "),
                            shape->columns[shape->keys[i]].name);
    for (int i = 0; counters && i < shape->n_counters; i++)
        sqlite3_str_appendf(out, ", \"%w\"", ctr_shape_counter_name(shape, i));
    if (counters && lacks_column(tracked)) sqlite3_str_appendall(out, ", _marks");
}

void ctr_list_keys(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix)
{
    for (int i = 0; i < tracked->shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s%s\"%w\"", ctr_text_separator(out, ", "), prefix,
                            ctr_tracked_key(tracked, i)->name);
}

void ctr_list_values(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix)
{
    for (int i = 0; i < tracked->shape->n_counters; i++) {
        const ctr_tracked_column *column = ctr_tracked_column_of(tracked, i);
        if (column)
            sqlite3_str_appendf(out, ", %s\"%w\"", prefix, column->name);
        else
            sqlite3_str_appendall(out, ", NULL");
    }
}

/* Appends '102' if the second counter has no column and the third was adopted; nothing if none is
 * like them. */
static void list_marks(const ctr_tracked *tracked, sqlite3_str *out)
{
    if (!lacks_column(tracked)) return;
    sqlite3_str_appendall(out, ", '");
    for (int i = 0; i < tracked->shape->n_counters; i++)
        sqlite3_str_appendchar(out, 1, mark_of_column(tracked, i));
    sqlite3_str_appendall(out, "'");
}

void ctr_list_row(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix)
{
    ctr_list_keys(tracked, out, prefix);
    ctr_list_values(tracked, out, prefix);
    list_marks(tracked, out);
}

char *ctr_list_key_match(const ctr_tracked *tracked)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    const ctr_shape *shape = tracked->shape;
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, "%sc.\"%w\" = t.\"%w\"", i ? " AND " : "",
                            shape->columns[shape->keys[i]].name, ctr_tracked_key(tracked, i)->name);
    return sqlite3_str_finish(out);
}

void ctr_list_bound_key(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix)
{
    for (int i = 0; i < tracked->shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s%s\"%w\" = ?%d", i ? " AND " : "", prefix,
                            ctr_tracked_key(tracked, i)->name, 1 + i);
}
