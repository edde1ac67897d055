/* track/row_values.c - reads regular columns from a tracked table, and listed values. */
#include "track/row_values.h"

#include <string.h>

#include "sqlite/text.h"

/* SELECT "name", "price", ... FROM "products" WHERE "sku" = ?1 */
static void prepare_row(ctr_row_values *values, ctr_problem *problem)
{
    const ctr_tracked *tracked = values->tracked;
    sqlite3_str *columns = sqlite3_str_new(NULL), *match = sqlite3_str_new(NULL);
    for (int i = 0; i < tracked->n_regular; i++) {
        const char *name = tracked->regular[i].column;
        const ctr_described *column = name ? ctr_ordinary_column(&tracked->ordinary, name) : NULL;
        const char *comma = i ? ", " : "";
        if (column && !column->generated)
            sqlite3_str_appendf(columns, "%s\"%w\"", comma, name);
        else
            sqlite3_str_appendf(columns, "%sNULL", comma);
    }
    if (tracked->n_regular == 0) sqlite3_str_appendall(columns, "NULL");
    ctr_tracked_list_bound_key(tracked, match);
    char *column_list = ctr_text_finish(columns, problem),
         *key_match = ctr_text_finish(match, problem);
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    run.slots.name = tracked->table;
    run.slots.columns = column_list;
    run.slots.constraint = key_match;
    values->row = ctr_run_prepare(&run, CTR_SQL_TRACK_LOOK);
    sqlite3_free(column_list);
    sqlite3_free(key_match);
}

int ctr_row_values_open(ctr_row_values *values, ctr_tab *tab, ctr_problem *problem)
{
    *values = (ctr_row_values){.tab = tab, .tracked = ctr_tracked_hold(tab, problem)};
    const ctr_registry *registry = ctr_regular_of(tab, problem);
    if (problem->rc != SQLITE_OK || !registry) return problem->rc;
    values->n = registry->n;
    size_t size = ((size_t)registry->n + 1) * sizeof *values->given;
    values->given = sqlite3_malloc64(size);
    values->list = sqlite3_malloc64(size);
    if (values->given) memset(values->given, 0, size);
    if (values->list) memset(values->list, 0, size);
    if (!values->given || !values->list) return ctr_problem_nomem(problem);
    if (ctr_tracked_is_known(values->tracked)) prepare_row(values, problem);
    return problem->rc;
}

static void forget_values(ctr_row_values *values)
{
    memset(values->given, 0, ((size_t)values->n + 1) * sizeof *values->given);
}

static void forget_listed(ctr_row_values *values)
{
    for (int i = 0; values->list && i < values->n; i++) {
        sqlite3_value_free(values->list[i]);
        values->list[i] = NULL;
    }
}

void ctr_row_values_reset(ctr_row_values *values)
{
    sqlite3_reset(values->row);
}

void ctr_row_values_close(ctr_row_values *values)
{
    forget_listed(values);
    sqlite3_finalize(values->row);
    ctr_tracked_release(values->tracked);
    sqlite3_free(values->given);
    sqlite3_free(values->list);
    *values = (ctr_row_values){0};
}

static void read_row_listed(ctr_row_values *values, int64_t rowid, ctr_problem *problem)
{
    if (!ctr_regular_lists(values->tab, problem)) return;
    const ctr_registry *registry = ctr_regular_of(values->tab, problem);
    ctr_slot *slot = registry ? ctr_tab_take(values->tab, CTR_TAB_LISTED, problem) : NULL;
    if (!slot) return;
    sqlite3_stmt *row = slot->kept.statement;
    sqlite3_bind_int64(row, 1, rowid);
    ctr_run run = ctr_tab_run(values->tab, problem);
    while (ctr_run_row(&run, row)) {
        const char *name = ctr_text_column(row, 0, problem);
        int i = name ? ctr_regular_named(registry, name, strlen(name)) : -1;
        if (i < 0 || i >= values->n) continue;
        sqlite3_value_free(values->list[i]);
        values->list[i] = sqlite3_value_dup(sqlite3_column_value(row, 1));
        if (!values->list[i]) ctr_problem_nomem(problem);
        values->given[i] = values->list[i];
    }
    ctr_tab_give_back(values->tab, slot, problem);
}

int ctr_row_values_show(ctr_row_values *values, sqlite3_value **keys, ctr_problem *problem)
{
    const ctr_tracked *tracked = values->tracked;
    if (problem->rc != SQLITE_OK) return problem->rc;
    forget_values(values);
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    sqlite3_reset(values->row);
    if (values->row && ctr_tracked_bind_key(tracked, values->row, keys, problem) == SQLITE_OK &&
        ctr_run_row(&run, values->row))
        for (int i = 0; i < tracked->n_regular; i++)
            if (tracked->regular[i].column && tracked->regular[i].number < values->n)
                values->given[tracked->regular[i].number] = sqlite3_column_value(values->row, i);
    return problem->rc;
}

int ctr_row_values_read(ctr_row_values *values, int64_t rowid, sqlite3_value **keys,
                        bool only_listed, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    forget_listed(values);
    if (only_listed)
        forget_values(values);
    else
        ctr_row_values_show(values, keys, problem);
    read_row_listed(values, rowid, problem);
    return problem->rc;
}
