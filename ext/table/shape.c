/* table/shape.c - keeps columns, and lists them. */
#include "table/table.h"

#include <string.h>

/* ---- the struct ------------------------------------------------------------------------------ */

int ctr_shape_open(ctr_shape *shape, int n, ctr_problem *problem)
{
    size_t room = (size_t)(n > 0 ? n : 1);
    *shape = (ctr_shape){.columns = sqlite3_malloc64(room * sizeof *shape->columns),
                         .keys = sqlite3_malloc64(room * sizeof *shape->keys),
                         .counters = sqlite3_malloc64(room * sizeof *shape->counters),
                         .room = n};
    bool made = shape->columns && shape->keys && shape->counters;
    return made ? problem->rc : ctr_problem_nomem(problem);
}

int ctr_shape_add(ctr_shape *shape, const char *name, const char *type, const char *collation,
                  int key, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (shape->n_columns == shape->room)
        return ctr_problem_set(problem, SQLITE_SCHEMA, "the stored table has changed");
    int i = shape->n_columns++;
    ctr_column *column = &shape->columns[i];
    *column = (ctr_column){.name = sqlite3_mprintf("%s", name),
                           .type = sqlite3_mprintf("%s", type),
                           .collation = sqlite3_mprintf("%s", *collation ? collation : "BINARY"),
                           .affinity = ctr_declaration_affinity(type),
                           .key = key,
                           .counter = key < 0 ? shape->n_counters : -1,
                           .generation = key < 0 ? 1 : 0};
    if (key < 0) shape->counters[shape->n_counters++] = i;
    if (key >= 0) {
        shape->keys[key] = i;
        shape->n_keys++;
    }
    bool made = column->name && column->type && column->collation;
    return made ? SQLITE_OK : ctr_problem_nomem(problem);
}

/* Returns the position of the name among the dropped counters, or where it would be inserted. */
static int place_of_gone(const ctr_shape *shape, const char *name)
{
    int from = 0, to = shape->n_gone;
    while (from < to) {
        int middle = from + (to - from) / 2;
        if (sqlite3_stricmp(shape->gone[middle].name, name) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void ctr_shape_add_gone(ctr_shape *shape, const char *name, int64_t generation,
                        ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return;
    bool is_full = (shape->n_gone & (shape->n_gone - 1)) == 0; /* capacity doubles */
    size_t room = shape->n_gone > 0 ? 2 * (size_t)shape->n_gone : 1;
    ctr_gone *gone = is_full ? sqlite3_realloc64(shape->gone, room * sizeof *gone) : shape->gone;
    char *copy = sqlite3_mprintf("%s", name);
    if (gone) shape->gone = gone;
    if (gone && copy) {
        int at = place_of_gone(shape, name);
        memmove(gone + at + 1, gone + at, (size_t)(shape->n_gone - at) * sizeof *gone);
        gone[at] = (ctr_gone){copy, generation};
        shape->n_gone++;
        return;
    }
    sqlite3_free(copy);
    ctr_problem_nomem(problem);
}

int ctr_shape_copy(ctr_shape *shape, const ctr_shape *of, ctr_problem *problem)
{
    ctr_shape_open(shape, of->n_columns, problem);
    shape->replicated = of->replicated;
    for (int i = 0; i < of->n_columns; i++) {
        const ctr_column *column = &of->columns[i];
        ctr_shape_add(shape, column->name, column->type, column->collation, column->key, problem);
        if (problem->rc != SQLITE_OK) return problem->rc;
        shape->columns[i].generation = column->generation;
        shape->columns[i].listed = column->listed;
    }
    for (int i = 0; i < of->n_gone; i++)
        ctr_shape_add_gone(shape, of->gone[i].name, of->gone[i].generation, problem);
    return problem->rc;
}

bool ctr_shape_same_columns(const ctr_shape *a, const ctr_shape *b)
{
    bool same = a->n_columns == b->n_columns && a->replicated == b->replicated;
    for (int i = 0; i < a->n_columns && same; i++) {
        const ctr_column *x = &a->columns[i], *y = &b->columns[i];
        same = x->key == y->key && strcmp(x->name, y->name) == 0 &&
               (x->key < 0 || (sqlite3_stricmp(x->type, y->type) == 0 &&
                               sqlite3_stricmp(x->collation, y->collation) == 0));
    }
    return same;
}

int ctr_shape_counter(const ctr_shape *shape, const char *name)
{
    for (int i = 0; i < shape->n_counters; i++)
        if (strcmp(ctr_shape_counter_name(shape, i), name) == 0) return i;
    return -1;
}

const char *ctr_shape_counter_name(const ctr_shape *shape, int counter)
{
    return shape->columns[shape->counters[counter]].name;
}

int ctr_shape_counter_like(const ctr_shape *shape, const char *name)
{
    for (int i = 0; i < shape->n_counters; i++)
        if (sqlite3_stricmp(ctr_shape_counter_name(shape, i), name) == 0) return i;
    return -1;
}

int ctr_shape_column_like(const ctr_shape *shape, const char *name)
{
    for (int i = 0; name && i < shape->n_columns; i++)
        if (sqlite3_stricmp(shape->columns[i].name, name) == 0) return i;
    return -1;
}

const char *ctr_shape_ever(const ctr_shape *shape, int i, int64_t *generation)
{
    if (i < shape->n_counters) {
        const ctr_column *counter = &shape->columns[shape->counters[i]];
        *generation = counter->generation;
        return counter->name;
    }
    i -= shape->n_counters;
    if (i >= shape->n_gone) return NULL;
    *generation = shape->gone[i].generation;
    return shape->gone[i].name;
}

int64_t ctr_shape_generation(const ctr_shape *shape, const char *name, const char **spelling)
{
    int counter = ctr_shape_counter_like(shape, name), at = place_of_gone(shape, name);
    bool is_gone = at < shape->n_gone && sqlite3_stricmp(shape->gone[at].name, name) == 0;
    *spelling = NULL;
    if (counter >= 0) *spelling = ctr_shape_counter_name(shape, counter);
    if (counter >= 0) return shape->columns[shape->counters[counter]].generation;
    if (is_gone) *spelling = shape->gone[at].name;
    return is_gone ? shape->gone[at].generation : 0;
}

void ctr_shape_close(ctr_shape *shape)
{
    for (int i = 0; i < shape->n_columns; i++) {
        sqlite3_free(shape->columns[i].name);
        sqlite3_free(shape->columns[i].type);
        sqlite3_free(shape->columns[i].collation);
    }
    for (int i = 0; i < shape->n_gone; i++) sqlite3_free(shape->gone[i].name);
    sqlite3_free(shape->gone);
    sqlite3_free(shape->columns);
    sqlite3_free(shape->keys);
    sqlite3_free(shape->counters);
    *shape = (ctr_shape){0};
}

/* ---- lists of SQL ---------------------------------------------------------------------------- */

char *ctr_shape_list(const ctr_shape *shape, ctr_part part, const char *item, const char *separator,
                     int first)
{
    int n = shape->n_keys, from = part == CTR_COUNTERS ? n : 0;
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = from; i < (part == CTR_KEYS ? n : shape->n_columns); i++) {
        int column = i < n ? shape->keys[i] : shape->counters[i - n];
        if (part == CTR_AS_DECLARED) column = i;
        if (i > from) sqlite3_str_appendall(out, separator);
        for (const char *c = item; *c; c++) {
            if (*c == '@')
                sqlite3_str_appendf(out, "\"%w\"", shape->columns[column].name);
            else if (*c == '#')
                sqlite3_str_appendf(out, "?%d", first + i - from);
            else
                sqlite3_str_appendchar(out, 1, *c);
        }
    }
    return sqlite3_str_finish(out);
}

char *ctr_shape_key_list(const ctr_shape *shape)
{
    return ctr_shape_list(shape, CTR_KEYS, "@", ", ", 1);
}

char *ctr_shape_column_list(const ctr_shape *shape)
{
    return ctr_shape_list(shape, CTR_AS_DECLARED, "@", ", ", 1);
}

char *ctr_shape_counter_list(const ctr_shape *shape)
{
    if (shape->n_counters == 0) return sqlite3_mprintf("NULL");
    return ctr_shape_list(shape, CTR_COUNTERS, "@", ", ", 1);
}

char *ctr_shape_key_match(const ctr_shape *shape)
{
    return ctr_shape_list(shape, CTR_KEYS, "@ = #", " AND ", 1);
}

/* A NULL leaves a cell as it is; an empty blob empties it, which a new life of a row does. */
char *ctr_shape_update_changes(const ctr_shape *shape)
{
    const char *item = shape->replicated ? "@ = nullif(coalesce(#, @), x'')" : "@ = coalesce(#, @)";
    char *cells = ctr_shape_list(shape, CTR_COUNTERS, item, ", ", CTR_UPDATE_COUNTERS);
    if (!shape->replicated || (shape->n_counters > 0 && !cells)) return cells;
    char *both = sqlite3_mprintf("%s%s\"_row\" = coalesce(?%d, \"_row\")", cells ? cells : "",
                                 cells ? ", " : "", CTR_UPDATE_COUNTERS + shape->n_counters);
    sqlite3_free(cells);
    return both;
}

const char *ctr_shape_affinity_name(ctr_affinity affinity)
{
    static const char *const NAMES[] = {"BLOB", "TEXT", "NUMERIC", "INTEGER", "REAL"};
    return NAMES[affinity];
}

/* Names of collations are written in capitals, because SQLite ignores their case. */
char *ctr_shape_key_text(const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++) {
        const ctr_column *column = &shape->columns[shape->keys[i]];
        sqlite3_str_appendf(out, "%s%s %s ", i ? ", " : "", column->name,
                            ctr_shape_affinity_name(column->affinity));
        for (const char *c = column->collation; *c; c++)
            sqlite3_str_appendchar(out, 1, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    }
    return sqlite3_str_finish(out);
}

char *ctr_shape_declaration(const ctr_shape *shape)
{
    char *keys = ctr_shape_key_list(shape);
    if (!keys) return NULL;
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_columns; i++) {
        const ctr_column *column = &shape->columns[i];
        if (column->key < 0)
            sqlite3_str_appendf(out, "\"%w\" COUNTER, ", column->name);
        else
            sqlite3_str_appendf(out, "\"%w\" %s COLLATE \"%w\", ", column->name, column->type,
                                column->collation);
    }
    if (shape->n_counters == 0 && shape->n_gone > 0)
        sqlite3_str_appendf(out, "\"%w\" COUNTER, ", shape->gone[0].name);
    sqlite3_str_appendf(out, "PRIMARY KEY (%s)", keys);
    sqlite3_free(keys);
    return sqlite3_str_finish(out);
}

/* ---- two shapes ------------------------------------------------------------------------------ */

/* A table, and the name of its file in messages. */
typedef struct named_shape {
    const ctr_shape *shape;
    const char *file;
} named_shape;

int ctr_shape_counter_of(const ctr_shape *shape, const char *name, int64_t generation)
{
    int found = ctr_shape_counter(shape, name);
    if (found < 0) return -1;
    return shape->columns[shape->counters[found]].generation == generation ? found : -1;
}

static int say_difference(const named_shape *one, const named_shape *two, const char *what,
                          const char *a, const char *b, ctr_problem *problem)
{
    return ctr_problem_set(problem, SQLITE_ERROR, "the tables differ in %s: %s has %s, %s has %s",
                           what, one->file, a, two->file, b);
}

static const ctr_column *column_of_key(const named_shape *table, int key)
{
    return &table->shape->columns[table->shape->keys[key]];
}

static const char *name_of_key(const named_shape *table, int key)
{
    return key < table->shape->n_keys ? column_of_key(table, key)->name : "none";
}

static int compare_keys(const named_shape *one, const named_shape *two, ctr_problem *problem)
{
    int n = one->shape->n_keys, m = two->shape->n_keys, least = n < m ? n : m;
    for (int i = 0; i < least; i++) {
        const ctr_column *a = column_of_key(one, i), *b = column_of_key(two, i);
        if (strcmp(a->name, b->name) != 0)
            say_difference(one, two, "a key column", a->name, b->name, problem);
        if (a->affinity != b->affinity)
            say_difference(one, two, "the affinity of a key column",
                           ctr_shape_affinity_name(a->affinity),
                           ctr_shape_affinity_name(b->affinity), problem);
        if (sqlite3_stricmp(a->collation, b->collation) != 0)
            say_difference(one, two, "the collation of a key column", a->collation, b->collation,
                           problem);
    }
    if (n != m)
        say_difference(one, two, "a key column", name_of_key(one, least), name_of_key(two, least),
                       problem);
    return problem->rc;
}

static void compare_counters(const named_shape *one, const named_shape *two, ctr_problem *problem)
{
    for (int i = 0; i < one->shape->n_counters; i++) {
        const ctr_column *counter = &one->shape->columns[one->shape->counters[i]];
        if (ctr_shape_counter_of(two->shape, counter->name, counter->generation) >= 0) continue;
        bool is_there = ctr_shape_counter(two->shape, counter->name) >= 0;
        ctr_problem_set(problem, SQLITE_ERROR, "the tables differ: %s has no counter %s%s",
                        two->file, counter->name, is_there ? " of this generation" : "");
    }
}

int ctr_shape_check_keys(const ctr_shape *one, const char *a, const ctr_shape *two, const char *b,
                         ctr_problem *problem)
{
    named_shape here = {one, a}, there = {two, b};
    if (problem->rc != SQLITE_OK || compare_keys(&here, &there, problem)) return problem->rc;
    int64_t generation;
    const char *name, *other;
    for (int i = 0; (name = ctr_shape_ever(one, i, &generation)); i++)
        if (ctr_shape_generation(two, name, &other) > 0 && strcmp(name, other) != 0)
            say_difference(&here, &there, "the spelling of a counter", name, other, problem);
    return problem->rc;
}

int ctr_shape_check_same(const ctr_shape *one, const char *a, const ctr_shape *two, const char *b,
                         ctr_problem *problem)
{
    named_shape here = {one, a}, there = {two, b};
    if (ctr_shape_check_keys(one, a, two, b, problem)) return problem->rc;
    compare_counters(&there, &here, problem);
    compare_counters(&here, &there, problem);
    return problem->rc;
}

bool ctr_shape_is_behind(const ctr_shape *shape, const ctr_shape *from)
{
    int64_t generation;
    const char *name, *spelling;
    for (int i = 0; (name = ctr_shape_ever(from, i, &generation)); i++)
        if (ctr_shape_generation(shape, name, &spelling) < generation) return true;
    return false;
}
