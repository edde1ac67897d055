/* merge/matching.c - compares regular columns on both sides of a pull. */
#include "merge/merge.h"

#include <string.h>

/* A regular column of the source that counts here. */
static void refuse_counter_here(const ctr_merge *to, const char *name, const char *called,
                                ctr_problem *problem)
{
    ctr_problem_set(problem, SQLITE_ERROR,
                    "column %s is a counter in %s and a regular column in the giving file: "
                    "counter_replicate('%s', '%s') there makes it a counter",
                    name, called, to->showing.tracked->table, name);
}

void ctr_matching_refuse_counters(const ctr_merge *to, const ctr_shape *from, const char *called,
                                  ctr_problem *problem)
{
    const ctr_registry *mine = to->shape.replicated ? ctr_regular_of(to->rows.tab, problem) : NULL;
    for (int i = 0; mine && i < from->n_counters; i++) {
        const char *name = ctr_shape_counter_name(from, i);
        int number = ctr_regular_named(mine, name, strlen(name));
        if (number < 0) continue;
        const ctr_described *column = ctr_tracked_regular_column(to->showing.tracked, number);
        ctr_problem_set(problem, SQLITE_ERROR,
                        "column %s is a counter in the giving file and a regular column in %s: "
                        "counter_replicate('%s', '%s') there makes it a counter",
                        name, called, to->showing.tracked->table, column ? column->name : name);
    }
}

/* A column of our table that the source replicates, and this file does not yet. */
static void refuse_unreplicated(const ctr_merge *to, const char *name, const char *called,
                                ctr_problem *problem)
{
    const ctr_tracked *tracked = to->showing.tracked;
    if (!ctr_ordinary_column(&tracked->ordinary, name)) return;
    for (int i = 0; i < tracked->n_regular; i++)
        if (tracked->regular[i].column && sqlite3_stricmp(tracked->regular[i].column, name) == 0)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "column %s is another one in the giving file: in %s it was %s before "
                            "it was renamed; rename one of the two",
                            name, called, tracked->regular[i].name);
    if (ctr_tracked_counter(tracked, name) >= 0) refuse_counter_here(to, name, called, problem);
    const char *spelling;
    if (ctr_shape_generation(&to->shape, name, &spelling) > 0)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "column %s was a counter and is a regular column in the giving file: in "
                        "%s, call counter_untrack('%s', '%s') if it still counts, then "
                        "counter_replicate('%s')",
                        name, called, tracked->table, name, tracked->table);
    ctr_problem_set(problem, SQLITE_ERROR,
                    "column %s is replicated in the giving file and not yet in %s: call "
                    "counter_replicate('%s') there",
                    name, called, tracked->table);
}

static void check_affinity(const ctr_described *mine, const ctr_described *theirs,
                           ctr_problem *problem)
{
    if (!mine || !theirs || !mine->type || !theirs->type) return;
    ctr_affinity x = ctr_declaration_affinity(mine->type),
                 y = ctr_declaration_affinity(theirs->type);
    if (x != y)
        ctr_problem_set(
            problem, SQLITE_ERROR,
            "the tables differ in the affinity of column %s: the taking file has %s, the "
            "giving file has %s",
            mine->name, ctr_shape_affinity_name(x), ctr_shape_affinity_name(y));
}

int ctr_matching_open(ctr_later *later, const ctr_merge *to, ctr_tab *from, const char *called,
                      ctr_problem *problem)
{
    const ctr_tracked *tracked = to->showing.tracked;
    ctr_row_values_open(&later->values, from, problem);
    const ctr_registry *mine = ctr_regular_of(to->rows.tab, problem),
                       *theirs = ctr_regular_of(from, problem);
    if (!mine || !theirs) return problem->rc;
    later->map = sqlite3_malloc64(((size_t)mine->n + 1) * sizeof *later->map);
    if (!later->map) return ctr_problem_nomem(problem);
    later->n_map = mine->n;
    for (int i = 0; i < mine->n; i++) {
        const ctr_regular *column = &mine->columns[i];
        later->map[i] = column->noted && column->name
                            ? ctr_regular_named(theirs, column->name, strlen(column->name))
                            : -1;
    }
    for (int i = 0; i < mine->n && problem->rc == SQLITE_OK; i++)
        if (later->map[i] >= 0)
            check_affinity(ctr_tracked_regular_column(tracked, i),
                           ctr_tracked_regular_column(later->values.tracked, later->map[i]),
                           problem);
    for (int i = 0; i < theirs->n; i++) {
        const ctr_regular *column = &theirs->columns[i];
        if (!column->noted) continue;
        if (ctr_shape_counter_like(&to->shape, column->name) >= 0)
            refuse_counter_here(to, column->name, called, problem);
        else if (!ctr_regular_was_named(mine, column->name, strlen(column->name)))
            refuse_unreplicated(to, column->name, called, problem);
    }
    return problem->rc;
}

void ctr_matching_list_declared(ctr_tab *from, sqlite3_str *out, ctr_problem *problem)
{
    ctr_tracked *tracked = ctr_tracked_hold(from, problem);
    for (int i = 0; tracked && i < tracked->n_regular; i++) {
        const char *name = tracked->regular[i].column;
        const ctr_described *column = name ? ctr_ordinary_column(&tracked->ordinary, name) : NULL;
        if (!column) continue;
        sqlite3_str_appendf(out, "%s%s%s%s, ", tracked->regular[i].name,
                            column->type && *column->type ? " " : "",
                            column->type ? column->type : "", column->not_null ? " NOT NULL" : "");
    }
    ctr_tracked_release(tracked);
}
