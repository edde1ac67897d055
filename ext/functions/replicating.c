/* functions/replicating.c - which columns of a table counter_replicate makes regular ones.
 *
 * The names by which files match their regular columns are those that the columns had when they
 * were replicated first; a later rename does not change them (table/regular.h). So a column is
 * refused whose name still is that of another one.
 */
#include <string.h>

#include "functions/functions.h"

/* Gives the rows of the counter table row cells, which are empty. */
static void begin_replicating(ctr_tracking *call, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(call->db, call->schema, call->counters, problem);
    ctr_run_do(&run, CTR_SQL_REGULAR_BEGIN, NULL);
}

static bool is_to_be_counter(const ctr_tracking *call, const char *name)
{
    for (int i = 0; i < call->n; i++)
        if (sqlite3_stricmp(call->names[i], name) == 0) return true;
    return false;
}

/* Returns whether a column of the table is neither key nor counter, and can be written. */
static bool is_regular(const ctr_tracking *call, const ctr_described *column)
{
    return column->name && column->key < 0 && !column->generated &&
           ctr_tracked_counter(&call->tracked, column->name) < 0 &&
           !is_to_be_counter(call, column->name);
}

/* Returns the regular column that the table has by this name, or NULL. */
static const ctr_tracked_regular *regular_of(const ctr_tracking *call, const char *name)
{
    for (int i = 0; i < call->tracked.n_regular; i++) {
        const char *column = call->tracked.regular[i].column;
        if (column && sqlite3_stricmp(column, name) == 0) return &call->tracked.regular[i];
    }
    return NULL;
}

/* Ends the replication of regular columns that become counters. Returns whether there are any. */
static bool end_regular(ctr_tracking *call, ctr_tab *tab, ctr_problem *problem)
{
    bool any = false;
    for (int i = 0; tab && i < call->tracked.n_regular && problem->rc == SQLITE_OK; i++) {
        const ctr_tracked_regular *regular = &call->tracked.regular[i];
        if (!regular->column || !is_to_be_counter(call, regular->column)) continue;
        ctr_regular_note(tab, regular->number, regular->name, NULL, problem);
        any = true;
    }
    return any;
}

void ctr_replicating_note_births(ctr_tracking *call, ctr_problem *problem)
{
    size_t size = ((size_t)call->n + 1) * sizeof *call->births;
    call->births = problem->rc == SQLITE_OK ? sqlite3_malloc64(size) : NULL;
    if (!call->births) ctr_problem_nomem(problem);
    if (problem->rc != SQLITE_OK) return;
    memset(call->births, 0, size);
    for (int i = 0; i < call->n; i++) {
        const ctr_tracked_regular *regular = regular_of(call, call->names[i]);
        if (!regular) continue;
        call->births[i] = ctr_text_copy(regular->name, problem);
        if (!call->replicates)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "%s: column %s is a regular column: counter_replicate('%s', '%s') "
                            "makes it a counter",
                            call->table, call->names[i], call->table, call->names[i]);
    }
}

const char *ctr_replicating_birth(const ctr_tracking *call, const char *column)
{
    for (int i = 0; i < call->n && call->births; i++)
        if (call->births[i] && sqlite3_stricmp(call->names[i], column) == 0) return call->births[i];
    return column;
}

static void refuse_birth(const ctr_tracking *call, const char *column, ctr_problem *problem)
{
    ctr_problem_set(problem, SQLITE_ERROR,
                    "%s: another column was called %s when it was replicated, and other files "
                    "still know it by that name: rename this one",
                    call->table, column);
}

void ctr_replicating_refuse_birth(const ctr_tracking *call, const char *column, const char *birth,
                                  ctr_problem *problem)
{
    for (int i = 0; i < call->tracked.n_regular; i++)
        if (sqlite3_stricmp(call->tracked.regular[i].name, birth) == 0)
            refuse_birth(call, column, problem);
}

static void add_regular(const ctr_tracking *call, ctr_tab *tab, const char *name,
                        ctr_problem *problem)
{
    const ctr_registry *registry = ctr_regular_of(tab, problem);
    if (!registry) return;
    if (!*name)
        ctr_problem_set(problem, SQLITE_ERROR, "%s: a column without a name cannot be replicated",
                        call->table);
    int counter = ctr_shape_counter_like(&call->shape, name);
    if (counter >= 0 && !ctr_tracked_column_of(&call->tracked, counter))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s: column %s is a counter in other files: counter_replicate('%s', '%s') "
                        "makes it one here",
                        call->table, name, call->table, name);
    if (counter >= 0 || ctr_regular_named(registry, name, strlen(name)) >= 0)
        refuse_birth(call, name, problem);
    ctr_regular_note(tab, registry->n, name, name, problem);
}

bool ctr_replicating_add(ctr_tracking *call, ctr_problem *problem)
{
    if (!call->shape.replicated) {
        begin_replicating(call, problem);
        ctr_tracking_open_counters(call, problem);
    }
    if (problem->rc != SQLITE_OK) return false;
    ctr_tab *tab = ctr_tab_of(call->file, call->counters, &call->shape, problem);
    bool changed = end_regular(call, tab, problem);
    for (size_t i = 0; tab && i < call->tracked.ordinary.n && problem->rc == SQLITE_OK; i++) {
        const ctr_described *column = &call->tracked.ordinary.columns[i];
        if (!is_regular(call, column) || regular_of(call, column->name)) continue;
        add_regular(call, tab, column->name, problem);
        changed = true;
    }
    bool yields = call->values == CTR_VALUES_OLDEST;
    if ((!changed && !yields) || problem->rc != SQLITE_OK) return changed;
    /* Other files hold values of the new columns, or values that win now: with a new token all rows
     * are read again. */
    ctr_run run = ctr_run_on(call->db, call->schema, call->counters, problem);
    ctr_run_do(&run, CTR_SQL_CATALOG_REDRAW_TABLE, call->counters);
    ctr_tracking_open_counters(call, problem);
    return changed;
}

bool ctr_replicating_drop(ctr_tracking *call, const char *name, ctr_problem *problem)
{
    for (int i = 0; i < call->tracked.n_regular && problem->rc == SQLITE_OK; i++) {
        const ctr_tracked_regular *regular = &call->tracked.regular[i];
        const char *column = regular->column ? regular->column
                             : regular->lost ? regular->lost
                                             : regular->name;
        if (sqlite3_stricmp(column, name) != 0) continue;
        ctr_tab *tab = ctr_tab_of(call->file, call->counters, &call->shape, problem);
        ctr_tracked_note(call->file, call->counters, &call->shape, problem);
        if (tab) ctr_regular_note(tab, regular->number, regular->name, NULL, problem);
        ctr_tracking_open_counters(call, problem);
        return true;
    }
    return false;
}
