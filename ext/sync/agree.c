/* sync/agree.c - compares two shapes. */
#include "sync/agree.h"

#include <string.h>

/* A table, and the name of its file in messages. */
typedef struct agree_side {
    const ctr_shape *shape;
    const char *file;
} agree_side;

int ctr_agree_counter(const ctr_shape *shape, const char *name, int64_t generation)
{
    int found = ctr_shape_counter(shape, name);
    if (found < 0) return -1;
    return shape->columns[shape->counters[found]].generation == generation ? found : -1;
}

static int say_difference(const agree_side *one, const agree_side *two, const char *what,
                          const char *a, const char *b, ctr_problem *problem)
{
    return ctr_problem_set(problem, SQLITE_ERROR, "the tables differ in %s: %s has %s, %s has %s",
                           what, one->file, a, two->file, b);
}

static const ctr_column *column_of_key(const agree_side *table, int key)
{
    return &table->shape->columns[table->shape->keys[key]];
}

static const char *name_of_key(const agree_side *table, int key)
{
    return key < table->shape->n_keys ? column_of_key(table, key)->name : "none";
}

static int compare_keys(const agree_side *one, const agree_side *two, ctr_problem *problem)
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

static void compare_counters(const agree_side *one, const agree_side *two, ctr_problem *problem)
{
    for (int i = 0; i < one->shape->n_counters; i++) {
        const ctr_column *counter = &one->shape->columns[one->shape->counters[i]];
        if (ctr_agree_counter(two->shape, counter->name, counter->generation) >= 0) continue;
        bool is_there = ctr_shape_counter(two->shape, counter->name) >= 0;
        ctr_problem_set(problem, SQLITE_ERROR, "the tables differ: %s has no counter %s%s",
                        two->file, counter->name, is_there ? " of this generation" : "");
    }
}

int ctr_agree_keys(const ctr_shape *one, const char *a, const ctr_shape *two, const char *b,
                   ctr_problem *problem)
{
    agree_side here = {one, a}, there = {two, b};
    if (problem->rc != SQLITE_OK || compare_keys(&here, &there, problem)) return problem->rc;
    int64_t generation;
    const char *name, *other;
    for (int i = 0; (name = ctr_shape_ever(one, i, &generation)); i++)
        if (ctr_shape_generation(two, name, &other) > 0 && strcmp(name, other) != 0)
            say_difference(&here, &there, "the spelling of a counter", name, other, problem);
    return problem->rc;
}

int ctr_agree_check(const ctr_shape *one, const char *a, const ctr_shape *two, const char *b,
                    ctr_problem *problem)
{
    agree_side here = {one, a}, there = {two, b};
    if (ctr_agree_keys(one, a, two, b, problem)) return problem->rc;
    compare_counters(&there, &here, problem);
    compare_counters(&here, &there, problem);
    return problem->rc;
}
