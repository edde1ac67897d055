/* vtab/elements.c - walks an IN while SQLite lends it, and keeps copies of its elements. */
#include "vtab/elements.h"

#include <string.h>

#include "sqlite/array.h"
#include "table/stream.h"

/* SQLite keeps flags of constraints and arguments in BITS bits. */
enum { ALL_AT_ONCE = 3038000, BITS = 32 };

/* ---- the plan -------------------------------------------------------------------------------- */

bool ctr_elements_in_constraint(sqlite3_index_info *info, int i)
{
#if SQLITE_VERSION_NUMBER >= 3038000
    if (sqlite3_libversion_number() >= ALL_AT_ONCE)
        return i >= BITS || sqlite3_vtab_in(info, i, -1);
#endif
    (void)info, (void)i;
    return false;
}

bool ctr_elements_ask(sqlite3_index_info *info, int i, int argument)
{
#if SQLITE_VERSION_NUMBER >= 3038000
    return argument <= BITS && sqlite3_vtab_in(info, i, 1);
#else
    (void)info, (void)i, (void)argument;
    return false;
#endif
}

/* Returns the number of the argument that is an IN, or -1. */
static int place_in_plan(const char *plan)
{
    for (int i = 0; *plan != '.'; plan += 2, i++)
        if (*plan == 'I') return i;
    return -1;
}

bool ctr_elements_in_plan(const char *plan)
{
    return place_in_plan(plan) >= 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void forget_elements(ctr_elements *elements)
{
    if (elements->args && elements->place >= 0) elements->args[elements->place] = NULL; /* lent */
    for (int i = 0; i < elements->n; i++) sqlite3_value_free(elements->elements[i]);
    sqlite3_free(elements->elements);
    elements->elements = NULL;
    elements->n = 0;
    elements->room = 0;
}

void ctr_elements_close(ctr_elements *elements)
{
    forget_elements(elements);
    for (int i = 0; i < elements->argc; i++) sqlite3_value_free(elements->args[i]);
    sqlite3_free(elements->args);
    sqlite3_free(elements->plan);
    *elements = (ctr_elements){.place = -1};
}

static void *owned(void *memory, ctr_problem *problem)
{
    if (!memory) ctr_problem_nomem(problem);
    return memory;
}

static void add_element(ctr_elements *elements, sqlite3_value *value, ctr_problem *problem)
{
    sqlite3_value **more = ctr_array_room(elements->elements, &elements->room,
                                          (size_t)elements->n + 1, sizeof *more, problem);
    if (!more) return;
    elements->elements = more;
    sqlite3_value *copy = owned(sqlite3_value_dup(value), problem);
    if (copy) more[elements->n++] = copy;
}

/* Removes the IN from the plan: a single search follows. */
static void leave_out(ctr_elements *elements)
{
    forget_elements(elements);
    size_t place = (size_t)elements->place, behind = (size_t)elements->argc - place - 1;
    char *pair = elements->plan + 2 * place;
    memmove(pair, pair + 2, strlen(pair + 2) + 1);
    memmove(elements->args + place, elements->args + place + 1, behind * sizeof *elements->args);
    elements->argc--;
    elements->place = -1;
}

static int walk_list(sqlite3_value *list, bool first, sqlite3_value **value)
{
#if SQLITE_VERSION_NUMBER >= 3038000
    return first ? sqlite3_vtab_in_first(list, value) : sqlite3_vtab_in_next(list, value);
#else
    (void)list, (void)first, (void)value;
    return SQLITE_DONE;
#endif
}

/* Skips NULL: a key is never NULL. */
static void take_elements(ctr_elements *elements, const ctr_shape *shape, sqlite3_value *list,
                          ctr_problem *problem)
{
    const char pair[] = {'=', elements->plan[2 * elements->place + 1], '\0'};
    sqlite3_value *value = NULL;
    int rc = walk_list(list, true, &value);
    for (; rc == SQLITE_OK && problem->rc == SQLITE_OK; rc = walk_list(list, false, &value)) {
        if (sqlite3_value_type(value) == SQLITE_NULL) continue;
        if (!ctr_stream_is_exact(shape, pair, &value)) {
            leave_out(elements);
            return;
        }
        add_element(elements, value, problem);
    }
    if (rc != SQLITE_OK && rc != SQLITE_DONE)
        ctr_problem_set(problem, rc, "the list of an IN: %s", sqlite3_errstr(rc));
}

void ctr_elements_open(ctr_elements *elements, const ctr_shape *shape, const char *plan, int argc,
                       sqlite3_value **argv, ctr_problem *problem)
{
    size_t size = (size_t)argc * sizeof *elements->args;
    elements->plan = owned(sqlite3_mprintf("%s", plan), problem);
    elements->args = owned(sqlite3_malloc64(size), problem);
    if (!elements->plan || !elements->args) return;
    elements->place = place_in_plan(plan);
    elements->plan[2 * elements->place] = '=';
    for (int i = 0; i < argc; i++) {
        bool is_list = i == elements->place;
        elements->args[i] = is_list ? NULL : owned(sqlite3_value_dup(argv[i]), problem);
        elements->argc++;
    }
    if (problem->rc == SQLITE_OK) take_elements(elements, shape, argv[elements->place], problem);
}

bool ctr_elements_next(ctr_elements *elements)
{
    if (!elements->plan || elements->next >= (elements->place < 0 ? 1 : elements->n)) return false;
    int i = elements->next++;
    if (elements->place >= 0) elements->args[elements->place] = elements->elements[i];
    return true;
}
