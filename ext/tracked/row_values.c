/* tracked/row_values.c - reads regular columns from a tracked table, and listed values. */
#include "tracked/tracked.h"

#include <string.h>

static int after_key(const ctr_tracked *tracked)
{
    return tracked->shape->n_keys + 1;
}

/* SELECT "name", "price", ..., rowid FROM "products" WHERE "sku" = ?1; by rowid: AND rowid = ?2 */
static sqlite3_stmt *prepare_row(const ctr_tracked *tracked, bool has_rowids, bool by_rowid,
                                 ctr_problem *problem)
{
    sqlite3_str *columns = sqlite3_str_new(NULL), *match = sqlite3_str_new(NULL);
    for (int i = 0; i < tracked->n_regular; i++) {
        const char *name = tracked->regular[i].column;
        const ctr_described *column = name ? ctr_ordinary_column(&tracked->ordinary, name) : NULL;
        if (column && !column->generated)
            sqlite3_str_appendf(columns, "\"%w\", ", name);
        else
            sqlite3_str_appendall(columns, "NULL, ");
    }
    sqlite3_str_appendall(columns, has_rowids ? "rowid" : "NULL");
    ctr_list_bound_key(tracked, match, "");
    if (by_rowid) sqlite3_str_appendf(match, " AND rowid = ?%d", after_key(tracked));
    char *column_list = ctr_text_finish(columns, problem),
         *row_match = ctr_text_finish(match, problem);
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    run.slots.name = tracked->table;
    run.slots.columns = column_list;
    run.slots.constraint = row_match;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_LOOK);
    sqlite3_free(column_list);
    sqlite3_free(row_match);
    return row;
}

static void prepare_rows(ctr_row_values *values, ctr_problem *problem)
{
    bool has_rowids = ctr_tracked_has_rowids(values->tracked);
    values->likely.steady = true; /* a table that was stored with its cells has their ids */
    values->by_key = prepare_row(values->tracked, has_rowids, false, problem);
    if (has_rowids) values->by_rowid = prepare_row(values->tracked, has_rowids, true, problem);
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
    if (ctr_tracked_is_known(values->tracked)) prepare_rows(values, problem);
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
    sqlite3_reset(values->by_key);
    sqlite3_reset(values->by_rowid);
}

void ctr_row_values_close(ctr_row_values *values)
{
    forget_listed(values);
    sqlite3_finalize(values->by_key);
    sqlite3_finalize(values->by_rowid);
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

/* Steps to the row of the table; NULL: it is not there. */
static sqlite3_stmt *step_to_shown(ctr_row_values *values, int64_t rowid, sqlite3_value **keys,
                                   ctr_problem *problem)
{
    const ctr_tracked *tracked = values->tracked;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    if (values->by_rowid && values->likely.steady) {
        sqlite3_bind_int64(values->by_rowid, after_key(tracked),
                           ctr_likely_rowid(&values->likely, rowid));
        if (ctr_tracked_bind_key(tracked, values->by_rowid, keys, problem) == SQLITE_OK &&
            ctr_run_row(&run, values->by_rowid))
            return values->by_rowid;
    }
    if (!values->by_key || ctr_tracked_bind_key(tracked, values->by_key, keys, problem) ||
        !ctr_run_row(&run, values->by_key))
        return NULL;
    ctr_likely_note(&values->likely, rowid,
                    sqlite3_column_int64(values->by_key, tracked->n_regular));
    return values->by_key;
}

int ctr_row_values_show(ctr_row_values *values, int64_t rowid, sqlite3_value **keys,
                        ctr_problem *problem)
{
    const ctr_tracked *tracked = values->tracked;
    if (problem->rc != SQLITE_OK) return problem->rc;
    forget_values(values);
    ctr_row_values_reset(values);
    sqlite3_stmt *row = step_to_shown(values, rowid, keys, problem);
    for (int i = 0; row && i < tracked->n_regular; i++)
        if (tracked->regular[i].column && tracked->regular[i].number < values->n)
            values->given[tracked->regular[i].number] = sqlite3_column_value(row, i);
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
        ctr_row_values_show(values, rowid, keys, problem);
    read_row_listed(values, rowid, problem);
    return problem->rc;
}
